"""Verdicts: what one uploaded game says about itself when it is replayed by the interpreted engine.

Imports neither numba, numpy, duckdb nor anything that draws, so that one disputed game opens at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engine.blocks import kernel as k
from engine.blocks.notation import CONTINUE, token
from engine.blocks.single import Deal, Game
from engine.outcome import APPLIED, BOARD_EQUAL, Fault, Outcome
from replay.errors import MalformedRecord
from replay.record import Record, count_tokens

if TYPE_CHECKING:
    from engine.blocks.rules import BlocksRules
    from replay.challenges import Challenge, ChallengeTable
    from replay.rulebook import Rulebook

VERDICTS = ("verified", "flagged", "copy", "quarantined")
REASON_CODES = (
    "score_mismatch", "combo_mismatch", "board_mismatch", "illegal_move", "impossible_score", "unknown_rules",
    "unknown_challenge", "attempt_limit", "duplicate_attempt", "outside_challenge_day", "conflicting_upload", "truncated_log",
)  # fmt: skip
# The reason of a quarantined game: the challenge cannot be played as it is listed, which no player answers for.
CHALLENGE_CODE = "challenge"
SUSPICION_CODES = ("copied_log", "superhuman_pace", "unfinished")

# A line for every change after which the same records may give other verdict rows; the last one's number is the version.
PROCESSING_HISTORY = ((1, "first verdicts of the block puzzle"),)
PROCESSING_VERSION = PROCESSING_HISTORY[-1][0]

ATTEMPTS = (1, 2, 3)
HOUR = 3_600_000_000
DAY = 24 * HOUR
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class JudgeSettings:
    """Limits of the suspicions: a log of fewer tokens than ``*_min_tokens`` is no evidence of anything.

    ``pace_min_ms_per_token`` are milliseconds a token; a game quicker than that on average is ``superhuman_pace``.
    """

    pace_min_tokens: int = 10
    pace_min_ms_per_token: int = 200
    copied_min_tokens: int = 30


@dataclass(frozen=True)
class Reason:
    """Why a game is flagged: the claim, what was found instead, and the first token (from 0) from which they cannot agree.

    ``token`` is that token's text, for people; it is no part of the reason's identity or of its JSON.
    """

    code: str
    claimed: int | str | None
    found: int | str | None
    move: int | None
    token: str | None = field(default=None, compare=False)

    def as_json(self) -> dict[str, Any]:
        """The design's four keys."""
        return {"code": self.code, "claimed": self.claimed, "found": self.found, "move": self.move}


