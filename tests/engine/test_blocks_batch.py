"""The compiled batch: equal results in any order, company, thread and process (field case B2), nothing read out of bounds."""

from __future__ import annotations

import ast
import inspect
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from engine.batch import BatchResult, TextColumn, hash_logs
from engine.blocks import batch_kernel
from engine.blocks.batch import BatchReplayer
from engine.blocks.rules import BlocksRules
from engine.outcome import AFTER_END, BAD_TOKEN, BOARD_EQUAL, END
from tests.engine.batch_digest import result_bytes
from tests.engine.random_games import Setting, make_games
from tests.engine.support import (
    Case,
    batch_rows,
    by_twin,
    empty,
    interpreted,
    replay_batch,
    replayer,
    rules,
    rules_text,
    text_column,
    write_rules,
)
from tests.reference import blocks as twin

ROOT = Path(__file__).parents[2]
PLAYED = make_games(random.Random("batch"), Setting().values(), 300)
CASES = [game.case for game in PLAYED]
RULES = rules("1.2.0")


def columns(cases: list[Case]) -> tuple[TextColumn, np.ndarray, TextColumn]:
    """What ``BatchReplayer.replay`` takes before ``select``."""
    return (
        text_column([case.log for case in cases]),
        np.arange(len(cases)),
        text_column([case.claim for case in cases]),
    )


def taken(out: BatchResult, order: list[int]) -> bytes:
    """The entries of some games, in an order, as bytes."""
    return result_bytes(BatchResult(**{field.name: getattr(out, field.name)[order] for field in fields(out)}))


def clean_environment() -> dict[str, str]:
    """The environment without what this run was told about numba, its cache excepted."""
    return {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_") or key == "NUMBA_CACHE_DIR"}


def run_digest(games: int, **environment: str) -> list[str]:
    """Hash and bounds check of a fresh process."""
    env = clean_environment() | {"PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.engine.batch_digest", str(games)],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_b2_any_order_and_any_company() -> None:
    """G1 G2 G3 as G3 G1 G2 G1: what a game yields depends on nothing that was replayed before it."""
    alone = replay_batch(RULES, CASES)
    for seed in range(3):
        order = random.Random(seed).choices(range(len(CASES)), k=2 * len(CASES))
        mixed = replay_batch(RULES, [CASES[at] for at in order])
        assert result_bytes(mixed) == taken(alone, order)
    again = replay_batch(RULES, CASES)
    assert result_bytes(again) == result_bytes(alone)


def test_b2_a_training_game_with_a_continue_between_others() -> None:
    """The continue is used up in its own game only, and the interpreted engine forgets as well."""
    pieces = ("1", "1", "1")
    continued = Case(b"1a1 2b1 3c1 *", "training", pieces=pieces)
    refused = Case(b"1a1 2b1 3c1 **", "training", pieces=pieces)
    seeded = Case(b"1a1", seed=0)
    order = [continued, refused, seeded, continued, seeded, refused, continued]
    expected = [by_twin(twin.VALUES["1.2.0"], case) for case in order]
    assert batch_rows(RULES, replay_batch(RULES, order)) == expected
    assert [interpreted(RULES, case) for case in order] == expected


@pytest.mark.parametrize("workers", [1, 2, 16])
def test_b2_one_replayer_shared_by_threads(workers: int) -> None:
    whole = replay_batch(RULES, CASES)
    shared, out = replayer(RULES, CASES), empty(len(CASES))
    arguments = columns(CASES)
    chunks = [np.arange(first, len(CASES), 3 * workers) for first in range(3 * workers)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda chunk: shared.replay(*arguments, chunk, out), chunks))
    assert result_bytes(out) == result_bytes(whole)


def test_b2_fresh_processes() -> None:
    digests = {tuple(run_digest(10, PYTHONHASHSEED=seed)) for seed in ("0", "1", "271828")}
    assert len(digests) == 1


