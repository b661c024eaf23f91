"""Simulated days of Tetcolor beside the other games: real games, right records, and a truth that follows from the rules.

As in ``test_simulate``, the truth is checked from the records alone, with the interpreted engine; the verifier plays no part.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from datetime import date, timedelta

import numba
import pytest

from engine.outcome import BOARD_EQUAL, BOARD_UNREADABLE
from engine.tetcolor.single import Game
from replay import forgeries
from replay.challenges import load_challenges
from replay.errors import MalformedRecord
from replay.players import EXTRA, PADDED, SPACED
from replay.plays import PLAYS, Scene
from replay.record import parse_record
from replay.rulebook import load_rulebook
from replay.simulate import _challenge_day
from tests.replay.test_simulate import beyond_limits, check_copies, files_of, letters, mismatches, read_lake, records_of, run

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="bots weigh a hundred places a piece: compiled only")

RULEBOOK = load_rulebook()
CHALLENGES = load_challenges(rulebook=RULEBOOK)
RULES = RULEBOOK.find("tetcolor", "1.0.0")
# Friday to Monday: duo with handicap, tetcolor crazy, columns relax with handicap, duo.
DAYS = [date(2026, 10, 30), date(2026, 10, 31), date(2026, 11, 1), date(2026, 11, 2)]
LINES = 400
MOST = (1 << 63) - 1


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    run(folder, DAYS, LINES, others={"tetcolor": 1.0})
    return folder


@pytest.fixture(scope="module")
def pairs(lake):
    return [(t, line) for t, line in read_lake(lake) if t["game"] == "tetcolor"]


@pytest.fixture(scope="module")
def records(pairs):
    return records_of(pairs)


def game_of(record) -> Game:
    """The record's game, replayed to its end or first fault in its own mode."""
    deal = CHALLENGES.find("tetcolor", record.challenge).deal(RULES, record.mode)
    game = Game(RULES, deal, record.moves.encode("utf-8"), record.mode)
    game.run()
    return game


def ticks(record) -> int:
    return sum(int(number) for number in re.findall("[0-9]+", record.moves))


def test_the_other_games_lines_are_the_same_with_and_without_it(lake, pairs, tmp_path):
    run(tmp_path, DAYS, LINES)
    alone = sorted(line for _, line in read_lake(tmp_path))
    assert alone == sorted(line for t, line in read_lake(lake) if t["game"] == "blocks")
    assert len(pairs) == len(alone) == LINES * len(DAYS)


def test_same_seed_same_bytes_with_three_games_whatever_the_threads(tmp_path):
    for threads in (1, 2):
        run(tmp_path / str(threads), DAYS[:2], 150, others={"tetromino": 0.5, "tetcolor": 1.0}, threads=threads)
    assert files_of(tmp_path / "1") == files_of(tmp_path / "2")
    assert Counter(t["game"] for t, _ in read_lake(tmp_path / "1")) == {"blocks": 300, "tetromino": 150, "tetcolor": 300}


def test_honest_games_replay_to_their_claims(records):
    checked = Counter()
    for truth, record in records:
        if truth["expected_verdict"] not in ("verified", "copy"):
            continue
        game = game_of(record)
        outcome = game.outcome()
        assert outcome.fault is None, truth
        assert (outcome.score, outcome.best_combo) == (record.score, record.best_combo), truth
        assert game.board_equals(record.final_board) == BOARD_EQUAL
        assert outcome.finished == ("unfinished" not in truth["expected_suspicions"])
        family, variant, style = record.mode.split("/")[:3]
        for what in (family, variant, style.rstrip("12345678"), *record.mode.split("/")[3:]):
            checked[what] += 1
        checked["training"] += record.challenge == "training-chain"
        checked["spaced"] += " " in record.moves
        checked["padded"] += outcome.board != record.final_board
        checked["trailing time"] += record.moves[-1].isdigit()
        checked["specials"] += any(special in record.final_board for special in "NHVLMAS*")
        # The clients' clocks go on a little longer than the game's.
        assert record.finished_at - record.started_at >= ticks(record) * 1_000_000 // 60
    for what in (
        "duo", "tetcolor", "columns", "retris", "classic", "arcade", "normal", "relax", "crazy", "handicap", "training", "spaced",
        "padded", "trailing time", "specials",
    ):  # fmt: skip
        assert checked[what] > 5, (what, checked)


