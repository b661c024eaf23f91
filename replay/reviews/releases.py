"""Releases of withheld flags: what people say about a group of games whose flags a night held back.

The flags of one group, the games of one day that share game, platform, app version and rules, are withheld when far more of them
are flagged than before: more likely the app or a rules file is broken than that everybody cheats.  A release says that they
stand as flags all the same.  Like decisions, releases are appended and never changed, undoing one is another, and verdict files
stay what the machine found; standings are made from verdict rows, decisions and releases.

A release is about exactly what was held back when it was given: it keeps the digest of that (``incidents.digest_of``), and is in
force (``in_force``) while the group holds back the very same.  A night that holds back others has them held back again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from replay import incident_words
from replay.errors import UsageError
from replay.reviews.model import undone_ids
from replay.reviews.words import time_words
from replay.words import visible

if TYPE_CHECKING:
    from sqlalchemy import Connection

RELEASE_ACTIONS = ("release", "undo")


@dataclass(frozen=True, order=True)
class Group:
    """The games of one day whose flags are withheld, or released, together."""

    day: date
    game: str
    platform: str
    app_version: str
    rules: str

    def as_json(self) -> dict[str, str]:
        """The group for machines, its day as YYYY-MM-DD."""
        return {
            "day": self.day.isoformat(), "game": self.game, "platform": self.platform, "app_version": self.app_version,
            "rules": self.rules,
        }  # fmt: skip


@dataclass(frozen=True)
class Release:
    """One release, or the undo of one, as it was recorded.

    ``undoes`` is the id of what an ``undo`` takes back, ``at`` is UTC; ``about`` the digest of what was held back then (None: of
    whatever the group holds back, as releases were before they kept it).
    """

    id: int
    action: str
    group: Group
    reason: str
    reviewer: str
    at: datetime
    undoes: int | None = None
    about: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The release for machines, its time as RFC 3339."""
        return {
            "id": self.id, "action": self.action, "undoes": self.undoes, "reviewer": self.reviewer, "reason": self.reason,
            "at": self.at.isoformat().replace("+00:00", "Z"), **self.group.as_json(), "about": self.about,
        }  # fmt: skip


def group_of(row: Mapping[str, Any]) -> Group:
    """The group of a verdict row with ``day``, the day that it landed."""
    return Group(row["day"], *(str(row[name]) for name in ("game", "platform", "app_version", "rules")))


def group_words(group: Group) -> str:
    """A group as people name it; it was uploaded, and may hold anything."""
    return incident_words.group_words(group.as_json())


def release_words(release: Release) -> str:
    """One line: its id, when, who, what, and why."""
    what = "released" if release.undoes is None else f"undid release {release.undoes} of"
    return (
        f"{release.id}  {time_words(release.at)}  {visible(release.reviewer)} {what} {release.group.day}"
        f" {group_words(release.group)}: {visible(release.reason, 200)}"
    )


def in_force(releases: Iterable[Release], held: Mapping[Group, str | None]) -> list[Release]:
    """All but the releases that are about other flags than their group holds back; ``held`` are the digests of that by group.

    This is the one rule for it: whoever asks what stands (``standing_by_group``) asks of these.
    """
    return [one for one in releases if one.action != "release" or one.about in (None, held.get(one.group))]


def lapsed_by_group(releases: Iterable[Release], held: Mapping[Group, str | None]) -> dict[Group, Release]:
    """The newest release of each group that nobody undid and that is not in force."""
    found = sorted(releases, key=lambda release: release.id)
    gone = {one.id for one in found} - {one.id for one in in_force(found, held)} - undone_ids(found)
    return {one.group: one for one in found if one.id in gone}


def standing_by_group(releases: Iterable[Release]) -> dict[Group, Release]:
    """The release that stands of each released group, the newest if there are several; an undone undo undoes nothing."""
    found = sorted(releases, key=lambda release: release.id)
    undone = undone_ids(found)
    return {one.group: one for one in found if one.action == "release" and one.id not in undone}


def standing_releases(releases: Iterable[Release]) -> frozenset[Group]:
    """The groups whose withheld flags stand as flags."""
    return frozenset(standing_by_group(releases))


def effective_verdict(row: Mapping[str, Any], released: Collection[Group]) -> str:
    """The verdict of a row (with ``day``) after releases: ``flagged`` for a withheld one of a released group, else its own."""
    if row["verdict"] == "withheld" and group_of(row) in released:
        return "flagged"
    return str(row["verdict"])


