"""Bots of Tetromino Arcade: how well people play it, and the games they play through the engine.

The skills bear the names of ``replay.bots.SKILLS``, in the same order: somebody plays both games about equally well.  numba is
imported when the first game is played, not before.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from engine.tetromino import kernel as engine
from engine.tetromino import notation
from engine.tetromino import pieces as field
from engine.tetromino.rules import TetrominoRules
from engine.tetromino.single import Deal

# Pieces of a deal that a bot may ever see, and the bytes that a log may take.
MOST_PIECES = 400
LOG_BYTES = 12_000
# How many leave a game before it is over, and how many play to the goal of a mode that has one.
LEAVES, PATIENT = 0.015, 0.6


@dataclass(frozen=True)
class Skill:
    """How somebody plays; the numbers are the W_* of ``replay.tetromino_search``, in its order."""

    name: str
    landing: int = -45
    rows: int = -32
    columns: int = -93
    hole: int = -79
    well: int = -34
    tall: int = -60
    gain: int = 8
    waste: int = 0
    shaft: int = 0
    slot: int = 0
    deep: int = 0
    chain: int = 20
    noise: int = 0
    hold: int = 0
    spin: int = 0
    keep: int = 0
    think: int = 30
    gap: int = 4

    @property
    def weights(self) -> list[int]:
        """The kernel's row of weights."""
        return [
            self.landing, self.rows, self.columns, self.hole, self.well, self.tall, self.gain, self.waste, self.shaft, self.slot,
            self.deep, self.chain, self.noise, self.hold, self.spin, self.keep, self.think, self.gap,
        ]  # fmt: skip


SKILLS: tuple[Skill, ...] = (
    Skill("beginner", noise=900, think=60, gap=10),
    Skill("casual", noise=500, hold=12_000, think=48, gap=8),
    Skill("regular", noise=250, hold=35_000, spin=1, gain=12, shaft=-140, waste=-120, slot=10, keep=40, think=36, gap=6),
    # Keeps the last column open for four lines.
    Skill("advanced", noise=120, hold=55_000, spin=1, gain=16, shaft=-300, waste=-300, slot=14, keep=100, think=26, gap=5),
    # Builds for T-spins.
    Skill("expert", noise=40, hold=65_536, spin=1, gain=16, waste=-300, slot=45, deep=60, keep=140, think=18, gap=3),
    Skill("ai", noise=10, hold=65_536, spin=1, gain=16, waste=-300, slot=45, deep=60, keep=140, think=8, gap=2),
)
SKILL_INDEX: dict[str, int] = {skill.name: index for index, skill in enumerate(SKILLS)}


class Order(NamedTuple):
    """A game to be played: the seed of its luck, the player's skill, pieces before the player has had enough, whether the rest
    is then dropped to the end of the game (or the game is left as it is), and whether the deal's opening is known."""

    seed: int
    skill: int
    stop_at: int
    give_up: bool
    book: bool


class Played(NamedTuple):
    """One game as it was played.  ``feats`` are the counts of ``replay.tetromino_bot_kernel`` from O_PIECES on."""

    moves: str
    tokens: int
    score: int
    best_combo: int
    level: int
    lines: int
    board: str
    finished: bool
    feats: tuple[int, ...]


def pieces_of(deal: Deal, count: int = MOST_PIECES) -> list[int]:
    """The first pieces of a deal, fewer where it lists fewer."""
    if deal.pieces is not None:
        return list(deal.pieces[:count])
    board, st = list(deal.start), [0] * engine.N_STATE
    st[engine.ST_NEXT] = engine.N_PIECES
    return [engine.next_piece([], -1, board, st) for _ in range(count)]


class Table:
    """Where games of one deal are played in one mode.  Safe to share between threads.  KeyError for an unknown mode."""

    def __init__(self, rules: TetrominoRules, deal: Deal, mode: str) -> None:
        import numpy as np

        self.rules, self.deal, self.mode = rules, deal, mode
        self._params = np.array(rules.params(mode), np.int64)
        self._kicks, self._masks = np.array(rules.kicks, np.int64), np.array(rules.masks, np.uint64)
        self._listed = np.array(deal.pieces or (), np.int64)
        self._sequence = np.array(pieces_of(deal), np.int64)
        self._start = np.array(deal.start, np.uint64)
        self._weights = np.array([skill.weights for skill in SKILLS], np.int64)

    @cached_property
    def book(self) -> Any:
        """An opening that empties the board again, from the deal's pieces: steps of hold, turn, x; none for a start board."""
        import numpy as np

        from replay.tetromino_openers import find_opening

        if any(self.deal.start[field.ROWS : 2 * field.ROWS]):
            return np.zeros((0, 3), np.int64)
        return find_opening(self.rules, self._sequence)

    def play(self, orders: Sequence[Order]) -> list[Played]:
        """Play the games; the compiled part runs without the interpreter's lock."""
        import numpy as np

        from replay import tetromino_bot_kernel as kernel
        from replay import tetromino_search as search

        count = len(orders)
        seeds = np.array([order.seed for order in orders], np.uint64)
        rows = np.array([order[1:] for order in orders], np.int64).reshape(count, 4)
        boards = np.zeros((count, engine.N_BOARD), np.uint64)
        logs = np.zeros((count, LOG_BYTES), np.uint8)
        out = np.zeros((count, kernel.N_OUT), np.int64)
        cells = 4 * search.LEVELS * 16
        room = (
            np.zeros((search.N_LAYERS, 4, search.LEVELS), np.uint64), np.zeros(search.LEVELS + 8, np.uint64),
            np.zeros(cells, np.int64), np.zeros(cells, np.int64), np.zeros(cells, np.int64),
        )  # fmt: skip
        # The search takes a while, and not every game asks for it.
        book = self.book if any(order.book for order in orders) else np.zeros((0, 3), np.int64)
        last = -1 if self.deal.pieces is None else len(self._listed)
        kernel.play_games(
            seeds, rows, self._params, self._kicks, self._masks, self._listed, last, self._sequence, book, self._weights,
            self._start, boards, logs, out, np.zeros(engine.N_STATE, np.int64), np.zeros(kernel.N_CLOCK, np.int64),
            np.zeros(1, np.uint64), room, np.zeros(6, np.int64),
        )  # fmt: skip
        return [
            Played(
                bytes(log[:size]).decode("ascii"), tokens, score, best, level, lines,
                notation.board_text(board, self.rules), bool(finished), tuple(feats),
            )
            for log, (size, tokens, score, best, level, lines, finished, *feats), board in zip(
                logs, out.tolist(), boards.tolist(), strict=True
            )
        ]  # fmt: skip


def stop_after(rng: random.Random, mode: str) -> tuple[int, bool]:
    """(pieces before a player has had enough, whether the rest is then dropped to the end of the game) in a mode.

    What has an end of its own is mostly played to it; zen has none, and is left.
    """
    leaves = rng.random() < LEAVES
    pieces = rng.randrange(24, 60)
    if leaves or mode == "zen":
        return pieces, False
    if mode in ("sprint", "ultra") and rng.random() < PATIENT:
        return MOST_PIECES, True
    return pieces, True
