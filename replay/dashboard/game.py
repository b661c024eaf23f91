"""The Game page: one upload, what its night and its replay say, what people decided about it, and the board player."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from replay.dashboard import views
from replay.dashboard.access import reader
from replay.dashboard.deciding import ACTIONS, Told, facts_key, recorded_of, remembered_reviewer, tell
from replay.dashboard.hints import clock_words, noted_under, number_of
from replay.dashboard.traces import KEPT, Judged, Trace, Window, draw, file_state, place_of, row_key, window_of
from replay.errors import InputError, UsageError
from replay.games import NAMES
from replay.reviews.games import SameGame, facts_of_row, same_game
from replay.reviews.model import Review, counts, review_of, why_not_counted
from replay.reviews.words import fact_lines, state_words
from replay.words import visible

if TYPE_CHECKING:
    from replay.challenges import ChallengeTable
    from replay.lake import Lake
    from replay.lookup import Uploads
    from replay.reviews.releases import Release
    from replay.rulebook import Rulebook
    from replay.standings import PlayerState
    from replay.verdict import JudgeSettings

router = APIRouter()
UPLOADS_SHOWN = 50
Text = Annotated[str | None, Query()]


@dataclass(frozen=True)
class Asked:
    """The upload that an address names: by its game's id, and ``day``, ``file`` and ``line`` where several have it."""

    id: str | None
    day: str | None
    file: str | None
    line: str | None

    def find(self, lake: Lake) -> tuple[Uploads, dict[str, Any]]:
        """All uploads under the id, and the one that is meant: the first of those that fit.

        Raises UsageError when nothing is named, and InputError when no upload fits.
        """
        from replay.lookup import find_place, find_uploads

        day, line = views.day_parameter(self.day), views.number_parameter(self.line, "line", 0) or None
        if self.id:
            uploads = find_uploads(lake, self.id)
        elif day and self.file is not None and line:
            # An id may be an empty text, or not be known at all.
            uploads = find_place(lake, day, self.file, line)
        else:
            raise UsageError("name a game by its id, or an upload by day, file and line: game?id=…")
        wanted = {"day": day, "source_file": self.file or None, "source_line": line}
        for row in (*uploads.rows, *uploads.quarantined):
            if all(value is None or row[name] == value for name, value in wanted.items()):
                return uploads, row
        if uploads.rows or uploads.quarantined:
            raise InputError(f"no upload of game {views.shown(self.id)} lies there, open it without day, file and line")
        named = f"a game {views.shown(self.id)}" if self.id else f"line {line} of a file {views.shown(self.file)}"
        raise InputError(f"{lake.name}: no published day has {named}, check the address and that its night has run")


@dataclass(frozen=True)
class Tables:
    """The reference tables of a request; ``made_from`` is what they were read from, to be compared only."""

    judge: JudgeSettings
    rulebook: Rulebook
    challenges: ChallengeTable
    players: Mapping[str, PlayerState]
    made_from: tuple[object, ...]

    def player(self, player_id: str) -> str:
        """The id that a player may be shown under."""
        state = self.players.get(player_id)
        return (state.new_id or player_id) if state else player_id


def read_tables() -> Tables:
    """The tables that the settings name, as they are now.  Raises ReferenceDataError and UsageError."""
    from replay.challenges import SEEDS
    from replay.rulebook import load_rulebook
    from replay.settings import load_settings

    settings = load_settings()
    rulebook = load_rulebook(settings.rules, lazy=True)
    rules = tuple(sorted(rulebook.hashes.items()))
    challenges = settings.challenges or SEEDS / "challenges.csv"
    players = settings.players or SEEDS / "players.csv"
    states = tuple(file_state(path) if path.exists() else str(path) for path in (challenges, players))
    table = _challenges(challenges, settings.rules, states[0], rules)
    return Tables(settings.judge(), rulebook, table, _players(players, states[1]), (rules, *states))


@lru_cache(maxsize=2)
def _challenges(path: Path, rules: Path | None, state: object, hashes: object) -> ChallengeTable:
    from replay.challenges import load_challenges
    from replay.rulebook import load_rulebook

    return load_challenges(path, load_rulebook(rules, lazy=True), lazy=True)


@lru_cache(maxsize=2)
def _players(path: Path, state: object) -> Mapping[str, PlayerState]:
    from replay.standings import load_player_states

    return load_player_states(path)


# --- The page ------------------------------------------------------------------------------------------------------------


