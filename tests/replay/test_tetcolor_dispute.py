"""What the support desk sees of a game of Tetcolor: words, inputs, locks, passes, bomb generations, and colours for all eyes."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from itertools import combinations

import pytest

from engine.tetcolor import layout as at
from engine.tetcolor import notation
from engine.tetcolor.single import Game, trace
from replay.game_page import render_html, style
from replay.games.tetcolor_look import COLOUR_CODES, DESTROYED, LIVE, LOOK, SIGN_CODES, THAWED, cell_of, code
from tests.engine.random_tetcolor import make_games
from tests.replay.night_support import EVIL
from tests.replay.test_dispute import Page, _luminance, colours_of, printed
from tests.replay.tetcolor_games import DAY, KIND, MODES, RULES, dispute, open_game, play, played, record

TOKENS, GAME = play(30)


def told(log, challenge, **changes):
    """What each row is about."""
    return [row.details[0] for row in dispute(played(log, challenge, **changes)).rows()]


# --- Rows ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", MODES)
def test_a_row_for_each_input_lock_pass_and_generation(family):
    tokens, game = play(30, family)
    shown = dispute(record(tokens, game, challenge=family))
    rows = list(shown.rows())
    assert shown.total == len(tokens)
    inputs = [row for row in rows if row.place.isdigit()]
    assert [row.token for row in inputs] == list(tokens)
    assert [row.number for row in inputs] == list(range(1, len(tokens) + 1))
    assert sum(row.details[0].endswith("locks") for row in rows) == game.pieces_settled
    assert len({row.place for row in rows}) == len(rows)
    assert (rows[-1].score, rows[-1].best_combo) == (game.score, game.best_combo)
    assert sum(int(row.values[1][1].replace(",", "")) for row in rows) == game.score, "gains add up to the score"


def test_a11_a_cascade_is_told_pass_by_pass():
    """A11: the multiplier doubles, and is 1 again at the next settle."""
    assert told("hh", "cascade")[1:] == [
        "hard drop", "C:baa locks", "pass 1: 3 blocks, 6 x 1 = 6", "blocks fall", "pass 2: 3 blocks, 6 x 2 = 12"
    ]  # fmt: skip
    rows = list(dispute(played("hh", "cascade")).rows())
    assert [dict(row.values)["Multiplier"] for row in rows] == ["-", "-", "-", "x1", "-", "x2"]
    assert rows[-1].caption == "Move 2 (h): pass 2: 3 blocks, 6 x 2 = 12. It brings 12 points, the score is 18."


def test_a11_bombs_are_told_generation_by_generation():
    """A11: a horizontal bomb in a run, what its row holds beside it, ice over a bomb, and a bomb that it sets off."""
    rows = list(dispute(played("5hh", "bombs")).rows())
    assert [row.details[0] for row in rows[3:]] == [
        "pass 1: 3 blocks, 6 x 1 = 6", "generation 1: horizontal bomb at c13 strikes 3, 2 points",
        "generation 2: normal bomb at e13 strikes 1, 1 point",
    ]  # fmt: skip
    assert rows[3].details[1] == "next to go off: horizontal bomb at c13"
    assert rows[4].details[1:4] == ("ice melts at a13", "next to go off: normal bomb at e13", "+2   score 8")
    assert [row.details[-1].rsplit(", ", 1)[1] for row in rows[3:]] == ["0.0 s", "0.5 s", "1.0 s"]
    thawed = code(notation.cell_value("dV"), THAWED)
    gone = [code(notation.cell_value(text), DESTROYED) for text in ("eN", "b")]
    assert rows[4].grid[-1] == f"{thawed}...{''.join(gone)}"
    assert rows[5].grid[-2:] == ("....." + code(notation.cell_value("c"), DESTROYED), code(notation.cell_value("dV")) + ".....")


def test_a_pass_that_only_thaws_and_a_stone_that_stays():
    assert told("hh", "ice")[2:] == [
        "C:a*a*a* locks", "a pass that destroys nothing and does not count", "pass 1: 3 blocks, 6 x 1 = 6"
    ]  # fmt: skip
    rows = list(dispute(played("hh", "ice")).rows())
    assert rows[3].details[1] == "ice melts at c11, c12, c13"
    stones = list(dispute(played("hhrhh", "stones")).rows())
    assert stones[-1].details[:2] == ("pass 1: 3 blocks, 6 x 1 = 6", "a stone stays at d13")


def test_rows_of_retris_are_told_by_their_number():
    rows = list(dispute(played("xrrrrrrhh", "rows")).rows())
    assert rows[-1].details[:3] == ("pass 1: 4 rows, 24 points", "full rows 17 18 19 20", "+24   score 24")


def test_inputs_tell_their_effect():
    said = told("lll5lzdhlhh", "cascade")
    assert said[:8] == [
        "left", "left", "left, without effect", "left, without effect", "cycle up", "soft drop", "hard drop",
        "left, without effect",
    ]  # fmt: skip
    assert told("xz", DAY) == ["turn clockwise", "turn counter-clockwise"]
    captions = [row.caption for row in dispute(played("5rh", "cascade")).rows()]
    assert captions == ["Move 1 (5r): right of C:baa.", "Move 2 (h): hard drop of C:baa."]
    waiting = list(dispute(played("hhl", "bombs")).rows())
    assert waiting[-1].details[:2] == ("left, without effect", "no piece is in play")


def test_effects_are_those_of_the_pieces_cells():
    """Over random games: an input without effect leaves piece and memory as they are, and only such a one."""
    met = [0, 0]
    for game in make_games(random.Random("effects"), 60):
        case = game.case
        if not KIND.plays(RULES, case.mode) or b"0" in case.log:
            continue
        for event in trace(Game(RULES, case.deal(), case.log, case.mode)):
            if event.kind == "input":
                met[event.effect] += 1
                assert event.effect or event.token[-1] != "h" or not event.piece, case
    assert min(met) > 50


def test_what_random_games_are_told_adds_up():
    """Every gain is told by a pass or a generation, its words' last number is the gain, and every cell has a look."""
    met = set()
    for game in make_games(random.Random("told"), 90):
        case = game.case
        if not KIND.plays(RULES, case.mode):
            continue
        total = 0
        for row in KIND.rows(KIND.new_game(RULES, case.deal(), case.log, case.mode), 1, None):
            assert set("".join(row.grid)) <= set(LOOK.cells)
            gain = int(dict(row.values)["Gain"].replace(",", ""))
            total += gain
            if gain:
                last = re.search(r"([\d,]+)(?: points?)?$", row.details[0])
                assert int(last[1].replace(",", "")) == gain, (case, row)
            met.add(re.sub(r"[^a-z]+", " ", row.details[0])[:10])
        assert total == row.score if row.number else True
    assert {"pass block", "generation", "blocks fal", "the game i"} <= met, met


