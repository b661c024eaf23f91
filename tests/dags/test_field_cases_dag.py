"""Field cases of the batch under Airflow: kills and retries, orders of days, empty and bad days, sizes, what XCom carries."""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from replay import tasks
from replay.errors import InputError, NightError, NightRunning
from replay.lake import Lake
from tests.dags.support import ORDER, ROOT, loaded, run_day, states
from tests.replay.night_support import (
    DAYS,
    ONE,
    THREE,
    TWO,
    ask,
    dump,
    everything,
    land,
    line,
    night,
    published_files,
    simulated,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
)

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def challenges(environment, tmp_path, monkeypatch) -> Path:
    found = write_challenges(tmp_path / "challenges.csv")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(found))
    return found


def by_nights(lake: Path, other: Path, *days, **settings):
    """What undisturbed nights of a single call make of the same logs."""
    shutil.copytree(lake / "logs", other / "logs")
    for day in days:
        night(other, day, **settings)
    return everything(other)


# --- E1: retry, run again, kill ------------------------------------------------------------------------------------------

# A run of the DAG in a process of its own, which dies while it writes the rows of one shard.
_KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from tests.dags.support import loaded
    from airflow.utils.db import initdb
    from replay import shards

    initdb()

    whole, wanted = shards._Writer.write, int(sys.argv[2])
    verify = shards.verify_shard

    def verify_or_die(shard, *words, **options):
        def write(self, batch):
            whole(self, batch)
            if shard.number == wanted:
                os.kill(os.getpid(), signal.SIGKILL)
        shards._Writer.write = write
        return verify(shard, *words, **options)

    shards.verify_shard = verify_or_die
    loaded().test(run_conf={"day": sys.argv[1]})
    """
)


@pytest.mark.kill
def test_e1_a_run_killed_while_it_writes_a_shard(environment, tmp_path, monkeypatch):
    """E1: the run dies while shard 6 is written; nothing of the day is visible; the day again gives one clean night's outputs."""
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "20")
    lake = simulated(environment, 200, days=(ONE, TWO), formats=("ndjson",))
    night(lake, ONE)
    before = everything(lake)
    command = [sys.executable, "-c", _KILLED, str(TWO), "5"]
    # It makes an Airflow home of its own, which nothing removes when it is killed.
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    killed = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stdout[-2000:] + killed.stderr[-2000:]
    left = lake / "staging" / f"day={TWO}"
    assert len(list(left.glob("spec-*.json"))) >= 8
    # Mapped tasks run in any order; those before the kill have left their results, the killed one nothing that counts.
    assert not (left / "verified-0005.json").exists()
    assert list(left.glob("verifying-*/shard-00005.arrow.writing"))
    assert everything(lake) == before
    with pytest.raises(NightError, match=r"shards are not verified \(.*\b5\b"):
        tasks.publish(str(lake), str(TWO))
    for _ in range(2):
        assert str(run_day(TWO).state) == "success"
        assert everything(lake) == by_nights(lake, tmp_path / f"other{_}", ONE, TWO)
    assert not left.exists()


def test_e1_every_task_fails_once_and_is_retried(lake, tmp_path, monkeypatch):
    """E1: each task does its work, is taken for failed, and is retried by Airflow: no row twice, the night's outputs."""
    failed: list[str] = []

    def once(name):
        whole = getattr(tasks, name)

        def call(*words, **options):
            answer = whole(*words, **options)
            key = f"{name} {words[2] if name == 'verify' else ''}"
            if key not in failed:
                failed.append(key)
                raise NightError("the answer was lost")
            return answer

        return call

    for name in ORDER:
        monkeypatch.setattr(tasks, name, once(name))
    dag = loaded(1)
    for task in dag.tasks:
        if task.task_id == "verify":
            task.partial_kwargs["retry_delay"] = timedelta(0)
        else:
            task.retry_delay = timedelta(0)
    run = dag.test(run_conf={"day": str(ONE)})
    assert states(run) == {name: {"success"} for name in ORDER}
    assert {key.split()[0] for key in failed} == set(ORDER)
    assert len(failed) > len(ORDER)
    assert everything(lake) == by_nights(lake, tmp_path / "other", ONE)


