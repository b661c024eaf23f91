"""The kernel of the block puzzle: one source, run compiled over columns of logs and interpreted for one game.

Nothing here raises, reads what it was not given, or imports more than ``engine.words``.  ``engine.compiled`` compiles the
functions that ``KERNEL`` names; ``engine.blocks.single`` calls the very same functions with plain lists and ints.

Rules as numbers.  ``params`` is P_* below.  A shape is a bounding box of ``shape_h`` x ``shape_w`` with one row mask per
row in ``shape_rows[shape * MAX_SIDE + row]`` (bit c is column c).  ``base[n]`` are the points of n lines.  A board is one
mask per row, top row first.  ``st`` is the state of a game, ST_* below.
"""

from engine.words import (
    AFTER_END,
    APPLIED,
    BAD_TOKEN,
    BOARD_DIFFERS,
    BOARD_EQUAL,
    BOARD_UNREADABLE,
    CONTINUE_NOT_ALLOWED,
    DEAL_EXHAUSTED,
    END,
    MASK64,
    NO_SUCH_SLOT,
    OUTSIDE_BOARD,
    OVERLAP,
    S1,
    S2,
    S4,
    S8,
    S16,
    S32,
    S64,
    ZERO,
    is_space,
    popcount,
    word,
)  # fmt: skip
from engine.words import (
    fill_deal as fill_deal,
)
from engine.words import (
    hash_log as hash_log,
)

MAX_SIDE = 11

P_WIDTH, P_HEIGHT, P_CELL, P_TURN, P_FORGIVEN, P_CAP, P_SHAPES = 0, 1, 2, 3, 4, 5, 6
N_PARAMS = 7

ST_MOVES, ST_SCORE, ST_BEST, ST_STREAK, ST_MISSES, ST_POSITION, ST_CLEARED, ST_NEXT, ST_CONTINUES = 0, 1, 2, 3, 4, 5, 6, 7, 8
# What the last token did, for traces: lines, points, multiplier, masks of the emptied rows and columns.
ST_LINES, ST_GAIN, ST_MULTIPLIER, ST_FULL_ROWS, ST_FULL_COLS = 9, 10, 11, 12, 13
N_STATE = 14

# Kinds of token; 0 is the end of the log.
T_END, T_PLACE, T_CONTINUE, T_BAD = 0, 1, 2, -1

NO_PIECE = -1

# Unsigned 64-bit words beside those of engine.words.
WORDS = ("CHAR_1", "CHAR_A", "ROW_ONES", "COLUMN_ONES")
CHAR_1, CHAR_A = 49, 97
ROW_ONES = 0xFF
COLUMN_ONES = 0x0101_0101_0101_0101


def next_token(data, pos, end):
    """Read one token from ``data[pos:end]``: (kind, slot 0-9 as written, column from 0, row from 0, position after it).

    A row is one digit, or 10 or 11.  In ``1a11b2`` the second 1 could end row 11 or begin the token ``1b2``: it begins a
    token exactly where a column letter follows, since no token can begin with a letter.  The board's size plays no part.
    """
    while pos < end and is_space(data[pos]):
        pos += 1
    if pos >= end:
        return T_END, 0, 0, 0, pos
    if data[pos] == 42:
        return T_CONTINUE, 0, 0, 0, pos + 1
    if end - pos < 3:
        return T_BAD, 0, 0, 0, pos
    slot = int(data[pos]) - 48
    column = int(data[pos + 1]) - 97
    row = int(data[pos + 2]) - 48
    if slot < 0 or slot > 9 or column < 0 or column >= MAX_SIDE or row < 1 or row > 9:
        return T_BAD, 0, 0, 0, pos
    after = pos + 3
    if row == 1 and after < end:
        digit = int(data[after]) - 48
        letter_follows = after + 1 < end and 97 <= data[after + 1] < 97 + MAX_SIDE
        if digit == 0 or (digit == 1 and not letter_follows):
            row = 10 + digit
            after += 1
    return T_PLACE, slot, column, row - 1, after


def count_tokens(data, start, end):
    """How many tokens a log holds, counted without replaying it: every token has one column letter or is ``*``."""
    tokens = 0
    for pos in range(start, end):
        byte = data[pos]
        tokens += (97 <= byte < 97 + MAX_SIDE) or byte == 42
    return tokens


def fits_somewhere(shape, rows, params, shape_rows, shape_h, shape_w):
    """Whether a shape has a legal place on the board."""
    first = shape * MAX_SIDE
    for top in range(params[P_HEIGHT] - shape_h[shape] + 1):
        for left in range(params[P_WIDTH] - shape_w[shape] + 1):
            free = True
            for r in range(shape_h[shape]):
                if rows[top + r] & (shape_rows[first + r] << left):
                    free = False
                    break
            if free:
                return True
    return False


