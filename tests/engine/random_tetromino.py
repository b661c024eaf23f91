"""Seeded random games of Tetromino Arcade, honest and mutated, made with the slow twin alone."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

from tests.engine.random_games import EDGE_SEEDS, SPACES, padded, scribbled
from tests.engine.tetromino_support import Case
from tests.reference import tetromino as twin

NOTATION = b"lrxzdhc0123456789 "
# Boards with a slot that a T fits into by its last turn (and their mirrors), with the inputs that bring it there.
SLOTS = [
    ("3J6/JJJ3JJJJ/JJJJ1JJJJJ", "x" + 19 * "d" + "x"),
    ("3J6/JJJ3JJJ1/JJJJ1JJJJJ", "x" + 19 * "d" + "x"),
    ("3J6/10/3J1J4", "x" + 19 * "d" + "x"),
    ("JJ8/J9/J1JJJJJJJJ/J2JJJJJJJ/J1JJJJJJJJ", "l" + 17 * "d" + "lx"),
    ("2J7/3JJJJJJJ", "ll" + 18 * "d" + "xldz"),
    ("1J8/10/J9/J2JJJJJJJ/J1JJJJJJJJ", "llx" + 17 * "d" + "xlz"),
    ("1J8", "lll" + 19 * "d" + "x"),
    ("JJ1J2JJJJ/JJ5JJJ/JJ4JJJJ/JJ1JJJJJJJ", 13 * "d" + "rzddddzlz"),
]
# Boards that one piece empties, and that piece's inputs.
NEARLY_EMPTY = [
    ("I", "/".join(["JJJJJJJJJ1"] * 4), "xrrrrh"),
    ("J", "JJJJJJJJ2/JJJJJJJJ1J/JJJJJJJJ1J", "xrrrrh"),
    ("O", "JJJJJJJJ2/JJJJJJJJ2", "rrrrh"),
    ("I", "JJJJJJ4", "rrrh"),
]
MIRRORED = str.maketrans("lrxz", "rlzx")


def mirrored(board: str) -> str:
    return twin.write_board({(twin.WIDTH - 1 - x, y): cell for (x, y), cell in twin.read_board(board).items()})


def random_start(rng: random.Random) -> str:
    """A board without a full row: thin, dense, one hole a row, a well in the middle up to the top, or cells where pieces appear."""
    kind = rng.randrange(6)
    height = rng.choice([1, 2, 4, 8, 12, 18, 20, 22])
    if kind == 0:
        cells = {(x, y) for y in range(height) for x in range(10) if x != (9 if rng.random() < 0.8 else rng.randrange(10))}
    elif kind == 1:
        cells = {(x, y) for y in range(rng.choice([20, 30, 40])) for x in range(10) if not 3 <= x <= 6}
    elif kind == 2:
        gap = rng.randrange(9)
        cells = {(x, y) for y in range(height) for x in range(10) if x not in (gap, gap + 1)}
    else:
        share = rng.choice([0.05, 0.3, 0.6, 0.9])
        cells = {(x, y) for y in range(height) for x in range(10) if rng.random() < share}
    if rng.random() < 0.05:
        cells |= {(rng.randrange(10), rng.randrange(15, 40)) for _ in range(4)}
    for y in range(twin.HEIGHT):
        if all((x, y) in cells for x in range(10)):
            cells.remove((rng.randrange(10), y))
    return twin.write_board({cell: rng.choice(twin.NAMES) for cell in sorted(cells)})


def random_mode(rng: random.Random) -> str:
    if rng.random() < 0.35:
        return f"marathon/{rng.randrange(1, 21)}"
    return rng.choice(["beginner", "sprint", "ultra", "zen", "zen", "battle", "marathon/1"])


def open_case(rng: random.Random) -> Case:
    """A challenge and a mode, with an empty log."""
    seed = rng.choice(EDGE_SEEDS) if rng.random() < 0.1 else rng.getrandbits(64)
    pieces = None
    if rng.random() < 0.3:
        kinds = rng.sample(twin.NAMES, rng.choice([1, 2, 4, 7]))
        pieces = "".join(rng.choice(kinds) for _ in range(rng.choice([1, 2, 5, 20, 60, 60])))
    start = random_start(rng) if rng.random() < 0.35 else "-"
    return Case(b"", random_mode(rng), seed, pieces, start)


class Watched(twin.Game):
    """The twin, counting what happens, so that a run can show that it met everything."""

    def __init__(self, *case: object) -> None:
        self.events: Counter[str] = Counter()
        super().__init__(*case)

    def base(self, lines: int, spin: str | None) -> int:
        before = self.back_to_back
        self.events[f"{spin or 'plain'} {lines}"] += 1
        value = super().base(lines, spin)
        self.events["back-to-back"] += before and self.back_to_back and lines > 0
        return value

    def perfect_bonus(self, lines: int) -> int:
        bonus = super().perfect_bonus(lines)
        self.events["perfect clear"] += bonus > 0
        return bonus

    def rescue(self) -> None:
        self.events["rescue"] += 1
        super().rescue()

    def topped_out(self) -> None:
        self.events["locked above the field"] += 1
        super().topped_out()

    def moved_by_player(self) -> None:
        self.events["lock timer reset"] += self.count > 0 and self.resets > 0
        self.events["no reset left"] += self.count > 0 and self.resets == 0
        super().moved_by_player()

    def run_lock_timer(self) -> None:
        moves = self.piece
        super().run_lock_timer()
        self.events["locked by time"] += self.piece is not moves


def new_game(case: Case) -> Watched:
    return Watched(case.mode, case.seed, case.pieces, case.start)


def heights_of(game: twin.Game) -> list[int]:
    heights = [0] * twin.WIDTH
    for x, y in game.board:
        heights[x] = max(heights[x], y + 1)
    return heights


def worth(game: twin.Game, heights: list[int], cells: list[twin.Cell], well: bool) -> int:
    """How good it is to have a piece there: low, even, nothing buried, full rows; the last column kept free for an I."""
    after, buried = list(heights), 0
    for x in {x for x, _ in cells}:
        column = [y for at, y in cells if at == x]
        buried += min(column) - heights[x]
        after[x] = max(column) + 1
    rows = {y for _, y in cells}
    lines = sum(sum((x, y) in game.board for x in range(10)) + sum(at == y for _, at in cells) == 10 for y in rows)
    value = 40 * lines - 90 * buried - 6 * sum(abs(a - b) for a, b in pairwise(after)) - 5 * max(rows)
    if well and after[9] > heights[9] and lines < 4 and max(heights) < 13:
        value -= 200
    return value


def choose(rng: random.Random, game: twin.Game, care: float, well: bool) -> str:
    """Turns and shifts to the best place for a straight drop, each place being thought of with chance ``care``."""
    heights, name = heights_of(game), game.piece.name
    best, inputs = None, ""
    for way in ("",) if name == "O" else ("", "x", "z", "xx"):
        turn = {"": "0", "x": "R", "z": "L", "xx": "2"}[way]
        for column in range(-5, 7):
            if rng.random() > care:
                continue
            shape = [(game.piece.x + column + x, y) for x, y in twin.SHAPES[name][turn]]
            if not all(0 <= x < twin.WIDTH for x, _ in shape):
                continue
            bottom = max(heights[x] - y for x, y in shape)
            value = worth(game, heights, [(x, y + bottom) for x, y in shape], well)
            if best is None or value > best:
                best, inputs = value, way + ("l" if column < 0 else "r") * abs(column)
    return inputs


def play(rng: random.Random, case: Case) -> str:
    """The log of a player who mostly drops straight down, stopped early or at the end of the game."""
    game = new_game(case)
    care, well, patience = rng.choice([0.1, 1, 1, 1]), rng.random() < 0.6, rng.choice([0, 0, 3, 12, 40])
    restless = rng.choice([0, 0.15])
    log = ""
    for _ in range(rng.choice([2, 8, 30, 60, 110])):
        if game.finished or game.piece is None:
            break
        letters = choose(rng, game, care, well)
        if rng.random() < 0.1 and not game.hold_used:
            letters = "c"
        elif rng.random() < restless:
            letters += "d" * rng.randrange(22) + rng.choice(["x", "z", "l", "r", "zx", ""]) * rng.randrange(3)
        letters += "h" if letters != "c" and (not restless or rng.random() < 0.95) else ""
        for letter in letters:
            ticks = rng.randrange(patience + 1) if rng.random() < 0.5 else 0
            game.pass_time(ticks)
            if game.complaint(letter):
                return log
            game.apply(letter)
            log += f"{ticks or ''}{letter}"
    return log + (str(rng.randrange(400)) if rng.random() < 0.3 else "")


def fumble(rng: random.Random, _: Case) -> str:
    """Any inputs, with any waits."""
    letters = rng.choice(["lrxzdhc", "lrxzdd", "lrxzdddddddh", "xzxzlrddh", "lrxzh", "chhh", "h", "lrxzdh", "lrxzdh"])
    waits = rng.choice([[0], [0, 0, 0, 1, 2, 7], [0, 0, 0, 20, 29, 30, 31, 61], [0, 100, 1300], [0, 0, 7200, 10000, 50000]])
    return "".join(f"{rng.choice(waits) or ''}{rng.choice(letters)}" for _ in range(rng.choice([3, 20, 80, 200])))


def fiddle(rng: random.Random, case: Case) -> str:
    """A piece brought down and moved about on the ground, again and again: lock timer, resets and renewals."""
    log = ""
    for _ in range(rng.choice([1, 3, 6])):
        log += rng.choice(["", "x", "z", "xx"]) + rng.choice("lr") * rng.randrange(6) + "d" * rng.choice([3, 10, 22])
        moves = rng.choice(["lr", "lrxz", "xz", "x", "lrxzd"])
        wait = rng.choice([1, 5, 20, 28, 29, 30])
        for _ in range(rng.choice([5, 17, 40])):
            log += f"{max(0, wait - rng.choice([0, 0, 1, 8])) or ''}{rng.choice(moves)}"
        log += rng.choice(["h", "30", "29h", "31h", "c", ""]) if rng.random() < 0.8 else ""
        if log[-1:].isdigit():
            log += rng.choice("lrxzdhc")
    return log


def wait_long(rng: random.Random, case: Case) -> str:
    """Few inputs, and the game left alone for minutes or for a day."""
    days = [5_183_999, 5_184_000, 5_184_001, 10**9 - 1, 2**31 % 10**9] if rng.random() < 0.1 else []
    numbers = [*days, 600, 1229, 1230, 1231, 7199, 7200, 7201, 20_000, 60_000]
    tokens = [f"{rng.choice(['', '0', '00'])}{rng.choice(numbers)}{rng.choice('lrxzdhc')}" for _ in range(rng.randrange(3))]
    return "".join(tokens) + rng.choice(["", str(rng.choice(numbers))])


def spin(rng: random.Random) -> tuple[Case, str]:
    """A T brought into a slot by a turn, with something small added, left out or changed, and some pieces after it."""
    start, inputs = rng.choice(SLOTS)
    if rng.random() < 0.5:
        start, inputs = mirrored(start), inputs.translate(MIRRORED)
    under = rng.choice([0, 0, 4, 4, 8])
    # Rows below the slot, with a well at a side for the I that follows.
    rows = (["JJJJJJJJJ1"] if rng.random() < 0.5 else ["1JJJJJJJJJ"]) * under
    inputs = inputs.replace("d" * 13, "d" * (13 - under), 1)
    if rng.random() < 0.5:
        at = rng.randrange(len(inputs) + 1)
        inputs = inputs[:at] + rng.choice(["", "x", "z", "l", "r", "d", "1", "xz", "30", "61"]) + inputs[at + rng.randrange(2) :]
    inputs += rng.choice(["h", "h", "h", "60h", "lh", "dh", "xzh", "100c", "h"])
    rest = rng.choice(["", "xrrrrh", "zllllh", "xrrrrhh", "hh"])
    case = Case(b"", random_mode(rng), 0, "T" + rng.choice(["IITO", "IIII", "OJLT"]), "/".join([start, *rows]))
    return case, inputs + rest


def empty_board(rng: random.Random) -> tuple[Case, str]:
    """Perfect clears one after the other where a board is a multiple of itself, now and then with an input too many."""
    piece, start, inputs = rng.choice(NEARLY_EMPTY)
    times = rng.randrange(1, 4)
    logs = [inputs if rng.random() < 0.8 else inputs.replace("r", rng.choice(["r", "rd", "lr", "3r"])) for _ in range(times)]
    return Case(b"", random_mode(rng), 0, piece * times + "TI", "/".join([start] * times)), "".join(logs)


def spaced(rng: random.Random, log: str) -> bytes:
    """The log with white space between some of its tokens, or as it is."""
    if rng.random() < 0.7:
        return log.encode()
    out, number = "", ""
    for char in log:
        if char.isdigit():
            number += char
            continue
        out += (rng.choice(SPACES) if rng.random() < 0.3 else "") + number + char
        number = ""
    return (out + rng.choice(["", " "]) + number + rng.choice(["", " ", "\n"])).encode()


def mutate(rng: random.Random, log: bytes) -> bytes:
    """The log with one to three bytes or stretches changed."""
    changed = bytearray(log)
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(8):
            case 0 if changed:
                changed[at % len(changed)] ^= 1 << rng.randrange(8)
            case 1 | 2 if changed:
                changed[at % len(changed)] = rng.choice(NOTATION)
            case 3:
                changed[at:at] = rng.choice([b"c", b"cc", b"9", b"000000000", b"12 3", b"7 ", b"h", b"60"])
            case 4:
                changed.insert(at, rng.choice([rng.randrange(256), 0, 0xA0, ord("-"), ord("."), ord("L")]))
            case 5:
                del changed[at : at + rng.choice([1, 1, 5])]
            case 6:
                changed[at:at] = changed[at : at + rng.randrange(1, 12)]
            case 7:
                changed[at:at] = rng.choice([*SPACES, "\u00a0", "\x00", "\x85"]).encode()
    return bytes(changed)


def random_claim(rng: random.Random, board: str) -> bytes:
    """A claimed board: the right one, the same written otherwise, another one, or text that is none."""
    kind = rng.randrange(5)
    if kind < 2:
        return board.encode()
    if kind == 2:
        return padded(rng, board, twin.WIDTH, twin.HEIGHT)
    if kind == 3:
        cells = twin.read_board(board)
        cells[rng.randrange(10), rng.randrange(40)] = rng.choice(twin.NAMES)
        return twin.write_board(cells).encode()
    return scribbled(rng, board, b"IJLOSTZ//00123456789-")


@dataclass(frozen=True)
class Played:
    """A case, the slow twin's answer, which generator made it, and what happened in it."""

    case: Case
    expected: twin.Result
    maker: str
    events: Counter[str]


MAKERS = {"play": play, "fumble": fumble, "fiddle": fiddle, "wait_long": wait_long}
BOARDS = {"spin": spin, "empty_board": empty_board}
SHARES = ["play", "play", "play", "fumble", "fumble", "fiddle", "spin", "spin", "spin", "wait_long", "empty_board"]


def make_games(rng: random.Random, count: int) -> list[Played]:
    """``count`` games: of each three one as made and two with bytes changed."""
    games: list[Played] = []
    while len(games) < count:
        maker = rng.choice(SHARES)
        if maker in BOARDS:
            opening, text = BOARDS[maker](rng)
        else:
            opening = open_case(rng)
            text = MAKERS[maker](rng, opening)
        log = spaced(rng, text)
        for number in range(3):
            case = replace(opening, log=mutate(rng, log) if number else log)
            game = new_game(case)
            expected = twin.play(game, case.log)
            claim = random_claim(rng, expected.board)
            games.append(Played(replace(case, claim=claim), expected, maker, game.events))
    return games[:count]
