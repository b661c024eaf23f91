"""Leaderboards: the published standings as they are, of a game's all time or month, of one day's challenge, and of the week."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from replay.dashboard import views
from replay.dashboard.flags import WORDS, Link, pages
from replay.errors import UsageError
from replay.record import GAMES, nations

if TYPE_CHECKING:
    import duckdb

router = APIRouter()
PAGE_ROWS = 50
SCOPES = ("world", "nation", "day", "digest")
# So many days can be chosen; an older one by its address.
_DAYS_LISTED = 400

Row = dict[str, Any]


@dataclass(frozen=True)
class Wish:
    """Which ranking an address asks for; ``game`` None is the first that was played, ``challenge`` None the newest."""

    game: str | None
    scope: str
    nation: str | None
    month: str | None
    challenge: str | None
    page: int


@dataclass(frozen=True)
class Ranking:
    """One page of a ranking: its heading, rows, how many rows all pages have, and what they were made from (None: unknown)."""

    heading: str
    rows: list[Row]
    total: int
    basis: Row | None


def read_wish(request: Request) -> Wish:
    """The wish of an address.  Raises UsageError for a board that cannot be."""
    given = request.query_params
    game, nation, month, challenge = (given.get(name) or None for name in ("game", "nation", "month", "challenge"))
    implied = "day" if challenge else "nation" if nation else "world"
    scope = given.get("scope") or implied
    if game is not None and game not in GAMES:
        raise UsageError(f"parameter game {views.shown(game)} is no game, it must be one of {', '.join(GAMES)}")
    if scope not in SCOPES:
        raise UsageError(f"parameter scope {views.shown(scope)} is no leaderboard, it must be one of {', '.join(SCOPES)}")
    if nation is not None and nation not in nations():
        raise UsageError(f"parameter nation {views.shown(nation)} is no nation, write the two capital letters of ISO 3166-1")
    if month is not None and not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", month):
        raise UsageError(f"parameter month {views.shown(month)} is no month, write it as YYYY-MM")
    if scope == "nation" and nation is None:
        raise UsageError("parameter scope is nation, name the nation too, like nation=FR")
    if scope == "world" and nation is not None:
        raise UsageError(f"parameter scope is world and nation is {nation}, leave one of the two out")
    if (nation or month) and scope in ("day", "digest"):
        raise UsageError("a day's challenge and the weekly digest are the world's, leave nation and month out")
    if challenge is not None and scope != "day":
        raise UsageError(f"parameter challenge {views.shown(challenge)} is for a day's ranking, leave it or scope out")
    return Wish(game, scope, nation, month, challenge, views.number_parameter(given.get("page"), "page", 1, 1, 10**7))


@router.get("/boards")
def boards(request: Request) -> HTMLResponse:
    """One page of one ranking, and what else there is to choose."""
    wish = read_wish(request)
    with views.lake_of(request) as lake:
        found = _found(views.warehouse(request, lake), wish)
    game, challenge, ranking = found["game"], found["challenge"], found["ranking"]
    words = {"game": game, "scope": None if wish.scope in ("world", "nation") or challenge else wish.scope, "nation": wish.nation,
             "month": wish.month, "challenge": challenge}  # fmt: skip
    return views.render(
        request, "boards.html.j2", title="Leaderboards", wish=wish, **found, **WORDS, tabs=_tabs(game, wish.scope),
        pager=pages("boards", words, wish.page, PAGE_ROWS, ranking.total),
    )  # fmt: skip


def _tabs(game: str, scope: str) -> list[Link]:
    of_scope = {"world": "Leaderboard", "day": "One day", "digest": "Week"}
    current = "world" if scope == "nation" else scope
    return [
        Link("boards" + views.query(game=game, scope=None if name == "world" else name), words, current=name == current)
        for name, words in of_scope.items()
    ]


def _found(warehouse: Path, wish: Wish) -> Row:
    """Everything that the page shows, from one connection."""
    from replay.standings_queries import open_warehouse

    with open_warehouse(warehouse) as con:
        periods = _ask(con, "queries/periods", game=None)
        played = list(dict.fromkeys(row["game"] for row in periods))
        game = wish.game or next((name for name in GAMES if name in played), GAMES[0])
        periods = [row for row in periods if row["game"] == game]
        challenges = _ask(con, "queries/challenges", game=game, limit=_DAYS_LISTED, offset=0)
        of_nations = _ask(con, "pages/boards_nations", game=game, month=wish.month)
        challenge = None
        if wish.scope == "day":
            challenge = wish.challenge or next((row["challenge"] for row in challenges), None)
            ranking = _day(con, game, challenge, wish.page, challenges)
        elif wish.scope == "digest":
            ranking = _digest(con, game, wish.page, periods)
        else:
            ranking = _board(con, game, wish, periods, of_nations)
    return {
        "game": game, "games": GAMES, "played": played, "periods": periods, "challenges": challenges, "nations": of_nations,
        "challenge": challenge, "ranking": ranking,
    }  # fmt: skip


def _board(con: duckdb.DuckDBPyConnection, game: str, wish: Wish, periods: list[Row], of_nations: list[Row]) -> Ranking:
    offset = (wish.page - 1) * PAGE_ROWS
    board = {"game": game, "scope": wish.scope, "nation": wish.nation, "month": wish.month}
    rows = _ask(con, "pages/boards_rows", **board, limit=PAGE_ROWS, offset=offset)
    people = next((row["people"] for row in of_nations if row["nation"] == wish.nation), 0)
    basis = next((row for row in periods if row["month"] == wish.month), None)
    return Ranking(f"{wish.nation or 'World'}, {wish.month or 'all time'}", rows, people, basis)


def _day(con: duckdb.DuckDBPyConnection, game: str, challenge: str | None, page: int, challenges: list[Row]) -> Ranking:
    if challenge is None:
        return Ranking("No challenge yet", [], 0, None)
    offset = (page - 1) * PAGE_ROWS
    rows = _ask(con, "pages/boards_day", game=game, challenge=challenge, limit=PAGE_ROWS, offset=offset)
    if not rows and offset:
        # A page beyond the last one: the first one tells how many there are.
        first = _ask(con, "pages/boards_day", game=game, challenge=challenge, limit=1, offset=0)
        total = first[0]["ranked"] if first else 0
    else:
        total = rows[0]["ranked"] if rows else 0
    if challenge not in {row["challenge"] for row in challenges}:
        challenges = _ask(con, "queries/challenges", game=game, limit=10**6, offset=0)
    basis = next((row for row in challenges if row["challenge"] == challenge), None)
    return Ranking(f"Challenge of {challenge}", rows, total, basis)


def _digest(con: duckdb.DuckDBPyConnection, game: str, page: int, periods: list[Row]) -> Ranking:
    offset = (page - 1) * PAGE_ROWS
    rows = _ask(con, "pages/boards_digest", game=game, limit=PAGE_ROWS, offset=offset)
    first = rows or (_ask(con, "pages/boards_digest", game=game, limit=1, offset=0) if offset else [])
    heading = f"Totals of all time on Sunday {first[0]['sunday']}" if first else "Weekly digest"
    basis = next((row for row in periods if row["month"] is None), None)
    return Ranking(heading, rows, first[0]["people"] if first else 0, basis)


def _ask(con: duckdb.DuckDBPyConnection, name: str, **parameters: object) -> list[Row]:
    from replay.database import rows_of
    from replay.standings_queries import read_sql

    return rows_of(con.execute(read_sql(name), parameters))
