"""Tetromino Arcade again, slowly: a dict of cells, one tick after the other, written from the rules alone.

It exists to disagree with the engine.  Nothing here is shared with it: shapes, kicks, gravity, random numbers, the reader of
logs and boards are all its own.  Source of every rule: document 000, and the project's decisions where it is silent.
A cell is ``(x, y)``: x 0 to 9 from the left, y 0 to 39 from the bottom.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import floor

Cell = tuple[int, int]

WIDTH, HEIGHT, VISIBLE, RESCUED_FROM = 10, 40, 20, 10
ROW = 65536
LOCK_DELAY, LOCK_RESETS = 30, 15
ULTRA_TICKS, SPRINT_LINES, LONGEST_TICKS = 7200, 40, 24 * 60 * 60 * 60
NAMES = "IJLOSTZ"

# Spawn orientations as they lie in their boxes; the other orientations are the box turned clockwise.
DRAWINGS = {
    "I": ["....", "####", "....", "...."],
    "J": ["#..", "###", "..."],
    "L": ["..#", "###", "..."],
    "O": ["##", "##"],
    "S": [".##", "##.", "..."],
    "T": [".#.", "###", "..."],
    "Z": ["##.", ".##", "..."],
}
# The lower left corner of the box at spawn: lowest cells in row 21 from the bottom (y = 20).
SPAWN = {"I": (3, 18), "O": (4, 20), "J": (3, 19), "L": (3, 19), "S": (3, 19), "T": (3, 19), "Z": (3, 19)}

# The kick tables of guideline SRS as the Tetris Wiki publishes them ("Super Rotation System", tetris.wiki): x to the right, y up.
KICKS_TEXT = {
    "JLSTZ": """
        0R  0,0  -1,0  -1,+1   0,-2  -1,-2
        R0  0,0  +1,0  +1,-1   0,+2  +1,+2
        R2  0,0  +1,0  +1,-1   0,+2  +1,+2
        2R  0,0  -1,0  -1,+1   0,-2  -1,-2
        2L  0,0  +1,0  +1,+1   0,-2  +1,-2
        L2  0,0  -1,0  -1,-1   0,+2  -1,+2
        L0  0,0  -1,0  -1,-1   0,+2  -1,+2
        0L  0,0  +1,0  +1,+1   0,-2  +1,-2
    """,
    "I": """
        0R  0,0  -2,0  +1,0  -2,-1  +1,+2
        R0  0,0  +2,0  -1,0  +2,+1  -1,-2
        R2  0,0  -1,0  +2,0  -1,+2  +2,-1
        2R  0,0  +1,0  -2,0  +1,-2  -2,+1
        2L  0,0  +2,0  -1,0  +2,+1  -1,-2
        L2  0,0  -2,0  +1,0  -2,-1  +1,+2
        L0  0,0  +1,0  -2,0  +1,-2  -2,+1
        0L  0,0  -1,0  +2,0  -1,+2  +2,-1
    """,
}
TURNS = "0R2L"
CLOCKWISE = {"0": "R", "R": "2", "2": "L", "L": "0"}
COUNTER = {"0": "L", "L": "2", "2": "R", "R": "0"}


def read_kicks(text: str) -> dict[str, list[Cell]]:
    """Turn by turn ("0R" is from spawn to right), the five moves to try."""
    table = {}
    for line in text.split("\n"):
        if line.strip():
            turn, *moves = line.split()
            table[turn] = [(int(x), int(y)) for x, y in (move.split(",") for move in moves)]
    return table


_JLSTZ, _I = read_kicks(KICKS_TEXT["JLSTZ"]), read_kicks(KICKS_TEXT["I"])
KICKS = {"I": _I, **dict.fromkeys("JLSTZ", _JLSTZ)}


def read_shapes() -> dict[str, dict[str, tuple[Cell, ...]]]:
    """Piece by piece and orientation by orientation, the cells of its box, counted from the box's lower left corner."""
    shapes: dict[str, dict[str, tuple[Cell, ...]]] = {}
    for name, drawing in DRAWINGS.items():
        size = len(drawing)
        cells = [(x, size - 1 - y) for y, row in enumerate(drawing) for x, char in enumerate(row) if char == "#"]
        shapes[name] = {}
        for turn in TURNS:
            shapes[name][turn] = tuple(sorted(cells))
            cells = [(y, size - 1 - x) for x, y in cells]
    return shapes


