"""Records, logs and files broken in every way that a seed draws: nothing crashes, nothing is uncounted, readers, engines and slow
twins agree, memory stays bounded.

REPLAY_FUZZ_ROUNDS sets how many rounds are run (40); ``make fuzz FUZZ_SECONDS=600`` runs for longer, from a new seed, which it
prints.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings

from replay import ndjson
from replay.errors import EngineDisagreement
from replay.verdict import VERDICTS
from tests.fuzz import campaign, check, mutate, strategies
from tests.fuzz.campaign import FOUND, Campaign, kept_files, run_apart, smaller
from tests.fuzz.claims import owed_reasons, reclaimed
from tests.replay.night_support import ROOT

ROUNDS = int(os.environ.get("REPLAY_FUZZ_ROUNDS", "40"))
SEED = 20261031
# Beyond what the process holds when it is warm, for files of up to 96 MiB when they are unpacked.
BOMBS_MIB = 512


def test_rounds_of_broken_files(tmp_path):
    """Crash, count, readers, engines, twins, sentences, memory; every verdict comes up, so that each of them was looked at.

    But for the one that games are given for what others are: those of a night.
    """
    done, found = run_apart(SEED, tmp_path, rounds=ROUNDS)
    assert found == [], [json.loads((tmp_path / name).read_text("ascii")) for name in found]
    assert done["rounds"] == ROUNDS
    assert done["nights"] == ROUNDS // campaign.NIGHT_EVERY
    for verdict in set(VERDICTS) - {"withheld"}:
        assert ROUNDS < 40 or done[verdict] > 1, f"{verdict}: {done}"


@given(strategies.files)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_drawn_uploads(files):
    """The same of uploads that Hypothesis draws, and makes small when they fail."""
    assert check.check_files(files) == []


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in sorted(FOUND.glob("*.json"))])
def test_what_a_run_found_stays_mended(path):
    """Inputs that failed once."""
    files = kept_files(path)
    assert check.check_files(files) == []
    assert check.check_night(files, shard_games=1) == []


def test_small_files_that_hold_much_take_bounded_memory():
    """E9: bombs of gzip, zstd and Parquet, giant tokens, deep nests: each is accounted for within a stated bound of memory."""
    done = subprocess.run([sys.executable, "-m", "tests.fuzz.bombs"], cwd=ROOT, capture_output=True, check=True, timeout=300)
    told = json.loads(done.stdout)
    for name, held in told["files"].items():
        assert held["found"] == held["wanted"], f"{name}: {held}"
    assert told["more"] < BOMBS_MIB, f"MiB beyond the {told['warm']} of a warm process, by file: {told['files']}"


@pytest.mark.parametrize("lines", [1, 3, 40])
def test_blocks_of_many_lines_are_scanned_in_pieces(monkeypatch, lines):
    """Every line is there once under its own number, however small the pieces are that a block is cut into."""
    monkeypatch.setattr(ndjson, "_MANY_LINES", lines)
    found = [b"", b"x", *mutate.corpus("blocks-day")[:8], b"", b"", *[b"1"] * 20, *mutate.corpus("tetcolor-day")[:3], b"\r"]
    for data in (b"\n".join(found), b"\n" * 9 + b"\n".join(found) + b"\n" * 9):
        assert check.check_files({"0.ndjson": data}) == []


# --- The run itself can fail ----------------------------------------------------------------------------------------------


def run_with(monkeypatch, tmp_path, spoil, rounds=12):
    """What a short run finds when the verifier's rows are spoilt on the way out."""
    whole = check.verify_files
    monkeypatch.setattr(check, "verify_files", lambda *args, **kw: spoil(list(whole(*args, **kw))))
    found = Campaign(SEED, tmp_path, tell=lambda text: None)
    monkeypatch.setattr(found, "draw", lambda number: None)
    monkeypatch.setattr(campaign, "SMALLER_CHECKS", 12)
    while not found.kept and found.rounds < rounds:
        found.run(rounds=found.rounds + 1, first=0)
    return found


def _lose_one(rows):
    return rows[:-1]


