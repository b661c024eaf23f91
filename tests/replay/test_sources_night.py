"""Nights whose logs come from a source: the same outputs as with logs in the lake, leftovers named everywhere, late files."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest

from replay import tasks
from replay.errors import InputError, NothingReceived, UnreachableSource
from replay.lake import Lake
from replay.late import bring_earlier, run_nights
from replay.night import NightSettings, read_run
from replay.sources import Source
from tests.replay.night_support import ONE, THREE, TWO, cli, everything, land, line, simulated, upload, write_challenges

pytest.importorskip("fsspec")


@pytest.fixture
def challenges(tmp_path):
    return write_challenges(tmp_path / "challenges.csv")


@pytest.fixture
def landing(tmp_path):
    """Where uploads land, as a lake of which only the logs are looked at."""
    return tmp_path / "landing"


@pytest.fixture
def url(landing):
    return f"{landing}/logs/day={{day}}"


@pytest.fixture
def environment(monkeypatch, url, challenges):
    """The settings of a night with the source."""
    for name, value in (
        ("SOURCE", url),
        ("SOURCE_SETTLE", "0.01"),
        ("SOURCE_PATIENCE", "0.1"),
        ("CHALLENGES", challenges),
        ("THREADS", 1),
    ):
        monkeypatch.setenv(f"REPLAY_{name}", str(value))


@pytest.fixture
def lake(tmp_path):
    (tmp_path / "lake").mkdir()
    return tmp_path / "lake"


def night_by_tasks(lake: object, day: object, **pull: object) -> dict[str, object]:
    where, day = str(lake), str(day)
    pulled = tasks.pull(where, day, **pull)
    for spec in tasks.plan(where, day):
        tasks.verify(where, day, spec)
    tasks.publish(where, day)
    tasks.standings(where, day)
    tasks.late(where, day)
    tasks.report(where, day)
    return pulled


# --- The same night -------------------------------------------------------------------------------------------------------


def test_outputs_equal_those_of_logs_in_the_lake(landing, lake, tmp_path, monkeypatch, url):
    simulated(landing, 150, days=(ONE, TWO))
    beside = tmp_path / "beside"
    shutil.copytree(landing, beside)
    monkeypatch.setenv("REPLAY_THREADS", "1")
    for day in (ONE, TWO):
        assert cli("nightly", "--day", day, "--lake", beside).returncode == 0
    monkeypatch.setenv("REPLAY_SOURCE", url)
    monkeypatch.setenv("REPLAY_SOURCE_SETTLE", "0.01")
    for day in (ONE, TWO):
        pulled = night_by_tasks(lake, day)
        assert pulled["landed"] == pulled["files"] > 0
    assert everything(lake) == everything(beside)


def test_the_command_line_takes_a_source(landing, lake, url, challenges):
    land(landing, THREE, "a.ndjson", [upload("g1", "p1")])
    (landing / "logs" / f"day={THREE}" / "b.ndjson.part").write_bytes(b"{")
    env = {"REPLAY_SOURCE_SETTLE": "0.01", "REPLAY_CHALLENGES": str(challenges)}
    done = cli("nightly", "--day", THREE, "--lake", lake, "--source", url, env=env)
    out = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert "Left at the source" in out
    assert "b.ndjson.part" in out
    assert "is incomplete by its name and does not grow" in out
    done = cli("nightly", "--day", THREE, "--lake", lake, "--source", url, "--json", env=env)
    assert json.loads(done.stdout)["left_waiting"] == [
        {"file": "b.ndjson.part", "why": "is incomplete by its name and does not grow"}
    ]


def test_arguments_win_over_settings(landing, lake, url, environment, monkeypatch):
    land(landing, THREE, "a.ndjson", [upload("g1", "p1")])
    monkeypatch.setenv("REPLAY_SOURCE", "nosuch://{day}/")
    assert tasks.pull(str(lake), str(THREE), source=url, source_options={})["landed"] == 1


# --- Leftovers ------------------------------------------------------------------------------------------------------------


def test_leftovers_are_named_in_run_report_and_log(landing, lake, environment, caplog):
    land(landing, THREE, "a.ndjson", [upload("g1", "p1")])
    folder = landing / "logs" / f"day={THREE}"
    (folder / "b.ndjson.part").write_bytes(b"{")
    (folder / "notes.txt").write_bytes(b"x")
    (lake / "logs" / f"day={THREE}").mkdir(parents=True)
    (lake / "logs" / f"day={THREE}" / "more.txt").write_bytes(b"x")
    with caplog.at_level(logging.WARNING):
        pulled = night_by_tasks(lake, THREE)
    assert (pulled["landed"], pulled["left"]) == (1, 2)
    expected = [
        {"file": "b.ndjson.part", "why": "is incomplete by its name and does not grow"},
        {"file": "notes.txt", "why": "is of no known kind"},
    ]
    run = read_run(Lake(lake), THREE)
    assert run["left_waiting"] == expected
    assert run["left_alone"] == ["b.ndjson.part", "more.txt", "notes.txt"]
    report = lake / "reports" / f"day={THREE}"
    assert json.loads((report / "report.json").read_text())["left_waiting"] == expected
    assert "| b.ndjson.part | is incomplete by its name and does not grow |" in (report / "report.md").read_text()
    assert f"{THREE}: b.ndjson.part was left at {folder}: it is incomplete by its name and does not grow" in caplog.text


def test_a_night_without_a_source_says_so_in_the_same_form(lake, challenges):
    land(lake, THREE, "a.ndjson", [upload("g1", "p1")])
    run = run_nights(Lake(lake), THREE, NightSettings(threads=1, challenges=challenges), 0).run
    assert (run["left_alone"], run["left_waiting"]) == ([], [])


def test_a_day_without_files_says_where_it_looked(landing, lake, environment):
    (landing / "logs").mkdir(parents=True)
    with pytest.raises(NothingReceived, match=rf"nor lies one at {landing}/logs/day={THREE}; use"):
        tasks.pull(str(lake), str(THREE))
    (landing / "logs" / f"day={THREE}").mkdir()
    (landing / "logs" / f"day={THREE}" / "b.ndjson.part").write_bytes(b"{")
    with pytest.raises(NothingReceived, match=r"\(b.ndjson.part at .* is incomplete by its name and does not grow\)"):
        tasks.pull(str(lake), str(THREE))


def test_a_source_that_is_not_there_is_an_error_and_changes_nothing(landing, lake, environment, challenges):
    with pytest.raises(UnreachableSource, match="is not there, name or mount the right one"):
        tasks.pull(str(lake), str(THREE))
    env = {"REPLAY_SOURCE": f"{landing}/logs/{{day}}", "REPLAY_CHALLENGES": str(challenges)}
    done = cli("nightly", "--day", THREE, "--lake", lake, env=env)
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1
    # Only why the night failed is left behind.
    assert sorted(path.relative_to(lake).as_posix() for path in lake.rglob("*") if path.is_file() and not path.name.startswith(".")) == [
        f"reports/day={THREE}/failure.json"
    ]


# --- Late files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def settings(url, challenges):
    return NightSettings(threads=1, challenges=challenges, source=Source(url, settle=0.01, patience=0.1, retries=0))


def test_a_late_file_of_an_earlier_day_is_brought_and_the_day_restated(landing, lake, settings):
    for day in (ONE, TWO, THREE):
        land(landing, day, "a.ndjson", [upload(f"g-{day}", "p1", day)])
    for day in (ONE, TWO):
        run_nights(Lake(lake), day, settings, 3)
    land(landing, ONE, "late.ndjson", [upload("late", "p2", ONE)])
    nights = run_nights(Lake(lake), THREE, settings, 3)
    assert (nights.restated, nights.problems) == ((ONE,), ())
    assert [entry["file"] for entry in read_run(Lake(lake), ONE)["inputs"]] == ["a.ndjson", "late.ndjson"]


def test_the_late_task_brings_what_came_late(landing, lake, environment):
    for day in (TWO, THREE):
        land(landing, day, "a.ndjson", [upload(f"g-{day}", "p1", day)])
    night_by_tasks(lake, TWO)
    land(landing, TWO, "a.ndjson", [upload("again", "p2", TWO)])
    tasks.pull(str(lake), str(THREE))
    assert tasks.late(str(lake), str(THREE)) == {"restated": 1, "days": [str(TWO)], "problems": 0}
    assert read_run(Lake(lake), TWO)["inputs"][0]["bytes"] == (landing / "logs" / f"day={TWO}" / "a.ndjson").stat().st_size


def test_what_was_left_one_night_comes_the_next(landing, lake, settings):
    land(landing, TWO, "a.ndjson", [upload("g1", "p1", TWO)])
    partial = landing / "logs" / f"day={TWO}" / "b.ndjson.part"
    partial.write_bytes(line(upload("g2", "p2", TWO)) + b"\n")
    run_nights(Lake(lake), TWO, settings, 3)
    partial.rename(partial.with_suffix(""))
    land(landing, THREE, "a.ndjson", [upload("g3", "p1", THREE)])
    assert run_nights(Lake(lake), THREE, settings, 3).restated == (TWO,)
    run = read_run(Lake(lake), TWO)
    assert (run["records"], run["left_alone"], run["left_waiting"]) == (2, [], [])


def test_days_that_were_never_published_are_left_to_their_own_night(landing, lake, settings):
    for day in (TWO, THREE):
        land(landing, day, "a.ndjson", [upload(f"g-{day}", "p1", day)])
    run_nights(Lake(lake), THREE, settings, 3)
    assert not (lake / "logs" / f"day={TWO}").exists()


def test_an_earlier_day_that_cannot_be_brought_does_not_keep_the_night(landing, lake, settings, monkeypatch):
    for day in (TWO, THREE):
        land(landing, day, "a.ndjson", [upload(f"g-{day}", "p1", day)])
    run_nights(Lake(lake), TWO, settings, 3)
    (landing / "logs" / f"day={TWO}" / "a.ndjson").unlink()
    (landing / "logs" / f"day={TWO}").rmdir()
    (landing / "logs" / f"day={TWO}").write_bytes(b"no folder")
    nights = run_nights(Lake(lake), THREE, settings, 3)
    (problem,) = nights.problems
    assert problem.startswith(
        f"the logs of {TWO} cannot be brought: the source {landing}/logs/day={TWO} is a file of no known kind"
    )
    assert nights.run["records"] == 1


def test_an_unreachable_source_stops_the_look_back(landing, lake, settings):
    for day in (TWO, THREE):
        land(landing, day, "a.ndjson", [upload(f"g-{day}", "p1", day)])
    run_nights(Lake(lake), TWO, settings, 3)
    shutil.rmtree(landing)
    problems: list[str] = []
    with pytest.raises(UnreachableSource):
        bring_earlier(Lake(lake), THREE, settings, 3, problems)
    assert problems == []


def test_a_growing_file_of_an_earlier_day_is_not_waited_for(landing, lake, settings, monkeypatch):
    from dataclasses import replace

    for day in (TWO, THREE):
        land(landing, day, "a.ndjson", [upload(f"g-{day}", "p1", day)])
    run_nights(Lake(lake), TWO, settings, 3)
    growing = landing / "logs" / f"day={TWO}" / "b.ndjson"
    growing.write_bytes(b"")
    pauses = []

    def grow(seconds):
        pauses.append(seconds)
        with growing.open("ab") as handle:
            handle.write(b"x")

    monkeypatch.setattr("replay.landing.sleep", grow)
    patient = replace(settings, source=replace(settings.source, patience=3600))
    found = bring_earlier(Lake(lake), THREE, patient, 3, [])
    assert len(pauses) == 1
    assert [entry.file for entry in found[TWO].left] == ["b.ndjson"]


# --- A demo and a lake on a store -----------------------------------------------------------------------------------------


def test_a_demo_takes_nothing_from_the_source(landing, tmp_path, url):
    folder = tmp_path / "demo"
    done = cli(
        "demo",
        "--lake",
        folder,
        "--games",
        40,
        "--days",
        1,
        "--day",
        THREE,
        env={"REPLAY_SOURCE": url, "REPLAY_SOURCE_RETRIES": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.rglob(".landed.json"))


def test_a_lake_on_a_store_takes_logs_from_a_source(server, landing, tmp_path, url, challenges, monkeypatch):
    """An empty prefix becomes a lake; nothing is brought twice from whatever machine; outputs are those of a local lake."""
    pytest.importorskip("s3fs")
    from tests.replay.store_support import download_tree

    land(landing, TWO, "a.ndjson", [upload("g1", "p1", TWO)])
    land(landing, TWO, "b.ndjson.gz", [upload("g2", "p2", TWO)])
    (landing / "logs" / f"day={TWO}" / "c.ndjson.part").write_bytes(b"{")
    where = "s3://games/from-a-source"
    more = {"SOURCE": url, "SOURCE_SETTLE": "0.01", "CHALLENGES": challenges, "THREADS": 1}
    for name, value in server.env(tmp_path / "cache", **more).items():
        monkeypatch.setenv(name, value)
    assert night_by_tasks(where, TWO)["landed"] == 2
    assert tasks.pull(where, str(TWO)) | {"bytes": 0} == {"files": 2, "bytes": 0, "landed": 0, "left": 1}
    beside = tmp_path / "beside"
    beside.mkdir()
    night_by_tasks(beside, TWO)
    stored = download_tree(server.store(where), tmp_path / "stored")
    assert everything(stored) == everything(beside)
    names = sorted(path.name for path in (stored / "logs" / f"day={TWO}").iterdir())
    assert names == [".landed.json", "a.ndjson", "b.ndjson.gz"]


def test_two_files_of_one_name_are_an_input_error(lake, challenges):
    from tests.replay.source_support import served

    with served(**{"a.ndjson": b"x"}) as site:
        site.index = '<a href="a.ndjson?v=1">a</a> <a href="a.ndjson?v=2">a</a>'
        settings = NightSettings(challenges=challenges, source=Source(site.url, settle=0.01, retries=0))
        with pytest.raises(InputError, match="two files for one name"):
            run_nights(Lake(lake), THREE, settings, 0)
    assert not Path(lake / "runs").exists()
