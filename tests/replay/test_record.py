"""The record and its careful reading: what is a record, what is not, and what is said about it (E3, E4, D8)."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.tetcolor import layout
from engine.tetromino.pieces import MAX_HEIGHT, MAX_WIDTH
from replay import record as r
from replay.errors import MalformedRecord
from replay.record import (
    FIELDS,
    INTEGER,
    MAX_RECORD_BYTES,
    MAX_TOKENS,
    OPTIONAL_NAMES,
    TEXT,
    TIME,
    count_tokens,
    format_time,
    parse_record,
    parse_time,
)
from tests.replay.build import VALID, Missing, Raw, as_line, line, record, refusal

INTEGERS = [name for name, kind in FIELDS.items() if kind == INTEGER]
TEXTS = [name for name, kind in FIELDS.items() if kind == TEXT]
TIMES = [name for name, kind in FIELDS.items() if kind == TIME]
# A stretch of text that no reader takes for digits although Python's int() does.
ARABIC = "\u0661\u0662"
SECOND = 1_000_000
CODES = ("json", "encoding", "duplicate_key", "missing_field", "wrong_type", "wrong_value", "too_large")


def cut(size: int, first: int = 0) -> bytes:
    return line()[first : first + size]


# --- Lines that are no records: name -> (line, code, part of the reason) ----------------------------------------------

_HALF = len(line()) // 2
BAD: dict[str, tuple[bytes, str, str]] = {
    "words": (b"no json at all", "json", "Expecting value (character 0)"),
    "first half": (cut(_HALF), "json", "not JSON"),
    "second half": (line()[_HALF:], "json", "not JSON"),
    "middle missing": (cut(_HALF - 30) + line()[_HALF + 30 :], "json", "not JSON"),
    "all but the brace": (line()[:-1], "json", "not JSON"),
    "cut inside a string": (line()[:-4], "json", "not JSON"),
    "cut inside a number": (line().partition(b"234,")[0], "json", "not JSON"),
    "trailing comma": (line()[:-1] + b",}", "json", "not JSON"),
    "comma missing": (line().replace(b'", "mode"', b'" "mode"'), "json", "not JSON"),
    "colon missing": (line().replace(b'"mode":', b'"mode"'), "json", "not JSON"),
    "single quotes": (line().replace(b'"', b"'"), "json", "not JSON"),
    "a comment": (b"// " + line(), "json", "not JSON"),
    "text behind": (line() + b"TRAILER", "json", "Extra data"),
    "a brace behind": (line() + b"}", "json", "Extra data"),
    "two objects": (line() + line(game_id="g-2"), "json", "Extra data"),
    "bare carriage return between": (line() + b"\r" + line(game_id="g-2"), "json", "Extra data"),
    "form feed behind": (line() + b"\x0c", "json", "Extra data"),
    "vertical tab before": (b"\x0b" + line(), "json", "Expecting value"),
    "no-break space before": (b"\xc2\xa0" + line(), "json", "Expecting value"),
    "byte-order mark within": (b"\xef\xbb\xbf" + line(), "json", "BOM"),
    "an array": (b"[" + line() + b"]", "json", "a JSON array, not an object"),
    "a number": (b"12", "json", "a JSON number, not an object"),
    "a fraction": (b"1.5", "json", "a JSON number, not an object"),
    "a string": (b'"game"', "json", "a JSON string, not an object"),
    "true": (b"true", "json", "a JSON boolean, not an object"),
    "null": (b"null", "json", "a JSON null, not an object"),
    "an empty object": (b"{}", "missing_field", "field game_id is missing"),
    "a nest of 100,000 brackets": (b"[" * 100_000, "json", "nested more than 100 deep"),
    "a nest of 100,000 objects": (b'{"a":' * 100_000, "json", "nested more than 100 deep"),
    "a nest in an extra field": (line(deep=Raw("[" * 100 + "]" * 100)), "json", "nested more than 100 deep"),
    "a nest behind an escaped quote": (line(odd='\\"', deep=Raw("[" * 101 + "]" * 101)), "json", "nested more than 100 deep"),
    "raw tab in a text": (line(game_id=Raw('"g\t1"')), "json", "control character"),
    "raw NUL in a text": (line(game_id=Raw('"g\x001"')), "json", "control character"),
    "raw line end in an extra text": (line(note=Raw('"a\rb"')), "json", "control character"),
    "unknown escape": (line(player_id=Raw('"\\x41"')), "json", "escape"),
    "short escape": (line(player_id=Raw('"\\u12"')), "json", "escape"),
    "NaN in an extra field": (line(note=Raw("NaN")), "json", "NaN is not JSON"),
    "Infinity in an extra array": (line(note=Raw("[1, -Infinity]")), "json", "-Infinity is not JSON"),
    "leading zero in an extra field": (line(note=Raw("01")), "json", "not JSON"),
    "Latin-1 in player_id": (line(player_id="p").replace(b'"p"', b'"caf\xe9"'), "encoding", "(0xe9) is not UTF-8"),
    "Latin-1 in an extra field": (line(note="x").replace(b'"x"', b'"caf\xe9"'), "encoding", "(0xe9) is not UTF-8"),
    "bad UTF-8 in a key": (line().replace(b'"mode"', b'"mode\xff"'), "encoding", "(0xff) is not UTF-8"),
    "overlong NUL": (line(platform="x").replace(b'"x"', b'"\xc0\x80"'), "encoding", "(0xc0) is not UTF-8"),
    "encoded surrogate": (line(platform="x").replace(b'"x"', b'"\xed\xa0\x80"'), "encoding", "(0xed) is not UTF-8"),
    "beyond Unicode": (line(platform="x").replace(b'"x"', b'"\xf4\x90\x80\x80"'), "encoding", "(0xf4) is not UTF-8"),
    "UTF-16": (line().decode().encode("utf-16"), "encoding", "byte 0 (0xff) is not UTF-8"),
    "UTF-16 without mark": (line().decode().encode("utf-16-be"), "json", "not JSON"),
    "key twice": (line(', "score": 999999'), "duplicate_key", "key 'score' stands twice"),
    "key twice with one value": (line(', "score": 1234'), "duplicate_key", "key 'score' stands twice"),
    "key twice, once escaped": (line(', "sc\\u006fre": 1234'), "duplicate_key", "key 'score' stands twice"),
    "null nation and a nation": (line(', "nation": null'), "duplicate_key", "key 'nation' stands twice"),
    "extra key twice": (line(', "extra": 1, "extra": 1'), "duplicate_key", "key 'extra' stands twice"),
    "extra key twice, far apart": (
        line("".join(f', "x{i}": {i}' for i in range(20)) + ', "x3": 3'), "duplicate_key", "key 'x3' stands twice",
    ),
    "empty key twice": (line(', "": 1, "": 2'), "duplicate_key", "key '' stands twice"),
    "nested key twice": (line(', "extra": {"a": [{"b": 1, "b": 2}]}'), "duplicate_key", "key 'b' stands twice"),
    "known key twice in a nest": (line(', "extra": {"score": 1, "score": 2}'), "duplicate_key", "key 'score' stands twice"),
    "game unknown": (line(game="chess"), "wrong_value", "field game is 'chess', it must be one of blocks, tetromino, tetcolor"),
    "game in capitals": (line(game="Blocks"), "wrong_value", "field game is 'Blocks'"),
    "game with a space": (line(game="blocks "), "wrong_value", "field game is 'blocks '"),
    "game empty": (line(game=""), "wrong_value", "field game is ''"),
    "1 MiB and a byte": (b"", "too_large", f"the record has {MAX_RECORD_BYTES + 1} bytes, at most {MAX_RECORD_BYTES} are taken"),
    "200,001 tokens": (line(moves="1a1" * 200_001), "too_large", "the log has 200001 tokens, at most 200000 are taken"),
    "200,001 letters": (line(moves="a" * 200_001), "too_large", "the log has 200001 tokens"),
    "200,001 continues": (line(moves="*" * 200_001), "too_large", "the log has 200001 tokens"),
    "199,999 tokens and two continues": (line(moves="1a1" * 199_999 + "**"), "too_large", "the log has 200001 tokens"),
    "a million tokens": (line(moves="a" * 1_000_000), "too_large", "the log has 1000000 tokens"),
    "200,001 tokens of another game": (line(game="tetromino", moves="h" * 200_001), "too_large", "the log has 200001 tokens"),
    **{
        f"{name} of {limit + 1} bytes": (
            line(**{name: "x" * (limit + 1)}), "too_large",
            f"field {name} begins with 'xxxxxxxxxxxxxxxx' and has {limit + 1} bytes, at most {limit} are taken",
        )
        for name, limit in r.TEXT_LIMITS.items()
    },
    **{
        f"{name} of fewer letters than bytes": (
            line(**{name: "x" + "\u00e9" * (limit // 2)}), "too_large", f"and has {limit + 1} bytes, at most {limit} are taken",
        )
        for name, limit in r.TEXT_LIMITS.items()
    },
    "a player_id of 80,000 faces": (line(player_id="\U0001f600" * 80_000), "too_large", "has 320000 bytes, at most 1024 are taken"),
    "finished before started": (
        line(finished_at="2026-10-31T11:59:59.999999Z"), "wrong_value",
        "field finished_at is 2026-10-31T11:59:59.999999Z, before started_at 2026-10-31T12:00:00Z",
    ),
    "uploaded 5 minutes and a microsecond before": (
        line(uploaded_at="2026-10-31T12:00:00.249999Z"), "wrong_value",
        "field uploaded_at is 2026-10-31T12:00:00.249999Z, more than 5 minutes before finished_at 2026-10-31T12:05:00.250000Z",
    ),
}  # fmt: skip
_padding = MAX_RECORD_BYTES + 1 - len(line(note=""))
BAD["1 MiB and a byte"] = (line(note="x" * _padding), *BAD["1 MiB and a byte"][1:])

_NOT_INTEGERS = {
    "text": '"12"', "a fraction of zero": "12.0", "a fraction": "1.5", "an exponent": "1e3", "a capital exponent": "1E3",
    "a negative zero fraction": "-0.0", "1e400": "1e400", "1e999": "1e999", "true": "true", "false": "false", "null": "null",
    "an array": "[12]", "an object": '{"a": 12}', "an empty text": '""', "2^63": str(2**63), "-2^63 - 1": str(-(2**63) - 1),
    "2^64": str(2**64), "5,000 nines": "9" * 5000, "minus 5,000 nines": "-" + "9" * 5000, "10^18 as exponent": "1e18",
}  # fmt: skip
_NOT_JSON_NUMBERS = {
    "NaN": "NaN", "Infinity": "Infinity", "-Infinity": "-Infinity", "a leading zero": "012", "zeros": "00",
    "minus a leading zero":
    "-01", "a plus": "+1", "hexadecimal": "0x10", "an underscore": "1_000", "no whole part": ".5", "no fraction": "1.", "a minus":
    "-", "two minus": "--1", "nothing": "", "Arabic digits": ARABIC, "True": "True", "None": "None", "nul": "nul",
    "words": "12 34",
}  # fmt: skip
BAD |= {
    f"{name} is {what}": (line(**{name: Raw(text)}), "wrong_type", f"field {name} is ")
    for name in INTEGERS
    for what, text in _NOT_INTEGERS.items()
}
BAD |= {
    f"{name} is {what}": (line(**{name: Raw(text)}), "json", "JSON")
    for name in INTEGERS
    for what, text in _NOT_JSON_NUMBERS.items()
}
BAD |= {
    f"{name} is {what}": (line(**{name: Raw(text)}), "wrong_type", f"field {name} is ")
    for name in TEXTS + TIMES
    for what, text in {
        "a number": "12",
        "a fraction": "1.5",
        "true": "true",
        "an array": '["a"]',
        "an object": "{}",
        "null": "null",
    }.items()
    if (name, what) != ("nation", "null")
}
# The optional claims of a game that has them are as strict; null is the only other thing that may stand there.
BAD |= {
    f"{name} of a tetromino game is {what}": (line(game="tetromino", **{name: Raw(text)}), "wrong_type", f"field {name} is ")
    for name in OPTIONAL_NAMES
    for what, text in _NOT_INTEGERS.items()
    if what != "null"
}
BAD |= {
    f"{name} of {game} is {what}": (line(game=game, **{name: Raw(text)}), "json", "JSON")
    for name in OPTIONAL_NAMES
    for game in ("blocks", "tetromino")
    for what, text in _NOT_JSON_NUMBERS.items()
}
BAD |= {
    f"level of {game} twice, {what}": (line(f', "level": {text}', game=game, level=1), "duplicate_key", "key 'level' stands twice")
    for game in ("blocks", "tetromino")
    for what, text in {"the same": "1", "a null": "null", "a text": '"x"'}.items()
}
BAD |= {f"{name} is missing": (line(**{name: Missing}), "missing_field", f"field {name} is missing") for name in FIELDS}
BAD |= {
    f"{name} has a lone surrogate": (
        line(**{name: Raw('"a\\ud800b"')}),
        "encoding",
        f"field {name} holds a lone surrogate: 'a\\ud800b'",
    )
    for name in TEXTS + TIMES
}
BAD["surrogates in the wrong order"] = (
    line(player_id=Raw('"\\ude00\\ud83d"')),
    "encoding",
    "field player_id holds a lone surrogate",
)

NO_TIMES = {
    "29 February of a common year": "2026-02-29T12:00:00Z", "29 February of 1900": "1900-02-29T12:00:00Z",
    "29 February of 2100": "2100-02-29T12:00:00Z", "30 February": "2024-02-30T12:00:00Z", "31 April": "2026-04-31T12:00:00Z",
    "day 0": "2026-10-00T12:00:00Z", "day 32": "2026-10-32T12:00:00Z", "month 0": "2026-00-10T12:00:00Z",
    "month 13": "2026-13-10T12:00:00Z", "second 60": "2026-12-31T23:59:60Z", "minute 60": "2026-10-31T12:60:00Z",
    "hour 24": "2026-10-31T24:00:00Z", "year 0": "0000-01-01T00:00:00Z", "five digits of a year": "10000-01-01T00:00:00Z",
    "an offset of an hour": "2026-10-31T12:00:00+01:00", "an offset of minutes": "2026-10-31T12:00:00+00:30",
    "an offset without colon": "2026-10-31T12:00:00+0000", "an offset of hours only": "2026-10-31T12:00:00+00",
    "no offset": "2026-10-31T12:00:00", "a space for T": "2026-10-31 12:00:00Z", "no seconds": "2026-10-31T12:00Z",
    "a date": "2026-10-31", "ten fraction digits": "2026-10-31T12:00:00.1234567890Z",
    "an empty fraction": "2026-10-31T12:00:00.Z",
    "a comma fraction": "2026-10-31T12:00:00,5Z", "a space before": " 2026-10-31T12:00:00Z",
    "a space behind": "2026-10-31T12:00:00Z ",
    "a line feed behind": "2026-10-31T12:00:00Z\n", "two zones": "2026-10-31T12:00:00ZZ", "one digit": "2026-10-31T1:00:00Z",
    "a basic form": "20261031T120000Z", "slashes": "2026/10/31T12:00:00Z", "a sign": "+2026-10-31T12:00:00Z",
    "a minus in a number": "2026-10-31T-1:00:00Z", "Arabic digits": f"20{ARABIC}-10-31T12:00:00Z",
    "seconds since 1970": "1793448000",
    "nothing": "", "a week date": "2026-W44-6T12:00:00Z", "a leap month": "2026-02-30T00:00:00Z",
    "a letter": "2O26-10-31T12:00:00Z",
}  # fmt: skip
BAD |= {
    f"{name} is {what}": (
        line(**{name: text}),
        "wrong_value",
        f"field {name} is {r.shown(text)}, it must be an RFC 3339 time in UTC",
    )
    for name in TIMES
    for what, text in NO_TIMES.items()
}
BAD |= {
    f"nation {text!r}": (line(nation=text), "wrong_value", f"field nation is {text!r}, no ISO 3166-1 alpha-2 code")
    for text in ("", "na", "Na", "UK", "EU", "XK", "ZZ", "FRA", "F", "FR ", " F", "F\n", "??", "A[", "12", "null", "AB")
}
BAD["nation beyond ASCII"] = (line(nation="\u0391\u0392"), "wrong_value", "field nation is '\\u0391\\u0392', no ISO 3166-1")
BAD |= {
    f"player_kind {text!r}": (line(player_kind=text), "wrong_value", f"field player_kind is {text!r}, it must be 'human' or 'ai'")
    for text in ("", "AI", "Human", "HUMAN", "Ai", "bot", "human ", " ai", "humans", "a", "hum\x00n")
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_refused_with_its_code_and_reason(name: str) -> None:
    text, code, part = BAD[name]
    with pytest.raises(MalformedRecord) as problem:
        parse_record(text)
    assert (problem.value.code, part in str(problem.value)) == (code, True), str(problem.value)
    reason = str(problem.value)
    assert len(reason) < 300
    assert "\n" not in reason
    assert reason.isprintable()
    assert reason.isascii()


# --- Lines that are records although they look odd: name -> (line, values that are not the valid record's) -------


def micros(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


NAMES = {
    "quotes": '"it\'s" \\"', "a formula": '=cmd|"/c calc"!A1', "another formula": '=HYPERLINK("http://x","y")', "a plus": "+1",
    "a minus": "-2", "an at sign": "@a", "a tab": "\tx", "a line feed": "a\nb", "CR LF": "a\r\nb", "NUL": "a\x00b",
    "a bell": "\x07\x1b[2J",
    "DEL": "a\x7f", "C1": "a\x85\x9b", "right to left": "abc\u202edef\u202c", "a byte-order mark": "\ufeffa",
    "line separators": "a\u2028b\u2029",
    "composed": "\u00e9", "decomposed": "e\u0301", "beyond the BMP": "\U0001f600", "the last code point": "\U0010ffff",
    "empty": "",
    "a space": " ", "markup": "<script>alert(1)</script>", "a percent": "%s%n{0}", "a noncharacter": "\ufffe\uffff",
    "as long as may be": "x" * 1024, "as long as may be beyond ASCII": "\u00e9\U0001f600" * 170 + "xxxx",
    "a comma and a quote": 'a,"b', "a backslash": "\\", "two": "\\\\", "a path": "../../etc/passwd", "minus one": "-1",
    "null": "null",
}  # fmt: skip
FREE_TEXTS = [name for name in TEXTS if name not in ("game", "player_kind", "nation")]

GOOD: dict[str, tuple[bytes, dict[str, Any]]] = {
    "as it is": (line(), {}),
    "compact": (json.dumps(VALID, separators=(",", ":")).encode(), {}),
    "spaced out": (line().replace(b" ", b" \t \r ").replace(b'1a1 \t \r 2b2', b"1a1 2b2"), {}),
    "space around": (b" \t\r " + line() + b" \t\r ", {}),
    "reversed": (json.dumps(dict(reversed(VALID.items()))).encode(), {}),
    "CR behind": (line() + b"\r", {}),
    "escaped keys": (line().replace(b'"game_id"', b'"\\u0067ame_id"').replace(b'"moves"', b'"move\\u0073"'), {}),
    "escaped solidus": (line(final_board=Raw('"3##3\\/8"')), {}),
    "a surrogate pair": (line(player_id=Raw('"\\ud83d\\ude00"')), {"player_id": "\U0001f600"}),
    "all escapes": (line(player_id=Raw('"\\"\\\\\\/\\b\\f\\n\\r\\t"')), {"player_id": '"\\/\b\f\n\r\t'}),
    "an escaped NUL": (line(player_id=Raw('"\\u0000"')), {"player_id": "\x00"}),
    "null nation": (line(nation=None), {"nation": None}),
    "Namibia": (line(nation="NA"), {"nation": "NA"}),
    "an escaped nation": (line(nation=Raw('"F\\u0052"')), {}),
    "an AI player": (line(player_kind="ai"), {"player_kind": "ai"}),
    "tetromino": (line(game="tetromino"), {"game": "tetromino"}),
    "tetcolor": (line(game="tetcolor"), {"game": "tetcolor"}),
    "any mode and rules": (line(mode="?", rules="", challenge="never"), {"mode": "?", "rules": "", "challenge": "never"}),
    "minus zero": (line(score=Raw("-0"), attempt=Raw("-0")), {"score": 0, "attempt": 0}),
    "the largest": (line(score=2**63 - 1, best_combo=2**63 - 1, attempt=2**63 - 1), dict.fromkeys(INTEGERS, 2**63 - 1)),
    "the smallest": (line(score=-(2**63), best_combo=-(2**63), attempt=-(2**63)), dict.fromkeys(INTEGERS, -(2**63))),
    "18 digits": (line(score=10**18 - 1, best_combo=1 - 10**18), {"score": 10**18 - 1, "best_combo": 1 - 10**18}),
    "19 digits": (line(score=10**18, best_combo=-(10**18)), {"score": 10**18, "best_combo": -(10**18)}),
    "2^31 and 2^53 + 1": (line(score=2**31, best_combo=2**53 + 1), {"score": 2**31, "best_combo": 2**53 + 1}),
    "no move": (line(moves=""), {"moves": ""}),
    "a board of 16 KiB": (line(final_board="1" * 16_384), {"final_board": "1" * 16_384}),
    "a board of 16 KiB in fewer letters": (line(final_board="\u00e9" * 8192), {"final_board": "\u00e9" * 8192}),
    "a log of a million digits": (line(moves="1" * 1_000_000), {"moves": "1" * 1_000_000}),
    "an unreadable log": (line(moves="\u00e9 ?\n"), {"moves": "\u00e9 ?\n"}),
    "no length at all": (line(finished_at="2026-10-31T12:00:00Z", uploaded_at="2026-10-31T12:00:00Z"), {}),
    "uploaded exactly 5 minutes before": (line(uploaded_at="2026-10-31T12:00:00.25Z"), {}),
    "exactly 200,000 tokens": (line(moves="1a1" * 200_000), {"moves": "1a1" * 200_000}),
    "200,000 tokens and much space": (line(moves="* " * 200_000), {"moves": "* " * 200_000}),
    "digits are no tokens": (line(moves="1" * 300_000), {"moves": "1" * 300_000}),
    "letters beyond k are no tokens": (line(moves="zZA" * 100_000), {"moves": "zZA" * 100_000}),
    "exactly 1 MiB": (line(note="x" * (_padding - 1)), {}),
    "extra text": (line(note="x"), {}),
    "extra number": (line(note=12), {}),
    "extra fraction": (line(note=Raw("-1.5e-3")), {}),
    "extra huge number": (line(note=Raw("1e999"), more=Raw("9" * 5000)), {}),
    "extra true, false, null": (line(a=True, b=False, c=None), {}),
    "extra array": (line(note=[1, [2.5, "x"], {}]), {}),
    "extra object": (line(note={"score": "x", "game_id": {"score": None}}), {}),
    "extra lone surrogate": (line(note=Raw('"\\ud800"')), {}),
    "extra empty key": (line(**{"": 1}), {}),
    "an extra key of 16 letters": (line(abcdefghijklmnop=1), {}),
    "an extra key of 8 letters": (line(game_ids=1, challeng=2), {}),
    "extra keys like known ones": (line(Score=1, scor=2, scores=3, moves_=4, gam=5, game_i=6, gamf_id=7), {}),
    "twenty extra fields": (line(**{f"x{i}": i for i in range(20)}), {}),
    "a nest 99 deep": (line(deep=Raw("[" * 99 + "]" * 99)), {}),
    "many brackets, not deep": (line(flat=Raw("[" + ",".join(["[]", "{}"] * 500) + "]")), {}),
    "brackets in a text": (line(note="[" * 5000, more='\\"[{' * 200, moves="[" * 500), {"moves": "[" * 500}),
}  # fmt: skip
# Optional claims: of a game that has them, and as the unknown extra fields that they are in any other.
_TETROMINO = {"game": "tetromino"}
GOOD |= {
    "level and lines": (line(**_TETROMINO, level=3, lines=25), _TETROMINO | {"level": 3, "lines": 25}),
    "lines, then level, first of all": (
        b'{"lines": 1, "level": 2, ' + line(**_TETROMINO)[1:], _TETROMINO | {"level": 2, "lines": 1},
    ),
    "only a level": (line(**_TETROMINO, level=3), _TETROMINO | {"level": 3}),
    "only lines, zero": (line(**_TETROMINO, lines=Raw("-0")), _TETROMINO | {"lines": 0}),
    "level and lines null": (line(**_TETROMINO, level=None, lines=None), _TETROMINO),
    "level null, lines given": (line(**_TETROMINO, level=None, lines=7), _TETROMINO | {"lines": 7}),
    "an escaped key of a level": (line(**_TETROMINO, level=3).replace(b'"level"', b'"l\\u0065vel"'), _TETROMINO | {"level": 3}),
    "the largest level, the smallest lines": (
        line(**_TETROMINO, level=2**63 - 1, lines=-(2**63)), _TETROMINO | {"level": 2**63 - 1, "lines": -(2**63)},
    ),
    "18 and 19 digits of them": (
        line(**_TETROMINO, level=10**18 - 1, lines=10**18), _TETROMINO | {"level": 10**18 - 1, "lines": 10**18},
    ),
}  # fmt: skip
GOOD |= {
    f"{name} of {game} is {what}": (line(game=game, **{name: Raw(text)}), {"game": game})
    for name in OPTIONAL_NAMES
    for game in ("blocks", "tetcolor")
    for what, text in (_NOT_INTEGERS | {"a number": "12", "minus one": "-1"}).items()
}
GOOD |= {f"{field} is {what}": (line(**{field: text}), {field: text}) for field in FREE_TEXTS for what, text in NAMES.items()}
GOOD |= {
    f"{field} is {what}, written out": (line(**{field: Raw(json.dumps(text, ensure_ascii=False))}), {field: text})
    for field in ("game_id", "player_id")
    for what, text in NAMES.items()
}
_SAME_TIMES = {
    "lower case": "2026-10-31t12:00:00z", "lower z": "2026-10-31T12:00:00z", "plus zero": "2026-10-31T12:00:00+00:00",
    "minus zero": "2026-10-31T12:00:00-00:00", "one digit": "2026-10-31T12:00:00.0Z",
    "nine zeros": "2026-10-31T12:00:00.000000000Z",
}  # fmt: skip
GOOD |= {f"started_at in {what}": (line(started_at=text), {}) for what, text in _SAME_TIMES.items()}
GOOD |= {
    f"started_at with {digits} digits": (
        line(started_at=f"2026-10-31T11:59:59.{'123456789'[:digits]}Z"),
        {"started_at": micros("2026-10-31T11:59:59+00:00") + int("123456789"[:digits][:6].ljust(6, "0"))},
    )
    for digits in range(1, 10)
}
GOOD |= {
    f"started_at {text}": (line(started_at=text), {"started_at": micros(text)})
    for text in (
        "0001-01-01T00:00:00Z", "0999-12-31T23:59:59Z", "1600-02-29T12:00:00Z", "1899-12-31T23:59:59.999999Z",
        "1969-12-31T23:59:59.5Z",
        "1970-01-01T00:00:00Z", "2000-02-29T00:00:00Z", "2024-02-29T23:59:59Z", "2026-02-28T23:59:59Z",
    )
}  # fmt: skip
_END = dict.fromkeys(("finished_at", "uploaded_at"), "9999-12-31T23:59:59.999999Z")
GOOD["the last moment"] = (line(**_END), {name: micros(text) for name, text in _END.items()})
GOOD["29 February in all three"] = (
    line(**dict.fromkeys(TIMES, "2028-02-29T12:00:00Z")), dict.fromkeys(TIMES, micros("2028-02-29T12:00:00Z")),
)  # fmt: skip
GOOD["no length at all"][1].update(dict.fromkeys(("finished_at", "uploaded_at"), micros("2026-10-31T12:00:00Z")))
GOOD["uploaded exactly 5 minutes before"][1]["uploaded_at"] = micros("2026-10-31T12:00:00.25Z")


@pytest.mark.parametrize("name", GOOD)
def test_an_odd_line_is_taken_with_its_values(name: str) -> None:
    text, changed = GOOD[name]
    assert asdict(parse_record(text)) == asdict(record()) | changed


def test_the_valid_record_has_the_values_that_are_written() -> None:
    found = asdict(record())
    assert VALID.keys() == FIELDS.keys()
    assert list(found) == [*FIELDS, *OPTIONAL_NAMES]
    assert [found[name] for name in OPTIONAL_NAMES] == [None, None]
    for name, written in VALID.items():
        assert found[name] == (micros(written) if FIELDS[name] == TIME else written), name
    assert [f.name for f in fields(r.Record)] == [*FIELDS, *OPTIONAL_NAMES]


def test_optional_fields_belong_to_games_that_have_them() -> None:
    assert r.OPTIONAL_FIELDS == {"tetromino": ("level", "lines")}
    assert not {*FIELDS} & {*OPTIONAL_NAMES}


def test_composed_and_decomposed_names_are_two_players() -> None:
    """D8: ids compare by bytes."""
    assert record(player_id="\u00e9").player_id != record(player_id="e\u0301").player_id


def test_every_nation_of_the_table_is_taken_and_no_other_pair_of_capitals() -> None:
    known = r.nations()
    assert len(known) == 249
    assert "NA" in known
    letters = [chr(65 + i) for i in range(26)]
    for code in (a + b for a in letters for b in letters):
        found = VALID | {"nation": code}
        if code in known:
            assert r.check_object(found).nation == code
        else:
            with pytest.raises(MalformedRecord, match=r"no ISO 3166-1"):
                r.check_object(found)


@pytest.mark.parametrize("depth", [50, 99, 100, 101, 500, 990, 1200])
def test_a_nest_has_one_fate_whoever_calls(depth: int) -> None:
    """Python's own limit counts the caller's frames, so the same line would pass here and fail inside a deep call."""
    text = line(deep=Raw("[" * depth + "]" * depth))

    def fate() -> str:
        try:
            parse_record(text)
        except MalformedRecord as problem:
            return problem.code
        return "taken"

    def deep(calls: int) -> str:
        return deep(calls - 1) if calls else fate()

    assert fate() == deep(300) == deep(600) == ("taken" if depth < 100 else "json")


@pytest.mark.parametrize(("game", "moves", "tokens"), [
    ("blocks", "", 0), ("blocks", "1a1 2b2*3c3", 4), ("blocks", "1a111b2", 2), ("blocks", "abk*", 4), ("blocks", "lxyz", 0),
    ("blocks", "A1 \u00e9", 0), ("tetromino", "12l3rh", 3), ("tetcolor", "aZ\u00e9", 2),
])  # fmt: skip
def test_tokens_are_counted_without_a_replay(game: str, moves: str, tokens: int) -> None:
    assert count_tokens(game, moves) == tokens


# --- Times ------------------------------------------------------------------------------------------------------------


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59, 999999)))
def test_times_survive_being_written_and_read(moment: datetime) -> None:
    expected = micros(moment.replace(tzinfo=UTC).isoformat())
    written = format_time(expected)
    assert parse_time(written) == expected
    assert written.endswith("Z")
    assert datetime.fromisoformat(written) == moment.replace(tzinfo=UTC)


@given(st.text(alphabet="0123456789-:TtZz.+ ", min_size=18, max_size=32))
def test_a_time_is_read_as_the_standard_library_reads_it_or_not_at_all(text: str) -> None:
    try:
        found = parse_time(text)
    except ValueError:
        return
    assert found == micros(text.upper())


@given(st.lists(st.sampled_from(list(range(256))), max_size=60))
def test_any_bytes_are_a_record_or_malformed(data: list[int]) -> None:
    with pytest.raises(MalformedRecord):
        parse_record(bytes(data))


def test_mutated_lines_are_records_or_malformed_and_nothing_else() -> None:
    rng = random.Random(3)
    base = [text for text, _ in GOOD.values() if len(text) < 1000]
    taken = 0
    for _ in range(3000):
        text = bytearray(rng.choice(base))
        for _ in range(rng.choice((1, 1, 2, 5))):
            text[rng.randrange(len(text))] = rng.choice(b'"\\{}[],:0123456789eE+-. \t\xff\x00aZ')
        problem = refusal(bytes(text))
        if problem is None:
            taken += 1
            found = parse_record(bytes(text))
            assert parse_record(as_line(found)) == found
            continue
        assert problem.code in CODES
    assert taken > 150


def test_limits_are_the_documented_ones() -> None:
    assert (MAX_RECORD_BYTES, MAX_TOKENS, r.CLOCK_SKEW_US) == (2**20, 200_000, 300 * SECOND)
    assert {name: r.TEXT_LIMITS.get(name) for name in TEXTS} == {
        name: {"moves": None, "final_board": 16_384}.get(name, 1024) for name in TEXTS
    }


def test_the_longest_board_of_any_game_is_far_within_the_limit() -> None:
    longest = [layout.MAX_HEIGHT * layout.MAX_WIDTH * len("aS*") + layout.MAX_HEIGHT - 1, MAX_HEIGHT * MAX_WIDTH + MAX_HEIGHT - 1]
    assert longest == [887, 439]
    assert max(longest) * 16 < r.MAX_BOARD_BYTES


@pytest.mark.parametrize(("given", "kept"), [
    ("g-1", True), ("x" * 1024, True), ("x" * 1025, False), ("\u00e9" * 512, True), ("\u00e9" * 513, False), ("a\nb", False),
    (None, False), (12, False), ("\ud800", False),
])  # fmt: skip
def test_a_quarantined_record_keeps_an_id_that_can_be_one(given: object, kept: bool) -> None:
    assert r.id_to_show(given) == (given if kept else None)
