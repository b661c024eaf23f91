"""Bots of Tetcolor: their games are the engine's own, skills differ, and cascades and chains of bombs occur in every family."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import numba
import pytest

from engine.outcome import BOARD_EQUAL
from engine.tetcolor import layout as at
from engine.tetcolor.notation import board_text
from engine.tetcolor.single import Game, make_deal, trace
from replay import tetcolor_bots as bots
from replay.challenges import load_challenges
from replay.players import PADDED, SKILL_SHARES, Upload, make_players
from replay.plays import PLAYS, ticks_of
from replay.rulebook import BUILT_IN, load_rulebook

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="bots weigh a hundred places a piece: compiled only")

RULEBOOK = load_rulebook()
RULES = RULEBOOK.find("tetcolor", "1.0.0")
CHALLENGES = load_challenges(rulebook=RULEBOOK)
FEATS = ("pieces", "matches", "cascades", "long cascades", "blasts", "chains")
AI, EXPERT = 5, 4
BOMBS = "2eS1ab*2cd/aNbcMdeLabAcd1"


def table_of(seed, mode, pieces="", board=""):
    return bots.Table(RULES, make_deal(RULES, mode, seed, pieces, board), mode)


def orders(count, skill, stop_at=40, give_up=True, first=0):
    return [bots.Order(first + n, skill, stop_at, give_up) for n in range(count)]


def check_played(game, table):
    """The bot's claims are what the interpreted engine makes of its log."""
    again = Game(RULES, table.deal, game.moves.encode(), table.mode)
    outcome = again.run()
    found = (outcome.score, outcome.best_combo, outcome.level, outcome.board, outcome.moves, outcome.finished)
    assert outcome.fault is None, (table.mode, game.moves, outcome.fault)
    claimed = (game.score, game.best_combo, game.level, board_text(game.board), game.tokens, game.finished)
    assert found == claimed, (table.mode, game.moves)
    return again


def counted(table, moves):
    """What a trace shows of a game, by the names of FEATS."""
    found, passes, generations = Counter(), 0, 0

    def close():
        found.update({
            "matches": passes > 0, "cascades": passes > 1, "long cascades": passes > 2, "blasts": generations > 0,
            "chains": generations > 1,
        })  # fmt: skip

    for event in trace(Game(RULES, table.deal, moves.encode(), table.mode)):
        if event.kind == "lock":
            close()
            found["pieces"] += 1
            passes = generations = 0
        elif event.kind in ("strike", "generation", "collapse"):
            passes, generations = event.passes, event.generation
    close()
    return {name: found[name] for name in FEATS}


@pytest.mark.parametrize("mode", RULES.mode_names)
def test_logs_replay_to_their_claims_in_every_selection(mode):
    """All families, variants, styles, with and without handicap; a skill each in turn."""
    number = RULES.mode_names.index(mode)
    table = table_of(100 + number, mode)
    for skill in (number % len(bots.SKILLS), (number + 3) % len(bots.SKILLS)):
        (game,) = table.play(orders(1, skill, first=number))
        check_played(game, table)
        assert game.finished
        assert game.tokens > 20


@pytest.mark.parametrize("mode", ["duo/arcade/normal", "tetcolor/arcade/crazy", "columns/arcade/relax3", "retris/arcade/crazy"])
def test_feats_are_counted_as_a_trace_shows_them(mode):
    table = table_of(5, mode)
    for game in table.play(orders(3, EXPERT, stop_at=50)):
        assert dict(zip(FEATS, game.feats, strict=True)) == counted(table, game.moves)


def test_every_family_reaches_what_its_rules_hold():
    """Cascades in most games where colours match, chains of bombs in most games of arcade; long cascades now and then."""
    share = {}
    for mode in (
        f"{family}/{variant}/normal" for family in ("duo", "tetcolor", "columns", "retris") for variant in ("classic", "arcade")
    ):
        games = [game for seed in range(5) for game in table_of(seed, mode).play(orders(12, seed % 4 + 1, stop_at=55))]
        share[mode] = {
            feat: sum(game.feats[number] > 0 for game in games) / len(games) for number, feat in enumerate(FEATS)
        }  # fmt: skip
    for family in ("duo", "tetcolor", "columns"):
        for variant in ("classic", "arcade"):
            assert share[f"{family}/{variant}/normal"]["cascades"] > 0.75, share
            assert share[f"{family}/{variant}/normal"]["long cascades"] > 0.1, share
        assert share[f"{family}/arcade/normal"]["chains"] > 0.5, share
        assert share[f"{family}/classic/normal"]["blasts"] == 0
    # Full rows go together, seldom one after the other; bombs go off only with a row.
    assert share["retris/classic/normal"]["matches"] > 0.9
    assert share["retris/arcade/normal"]["blasts"] > 0.75
    assert share["retris/arcade/normal"]["chains"] > 0.1


@pytest.mark.parametrize("mode", ["duo/classic/normal", "duo/arcade/normal", "tetcolor/classic/normal", "tetcolor/arcade/crazy"])
def test_better_bots_score_more(mode):
    mean = {}
    for skill, name in enumerate(SKILL_SHARES):
        games = [game for seed in range(8) for game in table_of(seed, mode).play(orders(12, skill, stop_at=55, first=seed))]
        mean[name] = sum(game.score for game in games) / len(games)
    # The best two differ by less than such a sample shows.
    names = list(SKILL_SHARES)[:-1]
    assert sorted(names, key=mean.__getitem__) == names, mean
    assert mean["ai"] > mean["advanced"]
    assert [skill.name for skill in bots.SKILLS] == list(SKILL_SHARES)


