"""Finding one game of a lake again: its verdict row, and the record as it was uploaded."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from replay.database import connect, rows_of
from replay.errors import InputError, MalformedRecord
from replay.lake import Lake
from replay.record import Record, check_object, parse_record

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Uploads:
    """All uploads under one game id over all days: verdict rows and quarantined ones, each with ``day``.

    The verdict row that stands comes first, flagged and withheld ones after it, then copies, each in the order of uploads.
    """

    game_id: str
    rows: list[dict[str, Any]]
    quarantined: list[dict[str, Any]]


def find_uploads(lake: Lake, game_id: str) -> Uploads:
    """The uploads under an id, none of them where no published day has it."""
    lake.refresh("verdicts", "quarantine")
    days = lake.published_days()
    with connect(threads=2) as con:
        found = {
            kind: _rows_where(con, {day: getattr(lake, f"{kind}_file")(day) for day in days}, "game_id = ?", game_id)
            for kind in ("verdict", "quarantine")
        }
    order = {"verified": 0, "flagged": 1, "withheld": 1, "copy": 2}
    found["verdict"].sort(key=lambda r: (order[r["verdict"]], r["uploaded_at"], r["day"], r["source_file"], r["source_line"]))
    found["quarantine"].sort(key=lambda r: (r["day"], r["source_file"], r["source_line"]))
    return Uploads(game_id, found["verdict"], found["quarantine"])


def find_place(lake: Lake, day: date, file: str, line: int) -> Uploads:
    """The upload on one line of a landed file, whatever its id is, with all others under that id."""
    lake.refresh("verdicts", "quarantine")
    with connect(threads=2) as con:
        for kind in ("verdict", "quarantine"):
            files = {day: getattr(lake, f"{kind}_file")(day)}
            rows = _rows_where(con, files, "source_file = ? and source_line = ?", file, line)
            if rows and rows[0]["game_id"] is not None:
                return find_uploads(lake, rows[0]["game_id"])
            if rows:
                return Uploads("", [], rows)
    return Uploads("", [], [])


def _rows_where(
    con: duckdb.DuckDBPyConnection, files: Mapping[date, Path], condition: str, *values: object
) -> list[dict[str, Any]]:
    """The rows of Parquet files that meet a condition; of the others DuckDB reads only the columns that it names."""
    with ExitStack() as held:
        days: dict[str, date] = {}
        for day, path in files.items():
            try:
                handle = held.enter_context(path.open("rb"))
            except FileNotFoundError:
                continue
            # A file is read through the handle that is open: a night may put another one into its place meanwhile.
            days[f"/dev/fd/{handle.fileno()}"] = day
        if not days:
            return []
        found = con.execute(
            "select * from read_parquet(?, filename = true, hive_partitioning = false, union_by_name = true)"
            f" where {condition}",
            [list(days), *values],
        )
        rows = rows_of(found)
    return [{name: value for name, value in row.items() if name != "filename"} | {"day": days[row["filename"]]} for row in rows]


def find_rows(lake: Lake, game_id: str) -> list[dict[str, Any]]:
    """All verdict rows of a game id over all days, each with ``day``: the one that stands first, copies and conflicts after.

    Raises InputError when no day has it; a quarantined record of that id is named in the message.
    """
    found = find_uploads(lake, game_id)
    if found.rows:
        return found.rows
    if found.quarantined:
        row = found.quarantined[0]
        raise InputError(
            f"game {game_id!r} was quarantined on {row['day']} ({row['source_file']}, line {row['source_line']}): {row['reason']}"
        )
    raise InputError(f"{lake.name}: no published day has a game {game_id!r}, check the id and that its night has run")


def find_copies(lake: Lake, game_id: str) -> list[dict[str, Any]]:
    """All verdict rows, over all days, that are copies of a game of this id, each with ``day``, in the order of uploads."""
    lake.refresh("verdicts")
    days = {day: lake.verdict_file(day) for day in lake.published_days()}
    with connect(threads=2) as con:
        rows = _rows_where(con, days, "verdict = 'copy' and copy_of = ?", game_id)
    return sorted(rows, key=lambda row: (row["uploaded_at"], row["day"], row["source_file"], row["source_line"]))


def read_uploaded(lake: Lake, row: dict[str, Any]) -> Record:
    """The record that a verdict row was made from, read again from the landed file.

    Raises InputError when the file is gone or another record stands in its place: nobody is shown somebody else's game.
    """
    path = lake.day("logs", row["day"]) / row["source_file"]
    lake.fetch_logs([found for found in lake.log_files(row["day"])[0] if found == path])
    record = read_record(path, row["source_line"])
    for name in ("game_id", "challenge", "attempt", "score", "best_combo", "final_board"):
        if getattr(record, name) != row[name]:
            raise InputError(
                f"{path}: line {row['source_line']} is not the record that was verified any more ({name} is"
                f" {getattr(record, name)!a}, it was {row[name]!a})"
            )
    return record


def read_record(path: Path, line: int) -> Record:
    """The record on one line (row, in Parquet) of a landed file.  Raises InputError when it is not there any more."""
    try:
        if path.suffix == ".parquet":
            return _parquet_record(path, line)
        with open_log(path) as handle:
            found = next(islice(_lines(handle), line - 1, None), None)
        if found is None:
            raise InputError(f"{path}: has no line {line} any more, the landed file was changed")
        return parse_record(found.removeprefix(b"\xef\xbb\xbf") if line == 1 else found)
    except MalformedRecord as error:
        raise InputError(f"{path}: line {line} is not the record that was verified any more ({error})") from error
    except damage(path) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def damage(path: Path) -> tuple[type[Exception], ...]:
    """What reading a landed file may raise."""
    if path.suffix == ".zst":
        import zstandard

        return (OSError, zstandard.ZstdError)
    return (OSError, EOFError, zlib.error)


def _lines(handle: BinaryIO) -> Iterable[bytes]:
    for line in handle:
        yield line.rstrip(b"\n")


def open_log(path: Path) -> BinaryIO:
    """A landed NDJSON file, decompressed by its name."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if path.suffix == ".zst":
        import io

        import zstandard

        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(path.open("rb"), read_across_frames=True)
        return io.BufferedReader(reader)
    return path.open("rb")


def _parquet_record(path: Path, row: int) -> Record:
    from replay.parquet import read_batches, row_object

    before = 0
    for batch in read_batches(path):
        if row <= before + batch.num_rows:
            return check_object(row_object(batch, row - before - 1))
        before += batch.num_rows
    raise InputError(f"{path}: has no row {row} any more, the landed file was changed")
