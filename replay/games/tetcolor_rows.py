"""A game of Tetcolor as rows that can be drawn: each input, lock, pass and bomb generation, and what falls after them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.outcome import Fault
from engine.tetcolor import layout as at
from engine.tetcolor.notation import cell_value
from engine.tetcolor.rules import TetcolorRules
from engine.tetcolor.single import Event, Game, trace
from replay.games import row_words as say
from replay.games.drawing import Panel, TraceRow, grid_text
from replay.games.kind import EMPTY, rows_with_fault
from replay.games.tetcolor_look import DESTROYED, KEPT, LIVE, SPECIAL_NAMES, THAWED, code, special_of
from replay.harmless import visible
from replay.i18n import N_, Language

# Places that a sentence names before it only counts the others.
SHOWN_PLACES = 6
INPUT_NAMES = {"l": N_("left"), "r": N_("right"), "d": N_("soft drop"), "h": N_("hard drop")}
TURN_NAMES = {"x": N_("turn clockwise"), "z": N_("turn counter-clockwise")}
CYCLE_NAMES = {"x": N_("cycle down"), "z": N_("cycle up")}
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


def start_row(game: Game, language: Language) -> TraceRow:
    """The board with the first piece in play."""
    now = _Now(game, game.piece, game.clock, language)
    title, caption = say.start_words(language)
    said = (title, language.gettext("in play: {piece}", piece=now.piece or say.none(language)), now.state)
    return now.row(0, "0", "", said, caption, _grid(game.cells, game.piece_cells), "")


def rows(
    game: Game, first: int, last: int | None, token_at: Callable[[bytes, int], str | None], language: Language
) -> Iterator[TraceRow]:
    """The rows of the tokens ``first`` (at which the game stands) to ``last``, and the faulty one's."""
    return rows_with_fault(
        _Drawer(game, language).rows(), game, first, last,
        lambda fault: _fault_row(game, fault, token_at(game.log, fault.move) or "", language),
    )  # fmt: skip


def _fault_row(game: Game, fault: Fault, token: str, language: Language) -> TraceRow:
    """The state that a token met which cannot be played."""
    number, written, why = fault.move + 1, visible(token), say.why_not(fault, language)
    now = _Now(game, game.piece, game.clock, language)
    caption, cannot = say.fault_words(number, written, why, game.score, language)
    before = language.gettext("score before it {score}", score=game.score)
    said = (say.title(number, written, language), cannot, before, now.state)
    grid = _grid(game.cells, game.piece_cells)
    return now.row(number, str(number), written, said, caption, grid, "", fault=visible(fault.text, 160), why=why)


@dataclass(frozen=True)
class _Now:
    """A game as it stands, and the piece that a row is about."""

    game: Game
    piece: str | None
    tick: int
    language: Language
    multiplier: int = 0
    gain: int = 0

    @property
    def level(self) -> str:
        """The level; only a game of a mode that exists is drawn, and that has one."""
        assert self.game.level is not None
        return self.language.plain(self.game.level)

    @property
    def state(self) -> str:
        """The numbers that are told beside every board."""
        game, language = self.game, self.language
        return language.ngettext(
            "level {level}, {count} piece settled, {time}", "level {level}, {count} pieces settled, {time}", game.pieces_settled,
            level=self.level, time=say.seconds(self.tick, language),
        )  # fmt: skip

    def row(
        self, number: int, place: str, token: str, said: tuple[str, ...], caption: str, grid: list[list[str]], what: str,
        fault: str | None = None, why: str | None = None,
    ) -> TraceRow:  # fmt: skip
        """The row; ``said`` are its title and details, ``what`` its entry in a page's list."""
        game, language, gettext, number_of = self.game, self.language, self.language.gettext, self.language.number
        paid, earned = f"x{self.multiplier}" if self.multiplier else "-", f"+{number_of(self.gain)}"
        following = game.next_piece
        return TraceRow(
            number=number, place=place, token=token, title=said[0], details=said[1:], caption=caption, grid=grid_text(grid),
            panels=(Panel("next", gettext("Next"), gettext("next: "), ((following or say.none(language), following),)),),
            values=(
                (gettext("Score"), number_of(game.score)), (gettext("Gain"), earned), (gettext("Multiplier"), paid),
                (gettext("Level"), self.level), (gettext("Settled"), number_of(game.pieces_settled)),
                (gettext("Best combo"), language.plain(game.best_combo)), (gettext("Clock"), say.seconds(self.tick, language)),
            ),
            cells=(
                (self.piece or "", ""), (what, ""), (paid, ""), (self.level, ""), (earned, ""),
                (number_of(game.score), ""),
            ),
            score=game.score, best_combo=game.best_combo, piece=self.piece, fault=fault, why=why,
        )  # fmt: skip


