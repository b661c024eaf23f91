"""A lake on an S3 server equals a local one: nights, single calls on machines of their own, kills, readers, changed logs.

REPLAY_KILLS above 6 kills at more moments.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from replay import tasks
from replay.errors import InputError, NightError, NightRunning, NothingReceived
from replay.failures import forget_failure, read_failures
from replay.flags import FlagFilter, flags_of
from replay.lake import Lake, Publication, open_lake, recover
from replay.lookup import find_rows, read_uploaded
from replay.moves import what_would_move
from replay.night import NightSettings, read_run, rebuild_standings, restate_standings, run_night
from replay.remote import RemoteLake
from replay.report import make_report, write_report
from replay.reviews.games import draft
from replay.reviews.incidents import releases_in_force
from replay.reviews.releases import Group
from replay.reviews.store import open_reviews
from replay.standings import query_publication
from replay.store import Store
from replay.truth import compare_with_truth
from tests.replay.broken_app import lying_games
from tests.replay.held_lake import LIAR, LIES, held_lake, settings_of
from tests.replay.night_support import (
    DAYS,
    ONE,
    ROOT,
    THREE,
    TWO,
    check_run,
    dump,
    everything,
    land,
    line,
    published_files,
    simulated,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
    write_players,
)
from tests.replay.store_support import copy_tree, download_tree, upload_tree

KILLS = int(os.environ.get("REPLAY_KILLS", "6"))
_number = itertools.count()


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path, server):
    for name in [name for name in os.environ if name.startswith("REPLAY_")]:
        monkeypatch.delenv(name)
    for name, value in server.env(tmp_path / "cache", THREADS=1, SHARD_GAMES=30).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A call makes the process another machine: nothing is shared but the store."""
    return lambda: monkeypatch.setenv("REPLAY_CACHE", str(tmp_path / f"machine-{next(_number)}"))


@pytest.fixture(scope="module")
def nights(tmp_path_factory) -> dict[str, Path]:
    """A local lake after none, the first two and all three of its nights, reports among them."""
    root = tmp_path_factory.mktemp("local")
    found = {"landed": simulated(root / "landed", 90)}
    for name, before, days in (("begun", "landed", (ONE, THREE)), ("all", "begun", (TWO,))):
        shutil.copytree(found[before], root / name)
        found[name] = root / name
        for day in days:
            run_night(Lake(found[name]), day, NightSettings(threads=1))
            write_report(Lake(found[name]), day)
    return found


@pytest.fixture
def stored(server):
    """Puts a local lake's files on the server; returns the store."""

    def put(local: Path) -> Store:
        store = server.store(f"s3://games/lake-{next(_number)}")
        upload_tree(store, local)
        return store

    return put


def settings(**kw) -> NightSettings:
    return NightSettings(threads=1, **kw)


def content(store: Store, tmp_path: Path):
    """What is published in a lake on the server, as its objects are."""
    lake = download_tree(store, tmp_path / f"content-{next(_number)}")
    return everything(lake), warehouse(lake).name, reports(lake)


