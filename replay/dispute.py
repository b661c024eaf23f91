"""One disputed game for the support desk: the verdict in words and every move, on a terminal or as one HTML page.

``rich`` and ``jinja2`` are imported only where something is drawn: a verdict as JSON must not wait for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from replay.games import GameKind
from replay.games.drawing import Look, Panel, TraceRow
from replay.games.kind import EMPTY, Rules
from replay.record import Record
from replay.trace import Dispute
from replay.verdict import time_text
from replay.words import visible, words

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Dispute", "TraceRow", "render_html", "render_terminal", "words"]

TEMPLATES = Path(__file__).parent / "templates"
# Moves that are drawn when nobody asked for a range; a longer log is cut to the moves around the wrong one.
TERMINAL_MOVES = 400
HTML_MOVES = 2000


def wrong_words(dispute: Dispute) -> str:
    """What cannot agree from the wrong move on."""
    at = dispute.wrong_move
    codes = [reason.code for reason in dispute.verdict.reasons if reason.move == at]
    names = {
        "score_mismatch": "score", "combo_mismatch": "best combo", "board_mismatch": "final board", "level_mismatch": "level",
        "lines_mismatch": "lines", "illegal_move": "this move cannot be played", "challenge": "this move cannot be played",
    }  # fmt: skip
    told = [names[code] for code in codes if code in names]
    return "wrong from here on: " + ", ".join(told or ["upload and replay cannot agree"])


# --- On a terminal -------------------------------------------------------------------------------------------------------

_VERDICT_STYLES = {"verified": "bold green", "flagged": "bold red"}


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
    rows = dispute.rows(*_range(dispute, first, last, TERMINAL_MOVES))
    out = _Terminal(console)
    style = _VERDICT_STYLES.get(verdict.verdict, "bold yellow")
    out.line((f"Game {visible(verdict.game_id)}: ", "bold"), (verdict.verdict, style))
    out.paragraphs(dispute.words())
    out.line(("", ""))
    out.line((f"{'':14}{'uploaded':>20}{'replayed':>20}", "dim"))
    for name, claim, found, same in claims(dispute):
        out.line((f"{name:14}{claim:>20}{found:>20}", ""), ("" if same is not False else "   differs", "bold red"))
    kind = dispute.kind
    if kind is None or (dispute.total == 0 and dispute.start() is None):
        return
    names = [
        f"{out.glyph(code, kind.look)} {cell.name}" for code, cell in kind.look.cells.items()
        if cell.name and (verdict.fault or not cell.illegal)
    ]  # fmt: skip
    out.line(("", ""))
    out.legend(names)
    out.line(("", ""))
    _print_moves(dispute, out, rows, kind)


def _print_moves(dispute: Dispute, out: _Terminal, rows: Iterator[TraceRow], kind: GameKind[Any, Any]) -> None:
    assert dispute.rules is not None
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
        out.line((f"No move of that range was played: the log has {dispute.total:,}.", "bold"))
    elif shown[-1] - shown[0] + 1 < dispute.total:
        out.line((f"Moves {shown[0]:,} to {shown[-1]:,} of {dispute.total:,}; see others with --from and --to.", "bold"))


def _range(dispute: Dispute, first: int | None, last: int | None, limit: int) -> tuple[int, int | None]:
    """The moves to draw: what was asked for, or the window around the wrong move."""
    if first is None and last is None:
        start, end = dispute.window(limit)
        return start, max(start, end)
    return 1 if first is None else first, last


def claims(dispute: Dispute) -> list[tuple[str, str, str, bool | None]]:
    """(name, uploaded, replayed, whether they agree or None where nothing was claimed or compared) for every result."""
    claim, found = dispute.verdict.claimed, dispute.verdict.replayed
    numbers = [(name, key, f"{claim[key]:,}" if claim[key] is not None else "") for name, key in _NUMBERS if key in claim]
    if found is None:
        return [(name, shown, "not replayed", None) for name, key, shown in numbers]
    legal = dispute.verdict.fault is None
    out: list[tuple[str, str, str, bool | None]] = [
        (name, shown, f"{found[key]:,}", claim[key] == found[key] if shown and (legal or key == "moves") else None)
        for name, key, shown in numbers
    ]
    if legal:
        same = not any(reason.code == "board_mismatch" for reason in dispute.verdict.reasons)
        out.append(("final board", "", "the same" if same else "different", same))
    out.append(("game over", "", "yes" if found["finished"] else "no", None))
    return out


_NUMBERS = (("score", "score"), ("best combo", "best_combo"), ("level", "level"), ("lines", "lines"), ("moves", "moves"))


# --- As one page ---------------------------------------------------------------------------------------------------------


def render_html(dispute: Dispute, first: int | None = None, last: int | None = None) -> str:
    """One self-contained page: verdict, claims beside replay, a board that steps through the moves, and the list of moves.

    Without a range, all moves, or HTML_MOVES around the wrong one when the log is longer.  The page opens at the wrong move,
    else at the last one, and shows that much without JavaScript too.  Raises UsageError for a range that is none.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    rows = list(dispute.rows(*_range(dispute, first, last, HTML_MOVES)))
    start = dispute.start()
    if start is not None and (rows[0].number == 1 if rows else dispute.total == 0):
        rows.insert(0, start)
    rows = _of_one_height(rows)
    opened = next((index for index, row in enumerate(rows) if row.wrong), len(rows) - 1)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    kind, mode, drawings = dispute.kind, dispute.record.mode, _drawings(dispute, rows)
    shown = kind if kind is not None and dispute.rules is not None and kind.plays(dispute.rules, mode) else None
    page: str = environment.get_template("game.html.j2").render(
        game_id=visible(dispute.verdict.game_id), verdict=dispute.verdict.verdict, words=dispute.words(), claims=claims(dispute),
        about=_about(dispute.record), boards=_final_boards(dispute), rows=rows, opened=opened, total=dispute.total,
        data=_page_data(dispute, rows, opened, drawings), wrong=wrong_words(dispute), drawings=drawings,
        look=kind.look if kind else Look({}, ()), columns=shown.column_names(dispute.rules, mode) if shown else [],
        row_names=(lambda height: shown.row_names(height, dispute.rules, mode)) if shown else None,
    )  # fmt: skip
    return page


