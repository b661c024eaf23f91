"""What forgers do to the uploads of one day, and what a right verification must say about each.

Every forgery states its expected reasons from the rules themselves, with the interpreted engine where a replay is needed;
the verifier is never asked.  Reasons stand in the order of ``REASONS``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle

from engine.blocks import notation
from engine.blocks.rules import BlocksRules
from engine.blocks.single import Game
from replay.bots import DAY, HOUR, MINUTE, PADDED, SECOND, ChallengeDay, Upload, board_text
from replay.challenges import ChallengeTable
from replay.rulebook import Rulebook

REASONS = (
    "score_mismatch", "combo_mismatch", "board_mismatch", "illegal_move", "impossible_score", "unknown_rules",
    "unknown_challenge", "attempt_limit", "duplicate_attempt", "outside_challenge_day", "conflicting_upload", "truncated_log",
)  # fmt: skip
# A shared log is a sign only from this length on (rules/common, and the reading of "long").
LONG_LOG = 30


def placements(moves: str) -> int:
    """How many placements a log names: its column letters."""
    return sum(moves.count(letter) for letter in "abcdefghijk")


def is_impossible(rules: BlocksRules, upload: Upload) -> bool:
    """Whether the claims are beyond what any game could yield: points, or lines at once, beyond the rules' largest."""
    bound = rules.max_placement * placements(upload.moves)
    return not (0 <= upload.score <= bound and 0 <= upload.best_combo <= rules.max_lines)


class Forger:
    """Turns honest uploads of one day into forgeries.  ``uploads`` is the whole day, ``versions`` and names are looked up in
    the reference data so that an unknown one is unknown."""

    def __init__(
        self, rng: random.Random, day: ChallengeDay, uploads: list[Upload], challenges: ChallengeTable, rulebook: Rulebook
    ) -> None:
        self.rng, self.day, self.challenges, self.rulebook = rng, day, challenges, rulebook
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
        kinds = list(KINDS)
        self.rng.shuffle(kinds)
        turns = []
        for kind in kinds:
            variants = [variant for variant in VARIANTS if variant.kind == kind]
            self.rng.shuffle(variants)
            turns.append(cycle(variants))
        made = idle = 0
        for turn in cycle(turns):
            if made >= count or idle > len(VARIANTS) * len(turns):
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
        upload.final_board = board_text(upload.board, upload.player.app_version == PADDED)

    def game_at(self, upload: Upload, tokens: int) -> Game:
        """The interpreted game after the first ``tokens`` placements of an honest log."""
        log = upload.moves[: 3 * tokens].encode("ascii")
        game = Game(self.day.rules, self.day.deal, log, 0)
        game.run()
        return game


def _anything(forger: Forger, upload: Upload) -> bool:
    return True


def _first_of_a_player(forger: Forger, upload: Upload) -> bool:
    """A first attempt, of which a player has one: renumbered, it meets no other upload of the player."""
    return upload.attempt == 1


def _later_attempt(forger: Forger, upload: Upload) -> bool:
    """A second or third attempt whose first one is honest, uploaded and not otherwise used."""
    first = forger.first_attempts.get(upload.player.player_id)
    return upload.attempt > 1 and first is not None and id(first) not in forger.taken


# Claims.


def _claim_score(forger: Forger, u: Upload, change: Callable[[Forger, Upload], int]) -> int:
    u.score = change(forger, u)
    u.reasons = ["score_mismatch"]
    if is_impossible(forger.day.rules, u):
        u.reasons.append("impossible_score")
    return 1


def _bound(forger: Forger, u: Upload) -> int:
    return forger.day.rules.max_placement * placements(u.moves)


def _empty_log(forger: Forger, u: Upload) -> int:
    u.moves, u.tokens, u.board, u.best_combo, u.final_board = "", 0, 0, 0, "-"
    return _claim_score(forger, u, lambda f, u: 50_000)


