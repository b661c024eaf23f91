"""Reading Parquet: the same columns as NDJSON, the same strictness, straight over Arrow's buffers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.batch import TextColumn
from engine.compiled import jit
from replay import record
from replay import scan_kernel as sk
from replay.columns import NUMBER_FIELDS, TEXT_FIELDS, Ints, Quarantined, RecordBatch, Truths, empty_batch, nation_table
from replay.errors import DamagedInput, InputError, MalformedRecord, first_line
from replay.record import (
    FIELDS,
    FIRST_TIME,
    INTEGER,
    LAST_TIME,
    MAX_RECORD_BYTES,
    OPTIONAL_NAMES,
    TEXT_LIMITS,
    TIME,
    check_object,
    format_time,
    id_to_show,
)

_jit = jit(sk, record)

BATCH_ROWS = 32_768
BATCH_BYTES = 64 << 20
# A full batch may have so many bytes if every row held the longest texts that are stored once for many rows: 5 KiB a row, as the
# longest logs of a day have.  Where it might have more, a batch has as many rows as surely fit into BATCH_BYTES.
REPEATED_BYTES = 160 << 20
# A column that cannot have more in a batch is not looked into.
_SURE_BYTES = 1 << 20
_LOOK_BUFFER = 1 << 16
_LOOK_BYTES = 256 << 20
# Stands for every nested type, whose values are not read.
_NESTED = pa.scalar({}, pa.struct([]))
_NO_TIME = -(2**63)


@_jit
def _scan_times(data, starts, ends, out):  # type: ignore[no-untyped-def]
    for row in range(len(starts)):
        out[row] = sk.scan_time(data, starts[row], ends[row]) if starts[row] >= 0 else -(2**63)


@_jit
def _check_rows(  # type: ignore[no-untyped-def]
    kind, kind_starts, kind_ends, nation, nation_starts, nation_ends, game, game_starts, game_ends, started, finished,
    uploaded, nations, fine,
):  # fmt: skip
    for row in range(len(fine)):
        if fine[row]:
            fine[row] = sk.check_values(
                kind, kind_starts[row], kind_ends[row], nation, nation_starts[row], nation_ends[row],
                game, game_starts[row], game_ends[row], started[row], finished[row], uploaded[row], nations,
            )  # fmt: skip


@_jit
def _mark_claiming(data, starts, ends, claiming):  # type: ignore[no-untyped-def]
    """Rows of the games that have optional fields."""
    for row in range(len(starts)):
        claiming[row] = starts[row] >= 0 and sk.has_optional_fields(data, starts[row], ends[row])


@_jit
def _mark_foreign(data, starts, ends, fine):  # type: ignore[no-untyped-def]
    """Rows with a byte beyond ASCII must be looked at one by one: Parquet readers do not check UTF-8."""
    for row in range(len(starts)):
        for pos in range(starts[row], ends[row]):
            if data[pos] > 127:
                fine[row] = False


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a file; raises DamagedInput when it is no Parquet, InputError when it cannot be opened."""
    try:
        # Where a writer left checksums they are looked at, as those of gzip and zstd are.
        file = pq.ParquetFile(path, page_checksum_verification=True)
        # Columns are asked for by their names, nested ones too: a name that is no text would stop whoever looks one up.
        _ = file.schema_arrow.names, [file.schema.column(at).path for at in range(len(file.schema))]
    except UnicodeDecodeError as error:
        raise DamagedInput(f"{path}: cannot be read as Parquet (a column's name is not UTF-8), land it again") from error
    except OSError as error:
        if error.strerror:
            raise InputError(f"{path}: cannot be read ({error.strerror}), check the path and its rights") from error
        raise DamagedInput(f"{path}: cannot be read as Parquet ({first_line(error)}), land it again") from error
    except pa.ArrowException as error:
        raise DamagedInput(f"{path}: cannot be read as Parquet ({first_line(error)}), land it again") from error
    return file


def read_batches(path: Path, row_groups: list[int] | None = None) -> Iterator[pa.RecordBatch]:
    """Record batches of at most BATCH_ROWS rows with the record's columns only; extra columns are left unread.

    Raises DamagedInput when the file is none, or is damaged behind its footer.
    """
    file = open_parquet(path)
    schema = file.schema_arrow
    columns = [name for name in (*FIELDS, *OPTIONAL_NAMES) if name in schema.names]
    # No field is nested, and one value of such a column may hold a text a million times: its values are not even read.
    nested = [name for name in columns if any(pa.types.is_nested(field.type) for field in schema if field.name == name)]
    flat = [name for name in columns if name not in nested]
    groups = list(range(file.metadata.num_row_groups)) if row_groups is None else row_groups
    rows = min(_batch_rows(file.metadata, groups), _repeated_rows(path, file, groups, flat))
    batches = file.iter_batches(batch_size=rows, row_groups=groups, columns=flat)
    while True:
        try:
            batch = next(batches, None)
        except (OSError, pa.ArrowException) as error:
            raise DamagedInput(f"{path}: is damaged, its rows cannot be read ({first_line(error)}); land it again") from error
        if batch is None:
            return
        for name in nested:
            batch = batch.append_column(name, pa.repeat(_NESTED, batch.num_rows))
        yield batch


