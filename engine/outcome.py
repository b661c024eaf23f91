"""Status codes and results that every game shares.

A kernel never raises: it returns one of the named codes below, and the wrappers turn codes into these records.
"""

from __future__ import annotations

from dataclasses import dataclass

# What one step of a kernel says.  Faults are negative so that "status < 0" reads as "the replay stops here".
END = 0
APPLIED = 1
BAD_TOKEN = -1
NO_SUCH_SLOT = -2
OUTSIDE_BOARD = -3
OVERLAP = -4
CONTINUE_NOT_ALLOWED = -5
AFTER_END = -6
# The challenge lists fewer pieces than were needed: the challenge's fault, never the player's (rules/blocks, "Deal").
DEAL_EXHAUSTED = -7
HOLD_TWICE = -8
NO_SUCH_MODE = -9

FAULT_NAMES: dict[int, str] = {
    BAD_TOKEN: "bad_token",
    NO_SUCH_SLOT: "no_such_slot",
    OUTSIDE_BOARD: "outside_board",
    OVERLAP: "overlap",
    CONTINUE_NOT_ALLOWED: "continue_not_allowed",
    AFTER_END: "after_end",
    DEAL_EXHAUSTED: "deal_exhausted",
    HOLD_TWICE: "hold_twice",
    NO_SUCH_MODE: "no_such_mode",
}

# How a claimed board compares with the replayed one.
BOARD_EQUAL = 0
BOARD_DIFFERS = 1
BOARD_UNREADABLE = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a replay stopped: ``kind`` (a name of FAULT_NAMES), ``move`` (the token's index from 0), ``text`` (the reason)."""

    kind: str
    move: int
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a replay yields (rules/common): the state at the end of the log, or just before the first fault.

    ``level`` and ``lines`` are None where a game knows none.
    """

    score: int
    best_combo: int
    board: str
    moves: int
    finished: bool
    fault: Fault | None
    level: int | None = None
    lines: int | None = None
