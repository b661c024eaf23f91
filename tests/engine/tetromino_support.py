"""What the tests of Tetromino Arcade share: the rules, cases, and one case run through the engine's two ways."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import engine.tetromino
from engine.batch import BatchResult
from engine.outcome import FAULT_NAMES
from engine.tetromino.batch import BatchReplayer
from engine.tetromino.rules import TetrominoRules, load_rules
from engine.tetromino.single import Deal, Game, make_deal
from tests.engine.support import replay_cases
from tests.reference import tetromino as twin

RULES_FOLDER = Path(engine.tetromino.__file__).parent


@cache
def rules() -> TetrominoRules:
    """The built-in rules file."""
    return load_rules(RULES_FOLDER / "1.0.0.toml")


@dataclass(frozen=True)
class Case:
    """One game to replay: ``pieces`` are listed ("TIO") or None for a seeded deal, ``claim`` is the final board as uploaded."""

    log: bytes
    mode: str = "marathon/1"
    seed: int = 0
    pieces: str | None = None
    start: str = "-"
    claim: bytes = b"-"

    def deal(self, loaded: TetrominoRules) -> Deal:
        pieces = "" if self.pieces is None else " ".join(self.pieces)
        return make_deal(loaded, self.mode, self.seed, pieces, self.start)


def by_twin(case: Case, game: type[twin.Game] = twin.Game) -> twin.Result:
    return twin.play(game(case.mode, case.seed, case.pieces, case.start), case.log)


def opened(loaded: TetrominoRules, case: Case) -> Game:
    """The interpreted game before its first token."""
    return Game(loaded, case.deal(loaded), case.log, case.mode)


def interpreted(loaded: TetrominoRules, case: Case) -> twin.Result:
    outcome = opened(loaded, case).run()
    fault = (outcome.fault.kind, outcome.fault.move) if outcome.fault else None
    return twin.Result(
        outcome.score, outcome.best_combo, outcome.board, outcome.moves, outcome.finished, fault, outcome.level, outcome.lines
    )


def replay_batch(loaded: TetrominoRules, cases: list[Case]) -> BatchResult:
    """All cases through the compiled engine, in one call, with the final boards."""
    out = BatchResult.empty(len(cases), twin.HEIGHT)
    replayer = BatchReplayer(loaded, [case.deal(loaded) for case in cases], [case.mode for case in cases])
    return replay_cases(replayer, cases, out)


def board_of(rows: list[int]) -> str:
    """The text of a board as a batch writes it: top row first, four bits a column from the left, 0 or the piece's number + 1."""
    cells = {}
    for y, row in enumerate(reversed(rows)):
        for x in range(twin.WIDTH):
            piece = row >> (4 * x) & 15
            if piece:
                cells[x, y] = twin.NAMES[piece - 1]
    return twin.write_board(cells)


def batch_rows(out: BatchResult) -> list[twin.Result]:
    """A batch's entries as the twin writes them."""
    rows = []
    for at, board in enumerate(out.rows.tolist()):
        status, moves = int(out.status[at]), int(out.moves[at])
        rows.append(
            twin.Result(
                int(out.score[at]),
                int(out.best_combo[at]),
                board_of(board),
                moves,
                bool(out.finished[at]),
                (FAULT_NAMES[status], moves) if status else None,
                int(out.level[at]),
                int(out.lines[at]),
            )
        )
    return rows


def compiled(loaded: TetrominoRules, case: Case) -> twin.Result:
    return batch_rows(replay_batch(loaded, [case]))[0]


def check_everywhere(case: Case, expected: twin.Result, name: str = "") -> None:
    """The twin, the interpreted and the compiled engine must all yield ``expected`` under the built-in rules."""
    found = {
        "slow twin": by_twin(case),
        "interpreted": interpreted(rules(), case),
        "compiled": compiled(rules(), case),
    }
    for who, got in found.items():
        assert got == expected, f"{name}: {who}\nstate: {case}\nexpected: {expected}\ngot:      {got}"
