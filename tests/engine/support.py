"""What the tests of the block puzzle share: rules on any board, cases, and one case run through the engine's two ways; and what
the tests of every game do alike: columns of texts, batches of cases, logs held against their hashes, chunks in processes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

import engine.blocks
from engine.batch import BatchResult, TextColumn
from engine.blocks.batch import BatchReplayer
from engine.blocks.kernel import MAX_SIDE
from engine.blocks.notation import start_rows
from engine.blocks.rules import BlocksRules, load_rules
from engine.blocks.single import Deal, Game
from engine.outcome import FAULT_NAMES
from engine.words import hash_log
from tests.reference import blocks as twin

RULES_FOLDER = Path(engine.blocks.__file__).parent
VERSIONS = ("1.2.0", "1.1.0")
SPACE = b" \t\n\v\f\r"
Found = TypeVar("Found")


@cache
def rules(version: str) -> BlocksRules:
    """One of the built-in rules files."""
    return load_rules(RULES_FOLDER / f"{version}.toml")


def rules_text(version: str = "1.2.0") -> str:
    return (RULES_FOLDER / f"{version}.toml").read_text("utf-8")


def replaced(text: str, pattern: str, replacement: str) -> str:
    """``text`` with the one line that matches replaced; an edit that hits nothing would test nothing."""
    changed, hits = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    assert hits == 1, f"{pattern!r} hits {hits} lines"
    return changed


def without_large_shapes(text: str, width: int, height: int) -> str:
    """The rules file without the shapes that are larger than the board."""
    head, shapes = text.split("[shapes]\n")
    kept = []
    for line in shapes.splitlines():
        drawing = re.search('"(.*)"', line)[1].split("/")
        if len(drawing) <= height and len(drawing[0]) <= width:
            kept.append(line)
    return f"{head}[shapes]\n" + "\n".join(kept) + "\n"


def write_rules(folder: Path, text: str, version: str = "1.2.0") -> BlocksRules:
    """Write a rules file (its name must be its version) and load it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{version}.toml"
    path.write_text(text, "utf-8")
    return load_rules(path)


def sized_rules(folder: Path, version: str, width: int, height: int) -> BlocksRules:
    """A built-in version on a board of another size."""
    text = replaced(rules_text(version), "^width = 8$", f"width = {width}")
    text = replaced(text, "^height = 8$", f"height = {height}")
    return write_rules(folder / f"{width}x{height}", without_large_shapes(text, width, height), version)


@dataclass(frozen=True)
class Case:
    """One game to replay: ``pieces`` are listed names or None for a seeded deal, ``claim`` the final board as uploaded."""

    log: bytes
    mode: str = "daily"
    seed: int = 0
    pieces: tuple[str, ...] | None = None
    start: str = "-"
    claim: bytes = b"-"

    def deal(self, rules: BlocksRules) -> Deal:
        pieces = None if self.pieces is None else tuple(rules.shape_index[name] for name in self.pieces)
        return Deal(self.seed, pieces, tuple(start_rows(self.start, rules)))


def by_twin(values: twin.Values, case: Case) -> twin.Result:
    pieces = None if case.pieces is None else list(case.pieces)
    return twin.replay(values, case.mode, case.log, case.seed, pieces, case.start)


def opened(rules: BlocksRules, case: Case) -> Game:
    """The interpreted game before its first token."""
    return Game(rules, case.deal(rules), case.log, case.mode)


def interpreted(rules: BlocksRules, case: Case) -> twin.Result:
    outcome = opened(rules, case).run()
    fault = (outcome.fault.kind, outcome.fault.move) if outcome.fault else None
    return twin.Result(outcome.score, outcome.best_combo, outcome.board, outcome.moves, outcome.finished, fault)


