"""``replay release``: flags that a night held back, and people who say that they stand as flags all the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import common
from replay.cli.review import ReviewerOption, login_name, next_words
from replay.errors import UsageError
from replay.words import visible

if TYPE_CHECKING:
    from replay.lake import Lake
    from replay.reviews.incidents import Incident
    from replay.reviews.releases import Line, Release
    from replay.reviews.store import ReviewStore

_Option = typer.Option


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("release")(release)


def release(
    lake: common.LakeOption,
    day: Annotated[str | None, _Option("--day", help="Day that was landed, YYYY-MM-DD.", show_default=False)] = None,
    game: Annotated[str | None, _Option("--game", help="Which group: blocks, tetromino or tetcolor.", show_default=False)] = None,
    platform: Annotated[str | None, _Option("--platform", help="Which group: its platform.", show_default=False)] = None,
    app_version: Annotated[
        str | None, _Option("--app-version", help="Which group: its version of the app.", show_default=False)
    ] = None,
    rules: Annotated[str | None, _Option("--rules", help="Which group: the version of its rules.", show_default=False)] = None,
    reason: Annotated[
        str | None, _Option("--reason", help="Why, in at most 2,000 characters; kept for ever.", show_default=False)
    ] = None,
    reviewer: ReviewerOption = None,
    undo: Annotated[
        int | None, _Option("--undo", help="Take this release back.", show_default=False, metavar="ID")
    ] = None,
    listed: Annotated[bool, _Option("--list", help="What is held back, and every release; with --day of that day.")] = False,
    as_json: common.JsonOption = False,
) -> None:
    """Make flags of what a night held back: the games of one app version whose flags were far above the usual.

    Without --reason only what would move is shown.  A release is kept for ever; undoing it is another one.  Name as much of the
    group as tells it from others of the day.  Exit code 0 when it was recorded, 2 for wrong use.
    """
    wanted = {"game": game, "platform": platform, "app_version": app_version, "rules": rules}
    named = [f"--{name.replace('_', '-')}" for name, value in wanted.items() if value is not None]
    if listed and (undo is not None or reason is not None or named):
        raise UsageError("--list goes with --day and --json only")
    if undo is not None and (day is not None or named):
        raise UsageError(f"--undo names a release, leave {'--day' if day is not None else named[0]} out")
    if undo is not None and reason is None:
        raise UsageError("--undo: say why with --reason TEXT")
    if not listed and undo is None and day is None:
        raise UsageError("name a day with --day and its group, or give --list or --undo ID")
    on = None if day is None else common.parse_day(day)
    from replay.lake import open_lake
    from replay.reviews.store import open_reviews

    with open_lake(lake) as where, open_reviews(where) as store:
        if listed:
            common.refuse_no_lake(where)
            _list(where, store, on, as_json)
            return
        name = "" if reason is None else reviewer if reviewer is not None else login_name()
        if undo is not None:
            _record(store.undo_release(undo, reviewer=name, reason=reason or ""), None, lake, as_json)
            return
        assert on is not None
        incident = _find(where, store, on, wanted)
        if reason is None:
            _preview(where, store, incident, as_json)
        else:
            made = store.release(incident.group, reviewer=name, reason=reason, about=incident.digest)
            _record(made, incident, lake, as_json)


def _find(where: Lake, store: ReviewStore, day: date, wanted: dict[str, str | None]) -> Incident:
    from replay.night import read_run
    from replay.reviews.incidents import find_incident, incidents_of

    where.refresh("runs", days=[day])
    return find_incident(day, incidents_of(read_run(where, day), store.releases()), wanted)


# --- Looking -----------------------------------------------------------------------------------------------------------------


def _list(where: Lake, store: ReviewStore, day: date | None, as_json: bool) -> None:
    from replay.night import read_run
    from replay.reviews.incidents import held_of, incidents_of
    from replay.reviews.releases import Group, in_force, log_lines

    releases = store.releases()
    days = where.published_days() if day is None else [day]
    where.refresh("runs", days=days)
    found: list[Incident] = []
    held: dict[Group, str | None] = {}
    for one in reversed(days):
        run = read_run(where, one)
        found += incidents_of(run, releases)
        held |= held_of(run)
    log = [line for line in log_lines(releases) if day in (None, line.release.group.day)]
    if as_json:
        common.print_json({"incidents": [one.as_json() for one in found], "releases": [line.release.as_json() for line in log]})
        return
    _show_incidents(found)
    _show_releases(log, {one.id for one in in_force(releases, held)})


def _show_incidents(found: Sequence[Incident]) -> None:
    from replay.incident_words import lapsed_words
    from replay.reviews.releases import group_words

    out = common.console()
    if not found:
        out.print("Held back: nothing")
        return
    names = ("day", "game", "platform", "app version", "rules")
    held = common.table(
        "Held back: the app version looks broken", *((name, "left") for name in names), ("flags", "right"), ("of games", "right"),
        ("since", "left"), ("released", "left"),
    )  # fmt: skip
    for one in found:
        group, release = one.group, one.release
        texts = (visible(text, 60) for text in (group.game, group.platform, group.app_version, group.rules))
        held.add_row(
            str(group.day), *texts, f"{one.found['held']:,}", f"{one.found['games']:,}", one.found["since"],
            "no" if release is None else f"{release.id}, by {visible(release.reviewer, 40)}",
        )  # fmt: skip
    out.print(held)
    for one in found:
        if one.lapsed is not None:
            words = f"{one.group.day} {group_words(one.group)}: {lapsed_words(one.lapsed.as_json())}."
            out.print(words, soft_wrap=True, markup=False)


def _show_releases(shown: Sequence[Line], in_force: Collection[int]) -> None:
    from replay.reviews.releases import group_words
    from replay.reviews.words import time_words

    if not shown:
        common.console().print("Releases: none")
        return
    columns = [(name, "left") for name in ("when (UTC)", "who", "what", "day", "of", "why")]
    out = common.table("Releases", ("id", "right"), *columns)
    for line in shown:
        one = line.release
        became = " (undone)" if line.undone_by is not None else "" if one.id in in_force else " (stands no longer)"
        what = line.what + became
        when = time_words(one.at).removesuffix(" UTC")
        out.add_row(
            str(one.id), when, visible(one.reviewer, 60), what, str(one.group.day), group_words(one.group),
            visible(one.reason, 120),
        )  # fmt: skip
    common.console().print(out)


def _preview(where: Lake, store: ReviewStore, incident: Incident, as_json: bool) -> None:
    """What is held back of a group, and what releasing it would move; nothing is recorded."""
    from datetime import UTC, datetime

    from replay.cli.review_many import show_moves, waiting_words
    from replay.incident_words import incident_words
    from replay.moves import what_would_move
    from replay.reviews.incidents import releases_in_force
    from replay.reviews.model import waiting
    from replay.reviews.releases import Release, waiting_groups
    from replay.standings_queries import query_publication

    if incident.release is None:
        known = store.releases()
        # What it would move does not depend on when.
        number, never = known[-1].id + 1 if known else 1, datetime(1970, 1, 1, tzinfo=UTC)
        asked = Release(number, "release", incident.group, "", "", never, about=incident.digest)
        moves = what_would_move(where, common.load_settings().night(), [], releases=[asked])
        through: Any = query_publication(where.current_warehouse())
        groups = waiting_groups(releases_in_force(where, known), through["releases_through"])
        games = waiting(store.decisions(), through["reviews_through"])
    else:
        moves, groups, games = None, 0, 0
    if as_json:
        shown = None if moves is None else moves.as_json()
        common.print_json(incident.as_json() | {"moves": shown, "waiting": groups, "decisions_waiting": games})
        return
    out = common.console()
    out.print(f"{incident.group.day}: {incident_words(incident.as_json())}", soft_wrap=True)
    if incident.release is not None:
        out.print(f"Released already: {_words(incident.release)}", soft_wrap=True)
        return
    assert moves is not None
    out.print(_concerned(incident.found), soft_wrap=True)
    show_moves(moves, waiting_words(games, groups))
    out.print("Nothing is released yet: give the same call with --reason TEXT to release this group.", soft_wrap=True)


def _concerned(found: Any, done: bool = False) -> str:
    flags = "1 game" if found["held"] == 1 else f"{found['held']:,} games"
    counted = found["counted_before"]
    if done:
        stops = f"; {counted:,} of them counted before and will not any more, unless they were cleared" if counted else ""
        return f"{flags[:1].upper()}{flags[1:]} of it {'is a flag' if found['held'] == 1 else 'are flags'} from now on{stops}."
    stops = f"; {counted:,} of them count as before, and would not then, unless they were cleared" if counted else ""
    return f"By a release {flags} would be flagged{stops}."


def _words(made: Release) -> str:
    from replay.reviews.releases import release_words

    return release_words(made)


# --- Releasing ---------------------------------------------------------------------------------------------------------------


def _record(made: Release, incident: Incident | None, lake: str, as_json: bool) -> None:
    """Say what was recorded just now."""
    if as_json:
        games = {} if incident is None else {"games": incident.found["held"], "counted_before": incident.found["counted_before"]}
        common.print_json(made.as_json() | games)
        return
    out = common.console()
    lines = [f"Recorded: {_words(made)}"]
    if incident is not None:
        lines.append(_concerned(incident.found, done=True))
    for line in [*lines, next_words(lake)]:
        out.print(line, soft_wrap=True)
