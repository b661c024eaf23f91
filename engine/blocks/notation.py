"""Notation of the block puzzle (rules/blocks): tokens, boards and faults as text."""

from __future__ import annotations

from collections.abc import Sequence

from engine.blocks import kernel as k
from engine.blocks.rules import BlocksRules
from engine.board import BoardError, format_cells, parse_cells

CONTINUE = "*"
CELL = "#"


def token(slot: int, column: int, row: int) -> str:
    """The token for slot 0-2 and the bounding box's top left corner, column and row from 0: ``token(1, 2, 4)`` is ``2c5``."""
    return f"{slot + 1}{chr(97 + column)}{row + 1}"


def token_at(log: bytes, index: int) -> str | None:
    """The text of the token with this index from 0, or None past the end; what is no token is shown up to 12 bytes."""
    pos, end = 0, len(log)
    for _ in range(index):
        kind, _slot, _column, _row, pos = k.next_token(log, pos, end)
        if kind in (k.T_END, k.T_BAD):
            return None
    kind, _slot, _column, _row, after = k.next_token(log, pos, end)
    if kind == k.T_END:
        return None
    if kind == k.T_BAD:
        return (log[after : after + 12].split() or [b""])[0].decode("ascii", "backslashreplace")
    return log[pos:after].strip().decode("ascii")


def count_tokens(log: str) -> int:
    """How many tokens a log holds, counted without replaying it: every token has one column letter or is ``*``."""
    text = log.encode("utf-8", "surrogatepass")
    return int(k.count_tokens(text, 0, len(text)))


def place_name(column: int, row: int) -> str:
    """A cell as a player reads it: column letter and row number, ``c5``."""
    return f"{chr(97 + column)}{row + 1}"


def board_text(rows: Sequence[int], width: int) -> str:
    """Canonical text of row masks, top row first."""
    return format_cells([[CELL if row >> c & 1 else "." for c in range(width)] for row in rows])


def board_rows(text: str, rules: BlocksRules) -> list[int]:
    """Row masks of a board text; raises BoardError when it cannot be read."""
    cells = parse_cells(text, rules.width, rules.height, CELL)
    return [sum(1 << c for c, cell in enumerate(row) if cell == CELL) for row in cells]


def start_rows(text: str, rules: BlocksRules) -> list[int]:
    """Row masks of a challenge's start board, ``""`` being an empty one.

    A start board with a full line is refused (BoardError): no placement completed it, so the rules give it no points.
    """
    if not text:
        return [0] * rules.height
    rows = board_rows(text, rules)
    full = (1 << rules.width) - 1
    columns = full
    for row in rows:
        columns &= row
    if full in rows or columns:
        raise BoardError(f"start board {text!r} has a full row or column")
    return rows


def piece_indexes(names: str, rules: BlocksRules) -> list[int]:
    """Catalogue indexes of a challenge's listed pieces, names joined by spaces; raises ValueError naming an unknown one."""
    out: list[int] = []
    for name in names.split():
        if name not in rules.shape_index:
            raise ValueError(f"piece {name!r} is not in the catalogue of rules {rules.version}")
        out.append(rules.shape_index[name])
    return out
