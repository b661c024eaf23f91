"""The block puzzle again, slowly: sets of cells and plain dicts, written from the rules alone.

It exists to disagree with the engine.  Nothing here is shared with it: the catalogue, the random numbers, the reader of logs
and boards and the writer of boards are all its own.  Source of every rule: documents 003 and 004, and the project's decisions
where those are silent.  A cell is ``(column, row)``, both from 0, row 0 at the top.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

Cell = tuple[int, int]

# The 35 shapes in the order of the deal, drawn as they lie; they are never rotated.
CATALOGUE_DRAWING = """
1     I2h   I2v   I3h   I3v   I4h   I4v   I5h   I5v   L3a   L3b   L3c   L3d   O     Sh    Sv    Zh    Zv
#     ##    #     ###   #     ####  #     ##### #     #.    ##    ##    .#    ##    .##   #.    ##.   .#
-     -     #     -     #     -     #     -     #     ##    #.    .#    ##    ##    ##.   ##    .##   ##
-     -     -     -     #     -     #     -     #     -     -     -     -     -     -     .#    -     #.
-     -     -     -     -     -     #     -     #     -     -     -     -     -     -     -     -     -
-     -     -     -     -     -     -     -     #     -     -     -     -     -     -     -     -     -

Tu    Tr    Td    Tl    Lu    Lr    Ld    Ll    Ju    Jr    Jd    Jl    Va    Vb    Vc    Vd    X
.#.   #.    ###   .#    #.    ###   ##    ..#   .#    #..   ##    ###   #..   ###   ###   ..#   .#.
###   ##    .#.   ##    #.    #..   .#    ###   .#    ###   #.    ..#   #..   #..   ..#   ..#   ###
-     #.    -     .#    ##    -     .#    -     ##    -     #.    -     ###   #..   ..#   ###   .#.
"""


def read_catalogue(drawing: str) -> dict[str, frozenset[Cell]]:
    """Names and cells of the shapes of a drawing like the one above, in its order."""
    shapes: dict[str, frozenset[Cell]] = {}
    for band in drawing.strip().split("\n\n"):
        names, *lines = [line.split() for line in band.splitlines()]
        for place, name in enumerate(names):
            rows = [line[place] for line in lines if line[place] != "-"]
            shapes[name] = frozenset((x, y) for y, row in enumerate(rows) for x, char in enumerate(row) if char == "#")
    return shapes


CATALOGUE = read_catalogue(CATALOGUE_DRAWING)


@dataclass(frozen=True)
class Values:
    """The numbers of one version of the rules, on one size of board."""

    line_points: tuple[int, ...]
    width: int = 8
    height: int = 8
    cell_points: int = 4
    turn_length: int = 3
    forgiven: int = 1
    cap: int = 5
    continues: dict[str, int] = field(default_factory=lambda: {"daily": 0, "training": 1, "arena": 0})
    shapes: dict[str, frozenset[Cell]] = field(default_factory=lambda: CATALOGUE)


VALUES = {
    "1.2.0": Values(line_points=(80, 240, 480, 800, 1100, 1400)),
    "1.1.0": Values(line_points=(60, 180, 400, 700, 1000, 1300)),
}


def on_board(values: Values, width: int, height: int) -> Values:
    """The same rules on another board; shapes that are larger than the board leave the catalogue."""
    fitting = {
        name: cells
        for name, cells in values.shapes.items()
        if max(x for x, _ in cells) < width and max(y for _, y in cells) < height
    }
    return replace(values, width=width, height=height, shapes=fitting)


def random_words(seed: int) -> Iterator[int]:
    """SplitMix64: unsigned 64-bit words."""
    modulus = 2**64
    position = seed
    while True:
        position = (position + 0x9E3779B97F4A7C15) % modulus
        word = position
        word = ((word ^ (word // 2**30)) * 0xBF58476D1CE4E5B9) % modulus
        word = ((word ^ (word // 2**27)) * 0x94D049BB133111EB) % modulus
        yield word ^ (word // 2**31)


def draws_below(seed: int, bound: int) -> Iterator[int]:
    """Draws from 0 to ``bound - 1``: the upper half of each word, scaled."""
    for word in random_words(seed):
        yield (word // 2**32) * bound // 2**32


def seeded_deal(values: Values, seed: int) -> Iterator[str]:
    """The names of the pieces of a seeded challenge, without end."""
    names = list(values.shapes)
    for number in draws_below(seed, len(names)):
        yield names[number]


# The row is greedy but for one case: 11 is row 1 when the second 1 is the slot of the next token.
TOKEN = re.compile(r"(?P<go_on>\*)|(?P<slot>[0-9])(?P<column>[a-k])(?P<row>10|11(?![a-k])|[1-9])")
SPACE = re.compile(r"[ \t\n\v\f\r]*")


@dataclass(frozen=True)
class Token:
    """One placement as written (``slot`` may name no slot), or a continue when ``slot`` is None."""

    slot: int | None
    column: int = 0
    row: int = 0


def read_tokens(log: bytes) -> Iterator[Token | None]:
    """The tokens of a log; None once, as the last, where the text is no token."""
    text = log.decode("latin-1")
    at = SPACE.match(text).end()
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            yield None
            return
        if found["go_on"]:
            yield Token(None)
        else:
            yield Token(int(found["slot"]), "abcdefghijk".index(found["column"]), int(found["row"]) - 1)
        at = SPACE.match(text, found.end()).end()


def write_token(slot: int, column: int, row: int) -> str:
    """A placement's text, column and row from 0."""
    return f"{slot}{'abcdefghijk'[column]}{row + 1}"


