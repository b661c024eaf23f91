"""Player: uploads of all days, places and bests, flags with decisions, the same logs elsewhere, and who is not shown (D9)."""

from __future__ import annotations

import os
import shutil

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from replay.dashboard import player as page
from replay.dashboard import player_uploads
from replay.lake import Lake
from tests.replay.dashboard.lists_support import LONG, SHORT, lists_lake
from tests.replay.dashboard.support import client, elements, text_of
from tests.replay.dashboard.test_flags import games_on
from tests.replay.night_support import THREE, TWO, ask, verdict_rows


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    return lists_lake(tmp_path_factory.mktemp("player"))


@pytest.fixture
def browser(lists, monkeypatch):
    monkeypatch.setenv("REPLAY_PLAYERS", str(lists.players))
    return client(lists.root)


def section(answer, name):
    """What a section of the page says."""
    return text_of(answer.text.partition(f'id="{name}"')[2].partition("</section>")[0])


def get(browser, **parameters):
    answer = browser.get("/player", params=parameters)
    assert answer.status_code == 200, text_of(answer)
    return answer


def test_all_uploads_of_a_player_stand_there_newest_first(browser, lists):
    answer = get(browser, id="p-cheat")
    rows = [row for day in (THREE, TWO) for row in verdict_rows(lists.root, day) if row["player_id"] == "p-cheat"]
    own = section(answer, "games")
    places = [own.index(row["game_id"]) for row in sorted(rows, key=lambda row: row["uploaded_at"], reverse=True)]
    assert places == sorted(places)
    assert "3: 0 verified, 3 flagged, 0 copies" in text_of(answer)
    assert set(games_on(answer)) == {row["game_id"] for row in rows}
    assert "✕ upheld Ada" in own


def test_flags_stand_with_the_decisions_on_them(browser):
    flags = section(get(browser, id="p-cheat"), "flags")
    assert "Does not reproduce" in flags
    assert "Looks unusual" not in flags.partition("Flags and decisions")[2].partition("flag-high")[0]
    assert "the score was edited" in flags
    assert "our own bug" in flags
    assert "! returned" in flags
    assert "Nothing speaks against" in section(get(browser, id="p-ai"), "flags")


def test_places_and_bests_are_the_published_ones(browser, lists):
    answer = get(browser, id="p-first")
    (total,) = ask(lists.root, "select total from totals where player_id = 'p-first'")[0]
    assert f"{total:,}" in section(answer, "boards")
    rows = ask(lists.root, "select challenge, score, percentile, tier from daily_ranking where player_id = 'p-first' order by 1 desc")
    bests = section(answer, "bests")
    for challenge, score, percentile, tier in rows:
        assert f"{challenge}" in bests
        assert f"{score:,}" in bests
        assert f"{percentile:.2f} {tier}" in bests
    assert f"Bests ({len(rows)})" in text_of(answer)


def test_an_ai_player_stands_on_no_leaderboard_but_has_bests(browser):
    answer = get(browser, id="p-ai")
    assert "AI players stand on no leaderboard" in section(answer, "boards")
    assert str(TWO) in section(answer, "bests")


def test_the_same_long_log_names_who_was_first(browser):
    """C1: how many players share the log, who was first, and how long it is."""
    for player, first in (("p-second", "p-first"), ("p-first", "this player")):
        logs = section(get(browser, id=player), "logs")
        assert f"? long log 2 {first} game fine" in logs, player
        assert ask_moves(logs) >= page._evident_length()
    links = [a["href"] for a in elements(get(browser, id="p-first"), "a") if a.get("href") == "player?id=p-second"]
    assert links


def ask_moves(logs: str) -> int:
    return int(logs.partition("blocks ")[2].split()[1].replace(",", ""))


def test_a_short_log_is_no_evidence(browser):
    logs = section(get(browser, id="p-third"), "logs")
    assert f"{SHORT} too short to say 2" in logs
    assert "Under 30 moves that is no evidence" in logs
    assert "long log" not in logs
    assert SHORT < page._evident_length() <= LONG


def test_a_log_of_ones_own_is_shared_with_nobody(browser):
    # p-first played the same moves, but of another day's challenge.
    assert "Nobody else uploaded a log" in section(get(browser, id="p-cheat"), "logs")
    assert "Nobody else uploaded a log" in section(get(browser, id="p-ai"), "logs")


def test_d9_an_old_id_shows_nothing_of_the_new_one(browser):
    """D9: neither the new id nor a game of it, not even that there is one; and nowhere the old id."""
    answer = browser.get("/player", params={"id": "p-old"})
    assert answer.status_code == 404
    assert "was anonymised" in text_of(answer)
    assert "p-new" not in answer.text
    assert "odd-short-1" not in answer.text
    new = get(browser, id="p-new")
    assert "odd-short-1" in games_on(new)
    assert "anonymised" in text_of(new)
    assert "p-old" not in new.text
    # Somebody else's page names the new id only.
    third = get(browser, id="p-third")
    assert "p-new" in section(third, "logs")
    assert "p-old" not in third.text


