"""What Tetromino Arcade's bots see, compiled: where a piece can come to lie, how to get it there, and what a board is worth.

Everything is an integer.  Rows are the engine's (``engine.tetromino.pieces``): bit ``x + WALL`` is column x, the bits beside
the board are ones.  Positions of a box are kept the same way, one word a row of the board with a bit for each x, so that a
whole row of positions moves or turns at once.  Tests of turns and rows of pieces are the engine's own tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from engine import compiled
from engine.tetromino import kernel, pieces, text
from engine.tetromino.pieces import K_DIRECTION, K_LOWEST, K_SHAPE, M_FRONT, PAD, ST_SHAPE, ST_TOP, ST_X, ST_Y, TESTS, WALL

I_PIECE, O_PIECE, T_PIECE = 0, 3, 5
# Rows of positions that are looked at: boxes may stand two rows below the floor, and the four rows of a box are all in the array.
BELOW, LEVELS = 2, 45
# Layers of ``seen``: positions with room, reached, reached by a turn, and falling freely from the top.
FITS, REACHED, TURNED, FALLING, DONE = 0, 1, 2, 3, 4
N_LAYERS = 5

# One skill is one row of weights.
W_LANDING = 0  # a row of the height at which a piece comes to lie
W_ROWS = 1  # a change between empty and filled along a row
W_COLUMNS = 2  # the same along a column
W_HOLE = 3  # an empty cell below a filled one
W_WELL = 4  # a cell of a well, once for each cell above it in the well
W_TALL = 5  # a row of the board's height beyond twelve
W_GAIN = 6  # points of a lock at level 1, in 1/16
W_WASTE = 7  # a line of a plain single, double or triple while the board is low
W_SHAFT = 8  # a cell in the last column, which is kept open for four lines
W_SLOT = 9  # a place for a T-spin double, by how full its two rows are
W_DEEP = 10  # the same for a triple
W_CHAIN = 11  # a combo that goes on, for each step of its count
W_NOISE = 12  # the width of the random error of one judgement
W_HOLD = 13  # how many of 65,536 pieces are compared with the one that hold would bring
W_SPIN = 14  # whether turns below overhangs are looked for
W_KEEP = 15  # a T put aside for a spin; half of it for an I
W_THINK = 16  # ticks before the first input for a piece, about
W_GAP = 17  # ticks between inputs, at most
N_WEIGHTS = 18

LOW_BOARD = 12
FULL_ROW, FIELD, EMPTY_ROW = np.uint64(0xFFFF), np.uint64(0x3FF0), np.uint64(0xC00F)
EDGES, SHAFT_BIT, OUTSIDE = np.uint64(0x3FF8), np.uint64(1 << 13), np.uint64(0xFFFF_0000)
ZERO, ONE, TWO, THREE, FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
NIBBLE, S16, S32 = np.uint64(15), np.uint64(16), np.uint64(32)
ALL, CORNERS = np.uint64(0xFFFF_FFFF_FFFF_FFFF), np.uint64(pieces.CORNERS)

popcount: Any = compiled.popcount_uncompiled if compiled.CONFIG.DISABLE_JIT else compiled.popcount
MARK = compiled.fingerprint(pieces, text, kernel)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def jit(function: _Function) -> _Function:
    """The function compiled, typed as it was written; its arrays are its caller's."""
    return cast(_Function, compiled.compile_function(function, MARK, counted=False))


@jit
def moved(bits: Any, dx: Any) -> Any:
    """Positions a few columns further right (left where ``dx`` is negative)."""
    if dx >= 0:
        return (bits << np.uint64(dx)) & FULL_ROW
    return bits >> np.uint64(-dx)


