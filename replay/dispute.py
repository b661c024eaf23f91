"""One disputed game for the support desk: the verdict in words and every move, on a terminal (``game_page`` draws it as HTML).

``rich`` is imported only where something is drawn: a verdict as JSON must not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from replay.games import GameKind
from replay.games.drawing import Look, Panel, TraceRow
from replay.games.kind import EMPTY, Rules
from replay.i18n import N_
from replay.trace import Dispute
from replay.words import visible, words

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "VERDICT_NAMES", "Dispute", "TraceRow", "asked_range", "claims", "render_terminal", "words", "wrong_words",
]  # fmt: skip

# Moves that are drawn when nobody asked for a range; a longer log is cut to the moves around the wrong one.
TERMINAL_MOVES = 400


def wrong_words(dispute: Dispute) -> str:
    """What cannot agree from the wrong move on."""
    at = dispute.wrong_move
    codes = [reason.code for reason in dispute.verdict.reasons if reason.move == at]
    gettext = dispute.language.gettext
    told = [gettext(_WRONG[code]) for code in codes if code in _WRONG] or [gettext("upload and replay cannot agree")]
    return gettext("wrong from here on: {claims}", claims=", ".join(told))


_WRONG = {
    "score_mismatch": N_("score"), "combo_mismatch": N_("best combo"), "board_mismatch": N_("final board"),
    "level_mismatch": N_("level"), "lines_mismatch": N_("lines"), "illegal_move": N_("this move cannot be played"),
    "challenge": N_("this move cannot be played"),
}  # fmt: skip
# A verdict in a word.
VERDICT_NAMES = {
    "verified": N_("verified"), "flagged": N_("flagged"), "copy": N_("copy"), "withheld": N_("held back"),
    "quarantined": N_("quarantined"),
}  # fmt: skip


# --- On a terminal -------------------------------------------------------------------------------------------------------

_VERDICT_STYLES = {"verified": "bold green", "flagged": "bold red", "withheld": "bold yellow"}


class _Terminal:
    """Draws the boards of one game on one console with what that can show."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.ascii = console.options.ascii_only or console.legacy_windows

    def glyph(self, cell: str, look: Look) -> str:
        """The characters for a cell."""
        return look.cells[cell].ascii if self.ascii else look.cells[cell].glyph

    def line(self, *parts: tuple[str, str]) -> None:
        """One line of (text, style) parts; never read as markup."""
        from rich.text import Text

        text = Text()
        for written, style in parts:
            text.append(written.encode("ascii", "backslashreplace").decode() if self.ascii else written, style)
        self.console.print(text, overflow="fold", soft_wrap=False)

    def paragraphs(self, texts: list[str]) -> None:
        """Sentences as a list with hanging lines."""
        for text in texts:
            for number, part in enumerate(wrap(text, max(20, self.console.width - 4)) or [""]):
                self.line(("  - " if number == 0 else "    ", "dim"), (part, ""))

    def legend(self, names: list[str]) -> None:
        """Names side by side, none of them broken."""
        line = ""
        for name in names:
            if line and len(line) + 3 + len(name) > self.console.width:
                self.line((line, "dim"))
                line = ""
            line += f"   {name}" if line else name
        self.line((line, "dim"))

    def board(self, row: TraceRow, info: list[tuple[str, str]], kind: GameKind[Any, Any], rules: Rules, mode: str) -> None:
        """A board with its coordinates, and lines of (text, style) beside it."""
        look = kind.look
        width = len(row.grid[0]) * look.width
        names = zip(kind.row_names(len(row.grid), rules, mode), row.grid, strict=True)
        named = kind.column_names(rules, mode)
        # Above cells of two characters a name stands at the right, above wider ones where their letter is.
        columns = "".join(f"{name:>2}" if look.width == 2 else name.ljust(look.width) for name in named)
        board: list[list[tuple[str, str]]] = [[("   " + columns, "dim")]]
        for name, cells in names:
            board.append([(f"{name:>2} ", "dim"), *((self.glyph(cell, look), look.cells[cell].style) for cell in cells)])
        blank = [(" " * (3 + width), "")]
        room = max(20, self.console.width - 3 - width - 3)
        beside = [(part, style) for text, style in info for part in wrap(text, room, drop_whitespace=False) or [""]]
        for left, right in zip_longest(board, beside, fillvalue=None):
            self.line(*(left or blank), *([("   ", ""), right] if right else []))

    def panel(self, panel: Panel, kind: GameKind[Any, Any], rules: Rules) -> list[tuple[str, str]]:
        """Pieces beside the board: labels, then shapes."""
        look, columns = kind.look, list[list[str]]()
        for label, name in panel.items:
            drawn = [
                "".join(" " * look.width if cell == EMPTY else self.glyph(cell, look) for cell in line)
                for line in kind.drawing(name, rules)
            ] if name and panel.drawn else []  # fmt: skip
            width = max(len(text) for text in [label, *drawn]) + 2
            columns.append([text.ljust(width) for text in [label, *drawn]])
        height = max(map(len, columns), default=1)
        blank = [" " * len(column[0]) for column in columns]
        lines = [panel.short + "".join(column[0] for column in columns)]
        lines += [
            " " * len(panel.short)
            + "".join(column[i] if i < len(column) else gap for column, gap in zip(columns, blank, strict=True))
            for i in range(1, height)
        ]
        return [(text.rstrip(), "") for text in lines]


