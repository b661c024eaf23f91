"""A game of Tetcolor as rows that can be drawn: each input, lock, pass and bomb generation, and what falls after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.outcome import Fault
from engine.tetcolor import layout as at
from engine.tetcolor.notation import cell_value
from engine.tetcolor.rules import TetcolorRules
from engine.tetcolor.single import Event, Game, trace
from replay.games.drawing import Panel, TraceRow, grid_text
from replay.games.kind import EMPTY, rows_with_fault
from replay.games.tetcolor_look import DESTROYED, KEPT, LIVE, SPECIAL_NAMES, THAWED, code, special_of
from replay.words import visible

TICKS_A_SECOND = 60
# Places that a sentence names before it only counts the others.
SHOWN_PLACES = 6
INPUT_NAMES = {"l": "left", "r": "right", "d": "soft drop", "h": "hard drop"}
TURN_NAMES = {"x": "turn clockwise", "z": "turn counter-clockwise"}
CYCLE_NAMES = {"x": "cycle down", "z": "cycle up"}
Place = tuple[int, int]


def place_name(row: int, column: int) -> str:
    """A cell as people call it: columns are letters from the left, rows numbers from the top."""
    return f"{chr(ord('a') + column)}{row + 1}"


def drawing(name: str, rules: TetcolorRules) -> list[str]:
    """A piece as it enters, top row first; ``name`` is its text as a challenge lists it (``T:abN*cd``)."""
    letter, _, text = name.partition(":")
    cells: list[str] = []
    for char in text:
        if char.islower():
            cells.append(char)
        else:
            cells[-1] += char
    shape = next(shape for shape in rules.shapes if shape.name == letter and len(shape.cells) == len(cells))
    rows, columns = (max(place[axis] for place in shape.cells) + 1 for axis in (0, 1))
    grid = [[EMPTY] * columns for _ in range(rows)]
    for (r, c), cell in zip(shape.cells, cells, strict=True):
        grid[r][c] = code(cell_value(cell))
    return ["".join(row) for row in grid]


def start_row(game: Game) -> TraceRow:
    """The board with the first piece in play."""
    now = _Now(game, game.piece, game.clock)
    said = ("Start of the game", f"in play: {now.piece or 'none'}", now.state)
    return now.row(0, "0", "", said, "The game before its first move.", _grid(game.cells, game.piece_cells), "")


def rows(game: Game, first: int, last: int | None, token_at: Callable[[bytes, int], str | None]) -> Iterator[TraceRow]:
    """The rows of the tokens ``first`` (at which the game stands) to ``last``, and the faulty one's."""
    return rows_with_fault(
        _Drawer(game).rows(), game, first, last, lambda fault: _fault_row(game, fault, token_at(game.log, fault.move) or "")
    )


def _fault_row(game: Game, fault: Fault, token: str) -> TraceRow:
    """The state that a token met which cannot be played."""
    number, written, why = fault.move + 1, visible(token), visible(fault.text, 160)
    now = _Now(game, game.piece, game.clock)
    said = (f"Move {number:,}   {written}", f"cannot be played: {why}", f"score before it {game.score:,}", now.state)
    caption = f"Move {number:,} ({written}) cannot be played: {why}. The score before it is {game.score:,}."
    return now.row(number, str(number), written, said, caption, _grid(game.cells, game.piece_cells), "", fault=why)


