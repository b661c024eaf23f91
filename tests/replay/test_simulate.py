"""Simulated days: real games, right records, and a truth that follows from the rules.

The truth is checked here from the records alone: with the interpreted engine, with the record reader, and by comparing the
uploads with each other.  The verifier plays no part.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numba
import pyarrow as pa
import pytest

from engine.blocks.rules import load_rules
from engine.blocks.single import Deal, Game, replay
from engine.outcome import BOARD_EQUAL, BOARD_UNREADABLE
from replay import bots, forgeries, players
from replay.challenges import ChallengeTable, load_challenges
from replay.errors import MalformedRecord, UsageError
from replay.record import Record, parse_record
from replay.rulebook import BUILT_IN, load_rulebook
from replay.simulate import FORMATS, simulate

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="bots weigh a hundred placements a move: compiled only")

RULEBOOK = load_rulebook()
CHALLENGES = load_challenges(rulebook=RULEBOOK)
RULES = RULEBOOK.find("blocks", "1.2.0")
DAYS = [date(2026, 10, 31), date(2026, 11, 1)]
LINES = 700
SHARE = 0.4


def run(lake: Path, days=DAYS, lines=LINES, **kw):
    kw = {"challenges": CHALLENGES, "rulebook": RULEBOOK, "rng_seed": 20, "forged_share": SHARE} | kw
    return simulate(lake, days, lines, **kw)


def read_lines(path: Path) -> list[bytes]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        data = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    assert data.endswith(b"\n")
    return data[:-1].split(b"\n")


def read_lake(lake: Path) -> list[tuple[dict, bytes]]:
    """Every line with its truth; fails unless each line has exactly one."""
    pairs = []
    for truth_file in sorted((lake / "truth").glob("day=*/truth.ndjson")):
        folder = lake / "logs" / truth_file.parent.name
        lines = {(p.name, n): line for p in folder.iterdir() for n, line in enumerate(read_lines(p), start=1)}
        truths = [json.loads(line) for line in truth_file.read_text("ascii").splitlines()]
        assert [(t["file"], t["line"]) for t in truths] == sorted(lines)
        assert {f"day={t['day']}" for t in truths} <= {folder.name}
        pairs += [(t, lines[t["file"], t["line"]]) for t in truths]
    return pairs


def files_of(lake: Path) -> dict[str, bytes]:
    return {p.relative_to(lake).as_posix(): p.read_bytes() for p in sorted(lake.rglob("*")) if p.is_file()}


def micros(day: date, hours: int) -> int:
    return int((datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(hours=hours)).timestamp()) * 1_000_000


def records_of(pairs) -> list[tuple[dict, Record]]:
    """(truth, record) of every line that is a record."""
    return [(t, parse_record(line)) for t, line in pairs if t["kind"] != "malformed"]


def letters(record) -> int:
    return sum(c.isascii() and c.isalpha() for c in record.moves)


def mismatches(game, record) -> set[str]:
    """Which of the claims that every game has are not what the replayed game, of any kind, came to."""
    outcome = game.outcome()
    reasons = {"score_mismatch"} if outcome.score != record.score else set()
    reasons |= {"combo_mismatch"} if outcome.best_combo != record.best_combo else set()
    reasons |= {"board_mismatch"} if game.board_equals(record.final_board) != BOARD_EQUAL else set()
    return reasons


def beyond_limits(challenge, record) -> set[str]:
    """What a daily challenge's limits forbid: a fourth attempt, a game outside its day, an upload three days late."""
    reasons = {"attempt_limit"} if record.attempt not in (1, 2, 3) else set()
    opens, closes = micros(challenge.date, -14), micros(challenge.date, 36)
    if not opens <= record.started_at < closes or record.uploaded_at > closes + 3 * 24 * 3600 * 1_000_000:
        reasons.add("outside_challenge_day")
    return reasons


def game_of(record) -> Game:
    """The record's game, replayed to its end or first fault under its own rules."""
    rules = RULEBOOK.find("blocks", record.rules)
    deal = CHALLENGES.find("blocks", record.challenge).deal(rules)
    game = Game(rules, deal, record.moves.encode("utf-8"), record.mode)
    game.run()
    return game


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("simulated")
    run(folder)
    return folder


@pytest.fixture(scope="module")
def pairs(lake):
    return read_lake(lake)


@pytest.fixture(scope="module")
def records(pairs):
    return records_of(pairs)


