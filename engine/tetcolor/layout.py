"""Where everything of a game lies: the kernel's arrays by index.  Nothing here imports anything.

A game is four arrays: ``board`` (a number a cell), ``cols`` (a mask a column, bit r is row r from the top), ``st`` (scalars) and
``work`` (lists of one settle), and ``rng``, one unsigned word.  ``p`` are the rules of the game's mode as numbers, ``tables`` the
pieces.  All are int64 compiled and plain lists interpreted.
"""

# A cell: colour 1-5 in three bits, special in three, ice, and a mark that only lasts for a generation.  0 is empty.
COLOUR, ICE, STRUCK_MARK = 7, 64, 128
SPECIAL_SHIFT = 3
NORMAL, HORIZONTAL, VERTICAL, LIGHTNING, MEGA, ACTIVATOR, STONE = 1, 2, 3, 4, 5, 6, 7

# ``board[(row + TOP) * STRIDE + column + LEFT]``, two empty cells around; ``cols[column + LEFT]``, walls and floor being ones.  A
# piece is at most five cells wide and is tried at most one column off the board.
STRIDE, LEFT, TOP = 16, 2, 2
STRIDE_MASK, STRIDE_SHIFT = 15, 4
MAX_WIDTH, MAX_HEIGHT, MAX_CELLS = 12, 24, 5
N_BOARD = (MAX_HEIGHT + 4) * STRIDE
N_COLS = 20
ONES = (1 << 31) - 1

# Rules of a mode.
P_WIDTH, P_HEIGHT, P_RUNS, P_ROWS, P_BY_ROWS, P_SHIFT = 0, 1, 2, 3, 4, 5
P_ARCADE, P_HANDICAP, P_RELAX, P_POOL, P_SMALL, P_LARGE, P_LARGE_FROM = 6, 7, 8, 9, 10, 11, 12
P_LANDING, P_GENERATION, P_LONGEST, P_PIECES, P_FIRST, P_STEP, P_LEAST = 13, 14, 15, 16, 17, 18, 19
P_RUN, P_BOMB, P_DOUBLINGS, P_COLOURS, P_HANDICAP_ROWS, P_FILLED = 20, 21, 22, 23, 24, 25
# Bounds of the draw by special 1 to 7, each adding to the one before; then ice; then capacities; then four row awards.
P_DRAW = 26
P_DRAW_ICE = 33
P_BOMBS, P_ACTIVATORS, P_STONES, P_ICES = 34, 35, 36, 37
P_AWARD = 38
N_PARAMS = 42

# A turn of a piece in ``tables``, at the index that stands for it: cells, width, next turn clockwise and counter-clockwise, then
# offsets of the cells on the board (in the order of the upright piece's cells, the last repeated), then a mask a column.
T_CELLS, T_WIDTH, T_CLOCKWISE, T_COUNTER, T_OFFSET, T_MASK = 0, 1, 2, 3, 4, 9
TURN_SIZE = 16
NONE = -1

# What the game is doing.
FALLING, WAITING, SETTLING, OVER, EXHAUSTED = 0, 1, 2, 3, 4
# States of the settle machine, see engine.tetcolor.settle.
MARK, STRIKE, DETONATE, COLLAPSE, DONE = 0, 1, 2, 3, 4

# The game's scalars.
PHASE, CLOCK, TICKS, LETTER, PAST_LIMIT = 0, 1, 2, 3, 4
MOVES, SCORE, BEST, LEVEL, PIECES = 5, 6, 7, 8, 9
TURN, ROW, COLUMN, COUNTER, STANDING, MEMORY, ROW_TIME = 10, 11, 12, 13, 14, 15, 16
LOCK_TICK, ENTER_AT, DRAWN, LISTED, NEXT_TURN = 17, 18, 19, 20, 21
CELLS = 22
NEXT_CELLS = 27
BOMBS, ACTIVATORS, STONES, ICES = 32, 33, 34, 35
# Of the settle: state, successful passes, generations, sizes of the lists, whether runs are looked for everywhere, what the pass
# destroyed and thawed, full rows of its set as a mask, points of the last state and the multiplier they were paid with.
STATE, PASSES, GENERATIONS, N_CHANGED, N_STRUCK, N_BLASTS, EVERYWHERE = 36, 37, 38, 39, 40, 41, 42
DESTROYED, THAWED, FULL, GAIN, MULTIPLIER = 43, 44, 45, 46, 47
# Empty rows at the top of the board, and the number of settled pieces that brings the next level.
FREE_ROWS, NEXT_LEVEL = 48, 49
N_STATE = 50

# Lists of one settle: places whose blocks are new there or thawed; places struck in this generation, what stood there and what
# became of it; bombs and Activators that the generation destroyed; by column, rows destroyed and thawed in this pass.
LIST = MAX_WIDTH * MAX_HEIGHT
CHANGED, STRUCK, STRUCK_CELL, STRUCK_END, BLAST, BLAST_CELL = 0, LIST, 2 * LIST, 3 * LIST, 4 * LIST, 5 * LIST
GONE, THAW = 6 * LIST, 6 * LIST + N_COLS
N_WORK = 6 * LIST + 2 * N_COLS
KEPT_END, THAWED_END, DESTROYED_END = 0, 1, 2

# A copy of a game before its clock passes the limit: scalars, columns, board.
N_SAVED = N_STATE + N_COLS + N_BOARD

# A listed piece as one number: its turn's index, then seven bits a cell.
PIECE_SHIFT, CELL_SHIFT, CELL_MASK = 16, 7, 127

KERNEL: tuple[str, ...] = ()
INLINE: tuple[str, ...] = ()
WORDS: tuple[str, ...] = ()