@jit
def row_that_fits(board: Any, mask: Any, y: Any) -> Any:
    """All x at which a shape has room in row y."""
    blocked = ZERO
    for r in range(4):
        cells = (mask >> np.uint64(16 * r)) & NIBBLE
        if cells != ZERO:
            row = board[y + r + PAD] | OUTSIDE
            for c in range(4):
                if (cells >> np.uint64(c)) & ONE != ZERO:
                    blocked |= row >> np.uint64(c)
    return (blocked ^ ALL) & FULL_ROW


@jit
def turn_row(seen: Any, kicks: Any, shape: Any, direction: Any, level: Any, bits: Any) -> Any:
    """Let the positions ``bits`` of a shape turn: each goes to the first of its tests that has room."""
    turned = (shape + 1 + 2 * direction) & 3
    first = (shape * K_SHAPE) + direction * K_DIRECTION
    for test in range(TESTS):
        dx, to = kicks[first + 2 * test], level + kicks[first + 2 * test + 1]
        if to < 0 or to >= LEVELS:
            continue
        there = moved(bits, dx) & seen[FITS, turned, to]
        if there != ZERO:
            bits &= moved(there, -dx) ^ ALL
            seen[REACHED, turned, to] |= there
            seen[TURNED, turned, to] |= there


@jit
def look(piece: Any, board: Any, st: Any, kicks: Any, masks: Any, seen: Any, spins: Any) -> Any:
    """Fill ``seen`` for a piece that comes into play, or that is in play; the first level above the stack is returned.

    A piece in play above the stack reaches every turn and column there.  Without ``spins`` only what falls from there counts.
    """
    top = st[ST_TOP]
    own = np.int64(st[ST_SHAPE])
    y = np.int64(st[ST_Y])
    free = y + kicks[K_LOWEST + own] >= top + 2 and y > top
    high = min(LEVELS - 1, (top if free else max(y, top)) + BELOW + 3)
    for turn in range(4):
        mask = masks[piece * 4 + turn]
        for level in range(high + 1):
            seen[FITS, turn, level] = row_that_fits(board, mask, level - BELOW)
            for layer in range(1, N_LAYERS):
                seen[layer, turn, level] = ZERO
    start = top + BELOW if free else y + BELOW
    if free:
        for turn in range(4):
            seen[REACHED, turn, start] = seen[FALLING, turn, start] = seen[FITS, turn, start]
    else:
        seen[REACHED, own & 3, start] = seen[FALLING, own & 3, start] = ONE << np.uint64(st[ST_X] + WALL)
    for level in range(start, 0, -1):
        for turn in range(4):
            seen[FALLING, turn, level - 1] |= seen[FALLING, turn, level] & seen[FITS, turn, level - 1]
    if spins or not free:
        flood(piece, kicks, seen, high)
    return high


@jit
def flood(piece: Any, kicks: Any, seen: Any, high: Any) -> Any:
    """Carry ``REACHED`` on by shifts, falls and turns until nothing new is reached."""
    going = True
    while going:
        going = False
        for level in range(high, -1, -1):
            for turn in range(4):
                bits = seen[REACHED, turn, level]
                if bits == seen[DONE, turn, level]:
                    continue
                going = True
                fits = seen[FITS, turn, level]
                wider = bits | (((bits << ONE) | (bits >> ONE)) & fits)
                while wider != bits:
                    bits = wider
                    wider = bits | (((bits << ONE) | (bits >> ONE)) & fits)
                seen[REACHED, turn, level] = seen[DONE, turn, level] = bits
                if level > 0:
                    seen[REACHED, turn, level - 1] |= bits & seen[FITS, turn, level - 1]
                if piece != O_PIECE:
                    turn_row(seen, kicks, piece * 4 + turn, 0, level, bits)
                    turn_row(seen, kicks, piece * 4 + turn, 1, level, bits)


