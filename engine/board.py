"""Boards as text (rules/common): rows from top to bottom joined by ``/``, numbers for runs of empty cells, ``-`` when empty."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile("([0-9]+)")


class BoardError(ValueError):
    """A board text that cannot be read; the message names the text and the row."""


def parse_cells(text: str, width: int, height: int, alphabet: str) -> list[list[str]]:
    """Read a board text into ``height`` rows of ``width`` one-letter cells, ``.`` for empty; top row first.

    Non-canonical but readable texts (leading empty rows, ``0``, leading zeros) mean the cells they spell.  Raises BoardError.
    """
    if text == "-":
        return [["."] * width for _ in range(height)]
    rows = text.split("/")
    if len(rows) > height:
        raise BoardError(f"board {text!r} has {len(rows)} rows, the game's has {height}")
    cells = [["."] * width for _ in range(height - len(rows))]
    for number, row in enumerate(rows, start=1):
        cells.append(_parse_row(text, row, number, width, alphabet))
    return cells


def _parse_row(text: str, row: str, number: int, width: int, alphabet: str) -> list[str]:
    out: list[str] = []
    # Every second part is a number.
    for index, part in enumerate(_NUMBER.split(row)):
        if index % 2:
            digits = part.lstrip("0")
            # A run wider than the board is refused below; capping keeps a number of a million digits cheap.
            out.extend("." * (int(digits or "0") if len(digits) < 4 else width + 1))
            continue
        for char in part:
            if char not in alphabet:
                raise BoardError(f"board {text!r}: row {number} holds {char!r}, which is no cell of this game")
        out.extend(part)
    if len(out) != width:
        raise BoardError(f"board {text!r}: row {number} ({row!r}) is not {width} cells wide")
    return out


def format_cells(cells: Sequence[Sequence[str]]) -> str:
    """The canonical text of rows of one-letter cells (``.`` empty): no zero, no leading empty row, ``-`` when empty."""
    rows: list[str] = []
    for row in cells:
        if not rows and all(cell == "." for cell in row):
            continue
        out, run = "", 0
        for cell in row:
            if cell == ".":
                run += 1
                continue
            out += (str(run) if run else "") + cell
            run = 0
        rows.append(out + (str(run) if run else ""))
    return "/".join(rows) or "-"
