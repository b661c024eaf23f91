"""C8 on the pages: what was dismissed stays so until something new speaks against the game; and the answer to the player."""

from __future__ import annotations

import html
import re
from contextlib import contextmanager

import pytest

from tests.replay.dashboard.reviewing_support import decide, decisions, follow, forms, open_game, send
from tests.replay.dashboard.support import ANNA, BERT, client, post, text_of
from tests.replay.night_support import ask, by_game, cli, night, published_files, write_challenges
from tests.replay.reviews.test_dismissals import (
    MONDAY,
    at_another_move_and_in_other_words,
    boards,
    detector,
    land_monday,
    with_another_finding,
)


@pytest.fixture
def settings(tmp_path, monkeypatch):
    challenges = write_challenges(tmp_path / "challenges.csv")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(challenges))
    monkeypatch.delenv("REPLAY_REVIEWS", raising=False)
    return {"challenges": challenges}


@contextmanager
def version(monkeypatch, number, change):
    """A version of the program whose detector gives other reasons; run.json names it, as it names every version."""
    with detector(monkeypatch, change), monkeypatch.context() as patch:
        patch.setattr("replay.publish.PROCESSING_VERSION", number)
        patch.setattr("replay.verify.PROCESSING_VERSION", number)
        yield


def listed(browser, **wanted) -> set[str]:
    """The games on the Flags page."""
    page = browser.get("/flags", params=wanted)
    assert page.status_code == 200, text_of(page)
    return set(re.findall(r'href="game\?id=([a-z]+)&amp;', page.text))


def test_a_dismissed_game_stays_dismissed_until_new_evidence_and_the_page_says_what_changed(tmp_path, settings, monkeypatch):
    """C8: flagged on Monday, dismissed; computed again on Tuesday by another detector; on Wednesday with new evidence."""
    lake = land_monday(tmp_path / "lake", settings, best_combo=99)
    anna, bert = client(lake, ANNA), client(lake, BERT)
    assert listed(anna, state="open") == {"accused"}
    decide(bert, "accused", "clear", "The 2.4.1 client counts combos twice")
    (cleared,) = decisions(lake)
    when = f"{cleared.at:%Y-%m-%d %H:%M:%S} UTC"

    # Tuesday: the same faults, seen at another move and told in other words.
    with version(monkeypatch, 101, at_another_move_and_in_other_words):
        night(lake, MONDAY, **settings)
    assert "better words" in by_game(lake, MONDAY)["accused"]["reasons"], "the other detector did judge it"
    assert listed(anna, state="open") == listed(anna, state="returned") == set()
    assert listed(anna, state="cleared") == {"accused"}
    page = text_of(open_game(anna, "accused"))
    assert "Cleared by Bert" in page and when in page and "The 2.4.1 client counts combos twice" in page
    assert "Why it came back" not in page and "Changed since" not in page
    assert "✓ counts" in page and ask(lake, "select 1 from daily_ranking where game_id = 'accused'")
    log = text_of(anna.get("/reviews"))
    assert "stands" in log and "New since then" not in log

    # Wednesday: the replay finds something that nobody has looked at.
    with version(monkeypatch, 102, with_another_finding):
        night(lake, MONDAY, **settings)
    found = by_game(lake, MONDAY)["accused"]["replayed_best_combo"]
    assert listed(anna, state="returned") == {"accused"} and listed(anna, state="cleared") == set()
    page = text_of(open_game(anna, "accused"))
    assert "Why it came back" in page and "returned" in page
    assert f"best combo claimed 99, replayed {found + 1} (new)" in page
    assert f"best combo claimed 99, replayed {found} (no longer)" in page
    assert "Returned: cleared by Bert" in page and when in page, "the old decision is kept"
    assert "does not count" in page and not ask(lake, "select 1 from daily_ranking where game_id = 'accused'")
    log = text_of(anna.get("/reviews"))
    assert "! returned" in log and f"New since then: best combo claimed 99, replayed {found + 1}" in log

    # Whoever decides now decides about that: it stays decided, and no decision is lost.
    decide(anna, "accused", "clear", "that too is the client")
    with version(monkeypatch, 102, with_another_finding):
        night(lake, MONDAY, **settings)
    assert listed(anna, state="cleared") == {"accused"}
    log = text_of(anna.get("/reviews"))
    assert "replaced by 2 (Anna)" in log and "The 2.4.1 client counts combos twice" in log
    assert [(d.id, d.reviewer, d.action) for d in decisions(lake)] == [(1, "Bert", "clear"), (2, "Anna", "clear")]
    assert decisions(lake)[0] == cleared


