"""The settle of a locked piece, as a machine of five states; part of the kernel (see ``engine.tetcolor.kernel``).

    MARK      the ordinary set: runs, full rows.  Empty: DONE.  Else STRIKE.
    STRIKE    generation 0: the set is struck and scored.  Bombs or Activators among what it destroyed: DETONATE.  Else COLLAPSE.
    DETONATE  one more generation: all that those reach is struck.  Bombs or Activators among it: DETONATE.  Else COLLAPSE.
    COLLAPSE  segments fall.  The pass destroyed something: the multiplier doubles, MARK.  It only thawed: MARK.  Neither: DONE.

It ends: a pass that is followed by another one destroyed a block or took an ice away, and nothing brings either back; a
DETONATE that is followed by another one destroyed a bomb or an Activator.  With b blocks, i of them under ice, there are at most
b + i + 1 passes, and with s bombs and Activators at most s generations in the whole settle.

What stands after one state is all in ``st`` and ``work``, so that one game can be stepped state by state.
"""

from engine.tetcolor import layout as at
from engine.words import popcount, word


def lowest(mask):
    """The index of the lowest set bit of a mask that is not zero."""
    return int(popcount(word(~mask & (mask - 1))))


def full_rows(p, cols):
    """A mask of the rows without an empty cell."""
    full = (1 << p[at.P_HEIGHT]) - 1
    for column in range(at.LEFT, at.LEFT + p[at.P_WIDTH]):
        full &= cols[column]
    return full


def take(place, board, st, work):
    """Put the block of a place, if there is one, into the set that is struck; a block that is in it already counts once."""
    cell = board[place]
    if cell & at.COLOUR and not cell & at.STRUCK_MARK:
        board[place] = cell | at.STRUCK_MARK
        work[at.STRUCK + st[at.N_STRUCK]] = place
        st[at.N_STRUCK] += 1


def three_in_line(place, step, board):
    """1 when a place is part of three of one colour in one direction, else 0; without a branch that would be guessed wrong."""
    colour = board[word(place)] & at.COLOUR
    far_back, back = board[word(place - 2 * step)] & at.COLOUR, board[word(place - step)] & at.COLOUR
    ahead, far_ahead = board[word(place + step)] & at.COLOUR, board[word(place + 2 * step)] & at.COLOUR
    return (
        ((back == colour) & (far_back == colour)) | ((back == colour) & (ahead == colour))
        | ((ahead == colour) & (far_ahead == colour))
    )  # fmt: skip


def mark_line(place, step, run, board, st, work):
    """Take the run of one colour through a place in one direction, if it is long enough."""
    colour = board[place] & at.COLOUR
    length = 1
    first = place
    while board[first - step] & at.COLOUR == colour:
        first -= step
        length += 1
    last = place
    while board[last + step] & at.COLOUR == colour:
        last += step
        length += 1
    if length >= run:
        for index in range(length):
            take(first + index * step, board, st, work)


def mark_runs(place, run, board, st, work):
    """Take the runs through a place in all four directions.

    A run has three or more in line (the rules file is held to that), so that is looked for first, in all directions at once.
    """
    across, falling = three_in_line(place, 1, board), three_in_line(place, at.STRIDE + 1, board)
    down, rising = three_in_line(place, at.STRIDE, board), three_in_line(place, at.STRIDE - 1, board)
    if across | falling | down | rising:
        if across:
            mark_line(place, 1, run, board, st, work)
        if falling:
            mark_line(place, at.STRIDE + 1, run, board, st, work)
        if down:
            mark_line(place, at.STRIDE, run, board, st, work)
        if rising:
            mark_line(place, at.STRIDE - 1, run, board, st, work)


