"""Seeded random games of Tetcolor, honest and mutated, made with the slow twin alone."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from tests.engine.random_games import EDGE_SEEDS, SPACES, padded, scribbled
from tests.engine.random_tetromino import spaced
from tests.engine.tetcolor_support import Case
from tests.reference import tetcolor as twin
from tests.reference import tetcolor_settle as field
from tests.reference.tetcolor_settle import Board

NOTATION = b"lrxzdh0123456789 "
NEAR_MODES = [
    "", "-", "duo", "duo/arcade", "duo/arcade/normal/", "duo/arcade/normal/handicap/handicap", "columns/arcade/crazy",
    "Duo/arcade/normal", "columns/classic/crazy/handicap", "duo/arcade/relax", "duo/arcade/relax0", "duo/arcade/relax9",
    "duo/arcade/relax01", "marathon/1", "retris/modern/normal", " duo/arcade/normal", "duo/arcade/handicap", "tetcolor/classic/crazy/relax1", "duo/arcade/normal\n",
]  # fmt: skip


Palette = tuple[str, str, float, float]


def random_block(rng: random.Random, colours: str, kinds: str, specials: float, ice: float) -> str:
    kind = rng.choice(kinds) if rng.random() < specials else ""
    return rng.choice(colours) + kind + ("*" if rng.random() < ice else "")


def random_palette(rng: random.Random) -> Palette:
    """Colours, kinds of specials, share of specials and share of ice."""
    colours = "".join(rng.sample(field.COLOURS, rng.choice([1, 2, 2, 3, 5])))
    kinds = rng.choice(["NHVLMAS", "NHVLMAS", "NHVLMAS", "AS", "S", "A", "LS", "NA", "MA", rng.choice("NHVLM")])
    return colours, kinds, rng.choice([0, 0.1, 0.3, 0.7, 1]), rng.choice([0, 0, 0, 0.1, 0.3, 1])


def random_start(rng: random.Random, family: str) -> str:
    """A board without match and full row: with a well, with a hole a row, or strewn; the upper rows often empty."""
    width, height = field.SIZES[family]
    rows = range(height - rng.choice([1, 2, 4, 6, height // 2, height - 3, height]), height)
    kind, share = rng.randrange(3), rng.choice([0.1, 0.4, 0.8, 0.95])
    gap = rng.choice([0, width - 1, rng.randrange(width)])
    colours, *others = random_palette(rng)
    colours = colours if len(colours) > 2 else "abcd"
    board: Board = {}
    for r in rows:
        hole = gap if kind == 0 else rng.randrange(width)
        for c in range(width):
            if (kind < 2 and c == hole) or (kind == 2 and rng.random() > share):
                continue
            board[r, c] = random_block(rng, colours, *others)
            if family in field.MATCHES_RUNS:
                keep_apart(rng, board, (r, c))
        if family in field.CLEARS_ROWS and all((r, c) in board for c in range(width)):
            del board[r, rng.randrange(width)]
    return field.write_board(board, family)


def keep_apart(rng: random.Random, board: Board, place: field.Place) -> None:
    """Recolour a block that completes a run; leave it out where no colour will do."""
    others = board[place][1:]
    for colour in [board[place][0], *rng.sample(field.COLOURS, 5)]:
        board[place] = colour + others
        r, c = place
        # Rows are filled downwards, so that a run can only end here.
        if not any(
            line
            for at in ((r, c - 2), (r - 2, c), (r - 2, c - 2), (r - 2, c + 2))
            for line in field.triples(board, at)
            if place in line
        ):
            return
    del board[place]


def random_pieces(rng: random.Random, family: str) -> str:
    """Listed pieces, often with more specials than a draw has, of one shape or of all."""
    shapes = twin.pool(family, expanded=True)
    shapes = rng.sample(shapes, min(len(shapes), rng.choice([1, 2, 99])))
    palette = random_palette(rng)
    texts = []
    for _ in range(rng.choice([1, 2, 5, 20, 40])):
        name, places, _, _ = rng.choice(shapes)
        texts.append(f"{name}:{''.join(random_block(rng, *palette) for _ in places)}")
    return " ".join(texts)


def open_case(rng: random.Random) -> Case:
    """A challenge and a mode, with an empty log."""
    seed = rng.choice(EDGE_SEEDS) if rng.random() < 0.1 else rng.getrandbits(64)
    if rng.random() < 0.01:
        return Case(b"", rng.choice(NEAR_MODES), seed)
    mode = rng.choice(twin.MODES)
    family = mode.split("/")[0]
    pieces = random_pieces(rng, family) if rng.random() < 0.4 else ""
    start = random_start(rng, family) if rng.random() < 0.45 else rng.choice(["", "", "", "-"])
    return Case(b"", mode, seed, pieces, start)


def new_game(case: Case) -> twin.Game:
    return twin.Game(case.mode, case.seed, case.pieces, case.start)


# Players.


def placements(rng: random.Random, game: twin.Game, most: int) -> Iterator[tuple[str, Board]]:
    """Up to ``most`` straight drops of the piece in play: (inputs, places on the board)."""
    ways: list[tuple[str, twin.Piece]] = []
    piece: twin.Piece | None = game.piece
    original = game.piece
    for letters in ("", "x", "xx", "z"):
        game.piece = original if letters != "xx" else piece
        piece = original if not letters else game.after_turn(letters[0])
        if piece is None:
            break
        ways.append((letters, piece))
    game.piece = original
    columns = range(-game.width, game.width)
    for _ in range(most):
        letters, turned = rng.choice(ways)
        right = rng.choice(columns)
        if not game.free(turned.on_board(right=right)):
            continue
        down = 0
        while game.free(turned.on_board(down=down + 1, right=right)):
            down += 1
        yield letters + ("l" if right < 0 else "r") * abs(right), turned.on_board(down, right)


def worth(game: twin.Game, placed: Board) -> int:
    """How good it is to have a piece there: full rows, runs, nothing buried, low and even."""
    after = game.board | placed
    value = 0
    if game.family in field.CLEARS_ROWS:
        value += 60 * sum(all((r, c) in after for c in range(game.width)) for r in {r for r, _ in placed})
    if game.family in field.MATCHES_RUNS:
        near = {(r + down, c + right) for r, c in placed for down in (0, -1, -2) for right in (-2, -1, 0, 1, 2)}
        value += 20 * len({at for place in near if place in after for line in field.triples(after, place) for at in line})
    tops = [min((r for r, at in after if at == c), default=game.height) for c in range(game.width)]
    buried = sum((r + 1, c) not in after and r + 1 < game.height for r, c in placed)
    return value - 35 * buried - 3 * sum(abs(a - b) for a, b in pairwise(tops)) - 4 * sum(game.height - r for r, _ in placed)


def play(rng: random.Random, case: Case) -> str:
    """The log of a player who mostly drops straight down, stopped early or at the end of the game."""
    game = new_game(case)
    patience, many = rng.choice([0, 0, 3, 12]), rng.choice([2, 8, 20, 60])
    log = ""
    for _ in range(rng.choice([2, 8, 20, 40])):
        played = play_piece(rng, game, many, patience)
        log += played
        if not played:
            break
    return log + (str(rng.randrange(400)) if rng.random() < 0.3 else "")


def play_long(rng: random.Random, case: Case) -> str:
    """A good player's log, long enough for many levels; then pieces that fall at the speed of the level."""
    game = new_game(case)
    log = ""
    for _ in range(rng.choice([22, 45, 140])):
        played = play_piece(rng, game, 60, 0)
        log += played
        if not played:
            break
    return log + "".join(f"{rng.randrange(1, 60)}{rng.choice('lrxzd')}" for _ in range(rng.randrange(30)))


