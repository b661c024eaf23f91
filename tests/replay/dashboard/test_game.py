"""The Game page: the same words as the command line's, the player, the record, the review, and what it must never show."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from replay.challenges import load_challenges
from replay.dashboard import traces
from replay.dashboard.traces import KEPT, MOST_KEPT, PAGE_MOVES, Kept, Trace
from replay.game_page import STATIC
from replay.lake import Lake
from replay.lookup import find_rows, find_uploads
from replay.published import as_published, log_part, look_again, record_text
from replay.record import check_object
from replay.reviews.games import draft
from replay.reviews.model import subject_of
from replay.reviews.store import open_reviews
from replay.rulebook import load_rulebook
from replay.trace import Dispute
from replay.verdict import JudgeSettings
from replay.words import visible, words
from tests.browser.watch import Watch
from tests.replay.dashboard.serving import dashboard
from tests.replay.dashboard.support import ANNA, READER, client, elements, post, text_of
from tests.replay.night_support import (
    EVIL,
    REASONS,
    THREE,
    lake_of_all_kinds,
    land,
    night,
    simulated,
    upload,
    verdict_rows,
    write_challenges,
    write_players,
)
from tests.stage import on_stage

GAMES = ("blocks", "tetromino", "tetcolor")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return lake_of_all_kinds(tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def lake(kinds, monkeypatch):
    """A lake with a game of every kind, and the settings that it was verified with."""
    monkeypatch.setenv("REPLAY_CHALLENGES", kinds[1]["REPLAY_CHALLENGES"])
    return kinds[0]


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """A day of the three games, half of it forged."""
    root = simulated(tmp_path_factory.mktemp("three") / "lake", 16, days=[THREE], forged_share=0.5, others=dict.fromkeys(GAMES[1:], 1.0))
    night(root)
    return root


def place(row):
    return {"id": row["game_id"], "day": THREE, "file": row["source_file"], "line": row["source_line"]}


def page(lake, person=ANNA, **parameters):
    answer = client(lake, person).get("/game", params=parameters)
    assert answer.status_code == 200, (parameters, answer.status_code, text_of(answer)[:400])
    return answer


def data_of(answer):
    """What the page's script reads."""
    return json.loads(unescape(re.search(r'<script type="application/json" id="data">(.*?)</script>', answer.text, re.S).group(1)))


# --- What it says --------------------------------------------------------------------------------------------------------


def test_every_game_says_what_the_command_line_says(three):
    """C8: rule, move, claimed and replayed value, in the words for the player; the board opens at the wrong move."""
    rulebook = load_rulebook()
    table, where, seen = load_challenges(rulebook=rulebook), Lake(three), set()
    # Every flagged game, and one in three of the others.
    rows = [row for at, row in enumerate(verdict_rows(three)) if row["verdict"] == "flagged" or at % 3 == 0]
    for row in rows:
        answer, (first, *_) = page(three, **place(row)), find_rows(where, row["game_id"])
        found = look_again(where, {**row, "day": THREE}, rulebook, table)
        shown = Dispute(
            found.record, found.verdict, rulebook.find(row["game"], row["rules"]), table.find(row["game"], row["challenge"])
        )
        said = text_of(answer)
        for sentence in shown.words():
            assert " ".join(sentence.split()) in said, (row["game_id"], sentence)
        if not shown.total and shown.start() is None:
            assert "nothing could be replayed" in said, row["game_id"]
            continue
        data = data_of(answer)
        opened = data["rows"][data["opened"]]
        if shown.wrong_move is not None:
            assert (opened["n"], opened["wrong"]) == (shown.wrong_move + 1, True), row["game_id"]
            assert said.count(data["wrong"]) == 2, row["game_id"]
        assert data["total"] == shown.total
        assert first["game_id"] == row["game_id"]
        seen.add((row["game"], row["verdict"]))
    assert seen >= {(game, verdict) for game in GAMES for verdict in ("verified", "flagged")}


