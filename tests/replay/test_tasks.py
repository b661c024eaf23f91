"""The night as separate calls: the same outputs as in one call, each call twice, killed and run again, in any order of shards.

REPLAY_TASK_KILLS sets how many times each call is killed (2); each is another moment.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from replay import tasks
from replay.errors import DayWouldBeEmptied, InputError, NightError, NightRunning, NothingReceived, UsageError
from replay.lake import Lake
from replay.report import read_report
from tests.replay.night_support import (
    DAYS,
    ONE,
    ROOT,
    THREE,
    TWO,
    everything,
    land,
    night,
    published_files,
    simulated,
    upload,
    warehouse,
    write_challenges,
    write_players,
)

KILLS = int(os.environ.get("REPLAY_TASK_KILLS", "2"))
DAY = str(TWO)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in [name for name in os.environ if name.startswith("REPLAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REPLAY_THREADS", "1")
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "25")


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """Three landed days of which the first and the last are published."""
    lake = simulated(tmp_path_factory.mktemp("begun") / "lake", 200)
    for day in (ONE, THREE):
        night(lake, day)
    return lake


@pytest.fixture(scope="module")
def clean(begun, tmp_path_factory):
    """What ``run_night`` makes of the middle day."""
    lake = tmp_path_factory.mktemp("clean") / "lake"
    shutil.copytree(begun, lake)
    night(lake, TWO)
    return everything(lake), warehouse(lake).name


def copied(begun: Path, target: Path) -> Path:
    shutil.copytree(begun, target)
    return target


def prepared(lake: Path, day: str = DAY) -> list[str]:
    tasks.pull(str(lake), day)
    return tasks.plan(str(lake), day)


def all_tasks(lake: Path, day: str = DAY, times: int = 1, **kw: bool) -> None:
    where = str(lake)

    def repeated(call):
        answers = [call() for _ in range(times)]
        assert all(answer == answers[0] for answer in answers[1:])
        return answers[0]

    repeated(lambda: tasks.pull(where, day, **kw))
    specs = repeated(lambda: tasks.plan(where, day))
    for spec in specs:
        repeated(lambda spec=spec: tasks.verify(where, day, spec))
    repeated(lambda: tasks.publish(where, day, **kw))
    # The second call finds the warehouse there and makes none.
    names = [tasks.standings(where)["warehouse"] for _ in range(times)]
    assert len(set(names)) == 1
    repeated(lambda: tasks.report(where, day))


# --- Equal outputs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2])
def test_tasks_equal_the_night_in_one_call(begun, clean, tmp_path, times):
    lake = copied(begun, tmp_path / "lake")
    all_tasks(lake, times=times)
    assert everything(lake) == clean[0]
    assert warehouse(lake).name == clean[1]
    assert not (lake / "staging" / f"day={DAY}").exists()


def test_every_day_by_tasks(begun, tmp_path):
    """A lake that only ever saw tasks, in another order of days, equals one of whole nights."""
    logs = tmp_path / "lake"
    shutil.copytree(begun / "logs", logs / "logs")
    for day in (TWO, THREE, ONE):
        all_tasks(logs, str(day))
    other = tmp_path / "other"
    shutil.copytree(begun / "logs", other / "logs")
    for day in DAYS:
        night(other, day)
    assert everything(logs) == everything(other)


def test_answers_are_counts_and_paths(begun, tmp_path):
    lake = copied(begun, tmp_path / "lake")
    pulled = tasks.pull(str(lake), DAY)
    files = list((lake / "logs" / f"day={DAY}").iterdir())
    assert pulled == {"files": len(files), "bytes": sum(path.stat().st_size for path in files), "landed": 0, "left": 0}
    specs = tasks.plan(str(lake), DAY)
    assert len(specs) > 3
    assert all((lake / spec).is_file() for spec in specs)
    answers = [tasks.verify(str(lake), DAY, spec) for spec in reversed(specs)]
    published = tasks.publish(str(lake), DAY)
    assert sum(answer["records"] for answer in answers) == published["records"]
    assert sum(answer["quarantined"] for answer in answers) == published["quarantined"]
    for answer in (pulled, specs, answers, published, tasks.standings(str(lake)), tasks.report(str(lake), DAY)):
        assert len(json.dumps(answer)) < 4000


def test_a_thousand_tasks_at_most(tmp_path, monkeypatch):
    """Airflow maps one task at most 1,024 times: the number of shards does not decide the number of tasks."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(challenges))
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "1")
    lake = tmp_path / "lake"
    # Lines that cannot be read are records too, and quick ones.
    land(lake, THREE, "a.ndjson", [upload("g", "p"), *[b"{}%d" % number for number in range(1300)]])
    day = str(THREE)
    specs = prepared(lake, day)
    sizes = [len(json.loads((lake / spec).read_text())["shards"]) for spec in specs]
    assert len(specs) == tasks.MAX_SPECS == 1000
    assert set(sizes) <= {1, 2, 3}
    numbers = [shard["number"] for spec in specs for shard in json.loads((lake / spec).read_text())["shards"]]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 1024


