"""Uploads of three games that tests of suspicions start from, and the verdicts of several uploads together."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from replay.adhoc import verify_files
from replay.challenges import Challenge, ChallengeTable
from replay.record import Record
from replay.verdict import JudgeSettings
from replay.verify import Verifier
from tests.replay import games as blocks
from tests.replay import tetcolor_games as tetcolor
from tests.replay import tetromino_games as tetromino
from tests.replay.build import as_line

SECOND = 1_000_000
RULEBOOK = blocks.RULEBOOK
# A challenge of six placements, each of which is the only one that can be made.
FORCED, FORCED_LOG = Challenge(
    "blocks", "forced", "daily", "1.2.0", 0,
    "######2/#####1#1/2#1#3/1#1###1#/#1##2#1/2####1#/##1####1/1#####1#", "Ju Vc I5h L3d L3b Ju I3h Sv I4v",
), "1g1 1a5 1a3 1a6 1a4 1a1"  # fmt: skip
TABLE = ChallengeTable({
    **blocks.TABLE.rows, **tetromino.TABLE.rows, **tetcolor.TABLE.rows, ("blocks", "forced"): FORCED,
})  # fmt: skip
# In Tetcolor one without bombs: there a log is legal at other times too.
CHALLENGE = {"tetromino": "2026-10-31", "tetcolor": "tetcolor"}
_INPUT = re.compile("[0-9]*[a-z]")


@cache
def honest(game: str) -> Record:
    """A long honest game by ``p-17``; with a clock it has uneven pauses before each piece."""
    if game == "blocks":
        return blocks.record(*blocks.play(1, 60))
    tokens = (tetromino if game == "tetromino" else tetcolor).play(34, CHALLENGE[game])[0]
    for seed in range(100):
        rng = random.Random(seed)
        # The first token of a piece has the test game's own wait.
        waits = [rng.randrange(6, 40) for _ in tokens]
        log = [f"{wait}{token[-1]}" if token[0].isdigit() else token for wait, token in zip(waits, tokens, strict=True)]
        found = timed(game, "".join(log))
        if is_legal(found) and all(is_legal(moved(found, 2, random.Random(n))) for n in range(5)):
            return found
    raise AssertionError(f"no game of {game} is legal at these times")


def timed(game: str, log: str, **changes: Any) -> Record:
    """The honest upload of a log with a clock."""
    module: Any = tetromino if game == "tetromino" else tetcolor
    return replace(module.played(log, CHALLENGE[game]), **changes)


def is_legal(found: Record) -> bool:
    """Whether a log with a clock is played to its end."""
    module: Any = tetromino if found.game == "tetromino" else tetcolor
    game = module.open_game(found.moves, found.challenge)
    return game.run().fault is None


def moved(found: Record, ticks: int, rng: random.Random) -> Record:
    """The same inputs with each time moved by up to ``ticks``, and the claims that this log gives."""
    return timed(found.game, moved_log(found, rng, ticks))


def moved_log(found: Record, rng: random.Random, ticks: int = 2) -> str:
    """The log with each time moved by up to ``ticks``."""
    tokens = _INPUT.findall(found.moves)
    times = [max(0, int(token[:-1] or 0) + rng.randint(-ticks, ticks)) for token in tokens]
    return "".join(f"{time or ''}{token[-1]}" for time, token in zip(times, tokens, strict=True))


def by(found: Record, game_id: str, player_id: str, minutes: int, **changes: Any) -> Record:
    """An upload of the game by somebody, so many minutes after the game of the test."""
    later = found.finished_at + minutes * 60 * SECOND
    return replace(found, game_id=game_id, player_id=player_id, uploaded_at=later, **changes)


def verify(folder: Path, records: Sequence[Record | bytes], **settings: int) -> list[dict[str, Any]]:
    """What ``replay verify --json`` prints for them."""
    path = folder / "games.ndjson"
    lines = (line if isinstance(line, bytes) else as_line(line) for line in records)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return list(verify_files([path], Verifier(RULEBOOK, TABLE, JudgeSettings(**settings)), 1))


def signs(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The suspicions of each, but for games that were left."""
    return [[sign for sign in each["suspicions"] if sign != "unfinished"] for each in found]


def show(found: dict[str, Any]) -> str:
    """A verdict for a failing test."""
    return json.dumps(found, indent=1)
