"""Tetcolor Duo, Tetcolor, Columns and Retris: replays and their limits, words, and how a game of them is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from engine.board import BoardError
from engine.outcome import APPLIED, END, Outcome
from engine.tetcolor import layout as at
from engine.tetcolor import notation
from engine.tetcolor.kernel import read_token
from engine.tetcolor.rules import Family, TetcolorRules, load_rules
from engine.tetcolor.single import Deal, Game, make_deal
from replay.games import tetcolor_limits as limits
from replay.games import tetcolor_look as look
from replay.games import tetcolor_rows as drawn
from replay.games.drawing import TraceRow
from replay.games.kind import Bound, GameKind, Play, bad_place, skip_to, trimmed_place
from replay.i18n import ENGLISH, N_, Language
from replay.record import Record


class TetcolorKind(GameKind[TetcolorRules, Game]):
    """Tetcolor.  Its records claim score, best combo and board; the level follows from the pieces and is no claim of theirs."""

    name = "tetcolor"
    fault_words: ClassVar = {"after_end": N_("{move} comes after the game was over, when the next piece had no room to enter.")}
    look = look.LOOK
    least_rows = 4

    def load_rules(self, path: Path) -> TetcolorRules:
        """One rules file.  Raises RulesError."""
        return load_rules(path)

    def plays(self, rules: TetcolorRules, mode: str) -> bool:
        """Whether the selection exists."""
        return mode in rules.params

    def mode_words(self, rules: TetcolorRules) -> str:
        """The selections' grammar: there are too many to list."""
        names = " or ".join(family.name for family in rules.families)
        return f"family/variant/style[/handicap] with the family {names}, for example {rules.mode_names[0]}"

    def deal(self, rules: TetcolorRules, mode: str, rng_seed: int, pieces: str, start_board: str) -> Deal:
        """The deal, whose board and pieces are the mode's family's.  Raises ValueError."""
        return make_deal(rules, mode, rng_seed, pieces, start_board)

    def new_game(self, rules: TetcolorRules, deal: Deal, log: bytes, mode: str) -> Game:
        """The game before its first token."""
        return Game(rules, deal, log, mode)

    # --- Tokens and boards

    def token_at(self, log: bytes, index: int) -> str | None:
        """The text of one token; behind the last one that of the trailing time, which can pass the game's clock."""
        return notation.token_at(log, index)

    def token_place(self, log: bytes, index: int) -> tuple[int, int] | None:
        """Where one token stands; behind the last one the trailing time."""
        pos, st = 0, [0] * at.N_STATE
        for number in range(index + 1):
            status, after = read_token(log, pos, len(log), st)
            if status == END:
                return None
            if number == index:
                return trimmed_place(log, pos, after) if status == APPLIED else bad_place(log, pos)
            if status != APPLIED:
                return None
            pos = after
        return None

    def _cells(self, text: str, rules: TetcolorRules, mode: str) -> list[list[int]]:
        family = _family(rules, mode)
        return notation.read_board(text, family.width, family.height)

    def cells(self, text: str, rules: TetcolorRules, mode: str) -> list[list[str]]:
        """A board's cells, in the codes of ``tetcolor_look``."""
        return [[look.code(cell) for cell in row] for row in self._cells(text, rules, mode)]

    def canonical_board(self, text: str, rules: TetcolorRules, mode: str) -> str:
        """The canonical text of a board."""
        return notation.board_text(self._cells(text, rules, mode))

    def cell_text(self, code: str) -> str:
        """A cell as it stands in a board's text: ``b``, ``cM``, ``aS*``."""
        return notation.cell_text(look.cell_of(code))

    def cell_name(self, row: int, column: int, rules: TetcolorRules, mode: str, language: Language = ENGLISH) -> str:
        """Column letter and row number from the top."""
        return drawn.place_name(row, column)

    # --- Claims

    def bounds(self, rules: TetcolorRules, deal: Deal, log: bytes, mode: str) -> dict[str, Bound]:
        """See ``tetcolor_limits``."""
        return limits.bounds(rules, deal, log, mode)

    def play_through(self, rules: TetcolorRules, deal: Deal, log: bytes, mode: str) -> Play:
        """Play a log; what it can still come to follows from the blocks that are there and the inputs and time that are left."""
        game = Game(rules, deal, log, mode)
        running: dict[str, list[int]] = {name: [] for name in limits.CLAIMS}
        reach: dict[str, list[int]] = {name: [] for name in limits.CLAIMS}
        if not game.exists:
            return Play(game, game.outcome(), running, reach)
        rest, most_of = limits.rest_by_token(log), limits.limits_of(rules, deal, mode)
        st = game.st
        while game.step() == APPLIED:
            locks, blocks = most_of.locks(rest[st[at.MOVES]], st[at.MEMORY]), limits.blocks_on(game)
            running["score"].append(st[at.SCORE])
            running["best_combo"].append(st[at.BEST])
            reach["score"].append(st[at.SCORE] + most_of.points(blocks, locks))
            reach["best_combo"].append(max(st[at.BEST], most_of.passes(blocks, locks)))
        return Play(game, game.outcome(), running, reach)

    def missing_moves(self, game: Game, record: Record) -> list[str]:
        """See ``tetcolor_limits``."""
        return limits.missing_moves(game, record)

    # --- Drawing

    def play_out(self, game: Game) -> tuple[Outcome, int]:
        """Each applied token, the faulty one, and the time behind the last one when it brings a lock or the end."""
        before = (game.pieces_settled, game.finished)
        while game.step() == APPLIED:
            before = (game.pieces_settled, game.finished)
        outcome = game.outcome()
        more = outcome.fault is not None or (game.status == END and before != (game.pieces_settled, game.finished))
        return outcome, outcome.moves + more

    def start_row(self, game: Game, language: Language = ENGLISH) -> TraceRow:
        """The board with the first piece in play."""
        return drawn.start_row(game, language)

    def rows(self, game: Game, first: int, last: int | None, language: Language = ENGLISH) -> Iterator[TraceRow]:
        """A row an input, lock, pass, bomb generation and fall; what happens while it is waited for stands before its row."""
        skip_to(game, first)
        yield from drawn.rows(game, first, last, self.token_at, language)

    def drawing(self, name: str, rules: TetcolorRules) -> list[str]:
        """A piece as it enters."""
        return drawn.drawing(name, rules)

    def column_names(self, rules: TetcolorRules, mode: str) -> list[str]:
        """Letters."""
        return [drawn.place_name(0, column)[0] for column in range(_family(rules, mode).width)]

    def row_names(self, height: int, rules: TetcolorRules, mode: str) -> list[str]:
        """Numbers from the top of the whole board."""
        whole = _family(rules, mode).height
        return [str(row + 1) for row in range(whole - height, whole)]


def _family(rules: TetcolorRules, mode: str) -> Family:
    """The family of a mode.  Raises BoardError for a mode that does not exist: it has no board."""
    family = rules.family(mode)
    if family is None:
        raise BoardError(f"mode {mode!r} does not exist in rules {rules.version}, so it has no board")
    return family


KIND = TetcolorKind()
