"""Many games, compiled: the kernel over the bytes and offsets of Arrow text columns, no Python object per game or move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.batch import BatchResult, Ints, TextColumn
from engine.blocks import kernel as source
from engine.blocks.batch_kernel import BATCH
from engine.blocks.rules import HAND_SIZE, BlocksRules
from engine.blocks.single import Deal


class BatchReplayer:
    """Replays games of one rules version on given deals.  Safe to share between threads: it writes only what it is given.

    ``deals`` and ``modes`` (names; KeyError for an unknown one) belong together: one entry for each challenge and mode.
    ``longest`` is the longest log in bytes that will come, for all or for each deal: a seeded deal is laid out just so far.
    """

    def __init__(self, rules: BlocksRules, deals: list[Deal], modes: Sequence[str], longest: int | Sequence[int]) -> None:
        self.rules = rules
        rows, heights, widths, cells = rules.shape_tables
        self._tables = tuple(np.array(t, np.int64) for t in (rules.params, rows, heights, widths, cells, rules.base))
        fast = rules.fast_tables
        masks, anchors, offsets = fast or ([0], [0], [0])
        self._fast = tuple(np.array(t, np.uint64) for t in (masks, anchors, offsets))
        self._deal, self._first = _lay_out_deals(rules, deals, [longest] * len(deals) if isinstance(longest, int) else longest)
        self._start_rows = np.zeros((len(deals), source.MAX_SIDE), np.int64)
        self._start_board = np.zeros(len(deals), np.uint64)
        self._continues = np.array([rules.continues[mode] for mode in modes], np.int64)
        # The fast case takes seeded deals only: a listed one may run out.
        self._is_fast = np.zeros(len(deals), np.int64)
        for index, deal in enumerate(deals):
            self._start_rows[index, : rules.height] = deal.start
            self._is_fast[index] = fast is not None and deal.pieces is None
            if fast is not None:
                self._start_board[index] = sum(row << (8 * r) for r, row in enumerate(deal.start))

    def fast_arguments(self) -> tuple[Any, ...]:
        """What ``replay_all`` of the batch kernel takes of this replayer: the tables of the fast case and the deals."""
        return (self._tables[0], *self._fast, self._tables[5], self._deal, self._first, self._start_board)

    def replay(self, logs: TextColumn, deal_index: Ints, boards: TextColumn, select: Ints, out: BatchResult) -> None:
        """Replay the games ``select`` names (row numbers) and write their entries of ``out``.

        ``deal_index`` has one entry a row of the columns; ``boards`` are the claimed final boards.  A number of ``out.rows`` is a
        row of the board as a mask, top row first, bit c being column c.
        """
        game = [np.zeros(size, np.int64) for size in (source.MAX_SIDE, source.MAX_SIDE, HAND_SIZE, source.N_STATE)]
        BATCH["replay_batch"](
            logs.data, logs.starts, logs.ends, boards.data, boards.starts, boards.ends, deal_index, select,
            *self._tables, *self._fast, self._deal, self._first, self._start_rows, self._start_board, self._is_fast,
            self._continues, *game,
            out.status, out.score, out.best_combo, out.moves, out.finished, out.received, out.board, out.log_hash, out.rows,
        )  # fmt: skip


def _lay_out_deals(rules: BlocksRules, deals: list[Deal], longest: Sequence[int]) -> tuple[Ints, Ints]:
    """All deals in one array, with where each begins (one entry more than deals)."""
    first = np.zeros(len(deals) + 1, np.int64)
    for index, deal in enumerate(deals):
        # A token has three bytes or more and draws one piece; three are dealt before the first.
        first[index + 1] = first[index] + (longest[index] // 3 + 4 if deal.pieces is None else len(deal.pieces))
    pieces = np.zeros(first[-1], np.int64)
    for index, deal in enumerate(deals):
        if deal.pieces is None:
            BATCH["fill_deal"](np.uint64(deal.rng_seed), np.uint64(len(rules.shapes)), pieces, first[index], first[index + 1])
        else:
            pieces[first[index] : first[index + 1]] = deal.pieces
    return pieces, first
