"""Deciding in the browser: one game, undoing, the log, and restating; two people at once, and people who may not."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import httpx
import pytest

from replay.lake import Lake
from replay.reviews.games import draft, find_game
from replay.reviews.store import open_reviews
from tests.replay.dashboard.reviewing_support import (
    again,
    decide,
    decisions,
    follow,
    forms,
    open_game,
    send,
    summary,
)
from tests.replay.dashboard.serving import dashboard
from tests.replay.dashboard.support import ANNA, BERT, NAMELESS, READER, client, elements, post, text_of, token
from tests.replay.night_support import EVIL, THREE, ask, dump, everything, warehouse


def total(lake: Path, player: str) -> int | None:
    found = ask(lake, "select total from leaderboard where scope = 'world' and period = 'all_time' and player_id = ?", player)
    return found[0][0] if found else None


# --- One game ------------------------------------------------------------------------------------------------------------


def test_a_decision_leads_back_to_its_game_and_says_what_was_recorded_and_what_follows(lake):
    browser = client(lake, ANNA)
    page = decide(browser, "wrong", "uphold", "Same bot as yesterday")
    (made,) = decisions(lake)
    assert (made.action, made.reviewer, made.reason, made.game_id, made.day) == (
        "uphold", "Anna", "Same bot as yesterday", "wrong", THREE,
    )  # fmt: skip
    said = text_of(page)
    assert "Recorded as decision 1" in said and "Same bot as yesterday" in said
    assert "the next night, or now" in said and forms(page, "restate"), "how it comes into the standings"
    assert forms(page, "undo"), "and how it is taken back"
    assert "upheld" in said
    # The notice belongs to this decision only: a made-up number says nothing.
    assert "Recorded as" not in text_of(open_game(browser, "wrong", recorded=99))
    assert "Recorded as" not in text_of(open_game(browser, "first", recorded=1))


@pytest.mark.parametrize(("game_id", "action"), [
    ("wrong", "uphold"), ("wrong", "clear"), ("fast", "uphold"), ("fast", "clear"), (EVIL, "clear"), (EVIL, "note"),
    ("late", "note"),
])  # fmt: skip
def test_every_decision_can_be_undone_and_stays_in_the_log(lake, game_id, action):
    browser = client(lake, ANNA)
    page = decide(browser, game_id, action, "first thought")
    after = follow(browser, send(browser, page, "undo", reason="second thought"))
    assert summary(decisions(lake)) == [
        (1, action, "Anna", "first thought", game_id, None), (2, "undo", "Anna", "second thought", game_id, 1),
    ]  # fmt: skip
    assert "Recorded as decision 2" in text_of(after)
    log = text_of(browser.get("/reviews"))
    assert "first thought" in log and "second thought" in log and "undone" in log


def test_a_login_names_the_reviewer_and_a_form_cannot_name_another(lake):
    browser = client(lake, BERT)
    page = open_game(browser, "wrong")
    assert "reviewer" not in forms(page, "decide")[0]
    follow(browser, send(browser, page, "decide", action="uphold", reason="x", reviewer="Anna"))
    assert decisions(lake)[0].reviewer == "Bert"
    assert "replay_reviewer" not in browser.cookies


def test_a_browser_remembers_the_name_that_was_given(lake):
    browser = client(lake, NAMELESS)
    assert forms(open_game(browser, "wrong"), "decide")[0]["reviewer"] == ""
    page = decide(browser, "wrong", "note", reviewer='Zoë "=1+1" <b>;\u202e')
    for shown in (page, browser.get("/reviews")):
        assert all(fields["reviewer"] == 'Zoë "=1+1" <b>;\u202e' for fields in forms(shown, "undo")), shown.url
        assert elements(shown, "b") == []
    assert forms(open_game(browser, "combo-1"), "decide")[0]["reviewer"] == 'Zoë "=1+1" <b>;\u202e'


@pytest.mark.parametrize(("field", "text", "says"), [
    ("reason", "", "Write a reason"), ("reason", " \n\t ", "Write a reason"), ("reason", "\u200b\u2060", "Write a reason"),
    ("reason", "x" * 2001, "2,001 characters"), ("reason", "a\x00b", "U+0000"), ("reviewer", "", "Write your name"),
    ("reviewer", "\u00a0", "Write your name"), ("reviewer", "n" * 201, "201 characters"), ("reviewer", "A\nB", "U+000A"),
    ("action", "", "Choose what is decided"), ("action", "undo", "Choose what is decided"),
])  # fmt: skip
def test_a_form_that_cannot_be_taken_comes_back_with_every_word(lake, field, text, says):
    browser, action = client(lake, NAMELESS), "note"
    written = {"action": action, "reason": "my long reason", "reviewer": "Anna", field: text}
    answer = send(browser, open_game(browser, "wrong"), "decide", **written)
    assert answer.status_code == 400
    assert says in text_of(answer)
    (fields,) = forms(answer, "decide")
    for name, value in written.items():
        if name != field:
            assert fields[name] == value, f"{name}: the person's own words are lost"
    fields_of_page = [tag for name in ("textarea", "input", "fieldset") for tag in elements(answer, name)]
    wrong = [tag for tag in fields_of_page if "aria-invalid" in tag or (field == "action" and tag.get("name") != "reason")]
    described = {tag["aria-describedby"] for tag in wrong if "aria-describedby" in tag}
    assert any(says in answer.text.partition(f'id="{name}"')[2][:400] for name in described), "the message belongs to its field"
    assert decisions(lake) == []
    # Mended, the very form that came back is taken.
    good = {"action": action, "reason": "my long reason", "reviewer": "Anna"}
    follow(browser, send(browser, answer, "decide", **good))
    assert [d.reason for d in decisions(lake)] == ["my long reason"]


@pytest.mark.parametrize("action", ["uphold", "clear"])
def test_a_game_that_nothing_speaks_against_can_only_be_noted(lake, action):
    """A person decides about what a machine found; nobody is thrown out without anything found."""
    browser = client(lake, ANNA)
    answer = send(browser, open_game(browser, "first"), "decide", action=action, reason="I do not like him")
    assert answer.status_code == 400
    assert "nothing speaks against it" in text_of(answer) and "I do not like him" in forms(answer, "decide")[0]["reason"]
    assert decisions(lake) == []
    decide(browser, "first", "note", "Asked for a video")
    assert total(lake, "p-first") is not None


@pytest.mark.parametrize(("fields", "status", "says"), [
    ({"id": "nobody-has-this"}, 404, "nobody-has-this"), ({"id": "wrong", "line": "99"}, 400, "no upload of it lies there"),
    ({"id": "wrong", "day": "31.10.2026"}, 400, "YYYY-MM-DD"), ({"id": "wrong", "line": "-1"}, 400, "whole number"),
    ({"id": "wrong", "seen": "many"}, 400, "whole number"), ({"id": "wrong", "file": "../../etc/passwd"}, 400, "no upload"),
    ({"id": ""}, 404, ""),
])  # fmt: skip
def test_a_form_that_names_no_game_is_refused_in_a_sentence(lake, fields, status, says):
    browser = client(lake, ANNA)
    answer = post(browser, "/decide", **{"action": "note", "reason": "mine", "seen": 0} | fields)
    assert (answer.status_code, says in text_of(answer)) == (status, True), text_of(answer)
    assert decisions(lake) == []


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_an_id_that_no_browser_sends_back_as_it_was_is_found_where_its_upload_lies(lake, line_break):
    """HTML has no NUL, and forms have one kind of line break."""
    browser = client(lake, ANNA)
    fields = forms(open_game(browser, EVIL), "decide")[0]
    assert "\r\n\x00" in EVIL
    sent = EVIL.replace("\x00", "\ufffd").replace("\r\n", line_break)
    follow(browser, post(browser, "/decide", **fields | {"id": sent, "action": "uphold", "reason": "x"}))
    assert [d.game_id for d in decisions(lake)] == [EVIL]
    # Another game than the one that was looked at is not decided on, wherever it lies.
    other = post(browser, "/decide", **fields | {"id": "first", "action": "uphold", "reason": "x"})
    assert other.status_code == 400 and len(decisions(lake)) == 1


def test_a_clearing_that_will_not_count_says_so(lake):
    page = text_of(decide(client(lake, ANNA), "mode", "clear", "he meant the daily"))
    assert "will not count even so" in page and "own mode" in page


# --- Two people ----------------------------------------------------------------------------------------------------------


def test_who_is_second_is_told_who_decided_what_when_and_why_and_loses_no_word(lake):
    """Two people have the same page open."""
    anna, bert = client(lake, ANNA), client(lake, BERT)
    pages = [open_game(browser, "wrong") for browser in (anna, bert)]
    follow(anna, send(anna, pages[0], "decide", action="uphold", reason="a <bot> I know"))
    answer = send(bert, pages[1], "decide", action="clear", reason="it is our own bug,\nticket 4711")
    assert answer.status_code == 409
    made = decisions(lake)
    assert len(made) == 1
    said = text_of(answer)
    assert "somebody was quicker" in said and "Anna upheld the flag" in said and "a <bot> I know" in said
    assert f"{made[0].at:%Y-%m-%d %H:%M:%S} UTC" in said
    (fields,) = forms(answer, "decide")
    assert (fields["action"], fields["reason"]) == ("clear", "it is our own bug,\nticket 4711")
    # Having read it, Bert may decide otherwise all the same.
    follow(bert, send(bert, answer, "decide"))
    assert [(d.action, d.reviewer, d.previous) for d in decisions(lake)] == [("uphold", "Anna", 0), ("clear", "Bert", 1)]


def test_a_note_is_seen_before_somebody_decides_over_it(lake):
    anna, bert = client(lake, ANNA), client(lake, BERT)
    page = open_game(bert, "wrong")
    decide(anna, "wrong", "note", "wait for the video")
    assert "wait for the video" in text_of(send(bert, page, "decide", action="uphold", reason="x"))
    assert [d.action for d in decisions(lake)] == ["note"]


def test_two_who_undo_at_once(lake):
    anna, bert = client(lake, ANNA), client(lake, BERT)
    decide(anna, "wrong", "uphold")
    pages = [open_game(browser, "wrong") for browser in (anna, bert)]
    follow(anna, send(anna, pages[0], "undo", reason="mine was wrong"))
    answer = send(bert, pages[1], "undo", reason="hers was wrong")
    assert answer.status_code == 409
    assert "Anna undid decision 1" in text_of(answer) and forms(answer, "undo")[0]["reason"] == "hers was wrong"
    assert [d.action for d in decisions(lake)] == ["uphold", "undo"]


@pytest.mark.parametrize("form", ["decide", "undo"])
def test_a_form_that_is_sent_twice_decides_once(lake, form):
    """A double click, or a page loaded again."""
    browser = client(lake, ANNA)
    if form == "undo":
        decide(browser, "wrong", "uphold")
    page = open_game(browser, "wrong")
    answers = [send(browser, page, form, action="uphold", reason="once") for _ in range(3)]
    assert [answer.headers["location"] for answer in answers] == [answers[0].headers["location"]] * 3
    assert [d.reason for d in decisions(lake)].count("once") == 1


# --- Who may -------------------------------------------------------------------------------------------------------------

FORMS = {
    "/decide": {"id": "wrong", "action": "uphold", "reason": "x", "seen": 0}, "/restate": {},
    "/undo": {"decision": 1, "reason": "x", "seen": 1}, "/bulk": {"action": "note", "reason": "x", "digest": "", "games": 1},
}  # fmt: skip


@pytest.mark.parametrize("path", FORMS)
def test_only_those_who_may_decide_decide_and_only_from_our_own_pages(lake, path):
    anna = client(lake, ANNA)
    decide(anna, "wrong", "uphold", "for undo")
    before = everything(lake), summary(decisions(lake))
    assert client(lake, None).post(path, data=FORMS[path]).status_code == 401
    reader = client(lake, READER)
    refused = post(reader, path, **FORMS[path])
    assert (refused.status_code, "may read" in text_of(refused)) == (403, True)
    assert anna.post(path, data=FORMS[path]).status_code == 403, "without the token"
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        refused = post(anna, path, headers, **FORMS[path])
        assert (refused.status_code, "another site" in text_of(refused)) == (403, True), headers
    stranger = client(lake, ANNA)
    token(stranger)
    refused = stranger.post(path, data={**FORMS[path], "form_token": token(anna)})
    assert refused.status_code == 403, "another browser's token"
    assert (everything(lake), summary(decisions(lake))) == before


def test_a_reader_sees_decisions_but_no_form(lake):
    decide(client(lake, ANNA), "wrong", "uphold", "seen by all")
    reader = client(lake, READER)
    for page in (open_game(reader, "wrong"), reader.get("/reviews")):
        assert "seen by all" in text_of(page)
        assert not any(forms(page, name) for name in ("decide", "undo", "restate", "bulk")), page.url
    assert reader.get("/bulk").status_code == 403


# --- The log -------------------------------------------------------------------------------------------------------------


def test_the_log_tells_what_each_decision_was_about_and_what_became_of_it(lake):
    browser = client(lake, ANNA)
    assert "Nobody has decided anything yet" in text_of(browser.get("/reviews"))
    decide(browser, "wrong", "uphold", "one")
    decide(browser, "wrong", "clear", "two")
    decide(client(lake, BERT), "combo-1", "clear", "three")
    decide(browser, "fast", "note", "four")
    page = browser.get("/reviews")
    entries = [text_of(part) for part in page.text.split('<li id="d')[1:]]
    assert [entry.partition('"')[0] for entry in page.text.split('<li id="d')[1:]] == ["4", "3", "2", "1"]
    four, three, two, one = entries
    assert "replaced by 2 (Anna)" in one and "stands" not in one
    assert "stands" in two and "score claimed" in two and "by Anna" in two and str(THREE) in two
    assert "stands" in three and "best combo claimed 77" in three and "by Bert" in three
    assert "four" in four and "stands" not in four


@pytest.mark.parametrize(("query", "expected"), [
    ("reviewer=Anna", [3, 1]), ("reviewer=Bert", [2]), ("action=uphold", [2, 1]), ("action=undo", []), ("game=blocks", [3, 2, 1]),
    ("game=tetcolor", []), ("id=wrong", [1]), ("id=wrong&reviewer=Bert", []), ("reviewer=%27%20or%201%3D1--", []),
    ("batch=x", []),
])  # fmt: skip
def test_the_log_can_be_filtered(lake, query, expected):
    decide(client(lake, ANNA), "wrong", "uphold")
    decide(client(lake, BERT), "combo-1", "uphold")
    decide(client(lake, ANNA), "fast", "clear")
    page = client(lake, READER).get(f"/reviews?{query}")
    assert [int(part.partition('"')[0]) for part in page.text.split('<li id="d')[1:]] == expected
    assert expected or "No decision fits" in text_of(page)


@pytest.mark.parametrize("query", ["action=kick", "game=chess", "offset=-1", "offset=x", "offset=99999999999999999999"])
def test_a_wrong_filter_is_a_sentence(lake, query):
    answer = client(lake, READER).get(f"/reviews?{query}")
    assert (answer.status_code, "Parameter" in text_of(answer)) == (400, True), text_of(answer)


def test_the_log_has_pages_that_lead_on_with_their_filter(lake):
    browser, where = client(lake, ANNA), Lake(lake)
    row = find_game(where, "wrong")
    with open_reviews(where) as store:
        for number in range(53):
            store.decide([draft("note", row, store.decisions())], reviewer="Anna", reason=f"note {number}")
    page, seen = browser.get("/reviews?id=wrong&reviewer=Anna"), []
    while True:
        seen += [int(part.partition('"')[0]) for part in page.text.split('<li id="d')[1:]]
        older = [tag["href"] for tag in elements(page, "a") if tag.get("rel") == "next"]
        if not older:
            break
        page = browser.get("/" + older[0])
    assert seen == list(range(53, 0, -1))
    back = [tag["href"] for tag in elements(page, "a") if tag.get("rel") == "prev"]
    assert "note 52" in text_of(browser.get("/" + back[0]))


def test_texts_of_people_and_players_are_escaped_wherever_a_decision_is_shown(lake):
    """D8: reason, reviewer and ids are anybody's text."""
    browser = client(lake, NAMELESS)
    evil = "</textarea><script>alert(1)</script>\u202e{{7*7}}"
    page = decide(browser, EVIL, "clear", evil, reviewer=evil)
    again_ = send(browser, page, "decide", action="uphold", reason=evil, reviewer=evil, seen=0)
    assert again_.status_code == 409
    for shown in (page, browser.get("/reviews"), again_, browser.get("/bulk?action=note")):
        scripts = [tag for tag in elements(shown, "script") if tag.get("type") != "application/json"]
        assert all(tag.get("src", "").startswith("static/") for tag in scripts), shown.url
        assert "\u202e" not in text_of(shown).replace(evil, "")
        assert not set("\x00\x1b\r") & set(text_of(shown)), shown.url
    for shown in (page, browser.get("/reviews"), again_):
        assert "<script>alert(1)</script>\\u202e{{7*7}}" in text_of(shown), shown.url
    (made,) = decisions(lake)
    assert (made.game_id, made.reason, made.reviewer) == (EVIL, evil, evil)