def fill_well(rng: random.Random, case: Case) -> tuple[Case, str]:
    """Full rows but for a well at a side, stones and ice among them, and a long piece that fills it: rows of every number."""
    family = rng.choice(["duo", "retris", "retris"])
    length = rng.choice([4, 4, 5])
    width, height = field.SIZES[family]
    left = rng.random() < 0.5
    well, palette = 0 if left else width - 1, random_palette(rng)
    colours = palette[0] if len(palette[0]) > 2 else "abcd"
    board: Board = {}
    for r in range(height - rng.randrange(1, length + 2), height):
        # Rows of stones or of ice alone: nothing of them is destroyed, or only the ice goes.
        kind = rng.choice([palette[1:], palette[1:], ("S", 1, 0), ("S", rng.choice([0, 1]), 1)])
        for c in range(width):
            if c != well:
                board[r, c] = random_block(rng, colours, *kind)
                if family == "duo":
                    keep_apart(rng, board, (r, c))
    pieces = [
        f"I:{''.join(random_block(rng, colours, *rng.choice([palette[1:], ('S', 1, 0)])) for _ in range(length))}"
        for _ in range(3)
    ]
    mode = rng.choice([mode for mode in twin.MODES if mode.startswith(family)])
    opening = replace(case, mode=mode, pieces=" ".join(pieces), start=field.write_board(board, family))
    aside = "x" + rng.choice(["", "x", "z"]) + ("l" if left else "r") * width + "hh"
    return opening, aside + rng.choice(["", "60", "xllhh", aside])


