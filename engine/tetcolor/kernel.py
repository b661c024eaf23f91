"""The kernel of Tetcolor: one source, run compiled over columns of logs and interpreted for one game.

Nothing here raises, or reads what it was not given.  Its parts share a namespace when compiled: ``layout`` (where everything
lies), ``settle`` (the settle machine), ``pieces`` (draws and movement) and this one (the handicap, notation, time, tokens).
``engine.tetcolor.single`` calls the very same functions with plain lists and ints.
"""

from engine.tetcolor import layout as at
from engine.tetcolor.pieces import count_special, draw_piece, end_settle, enter, is_blocked, is_sealed, lock, room_below, turned
from engine.tetcolor.settle import lowest, settle_step
from engine.words import (
    AFTER_END,
    APPLIED,
    BAD_TOKEN,
    BOARD_DIFFERS,
    BOARD_EQUAL,
    BOARD_UNREADABLE,
    DEAL_EXHAUSTED,
    END,
    GAMMA,
    MASK64,
    S32,
    is_space,
    mixed,
    word,
)  # fmt: skip

# The letters l r x z d h as bytes; a trailing number, which is only time, has none.
SHIFT_LEFT, SHIFT_RIGHT, CLOCKWISE, COUNTER_CLOCKWISE, SOFT_DROP, HARD_DROP = 108, 114, 120, 122, 100, 104
ONLY_TIME = 0
MAX_DIGITS = 9


def fill_handicap(p, rng, board, cols):
    """Fill the lowest rows from the bottom up: both draws of a cell are made whatever becomes of it.

    A cell that would complete a run of three or, as the last one, its row stays empty; three is what a run is in the rules.
    """
    state = rng[0]
    colours = word(p[at.P_COLOURS])
    for row in range(p[at.P_HEIGHT] - 1, p[at.P_HEIGHT] - 1 - p[at.P_HANDICAP_ROWS], -1):
        count = 0
        for column in range(at.LEFT, at.LEFT + p[at.P_WIDTH]):
            state = (state + GAMMA) & MASK64
            drawn = int(((mixed(state) >> S32) * word(100)) >> S32)
            state = (state + GAMMA) & MASK64
            colour = int(((mixed(state) >> S32) * colours) >> S32) + 1
            place = (row + at.TOP) * at.STRIDE + column
            if drawn >= p[at.P_FILLED] or count == p[at.P_WIDTH] - 1 or ends_run(place, colour, p[at.P_RUN], board):
                continue
            board[place] = colour
            cols[column] |= 1 << row
            count += 1
    rng[0] = state


def ends_run(place, colour, run, board):
    """Whether a block of a colour would complete a run with those to its left and below."""
    for step in (-1, at.STRIDE - 1, at.STRIDE, at.STRIDE + 1):
        length = 1
        while length < run and board[place + length * step] & at.COLOUR == colour:
            length += 1
        if length == run:
            return True
    return False


def begin(p, tables, deal, first, last, rng_seed, start, start_first, rng, board, cols, st):
    """Set up a game before its first tick.

    ``last`` is NONE for a seeded deal, ``start_first`` where there is no start board; else its cells are ``start[start_first:]``.
    """
    for index in range(at.N_BOARD):
        board[index] = 0
    for index in range(at.N_COLS):
        cols[index] = at.ONES
    for index in range(at.N_STATE):
        st[index] = 0
    for column in range(at.LEFT, at.LEFT + p[at.P_WIDTH]):
        cols[column] = at.ONES ^ ((1 << p[at.P_HEIGHT]) - 1)
    rng[0] = rng_seed
    st[at.LEVEL] = 1
    st[at.DRAWN], st[at.LISTED] = first, last
    if start_first != at.NONE:
        set_start(start, start_first, p, board, cols, st)
    elif p[at.P_HANDICAP]:
        fill_handicap(p, rng, board, cols)
    filled = 1 << p[at.P_HEIGHT]
    for column in range(at.LEFT, at.LEFT + p[at.P_WIDTH]):
        filled |= cols[column]
    st[at.FREE_ROWS] = lowest(filled)
    st[at.NEXT_LEVEL] = p[at.P_PIECES]
    draw_piece(p, tables, deal, rng, st)
    enter(p, tables, deal, rng, cols, st)


