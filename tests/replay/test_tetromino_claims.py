"""Claims of Tetromino Arcade: what no log can earn, where claim and replay part, what a cut log lacks, level and lines."""

from __future__ import annotations

import random
import re

import pytest

from engine.tetromino.pieces import ST_LOCKS
from engine.tetromino.rules import PIECE_NAMES
from replay.errors import MalformedRecord
from replay.games.tetromino_limits import Inputs, Limits, Standing, rest_by_token
from tests.engine.random_tetromino import make_games
from tests.replay.suspicion_support import by as uploaded
from tests.replay.suspicion_support import honest as honest_game
from tests.replay.suspicion_support import verify
from tests.replay.tetromino_games import (
    A1_PREFIX,
    DAY,
    GAME,
    KIND,
    RULES,
    TABLE,
    TOKENS,
    open_game,
    play,
    played,
    record,
    verdict_of,
)

CLAIMS = ("score", "best_combo", "level", "lines")


def bounds_of(mode, log):
    return KIND.bounds(RULES, TABLE.find("tetromino", DAY).deal(RULES, mode), log, mode)


def codes(found):
    return [reason.code for reason in verdict_of(found).reasons]


def reason_of(found, code):
    return next(reason for reason in verdict_of(found).reasons if reason.code == code)


# --- Verified, and each claim on its own ---------------------------------------------------------------------------------


def test_an_honest_game_is_verified():
    found = verdict_of(record(TOKENS, GAME))
    assert (found.verdict, found.reasons, found.suspicions, found.counted) == ("verified", (), ("unfinished",), True)
    numbers = {"score": GAME.score, "best_combo": GAME.best_combo, "board": GAME.board, "moves": len(TOKENS)}
    assert found.claimed == {**numbers, "finished": None, "level": GAME.level, "lines": GAME.lines}
    assert found.replayed == {**numbers, "finished": False, "level": GAME.level, "lines": GAME.lines}
    assert list(found.as_json()["claimed"]) == ["score", "best_combo", "board", "moves", "finished", "level", "lines"]
    assert GAME.lines >= 10 > GAME.level > 1, "the game reaches a second level"


def test_level_and_lines_need_not_be_claimed():
    found = verdict_of(record(TOKENS, GAME, level=None, lines=None))
    assert (found.verdict, found.claimed["level"], found.claimed["lines"]) == ("verified", None, None)
    assert (found.replayed["level"], found.replayed["lines"]) == (GAME.level, GAME.lines)


@pytest.mark.parametrize("one_id", [True, False])
def test_a_retry_that_claims_level_and_lines_too_is_the_same_game(tmp_path, one_id):
    """Both come out: one of them would count a second time, or be held against its player as another game of its id."""
    first = honest_game("tetromino")
    assert first.level is not None
    less = [uploaded(first, "g-1" if one_id else f"g-{n}", "p-17", n, **changes)
            for n, changes in enumerate(({}, {"level": None}, {"level": None, "lines": None}), 1)]  # fmt: skip
    found = verify(tmp_path, less)
    assert [(each["verdict"], each["reasons"]) for each in found] == [("verified", []), ("copy", []), ("copy", [])]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("by", [1, -1])
def test_b10_each_claim_is_enough_on_its_own(claim, by):
    """B10: three claims of every game, and level and lines where they are made."""
    # A score that is one point more would come out with one more soft drop.
    by *= 3 if claim == "score" else 1
    honest = getattr(GAME, claim)
    code = {"best_combo": "combo_mismatch"}.get(claim, f"{claim}_mismatch")
    found = reason_of(record(TOKENS, GAME, **{claim: honest + by}), code)
    assert (found.claimed, found.found) == (honest + by, honest)
    assert codes(record(TOKENS, GAME, **{claim: honest + by})) == [code]