def test_same_seed_same_bytes_whatever_the_threads(lake, tmp_path):
    run(tmp_path / "again", threads=1)
    assert files_of(lake) == files_of(tmp_path / "again")
    run(tmp_path / "other", rng_seed=21)
    assert files_of(lake) != files_of(tmp_path / "other")


def test_a_days_games_do_not_depend_on_the_other_days(pairs, tmp_path):
    run(tmp_path, [DAYS[1]])
    alone = {line for _, line in read_lake(tmp_path)}
    both = {line for _, line in pairs}
    assert alone < both
    assert len(both) == len(pairs) == 2 * len(alone)


def test_summary_and_progress_count_the_lines(tmp_path):
    told: list[int] = []
    summary = run(tmp_path, lines=300, progress=told.append)
    pairs = read_lake(tmp_path)
    assert sum(told) == summary.records == len(pairs) == 2 * 300
    assert summary.kinds == Counter(t["kind"] for t, _ in pairs)
    assert sum(figures.games for figures in summary.skills.values()) == summary.kinds["honest"] + summary.kinds["unfinished"]
    assert [p for p in summary.files + summary.truth_files if not p.is_file()] == []
    assert summary.players > 100


def test_truth_stays_out_of_the_logs_and_all_formats_occur(lake):
    names = [p.name for p in (lake / "logs").rglob("*") if p.is_file()]
    assert {name.split(".", 1)[1] for name in names} == set(FORMATS)
    assert not [name for name in names if "truth" in name]


def test_records_pass_the_field_rules_and_malformed_lines_do_not(pairs):
    for truth, line in pairs:
        if truth["kind"] == "malformed":
            with pytest.raises(MalformedRecord):
                parse_record(line)
            assert (truth["expected_verdict"], truth["expected_reasons"]) == ("quarantined", [])
        else:
            assert parse_record(line).game_id == truth["game_id"]


def test_honest_games_replay_to_their_claims(records):
    checked = Counter()
    for truth, record in records:
        if truth["expected_verdict"] not in ("verified", "copy"):
            continue
        game = game_of(record)
        outcome = game.outcome()
        assert outcome.fault is None
        assert (outcome.score, outcome.best_combo) == (record.score, record.best_combo)
        assert game.board_equals(record.final_board) == BOARD_EQUAL
        assert outcome.finished == (truth["kind"] != "unfinished")
        assert ("unfinished" in truth["expected_suspicions"]) == (not outcome.finished)
        checked[record.mode, record.rules] += 1
        checked["continued"] += "*" in record.moves
        checked["spaced"] += " " in record.moves
        checked["padded"] += record.final_board.startswith("8/")
    for what in [("daily", "1.2.0"), ("training", "1.2.0"), ("arena", "1.2.0"), ("daily", "1.1.0")]:
        assert checked[what], what
    assert checked["continued"]
    assert checked["spaced"]
    assert checked["padded"]


def test_every_kind_and_variant_of_forgery_is_there(records, pairs):
    seen = {(t["kind"], t["variant"]) for t, _ in pairs}
    assert {(v.kind, v.name) for v in forgeries.variants_of("blocks")} <= seen
    assert {("copy", how) for how in ("same_id", "new_id", "spaced")} <= {(t["kind"], t["variant"]) for t, _ in pairs}
    reasons = {reason for t, _ in records for reason in t["expected_reasons"]}
    assert reasons == set(forgeries.REASONS) - {"level_mismatch", "lines_mismatch"}
    for truth, _ in records:
        assert (truth["expected_verdict"] == "flagged") == bool(truth["expected_reasons"])
        assert truth["expected_reasons"] == sorted(truth["expected_reasons"], key=forgeries.REASONS.index)


def claim_reasons(record) -> set[str]:
    """What the claims, the log, the rules, the name and the times say by themselves, written from the rules."""
    rules = RULEBOOK.find("blocks", record.rules)
    challenge = CHALLENGES.find("blocks", record.challenge)
    if rules is None or challenge is None:
        return {name for name, found in (("unknown_rules", rules), ("unknown_challenge", challenge)) if found is None}
    reasons = set()
    if not 0 <= record.score <= 7020 * sum(c in "abcdefghijk" for c in record.moves) or not 0 <= record.best_combo <= 6:
        reasons.add("impossible_score")
    game = game_of(record)
    outcome = game.outcome()
    if outcome.fault:
        reasons.add("illegal_move")
    else:
        reasons |= mismatches(game, record)
        if reasons and game.completes(record.score, record.best_combo, record.final_board):
            reasons.add("truncated_log")
    if challenge.date and (challenge.mode, challenge.rules) == (record.mode, record.rules):
        reasons |= beyond_limits(challenge, record)
    return reasons


