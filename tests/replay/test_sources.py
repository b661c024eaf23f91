"""Sources: URLs with a day in them, names that are not trusted, what is never shown; folders and memory as stores."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from datetime import date

import pytest

from replay import landing
from replay.errors import InputError, NightRunning, UnreachableSource, UsageError
from replay.lake import Lake
from replay.landing import land
from replay.settings import load_settings
from replay.sources import PARTIAL_SUFFIXES, Source, is_partial
from tests.replay.source_support import DAY, bring, landed, quick, whys

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def place(tmp_path):
    """The folder in which days land, with the one of DAY in it."""
    folder = tmp_path / "landing" / f"day={DAY}"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def lake(tmp_path):
    return tmp_path / "lake"


@pytest.fixture
def url(tmp_path):
    return f"{tmp_path}/landing/day={{day}}"


@pytest.fixture
def between(monkeypatch):
    """Things to do between one look and the next, the first one after the first look."""
    steps = []

    def pause(seconds):
        if steps:
            steps.pop(0)()

    monkeypatch.setattr(landing, "sleep", pause)
    return steps


# --- URLs and options ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://uploads/games/{day}/", "s3://uploads/games/2026-10-31/"),
        ("landing/day={day}/*.gz", "landing/day=2026-10-31/*.gz"),
        ("gs://b/{day:%Y/%m/%d}", "gs://b/2026/10/31"),
    ],
)
def test_the_day_is_filled_in(url, expected):
    assert Source(url).place(DAY) == expected


@pytest.mark.parametrize(
    "url", ["s3://uploads/games/", "s3://b/{}/", "s3://b/{date}/", "s3://b/{day", "s3://b/{day.hour}", "s3://b/{{day}}"]
)
def test_a_url_without_a_day_is_refused(url, lake):
    with pytest.raises(UsageError, match=r"day"):
        bring(url, lake)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nosuch://b/{day}/", "nosuch"),
        ("https://host/list?day={day}", "query"),
        ("landing/*/{day}/x*", "pattern before its last part"),
        ("filecache::s3://b/{day}/", "chain"),
    ],
)
def test_a_url_that_cannot_work_is_refused(url, words, lake):
    with pytest.raises(UsageError, match=words) as error:
        bring(url, lake)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ['{"secret": "hunter2"', '["hunter2"]', '"hunter2"'])
def test_options_that_are_no_object_are_refused_and_not_repeated(text, monkeypatch):
    monkeypatch.setenv("REPLAY_SOURCE_OPTIONS", text)
    with pytest.raises(UsageError, match="REPLAY_SOURCE_OPTIONS is no JSON object") as error:
        load_settings()
    assert "hunter2" not in str(error.value)


def test_settings_make_the_source(monkeypatch):
    assert load_settings().log_source() is None
    monkeypatch.setenv("REPLAY_SOURCE", "s3://b/{day}/")
    monkeypatch.setenv("REPLAY_SOURCE_OPTIONS", '{"anon": true}')
    monkeypatch.setenv("REPLAY_SOURCE_SETTLE", "1.5")
    assert load_settings().log_source() == Source("s3://b/{day}/", {"anon": True}, 1.5, 600, 3)


@pytest.mark.parametrize(
    ("url", "missing", "extra"),
    [("landing/{day}", "fsspec", "sources"), ("https://host/{day}/", "aiohttp", "sources"), ("s3://b/{day}/", "s3fs", "s3")],
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(url, missing, extra, lake, monkeypatch):
    # Another test may have used it: fsspec keeps what it has loaded once.
    loaded = importlib.import_module("fsspec.registry")._registry
    for protocol in ("http", "https", "s3", "s3a"):
        monkeypatch.delitem(loaded, protocol, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=rf"pip install 'nightly-replay\[{extra}\]'") as error:
        bring(url, lake)
    assert "\n" not in str(error.value)


def test_secrets_are_never_shown(lake):
    source = Source("https://user:hunter2@host/{day}/", {"client_kwargs": {"headers": {"Authorization": "Bearer hunter3"}}})
    assert "hunter" not in repr(source).replace(source.url, "")
    assert source.shown() == "https://host/{day}/"
    assert source.shown("refused: Bearer hunter3") == "refused: ***"
    with pytest.raises(InputError) as error:
        bring("http://user:hunter2@127.0.0.1:9/{day}/", lake, retries=0)
    assert "127.0.0.1:9" in str(error.value)
    assert "hunter2" not in str(error.value)


# --- A folder ------------------------------------------------------------------------------------------------------------


def test_files_of_a_known_kind_are_brought(place, lake, url):
    for name in ("a.ndjson", "b.jsonl.gz", "c.parquet"):
        (place / name).write_bytes(name.encode())
    (place / "notes.txt").write_bytes(b"x")
    (place / ".hidden.ndjson").write_bytes(b"x")
    (place / "hour=01").mkdir()
    brought = bring(url, lake)
    assert brought.files == ("a.ndjson", "b.jsonl.gz", "c.parquet")
    assert landed(lake) == {name: name.encode() for name in brought.files}
    assert whys(brought) == {"hour=01": "is a folder", "notes.txt": "is of no known kind"}


def test_landing_again_brings_only_what_changed(place, lake, url, monkeypatch):
    (place / "a.ndjson").write_bytes(b"1")
    (place / "b.ndjson").write_bytes(b"2")
    bring(url, lake)
    before = (lake / "logs" / f"day={DAY}" / "a.ndjson").stat()
    paused = []
    monkeypatch.setattr(landing, "sleep", paused.append)
    again = bring(url, lake)
    assert (again.files, again.kept, again.left) == ((), 2, ())
    assert paused == [], "with nothing new no night waits"
    (place / "b.ndjson").write_bytes(b"3")
    os.utime(place / "b.ndjson", ns=(1, 1))
    (place / "c.ndjson").write_bytes(b"4")
    third = bring(url, lake)
    assert (third.files, third.kept) == (("b.ndjson", "c.ndjson"), 1)
    assert landed(lake) == {"a.ndjson": b"1", "b.ndjson": b"3", "c.ndjson": b"4"}
    after = (lake / "logs" / f"day={DAY}" / "a.ndjson").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_what_landed_stays_when_the_source_has_it_no_more(place, lake, url):
    (place / "a.ndjson").write_bytes(b"1")
    bring(url, lake)
    (lake / "logs" / f"day={DAY}" / "by-hand.ndjson").write_bytes(b"2")
    (place / "a.ndjson").unlink()
    assert bring(url, lake).files == ()
    place.rmdir()
    assert bring(url, lake).files == ()
    assert landed(lake) == {"a.ndjson": b"1", "by-hand.ndjson": b"2"}


def test_what_was_deleted_or_cut_in_the_lake_is_brought_again(place, lake, url):
    for name in ("a.ndjson", "b.ndjson", "c.ndjson"):
        (place / name).write_bytes(b"1234")
    bring(url, lake)
    folder = lake / "logs" / f"day={DAY}"
    (folder / "a.ndjson").unlink()
    (folder / "b.ndjson").write_bytes(b"12")
    assert bring(url, lake).files == ("a.ndjson", "b.ndjson")
    (folder / ".landed.json").write_text('{"a.ndjson"')
    assert bring(url, lake).files == ("a.ndjson", "b.ndjson", "c.ndjson")
    assert set(landed(lake).values()) == {b"1234"}


def test_a_missing_folder_of_the_day_is_no_file_and_leaves_nothing(place, lake, url):
    place.rmdir()
    brought = bring(url, lake)
    assert (brought.files, brought.kept, brought.left) == ((), 0, ())
    assert not (lake / "logs").exists()


def test_a_missing_folder_of_all_days_is_an_error(place, lake, url, tmp_path):
    """A disk that is not mounted must not look like a day without games."""
    place.rmdir()
    place.parent.rmdir()
    with pytest.raises(UnreachableSource, match=r"landing is not there, name or mount the right one"):
        bring(url, lake)


def test_patterns_and_single_files(place, lake, url):
    for name in ("a.ndjson", "a.ndjson.gz", "b.ndjson.gz", "[x].ndjson.gz"):
        (place / name).write_bytes(name.encode())
    assert bring(f"{url}/[ab].ndjson.gz", lake).files == ("a.ndjson.gz", "b.ndjson.gz")
    assert bring(f"{url}/*.gz", lake).files == ("[x].ndjson.gz",)
    whole = place.parent / f"{DAY}.ndjson"
    whole.write_bytes(b"whole")
    assert bring(f"{place.parent}/{{day}}.ndjson", lake).files == (f"{DAY}.ndjson",)
    assert Source(f"{place.parent}/{{day}}.ndjson").place(date(2026, 11, 1)).endswith("2026-11-01.ndjson")


def test_a_url_that_names_another_file_is_an_error(place, lake):
    (place.parent / f"{DAY}.zip").write_bytes(b"x")
    with pytest.raises(InputError, match="is a file of no known kind"):
        bring(f"{place.parent}/{{day}}.zip", lake)


def test_links_are_followed_and_dangling_ones_reported(place, lake, url, tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"linked")
    (place / "a.ndjson").symlink_to(tmp_path / "elsewhere")
    (place / "b.ndjson").symlink_to(tmp_path / "nowhere")
    brought = bring(url, lake)
    assert landed(lake) == {"a.ndjson": b"linked"}
    assert whys(brought) == {"b.ndjson": "was listed and is gone, tried 3 times"}


def test_pipes_are_not_read(place, lake, url, tmp_path):
    os.mkfifo(place / "a.ndjson")
    os.mkfifo(tmp_path / "pipe")
    (place / "b.ndjson").symlink_to(tmp_path / "pipe")
    assert whys(bring(url, lake)) == {
        "a.ndjson": "is no regular file", "b.ndjson": "cannot be read (is no regular file), tried 3 times",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["bell\a.ndjson", "line\nbreak.ndjson", "turn\u202e.ndjson", "a\\b.ndjson", "x" * 201 + ".ndjson"]
)
def test_hostile_names_of_a_folder_are_refused(name, place, lake, url):
    (place / name).write_bytes(b"x")
    (place / "good.ndjson").write_bytes(b"x")
    brought = bring(url, lake)
    assert brought.files == ("good.ndjson",)
    ((shown, why),) = whys(brought).items()
    assert shown.isprintable()
    assert "name" in why


def test_a_name_that_is_not_utf8_is_refused(place, lake, url):
    (place / os.fsdecode(b"\xff.ndjson")).write_bytes(b"x")
    brought = bring(url, lake)
    assert brought.files == ()
    assert whys(brought) == {"\\udcff.ndjson": "has a name that is not UTF-8 or holds control characters: rename it"}


def test_two_runs_do_not_land_at_once(place, lake, url):
    lake.mkdir()
    with landing._held(Lake(lake)), pytest.raises(NightRunning, match="bringing logs"):
        bring(url, lake)


def test_a_lake_that_is_not_there_does_not_come_into_being(url, tmp_path, place):
    with pytest.raises(InputError, match="no such lake"):
        land(quick(url), DAY, Lake(tmp_path / "mistyped"))
    assert not (tmp_path / "mistyped").exists()


def test_a_folder_in_the_place_of_a_file_is_reported(place, lake, url):
    (place / "a.ndjson").write_bytes(b"x")
    (lake / "logs" / f"day={DAY}" / "a.ndjson").mkdir(parents=True)
    brought = bring(url, lake)
    assert "cannot be put into the lake" in whys(brought)["a.ndjson"]


def test_a_full_disk_is_the_lakes_error_not_the_files(place, lake, url, monkeypatch):
    (place / "a.ndjson").write_bytes(b"x")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fsspec.implementations.local.shutil.copyfile", full)
    with pytest.raises(InputError, match="No space left on device"):
        bring(url, lake)


# --- Files that are still being written -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", PARTIAL_SUFFIXES)
def test_partial_names(suffix):
    assert is_partial(f"a.ndjson.gz{suffix}")
    assert not is_partial(f"notes{suffix}")
    assert not is_partial("a.ndjson.gz")


def test_a_growing_file_is_taken_when_it_is_whole(place, lake, url, between):
    growing = place / "a.ndjson"
    growing.write_bytes(b"1")
    (place / "b.ndjson").write_bytes(b"b")
    between += [lambda: growing.write_bytes(b"12"), lambda: growing.write_bytes(b"123")]
    brought = bring(url, lake, patience=60)
    assert brought.left == ()
    assert landed(lake) == {"a.ndjson": b"123", "b.ndjson": b"b"}


def test_a_file_that_goes_on_growing_is_left_and_taken_another_night(place, lake, url, monkeypatch):
    growing = place / "a.ndjson"
    growing.write_bytes(b"1")
    (place / "b.ndjson").write_bytes(b"b")

    def grow(seconds):
        with growing.open("ab") as handle:
            handle.write(b"1")

    monkeypatch.setattr(landing, "sleep", grow)
    brought = bring(url, lake, patience=0.2)
    assert landed(lake) == {"b.ndjson": b"b"}
    assert whys(brought) == {"a.ndjson": "was still being written after 0.2 seconds"}
    monkeypatch.setattr(landing, "sleep", lambda seconds: None)
    assert bring(url, lake).files == ("a.ndjson",)


def test_a_file_that_grows_while_it_is_read_is_not_taken_half(place, lake, url, monkeypatch):
    (place / "a.ndjson").write_bytes(b"1")
    monkeypatch.setattr(landing, "sleep", lambda seconds: None)
    real = landing.Folder.fetch
    grown = []

    def fetch(self, look, target):
        real(self, look, target)
        if not grown:
            grown.append((place / "a.ndjson").write_bytes(b"123"))

    monkeypatch.setattr(landing.Folder, "fetch", fetch)
    brought = bring(url, lake, patience=60)
    assert grown
    assert (brought.files, brought.left) == (("a.ndjson",), ())
    assert landed(lake) == {"a.ndjson": b"123"}


def test_equal_size_but_written_again_is_not_stable(place, lake, url, between):
    path = place / "a.ndjson"
    path.write_bytes(b"old")

    def rewrite():
        path.write_bytes(b"new")
        os.utime(path, ns=(1, 1))

    between.append(rewrite)
    bring(url, lake, patience=60)
    assert landed(lake) == {"a.ndjson": b"new"}


def test_a_partial_file_is_taken_when_it_was_renamed(place, lake, url, between):
    partial = place / "a.ndjson.part"
    partial.write_bytes(b"1")
    between += [lambda: partial.write_bytes(b"12"), lambda: partial.rename(place / "a.ndjson")]
    brought = bring(url, lake, patience=60)
    assert (brought.files, brought.left) == (("a.ndjson",), ())
    assert landed(lake) == {"a.ndjson": b"12"}


def test_a_partial_file_that_does_not_grow_is_named_and_not_waited_for(place, lake, url, monkeypatch):
    (place / "a.ndjson.gz.crdownload").write_bytes(b"1")
    paused = []
    monkeypatch.setattr(landing, "sleep", paused.append)
    brought = bring(url, lake, patience=600)
    assert whys(brought) == {"a.ndjson.gz.crdownload": "is incomplete by its name and does not grow"}
    assert len(paused) == 1
    assert landed(lake) == {}


def test_with_real_time_and_a_real_writer(place, lake, url):
    """Nothing is faked: a thread appends for a third of a second while looks are a tenth of a second apart."""
    path = place / "a.ndjson"
    path.write_bytes(b"")
    done = threading.Event()

    def write():
        for _ in range(30):
            with path.open("ab") as handle:
                handle.write(b"0123456789\n")
            done.wait(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    brought = bring(url, lake, settle=0.1, patience=30)
    writer.join()
    assert brought.files == ("a.ndjson",)
    assert landed(lake) == {"a.ndjson": b"0123456789\n" * 30}


# --- Files that vanish ----------------------------------------------------------------------------------------------------


def test_a_file_that_vanishes_is_tried_again_and_reported(place, lake, url, between):
    (place / "a.ndjson").write_bytes(b"1")
    (place / "b.ndjson").write_bytes(b"2")
    between.append((place / "a.ndjson").unlink)
    brought = bring(url, lake)
    assert landed(lake) == {"b.ndjson": b"2"}
    assert whys(brought) == {"a.ndjson": "was listed and is gone, tried 3 times"}


def test_a_file_that_comes_back_is_taken(place, lake, url, between):
    path = place / "a.ndjson"
    path.write_bytes(b"1")
    between += [path.unlink, lambda: path.write_bytes(b"2")]
    brought = bring(url, lake, patience=60)
    assert (brought.files, brought.left) == (("a.ndjson",), ())
    assert landed(lake) == {"a.ndjson": b"2"}


# --- Memory ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def memory():
    found = fsspec.filesystem("memory")
    yield found
    found.store.clear()
    found.pseudo_dirs[:] = [""]


def test_memory_is_a_source_like_any(memory, lake):
    memory.pipe(f"/uploads/{DAY}/a.ndjson", b"1")
    memory.pipe(f"/uploads/{DAY}/sub/b.ndjson", b"2")
    brought = bring("memory://uploads/{day}/", lake)
    assert (brought.files, whys(brought)) == (("a.ndjson",), {"sub": "is a folder"})
    assert bring("memory://uploads/{day}/", lake).kept == 1
    memory.pipe(f"/uploads/{DAY}/a.ndjson", b"3")
    assert bring("memory://uploads/{day}/", lake).files == ("a.ndjson",)
    assert landed(lake) == {"a.ndjson": b"3"}


def test_hostile_names_of_a_store_are_refused(memory, lake):
    for name in ("..", "...ndjson", "a\\..\\b.ndjson"):
        memory.pipe(f"/uploads/{DAY}/{name}", b"x")
    brought = bring("memory://uploads/{day}/", lake)
    assert brought.files == ()
    assert sorted(path.name for path in lake.rglob("*.ndjson")) == []
