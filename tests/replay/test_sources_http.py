"""A web server as a source: index pages, connections that break, servers that lie, a kill in the middle of a download."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from replay import landing
from replay.errors import InputError, UnreachableSource
from replay.lake import Lake
from tests.replay.source_support import DAY, bring, landed, served, whys

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")
ROOT = Path(__file__).parents[2]
BASE = f"/games/{DAY}/"


@pytest.fixture
def lake(tmp_path):
    return tmp_path / "lake"


@pytest.fixture
def site():
    with served(**{"a.ndjson": b"one\n", "b.ndjson.gz": b"\x1f\x8b two"}) as found:
        yield found


def test_links_of_an_index_page_are_brought_byte_for_byte(site, lake):
    site.files[f"{BASE}c.ndjson"] = bytes(range(256)) * 5000
    brought = bring(site.url, lake)
    assert brought.left == ()
    assert landed(lake) == {name.removeprefix(BASE): data for name, data in site.files.items()}


def test_landing_again_does_not_download_again(site, lake):
    bring(site.url, lake)
    downloads = site.asked[("GET", f"{BASE}a.ndjson")]
    assert downloads == 1
    assert bring(site.url, lake).kept == 2
    assert site.asked[("GET", f"{BASE}a.ndjson")] == downloads


def test_an_etag_that_changes_with_equal_size_is_another_version(site, lake):
    path = f"{BASE}a.ndjson"
    site.etags[path] = '"v1"'
    bring(site.url, lake)
    site.files[path], site.etags[path] = b"ONE\n", '"v2"'
    assert bring(site.url, lake).files == ("a.ndjson",)
    assert landed(lake)["a.ndjson"] == b"ONE\n"


def test_an_etag_that_changes_while_the_file_is_read(site, lake, monkeypatch):
    path = f"{BASE}a.ndjson"
    site.etags[path] = '"v1"'
    real = landing.Folder.fetch
    seen = []

    def fetch(self, look, target):
        real(self, look, target)
        if look.path.endswith("a.ndjson") and not seen:
            seen.append(look.version)
            site.files[path], site.etags[path] = b"ONE\n", '"v2"'

    monkeypatch.setattr(landing.Folder, "fetch", fetch)
    brought = bring(site.url, lake, patience=30)
    assert (seen, brought.left) == (["v1"], ())
    assert landed(lake)["a.ndjson"] == b"ONE\n"


def test_a_day_without_a_page_is_no_file(site, lake):
    site.files.clear()
    assert bring(site.url, lake).files == ()


def test_patterns_choose_among_links(site, lake):
    assert bring(site.url + "*.gz", lake).files == ("b.ndjson.gz",)


def test_a_single_file_needs_no_index(site, lake):
    url = site.url.replace("/{day}/", "/{day}/a.ndjson")
    site.index = "no links here"
    assert bring(url, lake).files == ("a.ndjson",)
    assert bring(url.replace("a.ndjson", "z.ndjson"), lake).files == ()


# --- Index pages are not trusted -----------------------------------------------------------------------------------------


def test_links_that_lead_elsewhere_are_not_followed(site, lake):
    site.files["/secret.ndjson"] = b"x"
    site.index = textwrap.dedent(
        """
        <a href="?C=N;O=D">Name</a> <a href="../">Parent</a> <a href="/secret.ndjson">s</a> <a href="../../secret.ndjson">s</a>
        <a href="..%2f..%2fsecret.ndjson">s</a> <a href="http://127.0.0.1:1/x.ndjson">x</a> <a href="#top">top</a>
        <a href="hour=01/">hour</a> <a href="style.css">c</a> <a href="%ff.ndjson">bytes</a> <a href="./a.ndjson">a</a>
        """
    )
    brought = bring(site.url, lake)
    assert landed(lake) == {"a.ndjson": b"one\n"}
    assert whys(brought) == {
        "../../secret.ndjson": "has a name that holds a path: only plain names are brought",
        "\\udcff.ndjson": "has a name that is not UTF-8 or holds control characters: rename it",
        "hour=01": "is a folder",
        "style.css": "is of no known kind",
    }
    assert not {path for _, path in site.asked if "secret" in path}


def test_two_links_for_one_name_are_an_error_naming_both(site, lake):
    site.index = '<a href="a.ndjson?v=1">a</a> <a href="a.ndjson?v=2">a</a>'
    with pytest.raises(InputError, match=r"two files for one name .*a\.ndjson\?v=1 and .*a\.ndjson\?v=2: rename one"):
        bring(site.url, lake)
    assert landed(lake) == {}


# --- Servers that fail -----------------------------------------------------------------------------------------------------


def body(handler, announced: int, data: bytes) -> bool:
    """Answer with another length than that of the data, then close the connection."""
    handler.reply(data, "application/octet-stream", size=announced)
    handler.close_connection = True
    return True


def test_a_connection_that_breaks_in_mid_body_is_tried_again(site, lake):
    breaks = [1, 1]

    def act(handler, path):
        if path.endswith("a.ndjson") and handler.command == "GET" and breaks:
            breaks.pop()
            return body(handler, 4, b"on")
        return False

    site.act = act
    brought = bring(site.url, lake)
    assert (breaks, brought.left) == ([], ())
    assert landed(lake)["a.ndjson"] == b"one\n"


def test_a_connection_that_always_breaks_is_reported_and_the_rest_comes(site, lake):
    site.act = lambda handler, path: path.endswith("a.ndjson") and handler.command == "GET" and body(handler, 4, b"on")
    brought = bring(site.url, lake)
    assert landed(lake) == {"b.ndjson.gz": b"\x1f\x8b two"}
    why = whys(brought)["a.ndjson"]
    assert why.startswith("cannot be read (")
    assert why.endswith("tried 3 times")
    assert site.asked[("GET", f"{BASE}a.ndjson")] == 3
    assert [path.name for path in (lake / "logs" / f"day={DAY}").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(
    ("listed", "words"), [(9, "came with 4 bytes where 9 are listed"), (2, "more than the 2 bytes that are listed came")]
)
def test_a_server_that_lies_about_the_size(site, lake, listed, words):
    def act(handler, path):
        if path.endswith("a.ndjson") and handler.command == "HEAD":
            handler.reply(b"", "application/octet-stream", size=listed)
            return True
        return False

    site.act = act
    brought = bring(site.url, lake)
    assert words in whys(brought)["a.ndjson"]
    assert set(landed(lake)) == {"b.ndjson.gz"}


def test_a_server_that_names_no_size_cannot_be_believed(site, lake):
    def act(handler, path):
        if path.endswith("a.ndjson"):
            handler.send_response(200)
            handler.send_header("Connection", "close")
            handler.end_headers()
            handler.close_connection = True
            if handler.command == "GET":
                handler.wfile.write(b"on")
            return True
        return False

    site.act = act
    assert whys(bring(site.url, lake)) == {
        "a.ndjson": "is of a size that the store does not tell, so nothing says whether it arrives whole"
    }
    assert set(landed(lake)) == {"b.ndjson.gz"}


@pytest.mark.parametrize(("status", "words"), [(404, "was listed and is gone, tried 3 times"), (403, "403"), (500, "500")])
def test_a_file_that_the_server_does_not_give(site, lake, status, words):
    def act(handler, path):
        if path.endswith("a.ndjson"):
            handler.send_error(status)
            return True
        return False

    site.act = act
    brought = bring(site.url, lake)
    assert words in whys(brought)["a.ndjson"]
    assert set(landed(lake)) == {"b.ndjson.gz"}


def test_an_index_that_fails_is_tried_again(site, lake):
    fails = [1, 1]

    def act(handler, path):
        if path.endswith("/") and fails:
            fails.pop()
            handler.send_error(503)
            return True
        return False

    site.act = act
    assert bring(site.url, lake).files == ("a.ndjson", "b.ndjson.gz")


def test_a_source_that_cannot_be_reached_is_an_error_after_retries(lake):
    with served() as site:
        url = site.url
    with pytest.raises(
        UnreachableSource, match=r"cannot be read, tried 3 times \(.*127\.0\.0\.1.*\): look at its URL and options"
    ) as error:
        bring(url, lake)
    assert "\n" not in str(error.value)


def test_an_index_that_may_not_be_read_is_an_error(site, lake):
    def act(handler, path):
        handler.send_error(401)
        return True

    site.act = act
    with pytest.raises(InputError, match="401"):
        bring(site.url, lake)


def test_headers_of_the_options_are_sent(site, lake):
    def act(handler, path):
        if handler.headers.get("X-Token") != "open":
            handler.send_error(403)
            return True
        assert handler.headers["Accept-Encoding"] == "identity"
        return False

    site.act = act
    assert bring(site.url, lake, options={"headers": {"X-Token": "open"}}).files == ("a.ndjson", "b.ndjson.gz")


# --- A kill ----------------------------------------------------------------------------------------------------------------


def halfway_there(folder: Path) -> bool:
    return any(path.stat().st_size for path in folder.glob(".landing/*"))


def test_a_kill_in_mid_download_leaves_nothing_half_read(site, lake):
    """The server sends half of a file and waits; the process is killed there, and the next run brings everything."""
    whole = b"0123456789" * 200_000
    site.files[f"{BASE}b.ndjson.gz"] = whole
    halfway, go_on = threading.Event(), threading.Event()

    def act(handler, path):
        if path.endswith("b.ndjson.gz") and handler.command == "GET" and not halfway.is_set():
            handler.reply(whole[: len(whole) // 2], "application/octet-stream", size=len(whole))
            halfway.set()
            go_on.wait(30)
            handler.close_connection = True
            return True
        return False

    site.act = act
    code = "import sys, pathlib; from tests.replay.source_support import bring; bring(sys.argv[1], pathlib.Path(sys.argv[2]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, site.url, str(lake)], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    try:
        assert halfway.wait(30)
        folder = lake / "logs" / f"day={DAY}"
        end = time.monotonic() + 30
        while time.monotonic() < end and not ((folder / "a.ndjson").exists() and halfway_there(folder)):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        assert halfway_there(folder), "it was killed in mid-download"
        assert landed(lake) == {"a.ndjson": b"one\n"}
    finally:
        go_on.set()
        process.kill()
        process.wait()
    brought = bring(site.url, lake)
    assert landed(lake) == {"a.ndjson": b"one\n", "b.ndjson.gz": whole}
    assert brought.left == ()
    assert not (folder / ".landing").exists()
    assert Lake(lake).log_files(DAY)[1] == []
