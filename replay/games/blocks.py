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
from replay.games import row_words as say
from replay.games.drawing import CellLook, Column, Look, Panel, TraceRow, grid_text
from replay.games.kind import EMPTY, Bound, GameKind, Play, bad_place, skip_to, trimmed_place
from replay.harmless import visible
from replay.i18n import ENGLISH, N_, Language
from replay.record import Record, count_tokens

# Cells of a drawn move.  ``p`` just placed, ``x`` emptied with its line, ``q`` both, ``w`` where an illegal move would have
# put the piece, ``c`` where that clashes with a filled cell.
PLACED, EMPTIED, PLACED_EMPTIED, WANTED, CLASH = "p", "x", "q", "w", "c"
# Two characters a cell, so that a board looks square; each kind differs in shape, colour only helps.
LOOK = Look(
    cells={
        EMPTY: CellLook(" \u00b7", " .", "dim", "void", ""),
        CELL: CellLook("\u2588" * 2, "##", "", "full", "", N_("filled")),
        PLACED: CellLook("\u2593" * 2, "@@", "bold green", "placed", "●", N_("placed")),
        EMPTIED: CellLook("\u2591" * 2, "--", "yellow", "emptied", "×", N_("emptied")),
        PLACED_EMPTIED: CellLook("\u2592" * 2, "%%", "bold yellow", "both", "⊗", N_("placed and emptied")),
        WANTED: CellLook("++", "++", "cyan", "wanted", "+", N_("wanted"), illegal=True),
        CLASH: CellLook("!!", "!!", "bold red", "clash", "!", N_("filled already"), illegal=True),
    },
    columns=(
        Column(N_("Piece"), "name"), Column(N_("Lines")), Column(N_("Turn"), "beside"), Column(N_("Streak"), "beside"),
        Column(N_("Mult."), "beside", N_("Multiplier")), Column(N_("Gain")), Column(N_("Score")),
        Column(N_("Hand"), "name hand-names"),
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
    fault_words: ClassVar = {
        "after_end": N_("{move} comes after the game was over, when none of the pieces in hand fitted anywhere.")
    }
    unfinished_words = N_(
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

    def token_place(self, log: bytes, index: int) -> tuple[int, int] | None:
        """Where one token stands."""
        pos, end = 0, len(log)
        for number in range(index + 1):
            kind, _slot, _column, _row, after = k.next_token(log, pos, end)
            if kind == k.T_BAD and number == index:
                return bad_place(log, after)
            if kind in (k.T_END, k.T_BAD):
                return None
            if number == index:
                return trimmed_place(log, pos, after)
            pos = after
        return None

    def cells(self, text: str, rules: BlocksRules, mode: str) -> list[list[str]]:
        """A board's cells, CELL or EMPTY."""
        return _cells(text, rules)

    def canonical_board(self, text: str, rules: BlocksRules, mode: str) -> str:
        """The canonical text of a board."""
        return notation.board_text(notation.board_rows(text, rules), rules.width)

    def cell_name(self, row: int, column: int, rules: BlocksRules, mode: str, language: Language = ENGLISH) -> str:
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

    def start_row(self, game: Game, language: Language = ENGLISH) -> BlocksRow:
        """The board and the hand before the first move."""
        grid = grid_text(_cells(game.board, game.rules))
        title, caption = say.start_words(language)
        return _row(language, 0, "", None, grid, caption, (title,), board=game.board, hand=game.hand_names)

    def rows(self, game: Game, first: int, last: int | None, language: Language = ENGLISH) -> Iterator[BlocksRow]:
        """A row a token."""
        skip_to(game, first)
        if last is not None and game.moves >= last:
            return
        for step in trace(game):
            yield self._row(game, step, language)
            if last is not None and step.move + 1 >= last:
                return
        fault = game.outcome().fault
        if fault is not None and fault.move + 1 >= first:
            yield self._fault_row(game, fault, language)

    def _row(self, game: Game, step: Step, language: Language) -> BlocksRow:
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
        lines = _line_names(step.full_rows, step.full_columns, language)
        caption, details = _continue_words(step, turn, language) if emptied else _move_words(step, turn, lines, language)
        return _row(
            language, number, step.token, step.piece, grid_text(grid), caption,
            (_title(number, step.token, step.piece, language), *details), lines, board=step.board, hand=step.hand,
            lines=step.lines, turn=turn, streak=step.streak, multiplier=step.multiplier, gain=step.gain, score=step.score,
            best_combo=step.best_combo,
        )  # fmt: skip

    def _fault_row(self, game: Game, fault: Fault, language: Language) -> BlocksRow:
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
        number, turn, written, streak = fault.move + 1, _turn(game, 0), visible(token), game.st[k.ST_STREAK]
        why = say.why_not(fault, language)
        caption, cannot = say.fault_words(number, written, why, game.score, language)
        before = language.gettext(
            "score before it {score}, turn {turn}, streak {streak}", score=game.score, turn=language.plain(turn),
            streak=language.plain(streak),
        )  # fmt: skip
        return _row(
            language, number, written, piece, grid_text(grid), caption,
            (_title(number, written, piece, language), cannot, before), board=game.board, hand=game.hand_names, turn=turn,
            streak=streak, score=game.score, best_combo=game.best_combo, fault=visible(fault.text, 160), why=why,
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


def _continue_words(step: Step, turn: int, language: Language) -> tuple[str, list[str]]:
    """(caption, details) of a continue."""
    gettext = language.gettext
    details = [
        gettext("continue: the board is emptied"),
        gettext(
            "score {score}, turn {turn}, streak {streak}", score=step.score, turn=language.plain(turn),
            streak=language.plain(step.streak),
        ),
    ]  # fmt: skip
    return gettext(
        "Move {number} continues the game: the board is emptied. The score stays {score}.", number=step.move + 1, score=step.score
    ), details


def _move_words(step: Step, turn: int, lines: str, language: Language) -> tuple[str, list[str]]:
    """(caption, details) of a placement."""
    gettext, plain = language.gettext, language.plain
    details = [
        say.gain(step.gain, step.score, language),
        gettext("lines {lines}: {names}", lines=plain(step.lines), names=lines) if step.lines else gettext("lines 0"),
        gettext(
            "turn {turn}, streak {streak}, multiplier {multiplier}, best combo {best_combo}", turn=plain(turn),
            streak=plain(step.streak), multiplier=_multiplier(step.lines, step.multiplier), best_combo=plain(step.best_combo),
        ),
    ]  # fmt: skip
    shown = {"number": step.move + 1, "token": step.token, "piece": step.piece}
    if step.lines:
        placed = gettext("Move {number} ({token}) places {piece}. It empties {lines}.", **shown, lines=lines)
    else:
        placed = gettext("Move {number} ({token}) places {piece}.", **shown)
    return f"{placed} {say.brings(step.gain, step.score, language)}", details


def _title(number: int, token: str, piece: str | None, language: Language) -> str:
    return say.title(number, token, language) + (f"   {piece}" if piece else "")


def _multiplier(lines: int, multiplier: int) -> str:
    """The multiplier that a move's lines were paid with, ``-`` when it completed none."""
    return f"x{multiplier}" if lines else "-"


def _line_names(full_rows: tuple[int, ...], full_columns: tuple[int, ...], language: Language) -> str:
    """The emptied lines as people name them: ``row 3, columns b d``."""
    rows, columns = [str(r + 1) for r in full_rows], [place_name(c, 0)[0] for c in full_columns]
    parts = []
    if rows:
        parts.append(language.ngettext("row {names}", "rows {names}", len(rows), names=" ".join(rows)))
    if columns:
        parts.append(language.ngettext("column {names}", "columns {names}", len(columns), names=" ".join(columns)))
    return ", ".join(parts)


def _row(
    language: Language, number: int, token: str, piece: str | None, grid: tuple[str, ...], caption: str, said: tuple[str, ...],
    line_names: str = "", *, board: str, hand: tuple[str | None, ...], lines: int = 0, turn: int = 1, streak: int = 0,
    multiplier: int = 0, gain: int = 0, score: int = 0, best_combo: int = 0, fault: str | None = None, why: str | None = None,
) -> BlocksRow:  # fmt: skip
    """A row with everything that is said of its numbers in one place; ``said`` are the title and the details."""
    gettext, number_of, none = language.gettext, language.number, say.none(language)
    paid, earned = _multiplier(lines, multiplier), f"+{number_of(gain)}"
    values = (
        (gettext("Score"), number_of(score)), (gettext("Gain"), earned), (gettext("Lines"), str(lines)),
        (gettext("Turn"), language.plain(turn)), (gettext("Streak"), language.plain(streak)), (gettext("Multiplier"), paid),
        (gettext("Best combo"), language.plain(best_combo)),
    )  # fmt: skip
    named = piece or (gettext("continue") if number else "")
    return BlocksRow(
        number=number, place=str(number), token=token, piece=piece, title=said[0], details=said[1:], caption=caption, grid=grid,
        panels=(_hand_panel(number, hand, fault is not None, language),), values=values,
        cells=(
            (named, ""), (str(lines or ""), line_names), (language.plain(turn), ""), (language.plain(streak), ""), (paid, ""),
            (earned, ""), (number_of(score), ""), ("".join(f"{name or none} " for name in hand), ""),
        ),
        score=score, best_combo=best_combo, fault=fault, why=why, board=board, hand=hand, lines=lines, turn=turn, streak=streak,
        multiplier=multiplier, gain=gain,
    )  # fmt: skip


def _hand_panel(number: int, hand: tuple[str | None, ...], before: bool, language: Language) -> Panel:
    """The three places of the hand; ``before`` a move that it did not come to."""
    gettext = language.gettext
    title = gettext("Hand that met this move") if before else gettext("Hand after this move") if number else gettext("Hand")
    short = gettext("hand before it: ") if before else gettext("hand: ")
    none = say.none(language)
    return Panel("hand", title, short, tuple((f"{slot}: {name or none}", name) for slot, name in enumerate(hand, start=1)))


def _turn(game: Game, placed: int) -> int:
    """The turn, from 1, of the last placement (``placed`` 1) or of the next one (0)."""
    return int(game.st[k.ST_MOVES] - game.st[k.ST_CONTINUES] - placed) // game.rules.turn_length + 1


KIND = BlocksKind()
