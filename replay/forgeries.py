"""What forgers do to the uploads of one day, and what a right verification must say about each: what games have in common.

Every forgery states its expected reasons from the rules themselves, with the interpreted engine where a replay is needed;
the verifier is never asked.  Reasons stand in the order of ``REASONS``.  What is particular to a game stands in
its own module: ``blocks_forgeries``, ``tetromino_forgeries``, ``tetcolor_forgeries``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import cycle

from engine.outcome import Outcome
from replay.challenges import ChallengeTable
from replay.games import kind_of
from replay.players import DAY, HOUR, MINUTE, SECOND, ChallengeDay, Upload
from replay.plays import play_of
from replay.rulebook import Rulebook
from replay.suspicion_kernel import F_CHOICES
from replay.suspicions import timing_of

REASONS = (
    "score_mismatch", "combo_mismatch", "board_mismatch", "level_mismatch", "lines_mismatch", "illegal_move", "impossible_score",
    "unknown_rules", "unknown_challenge", "attempt_limit", "duplicate_attempt", "outside_challenge_day", "conflicting_upload",
    "truncated_log",
)  # fmt: skip
# A shared log is a sign only from so many choices on (``replay.suspicions``); so many placements of a game may have been forced.
LONG_LOG, FORCED = 30, 10
# Places of a log that are tried before a forgery is given up.
TRIES = 20
_INPUT = re.compile(r"[0-9]*[a-z]")


class Forger:
    """Turns honest uploads of one day into forgeries.  ``uploads`` is the whole day, ``versions`` and names are looked up in
    the reference data so that an unknown one is unknown."""

    def __init__(
        self, rng: random.Random, day: ChallengeDay, uploads: list[Upload], challenges: ChallengeTable, rulebook: Rulebook
    ) -> None:
        self.rng, self.day, self.challenges, self.rulebook = rng, day, challenges, rulebook
        self.game = day.challenge.game
        self.play, self.variants = play_of(self.game), variants_of(self.game)
        self.free = [upload for upload in uploads if self._usable(upload)]
        rng.shuffle(self.free)
        self.first_attempts = {u.player.player_id: u for u in self.free if u.attempt == 1}
        self.taken: set[int] = set()

    def _usable(self, u: Upload) -> bool:
        """A finished honest game of a person in the day's own mode and rules, uploaded before the challenge closed."""
        return (
            u.kind == "honest" and u.own and u.over and u.challenge == self.day.challenge.challenge and u.tokens >= 12
            and u.player.kind == "human" and u.finished <= u.uploaded < self.day.closes
        )  # fmt: skip

    def forge(self, count: int) -> int:
        """Turn about ``count`` uploads into forgeries: the kinds in turn, and within a kind its variants in turn.

        How many lines were touched is returned: one more where the last forgery needs two, fewer when the day has no upload
        left that would do.
        """
        kinds = list(dict.fromkeys(variant.kind for variant in self.variants))
        self.rng.shuffle(kinds)
        turns = []
        for kind in kinds:
            variants = [variant for variant in self.variants if variant.kind == kind]
            self.rng.shuffle(variants)
            turns.append(cycle(variants))
        made = idle = 0
        for turn in cycle(turns):
            if made >= count or idle > len(self.variants) * len(turns):
                return made
            variant = next(turn)
            upload = self.take(variant.wants)
            touched = variant.make(self, upload) if upload else 0
            idle = 0 if touched else idle + 1
            made += touched
            if upload and touched:
                upload.kind, upload.variant, upload.verdict = variant.kind, variant.name, variant.verdict
                upload.reasons = sorted(upload.reasons, key=REASONS.index)
        return made

    def take(self, wants: Callable[[Forger, Upload], bool]) -> Upload | None:
        """The next upload that will do and was not used before; it counts as used from now on."""
        for index, upload in enumerate(self.free):
            if id(upload) not in self.taken and wants(self, upload):
                self.taken.add(id(upload))
                # What was passed over stays in front; what is taken must not be walked over again and again.
                del self.free[index]
                return upload
        return None

    def show_board(self, upload: Upload) -> None:
        """Write the board of an upload the way its client does."""
        upload.final_board = self.play.board_text(upload)


