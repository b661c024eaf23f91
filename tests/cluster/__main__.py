"""A month on many machines with a worker killed in the middle of a shard, compared with the nights of one machine.

Ends with status 0 only if a running shard was hit, the month ended all the same, and both lakes published the same.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from types import FrameType

from tests.cluster.airflow_api import DAG, Attempt
from tests.cluster.compare import differences
from tests.cluster.deployment import ROOT, Deployment, Worker
from tests.cluster.services import ClusterError, descendants, wait_until
from tests.replay.store_support import download_tree, upload_tree

BEGAN = time.monotonic()
FILES_A_DAY = 3
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def say(text: str) -> None:
    sys.stdout.write(f"[{time.monotonic() - BEGAN:4.0f} s] {text}\n")
    sys.stdout.flush()


# --- The month -----------------------------------------------------------------------------------------------------------


def simulate(lake: Path, days: list[date], kill_day: date, options: argparse.Namespace) -> None:
    """Land a month of uploads, a file of each format a day; the day of the kill is larger and has all of its files."""
    lake.mkdir()
    _replay("simulate", "--lake", lake, "--day", days[0], "--days", len(days), "--games", options.games)
    large = lake.with_name("large-day")
    large.mkdir()
    # Each forgery costs the interpreted engine a millisecond: with many of them a shard lasts long enough to be hit.
    _replay("simulate", "--lake", large, "--day", kill_day, "--games", options.kill_games, "--seed", 2, "--forged", 0.5)
    for day in days:
        logs = lake / "logs" / f"day={day}"
        if day == kill_day:
            shutil.rmtree(logs)
            shutil.move(large / "logs" / logs.name, logs)
        else:
            # Every file is a task of its own at least, and costs seconds here however small it is.
            for path in sorted(logs.iterdir())[FILES_A_DAY:]:
                path.unlink()
    shutil.rmtree(large)


def nights_of_one_machine(lake: Path, days: list[date]) -> None:
    for day in days:
        _replay("nightly", "--lake", lake, "--day", day)


def _replay(*words: object) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("REPLAY_")}
    command = [sys.executable, "-m", "replay", *map(str, words)]
    done = subprocess.run(command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"replay {' '.join(map(str, words))} failed: {(done.stderr or done.stdout).strip()[-2000:]}")


# --- The kill ------------------------------------------------------------------------------------------------------------


def kill_in_mid_shard(cluster: Deployment, worker: Worker, day: date, seconds: float) -> tuple[Attempt, float]:
    """SIGKILL everything of a worker while it verifies a shard of ``day``; returns the attempt that died and when (monotonic).

    It is stopped first, and killed only once Airflow says that the task of one of its processes runs and the folder of a shard
    that was begun and is not finished lies on its disk.  Raises ClusterError when no such moment came.
    """
    end = time.monotonic() + seconds
    looked = 0.0
    while time.monotonic() < end:
        if not worker.shards_begun(day):
            if time.monotonic() > looked + 10:
                _refuse_without_kill(cluster, day)
                looked = time.monotonic()
            time.sleep(0.01)
            continue
        worker.service.signal_all(signal.SIGSTOP)
        victim = _running(cluster, worker)
        if victim is not None and worker.shards_begun(day):
            worker.service.lose_power()
            return victim, time.monotonic()
        worker.service.signal_all(signal.SIGCONT)
        time.sleep(0.05)
    raise ClusterError(f"in {seconds:.0f} seconds no moment was found in which {worker.service.name} verified a shard of {day}")


def _refuse_without_kill(cluster: Deployment, day: date) -> None:
    """Raises ClusterError when no shard of ``day`` is left to be hit, or a night before it failed."""
    cluster.services.check()
    for night in cluster.api.nights():
        if night.state == "failed":
            raise ClusterError(f"the night of {night.day} failed, before any worker was killed")
        if night.day == day.isoformat() and night.state == "success":
            raise ClusterError(
                f"the kill hit nothing: the night of {day} was over before the worker was seen to verify a shard of it"
            )


def _running(cluster: Deployment, worker: Worker) -> Attempt | None:
    """The attempt at a verify task that Airflow takes for running and that is a process of this worker."""
    pids = set(worker.service.tree())
    running = cluster.api.tasks(state="running", task_id="verify")
    return next((found for found in running if found.task == "verify" and found.pid in pids and worker.ran(found)), None)


# --- The run -------------------------------------------------------------------------------------------------------------


def run(folder: Path, options: argparse.Namespace) -> None:
    days = [options.first_day + timedelta(days=n) for n in range(options.days)]
    kill_day = days[len(days) // 2]
    single = folder / "single"
    cluster = Deployment(folder, options.shard_games)
    try:
        say("PostgreSQL, Redis, S3 server, API server, scheduler, DAG processor and two workers are started")
        cluster.start()
        workers = [cluster.start_worker("w1"), cluster.start_worker("w2")]
        simulate(single, days, kill_day, options)
        upload_tree(cluster.store, single)
        files = sum(path.is_file() for path in (single / "logs").rglob("*"))
        say(f"{len(days)} days landed in {cluster.store.url} and in a folder: {files} files, a larger day among them, {kill_day}")
        nights_of_one_machine(single, days)
        say("the nights of one machine are done")
        cluster.wait_until_ready(workers)
        say("the cluster is ready")
        run_month(cluster, workers, days, kill_day, options)
        compare(download_tree(cluster.store, folder / "lake"), single)
    except Exception:
        _show_logs(folder)
        raise
    finally:
        with undisturbed():
            cluster.stop()


def compare(lake: Path, single: Path) -> None:
    """Raises ClusterError with what differs."""
    found = differences(lake, single)
    if found:
        more = f" (and {len(found) - 20} more)" if len(found) > 20 else ""
        raise ClusterError("the lakes differ: " + "; ".join(found[:20]) + more)
    say("both lakes published the same: verdicts, quarantine and run.json byte for byte, every table, the reports")


def run_month(cluster: Deployment, workers: list[Worker], days: list[date], kill_day: date, options: argparse.Namespace) -> None:
    """Backfill the month, with the kill in it, and see it end.  Raises ClusterError."""
    began = time.monotonic()
    last = days[-1] + timedelta(days=1)
    cluster.airflow(
        "backfill", "create", "--dag-id", DAG, "--from-date", str(days[0]), "--to-date", str(last),
        "--max-active-runs", "1", "--reprocess-behavior", "completed",
    )  # fmt: skip
    say(f"the month is queued: airflow backfill create --from-date {days[0]} --to-date {last}")
    victim, killed = kill_in_mid_shard(cluster, workers[0], kill_day, options.minutes * 60)
    say(f"w1 was killed in the middle of verify[{victim.map_index}] of {kill_day}, attempt {victim.number}")
    wait_for_second_start(cluster, workers, victim, killed)
    # Somebody puts another machine in its place.
    workers = [*workers, cluster.start_worker("w3")]
    wait_for_the_month(cluster, workers[0], days, options.minutes * 60)
    _show_figures(cluster, workers, victim, time.monotonic() - began)


def _show_figures(cluster: Deployment, workers: list[Worker], victim: Attempt, seconds: float) -> None:
    nights = cluster.api.nights()
    usual = [night.seconds for night in nights if night.run_id != victim.run_id]
    killed = next(night.seconds for night in nights if night.run_id == victim.run_id)
    say(
        f"the month took {seconds:.0f} s: a night {median(usual):.1f} s (median; {min(usual):.1f} to {max(usual):.1f}),"
        f" the one of the kill {killed:.0f} s"
    )
    again = [f"{task.task}[{task.map_index}]" for task in cluster.api.tasks(victim.run_id) if task.number > 1]
    say(f"tried twice in the night of the kill: {', '.join(sorted(again))}")
    say("attempts at tasks: " + ", ".join(f"{worker.service.name} {worker.attempts()}" for worker in workers))


def wait_for_second_start(cluster: Deployment, workers: list[Worker], victim: Attempt, killed: float) -> None:
    """Until the shard's next attempt starts on a worker that is alive.  Raises ClusterError."""
    dead, *others = workers
    name = f"verify[{victim.map_index}]"

    def newest() -> Attempt:
        cluster.services.check([dead.service])
        return cluster.api.attempts(victim)[-1]

    wait_until(lambda: newest() != victim, f"Airflow notices that {name} is lost", 180, every=0.5)
    say(f"Airflow noticed the lost task {time.monotonic() - killed:.0f} s after the kill")
    wait_until(lambda: newest().number > victim.number and newest().state != "queued", f"{name} starts again", 300, every=0.5)
    seconds, second = time.monotonic() - killed, newest()
    place = next((worker for worker in others if worker.ran(second)), None)
    if place is None:
        raise ClusterError(f"attempt {second.number} at {name} ran on none of the workers that are alive")
    say(f"{name} started again, on {place.service.name}, {seconds:.0f} s after the kill")