def test_a_form_of_before_the_new_evidence_decides_nothing(tmp_path, settings, monkeypatch):
    """C8: nobody dismisses what they have not seen."""
    lake = land_monday(tmp_path / "lake", settings, best_combo=99)
    browser = client(lake, ANNA)
    page = open_game(browser, "accused")
    with version(monkeypatch, 102, with_another_finding):
        night(lake, MONDAY, **settings)
    # Not even by a form that comes back for another fault first.
    wordless = send(browser, page, "decide", action="clear", reason="")
    assert wordless.status_code == 400 and "is not what your page showed any more" in text_of(wordless)
    answer = send(browser, page, "decide", action="clear", reason="a bug of ours")
    assert answer.status_code == 409 and decisions(lake) == []
    said = text_of(answer)
    assert "What speaks against the game has changed" in said
    found = by_game(lake, MONDAY)["accused"]["replayed_best_combo"] + 1
    assert f"best combo claimed 99, replayed {found}" in said and forms(answer, "decide")[0]["reason"] == "a bug of ours"
    follow(browser, send(browser, answer, "decide"))
    assert [d.action for d in decisions(lake)] == ["clear"]


@pytest.mark.parametrize("claims", [
    {"best_combo": 99}, {"score": 7}, {"moves": "1a1 9b9"}, {"final_board": "#7"}, {"attempt": 4}, {"rules": "9.9.9"},
])  # fmt: skip
def test_the_answer_to_the_player_is_the_command_lines(tmp_path, settings, claims):
    """C8: rule, token, claimed and replayed value, in the words of `replay game`."""
    lake = land_monday(tmp_path / "lake", settings, **claims)
    page = open_game(client(lake, ANNA), "accused")
    section = page.text.partition('aria-labelledby="proof"')[2].partition("</section>")[0]
    sentences = [html.unescape(text) for text in re.findall(r'<li dir="ltr">(.*?)</li>', section, re.S)]
    said = cli("game", "accused", "--lake", lake, env={"REPLAY_CHALLENGES": str(settings["challenges"])})
    told = " ".join(said.stdout.decode().split())
    assert said.returncode == 1 and len(sentences) >= 2, said.stderr
    for sentence in sentences:
        assert " ".join(sentence.split()) in told, f"the page says {sentence!r}, the command line {told!r}"
    (name, value), = claims.items()
    if name in ("score", "best_combo"):
        row = by_game(lake, MONDAY)["accused"]
        assert f"{value:,}" in " ".join(sentences) and f"{row[f'replayed_{name}']:,}" in " ".join(sentences)
        assert re.search(r"From move [0-9]+ \([0-9a-z]+\)", " ".join(sentences)), "the token from which they part"


def test_a_wrongly_flagged_player_gets_everything_back_through_the_pages(tmp_path, settings):
    """C8, D5: position, percentile, rank tier and total are those of a lake in which the game was never flagged."""
    lake = land_monday(tmp_path / "lake", settings, attempt=4)
    # The same claims, as an attempt that the rules allow.
    honest = land_monday(tmp_path / "honest", settings, attempt=3)
    before, machine = boards(lake), published_files(lake)
    browser = client(lake, ANNA)
    decide(browser, "accused", "clear", "the client counted a retry")
    assert "p-accused" in text_of(post(browser, "/restate"))
    got, right = boards(lake), boards(honest)
    assert [[value for value in row if value not in (3, 4)] for row in got["daily_ranking"]] == [
        [value for value in row if value not in (3, 4)] for row in right["daily_ranking"]
    ]
    assert {name: got[name] for name in got if name != "daily_ranking"} == {
        name: right[name] for name in right if name != "daily_ranking"
    }
    assert "p-accused" in text_of(browser.get("/boards", params={"game": "blocks"}))
    follow(browser, send(browser, open_game(browser, "accused"), "undo", reason="it was no retry"))
    post(browser, "/restate")
    assert boards(lake) == before and published_files(lake) == machine
