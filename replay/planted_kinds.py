"""The forgeries that a night plants among its own games: one a kind of reason and game, each made of an honest game.

What must come of each follows from how it was made, from the rules and from the interpreted engine; the verification is never
asked.  A game that will not do for a kind gives None, and the next one is tried.

Two things shape them.  A copy with other claims stays under its player and attempt: its log is the same, so it is no second log.
A copy with another log, or one of which only the times differ (which are no part of what makes an upload the same one again),
goes under the id of a player who does not exist: otherwise it would be a second log of an attempt, or a copy.  All of them are
uploaded after the game that they are made of, which therefore stands.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from engine.blocks import kernel as blocks
from engine.outcome import APPLIED, Outcome
from replay.challenges import Challenge, ChallengeTable
from replay.games import kind_of
from replay.games.kind import EMPTY, GameKind
from replay.record import FIRST_TIME, LAST_TIME, OPTIONAL_FIELDS, Record, count_tokens
from replay.rulebook import Rulebook
from replay.suspicion_kernel import F_CHOICES, F_GAPS
from replay.suspicions import timing_of
from replay.two_engines import as_object
from replay.verdict import ATTEMPTS, JudgeSettings, challenge_span, log_bytes

LATER = 1_000_000
# A claim beyond every bound; in a log that covers no more ticks than this, about four hours.
LARGEST, SHORT_TICKS = 2**63 - 1, 1_000_000
# The distance of inputs that come as from a machine.
EVEN_TICKS = 7
_HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Planted:
    """One planted line and what must come of it: verdict, reasons in the order of verdicts, at least this suspicion, and the code
    of a quarantined one.  ``origins`` are the ids of the honest games that it is made of."""

    game: str
    kind: str
    game_id: str
    line: bytes
    origins: tuple[str, ...]
    verdict: str = "flagged"
    reasons: tuple[str, ...] = ()
    suspicion: str | None = None
    code: str | None = None


class Ids:
    """Ids that look like others and are none of them, derived from a day and an id."""

    def __init__(self, day: date, taken: Iterable[str]) -> None:
        self._day, self._taken = day, set(taken)

    def like(self, text: str) -> str:
        """A new id of the shape of ``text``: digits for digits, letters for letters, all else as it stands there."""
        number = 0
        while True:
            # Where a shape has too few ids, a longer one is taken.
            found = _reshaped(text + "a" * (number // 50), f"{self._day}|{number}|{text}")
            if found not in self._taken:
                self._taken.add(found)
                return found
            number += 1


def _reshaped(text: str, seed: str) -> str:
    stream = hashlib.shake_256(seed.encode("utf-8")).digest(2 * len(text) + 2)
    signs = [sign for sign in text if sign in _HEX]
    is_hex = len(signs) >= 8 and any(sign.isdigit() for sign in signs) and any(sign.isalpha() for sign in signs)
    out = []
    for at, sign in enumerate(text):
        drawn = int.from_bytes(stream[2 * at : 2 * at + 2], "big")
        if is_hex and sign in _HEX:
            out.append(_HEX[drawn % 16])
        elif is_hex:
            out.append(sign)
        elif "0" <= sign <= "9":
            out.append(str(drawn % 10))
        elif "a" <= sign <= "z":
            out.append(chr(ord("a") + drawn % 26))
        elif "A" <= sign <= "Z":
            out.append(chr(ord("A") + drawn % 26))
        else:
            out.append(sign)
    return "".join(out)


class Forge:
    """Makes the forgeries of one game from ``originals``: honest, finished games of people in their challenge's own mode and
    rules, in the order of the draw."""

    def __init__(
        self, game: str, originals: Sequence[Record], rulebook: Rulebook, challenges: ChallengeTable, judge: JudgeSettings,
        ids: Ids,
    ) -> None:  # fmt: skip
        self.game, self.originals, self.rulebook, self.challenges, self.judge = game, originals, rulebook, challenges, judge
        self.ids = ids
        self.kind: GameKind[Any, Any] = kind_of(game)

    def forge(self) -> tuple[list[Planted], dict[str, str]]:
        """(a forgery of every kind that some original will do for, why there is none of the other kinds)."""
        if not self.originals:
            return [], {"all": "no finished game of a person in its challenge's own mode and rules was verified"}
        made: list[Planted] = []
        missing: dict[str, str] = {}
        for number, (kind, (make, why)) in enumerate(kinds_of(self.game).items()):
            # Each kind begins with another game, so that not all are made of one.
            start = number % len(self.originals)
            tries = (make(self, original) for original in [*self.originals[start:], *self.originals[:start]])
            found = next((planted for planted in tries if planted is not None), None)
            if found is None:
                missing[kind] = why
            else:
                made.append(replace(found, kind=kind))
        return made, missing

    # --- What forgeries are made with

    def rules(self, record: Record) -> Any:
        """The rules of an original."""
        return self.rulebook.find(self.game, record.rules)

    def challenge(self, record: Record) -> Challenge:
        """The challenge of an original."""
        found = self.challenges.find(self.game, record.challenge)
        assert found is not None, record.challenge
        return found

    def played(self, record: Record, moves: bytes) -> Outcome:
        """The outcome of a log in an original's place, by the interpreted engine."""
        rules = self.rules(record)
        deal = self.challenge(record).deal(rules, record.mode)
        outcome: Outcome = self.kind.new_game(rules, deal, moves, record.mode).run()
        return outcome

    def wrong(self, record: Record, outcome: Outcome) -> list[str]:
        """The claims of a record that are not the outcome's, as reasons; what is not claimed cannot differ."""
        board = self.kind.canonical_board(record.final_board, self.rules(record), record.mode)
        differs = {
            "score_mismatch": record.score != outcome.score,
            "combo_mismatch": record.best_combo != outcome.best_combo,
            "board_mismatch": board != outcome.board,
            "level_mismatch": record.level is not None and record.level != outcome.level,
            "lines_mismatch": record.lines is not None and record.lines != outcome.lines,
        }
        return [reason for reason, there in differs.items() if there]

    def planted(self, origin: Record, reasons: Sequence[str], *others: Record, stranger: bool = False, **changes: Any) -> Planted:
        """A forged copy of ``origin``, uploaded later than it and ``others``; ``stranger``: by a player who does not exist."""
        uploaded = max(record.uploaded_at for record in (origin, *others)) + LATER
        values: dict[str, Any] = {"game_id": self.ids.like(origin.game_id), "uploaded_at": uploaded} | changes
        if stranger:
            values["player_id"] = self.ids.like(origin.player_id)
        record = replace(origin, **values)
        origins = tuple(each.game_id for each in (origin, *others))
        return Planted(self.game, "", record.game_id, as_line(as_object(record)), origins, reasons=tuple(reasons))


