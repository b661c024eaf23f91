"""The groups whose flags a night held back, as its run.json names them, each with the release that stands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from replay.errors import InputError, UsageError
from replay.reviews.model import facts_of, subject_of
from replay.reviews.releases import Group, Release, group_words, in_force, lapsed_by_group, standing_by_group

if TYPE_CHECKING:
    from replay.lake import Lake, Publication

NAMES = ("game", "platform", "app_version", "rules")


def upload_digest(row: Mapping[str, Any]) -> bytes:
    """A hash of an upload that is held back, from its verdict row, and of what it would be flagged for.

    The player's id is no part of it, as it may have to give way to another one (``replay.anonymise``), and neither are
    suspicions, which flag nothing and may come from what others upload on other days.
    """
    held = [subject_of({**row, "player_id": ""}), *facts_of(json.loads(row["reasons"] or "[]"), ())]
    return hashlib.sha256(json.dumps(held, ensure_ascii=False).encode("utf-8")).digest()


def digest_of(uploads: Iterable[bytes]) -> str:
    """The digest of what is held back of a group, from the ``upload_digest`` of each: the same in whatever order and files."""
    return hashlib.sha256(b"".join(sorted(uploads))).hexdigest()


@dataclass(frozen=True)
class Incident:
    """A group whose flags were held back; ``found`` is what run.json says of it, ``release`` the one that stands (None: held).

    ``lapsed`` is one that nobody undid and that does not stand, as other flags were held back when it was given; None where
    another one stands.
    """

    group: Group
    found: Mapping[str, Any]
    release: Release | None = None
    lapsed: Release | None = None

    @property
    def digest(self) -> str | None:
        """What is held back of the group (``digest_of``); a night of an earlier version of this program did not say."""
        return self.found.get("digest")

    def as_json(self) -> dict[str, Any]:
        """The incident for machines: ``found`` with ``day``, ``release`` and ``lapsed``."""
        releases = {"release": self.release, "lapsed": self.lapsed}
        told = {name: None if one is None else one.as_json() for name, one in releases.items()}
        return {"day": self.group.day.isoformat(), **self.found, **told}


def incidents_of(run: Mapping[str, Any], releases: Iterable[Release]) -> list[Incident]:
    """The incidents of a run.json in its order; a night of an earlier version of this program has none."""
    known, held = list(releases), held_of(run)
    standing, lapsed = standing_by_group(in_force(known, held)), lapsed_by_group(known, held)
    found = []
    for incident in run.get("incidents", ()):
        group = _group(run, incident)
        release = standing.get(group)
        found.append(Incident(group, incident, release, lapsed.get(group) if release is None else None))
    return found


def _group(run: Mapping[str, Any], incident: Mapping[str, Any]) -> Group:
    return Group(date.fromisoformat(run["day"]), *(str(incident[name]) for name in NAMES))


def held_of(run: Mapping[str, Any]) -> dict[Group, str | None]:
    """The digests of what a run.json holds back, by group."""
    return {_group(run, incident): incident.get("digest") for incident in run.get("incidents", ())}


def releases_in_force(lake: Lake, releases: Iterable[Release], publication: Publication | None = None) -> list[Release]:
    """``releases.in_force`` of what the published days hold back, or will once ``publication`` is committed.

    Only the days are looked at that a release names.  Raises InputError for a run.json that cannot be read.
    """
    known = list(releases)
    days = {one.group.day for one in known if one.about is not None}
    if days and publication is None:
        lake.refresh("runs", days=days)
    held: dict[Group, str | None] = {}
    for day in sorted(days):
        path = lake.run_file(day)
        try:
            text = (path if publication is None else publication.newest(path)).read_text("utf-8")
            held |= held_of(json.loads(text))
        except FileNotFoundError:
            # The day was taken out of the lake: nothing of it is held back.
            continue
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: is damaged, delete it and run `replay nightly --day {day}` again") from error
    return in_force(known, held)


def find_incident(day: date, incidents: Sequence[Incident], wanted: Mapping[str, str | None]) -> Incident:
    """The one incident of a day with these values of ``NAMES`` (None: any).  Raises UsageError, naming those of the day."""
    fits = [
        one for one in incidents if all(value in (None, getattr(one.group, name)) for name, value in wanted.items())
    ]  # fmt: skip
    if len(fits) == 1:
        return fits[0]
    if not incidents:
        raise UsageError(f"{day}: nothing was held back in that night, so there is nothing to release")
    names = "; ".join(group_words(one.group) for one in (fits or incidents)[:_NAMED])
    more = len(fits or incidents) - _NAMED
    names += f" and {more:,} more" if more > 0 else ""
    if fits:
        raise UsageError(
            f"{day}: {len(fits):,} groups were held back ({names}), name one with --game, --platform, --app-version and --rules"
        )
    asked = ", ".join(f"{name.replace('_', ' ')} {value!a}" for name, value in wanted.items() if value is not None)
    raise UsageError(f"{day}: no group with {asked} was held back in that night, only {names}")


_NAMED = 5
