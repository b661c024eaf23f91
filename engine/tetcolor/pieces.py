"""Pieces: drawn, entering, turned, falling, locked; part of the kernel (see ``engine.tetcolor.kernel``)."""

from engine.tetcolor import layout as at
from engine.tetcolor.settle import lowest
from engine.words import GAMMA, MASK64, S32, mixed, word


def count_special(cell, st):
    """Count what a cell carries, from its draw to its destruction: capacities go by it, and a collapse by the stones."""
    special = cell >> at.SPECIAL_SHIFT & 7
    st[at.ICES] += cell & at.ICE == at.ICE
    st[at.STONES] += special == at.STONE
    st[at.ACTIVATORS] += special == at.ACTIVATOR
    st[at.BOMBS] += at.NORMAL <= special <= at.MEGA


def draw_listed(deal, st):
    """Make the challenge's next listed piece the next one, or none when the list has run out."""
    if st[at.DRAWN] >= st[at.LISTED]:
        st[at.NEXT_TURN] = at.NONE
        return
    piece = deal[st[at.DRAWN]]
    st[at.DRAWN] += 1
    st[at.NEXT_TURN] = piece & ((1 << at.PIECE_SHIFT) - 1)
    cells = piece >> at.PIECE_SHIFT
    for index in range(at.MAX_CELLS):
        st[at.NEXT_CELLS + index] = cells & at.CELL_MASK
        count_special(cells & at.CELL_MASK, st)
        cells >>= at.CELL_SHIFT


def allowed_special(special, p, st):
    """The special itself, now counted, or 0 when one more would exceed its capacity."""
    if special == at.ACTIVATOR:
        kind, limit = at.ACTIVATORS, at.P_ACTIVATORS
    elif special == at.STONE:
        kind, limit = at.STONES, at.P_STONES
    else:
        kind, limit = at.BOMBS, at.P_BOMBS
    if st[kind] >= p[limit]:
        return 0
    st[kind] += 1
    return special


def draw_seeded(p, tables, rng, st):
    """Draw the next piece: shape, then cell by cell colour and, in arcade, special and ice.

    Capacities are counted over field, piece in play and the cells drawn so far: ``st`` counts every special from its draw to its
    destruction.  What would exceed one is dropped, and the draw is made all the same.
    """
    state = (rng[0] + GAMMA) & MASK64
    size = p[at.P_LARGE] if st[at.LEVEL] >= p[at.P_LARGE_FROM] else p[at.P_SMALL]
    turn = tables[p[at.P_POOL] + int(((mixed(state) >> S32) * word(size)) >> S32)]
    st[at.NEXT_TURN] = turn
    colours = word(p[at.P_COLOURS])
    for index in range(tables[turn + at.T_CELLS]):
        state = (state + GAMMA) & MASK64
        cell = int(((mixed(state) >> S32) * colours) >> S32) + 1
        if p[at.P_ARCADE]:
            state = (state + GAMMA) & MASK64
            drawn = int(((mixed(state) >> S32) * word(100)) >> S32)
            if drawn < p[at.P_DRAW + at.STONE - 1]:
                special = 1
                while drawn >= p[at.P_DRAW + special - 1]:
                    special += 1
                cell |= allowed_special(special, p, st) << at.SPECIAL_SHIFT
            state = (state + GAMMA) & MASK64
            drawn = int(((mixed(state) >> S32) * word(100)) >> S32)
            if drawn < p[at.P_DRAW_ICE] and st[at.ICES] < p[at.P_ICES]:
                st[at.ICES] += 1
                cell |= at.ICE
        st[at.NEXT_CELLS + index] = cell
    rng[0] = state


def draw_piece(p, tables, deal, rng, st):
    """Draw the next piece, listed or seeded."""
    if st[at.LISTED] != at.NONE:
        draw_listed(deal, st)
    else:
        draw_seeded(p, tables, rng, st)


def is_blocked(turn, row, column, p, tables, cols, st):
    """Whether a piece at a place would overlap a settled cell, a wall or the floor."""
    if row + at.MAX_CELLS <= st[at.FREE_ROWS]:
        # Above all settled cells there are only the walls.
        return column < 0 or column + tables[word(turn + at.T_WIDTH)] > p[at.P_WIDTH]
    blocked = 0
    for index in range(at.MAX_CELLS):
        blocked |= cols[word(column + at.LEFT + index)] & (tables[word(turn + at.T_MASK + index)] << row)
    return blocked != 0


def room_below(tables, cols, st):
    """How many rows the piece in play can descend, 0 on a support."""
    below = 0
    turn, row = st[at.TURN], st[at.ROW]
    column = st[at.COLUMN] + at.LEFT
    for index in range(at.MAX_CELLS):
        offset = tables[word(turn + at.T_OFFSET + index)]
        below |= cols[word(column + (offset & at.STRIDE_MASK))] >> (row + (offset >> at.STRIDE_SHIFT) + 1)
    return lowest(below)


