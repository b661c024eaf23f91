"""The night: counts that add up, equal outputs however it is run, late days, empty days, people who leave and return."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise, permutations
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine import ENGINE_VERSION
from replay.errors import (
    CountsDoNotAddUp,
    DayWouldBeEmptied,
    InputError,
    NightError,
    NightRunning,
    NothingReceived,
    NothingVerified,
)
from replay.games import NAMES
from replay.lake import Lake
from replay.night import NightSettings, rebuild_standings, run_night
from replay.rulebook import BUILT_IN
from replay.shards import plan_shards
from replay.verdict import DAY, HOUR, JudgeSettings
from tests.replay.night_support import (
    DAYS,
    FORMATS,
    ONE,
    ROOT,
    THREE,
    TWO,
    as_object,
    ask,
    by_game,
    check_run,
    dump,
    everything,
    land,
    line,
    night,
    published_files,
    simulated,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
    write_players,
)


@pytest.fixture(scope="module")
def challenges(tmp_path_factory) -> Path:
    return write_challenges(tmp_path_factory.mktemp("reference") / "challenges.csv")


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    """Three simulated days that have landed, nothing published."""
    return simulated(tmp_path_factory.mktemp("landed") / "lake", 200)


def copy_of(logs: Path, target: Path) -> Path:
    """A lake of its own with the same landed files."""
    target.mkdir()
    (target / "logs").symlink_to(logs / "logs", target_is_directory=True)
    return target


@pytest.fixture(scope="module")
def clean(logs, tmp_path_factory) -> Path:
    """The three nights in their order, on two threads."""
    lake = copy_of(logs, tmp_path_factory.mktemp("clean") / "lake")
    for day in DAYS:
        night(lake, day)
    return lake


# --- Counts --------------------------------------------------------------------------------------------------------------


def test_counts_add_up_and_equal_the_files(clean):
    for day in DAYS:
        run = check_run(clean, day)
        assert run["day"] == day.isoformat()
        assert run["records"] > 150
        assert run["verdicts"]["flagged"] > 20
        assert run["quarantined"] > 2


def test_run_names_its_inputs_rules_and_versions(clean):
    run = check_run(clean, TWO)
    files = sorted((clean / "logs" / f"day={TWO}").iterdir())
    assert [entry["file"] for entry in run["inputs"]] == [path.name for path in files]
    for path, entry in zip(files, run["inputs"], strict=True):
        assert entry["bytes"] == path.stat().st_size
        assert entry["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert run["engine_version"] == ENGINE_VERSION
    assert run["rules"] == {
        f"{game}/{path.stem}": hashlib.sha256(path.read_bytes()).hexdigest()
        for game in NAMES
        for path in (BUILT_IN / game).glob("*.toml")
    }
    for key, path in (("challenges", "seeds/challenges.csv"), ("players", "seeds/players.csv")):
        assert run[key] == hashlib.sha256((ROOT / path).read_bytes()).hexdigest()


def test_rows_that_vanish_stop_the_night(tmp_path, challenges, monkeypatch):
    """A row lost on the way, for whatever reason, publishes nothing and leaves the last night as it was."""
    from replay import publish

    land(tmp_path / "lake", THREE, "a.ndjson", [upload("g1", "p1"), upload("g2", "p2", seed=2)])
    night(tmp_path / "lake", challenges=challenges)
    before = everything(tmp_path / "lake")
    land(tmp_path / "lake", THREE, "b.ndjson", [upload("g3", "p3", seed=3)])
    whole = publish.write_verdicts
    with monkeypatch.context() as patch:
        patch.setattr(publish, "write_verdicts", lambda path, parts, *rest: whole(path, parts[:1], *rest))
        with pytest.raises(CountsDoNotAddUp, match="3 records came in, but 2 verdicts and 0 quarantined"):
            night(tmp_path / "lake", challenges=challenges)
    assert everything(tmp_path / "lake") == before
    assert night(tmp_path / "lake", challenges=challenges)["records"] == 3


# --- Equal outputs -------------------------------------------------------------------------------------------------------


def test_the_same_night_again_changes_nothing(clean):
    before, name = everything(clean), warehouse(clean).name
    inode = warehouse(clean).stat().st_ino
    for day in (THREE, ONE):
        night(clean, day)
    assert everything(clean) == before
    assert (warehouse(clean).name, warehouse(clean).stat().st_ino) == (name, inode), "the same inputs keep their warehouse"


@pytest.mark.parametrize("settings", [
    {"shard_games": 1}, {"shard_games": 7, "threads": 1}, {"shard_games": 1000, "threads": 3},
], ids=str)  # fmt: skip
def test_shards_and_threads_play_no_part(logs, clean, tmp_path, settings):
    lake = copy_of(logs, tmp_path / "lake")
    for day in DAYS:
        night(lake, day, **settings)
    assert everything(lake) == everything(clean)


def test_b2_processes_threads_and_hash_seeds(logs, clean, tmp_path):
    """B2: another process, another hash seed, another number of threads: not a byte differs."""
    code = (
        "import sys\nfrom datetime import date\nfrom pathlib import Path\nfrom replay.lake import Lake\n"
        "from replay.night import NightSettings, run_night\n"
        "for day in ('2026-10-29', '2026-10-30', '2026-10-31'):\n"
        "    run_night(Lake(Path(sys.argv[1])), date.fromisoformat(day), NightSettings(threads=int(sys.argv[2])))\n"
    )
    for seed, threads in (("0", "1"), ("4711", "16")):
        lake = copy_of(logs, tmp_path / f"lake{seed}")
        env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": "Pacific/Auckland", "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", code, str(lake), threads], env=env, cwd=tmp_path, check=True)
        assert everything(lake) == everything(clean)


@pytest.mark.parametrize("name", ["a.ndjson", "a.ndjson.gz", "a.parquet"])
def test_pieces_of_a_file_keep_their_order_and_lines(tmp_path, challenges, monkeypatch, name):
    """Many pieces on many threads, the first of them the slowest: rows stay in the file's order, with their true lines."""
    from replay import ndjson, parquet
    from replay.verify import Verifier

    monkeypatch.setattr(ndjson, "_READ", 3000)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 9)
    whole, pieces = Verifier.verify, []

    def slow_at_first(self, batch, source):
        pieces.append(len(batch))
        time.sleep(0.05 / len(pieces))
        return whole(self, batch, source)

    monkeypatch.setattr(Verifier, "verify", slow_at_first)
    games = [upload(f"g{i}", f"p{i}", seed=i % 6, tokens=10 + i % 9) for i in range(100)]
    blanks = [b"", b"{", b" "]
    lines = games if name == "a.parquet" else [part for game in games for part in (game, *blanks[: len(game.game_id)])]
    land(tmp_path, THREE, name, lines)
    night(tmp_path, challenges=challenges, threads=4, shard_games=30)
    rows = verdict_rows(tmp_path)
    assert [row["game_id"] for row in rows] == [game.game_id for game in games]
    assert [row["source_line"] for row in rows] == [number for number, part in enumerate(lines, 1) if not isinstance(part, bytes)]
    aside = [row["source_line"] for row in verdict_rows(tmp_path, kind="quarantine")]
    assert aside == [number for number, part in enumerate(lines, 1) if part == b"{"]
    assert len(pieces) > 3
    check_run(tmp_path, THREE)


