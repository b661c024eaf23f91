"""Seeded random games of the block puzzle, honest and mutated, made with the slow twin alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

from engine.blocks.rules import BlocksRules
from tests.engine.support import Case, replaced, rules_text, without_large_shapes, write_rules
from tests.reference import blocks as twin

SPACES = [" ", "\t", "\n", "\v", "\f", "\r", "  ", "\r\n", " \t "]
NOTATION = b"123123abcdefghijk0123456789* "
EDGE_SEEDS = [0, 1, 2**32 - 1, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]


@dataclass(frozen=True)
class Setting:
    """A version of the rules on a board, with other numbers where they are given."""

    version: str = "1.2.0"
    width: int = 8
    height: int = 8
    turn_length: int = 3
    forgiven: int = 1
    cap: int = 5
    continues: int = 1

    def values(self) -> twin.Values:
        values = twin.on_board(twin.VALUES[self.version], self.width, self.height)
        continues = {"daily": 0, "training": self.continues, "arena": 0}
        return replace(values, turn_length=self.turn_length, forgiven=self.forgiven, cap=self.cap, continues=continues)

    def rules(self, folder: Path) -> BlocksRules:
        """The same as a rules file below ``folder``, loaded."""
        text = rules_text(self.version)
        for key in ("width", "height", "turn_length", "forgiven", "cap"):
            text = replaced(text, rf"^{key} = \d+", f"{key} = {getattr(self, key)}")
        text = replaced(text, "(?<=^\\[modes.training\\]\n)continues = 1", f"continues = {self.continues}")
        name = "-".join(str(getattr(self, key)) for key in self.__dataclass_fields__)
        return write_rules(folder / name, without_large_shapes(text, self.width, self.height), self.version)


# Board 8 x 8 is the fast case of the engine and comes most often.
SETTINGS = [
    Setting(),
    Setting(width=4, height=4),
    Setting(version="1.1.0"),
    Setting(width=5, height=7),
    Setting(turn_length=2, forgiven=0, cap=2, continues=2),
    Setting(width=9, height=9),
    Setting(),
    Setting(width=11, height=11),
    Setting(version="1.1.0", width=7, height=5, turn_length=4, forgiven=2, cap=3),
    Setting(width=11, height=4),
    Setting(turn_length=1, forgiven=1, cap=3),
    Setting(width=8, height=9),
]


def random_start(rng: random.Random, values: twin.Values) -> str:
    """A board without a full line: thin, dense, or full but for one cell a row (whose columns differ)."""
    width, height = values.width, values.height
    if rng.random() < 0.4:
        left_out = {(rng.randrange(width), y) for y in range(height)}
        cells = {(x, y) for x in range(width) for y in range(height)} - left_out
    else:
        share = rng.choice([0.03, 0.1, 0.4, 0.7, 0.9])
        cells = {(x, y) for x in range(width) for y in range(height) if rng.random() < share}
    for x in range(width):
        if all((x, y) in cells for y in range(height)):
            cells.remove((x, rng.randrange(height)))
    for y in range(height):
        if all((x, y) in cells for x in range(width)):
            cells.remove((rng.randrange(width), y))
    return twin.write_board(cells, width, height)


def random_pieces(rng: random.Random, values: twin.Values) -> tuple[str, ...]:
    """Listed pieces, often few kinds, often too few of them."""
    names = list(values.shapes)
    kinds = rng.sample(names, rng.choice([1, 2, 3, len(names)]))
    return tuple(rng.choice(kinds) for _ in range(rng.choice([1, 2, 3, 4, rng.randrange(5, 30), 80])))


def open_case(rng: random.Random, values: twin.Values) -> Case:
    """A challenge and a mode, with an empty log."""
    seed = rng.choice(EDGE_SEEDS) if rng.random() < 0.1 else rng.getrandbits(64)
    pieces = random_pieces(rng, values) if rng.random() < 0.3 else None
    start = random_start(rng, values) if rng.random() < 0.35 else "-"
    return Case(b"", rng.choice(["daily", "daily", "training", "training", "arena"]), seed, pieces, start)


def new_game(values: twin.Values, case: Case) -> twin.Game:
    return twin.Game(values, case.mode, case.seed, None if case.pieces is None else list(case.pieces), case.start)


def snugness(game: twin.Game, move: tuple[int, int, int]) -> int:
    """How many cells beside the placed piece are filled or beyond the edge, and ten a line: such play lives longer."""
    slot, column, row = move
    cells = game.covered(game.hand[slot], column, row)
    beside = [(x + dx, y + dy) for x, y in cells for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    width, height = game.values.width, game.values.height
    snug = sum(at in game.cells or not (0 <= at[0] < width and 0 <= at[1] < height) for at in beside)
    filled = game.cells | cells
    lines = sum(all((x, y) in filled for x in range(width)) for y in {y for _, y in cells})
    lines += sum(all((x, y) in filled for y in range(height)) for x in {x for x, _ in cells})
    return snug + 10 * lines


def choose(rng: random.Random, game: twin.Game, care: int) -> tuple[int, int, int]:
    """A legal placement: the snuggest of about ``care`` random ones."""
    found = []
    for _ in range(6 * care):
        slot = rng.randrange(1, 4)
        if game.hand[slot] is None:
            continue
        move = (slot, rng.randrange(game.values.width), rng.randrange(game.values.height))
        if game.fits(game.hand[slot], move[1], move[2]):
            found.append(move)
            if len(found) == care:
                break
    if not found:
        found = [rng.choice(list(game.placements()))]
    return max(found, key=lambda move: snugness(game, move)) if len(found) > 1 else found[0]


def play_legally(rng: random.Random, values: twin.Values, case: Case) -> list[str]:
    """The tokens of a legal game, to its end or stopped early."""
    game = new_game(values, case)
    care = rng.choice([1, 4, 10, 20])
    longest = rng.choice([rng.randrange(4), rng.randrange(12), 250, 250])
    tokens: list[str] = []
    while len(tokens) < longest:
        if game.over:
            if game.continues_left == 0 or rng.random() < 0.1:
                break
            token, text = twin.Token(None), "*"
        else:
            slot, column, row = choose(rng, game, care)
            token, text = twin.Token(slot, column, row), twin.write_token(slot, column, row)
        game.apply(token)
        tokens.append(text)
    return tokens


def write_log(rng: random.Random, tokens: list[str]) -> bytes:
    """Tokens with no space, one space, or any white space between and around them."""
    style = rng.randrange(5)
    if style < 2:
        return "".join(tokens).encode()
    if style < 4:
        return " ".join(tokens).encode()
    spaced = ["" if rng.random() < 0.3 else rng.choice(SPACES)]
    for token in tokens:
        spaced += [token, "" if rng.random() < 0.3 else rng.choice(SPACES)]
    return "".join(spaced).encode()


def _edit(rng: random.Random, log: bytearray) -> None:
    at = rng.randrange(len(log) + 1)
    match rng.randrange(12):
        case 0 if log:
            log[at % len(log)] ^= 1 << rng.randrange(8)
        case 1 if log:
            log[at % len(log)] = rng.choice(NOTATION)
        case 2 | 9 | 10 | 11 if log:
            # A digit for a digit, a letter for a letter: most of these can still be read.
            old = log[at % len(log)]
            log[at % len(log)] = rng.choice(b"0123456789" if chr(old).isdigit() else b"abcdefghijk*")
        case 3:
            log.insert(at, rng.choice(NOTATION))
        case 4:
            log.insert(at, rng.choice([rng.randrange(256), 0, 0xA0, 0xFF, ord("-")]))
        case 5 if log:
            del log[at % len(log)]
        case 6 if log:
            other = rng.randrange(len(log))
            log[at % len(log)], log[other] = log[other], log[at % len(log)]
        case 7:
            log[at:at] = log[at : at + rng.randrange(1, 9)]
        case 8:
            log[at:at] = rng.choice([*SPACES, "\u00a0", "\u2003", "\x00", "\x1c", "\x85"]).encode()


def mutate(rng: random.Random, log: bytes) -> bytes:
    """The log with one to three bytes or stretches changed, or with tokens after its end."""
    changed = bytearray(log)
    if rng.random() < 0.15:
        tail = [rng.choice(["*", "1a1", "2h8", "3d4", "0a1", "9k11", "1k11", "x"]) for _ in range(rng.randrange(1, 4))]
        return log + " ".join(tail).encode()
    if rng.random() < 0.25:
        # Whole tokens: one left out, twice, or two changed about.
        tokens = log.decode().split() if b" " in log else [log[at : at + 3].decode() for at in range(0, len(log), 3)]
        at, other = rng.randrange(len(tokens) + 1), rng.randrange(len(tokens) + 1)
        return " ".join(tokens[:at] + tokens[other : other + 2] + tokens[at + rng.randrange(3) :]).encode()
    for _ in range(rng.choice([1, 1, 2, 3])):
        _edit(rng, changed)
    return bytes(changed)


def padded(rng: random.Random, board: str, width: int, height: int) -> bytes:
    """The same board with some of its empty top rows written out, and zeros before its first number."""
    rows = [] if board == "-" else board.split("/")
    empty = rng.choice(["", "0", "000"]) + str(width)
    rows = [empty] * rng.randrange(height - len(rows) + 1) + rows
    return (rng.choice(["", "0", "00"]) + "/".join(rows)).encode() if rows else b"-"


def scribbled(rng: random.Random, board: str, letters: bytes) -> bytes:
    """The board's text with one to three bytes put in or overwritten: of ``letters``, or any byte at all."""
    text = bytearray(board.encode())
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        text[at : at + rng.randrange(2)] = bytes([rng.choice([*letters, rng.randrange(256)])])
    return bytes(text)


