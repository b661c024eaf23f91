"""What a game offers to the rest of ``replay``: rules and deals, replays and their limits, words, and how it is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from engine.outcome import APPLIED, Fault, Outcome
from replay.games.drawing import Look, TraceRow
from replay.i18n import ENGLISH, N_, Language
from replay.record import Record

EMPTY = "."


class Rules(Protocol):
    """What the rules of every game have; the rest is their engine's."""

    @property
    def version(self) -> str:
        """As records name it."""

    @property
    def mode_names(self) -> tuple[str, ...]:
        """The modes, as a sentence lists them."""

    def has_mode(self, mode: str) -> bool:
        """Whether a record may name this mode."""


class Game(Protocol):
    """A game in progress, interpreted (``engine.<game>.single.Game``)."""

    log: bytes

    def step(self) -> int:
        """Apply the next token and return its status (engine.outcome)."""

    def run(self) -> Outcome:
        """Apply the rest of the log."""

    def outcome(self) -> Outcome:
        """The state as it is now."""

    def board_equals(self, board: str) -> int:
        """How a claimed board compares with this one: BOARD_EQUAL, BOARD_DIFFERS or BOARD_UNREADABLE."""

    @property
    def moves(self) -> int:
        """The tokens applied so far."""

    @property
    def board(self) -> str:
        """The board's canonical text."""


R = TypeVar("R", bound=Rules)
G = TypeVar("G", bound=Game)


@dataclass(frozen=True)
class Bound:
    """What a log of these tokens can earn: from ``least`` to ``most``; ``why`` says in words where ``most`` comes from."""

    most: int
    why: str = ""
    least: int = 0


@dataclass(frozen=True)
class Play:
    """A log played to its end or first fault.

    ``running`` has, by claim (``score``, ``best_combo``, and ``level`` and ``lines`` where the game has them), its value after
    each applied token; ``reach`` the largest value that the claim can still come to from there, never too small.  What time
    alone brings after the last token stands in ``outcome`` only.
    """

    game: Any
    outcome: Outcome
    running: Mapping[str, Sequence[int]]
    reach: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Difference:
    """A cell in which two boards differ: ``row`` and ``column`` from 0 at the top left, ``name`` as people call it.

    ``claimed`` and ``replayed`` are what stands there, EMPTY for nothing.
    """

    row: int
    column: int
    name: str
    claimed: str
    replayed: str


