"""The night as separate calls for a scheduler: pull, plan, verify, publish, standings, late, report.

Each is one call that takes and returns counts and names relative to the lake only, so that the next may run on another machine,
which shares nothing but the lake.  What one leaves for the next lies in the lake under
``staging/day=.../``: ``pulled.json`` (the files with their hashes), ``spec-NNNN.json`` (the shards of one verify call),
``plan.json`` (the specs' names, written last), ``verified-NNNN.json`` (a verify call's results, written last) beside the shards'
own files.  What a call took lies there too (``seconds-STEP.json``, and ``timings`` of ``verified-NNNN.json``), for the report
only.  Every call may be killed and run again, and run twice: it replaces what it wrote.  The outputs are those of
``run_night``, of which these are the parts.

A call that fails leaves why in the lake (``replay.failures``), until the day is published or the same call succeeds.  Settings
come from the environment (``REPLAY_*``).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from replay.errors import InputError, NightError, NothingReceived, UsageError

if TYPE_CHECKING:
    from replay.lake import Lake
    from replay.night import NightSettings, Pulled
    from replay.shards import Shard, ShardResult
    from replay.timings import Timings

# Schedulers limit how many tasks one call may be mapped to (Airflow: 1,024): beyond this a call takes several shards.
MAX_SPECS = 1000
# In a staging folder: publishing the day gave published players new ids.
_RENAMED = "renamed.json"


def decide_day(partition_key: str | None, day: str | None) -> str:
    """The day of a run, YYYY-MM-DD, from its partition key or from the ``day`` that somebody gave by hand.

    Raises UsageError when neither is given, both differ, or what is given is no day.
    """
    given = [text for text in (partition_key, day) if text]
    if not given:
        raise UsageError("this run names no day: start it with a partition key or with the parameter day, as YYYY-MM-DD")
    for text in given:
        parse_day(text)
    if len(set(given)) > 1:
        raise UsageError(f"this run has the partition key {partition_key} but the parameter day is {day}: give one of them")
    return given[0]


def parse_day(text: str) -> date:
    """The day that ``text`` names.  Raises UsageError."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise UsageError(f"{text!a} is no day: write it as YYYY-MM-DD")
    return day


