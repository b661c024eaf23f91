"""A night of one file against DuckDB's bare aggregate over the same file, each in a process of its own, turn by turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROUNDS = 3

# The bare read: every column declared, a handful aggregated; what any night has to do at the very least.
_BARE = """
import json, resource, sys, time
import duckdb
path, kind = sys.argv[1:]
texts = "game_id game mode rules challenge player_id player_kind nation platform app_version moves final_board".split()
numbers = "attempt score best_combo".split()
times = "started_at finished_at uploaded_at".split()
columns = {**{n: "VARCHAR" for n in texts}, **{n: "BIGINT" for n in numbers}, **{n: "TIMESTAMP" for n in times}}
reader = f"read_ndjson('{path}', columns = {columns}, ignore_errors = true)" if kind == "ndjson" else f"read_parquet('{path}')"
what = ", ".join([*(f"sum(length({n}))" for n in texts), *(f"sum({n})" for n in numbers), *(f"max({n})" for n in times)])
start = time.perf_counter()
con = duckdb.connect()
con.execute("set enable_progress_bar = false")
con.execute(f"select count(*), {what} from {reader}").fetchall()
print(json.dumps({"seconds": time.perf_counter() - start, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""

_NIGHT = """
import json, resource, shutil, sys, time
from datetime import date
from pathlib import Path
from replay.lake import Lake
from replay.night import NightSettings, run_night
lake = Path(sys.argv[1])
marks = []
def report(step, done, total):
    marks.append((step, time.perf_counter()))
start = time.perf_counter()
run = run_night(Lake(lake), date(2026, 10, 31), NightSettings(), report=report)
end = time.perf_counter()
steps = {}
last, name = start, "pull"
for step, at in marks:
    if step != name:
        steps[name] = steps.get(name, 0) + at - last
        last, name = at, step
steps[name] = end - last
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": end - start, "peak": peak, "records": run["records"], "steps": steps}))
"""


def _child(code: str, *arguments: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(path: Path, kind: str) -> dict[str, object]:
    """Medians over ROUNDS rounds of night and bare read in turn: seconds, their ratio, peak bytes, seconds by step."""
    nights, bares = [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            logs = Path(folder) / "logs" / "day=2026-10-31"
            logs.mkdir(parents=True)
            os.link(path, logs / path.name)
            bares.append(_child(_BARE, str(path), kind))
            nights.append(_child(_NIGHT, folder))
    steps = nights[len(nights) // 2]["steps"]
    return {
        "seconds": median(n["seconds"] for n in nights),
        "bare": median(b["seconds"] for b in bares),
        "ratio": median(n["seconds"] / b["seconds"] for n, b in zip(nights, bares, strict=True)),
        "peak": max(n["peak"] for n in nights),
        "records": nights[0]["records"],
        "steps": steps,
    }
