"""The recorded days in fixtures/: every line is judged as its truth says, and to the last field as recorded."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from replay.adhoc import verify_files
from replay.forgeries import variants_of
from replay.night import NightSettings

FIXTURES = Path(__file__).parent.parent / "fixtures"
GAMES = ("blocks", "tetromino", "tetcolor")


def lines(day, name):
    return [json.loads(line) for line in (day / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module", params=GAMES)
def day(request):
    """The folder of a game's recorded day."""
    return FIXTURES / f"{request.param}-day"


@pytest.fixture(scope="module")
def found(day):
    return list(verify_files([day / "games.ndjson"], NightSettings().verifier(), threads=1))


@pytest.mark.parametrize("game", GAMES)
def test_every_kind_of_upload_is_recorded(game):
    kinds = {truth["kind"] for truth in lines(FIXTURES / f"{game}-day", "truth.ndjson")}
    assert kinds >= {variant.kind for variant in variants_of(game)} | {"honest", "copy"}


def test_every_line_is_judged_as_the_truth_says(day, found):
    for number, (truth, got) in enumerate(zip(lines(day, "truth.ndjson"), found, strict=True), start=1):
        where = f"line {number}, {truth['kind']}/{truth['variant']}, game {got['game_id']}"
        assert got["verdict"] == truth["expected_verdict"], where
        if got["verdict"] != "quarantined":
            assert sorted(reason["code"] for reason in got["reasons"]) == sorted(truth["expected_reasons"]), where
        assert sorted(got["suspicions"]) == sorted(truth["expected_suspicions"]), where


def test_verdicts_are_as_recorded(day, found):
    for number, (recorded, got) in enumerate(zip(lines(day, "verdicts.ndjson"), found, strict=True), start=1):
        del got["source"]["file"]
        assert got == recorded, f"line {number}, game {got['game_id']}: expected {recorded}, got {got}"


@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_verdicts_uncompiled_and_with_bounds_checked(day, switch, tmp_path):
    """The whole path, reader and engine, gives the same lines with compilation off and with every index checked."""
    command = [sys.executable, "-m", "replay", "verify", str(day / "games.ndjson"), "--json", "--threads", "1"]
    environment = os.environ | {switch: "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    for recorded, text in zip(lines(day, "verdicts.ndjson"), done.stdout.splitlines(), strict=True):
        got = json.loads(text)
        del got["source"]["file"]
        assert got == recorded
