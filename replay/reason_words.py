"""The reasons of a flagged game in words, and the moves that could not be played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.outcome import Fault
from replay import found_words as found
from replay.found_words import clock
from replay.games import NAMES, kind_of
from replay.games.kind import EMPTY, Difference
from replay.harmless import visible
from replay.i18n import ENGLISH, N_, Language
from replay.record import Record
from replay.verdict import Reason, Verdict, time_text

if TYPE_CHECKING:
    from replay.games.kind import Rules

SHOWN_CELLS = 6


@dataclass(frozen=True)
class Told:
    """What the words are about, and their language; rules and record add details where they are known."""

    verdict: Verdict
    rules: Rules | None
    record: Record | None
    language: Language

    def say(self, value: object) -> str:
        """A number as the language writes it, any other value as harmless text."""
        return self.language.number(value) if type(value) is int else visible(str(value))

    def move(self, reason: Reason) -> str:
        """The move of a reason that has one, within a sentence: ``move 17 (2c5)``."""
        number, token = (reason.move or 0) + 1, reason.token
        if not token:
            return self.language.gettext("move {number}", number=number)
        return self.language.gettext("move {number} ({token})", number=number, token=visible(token))


def _first_move(move: int, token: str | None, language: Language) -> str:
    """A move as people count it, as the subject of a sentence: ``Move 17 (2c5)``."""
    if not token:
        return language.gettext("Move {number}", number=move + 1)
    return language.gettext("Move {number} ({token})", number=move + 1, token=visible(token))


def _mismatch(sentence: str) -> Callable[[Reason, Told], list[str]]:
    def tell(reason: Reason, told: Told) -> list[str]:
        gettext = told.language.gettext
        if reason.move is None:
            part = gettext("No moves were uploaded that could have led there.")
        else:
            part = gettext("From {move} on the two cannot agree.", move=told.move(reason))
        return [f"{gettext(sentence, claimed=told.say(reason.claimed), found=told.say(reason.found))} {part}"]

    return tell


def _board_words(reason: Reason, told: Told) -> list[str]:
    claimed, gettext = str(reason.claimed), told.language.gettext
    where = {} if reason.move is None else {"move": told.move(reason)}
    if told.rules is None or told.verdict.game not in NAMES:
        boards = {"claimed": told.say(claimed), "found": told.say(reason.found)}
        return [
            gettext(
                "The final board that was uploaded is {claimed}; in the replay it is {found} after the last one, {move}.",
                **boards, **where,
            ) if where
            else gettext("The final board that was uploaded is {claimed}; in the replay it is {found} before any move.", **boards)
        ]  # fmt: skip
    cells = kind_of(told.verdict.game).differing_cells(
        claimed, str(reason.found), told.rules, told.verdict.mode, told.language
    )
    if cells is None:
        return [gettext(
            "The final board that was uploaded, {claimed}, cannot be read as a board of this game.", claimed=told.say(claimed)
        )]  # fmt: skip
    out = [
        gettext("The final board that was uploaded is not the one that the replay has after the last one, {move}.", **where)
        if where
        else gettext("The final board that was uploaded is not the one that the replay has before any move.")
    ]
    return out + _cells_words(cells, told.language)


def _cells_words(cells: list[Difference], language: Language) -> list[str]:
    """Differing cells in groups of one kind, a sentence each."""

    def some(names: list[str]) -> str:
        shown = ", ".join(names[:SHOWN_CELLS])
        more = len(names) - SHOWN_CELLS
        return language.gettext("{names} and {more} more", names=shown, more=language.plain(more)) if more > 0 else shown

    filled = [cell.name for cell in cells if cell.replayed == EMPTY]
    empty = [cell.name for cell in cells if cell.claimed == EMPTY]
    other = [
        language.gettext("{cell} ({uploaded}, not {replayed})", cell=cell.name, uploaded=cell.claimed, replayed=cell.replayed)
        for cell in cells
        if EMPTY not in (cell.claimed, cell.replayed)
    ]
    ngettext = language.ngettext
    told = [
        (filled, ngettext(
            "Cell filled in the upload, empty in the replay: {cells}.",
            "Cells filled in the upload, empty in the replay: {cells}.", len(filled), cells=some(filled),
        )),
        (empty, ngettext(
            "Cell empty in the upload, filled in the replay: {cells}.",
            "Cells empty in the upload, filled in the replay: {cells}.", len(empty), cells=some(empty),
        )),
        (other, ngettext(
            "Cell filled with something else in the upload than in the replay: {cells}.",
            "Cells filled with something else in the upload than in the replay: {cells}.", len(other), cells=some(other),
        )),
    ]  # fmt: skip
    return [sentence for names, sentence in told if names]


FAULT_WORDS = {
    "bad_token": N_("{move} cannot be read: it is not how a move is written."),
    "no_such_slot": N_("{move} plays from a place in the hand that does not exist."),
    "outside_board": N_("{move} puts a piece partly outside the board."),
    "overlap": N_("{move} puts a piece onto cells that are already filled."),
    "continue_not_allowed": N_("{move} continues the game where that is not allowed."),
    "after_end": N_("{move} comes after the game was over."),
    "deal_exhausted": N_("{move} needs a piece that the challenge does not list."),
    "hold_twice": N_("{move} holds a piece for the second time before one has landed."),
    "no_such_mode": N_("{move} belongs to a mode that this game does not have."),
}


def fault_words(fault: Fault, token: str | None, game: str = "", language: Language = ENGLISH) -> str:
    """One sentence on a move that could not be played, with the engine's detail where that says more."""
    own = kind_of(game).fault_words if game in NAMES else {}
    move = _first_move(fault.move, token, language)
    _, same, detail = fault.text.partition(f"{token!r} ")
    # Of what is no token at all the engine says the same in fewer words.
    if same and detail != "is no token of the notation":
        why = f"it {visible(detail, 160)}" if language.is_english else found.said(f"it {detail}", found.DETAILS, language)
        if why is not None:
            return language.gettext("{move} cannot be played: {why}.", move=move, why=why)
    return language.gettext(own.get(fault.kind, FAULT_WORDS[fault.kind]), move=move)


