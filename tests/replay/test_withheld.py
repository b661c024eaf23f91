"""Flags that are held back: nights on which an app version, or a rules file, is broken, from landed files to run.json and boards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from time import monotonic

import pytest

from replay import tasks
from replay.flag_rates import Limits
from replay.lake import Lake
from replay.night import NightSettings, rebuild_standings
from replay.relations import RELATIONAL_REASONS
from replay.rulebook import BUILT_IN
from replay.verdict import REASON_CODES
from replay.withheld import GROUP, HOLDABLE, STANDING
from tests.replay.broken_app import (
    BROKEN,
    BROKEN_FLAGS,
    BROKEN_GAMES,
    FINE,
    FLAGS,
    GAMES,
    SHORT,
    app_games,
    days_before,
    group_of,
    land_day,
    lying_games,
)
from tests.replay.night_support import (
    ONE,
    ROOT,
    THREE,
    TWO,
    ask,
    by_game,
    check_run,
    cli,
    dump,
    everything,
    land,
    night,
    published_files,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
)

LIAR = ("blocks", *BROKEN, "1.1.0")
CURRENT = ("blocks", *BROKEN, "1.2.0")
# Days of a few games, where the number of games is not what is looked at.
FEW = 60


@pytest.fixture(scope="module")
def challenges(tmp_path_factory):
    return write_challenges(tmp_path_factory.mktemp("tables") / "challenges.csv")


@pytest.fixture(scope="module")
def told(tmp_path_factory, challenges):
    """B6's day as a first night, the broken app still out on the next day, and mended on the third: the lake and its runs."""
    lake = tmp_path_factory.mktemp("told") / "lake"
    land_day(lake, ONE)
    land_day(lake, TWO, lying_games(TWO, 100, 97), games=FEW)
    land_day(lake, THREE, lying_games(THREE, 100, 2), games=FEW)
    for day in (ONE, TWO, THREE):
        night(lake, day, challenges=challenges)
    return lake, {day: check_run(lake, day) for day in (ONE, TWO, THREE)}


@pytest.fixture
def copied(told, tmp_path):
    """A copy of that lake, to change."""
    lake = tmp_path / "lake"
    shutil.copytree(told[0], lake)
    return lake


def broken_rules(root):
    """The rules files with other line points in 1.2.0: no game that cleared a line comes out under them."""
    shutil.copytree(BUILT_IN, root, ignore=lambda _, names: [name for name in names if name.endswith((".py", "__pycache__"))])
    path = root / "blocks" / "1.2.0.toml"
    text = path.read_text("utf-8")
    assert "lines = [80, 240," in text
    path.write_text(text.replace("lines = [80, 240,", "lines = [70, 230,"), "utf-8")
    return root


def boards(lake):
    """All that standings say of players."""
    found = dump(warehouse(lake))
    return {name: found[f"main.{name}"] for name in ("daily_best", "daily_ranking", "totals", "totals_month", "leaderboard")}


# --- One incident in place of 400 accusations ----------------------------------------------------------------------------


def test_b6_400_flags_of_one_app_version_are_one_incident_and_held_back(told):
    """B6: on the first night of all; nobody of them is accused, and the flags of other apps stand."""
    lake, runs = told
    run = runs[ONE]
    (incident,) = run["incidents"]
    assert group_of(incident) == LIAR
    assert (incident["games"], incident["flags"], incident["held"]) == (BROKEN_GAMES, BROKEN_FLAGS, BROKEN_FLAGS)
    assert (incident["past_of"], incident["past_games"], incident["since"]) == ("prior", 0, str(ONE))
    assert incident["chance"] == "< 1 in 10^29"
    assert run["verdicts"]["withheld"] == 400
    verdicts = {group: Counter() for group in {group_of(row) for row in verdict_rows(lake, ONE)}}
    for row in verdict_rows(lake, ONE):
        verdicts[group_of(row)][row["verdict"]] += 1
    assert verdicts == {LIAR: {"withheld": 400, "verified": 10}} | {
        ("blocks", *app, "1.2.0"): {"flagged": FLAGS, "verified": GAMES - FLAGS} for app in FINE
    }
    assert run["reasons"] == {"score_mismatch": len(FINE) * FLAGS}, "nobody is flagged for what is held back"


