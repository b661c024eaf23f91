"""What nights held back, on the pages: said first and red, never as an accusation, and released by a form (B6)."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from replay.dashboard.held import group_key
from replay.lake import Lake
from replay.night import restate_standings
from replay.reviews.releases import Group, Release
from replay.reviews.store import open_reviews
from tests.replay.broken_app import BROKEN, FINE, app_games
from tests.replay.dashboard.html_check import Page, problems
from tests.replay.dashboard.reviewing_support import follow, forms, open_game, send
from tests.replay.dashboard.support import ANNA, BERT, NAMELESS, READER, client, post, text_of
from tests.replay.held_lake import FEW, FIRST, LIAR, LIES, break_rules, copy_of, game_of, held_lake, settings_of
from tests.replay.night_support import EVIL, THREE, TWO, everything, land, night

WHY = "looked at twenty of them"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One app version is held back."""
    return held_lake(tmp_path_factory.mktemp("held"))


@pytest.fixture(scope="module")
def broken(made, tmp_path_factory):
    """The day was verified again under broken rules: five groups, most of whose games count as before."""
    lake = copy_of(made, tmp_path_factory.mktemp("broken") / "copy")
    break_rules(lake)
    return lake


@pytest.fixture
def lake(broken, tmp_path, monkeypatch):
    lake = copy_of(broken, tmp_path / "copy")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(lake.parent / "challenges.csv"))
    monkeypatch.setenv("REPLAY_RULES", str(lake.parent / "rules"))
    return lake


def releases(lake) -> list[Release]:
    with open_reviews(Lake(lake)) as store:
        return store.releases()


def release(lake, group=Group(THREE, **FIRST)) -> Release:
    with open_reviews(Lake(lake)) as store:
        return store.release(group, reviewer="ana", reason="all of <b>them</b> cheat")


def check(html: str) -> None:
    """Nothing stands in the page that our templates do not write."""
    assert problems(Page(html)) == []


def page(browser, path, status=200):
    answer = browser.get(path)
    assert answer.status_code == status, text_of(answer)
    check(answer.text)
    return answer


# --- Nights ------------------------------------------------------------------------------------------------------------------


def test_b6_the_front_page_says_first_and_red_what_is_held_back(made):
    """B6: one incident, by name, and the word that nobody is accused."""
    answer = page(client(made), "/")
    card = re.search(r'<section class="card bad" aria-label="Last night">(.*?)</section>', answer.text, re.S)[1]
    first = " ".join(re.sub("<[^>]+>", " ", card).split())
    assert first.startswith(f"✕ not fine Held back: {LIES} flags of 1 app version that looks broken; nobody is accused of them.")
    assert f"blocks, ios 3.2.0, rules 1.1.0 : {LIES} of {FEW} games do not come out, held back since {THREE}." in first
    assert f'<a href="night?day={THREE}#held">' in card
    row = re.search(rf'<tr class="bad">\s*<th[^>]*><a href="night\?day={THREE}">(.*?)</tr>', answer.text, re.S)[1]
    assert "✕ held back" in row and f'<a href="flags?day={THREE}&amp;kind=withheld">{LIES}</a>' in row
    assert not re.search(rf'<tr class="bad">\s*<th[^>]*><a href="night\?day={TWO}">', answer.text)


def test_a_lake_that_holds_nothing_back_looks_as_ever(made, tmp_path):
    lake = copy_of(made, tmp_path / "copy")
    (lake / "logs" / f"day={THREE}" / "broken.ndjson").unlink()
    night(lake, THREE, challenges=lake.parent / "challenges.csv")
    browser = client(lake)
    for path in ("/", f"/night?day={THREE}", "/flags"):
        told = text_of(page(browser, path))
        assert "Held back" not in told and "held back" not in told, path


def test_the_nights_page_tells_each_incident_and_its_numbers(made):
    told = text_of(page(client(made), f"/night?day={THREE}"))
    for words in (
        "Held back: the app version looks broken", "nobody is accused", "blocks, ios 3.2.0, rules 1.1.0", f"{LIES} of {FEW} games",
        "of this game's other apps on that platform, as this one has no past of its own", "< 1 in 10^", f"score mismatch in {LIES}",
        f"Under rules 1.2.0 {LIES} of them come out as they were uploaded", "Count as before 0",
        f"replay release --lake {made} --day {THREE} --game=blocks --platform=ios --app-version=3.2.0 --rules=1.1.0",
    ):  # fmt: skip
        assert words in told, words
    assert "cheat" not in told.replace("than cheats by so many", ""), "no accusation"


