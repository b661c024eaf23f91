"""What the support desk sees of one game: the words, the moves, the terminal and the page."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from engine.blocks import kernel as blocks_kernel
from engine.blocks.single import trace
from engine.tetcolor import layout as tetcolor_layout
from engine.tetromino import pieces as tetromino_pieces
from replay import verdict as v
from replay.challenges import Challenge, ChallengeTable
from replay.dispute import Dispute, render_terminal
from replay.errors import UsageError
from replay.game_page import HTML_MOVES, STATIC, render_html, style
from replay.games import NAMES, kind_of
from replay.verdict import Reason
from tests.replay.games import BOARD, FINISHED, FINISHED_TOKENS, GAME, RULEBOOK, SCORE, TOKENS, dispute, record, verdict_of

RULES = RULEBOOK.find("blocks", "1.2.0")
# A legal log of any length: single cells that fill row 1 again and again.
LONG = 9000
LONG_CHALLENGE = Challenge("blocks", "long", "daily", "1.2.0", 0, "", " ".join(["1"] * (LONG + 3)))


def long_dispute(score: int) -> Dispute:
    """A legal game of LONG tokens, honest in everything but the score."""
    log = "".join(f"1{'abcdefgh'[i % 8]}1" for i in range(LONG))
    game = replace(record([], GAME), moves=log, challenge="long", score=score, best_combo=1, final_board="-")
    verdict = v.judge(game, RULEBOOK, ChallengeTable({("blocks", "long"): LONG_CHALLENGE}))
    return Dispute(game, verdict, RULES, LONG_CHALLENGE)


def printed(shown: Dispute, first: int | None = None, last: int | None = None, encoding: str = "utf-8", width: int = 80) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    render_terminal(shown, Console(file=file, width=width), first, last)
    file.flush()
    return raw.getvalue().decode(encoding)


class Page(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.within = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.within = tag

    def handle_endtag(self, tag):
        self.within = ""

    def handle_data(self, data):
        if self.within == "script":
            self.scripts.append(data)
        elif self.within != "style":
            self.text += data


# --- Moves ---------------------------------------------------------------------------------------------------------------


def test_rows_follow_the_engine():
    shown = dispute(record(FINISHED_TOKENS, FINISHED))
    rows = list(shown.rows())
    steps = list(trace(shown.new_game()))
    assert len(rows) == len(steps) == shown.total == len(FINISHED_TOKENS)
    for row, step in zip(rows, steps, strict=True):
        for name in ("token", "piece", "board", "hand", "lines", "turn", "streak", "multiplier", "gain", "score", "best_combo"):
            assert getattr(row, name) == getattr(step, name)
        assert row.number == step.move + 1
        assert not row.wrong
        assert row.fault is None
        cells = {(r, c) for r, line in enumerate(row.grid) for c, cell in enumerate(line) if cell in "pq"}
        assert cells == set(step.cells)
        emptied = {(r, c) for r, line in enumerate(row.grid) for c, cell in enumerate(line) if cell in "xq"}
        assert emptied == {(r, c) for r in range(8) for c in range(8) if r in step.full_rows or c in step.full_columns}


@pytest.mark.parametrize(("first", "last"), [(1, 1), (2, 7), (59, 60), (60, None), (61, 70), (1, None), (58, 61)])
def test_a_range_is_a_slice_of_all_moves(first, last):
    shown = dispute(record([*TOKENS, "zz"], GAME))
    everything = list(shown.rows())
    assert list(shown.rows(first, last)) == everything[first - 1 : last]


@pytest.mark.parametrize(("first", "last"), [(0, None), (-3, 2), (5, 4)])
def test_a_range_that_is_none(first, last):
    with pytest.raises(UsageError, match=f"moves {first} to {'the end' if last is None else last} "):
        dispute(record(TOKENS, GAME)).rows(first, last)
    with pytest.raises(UsageError):
        render_html(dispute(record(TOKENS, GAME)), first, last)


def test_the_wrong_move_is_marked_once():
    shown = dispute(record(TOKENS, GAME, score=SCORE // 2))
    wrong = [row for row in shown.rows() if row.wrong]
    assert len(wrong) == 1
    assert wrong[0].number == shown.wrong_move + 1
    assert wrong[0].score > SCORE // 2 >= wrong[0].score - wrong[0].gain


def test_the_illegal_move_is_the_last_row():
    shown = dispute(record([*TOKENS[:1], TOKENS[0], *TOKENS[1:]], GAME))
    rows = list(shown.rows())
    assert [row.fault is None for row in rows] == [True, False]
    assert rows[1].wrong
    assert rows[1].token == TOKENS[0]
    assert "already filled" in rows[1].fault
    assert "c" in "".join(rows[1].grid)
    assert rows[1].score == rows[0].score


def test_an_unreadable_move_is_shown_harmless():
    rows = list(dispute(record(["\x1b]0;x"], GAME)).rows())
    assert len(rows) == 1
    assert rows[0].token == "\\x1b]0;x"
    assert rows[0].piece is None


def test_a_continue_is_a_row_and_no_placement():
    game = record(["*", "1a1", "1c1"], GAME, mode="training", challenge="over")
    rows = list(dispute(game).rows())
    assert [(row.token, row.turn, row.board == "-") for row in rows] == [("*", 1, True), ("1a1", 1, False), ("1c1", 1, False)]
    assert set("".join(rows[0].grid)) == {".", "x"}
    assert "continue" in printed(dispute(game))


def test_nothing_known_nothing_drawn():
    shown = dispute(record(TOKENS, GAME, rules="9.9.9"))
    assert (list(shown.rows()), shown.start(), shown.total, shown.outcome) == ([], None, 0, None)
    assert "9.9.9" in printed(shown)
    assert "nothing could be replayed" in render_html(shown)


def test_windows_stay_within_the_log():
    shown = dispute(record(TOKENS, GAME, score=SCORE // 2))
    assert shown.window(1000) == (1, 60)
    first, last = shown.window(10)
    assert first <= shown.wrong_move + 1 <= last
    assert last - first == 9
    assert dispute(record(TOKENS, GAME)).window(10) == (1, 10)
    assert dispute(record(TOKENS, GAME, score=SCORE + 1)).window(10) == (51, 60)


def test_a_long_log_is_cut_around_the_wrong_move():
    """E9: one absurd log must not make an absurd page."""
    shown = long_dispute(score=200_000)
    assert shown.total == LONG
    page = render_html(shown)
    assert len(page) < 4_000_000
    assert page.count('id="move-') == HTML_MOVES
    assert f'id="move-{shown.wrong_move + 1}"' in page
    text = printed(shown, LONG - 1)
    assert f"Move {LONG:,}" in text
    assert f"Moves {LONG - 1:,} to {LONG:,} of {LONG:,}" in text


# --- Terminal ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_terminal_fits_80_columns_and_its_encoding(encoding):
    hostile = record(TOKENS, GAME, score=SCORE - 40, game_id="g\x1b[2J\u202e" + "ü" * 30, final_board="é" * 300)
    text = printed(dispute(hostile), encoding=encoding)
    lines = text.split("\n")
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert [line for line in lines if line.startswith(">>> wrong from here on: score")]
    assert sum("Move " in line and TOKENS[0] in line for line in lines) == 1
    assert ("██" in text) is (encoding == "utf-8")


def test_the_terminal_shows_a_range():
    text = printed(dispute(record(TOKENS, GAME)), 5, 6)
    assert ("Move 5 " in text, "Move 6 " in text, "Move 4 " in text, "Start of the game" in text) == (True, True, False, False)
    assert "Moves 5 to 6 of 60" in text
    assert "No move of that range was played: the log has 60" in printed(dispute(record(TOKENS, GAME)), 900)


def test_the_terminal_marks_placed_and_emptied_cells_without_colour():
    shown = dispute(record(TOKENS, GAME))
    row = next(row for row in shown.rows() if row.lines)
    text = printed(shown, row.number, row.number, encoding="ascii")
    for cell, sign in (("p", "@@"), ("x", "--"), ("q", "%%")):
        drawn = text.split(f"Move {row.number} ")[1].split("\n\n")[0].count(sign)
        assert drawn == "".join(row.grid).count(cell)


# --- Page ----------------------------------------------------------------------------------------------------------------

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'=cmd\u202e\x1b\x00&amp;{{7*7}}"


def hostile_page() -> str:
    game = record(
        ["zz</script>"], GAME, game_id=EVIL, player_id=EVIL, platform=EVIL, app_version=EVIL, player_kind=EVIL, nation=EVIL,
        final_board=EVIL,
    )  # fmt: skip
    reasons = (
        *verdict_of(game).reasons,
        Reason("duplicate_attempt", 1, EVIL, None),
        Reason("board_mismatch", EVIL, "-", 0),
    )
    return render_html(dispute(game, reasons=reasons, evidence={EVIL: EVIL}))


def test_hostile_text_stays_text():
    """D8: names with markup, formulas, control characters and right-to-left marks."""
    html = hostile_page()
    page = Page(html)
    assert len(page.scripts) == 2
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert not {"img", "iframe", "object", "embed", "form"} & {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert not set("\u202e\x1b\x00") & set(html)
    assert "\\u202e" in page.text
    assert "\\x1b" in page.text
    assert "<script>alert(1)" in page.text
    assert "{{7*" in page.text
    data = json.loads(page.scripts[0])
    assert "zz</script>" in data["rows"][-1]["say"]
    assert "</" not in page.scripts[0]


def test_player_text_is_isolated():
    html = render_html(dispute(record(TOKENS, GAME, player_id="שלום", game_id="مرحبا")))
    assert "<bdi>\u2068שלום\u2069</bdi>" in html
    assert "<bdi>\u2068مرحبا\u2069</bdi>" in html


def test_the_page_is_one_file():
    html = render_html(dispute(record(TOKENS, GAME, score=1)))
    page = Page(html)
    assert [attributes["href"] for tag, attributes in page.tags if tag == "link"] == ["data:,"]
    assert not [tag for tag, attributes in page.tags if "src" in attributes]
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html
    assert "@import" not in html


def test_the_page_opens_at_the_wrong_move_and_lists_every_move():
    shown = dispute(record(TOKENS, GAME, score=SCORE // 2))
    html = render_html(shown)
    data = json.loads(Page(html).scripts[0])
    assert data["rows"][data["opened"]]["n"] == shown.wrong_move + 1
    assert data["rows"][data["opened"]]["wrong"]
    assert [row["n"] for row in data["rows"]] == list(range(len(TOKENS) + 1))
    assert all(len(row["grid"]) == 64 for row in data["rows"])
    names = {name for row in data["rows"] for panel in row["panels"] for _, name in panel["items"] if name}
    assert names <= set(data["shapes"])
    assert f"Move {shown.wrong_move + 1} of {len(TOKENS)}" in html
    honest = json.loads(Page(render_html(dispute(record(TOKENS, GAME)))).scripts[0])
    assert honest["opened"] == len(TOKENS)


def test_without_scripts_the_page_still_tells_everything():
    shown = dispute(record(TOKENS, GAME, score=SCORE + 4, final_board="-"))
    html = re.sub(r"<script.*?</script>", "", render_html(shown), flags=re.S)
    page = Page(html)
    for sentence in shown.words():
        assert sentence in page.text
    assert [attributes["id"] for tag, attributes in page.tags if str(attributes.get("id")).startswith("move-")] == [
        f"move-{number}" for number in range(len(TOKENS) + 1)
    ]
    assert page.text.count("wrong from here on: score, final board") == 2
    assert sum("differs" in str(attributes.get("class")) for tag, attributes in page.tags if tag == "i") == 2 * BOARD.count("#")


def test_the_page_of_an_empty_log_shows_the_start():
    html = render_html(dispute(record([], GAME, score=0, best_combo=0, final_board="-")))
    assert "Start of 0" in html
    assert json.loads(Page(html).scripts[0])["opened"] == 0


def test_a_range_of_the_page():
    html = render_html(dispute(record(TOKENS, GAME)), 10, 12)
    assert [row["n"] for row in json.loads(Page(html).scripts[0])["rows"]] == [10, 11, 12]
    assert "10 to 12 of 60" in html
    assert "Moves 1 to 2 of 60" in render_html(dispute(record(TOKENS, GAME)), 1, 2)
    assert "Moves 1 to" not in render_html(dispute(record(TOKENS, GAME)))
    assert "the range holds none of the 60 moves" in render_html(dispute(record(TOKENS, GAME)), 90, 99)


@pytest.mark.parametrize("game", NAMES)
def test_every_class_of_a_cell_has_a_style(game):
    css = style(game)
    for look in kind_of(game).look.cells.values():
        for name in look.css.split():
            assert re.search(rf"i\.{name}\b", css) or name == "cell", (game, name)


def test_the_page_needs_no_style_attribute_and_every_board_finds_its_columns():
    """The ops pages forbid style attributes; a board's columns are a class, up to the widest board of any game."""
    html = render_html(dispute(record(TOKENS, GAME, score=1)))
    assert not [attributes for _, attributes in Page(html).tags if "style" in attributes]
    assert 'class="board columns-8"' in html
    widest = max(blocks_kernel.MAX_SIDE, tetromino_pieces.MAX_WIDTH, tetcolor_layout.MAX_WIDTH)
    for columns in range(1, widest + 1):
        assert f".columns-{columns} {{ --columns: {columns}; }}\n" in style("blocks")


