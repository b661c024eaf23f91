"""E8: dashboards that read while nights write: no error, no mixed state, nothing held, no night that fails because of them."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import duckdb
import httpx
import pytest

from replay.database import connect, held_open, quoted
from replay.lake import Lake
from replay.night import NightSettings, rebuild_standings
from tests.replay.dashboard.html_check import Page
from tests.replay.dashboard.serving import dashboard
from tests.replay.night_support import ROOT, land, night, upload, warehouse, write_challenges

FIRST = date(2026, 10, 1)
NIGHTS = 8
# So many requests without one error.
REQUESTS = int(os.environ.get("REPLAY_REQUESTS", "250"))

_NIGHTS = textwrap.dedent(
    """
    import os, signal, sys
    from datetime import date
    from pathlib import Path
    from replay.lake import Lake
    from replay.night import NightSettings, run_night

    lake, challenges, left = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    kills = left > 0

    def step(event, values):
        global left
        names = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}
        if kills and event in names and str(lake) in str(values[0]) and "/logs" not in str(values[0]):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)
    for day in sys.argv[4:]:
        run_night(Lake(lake), date.fromisoformat(day), NightSettings(threads=1, challenges=challenges))
        print(day, flush=True)
    """
)


def day_of(number: int) -> date:
    return FIRST + timedelta(days=number - 1)


def land_day(lake: Path, number: int) -> None:
    """An honest game and a flagged one of the same player a day: after night n there are n of each, and the total is n games'."""
    day = day_of(number)
    honest = upload(f"fine-{number}", "p", day)
    forged = upload(f"bad-{number}", "p", day, attempt=2, seed=2)
    other = upload(f"other-{number}", f"q-{number}", day, seed=3)
    land(lake, day, "a.ndjson", [honest, replace(forged, score=forged.score + 1), other])


@pytest.fixture
def lake(tmp_path):
    """A lake of which the first night is published; the logs of all others have landed."""
    root = tmp_path / "lake"
    for number in range(1, NIGHTS + 1):
        land_day(root, number)
    night(root, FIRST, challenges=write_challenges(tmp_path / "challenges.csv"))
    return root


def nights(lake: Path, first: int, last: int, steps: int = 0) -> subprocess.Popen[str]:
    """A process that runs the nights of these days, killed at its ``steps``-th change of the lake (0: never)."""
    words = [str(lake), str(lake.parent / "challenges.csv"), str(steps), *(str(day_of(n)) for n in range(first, last + 1))]
    return subprocess.Popen(
        [sys.executable, "-c", _NIGHTS, *words], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


# --- What a page says ----------------------------------------------------------------------------------------------------


def published_number(page: Page) -> int:
    """The number of the night that a page says its standings are of."""
    found = re.search(r"Standings as of (\d{4}-\d{2}-\d{2})", page.text)
    assert found, f"the page does not say how old its data is: {page.text[:300]}"
    return (date.fromisoformat(found[1]) - FIRST).days + 1


def check(path: str, page: Page, score: int) -> int:
    """The number of the publication that a page is of; fails when something on it is of another one."""
    number = published_number(page)
    games = {link for link, _ in page.links if link.startswith("game?")}
    if path.startswith("flags"):
        assert len(games) == number, f"{path}: {len(games)} flagged games, standings of night {number}"
    if path.startswith("player"):
        flagged = {link for link in games if "id=bad-" in link}
        assert len(flagged) == number, f"{path}: {len(flagged)} flagged games, standings of night {number}"
    if path.startswith(("player", "boards")):
        total = f"{number * score:,}"
        assert total in page.text, f"{path}: not the total of night {number}, {total}: {page.text[:2000]}"
    return number


PATHS = (
    "", "flags?player=p&size=100", "player?id=p", "boards?game=blocks", f"night?day={FIRST}", "quarantine", "reviews",
    f"game?id=bad-1&day={FIRST}", "flags.csv", "chart.svg?name=flags&game=blocks",
)  # fmt: skip


class Readers:
    """People who look at every page of every dashboard over and over, in threads, to the end of the block: answers and faults."""

    def __init__(self, urls: list[str], score: int, people: int = 4) -> None:
        self.urls, self.score = urls, score
        self.statuses: Counter[int] = Counter()
        self.wrong: list[str] = []
        self.seen: set[int] = set()
        self.done = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._read, args=(number,)) for number in range(people)]

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        for thread in self._threads:
            thread.join(60)

    def _read(self, number: int) -> None:
        rng, last = random.Random(number), 0
        with httpx.Client(base_url=self.urls[number % len(self.urls)], timeout=60) as client:
            while not self.done.is_set():
                path = rng.choice(PATHS)
                try:
                    answer = client.get(path)
                    found = 0
                    if answer.status_code == 200 and answer.headers["content-type"].startswith("text/html"):
                        found = check(path, Page(answer.text), self.score)
                        assert found >= last, f"{path}: night {found} after night {last}"
                        last = found
                except (AssertionError, httpx.HTTPError) as error:
                    with self._lock:
                        self.wrong.append(f"{path}: {type(error).__name__} {error}")
                    continue
                with self._lock:
                    self.statuses[answer.status_code] += 1
                    self.seen.add(found)
                    if answer.status_code != 200:
                        self.wrong.append(f"{path}: {answer.status_code} {answer.text[-600:]}")


