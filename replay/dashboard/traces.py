"""What the Game page draws of a replayed game, kept for the next look at it.

Replaying and drawing a long game takes longer than a page may, and whoever decides on it asks for the same drawing again.
Everything that a drawing is made from is in its key, and all of them are dropped when the players table, the rules or the
challenges are other ones.  Decisions are no part of a drawing.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from replay.dashboard import views
from replay.dispute import wrong_words
from replay.game_page import about, parts
from replay.published import LogPart, Published, log_part, record_text
from replay.trace import Dispute

# Moves of one page; a longer log is shown in parts.
PAGE_MOVES = 1000
MOST_KEPT, LARGEST_KEPT = 64, 48_000_000


@dataclass(frozen=True)
class Trace:
    """A drawn game: ``results`` and ``player`` are parts of a page, as HTML; ``proof`` are the words of verdict and reasons,
    ``unusual`` those of each suspicion; ``today`` a sentence where today's rules give other reasons."""

    results: str
    player: str
    proof: list[str]
    unusual: list[str]
    about: list[tuple[str, str]]
    record: str
    log: LogPart
    today: str | None
    parting: str | None

    @property
    def size(self) -> int:
        """Characters, about."""
        return len(self.results) + len(self.player) + len(self.record) + len(self.log.before) + len(self.log.after)


@dataclass(frozen=True)
class Judged:
    """A game that was replayed, with the dispute that draws it: other moves of it need no second judgement."""

    found: Published
    dispute: Dispute

    @property
    def size(self) -> int:
        """Characters, about."""
        return len(self.found.record.moves) + len(self.found.record.final_board)


class Kept:
    """The newest replays and traces by key: at most MOST_KEPT, of LARGEST_KEPT characters together."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._made_from: Hashable = None
        self._traces: OrderedDict[Hashable, Trace | Judged] = OrderedDict()

    def find(self, made_from: Hashable, key: Hashable) -> Trace | Judged | None:
        """What is kept under a key; everything goes when ``made_from`` (tables and rules) is another one than before."""
        with self._lock:
            if made_from != self._made_from:
                self._traces.clear()
                self._made_from = made_from
            found = self._traces.get(key)
            if found is not None:
                self._traces.move_to_end(key)
            return found

    def keep(self, made_from: Hashable, key: Hashable, trace: Trace | Judged) -> None:
        """Keep a replay or a trace, unless tables or rules were changed while it was drawn."""
        with self._lock:
            if made_from != self._made_from:
                return
            self._traces[key] = trace
            self._traces.move_to_end(key)
            while len(self._traces) > MOST_KEPT or sum(kept.size for kept in self._traces.values()) > LARGEST_KEPT:
                self._traces.popitem(last=False)

    def __len__(self) -> int:
        return len(self._traces)


KEPT = Kept()


def file_state(path: Path) -> tuple[str, int, int, int]:
    """What changes when a file is written again."""
    stat = path.stat()
    return str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns


def row_key(row: Mapping[str, Any]) -> str:
    """A verdict row as a part of a key: every value of it."""
    return json.dumps(row, default=str, sort_keys=True)


@dataclass(frozen=True)
class Window:
    """The moves of a page, from 1; ``cut`` says that more were asked for."""

    first: int | None = None
    last: int | None = None
    cut: bool = False


def window_of(first: int | None, last: int | None) -> Window:
    """The moves that were asked for, at most PAGE_MOVES of them."""
    if first is None and last is None:
        return Window()
    if first is None:
        assert last is not None
        first = max(1, last - PAGE_MOVES + 1)
    if last is None:
        return Window(first, first + PAGE_MOVES - 1)
    return Window(first, min(last, first + PAGE_MOVES - 1), last - first + 1 > PAGE_MOVES)


def draw(judged: Judged, window: Window) -> Trace:
    """Draw a game's moves of a window (of none: those around the wrong move).  Raises UsageError for a range that is none."""
    found, dispute = judged.found, judged.dispute
    row = found.row
    first, last = window.first, window.last
    if first is None:
        start, end = dispute.window(PAGE_MOVES)
        first, last = start, max(start, end)
    shown = parts(dispute, first, last)
    in_parts = dispute.total > PAGE_MOVES or window.first is not None
    shown["windows"] = _windows(row, dispute, first, last or first, window.cut) if in_parts else None
    environment = views.environment()
    proof, unusual = said(dispute)
    return Trace(
        results=environment.get_template("parts/results.html.j2").render(shown),
        player=environment.get_template("parts/player.html.j2").render(shown),
        proof=proof, unusual=unusual, about=about(found.record), record=record_text(found.record),
        log=log_part(found.record, dispute.wrong_move), today=found.today,
        parting=None if dispute.wrong_move is None else wrong_words(dispute),
    )  # fmt: skip


def said(dispute: Dispute) -> tuple[list[str], list[str]]:
    """The words of a game: of verdict and reasons, which are proof, and of its suspicions, which are not, in their order."""
    words, signs = dispute.words(), len(dispute.verdict.suspicions)
    return words[: len(words) - signs], words[len(words) - signs :]


def place_of(row: Mapping[str, Any]) -> dict[str, object]:
    """The address of an upload, as parameters of the Game page."""
    return {"id": row["game_id"], "day": row["day"], "file": row["source_file"], "line": row["source_line"]}


def _windows(row: Mapping[str, Any], dispute: Dispute, first: int, last: int, cut: bool) -> dict[str, Any]:
    total, wrong = dispute.total, dispute.wrong_move
    place = place_of(row)

    def link(start: int) -> str:
        return "game" + views.query(**place, **{"from": start, "to": start + PAGE_MOVES - 1}) + "#player"

    links = []
    if first > 1:
        links += [("First moves", link(1)), ("Moves before", link(max(1, first - PAGE_MOVES)))]
    if wrong is not None and not first <= wrong + 1 <= last:
        links.append(("Where it parts", "game" + views.query(**place) + "#player"))
    if last < total:
        links += [("Moves after", link(last + 1)), ("Last moves", link(max(1, total - PAGE_MOVES + 1)))]
    told = f"The log has {total:,} moves; " if dispute.total > PAGE_MOVES else ""
    told += f"one page shows at most {PAGE_MOVES:,} of them." if cut or total > PAGE_MOVES else f"{total:,} moves in all."
    return {"sentence": told, "links": links}
