"""The compiled batch of Tetcolor equals the interpreted game to the last field, whatever the order, company, thread or process."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from engine.batch import BatchResult
from engine.outcome import BOARD_DIFFERS, BOARD_EQUAL, BOARD_UNREADABLE, END, NO_SUCH_MODE
from engine.tetcolor import layout as at
from engine.tetcolor.batch import BatchReplayer
from engine.tetcolor.batch_kernel import BATCH
from engine.tetcolor.single import trace
from tests.engine.batch_digest import result_bytes
from tests.engine.support import text_column
from tests.engine.tetcolor_support import (
    Case,
    batch_rows,
    both,
    interpreted,
    random_case,
    random_log,
    replay_batch,
    rules,
)

ROOT = Path(__file__).parents[2]
NAMES = rules().mode_names
RNG = random.Random("batch")
CASES = [random_case(RNG, mode) for mode in NAMES for _ in range(4)]
EXPECTED = [interpreted(case) for case in CASES]


def taken(out: BatchResult, order: list[int]) -> bytes:
    """The entries of some games, in an order, as bytes."""
    return result_bytes(BatchResult(**{field.name: getattr(out, field.name)[order] for field in fields(out)}))


def test_every_selection_honest_and_mutated() -> None:
    for case, expected, got in zip(CASES, EXPECTED, batch_rows(CASES, replay_batch(CASES)), strict=True):
        assert got == expected, f"state: {case}\nexpected: {expected}\ngot:      {got}"


def test_the_games_are_worth_comparing() -> None:
    """Cascades, level-ups, ends, every fault and every kind of claim came up."""
    assert {result.fault[0] for result in EXPECTED if result.fault} == {"bad_token", "after_end", "deal_exhausted"}
    assert {result.compared for result in EXPECTED} == {BOARD_EQUAL, BOARD_DIFFERS, BOARD_UNREADABLE}
    assert max(result.best_combo for result in EXPECTED) >= 4
    assert sum(result.finished for result in EXPECTED) > 20
    assert sum(result.level > 1 for result in EXPECTED) > 3
    assert {result.finished for result in EXPECTED if result.fault is None} == {False, True}


def test_long_games_reach_the_expanded_pool() -> None:
    """Level 6 and beyond: 105 pieces, which a board of listed pieces that vanish lets pass."""
    rng = random.Random("long")
    cases = []
    for mode, piece in (("columns/classic/normal", "C:aaa"), ("tetcolor/arcade/normal/handicap", "I:bbb")):
        for extra in (0, 1, 7):
            count = 126 + extra
            log = "".join(rng.choice(["hh", "2h3h", "xxhh", "lh1h"]) for _ in range(count))
            cases.append(Case(log.encode(), mode, 3, " ".join([piece] * (count + 2)), claim=b"-"))
    found = batch_rows(cases, replay_batch(cases))
    assert found == [interpreted(case) for case in cases]
    assert [result.level for result in found] == [7] * 6


def test_b2_any_order_and_any_company() -> None:
    """G1 G2 G3 as G3 G1 G2 G1: what a game yields depends on nothing that was replayed before it."""
    alone = replay_batch(CASES)
    order = random.Random(1).choices(range(len(CASES)), k=2 * len(CASES))
    assert result_bytes(replay_batch([CASES[at_] for at_ in order])) == taken(alone, order)
    assert result_bytes(replay_batch(CASES)) == result_bytes(alone)


@pytest.mark.parametrize("workers", [1, 2, 16])
def test_b2_one_replayer_shared_by_threads(workers: int) -> None:
    whole = replay_batch(CASES)
    shared = BatchReplayer(rules(), [case.deal() for case in CASES], [case.mode for case in CASES])
    out = BatchResult.empty(len(CASES), at.MAX_WIDTH * at.MAX_HEIGHT)
    logs, claims = text_column([case.log for case in CASES]), text_column([case.claim for case in CASES])
    every = np.arange(len(CASES))
    chunks = [every[first :: 3 * workers] for first in range(3 * workers)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda chunk: shared.replay(logs, every, claims, chunk, out), chunks))
    assert result_bytes(out) == result_bytes(whole)


def run_digest(games: int, **environment: str) -> list[str]:
    """Hash and bounds check of a fresh process."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_") or key == "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.engine.tetcolor_digest", str(games)],
        cwd=ROOT, env=env | {"PYTHONPATH": str(ROOT)} | environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_b2_fresh_processes_a_bounds_check_and_no_compiler() -> None:
    """The same bytes with another hash seed, with every index checked, and with compilation off."""
    plain = run_digest(60, PYTHONHASHSEED="0")
    assert plain[1] == "unchecked"
    assert run_digest(60, PYTHONHASHSEED="271828") == plain
    checked = run_digest(60, NUMBA_BOUNDSCHECK="1")
    uncompiled = run_digest(60, NUMBA_DISABLE_JIT="1")
    assert checked == uncompiled == [plain[0], "checked"]