def _claim_combo(forger: Forger, u: Upload, change: Callable[[int], int]) -> int:
    u.best_combo = change(u.best_combo)
    u.reasons = ["combo_mismatch"]
    if is_impossible(forger.day.rules, u):
        u.reasons.append("impossible_score")
    return 1


def _claim_board(forger: Forger, u: Upload) -> int:
    u.board ^= 1 << forger.rng.randrange(64)
    forger.show_board(u)
    u.reasons = ["board_mismatch"]
    return 1


def _unreadable_board(forger: Forger, u: Upload) -> int:
    u.final_board = forger.rng.choice(["########9", "#7/#8", "", "??", "8/8/8/8/8/8/8/8/8"])
    u.reasons = ["board_mismatch"]
    return 1


# Logs.


def _illegal(forger: Forger, u: Upload, token: Callable[[Forger, Game], str | None], insert: bool = False) -> int:
    """Replace (or insert before) one token of the log; what follows is never reached, so the claims are not compared."""
    for _ in range(20):
        at = forger.rng.randrange(3, u.tokens - 1)
        # After a row 1 the digit of a broken token could be read as row 10 or 11, and the fault would come one token early.
        if u.moves[3 * at - 1] == "1":
            continue
        text = token(forger, forger.game_at(u, at))
        if text is not None:
            u.moves = u.moves[: 3 * at] + text + u.moves[3 * (at + (not insert)) :]
            u.spaced = False
            u.reasons = ["illegal_move"]
            return 1
    return 0


def _overlapping(forger: Forger, game: Game) -> str | None:
    rules = game.rules
    slot = forger.rng.randrange(3)
    shape = rules.shapes[game.hand[slot]]
    hits = [
        (column, row)
        for row in range(rules.height - shape.height + 1)
        for column in range(rules.width - shape.width + 1)
        if any(game.rows[row + r] & mask << column for r, mask in enumerate(shape.rows))
    ]
    return notation.token(slot, *forger.rng.choice(hits)) if hits else None


def _outside(forger: Forger, game: Game) -> str:
    slot = forger.rng.randrange(3)
    return notation.token(slot, game.rules.width - game.rules.shapes[game.hand[slot]].width + 1, 0)


def _no_slot(forger: Forger, game: Game) -> str:
    return forger.rng.choice("0456789") + "a1"


def _bad_token(forger: Forger, game: Game) -> str:
    return forger.rng.choice(["1z9", "?", "1A3", "2a0", "\u2603", "-1", "a1"])


def _continue(forger: Forger, game: Game) -> str:
    return notation.CONTINUE


def _after_end(forger: Forger, u: Upload) -> int:
    u.moves += notation.token(forger.rng.randrange(3), forger.rng.randrange(8), forger.rng.randrange(8))
    u.tokens += 1
    u.reasons = ["illegal_move"]
    return 1


def _illegal_and_impossible(forger: Forger, u: Upload) -> int:
    if not _illegal(forger, u, _overlapping):
        return 0
    u.score = _bound(forger, u) + 1 + forger.rng.randrange(1_000_000)
    u.reasons = ["illegal_move", "impossible_score"]
    return 1


def _truncated(forger: Forger, u: Upload) -> int:
    u.moves, u.tokens = u.moves[:-3], u.tokens - 1
    replayed = forger.game_at(u, u.tokens).outcome()
    u.reasons = ["truncated_log"]
    differs = {
        "score_mismatch": replayed.score != u.score,
        "combo_mismatch": replayed.best_combo != u.best_combo,
        "board_mismatch": replayed.board != board_text(u.board),
    }
    u.reasons += [reason for reason, there in differs.items() if there]
    if is_impossible(forger.day.rules, u):
        u.reasons.append("impossible_score")
    return 1


