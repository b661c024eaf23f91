"""The lower half of Tetromino Arcade's kernel: the board, the piece in play, and how it moves.

Plain Python for two runs, as ``engine.words`` describes.  The upper half, which knows time and points, is ``kernel``.

A board is ``board``, 64-bit words: ROWS words of cells, one a row, then ROWS words of colours, then the state of the deal's
generator.  Rows count from the bottom; PAD rows of nothing but ones lie below the floor and the rest above the top, so that
no position of a box reads outside.  In a row's word bit ``x + WALL`` is column x (from 0), and the bits beside the board are
ones too: walls and floor are cells like any other.  A colour word holds four bits a column in the same order, 0 or piece + 1.

A piece in one of its four turns is one word of four 16-bit rows, its box's lowest row first, so that one AND tells whether it
has room.  ``masks`` holds these words by shape = piece * 4 + turn, then the colours of each row of a shape, then the corners
in front of a T by turn.
"""

from engine.words import MASK64, S1, S2, S3, S4, S16, S32, S48, ZERO, word

N_PIECES, MAX_WIDTH, MAX_HEIGHT = 7, 10, 40
# Room around the board: kicks move a box by two at most.
PAD, WALL, ROWS = 4, 4, 50
N_BOARD = 2 * ROWS + 1
RNG = 2 * ROWS
NO_PIECE = -1

# Tests of a turn: all pieces but those that cannot turn have as many.
TESTS = 5
# ``kicks``: for each shape and direction (0 clockwise, 1 counter-clockwise) TESTS pairs of dx, dy; then by shape the box's lowest
# row that holds a cell, and the one above its highest.
K_SHAPE, K_DIRECTION, K_LOWEST = 2 * 2 * TESTS, 2 * TESTS, 4 * N_PIECES * 2 * 2 * TESTS
K_ABOVE = K_LOWEST + 4 * N_PIECES
N_KICKS = K_ABOVE + 4 * N_PIECES
# ``masks``.
M_COLOUR, M_FRONT = 4 * N_PIECES, 4 * N_PIECES * 5
N_MASKS = M_FRONT + 4

# ``params``: the rules and the mode as numbers, laid out by engine.tetromino.rules.
P_HEIGHT, P_VISIBLE, P_RESCUED_ABOVE, P_SPAWN_ROW, P_EMPTY_ROW = 0, 1, 2, 3, 4
P_LOCK_DELAY, P_RESETS, P_LONGEST, P_LINES_A_LEVEL, P_SPIN_PIECE = 5, 6, 7, 8, 9
P_SOFT, P_HARD, P_COMBO, P_CHAIN_TIMES, P_CHAIN_PARTS = 10, 11, 12, 13, 14
# Of the mode: first level, lines and ticks that end it (0: none), whether the top of the board is rescued.
P_START, P_END_LINES, P_END_TICKS, P_RESCUE = 15, 16, 17, 18
P_LEVELS = 19
# Points of 0 to 4 lines, columns of spawning boxes by piece, gravity by level from 1.
P_PLAIN, P_FULL, P_MINI, P_PERFECT, P_COLUMN, P_GRAVITY = 20, 25, 30, 35, 40, 47

# ``st``: the state of a game.
ST_PIECE, ST_SHAPE, ST_X, ST_Y, ST_DEEPEST, ST_FRACTION, ST_COUNT, ST_RESETS, ST_TURNED, ST_DROPPED = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
ST_HOLD, ST_HELD, ST_TICK, ST_SCORE, ST_LINES, ST_LEVEL, ST_COMBO, ST_BEST, ST_CHAIN = 10, 11, 12, 13, 14, 15, 16, 17, 18
ST_MOVES, ST_FINISHED, ST_TOP, ST_NEXT, ST_WAIT, ST_LOCKS = 19, 20, 21, 22, 23, 24
# What the last lock did, for traces: L_TICK is the clock then, L_FULL a mask of the full rows within the box.
L_PIECE, L_SHAPE, L_X, L_Y, L_SPIN, L_LINES, L_FULL = 25, 26, 27, 28, 29, 30, 31
L_LEVEL, L_CHAIN, L_COMBO, L_PERFECT, L_BASE, L_AWARD, L_DROPPED, L_TICK, ST_RESCUES = 32, 33, 34, 35, 36, 37, 38, 39, 40
ST_BAG = 41
N_STATE = ST_BAG + N_PIECES

# Unsigned 64-bit words beside those of engine.words.
WORDS = ("FULL_ROW", "CORNERS", "LOW_CORNERS")
FULL_ROW = 0xFFFF
# The corners of a 3 x 3 box: bits 0 and 2 of its first and third row.
LOW_CORNERS, CORNERS = 0x5, 0x5_0000_0005


def window(board, y):
    """The four rows of the board from row y up, as one word."""
    at = word(y + PAD)
    return board[at] | (board[at + S1] << S16) | (board[at + S2] << S32) | (board[at + S3] << S48)


def has_room(board, masks, shape, x, y):
    """Whether a shape whose box stands at x, y lies on empty cells of the board alone."""
    return window(board, y) & (masks[word(shape)] << word(x + WALL)) == ZERO