def anything(forger: Forger, upload: Upload) -> bool:
    """Every upload will do."""
    return True


def _first_of_a_player(forger: Forger, upload: Upload) -> bool:
    """A first attempt, of which a player has one: renumbered, it meets no other upload of the player."""
    return upload.attempt == 1


def _later_attempt(forger: Forger, upload: Upload) -> bool:
    """A second or third attempt whose first one is honest, uploaded and not otherwise used."""
    first = forger.first_attempts.get(upload.player.player_id)
    return upload.attempt > 1 and first is not None and id(first) not in forger.taken


# Other people's logs.


def _copied(forger: Forger, u: Upload, spaced: bool) -> int:
    """Upload another player's long log as one's own, later than that player did."""
    last = forger.day.closes - 3 * HOUR
    victim = forger.take(lambda f, v: is_long_log(v) and v.player != u.player and v.uploaded < last)
    if victim is None:
        return 0
    u.moves, u.tokens, u.score, u.best_combo, u.board = victim.moves, victim.tokens, victim.score, victim.best_combo, victim.board
    u.level, u.lines, u.unclaimed = victim.level, victim.lines, victim.unclaimed
    u.spaced = spaced
    forger.show_board(u)
    u.started = max(u.started, victim.uploaded + forger.rng.randrange(MINUTE, 30 * MINUTE))
    # The later of the two: what was planned for the forger, or the copied log at a usual pace.
    u.finished = max(u.finished, u.started + u.tokens * forger.rng.randrange(1500, 3000))
    u.uploaded = max(u.uploaded, u.finished + forger.rng.randrange(SECOND, MINUTE))
    u.suspicions = ["copied_log"]
    return 1


def is_long_log(upload: Upload) -> bool:
    """Whether a log holds so many choices that its like is no chance; of placements some near the end were the only ones."""
    if kind_of(upload.game).judges_pace:
        return upload.tokens >= LONG_LOG + FORCED
    return timing_of(upload.moves.encode("ascii"))[F_CHOICES] >= LONG_LOG


# Logs of games with a clock: inputs, a letter each, with the ticks before them.


def replayed(forger: Forger, moves: str) -> Outcome:
    """The log's outcome in the day's challenge, by the interpreted engine."""
    day = forger.day
    outcome: Outcome = kind_of(forger.game).new_game(day.rules, day.deal, moves.encode("utf-8"), day.challenge.mode).run()
    return outcome


def inputs_of(moves: str) -> tuple[list[str], str]:
    """The tokens of a log without white space, and the trailing time."""
    tokens = _INPUT.findall(moves)
    return tokens, moves[len("".join(tokens)) :]


def ends_with_a_drop(forger: Forger, upload: Upload) -> bool:
    """A log that a hard drop ends; without it one lock is missing."""
    return upload.moves.endswith("h")


def later_input(forger: Forger, u: Upload, ticks: tuple[int, int], mismatches: Callable[[Upload, Outcome], list[str]]) -> int:
    """Write a longer time before one input: the piece falls further or locks elsewhere, and the rest does not fit.

    ``ticks`` are the least that is added and the bound that it stays below; ``mismatches`` names, as reasons, the claims that
    are not the outcome's.
    """
    tokens, rest = inputs_of(u.moves)
    for _ in range(TRIES):
        where = forger.rng.randrange(2, len(tokens))
        waited = int(tokens[where][:-1] or 0) + forger.rng.randrange(*ticks)
        moves = "".join([*tokens[:where], f"{waited}{tokens[where][-1]}", *tokens[where + 1 :]]) + rest
        outcome = replayed(forger, moves)
        reasons = ["illegal_move"] if outcome.fault else mismatches(u, outcome)
        # Of a game that is not over something might be missing at the end: that would be another forgery.
        if reasons and (outcome.fault or outcome.finished):
            u.moves, u.reasons = moves, reasons
            return 1
    return 0