class GameKind(ABC, Generic[R, G]):
    """One game.  ``R`` are its rules, ``G`` its interpreted game."""

    name: ClassVar[str]
    # Whether milliseconds a token say anything about the hands that played.
    judges_pace: ClassVar[bool] = False
    # Messages about a token that could not be played, where the shared ones would say less or something else.
    fault_words: ClassVar[Mapping[str, str]] = {}
    unfinished_words: ClassVar[str] = N_(
        "The game was not over when the log ended. What was uploaded is right as far as it goes."
    )
    look: ClassVar[Look]
    # Rows that are drawn at least of a board that is looked at; None: always all of them.
    least_rows: ClassVar[int | None] = None

    # --- Rules and deals

    @abstractmethod
    def load_rules(self, path: Path) -> R:
        """One rules file.  Raises RulesError."""

    def plays(self, rules: R, mode: str) -> bool:
        """Whether the mode exists: in a game that takes a record with any mode, one that does not is a fault of its games."""
        return rules.has_mode(mode)

    def mode_words(self, rules: R) -> str:
        """The modes, as a sentence lists them."""
        return ", ".join(rules.mode_names)

    @abstractmethod
    def deal(self, rules: R, mode: str, rng_seed: int, pieces: str, start_board: str) -> Any:
        """What a game in ``mode`` starts from.  Raises ValueError for a piece or a board that does not fit the rules."""

    @abstractmethod
    def new_game(self, rules: R, deal: Any, log: bytes, mode: str) -> G:
        """The game before its first token."""

    def exhausted_words(self, deal: Any) -> str:
        """What is wrong with a challenge whose listed pieces ran out."""
        return f"the challenge lists only {len(deal.pieces or ())} pieces"

    # --- Tokens and boards

    @abstractmethod
    def token_at(self, log: bytes, index: int) -> str | None:
        """The text of the token with this index from 0, or None past the end; what is no token is shown up to 12 bytes."""

    @abstractmethod
    def token_place(self, log: bytes, index: int) -> tuple[int, int] | None:
        """The bytes (from, to) of ``token_at``'s text within the log, the time before an input included; None past the end."""

    @abstractmethod
    def canonical_board(self, text: str, rules: R, mode: str) -> str:
        """The canonical text of the cells that a board's text means.  Raises BoardError."""

    @abstractmethod
    def cells(self, text: str, rules: R, mode: str) -> list[list[str]]:
        """A board's cells, top row first, a code of the game's look each, EMPTY for none.  Raises BoardError."""

    def cell_text(self, code: str) -> str:
        """A cell's code as a sentence shows it."""
        return code

    @abstractmethod
    def cell_name(self, row: int, column: int, rules: R, mode: str, language: Language = ENGLISH) -> str:
        """A cell as people call it; ``row`` and ``column`` from 0 at the top left."""

    def differing_cells(
        self, claimed: str, replayed: str, rules: R, mode: str, language: Language = ENGLISH
    ) -> list[Difference] | None:
        """Cells in which two boards differ, in reading order; None for a claim that cannot be read."""
        try:
            claim = self.cells(claimed, rules, mode)
        except ValueError:
            return None
        found = self.cells(replayed, rules, mode)
        return [
            Difference(r, c, self.cell_name(r, c, rules, mode, language), self.cell_text(claim[r][c]), self.cell_text(cell))
            for r, row in enumerate(found)
            for c, cell in enumerate(row)
            if claim[r][c] != cell
        ]

    # --- Claims

    @abstractmethod
    def bounds(self, rules: R, deal: Any, log: bytes, mode: str) -> dict[str, Bound]:
        """By claim, what no log of these tokens can go beyond: sound, never too small.  {} where the mode does not exist."""

    @abstractmethod
    def play_through(self, rules: R, deal: Any, log: bytes, mode: str) -> Play:
        """Play a log, keeping what it could come to on the way."""

    @abstractmethod
    def missing_moves(self, game: G, record: Record) -> list[str]:
        """The single tokens after which a fault-free, unfinished log would come out as claimed; [] when none would."""

    # --- Drawing

    def play_out(self, game: G) -> tuple[Outcome, int]:
        """Play the whole log: its result, and the number of the last row of its trace.

        There are rows for the applied tokens, for the faulty one, and for what else is drawn after them.
        """
        outcome = game.run()
        return outcome, outcome.moves + (outcome.fault is not None)

    @abstractmethod
    def start_row(self, game: G, language: Language = ENGLISH) -> TraceRow:
        """The state before the first token, as row 0."""

    @abstractmethod
    def rows(self, game: G, first: int, last: int | None, language: Language = ENGLISH) -> Iterator[TraceRow]:
        """The tokens ``first`` to ``last`` (from 1, both included), one or more rows each; a faulty one is the last row.

        ``game`` stands before its first token and is played as far as is drawn.
        """

    @abstractmethod
    def drawing(self, name: str, rules: R) -> list[str]:
        """How a piece beside the board looks, in cell codes row by row; ``name`` is one that a row's panels hold."""

    def first_drawn_row(self, cells: list[list[str]]) -> int:
        """The first row from the top that is worth drawing of a board that is looked at."""
        return 0 if self.least_rows is None else first_used_row(cells, self.least_rows)

    @abstractmethod
    def column_names(self, rules: R, mode: str) -> list[str]:
        """The names of the columns, left to right."""

    @abstractmethod
    def row_names(self, height: int, rules: R, mode: str) -> list[str]:
        """The names of the lowest ``height`` rows of the board, top row first."""


def skip_to(game: Game, first: int) -> None:
    """Play a game up to the token with this number from 1."""
    while game.moves < first - 1 and game.step() == APPLIED:
        continue


def trimmed_place(log: bytes, start: int, end: int) -> tuple[int, int]:
    """The bytes (from, to) of a part of a log without the white space around it."""
    part = log[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def bad_place(log: bytes, start: int) -> tuple[int, int]:
    """Of what is no token: the first 12 bytes from ``start`` as far as white space, as ``token_at`` shows them."""
    first = (log[start : start + 12].split() or [b""])[0]
    at = log.find(first, start)
    return at, at + len(first)


def first_used_row(cells: list[list[str]], least: int) -> int:
    """The highest row that holds a cell, or a higher one where fewer than ``least`` rows would be left."""
    used = next((row for row, line in enumerate(cells) if set(line) != {EMPTY}), len(cells))
    return min(used, len(cells) - least)


def rows_with_fault(
    drawn: Iterable[TraceRow], game: Game, first: int, last: int | None, fault_row: Callable[[Fault], TraceRow]
) -> Iterator[TraceRow]:
    """The rows of the tokens up to ``last``, then the faulty one's if it is one of ``first`` to ``last`` (from 1).

    ``drawn`` plays ``game`` from the token ``first`` on and draws what could be applied.
    """
    for row in drawn:
        if last is not None and row.number > last:
            return
        yield row
    fault = game.outcome().fault
    if fault is not None and fault.move + 1 >= first and (last is None or fault.move < last):
        yield fault_row(fault)


__all__ = [
    "EMPTY", "Bound", "Difference", "Game", "GameKind", "Play", "Rules", "bad_place", "first_used_row", "rows_with_fault",
    "skip_to", "trimmed_place",
]  # fmt: skip
