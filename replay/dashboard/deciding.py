"""What the pages that decide share: the words that a decision needs, who decides, and decisions as people read them."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, unquote

from fastapi import Form, Request
from fastapi.responses import RedirectResponse, Response

from replay.dashboard import views
from replay.dashboard.access import Person
from replay.dashboard.forms import cookie_path
from replay.errors import UsageError
from replay.reviews.drafts import LONGEST_REASON, LONGEST_REVIEWER, checked_words
from replay.reviews.games import facts_of_row
from replay.reviews.model import Decision, Review, review_of, undone_ids, waiting, why_not_counted

if TYPE_CHECKING:
    from replay.lake import Lake

REVIEWER_COOKIE = "replay_reviewer"
REVIEWER_SECONDS = 365 * 24 * 3600
# What can be decided, each with what it means for the player.
ACTIONS = (
    ("uphold", "Uphold: the game does not count"),
    ("clear", "Clear: nothing is held against the game, it counts with the score that was claimed"),
    ("note", "Note: only remember this, nothing changes"),
)
Field = Annotated[str, Form()]


@dataclass(frozen=True)
class Words:
    """What somebody wrote into a form that decides.  ``problem`` names the field that cannot be taken, and says why."""

    reason: str
    reviewer: str
    problem: tuple[str, str] | None = None


def words_of(person: Person, reason: str, reviewer: str) -> Words:
    """A form's reason and reviewer; the login's name wins over the field.  Both are needed, for every action."""
    reason, reviewer = reason.replace("\r\n", "\n").strip(), person.name or reviewer.strip()
    return Words(reason, reviewer, _problem(reason, reviewer))


def _problem(reason: str, reviewer: str) -> tuple[str, str] | None:
    if not _says_something(reason):
        return "reason", "Write a reason: nothing is decided without one."
    if not _says_something(reviewer):
        return "reviewer", "Write your name: whoever looks at the decision later will want to ask you."
    for name, text, longest in (("reason", reason, LONGEST_REASON), ("reviewer", reviewer, LONGEST_REVIEWER)):
        try:
            checked_words(name, text, longest)
        except UsageError as error:
            return name, sentence(error)
    return None


def _says_something(text: str) -> bool:
    """Whether a text has a sign that can be seen."""
    return any(unicodedata.category(sign)[0] not in "CZ" for sign in text)


def remembered_reviewer(request: Request) -> str:
    """The name that this browser decided under last, for the form's field; empty when there is none."""
    return unquote(request.cookies.get(REVIEWER_COOKIE, ""), errors="replace")[:LONGEST_REVIEWER]


def remember_reviewer(request: Request, response: Response, person: Person, reviewer: str) -> None:
    """Keep the name for the form's field; not where a login gives it."""
    if person.name:
        return
    response.set_cookie(
        REVIEWER_COOKIE, quote(reviewer), max_age=REVIEWER_SECONDS, path=cookie_path(request),
        httponly=True, samesite="strict", secure=request.url.scheme == "https",
    )  # fmt: skip


def see_other(page: str, **query: object) -> RedirectResponse:
    """Lead a browser on after a form: whoever loads the page again decides nothing twice.  Relative, as all links are."""
    return RedirectResponse(page + views.query(**query), status_code=303)


def sentence(error: Exception) -> str:
    """An error's sentence with a capital letter and a full stop."""
    return views.sentence(str(error))


# --- Decisions as people read them ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """A decision and what has become of it.

    ``state``: ``stands``, ``returned`` (a clearing that ``new_facts`` have overtaken), ``undone`` or ``replaced`` (by the
    decision ``after``), ``note`` or ``undo``.
    """

    decision: Decision
    state: str
    after: Decision | None = None
    new_facts: tuple[str, ...] = ()

    @property
    def can_be_undone(self) -> bool:
        return self.state not in ("undone", "replaced")


def tell(decisions: Sequence[Decision], facts: Sequence[str]) -> dict[int, Told]:
    """What has become of each of the decisions on one subject (all of them), by id; ``facts`` speak against the game now."""
    undone = undone_ids(decisions)
    # Of two that undo the same one the newer counts: the older was undone itself.
    by = {d.undoes: d for d in sorted(decisions, key=lambda d: d.id) if d.undoes is not None}
    review = review_of(decisions, facts)
    return {d.id: _told(d, by[d.id] if d.id in undone else None, review) for d in decisions}


def _told(decision: Decision, undone: Decision | None, review: Review) -> Told:
    if undone is not None:
        return Told(decision, "undone", undone)
    if decision.action in ("note", "undo"):
        return Told(decision, decision.action)
    if review.decision is not None and review.decision.id != decision.id:
        return Told(decision, "replaced", review.decision)
    return Told(decision, "returned" if review.state == "returned" else "stands", None, review.new_facts)


def facts_key(facts: Sequence[str]) -> str:
    """What a form remembers of what spoke against a game when its page was made: nobody dismisses what they have not seen."""
    return hashlib.sha256(json.dumps(list(facts)).encode("utf-8")).hexdigest()[:16]


# --- What was just recorded ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """What the page after a decision says of it: one decision, or the first of ``games`` that were taken together.

    ``waits``: the standings do not hold it yet; ``seen`` is the newest decision on the game, for the form that undoes it;
    ``futile`` why the game does not count although it was cleared, half a sentence.
    """

    told: Told
    games: int
    waits: bool
    seen: int
    reviewer: str
    futile: str | None = None


def recorded_of(
    request: Request, lake: Lake, decisions: Sequence[Decision], history: Sequence[Decision],
    row: Mapping[str, Any] | None = None,
) -> Recorded | None:  # fmt: skip
    """The decision that the address names as just recorded (parameter ``recorded``), if it is one of ``decisions``, which are all
    on one game, or all of one batch; ``history`` are all on their subjects, ``row`` is the game's verdict row.  None
    otherwise: a made-up number says nothing."""
    wanted = request.query_params.get("recorded", "")
    found = next((decision for decision in decisions if str(decision.id) == wanted), None)
    if found is None:
        return None
    through = views.publication(views.warehouse(request, lake)).get("reviews_through") or 0
    of_game = [decision for decision in decisions if row is not None or decision.subject == found.subject]
    together = len({decision.subject for decision in decisions}) if row is None else 1
    return Recorded(
        told=tell(of_game, () if row is None else facts_of_row(row))[found.id],
        # Standings that stood before are taken again, with their number, when all that came since was undone.
        games=together, waits=waiting(history, through) > 0, seen=max(decision.id for decision in of_game),
        reviewer=remembered_reviewer(request),
        futile=why_not_counted(row) if row is not None and found.action == "clear" else None,
    )  # fmt: skip


# --- Pages of a list -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pager:
    """Where a page of a long list stands, from 1, and the links to the pages beside it (None: there is none)."""

    first: int
    last: int
    total: int
    newer: str | None
    older: str | None


def pager(page: str, filters: Mapping[str, object], offset: int, size: int, total: int) -> Pager:
    """The pager of the ``size`` rows of ``page`` from ``offset`` (from 0) on, among ``total``."""
    newer = page + views.query(**filters, offset=max(offset - size, 0) or None) if offset > 0 else None
    older = page + views.query(**filters, offset=offset + size) if offset + size < total else None
    return Pager(offset + 1, min(offset + size, total), total, newer, older)