def reports(lake: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted((lake / "reports").rglob("report.*")):
        text = path.read_text("utf-8")
        held = json.loads(text) | {"timings": None} if path.suffix == ".json" else text.partition("\n## Time")[0]
        found[path.relative_to(lake).as_posix()] = held
    return found


def local_content(lake: Path):
    return everything(lake), warehouse(lake).name, reports(lake)


def seen(store: Store):
    """What a reader gets through ``open_lake``: the published files and the standings."""
    with open_lake(store.url) as lake:
        lake.refresh("verdicts", "quarantine", "runs", "standings")
        return published_files(lake.root), dump(lake.current_warehouse())


# --- Equal outputs -------------------------------------------------------------------------------------------------------


def test_nights_on_a_store_equal_local_ones(nights, stored, tmp_path):
    store = stored(nights["landed"])
    with open_lake(store.url) as lake:
        for day in (ONE, THREE, TWO):
            run_night(lake, day, settings())
            write_report(lake, day)
        work = lake.root
    assert not work.exists()
    assert content(store, tmp_path) == local_content(nights["all"])
    assert seen(store) == everything(nights["all"])
    kinds = {key.split("/")[0] for key in store.list()}
    assert kinds == {"logs", "truth", "verdicts", "quarantine", "runs", "reports", "warehouse", "hashes", "publish", "lock"}
    assert len(store.list("publish")) == 2, "the newest journal and its mark"
    again = store.list("verdicts"), store.list("warehouse").keys()
    with open_lake(store.url) as lake:
        rows = rebuild_standings(lake, settings())
        assert rows["publication"] == 1
        assert compare_with_truth(lake).wrong == 0
    assert (store.list("verdicts"), store.list("warehouse").keys()) == again
    assert content(store, tmp_path)[0] == everything(nights["all"])


def test_calls_on_machines_of_their_own_equal_the_night(nights, stored, machine, tmp_path):
    store = stored(nights["begun"])
    where, day = store.url, str(TWO)
    machine()
    answers = [tasks.pull(where, day)]
    machine()
    specs = tasks.plan(where, day)
    assert len(specs) > 4
    assert all(spec.startswith(f"staging/day={day}/") for spec in specs), "names that mean the same on every machine"
    for spec in specs:
        machine()
        answers.append(tasks.verify(where, day, spec))
    for call in (tasks.publish, tasks.standings, tasks.late, tasks.report):
        machine()
        answers.append(call(*((where,) if call is tasks.standings else (where, day))))
    assert len(json.dumps(answers)) < 4000
    expected = local_content(nights["all"])
    assert content(store, tmp_path) == expected
    assert not store.list("staging")


def test_every_command_takes_the_url(nights, stored, tmp_path, capsys, monkeypatch, server):
    from replay.cli import main

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["replay", *map(str, words)])
        with pytest.raises(SystemExit) as done:
            main()
        out = capsys.readouterr()
        return done.value.code or 0, out.out, out.err

    store = stored(nights["begun"])
    monkeypatch.setenv("REPLAY_LAKE", store.url)
    local = ("--lake", nights["all"])
    code, out, err = run("nightly", "--day", TWO, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["records"] == read_run(Lake(nights["all"]), TWO)["records"]
    assert run("rebuild", "--json")[:2] == run("rebuild", "--json", *local)[:2]
    flags = run("flags", "--json")
    assert flags == run("flags", "--json", *local)
    game = json.loads(flags[1].splitlines()[0])["game_id"]
    log = next(path for path in sorted((nights["all"] / "logs" / f"day={ONE}").iterdir()) if path.suffix == ".gz")
    url = f"{store.url}/logs/day={ONE}/{log.name}"
    assert run("verify", url, "--json")[1].replace(url, str(log)) == run("verify", log, "--json")[1]
    assert run("verify", f"{url}x")[2] == f"replay: {url}x: there is no such object, check the URL\n"
    for words in (("standings", "--json"), ("standings", "--day", TWO), ("game", game), ("flags", "--day", ONE, "--json")):
        assert run(*words) == run(*words, *local), words
    findings = json.loads(run("doctor", "--json")[1])
    assert {row["check"]: row["fine"] for row in findings}["landed logs"]
    assert all(row["fine"] for row in findings)
    url = f"s3://games/made-{next(_number)}"
    made = ("simulate", "--day", ONE, "--games", 20, "--json")
    assert run(*made, "--lake", url) == run(*made, "--lake", tmp_path / "made")
    assert {key: e.size for key, e in server.store(url).list().items()} == {
        path.relative_to(tmp_path / "made").as_posix(): path.stat().st_size
        for path in (tmp_path / "made").rglob("*") if path.is_file()
    }  # fmt: skip
    code, _, err = run("demo", "--lake", url)
    assert (code, "a demo makes a local folder" in err) == (2, True)
    code, _, err = run("standings", "--lake", url)
    assert (code, err) == (2, f"replay: {url}: no standings are published here, run `replay nightly` or `replay rebuild`\n")
    code, _, err = run("nightly", "--day", TWO, "--lake", "s3://games/typo")
    assert code == 2
    assert "s3://games/typo: no such lake" in err


def test_a_game_that_is_not_there_names_the_url(nights, stored):
    store = stored(nights["begun"])
    with open_lake(store.url) as lake:
        with pytest.raises(InputError, match=rf"{store.url}: no published day has a game"):
            find_rows(lake, "nobody's")
        row = find_rows(lake, flags_of(lake, FlagFilter(ONE, ONE, kind="flagged")).rows[0]["game_id"])[0]
        name = row["source_file"]
    store.delete([f"logs/day={ONE}/{name}"])
    with pytest.raises(InputError, match=rf"{store.url}/logs/day={ONE}/{name}: cannot be read"), open_lake(store.url) as lake:
        read_uploaded(lake, row)


def test_late_files_and_new_ids_on_a_store(stored, tmp_path, monkeypatch):
    """A file that lands late, one that is sent again, a player who is anonymised: as in a local lake."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    players = write_players(tmp_path / "players.csv", ("p2", "anonymised", "anon-1"))
    local = tmp_path / "lake"
    for day in (ONE, TWO):
        land(local, day, "a.ndjson", [upload(f"{day}-{n}", f"p{n}", day, seed=n) for n in range(3)])
    store = stored(local)
    with open_lake(store.url) as lake:
        for where in (lake, Lake(local)):
            run_night(where, ONE, settings(challenges=challenges))
    for name, games in (("a.ndjson", [upload("again", "p1", ONE, seed=4)]), ("late.ndjson.zst", [upload("late", "p2", ONE, seed=5)])):
        store.put(land(local, ONE, name, games), f"logs/day={ONE}/{name}")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(challenges))
    monkeypatch.setenv("REPLAY_PLAYERS", str(players))
    assert tasks.late(store.url, str(TWO)) == {"restated": 1, "days": [str(ONE)], "problems": 0}
    assert tasks.late(store.url, str(TWO)) == {"restated": 0, "days": [], "problems": 0}
    run_night(Lake(local), ONE, settings(challenges=challenges, players=players))
    assert content(store, tmp_path)[:2] == local_content(local)[:2]
    assert b"anon-1" in store.read(f"verdicts/day={ONE}/part-0.parquet")


# --- A shard's bytes -----------------------------------------------------------------------------------------------------


def test_a_shard_of_a_plain_log_fetches_its_bytes_only(stored, machine, tmp_path, monkeypatch):
    challenges = write_challenges(tmp_path / "challenges.csv")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(challenges))
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "7")
    local = tmp_path / "lake"
    path = land(local, THREE, "a.ndjson", [b"\xef\xbb\xbf{}", *(upload(f"g{n}", f"p{n}", seed=n % 4) for n in range(30))])
    store = stored(local)
    tasks.pull(store.url, str(THREE))
    specs = tasks.plan(store.url, str(THREE))
    ranges, wholes = [], []
    whole, part = Store.get, Store.get_range
    monkeypatch.setattr(Store, "get", lambda s, e, p: wholes.append(e.key) or whole(s, e, p))
    monkeypatch.setattr(Store, "get_range", lambda s, e, a, b, p: ranges.append((a, b)) or part(s, e, a, b, p))
    for spec in specs:
        machine()
        tasks.verify(store.url, str(THREE), spec)
    assert len(ranges) == len(specs) > 3
    assert sorted(itertools.chain(*ranges))[::len(ranges) * 2 - 1] == [0, path.stat().st_size]
    assert sum(b - a for a, b in ranges) == path.stat().st_size
    assert not [key for key in wholes if key.startswith("logs")]
    tasks.publish(store.url, str(THREE))
    tasks.standings(store.url)
    run_night(Lake(local), THREE, settings(challenges=challenges, shard_games=7))
    assert content(store, tmp_path)[:2] == local_content(local)[:2]


def _small(stored, tmp_path, monkeypatch) -> Store:
    monkeypatch.setenv("REPLAY_CHALLENGES", str(write_challenges(tmp_path / "challenges.csv")))
    for number, name in enumerate(("a.ndjson", "b.ndjson.gz", "c.parquet")):
        land(tmp_path / "lake", THREE, name, [upload(f"{name}-{n}", f"p{n}", seed=n, attempt=1 + number) for n in range(3)])
    return stored(tmp_path / "lake")


@pytest.mark.parametrize("name", ["a.ndjson", "b.ndjson.gz", "c.parquet"])
def test_a_log_that_changes_on_the_way_is_never_half_read(stored, machine, tmp_path, monkeypatch, name):
    store = _small(stored, tmp_path, monkeypatch)
    where, day, key = store.url, str(THREE), f"logs/day={THREE}/{name}"
    words = rf"{store.url}/{key}: was written again since it was pulled, start again from pull"
    tasks.pull(where, day)
    specs = tasks.plan(where, day)
    mine = next(spec for spec in specs if name in json.dumps(json.loads(store.read(spec))["inputs"]))
    other = land(tmp_path / "other", THREE, name, [upload("other", "p9", seed=9)])
    machine()
    once, part, whole = [], Store.get_range, Store.get
    with monkeypatch.context() as patch:
        patch.setattr(Store, "get_range", lambda s, *w: once.append(store.put(other, key)) or part(s, *w))
        patch.setattr(Store, "get", lambda s, e, p: (e.key == key and once.append(store.put(other, key)), whole(s, e, p))[1])
        with pytest.raises(InputError, match=rf"{store.url}/{key}: was changed or removed while .*, start again from pull"):
            tasks.verify(where, day, mine)
    assert once
    with pytest.raises(InputError, match=words):
        tasks.verify(where, day, mine)
    if name == "a.ndjson":
        with pytest.raises(InputError, match=words):
            tasks.plan(where, day)
    store.put(tmp_path / "lake" / key, key)
    for spec in specs:
        tasks.verify(where, day, spec)
    store.put(other, key)
    with pytest.raises(InputError, match=words):
        tasks.publish(where, day)
    store.delete([key])
    with pytest.raises(InputError, match="is gone since it was pulled, start again from pull"):
        tasks.publish(where, day)
    assert not store.list("verdicts")


def test_a_log_that_grows_while_a_night_reads_it_stops_the_night(stored, tmp_path, monkeypatch):
    store = _small(stored, tmp_path, monkeypatch)
    key = f"logs/day={THREE}/a.ndjson"
    grown = store.read(key) + line(upload("more", "p5", seed=5)) + b"\n"

    def grow(step, *_):
        if step == "plan":
            store.write(key, grown)

    night = settings(challenges=tmp_path / "challenges.csv")
    with pytest.raises(InputError, match=rf"{store.url}/{key}: was still being written"), open_lake(store.url) as lake:
        run_night(lake, THREE, night, report=grow)
    assert not store.list("verdicts")
    other = grown.replace(b"more", b"less")

    def replace_it(step, *_):
        if step == "plan":
            store.write(key, other)

    with pytest.raises(InputError, match=rf"{store.url}/{key}: was written again while"), open_lake(store.url) as lake:
        run_night(lake, THREE, night, report=replace_it)
    assert not store.list("verdicts")
    with open_lake(store.url) as lake:
        assert run_night(lake, THREE, night)["records"] == 10


# --- Kills and readers ---------------------------------------------------------------------------------------------------

# A night that is killed at the first call of a store's method whose key begins so, before or after it.
_KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from datetime import date
    from replay.lake import open_lake
    from replay.night import NightSettings, run_night
    from replay.store import Store

    url, method, start, when = sys.argv[1:]
    whole = getattr(Store, method)

    def stop(self, *words):
        keys = list(words[0]) if method == "delete" else words
        mine = [word for word in keys if isinstance(word, str) and word.startswith(start)]
        if mine and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = whole(self, *((keys,) if method == "delete" else words))
        if mine:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(Store, method, stop)
    with open_lake(url) as lake:
        run_night(lake, date(2026, 10, 30), NightSettings(threads=1))
    """
)
MOMENTS = [
    ("create", "publish/", "before"), ("create", "publish/", "after"), ("copy", "warehouse/CURRENT", "before"),
    # With REPLAY_KILLS above 6 only:
    ("create", "lock/", "after"), ("put", "publish/staged", "after"), ("copy", "runs/", "after"), ("write", "publish/", "before"),
    ("write", "publish/", "after"), ("delete", "publish/", "before"), ("delete", "publish/", "after"), ("write", "lock/", "before"),
]  # fmt: skip


