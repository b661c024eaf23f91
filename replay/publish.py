"""Publishing a verified day: relations between uploads, the verdict and quarantine files, run.json, all at once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine import ENGINE_VERSION
from replay.clocks import Place, find_odd_clocks, mark_clock
from replay.database import connect, quoted, rows_of
from replay.errors import CountsDoNotAddUp, InputError, NightError, first_line
from replay.lake import Lake, Publication
from replay.relations import (
    KEY_COLUMNS,
    UPLOAD_COLUMNS,
    Identity,
    Relation,
    apply_relation,
    identities,
    related_elsewhere,
    resolve,
)  # fmt: skip
from replay.shards import ShardResult
from replay.verdict import PROCESSING_VERSION
from replay.verify import VERDICT_SCHEMA
from replay.withheld import Held, Limits, as_found, days_of, hold_back

if TYPE_CHECKING:
    import duckdb

    from replay.night import NightSettings, Pulled

ROW_GROUP = 131_072
QUARANTINE_SCHEMA = pa.schema(
    [
        ("game_id", pa.string()),
        ("code", pa.string()),
        ("reason", pa.string()),
        ("source_file", pa.string()),
        ("source_line", pa.int64()),
    ]
)
# Columns with few values; a dictionary of ids or boards would only be thrown away again when it has grown too large.
_DICTIONARY_COLUMNS = [
    "game", "mode", "rules", "challenge", "player_kind", "nation", "attempt", "platform", "app_version", "best_combo", "verdict",
    "reason_codes.list.element", "reasons", "suspicions.list.element", "evidence", "replayed_best_combo", "moves",
    "moves_received", "choices", "fault_kind", "fault_text", "source_file", "engine_version", "processing_version",
]  # fmt: skip
_PARQUET: dict[str, Any] = {"compression": "zstd", "compression_level": 1, "use_dictionary": _DICTIONARY_COLUMNS}
_DECIDED = ("verdict", "counted", "reason_codes", "reasons", "suspicions", "evidence", "copy_of")


@dataclass(frozen=True)
class _Part:
    """A verified shard in the staging folder; ``first_line`` lines of its file come before it."""

    stem: Path
    name: str
    first_line: int

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Its verdict rows with true line numbers, dictionaries as they were written."""
        at = VERDICT_SCHEMA.get_field_index("source_line")
        with pa.memory_map(str(self.stem.with_suffix(".arrow"))) as source, pa.ipc.open_stream(source) as reader:
            for batch in reader:
                if self.first_line:
                    lines = pa.array(batch.column(at).to_numpy() + self.first_line)
                    batch = batch.set_column(at, "source_line", lines)
                yield batch

    def quarantined(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.stem.with_suffix(".quarantine.json").read_text("utf-8"))
        return [
            {
                "game_id": row["game_id"], "code": row["code"], "reason": row["reason"], "source_file": self.name,
                "source_line": row["line"] + self.first_line,
            }
            for row in rows
        ]  # fmt: skip


def parts_of(staging: Path, results: list[ShardResult]) -> list[_Part]:
    """The shards in the order of files and lines, each knowing how many lines come before it."""
    parts, lines = [], Counter[str]()
    for result in sorted(results, key=lambda r: r.number):
        parts.append(_Part(staging / f"shard-{result.number:05d}", result.name, lines[result.name]))
        lines[result.name] += result.scanned
    return parts


def stage_day(
    publication: Publication, lake: Lake, day: date, pulled: Pulled, results: list[ShardResult], settings: NightSettings
) -> dict[str, Any]:
    """Stage a verified day's files and those of the days that its uploads touch; returns run.json's content.

    Raises CountsDoNotAddUp when a record is missing from the rows, PlantedMissed and EngineDisagreement when the night cannot be
    trusted (``replay.planted``), and NightError when DuckDB cannot relate the uploads (its memory is too small for instance);
    then nothing may be published.
    """
    import duckdb

    from replay.night import staging_of

    # DuckDB's own choice would be a folder where the process happens to stand.
    spill = staging_of(lake, day) / "spill"
    try:
        with connect(memory_limit=settings.memory_limit, threads=settings.threads, spill=spill) as con:
            return _stage_day(con, publication, lake, day, pulled, results, settings)
    except duckdb.Error as error:
        why = first_line(error)
        raise NightError(f"{day}: the uploads cannot be related to each other ({why}); nothing is published") from error


