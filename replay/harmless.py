"""Texts of uploads made harmless to look at."""

from __future__ import annotations

import unicodedata

# Longer texts of an upload are cut where they are shown to people; JSON keeps them whole.
SHOWN_TEXT = 80


def visible(text: str, limit: int = SHOWN_TEXT) -> str:
    """An uploaded text made harmless to look at: control, format and direction marks as escapes, at most ``limit`` characters."""
    shown = "".join(char if char == " " or unicodedata.category(char)[0] not in "CZ" else _escape(char) for char in text[:limit])
    if any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in shown):
        # Letters that run from right to left are nobody's trick, but must not turn the sentence around them.
        shown = f"\N{FIRST STRONG ISOLATE}{shown}\N{POP DIRECTIONAL ISOLATE}"
    return shown if len(text) <= limit else shown + "..."


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


__all__ = ["SHOWN_TEXT", "visible"]
