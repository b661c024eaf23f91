"""What is held back, as people are told of it: first in the report, the mail and the terminal, in bundles, previews and demos."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import pytest

from replay.bundle import canonical, check_bundle
from replay.incident_words import TOLD, group_words, headline, held_now, incident_words, released_words, told
from replay.lake import Lake
from replay.late import run_nights
from replay.mail import as_html
from replay.night import NightSettings, restate_standings
from replay.preview import Question, judged, preview, read_new_rules
from replay.report import FarAbove, as_markdown, make_report
from replay.reviews.releases import Group
from replay.reviews.store import open_reviews
from replay.rulebook import BUILT_IN, load_rulebook
from replay.truth import compare_with_truth
from tests.replay.broken_app import BROKEN, FINE, SHORT, app_games, land_day, lying_games
from tests.replay.held_lake import FIRST, break_rules, held_lake, settings_of
from tests.replay.night_support import ONE, THREE, TWO, by_game, cli, dump, land, night, upload, warehouse, write_challenges
from tests.replay.test_bundle import members_of, sealed

EVIL = "3.2|`'\"\r\n\u202e\x1b[2J<b>**[bold red]"
INCIDENT = {
    "game": "blocks", "platform": "ios", "app_version": "3.2.0", "rules": "1.1.0", "games": 410, "flags": 400, "held": 400,
    "counted_before": 0, "reasons": {"score_mismatch": 400}, "past_games": 2000, "past_flags": 2, "past_of": "own",
    "chance": "< 1 in 10^40", "since": "2026-10-29", "rules_that_agree": {"1.2.0": 400, "1.0.0": 3},
}  # fmt: skip


@pytest.fixture(scope="module")
def challenges(tmp_path_factory):
    return write_challenges(tmp_path_factory.mktemp("tables") / "challenges.csv")


@pytest.fixture(scope="module")
def lake(tmp_path_factory, challenges):
    """A quiet day, and one on which an app with a hostile name is broken, besides twenty-five flags of another one's few cheats."""
    lake = tmp_path_factory.mktemp("told") / "lake"
    land_day(lake, ONE, app_games(BROKEN, ONE, 60), games=60)
    broken = [replace(game, app_version=EVIL) for game in lying_games(TWO, 42, 40)]
    land_day(lake, TWO, broken, games=60)
    for day in (ONE, TWO):
        night(lake, day, challenges=challenges)
    return lake


# --- Words ---------------------------------------------------------------------------------------------------------------


def test_an_incident_in_words():
    assert headline([INCIDENT]) == (
        "Held back: 400 flags of 1 app version that looks broken; nobody is accused of them unless `replay release` says so."
    )
    assert headline([INCIDENT, INCIDENT | {"held": 1}]).startswith("Held back: 401 flags of 2 app versions that look broken;")
    assert headline([INCIDENT | {"held": 1}]).startswith("Held back: 1 flag of 1 app version")
    assert incident_words(INCIDENT) == (
        "blocks, ios 3.2.0, rules 1.1.0: 400 of 410 games do not come out; usual is 2 of 2,000. The chance of an honest day like"
        " that is < 1 in 10^40. Held back since 2026-10-29. Under rules 1.2.0 400 of them come out as they were uploaded. Under"
        " rules 1.0.0 3 of them come out as they were uploaded."
    )
    kept = incident_words(INCIDENT | {"counted_before": 12, "rules_that_agree": {}})
    assert kept.endswith("since 2026-10-29. 12 of them counted before and count on unless they are released.")
    others = {of: incident_words(INCIDENT | {"past_of": of}) for of in ("platform", "game", "prior")}
    assert "usual is 2 of 2,000 of this game's other apps on that platform, as this one has no past of its own" in others["platform"]
    assert "usual is 2 of 2,000 of all other apps of this game, as this one has no past of its own" in others["game"]
    assert "no nights before say what is usual" in others["prior"]


