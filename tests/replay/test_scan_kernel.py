"""The compiled scan of a line against the authority: what it takes means exactly what parse_record makes of it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay import ndjson
from replay import scan_kernel as sk
from replay.record import FIELDS, INTEGER, OPTIONAL_NAMES, TEXT, TEXT_LIMITS, TIME, parse_record, parse_time
from tests.replay.build import CAREFUL, VALID, Raw, careful_lines, line, read_bytes, value
from tests.replay.test_record import BAD, GOOD, NO_TIMES

# --- The compiled scan against the authority --------------------------------------------------------------------------


def agree(texts: list[bytes]) -> int:
    """Check that a batch of lines (without line feeds) is read as parse_record reads each; returns how many the scan took."""
    with careful_lines() as careful:
        read = read_bytes(b"\n".join(texts) + b"\n")
    aside = set(careful)
    fast = 0
    for number, text in enumerate(texts, start=1):
        if not text.strip(b" \t\r"):
            assert number not in read.records
            assert number not in read.quarantined
            continue
        if text in aside:
            continue
        fast += 1
        assert number in read.records, text
        assert read.records[number] == parse_record(text), text
    return fast


def test_plain_lines_never_go_the_careful_way() -> None:
    plain = [
        line(), json.dumps(VALID, separators=(",", ":")).encode(), line() + b"\r", b"  " + line() + b"\t",
        line(nation=None), line(player_kind="ai"), line(game="tetcolor"), line(score=10**18 - 1), line(score=-5),
        line(score=Raw("-0")), line(uploaded_at="2026-10-31T12:00:00.25Z"), line(finished_at=VALID["started_at"]),
        line(extra="x", more=1, and_=True, none=None, no=False), line(**{f"x{i}": i for i in range(8)}), line(moves=""),
        line(game="tetromino", level=3, lines=0), line(game="tetromino", level=None), line(level=3), line(game="tetcolor", lines=None),
        line(game="tetromino", lines=-5), line(**{f"x{i}": i for i in range(8)}, level=1, lines=2),
        json.dumps(dict(reversed(VALID.items()))).encode(), line(player_id=Raw('"\'<=+@~\x7f"')),
        line(started_at="2024-02-29T23:59:59Z"),
        *(line(started_at=f"2026-10-31T11:00:00.{'123456'[:n]}Z") for n in range(1, 7)), line(moves="1a1" * 60_000),
    ]  # fmt: skip
    with careful_lines() as careful:
        read = read_bytes(b"\n".join(plain))
    assert careful == []
    assert [read.records[i + 1] for i in range(len(plain))] == [parse_record(text) for text in plain]


def test_texts_at_their_limits_are_taken_by_the_scan_and_no_longer_ones() -> None:
    limits = [(name, limit) for name, limit in TEXT_LIMITS.items() if name not in ("game", "player_kind", "nation")]
    within = [line(**{name: "x" * limit}) for name, limit in limits]
    beyond = [line(**{name: "x" * (limit + 1)}) for name, limit in limits]
    assert len(limits) == 8
    assert agree(within) == len(limits)
    with careful_lines() as careful:
        read = read_bytes(b"\n".join(beyond))
    assert careful == beyond
    assert set(read.codes().values()) == {"too_large"}
    assert [found.game_id for found in read.quarantined.values()] == [None, *["g-1"] * 7]


def test_the_careful_way_is_really_taken_by_what_is_marked_so() -> None:
    with careful_lines() as careful:
        read_bytes(line(CAREFUL))
    assert careful == [line(CAREFUL)]


_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"\\'), max_size=20)
_MOMENT = st.integers(parse_time("2026-10-30T00:00:00Z"), parse_time("2026-11-03T00:00:00Z"))


@st.composite
def plain_lines(draw: st.DrawFn) -> bytes:
    """Valid and plain, in any order of fields, with any spacing and a few plain extras."""
    started = draw(_MOMENT)
    moments = {"started_at": started, "finished_at": started + 5_000_000, "uploaded_at": started + 5_500_000}
    cells: dict[str, object] = {}
    for name, kind in FIELDS.items():
        if kind == TIME:
            moment = datetime(1970, 1, 1) + timedelta(microseconds=moments[name])
            cells[name] = moment.isoformat(timespec=draw(st.sampled_from(["milliseconds", "microseconds"]))) + "Z"
        else:
            cells[name] = draw(_TEXT if kind == TEXT else st.integers(1 - 10**18, 10**18 - 1))
    cells["game"] = draw(st.sampled_from(["blocks", "tetromino", "tetcolor"]))
    cells["player_kind"] = draw(st.sampled_from(["human", "ai"]))
    cells["nation"] = draw(st.sampled_from(["FR", "NA", "ZW", "AD", None]))
    for name in OPTIONAL_NAMES:
        if draw(st.booleans()):
            cells[name] = draw(st.none() | st.integers(1 - 10**18, 10**18 - 1))
    extras = draw(
        st.dictionaries(
            _TEXT.filter(lambda key: key not in (*FIELDS, *OPTIONAL_NAMES)), st.none() | st.booleans() | st.integers(-9, 9) | _TEXT, max_size=4
        )
    )
    items = draw(st.permutations(list({**cells, **extras}.items())))
    space = st.sampled_from(["", " ", "\t", " \r "])
    parts = [f"{draw(space)}{json.dumps(key)}{draw(space)}:{draw(space)}{value(cell)}{draw(space)}" for key, cell in items]
    return ("{" + ",".join(parts) + "}").encode()


@given(st.lists(plain_lines(), min_size=1, max_size=3))
@settings(max_examples=120, deadline=None)
def test_every_valid_plain_line_is_taken_by_the_scan(texts: list[bytes]) -> None:
    assert agree(texts) == len(texts)


def mutations(rng: random.Random, base: list[bytes], count: int) -> Iterator[bytes]:
    """Real lines with bytes flipped, put in, taken out, doubled, moved, or spliced with another line's."""
    marks = b'"\\{}[],:0123456789eE+-.TZtz \t\r\x00\x7f\x80\xc3nulltruefalseFRNA'
    for _ in range(count):
        text = bytearray(rng.choice(base))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at = rng.randrange(len(text))
            match rng.randrange(8):
                case 0:
                    text[at] ^= 1 << rng.randrange(8)
                case 1:
                    text[at] = rng.choice(marks)
                case 2:
                    text.insert(at, rng.choice(marks))
                case 3:
                    del text[at : at + rng.choice((1, 1, 2, 9))]
                case 4:
                    text[at:at] = text[at : at + rng.choice((1, 2, 20))]
                case 5:
                    other = rng.choice(base)
                    text[at:] = other[min(len(other), at + rng.choice((0, 0, -1, 1, 7))) :]
                case 6:
                    keys = [i for i in range(len(text) - 1) if text[i : i + 2] == b", "]
                    first, second = sorted(rng.sample(keys, 2)) if len(keys) > 1 else (at, at)
                    text[first:second] = b"" if rng.random() < 0.5 else bytes(text[first:second]) * 2
                case _:
                    swap = bytes(text[at : at + 6])
                    to = rng.randrange(len(text))
                    text[to : to + len(swap)] = swap
            if not text:
                text = bytearray(b" ")
        yield bytes(text).replace(b"\n", b" ")


