"""Batch verification of Tetcolor beside the two other games, and a night of all three."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.tetcolor.batch import BatchReplayer
from replay.challenges import ChallengeTable
from replay.errors import EngineDisagreement
from replay.record import Record
from replay.verify import Verifier
from tests.replay import games as blocks
from tests.replay import test_verify
from tests.replay import tetcolor_games as c
from tests.replay import tetromino_games as t
from tests.replay.build import CAREFUL, batch_of
from tests.replay.night_support import EVIL, THREE, ask, by_game, check_run, cli, land, line, night, verdict_rows

VERIFIER = Verifier(blocks.RULEBOOK, ChallengeTable(blocks.TABLE.rows | t.TABLE.rows | c.TABLE.rows))
TOKENS, GAME = c.play(30)
HONEST = c.record(TOKENS, GAME)
WRONG: dict[str, dict[str, Any]] = {
    "score": {"score": GAME.score + 7}, "half the score": {"score": GAME.score // 2}, "combo": {"best_combo": 9},
    "a score beyond 64 bits less one": {"score": 2**63 - 1}, "board": {"final_board": "-"}, "unreadable board": {"final_board": "#"},
    "a special less": {"final_board": GAME.board.replace("H", "", 1)}, "a bad token": {"moves": "3h?"},
    "after the end": {"moves": "9000l"}, "another log": {"moves": "100"}, "unknown rules": {"rules": "9.9.9"},
    "unknown challenge": {"challenge": "none"}, "attempt": {"attempt": 9}, "a lost input": {"moves": "".join(TOKENS[:-1])},
    "no such mode": {"mode": "columns/arcade/crazy"}, "no such mode, empty log": {"mode": "duo", "moves": ""},
    "a hostile mode": {"mode": EVIL}, "a mode of another family": {"mode": "columns/arcade/normal"},
}  # fmt: skip
RIGHT: dict[str, Record] = {
    "as it is": HONEST, "trailing time": c.played("h24", "cascade"), "over": c.played("9000", c.DAY), "nothing": c.played("", c.DAY),
    "bombs": c.played("5hh90", "bombs"), "another mode": c.played("5hh5hh", c.DAY, "retris/arcade/relax8/handicap"),
    "white space": replace(HONEST, moves=" ".join(TOKENS)), "quick": replace(HONEST, finished_at=HONEST.started_at),
    **{family: c.record(*c.play(30, family), challenge=family) for family in c.MODES},
}  # fmt: skip

verify = partial(test_verify.verify, verifier=VERIFIER)
check = partial(test_verify.check, verifier=VERIFIER)


@pytest.mark.parametrize("tail", [b"", CAREFUL.encode(), b', "level": 99, "lines": "x"'], ids=["scanned", "careful", "level"])
def test_right_games_are_verified(tail: bytes) -> None:
    """An extra `level` means nothing: records of this game claim none."""
    rows = check(list(RIGHT.values()), tail)
    assert {name: row["verdict"] for name, row in zip(RIGHT, rows, strict=True)} == dict.fromkeys(RIGHT, "verified")
    by_name = dict(zip(RIGHT, rows, strict=True))
    for row in rows:
        assert [row[name] for name in ("level", "lines", "replayed_level", "replayed_lines")] == [None] * 4
    assert by_name["quick"]["suspicions"] == ["unfinished"]
    assert (by_name["over"]["finished"], by_name["as it is"]["finished"]) == (True, False)
    assert by_name["white space"]["log_hash_low"] == by_name["as it is"]["log_hash_low"]
    assert (by_name["as it is"]["counted"], by_name["another mode"]["counted"]) == (True, False)


@pytest.mark.parametrize("what", WRONG)
def test_wrong_games_are_flagged_as_the_judge_says(what: str) -> None:
    (row,) = check([replace(HONEST, **WRONG[what])])
    assert (row["verdict"], row["counted"]) == ("flagged", False)
    assert row["reason_codes"]


def test_a_mode_that_does_not_exist_is_flagged_in_the_batch_too() -> None:
    rows = check([replace(HONEST, mode="columns/arcade/crazy"), replace(HONEST, mode="")])
    for row in rows:
        assert (row["reason_codes"], row["fault_kind"], row["fault_move"]) == (["illegal_move"], "no_such_mode", 0)
        assert json.loads(row["reasons"])[0]["found"].startswith("no_such_mode: mode ")


def test_games_of_three_kinds_lie_mixed_in_one_batch() -> None:
    """All games, several families, challenges and modes, right and wrong: each is replayed by its own engine."""
    other, third = blocks.record(blocks.TOKENS, blocks.GAME), t.record(t.TOKENS, t.GAME)
    mixed = [
        *RIGHT.values(), *(replace(HONEST, **change) for change in WRONG.values()), other, replace(other, score=1),
        third, replace(third, level=9), t.played("5h5h", t.DAY, "marathon/20"), blocks.record(blocks.FINISHED_TOKENS, blocks.FINISHED),
    ]  # fmt: skip
    random.Random(4).shuffle(mixed)
    rows = check(mixed * 2)
    assert {row["game"] for row in rows if row["verdict"] == "verified"} == {"blocks", "tetromino", "tetcolor"}
    assert {row["replayed_level"] is None for row in rows if row["game"] == "tetromino"} == {False}


@pytest.mark.parametrize("change", [{"score": 1}, {"best_combo": 1}, {"finished": 1}, {"status": -8}, {"moves": 1}])
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
    if not changes and set(change) & {"finished", "moves"}:
        # Nothing that is claimed: the compiled engine's word stands.
        assert verify(HONEST)[0]["verdict"] == "verified"
        return
    with pytest.raises(EngineDisagreement, match="g-1"):
        verify(replace(HONEST, **changes))


def test_a_challenge_that_cannot_be_dealt_is_set_aside() -> None:
    spent = c.played("hhhh", "short", moves="hhhhl")
    done = VERIFIER.verify(batch_of([HONEST, replace(HONEST, challenge="strange"), spent]), "a")
    assert [(q.line, q.code) for q in done.quarantined] == [(2, "challenge"), (3, "challenge")]
    assert "the challenge lists only 2 pieces (at l)" in done.quarantined[1].reason
    assert done.rows.num_rows == 1


# --- A night -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A published lake with right and wrong games of all three kinds, and its challenge table."""
    root = tmp_path_factory.mktemp("three")
    lake, challenges = root / "lake", root / "challenges.csv"
    rows = [
        f"{row.game},{row.challenge},{row.mode},{row.rules},{row.rng_seed},{row.start_board},{row.pieces}"
        for table in (blocks.TABLE, t.TABLE, c.TABLE)
        for row in table.rows.values()
        if row.challenge != "strange"
    ]
    challenges.write_text("\n".join(["game,challenge,mode,rules,rng_seed,start_board,pieces", *rows]) + "\n", "utf-8")
    uploads = [
        replace(found, game_id=f"{found.game}-{name}", player_id=f"p-{name}-{found.game}")
        for name, found in [
            ("fine", blocks.record(blocks.TOKENS, blocks.GAME)), ("fine", t.record(t.TOKENS, t.GAME)),
            ("forged", replace(t.record(t.TOKENS, t.GAME), score=1)),
            *((name.replace(" ", "-"), found) for name, found in RIGHT.items()),
            *((name.replace(" ", "-") + "-forged", replace(HONEST, **change)) for name, change in WRONG.items()),
        ]
    ]  # fmt: skip
    land(lake, THREE, "a.ndjson", uploads[::2])
    land(lake, THREE, "b.parquet", uploads[1::2])
    night(lake, challenges=challenges)
    return lake, challenges


