"""A release is about exactly what was held back when it was given: whatever a later night holds back is held back again (B6)."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from replay.dashboard.held import group_key
from replay.eligibility import effect_digest
from replay.lake import Lake
from replay.moves import what_would_move
from replay.night import rebuild_standings, restate_standings
from replay.preview import Question, judged, read_new_rules
from replay.report import as_markdown, make_report
from replay.reviews.incidents import releases_in_force
from replay.reviews.releases import Group, Release, standing_releases
from replay.reviews.store import open_reviews
from replay.standings import query_publication
from tests.replay.broken_app import BROKEN, FINE, SHORT, app_games, land_day
from tests.replay.dashboard.support import client, post, text_of
from tests.replay.held_lake import FEW, FIRST, broken_rules, copy_of, game_of, settings_of
from tests.replay.night_support import (
    THREE,
    TWO,
    ask,
    check_run,
    cli,
    everything,
    land,
    night,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
    write_players,
)

GROUP = Group(THREE, **FIRST)
CHEATS = FEW // 2
WORDS = "It was released by ana at "
AGAIN = "(release 1), when other flags were held back, and must be looked at again."
NAMED = ("--day", THREE, "--platform", FIRST["platform"], "--app-version", FIRST["app_version"])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A night holds back half the games of an app version, which are forged; the others are honest and count."""
    root = tmp_path_factory.mktemp("about")
    lake, challenges = root / "lake", write_challenges(root / "challenges.csv")
    land_day(lake, TWO, app_games(BROKEN, TWO, FEW), games=FEW)
    night(lake, TWO, challenges=challenges)
    fine = [game for app in FINE[1:] for game in app_games(app, THREE, FEW, 1)]
    # A game whose log comes out under any rules: without one all of the day would be flagged.
    land(lake, THREE, "fine.ndjson", [*fine, *app_games(FINE[0], THREE, FEW, CHEATS), upload("s", "p-s", THREE, tokens=SHORT)])
    night(lake, THREE, challenges=challenges)
    return lake


@pytest.fixture(scope="module")
def released_once(made, tmp_path_factory):
    """And a person releases them, in a terminal."""
    lake = copy_of(made, tmp_path_factory.mktemp("released") / "copy")
    assert command(lake, "release", *NAMED, "--reason", "looked at twenty", "--reviewer", "ana")[0] == 0
    restate_standings(Lake(lake), settings_of(lake))
    return lake


@pytest.fixture
def lake(released_once, tmp_path):
    return copy_of(released_once, tmp_path / "copy")


@pytest.fixture
def broken(lake):
    """Then the day is verified again under broken rules."""
    rules_break(lake)
    return lake


def rules_break(lake: Path) -> None:
    night(lake, THREE, challenges=lake.parent / "challenges.csv", rules=broken_rules(lake.parent / "rules"))
    check_run(lake, THREE)


def command(lake: Path, *words: object) -> tuple[int, str, str]:
    rules = lake.parent / "rules"
    env = {"REPLAY_LAKE": str(lake), "REPLAY_CHALLENGES": str(lake.parent / "challenges.csv"), "COLUMNS": "300"}
    done = cli(*words, env=env | ({"REPLAY_RULES": str(rules)} if rules.exists() else {}))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def again(lake: Path) -> None:
    """The night of the day once more, under the rules that it was run under."""
    night(lake, THREE, challenges=lake.parent / "challenges.csv", rules=settings_of(lake).rules)


def incident_of(lake: Path) -> dict:
    found = json.loads((lake / "runs" / f"day={THREE}" / "run.json").read_text("utf-8"))["incidents"]
    return next(one for one in found if all(one[name] == value for name, value in FIRST.items()))


def counting(lake: Path) -> set[str]:
    """The games of the group that count."""
    own = {game_of(FINE[0], number) for number in range(FEW)} | {"late"}
    return own & {game for (game,) in ask(lake, "select game_id from eligible_games")}


def in_force(lake: Path) -> set[Group]:
    with open_reviews(Lake(lake)) as store:
        return set(standing_releases(releases_in_force(Lake(lake), store.releases())))


HONEST = {game_of(FINE[0], number) for number in range(CHEATS, FEW)}