def _stage_day(
    con: duckdb.DuckDBPyConnection, publication: Publication, lake: Lake, day: date, pulled: Pulled,
    results: list[ShardResult], settings: NightSettings,
) -> dict[str, Any]:  # fmt: skip
    from replay.night import staging_of
    from replay.planted import prove

    parts = parts_of(staging_of(lake, day), results)
    elsewhere, relations = _relate(con, lake, day, parts)
    verdicts = publication.stage(lake.verdict_file(day))
    clocks = find_odd_clocks((batch for part in parts for batch in part.batches()), settings.judge)
    own = {key: value for key, value in relations.items() if key[0] == day}
    days = days_of(publication, lake, day, settings.withhold, elsewhere)
    held = hold_back(con, day, found_rows(parts, own, day, clocks), days, settings.withhold)
    write_verdicts(verdicts, parts, own, day, clocks, held)
    quarantine = publication.stage(lake.quarantine_file(day))
    rows = sorted((row for part in parts for row in part.quarantined()), key=lambda r: (r["source_file"], r["source_line"]))
    pq.write_table(pa.Table.from_pylist(rows, QUARANTINE_SCHEMA), quarantine, compression="zstd")
    run = _describe(con, day, pulled, results, settings, verdicts, rows, held)
    run |= prove(con, staging_of(lake, day) / "proof", day, parts, keys_of(parts), settings).as_json()
    # Before the days that are decided again against this one.
    publication.stage(lake.run_file(day)).write_text(run_text(run), "utf-8")
    related = {day, *elsewhere}
    for other in sorted(elsewhere):
        _restate(con, lake, other, elsewhere[other], relations, publication, settings.withhold, related)
    return run


def run_text(run: dict[str, Any]) -> str:
    """What run.json holds, as its text."""
    return json.dumps(run, indent=2, ensure_ascii=True) + "\n"


def _relate(
    con: duckdb.DuckDBPyConnection, lake: Lake, day: date, parts: list[_Part]
) -> tuple[dict[date, list[Identity]], dict[Identity, Relation]]:
    """(related uploads of other days by day, all relations of those and of this day's)."""
    keys = keys_of(parts)
    wanted = pa.table({name: keys[i] for i, name in enumerate(KEY_COLUMNS)})
    previous = lake.verdict_file(day)
    if previous.exists():
        # What this day held before may have left marks on other days that must go.
        wanted = pa.concat_tables([wanted, read_verdicts(previous, list(KEY_COLUMNS))])
    others = [(other, lake.verdict_file(other)) for other in lake.published_days() if other != day]
    found = related_elsewhere(con, wanted, others)
    uploads = uploads_of(parts, repeated_rows(keys, found), day)
    if found is not None and len(found):
        uploads = pa.concat_tables([uploads, found.select(uploads.column_names).cast(uploads.schema)])
    by_day: dict[date, list[Identity]] = {}
    for identity in identities(found) if found is not None else ():
        by_day.setdefault(identity[0], []).append(identity)
    return by_day, resolve(con, uploads) if len(uploads) else {}


def keys_of(parts: list[_Part]) -> np.ndarray:
    """The parts' keys, KEY_COLUMNS x rows."""
    return np.concatenate(
        [np.load(part.stem.with_suffix(".keys.npy")) for part in parts] or [np.zeros((3, 0), np.uint64)], axis=1
    )


def repeated_rows(keys: np.ndarray, elsewhere: pa.Table | None) -> np.ndarray:
    """Which rows, by their ``keys_of``, may be related to another one of them or to one of ``elsewhere``."""
    repeated = np.zeros(keys.shape[1], np.bool_)
    for i, name in enumerate(KEY_COLUMNS):
        outside = elsewhere.column(name).to_numpy() if elsewhere is not None and len(elsewhere) else np.zeros(0, np.uint64)
        repeated |= _repeated(keys[i], outside, zero_is_none=i > 0)
    return repeated