def test_groups_lose_and_double_nothing(begun, clean, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "MAX_SPECS", 3)
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "9")
    lake = copied(begun, tmp_path / "lake")
    specs = prepared(lake)
    sizes = [len(json.loads((lake / spec).read_text())["shards"]) for spec in specs]
    assert len(sizes) == 3
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) > 1
    all_tasks(lake)
    assert everything(lake) == clean[0]


# --- The report ----------------------------------------------------------------------------------------------------------


def test_the_report_tells_what_each_call_took(begun, clean, tmp_path):
    """The times lie beside the results; the slowest shard is one of them, and no output depends on any."""
    lake = copied(begun, tmp_path / "lake")
    specs = prepared(lake)
    for number, spec in enumerate(specs):
        tasks.verify(str(lake), DAY, spec)
        held = lake / spec.replace("spec-", "verified-")
        found = json.loads(held.read_text())
        assert [entry["number"] for entry in found["timings"]] == [result["number"] for result in found["results"]] == [number]
        found["timings"][0]["seconds"] = 100.0 if number == 1 else 0.5
        held.write_text(json.dumps(found))
    tasks.publish(str(lake), DAY)
    tasks.standings(str(lake), DAY)
    tasks.late(str(lake), DAY)
    assert tasks.report(str(lake), DAY)["stands_out"] == 0
    told = read_report(Lake(lake), TWO)["timings"]
    assert list(told["steps"]) == ["pull", "plan", "verify", "publish", "standings", "late"]
    assert told["steps"]["verify"] == 100 + 0.5 * (len(specs) - 1)
    assert (told["slowest_shard"]["number"], told["slowest_shard"]["seconds"]) == (1, 100.0)
    assert everything(lake) == clean[0]


def test_a_report_that_failed_fails_again_when_it_is_retried(begun, clean, tmp_path):
    """What late could not verify stays told: a retry does not take the night for a good one."""
    lake = copied(begun, tmp_path / "lake")
    for path in (lake / "logs" / f"day={ONE}").iterdir():
        path.write_bytes(b"")
    for spec in prepared(lake):
        tasks.verify(str(lake), DAY, spec)
    tasks.publish(str(lake), DAY)
    tasks.standings(str(lake), DAY)
    assert tasks.late(str(lake), DAY) == {"restated": 0, "days": [], "problems": 1}
    for _ in range(2):
        with pytest.raises(NightError, match=f"{ONE} has changed and stays as it was published"):
            tasks.report(str(lake), DAY)
        assert read_report(Lake(lake), TWO)["timings"]["slowest_shard"] is not None
    assert everything(lake) == clean[0]


# --- Kills ---------------------------------------------------------------------------------------------------------------

# One call in a process of its own that is killed after so many of its steps below the lake (0: never).
_CALL = textwrap.dedent(
    """
    import json, os, signal, sys
    from replay import tasks

    name, steps, lake, *words = sys.argv[1:]
    steps = left = int(steps)

    def step(event, values):
        global left
        names = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}
        if event in names and steps and lake in str(values[0]) and "/logs" not in str(values[0]):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)
    getattr(tasks, name)(lake, *words)
    print(steps - left)
    """
)


def call(name: str, lake: Path, *words: str, steps: int) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", _CALL, name, str(steps), str(lake), *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=120, check=False)