def as_line(found: dict[str, Any]) -> bytes:
    """An object as a line of an uploaded file, without its end."""
    return json.dumps(found, ensure_ascii=False).encode("utf-8")


def has_time_left(original: Record, challenges: ChallengeTable) -> bool:
    """Whether something that is uploaded a moment after a game still comes in time."""
    found = challenges.find(original.game, original.challenge)
    day = None if found is None else found.date
    return day is not None and original.uploaded_at + 2 * LATER <= min(challenge_span(day)[2], LAST_TIME)


# --- Claims


def _score(f: Forge, o: Record) -> Planted:
    return f.planted(o, ["score_mismatch"], score=o.score + 1)


def _combo(f: Forge, o: Record) -> Planted:
    # Lower where there is something to take away: a higher one may be more than the rules allow at all.
    return f.planted(o, ["combo_mismatch"], best_combo=o.best_combo - 1 if o.best_combo else 1)


def _board(f: Forge, o: Record) -> Planted | None:
    board = without_a_cell(f.kind, f.rules(o), o.mode, o.final_board)
    return None if board is None else f.planted(o, ["board_mismatch"], final_board=board)


def without_a_cell(kind: GameKind[Any, Any], rules: Any, mode: str, text: str) -> str | None:
    """The canonical text of a board that lacks the last of its cells in reading order; None for an empty board."""
    cells = kind.cells(text, rules, mode)
    filled = [(r, c) for r, row in enumerate(cells) for c, cell in enumerate(row) if cell != EMPTY]
    if not filled:
        return None
    row, column = filled[-1]
    cells[row][column] = EMPTY
    return kind.canonical_board("/".join(map(_row_text(kind), cells)), rules, mode)


