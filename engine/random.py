"""SplitMix64, the only random number generator of the engines (rules/common, "Numbers").

Pure integers: an output is an unsigned 64-bit word, so seeds at the edges of 32, 53 and 63 bits deal differently.
"""

MASK64 = 0xFFFF_FFFF_FFFF_FFFF
GAMMA = 0x9E37_79B9_7F4A_7C15
MIX1 = 0xBF58_476D_1CE4_E5B9
MIX2 = 0x94D0_49BB_1331_11EB


class SplitMix64:
    """A stream of unsigned 64-bit words from an unsigned 64-bit seed.

    Raises ``ValueError`` when the seed does not fit into 64 bits: a seed that is silently reduced would deal another game.
    """

    __slots__ = ("state",)

    def __init__(self, rng_seed: int) -> None:
        if not 0 <= rng_seed <= MASK64:
            raise ValueError(f"rng_seed {rng_seed} is not an unsigned 64-bit integer")
        self.state = rng_seed

    def next(self) -> int:
        """The next word, 0 to 2**64 - 1."""
        self.state = (self.state + GAMMA) & MASK64
        word = self.state
        word = ((word ^ (word >> 30)) * MIX1) & MASK64
        word = ((word ^ (word >> 27)) * MIX2) & MASK64
        return word ^ (word >> 31)

    def below(self, bound: int) -> int:
        """A draw from 0 to ``bound - 1``; ``bound`` is below 2**32 (rules/common)."""
        return ((self.next() >> 32) * bound) >> 32