def mark(p, board, cols, st, work):
    """State MARK: the ordinary set of the board as it is; returns how many blocks are in it.

    A run that no changed block is part of was there in the pass before, and what of it was no stone is gone or thawed, which
    is a change.  So runs are looked for at changed blocks only, but everywhere once stones were part of a set.
    """
    st[at.N_STRUCK] = 0
    st[at.GAIN] = 0
    if p[at.P_RUNS]:
        if st[at.EVERYWHERE]:
            for column in range(at.LEFT, at.LEFT + p[at.P_WIDTH]):
                for row in range(p[at.P_HEIGHT]):
                    if cols[column] >> row & 1:
                        mark_runs((row + at.TOP) * at.STRIDE + column, p[at.P_RUN], board, st, work)
        else:
            for index in range(st[at.N_CHANGED]):
                mark_runs(work[word(at.CHANGED + index)], p[at.P_RUN], board, st, work)
    rows = full_rows(p, cols) if p[at.P_ROWS] else 0
    st[at.FULL] = rows
    while rows:
        first = (lowest(rows) + at.TOP) * at.STRIDE + at.LEFT
        rows &= rows - 1
        for place in range(first, first + p[at.P_WIDTH]):
            take(place, board, st, work)
    if st[at.N_STRUCK] == 0:
        st[at.EVERYWHERE] = 0
    return st[at.N_STRUCK]


def thaw(place, cell, board, st, work):
    """Take the ice off a block, which stays where it is until the resolution ends."""
    board[place] = cell ^ at.ICE
    work[at.THAW + (place & at.STRIDE_MASK)] |= 1 << (place >> at.STRIDE_SHIFT) - at.TOP
    st[at.THAWED] += 1
    st[at.ICES] -= 1


def destroy(place, cell, board, cols, st, work):
    """Take a block off the board; a bomb or Activator goes off in the next generation."""
    column, bit = place & at.STRIDE_MASK, 1 << (place >> at.STRIDE_SHIFT) - at.TOP
    board[place] = 0
    cols[column] ^= bit
    work[at.GONE + column] |= bit
    # Thawed by an earlier generation of this pass, it is no anchor any more.
    work[at.THAW + column] &= ~bit
    st[at.DESTROYED] += 1
    special = cell >> at.SPECIAL_SHIFT & 7
    if special == at.STONE:
        st[at.STONES] -= 1
    elif special:
        work[at.BLAST + st[at.N_BLASTS]] = place
        work[at.BLAST_CELL + st[at.N_BLASTS]] = cell
        st[at.N_BLASTS] += 1
        if special == at.ACTIVATOR:
            st[at.ACTIVATORS] -= 1
        else:
            st[at.BOMBS] -= 1


def hit_struck(by_bomb, board, cols, st, work):
    """Strike what was taken: ice is removed, a stone stays unless bombs hit it, any other block is destroyed.

    Returns (blocks destroyed, mask of their rows).
    """
    st[at.N_BLASTS] = 0
    destroyed = rows = 0
    for index in range(st[at.N_STRUCK]):
        place = work[at.STRUCK + index]
        cell = board[place] ^ at.STRUCK_MARK
        work[at.STRUCK_CELL + index] = cell
        if cell & at.ICE:
            thaw(place, cell, board, st, work)
            work[at.STRUCK_END + index] = at.THAWED_END
        elif cell >> at.SPECIAL_SHIFT & 7 == at.STONE and not by_bomb:
            board[place] = cell
            st[at.EVERYWHERE] = 1
            work[at.STRUCK_END + index] = at.KEPT_END
        else:
            destroy(place, cell, board, cols, st, work)
            work[at.STRUCK_END + index] = at.DESTROYED_END
            destroyed += 1
            rows |= 1 << (place >> at.STRIDE_SHIFT) - at.TOP
    return destroyed, rows


