"""``python -m tests.fuzz --seconds 600 [--seed N]``: fuzz records, logs and files; exit code 1 when something was found."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from replay.verdict import VERDICTS
from tests.fuzz.campaign import FOUND, run_apart


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=None, help="how long (600, unless --rounds is given)")
    parser.add_argument("--rounds", type=int, default=None, help="how many rounds at most")
    parser.add_argument("--seed", type=int, default=None, help="the seed of an earlier run; the same seed gives the same rounds")
    parser.add_argument("--found", type=Path, default=FOUND, help="the folder for inputs that fail")
    given = parser.parse_args()
    seconds = 600.0 if given.seconds is None and given.rounds is None else given.seconds
    seed = secrets.randbelow(2**32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)  # noqa: T201
    done, found = run_apart(seed, given.found, seconds, given.rounds)
    told = ", ".join(f"{done[name]} {name}" for name in ("rounds", "files", "drawn files", "nights", *VERDICTS))
    print(f"{told}; {len(found)} found")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
