"""Nights over several days, killed at any moment: the steps, the process that takes one, and what a lake must hold afterwards."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb

from replay.lake import Lake
from replay.late import run_nights
from replay.night import NightSettings, rebuild_standings, restate_standings
from replay.reviews.model import why_not_counted
from tests.replay.night_support import (
    DAYS,
    ONE,
    THREE,
    TWO,
    check_run,
    decide,
    everything,
    simulated,
    verdict_rows,
)

SETTINGS = NightSettings(threads=2, shard_games=40)
LOOK_BACK = 3
# What a step may leave in a lake, besides what was there.
KINDS = {"logs", "truth", "verdicts", "quarantine", "runs", "reports", "warehouse", "staging", ".lock", "reviews.sqlite"}
_WATCHED = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}


@dataclass(frozen=True)
class Step:
    """One thing that somebody starts: ``work`` on the lake, after what came in (``before``, given the held-back lines)."""

    name: str
    work: Callable[[Path], Any]
    before: Callable[[Path, dict[date, list[bytes]]], None] = lambda lake, held: None


def _night(lake: Path, day: date) -> None:
    run_nights(Lake(lake), day, SETTINGS, LOOK_BACK)


def _first(lake: Path) -> None:
    _night(lake, ONE)


def _second(lake: Path) -> None:
    _night(lake, TWO)


def _third(lake: Path) -> None:
    _night(lake, THREE)


def _restate(lake: Path) -> None:
    restate_standings(Lake(lake), SETTINGS)


def _rebuild(lake: Path) -> None:
    rebuild_standings(Lake(lake), SETTINGS)


def _come_late(*days: date) -> Callable[[Path, dict[date, list[bytes]]], None]:
    def land(lake: Path, held: dict[date, list[bytes]]) -> None:
        for day in days:
            # Half of what is left each time, so that a day can be late twice.
            now, held[day] = held[day][::2], held[day][1::2]
            path = lake / "logs" / f"day={day}" / f"late-{len(held[day]):04d}.ndjson"
            path.write_bytes(b"\n".join(now) + b"\n")

    return land


def _decide_about(*days: date) -> Callable[[Path, dict[date, list[bytes]]], None]:
    def decided(lake: Path, held: dict[date, list[bytes]]) -> None:
        for day in days:
            rows = verdict_rows(lake, day)
            counted = next(row for row in rows if row["counted"] and row["suspicions"])
            flagged = next(row for row in rows if row["verdict"] == "flagged" and why_not_counted(row) is None)
            for action, row in (("uphold", counted), ("clear", flagged)):
                decide(lake, action, row["game_id"], day=day, file=row["source_file"], line=row["source_line"])

    return decided


def _both(*actions: Callable[[Path, dict[date, list[bytes]]], None]) -> Callable[[Path, dict[date, list[bytes]]], None]:
    def all_of_them(lake: Path, held: dict[date, list[bytes]]) -> None:
        for action in actions:
            action(lake, held)

    return all_of_them


# Days with files that come late, decisions between them, standings restated and built anew.
STEPS = (
    Step("night of day 1", _first),
    Step("night of day 2, day 1 late", _second, _both(_decide_about(ONE), _come_late(ONE))),
    Step("restating", _restate, _decide_about(TWO)),
    Step("night of day 3, days 1 and 2 late", _third, _come_late(ONE, TWO)),
    Step("building anew", _rebuild, _decide_about(THREE)),
    Step("night of day 3 again, all late", _third, _come_late(ONE, TWO, THREE)),
)


def land_days(lake: Path, lines: int) -> dict[date, list[bytes]]:
    """Land simulated days but for the last third of each, which is returned: it comes late."""
    simulated(lake, lines, formats=("ndjson",))
    held = {}
    for day in DAYS:
        path = sorted((lake / "logs" / f"day={day}").glob("*.ndjson"))[-1]
        found = path.read_bytes().splitlines()
        at = max(1, len(found) * 2 // 3)
        path.write_bytes(b"\n".join(found[:at]) + b"\n")
        held[day] = found[at:]
    return held


@dataclass
class Clean:
    """What the steps leave when nobody disturbs them: ``prepared`` lakes before each, ``after`` their content behind it, and how
    many changes to files (``steps``) and seconds each takes."""

    prepared: list[Path] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def take_step(lake: str, number: int, die_at: int, out: Connection) -> None:
    """In a process of its own: one step, killed at its ``die_at``-th change to the lake (0: never); sends how many it made."""
    made = 0

    def count(event: str, values: Any) -> None:
        nonlocal made
        if event in _WATCHED and lake in str(values[0]) and "/logs" not in str(values[0]):
            made += 1
            if made == die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    STEPS[number].work(Path(lake))
    out.send(made)


def processes() -> Any:
    """Processes for steps: forked from one that has only imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.replay.killing", "replay.publish", "replay.standings", "replay.reviews.store"])
    return context


