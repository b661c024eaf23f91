"""Pages of a game whose retry took its place: the decision on the copy is shown, seen and undone there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.replay.dashboard.reviewing_support import decide, decisions, follow, open_game, send
from tests.replay.dashboard.support import ANNA, BERT, client, text_of
from tests.replay.night_support import TWO, ask, by_game, land, night, upload, write_challenges


@pytest.fixture
def moved(tmp_path, monkeypatch):
    """``g`` was cleared, and ``retry`` has taken its place since."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(challenges))
    lake = tmp_path / "lake"
    game = upload("g", "p", TWO)
    game = replace(game, score=game.score + 5)
    land(lake, TWO, "a.ndjson", [game, upload("h", "q", TWO, seed=3)])
    night(lake, TWO, challenges=challenges)
    decide(client(lake, ANNA), "g", "clear", "two devices")
    land(lake, TWO, "b.ndjson", [replace(game, game_id="retry", uploaded_at=game.uploaded_at - 1)])
    night(lake, TWO, challenges=challenges)
    assert {game_id: row["verdict"] for game_id, row in by_game(lake, TWO).items()} == {
        "g": "copy", "retry": "flagged", "h": "verified",
    }  # fmt: skip
    return lake


def total(lake) -> int:
    return len(ask(lake, "select total from totals where player_id = 'p'"))


def test_all_pages_tell_the_decision_on_the_copy(moved):
    browser = client(moved, ANNA)
    said = text_of(open_game(browser, "retry"))
    assert "Cleared by Anna" in said and "on upload g" in said and "✓ stands" in said
    said = text_of(open_game(browser, "g"))
    assert "Cleared by Anna" in said and "on upload" not in said and "A copy is not decided on" in said
    assert "cleared" in text_of(browser.get("/flags", params={"state": "cleared"}))
    assert "retry" in browser.get("/flags", params={"state": "cleared"}).text
    assert "retry" not in browser.get("/flags", params={"state": "open"}).text
    player = browser.get("/player", params={"id": "p"})
    assert player.status_code == 200 and text_of(player).count("cleared") >= 2
    log = text_of(browser.get("/reviews"))
    assert "two devices" in log and "✓ stands" in log
    assert total(moved) == 1


def test_a_decision_and_an_undo_that_cross(moved):
    """Whoever looked before the other one decided is told, whichever upload the two were taken on."""
    anna, bert = client(moved, ANNA), client(moved, BERT)
    page, other = open_game(anna, "retry"), open_game(bert, "retry")
    answer = follow(anna, send(anna, page, "undo", reason="not so"))
    assert "Recorded as decision 2" in text_of(answer) and "retry" in str(answer.url)
    refused = send(bert, other, "decide", action="uphold", reason="a bot")
    assert refused.status_code == 409 and "not so" in text_of(refused)
    assert [(one.action, one.game_id) for one in decisions(moved)] == [("clear", "g"), ("undo", "g")]
    follow(bert, send(bert, refused, "decide", action="uphold", reason="a bot"))
    assert [(one.action, one.game_id) for one in decisions(moved)][2:] == [("uphold", "retry")]
    # Nor is an undo of what was decided on the copy carried out over the newer one.
    again = send(anna, answer, "undo", reason="once more")
    assert again.status_code == 409 and "a bot" in text_of(again) and len(decisions(moved)) == 3


def test_many_at_once_leave_alone_what_was_decided_on_a_copy(moved):
    browser = client(moved, ANNA)
    said = text_of(browser.get("/bulk", params={"kind": "flagged", "action": "clear"}))
    assert "already cleared" in said
    page = browser.get("/bulk", params={"kind": "flagged", "action": "uphold"})
    follow(browser, send(browser, page, "bulk", reason="all of them"))
    assert [(one.action, one.game_id) for one in decisions(moved)][1:] == [("uphold", "retry")]
    log = text_of(browser.get("/reviews"))
    assert "replaced by 2" in log and log.count("✓ stands") == 1