def test_older_nights_that_hold_back_are_named_until_they_are_released(lake):
    """A mended app comes in on the next day; the day before is still held back."""
    next_day = THREE.replace(month=11, day=1)
    land(lake, next_day, "fine.ndjson", app_games(FINE[0], next_day, FEW))
    night(lake, next_day, challenges=lake.parent / "challenges.csv")
    told = text_of(page(client(lake), "/"))
    assert told.count("Held back:") == 0 and f"Older nights held flags back too, and nobody released them: {THREE}." in told
    for app in FINE:
        release(lake, Group(THREE, "blocks", *app, "1.2.0"))
    assert "Older nights held flags back too" in text_of(page(client(lake), "/"))
    release(lake, Group(THREE, **LIAR))
    told = text_of(page(client(lake), "/"))
    assert "Older nights held flags back" not in told and "5 releases wait for the next night" in told


# --- Releasing -----------------------------------------------------------------------------------------------------------------


def test_release_restate_and_undo_in_the_browser(lake):
    browser = client(lake)
    before = everything(lake)
    answer = page(browser, f"/night?day={THREE}")
    assert len(forms(answer, "release")) == 5 and forms(answer, "withhold") == []
    group = Group(THREE, **FIRST)
    token = forms(answer, "release")[0]["form_token"]
    fields = {"form_token": token, "day": THREE, "group": group_key(group), "reason": WHY, "reviewer": "somebody else"}
    answer = browser.post("/release", data={name: str(value) for name, value in fields.items()})
    (made,) = releases(lake)
    assert (made.group, made.reviewer, made.reason) == (group, "Anna", WHY)
    assert answer.headers["location"] == f"night?day={THREE}&released=1"
    answer = follow(browser, answer)
    check(answer.text)
    told = text_of(answer)
    assert "Recorded as release 1. Standings take it up the next night" in told and "1 release waits for the next night" in told
    assert f"Anna released on {made.at:%Y-%m-%d}" in told and f"“{WHY}”" in told
    assert [fields["release"] for fields in forms(answer, "withhold")] == ["1"] and len(forms(answer, "release")) == 4
    restated = send(browser, answer, "restate")
    assert restated.status_code == 200 and f"{FEW - 1} bests of a day" in text_of(restated)
    told = text_of(page(browser, f"/night?day={THREE}&released=1"))
    assert "The standings hold it already." in told and "wait" not in told.partition("Night of")[0]
    answer = follow(browser, send(browser, answer, "withhold", reason="it is the rules"))
    assert [one.undoes for one in releases(lake)] == [None, 1]
    assert "undone by 2" in text_of(answer) and len(forms(answer, "release")) == 5
    assert "Recorded as release 2. Standings take it up the next night" in text_of(answer)
    restate_standings(Lake(lake), settings_of(lake))
    assert everything(lake) == before
    told = text_of(page(browser, f"/night?day={THREE}&released=2"))
    assert "Recorded as release 2. The standings hold it already." in told


def test_a_form_sent_twice_records_one_release(lake):
    browser = client(lake)
    answer = page(browser, f"/night?day={THREE}")
    first, second = (send(browser, answer, "release", reason=WHY) for _ in range(2))
    assert first.headers["location"] == second.headers["location"] and len(releases(lake)) == 1
    answer = follow(browser, first)
    first, second = (send(browser, answer, "withhold", reason=WHY) for _ in range(2))
    assert first.headers["location"] == second.headers["location"] and len(releases(lake)) == 2


