"""The part of Tetromino Arcade's kernel that reads text: the tokens of a log and the cells of a claimed board.

Plain Python for two runs, as ``engine.words`` describes.
"""

from engine.tetromino.pieces import N_PIECES, PAD, ROWS, WALL
from engine.words import BOARD_DIFFERS, BOARD_EQUAL, BOARD_UNREADABLE, S2, ZERO, is_space, word

# Kinds of token: the end of the log, an input, the trailing time, what cannot be read.
T_END, T_INPUT, T_TIME, T_BAD = 0, 1, 2, -1
MAX_DIGITS = 9
# The bytes of the pieces' letters, I J L O S T Z.
LETTERS = (73, 74, 76, 79, 83, 84, 90)

WORDS = ()


def next_token(data, pos, end):
    """Read one token from ``data[pos:end]``: (kind, ticks before it, its letter's byte, position after it).

    Of what cannot be read the position is that of its first byte.  A number with nothing but white space behind it is the time
    that the game ran on.
    """
    while pos < end and is_space(data[pos]):
        pos += 1
    start = pos
    if pos >= end:
        return T_END, 0, 0, pos
    byte = int(data[pos])
    ticks = 0
    while 48 <= byte <= 57:
        ticks = ticks * 10 + byte - 48
        pos += 1
        if pos - start > MAX_DIGITS:
            return T_BAD, 0, 0, start
        if pos == end:
            return T_TIME, ticks, 0, pos
        byte = int(data[pos])
    # l r x z d h c
    if byte == 108 or byte == 114 or byte == 120 or byte == 122 or byte == 100 or byte == 104 or byte == 99:
        return T_INPUT, ticks, byte, pos + 1
    if pos == start:
        return T_BAD, 0, 0, start
    while pos < end:
        if not is_space(data[pos]):
            return T_BAD, 0, 0, start
        pos += 1
    return T_TIME, ticks, 0, pos


def count_letters(data, start, end):
    """(ASCII letters, bytes of white space) of a log: a token that can be read has one letter."""
    letters = spaces = 0
    for pos in range(start, end):
        byte = data[pos]
        letters += (65 <= byte <= 90) or (97 <= byte <= 122)
        spaces += is_space(byte)
    return letters, spaces


def cell_of(byte):
    """The colour of a cell's letter, piece + 1, or 0 for what is none."""
    for piece in range(N_PIECES):
        if byte == LETTERS[piece]:
            return piece + 1
    return 0


def compare_board(data, pos, end, width, height, board):
    """How a claimed board's text compares with the settled cells: BOARD_EQUAL, BOARD_DIFFERS or BOARD_UNREADABLE."""
    rows = 0
    if not (end - pos == 1 and data[pos] == 45):
        rows = 1
        for i in range(pos, end):
            rows += data[i] == 47
    if rows > height:
        return BOARD_UNREADABLE
    same = True
    for row in range(rows, height):
        same = same and board[word(row + PAD + ROWS)] == ZERO
    row, column, run, cells = rows - 1, 0, 0, ZERO
    # The text's end closes the last row as a slash does; where no row is spelt there is none to close.
    for i in range(pos, end + 1 if rows else pos):
        byte = int(data[i]) if i < end else 47
        if 48 <= byte <= 57:
            run = min(run * 10 + byte - 48, 1000)
            continue
        column += run
        run = 0
        if byte == 47:
            if column != width:
                return BOARD_UNREADABLE
            same = same and board[word(row + PAD + ROWS)] == cells
            row -= 1
            column, cells = 0, ZERO
        else:
            colour = cell_of(byte)
            if colour == 0 or column >= width:
                return BOARD_UNREADABLE
            cells |= word(colour) << (word(column + WALL) << S2)
            column += 1
    return BOARD_EQUAL if same else BOARD_DIFFERS


KERNEL = ("next_token", "count_letters", "cell_of", "compare_board")
INLINE = ("next_token",)
