"""Late and changed logs: a night looks at the days before it, and only what changed is verified again."""

from __future__ import annotations

import json
import shutil
from datetime import date, timedelta
from itertools import permutations

import pytest

from replay.errors import NothingReceived
from replay.lake import Lake
from replay.late import changed_days, run_nights
from replay.night import NightSettings, rebuild_standings, run_night
from tests.replay.night_support import (
    ONE,
    THREE,
    TWO,
    cli,
    dump,
    land,
    published_files,
    simulated,
    upload,
    warehouse,
    write_challenges,
)


@pytest.fixture(scope="module")
def challenges(tmp_path_factory):
    return write_challenges(tmp_path_factory.mktemp("late") / "challenges.csv")


def settings(challenges=None):
    return NightSettings(threads=1, challenges=challenges)


def test_only_published_days_whose_files_changed_are_named(tmp_path, challenges):
    lake = Lake(tmp_path / "lake")
    for day in (ONE, TWO):
        land(lake.root, day, "a.ndjson", [upload(f"g-{day}", "p1", day)])
        run_night(lake, day, settings(challenges))
    assert changed_days(lake, THREE, 3) == []
    # A day before that was never published is left to its own night, however many files it has.
    land(lake.root, ONE - timedelta(days=1), "a.ndjson", [upload("g-0", "p1", ONE - timedelta(days=1))])
    assert changed_days(lake, THREE, 3) == []
    land(lake.root, TWO, "b.ndjson", [upload("g-late", "p2", TWO)])
    assert changed_days(lake, THREE, 3) == [TWO]
    path = land(lake.root, ONE, "a.ndjson", [upload(f"g-{ONE}", "p1", ONE)])
    assert changed_days(lake, THREE, 3) == [TWO]
    # The same size and other bytes; then another size; then gone.
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"p1"', b'"p9"'))
    assert changed_days(lake, THREE, 3) == [ONE, TWO]
    path.write_bytes(whole + b"\n")
    assert changed_days(lake, THREE, 3) == [ONE, TWO]
    path.unlink()
    assert changed_days(lake, THREE, 3) == [ONE, TWO]
    assert changed_days(lake, THREE, 1) == [TWO]
    assert changed_days(lake, THREE, 0) == []
    # However far it is told to look: no calendar begins before its first day.
    assert changed_days(lake, THREE, 2**80) == [ONE, TWO]
    assert changed_days(lake, date.min, 3) == []


def test_e2_a_late_better_attempt_moves_the_old_day_and_the_totals(tmp_path, challenges):
    """E2: a late file of an old day is verified by the next night, and everything that depends on it follows."""
    lake = Lake(tmp_path / "lake")
    for day in (ONE, TWO):
        land(lake.root, day, "a.ndjson", [upload(f"g-{day}", "p1", day, tokens=8), upload(f"h-{day}", "p2", day, tokens=12)])
        assert run_nights(lake, day, settings(challenges), 3).restated == ()
    land(lake.root, ONE, "late.ndjson", [upload("g-better", "p1", ONE, attempt=2, tokens=25)])
    land(lake.root, THREE, "a.ndjson", [upload("g-three", "p1", THREE)])
    nights = run_nights(lake, THREE, settings(challenges), 3)
    assert (nights.restated, nights.problems) == ((ONE,), ())
    # The same lake made day by day with everything there from the start is equal to the byte.
    other = Lake(tmp_path / "other")
    shutil.copytree(lake.root / "logs", other.root / "logs")
    for day in (ONE, TWO, THREE):
        run_night(other, day, settings(challenges))
    assert published_files(lake.root) == published_files(other.root)
    assert dump(warehouse(lake.root)) == dump(warehouse(other.root))


def test_a_day_that_cannot_be_verified_again_stays_and_is_named(tmp_path, challenges):
    lake = Lake(tmp_path / "lake")
    land(lake.root, TWO, "a.ndjson", [upload("g-two", "p1", TWO)])
    run_night(lake, TWO, settings(challenges))
    before = lake.verdict_file(TWO).read_bytes()
    (lake.day("logs", TWO) / "a.ndjson").write_bytes(b"")
    land(lake.root, THREE, "a.ndjson", [upload("g-three", "p1", THREE)])
    nights = run_nights(lake, THREE, settings(challenges), 3)
    assert nights.restated == ()
    assert len(nights.problems) == 1
    assert str(TWO) in nights.problems[0]
    assert lake.verdict_file(TWO).read_bytes() == before
    assert nights.run["records"] == 1
    done = cli("nightly", "--day", THREE, "--lake", lake.root, "--challenges", challenges, "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["problems"] == list(nights.problems)
    assert found["restated_days"] == []


def test_an_empty_day_raises_and_still_leaves_the_late_day_right(tmp_path, challenges):
    lake = Lake(tmp_path / "lake")
    land(lake.root, TWO, "a.ndjson", [upload("g-two", "p1", TWO)])
    run_night(lake, TWO, settings(challenges))
    land(lake.root, TWO, "b.ndjson", [upload("g-late", "p2", TWO)])
    with pytest.raises(NothingReceived):
        run_nights(lake, THREE, settings(challenges), 3)
    assert changed_days(lake, THREE, 3) == []


def test_twelve_nights_with_late_files_a_file_sent_again_and_an_empty_day(tmp_path):
    """Three late files, one re-sent file, one empty day over twelve nights: equal to a full rebuild and to any other order."""
    first = date(2026, 10, 20)
    days = [first + timedelta(days=i) for i in range(12)]
    lake = Lake(tmp_path / "lake")
    simulated(lake.root, 60, days, forged_share=0.2)
    empty = days[5]
    shutil.rmtree(lake.day("logs", empty))
    # What will come late is kept aside: (day it belongs to, nights later that it lands).
    held = {}
    for day, delay in ((days[1], 1), (days[3], 3), (days[8], 2)):
        path = sorted(lake.day("logs", day).iterdir())[0]
        held[day] = (delay, path.name, path.read_bytes())
        path.unlink()
    again = sorted(lake.day("logs", days[6]).iterdir())[-1]
    whole = again.read_bytes()
    for number, day in enumerate(days):
        for origin, (delay, name, data) in held.items():
            if day == origin + timedelta(days=delay):
                (lake.day("logs", origin) / name).write_bytes(data)
        if number == 6 and again.suffix == ".ndjson":
            again.write_bytes(whole[: len(whole) // 2])
        if number == 8:
            again.write_bytes(whole)
        run_nights(lake, day, settings(), 3, allow_empty=day == empty)
    before = dump(warehouse(lake.root))
    rebuild_standings(lake, settings())
    assert dump(warehouse(lake.root)) == before
    for number, order in enumerate((sorted(days), sorted(days, reverse=True), next(permutations(days[6:] + days[:6])))):
        other = Lake(tmp_path / f"other-{number}")
        shutil.copytree(lake.root / "logs", other.root / "logs")
        for day in order:
            run_night(other, day, settings(), allow_empty=day == empty)
        assert published_files(other.root) == published_files(lake.root), order
        assert dump(warehouse(other.root)) == before, order