def test_the_second_of_two_people_is_told_who_was_first(lake):
    seen = page(client(lake, BERT), f"/night?day={THREE}")
    browser = client(lake, BERT)
    fields = forms(seen, "release")[0]
    anna = client(lake)
    assert send(anna, page(anna, f"/night?day={THREE}"), "release", reason=WHY).status_code == 303
    answer = post(browser, "/release", **{name: fields[name] for name in ("day", "group")}, reason="me too")
    check(answer.text)
    told = text_of(answer)
    assert answer.status_code == 400 and "was released already, by Anna at" in told and len(releases(lake)) == 1
    answer = post(browser, "/withhold", day=THREE, release=7, reason="x")
    assert answer.status_code == 400 and "There is no release 7" in text_of(answer)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reason": " "}, "Write a reason"), ({"reason": "x", "reviewer": " "}, "Write your name"),
        ({"reason": "x", "group": "0" * 32}, "is not held back any more"), ({"reason": "x" * 2001}, "at most 2,000 are kept"),
        ({"reason": "x", "day": str(TWO)}, "is not held back any more"),
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_taken_comes_back_with_its_words(lake, fields, said):
    browser = client(lake, NAMELESS)
    group = group_key(Group(THREE, **FIRST))
    answer = post(browser, "/release", **{"day": str(THREE), "group": group, "reviewer": "Zoë", **fields})
    check(answer.text)
    assert answer.status_code == 400 and releases(lake) == []
    if fields.get("day") != str(TWO):
        assert said in text_of(answer), text_of(answer)
    if "group" not in fields and "day" not in fields:
        (again,) = [form for form in forms(answer, "release") if form["group"] == group]
        assert again["reason"] == fields["reason"].strip() and again["reviewer"] == fields.get("reviewer", "Zoë").strip()


@pytest.mark.parametrize("day", ["", "2026-10-32", "2026-01-01"])
def test_a_day_that_is_none_is_a_sentence(lake, day):
    answer = post(client(lake), "/release", day=day, group="x", reason="x")
    assert answer.status_code in (400, 404) and releases(lake) == []
    check(answer.text)


def test_who_may_only_read_releases_nothing(lake):
    browser = client(lake, READER)
    answer = page(browser, f"/night?day={THREE}")
    assert forms(answer, "release") == [] and "Held back: the app version looks broken" in text_of(answer)
    assert post(browser, "/release", day=THREE, group=group_key(Group(THREE, **FIRST)), reason="x").status_code == 403
    assert post(browser, "/withhold", day=THREE, release=1, reason="x").status_code == 403
    assert client(lake).post("/release", data={"day": str(THREE)}).status_code == 403, "a form of another site"
    assert releases(lake) == []


# --- Lists, a game, a player -----------------------------------------------------------------------------------------------


def test_the_list_keeps_apart_what_is_held_back(lake):
    browser = client(lake)
    answer = page(browser, "/flags")
    assert f"Held back ({LIES + 4 * FEW + 1})" in text_of(answer)
    answer = page(browser, f"/flags?kind=withheld&platform={BROKEN[0]}&app_version={BROKEN[1]}")
    told = text_of(answer)
    assert "Held back: the app version looks broken." in told and "nobody is accused of these" in told
    assert f"{LIES} games" in told and "contradict" not in told
    assert "does not count" in told
    assert "counts" in text_of(page(browser, "/flags?kind=withheld&platform=android&app_version=3.1.5"))
    table = browser.get("/flags.csv?kind=withheld")
    assert 'filename="held-back-' in table.headers["content-disposition"]
    assert len(table.text.splitlines()) == LIES + 4 * FEW + 2
    release(lake, Group(THREE, **LIAR))
    restate_standings(Lake(lake), settings_of(lake))
    assert f"Does not reproduce ({LIES + 4})" in text_of(page(browser, "/flags")) or f"({LIES})" in text_of(page(browser, "/flags"))
    assert "No game is held back." in text_of(page(browser, f"/flags?kind=withheld&day={TWO}")) or "No game fits" in text_of(
        page(browser, f"/flags?kind=withheld&day={TWO}")
    )