def _copied(forger: Forger, u: Upload, spaced: bool) -> int:
    """Upload another player's long log as one's own, later than that player did."""
    last = forger.day.closes - 3 * HOUR
    victim = forger.take(lambda f, v: v.tokens >= LONG_LOG and v.player != u.player and v.uploaded < last)
    if victim is None:
        return 0
    u.moves, u.tokens, u.score, u.best_combo, u.board = victim.moves, victim.tokens, victim.score, victim.best_combo, victim.board
    u.spaced = spaced
    forger.show_board(u)
    u.started = max(u.started, victim.uploaded + forger.rng.randrange(MINUTE, 30 * MINUTE))
    # The later of the two: what was planned for the forger, or the copied log at a usual pace.
    u.finished = max(u.finished, u.started + u.tokens * forger.rng.randrange(1500, 3000))
    u.uploaded = max(u.uploaded, u.finished + forger.rng.randrange(SECOND, MINUTE))
    u.suspicions = ["copied_log"]
    return 1


def _hurried(forger: Forger, u: Upload, ms_a_move: int) -> int:
    """The whole game in no time, or faster than hands are; the threshold is 200 ms a token."""
    u.finished = u.started + ms_a_move * u.tokens
    u.uploaded = u.finished + forger.rng.randrange(SECOND, MINUTE)
    u.suspicions = ["superhuman_pace"]
    return 1


# What is said about the game.


def _attempt(forger: Forger, u: Upload, number: int) -> int:
    u.attempt = number
    u.reasons = ["attempt_limit"]
    return 1


def _unknown_rules(forger: Forger, u: Upload) -> int:
    known = forger.rulebook.versions("blocks")
    u.rules = forger.rng.choice([v for v in ("9.9.9", "2.0.0", "1.2", "1.2.0-rc1", "latest") if v not in known])
    u.reasons = ["unknown_rules"]
    return 1


def _unknown_challenge(forger: Forger, u: Upload) -> int:
    names = ("2031-01-01", "2026-02-30", "arena-nowhere", "today", f"{u.challenge}x")
    u.challenge = forger.rng.choice([name for name in names if forger.challenges.find("blocks", name) is None])
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


def _replace(key: str, value: str, line: str) -> str:
    """The line with another JSON text as a field's value; every field of a line is written once."""
    out = re.sub(rf'"{key}":("[^"]*"|-?[0-9]+|null)', lambda _: f'"{key}":{value}', line, count=1)
    assert out != line, key
    return out


def _without(key: str, line: str) -> str:
    return re.sub(rf'"{key}":("[^"]*"|-?[0-9]+|null),', "", line, count=1)


def _raw(forger: Forger, u: Upload, change: Callable[[str], str]) -> int:
    u.raw = change
    return 1


