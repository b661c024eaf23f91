"""What a log of Tetromino Arcade can earn at most, from its inputs and its time alone, and what it may lack at its end.

Locks: a piece locks by a hard drop, or when its lock timer has counted ``lock_delay`` ticks.  A tick is counted for the one piece
in play and for no other, and a count that is lost (a reset, hold) brings no lock.  So in T ticks at most T // lock_delay pieces
lock by time, or (T + lock_delay - 1) // lock_delay when the piece in play may have counted before; no other input locks any.

Lines: a piece lies in four rows, so it clears four lines at most.  The largest value of a lock is that of its lines with
back-to-back and a perfect clear, times the level before it, which follows from the lines of the locks before; the k-th lock from
now has a combo count of at most k more than the one that runs.  A mode that ends at a number of lines pays no lock beyond it.
Drops: a soft drop is one cell, a hard drop at most the board's height less one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.board import BoardError, parse_cells
from engine.outcome import APPLIED, BOARD_EQUAL
from engine.tetromino import kernel as k
from engine.tetromino import pieces as p
from engine.tetromino.rules import PIECE_NAMES, TetrominoRules
from engine.tetromino.single import Game
from engine.tetromino.text import MAX_DIGITS, T_INPUT, T_TIME, next_token
from replay.games.kind import Bound
from replay.record import Record

HARD, SOFT = ord("h"), ord("d")
LINES_A_PIECE = 4
# In the order in which endings are named.
_LETTERS = "hdlrxzc"
# Pieces that time alone may have locked before a lost input: more than it takes to fill the middle of an empty board.
MOST_ALONE = 50
_NUMBER = re.compile(rb"[0-9]+")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a stretch of a log holds: hard drops, soft drops, ticks."""

    hard: int = 0
    soft: int = 0
    ticks: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a game stands: what its claims have come to, its running combo count (-1: none), ticks counted by the lock timer."""

    score: int
    best_combo: int
    level: int
    lines: int
    combo: int
    counted: int


def rest_by_token(log: bytes) -> list[Inputs]:
    """What is left of a log before its first token, after it, after the second...; what cannot be read is left out."""
    tokens: list[tuple[int, int]] = []
    pos = 0
    while True:
        kind, ticks, letter, pos = next_token(log, pos, len(log))
        if kind not in (T_INPUT, T_TIME):
            break
        tokens.append((ticks, letter))
        if kind == T_TIME:
            break
    rest = [Inputs()]
    for ticks, letter in reversed(tokens):
        after = rest[-1]
        rest.append(Inputs(after.hard + (letter == HARD), after.soft + (letter == SOFT), after.ticks + ticks))
    rest.reverse()
    return rest


class Limits:
    """What a mode allows at most; ``params`` are the kernel's."""

    def __init__(self, params: list[int]) -> None:
        self.params = params
        self.longest = params[p.P_END_TICKS] or params[p.P_LONGEST]
        times, parts = params[p.P_CHAIN_TIMES], params[p.P_CHAIN_PARTS]
        # The most that one lock is worth at level 1, without its combo.
        self.best_lock = max(
            max(params[table + lines] for table in (p.P_PLAIN, p.P_MINI, p.P_FULL)) * max(times, parts) // parts
            + params[p.P_PERFECT + lines]
            for lines in range(LINES_A_PIECE + 1)
        )

    def locks(self, rest: Inputs, counted: int) -> int:
        """How many pieces can lock; ``counted`` are ticks that the lock timer has counted before."""
        return rest.hard + (min(rest.ticks, self.longest) + counted) // self.params[p.P_LOCK_DELAY]

    def level(self, lines: int) -> int:
        """The level with that many lines."""
        return max(self.params[p.P_START], 1 + lines // self.params[p.P_LINES_A_LEVEL])

    def drops(self, rest: Inputs) -> int:
        """The most points that soft and hard drops bring."""
        return rest.soft * self.params[p.P_SOFT] + rest.hard * self.params[p.P_HARD] * (self.params[p.P_HEIGHT] - 1)

    def reach(self, now: Standing, rest: Inputs) -> dict[str, int]:
        """The largest value that each claim can still come to."""
        locks, goal = self.locks(rest, now.counted), self.params[p.P_END_LINES]
        lines = now.lines + LINES_A_PIECE * locks
        # Each lock but the last is paid before the mode's goal is reached.
        before_last = now.lines + LINES_A_PIECE * max(0, locks - 1)
        combo = now.combo + locks
        if goal:
            lines, before_last = min(lines, goal - 1 + LINES_A_PIECE), min(before_last, goal - 1)
            combo = min(combo, goal - 1)
        # Counts of now.combo + 1, + 2, ...; the first of a new sequence is 0.
        counts = max(0, locks * now.combo + locks * (locks + 1) // 2)
        awards = locks * self.best_lock + self.params[p.P_COMBO] * counts
        return {
            "score": now.score + max(now.level, self.level(before_last)) * awards + self.drops(rest),
            "best_combo": max(now.best_combo, combo),
            "level": max(now.level, self.level(lines)),
            "lines": max(now.lines, lines),
        }


def bounds(rules: TetrominoRules, mode: str, log: bytes) -> dict[str, Bound]:
    """What no log of these inputs and this time can go beyond, in words; what is no token is counted like one."""
    limits = Limits(rules.params(mode))
    ticks = sum(int(run) if len(run) <= MAX_DIGITS else limits.longest for run in _NUMBER.findall(log))
    rest = Inputs(log.count(b"h"), log.count(b"d"), ticks)
    start = limits.params[p.P_START]
    most = limits.reach(Standing(0, 0, start, 0, -1, 0), rest)
    locks = limits.locks(rest, 0)
    pieces = f"{locks:,} {'piece' if locks == 1 else 'pieces'} can land"
    return {
        "score": Bound(most["score"], f"{pieces}, drops bring {limits.drops(rest):,}"),
        "best_combo": Bound(max(0, most["best_combo"]), pieces),
        "level": Bound(most["level"], pieces, start),
        "lines": Bound(most["lines"], pieces),
    }


# --- A log that lacks its end


def missing_moves(game: Game, record: Record) -> list[str]:
    """The ways in which one more input would give the claims: its text, with the time before it and, where it matters, after it.

    The block puzzle's lost placement is here a piece that has landed: claims change only when the piece in play locks, or by the
    points of a drop.  So these endings are tried, each of one input or none, of the piece in play and of those that come while
    time alone locks the ones before (somebody put the phone down):
    - the input comes at once or when the piece has just fallen a row (other waiting times change nothing), and then nothing more
      happens, or time runs until the piece locks;
    - no input, time runs until the piece locks.
    Of endings that differ only in the time before the same input the shortest is named.  More than one lost input is told from
    nothing.
    """
    claimed = _claimed_cells(record, game.rules)
    if claimed is None or game.finished or game.piece is None:
        return []
    # A trailing time at the end of the log belongs to the time before the missing input.
    waited = _trailing_time(game.log)
    found: dict[str, str] = {}
    for ticks, standing in _left_alone(game):
        # Points are never lost again.
        if standing.score > record.score:
            break
        for letter, wait, after in _endings(standing, record, claimed):
            before = waited + ticks + wait
            found.setdefault(letter, f"{before or ''}{letter}{after or ''}" if letter else f"{before + after}")
    return [found[letter] for letter in (*_LETTERS, "") if letter in found]


def _left_alone(game: Game) -> Iterator[tuple[int, Game]]:
    """The game as it stands, and as it stands after each lock that time brings from there, with the ticks until then."""
    yield 0, game
    later = game.fork(b"")
    for _ in range(MOST_ALONE):
        if not _lock_by_time(later) or later.finished or later.piece is None:
            return
        yield later.tick - game.tick, later


def _lock_by_time(game: Game) -> bool:
    """Let time run until the piece in play locks; False where the game's clock ends before."""
    rules, ticks = game.rules, game.params[p.P_LONGEST] - game.tick
    left: int = k.advance(ticks, 1, game.params, rules.kicks, rules.masks, game.deal, game.last, game.cells, game.st)
    return left >= 0


def _endings(game: Game, record: Record, claimed: int) -> Iterator[tuple[str, int, int]]:
    """The endings of the piece in play that give the claims: the letter ("": none), the time before it and the time after it."""
    stays, lands = _cells_allow(game, claimed)
    now = Standing(game.score, game.best_combo, game.level, game.lines, game.combo, game.st[p.ST_COUNT])
    if not (stays or lands) or not game.score <= record.score <= Limits(game.params).reach(now, Inputs(1, 1, 0))["score"]:
        return
    waits = _waits(game)
    for letter in _LETTERS:
        # Where a piece is when it is held plays no part.
        for wait in waits if letter != "c" else waits[:1]:
            after = _ending(game, record, wait, letter, lands)
            if after is not None:
                yield letter, wait, after
                break
    alone = _ending(game, record, 0, "", lands)
    if alone:
        yield "", 0, alone


def _ending(game: Game, record: Record, wait: int, letter: str, lands: bool) -> int | None:
    """The time after one more input (``letter`` "": none) that makes the claims come out, None when none does."""
    tried = game.fork(f"{wait or ''}{letter}".encode())
    if letter and tried.step() != APPLIED:
        return None
    if letter and _comes_out(tried, record):
        return 0
    if letter == "h" or not lands:
        return None
    before = tried.tick
    return tried.tick - before if _lock_by_time(tried) and _comes_out(tried, record) else None


def _comes_out(game: Game, record: Record) -> bool:
    claims = ("score", "best_combo", "level", "lines")
    same = all(getattr(record, name) in (None, getattr(game, name)) for name in claims)
    return same and game.board_equals(record.final_board) == BOARD_EQUAL


def _claimed_cells(record: Record, rules: TetrominoRules) -> int | None:
    """How many cells the claimed board has filled, None where it cannot be read."""
    try:
        cells = parse_cells(record.final_board, rules.width, rules.height, PIECE_NAMES)
    except BoardError:
        return None
    return sum(cell in PIECE_NAMES for row in cells for cell in row)


def _cells_allow(game: Game, claimed: int) -> tuple[bool, bool]:
    """Whether so many cells are those of a board on which nothing more landed, and on which one piece did; a rescue leaves any
    number."""
    now = sum(cell in PIECE_NAMES for cell in game.board)
    landed = [now + 4 - game.rules.width * lines for lines in range(LINES_A_PIECE + 1)]
    return claimed == now, claimed in landed or bool(game.params[p.P_RESCUE])


def _waits(game: Game) -> list[int]:
    """No time, and the ticks after which the piece in play has just fallen a row, up to its landing."""
    st, params = game.st, game.params
    rows = p.drop_distance(game.cells, game.rules.masks, game.rules.kicks, st)
    gravity = params[p.P_GRAVITY + min(st[p.ST_LEVEL], params[p.P_LEVELS]) - 1]
    due = [-(-(row * k.ROW - st[p.ST_FRACTION]) // gravity) for row in range(1, rows + 1)]
    return sorted({0, *due})


def _trailing_time(log: bytes) -> int:
    pos = 0
    while True:
        kind, ticks, _letter, pos = next_token(log, pos, len(log))
        if kind != T_INPUT:
            return ticks if kind == T_TIME else 0