def test_a_games_page_accuses_nobody_until_it_is_released(lake):
    browser = client(lake)
    answer = open_game(browser, game_of(FINE[0], 1))
    check(answer.text)
    told = text_of(answer)
    assert "… held back: the app version looks broken" in told and "✓ counts" in told and "Why it is held back" in told
    assert "It accuses nobody" in told and "✕ flagged" not in told and "This is proof" not in told
    assert f'href="night?day={THREE}#held"' in answer.text
    release(lake)
    answer = open_game(browser, game_of(FINE[0], 1))
    check(answer.text)
    told = text_of(answer)
    assert "✕ flagged" in told and "does not count" in told and "Why it is flagged" in told
    assert "Its night held it back with its app version. ana released it on" in told and "“all of <b>them</b> cheat”" in told
    assert "held back: the app version looks broken" in text_of(open_game(browser, game_of(FINE[1], 1)))


def test_deciding_on_a_game_that_is_held_back(lake):
    browser = client(lake)
    for game, action, counts in (("late", "clear", True), (game_of(FINE[0], 1), "uphold", False)):
        answer = follow(browser, send(browser, open_game(browser, game), "decide", action=action, reason="x"))
        assert ("✓ counts" in text_of(answer)) == counts, game
        check(answer.text)
    moved = text_of(send(browser, answer, "restate"))
    assert "2 bests of a day" in moved


def test_a_players_page_tells_held_back_and_released_apart(lake):
    browser = client(lake)
    player = f"p-{FINE[0][0]}-{FINE[0][1]}-1"
    told = text_of(page(browser, f"/player?id={player}"))
    assert "0 flagged, 1 held back" in told and "Held back: the app version looks broken" in told
    assert "… held back" in told and "its app version looks broken" in told
    release(lake)
    restate_standings(Lake(lake), settings_of(lake))
    told = text_of(page(browser, f"/player?id={player}"))
    assert "1 flagged, 0 copies" in told and "held back" not in told.lower()


def test_the_log_of_decisions_lists_releases(lake):
    browser = client(lake)
    assert "Releases of what was held back" not in text_of(page(browser, "/reviews"))
    release(lake)
    told = text_of(page(browser, "/reviews"))
    assert "Releases of what was held back" in told and "all of <b>them</b> cheat" in told
    assert "Releases of what was held back" not in text_of(page(browser, "/reviews?action=clear"))


def test_hostile_texts_of_an_app_are_texts(made, tmp_path):
    """Whatever stands in app version and rules is shown harmlessly, and can be released by its form."""
    lake = copy_of(made, tmp_path / "copy")
    hostile = [replace(game, app_version=EVIL) for game in app_games(BROKEN, THREE, FEW, FEW - 5)]
    land(lake, THREE, "broken.ndjson", hostile)
    night(lake, THREE, challenges=lake.parent / "challenges.csv")
    browser = client(lake)
    answer = page(browser, f"/night?day={THREE}")
    assert not set("\x1b\u202e\x00") & set(answer.text) and "<script>alert" not in answer.text
    assert "replay release --lake" not in text_of(answer), "no shell takes that"
    assert not set("\x1b\u202e\x00") & set(page(browser, "/").text)
    answer = follow(browser, send(browser, answer, "release", reason=EVIL.replace("\x1b", "").replace("\x00", "").replace("\x07", "")))
    check(answer.text)
    (made_now,) = releases(lake)
    assert made_now.group.app_version == EVIL
    assert not set("\x1b\u202e\x00") & set(answer.text)


def test_releases_that_cannot_be_read_leave_all_held_back(lake):
    """The nights are still told; what is wrong stands above every page."""
    release(lake)
    (lake / "reviews.sqlite").write_bytes(b"SQLite format 3\x00 and then nothing of it")
    answer = page(client(lake), "/")
    told = text_of(answer)
    assert f"Held back: {LIES + 4 * FEW + 1} flags of 5 app versions" in told and "the decisions cannot be read" in told


def test_releases_wait_until_the_next_night(lake):
    for at, app in enumerate(FINE[:2], 1):
        release(lake, Group(THREE, "blocks", *app, "1.2.0"))
        words = f"{at} release{'s' * (at > 1)} wait{'s' * (at == 1)} for the next night"
        assert words in text_of(page(client(lake, ANNA), "/boards")), words
    with open_reviews(Lake(lake)) as store:
        store.undo_release(2, reviewer="ana", reason="x", at=datetime(2026, 11, 2, tzinfo=UTC))
    assert "1 release waits for the next night" in text_of(page(client(lake), "/boards"))
