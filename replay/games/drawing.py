"""A replayed game as rows that can be drawn: the same shape for every game, on a terminal and on a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CellLook:
    """How the cells of one code look.

    ``glyph`` and ``ascii`` are its characters for a terminal (``Look.width``), ``style`` its colour, which only helps; ``css``
    are classes of the page, ``sign`` what stands in the cell there.  ``name`` is its entry in the legend, "" for none; an
    ``illegal`` one stands there only when a token could not be played.
    """

    glyph: str
    ascii: str
    style: str
    css: str
    sign: str
    name: str = ""
    illegal: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the page's list of moves; ``css`` its classes, ``about`` the long form of a short title."""

    title: str
    css: str = ""
    about: str = ""


@dataclass(frozen=True)
class Look:
    """What is the same in all drawings of a game: its cells by code and the list's columns.

    The classes of its cells stand in dashboard/static/player.css and look-GAME.css.  ``width`` are the characters of a cell on a
    terminal; ``signed`` pieces beside a page's board have their cells' signs too.
    """

    cells: dict[str, CellLook]
    columns: tuple[Column, ...]
    width: int = 2
    signed: bool = False

    @property
    def columns_in_list(self) -> int:
        """All columns of the list, with those of the move and its token."""
        return 2 + len(self.columns)


@dataclass(frozen=True, slots=True)
class Panel:
    """Pieces shown beside the board: ``items`` are (label, name of a drawing or None).

    ``title`` heads it on a page, ``short`` on a terminal, which draws the pieces below their labels only if ``drawn``.
    """

    key: str
    title: str
    short: str
    items: tuple[tuple[str, str | None], ...]
    drawn: bool = True


@dataclass(frozen=True, slots=True)
class TraceRow:
    """The state after one step.

    ``number`` is the token's, from 1 (0 is the start); ``place`` tells the rows of one token apart and names the row on a page.
    ``title`` and ``details`` are short lines for a terminal, ``caption`` the same as sentences, for a page and for those who have
    it read to them.  ``grid`` are the board's rows in the game's cell codes; ``values`` are (name, number) beside a page's board,
    ``cells`` (text, longer text or "") the columns of its list.

    ``piece`` is the piece that the step is about.  ``wrong`` marks the first token from which claim and replay cannot agree;
    ``fault`` is the reason why a token could not be played (then the state is the one that it met), as the engine says it;
    ``why`` is the same in the language of the other texts.
    """

    number: int
    place: str
    token: str
    title: str
    details: tuple[str, ...]
    caption: str
    grid: tuple[str, ...]
    panels: tuple[Panel, ...]
    values: tuple[tuple[str, str], ...]
    cells: tuple[tuple[str, str], ...]
    score: int
    best_combo: int
    piece: str | None = None
    wrong: bool = False
    fault: str | None = None
    why: str | None = None


def grid_text(grid: list[list[str]]) -> tuple[str, ...]:
    """Rows of cell codes as texts."""
    return tuple("".join(row) for row in grid)


__all__ = ["CellLook", "Column", "Look", "Panel", "TraceRow", "grid_text"]
