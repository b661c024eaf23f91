"""What reasons and faults say in English, said in the other languages.

Verdicts hold what was found as a short English text, so that they are the same for everybody.  Whoever reads another language is
told the same by the messages here, each of which is that text with placeholders: a text is recognised by the message that it
was made from.  What is not recognised (a text of an older version, or one for the operator) is left out rather than shown in a
language that the player did not ask for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from replay.harmless import visible
from replay.i18n import N_, Language

# Placeholders that hold numbers; the others hold names and texts.
_NUMBERS = {"count", "height", "most", "number", "points", "slot", "tick", "width", "least", "others"}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")

# Of a token that could not be played.  They follow "cannot be played: "; the engine's text has the token in place of "it".
DETAILS = (
    N_("it is no token of the notation"),
    N_("it names slot {slot}, a hand has slots 1 to 3"),
    N_("it puts {piece} at {place}, outside the {width} x {height} board"),
    N_("it puts {piece} at {place}, onto a cell that is already filled"),
    N_("it comes after the game was over: no piece in hand fitted anywhere"),
    N_("it comes after the game was over: a piece had no room to enter"),
    N_("it comes after the game was over"),
    N_("it needs more pieces than the challenge lists"),
    N_("it continues the game, and this mode has no continue"),
    N_("it continues the game, and its {number} continue(s) were used already"),
    N_("it continues the game, which was not over"),
    N_("it holds a second piece before one has locked"),
    N_("it passes the end of the game's clock: tick {tick} of at most {most}, and the game was still going on"),
    N_("it passes the end of the game's clock, {hours} hours"),
)
# Of a published game that today's rules judge otherwise, for who has the night run again.
TODAY = (
    N_("Today's rules and challenges give no reason against it: run the night of {day} again if they were mended."),
    N_("Today's rules and challenges give {codes}: run the night of {day} again if they were mended."),
)
LIMITS = (N_("at most {number} ({why})"), N_("at most {number}"), N_("at least {number}"))
WHYS = (
    N_("{number} placements x {most}"), N_("{number} piece can land"), N_("{number} pieces can land"),
    N_("drops bring {points}"), N_("{number} block can be destroyed"), N_("{number} blocks can be destroyed"),
    N_("{least} or more a pass"),
)  # fmt: skip
# Texts that are read for the names and numbers in them; the sentences about them stand in ``words``.
SOME_RULES = "known of {game}: {versions}"
DUPLICATE = "another log of this attempt was uploaded before, as game {game}"
OWN_CONFLICT = "{number} different games of one player were uploaded under this id, the first at {time}"
CONFLICT = "{number} different games of {others} players were uploaded under this id, the first at {time}"
DEAL = "the challenge lists only {number} pieces"
START, UPLOAD = "started_at from {opens} to before {closes}", "uploaded_at at most {last}"


@cache
def _pattern(message: str) -> re.Pattern[str]:
    parts = _PLACEHOLDER.split(message)
    made = [re.escape(part) if at % 2 == 0 else _group(part) for at, part in enumerate(parts)]
    return re.compile("".join(made), re.DOTALL)


def _group(name: str) -> str:
    return f"(?P<{name}>[0-9,]+)" if name in _NUMBERS else f"(?P<{name}>.+?)"


def read(text: str, message: str, language: Language) -> dict[str, object] | None:
    """The placeholders' values with which a message gives a text, as the language writes them; None when it never does."""
    match = _pattern(message).fullmatch(text)
    if match is None:
        return None
    return {name: _shown(name, value, language) for name, value in match.groupdict().items()}


def _shown(name: str, value: str, language: Language) -> str:
    if name in _NUMBERS:
        return language.plain(value)
    return language.decimal(value) if name == "hours" else clock(visible(value))


def said(text: str, messages: Iterable[str], language: Language) -> str | None:
    """A text in the language, None when it is none of the messages'."""
    for message in messages:
        values = read(text, message, language)
        if values is not None:
            return language.gettext(message, **values)
    return None


def detail(text: str, language: Language) -> str | None:
    """Why a token could not be played: an engine's text about its token, as a clause about "it"; None for any other text."""
    _, _, after = text.rpartition("' ") if "' " in text else text.rpartition('" ')
    return said(f"it {after}", DETAILS, language)


def limit(text: str, language: Language) -> str | None:
    """What a number can come to: ``at most 14,040 (2 placements x 7,020)``."""
    for message in LIMITS:
        values = read(text, message, language)
        if values is None:
            continue
        if "why" in values:
            # Cut at a comma and a space: numbers have commas of their own.
            parts = [said(part, WHYS, language) or "" for part in text.partition("(")[2].removesuffix(")").split(", ")]
            if "" in parts:
                return language.gettext(LIMITS[1], number=values["number"])
            values["why"] = ", ".join(parts)
        return language.gettext(message, **values)
    return None


def clock(text: str) -> str:
    """RFC 3339 times within a text as people write them."""
    return _TIME.sub(lambda found: found[0].replace(".000Z", "Z").replace("T", " ").replace("Z", " UTC"), text)


_TIME = re.compile(r"\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

__all__ = [
    "CONFLICT", "DEAL", "DETAILS", "DUPLICATE", "LIMITS", "OWN_CONFLICT", "SOME_RULES", "START", "TODAY", "UPLOAD",
    "WHYS", "clock", "detail", "limit", "read", "said",
]  # fmt: skip