def render_terminal(dispute: Dispute, console: Console, first: int | None = None, last: int | None = None) -> None:
    """Print the verdict in words, claims beside replay, and the moves ``first`` to ``last`` (from 1, both included) with boards.

    Without a range, all moves, or TERMINAL_MOVES around the wrong one when the log is longer.  Fits 80 columns; a console
    without Unicode gets ASCII.  Raises UsageError for a range that is none.
    """
    verdict = dispute.verdict
    rows = dispute.rows(*asked_range(dispute, first, last, TERMINAL_MOVES))
    out = _Terminal(console)
    style, gettext = _VERDICT_STYLES.get(verdict.verdict, "bold yellow"), dispute.language.gettext
    heading, uploaded, replayed, differs = gettext("Game"), gettext("uploaded"), gettext("replayed"), gettext("differs")
    name = gettext(VERDICT_NAMES.get(verdict.verdict, verdict.verdict))
    out.line((f"{heading} {visible(verdict.game_id)}: ", "bold"), (name, style))
    out.paragraphs(dispute.words())
    out.line(("", ""))
    out.line((f"{'':14}{uploaded:>20}{replayed:>20}", "dim"))
    for name, claim, found, same in claims(dispute):
        out.line((f"{name:14}{claim:>20}{found:>20}", ""), ("" if same is not False else f"   {differs}", "bold red"))
    kind = dispute.kind
    if kind is None or (dispute.total == 0 and dispute.start() is None):
        return
    names = [
        f"{out.glyph(code, kind.look)} {gettext(cell.name)}" for code, cell in kind.look.cells.items()
        if cell.name and (verdict.fault or not cell.illegal)
    ]  # fmt: skip
    out.line(("", ""))
    out.legend(names)
    out.line(("", ""))
    _print_moves(dispute, out, rows, kind)


def _print_moves(dispute: Dispute, out: _Terminal, rows: Iterator[TraceRow], kind: GameKind[Any, Any]) -> None:
    assert dispute.rules is not None
    gettext = dispute.language.gettext
    start = dispute.start()
    shown: list[int] = []
    for row in rows:
        steps = [row] if shown or row.number != 1 or start is None else [start, row]
        for step in steps:
            if step.wrong:
                out.line((f">>> {wrong_words(dispute)}", "bold red"))
            info = [(step.title, "bold red" if step.wrong else "bold"), *((text, "") for text in step.details)]
            beside = [line for panel in step.panels for line in out.panel(panel, kind, dispute.rules)]
            out.board(step, [*info, *beside], kind, dispute.rules, dispute.record.mode)
            out.line(("", ""))
        shown = [*shown[:1], row.number]
    if not shown:
        none = gettext("No move of that range was played: the log has {total}.", total=dispute.total)
        out.line((none, "bold"))
    elif shown[-1] - shown[0] + 1 < dispute.total:
        some = gettext(
            "Moves {first} to {last} of {total}; see others with --from and --to.", first=shown[0], last=shown[-1],
            total=dispute.total,
        )  # fmt: skip
        out.line((some, "bold"))


def asked_range(dispute: Dispute, first: int | None, last: int | None, limit: int) -> tuple[int, int | None]:
    """The moves to draw: what was asked for, or the window around the wrong move."""
    if first is None and last is None:
        start, end = dispute.window(limit)
        return start, max(start, end)
    return 1 if first is None else first, last


def claims(dispute: Dispute) -> list[tuple[str, str, str, bool | None]]:
    """(name, uploaded, replayed, whether they agree or None where nothing was claimed or compared) for every result."""
    claim, found, gettext, number = (
        dispute.verdict.claimed, dispute.verdict.replayed, dispute.language.gettext, dispute.language.number,
    )  # fmt: skip
    numbers = [
        (gettext(name), key, number(claim[key]) if claim[key] is not None else "")
        for key, name in _NUMBERS.items()
        if key in claim
    ]
    if found is None:
        return [(name, shown, gettext("not replayed"), None) for name, key, shown in numbers]
    legal = dispute.verdict.fault is None
    out: list[tuple[str, str, str, bool | None]] = [
        (name, shown, number(found[key]), claim[key] == found[key] if shown and (legal or key == "moves") else None)
        for name, key, shown in numbers
    ]
    if legal:
        same = not any(reason.code == "board_mismatch" for reason in dispute.verdict.reasons)
        out.append((gettext("final board"), "", gettext("the same") if same else gettext("different"), same))
    out.append((gettext("game over"), "", gettext("yes") if found["finished"] else gettext("no"), None))
    return out


_NUMBERS = {
    "score": N_("score"), "best_combo": N_("best combo"), "level": N_("level"), "lines": N_("lines"), "moves": N_("moves"),
}  # fmt: skip