def test_the_largest_come_first_and_the_rest_are_counted():
    many = [INCIDENT | {"app_version": f"1.{n}", "held": n, "flags": n} for n in range(1, TOLD + 4)]
    lines = told(many)
    assert lines[0].startswith(f"blocks, ios 1.{TOLD + 3}, ")
    assert lines[-1] == "and 3 more, all in run.json"
    assert len(lines) == TOLD + 1
    assert len(told(many[:TOLD])) == TOLD
    lapsed = {"id": 7, "reviewer": "ana\x1b", "at": "2026-11-01T09:00:00Z"}
    first = told([*many, INCIDENT | {"app_version": "0.1", "held": 1, "release": None, "lapsed": lapsed}])[0]
    assert first.startswith("blocks, ios 0.1, ") and first.endswith(
        "It was released by ana\\x1b at 2026-11-01 09:00:00 UTC (release 7), when other flags were held back, and must be looked at"
        " again."
    )


def test_what_was_released_is_told_apart():
    released = INCIDENT | {"release": {"id": 1}, "lapsed": None}
    assert held_now([INCIDENT, released, INCIDENT | {"release": None}]) == [INCIDENT, INCIDENT | {"release": None}]
    assert released_words([INCIDENT]) is None
    assert released_words([INCIDENT, released]) == "Released: 400 flags of 1 app version were held back and stand as flags."
    assert released_words([released | {"held": 1}]) == "Released: 1 flag of 1 app version was held back and stands as a flag."


def test_no_word_of_an_incident_is_an_accusation():
    for line in (headline([INCIDENT]), incident_words(INCIDENT), group_words(INCIDENT)):
        assert not re.search("cheat|forg|fraud|fake", line, re.IGNORECASE), line


# --- Report, mail, terminal ----------------------------------------------------------------------------------------------