def pull(
    lake: str, day: str, allow_empty: bool = False, source: str | None = None, source_options: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Bring the day's files from the source, if one is set, and take the hashes of all; what an earlier run of the day left in
    the staging folder goes.

    ``source`` and ``source_options`` win over the settings.  Returns ``files``, ``bytes``, ``landed`` (files that were brought)
    and ``left`` (files that stay at the source; the log says why).  Raises NothingReceived for a day without files unless that is
    allowed, and InputError.
    """
    from replay import night
    from replay.landing import tell_left

    began = monotonic()
    with _night(lake, day, "pull", source=source, source_options=source_options) as (where, when, settings):
        brought = night.bring(where, when, settings)
        tell_left(brought, when)
        versions = _versions(where, when)
        pulled = night.pull(where, when, brought)
        night.refuse_without_files(where, when, pulled, allow_empty)
        if _versions(where, when) != versions:
            raise InputError(f"{where.day('logs', when)}: files are still being written there, pull again when they have landed")
        staging = night.staging_of(where, when)
        held = {
            "files": [path.name for path in pulled.files], "inputs": list(pulled.inputs), "left_alone": list(pulled.left_alone),
            "left_waiting": [asdict(entry) for entry in pulled.left_waiting], "versions": versions,
        }  # fmt: skip
        with where.work_lock():
            where.forget_work([staging])
            staging.mkdir(parents=True)
            _write(where, staging / "pulled.json", held)
            _note_seconds(where, staging, "pull", began)
        return {
            "files": len(pulled.files), "bytes": sum(entry["bytes"] for entry in pulled.inputs), "landed": len(brought.files),
            "left": len(brought.left),
        }  # fmt: skip


def plan(lake: str, day: str) -> list[str]:
    """Cut the pulled files into shards; returns at most MAX_SPECS specs, each for one call of ``verify``, as their files' names
    relative to the lake.

    Raises InputError when the day was not pulled or a file is gone, and ReferenceDataError.
    """
    from replay.night import staging_of
    from replay.shards import plan_shards

    began = monotonic()
    with _night(lake, day, "plan") as (where, when, settings):
        staging = staging_of(where, when)
        where.fetch_work(staging, "pulled.json", "plan.json", "verified-*.json")
        pulled, versions = _pulled(where, when)
        # What is compressed is one shard, whatever is in it.
        where.fetch_logs([path for path in pulled.files if path.suffix not in (".gz", ".zst")], versions)
        try:
            shards = plan_shards(pulled.files, settings.shard_games)
        except OSError as error:
            raise InputError(f"{error.filename}: cannot be read any more ({error.strerror}), start again from pull") from error
        hashes = {entry["file"]: entry["sha256"] for entry in pulled.inputs}
        reference = _reference(settings)
        specs: dict[str, Any] = {}
        for number, group in enumerate(_groups(shards, MAX_SPECS)):
            # Results count only for the very spec that they were made from: other bytes or other rules make another one.
            inputs = {shard.name: hashes[shard.name] for shard in group}
            found = {shard.name: versions[shard.name] for shard in group}
            # Another machine has the lake under another path, or none.
            shown = [{**shard.as_json(), "file": _relative(where, Path(shard.file))} for shard in group]
            specs[f"spec-{number:04d}.json"] = {
                "inputs": inputs, "versions": found, "reference": reference, "shards": shown,
            }  # fmt: skip
        _write_plan(where, staging, specs)
        _note_seconds(where, staging, "plan", began)
        return [_relative(where, staging / name) for name in specs]


def _relative(lake: Lake, path: Path) -> str:
    return path.relative_to(lake.root).as_posix()


def _write_plan(lake: Lake, staging: Path, specs: dict[str, Any]) -> None:
    """Write the specs, and then plan.json with their digests; the very plan that is there already stays, with its results."""
    target = staging / "plan.json"
    wanted = {name: hashlib.sha256(json.dumps(spec).encode()).hexdigest() for name, spec in specs.items()}
    if target.exists() and _read(target, "pull the day again") == wanted:
        return
    # Without it nothing counts as planned, so a plan that is cut off is not taken for a smaller one.
    lake.forget_work([target])
    # Another plan's shards bear the same numbers: none of its results may count beside files that this one replaces.
    lake.forget_work(sorted(staging.glob("verified-*.json")))
    lake.put_texts({staging / name: json.dumps(spec) for name, spec in specs.items()})
    _write(lake, target, wanted)


def _groups(shards: list[Shard], most: int) -> list[list[Shard]]:
    """At most ``most`` runs of neighbouring shards, of equal length but for one."""
    count = min(most, len(shards))
    bounds = [len(shards) * i // count for i in range(count + 1)] if count else []
    return [shards[start:end] for start, end in pairwise(bounds)]


def verify(lake: str, day: str, spec: str) -> dict[str, Any]:
    """Verify the shards of one spec; returns ``shards``, ``records``, ``rows`` and ``quarantined``.

    They are written to a folder of this call's own and renamed, the results last: a call that is killed, or that runs while an
    earlier one of the same spec has not died yet, leaves nothing half.  Raises InputError and the errors of a night.
    """
    from replay.night import staging_of
    from replay.shards import verify_shard
    from replay.timings import Timings

    with _night(lake, day, "verify") as (where, when, settings):
        staging = staging_of(where, when)
        path = where.root / spec
        where.fetch_work(staging, path.name)
        wanted = _read_spec(path)
        digest = _digest(path)
        _refuse_other_reference(wanted, settings, when)
        verifier = settings.verifier(when)
        results, timings = [], Timings()
        aside = Path(tempfile.mkdtemp(prefix="verifying-", dir=staging))
        try:
            for shard in _shards(where, wanted):
                began = monotonic()
                try:
                    here = where.fetch_shard(shard, wanted["versions"][shard.name])
                    results.append(verify_shard(here, verifier, aside, settings.threads))
                    timings.shard(shard, results[-1].received, began)
                except FileNotFoundError as error:
                    raise InputError(f"{shard.file}: is gone since it was pulled, start again from pull") from error
            where.fetch_work(staging, path.name)
            if not path.exists() or _digest(path) != digest:
                raise NightError(
                    f"{path}: the day was planned anew meanwhile, what was verified is dropped; verify the new specs"
                )
            written = [staging / found.name for found in sorted(aside.iterdir())]
            for target in written:
                os.replace(aside / target.name, target)
            where.share_work(written)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        took = [shard.as_json() for shard in timings.shards]
        _write(where, _results_of(path), {"spec": digest, "results": [r.as_json() for r in results], "timings": took})
        return {
            "shards": len(results), "records": sum(result.received for result in results),
            "rows": sum(result.rows for result in results), "quarantined": sum(result.quarantined for result in results),
        }  # fmt: skip


def publish(lake: str, day: str, allow_empty: bool = False) -> dict[str, Any]:
    """Publish the day's verdicts, quarantine and run.json when all shards are there; returns run.json's counts.

    Raises NightError naming the shards that are missing, NightRunning while another night holds the lake, and what
    ``run_night`` raises; then nothing of this day is visible.
    """
    from replay import night
    from replay.anonymise import replace_old_ids
    from replay.failures import forget_failure
    from replay.lake import Publication, recover
    from replay.publish import stage_day
    from replay.reviews.store import reviews_of

    began = monotonic()
    with _night(lake, day, "publish") as (where, when, settings), where.lock():
        recover(where)
        where.refresh("verdicts", "runs")
        # Standings, which come next, cannot be made without them.
        reviews_of(where)
        where.fetch_work(night.staging_of(where, when))
        pulled, versions = _pulled(where, when)
        results = _results(where, when, settings)
        _refuse_changed_files(where, when, versions)
        night.refuse_without_files(where, when, pulled, allow_empty)
        night.refuse_to_publish(where, when, pulled, results, allow_empty)
        if replace_old_ids(where, settings):
            _write(where, night.staging_of(where, when) / _RENAMED, True)
        publication = Publication(where)
        run = stage_day(publication, where, when, pulled, results, settings)
        publication.commit()
        forget_failure(where, when)
        _note_seconds(where, night.staging_of(where, when), "publish", began)
    return {"records": run["records"], **run["verdicts"], "quarantined": run["quarantined"]}


def standings(lake: str, day: str | None = None) -> dict[str, Any]:
    """Build the warehouse from the published verdicts and the decisions of now, and switch CURRENT to it; returns ``warehouse``
    (its name) and ``rows``.

    All published days go in; ``day`` says only whose report tells what it took.
    Raises CheckFailed, NightRunning, and InputError for a lake without a published day and for decisions that cannot be read.
    """
    from replay.failures import forget_failure
    from replay.night import staging_of

    if day is None:
        with _lake(lake) as (where, settings), where.lock():
            return _standings(where, settings, where.staging / "none")
    began = monotonic()
    with _night(lake, day, "standings") as (where, when, settings), where.lock():
        staging = staging_of(where, when)
        where.fetch_work(staging, "plan.json", _RENAMED)
        made = _standings(where, settings, staging)
        forget_failure(where, when, "standings")
        _note_seconds(where, staging, "standings", began)
        return made


def _standings(lake: Lake, settings: NightSettings, staging: Path) -> dict[str, Any]:
    from replay import night
    from replay.anonymise import replace_old_ids
    from replay.lake import Publication

    night.open_published(lake)
    renamed = bool(replace_old_ids(lake, settings)) or (staging / _RENAMED).exists()
    rows = night.publish_standings(Publication(lake), lake, settings, renamed)
    return {"warehouse": lake.current_warehouse().name, "rows": rows or {}}


def late(lake: str, day: str, source: str | None = None, source_options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Verify the published days shortly before again whose files changed; returns how many and which ``days``, and how many
    could not be.

    What came late is brought from the source first, see ``pull``.
    The setting ``look_back`` says how many days are looked at.  What is the matter with a day that stays as it was published is
    left for ``report``, so that it does not keep the others from their night.  Raises NightRunning.
    """
    from replay.failures import forget_failure
    from replay.late import restate_changed
    from replay.night import staging_of
    from replay.settings import load_settings

    began = monotonic()
    with _night(lake, day, "late", source=source, source_options=source_options) as (where, when, settings):
        restated, problems = restate_changed(where, when, settings, load_settings().look_back)
        staging = staging_of(where, when)
        staging.mkdir(parents=True, exist_ok=True)
        _write(where, staging / "late.json", list(problems))
        _note_seconds(where, staging, "late", began)
        forget_failure(where, when, "late")
        return {"restated": len(restated), "days": [earlier.isoformat() for earlier in restated], "problems": len(problems)}


def report(lake: str, day: str) -> dict[str, Any]:
    """Write the night's report and clear the day's staging folder; returns ``records``, ``flagged``, ``withheld`` and
    ``stands_out`` (how many reasons and clients have a flag rate far above the usual).

    Raises NightError, after the report is written, when no record of the day could be read or ``late`` met a day that it could
    not verify again: no good night.
    """
    from replay.failures import forget_failure
    from replay.night import read_run, staging_of
    from replay.report import write_report
    from replay.settings import load_settings

    with _night(lake, day, "report") as (where, when, _):
        where.refresh("runs", days=[when])
        run = read_run(where, when)
        staging = staging_of(where, when)
        where.fetch_work(staging, "late.json", "seconds-*.json", "verified-*.json")
        left = staging / "late.json"
        problems = json.loads(left.read_text("utf-8")) if left.exists() else []
        with where.work_lock():
            written = write_report(where, when, load_settings().far_above(), _timings(staging))
            if problems:
                # What late left stays: a retry must not find nothing and take the night for a good one.
                raise NightError("; ".join(problems))
            where.forget_work([staging])
        if run["records"] and run["quarantined"] == run["records"]:
            raise NothingReceived(f"{day}: none of {run['records']} records could be read, look at the quarantine of that day")
        forget_failure(where, when, "report")
    counts = {"records": run["records"], **{name: run["verdicts"].get(name, 0) for name in ("flagged", "withheld")}}
    return {**counts, "stands_out": len(written["stands_out"] or ())}


def read_report(lake: str, day: str) -> dict[str, Any]:
    """The report that ``report`` wrote.  Raises InputError."""
    from replay import report as reports

    with _lake(lake) as (where, _):
        return reports.read_report(where, parse_day(day))


# --- State between the calls ---------------------------------------------------------------------------------------------


@contextmanager
def _lake(lake: str, **options: Any) -> Iterator[tuple[Lake, NightSettings]]:
    """The lake, and the environment's settings with ``options`` on top; Arrow's own threads are held to the same number."""
    import pyarrow as pa

    from replay.lake import open_lake
    from replay.settings import load_settings

    settings = load_settings(**options).night()
    if settings.threads:
        pa.set_cpu_count(settings.threads)
    with open_lake(lake if "://" in lake else Path(lake).absolute()) as where:
        yield where, settings


@contextmanager
def _night(lake: str, day: str, step: str, **options: Any) -> Iterator[tuple[Lake, date, NightSettings]]:
    """``_lake``, for a step of a day's night: why it fails is left in the lake."""
    from replay.failures import noting_failure

    when = parse_day(day)
    with _lake(lake, **options) as (where, settings), noting_failure(where, when, step):
        yield where, when, settings


def _write(lake: Lake, path: Path, content: Any) -> None:
    lake.put_texts({path: json.dumps(content)})


def _read(path: Path, advice: str) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not there or cannot be read, {advice}") from error


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _note_seconds(lake: Lake, staging: Path, step: str, began: float) -> None:
    """Leave what a step took for the report.  A step that is run by itself, with no staging folder, has no report to come."""
    if staging.is_dir():
        _write(lake, staging / f"seconds-{step}.json", monotonic() - began)


def _timings(staging: Path) -> Timings:
    """What the calls of this night left of their times; what was not measured is not there."""
    from replay.timings import ShardTime, Timings

    found = Timings()
    for path in sorted(staging.glob("seconds-*.json")):
        found.steps[path.stem.removeprefix("seconds-")] = _read(path, "clear the day from pull")
    for path in sorted(staging.glob("verified-*.json")):
        found.shards += [ShardTime(**entry) for entry in _read(path, "verify this spec again").get("timings", ())]
    return found


def _results_of(spec: Path) -> Path:
    return spec.with_name(spec.name.replace("spec-", "verified-"))


def _pulled(lake: Lake, day: date) -> tuple[Pulled, dict[str, str]]:
    """The pulled files, and the version of each by name."""
    from replay.night import Pulled, staging_of
    from replay.sources import Left

    held = _read(staging_of(lake, day) / "pulled.json", f"pull {day} first")
    files = tuple(lake.day("logs", day) / name for name in held["files"])
    left = tuple(Left(**entry) for entry in held["left_waiting"])
    return Pulled(files, tuple(held["inputs"]), tuple(held["left_alone"]), left), held["versions"]


def _versions(lake: Lake, day: date) -> dict[str, str]:
    return {name: found.version for name, found in lake.landed(day).items()}


def _refuse_changed_files(lake: Lake, day: date, pulled: dict[str, str]) -> None:
    """Between pull and publish lie hours: a file that was sent again meanwhile is not the one that run.json would name."""
    now = _versions(lake, day)
    for name, version in pulled.items():
        if now.get(name) != version:
            what = "was written again" if name in now else "is gone"
            raise InputError(f"{lake.day('logs', day) / name}: {what} since it was pulled, start again from pull")


def _read_spec(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = _read(path, "plan the day first")
    return found


def _shards(lake: Lake, spec: dict[str, Any]) -> list[Shard]:
    from replay.shards import Shard

    shards = []
    for entry in spec["shards"]:
        groups = None if entry["row_groups"] is None else tuple(entry["row_groups"])
        shards.append(Shard(**{**entry, "file": str(lake.root / entry["file"]), "row_groups": groups}))
    return shards


def _reference(settings: NightSettings) -> str:
    """A hash of all but the logs that verdicts follow from: versions, rules, challenges, players, limits."""
    from engine import ENGINE_VERSION
    from replay.verdict import PROCESSING_VERSION

    tables = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (settings.challenges_file, settings.players_file)]
    rules = sorted((game, version, digest) for (game, version), digest in settings.rulebook().hashes.items())
    what = [ENGINE_VERSION, PROCESSING_VERSION, rules, tables, asdict(settings.judge), asdict(settings.draw(date.min))]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def _refuse_other_reference(spec: dict[str, Any], settings: NightSettings, day: date) -> None:
    """All shards of a day are judged alike, and run.json says by what."""
    if spec["reference"] != _reference(settings):
        raise NightError(
            f"{day}: the engine, rules, challenges, players or limits have changed since this day was planned,"
            " start it again from pull"
        )


def _results(lake: Lake, day: date, settings: NightSettings) -> list[ShardResult]:
    """The results of all planned shards.  Raises NightError that names the missing ones."""
    from replay.night import staging_of
    from replay.shards import ShardResult

    staging = staging_of(lake, day)
    results: list[ShardResult] = []
    missing: list[int] = []
    planned = 0
    for name, digest in _read(staging / "plan.json", f"plan {day} first").items():
        path = staging / name
        spec = _read_spec(path)
        _refuse_other_reference(spec, settings, day)
        planned += len(spec["shards"])
        found = _results_of(path)
        held = _read(found, "verify this spec again") if found.exists() else {}
        if held.get("spec") == digest == _digest(path):
            results += [ShardResult(**entry) for entry in held["results"]]
        else:
            missing += [entry["number"] for entry in spec["shards"]]
    if missing:
        names = ", ".join(map(str, missing[:20])) + (f" and {len(missing) - 20} more" if len(missing) > 20 else "")
        raise NightError(f"{day}: {len(missing)} of {planned} shards are not verified ({names}), verify them and publish again")
    return results
