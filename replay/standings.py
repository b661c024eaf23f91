"""Standings: a new DuckDB file, recomputed from the verdict rows alone, by the statements in ``replay/sql``.

Nothing is carried over from an earlier warehouse, so a total cannot drift from the games that it is made of.  The written
definitions stand in the README; each mart's grain is the first line of its .sql file.  Large tables live in the schema
``keyed`` and hold integer keys in place of texts; the views in ``main`` bear the marts' names and resolve them.

Which games count follows from the verdicts and from what people decided and released (``replay.eligibility``).  Reading is in
``replay.standings_queries``, whose functions bear their names here too.

DuckDB is imported inside the functions: a single replayed game does not need it.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from replay.database import connect
from replay.eligibility import attach_decisions
from replay.errors import CheckFailed, InputError, NightError, ReferenceDataError, UsageError, first_line
from replay.standings_queries import (
    SQL,
    holds_any_player,
    open_mart,
    open_warehouse,
    query_as_of,
    query_challenges,
    query_changes,
    query_day,
    query_digest,
    query_leaderboard,
    query_periods,
    query_player,
    query_publication,
    read_sql,
)

if TYPE_CHECKING:
    import duckdb

    from replay.reviews.model import Decision
    from replay.reviews.releases import Release

__all__ = [
    "MARTS",
    "SQL",
    "PlayerState",
    "StandingsSettings",
    "build_warehouse",
    "holds_any_player",
    "load_player_states",
    "load_rank_tiers",
    "open_mart",
    "open_warehouse",
    "query_as_of",
    "query_challenges",
    "query_changes",
    "query_day",
    "query_digest",
    "query_leaderboard",
    "query_periods",
    "query_player",
    "query_publication",
    "read_sql",
]

# In this order: each statement reads what those before it made.
SOURCE_STEPS = ("eligible_rows", "challenges", "periods", "player_keys", "eligible_games", "players", "daily_best")
STANDING_STEPS = ("daily_ranking", "totals_month", "totals", "boards", "leaderboard", "weekly_digest", "challenge_status")
FLAG_STEPS = ("subject", "suspect_rows", "flagged_games", "flagged_copies")
STEPS = (*SOURCE_STEPS, *STANDING_STEPS, *FLAG_STEPS, "publication")

MARTS = (
    "eligible_games",
    "players",
    "daily_best",
    "daily_ranking",
    "totals",
    "totals_month",
    "leaderboard",
    "weekly_digest",
    "challenge_status",
    "flagged_games",
    "flagged_copies",
    "publication",
)

VERDICT_COLUMNS = {
    "game_id": "VARCHAR",
    "game": "VARCHAR",
    "challenge": "VARCHAR",
    "rules": "VARCHAR",
    "player_id": "VARCHAR",
    "player_kind": "VARCHAR",
    "nation": "VARCHAR",
    "attempt": "BIGINT",
    "finished_at": "TIMESTAMP",
    "score": "BIGINT",
    "verdict": "VARCHAR",
    "counted": "BOOLEAN",
    "filename": "VARCHAR",
    "file_row_number": "BIGINT",
}


@dataclass(frozen=True)
class StandingsSettings:
    """What an operator may choose.

    ``ai_in_percentile``: AI players count in a day's positions and percentiles (they never stand on a leaderboard or in a
    digest).  ``as_of``: the newest published day; challenges are provisional or final, and the digest's Sunday is chosen, by
    it.  None (nothing published yet) makes everything provisional and the digest empty.
    """

    ai_in_percentile: bool = True
    as_of: date | None = None


@dataclass(frozen=True)
class PlayerState:
    """What became of one id: removed from play, or replaced by ``new_id``, or both when the new id was removed later."""

    removed: bool
    new_id: str | None


# --- reference tables -------------------------------------------------------------------------------------------------


def _csv_rows(path: Path, header: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The rows after the header, each with the text that names its place.  Raises ReferenceDataError."""
    try:
        # newline="": a quoted id may hold a line feed, and nothing but \r and \n ends a line.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            found = next(reader, [])
            if found != list(header):
                raise ReferenceDataError(f"{path}: the first line is {','.join(found)!r}, it must be {','.join(header)!r}")
            for cells in reader:
                where = f"{path}: line {reader.line_num}"
                if cells and len(cells) != len(header):
                    raise ReferenceDataError(f"{where}: {len(cells)} columns, there must be {len(header)}")
                if cells:
                    yield where, cells
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReferenceDataError(f"{path}: the table cannot be read ({error}); mend the file") from error