@pytest.mark.parametrize("seed", range(4))
def test_e1_two_runs_of_one_day_at_the_same_time(lake, tmp_path, monkeypatch, seed):
    """E1: the tasks of two runs in a random interleaving: each is refused or works, and what is published is one clean night."""
    clean = by_nights(lake, tmp_path / "other", ONE)
    day, params, rng = str(ONE), {"day": None, "allow_empty": False}, random.Random(seed)
    dag = loaded()

    def run():
        call = lambda name, *words: dag.get_task(name).python_callable(*words, partition_key=day, params=params)  # noqa: E731
        yield call("pull")
        specs = call("plan")
        yield specs
        for spec in specs:
            yield tasks.verify(str(lake), day, spec)
        yield call("publish")
        yield tasks.standings(str(lake), day)
        yield tasks.late(str(lake), day)
        yield call("report")

    running, refused = [run(), run()], 0
    while running:
        one = rng.choice(running)
        try:
            next(one)
        except StopIteration:
            running.remove(one)
        except (NightError, InputError):
            # Its retry meets the same: that run is over.
            refused += 1
            running.remove(one)
        assert published_files(lake) in ({}, clean[0])
    assert refused < 2 or not published_files(lake)
    assert str(run_day(ONE).state) == "success"
    assert everything(lake) == clean


def test_e1_a_second_writer_waits(lake, tmp_path, monkeypatch):
    """E1: a night by hand holds the lake when publish begins: the task fails, is retried when the lake is free, and is right."""
    whole, tries = tasks.publish, []

    def busy(*words, **options):
        tries.append(1)
        if len(tries) == 1:
            with Lake(lake).lock():
                return whole(*words, **options)
        return whole(*words, **options)

    monkeypatch.setattr(tasks, "publish", busy)
    dag = loaded(1)
    dag.get_task("publish").retry_delay = timedelta(0)
    assert str(dag.test(run_conf={"day": str(ONE)}).state) == "success"
    assert len(tries) == 2
    assert everything(lake) == by_nights(lake, tmp_path / "other", ONE)
    with Lake(lake).lock(), pytest.raises(NightRunning):
        whole(str(lake), str(ONE))


# --- E2: late data and order ---------------------------------------------------------------------------------------------


