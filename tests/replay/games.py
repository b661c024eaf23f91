"""Honest games of the block puzzle, played here, and their uploads: what the tests of verdicts and disputes start from."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date
from itertools import pairwise

from engine.blocks import kernel as k
from engine.blocks.notation import token
from engine.blocks.single import Game
from replay import verdict as v
from replay.challenges import Challenge, ChallengeTable
from replay.record import Record
from replay.rulebook import load_rulebook
from replay.trace import Dispute
from replay.verdict import JudgeSettings, challenge_span, judge

RULEBOOK = load_rulebook()
DAY = date(2026, 10, 31)
OPENS, CLOSES, LAST_UPLOAD = challenge_span(DAY)
NOON = OPENS + 26 * v.HOUR
A8_START = "#####1##/######1#/#######1/###1####/####1###/##1#####/2######/#####3"

_ROWS = [
    Challenge("blocks", "2026-10-31", "daily", "1.2.0", 1234567, "", ""),
    Challenge("blocks", "2026-09-15", "daily", "1.1.0", 1234567, "", ""),
    Challenge("blocks", "training-7", "training", "1.2.0", 1234567, "", ""),
    Challenge("blocks", "gap", "daily", "1.2.0", 0, A8_START, "I3h O O O O O"),
    Challenge("blocks", "short", "daily", "1.2.0", 0, "", "O O O O O"),
    Challenge("blocks", "strange", "daily", "1.2.0", 0, "", "O Nix O"),
    Challenge("blocks", "over", "training", "1.2.0", 0, "/".join(["1#" * 4, "#1" * 4] * 4), "O O O 1 1 1"),
]
TABLE = ChallengeTable({(row.game, row.challenge): row for row in _ROWS})


def placements(game: Game) -> list[str]:
    """Every legal token of the hand."""
    rows, heights, widths, _ = game.rules.shape_tables
    return [
        token(slot, column, row)
        for slot in range(3)
        for row in range(game.rules.height)
        for column in range(game.rules.width)
        if k.why_not(slot, column, row, game.rows, game.hand, game.rules.params, rows, heights, widths) == k.APPLIED
    ]


def after_token(game: Game, written: str) -> Game | None:
    """A copy of the game with one more token played, or None when that token is not legal there."""
    tried = game.fork(written.encode())
    return tried if tried.step() == k.APPLIED else None


def play(
    seed: int, limit: int, challenge: str = "2026-10-31", rules: str = "1.2.0", mode: str = "daily"
) -> tuple[list[str], Game]:
    """An honest game of at most ``limit`` tokens: of some random legal placements, the one that leaves the tidiest board."""
    rng = random.Random(seed)
    found = RULEBOOK.find("blocks", rules)
    game = Game(found, TABLE.find("blocks", challenge).deal(found), b" " * 4 * limit, mode)
    tokens: list[str] = []
    while len(tokens) < limit and (legal := placements(game)):
        tried = [(after_token(game, written), written) for written in rng.sample(legal, min(12, len(legal)))]
        game, written = min(tried, key=lambda pair: (untidiness(pair[0].rows), pair[1]))
        tokens.append(written)
    return tokens, game


def untidiness(rows: list[int]) -> int:
    edges = sum((row ^ row >> 1).bit_count() for row in rows)
    return edges + sum((a ^ b).bit_count() for a, b in pairwise(rows)) + 2 * sum(r.bit_count() for r in rows)


def record(tokens: list[str], game: Game, /, **changes: object) -> Record:
    """The honest upload of a game, five minutes long, with some fields changed."""
    honest = Record(
        game_id="g-1", game="blocks", mode="daily", rules=game.rules.version, challenge="2026-10-31", player_id="p-17",
        player_kind="human", nation="FR", attempt=1, platform="android", app_version="3.2.0", started_at=NOON,
        finished_at=NOON + 300_000_000, uploaded_at=NOON + 301_000_000, moves=" ".join(tokens), score=game.st[k.ST_SCORE],
        best_combo=game.st[k.ST_BEST], final_board=game.board,
    )  # fmt: skip
    return replace(honest, **changes)


def verdict_of(found: Record, **settings: int) -> v.Verdict:
    return judge(found, RULEBOOK, TABLE, JudgeSettings(**settings))


def dispute(game: Record, **changes: object) -> Dispute:
    """The dispute about an upload, its verdict changed as other games would."""
    verdict = replace(verdict_of(game), **changes)
    return Dispute(game, verdict, RULEBOOK.find(game.game, game.rules), TABLE.find(game.game, game.challenge))


TOKENS, GAME = play(1, 60)
SCORE, BEST, BOARD = GAME.st[k.ST_SCORE], GAME.st[k.ST_BEST], GAME.board
FINISHED_TOKENS, FINISHED = play(5, 400, "2026-10-31")