def is_over(rows, hand, params, shape_rows, shape_h, shape_w):
    """Whether none of the pieces in hand fits anywhere; slots that an exhausted deal left empty do not count."""
    for slot in range(3):
        if hand[slot] != NO_PIECE and fits_somewhere(hand[slot], rows, params, shape_rows, shape_h, shape_w):
            return False
    return True


def refill(slot, deal, last, hand, st):
    """Put the deal's next piece into a slot, or NO_PIECE when a listed deal has run out."""
    if st[ST_NEXT] < last:
        hand[slot] = deal[st[ST_NEXT]]
        st[ST_NEXT] += 1
    else:
        hand[slot] = NO_PIECE


def begin(start_rows, offset, params, deal, first, last, rows, hand, st):
    """Set up a game: board ``start_rows[offset:]``, hand from ``deal[first:last]``, everything else zero."""
    for r in range(params[P_HEIGHT]):
        rows[r] = start_rows[offset + r]
    for i in range(N_STATE):
        st[i] = 0
    st[ST_NEXT] = first
    for slot in range(3):
        refill(slot, deal, last, hand, st)


def clear_lines(rows, params, st):
    """Empty every full row and column together; the number of lines is returned, their masks go to ``st``."""
    height, width = params[P_HEIGHT], params[P_WIDTH]
    full = (1 << width) - 1
    columns = full
    full_rows = 0
    lines = 0
    for r in range(height):
        columns &= rows[r]
        if rows[r] == full:
            full_rows |= 1 << r
            lines += 1
    for c in range(width):
        lines += (columns >> c) & 1
    if lines:
        for r in range(height):
            rows[r] = 0 if (full_rows >> r) & 1 else rows[r] & (full ^ columns)
    st[ST_FULL_ROWS] = full_rows
    st[ST_FULL_COLS] = columns
    return lines


def count_turn(lines, params, base, st):
    """Score the lines of one placement with the streak, then close the turn when it is full.

    The first clear of a turn lengthens the streak and is paid with it; a turn without one is forgiven ``forgiven`` times in a
    row, the next such turn sets the streak to zero.
    """
    if lines:
        if not st[ST_CLEARED]:
            st[ST_CLEARED] = 1
            st[ST_STREAK] += 1
        st[ST_MULTIPLIER] = min(st[ST_STREAK], params[P_CAP])
        st[ST_GAIN] += base[lines] * st[ST_MULTIPLIER]
        st[ST_BEST] = max(st[ST_BEST], lines)
    st[ST_POSITION] += 1
    if st[ST_POSITION] == params[P_TURN]:
        st[ST_POSITION] = 0
        if st[ST_CLEARED]:
            st[ST_MISSES] = 0
        else:
            st[ST_MISSES] += 1
            if st[ST_MISSES] > params[P_FORGIVEN]:
                st[ST_STREAK] = 0
                st[ST_MISSES] = 0
        st[ST_CLEARED] = 0


def why_not(slot, column, row, rows, hand, params, shape_rows, shape_h, shape_w):
    """APPLIED when the hand's piece may go there, else the fault without regard to the game being over."""
    if slot < 0 or slot > 2:
        return NO_SUCH_SLOT
    shape = hand[slot]
    if shape == NO_PIECE:
        return DEAL_EXHAUSTED
    if column + shape_w[shape] > params[P_WIDTH] or row + shape_h[shape] > params[P_HEIGHT]:
        return OUTSIDE_BOARD
    for r in range(shape_h[shape]):
        if rows[row + r] & (shape_rows[shape * MAX_SIDE + r] << column):
            return OVERLAP
    return APPLIED


def place(slot, column, row, params, shape_rows, shape_h, shape_w, shape_cells, base, deal, last, rows, hand, st):
    """Put down a piece that ``why_not`` allowed: cells, lines, streak, refill."""
    shape = hand[slot]
    for r in range(shape_h[shape]):
        rows[row + r] |= shape_rows[shape * MAX_SIDE + r] << column
    st[ST_MULTIPLIER] = 0
    st[ST_GAIN] = shape_cells[shape] * params[P_CELL]
    st[ST_LINES] = clear_lines(rows, params, st)
    count_turn(st[ST_LINES], params, base, st)
    st[ST_SCORE] += st[ST_GAIN]
    refill(slot, deal, last, hand, st)
    st[ST_MOVES] += 1


