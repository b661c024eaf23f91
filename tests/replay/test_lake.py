"""The lake's folders, its lock, publications, and finding one game of it again."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from replay.errors import InputError, NightRunning, UsageError
from replay.flags import FlagFilter, flags_of
from replay.lake import LOG_SUFFIXES, Lake, Publication, recover
from replay.lookup import find_rows, read_uploaded
from replay.night import NightSettings, pull, read_run, rebuild_standings
from replay.verdict import HOUR
from tests.replay.night_support import (
    DAYS,
    FORMATS,
    ONE,
    THREE,
    TWO,
    dump,
    land,
    night,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
)


@pytest.fixture(scope="module")
def challenges(tmp_path_factory) -> Path:
    return write_challenges(tmp_path_factory.mktemp("reference") / "challenges.csv")


# --- Folders -------------------------------------------------------------------------------------------------------------


def test_layout():
    lake = Lake(Path("here"))
    assert lake.verdict_file(THREE) == Path("here/verdicts/day=2026-10-31/part-0.parquet")
    assert lake.quarantine_file(THREE) == Path("here/quarantine/day=2026-10-31/part-0.parquet")
    assert lake.run_file(THREE) == Path("here/runs/day=2026-10-31/run.json")
    assert lake.warehouse == Path("here/warehouse")
    assert lake.published_days() == []
    assert lake.log_files(THREE) == ([], [])


def test_files_come_by_name_and_by_kind(tmp_path):
    names = ["b.ndjson", "a.ndjson.gz", "B.ndjson", "c.jsonl.zst", "é.parquet", "10.jsonl", "9.jsonl", "x.txt", "y.ndjson.tmp"]
    for name in names:
        path = tmp_path / "logs" / f"day={THREE}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    read, left = Lake(tmp_path).log_files(THREE)
    assert [path.name for path in read] == sorted(name for name in names if name.endswith(LOG_SUFFIXES))
    assert [path.name for path in left] == ["x.txt", "y.ndjson.tmp"]


@pytest.mark.parametrize("name", ["la*ke", "la?ke", "lake[1]"])
def test_a_path_that_duckdb_takes_for_a_pattern_is_refused(tmp_path, name):
    """Two lakes side by side, `lake1` and `lake[1]`: nobody may read one for the other."""
    with pytest.raises(InputError, match=r"must not hold any of \* \? \["):
        Lake(tmp_path / name)


@pytest.mark.parametrize("name", ["la'ke \"{a,b}", "l\u202e;--", "day=2026-10-01"])
def test_other_strange_paths_work(tmp_path, challenges, name):
    lake = tmp_path / name
    games = [upload("g1", "p1", TWO), upload("g2", "p2", TWO, seed=2, score=1)]
    land(lake, TWO, "a.ndjson", games)
    land(lake, THREE, "it's a.ndjson", [replace(games[0], game_id="again", uploaded_at=games[0].uploaded_at + HOUR)])
    for day in (TWO, THREE):
        night(lake, day, challenges=challenges)
    rows = find_rows(Lake(lake), "again")
    assert [(row["verdict"], row["copy_of"], row["day"]) for row in rows] == [("copy", "g1", THREE)]
    assert read_uploaded(Lake(lake), rows[0]).game_id == "again"
    assert [row["game_id"] for row in flags_of(Lake(lake), FlagFilter(kind="flagged")).rows] == ["g2"]


def test_a_lake_that_is_not_there_is_not_made(tmp_path):
    lake = Lake(tmp_path / "typo")
    for attempt in (
        lambda: night(lake.root), lambda: rebuild_standings(lake, NightSettings()), lambda: pull(lake, THREE),
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"typo: no such lake, name the folder that holds logs/day="):
            attempt()
    assert not lake.root.exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="no such lake"):
        night(tmp_path / "file")


def test_a_file_name_that_is_no_text_is_named(tmp_path, challenges):
    path = land(tmp_path, THREE, os.fsdecode(b"\xff.ndjson"), [upload("g1", "p1")])
    with pytest.raises(InputError, match=r"\\udcff\.ndjson': the name of this log file is not UTF-8, rename it"):
        night(tmp_path, challenges=challenges)
    path.rename(path.with_name(os.fsdecode(b"\xff.txt")))
    land(tmp_path, THREE, "a.ndjson", [upload("g1", "p1")])
    assert night(tmp_path, challenges=challenges)["left_alone"] == ["\udcff.txt"]
    assert read_run(Lake(tmp_path), THREE)["left_alone"] == ["\udcff.txt"]


def test_folders_that_are_no_days_are_not_read(tmp_path, challenges):
    """A copy of a day that somebody put aside is not counted a second time."""
    land(tmp_path, TWO, "a.ndjson", [upload("g1", "p1", TWO)])
    night(tmp_path, TWO, challenges=challenges)
    before = dump(warehouse(tmp_path))
    for name in ("day=2026-10-30.bak", "day=20261030", "day=", "day=2026-W44-5", "old"):
        shutil.copytree(tmp_path / "verdicts" / f"day={TWO}", tmp_path / "verdicts" / name)
    (tmp_path / "verdicts" / f"day={THREE}").mkdir()
    assert Lake(tmp_path).published_days() == [TWO]
    night(tmp_path, TWO, challenges=challenges)
    assert dump(warehouse(tmp_path)) == before


# --- The lock ------------------------------------------------------------------------------------------------------------


def test_one_writer_at_a_time(tmp_path):
    with Lake(tmp_path).lock():
        second = Lake(tmp_path).lock()
        with pytest.raises(NightRunning, match="another night is writing to this lake, run this one again when it is done"):
            second.__enter__()
    with pytest.raises(ValueError, match="mine"), Lake(tmp_path).lock():
        raise ValueError("mine")
    with Lake(tmp_path).lock():
        pass


# --- Publications --------------------------------------------------------------------------------------------------------


def test_a_publication_shows_nothing_before_its_commit(tmp_path):
    lake = Lake(tmp_path)
    publication = Publication(lake)
    targets = [lake.verdict_file(THREE), lake.run_file(THREE), lake.warehouse / "CURRENT"]
    for target in targets:
        assert publication.newest(target) == target
        publication.stage(target).write_text(target.name)
        assert publication.newest(target).read_text() == target.name
        assert not target.exists()
    assert publication.verdict_days() == [THREE]
    assert lake.published_days() == []
    publication.commit()
    assert [target.read_text() for target in targets] == [target.name for target in targets]
    assert lake.published_days() == [THREE]
    assert not (lake.staging / "publish").exists()
    assert not recover(lake)


def test_a_file_staged_twice_is_published_once_with_the_last_text(tmp_path):
    publication = Publication(Lake(tmp_path))
    for text in ("first", "second"):
        publication.stage(tmp_path / "runs" / "x").write_text(text)
    publication.commit()
    assert (tmp_path / "runs" / "x").read_text() == "second"


def test_current_names_the_warehouse(tmp_path):
    with pytest.raises(InputError, match="no standings are published here"):
        Lake(tmp_path).current_warehouse()
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse" / "CURRENT").write_text("x.duckdb\n")
    assert Lake(tmp_path).current_warehouse() == tmp_path / "warehouse" / "x.duckdb"


def test_rebuild_equals_what_the_nights_made(tmp_path, challenges):
    """The warehouse follows from the verdicts alone: gone, damaged or of another kind, it is made again with equal content."""
    settings = NightSettings(challenges=challenges, threads=1)
    with pytest.raises(InputError, match="no day was published here"):
        rebuild_standings(Lake(tmp_path), settings)
    assert not (tmp_path / "warehouse").exists()
    for day in DAYS:
        land(tmp_path, day, "a.ndjson", [upload(f"{day}-{i}", f"p{i}", day, seed=i, tokens=10 + i) for i in range(6)])
        night(tmp_path, day, challenges=challenges)
    expected, name = dump(warehouse(tmp_path)), warehouse(tmp_path).name
    warehouse(tmp_path).write_bytes(b"damaged")
    rows = rebuild_standings(Lake(tmp_path), settings)
    assert (dump(warehouse(tmp_path)), warehouse(tmp_path).name) == (expected, name)
    assert rows == {table: len(expected[f"main.{table}"]) for table in rows}
    shutil.rmtree(tmp_path / "warehouse")
    rebuild_standings(Lake(tmp_path), settings)
    assert dump(warehouse(tmp_path)) == expected
    assert sorted(path.name for path in (tmp_path / "warehouse").iterdir()) == sorted([name, "CURRENT"])


# --- One game again ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_the_record_is_found_again_in_every_format(tmp_path, challenges, name):
    games = [upload(f"g{i}", f"p{i}", seed=i % 5, tokens=9 + i) for i in range(30)]
    mixed = games if name == "parquet" else [b"\xef\xbb\xbf{", b"", b"x" * 1_200_000, *games[:10], b"{", *games[10:], b"  "]
    land(tmp_path, THREE, f"a.{name}", mixed)
    night(tmp_path, challenges=challenges, shard_games=4)
    rows = verdict_rows(tmp_path)
    assert len(rows) == 30
    for row in rows[::7]:
        found = find_rows(Lake(tmp_path), row["game_id"])
        assert len(found) == 1
        assert {key: found[0][key] for key in row} == row
        assert read_uploaded(Lake(tmp_path), found[0]) == games[int(row["game_id"][1:])]


def test_which_row_of_an_id_comes_first(tmp_path, challenges):
    """The one that stands, then flagged ones, then copies, each in the order of uploads."""
    game = upload("same", "p1", TWO)
    land(tmp_path, TWO, "b.ndjson", [replace(game, uploaded_at=game.uploaded_at + HOUR), game])
    other = upload("same", "p1", TWO, seed=2, attempt=2, uploaded_at=game.uploaded_at + 2 * HOUR)
    land(tmp_path, THREE, "a.ndjson", [replace(game, uploaded_at=game.uploaded_at + 3 * HOUR), other])
    for day in (TWO, THREE):
        night(tmp_path, day, challenges=challenges)
    rows = find_rows(Lake(tmp_path), "same")
    assert [(row["verdict"], row["day"], row["source_line"]) for row in rows] == [
        ("verified", TWO, 2), ("flagged", THREE, 2), ("copy", TWO, 1), ("copy", THREE, 1)
    ]  # fmt: skip


def test_a_game_that_is_not_there(tmp_path, challenges):
    with pytest.raises(InputError, match="no published day has a game 'g1', check the id"):
        find_rows(Lake(tmp_path), "g1")
    land(tmp_path, THREE, "a\u202e.ndjson", [upload("g1", "p1"), b'{"game_id": "half", "score": 1}', b'{"game_id": "x\\u001b"}'])
    night(tmp_path, challenges=challenges)
    with pytest.raises(InputError, match=r"no published day has a game 'g\\x1b2'"):
        find_rows(Lake(tmp_path), "g\x1b2")
    with pytest.raises(InputError, match=r"'half' was quarantined on 2026-10-31 \(.*, line 2\): field game is missing"):
        find_rows(Lake(tmp_path), "half")
    ids = [row["game_id"] for row in verdict_rows(tmp_path, kind="quarantine")]
    assert ids == ["half", None], "an id that would act on a terminal is left out"


def test_a_landed_file_that_was_changed_shows_nobody_elses_game(tmp_path, challenges):
    path = land(tmp_path, THREE, "a.ndjson", [upload("g1", "p1"), upload("g2", "p2", seed=2)])
    night(tmp_path, challenges=challenges)
    row = find_rows(Lake(tmp_path), "g1")[0]
    changes = {
        r"line 1 is not the record that was verified any more \(game_id is 'g2', it was 'g1'\)": [upload("g2", "p2", seed=2)],
        r"\(score is 5, it was ": [upload("g1", "p1", score=5)],
        r"line 1 is not the record .* \(not JSON": [b"{"],
        "has no line 1 any more": [],
    }
    for words, lines in changes.items():
        land(tmp_path, THREE, "a.ndjson", lines)
        with pytest.raises(InputError, match=words):
            read_uploaded(Lake(tmp_path), row)
    path.unlink()
    with pytest.raises(InputError, match=r"a\.ndjson: cannot be read"):
        read_uploaded(Lake(tmp_path), row)
    for name in FORMATS[1:]:
        path = land(tmp_path, THREE, f"a.{name}", [upload("g1", "p1")])
        path.write_bytes(b"\x1f\x8b\x08\x00 nonsense" if name.endswith("gz") else b"nonsense")
        with pytest.raises(InputError, match="cannot be read"):
            read_uploaded(Lake(tmp_path), {**row, "source_file": path.name})
    land(tmp_path, THREE, "a.parquet", [upload("g1", "p1")])
    with pytest.raises(InputError, match="has no row 2 any more"):
        read_uploaded(Lake(tmp_path), {**row, "source_file": "a.parquet", "source_line": 2})


# --- Flags ---------------------------------------------------------------------------------------------------------------


def test_flags_newest_day_first_page_by_page(tmp_path, challenges):
    for day in (ONE, TWO):
        games = [upload(f"g{day}-{i}", f"p{i % 3}", day, seed=i, score=i, attempt=i) for i in range(6)]
        land(tmp_path, day, "a.ndjson", games)
        night(tmp_path, day, challenges=challenges)
    lake = Lake(tmp_path)
    rows = flags_of(lake, FlagFilter(kind="flagged"), limit=100).rows
    assert [(row["day"], row["game_id"]) for row in rows] == sorted(
        ((row["day"], row["game_id"]) for row in rows), key=lambda pair: (-pair[0].toordinal(), pair[1])
    )
    assert len(rows) == 12
    pages = [row for offset in range(0, 12, 5) for row in flags_of(lake, FlagFilter(kind="flagged"), limit=5, offset=offset).rows]
    assert pages == rows
    assert {row["game_id"][-1] for row in flags_of(lake, FlagFilter(ONE, ONE, kind="flagged", reason="attempt_limit")).rows} == {"0", "4", "5"}
    assert {row["player_id"] for row in flags_of(lake, FlagFilter(TWO, TWO, kind="flagged", player_id="p1")).rows} == {"p1"}
    assert flags_of(lake, FlagFilter(TWO, TWO, kind="flagged", player_id="nobody")).rows == []
    reasons = flags_of(lake, FlagFilter(ONE, ONE, kind="flagged", reason="score_mismatch")).rows[0]["reasons"]
    assert {"score_mismatch"} <= {reason["code"] for reason in reasons}
    with pytest.raises(InputError, match="2026-10-31 was not published here"):
        flags_of(lake, FlagFilter(THREE, THREE, kind="flagged"))
    with pytest.raises(UsageError, match="no day was published here"):
        flags_of(Lake(tmp_path / "nothing"), FlagFilter(kind="flagged"))


def test_verdict_files_hold_their_day_in_the_path_alone(tmp_path, challenges):
    land(tmp_path, THREE, "a.ndjson", [upload("g1", "p1")])
    night(tmp_path, challenges=challenges)
    assert "day" not in pq.ParquetFile(Lake(tmp_path).verdict_file(THREE)).schema_arrow.names