SHAPES = read_shapes()
# T alone: its box is 3 x 3, the two corners in front of it lie on the side that it points to.
CORNERS = ((0, 0), (2, 0), (0, 2), (2, 2))
FRONT = {"0": ((0, 2), (2, 2)), "R": ((2, 0), (2, 2)), "2": ((0, 0), (2, 0)), "L": ((0, 0), (0, 2))}

PLAIN = {1: 100, 2: 300, 3: 500, 4: 800}
FULL_SPIN = {0: 400, 1: 800, 2: 1200, 3: 1600}
MINI_SPIN = {0: 100, 1: 200, 2: 400}
PERFECT = {1: 800, 2: 1200, 3: 1800, 4: 2000}

MODES = ("beginner", *(f"marathon/{start}" for start in range(1, 21)), "sprint", "ultra", "zen", "battle")


@cache
def gravity(level: int, beginner: bool) -> int:
    """1/65536 rows a tick: a row takes (0.8 - (level - 1) x 0.007) ^ (level - 1) seconds, exactly; level 20 from there on."""
    step = min(level, 20) - 1
    seconds = (Fraction(8, 10) - step * Fraction(7, 1000)) ** step
    value = floor(ROW / (60 * seconds) + Fraction(1, 2))
    return value // 2 if beginner and level <= 5 else value


@dataclass(frozen=True)
class Result:
    """What a replay yields; ``fault`` is (kind, index of the token) or None."""

    score: int
    best_combo: int
    board: str
    moves: int
    finished: bool
    fault: tuple[str, int] | None
    level: int
    lines: int


