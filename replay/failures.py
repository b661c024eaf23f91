"""Why a night was not published: one small file beside the day's report, until the day's next good night removes it.

It is for people to read.  That it cannot be written or removed never stops a night and never hides the first error.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from replay.errors import EngineDisagreement, ReplayError, first_line
from replay.lake import Lake

LOG = logging.getLogger(__name__)
FILE = "failure.json"
# The game about which two engines differ, as it was uploaded.
GAME_FILE = "disagreement.json"
# What a step does, the next good run of the same step makes good; publishing the day makes good whatever failed before it.
NIGHT = "night"


@dataclass(frozen=True)
class Failure:
    """Why the night of ``day`` failed: ``error`` is the class, ``sentence`` what it said, ``at`` when (UTC), ``step`` in what."""

    day: date
    error: str
    sentence: str
    at: datetime
    step: str = NIGHT

    @property
    def code(self) -> str:
        """The error as machines name it: ``engine_disagreement`` for EngineDisagreement."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.error).lower()


def note_failure(lake: Lake, day: date, error: Exception, step: str = NIGHT) -> None:
    """Leave in the lake why the night of a day failed.  A lake that is not there does not come into being."""
    # Paths of a working folder are nobody's; people know the lake by its URL.
    if isinstance(error, EngineDisagreement):
        _attach_game(lake, day, error)
    said = first_line(error).replace(str(lake.root), lake.name)
    found = Failure(day, type(error).__name__, said or type(error).__name__, datetime.now(UTC), step)
    times = {"day": day.isoformat(), "at": found.at.isoformat(timespec="seconds")}
    text = json.dumps(asdict(found) | times | {"code": found.code}) + "\n"
    try:
        if lake.exists():
            path = _file(lake, day)
            path.parent.mkdir(parents=True, exist_ok=True)
            lake.put_texts({path: text})
    except (OSError, ReplayError) as problem:
        LOG.warning("%s: why the night of %s failed cannot be noted (%s)", lake.name, day, first_line(problem))


def _attach_game(lake: Lake, day: date, error: EngineDisagreement) -> None:
    """Leave the game about which the engines differ beside the note, and say in the error where it lies."""
    path = lake.day("reports", day) / GAME_FILE
    if error.game is None or str(GAME_FILE) in str(error):
        return
    try:
        if lake.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            lake.put_texts({path: json.dumps(error.game, indent=2) + "\n"})
            error.args = (f"{error} (the game is in {lake.name}/{path.relative_to(lake.root).as_posix()})",)
    except (OSError, ReplayError) as problem:
        LOG.warning("%s: the game of %s cannot be left there (%s)", path, day, first_line(problem))


@contextmanager
def noting_failure(lake: Lake, day: date, step: str = NIGHT) -> Iterator[None]:
    """Note whatever goes wrong inside, and let it go on."""
    try:
        yield
    except Exception as error:
        note_failure(lake, day, error, step)
        raise


def forget_failure(lake: Lake, day: date, *steps: str) -> None:
    """Remove what ``note_failure`` left of a day; of these ``steps`` only, if any are given."""
    try:
        if steps:
            lake.refresh("reports", days=[day])
            found = _read(_file(lake, day))
            if found is None or found.step not in steps:
                return
        for path in (_file(lake, day), _file(lake, day).with_name(GAME_FILE)):
            if lake.name != str(lake.root) or path.exists():
                lake.remove(path)
    except (OSError, ReplayError) as problem:
        LOG.warning("%s: the failure of %s cannot be forgotten (%s)", lake.name, day, first_line(problem))


def read_failures(lake: Lake) -> dict[date, Failure]:
    """The failed nights by day, oldest first; a file that cannot be read is a failure that nobody knows more about."""
    lake.refresh("reports")
    found = {}
    for path in sorted((lake.root / "reports").glob(f"day=*/{FILE}")):
        try:
            day = lake.day_of(path)
        except ValueError:
            # A folder that somebody put aside.
            continue
        failure = _read(path)
        if failure is not None:
            found[day] = failure
    return found


def _file(lake: Lake, day: date) -> Path:
    return lake.day("reports", day) / FILE


def _read(path: Path) -> Failure | None:
    """None when there is none, or none any more."""
    day = Lake.day_of(path)
    try:
        held = json.loads(path.read_text("utf-8"))
        at = datetime.fromisoformat(held["at"])
        step = str(held.get("step", NIGHT))
        return Failure(day, str(held["error"]), str(held["sentence"]), at if at.tzinfo else at.replace(tzinfo=UTC), step)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        LOG.warning("%s: cannot be read (%s)", path, first_line(error))
        return Failure(day, "Unknown", f"{path.name} cannot be read, run the night again to see why it failed", datetime.now(UTC))
