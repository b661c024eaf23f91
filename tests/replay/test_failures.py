"""Why a night failed is left in the lake until the day's next good night, and never stands in anybody's way."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from replay import tasks
from replay.errors import CheckFailed, InputError, NightError, NothingReceived
from replay.failures import forget_failure, note_failure, noting_failure, read_failures
from replay.lake import Lake
from tests.replay.night_support import ONE, THREE, TWO, cli, land, night, upload, write_challenges


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAY_CHALLENGES", str(write_challenges(tmp_path / "challenges.csv")))
    land(tmp_path / "lake", ONE, "a.ndjson", [upload("g1", "p1", ONE)])
    return Lake(tmp_path / "lake")


def steps(lake, day=ONE):
    """One night as a scheduler runs it."""
    tasks.pull(str(lake.root), str(day))
    for spec in tasks.plan(str(lake.root), str(day)):
        tasks.verify(str(lake.root), str(day), spec)
    tasks.publish(str(lake.root), str(day))
    tasks.standings(str(lake.root), str(day))
    tasks.late(str(lake.root), str(day))
    tasks.report(str(lake.root), str(day))


def test_a_failed_night_of_the_command_line(lake, tmp_path):
    env = {"REPLAY_CHALLENGES": str(tmp_path / "challenges.csv")}
    before = datetime.now(UTC)
    assert cli("nightly", "--day", TWO, "--lake", lake.root, env=env).returncode == 1
    (failure,) = read_failures(lake).values()
    assert (failure.day, failure.error) == (TWO, "NothingReceived")
    assert "no log file was received for 2026-10-30" in failure.sentence
    assert 0 <= (failure.at - before.replace(microsecond=0)).total_seconds() < 120
    held = json.loads((lake.root / "reports" / f"day={TWO}" / "failure.json").read_text("utf-8"))
    assert {"day", "error", "sentence", "at"} <= held.keys()
    land(lake.root, TWO, "a.ndjson", [b"no record"])
    assert cli("nightly", "--day", TWO, "--lake", lake.root, env=env).returncode == 1
    assert "none of 1 records could be read" in read_failures(lake)[TWO].sentence, "published, and no good night"
    land(lake.root, TWO, "a.ndjson", [upload("g2", "p1", TWO)])
    assert cli("nightly", "--day", TWO, "--lake", lake.root, env=env).returncode == 0
    assert read_failures(lake) == {}


def test_a_failed_step_of_a_scheduler(lake, monkeypatch):
    steps(lake)
    assert read_failures(lake) == {}
    with pytest.raises(NothingReceived):
        tasks.pull(str(lake.root), str(THREE))
    assert (read_failures(lake)[THREE].error, read_failures(lake)[THREE].step) == ("NothingReceived", "pull")
    land(lake.root, THREE, "a.ndjson", [upload("g3", "p1")])

    def fail(*args, **kw):
        raise CheckFailed("sql/checks/assert_totals_once.sql returned 1 rows, the first with total=4; find their cause")

    with monkeypatch.context() as patch:
        patch.setattr("replay.standings.run_checks", fail)
        with pytest.raises(CheckFailed):
            steps(lake, THREE)
    assert (read_failures(lake)[THREE].error, read_failures(lake)[THREE].step) == ("CheckFailed", "standings")
    # Another step that succeeds makes nothing good; the same one does.
    forget_failure(lake, THREE, "report")
    assert THREE in read_failures(lake)
    tasks.standings(str(lake.root), str(THREE))
    tasks.late(str(lake.root), str(THREE))
    tasks.report(str(lake.root), str(THREE))
    assert read_failures(lake) == {}


def test_a_day_that_came_late_and_cannot_be_verified(lake, tmp_path):
    """The earlier day keeps its own failure, until a night of it is good again."""
    env = {"REPLAY_CHALLENGES": str(tmp_path / "challenges.csv")}
    night(lake.root, ONE, challenges=tmp_path / "challenges.csv")
    land(lake.root, ONE, "a.ndjson", [])
    land(lake.root, TWO, "a.ndjson", [upload("g2", "p1", TWO)])
    assert cli("nightly", "--day", TWO, "--lake", lake.root, env=env).returncode == 1
    assert {day: failure.error for day, failure in read_failures(lake).items()} == {
        ONE: "NothingReceived", TWO: "NightError",
    }  # fmt: skip
    land(lake.root, ONE, "a.ndjson", [upload("g1", "p1", ONE)])
    night(lake.root, ONE, challenges=tmp_path / "challenges.csv")
    assert set(read_failures(lake)) == {TWO}


def test_the_first_error_is_never_hidden(lake, monkeypatch, caplog):
    def full(self, texts):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Lake, "put_texts", full)
    with pytest.raises(NightError, match="the first"), noting_failure(lake, ONE):
        raise NightError("the first")
    assert "cannot be noted" in caplog.text
    monkeypatch.undo()
    with pytest.raises(ZeroDivisionError), noting_failure(lake, ONE):
        1 / 0  # noqa: B018 - a fault of our own is noted too
    assert read_failures(lake)[ONE].error == "ZeroDivisionError"
    monkeypatch.setattr(Lake, "remove", lambda self, path: (_ for _ in ()).throw(PermissionError(13, "no")))
    forget_failure(lake, ONE)
    assert "cannot be forgotten" in caplog.text


def test_a_lake_that_is_not_there_does_not_come_into_being(tmp_path):
    lake = Lake(tmp_path / "mistyped")
    note_failure(lake, ONE, InputError("x"))
    forget_failure(lake, ONE)
    assert read_failures(lake) == {}
    assert not lake.root.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"error": 1}', '{"error": "X", "sentence": "s", "at": "yesterday"}', "\x00"])
def test_a_damaged_file_is_a_failure_that_nobody_knows_more_about(lake, text):
    path = lake.root / "reports" / f"day={ONE}" / "failure.json"
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    assert read_failures(lake)[ONE].error == "Unknown"
    (lake.root / "reports" / "day=copy").mkdir()
    (lake.root / "reports" / "day=copy" / "failure.json").write_text(text, "utf-8")
    assert set(read_failures(lake)) == {ONE}
