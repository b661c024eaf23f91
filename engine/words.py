"""What the kernels of all games share: status codes, white space, SplitMix64 and the hash of a log.

Written as a kernel is: nothing here imports anything, raises, or reads what it was not given.  A game's kernel imports what
it uses from here for the interpreted run; for the compiled run ``engine.compiled`` clones these functions into the kernel's
namespace and compiles them with it.
"""

# Codes of engine.outcome, as literals because a kernel imports nothing from outside the kernels; a test compares them.
END, APPLIED = 0, 1
BAD_TOKEN, NO_SUCH_SLOT, OUTSIDE_BOARD, OVERLAP, CONTINUE_NOT_ALLOWED, AFTER_END, DEAL_EXHAUSTED = -1, -2, -3, -4, -5, -6, -7
HOLD_TWICE, NO_SUCH_MODE = -8, -9
BOARD_EQUAL, BOARD_DIFFERS, BOARD_UNREADABLE = 0, 1, 2

# Unsigned 64-bit words; compiled, they and the shift counts must be typed or numba goes through float64.
WORDS = (
    "ZERO", "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S16", "S24", "S27", "S30", "S31", "S32", "S40", "S48", "S56", "S64",
    "MASK64", "GAMMA", "MIX1", "MIX2", "HASH_A", "HASH_B",
)  # fmt: skip
ZERO = 0
S1, S2, S3, S4, S5, S6, S7, S8 = 1, 2, 3, 4, 5, 6, 7, 8
S16, S24, S27, S30, S31, S32, S40, S48, S56, S64 = 16, 24, 27, 30, 31, 32, 40, 48, 56, 64
MASK64 = 0xFFFF_FFFF_FFFF_FFFF
GAMMA, MIX1, MIX2 = 0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB
HASH_A, HASH_B = 0x9FB2_1C65_1E98_DF25, 0xD6E8_FEB8_6659_FD93


def popcount(word):
    """The number of set bits; compiled runs use LLVM's ctpop."""
    return word.bit_count()


def word(value):
    """``value`` as an unsigned 64-bit word; compiled runs convert, plain ints are words already."""
    return value


def number(value):
    """``value`` as a signed 64-bit integer; compiled runs convert, plain ints are numbers already."""
    return value


def mixed(state):
    """The output of SplitMix64 that belongs to a state; the state grows by GAMMA before each output (rules/common)."""
    word = ((state ^ (state >> S30)) * MIX1) & MASK64
    word = ((word ^ (word >> S27)) * MIX2) & MASK64
    return word ^ (word >> S31)


def fill_deal(rng_seed, bound, deal, first, last):
    """Write pieces 0 to last - first - 1 of a seeded deal to ``deal[first:last]``, each drawn by below(bound)."""
    state = rng_seed
    for index in range(first, last):
        state = (state + GAMMA) & MASK64
        deal[index] = ((mixed(state) >> S32) * bound) >> S32


def is_space(byte):
    """ASCII white space: space, tab, line feed, vertical tab, form feed, carriage return."""
    return byte == 32 or (9 <= byte <= 13)


def hash_log(data, start, end, dense):
    """A 128-bit hash, as two words, of a log without its white space, which means nothing in a log.

    Not a cryptographic one: it finds equal logs, and nobody gains by making two logs of their own collide.  ``dense`` says
    that the log holds no white space; then eight bytes are taken at a time.  Both ways give the same hash.
    """
    low, high = HASH_A, HASH_B
    pos = start
    if dense:
        while pos + 8 <= end:
            p = word(pos)
            block = word(data[p]) | (word(data[p + S1]) << S8) | (word(data[p + S2]) << S16) | (word(data[p + S3]) << S24)
            block |= (word(data[p + S4]) << S32) | (word(data[p + S5]) << S40)
            block |= (word(data[p + S6]) << S48) | (word(data[p + S7]) << S56)
            low = ((low ^ block) * MIX1) & MASK64
            low ^= low >> S31
            high = ((high ^ block) * MIX2) & MASK64
            high ^= high >> S27
            pos += 8
    block = ZERO
    used = ZERO
    for index in range(pos, end):
        byte = data[index]
        if not is_space(byte):
            block |= word(byte) << used
            used += S8
            if used == S64:
                low = ((low ^ block) * MIX1) & MASK64
                low ^= low >> S31
                high = ((high ^ block) * MIX2) & MASK64
                high ^= high >> S27
                block = used = ZERO
    # The bytes left over, closed with their number so that a trailing zero byte is not lost.
    block |= (used + S1) << S56
    low = ((low ^ block) * MIX1) & MASK64
    high = ((high ^ block) * MIX2) & MASK64
    return low ^ (low >> S31), high ^ (high >> S27)


KERNEL = ("mixed", "fill_deal", "is_space", "hash_log")
INLINE = ("mixed", "is_space")