@pytest.fixture(scope="module")
def begun(nights, server) -> Store:
    store = server.store(f"s3://games/begun-{next(_number)}")
    upload_tree(store, nights["begun"])
    return store


def _release(store: Store) -> None:
    """As if the killed holder's lease had run out, which test_remote_store waits for."""
    for key in store.list("lock"):
        store.write(key, b'{"holder": "x", "released": true}')


@pytest.mark.kill
@pytest.mark.parametrize("moment", MOMENTS if KILLS > 6 else MOMENTS[:3], ids="-".join)
def test_a_night_killed_at_any_moment(nights, begun, server, tmp_path, moment):
    """Kill, look, run again: old or new and nothing between; the same as of one clean night, and no leftovers."""
    store = server.store(f"s3://games/killed-{next(_number)}")
    copy_tree(begun, store)
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, store.url, *moment], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    published = (moment[0] != "create" and moment[1] != "publish/staged") or moment == ("create", "publish/", "after")
    published = (published and moment[1] != "lock/") or moment == ("write", "lock/", "before")
    expected = everything(nights["all" if published else "begun"])
    assert seen(store) == expected
    with pytest.raises(NightRunning, match="its lease runs out after 60 s"), open_lake(store.url) as lake:
        run_night(lake, TWO, settings())
    _release(store)
    with open_lake(store.url) as lake:
        run_night(lake, TWO, settings())
    assert seen(store) == everything(nights["all"])
    assert content(store, tmp_path)[:2] == local_content(nights["all"])[:2]
    assert len(store.list("publish")) == 2
    assert len(store.list("lock")) == 1
    assert [path.name for path in (tmp_path / "cache" / "work").iterdir()] == [], "the killed night's working folder is gone"


