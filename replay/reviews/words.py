"""Reviews in words: what speaks against a game, how its review stands, and what changed since somebody dismissed it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from replay.reviews.model import Decision, Review
from replay.words import visible

DONE = {"uphold": "upheld it", "clear": "cleared it", "note": "left a note", "undo": "took a decision back"}
_MISMATCHES = {
    "score_mismatch": "score", "combo_mismatch": "best combo", "board_mismatch": "final board", "level_mismatch": "level",
    "lines_mismatch": "cleared lines",
}  # fmt: skip
# A board or a token of a player may be as long as they like.
_LONGEST = 60


# A verdict as people who run the nights are told it; of what is held back the app version is suspected, and nobody accused.
_VERDICT_WORDS = {"withheld": "held back: the app version looks broken"}


def verdict_words(verdict: str) -> str:
    """A verdict in a few words."""
    return _VERDICT_WORDS.get(verdict, verdict)


def time_words(at: datetime) -> str:
    """A time as people read it: ``2026-10-31 14:05:07 UTC``."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _say(value: object) -> str:
    return f"{value:,}" if type(value) is int else visible(str(value), _LONGEST)


def _mismatch(fact: Mapping[str, Any]) -> str:
    return f"{_MISMATCHES[fact['reason']]} claimed {_say(fact['claimed'])}, replayed {_say(fact['found'])}"


def _illegal(fact: Mapping[str, Any]) -> str:
    at = "" if fact["move"] is None else f" {fact['move'] + 1:,}"
    token = "" if fact["claimed"] is None else f" ({_say(fact['claimed'])})"
    return f"illegal move{at}{token}: {_say(fact['found']).replace('_', ' ')}"


_REASON_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    **dict.fromkeys(_MISMATCHES, _mismatch),
    "illegal_move": _illegal,
    "impossible_score": lambda fact: f"{_say(fact['claimed'])} claimed, which is not possible with this many moves",
    "unknown_rules": lambda fact: f"rules {_say(fact['claimed'])} are not known here",
    "unknown_challenge": lambda fact: f"challenge {_say(fact['claimed'])} is not known here",
    "attempt_limit": lambda fact: f"uploaded as attempt {_say(fact['claimed'])}, beyond the number of attempts",
    "duplicate_attempt": lambda fact: f"attempt {_say(fact['claimed'])} was uploaded before with another log",
    "outside_challenge_day": lambda fact: f"started or uploaded outside the challenge's hours ({_say(fact['claimed'])})",
    "conflicting_upload": lambda fact: "the game id names different games",
    "truncated_log": lambda fact: f"the log lacks its last move (move {_say(fact['claimed'])} would give what was claimed)",
}  # fmt: skip
_SUSPICION_WORDS = {
    "copied_log": "suspicion: another player uploaded the same long log before",
    "superhuman_pace": "suspicion: played faster than people usually play",
    "machine_timing": "suspicion: inputs more even than those of hands",
    "clock_ratio": "suspicion: the game's clock and the device's do not agree",
    "unfinished": "suspicion: the game was not over when it was uploaded",
}


def fact_words(fact: str) -> str:
    """What speaks against a game, in a few words: ``score claimed 900, replayed 640``.

    ``fact`` is one of ``model.facts_of``; a code that has no words yet is named.
    """
    found = json.loads(fact)
    if "suspicion" in found:
        sign = str(found["suspicion"])
        return _SUSPICION_WORDS.get(sign) or f"suspicion: {_say(sign).replace('_', ' ')}"
    code = str(found["reason"])
    if code in _REASON_WORDS:
        return _REASON_WORDS[code](found)
    return f"{_say(code).replace('_', ' ')}: {_say(found['claimed'])} claimed"


def fact_lines(facts: Sequence[str], decision: Decision | None = None) -> list[str]:
    """What speaks against a game now, and what changed since ``decision``: ``… (new)``, and ``… (no longer)`` behind them."""
    before = facts if decision is None else decision.facts
    lines = [fact_words(fact) + ("" if fact in before else " (new)") for fact in facts]
    return lines + [f"{fact_words(fact)} (no longer)" for fact in before if fact not in facts]


def state_words(review: Review) -> str:
    """How a review stands, in one sentence without a full stop: who decided what, when and why, and what came after it."""
    found = review.decision
    if found is None:
        return "open: nobody has decided about it"
    by = f"by {visible(found.reviewer)} at {time_words(found.at)} (decision {found.id}: {visible(found.reason, 200)})"
    new = "; ".join(f"{fact_words(fact)} (new)" for fact in review.new_facts)
    if review.state == "returned":
        return f"returned: cleared {by}, but since then {new}"
    return f"{review.state} {by}" + (f"; since then {new}" if new else "")


def decision_words(decision: Decision, undone: Collection[int] = (), game_id: str | None = None) -> str:
    """One line of a game's history: when, who, what, and why.

    ``undone`` are the ids of decisions that were undone; one on an upload under another id than ``game_id`` is told as such.
    """
    what = f"undid decision {decision.undoes}" if decision.undoes is not None else DONE[decision.action]
    gone = ", undone since" if decision.id in undone else ""
    if game_id not in (None, decision.game_id):
        gone = f", on upload {visible(decision.game_id)}{gone}"
    return f"{decision.id}  {time_words(decision.at)}  {visible(decision.reviewer)} {what}{gone}: {visible(decision.reason, 200)}"