# --- The scenario ----------------------------------------------------------------------------------------------------------


def test_rules_that_break_after_a_release_take_nobodys_standing(lake):
    """The release was of thirty forged games; sixty are held back now, and the thirty honest ones among them count on."""
    before = everything(lake)
    assert counting(lake) == HONEST and in_force(lake) == {GROUP}
    rules_break(lake)
    found = incident_of(lake)
    assert (found["held"], found["counted_before"]) == (FEW, FEW - CHEATS)
    assert counting(lake) == HONEST and in_force(lake) == set()
    told = query_publication(warehouse(lake))
    assert (told["games_released"], told["releases_through"]) == (0, 0)
    name = f"{game_of(FINE[0], 0).removesuffix('0')}%"
    listed = ask(lake, "select verdict, count(*) from flagged_games where game_id like ? group by 1", name)
    assert listed == [("withheld", FEW)]
    # Mended, the night finds what it found first, which is released still.
    shutil.rmtree(lake.parent / "rules")
    again(lake)
    assert everything(lake) == before


def test_the_group_can_be_released_again_and_each_release_is_of_its_own(broken):
    code, out, err = command(broken, "release", *NAMED)
    assert (code, err) == (0, "")
    assert WORDS in out and AGAIN in out and f"By a release {FEW} games would be flagged; {FEW - CHEATS} of them count" in out
    assert f"bests {FEW - CHEATS}, totals {FEW - CHEATS}" in out
    code, out, err = command(broken, "release", *NAMED, "--reason", "all of them", "--reviewer", "ben", "--json")
    assert (code, err, json.loads(out)["about"], json.loads(out)["id"]) == (0, "", incident_of(broken)["digest"], 2)
    restate_standings(Lake(broken), settings_of(broken))
    assert counting(broken) == set()
    code, _, err = command(broken, "release", *NAMED, "--reason", "me too", "--reviewer", "ben")
    assert (code, "was released already, by ben at" in err) == (2, True)
    command(broken, "release", "--undo", 2, "--reason", "the rules", "--reviewer", "ben")
    restate_standings(Lake(broken), settings_of(broken))
    assert counting(broken) == HONEST
    # The first one can be undone as well: it stands no longer after the rules are mended either.
    assert command(broken, "release", "--undo", 1, "--reason", "no", "--reviewer", "ben")[0] == 0
    assert restate_standings(Lake(broken), settings_of(broken)).moves is None
    shutil.rmtree(broken.parent / "rules")
    again(broken)
    assert in_force(broken) == set() and incident_of(broken)["held"] == CHEATS


def test_what_would_move_by_releasing_again_is_what_moves(broken):
    with open_reviews(Lake(broken)) as store:
        (first,) = store.releases()
        about = incident_of(broken)["digest"]
        asked = Release(2, "release", GROUP, "", "", first.at, about=about)
        expected = what_would_move(Lake(broken), settings_of(broken), [], releases=[asked])
        assert expected.bests == FEW - CHEATS
        store.release(GROUP, reviewer="ben", reason="x", about=about)
    assert restate_standings(Lake(broken), settings_of(broken)).moves == expected


def test_the_warehouse_has_another_name_when_a_release_stands_no_longer(lake):
    """Its rows alone do not tell: here only run.json says that other flags are held back."""
    path, name = lake / "runs" / f"day={THREE}" / "run.json", warehouse(lake).name
    run = json.loads(path.read_text("utf-8"))
    with open_reviews(Lake(lake)) as store:
        known = store.releases()
        standing = effect_digest([], releases_in_force(Lake(lake), known))
        run["incidents"][0]["digest"] = "0" * 64
        path.write_text(json.dumps(run), "utf-8")
        assert effect_digest([], releases_in_force(Lake(lake), known)) == b"" != standing
    restate_standings(Lake(lake), settings_of(lake))
    assert warehouse(lake).name != name and query_publication(warehouse(lake))["games_released"] == 0


def test_built_from_nothing_the_standings_are_the_same(broken):
    before = everything(broken)
    rebuild_standings(Lake(broken), settings_of(broken))
    assert everything(broken) == before


