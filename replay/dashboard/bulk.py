"""Deciding on all games of a filter at once: first what would happen, then exactly that, or nothing."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from replay.dashboard import review_log, views
from replay.dashboard.access import Person, decider
from replay.dashboard.deciding import (
    ACTIONS,
    Words,
    remember_reviewer,
    remembered_reviewer,
    see_other,
    sentence,
    words_of,
)
from replay.dashboard.forms import own_form
from replay.errors import DecidedMeanwhile, UsageError
from replay.flags import FlagFilter, filter_words, history_in, parse_filter, query_flags
from replay.present import short_reason
from replay.reviews.games import copies_among, facts_of_row, undo_draft
from replay.reviews.model import Decision, why_not_counted

if TYPE_CHECKING:
    from replay.lake import Lake
    from replay.moves import Moves
    from replay.reviews.drafts import Draft
    from replay.reviews.store import ReviewStore

router = APIRouter()
SHOWN = 20
_DONE = {"uphold": "upheld", "clear": "cleared"}
_DO = {"uphold": "Uphold", "clear": "Clear", "note": "Leave a note on"}


@dataclass(frozen=True)
class Selection:
    """The games of a filter that an action would be decided on.

    ``total`` games fit; ``skipped`` and ``futile`` (cleared, yet not counted) are (why, games), most first.  ``digest`` is of the
    action, the subjects, what speaks against them and the newest decision on each; ``through`` the newest decision of all and
    ``standings`` the name of the warehouse when it was made.  ``every`` are the subjects of all that fit.
    """

    action: str
    total: int
    drafts: list[Draft]
    skipped: list[tuple[str, int]]
    futile: list[tuple[str, int]]
    digest: str
    through: int
    standings: str
    sample: list[dict[str, Any]] = field(default_factory=list)

    @property
    def games(self) -> int:
        return len(self.drafts)


@dataclass(frozen=True)
class Seen:
    """The selection that somebody looked at, as their form says."""

    digest: str
    games: int
    through: int
    standings: str


# --- The preview ---------------------------------------------------------------------------------------------------------


@router.get("/bulk")
def preview(request: Request, person: Annotated[Person, Depends(decider)], action: str = "") -> Response:
    """How many games fit, and, once an action is chosen, what deciding it on all of them would move."""
    from replay.reviews.store import open_reviews

    if action and action not in dict(ACTIONS):
        raise UsageError(f"parameter action {views.shown(action)} is no decision, it must be one of {', '.join(dict(ACTIONS))}")
    wanted = parse_filter(dict(request.query_params))
    with views.lake_of(request, "verdicts", "runs") as lake, open_reviews(lake) as store:
        return _page(request, lake, store, wanted, action)


def _page(
    request: Request, lake: Lake, store: ReviewStore, wanted: FlagFilter, action: str, status: int = 200, problem: str = "",
    meanwhile: Sequence[Decision] = (), words: Words = Words("", ""),
) -> Response:  # fmt: skip
    conditions = filter_words(wanted)
    selection = select(request, lake, store, wanted, action) if action else None
    if selection is None:
        total = query_flags(views.warehouse(request, lake), store.decisions(), wanted, limit=0).total
    else:
        total = selection.total
    moves = _moves(lake, selection) if selection is not None and action != "note" else None
    games = "it" if selection is not None and selection.games == 1 else f"these {selection.games if selection else 0:,} games"
    return views.render(
        request, "bulk.html.j2", status, title="Decide on many games", conditions=[
            (name.replace("_", " "), value) for name, value in conditions.items()
        ], hidden=list(conditions.items()), address=views.query(**conditions), total=total, actions=ACTIONS, action=action,
        selection=selection, moves=moves, sentence=problem, meanwhile=meanwhile[:SHOWN],
        meanwhile_more=max(len(meanwhile) - SHOWN, 0), button=f"{_DO.get(action, '')} {games}", words=words,
        reviewer=words.reviewer or remembered_reviewer(request),
    )  # fmt: skip


def select(request: Request, lake: Lake, store: ReviewStore, wanted: FlagFilter, action: str) -> Selection:
    """The games of a filter, as they are decided and published now."""
    from replay.reviews.drafts import Draft

    decisions = store.decisions()
    warehouse = views.warehouse(request, lake)
    page = query_flags(warehouse, decisions, wanted, limit=None)
    rows = page.rows
    known = review_log.games_now(request, lake, {row["subject"] for row in rows})
    chosen: dict[str, tuple[dict[str, Any], Draft]] = {}
    skipped, futile = Counter[str](), Counter[str]()
    for row in rows:
        why = _why_skipped(action, row)
        if why is None and row["subject"] in chosen:
            why = "the same upload landed more than once, it is decided on once"
        if why is not None:
            skipped[why] += 1
            continue
        found = page.history.get(row["subject"], [])
        seen = max((decision.id for decision in found), default=0)
        copies = copies_among(row["subject"], found)
        chosen[row["subject"]] = row, Draft(action, row, facts_of_row(row), seen, others=copies)
        not_counted = why_not_counted(row | known[row["subject"]]) if action == "clear" else None
        if not_counted is not None:
            futile[not_counted] += 1
    return Selection(
        action, len(rows), [draft for _, draft in chosen.values()], skipped.most_common(), futile.most_common(),
        _digest(action, [draft for _, draft in chosen.values()]), max((d.id for d in decisions), default=0), warehouse.name,
        [row | {"why": _why(row)} for row, _ in list(chosen.values())[:SHOWN]],
    )  # fmt: skip


def _why_skipped(action: str, row: Mapping[str, Any]) -> str | None:
    """Why a decision would say nothing new, as half a sentence."""
    state = {"uphold": "upheld", "clear": "cleared"}.get(action)
    review = row["review"]
    if review.state != state or review.new_facts:
        return None
    return f"already {state}, and nothing new speaks against it since"


def _why(row: Mapping[str, Any]) -> str:
    """What speaks against a game, in a few words."""
    return "; ".join([*(short_reason(reason) for reason in row["reasons"]), *(f"looks unusual: {s}" for s in row["suspicions"])])


def _digest(action: str, drafts: Sequence[Draft]) -> str:
    """A hash that is another one when any game, what speaks against it, or what was decided about it is another one."""
    parts = sorted((draft.subject, draft.seen, list(draft.facts)) for draft in drafts)
    return hashlib.sha256(json.dumps([action, parts]).encode("utf-8")).hexdigest()


def _moves(lake: Lake, selection: Selection) -> Moves | None:
    """What the decisions would move in the standings of now."""
    from replay.moves import what_would_move
    from replay.settings import load_settings

    if not selection.drafts:
        return None
    return what_would_move(lake, load_settings().night(), selection.drafts, limit=SHOWN)


# --- Deciding ------------------------------------------------------------------------------------------------------------


async def form_fields(request: Request) -> dict[str, str]:
    """A form's fields by name."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