def _believe_all(rows):
    return [row | {"verdict": "verified", "reasons": []} if row["verdict"] == "flagged" else row for row in rows]


def _break_lines(rows):
    broken = [{"code": "json", "claimed": None, "found": "one\ntwo", "move": None}]
    return [row | {"reasons": broken} if row["verdict"] == "quarantined" else row for row in rows]


def _swap_numbers(rows):
    return [row | {"claimed": row["claimed"] | {"score": 1}} if row["claimed"] else row for row in rows]


def _disagree(rows):
    if any(row["verdict"] == "flagged" for row in rows):
        raise EngineDisagreement("planted")
    return rows


@pytest.mark.parametrize(
    ("spoil", "kinds"),
    [
        (_lose_one, {"count"}), (_believe_all, {"engines", "twin"}), (_break_lines, {"words"}), (_swap_numbers, {"engines"}),
        (_disagree, {"crash"}),
    ],
)
def test_a_planted_fault_is_found_and_kept(monkeypatch, tmp_path, spoil, kinds):
    found = run_with(monkeypatch, tmp_path, spoil)
    assert found.kept, f"{found.rounds} rounds saw nothing"
    told = json.loads(found.kept[0].read_text("ascii"))
    assert told["fault"] in kinds
    assert {fault.kind for fault in check.check_files(kept_files(found.kept[0]))} & kinds
    monkeypatch.undo()
    assert check.check_files(kept_files(found.kept[0])) == [], "what was kept is fine with the verifier as it is"


def test_a_verdict_that_a_twin_denies_is_told(monkeypatch):
    """An honest record called forged and a forged one called honest, by both engines at once: the twin alone can tell."""
    record = next(r for r in mutate.sound("blocks-day") if owed_reasons(r) == set())
    fine = {"verdict": "verified", "reasons": []}
    wrong = {"verdict": "flagged", "reasons": [{"code": "score_mismatch"}]}
    assert check.check_twin(record, fine) == []
    assert [fault.kind for fault in check.check_twin(record, wrong)] == ["twin"]
    forged = dataclasses.replace(record, score=record.score + 1)
    assert owed_reasons(forged) == {"score_mismatch"}
    assert check.check_twin(forged, wrong) == []
    assert [fault.kind for fault in check.check_twin(forged, fine)] == ["twin"]
    assert reclaimed(forged) == record


def test_memory_beyond_the_bound_is_told(monkeypatch, tmp_path):
    found = Campaign(SEED, tmp_path, tell=lambda text: None)
    found.rounds = campaign.WARM_ROUNDS
    monkeypatch.setattr(found, "_warm", -campaign.MOST_MEMORY)
    assert [fault.kind for fault in found.memory(0)] == ["memory"]


def test_a_process_that_dies_is_found_and_the_run_goes_on(tmp_path):
    """The input of a round that ends the process is kept; the rounds behind it are run."""
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom tests.fuzz import campaign\n"
        "work = campaign._work\n"
        "if __name__ == '__main__':\n    print(*campaign.run_apart(7, Path(sys.argv[1]), rounds=4))\n"
        "else:\n"
        "    whole = campaign.Campaign.round\n"
        "    def round(self, number):\n"
        "        self.note_current(number, {'0.ndjson': b'{}'})\n"
        "        os.kill(os.getpid(), signal.SIGKILL) if number == 1 else None\n"
        "    campaign.Campaign.round = round\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code, "utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, script, tmp_path / "found"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'rounds': 4" in done.stdout, done.stdout
    (kept,) = (tmp_path / "found").glob("*.json")
    assert kept.name == "crash-process-1.json"
    assert kept_files(kept) == {"0.ndjson": b"{}"}


def test_what_fails_is_made_small():
    files = {"0.ndjson": b"x" * 500 + b"needle" + b"y" * 300, "1.ndjson": b"z" * 100}
    tried = smaller(files, lambda found: any(b"needle" in data for data in found.values()))
    assert tried == {"0.ndjson": b"needle"}


def test_the_same_seed_gives_the_same_files():
    once, again = (mutate.broken_files(random.Random("7 7")) for _ in range(2))
    assert once == again