def _repeated(keys: np.ndarray, outside: np.ndarray, zero_is_none: bool) -> np.ndarray:
    """Rows whose key another row of the day, or one of ``outside``, has too."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    repeated: np.ndarray = counts[inverse] > 1
    if len(outside):
        repeated |= np.isin(keys, outside)
    return repeated & (keys != 0) if zero_is_none else repeated


def uploads_of(parts: list[_Part], wanted: np.ndarray, day: date) -> pa.Table:
    """The wanted rows of the day as ``resolve`` takes them."""
    schema = pa.schema([*(VERDICT_SCHEMA.field(name) for name in UPLOAD_COLUMNS), ("day", pa.date32())])
    tables, row = [], 0
    for part in parts:
        for batch in part.batches():
            here = np.flatnonzero(wanted[row : row + batch.num_rows])
            row += batch.num_rows
            if len(here):
                picked = pa.Table.from_batches([batch.select(UPLOAD_COLUMNS).take(pa.array(here))])
                days = pa.array([day] * len(here), pa.date32())
                tables.append(picked.append_column("day", days).cast(schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()


def write_verdicts(
    path: Path, parts: list[_Part], relations: dict[Identity, Relation], day: date, clocks: Mapping[Place, Mapping[str, Any]],
    held: Held = Held(),
) -> None:  # fmt: skip
    """One file in the order of files and lines, in row groups of ROW_GROUP rows whatever the shards were.

    ``clocks`` are the odd ones that ``replay.clocks`` found among all rows, ``held`` what is held back of them.
    """
    with pq.ParquetWriter(path, VERDICT_SCHEMA, **_PARQUET) as writer:
        waiting: list[pa.Table] = []
        size = row = 0
        for batch in found_rows(parts, relations, day, clocks):
            table = held.mark(pa.Table.from_batches([batch]).cast(VERDICT_SCHEMA), row)
            waiting.append(table)
            size, row = size + len(table), row + len(table)
            while size >= ROW_GROUP:
                joined = pa.concat_tables(waiting)
                writer.write_table(joined.slice(0, ROW_GROUP), row_group_size=ROW_GROUP)
                waiting, size = [joined.slice(ROW_GROUP)], size - ROW_GROUP
        if size:
            writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP)


def found_rows(
    parts: list[_Part], relations: dict[Identity, Relation], day: date, clocks: Mapping[Place, Mapping[str, Any]]
) -> Iterator[pa.RecordBatch]:
    """The day's verdict rows as they were found, relations and odd clocks with them, dictionaries as the shards wrote them."""
    touched = {(file, line) for _, file, line in relations} | set(clocks)
    lines = np.unique(np.array([line for _, line in touched], np.int64))
    for part in parts:
        for batch in part.batches():
            yield _apply(batch, touched, lines, relations, day, clocks)


def _apply(
    batch: pa.RecordBatch,
    touched: set[tuple[str, int]],
    touched_lines: np.ndarray,
    relations: dict[Identity, Relation],
    day: date,
    clocks: Mapping[Place, Mapping[str, Any]] = MappingProxyType({}),
) -> pa.RecordBatch:
    """The batch with the rows at ``touched`` (file, line) as their relations, or the lack of one, make them."""
    source = batch.column("source_line").to_numpy()
    likely = np.flatnonzero(np.isin(source, touched_lines))
    # Files have lines of the same number: only both together name a row.
    files = batch.column("source_file").take(pa.array(likely)).to_pylist()
    here = [int(row) for row, file in zip(likely, files, strict=True) if (file, int(source[row])) in touched]
    if not here:
        return batch
    before = batch.select((*_DECIDED, "attempt_key", "source_file", "source_line")).take(pa.array(here)).to_pylist()
    for old in before:
        numbers = clocks.get((old["source_file"], old["source_line"]))
        if numbers is not None:
            old |= mark_clock(old, numbers)
    changes = {
        row: apply_relation(old, relations.get((day, old["source_file"], old["source_line"])))
        for row, old in zip(here, before, strict=True)
    }
    # The new values stand behind the old ones and the rows that changed take them from there.
    take = np.arange(batch.num_rows)
    take[here] = batch.num_rows + np.arange(len(here))
    for name in _DECIDED:
        kind = VERDICT_SCHEMA.field(name).type
        old_values = batch.column(name).cast(kind)
        new_values = pa.array([changes[row][name] for row in here], kind)
        patched = pa.concat_arrays([old_values, new_values]).take(pa.array(take))
        batch = batch.set_column(batch.schema.get_field_index(name), name, patched)
    return batch


def read_verdicts(path: Path, columns: list[str] | None = None) -> pa.Table:
    """A published verdict file; columns that came after its processing version are null.  Raises InputError when unreadable."""
    wanted = columns or VERDICT_SCHEMA.names
    try:
        file = pq.ParquetFile(path)
        held = set(file.schema_arrow.names)
        table = file.read([name for name in wanted if name in held])
        for name in wanted:
            if name not in held:
                table = table.append_column(VERDICT_SCHEMA.field(name), pa.nulls(len(table), VERDICT_SCHEMA.field(name).type))
        return table.select(wanted)
    except (OSError, pa.ArrowException) as error:
        why = first_line(error)
        raise InputError(f"{path}: cannot be read ({why}); delete it and run the night of that day again") from error


def write_table(path: Path, rows: pa.Table) -> None:
    """Write a day's verdict rows as ``write_verdicts`` does."""
    pq.write_table(rows, path, row_group_size=ROW_GROUP, **_PARQUET)


