"""The nights: was the last one fine, how the newest went, and all that is known of one."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from replay import incident_words
from replay.dashboard import charts, views
from replay.dashboard.assets import kept
from replay.errors import InputError, ReplayError
from replay.lake import Lake
from replay.reviews.incidents import Incident, incidents_of
from replay.reviews.releases import group_words
from replay.words import visible

if TYPE_CHECKING:
    from replay.failures import Failure
    from replay.reviews.releases import Release

router = APIRouter()
NIGHTS_SHOWN = 30
# Without a listing of all log folders, so many days after the newest night are looked at for logs that no night took up.
DAYS_LOOKED_AT = 7
# A night is due so many hours after the end of its day (UTC): one of 02:00 that takes its time is no news yet.
NIGHT_HOURS = 6
_FILES_KEPT = 1000


@dataclass(frozen=True)
class Night:
    """What is known of a day.

    ``state``: ``published``, ``failed`` (the newest attempt; ``run`` is then what was published before, if anything), ``landed``
    (logs, but no night) or ``missing`` (neither, between two published days; ``first`` is the first of a row of such days).
    ``run`` is run.json, ``report`` report.json; None where there is none.  ``incidents`` are the groups whose flags it held back.
    """

    day: date
    state: str
    run: Mapping[str, Any] | None = None
    report: Mapping[str, Any] | None = None
    failure: Failure | None = None
    first: date | None = None
    incidents: tuple[Incident, ...] = ()

    @property
    def games(self) -> int | None:
        """Games that were judged: all but copies and what was quarantined."""
        return None if self.run is None else self.run["verdicts"]["verified"] + self.run["verdicts"]["flagged"] + self.held

    @property
    def held(self) -> int:
        """Games whose flags it held back; a night of an earlier version of this program held none."""
        return 0 if self.run is None else int(self.run["verdicts"].get("withheld", 0))

    @property
    def held_now(self) -> list[Incident]:
        """The incidents that nobody has released, those whose release stands no longer first: not all are always shown."""
        held = [incident for incident in self.incidents if incident.release is None]
        return sorted(held, key=lambda incident: incident.lapsed is None)

    @property
    def released(self) -> int:
        """Games that it held back and that are flags by now, as people released them."""
        return self.held - sum(int(incident.found["held"]) for incident in self.held_now)

    @property
    def suspicions(self) -> int | None:
        return None if self.run is None else sum(self.run["suspicions"].values())

    @property
    def late(self) -> int | None:
        """Games of earlier days' challenges."""
        return None if self.report is None else sum(row["games"] for row in self.report["late"])

    @property
    def seconds(self) -> float | None:
        """What its steps took together; verifying counts the work of all shards."""
        timings = self.report and self.report["timings"]
        return sum(timings["steps"].values()) if timings else None

    @property
    def nothing_read(self) -> bool:
        """Whether not one of its records could be read: published, but no good night."""
        return self.run is not None and 0 < self.run["records"] == self.run["quarantined"]

    @property
    def is_bad(self) -> bool:
        return self.state == "failed" or self.nothing_read

    @property
    def days(self) -> int:
        return 1 if self.first is None else (self.day - self.first).days + 1


# --- Reading ---------------------------------------------------------------------------------------------------------------

_files: OrderedDict[str, tuple[tuple[int, int], dict[str, Any]]] = OrderedDict()


def read_json(path: Path) -> dict[str, Any] | None:
    """A run.json or report.json; None when there is none.  Kept until the file is another one.  Raises InputError."""
    try:
        stat = path.stat()
        state = (stat.st_mtime_ns, stat.st_size)
        known = _files.get(str(path))
        if known is not None and known[0] == state:
            return known[1]
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({type(error).__name__}), run the night of that day again") from error
    _files[str(path)] = (state, found)
    while len(_files) > _FILES_KEPT:
        _files.popitem(last=False)
    return found


def known_days(lake: Lake, today: date) -> list[Night]:
    """Every day that something is known of, newest first, without what its files say; days in a row that are missing are one."""
    from replay.failures import read_failures

    failures = read_failures(lake)
    published = set(lake.published_days())
    landed = landed_days(lake, published, today)
    found: list[Night] = []
    before = None
    for day in sorted(published | set(failures) | landed):
        if before is not None and (day - before).days > 1 and published and min(published) < day <= max(published):
            found.append(Night(day - timedelta(days=1), "missing", first=before + timedelta(days=1)))
        state = "failed" if day in failures else "published" if day in published else "landed"
        found.append(Night(day, state, failure=failures.get(day)))
        before = day
    return found[::-1]


