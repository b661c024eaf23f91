"""E1, E2: nights over several days, with late files, decisions and restating between them, killed at any moment and run again.

REPLAY_KILLS sets how many processes are killed here (6); REPLAY_KILL_SEED another order of moments.  ``make kills KILLS=200``.
"""

from __future__ import annotations

import os
import shutil

import pytest

from tests.replay.killing import STEPS, Killer, processes, run_clean
from tests.replay.night_support import ONE, THREE, TWO, check_run

KILLS = int(os.environ.get("REPLAY_KILLS", "6"))
SEED = int(os.environ.get("REPLAY_KILL_SEED", "1"))


@pytest.fixture(scope="module")
def context():
    return processes()


@pytest.fixture(scope="module")
def clean(context, tmp_path_factory):
    return run_clean(tmp_path_factory.mktemp("clean"), context)


def test_the_undisturbed_days_hold_what_they_are_for(clean):
    """Each step changes what is published, late files and decisions among it."""
    assert len({repr(after) for after in clean.after}) == len(STEPS)
    assert all(steps > 10 for steps in clean.steps), clean.steps
    for number, days in {0: 1, 1: 2, 3: 3}.items():
        assert len([name for name in clean.after[number][0] if name.startswith("runs/")]) == days
    lake = clean.prepared[0].parent / "lake"
    files = [len(check_run(lake, day)["inputs"]) for day in (ONE, TWO, THREE)]
    first = [len(list((clean.prepared[0] / "logs" / f"day={day}").glob("*.ndjson"))) for day in (ONE, TWO, THREE)]
    assert [now - then for now, then in zip(files, first, strict=True)] == [3, 2, 1], "files that came late"
    (publication,) = clean.after[-1][1]["main.publication"]
    assert 6 in publication, "all decisions went in"


@pytest.mark.kill
def test_e1_kills_at_any_moment_of_several_days(clean, context, tmp_path):
    """E1, E2: killed anywhere and run again, each step leaves what the undisturbed one left, byte for byte, over and over."""
    killer = Killer(clean, context, tmp_path / "lake", SEED)
    killer.run(KILLS)
    assert killer.done.total() == KILLS
    print(f"{KILLS} kills, seed {SEED}: {dict(killer.done)}")  # noqa: T201


@pytest.mark.kill
def test_a_difference_would_be_seen(clean, context, tmp_path):
    """The comparison fails on one byte and on one row."""
    lake = tmp_path / "lake"
    shutil.copytree(clean.prepared[1], lake)
    killer = Killer(clean, context, lake, SEED)
    killer.compare(0)
    run = next((lake / "runs").rglob("run.json"))
    run.write_bytes(run.read_bytes() + b" ")
    with pytest.raises(AssertionError, match="night of day 1"):
        killer.compare(0)