@pytest.mark.parametrize(
    "mode", ["columns/classic/normal", "columns/arcade/relax5/handicap", "retris/classic/normal", "retris/arcade/crazy"]
)
def test_better_bots_score_more_where_room_is_short(mode):
    mean = [
        sum(game.score for seed in range(8) for game in table_of(seed, mode).play(orders(12, skill, stop_at=55, first=seed)))
        for skill in (0, 2, EXPERT)
    ]
    assert mean == sorted(mean), mean


def test_who_has_had_enough_drops_the_rest_or_leaves():
    table = table_of(3, "duo/arcade/normal")
    given_up, left = table.play([bots.Order(1, EXPERT, 12, True), bots.Order(1, EXPERT, 12, False)])
    assert given_up.finished
    assert not left.finished
    assert left.feats[0] in (12, 13)
    assert given_up.feats[0] > left.feats[0]
    # Time that ran on after the last input stands in the log.
    assert check_played(left, table).clock == ticks_of(left.moves)


def test_a_listed_deal_is_played_to_its_last_piece_and_never_beyond():
    """An input without a piece would be the challenge's fault."""
    for skill in range(len(bots.SKILLS)):
        table = table_of(0, "duo/classic/normal", pieces="T:abcd I:abca O:aabb L:cdea S:bbcd Z:abce")
        for game in table.play(orders(4, skill)):
            again = check_played(game, table)
            assert again.pieces_settled == 6
            assert again.st[at.PHASE] == at.EXHAUSTED


def test_bots_start_from_a_start_board():
    (row,) = [row for row in CHALLENGES.rows.values() if row.game == "tetcolor" and row.date is None]
    assert (row.challenge, row.start_board) == ("training-chain", BOMBS)
    table = bots.Table(RULES, row.deal(RULES), row.mode)
    games = table.play(orders(12, EXPERT, stop_at=30))
    for game in games:
        check_played(game, table)
    # Four bombs and an Activator wait there.
    assert sum(game.feats[FEATS.index("chains")] > 0 for game in games) >= 10


def test_inputs_take_the_time_that_hands_take():
    """Some ticks between inputs, quicker with more skill, and no two games of one player alike."""
    waits = {}
    for skill, name in enumerate(SKILL_SHARES):
        games = table_of(5, "duo/classic/normal").play(orders(5, skill))
        assert len({game.moves for game in games}) == 5
        waits[name] = sum(ticks_of(game.moves) for game in games) / sum(game.feats[0] for game in games)
    assert all(slower > quicker for slower, quicker in pairwise(waits.values())), waits
    assert 10 <= waits["ai"] <= waits["beginner"] <= 150


def test_places_under_an_overhang_are_reached():
    """Down beside the ledge and sideways under it: no drop from above comes to lie there."""
    table = table_of(0, "retris/classic/relax1", pieces="I:abcd O:abcd", board="3abcde2/10/abc7")
    games = table.play(orders(40, 3, stop_at=2, give_up=False))
    under = [game for game in games if any(game.board[-2][3:8])]
    assert under
    for game in games:
        check_played(game, table)


def test_how_long_people_play():
    rng = random.Random(1)
    drawn = [bots.stop_after(rng) for _ in range(1000)]
    assert all(30 <= stop < 75 for stop, _ in drawn)
    assert 960 <= sum(give_up for _, give_up in drawn) < 1000


def test_spaced_logs_and_padded_boards_mean_the_same():
    play = PLAYS["tetcolor"]
    assert play.spaced("12l3l5x9h1h30") == "12l 3l 5x 9h 1h 30"
    player = next(player for player in make_players(1, 500) if player.app_version == PADDED)
    upload = Upload(game_id="g", game="tetcolor", mode="columns/arcade/normal", rules="", challenge="", player=player, attempt=1)
    upload.board = [[0] * 6] * 12 + [[0, 2, 0, 0, 1 | at.NORMAL << at.SPECIAL_SHIFT | at.ICE, 3]]
    assert play.board_text(upload) == "/".join(["6"] * 12 + ["1b2aN*c"])
    game = Game(RULES, make_deal(RULES, upload.mode, 1, "", "1b2aN*c"), b"", upload.mode)
    assert game.board_equals(play.board_text(upload)) == game.board_equals("1b2aN*c") == BOARD_EQUAL


def test_uncompiled_bots_play_the_same_game():
    code = (
        "from replay import tetcolor_bots as b; from replay.rulebook import load_rulebook\n"
        "from engine.tetcolor.single import make_deal\n"
        "rules = load_rulebook().find('tetcolor', '1.0.0')\n"
        f"table = b.Table(rules, make_deal(rules, 'duo/arcade/normal', 5, '', {BOMBS!r}), 'duo/arcade/normal')\n"
        "print([tuple(game) for game in table.play([b.Order(7, 4, 3, False), b.Order(8, 1, 6, False)])])"
    )
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(BUILT_IN.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    games = table_of(5, "duo/arcade/normal", board=BOMBS).play([bots.Order(7, 4, 3, False), bots.Order(8, 1, 6, False)])
    assert done.stdout.strip() == str([tuple(game) for game in games])
    assert done.stderr == ""
