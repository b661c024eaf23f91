"""Simulated days of Tetromino Arcade beside the block puzzle: real games, right records, and a truth that follows from the rules.

As in ``test_simulate``, the truth is checked from the records alone, with the interpreted engine; the verifier plays no part.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import date

import numba
import pytest

from engine.outcome import BOARD_EQUAL, BOARD_UNREADABLE
from engine.tetromino.single import Game
from replay import forgeries
from replay.challenges import load_challenges
from replay.errors import MalformedRecord
from replay.players import EXTRA, PADDED, SPACED
from replay.plays import ticks_of
from replay.record import parse_record
from replay.rulebook import load_rulebook
from tests.replay.test_simulate import (
    DAYS,
    beyond_limits,
    check_copies,
    files_of,
    letters,
    mismatches,
    read_lake,
    records_of,
    run,
)

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="bots weigh a hundred places a piece: compiled only")

RULEBOOK = load_rulebook()
CHALLENGES = load_challenges(rulebook=RULEBOOK)
RULES = RULEBOOK.find("tetromino", "1.0.0")
LINES = 660


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    run(folder, lines=LINES, others={"tetromino": 1.0})
    return folder


@pytest.fixture(scope="module")
def pairs(lake):
    return [(t, line) for t, line in read_lake(lake) if t["game"] == "tetromino"]


@pytest.fixture(scope="module")
def records(pairs):
    return records_of(pairs)


def game_of(record) -> Game:
    deal = CHALLENGES.find("tetromino", record.challenge).deal(RULES, record.mode)
    game = Game(RULES, deal, record.moves.encode("utf-8"), record.mode)
    game.run()
    return game


def test_the_block_puzzles_lines_are_the_same_with_and_without_another_game(lake, pairs, tmp_path):
    run(tmp_path, lines=LINES)
    alone = sorted(line for _, line in read_lake(tmp_path))
    both = sorted(line for t, line in read_lake(lake) if t["game"] == "blocks")
    assert both == alone
    assert len(pairs) == len(alone) == LINES * len(DAYS)


def test_same_seed_same_bytes_whatever_the_threads(lake, tmp_path):
    run(tmp_path, lines=LINES, others={"tetromino": 1.0}, threads=1)
    assert files_of(lake) == files_of(tmp_path)


def test_uploads_of_both_games_share_the_files(lake):
    for path in (lake / "truth").glob("day=*/truth.ndjson"):
        files = defaultdict(set)
        for text in path.read_text("ascii").splitlines():
            truth = json.loads(text)
            files[truth["file"]].add(truth["game"])
        assert all(games == {"blocks", "tetromino"} for games in files.values()), files


def test_honest_games_replay_to_their_claims(records):
    checked = Counter()
    for truth, record in records:
        if truth["expected_verdict"] not in ("verified", "copy"):
            continue
        game = game_of(record)
        outcome = game.outcome()
        assert outcome.fault is None, truth
        assert (outcome.score, outcome.best_combo) == (record.score, record.best_combo), truth
        assert record.level in (None, outcome.level)
        assert record.lines in (None, outcome.lines)
        assert game.board_equals(record.final_board) == BOARD_EQUAL
        assert outcome.finished == ("unfinished" not in truth["expected_suspicions"])
        checked[record.mode] += 1
        checked[record.challenge] += record.challenge.startswith("training")
        checked["level claimed"] += record.level is not None
        checked["not claimed"] += record.level is None
        checked["spaced"] += " " in record.moves
        checked["padded"] += record.final_board.startswith("10/")
        checked["trailing time"] += record.moves[-1].isdigit()
        # The clients' clocks go on a little longer than the game's.
        assert record.finished_at - record.started_at >= ticks_of(record.moves) * 1_000_000 // 60
    training = {"training-triple", "training-mini", "training-combo"}
    for what in {"ultra", "sprint", "zen", "battle", "marathon/3", "beginner", "spaced", "padded", "trailing time", *training}:
        assert checked[what], what
    assert checked["level claimed"] > 3 * checked["not claimed"] > 0


def test_old_clients_leave_level_and_lines_out_others_send_null(pairs):
    for truth, line in pairs:
        if truth["kind"] in ("honest", "unfinished"):
            fields = json.loads(line)
            claimed = [fields.get(name, "absent") for name in ("level", "lines")]
            if fields["app_version"] == PADDED:
                assert claimed == ["absent"] * 2
            elif fields["app_version"] == SPACED:
                assert claimed == [None, None]
            else:
                assert [type(value) for value in claimed] == [int, int]
    assert {json.loads(line)["app_version"] for t, line in pairs if t["kind"] == "honest"} > {PADDED, SPACED, EXTRA}


def test_every_kind_and_variant_of_forgery_is_there(records, pairs):
    seen = {(t["kind"], t["variant"]) for t, _ in pairs}
    wanted = {(v.kind, v.name) for v in forgeries.variants_of("tetromino")}
    # Of broken lines, which are one kind with many variants, a day so small holds some only; the next test has them all.
    missing = {(kind, name) for kind, name in wanted - seen if kind != "malformed"}
    assert not missing
    assert sum(kind == "malformed" for kind, _ in wanted & seen) > 15
    assert {reason for t, _ in records for reason in t["expected_reasons"]} == set(forgeries.REASONS)
    for truth, _ in records:
        assert (truth["expected_verdict"] == "flagged") == bool(truth["expected_reasons"])
        assert truth["expected_reasons"] == sorted(truth["expected_reasons"], key=forgeries.REASONS.index)


def test_malformed_lines_are_refused_by_the_reader_or_by_the_rules_modes(pairs):
    for truth, line in pairs:
        if truth["kind"] == "malformed":
            if truth["variant"] in ("unknown_mode", "mode_with_zero"):
                assert not RULES.has_mode(parse_record(line).mode)
            else:
                with pytest.raises(MalformedRecord):
                    parse_record(line)
        else:
            assert RULES.has_mode(parse_record(line).mode)


def refused(line: bytes) -> bool:
    """Whether the reader of records, or the list of the rules' modes, refuses a line."""
    try:
        return not RULES.has_mode(parse_record(line).mode)
    except MalformedRecord:
        return True