def _row_text(kind: GameKind[Any, Any]) -> Callable[[list[str]], str]:
    def text(row: list[str]) -> str:
        out, empty = [], 0
        for cell in row:
            if cell == EMPTY:
                empty += 1
                continue
            out.append(f"{empty or ''}{kind.cell_text(cell)}")
            empty = 0
        return "".join(out) + (str(empty) if empty else "")

    return text


def _level(f: Forge, o: Record) -> Planted | None:
    if o.level is None:
        return None
    start = f.played(o, b"").level
    assert start is not None, o.mode
    if o.level > start:
        return f.planted(o, ["level_mismatch"], level=o.level - 1)
    # No game is below the level that its mode begins with; from 1 to 2 a few pieces would do.
    return f.planted(o, ["level_mismatch"], level=2) if start == 1 and o.moves.count("h") > 2 else None


def _lines(f: Forge, o: Record) -> Planted | None:
    return f.planted(o, ["lines_mismatch"], lines=o.lines - 1) if o.lines else None


def _below_nothing(f: Forge, o: Record) -> Planted:
    return f.planted(o, ["score_mismatch", "impossible_score"], score=-1)


def _beyond_placements(f: Forge, o: Record) -> Planted:
    most = f.rules(o).max_placement * count_tokens(o.game, o.moves)
    return f.planted(o, ["score_mismatch", "impossible_score"], score=most + 1)


def _beyond_everything(f: Forge, o: Record) -> Planted | None:
    if timing_ticks(o.moves) > SHORT_TICKS:
        return None
    return f.planted(o, ["score_mismatch", "impossible_score"], score=LARGEST)


def timing_ticks(moves: str) -> int:
    """The ticks that a log with a clock covers, at most: all its digits, read without the letters between them."""
    return sum(int(number) for number in "".join(sign if sign.isdigit() else " " for sign in moves).split())


# --- Logs


def _dense(record: Record) -> bytes:
    return b"".join(log_bytes(record.moves).split())


def _bad_token(f: Forge, o: Record) -> Planted | None:
    log = _dense(o)
    at = count_tokens(o.game, o.moves) // 2
    place = f.kind.token_place(log, at)
    return None if place is None else _illegal(f, o, log[: place[0]] + b"?" + log[place[0] :], "bad_token", at)


def _after_end(f: Forge, o: Record) -> Planted | None:
    more = b"1a1" if o.game == "blocks" else b"h"
    return _illegal(f, o, _dense(o) + more, "after_end", count_tokens(o.game, o.moves))


def _illegal(f: Forge, o: Record, log: bytes, fault: str, move: int) -> Planted | None:
    found = f.played(o, log).fault
    if found is None or (found.kind, found.move) != (fault, move):
        return None
    return f.planted(o, ["illegal_move"], stranger=True, moves=log.decode("utf-8"))


def _truncated(f: Forge, o: Record) -> Planted | None:
    """Leave out the placement, or the hard drop, that ended the game; played at once it gives the claims again."""
    log, last = _dense(o), count_tokens(o.game, o.moves) - 1
    place = f.kind.token_place(log, last)
    if place is None or place[1] != len(log):
        return None
    shorter, left_out = log[: place[0]], log[place[0] :]
    if o.game != "blocks":
        if not left_out.endswith(b"h"):
            return None
        left_out = b"h"
    again, outcome = f.played(o, shorter + left_out), f.played(o, shorter)
    wrong = f.wrong(o, outcome)
    if again.fault or f.wrong(o, again) or outcome.fault or outcome.finished or not wrong:
        return None
    return f.planted(o, [*wrong, "truncated_log"], stranger=True, moves=shorter.decode("utf-8"))


# --- Names, attempts and times