def test_the_policy_is_kept_without_inline_script_or_style(three):
    """All that is in the page besides text are links to files of ours and data."""
    for row in verdict_rows(three)[:30]:
        answer = page(three, **place(row))
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", answer.text), row["game_id"]
        scripts = [script for script in elements(answer, "script") if script.get("type") != "application/json"]
        assert [urlsplit(script["src"]).path for script in scripts] == ["static/player.js"]
        sheets = [urlsplit(link["href"]).path for link in elements(answer, "link") if link["rel"] == "stylesheet"]
        assert sheets[1:] == ["static/player.css", f"static/look-{row['game']}.css", "static/game.css"]
    served = client(three).get("/static/player.js")
    assert served.content == (STATIC / "player.js").read_bytes()


def test_suspicions_are_no_proof_and_have_their_numbers(lake):
    """C5, C8: what is only unusual stands apart, with the figure and what is usual."""
    root = lake.parent / "fast"
    fast = upload("fast", "p-fast", seed=2, tokens=40)
    fast = replace(fast, finished_at=fast.started_at + 2_000_000, uploaded_at=fast.started_at + 3_000_000)
    copied = replace(upload("copied", "p-copied", seed=2, tokens=40), uploaded_at=fast.uploaded_at + 60_000_000)
    land(root, THREE, "a.ndjson", [fast, copied])
    night(root, challenges=lake.parent / "challenges.csv")
    said = text_of(page(root, id="fast"))
    assert "Only unusual" in said and "50.0 ms a move" in said and "noted below 200 ms, in logs of 10 moves or more" in said
    assert said.index("50.0 ms a move") > said.index("Only unusual") > said.index("What its replay shows")
    copied_page = page(root, id="copied")
    assert "40 moves, 2 players with this log" in text_of(copied_page)
    assert 'href="game?id=fast"' in copied_page.text
    assert "None of this proves anything" in said
    assert "Only unusual" not in text_of(page(lake, id="score_mismatch"))


def test_limits_are_those_of_the_night_that_noted(lake):
    """Whatever the pages are started with, and when: the limit stands beside the figure that it was held against."""
    root = lake.parent / "limits"
    slow = upload("slow", "p-slow", seed=2, tokens=40)
    slow = replace(slow, finished_at=slow.started_at + 40_000_000, uploaded_at=slow.started_at + 41_000_000)
    land(root, THREE, "a.ndjson", [slow])
    night(root, challenges=lake.parent / "challenges.csv", judge=JudgeSettings(pace_min_ms_per_token=1500, pace_min_tokens=7))
    assert "noted below 1500 ms, in logs of 7 moves or more" in text_of(page(root, id="slow"))
    run = root / "runs" / f"day={THREE}" / "run.json"
    run.write_text(run.read_text("ascii").replace('"limits"', '"other"'), "ascii")
    assert "noted below 200 ms, in logs of 10 moves or more" in text_of(page(root, id="slow"))
    run.unlink()
    assert "noted below 200 ms, in logs of 10 moves or more" in text_of(page(root, id="slow"))


def test_c5_the_page_of_a_game_with_a_clock_shows_both_clocks(three):
    """C5: the ratio of every game, whether it looks unusual or not; the block puzzle has one clock only."""
    rows = {row["game"]: row for row in verdict_rows(three) if row["verdict"] == "verified"}
    for game, row in rows.items():
        seconds = (row["finished_at"] - row["started_at"]).total_seconds()
        shown = text_of(page(three, **place(row)))
        assert ("Clocks" in shown) == (game != "blocks")
        if game != "blocks":
            assert f"{seconds:,.1f} s for {row['ticks'] / 60:,.1f} s of game" in shown


@pytest.mark.parametrize("code", REASONS)
def test_every_reason_has_its_page(lake, code):
    answer = page(lake, id=code)
    said = text_of(answer)
    assert "Why it is flagged" in said
    assert "✕ flagged" in said and "! nobody has decided" in said and "does not count" in said
    assert {form["action"] for form in elements(answer, "form") if form["action"] != "game"} == {"decide"}


def test_where_clearing_would_not_make_it_count_it_says_why(lake):
    assert "Clearing it would not make it count: no score below 0" in text_of(page(lake, id="impossible_score"))
    assert "Clearing it would not" not in text_of(page(lake, id="score_mismatch"))