def _batch_rows(metadata: pq.FileMetaData, groups: list[int]) -> int:
    """Rows a batch: BATCH_ROWS, or fewer where they are so large that as many would not fit into BATCH_BYTES."""
    sizes = [(metadata.row_group(group).total_byte_size, metadata.row_group(group).num_rows) for group in groups]
    largest = max((size // max(rows, 1) for size, rows in sizes), default=0)
    return max(1, min(BATCH_ROWS, BATCH_BYTES // max(largest, 1)))


def _repeated_rows(path: Path, file: pq.ParquetFile, groups: list[int], columns: list[str]) -> int:
    """Rows a batch where a text that the file has once may stand in each row.

    No size in the metadata tells it: a dictionary's text counts once there, however many rows it is in.
    """
    largest = max((_repeated_bytes(path, file.metadata, group, columns) for group in groups), default=0)
    return BATCH_ROWS if largest * BATCH_ROWS <= REPEATED_BYTES else max(1, BATCH_BYTES // largest)


def _repeated_bytes(path: Path, metadata: pq.FileMetaData, group: int, columns: list[str]) -> int:
    """The most bytes that one row of a row group can have of texts that may be stored once for many rows."""
    of_group = metadata.row_group(group)
    total, dictionaries = 0, {}
    for chunk in map(of_group.column, range(of_group.num_columns)):
        name, size = chunk.path_in_schema, chunk.total_uncompressed_size
        if name not in columns or chunk.physical_type not in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
            continue
        # Each value is stored once at least, so none is longer than its column is.
        if chunk.physical_type == "FIXED_LEN_BYTE_ARRAY" or size * min(of_group.num_rows, BATCH_ROWS) <= _SURE_BYTES:
            total += size
        elif "DELTA_BYTE_ARRAY" in chunk.encodings:
            # A text is stored as far as it differs from the one before.
            total += _longest_text(path, metadata, group, {name: size}, max(1, _LOOK_BYTES // size))
        elif any(encoding.endswith("_DICTIONARY") for encoding in chunk.encodings):
            dictionaries[name] = size
    return total + _longest_text(path, metadata, group, dictionaries) if dictionaries else total


def _longest_text(path: Path, metadata: pq.FileMetaData, group: int, sizes: dict[str, int], rows: int | None = None) -> int:
    """The length of the longest text of each of these columns, added up: of their dictionaries, which the first row brings, or
    with ``rows`` of all values, so many at a time.  ``sizes`` are the columns' own."""
    found = dict.fromkeys(sizes, 0)
    try:
        with pq.ParquetFile(
            path, metadata=metadata, read_dictionary=None if rows else list(sizes), buffer_size=_LOOK_BUFFER,
            page_checksum_verification=True,
        ) as file:  # fmt: skip
            for batch in file.iter_batches(batch_size=rows or 1, row_groups=[group], columns=list(sizes)):
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
                    found[name] = max(found[name], pc.max(pc.binary_length(texts)).as_py() or 0)
                if not rows:
                    break
    except (OSError, pa.ArrowException):
        # Reading the rows will say what is the matter; until then few at a time.
        return sum(min(size, MAX_RECORD_BYTES) for size in sizes.values())
    return sum(found.values())


def scan_batch(batch: pa.RecordBatch) -> RecordBatch:
    """The records of one batch; rows count from 1 within it.  Never raises for what the columns hold."""
    rows = batch.num_rows
    fine = np.ones(rows, np.bool_)
    texts: dict[str, TextColumn] = {}
    numbers: dict[str, Ints] = {}
    # Types belong to the column, so one wrong type sends every row to the careful way, which names the field.
    names = batch.schema.names
    usable = all(names.count(name) == 1 for name in FIELDS) and all(names.count(name) <= 1 for name in OPTIONAL_NAMES)
    for name, kind in FIELDS.items() if usable else ():
        column = batch.column(name)
        if kind == INTEGER:
            usable = _take_integers(name, column, numbers, fine)
        elif kind == TIME and pa.types.is_timestamp(column.type):
            usable = _take_timestamps(name, column, numbers, fine)
        else:
            usable = _take_text(name, column, texts, fine)
            if usable and kind == TIME:
                numbers[name] = np.empty(rows, np.int64)
                _scan_times(texts[name].data, texts[name].starts, texts[name].ends, numbers[name])
                fine &= numbers[name] != _NO_TIME
        if not usable:
            break
    if not usable:
        return _all_careful(batch)
    kind_, nation, game = texts["player_kind"], texts["nation"], texts["game"]
    _check_rows(
        kind_.data, kind_.starts, kind_.ends, nation.data, nation.starts, nation.ends, game.data, game.starts, game.ends,
        numbers["started_at"], numbers["finished_at"], numbers["uploaded_at"], nation_table(), fine,
    )  # fmt: skip
    size = sum(texts[name].ends - texts[name].starts for name in TEXT_FIELDS)
    fine &= size < sk.MAX_PLAIN_BYTES
    given = _take_optional(batch, game, numbers, fine)
    return _finish(batch, texts, numbers, given, fine)


def _take_optional(batch: pa.RecordBatch, game: TextColumn, numbers: dict[str, Ints], fine: np.ndarray) -> dict[str, Truths]:
    """The optional fields, of the rows whose game has them: in other games they are extra columns and mean nothing."""
    rows = batch.num_rows
    given: dict[str, Truths] = {}
    claiming = np.zeros(rows, np.bool_)
    if set(OPTIONAL_NAMES) & set(batch.schema.names):
        _mark_claiming(game.data, game.starts, game.ends, claiming)
    for name in OPTIONAL_NAMES:
        given[name], numbers[name] = np.zeros(rows, np.bool_), np.zeros(rows, np.int64)
        if name not in batch.schema.names:
            continue
        column = batch.column(name)
        given[name] = claiming & column.is_valid().to_numpy(zero_copy_only=False)
        plain = np.ones(rows, np.bool_)
        if _take_integers(name, column, numbers, plain):
            # A null claims nothing; what is not plain besides is beyond 64 bits.
            fine &= plain | ~given[name]
            numbers[name][~given[name]] = 0
        else:
            fine &= ~given[name]
    return given


def _take_integers(name: str, column: pa.Array, numbers: dict[str, Ints], fine: np.ndarray) -> bool:
    if not pa.types.is_integer(column.type):
        return False
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    if column.type == pa.uint64():
        valid = valid & (values < 2**63)
    fine &= valid
    numbers[name] = values.astype(np.int64)
    return True


def _take_timestamps(name: str, column: pa.Array, numbers: dict[str, Ints], fine: np.ndarray) -> bool:
    """Native timestamps are taken as UTC, with or without that zone's name; another zone is mistyped."""
    if column.type.tz not in (None, "UTC", "Etc/UTC", "Z", "+00:00"):
        return False
    fine &= column.is_valid().to_numpy(zero_copy_only=False)
    counts = column.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    # Finer units are cut to microseconds, as the careful way cuts text.
    if column.type.unit == "ns":
        numbers[name] = counts // 1000
    else:
        scale = {"s": 1_000_000, "ms": 1000, "us": 1}[column.type.unit]
        # The calendar of RFC 3339: what lies beyond it goes the careful way, which refuses it.
        fine &= (counts >= -(-FIRST_TIME // scale)) & (counts <= LAST_TIME // scale)
        numbers[name] = counts * scale
    return True


def _take_text(name: str, column: pa.Array, texts: dict[str, TextColumn], fine: np.ndarray) -> bool:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_null(column.type) and name == "nation":
        column = column.cast(pa.string())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    texts[name] = text_column(column)
    if column.null_count:
        null = texts[name].starts < 0
        if name != "nation":
            fine &= ~null
    if name in TEXT_LIMITS:
        # Longer texts are the careful way's to refuse.
        fine &= texts[name].ends - texts[name].starts <= TEXT_LIMITS[name]
    _mark_foreign(texts[name].data, texts[name].starts, texts[name].ends, fine)
    return True


def text_column(column: pa.Array) -> TextColumn:
    """An Arrow text array as bytes and row bounds; nulls get start and end -1.  No byte is copied."""
    wide = pa.types.is_large_string(column.type)
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64 if wide else np.int32)[column.offset : column.offset + len(column) + 1]
    starts, ends = bounds[:-1].astype(np.int64), bounds[1:].astype(np.int64)
    if column.null_count:
        null = ~column.is_valid().to_numpy(zero_copy_only=False)
        starts[null] = ends[null] = -1
    raw = np.frombuffer(data, np.uint8) if data is not None else np.frombuffer(b"", np.uint8)
    return TextColumn(raw, starts, ends)


def _finish(
    batch: pa.RecordBatch, texts: dict[str, TextColumn], numbers: dict[str, Ints], given: dict[str, Truths], fine: np.ndarray
) -> RecordBatch:
    """Judge the rows that are not plainly fine one by one; their texts stay where they are, times may be filled in."""
    quarantined: list[Quarantined] = []
    for row in np.flatnonzero(~fine):
        try:
            record = check_object(row_object(batch, int(row)))
        except MalformedRecord as problem:
            quarantined.append(Quarantined(int(row) + 1, problem.code, str(problem), _game_id(batch, int(row))))
            continue
        fine[row] = True
        for name in NUMBER_FIELDS:
            numbers[name][row] = getattr(record, name)
        for name in OPTIONAL_NAMES:
            value = getattr(record, name)
            given[name][row], numbers[name][row] = value is not None, value or 0
    keep = np.flatnonzero(fine)
    if len(keep) != batch.num_rows:
        texts = {name: TextColumn(c.data, c.starts[keep], c.ends[keep]) for name, c in texts.items()}
        numbers = {name: values[keep] for name, values in numbers.items()}
        given = {name: values[keep] for name, values in given.items()}
    picked = {name: texts[name] for name in TEXT_FIELDS}
    return RecordBatch(picked, numbers, given, keep + 1, quarantined, batch.num_rows, batch.num_rows)


def _all_careful(batch: pa.RecordBatch) -> RecordBatch:
    """A batch that lacks a column or has one of a wrong type: no row can be taken, and each says why."""
    quarantined: list[Quarantined] = []
    for row in range(batch.num_rows):
        try:
            check_object(row_object(batch, row))
        except MalformedRecord as problem:
            quarantined.append(Quarantined(row + 1, problem.code, str(problem), _game_id(batch, row)))
        else:
            quarantined.append(
                Quarantined(row + 1, "wrong_type", f"a column has a type that no record has: {batch.schema.types}")
            )
    return empty_batch(quarantined, batch.num_rows)


def row_object(batch: pa.RecordBatch, row: int) -> dict[str, Any]:
    """One row as the careful way takes it; bytes that are not UTF-8 raise MalformedRecord."""
    found: dict[str, Any] = {}
    size = 0
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in found:
            raise MalformedRecord("duplicate_key", f"column {name} stands twice in the table")
        if FIELDS.get(name) == TIME and pa.types.is_timestamp(column.type):
            value = column.slice(row, 1).view(pa.int64())[0].as_py()
            unit = {"s": 1_000_000, "ms": 1000, "us": 1}.get(column.type.unit)
            if value is not None and column.type.tz in (None, "UTC", "Etc/UTC", "Z", "+00:00"):
                try:
                    value = format_time(value * unit if unit else value // 1000)
                except OverflowError as error:
                    raise MalformedRecord(
                        "wrong_value", f"field {name} is {value} {column.type.unit} since 1970, beyond the years 1 to 9999"
                    ) from error
            found[name] = value
            continue
        try:
            found[name] = _Nested() if column.type == _NESTED.type else _python_value(column, row)
        except UnicodeDecodeError as error:
            raise MalformedRecord("encoding", f"field {name} is not UTF-8") from error
        size += len(found[name].encode("utf-8")) if isinstance(found[name], str) else 0
    if size > MAX_RECORD_BYTES:
        raise MalformedRecord("too_large", f"the record has {size} bytes of text, at most {MAX_RECORD_BYTES} are taken")
    return found


class _Nested:
    """A list, struct or map, as a reason shows it."""

    def __repr__(self) -> str:
        return "a list or a struct"


class _Unshown:
    """A value of a type that no field has, and that Python has no value for: a day of the year 10000, a span of nanoseconds."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"a {self._kind} that Python cannot hold"


def _python_value(column: pa.Array, row: int) -> Any:
    """One value of a column as a Python object.  Raises UnicodeDecodeError."""
    try:
        return column[row].as_py()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError, LookupError, pa.ArrowException):
        # A zone that is none is a KeyError, whichever library knows the zones.
        return _Unshown(column.type)


def _game_id(batch: pa.RecordBatch, row: int) -> str | None:
    if batch.schema.names.count("game_id") != 1:
        return None
    try:
        return id_to_show(_python_value(batch.column("game_id"), row))
    except UnicodeDecodeError:
        return None
