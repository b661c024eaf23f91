"""Notation of Tetromino Arcade (rules/tetromino): tokens and boards as text."""

from __future__ import annotations

from collections.abc import Sequence

from engine.board import BoardError, format_cells, parse_cells
from engine.tetromino import pieces as p
from engine.tetromino import text as k
from engine.tetromino.rules import PIECE_NAMES, TetrominoRules

INPUT_NAMES = {
    "l": "shift left", "r": "shift right", "x": "turn clockwise", "z": "turn counter-clockwise", "d": "soft drop",
    "h": "hard drop", "c": "hold",
}  # fmt: skip


def token(letter: str, ticks: int = 0) -> str:
    """The token of an input (a key of INPUT_NAMES), ``ticks`` ticks after the one before: ``token("l", 12)`` is ``12l``."""
    return f"{ticks or ''}{letter}"


def token_at(log: bytes, index: int) -> str | None:
    """The text of the token with this index from 0, or None past the end; what is no token is shown up to 12 bytes."""
    pos, end = 0, len(log)
    for _ in range(index):
        kind, _ticks, _letter, pos = k.next_token(log, pos, end)
        if kind != k.T_INPUT:
            return None
    kind, _ticks, _letter, after = k.next_token(log, pos, end)
    if kind == k.T_BAD:
        return (log[after : after + 12].split() or [b""])[0].decode("ascii", "backslashreplace")
    # A trailing number is time, not a token.
    return log[pos:after].strip().decode("ascii") if kind == k.T_INPUT else None


def count_tokens(log: str) -> int:
    """How many tokens a log holds, counted without replaying it: its ASCII letters."""
    text = log.encode("utf-8", "surrogatepass")
    return int(k.count_letters(text, 0, len(text))[0])


def board_text(board: Sequence[int], rules: TetrominoRules) -> str:
    """Canonical text of a kernel's board."""
    rows = []
    for y in reversed(range(rules.height)):
        colours = board[p.ROWS + p.PAD + y] >> (4 * p.WALL)
        rows.append([(f".{PIECE_NAMES}")[colours >> (4 * x) & 15] for x in range(rules.width)])
    return format_cells(rows)


def board_words(text: str, rules: TetrominoRules) -> list[int]:
    """A kernel's board with the cells of a board text and a generator of state 0; raises BoardError when it cannot be read."""
    cells = parse_cells(text, rules.width, rules.height, PIECE_NAMES)
    full = (1 << 16) - 1
    empty = full ^ ((1 << rules.width) - 1) << p.WALL
    board = [full] * p.ROWS + [0] * (p.ROWS + 1)
    for y, row in enumerate(reversed(cells)):
        board[p.PAD + y] = empty
        for x, cell in enumerate(row):
            if cell != ".":
                board[p.PAD + y] |= 1 << (x + p.WALL)
                board[p.ROWS + p.PAD + y] |= (PIECE_NAMES.index(cell) + 1) << (4 * (x + p.WALL))
    return board


def start_board(text: str, rules: TetrominoRules) -> list[int]:
    """A kernel's board for a challenge's start board, ``""`` being an empty one.

    A start board with a full row is refused (BoardError): no piece completed it, so the rules give it no points.
    """
    board = board_words(text or "-", rules)
    if (1 << 16) - 1 in board[p.PAD : p.PAD + rules.height]:
        raise BoardError(f"start board {text!r} has a full row")
    return board


def piece_indexes(names: str) -> list[int]:
    """The kernel's numbers of a challenge's listed pieces, names joined by spaces; raises ValueError naming an unknown one."""
    out: list[int] = []
    for name in names.split():
        if len(name) != 1 or name not in PIECE_NAMES:
            raise ValueError(f"piece {name!r} is none of {', '.join(PIECE_NAMES)}")
        out.append(PIECE_NAMES.index(name))
    return out
