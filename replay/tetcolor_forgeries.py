"""What forgers do to uploads of Tetcolor, beside what they do in every game.

Expected reasons come from the interpreted engine and from the rules.  Claims that are meant to be impossible lie beyond what a
generous count of the log's inputs and ticks allows, all others far within it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

from engine.outcome import Outcome
from engine.tetcolor import layout as at
from engine.tetcolor.notation import board_text
from engine.tetcolor.rules import COLOURS, TetcolorRules
from engine.tetcolor.rules import VARIANTS as WITH_OR_WITHOUT_SPECIALS
from engine.tetcolor.single import Game
from replay.forgeries import (
    COPIED,
    MALFORMED,
    SHARED,
    Forger,
    Variant,
    changed_delays,
    ends_with_a_drop,
    inputs_of,
    malformed,
    replayed,
    variants,
)
from replay.players import Upload
from replay.plays import ticks_of

# More blocks than a piece or a handicap has, more than a pass can pay a block, and the highest multiplier, doubled.
PIECE_BLOCKS, START_BLOCKS, MOST_A_BLOCK, LARGEST_TIMES = 5, 100, 300, 1 << 37
LARGEST = (1 << 63) - 1
# Ways to write no token; some of them are good JSON and good Unicode, and none is good notation.
NO_TOKENS = ("?", "H", "c", "-1h", "1.5l", "1234567890h", "12 3x", "\u2603", "+h", "0b1h")
# Modes that have a meaning only at first sight, beside those that ``no_modes`` puts together.
NO_MODES = ("duo", "duo/arcade", "duo/arcade/relax", "duo/arcade/relax0", "Duo/arcade/normal", "duo/arcade/normal/", "daily", "")


def no_modes(rules: TetcolorRules) -> list[str]:
    """Selections that do not exist: families without a style, presets beyond the last, and what is no selection."""
    families, last = [family.name for family in rules.families], len(rules.relax)
    styles = ("crazy", f"relax{last + 1}", "hard", "handicap")
    tried = ["/".join(parts) for parts in product(families, (*WITH_OR_WITHOUT_SPECIALS, "retro"), styles)]
    return [mode for mode in (*tried, *NO_MODES) if mode not in rules.params]


def most_points(upload: Upload) -> int:
    """More points than any such log can earn: a piece for each input and each tick, all its blocks at the highest multiplier."""
    pieces = sum(letter.isalpha() for letter in upload.moves) + ticks_of(upload.moves) + 1
    return min(LARGEST, (pieces * PIECE_BLOCKS + START_BLOCKS) * MOST_A_BLOCK * LARGEST_TIMES)


def most_passes(upload: Upload) -> int:
    """More passes than a settle can have: one for each cell of the board, and one."""
    return sum(len(row) for row in upload.board) + 1


def mismatches(upload: Upload, outcome: Outcome) -> list[str]:
    """The claims of an upload that are not the outcome's, as reasons."""
    differs = {
        "score_mismatch": upload.score != outcome.score,
        "combo_mismatch": upload.best_combo != outcome.best_combo,
        "board_mismatch": board_text(upload.board) != outcome.board,
    }
    return [reason for reason, there in differs.items() if there]


# --- Claims


def _claim(forger: Forger, u: Upload, name: str, reason: str, change: Callable[[Forger, Upload], int], beyond: bool) -> int:
    before = getattr(u, name)
    setattr(u, name, change(forger, u))
    if getattr(u, name) == before:
        return 0
    u.reasons = [reason, "impossible_score"] if beyond else [reason]
    return 1


def _claims(name: str, reason: str, beyond: bool, **changes: Callable[[Forger, Upload], int]) -> list[Variant]:
    """Variants of a claim that is too high or too low; with ``beyond`` no such log could come to it."""
    makes: dict[str, Callable[[Forger, Upload], int]] = {
        variant: partial(_claim, name=name, reason=reason, change=change, beyond=beyond) for variant, change in changes.items()
    }
    return variants("impossible_score" if beyond else reason, makes, _scored)


def _scored(forger: Forger, u: Upload) -> bool:
    """Half of the points, or one pass less, must be another number and none below zero."""
    return u.score > 1 and u.best_combo > 0


