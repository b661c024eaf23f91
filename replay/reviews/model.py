"""What people decide about games, and what follows from it: pure functions over decisions and verdict rows.

A decision is appended and never changed; undoing one is another decision.  It belongs to a ``subject``, the very upload that was
looked at, and keeps the facts that spoke against the upload then.  A night that verifies the game again finds the decision again,
whatever file the upload lies in by then; a dismissal stands until a fact speaks against the upload that did not then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol

ACTIONS = ("uphold", "clear", "note", "undo")
STATES = ("open", "upheld", "cleared", "returned")
# A game that a person cleared counts with what was claimed.  Beyond this no sum of games could be trusted to fit 64 bits, and one
# mistaken click must not stop every later night.
LARGEST_CLEARED_SCORE = 10**12


@dataclass(frozen=True)
class Decision:
    """One decision as it was recorded.

    ``facts`` are what spoke against the game at that time (``facts_of``); ``previous`` is the id of the decision on the same
    subject before this one (0: the first), ``undoes`` of the one that an ``undo`` takes back; ``day`` is the day on which the
    upload had landed; decisions that were taken together share a ``batch``, the first one's id.  ``at`` is UTC.
    """

    id: int
    subject: str
    action: str
    reason: str
    reviewer: str
    at: datetime
    facts: tuple[str, ...]
    game: str
    game_id: str
    challenge: str
    day: date
    previous: int = 0
    undoes: int | None = None
    batch: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The decision for machines: all fields, the facts as objects, times as RFC 3339."""
        return {
            "id": self.id, "action": self.action, "undoes": self.undoes, "reviewer": self.reviewer, "reason": self.reason,
            "at": self.at.isoformat().replace("+00:00", "Z"), "game": self.game, "game_id": self.game_id,
            "challenge": self.challenge, "day": self.day.isoformat(), "facts": [json.loads(fact) for fact in self.facts],
            "subject": self.subject, "previous": self.previous, "batch": self.batch,
        }  # fmt: skip


@dataclass(frozen=True)
class Review:
    """How decisions stand against what speaks against a game now.

    ``state``: ``open`` (nobody decided, or it was undone), ``upheld``, ``cleared``, or ``returned``: cleared, but ``new_facts``
    speak against it now that did not then.  ``decision`` is the one that stands.
    """

    state: str
    decision: Decision | None = None
    new_facts: tuple[str, ...] = ()

    @property
    def lifts_reasons(self) -> bool:
        """Whether a clearing covers every reason that the game is flagged for now; a new suspicion takes no score away."""
        return self.state in ("cleared", "returned") and not any(is_reason(fact) for fact in self.new_facts)


OPEN = Review("open")


def subject_of(row: Mapping[str, Any]) -> str:
    """The key of an upload, from its verdict row: its game id and all that makes two uploads one game, or two.

    Two uploads under one id, of two players or with two claims for the same log, are two subjects: a decision about a wrong claim
    must not touch the right one.  The same upload again, a retry or a file that landed twice, is the same subject.  A player's id
    goes into a hash only: it may have to give way to another one (see ``replay.anonymise``).  ``sql/subject.sql`` is the same in
    SQL.
    """
    numbers = ("attempt", "log_hash_high", "log_hash_low", "score", "best_combo", "level", "lines")
    texts = ("game", "challenge", "game_id", "player_id", "mode", "rules", "final_board")
    # Lengths in front: no choice of ids makes two uploads one subject.  Old verdict files know of no level and no lines.
    parts = ["-" if row.get(name) is None else str(int(row[name])) for name in numbers]
    parts += [f"{len(str(row[name]).encode('utf-8'))}:{row[name]}" for name in texts]
    return hashlib.sha256(" ".join(parts).encode("utf-8")).hexdigest()


