"""Each check of replay/sql/checks passes on right marts and fails when its mart is broken on purpose."""

from __future__ import annotations

import pytest

from replay import standings as s
from replay.errors import CheckFailed
from tests.replay.standings_support import build, decide, flagged, game, open_built, release, withheld

# Two games, two months, three nations, ties, an AI player, a removed and an anonymised one; two Sundays.
ROWS = [
    *(
        game(player, score, day)
        for day in ("2026-09-28", "2026-10-13", "2026-10-19")
        for player, score in (("A", 900), ("B", 700))
    ),
    game("C", 700, "2026-10-13", nation="DE"),
    game("C", 650, "2026-10-13", attempt=2, nation="DE"),
    game("D", 500, "2026-10-13", nation=None),
    game("D", 500, "2026-10-13", attempt=2, nation=None),
    game("robot", 800, "2026-10-13", player_kind="ai"),
    game("gone", 999, "2026-10-13"),
    game("old", 8, "2026-10-13", nation="FR"),
    game("A", 12, "2026-10-13", game="tetcolor"),
    # Held back: one that counted before, one that did not, one that a person cleared; and one that counted before of a group that
    # people released.
    withheld(game("H", 3, "2026-10-13"), counted=True),
    withheld(game("I", 2, "2026-10-13")),
    withheld(game("J", 2, "2026-10-13")),
    withheld(game("K", 1, "2026-10-13", app_version="9.9.9"), counted=True),
    # A fourth attempt that a person cleared, a second log of an attempt too, a flag that stands, and a suspect whom one upheld.
    flagged(game("B", 710, "2026-10-13", attempt=4)),
    flagged(game("B", 690, "2026-10-13", game_id="second log", log_hash_low=99)),
    flagged(game("D", 9000, "2026-10-13", attempt=3)),
    game("E", 9001, "2026-10-13", suspicions=["superhuman_pace"]),
    game("C", 20, "2026-10-13", attempt=3, nation="DE", suspicions=["unfinished"]),
    flagged(game("old", 40, "2026-10-13", attempt=2, nation="FR")),
]
DECISIONS = [decide(1, "clear", ROWS[-6]), decide(2, "clear", ROWS[-5]), decide(3, "uphold", ROWS[-3]), decide(4, "clear", ROWS[-8])]
RELEASES = [release(1, ROWS[-7])]
STATES = {"removed": ["gone"], "anonymised": {"old": "new"}}

KEY = "(SELECT player_key FROM keyed.players WHERE player_id = '{}')"
A, ROBOT, D = (KEY.format(player) for player in ("A", "robot", "D"))
CHALLENGE = "(SELECT challenge_key FROM keyed.challenges WHERE game = 'blocks' AND challenge = '2026-10-13')"
BOARD = (
    "(SELECT board_key FROM keyed.boards "
    "WHERE game = 'blocks' AND scope = '{}' AND nation IS NOT DISTINCT FROM {} AND month IS NULL)"
)
WORLD, GERMANY, ITALY = BOARD.format("world", "NULL"), BOARD.format("nation", "'DE'"), BOARD.format("nation", "'IT'")
# The verdict rows are a view of the files; a table in its place can be altered.
VERDICTS = "CREATE TEMP TABLE altered AS FROM verdict_rows; DROP VIEW verdict_rows; ALTER TABLE altered RENAME TO verdict_rows;"

