"""The fast case of the kernel: an 8 x 8 board, a seeded deal, a log that is regular.

What it cannot take it leaves to the judge of faults, so most of its own faults would be mended by that in silence: the tests
here end a log where there is nothing left to stumble over, and ask the kernel's functions themselves.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from engine.blocks import kernel as k
from engine.blocks.batch_kernel import BATCH
from tests.engine.random_games import random_start
from tests.engine.support import VERSIONS, Case, batch_rows, by_twin, replay_batch, rules, sized_rules
from tests.engine.twin_check import fast_case
from tests.reference import blocks as twin

RULES = rules("1.2.0")
VALUES = twin.VALUES["1.2.0"]
MASKS, ANCHORS, OFFSETS = RULES.fast_tables
ROWS, HEIGHTS, WIDTHS, _ = RULES.shape_tables
FULL = 2**64 - 1


def opening(seed: int, moves: int, start: str = "-") -> list[str]:
    """The first legal moves of a game, the lowest and leftmost place each time."""
    game = twin.Game(VALUES, "daily", seed, None, start)
    tokens = []
    while len(tokens) < moves and not game.over:
        move = max(game.placements(), key=lambda move: (move[2], -move[1], move[0]))
        game.apply(twin.Token(*move))
        tokens.append(twin.write_token(*move))
    return tokens


def compare(cases: list[Case], version: str = "1.2.0") -> None:
    out = batch_rows(rules(version), replay_batch(rules(version), cases))
    for case, got in zip(cases, out, strict=True):
        expected = by_twin(twin.VALUES[version], case)
        assert got == expected, f"state: {case}\nexpected: {expected}\ngot:      {got}"


@pytest.mark.parametrize("separator", [b"", b" "])
@pytest.mark.parametrize("moves", [0, 1, 6])
def test_every_last_token(separator: bytes, moves: int) -> None:
    """Slots, columns and rows within what is legal, at its edges and just beyond, as the last token of a regular log."""
    before = [token.encode() for token in opening(2**53 + 1, moves)]
    last = [bytes([slot, column, row]) for slot in b"/01234:" for column in b"`abcdefghijk" for row in b"/0123456789:"]
    compare([Case(separator.join([*before, token]), seed=2**53 + 1) for token in last])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", range(6))
def test_every_placement_on_start_boards(seed: int, version: str) -> None:
    """Every legal first move on thin, dense and nearly full boards: points, lines, board, and whether the game is over."""
    rng = random.Random(f"starts {seed}")
    cases = []
    for _ in range(12):
        start = random_start(rng, VALUES)
        game = twin.Game(VALUES, "daily", seed, None, start)
        cases += [Case(twin.write_token(*move).encode(), seed=seed, start=start) for move in game.placements()]
    assert len(cases) > 100
    compare(cases, version)
    for case in cases[::7]:
        expected = by_twin(twin.VALUES[version], case)
        assert fast_case(rules(version), case, expected) == expected


@pytest.mark.parametrize("seed", range(4))
def test_whole_games_in_steps(seed: int) -> None:
    """Every prefix of a game, dense and spaced."""
    tokens = opening(seed, 60, "8/8/1#1##3/8" if seed % 2 else "-")
    start = "8/8/1#1##3/8" if seed % 2 else "-"
    prefixes = [tokens[:length] for length in range(len(tokens) + 1)]
    logs = ["".join(prefix) for prefix in prefixes] + [" ".join(prefix) for prefix in prefixes]
    compare([Case(log.encode(), seed=seed, start=start) for log in logs])


@pytest.mark.parametrize("shape", range(35))
def test_a_piece_fits_exactly_where_there_is_room(shape: int) -> None:
    """The only room on the board is one place for the shape: it fits, and another shape as the slow search says."""
    anchors = np.array(ANCHORS, np.uint64)
    offsets = np.array(OFFSETS, np.uint64)
    places = 0
    for row in range(8 - HEIGHTS[shape] + 1):
        for column in range(8 - WIDTHS[shape] + 1):
            board = FULL ^ MASKS[shape * 64 + 8 * row + column]
            rows = [board >> (8 * y) & 255 for y in range(8)]
            for other in range(35):
                fits = k.fits_somewhere(other, rows, RULES.params, ROWS, HEIGHTS, WIDTHS)
                assert bool(BATCH["fits_somewhere_8x8"](np.uint64(other), np.uint64(board), anchors, offsets)) == fits
            assert k.fits_somewhere_8x8(shape, board, ANCHORS, OFFSETS)
            # One cell less, and the shape has no room.
            blocked = board | (MASKS[shape * 64 + 8 * row + column] & -MASKS[shape * 64 + 8 * row + column])
            assert not k.fits_somewhere_8x8(shape, blocked, ANCHORS, OFFSETS)
            places += 1
    assert places == bin(ANCHORS[shape]).count("1")


def test_tables_of_the_fast_case() -> None:
    """A mask holds the shape's cells where it lies on the board, and nothing where it would stick out."""
    for index, (name, cells) in enumerate(VALUES.shapes.items()):
        for row in range(8):
            for column in range(8):
                placed = {(column + x, row + y) for x, y in cells}
                inside = all(x < 8 and y < 8 for x, y in placed)
                expected = sum(1 << (8 * y + x) for x, y in placed) if inside else 0
                assert MASKS[index * 64 + 8 * row + column] == expected, (name, column, row)


STRIDES = [
    (b"", 0),
    (b"1a", 0),
    (b"1a1", 3),
    (b"1a12b8", 3),
    (b"1a1 2b8", 4),
    (b"1a11b2", 3),
    (b"1a1 ", 0),
    (b" 1a1", 0),
    (b"1a1\t2b8", 0),
    (b"1a1 2b83c3", 0),
    (b"1a1 2b8 3c", 0),
    (b"1a12b8 3c3", 0),
    (b"1a1 2b8  3c3", 0),
    (b"1a1 2b8\n3c3", 0),
    (b"0a1", 0),
    (b"4a1", 0),
    (b"1i1", 0),
    (b"1`1", 0),
    (b"1a9", 0),
    (b"1a0", 0),
    (b"1a10", 0),
    (b"1a1*", 0),
    (b"*", 0),
    (b"\xb1a1", 0),
]


@pytest.mark.parametrize(("log", "stride"), STRIDES)
def test_which_logs_are_regular(log: bytes, stride: int) -> None:
    assert k.token_stride(log, 0, len(log)) == stride
    data = np.frombuffer(b"1a1" + log + b"2b2", np.uint8).copy()
    assert BATCH["token_stride"](data, 3, 3 + len(log)) == stride


def test_other_boards_and_listed_deals_are_left_to_the_general_case(tmp_path: Path) -> None:
    case = Case(b"1a12b1", pieces=("1", "1"))
    assert fast_case(RULES, case, by_twin(VALUES, case)) is None
    for width, height in ((8, 9), (9, 8), (7, 8), (8, 7)):
        assert sized_rules(tmp_path, "1.2.0", width, height).fast_tables is None