def as_released(row: Mapping[str, Any], released: Collection[Group]) -> dict[str, Any]:
    """A verdict row (with ``day``) as standings take it: of a released group it is a flagged one and counts no longer."""
    if effective_verdict(row, released) == row["verdict"]:
        return dict(row)
    return {**row, "verdict": "flagged", "counted": False}


@dataclass(frozen=True)
class Line:
    """A release in the log: ``what`` it did, in a word or two; ``undone_by`` is the one that took it back (None: nobody did)."""

    release: Release
    undone_by: Release | None
    what: str


def log_lines(releases: Sequence[Release]) -> list[Line]:
    """All releases, the newest first, with what became of each."""
    undone = undone_ids(releases)
    # Of two that undo the same one the newer counts: the older was undone itself.
    by = {one.undoes: one for one in sorted(releases, key=lambda one: one.id) if one.undoes is not None}
    return [
        Line(one, by[one.id] if one.id in undone else None, "released" if one.undoes is None else f"undid {one.undoes}")
        for one in sorted(releases, key=lambda one: one.id, reverse=True)
    ]


def waiting_groups(releases: Iterable[Release], through: int) -> int:
    """How many groups stand otherwise than in standings that took the releases up to the id ``through``."""
    found = list(releases)
    then = standing_releases(one for one in found if one.id <= through)
    return len(then ^ standing_releases(found))


# --- The table --------------------------------------------------------------------------------------------------------------


def read_releases(con: Connection) -> list[Release]:
    """All releases by id; none where the database was made before there were any."""
    from sqlalchemy import null, select

    from replay.reviews.tables import ABOUT, RELEASES, has_about, has_releases

    if not has_releases(con):
        return []
    about = ABOUT if has_about(con) else null().label(ABOUT.name)
    columns = [column for column in RELEASES.columns if column is not ABOUT]
    rows = con.execute(select(*columns, about).order_by(RELEASES.c.id)).mappings()
    return [
        Release(
            row["id"], row["action"], Group(row["day"], row["game"], row["platform"], row["app_version"], row["rules"]),
            row["reason"], row["reviewer"], row["at"], row["undoes"], row["about"],
        )
        for row in rows
    ]  # fmt: skip


def append_release(
    con: Connection, group: Group, reviewer: str, reason: str, when: datetime, about: str | None = None
) -> Release:
    """Record a release within a transaction that writes, of what has the digest ``about``.

    Raises UsageError for a group of which the same is released already.
    """
    before = read_releases(con)
    found = standing_by_group(in_force(before, {group: about})).get(group)
    if found is not None:
        raise UsageError(
            f"{group.day} {group_words(group)}: was released already, by {visible(found.reviewer)} at {time_words(found.at)}"
            f" (release {found.id}: {visible(found.reason, 200)}); undo that one to have its flags withheld again"
        )
    return _append(con, Release(_next_id(before), "release", group, reason, reviewer, when, about=about))


def append_undo(con: Connection, number: int, reviewer: str, reason: str, when: datetime) -> Release:
    """Record the undo of a release, or of an undo, within a transaction that writes.

    Raises UsageError for an id that is none or was undone already.
    """
    before = read_releases(con)
    found = next((one for one in before if one.id == number), None)
    if found is None:
        raise UsageError(f"there is no release {number}, list them with `replay release --list`")
    if number in undone_ids(before):
        by = max((one for one in before if one.undoes == number), key=lambda one: one.id)
        raise UsageError(
            f"release {number}: was undone already, by {visible(by.reviewer)} at {time_words(by.at)}; undo release {by.id} to"
            " have it back"
        )
    return _append(con, Release(_next_id(before), "undo", found.group, reason, reviewer, when, undoes=number))


def _next_id(before: Sequence[Release]) -> int:
    return before[-1].id + 1 if before else 1


def _append(con: Connection, made: Release) -> Release:
    from sqlalchemy import insert

    from replay.reviews.tables import ABOUT, RELEASES, make_about, make_releases

    make_releases(con)
    row = {name: getattr(made, name) for name in ("id", "action", "undoes", "reason", "reviewer", "at")}
    row |= {name: getattr(made.group, name) for name in ("day", "game", "platform", "app_version", "rules")}
    if made.about is not None:
        make_about(con)
        row[ABOUT.name] = made.about
    con.execute(insert(RELEASES), [row])
    return made
