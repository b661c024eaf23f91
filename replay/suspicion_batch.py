"""What suspicions need to know of many logs, compiled: timing, choices, and keys of logs with a clock that no delay moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engine.batch import Ints, TextColumn
from engine.blocks import kernel as blocks
from engine.blocks.batch_kernel import BATCH
from engine.blocks.rules import HAND_SIZE, BlocksRules
from engine.blocks.single import Deal
from engine.compiled import CONFIG, compile_kernel, jit, popcount, popcount_uncompiled
from replay import suspicion_kernel as timing

if TYPE_CHECKING:
    from replay.verdict import JudgeSettings

Words = npt.NDArray[np.uint64]
_read_timing = compile_kernel(timing)["read_timing"]
_hash_log, _token_stride = BATCH["hash_log"], BATCH["token_stride"]
_begin, _step, _next_token, _why_not = (BATCH[name] for name in ("begin", "step", "next_token", "why_not"))
_popcount: Any = popcount_uncompiled if CONFIG.DISABLE_JIT else popcount
_jit = jit(blocks, timing)


@_jit
def _read_logs(data, starts, ends, select, facts, gaps, thinks, letters, inputs_hash):  # type: ignore[no-untyped-def]
    for row in select:
        pos, end = starts[row], ends[row]
        _read_timing(data, pos, end, facts[row], gaps, thinks[row], letters)
        inputs_hash[row, 0], inputs_hash[row, 1] = _hash_log(letters, 0, facts[row, timing.F_INPUTS], True)


@dataclass(frozen=True)
class LogFacts:
    """What a batch's logs say beside their replay, an entry a row.

    ``facts`` (rows x N_FACTS) and ``thinks`` (rows x THINKS) are as ``replay.suspicion_kernel`` describes them, zero where the
    game is not ``clocked``; ``inputs_hash`` (rows x 2) is there a hash of the sequence of inputs without the times between them.
    ``choices`` are those of the log: runs of steering inputs, or placements that could have been others (``count_choices``).
    """

    clocked: npt.NDArray[np.bool_]
    facts: Ints
    thinks: npt.NDArray[np.uint8]
    inputs_hash: Words
    choices: Ints

    def stands_out(self, limit: JudgeSettings) -> npt.NDArray[np.bool_]:
        """The logs with a clock of which ``replay.suspicions.clock_signs`` has something to say."""
        wanted = (timing.F_PLAYED, timing.F_CHOICES, timing.F_GAPS, timing.F_EVEN)
        played, choices, gaps, even = (self.facts[:, at] for at in wanted)
        fast = (choices >= limit.pace_min_choices) & (played < limit.pace_min_ticks_per_choice * choices)
        found: npt.NDArray[np.bool_] = fast | ((gaps >= limit.even_min_gaps) & (100 * even >= limit.even_percent * gaps))
        return found

    def thinks_of(self, wanted: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """(bounds of each row, one more than rows; times of thought one after the other) of the wanted rows, none of others."""
        counts = np.where(wanted, self.facts[:, timing.F_THINKS], 0)
        bounds = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=bounds[1:])
        return bounds, self.thinks[np.arange(timing.THINKS) < counts[:, None]]


def read_logs(logs: TextColumn, clocked: npt.NDArray[np.bool_]) -> LogFacts:
    """The facts of a batch of logs; where no clock runs the choices are zero until ``count_choices`` writes them."""
    size, select = len(logs), np.flatnonzero(clocked)
    facts, thinks = np.zeros((size, timing.N_FACTS), np.int64), np.zeros((size, timing.THINKS), np.uint8)
    inputs_hash = np.zeros((size, 2), np.uint64)
    if len(select):
        longest = int((logs.ends[select] - logs.starts[select]).max())
        letters, gaps = np.zeros(longest + 8, np.uint8), np.zeros(timing.GAPS, np.int64)
        _read_logs(logs.data, logs.starts, logs.ends, select, facts, gaps, thinks, letters, inputs_hash)
    return LogFacts(clocked, facts, thinks, inputs_hash, facts[:, timing.F_CHOICES].copy())


# --- Choices of the block puzzle -----------------------------------------------------------------------------------------

_ONE, _TWO, _FOUR, _EIGHT, _SIXTEEN, _32, _64 = (np.uint64(n) for n in (1, 2, 4, 8, 16, 32, 64))
_BYTE, _COLUMN = np.uint64(blocks.ROW_ONES), np.uint64(blocks.COLUMN_ONES)
_ALL, _ZERO = np.uint64(0xFFFF_FFFF_FFFF_FFFF), np.uint64(0)


@_jit
def _has_choice_8x8(hand, board, anchors, offsets):  # type: ignore[no-untyped-def]
    """Whether two different placements of the hand (three bytes, slot 1 lowest) fit; the same shape twice is one piece."""
    free, total, rest = board ^ _ALL, _ZERO, hand
    for slot in range(HAND_SIZE):
        shape = rest & _BYTE
        rest >>= _EIGHT
        again = False
        for other in range(slot):
            again = again or (hand >> np.uint64(8 * other)) & _BYTE == shape
        if again:
            continue
        places, at = anchors[shape], shape * np.uint64(blocks.MAX_SIDE)
        last = offsets[at]
        places &= free >> last
        for k in range(1, blocks.MAX_SIDE):
            # A shape's last cell is repeated to the end of its row of the table.
            shift = offsets[at + np.uint64(k)]
            if shift == last:
                break
            places &= free >> shift
            last = shift
        total += _popcount(places)
        if total > _ONE:
            return True
    return False


@_jit
def _choices_8x8(data, pos, tokens, stride, need, masks, anchors, offsets, deal, first, board):  # type: ignore[no-untyped-def]
    hand = np.uint64(deal[first]) | np.uint64(deal[first + 1]) << _EIGHT | np.uint64(deal[first + 2]) << _SIXTEEN
    # Unsigned, as in the kernel: an index that could be negative costs a test at each use.
    at, step, upcoming, found = np.uint64(pos), np.uint64(stride), np.uint64(first) + np.uint64(3), 0
    for _ in range(tokens):
        slot8 = np.uint64(data[at] - 49) * _EIGHT
        shape = (hand >> slot8) & _BYTE
        mask = masks[shape * _64 + np.uint64(data[at + _TWO] - 49) * _EIGHT + np.uint64(data[at + _ONE] - 97)]
        if mask == _ZERO or board & mask != _ZERO:
            break
        found += _has_choice_8x8(hand, board, anchors, offsets)
        if found == need:
            break
        board |= mask
        rows = board & (board >> _ONE)
        rows &= rows >> _TWO
        rows &= (rows >> _FOUR) & _COLUMN
        columns = board & (board >> _EIGHT)
        columns &= columns >> _SIXTEEN
        columns &= (columns >> _32) & _BYTE
        board &= ((rows * _BYTE) | (columns * _COLUMN)) ^ _ALL
        hand ^= (shape ^ np.uint64(deal[upcoming])) << slot8
        upcoming += _ONE
        at += step
    return found


@_jit
def _has_choice(rows, hand, params, shape_rows, shape_h, shape_w):  # type: ignore[no-untyped-def]
    total = 0
    for slot in range(HAND_SIZE):
        again = False
        for other in range(slot):
            again = again or hand[other] == hand[slot]
        if again or hand[slot] == blocks.NO_PIECE:
            continue
        for row in range(params[blocks.P_HEIGHT]):
            for column in range(params[blocks.P_WIDTH]):
                total += _why_not(slot, column, row, rows, hand, params, shape_rows, shape_h, shape_w) == blocks.APPLIED
                if total > 1:
                    return True
    return False


@_jit
def _count_choices(  # type: ignore[no-untyped-def]
    data, starts, ends, which_of, select, need, params, masks, anchors, offsets, base, deal, first, start_board, is_fast,
    shape_rows, shape_h, shape_w, shape_cells, start_rows, continues, rows, hand, st, out,
):  # fmt: skip
    for row in select:
        pos, end, which = starts[row], ends[row], which_of[row]
        stride = _token_stride(data, pos, end) if is_fast[which] else 0
        if stride:
            tokens = (end - pos + stride - 3) // stride
            out[row] = _choices_8x8(
                data, pos, tokens, stride, need, masks, anchors, offsets, deal, first[which], start_board[which]
            )  # fmt: skip
            continue
        last = first[which + 1]
        _begin(start_rows[which], 0, params, deal, first[which], last, rows, hand, st)
        status, found = blocks.APPLIED, 0
        while status == blocks.APPLIED and found < need:
            kind = _next_token(data, pos, end)[0]
            wide = kind == blocks.T_PLACE and _has_choice(rows, hand, params, shape_rows, shape_h, shape_w)
            status, pos = _step(
                data, pos, end, params, shape_rows, shape_h, shape_w, shape_cells, base, deal, last, continues[which],
                rows, hand, st,
            )  # fmt: skip
            found += wide and status == blocks.APPLIED
        out[row] = found


def count_choices(
    rules: BlocksRules, deals: Sequence[Deal], modes: Sequence[str], arguments: Sequence[Any], logs: TextColumn,
    which: Ints, select: Ints, need: int, out: Ints,
) -> None:  # fmt: skip
    """Write how many placements of each log of the block puzzle could have been others, counted up to ``need``.

    A placement that was the only one is no choice; counting ends at the first that is not legal.  ``deals`` and ``modes`` belong
    together, ``which`` names their number for each row, ``arguments`` are the replayer's ``fast_arguments``.
    """
    params, masks, anchors, offsets, base, deal, first, start_board = arguments
    shapes = [np.array(table, np.int64) for table in rules.shape_tables]
    start_rows = np.zeros((len(deals), blocks.MAX_SIDE), np.int64)
    for index, each in enumerate(deals):
        start_rows[index, : rules.height] = each.start
    is_fast = np.array([rules.fast_tables is not None and each.pieces is None for each in deals], np.bool_)
    continues = np.array([rules.continues[mode] for mode in modes], np.int64)
    rows, hand, st = (np.zeros(size, np.int64) for size in (blocks.MAX_SIDE, HAND_SIZE, blocks.N_STATE))
    _count_choices(
        logs.data, logs.starts, logs.ends, which, select, need, params, masks, anchors, offsets, base, deal, first, start_board,
        is_fast, *shapes, start_rows, continues, rows, hand, st, out,
    )  # fmt: skip
