"""Deciding in the browser: one game, undoing, and taking the decisions into the standings at once.

The log of decisions (``review_log``) and deciding on many games (``bulk``) are routes of this router too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from replay.dashboard import bulk, review_log, views
from replay.dashboard.access import Person, decider
from replay.dashboard.app import status_of
from replay.dashboard.deciding import (
    ACTIONS,
    Field,
    Words,
    facts_key,
    remember_reviewer,
    remembered_reviewer,
    see_other,
    sentence,
    words_of,
)
from replay.dashboard.forms import own_form
from replay.errors import DecidedMeanwhile, NightRunning, ReplayError, UsageError
from replay.reviews.games import facts_of_row, game_of, same_game
from replay.reviews.model import Decision, review_of, subject_of
from replay.reviews.words import fact_words, state_words

if TYPE_CHECKING:
    from replay.lake import Lake
    from replay.reviews.store import ReviewStore

router = APIRouter()
router.include_router(review_log.router)
router.include_router(bulk.router)


@dataclass
class Form:
    """A form as it came in, to be carried out or to be shown again.

    ``facts`` is the ``facts_key`` of what its page showed ("": the form does not say); ``row`` is the game, ``others`` are the
    subjects of its other uploads and ``undoes`` the decision to take back, once they were found; ``changed`` is what speaks
    against the game now, when that is something else.
    """

    target: str
    hidden: dict[str, str]
    words: Words
    action: str
    seen: int
    facts: str = ""
    row: dict[str, Any] | None = None
    others: tuple[str, ...] = ()
    undoes: Decision | None = None
    changed: list[str] = field(default_factory=list)


# --- One game ------------------------------------------------------------------------------------------------------------


@router.post("/decide", dependencies=[Depends(own_form)])
def decide(
    request: Request, person: Annotated[Person, Depends(decider)], id: Field = "", day: Field = "", file: Field = "",
    line: Field = "", action: Field = "", reason: Field = "", reviewer: Field = "", seen: Field = "", facts: Field = "",
) -> Response:  # fmt: skip
    """Record one decision on one game and lead back to it; a form that cannot be taken comes back with the person's own words."""
    words = words_of(person, reason, reviewer)
    if action not in dict(ACTIONS):
        words = replace(words, problem=("action", "Choose what is decided: uphold, clear or leave a note."))
    place = {"id": id, "day": day, "file": file, "line": line}
    return _carry_out(request, person, Form("decide", place, words, action, views.number_parameter(seen, "seen", 0), facts))


@router.post("/undo", dependencies=[Depends(own_form)])
def undo(
    request: Request, person: Annotated[Person, Depends(decider)], decision: Field = "", batch: Field = "", reason: Field = "",
    reviewer: Field = "", seen: Field = "",
) -> Response:  # fmt: skip
    """Take back a decision, or all that were taken together and still stand (``batch``), by deciding so."""
    words = words_of(person, reason, reviewer)
    if batch:
        return bulk.undo_batch(request, person, batch, words)
    seen_id = views.number_parameter(seen, "seen", 0)
    return _carry_out(request, person, Form("undo", {"decision": decision}, words, "undo", seen_id))


def _carry_out(request: Request, person: Person, form: Form) -> Response:
    from replay.reviews.store import open_reviews

    with views.lake_of(request, "verdicts", "quarantine") as lake, open_reviews(lake) as store:
        try:
            _find(request, lake, store, form)
            if form.words.problem is not None:
                raise UsageError(form.words.problem[1])
            decision = _record(store, form)
        except ReplayError as error:
            return _again(request, store, form, error)
    assert form.row is not None
    place = {"day": form.row["day"], "file": form.row["source_file"], "line": form.row["source_line"]}
    answer = see_other("game", id=form.row["game_id"], **place, recorded=decision.id)
    remember_reviewer(request, answer, person, form.words.reviewer)
    return answer


def _find(request: Request, lake: Lake, store: ReviewStore, form: Form) -> None:
    """Look up what the form is about.  Raises UsageError and InputError."""
    if form.target == "undo":
        form.undoes = store.decision(views.number_parameter(form.hidden["decision"], "decision", 0))
        nowhere: dict[str, Any] = {"source_file": None, "source_line": None, "reasons": [], "suspicions": []}
        row = {name: getattr(form.undoes, name) for name in ("subject", "game", "game_id", "challenge", "day")}
        same = game_of(lake, form.undoes)
        known = review_log.games_now(request, lake, {form.undoes.subject})
        if same is not None:
            form.others = tuple(sorted({*same.subjects} - {form.undoes.subject}))
        if same is not None and form.undoes.subject in same.copies:
            # Taken on what is a copy by now: what is told, and where it leads on to, is the upload that stands.
            form.row = same.row | {"subject": form.undoes.subject}
        else:
            form.row = nowhere | row | known.get(form.undoes.subject, {})
        return
    same = same_game(lake, _upload(lake, form.hidden))
    form.row, form.others = same.row | {"subject": subject_of(same.row)}, same.copies


