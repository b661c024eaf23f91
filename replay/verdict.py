"""Verdicts: what one uploaded game says about itself when it is replayed by the interpreted engine.

Imports neither numba, numpy, duckdb nor anything that draws, so that one disputed game opens at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engine.outcome import BOARD_EQUAL, Fault, Outcome
from replay.errors import MalformedRecord
from replay.games import kind_of
from replay.games.kind import Bound, Play
from replay.record import OPTIONAL_FIELDS, Record, count_tokens, shown
from replay.suspicions import NO_SIGNS, Signs, hand_signs

if TYPE_CHECKING:
    from replay.challenges import Challenge, ChallengeTable
    from replay.games.kind import Rules
    from replay.rulebook import Rulebook

VERDICTS = ("verified", "flagged", "withheld", "copy", "quarantined")
REASON_CODES = (
    "score_mismatch", "combo_mismatch", "board_mismatch", "level_mismatch", "lines_mismatch", "illegal_move", "impossible_score",
    "unknown_rules", "unknown_challenge", "attempt_limit", "duplicate_attempt", "outside_challenge_day", "conflicting_upload",
    "truncated_log",
)  # fmt: skip
# Reasons whose text names what the machine knows besides the game.
UNKNOWN_REASONS = ("unknown_rules", "unknown_challenge")
# The claimed numbers, in the order of their reasons; level and lines are claimed in some games only, and there if they like.
NUMBER_CLAIMS = {
    "score": "score_mismatch", "best_combo": "combo_mismatch", "level": "level_mismatch", "lines": "lines_mismatch",
}  # fmt: skip
# The reason of a quarantined game: the challenge cannot be played as it is listed, which no player answers for.
CHALLENGE_CODE = "challenge"
SUSPICION_CODES = ("copied_log", "superhuman_pace", "machine_timing", "clock_ratio", "unfinished")

# A line for every change after which the same records may give other verdict rows; the last one's number is the version.
PROCESSING_HISTORY = (
    (1, "first verdicts of the block puzzle"),
    (2, "several games: columns of claimed and replayed level and lines, games of tetromino and tetcolor are replayed"),
    (3, "suspicions with their numbers: keys of logs with a clock without its times; columns of choices, ticks, pauses"),
    (4, "flags of a group of games in which far more are flagged than ever before are withheld: a fifth verdict"),
    (5, "a log that lacks its last input is told also where time locked pieces before that input"),
    (6, "uploads whose claims come out are one game however the board is written and whether level and lines are claimed"),
    (7, "what is held back counts on where the same game counted, whichever of its retries came in first"),
    (8, "a text longer than any that a phone sends is malformed: 1,024 bytes, 16 KiB of a final board"),
)
PROCESSING_VERSION = PROCESSING_HISTORY[-1][0]

ATTEMPTS = (1, 2, 3)
HOUR = 3_600_000_000
DAY = 24 * HOUR
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class JudgeSettings:
    """Limits of the suspicions; ``replay.suspicions`` says where they come from and how often they are wrong.

    A log of fewer tokens, choices or gaps than a ``*_min_tokens``, ``*_choices`` or ``*_gaps`` is no evidence of anything.
    Games without a clock of their own quicker than ``pace_min_ms_per_token`` milliseconds a token, and games with one of fewer
    than ``pace_min_ticks_per_choice`` ticks a choice, are ``superhuman_pace``; where ``even_percent`` of the gaps between inputs
    are the same it is ``machine_timing``.  ``clock_*_percent`` are of the usual wall time of a game's ticks: faster, or slower in
    ``clock_slow_games`` of a player's games of a day, is ``clock_ratio``.
    """

    pace_min_tokens: int = 10
    pace_min_ms_per_token: int = 200
    copied_min_choices: int = 30
    pace_min_choices: int = 30
    pace_min_ticks_per_choice: int = 4
    even_min_gaps: int = 60
    even_percent: int = 90
    clock_min_seconds: int = 30
    clock_fast_percent: int = 90
    clock_slow_percent: int = 150
    clock_slow_games: int = 3


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

    ``claimed`` and ``replayed`` are {score, best_combo, board, moves, finished}, and {level, lines} in a game that has them (None
    where they were not claimed); ``replayed`` is None when nothing could be replayed.  ``uncounted`` says why even a verified
    game stays out of the standings (see ``uncounted``), () if it does not; ``review`` is ``cleared`` when people decided that a
    flagged game counts, ``upheld`` when they decided that a game does not, else "".  They, ``mode`` and ``game`` are for people
    and not in the JSON.
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
    game: str = ""
    review: str = ""

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
    if rules is not None and not rules.has_mode(record.mode):
        raise MalformedRecord(
            "wrong_value",
            f"game {shown(record.game_id)}: mode {shown(record.mode)} is none of rules {rules.version}, it must be one of "
            f"{kind_of(record.game).mode_words(rules)}",
        )
    tokens = count_tokens(record.game, record.moves)
    # Without any rules file nobody knows how quickly the game may be played.
    signs, numbers = _signs(record, tokens, settings) if rulebook.versions(record.game) else NO_SIGNS
    verdict = Verdict(
        game_id=record.game_id, verdict="verified", reasons=(), suspicions=signs, evidence=dict(sorted(numbers.items())) or None,
        claimed={
            "score": record.score, "best_combo": record.best_combo, "board": record.final_board, "moves": tokens,
            "finished": None, **{name: getattr(record, name) for name in OPTIONAL_FIELDS.get(record.game, ())},
        },
        replayed=None, fault=None, rules=record.rules, challenge=record.challenge, mode=record.mode,
        uncounted=uncounted(record, challenge), game=record.game,
    )  # fmt: skip
    if rules is None or challenge is None:
        return replace(verdict, verdict="flagged", reasons=_unknown(record, rulebook, rules, challenge))
    try:
        deal = challenge.deal(rules, record.mode)
    except ValueError as error:
        return _quarantined(verdict, Reason(CHALLENGE_CODE, record.rules, str(error), None))
    return _judge_replay(verdict, record, rules, challenge, deal, rulebook)


def _judge_replay(verdict: Verdict, record: Record, rules: Rules, challenge: Challenge, deal: Any, rulebook: Rulebook) -> Verdict:
    log, kind = log_bytes(record.moves), kind_of(record.game)
    play = kind.play_through(rules, deal, log, record.mode)
    outcome = play.outcome
    verdict = replace(verdict, replayed=_outcome_json(outcome, record.game), fault=outcome.fault)
    if outcome.fault is not None and outcome.fault.kind == "deal_exhausted":
        at = outcome.fault.move
        written = kind.token_at(log, at)
        return _quarantined(verdict, Reason(CHALLENGE_CODE, written, kind.exhausted_words(deal), at, written))
    evidence = dict(verdict.evidence or {})
    if outcome.fault is not None:
        written = kind.token_at(log, outcome.fault.move)
        found = f"{outcome.fault.kind}: {outcome.fault.text}"
        wrong = [Reason("illegal_move", written, found, outcome.fault.move, written)]
    else:
        wrong = _mismatches(record, play, log)
        missing = kind.missing_moves(play.game, record) if wrong and not outcome.finished else []
        if missing:
            wrong.append(Reason("truncated_log", outcome.moves + 1, outcome.moves, outcome.moves))
            evidence["missing_moves"] = missing
    if wrong:
        agree = rules_that_agree(record, rulebook, challenge)
        if agree:
            evidence["rules_that_agree"] = agree
    beyond = _impossible(record, kind.bounds(rules, deal, log, record.mode))
    reasons = in_order([*wrong, *beyond, *_out_of_bounds(record, challenge, verdict.uncounted)])
    unfinished = ("unfinished",) if not wrong and not outcome.finished else ()
    return replace(
        verdict, verdict="flagged" if reasons else "verified", reasons=reasons, evidence=dict(sorted(evidence.items())) or None,
        suspicions=(*verdict.suspicions, *unfinished),
    )  # fmt: skip


def _quarantined(verdict: Verdict, reason: Reason) -> Verdict:
    # Nothing is said about the player: not even the softer signs.
    return replace(verdict, verdict="quarantined", reasons=(reason,), suspicions=(), evidence=None)


def _outcome_json(outcome: Outcome, game: str) -> dict[str, Any]:
    return {
        "score": outcome.score, "best_combo": outcome.best_combo, "board": outcome.board, "moves": outcome.moves,
        "finished": outcome.finished, **{name: getattr(outcome, name) for name in OPTIONAL_FIELDS.get(game, ())},
    }  # fmt: skip


def first_disagreement(claim: int, final: int, running: Sequence[int], reach: Sequence[int]) -> int | None:
    """The first token from which a claimed number cannot agree with a fault-free replay that ends at ``final``; None if it does.

    ``running`` are the number's values after each token, which never fall, and ``reach`` the largest that it can still come to
    from there.  They part after the first token that leaves the number above the claim, or so far below it that nothing that is
    left could make it up; at the last one when only the end tells.  No token can be named in an empty log: None.
    """
    if claim == final or not running:
        return None
    beyond = (at for at, (value, most) in enumerate(zip(running, reach, strict=True)) if value > claim or most < claim)
    return next(beyond, len(running) - 1)


def _mismatches(record: Record, play: Play, log: bytes) -> list[Reason]:
    """Each claim checked on its own; the board by the cells that it means."""
    wrong: list[tuple[str, int | str, int | str, int | None]] = []
    for name, code in NUMBER_CLAIMS.items():
        claim, final = getattr(record, name), getattr(play.outcome, name)
        # A level or a number of lines that nobody claimed cannot be wrong.
        if claim is not None and claim != final:
            at = first_disagreement(claim, final, play.running[name], play.reach[name])
            wrong.append((code, claim, final, at))
    if play.game.board_equals(record.final_board) != BOARD_EQUAL:
        # Nothing earlier was claimed than how it ended.
        at = play.outcome.moves - 1 if play.outcome.moves else None
        wrong.append(("board_mismatch", record.final_board, play.outcome.board, at))
    token_at = kind_of(record.game).token_at
    return [Reason(code, claim, found, at, None if at is None else token_at(log, at)) for code, claim, found, at in wrong]


def _unknown(record: Record, rulebook: Rulebook, rules: Rules | None, challenge: Challenge | None) -> tuple[Reason, ...]:
    reasons = []
    if rules is None:
        known = ", ".join(rulebook.versions(record.game)) or "none"
        reasons.append(Reason("unknown_rules", record.rules, f"known of {record.game}: {known}", None))
    if challenge is None:
        reasons.append(Reason("unknown_challenge", record.challenge, f"not in the challenge table of {record.game}", None))
    return tuple(reasons)


def _impossible(record: Record, bounds: dict[str, Bound]) -> list[Reason]:
    """Claims that no log of these tokens can earn.  One reason for all numbers: ``claimed`` is the first that is beyond."""
    beyond: list[tuple[int, str]] = []
    for name, bound in bounds.items():
        claim = getattr(record, name)
        if claim is None:
            continue
        if claim < bound.least:
            beyond.append((claim, f"{name} at least {bound.least}"))
        elif claim > bound.most:
            beyond.append((claim, f"{name} at most {bound.most}" + (f" ({bound.why})" if bound.why else "")))
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
    """The other known versions under which the log is legal and all claims come out, oldest first."""
    agree, kind = [], kind_of(record.game)
    for version in rulebook.versions(record.game):
        rules = rulebook.find(record.game, version)
        if version == record.rules or rules is None or not rules.has_mode(record.mode):
            continue
        try:
            deal = challenge.deal(rules, record.mode)
        except ValueError:
            # The challenge cannot be dealt under that version, so it reproduces nothing.
            continue
        game = kind.new_game(rules, deal, log_bytes(record.moves), record.mode)
        outcome = game.run()
        same = all(getattr(record, name) in (None, getattr(outcome, name)) for name in NUMBER_CLAIMS)
        if outcome.fault is None and same and game.board_equals(record.final_board) == BOARD_EQUAL:
            agree.append(version)
    return agree


def _signs(record: Record, tokens: int, settings: JudgeSettings) -> Signs:
    micros, human = record.finished_at - record.started_at, record.player_kind == "human"
    return hand_signs(kind_of(record.game).judges_pace, human, tokens, micros, log_bytes(record.moves), settings)


def log_bytes(moves: str) -> bytes:
    """The log as the engines read it."""
    return moves.encode("utf-8", "surrogatepass")


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
