"""Withheld flags and people: what counts, what a release moves and an undo gives back, and ``replay release`` (B6)."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from replay.lake import Lake
from replay.moves import what_would_move
from replay.night import rebuild_standings, restate_standings
from replay.reviews.releases import Group, Release, as_released, standing_releases
from replay.reviews.store import open_reviews
from replay.standings import query_publication
from tests.replay.broken_app import BROKEN, FINE
from tests.replay.held_lake import (
    FEW,
    FIRST,
    LIAR,
    LIES,
    break_rules,
    copy_of,
    game_of,
    held_lake,
    settings_of,
)
from tests.replay.night_support import THREE, TWO, ask, cli, decide, everything, night, verdict_rows, warehouse

ANA = {"reviewer": "ana", "reason": "all of them cheat"}
GROUP = Group(THREE, **FIRST)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The app that lies is held back; then a person clears a flagged game, and the rules break."""
    lake = held_lake(tmp_path_factory.mktemp("held"))
    decide(lake, "clear", game_of(FINE[1], 0))
    restate_standings(Lake(lake), settings_of(lake))
    break_rules(lake)
    return lake


@pytest.fixture
def lake(made, tmp_path):
    return copy_of(made, tmp_path)


def release(lake, group=GROUP):
    with open_reviews(Lake(lake)) as store:
        return store.release(group, **ANA)


def undo(lake, number):
    with open_reviews(Lake(lake)) as store:
        return store.undo_release(number, **ANA)


def restate(lake):
    return restate_standings(Lake(lake), settings_of(lake))


def counting(lake) -> set[str]:
    return {game for (game,) in ask(lake, "select game_id from eligible_games")}


def in_group(lake, group=GROUP) -> dict[str, dict]:
    rows = [row | {"day": group.day} for row in verdict_rows(lake, group.day)]
    return {row["game_id"]: row for row in rows if as_released(row, {group}) != row}


# --- What counts -----------------------------------------------------------------------------------------------------------


def test_b6_a_release_takes_its_group_out_of_the_boards_and_nothing_else(lake):
    """B6: verdict files stay what the machine found, to the byte."""
    before, files = counting(lake), {path: path.read_bytes() for path in (lake / "verdicts").rglob("*.parquet")}
    held = in_group(lake)
    assert len(held) == FEW + 1 and sum(row["counted"] for row in held.values()) == FEW - 1
    release(lake)
    assert counting(lake) == before, "not before the standings are made again"
    moves = restate(lake).moves
    assert counting(lake) == before - {game for game, row in held.items() if row["counted"]}
    assert (moves.bests, moves.totals_moved) == (FEW - 1, FEW - 1)
    assert {path: path.read_bytes() for path in (lake / "verdicts").rglob("*.parquet")} == files
    told = query_publication(warehouse(lake))
    assert (told["releases_through"], told["games_released"]) == (1, FEW + 1)
    kinds = ask(lake, "select verdict, counted, count(*) from flagged_games where platform = ? and app_version = ? and day = ?"
                      " group by all order by all", FIRST["platform"], FIRST["app_version"], THREE)  # fmt: skip
    assert kinds == [("flagged", False, FEW + 1)]


def test_an_undo_gives_every_standing_back(lake):
    """The standings are the very same file again, and so they are when they are built from nothing."""
    before = everything(lake)
    release(lake)
    restate(lake)
    released = everything(lake)
    assert released != before
    rebuild_standings(Lake(lake), settings_of(lake))
    assert everything(lake) == released, "built anew they are the same"
    assert restate(lake).moves is None
    undo(lake, 1)
    restate(lake)
    assert everything(lake) == before
    rebuild_standings(Lake(lake), settings_of(lake))
    told = query_publication(warehouse(lake))
    assert (told["releases_through"], told["games_released"]) == (2, 0)
    # The number of the newest release is all that tells the two apart.
    (files, marts), (old_files, old_marts) = everything(lake), before
    assert files == old_files
    assert {name for name in marts if marts[name] != old_marts[name]} == {"main.publication"}


def test_a_night_takes_releases_up_by_itself(lake):
    release(lake)
    released = counting(lake) - set(in_group(lake))
    night(lake, TWO, challenges=lake.parent / "challenges.csv")
    assert counting(lake) == released
    assert restate(lake).moves is None


def test_what_would_move_is_what_moves(lake):
    asked = Release(1, "release", GROUP, "", "", datetime.now(UTC))
    state = everything(lake)
    expected = what_would_move(Lake(lake), settings_of(lake), [], releases=[asked])
    assert everything(lake) == state and expected.bests == FEW - 1
    release(lake)
    assert restate(lake).moves == expected


def test_who_was_cleared_before_the_rules_broke_keeps_the_standing(lake):
    """A flagged game that a person cleared: under broken rules another score is found, and that is held against nobody."""
    game = game_of(FINE[1], 0)
    (row,) = [row for row in verdict_rows(lake, THREE) if row["game_id"] == game]
    assert (row["verdict"], row["counted"]) == ("withheld", False)
    assert game in counting(lake)
    group = Group(THREE, "blocks", *FINE[1], "1.2.0")
    release(lake, group)
    restate(lake)
    assert game not in counting(lake), "as a flag, the new finding ends the clearing"
    decide(lake, "clear", game)
    restate(lake)
    assert game in counting(lake)


