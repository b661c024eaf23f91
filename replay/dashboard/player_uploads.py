"""What the verdict files say of one player: their uploads, and the same logs of others.

Files hold a day's rows in no order of players, so each has to be read as a whole.  What was found in a file is kept while that
very file lies there: a second look at a player reads the files that a night has replaced since, and no others.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from datetime import date
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from replay.reviews.releases import Group, as_released

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# A few rows each: some hundred players of a month.
MOST_FOUND = 20_000
Identity = tuple[int, ...]


class _Found:
    """What was found in files, by the file's identity and what was looked for; the oldest goes first."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._held: OrderedDict[tuple[Identity, Hashable], pa.Table] = OrderedDict()

    def get(self, file: Identity, wanted: Hashable) -> pa.Table | None:
        with self._lock:
            found = self._held.get((file, wanted))
            if found is not None:
                self._held.move_to_end((file, wanted))
            return found

    def keep(self, file: Identity, wanted: Hashable, table: pa.Table) -> None:
        with self._lock:
            self._held[file, wanted] = table
            while len(self._held) > self._most:
                self._held.popitem(last=False)


_UPLOADS, _LOGS = _Found(MOST_FOUND), _Found(MOST_FOUND)


def attach_uploads(
    con: duckdb.DuckDBPyConnection, files: Sequence[str], days: Sequence[date], player_id: str, released: Collection[Group]
) -> None:
    """Make ``player_uploads`` (sql/pages/player_uploads.sql) on ``con``: ``files`` are held open, each of one of ``days``.

    Withheld uploads of the ``released`` groups are flagged ones there.
    """
    from replay.standings_queries import read_sql

    def look(some: list[int]) -> pa.Table:
        asked = {"files": [files[at] for at in some], "days": [days[at] for at in some], "player_id": player_id}
        return con.sql(read_sql("pages/player_uploads"), params=asked).to_arrow_table()

    con.register("player_uploads", _after_releases(_gather(_UPLOADS, files, player_id, look), released))


def _after_releases(uploads: pa.Table, released: Collection[Group]) -> pa.Table:
    import pyarrow as pa

    if not released or "withheld" not in uploads.column("verdict").unique().to_pylist():
        return uploads
    rows = [as_released(row, released) for row in uploads.to_pylist()]
    return pa.Table.from_pylist(rows, uploads.schema)


def attach_same_logs(con: duckdb.DuckDBPyConnection, files: Sequence[str]) -> None:
    """Make ``uploads_of_logs`` (sql/pages/player_log_rows.sql): uploads of anybody that may have a log of those."""
    from replay.standings_queries import read_sql

    hashes = con.execute("SELECT DISTINCT log_hash_low FROM player_uploads ORDER BY log_hash_low").fetchall()
    wanted = tuple(low for (low,) in hashes)

    def look(some: list[int]) -> pa.Table:
        asked = {"files": [files[at] for at in some], "hashes": list(wanted)}
        return con.sql(read_sql("pages/player_log_rows"), params=asked).to_arrow_table()

    con.register("uploads_of_logs", _gather(_LOGS, files, wanted, look))


def _gather(found: _Found, files: Sequence[str], wanted: Hashable, look: Callable[[list[int]], pa.Table]) -> pa.Table:
    """What all files hold of what is wanted; ``look`` reads some of them, by number, and says in ``file`` whose a row is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    identities = [_identity(file) for file in files]
    held = [found.get(identity, wanted) for identity in identities]
    missing = [at for at, table in enumerate(held) if table is None]
    if missing:
        rows = look(missing)
        names = rows.column("file")
        for at in missing:
            held[at] = rows.filter(pc.equal(names, files[at])).drop_columns("file")
            found.keep(identities[at], wanted, held[at])
    return pa.concat_tables(table for table in held if table is not None)


def _identity(file: str) -> Identity:
    """What tells a file from any other that lies in its place later."""
    stat: Any = os.stat(Path(file))
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
