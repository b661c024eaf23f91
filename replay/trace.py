"""Every move of one disputed game, for people: what it did to the board and where upload and replay part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engine.outcome import Outcome
from replay.errors import UsageError
from replay.games import GameKind, kind_of
from replay.games.drawing import TraceRow
from replay.i18n import ENGLISH, Language
from replay.record import Record
from replay.verdict import Verdict, log_bytes, uncounted
from replay.words import words

if TYPE_CHECKING:
    from replay.challenges import Challenge
    from replay.games.kind import Rules


@dataclass(frozen=True)
class Dispute:
    """One game with everything that is shown of it; ``rules`` or ``challenge`` is None when it is not known (nothing to replay).

    ``verdict`` is the final one and may hold reasons that only other games gave.  ``language`` is that of all its texts.
    """

    record: Record
    verdict: Verdict
    rules: Rules | None
    challenge: Challenge | None
    language: Language = ENGLISH

    @cached_property
    def kind(self) -> GameKind[Any, Any] | None:
        """What is particular to the game, None without rules."""
        return None if self.rules is None else kind_of(self.record.game)

    def words(self) -> list[str]:
        """``words`` of the verdict with every detail that the record and the log add."""
        log = log_bytes(self.record.moves)
        reasons = tuple(
            replace(reason, token=self.kind.token_at(log, reason.move))
            if self.kind is not None and reason.move is not None and not reason.token
            else reason
            for reason in self.verdict.reasons
        )
        why = uncounted(self.record, self.challenge)
        verdict = replace(self.verdict, reasons=reasons, uncounted=why, mode=self.record.mode, game=self.record.game)
        return words(verdict, self.rules, self.record, self.language)

    @property
    def wrong_move(self) -> int | None:
        """The first token (from 0) from which anything cannot agree, or None."""
        return min((reason.move for reason in self.verdict.reasons if reason.move is not None), default=None)

    def new_game(self) -> Any | None:
        """The game before its first move, or None when rules or challenge are not known or do not fit each other."""
        kind, mode = self.kind, self.record.mode
        if kind is None or self.rules is None or self.challenge is None or not kind.plays(self.rules, mode):
            return None
        try:
            deal = self.challenge.deal(self.rules, mode)
        except ValueError:
            # The verdict says so (reason ``challenge``); here it only means that there is nothing to draw.
            return None
        return kind.new_game(self.rules, deal, log_bytes(self.record.moves), mode)

    @cached_property
    def _played(self) -> tuple[Outcome, int] | None:
        """The replay's result and the number of the trace's last row."""
        game = self.new_game()
        if game is None or self.kind is None:
            return None
        return self.kind.play_out(game)

    @property
    def outcome(self) -> Outcome | None:
        """The replay's result, None when nothing can be replayed."""
        return self._played[0] if self._played else None

    @property
    def total(self) -> int:
        """The number of the last row of the whole trace: the applied tokens, and the faulty one."""
        return self._played[1] if self._played else 0

    def window(self, limit: int) -> tuple[int, int]:
        """(first, last) move numbers of at most ``limit`` moves: all, or those around the wrong one, or the first ones."""
        wrong = 0 if self.wrong_move is None else self.wrong_move + 1
        first = max(1, min(wrong - limit // 2, self.total - limit + 1))
        return first, min(self.total, first + limit - 1)

    def start(self) -> TraceRow | None:
        """The state before the first move, as row 0."""
        game = self.new_game()
        return None if game is None or self.kind is None else self.kind.start_row(game, self.language)

    def rows(self, first: int = 1, last: int | None = None) -> Iterator[TraceRow]:
        """The moves ``first`` to ``last`` (counted from 1, both included), one at a time; an illegal one is the last row.

        A move may have several rows; the first one of the wrong move is marked.  Raises UsageError for a range that is none.
        """
        if first < 1 or (last is not None and last < first):
            upto = "the end" if last is None else last
            raise UsageError(f"moves {first} to {upto} are no range: count from 1 and give the smaller number first")
        return self._rows(first, last)

    def _rows(self, first: int, last: int | None) -> Iterator[TraceRow]:
        game = self.new_game()
        if game is None or self.kind is None:
            return
        wrong = self.wrong_move
        for row in self.kind.rows(game, first, last, self.language):
            if wrong is not None and row.number == wrong + 1:
                row, wrong = replace(row, wrong=True), None
            yield row


__all__ = ["Dispute", "TraceRow"]
