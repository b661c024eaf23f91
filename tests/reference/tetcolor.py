"""Tetcolor again, slowly: a dict of blocks, one tick after the other, written from the rules alone.

It exists to disagree with the engine.  Nothing here is shared with it: shapes, draws, matches, bombs, random numbers, the
reader of logs and boards are all its own.  Source of every rule: document 002, and the project's decisions where it is silent.
tests.reference.tetcolor_settle is its other half: what happens when a piece has locked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import product

from tests.reference.tetcolor_settle import (
    CLEARS_ROWS,
    COLOURS,
    MATCHES_RUNS,
    SIZES,
    Board,
    Place,
    Settle,
    full_rows,
    iced,
    is_bomb,
    read_board,
    run_places,
    special,
    write_board,
)

LANDING, GENERATION, LEVEL_PIECES, EXPANDED_FROM, LONGEST_TICKS = 24, 30, 21, 6, 24 * 60 * 60 * 60
RELAX = {"relax1": 60, "relax2": 48, "relax3": 36, "relax4": 28, "relax5": 20, "relax6": 14, "relax7": 9, "relax8": 5}
# What a draw below 100 puts on a block.
SPECIAL_DRAWS = [*"NN", *"HH", *"VV", *"LL", "M", *"AA", *"SSS"] + [""] * 86
ICE_DRAWS = 4
CAPACITIES = {"bombs": 5, "activators": 3, "stones": 10, "ices": 10}
HANDICAP_ROWS, HANDICAP_FILLED = 6, 70

TETROMINOES = {
    "I": ["####"],
    "J": ["#..", "###"],
    "L": ["..#", "###"],
    "O": ["##", "##"],
    "S": [".##", "##."],
    "T": [".#.", "###"],
    "Z": ["##.", ".##"],
}
PENTOMINOES = {
    "F": [".##", "##.", ".#."],
    "I": ["#####"],
    "L": ["...#", "####"],
    "N": [".###", "##.."],
    "P": ["##", "##", "#."],
    "T": ["###", ".#.", ".#."],
    "U": ["#.#", "###"],
    "V": ["#..", "#..", "###"],
    "W": ["#..", "##.", ".##"],
    "X": [".#.", "###", ".#."],
    "Y": ["..#.", "####"],
    "Z": ["##.", ".#.", ".##"],
}
TROMINOES = {"I": ["###"], "L": ["#.", "##"]}
STACKS = {"C": ["#", "#", "#"]}
POOLS = {
    "duo": (TETROMINOES, PENTOMINOES),
    "tetcolor": (TROMINOES, TETROMINOES),
    "columns": (STACKS, {}),
    "retris": (TETROMINOES, PENTOMINOES),
}

Shape = tuple[str, list[Place], int, int]


def shape(name: str, drawing: list[str]) -> Shape:
    """Name, places in reading order, rows and columns of the box."""
    places = [(r, c) for r, row in enumerate(drawing) for c, char in enumerate(row) if char == "#"]
    return name, places, len(drawing), len(drawing[0])


def pool(family: str, expanded: bool) -> list[Shape]:
    normal, more = POOLS[family]
    shapes = [shape(name, drawing) for name, drawing in normal.items()]
    return shapes + [shape(name, drawing) for name, drawing in more.items()] if expanded else shapes


def make_modes() -> list[str]:
    modes = []
    for family, variant, handicap in product(SIZES, ("classic", "arcade"), ("", "/handicap")):
        styles = ["normal", *RELAX] + ([] if family == "columns" else ["crazy"])
        modes += [f"{family}/{variant}/{style}{handicap}" for style in styles]
    return modes


MODES = make_modes()


@dataclass(frozen=True)
class Result:
    """What a replay yields; ``fault`` is (kind, index of the token) or None, ``level`` None where there is no such mode."""

    score: int
    best_combo: int
    board: str
    moves: int
    finished: bool
    fault: tuple[str, int] | None
    level: int | None


# Draws.


class Words:
    """SplitMix64."""

    def __init__(self, seed: int) -> None:
        self.position = seed

    def next(self) -> int:
        modulus = 2**64
        self.position = (self.position + 11400714819323198485) % modulus
        word = self.position
        word = (word ^ word // 2**30) * 13787848793156543929 % modulus
        word = (word ^ word // 2**27) * 10723151780598845931 % modulus
        return word ^ word // 2**31

    def below(self, bound: int) -> int:
        return self.next() // 2**32 * bound // 2**32


def handicap(words: Words, family: str) -> Board:
    width, height = SIZES[family]
    board: Board = {}
    for r in range(height - 1, height - 1 - HANDICAP_ROWS, -1):
        for c in range(width):
            filled, block = words.below(100) < HANDICAP_FILLED, COLOURS[words.below(5)]
            if not filled:
                continue
            board[r, c] = block
            if run_places(board) or full_rows(board, width):
                del board[r, c]
    return board


@dataclass
class Piece:
    """A piece: its blocks in a box of ``rows`` x ``columns`` whose upper left corner lies at (``row``, ``column``)."""

    name: str
    blocks: Board
    rows: int
    columns: int
    row: int = 0
    column: int = 0

    @property
    def text(self) -> str:
        """As a challenge lists it."""
        return f"{self.name}:{''.join(self.blocks[at] for at in sorted(self.blocks))}"

    def on_board(self, down: int = 0, right: int = 0) -> Board:
        return {(self.row + down + r, self.column + right + c): block for (r, c), block in self.blocks.items()}


def listed_piece(text: str, family: str) -> Piece:
    name, _, cells = text.partition(":")
    blocks = re.findall(r"[a-e][NHVLMAS]?\*?", cells)
    for found, places, rows, columns in pool(family, expanded=True):
        if found == name and len(places) == len(blocks) and text == f"{name}:{''.join(blocks)}":
            return Piece(name, dict(zip(places, blocks, strict=True)), rows, columns)
    raise ValueError(f"{text!r} is no piece of {family}")


def can_start(text: str, family: str) -> bool:
    """Whether a challenge may have this start board: readable, no match, no full row where rows are cleared."""
    board = read_board(text, family)
    if board is None or (family in MATCHES_RUNS and run_places(board)):
        return False
    return family not in CLEARS_ROWS or not full_rows(board, SIZES[family][0])


class Game:
    """One game in progress.  ``pieces`` and ``start`` are those of the challenge table, empty where it has none."""

    def __init__(self, mode: str, seed: int = 0, pieces: str = "", start: str = "") -> None:
        self.mode = mode
        self.score = self.best_combo = self.moves = self.clock = self.settled = 0
        self.finished = False
        self.board: Board = {}
        self.events: Counter[str] = Counter()
        self.exists = mode in MODES
        if not self.exists:
            return
        self.family, self.variant, self.style = mode.split("/")[:3]
        self.width, self.height = SIZES[self.family]
        self.words = Words(seed)
        self.listed = pieces.split() if pieces else None
        if start:
            self.board = read_board(start, self.family)
        elif mode.endswith("/handicap"):
            self.board = handicap(self.words, self.family)
        self.piece: Piece | None = None
        self.next: Piece | None = None
        # The tick at whose beginning the next piece enters, while bombs go off.
        self.enters_at: int | None = None
        self.fall_count = self.standing_count = 0
        self.dropped = False
        self.next = self.draw()
        self.enter()

    # Levels and draws.

    @property
    def level(self) -> int:
        return 1 if self.style in RELAX else 1 + self.settled // LEVEL_PIECES

    def row_ticks(self) -> int:
        return RELAX.get(self.style) or max(2, 48 - 3 * (self.level - 1))

    def is_expanded(self) -> bool:
        return self.style == "crazy" or (self.style == "normal" and self.level >= EXPANDED_FROM)

    def draw(self) -> Piece | None:
        """The next piece, None when the listed ones have run out."""
        if self.listed is not None:
            return listed_piece(self.listed.pop(0), self.family) if self.listed else None
        shapes = pool(self.family, self.is_expanded())
        name, places, rows, columns = shapes[self.words.below(len(shapes))]
        self.events[f"expanded pool, {self.style}"] += name not in POOLS[self.family][0] or len(places) == 5
        piece = Piece(name, {}, rows, columns)
        for at in places:
            block = COLOURS[self.words.below(5)]
            if self.variant == "arcade":
                kind, ice = SPECIAL_DRAWS[self.words.below(100)], self.words.below(100) < ICE_DRAWS
                block += self.allowed(kind, piece)
                block += "*" if ice and self.allowed("*", piece) else ""
            piece.blocks[at] = block
        return piece

    def allowed(self, kind: str, drawn: Piece) -> str:
        """``kind`` (a special, or ``*`` for ice), or nothing where its capacity is used up."""
        seen = [*self.board.values(), *drawn.blocks.values(), *(self.piece.blocks.values() if self.piece else [])]
        if kind == "*":
            used, most = sum(map(iced, seen)), CAPACITIES["ices"]
        elif kind == "S":
            used, most = sum(special(block) == "S" for block in seen), CAPACITIES["stones"]
        elif kind == "A":
            used, most = sum(special(block) == "A" for block in seen), CAPACITIES["activators"]
        else:
            used, most = sum(map(is_bomb, seen)), CAPACITIES["bombs"]
        if used >= most and kind:
            self.events[f"dropped for capacity {kind}"] += 1
            return ""
        return kind

    def enter(self) -> None:
        """The piece of the preview enters, and the one after it is drawn."""
        self.enters_at = None
        self.fall_count = self.standing_count = 0
        self.dropped = False
        self.piece, self.next = self.next, None
        if self.piece is None:
            return
        self.piece.column = (self.width - self.piece.columns) // 2
        if not self.free(self.piece.on_board()):
            self.piece = None
            self.finished = True
            return
        self.next = self.draw()

    # Where the piece may be.

    def free(self, places: Board) -> bool:
        return all(0 <= r < self.height and 0 <= c < self.width and (r, c) not in self.board for r, c in places)

    def standing(self) -> bool:
        return not self.free(self.piece.on_board(down=1))

    def after_turn(self, letter: str) -> Piece | None:
        """The piece after a turn (in columns a cycle), None where there is no room."""
        piece = self.piece
        if self.family == "columns":
            a, b, c = (piece.blocks[r, 0] for r in range(3))
            order = (c, a, b) if letter == "x" else (b, c, a)
            return Piece(piece.name, {(r, 0): block for r, block in enumerate(order)}, 3, 1, piece.row, piece.column)
        turned = {}
        for (r, c), block in piece.blocks.items():
            turned[(c, piece.rows - 1 - r) if letter == "x" else (piece.columns - 1 - c, r)] = block
        for right in (0, -1, 1):
            tried = Piece(piece.name, turned, piece.columns, piece.rows, piece.row, piece.column + right)
            if self.free(tried.on_board()):
                self.events[f"turn moved by {right}"] += 1
                return tried
        return None

    def sealed(self) -> bool:
        shifts = any(self.free(self.piece.on_board(right=right)) for right in (-1, 1))
        return not shifts and self.after_turn("x") is None and self.after_turn("z") is None

    # Inputs.

    def apply(self, letter: str) -> None:
        self.moves += 1
        if self.piece is None:
            self.events["input while bombs go off"] += 1
            return
        if letter in "lr":
            right = -1 if letter == "l" else 1
            if self.free(self.piece.on_board(right=right)):
                self.piece.column += right
        elif letter in "xz":
            self.piece = self.after_turn(letter) or self.piece
        elif letter == "d":
            self.descend()
        elif self.dropped:
            self.events["locked by h"] += 1
            self.lock()
            return
        else:
            while self.descend():
                pass
            self.dropped = True
        if not self.standing():
            self.events["h forgotten over a gap"] += self.dropped
            self.dropped = False

    def descend(self) -> bool:
        if self.standing():
            return False
        self.piece.row += 1
        self.fall_count = 0
        # It has left its support: where it lands next, it has all of a landing's time.
        self.standing_count = 0
        return True

    def lock(self) -> None:
        self.board |= self.piece.on_board()
        self.piece = None
        self.settled += 1
        settle = Settle(self.board, self.family, events=self.events)
        settle.run()
        self.score += settle.points
        self.best_combo = max(self.best_combo, settle.passes)
        if settle.generations == 0:
            self.enter()
        else:
            self.enters_at = self.clock + GENERATION * settle.generations

    # Time.

    def tick(self) -> None:
        """What follows the inputs of a tick, and the entrance of a piece at the beginning of the next one."""
        if self.piece is not None:
            self.fall_count += 1
            if self.fall_count >= self.row_ticks():
                self.descend()
            if self.standing():
                self.stand()
            else:
                self.standing_count = 0
                self.dropped = False
        self.clock += 1
        if self.clock == self.enters_at:
            self.enter()

    def stand(self) -> None:
        if self.sealed():
            self.events["locked as sealed"] += 1
            self.lock()
            return
        self.standing_count += 1
        if self.standing_count >= LANDING:
            self.events["locked by time"] += 1
            self.lock()

    def idle_ticks(self) -> int:
        """How many of the next ticks do nothing but count."""
        if self.piece is None:
            return LONGEST_TICKS if self.enters_at is None else self.enters_at - 1 - self.clock
        if self.standing():
            return 0 if self.sealed() else LANDING - 1 - self.standing_count
        return max(0, self.row_ticks() - 1 - self.fall_count)

    def idle(self, ticks: int) -> None:
        self.clock += ticks
        if self.piece is not None:
            self.fall_count += ticks
            if self.standing():
                self.standing_count += ticks
            else:
                self.standing_count = 0
                self.dropped = False

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
        if self.finished or self.clock + ticks <= LONGEST_TICKS:
            self.pass_time(ticks)
            return True
        before = deepcopy(self.__dict__)
        self.pass_time(LONGEST_TICKS - self.clock)
        if not self.finished:
            self.__dict__ = before
        return self.finished

    def complaint(self) -> str | None:
        if self.finished:
            return "after_end"
        if self.piece is None and self.enters_at is None:
            return "deal_exhausted"
        return None

    def result(self, fault: tuple[str, int] | None = None) -> Result:
        if not self.exists:
            return Result(0, 0, "-", 0, False, ("no_such_mode", 0), None)
        board = write_board(self.board, self.family)
        return Result(self.score, self.best_combo, board, self.moves, self.finished, fault, self.level)


SPACE = rb"[ \t\n\v\f\r]*"
TOKEN = re.compile(SPACE + rb"([0-9]{0,9})([lrxzdh])")
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


def play(game: Game, log: bytes) -> Result:
    """Replay a log on a game that has just begun, up to its first fault."""
    if not game.exists:
        return game.result()
    for index, token in enumerate(read_log(log)):
        if token is None or not game.clock_stands(token[0]):
            return game.result(("bad_token", index))
        if token[1]:
            kind = game.complaint()
            if kind is not None:
                return game.result((kind, index))
            game.apply(token[1])
    return game.result()


def replay(mode: str, log: bytes, seed: int = 0, pieces: str = "", start: str = "") -> Result:
    """What a log yields in this mode, from this deal and this board (text)."""
    return play(Game(mode, seed, pieces, start), log)
