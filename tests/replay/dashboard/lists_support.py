"""A small lake for the lists (flags, a player, leaderboards): two nights written by hand, with decisions taken since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from replay.flags import FlagFilter, query_flags
from replay.lake import Lake
from replay.reviews.drafts import Draft
from replay.reviews.games import draft, find_game
from replay.reviews.store import open_reviews
from tests.replay.night_support import THREE, TWO, land, night, upload, write_challenges, write_players

LONG, SHORT = 400, 8
HONEST = upload("x", "x", seed=5, tokens=LONG).score


@dataclass(frozen=True)
class Lists:
    """``root`` is the lake; ``challenges`` and ``players`` are the tables its nights ran with."""

    root: Path
    challenges: Path
    players: Path

    def settings(self) -> dict[str, Any]:
        return {"challenges": self.challenges, "players": self.players}


def lists_lake(root: Path) -> Lists:
    """Two nights: honest games, every kind of sign, a removed and an anonymised player, and four decisions.

    The ids say what they are: ``flag-*`` do not reproduce, ``odd-*`` look unusual.
    """
    lists = Lists(root / "lake", write_challenges(root / "challenges.csv"), root / "players.csv")
    write_players(lists.players, ("p-gone", "removed", ""), ("p-old", "anonymised", "p-new"))
    ios = {"platform": "ios", "app_version": "3.1.5", "nation": "DE"}
    first = [
        upload("fine", "p-first", TWO, seed=5, tokens=LONG),
        replace(upload("odd-copied", "p-second", TWO, seed=5, tokens=LONG, **ios), uploaded_at=later("fine", TWO)),
        upload("flag-high", "p-cheat", TWO, seed=3, score=upload("x", "x", seed=3).score + 1000),
        upload("flag-combo", "p-cheat", TWO, attempt=2, seed=4, best_combo=5, **ios),
        upload("gone", "p-gone", TWO, seed=9, tokens=LONG),
        upload("ai", "p-ai", TWO, seed=10, tokens=LONG, player_kind="ai", nation=None),
    ]
    second = [
        upload("flag-low", "p-cheat", THREE, seed=5, tokens=LONG, score=HONEST - 50, **ios),
        upload("flag-fourth", "p-first", THREE, attempt=4, seed=7, tokens=LONG),
        upload("flag-unknown", "p-second", THREE, seed=3, rules="9.9.9", nation=None),
        upload("odd-short-1", "p-old", THREE, seed=2, tokens=SHORT),
        upload("odd-short-2", "p-third", THREE, seed=2, tokens=SHORT, attempt=2),
        upload("equal-1", "p-first", THREE, seed=11, tokens=LONG),
        upload("equal-2", "p-fourth", THREE, seed=11, tokens=LONG - 1, score=0, nation="DE"),
    ]
    land(lists.root, TWO, "a.ndjson", first)
    land(lists.root, THREE, "b.ndjson", second)
    for day in (TWO, THREE):
        night(lists.root, day, **lists.settings())
    decide(lists.root, "uphold", "flag-high", "the score was edited")
    decide(lists.root, "clear", "flag-low", "our own bug")
    decide(lists.root, "clear", "flag-combo", "looked right then", facts=())
    decide(lists.root, "clear", "odd-copied", "same household")
    return lists


def later(game_id: str, day: Any) -> int:
    """An hour after the upload of a game that ``upload`` made for a day."""
    return upload(game_id, "x", day, seed=5, tokens=LONG).uploaded_at + 3_600_000_000


def decide(root: Path, action: str, game_id: str, reason: str, facts: tuple[str, ...] | None = None) -> None:
    """Take one decision; ``facts`` () is as if nothing had spoken against the game by then."""
    lake = Lake(root)
    with open_reviews(lake) as store:
        row = find_game(lake, game_id)
        item = draft(action, row, store.decisions())
        if facts is not None:
            item = Draft(action, row, facts, item.seen)
        store.decide([item], reviewer="Ada", reason=reason)


def all_rows(root: Path) -> list[dict[str, Any]]:
    """Every row of the list, to hold filters against."""
    with open_reviews(Lake(root)) as store:
        decisions = store.decisions()
    found = query_flags(Lake(root).current_warehouse(), decisions, FlagFilter(), limit=None)
    assert len(found.rows) == found.total
    return found.rows