BREAKS = {
    "assert_boards_count_their_people": [
        f"UPDATE keyed.boards SET people = people + 1 WHERE board_key = {WORLD}",
        f"DELETE FROM keyed.boards WHERE board_key = {GERMANY}",
    ],
    "assert_boards_hold_people_only": [
        f"UPDATE keyed.leaderboard SET player_key = {ROBOT} WHERE player_key = {A} AND board_key = {WORLD}",
        f"UPDATE keyed.weekly_digest SET player_key = {ROBOT} WHERE player_key = {A}",
    ],
    "assert_challenge_status_counts": [
        "UPDATE keyed.challenge_status SET players = players + 1 WHERE challenge_key = 1",
        "UPDATE keyed.challenge_status SET games_counted = games_counted - 1 WHERE challenge_key = 2",
        "UPDATE keyed.challenge_status SET people = players + 1",
        "UPDATE keyed.challenge_status SET status = 'final'",
        "UPDATE keyed.challenge_status SET status = 'provisional'",
        "DELETE FROM keyed.challenge_status WHERE challenge_key = 1",
    ],
    "assert_counted_rows_are_sound": [
        f"{VERDICTS} UPDATE verdict_rows SET {change} WHERE player_id = 'A'"
        for change in (
            "verdict = 'copy'",
            "challenge = 'arena-7'",
            "challenge = '2026-2-9'",
            "challenge = '2026-02-30'",
            "player_kind = 'Human'",
            "game_id = NULL",
            "attempt = 4",
            "score = -4",
            "finished_at = NULL",
            "rules = NULL",
        )
    ]
    # A withheld game counts as what it was before: a game of an attempt, with a score.
    + [f"{VERDICTS} UPDATE verdict_rows SET {change} WHERE player_id = 'H'" for change in ("attempt = 4", "score = -4")]
    + [
        f"UPDATE judged_rows SET {change} WHERE state = 'cleared'"
        for change in (
            "verdict = 'copy'",
            "score = -1",
            "score = 1000000000001",
            "challenge = 'arena-7'",
            "player_kind = 'Human'",
            "attempt = NULL",
            "finished_at = NULL",
        )
    ],
    "assert_daily_best_is_the_best_game": [
        f"UPDATE keyed.daily_best SET score = score - 4 WHERE player_key = {A} AND challenge_key = {CHALLENGE}",
        f"DELETE FROM keyed.daily_best WHERE player_key = {A} AND challenge_key = {CHALLENGE}",
        f"INSERT INTO keyed.daily_best FROM keyed.daily_best WHERE player_key = {A}",
    ],
    "assert_daily_best_names_its_game": [
        f"UPDATE keyed.daily_best SET game_id = 'other' WHERE player_key = {A}",
        f"UPDATE keyed.daily_best SET attempt = 3 WHERE player_key = {A}",
        # The later of two equal games.
        "UPDATE keyed.daily_best AS best SET attempt = 2, game_id = games.game_id, finished_at = games.finished_at "
        f"FROM keyed.eligible_games AS games WHERE best.player_key = {D} AND games.player_key = {D} AND games.attempt = 2",
    ],
    "assert_daily_positions": [
        f"UPDATE keyed.score_levels SET position = position - 1 WHERE challenge_key = {CHALLENGE} AND score = 500",
        f"UPDATE keyed.score_levels SET position = 2 WHERE challenge_key = {CHALLENGE} AND score = 900",
        "UPDATE keyed.score_levels SET beaten = beaten + 1",
        "UPDATE keyed.score_levels SET others = others + 1",
    ],
    "assert_daily_ranking_is_complete": [
        "CREATE OR REPLACE VIEW daily_ranking AS SELECT *, 1 AS position, 0 AS beaten FROM daily_best",
        f"DELETE FROM keyed.score_levels WHERE challenge_key = {CHALLENGE}; UPDATE keyed.players SET in_percentile = false",
        f"UPDATE keyed.players SET in_percentile = false WHERE player_key = {ROBOT}",
    ],
    "assert_eligible_games_are_complete": [
        f"DELETE FROM keyed.eligible_games WHERE player_key = {D} AND attempt = 2",
        "UPDATE publication SET eligible_games = eligible_games + 1",
    ],
    "assert_eligible_games_are_counted_once": [
        f"UPDATE keyed.eligible_games SET attempt = 1 WHERE player_key = {D}",
        "INSERT INTO keyed.eligible_games FROM keyed.eligible_games",
        # Nobody cleared the second log of this attempt, and one row that was cleared is one game.
        "DELETE FROM judged_rows WHERE game_id = 'second log'",
        "INSERT INTO keyed.eligible_games FROM keyed.eligible_games WHERE game_id = 'second log'; "
        "INSERT INTO judged_rows FROM judged_rows WHERE game_id = 'second log'",
    ],
    "assert_eligible_games_follow_reviews": [
        "UPDATE judged_rows SET counts = true WHERE state = 'upheld'",
        "UPDATE decided SET action = 'uphold' WHERE action = 'clear'",
        "DELETE FROM decided",
        f"{VERDICTS} UPDATE verdict_rows SET counted = true WHERE player_id = 'D' AND score = 9000",
        f"{VERDICTS} UPDATE verdict_rows SET counted = true WHERE player_id = 'I'",
        "DELETE FROM released_rows",
        "INSERT INTO released SELECT day, game, platform, '3.2.0', rules FROM released",
        "DELETE FROM decided WHERE game_id LIKE '%/J/%'",
    ],
    "assert_flagged_games_hold_no_replaced_id": ["UPDATE flagged_games SET player_id = 'old' WHERE player_id = 'new'"],
    "assert_flagged_games_are_complete": [
        "DELETE FROM flagged_games WHERE game_id = 'second log'",
        "INSERT INTO flagged_games FROM flagged_games WHERE verdict = 'verified'",
        "DELETE FROM flagged_games WHERE verdict = 'verified'",
        "UPDATE flagged_games SET source_line = source_line + 1",
        "UPDATE flagged_games SET counted = NOT counted WHERE player_id = 'D'",
        "UPDATE flagged_games SET counted = NOT counted WHERE player_id = 'E'",
        "UPDATE flagged_games SET counted = NOT counted WHERE player_id IN ('B', 'D')",
        "UPDATE flagged_games SET verdict = 'copy' WHERE player_id = 'D'",
        "UPDATE flagged_games SET verdict = 'flagged' WHERE player_id = 'I'",
        "UPDATE flagged_games SET verdict = 'withheld' WHERE player_id = 'K'",
        "DELETE FROM flagged_games WHERE player_id IN ('H', 'I', 'J')",
        "UPDATE flagged_games SET counted = NOT counted WHERE player_id IN ('H', 'I')",
        "UPDATE flagged_games SET counted = true WHERE player_id = 'K'",
    ],
    "assert_everyone_on_the_world_board_once": [
        f"DELETE FROM keyed.leaderboard WHERE board_key = {WORLD} AND player_key = {A}",
        f"INSERT INTO keyed.leaderboard FROM keyed.leaderboard WHERE board_key = {WORLD} AND player_key = {A}",
        f"UPDATE keyed.leaderboard SET total = total + 4 WHERE board_key = {WORLD} AND player_key = {A}",
        f"UPDATE keyed.leaderboard SET player_key = {ROBOT} WHERE board_key = {WORLD} AND player_key = {A}",
        "UPDATE keyed.leaderboard SET reached_at = reached_at + INTERVAL 1 SECOND",
    ],
    "assert_leaderboard_order": [
        "UPDATE keyed.leaderboard SET ordinal = ordinal + 1",
        f"UPDATE keyed.leaderboard SET ordinal = 3 - ordinal WHERE board_key = {WORLD} AND ordinal < 3",
        f"UPDATE keyed.leaderboard SET total = 1000, reached_at = TIMESTAMP '2026-10-01' + INTERVAL (9 - ordinal) DAY "
        f"WHERE board_key = {WORLD}",
    ],
    "assert_leaderboard_positions": [
        f"UPDATE keyed.leaderboard SET position = position + 1 WHERE board_key = {WORLD} AND ordinal = 1",
        f"UPDATE keyed.leaderboard SET position = 2 WHERE board_key = {WORLD} AND ordinal = 3",
        "UPDATE keyed.leaderboard SET total = 4",
    ],
    "assert_months_sum_to_totals": [
        f"UPDATE keyed.totals_month SET total = total + 4 WHERE player_key = {A}",
        f"DELETE FROM keyed.totals_month WHERE player_key = {D}",
        f"UPDATE keyed.totals SET challenges = 9 WHERE player_key = {D}",
    ],
    "assert_nation_boards_hold_their_own": [
        f"UPDATE keyed.leaderboard SET board_key = {GERMANY} WHERE board_key = {ITALY} AND player_key = {A}",
        f"INSERT INTO keyed.leaderboard SELECT {GERMANY}, 9, 9, {D}, 500, 1, TIMESTAMP '2026-10-13'",
        f"DELETE FROM keyed.leaderboard WHERE board_key = {ITALY} AND player_key = {A}",
    ],
    "assert_no_removed_or_replaced_player": [
        f"UPDATE keyed.players SET player_id = 'gone' WHERE player_key = {A}",
        f"UPDATE keyed.players SET player_id = 'old' WHERE player_key = {A}",
    ],
    "assert_nobody_on_two_nations_boards": [
        f"INSERT INTO keyed.leaderboard SELECT {GERMANY}, 9, 9, {A}, 4, 1, TIMESTAMP '2026-10-13'",
    ],
    "assert_percentiles_and_tiers": [
        f"UPDATE keyed.score_levels SET {change}"
        for change in (
            "tier = 'Diamond'",
            "tier = 'Bronze'",
            "percentile = 101",
            "percentile = -1",
            "percentile = 'nan'::DOUBLE",
            "percentile = 50",
            "beaten = others + 1",
        )
    ],
    "assert_players_are_known": [
        *(
            f"UPDATE keyed.{mart} SET player_key = 99 WHERE player_key = {A}"
            for mart in ("daily_best", "totals", "totals_month", "leaderboard", "weekly_digest")
        ),
        f"UPDATE keyed.players SET player_id = 'B' WHERE player_key = {A}",
        "INSERT INTO keyed.players SELECT player_key, player_id || '2', nation, player_kind, true FROM keyed.players",
    ],
    "assert_publication_counts": [
        "UPDATE publication SET verdict_rows = verdict_rows + 1",
        "UPDATE publication SET rows_by_verdict = MAP {'verified': 3}",
        "UPDATE publication SET eligible_games = counted_rows + 4",
        "UPDATE publication SET games_upheld = games_upheld + 1",
        "UPDATE publication SET games_cleared = games_cleared - 1",
        "UPDATE publication SET reviews_through = 2",
        "UPDATE publication SET releases_through = 0",
        "UPDATE publication SET games_released = 2",
        "INSERT INTO publication FROM publication",
        "DELETE FROM publication",
    ],
    "assert_score_levels_count_players": [
        "UPDATE keyed.score_levels SET players = players + 1",
        f"DELETE FROM keyed.score_levels WHERE challenge_key = {CHALLENGE} AND score = 500",
        "UPDATE publication SET ai_in_percentile = false",
        "INSERT INTO keyed.score_levels FROM keyed.score_levels",
    ],
    "assert_text_order_is_bytewise": ["SET default_collation = 'nocase'"],
    "assert_totals_are_sums_of_daily_bests": [
        f"UPDATE keyed.totals SET total = total + 4 WHERE player_key = {A}",
        f"DELETE FROM keyed.totals WHERE player_key = {A}",
        f"UPDATE keyed.totals SET challenges = challenges + 1 WHERE player_key = {A}",
        f"UPDATE keyed.totals SET reached_at = reached_at - INTERVAL 1 SECOND WHERE player_key = {A}",
        f"INSERT INTO keyed.daily_best SELECT 1, {ROBOT}, 4, 1, TIMESTAMP '2026-09-28', 'extra'",
    ],
    "assert_totals_once": [
        "INSERT INTO keyed.totals FROM keyed.totals",
        "INSERT INTO keyed.totals_month FROM keyed.totals_month",
    ],
    "assert_weekly_digest_positions": [
        f"UPDATE keyed.weekly_digest SET position = position + 1 WHERE player_key = {A}",
        f"UPDATE keyed.weekly_digest SET previous_position = previous_position + 1 WHERE player_key = {A}",
        "UPDATE keyed.weekly_digest SET previous_position = NULL",
    ],
    "assert_weekly_digest_totals": [
        f"UPDATE keyed.weekly_digest SET total = total + 4 WHERE player_key = {A}",
        f"UPDATE keyed.weekly_digest SET previous_total = NULL WHERE player_key = {A}",
        f"UPDATE keyed.weekly_digest SET change = change + 4 WHERE player_key = {A}",
        "UPDATE keyed.weekly_digest SET sunday = sunday - 7",
        f"DELETE FROM keyed.weekly_digest WHERE player_key = {A}",
    ],
}