def load_player_states(path: Path) -> dict[str, PlayerState]:
    """Read the players table (``player_id,state,new_id``): by id, what became of it.

    A new id that is itself removed or replaced leads on to the last of the chain.  Raises ReferenceDataError for a file that
    cannot be read, an unknown state, an id listed twice, two ids that would become one, and a chain that closes on itself.
    """
    states: dict[str, tuple[str, str]] = {}
    new_ids: set[str] = set()
    for where, (player_id, state, new_id) in _csv_rows(path, ("player_id", "state", "new_id")):
        if player_id == "" or player_id in states:
            raise ReferenceDataError(f"{where}: player_id {player_id!r} is empty or listed twice; list each id once")
        if state not in ("removed", "anonymised"):
            raise ReferenceDataError(f"{where}: state {state!r} is neither 'removed' nor 'anonymised'; write one of the two")
        if (state == "anonymised") != (new_id != ""):
            raise ReferenceDataError(f"{where}: new_id {new_id!r} with state {state}; an anonymised player needs one, no other")
        if new_id in new_ids:
            raise ReferenceDataError(f"{where}: new_id {new_id!r} is given to two players; give each a new id of their own")
        states[player_id] = (state, new_id)
        if new_id:
            new_ids.add(new_id)
    return {player_id: _follow(path, player_id, states) for player_id in states}


def _follow(path: Path, player_id: str, states: Mapping[str, tuple[str, str]]) -> PlayerState:
    seen = {player_id}
    state, new_id = states[player_id]
    last_id = new_id
    while new_id in states and state == "anonymised":
        if new_id in seen:
            raise ReferenceDataError(f"{path}: the new ids from {player_id!r} on lead back to {new_id!r}; end the chain")
        seen.add(new_id)
        last_id = new_id
        state, new_id = states[last_id]
    # Who was anonymised and then removed keeps the new id: what is written of them must not hold the old one.
    return PlayerState(removed=state == "removed", new_id=(new_id or last_id) or None)


def load_rank_tiers(path: Path) -> list[tuple[str, int]]:
    """Read the rank tiers (``tier,min_percentile``), lowest first.

    Thresholds are whole numbers from 0 to 100, each once, 0 among them so that everybody has a tier.  Raises
    ReferenceDataError.
    """
    tiers: dict[int, str] = {}
    for where, (tier, text) in _csv_rows(path, ("tier", "min_percentile")):
        if not (text.isascii() and text.isdigit() and int(text) <= 100):
            raise ReferenceDataError(f"{where}: min_percentile {text!r} is not a whole number from 0 to 100")
        if tier == "" or tier in tiers.values() or int(text) in tiers:
            raise ReferenceDataError(f"{where}: tier {tier!r} at {text} is unnamed or stands there twice; list each once")
        tiers[int(text)] = tier
    if 0 not in tiers:
        raise ReferenceDataError(f"{path}: no tier begins at 0; add one so that every player has a tier")
    return [(tiers[threshold], threshold) for threshold in sorted(tiers)]


# --- building ---------------------------------------------------------------------------------------------------------


def check_names() -> list[str]:
    """The names of all checks, in the order they run."""
    return sorted(file.stem for file in (SQL / "checks").glob("assert_*.sql"))


