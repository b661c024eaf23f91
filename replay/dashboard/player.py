"""Player: what one player uploaded, what it counted for, what speaks against it, and who else sent the same logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from replay.dashboard import views
from replay.dashboard.flags import WORDS, pages
from replay.dashboard.nights import releases_of
from replay.dashboard.player_uploads import attach_same_logs, attach_uploads
from replay.errors import InputError, UsageError, first_line
from replay.flags import FlagFilter, query_flags
from replay.reviews.copies import gather, standing_subjects
from replay.reviews.games import facts_of_row
from replay.reviews.incidents import releases_in_force
from replay.reviews.model import Decision, review_of, subject_of
from replay.reviews.releases import Group, standing_releases

if TYPE_CHECKING:
    import duckdb

    from replay.lake import Lake
    from replay.standings import PlayerState

router = APIRouter()
GAMES_SHOWN, BESTS_SHOWN, FLAGS_SHOWN, LOGS_SHOWN, OTHERS_SHOWN = 50, 30, 100, 30, 10

Row = dict[str, Any]


@dataclass(frozen=True)
class State:
    """What the players table says of an id.

    ``removed`` from play; ``anonymised``: it stands for somebody whose old id is gone; ``replaced``: it is such an old id, under
    which nothing is shown.
    """

    removed: bool = False
    anonymised: bool = False
    replaced: bool = False


@router.get("/player")
def player(request: Request) -> HTMLResponse:
    """One player by id; 404 for one without an upload."""
    given = request.query_params
    if "id" not in given:
        raise UsageError("parameter id is missing, name a player in the address (player?id=NAME)")
    player_id = given["id"]
    page = views.number_parameter(given.get("page"), "page", 1, 1)
    best = views.number_parameter(given.get("bests"), "bests", 1, 1)
    states = _player_states()
    state = _state_of(player_id, states)
    with views.lake_of(request, "verdicts") as lake:
        found = None if state.replaced else _found(request, lake, player_id, page, best)
    if found is None:
        return views.render(request, "player_unknown.html.j2", 404, title="Unknown player", player_id=player_id, state=state)
    for log in found["logs"]:
        log["others"] = [_shown_id(other, states) for other in log["others"]]
        log["first_player_id"] = _shown_id(log["first_player_id"], states)
    # Each of the two pagers keeps the other one's page.
    of_games: Row = {"id": player_id, "bests": best if best > 1 else None}
    of_bests: Row = {"id": player_id, "page": page if page > 1 else None}
    return views.render(
        request, "player.html.j2", title="Player", player_id=player_id, state=state, evident=_evident_length(), **WORDS, **found,
        game_pages=pages("player", of_games, page, GAMES_SHOWN, found["uploads"]["uploads"], at="#games"),
        best_pages=pages("player", of_bests, best, BESTS_SHOWN, found["best_count"], name="bests", at="#bests"),
    )  # fmt: skip


def _shown_id(player_id: str, states: Mapping[str, PlayerState]) -> str:
    """The id under which a player may be named: whoever was anonymised since the last night has a new one already."""
    state = states.get(player_id)
    return state.new_id or player_id if state else player_id


def _player_states() -> dict[str, PlayerState]:
    """The players table, by id."""
    from replay.challenges import SEEDS
    from replay.settings import load_settings
    from replay.standings import load_player_states

    return load_player_states(load_settings().players or SEEDS / "players.csv")


def _state_of(player_id: str, states: Mapping[str, PlayerState]) -> State:
    own = states.get(player_id)
    stands_for = any(state.new_id == player_id and old != player_id for old, state in states.items())
    if own is None:
        return State(anonymised=stands_for)
    # An id that leads on to another one is an old one, whatever became of the new one since.
    return State(removed=own.removed, anonymised=stands_for, replaced=own.new_id is not None and own.new_id != player_id)


def _evident_length() -> int:
    """Moves from which on two equal logs are a sign of anything."""
    from replay.settings import load_settings

    return load_settings().judge().copied_min_choices


def _found(request: Request, lake: Lake, player_id: str, page: int, best: int) -> Row | None:
    """Everything that the page shows; None for a player without an upload."""
    warehouse = views.warehouse(request, lake)
    as_of = views.publication(warehouse)["as_of"]
    # What a night has published but not yet in these standings waits until it is: the page is of one moment.
    days = [day for day in lake.published_days() if as_of is None or day <= as_of]
    if not days:
        return None
    released = standing_releases(releases_in_force(lake, releases_of(lake)))
    uploaded = _uploaded(lake, days, player_id, page, released)
    if uploaded is None:
        return None
    counted = _counted(warehouse, player_id, best)
    related = uploaded.pop("related")
    standing = standing_subjects(related)
    facts = {subject_of(row): facts_of_row(row) for row in related if row["verdict"] != "copy"}
    decisions = _decisions(lake, {*facts, *standing, *counted.pop("subjects")})
    history = gather(decisions, standing)
    for row in uploaded["games"]:
        subject = subject_of(row)
        # A copy's review is that of the upload that stands.
        row["review"] = review_of(history.get(subject, []), facts.get(standing.get(subject, subject), ()))
    flags = query_flags(warehouse, decisions, FlagFilter(player_id=player_id), limit=FLAGS_SHOWN)
    return {**uploaded, **counted, "flags": flags}


def _decisions(lake: Lake, subjects: set[str]) -> list[Decision]:
    from replay.reviews.store import open_reviews

    with open_reviews(lake) as store:
        return store.decisions(subjects) if subjects else []


def _uploaded(lake: Lake, days: list[date], player_id: str, page: int, released: frozenset[Group] = frozenset()) -> Row | None:
    """From the verdict files: the player's uploads in numbers, a page of them, and logs that others uploaded too."""
    from replay.database import connect, held_open, rows_of
    from replay.standings_queries import read_sql

    with _in_one_sentence(lake), held_open(map(lake.verdict_file, days)) as files, connect() as con:
        attach_uploads(con, files, days, player_id, released)
        uploads = rows_of(con.execute(read_sql("pages/player_summary")))[0]
        if not uploads["uploads"]:
            return None
        wanted = {"limit": GAMES_SHOWN, "offset": (page - 1) * GAMES_SHOWN}
        games = rows_of(con.execute(read_sql("pages/player_games"), wanted))
        named = {"game_ids": sorted({row["copy_of"] if row["verdict"] == "copy" else row["game_id"] for row in games})}
        related = rows_of(con.execute(read_sql("pages/player_related"), named))
        attach_same_logs(con, files)
        asked = {"player_id": player_id, "limit": LOGS_SHOWN, "shown": OTHERS_SHOWN}
        logs = rows_of(con.execute(read_sql("pages/player_logs"), asked))
    for row in games:
        row["reasons"] = json.loads(row["reasons"])
    return {"uploads": uploads, "games": games, "related": related, "logs": logs, "log_count": logs[0]["logs"] if logs else 0}


