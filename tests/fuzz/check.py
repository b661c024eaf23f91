"""What must hold of whatever lands: no crash, nothing uncounted, readers, engines and twins that agree, plain sentences."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from replay.adhoc import verify_files
from replay.errors import MalformedRecord, NothingReceived
from replay.record import MAX_RECORD_BYTES, Record, parse_record
from replay.verdict import judge
from tests.fuzz.claims import REPLAYED, owed_reasons, verifier
from tests.replay.night_support import check_run, night

DAY = date(2026, 10, 31)
# Reasons and suspicions that rest on other uploads: no single record shows them.
RELATED = frozenset(["duplicate_attempt", "conflicting_upload", "copied_log", "clock_ratio"])
LONGEST_SENTENCE = 2000
_BOM = b"\xef\xbb\xbf"


class Fault(NamedTuple):
    """Something that must not be: ``kind`` is crash, count, reader, engines, twin, words, night or memory."""

    kind: str
    text: str


def check_files(files: dict[str, bytes], seen: Counter[str] | None = None) -> list[Fault]:
    """Everything that is wrong with how these files, landed together, are verified; ``seen`` counts the verdicts."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        paths = {str(Path(folder) / name): data for name, data in files.items()}
        for path, data in paths.items():
            Path(path).write_bytes(data)
        try:
            found = list(verify_files([Path(path) for path in paths], verifier(), threads=1))
        except Exception as error:  # noqa: BLE001
            # No bytes in a file may stop a night, not even with an error of ours.
            return [Fault("crash", f"{type(error).__name__}: {error}")]
        if seen is not None:
            seen.update(row["verdict"] for row in found)
        faults = []
        for path, data in paths.items():
            rows = [row for row in found if row["source"]["file"] == path]
            faults += _check_file(Path(path).name, data, rows)
        if len(found) != sum(1 for row in found if row["source"]["file"] in paths):
            faults.append(Fault("count", "a row names no file that landed"))
    return faults


# --- Counting ------------------------------------------------------------------------------------------------------------


def lines_of(name: str, data: bytes) -> list[bytes] | None:
    """The lines of a text file, read by other means than ours; None where its container is broken."""
    try:
        if name.endswith(".gz"):
            data = _ungzip(data)
        elif name.endswith(".zst"):
            data = _unzstd(data)
    except (OSError, EOFError, ValueError, zlib.error, zstandard.ZstdError):
        return None
    return data.removeprefix(_BOM).split(b"\n")


def _ungzip(data: bytes) -> bytes:
    rest = data
    while rest.strip(b"\0"):
        # Python's reader passes over reserved flags of a member, which RFC 1952 (2.3.1.2) tells readers to refuse.
        rest = rest.lstrip(b"\0")
        if len(rest) > 3 and rest[3] & 0xE0:
            raise ValueError("reserved flags are set")
        decoder = zlib.decompressobj(31)
        decoder.decompress(rest)
        rest = decoder.unused_data
    return gzip.decompress(data)


def _unzstd(data: bytes) -> bytes:
    out, rest = b"", data
    while rest:
        decoder = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        out += decoder.decompress(rest)
        if not decoder.eof:
            raise ValueError("ends too early")
        rest = decoder.unused_data
    return out


def rows_of(data: bytes) -> int | None:
    """The rows of a Parquet file; None where it cannot be read to its end."""
    try:
        file = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True)
        wanted = [name for name in file.schema_arrow.names if name in Record.__dataclass_fields__]
        return sum(batch.num_rows for batch in file.iter_batches(columns=wanted))
    except (OSError, pa.ArrowException):
        return None


def _check_file(name: str, data: bytes, rows: list[dict[str, Any]]) -> list[Fault]:
    faults = [fault for row in rows for fault in _check_words(row)]
    numbers = [row["source"]["line"] for row in rows]
    if numbers != sorted(set(numbers)):
        faults.append(Fault("count", f"{name}: rows are out of order or double: {_few(numbers)}"))
    if name.endswith(".parquet"):
        count = rows_of(data)
        if count is not None and numbers != list(range(1, count + 1)):
            faults.append(Fault("count", f"{name}: {count} rows, judged are {_few(numbers)}"))
        elif count is None and not _gave_up(rows):
            faults.append(Fault("count", f"{name}: is damaged and nobody says so"))
        return faults
    lines = lines_of(name, data)
    if lines is None:
        return faults if _gave_up(rows) else [*faults, Fault("count", f"{name}: is damaged and nobody says so")]
    wanted = {at: line for at, line in enumerate(lines, start=1) if line.strip(b" \t\r") or len(line) > MAX_RECORD_BYTES}
    if numbers != list(wanted):
        faults.append(Fault("count", f"{name}: lines {_few(list(wanted))} hold something, judged are {_few(numbers)}"))
        return faults
    for row in rows:
        at = row["source"]["line"]
        faults += [Fault(kind, f"{name}, line {at}: {text}") for kind, text in check_line(wanted[at], row)]
    return faults


def _gave_up(rows: list[dict[str, Any]]) -> bool:
    return any(row["verdict"] == "quarantined" and row["reasons"][0]["code"] == "stream" for row in rows)


def _few(numbers: list[int]) -> str:
    return str(numbers) if len(numbers) < 12 else f"{numbers[:6]}... ({len(numbers)})"


