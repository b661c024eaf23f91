"""How the cells of a Tetcolor board look, on a terminal and on a page.

A drawn cell is one character: a plain settled block its colour's letter, any other what ``code`` makes of it.
"""

from __future__ import annotations

from engine.tetcolor import layout as at
from engine.tetcolor.notation import SPECIALS
from engine.tetcolor.rules import COLOURS
from replay.games.drawing import CellLook, Column, Look
from replay.games.kind import EMPTY
from replay.i18n import N_

# What a drawn block is: settled, of the piece in play or just locked, destroyed, just thawed, a stone that was struck and stays.
SETTLED, LIVE, DESTROYED, THAWED, KEPT = range(5)
# Characters that nobody ever sees: they only stand for a look.
_FIRST_CODE, _CELLS = 0xE000, 128
SPECIAL_NAMES = (
    "", N_("normal bomb"), N_("horizontal bomb"), N_("vertical bomb"), N_("lightning bomb"), N_("mega bomb"), N_("activator"),
    N_("stone"),
)  # fmt: skip
_SIGNS = ("", "●", "↔", "↕", "↯", "✸", "◎", "■")
_STATE_NAMES = (N_("settled"), N_("in play or just locked"), N_("destroyed"), N_("ice melts"))
_MARKS = {SETTLED: (" ", " "), LIVE: (" ", " "), DESTROYED: ("×", "x"), THAWED: ("~", "~"), KEPT: ("=", "=")}
_CSS_OF = {LIVE: " live", THAWED: " thawed", KEPT: " kept"}
# Far enough apart for eyes that lack one kind of cones (a test holds every pair to that); the letter says the same.  A page has
# them from dashboard/static/look-tetcolor.css, which a test holds to these.
COLOUR_CODES = {"a": "#fbe04a", "b": "#08516b", "c": "#b5380c", "d": "#5beeda", "e": "#a33cf5"}
SIGN_CODES = {"a": "#12151c", "b": "#ffffff", "c": "#ffffff", "d": "#12151c", "e": "#ffffff"}


def code(cell: int, state: int = SETTLED) -> str:
    """The character that stands for a cell (``engine.tetcolor.layout``) in a state."""
    if not cell & at.COLOUR:
        return EMPTY
    if state == SETTLED and cell == cell & at.COLOUR:
        return COLOURS[cell - 1]
    return chr(_FIRST_CODE + state * _CELLS + cell)


def cell_of(drawn: str) -> int:
    """The cell that a code stands for, in whatever state; 0 for EMPTY."""
    if drawn == EMPTY:
        return 0
    return COLOURS.index(drawn) + 1 if drawn in COLOURS else (ord(drawn) - _FIRST_CODE) % _CELLS


def special_of(cell: int) -> int:
    """The number of a cell's special, 0 for none."""
    return cell >> at.SPECIAL_SHIFT & 7


def _name(cell: int, state: int) -> str:
    """A look's entry in the legend: each state and each special once, on blocks of one colour."""
    if state == KEPT:
        return N_("stone that stays") if cell & at.COLOUR == 1 else ""
    special, ice = special_of(cell), cell & at.ICE
    if cell & at.COLOUR != 1 or (special and (ice or state)) or (ice and state):
        return ""
    if special:
        return SPECIAL_NAMES[special]
    return N_("under ice") if ice else _STATE_NAMES[state]


def _cell_look(cell: int, state: int) -> CellLook:
    letter = COLOURS[(cell & at.COLOUR) - 1]
    special, ice = special_of(cell), bool(cell & at.ICE)
    marks = ("*", "*") if ice else _MARKS[state]
    shown = (letter.upper() if state == LIVE else letter) + (SPECIALS[special - 1] if special else " ")
    style = f"{'bold ' if state else ''}{SIGN_CODES[letter]} on {COLOUR_CODES[letter]}"
    css = "block emptied" if state == DESTROYED else f"block colour-{letter}{_CSS_OF.get(state, '')}"
    return CellLook(
        shown + marks[0], shown + marks[1], "bold yellow" if state == DESTROYED else style, css + (" ice" if ice else ""),
        letter + (_SIGNS[special] or "×" * (state == DESTROYED)), _name(cell, state),
    )  # fmt: skip


def _cell_looks() -> dict[str, CellLook]:
    out = {EMPTY: CellLook("·  ", ".  ", "dim", "void", "")}
    for state in (SETTLED, LIVE, DESTROYED, THAWED, KEPT):
        for ice in (0, at.ICE):
            # Ice is never destroyed and never stays: it melts.
            if ice and state > LIVE:
                continue
            for special in range(at.STONE + 1):
                if state == KEPT and special != at.STONE:
                    continue
                for colour in range(1, len(COLOURS) + 1):
                    cell = colour | special << at.SPECIAL_SHIFT | ice
                    out[code(cell, state)] = _cell_look(cell, state)
    return out


LOOK = Look(
    cells=_cell_looks(),
    columns=(
        Column(N_("Piece"), "name beside"), Column(N_("What"), "name what"), Column(N_("Mult."), "beside", N_("Multiplier")),
        Column(N_("Level"), "beside"), Column(N_("Gain")), Column(N_("Score")),
    ),
    width=3,
    signed=True,
)  # fmt: skip

__all__ = [
    "COLOUR_CODES", "DESTROYED", "KEPT", "LIVE", "LOOK", "SETTLED", "SIGN_CODES", "SPECIAL_NAMES", "THAWED", "cell_of", "code",
    "special_of",
]  # fmt: skip
