"""Comma-separated values that a spreadsheet can open without running anything that a player wrote.

RFC 4180 in UTF-8 with a byte order mark, every cell quoted.  A text that a spreadsheet would take for a formula has an apostrophe
put in front, signs that cannot be seen stand as escapes, numbers stay numbers.  The exact texts are in ``replay flags --json``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from itertools import chain, islice

from fastapi.responses import Response, StreamingResponse

BOM = "\N{BYTE ORDER MARK}"
_LINES_A_CHUNK = 500
# A spreadsheet holds 32,767 characters a cell, and may go on with the rest in a cell of its own.
LONGEST_TEXT = 30_000

# What begins a formula, with the forms that spreadsheets fold to it: full width, small, superscript, subscript, the minus sign.
_SIGNS = "=+\\-@" "\uff1d\uff0b\uff0d\uff20" "\ufe66\ufe62\ufe63\ufe6b" "\u207c\u207a\u207b\u208c\u208a\u208b\u2212"
# What may stand before it and is cut off by some reader: spaces of all kinds, controls, marks without width, apostrophes (one
# that the player wrote must not be taken for ours).
_BLANK = "\\s'\\x00-\\x1f\\x7f-\\xa0\\xad\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\u3164"
_FORMULA = re.compile(f"[{_BLANK}]*[{_SIGNS}]")
# A spreadsheet that parts cells at a semicolon or tab, as in much of Europe, begins a new cell in the middle of ours.
_INNER = re.compile(f"([;\\t\\r\\n\\x0b\\x0c\\x85\\u2028\\u2029])(?=[{_BLANK}]*[{_SIGNS}])")


def safe_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula, with controls and marks without width as escapes (a line feed stays).

    Any other text stays as it is.  Two texts never become one, unless they are longer than LONGEST_TEXT and cut there.
    """
    if len(text) > LONGEST_TEXT:
        return f"{safe_text(text[:LONGEST_TEXT])}... ({len(text):,} characters)"
    starts_badly = _FORMULA.match(text) or text.lstrip("'")[:1] in tuple("\t\r\n")
    return ("'" if starts_badly else "") + _escaped(_INNER.sub(r"\1'", text))


def _escaped(text: str) -> str:
    if text.isprintable() and "\\" not in text:
        return text
    out = []
    for at, char in enumerate(text):
        if _is_unseen(char):
            out.append(char.encode("unicode_escape").decode("ascii"))
        elif char == "\\" and (text[at + 1 : at + 2] in tuple("\\xuUtr") or _is_unseen(text[at + 1 : at + 2] or " ")):
            # What looks like one of our escapes is told from one.
            out.append("\\\\")
        else:
            out.append(char)
    return "".join(out)


def _is_unseen(char: str) -> bool:
    return char != "\n" and unicodedata.category(char)[0] == "C"


def cell(value: object) -> str:
    """One quoted cell.  Whole numbers as they are, None empty, times as ``2026-10-31 14:05:07``, lists parted by a comma."""
    if value is None:
        text = ""
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, int):
        text = str(value)
    elif isinstance(value, datetime):
        text = value.isoformat(" ")
    elif isinstance(value, date):
        text = value.isoformat()
    else:
        text = safe_text(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    return '"' + text.replace('"', '""') + '"'


def line(values: Iterable[object]) -> str:
    """One line with its end."""
    return ",".join(map(cell, values)) + "\r\n"


def csv_response(name: str, columns: Iterable[str], rows: Iterator[Iterable[object]]) -> Response:
    """A download that is sent while ``rows`` are read.  ``name`` is the file's, of plain letters.

    What the first rows raise is raised here, where it still becomes a page that says so.
    """
    chunks = _chunks(columns, rows)
    first = next(chunks)
    headers = {"content-disposition": f'attachment; filename="{name}"', "x-content-type-options": "nosniff"}
    return StreamingResponse(chain([first], chunks), media_type="text/csv; charset=utf-8", headers=headers)


def _chunks(columns: Iterable[str], rows: Iterator[Iterable[object]]) -> Iterator[bytes]:
    head = BOM + line(columns)
    while lines := [line(row) for row in islice(rows, _LINES_A_CHUNK)]:
        yield (head + "".join(lines)).encode("utf-8")
        head = ""
    if head:
        yield head.encode("utf-8")