def test_b6_what_is_held_back_keeps_all_that_was_found_and_never_counts(told):
    """B6: strictly replayed under the version that it names; that another one gives the claim is evidence and no excuse."""
    lake, runs = told
    held = [row for row in verdict_rows(lake, ONE) if row["verdict"] == "withheld"]
    assert runs[ONE]["incidents"][0]["rules_that_agree"] == {"1.2.0": 400}
    for row in held:
        assert row["reason_codes"] == ["score_mismatch"]
        (reason,) = json.loads(row["reasons"])
        assert (reason["claimed"], reason["found"]) == (row["score"], row["replayed_score"])
        assert reason["claimed"] > reason["found"]
        assert json.loads(row["evidence"]) == {"rules_that_agree": ["1.2.0"]}
        assert not row["counted"]
    ids = [row["game_id"] for row in held]
    assert ask(lake, "select count(*) from daily_best where list_contains($1, game_id)", ids) == [(0,)]


def test_b6_a_broken_app_is_held_back_until_its_games_come_out(told):
    """B6: the second night does not take the first for usual; the mended app's games count as any others', two flags stand."""
    lake, runs = told
    (incident,) = runs[TWO]["incidents"]
    assert (group_of(incident), incident["held"], incident["since"]) == (LIAR, 97, str(ONE))
    # Its own day before was an incident: the other versions on its platform say what is usual.
    assert (incident["past_of"], incident["past_flags"], incident["past_games"]) == ("platform", 2 * FLAGS, 2 * GAMES)
    assert runs[THREE]["incidents"] == []
    mended = Counter(row["verdict"] for row in verdict_rows(lake, THREE) if group_of(row) == LIAR)
    assert mended == {"verified": 98, "flagged": 2}


def test_b6_an_unknown_rules_version_is_held_back_as_a_whole_and_a_single_one_is_flagged(tmp_path, challenges):
    """B6: 30 games of an app that is ahead of this machine's rules are held back; one that names a version of its own is not."""
    ahead = app_games(("ios", "4.0.0"), THREE, 30, rules="1.3.0")
    alone = upload("alone", "p-alone", platform="ios", app_version="4.0.0", rules="8.8.8")
    lake = land_day(tmp_path / "lake", THREE, [*ahead, alone], games=FEW, flags=0)
    run = night(lake, challenges=challenges)
    check_run(lake, THREE)
    (incident,) = run["incidents"]
    assert group_of(incident) == ("blocks", "ios", "4.0.0", "1.3.0")
    assert (incident["held"], incident["reasons"]) == (30, {"unknown_rules": 30})
    rows = by_game(lake)
    assert (rows["alone"]["verdict"], rows["alone"]["reason_codes"]) == ("flagged", ["unknown_rules"])
    assert {rows[game.game_id]["verdict"] for game in ahead} == {"withheld"}


def test_few_flags_stand_and_the_last_games_of_a_broken_app_do_not(tmp_path, challenges):
    """Nineteen of nineteen are too few to tell an app from cheats; of an app that was held back before, two are enough."""
    lake = tmp_path / "lake"
    land_day(lake, ONE, lying_games(ONE, 19, 19), games=FEW, flags=0)
    land_day(lake, TWO, lying_games(TWO, 20, 20), games=FEW, flags=0)
    land_day(lake, THREE, lying_games(THREE, 3, 3), games=FEW, flags=0)
    held = [night(lake, day, challenges=challenges)["verdicts"]["withheld"] for day in (ONE, TWO, THREE)]
    assert held == [0, 20, 3]
    run = check_run(lake, THREE)
    assert [(group_of(found), found["since"]) for found in run["incidents"]] == [(LIAR, str(TWO))]
    # Nineteen flags of nineteen games were no past to go by: the platform's other versions were.
    assert check_run(lake, TWO)["incidents"][0]["past_of"] == "platform"
    later = THREE + timedelta(days=1)
    land_day(lake, later, lying_games(later, 3, 3), games=FEW, flags=0)
    assert night(lake, later, challenges=challenges, withhold=Limits(alpha_per_million=0))["verdicts"]["withheld"] == 0


# --- What is no matter of an app -----------------------------------------------------------------------------------------


def test_every_reason_is_a_matter_of_the_app_or_of_the_upload():
    assert set(HOLDABLE) | set(STANDING) == set(REASON_CODES)
    assert not set(HOLDABLE) & set(STANDING)
    assert set(RELATIONAL_REASONS) <= set(STANDING)
    assert all(why.strip() for why in (*HOLDABLE.values(), *STANDING.values()))


