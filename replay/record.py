"""The record of one uploaded game (rules/common) and the careful reading of one line: the authority on what is malformed.

The fast readers accept only what this module would accept with the same values, and hand every other line here; a
property test holds them together.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from replay.errors import MalformedRecord

MAX_RECORD_BYTES = 1 << 20
MAX_TOKENS = 200_000
# What stands in a night's tables is short, so that a night's memory depends on how many uploads there are, not on what they hold.
MAX_TEXT_BYTES = 1024
# The longest honest board: 24 rows of 12 cells of Tetcolor, more than any family has, each with colour, special and ice, and "/"
# between them: 24 * 12 * 3 + 23 = 887 bytes.  Tetromino's 40 rows of 10 are 439, the 8 of 8 of blocks 71.
MAX_BOARD_BYTES = 16 << 10
# Python's own limit depends on who calls: a fixed one, far below it, gives a line one fate everywhere.
MAX_NESTING = 100
# uploaded_at may lie this far before finished_at: clocks of phones and servers differ (rules/common).
CLOCK_SKEW_US = 5 * 60 * 1_000_000

TEXT, INTEGER, TIME = "text", "integer", "time"
FIELDS: dict[str, str] = {
    "game_id": TEXT, "game": TEXT, "mode": TEXT, "rules": TEXT, "challenge": TEXT, "player_id": TEXT, "player_kind": TEXT,
    "nation": TEXT, "attempt": INTEGER, "platform": TEXT, "app_version": TEXT, "started_at": TIME, "finished_at": TIME,
    "uploaded_at": TIME, "moves": TEXT, "score": INTEGER, "best_combo": INTEGER, "final_board": TEXT,
}  # fmt: skip
# Bytes of UTF-8 that a text may have; a log is limited by its tokens and by its record.
TEXT_LIMITS = {name: MAX_TEXT_BYTES for name, kind in FIELDS.items() if kind == TEXT and name != "moves"}
TEXT_LIMITS["final_board"] = MAX_BOARD_BYTES
GAMES = ("blocks", "tetromino", "tetcolor")
# Fields that a record of these games may carry besides: integers or null.  In other games they are unknown extra fields.
OPTIONAL_FIELDS: dict[str, tuple[str, ...]] = {"tetromino": ("level", "lines")}
OPTIONAL_NAMES = tuple(dict.fromkeys(name for names in OPTIONAL_FIELDS.values() for name in names))
PLAYER_KINDS = ("human", "ai")

# The offset must be UTC; a fraction has one to nine digits and is cut to microseconds.
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:[Zz]|[+-]00:00)"
)
# What decides how deeply a text is nested: brackets, quotes, and escapes, which hide a quote.
_BRACKET = re.compile(r'\\.|["\[\]{}]', re.DOTALL)
_NO_LETTERS = bytes(byte for byte in range(256) if not (byte < 128 and chr(byte).isalpha()))
_JSON_NAMES = {list: "array", str: "string", bool: "boolean", type(None): "null"}
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Record:
    """One uploaded game; times are microseconds since 1970-01-01T00:00:00Z, ``nation`` None or an ISO 3166-1 alpha-2 code.

    ``level`` and ``lines`` are claims that only some games have (OPTIONAL_FIELDS), None where nothing was claimed.
    """

    game_id: str
    game: str
    mode: str
    rules: str
    challenge: str
    player_id: str
    player_kind: str
    nation: str | None
    attempt: int
    platform: str
    app_version: str
    started_at: int
    finished_at: int
    uploaded_at: int
    moves: str
    score: int
    best_combo: int
    final_board: str
    level: int | None = None
    lines: int | None = None


@cache
def nations() -> frozenset[str]:
    """The reference table of nations, seeds/nations.csv (ISO 3166-1 alpha-2, 249 codes)."""
    path = Path(__file__).parent.parent / "seeds" / "nations.csv"
    return frozenset(path.read_text("ascii").split()[1:])


class _NotAnInteger:
    """A JSON number that is no integer of 64 bits; kept as written so that the reason can show it."""

    def __init__(self, text: str) -> None:
        self.text = text if len(text) <= 40 else f"{text[:20]}... ({len(text)} digits)"


def _integer(text: str) -> int | _NotAnInteger:
    # int() of thousands of digits is refused by Python; nothing beyond 64 bits is wanted anyway.
    return int(text) if len(text) <= 20 else _NotAnInteger(text)


def _constant(text: str) -> Any:
    raise MalformedRecord("json", f"{text} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise MalformedRecord("duplicate_key", f"key {shown(key)} stands twice in one object")
            seen.add(key)
    return out


def shown(value: object) -> str:
    """A value as a reason shows it: printable ASCII, cut to a readable length."""
    if isinstance(value, _NotAnInteger):
        return value.text
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


def id_to_show(value: object) -> str | None:
    """What a quarantined record gives as its game_id where that can be one: its row names it."""
    # Of the first signs first: a text may have a million.
    fits = isinstance(value, str) and len(value) <= MAX_TEXT_BYTES and value.isprintable()
    return value if fits and len(value.encode("utf-8")) <= MAX_TEXT_BYTES else None  # type: ignore[return-value,attr-defined]


def parse_time(text: str) -> int:
    """Microseconds since 1970 UTC of an RFC 3339 time in UTC; raises ValueError otherwise.  Second 60 is not accepted."""
    match = _RFC3339.fullmatch(text)
    if not match:
        raise ValueError
    *parts, fraction = match.groups()
    moment = datetime(*(int(part) for part in parts), tzinfo=None)  # type: ignore[misc,arg-type]
    return (moment - _EPOCH) // _MICROSECOND + int((fraction or "0")[:6].ljust(6, "0"))


# The calendar of RFC 3339, and of every time that a record can hold.
FIRST_TIME, LAST_TIME = parse_time("0001-01-01T00:00:00Z"), parse_time("9999-12-31T23:59:59.999999Z")


def format_time(microseconds: int) -> str:
    """RFC 3339 UTC, with a fraction only when there is one."""
    moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="auto").replace("+00:00", "Z")


def _nesting(text: str) -> int:
    """The deepest nest of brackets outside strings, as far as anybody wants to know it; what is no JSON gives some number too."""
    deepest = depth = 0
    quoted = False
    for match in _BRACKET.finditer(text):
        mark = match.group()
        if mark == '"':
            quoted = not quoted
        elif not quoted and len(mark) == 1:
            depth += 1 if mark in "[{" else -1
            deepest = max(deepest, depth)
            if deepest > MAX_NESTING:
                break
    return deepest


def parse_json(line: bytes) -> dict[str, Any]:
    """One line as a JSON object, strictly: no duplicate keys at any depth, no NaN, valid UTF-8.  Raises MalformedRecord."""
    if len(line) > MAX_RECORD_BYTES:
        raise MalformedRecord("too_large", f"the record has {len(line)} bytes, at most {MAX_RECORD_BYTES} are taken")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedRecord("encoding", f"byte {error.start} (0x{line[error.start]:02x}) is not UTF-8") from error
    if text.count("[") + text.count("{") > MAX_NESTING and _nesting(text) > MAX_NESTING:
        raise MalformedRecord("json", f"not a record: brackets are nested more than {MAX_NESTING} deep")
    try:
        found = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_NotAnInteger, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        raise MalformedRecord("json", f"not JSON: {error.msg} (character {error.pos})") from error
    if not isinstance(found, dict):
        raise MalformedRecord("json", f"the line holds a JSON {_JSON_NAMES.get(type(found), 'number')}, not an object")
    return found


def check_object(found: dict[str, Any]) -> Record:
    """A parsed object as a Record; unknown extra fields are ignored.  Raises MalformedRecord naming the field and its value.

    An optional field of the record's game may be missing or null; anything else in it must be an integer.
    """
    values: dict[str, Any] = {}
    for name, kind in FIELDS.items():
        if name not in found:
            raise MalformedRecord("missing_field", f"field {name} is missing")
        value = found[name]
        if name == "nation" and value is None:
            values[name] = None
        elif kind == INTEGER:
            values[name] = _check_integer(name, value)
        else:
            values[name] = _check_text(name, value)
    for name, kind in FIELDS.items():
        if kind == TIME:
            values[name] = _check_time(name, values[name])
    for name in OPTIONAL_FIELDS.get(values["game"], ()):
        value = found.get(name)
        values[name] = None if value is None else _check_integer(name, value, " or null")
    record = Record(**values)
    _check_values(record)
    return record


def _check_integer(name: str, value: Any, or_else: str = "") -> int:
    # type() and not isinstance(): true is no number here.
    if type(value) is not int:
        raise MalformedRecord("wrong_type", f"field {name} is {shown(value)}, it must be a JSON integer{or_else}")
    if not -(2**63) <= value < 2**63:
        raise MalformedRecord("wrong_type", f"field {name} is {value}, it must fit into 64 bits")
    return value


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise MalformedRecord("wrong_type", f"field {name} is {shown(value)}, it must be text")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise MalformedRecord("encoding", f"field {name} holds a lone surrogate: {shown(value)}") from error
    if size > (limit := TEXT_LIMITS.get(name, size)):
        raise MalformedRecord(
            "too_large", f"field {name} begins with {value[:16]!a} and has {size} bytes, at most {limit} are taken"
        )
    return value


def _check_time(name: str, value: str) -> int:
    try:
        return parse_time(value)
    except ValueError as error:
        raise MalformedRecord("wrong_value", f"field {name} is {shown(value)}, it must be an RFC 3339 time in UTC") from error


def count_tokens(game: str, moves: str) -> int:
    """Tokens of a log, counted without replaying it: in ``blocks`` the column letters and ``*``, elsewhere the letters."""
    if game == "blocks":
        return sum(moves.count(char) for char in "abcdefghijk*")
    return len(moves.encode("utf-8", "ignore").translate(None, _NO_LETTERS))


def _check_values(record: Record) -> None:
    if record.game not in GAMES:
        raise MalformedRecord("wrong_value", f"field game is {shown(record.game)}, it must be one of {', '.join(GAMES)}")
    if record.player_kind not in PLAYER_KINDS:
        raise MalformedRecord("wrong_value", f"field player_kind is {shown(record.player_kind)}, it must be 'human' or 'ai'")
    if record.nation is not None and record.nation not in nations():
        raise MalformedRecord("wrong_value", f"field nation is {shown(record.nation)}, no ISO 3166-1 alpha-2 code")
    if record.finished_at < record.started_at:
        raise MalformedRecord(
            "wrong_value",
            f"field finished_at is {format_time(record.finished_at)}, before started_at {format_time(record.started_at)}",
        )
    if record.uploaded_at < record.finished_at - CLOCK_SKEW_US:
        raise MalformedRecord(
            "wrong_value",
            f"field uploaded_at is {format_time(record.uploaded_at)}, more than 5 minutes before"
            f" finished_at {format_time(record.finished_at)}",
        )
    if (tokens := count_tokens(record.game, record.moves)) > MAX_TOKENS:
        raise MalformedRecord("too_large", f"the log has {tokens} tokens, at most {MAX_TOKENS} are taken")


def parse_record(line: bytes) -> Record:
    """One NDJSON line as a Record.  Raises MalformedRecord."""
    return check_object(parse_json(line))
