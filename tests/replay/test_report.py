"""The report of a night: made from what is published, compared with the nights before, harmless to read."""

from __future__ import annotations

import json
from dataclasses import replace
from time import monotonic

import pytest

from replay.errors import InputError
from replay.lake import Lake
from replay.night import NightSettings, run_night
from replay.report import FarAbove, as_markdown, make_report, read_report, write_report
from replay.shards import Shard
from replay.timings import ShardTime, Timings
from tests.replay.night_support import ONE, THREE, TWO, cli, land, upload, write_challenges


@pytest.fixture
def lake(tmp_path):
    challenges = write_challenges(tmp_path / "challenges.csv")
    place = Lake(tmp_path / "lake")
    for day in (ONE, TWO, THREE):
        games = [upload(f"g{i}-{day}", f"p{i}", day, seed=i % 5) for i in range(10)]
        # One flag of ten on the first days, four on the last, all of one client.
        for i in range(4 if day == THREE else 1):
            games[i] = replace(games[i], score=games[i].score + 1, app_version="9|<b>\x1b[2J")
        if day == THREE:
            games.append(upload("late", "p-late", ONE))
        land(place.root, day, "a.ndjson", games)
        run_night(place, day, NightSettings(threads=1, challenges=challenges))
    return place


def test_rates_against_the_nights_before(lake):
    report = make_report(lake, THREE)
    counts = {name: report["counts"][name] for name in ("records", "verified", "flagged", "copy", "counted", "quarantined")}
    assert counts == {"records": 11, "verified": 7, "flagged": 4, "copy": 0, "counted": 7, "quarantined": 0}
    assert report["nights_compared"] == 2
    assert report["rates"]["reasons"] == [
        {"name": "score_mismatch", "flagged": 4, "games": 11, "usual_flagged": 2, "usual_games": 20}
    ]
    client = report["rates"]["clients"][0]
    assert (client["flagged"], client["games"], client["usual_flagged"], client["usual_games"]) == (4, 4, 2, 2)


def test_e2_late_games_are_named_with_their_delay(lake):
    """E2: late games stay visible, with the days of their delay."""
    assert make_report(lake, THREE)["late"] == [{"challenge": str(ONE), "days": 2, "games": 1}]
    assert make_report(lake, TWO)["late"] == []


def test_standings_changed_names_the_challenges_that_moved(lake):
    """The night's own challenge is all new; the old one got a player by a late game."""
    changed = {row["challenge"]: row["players_new"] for row in make_report(lake, THREE)["standings_changed"]}
    assert changed == {str(THREE): 6, str(ONE): 1}


def test_the_first_night_has_nothing_to_compare_with(lake):
    report = make_report(lake, ONE)
    assert report["nights_compared"] == 0
    assert all(row["usual_games"] is None for rows in report["rates"].values() for row in rows)


# On the last day score_mismatch is at 4 of 11 games and was at 2 of 20: 40/11 is more than 3.6 times the usual, less than 3.7.
@pytest.mark.parametrize(("times", "least", "names"), [
    (2, 4, ["score_mismatch"]), (3, 1, ["score_mismatch"]), (4, 1, []), (2, 5, []), (1, 1, ["score_mismatch"]),
])  # fmt: skip
def test_what_stands_out_is_above_both_the_usual_and_the_least(lake, times, least, names):
    """The client of all the flags is flagged as ever (all of its games), so it is the reason that stands out."""
    found = make_report(lake, THREE, FarAbove(times, least))
    assert [row["name"] for row in found["stands_out"]] == names
    assert found["stands_out_rule"] == {"times": times, "least": least}
    page = as_markdown(found)
    if names:
        assert "- reason **score_mismatch**: 4 of 11 games flagged, 363.6 per 1,000; usual is 100.0" in page
        assert f"at more than {times} times the rate of the 2 nights before" in page
    else:
        assert "Nothing stands out" in page


