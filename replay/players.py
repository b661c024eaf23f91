"""The people (and AI players) of a simulation, and what they upload."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from replay.challenges import Challenge

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000

# How well people play, the same in every game, and what share of the people does.  AI players are drawn by AI_SHARE instead.
SKILL_SHARES: dict[str, int] = {"beginner": 14, "casual": 24, "regular": 30, "advanced": 20, "expert": 12, "ai": 0}
AI = list(SKILL_SHARES).index("ai")
AI_SHARE = 0.01

# Nation (None: not given), weight, minutes east of Greenwich, and the collector that its uploads go to.
NATIONS: tuple[tuple[str | None, int, int, str], ...] = (
    ("FR", 22, 60, "europe"), ("DE", 12, 60, "europe"), ("GB", 8, 0, "europe"), ("ES", 6, 60, "europe"),
    ("IT", 6, 60, "europe"), ("BE", 3, 60, "europe"), ("CH", 2, 60, "europe"), ("NL", 3, 60, "europe"),
    ("PL", 3, 60, "europe"), ("SE", 2, 60, "europe"), ("NA", 2, 120, "europe"), ("ZA", 2, 120, "europe"),
    ("US", 14, -300, "americas"), ("CA", 4, -300, "americas"), ("BR", 5, -180, "americas"), ("MX", 3, -360, "americas"),
    ("AR", 2, -180, "americas"), ("JP", 6, 540, "asia"), ("KR", 3, 540, "asia"), ("IN", 5, 330, "asia"),
    ("AU", 3, 600, "asia"), ("NZ", 1, 780, "asia"), ("ID", 2, 420, "asia"), (None, 6, 60, "europe"),
)  # fmt: skip
REGIONS = ("americas", "asia", "europe")
PLATFORMS = ("android", "ios")

# Clients in use; each has a habit that the format allows.
SPACED, PADDED, EXTRA = "3.1.4", "3.0.9", "3.3.0-beta"
APP_VERSIONS: tuple[tuple[str, int], ...] = (
    ("3.2.0", 60),
    ("3.1.5", 20),
    (SPACED, 10),  # writes a space between the tokens of a log
    (PADDED, 6),  # writes the empty rows at the top of a board, which is not the canonical form but means the same
    (EXTRA, 4),  # sends a field that the format does not know
)


class Player(NamedTuple):
    """Somebody who plays; ``offset_ms`` is the local time's distance from UTC in milliseconds."""

    player_id: str
    kind: str
    skill: int
    nation: str | None
    offset_ms: int
    region: str
    platform: str
    app_version: str


def make_players(rng_seed: int, count: int) -> list[Player]:
    """The first ``count`` players of a seed; a longer list begins with the shorter one, so players come back on other days."""
    rng = random.Random(f"{rng_seed}/players")
    people = [index for index, share in enumerate(SKILL_SHARES.values()) if share]
    shares = [share for share in SKILL_SHARES.values() if share]
    nation_weights = [weight for _, weight, _, _ in NATIONS]
    versions, version_weights = zip(*APP_VERSIONS, strict=True)
    players: list[Player] = []
    for number in range(count):
        is_ai = rng.random() < AI_SHARE
        nation, _, minutes, region = rng.choices(NATIONS, nation_weights)[0]
        skill = rng.choices(people, shares)[0]
        # The number makes the id unique, the random part keeps it opaque.
        player_id = f"p{rng.getrandbits(32):08x}{(number * 0x9E37_79B1) & 0xFFFF_FFFF:08x}"
        players.append(
            Player(
                player_id, "ai" if is_ai else "human", AI if is_ai else skill, nation, minutes * 60_000, region,
                PLATFORMS[rng.random() < 0.45], rng.choices(versions, version_weights)[0],
            )
        )  # fmt: skip
    return players


@dataclass(slots=True, kw_only=True)
class Upload:
    """One line of a log file before it is written, with its truth beside it.  Times are milliseconds since 1970 UTC.

    ``moves`` holds no white space (``spaced`` writes it), ``board`` is what the game's bots made (its ``GamePlay`` writes it as
    text); ``level`` and ``lines`` are claims that only some games and clients make, ``unclaimed`` says how this client writes
    that it makes none; ``raw`` makes a malformed line out of the whole one.
    """

    game_id: str
    game: str
    mode: str
    rules: str
    challenge: str
    player: Player
    attempt: int
    started: int = 0
    finished: int = 0
    uploaded: int = 0
    moves: str = ""
    tokens: int = 0
    score: int = 0
    best_combo: int = 0
    board: Any = 0
    over: bool = False
    final_board: str = ""
    level: int | None = None
    lines: int | None = None
    unclaimed: str = ""
    spaced: bool = False
    own: bool = True
    region: str = ""
    raw: Callable[[str], str] | None = None
    kind: str = "honest"
    variant: str = ""
    verdict: str = "verified"
    reasons: list[str] = field(default_factory=list)
    suspicions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ChallengeDay:
    """One daily challenge while it is played: open from ``opens`` to ``closes``, uploads counted to ``deadline`` (ms)."""

    challenge: Challenge
    rules: Any
    deal: Any
    opens: int
    closes: int
    deadline: int