def strike(p, board, cols, st, work):
    """State STRIKE: the ordinary set is struck; only what is really destroyed scores.  Returns the next state."""
    for column in range(at.N_COLS):
        work[at.GONE + column] = work[at.THAW + column] = 0
    st[at.DESTROYED] = st[at.THAWED] = 0
    destroyed, rows = hit_struck(False, board, cols, st, work)
    if p[at.P_BY_ROWS]:
        # Retris: the multiplier is shown, and multiplies nothing.
        award = at.P_AWARD - 1
        while rows:
            rows &= rows - 1
            award = min(award + 1, at.P_AWARD + 3)
        st[at.MULTIPLIER] = 1
        st[at.GAIN] = p[award] if award >= at.P_AWARD else 0
    else:
        st[at.MULTIPLIER] = 1 << min(st[at.PASSES], p[at.P_DOUBLINGS])
        st[at.GAIN] = destroyed * (destroyed + 1) // 2 * st[at.MULTIPLIER]
    st[at.SCORE] += st[at.GAIN]
    return at.DETONATE if st[at.N_BLASTS] else at.COLLAPSE


def take_all(colour, bombs, p, board, cols, st, work):
    """Take every block of a colour (0: none), and every bomb if ``bombs``."""
    for column in range(at.LEFT, at.LEFT + p[at.P_WIDTH]):
        rows = cols[column] & ((1 << p[at.P_HEIGHT]) - 1)
        while rows:
            place = (lowest(rows) + at.TOP) * at.STRIDE + column
            rows &= rows - 1
            special = board[place] >> at.SPECIAL_SHIFT & 7
            if board[place] & at.COLOUR == colour or (bombs and at.NORMAL <= special <= at.MEGA):
                take(place, board, st, work)


def reach(place, cell, p, board, cols, st, work):
    """Take what a bomb that went off at a place reaches on the board as it is now."""
    special = cell >> at.SPECIAL_SHIFT & 7
    if special in (at.NORMAL, at.MEGA):
        for row in (place - at.STRIDE, place, place + at.STRIDE):
            for near in range(row - 1, row + 2):
                take(near, board, st, work)
    if special in (at.HORIZONTAL, at.MEGA):
        first = place - (place & at.STRIDE_MASK) + at.LEFT
        for other in range(first, first + p[at.P_WIDTH]):
            take(other, board, st, work)
    if special in (at.VERTICAL, at.MEGA):
        for row in range(p[at.P_HEIGHT]):
            take((row + at.TOP) * at.STRIDE + (place & at.STRIDE_MASK), board, st, work)
    if special in (at.LIGHTNING, at.MEGA):
        take_all(cell & at.COLOUR, False, p, board, cols, st, work)


def detonate(p, board, cols, st, work):
    """State DETONATE: the bombs of the last generation strike what they reach, each block once.  Returns the next state.

    Several Activators are one trigger of every bomb on the board, those under ice included.
    """
    st[at.N_STRUCK] = 0
    trigger = False
    for index in range(st[at.N_BLASTS]):
        cell = work[at.BLAST_CELL + index]
        if cell >> at.SPECIAL_SHIFT & 7 == at.ACTIVATOR:
            trigger = True
        else:
            reach(work[at.BLAST + index], cell, p, board, cols, st, work)
    if trigger:
        take_all(0, True, p, board, cols, st, work)
    destroyed, _ = hit_struck(True, board, cols, st, work)
    st[at.GENERATIONS] += 1
    st[at.MULTIPLIER] = 1
    st[at.GAIN] = destroyed * p[at.P_BOMB]
    st[at.SCORE] += st[at.GAIN]
    return at.DETONATE if st[at.N_BLASTS] else at.COLLAPSE


def is_anchor(column, row, board, work):
    """Whether a block stands still in this collapse and cuts its column: a stone, or thawed in this pass."""
    cell = board[(row + at.TOP) * at.STRIDE + column]
    return cell >> at.SPECIAL_SHIFT & 7 == at.STONE or work[at.THAW + column] >> row & 1 == 1