def test_time_brings_rows_before_their_token_and_behind_the_last_one():
    shown = dispute(played("700l 700", "columns"))
    rows = list(shown.rows())
    assert rows[0].title == "Before move 1   700l"
    assert rows[-1].title == "After the last move   700"
    assert [row.place for row in rows if row.place.isdigit()] == ["1"]
    assert shown.total == 2
    assert dispute(played("5l 10", "columns")).total == 1
    # Bombs, and then no room: nothing locks in the trailing time, but the game ends in it.
    over = dispute(played("hh60", "jam"))
    assert [row.details[0] for row in over.rows()][2:] == [
        "C:aHbc locks", "pass 1: 3 blocks, 6 x 1 = 6", "generation 1: horizontal bomb at c1 strikes nothing, 0 points",
        "the game is over",
    ]  # fmt: skip
    assert (over.total, list(over.rows())[-1].title) == (3, "After the last move   60")
    assert dispute(played("hh20", "jam")).total == 2


def test_a_wait_beyond_the_clock_is_drawn_like_any_other_that_ends_the_game():
    """The rows are told of the game as it stood, not as it ended."""
    mode = "columns/classic/relax8"
    deal = KIND.deal(RULES, mode, 5, "", "")
    within, beyond = (
        [
            replace(row, title=row.title.replace(log, ""), token="", caption=row.caption.replace(log, ""), fault=None, why=None)
            for row in KIND.rows(KIND.new_game(RULES, deal, log.encode(), mode), 0, None)
            if row.fault is None
        ]
        for log in ("5184000h", "5184001h")
    )
    assert len(within) > 3
    assert beyond == within
    assert not any("None" in row.details[0] for row in beyond)


@pytest.mark.parametrize(("first", "last"), [(1, 1), (2, 7), (60, None), (100, 120), (1, None)])
def test_a_range_is_a_slice_of_all_moves(first, last):
    shown = dispute(record([*TOKENS, "?"], GAME))
    everything = list(shown.rows())
    wanted = [row for row in everything if first <= row.number <= (last or 10**9)]
    assert list(shown.rows(first, last)) == wanted
    assert everything[-1].fault is not None


def test_the_wrong_move_is_marked_once_at_its_first_row():
    shown = dispute(played("5hh", "bombs", score=7))
    assert [row.place for row in shown.rows() if row.wrong] == ["2"]
    waited = dispute(played("2000l", "columns", best_combo=-1))
    assert [row.place for row in waited.rows() if row.wrong] == ["1-1"]


