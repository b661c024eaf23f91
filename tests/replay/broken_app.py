"""Days on which one app version is broken, for the tests of flags that are held back."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from replay.record import Record
from replay.withheld import GROUP
from tests.replay.night_support import THREE, land, upload

# (platform, app version) of apps in order, and of the one that names rules 1.1.0 and plays 1.2.0.
FINE = (("android", "3.2.0"), ("android", "3.1.5"), ("ios", "3.1.5"), ("ios", "3.1.4"))
BROKEN = ("ios", "3.2.0")
# Games of each app in order, of which one in a thousand is flagged, and of the broken one with those that come out otherwise.
GAMES, FLAGS = 500, 1
BROKEN_GAMES, BROKEN_FLAGS = 410, 400
# Logs of 20 tokens that clear lines, which earn other points under other rules, and one that clears none.
SEEDS, SHORT = (1, 2, 3, 5, 6, 8), 3


def app_games(app: tuple[str, str], day: date, games: int, flags: int = 0, **changes: Any) -> list[Record]:
    """Honest games of one app on a day, each of its own player; the first ``flags`` claim a point that they have not."""
    platform, version = app
    made = []
    for number in range(games):
        name = f"{platform}-{version}-{number}"
        game = upload(f"g-{day}-{name}", f"p-{name}", day, seed=SEEDS[number % len(SEEDS)], platform=platform, app_version=version)
        made.append(replace(game, **({"score": game.score + 1} if number < flags else {}) | changes))
    return made


def lying_games(day: date, games: int = BROKEN_GAMES, flags: int = BROKEN_FLAGS, app: tuple[str, str] = BROKEN) -> list[Record]:
    """Games of an app that names rules 1.1.0 and plays 1.2.0: all but ``flags`` of them cleared no line and come out alike."""
    lying = app_games(app, day, flags, rules="1.1.0")
    name = "-".join(app)
    short = [
        upload(
            f"g-{day}-{name}-{n}", f"p-{name}-{n}", day, tokens=SHORT, platform=app[0], app_version=app[1], rules="1.1.0"
        )
        for n in range(flags, games)
    ]  # fmt: skip
    return lying + short


def land_day(lake: Path, day: date = THREE, broken: list[Record] | None = None, games: int = GAMES, flags: int = FLAGS) -> Path:
    """Land a day of all apps; without ``broken`` the broken one is the liar."""
    fine = [game for app in FINE for game in app_games(app, day, games, flags)]
    land(lake, day, "fine.ndjson", fine)
    land(lake, day, "broken.ndjson", lying_games(day) if broken is None else broken)
    return lake


def days_before(day: date, count: int) -> list[date]:
    """So many days before a day, oldest first."""
    return [day - timedelta(days=back) for back in range(count, 0, -1)]


def group_of(row: Any) -> tuple[str, ...]:
    """The group of a verdict row or an incident."""
    return tuple(row[name] for name in GROUP)
