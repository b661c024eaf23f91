"""What speaks against uploaded games: one query over the published standings, for the command line and the pages."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.database import rows_of
from replay.errors import InputError, UsageError
from replay.lake import Lake
from replay.record import GAMES, nations
from replay.reviews.copies import gather
from replay.reviews.model import STATES, Decision, facts_of, review_of
from replay.standings_queries import open_mart, read_sql
from replay.verdict import REASON_CODES, SUSPICION_CODES

if TYPE_CHECKING:
    import duckdb

# flagged: the replay, or the rules of the challenge, contradict the upload.  withheld: they do, but for so many games of its app
# version that this one is taken for broken.  suspected: verified, but it looks unusual.
KINDS = ("flagged", "withheld", "suspected")
# How a list can be sorted, by the name in an address.
SORTS = {
    "day": "day", "score": "score", "difference": "difference", "player": "player_id", "app_version": "app_version",
}  # fmt: skip
NO_NATION = "none"
SHOWN_CLIENTS = 12
_BATCH = 1000

Row = dict[str, Any]


@dataclass(frozen=True)
class FlagFilter:
    """Which uploads are wanted; None wishes nothing.

    ``day_from`` and ``day_to`` are days on which uploads landed, both included.  ``nation`` is a code or ``none`` for uploads
    without one, ``kind`` one of KINDS, ``state`` one of the states of a review.
    """

    day_from: date | None = None
    day_to: date | None = None
    game: str | None = None
    reason: str | None = None
    suspicion: str | None = None
    platform: str | None = None
    app_version: str | None = None
    nation: str | None = None
    player_id: str | None = None
    state: str | None = None
    kind: str | None = None
    game_id: str | None = None


# The names of the wishes in an address and on the command line.
NAMES = {
    "from": "day_from", "to": "day_to", "game": "game", "reason": "reason", "suspicion": "suspicion", "platform": "platform",
    "app_version": "app_version", "nation": "nation", "player": "player_id", "state": "state", "kind": "kind",
    "game_id": "game_id",
}  # fmt: skip


@dataclass(frozen=True)
class Facet:
    """A value that a list can be narrowed to: ``wish`` as NAMES names it, and the uploads that it would leave."""

    wish: dict[str, str]
    uploads: int


@dataclass(frozen=True)
class FlagPage:
    """Rows of one page, ``total`` of all pages, and what the list can be narrowed to (by kind, reason, suspicion, state, client);
    ``history`` are all decisions by the subjects of the uploads that they hold for (``replay.reviews.copies``).

    A row has the columns of the mart, ``difference`` (claimed less replayed score, None when nothing was replayed), ``reasons``
    as a list, ``evidence`` as a dict or None, and ``review`` (``replay.reviews.model.Review``).
    """

    rows: list[Row]
    total: int
    facets: dict[str, list[Facet]]
    history: dict[str, list[Decision]]


def parse_filter(values: Mapping[str, str | None], option: str = "") -> FlagFilter:
    """The filter that texts ask for, by the names of NAMES and ``day`` (one day); None wishes nothing.

    ``option`` stands before a name in the message ("--" on a command line).  Empty texts are fields of a form that were left
    out; an empty option is a variable that was not set, and would ask for all games.  Raises UsageError for it and for a value
    that cannot be.
    """
    for name, value in values.items() if option else ():
        if value == "":
            raise UsageError(f"{option}{name.replace('_', '-')} is empty, give it a value or leave it out")
    given = {name: value for name, value in values.items() if value and (name in NAMES or name == "day")}
    if "day" in given and ("from" in given or "to" in given):
        raise UsageError(f"{option}day and {option}from or {option}to: give one day, or from which day to which")
    wanted: dict[str, Any] = {}
    for name, value in given.items():
        _check(f"{option}{name.replace('_', '-') if option else name}", name, value)
        if name in ("from", "to", "day"):
            for end in ("from", "to") if name == "day" else (name,):
                wanted[NAMES[end]] = date.fromisoformat(value)
        else:
            wanted[NAMES[name]] = value
    if wanted.get("kind") == "suspected" and "reason" in wanted:
        reason = wanted["reason"]
        raise UsageError(f"{option}reason {reason!r}: a game that only looks unusual has no reason, ask for one of the two")
    found = FlagFilter(**wanted)
    if found.day_from and found.day_to and found.day_from > found.day_to:
        raise UsageError(f"{option}from {found.day_from} is after {option}to {found.day_to}, change the two")
    return found


def _check(shown: str, name: str, value: str) -> None:
    choices: dict[str, tuple[str, Collection[str]]] = {
        "game": ("game", GAMES), "reason": ("reason", REASON_CODES), "suspicion": ("suspicion", SUSPICION_CODES),
        "state": ("state of a review", STATES), "kind": ("kind", KINDS),
    }  # fmt: skip
    if name in choices and value not in choices[name][1]:
        raise UsageError(f"{shown} {value!r} is no {choices[name][0]}, it must be one of {', '.join(choices[name][1])}")
    if name == "nation" and value != NO_NATION and value not in nations():
        raise UsageError(f"{shown} {value!r} is no nation, write the two capital letters of ISO 3166-1, or {NO_NATION}")
    if name in ("from", "to", "day"):
        parse_day(value, shown)


def parse_day(text: str, shown: str) -> date:
    """A day of an address, which ``shown`` names.  Raises UsageError."""
    try:
        day = date.fromisoformat(text)
        # Weeks and days without hyphens are ISO 8601 too.
        if day.isoformat() != text:
            raise ValueError
    except ValueError as error:
        raise UsageError(f"{shown} {text!r} is no day, write it as YYYY-MM-DD") from error
    return day


def filter_words(wanted: FlagFilter) -> dict[str, str]:
    """The filter as texts by the names of NAMES, in that order, as they stand in an address; ``parse_filter`` reads them."""
    words = {name: getattr(wanted, field) for name, field in NAMES.items()}
    return {name: str(value) for name, value in words.items() if value is not None}


def flags_of(
    lake: Lake, wanted: FlagFilter, *, sort: str = "day", descending: bool = True, limit: int | None = 20, offset: int = 0
) -> FlagPage:
    """``query_flags`` of what a lake has published.

    Raises InputError when no day, or not the one day that is wanted, was published, and what ``query_flags`` raises.
    """
    from replay.reviews.store import open_reviews

    lake.refresh("standings")
    day = wanted.day_from if wanted.day_from == wanted.day_to else None
    days = [found for found in lake.published_days() if day is None or found == day]
    if not days:
        raise InputError(f"{lake.name}: {f'{day} was not' if day else 'no day was'} published here, run `replay nightly`")
    with open_reviews(lake) as store:
        decisions = store.decisions()
    return query_flags(
        lake.current_warehouse(), decisions, wanted, sort=sort, descending=descending, limit=limit, offset=offset
    )


def query_flags(
    warehouse: Path, decisions: Sequence[Decision], wanted: FlagFilter, *, sort: str = "day", descending: bool = True,
    limit: int | None = 50, offset: int = 0,
) -> FlagPage:  # fmt: skip
    """Uploads that something speaks against, with how people decided about them and about their copies.

    ``sort`` is one of SORTS; equal rows stand newest day first, then by game id, file and line, so pages never overlap.
    ``limit`` None is all of them.  Raises UsageError, and InputError for a warehouse of a version without such a list.
    """
    order = _order(sort, descending)
    if offset < 0 or (limit is not None and limit < 0):
        raise UsageError(f"limit {limit} and offset {offset}: neither may be negative")
    with _asked(warehouse, decisions, wanted) as (con, by_subject):
        total = con.execute("SELECT count(*) FROM wanted_flags WHERE fits").fetchall()[0][0]
        page = read_sql("pages/flags_rows") % {"order": order}
        rows = rows_of(con.execute(page, {"limit": limit, "offset": offset}))
        counts = con.execute(read_sql("pages/flags_counts"), {"clients": SHOWN_CLIENTS}).fetchall()
    facets: dict[str, list[Facet]] = {facet: [] for facet in ("kind", "reason", "suspicion", "state", "client")}
    for facet, name, app_version, uploads in counts:
        wish = {"platform": name, "app_version": app_version} if facet == "client" else {facet: name}
        facets[facet].append(Facet(wish, uploads))
    return FlagPage([_finished(row, by_subject) for row in rows], total, facets, by_subject)


def stream_flags(
    warehouse: Path, decisions: Sequence[Decision], wanted: FlagFilter, *, sort: str = "day", descending: bool = True
) -> Iterator[Row]:
    """All rows that ``query_flags`` would give, one after the other, without holding all of them."""
    order = _order(sort, descending)
    with _asked(warehouse, decisions, wanted) as (con, by_subject):
        page = read_sql("pages/flags_rows") % {"order": order}
        result = con.execute(page, {"limit": None, "offset": 0})
        columns = [column[0] for column in result.description or ()]
        while batch := result.fetchmany(_BATCH):
            for row in batch:
                yield _finished(dict(zip(columns, row, strict=True)), by_subject)


def _order(sort: str, descending: bool) -> str:
    if sort not in SORTS:
        raise UsageError(f"sort {sort!r} is no way to sort, it must be one of {', '.join(SORTS)}")
    way = "DESC" if descending else "ASC"
    return f"{SORTS[sort]} {way} NULLS LAST, day DESC, game_id, source_file, source_line"


def standing_in(con: duckdb.DuckDBPyConnection, subjects: Collection[str]) -> dict[str, str]:
    """By the subject of each copy that of the upload in ``flagged_games`` which stands, of all games that one of ``subjects`` is
    an upload of."""
    return dict(con.execute(read_sql("pages/flags_copies"), {"subjects": sorted(subjects)}).fetchall())


def history_in(lake: Lake, decisions: Sequence[Decision]) -> dict[str, list[Decision]]:
    """By the subject of each upload all of ``decisions`` on its game, as the published standings tell copies.

    Decisions outlive standings: where there are none, each subject is a game of its own.
    """
    try:
        with open_mart(lake.current_warehouse(), "flagged_copies", "subject") as con:
            return gather(decisions, standing_in(con, {decision.subject for decision in decisions}))
    except InputError:
        return gather(decisions, {})


def _finished(row: Row, by_subject: Mapping[str, Sequence[Decision]]) -> Row:
    """A row with its texts read and its review beside it."""
    reasons = json.loads(row["reasons"])
    evidence = json.loads(row["evidence"]) if row["evidence"] else None
    review = review_of(by_subject.get(row["subject"], ()), facts_of(reasons, row["suspicions"]))
    return row | {"reasons": reasons, "evidence": evidence, "review": review}


@contextmanager
def _asked(
    warehouse: Path, decisions: Sequence[Decision], wanted: FlagFilter
) -> Iterator[tuple[duckdb.DuckDBPyConnection, dict[str, list[Decision]]]]:
    """A connection with the temporary table ``wanted_flags``, and the decisions by the subject that they hold for."""
    with open_mart(warehouse, "flagged_copies", "subject") as con:
        by_subject = gather(decisions, standing_in(con, {decision.subject for decision in decisions}))
        _state_reviews(con, by_subject)
        con.execute(read_sql("pages/flags_wanted"), {field: getattr(wanted, field) for field in NAMES.values()})
        yield con, by_subject


def _state(decisions: Sequence[Decision], reasons: str, suspicions: Sequence[str]) -> str:
    state = review_of(decisions, ()).state
    # Only a clearing asks what speaks against the game now, and reading that takes the time of a page with many decisions.
    return review_of(decisions, facts_of(json.loads(reasons), suspicions)).state if state == "cleared" else state


def _state_reviews(con: duckdb.DuckDBPyConnection, by_subject: Mapping[str, Sequence[Decision]]) -> None:
    """Make the temporary table ``review_states``: decisions are few, what they were taken on is looked up again."""
    con.execute(
        "CREATE TEMP TABLE review_states (day DATE NOT NULL, source_file VARCHAR NOT NULL, source_line BIGINT NOT NULL,"
        " state VARCHAR NOT NULL)"
    )
    found = con.execute(
        "SELECT day, source_file, source_line, subject, reasons, suspicions FROM flagged_games"
        " WHERE subject IN (SELECT unnest($subjects::VARCHAR[])) ORDER BY day, source_file, source_line",
        {"subjects": list(by_subject)},
    ).fetchall()
    if not found:
        return
    states = [_state(by_subject[row[3]], row[4], row[5]) for row in found]
    con.execute(
        "INSERT INTO review_states SELECT unnest($days::DATE[]), unnest($files::VARCHAR[]), unnest($lines::BIGINT[]),"
        " unnest($states::VARCHAR[])",
        {
            "days": [row[0] for row in found], "files": [row[1] for row in found], "lines": [row[2] for row in found],
            "states": states,
        },
    )  # fmt: skip
