"""What rows of every game say: moves by their number, faults, points, time."""

from __future__ import annotations

from engine.outcome import Fault
from replay.found_words import detail
from replay.harmless import visible
from replay.i18n import Language

TICKS_A_SECOND = 60


def start_words(language: Language) -> tuple[str, str]:
    """(title, caption) of the state before the first move."""
    return language.gettext("Start of the game"), language.gettext("The game before its first move.")


def title(number: int, token: str, language: Language) -> str:
    """A move over its board."""
    return language.gettext("Move {number}   {token}", number=number, token=token)


def when(number: int, token: str, by_input: bool, language: Language) -> tuple[str, str]:
    """(title, beginning of a caption) of what an input does, or of what happens while the next one is waited for."""
    shown = {"number": number, "token": token}
    if by_input:
        return title(number, token, language), language.gettext("Move {number} ({token})", **shown)
    if token[-1:].isdigit():
        begin = language.gettext("In the time after the last move ({token})", token=token)
        return language.gettext("After the last move   {token}", token=token), begin
    begin = language.gettext("Before move {number} ({token})", **shown)
    return language.gettext("Before move {number}   {token}", **shown), begin


def why_not(fault: Fault, language: Language) -> str:
    """Why a token could not be played, after "cannot be played: "."""
    if language.is_english:
        return visible(fault.text, 160)
    return detail(fault.text, language) or language.gettext("the rules do not allow it here")


def fault_words(number: int, token: str, why: str, score: int, language: Language) -> tuple[str, str]:
    """(caption, detail) of a token that could not be played."""
    caption = language.gettext(
        "Move {number} ({token}) cannot be played: {why}. The score before it is {score}.", number=number, token=token, why=why,
        score=score,
    )  # fmt: skip
    return caption, language.gettext("cannot be played: {why}", why=why)


def brings(points: int, score: int, language: Language) -> str:
    """What a move or a pass earned, as a sentence."""
    return language.ngettext(
        "It brings {count} point, the score is {score}.", "It brings {count} points, the score is {score}.", points, score=score
    )


def gain(points: int, score: int, language: Language) -> str:
    """The same as a line beside a board."""
    return language.gettext("+{gain}   score {score}", gain=points, score=score)


def seconds(tick: int, language: Language) -> str:
    """A time of the game's clock."""
    shown = f"{tick // TICKS_A_SECOND:,}.{tick % TICKS_A_SECOND * 10 // TICKS_A_SECOND}"
    return language.gettext("{seconds} s", seconds=language.decimal(shown))


def none(language: Language) -> str:
    """Where there is no piece."""
    return language.gettext("none")


__all__ = ["brings", "fault_words", "gain", "none", "seconds", "start_words", "title", "when", "why_not"]
