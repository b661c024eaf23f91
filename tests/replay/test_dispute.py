"""What the support desk sees of one game: the words, the moves, the terminal and the page."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from engine.blocks.single import trace
from engine.outcome import FAULT_NAMES, Fault
from replay import verdict as v
from replay import words as w
from replay.challenges import Challenge, ChallengeTable
from replay.dispute import HTML_MOVES, TEMPLATES, Dispute, render_html, render_terminal, words
from replay.errors import UsageError
from replay.record import Record
from replay.verdict import REASON_CODES, SUSPICION_CODES, VERDICTS, Reason
from tests.replay.test_judge import (
    BOARD,
    FINISHED,
    FINISHED_TOKENS,
    GAME,
    NOON,
    RULEBOOK,
    SCORE,
    TABLE,
    TOKENS,
    play,
    record,
    verdict_of,
)

RULES = RULEBOOK.find("blocks", "1.2.0")
# A legal log of any length: single cells that fill row 1 again and again.
LONG = 9000
LONG_CHALLENGE = Challenge("blocks", "long", "daily", "1.2.0", 0, "", " ".join(["1"] * (LONG + 3)))


def dispute(game: Record, **changes: object) -> Dispute:
    verdict = replace(verdict_of(game), **changes)
    return Dispute(game, verdict, RULEBOOK.find(game.game, game.rules), TABLE.find(game.game, game.challenge))


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


# --- Words ---------------------------------------------------------------------------------------------------------------

SAMPLES = {
    "score_mismatch": Reason("score_mismatch", 5000, 1234, 16, "2c5"),
    "combo_mismatch": Reason("combo_mismatch", 4, 3, 40, "1a1"),
    "board_mismatch": Reason("board_mismatch", "#7", "-", 40, "1a1"),
    "illegal_move": Reason("illegal_move", "9z9", "bad_token: '9z9' is no token of the notation", 3),
    "impossible_score": Reason("impossible_score", 9**9, "score at most 7020 (1 placements x 7020)", None),
    "unknown_rules": Reason("unknown_rules", "9.9.9", "known of blocks: 1.2.0", None),
    "unknown_challenge": Reason("unknown_challenge", "2030-01-01", "not in the challenge table of blocks", None),
    "attempt_limit": Reason("attempt_limit", 4, "attempts are 1, 2 and 3", None),
    "duplicate_attempt": Reason("duplicate_attempt", 1, "game g-0, uploaded 2026-10-31T10:00:00.000Z", None),
    "outside_challenge_day": Reason(
        "outside_challenge_day", "2026-11-09T00:00:00.000Z",
        "started_at from 2026-10-30T10:00:00.000Z to before 2026-11-01T12:00:00.000Z", None,
    ),
    "conflicting_upload": Reason("conflicting_upload", "g-1", "uploaded first 2026-10-31T10:00:00.000Z", None),
    "truncated_log": Reason("truncated_log", 41, 40, 40),
    "challenge": Reason("challenge", "1a1", "the challenge lists only 5 pieces", 3, "1a1"),
}  # fmt: skip


def plain(sentences: list[str]) -> bool:
    """Whether sentences are sentences: a capital or a number first, a full stop last, no code or key of ours within."""
    jargon = {"_", "mismatch", "suspicion", "None", "{", "}"}
    return all(s[0].isupper() or s[0].isdigit() for s in sentences) and all(
        s.endswith(".") and not any(word in s for word in jargon) for s in sentences
    )


def test_every_code_has_words():
    assert set(w.REASON_WORDS) == {*REASON_CODES, v.CHALLENGE_CODE} == set(SAMPLES)
    assert set(w.SUSPICION_WORDS) == set(SUSPICION_CODES)
    assert set(w.VERDICT_WORDS) == set(VERDICTS)
    assert set(w.FAULT_WORDS) == set(FAULT_NAMES.values())
    assert set(w.UNCOUNTED_WORDS) == {"mode", "rules", "undated"}


@pytest.mark.parametrize("code", list(SAMPLES))
def test_words_of_every_reason(code):
    base = verdict_of(record(TOKENS, GAME))
    said = words(replace(base, verdict="flagged", reasons=(SAMPLES[code],), suspicions=()))
    silent = words(replace(base, verdict="flagged", reasons=(), suspicions=()))
    assert len(said) >= 2 and plain(said) and set(said) - set(silent)
    if SAMPLES[code].move is not None:
        assert f"ove {SAMPLES[code].move + 1}" in " ".join(said) or code == "truncated_log"


@pytest.mark.parametrize("code", SUSPICION_CODES)
def test_words_of_every_suspicion(code):
    base = verdict_of(record(FINISHED_TOKENS, FINISHED))
    with_it, without = words(replace(base, suspicions=(code,))), words(base)
    assert with_it[: len(without)] == without and len(with_it) == len(without) + 1 and plain(with_it)
    assert "alone stops no game" in with_it[-1] or code == "unfinished"


@pytest.mark.parametrize("kind", sorted(FAULT_NAMES.values()))
def test_words_of_every_fault(kind):
    told = w.fault_words(Fault(kind, 13, ""), "1a1")
    assert told.startswith("Move 14 (1a1) ") and plain([told])


@pytest.mark.parametrize("verdict", VERDICTS)
def test_words_of_every_verdict(verdict):
    found = replace(verdict_of(record(TOKENS, GAME)), verdict=verdict, copy_of="g-0" if verdict == "copy" else None)
    assert plain(words(found))


def test_a_code_without_words_is_an_error():
    with pytest.raises(KeyError):
        words(replace(verdict_of(record(TOKENS, GAME)), suspicions=("new_sign",)))


def test_words_of_a_verified_game():
    said = words(verdict_of(record(FINISHED_TOKENS, FINISHED)))
    assert said[0].startswith(f"The game comes out as it was uploaded: {len(FINISHED_TOKENS)} moves give the score ")
    assert said[1:] == ["It counts for the challenge 2026-10-31."]


def test_words_of_a_training_game():
    said = words(verdict_of(record(TOKENS, GAME, mode="training")))
    assert "does not count in the standings in any case, because it is a training game" in said[1]
    assert not any("It counts" in sentence for sentence in said)


def test_words_say_claim_replay_and_move():
    said = " ".join(dispute(record(TOKENS, GAME, score=SCORE + 5000)).words())
    assert f"uploaded is {SCORE + 5000:,}; replaying the moves gives {SCORE:,}." in said
    assert f"From move {len(TOKENS)} ({TOKENS[-1]}) on the two cannot agree." in said
    empty = " ".join(dispute(record([], GAME, score=50, best_combo=0, final_board="-")).words())
    assert "No moves were uploaded that could have led there." in empty


def test_words_name_the_cells_that_differ():
    claimed = "########/" * 7 + "########"
    said = dispute(record(TOKENS, GAME, final_board=claimed)).words()
    assert any(re.fullmatch(r"Cells filled in the upload, empty in the replay: ([a-h][1-8](, |\b)){6} and \d+ more\.", s) for s in said)
    unreadable = " ".join(dispute(record(TOKENS, GAME, final_board="?" * 5000)).words())
    assert "cannot be read as a board" in unreadable and len(unreadable) < 1000


def test_words_of_an_illegal_move():
    said = " ".join(dispute(record([*TOKENS[:20], "1h11"], GAME)).words())
    assert "Move 21 (1h11) cannot be played: it puts" in said and "outside the 8 x 8 board" in said
    assert "what was uploaded as the result was not compared" in said
    assert "Move 1 (zz) cannot be read: it is not how a move is written." in dispute(record(["zz", "1a1"], GAME)).words()


def test_words_of_a_truncated_log_name_the_missing_move():
    """B4: where the log ended and what would be missing."""
    tokens, whole = play(1, 41)
    said = " ".join(dispute(record(tokens[:40], whole)).words())
    assert "The log ends after 40 moves" in said and f"The missing move can be {tokens[40]}" in said


def test_words_of_evidence_about_rules():
    """B6: the other version is mentioned, the stated one still judges."""
    found = replace(verdict_of(record(TOKENS, GAME, score=1)), evidence={"rules_that_agree": ["1.1.0", "2.0.0"], "kept_by": "x"})
    said = words(found)
    assert any(s.startswith("Under rules 1.1.0 or 2.0.0 the same moves give exactly") and "it names, 1.2.0." in s for s in said)
    assert "Noted beside it, kept by: x." in said


def test_words_of_relational_reasons_and_copies():
    base = record(FINISHED_TOKENS, FINISHED)
    said = dispute(base, verdict="flagged", reasons=(SAMPLES["duplicate_attempt"],)).words()
    assert "Its moves themselves come out as uploaded" in said[1] and "game g-0" in said[2]
    copied = dispute(base, verdict="copy", copy_of="g-0").words()
    assert "g-0 came first and stands for both" in copied[0] and len(copied) == 1


def test_words_of_a_quarantined_game_blame_nobody():
    tokens = ["1a1", "1c1", "1e1", "2g1", "1a3"]
    said = dispute(record(tokens, GAME, challenge="short")).words()
    assert said[0].endswith("nothing is held against the player.")
    assert said[1] == "Move 5 (1a3) cannot be played because the challenge cannot be played as it is listed: " \
        "the challenge lists only 5 pieces."  # fmt: skip


def test_words_of_times():
    late = record(FINISHED_TOKENS, FINISHED, started_at=0, uploaded_at=NOON + 30 * v.DAY)
    said = " ".join(dispute(late).words())
    assert "started at 1970-01-01 00:00:00 UTC; this challenge can be started from 2026-10-30 10:00:00 UTC to before" in said
    assert "uploaded at 2026-11-30 12:00:00 UTC; an upload for this challenge counts at most 2026-11-04 12:00:00 UTC" in said


def test_pace_is_told_with_its_numbers():
    assert "60 moves in 3.0 seconds are faster" in " ".join(dispute(record(TOKENS, GAME, finished_at=NOON + 3_000_000)).words())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain =cmd|'/C calc'!A0", "plain =cmd|'/C calc'!A0"),
        ("a\x1b[31mb\x00\x7f\x9b", "a\\x1b[31mb\\x00\\x7f\\x9b"),
        ("user\u202egnp", "user\\u202egnp"),
        ("a\u2028b\u2066c\u200bd\u00a0e", "a\\u2028b\\u2066c\\u200bd\\xa0e"),
        ("שלום", "\u2068שלום\u2069"),
        ("\ud800", "\\ud800"),
        ("x" * 100, "x" * 80 + "..."),
    ],
)
def test_uploaded_text_is_made_harmless(text, shown):
    """D8: marks that steer a terminal or turn a line are shown, not obeyed."""
    assert w.visible(text) == shown


# --- Moves ---------------------------------------------------------------------------------------------------------------


def test_rows_follow_the_engine():
    shown = dispute(record(FINISHED_TOKENS, FINISHED))
    rows = list(shown.rows())
    steps = list(trace(shown.new_game()))
    assert len(rows) == len(steps) == shown.total == len(FINISHED_TOKENS)
    for row, step in zip(rows, steps, strict=True):
        for name in ("token", "piece", "board", "hand", "lines", "turn", "streak", "multiplier", "gain", "score", "best_combo"):
            assert getattr(row, name) == getattr(step, name)
        assert row.number == step.move + 1 and not row.wrong and row.fault is None
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
    with pytest.raises(UsageError, match=f"moves {first} to {last}"):
        dispute(record(TOKENS, GAME)).rows(first, last)
    with pytest.raises(UsageError):
        render_html(dispute(record(TOKENS, GAME)), first, last)


def test_the_wrong_move_is_marked_once():
    shown = dispute(record(TOKENS, GAME, score=SCORE // 2))
    wrong = [row for row in shown.rows() if row.wrong]
    assert len(wrong) == 1 and wrong[0].number == shown.wrong_move + 1
    assert wrong[0].score > SCORE // 2 >= wrong[0].score - wrong[0].gain


def test_the_illegal_move_is_the_last_row():
    shown = dispute(record([*TOKENS[:1], TOKENS[0], *TOKENS[1:]], GAME))
    rows = list(shown.rows())
    assert [row.fault is None for row in rows] == [True, False]
    assert rows[1].wrong and rows[1].token == TOKENS[0] and "already filled" in rows[1].fault
    assert "c" in "".join(rows[1].grid) and rows[1].score == rows[0].score


def test_an_unreadable_move_is_shown_harmless():
    rows = list(dispute(record(["\x1b]0;x"], GAME)).rows())
    assert len(rows) == 1 and rows[0].token == "\\x1b]0;x" and rows[0].piece is None


def test_a_continue_is_a_row_and_no_placement():
    game = record(["*", "1a1", "1c1"], GAME, mode="training", challenge="over")
    rows = list(dispute(game).rows())
    assert [(row.token, row.turn, row.board == "-") for row in rows] == [("*", 1, True), ("1a1", 1, False), ("1c1", 1, False)]
    assert set("".join(rows[0].grid)) == {".", "x"} and "continue" in printed(dispute(game))


def test_nothing_known_nothing_drawn():
    shown = dispute(record(TOKENS, GAME, rules="9.9.9"))
    assert (list(shown.rows()), shown.start(), shown.total, shown.outcome) == ([], None, 0, None)
    assert "9.9.9" in printed(shown) and "nothing could be replayed" in render_html(shown)


def test_windows_stay_within_the_log():
    shown = dispute(record(TOKENS, GAME, score=SCORE // 2))
    assert shown.window(1000) == (1, 60)
    first, last = shown.window(10)
    assert first <= shown.wrong_move + 1 <= last and last - first == 9
    assert dispute(record(TOKENS, GAME)).window(10) == (1, 10)
    assert dispute(record(TOKENS, GAME, score=SCORE + 1)).window(10) == (51, 60)


def test_a_long_log_is_cut_around_the_wrong_move():
    """E9: one absurd log must not make an absurd page."""
    shown = long_dispute(score=200_000)
    assert shown.total == LONG
    page = render_html(shown)
    assert len(page) < 4_000_000 and page.count('id="move-') == HTML_MOVES
    assert f'id="move-{shown.wrong_move + 1}"' in page
    text = printed(shown, LONG - 1)
    assert f"Move {LONG:,}" in text and f"Moves {LONG - 1:,} to {LONG:,} of {LONG:,}" in text


# --- Terminal ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_terminal_fits_80_columns_and_its_encoding(encoding):
    hostile = record(TOKENS, GAME, score=SCORE - 40, game_id="g\x1b[2J\u202e" + "ü" * 30, final_board="é" * 300)
    text = printed(dispute(hostile), encoding=encoding)
    lines = text.split("\n")
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in text and "\u202e" not in text
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
    reasons = (*verdict_of(game).reasons, replace(SAMPLES["duplicate_attempt"], found=EVIL), Reason("board_mismatch", EVIL, "-", 0))
    return render_html(dispute(game, reasons=reasons, evidence={EVIL: EVIL}))


def test_hostile_text_stays_text():
    """D8: names with markup, formulas, control characters and right-to-left marks."""
    html = hostile_page()
    page = Page(html)
    assert len(page.scripts) == 2 and [tag for tag, _ in page.tags].count("script") == 2
    assert not {"img", "iframe", "object", "embed", "form"} & {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert not set("\u202e\x1b\x00") & set(html)
    assert "\\u202e" in page.text and "\\x1b" in page.text and "<script>alert(1)" in page.text and "{{7*" in page.text
    data = json.loads(page.scripts[0])
    assert "zz</script>" in data["rows"][-1]["say"]
    assert "</" not in page.scripts[0]


def test_player_text_is_isolated():
    html = render_html(dispute(record(TOKENS, GAME, player_id="שלום", game_id="مرحبا")))
    assert "<bdi>\u2068שלום\u2069</bdi>" in html and "<bdi>\u2068مرحبا\u2069</bdi>" in html


def test_the_page_is_one_file():
    html = render_html(dispute(record(TOKENS, GAME, score=1)))
    page = Page(html)
    assert [attributes["href"] for tag, attributes in page.tags if tag == "link"] == ["data:,"]
    assert not [tag for tag, attributes in page.tags if "src" in attributes]
    assert "http" not in html.replace("http-equiv", "") and "url(" not in html and "@import" not in html


def test_the_page_opens_at_the_wrong_move_and_lists_every_move():
    shown = dispute(record(TOKENS, GAME, score=SCORE // 2))
    html = render_html(shown)
    data = json.loads(Page(html).scripts[0])
    assert data["rows"][data["opened"]]["n"] == shown.wrong_move + 1 and data["rows"][data["opened"]]["wrong"]
    assert [row["n"] for row in data["rows"]] == list(range(len(TOKENS) + 1))
    assert all(len(row["grid"]) == 64 for row in data["rows"])
    assert {name for row in data["rows"] for name in row["hand"] if name} <= set(data["shapes"])
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
    assert "Start of 0" in html and json.loads(Page(html).scripts[0])["opened"] == 0


def test_a_range_of_the_page():
    html = render_html(dispute(record(TOKENS, GAME)), 10, 12)
    assert [row["n"] for row in json.loads(Page(html).scripts[0])["rows"]] == [10, 11, 12] and "10 to 12 of 60" in html
    assert "the range holds none of the 60 moves" in render_html(dispute(record(TOKENS, GAME)), 90, 99)


def test_rendering_repeats_itself():
    shown = dispute(record(TOKENS, GAME, score=1))
    assert render_html(shown) == render_html(dispute(record(TOKENS, GAME, score=1)))


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_aa(scheme):
    css = (TEMPLATES / "game.html.j2").read_text("utf-8")
    blocks = re.findall(r":root \{(.*?)\}", css, flags=re.S)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", blocks[scheme == "dark"]))
    texts = [
        ("text", "page"), ("text", "card"), ("soft", "card"), ("soft", "page"), ("accent", "card"), ("accent", "here"), ("text", "here"),
        ("text", "wrong-back"), ("wrong", "card"), ("wrong", "wrong-back"), ("wrong", "empty"), ("right", "card"), ("sign", "placed"),
        ("sign", "full"), ("emptied-sign", "emptied"), ("card", "wrong"), ("accent", "wrong-back"),
    ]  # fmt: skip
    shapes = [("full", "empty"), ("full", "card"), ("placed", "empty"), ("wrong", "empty"), ("accent", "card")]
    for least, pairs in ((4.5, texts), (3.0, shapes)):
        for front, back in pairs:
            high, low = sorted((_luminance(colours[front]), _luminance(colours[back])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= least, (front, back)