# --- Standings -----------------------------------------------------------------------------------------------------------


def test_restating_moves_totals_and_boards_and_undoing_brings_everything_back(lake):
    """D4, D5: the decision, the Flags and Game pages, restate, Leaderboards and Player pages; undo, restate: as before."""
    browser = client(lake, ANNA)
    before, machine = dump(warehouse(lake)), (lake / "verdicts" / f"day={THREE}" / "part-0.parquet").read_bytes()
    claimed = ask(lake, "select score from flagged_games where game_id = 'wrong'")[0][0]
    assert total(lake, "p-wrong") is None
    page = decide(browser, "wrong", "clear", "our own bug")
    assert "cleared" in text_of(browser.get("/flags?state=cleared"))
    assert total(lake, "p-wrong") is None, "not before it is restated"
    shown = send(browser, page, "restate")
    assert shown.status_code == 200
    said = text_of(shown)
    assert "Standings restated" in said and f"{claimed:,}" in said and "p-wrong" in said
    links = [tag["href"] for tag in elements(shown, "a")]
    assert "player?id=p-wrong" in links, "links to the players"
    assert total(lake, "p-wrong") == claimed
    for address in ("/boards?game=blocks", "/player?id=p-wrong"):
        assert f"{claimed:,}" in text_of(browser.get(address)), address
    assert "wait for the next night" not in text_of(browser.get("/reviews"))
    # Sent again, by a double click or another person, it finds nothing to do.
    for sender in (browser, client(lake, BERT)):
        assert "Nothing to restate" in text_of(post(sender, "/restate"))
    undone = text_of(follow(browser, send(browser, open_game(browser, "wrong"), "undo", reason="not our bug after all")))
    assert "Recorded as decision 2" in undone and "Standings take it up the next night, or now" in undone
    assert "p-wrong" in text_of(post(browser, "/restate"))
    assert "The standings hold it already." in text_of(open_game(browser, "wrong", recorded=2)), "the file from before is back"
    after = dump(warehouse(lake))
    assert {name for name in before if before[name] != after[name]} <= {"main.publication"}, "everything is back"
    assert total(lake, "p-wrong") is None
    assert (lake / "verdicts" / f"day={THREE}" / "part-0.parquet").read_bytes() == machine, "what the machine found stays"