@router.get("/game")
def game(
    request: Request, id: Text = None, day: Text = None, file: Text = None, line: Text = None,
    first: Annotated[str | None, Query(alias="from")] = None, last: Annotated[str | None, Query(alias="to")] = None,
) -> Response:  # fmt: skip
    """One upload; of several under an id the one that stands, with links to the others."""
    window = window_of(_move(first, "from"), _move(last, "to"))
    with views.lake_of(request, "verdicts", "quarantine", "runs") as lake:
        uploads, row = Asked(id, day, file, line).find(lake)
        tables = read_tables()
        uploads, row, release = _after_releases(lake, uploads, row)
        shared: dict[str, Any] = {
            "uploads": _listed(uploads, row, tables), "left_out": _left_out(uploads), "page": "flags", "query": views.query,
        }  # fmt: skip
        title = f"Game {visible(str(row['game_id']))}"
        if "verdict" not in row:
            return views.render(request, "game_aside.html.j2", title=title, row=row, **shared)
        trace, problem = _trace(lake, row, tables, window)
        return views.render(
            request, "game_page.html.j2", title=title, row=row, trace=trace, problem=problem,
            **_told(row, trace, tables, noted_under(lake, row["day"], tables.judge)),
            **_review(request, lake, row), **shared, release=release,
            command=_command(row, uploads, request.app.state.settings.lake),
        )  # fmt: skip


def _after_releases(
    lake: Lake, uploads: Uploads, row: dict[str, Any]
) -> tuple[Uploads, dict[str, Any], Release | None]:
    """The uploads and the one of the page as people released them, and the release that the latter's flag stands by."""
    from replay.reviews.incidents import releases_in_force
    from replay.reviews.releases import as_released, group_of, standing_by_group
    from replay.reviews.store import open_reviews

    if all(other["verdict"] != "withheld" for other in uploads.rows):
        return uploads, row, None
    with open_reviews(lake) as store:
        standing = standing_by_group(releases_in_force(lake, store.releases()))
    rows = [as_released(other, standing) for other in uploads.rows]
    # The page's own row is known by being that object.
    found = next((new for old, new in zip(uploads.rows, rows, strict=True) if old is row), row)
    release = standing.get(group_of(row)) if row.get("verdict") == "withheld" else None
    return replace(uploads, rows=rows), found, release


def _move(text: str | None, name: str) -> int | None:
    return views.number_parameter(text, name, 0, least=1) or None


def _trace(lake: Lake, row: dict[str, Any], tables: Tables, window: Window) -> tuple[Trace | None, str | None]:
    """The drawn game, or why there is none: its landed file is gone or another one."""
    landed = lake.landed(row["day"]).get(row["source_file"])
    key = (lake.name, row_key(row), tables.player(row["player_id"]), landed)
    kept = KEPT.find(tables.made_from, (key, window))
    if isinstance(kept, Trace):
        return kept, None
    judged = KEPT.find(tables.made_from, key)
    if not isinstance(judged, Judged):
        try:
            judged = _judged(lake, row, tables)
        except InputError as error:
            return None, str(error)
        if landed is not None:
            KEPT.keep(tables.made_from, key, judged)
    trace = draw(judged, window)
    if landed is not None:
        KEPT.keep(tables.made_from, (key, window), trace)
    return trace, None


def _judged(lake: Lake, row: dict[str, Any], tables: Tables) -> Judged:
    """Read and replay an upload.  Raises InputError."""
    from replay.published import look_again
    from replay.trace import Dispute

    found = look_again(lake, row, tables.rulebook, tables.challenges)
    record = replace(found.record, player_id=tables.player(row["player_id"]))
    challenge = tables.challenges.find(record.game, record.challenge)
    rules = tables.rulebook.find(record.game, record.rules)
    return Judged(replace(found, record=record), Dispute(record, found.verdict, rules, challenge))


def _told(row: dict[str, Any], trace: Trace | None, tables: Tables, limits: JudgeSettings) -> dict[str, Any]:
    """What a page says of a game in words, and its facts; ``limits`` are those of its night."""
    from replay.published import as_published

    if trace is not None:
        proof, unusual = trace.proof, trace.unusual
    else:
        from replay.words import words

        verdict = as_published(row, tables.rulebook)
        every = words(verdict, tables.rulebook.find(row["game"], row["rules"]))
        signs = len(verdict.suspicions)
        proof, unusual = every[: len(every) - signs], every[len(every) - signs :]
    numbers = [number_of(code, row, limits) for code in row["suspicions"]]
    return {
        "headline": _HEADLINES[row["verdict"]], "proof": proof, "unusual": list(zip(unusual, numbers, strict=True)),
        "player_id": tables.player(row["player_id"]), "styled": row["game"] if row["game"] in NAMES else None,
        "log_hash": f"{row['log_hash_high']:016x}{row['log_hash_low']:016x}", "upload_key": f"{row['upload_key']:016x}",
        "place": place_of(row), "clock": clock_words(row),
    }  # fmt: skip


# Verdict in a word, with its sign and the class of its chip.
_HEADLINES = {
    "verified": ("good", "✓ verified"), "flagged": ("bad", "✕ flagged"), "copy": ("quiet", "= copy of another upload"),
    "withheld": ("warn", "… held back: the app version looks broken"),
}  # fmt: skip


# --- Review --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A decision of the history, with what it changed in words."""

    told: Told
    new: list[str]


