"""Replays seeded games, compares them with the slow twin and prints a hash of all results.

``python -m tests.engine.batch_digest 20`` takes 20 games of each setting.  Tests run it in fresh processes: with other hash
seeds, with numba's bounds check, with compilation off.
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

import numba
import numpy as np

from engine.batch import BatchResult
from tests.engine.random_games import SETTINGS, make_games
from tests.engine.support import batch_rows, replay_batch


def result_bytes(out: BatchResult) -> bytes:
    """Every byte of a result, the fields in their order."""
    return b"".join(np.ascontiguousarray(getattr(out, field.name)).tobytes() for field in fields(out))


def bounds_are_checked() -> bool:
    """Whether compiled code refuses an index beyond an array here: asked of numba itself, not of the environment."""

    @numba.njit
    def beyond(numbers):  # type: ignore[no-untyped-def]
        return numbers[len(numbers)]

    try:
        beyond(np.zeros(3))
    except IndexError:
        return True
    return False


def digest(games: int) -> str:
    """A hash of the results of ``games`` games of each setting; raises AssertionError where the twin differs."""
    total = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        for number, setting in enumerate(SETTINGS):
            played = make_games(random.Random(f"digest {number}"), setting.values(), games)
            rules = setting.rules(Path(folder))
            out = replay_batch(rules, [game.case for game in played])
            for game, got in zip(played, batch_rows(rules, out), strict=True):
                assert got == game.expected, f"{setting}\nstate: {game.case}\nexpected: {game.expected}\ngot:      {got}"
            total.update(result_bytes(out))
    return total.hexdigest()


if __name__ == "__main__":
    checked = bool(numba.config.DISABLE_JIT) or bounds_are_checked()
    sys.stdout.write(f"{digest(int(sys.argv[1]))} {'checked' if checked else 'unchecked'}\n")
