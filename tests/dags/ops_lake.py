"""A small published lake for the ops pages inside Airflow: one player with an honest game and a forged one, and where its rules are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from replay.lake import Lake
from replay.reviews.games import draft, find_game
from replay.reviews.store import open_reviews
from tests.replay.night_support import THREE, land, night, upload, write_challenges

DAY = THREE
WRONG_MOVE = 12


@dataclass(frozen=True)
class OpsLake:
    """``flagged`` is a game of ``player`` whose move WRONG_MOVE cannot be placed; it claims more points than their honest game
    ``honest`` has.  ``environment`` names the lake and its challenges."""

    folder: Path
    environment: dict[str, str]
    player: str = "anna-7"
    honest: str = "game-honest"
    flagged: str = "game-forged"
    honest_score: int = 0
    claimed_score: int = 0


def ops_lake(root: Path) -> OpsLake:
    """Land and publish it below ``root``."""
    folder, challenges = root / "lake", write_challenges(root / "challenges.csv")
    honest = upload("game-honest", "anna-7", seed=5, tokens=16)
    long = upload("game-forged", "anna-7", attempt=2, seed=6, tokens=40)
    moves = long.moves.split(" ")
    # The move before it once more: its place is taken.
    moves[WRONG_MOVE - 1] = moves[WRONG_MOVE - 2]
    forged = replace(long, moves=" ".join(moves))
    others = [upload(f"game-{name}", name, seed=seed, tokens=20 + seed) for name, seed in (("bert", 7), ("cleo", 8), ("dora", 9))]
    land(folder, DAY, "uploads.ndjson", [honest, forged, *others, b'{"game_id": "half"}'])
    night(folder, DAY, challenges=challenges)
    environment = {"REPLAY_LAKE": str(folder), "REPLAY_CHALLENGES": str(challenges), "REPLAY_THREADS": "1"}
    assert honest.score < forged.score
    return OpsLake(folder, environment, honest_score=honest.score, claimed_score=forged.score)


def clear_by_mistake(lake: OpsLake) -> None:
    """Somebody clears the forged game, and the next night counts it with what was claimed."""
    opened = Lake(lake.folder)
    with open_reviews(opened) as store:
        row = find_game(opened, lake.flagged)
        store.decide([draft("clear", row, [])], reviewer="night shift", reason="looked fine")
    night(lake.folder, DAY, challenges=Path(lake.environment["REPLAY_CHALLENGES"]))