@jit
def slots(low: Any, mid: Any, high: Any, above: Any) -> Any:
    """Where a T pointing down would spin into two rows: (places with their overhang, places without one yet)."""
    # Bit X stands for the box's left column.
    place = low & (low >> TWO) & ((low >> ONE) ^ ALL) & ((mid | (mid >> ONE) | (mid >> TWO) | (high >> ONE)) ^ ALL)
    left, right = high, high >> TWO
    covered_left = left & ((right | (above >> ONE) | (above >> TWO)) ^ ALL)
    covered_right = right & ((left | above | (above >> ONE)) ^ ALL)
    return place & (covered_left | covered_right), place & ((left | right | above | (above >> ONE) | (above >> TWO)) ^ ALL)


@jit
def deep_slots(low: Any, mid: Any, high: Any, above: Any, roof: Any) -> Any:
    """Where a T would kick down into three rows, by the column of its stem."""
    # Bit X stands for the column of three cells; the notch is beside its middle.
    shaft = ((low | mid | high | above) ^ ALL) & roof
    right = shaft & (low >> ONE) & (high >> ONE) & (((mid >> ONE) | (above >> ONE) | (roof >> ONE)) ^ ALL)
    left = shaft & (low << ONE) & (high << ONE) & (((mid << ONE) | (above << ONE) | (roof << ONE)) ^ ALL)
    return left | right


@jit
def board_value(rows: Any, height: Any, w: Any) -> Any:
    """How good a board of ``height`` rows is to go on with."""
    value = np.int64(0)
    covered = ZERO
    well1 = well2 = well3 = ZERO
    best_slot = best_deep = np.int64(0)
    shaft = SHAFT_BIT if w[W_SHAFT] != 0 else ZERO
    rows[height] = rows[height + 1] = EMPTY_ROW
    row_changes = column_changes = holes = wells = np.int64(0)
    above, second, third, fourth = EMPTY_ROW, EMPTY_ROW, EMPTY_ROW, EMPTY_ROW
    for y in range(height - 1, -1, -1):
        row = rows[y]
        empty = (row ^ ALL) & FIELD
        holes += np.int64(popcount(covered & empty))
        row_changes += np.int64(popcount((row ^ (row >> ONE)) & EDGES))
        column_changes += np.int64(popcount((row ^ above) & FIELD))
        well = empty & (row << ONE) & (row >> ONE) & (covered ^ ALL) & (shaft ^ ALL)
        well3 &= well
        well3 |= well & well2
        well2 = well & well1
        well1 = well
        wells += np.int64(popcount(well1) + popcount(well2) + popcount(well3))
        covered |= row & FIELD
        if w[W_SLOT] != 0:
            ready, begun = slots(row, above, second, third)
            if (ready | begun) & FIELD != ZERO:
                filled = np.int64(popcount(row & FIELD) + popcount(above & FIELD))
                # Sixteen filled cells are two lines.
                worth = max(np.int64(0), filled - 8)
                best_slot = max(best_slot, 4 * worth if ready & FIELD != ZERO else worth)
        if w[W_DEEP] != 0 and deep_slots(row, above, second, third, fourth) & FIELD != ZERO:
            filled = np.int64(popcount(row & FIELD) + popcount(above & FIELD) + popcount(second & FIELD))
            best_deep = max(best_deep, filled - 16)
        above, second, third, fourth = row, above, second, third
    column_changes += np.int64(popcount((above ^ FULL_ROW) & FIELD))
    value += w[W_ROWS] * row_changes + w[W_COLUMNS] * column_changes + w[W_HOLE] * holes + w[W_WELL] * wells
    value += w[W_SLOT] * best_slot + w[W_DEEP] * best_deep
    if height > LOW_BOARD:
        value += w[W_TALL] * (height - LOW_BOARD)
    return value


@jit
def place(board: Any, top: Any, mask: Any, x: Any, y: Any, rows: Any) -> Any:
    """The rows after a lock, without their full ones: (lines, height, whether nothing is left)."""
    lines = 0
    to = 0
    height = max(top, y + 4)
    for at in range(height):
        row = board[at + PAD]
        if y <= at < y + 4:
            row |= ((mask >> np.uint64(16 * (at - y))) & NIBBLE) << np.uint64(x + WALL)
        if row == FULL_ROW:
            lines += 1
        else:
            rows[to] = row
            to += 1
    while to > 0 and rows[to - 1] == EMPTY_ROW:
        to -= 1
    return lines, to, to == 0


