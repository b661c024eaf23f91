"""What nights held back: incidents with the releases that stand, as the pages show them, and releasing them in the browser."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from replay.dashboard import nights, views
from replay.dashboard.access import Person, decider
from replay.dashboard.app import status_of
from replay.dashboard.deciding import Field, Words, remember_reviewer, remembered_reviewer, see_other, sentence, words_of
from replay.dashboard.forms import own_form
from replay.errors import InputError, ReplayError, UsageError
from replay.reviews.incidents import Incident
from replay.reviews.releases import Group, Line, Release, group_words, in_force, log_lines, waiting_groups

if TYPE_CHECKING:
    from datetime import date

    from replay.lake import Lake
    from replay.reviews.store import ReviewStore

router = APIRouter()
_USUAL_OF = {
    "own": "", "platform": ", of this game's other apps on that platform, as this one has no past of its own",
    "game": ", of all other apps of this game, as this one has no past of its own",
}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """An incident on its night's page: its group in words and as the key of its form, what was usual, every release of the
    group (newest first) and the ids of those in force, and the command that releases it (None: it cannot be typed)."""

    incident: Incident
    words: str
    key: str
    usual: str
    history: list[Line]
    in_force: frozenset[int]
    command: str | None


@dataclass(frozen=True)
class Tried:
    """A form that could not be taken: ``target`` is the key of its group or the id of its release."""

    target: str
    words: Words
    problem: str


def group_key(group: Group) -> str:
    """A group as a form names it: what was uploaded does not come back from a browser as it was sent."""
    return hashlib.sha256(json.dumps(group.as_json()).encode("utf-8")).hexdigest()[:32]


def shown(incidents: Sequence[Incident], releases: Sequence[Release], lake_name: str) -> list[Shown]:
    """The incidents of a night, those that nobody released first, then those with the most flags."""
    lines = log_lines(releases)
    found = [
        Shown(
            one, group_words(one.group), group_key(one.group), _usual(one),
            [line for line in lines if line.release.group == one.group],
            frozenset(release.id for release in in_force(releases, {one.group: one.digest})), _command(one.group, lake_name),
        )
        for one in incidents
    ]  # fmt: skip
    return sorted(found, key=lambda one: (one.incident.release is not None, -one.incident.found["held"], one.words))


def _usual(one: Incident) -> str:
    found = one.found
    if found["past_of"] == "prior":
        return "no nights before say what is"
    rate = views.per_thousand(found["past_flags"], found["past_games"])
    return f"{found['past_flags']:,} of {found['past_games']:,} games, {rate} per 1,000{_USUAL_OF[found['past_of']]}"


def _command(group: Group, lake: str) -> str | None:
    texts = [group.game, group.platform, group.app_version, group.rules]
    if not all(text and text.isascii() and text.isprintable() and len(text) <= 200 for text in (*texts, lake)):
        return None
    names = ("--game", "--platform", "--app-version", "--rules")
    # With an equals sign: a text may begin with a hyphen.
    told = " ".join(f"{name}={shlex.quote(text)}" for name, text in zip(names, texts, strict=True))
    return f"replay release --lake {shlex.quote(lake)} --day {group.day} {told}"


# --- Releasing -----------------------------------------------------------------------------------------------------------


@router.post("/release", dependencies=[Depends(own_form)])
def release(
    request: Request, person: Annotated[Person, Depends(decider)], day: Field = "", group: Field = "", reason: Field = "",
    reviewer: Field = "", about: Field = "",
) -> Response:  # fmt: skip
    """Make flags of what a night held back of a group, and lead back to the night; ``about`` says what the person looked at."""

    def act(store: ReviewStore, incidents: Sequence[Incident], words: Words) -> Release:
        found = next((one for one in incidents if group_key(one.group) == group), None)
        if found is None:
            raise UsageError(f"{day}: this group is not held back any more, the night was run again meanwhile")
        if about not in ("", found.digest):
            raise UsageError(f"{day}: other flags of this group are held back by now, look at them before you release them")
        if found.release is not None and _is_same(found.release, words):
            # A form that is sent twice (a double click) finds what it recorded the first time.
            return found.release
        return store.release(found.group, reviewer=words.reviewer, reason=words.reason, about=found.digest)

    return _carry_out(request, person, _day_of(day), group, words_of(person, reason, reviewer), act)


@router.post("/withhold", dependencies=[Depends(own_form)])
def withhold(
    request: Request, person: Annotated[Person, Depends(decider)], day: Field = "", release: Field = "", reason: Field = "",
    reviewer: Field = "",
) -> Response:  # fmt: skip
    """Take a release back, so that the group is held back again, and lead back to the night."""
    number = views.number_parameter(release, "release", 0)

    def act(store: ReviewStore, incidents: Sequence[Incident], words: Words) -> Release:
        newest = next((one for one in reversed(store.releases()) if one.undoes == number), None)
        if newest is not None and _is_same(newest, words):
            return newest
        return store.undo_release(number, reviewer=words.reviewer, reason=words.reason)

    return _carry_out(request, person, _day_of(day), str(number), words_of(person, reason, reviewer), act)


def _day_of(text: str) -> date:
    day = views.day_parameter(text)
    if day is None:
        raise UsageError("field day is missing, open the night's page again and send its form once more")
    return day


def _is_same(release: Release, words: Words) -> bool:
    return (release.reviewer, release.reason) == (words.reviewer, words.reason)


def _carry_out(request: Request, person: Person, day: date, target: str, words: Words, act: Any) -> Response:
    from replay.reviews.store import open_reviews

    with views.lake_of(request) as lake, open_reviews(lake) as store:
        try:
            if words.problem is not None:
                raise UsageError(words.problem[1])
            made = act(store, nights.night_of(lake, day).incidents, words)
        except ReplayError as error:
            return night_answer(request, lake, day, Tried(target, words, sentence(error)), status_of(error))
    answer = see_other("night", day=day, released=made.id)
    remember_reviewer(request, answer, person, words.reviewer)
    return answer


# --- A night's page --------------------------------------------------------------------------------------------------------


@router.get("/night")
def night_page(request: Request, day: str = "") -> Response:
    """All that is known of one night."""
    wanted = views.day_parameter(day)
    if wanted is None:
        raise UsageError("parameter day is missing, write it as night?day=YYYY-MM-DD")
    with views.lake_of(request) as lake:
        return night_answer(request, lake, wanted)


def night_answer(request: Request, lake: Lake, day: date, tried: Tried | None = None, status: int = 200) -> Response:
    """The page of a night; ``tried`` is the form of it that could not be taken, which comes back with the person's words."""
    night = nights.night_of(lake, day)
    published = nights.published_nights(lake)
    releases = nights.releases_of(lake) if night.incidents else []
    wanted = request.query_params.get("released", "")
    recorded = next((one for one in releases if str(one.id) == wanted and one.group.day == day), None)
    through = _released_through(request, lake) if recorded is not None else 0
    of_group = [one for one in releases if recorded is not None and one.group == recorded.group]
    return views.render(
        request, "night.html.j2", status, title=f"Night of {day}", night=night, headline=nights.headline(night),
        earlier=max((other for other in published if other < day), default=None),
        later=min((other for other in published if other > day), default=None),
        held=shown(night.incidents, releases, request.app.state.settings.lake), tried=tried, recorded=recorded,
        # Of this group: standings that stood before are taken again, with their number, when all that came since was undone.
        waits=waiting_groups(in_force(of_group, {one.group: one.digest for one in night.incidents}), through) > 0,
        reviewer=remembered_reviewer(request), lapsed_words=nights.lapsed_words,
        standing={one.release.id for one in night.incidents if one.release is not None},
    )  # fmt: skip


def _released_through(request: Request, lake: Lake) -> int:
    try:
        return int(views.publication(views.warehouse(request, lake))["releases_through"])
    except InputError:
        # The page says of itself what is wrong with the standings.
        return 0
