"""Flags that are held back on days whose uploads are related: retries of what counts, and days that come in late."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from replay.lake import Lake
from replay.night import read_run
from tests.replay.broken_app import BROKEN, FINE, SHORT, app_games, land_day, lying_games
from tests.replay.held_lake import FEW, LIES, break_rules, copy_of, held_lake
from tests.replay.night_support import (
    ONE,
    THREE,
    TWO,
    ask,
    by_game,
    check_run,
    everything,
    land,
    night,
    published_files,
    upload,
    write_challenges,
)

FOUR = THREE + timedelta(days=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return held_lake(tmp_path_factory.mktemp("made"))


@pytest.fixture
def broken(made, tmp_path):
    """The last day was verified again under broken rules: most of its games are held back and count as before."""
    lake = copy_of(made, tmp_path / "copy")
    break_rules(lake)
    return lake


def run(lake, day):
    """A night under the broken rules."""
    return night(lake, day, challenges=lake.parent / "challenges.csv", rules=lake.parent / "rules")


def total_of(lake, player):
    return ask(lake, "select total from totals where player_id = ?", player)


def test_b7_a_retry_that_comes_in_as_the_first_one_takes_no_standing_away(broken):
    """B6, B7: the phone sent it twice, under two ids, and the file with the first try came late: one game, which counts on."""
    (game,) = app_games(FINE[0], THREE, 6)[5:]
    stood = total_of(broken, game.player_id)
    retry = replace(game, game_id="first-try", uploaded_at=game.uploaded_at - 1)
    land(broken, THREE, "first-tries.ndjson", [retry, replace(retry, player_id="p-new", game_id="of-another")])
    counted = check_run(broken, THREE)["verdicts"]["counted"]
    run(broken, THREE)
    rows = by_game(broken, THREE)
    found = {name: (rows[name]["verdict"], rows[name]["counted"]) for name in ("first-try", "of-another", game.game_id)}
    assert found == {"first-try": ("withheld", True), "of-another": ("withheld", False), game.game_id: ("copy", False)}
    assert check_run(broken, THREE)["verdicts"]["counted"] == counted
    assert total_of(broken, game.player_id) == stood
    again = everything(broken)
    run(broken, THREE)
    assert everything(broken) == again
    (broken / "logs" / f"day={THREE}" / "first-tries.ndjson").unlink()
    run(broken, THREE)
    assert by_game(broken, THREE)[game.game_id]["counted"] and total_of(broken, game.player_id) == stood


def test_b7_a_retry_that_lands_on_another_day_takes_no_standing_away(broken):
    """The same with the next day's files; without them again, the day before counts as it did."""
    (game,) = app_games(FINE[0], THREE, 6)[5:]
    stood = total_of(broken, game.player_id)
    mended = [upload(f"s-{n}", f"p-s{n}", FOUR, tokens=SHORT) for n in range(5)]
    land_day(broken, FOUR, mended, games=FEW)
    late = land(broken, FOUR, "late.ndjson", [replace(game, game_id="first-try", uploaded_at=game.uploaded_at - 1)])
    run(broken, FOUR)
    assert (by_game(broken, FOUR)["first-try"]["counted"], by_game(broken, THREE)[game.game_id]["verdict"]) == (True, "copy")
    assert total_of(broken, game.player_id) == stood
    check_run(broken, FOUR)
    again = everything(broken)
    for day in (THREE, FOUR):
        run(broken, day)
    assert everything(broken) == again
    late.unlink()
    run(broken, FOUR)
    row = by_game(broken, THREE)[game.game_id]
    assert (row["verdict"], row["counted"]) == ("withheld", True)
    assert total_of(broken, game.player_id) == stood


def test_a_day_that_a_late_night_changes_is_decided_by_what_that_night_says(tmp_path):
    """The app is new and broken on two days, of which the first comes in last: what was usual before it is usual for both."""
    lake, challenges = tmp_path / "lake", write_challenges(tmp_path / "challenges.csv")
    first = ONE - timedelta(days=1)
    land_day(lake, first, app_games(BROKEN, first, FEW), games=FEW)
    lying = lying_games(TWO, FEW, LIES)
    land_day(lake, TWO, lying, games=FEW)
    again = replace(lying[3], player_id="p-other", uploaded_at=lying[3].uploaded_at - 1)
    land_day(lake, ONE, [*lying_games(ONE, FEW, LIES), again], games=FEW)
    for day in (first, TWO, ONE):
        night(lake, day, challenges=challenges)
    (incident,) = read_run(Lake(lake), TWO)["incidents"]
    assert (incident["held"], incident["past_of"], incident["past_games"]) == (LIES - 1, "platform", 3 * FEW)
    published = published_files(lake)
    night(lake, TWO, challenges=challenges)
    assert published_files(lake) == published, "a night that runs again gives the same"
