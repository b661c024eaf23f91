"""Locked pieces a second of the compiled Tetcolor kernel over logs of a careful player: notation, time, matches, bombs, falls."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import text_column
from benchmarks.timing import microseconds
from engine.batch import BatchResult
from engine.tetcolor import kernel as k
from engine.tetcolor import layout as at
from engine.tetcolor.batch import BatchReplayer
from engine.tetcolor.batch_kernel import BATCH
from engine.tetcolor.notation import token
from engine.tetcolor.rules import TetcolorRules
from engine.tetcolor.single import Game, make_deal, replay
from replay.rulebook import BUILT_IN

MODES = ("duo/arcade/normal", "duo/classic/crazy", "tetcolor/arcade/normal", "columns/arcade/normal", "retris/classic/normal")
GAMES_A_MODE, PIECES, COPIES = 40, 60, 40


def best_place(game: Game) -> list[str]:
    """The inputs that bring the piece in play to where most neighbours have its colours, low and without holes."""
    st, tables = game.st, game.rules.tables
    start, turn, found = (st[at.TURN], st[at.COLUMN], st[at.ROW]), st[at.TURN], []
    for presses in range(4):
        for column in range(game.width):
            if k.is_blocked(turn, start[2], column, game.params, tables, game.cols, st):
                continue
            st[at.TURN], st[at.COLUMN], st[at.ROW] = turn, column, start[2]
            st[at.ROW] += k.room_below(tables, game.cols, st)
            found.append((_worth(game), -abs(column - start[1]), presses, column))
        turn = tables[turn + at.T_CLOCKWISE]
    st[at.TURN], st[at.COLUMN], st[at.ROW] = start
    _, _, presses, column = max(found)
    shifts = column - start[1]
    return ["x"] * presses + ["l" if shifts < 0 else "r"] * abs(shifts)


def _worth(game: Game) -> int:
    cells = game.piece_cells
    worth = 0
    for (row, column), cell in cells.items():
        place = (row + at.TOP) * at.STRIDE + column + at.LEFT
        near = [game.board_cells[place + step] for step in (-17, -16, -15, -1, 1, 15, 16, 17)]
        worth += 3 * row + 4 * sum((other ^ cell) & at.COLOUR == 0 for other in near)
        below = (row + 1, column)
        hole = row + 1 < game.height and below not in cells and not game.board_cells[place + at.STRIDE]
        worth -= 8 * hole
    return worth


def play(rules: TetcolorRules, mode: str, seed: int, rng: random.Random) -> str:
    """The log of one game of at most PIECES pieces, with a player's pauses."""
    game = Game(rules, make_deal(rules, mode, seed, "", ""), b"", mode)
    log = ""
    while game.pieces_settled < PIECES and not game.finished:
        if game.piece is None:
            # Bombs went off: the first input of the next piece comes when it has entered.
            part = token(game.st[at.ENTER_AT] - game.clock, "x")
        else:
            inputs = [*best_place(game), "h", "h"]
            part = token(rng.randrange(8, 30), inputs[0])
            part += "".join(token(rng.randrange(2, 9), letter) for letter in inputs[1:-1])
            # Three pieces in ten are not confirmed but lock by themselves, and the next one is turned when it is there.
            part += token(24, "x") if rng.random() < 0.3 else token(rng.randrange(2, 9), "h")
        log += part
        game = game.fork(part.encode())
        game.run()
    return log


def run(threads: int) -> dict[str, float]:
    """Locked pieces a second in millions: ``replay`` the replay alone on one core, ``batch`` with hashes, token counts and the
    claimed board's comparison, ``all`` the same on ``threads`` cores, ``interpreted`` the same source interpreted, ``sum`` a bare
    sum over the logs' bytes (in pieces of the same logs), each of MODES alone; and ``tokens`` a piece."""
    from engine.tetcolor.rules import load_rules

    rules = load_rules(Path(BUILT_IN) / "tetcolor" / "1.0.0.toml")
    deals, modes, texts = [], [], []
    for index in range(GAMES_A_MODE * len(MODES)):
        mode = MODES[index % len(MODES)]
        deals.append(make_deal(rules, mode, index, "", ""))
        modes.append(mode)
        texts.append(play(rules, mode, index, random.Random(index)))
    single = len(texts)
    which = np.arange(len(texts) * COPIES) % single
    replayer = BatchReplayer(rules, deals, modes)
    claims = [replay(rules, deal, text, mode).board for deal, text, mode in zip(deals, texts, modes, strict=True)]
    logs, boards = text_column(texts * COPIES), text_column(claims * COPIES)
    # Not one mode after the other but as they come, so that no branch is learnt from the game before.
    order = np.random.default_rng(1).permutation(len(which))
    out = BatchResult.empty(len(which))
    replayer.replay(logs, which, boards, order, out)
    assert not out.board.any()
    room = replayer.room()
    replay_all = BATCH["replay_all"]

    def alone(part: Any = order) -> Any:
        return replay_all(logs.data, logs.starts, logs.ends, which, part, *replayer.deal_arguments(), *room)

    _, pieces = alone()
    pool = ThreadPoolExecutor(threads)
    parts = np.array_split(order, threads)
    few = range(0, single, 8)
    by_mode = {mode: order[order % len(MODES) == index] for index, mode in enumerate(MODES)}
    few_pieces = sum(text.count("h") for text in (texts[n] for n in few)) / 2
    return {
        "pieces_a_game": pieces / len(which),
        "tokens": float(out.moves.sum()) / pieces,
        **{mode: alone(part)[1] / microseconds(partial(alone, part)) for mode, part in by_mode.items()},
        "replay": pieces / microseconds(alone),
        "batch": pieces / microseconds(lambda: replayer.replay(logs, which, boards, order, out)),
        "all": pieces / microseconds(lambda: list(pool.map(lambda part: replayer.replay(logs, which, boards, part, out), parts))),
        "interpreted": few_pieces / microseconds(lambda: [replay(rules, deals[n], texts[n], modes[n]) for n in few], 3),
        "sum": pieces / microseconds(lambda: logs.data.sum(dtype=np.int64)),
    }
