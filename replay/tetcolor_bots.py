"""Bots of Tetcolor: how well people play its four families, and the games they play through the engine.

The skills bear the names of ``replay.bots.SKILLS``, in the same order: somebody plays all games about equally well.  numba is
imported when the first game is played, not before.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.tetcolor import layout as at
from engine.tetcolor import notation
from engine.tetcolor.rules import TetcolorRules
from engine.tetcolor.single import Deal

# Bytes that a log may take, and the share of those who leave a game before it is over.
LOG_BYTES = 8_000
LEAVES = 0.015


@dataclass(frozen=True)
class Skill:
    """How somebody plays; the numbers are the W_* of ``replay.tetcolor_search``, in its order."""

    name: str
    gain: int = 160
    clear: int = 1600
    more: int = 60
    landing: int = -45
    rows: int = -32
    columns: int = -60
    hole: int = -79
    well: int = -20
    tall: int = -60
    pair: int = 16
    load: int = 0
    noise: int = 0
    slide: int = 0
    depth: int = 1
    think: int = 30
    gap: int = 4
    soft: int = 0
    linger: int = 0
    waste: int = 0

    @property
    def weights(self) -> list[int]:
        """The kernel's row of weights."""
        return [
            self.gain, self.clear, self.more, self.landing, self.rows, self.columns, self.hole, self.well, self.tall, self.pair,
            self.load, self.noise, self.slide, self.depth, self.think, self.gap, self.soft, self.linger,
            self.waste,
        ]  # fmt: skip


SKILLS: tuple[Skill, ...] = (
    # Takes every match that there is.
    Skill("beginner", gain=640, pair=0, noise=600, think=60, gap=10, soft=30_000, linger=22_000),
    Skill("casual", gain=240, pair=16, noise=300, waste=-20, think=48, gap=8, soft=20_000, linger=12_000),
    Skill("regular", pair=20, noise=150, tall=-120, slide=1, waste=-40, think=36, gap=6, soft=10_000, linger=5_000),
    # Lets small matches be while there is room, and keeps colours together.
    Skill("advanced", pair=36, noise=80, tall=-180, slide=1, waste=-200, think=26, gap=5, soft=4_000, linger=2_000),
    Skill("expert", rows=-20, columns=-40, hole=-50, well=-12, pair=36, noise=120, slide=1, depth=2, waste=-150, think=18, gap=3),
    Skill("ai", rows=-16, columns=-30, hole=-40, well=-10, pair=40, tall=-80, slide=1, depth=2, waste=-150, think=8, gap=2),
)
SKILL_INDEX: dict[str, int] = {skill.name: index for index, skill in enumerate(SKILLS)}


class Order(NamedTuple):
    """A game to be played: the seed of its luck, the player's skill, pieces before the player has had enough, and whether the
    rest is then dropped to the end of the game (or the game is left as it is)."""

    seed: int
    skill: int
    stop_at: int
    give_up: bool


class Played(NamedTuple):
    """One game as it was played.

    ``board`` are the settled cells of the kernel, top row first; ``feats`` the counts of ``replay.tetcolor_bot_kernel`` from
    O_PIECES on.
    """

    moves: str
    tokens: int
    score: int
    best_combo: int
    level: int
    board: list[list[int]]
    finished: bool
    feats: tuple[int, ...]


class Table:
    """Where games of one deal are played in one mode.  Safe to share between threads.  KeyError for a mode that is none."""

    def __init__(self, rules: TetcolorRules, deal: Deal, mode: str) -> None:
        import numpy as np

        self.rules, self.deal, self.mode = rules, deal, mode
        self._numbers = rules.params[mode]
        last = at.NONE if deal.pieces is None else len(deal.pieces)
        start_first = at.NONE if deal.start is None else 0
        self._deal_of = (
            np.array(self._numbers, np.int64), np.array(rules.tables, np.int64), np.array(deal.pieces or (), np.int64), last,
            np.uint64(deal.rng_seed), np.array(deal.start or (), np.int64), start_first,
        )  # fmt: skip
        self._weights = np.array([skill.weights for skill in SKILLS], np.int64)

    def play(self, orders: Sequence[Order]) -> list[Played]:
        """Play the games; the compiled part runs without the interpreter's lock."""
        import numpy as np

        from replay import tetcolor_bot_kernel as kernel
        from replay import tetcolor_search as search

        count = len(orders)
        seeds = np.array([order.seed for order in orders], np.uint64)
        rows = np.array([order[1:] for order in orders], np.int64).reshape(count, 3)
        boards = np.zeros((count, at.N_BOARD), np.int64)
        logs = np.zeros((count, LOG_BYTES), np.uint8)
        out = np.zeros((count, kernel.N_OUT), np.int64)
        sizes = (at.N_BOARD, at.N_COLS, at.N_STATE, at.N_WORK)
        room = (np.zeros(size, np.int64) for size in (*sizes, at.N_SAVED, *sizes, *sizes))
        places = (np.zeros((search.MOST_PLACES, search.N_GOAL), np.int64) for _ in range(2))
        kernel.play_games(
            seeds, rows, self._deal_of, self._weights, np.zeros(2, np.uint64), *room, *places, np.zeros(kernel.N_CLOCK, np.int64),
            np.zeros(1, np.uint64), np.zeros(search.N_GOAL, np.int64), boards, logs, out,
        )  # fmt: skip
        width, height = self._numbers[at.P_WIDTH], self._numbers[at.P_HEIGHT]
        return [
            Played(
                bytes(log[:size]).decode("ascii"), tokens, score, best, level, notation.cells_of(board, width, height),
                bool(finished), tuple(feats),
            )
            for log, (size, tokens, score, best, level, finished, *feats), board in zip(
                logs, out.tolist(), boards.tolist(), strict=True
            )
        ]  # fmt: skip


def stop_after(rng: random.Random) -> tuple[int, bool]:
    """(pieces before a player has had enough, whether the rest is then dropped to the end of the game)."""
    leaves = rng.random() < LEAVES
    return rng.randrange(30, 75), not leaves
