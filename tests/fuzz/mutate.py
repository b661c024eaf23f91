"""Breaking uploads: lines of the recorded days, their logs and claims, and the files that hold them, all drawn from a seed."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from replay.errors import MalformedRecord
from replay.record import Record, parse_record
from tests.fuzz.claims import reclaimed
from tests.replay.night_support import as_object

FIXTURES = Path(__file__).parents[2] / "fixtures"
DAYS = ("blocks-day", "tetromino-day", "tetcolor-day", "hostile-day")
FORMATS = ("ndjson", "ndjson.gz", "ndjson.zst", "parquet")
NUMBERS = (
    "0", "-0", "00", "1", "-1", "1.0", "1.5", "1e3", "1E400", "NaN", "Infinity", "-Infinity", "2147483647", "2147483648",
    "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616", "9" * 40, "9" * 5000, "true",
    "null", '"1"', "[]", "{}", "+1", "0x10", ".5", "١",
)  # fmt: skip
TEXTS = (
    "\\u0000", "\\ud800", "\\udc00\\ud800", "\\ud83d\\ude00", "\u202e", "\ufeff", "\x7f", "é", "é", "\x1b[2J", "\\", '"', "\\x",
    "\\u12", "\t", "\r", "\x0b", "\u2028", "=1+1", "<script>", "/", "\\/", "\x00", "\u00b2", "\u0661",
)  # fmt: skip
TIMES = (
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z", "2026-10-31T24:00:00Z",
    "2026-10-31T23:59:60Z", "2026-02-29T00:00:00Z", "2026-10-31T00:00:00+00:00", "2026-10-31T00:00:00+01:00",
    "2026-10-31t00:00:00z", "2026-10-31", "", "2026-10-31T00:00:00.Z", "2026-10-31T00:00:00.1234567890Z",
    "0000-01-01T00:00:00Z", "2026-10-31 00:00:00Z",
)  # fmt: skip
LONG = ("x" * 1024, "x" * 1025, "\u00e9" * 513, "1" * 16_384, "1" * 16_385)
DELAYS = (0, 1, 29, 30, 499, 500, 7199, 7200, 7201, 99999, 2**31, 2**32, 2**63, 10**20, 10**30)


@cache
def corpus(day: str) -> tuple[bytes, ...]:
    """The lines of a recorded day as they were uploaded, broken ones among them."""
    return tuple((FIXTURES / day / "games.ndjson").read_bytes().split(b"\n")[:-1])


@cache
def sound(day: str) -> tuple[Record, ...]:
    """The records of a recorded day that can be read."""
    found = []
    for line in corpus(day):
        try:
            found.append(parse_record(line))
        except MalformedRecord:
            continue
    return tuple(found)


# --- Logs ----------------------------------------------------------------------------------------------------------------


def tokens_of(record: Record) -> list[str]:
    """The log cut into what its notation reads as tokens, and whatever stands between."""
    pattern = r"\d?[a-z]\d|\*|." if record.game == "blocks" else r"\d*[a-zA-Z]|."
    return re.findall(pattern, record.moves, re.DOTALL)


def first_tokens(record: Record, count: int) -> str:
    """The log up to its ``count``-th token."""
    kept: list[str] = []
    for token in tokens_of(record):
        count -= not token.isspace()
        if count < 0:
            break
        kept.append(token)
    return "".join(kept)


def random_token(rng: random.Random, game: str) -> str:
    """A token that may be legal."""
    if game == "blocks":
        return "*" if rng.random() < 0.02 else f"{rng.randrange(1, 4)}{rng.choice('abcdefgh')}{rng.randrange(1, 9)}"
    letter = rng.choice("lrxzdhc" if game == "tetromino" else "lrxzdh")
    return (str(rng.choice(DELAYS) if rng.random() < 0.2 else rng.randrange(40)) if rng.random() < 0.7 else "") + letter


def broken_log(rng: random.Random, record: Record) -> str:
    """The log with tokens left out, put in, replaced, swapped, repeated, cut off or spliced with another game's."""
    tokens = tokens_of(record)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at, action = rng.randrange(len(tokens) + 1), rng.randrange(10)
        if action == 0:
            tokens.insert(at, random_token(rng, record.game))
        elif action == 1:
            del tokens[at : at + rng.choice([1, 1, 3, 50])]
        elif action == 2:
            tokens[at : at + 1] = [random_token(rng, record.game)]
        elif action == 3:
            tokens = tokens[:at]
        elif action == 4:
            tokens[at:at] = tokens[at : at + rng.choice([1, 5, 40])] * rng.choice([1, 2, 30])
        elif action == 5:
            other = tokens_of(rng.choice([r for day in DAYS[:3] for r in sound(day) if r.game == record.game]))
            tokens[at:] = other[rng.randrange(len(other) + 1) :]
        elif action == 6:
            tokens.insert(at, rng.choice([" ", "\t\n", "\v\f\r", "-", "+1l", "٣l", "é", "\x00", "1", "0" * 14, "9" * 400]))
        elif action == 7:
            tokens[at : at + 8] = reversed(tokens[at : at + 8])
        elif action == 8:
            tokens = [random_token(rng, record.game) for _ in range(rng.choice([0, 1, 20, 200]))]
        else:
            tokens.insert(at, rng.choice("lrxzdhc*a") * rng.choice([3, 100, 3000]))
    return "".join(tokens)