def step(data, pos, end, params, shape_rows, shape_h, shape_w, shape_cells, base, deal, last, continues, rows, hand, st):
    """Apply the next token of the log: (APPLIED, END or a fault, position after the token).

    A token that can be read but comes after the end is ``after_end`` whatever else is wrong with it, a continue excepted: that
    is the one token that may come then, so it is ``continue_not_allowed``.  A legal placement proves that the game was not
    over, which is why "over" is looked up only where something else is the matter.
    """
    kind, slot, column, row, after = next_token(data, pos, end)
    if kind == T_END:
        return END, after
    if kind == T_BAD:
        return BAD_TOKEN, after
    if kind == T_CONTINUE:
        if st[ST_CONTINUES] >= continues or not is_over(rows, hand, params, shape_rows, shape_h, shape_w):
            return CONTINUE_NOT_ALLOWED, after
        for r in range(params[P_HEIGHT]):
            rows[r] = 0
        st[ST_CONTINUES] += 1
        st[ST_MOVES] += 1
        st[ST_LINES] = st[ST_GAIN] = st[ST_MULTIPLIER] = st[ST_FULL_ROWS] = st[ST_FULL_COLS] = 0
        return APPLIED, after
    fault = why_not(slot - 1, column, row, rows, hand, params, shape_rows, shape_h, shape_w)
    if fault != APPLIED:
        if is_over(rows, hand, params, shape_rows, shape_h, shape_w):
            # With a slot that the deal could not fill, "over" is not the player's doing.
            if hand[0] == NO_PIECE or hand[1] == NO_PIECE or hand[2] == NO_PIECE:
                return DEAL_EXHAUSTED, after
            return AFTER_END, after
        return fault, after
    place(slot - 1, column, row, params, shape_rows, shape_h, shape_w, shape_cells, base, deal, last, rows, hand, st)
    return APPLIED, after


def replay_log(data, pos, end, params, shape_rows, shape_h, shape_w, shape_cells, base, deal, last, continues, rows, hand, st):
    """Apply a whole log to a game that ``begin`` set up: END, or the first fault, whose index is ``st[ST_MOVES]``."""
    status = APPLIED
    while status == APPLIED:
        status, pos = step(
            data, pos, end, params, shape_rows, shape_h, shape_w, shape_cells, base, deal, last, continues, rows, hand, st
        )
    return status


