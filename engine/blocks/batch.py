"""Many games, compiled: the kernel over the bytes and offsets of Arrow text columns, no Python object per game or move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.blocks import kernel as source
from engine.blocks.batch_kernel import BATCH
from engine.blocks.rules import HAND_SIZE, BlocksRules
from engine.blocks.single import Deal

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


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
    against the claim; ``rows`` (games x MAX_SIDE, int16) the board's row masks; ``log_hash`` (games x 2, uint64) a 128-bit
    hash of the log without white space.
    """

    status: Ints
    score: Ints
    best_combo: Ints
    moves: Ints
    finished: Ints
    received: Ints
    board: Ints
    rows: npt.NDArray[np.int16]
    log_hash: npt.NDArray[np.uint64]

    @classmethod
    def empty(cls, games: int) -> BatchResult:
        """Results for ``games`` games, all zero."""
        arrays: dict[str, Any] = {f.name: np.zeros(games, np.int64) for f in fields(cls)}
        arrays["rows"] = np.zeros((games, source.MAX_SIDE), np.int16)
        arrays["log_hash"] = np.zeros((games, 2), np.uint64)
        return cls(**arrays)


class BatchReplayer:
    """Replays games of one rules version on given deals.  Safe to share between threads: it writes only what it is given.

    ``deals`` are the challenges by index, ``longest`` the longest log in bytes that will come, for all or for each deal: a seeded
    deal is laid out just so far.
    """

    def __init__(self, rules: BlocksRules, deals: list[Deal], longest: int | Sequence[int]) -> None:
        self.rules = rules
        rows, heights, widths, cells = rules.shape_tables
        self._tables = tuple(np.array(t, np.int64) for t in (rules.params, rows, heights, widths, cells, rules.base))
        fast = rules.fast_tables
        masks, anchors, offsets = fast or ([0], [0], [0])
        self._fast = tuple(np.array(t, np.uint64) for t in (masks, anchors, offsets))
        self._deal, self._first = _lay_out_deals(rules, deals, [longest] * len(deals) if isinstance(longest, int) else longest)
        self._start_rows = np.zeros((len(deals), source.MAX_SIDE), np.int64)
        self._start_board = np.zeros(len(deals), np.uint64)
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

    def replay(
        self, logs: TextColumn, deal_index: Ints, continues: Ints, boards: TextColumn, select: Ints, out: BatchResult
    ) -> None:
        """Replay the games ``select`` names (row numbers) and write their entries of ``out``.

        ``deal_index`` and ``continues`` have one entry a row of the columns; ``boards`` are the claimed final boards.
        """
        game = [np.zeros(size, np.int64) for size in (source.MAX_SIDE, source.MAX_SIDE, HAND_SIZE, source.N_STATE)]
        BATCH["replay_batch"](
            logs.data, logs.starts, logs.ends, boards.data, boards.starts, boards.ends, deal_index, continues, select,
            *self._tables, *self._fast, self._deal, self._first, self._start_rows, self._start_board, self._is_fast, *game,
            out.status, out.score, out.best_combo, out.moves, out.finished, out.received, out.board, out.rows, out.log_hash,
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


__all__ = ["BatchReplayer", "BatchResult", "TextColumn"]