def broken_record(rng: random.Random) -> dict[str, Any]:
    """An upload whose log or claims were changed; half of the changed logs get the claims that they earn."""
    record = rng.choice(sound(rng.choice(DAYS[:3])))
    found = as_object(record)
    action = rng.random()
    if action < 0.6:
        found["moves"] = broken_log(rng, record)
        if rng.random() < 0.6:
            cut = first_tokens if rng.random() < 0.7 else None
            found = as_object(reclaimed(parse_record(json.dumps(found).encode()), cut))
    if 0.5 < action < 0.9:
        swapped = ["rules", "mode", "challenge", "nation"]
        name = rng.choice(["score", "best_combo", "attempt", "level", "lines", "final_board", *swapped])
        if name in swapped:
            found[name] = getattr(rng.choice(sound(rng.choice(DAYS))), name)
        elif name == "final_board":
            found[name] = broken_text(rng, found[name])
        else:
            edges = [0, -1, 2**31, 2**63 - 1, -(2**63)]
            found[name] = rng.choice([*edges, (found.get(name) or 0) + rng.choice([-1, 1, 1000])])
    if action > 0.9:
        found[rng.choice(["started_at", "finished_at", "uploaded_at"])] = rng.choice(TIMES)
    return {name: value for name, value in found.items() if value is not None or name == "nation"}


