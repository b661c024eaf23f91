"""Bots of Tetromino Arcade: their games are the engine's own, skills differ, and every feat of the rules occurs."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import numba
import pytest

from engine.tetromino import kernel as engine
from engine.tetromino.single import Game, make_deal, trace
from replay import tetromino_bots as bots
from replay.challenges import load_challenges
from replay.players import SKILL_SHARES
from replay.plays import PLAYS, ticks_of
from replay.rulebook import BUILT_IN, load_rulebook

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="bots weigh a hundred places a piece: compiled only")

RULEBOOK = load_rulebook()
RULES = RULEBOOK.find("tetromino", "1.0.0")
CHALLENGES = load_challenges(rulebook=RULEBOOK)
MODES = ("beginner", "marathon/1", "marathon/10", "marathon/20", "sprint", "ultra", "zen", "battle")
FEATS = (
    "pieces",
    *(f"spin {n}" for n in range(4)),
    *(f"mini {n}" for n in range(3)),
    "four lines",
    "back-to-back",
    "perfect clear",
)
AI, EXPERT = 5, 4


def deal_of(seed, mode="marathon/1", pieces="", board=""):
    return make_deal(RULES, mode, seed, pieces, board)


def orders(count, skill, stop_at=40, give_up=True, book=False, first=0):
    return [bots.Order(first + n, skill, stop_at, give_up, book) for n in range(count)]


def check_played(game, deal, mode):
    """The bot's claims are what the interpreted engine makes of its log."""
    again = Game(RULES, deal, game.moves.encode(), mode)
    outcome = again.run()
    found = (outcome.score, outcome.best_combo, outcome.level, outcome.lines, outcome.board, outcome.moves, outcome.finished)
    assert outcome.fault is None, (mode, game.moves, outcome.fault)
    assert found == (game.score, game.best_combo, game.level, game.lines, game.board, game.tokens, game.finished), game.moves
    return again


@pytest.mark.parametrize("mode", MODES)
def test_logs_replay_to_their_claims_in_every_mode(mode):
    for skill in range(len(bots.SKILLS)):
        deal = deal_of(100 + skill, mode)
        for game in bots.Table(RULES, deal, mode).play(orders(3, skill, first=skill)):
            check_played(game, deal, mode)
            assert game.finished or mode == "zen"
            assert game.tokens > 20


def test_feats_are_counted_as_a_trace_shows_them():
    deal = deal_of(5)
    seen = Counter()
    for game in bots.Table(RULES, deal, "marathon/1").play(orders(4, EXPERT, stop_at=60, book=True)):
        found = Counter()
        for step in trace(Game(RULES, deal, game.moves.encode(), "marathon/1")):
            lock = step.lock
            if lock is not None:
                found["pieces"] += 1
                found["four lines"] += lock.lines == 4
                found["back-to-back"] += lock.back_to_back
                found["perfect clear"] += lock.perfect
                if lock.spin:
                    found[f"{'spin' if lock.spin == 'full' else 'mini'} {lock.lines}"] += 1
        assert dict(zip(FEATS, game.feats, strict=True)) == {name: found[name] for name in FEATS}
        seen += found
    assert seen["spin 2"] > 0
    assert seen["perfect clear"] >= 4


def test_every_feat_of_the_rules_occurs():
    """T-spins full and mini of all lines, four lines, back-to-back, combos, perfect clears: in play and in training."""
    seen, best_combo = Counter(), 0
    rows = [row for row in CHALLENGES.rows.values() if row.game == "tetromino" and row.date is None]
    assert [row.challenge for row in rows] == ["training-triple", "training-mini", "training-combo"]
    played = [(row.deal(RULES), row.mode, skill) for row in rows for skill in (3, EXPERT)]
    played += [(deal_of(seed), "marathon/1", skill) for seed in range(4) for skill in (3, EXPERT)]
    for deal, mode, skill in played:
        for game in bots.Table(RULES, deal, mode).play(orders(8, skill, stop_at=40, book=True)):
            seen += Counter(dict(zip(FEATS, game.feats, strict=True)))
            best_combo = max(best_combo, game.best_combo)
    assert not [feat for feat in FEATS if seen[feat] == 0], seen
    assert best_combo >= 6


def test_better_bots_score_more():
    mean = {}
    for skill, name in enumerate(SKILL_SHARES):
        games = [
            game
            for seed in range(6)
            for game in bots.Table(RULES, deal_of(seed), "ultra").play(orders(6, skill, stop_at=400, first=seed))
        ]
        mean[name] = sum(game.score for game in games) / len(games)
    assert sorted(mean, key=mean.__getitem__) == list(SKILL_SHARES), mean
    assert [skill.name for skill in bots.SKILLS] == list(SKILL_SHARES)