class Stopped(BaseException):
    """The end of a process, as far as its own code can tell."""


@contextmanager
def held(store: Store):
    with open_lake(store.url) as lake, lake.lock():
        recover(lake)
        lake.refresh("verdicts", "runs")
        yield lake


def _publish(lake: Lake, text: str, days=DAYS) -> None:
    publication = Publication(lake)
    for day in days:
        publication.stage(lake.run_file(day)).write_text(text)
    publication.stage(lake.warehouse / f"{text}.duckdb").write_text(text)
    publication.stage(lake.warehouse / "CURRENT").write_text(f"{text}.duckdb\n")
    publication.commit()


def _read(store: Store) -> set[str]:
    with open_lake(store.url) as lake:
        lake.refresh("runs", "standings")
        return {lake.run_file(day).read_text() for day in DAYS} | {lake.current_warehouse().read_text()}


@pytest.fixture
def texts(server) -> Store:
    """A lake that holds texts in place of its files."""
    store = server.store(f"s3://games/texts-{next(_number)}")
    store.write("logs/day=2026-10-31/a.ndjson", b"")
    with held(store) as lake:
        _publish(lake, "one")
    return store


def test_readers_see_old_or_new_at_every_step_of_a_publication(texts, monkeypatch):
    """Before and after every single request of a publication a reader looks, and so does one that began before."""
    looks: list[set[str]] = []
    inside = False

    def watch(name):
        whole = getattr(Store, name)

        def call(self, *words):
            nonlocal inside
            if inside or threading.current_thread().name == "replay-lease":
                return whole(self, *words)
            inside = True
            looks.append(_read(texts))
            inside = False
            return whole(self, *words)

        monkeypatch.setattr(Store, name, call)

    # One after the other: which of several requests at once comes first is the machine's choice.
    monkeypatch.setattr("replay.remote.in_parallel", lambda calls: [call() for call in list(calls)])
    with held(texts) as lake:
        for name in ("put", "create", "copy", "write", "delete"):
            watch(name)
        _publish(lake, "two")
    assert len(looks) > 12
    turn = looks.index({"two"})
    assert looks == [{"one"}] * turn + [{"two"}] * (len(looks) - turn)
    assert turn == 6, "five staged objects and the journal"