def broken_text(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(["", "/", "0", "1", "#", "J", "8/", "-", "9" * 30, "é", " "]) + text[at + rng.randrange(2) :]


# --- Lines ---------------------------------------------------------------------------------------------------------------


def _number(rng: random.Random, line: bytes) -> bytes:
    places = [match.span() for match in re.finditer(rb"(?<=:)-?\d+(?=[,}])", line)] or [(0, 0)]
    start, end = rng.choice(places)
    return line[:start] + rng.choice(NUMBERS).encode() + line[end:]


def _text(rng: random.Random, line: bytes) -> bytes:
    at = rng.randrange(len(line) + 1)
    return line[:at] + rng.choice(TEXTS).encode("utf-8", "surrogatepass") + line[at:]


def _flip(rng: random.Random, line: bytes) -> bytes:
    data = bytearray(line)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _splice(rng: random.Random, line: bytes) -> bytes:
    other = rng.choice(corpus(rng.choice(DAYS)))
    return line[: rng.randrange(len(line) + 1)] + other[rng.randrange(len(other) + 1) :]


def _cut(rng: random.Random, line: bytes) -> bytes:
    start, end = sorted((rng.randrange(len(line) + 1), rng.randrange(len(line) + 1)))
    return line[:start] + line[end:] if rng.random() < 0.5 else line[: rng.choice([start, end])]


def _repeat(rng: random.Random, line: bytes) -> bytes:
    start = rng.randrange(len(line) + 1)
    part = line[start : start + rng.choice([1, 3, 20, 200])]
    return line[:start] + part * rng.choice([2, 2, 3, 500]) + line[start:]


def _nest(rng: random.Random, line: bytes) -> bytes:
    depth, (left, right) = rng.choice([2, 99, 100, 101, 3000, 100_000]), rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    nested = left * depth + b"1" + right * (depth if rng.random() < 0.8 else depth - 1)
    if rng.random() < 0.5:
        return line[:-1] + b',"extra":' + nested + b"}"
    places = [match.span() for match in re.finditer(rb'(?<=:)("[^"]*"|-?\d+)(?=[,}])', line)] or [(0, 0)]
    start, end = rng.choice(places)
    return line[:start] + nested + line[end:]


def _giant(rng: random.Random, line: bytes) -> bytes:
    at = rng.randrange(len(line) + 1)
    part = rng.choice([b"9", b"h", b" ", b'"', b"\\", b"\xc3\xa9", b"[", b"1a1"])
    return line[:at] + part * rng.choice([300, 20_000, 1_100_000]) + line[at:]


def _keys(rng: random.Random, line: bytes) -> bytes:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(found, dict) or not found:
        return line
    items = list(found.items())
    action, at = rng.randrange(6), rng.randrange(len(items))
    if action == 0:
        del items[at]
    elif action == 1:
        items.insert(rng.randrange(len(items) + 1), rng.choice(items))
    elif action == 2:
        items[at] = (items[at][0], rng.choice([None, True, 1, -1, 1.0, "", "x", [], {}, 2**63, "NA", "na", "ai", "AI", *LONG, *TIMES]))
    elif action == 3:
        key = rng.choice(["extra", "level", "lines", "", "\x00", "score "])
        items.append((key, rng.choice([1, None, "x", {"a": [1]}, 2**70])))
    elif action == 4:
        items[at] = (items[at][0].upper(), items[at][1])
    else:
        rng.shuffle(items)
    ascii_only = rng.random() < 0.5
    body = ", ".join(f"{json.dumps(k, ensure_ascii=ascii_only)}: {json.dumps(v, ensure_ascii=ascii_only)}" for k, v in items)
    return f"{{{body}}}".encode("utf-8", "surrogatepass")


_LINE: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _number, _text, _flip, _splice, _cut, _repeat, _nest, _keys, _keys, _number,
)  # fmt: skip


