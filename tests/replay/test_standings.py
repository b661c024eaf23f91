"""Standings: the written definitions on small populations, and the field cases D1-D4 and D10."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest

from replay import standings as s
from replay.errors import NightError
from tests.replay.standings_support import (
    AS_OF,
    DAY,
    SEEDS,
    board,
    build,
    digest,
    flagged,
    game,
    marts,
    ranking,
    select,
    write_players,
)


def bests(path):
    return select(path, "SELECT challenge, player_id, score, attempt FROM daily_best ORDER BY ALL")


# --- a day ------------------------------------------------------------------------------------------------------------


def test_one_player_alone(tmp_path):
    """D2: alone on the grid is percentile 100 and the top tier."""
    path = build(tmp_path, [game("A", 0)])
    assert ranking(path) == [("A", 1, 100.0, "Diamond")]
    assert select(path, "SELECT beaten, others FROM daily_ranking") == [(0, 0)]
    assert board(path) == [("A", 1, 0)]


def test_everybody_tied(tmp_path):
    """D2: all tied are all first, and nobody has beaten anybody."""
    path = build(tmp_path, [game(player, 500) for player in "CAB"])
    assert ranking(path) == [(player, 1, 0.0, "Bronze") for player in "ABC"]
    assert [row[:2] for row in board(path)] == [("A", 1), ("B", 1), ("C", 1)]


def test_ties_share_a_position_and_leave_a_gap(tmp_path):
    """D1: positions 1 2 2 4 on the day and on the board; percentiles 100, 33.33, 33.33, 0."""
    path = build(tmp_path, [game("D", 500), game("C", 700), game("B", 700), game("A", 900)])
    assert ranking(path) == [
        ("A", 1, 100.0, "Diamond"),
        ("B", 2, 33.33, "Bronze"),
        ("C", 2, 33.33, "Bronze"),
        ("D", 4, 0.0, "Bronze"),
    ]
    assert board(path) == [("A", 1, 900), ("B", 2, 700), ("C", 2, 700), ("D", 4, 500)]


@pytest.mark.parametrize(
    ("players", "beaten", "tier"),
    [
        (21, 19, "Platinum"),
        (101, 99, "Diamond"),
        (401, 394, "Platinum"),
        (401, 396, "Diamond"),
        (401, 395, "Platinum"),
        (3, 1, "Silver"),
        (6, 4, "Gold"),
        (2, 0, "Bronze"),
    ],
)
def test_tier_thresholds_are_exact(tmp_path, players, beaten, tier):
    """D2: 98.5 of 100 is Platinum even where 99 is printed, exactly 95 is Platinum, exactly 99 is Diamond."""
    path = build(tmp_path, [game(f"p{score:03}", score) for score in range(players)])
    found = select(path, f"SELECT tier, 100 * beaten, others FROM daily_ranking WHERE beaten = {beaten}")
    assert found == [(tier, 100 * beaten, players - 1)]


def test_nobody_played(tmp_path):
    """D2: zero players are no row at all; an empty lake gives empty marts, not an error."""
    path = build(tmp_path, [flagged(game("A", 4))])
    counts = {mart: len(rows) for mart, rows in marts(path).items()}
    assert counts == {mart: int(mart in ("publication", "flagged_games")) for mart in s.MARTS}
    players = write_players(tmp_path / "players.csv")
    empty = tmp_path / "empty.duckdb"
    counts = s.build_warehouse(empty, [], players_csv=players, tiers_csv=SEEDS / "rank_tiers.csv", settings=s.StandingsSettings())
    assert counts == {mart: int(mart == "publication") for mart in s.MARTS}
    assert s.query_publication(empty)["rows_by_verdict"] == {}
    assert s.query_leaderboard(empty, game="blocks") == []
    assert s.query_player(empty, "A") is None


def test_ai_players_count_for_the_percentile_by_setting_and_never_on_boards(tmp_path):
    """D3: with AI the position on the grid counts everyone whom the percentile counts."""
    rows = [game("A", 500), game("AI", 800, player_kind="ai"), game("B", 300)]
    path = build(tmp_path, rows, name="with")
    assert ranking(path) == [("AI", 1, 100.0, "Diamond"), ("A", 2, 50.0, "Silver"), ("B", 3, 0.0, "Bronze")]
    without = build(tmp_path, rows, name="without", ai=False)
    assert ranking(without) == [("A", 1, 100.0, "Diamond"), ("B", 2, 0.0, "Bronze")]
    for warehouse in (path, without):
        assert board(warehouse) == board(warehouse, month="2026-10") == [("A", 1, 500), ("B", 2, 300)]
        assert board(warehouse, nation="IT") == [("A", 1, 500), ("B", 2, 300)]
        assert select(warehouse, "SELECT player_id FROM weekly_digest ORDER BY 1") == [("A",), ("B",)]
        assert ("AI", 800) in select(warehouse, "SELECT player_id, score FROM daily_best")
        assert ("AI", 800) in select(warehouse, "SELECT player_id, total FROM totals")
        assert s.query_player(warehouse, "AI")["boards"] == []


def test_ai_players_above_all_people(tmp_path):
    """D3: however many AI players lead, people's boards begin at 1."""
    rows = [game(f"AI{n}", 10_000 + n, player_kind="ai") for n in range(20)] + [game("A", 8), game("B", 4)]
    path = build(tmp_path, rows)
    assert board(path) == [("A", 1, 8), ("B", 2, 4)]
    assert ranking(path)[-2:] == [("A", 21, 4.76, "Bronze"), ("B", 22, 0.0, "Bronze")]
    assert s.query_challenges(path)[0] | {"as_of": None} == {
        "game": "blocks",
        "challenge": DAY,
        "players": 22,
        "people": 2,
        "games_counted": 22,
        "rules_versions": ["1.2.0"],
        "as_of": None,
        "final_from": date(2026, 10, 18),
        "status": "final",
    }


