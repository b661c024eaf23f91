"""Holding verdicts against the truth of a simulated lake: nothing wrong is overlooked, nothing right is called wrong."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay.errors import InputError
from replay.lake import Lake
from replay.truth import HONEST_KINDS, compare_with_truth
from tests.replay.night_support import ONE, TWO, night, simulated


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    lake = simulated(tmp_path_factory.mktemp("truth") / "lake", 260, [ONE, TWO])
    for day in (ONE, TWO):
        night(lake, day)
    return lake


def test_every_simulated_upload_is_judged_right(judged):
    compared = compare_with_truth(Lake(judged))
    assert (compared.wrong, compared.examples) == (0, [])
    lines = [line for path in judged.glob("truth/*/truth.ndjson") for line in path.read_text().splitlines()]
    assert compared.honest + compared.forged == len(lines) == 520
    kinds = [json.loads(line)["kind"] for line in lines]
    assert compared.kinds == {kind: (kinds.count(kind), kinds.count(kind)) for kind in set(kinds)}
    assert compared.honest == sum(kind in HONEST_KINDS for kind in kinds)
    assert set(compared.games) == {("blocks", kind) for kind in set(kinds)}
    assert set(compared.example) == {"blocks"}


def _changed(judged, tmp_path, change):
    lake = tmp_path / "lake"
    shutil.copytree(judged, lake)
    path = Lake(lake).verdict_file(ONE)
    table = pq.ParquetFile(path).read()
    pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), table.schema), path)
    return compare_with_truth(Lake(lake))


def _first(rows, **wanted):
    return next(i for i, row in enumerate(rows) if all(row[key] == value for key, value in wanted.items()))


@pytest.mark.parametrize(
    ("wanted", "change"),
    [
        ({"verdict": "flagged"}, {"verdict": "verified"}),
        ({"verdict": "flagged"}, {"reason_codes": []}),
        ({"verdict": "verified"}, {"verdict": "flagged"}),
        ({"verdict": "verified", "counted": True}, {"counted": False}),
        ({"verdict": "verified"}, {"suspicions": ["copied_log"]}),
        ({"verdict": "copy"}, {"verdict": "verified"}),
        ({"verdict": "verified"}, {"source_line": 9999}),
    ],
)
def test_every_wrong_row_is_found(judged, tmp_path, wanted, change):
    def one_row(rows):
        rows[_first(rows, **wanted)].update(change)
        return rows

    compared = _changed(judged, tmp_path, one_row)
    assert compared.wrong == (2 if "source_line" in change else 1)
    assert len(compared.examples) == compared.wrong
    assert "expected" in compared.examples[0]


def test_lost_and_doubled_rows_are_wrong(judged, tmp_path):
    assert _changed(judged, tmp_path / "a", lambda rows: rows[:-3]).wrong == 3
    compared = _changed(judged, tmp_path / "b", lambda rows: [*rows, {**rows[0], "source_line": 5000}])
    assert compared.kinds["not uploaded"] == (1, 0)
    assert compared.wrong == 1


def test_a_day_that_is_not_published_is_wrong_as_a_whole(judged, tmp_path):
    lake = tmp_path / "lake"
    shutil.copytree(judged, lake)
    shutil.rmtree(lake / "verdicts" / f"day={TWO}")
    shutil.rmtree(lake / "quarantine" / f"day={TWO}")
    lines = len((lake / "truth" / f"day={TWO}" / "truth.ndjson").read_text().splitlines())
    assert compare_with_truth(Lake(lake), examples=2).wrong == lines
    assert len(compare_with_truth(Lake(lake), examples=2).examples) == 2


def test_without_truth_or_nights_there_is_nothing_to_compare(tmp_path):
    with pytest.raises(InputError, match="no truth/ folder, only a simulated lake has one"):
        compare_with_truth(Lake(tmp_path))
    simulated(tmp_path, 20, [ONE])
    with pytest.raises(InputError, match="no day was published here"):
        compare_with_truth(Lake(tmp_path))
