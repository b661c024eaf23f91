"""The ops pages over a month of a million uploads: how long each takes after the first look, with and without a night beneath."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlencode

from benchmarks.month import month

# Requests of every page in quiet, and of all pages together while nights publish; exports take seconds and are asked for less.
QUIET, UNDER_NIGHTS = 40, 1000
EXPORTS, EVERY = 3, 250
# A dashboard on a free port, whose number it prints; at the end of its input it ends and says how much memory it needed.
_SERVER = """
import json, resource, socket, sys, threading
import uvicorn
from replay.dashboard.access import Person
from replay.dashboard.app import AppSettings, create_app
door = socket.create_server(("127.0.0.1", 0))
print(door.getsockname()[1], flush=True)
app = create_app(AppSettings(sys.argv[1]), person=lambda: Person("bench", True))
server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
def end():
    sys.stdin.read()
    server.should_exit = True
threading.Thread(target=end, daemon=True).start()
server.run(sockets=[door])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
"""
# Nights of the newest day, one after the other, each with one file more, until the input ends; prints how many there were.
_NIGHTS = """
import select, sys
from datetime import date
from pathlib import Path
from replay.lake import Lake
from replay.night import NightSettings, run_night
lake, day, line, count = Path(sys.argv[1]), date.fromisoformat(sys.argv[2]), sys.argv[3], 0
while not select.select([sys.stdin], [], [], 0)[0]:
    text = line.replace("GAME", f"bench-{count}")
    (lake / "logs" / f"day={day}" / f"bench-{count}.ndjson").write_text(text + chr(10))
    run_night(Lake(lake), day, NightSettings())
    count += 1
print(count, flush=True)
"""


@dataclass
class Figures:
    """One page: its address, seconds of each request in quiet and under nights, and what went wrong."""

    name: str
    path: str
    export: bool = False
    first: float = 0.0
    quiet: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def run(folder: Path, uploads: int) -> dict[str, Any]:
    """Figures of every page (``pages``), the bare count's seconds in quiet and under nights (``bare``, ``busy_bare``), ``nights``
    that were published meanwhile, ``requests`` then, ``errors`` of all and the dashboard's ``peak`` bytes."""
    lake = _current(month(folder, uploads))
    pages = [Figures(name, path, path.startswith("flags.csv")) for name, path in _pages(lake)]
    found: dict[str, Any] = {"pages": pages}
    with _working_copy(lake) as copy:
        server = _start(_SERVER, str(copy))
        port = int(_line(server))
        for page in pages:
            page.first = _ask(port, page)
        for number in range(QUIET):
            for page in pages:
                if number < EXPORTS or not page.export:
                    page.quiet.append(_ask(port, page))
        found["bare"] = _bare(copy)
        found |= _under_nights(copy, port, pages)
        _close(server)
        found["peak"] = int(_line(server))
        server.wait(60)
    found["errors"] = [error for page in pages for error in page.errors]
    return found


def _current(lake: Path) -> Path:
    """The lake with a warehouse of today's statements."""
    from replay.lake import Lake
    from replay.night import NightSettings, rebuild_standings
    from replay.standings import open_warehouse

    with open_warehouse(Lake(lake).current_warehouse()) as con:
        known = con.execute("select count(*) from duckdb_tables() where table_name = 'flagged_copies'").fetchone()
    if known == (0,):
        rebuild_standings(Lake(lake), NightSettings())
    return lake


