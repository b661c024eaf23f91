"""The report of a night: made from what is published, compared with the nights before, harmless to read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from replay.errors import InputError
from replay.lake import Lake
from replay.night import NightSettings, run_night
from replay.report import make_report, write_report
from tests.replay.night_support import ONE, THREE, TWO, land, upload, write_challenges


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
