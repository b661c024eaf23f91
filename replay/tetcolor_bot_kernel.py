"""The bots of Tetcolor, compiled: whole games in one call.

A bot chooses a place (``replay.tetcolor_search``), then turns, shifts, drops and confirms with human pauses.  The engine plays
all of it: where gravity or the landing window did not wait, the piece lies where they put it, as with people.  Claims are the
engine's state.
"""

from __future__ import annotations

from typing import Any

from engine import compiled
from engine.tetcolor import kernel, pieces, settle
from engine.tetcolor import layout as at
from engine.tetcolor.batch_kernel import BATCH
from replay import tetcolor_search as s

# What one game yields, columns of ``out``: size of the log, its tokens, claims, whether it is over, locked pieces; then locks
# after which something went: at all, in two passes or more, in three or more; that set off bombs, and those that set off others.
O_SIZE, O_TOKENS, O_SCORE, O_BEST, O_LEVEL, O_FINISHED, O_PIECES = 0, 1, 2, 3, 4, 5, 6
O_MATCHES, O_CASCADES, O_LONG, O_BLASTS, O_CHAINS = 7, 8, 9, 10, 11
N_OUT = 12

# Columns of ``orders``.
R_SKILL, R_STOP, R_GIVE_UP = 0, 1, 2
# What a bot has written: ticks since its last input, size, tokens, pieces locked.
C_WAITED, C_SIZE, C_TOKENS, C_PIECES = 0, 1, 2, 3
N_CLOCK = 4
LEFT, RIGHT, DOWN, CLOCKWISE, COUNTER, DROP = 108, 114, 100, 120, 122, 104
# Confirmations of one piece at most, soft drops, and pieces of a game that is given up.
MOST_CONFIRMS, MOST_SOFT, MOST_DROPS = 4, 6, 120
# Bytes that the inputs for one piece can take, and the number at the end of the log: digits and a letter each.
PIECE_BYTES = 400

_borrowed: Any = compiled.borrowed_uncompiled if compiled.CONFIG.DISABLE_JIT else compiled.borrowed
_begin, _go_on, _close_token = (BATCH[name] for name in ("begin", "go_on", "close_token"))
_choose, _draw = s.choose, s.draw
jit = compiled.jit(at, settle, pieces, kernel, s)


# --- Inputs


@jit
def _run(rules: Any, game: Any, clock: Any, out: Any) -> None:
    """Let happen what is under way, counting what the locks did."""
    p, tables, deal = rules
    rng, board, cols, st, work, _ = game
    while _go_on(p, tables, deal, rng, board, cols, st, work):
        if st[at.PIECES] == clock[C_PIECES]:
            continue
        clock[C_PIECES] = st[at.PIECES]
        passes, generations = st[at.PASSES], st[at.GENERATIONS]
        out[O_MATCHES] += passes > 0
        out[O_CASCADES] += passes > 1
        out[O_LONG] += passes > 2
        out[O_BLASTS] += generations > 0
        # The first generation is what the matched bombs reach; there is a second only where they hit others.
        out[O_CHAINS] += generations > 1


@jit
def _wait(ticks: Any, rules: Any, game: Any, clock: Any, out: Any) -> None:
    """Let ticks pass."""
    st = game[3]
    if ticks > 0 and st[at.PHASE] != at.OVER:
        st[at.TICKS] = ticks
        _run(rules, game, clock, out)
        clock[C_WAITED] += ticks


@jit
def _write_number(number: Any, log: Any, clock: Any) -> None:
    digits = 1
    while number >= 10**digits:
        digits += 1
    for k in range(digits - 1, -1, -1):
        log[clock[C_SIZE]] = 48 + number // 10**k % 10
        clock[C_SIZE] += 1


@jit
def _input(letter: Any, rules: Any, game: Any, log: Any, clock: Any, out: Any) -> None:
    """Make one input and write it down."""
    p, tables, _ = rules
    rng, board, cols, st, work, saved = game
    if clock[C_WAITED] > 0:
        _write_number(clock[C_WAITED], log, clock)
    log[clock[C_SIZE]] = letter
    clock[C_SIZE] += 1
    clock[C_TOKENS] += 1
    clock[C_WAITED] = 0
    st[at.LETTER] = letter
    _close_token(p, tables, rng, board, cols, st, work, saved)
    _run(rules, game, clock, out)


