"""Reading the golden games; golden/worked.txt says what a line holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.engine.support import Case
from tests.reference.blocks import Result

FOLDER = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Golden:
    """One game with its right answer; ``id`` is unique among all files."""

    id: str
    version: str
    case: Case
    expected: Result


def _deal(text: str) -> tuple[int, tuple[str, ...] | None]:
    """``seed N``, or names of pieces in which ``O *3`` stands for ``O O O``."""
    words = text.split()
    if words[0] == "seed":
        return int(words[1]), None
    pieces: list[str] = []
    for word in words:
        if word.startswith("*"):
            pieces += [pieces[-1]] * (int(word[1:]) - 1)
        else:
            pieces.append(word)
    return 0, tuple(pieces)


def fault_of(text: str) -> tuple[str, int] | None:
    """``kind@move``, or ``-`` for none."""
    if text == "-":
        return None
    kind, index = text.split("@")
    return kind, int(index)


def golden_lines(path: Path) -> Iterator[list[str]]:
    """The parts of each line that holds a game."""
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield [part.strip() for part in line.split(" |")]


def read_golden(path: Path) -> list[Golden]:
    games = []
    for name, version, mode, start, deal, log, score, combo, board, moves, finished, fault in golden_lines(path):
        seed, pieces = _deal(deal)
        case = Case(log.encode(), mode, seed, pieces, start, board.encode())
        over = {"yes": True, "no": False}[finished]
        games.append(Golden(name, version, case, Result(int(score), int(combo), board, int(moves), over, fault_of(fault))))
    return games


def all_golden() -> list[Golden]:
    games = [game for path in sorted(FOLDER.glob("*.txt")) for game in read_golden(path)]
    assert len({game.id for game in games}) == len(games), "an id stands twice"
    return games