def test_a_copy_and_its_original(lake):
    answer = page(lake, id="copy")
    assert "A copy is not decided on" in text_of(answer)
    assert 'href="game?id=fine"' in answer.text
    assert not [form for form in elements(answer, "form") if form["action"] == "decide"]


def test_several_uploads_under_one_id_are_linked(lake):
    """The first is shown, each other one by its own address."""
    uploads = find_uploads(Lake(lake), "conflicting_upload").rows
    assert len(uploads) == 2
    for row in ({}, *uploads):
        answer = page(lake, id="conflicting_upload", **({name: value for name, value in place(row).items() if name != "id"} if row else {}))
        links = [parse_qs(urlsplit(link["href"]).query) for link in elements(answer, "a") if link.get("href", "").startswith("game?")]
        others = {int(link["line"][0]) for link in links if link["id"] == ["conflicting_upload"] and "line" in link}
        here = row["source_line"] if row else uploads[0]["source_line"]
        assert others == {other["source_line"] for other in uploads} - {here}
        fields = {field["name"]: field["value"] for field in elements(answer, "input") if field.get("type") == "hidden"}
        assert fields["line"] == str(here)
    # The command shows the very upload of the page, not the one that stands.
    other = f"--day {THREE} --file={uploads[1]['source_file']} --line {uploads[1]['source_line']} conflicting_upload"
    for row, told in ((uploads[0], "game.html conflicting_upload"), (uploads[1], other)):
        assert told in text_of(page(lake, **place(row))).partition("Replay it on your own machine")[2]


def test_a_quarantined_record_has_a_page_with_its_reason(lake):
    answer = page(lake, id="half")
    assert "field game is missing" in text_of(answer)
    assert "Nothing is held against the player" in text_of(answer)
    assert not [form for form in elements(answer, "form") if form["action"] == "decide"]
    # One without an id that can be shown has its place only.
    row = next(row for row in verdict_rows(lake, kind="quarantine") if row["game_id"] is None)
    answer = page(lake, day=THREE, file=row["source_file"], line=row["source_line"])
    assert visible(row["reason"], 600) in unescape(answer.text)
    assert client(lake).get("/game.json", params={"id": "half"}).status_code == 404