def start(context: Any, lake: Path, number: int, die_at: int = 0) -> tuple[Any, Connection]:
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=take_step, args=(str(lake), number, die_at, writer))
    process.start()
    writer.close()
    return process, reader


def run_clean(root: Path, context: Any, lines: int = 60) -> Clean:
    """Take all steps undisturbed, each in a process of its own as later."""
    clean, lake = Clean(), root / "lake"
    held = land_days(lake, lines)
    for number, step in enumerate(STEPS):
        step.before(lake, held)
        clean.prepared.append(shutil.copytree(lake, root / f"before-{number}"))
        began = time.monotonic()
        process, reader = start(context, lake, number)
        clean.steps.append(reader.recv())
        process.join()
        clean.seconds.append(time.monotonic() - began)
        assert process.exitcode == 0, step.name
        clean.after.append(everything(lake))
    return clean


@dataclass
class Killer:
    """Kills steps at moments drawn from ``seed`` until ``kills`` of them were, over and over through the days in ``lake``."""

    clean: Clean
    context: Any
    lake: Path
    seed: int
    done: Counter[str] = field(default_factory=Counter)

    def run(self, kills: int) -> None:
        rng = random.Random(self.seed)
        while True:
            shutil.rmtree(self.lake, ignore_errors=True)
            shutil.copytree(self.clean.prepared[0], self.lake)
            for number, step in enumerate(STEPS):
                self.prepare(number)
                for _ in range(rng.choice([1, 1, 2])):
                    if self.done.total() >= kills:
                        return
                    self.kill(number, rng)
                # The rerun, within this process; then the days go on from what it left.
                step.work(self.lake)
                self.compare(number)

    def prepare(self, number: int) -> None:
        """What came in before the step: its logs and the decisions, as in the undisturbed run."""
        prepared = self.clean.prepared[number]
        shutil.copytree(prepared / "logs", self.lake / "logs", dirs_exist_ok=True)
        if (prepared / "reviews.sqlite").exists():
            shutil.copyfile(prepared / "reviews.sqlite", self.lake / "reviews.sqlite")

    def kill(self, number: int, rng: random.Random) -> None:
        """Between two changes anywhere, among the last ones, where a night publishes, or by the clock."""
        steps, drawn = self.clean.steps[number], rng.random()
        die_at = 0 if drawn < 0.3 else rng.randint(1, steps) if drawn < 0.65 else rng.randint(max(1, steps - 25), steps)
        process, reader = start(self.context, self.lake, number, die_at)
        if not die_at:
            time.sleep(rng.random() * self.clean.seconds[number])
            process.kill()
        process.join(120)
        reader.close()
        assert process.exitcode in (-signal.SIGKILL, 0), f"{STEPS[number].name}: {process.exitcode}"
        # One that was through before the kill came, or had less to do than at first, was none.
        if process.exitcode == -signal.SIGKILL:
            self.done[STEPS[number].name] += 1
            self.look(number)

    def look(self, number: int) -> None:
        """What a reader finds after a kill: whole files, counts that add up, boards that are the sums of their bests."""
        lake = Lake(self.lake)
        # A publication that is decided and not through moves a day's files one by one: each is whole, and the next writer goes on
        # with it.
        under_way = (lake.staging / "publish" / "journal.json").exists()
        for day in lake.published_days():
            if under_way:
                assert verdict_rows(self.lake, day)
            else:
                check_run(self.lake, day)
        if not (lake.warehouse / "CURRENT").exists():
            return
        with duckdb.connect(str(lake.current_warehouse()), read_only=True) as con:
            assert con.execute("select count(*) from publication").fetchall() == [(1,)]
            audit = "select (select coalesce(sum(total), 0) from totals) - (select coalesce(sum(score), 0) from daily_best)"
            assert con.execute(audit).fetchall() == [(0,)]

    def compare(self, number: int) -> None:
        where = f"seed {self.seed}, {self.done.total()} kills, behind {STEPS[number].name}"
        files, tables = everything(self.lake)
        wanted_files, wanted_tables = self.clean.after[number]
        assert sorted(files) == sorted(wanted_files), where
        assert [name for name in files if files[name] != wanted_files[name]] == [], where
        assert [name for name in tables if tables[name] != wanted_tables.get(name)] == [], where
        assert {path.name for path in self.lake.iterdir()} <= KINDS, where
        assert not list((self.lake / "staging").iterdir()), where
