"""What forgers do to uploads of Tetromino Arcade, beside what they do in every game.

Expected reasons come from the interpreted engine and from the rules.  Claims that are meant to be impossible lie beyond what a
generous count of the log's inputs and ticks allows, all others far within it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.board import format_cells, parse_cells
from engine.outcome import Outcome
from engine.tetromino.rules import PIECE_NAMES
from replay.forgeries import (
    COPIED,
    MALFORMED,
    SHARED,
    TRIES,
    Forger,
    Variant,
    changed_delays,
    ends_with_a_drop,
    inputs_of,
    malformed,
    replace_value,
    replayed,
    variants,
)
from replay.players import Upload
from replay.plays import ticks_of

# More than any lock is worth: four lines with back-to-back, a perfect clear, and drops from the top of the board.
MOST_OF_A_LOCK, MOST_LINES, LINES_A_LEVEL = 10_000, 4, 10
LOCK_TICKS = 30
# Ways to write no token; some of them are good JSON and good Unicode, and none is good notation.
NO_TOKENS = ("?", "H", "k", "-1h", "1.5l", "1234567890h", "12 3x", "\u2603", "+h", "0x1h")


def level_of(upload: Upload) -> int:
    """The level that a mode begins with."""
    return int(upload.mode.partition("/")[2] or 1)


def most_locks(moves: str) -> int:
    """More pieces than can lock with these inputs in this time."""
    return sum(letter.isalpha() for letter in moves) + ticks_of(moves) // LOCK_TICKS + 1


def most_points(upload: Upload) -> int:
    """More points than any such log can earn: every lock at the highest level that so many lines can lead to."""
    locks = most_locks(upload.moves)
    level = level_of(upload) + locks * MOST_LINES // LINES_A_LEVEL + 1
    return locks * level * (MOST_OF_A_LOCK + 50 * locks)


def mismatches(upload: Upload, outcome: Outcome) -> list[str]:
    """The claims of an upload that are not the outcome's, as reasons; what is not claimed cannot differ."""
    # The claimed board may have its empty rows written.
    board = format_cells(parse_cells(upload.final_board, 10, 40, PIECE_NAMES))
    differs = {
        "score_mismatch": upload.score != outcome.score,
        "combo_mismatch": upload.best_combo != outcome.best_combo,
        "board_mismatch": board != outcome.board,
        "level_mismatch": upload.level not in (None, outcome.level),
        "lines_mismatch": upload.lines not in (None, outcome.lines),
    }
    return [reason for reason, there in differs.items() if there]


# --- Claims


def _claim(forger: Forger, u: Upload, name: str, reason: str, change: Callable[[Forger, Upload], int], beyond: bool) -> int:
    before = getattr(u, name)
    setattr(u, name, change(forger, u))
    if getattr(u, name) == before:
        return 0
    u.reasons = [reason, "impossible_score"] if beyond or beyond_goal(forger, u) else [reason]
    return 1