@pytest.mark.parametrize("game", ["late", game_of(FINE[0], 1)])
def test_clearing_and_upholding_a_withheld_game(lake, game):
    """Of one that came in only now, and of one that counted before; a release changes nothing of either."""
    counted = game != "late"
    assert (game in counting(lake)) == counted
    for action, expected in (("uphold", False), ("clear", True), ("note", True)):
        decide(lake, action, game)
        restate(lake)
        assert (game in counting(lake)) == expected, action
    made = release(lake)
    restate(lake)
    assert game in counting(lake), "it was cleared"
    undo(lake, made.id)
    decide(lake, "uphold", game)
    restate(lake)
    assert game not in counting(lake)


def test_the_list_and_the_marts_know_what_is_held_back(lake):
    rows = {row["game_id"]: row for row in verdict_rows(lake, THREE)}
    held = {game for game, row in rows.items() if row["verdict"] == "withheld"}
    listed = ask(lake, "select game_id, verdict, counted from flagged_games where verdict = 'withheld'")
    assert {game for game, _, _ in listed} == held and len(listed) == len(held)
    assert {game for game, _, counted in listed if counted} == {game for game in held if rows[game]["counted"]} | {game_of(FINE[1], 0)}


# --- The command -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(lake):
    env = {
        "REPLAY_LAKE": str(lake), "REPLAY_REVIEWER": "ben", "REPLAY_CHALLENGES": str(lake.parent / "challenges.csv"),
        "REPLAY_RULES": str(lake.parent / "rules"),
    }  # fmt: skip

    def call(*words: object) -> tuple[int, str, str]:
        done = cli(*words, env=env)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return call


NAMED = ("--game", "blocks", "--platform", FIRST["platform"], "--app-version", FIRST["app_version"], "--rules", FIRST["rules"])


def releases(lake) -> list[Release]:
    with open_reviews(Lake(lake)) as store:
        return store.releases()


def test_a_preview_says_what_would_move_and_records_nothing(run, lake):
    code, out, err = run("release", "--day", THREE, *NAMED)
    assert (code, err) == (0, "")
    assert f"{FEW + 1} of {FEW + 1} games do not come out" in out
    assert f"By a release {FEW + 1} games would be flagged; {FEW - 1} of them count as before" in out
    assert f", bests {FEW - 1}, totals {FEW - 1}, positions " in out
    assert "Nothing is released yet" in out
    assert releases(lake) == []
    found = json.loads(run("release", "--day", THREE, *NAMED, "--json")[1])
    assert (found["held"], found["counted_before"], found["release"], found["moves"]["bests"]) == (FEW + 1, FEW - 1, None, FEW - 1)


def test_a_preview_says_what_else_it_moves(run, lake):
    """What waits for the next night, decisions and releases of other groups, is in the numbers of every preview."""
    shut = ("review", "--uphold", "--where-held", "--where-platform", "ios", "--where-app-version", "3.1.4", "--reason", "x")
    decided = game_of(FINE[1], 1)
    assert run("review", decided, "--clear", "--reason", "our rules")[0] == 0
    waits = " and waits for the next night: players "
    assert f"standings, together with what was decided about 1 game{waits}" in run("release", "--day", THREE, *NAMED)[1]
    assert run("release", "--day", THREE, *NAMED, "--reason", "x")[0] == 0
    other = ("release", "--day", THREE, "--platform", "ios", "--app-version", "3.1.5")
    both = f"together with what was decided about 1 game and what was released or held back again of 1 app version{waits}"
    for words, decisions, groups in ((other, "decisions_waiting", "waiting"), (shut, "waiting", "releases_waiting")):
        assert both in run(*words)[1], words
        found = json.loads(run(*words, "--json")[1])
        assert (found[decisions], found[groups], found["moves"]["bests"]) == (1, 1, 2 * (FEW - 1)), words
    run("standings", "--restate")
    found = json.loads(run(*other, "--json")[1])
    assert (found["decisions_waiting"], found["waiting"], found["moves"]["bests"]) == (0, 0, FEW - 1)


