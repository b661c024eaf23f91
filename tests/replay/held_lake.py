"""A lake whose last night held flags back: an app version that lies about its rules, and one day verified under broken rules."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from replay.night import NightSettings
from replay.rulebook import BUILT_IN
from tests.replay.broken_app import BROKEN, FINE, app_games, land_day, lying_games
from tests.replay.night_support import THREE, TWO, land, night, write_challenges

FEW, LIES = 60, 50
# The groups of an app: of the one that lies, and of a fine one under rules that broke.
LIAR = {"game": "blocks", "platform": BROKEN[0], "app_version": BROKEN[1], "rules": "1.1.0"}
FIRST = {"game": "blocks", "platform": FINE[0][0], "app_version": FINE[0][1], "rules": "1.2.0"}


def game_of(app: tuple[str, str], number: int, day: Any = THREE) -> str:
    """The id of a game of an app; number 0 claims a point that it has not, the others are honest."""
    return f"g-{day}-{app[0]}-{app[1]}-{number}"


def broken_rules(root: Path) -> Path:
    """The rules files with other line points in 1.2.0: no game that cleared a line comes out under them."""
    shutil.copytree(BUILT_IN, root, ignore=lambda _, names: [name for name in names if name.endswith((".py", "__pycache__"))])
    path = root / "blocks" / "1.2.0.toml"
    text = path.read_text("utf-8")
    assert "lines = [80, 240," in text
    path.write_text(text.replace("lines = [80, 240,", "lines = [70, 230,"), "utf-8")
    return root


def held_lake(root: Path) -> Path:
    """Two nights; the second holds the flags of the app that lies back.  ``challenges.csv`` lies beside the lake."""
    lake, challenges = root / "lake", write_challenges(root / "challenges.csv")
    land_day(lake, TWO, app_games(BROKEN, TWO, FEW), games=FEW)
    night(lake, TWO, challenges=challenges)
    land_day(lake, THREE, lying_games(THREE, FEW, LIES), games=FEW)
    night(lake, THREE, challenges=challenges)
    return lake


def break_rules(lake: Path) -> dict[str, Any]:
    """Verify the last day again under broken rules, with one game that comes in only now (``late``); its run.json."""
    late = app_games(FINE[0], THREE, 2)[1]
    land(lake, THREE, "late.ndjson", [replace(late, game_id="late", player_id="p-late")])
    rules = lake.parent / "rules"
    return night(lake, THREE, challenges=lake.parent / "challenges.csv", rules=rules if rules.exists() else broken_rules(rules))


def settings_of(lake: Path) -> NightSettings:
    """What the lake's nights are run with, under broken rules once those are there."""
    rules = lake.parent / "rules"
    return NightSettings(challenges=lake.parent / "challenges.csv", threads=2, rules=rules if rules.exists() else None)


def copy_of(lake: Path, root: Path) -> Path:
    """A copy of a lake and of what lies beside it, to change."""
    shutil.copytree(lake.parent, root, dirs_exist_ok=True)
    return root / lake.name
