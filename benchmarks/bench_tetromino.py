"""Inputs a second of the compiled Tetromino Arcade kernel over logs of a careful player: notation, time, kicks, points."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import text_column
from benchmarks.tetromino_games import play
from benchmarks.timing import microseconds
from engine.batch import BatchResult
from engine.tetromino.batch import BatchReplayer
from engine.tetromino.batch_kernel import BATCH
from engine.tetromino.rules import load_rules
from engine.tetromino.single import make_deal, replay
from replay.rulebook import BUILT_IN

MODES = ("marathon/1", "marathon/5", "battle", "ultra", "zen")
GAMES, PIECES, COPIES = 200, 150, 20
DAY_IN_TICKS = 5_184_000


def run(threads: int) -> dict[str, float]:
    """Inputs a second in millions: ``replay`` the replay alone on one core, ``batch`` with hashes, token counts and the claimed
    board's comparison, ``all`` the same on ``threads`` cores, ``interpreted`` the same source interpreted, ``sum`` a bare sum
    over the logs' bytes (in inputs of the same logs).  ``day`` are the seconds of a game left alone for 24 hours, ``longest``
    those of 200,000 hard drops, the most inputs of a record."""
    rules = load_rules(Path(BUILT_IN) / "tetromino" / "1.0.0.toml")
    modes = [MODES[index % len(MODES)] for index in range(GAMES)]
    deals = [make_deal(rules, mode, index, "", "") for index, mode in enumerate(modes)]
    texts = [play(rules, index, mode, PIECES) for index, mode in enumerate(modes)]
    outcomes = [replay(rules, deal, text, mode) for deal, text, mode in zip(deals, texts, modes, strict=True)]
    logs, boards = text_column(texts * COPIES), text_column([outcome.board for outcome in outcomes] * COPIES)
    which = np.arange(GAMES * COPIES) % GAMES
    # Not one mode after the other but as they come, so that no branch is learnt from the game before.
    order = np.random.default_rng(1).permutation(len(which))
    replayer, out = BatchReplayer(rules, deals, modes), BatchResult.empty(len(which))
    replayer.replay(logs, which, boards, order, out)
    assert not out.board.any()
    assert out.score[:GAMES].tolist() == [outcome.score for outcome in outcomes]
    inputs = float(out.moves.sum())
    arguments = replayer.kernel_arguments()
    pool, parts, few = ThreadPoolExecutor(threads), np.array_split(order, threads), range(0, GAMES, 20)
    few_inputs = float(sum(outcomes[n].moves for n in few))
    return {
        "inputs_a_game": inputs / len(which),
        "bytes": len(logs.data) / inputs,
        "replay": inputs / microseconds(lambda: BATCH["replay_all"](logs.data, logs.starts, logs.ends, which, order, *arguments)),
        "batch": inputs / microseconds(lambda: replayer.replay(logs, which, boards, order, out)),
        "all": inputs / microseconds(lambda: list(pool.map(lambda part: replayer.replay(logs, which, boards, part, out), parts))),
        "interpreted": few_inputs / microseconds(lambda: [replay(rules, deals[n], texts[n], modes[n]) for n in few], 3),
        "sum": inputs / microseconds(lambda: logs.data.sum(dtype=np.int64)),
        "day": _alone(rules, str(DAY_IN_TICKS)),
        "longest": _alone(rules, "h" * 200_000),
    }


def _alone(rules: Any, log: str) -> float:
    """The seconds of one zen game, compiled."""
    replayer, out = BatchReplayer(rules, [make_deal(rules, "zen", 1, "", "")], ["zen"]), BatchResult.empty(1)
    zero = np.zeros(1, np.int64)
    return microseconds(lambda: replayer.replay(text_column([log]), zero, text_column(["-"]), zero, out), 3) / 1e6
