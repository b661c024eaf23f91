"""Reading Parquet: the same records as from NDJSON, the same strictness, whatever the columns' types and the batches are."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay import parquet
from replay import scan_kernel as sk
from replay.errors import InputError, MalformedRecord
from replay.lookup import read_record
from replay.record import (
    FIELDS,
    INTEGER,
    MAX_RECORD_BYTES,
    OPTIONAL_NAMES,
    TEXT,
    TEXT_LIMITS,
    TIME,
    Record,
    check_object,
    parse_time,
)
from tests.replay.build import VALID, Read, as_object, collect, line, read_bytes, read_table, record, table
from tests.replay.test_record import BAD, GOOD, NAMES

TEXTS = [name for name, kind in FIELDS.items() if kind == TEXT]
INTEGERS = [name for name, kind in FIELDS.items() if kind == INTEGER]
TIMES = [name for name, kind in FIELDS.items() if kind == TIME]


def objects(source: dict[str, tuple[Any, ...]], keep: Callable[[dict[str, Any]], bool]) -> dict[str, dict[str, Any]]:
    """The lines of a table that are JSON objects of the record's fields, as columns could hold them."""
    found = {}
    for name, (text, *_) in source.items():
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(parsed, dict) and "surrogate" not in name and "twice" not in name and keep(parsed):
            found[name] = {key: parsed[key] for key in (*FIELDS, *OPTIONAL_NAMES) if key in parsed}
    return found


def fits(parsed: dict[str, Any]) -> bool:
    """Whether every value is of its column's type, a null, or a text."""
    kinds = {INTEGER: int, TEXT: str, TIME: str}
    return all(
        (name in parsed and (type(parsed[name]) is kinds[kind] and (kind != INTEGER or -(2**63) <= parsed[name] < 2**63)))
        or (name in parsed and parsed[name] is None)
        for name, kind in FIELDS.items()
    ) and all(
        parsed.get(name) is None or (type(parsed[name]) is int and -(2**63) <= parsed[name] < 2**63) for name in OPTIONAL_NAMES
    )


# Of good and bad lines, those that a typed column can hold.
ROWS = objects({**BAD, **GOOD}, fits)
ROWS = {name: found for name, found in ROWS.items() if not name.startswith("1 MiB")}


def expected(found: dict[str, Any]) -> Record | tuple[str, str]:
    try:
        return check_object(found)
    except MalformedRecord as problem:
        return problem.code, str(problem)


def fate(read: Read, number: int) -> Record | tuple[str, str]:
    if number in read.records:
        return read.records[number]
    return read.quarantined[number].code, read.quarantined[number].reason


def read_path(path: Path, row_groups: list[int] | None = None) -> Read:
    return collect(map(parquet.scan_batch, parquet.read_batches(path, row_groups)))


# --- The same fate as in NDJSON ---------------------------------------------------------------------------------------


def test_a_table_of_good_and_bad_rows_has_the_fates_of_ndjson() -> None:
    """Every text, time, nation, kind and limit of the record's cases, in one table among plain rows."""
    assert len(ROWS) > 400
    plain = VALID | {"game_id": "plain"}
    rows = [row for found in ROWS.values() for row in (plain, found)]
    read = read_table(table(*rows))
    assert (read.received, read.scanned) == (len(rows), len(rows))
    for at, (name, found) in enumerate(ROWS.items()):
        assert read.records[2 * at + 1] == record(game_id="plain")
        assert fate(read, 2 * at + 2) == expected(found), name
    text = b"\n".join(json.dumps(row).encode() for row in rows)
    lines = read_bytes(text)
    assert lines.records == read.records
    assert lines.quarantined == read.quarantined


@pytest.mark.parametrize("rows", [1, 2, 7, 1000])
def test_slices_of_a_table_keep_their_offsets(rows: int) -> None:
    whole = table(*ROWS.values())
    assert read_table(whole, rows) == read_table(whole)
    tail = read_table(whole.slice(5))
    assert tail.records == {number - 5: found for number, found in read_table(whole).records.items() if number > 5}