def test_the_script_is_the_file_that_the_ops_pages_link():
    page = Page(render_html(dispute(record(TOKENS, GAME))))
    assert page.scripts[1].strip() == (STATIC / "player.js").read_text("utf-8").strip()


@pytest.mark.parametrize(
    ("game", "log"),
    [
        ("blocks", " 1a1 *2c5\t3h8  q9-- 1a1"), ("tetromino", "l 12r 5 d30h 7"), ("tetromino", "lr\u00e9r hh"),
        ("tetcolor", "5h r2l 9"), ("tetcolor", "hh\u00e9lr q"), ("blocks", ""), ("tetromino", ""), ("tetcolor", "  "),
    ],
)  # fmt: skip
def test_a_token_stands_where_its_text_does(game, log):
    data, kind = log.encode(), kind_of(game)
    for index in range(8):
        place, text = kind.token_place(data, index), kind.token_at(data, index)
        assert (place is None) == (text is None), (game, index, place, text)
        if place is not None:
            assert data[place[0] : place[1]].decode("ascii", "backslashreplace") == text


def test_rendering_repeats_itself():
    shown = dispute(record(TOKENS, GAME, score=1))
    assert render_html(shown) == render_html(dispute(record(TOKENS, GAME, score=1)))


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def colours_of(css: str, scheme: str) -> dict[str, str]:
    """The colours that a style sheet's custom properties have in a scheme."""
    dark = r"@media \(prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}\s*\}"
    found = re.findall(r":root \{(.*?)\}", re.sub(dark, "", css, flags=re.S), flags=re.S)
    if scheme == "dark":
        found += re.findall(dark, css, flags=re.S)
    return {name: colour for block in found for name, colour in re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)}


def sheets_of(frame: str, game: str) -> str:
    """The style of a page that is one file, or of the same parts within the ops pages."""
    if frame == "page":
        return style(game)
    return "".join((STATIC / name).read_text("utf-8") for name in ("base.css", "player.css", f"look-{game}.css"))


@pytest.mark.parametrize("frame", ["page", "dashboard"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_aa(scheme, frame):
    colours = colours_of(sheets_of(frame, "blocks"), scheme)
    texts = [
        ("text", "page"), ("text", "card"), ("soft", "card"), ("soft", "page"), ("accent", "card"), ("accent", "here"),
        ("text", "here"), ("text", "wrong-back"), ("wrong", "card"), ("wrong", "wrong-back"), ("wrong", "empty"),
        ("right", "card"), ("sign", "placed"), ("sign", "full"), ("emptied-sign", "emptied"), ("card", "wrong"),
        ("accent", "wrong-back"),
    ]  # fmt: skip
    shapes = [("full", "empty"), ("full", "card"), ("placed", "empty"), ("wrong", "empty"), ("accent", "card")]
    for least, pairs in ((4.5, texts), (3.0, shapes)):
        for front, back in pairs:
            high, low = sorted((_luminance(colours[front]), _luminance(colours[back])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= least, (front, back)
