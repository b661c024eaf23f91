"""One disputed game for the support desk: the verdict in words and every move, on a terminal or as one HTML page.

``rich`` and ``jinja2`` are imported only where something is drawn: a verdict as JSON must not wait for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from engine.blocks.notation import CELL, CONTINUE, place_name
from engine.board import BoardError, parse_cells
from replay.record import Record
from replay.trace import CELL_NAMES, CLASH, EMPTIED, EMPTY, PLACED, PLACED_EMPTIED, WANTED, Dispute, TraceRow
from replay.verdict import time_text
from replay.words import differing_cells, visible, words

if TYPE_CHECKING:
    from rich.console import Console

    from engine.blocks.rules import BlocksRules

__all__ = ["Dispute", "TraceRow", "render_html", "render_terminal", "words"]

TEMPLATES = Path(__file__).parent / "templates"
# Moves that are drawn when nobody asked for a range; a longer log is cut to the moves around the wrong one.
TERMINAL_MOVES = 400
HTML_MOVES = 2000


def _line_names(row: TraceRow) -> str:
    """The emptied lines as people name them: ``row 3, columns b d``."""
    rows, columns = [str(r + 1) for r in row.full_rows], [place_name(c, 0)[0] for c in row.full_columns]
    parts = [(name, lines) for name, lines in (("row", rows), ("column", columns)) if lines]
    return ", ".join(f"{name}{'s' if len(lines) > 1 else ''} {' '.join(lines)}" for name, lines in parts)


def multiplier(row: TraceRow) -> str:
    """The multiplier that this move's lines were paid with, ``-`` when it completed none."""
    return f"x{row.multiplier}" if row.lines else "-"


def sentences(row: TraceRow) -> list[str]:
    """One move as short lines: what was played, what it brought, what it led to."""
    if row.number == 0:
        return ["Start of the game"]
    name = f"Move {row.number:,}   {row.token}" + (f"   {row.piece}" if row.piece else "")
    if row.fault is not None:
        return [name, f"cannot be played: {row.fault}", f"score before it {row.score:,}, turn {row.turn}, streak {row.streak}"]
    if row.token == CONTINUE:
        return [name, "continue: the board is emptied", f"score {row.score:,}, turn {row.turn}, streak {row.streak}"]
    return [
        name,
        f"+{row.gain:,}   score {row.score:,}",
        f"lines {row.lines}" + (f": {_line_names(row)}" if row.lines else ""),
        f"turn {row.turn}, streak {row.streak}, multiplier {multiplier(row)}, best combo {row.best_combo}",
    ]


def caption(row: TraceRow) -> str:
    """One move as sentences, for a page and for those who have it read to them."""
    if row.number == 0:
        return "The game before its first move."
    if row.fault is not None:
        return f"Move {row.number:,} ({row.token}) cannot be played: {row.fault}. The score before it is {row.score:,}."
    if row.token == CONTINUE:
        return f"Move {row.number:,} continues the game: the board is emptied. The score stays {row.score:,}."
    emptied = f" It empties {_line_names(row)}." if row.lines else ""
    placed = f"Move {row.number:,} ({row.token}) places {row.piece}.{emptied}"
    return f"{placed} It brings {row.gain:,} points, the score is {row.score:,}."


def wrong_words(dispute: Dispute) -> str:
    """What cannot agree from the wrong move on."""
    at = dispute.wrong_move
    codes = [reason.code for reason in dispute.verdict.reasons if reason.move == at]
    names = {
        "score_mismatch": "score", "combo_mismatch": "best combo", "board_mismatch": "final board",
        "illegal_move": "this move cannot be played", "challenge": "this move cannot be played",
    }  # fmt: skip
    told = [names[code] for code in codes if code in names]
    return "wrong from here on: " + ", ".join(told or ["upload and replay cannot agree"])


# --- On a terminal -------------------------------------------------------------------------------------------------------