def test_b6_the_reports_first_lines_say_what_is_held_back(lake):
    """B6: before all counts; what clients wrote is text there and in the mail, and the flag rates are those of flags."""
    report = make_report(Lake(lake), TWO, FarAbove(2, 1))
    assert [incident["held"] for incident in report["incidents"]] == [40]
    assert report["counts"]["withheld"] == 40
    page = as_markdown(report)
    lines = page.splitlines()
    assert lines[0] == f"# Night of {TWO}"
    assert lines[2].startswith("**Held back: 40 flags of 1 app version that looks broken; nobody is accused of them")
    assert lines[4].startswith("- blocks, ios 3.2\\|`'")
    assert "40 of 42 games do not come out" in lines[4]
    assert f"Held back since {TWO}." in lines[4]
    assert "Under rules 1.2.0 40 of them" in lines[4]
    assert "| held back | 40 |" in page
    assert page.index("Held back") < page.index("| games |")
    for text in (page, as_html(page)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "<b>**" not in text
    assert as_html(page).index("Held back") < as_html(page).index("<table")
    # Four flags of 60 games each, and none of those that are held back.
    rates = {row["name"]: row["flagged"] for row in report["rates"]["reasons"]}
    assert rates == {"score_mismatch": 4}
    assert sum(row["flagged"] for row in report["rates"]["clients"]) == 4
    assert not [row for row in report["stands_out"] if "3.2|" in row["name"]]
    quiet = as_markdown(make_report(Lake(lake), ONE))
    assert "Held back" not in quiet
    assert "| held back | 0 |" in quiet


def test_the_terminal_says_it_first(lake, tmp_path, challenges):
    copied = tmp_path / "lake"
    shutil.copytree(lake, copied)
    env = {"REPLAY_CHALLENGES": str(challenges), "COLUMNS": "200"}
    done = cli("nightly", "--day", TWO, "--lake", copied, env=env)
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert text.startswith("Held back: 40 flags of 1 app version that looks broken; nobody is accused of them unless `replay release`")
    assert re.search(r"held back +40 *\n", text)
    assert "[bold red]" in text
    assert f"  replay flags --held --day {TWO} --lake {copied}\n" in text
    assert not {"\x1b", "\u202e"} & set(text)
    held = json.loads(cli("nightly", "--day", TWO, "--lake", copied, "--json", env=env).stdout)
    assert [incident["app_version"] for incident in held["incidents"]] == [EVIL]
    quiet = cli("nightly", "--day", ONE, "--lake", copied, env=env).stdout.decode()
    assert "eld back" not in quiet
    assert "--held" not in quiet


def test_limits_come_from_the_environment(lake, tmp_path, challenges):
    copied = tmp_path / "lake"
    shutil.copytree(lake, copied)
    env = {"REPLAY_CHALLENGES": str(challenges), "REPLAY_WITHHOLD_LEAST": "41", "REPLAY_WITHHOLD_DAYS": "7"}
    run = json.loads(cli("nightly", "--day", TWO, "--lake", copied, "--json", env=env).stdout)
    assert run["withhold"] == {"alpha_per_million": 1000, "least": 41, "times": 3, "days": 7}
    assert (run["verdicts"]["withheld"], run["verdicts"]["flagged"], run["incidents"]) == (0, 44, [])
    for name, value in (("LEAST", "0"), ("TIMES", "1"), ("ALPHA_PER_MILLION", "-1"), ("DAYS", "x")):
        done = cli("nightly", "--day", TWO, "--lake", copied, env={f"REPLAY_WITHHOLD_{name}": value})
        assert done.returncode == 2
        assert done.stderr.decode().startswith(f"replay: setting REPLAY_WITHHOLD_{name} is "), done.stderr


# --- A game that is held back --------------------------------------------------------------------------------------------


def test_a_bundle_of_a_game_that_is_held_back_is_whole_anywhere(lake, tmp_path, challenges):
    """By itself the game is flagged, which is no difference; a bundle that claims it of a game without a flag is found out."""
    game = next(row for row in by_game(lake, TWO).values() if row["verdict"] == "withheld")
    out = tmp_path / "out.zip"
    done = cli("game", game["game_id"], "--lake", lake, "--bundle", out, env={"REPLAY_CHALLENGES": str(challenges)})
    assert out.exists(), done.stderr
    assert "flagged" not in done.stdout.decode().split("\n", 1)[0]
    found = check_bundle(out, load_rulebook())
    assert (found.differences, found.verdict) == ((), "withheld")
    assert [note for note in found.notes if note.startswith("The flag was held back on that day")]
    members = members_of(out.read_bytes())
    verdict = json.loads(members["verdict.json"])
    assert verdict["verdict"] == "withheld"
    reason = verdict["reasons"][0]
    for what, changed in {
        "flagged for what it is not": {"reasons": [reason | {"found": 1}]}, "held back for nothing": {"reasons": []},
        "held back for what no app does": {"reasons": [reason, reason | {"code": "attempt_limit"}]},
        "verified": {"verdict": "verified", "reasons": []},
    }.items():  # fmt: skip
        forged = tmp_path / "forged.zip"
        forged.write_bytes(sealed(members | {"verdict.json": canonical({**verdict, **changed})}))
        assert check_bundle(forged, load_rulebook()).differences, what


def test_all_uploads_of_an_id_are_found_where_one_is_held_back(lake, challenges):
    game = next(row for row in by_game(lake, TWO).values() if row["verdict"] == "withheld")
    done = cli("game", game["game_id"], "--lake", lake, "--json", env={"REPLAY_CHALLENGES": str(challenges)})
    assert json.loads(done.stdout)["verdict"] == "withheld", done.stderr


# --- Previews and truths -------------------------------------------------------------------------------------------------


def test_a_preview_of_a_broken_rules_file_says_what_its_nights_would_hold_back(tmp_path, challenges):
    """Every flag of it would be held back, and nobody's standing would move; nothing is written."""
    lake = tmp_path / "lake"
    short = [upload(f"s-{n}", f"p-s{n}", ONE, tokens=SHORT) for n in range(5)]
    land_day(lake, ONE, short, games=60, flags=0)
    night(lake, ONE, challenges=challenges)
    text = (BUILT_IN / "blocks" / "1.2.0.toml").read_text("utf-8")
    new = tmp_path / "new.toml"
    new.write_text(text.replace("lines = [80, 240,", "lines = [70, 230,"), "utf-8")
    settings = NightSettings(challenges=challenges, threads=2)
    found = preview(Lake(lake), settings, Question(read_new_rules(new), ONE, ONE))
    changes = [(row["verdict_before"], row["verdict_after"], row["games"]) for row in found.verdicts]
    assert changes == [("verified", "withheld", 60 * len(FINE))]
    assert found.counts["counted_no_longer"] == 0
    assert not any(found.moves.counts.values())
    words = ["preview", "--rules", new, "--from", ONE, "--to", ONE, "--lake", lake, "--html", tmp_path / "page.html"]
    done = cli(*words, env={"REPLAY_CHALLENGES": str(challenges), "COLUMNS": "200"})
    assert re.search(rf"verified +held back +{60 * len(FINE)} ", done.stdout.decode()), done.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f'<td>verified</td><td>held back</td><td class="num">{60 * len(FINE)}</td>' in page
    assert "<b>held back: score_mismatch</b>" in page
    assert "withheld" not in page
    by_version = preview(Lake(lake), settings, Question(read_new_rules(new), ONE, ONE, "1.2.0"))
    assert by_version.counts["scores"] == 60 * len(FINE)


def test_a_held_back_row_whose_score_the_file_gives_stays_held_back(lake, challenges, tmp_path):
    """Counted by another file nothing becomes of it: its own claim did not come out."""
    text = (BUILT_IN / "blocks" / "1.1.0.toml").read_text("utf-8")
    new = tmp_path / "1.1.0.toml"
    new.write_text(text.replace("lines = [60, 180,", "lines = [70, 180,"), "utf-8")
    settings = NightSettings(challenges=challenges, threads=2)
    found = preview(Lake(lake), settings, Question(read_new_rules(new), TWO, TWO, "1.1.0"))
    changes = {(row["verdict_before"], row["verdict_after"]) for row in found.verdicts}
    assert changes == {("withheld", "withheld")}
    assert found.counts["scores"] == 40


def test_a_preview_knows_what_people_released(tmp_path):
    """Its earlier side is what is published: of a group that was released nothing counts there."""
    lake = held_lake(tmp_path)
    break_rules(lake)
    settings, kept = settings_of(lake), dump(warehouse(lake))["main.totals"]
    with open_reviews(Lake(lake)) as store:
        store.release(Group(THREE, **FIRST), reviewer="ann", reason="a wave of cheats")
    restate_standings(Lake(lake), settings)
    released = dump(warehouse(lake))["main.totals"]
    assert released != kept
    question = Question(read_new_rules(tmp_path / "rules" / "blocks" / "1.2.0.toml"), THREE, THREE)
    with judged(Lake(lake), settings, question) as sides:
        for side in (sides.before, sides.after):
            assert dump(sides.warehouse(side))["main.totals"] == released
    assert not preview(Lake(lake), settings, question).would_move


def test_the_truth_of_a_flag_that_is_held_back_is_a_flag(lake, tmp_path):
    """And one that is held back of an honest game is wrong."""
    copied = tmp_path / "lake"
    shutil.copytree(lake, copied)
    for day in (ONE, TWO):
        (copied / "truth" / f"day={day}").mkdir(parents=True)
        rows = []
        for row in by_game(copied, day).values():
            flagged = row["verdict"] in ("flagged", "withheld")
            rows.append(
                {
                    "game_id": row["game_id"], "game": "blocks", "day": str(day), "kind": "forged" if flagged else "honest",
                    "variant": "", "expected_verdict": "flagged" if flagged else "verified", "file": row["source_file"],
                    "line": row["source_line"], "expected_reasons": row["reason_codes"], "expected_counted": row["counted"],
                    "expected_suspicions": row["suspicions"],
                }
            )  # fmt: skip
        path = copied / "truth" / f"day={day}" / "truth.ndjson"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    compared = compare_with_truth(Lake(copied))
    assert (compared.wrong, compared.held, compared.forged) == (0, 40, 48)
    path.write_text(path.read_text("utf-8").replace('"expected_verdict": "flagged"', '"expected_verdict": "verified"'), "utf-8")
    assert compare_with_truth(Lake(copied)).wrong == 44


def test_a_night_with_its_look_back_holds_back_on_the_day_that_came_late(tmp_path, challenges):
    """What comes late is decided again with its day, and the days after it when they run again."""
    lake = tmp_path / "lake"
    land_day(lake, TWO, lying_games(TWO, 15, 15), games=60, flags=0)
    land_day(lake, THREE, lying_games(THREE, 20, 20), games=60, flags=0)
    settings = NightSettings(challenges=challenges, threads=2)
    assert night(lake, TWO, challenges=challenges)["incidents"] == []
    late = [replace(game, game_id=f"l-{game.game_id}", player_id=f"l-{game.player_id}") for game in lying_games(TWO, 15, 15)]
    land(lake, TWO, "late.ndjson", late)
    nights = run_nights(Lake(lake), THREE, settings, 3)
    assert nights.restated == (TWO,)
    assert [incident["held"] for incident in make_report(Lake(lake), TWO)["incidents"]] == [30]
    (incident,) = nights.run["incidents"]
    assert (incident["held"], incident["since"], incident["past_of"]) == (20, str(TWO), "platform")