def landed_days(lake: Lake, published: Collection[date], today: date) -> set[date]:
    """Days besides the ``published`` ones that have log files in the lake; on an object store, of the days since the newest of
    them and before ``today``, a week at most."""
    days = set()
    for folder in (lake.root / "logs").glob("day=*"):
        try:
            day = date.fromisoformat(folder.name.removeprefix("day="))
        except ValueError:
            continue
        if folder.name == f"day={day.isoformat()}":
            days.add(day)
    if not days:
        first = today - timedelta(days=DAYS_LOOKED_AT)
        if published:
            first = max(first, max(published) + timedelta(days=1))
        days = {first + timedelta(days=i) for i in range((today - first).days)}
    return {day for day in days if day not in published and lake.log_files(day)[0]}


def with_files(lake: Lake, nights: Sequence[Night]) -> list[Night]:
    """The nights with what their run.json and report.json say."""
    lake.refresh("runs", "reports", days=[night.day for night in nights])
    found = []
    for night in nights:
        run = read_json(lake.run_file(night.day)) if night.state in ("published", "failed") else None
        report = read_json(lake.day("reports", night.day) / "report.json") if run is not None else None
        found.append(Night(night.day, night.state, run, report, night.failure, night.first))
    if not any(night.held for night in found):
        return found
    releases = releases_of(lake)
    return [replace(night, incidents=tuple(incidents_of(night.run, releases) if night.run else ())) for night in found]


def releases_of(lake: Lake) -> list[Release]:
    """What people released; nothing where that cannot be read, which every page says itself: it all shows as held back then."""
    from replay.reviews.store import open_reviews

    try:
        with open_reviews(lake) as store:
            return store.releases()
    except ReplayError:
        return []


def night_of(lake: Lake, day: date) -> Night:
    """All that is known of a day.  Raises InputError when nothing is."""
    around = [night for night in known_days(lake, datetime.now(UTC).date()) if night.day == day and night.state != "missing"]
    if not around:
        raise InputError(f"nothing is known of a night of {day}: no logs have landed, and none was published")
    return with_files(lake, around)[0]


def published_nights(lake: Lake) -> list[date]:
    """The days with a page of their own: those whose night was published, or failed."""
    days = known_days(lake, datetime.now(UTC).date())
    return [night.day for night in days if night.state in ("published", "failed")]


# --- In words --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Headline:
    """The answer to "was last night fine?": ``kind`` is good, warn or bad, ``sign`` the same as a character."""

    kind: str
    words: str

    @property
    def sign(self) -> str:
        return {"good": "✓", "warn": "!", "bad": "✕"}[self.kind]


def headline(newest: Night | None, due: date | None = None) -> Headline:
    """How the newest night went, in a sentence or three; ``due`` is the day whose night should be there by now."""
    if newest is None:
        return Headline("warn", "No night has run here yet.")
    if newest.state == "failed":
        assert newest.failure is not None
        why = visible(views.sentence(newest.failure.sentence.removeprefix(f"{newest.day}: ")), 1000)
        stays = "" if newest.run is None else " What was published of that day before stays."
        return Headline("bad", f"The night of {newest.day} failed: {why}{stays}")
    if newest.state == "landed":
        return Headline("warn", f"Logs of {newest.day} have landed, but no night has taken them up.")
    assert newest.run is not None
    records = f"{newest.run['records']:,} record{'s' * (newest.run['records'] != 1)}"
    if newest.nothing_read:
        return Headline("bad", f"The night of {newest.day} is published, but none of its {records} could be read.")
    flagged = newest.run["verdicts"]["flagged"]
    behind = (due - newest.day).days if due is not None else 0
    rate = f" ({views.per_thousand(flagged, newest.games)} per 1,000)" if flagged else ""
    words = f"The night of {newest.day} is published: {records}, {flagged:,} flagged{rate}."
    if newest.held_now:
        words = f"{held_words(newest.held_now)} {words}"
    outstanding = newest.report and newest.report["stands_out"]
    if behind > 0:
        none_since = f"that of {due} has not" if behind == 1 else f"none of the {behind:,} nights since then has"
        words += f" It is the newest: {none_since} run."
    if newest.held_now:
        return Headline("bad", words)
    if outstanding:
        names = [visible(row["name"], 40) for row in outstanding[:3]]
        more = f" and {len(outstanding) - 3:,} more" if len(outstanding) > 3 else ""
        return Headline("warn", f"{words} Far above the usual: {', '.join(names)}{more}.")
    if 2 * flagged > (newest.games or 0):
        # The usual rate may be no better: a broken client or rules file, night after night.
        return Headline("warn", f"{words} That is more than half of its games.")
    return Headline("warn" if behind > 0 else "good", words + (" Nothing stands out." if outstanding is not None else ""))