def test_a_publication_in_the_middle_of_a_readers_listing(texts, monkeypatch):
    """The reader has listed the journals and one kind when the whole publication happens."""
    whole, done = RemoteLake._look, []

    def late_listing(self, kinds):
        listed = Store.list

        def list_then_publish(store, prefix=""):
            if prefix == "warehouse" and not done:
                done.append(True)
                with held(texts) as lake:
                    _publish(lake, "two")
            return listed(store, prefix)

        if not done:
            monkeypatch.setattr(Store, "list", list_then_publish)
        return whole(self, kinds)

    monkeypatch.setattr(RemoteLake, "_look", late_listing)
    assert _read(texts) == {"two"}
    assert done


def test_a_reader_whose_objects_go_while_it_fetches_looks_again(texts, monkeypatch, machine):
    machine()
    whole, done = RemoteLake._bring, []

    def publish_first(self, wanted):
        if not done:
            done.append(True)
            machine()
            with held(texts) as lake:
                _publish(lake, "two")
        whole(self, wanted)

    monkeypatch.setattr(RemoteLake, "_bring", publish_first)
    assert _read(texts) == {"two"}


def test_a_stale_holder_cannot_commit(texts, monkeypatch):
    """A writer that stood still while another came, at worst between its last proof and its journal, publishes nothing."""
    with open_lake(texts.url) as stale, stale.lock():
        recover(stale)
        stale.refresh("runs")
        _release(texts)
        with held(texts) as other:
            _publish(other, "two")
        with pytest.raises(NightRunning, match="took this lake over"):
            _publish(stale, "stale")
        monkeypatch.setattr("replay.lease.Lease.prove", lambda self: None)
        for number in range(2):
            with pytest.raises(NightRunning, match="another night published to this lake meanwhile, run this one again"):
                _publish(stale, "stale")
            # The journal's number that the stale one would take is forgotten by now.
            with held(texts) as other:
                _publish(other, f"more-{number}")
            assert _read(texts) == {f"more-{number}"}
        with pytest.raises(NightRunning, match="another night published"):
            stale.refresh("runs")
    with held(texts) as lake:
        _publish(lake, "last")
    assert _read(texts) == {"last"}
    assert len(texts.list("publish")) == 2, "what the stale one staged is gone"