# Two characters a cell, so that a board looks square; each kind differs in shape, colour only helps.
_GLYPHS = {EMPTY: " \u00b7", CELL: "\u2588" * 2, PLACED: "\u2593" * 2, EMPTIED: "\u2591" * 2, PLACED_EMPTIED: "\u2592" * 2}
_ASCII_GLYPHS = {EMPTY: " .", CELL: "##", PLACED: "@@", EMPTIED: "--", PLACED_EMPTIED: "%%"}
_ILLEGAL_GLYPHS = {WANTED: "++", CLASH: "!!"}
_STYLES = {
    EMPTY: "dim", CELL: "", PLACED: "bold green", EMPTIED: "yellow", PLACED_EMPTIED: "bold yellow", WANTED: "cyan",
    CLASH: "bold red",
}  # fmt: skip
_VERDICT_STYLES = {"verified": "bold green", "flagged": "bold red"}


class _Terminal:
    """Draws on one console with what that can show."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.ascii = console.options.ascii_only or console.legacy_windows
        self.glyphs = {**(_ASCII_GLYPHS if self.ascii else _GLYPHS), **_ILLEGAL_GLYPHS}

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

    def blocks(self, grid: tuple[str, ...], info: list[tuple[str, str]]) -> None:
        """A board with its coordinates, and lines of (text, style) beside it."""
        width = len(grid[0])
        board: list[list[tuple[str, str]]] = [[("   " + "".join(f" {place_name(c, 0)[0]}" for c in range(width)), "dim")]]
        for number, row in enumerate(grid, start=1):
            board.append([(f"{number:>2} ", "dim"), *((self.glyphs[cell], _STYLES[cell]) for cell in row)])
        blank = [(" " * (3 + 2 * width), "")]
        room = max(20, self.console.width - 3 - 2 * width - 3)
        beside = [(part, style) for text, style in info for part in wrap(text, room, drop_whitespace=False) or [""]]
        for left, right in zip_longest(board, beside, fillvalue=None):
            self.line(*(left or blank), *([("   ", ""), right] if right else []))

    def hand(self, row: TraceRow, rules: BlocksRules) -> list[tuple[str, str]]:
        """The hand drawn beside the board: names, then shapes."""
        columns: list[list[str]] = []
        for slot, name in enumerate(row.hand, start=1):
            title = f"{slot}: {name or 'none'}"
            shape = rules.shapes[rules.shape_index[name]] if name else None
            drawn = [
                "".join(self.glyphs[CELL] if mask >> c & 1 else "  " for c in range(shape.width)) for mask in shape.rows
            ] if shape else []  # fmt: skip
            width = max(len(text) for text in [title, *drawn]) + 2
            columns.append([text.ljust(width) for text in [title, *drawn, *[""] * 11]])
        height = 1 + max(rules.shapes[rules.shape_index[name]].height if name else 0 for name in row.hand)
        title = "hand before it: " if row.fault is not None else "hand: "
        lines = [title + "".join(column[0] for column in columns)]
        lines += [" " * len(title) + "".join(column[i] for column in columns) for i in range(1, height)]
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
    if dispute.rules is None or (dispute.total == 0 and dispute.start() is None):
        return
    names = [f"{out.glyphs[kind]} {name}" for kind, name in CELL_NAMES.items() if kind not in _ILLEGAL_GLYPHS or verdict.fault]
    out.line(("", ""))
    out.line(("   ".join(names), "dim"))
    out.line(("", ""))
    _print_moves(dispute, out, rows, dispute.rules, first)


def _print_moves(dispute: Dispute, out: _Terminal, rows: Iterator[TraceRow], rules: BlocksRules, asked: int | None) -> None:
    start = dispute.start()
    shown: list[int] = []
    for row in rows:
        if row.number == 1 and start is not None:
            out.blocks(start.grid, [("Start of the game", "bold"), *out.hand(start, rules)])
            out.line(("", ""))
        shown = [*shown[:1], row.number]
        if row.wrong:
            out.line((f">>> {wrong_words(dispute)}", "bold red"))
        head, *rest = sentences(row)
        out.blocks(row.grid, [(head, "bold red" if row.wrong else "bold"), *((text, "") for text in rest), *out.hand(row, rules)])
        out.line(("", ""))
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
    if found is None:
        return [(name, f"{claim[key]:,}", "not replayed", None) for name, key in _NUMBERS]
    legal = dispute.verdict.fault is None
    out: list[tuple[str, str, str, bool | None]] = [
        (name, f"{claim[key]:,}", f"{found[key]:,}", claim[key] == found[key] if legal or key == "moves" else None)
        for name, key in _NUMBERS
    ]
    if legal:
        same = not any(reason.code == "board_mismatch" for reason in dispute.verdict.reasons)
        out.append(("final board", "", "the same" if same else "different", same))
    out.append(("game over", "", "yes" if found["finished"] else "no", None))
    return out


_NUMBERS = (("score", "score"), ("best combo", "best_combo"), ("moves", "moves"))


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
    opened = next((index for index, row in enumerate(rows) if row.wrong), len(rows) - 1)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page: str = environment.get_template("game.html.j2").render(
        game_id=visible(dispute.verdict.game_id), verdict=dispute.verdict.verdict, words=dispute.words(), claims=claims(dispute),
        about=_about(dispute.record), boards=_final_boards(dispute), rows=rows, opened=opened, total=dispute.total,
        data=_page_data(dispute, rows, opened), wrong=wrong_words(dispute), multiplier=multiplier, caption=caption,
        shapes=_drawings(dispute, rows), cell_names=CELL_NAMES, line_names=_line_names,
    )  # fmt: skip
    return page


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
    rules, replayed = dispute.rules, dispute.verdict.replayed
    if rules is None or replayed is None:
        return []
    claimed = str(dispute.verdict.claimed["board"])
    found = parse_cells(replayed["board"], rules.width, rules.height, CELL)
    differing = differing_cells(claimed, replayed["board"], rules)
    try:
        claim = parse_cells(claimed, rules.width, rules.height, CELL)
    except BoardError:
        claim = None
    # A replay that stopped half way has no final board that the claim could be compared with.
    marks = {(r, c) for r, c, _ in differing or []} if dispute.verdict.fault is None else set()
    title = "Replayed" if dispute.verdict.fault is None else "Where the replay stopped"
    return [
        {"title": "Uploaded", "grid": claim, "marks": marks, "text": visible(claimed)},
        {"title": title, "grid": found, "marks": marks, "text": replayed["board"]},
    ]


def _drawings(dispute: Dispute, rows: list[TraceRow]) -> dict[str, list[str]]:
    """The shapes that the page draws, by name, row by row."""
    if dispute.rules is None:
        return {}
    used = {name for row in rows for name in (*row.hand, row.piece) if name}
    return {
        shape.name: ["".join(CELL if mask >> c & 1 else EMPTY for c in range(shape.width)) for mask in shape.rows]
        for shape in dispute.rules.shapes
        if shape.name in used
    }


def _page_data(dispute: Dispute, rows: list[TraceRow], opened: int) -> dict[str, Any]:
    """What the page's script steps through; the template escapes it as JSON within HTML."""
    return {
        "opened": opened,
        "shapes": _drawings(dispute, rows),
        "cells": CELL_NAMES,
        "wrong": wrong_words(dispute),
        "rows": [
            {
                "n": row.number, "grid": "".join(row.grid), "hand": row.hand, "piece": row.piece, "wrong": row.wrong,
                "fault": row.fault is not None, "say": caption(row),
                "numbers": [f"{row.score:,}", f"+{row.gain:,}", row.lines, row.turn, row.streak, multiplier(row), row.best_combo],
            }
            for row in rows
        ],
    }  # fmt: skip