def changed_delays(mismatches: Callable[[Upload, Outcome], list[str]]) -> list[Variant]:
    """``later_input`` by a moment and by a while."""
    times = {"a_moment": (20, 60), "a_while": (300, 3000)}
    return variants(
        "changed_delay", {name: partial(later_input, ticks=ticks, mismatches=mismatches) for name, ticks in times.items()}
    )


# What is said about the game.


def _attempt(forger: Forger, u: Upload, number: int) -> int:
    u.attempt = number
    u.reasons = ["attempt_limit"]
    return 1


def _unknown_rules(forger: Forger, u: Upload) -> int:
    known = forger.rulebook.versions(forger.game)
    u.rules = forger.rng.choice([v for v in ("9.9.9", "2.0.0", "1.2", "1.2.0-rc1", "latest") if v not in known])
    u.reasons = ["unknown_rules"]
    return 1


def _unknown_challenge(forger: Forger, u: Upload) -> int:
    names = ("2031-01-01", "2026-02-30", "arena-nowhere", "today", f"{u.challenge}x")
    u.challenge = forger.rng.choice([name for name in names if forger.challenges.find(forger.game, name) is None])
    u.reasons = ["unknown_challenge"]
    return 1


def _duplicate_attempt(forger: Forger, u: Upload) -> int:
    first = _first_attempt(forger, u)
    u.attempt = first.attempt
    u.reasons = ["duplicate_attempt"]
    return 1


def _first_attempt(forger: Forger, u: Upload) -> Upload:
    """The same player's first attempt, which stays as it is because it was uploaded earlier."""
    first = forger.first_attempts[u.player.player_id]
    forger.taken.add(id(first))
    u.uploaded = max(u.uploaded, first.uploaded + forger.rng.randrange(SECOND, MINUTE))
    return first


def _conflict(forger: Forger, u: Upload) -> int:
    u.game_id = _first_attempt(forger, u).game_id
    u.reasons = ["conflicting_upload"]
    return 1


def _conflict_of_players(forger: Forger, u: Upload) -> int:
    """One game_id from two players: nobody can say whose it is, so both are held."""
    other = forger.take(lambda f, v: v.player != u.player)
    if other is None:
        return 0
    other.game_id = u.game_id
    other.kind, other.variant, other.verdict = "conflicting_upload", "two_players", "flagged"
    other.reasons, u.reasons = ["conflicting_upload"], ["conflicting_upload"]
    return 2


def _shift(u: Upload, started: int) -> None:
    u.finished += started - u.started
    u.uploaded += started - u.started
    u.started = started


def _too_early(forger: Forger, u: Upload) -> int:
    _shift(u, forger.day.opens - forger.rng.choice([1, MINUTE, HOUR, 20 * HOUR]))
    u.reasons = ["outside_challenge_day"]
    return 1


def _too_late(forger: Forger, u: Upload) -> int:
    # The span is half open: a game that starts as the challenge closes is outside.
    _shift(u, forger.day.closes + forger.rng.choice([0, MINUTE, HOUR, 20 * HOUR]))
    u.reasons = ["outside_challenge_day"]
    return 1


def _uploaded_too_late(forger: Forger, u: Upload) -> int:
    u.uploaded = forger.day.deadline + forger.rng.choice([1, MINUTE, HOUR, 5 * DAY])
    u.reasons = ["outside_challenge_day"]
    return 1


# Lines that are no records.


def replace_value(key: str, value: str, line: str) -> str:
    """The line with another JSON text as a field's value; every field of a line is written once."""
    out = re.sub(rf'"{key}":("[^"]*"|-?[0-9]+|null)', lambda _: f'"{key}":{value}', line, count=1)
    assert out != line, key
    return out


def without(key: str, line: str) -> str:
    """The line without a field."""
    return re.sub(rf'"{key}":("[^"]*"|-?[0-9]+|null),', "", line, count=1)


