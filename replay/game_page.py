"""One disputed game on a page: verdict, claims beside replay, final boards, a board that steps through the moves, and their list.

The parts (templates/parts) and their files (dashboard/static: player.css, player.js, look-GAME.css) are the same on the page that
is one file and on the ops pages.  ``jinja2`` is imported only where something is drawn.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.dispute import VERDICT_NAMES, asked_range, claims, wrong_words
from replay.games import NAMES
from replay.games.drawing import Look, TraceRow
from replay.games.kind import EMPTY
from replay.harmless import visible
from replay.i18n import ENGLISH, N_, Language
from replay.record import Record
from replay.trace import Dispute
from replay.verdict import time_text

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "dashboard" / "static"
# Moves on one page when nobody asked for a range; a longer log is cut to the moves around the wrong one.
HTML_MOVES = 2000
HEADLINES = {
    "verified": N_("✓ verified"), "flagged": N_("✗ flagged"), "copy": N_("= copy of an earlier upload"),
    "withheld": N_("… held back while the app version is checked"), "quarantined": N_("? set aside"),
}  # fmt: skip


def render_html(
    dispute: Dispute, first: int | None = None, last: int | None = None, note: str | None = None
) -> str:
    """One self-contained page: verdict, claims beside replay, a board that steps through the moves, and the list of moves.

    Without a range, all moves, or HTML_MOVES around the wrong one when the log is longer.  The page opens at the wrong move,
    else at the last one, and shows that much without JavaScript too.  ``note`` is a sentence below the verdict's.
    Raises UsageError for a range that is none.
    """
    verdict, gettext = dispute.verdict.verdict, dispute.language.gettext
    page: str = _environment().get_template("game.html.j2").render(
        **parts(dispute, *asked_range(dispute, first, last, HTML_MOVES)), game_id=visible(dispute.verdict.game_id),
        verdict=verdict, verdict_name=gettext(VERDICT_NAMES.get(verdict, verdict)),
        headline=gettext(HEADLINES.get(verdict, verdict)), words=dispute.words(), note=note,
        about=about(dispute.record, dispute.language),
        style=style(dispute.record.game), script=(STATIC / "player.js").read_text("utf-8"), windows=None,
    )  # fmt: skip
    return page


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def style(game: str) -> str:
    """The style sheet of a page that is one file."""
    sheets = [TEMPLATES / "page.css", STATIC / "player.css"]
    if game in NAMES:
        sheets.append(STATIC / f"look-{game}.css")
    return "".join(sheet.read_text("utf-8") for sheet in sheets)


def parts(dispute: Dispute, first: int = 1, last: int | None = None) -> dict[str, Any]:
    """What the templates of ``templates/parts`` show of a game: results, final boards, and the moves ``first`` to ``last``.

    ``cut`` says that other moves were left out; the start stands before the first move; ``language`` and its ``gettext`` are for
    the templates' own words.  Raises UsageError for a range that is none.
    """
    rows = list(dispute.rows(first, last))
    start = dispute.start()
    if start is not None and (rows[0].number == 1 if rows else dispute.total == 0):
        rows.insert(0, start)
    rows = _of_one_height(rows)
    opened = next((index for index, row in enumerate(rows) if row.wrong), len(rows) - 1)
    kind, mode, drawings = dispute.kind, dispute.record.mode, _drawings(dispute, rows)
    shown = kind if kind is not None and dispute.rules is not None and kind.plays(dispute.rules, mode) else None
    return {
        "language": dispute.language, "gettext": dispute.language.gettext, "claims": claims(dispute),
        "boards": _final_boards(dispute), "rows": rows, "opened": opened, "total": dispute.total,
        "cut": bool(rows) and rows[-1].number - (rows[0].number or 1) + 1 < dispute.total,
        "data": _page_data(dispute, rows, opened, drawings), "wrong": wrong_words(dispute), "drawings": drawings,
        "look": kind.look if kind else Look({}, ()), "columns": shown.column_names(dispute.rules, mode) if shown else [],
        "row_names": (lambda height: shown.row_names(height, dispute.rules, mode)) if shown else None,
    }  # fmt: skip


def _of_one_height(rows: list[TraceRow]) -> list[TraceRow]:
    """Rows whose boards are all as high as the highest, empty rows at the top filling the others: a page has one board."""
    height = max((len(row.grid) for row in rows), default=0)
    return [
        row if len(row.grid) == height
        else replace(row, grid=(EMPTY * len(row.grid[0]),) * (height - len(row.grid)) + row.grid)
        for row in rows
    ]  # fmt: skip


def about(record: Record, language: Language = ENGLISH) -> list[tuple[str, str]]:
    """The record's other fields as (name, harmless text)."""
    gettext = language.gettext
    seconds = language.decimal(f"{(record.finished_at - record.started_at) / 1_000_000:,.1f}")
    nation = visible(record.nation) if record.nation else gettext("none given")
    kind = gettext(_KINDS[record.player_kind]) if record.player_kind in _KINDS else visible(record.player_kind)
    finished = gettext("{time} ({seconds} s later)", time=time_text(record.finished_at), seconds=seconds)
    return [
        (gettext("Player"), visible(record.player_id)),
        (gettext("Kind, nation"), f"{kind}, {nation}"),
        (gettext("Game, mode"), f"{visible(record.game)}, {visible(record.mode)}"),
        (gettext("Challenge"), visible(record.challenge)),
        (gettext("Rules"), visible(record.rules)),
        (gettext("Attempt"), language.number(record.attempt)),
        (gettext("App"), f"{visible(record.platform)} {visible(record.app_version)}"),
        (gettext("Started"), time_text(record.started_at)),
        (gettext("Finished"), finished),
        (gettext("Uploaded"), time_text(record.uploaded_at)),
    ]


_KINDS = {"human": N_("human"), "ai": N_("ai")}


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
    gettext = dispute.language.gettext
    title = gettext("Replayed") if dispute.verdict.fault is None else gettext("Where the replay stopped")
    uploaded, seen = gettext("Uploaded"), {(r - top, c) for r, c in marks}
    return [
        {"title": uploaded, "grid": claim and claim[top:], "marks": seen, "text": visible(claimed)},
        {"title": title, "grid": found[top:], "marks": seen, "text": replayed["board"]},
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
        "total": dispute.total,
        "signed": look.signed,
        "panels": [panel.key for panel in rows[opened].panels] if rows else [],
        "shapes": drawings,
        "css": {code: cell.css for code, cell in look.cells.items()},
        "signs": {code: cell.sign for code, cell in look.cells.items()},
        "wrong": wrong_words(dispute),
        "words": _script_words(dispute),
        "rows": [
            {
                "n": row.number, "place": row.place, "grid": "".join(row.grid), "wrong": row.wrong, "say": row.caption,
                "panels": [{"title": panel.title, "items": panel.items} for panel in row.panels],
                "numbers": [value for _, value in row.values],
            }
            for row in rows
        ],
    }  # fmt: skip


def _script_words(dispute: Dispute) -> dict[str, str]:
    """What the script itself says; it puts a move's number where {number} stands."""
    language, gettext, number = dispute.language, dispute.language.gettext, "{number}"
    return {
        "lang": language.code,
        "start": gettext("Start of {total}", total=dispute.total),
        "move": gettext("Move {number} of {total}", number=number, total=dispute.total),
        "start_value": gettext("start"),
        "move_value": gettext("move {number}", number=number),
    }


__all__ = ["HEADLINES", "HTML_MOVES", "STATIC", "TEMPLATES", "about", "parts", "render_html", "style"]