def token_stride(data, start, end):
    """3 or 4 when every token is exactly slot, column, row (and one space before the next), all on an 8 x 8 board; else 0.

    Such a log is read the same way by ``next_token``: a row 1 that is followed by a 1 is followed by a letter too.
    """
    size = end - start
    if size < 3:
        return 0
    stride = 3
    if size > 3 and data[start + 3] == 32:
        stride = 4
    if (size + stride - 3) % stride:
        return 0
    wrong = 0
    for token in range((size + stride - 3) // stride):
        pos = start + token * stride
        wrong |= (data[pos] < 49) | (data[pos] > 51)
        wrong |= (data[pos + 1] < 97) | (data[pos + 1] > 104)
        wrong |= (data[pos + 2] < 49) | (data[pos + 2] > 56)
    if stride == 4:
        for pos in range(start + 3, end, 4):
            wrong |= data[pos] != 32
    return 0 if wrong else stride


def fits_somewhere_8x8(shape, board, anchors, offsets):
    """``fits_somewhere`` on a 64-bit board (bit 8 * row + column): all anchors at once, one shift a cell."""
    free = board ^ MASK64
    places = anchors[shape]
    for k in range(MAX_SIDE):
        places &= free >> offsets[shape * MAX_SIDE + k]
    return places != ZERO


def replay_8x8(data, start, tokens, stride, params, masks, anchors, offsets, base, deal, first, board, rows, st):
    """The fast case: an 8 x 8 board, a log that ``token_stride`` proved regular, a seeded deal that cannot run out.

    Returns END with score, best combo and board in ``st`` and ``rows`` (finished is ``st[ST_POSITION]``), or BAD_TOKEN when
    anything at all is not a plain legal placement; the caller then replays the log with ``replay_log``, the only judge of faults.
    Everything here is an unsigned word: an index that could be negative costs numba a test at each use.
    """
    turn, forgiven, cap = word(params[P_TURN]), word(params[P_FORGIVEN]), word(params[P_CAP])
    upcoming = word(first) + S1 + S2
    # The hand is three bytes of one word, slot 1 lowest.
    hand = word(deal[first]) | (word(deal[first + 1]) << S8) | (word(deal[first + 2]) << S16)
    pos, step_size = word(start), word(stride)
    placed = score = best = streak = misses = position = cleared = ZERO
    for _ in range(tokens):
        slot8 = (word(data[pos]) - CHAR_1) * S8
        shape = (hand >> slot8) & ROW_ONES
        mask = masks[(shape * S64) + (word(data[pos + S2]) - CHAR_1) * S8 + (word(data[pos + S1]) - CHAR_A)]
        # A mask of zero stands for "outside the board".
        if mask == ZERO or (board & mask) != ZERO:
            return BAD_TOKEN
        pos += step_size
        board |= mask
        placed += popcount(mask)
        full_rows = board & (board >> S1)
        full_rows &= full_rows >> S2
        full_rows &= (full_rows >> S4) & COLUMN_ONES
        full_columns = board & (board >> S8)
        full_columns &= full_columns >> S16
        full_columns &= (full_columns >> S32) & ROW_ONES
        board &= ((full_rows * ROW_ONES) | (full_columns * COLUMN_ONES)) ^ MASK64
        # No branch on the clear: about every third placement has one, in no pattern that a processor could learn.
        lines = popcount(full_rows) + popcount(full_columns)
        hit = min(lines, S1)
        streak += hit & (cleared ^ S1)
        cleared |= hit
        score += word(base[lines]) * min(streak, cap)
        best = max(best, lines)
        hand ^= (shape ^ word(deal[upcoming])) << slot8
        upcoming += S1
        position += S1
        if position == turn:
            position = ZERO
            misses = (misses + S1) * (cleared ^ S1)
            # Past forgiveness both fall to zero; written without a branch for the same reason.
            keep = word(misses <= forgiven)
            misses *= keep
            streak *= keep
            cleared = ZERO
    st[ST_MOVES] = tokens
    st[ST_SCORE] = score + placed * word(params[P_CELL])
    st[ST_BEST] = best
    over = 1
    for slot in range(3):
        if fits_somewhere_8x8((hand >> word(8 * slot)) & ROW_ONES, board, anchors, offsets):
            over = 0
    st[ST_POSITION] = over
    for r in range(8):
        rows[r] = board & ROW_ONES
        board >>= S8
    return END


def parse_board(data, pos, end, width, height, rows):
    """Read a board text into row masks: BOARD_EQUAL when it could be read, else BOARD_UNREADABLE."""
    for r in range(height):
        rows[r] = 0
    if end - pos == 1 and data[pos] == 45:
        return BOARD_EQUAL
    count = 1
    for i in range(pos, end):
        count += data[i] == 47
    if count > height:
        return BOARD_UNREADABLE
    row = height - count
    column = run = 0
    for i in range(pos, end + 1):
        byte = int(data[i]) if i < end else 47
        if 48 <= byte <= 57:
            run = min(run * 10 + (byte - 48), 1000)
            continue
        column += run
        run = 0
        if byte == 47:
            if column != width:
                return BOARD_UNREADABLE
            row += 1
            column = 0
        elif byte == 35 and column < width:
            rows[row] |= 1 << column
            column += 1
        else:
            return BOARD_UNREADABLE
    return BOARD_EQUAL


def compare_board(data, pos, end, width, height, rows, scratch):
    """How a claimed board compares with ``rows``: BOARD_EQUAL, BOARD_DIFFERS or BOARD_UNREADABLE."""
    if parse_board(data, pos, end, width, height, scratch) != BOARD_EQUAL:
        return BOARD_UNREADABLE
    for r in range(height):
        if scratch[r] != rows[r]:
            return BOARD_DIFFERS
    return BOARD_EQUAL


def completes(
    score, best, board_rows, params, shape_rows, shape_h, shape_w, shape_cells, base, rows, hand, st, try_rows, try_hand, try_st
):
    """Whether one more legal placement of the hand would give exactly the claimed score, combo and board.

    The sign of a log whose last token was lost (reason ``truncated_log``).  ``try_*`` are scratch of the state's sizes.
    """
    for slot in range(3):
        for row in range(params[P_HEIGHT]):
            for column in range(params[P_WIDTH]):
                if why_not(slot, column, row, rows, hand, params, shape_rows, shape_h, shape_w) != APPLIED:
                    continue
                for r in range(params[P_HEIGHT]):
                    try_rows[r] = rows[r]
                for i in range(N_STATE):
                    try_st[i] = st[i]
                for i in range(3):
                    try_hand[i] = hand[i]
                # The refill plays no part in what is compared: an empty deal will do.
                place(
                    slot, column, row, params, shape_rows, shape_h, shape_w, shape_cells, base, hand, 0,
                    try_rows, try_hand, try_st,
                )  # fmt: skip
                same = try_st[ST_SCORE] == score and try_st[ST_BEST] == best
                for r in range(params[P_HEIGHT]):
                    same = same and try_rows[r] == board_rows[r]
                if same:
                    return True
    return False


KERNEL = (
    "next_token", "count_tokens", "fits_somewhere", "is_over", "refill", "begin", "clear_lines", "count_turn", "why_not", "place",
    "step", "replay_log", "token_stride", "fits_somewhere_8x8", "replay_8x8", "parse_board", "compare_board", "completes",
)  # fmt: skip
# Called once a token or more from compiled code: inlined there, since passing a dozen arrays costs more than the work.
INLINE = ("next_token", "refill", "clear_lines", "count_turn", "why_not", "place", "step")
