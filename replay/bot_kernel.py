"""The bots' move chooser, compiled: whole games of the block puzzle on a 64-bit board, one call for many games.

A board is one word, bit 8 * row + column.  Everything is an integer, so a seed plays the same game on every machine.  The
rules arrive as the same tables that the engine's fast case takes (``BlocksRules.fast_tables``, ``params`` and ``base``); the
bookkeeping of streak and score stands here again because a bot must know what a move is worth before it is made.  The tests
replay what is played here with the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from engine import compiled
from engine.blocks import kernel as source
from engine.blocks.kernel import MAX_SIDE, P_CAP, P_CELL, P_FORGIVEN, P_TURN

# One skill is one row of weights.
W_GAIN = 0  # a point earned, in 1/64
W_KEEP = 1  # the first clear of a turn, for every step of the streak that it keeps or builds
W_LOSE = 2  # a turn that closes and sets the streak to zero, for every step of it
W_FILL = 3  # a filled cell
W_EDGE = 4  # an empty cell's side towards a filled cell or the wall
W_NOOK = 5  # an empty cell with three such sides
W_HOLE = 6  # an empty cell with four
W_ROOM = 7  # a place where a 3 x 3 square would fit
W_LONG = 8  # a place where a bar of five would fit, lying or standing
W_STUCK = 9  # another piece of the hand that would fit nowhere
W_NOISE = 10  # the width of the random error of one judgement
W_TIRED = 11  # placements after which that error has doubled; 0: never tired
W_SEEN = 12  # how many of 65,536 possible placements are looked at
W_DEPTH = 13  # 1: judges the placement alone; 2: the best answer with the rest of the hand as well
N_WEIGHTS = 14

# What one game yields, columns of ``out``.
O_SIZE, O_TOKENS, O_SCORE, O_BEST, O_FINISHED = 0, 1, 2, 3, 4
N_OUT = 5

TOKEN_BYTES = 3
# Placements that a bot of depth 2 thinks through.
WIDTH = 6
NOT_YET = -(1 << 60)

_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_EIGHT, _SIXTEEN, _24, _32 = np.uint64(8), np.uint64(16), np.uint64(24), np.uint64(32)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
_ZERO, _ALL = np.uint64(0), np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_ROW, _COLUMN = np.uint64(0xFF), np.uint64(0x0101_0101_0101_0101)
_LAST_ROW, _LAST_COLUMN = np.uint64(0xFF << 56), np.uint64(0x8080_8080_8080_8080)
_COLUMNS_0_TO_5, _COLUMNS_0_TO_3 = np.uint64(0x3F3F_3F3F_3F3F_3F3F), np.uint64(0x0F0F_0F0F_0F0F_0F0F)
_GAMMA, _MIX1, _MIX2 = np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xBF58_476D_1CE4_E5B9), np.uint64(0x94D0_49BB_1331_11EB)
_LOW16 = np.uint64(0xFFFF)

_popcount: Any = compiled.popcount_uncompiled if compiled.CONFIG.DISABLE_JIT else compiled.popcount
_MARK = compiled.fingerprint(source)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _jit(function: _Function) -> _Function:
    """The function compiled, typed as it was written."""
    return cast(_Function, compiled.compile_function(function, _MARK))


@_jit
def _random(state: Any) -> Any:
    """The next SplitMix64 word of ``state[0]``."""
    state[0] += _GAMMA
    word = state[0]
    word = (word ^ (word >> _30)) * _MIX1
    word = (word ^ (word >> _27)) * _MIX2
    return word ^ (word >> _31)


@_jit
def _clear(board: Any) -> Any:
    """The board without its full rows and columns, and how many there were."""
    full_rows = board & (board >> _ONE)
    full_rows &= full_rows >> _TWO
    full_rows &= (full_rows >> _FOUR) & _COLUMN
    full_columns = board & (board >> _EIGHT)
    full_columns &= full_columns >> _SIXTEEN
    full_columns &= (full_columns >> _32) & _ROW
    lines = _popcount(full_rows) + _popcount(full_columns)
    return board & (((full_rows * _ROW) | (full_columns * _COLUMN)) ^ _ALL), np.int64(lines)


@_jit
def _shape_of_board(board: Any, w: Any) -> Any:
    """How good a board is to go on with: filled cells, ragged edges, nooks and holes, room for the large pieces."""
    empty = board ^ _ALL
    left, right = (board << _ONE) | _COLUMN, (board >> _ONE) | _LAST_COLUMN
    up, down = (board << _EIGHT) | _ROW, (board >> _EIGHT) | _LAST_ROW
    edges = _popcount(empty & left) + _popcount(empty & right) + _popcount(empty & up) + _popcount(empty & down)
    both_sides, both_ends = left & right, up & down
    nooks = _popcount(empty & ((both_sides & (up | down)) | (both_ends & (left | right))))
    holes = _popcount(empty & both_sides & both_ends)
    three = empty & (empty >> _ONE) & (empty >> _TWO) & _COLUMNS_0_TO_5
    room = _popcount(three & (three >> _EIGHT) & (three >> _SIXTEEN))
    lying = _popcount(three & (empty >> _THREE) & (empty >> _FOUR) & _COLUMNS_0_TO_3)
    standing = _popcount(empty & (empty >> _EIGHT) & (empty >> _SIXTEEN) & (empty >> _24) & (empty >> _32))
    return (
        w[W_FILL] * np.int64(_popcount(board))
        + w[W_EDGE] * np.int64(edges)
        + w[W_NOOK] * np.int64(nooks)
        + w[W_HOLE] * np.int64(holes)
        + w[W_ROOM] * min(np.int64(room), np.int64(6))
        + w[W_LONG] * min(np.int64(lying + standing), np.int64(10))
    )


@_jit
def _places(shape: Any, board: Any, anchors: Any, offsets: Any) -> Any:
    """All places where a shape fits, as a mask of its top left corners."""
    free = board ^ _ALL
    found = anchors[shape]
    for k in range(MAX_SIDE):
        found &= free >> offsets[shape * MAX_SIDE + k]
    return found


@_jit
def _worth(lines: Any, cells: Any, turn: Any, params: Any, base: Any, w: Any) -> Any:
    """(points, value to the bot beyond the board) of a placement in a turn of (position, cleared, streak, misses)."""
    position, cleared, streak, misses = turn
    points = cells * params[P_CELL]
    value = np.int64(0)
    if lines > 0:
        if cleared == 0:
            streak += 1
            value += w[W_KEEP] * min(streak, params[P_CAP])
        points += base[lines] * min(streak, params[P_CAP])
    elif cleared == 0 and position == params[P_TURN] - 1 and misses >= params[P_FORGIVEN]:
        value += w[W_LOSE] * min(streak, params[P_CAP])
    return points, value + ((points * w[W_GAIN]) >> 6)


@_jit
def _after(lines: Any, turn: Any, params: Any) -> Any:
    """The turn after a placement: (position, cleared, streak, misses)."""
    position, cleared, streak, misses = turn
    if lines > 0 and cleared == 0:
        cleared = 1
        streak += 1
    position += 1
    if position == params[P_TURN]:
        position = 0
        misses = 0 if cleared else misses + 1
        if misses > params[P_FORGIVEN]:
            misses = 0
            streak = 0
        cleared = 0
    return position, cleared, streak, misses


@_jit
def _stuck(board: Any, hand: Any, played: Any, anchors: Any, offsets: Any) -> Any:
    """How many of the other pieces in hand fit nowhere."""
    stuck = 0
    for slot in range(3):
        if slot != played and _places(hand[slot], board, anchors, offsets) == _ZERO:
            stuck += 1
    return stuck


@_jit
def _best_answer(board: Any, hand: Any, played: Any, turn: Any, tables: Any, w: Any) -> Any:
    """The best value that one more placement of the other two pieces reaches; being stuck counts as W_STUCK twice."""
    masks, anchors, offsets, base, params = tables
    best = NOT_YET
    for slot in range(3):
        if slot == played or (slot > 0 and slot - 1 != played and hand[slot] == hand[slot - 1]):
            continue
        shape = hand[slot]
        found = _places(shape, board, anchors, offsets)
        while found != _ZERO:
            anchor = _popcount((found - _ONE) & (found ^ _ALL))
            found &= found - _ONE
            mask = masks[shape * 64 + np.int64(anchor)]
            after, lines = _clear(board | mask)
            _, value = _worth(lines, np.int64(_popcount(mask)), turn, params, base, w)
            best = max(best, value + _shape_of_board(after, w))
    return best if best != NOT_YET else _shape_of_board(board, w) + 2 * w[W_STUCK]


@_jit
def _keep(value: Any, move: Any, top: Any, top_value: Any, kept: Any, width: Any) -> Any:
    """Put a move among the best ``width``, best first; the number kept is returned.  Of equals the first found stays ahead."""
    if kept == width and value <= top_value[kept - 1]:
        return kept
    place = kept if kept < width else width - 1
    while place > 0 and top_value[place - 1] < value:
        top_value[place], top[place] = top_value[place - 1], top[place - 1]
        place -= 1
    top_value[place], top[place] = value, move
    return min(kept + 1, width)


@_jit
def _think(board: Any, hand: Any, turn: Any, tables: Any, w: Any, top: Any, top_value: Any, kept: Any) -> Any:
    """Of the moves kept, the one whose best answer with the rest of the hand is worth most."""
    masks, _, _, base, params = tables
    chosen, best = np.int64(-1), NOT_YET
    for k in range(kept):
        slot, anchor = top[k] // 64, top[k] % 64
        mask = masks[hand[slot] * 64 + anchor]
        after, lines = _clear(board | mask)
        _, value = _worth(lines, np.int64(_popcount(mask)), turn, params, base, w)
        value += _best_answer(after, hand, slot, _after(lines, turn, params), tables, w)
        if value > best:
            chosen, best = top[k], value
    return chosen


@_jit
def _choose(board: Any, hand: Any, turn: Any, noise: Any, tables: Any, w: Any, state: Any, top: Any, top_value: Any) -> Any:
    """The bot's placement as slot * 64 + corner, or -1 when none is legal.

    Every legal placement that the bot sees gets a value with a random error; depth 2 then thinks the best WIDTH through.
    """
    masks, anchors, offsets, base, params = tables
    kept = 0
    width = WIDTH if w[W_DEPTH] == 2 else 1
    for slot in range(3):
        # A piece that is in hand twice need not be judged twice.
        if (slot > 0 and hand[slot] == hand[slot - 1]) or (slot == 2 and hand[2] == hand[0]):
            continue
        shape = hand[slot]
        found = _places(shape, board, anchors, offsets)
        while found != _ZERO:
            anchor = _popcount((found - _ONE) & (found ^ _ALL))
            found &= found - _ONE
            luck = _random(state)
            if kept > 0 and np.int64(luck & _LOW16) >= w[W_SEEN]:
                continue
            mask = masks[shape * 64 + np.int64(anchor)]
            after, lines = _clear(board | mask)
            _, value = _worth(lines, np.int64(_popcount(mask)), turn, params, base, w)
            # The sum of two even draws: a triangle around zero, at most ``noise`` to either side.
            swing = np.int64((luck >> _SIXTEEN) & _LOW16) + np.int64((luck >> _32) & _LOW16) - 65535
            value += _shape_of_board(after, w) + ((swing * noise) >> 16)
            if w[W_STUCK] != 0 and width == 1:
                value += w[W_STUCK] * _stuck(after, hand, slot, anchors, offsets)
            kept = _keep(value, slot * 64 + np.int64(anchor), top, top_value, kept, width)
    if kept == 0:
        return np.int64(-1)
    return top[0] if width == 1 else _think(board, hand, turn, tables, w, top, top_value, kept)


@_jit
def _write_token(log: Any, size: Any, move: Any) -> Any:
    """Write ``slot column row`` of a move; the size after it is returned."""
    anchor = move % 64
    log[size] = 49 + move // 64
    log[size + 1] = 97 + anchor % 8
    log[size + 2] = 49 + anchor // 8
    return size + TOKEN_BYTES


@_jit
def _play(
    seed: Any, w: Any, continues: Any, stop_at: Any, tables: Any, deal: Any, board: Any, log: Any, out: Any, state: Any,
    hand: Any, top: Any, top_value: Any,
) -> Any:  # fmt: skip
    """Play one game into ``log`` and ``out``; the last board is returned.  ``stop_at`` placements end it in any case."""
    masks, _, _, base, params = tables
    state[0] = seed
    for slot in range(3):
        hand[slot] = deal[slot]
    turn = (np.int64(0), np.int64(0), np.int64(0), np.int64(0))
    size = tokens = placed = score = best = np.int64(0)
    finished = np.int64(0)
    while finished == 0 and placed < stop_at:
        noise = w[W_NOISE]
        if w[W_TIRED] > 0:
            noise += noise * placed // w[W_TIRED]
        move = _choose(board, hand, turn, noise, tables, w, state, top, top_value)
        if move < 0 and continues > 0:
            continues -= 1
            log[size] = 42
            size += 1
            tokens += 1
            board = _ZERO
        elif move < 0:
            finished = np.int64(1)
        else:
            slot = move // 64
            mask = masks[hand[slot] * 64 + move % 64]
            board, lines = _clear(board | mask)
            points, _ = _worth(lines, np.int64(_popcount(mask)), turn, params, base, w)
            turn = _after(lines, turn, params)
            score += points
            best = max(best, lines)
            hand[slot] = deal[3 + placed]
            size = _write_token(log, size, move)
            tokens += 1
            placed += 1
    out[O_SIZE], out[O_TOKENS], out[O_SCORE], out[O_BEST] = size, tokens, score, best
    out[O_FINISHED] = finished or _choose(board, hand, turn, 0, tables, w, state, top, top_value) < 0
    return board


@_jit
def play_games(
    seeds: Any, skills: Any, continues: Any, stop_at: Any, weights: Any, masks: Any, anchors: Any, offsets: Any, base: Any,
    params: Any, deal: Any, start: Any, logs: Any, out: Any, boards: Any,
) -> None:  # fmt: skip
    """Play ``len(seeds)`` games of one deal.

    Takes per game ``seeds`` (uint64) and, all int64, ``skills`` (row of ``weights``), ``continues`` that it will use and
    ``stop_at`` (placements after which the player walks away); ``deal`` (int64) holds at least 3 + max(stop_at) pieces,
    ``start`` (uint64) is the board.  Fills ``logs`` (uint8, games x bytes), ``out`` (int64, games x N_OUT) and ``boards``
    (uint64).
    """
    tables = (masks, anchors, offsets, base, params)
    state = np.zeros(1, np.uint64)
    hand = np.zeros(3, np.int64)
    top = np.zeros(WIDTH, np.int64)
    top_value = np.zeros(WIDTH, np.int64)
    for game in range(len(seeds)):
        boards[game] = _play(
            seeds[game], weights[skills[game]], continues[game], stop_at[game], tables, deal, start, logs[game], out[game],
            state, hand, top, top_value,
        )  # fmt: skip
