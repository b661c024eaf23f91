"""What the standings are read from and how they are read: verdict files, reference tables, queries."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay import standings as s
from replay.errors import CheckFailed, InputError, NightError, ReferenceDataError, UsageError
from tests.replay.standings_support import DAY, SCHEMA, SEEDS, build, game, write_players, write_verdicts

# --- reading ----------------------------------------------------------------------------------------------------------


def test_one_players_standing(tmp_path):
    rows = [game("A", 8, "2026-10-13"), game("A", 4, "2026-10-14"), game("B", 100), game("C", 1, nation="DE")]
    path = build(tmp_path, rows)
    found = s.query_player(path, "A", days=1)
    assert (found["player_id"], found["nation"], found["player_kind"]) == ("A", "IT", "human")
    boards = [(row["scope"], row["period"], row["position"], row["people"], row["total"]) for row in found["boards"]]
    assert boards == [
        ("world", "all_time", 2, 3, 12),
        ("nation", "all_time", 2, 2, 12),
        ("world", "month", 2, 3, 12),
        ("nation", "month", 2, 2, 12),
    ]
    assert [(row["challenge"], row["position"], row["tier"]) for row in found["days"]] == [("2026-10-14", 2, "Silver")]
    assert [row["total"] for row in found["digest"]] == [12]
    assert s.query_player(path, "nobody") is None


def test_wrong_questions_are_refused(tmp_path):
    path = build(tmp_path, [game("A", 8)])
    with pytest.raises(UsageError, match="limit -1"):
        s.query_leaderboard(path, game="blocks", limit=-1)
    with pytest.raises(UsageError, match="scope 'nation'"):
        s.query_leaderboard(path, game="blocks", scope="nation")
    with pytest.raises(UsageError, match="period 'all_time'"):
        s.query_leaderboard(path, game="blocks", month="2026-10", period="all_time")
    with pytest.raises(InputError, match="no such warehouse"):
        s.query_day(tmp_path / "none.duckdb", game="blocks", challenge=DAY)
    with s.open_warehouse(path) as con, pytest.raises(Exception, match="read-only"):
        con.execute("DELETE FROM keyed.players")


# --- inputs -----------------------------------------------------------------------------------------------------------


def build_from(folder, files, **options):
    references = {"players_csv": write_players(folder / "players.csv"), "tiers_csv": SEEDS / "rank_tiers.csv"}
    return s.build_warehouse(folder / "w.duckdb", files, **(references | {"settings": s.StandingsSettings()} | options))


def test_a_build_writes_a_new_file_or_none(tmp_path):
    files = [write_verdicts(tmp_path / "part.parquet", [game("A", 8)])]
    counts = build_from(tmp_path, files, memory_limit="200MB", threads=1)
    assert counts["leaderboard"] == 4
    assert counts["daily_ranking"] == counts["publication"] == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["part.parquet", "players.csv", "w.duckdb"]
    with pytest.raises(UsageError, match="exists already"):
        build_from(tmp_path, files)
    with pytest.raises(UsageError, match="no folder"):
        s.open_new(tmp_path / "no" / "w.duckdb")
    with pytest.raises(UsageError, match="look at the settings"):
        s.open_new(tmp_path / "other.duckdb", memory_limit="much")


def test_too_little_memory_is_no_damage(tmp_path):
    """Texts of players may be as long as a record."""
    files = [write_verdicts(tmp_path / "part.parquet", [game(f"{number}" + "x" * 500_000, 8) for number in range(60)])]
    with pytest.raises(NightError, match=r"memory is too small for .*, look at REPLAY_MEMORY_LIMIT"):
        build_from(tmp_path, files, memory_limit="12MB", threads=1)
    assert not (tmp_path / "w.duckdb").exists()


@pytest.mark.parametrize("name", ["day=2026-10-14", "a[1]", "b*?"])
def test_verdict_files_are_taken_by_name_or_by_glob(tmp_path, name):
    file = write_verdicts(tmp_path / name / "part-0.parquet", [game("A", 8)])
    assert build_from(tmp_path, [file])["daily_best"] == 1
    (tmp_path / "w.duckdb").unlink()
    assert build_from(tmp_path, [str(tmp_path / "*" / "*.parquet")])["daily_best"] == 1


def test_verdict_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 is not enough")
    zoned = SCHEMA.set(SCHEMA.get_field_index("finished_at"), pa.field("finished_at", pa.timestamp("us", tz="UTC")))
    without = SCHEMA.remove(SCHEMA.get_field_index("score"))
    bad = {
        "cannot be read": str(tmp_path / "bad.parquet"),
        "no\\.parquet: the verdict rows cannot be read": str(tmp_path / "no.parquet"),
        "finished_at is TIMESTAMP WITH TIME ZONE, it must be TIMESTAMP": write_verdicts(
            tmp_path / "zoned.parquet", [game("A", 8)], zoned
        ),
        "score": write_verdicts(tmp_path / "without.parquet", [{"game_id": "x"}], without),
    }
    for message, file in bad.items():
        with pytest.raises(InputError, match=message):
            build_from(tmp_path, [file])
        assert not (tmp_path / "w.duckdb").exists()


def test_the_night_writes_the_columns_that_are_read(tmp_path):
    verify = pytest.importorskip("replay.verify")
    table = pa.Table.from_pylist([], schema=verify.VERDICT_SCHEMA)
    pq.write_table(table, tmp_path / "part.parquet")
    assert build_from(tmp_path, [str(tmp_path / "part.parquet")])["eligible_games"] == 0


def test_a_file_read_twice_is_refused(tmp_path):
    file = write_verdicts(tmp_path / "part.parquet", [game("A", 8), game("B", 4)])
    with pytest.raises(CheckFailed, match=r"assert_eligible_games_are_counted_once\.sql returned 2 rows, the first with .*game"):
        build_from(tmp_path, [file, file])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("id,state,new_id\n", "the first line is"),
        ("player_id,state,new_id\nA,banned,\n", "state 'banned'"),
        ("player_id,state,new_id\nA,removed\n", "line 2: 2 columns"),
        ("player_id,state,new_id\nA,removed,B\n", "new_id 'B' with state removed"),
        ("player_id,state,new_id\nA,anonymised,\n", "new_id '' with state anonymised"),
        ("player_id,state,new_id\nA,removed,\nA,removed,\n", "line 3: player_id 'A'"),
        ("player_id,state,new_id\nA,anonymised,N\nB,anonymised,N\n", "given to two players"),
        ("player_id,state,new_id\nA,anonymised,B\nB,anonymised,A\n", "lead back to 'A'"),
        ("player_id,state,new_id\nA,anonymised,A\n", "lead back to 'A'"),
        ('player_id,state,new_id\n"A"x,removed,\n', "cannot be read"),
    ],
)
def test_players_tables_that_are_refused(tmp_path, lines, message):
    path = tmp_path / "players.csv"
    path.write_text(lines, "utf-8")
    with pytest.raises(ReferenceDataError, match=message):
        s.load_player_states(path)


def test_players_table_with_odd_ids(tmp_path):
    odd = ["a,b", 'q"q', "line\nfeed", "cr\rx", "sep\u2028x", "\u00e9", "e\u0301", " a"]
    path = write_players(tmp_path / "players.csv", removed=odd)
    assert list(s.load_player_states(path)) == odd
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + b"\r\n\r\n")
    assert list(s.load_player_states(path)) == odd
    with pytest.raises(ReferenceDataError, match="cannot be read"):
        s.load_player_states(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("Gold,80\n", "no tier begins at 0"),
        ("Gold,80.5\nBronze,0\n", "'80.5' is not a whole number"),
        ("Gold,101\nBronze,0\n", "'101' is not a whole number"),
        ("Gold,\u0663\nBronze,0\n", "is not a whole number"),
        ("Gold,80\nGold,0\n", "tier 'Gold'"),
        ("Gold,0\nBronze,0\n", "tier 'Bronze'"),
    ],
)
def test_tier_tables_that_are_refused(tmp_path, lines, message):
    path = tmp_path / "tiers.csv"
    path.write_text("tier,min_percentile\n" + lines, "utf-8")
    with pytest.raises(ReferenceDataError, match=message):
        s.load_rank_tiers(path)


def test_the_published_tiers():
    assert s.load_rank_tiers(SEEDS / "rank_tiers.csv") == [
        ("Bronze", 0),
        ("Silver", 50),
        ("Gold", 80),
        ("Platinum", 95),
        ("Diamond", 99),
    ]
