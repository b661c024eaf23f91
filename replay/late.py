"""Late and changed logs: published days whose landed files are not the ones that their night read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from replay.errors import InputError, NightError, NightRunning
from replay.lake import Lake
from replay.night import NightSettings, Report, read_run, run_night


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
    published = set(lake.published_days())
    window = [day - timedelta(days=back) for back in range(look_back, 0, -1)]
    return [earlier for earlier in window if earlier in published and _landed(lake, earlier) != _read(lake, earlier)]


def _read(lake: Lake, day: date) -> dict[str, tuple[int, str]]:
    return {entry["file"]: (entry["bytes"], entry["sha256"]) for entry in read_run(lake, day)["inputs"]}


def _landed(lake: Lake, day: date) -> dict[str, tuple[int, str]]:
    known = _read(lake, day)
    files, _ = lake.log_files(day)
    landed = {}
    for path in files:
        size = path.stat().st_size
        if path.name in known and known[path.name][0] != size:
            # Another size is another file: its hash need not be taken to know that.
            landed[path.name] = (size, "")
            continue
        with path.open("rb") as handle:
            landed[path.name] = (size, hashlib.file_digest(handle, "sha256").hexdigest())
    return landed


def restate_changed(
    lake: Lake, day: date, settings: NightSettings, look_back: int, report: Report | None = None
) -> tuple[tuple[date, ...], tuple[str, ...]]:
    """Verify the changed ones of the days before again, oldest first: (days verified again, problems).

    A day that cannot be verified now stays as it was published, with one sentence in the problems.
    """
    restated: list[date] = []
    problems: list[str] = []
    for earlier in changed_days(lake, day, look_back) if lake.root.is_dir() else ():
        try:
            run_night(lake, earlier, settings, report=report)
            restated.append(earlier)
        except NightRunning:
            # Another night holds the lake: nothing is wrong with the day.
            raise
        except (NightError, InputError) as error:
            problems.append(f"{earlier} has changed and stays as it was published: {error}")
    return tuple(restated), tuple(problems)


def run_nights(
    lake: Lake,
    day: date,
    settings: NightSettings,
    look_back: int,
    allow_empty: bool = False,
    report: Report | None = None,
) -> Nights:
    """``restate_changed``, and then the night of ``day``.  Raises what ``run_night`` raises for the day itself."""
    restated, problems = restate_changed(lake, day, settings, look_back, report)
    return Nights(run_night(lake, day, settings, allow_empty, report), restated, problems)