@pytest.mark.parametrize("name", [name for name in BAD if " is missing" in name])
def test_a_column_that_is_missing_is_named_in_every_row(name: str) -> None:
    field = name.removesuffix(" is missing")
    read = read_table(table(VALID, VALID).drop([field]))
    assert {fate(read, number) for number in (1, 2)} == {("missing_field", f"field {field} is missing")}
    assert read.received == 2


def test_a_table_without_any_column_of_the_record() -> None:
    read = read_table(pa.table({"x": [1, 2, 3]}))
    assert read.codes() == dict.fromkeys((1, 2, 3), "missing_field")


@pytest.mark.parametrize("field", [name for name in FIELDS if name != "nation"])
def test_a_null_is_no_value(field: str) -> None:
    read = read_table(table(VALID, VALID | {field: None}, VALID))
    assert sorted(read.records) == [1, 3]
    kind = "a JSON integer" if field in INTEGERS else "text"
    assert fate(read, 2) == ("wrong_type", f"field {field} is None, it must be {kind}")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.null(), pa.dictionary(pa.int8(), pa.string())])
def test_a_null_nation_is_a_nation_that_is_not_given(kind: pa.DataType) -> None:
    read = read_table(table(VALID | {"nation": None}, VALID | {"nation": None}, nation=kind))
    assert read.records == {1: record(nation=None), 2: record(nation=None)}


def test_a_column_of_nulls_only() -> None:
    read = read_table(table(VALID, VALID, score=pa.int64()).set_column(15, "score", pa.nulls(2)))
    assert fate(read, 1) == ("wrong_type", "field score is None, it must be a JSON integer")


_WRONG: dict[str, tuple[list[Any], pa.DataType]] = {
    "a text": (["12"], pa.string()), "a fraction": ([12.0], pa.float64()), "a short fraction": ([12.0], pa.float32()),
    "not a number": ([float("nan")], pa.float64()), "true": ([True], pa.bool_()), "a decimal": ([12], pa.decimal128(20, 0)),
    "a date": ([datetime(2026, 10, 31)], pa.date32()), "a list": ([[12]], pa.list_(pa.int64())),
    "a struct": ([{"a": 1}], pa.struct([("a", pa.int64())])), "bytes": ([b"12"], pa.binary()),
    "a time": ([datetime(2026, 10, 31)], pa.timestamp("us")),
    "a duration": ([12], pa.duration("s")),
}  # fmt: skip


@pytest.mark.parametrize("what", _WRONG)
@pytest.mark.parametrize("field", INTEGERS)
def test_an_integer_column_of_another_type_takes_no_row(field: str, what: str) -> None:
    """12.0, "12" and true are mistyped, in every reader alike."""
    values, kind = _WRONG[what]
    found = table(VALID, VALID)
    found = found.set_column(found.schema.get_field_index(field), field, pa.array(values * 2, kind))
    read = read_table(found)
    assert read.codes() == {1: "wrong_type", 2: "wrong_type"}
    assert read.quarantined[1].reason.startswith(f"field {field} is ")
    assert read.quarantined[1].game_id == "g-1"


@pytest.mark.parametrize(("field", "what"), [
    (field, what)
    for field in TEXTS + TIMES
    for what in _WRONG
    if what != "a text" and (field not in TIMES or what != "a time")
])  # fmt: skip
def test_a_text_column_of_another_type_takes_no_row(field: str, what: str) -> None:
    values, kind = _WRONG[what]
    found = table(VALID, VALID)
    found = found.set_column(found.schema.get_field_index(field), field, pa.array(values * 2, kind))
    read = read_table(found)
    assert read.codes() == {1: "wrong_type", 2: "wrong_type"}
    assert f"field {field} is " in read.quarantined[1].reason
    assert len(read.quarantined[1].reason) < 300


