"""Records that could not be taken: what was wrong with each, and where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from replay.dashboard import views
from replay.lake import Lake

if TYPE_CHECKING:
    import duckdb

router = APIRouter()
ROWS_SHOWN = 50
MEANINGS = {
    "json": "no JSON, or no JSON object", "encoding": "not UTF-8, or a sign that no text can hold",
    "duplicate_key": "a key stands there twice", "missing_field": "a field is missing",
    "wrong_type": "a field is of another type", "wrong_value": "a field's value cannot be",
    "too_large": "larger than any game can be", "stream": "the file was cut off or is damaged",
    "challenge": "its challenge cannot be played as our own table has it: ours to mend",
}  # fmt: skip
_SQL = Path(__file__).parents[1] / "sql" / "pages"


@dataclass(frozen=True)
class Aside:
    """Quarantined records: ``rows`` of this page, newest day first (day, game_id or None, code, reason, source_file,
    source_line); ``total`` under the filter; ``codes`` and ``days`` how many there are of each, under the other filter."""

    rows: Sequence[Mapping[str, Any]]
    total: int
    codes: Sequence[Mapping[str, Any]]
    days: Sequence[Mapping[str, Any]]


def read_quarantine(lake: Lake, day: date | None, code: str | None, offset: int, limit: int = ROWS_SHOWN) -> Aside:
    """A page of the quarantine of all published days, or of one day or code.  Raises InputError for a file that is damaged."""
    import duckdb

    from replay.database import connect, held_open
    from replay.errors import InputError, first_line

    published = [found for found in lake.published_days() if lake.quarantine_file(found).exists()]
    if not published:
        return Aside((), 0, (), ())
    wanted = {"day": day, "code": code}
    try:
        with held_open(map(lake.quarantine_file, published)) as files, connect(threads=2) as con:
            con.execute((_SQL / "quarantine.sql").read_text("utf-8"), {"files": files, "days": published})
            rows = _ask(con, "quarantine_rows.sql", {**wanted, "limit": limit, "offset": offset})
            codes, days = _ask(con, "quarantine_codes.sql", {"day": day}), _ask(con, "quarantine_days.sql", {"code": code})
            (counted,) = _ask(con, "quarantine_count.sql", wanted)
    except (OSError, duckdb.Error) as error:
        place, why = lake.root / "quarantine", first_line(error)
        raise InputError(f"{place}: cannot be read ({why}), run the night of that day again") from error
    return Aside(rows, counted["total"], codes, days)


def _ask(con: duckdb.DuckDBPyConnection, name: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    from replay.database import rows_of

    return rows_of(con.execute((_SQL / name).read_text("utf-8"), parameters))


@router.get("/quarantine")
def quarantine_page(request: Request, day: str = "", code: str = "", skip: str = "") -> HTMLResponse:
    """The quarantine, filtered by day and code."""
    wanted, offset = views.day_parameter(day), views.number_parameter(skip, "skip", 0)
    with views.lake_of(request, "quarantine") as lake:
        found = read_quarantine(lake, wanted, code or None, offset)
        published = bool(lake.published_days())
    return views.render(
        request, "quarantine.html.j2", title="Quarantine", found=found, day=wanted, code=code, skip=offset, page_size=ROWS_SHOWN,
        published=published, meanings=MEANINGS,
    )  # fmt: skip