def test_a_night_of_three_games(lake: tuple[Path, Path]) -> None:
    found = by_game(lake[0])
    run = check_run(lake[0], THREE)
    assert run["quarantined"] == 0
    for name in RIGHT:
        # The same game again from somebody else is verified, and its log is copied.
        assert found[f"tetcolor-{name.replace(' ', '-')}"]["verdict"] == "verified", name
    for name in WRONG:
        row = found[f"tetcolor-{name.replace(' ', '-')}-forged"]
        assert (row["verdict"], row["counted"]) == ("flagged", False), name
    assert {row["game"] for row in verdict_rows(lake[0]) if row["counted"]} == {"blocks", "tetcolor", "tetromino"}
    day = f"{THREE}"
    ranked = ask(lake[0], "SELECT game, count(*) FROM daily_ranking WHERE challenge = ? GROUP BY ALL ORDER BY ALL", day)
    assert [game for game, _ in ranked] == ["blocks", "tetcolor", "tetromino"]


def test_the_commands_tell_of_it(lake: tuple[Path, Path], tmp_path: Path) -> None:
    path, challenges = lake
    env = {"REPLAY_LAKE": str(path), "REPLAY_CHALLENGES": str(challenges)}
    told = cli("game", "tetcolor-no-such-mode-forged", "--json", env=env)
    assert told.returncode == 1, told.stderr
    assert json.loads(told.stdout)["fault"]["kind"] == "no_such_mode"
    page = tmp_path / "page.html"
    drawn = cli("game", "tetcolor-bombs", "--html", page, env=env)
    assert drawn.returncode == 0, drawn.stderr
    assert b"generation 1: horizontal bomb at c13 strikes 3, 2 points" in drawn.stdout
    assert "generation 2: normal bomb at e13" in page.read_text("utf-8")
    log = tmp_path / "up.ndjson"
    uploads = [*RIGHT.values(), replace(HONEST, score=1)]
    lines = [line(replace(found, game_id=f"g-{n}", player_id=f"p-{n}")) for n, found in enumerate(uploads)]
    log.write_bytes(b"\n".join(lines) + b"\n")
    checked = cli("verify", log, "--json", env=env)
    rows = [json.loads(text) for text in checked.stdout.splitlines()]
    assert [row["verdict"] for row in rows if "verdict" in row].count("flagged") == 1, checked.stderr
