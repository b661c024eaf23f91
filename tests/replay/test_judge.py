"""The judgement that one record allows by itself: every reason, its near misses, and where claim and replay part."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.blocks import kernel as k
from replay import verdict as v
from replay.errors import MalformedRecord
from replay.games import kind_of
from replay.record import Record, count_tokens
from replay.verdict import Reason, challenge_span, first_disagreement, time_text
from tests.replay.games import (
    BEST,
    BOARD,
    CLOSES,
    FINISHED,
    FINISHED_TOKENS,
    GAME,
    LAST_UPLOAD,
    NOON,
    OPENS,
    RULEBOOK,
    SCORE,
    TABLE,
    TOKENS,
    play,
    record,
    verdict_of,
)


def codes(found: Record) -> list[str]:
    return [reason.code for reason in verdict_of(found).reasons]


def reason_of(found: Record, code: str) -> Reason:
    return next(reason for reason in verdict_of(found).reasons if reason.code == code)


# --- Verified ------------------------------------------------------------------------------------------------------------


def test_an_honest_finished_game_is_verified():
    assert FINISHED.over
    found = verdict_of(record(FINISHED_TOKENS, FINISHED))
    assert (found.verdict, found.reasons, found.suspicions, found.evidence, found.fault) == ("verified", (), (), None, None)
    assert found.counted
    claimed = {"score": FINISHED.st[k.ST_SCORE], "best_combo": FINISHED.st[k.ST_BEST], "board": FINISHED.board}
    assert found.claimed == {**claimed, "moves": len(FINISHED_TOKENS), "finished": None}
    assert found.replayed == {**claimed, "moves": len(FINISHED_TOKENS), "finished": True}


def test_json_has_the_published_keys_in_their_order():
    honest = verdict_of(record(FINISHED_TOKENS, FINISHED))
    common = ["game_id", "verdict", "reasons", "suspicions", "claimed", "replayed", "fault", "rules", "challenge"]
    assert list(honest.as_json()) == common
    assert list(honest.as_json()["claimed"]) == list(honest.as_json()["replayed"]) == [
        "score", "best_combo", "board", "moves", "finished"
    ]  # fmt: skip
    copied = replace(honest, verdict="copy", copy_of="g-0", evidence={"a": 1})
    assert list(copied.as_json()) == [*common, "evidence", "copy_of"]
    flagged = verdict_of(record(["1a1", "zz"], GAME))
    assert json.loads(json.dumps(flagged.as_json())) == flagged.as_json()
    assert list(flagged.as_json()["reasons"][0]) == ["code", "claimed", "found", "move"]
    assert list(flagged.as_json()["fault"]) == ["kind", "move", "text"]


def test_unfinished_is_only_a_suspicion():
    found = verdict_of(record(TOKENS, GAME))
    assert (found.verdict, found.suspicions, found.counted) == ("verified", ("unfinished",), True)
    assert "unfinished" not in verdict_of(record(TOKENS, GAME, score=SCORE + 4)).suspicions


def test_empty_log_with_empty_claims_is_a_legal_game():
    found = verdict_of(record([], GAME, score=0, best_combo=0, final_board="-"))
    assert (found.verdict, found.suspicions, found.replayed["moves"]) == ("verified", ("unfinished",), 0)


def test_a8_game_over_is_judged_after_the_clear():
    """A8: before the clear no piece fits; the claims 588, 3 lines and the board come out."""
    final = "2###1##/2####1#/2#####1/2#1####/2##1###/3#####/8/8"
    game = record(["1f8", "2a7"], GAME, challenge="gap", score=588, best_combo=3, final_board=final)
    assert verdict_of(game).verdict == "verified"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"mode": "training"}, ("mode",)),
        ({"mode": "training", "challenge": "training-7"}, ("undated",)),
        ({"challenge": "2026-09-15"}, ("rules",)),
        ({"challenge": "training-7"}, ("mode", "undated")),
    ],
)
def test_games_outside_the_challenge_are_verified_but_not_counted(changes, why):
    found = verdict_of(record(TOKENS, GAME, **changes))
    assert (found.verdict, found.uncounted, found.counted) == ("verified", why, False)


# --- Mismatches ----------------------------------------------------------------------------------------------------------


def test_b10_each_claim_is_enough_on_its_own():
    """B10: score, combo and board are three checks, and a non-canonical board that means the same cells passes."""
    assert codes(record(TOKENS, GAME, score=SCORE + 4)) == ["score_mismatch"]
    assert codes(record(TOKENS, GAME, best_combo=BEST + 1)) == ["combo_mismatch"]
    one_cell = _with_one_cell_changed(BOARD)
    assert codes(record(TOKENS, GAME, final_board=one_cell)) == ["board_mismatch"]
    assert reason_of(record(TOKENS, GAME, final_board=one_cell), "board_mismatch") == Reason(
        "board_mismatch", one_cell, BOARD, len(TOKENS) - 1
    )
    assert codes(record(TOKENS, GAME, final_board=_spelled_out(BOARD))) == []


def _expand(board: str) -> list[str]:
    rows = [] if board == "-" else ["".join("." * int(c) if c.isdigit() else c for c in row) for row in board.split("/")]
    return ["." * 8] * (8 - len(rows)) + rows


def _with_one_cell_changed(board: str) -> str:
    rows = _expand(board)
    rows[7] = ("." if rows[7][0] == "#" else "#") + rows[7][1:]
    return "/".join(re.sub(r"\.+", lambda run: str(len(run[0])), row) for row in rows)


def _spelled_out(board: str) -> str:
    """Zeros before every run and between filled cells, leading empty rows written out."""
    return "/".join(re.sub(r"\.+", lambda run: f"00{len(run[0])}", re.sub("(?<=#)(?=#)", "0", row)) for row in _expand(board))


@pytest.mark.parametrize("board", ["", "9", "8/8/8/8/8/8/8/8/8", "J7", "#" * 9, "nonsense", "é", "1" * 100_000])
def test_an_unreadable_board_is_a_mismatch(board):
    assert codes(record(TOKENS, GAME, final_board=board)) == ["board_mismatch"]


def test_a_lower_claim_is_a_mismatch_too():
    """C2: the replay is not credited with what the player did not claim."""
    found = reason_of(record(TOKENS, GAME, score=SCORE - 4), "score_mismatch")
    assert (found.claimed, found.found, found.move) == (SCORE - 4, SCORE, len(TOKENS) - 1)
    assert not verdict_of(record(TOKENS, GAME, score=SCORE - 4)).counted


def test_mismatches_name_the_token():
    found = reason_of(record(TOKENS, GAME, score=0), "score_mismatch")
    assert (found.move, found.token) == (0, TOKENS[0])


# --- C2: edited scores ---------------------------------------------------------------------------------------------------


def test_c2_doubled_score_is_a_mismatch_with_both_values():
    """C2: the honest log with twice the score."""
    found = verdict_of(record(TOKENS, GAME, score=2 * SCORE))
    assert [reason.code for reason in found.reasons] == ["score_mismatch"]
    assert (found.claimed["score"], found.replayed["score"]) == (2 * SCORE, SCORE)


def test_c2_the_bound_itself_is_not_impossible():
    """C2: 7,020 a placement is the most that the rules allow."""
    bound = 7020 * len(TOKENS)
    assert codes(record(TOKENS, GAME, score=bound)) == ["score_mismatch"]
    assert codes(record(TOKENS, GAME, score=bound + 1)) == ["score_mismatch", "impossible_score"]
    found = reason_of(record(TOKENS, GAME, score=bound + 1), "impossible_score")
    assert (found.claimed, found.move) == (bound + 1, None)
    assert found.found == f"score at most {bound} ({len(TOKENS)} placements x 7020)"
    assert reason_of(record(TOKENS, GAME, score=bound + 1), "score_mismatch").move == 0


@pytest.mark.parametrize("score", [-1, -(2**63), 2**31, 2**63 - 1])
def test_c2_absurd_scores(score):
    """C2: nothing wraps, and the impossible has a reason of its own."""
    found = verdict_of(record(TOKENS, GAME, score=score))
    assert [(reason.code, reason.claimed) for reason in found.reasons] == [("score_mismatch", score), ("impossible_score", score)]
    assert found.reasons[0].move == 0


def test_c2_empty_log_with_points():
    """C2: an empty log earns nothing, and no move can be named."""
    found = verdict_of(record([], GAME, score=50_000, best_combo=0, final_board="-"))
    assert [(reason.code, reason.move) for reason in found.reasons] == [("score_mismatch", None), ("impossible_score", None)]


@pytest.mark.parametrize(("combo", "expected"), [(-1, True), (6, False), (7, True), (9, True)])
def test_c2_combo_beyond_the_rules(combo, expected):
    """C2: the rules pay six lines at most."""
    found = record(TOKENS, GAME, best_combo=combo)
    assert ("impossible_score" in codes(found)) is expected
    assert reason_of(found, "combo_mismatch").move == (0 if expected else len(TOKENS) - 1)


def test_both_numbers_impossible_are_one_reason():
    found = reason_of(record(TOKENS, GAME, score=-5, best_combo=9), "impossible_score")
    assert (found.claimed, found.found) == (-5, "score at least 0; best_combo at most 6")


def test_a_continue_is_no_placement_in_the_bound():
    log = record(
        ["*", "1a1"], GAME, mode="training", challenge="over", score=7021, best_combo=0, final_board="##6/##6/8/8/8/8/8/8"
    )
    found = verdict_of(log)
    assert (found.replayed["score"], found.claimed["moves"]) == (16, 2)
    assert [reason.code for reason in found.reasons] == ["score_mismatch", "impossible_score"]
    assert verdict_of(replace(log, score=7020)).reasons[0].move == 1


# --- Illegal moves -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("zz9", "bad_token"), ("4a1", "no_such_slot"), ("1h11", "outside_board"), (TOKENS[0], "overlap"),
        ("*", "continue_not_allowed"),
    ],
)  # fmt: skip
def test_illegal_moves_name_token_and_fault(written, kind):
    tokens = [*TOKENS[:1], written, *TOKENS[1:]]
    # The first placement's own cells are taken, whichever piece follows it into the slot.
    found = verdict_of(record(tokens, GAME, score=1, best_combo=5, final_board="x"))
    assert found.fault.kind == kind
    reason = found.reasons[0]
    assert [r.code for r in found.reasons] == ["illegal_move"], "claims are not compared behind a fault"
    assert (reason.claimed, reason.found, reason.move) == (written, f"{kind}: {found.fault.text}", 1)
    assert (found.replayed["moves"], found.claimed["moves"]) == (1, count_tokens("blocks", " ".join(tokens)))
    assert found.suspicions == ()


def test_a_token_after_the_end():
    found = verdict_of(record([*FINISHED_TOKENS, "1a1"], FINISHED))
    assert (found.fault.kind, found.fault.move) == ("after_end", len(FINISHED_TOKENS))
    assert [reason.code for reason in found.reasons] == ["illegal_move"]


def test_an_impossible_claim_stands_beside_an_illegal_move():
    assert codes(record(["zz"], GAME, score=-1)) == ["illegal_move", "impossible_score"]


def test_a_log_of_anything_is_an_illegal_move():
    for log in ("\x00", "é1a1", "1a", "💥", "1a1\u00a02b2", "\u202e1a1"):
        assert codes(replace(record([], GAME), moves=log))[0] == "illegal_move"


# --- Reference data ------------------------------------------------------------------------------------------------------


def test_unknown_rules_and_challenge_are_not_replayed():
    """B6: an unknown version is held, not failed; several things unknown are all named."""
    unknown = {"unknown_rules": {"rules": "9.9.9"}, "unknown_challenge": {"challenge": "2030-01-01"}}
    for code, change in unknown.items():
        found = verdict_of(record(TOKENS, GAME, score=-5, attempt=9, **change))
        assert [reason.code for reason in found.reasons] == [code]
        assert (found.verdict, found.replayed, found.fault) == ("flagged", None, None)
        assert found.reasons[0].claimed == next(iter(change.values()))
    both = record(TOKENS, GAME, rules="9.9.9", challenge="2030-01-01")
    assert codes(both) == ["unknown_rules", "unknown_challenge"]
    assert codes(record(TOKENS, GAME, game="tetcolor"))[0] == "unknown_rules"


def test_a_listed_deal_that_runs_out_is_the_challenges_fault():
    tokens = ["1a1", "1c1", "1e1", "2g1"]
    found = verdict_of(record([*tokens, "1a3"], GAME, challenge="short", score=-7, attempt=9))
    assert (found.verdict, found.suspicions) == ("quarantined", ())
    assert found.reasons == (Reason("challenge", "1a3", "the challenge lists only 5 pieces", 4),)
    assert found.fault.kind == "deal_exhausted"
    honest = verdict_of(record(tokens, GAME, challenge="short", score=64 + 240, best_combo=2, final_board="-"))
    assert (honest.verdict, honest.suspicions) == ("verified", ("unfinished",))


def test_a_challenge_that_the_rules_cannot_deal_is_quarantined():
    found = verdict_of(record(TOKENS, GAME, challenge="strange"))
    assert (found.verdict, [reason.code for reason in found.reasons], found.replayed) == ("quarantined", ["challenge"], None)


def test_a_mode_that_the_rules_do_not_know_is_malformed():
    with pytest.raises(MalformedRecord, match=r"'zen'.*daily, training, arena") as error:
        verdict_of(record(TOKENS, GAME, mode="zen"))
    assert error.value.code == "wrong_value"


def test_b6_another_version_is_evidence_and_no_excuse():
    """B6: labelled 1.1.0, played under 1.2.0: flagged under its own label, 1.2.0 noted."""
    lying = record(TOKENS, GAME, rules="1.1.0", challenge="2026-09-15", started_at=NOON - 46 * v.DAY)
    lying = replace(lying, finished_at=lying.started_at + 300_000_000, uploaded_at=lying.started_at + 300_000_000)
    found = verdict_of(lying)
    assert (found.verdict, [reason.code for reason in found.reasons]) == ("flagged", ["score_mismatch"])
    assert found.evidence == {"rules_that_agree": ["1.2.0"]}
    assert verdict_of(replace(lying, score=lying.score + 1)).evidence is None
    assert verdict_of(replace(lying, moves=lying.moves + " zz")).evidence is None
    true = verdict_of(replace(lying, score=found.replayed["score"]))
    assert (true.verdict, true.evidence) == ("verified", None)


# --- B4: the last move is missing ----------------------------------------------------------------------------------------


def test_b4_a_lost_last_move_is_told_from_an_edited_claim():
    """B4: 40 of 41 tokens; then the same 40 with 5,000 points more and the replayed board."""
    tokens, whole = play(1, 41)
    _, before = play(1, 40)
    lost = verdict_of(record(tokens[:40], whole))
    assert lost.reasons[-1].code == "truncated_log"
    assert lost.reasons[0].code == "score_mismatch"
    assert (lost.reasons[-1].claimed, lost.reasons[-1].found, lost.reasons[-1].move) == (41, 40, 40)
    assert tokens[40] in lost.evidence["missing_moves"]
    assert lost.replayed["finished"] is False
    assert lost.suspicions == ()
    edited = verdict_of(record(tokens[:40], before, score=before.st[k.ST_SCORE] + 5000))
    assert ([reason.code for reason in edited.reasons], edited.evidence) == (["score_mismatch"], None)
    two_lost = verdict_of(record(tokens[:39], whole))
    assert "truncated_log" not in [reason.code for reason in two_lost.reasons]


# --- Attempts and days ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "limit"), [(0, True), (1, False), (2, False), (3, False), (4, True), (-1, True), (2**62, True)]
)
def test_attempts_are_one_to_three(attempt, limit):
    found = record(FINISHED_TOKENS, FINISHED, attempt=attempt)
    assert codes(found) == (["attempt_limit"] if limit else [])
    if limit:
        assert verdict_of(found).reasons[0].claimed == attempt


@pytest.mark.parametrize(
    ("started", "uploaded", "outside"),
    [
        (OPENS, OPENS + v.HOUR, False),
        (OPENS - 1, OPENS + v.HOUR, True),
        (CLOSES - 1, CLOSES + v.HOUR, False),
        (CLOSES, CLOSES + v.HOUR, True),
        (NOON, LAST_UPLOAD, False),
        (NOON, LAST_UPLOAD + 1, True),
    ],
)
def test_the_challenges_hours_to_the_microsecond(started, uploaded, outside):
    found = record(FINISHED_TOKENS, FINISHED, started_at=started, finished_at=started + 300_000_000, uploaded_at=uploaded)
    assert codes(found) == (["outside_challenge_day"] if outside else [])


def test_the_challenges_hours_in_words():
    assert (time_text(OPENS), time_text(CLOSES)) == ("2026-10-30T10:00:00.000Z", "2026-11-01T12:00:00.000Z")
    assert time_text(LAST_UPLOAD) == "2026-11-04T12:00:00.000Z"
    early = record(FINISHED_TOKENS, FINISHED, started_at=OPENS - 1, finished_at=NOON, uploaded_at=LAST_UPLOAD + 1)
    assert reason_of(early, "outside_challenge_day") == Reason(
        "outside_challenge_day", "2026-10-30T09:59:59.999999Z",
        "started_at from 2026-10-30T10:00:00.000Z to before 2026-11-01T12:00:00.000Z; "
        "uploaded_at at most 2026-11-04T12:00:00.000Z",
        None,
    )  # fmt: skip
    late = replace(early, started_at=NOON)
    assert reason_of(late, "outside_challenge_day").claimed == "2026-11-04T12:00:00.000001Z"


def test_b9_clocks():
    """B9: a challenge of five days ahead is held, one of tomorrow by local date is not, and skew is no matter."""
    ahead = record(
        FINISHED_TOKENS, FINISHED, started_at=NOON - 5 * v.DAY, finished_at=NOON - 5 * v.DAY, uploaded_at=NOON - 5 * v.DAY
    )
    assert codes(ahead) == ["outside_challenge_day"]
    at = challenge_span(date(2026, 10, 31))[0] + 2 * v.HOUR
    assert time_text(at) == "2026-10-30T12:00:00.000Z"
    east = record(FINISHED_TOKENS, FINISHED, started_at=at - 400_000_000, finished_at=at - 1_000_000, uploaded_at=at)
    assert codes(east) == []
    skewed = record(FINISHED_TOKENS, FINISHED, uploaded_at=NOON + 210_000_000)
    assert codes(skewed) == []
    instant = verdict_of(record(TOKENS, GAME, finished_at=NOON))
    assert (instant.verdict, instant.suspicions) == ("verified", ("superhuman_pace", "unfinished"))


@pytest.mark.parametrize("changes", [{"mode": "training"}, {"challenge": "training-7", "mode": "training"}])
def test_limits_of_the_daily_challenge_hold_nowhere_else(changes):
    found = record(TOKENS, GAME, attempt=17, started_at=0, **changes)
    assert codes(found) == []


def test_reasons_come_in_the_published_order():
    found = verdict_of(record(TOKENS, GAME, score=-1, best_combo=99, final_board="?", attempt=0, started_at=0))
    listed = [reason.code for reason in found.reasons]
    assert listed == [
        "score_mismatch", "combo_mismatch", "board_mismatch", "impossible_score", "attempt_limit", "outside_challenge_day"
    ]  # fmt: skip
    assert v.in_order(found.reasons[::-1]) == found.reasons


# --- Pace ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "micros", "fast"), [(10, 1_999_999, True), (10, 2_000_000, False), (9, 0, False), (60, 0, True)]
)
def test_pace_limits(tokens, micros, fast):
    log, game = play(1, tokens)
    found = verdict_of(record(log, game, finished_at=NOON + micros))
    assert (found.verdict, "superhuman_pace" in found.suspicions) == ("verified", fast)


def test_pace_is_a_setting():
    fast = record(TOKENS, GAME, finished_at=NOON + 1_000_000)
    assert "superhuman_pace" not in verdict_of(fast, pace_min_tokens=61).suspicions
    assert "superhuman_pace" not in verdict_of(fast, pace_min_ms_per_token=1).suspicions


# --- Where they part -----------------------------------------------------------------------------------------------------


@st.composite
def _running(draw):
    steps = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.booleans()), max_size=12))
    scores, bests, placed = [], [], []
    score = best = count = 0
    for gain, lines, is_placement in steps:
        if is_placement:
            score, best, count = score + gain, max(best, lines), count + 1
        scores.append(score)
        bests.append(best)
        placed.append(count)
    return scores, bests, placed


@given(_running(), st.integers(-3, 160), st.integers(-1, 6))
def test_first_disagreement_is_the_first_token_that_no_ending_can_mend(running, score, combo):
    """Against the definition: after the token, no number of points within reach of the placements left gives the claim."""
    scores, bests, placed = running
    most, max_lines = 12, 3
    final_score, final_best = (scores[-1], bests[-1]) if scores else (0, 0)
    reach = [value + most * (placed[-1] - done) for value, done in zip(scores, placed, strict=True)]
    at_score = first_disagreement(score, final_score, scores, reach)
    at_combo = first_disagreement(combo, final_best, bests, [max_lines] * len(bests))
    broken = [i for i in range(len(scores)) if score not in range(scores[i], scores[i] + most * (placed[-1] - placed[i]) + 1)]
    assert at_score == (broken[0] if broken else None)
    assert (at_score is None) == (not scores or scores[-1] == score)
    too_high = [i for i in range(len(bests)) if bests[i] > combo]
    if too_high:
        assert at_combo == too_high[0]
    elif scores and combo != bests[-1]:
        assert at_combo == (0 if combo > max_lines else len(bests) - 1)
    else:
        assert at_combo is None


def test_what_time_alone_brought_parts_at_the_last_token():
    assert first_disagreement(40, 50, [10, 40], [90, 90]) == 1
    assert first_disagreement(40, 50, [], []) is None
    assert first_disagreement(50, 50, [10, 40], [10, 40]) is None


def played(challenge, log, mode="daily"):
    rules = RULEBOOK.find("blocks", "1.2.0")
    return kind_of("blocks").play_through(rules, TABLE.find("blocks", challenge).deal(rules), log, mode)


def test_a_cut_score_parts_where_the_replay_passes_it():
    scores = played("2026-10-31", " ".join(TOKENS).encode()).running["score"]
    for index in (0, 17, 41):
        claim = scores[index]
        found = reason_of(record(TOKENS, GAME, score=claim), "score_mismatch")
        assert scores[found.move] > claim >= ([0, *scores])[found.move]


def test_the_reach_of_a_score_leaves_continues_out():
    play = played("over", b"*1a1 1c1", "training")
    assert (play.running["score"], play.reach["score"]) == ([0, 16, 20], [2 * 7020, 16 + 7020, 20])


# --- Tokens and times ----------------------------------------------------------------------------------------------------


def test_tokens_by_index():
    log = b" 1a11b2\t*\n2c10 3d11 1e1 zz9!long-and-longer 1a1"
    token_at = kind_of("blocks").token_at
    found = [token_at(log, i) for i in range(9)]
    assert found == ["1a1", "1b2", "*", "2c10", "3d11", "1e1", "zz9!long-and", None, None]
    assert token_at(b"", 0) is None
    assert token_at("é".encode(), 0) == "\\xc3\\xa9"
    assert [token_at(" ".join(TOKENS).encode(), i) for i in range(len(TOKENS))] == TOKENS


def test_times_at_the_ends_of_the_calendar():
    assert time_text(0) == "1970-01-01T00:00:00.000Z"
    assert time_text(-1) == "1969-12-31T23:59:59.999999Z"
    assert time_text(challenge_span(date(9999, 12, 31))[2]).startswith("9999-12-31T23:59:59")
    assert time_text(challenge_span(date(1, 1, 1))[0]) == "0001-01-01T00:00:00.000Z"


def test_judging_changes_nothing_and_repeats_itself():
    """B2: the second judgement of the same record equals the first."""
    games = [record(TOKENS, GAME, score=5), record(FINISHED_TOKENS, FINISHED), record(TOKENS, GAME, mode="training")]
    first = [verdict_of(game) for game in games]
    assert [verdict_of(game) for game in games[::-1]][::-1] == first


def test_a_single_game_needs_no_heavy_library():
    heavy = "{'numba', 'numpy', 'duckdb', 'pydantic', 'rich', 'jinja2', 'polars', 'pyarrow'}"
    code = f"import sys, replay.verdict, replay.dispute; found = {heavy} & set(sys.modules); sys.exit(', '.join(found) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
