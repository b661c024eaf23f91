"""Several games in one lake: each has boards of its own, and no mart changes because another game is played."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replay import standings as s
from replay.lake import Lake
from tests.replay.night_support import ONE, TWO, cli, night, simulated
from tests.replay.standings_support import build, game, in_order, marts, select

# The same people on the same days, with other scores; the newest game of each names the same nation in both games.
WEEKS = ("2026-09-30", "2026-10-05", "2026-10-11", "2026-10-12", "2026-10-18", "2026-10-19")
PEOPLE = (("A", "IT"), ("B", "FR"), ("C", None), ("D", "IT"))
BLOCKS = [
    game(player, 100 * at + 7 * day, challenge, attempt, nation=nation)
    for at, (player, nation) in enumerate(PEOPLE)
    for day, challenge in enumerate(WEEKS)
    for attempt in (1, 2)
    if (at + day) % 3
]
TETROMINO = [
    game(player, 9000 - 100 * at + 5 * day, challenge, attempt, nation=nation, game="tetromino", rules="1.0.0", mode="sprint")
    for at, (player, nation) in enumerate(PEOPLE)
    for day, challenge in enumerate(WEEKS)
    for attempt in (1, 2, 3)
    if (at + day) % 2
]
TETCOLOR = [
    game(
        player, 500 + 40 * (3 * at % 4) + 11 * day, challenge, attempt, nation=nation, game="tetcolor", rules="1.0.0", mode="duo"
    )
    for at, (player, nation) in enumerate(PEOPLE)
    for day, challenge in enumerate(WEEKS)
    for attempt in (1, 3)
    if (2 * at + day) % 5
]
GAMES = {"blocks": BLOCKS, "tetromino": TETROMINO, "tetcolor": TETCOLOR}
# Every fifth game looks unusual; it counts all the same.
for _rows in GAMES.values():
    for _row in _rows[::5]:
        _row["suspicions"] = ["superhuman_pace"]
ALL = [row for rows in GAMES.values() for row in rows]
# What tells of players, of copies and of the whole publication instead of one game.
COMMON = {"players", "flagged_copies", "publication"}


def of_game(path, name):
    """Every row of one game in the marts, and in the boards and periods that they stand on."""
    found = {
        mart: in_order(select(path, f"FROM {mart} WHERE game = '{name}'"))
        for mart in (*(mart for mart in s.MARTS if mart not in COMMON), "boards", "periods")
    }
    assert all(found.values()), found
    return found


def test_each_games_marts_are_those_of_that_game_alone(tmp_path):
    """Days, months, totals, leaderboards, nations, digest: row by row as if the other games were not there."""
    together = build(tmp_path, ALL, name="together")
    alone = {name: build(tmp_path, rows, name=name) for name, rows in GAMES.items()}
    for name, path in alone.items():
        assert of_game(together, name) == of_game(path, name)
    counts = {
        path: {mart: len(rows) for mart, rows in marts(path).items() if mart not in COMMON}
        for path in (together, *alone.values())
    }
    assert counts[together] == {mart: sum(counts[path][mart] for path in alone.values()) for mart in counts[together]}
    assert select(together, "SELECT player_id FROM players ORDER BY 1") == [("A",), ("B",), ("C",), ("D",)]


def test_queries_take_one_game(tmp_path):
    path = build(tmp_path, ALL)
    for name in GAMES:
        totals = dict(select(path, f"SELECT player_id, total FROM totals WHERE game = '{name}'"))
        rows = s.query_leaderboard(path, game=name)
        assert [(row["player_id"], row["total"]) for row in rows] == sorted(totals.items(), key=lambda pair: -pair[1])
        assert set(totals) == {player for player, _ in PEOPLE}
        month = s.query_leaderboard(path, game=name, month="2026-10")
        assert [row["total"] for row in month] < [row["total"] for row in rows]
        assert {row["player_id"] for row in s.query_leaderboard(path, game=name, nation="IT")} == {"A", "D"}
        day = s.query_day(path, game=name, challenge="2026-10-12")
        assert [row["score"] for row in day] == sorted((row["score"] for row in day), reverse=True)
        assert all(row["game_id"].startswith(f"{name}/2026-10-12/") for row in day)
        sunday = s.query_digest(path, game=name)
        assert {row["game"] for row in sunday} == {name}
        assert {str(row["sunday"]) for row in sunday} == {"2026-10-18"}
    # Up to Sunday 18th, by hand: the best attempt of each day played.
    ranks = {(row["game"], row["player_id"]): row["position"] for row in s.query_digest(path, limit=100)}
    for name, rows in GAMES.items():
        sums = {
            player: sum(
                row["score"]
                for row in rows
                if (row["player_id"], row["attempt"]) == (player, 1) and row["challenge"] < "2026-10-19"
            )
            for player, _ in PEOPLE
        }
        assert {player: ranks[name, player] for player in sums} == {
            player: 1 + sum(other > own for other in sums.values()) for player, own in sums.items()
        }
    orders = {tuple(ranks[name, player] for player, _ in PEOPLE) for name in GAMES}
    assert len(orders) == len(GAMES), "each game has its own order"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    others = {"tetromino": 1.0, "tetcolor": 0.8}
    folder = simulated(tmp_path_factory.mktemp("all") / "lake", 150, [ONE, TWO], others=others, forged_share=0.2)
    for day in (ONE, TWO):
        night(folder, day)
    return folder


@pytest.fixture(scope="module")
def lake_of_blocks(tmp_path_factory):
    folder = simulated(tmp_path_factory.mktemp("blocks") / "lake", 150, [ONE, TWO], forged_share=0.2)
    for day in (ONE, TWO):
        night(folder, day)
    return folder


def test_more_games_in_the_lake_change_nothing_in_the_first(lake, lake_of_blocks):
    several, alone = (Lake(folder).current_warehouse() for folder in (lake, lake_of_blocks))
    found = select(several, "FROM eligible_games WHERE game = 'blocks' ORDER BY game_id")
    assert found == select(alone, "FROM eligible_games ORDER BY game_id")
    for mart in ("daily_best", "daily_ranking", "totals", "totals_month"):
        assert in_order(select(several, f"FROM {mart} WHERE game = 'blocks'")) == in_order(select(alone, f"FROM {mart}")), mart
    assert select(several, "SELECT DISTINCT game FROM leaderboard ORDER BY 1") == [("blocks",), ("tetcolor",), ("tetromino",)]


def test_people_who_play_several_games_may_use_all_attempts_of_each(lake):
    """A day's challenge bears the same name in every game; attempts are counted game by game."""
    for games, least in ((2, 20), (3, 5)):
        several = select(
            Lake(lake).current_warehouse(),
            "SELECT count(*) FROM (SELECT player_id, challenge, attempt FROM eligible_games GROUP BY ALL "
            f"HAVING count(DISTINCT game) = {games})",
        )
        assert several[0][0] > least, games
    assert select(
        Lake(lake).current_warehouse(),
        "SELECT count(*) FROM (SELECT game, player_id, challenge, attempt FROM eligible_games GROUP BY ALL HAVING count(*) > 1)",
    ) == [(0,)]