# --- What changes a digest and what does not ---------------------------------------------------------------------------------


def test_a_night_that_runs_again_finds_the_same_and_the_release_stands(lake):
    before, digest = everything(lake), incident_of(lake)["digest"]
    again(lake)
    assert everything(lake) == before and incident_of(lake)["digest"] == digest
    # The same uploads in two files of other names and in another order.
    folder = lake / "logs" / f"day={THREE}"
    lines = (folder / "fine.ndjson").read_bytes().splitlines(keepends=True)
    (folder / "fine.ndjson").unlink()
    (folder / "b.ndjson").write_bytes(b"".join(lines[100::-1]))
    (folder / "a.ndjson").write_bytes(b"".join(lines[101:]))
    again(lake)
    check_run(lake, THREE)
    assert incident_of(lake)["digest"] == digest and in_force(lake) == {GROUP} and counting(lake) == HONEST


def test_a_retry_of_a_held_game_changes_nothing_and_a_late_one_has_the_group_held_back_again(lake):
    digest = incident_of(lake)["digest"]
    land(lake, THREE, "retry.ndjson", app_games(FINE[0], THREE, 1, 1))
    again(lake)
    assert incident_of(lake)["digest"] == digest and in_force(lake) == {GROUP}
    late = replace(app_games(FINE[0], THREE, 1, 1)[0], game_id="late", player_id="p-late")
    land(lake, THREE, "late.ndjson", [late])
    again(lake)
    check_run(lake, THREE)
    assert incident_of(lake)["held"] == CHEATS + 1 and incident_of(lake)["digest"] != digest
    assert in_force(lake) == set() and counting(lake) == HONEST, "held back, and never counted"
    assert query_publication(warehouse(lake))["games_released"] == 0


def test_a_player_who_is_anonymised_ends_no_release(lake):
    old = f"p-{FINE[0][0]}-{FINE[0][1]}-0"
    players = write_players(lake.parent / "players.csv", (old, "anonymised", "somebody"))
    night(lake, THREE, challenges=lake.parent / "challenges.csv", players=players)
    assert old not in {row["player_id"] for row in verdict_rows(lake, THREE)}
    assert in_force(lake) == {GROUP}


# --- What people are told --------------------------------------------------------------------------------------------------


def test_a_released_day_that_runs_again_is_told_as_released(lake):
    """Report and terminal count its flags as released: nothing is left to look at."""
    code, out, err = command(lake, "nightly", "--day", THREE)
    assert (code, err) == (0, "")
    words = f"Released: {CHEATS} flags of 1 app version were held back and stand as flags."
    assert out.startswith(words) and "Held back" not in out and "--held" not in out
    assert [line.split() for line in out.splitlines() if line.split()[:1] == ["released"]] == [["released", str(CHEATS)]]
    page = as_markdown(make_report(Lake(lake), THREE))
    assert page.splitlines()[2] == words and "Held back:" not in page
    assert f"| released | {CHEATS} |" in page and "| held back | 0 |" in page


def test_report_and_terminal_say_that_a_release_stands_no_longer(broken):
    code, out, err = command(broken, "nightly", "--day", THREE)
    assert (code, err) == (0, "")
    assert out.count(WORDS) == 1 and out.count(AGAIN) == 1 and "Released:" not in out
    report = make_report(Lake(broken), THREE)
    found = {(one["platform"], one["app_version"]): one for one in report["incidents"]}
    assert [one["release"] for one in found.values()] == [None] * 4
    assert [app for app, one in found.items() if one["lapsed"]] == [FINE[0]]
    page = as_markdown(report)
    assert page.count(WORDS) == 1 and AGAIN in page
    assert f"| held back | {4 * FEW} |" in page and "| released |" not in page


def test_the_list_of_releases_says_so(broken):
    code, out, err = command(broken, "release", "--list")
    assert (code, err) == (0, "")
    assert out.count(WORDS) == 1 and "released (stands no longer)" in out and "1, by ana" not in out
    found = json.loads(command(broken, "release", "--list", "--json")[1])
    assert [one["release"] for one in found["incidents"]] == [None] * 4
    assert [one["lapsed"]["id"] for one in found["incidents"] if one["lapsed"]] == [1]