def test_mutated_lines_are_read_as_the_authority_reads_them() -> None:
    """Whatever the scan takes, parse_record takes with the same values, over tens of thousands of broken lines."""
    rng = random.Random(20261031)
    base = [text for text, _ in GOOD.values() if len(text) < 700 and text.isascii() and b"\\" not in text]
    base += [text for text, _, _ in BAD.values() if len(text) < 700][::7]
    base += [line()] * len(base)
    fast = sum(agree(list(mutations(rng, base, 5000))) for _ in range(12))
    assert fast > 4000


@pytest.mark.parametrize("position", range(24))
def test_keys_and_values_at_every_offset_of_a_word(position: int) -> None:
    """The scan reads eight bytes at a time: quotes, backslashes and foreign bytes at every place of a word."""
    texts = []
    for filler in ('"', "\\", "\\\\", '\\"', "\x1f", "\x7f", "\u0080", " ", "\x00", "\u00ff"):
        padded = "a" * position + filler + "b" * 9
        texts += [
            line(platform=padded),
            line(platform=Raw(f'"{padded}"')),
            line(**{"k" * position + filler: 1}),
            line(moves=padded),
        ]
        texts.append(line(**{"z" * (position + 1): Raw(f'"{filler}"')}))
    agree([text.replace(b"\n", b" ") for text in texts])


def test_every_byte_at_every_place_of_a_line() -> None:
    """One byte replaced by each of the 256, and one taken out or doubled: the scan and the authority never differ."""
    text = json.dumps(
        VALID | {"extra": "x", "more": -1, "yes": True, "no": False, "none": None, "moves": "1a1"}, separators=(",", ":")
    ).encode()
    fast = 0
    for at in range(len(text)):
        changed = [text[:at] + bytes([byte]) + text[at + 1 :] for byte in range(256) if byte != 10]
        fast += agree([*changed, text[:at] + text[at + 1 :], text[:at] + text[at : at + 1] + text[at:]])
    assert fast > 5000


