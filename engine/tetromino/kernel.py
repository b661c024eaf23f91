"""The upper half of Tetromino Arcade's kernel: the deal, time, points, ends, and the log.

``pieces`` explains the arrays.  ``deal[0:last]`` are listed pieces; ``last`` below zero says that the deal is seeded, in bags of
seven.  Nothing here raises, and time is skipped from event to event: the work of a log is bounded by its tokens and by the
pieces that can lock within the rules' longest game.
"""

from engine.tetromino.pieces import (
    CORNERS,
    K_LOWEST,
    L_AWARD,
    L_BASE,
    L_CHAIN,
    L_COMBO,
    L_DROPPED,
    L_LEVEL,
    L_LINES,
    L_PERFECT,
    L_PIECE,
    L_SHAPE,
    L_SPIN,
    L_TICK,
    L_X,
    L_Y,
    LOW_CORNERS,
    M_FRONT,
    N_BOARD,
    N_PIECES,
    N_STATE,
    NO_PIECE,
    P_CHAIN_PARTS,
    P_CHAIN_TIMES,
    P_COLUMN,
    P_COMBO,
    P_EMPTY_ROW,
    P_END_LINES,
    P_END_TICKS,
    P_FULL,
    P_GRAVITY,
    P_HARD,
    P_HEIGHT,
    P_LEVELS,
    P_LINES_A_LEVEL,
    P_LOCK_DELAY,
    P_LONGEST,
    P_MINI,
    P_PERFECT,
    P_PLAIN,
    P_RESCUE,
    P_RESCUED_ABOVE,
    P_RESETS,
    P_SPAWN_ROW,
    P_SPIN_PIECE,
    P_START,
    P_VISIBLE,
    PAD,
    RNG,
    ST_BAG,
    ST_BEST,
    ST_CHAIN,
    ST_COMBO,
    ST_COUNT,
    ST_DEEPEST,
    ST_DROPPED,
    ST_FINISHED,
    ST_FRACTION,
    ST_HELD,
    ST_HOLD,
    ST_LEVEL,
    ST_LINES,
    ST_LOCKS,
    ST_MOVES,
    ST_NEXT,
    ST_PIECE,
    ST_RESCUES,
    ST_RESETS,
    ST_SCORE,
    ST_SHAPE,
    ST_TICK,
    ST_TOP,
    ST_TURNED,
    ST_WAIT,
    ST_X,
    ST_Y,
    WALL,
    clear_lines,
    descend,
    drop_distance,
    empty_rows,
    has_room,
    is_empty,
    settle,
    shift,
    soft_drop,
    turn,
    window,
)
from engine.tetromino.text import T_BAD, T_END, T_TIME, next_token
from engine.words import (
    AFTER_END,
    APPLIED,
    BAD_TOKEN,
    DEAL_EXHAUSTED,
    END,
    GAMMA,
    HOLD_TWICE,
    MASK64,
    S32,
    mixed,
    number,
    popcount,
    word,
)

# What ``step`` says beside the codes of engine.outcome when it was asked to stop: time has passed, and the token is not used up.
WAITED = 2
ROW = 65536
SPIN_NONE, SPIN_MINI, SPIN_FULL = 0, 1, 2

WORDS = ()


def next_piece(deal, last, board, st):
    """Take the deal's next piece, NO_PIECE when a listed deal has run out."""
    if last >= 0:
        if st[ST_NEXT] >= last:
            return NO_PIECE
        piece = deal[st[ST_NEXT]]
        st[ST_NEXT] += 1
        return piece
    at = st[ST_NEXT]
    if at == N_PIECES:
        # A new bag (rules/tetromino): Fisher-Yates from the last index down.
        at = 0
        for i in range(N_PIECES):
            st[ST_BAG + i] = i
        for i in range(N_PIECES - 1, 0, -1):
            board[RNG] = (board[RNG] + GAMMA) & MASK64
            j = number(((mixed(board[RNG]) >> S32) * word(i + 1)) >> S32)
            st[ST_BAG + i], st[ST_BAG + j] = st[ST_BAG + j], st[ST_BAG + i]
    st[ST_NEXT] = at + 1
    return st[ST_BAG + at]