def _illegal_words(reason: Reason, told: Told) -> list[str]:
    gettext = told.language.gettext
    kind, _, text = str(reason.found).partition(": ")
    if kind == "no_such_mode":
        if not told.verdict.mode:
            return [gettext("The game was uploaded as one of a mode that has no name, so nothing of it could be replayed.")]
        return [gettext(
            "The game was uploaded as one of a mode {mode}, which does not exist, so nothing of it could be replayed.",
            mode=told.say(told.verdict.mode),
        )]  # fmt: skip
    written = None if reason.claimed is None else str(reason.claimed)
    out = [fault_words(Fault(kind, reason.move or 0, text), written, told.verdict.game, told.language)]
    score = (told.verdict.replayed or {}).get("score")
    if score is not None:
        out.append(gettext(
            "Before it the replay stands at a score of {score}; what was uploaded as the result was not compared.",
            score=told.say(score),
        ))  # fmt: skip
    return out


IMPOSSIBLE_WORDS = {
    "score": N_("A score of {claimed} is not possible with this many moves: it is {limit}."),
    "best_combo": N_("A best combo of {claimed} is not possible with this many moves: it is {limit}."),
    "level": N_("A level of {claimed} is not possible with this many moves: it is {limit}."),
    "lines": N_("A number of lines of {claimed} is not possible with this many moves: it is {limit}."),
}


def _impossible_words(reason: Reason, told: Told) -> list[str]:
    out = []
    for bound in str(reason.found).split("; "):
        what, written = bound.split(" ", 1)
        claim = told.verdict.claimed.get(what, reason.claimed)
        limit = written if told.language.is_english else found.limit(written, told.language)
        if limit is None:
            out.append(told.language.gettext("What was uploaded as the result is not possible with this many moves."))
        else:
            out.append(told.language.gettext(IMPOSSIBLE_WORDS[what], claimed=told.say(claim), limit=limit))
    return out


def _day_words(reason: Reason, told: Told) -> list[str]:
    gettext, out = told.language.gettext, []
    for number, bound in enumerate(str(reason.found).split("; ")):
        # Only the first of two times stands in the reason; the record has the other.
        claim = str(reason.claimed) if number == 0 else time_text(told.record.uploaded_at) if told.record else None
        started, uploaded = (found.read(bound, message, told.language) for message in (found.START, found.UPLOAD))
        if started is not None:
            out.append(gettext(
                "The game was started at {time}; this challenge can be started from {opens} to before {closes}.",
                time=clock(str(claim)), **started,
            ))  # fmt: skip
        elif uploaded is not None and claim is not None:
            out.append(gettext(
                "The game was uploaded at {time}; an upload for this challenge counts until {last} at the latest.",
                time=clock(claim), **uploaded,
            ))  # fmt: skip
        elif uploaded is not None:
            out.append(gettext(
                "The game was uploaded too late; an upload for this challenge counts until {last} at the latest.", **uploaded
            ))  # fmt: skip
    return out


def _rules_words(reason: Reason, told: Told) -> list[str]:
    gettext, rules = told.language.gettext, told.say(reason.claimed)
    if told.language.is_english:
        return [f"The game names rules {rules}, which are not known here ({told.say(reason.found)}), so it was not replayed."]
    known = found.read(str(reason.found), found.SOME_RULES, told.language) or {}
    if known.get("versions") in (None, "none"):
        return [gettext("The game names rules {rules}, which are not known here, so it was not replayed.", rules=rules)]
    return [gettext(
        "The game names rules {rules}, which are not known here (known of {game}: {versions}), so it was not replayed.",
        rules=rules, **known,
    )]  # fmt: skip


