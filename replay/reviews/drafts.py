"""What somebody is about to decide, and what is refused before it is recorded."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from replay.errors import DecidedMeanwhile, UsageError
from replay.reviews.aliases import Aliases
from replay.reviews.model import Decision, subject_of, undone_ids
from replay.reviews.words import DONE, time_words
from replay.words import visible

LONGEST_REASON = 2_000
LONGEST_REVIEWER = 200


@dataclass(frozen=True)
class Draft:
    """A decision that somebody is about to take.

    ``row`` is the verdict row it is about (with ``day``), or another mapping with ``game``, ``challenge``, ``game_id``, ``day``
    and ``subject``.  ``seen`` is the id of the newest decision, of any action, that the person saw on the subject and on
    ``others``, those of the same game's other uploads (0: none).
    """

    action: str
    row: Mapping[str, Any]
    facts: tuple[str, ...]
    seen: int
    undoes: int | None = None
    others: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The key of the upload that it is about."""
        found = self.row.get("subject")
        return str(found) if found else subject_of(self.row)


def merged(items: Sequence[Draft], aliases: Aliases) -> dict[str, Draft]:
    """Drafts by the subject's name of today.  The same upload may lie in two files: that is one decision."""
    found: dict[str, Draft] = {}
    for draft in items:
        subject = aliases.today(draft.subject)
        first = found.setdefault(subject, draft)
        if (first.action, first.undoes) != (draft.action, draft.undoes):
            raise UsageError(f"game {str(draft.row['game_id'])!a}: two different decisions on the same upload, take one of them")
        if first is not draft:
            facts = tuple(sorted({*first.facts, *draft.facts}))
            others = tuple(sorted({*first.others, *draft.others}))
            found[subject] = replace(first, facts=facts, seen=min(first.seen, draft.seen), others=others)
    return found


def refuse_outdated(draft: Draft, before: Sequence[Decision]) -> None:
    """Raises DecidedMeanwhile when one of the decisions on the subject (``before``) came after what the person saw."""
    newest = max(before, key=lambda decision: decision.id, default=None)
    if newest is not None and newest.id > draft.seen:
        raise DecidedMeanwhile(
            f"game {str(draft.row['game_id'])!a}: {visible(newest.reviewer)} {DONE[newest.action]} at {time_words(newest.at)}"
            f" (decision {newest.id}: {visible(newest.reason)}), after you had looked; look at it again before you decide"
        )


def refuse_to_undo(draft: Draft, before: Sequence[Decision]) -> None:
    """Raises UsageError for an undo of what is no decision on the subject, or was undone already."""
    if draft.undoes is None:
        return
    game = f"game {str(draft.row['game_id'])!a}"
    if all(decision.id != draft.undoes for decision in before):
        raise UsageError(f"{game}: decision {draft.undoes} is none on this upload, look at its decisions with `replay review`")
    if draft.undoes in undone_ids(before):
        by = max((d for d in before if d.undoes == draft.undoes), key=lambda d: d.id)
        raise UsageError(
            f"{game}: decision {draft.undoes} was undone already, by {visible(by.reviewer)} at {time_words(by.at)}; undo decision"
            f" {by.id} to have it back"
        )


def checked_words(name: str, text: str, longest: int) -> str:
    """What a person wrote, without blanks around it.  Raises UsageError when nothing is left, when it is too long or no text."""
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise UsageError(f"{name} is empty, say {'who decides' if name == 'reviewer' else 'why'}")
    if len(text) > longest:
        raise UsageError(f"{name} has {len(text):,} characters, at most {longest:,} are kept, write it shorter")
    allowed = "" if name == "reviewer" else "\n\t"
    wrong = next((char for char in text if unicodedata.category(char) in ("Cc", "Cs") and char not in allowed), None)
    if wrong is not None:
        raise UsageError(f"{name} {visible(text.encode('ascii', 'backslashreplace').decode())} holds a character that is no text"
                         f" (U+{ord(wrong):04X}), leave it out")  # fmt: skip
    return text
