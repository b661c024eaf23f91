"""The log of decisions: who decided what about which game, when and why, and what has become of it since."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from replay.dashboard import views
from replay.dashboard.deciding import Told, Words, pager, recorded_of, remembered_reviewer, tell
from replay.errors import InputError, UsageError
from replay.reviews.copies import gather
from replay.reviews.games import facts_of_row
from replay.reviews.model import ACTIONS, Decision
from replay.reviews.releases import group_words, log_lines
from replay.reviews.words import fact_words

if TYPE_CHECKING:
    from replay.lake import Lake

router = APIRouter()
SHOWN = 50
_WORDS = {"uphold": "upheld", "clear": "cleared", "note": "noted", "undo": "undone"}


@dataclass(frozen=True)
class Wanted:
    """Which decisions are wanted; an empty text wishes nothing.  ``id`` is a game's, ``batch`` names those taken together."""

    reviewer: str = ""
    action: str = ""
    game: str = ""
    id: str = ""
    batch: str = ""

    @property
    def any(self) -> bool:
        return self != Wanted()

    def fits(self, decision: Decision) -> bool:
        pairs = (
            (self.reviewer, decision.reviewer), (self.action, decision.action), (self.game, decision.game),
            (self.id, decision.game_id), (self.batch, decision.batch),
        )  # fmt: skip
        return all(wish in ("", value) for wish, value in pairs)


@dataclass(frozen=True)
class Line:
    """A decision in the log: what spoke against the game then (``about``) and what does only since then (``new``), in words."""

    told: Told
    seen: int
    about: list[str]
    new: list[str]


@router.get("/reviews")
def reviews(
    request: Request, reviewer: str = "", action: str = "", game: str = "", id: str = "", batch: str = "", offset: str = ""
) -> Response:
    """Decisions, newest first."""
    from replay.record import GAMES

    wanted = Wanted(reviewer, action, game, id, batch)
    if action and action not in ACTIONS:
        raise UsageError(f"parameter action {views.shown(action)} is no decision, it must be one of {', '.join(ACTIONS)}")
    if game and game not in GAMES:
        raise UsageError(f"parameter game {views.shown(game)} is no game, it must be one of {', '.join(GAMES)}")
    first = views.number_parameter(offset, "offset", 0)
    with views.lake_of(request) as lake:
        return page(request, lake, wanted, first)


def page(
    request: Request, lake: Lake, wanted: Wanted, first: int = 0, status: int = 200, words: Words = Words("", "")
) -> Response:
    """The page of the decisions from ``first`` (0: the newest) on; ``words`` of a form to undo a batch that cannot be taken."""
    from replay.record import GAMES
    from replay.reviews.store import open_reviews

    with open_reviews(lake) as store:
        if wanted.any:
            # A game's decisions are few; of the others all are looked at.
            found = [d for d in store.decisions(game_id=wanted.id or None, newest_first=True) if wanted.fits(d)]
            shown, total = found[first : first + SHOWN], len(found)
        else:
            found = shown = store.decisions(newest_first=True, limit=SHOWN, offset=first)
            total = store.count()
        subjects = {decision.subject for decision in (found if wanted.batch else shown)}
        copies = copies_now(request, lake, subjects)
        known = store.decisions(subjects.union(copies, copies.values()))
        history = gather(known, copies)
        # They are about app versions, not about games: no filter fits them, and they are few.
        released = [] if wanted.any or first else log_lines(store.releases())
    standing = {decision.subject: copies.get(decision.subject, decision.subject) for decision in shown}
    games = games_now(request, lake, set(standing.values()))
    facts = {subject: facts_of_row(games[game]) for subject, game in standing.items() if game in games}
    return views.render(
        request, "reviews.html.j2", status, title="Decisions", wanted=wanted, rows=_lines(shown, history, facts),
        total=total, actions=[(name, _WORDS[name]) for name in ACTIONS], games=GAMES, words=words,
        reviewer=words.reviewer or remembered_reviewer(request),
        recorded=recorded_of(request, lake, found, known) if wanted.batch else None,
        batch_standing=len(still_newest(found, history)) if wanted.batch else 0,
        pager=pager("reviews", asdict(wanted), first, SHOWN, total), released=released[:SHOWN],
        released_more=max(len(released) - SHOWN, 0), group_words=group_words,
    )  # fmt: skip


def _lines(
    shown: Sequence[Decision], history: dict[str, list[Decision]], facts: dict[str, tuple[str, ...]]
) -> list[Line]:
    told = {subject: tell(history[subject], facts.get(subject, ())) for subject in {d.subject for d in shown}}
    newest = {subject: max(d.id for d in history[subject]) for subject in told}
    return [
        Line(
            found := told[d.subject][d.id], newest[d.subject], [fact_words(fact) for fact in d.facts],
            [fact_words(fact) for fact in found.new_facts],
        )
        for d in shown
    ]


def still_newest(batch: Sequence[Decision], history: dict[str, list[Decision]]) -> list[Decision]:
    """Those decisions of a batch that nobody has followed on their games."""
    newest = {subject: max(d.id for d in decisions) for subject, decisions in history.items()}
    return [decision for decision in batch if newest[decision.subject] == decision.id]


def copies_now(request: Request, lake: Lake, subjects: Collection[str]) -> dict[str, str]:
    """By the subject of each copy that of the upload that stands, of the games that these are published uploads of."""
    from replay.flags import standing_in
    from replay.standings_queries import open_mart

    try:
        with open_mart(views.warehouse(request, lake), "flagged_copies", "subject") as con:
            return standing_in(con, subjects)
    except InputError:
        return {}


def games_now(request: Request, lake: Lake, subjects: Collection[str]) -> dict[str, dict[str, Any]]:
    """What the published standings know of these subjects: day, source_file, source_line, reasons, suspicions, verdict, score and
    attempt_key, by subject; one that nothing speaks against is not in it."""
    from replay.database import rows_of
    from replay.standings import open_warehouse, read_sql

    if not subjects:
        return {}
    try:
        path = views.warehouse(request, lake)
    except InputError:
        # Decisions outlive the standings that they were taken on.
        return {}
    with open_warehouse(path) as con:
        rows = rows_of(con.execute(read_sql("pages/reviewed_games"), {"subjects": sorted(subjects)}))
    return {row["subject"]: row for row in rows}