def write_board(cells: set[Cell], width: int, height: int) -> str:
    """The canonical text of a board."""
    drawn = ["".join("#" if (x, y) in cells else "." for x in range(width)) for y in range(height)]
    while drawn and "#" not in drawn[0]:
        drawn.pop(0)
    return "/".join(re.sub(r"\.+", lambda run: str(len(run[0])), row) for row in drawn) or "-"


def read_board(text: str, width: int, height: int) -> set[Cell] | None:
    """The cells that a board text means, None when it cannot be read."""
    if text == "-":
        return set()
    rows = text.split("/")
    if len(rows) > height:
        return None
    cells: set[Cell] = set()
    for y, row in enumerate(rows, start=height - len(rows)):
        if not re.fullmatch("[0-9#]+", row):
            return None
        x = 0
        for part in re.findall("[0-9]+|#", row):
            if part == "#":
                cells.add((x, y))
                x += 1
            else:
                # Leading zeros mean nothing; Python refuses numbers of thousands of digits, none of which is a width.
                digits = part.lstrip("0")
                x += int(digits or "0") if len(digits) < 5 else 10**5
        if x != width:
            return None
    return cells


@dataclass(frozen=True)
class Result:
    """What a replay yields; ``fault`` is (kind, index of the token) or None."""

    score: int
    best_combo: int
    board: str
    moves: int
    finished: bool
    fault: tuple[str, int] | None