@dataclass(frozen=True)
class _Now:
    """A game as it stands, and the piece that a row is about."""

    game: Game
    piece: str | None
    tick: int
    multiplier: int = 0
    gain: int = 0

    @property
    def state(self) -> str:
        """The numbers that are told beside every board."""
        game = self.game
        return f"level {game.level}, {_count(game.pieces_settled, 'piece')} settled, {_seconds(self.tick)}"

    def row(
        self, number: int, place: str, token: str, said: tuple[str, ...], caption: str, grid: list[list[str]], what: str,
        fault: str | None = None,
    ) -> TraceRow:  # fmt: skip
        """The row; ``said`` are its title and details, ``what`` its entry in a page's list."""
        game, paid = self.game, f"x{self.multiplier}" if self.multiplier else "-"
        following = game.next_piece
        return TraceRow(
            number=number, place=place, token=token, title=said[0], details=said[1:], caption=caption, grid=grid_text(grid),
            panels=(Panel("next", "Next", "next: ", ((following or "none", following),)),),
            values=(
                ("Score", f"{game.score:,}"), ("Gain", f"+{self.gain:,}"), ("Multiplier", paid), ("Level", str(game.level)),
                ("Settled", f"{game.pieces_settled:,}"), ("Best combo", str(game.best_combo)), ("Clock", _seconds(self.tick)),
            ),
            cells=(
                (self.piece or "", ""), (what, ""), (paid, ""), (str(game.level), ""), (f"+{self.gain:,}", ""),
                (f"{game.score:,}", ""),
            ),
            score=game.score, best_combo=game.best_combo, piece=self.piece, fault=fault,
        )  # fmt: skip


class _Drawer:
    """Plays a game and draws it; knows what an event alone does not tell."""

    def __init__(self, game: Game) -> None:
        self.game, self.piece = game, game.piece
        family = game.rules.family(game.mode)
        assert family is not None
        self.by_rows = family.by_rows
        self.names = INPUT_NAMES | (TURN_NAMES if family.pool[0].rotates else CYCLE_NAMES)
        # What the last strike set off.
        self.blasts: tuple[tuple[int, int, int], ...] = ()
        self.number = self.place = 0
        self.by_input = False

    def rows(self) -> Iterator[TraceRow]:
        """All rows from where the game stands.  A piece that enters is seen in the next one."""
        tells = {
            "input": self._input, "lock": self._lock, "strike": self._strike, "generation": self._generation,
            "collapse": self._collapse, "over": self._over,
        }  # fmt: skip
        for event in trace(self.game):
            if event.kind == "enter":
                self.piece = self.game.piece
            elif event.kind != "collapse" or event.before != event.after:
                yield tells[event.kind](event)

    def _row(self, event: Event, what: str, details: list[str], grid: list[list[str]], of: str = "") -> TraceRow:
        """A row: ``what`` happened in a few words, ``details`` what more there is to say; ``of`` is ``what`` in a sentence."""
        number = event.move + 1
        if number != self.number:
            self.number, self.place, self.by_input = number, 0, False
        self.place += 1
        self.by_input = self.by_input or event.kind == "input"
        if self.by_input:
            when, title = f"Move {number:,} ({event.token})", f"Move {number:,}   {event.token}"
        elif event.token[-1:].isdigit():
            when, title = f"In the time after the last move ({event.token})", f"After the last move   {event.token}"
        else:
            when, title = f"Before move {number:,} ({event.token})", f"Before move {number:,}   {event.token}"
        now = _Now(self.game, self.piece, event.tick, event.multiplier if event.kind == "strike" else 0, event.points)
        points = f"+{event.points:,}   score {event.score:,}" if event.points else f"score {event.score:,}"
        said = (title, what, *details, points, now.state)
        earned = f" It brings {_count(event.points, 'point')}, the score is {event.score:,}." if event.points else ""
        caption = f"{when}: {of or what}." + "".join(f" {text[:1].upper()}{text[1:]}." for text in details) + earned
        # An input has its token's own place on a page, what happens around it stands beside it.
        place = str(number) if event.kind == "input" else f"{number}-{self.place}"
        return now.row(number, place, event.token, said, caption, grid, "; ".join([what, *details]))

    def _input(self, event: Event) -> TraceRow:
        name, effect = self.names[event.token[-1]], "" if event.effect else ", without effect"
        details, of = ([], f"{name} of {self.piece}{effect}") if event.piece else (["no piece is in play"], "")
        return self._row(event, name + effect, details, _grid(event.before, event.piece), of)

    def _lock(self, event: Event) -> TraceRow:
        self.blasts = ()
        return self._row(event, f"{self.piece} locks", [], _grid(event.after, event.piece))

    def _strike(self, event: Event) -> TraceRow:
        count, number = len(event.destroyed), event.passes + 1
        if not count:
            what = "a pass that destroys nothing and does not count"
        elif self.by_rows:
            rows = len({row for row, _ in event.destroyed})
            what = f"pass {number}: {_count(rows, 'row')}, {_count(event.points, 'point')}"
        else:
            sum_to = f"{count * (count + 1) // 2:,}"
            what = f"pass {number}: {_count(count, 'block')}, {sum_to} x {event.multiplier} = {event.points:,}"
        details = []
        if event.full_rows:
            rows_full = [str(row + 1) for row in event.full_rows]
            details.append(f"full row{'s' if len(rows_full) > 1 else ''} {' '.join(rows_full)}")
        self.blasts = event.blasts
        return self._row(event, what, [*details, *_struck_words(event)], _struck_grid(event))

    def _generation(self, event: Event) -> TraceRow:
        struck = len(event.destroyed) + len(event.thawed)
        verb = "strikes" if len(self.blasts) == 1 else "strike"
        reached = f"{struck:,}" if struck else "nothing"
        what = f"generation {event.generation}: {_blast_names(self.blasts)} {verb} {reached}, {_count(event.points, 'point')}"
        self.blasts = event.blasts
        return self._row(event, what, _struck_words(event), _struck_grid(event))

    def _collapse(self, event: Event) -> TraceRow:
        return self._row(event, "blocks fall", [], _grid(event.after, {}))

    def _over(self, event: Event) -> TraceRow:
        return self._row(event, "the game is over", ["the next piece has no room to enter"], _grid(event.after, {}))


