"""The recorded days in fixtures/: every line is judged as its truth says, and to the last field as recorded."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replay.adhoc import verify_files
from replay.forgeries import variants_of
from replay.night import NightSettings
from tests.hostile_day import expected_text, games_text

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


# The largest kernel takes a minute to compile with its indices checked: that, its own tests of batches do.
@pytest.mark.parametrize(("switch", "games"), [("NUMBA_DISABLE_JIT", GAMES), ("NUMBA_BOUNDSCHECK", ("blocks", "tetromino"))])
def test_verdicts_uncompiled_and_with_bounds_checked(switch, games, tmp_path):
    """The whole path, reader and engines, gives the same lines with compilation off and with every index checked."""
    days = [FIXTURES / f"{game}-day" for game in games]
    for day in days:
        shutil.copy(day / "games.ndjson", tmp_path / f"{day.name}.ndjson")
    # All games in one process: what is not compiled yet is compiled anew under the switch, once.
    files = [str(tmp_path / f"{day.name}.ndjson") for day in days]
    command = [sys.executable, "-m", "replay", "verify", *files, "--json", "--threads", "1"]
    environment = os.environ | {switch: "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    recorded = [line for day in days for line in lines(day, "verdicts.ndjson")]
    for number, (wanted, text) in enumerate(zip(recorded, done.stdout.splitlines(), strict=True), start=1):
        got = json.loads(text)
        del got["source"]["file"]
        assert got == wanted, f"line {number} of all, game {got['game_id']}: expected {wanted}, got {got}"


# --- The hostile day -----------------------------------------------------------------------------------------------------


def test_the_hostile_day_is_as_its_texts_say():
    """Both files are what ``python -m tests.hostile_day`` writes."""
    assert (FIXTURES / "hostile-day" / "games.ndjson").read_text("ascii") == games_text()
    assert (FIXTURES / "hostile-day" / "expected.json").read_text("ascii") == expected_text()


def test_hostile_lines_are_judged_as_expected():
    """D8: each text in each field gives the verdict that was written down beside it; a lone surrogate is quarantined."""
    folder = FIXTURES / "hostile-day"
    wanted = json.loads((folder / "expected.json").read_text("ascii"))["lines"]
    got = verify_files([folder / "games.ndjson"], NightSettings().verifier(), threads=1)
    for expected, found in zip(wanted, got, strict=True):
        where = f"line {expected['line']}, {expected['text']} in {', '.join(expected['fields'])}"
        codes = [reason["code"] for reason in found["reasons"]]
        assert found["verdict"] == expected["verdict"], where
        assert codes == (expected["reasons"] or ([expected["code"]] if expected["code"] else [])), where
        assert found["suspicions"] == expected["suspicions"], where
