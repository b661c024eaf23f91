"""The DAG under Airflow: integrity, a day by ``dag.test()`` against the night in one call, the day of a run, the timetable's keys."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from tests.dags.support import ORDER, ROOT, loaded, states
from tests.replay.night_support import ONE, TWO, everything, land, night

pytestmark = pytest.mark.usefixtures("database")


# --- Integrity -----------------------------------------------------------------------------------------------------------


def names(callbacks) -> list[str]:
    """A mapped task holds the callback as it was given, others hold a list."""
    return [callback.__name__ for callback in (callbacks if isinstance(callbacks, list | tuple) else [callbacks] if callbacks else [])]


def test_the_dag_is_sound():
    dag = loaded()
    assert (dag.max_active_runs, dag.catchup) == (1, False)
    assert {"replay", "nightly"} <= set(dag.tags)
    assert [task.task_id for task in dag.topological_sort()] == ORDER
    for before, after in pairwise(ORDER):
        assert after in dag.get_task(before).downstream_task_ids, (before, after)
    for task in dag.tasks:
        assert task.owner not in ("", "airflow"), task.task_id
        assert task.retries >= 2
        assert task.retry_exponential_backoff
        assert task.execution_timeout
        assert task.execution_timeout < dag.dagrun_timeout
        # Whatever fails for good is told; what a night found is told when its report is there.
        assert names(task.on_failure_callback) == ["task_failed"], task.task_id
        told = ["report_written"] if task.task_id == "report" else []
        assert names(task.on_success_callback) == told, task.task_id
    assert names(dag.on_failure_callback) == ["run_failed"]
    # The runbook names every task and every setting that has to be made.
    for word in (*ORDER, "REPLAY_LAKE", "REPLAY_THREADS", "backfill", "partition-key", "allow_empty"):
        assert word in dag.doc_md, word


def test_reading_the_dag_imports_nothing_heavy():
    """Airflow reads DAG files over and over: what takes time is imported when a task runs."""
    code = textwrap.dedent(
        """
        import importlib.util, json, os, sys
        import airflow.sdk
        from airflow.sdk import DAG, Asset, CronPartitionTimetable, Param, task
        from airflow.sdk.exceptions import AirflowFailException
        before = set(sys.modules)
        sys.path.append(os.path.dirname(sys.argv[1]))
        spec = importlib.util.spec_from_file_location("read", sys.argv[1])
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
        print(json.dumps(sorted(set(sys.modules) - before)))
        """
    )
    command = [sys.executable, "-c", code, str(ROOT / "dags" / "nightly_verification.py")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True, timeout=120)
    imported = {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert "notify" in imported
    assert not imported & {"replay", "smtplib", "aiosmtplib", "engine", "duckdb", "numba", "llvmlite", "numpy", "pyarrow", "pydantic_settings"}


# --- A simulated day -----------------------------------------------------------------------------------------------------


def test_a_day_by_the_dag_equals_the_night_in_one_call(lake, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(lake, other)
    for day in (ONE, TWO):
        night(other, day)
        run = loaded().test(run_conf={"day": str(day)})
        assert states(run) == {name: {"success"} for name in ORDER}
        assert len(run.get_task_instances()) > len(ORDER) + 1, "verify is mapped"
    assert everything(lake) == everything(other)
    # The same day again: the same key gives a second run, which changes nothing.
    assert str(loaded().test(run_conf={"day": str(TWO)}).state) == "success"
    assert everything(lake) == everything(other)
    assert not list((lake / "staging").glob("day=*"))


def test_e7_a_day_without_files_fails_and_publishes_nothing(lake):
    """E7: a night that received nothing is no good night, unless somebody says that it is right."""
    dag = loaded()
    for task in dag.tasks:
        task.retries = 0
    run = dag.test(run_conf={"day": "2026-10-20"})
    assert str(run.state) == "failed"
    assert states(run)["pull"] == {"failed"}
    assert not (lake / "verdicts").exists()
    run = loaded().test(run_conf={"day": "2026-10-20", "allow_empty": True})
    assert str(run.state) == "success"
    assert states(run) == {name: {"skipped" if name == "verify" else "success"} for name in ORDER}
    assert json.loads((lake / "runs" / "day=2026-10-20" / "run.json").read_text())["records"] == 0


def test_a_failed_shard_keeps_the_day_from_being_published(lake, monkeypatch):
    """Publication needs all shards; when the fault is gone the same run's day comes out whole."""
    from replay import shards
    from replay.errors import NightError

    whole = shards.verify_shard

    def broken(shard, *rest, **options):
        if shard.number == 1:
            raise NightError("the machine is on fire")
        return whole(shard, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(shards, "verify_shard", broken)
        dag = loaded()
        for task in dag.tasks:
            task.retries = 0
        run = dag.test(run_conf={"day": str(ONE)})
        assert str(run.state) == "failed"
        assert states(run)["publish"] == {"upstream_failed"}
        assert not (lake / "verdicts").exists()
    assert str(loaded().test(run_conf={"day": str(ONE)}).state) == "success"


# --- The day of a run ----------------------------------------------------------------------------------------------------


def test_e10_a_run_by_hand_without_a_day_is_refused(lake):
    """E10: no day is made up from the moment of a run by hand, whatever the clocks do that day."""
    run = loaded().test()
    assert str(run.state) == "failed"
    # It fails at once: no retry mends it.
    assert states(run)["pull"] == {"failed"}
    assert not (lake / "staging").exists()


def settle():
    """The DAG file's own function that says which lake and which day a run is for."""
    return sys.modules[loaded().get_task("pull").python_callable.__module__].settled_day


@pytest.mark.parametrize(("key", "param"), [("2026-10-31", None), (None, "2026-10-31"), ("2026-10-31", "2026-10-31")])
def test_the_day_is_the_partition_key_or_the_parameter(lake, key, param):
    assert settle()(key, {"day": param}) == (str(lake), "2026-10-31")


@pytest.mark.parametrize(("key", "param", "message"), [
    (None, None, "names no day: start it with a partition key or with the parameter day"),
    ("2026-10-31", "2026-10-30", "partition key 2026-10-31 but the parameter day is 2026-10-30"),
    ("2026-10-31T02:00:00", None, "is no day"),
])  # fmt: skip
def test_no_day_or_two_days_are_refused_for_good(lake, key, param, message):
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match=message):
        settle()(key, {"day": param})


