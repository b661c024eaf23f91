"""The fast reading of NDJSON lines: a compiled scanner that takes a line only when nothing about it is in doubt.

A line that it takes means exactly what ``replay.record.parse_record`` would make of it; every other line gets SCAN_CAREFUL and
goes there.  So a line with an escape, a non-ASCII byte, an odd number or a surprising value is slower, never read otherwise.
No reader at hand is strict by itself: DuckDB reads "12" and 1.5 into an integer column and takes a wrong gzip checksum, Polars
gives up a file for one bad line, and both would have to be proved line by line from the bytes, which is this scan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiled import CONFIG, borrowed, borrowed_uncompiled, jit
from replay import record
from replay.record import (
    CLOCK_SKEW_US,
    FIELDS,
    GAMES,
    INTEGER,
    MAX_RECORD_BYTES,
    MAX_TOKENS,
    OPTIONAL_FIELDS,
    OPTIONAL_NAMES,
    TEXT,
    TEXT_LIMITS,
    TIME,
)

# Constants of the record's own module are frozen into the machine code.
_jit = jit(record)
_borrowed: Any = borrowed_uncompiled if CONFIG.DISABLE_JIT else borrowed

# The optional fields stand behind the others.
FIELD_NAMES = (*FIELDS, *OPTIONAL_NAMES)
N_FIELDS = len(FIELD_NAMES)
COLUMN = {name: index for index, name in enumerate(FIELD_NAMES)}
SCAN_OK, SCAN_CAREFUL, SCAN_BLANK = 0, 1, 2

_TEXT, _INTEGER, _TIME = 0, 1, 2
_KINDS = [{TEXT: _TEXT, INTEGER: _INTEGER, TIME: _TIME}[kind] for kind in FIELDS.values()] + [_INTEGER] * len(OPTIONAL_NAMES)
_KIND = np.array(_KINDS, np.int64)
# A longer text is the careful way's to refuse; what has no limit of its own has the line's.
_LIMIT = np.array([TEXT_LIMITS.get(name, MAX_RECORD_BYTES) for name in FIELD_NAMES], np.int64)
# A key is compared as two little-endian words, padded with zeros, and its length; none is longer than 16 bytes.
_KEY_LOW = np.array([int.from_bytes(name.encode()[:8], "little") for name in FIELD_NAMES], np.uint64)
_KEY_HIGH = np.array([int.from_bytes(name.encode()[8:], "little") for name in FIELD_NAMES], np.uint64)
_KEY_SIZE = np.array([len(name) for name in FIELD_NAMES], np.int64)
_C_GAME, _C_KIND, _C_NATION = COLUMN["game"], COLUMN["player_kind"], COLUMN["nation"]
_C_STARTED, _C_FINISHED, _C_UPLOADED = COLUMN["started_at"], COLUMN["finished_at"], COLUMN["uploaded_at"]
N_REQUIRED = len(FIELDS)
_REQUIRED = (1 << N_REQUIRED) - 1
# Words of eight bytes are read up to two past a key's first byte.
PADDING = 16
# Extra fields whose keys can be compared with each other for duplicates; a line with more goes the careful way.
_MAX_EXTRA = 8
# A token has a byte at least, so a shorter line is within both record limits; longer ones are judged by the careful way.
MAX_PLAIN_BYTES = MAX_TOKENS


_U1, _U2, _U3, _U4, _U5, _U6, _U7, _U8 = (np.uint64(n) for n in range(1, 9))
_U16, _U24, _U32, _U40, _U48, _U56 = (np.uint64(n) for n in (16, 24, 32, 40, 48, 56))
_ONES, _TOPS, _SPACES = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080), np.uint64(0x2020202020202020)
_QUOTES, _SLASHES = np.uint64(0x2222222222222222), np.uint64(0x5C5C5C5C5C5C5C5C)


def _pack(names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer("".join(names).encode(), np.uint8), np.cumsum([len(n) for n in names]).astype(np.int64)


_GAME_BYTES, _GAME_ENDS = _pack(GAMES)
# Each game that has an optional field has them all, so that one look at the game tells.
assert all(names == OPTIONAL_NAMES for names in OPTIONAL_FIELDS.values())
_CLAIMING_BYTES, _CLAIMING_ENDS = _pack(tuple(OPTIONAL_FIELDS))
_KIND_BYTES, _KIND_ENDS = _pack(("human", "ai"))


@_jit
def _same(data, start, end, table, first, last):
    if end - start != last - first:
        return False
    for i in range(last - first):
        if data[start + i] != table[first + i]:
            return False
    return True


@_jit
def is_one_of(data, start, end, table, ends):
    """Whether ``data[start:end]`` equals one of the texts that ``table`` and ``ends`` hold."""
    first = 0
    for index in range(len(ends)):
        if _same(data, start, end, table, first, ends[index]):
            return True
        first = ends[index]
    return False


@_jit
def has_optional_fields(data, start, end):
    """Whether ``data[start:end]`` names a game whose records may carry the optional fields."""
    return is_one_of(data, start, end, _CLAIMING_BYTES, _CLAIMING_ENDS)


@_jit
def _digits(data, pos, count):
    """The number that ``count`` digits spell, or -1."""
    value = 0
    for i in range(count):
        digit = np.int64(data[pos + i]) - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@_jit
def scan_time(data, start, end):
    """Microseconds since 1970 of ``YYYY-MM-DDTHH:MM:SS[.f{1,6}]Z``; -2**63 when the text is anything else."""
    bad = np.int64(-(2**63))
    size = end - start
    if size < 20 or size > 27 or data[end - 1] != 90:
        return bad
    if data[start + 4] != 45 or data[start + 7] != 45 or data[start + 10] != 84:
        return bad
    if data[start + 13] != 58 or data[start + 16] != 58:
        return bad
    year, month, day = _digits(data, start, 4), _digits(data, start + 5, 2), _digits(data, start + 8, 2)
    hour, minute, second = _digits(data, start + 11, 2), _digits(data, start + 14, 2), _digits(data, start + 17, 2)
    if year < 1 or month < 1 or month > 12 or day < 1 or hour < 0 or hour > 23:
        return bad
    if minute < 0 or minute > 59 or second < 0 or second > 59:
        return bad
    leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
    longest = 31
    if month == 2:
        longest = 29 if leap else 28
    elif month == 4 or month == 6 or month == 9 or month == 11:
        longest = 30
    if day > longest:
        return bad
    fraction = 0
    if size > 20:
        places = size - 21
        if data[start + 19] != 46 or places < 1:
            return bad
        fraction = _digits(data, start + 20, places)
        if fraction < 0:
            return bad
        for _ in range(6 - places):
            fraction *= 10
    # Days from 1970-01-01 in the proleptic Gregorian calendar, years counted from March.
    y = year - (1 if month <= 2 else 0)
    era_day = (153 * (month + (9 if month <= 2 else -3)) + 2) // 5 + day - 1
    days = y * 365 + y // 4 - y // 100 + y // 400 + era_day - 719468
    return ((days * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + fraction


@_jit
def check_values(
    data, kind_start, kind_end, nation, nation_start, nation_end, game, game_start, game_end, started, finished, uploaded, nations
):
    """Whether kind, nation, game and times hold values that the record may have.

    The texts may lie in three arrays; ``nation_start`` below 0 is null; ``nations`` is a 26 x 26 table of true and false.
    """
    if not is_one_of(data, kind_start, kind_end, _KIND_BYTES, _KIND_ENDS):
        return False
    if not is_one_of(game, game_start, game_end, _GAME_BYTES, _GAME_ENDS):
        return False
    if nation_start >= 0:
        if nation_end - nation_start != 2:
            return False
        a, b = np.int64(nation[nation_start]) - 65, np.int64(nation[nation_start + 1]) - 65
        if a < 0 or a > 25 or b < 0 or b > 25 or not nations[a, b]:
            return False
    return started <= finished and uploaded >= finished - CLOCK_SKEW_US


@_jit
def _skip_space(data, pos, end):
    while pos < end and (data[pos] == 32 or data[pos] == 9 or data[pos] == 13):
        pos += 1
    return pos


@_jit
def eight_bytes(data, pos):
    """Eight bytes as one word (LLVM makes it a single load)."""
    p = np.uint64(pos)
    word = np.uint64(data[p]) | (np.uint64(data[p + _U1]) << _U8) | (np.uint64(data[p + _U2]) << _U16)
    word |= (np.uint64(data[p + _U3]) << _U24) | (np.uint64(data[p + _U4]) << _U32) | (np.uint64(data[p + _U5]) << _U40)
    return word | (np.uint64(data[p + _U6]) << _U48) | (np.uint64(data[p + _U7]) << _U56)


@_jit
def _string_end(data, pos, end):
    """The closing quote of a plain ASCII string without escapes whose first byte is ``pos``, or -1.

    Eight bytes at a time until one of them is a quote, a backslash, a control character or not ASCII: (w - 0x01..) & ~w & 0x80..
    is not zero where a byte of w is zero, and likewise with 0x20.. for bytes below a space.
    """
    while pos + 8 <= end:
        word = eight_bytes(data, pos)
        quote, slash = word ^ _QUOTES, word ^ _SLASHES
        found = ((quote - _ONES) & ~quote) | ((slash - _ONES) & ~slash) | ((word - _SPACES) & ~word) | word
        if found & _TOPS:
            break
        pos += 8
    p, stop = np.uint64(pos), np.uint64(end)
    while p < stop:
        byte = data[p]
        if byte == 34:
            return np.int64(p)
        if byte == 92 or byte < 32 or byte > 127:
            return -1
        p += _U1
    return -1


@_jit
def _integer_end(data, pos, end):
    """One past the last digit of a JSON integer of at most 18 digits, or -1."""
    start = pos
    if pos < end and data[pos] == 45:
        start = pos = pos + 1
    while pos < end and 48 <= data[pos] <= 57:
        pos += 1
    if pos == start or pos - start > 18 or (data[start] == 48 and pos - start > 1):
        return -1
    return pos


@_jit
def _skip_plain_value(data, pos, end):
    """One past an extra field's value when it is a plain string, integer, true, false or null, else -1."""
    if pos >= end:
        return -1
    if data[pos] == 34:
        closing = _string_end(data, pos + 1, end)
        return closing + 1 if closing >= 0 else -1
    byte = data[pos]
    if end - pos > 4 and byte == 116 and data[pos + 1] == 114 and data[pos + 2] == 117 and data[pos + 3] == 101:
        return pos + 4
    if end - pos > 4 and byte == 110 and data[pos + 1] == 117 and data[pos + 2] == 108 and data[pos + 3] == 108:
        return pos + 4
    if end - pos > 5 and byte == 102 and data[pos + 1] == 97 and data[pos + 2] == 108 and data[pos + 3] == 115:
        return pos + 5 if data[pos + 4] == 101 else -1
    return _integer_end(data, pos, end)