def test_one_shard_of_one_game_each(logs):
    """Every game of a plain file can be a shard of its own, and the shards cover the file."""
    paths, _ = Lake(logs).log_files(THREE)
    plain = [path for path in paths if path.suffix == ".ndjson"]
    shards = plan_shards(plain, 1)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    for path in plain:
        spans = [(shard.start, shard.end) for shard in shards if shard.file == str(path)]
        assert spans[0][0] == 0
        assert spans[-1][1] == path.stat().st_size
        assert all(a[1] == b[0] for a, b in pairwise(spans))
        lines = path.read_bytes().count(b"\n")
        assert len(spans) > lines // 4


def test_formats_give_equal_rows(tmp_path, challenges):
    """The same day plain, gzip, zstd and Parquet: equal verdicts but for the file's name."""
    games = [upload(f"g{i}", f"p{i}", seed=i % 5, tokens=15 + i, attempt=1 + i % 4, score=None or upload("x", "y").score)
             for i in range(40)]  # fmt: skip
    games += [upload("é", "e\u0301"), upload("\u202e", "=cmd"), upload("g1", "p1", seed=9), upload("z", "p", nation=None)]
    found = {}
    for name in FORMATS:
        lake = tmp_path / name
        land(lake, THREE, f"a.{name}", games)
        run = night(lake, challenges=challenges, shard_games=7)
        rows = [{**row, "source_file": ""} for row in verdict_rows(lake)]
        tables = dump(warehouse(lake))
        tables["main.flagged_games"] = sorted(((row[0], *row[2:]) for row in tables["main.flagged_games"]), key=repr)
        found[name] = (rows, {**run, "inputs": [], "verdict_file": ""}, tables)
        assert len(rows) == len(games)
    assert all(found[name] == found["ndjson"] for name in FORMATS)


def test_files_of_all_kinds_and_schemas_in_one_day(tmp_path, challenges):
    """Mixed schemas: other column orders and types, fields more and fields less, each file for itself."""
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g1", "p1")])
    more = {**as_object(upload("g2", "p2", seed=2)), "locale": {"deep": [1, None]}, "zeta": 1.5}
    less = {key: value for key, value in as_object(upload("g3", "p3")).items() if key != "nation"}
    land(lake, THREE, "b.jsonl.gz", [json.dumps(dict(sorted(more.items()))).encode(), json.dumps(less).encode()])
    land(lake, THREE, "c.parquet", [upload("g4", "p4", seed=4)])
    table = pq.read_table(lake / "logs" / f"day={THREE}" / "c.parquet", partitioning=None)
    land(lake, THREE, "d.parquet", [upload("g5", "p5", seed=5)])
    pq.write_table(table.drop_columns(["score"]), lake / "logs" / f"day={THREE}" / "e.parquet")
    pq.write_table(table.select(sorted(table.column_names, reverse=True)), lake / "logs" / f"day={THREE}" / "f.parquet")
    night(lake, challenges=challenges)
    run = check_run(lake, THREE)
    assert (run["records"], run["quarantined"], run["verdicts"]["verified"], run["verdicts"]["copy"]) == (7, 2, 4, 1)
    reasons = {(row["source_file"], row["source_line"]): row["reason"] for row in verdict_rows(lake, kind="quarantine")}
    assert reasons == {("b.jsonl.gz", 2): "field nation is missing", ("e.parquet", 1): "field score is missing"}


def test_d8_hostile_names_stay_exact(tmp_path, challenges):
    """D8: ids that attack a spreadsheet, a page or a terminal come out byte for byte; look-alikes stay apart."""
    names = [
        '=HYPERLINK("http://x","y")', "+1", "-2", "@a", "\ttab", 'comma, "quote"', "line\nfeed", "<script>alert(1)</script>",
        "\u202eleft", "\u00e9", "e\u0301", "'; drop table players; --", "$1", "{x}", "\x00nul", "\x1b[2J", " ", "", "NA", "null",
        "\U0001f4a9", "x" * 1024,
    ]  # fmt: skip
    games = [upload(f"g{i}{name}"[:300], name, seed=3, tokens=12 + i) for i, name in enumerate(names)]
    bad = line(upload("bad", "p")).replace(b'"p"', b'"\\ud800"')
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [*games, bad])
    land(lake, THREE, "b.parquet", [replace(game, challenge=TWO.isoformat(), game_id="b" + game.game_id) for game in games])
    night(lake, challenges=challenges)
    run = check_run(lake, THREE)
    assert run["quarantine_codes"] == {"encoding": 1}
    assert {row["player_id"] for row in verdict_rows(lake)} == set(names)
    counted = {row["player_id"] for row in verdict_rows(lake) if row["counted"]}
    assert {row[0] for row in ask(lake, "select player_id from players")} == counted == set(names)


# --- What is left alone, what is empty -----------------------------------------------------------------------------------


def test_unfinished_and_unknown_files_are_left_alone_and_named(tmp_path, challenges):
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g1", "p1")])
    for name in ("b.ndjson.part", "notes.txt", "c.NDJSON", "d.csv", "\x1b[31mred.txt"):
        land(lake, THREE, name, [upload("g2", "p2")])
    land(lake, THREE, ".hidden.ndjson", [upload("g2", "p2")])
    (lake / "logs" / f"day={THREE}" / "hour=01.ndjson").mkdir()
    before = {path: path.read_bytes() for path in (lake / "logs").rglob("*") if path.is_file()}
    run = night(lake, challenges=challenges)
    assert run["left_alone"] == ["\x1b[31mred.txt", "b.ndjson.part", "c.NDJSON", "d.csv", "hour=01.ndjson", "notes.txt"]
    assert run["records"] == 1
    assert {path: path.read_bytes() for path in (lake / "logs").rglob("*") if path.is_file()} == before