def open_new(path: Path, *, memory_limit: str | None = None, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Create the DuckDB file ``path`` and connect to it for writing.

    ``memory_limit`` is a DuckDB size such as ``"1GB"``; beyond it work spills into a folder beside the file.  Raises
    UsageError when the file exists.
    """
    import duckdb

    if path.exists():
        raise UsageError(f"{path}: the warehouse exists already; each build writes a file under a new name")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; create it first")
    try:
        return connect(path, memory_limit=memory_limit, threads=threads, spill=_spill_folder(path))
    except duckdb.Error as error:
        raise UsageError(f"{path}: DuckDB cannot create the warehouse ({first_line(error)}); look at the settings") from error


def _spill_folder(path: Path) -> Path:
    return path.with_name(path.name + ".tmp")


def _pattern(file: str) -> str:
    """``file`` as read_parquet understands it: the name of an existing file stands for itself, whatever signs are in it."""
    if any(sign in file for sign in "*?[") and Path(file).is_file():
        return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in file)
    return file


def _unread(where: str, what: str, error: Exception) -> InputError | NightError:
    """The error for verdict files that DuckDB does not read: they are damaged, or its memory is too small for what they hold."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException):
        return NightError(f"{where}: the memory is too small for {what} ({first_line(error)}), look at REPLAY_MEMORY_LIMIT")
    return InputError(f"{where}: {what} cannot be read ({first_line(error)}); restore the files")


def attach_verdicts(con: duckdb.DuckDBPyConnection, verdict_files: Sequence[str], days: Sequence[date] | None = None) -> None:
    """Make ``verdict_rows`` and ``uploads`` from Parquet files (paths or globs), and ``landed``, the days of the files.

    ``days`` are those on which the uploads of each file landed; without them ``landed`` is empty and no row has a day.  Raises
    InputError when the files cannot be read as verdict rows.
    """
    import duckdb

    con.execute(read_sql("no_uploads"))
    con.execute("CREATE TEMP TABLE landed (filename VARCHAR NOT NULL PRIMARY KEY, day DATE NOT NULL)")
    if not verdict_files:
        con.execute(read_sql("verdict_rows_empty"))
        return
    if days is not None:
        found = dict(zip(verdict_files, days, strict=True))
        con.execute(
            "INSERT INTO landed SELECT unnest($files::VARCHAR[]), unnest($days::DATE[])",
            {"files": list(found), "days": list(found.values())},
        )
    try:
        con.execute("SET VARIABLE verdict_files = $files::VARCHAR[]", {"files": [_pattern(file) for file in verdict_files]})
        con.execute(read_sql("verdict_rows"))
        con.execute(read_sql("uploads"))
        columns = con.execute("SELECT column_name, column_type FROM (DESCRIBE verdict_rows)").fetchall()
    except duckdb.Error as error:
        where = verdict_files[0] if len(verdict_files) == 1 else f"{verdict_files[0]} and {len(verdict_files) - 1} more"
        raise _unread(where, "the verdict rows", error) from error
    for name, kind in columns:
        # A time with a zone would be converted by the machine's own zone on the way.
        if kind != VERDICT_COLUMNS[name]:
            raise InputError(f"{verdict_files[0]}: column {name} is {kind}, it must be {VERDICT_COLUMNS[name]}; verify again")


def attach_references(con: duckdb.DuckDBPyConnection, players_csv: Path, tiers_csv: Path) -> None:
    """Make the temporary tables ``player_states`` and ``rank_tiers``.

    Temporary on purpose: an id that was replaced must not be written into the warehouse.  Raises ReferenceDataError.
    """
    states = load_player_states(players_csv)
    tiers = load_rank_tiers(tiers_csv)
    con.execute("CREATE TEMP TABLE player_states (player_id VARCHAR NOT NULL, removed BOOLEAN NOT NULL, new_id VARCHAR)")
    con.execute(
        "INSERT INTO player_states SELECT unnest($ids::VARCHAR[]), unnest($removed::BOOLEAN[]), unnest($new_ids::VARCHAR[])",
        {
            "ids": list(states),
            "removed": [state.removed for state in states.values()],
            "new_ids": [state.new_id for state in states.values()],
        },
    )
    con.execute("CREATE TEMP TABLE rank_tiers (tier VARCHAR NOT NULL, min_percentile BIGINT NOT NULL)")
    con.executemany("INSERT INTO rank_tiers VALUES (?, ?)", tiers)


def set_settings(con: duckdb.DuckDBPyConnection, settings: StandingsSettings) -> None:
    """Hand the settings to the statements as the variables ``as_of`` and ``ai_in_percentile``."""
    con.execute("SET VARIABLE as_of = $as_of::DATE", {"as_of": settings.as_of})
    con.execute("SET VARIABLE ai_in_percentile = $ai::BOOLEAN", {"ai": settings.ai_in_percentile})


def run_steps(con: duckdb.DuckDBPyConnection, steps: Iterable[str]) -> None:
    """Run statements of ``replay/sql`` by name, in order.  Raises NightError naming the one that failed."""
    import duckdb

    for step in steps:
        try:
            con.execute(read_sql(step))
        except duckdb.Error as error:
            raise NightError(f"sql/{step}.sql failed ({first_line(error)}); nothing of this build may be published") from error


def run_checks(con: duckdb.DuckDBPyConnection, names: Iterable[str] | None = None) -> None:
    """Run the checks of ``replay/sql/checks`` on a built warehouse that is still open for writing.

    Raises CheckFailed for the first that returns rows, with its name, the number of rows and the first row, and NightError
    for one that cannot be run.
    """
    import duckdb

    for name in check_names() if names is None else names:
        check = read_sql(f"checks/{name}").rstrip().removesuffix(";")
        try:
            found = con.execute(f"SELECT count(*) OVER (), * FROM (\n{check}\n) ORDER BY ALL LIMIT 1").fetchone()
        except duckdb.Error as error:
            where = f"sql/checks/{name}.sql"
            raise NightError(f"{where} failed ({first_line(error)}); nothing of this build may be published") from error
        if found is None:
            continue
        columns = [column[0] for column in con.description or ()][1:]
        first = ", ".join(f"{column}={value!r}" for column, value in zip(columns, found[1:], strict=True))
        raise CheckFailed(f"sql/checks/{name}.sql returned {found[0]} rows, the first with {first}; find their cause in its mart")


def build_marts(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Make every mart from the verdict rows, the decisions, the reference tables and the settings; the number of rows of each."""
    con.execute("CREATE SCHEMA keyed")
    run_steps(con, STEPS)
    return {mart: _count(con, mart) for mart in MARTS}


def _judge(
    con: duckdb.DuckDBPyConnection, decisions: Sequence[Decision], releases: Sequence[Release], verdict_files: Sequence[str]
) -> None:
    import duckdb

    try:
        attach_decisions(con, decisions, releases)
    except duckdb.Error as error:
        where = verdict_files[0] if verdict_files else "no verdict file"
        raise _unread(where, "the reviewed games", error) from error


def _count(con: duckdb.DuckDBPyConnection, mart: str) -> int:
    found = con.execute(f"SELECT count(*) FROM {mart}").fetchone()
    return int(found[0]) if found else 0


def build_warehouse(
    path: Path,
    verdict_files: Sequence[str],
    *,
    players_csv: Path,
    tiers_csv: Path,
    settings: StandingsSettings,
    decisions: Sequence[Decision] = (),
    releases: Sequence[Release] = (),
    days: Sequence[date] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> dict[str, int]:
    """Write a new DuckDB file with all marts, check it, close it; returns the number of rows of each mart.

    ``verdict_files`` are Parquet files of verdict rows, as paths or globs that DuckDB reads; none gives empty marts.  ``days``
    are the days on which the uploads of each file landed (then no globs): a file may bear any name.  ``decisions`` are all that
    people decided, and ``releases`` the releases that are in force (``reviews.releases.in_force``), in any order.  The same rows,
    decisions and releases give the same content in the same order, whatever the order of the files and the number of threads.

    Raises UsageError (the file exists, a setting is refused), InputError (verdict files), ReferenceDataError (players or
    tiers table), CheckFailed, and NightError when a statement fails, a sum beyond BIGINT for instance.  After an error no
    file is left behind.
    """
    con = open_new(path, memory_limit=memory_limit, threads=threads)
    try:
        set_settings(con, settings)
        attach_references(con, players_csv, tiers_csv)
        attach_verdicts(con, verdict_files, days)
        _judge(con, decisions, releases, verdict_files)
        counts = build_marts(con)
        run_checks(con)
        con.execute("CHECKPOINT")
    except BaseException:
        con.close()
        path.unlink(missing_ok=True)
        path.with_name(path.name + ".wal").unlink(missing_ok=True)
        raise
    finally:
        con.close()
        if _spill_folder(path).exists():
            shutil.rmtree(_spill_folder(path))
    return counts
