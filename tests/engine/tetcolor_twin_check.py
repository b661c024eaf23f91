"""One chunk of random games of Tetcolor through the slow twin and both engines; importable by worker processes."""

from __future__ import annotations

import random
import re
from collections import Counter

from engine.outcome import BOARD_DIFFERS, BOARD_EQUAL, BOARD_UNREADABLE
from tests.engine.random_tetcolor import make_games
from tests.engine.support import hash_faults
from tests.engine.tetcolor_support import Case, Result, batch_rows, interpreted, replay_batch
from tests.reference import tetcolor as twin
from tests.reference.tetcolor_settle import read_board

CHUNK = 100
# What the engines write where there is no level, because there is no such mode.
NO_LEVEL = -1


def board_verdict(mode: str, claim: bytes, board: str) -> int:
    """How the claim compares with the board, by the twin's own reader; a mode that does not exist has no board to read."""
    family = mode.split("/")[0]
    cells = read_board(claim.decode("latin-1"), family) if mode in twin.MODES else {} if claim == b"-" else None
    if cells is None:
        return BOARD_UNREADABLE
    return BOARD_EQUAL if mode not in twin.MODES or cells == read_board(board, family) else BOARD_DIFFERS


def as_engines_say(case: Case, result: twin.Result) -> Result:
    """The twin's answer with what the engines add: the claim compared, the tokens of the log counted."""
    level = NO_LEVEL if result.level is None else result.level
    return Result(
        result.score,
        result.best_combo,
        result.board,
        result.moves,
        result.finished,
        level,
        result.fault,
        board_verdict(case.mode, case.claim, result.board),
        # Letters of any kind are counted, without the replay.
        len(re.findall(rb"[A-Za-z]", case.log)),
    )


def check_chunk(chunk: int, games: int = CHUNK) -> tuple[list[str], Counter[str]]:
    """Make and compare the games of one chunk: (what differs, what happened in them)."""
    made = make_games(random.Random(f"tetcolor {chunk}"), games)
    cases = [played.case for played in made]
    out = replay_batch(cases)
    faults: list[str] = []
    events: Counter[str] = Counter()
    for at, (played, compiled) in enumerate(zip(made, batch_rows(cases, out), strict=True)):
        expected = as_engines_say(played.case, played.expected)
        where = f"chunk {chunk}, game {at} ({played.maker})\nstate: {played.case}\nexpected: {expected}"
        for name, got in (("compiled", compiled), ("interpreted", interpreted(played.case))):
            if got != expected:
                faults.append(f"{where}\ngot:      {got} ({name})")
        events.update(played.events)
        events["moves"] += played.expected.moves
        events[f"mode {played.case.mode}"] += played.case.mode in twin.MODES
        events[f"fault {played.expected.fault[0]}" if played.expected.fault else "no fault"] += 1
    faults += [f"chunk {chunk}: {fault}" for fault in hash_faults([played.case.log for played in made], out.log_hash.tolist())]
    return faults, events
