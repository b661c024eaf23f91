"""Verifying files outside a lake (`replay verify`): the night's own steps in a temporary folder, in the input's order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from replay.database import connect
from replay.errors import InputError
from replay.present import quarantine_json, verdict_json
from replay.shards import Progress, plan_shards, verify_shard
from replay.verify import Verifier

# Relations are resolved as if all files had landed on one day; which one plays no part.
_DAY = date(2000, 1, 1)


def verify_files(
    files: Sequence[Path], verifier: Verifier, threads: int | None = None, progress: Progress | None = None
) -> Iterator[dict[str, Any]]:
    """One JSON object a record (``replay.present``), quarantined ones in their place, in the order of files and lines.

    Copies, conflicts and second logs are found among the given files.  A name with an unknown ending is read as NDJSON.
    Raises InputError for a file that cannot be opened or is given twice.
    """
    import pyarrow.parquet as pq

    from replay import publish
    from replay.clocks import find_odd_clocks
    from replay.relations import resolve

    _check_files(files)
    with tempfile.TemporaryDirectory(prefix="replay-verify-") as folder, connect() as con:
        staging = Path(folder)
        shards = plan_shards(files, name=str)
        results = [verify_shard(shard, verifier, staging, threads, progress) for shard in shards]
        parts = publish.parts_of(staging, results)
        wanted = publish.repeated_rows(publish.keys_of(parts), None)
        uploads = publish.uploads_of(parts, wanted, _DAY)
        relations = resolve(con, uploads) if len(uploads) else {}
        verdicts = staging / "verdicts.parquet"
        clocks = find_odd_clocks((batch for part in parts for batch in part.batches()), verifier.settings)
        publish.write_verdicts(verdicts, parts, relations, _DAY, clocks)
        aside = [row for part in parts for row in part.quarantined()]
        order = {str(path): index for index, path in enumerate(files)}
        aside.sort(key=lambda row: (order[row["source_file"]], row["source_line"]))
        waiting = iter(aside)
        next_aside = next(waiting, None)
        for batch in pq.ParquetFile(verdicts).iter_batches(batch_size=8192):
            for row in batch.to_pylist():
                here = (order[row["source_file"]], row["source_line"])
                while next_aside and (order[next_aside["source_file"]], next_aside["source_line"]) < here:
                    yield quarantine_json(next_aside)
                    next_aside = next(waiting, None)
                yield verdict_json(row, verifier.rulebook)
        while next_aside:
            yield quarantine_json(next_aside)
            next_aside = next(waiting, None)


def _check_files(files: Sequence[Path]) -> None:
    given: set[Path] = set()
    for path in files:
        if not path.is_file():
            what = "is no file but a folder or a pipe (a pipe can be standard input, -)" if path.exists() else "no such file"
            raise InputError(f"{path}: {what}, give files with one game a line or Parquet files")
        try:
            # The name goes into every row of the file's games, as text.
            str(path).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"{str(path)!a}: the name of this file is not UTF-8, rename it") from error
        if path.resolve() in given:
            raise InputError(f"{path}: is given twice, every game in it would be its own copy")
        given.add(path.resolve())