def test_the_illegal_move_is_the_last_row():
    rows = list(dispute(played("", DAY, moves="3hq")).rows())
    assert (rows[-1].number, rows[-1].token, rows[-1].wrong) == (2, "q", True)
    assert "Move 2 (q) cannot be read: it is not how a move is written." in dispute(played("", DAY, moves="3hq")).words()
    over = dispute(played("", "columns", moves="9000l")).words()
    assert any(
        s.startswith("Move 1 (9000l) cannot be played: it comes after the game was over: a piece had no room") for s in over
    )


# --- Words ---------------------------------------------------------------------------------------------------------------


def test_words_of_boards_name_cells_and_what_stands_there():
    honest = played("5hh", "bombs")
    assert honest.final_board == "dV5"
    said = " ".join(dispute(replace(honest, final_board="1c4/dV*4a")).words())
    assert "Cells filled in the upload, empty in the replay: b12, f13." in said
    assert "Cell filled with something else in the upload than in the replay: a13 (dV*, not dV)." in said
    empty = " ".join(dispute(replace(honest, final_board="-")).words())
    assert "Cell empty in the upload, filled in the replay: a13." in empty
    assert "cannot be read as a board of this game" in " ".join(dispute(replace(honest, final_board="dV9")).words())


@pytest.mark.parametrize("mode", ["columns/arcade/crazy", "", EVIL, "é" * 5000])
def test_words_of_a_mode_that_does_not_exist(mode):
    shown = dispute(played("hh", DAY, moves="5hh", mode=mode))
    said = " ".join(shown.words())
    assert "which does not exist, so nothing of it could be replayed." in said or "that has no name, so nothing" in said
    assert "Before it the replay stands" not in said
    assert not set(said) & set("\x1b\u202e\x00\r\n")
    assert len(said) < 800
    assert (shown.new_game(), shown.total, list(shown.rows())) == (None, 0, [])
    text = printed(shown, encoding="ascii")
    assert max(map(len, text.split("\n"))) <= 80
    page = Page(render_html(shown))
    assert "There are no moves to show: nothing could be replayed." in page.text
    assert [tag for tag, _ in page.tags].count("script") == 0


def test_words_of_a_truncated_log_and_of_a_fine_one():
    lost = " ".join(dispute(record(TOKENS[:-1], GAME)).words())
    assert "with one more legal move it gives exactly what was uploaded" in lost
    assert "The missing move can be h" in lost
    fine = dispute(record(TOKENS, GAME)).words()
    assert fine[0].startswith(f"The game comes out as it was uploaded: {len(TOKENS)} moves give the score {GAME.score}, ")
    assert "level" not in fine[0]
    assert fine[-1] == "The game was not over when the log ended. What was uploaded is right as far as it goes."


def test_words_of_an_impossible_score():
    few = dispute(played("hh", "cascade", score=10**9)).words()
    assert any(
        "A score of 1,000,000,000 is not possible with this many moves: it is at most 21 (1 piece can land" in s for s in few
    )


# --- Terminal ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", MODES)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_terminal_fits_80_columns(family, encoding):
    tokens, game = play(30, family)
    text = printed(dispute(record(tokens, game, challenge=family, score=1)), encoding=encoding)
    assert max(map(len, text.split("\n"))) <= 80
    assert [line for line in text.split("\n") if line.startswith(">>> wrong from here on: score")]
    assert text.count("Start of the game") <= 1
    assert "aN  normal bomb" in text


def test_the_terminal_draws_specials_ice_and_strikes_without_colour():
    text = printed(dispute(played("5hh", "bombs")), encoding="ascii")
    boards = text.split("Move 2   h")
    assert "13 dV*.  AH .  eN b  " in boards[1]
    assert "13 dV~.  .  .  eNxb x" in boards[4]
    assert "next: C:bcd" in text
    # A column's name stands above its letters.
    assert "   a  b  c  d  e  f  " in boards[1]


# --- Page ----------------------------------------------------------------------------------------------------------------


def test_the_page_shows_signs_ice_and_the_next_piece():
    shown = dispute(played("5hh", "bombs", score=7))
    page = Page(render_html(shown))
    data = json.loads(page.scripts[0])
    assert data["rows"][0]["n"] == 0
    assert [panel["title"] for panel in data["rows"][1]["panels"]] == ["Next"]
    assert data["shapes"]["C:bcd"] == ["b", "c", "d"]
    places = [attributes["id"] for tag, attributes in page.tags if str(attributes.get("id")).startswith("move-")]
    assert places == [f"move-{row['place']}" for row in data["rows"]]
    ice, bomb, live = code(notation.cell_value("dV*")), code(notation.cell_value("eN")), code(notation.cell_value("aH"), LIVE)
    assert (data["signs"][ice], data["signs"][bomb], data["signs"][live]) == ("d↕", "e●", "a↔")
    assert "ice" in data["css"][ice].split() and "live" in data["css"][live].split()
    assert "generation 1: horizontal bomb at c13 strikes 3, 2 points; ice melts at a13" in page.text