def test_select_writes_what_it_names_and_nothing_else() -> None:
    whole = replay_batch(CASES)
    out = BatchResult.empty(len(CASES), at.MAX_WIDTH * at.MAX_HEIGHT)
    for field in fields(out):
        getattr(out, field.name)[:] = 77
    chosen = np.array([3, 299, 0, 150, 3])
    replayer = BatchReplayer(rules(), [case.deal() for case in CASES], [case.mode for case in CASES])
    every = np.arange(len(CASES))
    logs, claims = text_column([case.log for case in CASES]), text_column([case.claim for case in CASES])
    replayer.replay(logs, every, claims, chosen, out)
    rest = np.setdiff1d(every, chosen)
    for field in fields(out):
        found, right = getattr(out, field.name), getattr(whole, field.name)
        if field.name != "lines":
            assert np.array_equal(found[chosen], right[chosen])
        assert (found[rest] == 77).all()


def test_deals_are_shared_by_index_and_mode() -> None:
    """Many games on few challenges; one challenge in two modes is two entries."""
    kinds = [Case(b"", "duo/arcade/normal", 5), Case(b"", "duo/arcade/crazy", 5), Case(b"", "columns/classic/relax8", 2**64 - 1)]
    which = [2, 0, 1, 1, 0, 2]
    cases = [replace(kinds[at_], log=b"lhhxhhrrhh90h") for at_ in which]
    out = BatchResult.empty(len(which), at.MAX_WIDTH * at.MAX_HEIGHT)
    replayer = BatchReplayer(rules(), [case.deal() for case in kinds], [case.mode for case in kinds], 99)
    logs, claims = text_column([case.log for case in cases]), text_column([case.claim for case in cases])
    replayer.replay(logs, np.array(which), claims, np.arange(len(which)), out)
    assert batch_rows(cases, out) == [interpreted(case) for case in cases]


def test_an_empty_batch_and_empty_logs() -> None:
    assert result_bytes(replay_batch([])) == b""
    cases = [Case(b"", mode) for mode in NAMES] + [Case(b" \n", NAMES[0])]
    for case, result in zip(cases, batch_rows(cases, replay_batch(cases)), strict=True):
        assert result == interpreted(case)
        assert (result.fault, result.moves, result.score, result.level, result.finished) == (None, 0, 0, 1, False)


MISSING_MODES = [
    "columns/classic/crazy", "columns/arcade/crazy/handicap", "duo/classic", "duo/classic/relax0", "duo/classic/relax9",
    "duo/classic/relax01", "duo/classic/relax", "Duo/classic/normal", "duo/classic/normal/", "duo/classic/normal/hard",
    "duo/classic/normal/handicap/handicap", "duo/modern/normal", "tetris/classic/normal", "", "/", " duo/classic/normal",
    "daily", "duo/handicap/normal", "retris/classic/normal/Handicap", "duo/arcade/relax1\n",
]  # fmt: skip


