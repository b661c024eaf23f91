"""Decisions follow a game: what was decided on an upload holds for the one that stands in its place since.

A retry bears another id, so it is another subject.  Nights tell that it is the same game and let the earliest upload stand; a
decision on one that is a copy by now is one on the game that stands.  Nothing is rewritten for it: where the copy stands by
itself again, because a file was withdrawn, its decisions are its own again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from replay.relations import UNCONFIRMED
from replay.reviews.model import Decision, subject_of

# What is the same in all uploads of one game, as resolve_uploads.sql tells them.
_SAME = ("game", "mode", "rules", "challenge", "player_id", "attempt", "log_hash_low", "log_hash_high", "score", "best_combo")
# What has to be the same besides where the replay does not give it.
_CLAIMED = ("level", "lines", "final_board")


def is_copy_of(copy: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether a verdict row is a copy of the game of another one, which stands.

    A copy names an id, and two games may have it.  ``sql/flagged_copies.sql`` is the same in SQL.
    """
    if copy["verdict"] != "copy" or row["verdict"] == "copy" or copy["copy_of"] != row["game_id"]:
        return False
    if any(copy[name] != row[name] for name in _SAME):
        return False
    return all(copy.get(name) == row.get(name) for name in _CLAIMED) or (_comes_out(copy) and _comes_out(row))


def _comes_out(row: Mapping[str, Any]) -> bool:
    return row["replayed_score"] is not None and not set(UNCONFIRMED) & set(row["reason_codes"] or ())


def standing_subjects(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Of the copies among verdict rows, the subject of the upload among them that stands for each, by the copy's own subject."""
    copies, by_id = [], dict[str, list[Mapping[str, Any]]]()
    for row in rows:
        if row["verdict"] == "copy":
            copies.append(row)
        else:
            by_id.setdefault(row["game_id"], []).append(row)
    return {
        subject_of(copy): subject_of(row) for copy in copies for row in by_id.get(copy["copy_of"], ()) if is_copy_of(copy, row)
    }


def gather(decisions: Iterable[Decision], standing: Mapping[str, str]) -> dict[str, list[Decision]]:
    """By the subject of each upload all decisions on its game, by id: those on the upload that stands and those on its copies.

    ``standing`` are the subjects of the uploads that stand, by those of their copies.
    """
    games: dict[str, list[Decision]] = {}
    found: dict[str, list[Decision]] = {}
    for decision in sorted(decisions, key=lambda decision: decision.id):
        game = standing.get(decision.subject, decision.subject)
        games.setdefault(game, []).append(decision)
        found[game] = found[decision.subject] = games[game]
    return found
