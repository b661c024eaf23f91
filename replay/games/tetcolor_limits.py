"""What a log of Tetcolor can earn at most on its deal, and what it may lack at its end.

Only a piece that locks changes a claim; drops bring nothing.  Locks: by an input, a piece locks at an `h` that follows another
`h` of the same piece, so two of a log's `h` lock one piece at most.  By time, a piece locks at the end of a tick in which it is
the one in play, and the next one enters after that tick, so every such lock takes a tick of its own.  (On a support it is 24
ticks, but a sealed piece needs one only.)

Blocks: each is destroyed once, and there are those of the start and of the pieces that lock.  A settle destroys no more than the
board holds.  A successful pass destroys at least one; where no block is a stone or under ice, all that is struck is destroyed:
three at least, a whole row where only rows are matched.

One settle that destroys n blocks: with at least m a pass, k passes pay the sum of t(n_i) x 2^i, t(n) = n(n + 1)/2.  That is
convex in the n_i, so it is largest where all passes but one destroy m, and that one, the last for its multiplier, the rest.
Where rows are paid, a row costs as many blocks as a pass needs, and the best cut of n into rows is looked for.  Bombs pay for
each block besides.

Several settles that destroy N blocks together pay no more than N times the best pay a block that a settle has, nor more than
the best settle each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from engine.board import BoardError
from engine.outcome import APPLIED, BOARD_DIFFERS, BOARD_EQUAL
from engine.tetcolor import kernel as k
from engine.tetcolor import layout as at
from engine.tetcolor import notation
from engine.tetcolor.pieces import room_below
from engine.tetcolor.rules import TetcolorRules
from engine.tetcolor.single import Deal, Game, trace
from replay.games.kind import Bound
from replay.record import Record

CLAIMS = ("score", "best_combo")
ROW_AWARDS = 4
HARD = ord("h")
# In the order in which endings are named.
_LETTERS = "hdlrxz"
# Pieces that time alone may have locked before a lost input: more than it takes to fill the middle of an empty board.
MOST_ALONE = 30
_NUMBER = re.compile(rb"[0-9]+")
_TRAILING = re.compile(rb"([0-9]+)\s*$")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a stretch of a log holds: hard drops and ticks."""

    hard: int = 0
    ticks: int = 0


def rest_by_token(log: bytes) -> list[Inputs]:
    """What is left of a log before its first token, after it, after the second...; what cannot be read is left out."""
    tokens: list[Inputs] = []
    pos, st = 0, [0] * at.N_STATE
    while True:
        code, pos = k.read_token(log, pos, len(log), st)
        if code != APPLIED:
            break
        tokens.append(Inputs(st[at.LETTER] == HARD, st[at.TICKS]))
    rest = [Inputs()]
    for token in reversed(tokens):
        rest.append(Inputs(rest[-1].hard + token.hard, rest[-1].ticks + token.ticks))
    rest.reverse()
    return rest


def all_inputs(log: bytes, longest: int) -> Inputs:
    """What a log holds, told from its bytes: what is no token is counted like one."""
    ticks = sum(int(run) if len(run) <= k.MAX_DIGITS else longest for run in _NUMBER.findall(log))
    return Inputs(log.count(b"h"), ticks)


