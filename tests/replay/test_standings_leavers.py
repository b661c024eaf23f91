"""Standings after somebody left, and after the verdicts changed: the field cases D4, D5, D8, D9 and D10."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime

import pytest

from replay import standings as s
from replay.errors import CheckFailed, InputError
from tests.replay.standings_support import DAY, board, build, digest, flagged, game, marts, ranking, select, stored

# --- players who leave ------------------------------------------------------------------------------------------------


def everywhere(path, player):
    """The tables and columns of the file in which a text holds ``player``."""
    query = "SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE data_type LIKE '%VARCHAR%' AND NOT internal"
    found = []
    for schema, table, column in select(path, query):
        (hits,) = select(path, f"SELECT count(*) FROM {schema}.{table} WHERE contains(CAST({column} AS VARCHAR), '{player}')")
        if hits[0]:
            found.append(f"{schema}.{table}.{column}")
    return found


def test_a_removed_player_leaves_every_board_and_population(tmp_path):
    """D4: day, world, nation, month, percentile and Sunday change together, and no place stays empty at the top."""
    rows = [game("leader", 900), game("A", 700), game("B", 500), game("C", 300)]
    before = build(tmp_path, rows, name="before")
    path = build(tmp_path, rows, name="removed", removed=["leader"])
    assert ranking(path) == [("A", 1, 100.0, "Diamond"), ("B", 2, 50.0, "Silver"), ("C", 3, 0.0, "Bronze")]
    for which in ({}, {"nation": "IT"}, {"month": "2026-10"}, {"nation": "IT", "month": "2026-10"}):
        assert board(path, **which) == [("A", 1, 700), ("B", 2, 500), ("C", 3, 300)]
    assert [row[1:3] for row in digest(path)] == [("A", 1), ("B", 2), ("C", 3)]
    assert everywhere(path, "leader") == []
    assert s.query_player(path, "leader") is None
    # Another upload does not put them back, and a restored player comes back exactly as before.
    again = build(tmp_path, [*rows, game("leader", 950, attempt=2)], name="again", removed=["leader"])
    assert ranking(again) == ranking(path)
    assert marts(build(tmp_path, rows, name="restored")) == marts(before)


def test_anonymised_players_keep_their_results_apart(tmp_path):
    """D9: two players who leave on one day stay two, everybody's positions stay, and the old ids are in no table."""
    first, second = "first-leaver-0123456789", "second-leaver-0123456789"
    rows = [
        game(player, score, day, game_id=f"{day}-{score}")
        for day in ("2026-09-14", DAY)
        for player, score in (("A", 900), (first, 700), (second, 700), ("B", 500))
    ]
    before = build(tmp_path, rows, name="before")
    assert everywhere(before, first)
    path = build(tmp_path, rows, name="after", anonymised={first: "n-1", second: "n-2"})
    names = {first: "n-1", second: "n-2"}
    for which in ({}, {"month": "2026-09"}, {"nation": "IT"}):
        assert board(path, **which) == [(names.get(player, player), *rest) for player, *rest in board(before, **which)]
    for day in ("2026-09-14", DAY):
        assert ranking(path, day) == [(names.get(player, player), *rest) for player, *rest in ranking(before, day)]
    for old in (first, second):
        assert everywhere(path, old) == []
        assert old.encode() not in path.read_bytes()
        assert s.query_player(path, old) is None
    # An id stands once in the file; everything else, the views apart, holds its key.
    assert [column for column in everywhere(path, "n-1") if column.startswith("keyed.")] == ["keyed.players.player_id"]


def test_rows_under_the_new_id_join_those_under_the_old(tmp_path):
    """D9: rows that were written after a player was anonymised hold the new id already."""
    rows = [game("old", 100, "2026-10-13"), game("new", 50, "2026-10-14")]
    path = build(tmp_path, rows, anonymised={"old": "new"})
    assert board(path) == [("new", 1, 150)]
    removed = build(tmp_path, rows, name="removed", anonymised={"old": "new"}, removed=["new"])
    assert board(removed) == []
    twice = build(tmp_path, rows, name="twice", anonymised={"old": "new", "new": "newer"})
    assert board(twice) == [("newer", 1, 150)]


def test_a_new_id_that_is_somebody_elses_is_refused(tmp_path):
    """D9: never merged, not even by a mistake in the players table."""
    with pytest.raises(CheckFailed, match="assert_eligible_games_are_counted_once"):
        build(tmp_path, [game("old", 100), game("B", 50)], anonymised={"old": "B"})


def test_odd_player_ids_are_kept_exactly(tmp_path):
    """D8: ids compare by bytes; composed and decomposed letters are two players."""
    odd = ['=HYPERLINK("http://x","y")', "+1", "-2", "@a", "\tx", 'a,"b', "line\nfeed", "<script>", "\u202eabc", "\u00e9"]
    odd += ["e\u0301", "A", "a", " a", "a ", "'; DROP TABLE players; --", "\U0001f600", "nul\x00byte", "$1", "%s"]
    path = build(tmp_path, [game(player, 4, game_id=str(n)) for n, player in enumerate(odd)])
    in_order = sorted(odd, key=str.encode)
    assert [player for player, _, _ in board(path)] == in_order
    assert [player for player, *_ in ranking(path)] == in_order
    assert s.query_player(path, "\u00e9")["days"][0]["game_id"] == str(odd.index("\u00e9"))
    without = build(tmp_path, [game(player, 4, game_id=str(n)) for n, player in enumerate(odd)], name="w", removed=odd[:10])
    assert [player for player, _, _ in board(without)] == sorted(odd[10:], key=str.encode)