def test_a_rate_on_the_border_does_not_stand_out(tmp_path):
    """Twice the usual to the game: 1 of 10 before, 2 of 10 now; one more is above."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    place = Lake(tmp_path / "lake")
    for day, bad in ((ONE, 1), (TWO, 2), (THREE, 3)):
        games = [upload(f"g{i}-{day}", f"p{i}", day, seed=i % 5) for i in range(10)]
        games[:bad] = [replace(game, score=game.score + 1) for game in games[:bad]]
        land(place.root, day, "a.ndjson", games)
        run_night(place, day, NightSettings(threads=1, challenges=challenges))
    assert make_report(place, TWO, FarAbove(2, 1))["stands_out"] == []
    # Before the last day: 3 of 20.  3 of 10 is twice that, to the game.
    assert make_report(place, THREE, FarAbove(2, 1))["stands_out"] == []
    assert {row["name"] for row in make_report(place, THREE, FarAbove(1, 1))["stands_out"]} >= {"score_mismatch"}


def test_a_client_never_seen_before_is_held_against_all(tmp_path):
    """A broken new version is told in its first night, though it has no past of its own, whatever else is in that night."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    place = Lake(tmp_path / "lake")
    for day in (ONE, TWO):
        games = [upload(f"g{i}-{day}", f"p{i}", day, seed=i % 5) for i in range(10)]
        games[0] = replace(games[0], score=games[0].score + 1)
        if day == TWO:
            # Sixty clients that nobody has heard of, wholly flagged, but with one game each.
            games += [upload(f"x{i}", f"x{i}", day, score=7, app_version=f"0.{i}") for i in range(60)]
            games += [upload(f"new{i}", f"n{i}", day, seed=1, **({"score": 7} if i < 3 else {}), app_version="3.0") for i in range(5)]
        land(place.root, day, "a.ndjson", games)
        run_night(place, day, NightSettings(threads=1, challenges=challenges))
    found = [row for row in make_report(place, TWO, FarAbove(2, 3))["stands_out"] if row["kind"] == "client"]
    assert [(row["name"].split()[-1], row["flagged"], row["games"]) for row in found] == [("3.0", 3, 5)]
    assert (found[0]["usual_flagged"], found[0]["usual_games"], found[0]["usual_of"]) == (1, 10, "all clients")
    assert "usual is 100.0 of all clients, as this one is new" in as_markdown(make_report(place, TWO, FarAbove(2, 3)))


def test_a_day_with_no_past_says_so(lake):
    found = make_report(lake, ONE, FarAbove(1, 1))
    assert found["stands_out"] is None
    assert "No night was published before this one" in as_markdown(found)


def test_the_slowest_shard_and_the_seconds_of_each_step(lake):
    timings = Timings({"publish": 1.25, "pull": 0.5}, [ShardTime(1, "b.gz", 900, 3.0), ShardTime(0, "a|<.gz", 1000, 2.0)])
    timings.shard(Shard(2, "c.gz", "c.gz"), 5, began=monotonic())
    assert (timings.shards[2].number, timings.shards[2].records) == (2, 5)
    assert 0 <= timings.shards.pop().seconds < 1
    found = make_report(lake, THREE, timings=timings)
    slowest = {"number": 1, "file": "b.gz", "records": 900, "seconds": 3.0, "games_per_second": 300}
    assert found["timings"] == {"steps": {"pull": 0.5, "verify": 5.0, "publish": 1.25}, "slowest_shard": slowest}
    assert list(found["timings"]["steps"]) == ["pull", "verify", "publish"]
    assert "The slowest shard was number 1, of b.gz: 900 records in 3.0 s, 300 games/s." in as_markdown(found)
    # Nothing else depends on what was measured, and a night that was not measured says nothing.
    bare = make_report(lake, THREE)
    assert bare == {**found, "timings": None}
    assert "## Time" not in as_markdown(bare)


def test_the_command_line_tells_what_its_night_took(lake, tmp_path):
    done = cli("nightly", "--day", THREE, "--lake", lake.root, "--challenges", tmp_path / "challenges.csv", "--json")
    assert done.returncode == 0, done.stderr
    found = read_report(lake, THREE)["timings"]
    assert list(found["steps"]) == ["pull", "plan", "verify", "publish", "standings", "late"]
    assert found["slowest_shard"]["records"] == 11
    assert b'"seconds"' not in lake.run_file(THREE).read_bytes()
    assert b"timings" not in lake.run_file(THREE).read_bytes()


def test_a_report_that_is_not_there_is_an_error(lake):
    with pytest.raises(InputError, match="run the night's report again"):
        read_report(lake, THREE)


def test_written_twice_it_is_the_same_and_no_text_of_a_client_acts(lake):
    first = write_report(lake, THREE)
    folder = lake.day("reports", THREE)
    texts = [(folder / name).read_bytes() for name in ("report.json", "report.md")]
    assert write_report(lake, THREE) == first
    assert [(folder / name).read_bytes() for name in ("report.json", "report.md")] == texts
    assert json.loads(texts[0])["day"] == str(THREE)
    page = texts[1].decode()
    assert "\x1b" not in page
    assert "<b>" not in page
    assert "9\\|&lt;b>" in page
    assert sorted(path.name for path in folder.iterdir()) == ["report.json", "report.md"]


def test_a_day_that_was_not_published_is_an_error(lake):
    with pytest.raises(InputError, match="was not published"):
        make_report(lake, ONE.replace(day=1))
