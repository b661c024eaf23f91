"""The cluster run's own judgement: that it sees what differs, and that it leaves no process behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from replay.lake import Lake
from replay.report import write_report
from tests.cluster.__main__ import compare
from tests.cluster.compare import differences
from tests.cluster.services import ClusterError, Service, Services, alive, descendants, free_ports, listens, wait_until
from tests.replay.night_support import DAYS, night, simulated, warehouse


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Two published nights."""
    lake = simulated(tmp_path_factory.mktemp("published") / "lake", 60, DAYS[:2])
    for day in DAYS[:2]:
        night(lake, day)
        write_report(Lake(lake), day)
    return lake


@pytest.fixture
def copy(lake, tmp_path):
    return Path(shutil.copytree(lake, tmp_path / "copy"))


def test_equal_lakes_differ_in_nothing(lake, copy):
    assert differences(copy, lake) == []


@pytest.mark.parametrize(
    "name", ["verdicts/day=2026-10-29/part-0.parquet", "quarantine/day=2026-10-30/part-0.parquet", "runs/day=2026-10-30/run.json"]
)
def test_a_changed_byte_is_found(lake, copy, name):
    path = copy / name
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    assert differences(copy, lake) == [f"{name}: {len(data)} bytes against {len(data)}, the first difference is at byte 40"]


def test_a_missing_and_a_surplus_file_are_found(lake, copy):
    (copy / "runs/day=2026-10-29/run.json").unlink()
    (copy / "verdicts/day=2026-10-29/part-1.parquet").write_bytes(b"x")
    assert differences(copy, lake) == [
        "runs/day=2026-10-29/run.json: is missing", "verdicts/day=2026-10-29/part-1.parquet: is there, and should not be",
    ]  # fmt: skip


def test_another_row_in_a_table_is_found(lake, copy):
    with duckdb.connect(str(warehouse(copy))) as con:
        con.execute("update keyed.totals set total = total + 1 where total = (select max(total) from keyed.totals)")
    # The table, and the view that people read.
    found = differences(copy, lake)
    assert [each.split(":")[0] for each in found] == ["table keyed.totals", "table main.totals"]


def test_timings_of_a_report_may_differ_and_nothing_else_of_it(lake, copy):
    path = copy / "reports/day=2026-10-30/report.json"
    report = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(report | {"timings": {"steps": {"verify": 1e6}}}), "utf-8")
    text = path.with_suffix(".md").read_text("utf-8")
    path.with_suffix(".md").write_text(f"{text}\n## Time\n\n| step | seconds |\n| --- | ---: |\n| verify | 9.9 |\n", "utf-8")
    assert differences(copy, lake) == []
    path.write_text(json.dumps(report | {"day": "2026-10-31"}), "utf-8")
    path.with_suffix(".md").write_text(text.replace("verified", "Verified"), "utf-8")
    assert [each.partition(":")[0] for each in differences(copy, lake)] == [
        "reports/day=2026-10-30/report.json", "reports/day=2026-10-30/report.md",
    ]  # fmt: skip


def test_a_difference_fails_the_run(lake, copy):
    compare(copy, lake)
    (copy / "runs/day=2026-10-29/run.json").unlink()
    with pytest.raises(ClusterError, match=r"^the lakes differ: runs/day=2026-10-29/run\.json: is missing$"):
        compare(copy, lake)


def test_two_empty_lakes_are_not_taken_for_equal(tmp_path, lake):
    (tmp_path / "empty").mkdir()
    assert differences(tmp_path / "empty", tmp_path / "empty") != []
    assert differences(tmp_path / "empty", lake) != []


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
time.sleep(600)
"""
STOP = """
import sys, time
from pathlib import Path
from tests.cluster.services import Services, descendants
import os
services = Services(Path(sys.argv[1]))
services.start("stubborn", [sys.executable, "-c", sys.argv[2]], dict(os.environ))
while len(pids := descendants(os.getpid())) < 2:
    time.sleep(0.05)
services.stop()
print(*pids)
"""


def test_what_ignores_sigterm_and_leaves_its_group_is_ended_too(tmp_path):
    # In a process of its own, which becomes the parent of orphans.
    done = subprocess.run(
        [sys.executable, "-c", STOP, str(tmp_path), STUBBORN], capture_output=True, text=True, check=True, timeout=60,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) >= 2
    assert not [pid for pid in pids if alive(pid)]


def test_losing_power_takes_children_along(tmp_path):
    child = (
        "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", child])
    try:
        wait_until(lambda: len(descendants(process.pid)) == 1, "the child runs", 20)
        (grandchild,) = descendants(process.pid)
        Service("w", process, tmp_path / "log").lose_power()
        assert process.returncode == -signal.SIGKILL
        assert not alive(grandchild)
    finally:
        process.kill()


def test_a_program_that_ended_is_noticed_and_one_that_was_killed_is_not(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    process.wait()
    service = Service("scheduler", process, tmp_path / "log")
    services = Services.__new__(Services)
    services._started = [service]
    with pytest.raises(ClusterError, match="scheduler ended with status 3"):
        services.check()
    services.check(killed=[service])
    assert service.tree() == []


def test_waiting_ends_with_what_was_waited_for():
    began = time.monotonic()
    with pytest.raises(ClusterError, match="Redis answers"):
        wait_until(lambda: False, "Redis answers", 0.3, every=0.05)
    assert time.monotonic() - began < 5


def test_free_ports_are_free_and_differ():
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert not any(map(listens, ports))
    assert os.getpid() not in descendants(os.getpid())