def test_standings_of_a_game_on_the_command_line(lake):
    outputs = {name: cli("standings", "--lake", lake, "--game", name, "--day", TWO) for name in GAMES}
    for name, done in outputs.items():
        assert done.returncode == 0, done.stderr
        assert f"{name}, challenge of {TWO}".encode() in done.stdout
    assert b"rules 1.0.0" in outputs["tetromino"].stdout
    assert b"rules 1.0.0" in outputs["tetcolor"].stdout
    assert b"rules 1.2.0" in outputs["blocks"].stdout
    player = s.query_day(Lake(lake).current_warehouse(), game="tetromino", challenge=str(TWO), limit=1)[0]["player_id"]
    shown = cli("standings", "--lake", lake, "--player", player).stdout.decode()
    assert "tetromino" in shown
    assert [line for line in shown.splitlines() if line.startswith(" game")], "each row says which game it is of"


def test_simulated_games_of_other_days_are_not_touched(tmp_path):
    """A day without a challenge of the second game is played without it."""
    from replay.challenges import load_challenges
    from tests.replay.night_support import RULEBOOK

    table = load_challenges(rulebook=RULEBOOK)
    rows = {key: row for key, row in table.rows.items() if key != ("tetromino", str(ONE))}
    simulated(tmp_path, 40, [ONE, TWO], challenges=replace(table, rows=rows, checks={}), others={"tetromino": 0.5})
    counts = {
        day: sum('"game":"tetromino"' in line for line in (tmp_path / "truth" / f"day={day}" / "truth.ndjson").open())
        for day in (ONE, TWO)
    }
    assert counts[ONE] == 0
    assert counts[TWO] == 20
