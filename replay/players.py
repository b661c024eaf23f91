"""The reference table of players (seeds/players.csv): who was removed from play, and who was anonymised."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from replay.errors import ReferenceDataError

COLUMNS = ["player_id", "state", "new_id"]


@dataclass(frozen=True)
class PlayerTable:
    """``removed`` ids leave every board and population; ``anonymised`` maps an old id to the new one that replaces it."""

    removed: frozenset[str]
    anonymised: dict[str, str]


def load_players(path: Path) -> PlayerTable:
    """Read the table.  Two players never share a new id: they would be merged into one.  Raises ReferenceDataError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            rows = list(csv.reader(handle))
    except (OSError, UnicodeDecodeError) as error:
        raise ReferenceDataError(f"{path}: the table of players cannot be read ({error})") from error
    if not rows or rows[0] != COLUMNS:
        raise ReferenceDataError(f"{path}: the first line must be {','.join(COLUMNS)!r}")
    removed: set[str] = set()
    anonymised: dict[str, str] = {}
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) != 3 or row[1] not in ("removed", "anonymised") or (row[1] == "anonymised") != bool(row[2]):
            raise ReferenceDataError(
                f"{path}: row {number} is {row!r}, it must be an id, 'removed' and nothing, or an id, 'anonymised' and a new id"
            )
        player_id, state, new_id = row
        if state == "removed":
            removed.add(player_id)
            continue
        if new_id in anonymised.values() or player_id in anonymised:
            raise ReferenceDataError(f"{path}: row {number}: {player_id!r} and {new_id!r} must each stand in one row only")
        anonymised[player_id] = new_id
    return PlayerTable(frozenset(removed), anonymised)
