"""Verdict files of an earlier processing version, which lack the columns that came later, beside those of today."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from replay.flags import FlagFilter, flags_of
from replay.lake import Lake
from replay.lookup import find_rows
from replay.report import make_report
from tests.replay.night_support import DAYS, night, simulated, verdict_rows, warehouse

LATER = ["level", "lines", "replayed_level", "replayed_lines"]


def make_old(lake, day) -> None:
    """Write a day's verdicts as processing version 1 did."""
    path = Lake(lake).verdict_file(day)
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.drop_columns(LATER), path)


@pytest.mark.parametrize("old", [DAYS[:1], DAYS[1:2], DAYS[:2]])
def test_nights_go_on_beside_old_verdicts(tmp_path, old):
    """The day that follows is related to them, and restates them, as if they had been made today."""
    lake = simulated(tmp_path / "lake", 60, forged_share=0.5)
    other = simulated(tmp_path / "other", 60, forged_share=0.5)
    for day in DAYS[:2]:
        night(lake, day)
        night(other, day)
    for day in old:
        make_old(lake, day)
    for day in DAYS[2:]:
        night(lake, day)
        night(other, day)
    for day in DAYS:
        assert [{k: v for k, v in row.items() if k not in LATER} for row in verdict_rows(lake, day)] == [
            {k: v for k, v in row.items() if k not in LATER} for row in verdict_rows(other, day)
        ]
    assert warehouse(lake).name == warehouse(other).name
    assert make_report(Lake(lake), DAYS[-1])["counts"] == make_report(Lake(other), DAYS[-1])["counts"]
    for day in DAYS:
        game = verdict_rows(lake, day)[0]["game_id"]
        assert find_rows(Lake(lake), game)[0]["day"] == day
    assert flags_of(Lake(lake), FlagFilter(kind="flagged")).total == flags_of(Lake(other), FlagFilter(kind="flagged")).total > 0