def text_column(texts: list[bytes]) -> TextColumn:
    """A column as Arrow lays it out: all bytes in one buffer."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64) if texts else np.zeros(0, np.int64)
    starts = ends - np.array([len(text) for text in texts], np.int64)
    return TextColumn(np.frombuffer(b"".join(texts), np.uint8).copy(), starts, ends)


class AnyCase(Protocol):
    """The case of any game."""

    @property
    def log(self) -> bytes: ...
    @property
    def claim(self) -> bytes: ...


class AnyReplayer(Protocol):
    """The batch replayer of any game."""

    def replay(
        self, logs: TextColumn, deal_index: np.ndarray, boards: TextColumn, select: np.ndarray, out: BatchResult
    ) -> None: ...


def replay_cases(replayer: AnyReplayer, cases: Sequence[AnyCase], out: BatchResult) -> BatchResult:
    """``out``, filled by one call for all cases of any game; the replayer knows the deal of each, in their order."""
    every = np.arange(len(cases))
    replayer.replay(text_column([case.log for case in cases]), every, text_column([case.claim for case in cases]), every, out)
    return out


def hash_faults(logs: Sequence[bytes], hashes: list[list[int]]) -> list[str]:
    """Logs have equal hashes exactly where they are equal but for white space, and the interpreted hash is the same."""
    faults: list[str] = []
    seen: dict[bytes, list[int]] = {}
    back: dict[tuple[int, ...], bytes] = {}
    for log, pair in zip(logs, hashes, strict=True):
        stripped = log.translate(None, SPACE)
        if seen.setdefault(stripped, pair) != pair or back.setdefault(tuple(pair), stripped) != stripped:
            faults.append(f"hash of {log!r}: {pair}, but {seen[stripped]} of {stripped!r} and {back.get(tuple(pair))!r}")
        if list(hash_log(log, 0, len(log), False)) != pair:
            faults.append(f"hash of {log!r} differs between the compiled and the interpreted engine")
    return faults


def check_chunks(check: Callable[[int], Found], chunks: Iterable[int], in_processes: bool) -> Iterator[Found]:
    """What ``check`` (importable by worker processes) finds in each numbered chunk, in their order."""
    if not in_processes:
        yield from map(check, chunks)
        return
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        yield from pool.map(check, chunks)


def replayer(rules: BlocksRules, cases: list[Case]) -> BatchReplayer:
    """A replayer that knows the deal of each case, in their order, laid out no further than its log can go."""
    deals, modes = [case.deal(rules) for case in cases], [case.mode for case in cases]
    return BatchReplayer(rules, deals, modes, [len(case.log) for case in cases])


def empty(games: int) -> BatchResult:
    """Room for results with their boards."""
    return BatchResult.empty(games, MAX_SIDE)


def replay_batch(rules: BlocksRules, cases: list[Case]) -> BatchResult:
    """All cases through the compiled engine, in one call."""
    return replay_cases(replayer(rules, cases), cases, empty(len(cases)))


def batch_rows(rules: BlocksRules, out: BatchResult) -> list[twin.Result]:
    """A batch's entries as the twin writes them."""
    rows = []
    for at in range(len(out.status)):
        cells = {(x, y) for y in range(rules.height) for x in range(rules.width) if int(out.rows[at, y]) >> x & 1}
        status, moves = int(out.status[at]), int(out.moves[at])
        rows.append(
            twin.Result(
                int(out.score[at]),
                int(out.best_combo[at]),
                twin.write_board(cells, rules.width, rules.height),
                moves,
                bool(out.finished[at]),
                (FAULT_NAMES[status], moves) if status else None,
            )
        )
    return rows


def compiled(rules: BlocksRules, case: Case) -> twin.Result:
    return batch_rows(rules, replay_batch(rules, [case]))[0]


def check_everywhere(rules: BlocksRules, values: twin.Values, case: Case, expected: twin.Result, name: str = "") -> None:
    """The twin, the interpreted and the compiled engine must all yield ``expected``."""
    found = {
        "slow twin": by_twin(values, case),
        "interpreted": interpreted(rules, case),
        "compiled": compiled(rules, case),
    }
    for who, got in found.items():
        assert got == expected, f"{name}: {who}\nstate: {case}\nexpected: {expected}\ngot:      {got}"
