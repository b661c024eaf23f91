"""Games of Tetromino Arcade that benchmarks run on: a greedy player that looks at one piece, with human-like small delays."""

from __future__ import annotations

import itertools
import random

from engine.tetromino import pieces as p
from engine.tetromino.rules import NO_KICKS, PIECE_NAMES, TetrominoRules
from engine.tetromino.single import Game, make_deal

# The heuristic's weights: height, lines, holes, unevenness.
HEIGHT, LINES, HOLES, UNEVEN = -51, 76, -90, -18
PAUSES = ("", "", 1, 2, 3, 5, 8)


def play(rules: TetrominoRules, rng_seed: int, mode: str, pieces: int) -> str:
    """The log of a game of up to ``pieces`` pieces on the seeded deal, about seven inputs a piece."""
    rng = random.Random(rng_seed)
    game = Game(rules, make_deal(rules, mode, rng_seed, "", ""), b"", mode)
    log: list[str] = []
    for _ in range(pieces):
        if game.finished:
            break
        log.append("".join(f"{rng.choice(PAUSES)}{letter}" for letter in _inputs(game, rng)))
        game = game.fork(log[-1].encode())
        game.run()
    return "".join(log)


def _inputs(game: Game, rng: random.Random) -> str:
    """Inputs that bring the piece in play to the best place that a straight drop can reach."""
    rules = game.rules
    rows = [row >> p.WALL & (1 << rules.width) - 1 for row in game.cells[p.PAD : p.PAD + rules.height]]
    heights = [max((y + 1 for y, row in enumerate(rows) if row >> x & 1), default=0) for x in range(rules.width)]
    piece = rules.pieces[PIECE_NAMES.index(game.piece or "")]
    places = []
    for turn in range(4 if piece.kicks != NO_KICKS else 1):
        cells = piece.turns[turn]
        for x in range(-min(c for _, c in cells), rules.width - max(c for _, c in cells)):
            places.append((_value(rows, heights, cells, x), rng.random(), turn, x))
    _, _, turn, x = max(places)
    shifts = ("r" if x > piece.column else "l") * abs(x - piece.column)
    # Now and then a hand that strays and comes back, or a soft drop before the hard one.
    strays = rng.choice(("", "", "", "lr", "xz"))
    return ("", "x", "xx", "z")[turn] + strays + shifts + "d" * rng.choice((0, 0, 0, 1, 3, 6)) + "h"


def _value(rows: list[int], heights: list[int], cells: tuple[tuple[int, int], ...], x: int) -> int:
    """How good it is to drop a piece there, by the surface that it leaves."""
    y = max(heights[x + c] - r for r, c in cells)
    after, added, holes = list(heights), dict[int, int](), 0
    for r, c in cells:
        added[y + r] = added.get(y + r, 0) | 1 << (x + c)
        holes += max(0, y + r - after[x + c])
        after[x + c] = max(after[x + c], y + r + 1)
    lines = sum((rows[at] | mask).bit_count() == len(heights) for at, mask in added.items() if at < len(rows))
    uneven = sum(abs(a - b) for a, b in itertools.pairwise(after))
    return HEIGHT * (sum(after) - len(heights) * lines) + LINES * lines + HOLES * holes + UNEVEN * uneven