def test_every_broken_line_is_refused_and_nothing_else(pairs):
    honest = [line for t, line in pairs if t["kind"] == "honest"]
    with_level = next(line for line in honest if b'"level":' in line and b"null" not in line)
    without = next(line for line in honest if b'"level":' not in line)
    broken = [v for v in forgeries.variants_of("tetromino") if v.kind == "malformed"]
    for line in (with_level, without):
        assert not refused(line)
        for variant in broken:
            change = variant.make.keywords["change"]
            text = change(line.decode("utf-8")).encode("utf-8", "surrogateescape")
            assert refused(text), (variant.name, text)


def too_much(record) -> bool:
    """Claims that no such log can earn, counted generously: a lock for each input and each 30 ticks; the worth of a lock."""
    locks = letters(record) + sum(int(n) for n in "".join(c if c.isdigit() else " " for c in record.moves).split()) // 30 + 1
    start = int(record.mode.partition("/")[2] or 1)
    level, lines = (start if record.level is None else record.level), record.lines or 0
    most = locks * (start + 4 * locks // 10 + 1) * (5_000 + 50 * locks)
    goal = record.mode == "sprint" and (lines > 43 or level > 5)
    low = record.score < 0 or record.best_combo < 0 or level < start
    return low or goal or record.score > most or record.best_combo >= locks or lines >= 4 * locks or level > start + locks


def test_expected_reasons_follow_from_the_rules(records):
    """Each claim by itself, faults, limits of the challenge day; a shortened log is what its last drop completes."""
    for truth, record in records:
        expected = set(truth["expected_reasons"]) - {"duplicate_attempt", "conflicting_upload"}
        if RULEBOOK.find("tetromino", record.rules) is None or CHALLENGES.find("tetromino", record.challenge) is None:
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
            reasons |= {"level_mismatch"} if record.level not in (None, outcome.level) else set()
            reasons |= {"lines_mismatch"} if record.lines not in (None, outcome.lines) else set()
        if truth["kind"] == "truncated_log":
            assert completed_by_a_drop(record, outcome.moves), truth
            reasons.add("truncated_log")
        challenge = CHALLENGES.find("tetromino", record.challenge)
        if challenge.date and challenge.mode == record.mode:
            reasons |= beyond_limits(challenge, record)
        assert reasons == expected, (truth, outcome.fault)


def completed_by_a_drop(record, tokens) -> bool:
    """Whether one hard drop within ten seconds makes all claims come out."""
    deal = CHALLENGES.find("tetromino", record.challenge).deal(RULES, record.mode)
    game = Game(RULES, deal, record.moves.encode(), record.mode)
    game.run()
    for ticks in range(600):
        tried = game.fork(f"{ticks}h".encode())
        outcome = tried.run()
        claims = (outcome.score, outcome.best_combo) == (record.score, record.best_combo)
        if claims and outcome.moves == tokens + 1 and tried.board_equals(record.final_board) == BOARD_EQUAL:
            return outcome.finished
    return False


def test_illegal_moves_meet_the_fault_they_are_named_after(records):
    faults = defaultdict(set)
    for truth, record in records:
        if truth["kind"] == "illegal_move":
            faults[truth["variant"]].add(game_of(record).outcome().fault.kind)
    assert faults.pop("hold_twice_and_score") == {"hold_twice"}
    assert faults == {name: {name} for name in ("bad_token", "hold_twice", "after_end")}


def test_a_changed_delay_gives_another_game(records):
    changed = [(t, r) for t, r in records if t["kind"] == "changed_delay"]
    assert {t["variant"] for t, _ in changed} == {"a_moment", "a_while"}
    assert any("illegal_move" in t["expected_reasons"] for t, _ in changed)
    assert any("illegal_move" not in t["expected_reasons"] for t, _ in changed)


def test_copies_and_copied_logs(records):
    check_copies(records)


def test_unreadable_boards_are_unreadable(records):
    boards = {r.final_board: game_of(r) for t, r in records if t["variant"] == "unreadable"}
    assert boards
    assert all(game.board_equals(board) == BOARD_UNREADABLE for board, game in boards.items())


def test_every_mode_of_the_week_is_played(tmp_path):
    days = [date(2026, 11, 2 + n) for n in range(7)]
    run(tmp_path, days, 60, others={"tetromino": 0.5}, forged_share=0.1)
    modes = defaultdict(Counter)
    for truth, line in read_lake(tmp_path):
        if truth["game"] == "tetromino" and truth["kind"] == "honest":
            modes[truth["challenge"]][json.loads(line)["mode"]] += 1
    week = ["marathon/1", "sprint", "ultra", "beginner", "marathon/10", "ultra", "sprint"]
    assert [modes[str(day)].most_common(1)[0][0] for day in days] == week