def test_flags_for_who_sent_what_and_when_stand_and_are_no_part_of_the_share(tmp_path, challenges):
    """Thirty fourth attempts of one app are thirty flags; beside forty wrong scores they stand, and so does a game with both."""
    attempts = app_games(("ios", "4.0.0"), THREE, 30, attempt=4)
    lake = land_day(tmp_path / "attempts", THREE, attempts, games=FEW, flags=0)
    assert night(lake, challenges=challenges)["incidents"] == []
    wrong = app_games(("ios", "4.0.0"), THREE, 40, flags=40)
    wrong = [replace(game, game_id=f"w-{game.game_id}", player_id=f"w-{game.player_id}") for game in wrong]
    both = [replace(game, attempt=4) for game in wrong[:5]]
    lake = land_day(tmp_path / "both", THREE, [*attempts[:5], *both, *wrong[5:]], games=FEW, flags=0)
    run = night(lake, challenges=challenges)
    check_run(lake, THREE)
    (incident,) = run["incidents"]
    assert (incident["games"], incident["flags"], incident["held"]) == (45, 35, 35)
    rows = by_game(lake)
    for game in both:
        assert (rows[game.game_id]["verdict"], rows[game.game_id]["reason_codes"]) == ("flagged", ["score_mismatch", "attempt_limit"])


@pytest.mark.parametrize(("limits", "held"), [
    (Limits(), 40), (Limits(least=40), 40), (Limits(least=41), 0), (Limits(alpha_per_million=0), 0), (Limits(times=4), 0),
    (Limits(times=2), 40),
])  # fmt: skip
def test_the_limits_decide(tmp_path, challenges, limits, held):
    """Forty of forty on a first night, where a quarter is usual."""
    lake = land_day(tmp_path / "lake", THREE, lying_games(THREE, 42, 40), games=FEW, flags=0)
    run = night(lake, challenges=challenges, withhold=limits)
    assert run["verdicts"]["withheld"] == held
    assert run["withhold"]["least"] == limits.least
    assert run["verdicts"]["flagged"] == 40 - held


def test_a_past_is_the_published_days_before_and_no_later_one(tmp_path, challenges):
    """An app half of whose games are flagged day after day is no news; the days after a day say nothing about it."""
    lake = tmp_path / "lake"
    usual = {day: app_games(BROKEN, day, 200, 40) for day in (ONE, TWO)}
    for day, games in usual.items():
        land_day(lake, day, games, games=FEW, flags=0)
        assert night(lake, day, challenges=challenges)["incidents"] == [], "a fifth on a first night, and as before"
    land_day(lake, THREE, app_games(BROKEN, THREE, 200, 130), games=FEW, flags=0)
    (incident,) = night(lake, THREE, challenges=challenges)["incidents"]
    assert (incident["past_of"], incident["past_flags"], incident["past_games"]) == ("own", 80, 400)
    published = published_files(lake, [ONE, TWO])
    assert night(lake, TWO, challenges=challenges)["incidents"] == []
    assert published_files(lake, [ONE, TWO]) == published
    assert night(lake, THREE, challenges=challenges, withhold=Limits(days=1))["incidents"][0]["past_games"] == 200


def test_held_back_since_goes_back_beyond_what_is_looked_at(tmp_path, challenges):
    """With two days of past the fourth night still knows of the first; a day without a game of the app breaks no row."""
    lake = tmp_path / "lake"
    days = [*days_before(THREE, 4), THREE]
    for day in days:
        broken = app_games(FINE[0], day, 1) if day == days[2] else lying_games(day, 30, 29)
        broken = [replace(game, game_id="x" + game.game_id, player_id="x" + game.player_id) for game in broken]
        land_day(lake, day, broken, games=FEW, flags=0)
        run = night(lake, day, challenges=challenges, withhold=Limits(days=2))
        assert [found["since"] for found in run["incidents"]] == ([] if day == days[2] else [str(days[0])]), day


def test_an_app_is_held_back_as_long_as_it_is_broken_and_does_not_become_usual(tmp_path, challenges):
    """The only app there is, a third of whose games are wrong: when all days that are looked at were held back, what was usual
    before them still is."""
    lake = tmp_path / "lake"
    days = [*days_before(THREE, 5), THREE]
    for day in days:
        land(lake, day, "a.ndjson", app_games(BROKEN, day, 90, 0 if day == days[0] else 30))
        run = night(lake, day, challenges=challenges, withhold=Limits(days=2))
        told = [(found["held"], found["past_of"], found["past_games"], found["since"]) for found in run["incidents"]]
        assert told == ([] if day == days[0] else [(30, "own", 90, str(days[1]))]), day
    anew = {day: (lake / "runs" / f"day={day}" / "run.json").read_bytes() for day in days}
    for day in days:
        night(lake, day, challenges=challenges, withhold=Limits(days=2))
    assert {day: (lake / "runs" / f"day={day}" / "run.json").read_bytes() for day in days} == anew