def _of_one_height(rows: list[TraceRow]) -> list[TraceRow]:
    """Rows whose boards are all as high as the highest, empty rows at the top filling the others: a page has one board."""
    height = max((len(row.grid) for row in rows), default=0)
    return [
        row if len(row.grid) == height
        else replace(row, grid=(EMPTY * len(row.grid[0]),) * (height - len(row.grid)) + row.grid)
        for row in rows
    ]  # fmt: skip


def _about(record: Record) -> list[tuple[str, str]]:
    """The record's other fields as (name, harmless text)."""
    seconds = (record.finished_at - record.started_at) / 1_000_000
    return [
        ("Player", visible(record.player_id)),
        ("Kind, nation", f"{visible(record.player_kind)}, {visible(record.nation or 'none given')}"),
        ("Game, mode", f"{visible(record.game)}, {visible(record.mode)}"),
        ("Challenge", visible(record.challenge)),
        ("Rules", visible(record.rules)),
        ("Attempt", f"{record.attempt:,}"),
        ("App", f"{visible(record.platform)} {visible(record.app_version)}"),
        ("Started", time_text(record.started_at)),
        ("Finished", f"{time_text(record.finished_at)} ({seconds:,.1f} s later)"),
        ("Uploaded", time_text(record.uploaded_at)),
    ]


def _final_boards(dispute: Dispute) -> list[dict[str, Any]]:
    """The uploaded and the replayed final board with the cells in which they differ; none without a replay."""
    kind, replayed, mode = dispute.kind, dispute.verdict.replayed, dispute.record.mode
    if kind is None or dispute.rules is None or replayed is None or not kind.plays(dispute.rules, mode):
        return []
    claimed = str(dispute.verdict.claimed["board"])
    found = kind.cells(replayed["board"], dispute.rules, mode)
    differing = kind.differing_cells(claimed, replayed["board"], dispute.rules, mode)
    claim = None if differing is None else kind.cells(claimed, dispute.rules, mode)
    # A replay that stopped half way has no final board that the claim could be compared with.
    marks = {(cell.row, cell.column) for cell in differing or []} if dispute.verdict.fault is None else set()
    # Rows that neither board uses are not worth their room.
    top = min((kind.first_drawn_row(board) for board in (claim, found) if board), default=0)
    title = "Replayed" if dispute.verdict.fault is None else "Where the replay stopped"
    return [
        {"title": "Uploaded", "grid": claim and claim[top:], "marks": {(r - top, c) for r, c in marks}, "text": visible(claimed)},
        {"title": title, "grid": found[top:], "marks": {(r - top, c) for r, c in marks}, "text": replayed["board"]},
    ]


def _drawings(dispute: Dispute, rows: list[TraceRow]) -> dict[str, list[str]]:
    """The pieces that the page draws, by name, row by row."""
    if dispute.kind is None:
        return {}
    used = {name for row in rows for panel in row.panels for _, name in panel.items if name}
    return {name: dispute.kind.drawing(name, dispute.rules) for name in sorted(used)}


def _page_data(dispute: Dispute, rows: list[TraceRow], opened: int, drawings: dict[str, list[str]]) -> dict[str, Any]:
    """What the page's script steps through; the template escapes it as JSON within HTML."""
    look = dispute.kind.look if dispute.kind else Look({}, ())
    return {
        "opened": opened,
        "shapes": drawings,
        "css": {code: cell.css for code, cell in look.cells.items()},
        "signs": {code: cell.sign for code, cell in look.cells.items()},
        "wrong": wrong_words(dispute),
        "rows": [
            {
                "n": row.number, "place": row.place, "grid": "".join(row.grid), "wrong": row.wrong, "say": row.caption,
                "panels": [{"title": panel.title, "items": panel.items} for panel in row.panels],
                "numbers": [value for _, value in row.values],
            }
            for row in rows
        ],
    }  # fmt: skip
