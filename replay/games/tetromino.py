"""Tetromino Arcade: replays and their limits, words, and how a game of it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.board import format_cells, parse_cells
from engine.outcome import APPLIED, END, Outcome
from engine.tetromino import notation
from engine.tetromino import pieces as p
from engine.tetromino.rules import PIECE_NAMES, TetrominoRules, load_rules
from engine.tetromino.single import Deal, Game, make_deal
from engine.tetromino.text import T_BAD, T_INPUT, T_TIME, next_token
from replay.games import tetromino_limits as limits
from replay.games import tetromino_rows as drawn
from replay.games.drawing import TraceRow
from replay.games.kind import Bound, GameKind, Play, bad_place, skip_to, trimmed_place
from replay.i18n import ENGLISH, Language
from replay.record import Record


class TetrominoKind(GameKind[TetrominoRules, Game]):
    """Tetromino Arcade."""

    name = "tetromino"
    look = drawn.LOOK
    least_rows = 4

    def load_rules(self, path: Path) -> TetrominoRules:
        """One rules file.  Raises RulesError."""
        return load_rules(path)

    def deal(self, rules: TetrominoRules, mode: str, rng_seed: int, pieces: str, start_board: str) -> Deal:
        """The deal, the same in every mode.  Raises ValueError."""
        return make_deal(rules, mode, rng_seed, pieces, start_board)

    def new_game(self, rules: TetrominoRules, deal: Deal, log: bytes, mode: str) -> Game:
        """The game before its first token."""
        return Game(rules, deal, log, mode)

    # --- Tokens and boards

    def token_at(self, log: bytes, index: int) -> str | None:
        """The text of one token; behind the last one that of the trailing time, which can pass the game's clock."""
        pos = 0
        for _ in range(index):
            kind, _ticks, _letter, pos = next_token(log, pos, len(log))
            if kind != T_INPUT:
                return None
        kind, _ticks, _letter, after = next_token(log, pos, len(log))
        return log[pos:after].strip().decode("ascii") if kind == T_TIME else notation.token_at(log[pos:], 0)

    def token_place(self, log: bytes, index: int) -> tuple[int, int] | None:
        """Where one token stands, with the time before it; behind the last one the trailing time."""
        pos, end = 0, len(log)
        for number in range(index + 1):
            kind, _ticks, _letter, after = next_token(log, pos, end)
            if number == index and kind in (T_INPUT, T_TIME):
                return trimmed_place(log, pos, after)
            if kind != T_INPUT:
                return bad_place(log, after) if number == index and kind == T_BAD else None
            pos = after
        return None

    def cells(self, text: str, rules: TetrominoRules, mode: str) -> list[list[str]]:
        """A board's cells, pieces' letters or EMPTY."""
        return parse_cells(text, rules.width, rules.height, PIECE_NAMES)

    def canonical_board(self, text: str, rules: TetrominoRules, mode: str) -> str:
        """The canonical text of a board."""
        return format_cells(self.cells(text, rules, mode))

    def cell_name(self, row: int, column: int, rules: TetrominoRules, mode: str, language: Language = ENGLISH) -> str:
        """Columns count from the left, rows from the bottom."""
        return language.gettext("column {column} row {row}", column=column + 1, row=rules.height - row)

    # --- Claims

    def bounds(self, rules: TetrominoRules, deal: Deal, log: bytes, mode: str) -> dict[str, Bound]:
        """See ``tetromino_limits``."""
        return limits.bounds(rules, mode, log)

    def play_through(self, rules: TetrominoRules, deal: Deal, log: bytes, mode: str) -> Play:
        """Play a log; what it can still come to follows from the inputs and the time that are left."""
        game = Game(rules, deal, log, mode)
        rest, most_of = limits.rest_by_token(log), limits.Limits(game.params)
        claims = ("score", "best_combo", "level", "lines")
        running: dict[str, list[int]] = {name: [] for name in claims}
        reach: dict[str, list[int]] = {name: [] for name in claims}
        while game.step() == APPLIED:
            st = game.st
            now = limits.Standing(st[p.ST_SCORE], st[p.ST_BEST], st[p.ST_LEVEL], st[p.ST_LINES], st[p.ST_COMBO], st[p.ST_COUNT])
            most = most_of.reach(now, rest[st[p.ST_MOVES]])
            for name in claims:
                running[name].append(getattr(now, name))
                reach[name].append(most[name])
        return Play(game, game.outcome(), running, reach)

    def missing_moves(self, game: Game, record: Record) -> list[str]:
        """See ``tetromino_limits``."""
        return limits.missing_moves(game, record)

    # --- Drawing

    def play_out(self, game: Game) -> tuple[Outcome, int]:
        """Each applied token, the faulty one, and the time behind the last one when pieces lock in it."""
        locks = 0
        while game.step() == APPLIED:
            locks = game.st[p.ST_LOCKS]
        outcome = game.outcome()
        more = outcome.fault is not None or (game.status == END and game.st[p.ST_LOCKS] != locks)
        return outcome, outcome.moves + more

    def start_row(self, game: Game, language: Language = ENGLISH) -> TraceRow:
        """The board with the first piece in play."""
        return drawn.start_row(game, language)

    def rows(self, game: Game, first: int, last: int | None, language: Language = ENGLISH) -> Iterator[TraceRow]:
        """A row an input and a row a lock; what locks while a token is waited for stands before the token's own row."""
        skip_to(game, first)
        yield from drawn.rows(game, first, last, self.token_at, language)

    def drawing(self, name: str, rules: TetrominoRules) -> list[str]:
        """A piece in its spawn orientation, without the empty rows and columns of its box."""
        return drawn.drawing(next(piece for piece in rules.pieces if piece.name == name))

    def column_names(self, rules: TetrominoRules, mode: str) -> list[str]:
        """Numbers from the left."""
        return [str(column + 1) for column in range(rules.width)]

    def row_names(self, height: int, rules: TetrominoRules, mode: str) -> list[str]:
        """Numbers from the bottom."""
        return [str(row) for row in range(height, 0, -1)]


KIND = TetrominoKind()