# --- The last standing is kept -------------------------------------------------------------------------------------------


def test_b6_a_day_verified_again_under_broken_rules_keeps_everybodys_standing(tmp_path, challenges):
    """B6: what counted before counts on, though held back; what comes in only now does not; mended rules restore all of it."""
    lake = tmp_path / "lake"
    for day in (ONE, TWO):
        short = [upload(f"s-{day}-{n}", f"p-s{n}", day, tokens=SHORT, platform="ios", app_version="3.1.5") for n in range(5)]
        land_day(lake, day, short, games=FEW)
        night(lake, day, challenges=challenges)
    before, stood = everything(lake), boards(lake)
    rules = broken_rules(tmp_path / "rules")
    run = night(lake, TWO, challenges=challenges, rules=rules)
    check_run(lake, TWO)
    assert len(run["incidents"]) == len(FINE)
    counted = len(FINE) * (FEW - FLAGS)
    assert (run["verdicts"]["withheld"], run["verdicts"]["verified"]) == (len(FINE) * FEW, 5)
    assert sum(found["counted_before"] for found in run["incidents"]) == counted
    assert run["verdicts"]["counted"] == counted + 5
    assert boards(lake) == stood
    again = everything(lake)
    night(lake, TWO, challenges=challenges, rules=rules)
    assert everything(lake) == again, "a night that runs again finds what it published"
    late = app_games(("android", "3.2.0"), TWO, 1)[0]
    land(lake, TWO, "late.ndjson", [replace(late, game_id="late", player_id="p-late")])
    night(lake, TWO, challenges=challenges, rules=rules)
    row = by_game(lake, TWO)["late"]
    assert (row["verdict"], row["counted"]) == ("withheld", False)
    assert boards(lake)["totals"] == stood["totals"]
    (lake / "logs" / f"day={TWO}" / "late.ndjson").unlink()
    night(lake, TWO, challenges=challenges)
    assert everything(lake) == before


def test_another_upload_than_the_one_that_counted_does_not_count(tmp_path, challenges):
    """The same game with another claim, board or player is another one, whatever counted before; under another id it is not."""
    lake = tmp_path / "lake"
    land_day(lake, ONE, [upload("s", "p-s", ONE, tokens=SHORT)], games=FEW, flags=0)
    games = [game for app in FINE for game in app_games(app, ONE, FEW)]
    night(lake, ONE, challenges=challenges)
    games[0] = replace(games[0], score=games[0].score + 1)
    games[1] = replace(games[1], player_id="p-another")
    games[2] = replace(games[2], game_id="g-another")
    games[3] = replace(games[3], best_combo=games[3].best_combo + 1)
    games[4] = replace(games[4], uploaded_at=games[4].uploaded_at + 1, app_version="3.2.0")
    land(lake, ONE, "fine.ndjson", games)
    night(lake, ONE, challenges=challenges, rules=broken_rules(tmp_path / "rules"))
    check_run(lake, ONE)
    rows = by_game(lake, ONE)
    assert {rows[game.game_id]["verdict"] for game in games} == {"withheld"}
    assert [rows[game.game_id]["counted"] for game in games[:6]] == [False, False, True, False, True, True]
    # By another challenge table the day has other rules, and no game of these ever counts.
    table = tmp_path / "challenges.csv"
    table.write_text(challenges.read_text("utf-8").replace(f"{ONE},daily,1.2.0", f"{ONE},daily,1.1.0"), "utf-8")
    run = night(lake, ONE, challenges=table, rules=tmp_path / "rules")
    assert (run["verdicts"]["withheld"], run["verdicts"]["counted"]) == (len(games), 0)


def test_a_lake_made_anew_from_its_logs_counts_nothing_that_is_held_back(told, tmp_path, challenges):
    """Nothing was published there before; all else is the same."""
    lake, runs = told
    anew = tmp_path / "lake"
    shutil.copytree(lake / "logs", anew / "logs")
    for day in (ONE, TWO, THREE):
        assert night(anew, day, challenges=challenges) == runs[day]
    assert everything(anew) == everything(lake)


# --- The same whatever happens -------------------------------------------------------------------------------------------