def _before(name: str, lake: Path) -> tuple[str, ...]:
    """Runs all calls that come before ``name``; its words."""
    order = ["pull", "plan", "verify", "publish", "standings", "report"]
    at = order.index(name)
    if at > 0:
        tasks.pull(str(lake), DAY)
    specs = tasks.plan(str(lake), DAY) if at > 1 else []
    for spec in specs if at > 2 else specs[1:]:
        tasks.verify(str(lake), DAY, spec)
    if at > 3:
        tasks.publish(str(lake), DAY)
    if at > 4:
        tasks.standings(str(lake))
    return {"verify": (DAY, *specs[:1]), "standings": ()}.get(name, (DAY,))


@pytest.mark.kill
@pytest.mark.parametrize("name", ["pull", "plan", "verify", "publish", "standings", "report"])
def test_e1_each_task_killed_and_run_again(begun, clean, tmp_path, name):
    """E1: whichever call dies, whenever: no file that is published is half, the same call again goes on, the night is equal."""
    lake = copied(begun, tmp_path / "whole")
    done = call(name, lake, *_before(name, lake), steps=10**9)
    assert done.returncode == 0, done.stderr.decode()
    steps = int(done.stdout)
    before, after = published_files(begun), clean[0][0]
    # Which moments are tried differs between calls but not between runs.
    for number, moment in enumerate(random.Random(name).sample(range(1, steps + 1), min(KILLS, steps))):
        lake = copied(begun, tmp_path / f"lake{number}")
        words = _before(name, lake)
        killed = call(name, lake, *words, steps=moment)
        assert killed.returncode == -signal.SIGKILL, (moment, killed.stderr.decode())
        for path, data in published_files(lake).items():
            assert data in (before.get(path), after.get(path)), (moment, path)
        if name == "verify":
            with pytest.raises(NightError, match=r"shards are not verified|is not there"):
                tasks.publish(str(lake), DAY)
        again = call(name, lake, *words, steps=0)
        assert again.returncode == 0, (moment, again.stderr.decode())
        _finish(name, lake)
        assert everything(lake) == clean[0], (moment, steps)


def _finish(name: str, lake: Path) -> None:
    where = str(lake)
    if name == "pull":
        tasks.plan(where, DAY)
    if name in ("pull", "plan"):
        for spec in sorted((lake / "staging" / f"day={DAY}").glob("spec-*.json")):
            tasks.verify(where, DAY, str(spec))
    if name in ("pull", "plan", "verify"):
        tasks.publish(where, DAY)
    if name in ("pull", "plan", "verify", "publish"):
        tasks.standings(where)
    if name != "report":
        tasks.report(where, DAY)


# --- Refusals ------------------------------------------------------------------------------------------------------------


def test_missing_shards_are_named(begun, tmp_path):
    lake = copied(begun, tmp_path / "lake")
    before = everything(lake)
    specs = prepared(lake)
    for spec in [*specs[:1], *specs[3:]]:
        tasks.verify(str(lake), DAY, spec)
    with pytest.raises(NightError, match=rf"{DAY}: 2 of {len(specs)} shards are not verified \(1, 2\), verify them"):
        tasks.publish(str(lake), DAY)
    assert everything(lake) == before


def test_calls_out_of_order_are_refused(begun, tmp_path):
    lake = str(copied(begun, tmp_path / "lake"))
    with pytest.raises(InputError, match=f"pull {DAY} first"):
        tasks.plan(lake, DAY)
    with pytest.raises(InputError, match=f"pull {DAY} first"):
        tasks.publish(lake, DAY)
    tasks.pull(lake, DAY)
    with pytest.raises(InputError, match=f"plan {DAY} first"):
        tasks.publish(lake, DAY)
    with pytest.raises(InputError, match="plan the day first"):
        tasks.verify(lake, DAY, f"{lake}/staging/day={DAY}/spec-0000.json")
    with pytest.raises(InputError, match="was not published"):
        tasks.report(lake, DAY)