def test_expected_reasons_follow_from_the_rules(records):
    """C2, B4, B9, B10: each claim by itself, logs cut short, clocks."""
    for truth, record in records:
        expected = set(truth["expected_reasons"]) - {"duplicate_attempt", "conflicting_upload"}
        assert claim_reasons(record) == expected, truth
        tokens = sum(c in "abcdefghijk*" for c in record.moves)
        fast = tokens >= 10 and record.finished_at - record.started_at < 200_000 * tokens
        assert ("superhuman_pace" in truth["expected_suspicions"]) == fast, truth


def test_illegal_moves_meet_the_fault_they_are_named_after(records):
    faults = {t["variant"]: game_of(r).outcome().fault.kind for t, r in records if t["kind"] == "illegal_move"}
    assert faults.pop("overlap_and_score") == "overlap"
    assert faults == {name: name for name in faults}
    assert len(faults) == 6


def content(record) -> tuple:
    moves = "".join(record.moves.split())
    return (
        record.game, record.mode, record.rules, record.challenge, record.player_id, record.attempt, moves, record.score,
        record.best_combo, record.final_board,
    )  # fmt: skip


def check_copies(records) -> None:
    """Of equal uploads of a game of ticks the first is no copy and the others are; a long log of another player is a copied one."""
    groups, owners = defaultdict(list), {}
    for truth, record in sorted(records, key=lambda pair: pair[1].uploaded_at):
        groups[content(record)].append(truth)
        if letters(record) < 30 or truth["kind"] == "copy":
            continue
        owner = owners.setdefault((record.challenge, "".join(record.moves.split())), record.player_id)
        assert ("copied_log" in truth["expected_suspicions"]) == (owner != record.player_id), truth
    for first, *others in groups.values():
        assert first["kind"] != "copy"
        assert [truth["kind"] for truth in others] == ["copy"] * len(others)


def test_copies_repeat_an_earlier_upload_and_nothing_else_does(records):
    """B7 a, b: the same content again, under the same game_id or a new one."""
    groups = defaultdict(list)
    for truth, record in records:
        groups[content(record)].append((record.uploaded_at, truth))
    for uploads in groups.values():
        first, *others = [truth for _, truth in sorted(uploads, key=lambda pair: pair[0])]
        assert first["kind"] != "copy"
        assert [truth["kind"] for truth in others] == ["copy"] * len(others)
    assert sum(len(uploads) - 1 for uploads in groups.values()) == round(0.01 * LINES) * len(DAYS)


def test_duplicates_and_conflicts_are_later_than_what_stands(records):
    """B7 c, d, e."""
    by_id, by_attempt = defaultdict(dict), defaultdict(dict)
    for truth, r in sorted(records, key=lambda pair: pair[1].uploaded_at):
        by_id[r.game_id].setdefault(content(r), (truth, r))
        challenge = CHALLENGES.find("blocks", r.challenge)
        if challenge and challenge.date and (challenge.mode, challenge.rules) == (r.mode, r.rules):
            log = "".join(r.moves.split())
            by_attempt[r.player_id, r.challenge, r.attempt].setdefault(log, (truth, r))
    conflicts, duplicates = set(), set()
    for games in by_id.values():
        several = len({r.player_id for _, r in games.values()}) > 1
        conflicts |= {(t["day"], t["file"], t["line"]) for t, _ in list(games.values())[0 if several else 1 :]}
    for games in by_attempt.values():
        duplicates |= {(t["day"], t["file"], t["line"]) for t, _ in list(games.values())[1:]}
    named = {
        reason: {(t["day"], t["file"], t["line"]) for t, _ in records if reason in t["expected_reasons"]}
        for reason in ("conflicting_upload", "duplicate_attempt")
    }
    assert conflicts == named["conflicting_upload"] != set()
    assert duplicates == named["duplicate_attempt"] != set()


def test_no_long_log_is_shared_but_by_copying(records):
    """C1: the later upload of another player's long log, and no other game."""
    owners: dict[tuple[str, str], str] = {}
    for truth, r in sorted(records, key=lambda pair: pair[1].uploaded_at):
        log = "".join(r.moves.split())
        if sum(c in "abcdefghijk*" for c in log) < 30 or truth["kind"] == "copy":
            continue
        owner = owners.setdefault((r.challenge, log), r.player_id)
        assert ("copied_log" in truth["expected_suspicions"]) == (owner != r.player_id), truth