def test_a_night_that_runs_again_gives_the_same_bytes(told, copied, challenges):
    for day in (TWO, ONE, THREE):
        night(copied, day, challenges=challenges)
    assert everything(copied) == everything(told[0])


def test_the_standings_built_anew_are_the_same(told, copied, challenges):
    rebuild_standings(Lake(copied), NightSettings(challenges=challenges))
    assert everything(copied) == everything(told[0])


def test_order_of_lines_shards_and_threads_play_no_part(told, tmp_path, challenges):
    """The same rows but for their places, and the same incidents."""
    lake, runs = told
    other = tmp_path / "lake"
    games = [*lying_games(ONE), *(game for app in FINE for game in app_games(app, ONE, GAMES, FLAGS))]
    land(other, ONE, "all.ndjson.gz", games[::-1])
    run = night(other, ONE, challenges=challenges, shard_games=100, threads=1)
    assert run["incidents"] == runs[ONE]["incidents"]
    columns = ("verdict", "counted", "reason_codes", "evidence")
    assert {game: [row[name] for name in columns] for game, row in by_game(other, ONE).items()} == {
        game: [row[name] for name in columns] for game, row in by_game(lake, ONE).items()
    }


def test_the_separate_calls_of_a_scheduler_give_the_same(told, copied, challenges, monkeypatch):
    """And publishing twice changes nothing."""
    monkeypatch.setenv("REPLAY_CHALLENGES", str(challenges))
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "100")
    clean, where, day = everything(copied), str(copied), str(TWO)
    for kind in ("verdicts", "quarantine", "runs"):
        shutil.rmtree(copied / kind / f"day={TWO}")
    for _ in range(2):
        tasks.pull(where, day)
        for spec in tasks.plan(where, day):
            tasks.verify(where, day, spec)
        assert tasks.publish(where, day)["withheld"] == 97
        tasks.standings(where, day)
        assert tasks.report(where, day)["withheld"] == 97
    assert everything(copied) == clean