def test_b10_boards_are_compared_by_their_letters():
    """B10: one cell, or one cell of another piece; another way of writing the same board passes."""
    last = GAME.board[-1]
    assert last in PIECE_NAMES
    other = next(piece for piece in PIECE_NAMES if piece != last)
    assert codes(record(TOKENS, GAME, final_board=GAME.board[:-1] + other)) == ["board_mismatch"]
    assert codes(record(TOKENS, GAME, final_board=GAME.board[:-1] + "1")) == ["board_mismatch"]
    assert codes(record(TOKENS, GAME, final_board="10/" + re.sub(r"(\d+)", r"0\1", GAME.board))) == []
    assert codes(record(TOKENS, GAME, final_board=GAME.board[:-1] + "#")) == ["board_mismatch"]


def test_all_reasons_come_in_the_published_order():
    found = record(TOKENS, GAME, score=-1, best_combo=99, level=0, lines=-5, final_board="?", attempt=0)
    assert codes(found) == [
        "score_mismatch", "combo_mismatch", "board_mismatch", "level_mismatch", "lines_mismatch", "impossible_score",
        "attempt_limit",
    ]  # fmt: skip
    assert reason_of(found, "impossible_score").found.startswith("score at least 0; best_combo at most ")
    assert reason_of(found, "impossible_score").found.endswith("level at least 1; lines at least 0")


def test_b4_one_soft_drop_more_is_an_incomplete_log():
    """B4: a point more than the replay is what one lost soft drop would have brought."""
    assert codes(record(TOKENS, GAME, score=GAME.score + 1)) == ["score_mismatch", "truncated_log"]


def test_a_pace_that_hands_cannot_play_in_another_game_is_none_here():
    assert "superhuman_pace" not in verdict_of(record(TOKENS, GAME, finished_at=record(TOKENS, GAME).started_at)).suspicions


@pytest.mark.parametrize("mode", ["marathon", "marathon/0", "marathon/21", "marathon/01", "sprint/1", "daily", ""])
def test_a_mode_that_the_rules_do_not_know_is_malformed(mode):
    with pytest.raises(MalformedRecord, match=r"beginner, marathon/1 to marathon/20, sprint") as error:
        verdict_of(record(TOKENS, GAME, mode=mode))
    assert error.value.code == "wrong_value"


def test_another_mode_is_verified_and_not_counted():
    found = verdict_of(played("12h", DAY, "marathon/7"))
    assert (found.verdict, found.uncounted, found.replayed["level"]) == ("verified", ("mode",), 7)


# --- Faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "kind", "move", "token"),
    [
        ("3h 5q", "bad_token", 1, "5q"), ("12l-3r5h", "bad_token", 1, "-3r5h"), ("cc", "hold_twice", 1, "c"),
        ("1h 12 13", "bad_token", 1, "12"), ("9999999999l", "bad_token", 0, "9999999999l"),
    ],
)  # fmt: skip
def test_illegal_moves_name_token_and_fault(log, kind, move, token):
    found = verdict_of(played("", DAY, moves=log))
    assert (found.fault.kind, found.fault.move) == (kind, move)
    assert [(r.code, r.claimed, r.move) for r in found.reasons] == [("illegal_move", token, move)]


@pytest.mark.parametrize(("log", "move"), [("7200h", 0), ("7199h1h", 1)])
def test_a_token_after_two_minutes(log, move):
    """B5: an input at tick 7200 of ultra is after the end."""
    found = verdict_of(played("", "ultra", moves=log))
    assert (found.fault.kind, found.fault.move) == ("after_end", move)


def test_the_end_of_the_clock_is_told_by_its_token():
    """B5: a number beyond the game's clock is refused at its token, the trailing time too."""
    for log, token in (("5184001h", "5184001h"), ("2h5184000", "5184000")):
        found = verdict_of(played("", "zen", moves=log))
        assert found.fault.kind == "bad_token"
        assert found.reasons[0].claimed == token