def test_e2_days_in_two_orders_with_a_late_shard(environment, tmp_path):
    """E2: 3 1 2 with day 1 once more, after a file of it came late and another was sent again, ends as 1 2 3 with all there."""
    lake = simulated(environment, 60)
    late = sorted((lake / "logs" / f"day={ONE}").iterdir())[0]
    aside = late.rename(tmp_path / late.name)
    again = sorted((lake / "logs" / f"day={TWO}").iterdir())[0]
    whole = again.read_bytes()
    assert str(run_day(THREE).state) == "success"
    assert str(run_day(ONE).state) == "success"
    aside.rename(late)
    # Of day 2 the first sending breaks off in its middle; the second comes before its night is run again.
    again.write_bytes(whole[: len(whole) // 2])
    assert str(run_day(TWO).state) == "success"
    again.write_bytes(whole)
    # Three days are looked back at: the night of day 3 takes both up.
    assert str(run_day(THREE).state) == "success"
    assert everything(lake) == by_nights(lake, tmp_path / "other", *DAYS)


# --- E7: empty and wholly bad days ---------------------------------------------------------------------------------------

BAD_DAYS = {
    # What landed, then: the task that fails (None: a good night), what its error says, whether the day is published.
    "no file": (None, "pull", "no log file was received for 2026-10-30", False),
    "zero lines": ([], "publish", "1 log files were received for 2026-10-30, but no game is in them", False),
    "blank lines": ([b"", b" "], "publish", "but no game is in them", False),
    "all malformed": ([b"{", b"[]", b"nonsense"], "report", "none of 3 records could be read", True),
    "all mismatch": ([upload(f"m{i}", f"m{i}", TWO, seed=i, score=7) for i in range(5)], None, "", True),
    "wrong day": ([upload(f"w{i}", f"w{i}", ONE, seed=i, mode="training") for i in range(3)], None, "", True),
}


@pytest.mark.parametrize("kind", BAD_DAYS)
def test_e7_a_bad_day_is_a_state_of_its_own_and_changes_no_board(environment, challenges, kind, caplog):
    """E7: nothing received, no game, nothing readable, all flagged: each its own state; yesterday's boards and totals stay."""
    lines, fails, sentence, published = BAD_DAYS[kind]
    land(environment, ONE, "a.ndjson", [upload(f"g{i}", f"p{i}", ONE, seed=i) for i in range(5)])
    assert str(run_day(ONE).state) == "success"
    boards = dump(warehouse(environment))
    if lines is not None:
        land(environment, TWO, "a.ndjson", lines)
    with caplog.at_level(logging.ERROR, logger="notify"):
        run = run_day(TWO)
    found = states(run)
    assert str(run.state) == ("failed" if fails else "success")
    assert [name for name in ORDER if "failed" in found[name]] == ([fails] if fails else [])
    told = [record.getMessage() for record in caplog.records if f"{fails} of the night" in record.getMessage()]
    assert len(told) == (1 if fails else 0)
    assert all(sentence in text for text in told)
    assert Lake(environment).published_days() == ([ONE, TWO] if published else [ONE])
    after = dump(warehouse(environment))
    if not published:
        assert after == boards
    for name in ("totals", "totals_month", "leaderboard", "daily_best", "daily_ranking"):
        assert after[f"main.{name}"] == boards[f"main.{name}"], name
    assert ask(environment, "select count(*), sum(total) from totals")[0][0] == 5


def test_e7_sixty_percent_malformed_take_nothing_from_the_rest(environment, challenges):
    """E7: two good lines of five count, three are set aside with their reason."""
    land(environment, ONE, "a.ndjson", [upload("g1", "p1", ONE), b"{", b"x", b"[1]", upload("g2", "p2", ONE, seed=2)])
    assert str(run_day(ONE).state) == "success"
    assert (len(verdict_rows(environment, ONE)), len(verdict_rows(environment, ONE, "quarantine"))) == (2, 3)
    assert ask(environment, "select count(*) from totals") == [(2,)]


@pytest.mark.parametrize("content", [[], [b"{"] * 3, None])
def test_e7_a_published_day_is_never_emptied(environment, challenges, content):
    """E7: the files of a published day are replaced by empty or broken ones, or go: the run fails, the day and its boards stay."""
    path = land(environment, ONE, "a.ndjson", [upload("g1", "p1", ONE)])
    assert str(run_day(ONE).state) == "success"
    before = everything(environment)
    if content is None:
        path.unlink()
    else:
        land(environment, ONE, "a.ndjson", content)
    for allow_empty in (False, True):
        run = run_day(ONE, allow_empty=allow_empty)
        assert str(run.state) == "failed"
        assert "success" not in states(run)["standings"]
        assert everything(environment) == before


# --- E9: sizes and XCom --------------------------------------------------------------------------------------------------


def xcoms(run) -> dict[str, list[str]]:
    """What the tasks of a run left in XCom, as JSON, by task."""
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    found: dict[str, list[str]] = {}
    with create_session() as session:
        for row in session.scalars(select(XComModel).where(XComModel.run_id == run.run_id)):
            found.setdefault(row.task_id, []).append(json.dumps(row.value))
    return found


def test_e9_many_small_shards_a_large_one_and_an_absurd_record(environment, challenges, tmp_path, monkeypatch):
    """E9: 31 small files and a large one in more shards than tasks; XCom holds paths and counts; one absurd line is set aside."""
    monkeypatch.setattr(tasks, "MAX_SPECS", 6)
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "25")
    for i in range(31):
        land(environment, ONE, f"t{i:02d}.ndjson", [upload(f"t{i}-{j}", f"t{i}-{j}", ONE, seed=j) for j in range(2)])
    large = [upload(f"g{i}", f"p{i}", ONE, seed=i % 6, tokens=12 + i % 20) for i in range(600)]
    absurd = b'{"game_id":"absurd","moves":"' + b"1a1" * 7_000_000 + b'"}'
    land(environment, ONE, "z.ndjson", [*large[:300], absurd, *large[300:]])
    flagged = [replace(upload(f"f{i}", f"f{i}", ONE, seed=i % 6), score=1) for i in range(300)]
    land(environment, ONE, "y.ndjson", flagged)
    run = run_day(ONE)
    assert states(run) == {name: {"success"} for name in ORDER}
    verified = [instance for instance in run.get_task_instances() if instance.task_id == "verify"]
    assert len(verified) == 6
    assert {instance.rendered_map_index for instance in verified} == {f"spec-{i:04d}" for i in range(6)}
    said = json.loads((environment / "runs" / f"day={ONE}" / "run.json").read_text())
    assert (said["records"], said["quarantine_codes"], said["verdicts"]["flagged"]) == (963, {"too_large": 1}, 300)
    held = xcoms(run)
    assert set(held) == set(ORDER)
    assert len(held["verify"]) == 6
    texts = [text for values in held.values() for text in values]
    assert max(map(len, texts)) < 2000, "a path of each spec is the longest"
    assert not [text for text in texts if "f17" in text or "score_mismatch" in text or "1a1" in text]
    assert everything(environment) == by_nights(environment, tmp_path / "other", ONE, challenges=challenges)


def test_e9_the_number_of_shards_does_not_decide_the_number_of_tasks(environment, challenges, monkeypatch):
    """E9: 1,500 shards are planned by the DAG's own task as fewer specs than Airflow maps to, and every shard is in one of them."""
    from airflow.configuration import conf

    monkeypatch.setenv("REPLAY_SHARD_GAMES", "1")
    land(environment, THREE, "a.ndjson", [b"{}%04d" % number for number in range(1500)])
    dag, params = loaded(), {"day": None, "allow_empty": False}
    for name in ("pull", "plan"):
        answer = dag.get_task(name).python_callable(partition_key=str(THREE), params=params)
    assert len(answer) == tasks.MAX_SPECS <= conf.getint("core", "max_map_length")
    # A path each: what `plan` leaves in XCom for a thousand tasks is a hundred kilobytes, whatever is in the shards.
    assert len(json.dumps(answer)) < 200 * len(answer)
    files = sorted((environment / "staging" / f"day={THREE}").glob("spec-*.json"))
    assert [Path(spec).name for spec in answer] == [path.name for path in files]
    numbers = [shard["number"] for path in files for shard in json.loads(path.read_text())["shards"]]
    assert numbers == list(range(1500))


def test_e9_a_shard_s_absurd_line_is_no_task_s_failure(environment, challenges):
    """E9: a line of 20 MB and a log of a million moves are set aside; their shard's other games count."""
    games = [upload(f"g{i}", f"p{i}", ONE, seed=i) for i in range(4)]
    land(
        environment,
        ONE,
        "a.ndjson",
        [*games[:2], b"x" * 20_000_000, line(replace(games[0], game_id="h", moves="1a1" * 10**6)), *games[2:]],
    )
    assert str(run_day(ONE).state) == "success"
    assert {row["code"] for row in verdict_rows(environment, ONE, "quarantine")} == {"too_large"}
    assert len(verdict_rows(environment, ONE)) == 4
