"""Reading the standings: one function a question, over a published warehouse that is opened read-only and closed again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from replay.database import connect, quoted, rows_of
from replay.errors import InputError, UsageError, first_line

if TYPE_CHECKING:
    import duckdb

SQL = Path(__file__).parent / "sql"

Row = dict[str, object]


def read_sql(name: str) -> str:
    """The text of ``replay/sql/<name>.sql``."""
    return (SQL / f"{name}.sql").read_text("utf-8")


@contextmanager
def open_warehouse(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to a published warehouse, closed at the end.  Raises InputError."""
    import duckdb

    if not path.is_file():
        raise InputError(f"{path}: there is no such warehouse; publish a night or rebuild first")
    try:
        con = connect(path, read_only=True)
    except duckdb.Error as error:
        raise InputError(f"{path}: the warehouse cannot be opened ({first_line(error)}); rebuild it") from error
    try:
        yield con
    finally:
        con.close()


@contextmanager
def open_mart(path: Path, mart: str, column: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """``open_warehouse`` for a question to ``mart`` that needs its ``column``.

    Raises InputError for a warehouse of an earlier version, which lacks them.
    """
    with open_warehouse(path) as con:
        found = con.execute(
            "SELECT count(*) FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main'"
            " AND table_name = $mart AND column_name = $column",
            {"mart": mart, "column": column},
        ).fetchall()
        if not found[0][0]:
            raise InputError(f"{path}: this warehouse was built by an earlier version of this program, run `replay rebuild`")
        yield con


def _query(path: Path, name: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
    with open_warehouse(path) as con:
        return _rows(con, name, parameters)


def _rows(con: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
    return rows_of(con.execute(read_sql(f"queries/{name}"), dict(parameters or {})))


def _check_page(limit: int, offset: int) -> None:
    if limit < 0 or offset < 0:
        raise UsageError(f"limit {limit} and offset {offset}: neither may be negative")


def query_leaderboard(
    path: Path,
    *,
    game: str,
    nation: str | None = None,
    month: str | None = None,
    scope: str | None = None,
    period: str | None = None,
    limit: int = 10,
    offset: int = 0,
) -> list[Row]:
    """One page of a leaderboard in display order: position, ordinal, player_id, player_nation, total, challenges, reached_at.

    Without ``nation`` the world's, without ``month`` (``"2026-10"``) that of all time.  ``scope`` (``world``, ``nation``)
    and ``period`` (``all_time``, ``month``) follow from those two and are only checked against them.  ``nation`` is the
    board's, ``player_nation`` the player's.  Raises UsageError, InputError.
    """
    _check_page(limit, offset)
    found_scope = "world" if nation is None else "nation"
    found_period = "all_time" if month is None else "month"
    if scope not in (None, found_scope):
        raise UsageError(f"scope {scope!r} with nation {nation!r}: name a nation for 'nation', none for 'world'")
    if period not in (None, found_period):
        raise UsageError(f"period {period!r} with month {month!r}: name a month for 'month', none for 'all_time'")
    board = {"game": game, "scope": found_scope, "nation": nation, "period": found_period, "month": month}
    return _query(path, "leaderboard", {**board, "limit": limit, "offset": offset})


def query_day(path: Path, *, game: str, challenge: str, limit: int = 10, offset: int = 0) -> list[Row]:
    """One page of a challenge's ranking, best first.

    Columns: position, player_id, nation, player_kind, score, attempt, game_id, beaten, others, percentile, tier.  The exact
    percentile is 100 * beaten / others (100 when others is 0); ``percentile`` is that as a double, for show.
    Raises UsageError, InputError.
    """
    _check_page(limit, offset)
    return _query(path, "day", {"game": game, "challenge": challenge, "limit": limit, "offset": offset})


def query_player(path: Path, player_id: str, *, days: int = 30) -> Row | None:
    """One player's standing, or None when no game of theirs counts.

    ``player_id``, ``nation``, ``player_kind``; ``boards`` (every leaderboard row, all time first, newest month next; none
    for an AI player), ``days`` (the newest ``days`` challenges), ``digest`` (a row a game).  Raises UsageError, InputError.
    """
    _check_page(days, 0)
    with open_warehouse(path) as con:
        found = _rows(con, "player", {"player_id": player_id})
        if not found:
            return None
        boards = _rows(con, "player_boards", {"player_id": player_id})
        newest = _rows(con, "player_days", {"player_id": player_id, "limit": days})
        page: dict[str, object] = {"game": None, "player_id": player_id, "limit": 100, "offset": 0}
        return {**found[0], "boards": boards, "days": newest, "digest": _rows(con, "digest", page)}


def query_digest(
    path: Path, *, game: str | None = None, player_id: str | None = None, limit: int = 10, offset: int = 0
) -> list[Row]:
    """One page of the weekly digest, by game and position.

    Columns: game, sunday, player_id, position, total, challenges, previous_position, previous_total, change.  Raises
    UsageError, InputError.
    """
    _check_page(limit, offset)
    return _query(path, "digest", {"game": game, "player_id": player_id, "limit": limit, "offset": offset})


def query_challenges(path: Path, *, game: str | None = None, limit: int = 31, offset: int = 0) -> list[Row]:
    """The challenges that were played, newest first.

    Columns: game, challenge, players, people, games_counted, rules_versions, as_of, final_from, status (``provisional`` or
    ``final``).  Raises UsageError, InputError.
    """
    _check_page(limit, offset)
    return _query(path, "challenges", {"game": game, "limit": limit, "offset": offset})


def query_periods(path: Path, *, game: str | None = None) -> list[Row]:
    """What stands above a leaderboard: game, period, month, challenges, rules_versions, final_from, status.

    Raises InputError.
    """
    return _query(path, "periods", {"game": game})


def query_publication(path: Path) -> Row:
    """What the standings were made from.

    ``as_of``, ``verdict_rows``, ``rows_by_verdict`` (a dict), ``counted_rows`` (as the nights found them), ``eligible_games``,
    ``rules_versions``, ``ai_in_percentile``, ``reviews_through`` (the id of the newest decision that went in, 0 for none),
    ``games_upheld``, ``games_cleared``, ``releases_through`` (as for decisions), ``games_released``.  Raises InputError, for a
    warehouse of an earlier version too.
    """
    with open_mart(path, "publication", "releases_through") as con:
        return _rows(con, "publication")[0]


def query_as_of(path: Path) -> object:
    """The newest published day of the standings (a date; None in an empty lake).  Raises InputError."""
    with open_warehouse(path) as con:
        return con.execute("SELECT as_of FROM publication").fetchall()[0][0]


def holds_any_player(path: Path, player_ids: Collection[str]) -> bool:
    """Whether a warehouse, of whatever version, holds a player of one of these ids.  Raises InputError."""
    with open_warehouse(path) as con:
        tables = {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        for table in ("players", "flagged_games"):
            if table not in tables:
                continue
            name = "keyed.players" if table == "players" else table
            query = f"SELECT count(*) FROM {name} WHERE player_id IN (SELECT unnest($ids::VARCHAR[]))"
            if con.execute(query, {"ids": list(player_ids)}).fetchall()[0][0]:
                return True
    return False


def query_changes(path: Path, previous: Path) -> list[Row]:
    """What a republish moved against the warehouse ``previous``: a row a challenge that differs, in counts.

    Columns: game, challenge, players_new, players_gone, bests_raised, bests_lowered, bests_by_another_game,
    positions_moved (of players in both).  Raises InputError.
    """
    import duckdb

    if not previous.is_file():
        raise InputError(f"{previous}: there is no such warehouse to compare with; name an earlier one")
    with open_warehouse(path) as con:
        try:
            con.execute(f"ATTACH {quoted(previous)} AS previous (READ_ONLY)")
        except duckdb.Error as error:
            raise InputError(f"{previous}: the warehouse cannot be opened ({first_line(error)}); name another") from error
        return _rows(con, "changes")
