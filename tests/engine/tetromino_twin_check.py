"""One chunk of random games of Tetromino Arcade through the slow twin and both engines; importable by worker processes."""

from __future__ import annotations

import random
import re
from collections import Counter

from engine.outcome import BOARD_DIFFERS, BOARD_EQUAL, BOARD_UNREADABLE
from engine.tetromino import notation
from tests.engine.random_tetromino import Played, make_games
from tests.engine.support import hash_faults
from tests.engine.tetromino_support import batch_rows, opened, replay_batch, rules
from tests.reference import tetromino as twin
from tests.reference.tetromino import Result

CHUNK = 100


def board_verdict(claim: bytes, board: str) -> int:
    """How the claim compares with the board, by the twin's own reader."""
    cells = twin.read_board(claim.decode("latin-1"))
    if cells is None:
        return BOARD_UNREADABLE
    return BOARD_EQUAL if cells == twin.read_board(board) else BOARD_DIFFERS


def check_interpreted(played: Played, claimed: int) -> list[str]:
    """What the interpreted engine says otherwise than the twin."""
    case, expected = played.case, played.expected
    game = opened(rules(), case)
    out = game.run()
    fault = (out.fault.kind, out.fault.move) if out.fault else None
    got = Result(out.score, out.best_combo, out.board, out.moves, out.finished, fault, out.level, out.lines)
    faults = []
    if got != expected:
        faults.append(f"got:      {got} (interpreted)")
    if game.board_equals(case.claim.decode("latin-1")) != claimed:
        faults.append(f"claimed board, interpreted: expected {claimed}, got {game.board_equals(case.claim.decode('latin-1'))}")
    if out.fault and not out.fault.text:
        faults.append("the fault has no text")
    return faults


def check_chunk(chunk: int, games: int = CHUNK) -> tuple[list[str], Counter[str]]:
    """Make and compare the games of one chunk: (what differs, what happened in them)."""
    made = make_games(random.Random(f"tetromino {chunk}"), games)
    out = replay_batch(rules(), [played.case for played in made])
    faults: list[str] = []
    events: Counter[str] = Counter()
    for at, (played, got) in enumerate(zip(made, batch_rows(out), strict=True)):
        claimed = board_verdict(played.case.claim, played.expected.board)
        found = check_interpreted(played, claimed)
        if got != played.expected:
            found.append(f"got:      {got} (compiled)")
        if int(out.board[at]) != claimed:
            found.append(f"claimed board: expected {claimed}, got {int(out.board[at])}")
        # Letters of any kind are counted without the replay; the interpreted count takes the text that a record holds.
        received = len(re.findall(rb"[A-Za-z]", played.case.log))
        if int(out.received[at]) != received or notation.count_tokens(played.case.log.decode("latin-1")) != received:
            found.append(f"received: expected {received}, got {int(out.received[at])}")
        where = f"chunk {chunk}, game {at} ({played.maker})\nstate: {played.case}\nexpected: {played.expected}"
        faults += [f"{where}\n{fault}" for fault in found]
        events.update(played.events)
        events["moves"] += played.expected.moves
        events[f"fault {played.expected.fault[0]}" if played.expected.fault else "no fault"] += 1
        events["40 lines"] += played.case.mode == "sprint" and played.expected.lines >= twin.SPRINT_LINES
    faults += [f"chunk {chunk}: {fault}" for fault in hash_faults([played.case.log for played in made], out.log_hash.tolist())]
    return faults, events
