"""Moves a second of the compiled block puzzle kernel: notation parsed, legality checked, end of the game judged."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import microseconds
from engine.batch import BatchResult
from engine.blocks.batch import BatchReplayer
from engine.blocks.batch_kernel import BATCH
from engine.blocks.single import replay
from replay.challenges import load_challenges
from replay.ndjson import read_chunks, scan_chunk
from replay.rulebook import load_rulebook


def _honest(path: Path, games: int) -> Any:
    """A batch of a file's games, and which of them are of the daily challenge."""
    chunk = next(iter(read_chunks(path, chunk_bytes=games * 700)))
    return scan_chunk(chunk)


def run(path: Path, threads: int) -> dict[str, float]:
    """Moves a second in millions: ``replay`` the replay alone on one core, ``batch`` with hashes, token counts and the claimed
    board's comparison, ``all`` the same on ``threads`` cores, ``interpreted`` the same source interpreted, ``sum`` a bare sum
    over the logs' bytes (in moves of the same logs)."""
    batch = _honest(path, 60_000)
    challenge = load_challenges().find("blocks", "2026-10-31")
    rules = load_rulebook().find("blocks", "1.2.0")
    assert challenge is not None
    assert rules is not None
    deal = challenge.deal(rules)
    logs, boards = batch.texts["moves"], batch.texts["final_board"]
    replayer = BatchReplayer(rules, [deal], ["daily"], int((logs.ends - logs.starts).max()))
    zero = np.zeros(len(batch), np.int64)
    out = BatchResult.empty(len(batch))
    replayer.replay(logs, zero, boards, np.arange(len(batch)), out)
    # Games of the daily challenge whose claims come out: the others end early and would look fast.
    good = np.flatnonzero((out.status == 0) & (out.score == batch.numbers["score"]) & (out.board == 0))
    moves = float(out.moves[good].sum())
    replay_only = BATCH["replay_all"]
    tables = (*replayer.fast_arguments(), 0)

    def alone() -> None:
        assert replay_only(logs.data, logs.starts, logs.ends, good, *tables) == int(out.score[good].sum())

    def whole(part: Any = good) -> None:
        replayer.replay(logs, zero, boards, part, out)

    pool = ThreadPoolExecutor(threads)
    parts = np.array_split(good, threads)
    text = [batch.text("moves", int(row)) for row in good[:300]]
    few = float(out.moves[good[:300]].sum())
    size = logs.data[logs.starts[good[0]] : logs.ends[good[-1]]]
    return {
        "moves_a_game": moves / len(good),
        "replay": moves / microseconds(alone),
        "batch": moves / microseconds(whole),
        "all": moves / microseconds(lambda: list(pool.map(whole, parts))),
        "interpreted": few / microseconds(lambda: [replay(rules, deal, str(log), "daily") for log in text], 3),
        "sum": moves / microseconds(lambda: size.sum(dtype=np.int64)),
    }
