"""Tetromino Arcade compiled: equal to the interpreted engine to the last field, in any order, company, thread and process (B2)."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numba
import numpy as np
import pytest

from engine import words
from engine.batch import BatchResult, TextColumn
from engine.outcome import BAD_TOKEN, BOARD_DIFFERS, BOARD_EQUAL, BOARD_UNREADABLE, END
from engine.tetromino import batch_kernel, text
from engine.tetromino.batch import BatchReplayer
from engine.tetromino.notation import count_tokens
from tests.engine.batch_digest import result_bytes
from tests.engine.random_tetromino import make_games
from tests.engine.support import text_column
from tests.engine.test_blocks_batch import ROOT, clean_environment
from tests.engine.tetromino_support import Case, batch_rows, interpreted, opened, replay_batch, rules
from tests.reference import tetromino as twin

RULES = rules()
CASES = [played.case for played in make_games(random.Random("tetromino batch"), 240)]


def columns(cases: list[Case]) -> tuple[TextColumn, np.ndarray, TextColumn]:
    """What ``BatchReplayer.replay`` takes before ``select``."""
    return text_column([case.log for case in cases]), np.arange(len(cases)), text_column([case.claim for case in cases])


def replayer(cases: list[Case]) -> BatchReplayer:
    return BatchReplayer(RULES, [case.deal(RULES) for case in cases], [case.mode for case in cases])


def empty(games: int) -> BatchResult:
    return BatchResult.empty(games, RULES.height)


def taken(out: BatchResult, order: list[int]) -> bytes:
    """The entries of some games, in an order, as bytes."""
    return result_bytes(BatchResult(**{field.name: getattr(out, field.name)[order] for field in fields(out)}))


def run_digest(games: int, **environment: str) -> list[str]:
    """Hash and bounds check of a fresh process, which also compares the two engines."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.engine.tetromino_digest", str(games)],
        cwd=ROOT, env=clean_environment() | {"PYTHONPATH": str(ROOT)} | environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_compiled_equals_interpreted_to_the_last_field() -> None:
    out = replay_batch(RULES, CASES)
    for at, (case, got) in enumerate(zip(CASES, batch_rows(out), strict=True)):
        assert got == interpreted(RULES, case), f"state: {case}"
        log, game = case.log, opened(RULES, case)
        game.run()
        assert out.received[at] == count_tokens(log.decode("latin-1")) == text.count_letters(log, 0, len(log))[0]
        assert out.board[at] == game.board_equals(case.claim.decode("utf-8", "surrogateescape")), f"state: {case}"
        assert out.log_hash[at].tolist() == list(words.hash_log(log, 0, len(log), False))
    # A batch in which every game ended in the same way would prove little.
    assert len(set(out.status.tolist())) >= 5
    assert {END, BAD_TOKEN} < set(out.status.tolist())
    assert set(out.board.tolist()) == {BOARD_EQUAL, BOARD_DIFFERS, BOARD_UNREADABLE}
    assert len(set(out.level.tolist())) > 5


def test_b2_any_order_and_any_company() -> None:
    """G1 G2 G3 as G3 G1 G2 G1: what a game yields depends on nothing that was replayed before it."""
    alone = replay_batch(RULES, CASES)
    for seed in range(3):
        order = random.Random(seed).choices(range(len(CASES)), k=2 * len(CASES))
        assert result_bytes(replay_batch(RULES, [CASES[at] for at in order])) == taken(alone, order)


def test_b2_a_rescued_game_between_others() -> None:
    """Zen with its rescue, ultra with its end, a hold that stays full: none of it is left for the next game."""
    games = [Case(b"h" * 40, "zen", 5), Case(b"7199h1h", "ultra", 5), Case(b"ch", "battle", 5), Case(b"c", pieces="TI")]
    expected = [interpreted(RULES, case) for case in games]
    assert [row.finished for row in expected] == [False, True, False, False]
    order = [2, 0, 1, 0, 3, 2, 1, 3, 0]
    assert batch_rows(replay_batch(RULES, [games[at] for at in order])) == [expected[at] for at in order]
    assert [interpreted(RULES, games[at]) for at in order] == [expected[at] for at in order]


@pytest.mark.parametrize("workers", [1, 2, 16])
def test_b2_one_replayer_shared_by_threads(workers: int) -> None:
    whole = replay_batch(RULES, CASES)
    shared, out, arguments = replayer(CASES), empty(len(CASES)), columns(CASES)
    chunks = [np.arange(first, len(CASES), 3 * workers) for first in range(3 * workers)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda chunk: shared.replay(*arguments, chunk, out), chunks))
    assert result_bytes(out) == result_bytes(whole)


