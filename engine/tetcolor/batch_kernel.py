"""The loop over games around the compiled kernel, and the compiled functions by name."""

from __future__ import annotations

from typing import Any

from engine.compiled import CONFIG, borrowed, borrowed_uncompiled, compile_function, compile_kernel, fingerprint
from engine.outcome import NO_SUCH_MODE
from engine.tetcolor import kernel, pieces, settle
from engine.tetcolor import layout as at

_borrowed: Any = borrowed_uncompiled if CONFIG.DISABLE_JIT else borrowed
_PARTS = (at, settle, pieces, kernel)
_COMPILED = compile_kernel(*_PARTS)
_begin, _replay_log, _count_tokens = (_COMPILED[name] for name in ("begin", "replay_log", "count_tokens"))
_compare_board, _hash_log = _COMPILED["compare_board"], _COMPILED["hash_log"]


def replay_batch(  # type: ignore[no-untyped-def]
    logs, starts, ends, boards, board_starts, board_ends, deal_index, select,
    modes, tables, deal, first, last, seeds, start, start_first, knows,
    p, rng, cells, cols, st, work, saved,
    status, score, best_combo, moves, finished, received, board, level, log_hash, out_rows,
):  # fmt: skip
    """Replay the selected games one after the other; see ``BatchReplayer.replay`` for the arrays.

    ``p`` to ``saved`` are room for one game.  They come from the caller, who keeps them while they are borrowed here.
    """
    logs, boards, modes, tables, deal = _borrowed(logs), _borrowed(boards), _borrowed(modes), _borrowed(tables), _borrowed(deal)
    start, p, rng, cells, cols = _borrowed(start), _borrowed(p), _borrowed(rng), _borrowed(cells), _borrowed(cols)
    st, work, saved = _borrowed(st), _borrowed(work), _borrowed(saved)
    for row in select:
        pos, end, which = starts[row], ends[row], deal_index[row]
        for index in range(at.N_PARAMS):
            p[index] = modes[which, index]
        if knows[which]:
            _begin(p, tables, deal, first[which], last[which], seeds[which], start, start_first[which], rng, cells, cols, st)
            status[row] = _replay_log(logs, pos, end, p, tables, deal, rng, cells, cols, st, work, saved)
            level[row] = st[at.LEVEL]
        else:
            for index in range(at.N_STATE):
                st[index] = 0
            status[row] = NO_SUCH_MODE
            level[row] = at.NONE
        score[row] = st[at.SCORE]
        best_combo[row] = st[at.BEST]
        moves[row] = st[at.MOVES]
        finished[row] = st[at.PHASE] == at.OVER
        received[row] = _count_tokens(logs, pos, end)
        board[row] = _compare_board(boards, board_starts[row], board_ends[row], p[at.P_WIDTH], p[at.P_HEIGHT], cells)
        log_hash[row, 0], log_hash[row, 1] = _hash_log(logs, pos, end, False)
        size = p[at.P_WIDTH] * p[at.P_HEIGHT]
        for index in range(out_rows.shape[1]):
            out_rows[row, index] = 0
            if index < size:
                place = (index // p[at.P_WIDTH] + at.TOP) * at.STRIDE + index % p[at.P_WIDTH] + at.LEFT
                out_rows[row, index] = cells[place]


def replay_all(  # type: ignore[no-untyped-def]
    logs, starts, ends, deal_index, select, modes, tables, deal, first, last, seeds, start, start_first,
    p, rng, cells, cols, st, work, saved,
):  # fmt: skip
    """(sum of scores, locked pieces) of the selected games: the replay with nothing around it, for benchmarks."""
    logs, modes, tables, deal, start = _borrowed(logs), _borrowed(modes), _borrowed(tables), _borrowed(deal), _borrowed(start)
    p, rng, cells, cols = _borrowed(p), _borrowed(rng), _borrowed(cells), _borrowed(cols)
    st, work, saved = _borrowed(st), _borrowed(work), _borrowed(saved)
    total = locked = 0
    for row in select:
        which = deal_index[row]
        for index in range(at.N_PARAMS):
            p[index] = modes[which, index]
        _begin(p, tables, deal, first[which], last[which], seeds[which], start, start_first[which], rng, cells, cols, st)
        _replay_log(logs, starts[row], ends[row], p, tables, deal, rng, cells, cols, st, work, saved)
        total += st[at.SCORE]
        locked += st[at.PIECES]
    return total, locked


_MARK = fingerprint(*_PARTS)
BATCH: dict[str, Any] = {
    **_COMPILED, "replay_batch": compile_function(replay_batch, _MARK), "replay_all": compile_function(replay_all, _MARK),
}  # fmt: skip