@pytest.mark.parametrize("beyond", range(-2, 3))
def test_a_line_that_the_scan_leaves_off_is_read_to_its_end(beyond: int) -> None:
    """Text behind the object is refused also where it begins just beyond what the scan looks at."""
    space = b" " * (sk.MAX_PLAIN_BYTES - len(line()) + beyond)
    for tail in (b"TRAILER", b"", b"}", b'"'):
        text = line() + space + tail
        agree([text, line()])
        read = read_bytes(text + b"\n" + line())
        assert list(read.records) == ([2] if tail else [1, 2])


def test_the_end_of_a_chunk_is_no_part_of_a_line() -> None:
    """Bytes that lie behind the chunk's own never complete a record."""
    text = line()
    for size in range(len(text)):
        data = bytearray(text[:size]) + bytearray((text[size:] + bytes(sk.PADDING))[: sk.PADDING])
        batch = ndjson.scan_chunk(ndjson.Chunk(data, size))
        assert len(batch) == 0, size


# --- Times in the scan ------------------------------------------------------------------------------------------------


def scanned(text: str) -> int | None:
    data = np.frombuffer(b"xx" + text.encode() + bytes(32), np.uint8)
    found = int(sk.scan_time(data, 2, 2 + len(text.encode())))
    return None if found == -(2**63) else found


def read_carefully(text: str) -> int | None:
    try:
        return parse_time(text)
    except ValueError:
        return None


@given(st.datetimes(), st.integers(0, 9))
@settings(max_examples=1000, deadline=None)
def test_a_scanned_time_is_the_parsed_one(moment: datetime, digits: int) -> None:
    fraction = f".{moment.microsecond:06}000"[: digits + 1] if digits else ""
    text = f"{moment.replace(microsecond=0).isoformat()}{fraction}Z"
    assert parse_time(text) == ((moment.replace(microsecond=0) - datetime(1970, 1, 1)) // timedelta(microseconds=1)) + int(
        fraction[1:7].ljust(6, "0")
    )
    assert scanned(text) == (parse_time(text) if digits <= 6 else None)


def test_every_day_of_four_centuries_is_the_right_one() -> None:
    first = date(1599, 12, 31).toordinal()
    epoch = date(1970, 1, 1).toordinal()
    days = [date.fromordinal(first + i) for i in range(146_100)]
    data = np.frombuffer("".join(f"{day}T00:00:00Z" for day in days).encode() + bytes(32), np.uint8)
    for i, day in enumerate(days[::7] + days[:800] + days[-800:]):
        at = (day.toordinal() - first) * 20
        assert int(sk.scan_time(data, at, at + 20)) == (day.toordinal() - epoch) * 86_400_000_000, i


@pytest.mark.parametrize(
    "text", [*NO_TIMES.values(), "2026-10-31t12:00:00z", "2026-10-31T12:00:00.1234567Z", "2026-10-31T12:00:00+00:00"]
)
def test_an_odd_time_is_never_scanned_otherwise(text: str) -> None:
    assert scanned(text) in (None, read_carefully(text))


@given(st.text(alphabet="0123456789-:TZ.", min_size=19, max_size=28))
@settings(max_examples=500, deadline=None)
def test_any_text_like_a_time_is_never_scanned_otherwise(text: str) -> None:
    assert scanned(text) in (None, read_carefully(text))


def test_one_changed_character_of_a_time_is_never_scanned_otherwise() -> None:
    for good in ("2024-02-29T23:59:59Z", "2026-10-31T12:34:56.789Z", "2000-01-01T00:00:00.123456Z"):
        for at in range(len(good)):
            for code in range(128):
                text = good[:at] + chr(code) + good[at + 1 :]
                assert scanned(text) in (None, read_carefully(text)), text


def test_the_last_and_first_microsecond() -> None:
    for text in (
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000001Z",
        "9999-12-31T23:59:59.999999Z",
        "1969-12-31T23:59:59.999999Z",
    ):
        moment = datetime.fromisoformat(text)
        assert scanned(text) == parse_time(text) == (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_integers_of_every_length_are_scanned_as_they_are() -> None:
    rng = random.Random(9)
    numbers = [sign * rng.randrange(10 ** (size - 1) if size > 1 else 0, 10**size) for size in range(1, 20) for sign in (1, -1)]
    numbers += [0, 2**63 - 1, -(2**63), 2**62, 10**18, -(10**18)]
    names = [name for name, kind in FIELDS.items() if kind == INTEGER]
    read = read_bytes(b"\n".join(line(**dict.fromkeys(names, number)) for number in numbers))
    for at, number in enumerate(numbers, start=1):
        if -(2**63) <= number < 2**63:
            assert {asdict(read.records[at])[name] for name in names} == {number}
        else:
            assert read.quarantined[at].code == "wrong_type"