# --- best games -------------------------------------------------------------------------------------------------------


def test_three_attempts_best_first(tmp_path):
    path = build(tmp_path, [game("A", 900, attempt=1), game("A", 500, attempt=2), game("A", 700, attempt=3)])
    assert bests(path) == [(DAY, "A", 900, 1)]
    assert select(path, "SELECT game_id FROM daily_best") == [(f"blocks/{DAY}/A/1",)]
    assert board(path) == [("A", 1, 900)]


def test_of_equal_scores_the_earliest_counts(tmp_path):
    """By finished_at, then attempt, then game_id, whatever the attempts' numbers say first."""
    early, late = datetime(2026, 10, 14, 9), datetime(2026, 10, 14, 10)
    rows = [
        game("A", 700, attempt=1, finished_at=late),
        game("A", 700, attempt=2, finished_at=early),
        game("A", 700, attempt=3, finished_at=early),
    ]
    path = build(tmp_path, rows)
    assert bests(path) == [(DAY, "A", 700, 2)]
    assert select(path, "SELECT reached_at FROM totals") == [(early,)]


def test_flagged_best_falls_back_to_the_next_attempt(tmp_path):
    """D4: what does not count leaves the day, the board and the percentile together."""
    rows = [game("A", 900, attempt=1), game("A", 650, attempt=2), game("B", 700)]
    assert ranking(build(tmp_path, rows, name="before")) == [("A", 1, 100.0, "Diamond"), ("B", 2, 0.0, "Bronze")]
    path = build(tmp_path, [flagged(rows[0]), *rows[1:]], name="after")
    assert ranking(path) == [("B", 1, 100.0, "Diamond"), ("A", 2, 0.0, "Bronze")]
    assert board(path) == [("B", 1, 700), ("A", 2, 650)]
    assert bests(path) == [(DAY, "A", 650, 2), (DAY, "B", 700, 1)]


def test_late_better_attempt_for_an_old_day(tmp_path):
    """A game belongs to its challenge's day and month, whatever its clocks say."""
    rows = [game("A", 400, "2026-09-30"), game("B", 500, "2026-09-30"), game("A", 100, "2026-10-01")]
    late = game("A", 600, "2026-09-30", attempt=2, finished_at=datetime(2026, 10, 2, 11))
    path = build(tmp_path, [*rows, late])
    assert ranking(path, "2026-09-30") == [("A", 1, 100.0, "Diamond"), ("B", 2, 0.0, "Bronze")]
    assert board(path, month="2026-09") == [("A", 1, 600), ("B", 2, 500)]
    assert board(path, month="2026-10") == [("A", 1, 100)]
    assert board(path) == [("A", 1, 700), ("B", 2, 500)]