def broken_line(rng: random.Random) -> bytes:
    """A line as somebody may upload it."""
    action = rng.random()
    if action < 0.1:
        return rng.choice(corpus(rng.choice(DAYS)))
    if action < 0.55:
        return json.dumps(broken_record(rng), ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    line = rng.choice(corpus(rng.choice(DAYS)))
    for _ in range(rng.choice([1, 1, 2, 3])):
        line = (_giant if rng.random() < 0.01 else rng.choice(_LINE))(rng, line)
    return line


# --- Files ---------------------------------------------------------------------------------------------------------------


def _plain(rng: random.Random, lines: list[bytes]) -> bytes:
    newline = rng.choice([b"\n"] * 6 + [b"\r\n", b"\n\n", b"\n \n", b"\r"])
    data = newline.join(lines) + (newline if rng.random() < 0.7 else b"")
    action = rng.random()
    if action < 0.06:
        data = b"\xef\xbb\xbf" * rng.choice([1, 1, 2]) + data
    elif action < 0.08:
        data = data.decode("utf-8", "replace").encode(rng.choice(["utf-16", "utf-16-be", "utf-32"]))
    return data


def _gzip(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1) if rng.random() < 0.3 else len(data)
    return gzip.compress(data[:at], mtime=0) + (gzip.compress(data[at:], mtime=0) if at < len(data) else b"")


def _zstd(rng: random.Random, data: bytes) -> bytes:
    import zstandard

    writer = zstandard.ZstdCompressor(write_checksum=rng.random() < 0.5, write_content_size=rng.random() < 0.5)
    at = rng.randrange(len(data) + 1) if rng.random() < 0.3 else len(data)
    return writer.compress(data[:at]) + (writer.compress(data[at:]) if at < len(data) else b"")


def _typed(rng: random.Random, column: pa.Array) -> pa.Array:
    """The column in another type of the same values, or of none that a record has."""
    if pa.types.is_string(column.type):
        kinds = [pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.string_view(), pa.binary(), pa.large_binary()]
    elif pa.types.is_integer(column.type):
        kinds = [pa.int8(), pa.int32(), pa.uint64(), pa.float64(), pa.string(), pa.decimal128(30, 0), pa.bool_()]
    else:
        kinds = [pa.string()]
    try:
        return column.cast(rng.choice(kinds))
    except pa.ArrowException:
        return pa.nulls(len(column), rng.choice(kinds))


def _table(rng: random.Random) -> pa.Table:
    rows = [broken_record(rng) for _ in range(rng.choice([1, 3, 10]))]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = []
    for name in names:
        try:
            columns.append(pa.array([row.get(name) for row in rows]))
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            columns.append(pa.array([str(row.get(name)).encode("ascii", "replace").decode() for row in rows]))
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        at = rng.randrange(len(columns))
        action = rng.randrange(4)
        if action == 0:
            columns[at] = _typed(rng, columns[at])
        elif action == 1 and names[at].endswith("_at"):
            kind = pa.timestamp(rng.choice(["s", "ms", "us", "ns"]), rng.choice([None, "UTC", "Europe/Paris"]))
            counts = pa.array([rng.choice([0, 1793448000, 2**40, -(2**62), 2**63 - 1, None]) for _ in rows], pa.int64())
            columns[at] = counts.view(kind)
        elif action == 2:
            columns[at] = pa.array([None if rng.random() < 0.5 else value for value in columns[at].to_pylist()], columns[at].type)
        else:
            names[at] = rng.choice(["extra", "level", "score", names[at].upper()])
    return pa.table(columns, names=names)


def _parquet(rng: random.Random) -> bytes:
    out = io.BytesIO()
    try:
        pq.write_table(
            _table(rng), out, row_group_size=rng.choice([1, 2, 1000]), compression=rng.choice(["snappy", "zstd", "gzip", "none"]),
            use_dictionary=rng.random() < 0.5, write_page_checksum=rng.random() < 0.5, data_page_size=rng.choice([64, 1 << 20]),
        )  # fmt: skip
    except pa.ArrowException:
        # Some tables cannot be written at all: a time that no unit of Parquet holds.
        return _parquet(rng)
    return out.getvalue()


def damaged(rng: random.Random, data: bytes) -> bytes:
    """A file's bytes cut, flipped, spliced, repeated or written over."""
    at = rng.randrange(len(data) + 1)
    size = rng.choice([1, 4, 16, 256])
    action = rng.randrange(7)
    if action == 0:
        return data[:at]
    if action == 1:
        return _flip(rng, data)
    if action == 2:
        return data[:at] + data[at + size :]
    if action == 3:
        return data[:at] + data[at : at + size] * 2 + data[at + size :]
    if action == 4:
        return data[:at] + rng.randbytes(size) + data[at + size :]
    if action == 5:
        return data + rng.choice([data, b"\0" * size, rng.randbytes(size), zlib.compress(b"{}"), b"\n"])
    return data[:at] + bytes([rng.choice([0, 1, 127, 128, 255])]) * size + data[at + size :]


def broken_file(rng: random.Random, number: int) -> tuple[str, bytes]:
    """(name, bytes) of a file as it may land."""
    kind = rng.choice(FORMATS + ("ndjson",) * 3)
    if kind == "parquet":
        data = _parquet(rng)
    else:
        lines = [broken_line(rng) for _ in range(rng.choice([0, 1, 5, 20]))]
        # The same upload again is a copy, wherever it stands.
        lines += rng.choices(lines, k=2) if lines and rng.random() < 0.3 else []
        data = _plain(rng, lines)
        data = {"ndjson": lambda _, d: d, "ndjson.gz": _gzip, "ndjson.zst": _zstd}[kind](rng, data)
    if kind != "ndjson" and rng.random() < 0.4:
        data = damaged(rng, data)
    return f"{number}.{kind}", data


def broken_files(rng: random.Random) -> dict[str, bytes]:
    """The files of one round, by their names."""
    return dict(broken_file(rng, number) for number in range(rng.choice([1, 1, 2, 3])))
