"""Every move of one disputed game, for people: what it did to the board and where upload and replay part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from engine.blocks import kernel as k
from engine.blocks.notation import CELL, CONTINUE
from engine.blocks.single import Game, Step, trace
from engine.board import parse_cells
from engine.outcome import APPLIED, Fault, Outcome
from replay.errors import UsageError
from replay.record import Record
from replay.verdict import Verdict, log_bytes, token_at, uncounted
from replay.words import visible, words

if TYPE_CHECKING:
    from engine.blocks.rules import BlocksRules
    from replay.challenges import Challenge

# Cells of a drawn move.  ``p`` just placed, ``x`` emptied with its line, ``q`` both, ``w`` where an illegal move would have
# put the piece, ``c`` where that clashes with a filled cell.
EMPTY, PLACED, EMPTIED, PLACED_EMPTIED, WANTED, CLASH = ".", "p", "x", "q", "w", "c"
CELL_NAMES = {
    CELL: "filled", PLACED: "placed", EMPTIED: "emptied", PLACED_EMPTIED: "placed and emptied", WANTED: "wanted",
    CLASH: "filled already",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TraceRow:
    """The state after one move.  ``number`` counts from 1 (0 is the start); ``grid`` are the board's rows of cells, see above.

    ``hand`` are piece names after the refill; ``wrong`` marks the first move from which claim and replay cannot agree;
    ``fault`` is the reason why this move could not be played (then the state is the one before it).
    """

    number: int
    token: str
    piece: str | None
    grid: tuple[str, ...]
    board: str
    hand: tuple[str | None, ...]
    lines: int
    full_rows: tuple[int, ...]
    full_columns: tuple[int, ...]
    turn: int
    streak: int
    multiplier: int
    gain: int
    score: int
    best_combo: int
    wrong: bool
    fault: str | None = None


@dataclass(frozen=True)
class Dispute:
    """One game with everything that is shown of it; ``rules`` or ``challenge`` is None when it is not known (nothing to replay).

    ``verdict`` is the final one and may hold reasons that only other games gave.
    """

    record: Record
    verdict: Verdict
    rules: BlocksRules | None
    challenge: Challenge | None

    def words(self) -> list[str]:
        """``words`` of the verdict with every detail that the record and the log add."""
        log = log_bytes(self.record.moves)
        reasons = tuple(
            reason if reason.move is None or reason.token else replace(reason, token=token_at(log, reason.move))
            for reason in self.verdict.reasons
        )
        why = uncounted(self.record, self.challenge)
        verdict = replace(self.verdict, reasons=reasons, uncounted=why, mode=self.record.mode)
        return words(verdict, self.rules, self.record)

    @property
    def wrong_move(self) -> int | None:
        """The first token (from 0) from which anything cannot agree, or None."""
        return min((reason.move for reason in self.verdict.reasons if reason.move is not None), default=None)

    def new_game(self) -> Game | None:
        """The game before its first move, or None when rules or challenge are not known or do not fit each other."""
        if self.rules is None or self.challenge is None or self.record.mode not in self.rules.continues:
            return None
        try:
            deal = self.challenge.deal(self.rules)
        except ValueError:
            # The verdict says so (reason ``challenge``); here it only means that there is nothing to draw.
            return None
        return Game(self.rules, deal, log_bytes(self.record.moves), self.rules.continues[self.record.mode])

    @cached_property
    def outcome(self) -> Outcome | None:
        """The replay's result, None when nothing can be replayed."""
        game = self.new_game()
        return None if game is None else game.run()

    @property
    def total(self) -> int:
        """How many rows the whole trace has: the applied tokens, and the faulty one."""
        outcome = self.outcome
        return 0 if outcome is None else outcome.moves + (outcome.fault is not None)

    def window(self, limit: int) -> tuple[int, int]:
        """(first, last) move numbers of at most ``limit`` moves: all, or those around the wrong one, or the first ones."""
        wrong = 0 if self.wrong_move is None else self.wrong_move + 1
        first = max(1, min(wrong - limit // 2, self.total - limit + 1))
        return first, min(self.total, first + limit - 1)

    def start(self) -> TraceRow | None:
        """The state before the first move, as row 0."""
        game = self.new_game()
        if game is None or self.rules is None:
            return None
        grid = _grid(game.board, self.rules)
        return TraceRow(0, "", None, _text(grid), game.board, game.hand_names, 0, (), (), 1, 0, 0, 0, 0, 0, False)

    def rows(self, first: int = 1, last: int | None = None) -> Iterator[TraceRow]:
        """The moves ``first`` to ``last`` (counted from 1, both included), one at a time; an illegal one is the last row.

        Raises UsageError for a range that is none.
        """
        if first < 1 or (last is not None and last < first):
            raise UsageError(f"moves {first} to {last} are no range: count from 1 and give the smaller number first")
        return self._rows(first, last)

    def _rows(self, first: int, last: int | None) -> Iterator[TraceRow]:
        game = self.new_game()
        if game is None:
            return
        while game.st[k.ST_MOVES] < first - 1 and game.step() == APPLIED:
            continue
        if last is not None and game.st[k.ST_MOVES] >= last:
            return
        for step in trace(game):
            yield self._row(game, step)
            if last is not None and step.move + 1 >= last:
                return
        fault = game.outcome().fault
        if fault is not None and fault.move + 1 >= first:
            yield self._fault_row(game, fault)

    def _row(self, game: Game, step: Step) -> TraceRow:
        grid = _grid(step.placed, game.rules)
        for r, c in step.cells:
            grid[r][c] = PLACED
        # A continue empties the whole board without being a line.
        emptied = step.token == CONTINUE
        for r, row in enumerate(grid):
            for c, cell in enumerate(row):
                if emptied or r in step.full_rows or c in step.full_columns:
                    row[c] = {CELL: EMPTIED, PLACED: PLACED_EMPTIED}.get(cell, cell)
        return TraceRow(
            step.move + 1, step.token, step.piece, _text(grid), step.board, step.hand, step.lines, step.full_rows,
            step.full_columns, _turn(game, 0 if emptied else 1), step.streak, step.multiplier, step.gain, step.score,
            step.best_combo, step.move == self.wrong_move,
        )  # fmt: skip

    def _fault_row(self, game: Game, fault: Fault) -> TraceRow:
        """The state that the illegal move met, with the cells that it asked for."""
        token = token_at(game.log, fault.move) or ""
        grid = _grid(game.board, game.rules)
        piece: str | None = None
        kind, slot, column, row, _ = k.next_token(token.encode(), 0, len(token))
        if kind == k.T_PLACE and 1 <= slot <= 3:
            piece = game.hand_names[slot - 1]
        if piece is not None:
            for r, c in game.rules.shapes[game.rules.shape_index[piece]].offsets:
                if row + r < game.rules.height and column + c < game.rules.width:
                    grid[row + r][column + c] = CLASH if grid[row + r][column + c] == CELL else WANTED
        st = game.st
        return TraceRow(
            fault.move + 1, visible(token), piece, _text(grid), game.board, game.hand_names, 0, (), (), _turn(game, 0),
            st[k.ST_STREAK], 0, 0, st[k.ST_SCORE], st[k.ST_BEST], fault.move == self.wrong_move, visible(fault.text, 160),
        )  # fmt: skip


def _turn(game: Game, placed: int) -> int:
    """The turn, from 1, of the last placement (``placed`` 1) or of the next one (0)."""
    return int(game.st[k.ST_MOVES] - game.st[k.ST_CONTINUES] - placed) // game.rules.turn_length + 1


def _grid(board: str, rules: BlocksRules) -> list[list[str]]:
    return parse_cells(board, rules.width, rules.height, CELL)


def _text(grid: list[list[str]]) -> tuple[str, ...]:
    return tuple("".join(row) for row in grid)
