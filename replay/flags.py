"""Reading flagged games from the published verdicts."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

from replay.database import connect, rows_of
from replay.errors import InputError
from replay.lake import Lake

SQL = Path(__file__).parent / "sql" / "queries" / "flags.sql"


def query_flags(
    lake: Lake, day: date | None, *, reason: str | None = None, player_id: str | None = None, limit: int = 20, offset: int = 0
) -> list[dict[str, Any]]:
    """Flagged games, newest day first, then by game id: day, game_id, player_id, challenge, platform, app_version, reasons.

    Raises InputError when the day (or any day) was not published.
    """
    lake.refresh("verdicts", days=None if day is None else [day])
    days = [d for d in lake.published_days() if day is None or d == day]
    if not days:
        raise InputError(f"{lake.name}: {f'{day} was not' if day else 'no day was'} published here, run `replay nightly`")
    files = [str(lake.verdict_file(d)) for d in days]
    with connect() as con:
        wanted = {"files": files, "reason": reason, "player_id": player_id, "limit": limit, "offset": offset}
        rows = rows_of(con.execute(SQL.read_text("utf-8"), wanted))
    for row in rows:
        row["day"] = lake.day_of(Path(row.pop("filename")))
        row["reasons"] = json.loads(row["reasons"])
    return rows