def test_e7_a_day_that_received_nothing(tmp_path, challenges):
    """E7: no file, no game and nothing readable are three states; an empty day changes no board."""
    lake = tmp_path / "lake"
    land(lake, TWO, "a.ndjson", [upload("g1", "p1", TWO)])
    night(lake, TWO, challenges=challenges)
    boards = dump(warehouse(lake))
    with pytest.raises(NothingReceived, match=r"no log file was received for 2026-10-31; use --allow-empty"):
        night(lake, challenges=challenges)
    land(lake, THREE, "a.part", [upload("g2", "p2")])
    with pytest.raises(NothingReceived, match=r"no log file .* \(1 files of no known kind were left alone\)"):
        night(lake, challenges=challenges)
    land(lake, THREE, "a.ndjson", [])
    land(lake, THREE, "b.ndjson", [b"", b"  ", b"\r"])
    with pytest.raises(NothingReceived, match="2 log files were received for 2026-10-31, but no game is in them"):
        night(lake, challenges=challenges)
    assert Lake(lake).published_days() == [TWO]
    assert dump(warehouse(lake)) == boards
    run = night(lake, allow_empty=True, challenges=challenges)
    assert (run["records"], run["verdicts"]["verified"], len(run["inputs"])) == (0, 0, 2)
    check_run(lake, THREE)
    after = dump(warehouse(lake))
    ungoverned = {"main.publication", "main.challenge_status", "keyed.challenge_status"}
    assert {k: v for k, v in after.items() if k not in ungoverned} == {k: v for k, v in boards.items() if k not in ungoverned}
    assert ask(lake, "select as_of from publication") == [(THREE,)], "the boards say that this day was looked at"


def test_e7_all_bad_is_published_but_a_published_day_is_never_emptied(tmp_path, challenges):
    lake = tmp_path / "lake"
    path = land(lake, THREE, "a.ndjson", [b"{", b"[]", b"nonsense"])
    run = night(lake, challenges=challenges)
    assert (run["records"], run["quarantined"]) == (3, 3)
    check_run(lake, THREE)
    good = [upload("g1", "p1"), upload("g2", "p2", seed=2)]
    land(lake, THREE, "a.ndjson", good)
    night(lake, challenges=challenges)
    before = everything(lake)
    for content, allow_empty in (([b"{"] * 3, False), ([], True)):
        land(lake, THREE, "a.ndjson", content)
        with pytest.raises(DayWouldBeEmptied, match=r"was published with 2 games, now none of its 1 files holds one"):
            night(lake, allow_empty=allow_empty, challenges=challenges)
        assert everything(lake) == before
    path.unlink()
    with pytest.raises(DayWouldBeEmptied, match="now none of its 0 files"):
        night(lake, allow_empty=True, challenges=challenges)
    assert everything(lake) == before


