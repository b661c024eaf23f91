"""Late and changed logs: published days whose landed files are not the ones that their night read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from replay.errors import InputError, NightError, NightRunning, UnreachableSource
from replay.failures import note_failure
from replay.lake import Lake
from replay.night import NightSettings, Report, bring, read_run, run_night
from replay.sources import Brought
from replay.timings import Timings


@dataclass(frozen=True)
class Nights:
    """What a night with its look back did: ``run`` is the day's run.json; ``restated`` the earlier days that were verified again;
    ``problems`` one sentence for each earlier day that changed and could not be, which stays as it was published."""

    run: dict[str, Any]
    restated: tuple[date, ...]
    problems: tuple[str, ...]


def changed_days(lake: Lake, day: date, look_back: int) -> list[date]:
    """The published ones of the ``look_back`` days before ``day`` whose files differ from run.json's inputs, oldest first.

    Files are compared by name, size and SHA-256: what came late, was sent again with other bytes or is gone.  A day that was
    never published is left to its own night.  Raises InputError when a run.json cannot be read.
    """
    earlier_days = _published_before(lake, day, look_back)
    return [earlier for earlier in earlier_days if _landed(lake, earlier) != _read(lake, earlier)]


def _published_before(lake: Lake, day: date, look_back: int) -> list[date]:
    # Before the first day of the calendar there is none.
    look_back = min(look_back, (day - date.min).days)
    window = [day - timedelta(days=back) for back in range(look_back, 0, -1)]
    lake.refresh("runs", days=window)
    published = set(lake.published_days())
    return [earlier for earlier in window if earlier in published]


def _read(lake: Lake, day: date) -> dict[str, tuple[int, str]]:
    return {entry["file"]: (entry["bytes"], entry["sha256"]) for entry in read_run(lake, day)["inputs"]}


def _landed(lake: Lake, day: date) -> dict[str, tuple[int, str]]:
    known = _read(lake, day)
    landed, hashes = {}, lake.known_hashes(day)
    for name, found in lake.landed(day).items():
        if name not in known or known[name][0] != found.size:
            # Another name or size is another file: its hash need not be taken to know that.
            landed[name] = (found.size, "")
            continue
        if name in hashes:
            landed[name] = (found.size, hashes[name])
            continue
        path = lake.day("logs", day) / name
        lake.fetch_logs([path])
        with path.open("rb") as handle:
            landed[name] = (found.size, hashlib.file_digest(handle, "sha256").hexdigest())
    return landed


def restate_changed(
    lake: Lake, day: date, settings: NightSettings, look_back: int, report: Report | None = None
) -> tuple[tuple[date, ...], tuple[str, ...]]:
    """Verify the changed ones of the days before again, oldest first: (days verified again, problems).

    What came late is brought from the source first (``bring_earlier``).  A day that cannot be verified now stays as it
    was published, with one sentence in the problems.
    """
    restated: list[date] = []
    problems: list[str] = []
    if not lake.exists():
        return (), ()
    brought = bring_earlier(lake, day, settings, look_back, problems)
    for earlier in changed_days(lake, day, look_back):
        try:
            run_night(lake, earlier, settings, report=report, brought=brought.get(earlier, Brought()))
            restated.append(earlier)
        except NightRunning:
            # Another night holds the lake: nothing is wrong with the day.
            raise
        except (NightError, InputError) as error:
            note_failure(lake, earlier, error)
            problems.append(f"{earlier} has changed and stays as it was published: {error}")
    return tuple(restated), tuple(problems)


def bring_earlier(lake: Lake, day: date, settings: NightSettings, look_back: int, problems: list[str]) -> dict[date, Brought]:
    """Bring the new logs of the published ones of the days before: what came of each.

    What is still growing there is not waited for: the next night looks again.  A day whose logs cannot be brought gets a
    sentence in ``problems``; a source that cannot be reached at all raises UnreachableSource.
    """
    if settings.source is None:
        return {}
    from replay.landing import tell_left

    hasty = replace(settings, source=replace(settings.source, patience=0))
    found = {}
    for earlier in _published_before(lake, day, look_back):
        try:
            found[earlier] = bring(lake, earlier, hasty)
            tell_left(found[earlier], earlier)
        except UnreachableSource:
            raise
        except InputError as error:
            problems.append(f"the logs of {earlier} cannot be brought: {error}")
    return found


def run_nights(
    lake: Lake,
    day: date,
    settings: NightSettings,
    look_back: int,
    allow_empty: bool = False,
    report: Report | None = None,
    timings: Timings | None = None,
) -> Nights:
    """``restate_changed``, and then the night of ``day``.  Raises what ``run_night`` raises for the day itself."""
    timings = timings or Timings()
    with timings.step("late"):
        restated, problems = restate_changed(lake, day, settings, look_back, report)
    return Nights(run_night(lake, day, settings, allow_empty, report, timings), restated, problems)