class Game:
    """One game in progress."""

    def __init__(self, values: Values, mode: str, seed: int = 0, pieces: list[str] | None = None, start: str = "-") -> None:
        cells = read_board(start, values.width, values.height)
        assert cells is not None, start
        self.values = values
        self.cells = cells
        self.deal = seeded_deal(values, seed) if pieces is None else iter(pieces)
        # A slot is None when the listed pieces have run out.
        self.hand: dict[int, str | None] = {slot: next(self.deal, None) for slot in (1, 2, 3)}
        self.continues_left = values.continues[mode]
        self.score = self.best_combo = self.moves = 0
        self.placed_in_turn = 0
        self.cleared_in_turn = False
        self.streak = self.empty_turns = 0
        self.over = not self.can_go_on()

    def covered(self, name: str, column: int, row: int) -> set[Cell]:
        """The cells of a shape whose bounding box has its top left corner there."""
        return {(column + x, row + y) for x, y in self.values.shapes[name]}

    def inside(self, cells: set[Cell]) -> bool:
        return all(0 <= x < self.values.width and 0 <= y < self.values.height for x, y in cells)

    def fits(self, name: str, column: int, row: int) -> bool:
        cells = self.covered(name, column, row)
        return self.inside(cells) and not cells & self.cells

    def placements(self) -> Iterator[tuple[int, int, int]]:
        """Every legal placement as (slot, column, row)."""
        for slot, name in self.hand.items():
            if name is None:
                continue
            for row in range(self.values.height):
                for column in range(self.values.width):
                    if self.fits(name, column, row):
                        yield slot, column, row

    def can_go_on(self) -> bool:
        return next(self.placements(), None) is not None

    def lines_full(self) -> list[set[Cell]]:
        """The full rows and columns, each as its set of cells."""
        width, height = self.values.width, self.values.height
        rows = [{(x, y) for x in range(width)} for y in range(height)]
        columns = [{(x, y) for y in range(height)} for x in range(width)]
        return [line for line in rows + columns if line <= self.cells]

    def complaint(self, token: Token | None) -> str | None:
        """The kind of the fault that the token is, or None when it is legal here."""
        if token is None:
            return "bad_token"
        if token.slot is None:
            return None if self.over and self.continues_left > 0 else "continue_not_allowed"
        if self.over:
            # An unfinished list of pieces is the challenge's fault, whatever the player then does.
            return "deal_exhausted" if None in self.hand.values() else "after_end"
        if token.slot not in self.hand:
            return "no_such_slot"
        name = self.hand[token.slot]
        if name is None:
            return "deal_exhausted"
        cells = self.covered(name, token.column, token.row)
        if not self.inside(cells):
            return "outside_board"
        return "overlap" if cells & self.cells else None

    def apply(self, token: Token) -> None:
        """Carry out a token without complaint."""
        self.moves += 1
        if token.slot is None:
            self.continues_left -= 1
            self.cells = set()
        else:
            self.place(token.slot, token.column, token.row)
        self.over = not self.can_go_on()

    def place(self, slot: int, column: int, row: int) -> None:
        cells = self.covered(self.hand[slot], column, row)
        self.cells |= cells
        self.score += self.values.cell_points * len(cells)
        self.hand[slot] = next(self.deal, None)
        self.clear()
        self.placed_in_turn += 1
        if self.placed_in_turn == self.values.turn_length:
            self.end_turn()

    def clear(self) -> None:
        lines = self.lines_full()
        if not lines:
            return
        for line in lines:
            self.cells -= line
        if not self.cleared_in_turn:
            self.cleared_in_turn = True
            self.streak += 1
        self.score += self.values.line_points[len(lines) - 1] * min(self.streak, self.values.cap)
        self.best_combo = max(self.best_combo, len(lines))

    def end_turn(self) -> None:
        if self.cleared_in_turn:
            self.empty_turns = 0
        else:
            self.empty_turns += 1
            if self.empty_turns > self.values.forgiven:
                self.streak = self.empty_turns = 0
        self.placed_in_turn = 0
        self.cleared_in_turn = False

    def board(self) -> str:
        return write_board(self.cells, self.values.width, self.values.height)

    def result(self, fault: tuple[str, int] | None = None) -> Result:
        return Result(self.score, self.best_combo, self.board(), self.moves, self.over, fault)


def play(game: Game, log: bytes) -> Result:
    """Replay a log on a game that has just begun, up to its first fault."""
    for index, token in enumerate(read_tokens(log)):
        kind = game.complaint(token)
        if kind is not None:
            return game.result((kind, index))
        game.apply(token)
    return game.result()


def replay(values: Values, mode: str, log: bytes, seed: int = 0, pieces: list[str] | None = None, start: str = "-") -> Result:
    """What a log yields under these rules, from this deal and this board (text)."""
    return play(Game(values, mode, seed, pieces, start), log)
