"""A month of uploads in a lake, each night run: what the pages are measured on."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

FIRST = date(2026, 10, 2)
DAYS = 30
# On the last ten days the other games are played too.
ALONE = 20
OTHERS = {"tetromino": 0.04, "tetcolor": 0.03}
# Forged games and malformed lines; four fifths of them end up flagged.
FORGED = 0.025


def month(folder: Path, uploads: int) -> Path:
    """The lake of about ``uploads`` lines over DAYS nights, made once and kept; ``took.json`` beside it: seconds, counts."""
    home = folder / f"month-{uploads}"
    if (home / "took.json").exists():
        return home / "lake"
    shutil.rmtree(home, ignore_errors=True)
    took = {"simulate": 0.0, "nights": 0.0}
    began = time.monotonic()
    _land(home / "lake", uploads)
    took["simulate"] = time.monotonic() - began
    began = time.monotonic()
    counts = list(nights(home / "lake", FIRST, DAYS))
    took["nights"] = time.monotonic() - began
    took |= {"records": sum(run["records"] for run in counts), "flagged": sum(run["verdicts"]["flagged"] for run in counts)}
    (home / "took.json").write_text(json.dumps(took) + "\n", "utf-8")
    return home / "lake"


def _land(lake: Path, uploads: int) -> None:
    from replay.challenges import load_challenges
    from replay.rulebook import load_rulebook
    from replay.simulate import simulate

    rulebook = load_rulebook()
    table = load_challenges(None, rulebook)
    lines = math.ceil(uploads / DAYS / 100) * 100
    days = [FIRST + timedelta(days=number) for number in range(DAYS)]
    fewer = math.floor(lines / (1 + sum(OTHERS.values())) / 100) * 100
    for seed, part, games, others in ((30, days[:ALONE], lines, {}), (31, days[ALONE:], fewer, OTHERS)):
        simulate(
            lake, part, games, challenges=table, rulebook=rulebook, rng_seed=seed, forged_share=FORGED, others=others,
            formats=("ndjson.zst",),
        )  # fmt: skip


def nights(lake: Path, first: date, days: int) -> Iterator[dict[str, Any]]:
    """Every night from ``first`` on, one after the other, each with its report: run.json of each."""
    from replay.lake import Lake
    from replay.late import run_nights
    from replay.night import NightSettings
    from replay.report import write_report
    from replay.timings import Timings

    for number in range(days):
        day, timings = first + timedelta(days=number), Timings()
        found = run_nights(Lake(lake), day, NightSettings(), 3, timings=timings)
        write_report(Lake(lake), day, timings=timings)
        yield found.run
