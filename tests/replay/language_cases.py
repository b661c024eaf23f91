"""Games and verdicts that between them reach every sentence for people: what the tests of the languages say in each of them."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from rich.console import Console

from engine.outcome import FAULT_NAMES, Fault
from engine.tetromino.single import trace
from replay import verdict as v
from replay import words as w
from replay.dispute import Dispute, render_terminal
from replay.game_page import render_html
from replay.games import NAMES
from replay.games.tetromino_rows import CLEAR_NAMES, award_words
from replay.i18n import ENGLISH, Language
from replay.trace import TraceRow
from replay.verdict import Reason
from tests.replay import games as blocks
from tests.replay import tetcolor_games as tetcolor
from tests.replay import tetromino_games as tetromino

OPENS, CLOSES = "2026-10-30T10:00:00.000Z", "2026-11-01T12:00:00.000Z"
FIRST = "2026-10-30T10:00:00Z"
STARTED = f"started_at from {OPENS} to before {CLOSES}"
UPLOADED = "uploaded_at at most 2026-11-04T12:00:00.000Z"
# As the nights write them; ``test_languages`` holds the texts to what the code gives.
REASONS = {
    "score": Reason("score_mismatch", 5000, 1234, 1016, "2c5"),
    "score, no token": Reason("score_mismatch", 5000, 1234, 16),
    "score, no moves": Reason("score_mismatch", 5, 0, None),
    "combo": Reason("combo_mismatch", 4, 3, 40, "1a1"),
    "level": Reason("level_mismatch", 4, 3, 40, "5h"),
    "lines": Reason("lines_mismatch", 1200, 11, 40, "5h"),
    "board": Reason("board_mismatch", "#7", "-", 40, "1a1"),
    "board, no token": Reason("board_mismatch", "#7", "-", 40),
    "board, no moves": Reason("board_mismatch", "#7", "-", None),
    "board, unreadable": Reason("board_mismatch", "?7", "-", 40, "1a1"),
    "impossible": Reason("impossible_score", 9**9, "score at most 7020 (1 placements x 7020); best_combo at most 6", None),
    "impossible level": Reason("impossible_score", 0, "level at least 4; lines at most 8 (2 pieces can land)", None),
    "impossible pieces": Reason("impossible_score", 10**6, "score at most 42000 (1 piece can land, drops bring 1,234)", None),
    "impossible blocks": Reason(
        "impossible_score", 10**6,
        "score at most 5000 (1 piece can land, 1,003 blocks can be destroyed); "
        "best_combo at most 9 (3 pieces can land, 1 block can be destroyed, 3 or more a pass)", None,
    ),
    "rules": Reason("unknown_rules", "9.9.9", "known of blocks: 1.1.0, 1.2.0", None),
    "rules, none": Reason("unknown_rules", "9.9.9", "known of blocks: none", None),
    "no challenge": Reason("unknown_challenge", "2030-01-01", "not in the challenge table of blocks", None),
    "attempts": Reason("attempt_limit", 4, "attempts are 1, 2 and 3", None),
    "duplicate": Reason("duplicate_attempt", 1, "another log of this attempt was uploaded before, as game g-0", None),
    "start": Reason("outside_challenge_day", "2026-11-09T00:00:00.000Z", STARTED, None),
    "upload": Reason("outside_challenge_day", "2026-11-19T00:00:00.000Z", UPLOADED, None),
    "start and upload": Reason("outside_challenge_day", "2026-11-09T00:00:00.000Z", f"{STARTED}; {UPLOADED}", None),
    "conflict": Reason(
        "conflicting_upload", "g-1", f"2 different games of one player were uploaded under this id, the first at {FIRST}", None
    ),
    "conflict of players": Reason(
        "conflicting_upload", "g-1", f"3 different games of 2 players were uploaded under this id, the first at {FIRST}", None
    ),
    "truncated": Reason("truncated_log", 41, 40, 40),
    "truncated, one": Reason("truncated_log", 2, 1, 1),
    "bad challenge": Reason("challenge", "1.2.0", "piece 2 is 'Nix', which rules 1.2.0 do not have", None),
    "bad challenge at a move": Reason("challenge", "1a1", "piece 2 is 'Nix', which rules 1.2.0 do not have", 3, "1a1"),
    "short challenge": Reason("challenge", "1a1", "the challenge lists only 5 pieces", 3, "1a1"),
    "short challenge, no token": Reason("challenge", None, "the challenge lists only 5 pieces", 3),
}  # fmt: skip
REASONS |= {f"fault {kind}": Reason("illegal_move", "9z9", f"{kind}: of another version", 3) for kind in FAULT_NAMES.values()}
REASONS |= {f"fault {kind}, no token": Reason("illegal_move", None, f"{kind}: ", 3) for kind in ("overlap", "after_end")}
EVIDENCE: tuple[dict[str, Any], ...] = (
    {"rules_that_agree": ["1.1.0", "2.0.0", "3.0.0"]}, {"rules_that_agree": ["1.1.0"]}, {"missing_moves": ["1a1", "2a1"]},
    {"copied_log": {"first_game": "g-9", "players": 1200}},
)  # fmt: skip
# What suspicions rest on.
SIGNS: tuple[dict[str, Any], ...] = (
    {"copied_log": {"first_game": "g-9", "players": 2, "choices": 30, "times": 1200, "times_alike": 1100}},
    {"superhuman_pace": {"choices": 1200, "least_ticks_a_choice": 4, "ticks": 90_000}},
    {"machine_timing": {"gaps": 1300, "equal": 1250, "ticks": 2}},
    {"clock_ratio": {"way": "fast", "game_seconds": 1200, "seconds": 60, "games": 1}},
    {"clock_ratio": {"way": "slow", "game_seconds": 120, "seconds": 1600, "games": 3}},
)


def verdicts() -> Iterator[tuple[str, v.Verdict]]:
    """(name, verdict) of every kind; without a record behind them."""
    base = replace(blocks.verdict_of(blocks.record(blocks.TOKENS, blocks.GAME)), suspicions=())
    for name, reason in REASONS.items():
        yield name, replace(base, verdict="flagged", reasons=(reason,))
        yield f"{name}, other game", replace(base, verdict="flagged", reasons=(reason,), replayed=None, game="")
    several = tuple(REASONS[name] for name in ("score", "board", "attempts", "start"))
    yield "several", replace(base, verdict="flagged", reasons=several)
    yield "several, not counted", replace(base, verdict="flagged", reasons=several, uncounted=("mode",))
    for word in w.VERDICT_WORDS:
        yield word, replace(base, verdict=word, copy_of="g-0" if word == "copy" else None)
    for review in ("cleared", "upheld"):
        yield f"flagged, {review}", replace(base, verdict="flagged", reasons=several, review=review)
        yield f"held back, {review}", replace(base, verdict="withheld", reasons=several[:1], review=review)
        yield f"not counted, {review}", replace(base, verdict="flagged", reasons=several, uncounted=("mode",), review=review)
    yield "verified, upheld", replace(base, review="upheld")
    yield "copy of nothing", replace(base, verdict="copy")
    one = {**base.claimed, "moves": 1}
    for more in ({}, {"level": 3}, {"lines": 12}, {"level": 3, "lines": 12}):
        yield f"one move {more}", replace(base, claimed={**one, **more}, replayed={**one, **more})
        yield f"many moves {more}", replace(base, claimed={**base.claimed, **more}, replayed={**base.claimed, **more})
    for why in (("mode",), ("rules",), ("undated",), ("mode", "rules", "undated")):
        yield f"not counted {why}", replace(base, uncounted=why, mode="training")
    for mode in w.MODE_NAMES:
        yield f"not counted, {mode}", replace(base, uncounted=("mode",), mode=mode)
    yield "not counted, other game", replace(base, uncounted=("mode",), mode="training", game="tetromino")
    yield "not counted, no mode", replace(base, uncounted=("mode",), mode="")
    for code in v.SUSPICION_CODES:
        yield code, replace(base, suspicions=(code,))
        yield f"{code}, other game", replace(base, suspicions=(code,), game="")
    for evidence in EVIDENCE:
        yield f"evidence {evidence}", replace(base, evidence=evidence, suspicions=("copied_log",))
    for evidence in SIGNS:
        yield f"sign {evidence}", replace(base, evidence=evidence, suspicions=tuple(evidence))
    yield "copied, one known", replace(base, evidence={"copied_log": {"first_game": "g-9"}}, suspicions=("copied_log",))
    yield "copied, players", replace(base, evidence={"copied_log": {"players": 40}}, suspicions=("copied_log",))


@cache
def disputes() -> dict[str, Dispute]:
    """Games by name: all three kinds, every fault, honest and not."""
    b, t, c = blocks, tetromino, tetcolor
    whole = b.record(b.FINISHED_TOKENS, b.FINISHED)
    over = b.record(b.FINISHED_TOKENS, b.FINISHED, moves=" ".join([*b.FINISHED_TOKENS, "1a1"]))
    found = {
        "blocks": b.dispute(whole),
        "blocks unfinished": b.dispute(b.record(b.TOKENS, b.GAME)),
        "blocks score": b.dispute(b.record(b.TOKENS, b.GAME, score=b.SCORE + 5000)),
        "blocks pace": b.dispute(b.record(b.TOKENS, b.GAME, finished_at=b.NOON + 3_000_000)),
        "blocks board": b.dispute(b.record(b.TOKENS, b.GAME, final_board="########/" * 7 + "########")),
        "blocks unreadable": b.dispute(b.record(b.TOKENS, b.GAME, final_board="?" * 5000)),
        "blocks impossible": b.dispute(b.record(b.TOKENS[:1], b.GAME, score=10**8, best_combo=70)),
        "blocks empty": b.dispute(b.record([], b.GAME, score=50, best_combo=0, final_board="-")),
        "blocks late": b.dispute(replace(whole, started_at=0, uploaded_at=b.NOON + 30 * v.DAY, attempt=7)),
        "blocks no rules": b.dispute(replace(whole, rules="9.9.9", challenge="2030-01-01")),
        "blocks outside": b.dispute(b.record([*b.TOKENS[:20], "1h11"], b.GAME)),
        "blocks overlap": b.dispute(b.record([*b.TOKENS[:20], "1a1", "1a1", "1a1"], b.GAME)),
        "blocks slot": b.dispute(b.record(["4a1"], b.GAME)),
        "blocks unread": b.dispute(b.record(["zZ", "1a1"], b.GAME)),
        "blocks continue": b.dispute(b.record(["1a1", "*"], b.GAME)),
        "blocks early continue": b.dispute(b.record(["*", "1a1"], b.GAME, mode="training")),
        "blocks continued": b.dispute(b.record(["*", "1a1"], b.GAME, mode="training", challenge="over")),
        "blocks continued twice": b.dispute(b.record(["*", "*"], b.GAME, mode="training", challenge="over")),
        "blocks over": b.dispute(over),
        "blocks copy": b.dispute(replace(whole, player_kind="ai", nation=None), verdict="copy", copy_of="g-0"),
        "blocks withheld": b.dispute(b.record(b.TOKENS, b.GAME, score=b.SCORE + 5000), verdict="withheld"),
        "blocks short": b.dispute(b.record(["1a1", "1c1", "1e1", "2g1", "1a3"], b.GAME, challenge="short")),
        "blocks strange": b.dispute(b.record(["1a1"], b.GAME, challenge="strange")),
        "tetromino": t.dispute(t.record(t.TOKENS, t.GAME)),
        "tetromino score": t.dispute(t.record(t.TOKENS, t.GAME, score=t.GAME.score + 7, level=9, lines=3)),
        "tetromino impossible": t.dispute(t.record(t.TOKENS, t.GAME, level=99, score=10**9)),
        "tetromino board": t.dispute(t.record(t.TOKENS, t.GAME, final_board="-")),
        "tetromino hold": t.dispute(t.played("", t.DAY, moves="3hcc")),
        "tetromino held": t.dispute(t.played("3hc5lllllllxdh", t.DAY)),
        "tetromino clock": t.dispute(t.played("", "zen", moves="2h5184000")),
        "tetromino unread": t.dispute(t.played("", t.DAY, moves="3h7q")),
        "tetromino spin": t.dispute(t.played("x" + 19 * "d" + "xh", "level-4")),
        "tetromino mini": t.dispute(t.played(t.A1_PREFIX + "200", "a1")),
        "tetromino four": t.dispute(t.played("x" + "r" * 5 + "h" + "h" * 2, "clears")),
        "tetromino over": t.dispute(t.played("h" * 12, t.DAY, moves="h" * 14)),
        "tetromino zen": t.dispute(t.played("h" * 40, "zen")),
        "tetromino wait": t.dispute(t.played("1500l 1300", t.DAY)),
        "tetromino long wait": t.dispute(t.played("51840", "zen")),
        "tetromino short": t.dispute(t.played("hhh", "short")),
        "tetcolor": c.dispute(c.played("5hh", "bombs")),
        "tetcolor cascade": c.dispute(c.played("lll5lzdhlhh", "cascade")),
        "tetcolor two passes": c.dispute(c.played("5rhh", "cascade", score=17)),
        "tetcolor cycled": c.dispute(c.played("xzhh", "cascade")),
        "tetcolor full": c.dispute(c.played("hh", "full")),
        "tetcolor ice": c.dispute(c.played("hh", "ice")),
        "tetcolor stones": c.dispute(c.played("hhhhhhhh", "stones")),
        "tetcolor rows": c.dispute(c.played("xrrrrrrhh", "rows")),
        "tetcolor jam": c.dispute(c.played("hh60", "jam")),
        "tetcolor waiting": c.dispute(c.played("hhl", "bombs")),
        "tetcolor time": c.dispute(c.played("700l 700", "columns")),
        "tetcolor turns": c.dispute(c.played("xz", c.DAY)),
        "tetcolor over": c.dispute(c.played("", "columns", moves="9000l")),
        "tetcolor clock": c.dispute(c.played("", "cascade", moves="h5184001l")),
        "tetcolor unread": c.dispute(c.played("", c.DAY, moves="3hq")),
        "tetcolor board": c.dispute(replace(c.played("5hh", "bombs"), final_board="1c4/dV*4a")),
        "tetcolor impossible": c.dispute(c.played("hh", "cascade", score=10**9, best_combo=10**6)),
        "tetcolor no mode": c.dispute(c.played("hh", c.DAY, moves="5hh", mode="columns/arcade/crazy")),
        "tetcolor mode without a name": c.dispute(c.played("hh", c.DAY, moves="5hh", mode="")),
        "tetcolor short": c.dispute(c.played("hhhhhh", "short")),
    }  # fmt: skip
    # Many bombs, stones and ice under hands that know what they do.
    tokens, game = tetcolor.play(25, "duo")
    found["tetcolor duo"] = tetcolor.dispute(tetcolor.record(tokens, game, challenge="duo"))
    return found


def row_texts(row: TraceRow) -> list[str]:
    """Everything that is said about one row."""
    panels = [text for panel in row.panels for text in (panel.title, panel.short, *(label for label, _ in panel.items))]
    listed = [text for cell in row.cells for text in cell if text]
    return [row.title, *row.details, row.caption, " | ".join(panels), str(row.values), " | ".join(listed)]


def terminal(dispute: Dispute, first: int | None = None, last: int | None = None) -> str:
    """The game as it is printed, 80 columns wide."""
    file = io.StringIO()
    render_terminal(dispute, Console(file=file, width=80), first, last)
    return file.getvalue()


def page_text(dispute: Dispute) -> str:
    """The game's page but for its style, its script and the data of that."""
    return re.sub(r"<(style|script)[^>]*>.*?</\1>", "", render_html(dispute), flags=re.DOTALL)