def _change_cell(forger: Forger, u: Upload, change: Callable[[Forger, int], int]) -> int:
    """Another cell somewhere in the lower half of the board, where blocks are."""
    rows = [list(row) for row in u.board]
    row, column = forger.rng.randrange(len(rows) // 2, len(rows)), forger.rng.randrange(len(rows[0]))
    cell = rows[row][column]
    rows[row][column] = change(forger, cell)
    if rows[row][column] == cell:
        return 0
    u.board = rows
    forger.show_board(u)
    u.reasons = ["board_mismatch"]
    return 1


def _other_block(forger: Forger, cell: int) -> int:
    return forger.rng.choice([other for other in range(len(COLOURS) + 1) if other != cell])


def _other_special(forger: Forger, cell: int) -> int:
    """The same colour with something else on it; an empty cell carries nothing."""
    if not cell & at.COLOUR:
        return cell
    special = forger.rng.choice([other for other in range(at.STONE + 1) if other != cell >> at.SPECIAL_SHIFT & 7])
    return cell & (at.COLOUR | at.ICE) | special << at.SPECIAL_SHIFT


def _iced(forger: Forger, cell: int) -> int:
    """Ice put on, or taken off."""
    return cell ^ at.ICE if cell & at.COLOUR else cell


def _unreadable_board(forger: Forger, u: Upload) -> int:
    width = len(u.board[0])
    wide, tall = "a" * (width + 1), "/".join([str(width)] * (len(u.board) + 1))
    u.final_board = forger.rng.choice([wide, tall, "", "??", f"{width - 1}f", f"{width - 1}aQ", f"{width - 1}*a", f"{width}/"])
    u.reasons = ["board_mismatch"]
    return 1


def _empty_log(forger: Forger, u: Upload) -> int:
    """Points for nothing; the board is the one that the game starts with."""
    start = Game(forger.day.rules, forger.day.deal, b"", forger.day.challenge.mode)
    u.moves, u.tokens, u.board, u.best_combo, u.score = "", 0, start.cells, 0, 50_000
    forger.show_board(u)
    u.reasons = ["score_mismatch", "impossible_score"]
    return 1


# --- Logs


def _bad_token(forger: Forger, u: Upload) -> int:
    """Put what is no token into the log; what follows is never reached, so the claims are not compared."""
    tokens, rest = inputs_of(u.moves)
    where = forger.rng.randrange(3, len(tokens) - 1)
    u.moves = "".join(tokens[:where]) + forger.rng.choice(NO_TOKENS) + "".join(tokens[where:]) + rest
    found = replayed(forger, u.moves)
    assert found.fault is not None, u.moves
    assert found.fault.kind == "bad_token", u.moves
    u.spaced, u.reasons = False, ["illegal_move"]
    u.tokens = sum(letter.isascii() and letter.isalpha() for letter in u.moves)
    return 1


def _after_end(forger: Forger, u: Upload) -> int:
    u.moves += forger.rng.choice(("h", "3l", "1x", "z", "d"))
    u.tokens += 1
    u.reasons = ["illegal_move"]
    return 1


def _no_such_mode(forger: Forger, u: Upload) -> int:
    """Claim a selection that does not exist: nothing of the log can be played."""
    u.mode = forger.rng.choice(no_modes(forger.day.rules))
    u.reasons = ["illegal_move"]
    return 1


def _illegal_and_impossible(forger: Forger, u: Upload) -> int:
    """More passes than cells: a number of too many digits may stand for any time, in which any score could be made."""
    _bad_token(forger, u)
    u.best_combo = most_passes(u)
    u.reasons = ["illegal_move", "impossible_score"]
    return 1


def _truncated(forger: Forger, u: Upload) -> int:
    """Leave out the hard drop that locked the last piece."""
    tokens, _ = inputs_of(u.moves)
    shorter = "".join(tokens[:-1])
    wrong = mismatches(u, replayed(forger, shorter))
    if not wrong:
        return 0
    u.moves, u.tokens, u.reasons = shorter, len(tokens) - 1, ["truncated_log", *wrong]
    return 1


# --- The list

_NUMBERS: Sequence[Variant] = (
    *_claims(
        "score", "score_mismatch", False, raised=lambda f, u: u.score + f.rng.randrange(1, 100),
        doubled=lambda f, u: 2 * u.score, lowered=lambda f, u: u.score // 2,
    ),
    *_claims(
        "best_combo", "combo_mismatch", False, raised=lambda f, u: u.best_combo + 1, lowered=lambda f, u: u.best_combo - 1
    ),
    *variants("board_mismatch", {
        "one_cell": partial(_change_cell, change=_other_block), "one_special": partial(_change_cell, change=_other_special),
        "ice": partial(_change_cell, change=_iced), "unreadable": _unreadable_board,
    }),
    *_claims(
        "score", "score_mismatch", True, beyond_blocks=lambda f, u: most_points(u), largest_integer=lambda f, u: LARGEST,
        negative=lambda f, u: -f.rng.randrange(1, 10_000),
    ),
    *_claims(
        "best_combo", "combo_mismatch", True, combo_beyond_board=lambda f, u: most_passes(u), combo_below_zero=lambda f, u: -1,
    ),
)  # fmt: skip

VARIANTS: Sequence[Variant] = (
    *_NUMBERS,
    Variant("impossible_score", "empty_log", _empty_log),
    *variants("illegal_move", {
        "bad_token": _bad_token, "after_end": _after_end, "no_such_mode": _no_such_mode,
        "bad_token_and_combo": _illegal_and_impossible,
    }),
    *changed_delays(mismatches),
    *SHARED,
    Variant("truncated_log", "last_drop", _truncated, ends_with_a_drop),
    *COPIED,
    *malformed(MALFORMED),
)  # fmt: skip
