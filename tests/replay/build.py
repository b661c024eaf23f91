"""Records as text, honest and broken, and reading them back by every way that the product has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from replay import ndjson, parquet
from replay.columns import Quarantined, RecordBatch
from replay.errors import MalformedRecord
from replay.record import FIELDS, TIME, Record, format_time, parse_record
from replay.verify import VERDICT_SCHEMA, VerifiedBatch

# One valid record, whose line the compiled scan takes.
VALID: dict[str, Any] = {
    "game_id": "g-1", "game": "blocks", "mode": "daily", "rules": "1.2.0", "challenge": "2026-10-31", "player_id": "p-1",
    "player_kind": "human", "nation": "FR", "attempt": 1, "platform": "android", "app_version": "3.2.0",
    "started_at": "2026-10-31T12:00:00Z", "finished_at": "2026-10-31T12:05:00.25Z", "uploaded_at": "2026-10-31T12:05:01.123456Z",
    "moves": "1a1 2b2*3c3", "score": 1234, "best_combo": 2, "final_board": "3##3/8",
}  # fmt: skip
# An unknown field whose text has an escape: the whole line goes the careful way.
CAREFUL = ', "note": "caf\\u00e9"'


class Raw(str):
    """JSON text that stands in a line as it is written."""

    __slots__ = ()


class Missing:
    """A field that is left out."""


def value(given: Any) -> str:
    return str(given) if isinstance(given, Raw) else json.dumps(given)


def line(tail: str = "", /, **changes: Any) -> bytes:
    """The valid record's line with some fields changed, left out (Missing) or added; ``tail`` stands before the last brace."""
    cells = {**VALID, **changes}
    return ("{" + ", ".join(f'"{k}": {value(v)}' for k, v in cells.items() if v is not Missing) + tail + "}").encode(
        "utf-8", "surrogateescape"
    )


def record(**changes: Any) -> Record:
    return parse_record(line(**changes))


def as_object(found: Record) -> dict[str, Any]:
    """A record as the fields of its line; an optional field that claims nothing is left out."""
    return {
        name: format_time(given) if FIELDS.get(name) == TIME else given
        for name, given in asdict(found).items()
        if name in FIELDS or given is not None
    }


def as_line(found: Record) -> bytes:
    return json.dumps(as_object(found)).encode()


@dataclass
class Read:
    """All that a file gave: records and quarantined lines by their number in the file, and what was counted."""

    records: dict[int, Record]
    quarantined: dict[int, Quarantined]
    received: int
    scanned: int

    def codes(self) -> dict[int, str]:
        return {number: found.code for number, found in self.quarantined.items()}


def collect(batches: Iterable[RecordBatch]) -> Read:
    """Batches of one file put together; checks on the way that no line has two fates and that none is uncounted."""
    read = Read({}, {}, 0, 0)
    for batch in batches:
        numbers = [read.scanned + int(number) for number in batch.lines]
        assert numbers == sorted(numbers)
        read.records |= {number: batch.record(row) for row, number in enumerate(numbers)}
        aside = [replace(q, line=q.line + read.scanned) for q in batch.quarantined]
        assert [q.line for q in aside] == sorted(q.line for q in aside)
        read.quarantined |= {q.line: q for q in aside}
        assert batch.received == len(batch) + len(batch.quarantined)
        read.received += batch.received
        read.scanned += batch.scanned
    assert not set(read.records) & set(read.quarantined)
    assert read.received == len(read.records) + len(read.quarantined)
    assert max([0, *read.records, *read.quarantined]) <= read.scanned
    return read


def read_file(path: Path, chunk_bytes: int = ndjson.CHUNK_BYTES) -> Read:
    """An NDJSON file as a shard reads it; a damaged one is given up."""
    chunks = ndjson.read_chunks(path, chunk_bytes=chunk_bytes)
    damage = ndjson.find_damage(path) if path.suffix in (".gz", ".zst") else None
    return collect(ndjson.give_up(chunk, damage) if damage else ndjson.scan_chunk(chunk) for chunk in chunks)


def read_bytes(data: bytes, *more: bytes) -> Read:
    """The bytes of a plain file, in one piece or several."""
    return collect(map(ndjson.scan_chunk, ndjson.split_lines(iter((data, *more)))))


def read_table(table: pa.Table, rows: int | None = None) -> Read:
    return collect(map(parquet.scan_batch, table.to_batches(max_chunksize=rows)))


def table(*objects: dict[str, Any], **types: pa.DataType) -> pa.Table:
    """Records as columns; some of other types."""
    # Arrow takes the columns from the first object.
    more = dict.fromkeys(name for each in objects for name in each if name not in objects[0])
    found = pa.Table.from_pylist([more | each for each in objects])
    for name, kind in types.items():
        at = found.schema.get_field_index(name)
        found = found.set_column(at, name, pa.array(found.column(name).to_pylist(), kind))
    return found


@contextmanager
def careful_lines() -> Iterator[list[bytes]]:
    """The lines that go the careful way meanwhile: all others were taken by the compiled scan."""
    seen: list[bytes] = []
    real = ndjson.parse_json

    def spy(text: bytes) -> dict[str, Any]:
        seen.append(text)
        return real(text)

    ndjson.parse_json = spy
    try:
        yield seen
    finally:
        ndjson.parse_json = real


def refusal(text: bytes) -> MalformedRecord | None:
    """What the authority has against a line."""
    try:
        parse_record(text)
    except MalformedRecord as problem:
        return problem
    return None


def batch_of(records: list[Record], tail: bytes = b"") -> RecordBatch:
    """Records as the reader of lines hands them on; ``tail`` stands before each line's last brace."""
    data = b"\n".join(text[:-1] + tail + b"}" for text in map(as_line, records)) + b"\n"
    return ndjson.scan_chunk(ndjson.Chunk(bytearray(data) + bytes(16), len(data)))


def rows_of(verified: VerifiedBatch) -> list[dict[str, Any]]:
    """Verdict rows as they are written."""
    rows: list[dict[str, Any]] = pa.Table.from_batches([verified.rows]).cast(VERDICT_SCHEMA).to_pylist()
    return rows
