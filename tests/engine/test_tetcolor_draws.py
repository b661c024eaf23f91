"""Tetcolor's draws, written again from the rules: seeded pieces, capacities, the handicap."""

from __future__ import annotations

import random

import pytest

from engine.random import SplitMix64
from engine.tetcolor import notation
from engine.tetcolor.single import trace
from tests.engine.tetcolor_support import Case, rules


def independent_draws(mode: str, seed: int, count: int) -> list[str]:
    """The first pieces of a seeded game in which nothing settles that matters (capacities apart): written from the rules."""
    rng = SplitMix64(seed)
    family = rules().family(mode)
    assert family is not None
    counts = {"bomb": 0, "A": 0, "S": 0, "*": 0}
    limits = {"bomb": 5, "A": 3, "S": 10, "*": 10}
    out = []
    for _ in range(count):
        pool = family.pool if "/crazy" not in mode else (*family.pool, *family.expanded)
        shape = pool[rng.below(len(pool))]
        text = ""
        for _ in shape.cells:
            text += "abcde"[rng.below(5)]
            if "/arcade/" not in mode:
                continue
            special = ("NNHHVVLLMAASSS" + "." * 86)[rng.below(100)]
            kind = "bomb" if special in "NHVLM" else special
            if special != "." and counts[kind] < limits[kind]:
                counts[kind] += 1
                text += special
            if rng.below(100) < 4 and counts["*"] < limits["*"]:
                counts["*"] += 1
                text += "*"
        out.append(f"{shape.name}:{text}")
    return out


@pytest.mark.parametrize(
    "mode", ["duo/classic/normal", "duo/arcade/normal", "duo/arcade/crazy", "tetcolor/arcade/relax1", "columns/arcade/normal"]
)
def test_draws_of_a_seed(mode: str) -> None:
    """Piece 0 is drawn, enters, piece 1 is drawn; each next one as its predecessor enters."""
    for seed in (0, 7, 2**53, 2**53 + 1, 2**64 - 1):
        game = Case(b"hh", mode, seed).game()
        assert [game.piece, game.next_piece] == independent_draws(mode, seed, 2)
        if independent_draws(mode, seed, 2)[0].count("A") == 0:
            game.run()
            expected = independent_draws(mode, seed, 3)
            assert game.score or [game.piece, game.next_piece] == expected[1:]


def test_capacities_over_field_piece_and_preview() -> None:
    """In every state of long arcade games; each is reached, and a special that goes makes room for another."""
    rng = random.Random("capacities")
    most = [0, 0, 0, 0]
    for seed in range(60):
        mode = rng.choice(["duo/arcade/normal", "duo/arcade/crazy", "retris/arcade/normal", "tetcolor/arcade/crazy"])
        log = "".join(rng.choice("lrxz") * rng.randrange(6) + "hh" for _ in range(60))
        for event in trace(Case(log.encode(), mode, seed).game()):
            if event.kind != "enter":
                continue
            cells = [cell for row in event.after for cell in row if cell] + list(event.piece.values())
            text = "".join(notation.cell_text(cell) for cell in cells) + (event.next_piece or "").partition(":")[2]
            counts = [sum(map(text.count, "NHVLM")), text.count("A"), text.count("S"), text.count("*")]
            assert all(count <= limit for count, limit in zip(counts, (5, 3, 10, 10), strict=True)), (seed, text)
            most = [max(pair) for pair in zip(most, counts, strict=True)]
    assert most[0] == 5 and most[1] == 3
    assert most[2] >= 4 and most[3] >= 4


def test_listed_pieces_know_no_capacity() -> None:
    game = Case(b"hh" * 3, "columns/arcade/relax1", 0, "C:aMbMcM C:dMeMaM C:bMcMdM C:eMaMbM").game()
    game.run()
    assert game.board.count("M") + (game.piece or "").count("M") == 12


def independent_handicap(mode: str, seed: int) -> str:
    """Six rows from the bottom up, written from the rules."""
    rng = SplitMix64(seed)
    family = rules().family(mode)
    assert family is not None
    width, height = family.width, family.height
    cells: dict[tuple[int, int], int] = {}
    for row in range(height - 1, height - 7, -1):
        for column in range(width):
            filled, colour = rng.below(100) < 70, rng.below(5) + 1
            if not filled:
                continue
            cells[row, column] = colour
            lines = [
                [(row + n * down, column + n * right) for n in range(-2, 3)] for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
            ]
            run = any(
                all(cells.get(line[first + n]) == colour for n in range(3)) for line in lines for first in range(3)
            )  # fmt: skip
            if run or all((row, c) in cells for c in range(width)):
                del cells[row, column]
    return notation.board_text([[cells.get((r, c), 0) for c in range(width)] for r in range(height)])


@pytest.mark.parametrize("family", ["duo", "tetcolor", "columns", "retris"])
def test_handicap(family: str) -> None:
    """Drawn before the pieces, without specials, in arcade too; the seed's stream goes on with piece 0."""
    for seed in (*range(20), 2**63, 2**64 - 1):
        mode = f"{family}/arcade/normal/handicap"
        game = Case(b"", mode, seed).game()
        assert game.board == independent_handicap(mode, seed)
        rng = SplitMix64(seed)
        for _ in range(game.width * 6 * 2):
            rng.next()
        pool = rules().family(mode).pool  # type: ignore[union-attr]
        assert (game.piece or "")[0] == pool[rng.below(len(pool))].name


def test_a_start_board_takes_the_place_of_the_handicap() -> None:
    """It is then not drawn: the pieces are those of the seed without one.  An empty start board is one, too."""
    for start in ("-", "abcdea"):
        game = Case(b"", "columns/classic/normal/handicap", 9, start=start).game()
        plain = Case(b"", "columns/classic/normal", 9).game()
        assert (game.board, game.piece, game.next_piece) == (start, plain.piece, plain.next_piece)


FULL_CAPACITY = {
    "NHVLM": "aMbNcHdVeL1", "A": "aAbAcA3", "S": "aSbScSdSeS1/bScSdSeSaS1", "*": "a*b*c*d*e*1/b*c*d*e*a*1",
}  # fmt: skip


@pytest.mark.parametrize("kinds", FULL_CAPACITY)
def test_specials_of_a_start_board_count(kinds: str) -> None:
    """As many on it as there may be: no draw brings another, and every other draw is what it would have been."""
    dropped = 0
    for seed in range(120):
        full = Case(b"", "columns/arcade/normal", seed, start=FULL_CAPACITY[kinds]).game()
        plain = Case(b"", "columns/arcade/normal", seed).game()
        assert not set(kinds) & set((full.piece or "") + (full.next_piece or ""))
        for with_it, without in ((plain.piece, full.piece), (plain.next_piece, full.next_piece)):
            assert with_it is not None
            assert without == "".join(char for char in with_it if char not in kinds)
            dropped += with_it != without
    assert dropped > 5
    # One less, and there is room for one.
    one = "e" + FULL_CAPACITY[kinds][2:]
    games = [Case(b"", "columns/arcade/normal", seed, start=one).game() for seed in range(120)]
    counts = [sum(map(((game.piece or "") + (game.next_piece or "")).count, kinds)) for game in games]
    assert max(counts) == 1
