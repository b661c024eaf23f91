"""What forgers do to uploads of the block puzzle, beside what they do in every game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.blocks import notation
from engine.blocks.rules import BlocksRules
from engine.blocks.single import Game
from replay.bots import board_text
from replay.forgeries import COPIED, MALFORMED, SHARED, TRIES, Forger, Variant, malformed, variants
from replay.players import MINUTE, SECOND, Upload


def placements(moves: str) -> int:
    """How many placements a log names: its column letters."""
    return sum(moves.count(letter) for letter in "abcdefghijk")


def is_impossible(rules: BlocksRules, upload: Upload) -> bool:
    """Whether the claims are beyond what any game could yield: points, or lines at once, beyond the rules' largest."""
    bound = rules.max_placement * placements(upload.moves)
    return not (0 <= upload.score <= bound and 0 <= upload.best_combo <= rules.max_lines)


def game_at(forger: Forger, upload: Upload, tokens: int) -> Game:
    """The interpreted game after the first ``tokens`` placements of an honest log."""
    log = upload.moves[: 3 * tokens].encode("ascii")
    game = Game(forger.day.rules, forger.day.deal, log, forger.day.challenge.mode)
    game.run()
    return game


# Claims.


def _claim_score(forger: Forger, u: Upload, change: Callable[[Forger, Upload], int]) -> int:
    u.score = change(forger, u)
    u.reasons = ["score_mismatch"]
    if is_impossible(forger.day.rules, u):
        u.reasons.append("impossible_score")
    return 1


def _bound(forger: Forger, u: Upload) -> int:
    rules: BlocksRules = forger.day.rules
    return rules.max_placement * placements(u.moves)


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
    for _ in range(TRIES):
        at = forger.rng.randrange(3, u.tokens - 1)
        # After a row 1 the digit of a broken token could be read as row 10 or 11, and the fault would come one token early.
        if u.moves[3 * at - 1] == "1":
            continue
        text = token(forger, game_at(forger, u, at))
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
    replayed = game_at(forger, u, u.tokens).outcome()
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


def _hurried(forger: Forger, u: Upload, ms_a_move: int) -> int:
    """The whole game in no time, or faster than hands are; the threshold is 200 ms a token."""
    u.finished = u.started + ms_a_move * u.tokens
    u.uploaded = u.finished + forger.rng.randrange(SECOND, MINUTE)
    u.suspicions = ["superhuman_pace"]
    return 1


def _score(change: Callable[[Forger, Upload], int]) -> Callable[[Forger, Upload], int]:
    return partial(_claim_score, change=change)


VARIANTS: Sequence[Variant] = (
    *variants("score_mismatch", {
        "raised": _score(lambda f, u: u.score + 4 * f.rng.randrange(1, 200)),
        "doubled": _score(lambda f, u: 2 * u.score),
        "lowered": _score(lambda f, u: u.score // 2),
    }),
    Variant(
        "combo_mismatch", "raised", partial(_claim_combo, change=lambda best: best + 1),
        lambda f, u: u.best_combo < f.day.rules.max_lines,
    ),
    Variant("combo_mismatch", "lowered", partial(_claim_combo, change=lambda best: best - 1), lambda f, u: u.best_combo > 0),
    *variants("board_mismatch", {"one_cell": _claim_board, "unreadable": _unreadable_board}),
    *variants("illegal_move", {
        "overlap": partial(_illegal, token=_overlapping),
        "outside_board": partial(_illegal, token=_outside),
        "no_such_slot": partial(_illegal, token=_no_slot),
        "bad_token": partial(_illegal, token=_bad_token),
        "continue_not_allowed": partial(_illegal, token=_continue, insert=True),
        "after_end": _after_end,
        "overlap_and_score": _illegal_and_impossible,
    }),
    *variants("impossible_score", {
        "beyond_bound": _score(lambda f, u: _bound(f, u) + 1),
        "beyond_31_bits": _score(lambda f, u: 1 << 31),
        "largest_integer": _score(lambda f, u: (1 << 63) - 1),
        "negative": _score(lambda f, u: -f.rng.randrange(1, 10_000)),
        "combo_9": partial(_claim_combo, change=lambda best: 9),
        "empty_log": _empty_log,
    }),
    *SHARED,
    Variant("truncated_log", "last_move", _truncated),
    *COPIED,
    *variants("superhuman_pace", {
        "instant": partial(_hurried, ms_a_move=0), "fast": partial(_hurried, ms_a_move=90),
        "just_below": partial(_hurried, ms_a_move=199),
    }, verdict="verified"),
    *malformed(MALFORMED),
)  # fmt: skip