@pytest.mark.parametrize(
    ("parameters", "status", "told"),
    [
        ({}, 400, "Name a game by its id"), ({"id": "nix"}, 404, "no published day has a game 'nix'"),
        ({"id": "fine", "day": "2026-13-01"}, 400, "is no day"), ({"id": "fine", "line": "x"}, 400, "Parameter line 'x'"),
        ({"id": "fine", "line": "999"}, 404, "No upload of game 'fine' lies there"),
        ({"id": "fine", "from": "0"}, 400, "Parameter from"), ({"id": "fine", "from": "9", "to": "3"}, 400, "are no range"),
        ({"day": "2026-10-31", "file": "a.ndjson", "line": "999"}, 404, "line 999 of a file 'a.ndjson'"),
        ({"id": "\x1b[2J<b>"}, 404, "\\x1b[2J<b>"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_a_sentence(lake, parameters, status, told):
    answer = client(lake).get("/game", params=parameters)
    assert answer.status_code == status
    assert told in text_of(answer)


# --- The review ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def decided(lake, tmp_path):
    """A copy of the lake's published part whose decisions are this test's own."""
    import shutil

    root = tmp_path / "lake"
    shutil.copytree(lake, root)
    yield root
    KEPT.find("another test", None)


def test_only_who_may_decide_is_offered_to(lake):
    assert "decide" in {form["action"] for form in elements(page(lake, id="score_mismatch"), "form")}
    answer = page(lake, READER, id="score_mismatch")
    assert not {"decide", "undo"} & {form["action"] for form in elements(answer, "form")}
    assert "You may read this, but not decide" in text_of(answer)
    # Nothing speaks against an honest game: only a note can be left.
    fields = [field["value"] for field in elements(page(lake, id="fine"), "input") if field.get("name") == "action"]
    assert fields == ["note"]


def test_a_decision_made_with_the_form_stands_on_the_page_and_can_be_undone(decided):
    anna = client(decided)
    answer = anna.get("/game", params={"id": "score_mismatch"})
    fields = {field["name"]: field["value"] for field in elements(answer, "input") if field.get("type") == "hidden"}
    assert set(fields) == {"form_token", "seen", "facts", "id", "day", "file", "line"}
    reply = post(anna, "/decide", **{**fields, "action": "clear", "reason": "our <b>bug</b>\u202e"})
    assert reply.status_code == 303, text_of(reply)
    shown = anna.get("/" + reply.headers["location"])
    said = text_of(shown)
    assert "✓ cleared" in said and "✓ counts" in said and "Cleared by Anna" in said
    assert "our <b>bug</b>\\u202e" in said and "<b>bug" not in shown.text and "\u202e" not in shown.text
    (form,) = [form for form in re.findall(r'<form method="post" action="undo">.*?</form>', shown.text, re.S) if "u1-reason" in form]
    undo = {field["name"]: field["value"] for field in elements(form, "input") if field.get("type") == "hidden"}
    assert (undo["decision"], undo["seen"]) == ("1", "1")
    reply = post(anna, "/undo", **{**undo, "reason": "no, not ours"})
    assert reply.status_code == 303, text_of(reply)
    said = text_of(anna.get("/game", params={"id": "score_mismatch"}))
    assert "undone by 2" in said and "Open: nobody has decided about it" in said and "our <b>bug</b>" in said


def test_a_dismissed_game_that_came_back_says_what_changed(decided):
    """C8: a dismissal stands until a fact speaks against the game that did not then, and the page names it."""
    row = find_rows(Lake(decided), "score_mismatch")[0]
    with open_reviews(Lake(decided)) as store:
        item = draft("clear", row, [])
        store.decide([replace(item, facts=('{"claimed": 9, "found": 8, "reason": "combo_mismatch"}',))], reviewer="Bea", reason="fine")
    said = text_of(page(decided, id="score_mismatch"))
    assert "↺ returned" in said and "Why it came back" in said
    assert re.search(r"score claimed 7, replayed [\d,]+ \(new\)", said)
    assert "best combo claimed 9, replayed 8 (no longer)" in said
    assert "“fine”" in said and "Bea" in said


# --- The record as uploaded ----------------------------------------------------------------------------------------------


def test_the_record_is_shown_and_can_be_replayed_again(lake, three):
    for root, row in [(lake, find_rows(Lake(lake), "board_mismatch")[0]), *((three, row) for row in verdict_rows(three)[:20])]:
        answer = client(root).get("/game.json", params=place(row))
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        record = check_object(answer.json())
        assert (record.game_id, record.score, record.final_board) == (row["game_id"], row["score"], row["final_board"])
        landed = page(root, **place(row))
        assert f"{row['log_hash_high']:016x}{row['log_hash_low']:016x}" in landed.text
        assert f"{visible(row['source_file'])} , {row['source_line']}" in text_of(landed)


def test_the_wrong_token_is_marked_in_the_log(lake):
    answer = page(lake, id="illegal_move")
    assert re.search(r'<pre class="log"[^>]*>1a1 <strong class="wrong-token">9b9</strong></pre>', answer.text)
    assert 'class="wrong-token"' not in page(lake, id="fine").text


def test_hostile_texts_are_visible_texts(lake):
    """D8: in the heading, the record, its log, the file's name and the download's name."""
    for row in verdict_rows(lake):
        answer = page(lake, **place(row))
        # A form has to name the very id; nobody looks at what it hides.
        seen = re.sub(r'<input type="hidden" name="(id|file)" value="[^"]*">', "", answer.text)
        assert not set("\x1b\x07\u202e\x00\r") & set(seen), row["game_id"]
        assert "<script>alert" not in answer.text
        download = client(lake).get("/game.json", params=place(row))
        name = download.headers["content-disposition"]
        assert re.fullmatch(r'attachment; filename="game-[A-Za-z0-9_-]{1,60}\.json"', name), name
        assert check_object(download.json()).game_id == row["game_id"]
    answer = page(lake, id=EVIL)
    assert visible(EVIL) in unescape(answer.text)
    command = text_of(answer).partition("Replay it on your own machine")[2]
    assert "replay game --lake" not in command, "an id with control signs cannot be typed"
    strange = find_rows(Lake(lake), "strange")[0]
    assert "alert(1)" in text_of(page(lake, **place(strange)))


def test_texts_of_a_record_are_cut_and_made_visible():
    found = upload("g\u202e\u05e9\x1b", "p" * 5000, platform="a\u2028b\U0001f600", nation=None)
    text = record_text(found)
    assert not set("\u202e\x1b\u2028\u05e9") & set(text)
    assert "p" * 400 + "... (5,000 characters)" in text
    read = json.loads(text)
    assert (read["game_id"], read["platform"], read["nation"]) == (found.game_id, found.platform, None)
    assert "\U0001f600" in text
    long = log_part(replace(found, moves="1a1" * 5000), 2500)
    assert (long.token, long.left_before, long.left_after) == ("1a1", 3 * 2500 - 1500, 3 * 2499 - 1500)
    assert len(long.before) == len(long.after) == 1500


# --- Never shown ---------------------------------------------------------------------------------------------------------


def test_an_anonymised_players_old_id_is_gone_at_once(decided, tmp_path, monkeypatch):
    """D9: also from what was drawn before, and before the next night has rewritten anything."""
    assert "p-score_mismatch" in page(decided, id="score_mismatch").text
    assert len(KEPT) >= 1
    players = write_players(tmp_path / "players.csv", ("p-score_mismatch", "anonymised", "anon-1"), ("p-c1", "anonymised", "anon-2"))
    monkeypatch.setenv("REPLAY_PLAYERS", str(players))
    answer = page(decided, id="score_mismatch")
    assert "p-score_mismatch" not in answer.text and "anon-1" in answer.text
    assert len(KEPT) == 2, "one replay and one drawing: what was made under the old table is kept no longer"
    assert "p-score_mismatch" not in client(decided).get("/game.json", params={"id": "score_mismatch"}).text
    conflict = page(decided, id="conflicting_upload")
    assert "p-c1" not in conflict.text and "anon-2" in conflict.text


def test_nothing_drawn_outlives_a_change_of_the_tables(decided, tmp_path, monkeypatch):
    """Another challenge table: the replay of now differs, and the page says so as the command line does."""
    assert "The replay of today differs" not in text_of(page(decided, id="score_mismatch"))
    other = tmp_path / "other.csv"
    other.write_text(write_challenges(tmp_path / "c.csv").read_text().replace("1234567", "99"), "utf-8")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(other))
    said = text_of(page(decided, id="score_mismatch"))
    assert "Today's rules and challenges give" in said
    assert "run the night of 2026-10-31 again if they were mended" in said
    # The reasons are those that were published.
    assert "The score that was uploaded is 7" in said


def test_a_second_look_replays_nothing_and_knows_of_new_decisions(decided, monkeypatch):
    first = page(decided, id="score_mismatch")

    def never(*_args):
        raise AssertionError("replayed again")

    monkeypatch.setattr("replay.published.look_again", never)
    with open_reviews(Lake(decided)) as store:
        store.decide([draft("uphold", find_rows(Lake(decided), "score_mismatch")[0], [])], reviewer="Bea", reason="surely")
    second = page(decided, id="score_mismatch")
    assert "“surely”" in text_of(second)
    assert data_of(second) == data_of(first)
    assert client(decided).get("/game", params={"id": "combo_mismatch"}).status_code == 500, "another game is replayed"


def test_few_traces_are_kept():
    kept, trace = Kept(), Trace(*[None] * 9)  # type: ignore[arg-type]
    small = replace(trace, results="a", player="b", record="c", log=log_part(upload("g", "p"), None))
    kept.find("tables", 0)
    for key in range(MOST_KEPT + 5):
        kept.keep("tables", key, small)
    assert len(kept) == MOST_KEPT
    assert kept.find("tables", 4) is None and kept.find("tables", 5) is not None
    kept.keep("tables", "big", replace(small, player="x" * traces.LARGEST_KEPT))
    assert len(kept) == 0, "one that is too large is not kept, and neither is what had to go for it"
    kept.keep("other tables", 1, small)
    assert len(kept) == 0, "drawn from tables that were replaced meanwhile"


def test_a_game_whose_file_is_gone_keeps_its_page(decided):
    """The verdict stays, with its reasons, and can be decided on; another record in its place is nobody's."""
    row = find_rows(Lake(decided), "score_mismatch")[0]
    path = Lake(decided).day("logs", THREE) / row["source_file"]
    path.unlink()
    answer = page(decided, id="score_mismatch")
    said = text_of(answer)
    assert "It cannot be replayed here any more" in said
    for sentence in words(as_published(row, load_rulebook()), load_rulebook().find("blocks", "1.2.0")):
        assert sentence in said
    assert "decide" in {form["action"] for form in elements(answer, "form")}
    assert client(decided).get("/game.json", params={"id": "score_mismatch"}).status_code == 404
    land(decided, THREE, row["source_file"], [upload("somebody", "else", score=3)] * 20)
    said = text_of(page(decided, id="score_mismatch"))
    assert "is not the record that was verified any more" in said
    assert "else" not in said.partition("Why it is flagged")[2].partition("Review")[0]


# --- Long logs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A log of many moves, wrong in its middle."""
    root, moves = tmp_path_factory.mktemp("long"), 3 * PAGE_MOVES + 7
    challenges = root / "challenges.csv"
    pieces = " ".join(["1"] * (moves + 3))
    challenges.write_text(f"game,challenge,mode,rules,rng_seed,start_board,pieces\nblocks,{THREE},daily,1.2.0,0,,{pieces}\n", "utf-8")
    log = "".join(f"1{'abcdefgh'[i % 8]}1" for i in range(moves))
    found = replace(upload("long", "p"), moves=log, score=60_000, best_combo=1, final_board="-", finished_at=upload("long", "p").started_at + 3_600_000_000)
    land(root / "lake", THREE, "a.ndjson", [replace(found, uploaded_at=found.finished_at)])
    night(root / "lake", challenges=challenges)
    return root / "lake", challenges, moves


def test_a_long_log_is_shown_in_parts(long, monkeypatch):
    """E9: bounded work and a bounded page, with links to the other moves and a sentence that says so."""
    lake, challenges, moves = long
    monkeypatch.setenv("REPLAY_CHALLENGES", str(challenges))
    answer = page(lake, id="long")
    numbers = [row["n"] for row in data_of(answer)["rows"]]
    assert len(numbers) == PAGE_MOVES and numbers[0] > 1
    assert data_of(answer)["rows"][data_of(answer)["opened"]]["wrong"]
    assert f"The log has {moves:,} moves; one page shows at most {PAGE_MOVES:,} of them." in text_of(answer)
    links = {link["href"] for link in elements(answer, "a") if "from=" in link.get("href", "") and link["href"].startswith("game?")}
    seen = set(numbers)
    while links:
        link = links.pop()
        other = client(lake).get("/" + link.partition("#")[0])
        assert other.status_code == 200, link
        new = {row["n"] for row in data_of(other)["rows"]}
        assert len(other.text) < 1_500_000
        if not new <= seen:
            links |= {a["href"] for a in elements(other, "a") if "from=" in a.get("href", "") and a["href"].startswith("game?")}
        seen |= new
    assert seen - {0} == set(range(1, moves + 1)), "every move is on a page that a link leads to"
    cut = page(lake, id="long", **{"from": 1, "to": 999_999})
    assert [row["n"] for row in data_of(cut)["rows"]][-1] == PAGE_MOVES
    assert "Where it parts" in text_of(cut)
    assert f"the range holds none of the {moves} moves" in text_of(page(lake, id="long", **{"from": 900_000}))
    assert [row["n"] for row in data_of(page(lake, id="long", to=12))["rows"]] == list(range(13))


# --- In a browser --------------------------------------------------------------------------------------------------------


def parting(lake, game):
    """A flagged game of some moves with a move from which it is wrong."""
    wrong = [
        row for row in verdict_rows(lake)
        if row["game"] == game and row["moves"] >= 5 and any(reason["move"] is not None for reason in json.loads(row["reasons"]))
    ]  # fmt: skip
    return max(wrong, key=lambda row: min(row["moves"], 200))


@contextmanager
def opened(browser, url, **context):
    made = browser.new_context(viewport={"width": context.pop("width", 1280), "height": 900}, **context)
    try:
        yield made.new_page()
    finally:
        made.close()


@on_stage
@pytest.mark.parametrize("game", GAMES)
def test_the_player_steps_under_the_policy(browser, three, game):
    """Arrow keys, Home and End, the slider, the buttons and the list, without an error in the console."""
    row = parting(three, game)
    query = "&".join(f"{name}={value}" for name, value in place(row).items())
    with dashboard(three) as served, opened(browser, served.url) as tab:
        watch = Watch(served.url)
        watch.page(tab)
        tab.goto(f"{served.url}game?{query}")
        data = json.loads(tab.locator("#data").text_content())
        last, at = len(data["rows"]) - 1, data["opened"]
        moves = {"ArrowLeft": -1, "ArrowRight": 1}

        def is_at(index):
            found = data["rows"][index]
            assert tab.locator("#slider").input_value() == str(index)
            assert tab.locator("#say").text_content().endswith(found["say"])
            assert tab.locator("#board").get_attribute("aria-label") == found["say"]
            assert tab.locator("#list [aria-current]").get_attribute("id") == f"move-{found['place']}"
            assert tab.locator("#board i").evaluate_all("cells => cells.map(cell => cell.className)") == [
                data["css"][cell] for cell in found["grid"]
            ]

        is_at(at)
        for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "Home", "ArrowLeft", "ArrowRight", "End", "ArrowRight", "ArrowLeft"):
            at = {"Home": 0, "End": last}.get(key, min(last, max(0, at + moves.get(key, 0))))
            tab.keyboard.press(key)
            is_at(at)
        tab.locator("#slider").fill(str(last // 2))
        is_at(last // 2)
        tab.locator("#slider").press("ArrowRight")
        is_at(last // 2 + 1)
        tab.locator("#to-wrong").click()
        is_at(data["opened"])
        tab.locator("#list tr[data-row='1'] a").click()
        is_at(1)
        # Who writes a reason moves in the text.
        box = tab.locator("form.decide textarea")
        box.fill("ab")
        box.press("ArrowLeft")
        box.press("Home")
        is_at(1)
        assert watch.wrong == []


@on_stage
def test_without_scripts_the_opened_move_and_the_list_are_there(browser, three):
    row = parting(three, "tetcolor")
    query = "&".join(f"{name}={value}" for name, value in place(row).items())
    with dashboard(three) as served, opened(browser, served.url, java_script_enabled=False, width=390) as tab:
        tab.goto(f"{served.url}game?{query}")
        assert tab.locator("#say").text_content().startswith("✗ wrong from here on")
        assert not tab.locator(".controls").is_visible()
        assert tab.locator("#list tr.wrong").count() == 1
        assert tab.locator("form.decide button").is_visible()


@on_stage
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_its_window(browser, three, width, scheme):
    rows = {r["game"]: r for r in verdict_rows(three) if r["verdict"] == "flagged" and "impossible_score" in r["reason_codes"]}
    rows |= {r["game"]: r for r in verdict_rows(three) if r["verdict"] == "flagged" and r["game"] not in rows}
    assert set(rows) == set(GAMES)
    with dashboard(three) as served, opened(browser, served.url, color_scheme=scheme, width=width) as tab:
        for row in rows.values():
            tab.goto(f"{served.url}game?" + "&".join(f"{name}={value}" for name, value in place(row).items()))
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, row["game_id"]


def test_subjects_are_those_of_the_law(lake):
    """The page's decisions are looked up under the key that nights use."""
    row = find_rows(Lake(lake), "score_mismatch")[0]
    assert subject_of(row) == subject_of({**row, "day": None, "reasons": "[]"})
    assert Path(lake).exists()