def test_a_listed_deal_that_runs_out_is_the_challenges_fault():
    found = verdict_of(played("hh", "short", moves="hhl"))
    assert (found.verdict, found.reasons[0].found) == ("quarantined", "the challenge lists only 2 pieces")
    assert found.reasons[0].claimed == "l"
    assert verdict_of(played("h", "short")).verdict == "verified"


def test_a_challenge_that_cannot_be_dealt_is_quarantined():
    found = verdict_of(record(TOKENS, GAME, challenge="strange"))
    assert (found.verdict, found.reasons[0].code, found.replayed) == ("quarantined", "challenge", None)
    assert "piece 'Q' is none of I, J, L, O, S, T, Z" in found.reasons[0].found


# --- What no log can earn ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_no_game_exceeds_its_bounds_or_what_it_could_still_come_to(seed):
    """Over games of every mode, start and kind, honest and mutated: a bound that is too small would accuse somebody."""
    cleared = 0
    for game in make_games(random.Random(f"bounds {seed}"), 240):
        case = game.case
        bounds = KIND.bounds(RULES, case.deal(RULES), case.log, case.mode)
        play = KIND.play_through(RULES, case.deal(RULES), case.log, case.mode)
        assert list(bounds) == list(play.running) == list(play.reach) == list(CLAIMS)
        for claim in CLAIMS:
            final, where = getattr(play.outcome, claim), (claim, case, bounds[claim])
            assert bounds[claim].least <= final <= bounds[claim].most, where
            running, reach = play.running[claim], play.reach[claim]
            assert len(running) == len(reach) == play.outcome.moves
            assert running == sorted(running), where
            assert all(most >= final for most in reach), where
        cleared += play.outcome.lines > 0
    assert cleared > 10


def test_the_bounds_of_a_log():
    bounds = bounds_of("marathon/3", b"12l3h30d 5h60")
    # Two hard drops, 110 ticks: five pieces can land; 2 x 78 + 1 points of drops.
    best = 1600 * 3 // 2 + 1800
    level = max(3, 1 + 4 * 4 // 10)
    assert bounds["score"].most == level * (5 * best + 50 * (0 + 1 + 2 + 3 + 4)) + 157
    assert bounds["score"].why == "5 pieces can land, drops bring 157"
    assert (bounds["best_combo"].most, bounds["lines"].most, bounds["level"].most, bounds["level"].least) == (4, 20, 3, 3)
    empty = bounds_of("sprint", b"")
    assert [empty[claim].most for claim in CLAIMS] == [0, 0, 1, 0]
    one = bounds_of("sprint", b"h")
    assert (one["score"].most, one["score"].why) == (best + 78, "1 piece can land, drops bring 78")


def test_the_bounds_of_modes_that_end():
    """Sprint pays no lock after 40 lines, ultra no tick after two minutes, and no game outlasts its clock."""
    sprint = bounds_of("sprint", b"h" * 1000)
    assert (sprint["lines"].most, sprint["best_combo"].most, sprint["level"].most) == (43, 39, 5)
    assert bounds_of("ultra", b"999999999")["lines"].most == 4 * (7200 // 30)
    assert bounds_of("zen", b"999999999l" * 50)["lines"].most == 4 * (5_184_000 // 30)
    assert bounds_of("zen", b"9" * 5000 + b"l")["lines"].most == 4 * (5_184_000 // 30)


def test_a_four_line_perfect_clear_stays_within():
    """A5's clear, paid at the largest base there is but for a T-spin triple."""
    found = played("xrrrrh", "clears")
    assert found.score == (800 + 2000) * 2 + 2 * 18
    bounds = bounds_of("marathon/2", found.moves.encode())
    assert bounds["score"].most == 4200 * 2 + 78 >= found.score
    assert (bounds["lines"].most, found.lines) == (4, 4)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"score": 10**9}, "score at most "), ({"best_combo": 10**6}, "best_combo at most "), ({"level": 99}, "level at most "),
        ({"lines": 2**63 - 1}, "lines at most "), ({"score": -1}, "score at least 0"), ({"level": 0}, "level at least 1"),
    ],
)  # fmt: skip
def test_c2_claims_beyond_the_possible_have_a_class_of_their_own(changes, found):
    """C2: whatever the claim, nothing wraps."""
    reason = reason_of(record(TOKENS, GAME, **changes), "impossible_score")
    assert reason.found.startswith(found)
    assert reason.claimed == next(iter(changes.values()))


