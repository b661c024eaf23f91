"""The night as separate calls for a scheduler: pull, plan, verify, publish, standings, late, report.

Each is one call that takes and returns paths and counts only; what one leaves for the next lies in the lake under
``staging/day=.../``: ``pulled.json`` (the files with their hashes), ``spec-NNNN.json`` (the shards of one verify call),
``plan.json`` (the specs' names, written last), ``verified-NNNN.json`` (a verify call's results, written last) beside the shards'
own files.  Every call may be killed and run again, and run twice: it replaces what it wrote.  The outputs are those of
``run_night``, of which these are the parts.

Settings come from the environment (``REPLAY_*``).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.errors import InputError, NightError, NothingReceived, UsageError

if TYPE_CHECKING:
    from replay.lake import Lake
    from replay.night import NightSettings, Pulled
    from replay.shards import Shard, ShardResult

# Schedulers limit how many tasks one call may be mapped to (Airflow: 1,024): beyond this a call takes several shards.
MAX_SPECS = 1000


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


def pull(lake: str, day: str, allow_empty: bool = False) -> dict[str, Any]:
    """Find the day's files and take their hashes; what an earlier run of the day left in the staging folder goes.

    Returns ``files`` and ``bytes``.  Raises NothingReceived for a day without files unless that is allowed, and InputError.
    """
    from replay import night

    where, when, _ = _night(lake, day)
    changed_at = _changed_at(where.log_files(when)[0])
    pulled = night.pull(where, when)
    night.refuse_without_files(where, when, pulled, allow_empty)
    if _changed_at(pulled.files) != changed_at:
        raise InputError(f"{where.day('logs', when)}: files are still being written there, pull again when they have landed")
    staging = night.staging_of(where, when)
    held = {
        "files": list(map(str, pulled.files)), "inputs": list(pulled.inputs), "left_alone": list(pulled.left_alone),
        "changed_at": changed_at,
    }  # fmt: skip
    with where.lock():
        # A night that runs in one call keeps its shards in the same folder while it holds the lake.
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        _write(staging / "pulled.json", held)
    return {"files": len(pulled.files), "bytes": sum(entry["bytes"] for entry in pulled.inputs)}


def plan(lake: str, day: str) -> list[str]:
    """Cut the pulled files into shards; returns the paths of at most MAX_SPECS specs, each for one call of ``verify``.

    Raises InputError when the day was not pulled or a file is gone, and ReferenceDataError.
    """
    from replay.night import staging_of
    from replay.shards import plan_shards

    where, when, settings = _night(lake, day)
    staging = staging_of(where, when)
    pulled = _pulled(where, when)
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
        shown = [shard.as_json() for shard in group]
        specs[f"spec-{number:04d}.json"] = {"inputs": inputs, "reference": reference, "shards": shown}
    _write_plan(staging, specs)
    return [str(staging / name) for name in specs]


def _write_plan(staging: Path, specs: dict[str, Any]) -> None:
    """Write the specs, and then plan.json with their digests; the very plan that is there already stays, with its results."""
    target = staging / "plan.json"
    wanted = {name: hashlib.sha256(json.dumps(spec).encode()).hexdigest() for name, spec in specs.items()}
    if target.exists() and _read(target, "pull the day again") == wanted:
        return
    # Without it nothing counts as planned, so a plan that is cut off is not taken for a smaller one.
    target.unlink(missing_ok=True)
    # Another plan's shards bear the same numbers: none of its results may count beside files that this one replaces.
    for old in sorted(staging.glob("verified-*.json")):
        old.unlink()
    for name, spec in specs.items():
        _write(staging / name, spec)
    _write(target, wanted)


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

    where, when, settings = _night(lake, day)
    staging = staging_of(where, when)
    path = Path(spec)
    wanted = _read_spec(path)
    digest = _digest(path)
    _refuse_other_reference(wanted, settings, when)
    verifier = settings.verifier()
    results = []
    aside = Path(tempfile.mkdtemp(prefix="verifying-", dir=staging))
    try:
        for shard in _shards(wanted):
            try:
                results.append(verify_shard(shard, verifier, aside, settings.threads))
            except FileNotFoundError as error:
                raise InputError(f"{shard.file}: is gone since it was pulled, start again from pull") from error
        if _digest(path) != digest:
            raise NightError(f"{path}: the day was planned anew meanwhile, what was verified is dropped; verify the new specs")
        for written in sorted(aside.iterdir()):
            os.replace(written, staging / written.name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    _write(_results_of(path), {"spec": digest, "results": [result.as_json() for result in results]})
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
    from replay.lake import Publication, recover
    from replay.publish import stage_day

    where, when, settings = _night(lake, day)
    with where.lock():
        recover(where)
        pulled = _pulled(where, when)
        results = _results(where, when, settings)
        _refuse_changed_files(where, when, pulled)
        night.refuse_without_files(where, when, pulled, allow_empty)
        night.refuse_to_publish(where, when, pulled, results, allow_empty)
        replace_old_ids(where, settings)
        publication = Publication(where)
        run = stage_day(publication, where, when, pulled, results, settings)
        publication.commit()
    return {"records": run["records"], **run["verdicts"], "quarantined": run["quarantined"]}


def standings(lake: str) -> dict[str, Any]:
    """Build the warehouse from the published verdicts and switch CURRENT to it; returns ``warehouse`` (its name) and ``rows``.

    Raises CheckFailed, NightRunning, and InputError for a lake without a published day.
    """
    from replay import night
    from replay.anonymise import replace_old_ids
    from replay.lake import Publication, recover

    where, settings = _lake(lake)
    with where.lock():
        recover(where)
        if not where.published_days():
            raise InputError(f"{where.root}: no day was published here, publish one first")
        replace_old_ids(where, settings)
        publication = Publication(where)
        rows = night.stage_standings(publication, where, settings)
        publication.commit()
        night.forget_old_warehouses(where)
        return {"warehouse": where.current_warehouse().name, "rows": rows or {}}


def late(lake: str, day: str) -> dict[str, Any]:
    """Verify the published days shortly before again whose files changed; returns how many, and how many could not be.

    The setting ``look_back`` says how many days are looked at.  What is the matter with a day that stays as it was published is
    left for ``report``, so that it does not keep the others from their night.  Raises NightRunning.
    """
    from replay.late import restate_changed
    from replay.night import staging_of
    from replay.settings import load_settings

    where, when, settings = _night(lake, day)
    restated, problems = restate_changed(where, when, settings, load_settings().look_back)
    staging = staging_of(where, when)
    staging.mkdir(parents=True, exist_ok=True)
    _write(staging / "late.json", list(problems))
    return {"restated": len(restated), "problems": len(problems)}


def report(lake: str, day: str) -> dict[str, Any]:
    """Write the night's report and clear the day's staging folder; returns ``records`` and ``flagged``.

    Raises NightError, after the report is written, when no record of the day could be read or ``late`` met a day that it could
    not verify again: no good night.
    """
    from replay.night import read_run, staging_of
    from replay.report import write_report

    where, when, _ = _night(lake, day)
    run = read_run(where, when)
    left = staging_of(where, when) / "late.json"
    problems = json.loads(left.read_text("utf-8")) if left.exists() else []
    with where.lock():
        write_report(where, when)
        shutil.rmtree(staging_of(where, when), ignore_errors=True)
    if problems:
        raise NightError("; ".join(problems))
    if run["records"] and run["quarantined"] == run["records"]:
        raise NothingReceived(f"{day}: none of {run['records']} records could be read, look at the quarantine of that day")
    return {"records": run["records"], "flagged": run["verdicts"]["flagged"]}


# --- State between the calls ---------------------------------------------------------------------------------------------


def _lake(lake: str) -> tuple[Lake, NightSettings]:
    """The lake, and the environment's settings; Arrow's own threads are held to the same number."""
    import pyarrow as pa

    from replay.lake import Lake
    from replay.settings import load_settings

    settings = load_settings().night()
    if settings.threads:
        pa.set_cpu_count(settings.threads)
    # Paths go from one call to the next, which may run in another folder.
    return Lake(Path(lake).absolute()), settings


def _night(lake: str, day: str) -> tuple[Lake, date, NightSettings]:
    when = parse_day(day)
    where, settings = _lake(lake)
    return where, when, settings


def _write(path: Path, content: Any) -> None:
    """Write JSON aside, under a name of this process's own, and rename it."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".writing", dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as writing:
        json.dump(content, writing)
    os.replace(name, path)


