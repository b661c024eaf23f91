"""E1, E8: a night that is killed at any moment, readers that look while it runs, and the journal that finishes what was begun.

REPLAY_KILLS sets how many nights are killed (6); each seed is another moment.
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
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import duckdb
import pytest

from replay.errors import NightRunning
from replay.lake import Lake, Publication, recover
from replay.lookup import read_uploaded
from replay.night import NightSettings, rebuild_standings, restate_standings
from replay.reviews.model import why_not_counted
from tests.replay.night_support import (
    DAYS,
    ONE,
    ROOT,
    THREE,
    TWO,
    ask,
    check_run,
    decide,
    dump,
    everything,
    land,
    night,
    published_files,
    simulated,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
)

KILLS = int(os.environ.get("REPLAY_KILLS", "6"))

# The night's process: days, then how many of our own steps it may take before it is killed (0: never).  A step is a file that
# is opened, renamed or removed below the lake, so a kill hits any moment between two changes that anybody could see.
_NIGHT = textwrap.dedent(
    """
    import os, signal, sys
    from datetime import date
    from pathlib import Path
    from replay.lake import Lake
    from replay.night import NightSettings, run_night

    lake, steps = Path(sys.argv[1]), int(sys.argv[2])
    left = steps

    def step(event, values):
        global left
        names = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}
        if event in names and steps and str(lake) in str(values[0]) and "/logs" not in str(values[0]):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)
    for day in sys.argv[3:]:
        run_night(Lake(lake), date.fromisoformat(day), NightSettings(threads=2, shard_games=60))
    print(steps - left if steps else 0)
    """
)


def start(lake: Path, days, steps: int = 0) -> subprocess.Popen:
    words = [sys.executable, "-c", _NIGHT, str(lake), str(steps), *map(str, days)]
    return subprocess.Popen(words, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE)


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    return simulated(tmp_path_factory.mktemp("landed") / "lake", 200)


@pytest.fixture(scope="module")
def begun(logs) -> Path:
    """Days 1 and 3 are published; day 2 has uploads that touch both."""
    for day in (ONE, THREE):
        night(logs, day)
        # The same upload had come earlier already, by another way: it stands, and the one of the other day is its copy.
        row = next(row for row in verdict_rows(logs, day) if row["counted"] and row["uploaded_at"] > row["finished_at"])
        found = replace(read_uploaded(Lake(logs), {**row, "day": day}), game_id=f"early-{day}")
        land(logs, TWO, f"early-{day}.ndjson", [replace(found, uploaded_at=found.finished_at)])
    decide_about_some(logs, ONE)
    restate_standings(Lake(logs), NightSettings(threads=2))
    return logs


def decide_about_some(lake: Path, day: date) -> None:
    """Somebody upheld a game of a day that counts, and cleared one that is flagged."""
    rows = verdict_rows(lake, day)
    counted = next(row for row in rows if row["counted"] and row["suspicions"])
    flagged = next(row for row in rows if row["verdict"] == "flagged" and why_not_counted(row) is None)
    for action, row in (("uphold", counted), ("clear", flagged)):
        decide(lake, action, row["game_id"], day=day, file=row["source_file"], line=row["source_line"])


@pytest.fixture(scope="module")
def clean(begun, tmp_path_factory):
    """What one undisturbed night of day 2 leaves, and how many steps it takes."""
    lake = tmp_path_factory.mktemp("clean") / "lake"
    shutil.copytree(begun, lake)
    before = everything(lake)
    # The steps of a whole night are counted by one that is killed far behind its end.
    process = start(lake, [TWO], 10**9)
    steps = int(process.communicate(timeout=120)[0])
    assert process.returncode == 0
    assert steps > 40
    after = everything(lake)
    restated = [name for name, data in after[0].items() if f"day={TWO}" not in name and before[0][name] != data]
    assert len([name for name in restated if name.startswith("verdicts")]) == 2, "the night restates its neighbours"
    return before, after, steps


def ask_file(path: Path, sql: str) -> list:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute(sql).fetchall()


def look_in(lake: Path, before, after) -> None:
    """Everything that a reader finds after a kill is whole: a file of the night before or of the night after."""
    for name, data in published_files(lake).items():
        assert data in (before[0].get(name), after[0][name]), name
    assert dump(warehouse(lake)) in (before[1], after[1])
    for path in (lake / "warehouse").glob("*.duckdb"):
        # A reader may have read CURRENT a moment ago: what it named then is there and whole.
        assert ask_file(path, "select count(*) from publication") == [(1,)]
    assert not list((lake / "warehouse").glob("*.wal"))


@pytest.mark.kill
@pytest.mark.parametrize("seed", range(KILLS))
def test_e1_a_night_killed_between_any_two_steps(begun, clean, tmp_path, seed):
    """E1: kill, look, run again: the same files and tables as of one clean night, and no leftovers."""
    before, after, steps = clean
    lake = tmp_path / "lake"
    shutil.copytree(begun, lake)
    rng = random.Random(seed)
    for _ in range(1 + seed % 2):
        # The end of a night, where it publishes, is a few steps of many: half of the kills are aimed there.
        at = rng.randint(steps - 25, steps) if rng.random() < 0.5 else rng.randint(1, steps)
        process = start(lake, [TWO], at)
        process.communicate(timeout=120)
        assert process.returncode in (-signal.SIGKILL, 0), "a second night may have less to do"
        look_in(lake, before, after)
    night(lake, TWO, shard_games=60)
    assert everything(lake) == after
    kinds = {"logs", "truth", "verdicts", "quarantine", "runs", "warehouse", "staging", ".lock", "reviews.sqlite"}
    assert {path.name for path in lake.iterdir()} <= kinds
    assert not list((lake / "staging").iterdir())


@pytest.mark.kill
@pytest.mark.parametrize("seed", range(max(1, KILLS // 3)))
def test_e1_a_night_killed_at_any_time(begun, clean, tmp_path, seed):
    """The same by the clock: the kill may fall into DuckDB, a compiled kernel or a half-written file."""
    before, after, _ = clean
    lake = tmp_path / "lake"
    shutil.copytree(begun, lake)
    process = start(lake, [TWO])
    time.sleep(0.3 + random.Random(seed).random() * 2.0)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    look_in(lake, before, after)
    rebuild_standings(Lake(lake), NightSettings(threads=2))
    assert dump(warehouse(lake)) in (before[1], after[1])
    night(lake, TWO)
    assert everything(lake) == after


_RESTATE = _NIGHT.split("for day in")[0] + textwrap.dedent(
    """
    from replay.night import restate_standings
    restate_standings(Lake(lake), NightSettings(threads=2))
    print(steps - left if steps else 0)
    """
)


@pytest.mark.kill
def test_e1_a_restating_killed_between_any_two_steps(begun, tmp_path):
    """Restating again after a kill gives the standings of one clean restating; verdicts are never touched, nothing is left over."""
    start_restate = [sys.executable, "-c", _RESTATE]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    base, whole = tmp_path / "base", tmp_path / "whole"
    shutil.copytree(begun, base)
    decide_about_some(base, THREE)
    shutil.copytree(base, whole)
    before = everything(whole)
    done = subprocess.run([*start_restate, str(whole), str(10**9)], cwd=ROOT, env=env, stdout=subprocess.PIPE, check=True)
    after = everything(whole)
    assert after[0] == before[0]
    assert after[1] != before[1], "the decisions move something"
    steps, rng = int(done.stdout), random.Random(6)
    for number in range(max(2, KILLS // 2)):
        lake = tmp_path / str(number)
        shutil.copytree(base, lake)
        at = rng.randint(1, steps - 1)
        process = subprocess.run([*start_restate, str(lake), str(at)], cwd=ROOT, env=env, stdout=subprocess.PIPE, check=False)
        assert process.returncode == -signal.SIGKILL, at
        look_in(lake, before, after)
        restate_standings(Lake(lake), NightSettings(threads=2))
        assert everything(lake) == after, at
        assert restate_standings(Lake(lake), NightSettings(threads=2)).moves is None
        assert not (lake / "staging" / "publish").exists()


# --- The journal ---------------------------------------------------------------------------------------------------------


def _staged(lake: Lake, texts: dict[str, str]) -> Publication:
    publication = Publication(lake)
    for name, text in texts.items():
        publication.stage(lake.root / name).write_text(text, "utf-8")
    return publication


def _texts(root: Path, names) -> dict[str, str | None]:
    return {name: (root / name).read_text("utf-8") if (root / name).exists() else None for name in names}


@pytest.mark.parametrize("stop", range(6))
def test_a_publication_killed_between_its_renames_is_finished_by_the_next_writer(tmp_path, monkeypatch, stop):
    lake = Lake(tmp_path)
    old = {"runs/day=2026-10-30/run.json": "old", "warehouse/CURRENT": "old"}
    _staged(lake, old).commit()
    new = {"verdicts/day=2026-10-30/part-0.parquet": "new", **dict.fromkeys(old, "new")}
    publication = _staged(lake, new)
    done, whole = 0, os.replace

    def replace_or_die(source, target):
        nonlocal done
        if done == stop:
            raise KeyboardInterrupt
        done += 1
        whole(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_or_die)
        patch.setattr(Path, "replace", lambda self, target: replace_or_die(self, target))
        if stop < 4:
            with pytest.raises(KeyboardInterrupt):
                publication.commit()
        else:
            publication.commit()
    found = _texts(tmp_path, new)
    if stop == 0:
        assert found == {**dict.fromkeys(new, None), **old}, "before the journal nothing is published"
        assert not recover(lake)
        assert _texts(tmp_path, new) == found
        Publication(lake)
        assert list((tmp_path / "staging" / "publish").iterdir()) == []
    elif stop < 4:
        assert sum(text == "new" for text in found.values()) == stop - 1
        assert recover(lake)
        assert set(_texts(tmp_path, new).values()) == {"new"}
    else:
        assert set(found.values()) == {"new"}
        assert not recover(lake)
    assert not recover(lake), "a second recovery finds nothing to do"


def test_recovery_itself_may_be_killed(tmp_path, monkeypatch):
    lake = Lake(tmp_path)
    names = [f"runs/day=2026-10-{day}/run.json" for day in range(10, 15)]
    publication = _staged(lake, dict.fromkeys(names, "new"))
    whole, allowed = os.replace, 0

    def replace_or_die(source, target):
        nonlocal allowed
        if allowed == 0:
            raise KeyboardInterrupt
        allowed -= 1
        whole(source, target)

    monkeypatch.setattr(os, "replace", replace_or_die)
    monkeypatch.setattr(shutil, "rmtree", lambda *args, **kw: (_ for _ in ()).throw(KeyboardInterrupt))
    # Path.replace, which puts the journal in place, is not patched: the publication is decided.
    for count in range(7):
        allowed = 1
        with pytest.raises(KeyboardInterrupt):
            publication.commit() if count == 0 else recover(lake)
    assert set(_texts(tmp_path, names).values()) == {"new"}
    monkeypatch.undo()
    assert recover(lake)
    assert not (tmp_path / "staging" / "publish").exists()


def test_a_half_written_journal_is_none(tmp_path):
    lake = Lake(tmp_path)
    publication = _staged(lake, {"warehouse/CURRENT": "new"})
    (tmp_path / "staging" / "publish" / "journal.writing").write_text('[["0000-CURR')
    assert not recover(lake)
    assert not (tmp_path / "warehouse" / "CURRENT").exists()
    publication.commit()
    assert (tmp_path / "warehouse" / "CURRENT").read_text() == "new"


def test_a_night_finishes_what_the_night_before_began(tmp_path):
    """A publication cut off behind its journal is made visible by the next night, of whatever day, before its own work."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    lake = tmp_path / "lake"
    for day in (ONE, TWO):
        land(lake, day, "a.ndjson", [upload(f"g{day}", "p1", day)])
    code = (
        "import os, sys\nfrom datetime import date\nfrom pathlib import Path\nfrom replay import lake as lakes\n"
        "from replay.lake import Lake\nfrom replay.night import NightSettings, run_night\n"
        "lakes.recover = lambda lake: os._exit(9) if (lake.staging / 'publish' / 'journal.json').exists() else False\n"
        "run_night(Lake(Path(sys.argv[1])), date(2026, 10, 29), NightSettings(challenges=Path(sys.argv[2])))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(lake), str(challenges)], cwd=ROOT, check=False)
    assert done.returncode == 9
    assert Lake(lake).published_days() == []
    night(lake, TWO, challenges=challenges)
    assert Lake(lake).published_days() == [ONE, TWO]
    assert check_run(lake, ONE)["records"] == check_run(lake, TWO)["records"] == 1
    assert ask(lake, "select challenges from totals") == [(2,)]


# --- Readers and writers -------------------------------------------------------------------------------------------------

_READER = textwrap.dedent(
    """
    import sys
    import duckdb
    from pathlib import Path
    from replay.lake import Lake

    lake = Lake(Path(sys.argv[1]))
    con = duckdb.connect(str(lake.current_warehouse()), read_only=True)
    def total():
        return con.execute("select coalesce(sum(total), 0) from totals").fetchall()[0][0]
    print(total(), flush=True)
    sys.stdin.readline()
    print(total(), flush=True)
    con.close()
    con = duckdb.connect(str(lake.current_warehouse()), read_only=True)
    print(total(), flush=True)
    """
)


def test_e8_readers_hold_the_old_warehouse_while_a_night_publishes(tmp_path):
    """E8: two readers with the warehouse open stop no night, see the old boards until they look again, then the new ones."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    lake = tmp_path / "lake"
    games = [upload(f"g{n}", "p1", ONE, attempt=n, seed=n, tokens=8 * n) for n in (1, 2, 3)]
    land(lake, ONE, "a.ndjson", games[:1])
    night(lake, ONE, challenges=challenges)
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", _READER, str(lake)], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    assert [int(reader.stdout.readline()) for reader in readers] == [games[0].score] * 2
    # Several nights and a rebuild: the file that the readers hold is forgotten in between.
    for number in (2, 3):
        land(lake, ONE, "a.ndjson", games[:number])
        night(lake, ONE, challenges=challenges)
        rebuild_standings(Lake(lake), NightSettings(challenges=challenges))
    for day in (TWO, THREE):
        land(lake, day, "a.ndjson", [upload(f"d{day}", "p2", day, mode="training")])
        night(lake, day, challenges=challenges)
    best = max(game.score for game in games)
    for reader in readers:
        out, _ = reader.communicate("\n", timeout=60)
        assert [int(text) for text in out.split()] == [games[0].score, best]
        assert reader.returncode == 0
    assert len(list((lake / "warehouse").glob("*.duckdb"))) == 3


def test_e8_a_crashed_writer_leaves_no_lock(tmp_path):
    challenges = write_challenges(tmp_path / "challenges.csv")
    lake = tmp_path / "lake"
    land(lake, ONE, "a.ndjson", [upload("g1", "p1", ONE)])
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom replay.lake import Lake\n"
        "with Lake(Path(sys.argv[1])).lock():\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(lake)], cwd=ROOT, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(NightRunning):
        night(lake, ONE, challenges=challenges)
    holder.kill()
    holder.communicate(timeout=30)
    # A DuckDB file and a shard that the crash left half written are nobody's problem.
    leftovers = lake / "staging" / "publish"
    leftovers.mkdir(parents=True)
    (leftovers / "0003-x.duckdb").write_bytes(b"half")
    (lake / "staging" / f"day={ONE}").mkdir()
    (lake / "staging" / f"day={ONE}" / "shard-00000.arrow.writing").write_bytes(b"half")
    assert night(lake, ONE, challenges=challenges)["records"] == 1
    assert list((lake / "staging").iterdir()) == []


def test_readers_during_nights_always_find_whole_files(begun, clean, tmp_path):
    """While nights run in another process, a reader that follows CURRENT and opens verdicts finds whole ones, every time."""
    lake = tmp_path / "lake"
    shutil.copytree(begun, lake)
    process = start(lake, [TWO, THREE, TWO])
    looks = 0
    while process.poll() is None:
        with duckdb.connect(str(warehouse(lake)), read_only=True) as con:
            assert con.execute("select count(*) from publication").fetchall() == [(1,)]
            audit = "select (select sum(total) from totals) - (select sum(score) from daily_best)"
            assert con.execute(audit).fetchall() == [(0,)]
        for day in Lake(lake).published_days():
            run = json.loads(Lake(lake).run_file(day).read_text()) if Lake(lake).run_file(day).exists() else None
            assert run is None or len(verdict_rows(lake, day)) + run["quarantined"] == run["records"]
        looks += 1
    assert process.returncode == 0
    assert looks > 3
    assert everything(lake) == clean[1]
    assert all(check_run(lake, day) for day in DAYS)