def test_releasing_listing_and_undoing(run, lake):
    code, out, err = run("release", "--day", THREE, *NAMED, "--reason", "looked at twenty of them")
    assert (code, err) == (0, "")
    (made,) = releases(lake)
    assert (made.group, made.reviewer, made.reason) == (GROUP, "ben", "looked at twenty of them")
    assert out.startswith("Recorded: 1  ") and "ben released 2026-10-31 blocks, android 3.2.0, rules 1.2.0" in out
    assert "replay standings --restate" in out
    code, out, _ = run("standings", "--restate")
    assert (code, "What moved" in out) == (0, True)
    code, out, err = run("release", "--list")
    assert (code, err) == (0, "")
    assert "1, by ben" in out and "looked at twenty of them" in out and out.count(" no\n") + out.count(" no ") >= 4
    code, out, _ = run("release", "--undo", 1, "--reason", "no", "--reviewer", "ana", "--json")
    assert (code, json.loads(out)["undoes"], json.loads(out)["reviewer"]) == (0, 1, "ana")
    assert standing_releases(releases(lake)) == frozenset()
    found = json.loads(run("release", "--list", "--json", "--day", THREE)[1])
    assert len(found["incidents"]) == 5 and all(one["release"] is None for one in found["incidents"])
    assert [one["action"] for one in found["releases"]] == ["undo", "release"]
    assert json.loads(run("release", "--list", "--json", "--day", TWO)[1]) == {"incidents": [], "releases": []}


def test_a_released_game_is_a_flagged_one_everywhere(run, lake):
    game = game_of(BROKEN, 0)
    code, out, _ = run("game", game)
    assert (code, out.startswith(f"Game {game}: held back\n")) == (1, True)
    assert "while we check the app version 3.2.0 (ios)" in out
    assert "held back: the app version looks broken." in run("review", game)[1]
    assert len(run("flags", "--held", "--json", "--limit", 999)[1].splitlines()) == LIES + 4 * FEW + 1
    code, out, _ = run("flags", "--day", THREE)
    assert f"Besides, {LIES + 4 * FEW + 1} games are held back" in out
    run("release", "--day", THREE, "--rules", "1.1.0", "--reason", "they cheat")
    run("standings", "--restate")
    code, out, _ = run("game", game)
    assert (code, out.startswith(f"Game {game}: flagged\n")) == (1, True)
    assert json.loads(run("game", game, "--json")[1])["verdict"] == "flagged"
    out = run("review", game)[1]
    assert "line 1: flagged." in out and "Its night held it back with its app version; 1  " in out
    assert json.loads(run("review", game, "--json")[1])["release"]["id"] == 1
    assert len(run("flags", "--held", "--json", "--limit", 999)[1].splitlines()) == 4 * FEW + 1
    assert len(run("flags", "--day", THREE, "--json", "--limit", 999)[1].splitlines()) == LIES


def test_many_held_back_games_can_be_decided_on_together(run, lake):
    words = ("review", "--clear", "--where-held", "--where-platform", "android", "--where-app-version", "3.2.0", "--reason", "our rules")
    found = json.loads(run(*words, "--json")[1])
    assert found["games"] == FEW + 1 and found["moves"]["bests"] == 2, "the others count as it is"
    code, out, err = run(*words, "--yes", "--seen", found["seen"])
    assert (code, err) == (0, "") and f"decisions 2 to {FEW + 2}" in out
    before = counting(lake)
    run("standings", "--restate")
    assert counting(lake) - before == {"late", game_of(FINE[0], 0)}
    code, _, err = run("review", "--where-held")
    assert (code, err.count("\n")) == (2, 1) and "--where-held is for decisions about many games" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a day with --day"), (["--list", "--undo", 1], "--list goes with"), (["--list", "--game", "blocks"], "--list goes with"),
        (["--undo", 1], "--undo: say why with --reason"), (["--undo", 1, "--day", THREE, "--reason", "x"], "leave --day out"),
        (["--undo", 1, "--rules", "x", "--reason", "x"], "leave --rules out"), (["--undo", 7, "--reason", "x"], "there is no release 7"),
        (["--day", "20261031"], "is no day"), (["--day", "2026-01-01"], "was not published"),
        (["--day", TWO, "--reason", "x"], "nothing was held back in that night"),
        (["--day", THREE, "--reason", "x"], "5 groups were held back (blocks, android 3.1.5, rules 1.2.0;"),
        (["--day", THREE, "--platform", "windows", "--reason", "x"], "no group with platform 'windows' was held back in that night, only"),
        (["--day", THREE, *NAMED, "--reason", " "], "reason is empty"),
        (["--day", THREE, *NAMED, "--reason", "x", "--reviewer", " "], "reviewer is empty"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_sentence_and_records_nothing(run, lake, words, said):
    code, out, err = run("release", *words)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert said in err
    assert releases(lake) == []


def test_a_group_that_is_released_already_says_who_did(run, lake):
    release(lake)
    code, _, err = run("release", "--day", THREE, *NAMED, "--reason", "me too")
    assert (code, "was released already, by ana at" in err) == (2, True)
    code, out, _ = run("release", "--day", THREE, *NAMED)
    assert (code, "Released already: 1  " in out) == (0, True)
    assert len(releases(lake)) == 1


def test_liars_group_named_in_part(run, lake):
    """As much of the group as tells it from the others of the day is enough."""
    code, out, err = run("release", "--day", THREE, "--rules", LIAR["rules"], "--reason", "x", "--json")
    assert (code, err, json.loads(out)["games"]) == (0, "", LIES)
    assert releases(lake)[0].group == Group(THREE, **LIAR)