@router.post("/bulk", dependencies=[Depends(own_form)])
def decide_all(
    request: Request, person: Annotated[Person, Depends(decider)], fields: Annotated[dict[str, str], Depends(form_fields)]
) -> Response:
    """Decide on exactly the games that were looked at; when they are others by now, on none, and show what they are."""
    from replay.reviews.store import open_reviews

    words = words_of(person, fields.get("reason", ""), fields.get("reviewer", ""))
    action = fields.get("action", "")
    if action not in dict(ACTIONS):
        raise UsageError(f"field action {views.shown(action)} is no decision, it must be one of {', '.join(dict(ACTIONS))}")
    # One field for the whole filter: it may ask for a reason, and the decision has one too.
    wanted = parse_filter(dict(parse_qsl(fields.get("filter", ""))))
    seen = Seen(
        fields.get("digest", ""), views.number_parameter(fields.get("games"), "games", 0),
        views.number_parameter(fields.get("through"), "through", 0), fields.get("standings", ""),
    )  # fmt: skip
    with views.lake_of(request, "verdicts", "runs") as lake, open_reviews(lake) as store:
        if words.problem is not None:
            return _page(request, lake, store, wanted, action, 400, words.problem[1], words=words)
        selection = select(request, lake, store, wanted, action)
        try:
            if selection.digest != seen.digest or not selection.drafts:
                raise DecidedMeanwhile(_what_changed(seen, selection, store))
            made = store.decide(selection.drafts, reviewer=words.reviewer, reason=words.reason)
        except DecidedMeanwhile as error:
            since = _since(request, lake, store, wanted, seen)
            made = _the_same(since, action, words, seen)
            if not made:
                return _page(request, lake, store, wanted, action, 409, sentence(error), since, words)
    return _led_on(request, person, words, made)