@jit
def spin_kind(board: Any, masks: Any, turn: Any, x: Any, y: Any) -> Any:
    """What a T that turned into this place locks as: 0 no spin, 1 mini, 2 full."""
    at = y + PAD
    rows = board[at] | (board[at + 2] << S32)
    blocked = (rows >> np.uint64(x + WALL)) & CORNERS
    if popcount(blocked) < THREE:
        return 0
    front = masks[M_FRONT + turn]
    return 2 if blocked & front == front else 1


@jit
def find_path(
    st: Any, kicks: Any, masks: Any, board: Any, goal: Any, by_turn: Any, came: Any, queue: Any, path: Any
) -> Any:  # fmt: skip
    """The shortest way of inputs from the piece in play to ``goal`` (turn, x, y): its length, letters backwards in ``path``.

    ``by_turn`` asks for a way whose last input is a turn.  -1 where there is none.  Gravity plays no part.
    """
    piece4 = np.int64(st[ST_SHAPE]) & ~3
    start = ((st[ST_SHAPE] & 3) * LEVELS + st[ST_Y] + BELOW) * 16 + st[ST_X] + WALL
    target = (goal[0] * LEVELS + goal[2] + BELOW) * 16 + goal[1] + WALL
    came[:] = -1
    came[start] = start * 8
    if start == target and not by_turn:
        return 0
    head, tail = 0, 1
    queue[0] = start
    while head < tail:
        at = queue[head]
        head += 1
        turn, level, x = at // (16 * LEVELS), at // 16 % LEVELS, at % 16
        for letter in range(5):
            to = after_input(piece4, turn, x, level, letter, kicks, masks, board)
            if to == at:
                continue
            if to == target and (letter >= 3 or not by_turn):
                length = 1
                path[0] = letter
                while at != start:
                    path[length] = came[at] % 8
                    at = came[at] // 8
                    length += 1
                return length
            if came[to] < 0:
                came[to] = at * 8 + letter
                queue[tail] = to
                tail += 1
    return -1


@jit
def has_place(mask: Any, x: Any, level: Any, board: Any) -> Any:
    """Whether a shape has room at bit x of a level."""
    if x < 0 or x > 15 or level < 0 or level >= LEVELS:
        return False
    cells = mask << np.uint64(x)
    y = level - BELOW + PAD
    rows = board[y] | (board[y + 1] << S16) | (board[y + 2] << S32) | (board[y + 3] << np.uint64(48))
    return rows & cells == ZERO


@jit
def after_input(piece4: Any, turn: Any, x: Any, level: Any, letter: Any, kicks: Any, masks: Any, board: Any) -> Any:
    """Where an input (0 left, 1 right, 2 down, 3 and 4 turns) leads from a place; the same place where it has no effect."""
    here = (turn * LEVELS + level) * 16 + x
    if letter < 3:
        nx = x + (-1 if letter == 0 else 1 if letter == 1 else 0)
        ny = level - (1 if letter == 2 else 0)
        return (turn * LEVELS + ny) * 16 + nx if has_place(masks[piece4 + turn], nx, ny, board) else here
    if piece4 == 4 * O_PIECE:
        return here
    direction = letter - 3
    turned = (turn + 1 + 2 * direction) & 3
    first = (piece4 + turn) * K_SHAPE + direction * K_DIRECTION
    for test in range(TESTS):
        nx, ny = x + kicks[first + 2 * test], level + kicks[first + 2 * test + 1]
        if has_place(masks[piece4 + turned], nx, ny, board):
            return (turned * LEVELS + ny) * 16 + nx
    return here