def test_every_check_is_broken_on_purpose():
    assert sorted(BREAKS) == s.check_names()


@pytest.mark.parametrize("name", sorted(BREAKS))
def test_a_broken_mart_fails_its_check(tmp_path, name):
    with open_built(tmp_path, ROWS, decisions=DECISIONS, releases=RELEASES, **STATES) as con:
        for statements in BREAKS[name]:
            s.run_checks(con, [name])
            con.execute("BEGIN")
            collation = con.execute("SELECT current_setting('default_collation')").fetchone()[0]
            con.execute(statements)
            with pytest.raises(CheckFailed, match=rf"^sql/checks/{name}\.sql returned \d+ rows, the first with "):
                s.run_checks(con, [name])
            con.execute("ROLLBACK")
            con.execute(f"SET default_collation = '{collation}'")
        s.run_checks(con)


@pytest.mark.parametrize("ai", [True, False])
def test_no_check_complains_of_right_marts(tmp_path, ai):
    with open_built(tmp_path, ROWS, ai=ai, decisions=DECISIONS, releases=RELEASES, **STATES) as con:
        s.run_checks(con)
        assert len(s.check_names()) == len(BREAKS)


def test_a_failed_check_leaves_no_file(tmp_path, monkeypatch):
    """Whatever a check finds, the night gets an error that names it, and nothing that could be published."""
    build_marts = s.build_marts

    def build_broken(con):
        counts = build_marts(con)
        con.execute("UPDATE keyed.totals SET total = total + 4")
        return counts

    monkeypatch.setattr(s, "build_marts", build_broken)
    with pytest.raises(CheckFailed, match="assert_everyone_on_the_world_board_once"):
        build(tmp_path, ROWS)
    assert not list(tmp_path.glob("*.duckdb*"))
