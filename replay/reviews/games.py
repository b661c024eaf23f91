"""The game that a decision is about, and the decision that somebody is about to take on it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from replay.errors import InputError, UsageError
from replay.lake import Lake
from replay.lookup import find_copies, find_rows
from replay.reviews.copies import is_copy_of
from replay.reviews.drafts import Draft, refuse_to_undo
from replay.reviews.model import ACTIONS, Decision, facts_of, subject_of
from replay.words import visible

Row = dict[str, Any]
_SHOWN_PLACES = 5


@dataclass(frozen=True)
class SameGame:
    """The verdict row of the upload that stands, with ``day``, and the subjects of its copies; decisions on all are about it."""

    row: Row
    copies: tuple[str, ...]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subject of the upload that stands, and those of its copies."""
        return (subject_of(self.row), *self.copies)


def same_game(lake: Lake, row: Row) -> SameGame:
    """The game of a verdict row (with ``day``): the row that stands, which is another one for a copy, and its copies."""
    if row["verdict"] == "copy":
        row = next((other for other in _rows(lake, row["copy_of"]) if is_copy_of(row, other)), row)
    own = subject_of(row)
    copies = {subject_of(copy) for copy in find_copies(lake, row["game_id"]) if is_copy_of(copy, row)}
    return SameGame(row, tuple(sorted(copies - {own})))


def _rows(lake: Lake, game_id: str) -> list[Row]:
    try:
        return find_rows(lake, game_id)
    except InputError:
        # It stood in a file that is gone.
        return []


def find_game(
    lake: Lake, game_id: str, *, day: date | None = None, file: str | None = None, line: int | None = None, copies: bool = False
) -> Row:
    """The verdict row of the upload that a decision about a game is about, with ``day``, the day that it landed.

    ``day``, ``file`` and ``line`` pick one of several uploads under one id; the same upload again is no other one.  Raises
    UsageError for an id that names several, or (unless ``copies`` will do) a copy only, and InputError for one that no night has,
    or that was quarantined.
    """
    rows = [
        row
        for row in find_rows(lake, game_id)
        if day in (None, row["day"]) and file in (None, row["source_file"]) and line in (None, row["source_line"])
    ]
    name = f"game {game_id!a}"
    if not rows:
        raise UsageError(f"{name}: no upload of it lies there, name another --day, --file or --line")
    judged = [row for row in rows if row["verdict"] != "copy"] or (rows if copies else [])
    if not judged:
        first = rows[0]
        raise UsageError(
            f"{name}: is a copy of game {str(first['copy_of'])!a} ({_place(first)}), which counts in its place, decide about that"
            " one"
        )
    subjects = {subject_of(row) for row in judged}
    if len(subjects) > 1:
        places = [f"{_place(row)}, {row['verdict']}" for row in judged]
        more = f" and {len(places) - _SHOWN_PLACES} more" if len(places) > _SHOWN_PLACES else ""
        raise UsageError(
            f"{name}: names {len(subjects)} different uploads ({'; '.join(places[:_SHOWN_PLACES])}{more}), pick one with --day,"
            " --file and --line"
        )
    return judged[0]


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['day']} {visible(str(row['source_file']))} line {row['source_line']}"


def facts_of_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What speaks against the game of a verdict row, whether its reasons are JSON (as in files) or read already."""
    reasons = row["reasons"]
    return facts_of(json.loads(reasons) if isinstance(reasons, str) else reasons, row["suspicions"])


def draft(
    action: str, row: Mapping[str, Any], decisions: Sequence[Decision], undoes: int | None = None, copies: Sequence[str] = ()
) -> Draft:
    """A decision on the game of a verdict row by somebody who saw ``decisions``, all those on its subject and on its ``copies``.

    One that was taken on a copy is undone there: should the copy stand by itself again, it stays undone.
    Raises UsageError for an action that is none, upholding or clearing a game that nothing speaks against, and an undo of what is
    no decision on it or was undone already.
    """
    game = f"game {str(row['game_id'])!a}"
    if action not in ACTIONS:
        raise UsageError(f"action {action!a} is none, it must be one of {', '.join(ACTIONS)}")
    if (action == "undo") != (undoes is not None):
        raise UsageError(f"{game}: name the decision to undo, and only with undo")
    if row.get("verdict") == "copy":
        raise UsageError(f"{game}: is a copy of game {str(row['copy_of'])!a}, which counts in its place, decide about that one")
    facts = facts_of_row(row)
    if action in ("uphold", "clear") and not facts:
        raise UsageError(
            f"{game}: nothing speaks against it, so there is nothing to {action}; leave a note, or undo the decision that stands"
        )
    found = Draft(action, row, facts, max((decision.id for decision in decisions), default=0), undoes, tuple(copies))
    refuse_to_undo(found, decisions)
    undone = next((decision for decision in decisions if decision.id == undoes and decision.subject in copies), None)
    return found if undone is None else _on_copy(found, undone)


def _on_copy(found: Draft, undone: Decision) -> Draft:
    """The undo of a decision that was taken on a copy of the draft's game."""
    others = {found.subject, *found.others} - {undone.subject}
    return replace(found, row=_row_of(undone), others=tuple(sorted(others)))


def game_of(lake: Lake, decision: Decision) -> SameGame | None:
    """The game that a decision is about, by the upload that stands for it now; None when there is none any more."""
    row = next((row for row in _rows(lake, decision.game_id) if subject_of(row) == decision.subject), None)
    found = None if row is None else same_game(lake, row)
    return found if found is not None and found.row["verdict"] != "copy" else None


def copies_among(subject: str, decisions: Sequence[Decision]) -> tuple[str, ...]:
    """The subjects of the copies of an upload, of all decisions on its game."""
    return tuple(sorted({decision.subject for decision in decisions} - {subject}))


def _row_of(decision: Decision) -> Row:
    return {name: getattr(decision, name) for name in ("subject", "game", "game_id", "challenge", "day")}


def undo_draft(decision: Decision, decisions: Sequence[Decision], others: Sequence[str] = ()) -> Draft:
    """The undo of a decision by somebody who saw ``decisions``, all those on its subject and on ``others``, those of the same
    game's other uploads; its game need not be there any more.

    Raises UsageError when it was undone already.
    """
    seen = max((one.id for one in decisions), default=0)
    found = Draft("undo", _row_of(decision), decision.facts, seen, decision.id, tuple(others))
    refuse_to_undo(found, decisions)
    return found