def random_words(seed: int) -> Iterator[int]:
    """SplitMix64: unsigned 64-bit words."""
    modulus = 2**64
    position = seed
    while True:
        position = (position + 11400714819323198485) % modulus
        word = position
        word = (word ^ word // 2**30) * 13787848793156543929 % modulus
        word = (word ^ word // 2**27) * 10723151780598845931 % modulus
        yield word ^ word // 2**31


def bags(seed: int) -> Iterator[str]:
    """Bags of seven, each shuffled from the last place down."""
    words = random_words(seed)
    while True:
        bag = list(NAMES)
        for last in range(6, 0, -1):
            chosen = next(words) // 2**32 * (last + 1) // 2**32
            bag[last], bag[chosen] = bag[chosen], bag[last]
        yield from bag


def read_board(text: str) -> dict[Cell, str] | None:
    """The cells that a board text means, None when it cannot be read."""
    if text == "-":
        return {}
    rows = text.split("/")
    if len(rows) > HEIGHT:
        return None
    cells = {}
    for y, row in zip(range(len(rows) - 1, -1, -1), rows, strict=True):
        x = 0
        for part in re.findall("[0-9]+|.", row, re.S):
            if part.isascii() and part.isdigit():
                x += int(part.lstrip("0")[:4] or "0")
            elif part in NAMES:
                cells[x, y] = part
                x += 1
            else:
                return None
        if x != WIDTH:
            return None
    return cells


def write_board(cells: dict[Cell, str]) -> str:
    """The canonical text."""
    if not cells:
        return "-"
    rows = []
    for y in range(max(y for _, y in cells), -1, -1):
        row = "".join(cells.get((x, y), ".") for x in range(WIDTH))
        rows.append(re.sub(r"\.+", lambda gap: str(len(gap[0])), row))
    return "/".join(rows)


SPACE = rb"[ \t\n\v\f\r]*"
TOKEN = re.compile(SPACE + rb"([0-9]{0,9})([lrxzdhc])")
TRAILING = re.compile(SPACE + rb"([0-9]{0,9})" + SPACE + rb"\Z")


def read_log(log: bytes) -> Iterator[tuple[int, str] | None]:
    """(ticks, letter) input by input, (ticks, "") for what follows the last one; None, and no more, where nothing can be read."""
    at = 0
    while True:
        trailing = TRAILING.match(log, at)
        if trailing:
            yield int(trailing[1] or b"0"), ""
            return
        token = TOKEN.match(log, at)
        if token is None:
            yield None
            return
        yield int(token[1] or b"0"), token[2].decode()
        at = token.end()


class Piece:
    """The piece in play: where its box lies, and what was done with it."""

    def __init__(self, name: str) -> None:
        self.name, self.turn = name, "0"
        self.x, self.y = SPAWN[name]
        self.last_action: str | None = None
        self.lowest = min(y for _, y in self.cells())

    def cells(self, dx: int = 0, dy: int = 0, turn: str | None = None) -> list[Cell]:
        x0, y0 = self.x + dx, self.y + dy
        return [(x0 + x, y0 + y) for x, y in SHAPES[self.name][turn or self.turn]]


class Game:
    """One game in progress.  ``pieces`` are listed names or None for the seed's bags; ``start`` is a board text."""

    # Classes that read the rules otherwise change these.
    lines_per_level, lock_resets = 10, LOCK_RESETS

    def __init__(self, mode: str, seed: int = 0, pieces: str | None = None, start: str = "-") -> None:
        self.mode = mode
        self.start_level = int(mode.split("/")[1]) if "/" in mode else 1
        self.deal = bags(seed) if pieces is None else iter(pieces)
        self.board = dict(read_board(start))
        self.score = self.lines = self.best_combo = self.moves = self.clock = 0
        self.combo = -1
        self.back_to_back = self.finished = False
        self.held: str | None = None
        self.awards: list[int] = []
        self.piece: Piece | None = None
        self.fraction = self.count = 0
        self.resets = self.lock_resets
        self.hold_used = False
        self.spawn(next(self.deal, None))

    # Where a piece may be.

    def free(self, cells: list[Cell]) -> bool:
        return all(0 <= x < WIDTH and 0 <= y < HEIGHT and (x, y) not in self.board for x, y in cells)

    def standing(self) -> bool:
        return not self.free(self.piece.cells(0, -1))

    def blocked_corner(self, x: int, y: int) -> bool:
        """Walls and floor are blocked; the space above the field is not."""
        return not 0 <= x < WIDTH or y < 0 or (x, y) in self.board

    # The piece in play.

    def spawn(self, name: str | None) -> None:
        """Put a piece on the field, with fraction, count and resets fresh; None when the listed pieces have run out."""
        self.fraction = self.count = 0
        self.resets = self.lock_resets
        self.piece = None
        if name is None:
            return
        piece = Piece(name)
        if not self.free(piece.cells()):
            if self.mode != "zen":
                self.finished = True
                return
            self.rescue()
        self.piece = piece

    def rescue(self) -> None:
        self.board = {(x, y): cell for (x, y), cell in self.board.items() if y < RESCUED_FROM}

    def went(self) -> None:
        """After every move: a row lower than ever before zeroes the count and renews the resets."""
        lowest = min(y for _, y in self.piece.cells())
        if lowest < self.piece.lowest:
            self.piece.lowest = lowest
            self.count, self.resets = 0, self.lock_resets

    def moved_by_player(self) -> None:
        """After a shift or rotation that succeeded."""
        if self.count > 0 and self.resets > 0:
            self.count = 0
            self.resets -= 1
        self.went()

    def fall(self) -> bool:
        """One row down, if the piece can."""
        if self.standing():
            return False
        self.piece.y -= 1
        self.went()
        return True

    # Inputs.

    def shift(self, dx: int) -> None:
        if self.free(self.piece.cells(dx, 0)):
            self.piece.x += dx
            self.piece.last_action = "shift"
            self.moved_by_player()

    def kicks(self, turn: str) -> list[Cell]:
        return KICKS[self.piece.name][self.piece.turn + turn]

    def rotate(self, turned: dict[str, str]) -> None:
        piece = self.piece
        if piece.name == "O":
            return
        turn = turned[piece.turn]
        for dx, dy in self.kicks(turn):
            if self.free(piece.cells(dx, dy, turn)):
                piece.x, piece.y, piece.turn = piece.x + dx, piece.y + dy, turn
                piece.last_action = "rotation"
                self.moved_by_player()
                return

    def soft_drop(self) -> None:
        if self.fall():
            self.score += 1
            self.piece.last_action = "soft drop"

    def hard_drop(self) -> None:
        while self.fall():
            self.score += 2
            self.piece.last_action = "hard drop"
        self.lock()

    def hold(self) -> None:
        held, self.held = self.held, self.piece.name
        self.hold_used = True
        self.spawn(held if held is not None else next(self.deal, None))

    def apply(self, letter: str) -> None:
        self.moves += 1
        match letter:
            case "l":
                self.shift(-1)
            case "r":
                self.shift(1)
            case "x":
                self.rotate(CLOCKWISE)
            case "z":
                self.rotate(COUNTER)
            case "d":
                self.soft_drop()
            case "h":
                self.hard_drop()
            case "c":
                self.hold()

    # Locking.

    @property
    def level(self) -> int:
        return max(self.start_level, 1 + self.lines // self.lines_per_level)

    def spin(self) -> str | None:
        """Full, mini or None for the piece as it lies, before its lines go."""
        piece = self.piece
        if piece.name != "T" or piece.last_action != "rotation":
            return None
        blocked = {(x, y) for x, y in CORNERS if self.blocked_corner(piece.x + x, piece.y + y)}
        if len(blocked) < 3:
            return None
        return "full" if blocked.issuperset(FRONT[piece.turn]) else "mini"

    def clear_lines(self, rows: set[int]) -> int:
        full = [y for y in rows if all((x, y) in self.board for x in range(WIDTH))]
        if full:
            kept = {}
            for (x, y), cell in self.board.items():
                if y not in full:
                    kept[x, y - sum(row < y for row in full)] = cell
            self.board = kept
        return len(full)

    def base(self, lines: int, spin: str | None) -> int:
        """The base value of a lock at the level before it, with its back-to-back."""
        if spin == "full":
            value = FULL_SPIN[lines]
        elif spin == "mini":
            value = MINI_SPIN[lines]
        else:
            value = PLAIN.get(lines, 0)
        value *= self.level
        if lines == 0:
            return value
        if lines == 4 or spin is not None:
            if self.back_to_back:
                value = value * 3 // 2
            self.back_to_back = True
        else:
            self.back_to_back = False
        return value

    def combo_bonus(self, lines: int) -> int:
        if lines == 0:
            self.combo = -1
            return 0
        self.combo += 1
        self.best_combo = max(self.best_combo, self.combo)
        return 50 * self.combo * self.level

    def perfect_bonus(self, lines: int) -> int:
        return PERFECT[lines] * self.level if lines and not self.board else 0

    def lock(self) -> None:
        cells = self.piece.cells()
        spin = self.spin()
        for cell in cells:
            self.board[cell] = self.piece.name
        lines = self.clear_lines({y for _, y in cells})
        award = self.base(lines, spin) + self.combo_bonus(lines) + self.perfect_bonus(lines)
        self.awards.append(award)
        self.score += award
        self.lines += lines
        self.hold_used = False
        if lines == 0 and all(y >= VISIBLE for _, y in cells):
            self.topped_out()
        if self.mode == "sprint" and self.lines >= SPRINT_LINES:
            self.finished = True
        if self.finished:
            self.piece = None
        else:
            self.spawn(next(self.deal, None))

    def topped_out(self) -> None:
        """A piece locked wholly above the visible rows and cleared nothing."""
        if self.mode == "zen":
            self.rescue()
        else:
            self.finished = True

    # Time.

    def tick(self) -> None:
        """Gravity and lock timer of one tick."""
        if self.piece is not None:
            self.fall_by_gravity()
            self.run_lock_timer()
        self.clock += 1
        if self.mode == "ultra" and self.clock >= ULTRA_TICKS:
            self.finished = True

    def gravity(self) -> int:
        return gravity(self.level, self.mode == "beginner")

    def fall_by_gravity(self) -> None:
        self.fraction += self.gravity()
        while self.fraction >= ROW:
            if self.fall():
                self.fraction -= ROW
            else:
                self.fraction = 0

    def run_lock_timer(self) -> None:
        if self.standing():
            self.count += 1
            if self.count >= LOCK_DELAY:
                self.lock()

    def idle_ticks(self) -> int:
        """How many of the next ticks only add to the fraction, and to the count of a piece that stands."""
        left = ULTRA_TICKS - 1 - self.clock if self.mode == "ultra" else LONGEST_TICKS
        if self.piece is None:
            return left
        # No whole row is due before the fraction is full.
        idle = min(left, (ROW - 1 - self.fraction) // self.gravity())
        return min(idle, LOCK_DELAY - 1 - self.count) if self.standing() else idle

    def idle(self, ticks: int) -> None:
        self.clock += ticks
        if self.piece is not None:
            self.fraction += ticks * self.gravity()
            if self.standing():
                self.count += ticks

    def pass_time(self, ticks: int) -> None:
        while ticks > 0 and not self.finished:
            idle = min(ticks, self.idle_ticks())
            if idle > 0:
                self.idle(idle)
                ticks -= idle
            else:
                self.tick()
                ticks -= 1

    # The log.

    def clock_stands(self, ticks: int) -> bool:
        """Let ``ticks`` pass; False, and nothing has passed, when the game would still go on after 24 hours."""
        if self.clock + ticks <= LONGEST_TICKS or self.finished:
            self.pass_time(ticks)
            return True
        before = copy(self)
        before.board, before.piece, before.awards = dict(self.board), copy(self.piece), list(self.awards)
        # Zen has no end, so that there is nothing to wait for.
        if self.mode != "zen":
            self.pass_time(LONGEST_TICKS - self.clock)
        if self.finished:
            return True
        # The deal is the one thing that cannot be taken back; no input follows, so that nobody will miss it.
        self.__dict__ = before.__dict__
        return False

    def complaint(self, letter: str) -> str | None:
        if self.finished:
            return "after_end"
        if self.piece is None:
            # The listed pieces have run out.
            return "deal_exhausted"
        if letter == "c" and self.hold_used:
            return "hold_twice"
        return None

    def result(self, fault: tuple[str, int] | None = None) -> Result:
        return Result(
            self.score, self.best_combo, write_board(self.board), self.moves, self.finished, fault, self.level, self.lines
        )


def play(game: Game, log: bytes) -> Result:
    """Replay a log on a game that has just begun, up to its first fault."""
    for index, token in enumerate(read_log(log)):
        if token is None:
            return game.result(("bad_token", index))
        ticks, letter = token
        if not game.clock_stands(ticks):
            return game.result(("bad_token", index))
        if letter:
            kind = game.complaint(letter)
            if kind is not None:
                return game.result((kind, index))
            game.apply(letter)
    return game.result()


def replay(mode: str, log: bytes, seed: int = 0, pieces: str | None = None, start: str = "-") -> Result:
    """What a log yields in this mode, from this deal and this board (text)."""
    return play(Game(mode, seed, pieces, start), log)
