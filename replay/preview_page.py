"""What a rules change would move, on one page that is one file.  ``jinja2`` is imported only where something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replay.game_page import TEMPLATES
from replay.harmless import visible

if TYPE_CHECKING:
    from replay.preview import Preview


def summary(found: Preview) -> list[str]:
    """The question and the answer in sentences."""
    question = found.question
    new, days = question.rules, f"that landed from {question.first} to {question.last}"
    name = f"rules {new.version} of {new.game}"
    if question.as_version is None:
        place = f"in place of {name}" if found.replaces else f"as {name}, which are new"
        asked = f"Games {days} are verified again with {visible(str(new.path), 200)} {place}; {found.named:,} of them name it."
    else:
        asked = (
            f"The {found.named:,} games {days} and name rules {visible(question.as_version)} of {new.game} are counted by"
            f" {visible(str(new.path), 200)} ({name}). The score that it gives stands in for what was claimed."
        )
    if not found.would_move:
        return [asked, "Nothing would move."]
    counts, moves = found.counts, found.moves
    return [
        asked,
        f"Games that change: {counts['games']:,} of {found.records:,} records, of {counts['players']:,} players: the replayed"
        f" score of {counts['scores']:,}, the verdict of {counts['verdicts']:,}; {counts['counted_no_longer']:,} would count no"
        f" longer, {counts['counted_from_now']:,} would count from now on.",
        f"In the standings: {moves.players:,} players move, in {moves.totals_moved:,} totals and {moves.positions:,} positions of"
        f" all time, {moves.bests:,} bests and {moves.tiers:,} tiers of days.",
    ]


def render_html(found: Preview, lake: str) -> str:
    """The page.  Every text in it is made harmless and escaped; it holds no script."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"visible": lambda text: visible(str(text)), "number": _number, "change": _change}
    page: str = environment.get_template("preview.html.j2").render(
        found=found, lake=visible(lake, 200), sentences=summary(found), notes=[visible(note, 500) for note in found.notes],
        style=(TEMPLATES / "page.css").read_text("utf-8"),
    )  # fmt: skip
    return page


def _number(value: Any) -> str:
    return "–" if value is None else f"{value:,}"


def _change(after: int | None, before: int | None) -> str:
    """What a value changes by; nothing is taken for 0."""
    return f"{(after or 0) - (before or 0):+,}".replace("+0", "0").replace("-", "−")


__all__ = ["render_html", "summary"]
