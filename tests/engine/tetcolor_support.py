"""What the tests of Tetcolor share: rules, cases, random games, and one case run through the engine's two ways."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import engine.tetcolor
from engine.batch import BatchResult
from engine.outcome import FAULT_NAMES, Outcome
from engine.tetcolor import layout as at
from engine.tetcolor import notation
from engine.tetcolor.batch import BatchReplayer
from engine.tetcolor.rules import TetcolorRules, load_rules
from engine.tetcolor.single import Deal, Game, make_deal
from tests.engine.support import replay_cases

RULES_FOLDER = Path(engine.tetcolor.__file__).parent
VERSION = "1.0.0"
EDGE_SEEDS = [0, 1, 2**32 - 1, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
SPACES = [" ", "\t", "\n", "\v", "\f", "\r", "  ", "\r\n"]


@cache
def rules() -> TetcolorRules:
    """The built-in rules file."""
    return load_rules(RULES_FOLDER / f"{VERSION}.toml")


@dataclass(frozen=True)
class Case:
    """One game to replay: ``pieces`` and ``start`` as a challenge writes them, ``claim`` the final board as uploaded."""

    log: bytes
    mode: str = "duo/classic/normal"
    seed: int = 0
    pieces: str = ""
    start: str = ""
    claim: bytes = b"-"

    def deal(self) -> Deal:
        return make_deal(rules(), self.mode, self.seed, self.pieces, self.start)

    def game(self) -> Game:
        """The interpreted game before its first token."""
        return Game(rules(), self.deal(), self.log, self.mode)


@dataclass(frozen=True)
class Result:
    """Everything that a replay says, of either engine."""

    score: int
    best_combo: int
    board: str
    moves: int
    finished: bool
    level: int
    fault: tuple[str, int] | None
    compared: int
    received: int


def interpreted(case: Case) -> Result:
    game = case.game()
    out: Outcome = game.run()
    fault = (out.fault.kind, out.fault.move) if out.fault else None
    compared = game.board_equals(case.claim.decode("utf-8", "surrogateescape"))
    received = notation.count_tokens(case.log.decode("latin-1"))
    level = at.NONE if out.level is None else out.level
    assert out.lines is None
    return Result(out.score, out.best_combo, out.board, out.moves, out.finished, level, fault, compared, received)


def replay_batch(cases: list[Case]) -> BatchResult:
    """All cases through the compiled engine, in one call."""
    out = BatchResult.empty(len(cases), at.MAX_WIDTH * at.MAX_HEIGHT)
    replayer = BatchReplayer(rules(), [case.deal() for case in cases], [case.mode for case in cases])
    return replay_cases(replayer, cases, out)


def batch_rows(cases: list[Case], out: BatchResult) -> list[Result]:
    rows = []
    for index, case in enumerate(cases):
        family = rules().family(case.mode)
        width, height = (family.width, family.height) if family else (0, 0)
        cells = [int(cell) for cell in out.rows[index]]
        board = notation.board_text([cells[r * width : (r + 1) * width] for r in range(height)])
        assert not any(cells[width * height :])
        status, moves = int(out.status[index]), int(out.moves[index])
        assert int(out.lines[index]) == at.NONE
        rows.append(
            Result(
                int(out.score[index]), int(out.best_combo[index]), board, moves, bool(out.finished[index]),
                int(out.level[index]), (FAULT_NAMES[status], moves) if status else None, int(out.board[index]),
                int(out.received[index]),
            )
        )  # fmt: skip
    return rows


def both(case: Case) -> Result:
    """The interpreted result, after checking that the compiled one is the same."""
    result = interpreted(case)
    compiled = batch_rows([case], replay_batch([case]))[0]
    assert compiled == result, f"state: {case}\ninterpreted: {result}\ncompiled:    {compiled}"
    return result


def random_cells(rng: random.Random, width: int, height: int, share: float, special: float, colours: int = 5) -> list[list[int]]:
    """A board with cells of every kind, as the kernel's numbers."""

    def cell() -> int:
        if rng.random() >= share:
            return 0
        value = rng.randrange(1, colours + 1)
        if rng.random() < special:
            value |= rng.randrange(1, 8) << at.SPECIAL_SHIFT
        return value | (at.ICE if rng.random() < special / 2 else 0)

    return [[cell() for _ in range(width)] for _ in range(height)]