def test_select_writes_what_it_names_and_nothing_else() -> None:
    whole = replay_batch(RULES, CASES)
    out = empty(len(CASES))
    for field in fields(out):
        getattr(out, field.name)[:] = 77
    untouched = {field.name: getattr(out, field.name).copy() for field in fields(out)}
    chosen = np.array([3, 299, 0, 150, 3])
    replayer(RULES, CASES).replay(*columns(CASES), chosen, out)
    for field in fields(out):
        found, right = getattr(out, field.name), getattr(whole, field.name)
        if field.name in ("level", "lines"):
            # The block puzzle knows neither.
            assert np.array_equal(found, untouched[field.name])
            continue
        # Rows below the board are not the replay's to write.
        written = slice(RULES.height) if field.name == "rows" else ...
        assert np.array_equal(found[chosen].T[written], right[chosen].T[written])
        rest = np.setdiff1d(np.arange(len(CASES)), chosen)
        assert np.array_equal(found[rest], untouched[field.name][rest])


def test_an_empty_batch() -> None:
    out = empty(0)
    replayer(RULES, []).replay(*columns([]), np.arange(0), out)
    assert result_bytes(out) == b""
    # Games there are, none is chosen.
    out = empty(len(CASES))
    replayer(RULES, CASES).replay(*columns(CASES), np.arange(0), out)
    assert result_bytes(out) == result_bytes(empty(len(CASES)))


def test_empty_logs_of_every_kind_of_deal() -> None:
    cases = [Case(b""), Case(b"", pieces=("1",)), Case(b"", pieces=()), Case(b"", start="#7"), Case(b" \n")]
    found = batch_rows(RULES, replay_batch(RULES, cases))
    assert found == [by_twin(twin.VALUES["1.2.0"], case) for case in cases]
    assert [row.finished for row in found] == [False, False, True, False, False]


def test_deals_are_shared_by_index() -> None:
    """Many games on few challenges: the index says which, in any order, listed and seeded ones mixed."""
    deals = [Case(b"", seed=5), Case(b"", pieces=("O", "X", "1")), Case(b"", seed=2**64 - 1, start="#7")]
    which = [2, 0, 1, 1, 0, 2, 2]
    cases = [replace(deals[at], log=b"1b2 2e5 3a7 1a1") for at in which]
    batch = BatchReplayer(RULES, [case.deal(RULES) for case in deals], [case.mode for case in deals], 15)
    out = empty(len(which))
    logs, _, boards = columns(cases)
    batch.replay(logs, np.array(which), boards, np.arange(len(which)), out)
    assert batch_rows(RULES, out) == [by_twin(twin.VALUES["1.2.0"], case) for case in cases]


def test_one_length_for_all_deals_or_one_for_each() -> None:
    whole = replay_batch(RULES, CASES)
    deals = [case.deal(RULES) for case in CASES]
    for longest in (max(len(case.log) for case in CASES), [len(case.log) + at % 7 for at, case in enumerate(CASES)]):
        out = empty(len(CASES))
        BatchReplayer(RULES, deals, [case.mode for case in CASES], longest).replay(*columns(CASES), np.arange(len(CASES)), out)
        assert result_bytes(out) == result_bytes(whole)


def test_the_hash_of_a_log_that_is_not_replayed() -> None:
    """A log under unknown rules has the hash that it would have under known ones."""
    whole = replay_batch(RULES, CASES).log_hash
    logs = columns(CASES)[0]
    found = np.zeros_like(whole)
    hash_logs(logs, np.arange(1, len(CASES), 2), found)
    assert np.array_equal(found[1::2], whole[1::2])
    assert not found[::2].any()


# Arrow columns.


def arrow_column(array: pa.Array, offset_type: type, writable: bool) -> TextColumn:
    """Buffers and offsets of an Arrow text array, which may be a slice of a longer one."""
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, offset_type)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    text = np.frombuffer(data, np.uint8)
    return TextColumn(text.copy() if writable else text, bounds[:-1].copy(), bounds[1:].copy())


@pytest.mark.parametrize(("arrow_type", "offset_type"), [(pa.string(), np.int32), (pa.large_string(), np.int64)])
@pytest.mark.parametrize("writable", [True, False])
def test_arrow_slices(arrow_type: pa.DataType, offset_type: type, writable: bool) -> None:
    """A slice keeps the whole buffer, so its first byte is not the buffer's; Arrow's own memory is read-only."""
    ascii_only = [at for at, case in enumerate(CASES) if case.log.isascii() and case.claim.isascii()]
    cases = [CASES[at] for at in ascii_only]
    whole = replay_batch(RULES, cases)
    logs = pa.array([case.log.decode() for case in cases], arrow_type)
    claims = pa.array([case.claim.decode() for case in cases], arrow_type)
    for first, last in ((0, len(cases)), (7, len(cases)), (100, 101), (50, 170), (len(cases) - 1, len(cases))):
        part = cases[first:last]
        out = empty(len(part))
        replayer(RULES, part).replay(
            arrow_column(logs[first:last], offset_type, writable),
            np.arange(len(part)),
            arrow_column(claims[first:last], offset_type, writable),
            np.arange(len(part)),
            out,
        )
        assert result_bytes(out) == taken(whole, list(range(first, last)))


