"""Leaderboards: the published ones, with ties, tiers and what they were made from (D1, D2, D4, D10)."""

from __future__ import annotations

import re

import pytest

from replay.dashboard import boards as page
from replay.lake import Lake
from replay.night import NightSettings, restate_standings
from tests.replay.dashboard.lists_support import decide, lists_lake
from tests.replay.dashboard.support import client, elements, text_of
from tests.replay.night_support import ONE, TWO, ask, land, night, upload, write_challenges


@pytest.fixture(scope="module")
def tied(tmp_path_factory):
    """D1: bests of A 900, B 700, C 700, D 500 in one challenge, as four people's games."""
    root = tmp_path_factory.mktemp("boards")
    challenges = write_challenges(root / "challenges.csv")
    seeds = sorted(range(1, 6), key=lambda seed: upload("x", "x", seed=seed, tokens=60).score)
    games = [
        upload(player, f"p-{player}", ONE, seed=seeds[rank], tokens=60, nation=nation, player_kind=kind)
        for player, rank, nation, kind in (
            ("a", 4, "FR", "human"), ("b", 2, "DE", "human"), ("c", 2, "DE", "human"), ("d", 1, "FR", "human"), ("ai", 0, "FR", "ai"),
        )
    ]  # fmt: skip
    land(root / "lake", ONE, "a.ndjson", games)
    night(root / "lake", ONE, challenges=challenges)
    return root / "lake"


def cells(answer):
    """The rows of the ranking, each as its cells' texts."""
    body = answer.text.partition("<tbody>")[2].partition("</tbody>")[0]
    return [[text_of(cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in body.split("<tr>")[1:]]


def get(browser, query=""):
    answer = browser.get(f"/boards{query}")
    assert answer.status_code == 200, text_of(answer)
    return answer


def test_d1_equal_totals_share_a_position_and_say_so(tied):
    """D1: 1, =2, =2, 4; and the AI player, who leads nobody here, stands on no people's board."""
    rows = cells(get(client(tied)))
    assert [row[0].replace("equal ", "") for row in rows] == ["1", "= 2", "= 2", "4"]
    expected = ask(tied, "select player_id, total from leaderboard where scope = 'world' and month is null order by ordinal")
    assert [(row[1], row[3]) for row in rows] == [(player, f"{total:,}") for player, total in expected]
    assert expected[1][1] == expected[2][1] < expected[0][1]


def test_d1_a_tie_across_the_edge_of_a_page_is_marked_on_both(tied, monkeypatch):
    monkeypatch.setattr(page, "PAGE_ROWS", 2)
    first, second = get(client(tied)), get(client(tied), "?game=blocks&page=2")
    assert [row[0].replace("equal ", "") for row in cells(first) + cells(second)] == ["1", "= 2", "= 2", "4"]
    assert [a["href"] for a in elements(first, "a") if a.get("rel") == "next"] == ["boards?game=blocks&page=2"]


def test_d2_a_day_has_percentiles_and_tiers(tied):
    rows = cells(get(client(tied), f"?challenge={ONE}"))
    expected = ask(
        tied, "select position, player_id, score, percentile, tier from daily_ranking order by position, player_id"
    )
    found = [(int(row[0].split()[-1]), row[1].split()[0], row[3], row[6], row[7]) for row in rows]
    assert found == [(place, player, f"{score:,}", f"{percent:.2f}", tier) for place, player, score, percent, tier in expected]
    assert [row[0].replace("equal ", "") for row in rows if row[1] in ("p-b", "p-c")] == ["= 2", "= 2"]
    assert any(row[1] == "p-ai ai" for row in rows), "an AI player stands in a day's ranking and is named as one"


def test_a_nation_and_a_month(tied):
    assert {row[1] for row in cells(get(client(tied), "?nation=DE"))} == {"p-b", "p-c"}
    assert len(cells(get(client(tied), "?month=2026-10"))) == 4
    assert "Nobody stands on this leaderboard" in text_of(get(client(tied), "?nation=AD"))
    assert "Nobody stands on this leaderboard" in text_of(get(client(tied), "?month=2020-01"))


def test_d10_every_ranking_says_what_it_was_made_from(tied):
    """D10: as of when, provisional or final, and the rules versions."""
    for query in ("", f"?challenge={ONE}"):
        text = text_of(get(client(tied), query))
        assert f"Standings as of {ONE}" in text
        assert "provisional" in text
        assert "rules 1.2.0" in text


def test_the_weekly_digest(tmp_path):
    challenges = write_challenges(tmp_path / "challenges.csv")
    lake = tmp_path / "lake"
    for day, players in ((TWO.replace(day=18), "ab"), (TWO.replace(day=25), "bc")):
        land(lake, day, "a.ndjson", [upload(f"{day}{p}", f"p-{p}", day, seed=ord(p), tokens=50) for p in players])
        night(lake, day, challenges=challenges)
    rows = cells(get(client(lake), "?scope=digest"))
    expected = ask(lake, "select player_id, position, total, previous_position, change from weekly_digest order by position, player_id")
    assert [row[2] for row in rows] == [player for player, *_ in expected]
    for row, (_, position, total, previous, change) in zip(rows, expected, strict=True):
        assert row[0].split()[-1] == str(position)
        assert row[1].split()[-1] == ("new" if previous is None else str(previous))
        assert (row[3], row[4]) == (f"{total:,}", f"+{change:,}")
    assert {row[1] for row in rows} & {"new"}
    assert "Sunday 2026-10-25" in text_of(get(client(lake), "?scope=digest"))


def test_d4_removed_players_and_upheld_games_leave_every_board(tmp_path):
    """D4: nowhere a removed player; a game that looks unusual leaves with its player's place once it is upheld and restated."""
    lists = lists_lake(tmp_path)
    browser = client(lists.root)
    queries = ["", f"?challenge={TWO}", "?month=2026-10", "?scope=digest"]
    for query in queries:
        text = get(browser, query).text
        assert "p-gone" not in text, query
        assert "p-old" not in text, query
    assert "p-second" in get(browser, f"?challenge={TWO}").text
    decide(lists.root, "uphold", "odd-copied", "the log is somebody else's")
    restate_standings(Lake(lists.root), NightSettings(threads=2, **lists.settings()))
    for query in ("", f"?challenge={TWO}", "?month=2026-10", "?nation=DE"):
        assert "p-second" not in get(browser, query).text, query


def test_an_empty_board_says_what_to_do(tied):
    assert "no game of tetcolor counts" in text_of(get(client(tied), "?game=tetcolor"))
    assert "Nobody is ranked in this challenge" in text_of(get(client(tied), "?challenge=2020-01-01"))
    assert "No Sunday has come yet" in text_of(get(client(tied), "?scope=digest"))
    for query in ("?page=9", f"?challenge={ONE}&page=9"):
        assert "lies beyond the last of" in text_of(get(client(tied), query)), query


@pytest.mark.parametrize(
    "query",
    [
        "game=chess", "scope=galaxy", "nation=fr", "nation=Z", "month=2026-13", "month=x", "scope=nation", "scope=world&nation=FR",
        f"scope=digest&challenge={ONE}", "scope=day&nation=FR", "page=0", "page=99999999999",
    ],
)  # fmt: skip
def test_a_board_that_cannot_be_is_one_sentence(tied, query):
    answer = client(tied).get(f"/boards?{query}")
    assert answer.status_code == 400
    assert text_of(answer).count("arameter") or "the world's" in text_of(answer)