def test_d9_whoever_was_anonymised_since_the_night_is_not_named_either(browser, lists, tmp_path, monkeypatch):
    table = tmp_path / "players.csv"
    table.write_text(lists.players.read_text() + "p-first,anonymised,p-hidden\n")
    monkeypatch.setenv("REPLAY_PLAYERS", str(table))
    second = get(browser, id="p-second")
    assert "p-hidden" in section(second, "logs")
    assert "p-first" not in second.text
    assert browser.get("/player", params={"id": "p-first"}).status_code == 404


def test_d4_a_removed_player_has_uploads_but_no_place(browser):
    """D4: no board, no best; what was uploaded is kept."""
    answer = get(browser, id="p-gone")
    assert "✕ removed from play" in text_of(answer)
    assert "gone" in games_on(answer)
    assert "on no leaderboard" in section(answer, "boards")
    assert "No game of this player counts" in section(answer, "bests")


def test_an_unknown_player_is_told_what_to_try(browser):
    answer = browser.get("/player", params={"id": "<b>P-CHEAT"})
    assert answer.status_code == 404
    assert "No published day has an upload of a player <b>P-CHEAT" in text_of(answer)
    assert "look for a game with this id" in text_of(answer)
    assert browser.get("/player").status_code == 400
    assert browser.get("/player?id=").status_code == 404


def test_pages_of_uploads_and_bests(browser, monkeypatch):
    monkeypatch.setattr(page, "GAMES_SHOWN", 1)
    monkeypatch.setattr(page, "BESTS_SHOWN", 1)
    seen, href = [], "player?id=p-first"
    while href and len(seen) < 9:
        answer = browser.get("/" + href.partition("#")[0])
        own = answer.text.partition('id="games"')[2]
        seen += games_on(own)
        href = next((a["href"] for a in elements(own, "a") if a.get("rel") == "next"), None)
    assert sorted(seen) == ["equal-1", "fine", "flag-fourth"]
    second = section(get(browser, id="p-first", bests=2), "bests")
    assert str(TWO) in second
    assert "2 to 2 of 2" in second
    beyond = get(browser, id="p-first", page=9, bests=9)
    assert "lies beyond the last upload" in text_of(beyond)
    assert "lies beyond the last best" in text_of(beyond)


@pytest.mark.parametrize("query", ["page=0", "bests=x", "page=-3"])
def test_a_wrong_parameter_is_a_sentence(browser, query):
    answer = browser.get(f"/player?id=p-first&{query}")
    assert answer.status_code == 400
    assert "is no whole number" in text_of(answer)


def test_a_second_look_reads_only_the_files_that_were_replaced(lists, tmp_path, monkeypatch):
    """E8: what was found in a file is kept while that very file lies there, and no longer."""
    root = tmp_path / "lake"
    shutil.copytree(lists.root, root)
    lake = Lake(root)
    days = lake.published_days()
    looked = []

    def gather(found, files, wanted, look):
        def counted(some):
            looked.append(len(some))
            return look(some)

        return real(found, files, wanted, counted)

    real = player_uploads._gather
    monkeypatch.setattr(player_uploads, "_gather", gather)
    first = page._uploaded(lake, days, "p-cheat", 1)
    assert first is not None
    assert looked == [len(days)] * 2
    assert page._uploaded(lake, days, "p-cheat", 1) == first
    assert looked == [len(days)] * 2
    # A night puts another file in the place of one: here one without this player's rows.
    path = lake.verdict_file(days[-1])
    rows = pq.read_table(path)
    own = pc.equal(rows.column("player_id"), "p-cheat")
    aside = path.with_name("aside.parquet")
    pq.write_table(rows.filter(pc.invert(own)), aside)
    os.replace(aside, path)
    second = page._uploaded(lake, days, "p-cheat", 1)
    gone = pc.sum(own).as_py()
    assert gone > 0
    assert second["uploads"]["uploads"] == first["uploads"]["uploads"] - gone
    assert [row for row in first["games"] if row["day"] != days[-1]] == second["games"]
    assert looked[2] == 1
    # Somebody else is looked for in all of them.
    assert page._uploaded(lake, days, "nobody", 1) is None
    assert looked[-1] == len(days)


def test_what_is_kept_has_a_bound():
    found = player_uploads._Found(2)
    for number in range(3):
        found.keep((number,), "p", number)
        assert found.get((number,), "p") == number
    assert [found.get((number,), "p") for number in range(3)] == [None, 1, 2]