def drop_distance(board, masks, kicks, st):
    """How many rows the piece in play can fall."""
    shape, y = st[ST_SHAPE], st[ST_Y]
    mask = masks[word(shape)] << word(st[ST_X] + WALL)
    # Nothing is settled from row ``st[ST_TOP]`` up, and a piece that has room between the walls falls freely down to it.
    free = max(0, y + kicks[K_LOWEST + shape] - st[ST_TOP])
    at = word(y - free + PAD)
    rows = board[at] | (board[at + S1] << S16) | (board[at + S2] << S32) | (board[at + S3] << S48)
    while True:
        at -= S1
        rows = ((rows << S16) | board[at]) & MASK64
        if rows & mask != ZERO:
            return free
        free += 1


def descend(rows, kicks, params, st):
    """Move the piece down; lower than ever before, its lock timer begins anew with all resets."""
    st[ST_Y] -= rows
    note_depth(kicks, params, st)


def note_depth(kicks, params, st):
    """After a move: where the lowest cell is lower than ever for this piece, the lock timer begins anew with all resets."""
    lowest = st[ST_Y] + kicks[K_LOWEST + st[ST_SHAPE]]
    if lowest < st[ST_DEEPEST]:
        st[ST_DEEPEST] = lowest
        st[ST_COUNT] = 0
        st[ST_RESETS] = params[P_RESETS]


def spend_reset(st):
    """A successful shift or turn sets a running lock timer to zero while the piece has resets left."""
    if st[ST_COUNT] > 0 and st[ST_RESETS] > 0:
        st[ST_COUNT] = 0
        st[ST_RESETS] -= 1


def shift(dx, board, masks, st):
    """Move the piece one column; where it cannot go nothing changes."""
    if has_room(board, masks, st[ST_SHAPE], st[ST_X] + dx, st[ST_Y]):
        st[ST_X] += dx
        st[ST_TURNED] = 0
        spend_reset(st)


def turn(direction, board, masks, kicks, params, st):
    """Turn the piece (0 clockwise, 1 counter-clockwise) to the first of its tests that has room; without one nothing changes."""
    shape = st[ST_SHAPE]
    first = shape * K_SHAPE + direction * K_DIRECTION
    # The lowest two bits are the turn.
    turned = (shape & ~3) | ((shape + 1 + 2 * direction) & 3)
    for test in range(first, first + K_DIRECTION, 2):
        x, y = st[ST_X] + kicks[test], st[ST_Y] + kicks[test + 1]
        if has_room(board, masks, turned, x, y):
            # A piece that does not turn has its own mask in every turn and must stay as it is, last action included.
            if masks[word(turned)] != masks[word(shape)]:
                st[ST_SHAPE], st[ST_X], st[ST_Y] = turned, x, y
                st[ST_TURNED] = 1
                spend_reset(st)
                note_depth(kicks, params, st)
            return


def soft_drop(board, masks, kicks, params, st):
    """Move the piece down one row under the player's control; where it cannot go nothing changes."""
    if has_room(board, masks, st[ST_SHAPE], st[ST_X], st[ST_Y] - 1):
        descend(1, kicks, params, st)
        st[ST_TURNED] = 0
        st[ST_SCORE] += params[P_SOFT]
        st[ST_DROPPED] += params[P_SOFT]


def settle(board, masks, kicks, st):
    """Put the piece's cells on the board."""
    shape, y, shift_by = st[ST_SHAPE], st[ST_Y], word(st[ST_X] + WALL)
    mask = masks[word(shape)] << shift_by
    at = word(y + PAD)
    colours = word(M_COLOUR + shape * 4)
    for _ in range(4):
        # A row of a box that lies below the floor or above the top holds no cell of the piece.
        board[at] |= mask & FULL_ROW
        board[at + word(ROWS)] |= masks[colours] << (shift_by * S4)
        mask = mask >> S16
        at += S1
        colours += S1
    st[ST_TOP] = max(st[ST_TOP], y + kicks[K_ABOVE + shape])


def clear_lines(board, params, st):
    """Take the full lines out of the piece's box and let everything above come down: how many; their mask goes to L_FULL."""
    y = st[ST_Y]
    lines = full = 0
    height = params[P_HEIGHT]
    for row in range(max(y, 0), min(y + 4, height)):
        if board[word(row + PAD)] == FULL_ROW:
            full |= 1 << (row - y)
            lines += 1
    st[L_FULL] = full
    if lines:
        top = st[ST_TOP]
        to = max(y, 0)
        for row in range(to, top):
            at = word(row + PAD)
            if row > y + 3 or board[at] != FULL_ROW:
                board[word(to + PAD)] = board[at]
                board[word(to + PAD + ROWS)] = board[at + word(ROWS)]
                to += 1
        empty_rows(to, top, board, params)
        st[ST_TOP] = to
    return lines


def empty_rows(first, last, board, params):
    """Empty the rows ``first`` to ``last - 1``."""
    for row in range(first, last):
        board[word(row + PAD)] = word(params[P_EMPTY_ROW])
        board[word(row + PAD + ROWS)] = ZERO


def is_empty(board, params, st):
    """Whether no settled cell is left."""
    for row in range(st[ST_TOP]):
        if board[word(row + PAD)] != word(params[P_EMPTY_ROW]):
            return False
    return True


KERNEL = (
    "window", "has_room", "drop_distance", "note_depth", "descend", "spend_reset", "shift", "turn", "soft_drop", "settle",
    "empty_rows", "clear_lines", "is_empty",
)  # fmt: skip
INLINE = ("window", "has_room", "note_depth", "descend", "spend_reset", "shift", "soft_drop")