def _unknown_rules(f: Forge, o: Record) -> Planted:
    known = f.rulebook.versions(f.game)
    version = next(name for n in range(len(known) + 1) if (name := f"9.9.{n}") not in known)
    return f.planted(o, ["unknown_rules"], rules=version)


def _unknown_challenge(f: Forge, o: Record) -> Planted:
    year = next(year for year in range(2300, 2400) if f.challenges.find(f.game, f"{year}-01-01") is None)
    return f.planted(o, ["unknown_challenge"], challenge=f"{year}-01-01")


def _attempt_limit(f: Forge, o: Record) -> Planted:
    return f.planted(o, ["attempt_limit"], attempt=max(ATTEMPTS) + 1)


def _outside(f: Forge, o: Record) -> Planted | None:
    day = f.challenge(o).date
    if day is None or challenge_span(day)[0] - LATER < FIRST_TIME:
        return None
    return f.planted(o, ["outside_challenge_day"], stranger=True, started_at=challenge_span(day)[0] - LATER)


# --- What other uploads say


def _duplicate(f: Forge, o: Record) -> Planted | None:
    """Another player's game under this one's player and attempt."""
    for other in f.originals:
        if other.challenge == o.challenge and other.player_id != o.player_id and _dense(other) != _dense(o):
            return f.planted(other, ["duplicate_attempt"], o, player_id=o.player_id, attempt=o.attempt)
    return None


def _conflict(f: Forge, o: Record) -> Planted | None:
    """The same game under its own id, as another attempt, of which nothing was uploaded."""
    used = {r.attempt for r in f.originals if (r.player_id, r.challenge) == (o.player_id, o.challenge)}
    free = [attempt for attempt in ATTEMPTS if attempt not in used]
    return f.planted(o, ["conflicting_upload"], game_id=o.game_id, attempt=free[0]) if free else None


def _copy(f: Forge, o: Record) -> Planted:
    return replace(f.planted(o, []), verdict="copy")


def _copied_log(f: Forge, o: Record) -> Planted | None:
    if not is_long(o, f):
        return None
    return replace(f.planted(o, [], stranger=True), verdict="verified", suspicion="copied_log")


def is_long(record: Record, forge: Forge) -> bool:
    """Whether a log holds so many choices that nobody else comes to the same one by chance: counted by the interpreted engine."""
    need = forge.judge.copied_min_choices
    if record.game != "blocks":
        return timing_of(log_bytes(record.moves))[F_CHOICES] >= need
    rules = forge.rules(record)
    game = forge.kind.new_game(rules, forge.challenge(record).deal(rules, record.mode), log_bytes(record.moves), record.mode)
    found = 0
    while found < need:
        wide = _has_choice(game)
        if game.step() != APPLIED:
            return False
        found += wide
    return True


def _has_choice(game: Any) -> bool:
    """Whether two different placements of the hand of the block puzzle fit; the same shape twice is one piece."""
    rows, heights, widths, _ = game.rules.shape_tables
    fits = 0
    for slot in {shape: slot for slot, shape in enumerate(game.hand)}.values():
        for row in range(game.rules.height):
            for column in range(game.rules.width):
                why = blocks.why_not(slot, column, row, game.rows, game.hand, game.rules.params, rows, heights, widths)
                fits += why == blocks.APPLIED
                if fits > 1:
                    return True
    return False


def _too_quick(f: Forge, o: Record) -> Planted | None:
    if count_tokens(o.game, o.moves) < f.judge.pace_min_tokens or not f.judge.pace_min_ms_per_token:
        return None
    found = f.planted(o, [], stranger=True, finished_at=o.started_at)
    return replace(found, verdict="verified", suspicion="superhuman_pace")