# --- Judging -------------------------------------------------------------------------------------------------------------


def check_line(line: bytes, row: dict[str, Any]) -> list[Fault]:
    """One verified line held against the careful reader, the interpreted engine and the slow twin."""
    found = f"{row['verdict']} {[reason['code'] for reason in row['reasons']]}"
    try:
        if len(line) > MAX_RECORD_BYTES:
            raise MalformedRecord("too_large", "the line is too long")
        record = parse_record(line)
        verdict = judge(record, verifier().rulebook, verifier().challenges, verifier().settings)
    except MalformedRecord as problem:
        same = row["verdict"] == "quarantined" and row["reasons"][0]["code"] == problem.code
        return [] if same else [Fault("reader", f"read carefully it is malformed ({problem.code}: {problem}), judged {found}")]
    if verdict.verdict == "quarantined":
        same = row["verdict"] == "quarantined" and row["reasons"][0]["code"] == verdict.reasons[0].code
        return [] if same else [Fault("engines", f"its challenge cannot be played, judged {found}")]
    if row["verdict"] == "quarantined":
        return [Fault("reader", f"read carefully it is a record, quarantined as {row['reasons'][0]}")]
    return [*_check_judged(record, json.loads(json.dumps(verdict.as_json())), row), *check_twin(record, row)]


def _check_judged(record: Record, judged: dict[str, Any], row: dict[str, Any]) -> list[Fault]:
    faults = []
    if row["game_id"] != record.game_id:
        faults.append(Fault("reader", f"game {record.game_id!r} is called {row['game_id']!r}"))
    alone = ["claimed", "replayed", "fault", "rules", "challenge"]
    if row["verdict"] != "copy":
        reasons = [reason for reason in row["reasons"] if reason["code"] not in RELATED]
        row = row | {"reasons": reasons, "suspicions": [sign for sign in row["suspicions"] if sign not in RELATED]}
        alone += ["reasons", "suspicions"]
        if row["verdict"] == "flagged" and not row["reasons"]:
            row["verdict"] = "verified"
        alone.append("verdict")
    for key in alone:
        if row[key] != judged[key]:
            faults.append(Fault("engines", f"{key}: the interpreted engine gives {judged[key]}, the night {row[key]}"))
    return faults


def check_twin(record: Record, row: dict[str, Any]) -> list[Fault]:
    """A verified log whose claims the twin does not give, or a flagged one whose claims it gives."""
    owed = owed_reasons(record)
    if owed is None or row["verdict"] == "copy":
        return []
    if owed == {"deal_exhausted"}:
        return [Fault("twin", f"the twin runs out of pieces, judged {row['verdict']}")]
    given = {reason["code"] for reason in row["reasons"]} & REPLAYED
    told = f"the twin's replay gives {sorted(owed)}, judged {row['verdict']} {sorted(given)}"
    return [] if given == owed else [Fault("twin", told)]


def not_one_sentence(text: Any) -> bool:
    """Whether a reason is empty, breaks the line, ends like two, or cannot be shown."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        return True
    return text.endswith(".") or len(text) > LONGEST_SENTENCE


def _check_words(row: dict[str, Any]) -> Iterable[Fault]:
    try:
        json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError as error:
        yield Fault("words", f"the row cannot be written: {error}")
    said = [row["fault"]["text"]] if row["fault"] else []
    if row["verdict"] == "quarantined":
        said.append(row["reasons"][0]["found"])
    for text in said:
        if not_one_sentence(text):
            yield Fault("words", f"no sentence: {text!r:.300}")


# --- A whole night -------------------------------------------------------------------------------------------------------


def check_night(files: dict[str, bytes], shard_games: int) -> list[Fault]:
    """The same files through a whole night: counts add up file by file, and each record is judged as outside a lake."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        lake, logs = Path(folder), Path(folder) / "logs" / f"day={DAY}"
        logs.mkdir(parents=True)
        for name, data in files.items():
            (logs / name).write_bytes(data)
        found = list(verify_files([logs / name for name in files], verifier(), threads=1))
        try:
            night(lake, DAY, shard_games=shard_games)
            run = check_run(lake, DAY)
        except NothingReceived as error:
            bad = bool(found) or not_one_sentence(str(error).replace(folder, ""))
            return [Fault("night", f"{len(found)} records, and the night says: {error}")] if bad else []
        except Exception as error:  # noqa: BLE001
            return [Fault("crash", f"a night: {type(error).__name__}: {error}")]
    here = Counter(Path(row["source"]["file"]).name for row in found)
    there = {entry["file"]: entry["records"] for entry in run["inputs"]}
    faults = []
    if {name: here[name] for name in files} != there:
        faults.append(Fault("night", f"records by file: {there}, outside a lake {dict(here)}"))
    verdicts = Counter(row["verdict"] for row in found)
    counted = {name: run["verdicts"][name] for name in ("verified", "flagged", "copy")} | {"quarantined": run["quarantined"]}
    # Held back for what the others are, which no game says by itself.
    counted["flagged"] += run["verdicts"]["withheld"]
    if {name: verdicts[name] for name in counted} != counted:
        faults.append(Fault("night", f"verdicts: {counted}, outside a lake {dict(verdicts)}"))
    return faults