def test_recovery_itself_may_be_killed(texts, monkeypatch):
    whole, left = Store.copy, 0

    def copy_or_die(self, source, target):
        nonlocal left
        left -= 1
        if left < 0:
            raise Stopped
        whole(self, source, target)

    monkeypatch.setattr("replay.remote.in_parallel", lambda calls: [call() for call in list(calls)])
    monkeypatch.setattr(Store, "copy", copy_or_die)
    with pytest.raises(Stopped), held(texts) as lake:
        _publish(lake, "two")
    for copies in range(5):
        left = copies
        with pytest.raises(Stopped), held(texts):
            pass
        assert _read(texts) == {"two"}
    left = 5
    with held(texts):
        pass
    assert {texts.read(f"runs/day={day}/run.json") for day in DAYS} == {b"two"}
    assert texts.read("warehouse/CURRENT") == b"two.duckdb\n"
    assert len(texts.list("publish")) == 2


def test_old_warehouses_go_in_the_order_of_their_publication(texts):
    with held(texts) as lake:
        for text in ("b", "a", "c", "one", "d"):
            _publish(lake, text, ())
    with open_lake(texts.url) as lake:
        lake.refresh("standings")
        assert [path.stem for path in lake.older_warehouses()] == ["b", "a", "c", "one"]


# --- Calls that meet -----------------------------------------------------------------------------------------------------