# --- Moving


@jit
def _gap(w: Any, st: Any, luck: Any) -> Any:
    """Ticks between two inputs: who plays fast pieces hurries."""
    return 1 + _draw(luck, max(1, min(w[s.W_GAP], st[at.ROW_TIME] >> 1)))


@jit
def _press(letter: Any, pieces: Any, rules: Any, w: Any, game: Any, log: Any, clock: Any, out: Any, luck: Any) -> Any:
    """Wait a moment and make an input; whether the piece in play is still the same afterwards."""
    st = game[3]
    _wait(_gap(w, st, luck), rules, game, clock, out)
    if st[at.PIECES] == pieces and st[at.PHASE] == at.FALLING:
        _input(letter, rules, game, log, clock, out)
    return st[at.PIECES] == pieces and st[at.PHASE] == at.FALLING


@jit
def _turn(turns: Any, pieces: Any, rules: Any, w: Any, game: Any, log: Any, clock: Any, out: Any, luck: Any) -> Any:
    """Turn or cycle the piece, the shorter way round."""
    tables, st = rules[1], game[3]
    back = turns == 3 or (turns == 2 and tables[tables[st[at.TURN] + at.T_CLOCKWISE] + at.T_CLOCKWISE] == (
        tables[st[at.TURN] + at.T_COUNTER]
    ))  # fmt: skip
    for _ in range(1 if back else turns):
        if not _press(COUNTER if back else CLOCKWISE, pieces, rules, w, game, log, clock, out, luck):
            return False
    return True


@jit
def _confirm(pieces: Any, rules: Any, w: Any, game: Any, log: Any, clock: Any, out: Any, luck: Any) -> None:
    """Lock a piece that lies where it should: by another hard drop, or by leaving it alone."""
    p, st = rules[0], game[3]
    if _draw(luck, 65536) < w[s.W_LINGER]:
        _wait(p[at.P_LANDING] + _draw(luck, 8), rules, game, clock, out)
    for _ in range(MOST_CONFIRMS):
        if st[at.PIECES] != pieces or st[at.PHASE] != at.FALLING:
            return
        if not _press(DROP, pieces, rules, w, game, log, clock, out, luck):
            return


