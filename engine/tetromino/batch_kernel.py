"""The loop over games around the compiled kernel, and the compiled functions by name."""

from __future__ import annotations

from typing import Any

from engine.compiled import compile_function, compile_kernel, fingerprint
from engine.tetromino import kernel as source
from engine.tetromino import pieces, text

_PARTS = (pieces, text, source)
_COMPILED = compile_kernel(*_PARTS)
_begin, _replay_log, _count_letters, _compare_board, _hash_log = (
    _COMPILED[name] for name in ("begin", "replay_log", "count_letters", "compare_board", "hash_log")
)
HEIGHT, COLOURS, WALL_BITS = pieces.P_HEIGHT, pieces.ROWS + pieces.PAD, 4 * pieces.WALL


def replay_game(  # type: ignore[no-untyped-def]
    data, pos, end, start, first_word, params, kicks, masks, deal, last, board, st, keep_board, keep_st
):
    """Replay one log; the state is left in ``board`` and ``st``."""
    _begin(start, first_word, params, kicks, masks, deal, last, board, st)
    return _replay_log(data, pos, end, params, kicks, masks, deal, last, board, st, keep_board, keep_st)


_MARK = fingerprint(*_PARTS)
_replay_game = compile_function(replay_game, _MARK, counted=False)


def replay_batch(  # type: ignore[no-untyped-def]
    logs, starts, ends, boards, board_starts, board_ends, deal_index, select,
    start, params, width, kicks, masks, deal, first, seeded,
    game_board, st, keep_board, keep_st,
    status, score, best_combo, moves, finished, received, board, level, lines, log_hash, out_rows,
):  # fmt: skip
    """Replay the selected games one after the other; see ``BatchReplayer.replay`` for the arrays.

    ``game_board``, ``st`` and ``keep_*`` are room for one game; nothing here makes an array of its own.
    """
    for row in select:
        pos, end, which = starts[row], ends[row], deal_index[row]
        last = -1 if seeded[which] else first[which + 1] - first[which]
        status[row] = _replay_game(
            logs, pos, end, start, which * source.N_BOARD, params[which], kicks, masks,
            deal[first[which] : first[which + 1]], last, game_board, st, keep_board, keep_st,
        )  # fmt: skip
        score[row] = st[source.ST_SCORE]
        best_combo[row] = st[source.ST_BEST]
        moves[row] = st[source.ST_MOVES]
        finished[row] = st[source.ST_FINISHED]
        level[row] = st[source.ST_LEVEL]
        lines[row] = st[source.ST_LINES]
        height = params[which, HEIGHT]
        board[row] = _compare_board(boards, board_starts[row], board_ends[row], width, height, game_board)
        letters, spaces = _count_letters(logs, pos, end)
        received[row] = letters
        log_hash[row, 0], log_hash[row, 1] = _hash_log(logs, pos, end, spaces == 0)
        for r in range(min(height, out_rows.shape[1])):
            out_rows[row, r] = game_board[COLOURS + height - 1 - r] >> WALL_BITS


def replay_all(  # type: ignore[no-untyped-def]
    logs, starts, ends, deal_index, select, start, params, kicks, masks, deal, first, seeded, board, st, keep_board, keep_st
):
    """The sum of the selected games' scores: the replay with nothing around it, for benchmarks."""
    total = 0
    for row in select:
        which = deal_index[row]
        last = -1 if seeded[which] else first[which + 1] - first[which]
        _replay_game(
            logs, starts[row], ends[row], start, which * source.N_BOARD, params[which], kicks, masks,
            deal[first[which] : first[which + 1]], last, board, st, keep_board, keep_st,
        )  # fmt: skip
        total += st[source.ST_SCORE]
    return total


BATCH: dict[str, Any] = {
    **_COMPILED, "replay_game": _replay_game, "replay_batch": compile_function(replay_batch, _MARK, counted=False),
    "replay_all": compile_function(replay_all, _MARK, counted=False),
}  # fmt: skip