@_jit
def _find_field(data, start, end, guess):
    """The field that a key names: ``guess`` is looked at first; -1 for an unknown key."""
    size = end - start
    if size > 16:
        return -1
    low, high = eight_bytes(data, start), np.uint64(0)
    if size < 8:
        low &= (_U1 << np.uint64(8 * size)) - _U1
    elif size < 16:
        high = eight_bytes(data, start + 8) & ((_U1 << np.uint64(8 * (size - 8))) - _U1)
    else:
        high = eight_bytes(data, start + 8)
    g = np.uint64(guess)
    if low == _KEY_LOW[g] and high == _KEY_HIGH[g] and size == _KEY_SIZE[g]:
        return guess
    for field in range(N_FIELDS):
        if low == _KEY_LOW[field] and high == _KEY_HIGH[field] and size == _KEY_SIZE[field]:
            return field
    return -1


@_jit
def _is_repeated(data, start, end, extras, count):
    """Whether an extra key stands among the first ``count`` extra keys of its line."""
    for i in range(count):
        if _same(data, start, end, data, extras[i, 0], extras[i, 1]):
            return True
    return False


@_jit
def _scan_value(data, pos, end, field, line):
    """Read the value of a known field into ``line`` (start, end, number a field): one past it, or -1 when it is not plain."""
    if pos >= end:
        return -1
    kind = _KIND[field]
    if kind == _INTEGER:
        if field >= N_REQUIRED:
            if data[pos] == 110 and _skip_plain_value(data, pos, end) == pos + 4:
                return pos + 4
            line[3 * field] = pos
        stop = _integer_end(data, pos, end)
        if stop < 0:
            return -1
        negative = data[pos] == 45
        value = np.int64(0)
        for i in range(pos + negative, stop):
            value = value * 10 + (np.int64(data[i]) - 48)
        line[3 * field + 2] = -value if negative else value
        return stop
    if data[pos] == 34:
        closing = _string_end(data, pos + 1, end)
        if closing < 0 or closing - (pos + 1) > _LIMIT[field]:
            return -1
        line[3 * field], line[3 * field + 1] = pos + 1, closing
        if kind == _TIME:
            line[3 * field + 2] = scan_time(data, pos + 1, closing)
            if line[3 * field + 2] == -(2**63):
                return -1
        return closing + 1
    if field == _C_NATION and data[pos] == 110 and _skip_plain_value(data, pos, end) == pos + 4:
        line[3 * field] = line[3 * field + 1] = -1
        return pos + 4
    return -1