def _led_on(request: Request, person: Person, words: Words, made: Sequence[Decision]) -> Response:
    """To what was just recorded."""
    first = made[0]
    if first.batch is None:
        answer = see_other("game", id=first.game_id, day=first.day, recorded=first.id)
    else:
        answer = see_other("reviews", batch=first.batch, recorded=first.id)
    remember_reviewer(request, answer, person, words.reviewer)
    return answer


def _what_changed(seen: Seen, selection: Selection, store: ReviewStore) -> str:
    """One sentence: how the games differ from those that were looked at."""
    changes = []
    decided = sum(decision.id > seen.through for decision in store.decisions())
    if decided:
        changes.append(f"{decided:,} decision{'' if decided == 1 else 's'} came after it")
    if selection.standings != seen.standings:
        changes.append("other standings were published after it")
    if selection.games != seen.games:
        changes.append(f"it had {seen.games:,} games to decide on, now there are {selection.games:,}")
    told = ", ".join(changes) or "its games, or what speaks against them, are others now"
    return f"The list is not the one that you looked at: {told}; look at it again and press the button once more"


def _since(request: Request, lake: Lake, store: ReviewStore, wanted: FlagFilter, seen: Seen) -> list[Decision]:
    """What was decided, after the list was looked at, on games that fit or would fit if it had not been; newest first."""
    decisions = store.decisions(newest_first=True)
    # Who decides on a game may take it out of a filter on states.
    page = query_flags(views.warehouse(request, lake), decisions, replace(wanted, state=None), limit=None)
    fitting = {decision.id for row in page.rows for decision in page.history.get(row["subject"], ())}
    return [decision for decision in decisions if decision.id > seen.through and decision.id in fitting]


def _the_same(since: Sequence[Decision], action: str, words: Words, seen: Seen) -> list[Decision]:
    """What this very form recorded when it was sent a first time (a double click); empty when it did not."""
    said = (action, words.reason, words.reviewer)
    found = [decision for decision in since if (decision.action, decision.reason, decision.reviewer) == said]
    whole = len(found) == len(since) == seen.games and len({decision.batch for decision in found}) == 1
    return sorted(found, key=lambda decision: decision.id) if whole else []


def undo_batch(request: Request, person: Person, batch: str, words: Words) -> Response:
    """Take back those decisions of a batch that are still the newest on their games; the others somebody decided on since."""
    from replay.reviews.store import open_reviews

    with views.lake_of(request) as lake, open_reviews(lake) as store:
        every = store.decisions()
        found = [decision for decision in every if decision.batch == batch]
        history = history_in(lake, every)
        still = review_log.still_newest(found, history)
        if not still:
            raise UsageError("none of these decisions stands any more, so nothing can be undone; see all decisions")
        if words.problem is not None:
            return review_log.page(request, lake, review_log.Wanted(batch=batch), status=400, words=words)
        drafts = [undo_draft(one, [one], copies_among(one.subject, history[one.subject])) for one in still]
        made = store.decide(drafts, reviewer=words.reviewer, reason=words.reason)
    return _led_on(request, person, words, made)