def test_select_writes_what_it_names_and_nothing_else() -> None:
    whole, out = replay_batch(RULES, CASES), empty(len(CASES))
    for field in fields(out):
        getattr(out, field.name)[:] = 77
    chosen = np.array([3, 239, 0, 150, 3])
    replayer(CASES).replay(*columns(CASES), chosen, out)
    rest = np.setdiff1d(np.arange(len(CASES)), chosen)
    for field in fields(out):
        found, right = getattr(out, field.name), getattr(whole, field.name)
        assert np.array_equal(found[chosen], right[chosen]), field.name
        assert (found[rest] == 77).all(), field.name


def test_an_empty_batch() -> None:
    out = empty(0)
    replayer([]).replay(*columns([]), np.arange(0), out)
    assert result_bytes(out) == b""
    out = empty(len(CASES))
    replayer(CASES).replay(*columns(CASES), np.arange(0), out)
    assert result_bytes(out) == result_bytes(empty(len(CASES)))


def test_boards_are_written_only_where_they_are_asked_for() -> None:
    out, narrow = replay_batch(RULES, CASES), BatchResult.empty(len(CASES))
    replayer(CASES).replay(*columns(CASES), np.arange(len(CASES)), narrow)
    assert narrow.rows.shape == (len(CASES), 0)
    assert taken(replace(out, rows=narrow.rows), list(range(len(CASES)))) == result_bytes(narrow)


def test_deals_and_modes_are_shared_by_index() -> None:
    """Many games on few challenges and modes: the index says which, in any order, listed and seeded ones mixed."""
    deals = [Case(b"", seed=5), Case(b"", pieces="TOI"), Case(b"", "ultra", 5), Case(b"", pieces="", start="J9"),
             Case(b"", "marathon/20", 2**64 - 1, start="J9")]  # fmt: skip
    which = [4, 0, 1, 1, 3, 2, 2, 0, 4]
    cases = [replace(deals[at], log=b"l2xh7199rh12cc") for at in which]
    out = empty(len(which))
    logs, _, boards = columns(cases)
    replayer(deals).replay(logs, np.array(which), boards, np.arange(len(which)), out)
    assert batch_rows(out) == [interpreted(RULES, case) for case in cases]


def test_a_log_ends_where_its_row_ends() -> None:
    """Neighbours in the buffer lengthen a number, complete a token or a board: none of it is read."""
    logs = [b"1", b"2h", b"12", b"", b"h", b"3 ", b"h", b"9" * 9, b"9h", b"5", b" ", b"c"]
    cases = [
        Case(log, pieces="TIO", claim=claim) for log in logs for claim in (b"J9", b"/10", b"9", b"", b"-", b"4T5/3TTT", b"4")
    ]
    assert batch_rows(replay_batch(RULES, cases)) == [interpreted(RULES, case) for case in cases]


# Long logs: bounded work.

TOKENS = 200_000