@dataclass(frozen=True)
class Verdict:
    """The verdict on one game.

    ``claimed`` and ``replayed`` are {score, best_combo, board, moves, finished}; ``replayed`` is None when nothing could be
    replayed.  ``uncounted`` says why even a verified game stays out of the standings (see ``uncounted``), () if it does not;
    it and ``mode`` are for people and not in the JSON.
    """

    game_id: str
    verdict: str
    reasons: tuple[Reason, ...]
    suspicions: tuple[str, ...]
    evidence: dict[str, Any] | None
    claimed: dict[str, Any]
    replayed: dict[str, Any] | None
    fault: Fault | None
    rules: str
    challenge: str
    copy_of: str | None = None
    mode: str = ""
    uncounted: tuple[str, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether standings use the game."""
        return self.verdict == "verified" and not self.uncounted

    def as_json(self) -> dict[str, Any]:
        """The object that ``--json`` prints: the design's keys in its order, ``evidence`` and ``copy_of`` when there are any."""
        fault = self.fault
        out: dict[str, Any] = {
            "game_id": self.game_id,
            "verdict": self.verdict,
            "reasons": [reason.as_json() for reason in self.reasons],
            "suspicions": list(self.suspicions),
            "claimed": dict(self.claimed),
            "replayed": None if self.replayed is None else dict(self.replayed),
            "fault": None if fault is None else {"kind": fault.kind, "move": fault.move, "text": fault.text},
            "rules": self.rules,
            "challenge": self.challenge,
        }
        if self.evidence is not None:
            out["evidence"] = self.evidence
        if self.copy_of is not None:
            out["copy_of"] = self.copy_of
        return out


def in_order(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Reasons in the order of REASON_CODES, the order in which every verdict gives them."""
    return tuple(sorted(reasons, key=lambda reason: REASON_CODES.index(reason.code)))


def judge(record: Record, rulebook: Rulebook, challenges: ChallengeTable, settings: JudgeSettings = JudgeSettings()) -> Verdict:
    """Everything that one game says by itself; what needs other games (copies, duplicates, conflicts) is added elsewhere.

    Raises MalformedRecord (``wrong_value``) for a mode that the rules do not know: only a rules file lists the modes, so the
    reader of records cannot refuse it, and for an unknown mode no number of continues is defined.
    """
    rules = rulebook.find(record.game, record.rules)
    challenge = challenges.find(record.game, record.challenge)
    if rules is not None and record.mode not in rules.continues:
        raise MalformedRecord(
            "wrong_value",
            f"game {record.game_id!r}: mode {record.mode!r} is none of rules {rules.version}, it must be one of "
            f"{', '.join(rules.continues)}",
        )
    tokens = count_tokens(record.game, record.moves)
    # The pace is that of the block puzzle's placements; a game without any rules file may be played in much quicker inputs.
    fast = bool(rulebook.versions(record.game)) and too_fast(record, tokens, settings)
    verdict = Verdict(
        game_id=record.game_id, verdict="verified", reasons=(), suspicions=("superhuman_pace",) if fast else (), evidence=None,
        claimed={
            "score": record.score, "best_combo": record.best_combo, "board": record.final_board, "moves": tokens,
            "finished": None,
        },
        replayed=None, fault=None, rules=record.rules, challenge=record.challenge, mode=record.mode,
        uncounted=uncounted(record, challenge),
    )  # fmt: skip
    if rules is None or challenge is None:
        return replace(verdict, verdict="flagged", reasons=_unknown(record, rulebook, rules, challenge))
    try:
        deal = challenge.deal(rules)
    except ValueError as error:
        return _quarantined(verdict, Reason(CHALLENGE_CODE, record.rules, str(error), None))
    return _judge_replay(verdict, record, rules, challenge, deal, rulebook)


def _judge_replay(
    verdict: Verdict, record: Record, rules: BlocksRules, challenge: Challenge, deal: Deal, rulebook: Rulebook
) -> Verdict:
    log = log_bytes(record.moves)
    play = play_through(rules, deal, log, rules.continues[record.mode])
    outcome = play.outcome
    verdict = replace(verdict, replayed=_outcome_json(outcome), fault=outcome.fault)
    if outcome.fault is not None and outcome.fault.kind == "deal_exhausted":
        found = f"the challenge lists only {len(deal.pieces or ())} pieces"
        at = outcome.fault.move
        return _quarantined(verdict, Reason(CHALLENGE_CODE, token_at(log, at), found, at, token_at(log, at)))
    evidence: dict[str, Any] = {}
    if outcome.fault is not None:
        written = token_at(log, outcome.fault.move)
        found = f"{outcome.fault.kind}: {outcome.fault.text}"
        wrong = [Reason("illegal_move", written, found, outcome.fault.move, written)]
    else:
        wrong = _mismatches(record, rules, play, log)
        if wrong and not outcome.finished and play.game.completes(record.score, record.best_combo, record.final_board):
            wrong.append(Reason("truncated_log", outcome.moves + 1, outcome.moves, outcome.moves))
            evidence["missing_moves"] = missing_moves(play.game, record)
    if wrong:
        agree = rules_that_agree(record, rulebook, challenge)
        if agree:
            evidence["rules_that_agree"] = agree
    reasons = in_order([*wrong, *_impossible(record, rules), *_out_of_bounds(record, challenge, verdict.uncounted)])
    unfinished = ("unfinished",) if not wrong and not outcome.finished else ()
    return replace(
        verdict, verdict="flagged" if reasons else "verified", reasons=reasons, evidence=evidence or None,
        suspicions=(*verdict.suspicions, *unfinished),
    )  # fmt: skip


def _quarantined(verdict: Verdict, reason: Reason) -> Verdict:
    # Nothing is said about the player: not even the softer signs.
    return replace(verdict, verdict="quarantined", reasons=(reason,), suspicions=())


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "score": outcome.score, "best_combo": outcome.best_combo, "board": outcome.board, "moves": outcome.moves,
        "finished": outcome.finished,
    }  # fmt: skip


@dataclass(frozen=True)
class Play:
    """A log played to its end or first fault, with the running numbers after each applied token."""

    game: Game
    outcome: Outcome
    scores: list[int]
    bests: list[int]
    placements: list[int]


def play_through(rules: BlocksRules, deal: Deal, log: bytes, continues: int) -> Play:
    """Play a log; ``placements`` counts the placements so far, which a continue does not add to."""
    game = Game(rules, deal, log, continues)
    scores: list[int] = []
    bests: list[int] = []
    placements: list[int] = []
    while game.step() == APPLIED:
        scores.append(game.st[k.ST_SCORE])
        bests.append(game.st[k.ST_BEST])
        placements.append(game.st[k.ST_MOVES] - game.st[k.ST_CONTINUES])
    return Play(game, game.outcome(), scores, bests, placements)


def first_disagreement(
    claimed: tuple[int, int, bool],
    scores: Sequence[int],
    bests: Sequence[int],
    placements: Sequence[int],
    max_placement: int,
    max_lines: int,
) -> tuple[int | None, int | None, int | None]:
    """The first token from which score, best combo and board cannot agree with a fault-free replay; None where they do.

    ``claimed`` is (score, best combo, whether the board agrees); the sequences are the running values after each token, of
    equal length.  No token can be named in an empty log: all None.

    A score parts after the first token that leaves it above the claim, or so far below it that every placement left, at
    ``max_placement`` each, could not make it up.  A combo parts once it is above the claim, at the first token when the claim
    is above ``max_lines``, else at the last.  A board parts at the last token: nothing earlier was claimed.
    """
    if not scores:
        return None, None, None
    score, best_combo, board_agrees = claimed
    last = len(scores) - 1
    at_score = next(
        (
            i for i in range(last + 1)
            if scores[i] > score or scores[i] + max_placement * (placements[last] - placements[i]) < score
        ),
        None,
    )  # fmt: skip
    at_combo = next((i for i in range(last + 1) if bests[i] > best_combo), None)
    if at_combo is None and bests[last] != best_combo:
        at_combo = 0 if best_combo > max_lines else last
    return at_score, at_combo, None if board_agrees else last


def _mismatches(record: Record, rules: BlocksRules, play: Play, log: bytes) -> list[Reason]:
    """Each claim checked on its own; the board by the cells that it means."""
    outcome = play.outcome
    board_agrees = play.game.board_equals(record.final_board) == BOARD_EQUAL
    at_score, at_combo, at_board = first_disagreement(
        (record.score, record.best_combo, board_agrees), play.scores, play.bests, play.placements, rules.max_placement,
        rules.max_lines,
    )  # fmt: skip
    wrong: list[tuple[str, int | str, int | str, int | None]] = []
    if record.score != outcome.score:
        wrong.append(("score_mismatch", record.score, outcome.score, at_score))
    if record.best_combo != outcome.best_combo:
        wrong.append(("combo_mismatch", record.best_combo, outcome.best_combo, at_combo))
    if not board_agrees:
        wrong.append(("board_mismatch", record.final_board, outcome.board, at_board))
    return [Reason(code, claim, found, at, None if at is None else token_at(log, at)) for code, claim, found, at in wrong]


def _unknown(record: Record, rulebook: Rulebook, rules: BlocksRules | None, challenge: Challenge | None) -> tuple[Reason, ...]:
    reasons = []
    if rules is None:
        known = ", ".join(rulebook.versions(record.game)) or "none"
        reasons.append(Reason("unknown_rules", record.rules, f"known of {record.game}: {known}", None))
    if challenge is None:
        reasons.append(Reason("unknown_challenge", record.challenge, f"not in the challenge table of {record.game}", None))
    return tuple(reasons)


def _impossible(record: Record, rules: BlocksRules) -> list[Reason]:
    """Claims that no log of this length can earn.  One reason for both numbers: ``claimed`` is the first that is beyond."""
    placements = count_tokens(record.game, record.moves) - record.moves.count(CONTINUE)
    most = rules.max_placement * placements
    beyond: list[tuple[int, str]] = []
    if record.score < 0:
        beyond.append((record.score, "score at least 0"))
    elif record.score > most:
        beyond.append((record.score, f"score at most {most} ({placements} placements x {rules.max_placement})"))
    if record.best_combo < 0:
        beyond.append((record.best_combo, "best_combo at least 0"))
    elif record.best_combo > rules.max_lines:
        beyond.append((record.best_combo, f"best_combo at most {rules.max_lines}"))
    if not beyond:
        return []
    return [Reason("impossible_score", beyond[0][0], "; ".join(bound for _, bound in beyond), None)]


def uncounted(record: Record, challenge: Challenge | None) -> tuple[str, ...]:
    """Why a game stays out of standings and attempts although nothing is wrong with it.

    ``mode`` and ``rules``: other than the challenge's own; ``undated``: the challenge is not named after a day.
    """
    if challenge is None:
        return ()
    why = {
        "mode": record.mode != challenge.mode,
        "rules": record.rules != challenge.rules,
        "undated": challenge.date is None,
    }
    return tuple(code for code, applies in why.items() if applies)


def challenge_span(day: date) -> tuple[int, int, int]:
    """(opens, closes, last upload) of a day's challenge in microseconds since 1970 UTC.

    A game may start from ``opens`` to before ``closes`` and be uploaded up to and including ``last upload``.
    """
    midnight = (day - _EPOCH.date()).days * DAY
    closes = midnight + DAY + 12 * HOUR
    return midnight - 14 * HOUR, closes, closes + 3 * DAY


def _out_of_bounds(record: Record, challenge: Challenge, why_uncounted: tuple[str, ...]) -> list[Reason]:
    """The limits of the daily challenge: number of attempts, opening hours, upload."""
    day = challenge.date
    if why_uncounted or day is None:
        return []
    reasons = []
    if record.attempt not in ATTEMPTS:
        reasons.append(Reason("attempt_limit", record.attempt, "attempts are 1, 2 and 3", None))
    opens, closes, last_upload = challenge_span(day)
    beyond: list[tuple[int, str]] = []
    if not opens <= record.started_at < closes:
        beyond.append((record.started_at, f"started_at from {time_text(opens)} to before {time_text(closes)}"))
    if record.uploaded_at > last_upload:
        beyond.append((record.uploaded_at, f"uploaded_at at most {time_text(last_upload)}"))
    if beyond:
        found = "; ".join(bound for _, bound in beyond)
        reasons.append(Reason("outside_challenge_day", time_text(beyond[0][0]), found, None))
    return reasons


def rules_that_agree(record: Record, rulebook: Rulebook, challenge: Challenge) -> list[str]:
    """The other known versions under which the log is legal and all three claims come out, oldest first."""
    agree = []
    for version in rulebook.versions(record.game):
        rules = rulebook.find(record.game, version)
        if version == record.rules or rules is None or record.mode not in rules.continues:
            continue
        try:
            deal = challenge.deal(rules)
        except ValueError:
            # The challenge cannot be dealt under that version, so it reproduces nothing.
            continue
        game = Game(rules, deal, log_bytes(record.moves), rules.continues[record.mode])
        outcome = game.run()
        same = (outcome.score, outcome.best_combo) == (record.score, record.best_combo)
        if outcome.fault is None and same and game.board_equals(record.final_board) == BOARD_EQUAL:
            agree.append(version)
    return agree


def missing_moves(game: Game, record: Record) -> list[str]:
    """The single placements of the hand that would make a fault-free log come out as claimed, slot by slot, row by row."""
    found = []
    for slot in range(3):
        for row in range(game.rules.height):
            for column in range(game.rules.width):
                written = token(slot, column, row)
                tried = after_token(game, written)
                if tried is None or (tried.st[k.ST_SCORE], tried.st[k.ST_BEST]) != (record.score, record.best_combo):
                    continue
                if tried.board_equals(record.final_board) == BOARD_EQUAL:
                    found.append(written)
    return found


def after_token(game: Game, written: str) -> Game | None:
    """A copy of the game with one more token played, or None when that token is not legal there."""
    tried = copy(game)
    tried.rows, tried.hand, tried.st = list(game.rows), list(game.hand), list(game.st)
    tried.log, tried.pos, tried.status = written.encode(), 0, APPLIED
    return tried if tried.step() == APPLIED else None


def too_fast(record: Record, tokens: int, settings: JudgeSettings) -> bool:
    """Whether a log that is long enough to judge was played quicker than people do."""
    micros = record.finished_at - record.started_at
    return tokens >= settings.pace_min_tokens and micros < settings.pace_min_ms_per_token * 1000 * tokens


def log_bytes(moves: str) -> bytes:
    """The log as the engines read it."""
    return moves.encode("utf-8", "surrogatepass")


def token_at(log: bytes, index: int) -> str | None:
    """The text of the token with this index from 0, or None past the end; what is no token is shown up to 12 bytes."""
    pos, end = 0, len(log)
    for _ in range(index):
        kind, _slot, _column, _row, pos = k.next_token(log, pos, end)
        if kind in (k.T_END, k.T_BAD):
            return None
    kind, _slot, _column, _row, after = k.next_token(log, pos, end)
    if kind == k.T_END:
        return None
    if kind == k.T_BAD:
        return (log[after : after + 12].split() or [b""])[0].decode("ascii", "backslashreplace")
    return log[pos:after].strip().decode("ascii")


def time_text(micros: int) -> str:
    """Microseconds since 1970 UTC as RFC 3339, in milliseconds unless that would lose something.

    A time beyond the calendar (a challenge of its first or last day has limits there) is shown as the calendar's end.
    """
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        moment = (datetime.max if micros > 0 else datetime.min).replace(tzinfo=UTC)
    unit = "microseconds" if micros % 1000 else "milliseconds"
    return moment.isoformat(timespec=unit).replace("+00:00", "Z")
