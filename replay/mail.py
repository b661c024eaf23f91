"""A report as a small page for a mail: plain tables, no style sheet, no picture, nothing that a client's text could set off."""

from __future__ import annotations

import re
from html import escape, unescape
from itertools import groupby

_CELLS = re.compile(r"(?<!\\)\|")


def as_html(markdown: str) -> str:
    """The HTML of what ``replay.report.as_markdown`` writes: headings, tables, lists, paragraphs, bold, code, web addresses.

    Every other character is text: a tag in the Markdown comes out as the letters of a tag.
    """
    parts: list[str] = []
    for kind, lines in groupby(markdown.splitlines(), _kind):
        block = list(lines)
        if kind == "heading":
            for line in block:
                marks, _, text = line.partition(" ")
                parts.append(f"<h{len(marks)}>{_inline(text)}</h{len(marks)}>")
        elif kind == "table":
            parts.append(_table(block))
        elif kind == "list":
            parts.append("<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in block) + "</ul>")
        elif kind == "text":
            parts.append(f"<p>{_inline(' '.join(block))}</p>")
    return "<!DOCTYPE html><html><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def _kind(line: str) -> str:
    for start, kind in (("#", "heading"), ("|", "table"), ("- ", "list")):
        if line.startswith(start):
            return kind
    return "text" if line.strip() else "blank"


def _inline(text: str) -> str:
    # The report has written < as an entity for Markdown's sake: it is made text again before all of it is escaped.
    safe = escape(unescape(text.replace("\\|", "|")))
    safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", safe)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return re.sub(r"(?<!\S)https?://[^\s&<>\"']+", r'<a href="\g<0>">\g<0></a>', safe)


def _table(lines: list[str]) -> str:
    """A table whose second line says how its columns are aligned; numbers stand to the right."""
    rows = [[cell.strip() for cell in _CELLS.split(line.strip())[1:-1]] for line in lines]
    aligned = [' align="right"' if cell.endswith(":") else ' align="left"' for cell in rows[1]]
    head = "".join(f"<th{side}>{_inline(cell)}</th>" for side, cell in zip(aligned, rows[0], strict=True))
    body = [
        "<tr>" + "".join(f"<td{side}>{_inline(cell)}</td>" for side, cell in zip(aligned, row, strict=True)) + "</tr>"
        for row in rows[2:]
    ]
    # A table of names and values has no head to show.
    lines = [f"<tr>{head}</tr>", *body] if any(rows[0]) else body
    return '<table border="1" cellspacing="0" cellpadding="4">\n' + "\n".join(lines) + "\n</table>"