def test_what_only_looks_unusual_counts_until_a_person_upholds_it(lake):
    """C5: no automatic exclusion from a soft sign; a human decides."""
    browser = client(lake, ANNA)
    counted = total(lake, "p-fast")
    assert counted is not None and counted > 0
    decide(browser, "fast", "note", "played at 25 moves a second")
    assert "Nothing to restate" in text_of(post(browser, "/restate"))
    assert total(lake, "p-fast") == counted
    decide(browser, "fast", "uphold", "nobody plays like that")
    post(browser, "/restate")
    assert total(lake, "p-fast") is None
    follow(browser, send(browser, open_game(browser, "fast"), "undo", reason="he showed us"))
    again(lake)
    assert total(lake, "p-fast") == counted, "a night takes decisions up by itself"


def test_while_a_night_runs_the_page_says_that_it_will_take_the_decisions_up(lake):
    browser = client(lake, ANNA)
    decide(browser, "wrong", "clear")
    before = everything(lake)
    with Lake(lake).lock():
        answer = post(browser, "/restate")
        assert answer.status_code == 409
        assert "A night is running" in text_of(answer) and "take the decisions up by itself" in text_of(answer)
        # Deciding needs no lock of the lake.
        decide(browser, "combo-1", "uphold")
    assert everything(lake) == before
    assert "Standings restated" in text_of(post(browser, "/restate"))


