"""What the tests of decisions share: verdict rows, drafts, and the database underneath."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pytest

from replay.errors import ReplayError
from replay.lake import Lake
from replay.reviews.drafts import Draft
from replay.reviews.games import facts_of_row
from replay.reviews.model import Decision, subject_of
from replay.reviews.store import ReviewStore, open_reviews

DAY = date(2026, 10, 31)
# Texts that have undone somebody's string handling before.
ODD_TEXTS = (
    "", " ", "a b", "1:a", "\\", "\\0", "\0", "\\\0\\", "\0\\0\\\\", "'; drop table review_decisions; --", "%s %(a)s {0}", "é", "e\u0301",
    "\u202eevil", "🎲", "\ud7ff\ue000", "\r\n\t", "=cmd|' /C calc'!A0", "<script>alert(1)</script>", "x" * 20_000,
)  # fmt: skip
WHO = {"reviewer": "ana", "reason": "two devices"}


def one_sentence(error: Any) -> str:
    """The text of a caught error, which is one sentence that the command line can print."""
    text = str(error.value)
    assert "\n" not in text and not text.endswith("."), text
    return text


@dataclass(frozen=True)
class Place:
    """A lake and the database of its decisions (None: the file in the lake)."""

    lake: Lake
    url: str | None = None

    def open(self) -> ReviewStore:
        return open_reviews(self.lake, self.url)

    @property
    def kind(self) -> str:
        return "sqlite" if self.url is None else "postgresql"

    def at_once(self, *calls: Callable[[ReviewStore], Any]) -> list[Any]:
        """Each call by a thread with a store of its own, all at the same moment: what each returned, or the error it was told."""
        start = threading.Barrier(len(calls))

        def answer(call: Callable[[ReviewStore], Any]) -> Any:
            with self.open() as store:
                start.wait(60)
                try:
                    return call(store)
                except ReplayError as error:
                    return error

        with ThreadPoolExecutor(len(calls)) as threads:
            return list(threads.map(answer, calls, timeout=120))

    def refuses(self, statement: str, said: str) -> None:
        """A statement that goes past our code is refused by the database itself."""
        raw = self.raw()
        try:
            with pytest.raises(Exception, match=said):
                raw.cursor().execute(statement)
        finally:
            raw.close()

    def raw(self) -> Any:
        """A connection without any of our code between; it commits each statement."""
        if self.url is None:
            return sqlite3.connect(self.lake.root / "reviews.sqlite", isolation_level=None)
        import psycopg2

        connection = psycopg2.connect(self.url)
        connection.autocommit = True
        return connection


def verdict_row(game_id: str = "g", **changes: Any) -> dict[str, Any]:
    """A flagged game as a verdict file has it: 900 points were claimed, the replay gives 640."""
    reasons = [{"code": "score_mismatch", "claimed": 900, "found": 640, "move": 4}]
    row = {
        "game_id": game_id, "game": "blocks", "mode": "daily", "rules": "1.2.0", "challenge": "2026-10-31", "player_id": "p",
        "attempt": 1, "score": 900, "best_combo": 2, "level": None, "lines": None, "final_board": "#", "verdict": "flagged",
        "counted": False, "reasons": reasons, "suspicions": [], "copy_of": None, "attempt_key": 1, "log_hash_high": 2**64 - 1,
        "log_hash_low": 7, "source_file": "a.ndjson", "source_line": 1, "day": DAY,
    } | changes  # fmt: skip
    return row | {"reasons": json.dumps(row["reasons"])}


def a_draft(action: str = "clear", game_id: str = "g", seen: int = 0, undoes: int | None = None, **changes: Any) -> Draft:
    row = verdict_row(game_id, **changes)
    return Draft(action, row, facts_of_row(row), seen, undoes)


def decided(number: int, action: str, facts: tuple[str, ...] = (), undoes: int | None = None, **changes: Any) -> Decision:
    """A decision as if it had been read, on the subject of ``verdict_row()``."""
    fields = {
        "subject": subject_of(verdict_row()), "reason": "why", "reviewer": "ana", "at": datetime(2026, 11, 1, 9, tzinfo=UTC),
        "game": "blocks", "game_id": "g", "challenge": "2026-10-31", "day": DAY, "previous": number - 1,
    } | changes  # fmt: skip
    return Decision(id=number, action=action, facts=facts, undoes=undoes, **fields)