class _Drawer:
    """Plays a game and draws it; knows what an event alone does not tell."""

    def __init__(self, game: Game, language: Language) -> None:
        self.game, self.piece, self.language = game, game.piece, language
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
        language, gettext = self.language, self.language.gettext
        title, when = say.when(number, event.token, self.by_input, language)
        now = _Now(self.game, self.piece, event.tick, language, event.multiplier if event.kind == "strike" else 0, event.points)
        points = say.gain(event.points, event.score, language) if event.points else gettext("score {score}", score=event.score)
        said = (title, what, *details, points, now.state)
        caption = gettext("{when}: {action}.", when=when, action=of or what)
        caption += "".join(f" {text[:1].upper()}{text[1:]}." for text in details)
        if event.points:
            caption += f" {say.brings(event.points, event.score, language)}"
        # An input has its token's own place on a page, what happens around it stands beside it.
        place = str(number) if event.kind == "input" else f"{number}-{self.place}"
        return now.row(number, place, event.token, said, caption, grid, "; ".join([what, *details]))

    def _input(self, event: Event) -> TraceRow:
        gettext, name = self.language.gettext, self.language.gettext(self.names[event.token[-1]])
        shown = name if event.effect else gettext("{action}, without effect", action=name)
        details, of = [], ""
        if not event.piece:
            details.append(gettext("no piece is in play"))
        elif event.effect:
            of = gettext("{action} of {piece}", action=name, piece=self.piece)
        else:
            of = gettext("{action} of {piece}, without effect", action=name, piece=self.piece)
        return self._row(event, shown, details, _grid(event.before, event.piece), of)

    def _lock(self, event: Event) -> TraceRow:
        self.blasts = ()
        return self._row(event, self.language.gettext("{piece} locks", piece=self.piece), [], _grid(event.after, event.piece))

    def _strike(self, event: Event) -> TraceRow:
        language, count, number = self.language, len(event.destroyed), self.language.plain(event.passes + 1)
        if not count:
            what = language.gettext("a pass that destroys nothing and does not count")
        elif self.by_rows:
            rows = len({row for row, _ in event.destroyed})
            what = language.ngettext(
                "pass {number}: {count} row, {points}", "pass {number}: {count} rows, {points}", rows, number=number,
                points=_points(event.points, language),
            )  # fmt: skip
        else:
            product = f"{language.number(count * (count + 1) // 2)} x {language.plain(event.multiplier)}"
            what = language.ngettext(
                "pass {number}: {count} block, {product} = {points}", "pass {number}: {count} blocks, {product} = {points}",
                count, number=number, product=product, points=event.points,
            )  # fmt: skip
        details = []
        if event.full_rows:
            full = [str(row + 1) for row in event.full_rows]
            details.append(language.ngettext("full row {rows}", "full rows {rows}", len(full), rows=" ".join(full)))
        self.blasts = event.blasts
        return self._row(event, what, [*details, *_struck_words(event, language)], _struck_grid(event))

    def _generation(self, event: Event) -> TraceRow:
        language, struck = self.language, len(event.destroyed) + len(event.thawed)
        shown = {
            "generation": language.plain(event.generation), "bombs": _blast_names(self.blasts, language),
            "points": _points(event.points, language),
        }  # fmt: skip
        if struck:
            what = language.ngettext(
                "generation {generation}: {bombs} strikes {struck}, {points}",
                "generation {generation}: {bombs} strike {struck}, {points}", len(self.blasts), struck=struck, **shown,
            )  # fmt: skip
        else:
            what = language.ngettext(
                "generation {generation}: {bombs} strikes nothing, {points}",
                "generation {generation}: {bombs} strike nothing, {points}", len(self.blasts), **shown,
            )  # fmt: skip
        self.blasts = event.blasts
        return self._row(event, what, _struck_words(event, language), _struck_grid(event))

    def _collapse(self, event: Event) -> TraceRow:
        return self._row(event, self.language.gettext("blocks fall"), [], _grid(event.after, {}))

    def _over(self, event: Event) -> TraceRow:
        gettext = self.language.gettext
        return self._row(
            event, gettext("the game is over"), [gettext("the next piece has no room to enter")], _grid(event.after, {})
        )


def _struck_words(event: Event, language: Language) -> list[str]:
    """What a strike did besides destroying blocks."""
    out = []
    if event.thawed:
        out.append(language.gettext("ice melts at {places}", places=_places(event.thawed, language)))
    if event.kept:
        kept = _places(event.kept, language)
        out.append(language.ngettext("a stone stays at {places}", "stones stay at {places}", len(event.kept), places=kept))
    if event.blasts:
        out.append(language.gettext("next to go off: {bombs}", bombs=_blast_names(event.blasts, language)))
    return out


def _blast_names(blasts: Sequence[tuple[int, int, int]], language: Language) -> str:
    """Bombs and Activators with their places: ``horizontal bomb at c5``."""
    return _some([
        language.gettext("{bomb} at {place}", bomb=language.gettext(SPECIAL_NAMES[special_of(cell)]), place=place_name(r, c))
        for r, c, cell in blasts
    ], language)  # fmt: skip


def _places(places: Sequence[Place], language: Language) -> str:
    return _some([place_name(row, column) for row, column in places], language)


def _some(names: list[str], language: Language) -> str:
    shown, more = ", ".join(names[:SHOWN_PLACES]), len(names) - SHOWN_PLACES
    return language.gettext("{names} and {more} more", names=shown, more=more) if more > 0 else shown


def _points(count: int, language: Language) -> str:
    return language.ngettext("{count} point", "{count} points", count)


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
