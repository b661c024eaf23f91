"""A verdict in words: plain sentences that a support person can repeat to the player.

They say what was uploaded, what the replay found and from which move on the two part; they accuse nobody of anything.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.outcome import Fault
from replay.games import NAMES, GameKind, kind_of
from replay.games.kind import EMPTY, Difference
from replay.record import Record
from replay.verdict import NUMBER_CLAIMS, Reason, Verdict, time_text

if TYPE_CHECKING:
    from replay.games.kind import Rules

# Longer texts of an upload are cut where they are shown to people; JSON keeps them whole.
SHOWN_TEXT = 80
SHOWN_CELLS = 6


def visible(text: str, limit: int = SHOWN_TEXT) -> str:
    """An uploaded text made harmless to look at: control, format and direction marks as escapes, at most ``limit`` characters."""
    shown = "".join(char if char == " " or unicodedata.category(char)[0] not in "CZ" else _escape(char) for char in text[:limit])
    if any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in shown):
        # Letters that run from right to left are nobody's trick, but must not turn the sentence around them.
        shown = f"\N{FIRST STRONG ISOLATE}{shown}\N{POP DIRECTIONAL ISOLATE}"
    return shown if len(text) <= limit else shown + "..."


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


@dataclass(frozen=True)
class _Told:
    """What the words are about; rules and record add details where they are known."""

    verdict: Verdict
    rules: Rules | None
    record: Record | None


def words(verdict: Verdict, rules: Rules | None = None, record: Record | None = None) -> list[str]:
    """The verdict in plain sentences to repeat to the player: what was uploaded, what the replay found, where they part.

    ``rules`` adds which cells of the board differ, ``record`` how long the game took.  Raises KeyError for a code without words.
    """
    told = _Told(verdict, rules, record)
    out = VERDICT_WORDS[verdict.verdict](told)
    for reason in verdict.reasons:
        out += REASON_WORDS[reason.code](reason, told)
    for key, value in (verdict.evidence or {}).items():
        out += _evidence_words(key, value, told)
    for code in verdict.suspicions:
        out += SUSPICION_WORDS[code](told)
    return out


def _verified_words(told: _Told) -> list[str]:
    found = told.verdict.replayed or told.verdict.claimed
    # Only what was claimed: a level or a number of lines that nobody uploaded is nothing to confirm.
    claimed = told.verdict.claimed
    more = f", the level {_say(found['level'])}" if claimed.get("level") is not None else ""
    more += f", {_say(found['lines'])} cleared lines" if claimed.get("lines") is not None else ""
    out = [
        f"The game comes out as it was uploaded: {_moves(found['moves'])} give the score {_say(found['score'])}, the best combo "
        f"{_say(found['best_combo'])}{more} and the same final board."
    ]
    return [*out, *(_uncounted_words(told.verdict) or [f"It counts for the challenge {_say(told.verdict.challenge)}."])]


def _uncounted_words(verdict: Verdict) -> list[str]:
    why = [UNCOUNTED_WORDS[code](verdict) for code in verdict.uncounted]
    if not why:
        return []
    return [f"It is checked like every game but does not count in the standings in any case, because {' and '.join(why)}."]


def _flagged_words(told: _Told) -> list[str]:
    reasons = told.verdict.reasons
    follows = "the reason that follows" if len(reasons) == 1 else f"the {len(reasons)} reasons that follow"
    held = "is held back and does not count unless a review clears it" if not told.verdict.uncounted else "could not be confirmed"
    out = [f"The game {held}, for {follows}.", *_uncounted_words(told.verdict)]
    codes = {reason.code for reason in reasons}
    if told.verdict.replayed and not codes & {*NUMBER_CLAIMS.values(), "board_mismatch", "illegal_move"}:
        out.append("Its moves themselves come out as uploaded: score, best combo and final board are right.")
    return out


UNCOUNTED_WORDS: dict[str, Callable[[Verdict], str]] = {
    "mode": lambda v: f"it is a {_say(v.mode)} game and not one of the challenge's own mode" if v.mode
    else "it was not played in the challenge's own mode",
    "rules": lambda v: f"it was played under rules {_say(v.rules)}, which are not the challenge's own",
    "undated": lambda v: f"its challenge, {_say(v.challenge)}, is not that of a day",
}  # fmt: skip

VERDICT_WORDS: dict[str, Callable[[_Told], list[str]]] = {
    "verified": _verified_words,
    "flagged": _flagged_words,
    "copy": lambda told: [
        f"This is the same game uploaded again: {_say(told.verdict.copy_of or 'an earlier upload')} came first and stands for "
        "both. Nothing is wrong with that, it is only not counted twice."
    ],
    "quarantined": lambda told: ["The game could not be judged and is set aside; nothing is held against the player."],
}


def _say(value: object) -> str:
    """A number with thousands marked, any other value as harmless text."""
    return f"{value:,}" if type(value) is int else visible(str(value))


def _moves(count: int) -> str:
    return "1 move" if count == 1 else f"{count:,} moves"


def _at(move: int | None, token: str | None) -> str:
    """A move as people count it, with its token: ``move 17 (2c5)``."""
    if move is None:
        return "the log"
    return f"move {move + 1:,}" + (f" ({visible(token)})" if token else "")


def _capital(text: str) -> str:
    # str.capitalize() would also change the case of a token.
    return text[:1].upper() + text[1:]


def _mismatch(what: str) -> Callable[[Reason, _Told], list[str]]:
    def say(reason: Reason, told: _Told) -> list[str]:
        if reason.move is None:
            part = "No moves were uploaded that could have led there."
        else:
            part = f"From {_at(reason.move, reason.token)} on the two cannot agree."
        return [f"The {what} that was uploaded is {_say(reason.claimed)}; replaying the moves gives {_say(reason.found)}. {part}"]

    return say


def _board_words(reason: Reason, told: _Told) -> list[str]:
    claimed = str(reason.claimed)
    after = "before any move" if reason.move is None else f"after the last one, {_at(reason.move, reason.token)}"
    if told.rules is None or told.verdict.game not in NAMES:
        return [f"The final board that was uploaded is {_say(claimed)}; in the replay it is {_say(reason.found)} {after}."]
    cells = kind_of(told.verdict.game).differing_cells(claimed, str(reason.found), told.rules, told.verdict.mode)
    if cells is None:
        return [f"The final board that was uploaded, {_say(claimed)}, cannot be read as a board of this game."]
    out = [f"The final board that was uploaded is not the one that the replay has {after}."]
    for text, names in _differences(cells):
        if names:
            more = f" and {len(names) - SHOWN_CELLS} more" if len(names) > SHOWN_CELLS else ""
            out.append(f"{'Cell' if len(names) == 1 else 'Cells'} {text}: {', '.join(names[:SHOWN_CELLS])}{more}.")
    return out


def _differences(cells: list[Difference]) -> list[tuple[str, list[str]]]:
    """Differing cells in groups of one kind: (what is different, the cells' names)."""
    both = [cell for cell in cells if EMPTY not in (cell.claimed, cell.replayed)]
    return [
        ("filled in the upload, empty in the replay", [cell.name for cell in cells if cell.replayed == EMPTY]),
        ("empty in the upload, filled in the replay", [cell.name for cell in cells if cell.claimed == EMPTY]),
        (
            "filled with something else in the upload than in the replay",
            [f"{cell.name} ({cell.claimed}, not {cell.replayed})" for cell in both],
        ),
    ]


FAULT_WORDS = {
    "bad_token": "cannot be read: it is not how a move is written",
    "no_such_slot": "plays from a place in the hand that does not exist",
    "outside_board": "puts a piece partly outside the board",
    "overlap": "puts a piece onto cells that are already filled",
    "continue_not_allowed": "continues the game where that is not allowed",
    "after_end": "comes after the game was over",
    "deal_exhausted": "needs a piece that the challenge does not list",
    "hold_twice": "holds a piece for the second time before one has landed",
    "no_such_mode": "belongs to a mode that this game does not have",
}


def fault_words(fault: Fault, token: str | None, game: str = "") -> str:
    """One sentence on a move that could not be played, with the engine's detail where that says more."""
    own = kind_of(game).fault_words if game in NAMES else {}
    plain = own.get(fault.kind, FAULT_WORDS[fault.kind])
    _, same, detail = fault.text.partition(f"{token!r} ")
    # Of what is no token at all the engine says the same in fewer words.
    if same and detail != "is no token of the notation":
        plain = f"cannot be played: it {visible(detail, 160)}"
    return f"{_capital(_at(fault.move, token))} {plain}."


def _illegal_words(reason: Reason, told: _Told) -> list[str]:
    kind, _, text = str(reason.found).partition(": ")
    if kind == "no_such_mode":
        mode = f"{_say(told.verdict.mode)}, which does not exist" if told.verdict.mode else "that has no name"
        return [f"The game was uploaded as one of a mode {mode}, so nothing of it could be replayed."]
    written = None if reason.claimed is None else str(reason.claimed)
    out = [fault_words(Fault(kind, reason.move or 0, text), written, told.verdict.game)]
    score = (told.verdict.replayed or {}).get("score")
    if score is not None:
        out.append(f"Before it the replay stands at a score of {_say(score)}; what was uploaded as the result was not compared.")
    return out


def _impossible_words(reason: Reason, told: _Told) -> list[str]:
    names = {"score": "score", "best_combo": "best combo", "level": "level", "lines": "number of lines"}
    out = []
    for bound in str(reason.found).split("; "):
        what, limit = bound.split(" ", 1)
        claim = told.verdict.claimed.get(what, reason.claimed)
        out.append(f"A {names[what]} of {_say(claim)} is not possible with this many moves: it is {limit}.")
    return out


def _clock(text: str) -> str:
    """RFC 3339 times within a text as people write them."""
    return text.replace(".000Z", "Z").replace("T", " ").replace("Z", " UTC")


def _day_words(reason: Reason, told: _Told) -> list[str]:
    out = []
    for number, bound in enumerate(str(reason.found).split("; ")):
        what, limit = bound.split(" ", 1)
        # Only the first of two times stands in the reason; the record has the other.
        claim = str(reason.claimed) if number == 0 else time_text(told.record.uploaded_at) if told.record else "too late"
        if what == "started_at":
            out.append(f"The game was started at {_clock(claim)}; this challenge can be started {_clock(limit)}.")
        else:
            out.append(f"The game was uploaded at {_clock(claim)}; an upload for this challenge counts {_clock(limit)}.")
    return out


REASON_WORDS: dict[str, Callable[[Reason, _Told], list[str]]] = {
    "score_mismatch": _mismatch("score"),
    "combo_mismatch": _mismatch("best combo"),
    "board_mismatch": _board_words,
    "level_mismatch": _mismatch("level"),
    "lines_mismatch": _mismatch("number of lines"),
    "illegal_move": _illegal_words,
    "impossible_score": _impossible_words,
    "unknown_rules": lambda reason, told: [
        f"The game names rules {_say(reason.claimed)}, which are not known here ({_say(reason.found)}), so it was not replayed."
    ],
    "unknown_challenge": lambda reason, told: [
        f"The game names the challenge {_say(reason.claimed)}, which is not known here, so it was not replayed."
    ],
    "attempt_limit": lambda reason, told: [
        f"The game was uploaded as attempt {_say(reason.claimed)}; in a daily challenge the {_say(reason.found)}."
    ],
    "duplicate_attempt": lambda reason, told: [
        f"This attempt was uploaded as more than one game: {visible(str(reason.found), 160)}. The one that was uploaded first "
        "stands."
    ],
    "outside_challenge_day": _day_words,
    "conflicting_upload": lambda reason, told: [
        f"The game id does not name one game: {visible(str(reason.found), 160)}. Only the first upload of one player can "
        "stand, and none when they come from different players."
    ],
    "truncated_log": lambda reason, told: [
        f"The log ends after {_moves(reason.found if isinstance(reason.found, int) else 0)}, and the game was not over; with one "
        "more legal move it gives exactly what was uploaded, so the last move seems to be missing from the upload."
    ],
    "challenge": lambda reason, told: [
        (f"{_capital(_at(reason.move, reason.token))} cannot be played because " if reason.move is not None else "")
        + f"the challenge cannot be played as it is listed: {visible(str(reason.found), 160)}."
    ],
}  # fmt: skip


def _evidence_words(key: str, value: Any, told: _Told) -> list[str]:
    if key == "rules_that_agree":
        return [
            f"Under rules {' or '.join(map(_say, value))} the same moves give exactly what was uploaded, so the app may have "
            f"named the wrong version; the game is judged by the rules that it names, {_say(told.verdict.rules)}."
        ]
    if key == "missing_moves":
        return [f"The missing move can be {' or '.join(map(_say, value))}."]
    if key == "copied_log":
        # Told with the suspicion of that name.
        return []
    return [f"Noted beside it, {_say(key).replace('_', ' ')}: {_say(value)}."]


def _copied_words(told: _Told) -> list[str]:
    known = (told.verdict.evidence or {}).get("copied_log") or {}
    first = f", as game {_say(known['first_game'])}" if "first_game" in known else ""
    shared = f"; {_say(known['players'])} players have uploaded it by now" if "players" in known else ""
    return [
        f"Another player uploaded the same long list of moves earlier{first}{shared}. That alone stops no game from counting."
    ]


def _pace_words(told: _Told) -> list[str]:
    moves = _moves(told.verdict.claimed["moves"])
    if told.record is None:
        return [f"The {moves} were played faster than people usually play. That alone stops no game from counting."]
    seconds = (told.record.finished_at - told.record.started_at) / 1_000_000
    return [f"{moves} in {seconds:,.1f} seconds are faster than people usually play. That alone stops no game from counting."]


SUSPICION_WORDS: dict[str, Callable[[_Told], list[str]]] = {
    "copied_log": _copied_words,
    "superhuman_pace": _pace_words,
    "unfinished": lambda told: [
        kind_of(told.verdict.game).unfinished_words if told.verdict.game in NAMES else GameKind.unfinished_words
    ],
}