def play_piece(rng: random.Random, game: twin.Game, many: int, patience: int) -> str:
    """The inputs of one piece, applied to the game; empty when there is none any more."""
    if game.enters_at is not None:
        wait = game.enters_at - game.clock - rng.choice([0, 0, 0, 1])
        game.pass_time(wait)
        log = f"{wait or ''}"
    else:
        log = ""
    if game.piece is None:
        # Bombs still go off, or the game is over or out of pieces.
        return send(game, log, "h", 0) if not game.finished and game.enters_at is not None else ""
    best = max(placements(rng, game, many), key=lambda way: worth(game, way[1]), default=("", {}))
    letters = best[0] + rng.choice(
        ["hh", "hh", "hh", "hh", "d" * rng.randrange(12) + "hh", "h", "hlh", "hrrh", "dxhh"][: 4 if many > 20 else 9]
    )
    for letter in letters:
        ticks = rng.randrange(patience + 1) if rng.random() < 0.5 else 0
        game.pass_time(ticks)
        if game.complaint():
            break
        log = send(game, log, letter, ticks)
    return log


def send(game: twin.Game, log: str, letter: str, ticks: int) -> str:
    """The log with one more input, which the game gets too; time that stands at the log's end is its."""
    game.apply(letter)
    found = re.search("[0-9]+$", log)
    waited = int(found[0]) if found else 0
    return f"{log[: found.start()] if found else log}{waited + ticks or ''}{letter}"


def fumble(rng: random.Random, _: Case) -> str:
    """Any inputs, with any waits."""
    letters = rng.choice(["lrxzdh", "lrxzdd", "lrxzdddddddh", "xzxzlrddh", "lrhh", "h", "hhhd"])
    waits = rng.choice([[0], [0, 0, 0, 1, 2, 7], [0, 0, 0, 23, 24, 25, 30], [0, 100, 1300], [0, 0, 29, 30, 31, 59, 60, 61, 90]])
    return "".join(f"{rng.choice(waits) or ''}{rng.choice(letters)}" for _ in range(rng.choice([3, 20, 80, 160])))


def fiddle(rng: random.Random, _: Case) -> str:
    """A piece moved about on its support, again and again: the landing window, gaps, hard drops remembered and lost."""
    log = ""
    for _ in range(rng.choice([1, 3, 8])):
        log += (
            rng.choice(["", "x", "z", "xx"])
            + rng.choice("lr") * rng.randrange(6)
            + rng.choice(["h", "d" * rng.choice([3, 10, 20])])
        )
        moves = rng.choice(["lr", "lrxz", "xz", "x", "lrxzd", "lllrrrh"])
        waits = rng.choice([[0, 1], [0, 0, 5, 20], [22, 23, 24, 25], [0, 0, 0, 47, 48]])
        for _ in range(rng.choice([2, 6, 15])):
            log += f"{rng.choice(waits) or ''}{rng.choice(moves)}"
        log += rng.choice(["h", "hh", "24h", "23hh", "25d"])
    return log


