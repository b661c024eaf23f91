"""Finding one game of a lake again: its verdict row, and the record as it was uploaded."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from replay.database import connect, rows_of
from replay.errors import InputError, MalformedRecord
from replay.lake import Lake
from replay.record import Record, check_object, parse_record


def find_rows(lake: Lake, game_id: str) -> list[dict[str, Any]]:
    """All verdict rows of a game id over all days, each with ``day``: the one that stands first, copies and conflicts after.

    Raises InputError when no day has it; a quarantined record of that id is named in the message.
    """

    lake.refresh("verdicts", "quarantine")
    days = lake.published_days()
    rows: list[dict[str, Any]] = []
    with connect(threads=2) as con:
        for kind in ("verdict", "quarantine"):
            files = [str(getattr(lake, f"{kind}_file")(day)) for day in days]
            files = [file for file in files if Path(file).exists()]
            if not files:
                continue
            found = con.execute(
                "select * from read_parquet(?, filename = true, hive_partitioning = false, union_by_name = true)"
                " where game_id = ?",
                [files, game_id],
            )
            rows += [row | {"day": lake.day_of(Path(row["filename"]))} for row in rows_of(found)]
            if rows and kind == "verdict":
                break
    if not rows:
        raise InputError(f"{lake.name}: no published day has a game {game_id!r}, check the id and that its night has run")
    if "verdict" not in rows[0]:
        row = rows[0]
        raise InputError(
            f"game {game_id!r} was quarantined on {row['day']} ({row['source_file']}, line {row['source_line']}): {row['reason']}"
        )
    order = {"verified": 0, "flagged": 1, "copy": 2}
    return sorted(rows, key=lambda r: (order[r["verdict"]], r["uploaded_at"], r["day"], r["source_file"], r["source_line"]))


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
