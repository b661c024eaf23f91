"""The block puzzle: replays and their limits, words, and how a game of it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from engine.blocks import kernel as k
from engine.blocks import notation
from engine.blocks.notation import CELL, CONTINUE, place_name
from engine.blocks.rules import BlocksRules, load_rules
from engine.blocks.single import Deal, Game, Step, make_deal, trace
from engine.board import parse_cells
from engine.outcome import APPLIED, BOARD_EQUAL, Fault
from replay.games.drawing import CellLook, Column, Look, Panel, TraceRow, grid_text
from replay.games.kind import EMPTY, Bound, GameKind, Play, skip_to
from replay.record import Record, count_tokens
from replay.words import visible

# Cells of a drawn move.  ``p`` just placed, ``x`` emptied with its line, ``q`` both, ``w`` where an illegal move would have
# put the piece, ``c`` where that clashes with a filled cell.
PLACED, EMPTIED, PLACED_EMPTIED, WANTED, CLASH = "p", "x", "q", "w", "c"
# Two characters a cell, so that a board looks square; each kind differs in shape, colour only helps.
LOOK = Look(
    cells={
        EMPTY: CellLook(" \u00b7", " .", "dim", "empty", ""),
        CELL: CellLook("\u2588" * 2, "##", "", "full", "", "filled"),
        PLACED: CellLook("\u2593" * 2, "@@", "bold green", "placed", "●", "placed"),
        EMPTIED: CellLook("\u2591" * 2, "--", "yellow", "emptied", "×", "emptied"),
        PLACED_EMPTIED: CellLook("\u2592" * 2, "%%", "bold yellow", "both", "⊗", "placed and emptied"),
        WANTED: CellLook("++", "++", "cyan", "wanted", "+", "wanted", illegal=True),
        CLASH: CellLook("!!", "!!", "bold red", "clash", "!", "filled already", illegal=True),
    },
    columns=(
        Column("Piece", "name"), Column("Lines"), Column("Turn", "beside"), Column("Streak", "beside"),
        Column("Mult.", "beside", "Multiplier"), Column("Gain"), Column("Score"), Column("Hand", "name hand-names"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BlocksRow(TraceRow):
    """A move of the block puzzle.

    ``hand`` are piece names after the refill; ``turn`` counts from 1 and is the turn that the move was played in; ``multiplier``
    is the one that its lines were paid with.
    """

    board: str = ""
    hand: tuple[str | None, ...] = ()
    lines: int = 0
    turn: int = 1
    streak: int = 0
    multiplier: int = 0
    gain: int = 0


class BlocksKind(GameKind[BlocksRules, Game]):
    """The block puzzle."""

    name = "blocks"
    judges_pace = True
    fault_words: ClassVar = {"after_end": "comes after the game was over, when none of the pieces in hand fitted anywhere"}
    unfinished_words = (
        "The game was not over when the log ended: a piece in hand still fitted. What was uploaded is right as far as it goes."
    )
    look = LOOK

    def load_rules(self, path: Path) -> BlocksRules:
        """One rules file.  Raises RulesError."""
        return load_rules(path)

    def deal(self, rules: BlocksRules, mode: str, rng_seed: int, pieces: str, start_board: str) -> Deal:
        """The deal, the same in every mode.  Raises ValueError."""
        return make_deal(rules, mode, rng_seed, pieces, start_board)

    def new_game(self, rules: BlocksRules, deal: Deal, log: bytes, mode: str) -> Game:
        """The game before its first token."""
        return Game(rules, deal, log, mode)

    # --- Tokens and boards

    def token_at(self, log: bytes, index: int) -> str | None:
        """The text of one token."""
        return notation.token_at(log, index)

    def cells(self, text: str, rules: BlocksRules, mode: str) -> list[list[str]]:
        """A board's cells, CELL or EMPTY."""
        return _cells(text, rules)

    def canonical_board(self, text: str, rules: BlocksRules, mode: str) -> str:
        """The canonical text of a board."""
        return notation.board_text(notation.board_rows(text, rules), rules.width)

    def cell_name(self, row: int, column: int, rules: BlocksRules, mode: str) -> str:
        """Column letter and row number from the top."""
        return place_name(column, row)

    # --- Claims

    def bounds(self, rules: BlocksRules, deal: Deal, log: bytes, mode: str) -> dict[str, Bound]:
        """Each placement can earn ``rules.max_placement`` at most (7,020 in 1.2.0), and complete ``rules.max_lines`` lines."""
        text = log.decode("utf-8", "surrogatepass")
        placements = count_tokens(self.name, text) - text.count(CONTINUE)
        most = rules.max_placement * placements
        return {
            "score": Bound(most, f"{placements} placements x {rules.max_placement}"),
            "best_combo": Bound(rules.max_lines),
        }

    def play_through(self, rules: BlocksRules, deal: Deal, log: bytes, mode: str) -> Play:
        """Play a log; a claim of the combo is only ever beyond reach when it is beyond the rules."""
        game = Game(rules, deal, log, mode)
        scores: list[int] = []
        bests: list[int] = []
        placements: list[int] = []
        while game.step() == APPLIED:
            scores.append(game.st[k.ST_SCORE])
            bests.append(game.st[k.ST_BEST])
            # A continue is a token and no placement.
            placements.append(game.st[k.ST_MOVES] - game.st[k.ST_CONTINUES])
        last = placements[-1] if placements else 0
        most = rules.max_placement
        reach = [score + most * (last - placed) for score, placed in zip(scores, placements, strict=True)]
        return Play(
            game, game.outcome(), {"score": scores, "best_combo": bests},
            {"score": reach, "best_combo": [rules.max_lines] * len(bests)},
        )  # fmt: skip

    def missing_moves(self, game: Game, record: Record) -> list[str]:
        """The single placements of the hand that would give the claims, slot by slot, row by row."""
        if not game.completes(record.score, record.best_combo, record.final_board):
            return []
        found = []
        # Dealt once, as far as any try goes: a fork that needs more deals all of it anew.
        game = game.fork(b" " * 16)
        for slot in range(3):
            for row in range(game.rules.height):
                for column in range(game.rules.width):
                    written = notation.token(slot, column, row)
                    tried = game.fork(written.encode())
                    if tried.step() != APPLIED or (tried.score, tried.best_combo) != (record.score, record.best_combo):
                        continue
                    if tried.board_equals(record.final_board) == BOARD_EQUAL:
                        found.append(written)
        return found

    # --- Drawing

    def start_row(self, game: Game) -> BlocksRow:
        """The board and the hand before the first move."""
        grid = grid_text(_cells(game.board, game.rules))
        return _row(
            0, "", None, grid, "The game before its first move.", ("Start of the game",), board=game.board, hand=game.hand_names
        )

    def rows(self, game: Game, first: int, last: int | None) -> Iterator[BlocksRow]:
        """A row a token."""
        skip_to(game, first)
        if last is not None and game.moves >= last:
            return
        for step in trace(game):
            yield self._row(game, step)
            if last is not None and step.move + 1 >= last:
                return
        fault = game.outcome().fault
        if fault is not None and fault.move + 1 >= first:
            yield self._fault_row(game, fault)

    def _row(self, game: Game, step: Step) -> BlocksRow:
        grid = _cells(step.placed, game.rules)
        for r, c in step.cells:
            grid[r][c] = PLACED
        # A continue empties the whole board without being a line.
        emptied = step.token == CONTINUE
        for r, row in enumerate(grid):
            for c, cell in enumerate(row):
                if emptied or r in step.full_rows or c in step.full_columns:
                    row[c] = {CELL: EMPTIED, PLACED: PLACED_EMPTIED}.get(cell, cell)
        number, turn = step.move + 1, _turn(game, 0 if emptied else 1)
        lines = _line_names(step.full_rows, step.full_columns)
        if emptied:
            details = ["continue: the board is emptied", f"score {step.score:,}, turn {turn}, streak {step.streak}"]
            caption = f"Move {number:,} continues the game: the board is emptied. The score stays {step.score:,}."
        else:
            details = [
                f"+{step.gain:,}   score {step.score:,}",
                f"lines {step.lines}" + (f": {lines}" if step.lines else ""),
                f"turn {turn}, streak {step.streak}, multiplier {_multiplier(step.lines, step.multiplier)}, "
                f"best combo {step.best_combo}",
            ]
            caption = (
                f"Move {number:,} ({step.token}) places {step.piece}.{f' It empties {lines}.' if step.lines else ''}"
                f" It brings {step.gain:,} points, the score is {step.score:,}."
            )
        return _row(
            number, step.token, step.piece, grid_text(grid), caption, (_title(number, step.token, step.piece), *details), lines,
            board=step.board, hand=step.hand, lines=step.lines, turn=turn, streak=step.streak, multiplier=step.multiplier,
            gain=step.gain, score=step.score, best_combo=step.best_combo,
        )  # fmt: skip

    def _fault_row(self, game: Game, fault: Fault) -> BlocksRow:
        """The state that the illegal move met, with the cells that it asked for."""
        token = self.token_at(game.log, fault.move) or ""
        grid = _cells(game.board, game.rules)
        piece: str | None = None
        kind, slot, column, row, _ = k.next_token(token.encode(), 0, len(token))
        if kind == k.T_PLACE and 1 <= slot <= 3:
            piece = game.hand_names[slot - 1]
        if piece is not None:
            for r, c in game.rules.shapes[game.rules.shape_index[piece]].offsets:
                if row + r < game.rules.height and column + c < game.rules.width:
                    grid[row + r][column + c] = CLASH if grid[row + r][column + c] == CELL else WANTED
        number, turn, written, why = fault.move + 1, _turn(game, 0), visible(token), visible(fault.text, 160)
        streak = game.st[k.ST_STREAK]
        return _row(
            number, written, piece, grid_text(grid),
            f"Move {number:,} ({written}) cannot be played: {why}. The score before it is {game.score:,}.",
            (
                _title(number, written, piece), f"cannot be played: {why}",
                f"score before it {game.score:,}, turn {turn}, streak {streak}",
            ),
            board=game.board, hand=game.hand_names, turn=turn, streak=streak, score=game.score, best_combo=game.best_combo,
            fault=why,
        )  # fmt: skip

    def drawing(self, name: str, rules: BlocksRules) -> list[str]:
        """A piece of the catalogue."""
        shape = rules.shapes[rules.shape_index[name]]
        return ["".join(CELL if mask >> c & 1 else EMPTY for c in range(shape.width)) for mask in shape.rows]

    def column_names(self, rules: BlocksRules, mode: str) -> list[str]:
        """Letters."""
        return [place_name(c, 0)[0] for c in range(rules.width)]

    def row_names(self, height: int, rules: BlocksRules, mode: str) -> list[str]:
        """Numbers from the top."""
        return [str(r + 1) for r in range(height)]


