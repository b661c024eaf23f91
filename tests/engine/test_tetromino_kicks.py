"""Every rotation of SRS, test by test: the twin and both engines land on the cells that golden/kicks/srs_kicks.txt states.

The file is held against a second form of the published rules, in which a piece turns about its centre and is then moved by the
difference of two offsets; the twin holds the first form, the moves to try.
"""

from __future__ import annotations

import pytest

from engine.tetromino.single import trace
from tests.engine.golden_tetromino import Turn, read_turns
from tests.engine.tetromino_support import Case, batch_rows, by_twin, interpreted, opened, replay_batch, rules
from tests.reference import tetromino as twin

TURNS, NEVER = read_turns()
PLACES = {"left wall", "right wall", "floor", "left corner", "right corner"}
# Offsets by orientation, as the same page publishes them ("How guideline SRS really works").
OFFSETS = {
    "JLSTZ": {
        "0": [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0)],
        "R": [(0, 0), (1, 0), (1, -1), (0, 2), (1, 2)],
        "2": [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0)],
        "L": [(0, 0), (-1, 0), (-1, -1), (0, 2), (-1, 2)],
    },
    "I": {
        "0": [(0, 0), (-1, 0), (2, 0), (-1, 0), (2, 0)],
        "R": [(-1, 0), (0, 0), (0, 0), (0, 1), (0, -2)],
        "2": [(-1, 1), (1, 1), (-2, 1), (1, 0), (-2, 0)],
        "L": [(0, 1), (0, 1), (0, 1), (0, -1), (0, 2)],
    },
}
# The cells around the centre as spawned.
AROUND = {
    "I": {(-1, 0), (0, 0), (1, 0), (2, 0)},
    "J": {(-1, 1), (-1, 0), (0, 0), (1, 0)},
    "L": {(1, 1), (-1, 0), (0, 0), (1, 0)},
    "S": {(0, 1), (1, 1), (-1, 0), (0, 0)},
    "T": {(0, 1), (-1, 0), (0, 0), (1, 0)},
    "Z": {(-1, 1), (0, 1), (0, 0), (1, 0)},
}


def about_centre(piece: str, orientation: str) -> set[twin.Cell]:
    cells = AROUND[piece]
    for _ in range(twin.TURNS.index(orientation)):
        cells = {(y, -x) for x, y in cells}
    return cells


def places(piece: str, turn: str, before: frozenset[twin.Cell]) -> list[frozenset[twin.Cell]]:
    """Where the five tests put a piece that lies on ``before``, by the offsets."""
    first, second = turn
    # The centre as the one move that takes the turned cells to where the piece lies.
    x0, y0 = min(before)
    ax, ay = min(about_centre(piece, first))
    table = OFFSETS["I" if piece == "I" else "JLSTZ"]
    found = []
    for (fx, fy), (sx, sy) in zip(table[first], table[second], strict=True):
        dx, dy = x0 - ax + fx - sx, y0 - ay + fy - sy
        found.append(frozenset((x + dx, y + dy) for x, y in about_centre(piece, second)))
    return found


def case_of(turn: Turn) -> Case:
    return Case((turn.before + turn.letter + "h").encode(), "marathon/1", 0, turn.piece, turn.start)


def expected_of(turn: Turn) -> twin.Result:
    """The board and the score after a hard drop from the stated cells: they pin columns and rows of the turned piece."""
    board = twin.read_board(turn.start)
    drop = 0
    while all(y - drop > 0 and (x, y - drop - 1) not in board for x, y in turn.cells_after):
        drop += 1
    board |= dict.fromkeys(((x, y - drop) for x, y in turn.cells_after), turn.piece)
    moves = len(turn.before) + 2
    # Only soft drops that moved the piece are written in a log here.
    return twin.Result(turn.before.count("d") + 2 * drop, 0, twin.write_board(board), moves, False, None, 1, 0)


def test_each_piece_turn_and_test_is_there_once() -> None:
    shown = [(turn.piece, turn.turn, turn.test) for turn in TURNS if turn.what == "only"]
    every = {(piece, turn, test) for piece in "IJLSTZ" for turn in twin.KICKS["T"] for test in range(1, 6)}
    assert len(shown) == len(set(shown))
    assert set(shown) | set(NEVER) == every
    assert not set(shown) & set(NEVER)
    assert len(NEVER) == 4
    assert {turn.what for turn in TURNS} == PLACES | {"only"}


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.id)
def test_stated_cells_follow_from_the_published_offsets(turn: Turn) -> None:
    found = places(turn.piece, turn.turn, turn.cells_before)
    board = twin.read_board(turn.start)
    free = [all(0 <= x < 10 and 0 <= y < 40 and (x, y) not in board for x, y in cells) for cells in found]
    assert found[turn.test - 1] == turn.cells_after
    assert free.index(True) + 1 == turn.test
    if turn.what == "only":
        assert sum(free) == 1


@pytest.mark.parametrize(("piece", "turn", "test"), NEVER)
def test_no_position_shows_these(piece: str, turn: str, test: int) -> None:
    """What can stop test 1 lies on cells that the piece does not hold yet, and each of them is needed by this test too."""
    before = frozenset(about_centre(piece, turn[0]))
    found = places(piece, turn, before)
    assert found[0] - before <= found[test - 1]


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.id)
def test_twin_and_interpreted_engine_land_there(turn: Turn) -> None:
    game = twin.Game("marathon/1", 0, turn.piece, turn.start)
    for letter in turn.before:
        game.apply(letter)
    assert frozenset(game.piece.cells()) == turn.cells_before
    game.apply(turn.letter)
    assert frozenset(game.piece.cells()) == turn.cells_after
    assert by_twin(case_of(turn)) == expected_of(turn)
    assert interpreted(rules(), case_of(turn)) == expected_of(turn)


def test_compiled_engine_lands_there() -> None:
    found = batch_rows(replay_batch(rules(), [case_of(turn) for turn in TURNS]))
    wrong = [(turn.id, got) for turn, got in zip(TURNS, found, strict=True) if got != expected_of(turn)]
    assert wrong == []


def test_O_does_not_turn_anywhere() -> None:
    """Beside walls, on the floor, in a pit: x and z leave O where it is."""
    for log, start in (("llllxh", "-"), ("rrrrzh", "-"), ("dddxzxzxh", "-"), (20 * "d" + "xzh", "{}")):
        case = Case(log.encode(), "marathon/1", 0, "O", "-" if start == "-" else "3J2J3/3J2J3")
        without = Case(log.replace("x", "").replace("z", "").encode(), "marathon/1", 0, "O", case.start)
        assert interpreted(rules(), case).board == interpreted(rules(), without).board
        assert interpreted(rules(), case) == by_twin(case)


def test_a_turn_that_nothing_allows_changes_nothing() -> None:
    """A blocked turn is legal: T lies on the floor under a cell, where no test of the turn to the right finds room."""
    case = Case(20 * b"d" + b"lllx", "marathon/1", 0, "T", "J9/10")
    steps = list(trace(opened(rules(), case)))
    assert len(steps) == 24
    game = twin.Game("marathon/1", 0, "T", "J9/10")
    for letter in case.log.decode():
        game.apply(letter)
    assert frozenset(game.piece.cells()) == {(0, 0), (1, 0), (2, 0), (1, 1)}
    assert interpreted(rules(), Case(case.log + b"h", "marathon/1", 0, "T", "J9/10")).board == "JT8/TTT7"
