"""The calls to an object store, the lease and the cache, against a real S3 server on loopback."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
import urllib.request

import pytest

from replay import lease as leases
from replay.cache import Cache
from replay.errors import ChangedInput, InputError, NightError, NightRunning, UsageError
from replay.lake import open_lake
from replay.lease import Lease
from replay.settings import load_settings
from replay.store import Store


@pytest.fixture
def url(request) -> str:
    return "games/" + request.node.name.replace("[", "-").replace("]", "")


@pytest.fixture(params=["s3", "memory"])
def store(request, server, url) -> Store:
    return Store(f"{request.param}://{url}/lake/", server.options if request.param == "s3" else None)


@pytest.fixture
def s3(server, url) -> Store:
    return server.store(f"s3://{url}")


# --- Objects -------------------------------------------------------------------------------------------------------------


def test_objects_come_and_go_and_no_listing_is_stale(store, server):
    assert not store.exists()
    assert store.list() == {}
    other = Store(store.url, server.options if store.url.startswith("s3") else None)
    store.write("logs/day=1/b ä+%.ndjson", b"12345")
    assert list(other.list()) == ["logs/day=1/b ä+%.ndjson"]
    other.write("logs/day=1/a", b"")
    other.write("logs2/x", b"x")
    assert list(store.list("logs")) == ["logs/day=1/a", "logs/day=1/b ä+%.ndjson"]
    assert [entry.size for entry in store.list("logs").values()] == [0, 5]
    assert store.exists()
    entry = store.list()["logs/day=1/b ä+%.ndjson"]
    assert store.head(entry.key) == entry
    other.write(entry.key, b"54321")
    assert store.head(entry.key) != entry
    assert store.read(entry.key) == b"54321"
    store.copy(entry.key, "c")
    assert store.read("c") == b"54321"
    other.delete(["c", "c", "never"])
    assert (store.read("c"), store.head("c"), store.modified("c")) == (None, None, None)
    assert "c" not in store.list()


def test_only_one_caller_creates_an_object(store):
    # One after the other: the test server looks and writes in two steps, which several threads can come between.
    assert [store.create("lock", b"%d" % n) for n in range(3)] == [True, False, False]
    held = store.read("lock")
    assert store.create("lock", held), "whose first answer got lost is told that it was its own"
    assert not store.create("lock", b"other")
    assert store.read("lock") == held


def test_what_changes_while_it_is_read_is_never_taken(store, tmp_path):
    store.write("a", b"0123456789")
    entry = store.head("a")
    store.get(entry, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"0123456789"
    store.get_range(entry, 4, 7, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == b"\0\0\0\x00456"
    store.write("a", b"abcdefghij")
    for attempt in (lambda: store.get(entry, tmp_path / "b"), lambda: store.get_range(entry, 4, 7, tmp_path / "b")):
        with pytest.raises(ChangedInput, match=r"/a: was changed or removed while it was read"):
            attempt()
    store.delete(["a"])
    with pytest.raises(ChangedInput):
        store.get(entry, tmp_path / "b")


# --- Errors --------------------------------------------------------------------------------------------------------------


def test_a_missing_bucket_is_one_sentence(server, monkeypatch, tmp_path):
    monkeypatch.setenv("REPLAY_CACHE", str(tmp_path))
    monkeypatch.setenv("REPLAY_STORAGE_OPTIONS", json.dumps(server.options))
    no_bucket = r"s3://nobody/lake: there is no such bucket \(.*\), check the URL"
    with pytest.raises(InputError, match=no_bucket), open_lake("s3://nobody/lake") as lake:
        lake.refresh("verdicts")
    with pytest.raises(InputError, match=no_bucket), open_lake("s3://nobody/lake") as lake, lake.lock():
        pass
    no_lake = r"s3://games/typo: no such lake, name the URL that holds logs/day="
    with pytest.raises(InputError, match=no_lake), open_lake("s3://games/typo") as lake, lake.lock():
        pass
    assert server.store("s3://games/typo").list() == {}


def test_no_answer_and_no_rights_are_one_sentence(server, monkeypatch):
    with pytest.raises(NightError, match=r"s3://games/x/a: the store cannot be reached .*http://127.0.0.1:9.*, check endpoint_url"):
        Store("s3://games/x", {**server.options, "endpoint_url": "http://127.0.0.1:9"}).write("a", b"")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    with pytest.raises(InputError, match=r"s3://games/x/a: the store refuses access \(Unable to locate credentials\), check the key"):
        Store("s3://games/x", {"endpoint_url": server.endpoint}).write("a", b"")

    def demand_credentials(after: bytes) -> None:
        request = urllib.request.Request(server.endpoint + "/moto-api/reset-auth", after, {"Content-Type": "text/plain"})
        urllib.request.urlopen(request, timeout=5).close()

    demand_credentials(b"0")
    try:
        for attempt in (lambda s: s.list(), lambda s: s.write("a", b""), lambda s: s.read("a")):
            with pytest.raises(InputError, match=r"s3://games/x.*: the store refuses access \(.*\), check the key and secret"):
                attempt(server.store("s3://games/x"))
    finally:
        demand_credentials(b"inf")
    assert server.store("s3://games/x").list() == {}


def test_aws_variables_serve_as_well(server, monkeypatch, s3):
    s3.write("a", b"1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    assert list(Store(s3.url).list()) == ["a"]


def test_a_missing_package_and_wrong_options(monkeypatch, tmp_path):
    with pytest.raises(UsageError, match=r"xyz://a: cannot be opened \(Protocol not known: xyz\), check the URL"):
        Store("xyz://a")
    with pytest.raises(UsageError, match=r"s3://a/b: cannot be opened \(.*nonsense.*\), check the URL and the setting REPLAY_STORAGE_"):
        Store("s3://a/b", {"nonsense": 1})
    for text in ('{"secret": "hush"', '["hush"]', "hush"):
        monkeypatch.setenv("REPLAY_STORAGE_OPTIONS", text)
        with pytest.raises(UsageError, match="setting REPLAY_STORAGE_OPTIONS is no JSON object, write it like") as caught:
            load_settings()
        assert "hush" not in str(caught.value)
    monkeypatch.delenv("REPLAY_STORAGE_OPTIONS")
    monkeypatch.setenv("REPLAY_CACHE", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cache: cannot be written \(Not a directory\), name another folder .* REPLAY_CACHE"):
        open_lake("s3://a/b")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3")
    with pytest.raises(UsageError, match=r"s3://a/b: a package for .* is missing \(.*\), pip install nightly-replay\[s3\]"):
        Store("s3://a/b")


# --- The lease -----------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_told_at_once_and_comes_in_when_the_first_is_done(s3):
    first, second = Lease(s3, 60), Lease(s3, 60)
    first.acquire()
    with pytest.raises(NightRunning, match=r"another night is writing to this lake \(.*:\d+\), run this one again .* after 60 s"):
        second.acquire()
    first.prove()
    first.release()
    second.acquire()
    second.prove()
    assert second.generation == first.generation + 1
    with pytest.raises(NightRunning, match=r"took this lake over \(lease 2 after 1\)"):
        first.prove()
    # A holder that was taken for dead does not give back what is another's.
    first.release()
    with pytest.raises(NightRunning):
        Lease(s3, 60).acquire()
    second.release()
    assert list(s3.list("lock")) == ["lock/000000000002.json"]


def _silent(lease: Lease) -> None:
    """As a process that was killed or stopped: no heartbeat any more."""
    lease._stop.set()
    lease._thread.join()


def test_a_killed_holders_lease_runs_out_and_a_living_ones_does_not(s3):
    killed = Lease(s3, 3)
    killed.acquire()
    time.sleep(4.2)
    with pytest.raises(NightRunning):
        Lease(s3, 3).acquire()
    killed.prove()
    _silent(killed)
    began = time.monotonic()
    next_one = Lease(s3, 3)
    while True:
        try:
            next_one.acquire()
            break
        except NightRunning:
            assert time.monotonic() - began < 15
            time.sleep(0.2)
    assert time.monotonic() - began > 1.4, "the store's times are whole seconds"
    with pytest.raises(NightRunning, match="took this lake over"):
        killed.prove()
    next_one.release()


def test_a_holder_that_stood_still_does_not_publish_even_if_nobody_came(s3, monkeypatch):
    held = Lease(s3, 60)
    held.acquire()
    now = time.monotonic()
    monkeypatch.setattr(leases.time, "monotonic", lambda: now + 61)
    _silent(held)
    with pytest.raises(NightRunning, match="the lease ran out"):
        held.prove()


def test_two_that_come_at_the_same_moment(s3, monkeypatch):
    """Both have seen the lake free: only one creates the next generation."""
    first, second = Lease(s3, 60), Lease(s3, 60)
    with monkeypatch.context() as patch:
        patch.setattr(Lease, "_newest", lambda self: 0)
        first.acquire()
        with pytest.raises(NightRunning, match="another night is writing"):
            second.acquire()
    first.prove()
    # A store that lets the second one overwrite it: the first does not go on as if nothing had been.
    s3.write("lock/000000000001.json", second._text(released=False))
    with pytest.raises(NightRunning, match="another night wrote its name over lease 1"):
        first.prove()
    first.release()
    assert s3.read("lock/000000000001.json") == second._text(released=False)


def test_a_damaged_lease_is_named(s3):
    s3.write("lock/000000000007.json", b"{")
    with pytest.raises(NightError, match=r"lock/000000000007.json: is no lease, delete this object"):
        Lease(s3, 60).acquire()


# --- The cache -----------------------------------------------------------------------------------------------------------


def test_an_object_is_fetched_once_a_version(s3, tmp_path, monkeypatch):
    cache = Cache(tmp_path / "cache", 1 << 30)
    s3.write("a", b"one")
    gets = []
    whole = Store.get
    monkeypatch.setattr(Store, "get", lambda self, entry, path: gets.append(entry) or whole(self, entry, path))
    for number in range(3):
        cache.fetch(s3, s3.head("a"), tmp_path / f"x{number}")
        assert (tmp_path / f"x{number}").read_bytes() == b"one"
    assert len(gets) == 1
    s3.write("a", b"two")
    cache.fetch(s3, s3.head("a"), tmp_path / "x0")
    assert ((tmp_path / "x0").read_bytes(), (tmp_path / "x1").read_bytes()) == (b"two", b"one")
    assert len(gets) == 2


def test_the_cache_forgets_what_was_not_used_for_longest(s3, tmp_path):
    cache = Cache(tmp_path / "cache", 250)
    for name in "abc":
        s3.write(name, name.encode() * 100)
    folder = cache.open_folder()
    for age, name in enumerate("abca"):
        cache.fetch(s3, s3.head(name), folder / name)
        kept = cache._kept(s3, s3.head(name))
        os.utime(kept, (1_000_000 + age, 1_000_000 + age))
    assert (folder / "b").read_bytes() == b"b" * 100
    cache.close_folder(folder)
    assert [cache.has(s3, s3.head(name)) for name in "abc"] == [True, False, True]
    assert list((tmp_path / "cache" / "work").iterdir()) == []


def test_working_folders_of_the_dead_are_removed_and_of_the_living_are_not(tmp_path):
    mine = Cache(tmp_path, 0)
    living = mine.open_folder()
    (living / "file").write_text("x")
    dead = tmp_path / "work" / "dead"
    dead.mkdir()
    (dead / "file").write_text("x")
    dead.with_suffix(".lock").write_bytes(b"")
    other = Cache(tmp_path, 0).open_folder()
    assert not dead.exists()
    assert (living / "file").exists()
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == sorted(
        [living.name, other.name, f"{living.name}.lock", f"{other.name}.lock"]
    )
    with living.with_suffix(".lock").open() as handle, pytest.raises(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