def _cells(text: str, rules: BlocksRules) -> list[list[str]]:
    return parse_cells(text, rules.width, rules.height, CELL)


def _title(number: int, token: str, piece: str | None) -> str:
    return f"Move {number:,}   {token}" + (f"   {piece}" if piece else "")


def _multiplier(lines: int, multiplier: int) -> str:
    """The multiplier that a move's lines were paid with, ``-`` when it completed none."""
    return f"x{multiplier}" if lines else "-"


def _line_names(full_rows: tuple[int, ...], full_columns: tuple[int, ...]) -> str:
    """The emptied lines as people name them: ``row 3, columns b d``."""
    rows, columns = [str(r + 1) for r in full_rows], [place_name(c, 0)[0] for c in full_columns]
    parts = [(name, lines) for name, lines in (("row", rows), ("column", columns)) if lines]
    return ", ".join(f"{name}{'s' if len(lines) > 1 else ''} {' '.join(lines)}" for name, lines in parts)


def _row(
    number: int, token: str, piece: str | None, grid: tuple[str, ...], caption: str, said: tuple[str, ...], line_names: str = "",
    *, board: str, hand: tuple[str | None, ...], lines: int = 0, turn: int = 1, streak: int = 0, multiplier: int = 0,
    gain: int = 0, score: int = 0, best_combo: int = 0, fault: str | None = None,
) -> BlocksRow:  # fmt: skip
    """A row with everything that is said of its numbers in one place; ``said`` are the title and the details."""
    paid = _multiplier(lines, multiplier)
    title = "Hand that met this move" if fault else "Hand after this move" if number else "Hand"
    items = tuple((f"{slot}: {name or 'none'}", name) for slot, name in enumerate(hand, start=1))
    return BlocksRow(
        number=number, place=str(number), token=token, piece=piece, title=said[0], details=said[1:], caption=caption, grid=grid,
        panels=(Panel("hand", title, "hand before it: " if fault else "hand: ", items),),
        values=(
            ("Score", f"{score:,}"), ("Gain", f"+{gain:,}"), ("Lines", str(lines)), ("Turn", str(turn)), ("Streak", str(streak)),
            ("Multiplier", paid), ("Best combo", str(best_combo)),
        ),
        cells=(
            (piece or ("continue" if number else ""), ""), (str(lines or ""), line_names), (str(turn), ""), (str(streak), ""),
            (paid, ""), (f"+{gain:,}", ""), (f"{score:,}", ""), ("".join(f"{name or 'none'} " for name in hand), ""),
        ),
        score=score, best_combo=best_combo, fault=fault, board=board, hand=hand, lines=lines, turn=turn, streak=streak,
        multiplier=multiplier, gain=gain,
    )  # fmt: skip


def _turn(game: Game, placed: int) -> int:
    """The turn, from 1, of the last placement (``placed`` 1) or of the next one (0)."""
    return int(game.st[k.ST_MOVES] - game.st[k.ST_CONTINUES] - placed) // game.rules.turn_length + 1


KIND = BlocksKind()
