"""Batch verification of Tetromino Arcade beside the block puzzle: to the last field what the judge says of each game alone."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from engine.tetromino.batch import BatchReplayer
from replay.challenges import ChallengeTable
from replay.errors import EngineDisagreement
from replay.record import Record
from replay.verify import Verifier
from tests.replay import games as blocks
from tests.replay import test_verify
from tests.replay import tetromino_games as t
from tests.replay.build import CAREFUL, batch_of

VERIFIER = Verifier(blocks.RULEBOOK, ChallengeTable(blocks.TABLE.rows | t.TABLE.rows))
HONEST = t.record(t.TOKENS, t.GAME)
# How many hard drops in the middle end a game.
OVER = t.open_game("h" * 30).run().moves
WRONG: dict[str, dict[str, Any]] = {
    "score": {"score": t.GAME.score + 7}, "half the score": {"score": t.GAME.score // 2}, "combo": {"best_combo": 9},
    "level": {"level": 1}, "level beyond 64 bits less one": {"level": 2**63 - 1}, "lines": {"lines": -1},
    "lines of level": {"level": t.GAME.lines, "lines": t.GAME.level}, "board": {"final_board": "-"},
    "unreadable board": {"final_board": "#"}, "a bad token": {"moves": "3h?"}, "held twice": {"moves": "cc"},
    "another log": {"moves": "100"}, "unknown rules": {"rules": "9.9.9", "level": 3}, "unknown challenge": {"challenge": "none"},
    "attempt": {"attempt": 9}, "a lost input": {"moves": "".join(t.TOKENS[:-1])},
}  # fmt: skip
RIGHT: dict[str, Record] = {
    "as it is": HONEST, "nothing claimed": replace(HONEST, level=None, lines=None), "no lines": replace(HONEST, lines=None),
    "trailing time": t.played(t.A1_PREFIX + "200", "a1"), "over": t.played("h" * OVER, t.DAY),
    "nothing": t.played("", t.DAY), "ultra": t.played("900h" * 7 + "7200", "ultra"),
    "another mode": t.played("5h5h", t.DAY, "marathon/20"), "the mode of the same day": t.played("5h5h", t.DAY),
    "white space": replace(HONEST, moves=" ".join(t.TOKENS)), "quick": replace(HONEST, finished_at=HONEST.started_at),
}  # fmt: skip

verify = partial(test_verify.verify, verifier=VERIFIER)
check = partial(test_verify.check, verifier=VERIFIER)


@pytest.mark.parametrize("tail", [b"", CAREFUL.encode()], ids=["scanned", "careful"])
def test_right_games_are_verified(tail: bytes) -> None:
    rows = check(list(RIGHT.values()), tail)
    assert {name: row["verdict"] for name, row in zip(RIGHT, rows, strict=True)} == dict.fromkeys(RIGHT, "verified")
    by_name = dict(zip(RIGHT, rows, strict=True))
    assert (by_name["as it is"]["level"], by_name["as it is"]["lines"]) == (t.GAME.level, t.GAME.lines)
    assert (by_name["nothing claimed"]["level"], by_name["nothing claimed"]["replayed_lines"]) == (None, t.GAME.lines)
    assert by_name["quick"]["suspicions"] == ["unfinished"]
    assert (by_name["over"]["finished"], by_name["ultra"]["finished"]) == (True, True)
    assert by_name["another mode"]["replayed_level"] == 20
    assert by_name["white space"]["log_hash_low"] == by_name["as it is"]["log_hash_low"]


@pytest.mark.parametrize("what", WRONG)
def test_wrong_games_are_flagged_as_the_judge_says(what: str) -> None:
    (row,) = check([replace(HONEST, **WRONG[what])])
    assert (row["verdict"], row["counted"]) == ("flagged", False)
    assert row["reason_codes"]


def test_games_of_two_kinds_lie_mixed_in_one_batch() -> None:
    """Both games, several rules, challenges and modes, right and wrong: each is replayed by its own engine."""
    other = blocks.record(blocks.TOKENS, blocks.GAME)
    mixed = [
        *RIGHT.values(), *(replace(HONEST, **change) for change in WRONG.values()), other, replace(other, score=1),
        replace(other, mode="training"), blocks.record(blocks.FINISHED_TOKENS, blocks.FINISHED), replace(other, game="tetcolor"),
        replace(other, finished_at=other.started_at),
    ]  # fmt: skip
    random.Random(4).shuffle(mixed)
    rows = check(mixed * 3)
    assert {row["game"] for row in rows if row["verdict"] == "verified"} == {"blocks", "tetromino"}
    for row in rows:
        if row["game"] != "tetromino":
            assert [row[name] for name in ("level", "lines", "replayed_level", "replayed_lines")] == [None] * 4
    assert {row["suspicions"][0] for row in rows if row["game"] == "blocks" and row["suspicions"]} >= {"superhuman_pace"}


def test_a_level_of_another_game_means_nothing() -> None:
    """Extra fields: a block puzzle's record may carry any `level`."""
    other = blocks.record(blocks.FINISHED_TOKENS, blocks.FINISHED)
    for tail in (b', "level": 99', b', "level": "x", "lines": 1.5', b', "lines": [1]'):
        (row,) = verify(other, tail=tail)
        assert (row["verdict"], row["level"], row["lines"]) == ("verified", None, None)


def test_the_reasons_name_level_and_lines() -> None:
    (row,) = verify(replace(HONEST, level=t.GAME.level + 1, lines=t.GAME.lines + 3))
    reasons = json.loads(row["reasons"])
    assert [(r["code"], r["claimed"], r["found"]) for r in reasons] == [
        ("level_mismatch", t.GAME.level + 1, t.GAME.level), ("lines_mismatch", t.GAME.lines + 3, t.GAME.lines)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"score": 1}, {"level": 1}, {"lines": -1}, {"best_combo": 1}, {"finished": 1}, {"status": -8}]
)
@pytest.mark.parametrize("changes", [{}, {"score": 5}], ids=["honest", "wrong"])
def test_engines_that_differ_stop_the_night(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, int], changes: dict[str, int]
) -> None:
    real = BatchReplayer.replay

    def replay(self: BatchReplayer, *args: Any) -> None:
        real(self, *args)
        for name, by in change.items():
            np.add.at(getattr(args[4], name), args[3], by)

    monkeypatch.setattr(BatchReplayer, "replay", replay)
    if change == {"finished": 1} and not changes:
        assert verify(HONEST)[0]["suspicions"] == []
        return
    with pytest.raises(EngineDisagreement, match="g-1"):
        verify(replace(HONEST, **changes))


def test_a_challenge_that_cannot_be_dealt_is_set_aside() -> None:
    done = VERIFIER.verify(batch_of([HONEST, replace(HONEST, challenge="strange"), t.played("hh", "short", moves="hhh")]), "a")
    assert [(q.line, q.code) for q in done.quarantined] == [(2, "challenge"), (3, "challenge")]
    assert "the challenge lists only 2 pieces (at h)" in done.quarantined[1].reason
    assert done.rows.num_rows == 1