def turned(step, p, tables, cols, st):
    """(whether a rotation or cycling is possible, the column it would take): in place, else one column left, else right."""
    turn = tables[st[at.TURN] + step]
    column = st[at.COLUMN]
    if not is_blocked(turn, st[at.ROW], column, p, tables, cols, st):
        return True, column
    if not is_blocked(turn, st[at.ROW], column - 1, p, tables, cols, st):
        return True, column - 1
    return not is_blocked(turn, st[at.ROW], column + 1, p, tables, cols, st), column + 1


def is_walled_in(p, tables, cols, st):
    """Whether no rotation of the piece in play is possible."""
    clockwise, _ = turned(at.T_CLOCKWISE, p, tables, cols, st)
    counter, _ = turned(at.T_COUNTER, p, tables, cols, st)
    return not clockwise and not counter


def is_sealed(p, tables, cols, st):
    """Whether no shift and no rotation of the piece in play is possible."""
    turn, row, column = st[at.TURN], st[at.ROW], st[at.COLUMN]
    if not is_blocked(turn, row, column - 1, p, tables, cols, st) or not is_blocked(turn, row, column + 1, p, tables, cols, st):
        return False
    return is_walled_in(p, tables, cols, st)


def enter(p, tables, deal, rng, cols, st):
    """Bring the next piece into play and draw the one after it; game over where it overlaps a settled cell."""
    turn = st[at.NEXT_TURN]
    st[at.TURN] = turn
    if turn == at.NONE:
        st[at.PHASE] = at.EXHAUSTED
        return
    for index in range(at.MAX_CELLS):
        st[at.CELLS + index] = st[at.NEXT_CELLS + index]
    # Centred, left of the centre when uneven.
    st[at.COLUMN] = (p[at.P_WIDTH] - tables[turn + at.T_WIDTH]) >> 1
    st[at.ROW] = st[at.COUNTER] = st[at.STANDING] = st[at.MEMORY] = 0
    st[at.ROW_TIME] = p[at.P_RELAX]
    if st[at.ROW_TIME] == 0:
        st[at.ROW_TIME] = max(p[at.P_LEAST], p[at.P_FIRST] - p[at.P_STEP] * (st[at.LEVEL] - 1))
    if is_blocked(turn, 0, st[at.COLUMN], p, tables, cols, st):
        st[at.PHASE] = at.OVER
        return
    st[at.PHASE] = at.FALLING
    draw_piece(p, tables, deal, rng, st)


def lock(tick, tables, board, cols, st, work):
    """Settle the piece in play where it is, in the given tick; the settle machine takes over."""
    turn = st[at.TURN]
    row, column = st[at.ROW], st[at.COLUMN] + at.LEFT
    first = (row + at.TOP) * at.STRIDE + column
    cells = tables[turn + at.T_CELLS]
    for index in range(cells):
        offset = tables[word(turn + at.T_OFFSET + index)]
        board[word(first + offset)] = st[word(at.CELLS + index)]
        cols[word(column + (offset & at.STRIDE_MASK))] |= 1 << (row + (offset >> at.STRIDE_SHIFT))
        work[word(at.CHANGED + index)] = first + offset
    st[at.N_CHANGED] = cells
    st[at.FREE_ROWS] = min(st[at.FREE_ROWS], row)
    st[at.LOCK_TICK] = tick
    st[at.TURN] = at.NONE
    st[at.PHASE] = at.SETTLING
    st[at.STATE] = at.MARK
    st[at.PASSES] = st[at.GENERATIONS] = 0


def end_settle(p, tables, deal, rng, cols, st):
    """Count the settled piece; the next one enters at once, or later where bombs went off."""
    st[at.PIECES] += 1
    if p[at.P_RELAX] == 0 and st[at.PIECES] == st[at.NEXT_LEVEL]:
        st[at.LEVEL] += 1
        st[at.NEXT_LEVEL] += p[at.P_PIECES]
    st[at.BEST] = max(st[at.BEST], st[at.PASSES])
    st[at.ENTER_AT] = st[at.LOCK_TICK] + st[at.GENERATIONS] * p[at.P_GENERATION]
    st[at.PHASE] = at.WAITING
    if st[at.ENTER_AT] <= st[at.CLOCK]:
        enter(p, tables, deal, rng, cols, st)


KERNEL = (
    "count_special", "draw_listed", "allowed_special", "draw_seeded", "draw_piece", "is_blocked", "room_below", "turned",
    "is_walled_in", "is_sealed", "enter", "lock", "end_settle",
)  # fmt: skip
INLINE = (
    "draw_seeded", "draw_piece", "allowed_special", "is_blocked", "room_below", "turned", "is_sealed", "enter", "lock",
    "end_settle",
)  # fmt: skip
WORDS: tuple[str, ...] = ()
