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
    points of a drop.  So these endings are tried, each of one input or none, no longer than the piece in play lasts:
    - the input comes at once or when the piece has just fallen a row (other waiting times change nothing), and then nothing more
      happens, or time runs until the piece locks;
    - no input, time runs until the piece locks.
    Of endings that differ only in the time before the same input the shortest is named.  More than one lost input is told from
    nothing; so is an ending in which time locks the piece in play and the next one is played.
    """
    if game.finished or game.piece is None:
        return []
    stays, lands = _cells_allow(game, record)
    now = Standing(game.score, game.best_combo, game.level, game.lines, game.combo, game.st[p.ST_COUNT])
    if not (stays or lands) or not game.score <= record.score <= Limits(game.params).reach(now, Inputs(1, 1, 0))["score"]:
        return []
    # A trailing time at the end of the log belongs to the time before the missing input.
    waited = _trailing_time(game.log)
    found: list[str] = []
    waits = _waits(game)
    for letter in "hdlrxzc":
        # Where a piece is when it is held plays no part.
        for wait in waits if letter != "c" else waits[:1]:
            after = _ending(game, record, wait, letter, lands)
            if after is not None:
                found.append(f"{waited + wait or ''}{letter}{after or ''}")
                break
    alone = _ending(game, record, 0, "", lands)
    return [*found, f"{waited + alone}"] if alone else found


def _ending(game: Game, record: Record, wait: int, letter: str, lands: bool) -> int | None:
    """The time after one more input (``letter`` "": none) that makes the claims come out, None when none does."""
    tried = game.fork(f"{wait or ''}{letter}".encode())
    if letter and tried.step() != APPLIED:
        return None
    if letter and _comes_out(tried, record):
        return 0
    if letter == "h" or not lands:
        return None
    before, rules = tried.tick, tried.rules
    left = k.advance(
        tried.params[p.P_LONGEST] - before, 1, tried.params, rules.kicks, rules.masks, tried.deal, tried.last, tried.cells,
        tried.st,
    )  # fmt: skip
    return tried.tick - before if left >= 0 and _comes_out(tried, record) else None


def _comes_out(game: Game, record: Record) -> bool:
    claims = ("score", "best_combo", "level", "lines")
    same = all(getattr(record, name) in (None, getattr(game, name)) for name in claims)
    return same and game.board_equals(record.final_board) == BOARD_EQUAL


def _cells_allow(game: Game, record: Record) -> tuple[bool, bool]:
    """Whether the claimed board has as many cells as if nothing landed, and as if one piece did; a rescue leaves any number."""
    rules = game.rules
    try:
        claimed = sum(cell in PIECE_NAMES for row in _cells(record.final_board, rules) for cell in row)
    except BoardError:
        return False, False
    now = sum(cell in PIECE_NAMES for cell in game.board)
    landed = [now + 4 - rules.width * lines for lines in range(LINES_A_PIECE + 1)]
    return claimed == now, claimed in landed or bool(game.params[p.P_RESCUE])


def _cells(text: str, rules: TetrominoRules) -> list[list[str]]:
    return parse_cells(text, rules.width, rules.height, PIECE_NAMES)


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