def test_c2_a_score_without_a_log_is_impossible():
    """C2: 50,000 points and no move."""
    assert codes(played("", DAY, score=50_000)) == ["score_mismatch", "impossible_score"]
    reason = reason_of(played("", DAY, score=50_000), "score_mismatch")
    assert (reason.move, reason.token) == (None, None)


def test_the_rest_of_a_log():
    assert rest_by_token(b" 12l3h dd 40 ") == [
        Inputs(1, 2, 55), Inputs(1, 2, 43), Inputs(0, 2, 40), Inputs(0, 1, 40), Inputs(0, 0, 40), Inputs()
    ]  # fmt: skip
    assert rest_by_token(b"3h?h") == [Inputs(1, 0, 3), Inputs()]
    assert rest_by_token(b"") == [Inputs()]


def test_a_timer_that_has_counted_needs_less_time():
    limits = Limits(RULES.params("zen"))
    assert [limits.locks(Inputs(ticks=ticks), counted) for ticks, counted in ((29, 0), (30, 0), (1, 29), (0, 29))] == [0, 1, 1, 0]
    now = Standing(100, 3, 5, 49, 2, 29)
    assert limits.reach(now, Inputs(ticks=1))["lines"] == 53
    assert limits.reach(now, Inputs(ticks=1))["score"] == 100 + 5 * (4200 + 50 * 3)
    assert limits.reach(now, Inputs()) == {"score": 100, "best_combo": 3, "level": 5, "lines": 49}


# --- Where they part -----------------------------------------------------------------------------------------------------


def test_a_lower_score_parts_where_the_replay_passes_it():
    deal = TABLE.find("tetromino", DAY).deal(RULES)
    scores = KIND.play_through(RULES, deal, "".join(TOKENS).encode(), GAME.mode).running["score"]
    for index in (0, 40, 90):
        claim = scores[index]
        found = reason_of(record(TOKENS, GAME, score=claim), "score_mismatch")
        assert scores[found.move] > claim >= ([0, *scores])[found.move]
        assert found.token == TOKENS[found.move]


def test_what_time_brings_after_the_last_token_parts_there():
    """The T falls and locks as a mini spin only in the trailing time (A1): no token shows it."""
    whole = played(A1_PREFIX + "200", "a1")
    assert whole.score == 217
    found = reason_of(played(A1_PREFIX + "200", "a1", score=17), "score_mismatch")
    assert (found.claimed, found.found, found.move) == (17, 217, len(A1_PREFIX) - 1)
    assert codes(whole) == []


# --- B4: the end of the log is missing -----------------------------------------------------------------------------------


def test_b4_a_lost_hard_drop_is_told_from_an_edited_claim():
    """B4: the last input lost; then the same log with 5,000 points more and the replayed board."""
    tokens, whole = play(20)
    before = open_game("".join(tokens[:-1]))
    before.run()
    lost = verdict_of(record(tokens[:-1], whole))
    assert lost.reasons[-1].code == "truncated_log"
    assert (lost.reasons[-1].claimed, lost.reasons[-1].found, lost.reasons[-1].move) == (
        len(tokens),
        len(tokens) - 1,
        len(tokens) - 1,
    )
    assert "h" in lost.evidence["missing_moves"]
    assert lost.suspicions == ()
    edited = verdict_of(record(tokens[:-1], before, score=before.score + 5000))
    assert ([reason.code for reason in edited.reasons], edited.evidence) == (["score_mismatch"], None)
    two = verdict_of(record(tokens[:-7], whole))
    assert "truncated_log" not in [reason.code for reason in two.reasons]


