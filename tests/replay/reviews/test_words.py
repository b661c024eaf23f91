"""Facts and reviews in words: every code has some, and no text of a player acts in them (C8, D8)."""

from __future__ import annotations

import json

import pytest

from replay.reviews.model import facts_of, review_of
from replay.reviews.words import DONE, decision_words, fact_lines, fact_words, state_words, time_words
from replay.verdict import REASON_CODES, SUSPICION_CODES
from tests.replay.night_support import EVIL
from tests.replay.reviews.support import decided


def fact(code, claimed=900, found=640, move=4):
    (text,) = facts_of([{"code": code, "claimed": claimed, "found": found, "move": move}], [])
    return text


@pytest.mark.parametrize("code", REASON_CODES)
def test_every_reason_has_words_of_its_own(code):
    words = fact_words(fact(code))
    assert code not in words and "_" not in words and "None" not in words, words
    if code in ("duplicate_attempt", "attempt_limit", "unknown_rules", "unknown_challenge", "impossible_score"):
        assert "900" in words


@pytest.mark.parametrize("code", SUSPICION_CODES)
def test_every_suspicion_says_that_it_is_one(code):
    """C4: a hint is never told as a proof."""
    (text,) = facts_of([], [code])
    assert fact_words(text).startswith("suspicion: ") and "_" not in fact_words(text)


def test_what_was_claimed_and_what_was_found():
    assert fact_words(fact("score_mismatch", 1_000_900, 640)) == "score claimed 1,000,900, replayed 640"
    assert fact_words(fact("illegal_move", "9b9", "no_such_slot: words")) == "illegal move 5 (9b9): no such slot"
    assert fact_words(fact("illegal_move", None, "no_such_mode: x", None)) == "illegal move: no such mode"


def test_a_code_of_another_version_is_named():
    """An old decision may keep a fact that today's detectors do not know."""
    assert fact_words(json.dumps({"reason": "moon_phase", "claimed": "x"})) == "moon phase: x claimed"
    assert fact_words(json.dumps({"suspicion": "moon_phase"})) == "suspicion: moon phase"


def test_what_is_new_and_what_is_gone():
    score, board = fact("score_mismatch"), fact("unknown_rules", "9.9.9")
    decision = decided(1, "clear", (score,))
    assert fact_lines((score,)) == ["score claimed 900, replayed 640"]
    assert fact_lines((board, score), decision) == ["rules 9.9.9 are not known here (new)", "score claimed 900, replayed 640"]
    assert fact_lines((), decision) == ["score claimed 900, replayed 640 (no longer)"]


def test_states_in_words():
    score, other = fact("score_mismatch"), fact("score_mismatch", found=650)
    by = "by ana at 2026-11-01 09:00:00 UTC (decision 1: why)"
    assert state_words(review_of([], (score,))) == "open: nobody has decided about it"
    assert state_words(review_of([decided(1, "clear", (score,))], (score,))) == f"cleared {by}"
    assert state_words(review_of([decided(1, "clear", (score,))], (other,))) == (
        f"returned: cleared {by}, but since then score claimed 900, replayed 650 (new)"
    )
    assert state_words(review_of([decided(1, "uphold", (score,))], (other,))) == (
        f"upheld {by}; since then score claimed 900, replayed 650 (new)"
    )


@pytest.mark.parametrize("action", DONE)
def test_a_line_of_history(action):
    decision = decided(7, action, undoes=3 if action == "undo" else None)
    line = decision_words(decision)
    assert line.startswith(f"7  {time_words(decision.at)}  ana ") and line.endswith(": why")
    assert "undone since" in decision_words(decision, {7}) and "undone since" not in line


def test_hostile_texts_are_shown_harmlessly():
    facts = (fact("unknown_rules", EVIL), fact("illegal_move", EVIL, EVIL), fact("board_mismatch", EVIL, EVIL), fact(EVIL))
    decision = decided(1, "clear", facts[:1], reason=EVIL, reviewer=EVIL)
    texts = [*map(fact_words, facts), *fact_lines(facts, decision), state_words(review_of([decision], facts)), decision_words(decision)]
    for text in texts:
        assert not set(text) & {"\x1b", "\x07", "\u202e", "\r", "\n", "\0"}, text