def set_start(start, start_first, p, board, cols, st):
    """Put the cells of a start board in their places and count its specials."""
    for row in range(p[at.P_HEIGHT]):
        for column in range(p[at.P_WIDTH]):
            cell = start[start_first + row * p[at.P_WIDTH] + column]
            if cell:
                board[(row + at.TOP) * at.STRIDE + column + at.LEFT] = cell
                cols[column + at.LEFT] |= 1 << row
                count_special(cell, st)


def read_token(data, pos, end, st):
    """Read one token to TICKS and LETTER of ``st``: (APPLIED, END or BAD_TOKEN, position after it, or before a bad one).

    A number apart from its letter is bad, a number after which nothing follows is time only.
    """
    while pos < end and is_space(data[pos]):
        pos += 1
    if pos >= end:
        return END, pos
    start = pos
    ticks = 0
    while pos < end and 48 <= data[pos] <= 57:
        if pos - start == MAX_DIGITS:
            return BAD_TOKEN, start
        ticks = ticks * 10 + (int(data[pos]) - 48)
        pos += 1
    st[at.TICKS] = ticks
    if pos < end:
        letter = int(data[pos])
        if letter in (SHIFT_LEFT, SHIFT_RIGHT, HARD_DROP, CLOCKWISE, SOFT_DROP, COUNTER_CLOCKWISE):
            st[at.LETTER] = letter
            return APPLIED, pos + 1
        while pos < end and is_space(data[pos]):
            pos += 1
        if pos < end or pos == start:
            return BAD_TOKEN, start
    st[at.LETTER] = ONLY_TIME
    return APPLIED, pos


def count_tokens(data, start, end):
    """How many tokens a log holds, counted without replaying it: each has one letter."""
    tokens = 0
    for pos in range(start, end):
        tokens += 97 <= (data[pos] | 32) <= 122
    return tokens


def save(rng, board, cols, st, saved):
    """Keep a copy of the game, in case the token that was read last must not have happened."""
    for index in range(at.N_STATE):
        saved[index] = st[index]
    for index in range(at.N_COLS):
        saved[at.N_STATE + index] = cols[index]
    for index in range(at.N_BOARD):
        saved[at.N_STATE + at.N_COLS + index] = board[index]
    rng[1] = rng[0]


def restore(rng, board, cols, st, saved):
    """The game as ``save`` found it."""
    for index in range(at.N_STATE):
        st[index] = saved[index]
    for index in range(at.N_COLS):
        cols[index] = saved[at.N_STATE + index]
    for index in range(at.N_BOARD):
        board[index] = saved[at.N_STATE + at.N_COLS + index]
    rng[0] = rng[1]


def open_token(data, pos, end, p, rng, board, cols, st, saved):
    """Read the next token and see to the clock: (APPLIED when its time may pass, END or BAD_TOKEN, position after it)."""
    code, pos = read_token(data, pos, end, st)
    if code == APPLIED:
        if st[at.PHASE] == at.OVER:
            st[at.TICKS] = 0
        elif st[at.CLOCK] + st[at.TICKS] > p[at.P_LONGEST]:
            # Bad, unless the game ends before; then this token comes after the end.
            save(rng, board, cols, st, saved)
            st[at.PAST_LIMIT] = 1
            st[at.TICKS] = p[at.P_LONGEST] - st[at.CLOCK]
    return code, pos


def wait(p, tables, deal, rng, cols, st):
    """Let time pass without a piece in play, as far as the next one's entry."""
    ticks = st[at.TICKS]
    if st[at.PHASE] == at.WAITING:
        ticks = min(ticks, st[at.ENTER_AT] - st[at.CLOCK])
    st[at.CLOCK] += ticks
    st[at.TICKS] -= ticks
    if st[at.PHASE] == at.WAITING and st[at.CLOCK] == st[at.ENTER_AT]:
        enter(p, tables, deal, rng, cols, st)


