"""Reading the golden games of Tetromino Arcade (golden/tetromino/scoring.txt says what a line holds) and the turns of SRS."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.engine.golden_games import fault_of, golden_lines
from tests.engine.tetromino_support import Case
from tests.reference.tetromino import Cell, Result

GAMES = Path(__file__).parent / "golden" / "tetromino"
KICKS = Path(__file__).parent / "golden" / "kicks" / "srs_kicks.txt"


@dataclass(frozen=True)
class Golden:
    """One game with its right answer; ``id`` is unique among all files."""

    id: str
    case: Case
    expected: Result


@dataclass(frozen=True)
class Turn:
    """One rotation: ``turn`` is "0R" and the like, ``test`` the test that succeeds, ``what`` the kind of place."""

    piece: str
    turn: str
    test: int
    what: str
    start: str
    before: str
    letter: str
    cells_before: frozenset[Cell]
    cells_after: frozenset[Cell]

    @property
    def id(self) -> str:
        return f"{self.piece}-{self.turn}-{self.test}-{self.what.replace(' ', '-')}"


def expand(text: str) -> str:
    """``{text}*n`` is the text n times; a space may follow the number."""
    return re.sub(r"\{([^{}]*)\}\*([0-9]+) ?", lambda found: found[1] * int(found[2]), text)


def _board(text: str) -> str:
    return expand(text).rstrip("/")


def read_golden(path: Path) -> list[Golden]:
    games = []
    for parts in golden_lines(path):
        name, version, mode, start, deal, log, score, combo, board, moves, finished, level, lines, fault = parts
        assert version == "1.0.0"
        words = expand(deal).split()
        seed, pieces = (int(words[1]), None) if words[0] == "seed" else (0, "".join(words))
        over = {"yes": True, "no": False}[finished]
        expected = Result(int(score), int(combo), _board(board), int(moves), over, fault_of(fault), int(level), int(lines))
        case = Case(expand(log).encode(), mode, seed, pieces, _board(start), _board(board).encode())
        games.append(Golden(name, case, expected))
    return games


def all_golden() -> list[Golden]:
    games = [game for path in sorted(GAMES.glob("*.txt")) for game in read_golden(path)]
    assert len({game.id for game in games}) == len(games), "an id stands twice"
    return games


def _cells(text: str) -> frozenset[Cell]:
    return frozenset((int(x), int(y)) for x, y in (cell.split(",") for cell in text.split()))


def read_turns() -> tuple[list[Turn], list[tuple[str, str, int]]]:
    """The rotations of the file, and the (piece, turn, test) that no position can show."""
    turns, never = [], []
    for line in KICKS.read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        head, *parts = (part.strip() for part in line.split("|"))
        piece, turn, test, what = head.split(" ", 3)
        if what == "never":
            never.append((piece, turn, int(test)))
            continue
        start, before, letter, cells_before, cells_after = parts
        turns.append(Turn(piece, turn, int(test), what, start, before, letter, _cells(cells_before), _cells(cells_after)))
    return turns, never
