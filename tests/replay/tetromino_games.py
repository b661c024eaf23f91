"""Honest games of Tetromino Arcade, played here, and their uploads: what the tests of its verdicts and disputes start from."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from engine.tetromino.single import Game
from replay.challenges import Challenge, ChallengeTable
from replay.games import kind_of
from replay.record import Record
from replay.trace import Dispute
from replay.verdict import JudgeSettings, Verdict, judge
from tests.replay.games import NOON, RULEBOOK

KIND = kind_of("tetromino")
RULES = RULEBOOK.find("tetromino", "1.0.0")
DAY = "2026-10-31"
# Field case A1's board: a mini T-spin that gravity, a soft drop or a hard drop ends.
A1 = "JJ1J2JJJJ/JJ5JJJ/JJ4JJJJ/JJ1JJJJJJJ"
A1_PREFIX = 13 * "d" + "rzddddzlz"
_ROWS = [
    Challenge("tetromino", DAY, "marathon/1", "1.0.0", 1234567, "", ""),
    Challenge("tetromino", "level-4", "marathon/4", "1.0.0", 0, "3J6/JJJ3JJJJ/JJJJ1JJJJJ", "T O O"),
    Challenge("tetromino", "a1", "marathon/1", "1.0.0", 0, A1, "T O"),
    Challenge("tetromino", "sprint", "sprint", "1.0.0", 9, "", ""),
    Challenge("tetromino", "ultra", "ultra", "1.0.0", 9, "", ""),
    Challenge("tetromino", "zen", "zen", "1.0.0", 9, "", ""),
    Challenge("tetromino", "short", "marathon/1", "1.0.0", 0, "", "O O"),
    Challenge("tetromino", "strange", "marathon/1", "1.0.0", 0, "", "O Q"),
    Challenge("tetromino", "clears", "marathon/2", "1.0.0", 0, "JJJJJJJJJ1/JJJJJJJJJ1/JJJJJJJJJ1/JJJJJJJJJ1", "I I O"),
]
TABLE = ChallengeTable({(row.game, row.challenge): row for row in _ROWS})
TURNS = ("", "x", "xx", "z")


def open_game(log: str = "", challenge: str = DAY, mode: str | None = None) -> Game:
    row = TABLE.find("tetromino", challenge)
    mode = mode or row.mode
    return KIND.new_game(RULES, row.deal(RULES, mode), log.encode(), mode)


def untidiness(game: Game) -> int:
    """How far a board is from flat and full."""
    columns = list(zip(*KIND.cells(game.board, RULES, game.mode), strict=True))
    heights = [next((40 - y for y, cell in enumerate(column) if cell != "."), 0) for column in columns]
    holes = sum(height - sum(cell != "." for cell in column) for height, column in zip(heights, columns, strict=True))
    return 30 * holes + 2 * sum(heights) + sum(abs(a - b) for a, b in pairwise(heights))


def play(pieces: int, challenge: str = DAY, mode: str | None = None, wait: int = 7) -> tuple[list[str], Game]:
    """A game of so many pieces or to its end: each is turned, shifted and dropped where it leaves the tidiest board."""
    game = open_game("", challenge, mode)
    tokens: list[str] = []
    for _ in range(pieces):
        best: tuple[int, list[str], Game] | None = None
        for turn in TURNS:
            for shift in range(-5, 6):
                way = [*turn, *(("l" if shift < 0 else "r") * abs(shift)), "h"]
                way[0] = f"{wait}{way[0]}"
                tried = game.fork("".join(way).encode())
                if tried.run().fault is None and (best is None or untidiness(tried) < best[0]):
                    best = (untidiness(tried), way, tried)
        if best is None:
            break
        tokens += best[1]
        game = best[2]
        if game.finished:
            break
    return tokens, game


def record(tokens: list[str], game: Game, /, **changes: Any) -> Record:
    """The honest upload of a game, a minute long, with some fields changed."""
    honest = Record(
        game_id="g-1", game="tetromino", mode=game.mode, rules="1.0.0", challenge=DAY, player_id="p-17", player_kind="human",
        nation="FR", attempt=1, platform="android", app_version="3.2.0", started_at=NOON, finished_at=NOON + 60_000_000,
        uploaded_at=NOON + 61_000_000, moves="".join(tokens), score=game.score, best_combo=game.best_combo,
        final_board=game.board, level=game.level, lines=game.lines,
    )  # fmt: skip
    return replace(honest, **changes)


def played(log: str, challenge: str, mode: str | None = None, /, **changes: Any) -> Record:
    """The honest upload of any log."""
    game = open_game(log, challenge, mode)
    game.run()
    return record([log], game, challenge=challenge, **changes)


def verdict_of(found: Record, **settings: int) -> Verdict:
    return judge(found, RULEBOOK, TABLE, JudgeSettings(**settings))


def dispute(game: Record, **changes: Any) -> Dispute:
    return Dispute(game, replace(verdict_of(game), **changes), RULES, TABLE.find("tetromino", game.challenge))


TOKENS, GAME = play(30)