@contextmanager
def _in_one_sentence(lake: Lake) -> Iterator[None]:
    import duckdb

    try:
        yield
    except (OSError, duckdb.Error) as error:
        raise InputError(f"{lake.name}: a verdict file cannot be read ({first_line(error)}), load the page again") from error


def _counted(warehouse: Path, player_id: str, best: int) -> Row:
    """From the standings: nation and kind, places on leaderboards, a page of bests, and the subjects of what is flagged."""
    from replay.standings_queries import open_mart

    with open_mart(warehouse, "flagged_copies", "subject") as con:
        known = _ask(con, "queries/player", player_id=player_id)
        places = _ask(con, "pages/player_boards", player_id=player_id)
        offset = (best - 1) * BESTS_SHOWN
        bests = _ask(con, "pages/player_bests", player_id=player_id, limit=BESTS_SHOWN, offset=offset)
        # A page beyond the last one has no row that tells the number of all.
        first = bests or _ask(con, "pages/player_bests", player_id=player_id, limit=1, offset=0)
        asked = (
            "SELECT subject FROM flagged_games WHERE player_id = $player_id UNION SELECT copy_subject FROM flagged_copies"
            " WHERE subject IN (SELECT subject FROM flagged_games WHERE player_id = $player_id) ORDER BY 1"
        )
        subjects = con.execute(asked, {"player_id": player_id}).fetchall()
    return {
        "counted": known[0] if known else None, "boards": places, "bests": bests, "best_count": first[0]["bests"] if first else 0,
        "subjects": [subject for (subject,) in subjects],
    }  # fmt: skip


def _ask(con: duckdb.DuckDBPyConnection, name: str, **parameters: object) -> list[Row]:
    from replay.database import rows_of
    from replay.standings_queries import read_sql

    return rows_of(con.execute(read_sql(name), parameters))