def test_nothing_but_the_fields_of_the_record_is_sent(pairs):
    """A level is no claim of this game."""
    extra = Counter()
    for truth, line in pairs:
        if truth["kind"] == "honest":
            fields = json.loads(line)
            assert "level" not in fields
            assert "lines" not in fields
            extra[fields["app_version"]] += "locale" in fields
    assert {version for version, count in extra.items() if count} == {EXTRA}
    assert set(extra) > {PADDED, SPACED}


def test_every_kind_and_variant_of_forgery_is_there(records, pairs):
    seen = {(t["kind"], t["variant"]) for t, _ in pairs}
    wanted = {(v.kind, v.name) for v in forgeries.variants_of("tetcolor")}
    missing = {(kind, name) for kind, name in wanted - seen if kind != "malformed"}
    assert not missing
    assert sum(kind == "malformed" for kind, _ in wanted & seen) > 15
    reasons = {reason for t, _ in records for reason in t["expected_reasons"]}
    assert reasons == set(forgeries.REASONS) - {"level_mismatch", "lines_mismatch"}
    for truth, _ in records:
        assert (truth["expected_verdict"] == "flagged") == bool(truth["expected_reasons"])
        assert truth["expected_reasons"] == sorted(truth["expected_reasons"], key=forgeries.REASONS.index)


def test_malformed_lines_are_refused_by_the_reader(pairs):
    for truth, line in pairs:
        if truth["kind"] == "malformed":
            with pytest.raises(MalformedRecord):
                parse_record(line)
            assert (truth["expected_verdict"], truth["expected_reasons"]) == ("quarantined", [])


def too_much(record) -> bool:
    """Claims that no such log can earn, counted generously.

    A piece of five blocks for each input and each tick, and a board's blocks before; a pass pays a block no more than a board
    has blocks, times 2 to the 36; a settle has no more passes than the board has cells.
    """
    if record.mode not in RULES.params:
        return False
    game = Game(RULES, CHALLENGES.find("tetcolor", record.challenge).deal(RULES, record.mode), b"", record.mode)
    cells = game.width * game.height
    blocks = 5 * (letters(record) + ticks(record) + 1) + cells if record.moves else 0
    most = min(MOST - 1, blocks * cells * 2**36)
    return not (0 <= record.score <= most and 0 <= record.best_combo <= cells)


def test_expected_reasons_follow_from_the_rules(records):
    """Each claim by itself, faults, limits of the challenge day; a shortened log is what its last drop completes."""
    for truth, record in records:
        expected = set(truth["expected_reasons"]) - {"duplicate_attempt", "conflicting_upload"}
        if RULEBOOK.find("tetcolor", record.rules) is None or CHALLENGES.find("tetcolor", record.challenge) is None:
            assert expected
            assert expected <= {"unknown_rules", "unknown_challenge"}, truth
            continue
        reasons = {"impossible_score"} if too_much(record) else set()
        game = game_of(record)
        outcome = game.outcome()
        if outcome.fault:
            reasons.add("illegal_move")
        else:
            reasons |= mismatches(game, record)
        if truth["kind"] == "truncated_log":
            assert completed_by_a_drop(game, record), truth
            reasons.add("truncated_log")
        challenge = CHALLENGES.find("tetcolor", record.challenge)
        if challenge.date and challenge.mode == record.mode:
            reasons |= beyond_limits(challenge, record)
        assert reasons == expected, (truth, outcome.fault)


def completed_by_a_drop(game, record) -> bool:
    """Whether one hard drop within a second ends the game with all claims as they are."""
    for wait in range(60):
        tried = game.fork(f"{wait}h".encode())
        outcome = tried.run()
        claims = (outcome.score, outcome.best_combo) == (record.score, record.best_combo)
        if claims and outcome.finished and tried.board_equals(record.final_board) == BOARD_EQUAL:
            return True
    return False