# --- recomputed, provisional, as of -----------------------------------------------------------------------------------


def test_totals_follow_the_verdicts(tmp_path):
    """D5: 650, 650, 650, 600, 650, 640 for a run, another, two at once, a flag, its end, and a corrected rules file."""
    rows = [game("A", score, attempt=n) for n, score in enumerate((400, 650, 600), start=1)]

    def total(name, rows=rows):
        return board(build(tmp_path, rows, name=name))[0][2]

    assert total("once") == 650
    assert total("again") == 650
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(total, ["left", "right"])) == [650, 650]
    assert stored(tmp_path / "left.duckdb") == stored(tmp_path / "right.duckdb") == stored(tmp_path / "once.duckdb")
    assert total("flagged", [rows[0], flagged(rows[1]), rows[2]]) == 600
    assert total("cleared") == 650
    assert total("corrected", [rows[0], {**rows[1], "score": 640}, rows[2]]) == 640


def test_provisional_until_no_upload_is_taken(tmp_path):
    """D10: final from the fourth day after the challenge on; a month with its last day; two rules versions are named."""
    rows = [game("A", 4, "2026-10-30", rules="1.1.0"), game("A", 4, "2026-10-31"), game("A", 4, "2026-10-30", attempt=2)]

    def statuses(name, as_of):
        path = build(tmp_path, rows, name=name, as_of=as_of)
        months = {row["month"]: row["status"] for row in s.query_periods(path)}
        return [row["status"] for row in s.query_challenges(path)], months

    assert statuses("none", None) == (["provisional"] * 2, {None: "provisional", "2026-10": "provisional"})
    assert statuses("third", date(2026, 11, 3)) == (["provisional", "final"], {None: "provisional", "2026-10": "provisional"})
    assert statuses("fourth", date(2026, 11, 4)) == (["final"] * 2, {None: "final", "2026-10": "final"})
    path = tmp_path / "fourth.duckdb"
    assert [row["rules_versions"] for row in s.query_challenges(path)] == [["1.2.0"], ["1.1.0", "1.2.0"]]
    assert s.query_challenges(path)[0]["as_of"] == s.query_publication(path)["as_of"] == date(2026, 11, 4)
    assert s.query_periods(path, game="blocks")[1]["rules_versions"] == ["1.1.0", "1.2.0"]
    # Every challenge of a month so far can be final while the month is not over.
    open_month = build(tmp_path, [game("A", 4, "2026-10-02")], name="open", as_of=date(2026, 10, 20))
    assert [(row["period"], row["status"]) for row in s.query_periods(open_month)] == [
        ("all_time", "final"),
        ("month", "provisional"),
    ]


def test_a_republish_shows_what_moved(tmp_path):
    """D10: three late games and one flag, told challenge by challenge in counts."""
    rows = [game(player, score) for player, score in (("A", 900), ("B", 700), ("C", 500))] + [game("A", 4, "2026-10-13")]
    late = [game("D", 800), game("C", 950, attempt=2), game("B", 700, attempt=2, finished_at=datetime(2026, 10, 14))]
    path = build(tmp_path, rows, name="before")
    again = build(tmp_path, [flagged(rows[0]), *rows[1:], *late], name="after")
    assert s.query_changes(again, path) == [
        {
            "game": "blocks",
            "challenge": DAY,
            "players_new": 1,
            "players_gone": 1,
            "bests_raised": 1,
            "bests_lowered": 0,
            "bests_by_another_game": 1,
            "positions_moved": 2,
        }
    ]
    assert s.query_changes(path, path) == []
    with pytest.raises(InputError, match="no such warehouse"):
        s.query_changes(path, tmp_path / "none.duckdb")


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles"])
def test_the_time_zone_plays_no_part(tmp_path, monkeypatch, zone):
    rows = [
        game("A", 8, "2026-12-31", finished_at=datetime(2026, 12, 31, 23, 59, 59)),
        game("B", 4, "2027-01-01", finished_at=datetime(2027, 1, 1, 0, 0, 1)),
        game("A", 4, "2026-12-27", finished_at=datetime(2026, 12, 28, 3)),
    ]
    expected = stored(build(tmp_path, rows, name="here", as_of=date(2027, 1, 3)))
    open_new = s.open_new

    def open_elsewhere(*args, **options):
        con = open_new(*args, **options)
        con.execute(f"SET TimeZone = '{zone}'")
        return con

    monkeypatch.setattr(s, "open_new", open_elsewhere)
    assert stored(build(tmp_path, rows, name="there", as_of=date(2027, 1, 3))) == expected
