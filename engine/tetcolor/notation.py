"""Notation of Tetcolor (rules/tetcolor): tokens, cells, boards and pieces as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.board import BoardError
from engine.outcome import APPLIED, END
from engine.tetcolor import kernel as k
from engine.tetcolor import layout as at
from engine.tetcolor.rules import COLOURS, Family, Shape, TetcolorRules
from engine.words import is_space

SPECIALS = "NHVLMAS"
ICE = "*"
LETTERS = "lrxzdh"
_CELL = re.compile(rf"([{COLOURS}])([{SPECIALS}]?)(\*?)")
_PART = re.compile(rf"([0-9]+)|[{COLOURS}][{SPECIALS}]?\*?")


def cell_text(cell: int) -> str:
    """A cell of the kernel as it stands on a board: ``b``, ``cM``, ``aS*``; ``.`` for an empty one."""
    if not cell & at.COLOUR:
        return "."
    special = cell >> at.SPECIAL_SHIFT & 7
    return COLOURS[(cell & at.COLOUR) - 1] + (SPECIALS[special - 1] if special else "") + (ICE if cell & at.ICE else "")


def cell_value(text: str) -> int:
    """The kernel's cell for a text that ``cell_text`` writes; raises BoardError for any other."""
    found = _CELL.fullmatch(text)
    if not found:
        raise BoardError(f"{text!r} is no cell: a colour {COLOURS}, a special {SPECIALS} or none, * for ice")
    colour, special, ice = found.groups()
    value = COLOURS.index(colour) + 1
    value |= SPECIALS.index(special) + 1 << at.SPECIAL_SHIFT if special else 0
    return value | (at.ICE if ice else 0)


def cells_of(board: Sequence[int], width: int, height: int) -> list[list[int]]:
    """The rows of a kernel's board, top row first."""
    starts = [(row + at.TOP) * at.STRIDE + at.LEFT for row in range(height)]
    return [list(board[start : start + width]) for start in starts]


def board_text(cells: Sequence[Sequence[int]]) -> str:
    """The canonical text of rows of cells: no zero, no leading empty row, ``-`` when empty."""
    rows: list[str] = []
    for row in cells:
        if not rows and not any(row):
            continue
        out, run = "", 0
        for cell in row:
            if not cell:
                run += 1
                continue
            out += (str(run) if run else "") + cell_text(cell)
            run = 0
        rows.append(out + (str(run) if run else ""))
    return "/".join(rows) or "-"


def read_board(text: str, width: int, height: int) -> list[list[int]]:
    """The rows of cells that a board text means, canonical or not.  Raises BoardError when it cannot be read."""
    empty = [0] * width
    if text == "-":
        return [list(empty) for _ in range(height)]
    rows = text.split("/")
    if len(rows) > height:
        raise BoardError(f"board {text!r} has {len(rows)} rows, the game's has {height}")
    cells = [list(empty) for _ in range(height - len(rows))]
    for number, row in enumerate(rows, start=1):
        cells.append(_read_row(text, row, number, width))
    return cells


def _read_row(text: str, row: str, number: int, width: int) -> list[int]:
    out: list[int] = []
    pos = 0
    while pos < len(row):
        found = _PART.match(row, pos)
        if not found:
            raise BoardError(f"board {text!r}: row {number} holds {row[pos]!r} where a number or a cell of this game must stand")
        pos = found.end()
        if found[1]:
            digits = found[1].lstrip("0")
            # A run wider than the board is refused below; capping keeps a number of a million digits cheap.
            out.extend([0] * (int(digits or "0") if len(digits) < 4 else width + 1))
        else:
            out.append(cell_value(found[0]))
    if len(out) != width:
        raise BoardError(f"board {text!r}: row {number} ({row!r}) is not {width} cells wide")
    return out


def start_cells(text: str, family: Family, rules: TetcolorRules) -> tuple[int, ...]:
    """The cells of a challenge's start board in reading order.

    A start board with a match, or with a full row where rows are cleared, is refused (BoardError): no piece completed it.
    """
    cells = read_board(text, family.width, family.height)
    if family.rows and any(all(row) for row in cells):
        raise BoardError(f"start board {text!r} has a full row")
    if family.runs and _holds_run(cells, rules.run):
        raise BoardError(f"start board {text!r} has {rules.run} or more blocks of one colour in a line")
    return tuple(cell for row in cells for cell in row)


def _holds_run(cells: list[list[int]], run: int) -> bool:
    coloured = {(r, c): cell & at.COLOUR for r, row in enumerate(cells) for c, cell in enumerate(row) if cell}
    return any(
        all(coloured.get((r + n * down, c + n * right)) == colour for n in range(run))
        for (r, c), colour in coloured.items()
        for down, right in ((0, 1), (1, -1), (1, 0), (1, 1))
    )


def piece_text(shape: Shape, cells: Sequence[int]) -> str:
    """A piece as a challenge lists it: ``T:abcd``, cells in reading order."""
    return f"{shape.name}:{''.join(cell_text(cell) for cell in cells)}"


def read_piece(text: str, family: Family, rules: TetcolorRules) -> int:
    """A listed piece as the kernel takes it.  Raises ValueError with a sentence when it is none of the family's."""
    name, colon, rest = text.partition(":")
    parts = [part[0] for part in _CELL.finditer(rest)]
    if not colon or not parts or "".join(parts) != rest:
        raise ValueError(f"piece {text!r} cannot be read, it must be a shape's letter, a colon and its cells, like T:abcd")
    for shape in (*family.pool, *family.expanded):
        if shape.name == name and len(shape.cells) == len(parts):
            value = 0
            for part in reversed(parts):
                value = value << at.CELL_SHIFT | cell_value(part)
            return value << at.PIECE_SHIFT | rules.turn_of[shape]
    raise ValueError(f"piece {text!r}: {family.name} has no shape {name} of {len(parts)} cells in rules {rules.version}")


def token(ticks: int, letter: str) -> str:
    """The token of an input so many ticks after the one before."""
    return f"{ticks or ''}{letter}"


def count_tokens(log: str) -> int:
    """How many tokens a log holds, counted without replaying it."""
    data = log.encode("utf-8", "surrogatepass")
    return int(k.count_tokens(data, 0, len(data)))


def token_at(log: bytes, index: int) -> str | None:
    """The text of one token of a log, counted from 0; of one that cannot be read, what begins there; None when it has fewer.

    A trailing number is no token, but stands where the fault is when it passes the game's clock.
    """
    pos, st = 0, [0] * at.N_STATE
    for number in range(index + 1):
        while pos < len(log) and is_space(log[pos]):
            pos += 1
        code, after = k.read_token(log, pos, len(log), st)
        if code == END:
            return None
        if number == index:
            text = log[pos:after] if code == APPLIED else (log[pos : pos + 12].split() or [b""])[0]
            return text.decode("ascii", "backslashreplace").strip()
        if code != APPLIED:
            return None
        pos = after
    return None