def test_pull_forgets_what_an_older_one_left(begun, clean, tmp_path):
    """Results of files as they were do not mix with those of the files as they are."""
    lake = copied(begun, tmp_path / "lake")
    specs = prepared(lake)
    for spec in specs:
        tasks.verify(str(lake), DAY, spec)
    prepared(lake)
    with pytest.raises(NightError, match=f"{len(specs)} of {len(specs)} shards are not verified"):
        tasks.publish(str(lake), DAY)
    all_tasks(lake)
    assert everything(lake) == clean[0]


def test_a_plan_of_other_shards_makes_results_void(begun, clean, tmp_path, monkeypatch):
    lake = copied(begun, tmp_path / "lake")
    for spec in prepared(lake):
        tasks.verify(str(lake), DAY, spec)
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "10")
    specs = tasks.plan(str(lake), DAY)
    with pytest.raises(NightError, match="shards are not verified"):
        tasks.publish(str(lake), DAY)
    for spec in specs:
        tasks.verify(str(lake), DAY, spec)
    tasks.publish(str(lake), DAY)
    tasks.standings(str(lake))
    assert everything(lake) == clean[0]


def test_a_plan_that_comes_back_does_not_bring_back_results(begun, clean, tmp_path, monkeypatch):
    """Shards of two plans bear the same numbers: what the first verified is void once the second has begun to replace it."""
    lake = copied(begun, tmp_path / "lake")
    for spec in prepared(lake):
        tasks.verify(str(lake), DAY, spec)
    with monkeypatch.context() as other:
        other.setenv("REPLAY_SHARD_GAMES", "10")
        tasks.verify(str(lake), DAY, tasks.plan(str(lake), DAY)[-1])
    specs = tasks.plan(str(lake), DAY)
    with pytest.raises(NightError, match=f"{len(specs)} of {len(specs)} shards are not verified"):
        tasks.publish(str(lake), DAY)
    for spec in specs:
        tasks.verify(str(lake), DAY, spec)
    # The very same plan again keeps what was verified.
    assert tasks.plan(str(lake), DAY) == specs
    tasks.publish(str(lake), DAY)
    tasks.standings(str(lake))
    assert everything(lake) == clean[0]


def test_a_verify_that_was_overtaken_by_another_plan_leaves_nothing(begun, tmp_path, monkeypatch):
    from replay import shards

    lake = copied(begun, tmp_path / "lake")
    specs = prepared(lake)
    whole = shards.verify_shard

    def overtaken(*words, **options):
        with monkeypatch.context() as other:
            other.setenv("REPLAY_SHARD_GAMES", "10")
            tasks.plan(str(lake), DAY)
        return whole(*words, **options)

    spec = next(spec for spec in specs if json.loads((lake / spec).read_text())["shards"][0]["file"].endswith(".ndjson"))
    with monkeypatch.context() as patch:
        patch.setattr(shards, "verify_shard", overtaken)
        with pytest.raises(NightError, match="planned anew meanwhile"):
            tasks.verify(str(lake), DAY, spec)
    assert not [path.name for path in (lake / "staging" / f"day={DAY}").iterdir() if path.name.startswith(("shard-", "verif"))]


def test_other_reference_tables_in_mid_night_are_refused(begun, tmp_path, monkeypatch):
    """A player who is anonymised between verify and publish must not be published under the old id."""
    lake = copied(begun, tmp_path / "lake")
    specs = prepared(lake)
    for spec in specs:
        tasks.verify(str(lake), DAY, spec)
    monkeypatch.setenv("REPLAY_PLAYERS", str(write_players(tmp_path / "players.csv", ("p1", "anonymised", "x1"))))
    before = published_files(lake)
    for refused in (lambda: tasks.publish(str(lake), DAY), lambda: tasks.verify(str(lake), DAY, specs[0])):
        with pytest.raises(NightError, match="have changed since this day was planned, start it again from pull"):
            refused()
    assert published_files(lake) == before


