"""Lakes for the browser: three nights, of all games and every kind of forgery, or of uploads that try to be something else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from replay.lake import Lake
from replay.report import write_report
from replay.timings import Timings
from tests.replay.night_support import ONE, ROOT, THREE, TWO, ask, night, simulated

FIXTURES = ROOT / "fixtures"


def publish(lake: Path, days: Sequence[date]) -> None:
    """Run the nights, each with its report."""
    for day in days:
        night(lake, day)
        timings = Timings()
        timings.steps |= {"pull": 0.25, "verify": 3.5, "publish": 1.5, "standings": 2.0}
        write_report(Lake(lake), day, timings=timings)


def lake_of_games(root: Path) -> Path:
    """Two simulated nights, and the recorded days of the three games as the third."""
    lake = simulated(root / "lake", 150, (ONE, TWO), forged_share=0.1, others={"tetromino": 0.1, "tetcolor": 0.1})
    folder = lake / "logs" / f"day={THREE}"
    folder.mkdir(parents=True, exist_ok=True)
    for game in ("blocks", "tetromino", "tetcolor"):
        shutil.copy(FIXTURES / f"{game}-day" / "games.ndjson", folder / f"{game}.ndjson")
    publish(lake, (ONE, TWO, THREE))
    return lake


def hostile_lake(root: Path, file: str) -> Path:
    """The hostile day in a file of this name."""
    lake = root / "lake"
    folder = lake / "logs" / f"day={THREE}"
    folder.mkdir(parents=True)
    shutil.copy(FIXTURES / "hostile-day" / "games.ndjson", folder / file)
    publish(lake, (THREE,))
    return lake


def flagged(lake: Path, where: str, *values: Any) -> dict[str, Any]:
    """The first flagged or suspected game of which ``where`` (SQL on the mart) holds, with its place."""
    names = ("game_id", "day", "source_file", "source_line", "player_id", "game", "challenge", "score", "verdict")
    found = ask(lake, f"select {', '.join(names)} from flagged_games where {where} order by day desc, game_id limit 1", *values)
    assert found, f"no game in the mart of which {where} {values}"
    return dict(zip(names, found[0], strict=True))
