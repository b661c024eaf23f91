"""The draw's order as plain integers: SplitMix64's output function, once for the seed with each word in turn."""

from __future__ import annotations


def slow_rank(seed: int, *words: int) -> int:
    """The rank of a game with these words (log hash low and high, hash of the id) in the draw of a seed."""
    for word in words:
        seed ^= word
        seed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        seed = (seed ^ seed >> 27) * 0x94D049BB133111EB % 2**64
        seed ^= seed >> 31
    return seed