def test_openings_empty_the_board_with_the_deals_own_pieces():
    found = 0
    for seed in range(12):
        deal = deal_of(seed)
        table = bots.Table(RULES, deal, "marathon/1")
        if len(table.book) == 0:
            continue
        found += 1
        (game,) = table.play([bots.Order(1, AI, len(table.book), False, True)])
        perfect = [step.lock for step in trace(Game(RULES, deal, game.moves.encode(), "marathon/1")) if step.lock][-1]
        assert perfect.perfect, (seed, game.moves)
    assert found >= 8
    # A board that is not empty has none.
    assert len(bots.Table(RULES, deal_of(1, board="IIII6"), "marathon/1").book) == 0


def test_who_has_had_enough_drops_the_rest_or_leaves():
    deal = deal_of(3)
    table = bots.Table(RULES, deal, "marathon/1")
    given_up, left = table.play([bots.Order(1, EXPERT, 12, True, False), bots.Order(1, EXPERT, 12, False, False)])
    assert given_up.finished
    assert not left.finished
    assert left.feats[0] in (12, 13)
    assert given_up.feats[0] > left.feats[0]
    # Time that ran on after the last input stands in the log.
    assert check_played(left, deal, "marathon/1").tick == ticks_of(left.moves)


def test_a_listed_deal_is_played_to_its_last_piece_and_never_beyond():
    """An input without a piece would be the challenge's fault."""
    for skill in range(len(bots.SKILLS)):
        deal = deal_of(0, pieces="T O I S Z L J T")
        for game in bots.Table(RULES, deal, "marathon/1").play(orders(4, skill)):
            again = check_played(game, deal, "marathon/1")
            assert again.st[engine.ST_NEXT] == 8


def test_pieces_of_a_deal_are_the_ones_that_come():
    deal = deal_of(99)
    game = Game(RULES, deal, b"", "zen")
    assert "".join("IJLOSTZ"[piece] for piece in bots.pieces_of(deal, 15)) == game.piece + "".join(game.upcoming(14))
    assert bots.pieces_of(deal_of(0, pieces="T O"), 15) == [5, 3]


def test_inputs_take_the_time_that_hands_take():
    """Some ticks between inputs, quicker with more skill, and no two games of one player alike."""
    waits = {}
    for skill, name in enumerate(SKILL_SHARES):
        games = bots.Table(RULES, deal_of(5), "marathon/1").play(orders(5, skill))
        assert len({game.moves for game in games}) == 5
        waits[name] = sum(ticks_of(game.moves) for game in games) / sum(game.feats[0] for game in games)
    assert all(slower > quicker for slower, quicker in pairwise(waits.values())), waits
    assert 10 <= waits["ai"] <= waits["beginner"] <= 150


def test_how_long_people_play():
    rng = random.Random(1)
    for mode in MODES:
        drawn = [bots.stop_after(rng, mode) for _ in range(400)]
        goes_on = sum(give_up for _, give_up in drawn)
        assert goes_on == 0 if mode == "zen" else 360 <= goes_on < 400, mode
        assert all(24 <= stop <= bots.MOST_PIECES for stop, _ in drawn)
        assert (max(drawn)[0] == bots.MOST_PIECES) == (mode in ("sprint", "ultra"))


def test_spaced_logs_and_padded_boards_mean_the_same():
    play = PLAYS["tetromino"]
    assert play.spaced("12l3l5x9h30") == "12l 3l 5x 9h 30"
    assert play.spaced("hh") == "h h"
    assert ticks_of("12l3l5x9h30") == ticks_of("12l 3l 5x 9h 30") == 59


def test_uncompiled_bots_play_the_same_game():
    code = (
        "from replay import tetromino_bots as b; from replay.rulebook import load_rulebook\n"
        "from engine.tetromino.single import make_deal\n"
        "rules = load_rulebook().find('tetromino', '1.0.0')\n"
        "table = b.Table(rules, make_deal(rules, 'ultra', 5, '', 'JJJ7/JJ8/JJ1LLLLLLL/JJ2LLLLLL/JJ1LLLLLLL'), 'ultra')\n"
        "print([tuple(game) for game in table.play([b.Order(7, 4, 6, False, False), b.Order(8, 1, 3, False, False)])])"
    )
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(BUILT_IN.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    deal = deal_of(5, "ultra", board="JJJ7/JJ8/JJ1LLLLLLL/JJ2LLLLLL/JJ1LLLLLLL")
    games = bots.Table(RULES, deal, "ultra").play([bots.Order(7, 4, 6, False, False), bots.Order(8, 1, 3, False, False)])
    assert done.stdout.strip() == str([tuple(game) for game in games])
    assert done.stderr == ""