@pytest.mark.parametrize("change", ["grows", "again", "vanishes"])
def test_e7_files_that_change_after_pull(begun, tmp_path, change):
    """E7: a file that was still being written, was sent again or is gone is not what run.json would name."""
    lake = copied(begun, tmp_path / "lake")
    before = published_files(lake)
    specs = prepared(lake)
    for spec in specs:
        tasks.verify(str(lake), DAY, spec)
    path = sorted((lake / "logs" / f"day={DAY}").iterdir())[0]
    data = path.read_bytes()
    if change == "vanishes":
        path.unlink()
    else:
        path.write_bytes(data + data[:1] if change == "grows" else data[::-1])
        os.utime(path, ns=(1, 1))
    with pytest.raises(InputError, match=r"since it was pulled, start again from pull"):
        tasks.publish(str(lake), DAY)
    if change == "vanishes":
        with pytest.raises(InputError, match=r"is gone since it was pulled|cannot be read any more"):
            tasks.plan(str(lake), DAY)
    assert published_files(lake) == before


def test_empty_days(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAY_CHALLENGES", str(write_challenges(tmp_path / "challenges.csv")))
    lake = tmp_path / "lake"
    land(lake, ONE, "a.ndjson", [upload("g", "p", ONE)])
    all_tasks(lake, str(ONE))
    with pytest.raises(NothingReceived, match="no log file was received"):
        tasks.pull(str(lake), DAY)
    all_tasks(lake, DAY, times=2, allow_empty=True)
    land(lake, TWO, "a.ndjson", [b""])
    prepared(lake)
    with pytest.raises(NightError, match="shards are not verified"):
        tasks.publish(str(lake), DAY)
    for spec in tasks.plan(str(lake), DAY):
        tasks.verify(str(lake), DAY, spec)
    with pytest.raises(NothingReceived, match="no game is in them"):
        tasks.publish(str(lake), DAY)
    # The first day had a game: it is not replaced by none.
    (lake / "logs" / f"day={ONE}" / "a.ndjson").write_bytes(b"\n")
    tasks.pull(str(lake), str(ONE))
    for spec in tasks.plan(str(lake), str(ONE)):
        tasks.verify(str(lake), str(ONE), spec)
    with pytest.raises(DayWouldBeEmptied):
        tasks.publish(str(lake), str(ONE), allow_empty=True)


def test_a_night_without_a_readable_record_is_reported_and_fails(tmp_path):
    lake = tmp_path / "lake"
    land(lake, TWO, "a.ndjson", [b"{", b"["])
    for spec in prepared(lake):
        tasks.verify(str(lake), DAY, spec)
    assert tasks.publish(str(lake), DAY)["quarantined"] == 2
    tasks.standings(str(lake))
    with pytest.raises(NothingReceived, match="none of 2 records could be read"):
        tasks.report(str(lake), DAY)


def test_writers_wait_for_each_other(begun, tmp_path):
    lake = copied(begun, tmp_path / "lake")
    with Lake(lake).lock():
        for refused in (
            lambda: tasks.pull(str(lake), DAY), lambda: tasks.publish(str(lake), DAY), lambda: tasks.standings(str(lake))
        ):  # fmt: skip
            with pytest.raises(NightRunning):
                refused()


def test_wrong_settings_and_lakes_are_sentences(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="no such lake"):
        tasks.pull(str(tmp_path / "nowhere"), DAY)
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "lake").mkdir()
    with pytest.raises(InputError, match="no day was published here"):
        tasks.standings(str(tmp_path / "lake"))
    monkeypatch.setenv("REPLAY_THREADS", "0")
    with pytest.raises(UsageError, match="REPLAY_THREADS"):
        tasks.standings(str(tmp_path / "lake"))


# --- The day of a run ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "day"), [("2026-03-29", None), (None, "2026-03-29"), ("2026-03-29", "2026-03-29"), ("2026-03-29", "")])
def test_the_day_of_a_run(key, day):
    assert tasks.decide_day(key, day) == "2026-03-29"


@pytest.mark.parametrize(("key", "day", "message"), [
    (None, None, "names no day"), ("", "", "names no day"),
    ("2026-10-25", "2026-10-26", "partition key 2026-10-25 but the parameter day is 2026-10-26"),
    (None, "2026-02-29", "is no day"), (None, "20261031", "is no day"), ("2026-10-25T00:00:00", None, "is no day"),
    (None, "\x1b]0;x", r"\\x1b\]0;x' is no day"),
])  # fmt: skip
def test_runs_without_a_day_or_with_two_are_refused(key, day, message):
    with pytest.raises(UsageError, match=message):
        tasks.decide_day(key, day)
