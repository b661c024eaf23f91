"""Connections to DuckDB, all set up alike; DuckDB itself is imported when the first one is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

Config = dict[str, str | bool | int | float | list[str]]


def connect(
    path: Path | None = None, *, read_only: bool = False, memory_limit: str | None = None, threads: int | None = None,
    spill: Path | None = None,
) -> duckdb.DuckDBPyConnection:  # fmt: skip
    """Connect to the database file ``path``, or to one in memory.

    ``memory_limit`` is a DuckDB size such as ``"1GB"``, beyond which work spills into the folder ``spill``.  Raises duckdb.Error.
    """
    import duckdb

    # Extensions would be fetched from the network; nothing here needs one that is not built in.
    config: Config = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    if threads is not None:
        config["threads"] = threads
    if spill is not None:
        config["temp_directory"] = str(spill)
    con = duckdb.connect(":memory:" if path is None else str(path), read_only=read_only, config=config)
    # No result depends on the machine's time zone; and a bar that DuckDB draws on stdout after two seconds would stand in the
    # middle of somebody's JSON.
    con.execute("SET TimeZone = 'UTC'")
    con.execute("SET enable_progress_bar = false")
    return con


def rows_of(result: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """What ``con.execute(...)`` returned, as one dict a row.

    Read to its end at once: DuckDB 2.0 keeps a connection busy while a result is unread.
    """
    columns = [column[0] for column in result.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


def make_temp_table(
    con: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]
) -> None:
    """Make a temporary table of a few rows; ``columns`` gives the SQL type of each, and none of them may be empty."""
    con.execute(f"CREATE TEMP TABLE {name} (" + ", ".join(f"{column} {kind} NOT NULL" for column, kind in columns.items()) + ")")
    # One list a column: DuckDB takes rows one by one only slowly.
    values = {column: [row[place] for row in rows] for place, column in enumerate(columns)}
    con.execute(
        f"INSERT INTO {name} SELECT " + ", ".join(f"unnest(${column}::{kind}[])" for column, kind in columns.items()), values
    )


@contextmanager
def held_open(paths: Iterable[Path]) -> Iterator[list[str]]:
    """Names under which DuckDB reads these very files until the end of the block, whatever a night puts into their places.

    DuckDB opens a Parquet file more than once: by its path it could read the foot of one file and the rows of another (E8).
    Raises OSError.
    """
    with ExitStack() as held:
        yield [f"/dev/fd/{held.enter_context(path.open('rb')).fileno()}" for path in paths]


def quoted(path: Path) -> str:
    """A path as a text of a statement, where no parameter can stand."""
    return "'" + str(path).replace("'", "''") + "'"
