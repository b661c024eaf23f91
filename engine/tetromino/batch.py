"""Many games, compiled: the kernel over the bytes and offsets of Arrow text columns, no Python object per game or token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.batch import BatchResult, Ints, TextColumn
from engine.tetromino import kernel as source
from engine.tetromino.batch_kernel import BATCH
from engine.tetromino.rules import TetrominoRules
from engine.tetromino.single import Deal


class BatchReplayer:
    """Replays games of one rules version on given deals.  Safe to share between threads: it writes only what it is given.

    ``deals`` and ``modes`` (KeyError for one that the rules do not have) belong together: one entry for each challenge and mode.
    ``longest`` means nothing here: bags of seeded deals are shuffled as a game needs them.
    """

    def __init__(self, rules: TetrominoRules, deals: list[Deal], modes: Sequence[str], longest: int | Sequence[int] = 0) -> None:
        self.rules = rules
        numbers = [rules.params(mode) for mode in modes]
        self._params = np.zeros((len(deals), max(map(len, numbers), default=0)), np.int64)
        for index, values in enumerate(numbers):
            self._params[index, : len(values)] = values
        self._kicks, self._masks = np.array(rules.kicks, np.int64), np.array(rules.masks, np.uint64)
        self._start = np.array([word for deal in deals for word in deal.start], np.uint64)
        self._first = np.zeros(len(deals) + 1, np.int64)
        np.cumsum([len(deal.pieces or ()) for deal in deals], out=self._first[1:])
        self._deal = np.array([piece for deal in deals for piece in deal.pieces or ()], np.int64)
        self._seeded = np.array([deal.pieces is None for deal in deals], np.bool_)

    def replay(self, logs: TextColumn, deal_index: Ints, boards: TextColumn, select: Ints, out: BatchResult) -> None:
        """Replay the games ``select`` names (row numbers) and write their entries of ``out``.

        ``deal_index`` has one entry a row of the columns; ``boards`` are the claimed final boards.  A number of ``out.rows`` is a
        row of the board, top row first, four bits a column from the left: 0 or the piece's number + 1.
        """
        BATCH["replay_batch"](
            logs.data, logs.starts, logs.ends, boards.data, boards.starts, boards.ends, deal_index, select,
            self._start, self._params, self.rules.width, self._kicks, self._masks, self._deal, self._first, self._seeded,
            *room(), out.status, out.score, out.best_combo, out.moves, out.finished, out.received, out.board, out.level,
            out.lines, out.log_hash, out.rows,
        )  # fmt: skip

    def kernel_arguments(self) -> tuple[Any, ...]:
        """What ``replay_all`` of the batch kernel takes of this replayer, room for a game included."""
        return (self._start, self._params, self._kicks, self._masks, self._deal, self._first, self._seeded, *room())


def room() -> tuple[Any, ...]:
    """Board and state of a game, and room for a copy of them."""
    board, st = np.zeros(source.N_BOARD, np.uint64), np.zeros(source.N_STATE, np.int64)
    return board, st, board.copy(), st.copy()