@pytest.mark.parametrize("moment", ["before it is decided", "while it is written", "before all is published"])
def test_a_night_cut_off_at_any_moment_and_run_again_gives_the_same(told, copied, challenges, monkeypatch, moment):
    """Nothing of the night is visible, and the next one does not take what was left for anything published."""
    place = {
        "before it is decided": "replay.publish.hold_back", "while it is written": "replay.withheld.Held.mark",
        "before all is published": "replay.lake.Publication.commit",
    }[moment]  # fmt: skip
    clean = everything(copied)

    def cut_off(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(place, cut_off)
        with pytest.raises(KeyboardInterrupt):
            night(copied, ONE, challenges=challenges)
    assert everything(copied) == clean
    night(copied, ONE, challenges=challenges)
    assert everything(copied) == clean


def test_a_night_under_broken_rules_killed_and_run_again_gives_the_same(tmp_path, challenges):
    """SIGKILL early, in the middle and late; what counted before the first of them counts on after the last."""
    begun = tmp_path / "begun"
    land_day(begun, ONE, [upload("s", "p-s", ONE, tokens=SHORT)], games=FEW)
    night(begun, ONE, challenges=challenges)
    rules, clean, killed = broken_rules(tmp_path / "rules"), tmp_path / "clean", tmp_path / "killed"
    shutil.copytree(begun, clean)
    shutil.copytree(begun, killed)
    env = {"REPLAY_CHALLENGES": str(challenges)}
    began = monotonic()
    assert cli("nightly", "--day", ONE, "--lake", clean, "--rules", rules, env=env).returncode == 0
    took = monotonic() - began
    assert check_run(clean, ONE)["incidents"][0]["counted_before"] == FEW - FLAGS
    command = [sys.executable, "-m", "replay", "nightly", "--day", str(ONE), "--lake", str(killed), "--rules", str(rules)]
    for share in (0.5, 0.7, 0.9):
        with subprocess.Popen(command, env=os.environ | env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            try:
                run.wait(share * took)
            except subprocess.TimeoutExpired:
                run.kill()
    assert cli("nightly", "--day", ONE, "--lake", killed, "--rules", rules, env=env).returncode == 0
    assert everything(killed) == everything(clean)


def test_another_night_that_changes_a_day_decides_again_what_is_held_back_there(copied, challenges):
    """An earlier upload of another player under the same ids: what was held back becomes a conflict, and stands as a flag.

    And of sixty games as they were sent again, earlier, and landed later, the first day's are copies: too few are left there.
    """
    lying = lying_games(TWO, 100, 97)
    conflicts = [replace(game, player_id=f"other-{game.player_id}", platform="android") for game in lying[:10]]
    land(copied, THREE, "conflicts.ndjson", conflicts)
    before = check_run(copied, TWO)["incidents"][0]
    night(copied, THREE, challenges=challenges)
    (after,) = check_run(copied, TWO)["incidents"]
    assert (before["held"], after["held"], after["games"]) == (97, 87, 100)
    rows = by_game(copied, TWO)
    assert {rows[game.game_id]["verdict"] for game in lying[:10]} == {"flagged"}
    assert rows[lying[0].game_id]["reason_codes"] == ["score_mismatch", "conflicting_upload"]
    (copied / "logs" / f"day={THREE}" / "conflicts.ndjson").unlink()
    earlier = [replace(game, game_id=f"e-{game.game_id}", uploaded_at=game.uploaded_at - 1) for game in lying[:90]]
    land(copied, THREE, "earlier.ndjson", earlier)
    night(copied, THREE, challenges=challenges)
    run = check_run(copied, TWO)
    assert (run["verdicts"]["copy"], run["verdicts"]["withheld"]) == (90, 7), "held back before: however few are left"
    assert [found["held"] for found in check_run(copied, THREE)["incidents"]] == [92]
    (copied / "logs" / f"day={THREE}" / "earlier.ndjson").unlink()
    night(copied, THREE, challenges=challenges)
    assert check_run(copied, TWO)["incidents"] == [before]


def test_a_day_that_an_earlier_one_changes_is_held_against_that_day_as_it_will_be(tmp_path, challenges):
    """Thirty flags of fifty games on what was the first night; the day before, which comes in later, says what is usual."""
    lake = tmp_path / "lake"
    games = app_games(BROKEN, TWO, 50, 30)
    land_day(lake, TWO, games, games=FEW, flags=0)
    assert night(lake, TWO, challenges=challenges)["incidents"] == []
    # One of the other twenty was played under the same id before.
    again = replace(games[40], player_id="p-other", uploaded_at=games[40].uploaded_at - 1)
    land_day(lake, ONE, [*app_games(BROKEN, ONE, 200), again], games=FEW, flags=0)
    night(lake, ONE, challenges=challenges)
    (incident,) = check_run(lake, TWO)["incidents"]
    assert (incident["held"], incident["past_of"], incident["past_flags"], incident["past_games"]) == (30, "own", 0, 201)
    published = published_files(lake)
    night(lake, TWO, challenges=challenges)
    assert published_files(lake) == published


def test_a_day_that_another_night_changes_keeps_what_counts_there(tmp_path, challenges):
    """Of one app all but fifteen become copies of others, and those stand as flags; the rest is held back and counts as before."""
    lake = tmp_path / "lake"
    short = [upload(f"s-{n}", f"p-s{n}", TWO, tokens=SHORT) for n in range(5)]
    land_day(lake, TWO, short, games=FEW, flags=0)
    night(lake, TWO, challenges=challenges)
    held = night(lake, TWO, challenges=challenges, rules=broken_rules(tmp_path / "rules"))
    assert held["verdicts"]["counted"] == len(FINE) * FEW + 5
    copied = app_games(FINE[1], TWO, FEW - 15)
    same = [replace(game, game_id=f"e-{n}", uploaded_at=game.uploaded_at - 1) for n, game in enumerate(copied)]
    land(lake, THREE, "a.ndjson", [*same, upload("fine", "p-fine", tokens=SHORT)])
    night(lake, THREE, challenges=challenges)
    run = check_run(lake, TWO)
    found = {name: run["verdicts"][name] for name in ("copy", "flagged", "withheld", "counted")}
    left = (len(FINE) - 1) * FEW
    assert found == {"copy": FEW - 15, "flagged": 15, "withheld": left, "counted": left + 5}


def test_hostile_texts_name_a_group_like_any_other(tmp_path, challenges):
    """Quotes, line ends, pipes and signs that turn a line around, in the app's version and its rules."""
    evil = "3.2'\"|\r\n\u202e\x1b[2J<b>"
    games = app_games(("ios", evil), THREE, 30, platform="i' or 1=1 --", app_version=evil, rules=evil)
    lake = land_day(tmp_path / "lake", THREE, games, games=FEW, flags=0)
    (incident,) = night(lake, challenges=challenges)["incidents"]
    check_run(lake, THREE)
    assert [incident[name] for name in GROUP] == ["blocks", "i' or 1=1 --", evil, evil]
    assert incident["held"] == 30
    assert CURRENT[2] == "3.2.0"