def awards(language: Language) -> Iterator[str]:
    """What a lock is paid for, of every kind."""
    game = tetromino.open_game("x" + 19 * "d" + "xh", "level-4")
    lock = next(step.lock for step in trace(game) if step.lock)
    for spin, lines in CLEAR_NAMES:
        for more in (False, True):
            paid = replace(lock, spin=spin, lines=lines, back_to_back=more, combo=2 * more, perfect=more and lines > 0)
            yield "; ".join(award_words(paid, tetromino.RULES, language))


PRINTED = ("blocks continued", "blocks no rules", "tetromino four", "tetcolor", "tetcolor unread", "tetcolor no mode")
PAGES = ("blocks no rules", "blocks unread", "tetcolor no mode")
SHOWN_ROWS = 3


def everything(language: Language = ENGLISH) -> Iterator[tuple[str, str]]:
    """(case, text) of all that is said: words, the first and last rows of each game, and some games as printed and as a page."""
    rules = blocks.RULEBOOK.find("blocks", "1.2.0")
    for name, verdict in verdicts():
        yield name, "\n".join(w.words(verdict, language=language))
        if name.startswith("board"):
            yield f"{name}, with rules", "\n".join(w.words(verdict, rules, language=language))
    for game in ("", *NAMES):
        for kind in FAULT_NAMES.values():
            yield f"{kind} of {game}", w.fault_words(Fault(kind, 13, ""), "1a1", game, language)
    for award in awards(language):
        yield "award", award
    for name, found in disputes().items():
        dispute = replace(found, language=language)
        yield name, "\n".join(dispute.words())
        start = dispute.start()
        rows = [*([] if start is None else [start]), *dispute.rows()]
        for row in rows if len(rows) <= 2 * SHOWN_ROWS else [*rows[:SHOWN_ROWS], *rows[-SHOWN_ROWS:]]:
            yield f"{name}, row {row.place}", "\n".join(row_texts(row))
        if name in PRINTED:
            yield f"{name}, printed", terminal(dispute)
        if name in PAGES:
            yield f"{name}, page", page_text(dispute)


if __name__ == "__main__":
    # What ``golden/english.txt`` holds.
    for title, said in everything():
        sys.stdout.write(f"=== {title}\n{said}\n")
