"""What the support desk sees of a game of Tetromino Arcade: words, inputs, locks and what each was paid for."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import pytest

from engine.outcome import APPLIED
from engine.tetromino.pieces import ST_LOCKS, ST_WAIT
from engine.tetromino.single import Game, Lock, trace
from replay.game_page import render_html, style
from replay.games.tetromino_rows import WAIT_ROWS, award_words
from tests.engine.random_tetromino import make_games
from tests.replay.test_dispute import Page, _luminance, colours_of, printed
from tests.replay.tetromino_games import A1_PREFIX, DAY, GAME, KIND, RULES, TOKENS, dispute, open_game, play, played, record

SPIN = "x" + 19 * "d" + "xh"


def test_a_row_for_each_input_and_for_each_lock():
    shown = dispute(record(TOKENS, GAME))
    rows = list(shown.rows())
    assert shown.total == len(TOKENS)
    inputs = [row for row in rows if "locks" not in row.title]
    assert [row.token for row in inputs] == TOKENS
    assert [row.number for row in inputs] == list(range(1, len(TOKENS) + 1))
    assert len(rows) - len(inputs) == sum(token.endswith("h") for token in TOKENS)
    assert len({row.place for row in rows}) == len(rows)
    assert (rows[-1].score, rows[-1].best_combo) == (GAME.score, GAME.best_combo)
    assert [row.place for row in rows if row.number == len(TOKENS)] == [str(len(TOKENS)), f"{len(TOKENS)}-2"]
    assert sum(int(row.values[1][1].replace(",", "")) for row in rows) == GAME.score, "gains add up to the score"


def test_a_lock_says_what_it_was_paid_for():
    rows = list(dispute(played(SPIN, "level-4")).rows())
    assert rows[-1].details[0] == "T-spin double, level 4: 1200 x 4 = 4,800"
    assert rows[-1].details[1:3] == ("+4,800   score 4,819", "level 4, lines 2, combo 0, back-to-back on, 0.0 s")
    assert "T locks, T-spin double, level 4: 1200 x 4 = 4,800." in rows[-1].caption
    assert rows[-1].grid[-3:] == ("...J......", "xxxqqqxxxx", "xxxxqxxxxx")


def test_back_to_back_combo_and_perfect_clear_are_parts_of_their_own():
    """Four lines that empty the board, then a difficult clear behind it (A4): every part with its factors."""
    lock = Lock("T", "full", 2, (0, 1), 4, True, 1, True, 1200, 1200 * 4 * 3 // 2 + 50 * 4 + 1200 * 4, 0)
    assert award_words(lock, RULES) == [
        "T-spin double, back-to-back, level 4: 1200 x 4 x 1.5 = 7,200", "combo 1: 50 x 1 x 4 = 200",
        "perfect clear: 1200 x 4 = 4,800",
    ]  # fmt: skip
    assert award_words(replace(lock, lines=0, spin="full", back_to_back=False, combo=-1, perfect=False, base=400), RULES) == [
        "T-spin without a line, level 4: 400 x 4 = 1,600"
    ]
    assert award_words(replace(lock, lines=0, spin=""), RULES) == []
    rows = list(dispute(played("xrrrrh", "clears")).rows())
    assert rows[-1].details[:2] == ("four lines, level 2: 800 x 2 = 1,600", "perfect clear: 2000 x 2 = 4,000")


def _worth(words: list[str]) -> int:
    return sum(int(text.rsplit("= ", 1)[1].replace(",", "")) for text in words)


def test_the_parts_of_an_award_add_up_to_it():
    """Over random games of every kind: what is told is what was paid, and only what was paid nothing has no words."""
    met: set[str] = set()
    for game in make_games(random.Random("awards"), 200):
        case = game.case
        for step in trace(Game(RULES, case.deal(RULES), case.log, case.mode)):
            if step.lock:
                words = award_words(step.lock, RULES)
                assert _worth(words) == step.lock.award, (case, step)
                met |= {text.split(",")[0].split(":")[0] for text in words}
    assert met >= {"single", "double", "combo 1"}, met
    assert any("T-spin" in name for name in met), met


@pytest.mark.parametrize(
    ("ending", "details"),
    [
        ("200", ("mini T-spin single, level 1: 200 x 1 = 200", "+200   score 217")),
        ("d200", ("single, level 1: 100 x 1 = 100", "+100   score 118")),
        ("h", ("single, level 1: 100 x 1 = 100", "+100   score 119")),
    ],
)
def test_a1_what_followed_the_turn_decides(ending, details):
    """A1: only time, a soft drop, a hard drop behind the turn."""
    row = list(dispute(played(A1_PREFIX + ending, "a1")).rows())[-1]
    assert row.details[:2] == details


def test_time_locks_stand_before_their_token_and_behind_the_last_one():
    shown = dispute(played("1500l 1300", DAY))
    rows = list(shown.rows())
    assert [(row.number, row.place) for row in rows] == [(1, "1-1"), (1, "1"), (2, "2-1")]
    assert rows[0].title.startswith("Before move 1   1500l   ")
    assert rows[0].title.endswith("locks by itself")
    assert rows[2].title.startswith("After the last move   1300   ")
    assert shown.total == 2
    assert dispute(played("1500l 10", DAY)).total == 1
    assert [row.number for row in dispute(played("1500", DAY)).rows()] == [1]
    assert "Start of the game" in printed(dispute(played("1500", DAY)))


def test_the_wrong_move_is_marked_once_at_its_first_row():
    game = played("2000l5h", DAY)
    shown = dispute(replace(game, score=game.score - 1))
    wrong = [row for row in shown.rows() if row.wrong]
    assert [row.place for row in wrong] == ["2"]
    assert dispute(replace(game, lines=-1)).wrong_move == 0
    assert [row.place for row in dispute(replace(game, lines=-1)).rows() if row.wrong] == ["1-1"]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (2, 7), (60, None), (100, 120), (1, None)])
def test_a_range_is_a_slice_of_all_moves(first, last):
    shown = dispute(record([*TOKENS, "?"], GAME))
    everything = list(shown.rows())
    wanted = [row for row in everything if first <= row.number <= (last or 10**9)]
    assert list(shown.rows(first, last)) == wanted
    assert everything[-1].fault is not None


def test_the_illegal_move_is_the_last_row():
    rows = list(dispute(played("", DAY, moves="3hcc")).rows())
    assert (rows[-1].number, rows[-1].token, rows[-1].wrong) == (3, "c", True)
    assert rows[-1].fault == "'c' holds a second piece before one has locked"
    said = dispute(played("", DAY, moves="3hcc")).words()
    assert "Move 3 (c) cannot be played: it holds a second piece before one has locked." in said
    clock = dispute(played("", "zen", moves="2h5184000")).words()
    assert any(s.startswith("Move 2 (5184000) cannot be played: it passes the end of the game's clock") for s in clock)
    unread = dispute(played("", DAY, moves="3h7q")).words()
    assert "Move 2 (7q) cannot be read: it is not how a move is written." in unread


def test_a_wait_of_a_day_is_cut_to_its_first_locks_and_the_last():
    """E9: one absurd log must not make an absurd page."""
    shown = dispute(played("5184000", "zen"))
    rows = list(shown.rows())
    assert len(rows) == WAIT_ROWS + 1
    whole = open_game("5184000", "zen")
    locks = 0
    while whole.st[ST_WAIT] >= 0 or whole.status == APPLIED:
        whole._go(1)
        locks = whole.st[ST_LOCKS]
    assert f"{locks - WAIT_ROWS - 1:,} more pieces" in rows[-1].details[-1]
    assert re.fullmatch(r"[\d,]+ more pieces locked before this one", rows[-1].details[-1])
    assert rows[-1].score == shown.outcome.score


def test_zen_tells_its_rescue():
    rows = list(dispute(played("h" * 40, "zen")).rows())
    assert any("the rows above row 10 are emptied" in row.details for row in rows)
    over = list(dispute(played("h" * 12, DAY)).rows())
    assert over[-1].details[-1] == "the game is over"
    assert over[-1].caption.endswith("The game is over.")


@pytest.mark.parametrize("mode", ["marathon/1", "zen"])
def test_a_hold_whose_piece_has_no_room_tells_what_it_did(mode):
    """The game ends there, or (zen) the top of the board is emptied there, and not at the lock that follows."""
    start = "/".join(["3J6"] * 21)
    game = KIND.new_game(RULES, KIND.deal(RULES, mode, 0, "O I O O", start), b"ch", mode)
    rows = list(KIND.rows(game, 0, None))
    told = "the rows above row 10 are emptied" if mode == "zen" else "the game is over"
    assert [told in row.details for row in rows] == [True, *(False for _ in rows[1:])]
    assert rows[0].caption.endswith("play goes on." if mode == "zen" else "The game is over.")


def test_what_left_out_locks_emptied_is_not_told_of_the_last_one():
    """A long wait in zen, of which the last lock emptied nothing, and one whose last lock did."""
    for ticks, emptied in ((40_000, False), (45_000, True)):
        deal = KIND.deal(RULES, "zen", 0, " ".join("O" * 3000), "")
        rows = list(KIND.rows(KIND.new_game(RULES, deal, b"%d" % ticks, "zen"), 0, None))
        assert len(rows) == WAIT_ROWS + 1
        assert ("the rows above row 10 are emptied" in rows[-1].details) is emptied, ticks


def test_rows_above_the_field_are_drawn_as_far_as_they_are_used():
    shown = dispute(played("h" * 12, DAY))
    heights = [len(row.grid) for row in [shown.start(), *shown.rows()]]
    assert heights[0] == 22
    assert min(heights) == 20
    assert max(heights) > 20
    data = json.loads(Page(render_html(shown)).scripts[0])
    assert {len(row["grid"]) for row in data["rows"]} == {10 * max(heights)}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_terminal_fits_80_columns_and_shows_letters(encoding):
    text = printed(dispute(record(TOKENS, GAME, score=GAME.score + 7)), encoding=encoding)
    assert max(map(len, text.split("\n"))) <= 80
    assert "hold: none" in text
    assert re.search(r"next: \w  \w  \w  \w  \w", text)
    assert [line for line in text.split("\n") if line.startswith(">>> wrong from here on: score")]
    assert text.count("Start of the game") == 1
    assert ("@T" in text, "\u2593T" in text) == ((True, False) if encoding == "ascii" else (False, True))
    assert "level                            2                   2" in text


def test_words_of_level_lines_and_boards():
    said = " ".join(dispute(record(TOKENS, GAME, level=9, lines=3)).words())
    assert "The level that was uploaded is 9; replaying the moves gives 2." in said
    assert f"The number of lines that was uploaded is 3; replaying the moves gives {GAME.lines}." in said
    assert re.search(r"is 9; replaying the moves gives 2. From move \d+ \(h\) on the two cannot agree.", said)
    impossible = " ".join(dispute(record(TOKENS, GAME, level=99)).words())
    assert "A level of 99 is not possible with this many moves: it is at most " in impossible
    last = GAME.board[-1]
    other = "I" if last != "I" else "J"
    board = " ".join(dispute(record(TOKENS, GAME, final_board=GAME.board[:-1] + other)).words())
    assert f"Cell filled with something else in the upload than in the replay: column 10 row 1 ({other}, not {last})." in board
    empty = " ".join(dispute(record(TOKENS, GAME, final_board="-")).words())
    assert "Cells empty in the upload, filled in the replay: column 5 row 4" in empty or "and " in empty
    fine = dispute(record(TOKENS, GAME)).words()
    assert f"the level 2, {GAME.lines} cleared lines and the same final board." in fine[0]
    assert fine[-1] == "The game was not over when the log ended. What was uploaded is right as far as it goes."


def test_words_of_a_truncated_log_name_the_missing_input():
    tokens, whole = play(12)
    said = " ".join(dispute(record(tokens[:-1], whole)).words())
    assert "with one more legal move it gives exactly what was uploaded" in said
    assert "The missing move can be " in said


def test_the_page_shows_field_hold_next_and_letters():
    shown = dispute(record(["c", *TOKENS[:12]], open_game("c" + "".join(TOKENS[:12])), score=-1))
    html = render_html(shown)
    page = Page(html)
    data = json.loads(page.scripts[0])
    assert data["rows"][0]["n"] == 0
    assert [panel["title"] for panel in data["rows"][1]["panels"]] == ["Hold", "Next"]
    assert len(data["rows"][1]["panels"][1]["items"]) == 5
    assert set(data["shapes"]) <= set("IJLOSTZ")
    assert data["shapes"]["I"] == ["IIII"]
    places = [attributes["id"] for tag, attributes in page.tags if str(attributes.get("id")).startswith("move-")]
    assert places == [f"move-{row['place']}" for row in data["rows"]]
    assert data["signs"]["T"] == data["signs"]["t"] == "T"
    assert {"piece-t", "live"} <= set(data["css"]["t"].split())
    assert len({data["css"][piece] for piece in "IJLOSTZ"}) == 7


def test_without_scripts_the_page_still_tells_every_step():
    shown = dispute(played(SPIN, "level-4", score=1))
    html = re.sub(r"<script.*?</script>", "", render_html(shown), flags=re.S)
    text = Page(html).text
    assert "locks: T-spin double, level 4: 1200 x 4 = 4,800" in text
    assert text.count("Tsoft drop") == 19
    for sentence in shown.words():
        assert sentence in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_aa(scheme):
    colours = colours_of(style("tetromino"), scheme)
    for piece in "ijlostz":
        for least, other in ((4.5, "piece-sign"), (3.0, "empty"), (3.0, "card")):
            high, low = sorted((_luminance(colours[other]), _luminance(colours[f"piece-{piece}"])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= least, (piece, other)


def test_rendering_repeats_itself():
    assert render_html(dispute(record(TOKENS, GAME))) == render_html(dispute(record(TOKENS, GAME)))
    assert printed(dispute(record(TOKENS, GAME))) == printed(dispute(record(TOKENS, GAME)))