def spawn(piece, params, kicks, masks, board, st):
    """Bring a piece into play, or end the game (zen: empty the top of the board first) where it has no room."""
    st[ST_PIECE] = piece
    st[ST_FRACTION] = st[ST_COUNT] = st[ST_TURNED] = st[ST_DROPPED] = 0
    if piece == NO_PIECE:
        return
    shape = piece * 4
    st[ST_SHAPE] = shape
    st[ST_X] = params[P_COLUMN + piece]
    st[ST_Y] = params[P_SPAWN_ROW] - kicks[K_LOWEST + shape]
    st[ST_DEEPEST] = params[P_SPAWN_ROW]
    st[ST_RESETS] = params[P_RESETS]
    # Nothing is settled from ST_TOP up.
    if st[ST_TOP] > params[P_SPAWN_ROW] and not has_room(board, masks, shape, st[ST_X], st[ST_Y]):
        if params[P_RESCUE]:
            rescue(params, board, st)
        else:
            st[ST_PIECE] = NO_PIECE
            st[ST_FINISHED] = 1


def rescue(params, board, st):
    """Empty the top of the board (zen)."""
    empty_rows(params[P_RESCUED_ABOVE], st[ST_TOP], board, params)
    st[ST_TOP] = min(st[ST_TOP], params[P_RESCUED_ABOVE])
    st[ST_RESCUES] += 1


def begin(start, first, params, kicks, masks, deal, last, board, st):
    """Set up a game on the board, colours and generator of ``start[first:]``, with its first piece in play."""
    for i in range(N_BOARD):
        board[i] = start[first + i]
    for i in range(N_STATE):
        st[i] = 0
    st[ST_HOLD] = NO_PIECE
    st[ST_COMBO] = -1
    st[ST_LEVEL] = params[P_START]
    st[ST_WAIT] = -1
    st[L_PIECE] = NO_PIECE
    st[ST_NEXT] = 0 if last >= 0 else N_PIECES
    top = params[P_HEIGHT]
    while top > 0 and board[word(top - 1 + PAD)] == word(params[P_EMPTY_ROW]):
        top -= 1
    st[ST_TOP] = top
    spawn(next_piece(deal, last, board, st), params, kicks, masks, board, st)


def spin_of(params, masks, board, st):
    """What spin the piece in play would lock as: SPIN_NONE, SPIN_MINI or SPIN_FULL, before its cells settle."""
    if st[ST_PIECE] != params[P_SPIN_PIECE] or not st[ST_TURNED]:
        return SPIN_NONE
    y = st[ST_Y]
    corners = (window(board, y) >> word(st[ST_X] + WALL)) & CORNERS
    # The rows above the top are no place for a piece, but no blocked corners either.
    if y + 2 >= params[P_HEIGHT]:
        corners &= LOW_CORNERS
    if popcount(corners) < 3:
        return SPIN_NONE
    front = masks[word(M_FRONT + (st[ST_SHAPE] & 3))]
    return SPIN_FULL if corners & front == front else SPIN_MINI


