"""Honest games of Tetcolor's families, played here, and their uploads: what the tests of its verdicts and disputes start from."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

from engine.tetcolor.single import Game
from replay.challenges import Challenge, ChallengeTable
from replay.games import kind_of
from replay.record import Record
from replay.trace import Dispute
from replay.verdict import JudgeSettings, Verdict, judge
from tests.replay.games import NOON, RULEBOOK

KIND = kind_of("tetcolor")
RULES = RULEBOOK.find("tetcolor", "1.0.0")
DAY = "2026-10-31"
MODES = {
    "duo": "duo/arcade/normal", "tetcolor": "tetcolor/classic/relax3", "columns": "columns/arcade/normal",
    "retris": "retris/classic/crazy/handicap",
}  # fmt: skip
_ROWS = [
    Challenge("tetcolor", DAY, "duo/arcade/normal", "1.0.0", 1234567, "", ""),
    *(Challenge("tetcolor", family, mode, "1.0.0", 1234567, "", "") for family, mode in MODES.items()),
    # A vertical run with a horizontal bomb at its foot; in that row a bomb under ice and a normal bomb, which reaches f12.
    Challenge("tetcolor", "bombs", "columns/arcade/normal", "1.0.0", 0, "5c/dV*3eNb", "C:aaaH C:bcd C:ebc C:cde C:dea"),
    # Two passes: b falls beside b b when the run of a goes.
    Challenge("tetcolor", "cascade", "columns/classic/normal", "1.0.0", 0, "bba3", "C:baa C:ccd C:cde C:dea C:ebc"),
    # Six blocks of one colour in one pass.
    Challenge("tetcolor", "full", "columns/classic/normal", "1.0.0", 0, "1a1aa1/6", "C:aaa C:bcd"),
    # A run that only thaws before it goes, and one that holds two stones.
    Challenge("tetcolor", "ice", "columns/arcade/normal", "1.0.0", 0, "", "C:a*a*a* C:bcd"),
    Challenge("tetcolor", "stones", "columns/arcade/normal", "1.0.0", 0, "aSb1aS2", "C:cda C:aaa C:bcd C:dec"),
    Challenge(
        "tetcolor", "rows", "retris/classic/normal", "1.0.0", 0, "abcabcabc1/abcabcabc1/abcabcabc1/abcabcabc1",
        "I:abcd I:abcd O:abcd",
    ),
    # A block that a piece can be shifted under when it has fallen below row 8.
    Challenge("tetcolor", "tuck", "columns/classic/normal", "1.0.0", 0, "1a4/6/6/6/6/6", "C:bcd C:cde"),
    # The first piece stands where it enters; its bomb goes off, and what is left of it blocks the next one.
    Challenge(
        "tetcolor", "jam", "columns/arcade/normal", "1.0.0", 0,
        "3aa1/6/6/2b3/2c3/2b3/2c3/2b3/2c3/2b3/2c3/2b3/2c3", "C:aHbc C:cde C:dea",
    ),
    Challenge("tetcolor", "short", "columns/classic/normal", "1.0.0", 0, "", "C:abc C:bcd"),
    Challenge("tetcolor", "strange", "duo/classic/normal", "1.0.0", 0, "", "C:abc"),
]  # fmt: skip
TABLE = ChallengeTable({(row.game, row.challenge): row for row in _ROWS})
TURNS = ("", "x", "xx", "z")


def open_game(log: str = "", challenge: str = DAY, mode: str | None = None) -> Game:
    row = TABLE.find("tetcolor", challenge)
    mode = mode or row.mode
    return KIND.new_game(RULES, row.deal(RULES, mode), log.encode(), mode)


def worth(game: Game) -> int:
    """How good it is to stand there: points, and a board that is flat and empty."""
    columns = list(zip(*game.cells, strict=True))
    heights = [next((game.height - y for y, cell in enumerate(column) if cell), 0) for column in columns]
    holes = sum(height - sum(cell != 0 for cell in column) for height, column in zip(heights, columns, strict=True))
    uneven = sum(abs(a - b) for a, b in pairwise(heights))
    return 2 * game.score - 8 * holes - 3 * sum(heights) - uneven - max(heights) ** 2


@cache
def play(pieces: int, challenge: str = DAY) -> tuple[tuple[str, ...], Game]:
    """A game of so many pieces or to its end: each is turned, shifted and dropped where it is worth most."""
    game = open_game("", challenge)
    tokens: list[str] = []
    for _ in range(pieces):
        best: tuple[int, list[str], Game] | None = None
        wait = 5
        if game.piece is None:
            # Bombs have gone off: the next piece enters in a moment.
            wait = 150
        for turn in TURNS:
            for shift in range(-5, 6):
                way = [*turn, *(("l" if shift < 0 else "r") * abs(shift)), "h", "h"]
                way[0] = f"{wait}{way[0]}"
                tried = game.fork("".join(way).encode())
                if tried.run().fault is None and (best is None or worth(tried) > best[0]):
                    best = (worth(tried), way, tried)
        if best is None:
            break
        tokens += best[1]
        game = best[2]
        if game.finished:
            break
    return tuple(tokens), game


def record(tokens: tuple[str, ...] | list[str], game: Game, /, **changes: Any) -> Record:
    """The honest upload of a game, a minute long, with some fields changed."""
    honest = Record(
        game_id="g-1", game="tetcolor", mode=game.mode, rules="1.0.0", challenge=DAY, player_id="p-17", player_kind="human",
        nation="FR", attempt=1, platform="android", app_version="3.2.0", started_at=NOON, finished_at=NOON + 60_000_000,
        uploaded_at=NOON + 61_000_000, moves="".join(tokens), score=game.score, best_combo=game.best_combo,
        final_board=game.board,
    )  # fmt: skip
    return replace(honest, **changes)


def played(log: str, challenge: str, mode: str | None = None, /, **changes: Any) -> Record:
    """The honest upload of any log."""
    game = open_game(log, challenge, mode)
    game.run()
    return record([log], game, **{"challenge": challenge, **changes})


def verdict_of(found: Record, **settings: int) -> Verdict:
    return judge(found, RULEBOOK, TABLE, JudgeSettings(**settings))


def dispute(game: Record, **changes: Any) -> Dispute:
    return Dispute(game, replace(verdict_of(game), **changes), RULES, TABLE.find("tetcolor", game.challenge))