def _read(path: Path, advice: str) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not there or cannot be read, {advice}") from error


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _results_of(spec: Path) -> Path:
    return spec.with_name(spec.name.replace("spec-", "verified-"))


def _pulled(lake: Lake, day: date) -> Pulled:
    from replay.night import Pulled, staging_of

    held = _read(staging_of(lake, day) / "pulled.json", f"pull {day} first")
    return Pulled(tuple(map(Path, held["files"])), tuple(held["inputs"]), tuple(held["left_alone"]))


def _changed_at(files: Iterable[Path]) -> dict[str, int]:
    """When each file was last written, in nanoseconds, by name.  Raises InputError for one that is gone."""
    try:
        return {path.name: path.stat().st_mtime_ns for path in files}
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: is gone since it was pulled, start again from pull") from error


def _refuse_changed_files(lake: Lake, day: date, pulled: Pulled) -> None:
    """Between pull and publish lie hours: a file that was sent again meanwhile is not the one that run.json would name."""
    from replay.night import staging_of

    before = _read(staging_of(lake, day) / "pulled.json", f"pull {day} first")["changed_at"]
    for name, now in _changed_at(pulled.files).items():
        if before.get(name) != now:
            raise InputError(f"{lake.day('logs', day) / name}: was written again since it was pulled, start again from pull")


def _read_spec(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = _read(path, "plan the day first")
    return found


def _shards(spec: dict[str, Any]) -> list[Shard]:
    from replay.shards import Shard

    return [
        Shard(**{**entry, "row_groups": None if entry["row_groups"] is None else tuple(entry["row_groups"])})
        for entry in spec["shards"]
    ]


def _reference(settings: NightSettings) -> str:
    """A hash of all but the logs that verdicts follow from: versions, rules, challenges, players, limits."""
    from engine import ENGINE_VERSION
    from replay.verdict import PROCESSING_VERSION

    tables = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (settings.challenges_file, settings.players_file)]
    rules = sorted((game, version, digest) for (game, version), digest in settings.rulebook().hashes.items())
    what = [ENGINE_VERSION, PROCESSING_VERSION, rules, tables, asdict(settings.judge)]
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