def award(lines, spin, perfect, params, st):
    """Score one lock (document 000): base with the level before, back-to-back, combo, perfect clear; then lines and level."""
    level = st[ST_LEVEL]
    base = params[P_PLAIN + lines]
    if spin == SPIN_MINI:
        base = params[P_MINI + lines]
    elif spin == SPIN_FULL:
        base = params[P_FULL + lines]
    points = base * level
    chained = 0
    if lines:
        st[ST_COMBO] += 1
        st[ST_BEST] = max(st[ST_BEST], st[ST_COMBO])
        if lines == 4 or spin != SPIN_NONE:
            chained = st[ST_CHAIN]
            st[ST_CHAIN] = 1
            if chained:
                # Whole: a rules file in which it would not be is refused.
                points = points * params[P_CHAIN_TIMES] // params[P_CHAIN_PARTS]
        else:
            st[ST_CHAIN] = 0
        points += params[P_COMBO] * st[ST_COMBO] * level
        if perfect:
            points += params[P_PERFECT + lines] * level
        st[ST_LINES] += lines
        st[ST_LEVEL] = max(params[P_START], 1 + st[ST_LINES] // params[P_LINES_A_LEVEL])
    else:
        st[ST_COMBO] = -1
    st[ST_SCORE] += points
    st[L_LINES], st[L_SPIN], st[L_LEVEL], st[L_CHAIN], st[L_COMBO] = lines, spin, level, chained, st[ST_COMBO]
    st[L_PERFECT], st[L_BASE], st[L_AWARD] = perfect, base, points


def lock(params, kicks, masks, deal, last, board, st):
    """Lock the piece in play: cells, spin, lines, award, top-out, the mode's end, next piece."""
    lowest = st[ST_Y] + kicks[K_LOWEST + st[ST_SHAPE]]
    spin = spin_of(params, masks, board, st)
    st[L_PIECE], st[L_SHAPE], st[L_X], st[L_Y] = st[ST_PIECE], st[ST_SHAPE], st[ST_X], st[ST_Y]
    st[L_DROPPED], st[L_TICK] = st[ST_DROPPED], st[ST_TICK]
    st[ST_LOCKS] += 1
    settle(board, masks, kicks, st)
    lines = clear_lines(board, params, st)
    award(lines, spin, 1 if lines and is_empty(board, params, st) else 0, params, st)
    st[ST_HELD] = 0
    st[ST_PIECE] = NO_PIECE
    if lowest >= params[P_VISIBLE] and not lines:
        if not params[P_RESCUE]:
            st[ST_FINISHED] = 1
            return
        rescue(params, board, st)
    if params[P_END_LINES] and st[ST_LINES] >= params[P_END_LINES]:
        st[ST_FINISHED] = 1
        return
    spawn(next_piece(deal, last, board, st), params, kicks, masks, board, st)


def fraction_on_ground(fraction, gravity, ticks):
    """Gravity's fraction after some ticks on the ground, where a whole row is due in vain and drops the fraction."""
    if gravity >= ROW:
        return 0
    first = (ROW - fraction + gravity - 1) // gravity
    if ticks < first:
        return fraction + ticks * gravity
    return (ticks - first) % ((ROW + gravity - 1) // gravity) * gravity


def pass_time(ticks, params, kicks, masks, deal, last, board, st):
    """Let up to ``ticks`` ticks (at least one) of gravity and lock timer pass for the piece in play; how many passed.

    Fewer than asked where the piece came to the ground or locked.
    """
    gravity = params[P_GRAVITY + min(st[ST_LEVEL], params[P_LEVELS]) - 1]
    distance = drop_distance(board, masks, kicks, st)
    if distance > 0:
        need = distance * ROW - st[ST_FRACTION]
        if ticks * gravity < need:
            due = st[ST_FRACTION] + ticks * gravity
            st[ST_FRACTION] = due % ROW
            if due >= ROW:
                descend(due // ROW, kicks, params, st)
            st[ST_TICK] += ticks
            return ticks
        descend(distance, kicks, params, st)
        # It comes to the ground in a tick in which more rows may be due, and the lock timer counts that tick already.
        passed = (need + gravity - 1) // gravity
        over = passed * gravity - need
        st[ST_FRACTION] = over if over < ROW else 0
        st[ST_COUNT] += 1
    else:
        passed = min(ticks, params[P_LOCK_DELAY] - st[ST_COUNT])
        st[ST_FRACTION] = fraction_on_ground(st[ST_FRACTION], gravity, passed)
        st[ST_COUNT] += passed
    st[ST_TICK] += passed
    if st[ST_COUNT] >= params[P_LOCK_DELAY]:
        lock(params, kicks, masks, deal, last, board, st)
    return passed


def advance(ticks, stop, params, kicks, masks, deal, last, board, st):
    """Let ``ticks`` ticks pass: -1 when they have, or what is left of them after a lock where ``stop`` asks for that.

    After the end of the game time means nothing.
    """
    while ticks > 0 and not st[ST_FINISHED]:
        span = ticks
        if params[P_END_TICKS]:
            span = min(span, params[P_END_TICKS] - st[ST_TICK])
        locks = st[ST_LOCKS]
        if st[ST_PIECE] == NO_PIECE:
            # A listed deal has run out.
            st[ST_TICK] += span
            ticks -= span
        else:
            ticks -= pass_time(span, params, kicks, masks, deal, last, board, st)
        if params[P_END_TICKS] and st[ST_TICK] >= params[P_END_TICKS]:
            st[ST_FINISHED] = 1
        if stop and st[ST_LOCKS] != locks:
            return ticks
    return -1


def outlives(params, kicks, masks, deal, last, board, st, keep_board, keep_st):
    """Whether the game is still going on when its clock ends; the state stays as it is (``keep_*``: room for a copy)."""
    for i in range(N_BOARD):
        keep_board[i] = board[i]
    for i in range(N_STATE):
        keep_st[i] = st[i]
    advance(params[P_LONGEST] - st[ST_TICK], 0, params, kicks, masks, deal, last, board, st)
    alive = st[ST_FINISHED] == 0
    for i in range(N_BOARD):
        board[i] = keep_board[i]
    for i in range(N_STATE):
        st[i] = keep_st[i]
    return alive


def hold(params, kicks, masks, deal, last, board, st):
    """Put the piece in play aside and bring the held one, or the next one where none is held."""
    other = st[ST_HOLD]
    st[ST_HOLD] = st[ST_PIECE]
    st[ST_HELD] = 1
    if other == NO_PIECE:
        other = next_piece(deal, last, board, st)
    spawn(other, params, kicks, masks, board, st)


def hard_drop(params, kicks, masks, deal, last, board, st):
    """Drop the piece to its landing place and lock it; a drop of no cell leaves the last action as it was."""
    distance = drop_distance(board, masks, kicks, st)
    if distance:
        descend(distance, kicks, params, st)
        st[ST_TURNED] = 0
        st[ST_SCORE] += distance * params[P_HARD]
        st[ST_DROPPED] += distance * params[P_HARD]
    lock(params, kicks, masks, deal, last, board, st)


def act(letter, params, kicks, masks, deal, last, board, st):
    """Apply one input to the piece in play: APPLIED, or HOLD_TWICE."""
    # A chain of tests, the commonest letters first: numba makes no table of it.
    if letter == 104:
        hard_drop(params, kicks, masks, deal, last, board, st)
    elif letter == 108:
        shift(-1, board, masks, st)
    elif letter == 114:
        shift(1, board, masks, st)
    elif letter == 120:
        turn(0, board, masks, kicks, params, st)
    elif letter == 122:
        turn(1, board, masks, kicks, params, st)
    elif letter == 100:
        soft_drop(board, masks, kicks, params, st)
    elif st[ST_HELD]:
        return HOLD_TWICE
    else:
        hold(params, kicks, masks, deal, last, board, st)
    return APPLIED


def step(data, pos, end, stop, params, kicks, masks, deal, last, board, st, keep_board, keep_st):
    """Apply the next token of the log: (APPLIED, END or a fault, position after the token).

    Its time passes before it is judged, except for what cannot be read.  With ``stop`` the answer is WAITED after each piece that
    time locked and when the time is over, and the position is still the token's; the next call goes on with it.
    """
    kind, ticks, letter, after = next_token(data, pos, end)
    if kind == T_BAD:
        return BAD_TOKEN, after
    if kind == T_END:
        return END, after
    if not st[ST_FINISHED]:
        if st[ST_WAIT] >= 0:
            ticks = st[ST_WAIT]
        elif st[ST_TICK] + ticks > params[P_LONGEST]:
            # Where the rules end the game before its clock does, time beyond means nothing.
            if outlives(params, kicks, masks, deal, last, board, st, keep_board, keep_st):
                return BAD_TOKEN, pos
            ticks = params[P_LONGEST] - st[ST_TICK]
        left = advance(ticks, stop, params, kicks, masks, deal, last, board, st) if ticks else -1
        if stop and ticks:
            st[ST_WAIT] = max(left, 0)
            return WAITED, pos
    st[ST_WAIT] = -1
    if kind == T_TIME:
        return END, after
    if st[ST_FINISHED]:
        return AFTER_END, after
    if st[ST_PIECE] == NO_PIECE:
        return DEAL_EXHAUSTED, after
    status = act(letter, params, kicks, masks, deal, last, board, st)
    if status == APPLIED:
        st[ST_MOVES] += 1
    return status, after


def replay_log(data, pos, end, params, kicks, masks, deal, last, board, st, keep_board, keep_st):
    """Apply a whole log to a game that ``begin`` set up: END, or the first fault, whose index is ``st[ST_MOVES]``."""
    status = APPLIED
    while status == APPLIED:
        status, pos = step(data, pos, end, 0, params, kicks, masks, deal, last, board, st, keep_board, keep_st)
    return status


KERNEL = (
    "next_piece", "rescue", "spawn", "begin", "spin_of", "award", "lock", "fraction_on_ground",
    "pass_time", "advance", "outlives", "hold", "hard_drop", "act", "step", "replay_log",
)  # fmt: skip
INLINE = ("spin_of", "award", "fraction_on_ground", "next_piece", "pass_time", "act", "step")
