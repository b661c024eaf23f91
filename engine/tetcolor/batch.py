"""Many games, compiled: the kernel over the bytes and offsets of Arrow text columns, no Python object per game or move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.batch import BatchResult, Ints, TextColumn
from engine.tetcolor import layout as at
from engine.tetcolor.batch_kernel import BATCH
from engine.tetcolor.rules import TetcolorRules
from engine.tetcolor.single import Deal


class BatchReplayer:
    """Replays games of one rules version on given deals.  Safe to share between threads: it writes only what it is given.

    ``deals`` and ``modes`` belong together, one entry for each challenge and mode; a mode that does not exist is a fault of its
    games.  ``longest`` is not needed here: pieces are drawn as they are played.
    """

    def __init__(
        self, rules: TetcolorRules, deals: list[Deal], modes: Sequence[str], longest: int | Sequence[int] = 0
    ) -> None:  # fmt: skip
        self.rules = rules
        count = len(deals)
        self._knows = np.array([mode in rules.params for mode in modes], np.int64)
        self._modes = np.zeros((count, at.N_PARAMS), np.int64)
        self._tables = np.array(rules.tables, np.int64)
        self._first, self._last, self._start_first = (np.full(count, at.NONE, np.int64) for _ in range(3))
        self._seeds = np.array([deal.rng_seed for deal in deals], np.uint64)
        pieces: list[int] = []
        cells: list[int] = []
        for index, (deal, mode) in enumerate(zip(deals, modes, strict=True)):
            if self._knows[index]:
                self._modes[index] = rules.params[mode]
            if deal.pieces is not None:
                self._first[index], self._last[index] = len(pieces), len(pieces) + len(deal.pieces)
                pieces += deal.pieces
            if deal.start is not None:
                self._start_first[index] = len(cells)
                cells += deal.start
        self._deal, self._start = np.array(pieces, np.int64), np.array(cells, np.int64)

    def deal_arguments(self) -> tuple[Any, ...]:
        """What the batch kernel takes of this replayer: modes, tables and deals, in its order."""
        return (
            self._modes, self._tables, self._deal, self._first, self._last, self._seeds, self._start, self._start_first,
        )  # fmt: skip

    @staticmethod
    def room() -> tuple[Any, ...]:
        """Arrays for one game in progress, in the order that the batch kernel takes them."""
        sizes = (at.N_BOARD, at.N_COLS, at.N_STATE, at.N_WORK, at.N_SAVED)
        return (np.zeros(at.N_PARAMS, np.int64), np.zeros(2, np.uint64), *(np.zeros(size, np.int64) for size in sizes))

    def replay(self, logs: TextColumn, deal_index: Ints, boards: TextColumn, select: Ints, out: BatchResult) -> None:
        """Replay the games ``select`` names (row numbers) and write their entries of ``out``.

        ``deal_index`` has one entry a row of the columns; ``boards`` are the claimed final boards.  A number of ``out.rows`` is a
        cell of the board (``engine.tetcolor.layout``), in reading order, 0 where it is empty and beyond the board's last.
        """
        BATCH["replay_batch"](
            logs.data, logs.starts, logs.ends, boards.data, boards.starts, boards.ends, deal_index, select,
            *self.deal_arguments(), self._knows, *self.room(),
            out.status, out.score, out.best_combo, out.moves, out.finished, out.received, out.board, out.level, out.log_hash,
            out.rows,
        )  # fmt: skip


__all__ = ["BatchReplayer"]