@_jit
def _scan_line(data, pos, end, line, order, extras):
    """The end of the plain record that begins at ``pos``, where a line feed or the chunk ends, or -1 when it is none.

    A line feed inside the record is met as a byte that is not plain, so the line's end need not be looked up first.
    ``order[i]`` learns which field the i-th key named last time.
    """
    if pos >= end or data[pos] != 123:
        return -1
    pos += 1
    for field in range(N_REQUIRED, N_FIELDS):
        line[3 * field], line[3 * field + 2] = -1, 0
    found = extra = key_number = 0
    while True:
        pos = _skip_space(data, pos, end)
        if pos >= end or data[pos] != 34:
            return -1
        key = pos + 1
        closing = _string_end(data, key, end)
        if closing < 0:
            return -1
        pos = _skip_space(data, closing + 1, end)
        if pos >= end or data[pos] != 58:
            return -1
        pos = _skip_space(data, pos + 1, end)
        slot = min(key_number, len(order) - 1)
        field = _find_field(data, key, closing, order[slot])
        key_number += 1
        if field >= 0:
            order[slot] = field
            if (found >> field) & 1:
                return -1
            found |= 1 << field
            pos = _scan_value(data, pos, end, field, line)
        else:
            if extra == _MAX_EXTRA or _is_repeated(data, key, closing, extras, extra):
                return -1
            extras[extra, 0], extras[extra, 1] = key, closing
            extra += 1
            pos = _skip_plain_value(data, pos, end)
        if pos < 0:
            return -1
        pos = _skip_space(data, pos, end)
        if pos >= end:
            return -1
        if data[pos] == 125:
            break
        if data[pos] != 44:
            return -1
        pos += 1
    stop = _skip_space(data, pos + 1, end)
    if (stop < end and data[stop] != 10) or (found & _REQUIRED) != _REQUIRED:
        return -1
    if found != _REQUIRED and not has_optional_fields(data, line[3 * _C_GAME], line[3 * _C_GAME + 1]):
        # To this game they are extra fields, which mean nothing.
        for field in range(N_REQUIRED, N_FIELDS):
            line[3 * field], line[3 * field + 2] = -1, 0
    return stop