@pytest.mark.parametrize("field", TEXTS + TIMES)
def test_bytes_that_are_no_utf8_are_set_aside(field: str) -> None:
    """Parquet readers hand them over unchecked."""
    good = table(VALID, VALID, VALID)
    raw = pa.array([VALID[field].encode(), b"caf\xe9", VALID[field].encode()], pa.binary())
    bad = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    read = read_table(good.set_column(good.schema.get_field_index(field), field, bad))
    assert read.records == {1: record(), 3: record()}
    assert fate(read, 2) == ("encoding", f"field {field} is not UTF-8")


# Values that Arrow holds and Python does not.
BEYOND = {
    "day": pa.array([2**31 - 1], pa.int32()).view(pa.date32()),
    "time of day": pa.array([2**62], pa.int64()).view(pa.time64("us")),
    "nanoseconds of a day": pa.array([1], pa.int64()).view(pa.time64("ns")),
    "moment": pa.array([2**62], pa.int64()).view(pa.timestamp("us")),
    "moment of a zone that is none": pa.array([5], pa.int64()).view(pa.timestamp("us", "Mars/Phobos")),
    "span": pa.array([2**63 - 1], pa.int64()).view(pa.duration("ms")),
    "span of nanoseconds": pa.array([1], pa.int64()).view(pa.duration("ns")),
}


@pytest.mark.parametrize("what", BEYOND)
@pytest.mark.parametrize("field", ["game_id", "moves", "score", "nation", "finished_at"])
def test_a_value_that_python_cannot_hold_is_mistyped(field: str, what: str) -> None:
    found = many(1)
    at = found.schema.get_field_index(field)
    read = read_table(found.set_column(at, field, BEYOND[what]))
    # A moment in a column of moments is of the right type.
    assert read.codes() == {1: "wrong_value" if (field, what) == ("finished_at", "moment") else "wrong_type"}
    assert read.quarantined[1].reason.startswith(f"field {field} is ")


def test_an_extra_claim_that_python_cannot_hold_means_nothing() -> None:
    """The level of a game that has none, beside a row that is looked at one by one."""
    found = many(1).append_column("level", BEYOND["span"])
    at = found.schema.get_field_index("player_id")
    assert len(read_table(found.set_column(at, "player_id", pa.array(["\u00e9"]))).records) == 1


@pytest.mark.parametrize("extra", [pa.array([7]), pa.array([{"extra": 7}])])
def test_a_column_whose_name_is_no_utf8(tmp_path: Path, extra: pa.Array) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(many(1).append_column("extra", extra), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"extra", b"ext\xffa"))
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as Parquet \(a column's name is not UTF-8\)"):
        parquet.open_parquet(path)
    with pytest.raises(InputError, match="is not UTF-8"):
        read_path(path)


def test_bytes_that_are_no_utf8_in_a_file(tmp_path: Path) -> None:
    good = table(VALID, VALID)
    raw = pa.array([b"p", b"caf\xe9"], pa.binary())
    bad = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    pq.write_table(good.set_column(5, "player_id", bad), tmp_path / "a.parquet")
    assert read_path(tmp_path / "a.parquet").codes() == {2: "encoding"}


# --- Types of columns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [
    pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
    pa.dictionary(pa.uint16(), pa.string()),
], ids=str)  # fmt: skip
def test_texts_may_come_in_any_text_type(kind: pa.DataType) -> None:
    rows = [found for found in ROWS.values() if all(isinstance(found[name], str) for name in TEXTS + TIMES)][:400:4]
    if pa.types.is_dictionary(kind) and kind.index_type == pa.int8():
        rows = rows[:90]
    plain = table(*rows)
    typed = table(*rows, **dict.fromkeys(TEXTS + TIMES, kind))
    assert typed.schema.field("game_id").type == kind
    assert read_table(typed) == read_table(plain)
    assert len(read_table(typed).records) > 10


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()], ids=str
)
def test_integers_may_come_in_any_integer_type(kind: pa.DataType) -> None:
    limits = np.iinfo(kind.to_pandas_dtype())
    values = [max(limits.min, -(2**63)), 0, 1, min(limits.max, 2**63 - 1)]
    read = read_table(table(*(VALID | dict.fromkeys(INTEGERS, number) for number in values), **dict.fromkeys(INTEGERS, kind)))
    assert [read.records[i + 1].score for i in range(4)] == values
    assert read.records[4] == record(**dict.fromkeys(INTEGERS, values[3]))


