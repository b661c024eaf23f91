"""A month of nights by separate calls in any order: backfills, days cleared and run again, late and re-sent files.

The lake is that of the nights one by one, byte by byte.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from replay import tasks
from tests.replay.night_support import everything, night, simulated, verdict_rows, warehouse

# Half of one takes half the time; REPLAY_MONTH=31 takes a whole one.
MONTH = [date(2026, 10, 1) + timedelta(days=i) for i in range(int(os.environ.get("REPLAY_MONTH", "16")))]


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in [name for name in os.environ if name.startswith("REPLAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REPLAY_THREADS", "1")
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "8")


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    """A lake on which a month of tiny days has landed, with uploads that come days after their challenge and retries across days."""
    lake = simulated(tmp_path_factory.mktemp("month") / "lake", 14, days=MONTH)
    # So few games a day may hold no retry at all: a file of one day is sent once more on another.
    sent = sorted((lake / "logs" / f"day={MONTH[3]}").iterdir())[0]
    shutil.copyfile(sent, lake / "logs" / f"day={MONTH[9]}" / f"again-{sent.name}")
    return lake


@pytest.fixture(scope="module")
def one_by_one(logs, tmp_path_factory):
    lake = tmp_path_factory.mktemp("clean") / "lake"
    shutil.copytree(logs / "logs", lake / "logs")
    for day in MONTH:
        night(lake, day)
    rows = [(str(day), row) for day in MONTH for row in verdict_rows(lake, day)]
    assert sum(row["challenge"] < day for day, row in rows) > 5, "games come after their day"
    assert {row["verdict"] for _, row in rows} == {"verified", "flagged", "copy"}
    return everything(lake), warehouse(lake).name


def run(lake: Path, day: date) -> None:
    """The calls of one run of the DAG; the shards in any order, some twice."""
    where, when = str(lake), str(day)
    rng = random.Random(when)
    tasks.pull(where, when)
    specs = tasks.plan(where, when)
    for spec in rng.sample(specs, len(specs)) + rng.choices(specs, k=rng.randint(0, 1)):
        tasks.verify(where, when, spec)
    tasks.publish(where, when)
    tasks.standings(where, when)
    tasks.late(where, when)
    tasks.report(where, when)


def order_of(seed: int) -> Iterator[date]:
    """Every day once in a random order, a fifth of them twice and more, as clearing does."""
    rng = random.Random(seed)
    days = rng.sample(MONTH, len(MONTH))
    for _ in range(len(MONTH) // 4):
        days.insert(rng.randrange(len(days) + 1), rng.choice(MONTH))
    return iter(days)


@pytest.mark.parametrize("seed", [1])
def test_e2_a_month_in_any_order_is_the_month_one_by_one(logs, one_by_one, tmp_path, seed):
    """E2: verdicts, quarantine, run.json and warehouse are equal whatever came first, was run twice, came late or was sent again."""
    lake = tmp_path / "lake"
    shutil.copytree(logs / "logs", lake / "logs")
    # Of some days a file comes late, of others the first sending broke off: both are put right after the first run of the day.
    rng = random.Random(-seed)
    amends: dict[date, tuple[Path, bytes]] = {}
    for day in rng.sample(MONTH, 6):
        path = sorted((lake / "logs" / f"day={day}").iterdir())[-1]
        amends[day] = (path, path.read_bytes())
    for number, (path, whole) in enumerate(amends.values()):
        others = len(list(path.parent.iterdir())) > 1
        path.unlink() if number % 2 and others else path.write_bytes(whole[: len(whole) // 2])
    again = []
    for day in order_of(seed):
        run(lake, day)
        if day in amends:
            path, whole = amends.pop(day)
            path.write_bytes(whole)
            again.append(day)
    assert not amends
    for day in rng.sample(again, len(again)):
        run(lake, day)
    assert everything(lake) == one_by_one[0]
    assert warehouse(lake).name == one_by_one[1]
    assert not list((lake / "staging").glob("day=*"))