@_jit
def count_lines(data, size):
    """Lines in ``data[:size]``; the last may lack its line feed."""
    lines = 0
    for byte in data[:size]:
        lines += byte == 10
    return lines + (size > 0 and data[size - 1] != 10)


def scan_lines(data, size, nations, line_start, line_end, status, starts, ends, numbers):
    """``_scan_lines`` with room for one line, which must be the caller's: see ``engine.compiled.borrowed``."""
    order = np.arange(N_FIELDS + _MAX_EXTRA) % N_FIELDS
    extras = np.zeros((_MAX_EXTRA, 2), np.int64)
    line = np.zeros(3 * N_FIELDS, np.int64)
    return _scan_lines(data, size, nations, order, extras, line, line_start, line_end, status, starts, ends, numbers)


@_jit
def _scan_lines(data, size, nations, order, extras, line, line_start, line_end, status, starts, ends, numbers):
    """Scan the whole lines in ``data[:size]``; behind them ``data`` has PADDING bytes that may be read and mean nothing.

    Outputs, one entry a line: ``line_start``, ``line_end`` (without the line feed), ``status`` SCAN_*; and by field and line:
    ``starts``, ``ends`` (bytes of texts, -1 for a null nation and an optional field that is not given) and ``numbers`` (integers,
    and times in microseconds).
    """
    order, extras, line = _borrowed(order), _borrowed(extras), _borrowed(line)
    data, nations = _borrowed(data), _borrowed(nations)
    pos = row = 0
    while pos < size:
        first = _skip_space(data, pos, size)
        limit = min(size, pos + MAX_PLAIN_BYTES)
        end = _scan_line(data, first, limit, line, order, extras)
        fine = end >= 0 and (end < limit or limit == size)
        fine = fine and check_values(
            data, line[3 * _C_KIND], line[3 * _C_KIND + 1], data, line[3 * _C_NATION], line[3 * _C_NATION + 1],
            data, line[3 * _C_GAME], line[3 * _C_GAME + 1],
            line[3 * _C_STARTED + 2], line[3 * _C_FINISHED + 2], line[3 * _C_UPLOADED + 2], nations,
        )  # fmt: skip
        status[row] = SCAN_OK
        if not fine:
            end = first
            while end < size and data[end] != 10:
                end += 1
            status[row] = SCAN_BLANK if first == end and end - pos <= MAX_RECORD_BYTES else SCAN_CAREFUL
        for field in range(N_FIELDS):
            starts[field, row], ends[field, row] = line[3 * field], line[3 * field + 1]
            numbers[field, row] = line[3 * field + 2]
        line_start[row], line_end[row] = pos, end
        row += 1
        pos = end + 1
    return row