def test_a_log_of_200_000_inputs() -> None:
    """The most that a record may hold: O pieces in five columns of two, ten rows at a time, for ever."""
    inputs = ["llllh", "llh", "h", "rrh", "rrrrh"]
    log = "".join(inputs * (TOKENS // 17 + 1))
    log = log[: log.rindex("h", 0, TOKENS) + 1]
    locks = log.count("h")
    out = replay_batch(RULES, [Case(log.encode(), "zen", pieces="O" * (locks + 1)), Case(b"h", pieces="OO")])
    assert (int(out.status[0]), int(out.moves[0]), int(out.received[0])) == (END, len(log), len(log))
    # Every fifth lock empties the board with two lines.
    assert int(out.lines[0]) == 2 * (locks // 5)
    assert (int(out.score[1]), int(out.lines[1])) == (40, 0)
    # The same by the twin, on a stretch that it can walk.
    short = Case("".join(inputs * 13).encode(), "zen", pieces="O" * 70)
    expected = twin.play(twin.Game(short.mode, short.seed, short.pieces, short.start), short.log)
    assert batch_rows(replay_batch(RULES, [short])) == [expected]
    assert (expected.lines, expected.level) == (26, 3)


def test_a_million_of_anything() -> None:
    million = 10**6
    logs = [b"h", b" ", b"1", b"0h", b"l", b"x", b"d", b"c", b"\xff", b"30h", b"1 ", b"9"]
    cases = [Case(log * million, mode, 3) for log in logs for mode in ("marathon/20", "zen")]
    out = replay_batch(RULES, cases)
    found = {(case.log[:3].strip(), case.mode): (int(s), int(m)) for case, s, m in zip(cases, out.status, out.moves, strict=True)}
    assert found[b"hhh", "zen"] == (END, million)
    assert found[b"hhh", "marathon/20"][1] < 30
    assert found[b"lll", "marathon/20"] == found[b"xxx", "zen"] == found[b"ddd", "zen"] == (END, million)
    assert found[b"ccc", "zen"][1] == 1
    # The clock of a game ends after 24 hours: 172,800 inputs with half a second between them.
    assert found[b"30h", "zen"] == (BAD_TOKEN, 172_800)
    assert found[b"111", "zen"] == found[b"1 1", "zen"] == found[b"999", "zen"] == (BAD_TOKEN, 0)


def test_a_day_of_waiting() -> None:
    """Time is skipped: a zen game left alone for 24 hours, and games that topple over in a wait of years."""
    cases = [Case(b"5184000", mode, 11) for mode in ("zen", "marathon/1", "marathon/20", "beginner", "ultra", "sprint", "battle")]
    cases += [Case(b"999999999" + letter, mode, 11) for letter in (b"", b"h") for mode in ("zen", "marathon/1", "ultra")]
    found = batch_rows(replay_batch(RULES, cases))
    assert found == [interpreted(RULES, case) for case in cases]
    assert [row.finished for row in found[:7]] == [False, True, True, True, True, True, True]
    # Where the rules end the game before the clock does, the long wait is none of the log's faults.
    assert [row.fault and row.fault[0] for row in found[7:]] == ["bad_token", None, None, "bad_token", "after_end", "after_end"]


def test_a_log_hash_forgets_white_space_and_nothing_else() -> None:
    same = [b"12l3x 9h7", b"12l3x9h7", b"\n12l\t3x 9h7\r\n", b"12l\v3x\f9h7  "]
    other = [b"12l3x9h8", b"12l3x9h", b"12l3x9h70", b"", b"\x00", b"012l3x9h7"]
    hashes = [tuple(pair) for pair in replay_batch(RULES, [Case(log) for log in same + other]).log_hash.tolist()]
    assert len(set(hashes[: len(same)])) == 1
    assert len(set(hashes)) == 1 + len(other)


# Bounds and compilation.


@pytest.fixture(scope="module")
def reference_digest() -> str:
    return run_digest(90)[0]


def test_b2_fresh_processes(reference_digest: str) -> None:
    for seed in ("0", "271828"):
        assert run_digest(90, PYTHONHASHSEED=seed) == [reference_digest, "unchecked"]


def test_with_the_bounds_check_on(tmp_path_factory: pytest.TempPathFactory, reference_digest: str) -> None:
    """Normal, broken and mutated games: the same results, and no index beyond an array (numba would raise)."""
    cache = tmp_path_factory.mktemp("numba")
    assert run_digest(90, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(cache)) == [reference_digest, "checked"]


def test_with_compilation_off(reference_digest: str) -> None:
    assert run_digest(90, NUMBA_DISABLE_JIT="1") == [reference_digest, "checked"]


def test_code_without_reference_counts_can_make_no_array() -> None:
    """It would never be freed: numba refuses to compile such code, so none of a kernel can do it unseen."""

    def makes_one(numbers):  # type: ignore[no-untyped-def]
        return numbers.copy()[0]

    def looks_at_one(numbers):  # type: ignore[no-untyped-def]
        return numbers[1:][0]

    numbers = np.arange(3)
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    assert numba.njit(_nrt=False)(looks_at_one)(numbers) == 1
    # Said while it types or while it lowers, whichever comes first in this process.
    with pytest.raises(numba.core.errors.NumbaError, match="NRT required but not enabled"):
        numba.njit(_nrt=False)(makes_one)(numbers)
    assert not {"np", "numpy"} & set(vars(batch_kernel))


def test_read_only_memory() -> None:
    """Arrow's own memory may not be written, and is not."""
    cases = CASES[:40]
    logs, which, boards = columns(cases)
    out = empty(len(cases))
    for column in (logs, boards):
        column.data.flags.writeable = False
    replayer(cases).replay(logs, which, boards, np.arange(len(cases)), out)
    assert result_bytes(out) == result_bytes(replay_batch(RULES, cases))