def wait_for_the_month(cluster: Deployment, dead: Worker, days: list[date], seconds: float) -> None:
    """Until every night has succeeded.  Raises ClusterError when one fails."""
    wanted = [day.isoformat() for day in days]

    def done() -> bool:
        cluster.services.check([dead.service])
        nights = cluster.api.nights()
        if failed := [night.day for night in nights if night.state == "failed"]:
            raise ClusterError(f"the night of {', '.join(failed)} failed")
        return [night.day for night in nights if night.state == "success"] == wanted

    wait_until(done, "every night of the month has succeeded", seconds, every=2)


def _show_logs(folder: Path) -> None:
    """The ends of the services' logs, and of the newest logs of tasks."""
    tasks = sorted(folder.glob("w*/logs/**/attempt=*.log"), key=lambda path: path.stat().st_mtime)
    for path in [*sorted((folder / "service-logs").glob("*.log")), *tasks[-4:]]:
        lines = path.read_text("utf-8", "replace").splitlines()[-25:]
        sys.stderr.write(f"--- {path.relative_to(folder)}\n" + "".join(f"{line[:400]}\n" for line in lines))


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that end the run are ignored: what is being cleared away is cleared away to the end."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that PostgreSQL's account may pass through too; it goes at the end."""
    folder = Path(tempfile.mkdtemp(prefix="replay-cluster-")).resolve()
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        with undisturbed():
            shutil.rmtree(folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/cluster/run.sh [BIN]", description=__doc__)
    parser.add_argument("--days", type=int, default=28, help="days of the month (%(default)s)")
    parser.add_argument("--first-day", type=date.fromisoformat, default=date(2026, 10, 1), help="(%(default)s)")
    parser.add_argument("--games", type=int, default=600, help="uploads a day, of which half land (%(default)s)")
    parser.add_argument("--kill-games", type=int, default=30_000, help="uploads of the day of the kill (%(default)s)")
    parser.add_argument("--shard-games", type=int, default=2_500, help="games a shard (%(default)s)")
    parser.add_argument("--minutes", type=float, default=15, help="how long the month may take (%(default)s)")
    options = parser.parse_args()
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    try:
        with temporary_folder() as folder:
            run(folder, options)
        problem, status = "", 0
    except ClusterError as error:
        problem, status = str(error), 1
    except KeyboardInterrupt:
        problem, status = "stopped by a signal", 130
    if left := descendants(os.getpid()):
        problem, status = f"{problem}; processes are left: {left}".lstrip("; "), 1
    if problem:
        sys.stderr.write(f"cluster: {problem}\n")
    else:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        say(f"done, with {used.ru_utime + used.ru_stime:.0f} s of processor time")
    return status


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
