"""The loop over games around the compiled kernel, and the compiled functions by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.blocks import kernel as source
from engine.compiled import CONFIG, borrowed, borrowed_uncompiled, compile_function, compile_kernel, fingerprint

_borrowed: Any = borrowed_uncompiled if CONFIG.DISABLE_JIT else borrowed
_COMPILED = compile_kernel(source)
_count_tokens, _hash_log, _token_stride = (_COMPILED[n] for n in ("count_tokens", "hash_log", "token_stride"))
_replay_8x8, _replay_log, _begin, _is_over = (_COMPILED[n] for n in ("replay_8x8", "replay_log", "begin", "is_over"))
_compare_board = _COMPILED["compare_board"]


def replay_batch(  # type: ignore[no-untyped-def]
    logs, starts, ends, boards, board_starts, board_ends, deal_index, select,
    params, shape_rows, shape_h, shape_w, shape_cells, base, masks, anchors, offsets,
    deal, first, start_rows, start_board, is_fast, continues,
    rows, scratch, hand, st,
    status, score, best_combo, moves, finished, received, board, log_hash, out_rows,
):  # fmt: skip
    """Replay the selected games one after the other; see ``BatchReplayer.replay`` for the arrays.

    ``rows``, ``scratch``, ``hand`` and ``st`` are room for one game.  They come from the caller, who keeps them: an array made
    here would be freed as soon as it was borrowed, its own name being used no more.
    """
    rows, scratch, hand, st = _borrowed(rows), _borrowed(scratch), _borrowed(hand), _borrowed(st)
    logs, boards, params, base, deal = _borrowed(logs), _borrowed(boards), _borrowed(params), _borrowed(base), _borrowed(deal)
    shape_rows, shape_h, shape_w = _borrowed(shape_rows), _borrowed(shape_h), _borrowed(shape_w)
    shape_cells, start_rows = _borrowed(shape_cells), _borrowed(start_rows)
    masks, anchors, offsets = _borrowed(masks), _borrowed(anchors), _borrowed(offsets)
    height = params[source.P_HEIGHT]
    for row in select:
        pos, end, which = starts[row], ends[row], deal_index[row]
        code = source.BAD_TOKEN
        stride = _token_stride(logs, pos, end) if is_fast[which] else 0
        if stride:
            tokens = (end - pos + stride - 3) // stride
            received[row] = tokens
            code = _replay_8x8(
                logs, pos, tokens, stride, params, masks, anchors, offsets, base, deal, first[which], start_board[which], rows, st
            )
            finished[row] = st[source.ST_POSITION]
        else:
            received[row] = _count_tokens(logs, pos, end)
        if code != source.END:
            _begin(start_rows[which], 0, params, deal, first[which], first[which + 1], rows, hand, st)
            code = _replay_log(
                logs, pos, end, params, shape_rows, shape_h, shape_w, shape_cells, base, deal, first[which + 1],
                continues[which], rows, hand, st,
            )  # fmt: skip
            finished[row] = _is_over(rows, hand, params, shape_rows, shape_h, shape_w)
        status[row] = code
        score[row] = st[source.ST_SCORE]
        best_combo[row] = st[source.ST_BEST]
        moves[row] = st[source.ST_MOVES]
        for r in range(min(height, out_rows.shape[1])):
            out_rows[row, r] = rows[r]
        board[row] = _compare_board(boards, board_starts[row], board_ends[row], params[source.P_WIDTH], height, rows, scratch)
        log_hash[row, 0], log_hash[row, 1] = _hash_log(logs, pos, end, stride == 3)


def replay_all(  # type: ignore[no-untyped-def]
    logs, starts, ends, select, params, masks, anchors, offsets, base, deal, first, start_board, which
):
    """The sum of the selected games' scores, fast case only, one deal: the replay with nothing around it, for benchmarks."""
    rows = np.zeros(source.MAX_SIDE, np.int64)
    st = np.zeros(source.N_STATE, np.int64)
    total = 0
    for row in select:
        pos, end = starts[row], ends[row]
        stride = _token_stride(logs, pos, end)
        if stride:
            tokens = (end - pos + stride - 3) // stride
            _replay_8x8(
                logs, pos, tokens, stride, params, masks, anchors, offsets, base, deal, first[which], start_board[which], rows, st
            )
            total += st[source.ST_SCORE]
    return total


_MARK = fingerprint(source)
BATCH: dict[str, Any] = {
    **_COMPILED, "replay_batch": compile_function(replay_batch, _MARK), "replay_all": compile_function(replay_all, _MARK),
}  # fmt: skip
