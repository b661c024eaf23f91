"""Openings that empty the board again, found by search through a deal's first pieces: what players who know the deal play.

A board of four rows is one word, bit 10 * row + column.  Pieces fall straight from above.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from engine.tetromino.pieces import N_PIECES
from engine.tetromino.rules import TetrominoRules
from replay.tetromino_search import jit, popcount

HEIGHT, WIDTH = 4, 10
STEPS = HEIGHT * WIDTH // 4
# Boards that are looked at before a deal is given up, and room for those that led nowhere (a power of two).
BUDGET, TABLE = 8_000_000, 1 << 18
# Places of a piece: four turns of at most ten columns.
MOST_PLACES = 40
FRAMES = 6
_ONE, _ROW, _WIDTH = np.uint64(1), np.uint64(0x3FF), np.uint64(WIDTH)
_ZERO, _MIX = np.uint64(0), np.uint64(0x9E37_79B9_7F4A_7C15)
_COLUMN = np.uint64(1 | 1 << 10 | 1 << 20 | 1 << 30)


@jit
def drop(board: Any, cells: Any, tall: Any, height: Any) -> Any:
    """The board after a piece fell on it, or ZERO where it would stick out of ``height`` rows; full rows stay."""
    y = height
    while y > 0 and board & (cells << np.uint64(WIDTH * (y - 1))) == _ZERO:
        y -= 1
    return board | (cells << np.uint64(WIDTH * y)) if y + tall <= height else _ZERO


@jit
def without_full_rows(board: Any, height: Any) -> Any:
    """(the board without its full rows, rows that are left)."""
    left, rows = _ZERO, 0
    for row in range(height):
        bits = (board >> np.uint64(WIDTH * row)) & _ROW
        if bits != _ROW:
            left |= bits << np.uint64(WIDTH * rows)
            rows += 1
    return left, rows


@jit
def can_be_filled(board: Any, height: Any) -> Any:
    """Whether each stretch between full columns has a number of empty cells that pieces of four can fill."""
    empty = 0
    for column in range(WIDTH):
        filled = np.int64(popcount((board >> np.uint64(column)) & _COLUMN))
        if filled == height:
            if empty % 4:
                return False
            empty = 0
        else:
            empty += height - filled
    return empty % 4 == 0


@jit
def search(
    sequence: Any, cells: Any, tall: Any, shape_of: Any, counts: Any, stack: Any, seen: Any, book: Any, budget: Any
) -> Any:  # fmt: skip
    """Depth-first through the first pieces: the number of steps of an opening written to ``book``, 0 when none was found.

    ``cells``, ``tall`` and ``shape_of`` (turn * 16 + x) are the places by piece.  A frame of ``stack`` is board, height, next
    piece's index, held piece, next choice, piece that was placed.
    """
    depth = 0
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 0, HEIGHT, 0, -1, 0
    looked = 0
    while depth >= 0 and looked < budget:
        board, height, index, held = np.uint64(stack[depth, 0]), stack[depth, 1], stack[depth, 2], stack[depth, 3]
        choice = stack[depth, 4]
        stack[depth, 4] += 1
        swap, at = choice // MOST_PLACES, choice % MOST_PLACES
        if swap > 1 or index + 1 >= len(sequence):
            depth -= 1
            continue
        own = sequence[index]
        piece = own if swap == 0 else held if held >= 0 else sequence[index + 1]
        if at >= counts[piece] or (swap == 1 and piece == own):
            # On to the choices with hold, or to the end of them.
            stack[depth, 4] = (swap + 1) * MOST_PLACES
            continue
        looked += 1
        after = drop(board, cells[piece, at], tall[piece, at], height)
        if after == _ZERO:
            continue
        book[depth, 0], book[depth, 1], book[depth, 2] = swap, shape_of[piece, at] // 16, shape_of[piece, at] % 16 - 4
        after, rows = without_full_rows(after, height)
        if rows == 0:
            return depth + 1
        if depth + 1 >= STEPS or not can_be_filled(after, rows):
            continue
        next_index = index + 1 if swap == 0 or held >= 0 else index + 2
        next_held = held if swap == 0 else own
        key = (after | (np.uint64(next_index * 8 + next_held + 1) << np.uint64(40)) | (np.uint64(rows) << np.uint64(52))) + _ONE
        slot = np.int64((key * _MIX) >> np.uint64(46))
        if seen[slot] == key:
            continue
        seen[slot] = key
        depth += 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = np.int64(after), rows, next_index, next_held
        stack[depth, 4] = 0
    return 0


def find_opening(
    rules: TetrominoRules, sequence: npt.NDArray[np.int64], budget: int = BUDGET
) -> npt.NDArray[np.int64]:  # fmt: skip
    """The steps (hold, turn, x of the box) of an opening that leaves the board empty; none where the search finds none."""
    book = np.zeros((STEPS, 3), np.int64)
    places = _places(rules)
    counts = np.array([len(found) for found in places], np.int64)
    cells = np.zeros((N_PIECES, MOST_PLACES), np.uint64)
    tall, shape_of = np.zeros((N_PIECES, MOST_PLACES), np.int64), np.zeros((N_PIECES, MOST_PLACES), np.int64)
    for piece, found in enumerate(places):
        for at, (mask, rows, turn, x) in enumerate(found):
            cells[piece, at], tall[piece, at], shape_of[piece, at] = mask, rows, turn * 16 + x + 4
    steps = search(
        sequence, cells, tall, shape_of, counts, np.zeros((STEPS + 1, FRAMES), np.int64), np.zeros(TABLE, np.uint64), book,
        budget,
    )  # fmt: skip
    return book[:steps]


def _places(rules: TetrominoRules) -> list[list[tuple[int, int, int, int]]]:
    """By piece its places on the floor: cells, rows, turn, x of the box; turns that look alike once."""
    out = []
    for piece in rules.pieces:
        found: dict[int, tuple[int, int, int, int]] = {}
        for turn, cells in enumerate(piece.turns):
            low, left = min(row for row, _ in cells), min(column for _, column in cells)
            wide = max(column for _, column in cells) - left + 1
            rows = max(row for row, _ in cells) - low + 1
            for x in range(WIDTH - wide + 1):
                mask = sum(1 << (WIDTH * (row - low) + column - left + x) for row, column in cells)
                found.setdefault(mask, (mask, rows, turn, x - left))
        out.append(list(found.values()))
    return out