def _struck_words(event: Event) -> list[str]:
    """What a strike did besides destroying blocks."""
    out = []
    if event.thawed:
        out.append(f"ice melts at {_places(event.thawed)}")
    if event.kept:
        out.append(f"{'a stone stays' if len(event.kept) == 1 else 'stones stay'} at {_places(event.kept)}")
    if event.blasts:
        out.append(f"next to go off: {_blast_names(event.blasts)}")
    return out


def _blast_names(blasts: Sequence[tuple[int, int, int]]) -> str:
    """Bombs and Activators with their places: ``horizontal bomb at c5``."""
    return _some([f"{SPECIAL_NAMES[special_of(cell)]} at {place_name(r, c)}" for r, c, cell in blasts])


def _places(places: Sequence[Place]) -> str:
    return _some([place_name(row, column) for row, column in places])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_PLACES:,} more" if len(names) > SHOWN_PLACES else ""
    return ", ".join(names[:SHOWN_PLACES]) + more


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _seconds(tick: int) -> str:
    return f"{tick // TICKS_A_SECOND:,}.{tick % TICKS_A_SECOND * 10 // TICKS_A_SECOND} s"


def _grid(cells: Sequence[Sequence[int]], piece: dict[Place, int]) -> list[list[str]]:
    """The board's codes, with a piece in play or just locked."""
    grid = [[code(cell) for cell in row] for row in cells]
    for (row, column), cell in piece.items():
        grid[row][column] = code(cell, LIVE)
    return grid


def _struck_grid(event: Event) -> list[list[str]]:
    """The board as the strike met it, with what became of each struck block."""
    grid = _grid(event.before, {})
    for places, state in ((event.destroyed, DESTROYED), (event.thawed, THAWED), (event.kept, KEPT)):
        for row, column in places:
            grid[row][column] = code(event.before[row][column] & ~at.ICE, state)
    return grid


__all__ = ["drawing", "place_name", "rows", "start_row"]