def test_a_spec_verified_twice_at_once_and_again_later(stored, tmp_path, monkeypatch):
    store = _small(stored, tmp_path, monkeypatch)
    where, day = store.url, str(THREE)
    tasks.pull(where, day)
    specs = tasks.plan(where, day)
    assert tasks.plan(where, day) == specs
    answers: list[object] = []
    for spec in specs:
        threads = [threading.Thread(target=lambda s=spec: answers.append(tasks.verify(where, day, s))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(answers) == 2 * len(specs)
    assert tasks.publish(where, day) == tasks.publish(where, day)
    tasks.standings(where)
    run_night(Lake(tmp_path / "lake"), THREE, settings(challenges=tmp_path / "challenges.csv"))
    assert content(store, tmp_path)[:2] == local_content(tmp_path / "lake")[:2]


def test_calls_out_of_order_and_other_plans_are_refused(stored, tmp_path, monkeypatch):
    store = _small(stored, tmp_path, monkeypatch)
    where, day = store.url, str(THREE)
    with pytest.raises(InputError, match=rf"{where}/staging/day={day}/pulled.json: is not there .*, pull {day} first"):
        tasks.plan(where, day)
    with pytest.raises(InputError, match=f"pull {day} first"):
        tasks.publish(where, day)
    tasks.pull(where, day)
    with pytest.raises(InputError, match=f"plan {day} first"):
        tasks.publish(where, day)
    with pytest.raises(InputError, match="plan the day first"):
        tasks.verify(where, day, f"staging/day={day}/spec-0000.json")
    specs = tasks.plan(where, day)
    tasks.verify(where, day, specs[0])
    with pytest.raises(NightError, match=rf"{day}: 2 of 3 shards are not verified \(1, 2\)"):
        tasks.publish(where, day)
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "1")
    others = tasks.plan(where, day)
    assert len(others) > len(specs)
    with pytest.raises(NightError, match=rf"{len(others)} of {len(others)} shards are not verified"):
        tasks.publish(where, day)
    # A new pull takes everything away that an older one left.
    tasks.pull(where, day)
    assert {Path(key).name for key in store.list("staging")} == {"pulled.json", "seconds-pull.json"}


def test_a_second_night_is_told_and_the_lake_stays(begun, server):
    before = begun.list("verdicts")
    told = pytest.raises(NightRunning, match=rf"{begun.url}: another night is writing to this lake")
    with open_lake(begun.url) as lake, lake.lock(), told, open_lake(begun.url) as other:
        run_night(other, TWO, settings())
    assert begun.list("verdicts") == before


# --- Decisions and failures ----------------------------------------------------------------------------------------------


def test_decisions_are_taken_into_the_standings_of_a_store(nights, stored, machine, monkeypatch, tmp_path):
    """They lie in a database of their own; restated elsewhere, the standings are those of a local lake with the same decision."""
    store = stored(nights["all"])
    monkeypatch.setenv("REPLAY_REVIEWS", f"sqlite:///{tmp_path}/reviews.sqlite")
    rows = verdict_rows(nights["all"], ONE)
    row = next(row for row in rows if row["counted"] and row["suspicions"]) | {"day": ONE}
    machine()
    with open_lake(store.url) as lake:
        drafts = [draft("uphold", row, [])]
        would = what_would_move(lake, settings(), drafts)
        assert would.bests == 1
        with open_reviews(lake) as reviews:
            reviews.decide(drafts, reviewer="ann", reason="a bot")
    machine()
    with open_lake(store.url) as lake:
        assert restate_standings(lake, settings()).moves == would
    machine()
    with open_lake(store.url) as lake:
        assert restate_standings(lake, settings()).moves is None
    local = tmp_path / "local"
    shutil.copytree(nights["all"], local)
    assert restate_standings(Lake(local), settings()).moves == would
    assert seen(store)[1] == dump(warehouse(local))


def test_a_release_of_other_flags_stands_no_longer_on_any_machine(stored, machine, monkeypatch, tmp_path):
    """What a night holds back is read from the store, by whoever asks what stands."""
    local = held_lake(tmp_path)
    store, group = stored(local), Group(THREE, **LIAR)
    monkeypatch.setenv("REPLAY_REVIEWS", f"sqlite:///{tmp_path}/reviews.sqlite")
    (incident,) = check_run(local, THREE)["incidents"]

    def in_force(lake: Lake) -> bool:
        with open_reviews(lake) as reviews:
            return bool(releases_in_force(lake, reviews.releases()))

    machine()
    with open_lake(store.url) as lake, open_reviews(lake) as reviews:
        reviews.release(group, reviewer="ann", reason="x", about=incident["digest"])
        assert in_force(lake)
        restate_standings(lake, settings_of(local))
        assert query_publication(lake.current_warehouse())["games_released"] == LIES
    machine()
    late = replace(lying_games(THREE, 1, 1)[0], game_id="late", player_id="p-late")
    land(tmp_path / "late", THREE, "late.ndjson", [late])
    upload_tree(store, tmp_path / "late")
    with open_lake(store.url) as lake:
        run_night(lake, THREE, settings_of(local))
        assert not in_force(lake)
    machine()
    with open_lake(store.url) as lake:
        assert not in_force(lake)
        lake.refresh("standings")
        assert query_publication(lake.current_warehouse())["games_released"] == 0
        (told,) = make_report(lake, THREE)["incidents"]
        assert told["release"] is None and told["lapsed"]["reviewer"] == "ann"


def test_why_a_night_failed_is_read_on_another_machine(nights, stored, machine):
    store = stored(nights["begun"])
    day = THREE + timedelta(days=1)
    with pytest.raises(NothingReceived):
        tasks.pull(store.url, str(day))
    machine()
    with open_lake(store.url) as lake:
        (failure,) = read_failures(lake).values()
        assert (failure.day, failure.error, failure.step) == (day, "NothingReceived", "pull")
        assert store.url in failure.sentence
        assert str(lake.root) not in failure.sentence
        forget_failure(lake, day)
    machine()
    with open_lake(store.url) as lake:
        assert read_failures(lake) == {}
        forget_failure(lake, day)