def fall_in_column(column, p, board, cols, st, work):
    """Let the segments of one column fall, to their bottom or (``P_SHIFT``) by what was destroyed below in the segment."""
    occupied, gone = cols[column], work[at.GONE + column]
    # Nothing moves below the lowest gap.
    bottom, down = p[at.P_HEIGHT] - 1, 0
    while occupied >> bottom & 1:
        bottom -= 1
    for row in range(bottom, lowest(occupied) - 1, -1):
        if not occupied >> row & 1:
            down += gone >> row & 1
            continue
        if is_anchor(column, row, board, work):
            bottom, down = row - 1, 0
            continue
        target = row + down if p[at.P_SHIFT] else bottom
        bottom -= 1
        if target != row:
            place = (row + at.TOP) * at.STRIDE + column
            lower = (target + at.TOP) * at.STRIDE + column
            board[lower] = board[place]
            board[place] = 0
            cols[column] ^= 1 << row | 1 << target
            work[at.CHANGED + st[at.N_CHANGED]] = lower
            st[at.N_CHANGED] += 1


def pack_column(column, p, board, cols, st, work):
    """``fall_in_column`` for a column without anchors: every block falls to the bottom.

    No branch on what a cell holds, in no pattern that a processor could learn: each cell is written to the lowest free row, and
    stays there if it is a block.
    """
    occupied = cols[column]
    bottom, top = p[at.P_HEIGHT] - 1, lowest(occupied)
    while occupied >> bottom & 1:
        bottom -= 1
    first = at.TOP * at.STRIDE + column
    changed = st[at.N_CHANGED]
    for row in range(bottom, top - 1, -1):
        cell = board[word(first + row * at.STRIDE)]
        target = first + bottom * at.STRIDE
        board[word(target)] = cell
        work[word(at.CHANGED + changed)] = target
        changed += cell != 0
        bottom -= cell != 0
    for row in range(top, bottom + 1):
        board[word(first + row * at.STRIDE)] = 0
    st[at.N_CHANGED] = changed
    cols[column] = at.ONES ^ ((1 << bottom + 1) - 1)


def collapse(p, board, cols, st, work):
    """State COLLAPSE: every column falls segment by segment; the pass is over.  Returns the next state."""
    st[at.N_CHANGED] = 0
    st[at.N_STRUCK] = 0
    st[at.GAIN] = 0
    floor = 1 << p[at.P_HEIGHT]
    filled = floor
    anchors = p[at.P_SHIFT] or st[at.STONES]
    for column in range(at.LEFT, at.LEFT + p[at.P_WIDTH]):
        thawed = work[at.THAW + column]
        while thawed:
            work[at.CHANGED + st[at.N_CHANGED]] = (lowest(thawed) + at.TOP) * at.STRIDE + column
            st[at.N_CHANGED] += 1
            thawed &= thawed - 1
        occupied = cols[column] & (floor - 1)
        # A column without a gap: its top block's bit added carries through to the floor.
        if occupied and occupied + (occupied & -occupied) != floor:
            if anchors or work[at.THAW + column]:
                fall_in_column(column, p, board, cols, st, work)
            else:
                pack_column(column, p, board, cols, st, work)
        filled |= cols[column]
    st[at.FREE_ROWS] = lowest(filled)
    if st[at.DESTROYED]:
        st[at.PASSES] += 1
        return at.MARK
    return at.MARK if st[at.THAWED] else at.DONE


def settle_step(p, board, cols, st, work):
    """Do what the state says and go on to the next one."""
    state = st[at.STATE]
    if state == at.MARK:
        st[at.STATE] = at.STRIKE if mark(p, board, cols, st, work) else at.DONE
    elif state == at.STRIKE:
        st[at.STATE] = strike(p, board, cols, st, work)
    elif state == at.DETONATE:
        st[at.STATE] = detonate(p, board, cols, st, work)
    else:
        st[at.STATE] = collapse(p, board, cols, st, work)


KERNEL = (
    "lowest", "full_rows", "take", "three_in_line", "mark_line", "mark_runs", "mark", "thaw", "destroy", "hit_struck", "strike",
    "take_all", "reach", "detonate", "is_anchor", "fall_in_column", "pack_column", "collapse", "settle_step",
)  # fmt: skip
INLINE = (
    "lowest", "full_rows", "take", "three_in_line", "mark_runs", "mark", "hit_struck", "pack_column", "thaw", "destroy",
    "is_anchor", "strike", "collapse", "settle_step",
)  # fmt: skip
WORDS: tuple[str, ...] = ()