@jit
def _play_piece(
    rules: Any, w: Any, game: Any, rooms: Any, places: Any, log: Any, clock: Any, out: Any, luck: Any, goal: Any
) -> None:  # fmt: skip
    """Choose for one piece and play it."""
    st = game[3]
    if st[at.PHASE] == at.WAITING:
        _wait(st[at.ENTER_AT] - st[at.CLOCK], rules, game, clock, out)
        if st[at.PHASE] != at.FALLING:
            return
    pieces = st[at.PIECES]
    think = min(w[s.W_THINK], 3 * st[at.ROW_TIME])
    _wait(think // 2 + _draw(luck, think), rules, game, clock, out)
    if st[at.PIECES] != pieces or st[at.PHASE] != at.FALLING:
        return
    if not _choose(rules, w, game, rooms, places, luck, goal):
        _confirm(pieces, rules, w, game, log, clock, out, luck)
        return
    if not _turn(goal[s.G_TURNS], pieces, rules, w, game, log, clock, out, luck):
        return
    for _ in range(at.MAX_WIDTH):
        column = st[at.COLUMN]
        if column == goal[s.G_COLUMN]:
            break
        letter = LEFT if column > goal[s.G_COLUMN] else RIGHT
        if not _press(letter, pieces, rules, w, game, log, clock, out, luck):
            return
        if st[at.COLUMN] == column:
            break
    if _draw(luck, 65536) < w[s.W_SOFT]:
        for _ in range(1 + _draw(luck, MOST_SOFT)):
            if not _press(DOWN, pieces, rules, w, game, log, clock, out, luck):
                return
    if not _press(DROP, pieces, rules, w, game, log, clock, out, luck):
        return
    if goal[s.G_SLIDE]:
        letter = LEFT if goal[s.G_SLIDE] < 0 else RIGHT
        if not _press(letter, pieces, rules, w, game, log, clock, out, luck):
            return
    _confirm(pieces, rules, w, game, log, clock, out, luck)


@jit
def _goes_on(st: Any) -> Any:
    return st[at.PHASE] == at.FALLING or st[at.PHASE] == at.WAITING


@jit
def _play(
    order: Any, rules: Any, w: Any, game: Any, rooms: Any, places: Any, log: Any, clock: Any, out: Any, luck: Any, goal: Any
) -> None:  # fmt: skip
    """Play a game that has begun into ``log`` and ``out``."""
    st = game[3]
    for index in range(N_CLOCK):
        clock[index] = 0
    room_left = len(log) - PIECE_BYTES
    while _goes_on(st) and st[at.PIECES] < order[R_STOP] and clock[C_SIZE] < room_left:
        _play_piece(rules, w, game, rooms, places, log, clock, out, luck, goal)
    if order[R_GIVE_UP]:
        drops = 0
        while _goes_on(st) and drops < MOST_DROPS and clock[C_SIZE] < room_left:
            if st[at.PHASE] == at.WAITING:
                _wait(st[at.ENTER_AT] - st[at.CLOCK], rules, game, clock, out)
            pieces = st[at.PIECES]
            if _goes_on(st) and _press(DROP, pieces, rules, w, game, log, clock, out, luck):
                _press(DROP, pieces, rules, w, game, log, clock, out, luck)
            drops += 1
    elif st[at.PHASE] != at.OVER:
        # The player looks on for a moment before closing the game.
        _wait(_draw(luck, 45), rules, game, clock, out)
    if clock[C_WAITED] > 0:
        _write_number(clock[C_WAITED], log, clock)
    out[O_SIZE], out[O_TOKENS], out[O_PIECES] = clock[C_SIZE], clock[C_TOKENS], st[at.PIECES]
    out[O_SCORE], out[O_BEST], out[O_LEVEL] = st[at.SCORE], st[at.BEST], st[at.LEVEL]
    out[O_FINISHED] = st[at.PHASE] == at.OVER


@jit
def play_games(
    seeds: Any, orders: Any, deal_of: Any, weights: Any, rng: Any, board: Any, cols: Any, st: Any, work: Any, saved: Any,
    board_1: Any, cols_1: Any, st_1: Any, work_1: Any, board_2: Any, cols_2: Any, st_2: Any, work_2: Any,
    places_1: Any, places_2: Any, clock: Any, luck: Any, goal: Any, boards: Any, logs: Any, out: Any,
) -> None:  # fmt: skip
    """Play ``len(seeds)`` games of one deal in one mode.

    Takes per game ``seeds`` (uint64) and ``orders`` (int64, games x R_*); ``deal_of`` is (rules of the mode, tables, listed
    pieces, last, seed of the deal, start board, its first cell) as the engine's ``begin`` takes them.  Fills ``boards`` (int64,
    games x N_BOARD), ``logs`` (uint8, games x bytes) and ``out`` (int64, games x N_OUT).  The rest is room: a game, and twice a
    board to try pieces on.
    """
    p, tables, deal, last, rng_seed, start, start_first = deal_of
    p, tables, deal, start = _borrowed(p), _borrowed(tables), _borrowed(deal), _borrowed(start)
    rng, board, cols, st = _borrowed(rng), _borrowed(board), _borrowed(cols), _borrowed(st)
    work, saved = _borrowed(work), _borrowed(saved)
    rules = (p, tables, deal)
    game = (rng, board, cols, st, work, saved)
    rooms = (
        (_borrowed(board_1), _borrowed(cols_1), _borrowed(st_1), _borrowed(work_1)),
        (_borrowed(board_2), _borrowed(cols_2), _borrowed(st_2), _borrowed(work_2)),
    )  # fmt: skip
    places = (_borrowed(places_1), _borrowed(places_2))
    for number in range(len(seeds)):
        luck[0] = seeds[number]
        _begin(p, tables, deal, 0, last, rng_seed, start, start_first, rng, board, cols, st)
        for index in range(N_OUT):
            out[number, index] = 0
        w = weights[orders[number, R_SKILL]]
        _play(orders[number], rules, w, game, rooms, places, logs[number], clock, out[number], luck, goal)
        for index in range(at.N_BOARD):
            boards[number, index] = board[index]
