"""Claims of Tetcolor: each reason, each fault, what no log can earn, where claim and replay part, what a cut log lacks."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from engine.tetcolor import layout as at
from replay.games.tetcolor_limits import Inputs, Limits, blocks_on, limits_of, rest_by_token
from replay.record import parse_record
from replay.verdict import judge
from tests.engine.random_tetcolor import make_games
from tests.engine.tetcolor_support import RULES_FOLDER
from tests.replay.build import as_line
from tests.replay.games import RULEBOOK
from tests.replay.night_support import EVIL
from tests.replay.tetcolor_games import DAY, KIND, MODES, RULES, TABLE, open_game, play, played, record, verdict_of

CLAIMS = ("score", "best_combo")
TOKENS, GAME = play(30)
HONEST = record(TOKENS, GAME)


def codes(found):
    return [reason.code for reason in verdict_of(found).reasons]


def reason_of(found, code):
    return next(reason for reason in verdict_of(found).reasons if reason.code == code)


def deal_of(challenge=DAY, mode=None):
    return TABLE.find("tetcolor", challenge).deal(RULES, mode)


# --- Verified, and each claim on its own ---------------------------------------------------------------------------------


def test_an_honest_game_is_verified():
    found = verdict_of(HONEST)
    assert (found.verdict, found.reasons, found.suspicions, found.counted) == ("verified", (), ("unfinished",), True)
    numbers = {"score": GAME.score, "best_combo": GAME.best_combo, "board": GAME.board, "moves": len(TOKENS)}
    assert found.claimed == {**numbers, "finished": None}
    assert found.replayed == {**numbers, "finished": False}
    assert GAME.best_combo >= 2 and GAME.level == 2, "the game has a cascade and a second level"


@pytest.mark.parametrize("family", MODES)
def test_an_honest_game_of_each_family_is_verified(family):
    tokens, game = play(30, family)
    assert verdict_of(record(tokens, game, challenge=family)).verdict == "verified"
    assert game.score > 0


def test_level_is_no_claim_of_this_game():
    """Its records carry none, and an extra field of a record means nothing."""
    read = parse_record(as_line(HONEST)[:-1] + b', "level": 99, "lines": "many"}')
    assert read == HONEST
    assert set(verdict_of(read).claimed) == {"score", "best_combo", "board", "moves", "finished"}
    assert set(KIND.bounds(RULES, deal_of(), b"hh", MODES["duo"])) == set(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("by", [1, -1])
def test_b10_each_claim_is_enough_on_its_own(claim, by):
    honest = getattr(GAME, claim)
    code = {"best_combo": "combo_mismatch", "score": "score_mismatch"}[claim]
    wrong = replace(HONEST, **{claim: honest + by})
    found = reason_of(wrong, code)
    assert (found.claimed, found.found) == (honest + by, honest)
    assert codes(wrong) == [code]


def test_b10_boards_are_compared_by_colour_special_and_ice():
    """B10: another colour, special or ice is another board; another way of writing the same one is not."""
    tokens, game = play(30, "columns")
    honest = record(tokens, game, challenge="columns")
    assert "H*" in game.board
    for old, new in (("H*", "H"), ("H*", "V*"), ("H*", "*"), ("aH*", "bH*")):
        assert codes(replace(honest, final_board=game.board.replace(old, new, 1))) == ["board_mismatch"]
    for same in ("6/" + game.board, re.sub(r"(\d+)", r"0\1", game.board)):
        assert codes(replace(honest, final_board=same)) == []
    for unread in ("#", "", game.board.replace("H*", "*H"), game.board + "/6/6/6/6/6/6/6/6/6/6/6/6/6", EVIL):
        found = reason_of(replace(honest, final_board=unread), "board_mismatch")
        assert (found.claimed, found.found) == (unread, game.board)


def test_all_reasons_come_in_the_published_order():
    found = replace(HONEST, score=-1, best_combo=999, final_board="?", attempt=0)
    assert codes(found) == ["score_mismatch", "combo_mismatch", "board_mismatch", "impossible_score", "attempt_limit"]
    assert reason_of(found, "impossible_score").found.startswith("score at least 0; best_combo at most ")


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"rules": "9.9.9"}, "unknown_rules"), ({"challenge": "none"}, "unknown_challenge"), ({"attempt": 4}, "attempt_limit")],
)
def test_reasons_that_no_replay_gives(changes, code):
    assert codes(replace(HONEST, **changes)) == [code]


def test_a_pace_that_hands_cannot_play_in_another_game_is_none_here():
    assert "superhuman_pace" not in verdict_of(replace(HONEST, finished_at=HONEST.started_at)).suspicions


def test_another_mode_is_dealt_anew_verified_and_not_counted():
    found = verdict_of(played("12h", DAY, "tetcolor/arcade/relax8"))
    assert (found.verdict, found.uncounted) == ("verified", ("mode",))
    assert len(KIND.cells("-", RULES, "tetcolor/arcade/relax8")) == 16


def test_rules_under_which_the_log_comes_out_are_evidence(tmp_path):
    """A version with other awards: the same moves give what was uploaded."""
    text = (RULES_FOLDER / "1.0.0.toml").read_text("utf-8").replace('version = "1.0.0"', 'version = "1.0.1"')
    (tmp_path / "1.0.1.toml").write_text(text.replace("rows = [1, 4, 12, 24]", "rows = [2, 4, 12, 24]"), "utf-8")
    other = KIND.load_rules(tmp_path / "1.0.1.toml")
    book = replace(RULEBOOK, rules={**RULEBOOK.rules, ("tetcolor", "1.0.1"): other})
    tokens, game = play(30, "retris")
    claimed = record(tokens, game, challenge="retris")
    row = TABLE.find("tetcolor", "retris")
    again = KIND.new_game(other, row.deal(other), claimed.moves.encode(), row.mode).run()
    assert again.score > game.score
    found = judge(replace(claimed, score=again.score), book, TABLE)
    assert found.evidence["rules_that_agree"] == ["1.0.1"]


# --- Faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "kind", "move", "token"),
    [
        ("3h 5q", "bad_token", 1, "5q"), ("12l-3r5h", "bad_token", 1, "-3r5h"), ("1h 12 13", "bad_token", 1, "12"),
        ("9999999999l", "bad_token", 0, "9999999999l"), ("hc", "bad_token", 1, "c"), ("H", "bad_token", 0, "H"),
        ("hh" * 200, "after_end", None, "h"), ("5000000l", "after_end", 0, "5000000l"), ("é", "bad_token", 0, "\\xc3\\xa9"),
    ],
)  # fmt: skip
def test_illegal_moves_name_token_and_fault(log, kind, move, token):
    found = verdict_of(replace(HONEST, moves=log, score=0, best_combo=0))
    assert found.fault.kind == kind
    assert move is None or found.fault.move == move
    assert [(r.code, r.claimed, r.move) for r in found.reasons] == [("illegal_move", token, found.fault.move)]
    assert found.reasons[0].found == f"{kind}: {found.fault.text}"


def test_the_end_of_the_clock_is_told_by_its_token():
    """B5: a trailing time too.  Only a game without a piece in play lasts that long: a list that has run out."""
    log = "hhhh5184001"
    found = verdict_of(played("", "short", moves=log))
    assert (found.fault.kind, found.reasons[0].claimed) == ("bad_token", "5184001")


@pytest.mark.parametrize("log", ["", "hh", "?", "5q", "5184001l"])
@pytest.mark.parametrize("mode", ["columns/arcade/crazy", "duo", "", "duo/arcade/normal ", "marathon/1", EVIL, "é" * 5000])
def test_a_mode_that_does_not_exist_is_a_fault_and_no_quarantine(mode, log):
    found = verdict_of(replace(HONEST, mode=mode, moves=log))
    assert (found.verdict, found.uncounted, found.suspicions) == ("flagged", ("mode",), ())
    assert [(r.code, r.move) for r in found.reasons] == [("illegal_move", 0)]
    assert found.reasons[0].found.startswith("no_such_mode: ")
    assert found.reasons[0].claimed == KIND.token_at(log.encode(), 0)
    assert (found.fault.kind, found.fault.move) == ("no_such_mode", 0)
    assert found.replayed == {"score": 0, "best_combo": 0, "board": "-", "moves": 0, "finished": False}
    assert len(found.fault.text) < 400


def test_a_listed_deal_that_runs_out_is_the_challenges_fault():
    found = verdict_of(played("hhhh", "short", moves="hhhhl"))
    assert (found.verdict, found.reasons[0].found) == ("quarantined", "the challenge lists only 2 pieces")
    assert found.reasons[0].claimed == "l"
    assert verdict_of(played("hhhh99", "short")).verdict == "verified"


def test_a_challenge_that_cannot_be_dealt_is_quarantined():
    found = verdict_of(replace(HONEST, challenge="strange"))
    assert (found.verdict, found.reasons[0].code, found.replayed) == ("quarantined", "challenge", None)
    assert found.reasons[0].found == "piece 'C:abc': duo has no shape C of 3 cells in rules 1.0.0"


# --- What no log can earn ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_no_game_exceeds_its_bounds_or_what_it_could_still_come_to(seed):
    """Over games of every mode, start and kind, honest and mutated: a bound that is too small would accuse somebody."""
    cleared = cascades = 0
    for game in make_games(random.Random(f"bounds {seed}"), 240):
        case, deal = game.case, game.case.deal()
        bounds, play = KIND.bounds(RULES, deal, case.log, case.mode), KIND.play_through(RULES, deal, case.log, case.mode)
        if not KIND.plays(RULES, case.mode):
            assert (bounds, play.outcome.fault.kind) == ({}, "no_such_mode")
            continue
        assert list(bounds) == list(play.running) == list(play.reach) == list(CLAIMS)
        for claim in CLAIMS:
            final, where = getattr(play.outcome, claim), (claim, case, bounds[claim])
            assert bounds[claim].least <= final <= bounds[claim].most, where
            running, reach = play.running[claim], play.reach[claim]
            assert len(running) == len(reach) == play.outcome.moves
            assert running == sorted(running), where
            assert all(most >= final for most in reach), where
        cleared += play.outcome.score > 0
        cascades += play.outcome.best_combo > 1
    assert cleared > 20 and cascades > 5


def test_the_bounds_of_a_log():
    """Two hard drops of three lock one piece, each of 20 ticks one more at most."""
    deal, mode = deal_of("cascade"), "columns/classic/normal"
    bounds = KIND.bounds(RULES, deal, b"12l3h5d hh", mode)
    assert bounds["score"].why == "21 pieces can land, 66 blocks can be destroyed"
    assert bounds["best_combo"].most == 66 // 3
    assert [KIND.bounds(RULES, deal, log, mode)["score"].most for log in (b"", b"h", b"llrrxzd")] == [0, 0, 0]
    one = KIND.bounds(RULES, deal, b"hh", mode)
    # Six blocks: at once 21, or three and three more with the multiplier 2.
    assert (one["score"].most, one["best_combo"].most) == (max(21, 6 + 2 * 6), 2)
    assert KIND.bounds(RULES, deal, b"9" * 5000, mode) == KIND.bounds(RULES, deal, b"5184000", mode)
    assert KIND.bounds(RULES, deal, b"hh", "columns/classic/crazy") == {}


def test_a_bound_is_reached():
    """Two stacks of one colour beside each other, six blocks in one pass."""
    found = played("hh", "full", mode="columns/classic/normal")
    assert found.score == 21 == KIND.bounds(RULES, deal_of("full"), b"hh", found.mode)["score"].most


def test_how_the_best_settle_is_made_up():
    rules = RULES.params["columns/classic/normal"]
    plain, special = Limits(tuple(rules), 3, True), Limits(tuple(rules), 3, False)
    assert plain.settles[:7] == [0, 0, 0, 6, 10, 15, 21]
    # Three, three and three: 6 + 12 + 24, or three and six: 6 + 2 x 21, or nine at once: 45.
    assert plain.settles[9] == 48
    assert special.settles[3] == max(6, 1 + 2 * 3, 1 + 2 + 4) + 3
    assert plain.settles == sorted(plain.settles) and special.settles == sorted(special.settles)
    assert len(plain.settles) == 6 * 13 + 1
    # Two pieces can go in one settle but not twice; a full board in one settle but not more than that.
    assert (plain.points(0, 2), plain.points(78, 1)) == (21, plain.settles[78])
    retris = Limits(tuple(RULES.params["retris/classic/normal"]), 5, True)
    assert [retris.settles[n] for n in (9, 10, 20, 30, 40, 50, 80)] == [0, 1, 4, 12, 24, 25, 48]
    assert retris.least_pass == 10


def test_no_split_of_blocks_beats_the_best_settle():
    """Against every split of up to 12 blocks into passes."""

    def best(blocks, least, times=1):
        return max(
            [0] + [n * (n + 1) // 2 * times + best(blocks - n, least, 2 * times) for n in range(least, blocks + 1)],
        )

    params = tuple(RULES.params["duo/arcade/normal"])
    for plain, least in ((True, 3), (False, 1)):
        limits = Limits(params, 5, plain)
        for blocks in range(13):
            assert limits.settles[blocks] == best(blocks, least) + (0 if plain else blocks), (plain, blocks)


def test_specials_of_a_list_or_a_start_board_count():
    assert limits_of(RULES, deal_of("cascade"), "columns/classic/normal").plain
    assert not limits_of(RULES, deal_of("ice"), "columns/classic/normal").plain
    assert not limits_of(RULES, deal_of("stones"), "columns/classic/normal").plain
    assert not limits_of(RULES, deal_of(), MODES["duo"]).plain
    assert limits_of(RULES, deal_of(DAY, "duo/classic/relax1"), "duo/classic/relax1").piece_blocks == 4
    assert limits_of(RULES, deal_of(DAY, "duo/classic/normal"), "duo/classic/normal").piece_blocks == 5
    assert limits_of(RULES, deal_of("rows"), "retris/classic/relax1").piece_blocks == 5, "a list may hold any shape"


def test_the_rest_of_a_log():
    assert rest_by_token(b" 12l3h dh 40 ") == [
        Inputs(2, 55),
        Inputs(2, 43),
        Inputs(1, 40),
        Inputs(1, 40),
        Inputs(0, 40),
        Inputs(),
    ]
    assert rest_by_token(b"3h?h") == [Inputs(1, 3), Inputs()]
    assert rest_by_token(b"") == [Inputs()]


def test_a_hard_drop_that_is_remembered_needs_only_one_more():
    limits = limits_of(RULES, deal_of("cascade"), "columns/classic/normal")
    assert [limits.locks(Inputs(hard), 1) for hard in range(4)] == [0, 1, 1, 2]
    game = open_game("h", "cascade")
    game.run()
    assert (game.st[at.MEMORY], blocks_on(game)) == (1, 3)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"score": 2**63 - 1}, "score at most "), ({"best_combo": 10**6}, "best_combo at most "), ({"score": -1}, "score at least 0"),
        ({"best_combo": -(2**63)}, "best_combo at least 0"),
    ],
)  # fmt: skip
def test_c2_claims_beyond_the_possible_have_a_class_of_their_own(changes, found):
    """C2: whatever the claim, nothing wraps."""
    tokens, _ = play(30, "tetcolor")
    few = record(tokens[:12], open_game("".join(tokens[:12]), "tetcolor"), challenge="tetcolor", **changes)
    reason = reason_of(few, "impossible_score")
    assert reason.found.startswith(found)
    assert reason.claimed == next(iter(changes.values()))


def test_c2_a_score_without_a_log_is_impossible():
    """C2: 50,000 points and no move."""
    assert codes(played("", DAY, score=50_000)) == ["score_mismatch", "impossible_score"]
    reason = reason_of(played("", DAY, score=50_000), "score_mismatch")
    assert (reason.move, reason.token) == (None, None)


# --- Where they part -----------------------------------------------------------------------------------------------------


def test_a_lower_score_parts_where_the_replay_passes_it():
    scores = KIND.play_through(RULES, deal_of(), HONEST.moves.encode(), GAME.mode).running["score"]
    for index in (0, 60, 110):
        claim = scores[index]
        found = reason_of(replace(HONEST, score=claim), "score_mismatch")
        assert scores[found.move] > claim >= ([0, *scores])[found.move]
        assert found.token == TOKENS[found.move]


def test_a_score_that_is_out_of_reach_parts_before_the_end():
    """`hh` locks and clears, then one `h` is left: no lock can follow it."""
    claim = played("hhh", "cascade", score=999)
    assert reason_of(claim, "score_mismatch").move == 0
    assert reason_of(replace(claim, score=19), "score_mismatch").move == 1


def test_what_time_brings_after_the_last_token_parts_there():
    whole = played("h24", "cascade")
    assert whole.score == 18
    found = reason_of(replace(whole, score=0), "score_mismatch")
    assert (found.found, found.move, found.token) == (18, 0, "h")
    assert codes(played("h23", "cascade", score=0)) == []


# --- B4: the end of the log is missing -----------------------------------------------------------------------------------


def test_b4_a_lost_hard_drop_is_told_from_an_edited_claim():
    """B4: the last input lost; then the same log with 5,000 points more and the replayed board."""
    before = open_game("".join(TOKENS[:-1]))
    before.run()
    lost = verdict_of(replace(HONEST, moves="".join(TOKENS[:-1])))
    assert [reason.code for reason in lost.reasons][-1] == "truncated_log"
    assert (lost.reasons[-1].claimed, lost.reasons[-1].found) == (len(TOKENS), len(TOKENS) - 1)
    assert lost.evidence["missing_moves"][0] == "h"
    assert lost.suspicions == ()
    edited = verdict_of(record(TOKENS[:-1], before, score=before.score + 5000))
    assert ([reason.code for reason in edited.reasons], edited.evidence) == (["score_mismatch"], None)


@pytest.mark.parametrize(
    ("challenge", "log", "lost"),
    [
        # The second hard drop, at once or while the first is remembered.
        ("cascade", "h", "h"), ("cascade", "h", "20h"),
        # A shift, a soft drop, a turn; time then locks the piece where they brought it.
        ("cascade", "l", "l900"), ("cascade", "", "300r400"), ("cascade", "ll", "x900"), ("rows", "r", "x1000"),
        # No input is missing, only the time in which the piece came down.
        ("cascade", "r", "900"), ("cascade", "h", "24"),
        # A trailing time at the cut is part of the wait.
        ("cascade", "r100", "200l400"), ("cascade", "h10", "5h"),
        # The next piece has not entered yet: bombs still go off.
        ("bombs", "hh", "90l900"), ("bombs", "hh10", "900"),
        # Before the piece has fallen so far a shift would bring it onto the block instead of under it.
        ("tuck", "", "400l400"),
    ],
)  # fmt: skip
def test_b4_endings_that_are_found_are_true(challenge, log, lost):
    number = re.search(r"\d+$", log)
    head = log[: number.start()] if number else log
    wait = re.match(r"\d*", lost)[0]
    whole = head + f"{int(number[0] if number else 0) + int(wait or 0) or ''}" + lost[len(wait) :]
    claims = played(whole, challenge)
    found = verdict_of(replace(claims, moves=log))
    assert [reason.code for reason in found.reasons][-1] == "truncated_log"
    for ending in found.evidence["missing_moves"]:
        again = played(head + ending, challenge)
        assert (again.score, again.best_combo, again.final_board) == (claims.score, claims.best_combo, claims.final_board), ending
    letter = re.search("[a-z]", lost)
    assert letter is None or any(letter[0] in ending for ending in found.evidence["missing_moves"])


def test_b4_cut_logs_of_random_games_are_found_and_every_ending_is_true():
    """Cut before the input that locks the last piece, a game is found incomplete, and each way that is named gives the claims.

    So is a game in which the player put the phone down before it, and time locked pieces meanwhile.
    """
    rng = random.Random("cut")
    met, alone = 0, 0
    for game in make_games(rng, 80):
        case, log = game.case, game.case.log.decode("ascii", "replace")
        end = log.rfind("h")
        if end < 0 or game.expected.fault:
            continue
        head = re.sub(r"\d+$", "", log[:end].rstrip())
        for last in (log[len(head) : end + 1], f"{rng.randrange(100, 3000)}l400"):
            whole = KIND.new_game(RULES, case.deal(), (head + last).encode(), case.mode)
            cut = KIND.new_game(RULES, case.deal(), head.encode(), case.mode)
            if whole.run().fault or cut.run().finished or whole.pieces_settled == cut.pieces_settled:
                continue
            left = KIND.new_game(RULES, case.deal(), (head + re.match(r"\d*", last.strip())[0]).encode(), case.mode)
            left.run()
            if whole.pieces_settled > left.pieces_settled + 1:
                # After the input time locked more than the piece that it moved: that is more than is looked for.
                continue
            missing = KIND.missing_moves(cut, record([], whole))
            assert missing, (case, head, last)
            met += 1
            alone += left.pieces_settled > cut.pieces_settled
            for ending in missing:
                again = KIND.new_game(RULES, case.deal(), (head + ending).encode(), case.mode)
                again.run()
                for claim in (*CLAIMS, "board"):
                    assert getattr(again, claim) == getattr(whole, claim), (case, ending, claim)
    assert met > 5 and alone > 5, (met, alone)


def test_nothing_is_missing_where_it_cannot_be_told():
    cut = open_game("h", "cascade")
    cut.run()
    claims = played("hh", "cascade")
    assert KIND.missing_moves(cut, claims)[0] == "h"
    assert KIND.missing_moves(cut, replace(claims, final_board="?")) == []
    assert KIND.missing_moves(cut, replace(claims, final_board="abcdea/abcdea")) == []
    assert KIND.missing_moves(cut, replace(claims, score=claims.score + 1)) == []
    assert KIND.missing_moves(cut, replace(claims, score=10**6)) == []
    assert KIND.missing_moves(cut, replace(claims, best_combo=0)) == []
    over = open_game("hh" * 30)
    over.run()
    assert over.finished
    assert KIND.missing_moves(over, record([], GAME)) == []
    spent = open_game("hhhh", "short")
    spent.run()
    assert KIND.missing_moves(spent, played("hh", "short")) == []