def random_start(rng: random.Random, mode: str) -> str:
    """A start board that a challenge may have: what would complete a run or a row is left out."""
    family = rules().family(mode)
    assert family is not None
    special = rng.choice([0, 0.1, 0.4])
    cells = random_cells(rng, family.width, family.height, rng.choice([0.3, 0.7, 0.95]), special)
    empty = rng.choice([3, 6, family.height // 2])
    for r in range(family.height):
        for c in range(family.width):
            if r < empty or (family.runs and _closes_run(cells, r, c, rules().run)):
                cells[r][c] = 0
        if all(cells[r]):
            cells[r][rng.randrange(family.width)] = 0
    return notation.board_text(cells)


def _closes_run(cells: list[list[int]], row: int, column: int, run: int) -> bool:
    """Whether the cell ends a run with cells before it in reading order."""
    colour = cells[row][column] & at.COLOUR
    for down, right in ((0, -1), (-1, -1), (-1, 0), (-1, 1)):
        length = 1
        r, c = row + down, column + right
        while r >= 0 and 0 <= c < len(cells[0]) and colour and cells[r][c] & at.COLOUR == colour:
            length += 1
            r, c = r + down, c + right
        if length >= run:
            return True
    return False


def random_pieces(rng: random.Random, mode: str) -> str:
    """Listed pieces with more specials than a draw has, sometimes too few of them."""
    family = rules().family(mode)
    assert family is not None
    shapes = (*family.pool, *family.expanded)
    colours, special = rng.choice([1, 2, 3, 5]), rng.choice([0, 0.2, 0.6])
    texts = []
    for _ in range(rng.choice([1, 2, 5, 20, 60])):
        shape = rng.choice(shapes)
        texts.append(notation.piece_text(shape, random_cells(rng, len(shape.cells), 1, 1, special, colours)[0]))
    return " ".join(texts)


def random_log(rng: random.Random, width: int, pieces: int) -> list[str]:
    """Tokens of so many pieces played somehow: turned, shifted, dropped by hand or by waiting."""
    tokens: list[str] = []
    pace = rng.choice([1, 5, 20])
    for _ in range(pieces):
        inputs = [rng.choice("xz")] * rng.randrange(4) + [rng.choice("lr")] * rng.randrange(width // 2 + 1)
        rng.shuffle(inputs)
        inputs += {0: ["h", "h"], 1: ["d"] * rng.randrange(8) + ["h", "h"], 2: ["h"], 3: ["h", rng.choice("lrxz"), "h", "h"]}[
            rng.randrange(4)
        ]
        for letter in inputs:
            tokens.append(notation.token(rng.randrange(pace + 1) if rng.random() < 0.6 else 0, letter))
        if rng.random() < 0.05:
            tokens.append(notation.token(rng.choice([23, 24, 30, 60, 90, 500, 3000]), rng.choice("lrxzdh")))
    return tokens


def mutated(rng: random.Random, log: bytes) -> bytes:
    """The log with a few bytes changed, left out or put in."""
    data = bytearray(log)
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(data) + 1)
        byte = rng.choice(b"lrxzdhLRcq0123456789 -*\t\xff\x00")
        action = rng.randrange(3)
        if action == 0:
            data.insert(place, byte)
        elif place < len(data):
            if action == 1:
                del data[place]
            else:
                data[place] = byte
    return bytes(data)


def random_case(rng: random.Random, mode: str) -> Case:
    """A game of a mode: seeded or listed, with or without a start board, honest or with a log that somebody broke."""
    family = rules().family(mode)
    assert family is not None
    tokens = random_log(rng, family.width, rng.choice([0, 1, 3, 10, 40]))
    glue = rng.choice(["", "", "", rng.choice(SPACES)])
    log = glue.join(tokens) + rng.choice(["", "", "7", "400", "99999 \n", "999999999"])
    case = Case(
        log.encode(), mode, rng.choice(EDGE_SEEDS) if rng.random() < 0.1 else rng.getrandbits(64),
        random_pieces(rng, mode) if rng.random() < 0.35 else "",
        random_start(rng, mode) if rng.random() < 0.35 else "",
    )  # fmt: skip
    if rng.random() < 0.3:
        case = replace(case, log=mutated(rng, case.log))
    return replace(case, claim=_claim(rng, case))


def _claim(rng: random.Random, case: Case) -> bytes:
    """The right board, spelt otherwise, or another one."""
    right = case.game().run().board.encode()
    kind = rng.randrange(6)
    if kind == 0:
        return mutated(rng, right)
    if kind == 1 and right != b"-":
        family = rules().family(case.mode)
        assert family is not None
        missing = family.height - right.count(b"/") - 1
        return b"/".join([b"%03d" % family.width] * missing + [right])
    return rng.choice([b"", b"-", b"1/1"]) if kind == 2 else right
