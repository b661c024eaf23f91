"""Where a bot of Tetcolor puts a piece, compiled: every place that it can be turned and shifted to is tried and judged.

A place is tried with the engine's own settle machine on a copy of the board, so a bot knows what it would set off.  Better bots
try the next piece too, after the best few places of the one in play.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import compiled
from engine.tetcolor import kernel, pieces, settle
from engine.tetcolor import layout as at
from engine.tetcolor.batch_kernel import BATCH

# One skill is one row of weights; those of the board are about one block each.
W_GAIN = 0  # a point earned, in 1/16
W_CLEAR = 1  # a retris point, in 1/16
W_PASS = 2  # a successful pass after the first
W_LANDING = 3  # a row of height that the piece comes to lie at
W_ROWS = 4  # a change between block and gap along a row
W_COLUMNS = 5  # the same along a column
W_HOLE = 6  # a gap under a block
W_WELL = 7  # a gap between two blocks, for each such above it as well
W_TALL = 8  # a row of the highest column within LOW_ROOM rows of the top, squared
W_PAIR = 9  # two blocks of one colour side by side or corner to corner
W_LOAD = 10  # a bomb or Activator on the board
W_NOISE = 11  # the width of the random error of one judgement
W_SLIDE = 12  # whether places under an overhang are looked at
W_DEPTH = 13  # 1: the piece in play alone; 2: the next one too
W_THINK = 14  # ticks before the first input, about
W_GAP = 15  # most ticks between inputs
W_SOFT = 16  # of 65,536 pieces, how many are brought down part of the way by soft drops
W_LINGER = 17  # of 65,536 pieces, how many are left to lock by themselves
W_WASTE = 18  # a settle in which something goes while there is room to build
N_WEIGHTS = 19

# A candidate place: value, turns clockwise, column, shift after the landing.
G_VALUE, G_TURNS, G_COLUMN, G_SLIDE = 0, 1, 2, 3
N_GOAL = 4
MOST_TURNS = 4
MOST_PLACES = MOST_TURNS * at.MAX_WIDTH * 3

# Places of the piece in play for which the next one is tried; rows at the top that should stay empty; no bot is tempted by more
# points than this at once.
WIDTH = 8
LOW_ROOM, MOST_GAIN = 7, 600
NOT_YET = -(1 << 60)
LOST = -(1 << 40)
_GAMMA, _S32 = np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(32)

_popcount: Any = compiled.popcount_uncompiled if compiled.CONFIG.DISABLE_JIT else compiled.popcount
_is_blocked, _room_below, _lock = (BATCH[name] for name in ("is_blocked", "room_below", "lock"))
_settle_step, _mixed = BATCH["settle_step"], BATCH["mixed"]
jit = compiled.jit(at, settle, pieces, kernel)


@jit
def draw(luck: Any, below: Any) -> Any:
    """A number from 0 to ``below`` - 1."""
    luck[0] += _GAMMA
    return np.int64(((_mixed(luck[0]) >> _S32) * np.uint64(below)) >> _S32)


@jit
def _bits(mask: Any) -> Any:
    return np.int64(_popcount(np.uint64(mask)))


@jit
def _shape_value(p: Any, w: Any, cols: Any) -> Any:
    """What the outline of a board is worth: gaps, changes, wells."""
    height = p[at.P_HEIGHT]
    rows = (1 << height) - 1
    value = 0
    left = rows
    for column in range(at.LEFT, at.LEFT + p[at.P_WIDTH]):
        mask = cols[column] & rows
        right = cols[column + 1] & rows
        value += w[W_ROWS] * _bits(mask ^ left)
        # The floor is a block, the sky is not.
        value += w[W_COLUMNS] * (_bits(mask ^ (mask >> 1 | 1 << (height - 1))) + (mask & 1))
        if mask:
            below = rows & ~((mask & -mask) - 1)
            value += w[W_HOLE] * _bits(below ^ mask)
        well = ~mask & left & right
        while well:
            value += w[W_WELL] * _bits(well)
            # A gap counts once more for each gap of the well above it.
            well &= well << 1
        left = mask
    return value + w[W_ROWS] * _bits(left ^ rows)


@jit
def _colour_value(p: Any, w: Any, board: Any, first: Any) -> Any:
    """What the blocks of a board are worth: colours that touch, bombs that wait."""
    pairs = loads = 0
    for row in range(first, p[at.P_HEIGHT]):
        start = (row + at.TOP) * at.STRIDE + at.LEFT
        for place in range(start, start + p[at.P_WIDTH]):
            cell = board[place]
            colour = cell & at.COLOUR
            if colour:
                pairs += (board[place + 1] & at.COLOUR) == colour
                pairs += (board[place + at.STRIDE - 1] & at.COLOUR) == colour
                pairs += (board[place + at.STRIDE] & at.COLOUR) == colour
                pairs += (board[place + at.STRIDE + 1] & at.COLOUR) == colour
                special = cell >> at.SPECIAL_SHIFT & 7
                loads += at.NORMAL <= special <= at.ACTIVATOR
    return w[W_PAIR] * pairs + w[W_LOAD] * loads


@jit
def _judge(landed: Any, score: Any, p: Any, w: Any, room: Any) -> Any:
    """What a settled board is worth to a bot whose score was ``score`` and whose piece landed in row ``landed``."""
    board, cols, st, _ = room
    gain = min(st[at.SCORE] - score, MOST_GAIN)
    value = w[W_LANDING] * (p[at.P_HEIGHT] - landed) + (gain * (w[W_CLEAR] if p[at.P_BY_ROWS] else w[W_GAIN]) >> 4)
    if st[at.PASSES] > 1:
        value += w[W_PASS] * (st[at.PASSES] - 1)
    if st[at.PASSES] > 0 and st[at.FREE_ROWS] > LOW_ROOM:
        value += w[W_WASTE]
    value += _shape_value(p, w, cols)
    if p[at.P_RUNS]:
        # Colours are kept for later only while there is room for later.
        value += _colour_value(p, w, board, st[at.FREE_ROWS]) * min(st[at.FREE_ROWS], LOW_ROOM) // LOW_ROOM
    low = LOW_ROOM - st[at.FREE_ROWS]
    if low > 0:
        value += w[W_TALL] * low * low
    return value


@jit
def _copy(source: Any, target: Any) -> None:
    """The board, columns and scalars of a game into a room to try things in."""
    for part in range(3):
        for index in range(len(source[part])):
            target[part][index] = source[part][index]


@jit
def _settle_at(turn: Any, row: Any, column: Any, rules: Any, room: Any) -> Any:
    """Drop the piece in play from a place and let it settle: the row it landed in, whether anything was struck."""
    p, tables, _ = rules
    board, cols, st, work = room
    st[at.TURN], st[at.ROW], st[at.COLUMN] = turn, row, column
    st[at.ROW] += _room_below(tables, cols, st)
    landed = st[at.ROW]
    _lock(st[at.CLOCK], tables, board, cols, st, work)
    steps = 0
    while st[at.STATE] != at.DONE:
        _settle_step(p, board, cols, st, work)
        steps += 1
    return landed, steps > 1


@jit
def _take_back(turn: Any, landed: Any, column: Any, tables: Any, base: Any, room: Any) -> None:
    """The room as it was before a piece settled in it without striking anything."""
    board, cols, st, _ = room
    for index in range(tables[turn + at.T_CELLS]):
        offset = tables[turn + at.T_OFFSET + index]
        at_column = column + at.LEFT + (offset & at.STRIDE_MASK)
        board[(landed + at.TOP) * at.STRIDE + column + at.LEFT + offset] = 0
        cols[at_column] = base[1][at_column]
    for index in range(at.N_STATE):
        st[index] = base[2][index]


@jit
def _try_at(
    turn: Any, turns: Any, row: Any, column: Any, slide: Any, count: Any, score: Any, rules: Any, w: Any, base: Any, room: Any,
    places: Any,
) -> Any:  # fmt: skip
    """Judge one place; returns the row that the piece lands in."""
    landed, struck = _settle_at(turn, row, column + slide, rules, room)
    places[count, G_VALUE] = _judge(landed, score, rules[0], w, room)
    places[count, G_TURNS], places[count, G_COLUMN], places[count, G_SLIDE] = turns, column, slide
    if struck:
        _copy(base, room)
    else:
        _take_back(turn, landed, column + slide, rules[1], base, room)
    return landed


@jit
def _survey(score: Any, rules: Any, w: Any, base: Any, room: Any, places: Any) -> Any:
    """Judge every place of the piece in play of ``base`` in a ``room`` beside it; how many ``places`` there are."""
    p, tables, _ = rules
    cols, st = base[1], base[2]
    _copy(base, room)
    start, row = st[at.TURN], st[at.ROW]
    turn = start
    count = 0
    for turns in range(MOST_TURNS):
        if turns > 0:
            turn = tables[turn + at.T_CLOCKWISE]
            if turn == start:
                break
        for direction in range(-1, 2, 2):
            column = st[at.COLUMN] - (direction < 0)
            while not _is_blocked(turn, row, column, p, tables, cols, st):
                landed = _try_at(turn, turns, row, column, 0, count, score, rules, w, base, room, places)
                count += 1
                if w[W_SLIDE]:
                    for slide in range(-1, 2, 2):
                        if _is_blocked(turn, landed, column + slide, p, tables, cols, st):
                            continue
                        # Worth a look only where the piece would not come to by falling.
                        own = room[2]
                        own[at.TURN], own[at.ROW], own[at.COLUMN] = turn, row, column + slide
                        if _is_blocked(turn, row, column + slide, p, tables, cols, st) or (
                            row + _room_below(tables, cols, own) < landed
                        ):
                            _try_at(turn, turns, landed, column, slide, count, score, rules, w, base, room, places)
                            count += 1
                column += direction
    return count


@jit
def _best(count: Any, places: Any) -> Any:
    best = 0
    for index in range(1, count):
        if places[index, G_VALUE] > places[best, G_VALUE]:
            best = index
    return best


@jit
def _after(place: Any, score: Any, rules: Any, w: Any, game: Any, rooms: Any, places: Any) -> Any:
    """What a place is worth with the best answer by the next piece."""
    p, tables, _ = rules
    board, cols, st = game[1], game[2], game[3]
    room, other = rooms
    _copy((board, cols, st), room)
    turn = st[at.TURN]
    for _ in range(place[G_TURNS]):
        turn = tables[turn + at.T_CLOCKWISE]
    row = st[at.ROW]
    own = room[2]
    if place[G_SLIDE]:
        own[at.TURN], own[at.COLUMN] = turn, place[G_COLUMN]
        row += _room_below(tables, cols, own)
    landed, _ = _settle_at(turn, row, place[G_COLUMN] + place[G_SLIDE], rules, room)
    turn = own[at.NEXT_TURN]
    if turn == at.NONE:
        return _judge(landed, score, p, w, room)
    for index in range(at.MAX_CELLS):
        own[at.CELLS + index] = own[at.NEXT_CELLS + index]
    own[at.TURN], own[at.ROW] = turn, 0
    own[at.COLUMN] = (p[at.P_WIDTH] - tables[turn + at.T_WIDTH]) >> 1
    count = _survey(score, rules, w, (room[0], room[1], own), other, places)
    return places[_best(count, places), G_VALUE] if count else LOST


@jit
def choose(rules: Any, w: Any, game: Any, rooms: Any, places: Any, luck: Any, goal: Any) -> Any:
    """Where to put the piece in play, as a place in ``goal``; whether there is anywhere."""
    board, cols, st = game[1], game[2], game[3]
    score = st[at.SCORE]
    mine, others = places
    count = _survey(score, rules, w, (board, cols, st), rooms[0], mine)
    if count == 0:
        return False
    if w[W_NOISE]:
        for index in range(count):
            mine[index, G_VALUE] += (draw(luck, 65536) + draw(luck, 65536) - 65535) * w[W_NOISE] >> 16
    best = _best(count, mine)
    if w[W_DEPTH] > 1:
        most = NOT_YET
        for _ in range(min(WIDTH, count)):
            index = _best(count, mine)
            value = _after(mine[index], score, rules, w, game, rooms, others)
            mine[index, G_VALUE] = NOT_YET
            if value > most:
                most, best = value, index
    for index in range(N_GOAL):
        goal[index] = mine[best, index]
    return True