def raw_line(forger: Forger, u: Upload, change: Callable[[str], str]) -> int:
    """Make a malformed line out of the upload's own."""
    u.raw = change
    return 1


MALFORMED: dict[str, Callable[[str], str]] = {
    "number_as_text": partial(replace_value, "score", '"1200"'),
    "fraction": partial(replace_value, "score", "1200.0"),
    "exponent": partial(replace_value, "score", "1e3"),
    "truth_value": partial(replace_value, "best_combo", "true"),
    "not_a_number": partial(replace_value, "score", "NaN"),
    "beyond_64_bits": partial(replace_value, "score", "9223372036854775808"),
    "null_mode": partial(replace_value, "mode", "null"),
    "unknown_kind": partial(replace_value, "player_kind", '"Human"'),
    "unknown_nation": partial(replace_value, "nation", '"fr"'),
    "no_such_day": partial(replace_value, "started_at", '"2026-02-30T10:00:00.000Z"'),
    "finished_before_started": partial(replace_value, "finished_at", '"2020-01-01T00:00:00.000Z"'),
    "lone_surrogate": partial(replace_value, "player_id", '"p\\ud800"'),
    # Written as a byte that is no UTF-8 (surrogateescape).
    "not_utf8": partial(replace_value, "player_id", '"p\udce9"'),
    "missing_field": partial(without, "player_id"),
    "missing_log": partial(without, "moves"),
    "key_twice": lambda line: line[:-1] + ',"score":999999}',
    "text_after_object": lambda line: line + "TRAILER",
    "half_a_line": lambda line: line[: len(line) // 2],
    "array": lambda line: f"[{line}]",
}


def on_android(forger: Forger, upload: Upload) -> bool:
    """Malformed lines come from the clients of one platform, as broken builds do."""
    return upload.player.platform == "android"


# The list.


@dataclass(frozen=True)
class Variant:
    """One thing that forgers do.  ``make`` changes the upload, its expected reasons and suspicions, and returns the number of
    lines it touched, 0 when this upload would not do."""

    kind: str
    name: str
    make: Callable[[Forger, Upload], int]
    wants: Callable[[Forger, Upload], bool] = anything
    verdict: str = "flagged"


def variants(
    kind: str,
    makes: dict[str, Callable[[Forger, Upload], int]],
    wants: Callable[[Forger, Upload], bool] = anything,
    verdict: str = "flagged",
) -> list[Variant]:
    """Variants of one kind by name."""
    return [Variant(kind, name, make, wants, verdict) for name, make in makes.items()]


# Claims about names, attempts and times, as every game has them.
SHARED: Sequence[Variant] = (
    Variant("unknown_rules", "version", _unknown_rules),
    Variant("unknown_challenge", "name", _unknown_challenge),
    *variants("attempt_limit", {f"attempt_{n}": partial(_attempt, number=n) for n in (0, 4, 7)}, _first_of_a_player),
    Variant("duplicate_attempt", "another_log", _duplicate_attempt, _later_attempt),
    *variants("outside_challenge_day", {
        "too_early": _too_early, "too_late": _too_late, "uploaded_too_late": _uploaded_too_late,
    }),
    Variant("conflicting_upload", "same_player", _conflict, _later_attempt),
    Variant("conflicting_upload", "two_players", _conflict_of_players),
)  # fmt: skip
COPIED: Sequence[Variant] = tuple(variants("copied_log", {
    "same_text": partial(_copied, spaced=False), "spaced": partial(_copied, spaced=True),
}, verdict="verified"))  # fmt: skip


def malformed(changes: dict[str, Callable[[str], str]]) -> list[Variant]:
    """Lines that are no records."""
    return variants("malformed", {name: partial(raw_line, change=c) for name, c in changes.items()}, on_android, "quarantined")


def variants_of(game: str) -> Sequence[Variant]:
    """All that forgers do in a game."""
    found: Sequence[Variant] = import_module(f"replay.{game}_forgeries").VARIANTS
    return found