def test_only_counted_rows_count(tmp_path):
    """Copies, flags, training games and games under other rules than the challenge's are read and left out."""
    rows = [
        game("A", 100),
        game("A", 900, attempt=2, verdict="copy", counted=False),
        game("A", 900, attempt=3, mode="training", counted=False),
        flagged(game("B", 999)),
    ]
    path = build(tmp_path, rows)
    assert bests(path) == [(DAY, "A", 100, 1)]
    assert s.query_publication(path) == {
        "as_of": AS_OF,
        "verdict_rows": 4,
        "rows_by_verdict": {"copy": 1, "flagged": 1, "verified": 2},
        "counted_rows": 1,
        "eligible_games": 1,
        "rules_versions": ["1.2.0"],
        "ai_in_percentile": True,
        "reviews_through": 0,
        "games_upheld": 0,
        "games_cleared": 0,
        "releases_through": 0,
        "games_released": 0,
    }


# --- totals, months, nations ------------------------------------------------------------------------------------------


def test_months_years_and_a_leap_day(tmp_path):
    days = ["2026-12-31", "2027-01-01", "2028-02-28", "2028-02-29", "2028-03-01"]
    path = build(tmp_path, [game("A", 4 * (n + 1), day) for n, day in enumerate(days)], as_of=date(2028, 3, 5))
    assert select(path, "SELECT month, total, challenges FROM totals_month ORDER BY 1") == [
        ("2026-12", 4, 1),
        ("2027-01", 8, 1),
        ("2028-02", 28, 2),
        ("2028-03", 20, 1),
    ]
    assert select(path, "SELECT total, challenges FROM totals") == [(60, 5)]
    statuses = {row["challenge"]: (row["final_from"], row["status"]) for row in s.query_challenges(path)}
    assert statuses["2028-02-29"] == (date(2028, 3, 4), "final")
    assert statuses["2028-03-01"] == (date(2028, 3, 5), "final")
    months = {row["month"]: row["final_from"] for row in s.query_periods(path)}
    assert months["2028-02"] == date(2028, 3, 4)
    assert months["2026-12"] == date(2027, 1, 4)


def test_nation_changes_in_mid_month(tmp_path):
    """The nation of the counted game with the newest challenge stands everywhere, months past too."""
    rows = [
        game("A", 100, "2026-09-30", nation="IT"),
        game("A", 100, "2026-10-01", nation="IT"),
        game("A", 100, "2026-10-20", nation="DE"),
        game("B", 50, "2026-10-20", nation="IT"),
    ]
    # Finished later, but of an older challenge; and of the newest day, but not counted.
    rows.append(game("A", 4, "2026-10-18", nation="FR", finished_at=datetime(2026, 10, 21)))
    rows.append(flagged(game("A", 4, "2026-10-20", attempt=2, nation="ES")))
    path = build(tmp_path, rows)
    assert board(path, nation="DE") == [("A", 1, 304)]
    assert board(path, nation="DE", month="2026-09") == [("A", 1, 100)]
    assert board(path, nation="IT") == [("B", 1, 50)]
    assert board(path, nation="FR") == board(path, nation="ES") == []
    assert select(path, "SELECT player_id, nation, player_kind FROM players ORDER BY 1") == [
        ("A", "DE", "human"),
        ("B", "IT", "human"),
    ]


def test_nation_of_the_latest_finish_then_the_smaller_id(tmp_path):
    noon = datetime(2026, 10, 14, 12)
    rows = [
        game("A", 4, attempt=1, nation="IT", finished_at=noon + timedelta(microseconds=1), game_id="b"),
        game("A", 4, attempt=2, nation="DE", finished_at=noon + timedelta(microseconds=1), game_id="a"),
        game("A", 4, attempt=3, nation="FR", finished_at=noon, game_id="0"),
    ]
    assert select(build(tmp_path, rows), "SELECT nation FROM players") == [("DE",)]


def test_null_nation_stands_on_the_world_board_only(tmp_path):
    """`NA` is Namibia; no nation is no board."""
    path = build(tmp_path, [game("A", 8, nation=None), game("B", 4, nation="NA")])
    assert board(path) == [("A", 1, 8), ("B", 2, 4)]
    assert select(path, "SELECT nation, player_id FROM leaderboard WHERE scope = 'nation'") == [("NA", "B")] * 2
    assert s.query_leaderboard(path, game="blocks", scope="world", period="all_time")[0]["player_nation"] is None


