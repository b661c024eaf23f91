"""A cold `replay game FILE`: a new process each time, against a bare start of Python in the same minute."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROUNDS = 9


def run(path: Path, folder: Path) -> dict[str, float]:
    """Median seconds of `replay game` on one game of ``path``, of `python -c pass`, and their ratio."""
    record = folder / "one-game.json"
    with path.open("rb") as lines:
        record.write_bytes(next(line for line in lines if b'"daily"' in line and b'"1.2.0"' in line))
    command = [sys.executable, "-m", "replay", "game", str(record), "--json"]
    games, bares = [], []
    for _ in range(ROUNDS):
        games.append(_seconds(command))
        bares.append(_seconds([sys.executable, "-c", "pass"]))
    return {"seconds": median(games), "bare": median(bares)}


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False)
    return time.perf_counter() - start
