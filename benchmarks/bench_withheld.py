"""How often flags of honest apps are held back, and which share of broken games is: what ``replay.flag_rates`` rests on.

``python -m benchmarks withheld [--nights 10000]`` plays nights of APPS, each with its own usual share (log-normal around 0.5
percent, its middle nine tenths from 0.1 to 2.6 percent), which differs from day to day as a Beta distribution of so many games
does.  An app is replaced by a new version every 60 days or so, with another share and no past.  Then, for an app of n games whose
usual share is 0.5 percent, it breaks a share of the games on top and looks which is held back in nineteen of twenty nights.

Of one run of 10,000 nights of 24 apps, with the default limits (a night in 1,000 at most may hold an honest app back):

- days that differ as a Beta distribution of 2,000 games does: 3 nights, of 500 (what ``replay.flag_rates`` takes): 2 nights, all
  for new versions whose share was far above the others'; of 250: 82 nights, which is eight times too many: a studio whose honest
  days differ as much sets REPLAY_WITHHOLD_ALPHA_PER_MILLION lower.  First nights of a lake: none in 10,000;
- held back in 19 of 20 nights, of an app with 0.5 percent usually: all of 20 games, 60 percent of 50, 30 of 100, 7.5 of 410, 5 of
  1,000, 4 of 10,000 and more; of a new version 20 percent of 410 games and 15 of 1,000 and more; on the first night of a lake 90
  percent of 50 games and 80 of 410 and more.  A smaller share than that is flagged, game by game.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from replay.flag_rates import LEAST_PAST, LOWEST, OWN_WEIGHT, PRIOR, WIDER_WEIGHT, Limits, Usual, is_far_above, usual_of, weighed

# (game, platform, games a day) of the apps of a night.
APPS = (
    ("blocks", "android", 300_000), ("blocks", "ios", 250_000), ("blocks", "android", 100_000), ("blocks", "ios", 80_000),
    ("blocks", "android", 50_000), ("blocks", "ios", 40_000), ("blocks", "android", 20_000), ("blocks", "ios", 10_000),
    ("blocks", "android", 3_000), ("blocks", "ios", 1_000), ("blocks", "android", 200), ("blocks", "ios", 50),
    ("tetromino", "android", 80_000), ("tetromino", "ios", 60_000), ("tetromino", "android", 10_000),
    ("tetromino", "ios", 2_000), ("tetromino", "android", 400), ("tetromino", "ios", 100), ("tetromino", "ios", 20),
    ("tetcolor", "android", 40_000), ("tetcolor", "ios", 20_000), ("tetcolor", "android", 800), ("tetcolor", "ios", 100),
    ("tetcolor", "ios", 30),
)  # fmt: skip
USUAL_SHARE, SPREAD = 0.005, 1.0
# Days that an app lasts, about.
LASTS = 60
# How much honest days differ: as a Beta distribution of so many games.
EVENNESS = (2_000, 500, 250)
SIZES = (20, 50, 100, 410, 1_000, 10_000, 100_000)
SHARES = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)
LIMITS = Limits()


@dataclass
class App:
    """One app version: its usual share, and its (flags, games) of the days before."""

    game: str
    platform: str
    games: int
    share: float
    past: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=LIMITS.days))

    def known(self) -> tuple[int, int]:
        return sum(flags for flags, _ in self.past), sum(games for _, games in self.past)


def share_of(rng: np.random.Generator) -> float:
    """An honest app's usual share of flags."""
    return float(min(0.2, USUAL_SHARE * math.exp(SPREAD * rng.standard_normal())))


def day_of(rng: np.random.Generator, share: float, games: int, evenness: int, broken: float = 0.0) -> int:
    """A day's flags of an app, of which a share of the games is broken."""
    today = rng.beta(share * evenness, (1 - share) * evenness)
    return int(rng.binomial(games, today + (1 - today) * broken))


def nights(count: int, evenness: int, seed: int = 1) -> dict[str, int]:
    """Honest nights, after the first 28: how many held something back, how many groups in all, and of those new ones."""
    rng = np.random.default_rng(seed)
    apps = [App(game, platform, games, share_of(rng)) for game, platform, games in APPS]
    found = {"nights": 0, "groups": 0, "held_nights": 0, "held": 0, "held_new": 0}
    for night in range(count + LIMITS.days):
        flags = [day_of(rng, app.share, app.games, evenness) for app in apps]
        if night >= LIMITS.days:
            held = [app for app, flagged in zip(apps, flags, strict=True) if is_held(apps, app, flagged)]
            found["nights"] += 1
            found["groups"] += len(apps)
            found["held_nights"] += bool(held)
            found["held"] += len(held)
            found["held_new"] += sum(app.known()[1] < LEAST_PAST for app in held)
        for app, flagged in zip(apps, flags, strict=True):
            app.past.append((flagged, app.games))
            if rng.random() < 1 / LASTS:
                app.share, app.past = share_of(rng), deque(maxlen=LIMITS.days)
    return found


def is_held(apps: list[App], app: App, flags: int) -> bool:
    """What a night does with so many flags of an app."""
    if flags < LIMITS.least or not is_far_above(flags, app.games, LOWEST, len(apps), LIMITS):
        return False
    pasts = [("own", *app.known())]
    for of, others in (
        ("platform", [a for a in apps if a is not app and (a.game, a.platform) == (app.game, app.platform)]),
        ("game", [a for a in apps if a is not app and a.game == app.game]),
    ):
        pasts.append((of, sum(a.known()[0] for a in others), sum(a.known()[1] for a in others)))
    return is_far_above(flags, app.games, usual_of(pasts, LIMITS), len(apps), LIMITS)


def first_nights(count: int, evenness: int, seed: int = 2) -> int:
    """Honest first nights, of which nothing is known: how many held something back."""
    rng = np.random.default_rng(seed)
    return sum(
        any(
            flags >= LIMITS.least and is_far_above(flags, games, PRIOR, len(APPS), LIMITS)
            for _, _, games in APPS
            for flags in (day_of(rng, share_of(rng), games, evenness),)
        )
        for _ in range(count)
    )


def least_share(games: int, usual: Usual, evenness: int, tries: int = 200, seed: int = 3) -> float | None:
    """The smallest of SHARES that is held back in 19 of 20 nights when it is broken; None when none is."""
    rng = np.random.default_rng(seed)
    for share in SHARES:
        flags = [day_of(rng, USUAL_SHARE, games, evenness, share) for _ in range(tries)]
        held = sum(k >= LIMITS.least and is_far_above(k, games, usual, len(APPS), LIMITS) for k in flags)
        if held >= 0.95 * tries:
            return share
    return None


def power(evenness: int = 500) -> list[dict[str, Any]]:
    """By games of an app: the share that is held back with a past of its own, as a new version, and on a first night."""
    pasts = {
        "own": weighed(500, 100_000, OWN_WEIGHT), "new": weighed(500, 100_000, WIDER_WEIGHT, "platform"), "first": PRIOR,
    }  # fmt: skip
    return [{"games": games} | {of: least_share(games, usual, evenness) for of, usual in pasts.items()} for games in SIZES]


def run(count: int) -> dict[str, Any]:
    """All figures."""
    return {
        "honest": {evenness: nights(count, evenness) for evenness in EVENNESS},
        "first": {evenness: first_nights(count, evenness) for evenness in EVENNESS}, "power": power(),
    }  # fmt: skip