@dataclass(frozen=True)
class Limits:
    """What a mode on a deal allows at most; ``plain`` where no block is a stone, a bomb or under ice."""

    params: tuple[int, ...]
    piece_blocks: int
    plain: bool

    @property
    def most_blocks(self) -> int:
        """How many blocks a board holds."""
        return self.params[at.P_WIDTH] * self.params[at.P_HEIGHT]

    @property
    def least_pass(self) -> int:
        """How many blocks a successful pass destroys at least."""
        if not self.plain:
            return 1
        return self.params[at.P_RUN] if self.params[at.P_RUNS] else self.params[at.P_WIDTH]

    @cached_property
    def settles(self) -> list[int]:
        """The most points of one settle by the number of blocks that it destroys, from 0 to a board's."""
        pays = self._row_settles() if self.params[at.P_BY_ROWS] else [self._run_settle(n) for n in range(self.most_blocks + 1)]
        bomb = 0 if self.plain else self.params[at.P_BOMB]
        return [pay + bomb * n for n, pay in enumerate(pays)]

    def _run_settle(self, blocks: int) -> int:
        least, doublings = self.least_pass, self.params[at.P_DOUBLINGS]
        best = before = 0
        for number in range(blocks // least):
            last, times = blocks - number * least, 1 << min(number, doublings)
            best = max(best, before + last * (last + 1) // 2 * times)
            before += least * (least + 1) // 2 * times
        return best

    def _row_settles(self) -> list[int]:
        awards = self.params[at.P_AWARD : at.P_AWARD + ROW_AWARDS]
        rows = [0]
        for number in range(1, self.most_blocks // self.least_pass + 1):
            rows.append(max(rows[number - n] + awards[n - 1] for n in range(1, min(ROW_AWARDS, number) + 1)))
        return [rows[blocks // self.least_pass] for blocks in range(self.most_blocks + 1)]

    @cached_property
    def rates(self) -> list[tuple[int, int]]:
        """By blocks, the best (points, blocks) of the settles that destroy so many or fewer, compared by points a block."""
        out = [(0, 1)]
        for blocks, points in enumerate(self.settles[1:], start=1):
            best = out[-1]
            out.append((points, blocks) if points * best[1] > best[0] * blocks else best)
        return out

    def locks(self, rest: Inputs, remembered: int = 0) -> int:
        """How many pieces can lock; ``remembered``: a hard drop has been made with the piece in play."""
        return (rest.hard + remembered) // 2 + min(rest.ticks, self.params[at.P_LONGEST])

    def points(self, blocks: int, locks: int) -> int:
        """The most points that so many locks bring on a board that holds so many blocks."""
        if not locks:
            return 0
        there = blocks + locks * self.piece_blocks
        at_once = min(there, self.most_blocks)
        points, size = self.rates[at_once]
        return min(locks * self.settles[at_once], points * there // size)

    def passes(self, blocks: int, locks: int) -> int:
        """The most successful passes of one of so many locks."""
        return min(blocks + locks * self.piece_blocks, self.most_blocks) // self.least_pass if locks else 0


def limits_of(rules: TetcolorRules, deal: Deal, mode: str) -> Limits:
    """The limits of a mode that exists.  Specials come from a draw, a list or a start board."""
    family, params = rules.family(mode), rules.params[mode]
    assert family is not None
    listed = deal.pieces is not None
    pool = (*family.pool, *(() if params[at.P_RELAX] and not listed else family.expanded))
    cells = [*(deal.start or ())]
    for piece in deal.pieces or ():
        cells += (piece >> at.PIECE_SHIFT + n * at.CELL_SHIFT & at.CELL_MASK for n in range(at.MAX_CELLS))
    plain = (listed or not params[at.P_ARCADE]) and not any(cell & ~at.COLOUR for cell in cells)
    return _limits(tuple(params), max(len(shape.cells) for shape in pool), plain)


@lru_cache(maxsize=32)
def _limits(params: tuple[int, ...], piece_blocks: int, plain: bool) -> Limits:
    return Limits(params, piece_blocks, plain)


def blocks_on(game: Game) -> int:
    """How many blocks have settled and are still there."""
    rows = (1 << game.height) - 1
    return sum((game.cols[column] & rows).bit_count() for column in range(at.LEFT, at.LEFT + game.width))


def bounds(rules: TetcolorRules, deal: Deal, log: bytes, mode: str) -> dict[str, Bound]:
    """What no log of these inputs and this time can go beyond on this deal, in words; {} where the mode does not exist."""
    if mode not in rules.params:
        return {}
    limits, start = limits_of(rules, deal, mode), blocks_on(Game(rules, deal, b"", mode))
    locks = limits.locks(all_inputs(log, rules.longest_ticks))
    blocks = start + locks * limits.piece_blocks if locks else 0
    why = f"{_count(locks, 'piece')} can land, {_count(blocks, 'block')} can be destroyed"
    return {
        "score": Bound(limits.points(start, locks), why),
        "best_combo": Bound(limits.passes(start, locks), f"{why}, {limits.least_pass} or more a pass"),
    }


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


# --- A log that lacks its end


def missing_moves(game: Game, record: Record) -> list[str]:
    """The ways in which one more input would give the claims: its text, with the time before it and, where it matters, after it.

    Claims change only when the piece in play locks.  So these endings are tried, each of one input or none, of the piece in play
    (or that which is waited for) and of those that come while time alone locks the ones before (somebody put the phone down):
    - the input comes at once or when the piece has just fallen a row (other waiting times change nothing), and it locks the
      piece, or then time runs until the piece locks;
    - no input, time runs until the piece locks.
    Of endings that differ only in the time before the same input the shortest is named.  More than one lost input is told from
    nothing.
    """
    if game.finished:
        return []
    # A trailing time at the end of the log belongs to the time before the missing input.
    trailing = _TRAILING.search(game.log)
    waited = int(trailing[1]) if trailing else 0
    found: dict[str, str] = {}
    # Pieces that come down leave another board; most claims that do not come out are points alone.
    moved = game.board_equals(record.final_board) == BOARD_DIFFERS
    for ticks, standing in _left_alone(game) if moved else [(0, game)]:
        # Points are never lost again.
        if standing.score > record.score:
            break
        for letter, wait, after in _endings(standing, record):
            before = waited + ticks + wait
            found.setdefault(letter, f"{before or ''}{letter}{after or ''}" if letter else f"{before + after}")
    return [found[letter] for letter in (*_LETTERS, "") if letter in found]


def _left_alone(game: Game) -> Iterator[tuple[int, Game]]:
    """The game as it stands, and as it stands after each lock that time brings from there, with the ticks until then."""
    yield 0, game
    clock = game.clock
    waiting = trace(game.fork(str(game.rules.longest_ticks - clock).encode()))
    # The piece locks at the end of that tick.
    locks = (event.tick + 1 - clock for event in waiting if event.kind == "lock")
    for ticks in islice(locks, MOST_ALONE):
        later = game.fork(str(ticks).encode())
        later.run()
        if later.finished:
            return
        yield ticks, later


def _endings(game: Game, record: Record) -> Iterator[tuple[str, int, int]]:
    """The endings of the piece in play that give the claims: the letter ("": none), the time before it and the time after it."""
    if not _can_come_out(game, record):
        return
    waits = _waits(game)
    for letter in _LETTERS:
        for wait in waits:
            after = _ending(game, record, wait, letter)
            if after is not None:
                yield letter, wait, after
                break
    alone = _ending(game, record, 0, "")
    if alone:
        yield "", 0, alone


def _can_come_out(game: Game, record: Record) -> bool:
    """Whether one more lock could give the claims, as far as numbers tell."""
    try:
        cells = notation.read_board(record.final_board, game.width, game.height)
    except BoardError:
        return False
    limits, now = limits_of(game.rules, game.deal, game.mode), blocks_on(game)
    return (
        0 <= record.score - game.score <= limits.points(now, 1)
        and game.best_combo <= record.best_combo <= max(game.best_combo, limits.passes(now, 1))
        and sum(cell != 0 for row in cells for cell in row) <= now + limits.piece_blocks
    )


def _waits(game: Game) -> list[int]:
    """No time, and the ticks after which the piece in play has just fallen a row, up to its landing."""
    entered, before = game, 0
    if game.st[at.PHASE] == at.WAITING:
        before = game.st[at.ENTER_AT] - game.st[at.CLOCK]
        entered = game.fork(str(before).encode())
        entered.run()
    st = entered.st
    if st[at.PHASE] != at.FALLING:
        return [before]
    first = max(1, st[at.ROW_TIME] - st[at.COUNTER])
    rows = room_below(entered.rules.tables, entered.cols, st)
    return [before, *(before + first + row * st[at.ROW_TIME] for row in range(rows))]


def _ending(game: Game, record: Record, wait: int, letter: str) -> int | None:
    """The time after one more input (``letter`` "": none) that makes the claims come out, None when none does."""
    tried = game.fork(f"{wait or ''}{letter}".encode())
    if letter and tried.step() != APPLIED:
        return None
    locked = game.pieces_settled + 1
    if tried.pieces_settled >= locked:
        return 0 if tried.pieces_settled == locked and _comes_out(tried, record) else None
    clock = tried.clock
    tried = tried.fork(str(tried.rules.longest_ticks - clock).encode())
    after = 0
    for event in trace(tried):
        if event.kind == "lock":
            # The piece locks at the end of that tick.
            after = event.tick + 1 - clock
        if tried.pieces_settled == locked:
            break
    return after if after and _comes_out(tried, record) else None


def _comes_out(game: Game, record: Record) -> bool:
    same = (game.score, game.best_combo) == (record.score, record.best_combo)
    return same and game.board_equals(record.final_board) == BOARD_EQUAL
