"""Deciding on all games of a filter at once: the preview, and that exactly what it showed is decided, or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from urllib.parse import urlencode

import pytest

from replay.lake import Lake
from replay.reviews.drafts import Draft
from replay.reviews.store import open_reviews
from tests.replay.dashboard.reviewing_support import (
    MANY,
    again,
    decide,
    decisions,
    follow,
    forms,
    open_game,
    send,
    summary,
)
from tests.replay.dashboard.support import ANNA, BERT, NAMELESS, client, elements, post, text_of
from tests.replay.night_support import EVIL, THREE, ask, dump, everything, land, upload, warehouse

COMBOS = [f"combo-{n}" for n in range(MANY)]


def preview(browser, action: str = "uphold", **wanted: object):
    answer = browser.get("/bulk?" + urlencode({"action": action, **wanted}))
    assert answer.status_code == 200, text_of(answer)
    return answer


def games(lake: Path) -> set[str]:
    return {decision.game_id for decision in decisions(lake)}


# --- The preview ---------------------------------------------------------------------------------------------------------


def test_the_preview_counts_and_shows_and_decides_nothing(lake):
    before = everything(lake)
    browser = client(lake, ANNA)
    asked = browser.get("/bulk?reason=combo_mismatch")
    assert f"these {MANY} games" in text_of(asked) and forms(asked, "bulk") == []
    page = preview(browser, reason="combo_mismatch")
    said = text_of(page)
    assert (f"Would be decided on {MANY}" in said and "best combo" in said) or "combo_mismatch" in said
    assert all(game_id in said for game_id in COMBOS)
    links = [tag["href"] for tag in elements(page, "a")]
    assert f"game?id=combo-0&day={THREE}&file=a.ndjson&line=8" in links
    assert decisions(lake) == [] and everything(lake) == before
    assert not (lake / "reviews.sqlite").exists()


def test_what_the_preview_says_would_move_is_what_moves(lake):
    browser = client(lake, ANNA)
    page = preview(browser, "clear", reason="combo_mismatch")
    foretold = text_of(page).partition("What would happen")[2]
    led = follow(browser, send(browser, page, "bulk", reason="a client that counts combos twice"))
    moved = text_of(send(browser, led, "restate"))
    sentence = moved.partition("with every decision of now. ")[2].partition(".")[0]
    assert sentence.replace(" moved:", " would move:") in foretold and f"{MANY} totals" in sentence
    # Every row of both tables, in the same order.
    tables = moved.partition("Totals and world positions")[2].partition("All decisions")[0]
    assert tables and tables in foretold
    assert ask(lake, "select count(*) from leaderboard where scope = 'world' and player_id like 'p-combo%'")[0][0] >= MANY


def test_the_preview_says_which_games_are_skipped_and_which_will_not_count(lake):
    browser = client(lake, ANNA)
    decide(client(lake, BERT), "combo-2", "uphold", "looked at")
    said = text_of(preview(browser, "uphold", reason="combo_mismatch"))
    assert f"Would be decided on {MANY - 1}" in said
    assert "Skipped 1: already upheld, and nothing new speaks against it since" in said
    said = text_of(preview(browser, "clear", reason="score_mismatch"))
    assert "Will not count even so 1: it was not played in its challenge's own mode" in said
    # Whoever upheld it may be overruled: that is no game to skip.
    assert f"Would be decided on {MANY}" in text_of(preview(browser, "clear", reason="combo_mismatch"))


@pytest.mark.parametrize("wanted", [
    {"reason": "nonsense"}, {"from": "yesterday"}, {"state": "x' or 1=1 --"}, {"action": "undo"}, {"nation": "<b>"},
    {"game": "chess"},
])  # fmt: skip
@pytest.mark.parametrize("way", ["get", "post"])
def test_a_filter_that_cannot_be_is_a_sentence(lake, wanted, way):
    browser = client(lake, ANNA)
    if way == "get":
        answer = browser.get("/bulk?" + urlencode({"action": "uphold"} | wanted))
    else:
        answer = post(browser, "/bulk", action=wanted.get("action", "uphold"), reason="x", filter=urlencode(wanted))
    assert answer.status_code == 400, text_of(answer)
    assert decisions(lake) == []
    assert elements(answer, "b") == []


@pytest.mark.parametrize("text", [EVIL, "'; drop table flagged_games; --", "%", "*", "x" * 3000, "{{7*7}}"])
@pytest.mark.parametrize("name", ["player", "platform", "app_version", "game_id"])
def test_hostile_texts_in_a_filter_find_exactly_their_games(lake, name, text):
    """D8: the texts of a filter are values and never a pattern or a statement."""
    browser = client(lake, ANNA)
    value = text + "p" if name == "player" and text == EVIL else text
    page = preview(browser, "note", **{name: value})
    assert elements(page, "script") == [] or all(tag.get("src") for tag in elements(page, "script"))
    if text != EVIL:
        assert "No game fits" in text_of(page)
        return
    follow(browser, send(browser, page, "bulk", reason="seen"))
    assert games(lake) == {EVIL}
    assert len(ask(lake, "select 1 from flagged_games")) > MANY


# --- Deciding ------------------------------------------------------------------------------------------------------------


def test_what_was_previewed_is_decided_together_and_can_be_undone_together(lake):
    before = dump(warehouse(lake))
    browser = client(lake, NAMELESS)
    page = preview(browser, "clear", reason="combo_mismatch")
    led = follow(browser, send(browser, page, "bulk", reason="the 9.1 client", reviewer="Zoë"))
    made = decisions(lake)
    assert [(d.action, d.reviewer, d.reason) for d in made] == [("clear", "Zoë", "the 9.1 client")] * MANY
    assert games(lake) == set(COMBOS) and len({d.batch for d in made}) == 1
    assert f"Recorded as decision 1 and {MANY - 1} more" in text_of(led)
    assert "replay_reviewer" in browser.cookies
    post(browser, "/restate")
    decide(client(lake, BERT), "combo-3", "uphold", "this one is no bug")
    batch = browser.get("/" + led.url.path.lstrip("/") + "?" + urlencode({"batch": made[0].batch}))
    assert f"{MANY - 1} of them still the newest" in text_of(batch)
    undone = follow(browser, send(browser, batch, "undo", reason="it was not the client"))
    assert f"Recorded as decision {MANY + 2} and {MANY - 2} more" in text_of(undone)
    assert "Standings take it up the next night, or now" in text_of(undone)
    last = decisions(lake)[-(MANY - 1) :]
    assert {d.game_id for d in last} == set(COMBOS) - {"combo-3"} and {d.action for d in last} == {"undo"}
    again_ = send(browser, batch, "undo", reason="it was not the client")
    assert (again_.status_code, "nothing can be undone" in text_of(again_)) == (400, True)
    post(browser, "/restate")
    after = dump(warehouse(lake))
    assert {name for name in before if before[name] != after[name]} <= {"main.publication"}


@pytest.mark.parametrize("what", ["decided", "note", "night", "undone", "tampered"])
def test_nothing_is_decided_when_the_games_are_not_those_that_were_looked_at(lake, what):
    anna = client(lake, ANNA)
    if what == "undone":
        decide(anna, "combo-1", "uphold", "first")
    page = preview(anna, "clear", reason="combo_mismatch")
    written: dict[str, object] = {"reason": "my own long reason"}
    if what in ("decided", "note"):
        decide(client(lake, BERT), "combo-4", {"decided": "uphold", "note": "note"}[what], "he told me so")
    elif what == "undone":
        follow(anna, send(anna, open_game(anna, "combo-1"), "undo", reason="second"))
    elif what == "night":
        land(lake, THREE, "b.ndjson", [upload("combo-new", "p-new", seed=40, best_combo=77)])
        again(lake)
    else:
        written["digest"] = "0" * 64
    known = summary(decisions(lake))
    answer = send(anna, page, "bulk", **written)
    assert answer.status_code == 409
    assert summary(decisions(lake)) == known, "not one game of them is decided"
    said = text_of(answer)
    expected = {
        "decided": "Bert upheld the flag", "note": "he told me so", "undone": "Anna undid decision 1",
        "night": f"it had {MANY} games to decide on, now there are {MANY + 1}", "tampered": "The list is not the one",
    }  # fmt: skip
    assert expected[what] in said
    (fields,) = forms(answer, "bulk")
    assert fields["reason"] == "my own long reason"
    # The new preview is one that can be taken.
    follow(anna, send(anna, answer, "bulk"))
    assert len(decisions(lake)) == len(known) + MANY + (what == "night")


def test_a_decision_between_the_look_and_the_write_stops_all(lake, monkeypatch):
    """Two people at once, the closest there is: after the list was compared, before it was written."""
    from replay.dashboard import bulk
    from replay.reviews.store import ReviewStore

    anna = client(lake, ANNA)
    page = preview(anna, "clear", reason="combo_mismatch")
    selecting, quick = bulk.select, []

    def select(*args):
        found = selecting(*args)
        if not quick:
            quick.append(True)
            with open_reviews(Lake(lake)) as store:
                first: Draft = found.drafts[-1]
                ReviewStore.decide(store, [first], reviewer="Bert", reason="in between")
        return found

    monkeypatch.setattr(bulk, "select", select)
    answer = send(anna, page, "bulk", reason="mine")
    assert (answer.status_code, [d.reviewer for d in decisions(lake)]) == (409, ["Bert"])
    assert "in between" in text_of(answer)


def test_a_bulk_form_that_is_sent_twice_decides_once(lake):
    browser = client(lake, ANNA)
    page = preview(browser, "clear", reason="combo_mismatch")
    answers = [send(browser, page, "bulk", reason="once") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    assert answers[0].headers["location"] == answers[1].headers["location"]
    assert len(decisions(lake)) == MANY


def test_a_filter_on_states_loses_a_game_that_somebody_decides_and_says_who(lake):
    anna = client(lake, ANNA)
    page = preview(anna, "uphold", state="open", reason="combo_mismatch")
    decide(client(lake, BERT), "combo-5", "clear", "an old phone")
    answer = send(anna, page, "bulk", reason="all of them")
    assert answer.status_code == 409 and "an old phone" in text_of(answer)
    assert f"Would be decided on {MANY - 1}" in text_of(answer)


@pytest.mark.parametrize("fields", [{"reason": ""}, {"reviewer": ""}])
def test_words_that_are_missing_are_asked_for_and_the_others_kept(lake, fields):
    browser = client(lake, NAMELESS)
    page = preview(browser, "uphold", reason="combo_mismatch")
    answer = send(browser, page, "bulk", **{"reason": "why", "reviewer": "Anna"} | fields)
    assert answer.status_code == 400 and decisions(lake) == []
    (kept,) = forms(answer, "bulk")
    assert {name: kept[name] for name in ("reason", "reviewer")} == {"reason": "why", "reviewer": "Anna"} | fields


# --- Many ----------------------------------------------------------------------------------------------------------------


def test_five_thousand_games_are_one_decision_of_all_or_none(lake):
    """Through the pages: preview, decide, look at the log, undo; each within seconds."""
    many = 5_000
    template = upload("m", "p-m", seed=3)
    games_ = [replace(template, game_id=f"m-{n}", player_id=f"pm-{n}", best_combo=77) for n in range(many)]
    land(lake, THREE, "many.ndjson", games_)
    again(lake)
    browser = client(lake, ANNA)
    took = {}

    def timed(name, call):
        began = monotonic()
        answer = call()
        took[name] = round(monotonic() - began, 2)
        return answer

    page = timed("preview", lambda: preview(browser, "clear", reason="combo_mismatch"))
    led = follow(browser, timed("decide", lambda: send(browser, page, "bulk", reason="a wave of one client")))
    made = decisions(lake)
    assert len(made) == many + MANY and len({d.batch for d in made}) == 1
    timed("log", lambda: browser.get("/reviews"))
    moved = timed("restate", lambda: post(browser, "/restate"))
    assert f"{many + MANY:,} totals" in text_of(moved)
    timed("undo", lambda: follow(browser, send(browser, led, "undo", reason="no")))
    assert len(decisions(lake)) == 2 * (many + MANY)
    assert max(took.values()) < 60, took