def _upload(lake: Lake, place: dict[str, str]) -> dict[str, Any]:
    """The verdict row of the upload that a form names.  Raises UsageError and InputError.

    Where the upload lies tells which one it is: an id that holds line breaks or NUL comes back from a browser as another text.
    """
    from replay.lookup import find_place
    from replay.reviews.games import find_game

    game_id, file = place["id"], place["file"] or None
    day, line = views.day_parameter(place["day"]), views.number_parameter(place["line"], "line", 0) or None
    if day and file and line:
        found = find_place(lake, day, file, line).game_id
        if _as_sent(found) == _as_sent(game_id):
            game_id = found
    return find_game(lake, game_id, day=day, file=file, line=line)


def _as_sent(text: str) -> str:
    """A text as a browser sends it back, whatever it does to line breaks."""
    return text.replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")


def _record(store: ReviewStore, form: Form) -> Decision:
    """Append the decision.  A form that is sent twice (a double click) finds what it recorded the first time."""
    from replay.reviews.drafts import Draft, refuse_outdated
    from replay.reviews.games import draft, undo_draft

    assert form.row is not None
    decisions = store.decisions({form.row["subject"], *form.others})
    since = [decision for decision in decisions if decision.id > form.seen]
    if len(since) == 1 and _is_same(since[0], form):
        return since[0]
    # Before anything else is wrong: an undo of what somebody has undone meanwhile was no mistake.
    refuse_outdated(Draft(form.action, form.row, (), form.seen), decisions)
    if form.facts not in ("", facts_key(facts_of_row(form.row))):
        raise DecidedMeanwhile("What speaks against the game has changed since the page that you decided on was made")
    if form.undoes is not None:
        item = undo_draft(form.undoes, decisions, form.others)
    else:
        item = draft(form.action, form.row, decisions, copies=form.others)
    (decision,) = store.decide([replace(item, seen=form.seen)], reviewer=form.words.reviewer, reason=form.words.reason)
    return decision


def _is_same(decision: Decision, form: Form) -> bool:
    undoes = None if form.undoes is None else form.undoes.id
    said = (decision.action, decision.reason, decision.reviewer, decision.undoes)
    return said == (form.action, form.words.reason, form.words.reviewer, undoes)


def _again(request: Request, store: ReviewStore, form: Form, error: ReplayError) -> Response:
    """The form once more, with the person's words in it, under what stood in its way, who decided meanwhile and what changed."""
    meanwhile: list[Decision] = []
    now = None
    if form.row is not None:
        decisions = _if_readable(store, {form.row["subject"], *form.others})
        facts = facts_of_row(form.row)
        meanwhile = [decision for decision in decisions if decision.id > form.seen]
        form.seen = max([form.seen, *(decision.id for decision in meanwhile)])
        now = state_words(review_of(decisions, facts))
        if form.facts not in ("", facts_key(facts)):
            form.facts, form.changed = facts_key(facts), [fact_words(fact) for fact in facts] or ["nothing"]
    return views.render(
        request, "decided.html.j2", status_of(error), title="Not recorded", sentence=sentence(error), meanwhile=meanwhile,
        form=form, now=now, problem=form.words.problem, reviewer=form.words.reviewer or remembered_reviewer(request),
        actions=ACTIONS if form.target == "decide" else (),
    )  # fmt: skip


def _if_readable(store: ReviewStore, subjects: set[str]) -> list[Decision]:
    """The decisions on these subjects; none when they cannot be read, which the page's sentence is about then."""
    try:
        return store.decisions(subjects)
    except ReplayError:
        return []


# --- Standings -----------------------------------------------------------------------------------------------------------


@router.post("/restate", dependencies=[Depends(own_form)])
def restate(request: Request, person: Annotated[Person, Depends(decider)]) -> Response:
    """Take every decision of now into the standings and show what moved.

    Sent twice, the second finds nothing to restate.  Needs no words: it decides nothing, and a night would do the same.
    """
    from replay.night import restate_standings
    from replay.settings import load_settings

    settings = load_settings().night()
    try:
        with views.lake_of(request) as lake:
            restated = restate_standings(lake, settings)
    except NightRunning as error:
        return views.render(request, "restated.html.j2", 409, title="A night is running", running=sentence(error), moves=None)
    title = "Standings restated" if restated.moves is not None else "Nothing to restate"
    return views.render(request, "restated.html.j2", title=title, running=None, moves=restated.moves)
