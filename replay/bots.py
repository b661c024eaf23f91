"""Bots of the block puzzle: how well people play it, and the games they play under the rules.

The games are real ones: every placement is chosen by ``replay.bot_kernel`` from what is legal.  numba is imported when the
first game is played, not before.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.blocks.rules import BlocksRules
from engine.blocks.single import Deal
from engine.board import format_cells
from engine.random import SplitMix64
from replay.errors import UsageError

# Nobody plays longer than this; who is not over by then walks away.
MAX_PLACEMENTS = 1000
CHUNK = 500


@dataclass(frozen=True)
class Skill:
    """How somebody plays; ``weights`` are the W_* of ``replay.bot_kernel``, in its order.  Names as in ``replay.players``.

    ``pace_ms`` is the median time for a move, ``quits`` how many of 1,000 games are left before they are over.
    """

    name: str
    pace_ms: int
    quits: int
    gain: int = 64
    keep: int = 60
    lose: int = -100
    fill: int = -10
    edge: int = -8
    nook: int = -20
    hole: int = -40
    room: int = 8
    long: int = 4
    stuck: int = -150
    noise: int = 0
    tired: int = 0
    seen: int = 65_536
    depth: int = 1

    @property
    def weights(self) -> list[int]:
        """The kernel's row of weights."""
        return [
            self.gain, self.keep, self.lose, self.fill, self.edge, self.nook, self.hole, self.room, self.long, self.stuck,
            self.noise, self.tired, self.seen, self.depth,
        ]  # fmt: skip


# Calibrated so that a game has about 85 moves on average over many deals; one deal may be a third easier or harder.
SKILLS: tuple[Skill, ...] = (
    Skill("beginner", 4200, 3, keep=0, lose=0, room=0, long=0, stuck=0, noise=320, seen=38_000),
    Skill("casual", 3400, 3, keep=0, lose=0, room=0, long=0, stuck=-20, noise=190, tired=300, seen=52_000),
    Skill("regular", 2800, 3, room=4, long=2, stuck=-80, noise=170, tired=250, seen=60_000),
    Skill("advanced", 2300, 12, stuck=-120, noise=110, tired=200),
    Skill("expert", 1900, 20, noise=60, tired=140),
    # AI players think two placements ahead.
    Skill("ai", 900, 0, noise=300, tired=50, depth=2),
)
SKILL_INDEX: dict[str, int] = {skill.name: index for index, skill in enumerate(SKILLS)}


class Played(NamedTuple):
    """One game as it was played: the log without white space, its tokens, score, largest combo, board, and whether it is over."""

    moves: str
    tokens: int
    score: int
    best_combo: int
    board: int
    finished: bool


class Order(NamedTuple):
    """A game to be played: the seed of its luck, the player's skill, continues that are used, placements before walking away."""

    seed: int
    skill: int
    continues: int
    stop_at: int


class Table:
    """Where games of one deal are played under one version of the rules.  Safe to share between threads.

    Raises UsageError for a board other than 8 x 8 or a deal of listed pieces: the bots play on 64-bit boards and for as long
    as they last.
    """

    def __init__(self, rules: BlocksRules, deal: Deal, name: str) -> None:
        if rules.fast_tables is None:
            raise UsageError(
                f"challenge {name}: bots cannot play rules {rules.version} with its {rules.width} x {rules.height} board,"
                " name a challenge whose rules have an 8 x 8 board and at most 255 shapes"
            )
        if deal.pieces is not None:
            raise UsageError(f"challenge {name}: bots play seeded deals only, name a challenge that lists no pieces")
        import numpy as np

        stream = SplitMix64(deal.rng_seed)
        pieces = [stream.below(len(rules.shapes)) for _ in range(MAX_PLACEMENTS + 3)]
        self._weights = np.array([skill.weights for skill in SKILLS], np.int64)
        self._masks, self._anchors, self._offsets = (np.array(table, np.uint64) for table in rules.fast_tables)
        self._base, self._params = np.array(rules.base, np.int64), np.array(rules.params, np.int64)
        self._deal = np.array(pieces, np.int64)
        self._start = np.uint64(sum(row << (8 * r) for r, row in enumerate(deal.start)))

    def play(self, orders: Sequence[Order]) -> list[Played]:
        """Play the games; the compiled part runs without the interpreter's lock."""
        import numpy as np

        from replay import bot_kernel as kernel

        seeds = np.array([order.seed for order in orders], np.uint64)
        skills, continues, stop_at = (np.array([order[c] for order in orders], np.int64) for c in (1, 2, 3))
        longest = max((order.stop_at + order.continues for order in orders), default=0)
        logs = np.zeros((len(orders), kernel.TOKEN_BYTES * longest), np.uint8)
        out = np.zeros((len(orders), kernel.N_OUT), np.int64)
        boards = np.zeros(len(orders), np.uint64)
        kernel.play_games(
            seeds, skills, continues, stop_at, self._weights, self._masks, self._anchors, self._offsets, self._base, self._params,
            self._deal, self._start, logs, out, boards,
        )  # fmt: skip
        return [
            Played(log[:size].tobytes().decode("ascii"), tokens, score, best, board, bool(finished))
            for log, (size, tokens, score, best, finished), board in zip(logs, out.tolist(), boards.tolist(), strict=True)
        ]


_ROW_TEXT = ["8", *(format_cells([["#" if row >> c & 1 else "." for c in range(8)]]) for row in range(1, 256))]


def board_text(board: int, padded: bool = False) -> str:
    """The text of a 64-bit board (bit 8 * row + column); ``padded`` writes the empty rows at the top as well."""
    rows = board.to_bytes(8, "little")
    if not padded:
        rows = rows.lstrip(b"\0")
    return "/".join([_ROW_TEXT[row] for row in rows]) or "-"


def quit_after(rng: random.Random, skill: int) -> int:
    """After how many placements a player walks away: mostly MAX_PLACEMENTS, now and then (``Skill.quits``) much earlier."""
    return rng.randrange(30, 120) if rng.random() * 1000 < SKILLS[skill].quits else MAX_PLACEMENTS