def _by_the_clock(f: Forge, o: Record, wait: int) -> tuple[Planted, list[int]] | None:
    """The inputs of a game with a clock, each ``wait`` ticks after the one before, claiming what comes of that; and the facts of
    its timing.  What cannot be played any more when the inputs come so is left out."""
    tokens = [f"{wait or ''}{sign}".encode() for sign in o.moves if sign.isalpha()]
    fault = f.played(o, b"".join(tokens)).fault
    log = b"".join(tokens[: fault.move if fault else len(tokens)])
    outcome = f.played(o, log)
    if outcome.fault:
        return None
    claims: dict[str, Any] = {"score": outcome.score, "best_combo": outcome.best_combo, "final_board": outcome.board}
    claims |= {name: getattr(outcome, name) for name in OPTIONAL_FIELDS.get(o.game, ()) if getattr(o, name) is not None}
    found = f.planted(o, [], stranger=True, moves=log.decode("ascii"), **claims)
    return replace(found, verdict="verified"), timing_of(log)


def _inhuman(f: Forge, o: Record) -> Planted | None:
    """All inputs at once."""
    made = _by_the_clock(f, o, 0)
    if made is None or not f.judge.pace_min_ticks_per_choice or made[1][F_CHOICES] < f.judge.pace_min_choices:
        return None
    return replace(made[0], suspicion="superhuman_pace")


def _even(f: Forge, o: Record) -> Planted | None:
    """All inputs at one distance."""
    made = _by_the_clock(f, o, EVEN_TICKS)
    return None if made is None or made[1][F_GAPS] < f.judge.even_min_gaps else replace(made[0], suspicion="machine_timing")


def _malformed(f: Forge, o: Record) -> Planted:
    found = f.planted(o, [])
    held = json.loads(found.line)
    held["score"] = str(held["score"])
    return replace(found, line=as_line(held), verdict="quarantined", code="wrong_type")


# --- The list

Make = Callable[[Forge, Record], Planted | None]
_ANY = "no finished game would do"
_SHARED: dict[str, tuple[Make, str]] = {
    "score_mismatch": (_score, _ANY),
    "combo_mismatch": (_combo, _ANY),
    "board_mismatch": (_board, "no finished game left a cell on its board"),
    "illegal_move/bad_token": (_bad_token, _ANY),
    "illegal_move/after_end": (_after_end, _ANY),
    "impossible_score/negative": (_below_nothing, _ANY),
    "unknown_rules": (_unknown_rules, _ANY),
    "unknown_challenge": (_unknown_challenge, _ANY),
    "attempt_limit": (_attempt_limit, _ANY),
    "duplicate_attempt": (_duplicate, "no two players finished different games of one challenge"),
    "outside_challenge_day": (_outside, "no challenge opens at a time that can be written"),
    "conflicting_upload": (_conflict, "every player had used all attempts"),
    "truncated_log": (_truncated, "no game ended with its last move, and with a claim that the log without it does not come to"),
    "copy": (_copy, _ANY),
    "copied_log": (_copied_log, "no game had enough choices to rule out chance"),
    "malformed": (_malformed, _ANY),
}
# Of games with a clock of their own.
_HANDS: dict[str, tuple[Make, str]] = {
    "superhuman_pace": (_inhuman, "no game had enough choices to judge its pace, or pace is not judged"),
    "machine_timing": (_even, "no game had enough inputs to judge their rhythm"),
}
_OF_A_GAME: dict[str, dict[str, tuple[Make, str]]] = {
    "blocks": {
        "impossible_score/beyond": (_beyond_placements, _ANY),
        "superhuman_pace": (_too_quick, "no game was long enough to judge its pace, or pace is not judged"),
    },
    "tetromino": {"impossible_score/beyond": (_beyond_everything, "every game was longer than four hours"), **_HANDS},
    "tetcolor": _HANDS,
}
_CLAIMS: dict[str, tuple[Make, str]] = {
    "level_mismatch": (_level, "no finished game claimed a level that could be another one"),
    "lines_mismatch": (_lines, "no finished game claimed a line"),
}


def kinds_of(game: str) -> dict[str, tuple[Make, str]]:
    """What is planted of a game: by kind how it is made, and what it means when no game would do."""
    claims = _CLAIMS if OPTIONAL_FIELDS.get(game) else {}
    return _SHARED | claims | _OF_A_GAME.get(game, {})


__all__ = ["Forge", "Ids", "Planted", "as_line", "has_time_left", "is_long", "kinds_of", "without_a_cell"]