@pytest.mark.parametrize("mode", MISSING_MODES)
def test_a_mode_that_does_not_exist(mode: str) -> None:
    """no_such_mode at token 0, for an empty and an unreadable log too, before start board and pieces are looked at."""
    assert rules().has_mode(mode)
    for log in (b"", b"hh", b"?", b"999999999h"):
        case = Case(log, mode, pieces="no piece", start="no board", claim=b"-")
        result = both(case)
        assert result.fault == ("no_such_mode", 0)
        assert (result.score, result.best_combo, result.board, result.moves, result.finished) == (0, 0, "-", 0, False)
        assert (result.level, result.compared) == (at.NONE, BOARD_EQUAL)
        assert case.game().outcome().level is None
        assert repr(mode) in case.game().fault_text()
        assert both(replace(case, claim=b"a9")).compared == BOARD_UNREADABLE
        assert case.game().step() == NO_SUCH_MODE


def test_a_game_without_a_mode_leaves_nothing_to_the_next() -> None:
    cases = [CASES[0], Case(b"hh", "no/such/mode"), CASES[1], Case(b"", "nor/this/one"), CASES[0]]
    assert batch_rows(cases, replay_batch(cases)) == [interpreted(case) for case in cases]


def test_a_log_ends_where_its_row_ends() -> None:
    """Neighbours in the buffer would complete a number, a token or a cell: none of it is read."""
    logs = [b"1", b"2h", b"h", b"12", b"3", b"", b"h", b"4"]
    claims = [b"a", b"N", b"9/a", b"*", b"1", b"0", b"-", b"-"]
    cases = [Case(log, "columns/arcade/normal", 5, claim=claim) for log, claim in zip(logs, claims, strict=True)]
    assert batch_rows(cases, replay_batch(cases)) == [interpreted(case) for case in cases]


def test_a_million_inputs_and_the_longest_waits() -> None:
    """Bounded work: a million inputs that a game takes, that come after its end, and a wait of almost 24 hours."""
    for mode in ("duo/arcade/normal", "columns/classic/relax1", "retris/classic/crazy"):
        calm = both(Case(b"x" * 200_000, mode, 7))
        assert (calm.moves, calm.fault) == (200_000, None)
        after = both(Case(b"h" * 1_000_000, mode, 7))
        assert after.fault is not None and after.fault[0] == "after_end" and after.finished
        idle = both(Case(b"5184000", mode, 7))
        assert (idle.moves, idle.fault, idle.finished) == (0, None, True)


def test_the_sum_that_replays_alone() -> None:
    """What the benchmark times is the same replay."""
    replayer = BatchReplayer(rules(), [case.deal() for case in CASES], [case.mode for case in CASES])
    logs, every = text_column([case.log for case in CASES]), np.arange(len(CASES))
    score, pieces = BATCH["replay_all"](
        logs.data, logs.starts, logs.ends, every, every, *replayer.deal_arguments(), *replayer.room()
    )
    assert score == sum(result.score for result in EXPECTED)
    locked = 0
    for case in CASES:
        game = case.game()
        game.run()
        locked += game.pieces_settled
    assert pieces == locked


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.mode)
def test_the_trace_does_what_the_replay_does(case: Case) -> None:
    """Thing by thing or token by token: the same outcome, and the events add up to it."""
    game = case.game()
    events = list(trace(game))
    whole = case.game()
    assert game.outcome() == whole.run()
    assert (game.pos, game.last_token) == (whole.pos, whole.last_token)
    assert sum(event.kind == "input" for event in events) == game.moves
    assert sum(event.points for event in events) == game.score
    assert sum(event.kind == "lock" for event in events) == game.pieces_settled
    assert all(event.score <= game.score and event.level <= (game.level or 0) for event in events)
    settled = None
    for event in events:
        if settled is not None and event.kind in ("lock", "strike", "generation", "collapse"):
            assert event.before == settled, event
        settled = event.after
    if settled is not None:
        assert [list(row) for row in settled] == game.cells


def test_logs_of_play_are_honest() -> None:
    """What the random games are made of: no log that was not broken has a token that cannot be read."""
    rng = random.Random("honest")
    for mode in NAMES[::5]:
        family = rules().family(mode)
        assert family is not None
        result = both(Case("".join(random_log(rng, family.width, 30)).encode(), mode, rng.getrandbits(64)))
        assert result.fault is None or result.fault[0] == "after_end"
        assert END == 0