def beyond_goal(forger: Forger, u: Upload) -> bool:
    """Whether lines or level are more than a mode that ends at a number of lines can come to: a lock clears four at most."""
    goal = forger.day.rules.modes[u.mode.partition("/")[0]].end_lines
    most = goal - 1 + MOST_LINES
    return bool(goal) and ((u.lines or 0) > most or (u.level or 0) > level_of(u) + most // LINES_A_LEVEL)


def _claims(name: str, reason: str, beyond: bool, **changes: Callable[[Forger, Upload], int]) -> list[Variant]:
    """Variants of a claim that is too high or too low; with ``beyond`` no such log could come to it."""
    wants = _claims_level if name in ("level", "lines") else _honest
    kind = "impossible_score" if beyond else reason
    return [
        Variant(kind, variant, partial(_claim, name=name, reason=reason, change=change, beyond=beyond), wants)
        for variant, change in changes.items()
    ]


def _honest(forger: Forger, u: Upload) -> bool:
    return u.score > 1 and u.lines != 0


def _claims_level(forger: Forger, u: Upload) -> bool:
    """Clients that claim neither level nor lines cannot lie about them."""
    return u.level is not None and (u.lines or 0) > 1


def _claim_board(forger: Forger, u: Upload) -> int:
    """One settled cell more, less, or of another piece."""
    cells = parse_cells(u.board, 10, 40, PIECE_NAMES)
    row, column = forger.rng.randrange(36, 40), forger.rng.randrange(10)
    cells[row][column] = forger.rng.choice([cell for cell in ".IJLOSTZ" if cell != cells[row][column]])
    u.board = format_cells(cells)
    forger.show_board(u)
    u.reasons = ["board_mismatch"]
    return 1


def _unreadable_board(forger: Forger, u: Upload) -> int:
    u.final_board = forger.rng.choice(["IIIIIIIII2", "11", "", "??", "I8#", "/".join(["10"] * 41), "jj8", "10/"])
    u.reasons = ["board_mismatch"]
    return 1


def _empty_log(forger: Forger, u: Upload) -> int:
    u.moves, u.tokens, u.board, u.best_combo, u.score = "", 0, "-", 0, 50_000
    if u.level is not None:
        u.level, u.lines = level_of(u), 0
    forger.show_board(u)
    u.reasons = ["score_mismatch", "impossible_score"]
    return 1


# --- Logs


def _illegal(forger: Forger, u: Upload, put: Callable[[Forger, list[str], int], str | None], fault: str) -> int:
    """Change one token of the log so that the replay meets this fault; then the claims are not compared."""
    tokens, rest = inputs_of(u.moves)
    for _ in range(TRIES):
        at = forger.rng.randrange(3, len(tokens) - 1)
        text = put(forger, tokens, at)
        if text is None:
            continue
        moves = "".join(tokens[:at]) + text + "".join(tokens[at:]) + rest
        found = replayed(forger, moves).fault
        if found is not None and found.kind == fault:
            u.moves, u.spaced, u.reasons = moves, False, ["illegal_move"]
            u.tokens = sum(letter.isascii() and letter.isalpha() for letter in moves)
            return 1
    return 0


def _no_token(forger: Forger, tokens: list[str], at: int) -> str:
    return forger.rng.choice(NO_TOKENS)


def _hold_twice(forger: Forger, tokens: list[str], at: int) -> str | None:
    return "cc" if tokens[at - 1].endswith("h") else None


def _after_end(forger: Forger, u: Upload) -> int:
    u.moves += forger.rng.choice(("h", "3l", "1x", "c", "d"))
    u.tokens += 1
    u.reasons = ["illegal_move"]
    return 1


def _illegal_and_impossible(forger: Forger, u: Upload) -> int:
    if not _illegal(forger, u, _hold_twice, "hold_twice"):
        return 0
    u.score = most_points(u) + forger.rng.randrange(1_000_000)
    u.reasons = ["illegal_move", "impossible_score"]
    return 1


def _truncated(forger: Forger, u: Upload) -> int:
    """Leave out the hard drop that ended the game."""
    tokens, _ = inputs_of(u.moves)
    u.moves, u.tokens = "".join(tokens[:-1]), len(tokens) - 1
    u.reasons = ["truncated_log", *mismatches(u, replayed(forger, u.moves))]
    return 1


# --- The list

_ADDED: dict[str, Callable[[str], str]] = {
    # A mode that the rules do not have: only the rules file can tell.
    "unknown_mode": partial(replace_value, "mode", '"marathon/21"'),
    "mode_with_zero": partial(replace_value, "mode", '"marathon/01"'),
    "level_as_text": lambda line: _with_level(line, '"3"'),
    "level_as_fraction": lambda line: _with_level(line, "3.0"),
}


def _with_level(line: str, value: str) -> str:
    """The line with another level, or with one where it claimed none."""
    if '"level":' in line:
        return replace_value("level", value, line)
    return f'{line[:-1]},"level":{value}}}'


def _points(forger: Forger, u: Upload) -> int:
    return u.score + 10 * forger.rng.randrange(1, 100)


_NUMBERS: Sequence[Variant] = (
    *_claims(
        "score", "score_mismatch", False, raised=_points, doubled=lambda f, u: 2 * u.score, lowered=lambda f, u: u.score // 2
    ),
    *_claims("best_combo", "combo_mismatch", False, raised=lambda f, u: u.best_combo + 1),
    Variant(
        "combo_mismatch", "lowered",
        partial(_claim, name="best_combo", reason="combo_mismatch", change=lambda f, u: u.best_combo - 1, beyond=False),
        lambda f, u: u.best_combo > 0,
    ),
    *variants("board_mismatch", {"one_cell": _claim_board, "unreadable": _unreadable_board}),
    *_claims("level", "level_mismatch", False, raised=lambda f, u: (u.level or 0) + 1),
    *_claims("lines", "lines_mismatch", False, raised=lambda f, u: (u.lines or 0) + 1, lowered=lambda f, u: (u.lines or 0) - 1),
    *_claims(
        "score", "score_mismatch", True, beyond_pieces=lambda f, u: most_points(u), beyond_53_bits=lambda f, u: (1 << 53) + 1,
        largest_integer=lambda f, u: (1 << 63) - 1, negative=lambda f, u: -f.rng.randrange(1, 10_000),
    ),
    *_claims(
        "best_combo", "combo_mismatch", True, combo_beyond_pieces=lambda f, u: most_locks(u.moves),
        combo_below_zero=lambda f, u: -1,
    ),
    *_claims(
        "level", "level_mismatch", True, level_below_start=lambda f, u: level_of(u) - 1, level_beyond_lines=lambda f, u: 1_000_000
    ),
    *_claims("lines", "lines_mismatch", True, lines_beyond_pieces=lambda f, u: MOST_LINES * most_locks(u.moves)),
)  # fmt: skip

VARIANTS: Sequence[Variant] = (
    *_NUMBERS,
    Variant("impossible_score", "empty_log", _empty_log),
    *variants("illegal_move", {
        "bad_token": partial(_illegal, put=_no_token, fault="bad_token"),
        "hold_twice": partial(_illegal, put=_hold_twice, fault="hold_twice"),
        "after_end": _after_end,
        "hold_twice_and_score": _illegal_and_impossible,
    }),
    *changed_delays(mismatches),
    *SHARED,
    Variant("truncated_log", "last_drop", _truncated, ends_with_a_drop),
    *COPIED,
    *malformed(MALFORMED | _ADDED),
)  # fmt: skip