def test_a_log_ends_where_its_row_ends() -> None:
    """Neighbours in the buffer complete a token, make a row 1 into a row 10 or 11, or a board longer: none of it is read."""
    logs = [b"1a1", b"1", b"1a1", b"0", b"1a", b"1b2", b"1a1 ", b"2", b"", b"1a1", b"1b2", b"*"]
    cases = [Case(log, "training", pieces=("1",) * 9, claim=claim) for log in logs for claim in (b"#7", b"/8", b"8", b"")]
    found = batch_rows(RULES, replay_batch(RULES, cases))
    assert found == [by_twin(twin.VALUES["1.2.0"], case) for case in cases]
    seeded = [replace(case, pieces=None) for case in cases]
    assert batch_rows(RULES, replay_batch(RULES, seeded)) == [by_twin(twin.VALUES["1.2.0"], case) for case in seeded]


# Long logs.

TOKENS = 200_000


def single_cells(tmp_path: Path) -> BlocksRules:
    """Rules whose only piece is the single cell: a seeded deal, and a game that never ends."""
    text = rules_text()
    return write_rules(tmp_path, text[: text.index("[shapes]")] + '[shapes]\n1 = "#"\n')


def row_by_row(tokens: int) -> tuple[list[str], int]:
    """Cells a8 to h8 over and over, and the score: every eighth placement clears a line, paid with the streak of its turn."""
    names = [twin.write_token(1, at % 8, 7) for at in range(tokens)]
    clears = {at // 3 for at in range(7, tokens, 8)}
    score, streak, empty = 4 * tokens, 0, 0
    for turn in range(tokens // 3 + 1):
        if turn in clears:
            streak, empty = streak + 1, 0
            score += 80 * min(streak, 5)
        else:
            empty += 1
            if empty == 2:
                streak = empty = 0
    return names, score


@pytest.mark.parametrize("separator", ["", " ", "\n"])
def test_a_log_of_200_000_tokens(tmp_path: Path, separator: str) -> None:
    """The most that a record may hold, on the fast path (dense, one space) and off it."""
    tokens, score = row_by_row(TOKENS)
    loaded = single_cells(tmp_path)
    log = separator.join(tokens).encode()
    out = replay_batch(loaded, [Case(log, seed=9), Case(b"1a1"), Case(log, seed=9)])
    for at in (0, 2):
        assert (int(out.status[at]), int(out.score[at])) == (END, score)
        assert int(out.moves[at]) == int(out.received[at]) == TOKENS
        assert int(out.board[at]) == BOARD_EQUAL
    assert int(out.score[1]) == 4
    # The sum above by the twin, on a stretch that it can walk.
    short, short_score = row_by_row(600)
    values = replace(twin.VALUES["1.2.0"], shapes={"1": frozenset({(0, 0)})})
    assert twin.replay(values, "daily", separator.join(short).encode()).score == short_score


def test_a_long_log_that_breaks_at_its_last_token(tmp_path: Path) -> None:
    tokens, _ = row_by_row(TOKENS)
    loaded = single_cells(tmp_path)
    most = tokens[:-1]
    logs = [" ".join([*most, "1i8"]), "".join([*most, "1a"]), "".join(tokens) + "1", " ".join([*most, "4a8"])]
    out = replay_batch(loaded, [Case(log.encode()) for log in logs])
    assert out.moves.tolist() == [TOKENS - 1, TOKENS - 1, TOKENS, TOKENS - 1]
    assert [row.fault[0] for row in batch_rows(loaded, out)] == ["outside_board", "bad_token", "bad_token", "no_such_slot"]


def test_long_logs_that_mean_nothing() -> None:
    """Bounded work on a million of anything: a log stops at its first fault."""
    million = 10**6
    over = Case(b"1a1" * million, pieces=("O", "O", "O"), start="/".join(["#1#1#1#1", "1#1#1#1#"] * 4))
    logs = [b"*" * million, b" " * million, b"a" * million, b"1" * million, b"\xff" * million, b"1a0" * million]
    out = replay_batch(RULES, [Case(log) for log in logs] + [over])
    assert out.moves.tolist() == [0] * 7
    assert out.status.tolist()[1:] == [END, BAD_TOKEN, BAD_TOKEN, BAD_TOKEN, BAD_TOKEN, AFTER_END]
    assert out.received.tolist()[0] == million


def test_a_log_hash_forgets_white_space_and_nothing_else() -> None:
    same = [b"1a1 2b2 3c3 1d4 2e5 3f6", b"1a12b23c31d42e53f6", b"\n1a1\t2b2 3c3\r\n1d42e53f6 ", b"1a1\v2b2\f3c3 1d4 2e5  3f6"]
    other = [b"1a12b23c31d42e53f7", b"1a12b23c31d42e53f", b"1a12b23c31d42e53f6*", b"", b"\x00", b"\x00\x00", b"1a1", b"1b1",
             b"1a12b23c31d42e53f6\x00", b"2b21a13c31d42e53f6"]  # fmt: skip
    out = replay_batch(RULES, [Case(log) for log in same + other])
    hashes = [tuple(pair) for pair in out.log_hash.tolist()]
    assert len(set(hashes[: len(same)])) == 1
    assert len(set(hashes)) == 1 + len(other)
    # Whether the log was taken eight bytes at a time plays no part, whatever its length.
    for length in range(1, 30):
        dense, spaced = b"1a1" * length, b" ".join([b"1a1"] * length)
        pairs = replay_batch(RULES, [Case(dense), Case(spaced), Case(dense + b" ")]).log_hash.tolist()
        assert pairs[0] == pairs[1] == pairs[2]


# Bounds and compilation.


@pytest.fixture(scope="module")
def reference_digest() -> str:
    return run_digest(15)[0]


def test_with_the_bounds_check_on(tmp_path: Path, reference_digest: str) -> None:
    """Normal, broken and mutated games: the same results, and no index beyond an array (numba would raise)."""
    assert run_digest(15, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == [reference_digest, "checked"]


def test_with_compilation_off(reference_digest: str) -> None:
    assert run_digest(15, NUMBA_DISABLE_JIT="1") == [reference_digest, "checked"]


def test_only_parameters_are_borrowed() -> None:
    """An array that is made in a function is freed once its name is used no more, whoever has borrowed it by then."""
    for function in ast.parse(inspect.getsource(batch_kernel)).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        parameters = {argument.arg for argument in function.args.args}
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        borrowed = {call.args[0].id for call in calls if isinstance(call.func, ast.Name) and call.func.id == "_borrowed"}
        assert borrowed <= parameters, f"{function.name} borrows {sorted(borrowed - parameters)}"


FAKE_KERNEL = """
WORDS = ()
KERNEL = ("third",)
INLINE = ()


def third(numbers):
    return numbers[3] + {addend}
"""

FAKE_CALLER = """
import numpy as np

import fake_kernel
from engine.compiled import compile_function, compile_kernel, fingerprint

third = compile_kernel(fake_kernel)["third"]


def caller(numbers):
    return third(numbers)


print(compile_function(caller, fingerprint(fake_kernel))(np.arange(4)))
"""


def test_the_cache_knows_the_kernel_and_the_bounds_check(tmp_path: Path) -> None:
    """A kernel that changed must not stay as it was, nor code without the bounds check pass for code with it.

    Numba's cache by itself looks at nothing but the file of the calling function.
    """
    (tmp_path / "fake_caller.py").write_text(FAKE_CALLER, "utf-8")
    env = clean_environment() | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(numbers: int, **more: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "fake_kernel.py").write_text(FAKE_KERNEL.format(addend=numbers), "utf-8")
        return subprocess.run(
            [sys.executable, "-B", "fake_caller.py"], cwd=tmp_path, env=env | more, capture_output=True, text=True, check=False
        )

    assert [run(addend).stdout.strip() for addend in (1, 2, 1)] == ["4", "5", "4"]
    (tmp_path / "fake_caller.py").write_text(FAKE_CALLER.replace("arange(4)", "arange(4)[:3]"), "utf-8")
    assert run(1).returncode == 0
    assert "IndexError" in run(1, NUMBA_BOUNDSCHECK="1").stderr