def test_e7_sixty_percent_malformed_and_all_mismatches(tmp_path, challenges):
    """E7: bad lines take nothing from the good ones; a day on which everybody is flagged has no boards, and says so; where it had
    some they stay, unless somebody wants it so: that is our rules or their client, not a day of cheats."""
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g1", "p1"), b"{", b"x", b"[1]", upload("g2", "p2", seed=2)])
    assert night(lake, challenges=challenges)["verdicts"]["counted"] == 2
    lake = tmp_path / "mismatch"
    land(lake, THREE, "a.ndjson", [upload(f"g{i}", f"p{i}", seed=i, score=1) for i in range(4)])
    run = night(lake, challenges=challenges)
    assert (run["verdicts"]["flagged"], run["verdicts"]["verified"], run["verdicts"]["moves_received"]) == (4, 0, 0)
    assert {game: found["planted"] for game, found in run["planted"].items()} == dict.fromkeys(NAMES, 0)
    assert ask(lake, "select count(*) from leaderboard") == [(0,)]
    # Somebody takes the file away that was good, and the night runs again.
    good = land(lake, THREE, "b.ndjson", [upload("g9", "p9", seed=9)])
    assert night(lake, challenges=challenges)["verdicts"]["counted"] == 1
    before = everything(lake)
    good.unlink()
    with pytest.raises(NothingVerified, match=r"2026-10-31 was published with 1 verified games, now all 4 games are flagged"):
        night(lake, challenges=challenges)
    assert everything(lake) == before
    assert night(lake, allow_empty=True, challenges=challenges)["verdicts"]["verified"] == 0
    assert ask(lake, "select count(*) from leaderboard") == [(0,)]


def test_e7_a_file_of_another_day_counts_for_its_own_challenge(tmp_path, challenges):
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g1", "p1", TWO), upload("g2", "p2", THREE, seed=2)])
    night(lake, challenges=challenges)
    assert ask(lake, "select challenge, players from challenge_status order by all") == [(str(TWO), 1), (str(THREE), 1)]


# --- Files that cannot be used -------------------------------------------------------------------------------------------


def test_e3_a_damaged_parquet_file_is_set_aside_and_the_night_goes_on(tmp_path, challenges):
    """E3: what cannot be read is named with its file, counted as one record, and does not stop the others."""
    lake = tmp_path / "lake"
    land(lake, THREE, "b.ndjson", [upload("other", "p-other")])
    path = land(lake, THREE, "a.parquet", [upload(f"g{i}", f"p{i}", seed=i % 7, tokens=10 + i) for i in range(60)])
    whole = path.read_bytes()
    damaged = {
        "cut": whole[: len(whole) // 2], "empty": b"", "text": b"PAR1 is not enough",
        "pages": whole[:4] + bytes(byte ^ 0x55 for byte in whole[4:400]) + whole[400:],
    }  # fmt: skip
    for data in damaged.values():
        path.write_bytes(data)
        run = night(lake, challenges=challenges)
        assert (run["records"], run["verdicts"]["verified"], run["quarantine_codes"]) == (2, 1, {"stream": 1})
        (row,) = pq.read_table(lake / "quarantine" / f"day={THREE}" / "part-0.parquet").to_pylist()
        assert (row["source_file"], row["source_line"]) == ("a.parquet", 1)
        # The same inputs give the same bytes wherever the lake lies.
        assert re.fullmatch(
            r"a\.parquet: (cannot be read as Parquet|is damaged).* what came from this row on is lost", row["reason"]
        )
    path.write_bytes(whole)
    assert night(lake, challenges=challenges)["records"] == 61


def test_a_file_that_grows_while_it_is_read_is_not_taken_half(tmp_path, challenges, monkeypatch):
    from replay import night as nights

    lake = tmp_path / "lake"
    path = land(lake, THREE, "a.ndjson", [upload("g1", "p1")])
    whole = nights.verify_day

    def verify_and_append(*args):
        with path.open("ab") as file:
            file.write(line(upload("g2", "p2", seed=2)) + b"\n")
        return whole(*args)

    with monkeypatch.context() as patch:
        patch.setattr(nights, "verify_day", verify_and_append)
        with pytest.raises(InputError, match=r"a\.ndjson: was still being written"):
            night(lake, challenges=challenges)
    assert night(lake, challenges=challenges)["records"] == 2


def test_published_files_that_are_gone_or_damaged_are_named(tmp_path, challenges):
    lake = tmp_path / "lake"
    for day in (TWO, THREE):
        land(lake, day, "a.ndjson", [upload(f"g{day}", "p1", day)])
    night(lake, TWO, challenges=challenges)
    run_file, verdicts = Lake(lake).run_file(TWO), Lake(lake).verdict_file(TWO)
    text, rows = run_file.read_text(), verdicts.read_bytes()
    run_file.unlink()
    with pytest.raises(InputError, match=r"run\.json: is missing beside the verdicts of 2026-10-30, run `replay nightly"):
        night(lake, THREE, challenges=challenges)
    run_file.write_text(text[:40])
    with pytest.raises(InputError, match=r"run\.json: is damaged, delete it"):
        night(lake, THREE, challenges=challenges)
    run_file.write_text(text)
    verdicts.write_bytes(b"PAR1")
    with pytest.raises(NightError, match="nothing is published"):
        night(lake, THREE, challenges=challenges)
    with pytest.raises(InputError, match=r"part-0\.parquet: cannot be read .* delete it and run the night of that day again"):
        night(lake, TWO, challenges=challenges)
    verdicts.unlink()
    night(lake, TWO, challenges=challenges)
    assert verdicts.read_bytes() == rows
    night(lake, THREE, challenges=challenges)


def test_too_little_memory_for_duckdb_is_a_sentence(tmp_path, challenges):
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g1", "p1")])
    with pytest.raises(NightError, match=r"2026-10-31: .*nothing is published"):
        night(lake, challenges=challenges, memory_limit="1MB")
    assert Lake(lake).published_days() == []


def test_two_nights_at_once_e1(tmp_path, challenges):
    """E1: the second night stops at once and says why; the first is not disturbed."""
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g1", "p1")])
    met = []

    def report(step: str, done: int, total: int) -> None:
        for other in (lambda: night(lake, challenges=challenges), lambda: rebuild_standings(Lake(lake), NightSettings())):
            with pytest.raises(NightRunning, match="another night is writing to this lake"):
                other()
        met.append(step)

    settings = NightSettings(challenges=challenges, threads=1)
    run_night(Lake(lake), THREE, settings, report=report)
    assert set(met) == {"plan", "verify", "publish", "standings"}
    assert night(lake, challenges=challenges)["records"] == 1


# --- E2: late days, in every order ---------------------------------------------------------------------------------------


def test_e2_days_in_every_order(logs, clean, tmp_path):
    """E2: 1 2 3, 3 1 2 and 3 2 1 end in the same files and tables, copies and late uploads across days included."""
    across = [row for day in DAYS for row in verdict_rows(clean, day) if row["copy_of"]]
    assert any(row["challenge"] < row["uploaded_at"].date().isoformat() for row in across)
    expected = everything(clean)
    for number, order in enumerate(((THREE, ONE, TWO), (THREE, TWO, ONE))):
        lake = copy_of(logs, tmp_path / str(number))
        for day in order:
            night(lake, day)
        assert everything(lake) == expected, order
        assert all(check_run(lake, day) for day in DAYS)


def _late_games() -> dict:
    """What lands on which day: copies, second logs, conflicts and shared logs over three days, early and late ones."""
    early, late = upload("g1", "p1", ONE, seed=1), DAY
    early = replace(early, uploaded_at=early.uploaded_at + HOUR)
    return {
        ONE: [
            early,
            upload("g2", "p2", ONE, seed=2, uploaded_at=early.uploaded_at + 2 * DAY),
            upload("same", "p4", ONE, seed=4),
            upload("long1", "p6", ONE, seed=6, tokens=45, uploaded_at=early.uploaded_at + HOUR),
            upload("plain", "p9", ONE, seed=9),
        ],
        TWO: [
            replace(early, game_id="g1-again", uploaded_at=early.uploaded_at - HOUR // 2),
            upload("g2-other", "p2", ONE, seed=3, uploaded_at=early.uploaded_at + late),
            upload("same", "p5", ONE, seed=5, uploaded_at=early.uploaded_at + late),
            upload("long2", "p7", ONE, seed=6, tokens=45, uploaded_at=early.uploaded_at + late),
            upload("more", "p9", ONE, seed=7, attempt=2),
        ],
        THREE: [
            replace(early, uploaded_at=early.uploaded_at + 2 * DAY),
            upload("long3", "p8", ONE, seed=6, tokens=45, uploaded_at=early.uploaded_at),
            replace(upload("same", "p4", ONE, seed=4), uploaded_at=early.uploaded_at + 2 * DAY),
        ],
    }


def test_e2_relations_across_days_in_every_order(tmp_path, challenges):
    """E2, B7, C1: first uploads stand and later ones yield, whichever night runs first."""
    games, found = _late_games(), []
    for number, order in enumerate(permutations(DAYS)):
        lake = tmp_path / str(number)
        for day in DAYS:
            land(lake, day, "a.ndjson", games[day])
        for day in order:
            night(lake, day, challenges=challenges)
        found.append(everything(lake))
        assert all(check_run(lake, day) for day in DAYS)
    assert all(one == found[0] for one in found)
    rows = {(day, game_id): row for day in DAYS for game_id, row in by_game(lake, day).items()}
    verdicts = {key: (row["verdict"], row["reason_codes"], row["suspicions"]) for key, row in rows.items()}
    unfinished = ["unfinished"]
    assert verdicts[ONE, "g1"][0] == "copy"
    assert verdicts[TWO, "g1-again"] == ("verified", [], unfinished), "uploaded half an hour earlier, landed a day later"
    assert verdicts[THREE, "g1"][0] == "copy"
    assert verdicts[ONE, "g2"][:2] == ("flagged", ["duplicate_attempt"])
    assert verdicts[TWO, "g2-other"][0] == "verified"
    assert [verdicts[day, "same"][:2] for day in DAYS] == [("flagged", ["conflicting_upload"])] * 3, "two players, one id"
    assert "copied_log" in verdicts[ONE, "long1"][2]
    assert "copied_log" in verdicts[TWO, "long2"][2]
    assert "copied_log" not in verdicts[THREE, "long3"][2]


def _tangled(rng: random.Random, count: int) -> list:
    """Uploads that share ids, players, attempts, contents and long logs at random."""
    base, kinds = upload("x", "x", ONE).uploaded_at + HOUR, [
        {"mode": "training"}, {"mode": "training", "challenge": "training-7"}, {"score": 1}, {"rules": "1.1.0"}, {"moves": "zz"},
    ]  # fmt: skip
    found = []
    for _ in range(count):
        long = rng.random() < 0.4
        found.append(upload(
            rng.choice("ABCD"), rng.choice("pqr"), ONE, attempt=rng.choice([1, 1, 2]), seed=3 if long else rng.choice([1, 2]),
            tokens=33 if long else 12, uploaded_at=base + rng.randrange(4) * HOUR,
            **(rng.choice(kinds) if rng.random() < 0.2 else {}),
        ))  # fmt: skip
    return found


@pytest.mark.parametrize("seed", range(int(os.environ.get("REPLAY_TANGLES", "1"))))
def test_e2_tangled_uploads_landing_in_any_order(tmp_path, challenges, seed):
    """Files land one by one on random days, players are anonymised on the way, one file is taken back: the end is the same."""
    rng = random.Random(seed)
    files = {(day, name): _tangled(rng, rng.randrange(1, 5)) for day in DAYS for name in ("a.ndjson", "b.parquet")}
    players = write_players(tmp_path / "players.csv", ("p", "anonymised", "Z"), ("q", "anonymised", "A"))
    settings = {"challenges": challenges, "players": players}
    whole, lake = tmp_path / "whole", tmp_path / "lake"
    for (day, name), uploads in files.items():
        land(whole, day, name, uploads)
    for day in DAYS:
        night(whole, day, **settings)
    write_players(players)
    taken_back = rng.choice(DAYS)
    junk = land(lake, taken_back, "junk.ndjson", _tangled(rng, 3))
    night(lake, taken_back, **settings)
    order = rng.sample(sorted(files), len(files))
    for number, (day, name) in enumerate(order):
        if number == 3:
            write_players(players, ("p", "anonymised", "Z"), ("q", "anonymised", "A"))
        land(lake, day, name, files[day, name])
        night(lake, day, **settings)
    junk.unlink()
    night(lake, taken_back, **settings)
    assert everything(lake) == everything(whole)


def test_e2_a_shard_of_day_one_arrives_after_day_three(tmp_path, challenges):
    """E2: day 1 is run again when more of it lands; the end is as if all had been there from the start."""
    games = _late_games()
    settings = {"challenges": challenges}
    whole, late = tmp_path / "whole", tmp_path / "late"
    for lake in (whole, late):
        for day in DAYS:
            land(lake, day, "a.ndjson", games[day])
    extra = [upload("best", "p9", ONE, seed=8, tokens=40, attempt=3), upload("worse", "p1", ONE, seed=9, tokens=3, attempt=2)]
    extra += [upload("new", "p20", ONE, seed=10), replace(games[TWO][2], game_id="same-again")]
    land(whole, ONE, "b.ndjson.gz", extra)
    for day in DAYS:
        night(whole, day, **settings)
    for day in DAYS:
        night(late, day, **settings)
    before = ask(late, "select total from totals where player_id = 'p9'")
    land(late, ONE, "b.ndjson.gz", extra)
    night(late, ONE, **settings)
    assert everything(late) == everything(whole)
    assert ask(late, "select total from totals where player_id = 'p9'") > before
    # And a file that is taken back leaves no trace.
    (late / "logs" / f"day={ONE}" / "b.ndjson.gz").unlink()
    (whole / "logs" / f"day={ONE}" / "b.ndjson.gz").unlink()
    for lake in (late, whole):
        night(lake, ONE, **settings)
    assert ask(late, "select total from totals where player_id = 'p9'") == before
    assert everything(late) == everything(whole)


@pytest.mark.parametrize("better", [True, False])
def test_e2_a_late_attempt_moves_the_old_day(tmp_path, challenges, better):
    """A late better attempt raises the old day's best, position and total; a worse one changes nothing."""
    lake = tmp_path / "lake"
    first = upload("first", "p1", ONE, tokens=20)
    rival = upload("rival", "p2", ONE, seed=2, tokens=24)
    assert rival.score > first.score
    land(lake, ONE, "a.ndjson", [first, rival])
    night(lake, ONE, challenges=challenges)
    ranking = "select position, player_id, score, attempt from daily_ranking order by all"
    assert ask(lake, ranking) == [(1, "p2", rival.score, 1), (2, "p1", first.score, 1)]
    later = upload("late", "p1", ONE, attempt=2, seed=2 if better else 3, tokens=40 if better else 4)
    later = replace(later, uploaded_at=later.uploaded_at + 2 * DAY)
    assert (later.score > rival.score) is better
    land(lake, THREE, "a.ndjson", [later])
    night(lake, THREE, challenges=challenges)
    if better:
        assert ask(lake, ranking) == [(1, "p1", later.score, 2), (2, "p2", rival.score, 1)]
        assert ask(lake, "select total from totals where player_id = 'p1'") == [(later.score,)]
    else:
        assert ask(lake, ranking) == [(1, "p2", rival.score, 1), (2, "p1", first.score, 1)]
    too_late = replace(later, game_id="too-late", attempt=3, uploaded_at=later.uploaded_at + 2 * DAY)
    land(lake, THREE, "b.ndjson", [too_late])
    night(lake, THREE, challenges=challenges)
    assert by_game(lake)["too-late"]["reason_codes"] == ["outside_challenge_day"], "late uploads stay visible"


def test_restating_touches_only_the_rows_it_means(tmp_path, challenges):
    """Rows of other files with the same line number as a touched row keep their relations when a day is restated."""
    lake = tmp_path / "lake"
    base = upload("x", "x", ONE).uploaded_at + HOUR
    land(lake, ONE, "a.ndjson", [upload("a1", "p1", ONE, seed=1, uploaded_at=base), upload("a2", "p2", ONE, seed=2)])
    later = {"uploaded_at": base + HOUR}
    land(lake, ONE, "b.ndjson", [upload("b1", "p1", ONE, seed=1, **later), upload("b2", "p3", ONE, seed=3, **later)])
    land(lake, ONE, "c.ndjson", [upload("c1", "p1", ONE, seed=4, uploaded_at=base + HOUR), upload("a2", "p9", ONE, seed=5)])
    land(lake, ONE, "d.ndjson", [upload("d1", "p7", ONE, seed=7, score=1)])
    night(lake, ONE, challenges=challenges)
    rows = {row["game_id"] + row["player_id"]: row for row in verdict_rows(lake, ONE)}
    assert (rows["b1p1"]["verdict"], rows["c1p1"]["reason_codes"]) == ("copy", ["duplicate_attempt"])
    # One upload of the next day is a copy of line 2 of b.ndjson: only that row's relations are looked at again.
    land(lake, TWO, "a.ndjson", [upload("b2-early", "p3", ONE, seed=3, uploaded_at=base - HOUR)])
    night(lake, TWO, challenges=challenges)
    after = {row["game_id"] + row["player_id"]: row for row in verdict_rows(lake, ONE)}
    assert (after["b2p3"]["verdict"], after["b2p3"]["copy_of"]) == ("copy", "b2-early")
    assert {**after, "b2p3": rows["b2p3"]} == rows
    assert check_run(lake, ONE)["verdicts"]["copy"] == 2
    # Line 1 of a.ndjson becomes a copy; the equal line numbers of b, c and d stay what they were.
    land(lake, TWO, "b.ndjson", [upload("a1-early", "p1", ONE, seed=1, uploaded_at=base - HOUR)])
    night(lake, TWO, challenges=challenges)
    last = {row["game_id"] + row["player_id"]: row for row in verdict_rows(lake, ONE)}
    assert {k: v["verdict"] for k, v in last.items()} == {
        "a1p1": "copy", "a2p2": "flagged", "b1p1": "copy", "b2p3": "copy", "c1p1": "flagged", "a2p9": "flagged",
        "d1p7": "flagged",
    }  # fmt: skip
    assert last["d1p7"] == rows["d1p7"]


def test_b7_the_same_content_again_outside_the_standings(tmp_path, challenges):
    """B7: short training games, flagged ones and such of unknown challenges are found again under a new id too."""
    kinds = {
        "training": {"mode": "training", "challenge": "training-7"}, "practice": {"mode": "training"},
        "unknown": {"challenge": "nowhere"}, "rules": {"rules": "9.9.9"}, "wrong": {"score": 1}, "daily": {},
        "illegal": {"moves": "1a1 zz"},
    }  # fmt: skip
    lake = tmp_path / "lake"
    firsts = [upload(f"{kind}-1", kind, seed=2, tokens=12, **changes) for kind, changes in kinds.items()]
    again = [replace(game, game_id=game.player_id + "-2", uploaded_at=game.uploaded_at + HOUR) for game in firsts]
    others = [replace(game, game_id=game.player_id + "-3", player_id=game.player_id + "'") for game in firsts]
    land(lake, THREE, "a.ndjson", [*again, *others])
    land(lake, TWO, "a.ndjson", firsts)
    for day in (THREE, TWO):
        night(lake, day, challenges=challenges)
    found = by_game(lake)
    for kind in kinds:
        assert (found[f"{kind}-2"]["verdict"], found[f"{kind}-2"]["copy_of"]) == ("copy", f"{kind}-1"), kind
        assert found[f"{kind}-3"]["verdict"] != "copy"
    assert [row["verdict"] for row in verdict_rows(lake, TWO)] == [
        "verified", "verified", "flagged", "flagged", "flagged", "verified", "flagged"
    ]  # fmt: skip


# --- D4, D5, D9, D10 -----------------------------------------------------------------------------------------------------


def _total(lake: Path, player: str = "p1") -> int | None:
    return (ask(lake, "select total from totals where player_id = ?", player) or [(None,)])[0][0]


def test_a_board_written_otherwise_counts_no_game_twice(tmp_path, challenges):
    """A retry whose board has a zero more stopped every night: no attempt may count twice."""
    lake, first = tmp_path / "lake", upload("g1", "p1")
    land(lake, THREE, "a.ndjson", [first, upload("g2", "p2", seed=2)])
    again = replace(first, game_id="g3", final_board=first.final_board.replace("1", "01"), uploaded_at=first.uploaded_at + 1)
    assert again.final_board != first.final_board
    land(lake, THREE, "b.ndjson", [again])
    assert night(lake, challenges=challenges)["verdicts"]["counted"] == 2
    # On another day.
    (lake / "logs" / f"day={THREE}" / "b.ndjson").unlink()
    next_day = THREE + timedelta(days=1)
    land(lake, next_day, "b.ndjson", [again])
    for day in (THREE, next_day):
        night(lake, day, challenges=challenges)
    (row,) = verdict_rows(lake, next_day)
    assert (row["verdict"], row["copy_of"]) == ("copy", "g1")


def test_d5_totals_are_always_the_sum_of_the_best(tmp_path, challenges):
    """D5: attempts low, high, middle; again; the high one invalidated and restored; then under mended rules."""
    lake = tmp_path / "lake"
    low, high, middle = (upload(f"g{n}", "p1", ONE, attempt=n, seed=n, tokens=t) for n, t in ((1, 8), (2, 30), (3, 14)))
    assert low.score < middle.score < high.score
    land(lake, ONE, "a.ndjson", [low, high, middle])
    for _ in range(2):
        night(lake, ONE, challenges=challenges)
        assert _total(lake) == high.score
    # Somebody else uses the second attempt's id: neither stands until that is taken back.
    thief = land(lake, TWO, "a.ndjson", [upload("g2", "thief", ONE, seed=5, uploaded_at=high.uploaded_at + HOUR)])
    night(lake, TWO, challenges=challenges)
    assert _total(lake) == middle.score
    assert ask(lake, "select attempt from daily_best where player_id = 'p1'") == [(3,)]
    land(lake, TWO, "a.ndjson", [upload("g9", "p9", TWO)])
    assert thief.exists()
    night(lake, TWO, challenges=challenges)
    assert _total(lake) == high.score
    assert ask(lake, "select attempt, game_id from daily_best where player_id = 'p1'") == [(2, "g2")]


def test_d5_a_month_under_mended_rules_counts_only_what_it_reproduces(tmp_path, challenges):
    """D5: when the rules are mended, claims of the old ones no longer come out, and say which version they were made by."""
    lake = tmp_path / "lake"
    games = {n: upload(f"g{n}", "p1", ONE, attempt=n, seed=2, tokens=t) for n, t in ((1, 2), (2, 45))}
    assert games[2].best_combo > 0 == games[1].best_combo, "only the longer game has line points"
    land(lake, ONE, "a.ndjson", list(games.values()))
    night(lake, ONE, challenges=challenges)
    assert _total(lake) == games[2].score
    rules = tmp_path / "rules" / "blocks"
    rules.mkdir(parents=True)
    text = (BUILT_IN / "blocks" / "1.2.0.toml").read_text("utf-8")
    assert "lines = [80, 240," in text
    (rules / "1.2.0.toml").write_text(text.replace("lines = [80, 240,", "lines = [70, 230,"), "utf-8")
    run = night(lake, ONE, challenges=challenges, rules=tmp_path / "rules")
    assert run["reasons"] == {"score_mismatch": 1}
    assert _total(lake) == games[1].score
    night(lake, ONE, challenges=challenges)
    assert _total(lake) == games[2].score


def _three_days(lake: Path, challenges: Path, players: Path) -> None:
    for day in DAYS:
        games = [upload(f"p{n}-{day}", f"p{n}", day, seed=n, tokens=20 + 3 * n, nation="FR") for n in (1, 2, 3)]
        land(lake, day, "a.ndjson", games)
        night(lake, day, challenges=challenges, players=players)


def test_d4_a_removed_player_leaves_everywhere_and_returns_as_before(tmp_path, challenges):
    """D4: one eligibility for every board and population; nothing of the leader is left, and nobody stands one too low."""
    lake, players = tmp_path / "lake", tmp_path / "players.csv"
    write_players(players)
    _three_days(lake, challenges, players)
    settings = NightSettings(challenges=challenges, players=players)
    before = everything(lake)
    leader = ask(lake, "select player_id from leaderboard where position = 1 and scope = 'world' and period = 'all_time'")[0][0]
    write_players(players, (leader, "removed", ""))
    rebuild_standings(Lake(lake), settings)
    # What speaks against games is kept for those who review them; it counts nowhere.
    kept = ["main.flagged_games"]
    after = dump(warehouse(lake))
    assert [name for name, rows in after.items() if any(leader in row for row in rows)] == kept
    assert ask(lake, "select distinct counted from flagged_games where player_id = ?", leader) == [(False,)]
    assert ask(lake, "select distinct position from daily_ranking order by all") == [(1,), (2,)]
    assert ask(lake, "select min(position) from weekly_digest") in ([(1,)], [(None,)])
    assert ask(lake, "select min(position), max(position) from leaderboard") == [(1, 2)]
    assert ask(lake, "select distinct players from challenge_status") == [(2,)]
    # Another upload of a removed player brings nobody back.
    land(lake, THREE, "b.ndjson", [upload("again", leader, THREE, attempt=2, seed=8, tokens=50)])
    night(lake, THREE, challenges=challenges, players=players)
    assert [name for name, rows in dump(warehouse(lake)).items() if any(leader in row for row in rows)] == kept
    assert by_game(lake)["again"]["verdict"] == "verified"
    (lake / "logs" / f"day={THREE}" / "b.ndjson").unlink()
    night(lake, THREE, challenges=challenges, players=players)
    write_players(players)
    rebuild_standings(Lake(lake), settings)
    assert everything(lake) == before


def _bytes_with(lake: Path, text: str) -> list[str]:
    """Where a text stands in anything published: in the bytes as they lie there, and in the rows behind the compression."""
    places = []
    for folder in ("verdicts", "quarantine", "runs", "warehouse", "staging"):
        for path in sorted((lake / folder).rglob("*")):
            if path.is_file() and text.encode() in path.read_bytes():
                places.append(path.relative_to(lake).as_posix())
            if path.suffix == ".parquet" and any(text in str(row) for row in pq.read_table(path, partitioning=None).to_pylist()):
                places.append(path.relative_to(lake).as_posix())
    if (lake / "warehouse" / "CURRENT").exists():
        places += [name for name, rows in dump(warehouse(lake)).items() if any(text in str(row) for row in rows)]
    return places


def test_d9_an_anonymised_players_old_id_is_written_nowhere_again(tmp_path, challenges):
    """D9: two players on one day; published rows, late games, retries and a backfill bear the new ids, results stand."""
    lake, players = tmp_path / "lake", tmp_path / "players.csv"
    write_players(players)
    _three_days(lake, challenges, players)
    boards = "select scope, period, position, total from leaderboard order by all"
    before = ask(lake, boards)
    assert len(_bytes_with(lake, "p1")) > 5
    old = {path.name for path in (lake / "warehouse").iterdir()}
    write_players(players, ("p1", "anonymised", "x-1"), ("p2", "anonymised", "x-2"))
    settings = {"challenges": challenges, "players": players}
    # A retry of an old game, a second log of an old attempt, a new game: all of the first player, landing late.
    first = upload("p1-2026-10-29", "p1", ONE, seed=1, tokens=23, nation="FR")
    land(lake, THREE, "b.ndjson", [
        replace(first, uploaded_at=first.uploaded_at + 2 * DAY),
        upload("second-log", "p1", ONE, seed=9, uploaded_at=first.uploaded_at + 2 * DAY),
        upload("fresh", "p1", THREE, attempt=2, seed=9, tokens=3),
    ])  # fmt: skip
    night(lake, THREE, **settings)
    for name in old - {"CURRENT"}:
        (lake / "warehouse" / name).unlink(missing_ok=True)
    assert _bytes_with(lake, "p1-2026")
    for player in ("p1", "p2"):
        rows = [row for day in DAYS for row in verdict_rows(lake, day) if row["player_id"] == player]
        assert rows == []
    found = {row["game_id"]: (row["verdict"], row["reason_codes"], row["player_id"]) for row in verdict_rows(lake)}
    assert found["p1-2026-10-29"] == ("copy", [], "x-1"), "their own retry is no stranger's conflict"
    assert found["second-log"] == ("flagged", ["duplicate_attempt"], "x-1")
    assert found["fresh"] == ("verified", [], "x-1")
    assert ask(lake, boards) == before
    assert {row[0] for row in ask(lake, "select player_id from players")} == {"x-1", "x-2", "p3"}
    for day in DAYS:
        check_run(lake, day)
    # A backfill of every day reads the old ids again from the landed files, and ends where it began.
    state = everything(lake)
    for day in DAYS:
        night(lake, day, **settings)
    assert everything(lake) == state
    fresh = copy_of(lake, tmp_path / "fresh")
    for day in (THREE, ONE, TWO):
        night(fresh, day, **settings)
    assert everything(fresh) == state, "as if the new ids had been there from the start"


def test_d9_the_old_id_is_in_no_byte(tmp_path, challenges):
    lake, players = tmp_path / "lake", tmp_path / "players.csv"
    secret = "oldname-that-must-go"
    write_players(players)
    land(lake, ONE, "a.ndjson", [upload("g1", secret, ONE), upload("g2", "p2", ONE, seed=2)])
    night(lake, ONE, challenges=challenges, players=players)
    assert _bytes_with(lake, secret)
    name = warehouse(lake)
    write_players(players, (secret, "anonymised", "n-77"))
    land(lake, ONE, "b.ndjson", [line(upload("g3", secret, ONE, attempt=9)).replace(b'"score"', b'"scores"'), b"{"])
    land(lake, TWO, "a.parquet", [upload("g4", secret, TWO, mode="training"), upload("g5", secret, ONE, attempt=2, score=1)])
    night(lake, TWO, challenges=challenges, players=players)
    assert not name.exists(), "an older warehouse with the old id goes at once"
    assert _bytes_with(lake, secret) == []
    night(lake, ONE, challenges=challenges, players=players)
    rebuild_standings(Lake(lake), NightSettings(challenges=challenges, players=players))
    assert _bytes_with(lake, secret) == []
    assert ask(lake, "select player_id from players order by all") == [("n-77",), ("p2",)]
    # Removed later, the new id goes as well, and the old one does not come back for it.
    write_players(players, (secret, "anonymised", "n-77"), ("n-77", "removed", ""))
    land(lake, THREE, "a.ndjson", [upload("g6", secret, THREE)])
    night(lake, THREE, challenges=challenges, players=players)
    assert _bytes_with(lake, secret) == []
    assert ask(lake, "select player_id from players order by all") == [("p2",)]


def test_a_players_table_that_changes_makes_one_new_warehouse(tmp_path, challenges):
    lake, players = tmp_path / "lake", write_players(tmp_path / "players.csv")
    _three_days(lake, challenges, players)
    first = warehouse(lake)
    write_players(players, ("p2", "removed", ""))
    night(lake, ONE, challenges=challenges, players=players)
    second = warehouse(lake)
    assert second != first
    write_players(players)
    night(lake, ONE, challenges=challenges, players=players)
    assert warehouse(lake).name == first.name
    assert len(list((lake / "warehouse").glob("*.duckdb"))) <= 3


def test_d10_what_a_republish_moved(tmp_path, challenges):
    """D10: provisional until uploads are over, then final; late games and an invalidation show as counts of what moved."""
    from replay.standings import query_challenges, query_changes, query_periods, query_publication

    lake = tmp_path / "lake"
    games = [upload(f"g{i}", f"p{i}", ONE, seed=i, tokens=10 + 2 * i) for i in range(1, 6)]
    land(lake, ONE, "a.ndjson", games)
    night(lake, ONE, challenges=challenges)
    before = warehouse(lake)
    assert query_changes(before, before) == []
    late = [upload(f"n{i}", f"n{i}", ONE, seed=6 + i, tokens=30 + i) for i in range(3)]
    late.append(upload("g5", "thief", ONE, seed=9))
    land(lake, TWO, "a.ndjson", late)
    night(lake, TWO, challenges=challenges)
    moved = query_changes(warehouse(lake), before)
    assert len(moved) == 1
    assert (moved[0]["challenge"], moved[0]["players_new"], moved[0]["players_gone"]) == (str(ONE), 3, 1)
    assert moved[0]["positions_moved"] == 4
    status = query_challenges(warehouse(lake))
    assert [(r["challenge"], r["players"], r["status"], r["as_of"], r["final_from"]) for r in status] == [
        (str(ONE), 7, "provisional", TWO, ONE + timedelta(days=4))
    ]
    last = ONE + timedelta(days=4)
    land(lake, last, "a.ndjson", [upload("later", "p9", last)])
    night(lake, last, challenges=challenges)
    assert [(r["challenge"], r["status"]) for r in query_challenges(warehouse(lake))] == [
        (str(last), "provisional"), (str(ONE), "final")
    ]  # fmt: skip
    assert {(r["period"], r["status"]) for r in query_periods(warehouse(lake))} == {
        ("all_time", "provisional"), ("month", "provisional")
    }  # fmt: skip
    publication = query_publication(warehouse(lake))
    assert (publication["as_of"], publication["verdict_rows"], publication["rules_versions"]) == (last, 10, ["1.2.0"])


# --- E9: sizes -----------------------------------------------------------------------------------------------------------


def test_e9_many_tiny_files_and_one_large(tmp_path, challenges):
    """E9: the number of files and shards changes nothing, one absurd line takes nobody with it."""
    lake = tmp_path / "lake"
    for i in range(120):
        land(lake, THREE, f"t{i:03d}.{FORMATS[i % 4]}", [upload(f"t{i}", f"q{i}", seed=i % 6)])
    large = [upload(f"g{i}", f"p{i}", seed=i % 6, tokens=12 + i % 20) for i in range(900)]
    absurd = b'{"game_id":"absurd","moves":"' + b"1a1" * 1_000_000 + b'"}'
    tokens = line(upload("tokens", "p", moves="*" * 200_001))
    land(lake, THREE, "z.ndjson", [*large[:400], absurd, tokens, *large[400:]])
    run = night(lake, challenges=challenges, shard_games=50)
    check_run(lake, THREE)
    assert (run["records"], run["quarantine_codes"]) == (1022, {"too_large": 2})
    assert [row["source_line"] for row in verdict_rows(lake, kind="quarantine")] == [401, 402]
    rows = {row["source_line"]: row["game_id"] for row in verdict_rows(lake) if row["source_file"] == "z.ndjson"}
    assert rows[403] == "g400"
    files = published_files(lake)
    night(lake, challenges=challenges, shard_games=10**6, threads=1)
    assert published_files(lake) == files


def test_uploads_of_the_longest_texts_fit_into_little_memory(tmp_path, challenges):
    """A night's memory depends on how many uploads there are: longer texts are set aside, the longest ones spill."""
    lake = tmp_path / "lake"
    wide = [
        replace(
            upload(f"{'g' if i % 2 else 'same'}{i * (i % 2)}-".ljust(1024, "x"), f"p{i // 5}-".ljust(1024, "x"), seed=i % 6),
            platform=f"{i}-".ljust(1024, "x"), app_version=f"{i}-".ljust(1024, "x"), final_board=f"{i}-".ljust(16_384, "1"),
        )
        for i in range(1000)
    ]  # fmt: skip
    beyond = [replace(upload(f"b{i}", "x" * 1_000_000), final_board=str(i)) for i in range(150)]
    land(lake, THREE, "a.ndjson", [*wide, *beyond, upload("plain", "plain")])
    run = night(lake, challenges=challenges, memory_limit="256MB")
    check_run(lake, THREE)
    assert (run["records"], run["quarantine_codes"]) == (1151, {"too_large": 150})
    rows = verdict_rows(lake)
    assert [row["verdict"] for row in rows if row["game_id"] == "plain"] == ["verified"]
    assert sum("conflicting_upload" in row["reason_codes"] for row in rows) >= 400


def test_suspicions_follow_the_settings(tmp_path, challenges):
    lake = tmp_path / "lake"
    fast = upload("fast", "p1", tokens=40)
    fast = replace(fast, finished_at=fast.started_at + 40 * 150_000)
    land(lake, THREE, "a.ndjson", [fast, replace(fast, game_id="other", player_id="p2", uploaded_at=fast.uploaded_at + 1)])
    night(lake, challenges=challenges)
    found = by_game(lake)
    assert found["fast"]["suspicions"] == ["superhuman_pace", "unfinished"]
    assert found["other"]["suspicions"] == ["copied_log", "superhuman_pace", "unfinished"]
    night(lake, challenges=challenges, judge=JudgeSettings(pace_min_ms_per_token=100, copied_min_choices=41))
    assert {row["game_id"]: row["suspicions"] for row in verdict_rows(lake)} == {"fast": ["unfinished"], "other": ["unfinished"]}