def test_illegal_moves_meet_the_fault_they_are_named_after(records):
    faults, modes = defaultdict(set), set()
    for truth, record in records:
        if truth["kind"] == "illegal_move":
            faults[truth["variant"]].add(game_of(record).outcome().fault.kind)
        if truth["variant"] == "no_such_mode":
            modes.add(record.mode)
    assert faults.pop("bad_token_and_combo") == {"bad_token"}
    assert faults == {name: {name} for name in ("bad_token", "after_end", "no_such_mode")}
    assert len(modes) > 3


def test_selections_that_do_not_exist_are_only_those_that_have_no_such_style():
    from replay.tetcolor_forgeries import no_modes

    found = no_modes(RULES)
    assert {"columns/arcade/crazy", "columns/classic/crazy", "duo/classic/relax9", "retris/retro/crazy"} <= set(found)
    assert "retris/arcade/crazy" not in found
    assert not set(found) & set(RULES.mode_names)


def test_changed_boards_are_other_boards(records):
    """One cell, one special, ice: each by itself is seen."""
    for variant in ("one_cell", "one_special", "ice"):
        changed = [r for t, r in records if t["variant"] == variant]
        assert changed, variant
        for record in changed:
            game = game_of(record)
            claim = re.sub("[NHVLMAS]", "", record.final_board) if variant == "one_special" else record.final_board
            board = re.sub("[NHVLMAS]", "", game.board) if variant == "one_special" else game.board
            if variant == "ice":
                claim, board = claim.replace("*", ""), board.replace("*", "")
            # Some clients write the empty rows at the top.
            same = claim.endswith(board) and not claim.removesuffix(board).strip("0123456789/")
            assert same == (variant != "one_cell"), (record.final_board, game.board)


def test_unreadable_boards_are_unreadable(records):
    boards = {r.final_board: game_of(r) for t, r in records if t["variant"] == "unreadable"}
    assert len(boards) > 3
    assert all(game.board_equals(board) == BOARD_UNREADABLE for board, game in boards.items())


def test_copies_and_copied_logs(records):
    check_copies(records)


def test_every_selection_has_its_turn_beside_the_daily_one():
    """All of them within two weeks, as many each day; the daily one is not among them."""
    seen, daily = set(), set()
    for number in range(14):
        challenge = CHALLENGES.find("tetcolor", str(date(2026, 11, 2) + timedelta(days=number)))
        scene = Scene(_challenge_day(challenge, RULEBOOK), CHALLENGES, RULEBOOK)
        played = [mode for _, found, mode, _ in PLAYS["tetcolor"].side_games(scene) if found == challenge]
        assert 11 <= len(set(played)) == len(played) <= 12
        assert challenge.mode not in played
        seen |= set(played)
        daily.add(challenge.mode)
    assert seen | daily == set(RULES.mode_names)


def test_every_selection_of_the_week_is_played(tmp_path):
    days = [date(2026, 11, 2) + timedelta(days=number) for number in range(7)]
    run(tmp_path, days, 60, others={"tetcolor": 0.5}, forged_share=0.1)
    modes = defaultdict(Counter)
    for truth, line in read_lake(tmp_path):
        if truth["game"] == "tetcolor" and truth["kind"] == "honest":
            modes[truth["challenge"]][json.loads(line)["mode"]] += 1
    week = [
        "duo/arcade/normal", "columns/classic/normal", "tetcolor/arcade/relax3", "retris/classic/crazy",
        "duo/classic/normal/handicap", "tetcolor/arcade/crazy", "columns/arcade/relax5/handicap",
    ]  # fmt: skip
    assert [modes[str(day)].most_common(1)[0][0] for day in days] == week


def test_the_challenge_table_has_a_selection_for_each_day_of_the_block_puzzle():
    days = {game: {row.date for row in CHALLENGES.rows.values() if row.game == game and row.date} for game in PLAYS}
    assert days["tetcolor"] == days["blocks"] == days["tetromino"]
    by_weekday = defaultdict(set)
    seeds = set()
    for row in CHALLENGES.rows.values():
        if row.game == "tetcolor" and row.date:
            by_weekday[row.date.weekday()].add(row.mode)
            seeds.add(row.rng_seed)
    assert all(len(modes) == 1 for modes in by_weekday.values())
    assert len(set.union(*by_weekday.values())) == 7
    assert len(seeds) == len(days["tetcolor"])