def _pages(lake: Path) -> list[tuple[str, str]]:
    """Every page, with what somebody asks for who has a game, a player and a night in mind."""
    from replay.lake import Lake
    from replay.standings import open_warehouse

    with open_warehouse(Lake(lake).current_warehouse()) as con:
        game = con.execute(
            "select game_id, day, source_file, source_line, player_id, challenge from flagged_games where verdict = 'flagged'"
            " and game = 'blocks' order by day desc, game_id limit 1"
        ).fetchone()
        often = con.execute("select player_id from flagged_games group by all order by count(*) desc, 1 limit 1").fetchone()
        nation = con.execute(
            "select nation from players where nation is not null group by all order by count(*) desc, 1 limit 1"
        ).fetchone()
    assert game is not None
    assert often is not None
    assert nation is not None
    game_id, day, file, line, player, challenge = game

    def address(path: str, **query: object) -> str:
        return f"{path}?{urlencode(query)}"

    return [
        ("Nights", ""),
        ("Night", address("night", day=day)),
        ("Flags", "flags"),
        ("Flags of a reason, by score", address("flags", reason="score_mismatch", sort="score")),
        ("Flags as CSV", "flags.csv"),
        ("Game", address("game", id=game_id, day=day, file=file, line=line)),
        ("Player", address("player", id=player)),
        ("Player with most flags", address("player", id=often[0])),
        ("Leaderboards", "boards"),
        ("Leaderboard of a nation", address("boards", game="blocks", scope="nation", nation=nation[0])),
        ("A day's ranking", address("boards", game="blocks", challenge=challenge)),
        ("Quarantine", address("quarantine", day=day)),
        ("Decisions", "reviews"),
        ("Chart", address("chart.svg", name="flags", game="blocks")),
    ]


@contextmanager
def _working_copy(lake: Path) -> Iterator[Path]:
    """The lake once more, its files linked: nights replace files and never write into one."""
    copy = lake.parent / "working"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(lake, copy, copy_function=os.link, ignore=shutil.ignore_patterns("truth", "reviews.sqlite*"))
    try:
        yield copy
    finally:
        shutil.rmtree(copy)


def _start(code: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _close(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def _ask(port: int, page: Figures) -> float:
    """Seconds until the whole answer was there."""
    start = time.perf_counter()
    door = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        door.request("GET", "/" + page.path)
        answer = door.getresponse()
        body = answer.read()
        if answer.status != 200:
            page.errors.append(f"{page.path}: {answer.status} {body[-300:]!r}")
    except (OSError, http.client.HTTPException) as error:
        page.errors.append(f"{page.path}: {error!r}")
    finally:
        door.close()
    return time.perf_counter() - start


def _bare(lake: Path, rounds: int = 20) -> float:
    """Median seconds of DuckDB's bare count of flagged games over the published verdict files."""
    from replay.database import connect
    from replay.lake import Lake

    files = [str(Lake(lake).verdict_file(day)) for day in Lake(lake).published_days()]
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        with connect() as con:
            con.execute("select count(*) from read_parquet(?) where verdict = 'flagged'", [files]).fetchall()
        took.append(time.perf_counter() - start)
    return median(took)


def _under_nights(lake: Path, port: int, pages: list[Figures]) -> dict[str, Any]:
    """Ask for all pages in turn while nights of the newest day publish beneath."""
    from replay.lake import Lake

    day = Lake(lake).published_days()[-1]
    line = _any_upload(lake)
    writer = _start(_NIGHTS, str(lake), str(day), line)
    exports, others = [page for page in pages if page.export], [page for page in pages if not page.export]
    for number in range(UNDER_NIGHTS):
        among = exports if number % EVERY == 0 else others
        page = among[number % len(among)]
        page.busy.append(_ask(port, page))
    bare = _bare(lake, 5)
    _close(writer)
    nights = _line(writer)
    assert writer.wait(120) == 0, "a night failed while somebody looked"
    return {"busy_bare": bare, "nights": int(nights), "requests": UNDER_NIGHTS}


def _any_upload(lake: Path) -> str:
    """An upload of the newest day as a line, its id left open."""
    from replay.lake import Lake
    from replay.lookup import open_log

    day = Lake(lake).published_days()[-1]
    with open_log(Lake(lake).log_files(day)[0][0]) as handle:
        for line in handle:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            # A fourth attempt: flagged, so that each of these nights changes the flags as well.
            return json.dumps({**found, "game_id": "GAME", "player_id": "bench", "attempt": 4})
    raise AssertionError(f"{lake}: no upload of {day} can be read")


def shown(seconds: list[float]) -> str:
    """Median, 95th percentile and maximum, in milliseconds."""
    ordered = sorted(seconds)
    late = quantiles(ordered, n=20, method="inclusive")[-1]
    return " / ".join(f"{1000 * value:.0f}" for value in (median(ordered), late, ordered[-1]))