def test_e8_two_dashboards_read_while_nights_publish(lake):
    """E8: REQUESTS on two dashboards while night after night publishes and old warehouses go: every answer is a page of one
    publication, whole; no night fails; afterwards nothing is held open."""
    score = upload("x", "x").score
    first = warehouse(lake)
    with dashboard(lake) as one, dashboard(lake) as two:
        with Readers([one.url, two.url], score) as readers:
            writer = nights(lake, 2, NIGHTS)
            said, errors = writer.communicate(timeout=300)
            assert writer.returncode == 0, errors
            while sum(readers.statuses.values()) < REQUESTS and not readers.wrong and one.process.poll() is None:
                readers.done.wait(0.2)
        assert readers.wrong == [], f"{len(readers.wrong)} of {sum(readers.statuses.values())}: {readers.wrong[:3]}"
        assert set(readers.statuses) == {200}
        assert sum(readers.statuses.values()) >= REQUESTS
        assert said.split() == [str(day_of(n)) for n in range(2, NIGHTS + 1)]
        assert len(readers.seen) > 5, f"the readers saw only the nights {sorted(readers.seen)}"
        assert not first.exists(), "the warehouse that they began with is long gone"
        for served in (one, two):
            assert served.open_files(lake) == [], "between requests nothing is held"
            # The last word is the last night's.
            assert check("player?id=p", Page(httpx.get(served.url + "player?id=p").text), score) == NIGHTS


@pytest.mark.kill
def test_e8_a_killed_writer_disturbs_nobody(lake):
    """E8: nights are killed at many moments; a dashboard shows the night before or the one after, and the next night goes on."""
    score, rng = upload("x", "x").score, random.Random(8)
    with dashboard(lake) as served, Readers([served.url], score, people=2) as readers:
        number = killed = 2
        for _ in range(8):
            writer = nights(lake, number, number, steps=rng.randrange(5, 60))
            writer.communicate(timeout=120)
            killed += writer.returncode == -signal.SIGKILL
            assert writer.returncode in (0, -signal.SIGKILL)
            page = Page(httpx.get(served.url + "player?id=p", timeout=60).text)
            assert check("player?id=p", page, score) in (number - 1, number)
        writer = nights(lake, number, number + 1)
        assert writer.wait(120) == 0, writer.stderr.read() if writer.stderr else ""
        assert killed > 4, "most of the nights were killed"
        assert check("boards", Page(httpx.get(served.url + "boards?game=blocks").text), score) == number + 1
    assert readers.wrong == []
    assert set(readers.statuses) == {200}


def test_e8_no_night_waits_for_somebody_who_looks(lake):
    """E8: a reader that keeps the current warehouse open, a dashboard that is asked all the time: nights and rebuilds go through."""
    score, challenges = upload("x", "x").score, lake.parent / "challenges.csv"
    with duckdb.connect(str(warehouse(lake)), read_only=True) as held, dashboard(lake) as served:
        with Readers([served.url], score, people=2) as readers:
            for number in (2, 3, 4):
                night(lake, day_of(number), challenges=challenges)
                rebuild_standings(Lake(lake), NightSettings(challenges=challenges))
            assert held.execute("select as_of from publication").fetchone() == (FIRST,)
        assert readers.wrong == []


def test_e8_nothing_is_held_after_an_error(lake):
    """E8: a request that fails, because the warehouse is damaged for instance, holds nothing either, and a good night heals it."""
    with dashboard(lake) as served:
        path = warehouse(lake)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        answers = [httpx.get(served.url + name) for name in ("player?id=p", "boards?game=blocks", "flags")]
        assert all(answer.status_code in (404, 500) for answer in answers), [answer.status_code for answer in answers]
        assert all('id="main"' in answer.text for answer in answers), "an error is a page with a sentence too"
        assert served.open_files(lake) == []
        rebuild_standings(Lake(lake), NightSettings(challenges=lake.parent / "challenges.csv"))
        assert httpx.get(served.url + "player?id=p").status_code == 200


def test_e8_a_file_is_read_whole_whatever_takes_its_place(tmp_path):
    """E8: what was opened is read to its end, though a night has put another file into its place in the middle of it."""
    path, aside = tmp_path / "part-0.parquet", tmp_path / "aside.parquet"
    with connect() as con:
        con.execute(f"copy (select range as n, 'old' as text from range(200000)) to {quoted(path)} (row_group_size 2048)")
        con.execute(f"copy (select 'new' as text, range as n from range(10)) to {quoted(aside)}")
        with held_open([path]) as files:
            os.replace(aside, path)
            found = con.execute("select count(*), min(text), sum(n) from read_parquet(?)", [files]).fetchall()
        assert found == [(200000, "old", sum(range(200000)))]
        assert con.execute("select count(*), min(text) from read_parquet(?)", [str(path)]).fetchall() == [(10, "new")]