def _review(request: Request, lake: Lake, row: dict[str, Any]) -> dict[str, Any]:
    """How the review of an upload stands, its history (newest first), and what may be decided now."""
    from replay.reviews.store import may_have_reviews, open_reviews

    # A copy's page tells how the review of the upload stands that counts in its place.
    same = same_game(lake, row) if may_have_reviews(lake) else SameGame(row, ())
    facts = facts_of_row(same.row)
    with open_reviews(lake) as store:
        decisions = store.decisions(same.subjects)
    review = review_of(decisions, facts)
    told = tell(decisions, facts)
    person = reader(request)
    history = [
        Line(told[d.id], fact_lines(told[d.id].new_facts)) for d in sorted(decisions, key=lambda d: d.id, reverse=True)
    ]  # fmt: skip
    is_copy = row["verdict"] == "copy"
    actions = [(name, words) for name, words in ACTIONS if facts or name == "note"]
    return {
        "review": review, "state": _STATES[review.state] if facts or review.decision else None,
        "stands": _capital(state_words(review)), "changed": _changed(review, facts), "history": history,
        "seen": max((decision.id for decision in decisions), default=0), "facts_key": facts_key(facts),
        "decides": person.may_decide and not is_copy, "actions": actions,
        "futile": why_not_counted(row) if row["verdict"] in ("flagged", "withheld") and not row["counted"] else None,
        "counted": counts(row, review), "reviewer": remembered_reviewer(request),
        "recorded": recorded_of(request, lake, decisions, decisions, row),
    }  # fmt: skip


# A review's state, with the class of its chip.
_STATES = {
    "open": ("warn", "! nobody has decided"), "upheld": ("bad", "✕ upheld"), "cleared": ("good", "✓ cleared"),
    "returned": ("warn", "↺ returned"),
}  # fmt: skip


def _changed(review: Review, facts: Sequence[str]) -> list[str]:
    """What speaks against the game now and did not when it was decided, and the other way round."""
    if review.decision is None or (not review.new_facts and set(facts) == set(review.decision.facts)):
        return []
    return [line for line in fact_lines(facts, review.decision) if line.endswith((" (new)", " (no longer)"))]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- Other uploads, the record -------------------------------------------------------------------------------------------


def _listed(uploads: Uploads, row: Mapping[str, Any], tables: Tables) -> list[dict[str, Any]]:
    """The uploads under the id as a table shows them, the one of the page marked."""
    out = []
    for other in (*uploads.rows, *uploads.quarantined)[:UPLOADS_SHOWN]:
        judged = "verdict" in other
        out.append({
            "place": place_of(other), "verdict": _HEADLINES[other["verdict"]] if judged else ("warn", "? set aside"),
            "day": other["day"], "file": other["source_file"], "line": other["source_line"], "here": other is row,
            "player": tables.player(other["player_id"]) if judged else None, "score": other["score"] if judged else None,
            "uploaded_at": other["uploaded_at"] if judged else None, "copy_of": other["copy_of"] if judged else None,
        })  # fmt: skip
    return out


def _left_out(uploads: Uploads) -> int:
    return max(0, len(uploads.rows) + len(uploads.quarantined) - UPLOADS_SHOWN)


def _command(row: Mapping[str, Any], uploads: Uploads, lake: str) -> str | None:
    """The command that replays the game elsewhere; None for an id, or a name of its file, that cannot be typed."""
    game_id, file = str(row["game_id"]), str(row["source_file"])
    # Without more words the command shows the upload that stands.
    is_other = bool(uploads.rows) and uploads.rows[0] is not row
    typed = game_id + lake + (file if is_other else "")
    if not game_id or not typed.isascii() or not typed.isprintable() or len(game_id) > 200:
        return None
    place = f" --day {row['day']} --file={shlex.quote(file)} --line {row['source_line']}" if is_other else ""
    dashes = "-- " if game_id.startswith("-") else ""
    return f"replay game --lake {shlex.quote(lake)} --html game.html{place} {dashes}{shlex.quote(game_id)}"


@router.get("/game.json")
def record(request: Request, id: Text = None, day: Text = None, file: Text = None, line: Text = None) -> Response:
    """The record as it was uploaded, as a file that ``replay game`` reads; an anonymised player's id is the new one."""
    from replay.lookup import read_uploaded
    from replay.published import record_object

    with views.lake_of(request, "verdicts", "quarantine") as lake:
        _, row = Asked(id, day, file, line).find(lake)
        if "verdict" not in row:
            raise InputError(f"game {views.shown(row['game_id'])} was set aside, so there is no record of it to hand out")
        found = replace(read_uploaded(lake, row), player_id=read_tables().player(row["player_id"]))
    # What is no plain letter in an id must not become a header or a path.
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", found.game_id)[:60].strip("-") or "record"
    return Response(
        json.dumps(record_object(found), indent=1) + "\n", media_type="application/json",
        headers={"content-disposition": f'attachment; filename="game-{name}.json"'},
    )  # fmt: skip