def _attempt_words(reason: Reason, told: Told) -> list[str]:
    return [told.language.gettext(
        "The game was uploaded as attempt {attempt}; in a daily challenge the attempts are 1, 2 and 3.",
        attempt=told.say(reason.claimed),
    )]  # fmt: skip


def _duplicate_words(reason: Reason, told: Told) -> list[str]:
    gettext = told.language.gettext
    if told.language.is_english:
        other = visible(str(reason.found), 160)
        return [f"This attempt was uploaded as more than one game: {other}. The one that was uploaded first stands."]
    first = found.read(str(reason.found), found.DUPLICATE, told.language)
    if first is None:
        return [gettext("This attempt was uploaded as more than one game. The one that was uploaded first stands.")]
    return [gettext(
        "This attempt was uploaded as more than one game: another log of this attempt was uploaded before, as game {game}. The "
        "one that was uploaded first stands.", **first,
    )]  # fmt: skip


def _conflict_words(reason: Reason, told: Told) -> list[str]:
    gettext, text = told.language.gettext, str(reason.found)
    if told.language.is_english:
        return [
            f"The game id does not name one game: {clock(visible(text, 160))}. Only the first upload of one player can stand,"
            " and none when they come from different players."
        ]
    own, others = (found.read(text, message, told.language) for message in (found.OWN_CONFLICT, found.CONFLICT))
    if own is not None:
        return [gettext(
            "The game id does not name one game: {number} different games of one player were uploaded under this id, the first "
            "at {time}. Only the first upload of one player can stand, and none when they come from different players.", **own,
        )]  # fmt: skip
    if others is not None:
        return [gettext(
            "The game id does not name one game: {number} different games of {others} players were uploaded under this id, the "
            "first at {time}. Only the first upload of one player can stand, and none when they come from different players.",
            **others,
        )]  # fmt: skip
    return [gettext(
        "The game id does not name one game. Only the first upload of one player can stand, and none when they come from "
        "different players."
    )]  # fmt: skip


def _truncated_words(reason: Reason, told: Told) -> list[str]:
    return [told.language.ngettext(
        "The log ends after {count} move, and the game was not over; with one more legal move it gives exactly what was "
        "uploaded, so the last move seems to be missing from the upload.",
        "The log ends after {count} moves, and the game was not over; with one more legal move it gives exactly what was "
        "uploaded, so the last move seems to be missing from the upload.", reason.found if isinstance(reason.found, int) else 0,
    )]  # fmt: skip


def _challenge_words(reason: Reason, told: Told) -> list[str]:
    gettext, text = told.language.gettext, str(reason.found)
    move = None if reason.move is None else _first_move(reason.move, reason.token, told.language)
    if told.language.is_english:
        why = f"the challenge cannot be played as it is listed: {visible(text, 160)}."
        return [why if move is None else f"{move} cannot be played because {why}"]
    if move is None:
        return [gettext("The challenge cannot be played as it is listed.")]
    deal = found.read(text, found.DEAL, told.language)
    if deal is None:
        return [gettext("{move} cannot be played because the challenge cannot be played as it is listed.", move=move)]
    return [gettext(
        "{move} cannot be played because the challenge cannot be played as it is listed: the challenge lists only {number} "
        "pieces.", move=move, **deal,
    )]  # fmt: skip


REASON_WORDS: dict[str, Callable[[Reason, Told], list[str]]] = {
    "score_mismatch": _mismatch(N_("The score that was uploaded is {claimed}; replaying the moves gives {found}.")),
    "combo_mismatch": _mismatch(N_("The best combo that was uploaded is {claimed}; replaying the moves gives {found}.")),
    "board_mismatch": _board_words,
    "level_mismatch": _mismatch(N_("The level that was uploaded is {claimed}; replaying the moves gives {found}.")),
    "lines_mismatch": _mismatch(N_("The number of lines that was uploaded is {claimed}; replaying the moves gives {found}.")),
    "illegal_move": _illegal_words,
    "impossible_score": _impossible_words,
    "unknown_rules": _rules_words,
    "unknown_challenge": lambda reason, told: [told.language.gettext(
        "The game names the challenge {challenge}, which is not known here, so it was not replayed.",
        challenge=told.say(reason.claimed),
    )],
    "attempt_limit": _attempt_words,
    "duplicate_attempt": _duplicate_words,
    "outside_challenge_day": _day_words,
    "conflicting_upload": _conflict_words,
    "truncated_log": _truncated_words,
    "challenge": _challenge_words,
}  # fmt: skip

__all__ = ["FAULT_WORDS", "IMPOSSIBLE_WORDS", "REASON_WORDS", "SHOWN_CELLS", "Told", "fault_words"]
