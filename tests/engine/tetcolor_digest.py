"""Replays seeded games of Tetcolor, compares the two engines and prints a hash of all results.

``python -m tests.engine.tetcolor_digest 200`` takes 200 games.  Tests run it in fresh processes: with other hash seeds, with numba's
bounds check, with compilation off.
"""

from __future__ import annotations

import hashlib
import random
import sys

import numba

from tests.engine.batch_digest import bounds_are_checked, result_bytes
from tests.engine.tetcolor_support import batch_rows, interpreted, random_case, replay_batch, rules


def digest(games: int) -> str:
    """A hash of the results of ``games`` games; raises AssertionError where the engines differ."""
    rng = random.Random("digest")
    names = rules().mode_names
    cases = [random_case(rng, names[index * 7 % len(names)]) for index in range(games)]
    out = replay_batch(cases)
    for case, got in zip(cases, batch_rows(cases, out), strict=True):
        expected = interpreted(case)
        assert got == expected, f"state: {case}\nexpected: {expected}\ngot:      {got}"
    return hashlib.sha256(result_bytes(out)).hexdigest()


if __name__ == "__main__":
    checked = bool(numba.config.DISABLE_JIT) or bounds_are_checked()
    sys.stdout.write(f"{digest(int(sys.argv[1]))} {'checked' if checked else 'unchecked'}\n")
