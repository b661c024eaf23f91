"""Replays seeded games of Tetromino Arcade, compares both engines and prints a hash of all results.

``python -m tests.engine.tetromino_digest 60`` takes 60 games.  Tests run it in fresh processes: with other hash seeds, with
numba's bounds check, with compilation off.
"""

from __future__ import annotations

import hashlib
import random
import sys

import numba

from tests.engine.batch_digest import bounds_are_checked, result_bytes
from tests.engine.random_tetromino import make_games
from tests.engine.tetromino_support import batch_rows, interpreted, replay_batch, rules


def digest(games: int) -> str:
    """A hash of the results of ``games`` games; raises AssertionError where the two engines differ."""
    cases = [played.case for played in make_games(random.Random("digest"), games)]
    out = replay_batch(rules(), cases)
    for case, got in zip(cases, batch_rows(out), strict=True):
        expected = interpreted(rules(), case)
        assert got == expected, f"state: {case}\nexpected: {expected}\ngot:      {got}"
    return hashlib.sha256(result_bytes(out)).hexdigest()


if __name__ == "__main__":
    checked = bool(numba.config.DISABLE_JIT) or bounds_are_checked()
    sys.stdout.write(f"{digest(int(sys.argv[1]))} {'checked' if checked else 'unchecked'}\n")