def test_within_equal_totals_who_reached_it_first_then_the_id(tmp_path):
    """The order within a shared position: the latest finish among the games that make up the total."""
    noon = datetime(2026, 10, 14, 12)
    rows = [
        game("late", 8, finished_at=noon + timedelta(hours=1)),
        game("b", 8, finished_at=noon),
        game("a", 8, finished_at=noon),
        game("B", 8, finished_at=noon),
        # Reached 8 only with the second day; a worse late attempt does not move the time.
        game("slow", 4),
        game("slow", 4, "2026-10-15"),
        game("b", 4, attempt=2, finished_at=noon + timedelta(hours=9)),
    ]
    path = build(tmp_path, rows)
    found = s.query_leaderboard(path, game="blocks")
    assert [(row["ordinal"], row["position"], row["player_id"]) for row in found] == [
        (1, 1, "B"),
        (2, 1, "a"),
        (3, 1, "b"),
        (4, 1, "late"),
        (5, 1, "slow"),
    ]
    assert s.query_leaderboard(path, game="blocks", limit=2, offset=3) == found[3:5]


def test_games_have_boards_of_their_own(tmp_path):
    path = build(tmp_path, [game("A", 8), game("A", 100, game="tetcolor"), game("B", 4, game="tetcolor")])
    assert board(path) == [("A", 1, 8)]
    assert [row["total"] for row in s.query_leaderboard(path, game="tetcolor")] == [100, 4]
    assert ranking(path) == [("A", 1, 100.0, "Diamond")]


def test_totals_beyond_32_and_53_bits_are_exact(tmp_path):
    """D10: sums are whole numbers of 64 bits, in the file and out of it."""
    days = [f"2026-10-{day:02}" for day in range(1, 4)]
    rows = [game("A", 2_000_000_001, day) for day in days]
    rows += [game("B", 2**60 + 1, day) for day in days] + [game("C", 2**60 + 1, days[0]), game("C", 2**60, days[1])]
    path = build(tmp_path, rows)
    assert board(path) == [("B", 1, 3 * 2**60 + 3), ("C", 2, 2**61 + 1), ("A", 3, 6_000_000_003)]
    types = select(path, "SELECT DISTINCT typeof(total), typeof(position), typeof(ordinal), typeof(challenges) FROM leaderboard")
    assert types == [("BIGINT", "BIGINT", "BIGINT", "BIGINT")]


def test_a_world_of_players_sums_beyond_32_bits(tmp_path):
    """D10: positions and totals of a grid whose sum is far beyond 2^31."""
    path = build(tmp_path, [game(f"p{n:04}", 100_000_000 + n, attempt=1) for n in range(300)])
    assert select(path, "SELECT sum(total) FROM totals") == [(300 * 100_000_000 + 299 * 150,)]
    assert board(path)[0] == ("p0299", 1, 100_000_299)


def test_total_beyond_64_bits_fails_loudly(tmp_path):
    rows = [game("A", 2**62, f"2026-10-{day:02}") for day in range(1, 3)]
    with pytest.raises(NightError, match=r"sql/totals_month\.sql failed"):
        build(tmp_path, rows)
    assert not (tmp_path / "standings.duckdb").exists()


# --- the digest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("as_of", "sunday"),
    [("2026-10-17", "2026-10-11"), ("2026-10-18", "2026-10-18"), ("2026-10-19", "2026-10-18"), ("2027-01-02", "2026-12-27")],
)
def test_the_digest_is_of_the_latest_sunday(tmp_path, as_of, sunday):
    path = build(tmp_path, [game("A", 4, "2026-10-01")], as_of=date.fromisoformat(as_of))
    assert [row[0] for row in digest(path)] == [sunday]


def test_change_since_the_sunday_before(tmp_path):
    """Sunday 18th counts in, Monday 19th does not; whoever began this week had no position before."""
    rows = [
        game("A", 100, "2026-10-11"),
        game("B", 80, "2026-10-05"),
        game("B", 40, "2026-10-12"),
        game("C", 4, "2026-10-18"),
        game("D", 0, "2026-10-03"),
        game("A", 999, "2026-10-19"),
        game("E", 999, "2026-10-19"),
    ]
    path = build(tmp_path, rows)
    assert digest(path) == [
        ("2026-10-18", "B", 1, 120, 2, 80, 40),
        ("2026-10-18", "A", 2, 100, 1, 100, 0),
        ("2026-10-18", "C", 3, 4, None, None, 4),
        ("2026-10-18", "D", 4, 0, 3, 0, 0),
    ]
    assert [row["player_id"] for row in s.query_digest(path, game="blocks", limit=2, offset=1)] == ["A", "C"]
    assert s.query_digest(path, player_id="B")[0]["change"] == 40
    assert digest(build(tmp_path, rows, name="unpublished", as_of=None)) == []