MALFORMED: dict[str, Callable[[str], str]] = {
    "number_as_text": partial(_replace, "score", '"1200"'),
    "fraction": partial(_replace, "score", "1200.0"),
    "exponent": partial(_replace, "score", "1e3"),
    "truth_value": partial(_replace, "best_combo", "true"),
    "not_a_number": partial(_replace, "score", "NaN"),
    "beyond_64_bits": partial(_replace, "score", "9223372036854775808"),
    "null_mode": partial(_replace, "mode", "null"),
    "unknown_kind": partial(_replace, "player_kind", '"Human"'),
    "unknown_nation": partial(_replace, "nation", '"fr"'),
    "no_such_day": partial(_replace, "started_at", '"2026-02-30T10:00:00.000Z"'),
    "finished_before_started": partial(_replace, "finished_at", '"2020-01-01T00:00:00.000Z"'),
    "lone_surrogate": partial(_replace, "player_id", '"p\\ud800"'),
    # Written as a byte that is no UTF-8 (surrogateescape).
    "not_utf8": partial(_replace, "player_id", '"p\udce9"'),
    "missing_field": partial(_without, "player_id"),
    "missing_log": partial(_without, "moves"),
    "key_twice": lambda line: line[:-1] + ',"score":999999}',
    "text_after_object": lambda line: line + "TRAILER",
    "half_a_line": lambda line: line[: len(line) // 2],
    "array": lambda line: f"[{line}]",
}


def _on_android(forger: Forger, upload: Upload) -> bool:
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
    wants: Callable[[Forger, Upload], bool] = _anything
    verdict: str = "flagged"


def _variants(
    kind: str,
    makes: dict[str, Callable[[Forger, Upload], int]],
    wants: Callable[[Forger, Upload], bool] = _anything,
    verdict: str = "flagged",
) -> list[Variant]:
    return [Variant(kind, name, make, wants, verdict) for name, make in makes.items()]


def _score(change: Callable[[Forger, Upload], int]) -> Callable[[Forger, Upload], int]:
    return partial(_claim_score, change=change)


VARIANTS: Sequence[Variant] = (
    *_variants("score_mismatch", {
        "raised": _score(lambda f, u: u.score + 4 * f.rng.randrange(1, 200)),
        "doubled": _score(lambda f, u: 2 * u.score),
        "lowered": _score(lambda f, u: u.score // 2),
    }),
    Variant(
        "combo_mismatch", "raised", partial(_claim_combo, change=lambda best: best + 1),
        lambda f, u: u.best_combo < f.day.rules.max_lines,
    ),
    Variant("combo_mismatch", "lowered", partial(_claim_combo, change=lambda best: best - 1), lambda f, u: u.best_combo > 0),
    *_variants("board_mismatch", {"one_cell": _claim_board, "unreadable": _unreadable_board}),
    *_variants("illegal_move", {
        "overlap": partial(_illegal, token=_overlapping),
        "outside_board": partial(_illegal, token=_outside),
        "no_such_slot": partial(_illegal, token=_no_slot),
        "bad_token": partial(_illegal, token=_bad_token),
        "continue_not_allowed": partial(_illegal, token=_continue, insert=True),
        "after_end": _after_end,
        "overlap_and_score": _illegal_and_impossible,
    }),
    *_variants("impossible_score", {
        "beyond_bound": _score(lambda f, u: _bound(f, u) + 1),
        "beyond_31_bits": _score(lambda f, u: 1 << 31),
        "largest_integer": _score(lambda f, u: (1 << 63) - 1),
        "negative": _score(lambda f, u: -f.rng.randrange(1, 10_000)),
        "combo_9": partial(_claim_combo, change=lambda best: 9),
        "empty_log": _empty_log,
    }),
    Variant("unknown_rules", "version", _unknown_rules),
    Variant("unknown_challenge", "name", _unknown_challenge),
    *_variants("attempt_limit", {f"attempt_{n}": partial(_attempt, number=n) for n in (0, 4, 7)}, _first_of_a_player),
    Variant("duplicate_attempt", "another_log", _duplicate_attempt, _later_attempt),
    *_variants("outside_challenge_day", {
        "too_early": _too_early, "too_late": _too_late, "uploaded_too_late": _uploaded_too_late,
    }),
    Variant("conflicting_upload", "same_player", _conflict, _later_attempt),
    Variant("conflicting_upload", "two_players", _conflict_of_players),
    Variant("truncated_log", "last_move", _truncated),
    *_variants("copied_log", {
        "same_text": partial(_copied, spaced=False), "spaced": partial(_copied, spaced=True),
    }, verdict="verified"),
    *_variants("superhuman_pace", {
        "instant": partial(_hurried, ms_a_move=0), "fast": partial(_hurried, ms_a_move=90),
        "just_below": partial(_hurried, ms_a_move=199),
    }, verdict="verified"),
    *_variants("malformed", {name: partial(_raw, change=c) for name, c in MALFORMED.items()}, _on_android, "quarantined"),
)  # fmt: skip
KINDS = tuple(dict.fromkeys(variant.kind for variant in VARIANTS))