def test_a_game_of_it_is_held_back_everywhere(lake):
    game = game_of(FINE[0], 0)
    asked = (
        (("game", game), f"Game {game}: flagged\n", f"Game {game}: held back\n"),
        (("review", game), "Its night held it back with its app version; 1  ", "held back: the app version looks broken."),
    )
    for words, before, _ in asked:
        assert before in command(lake, *words)[1]
    rules_break(lake)
    for words, before, after in asked:
        out = command(lake, *words)[1]
        assert after in out and before not in out
    honest = json.loads(command(lake, "review", game_of(FINE[0], CHEATS), "--json")[1])
    assert (honest["verdict"], honest["counts"], honest["release"]) == ("withheld", True, None)


def test_the_pages_say_so_and_release_again(broken, monkeypatch):
    monkeypatch.setenv("REPLAY_CHALLENGES", str(broken.parent / "challenges.csv"))
    monkeypatch.setenv("REPLAY_RULES", str(broken.parent / "rules"))
    browser = client(broken)
    front, page = text_of(browser.get("/")), text_of(browser.get(f"/night?day={THREE}"))
    for told in (front, page):
        assert told.count(WORDS) == 1 and AGAIN in told
    assert "of other flags" in page and "Undo release" not in page
    game = text_of(browser.get(f"/game?id={game_of(FINE[0], 0)}"))
    assert "released it on" not in game and "held back" in game
    player = text_of(browser.get(f"/player?id=p-{FINE[0][0]}-{FINE[0][1]}-0"))
    assert "held back" in player
    fields = {"day": THREE, "group": group_key(GROUP), "reason": "all of them"}
    answer = post(browser, "/release", **fields, about="f" * 64)
    assert answer.status_code == 400 and "ther flags of this group are held back by now" in text_of(answer)
    answer = post(browser, "/release", **fields, about=incident_of(broken)["digest"])
    assert answer.status_code == 303
    assert in_force(broken) == {GROUP}
    page = text_of(browser.get(f"/night?day={THREE}&released=2"))
    assert "Undo release 2" in page and WORDS not in page and "Standings take it up the next night" in page


def test_a_rules_preview_counts_what_it_would_hold_back_as_not_released(lake, tmp_path):
    """The broken file, asked about before it is used: the side of it is not released, the published one is."""
    rules = broken_rules(tmp_path / "new")
    question = Question(read_new_rules(rules / "blocks" / "1.2.0.toml"), THREE, THREE)
    with judged(Lake(lake), settings_of(lake), question) as sides:
        told = [query_publication(sides.warehouse(side))["games_released"] for side in (sides.before, sides.after)]
    assert told == [CHEATS, 0]


# --- What was released before releases kept it -------------------------------------------------------------------------------


def test_a_release_of_before_covers_whatever_the_group_holds(made, tmp_path):
    lake = copy_of(made, tmp_path / "copy")
    script = (Path(__file__).parent / "reviews" / "golden" / "before_about_sqlite.sql").read_text("utf-8")
    with sqlite3.connect(lake / "reviews.sqlite") as con:
        con.executescript(script)
    con.close()
    restate_standings(Lake(lake), settings_of(lake))
    assert in_force(lake) == {GROUP}
    rules_break(lake)
    assert in_force(lake) == {GROUP} and counting(lake) == set()
    code, _, err = command(lake, "release", *NAMED, "--reason", "x", "--reviewer", "ben")
    assert (code, "was released already, by ana" in err) == (2, True)


def test_a_night_of_before_that_names_no_digest_is_released_as_ever(made, tmp_path):
    lake = copy_of(made, tmp_path / "copy")
    path = lake / "runs" / f"day={THREE}" / "run.json"
    run = json.loads(path.read_text("utf-8"))
    for incident in run["incidents"]:
        del incident["digest"]
    path.write_text(json.dumps(run), "utf-8")
    assert json.loads(command(lake, "release", *NAMED, "--reason", "x", "--reviewer", "ben", "--json")[1])["about"] is None
    restate_standings(Lake(lake), settings_of(lake))
    assert query_publication(warehouse(lake))["games_released"] == CHEATS