def facts_of(reasons: Iterable[Mapping[str, Any]], suspicions: Iterable[str]) -> tuple[str, ...]:
    """What speaks against a game, each fact as JSON with sorted keys, in a fixed order.

    A fact says what was claimed and what was found, not in which words and not how early the difference was noticed: an engine
    that explains the same fault better has found nothing new.  Of relations to other uploads only their kind is a fact: what
    somebody else sends afterwards must not bring a dismissed game back.
    """
    facts = []
    for reason in reasons:
        code = str(reason["code"])
        fact: dict[str, Any] = {"reason": code, "claimed": reason["claimed"]}
        if code.endswith("_mismatch"):
            fact["found"] = reason["found"]
        elif code == "illegal_move":
            fact |= {"found": str(reason["found"]).partition(":")[0], "move": reason["move"]}
        facts.append(fact)
    facts += [{"suspicion": str(sign)} for sign in suspicions]
    return tuple(sorted({json.dumps(fact, sort_keys=True, ensure_ascii=False) for fact in facts}))


def is_reason(fact: str) -> bool:
    """Whether a fact is a reason for a flag, and no mere suspicion."""
    return "reason" in json.loads(fact)


class Numbered(Protocol):
    """What can be undone: a decision or a release."""

    @property
    def id(self) -> int: ...

    @property
    def undoes(self) -> int | None: ...


def undone_ids(decisions: Iterable[Numbered]) -> set[int]:
    """The ids of the decisions that are undone; an undo that was undone itself undoes nothing."""
    undone: set[int] = set()
    # The newest first: only what comes later can undo an undo.
    for decision in sorted(decisions, key=lambda decision: decision.id, reverse=True):
        if decision.undoes is not None and decision.id not in undone:
            undone.add(decision.undoes)
    return undone


def standing_decision(decisions: Sequence[Decision]) -> Decision | None:
    """The decision that stands among those on one subject: the newest uphold or clear that is not undone."""
    undone = undone_ids(decisions)
    standing = [d for d in decisions if d.action in ("uphold", "clear") and d.id not in undone]
    return max(standing, key=lambda decision: decision.id, default=None)


def waiting(decisions: Iterable[Decision], through: int) -> int:
    """How many subjects another decision stands on than standings know that took the decisions up to the id ``through``."""
    by_subject: dict[str, list[Decision]] = {}
    for decision in decisions:
        by_subject.setdefault(decision.subject, []).append(decision)
    then = {subject: standing_decision([d for d in found if d.id <= through]) for subject, found in by_subject.items()}
    return sum(then[subject] != standing_decision(found) for subject, found in by_subject.items())


def review_of(decisions: Sequence[Decision], facts: Sequence[str]) -> Review:
    """How the decisions on one subject (all of them, in any order) stand against the facts of now."""
    decision = standing_decision(decisions)
    if decision is None:
        return OPEN
    new = tuple(fact for fact in facts if fact not in decision.facts)
    if decision.action == "uphold":
        return Review("upheld", decision, new)
    return Review("returned" if new else "cleared", decision, new)


def why_not_counted(row: Mapping[str, Any]) -> str | None:
    """Why a game would not count even when it is cleared, as half a sentence; None when it would."""
    if row["verdict"] == "copy":
        return "it is a copy of another upload, which counts in its place"
    if row["attempt_key"] % 2 != 1:
        return "it was not played in its challenge's own mode and rules, or its challenge is none of a day"
    if not 0 <= row["score"] <= LARGEST_CLEARED_SCORE:
        return f"no score below 0 or above {LARGEST_CLEARED_SCORE:,} is ever counted"
    return None


def counts(row: Mapping[str, Any], review: Review) -> bool:
    """Whether standings use the game: what the night found, unless a person decided otherwise.

    ``row`` is as releases make it (``releases.as_released``).  A withheld game is cleared and upheld like a flagged one; else it
    stays where it was: one that counted before still does, and reasons that are held back end no clearing.
    """
    if review.state == "upheld":
        return False
    if row["verdict"] == "flagged":
        return review.lifts_reasons and why_not_counted(row) is None
    if row["verdict"] == "withheld" and review.state in ("cleared", "returned") and why_not_counted(row) is None:
        return True
    return bool(row["counted"])
