"""Tetromino Arcade's bots, compiled: whole games played through the engine's own functions, one call for many games.

A bot lets time pass, looks where the piece (or the one that hold would bring) can come to lie, takes the place that is worth
most to it, and makes its inputs one by one with some ticks between them.  What happens is the engine's affair: a piece that
gravity takes elsewhere, or that locks meanwhile, is not where the bot wanted it, as with people.  Claims are the engine's state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.tetromino.batch_kernel import BATCH
from engine.tetromino.kernel import SPIN_FULL, SPIN_MINI, SPIN_NONE
from engine.tetromino.pieces import (
    K_LOWEST,
    L_CHAIN,
    L_LINES,
    L_PERFECT,
    L_SHAPE,
    L_SPIN,
    L_X,
    NO_PIECE,
    P_CHAIN_PARTS,
    P_CHAIN_TIMES,
    P_FULL,
    P_GRAVITY,
    P_LEVELS,
    P_LOCK_DELAY,
    P_MINI,
    P_PERFECT,
    P_PLAIN,
    ST_BEST,
    ST_CHAIN,
    ST_COMBO,
    ST_FINISHED,
    ST_HELD,
    ST_HOLD,
    ST_LEVEL,
    ST_LINES,
    ST_LOCKS,
    ST_PIECE,
    ST_SCORE,
    ST_SHAPE,
    ST_TOP,
    ST_X,
    ST_Y,
    WALL,
)
from replay import tetromino_search as s
from replay.tetromino_search import jit

# What one game yields, columns of ``out``: size of the log, its tokens, claims, whether it is over, pieces; then how often
# each feat occurred: full T-spins of 0 to 3 lines, minis of 0 to 2, four lines, back-to-back, perfect clears.
O_SIZE, O_TOKENS, O_SCORE, O_BEST, O_LEVEL, O_LINES, O_FINISHED, O_PIECES = 0, 1, 2, 3, 4, 5, 6, 7
O_SPINS, O_MINIS, O_FOURS, O_CHAINS, O_PERFECT = 8, 12, 15, 16, 17
N_OUT = 18

# Columns of ``orders``.
R_SKILL, R_STOP, R_GIVE_UP, R_BOOK = 0, 1, 2, 3
# What a bot has written: ticks since its last input, size, tokens.
C_WAITED, C_SIZE, C_TOKENS, C_LOCKS = 0, 1, 2, 3
N_CLOCK = 4

LEFT, RIGHT, DOWN, CLOCKWISE, COUNTER, DROP, HOLD = 108, 114, 100, 120, 122, 104, 99
# A piece takes no more inputs than this, and a game that is given up no more pieces.
MOST_INPUTS, MOST_DROPS = 80, 120
# Bytes that the inputs for one piece can take: digits and letter, and the number at the end of the log.
PIECE_BYTES = 5 * MOST_INPUTS
USUAL_BYTES = 48
PATIENCE = 6
# A row in two ticks.
FAST = 32_768
NOT_YET = -(1 << 60)
_LOW16 = np.uint64(0xFFFF)
_GAMMA = np.uint64(0x9E37_79B9_7F4A_7C15)

_begin, _advance, _act, _mixed = (BATCH[name] for name in ("begin", "advance", "act", "mixed"))


@jit
def _draw(luck: Any, below: Any) -> Any:
    """A number from 0 to ``below`` - 1."""
    luck[0] += _GAMMA
    return np.int64(((_mixed(luck[0]) >> s.S32) * np.uint64(below)) >> s.S32)


# --- Inputs


@jit
def _note_locks(st: Any, clock: Any, out: Any) -> Any:
    """Count what the last lock did; whether a piece has locked since the last call."""
    if st[ST_LOCKS] == clock[C_LOCKS]:
        return False
    clock[C_LOCKS] = st[ST_LOCKS]
    lines = st[L_LINES]
    if st[L_SPIN] == SPIN_FULL:
        out[O_SPINS + lines] += 1
    elif st[L_SPIN] == SPIN_MINI:
        out[O_MINIS + lines] += 1
    if lines == 4:
        out[O_FOURS] += 1
    out[O_CHAINS] += st[L_CHAIN]
    out[O_PERFECT] += st[L_PERFECT]
    return True


@jit
def _wait(ticks: Any, tables: Any, board: Any, st: Any, clock: Any, out: Any) -> Any:
    """Let ticks pass; whether a piece has locked or the game has ended meanwhile."""
    params, kicks, masks, deal, last = tables
    if ticks > 0:
        _advance(ticks, 0, params, kicks, masks, deal, last, board, st)
        clock[C_WAITED] += ticks
    return _note_locks(st, clock, out) or st[ST_FINISHED] != 0


@jit
def _write_number(number: Any, log: Any, clock: Any) -> None:
    digits = 1
    while number >= 10**digits:
        digits += 1
    for k in range(digits - 1, -1, -1):
        log[clock[C_SIZE]] = 48 + number // 10**k % 10
        clock[C_SIZE] += 1


@jit
def _input(letter: Any, tables: Any, board: Any, st: Any, log: Any, clock: Any, out: Any) -> Any:
    """Make one input and write it down; whether a piece has locked."""
    params, kicks, masks, deal, last = tables
    if clock[C_WAITED] > 0:
        _write_number(clock[C_WAITED], log, clock)
    log[clock[C_SIZE]] = letter
    clock[C_SIZE] += 1
    clock[C_TOKENS] += 1
    clock[C_WAITED] = 0
    _act(letter, params, kicks, masks, deal, last, board, st)
    return _note_locks(st, clock, out)


# --- Choosing


@jit
def _points(lines: Any, spin: Any, perfect: Any, params: Any, st: Any) -> Any:
    """What a lock would be worth at level 1."""
    points = params[P_PLAIN + lines]
    if spin == SPIN_FULL:
        points = params[P_FULL + lines]
    elif spin == SPIN_MINI:
        points = params[P_MINI + lines]
    if lines > 0:
        if st[ST_CHAIN] and (lines == 4 or spin != SPIN_NONE):
            points = points * params[P_CHAIN_TIMES] // params[P_CHAIN_PARTS]
        if perfect:
            points += params[P_PERFECT + lines]
        return points
    # A spin for its own sake is worth little: the T could have brought lines.
    return points >> 2


@jit
def _judge(
    piece: Any, turn: Any, x: Any, y: Any, spin: Any, tables: Any, w: Any, board: Any, st: Any, rows: Any
) -> Any:  # fmt: skip
    """What a place is worth to the bot."""
    params, kicks, masks, _, _ = tables
    shape = piece * 4 + turn
    lines, height, perfect = s.place(board, st[ST_TOP], masks[shape], x, y, rows)
    value = s.board_value(rows, height, w) + w[s.W_LANDING] * (y + kicks[K_LOWEST + shape])
    value += w[s.W_GAIN] * _points(lines, spin, perfect, params, st) >> 4
    if lines > 0:
        value += w[s.W_CHAIN] * (st[ST_COMBO] + 1)
        if lines < 4 and spin == SPIN_NONE and not perfect and st[ST_COMBO] < 1 and st[ST_TOP] < s.LOW_BOARD:
            value += w[s.W_WASTE] * lines
    if w[s.W_SHAFT] != 0 and lines < 4 and spin == SPIN_NONE and height < s.LOW_BOARD:
        shaft = 0
        for row in range(height):
            if rows[row] & s.SHAFT_BIT != s.ZERO:
                shaft += 1
        value += w[s.W_SHAFT] * shaft
    return value


@jit
def _look_at(
    piece: Any, extra: Any, hold: Any, free: Any, tables: Any, w: Any, board: Any, st: Any, luck: Any, room: Any, goal: Any,
    best: Any,
) -> Any:  # fmt: skip
    """Judge every place of a piece; the best value so far is returned and its place stands in ``goal``."""
    _, kicks, masks, _, _ = tables
    seen, rows = room[0], room[1]
    spins = w[s.W_SPIN] != 0
    high = s.look(piece, board, st, kicks, masks, seen, spins)
    layer = s.REACHED if spins or not free else s.FALLING
    turns = 1 if piece == s.O_PIECE else 4 if piece in (1, 2, s.T_PIECE) or not free else 2
    for turn in range(turns):
        for level in range(high + 1):
            lands = seen[layer, turn, level]
            if level > 0:
                lands &= seen[s.FITS, turn, level - 1] ^ s.ALL
            while lands != s.ZERO:
                bit = s.popcount((lands - s.ONE) & (lands ^ s.ALL))
                lands &= lands - s.ONE
                x, y = np.int64(bit) - WALL, np.int64(level - s.BELOW)
                turned = piece == s.T_PIECE and (seen[s.TURNED, turn, level] >> bit) & s.ONE != s.ZERO
                spin = s.spin_kind(board, masks, turn, x, y) if turned else 0
                value = extra + _judge(piece, turn, x, y, spin, tables, w, board, st, rows)
                if w[s.W_NOISE] != 0:
                    value += (_draw(luck, 65536) + _draw(luck, 65536) - 65535) * w[s.W_NOISE] >> 16
                if value > best:
                    best = value
                    falls = (seen[s.FALLING, turn, level] >> bit) & s.ONE != s.ZERO
                    goal[0], goal[1], goal[2] = turn, x, y
                    goal[3], goal[4], goal[5] = spin != SPIN_NONE, hold, free and falls and spin == SPIN_NONE
    return best


@jit
def _choose(tables: Any, sequence: Any, w: Any, board: Any, st: Any, luck: Any, room: Any, goal: Any) -> Any:
    """Where to put the piece in play, or the one that hold brings: turn, x, y, by a turn, hold, straight from above."""
    kicks = tables[1]
    own, held = st[ST_PIECE], st[ST_HOLD]
    y = st[ST_Y]
    free = y + kicks[K_LOWEST + st[ST_SHAPE]] >= st[ST_TOP] + 2 and y > st[ST_TOP]
    keep_held = w[s.W_KEEP] if held == s.T_PIECE else w[s.W_KEEP] >> 1 if held == s.I_PIECE else 0
    keep_own = w[s.W_KEEP] if own == s.T_PIECE else w[s.W_KEEP] >> 1 if own == s.I_PIECE else 0
    goal[4] = 0
    best = _look_at(own, keep_held, 0, free, tables, w, board, st, luck, room, goal, NOT_YET)
    if free and not st[ST_HELD] and _draw(luck, 65536) < w[s.W_HOLD]:
        other = held
        taken = 1 + st[ST_LOCKS]
        if held == NO_PIECE and taken < len(sequence):
            other = sequence[taken]
        if other != NO_PIECE and other != own:
            best = _look_at(other, keep_own, 1, free, tables, w, board, st, luck, room, goal, best)
    return best


# --- Moving


@jit
def _gap(w: Any, luck: Any) -> Any:
    return 1 + _draw(luck, w[s.W_GAP])


@jit
def _straight(tables: Any, w: Any, board: Any, st: Any, log: Any, clock: Any, out: Any, luck: Any, goal: Any) -> None:
    """Turn, shift and drop a piece that falls to its place from above."""
    letter = COUNTER if goal[0] == 3 else CLOCKWISE
    for _ in range(1 if goal[0] == 3 else goal[0]):
        if _wait(_gap(w, luck), tables, board, st, clock, out):
            return
        _input(letter, tables, board, st, log, clock, out)
    for _ in range(10):
        if st[ST_X] == goal[1]:
            break
        if _wait(_gap(w, luck), tables, board, st, clock, out):
            return
        _input(LEFT if st[ST_X] > goal[1] else RIGHT, tables, board, st, log, clock, out)
    if not _wait(_gap(w, luck), tables, board, st, clock, out):
        _input(DROP, tables, board, st, log, clock, out)


@jit
def _letter(code: Any) -> Any:
    if code == 0:
        return LEFT
    if code == 1:
        return RIGHT
    if code == 2:
        return DOWN
    return CLOCKWISE if code == 3 else COUNTER


@jit
def _winding(
    tables: Any, w: Any, board: Any, st: Any, log: Any, clock: Any, out: Any, luck: Any, goal: Any, room: Any
) -> None:  # fmt: skip
    """Take a piece along a path to its place; where gravity has moved it meanwhile another way is looked for."""
    _, kicks, masks, _, _ = tables
    came, queue, path = room[2], room[3], room[4]
    inputs = 0
    by_turn = goal[3] != 0
    for _ in range(PATIENCE):
        left = s.find_path(st, kicks, masks, board, goal, by_turn, came, queue, path)
        while left > 0 and inputs < MOST_INPUTS - 4:
            shape, x, y = st[ST_SHAPE], st[ST_X], st[ST_Y]
            # A held-down key repeats quickly; a turn that must come before the piece falls on comes at once.
            gap = _draw(luck, 2) if path[left - 1] == 2 else _gap(w, luck)
            if _wait(gap, tables, board, st, clock, out):
                return
            if st[ST_SHAPE] != shape or st[ST_X] != x or st[ST_Y] != y:
                break
            left -= 1
            inputs += 1
            _input(_letter(path[left]), tables, board, st, log, clock, out)
        if left <= 0:
            break
    if not _wait(_draw(luck, 3), tables, board, st, clock, out):
        _input(DROP, tables, board, st, log, clock, out)


@jit
def _by_the_book(step: Any, book: Any, st: Any, goal: Any) -> Any:
    """The next step of the opening that the bot knows, as a goal."""
    goal[0], goal[1], goal[3], goal[4], goal[5] = book[step, 1], book[step, 2], 0, book[step, 0], 1


@jit
def _play_piece(
    step: Any, tables: Any, sequence: Any, book: Any, w: Any, board: Any, st: Any, log: Any, clock: Any, out: Any, luck: Any,
    room: Any, goal: Any,
) -> Any:  # fmt: skip
    """Choose for one piece and play it; the next step of the book is returned, -1 when the bot has left it."""
    think = w[s.W_THINK]
    params = tables[0]
    if params[P_GRAVITY + min(st[ST_LEVEL], params[P_LEVELS]) - 1] >= FAST:
        # Pieces that lie on the ground at once lock while somebody thinks as usual.
        think = min(think, params[P_LOCK_DELAY] // 2)
    if _wait(think // 2 + _draw(luck, think), tables, board, st, clock, out):
        return -1
    if step >= 0:
        _by_the_book(step, book, st, goal)
    elif _choose(tables, sequence, w, board, st, luck, room, goal) == NOT_YET:
        # Nowhere to go: what gravity and lock timer do is all that is left.
        _input(DROP, tables, board, st, log, clock, out)
        return -1
    if goal[4]:
        if _input(HOLD, tables, board, st, log, clock, out) or st[ST_FINISHED] or st[ST_PIECE] == NO_PIECE:
            return -1
        if _wait(_gap(w, luck), tables, board, st, clock, out):
            return -1
    if goal[5]:
        _straight(tables, w, board, st, log, clock, out, luck, goal)
    else:
        _winding(tables, w, board, st, log, clock, out, luck, goal, room)
    # A piece that came to lie elsewhere ends the opening.
    if step < 0 or step + 1 == len(book) or st[L_X] != goal[1] or st[L_SHAPE] & 3 != goal[0]:
        return -1
    return step + 1


@jit
def _play(
    order: Any, tables: Any, sequence: Any, book: Any, w: Any, start: Any, board: Any, st: Any, log: Any, clock: Any, out: Any,
    luck: Any, room: Any, goal: Any,
) -> None:  # fmt: skip
    """Play one game into ``log`` and ``out``; ``board`` and ``st`` keep its end."""
    params, kicks, masks, deal, last = tables
    _begin(start, 0, params, kicks, masks, deal, last, board, st)
    clock[:] = 0
    out[:] = 0
    step = 0 if order[R_BOOK] and len(book) > 0 else -1
    room_left = len(log) - PIECE_BYTES
    while not st[ST_FINISHED] and st[ST_PIECE] != NO_PIECE and st[ST_LOCKS] < order[R_STOP] and clock[C_SIZE] < room_left:
        step = _play_piece(step, tables, sequence, book, w, board, st, log, clock, out, luck, room, goal)
    if order[R_GIVE_UP]:
        drops = 0
        while not st[ST_FINISHED] and st[ST_PIECE] != NO_PIECE and drops < MOST_DROPS and clock[C_SIZE] < room_left:
            if not _wait(_gap(w, luck), tables, board, st, clock, out):
                _input(DROP, tables, board, st, log, clock, out)
            drops += 1
    elif not st[ST_FINISHED]:
        # The player looks on for a moment before closing the game.
        _wait(_draw(luck, 45), tables, board, st, clock, out)
    if clock[C_WAITED] > 0:
        _write_number(clock[C_WAITED], log, clock)
    out[O_SIZE], out[O_TOKENS], out[O_PIECES] = clock[C_SIZE], clock[C_TOKENS], st[ST_LOCKS]
    out[O_SCORE], out[O_BEST], out[O_LEVEL], out[O_LINES] = st[ST_SCORE], st[ST_BEST], st[ST_LEVEL], st[ST_LINES]
    out[O_FINISHED] = st[ST_FINISHED]


@jit
def play_games(
    seeds: Any, orders: Any, params: Any, kicks: Any, masks: Any, deal: Any, last: Any, sequence: Any, book: Any, weights: Any,
    start: Any, boards: Any, logs: Any, out: Any, st: Any, clock: Any, luck: Any, room: Any, goal: Any,
) -> None:  # fmt: skip
    """Play ``len(seeds)`` games of one deal in one mode.

    Takes per game ``seeds`` (uint64) and ``orders`` (int64, games x R_*); ``deal`` and ``last`` are the kernel's, ``sequence``
    the pieces in the deal's order (int64), ``book`` an opening (steps x hold, turn, x; may be empty).  Fills ``boards`` (uint64,
    games x N_BOARD), ``logs`` (uint8, games x bytes) and ``out`` (int64, games x N_OUT).  The rest is room.
    """
    tables = (params, kicks, masks, deal, last)
    for game in range(len(seeds)):
        luck[0] = seeds[game]
        _play(
            orders[game], tables, sequence, book, weights[orders[game, R_SKILL]], start, boards[game], st, logs[game], clock,
            out[game], luck, room, goal,
        )  # fmt: skip