def test_late_uploads_land_in_the_day_that_was_open_then(records):
    late = 0
    for truth, r in records:
        own = date.fromisoformat(r.challenge) if r.challenge in map(str, DAYS) else None
        if own is None:
            continue
        in_time = r.uploaded_at < micros(own, 36)
        one_night_later = r.uploaded_at < micros(own, 60)
        expected = own if in_time or own == DAYS[1] or not one_night_later else DAYS[1]
        assert truth["day"] == str(expected), truth
        late += truth["day"] != r.challenge
    assert late


def test_players_come_back_and_have_up_to_three_attempts(records):
    daily = [r for t, r in records if t["kind"] == "honest" and r.challenge in map(str, DAYS) and r.mode == "daily"]
    attempts = Counter(r.attempt for r in daily if r.rules == "1.2.0")
    assert set(attempts) == {1, 2, 3}
    assert attempts[1] > attempts[2] > attempts[3]
    seen = defaultdict(set)
    for r in daily:
        seen[r.player_id].add(r.challenge)
    assert sum(len(days) == 2 for days in seen.values()) > 50
    times = defaultdict(list)
    for r in daily:
        times[r.player_id, r.challenge, r.rules].append((r.attempt, r.started_at, r.finished_at))
    for games in times.values():
        games.sort()
        assert all(earlier[2] < later[1] for earlier, later in pairwise(games))


def test_players_are_of_many_places_and_some_are_ai():
    found = players.make_players(5, 3000)
    assert found[:1000] == players.make_players(5, 1000)
    assert len({p.player_id for p in found}) == 3000
    assert {None, "NA", "FR"} <= {p.nation for p in found}
    assert 10 <= sum(p.kind == "ai" for p in found) <= 60
    assert all((p.kind == "ai") == (bots.SKILLS[p.skill].name == "ai") for p in found)
    assert {p.platform for p in found} == set(players.PLATFORMS)
    assert [skill.name for skill in bots.SKILLS] == list(players.SKILL_SHARES)


def play(skill: str, games: int, deal_seed: int) -> list[bots.Played]:
    table = bots.Table(RULES, Deal(deal_seed, None, (0,) * 8), "test")
    return table.play([bots.Order(1000 * deal_seed + n, bots.SKILL_INDEX[skill], 0, 1000) for n in range(games)])


def test_better_bots_score_more():
    mean = {}
    for skill in bots.SKILLS:
        games = [game for deal in range(1, 7) for game in play(skill.name, 6 if skill.depth == 2 else 30, deal)]
        mean[skill.name] = sum(game.score for game in games) / len(games)
    order = ["beginner", "casual", "regular", "advanced", "expert", "ai"]
    assert sorted(mean, key=mean.__getitem__) == order


def test_games_have_about_85_moves(tmp_path):
    days = [date(2026, 10, 2) + timedelta(days=9 * n) for n in range(12)]
    summary = run(tmp_path, days, 120, forged_share=0.0)
    assert 60 <= summary.moves / summary.records <= 110
    assert set(summary.kinds) <= {"honest", "unfinished", "copy"}
    assert summary.kinds["unfinished"] <= 0.02 * summary.records


def test_an_old_day_is_played_under_its_old_rules(tmp_path):
    run(tmp_path, [date(2026, 9, 15)], 60, forged_share=0.0)
    for truth, line in read_lake(tmp_path):
        record = parse_record(line)
        if record.challenge == "2026-09-15" and truth["kind"] == "honest" and record.rules == "1.1.0":
            outcome = game_of(record).outcome()
            assert (outcome.score, outcome.fault) == (record.score, None)


def test_bots_walk_away_and_continue_in_training():
    table = bots.Table(RULES, Deal(3, None, (0,) * 8), "test")
    quitter, stayer = table.play([bots.Order(5, 4, 0, 10), bots.Order(6, 0, 1, 1000)])
    assert (quitter.tokens, quitter.finished) == (10, False)
    assert stayer.moves.count("*") == 1
    assert stayer.finished
    outcome = replay(RULES, Deal(3, None, (0,) * 8), stayer.moves, "training")
    assert (outcome.score, outcome.moves, outcome.finished) == (stayer.score, stayer.tokens, True)
    assert outcome.board == bots.board_text(stayer.board)


