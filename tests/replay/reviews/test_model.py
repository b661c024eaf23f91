"""What follows from decisions: subjects, facts, states, and which games count (C8, D4)."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import replay
from replay.reviews.aliases import Aliases
from replay.reviews.games import facts_of_row
from replay.reviews.model import (
    LARGEST_CLEARED_SCORE,
    OPEN,
    STATES,
    Review,
    counts,
    facts_of,
    is_reason,
    review_of,
    standing_decision,
    subject_of,
    undone_ids,
    why_not_counted,
)
from tests.replay.reviews.support import ODD_TEXTS, decided, verdict_row

SUBJECT = (Path(replay.__file__).parent / "sql" / "subject.sql").read_text("utf-8")
TEXTS = ("game", "challenge", "game_id", "player_id", "mode", "rules", "final_board")
NUMBERS = {"attempt": 63, "score": 63, "best_combo": 63, "level": 63, "lines": 63}
OWN = (*TEXTS, *NUMBERS, "log_hash_high", "log_hash_low")

# Everything that a record may hold: no lone surrogates, whose lines are quarantined.
a_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(ODD_TEXTS)
a_number = st.integers(-(2**63), 2**63 - 1)
a_hash = st.integers(0, 2**64 - 1)
a_row = st.fixed_dictionaries(
    dict.fromkeys(TEXTS, a_text)
    | {"attempt": a_number, "score": a_number, "best_combo": a_number, "level": st.none() | a_number, "lines": st.none() | a_number}
    | {"log_hash_high": a_hash, "log_hash_low": a_hash}
)


# --- Subjects ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as con:
        con.execute(SUBJECT)
        types = dict.fromkeys(TEXTS, "VARCHAR") | dict.fromkeys(NUMBERS, "BIGINT")
        types |= {"log_hash_high": "UBIGINT", "log_hash_low": "UBIGINT"}
        con.execute(f"create table uploads ({', '.join(f'{name} {kind}' for name, kind in types.items())})")
        yield con


def in_sql(con, rows):
    """The subjects of rows as they would be made over a table of verdicts."""
    con.execute("delete from uploads")
    places = ", ".join(f"${name}" for name in OWN)
    con.executemany(f"insert into uploads ({', '.join(OWN)}) values ({places})", [{name: row[name] for name in OWN} for row in rows])
    arguments = (
        "game, challenge, attempt, log_hash_high, log_hash_low, game_id, player_id, mode, rules, score, best_combo, level, lines,"
        " final_board"
    )
    return [found for (found,) in con.execute(f"select subject_of({arguments}) from uploads order by rowid").fetchall()]


@settings(max_examples=60, deadline=None)
@given(st.lists(a_row, min_size=1, max_size=8))
def test_sql_and_python_name_the_same_subject(con, rows):
    assert in_sql(con, rows) == [subject_of(row) for row in rows]


def test_sql_and_python_agree_on_every_odd_text_in_every_place(con):
    rows = [verdict_row() | {name: text} for name in TEXTS for text in ODD_TEXTS]
    expected = [subject_of(row) for row in rows]
    assert in_sql(con, rows) == expected
    assert len(set(expected)) == len({json.dumps([row[name] for name in OWN]) for row in rows})


@settings(max_examples=150, deadline=None)
@given(a_row, a_row)
# What one id gains the next one loses.
@example(verdict_row(challenge="a", player_id="bc"), verdict_row(challenge="ab", player_id="c"))
@example(verdict_row("x", player_id="1:y z"), verdict_row("x 5:1:y", player_id="z"))
@example(verdict_row(level=None, lines=1), verdict_row(level=1, lines=None))
def test_different_uploads_are_different_subjects(one, two):
    assert (subject_of(one) == subject_of(two)) == ([one[name] for name in OWN] == [two[name] for name in OWN])


@pytest.mark.parametrize("name", OWN)
def test_all_that_makes_an_upload_another_game_makes_it_another_subject(name):
    """Two claims for one log under one id: who decides about the wrong one must not touch the right one."""
    row = verdict_row()
    other = row | {name: "other" if name in TEXTS else 5}
    assert subject_of(row) != subject_of(other), name


@pytest.mark.parametrize("name", ["source_file", "source_line", "day", "verdict", "reasons", "suspicions", "counted", "attempt_key"])
def test_what_a_night_finds_and_where_it_finds_it_is_no_part_of_a_subject(name):
    """C8: a day that is computed again finds its decisions again."""
    assert subject_of(verdict_row()) == subject_of(verdict_row() | {name: "other"})


def test_a_verdict_file_without_level_and_lines_names_the_same_subject():
    row = verdict_row()
    old = {name: value for name, value in row.items() if name not in ("level", "lines")}
    assert subject_of(old) == subject_of(row)


# --- Facts ---------------------------------------------------------------------------------------------------------------

REASONS = {
    "score_mismatch": (900, 640), "board_mismatch": ("#", "##"), "illegal_move": ("9b9", "overlap: '9b9' lies on filled cells"),
    "impossible_score": (10**9, "score at most 7020 (1 move)"), "unknown_rules": ("9.9.9", "known of blocks: 1.2.0"),
    "attempt_limit": (4, "attempts are 1, 2 and 3"), "duplicate_attempt": (1, "another log of this attempt, game other"),
    "conflicting_upload": ("g", "2 different games of one player were uploaded under this id, the first at noon"),
    "truncated_log": (25, 24),
}  # fmt: skip


def reason(code, **changes):
    claimed, found = REASONS[code]
    return {"code": code, "claimed": claimed, "found": found, "move": 4} | changes


@pytest.mark.parametrize("code", REASONS)
def test_other_words_for_the_same_fault_are_no_new_fact(code):
    """C8: a detector that explains the same fault better, or notices it earlier, has found nothing new."""
    before = facts_of([reason(code)], [])
    if code == "illegal_move":
        assert facts_of([reason(code, found="overlap: said in better words")], []) == before
    elif code.endswith("_mismatch"):
        assert facts_of([reason(code, move=1)], []) == before
    else:
        assert facts_of([reason(code, found="said in better words", move=None)], []) == before
    assert all(map(is_reason, before))


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("score_mismatch", {"found": 650}), ("score_mismatch", {"claimed": 901}), ("board_mismatch", {"found": "###"}),
        ("illegal_move", {"found": "outside_board: words"}), ("illegal_move", {"move": 5}), ("illegal_move", {"claimed": "8b9"}),
        ("truncated_log", {"claimed": 26}),
    ],
)  # fmt: skip
def test_another_finding_is_a_new_fact(code, changes):
    assert facts_of([reason(code)], []) != facts_of([reason(code, **changes)], [])


def test_facts_stand_in_one_order_whatever_theirs():
    reasons, signs = [reason(code) for code in REASONS], ["unfinished", "copied_log"]
    facts = facts_of(reasons, signs)
    assert facts == facts_of(reversed(reasons), reversed(signs)) == tuple(sorted(facts))
    assert len(facts) == len(set(facts)) == len(REASONS) + 2
    assert [json.loads(fact)["suspicion"] for fact in facts if not is_reason(fact)] == ["copied_log", "unfinished"]


def test_facts_of_a_row_are_the_same_from_a_file_and_from_read_reasons():
    row = verdict_row(suspicions=["unfinished"])
    assert facts_of_row(row) == facts_of_row(row | {"reasons": json.loads(row["reasons"])})


# --- What stands ---------------------------------------------------------------------------------------------------------


@st.composite
def histories(draw):
    """Decisions on one subject in which an undo takes back any earlier decision, another undo too, possibly one twice."""
    found = []
    for number in range(1, draw(st.integers(0, 12)) + 1):
        action = draw(st.sampled_from(["uphold", "clear", "note", *(["undo"] * 3 if found else [])]))
        undoes = draw(st.sampled_from(found)).id if action == "undo" else None
        found.append(decided(number, action, undoes=undoes))
    return found


@settings(max_examples=300, deadline=None)
@given(histories(), st.randoms())
def test_undo_chains_follow_their_definition(history, order):
    """What is in force: a decision that no undo in force takes back.  Of those that uphold or clear the newest stands."""

    def in_force(decision):
        return not any(in_force(other) for other in history if other.undoes == decision.id)

    expected = [one for one in history if one.action in ("uphold", "clear") and in_force(one)]
    mixed = list(history)
    order.shuffle(mixed)
    assert standing_decision(mixed) == (expected[-1] if expected else None)
    assert undone_ids(mixed) == {one.id for one in history if not in_force(one)}


def test_an_undone_undo_and_what_it_gives_back():
    facts = facts_of([reason("score_mismatch")], [])
    chain = [decided(1, "clear", facts), decided(2, "uphold", facts), decided(3, "undo", facts, 2), decided(4, "undo", facts, 3)]
    states = [review_of(chain[:length], facts).state for length in range(5)]
    assert states == ["open", "cleared", "upheld", "cleared", "upheld"]


def test_notes_decide_nothing():
    facts = facts_of([reason("score_mismatch")], [])
    assert review_of([decided(1, "note", facts)], facts) == OPEN
    assert review_of([decided(1, "clear", facts), decided(2, "note", ())], facts).state == "cleared"


def test_a_dismissal_stands_until_the_evidence_changes_and_says_what_changed():
    """C8: fewer facts keep it cleared, another one brings it back, and only that one is new."""
    score, board = reason("score_mismatch"), reason("board_mismatch")
    both, one, other = facts_of([score, board], []), facts_of([score], []), facts_of([reason("score_mismatch", found=650)], [])
    cleared = [decided(1, "clear", both)]
    assert review_of(cleared, both) == Review("cleared", cleared[0])
    assert review_of(cleared, one).state == "cleared"
    assert review_of(cleared, ()).state == "cleared"
    back = review_of(cleared, other)
    assert (back.state, back.new_facts, back.lifts_reasons) == ("returned", other, False)
    sign = review_of(cleared, (*both, *facts_of([], ["copied_log"])))
    assert (sign.state, sign.lifts_reasons) == ("returned", True), "a suspicion takes no score away"
    upheld = review_of([decided(1, "uphold", one)], other)
    assert (upheld.state, upheld.new_facts) == ("upheld", other)


# --- What counts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", [-1, 0, 900, LARGEST_CLEARED_SCORE, LARGEST_CLEARED_SCORE + 1, 2**63 - 1])
@pytest.mark.parametrize("key", [2, 3])
def test_what_no_clearing_makes_count(score, key):
    fits = 0 <= score <= LARGEST_CLEARED_SCORE and key == 3
    assert (why_not_counted(verdict_row(score=score, attempt_key=key)) is None) == fits
    assert why_not_counted(verdict_row(score=score, attempt_key=key, verdict="copy"))


# A night counts verified games only.
FOUND = [("verified", True), ("verified", False), ("flagged", False), ("copy", False)]


@pytest.mark.parametrize(("found", "state"), list(product(FOUND, STATES)))
def test_which_games_count(found, state):
    """Every combination: upheld never counts; a flagged game counts when cleared; the rest stays as the night found it."""
    verdict, counted = found
    row = verdict_row(verdict=verdict, counted=counted)
    decision = None if state == "open" else decided(1, "uphold" if state == "upheld" else "clear")
    new = facts_of([reason("score_mismatch")], []) if state == "returned" else ()
    expected = {"verified": counted and state != "upheld", "flagged": state == "cleared", "copy": False}[verdict]
    assert counts(row, Review(state, decision, new)) is expected


# --- Names of subjects ---------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=12))
def test_renames_name_classes_and_the_newest_name_is_todays(pairs):
    """The slow twin: sets that are joined, and the name that was given last within each."""
    classes, newest = {name: {name} for name in "abcdef"}, {}
    for number, (old, new) in enumerate(pairs):
        joined = classes[old] | classes[new]
        for name in joined:
            classes[name] = joined
        newest[new] = number
    aliases = Aliases(pairs)
    for name in "abcdef":
        assert set(aliases.names(name)) == classes[name], name
        given_names = [other for other in classes[name] if other in newest]
        assert aliases.today(name) == max(given_names, key=newest.__getitem__, default=name), name


def test_a_rename_that_says_nothing_new_changes_nothing():
    aliases = Aliases()
    assert [aliases.rename("a", "b"), aliases.rename("a", "b"), aliases.rename("b", "c"), aliases.rename("c", "a")] == [True, False, True, True]
    assert aliases.today("b") == "a"
    assert aliases.rename("a", "a") is False
    assert aliases.rename("z", "z") is False