def test_without_scripts_the_page_still_tells_every_step():
    shown = dispute(played("hhrhh", "stones", score=1))
    text = Page(re.sub(r"<script.*?</script>", "", render_html(shown), flags=re.S)).text
    assert "pass 1: 3 blocks, 6 x 1 = 6; a stone stays at d13" in text
    for sentence in shown.words():
        assert sentence in text


def test_hostile_text_stays_text():
    """D8: in every text of an upload, the mode and the board among them."""
    game = record(["5h", EVIL], GAME, final_board=EVIL, game_id=EVIL, platform=EVIL, app_version=EVIL, player_id=EVIL)
    for found in (game, replace(game, mode=EVIL), replace(game, moves=EVIL)):
        html, text = render_html(dispute(found)), printed(dispute(found), encoding="ascii")
        page = Page(html)
        assert [tag for tag, _ in page.tags].count("script") == 2 * bool(page.scripts)
        assert not set("\u202e\x1b\x00") & set(html) and not set("\u202e\x1b\x00") & set(text)
        assert "<script>alert(1)" in page.text


def test_every_cell_of_a_board_survives_its_code():
    seen = set()
    for cell in range(1, 128):
        if 1 <= cell & at.COLOUR <= 5:
            text = notation.cell_text(cell)
            assert KIND.cell_text(code(cell)) == text
            assert cell_of(code(cell)) == cell
            assert LOOK.cells[code(cell)].sign[0] == text[0]
            seen.add(code(cell))
    assert len(seen) == 5 * 8 * 2
    assert (code(0), KIND.cell_text(".")) == (".", ".")


# --- Colours -------------------------------------------------------------------------------------------------------------

# Machado, Oliveira, Fernandes 2009: what is left of linear RGB for eyes without one kind of cones.
SIGHT = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no L": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no M": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no S": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def lab(colour, sight):
    """CIE 1976 L*a*b* (D65) of a colour as these eyes see it."""
    shares = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    r, g, b = (min(1, max(0, sum(m * v for m, v in zip(row, linear, strict=True)))) for row in SIGHT[sight])
    xyz = (
        (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047, 0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
        (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883,
    )  # fmt: skip
    x, y, z = (v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_stay_apart_for_all_eyes(sight):
    """A difference of 40 is far beyond the 2 that is just seen; the Okabe-Ito colours have pairs below 20."""
    for one, other in combinations(COLOUR_CODES, 2):
        pair = zip(lab(COLOUR_CODES[one], sight), lab(COLOUR_CODES[other], sight), strict=True)
        assert sum((a - b) ** 2 for a, b in pair) ** 0.5 >= 40, (one, other)


def contrast(one, other):
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_aa(scheme):
    css = style("tetcolor")
    colours = colours_of(css, scheme)
    for letter, colour in COLOUR_CODES.items():
        assert contrast(colour, SIGN_CODES[letter]) >= 4.5, letter
        # Whatever draws the colour on a terminal is the colour of the page.
        assert f"i.colour-{letter} {{ background-color: {colour}; }}" in css
        assert f".shape i.colour-{letter} {{ color: {SIGN_CODES[letter]}; }}" in css
    for ground in ("empty", "card"):
        assert contrast(colours["block-edge"], colours[ground]) >= 3, ground


def test_rendering_repeats_itself():
    assert render_html(dispute(record(TOKENS, GAME))) == render_html(dispute(record(TOKENS, GAME)))
    assert printed(dispute(record(TOKENS, GAME))) == printed(dispute(record(TOKENS, GAME)))


def test_no_two_looks_are_told_apart_by_colour_alone():
    """On a page: another sign or other classes, of which each has a shape of its own in the style sheet."""
    looks = {}
    for drawn, look in LOOK.cells.items():
        key = (look.sign, re.sub(r"colour-[a-e]", "", look.css))
        assert looks.setdefault(key, drawn) == drawn
    for name in ("live", "thawed", "kept", "emptied", "ice"):
        assert re.search(rf"i\.{name} \{{", style("tetcolor"))


def test_an_opened_game_is_not_touched_by_drawing_it():
    game = open_game("5hh", "bombs")
    assert KIND.start_row(game).number == 0
    assert (game.moves, game.score) == (0, 0)
