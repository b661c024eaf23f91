"""Suspicions in words: a template and its numbers each, so that every language has the same ones.  None is an accusation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.i18n import N_

ALONE = N_("That alone stops no game from counting.")
Told = tuple[str, dict[str, int]]

MOVED_TIMES = N_(
    "Of {times} pauses for thought in it, {times_alike} are as long as in that game but for two sixtieths of a second."
)
CHOICES = N_("It holds {choices} choices or more in which something else could have been done.")
FAST_CHOICES = N_(
    "{choices} choices of where to move or turn a piece in {seconds} seconds of the game's own clock are faster than hands "
    "usually are."
)
EVEN_TIMES = N_(
    "Of {gaps} times between one input and another, {equal} are exactly {ticks} sixtieths of a second, which is more even than "
    "hands usually are."
)
EVEN_UNKNOWN = N_("The inputs follow one another more evenly than those of hands usually do.")
FAST_CLOCK = N_(
    "The game's own clock ran for {game_seconds} seconds, but only {seconds} seconds went by on the device; that can be a fault "
    "of the device or the app."
)
SLOW_CLOCK = N_(
    "The game's own clock ran for {game_seconds} seconds, and {seconds} seconds went by on the device, at the same ratio in "
    "{games} of the player's games; a slow device does that too."
)
ODD_CLOCK = N_("The game's own clock and the device's did not run at the same pace.")


def copied_details(numbers: Mapping[str, Any]) -> list[Told]:
    """What is said of a copied log after whose it was first; an old verdict has none of it."""
    out: list[Told] = []
    if "choices" in numbers:
        out.append((CHOICES, {"choices": numbers["choices"]}))
    if "times" in numbers:
        out.append((MOVED_TIMES, {"times": numbers["times"], "times_alike": numbers["times_alike"]}))
    return out


def fast_choices(numbers: Mapping[str, Any]) -> Told | None:
    """A pace by the game's own clock; None for a game without one."""
    if "ticks" not in numbers:
        return None
    return FAST_CHOICES, {"choices": numbers["choices"], "seconds": numbers["ticks"] // 60}


def even_times(numbers: Mapping[str, Any]) -> Told:
    """Inputs as even as a machine's."""
    return (EVEN_TIMES, {name: numbers[name] for name in ("gaps", "equal", "ticks")}) if numbers else (EVEN_UNKNOWN, {})


def odd_clock(numbers: Mapping[str, Any]) -> Told:
    """A game's clock that ran faster or slower than the device's."""
    if not numbers:
        return ODD_CLOCK, {}
    shown = {name: numbers[name] for name in ("game_seconds", "seconds", "games")}
    return (FAST_CLOCK if numbers["way"] == "fast" else SLOW_CLOCK), shown