def fall(tables, cols, st):
    """Let the piece in play fall through the air as far as the token's ticks go; returns whether it has reached a support.

    All whole rows at once.  The tick that brings it down onto the support counts as one on it already: the caller's next one.
    """
    if st[at.MEMORY]:
        # Only a piece on its support has one.
        return True
    ticks, row_time = st[at.TICKS], st[at.ROW_TIME]
    first = max(1, row_time - st[at.COUNTER])
    if ticks < first and st[at.ROW] + at.MAX_CELLS < st[at.FREE_ROWS]:
        # High above everything, and not even a row: by far the most frequent case.
        st[at.COUNTER] += ticks
        st[at.STANDING] = 0
        st[at.CLOCK] += ticks
        st[at.TICKS] = 0
        return False
    room = room_below(tables, cols, st)
    if room == 0:
        return True
    landing = first + (room - 1) * row_time
    # A tick in the air zeroes the count, and so does the descent itself: what lands has the window of that landing.
    st[at.STANDING] = 0
    if ticks < landing:
        if ticks < first:
            st[at.COUNTER] += ticks
        else:
            st[at.ROW] += 1 + (ticks - first) // row_time
            st[at.COUNTER] = (ticks - first) % row_time
        st[at.CLOCK] += ticks
        st[at.TICKS] = 0
        return False
    st[at.ROW] += room
    # The landing tick is not over: it is the first one on the support.  That one adds to the counter, hence one less.
    st[at.COUNTER] = -1
    st[at.CLOCK] += landing - 1
    st[at.TICKS] -= landing - 1
    return True


def advance(p, tables, deal, rng, board, cols, st, work):
    """Let the token's time pass until it is over, a piece locks or one enters."""
    if st[at.PHASE] != at.FALLING:
        wait(p, tables, deal, rng, cols, st)
        return
    if not fall(tables, cols, st):
        return
    needed = p[at.P_LANDING] - st[at.STANDING]
    if is_sealed(p, tables, cols, st):
        needed = 1
    ticks = min(needed, st[at.TICKS])
    st[at.STANDING] += ticks
    st[at.COUNTER] += ticks
    st[at.CLOCK] += ticks
    st[at.TICKS] -= ticks
    if ticks == needed:
        lock(st[at.CLOCK] - 1, tables, board, cols, st, work)


def press(p, tables, board, cols, st, work):
    """Apply the input LETTER to the piece in play; one that has no effect changes nothing."""
    letter = st[at.LETTER]
    turn, row, column = st[at.TURN], st[at.ROW], st[at.COLUMN]
    if letter == HARD_DROP:
        if st[at.MEMORY]:
            lock(st[at.CLOCK], tables, board, cols, st, work)
            return
        room = room_below(tables, cols, st)
        if room:
            st[at.ROW] += room
            st[at.COUNTER] = st[at.STANDING] = 0
        st[at.MEMORY] = 1
        return
    if letter in (SHIFT_LEFT, SHIFT_RIGHT):
        column += 1 if letter == SHIFT_RIGHT else -1
        if is_blocked(turn, row, column, p, tables, cols, st):
            return
        st[at.COLUMN] = column
    elif letter == SOFT_DROP:
        if is_blocked(turn, row + 1, column, p, tables, cols, st):
            return
        st[at.ROW] += 1
        st[at.COUNTER] = st[at.STANDING] = 0
    else:
        step = at.T_CLOCKWISE if letter == CLOCKWISE else at.T_COUNTER
        possible, column = turned(step, p, tables, cols, st)
        if not possible:
            return
        st[at.COLUMN] = column
        st[at.TURN] = tables[turn + step]
    if st[at.MEMORY] and room_below(tables, cols, st):
        st[at.MEMORY] = 0


def go_on(p, tables, deal, rng, board, cols, st, work):
    """Do one thing of what is under way: a state of the settle machine, or time up to the next lock or entry.

    Returns whether there was anything: False when nothing is unsettled and the token's time has passed.
    """
    if st[at.PHASE] == at.SETTLING:
        settle_step(p, board, cols, st, work)
        if st[at.STATE] == at.DONE:
            end_settle(p, tables, deal, rng, cols, st)
        return True
    if st[at.TICKS] > 0 and st[at.PHASE] != at.OVER:
        advance(p, tables, deal, rng, board, cols, st, work)
        return True
    return False