def test_a_worker_without_a_lake_is_told(monkeypatch):
    from airflow.sdk.exceptions import AirflowFailException

    monkeypatch.delenv("REPLAY_LAKE", raising=False)
    with pytest.raises(AirflowFailException, match="REPLAY_LAKE is not set"):
        settle()("2026-10-31", {"day": None})


def test_the_key_reaches_the_tasks(lake):
    """A run with a partition key and no parameter: every task works on the key's day."""
    dag = loaded()
    params = {"day": None, "allow_empty": False}
    call = lambda name, *words, **kw: dag.get_task(name).python_callable(*words, partition_key=str(ONE), params=params, **kw)  # noqa: E731
    assert call("pull")["files"] > 0
    assert all(f"day={ONE}" in spec for spec in call("plan"))


# --- The timetable -------------------------------------------------------------------------------------------------------


def keys(first: datetime, count: int) -> list[tuple[str, str]]:
    """(run after, partition key) of ``count`` scheduled runs from ``first`` on, as the scheduler would make them."""
    import pendulum
    from airflow.serialization.serialized_objects import DagSerialization
    from airflow.timetables.base import TimeRestriction

    timetable = DagSerialization.from_dict(DagSerialization.to_dict(loaded())).timetable
    restriction = TimeRestriction(earliest=pendulum.instance(first), latest=None, catchup=True)
    found, last = [], None
    for _ in range(count):
        last = timetable.next_dagrun_info_v2(last_dagrun_info=last, restriction=restriction)
        found.append((last.run_after.isoformat(), last.partition_key))
    return found


@pytest.mark.parametrize("around", [date(2026, 3, 29), date(2026, 10, 25), date(2026, 10, 31), date(2026, 12, 31), date(2028, 2, 29)])
def test_e10_each_date_exactly_once(around):
    """E10: both clock changes, a month's, a year's and a leap February's end: a run a day at 02:00 UTC, for the day before."""
    first = datetime.combine(around - timedelta(days=3), datetime.min.time(), UTC)
    found = keys(first, 7)
    assert [key for _, key in found] == [str(around + timedelta(days=i)) for i in range(-4, 3)]
    assert [moment for moment, _ in found] == [f"{around + timedelta(days=i)}T02:00:00+00:00" for i in range(-3, 4)]


def test_late_logs_land_in_their_own_night(lake):
    """A file that lands for a day that is published comes in when that day runs again, by the same DAG."""
    assert str(loaded().test(run_conf={"day": str(ONE)}).state) == "success"
    before = json.loads((lake / "runs" / f"day={ONE}" / "run.json").read_text())
    land(lake, ONE, "late.ndjson", [b"{"])
    assert str(loaded().test(run_conf={"day": str(ONE)}).state) == "success"
    after = json.loads((lake / "runs" / f"day={ONE}" / "run.json").read_text())
    assert (after["records"], after["quarantined"]) == (before["records"] + 1, before["quarantined"] + 1)


def test_e2_the_next_night_takes_late_files_and_names_what_it_cannot(lake, tmp_path):
    """E2: a file of an old day that lands late is verified by the next night; a day that went bad stays, and is told."""
    assert str(loaded().test(run_conf={"day": str(ONE)}).state) == "success"
    land(lake, ONE, "late.ndjson", [b"{"])
    assert str(loaded().test(run_conf={"day": str(TWO)}).state) == "success"
    run = json.loads((lake / "runs" / f"day={ONE}" / "run.json").read_text())
    assert "late.ndjson" in [entry["file"] for entry in run["inputs"]]
    other = tmp_path / "other"
    shutil.copytree(lake / "logs", other / "logs")
    for day in (ONE, TWO):
        night(other, day)
    assert everything(lake) == everything(other)
    for path in (lake / "logs" / f"day={ONE}").iterdir():
        path.unlink()
    dag = loaded()
    for task in dag.tasks:
        task.retries = 0
    again = dag.test(run_conf={"day": str(TWO)})
    assert states(again) == {name: {"failed" if name == "report" else "success"} for name in ORDER}
    assert everything(lake) == everything(other)
