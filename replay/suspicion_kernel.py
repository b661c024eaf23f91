"""What a log with a clock says about the hands that played it, read in one pass over its bytes.

Plain Python for two runs, as ``engine.words`` describes: a single game runs it interpreted, a batch compiled.  Nothing is judged
here, and an illegal log is read like any other: what is neither a digit nor a small letter is passed over.
"""

from __future__ import annotations

from typing import Any

# Facts of a log, all in ticks or counts.
F_PLAYED = 0  # ticks up to the last input
F_TICKS = 1  # ticks of the whole log, the trailing time included
F_INPUTS = 2  # inputs
F_CHOICES = 3  # runs of one steering input: which way a piece was moved or turned, and how far
F_GAPS = 4  # times between two inputs of different letters, in different ticks
F_EVEN = 5  # how many of those times are the most frequent one
F_EVEN_TICKS = 6  # that one
F_THINKS = 7  # entries of ``thinks``
N_FACTS = 8

# Times that are told apart; longer ones are pauses for thought, and no sign of an even hand.
GAPS = 64
# Times before the first input after a hard drop that is no hard drop itself (a second one confirms, or drops all that is left):
# there people differ most.  Longer ones count as LONGEST.
THINKS, LONGEST = 32, 255
MOST_TICKS = 10**9

WORDS: tuple[str, ...] = ()
HARD_DROP = 104


def is_steering(byte: Any) -> Any:
    """Whether a letter, l r x z c, moves, turns or exchanges the piece: drops choose nothing but when."""
    return byte == 108 or byte == 114 or byte == 120 or byte == 122 or byte == 99


def read_timing(data: Any, pos: Any, end: Any, facts: Any, gaps: Any, thinks: Any, letters: Any) -> None:
    """Read ``data[pos:end]`` into ``facts`` (N_FACTS) and ``thinks`` (THINKS).

    ``letters`` gets the inputs without the times between them; ``gaps`` (GAPS) is room for counting.
    """
    for index in range(GAPS):
        gaps[index] = 0
    ticks = played = inputs = choices = looked = thought = 0
    before = HARD_DROP
    for at in range(pos, end):
        byte = int(data[at])
        if 48 <= byte <= 57:
            ticks = min(ticks * 10 + byte - 48, MOST_TICKS)
        elif 97 <= byte <= 122:
            if byte != before:
                choices += is_steering(byte)
                # The same letter again is a key that is held down, the same tick two keys at once: neither shows a rhythm.
                if inputs > 0 and ticks > 0:
                    looked += 1
                    if ticks < GAPS:
                        gaps[ticks] += 1
            if before == HARD_DROP and byte != HARD_DROP and thought < THINKS:
                thinks[thought] = min(ticks, LONGEST)
                thought += 1
            before = byte
            letters[inputs] = byte
            inputs += 1
            played += ticks
            ticks = 0
    even = most = 0
    for index in range(GAPS):
        if gaps[index] > most:
            even, most = index, gaps[index]
    facts[F_PLAYED] = played
    facts[F_TICKS] = played + ticks
    facts[F_INPUTS] = inputs
    facts[F_CHOICES] = choices
    facts[F_GAPS] = looked
    facts[F_EVEN] = most
    facts[F_EVEN_TICKS] = even
    facts[F_THINKS] = thought


KERNEL = ("is_steering", "read_timing")
INLINE = ("is_steering",)