def wait_long(rng: random.Random, _: Case) -> str:
    """Few inputs, and the game left alone for minutes or for a day."""
    days = [5_183_999, 5_184_000, 5_184_001, 10**9 - 1, 2**31 % 10**9] if rng.random() < 0.3 else []
    numbers = [*days, 600, 984, 985, 1229, 7200, 20_000, 60_000]
    tokens = [f"{rng.choice(['', '0', '00'])}{rng.choice(numbers)}{rng.choice('lrxzdh')}" for _ in range(rng.randrange(4))]
    return "".join(tokens) + rng.choice(["", str(rng.choice(numbers))])


# Damage.


def mutate(rng: random.Random, log: bytes) -> bytes:
    """The log with one to three bytes or stretches changed."""
    changed = bytearray(log)
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(9):
            case 0 if changed:
                changed[at % len(changed)] ^= 1 << rng.randrange(8)
            case 1 | 2 | 3 if changed:
                changed[at % len(changed)] = rng.choice(NOTATION)
            case 4:
                changed[at:at] = rng.choice([b"hh", b"d", b"9", b"000000000", b"12 3", b"7 ", b"h", b"24", b"30"])
            case 5:
                changed.insert(at, rng.choice([rng.randrange(256), 0, 0xA0, ord("-"), ord("c"), ord("L")]))
            case 6:
                del changed[at : at + rng.choice([1, 1, 5])]
            case 7:
                changed[at:at] = changed[at : at + rng.randrange(1, 12)]
            case 8:
                changed[at:at] = rng.choice([*SPACES, "\u00a0", "\x00", "\x85"]).encode()
    return bytes(changed)


def random_claim(rng: random.Random, board: str, mode: str) -> bytes:
    """A claimed board: the right one, the same written otherwise, another one, or text that is none."""
    kind = rng.randrange(5)
    if kind < 2 or mode not in twin.MODES:
        return board.encode()
    family = mode.split("/")[0]
    width, height = field.SIZES[family]
    if kind == 2:
        return padded(rng, board, width, height)
    if kind == 3:
        cells = field.read_board(board, family)
        cells[rng.randrange(height), rng.randrange(width)] = random_block(rng, field.COLOURS, "NHVLMAS", 0.3, 0.3)
        return field.write_board(cells, family).encode()
    return scribbled(rng, board, b"abcdeNHVLMAS***//00123456789-")


@dataclass(frozen=True)
class Played:
    """A case, the slow twin's answer, which generator made it, and what happened in it."""

    case: Case
    expected: twin.Result
    maker: str
    events: Counter[str]


MAKERS = {"play": play, "fumble": fumble, "fiddle": fiddle, "wait_long": wait_long, "play_long": play_long}
BOARDS = {"fill_well": fill_well}
SHARES = ["play"] * 10 + ["fumble"] * 4 + ["fiddle"] * 4 + ["wait_long"] * 2 + ["fill_well"]
# One in so many games is a long one.
LONG_ONE_IN = 50


def make_games(rng: random.Random, count: int) -> list[Played]:
    """``count`` games: of each three one as made and two with bytes changed."""
    games: list[Played] = []
    while len(games) < count:
        maker = rng.choice(SHARES)
        opening = open_case(rng)
        if rng.randrange(LONG_ONE_IN) == 0:
            maker = "play_long"
            mode = rng.choice([mode for mode in twin.MODES if "normal" in mode])
            opening = Case(b"", mode, rng.getrandbits(64))
        if maker in BOARDS:
            opening, text = BOARDS[maker](rng, opening)
        else:
            text = MAKERS[maker](rng, opening) if opening.mode in twin.MODES else fumble(rng, opening)
        log = spaced(rng, text)
        for number in range(3):
            case = replace(opening, log=mutate(rng, log) if number else log)
            game = new_game(case)
            expected = twin.play(game, case.log)
            claim = random_claim(rng, expected.board, case.mode)
            events = game.events + Counter({f"level {expected.level}": 1})
            games.append(Played(replace(case, claim=claim), expected, maker, events))
    return games[:count]
