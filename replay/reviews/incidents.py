"""The groups whose flags a night held back, as its run.json names them, each with the release that stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from replay.errors import UsageError
from replay.reviews.releases import Group, Release, group_words, standing_by_group

NAMES = ("game", "platform", "app_version", "rules")


@dataclass(frozen=True)
class Incident:
    """A group whose flags were held back; ``found`` is what run.json says of it, ``release`` the one that stands (None: held)."""

    group: Group
    found: Mapping[str, Any]
    release: Release | None = None

    def as_json(self) -> dict[str, Any]:
        """The incident for machines: ``found`` with ``day`` and ``release``."""
        return {
            "day": self.group.day.isoformat(), **self.found, "release": None if self.release is None else self.release.as_json(),
        }  # fmt: skip


def incidents_of(run: Mapping[str, Any], releases: Iterable[Release]) -> list[Incident]:
    """The incidents of a run.json in its order; a night of an earlier version of this program has none."""
    standing = standing_by_group(releases)
    day = date.fromisoformat(run["day"])
    found = []
    for incident in run.get("incidents", ()):
        group = Group(day, *(str(incident[name]) for name in NAMES))
        found.append(Incident(group, incident, standing.get(group)))
    return found


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
