"""What the compiled batches of all games take and give: text columns as Arrow holds them, results as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.compiled import compile_function, compile_kernel, fingerprint

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

# Level and lines of a game that knows none.
NONE = -1


@dataclass(frozen=True)
class TextColumn:
    """A text column as Arrow holds it: ``data`` (uint8), and the rows' first and one-past-last byte (int64)."""

    data: Bytes
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True)
class BatchResult:
    """One entry a game, int64 but where noted.

    ``status`` is END or a fault (engine.outcome); ``moves`` the tokens applied, which is the faulty token's index too;
    ``received`` the tokens in the log, counted without the replay; ``board`` BOARD_EQUAL, BOARD_DIFFERS or BOARD_UNREADABLE
    against the claim; ``level`` and ``lines`` are NONE where a game has none; ``log_hash`` (games x 2, uint64) a 128-bit hash
    of the log without white space; ``rows`` (games x the width that was asked for) the final board, a number a row as the game's
    ``batch`` describes it, written only where that width is not 0.
    """

    status: Ints
    score: Ints
    best_combo: Ints
    moves: Ints
    finished: Ints
    received: Ints
    board: Ints
    level: Ints
    lines: Ints
    log_hash: npt.NDArray[np.uint64]
    rows: Ints

    @classmethod
    def empty(cls, games: int, rows: int = 0) -> BatchResult:
        """Results for ``games`` games, all zero but for level and lines; ``rows`` as wide as a board is high, or 0."""
        arrays: dict[str, Any] = {f.name: np.zeros(games, np.int64) for f in fields(cls)}
        arrays["level"][:] = arrays["lines"][:] = NONE
        arrays["rows"] = np.zeros((games, rows), np.int64)
        arrays["log_hash"] = np.zeros((games, 2), np.uint64)
        return cls(**arrays)


_hash_log = compile_kernel()["hash_log"]


def _hash_logs(logs, starts, ends, select, log_hash):  # type: ignore[no-untyped-def]
    for row in select:
        log_hash[row, 0], log_hash[row, 1] = _hash_log(logs, starts[row], ends[row], False)


_hash_logs_compiled = compile_function(_hash_logs, fingerprint())


def hash_logs(logs: TextColumn, select: Ints, log_hash: npt.NDArray[np.uint64]) -> None:
    """Write the hashes of the logs that ``select`` names (row numbers), for those that are not replayed."""
    _hash_logs_compiled(logs.data, logs.starts, logs.ends, select, log_hash)