def test_unsigned_integers_beyond_63_bits_are_mistyped() -> None:
    scores = pa.array([2**63 - 1, 2**63, 2**64 - 1], pa.uint64())
    read = read_table(table(VALID, VALID, VALID).set_column(15, "score", scores))
    assert read.records == {1: record(score=2**63 - 1)}
    assert fate(read, 2) == ("wrong_type", f"field score is {2**63}, it must fit into 64 bits")
    assert fate(read, 3) == ("wrong_type", f"field score is {2**64 - 1}, it must fit into 64 bits")


_UNITS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": None}


@pytest.mark.parametrize("zone", [None, "UTC", "Etc/UTC", "+00:00"])
@pytest.mark.parametrize("unit", _UNITS)
def test_native_times_are_utc_in_every_unit(unit: str, zone: str | None) -> None:
    texts = ["1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "2000-02-29T23:59:59Z", "2026-10-31T12:00:00Z"]
    if unit != "s":
        texts += ["1969-12-31T23:59:59.999Z", "2026-10-31T12:00:00.125Z"]
    if unit in ("us", "ns"):
        texts += ["1969-12-31T23:59:59.999999Z", "2026-10-31T12:00:00.123456Z"]
    kind = pa.timestamp(unit, tz=zone)
    moments = [parse_time(text) for text in texts]
    counts = [m * 1000 if unit == "ns" else m // _UNITS[unit] for m in moments]
    found = table(*([VALID] * len(texts)))
    for name in TIMES:
        found = found.set_column(found.schema.get_field_index(name), name, pa.array(counts, pa.int64()).cast(kind))
    read = read_table(found)
    assert [read.records[i + 1].started_at for i in range(len(texts))] == moments
    assert read == read_table(table(*(VALID | dict.fromkeys(TIMES, text) for text in texts)))


def test_nanoseconds_are_cut_to_microseconds_as_in_text() -> None:
    for count, text in (
        (1_999, "1970-01-01T00:00:00.000001999Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (-1_001, "1969-12-31T23:59:59.999998999Z"),
    ):
        found = table(VALID)
        for name in TIMES:
            found = found.set_column(found.schema.get_field_index(name), name, pa.array([count], pa.timestamp("ns")))
        read = read_table(found)
        assert read.records[1].started_at == parse_time(text) == count // 1000


@pytest.mark.parametrize("unit", _UNITS)
def test_a_null_time_is_mistyped(unit: str) -> None:
    found = table(VALID, VALID)
    moments = pa.array([parse_time(VALID["started_at"]), None], pa.int64())
    column = pa.array(
        [None if m is None else datetime.fromtimestamp(m // 10**6, UTC) for m in moments.to_pylist()], pa.timestamp(unit, "UTC")
    )
    read = read_table(found.set_column(found.schema.get_field_index("started_at"), "started_at", column))
    assert read.records == {1: record()}
    assert fate(read, 2) == ("wrong_type", "field started_at is None, it must be text")


@pytest.mark.parametrize("zone", ["Europe/Paris", "+01:00", "America/New_York"])
def test_times_of_another_zone_are_mistyped(zone: str) -> None:
    column = pa.array([datetime(2026, 10, 31, 12, tzinfo=UTC)], pa.timestamp("us", zone))
    read = read_table(table(VALID).set_column(11, "started_at", column))
    assert read.codes() == {1: "wrong_type"}
    assert "field started_at" in read.quarantined[1].reason


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_times_beyond_the_calendar_are_refused(unit: str) -> None:
    """A text cannot name them, so no column can either."""
    scale = _UNITS[unit]
    first, last = parse_time("0001-01-01T00:00:00Z"), parse_time("9999-12-31T23:59:59.999999Z")
    inside = [-(-first // scale), last // scale]
    outside = [inside[0] - 1, inside[1] + 1, 2**62 // scale, -(2**62) // scale, 2**63 - 1, -(2**63) + 1]
    counts = [*inside, *outside]
    found = table(*([VALID] * len(counts)))
    for name in TIMES:
        found = found.set_column(found.schema.get_field_index(name), name, pa.array(counts, pa.int64()).view(pa.timestamp(unit)))
    read = read_table(found)
    assert {number: r.started_at for number, r in read.records.items()} == {1: first, 2: last // scale * scale}
    assert read.codes() == dict.fromkeys(range(3, 9), "wrong_value")
    assert read.quarantined[3].reason == f"field started_at is {outside[0]} {unit} since 1970, beyond the years 1 to 9999"


def test_native_times_are_held_to_the_clocks_like_texts() -> None:
    """E3: finished before started, uploaded too long before finished."""
    rows = [(0, 0, -300_000_000), (0, 0, -300_000_001), (0, -1, 0)]
    found = table(VALID, VALID, VALID)
    for name, values in zip(TIMES, zip(*rows, strict=True), strict=True):
        found = found.set_column(found.schema.get_field_index(name), name, pa.array(values, pa.timestamp("us", "UTC")))
    read = read_table(found)
    assert list(read.records) == [1]
    assert read.codes() == {2: "wrong_value", 3: "wrong_value"}


# --- Limits -----------------------------------------------------------------------------------------------------------


def test_the_limits_of_a_record_hold_for_rows() -> None:
    """Tokens as in NDJSON; bytes are those of the texts, there being no line around them."""
    filling = MAX_RECORD_BYTES - sum(len(VALID[name]) for name in TEXTS + TIMES) + len(VALID["moves"])
    wide = "\U0001f600" * (filling // 4)
    rows = [
        VALID | {"moves": "1a1" * 200_000}, VALID | {"moves": "1a1" * 200_001}, VALID | {"moves": "a" * 200_001},
        VALID | {"moves": " " * filling}, VALID | {"moves": " " * (filling + 1)},
        VALID | {"moves": wide + " " * 4}, VALID,
    ]  # fmt: skip
    read = read_table(table(*rows))
    assert sorted(read.records) == [1, 4, 7]
    assert read.codes() == {2: "too_large", 3: "too_large", 5: "too_large", 6: "too_large"}
    assert read.quarantined[2].reason == "the log has 200001 tokens, at most 200000 are taken"
    assert (
        read.quarantined[5].reason == f"the record has {MAX_RECORD_BYTES + 1} bytes of text, at most {MAX_RECORD_BYTES} are taken"
    )


@pytest.mark.parametrize(("field", "limit"), TEXT_LIMITS.items())
def test_a_text_beyond_its_limit_is_set_aside_in_every_type(field: str, limit: int) -> None:
    """Of plain rows the longest text is taken without a look at each; its code is that of NDJSON."""
    rows = [VALID | {field: text} for text in ("x" * limit, "x" * (limit + 1), "\u00e9" * (limit // 2), "\u00e9" * (limit // 2 + 1))]
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        read = read_table(table(*rows, **{field: kind}))
        assert {at: fate(read, at) for at in range(1, 5)} == {at: expected(row) for at, row in enumerate(rows, start=1)}
        assert {read.codes()[at] for at in (2, 4)} == {"too_large"}
        assert {read.quarantined[at].game_id for at in (2, 4)} == {None if field == "game_id" else "g-1"}


def test_a_row_of_20_mb_is_one_bad_row(tmp_path: Path) -> None:
    """E9"""
    pq.write_table(table(VALID, VALID | {"moves": "1a1" * 7_000_000}, VALID), tmp_path / "a.parquet")
    read = read_path(tmp_path / "a.parquet")
    assert (sorted(read.records), read.codes()) == ([1, 3], {2: "too_large"})


# --- Files ------------------------------------------------------------------------------------------------------------


def many(count: int) -> pa.Table:
    return table(*(VALID | {"game_id": f"g-{number}"} for number in range(1, count + 1)))


def test_rows_are_numbered_over_all_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(many(100), path, row_group_size=7)
    read = read_path(path)
    assert {number: found.game_id for number, found in read.records.items()} == {n: f"g-{n}" for n in range(1, 101)}
    some = read_path(path, [2, 3])
    assert [found.game_id for found in some.records.values()] == [f"g-{n}" for n in range(15, 29)]
    for number in (1, 7, 8, 50, 100):
        assert read_record(path, number) == read.records[number]
    with pytest.raises(InputError, match="has no row 101 any more"):
        read_record(path, 101)


def test_batches_are_read_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    count = parquet.BATCH_ROWS + 10
    pq.write_table(pa.concat_tables([many(1)] * count).combine_chunks(), path)
    batches = list(parquet.read_batches(path))
    assert [batch.num_rows for batch in batches] == [parquet.BATCH_ROWS, 10]
    assert len(collect(map(parquet.scan_batch, batches)).records) == count


@pytest.mark.parametrize("options", [
    {"compression": "snappy"}, {"compression": "zstd"}, {"compression": "gzip"}, {"use_dictionary": False}, {"version": "1.0"},
    {"data_page_size": 100}, {"store_schema": False}, {"use_dictionary": True, "data_page_version": "2.0"},
], ids=str)  # fmt: skip
def test_files_of_every_writer_are_equal(tmp_path: Path, options: dict[str, Any]) -> None:
    rows = list(ROWS.values())[::3]
    pq.write_table(table(*rows), tmp_path / "a.parquet", **options)
    assert read_path(tmp_path / "a.parquet") == read_table(table(*rows))


def test_extra_columns_are_left_unread(tmp_path: Path) -> None:
    found = many(3)
    nested = pa.array([[{"score": 1}], None, []], pa.list_(pa.struct([("score", pa.int64())])))
    found = found.append_column("extra", nested).append_column("Score", pa.array([1.5, None, 2]))
    pq.write_table(found, tmp_path / "a.parquet")
    assert read_path(tmp_path / "a.parquet") == read_table(many(3))
    # Also where a column is missing, so that every row is looked at.
    assert read_table(found.drop(["score"])).quarantined == read_table(many(3).drop(["score"])).quarantined


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.dictionary(pa.int32(), pa.int64())], ids=str)
def test_optional_claims_may_come_in_any_integer_type(kind: pa.DataType, tmp_path: Path) -> None:
    """A game that has them claims what is not null; in another game the column means nothing."""
    games = ["tetromino", "blocks", "tetromino", "tetcolor", "tetromino"]
    rows = [VALID | {"game": game, "level": level} for game, level in zip(games, [3, 4, None, 5, 0], strict=True)]
    expected = [record(game=game, level=level) for game, level in zip(games, [3, None, None, None, 0], strict=True)]
    found = pa.Table.from_pylist(rows)
    levels = pa.array(found.column("level").to_pylist(), kind if pa.types.is_integer(kind) else pa.int64())
    levels = levels if pa.types.is_integer(kind) else levels.dictionary_encode()
    found = found.set_column(found.schema.get_field_index("level"), "level", levels)
    assert list(read_table(found).records.values()) == expected
    pq.write_table(found, tmp_path / "a.parquet")
    assert list(read_path(tmp_path / "a.parquet").records.values()) == expected


@pytest.mark.parametrize(
    "values",
    [[1.0, 2.0, None], [True, False, None], ["1", "2", None], [[1], [2], None], [2**63, 2**64 - 1, None]],
    ids=["float", "bool", "text", "list", "beyond 63 bits"],
)
def test_optional_claims_of_another_type_are_mistyped_where_they_are_claims(values: list[Any]) -> None:
    rows = [VALID | {"game": game} for game in ("tetromino", "blocks", "tetromino")]
    found = pa.Table.from_pylist(rows).append_column("lines", pa.array(values, pa.uint64() if values[0] == 2**63 else None))
    read = read_table(found)
    assert read.codes() == {1: "wrong_type"}
    assert read.quarantined[1].reason.startswith("field lines is ")
    assert read.records == {2: record(), 3: record(game="tetromino")}


def test_a_column_of_nulls_claims_nothing() -> None:
    found = pa.Table.from_pylist([VALID | {"game": "tetromino"}]).append_column("level", pa.nulls(1))
    assert read_table(found).records == {1: record(game="tetromino")}


def test_an_optional_column_given_twice_takes_no_row() -> None:
    found = many(2).append_column("level", pa.array([1, 2])).append_column("level", pa.array([1, 2]))
    assert read_table(found).codes() == {1: "duplicate_key", 2: "duplicate_key"}


# --- Small files that hold much ---------------------------------------------------------------------------------------


_HOW: dict[str, dict[str, Any]] = {
    "a dictionary": {}, "a dictionary, then plain pages": {"dictionary_pagesize_limit": 1_100_000},
    "row groups": {"row_group_size": 180}, "small pages": {"data_page_size": 64, "compression": "none"},
    "what differs from the row before": {"use_dictionary": False, "column_encoding": {"moves": "DELTA_BYTE_ARRAY"}},
}  # fmt: skip


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("how", _HOW)
def test_a_text_that_is_stored_once_for_many_rows_takes_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, kind: pa.DataType
) -> None:
    """Sizes in the file say nothing of what its rows hold, and every row is accounted for all the same."""
    longs = [VALID | {"game_id": f"long-{number}", "moves": "1" * 1_000_000} for number in range(40)]
    plain = [VALID | {"game_id": f"g-{number}", "moves": f"1a{number % 8 + 1} " + " " * (number % 900)} for number in range(400)]
    monkeypatch.setattr(parquet, "BATCH_BYTES", 8 << 20)
    path = tmp_path / "a.parquet"
    pq.write_table(table(*plain[:200], *longs, *plain[200:], moves=kind), path, **_HOW[how])
    assert path.stat().st_size < 3_500_000
    sizes, rows = [], 0
    for batch in parquet.read_batches(path):
        sizes.append(sum(len(text) for text in batch.column("moves").to_pylist()))
        rows += batch.num_rows
    assert rows == 440
    assert max(sizes) <= parquet.BATCH_BYTES
    read = read_path(path)
    assert [found.game_id for found in read.records.values()] == [row["game_id"] for row in (*plain[:200], *longs, *plain[200:])]
    assert read.quarantined == {}


def test_short_texts_that_are_stored_once_are_no_reason_for_small_batches(tmp_path: Path) -> None:
    rows = pa.concat_tables([table(*(VALID | {"game_id": f"g-{n}", "moves": "1a1 " * 1000} for n in range(100)))] * 400)
    pq.write_table(rows, tmp_path / "a.parquet")
    assert [batch.num_rows for batch in parquet.read_batches(tmp_path / "a.parquet")] == [parquet.BATCH_ROWS, 40_000 - parquet.BATCH_ROWS]


@pytest.mark.parametrize("field", ["score", "moves", "nation", "finished_at", "lines"])
def test_values_of_nested_columns_are_not_read(tmp_path: Path, field: str) -> None:
    """One row may hold a text a thousand times that the file has once."""
    texts = pa.array(["x" * 1_000_000]).dictionary_encode().take(pa.array([0] * 1000))
    nested = pa.ListArray.from_arrays(pa.array([0, 1000, 1000, 1000], pa.int32()), texts)
    found = table(VALID, VALID, VALID | {"game": "tetromino"}).append_column("lines", pa.array([1, 2, 3]))
    path = tmp_path / "a.parquet"
    pq.write_table(found.drop([field]).append_column(field, nested), path, store_schema=False)
    assert path.stat().st_size < 1_000_000
    assert all(batch.nbytes < 100_000 for batch in parquet.read_batches(path))
    read = read_path(path)
    if field == "lines":
        assert read.codes() == {3: "wrong_type"}, "the other games have no such field"
        assert fate(read, 3)[1] == "field lines is a list or a struct, it must be a JSON integer or null"
        return
    assert read.codes() == dict.fromkeys((1, 2, 3), "wrong_type")
    kind = "a JSON integer" if field == "score" else "text"
    assert {fate(read, at)[1] for at in (1, 2, 3)} == {f"field {field} is a list or a struct, it must be {kind}"}


def test_a_file_with_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(many(1).slice(0, 0), path)
    assert (read_path(path).received, read_path(path).scanned) == (0, 0)
    assert len(parquet.scan_batch(pa.RecordBatch.from_pylist([], many(1).schema))) == 0


@pytest.mark.parametrize("data", [b"", b"PAR1", b"{}\n", b"PAR1" + b"\x00" * 100 + b"PAR1"])
def test_a_file_that_is_none_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as Parquet"):
        parquet.open_parquet(path)
    with pytest.raises(InputError):
        parquet.open_parquet(tmp_path / "gone.parquet")


def test_a_cut_file_and_a_damaged_page_are_input_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(many(2000), path, compression="zstd", use_dictionary=False, write_page_checksum=True)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as Parquet"):
        read_path(path)
    damaged = bytearray(data)
    for at in range(200, 260):
        damaged[at] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"a\.parquet: is damaged"):
        read_path(path)


def test_a_column_given_twice_takes_no_row(tmp_path: Path) -> None:
    """E3: nobody can say which of the two is meant."""
    found = many(2).append_column("score", pa.array([999_999, 999_999]))
    path = tmp_path / "a.parquet"
    pq.write_table(found, path)
    read = read_path(path)
    assert read.records == {}
    assert read.codes() == {1: "duplicate_key", 2: "duplicate_key"}


# --- Times as text, in columns ----------------------------------------------------------------------------------------


def test_texts_of_times_go_through_the_same_scan() -> None:
    texts = ["2026-10-31t12:00:00z", "2026-10-31T12:00:00.123456789Z", "2026-10-31T12:00:00+00:00", "2026-10-31T12:00:00.5Z"]
    read = read_table(table(*(VALID | dict.fromkeys(TIMES, text) for text in texts)))
    assert [read.records[i + 1].uploaded_at for i in range(4)] == [parse_time(text) for text in texts]


def test_names_are_exact() -> None:
    """D8: control characters, quotes, right-to-left marks, NUL."""
    read = read_table(table(*(VALID | {"player_id": name} for name in NAMES.values())))
    assert [found.player_id for found in read.records.values()] == list(NAMES.values())


def test_the_same_records_from_both_kinds_of_file(tmp_path: Path) -> None:
    """Mixed schemas in one day: what was landed as Parquet and what was landed as text."""
    records = [record(game_id=f"g-{n}", nation=[None, "FR", "NA"][n % 3], score=n * 10**12) for n in range(50)]
    rows = [as_object(found) for found in records]
    pq.write_table(table(*rows), tmp_path / "a.parquet")
    text = b"\n".join(line(**row, extra=n) for n, row in enumerate(rows))
    assert list(read_path(tmp_path / "a.parquet").records.values()) == list(read_bytes(text).records.values()) == records
    assert len(FIELDS) + len(OPTIONAL_NAMES) == sk.N_FIELDS