def close_token(p, tables, rng, board, cols, st, work, saved):
    """Judge the token after its time has passed, and apply it: APPLIED, END or a fault."""
    if st[at.PAST_LIMIT]:
        if st[at.PHASE] != at.OVER:
            restore(rng, board, cols, st, saved)
            st[at.TICKS] = 0
            st[at.PAST_LIMIT] = 1
            return BAD_TOKEN
        st[at.PAST_LIMIT] = 0
    if st[at.LETTER] == ONLY_TIME:
        return END
    if st[at.PHASE] == at.OVER:
        return AFTER_END
    if st[at.PHASE] == at.EXHAUSTED:
        return DEAL_EXHAUSTED
    st[at.MOVES] += 1
    if st[at.PHASE] == at.FALLING:
        press(p, tables, board, cols, st, work)
    return APPLIED


def step(data, pos, end, p, tables, deal, rng, board, cols, st, work, saved):
    """Apply the next token of the log: (APPLIED, END or a fault, position after the token, or before a bad one)."""
    code, after = open_token(data, pos, end, p, rng, board, cols, st, saved)
    if code != APPLIED:
        return code, after
    # One loop for what comes before the input and what it sets off, so that compiled code holds its body once.
    closed = False
    while True:
        if not go_on(p, tables, deal, rng, board, cols, st, work):
            if closed:
                break
            code = close_token(p, tables, rng, board, cols, st, work, saved)
            closed = True
    if code == BAD_TOKEN:
        after = pos
    return code, after


def replay_log(data, pos, end, p, tables, deal, rng, board, cols, st, work, saved):
    """Apply a whole log to a game that ``begin`` set up: END, or the first fault, whose index is ``st[MOVES]``."""
    status = APPLIED
    while status == APPLIED:
        status, pos = step(data, pos, end, p, tables, deal, rng, board, cols, st, work, saved)
    return status


def compare_board(data, pos, end, width, height, board):
    """How a claimed board compares with the game's: BOARD_EQUAL, BOARD_DIFFERS or BOARD_UNREADABLE, which goes before."""
    count = 0
    is_empty_text = end - pos == 1 and data[pos] == 45
    if not is_empty_text:
        count = 1
        for index in range(pos, end):
            count += data[index] == 47
    if count > height:
        return BOARD_UNREADABLE
    differs = 0
    for row in range(height - count):
        for column in range(width):
            differs |= board[(row + at.TOP) * at.STRIDE + column + at.LEFT]
    for row in range(height - count, height):
        place = (row + at.TOP) * at.STRIDE + at.LEFT
        last = place + width
        run = 0
        while pos < end and data[pos] != 47:
            byte = int(data[pos])
            pos += 1
            if 48 <= byte <= 57:
                run = min(run * 10 + (byte - 48), at.N_BOARD)
                continue
            cell = byte - 96
            if not 1 <= cell <= 5:
                return BOARD_UNREADABLE
            special = special_of(int(data[pos])) if pos < end else 0
            if special:
                cell |= special << at.SPECIAL_SHIFT
                pos += 1
            if pos < end and data[pos] == 42:
                cell |= at.ICE
                pos += 1
            if place + run >= last:
                return BOARD_UNREADABLE
            for empty in range(place, place + run):
                differs |= board[empty]
            place += run
            differs |= board[place] ^ cell
            place += 1
            run = 0
        pos += 1
        if place + run != last:
            return BOARD_UNREADABLE
        for empty in range(place, last):
            differs |= board[empty]
    return BOARD_DIFFERS if differs else BOARD_EQUAL


def special_of(byte):
    """The special that a letter of a board stands for (N H V L M A S), 0 for any other byte."""
    if byte == 78:
        return at.NORMAL
    if byte == 72:
        return at.HORIZONTAL
    if byte == 86:
        return at.VERTICAL
    if byte == 76:
        return at.LIGHTNING
    if byte == 77:
        return at.MEGA
    if byte == 65:
        return at.ACTIVATOR
    return at.STONE if byte == 83 else 0


KERNEL = (
    "ends_run", "fill_handicap", "set_start", "begin", "read_token", "count_tokens", "save", "restore", "open_token", "wait",
    "fall", "advance", "press", "go_on", "close_token", "step", "replay_log", "special_of", "compare_board",
)  # fmt: skip
# Called once a token or more from compiled code.
INLINE = ("read_token", "open_token", "wait", "fall", "advance", "press", "go_on", "close_token", "step")
WORDS: tuple[str, ...] = ()