def test_bots_start_from_a_start_board():
    start = (0b00011111, 0, 0, 0, 0, 0, 0, 0b11100000)
    game = bots.Table(RULES, Deal(9, None, start), "test").play([bots.Order(1, 3, 0, 1000)])[0]
    outcome = replay(RULES, Deal(9, None, start), game.moves, "daily")
    assert (outcome.score, outcome.best_combo, outcome.board) == (game.score, game.best_combo, bots.board_text(game.board))


def test_board_text_padded_means_the_same():
    board = 0xFF << 40 | 1 << 63
    assert bots.board_text(board) == "########/8/7#"
    assert bots.board_text(board, padded=True) == "8/8/8/8/8/########/8/7#"
    assert (bots.board_text(0), bots.board_text(0, padded=True)) == ("-", "8/8/8/8/8/8/8/8")


def test_unreadable_boards_are_unreadable(records):
    boards = {r.final_board: game_of(r) for t, r in records if t["variant"] == "unreadable"}
    assert boards
    assert all(game.board_equals(board) == BOARD_UNREADABLE for board, game in boards.items())


def test_uncompiled_bots_play_the_same_game():
    code = (
        "from replay import bots; from replay.rulebook import load_rulebook; from engine.blocks.single import Deal\n"
        "table = bots.Table(load_rulebook().find('blocks', '1.2.0'), Deal(2, None, (0,) * 8), 'test')\n"
        "print([tuple(game) for game in table.play([bots.Order(7, 0, 1, 12), bots.Order(8, 5, 0, 3)])])"
    )
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(BUILT_IN.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    table = bots.Table(RULES, Deal(2, None, (0,) * 8), "test")
    assert done.stdout.strip() == str([tuple(g) for g in table.play([bots.Order(7, 0, 1, 12), bots.Order(8, 5, 0, 3)])])
    assert done.stderr == ""


def test_importing_the_simulation_imports_no_compiler():
    code = "import sys, replay.simulate; print([m for m in ('numba', 'numpy', 'pyarrow') if m in sys.modules])"
    env = {**os.environ, "PYTHONPATH": str(BUILT_IN.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_has_landed_is_never_changed(tmp_path):
    folder = tmp_path / "logs" / f"day={DAYS[0]}"
    folder.mkdir(parents=True)
    (folder / "a.ndjson").write_text("{}\n")
    with pytest.raises(UsageError, match="landed here already"):
        run(tmp_path)
    assert files_of(tmp_path) == {f"logs/day={DAYS[0]}/a.ndjson": b"{}\n"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"days": []}, "at least one"),
        ({"lines": 0}, "at least one"),
        ({"forged_share": 0.6}, "forged_share is 0.6"),
        ({"others": {"tetromino": 1.5}}, "tetromino was given the share 1.5"),
        ({"others": {"blocks": 0.5}}, "must be another game than blocks"),
        ({"others": {"chess": 0.5}}, "game 'chess' has no bots"),
        ({"formats": ["csv"]}, "formats are csv"),
        ({"days": [date(2031, 1, 1)]}, "no blocks challenge for 2031-01-01"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(tmp_path, change, message):
    with pytest.raises(UsageError, match=message):
        run(tmp_path, **change)
    assert list(tmp_path.iterdir()) == []


def test_deals_that_bots_cannot_play_are_refused(tmp_path):
    row = CHALLENGES.find("blocks", str(DAYS[0]))
    listed = ChallengeTable({("blocks", row.challenge): replace(row, pieces="O O O O")})
    with pytest.raises(UsageError, match="seeded deals only"):
        run(tmp_path, [DAYS[0]], challenges=listed)
    text = (BUILT_IN / "blocks" / "1.2.0.toml").read_text("utf-8").replace("width = 8", "width = 9")
    (tmp_path / "1.2.0.toml").write_text(text, "utf-8")
    with pytest.raises(UsageError, match="9 x 8 board"):
        bots.Table(load_rules(tmp_path / "1.2.0.toml"), Deal(1, None, (0,) * 8), "2026-10-31")


def test_a_table_of_one_challenge_is_enough_and_so_is_one_line(tmp_path):
    row = CHALLENGES.find("blocks", str(DAYS[0]))
    alone = ChallengeTable({("blocks", row.challenge): row})
    assert run(tmp_path / "small", [DAYS[0]], 50, challenges=alone, forged_share=0.1).records == 50
    assert run(tmp_path / "one", [DAYS[0]], 1, challenges=alone).records == 1
    assert run(tmp_path / "gz", [DAYS[0]], 30, formats=["ndjson.gz"]).files[0].name.endswith(".ndjson.gz")