def random_claim(rng: random.Random, values: twin.Values, board: str) -> bytes:
    """A claimed board: the right one, the same written otherwise, another one, or text that is none."""
    kind = rng.randrange(6)
    if kind < 2:
        return board.encode()
    if kind == 2:
        return padded(rng, board, values.width, values.height)
    if kind == 3:
        cells = twin.read_board(board, values.width, values.height)
        cells ^= {(rng.randrange(values.width), rng.randrange(values.height))}
        return twin.write_board(cells, values.width, values.height).encode()
    return scribbled(rng, board, b"##//00123456789-")


@dataclass(frozen=True)
class Played:
    """A case, the slow twin's answer, and the legal tokens that it was made from (None for a mutated log)."""

    case: Case
    expected: twin.Result
    tokens: list[str] | None


def make_games(rng: random.Random, values: twin.Values, count: int) -> list[Played]:
    """``count`` games: of each five an honest one, the same with other white space, and three mutated ones."""
    games: list[Played] = []
    while len(games) < count:
        opening = open_case(rng, values)
        tokens = play_legally(rng, values, opening)
        log = write_log(rng, tokens)
        for kind in range(5):
            text = log if kind == 0 else write_log(rng, tokens) if kind == 1 else mutate(rng, log)
            expected = twin.play(new_game(values, opening), text)
            claim = random_claim(rng, values, expected.board)
            games.append(Played(replace(opening, log=text, claim=claim), expected, tokens if kind < 2 else None))
    return games[:count]