def test_pages_answer_while_the_standings_are_restated_under_them(lake):
    """E8, in one server: readers in other threads meet the old standings or the new ones, and never an error."""
    pages = ["", "flags", "flags?state=open", "reviews", "boards?game=blocks", "player?id=p-wrong", "game?id=wrong", "quarantine"]
    answers: list[tuple[str, int]] = []
    done = threading.Event()

    def look(url: str, start: int) -> None:
        with httpx.Client(base_url=url, timeout=60) as reader:
            for page in itertools.cycle(pages[start:] + pages[:start]):
                answers.append((page, reader.get(page).status_code))
                if done.is_set():
                    return

    with dashboard(lake, REPLAY_CHALLENGES=str(lake.parent / "challenges.csv")) as server:
        readers = [threading.Thread(target=look, args=(server.url, 2 * n)) for n in range(4)]
        for reader in readers:
            reader.start()
        with httpx.Client(base_url=server.url, timeout=60) as person:
            for number in range(4):
                page = person.get("game?id=wrong")
                (fields,) = forms(page, "decide")
                sent = fields | {"action": "uphold" if number % 2 else "clear", "reason": f"turn {number}"}
                assert person.post("decide", data=sent).status_code == 303
                moved = person.post("restate", data={"form_token": fields["form_token"]})
                assert (moved.status_code, "Standings restated" in moved.text) == (200, True), text_of(moved.text)
        done.set()
        for reader in readers:
            reader.join()
        assert server.open_files(lake) == [], "nothing is held between requests"
    assert [answer for answer in answers if answer[1] != 200] == []
    assert {page for page, _ in answers} == set(pages)


def test_a_lake_without_a_published_day_says_what_to_do(lake, tmp_path):
    (tmp_path / "empty" / "logs").mkdir(parents=True)
    browser = client(tmp_path / "empty", ANNA)
    assert "Nobody has decided anything yet" in text_of(browser.get("/reviews"))
    for answer in (post(browser, "/restate"), browser.get("/bulk")):
        assert (answer.status_code, "replay nightly" in text_of(answer)) == (404, True), text_of(answer)


def test_a_damaged_review_database_is_one_sentence_on_every_page_that_needs_it(lake):
    browser = client(lake, ANNA)
    decide(browser, "wrong", "uphold")
    before = everything(lake)
    (lake / "reviews.sqlite").write_bytes(b"no database at all" * 400)
    answers = [
        browser.get("/reviews"), browser.get("/bulk"), post(browser, "/restate"),
        post(browser, "/decide", id="wrong", action="note", reason="x", seen=0),
    ]  # fmt: skip
    for answer in answers:
        assert answer.status_code in (400, 404), (answer.url, answer.status_code)
        assert "reviews.sqlite" in text_of(answer) and "Traceback" not in text_of(answer), answer.url
    assert everything(lake) == before, "nothing is restated without decisions"