@pytest.mark.parametrize(
    ("log", "lost", "named"),
    [
        # A hard drop is worth less the later it comes: the waiting time follows from the points.
        ("xl", "300h", "241h"), ("xl", "h", "h"),
        # A soft drop that nothing follows.
        ("xl3d", "d", "d"),
        # A shift or a turn shows where the piece lands; the shortest wait is named, and how long the game ran on.
        ("5x", "40l1300", None), ("5", "z1400", None),
        # No input is missing, only the time in which the piece came down.
        ("xll", "1500", None),
        # A trailing time at the cut is part of the wait.
        ("xl100", "200h", "241h"),
        # The phone was put down: time locks two pieces before the next one is dropped, or locks the third too.
        ("xl", "3000h", None), ("xl", "2900l1200", None), ("xl", "5000", None),
    ],
)  # fmt: skip
def test_b4_endings_that_are_found(log, lost, named):
    number = re.search(r"\d+$", log)
    head = log[: number.start()] if number else log
    # The whole log: a trailing time of the cut one is part of the time before the lost input.
    wait = re.match(r"\d*", lost)[0]
    whole = head + f"{int(number[0] if number else 0) + int(wait or 0) or ''}" + lost[len(wait) :]
    claims = played(whole, DAY)
    found = verdict_of(played("", DAY, moves=log, score=claims.score, final_board=claims.final_board))
    missing = found.evidence["missing_moves"]
    assert [reason.code for reason in found.reasons][-1] == "truncated_log"
    assert named is None or named in missing
    for ending in missing:
        again = played(head + ending, DAY)
        assert (again.score, again.final_board) == (claims.score, claims.final_board), ending


def test_b4_cut_logs_of_random_games_are_found_and_every_ending_is_true():
    """Cut before the last hard drop, a game is found incomplete, and each way that is named gives the claims.

    So is a game in which the player put the phone down before it, and time locked pieces meanwhile.
    """
    rng = random.Random("cut")
    met, alone = 0, 0
    for game in make_games(rng, 120):
        case, log = game.case, game.case.log.decode("ascii", "replace")
        at = log.rfind("h")
        if at < 0 or game.expected.fault or case.mode == "zen":
            continue
        head = re.sub(r"\d+$", "", log[:at].rstrip())
        for last in (log[len(head) : at + 1], f"{rng.randrange(100, 5000)}h"):
            whole = KIND.new_game(RULES, case.deal(RULES), (head + last).encode(), case.mode)
            cut = KIND.new_game(RULES, case.deal(RULES), head.encode(), case.mode)
            if whole.run().fault or cut.run().finished:
                continue
            met += 1
            alone += whole.st[ST_LOCKS] > cut.st[ST_LOCKS] + 1
            missing = KIND.missing_moves(cut, record([], whole))
            assert any(re.fullmatch(r"\d*h", ending) for ending in missing), (case, head, missing)
            for ending in missing:
                again = KIND.new_game(RULES, case.deal(RULES), (head + ending).encode(), case.mode)
                again.run()
                for claim in (*CLAIMS, "board"):
                    assert getattr(again, claim) == getattr(whole, claim), (case, ending, claim)
    assert met > 20 and alone > 7, (met, alone)


def test_nothing_is_missing_where_it_cannot_be_told():
    cut = open_game("xl")
    cut.run()
    claims = played("xl", DAY)
    assert KIND.missing_moves(cut, record([], GAME)) == []
    for board in ("?", "I9/I9/I9/I9/I9"):
        assert KIND.missing_moves(cut, record([], cut, final_board=board)) == []
    assert KIND.missing_moves(cut, record([], cut, score=claims.score + 100)) == []
    over = open_game("h" * 30)
    assert over.run().finished
    assert KIND.missing_moves(over, record([], GAME)) == []