def _restate(
    con: duckdb.DuckDBPyConnection, lake: Lake, day: date, touched: list[Identity], relations: dict[Identity, Relation],
    publication: Publication, limits: Limits, related: Collection[date],
) -> None:  # fmt: skip
    """Stage another day's verdicts again when the relations of its uploads changed, and its run.json with them.

    What of its flags is held back is decided again then, from its rows, the days before it and what counted on the ``related``.
    """
    table = as_found(read_verdicts(lake.verdict_file(day)))
    places = {(file, line) for _, file, line in touched}
    lines = np.unique(np.array([line for _, line in places], np.int64))
    batches = [_apply(batch, places, lines, relations, day).cast(VERDICT_SCHEMA) for batch in table.to_batches(ROW_GROUP)]
    restated = pa.Table.from_batches(batches, VERDICT_SCHEMA)
    if restated.select(_DECIDED).equals(table.select(_DECIDED)):
        return
    days = days_of(publication, lake, day, limits, related)
    held = hold_back(con, day, restated.to_batches(), days, limits)
    staged = publication.stage(lake.verdict_file(day))
    write_table(staged, held.mark(restated))
    run = json.loads(lake.run_file(day).read_text("utf-8"))
    run |= _count_verdicts(con, staged) | {"incidents": list(held.incidents), "withhold": asdict(limits)}
    publication.stage(lake.run_file(day)).write_text(run_text(run), "utf-8")


def _count_verdicts(con: duckdb.DuckDBPyConnection, verdicts: Path) -> dict[str, Any]:
    """The parts of run.json that are counted from the verdict file as it was written."""
    from replay.relations import SQL

    con.execute(f"create or replace temp view verdicts as select * from read_parquet({quoted(verdicts)})")
    (counted,) = rows_of(con.execute((SQL / "count_verdicts.sql").read_text("utf-8")))
    lists = {
        name: dict(con.execute((SQL / "count_codes.sql").read_text("utf-8").format(column=name, left_out=left_out)).fetchall())
        for name, left_out in (("reason_codes", "'copy', 'withheld'"), ("suspicions", "'copy'"))
    }
    con.execute("drop view verdicts")
    return {
        "verdicts": counted, "reasons": lists["reason_codes"], "suspicions": lists["suspicions"],
        "verdict_file": sha256_of(verdicts),
    }  # fmt: skip


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file.  Of a day's verdicts run.json has it, so that it tells any two sets of rows apart."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _describe(
    con: duckdb.DuckDBPyConnection, day: date, pulled: Pulled, results: list[ShardResult], settings: NightSettings,
    verdicts: Path, quarantine: list[dict[str, Any]], held: Held,
) -> dict[str, Any]:  # fmt: skip
    """run.json: a function of the inputs and the published rows, without times, so that the same night gives the same file."""
    counted = _count_verdicts(con, verdicts)
    received = sum(result.received for result in results)
    rows = sum(counted["verdicts"][name] for name in ("verified", "flagged", "withheld", "copy"))
    if received != rows + len(quarantine):
        raise CountsDoNotAddUp(
            f"{day}: {received} records came in, but {rows} verdicts and {len(quarantine)} quarantined rows came out;"
            " nothing is published, report this as a bug"
        )
    moves = counted["verdicts"]
    if moves["moves_replayed"] != moves["moves_received"]:
        raise CountsDoNotAddUp(
            f"{day}: verified games hold {moves['moves_received']} moves, but {moves['moves_replayed']} were replayed;"
            " nothing is published, report this as a bug"
        )
    by_file = Counter[str]()
    for result in results:
        by_file[result.name] += result.received
    rulebook = settings.rulebook()
    return {
        "day": day.isoformat(),
        "records": received,
        **counted,
        "incidents": list(held.incidents),
        "quarantined": len(quarantine),
        "quarantine_codes": dict(sorted(Counter(row["code"] for row in quarantine).items())),
        "engine_version": ENGINE_VERSION,
        "processing_version": PROCESSING_VERSION,
        "rules": {f"{game}/{version}": digest for (game, version), digest in sorted(rulebook.hashes.items())},
        "limits": asdict(settings.judge),
        "withhold": asdict(settings.withhold),
        "challenges": hashlib.sha256(settings.challenges_file.read_bytes()).hexdigest(),
        "players": hashlib.sha256(settings.players_file.read_bytes()).hexdigest(),
        "inputs": [{**entry, "records": by_file[entry["file"]]} for entry in pulled.inputs],
        "left_alone": list(pulled.left_alone),
        "left_waiting": [asdict(entry) for entry in pulled.left_waiting],
    }