def lapsed_words(incident: Incident) -> str:
    """That an incident was released when other flags were held back, in a sentence; "" for one that was not."""
    return "" if incident.lapsed is None else f"{incident_words.lapsed_words(incident.lapsed.as_json())}."


def held_words(incidents: Sequence[Incident]) -> str:
    """What is held back, in a sentence."""
    held, apps = sum(incident.found["held"] for incident in incidents), len(incidents)
    looks = "app version that looks broken" if apps == 1 else "app versions that look broken"
    return f"Held back: {held:,} flag{'s' * (held != 1)} of {apps:,} {looks}; nobody is accused of them."


def due_day(now: datetime) -> date:
    """The newest day whose night should have run by now."""
    return (now - timedelta(hours=NIGHT_HOURS)).date() - timedelta(days=1)


def other_news(nights: Sequence[Night]) -> list[str]:
    """What else there is to know of the newest nights: others that failed, days without a night."""
    said = []
    published = [night for night in nights if night.state == "published"]
    if nights and published and nights[0].state != "published":
        said.append(headline(published[0]).words)
    failed = [night for night in nights[1:] if night.is_bad]
    if failed:
        said.append(f"Older nights that were not good: {', '.join(str(night.day) for night in failed)}.")
    older = [night for night in nights[1:] if night.held_now]
    held = [str(night.day) for night in older if any(incident.lapsed is None for incident in night.held_now)]
    if held:
        said.append(f"Older nights held flags back too, and nobody released them: {', '.join(held)}.")
    lapsed = [str(night.day) for night in older if any(incident.lapsed is not None for incident in night.held_now)]
    if lapsed:
        said.append(
            "Older nights whose flags were released hold back others now, which must be looked at again:"
            f" {', '.join(lapsed)}."
        )
    missing = sum(night.days for night in nights if night.state == "missing")
    if missing:
        said.append(f"{missing:,} day{'s' * (missing != 1)} between published ones {'have' if missing > 1 else 'has'} no night.")
    return said


# --- Pages -----------------------------------------------------------------------------------------------------------------


@router.get("/")
def nights_page(request: Request, skip: str = "") -> HTMLResponse:
    """The front page: how last night was, the newest nights, and how they compare."""
    now = datetime.now(UTC)
    with views.lake_of(request) as lake:
        days = known_days(lake, now.date())
        offset = views.number_parameter(skip, "skip", 0)
        shown = with_files(lake, days[offset : offset + NIGHTS_SHOWN])
        newest = with_files(lake, days[:1])[0] if days else None
    series = charts.series_of(shown)
    drawn = [charts.shown(kind, series, offset) for kind in charts.KINDS] if len(series.days) > 1 else []
    return views.render(
        request, "nights.html.j2", title="Nights", headline=headline(newest, due_day(now)), newest=newest, nights=shown,
        total=len(days), skip=offset, page_size=NIGHTS_SHOWN, news=other_news(shown) if not offset else [], series=series,
        charts=drawn, group_words=group_words, lapsed_words=lapsed_words,
    )  # fmt: skip


@router.get("/chart.svg")
def chart(request: Request, name: str = "", theme: str = "light", size: str = "wide", skip: str = "") -> Response:
    """One chart of the nights that the front page shows from ``skip`` on."""
    kind = charts.kind_of(name)
    look = charts.look_of(theme, size)
    with views.lake_of(request) as lake:
        offset = views.number_parameter(skip, "skip", 0)
        days = known_days(lake, datetime.now(UTC).date())
        series = charts.series_of(with_files(lake, days[offset : offset + NIGHTS_SHOWN]))
    if not series.days:
        raise InputError("there is no chart to draw: no night is published this far back")
    return kept(request, charts.draw(kind, series, look), "image/svg+xml", charts.version_of(kind, series))
