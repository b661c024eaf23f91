"""D8: pages and exports over the hostile day: nothing that a player sent becomes markup, a formula or another's game."""

from __future__ import annotations

import csv
import io
import json
import os
import unicodedata
from collections import Counter
from datetime import date
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from replay.dashboard.access import Person
from replay.dashboard.app import AppSettings, create_app
from replay.lake import Lake
from replay.reviews.games import draft, find_game
from replay.reviews.store import open_reviews
from replay.words import visible
from tests.hostile_day import FOLDER, TEXTS, lines
from tests.replay.dashboard.html_check import Page, problems
from tests.replay.night_support import ask, cli, night

DAY = date(2026, 10, 31)
# Pages of a kind that are followed; REPLAY_LINKS=150 follows nearly all of them.
LINKS = int(os.environ.get("REPLAY_LINKS", "16"))
# Whoever lands files may not be trusted with names either.
FILE = '=1+1"><svg onload=alert(2)>\u202e.ndjson'
REVIEWER = '<img src=x onerror=alert(3)>=1+1"\u202e'
REASON = "</textarea><script>alert(4)</script>\n=1+1\u202e{{7*7}}"
# What a spreadsheet takes for the beginning of a formula.
STARTS = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """The hostile day, published, with a decision of each kind by somebody with a hostile name."""
    root = tmp_path_factory.mktemp("hostile") / "lake"
    folder = root / "logs" / f"day={DAY}"
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes((FOLDER / "games.ndjson").read_bytes())
    night(root, DAY)
    where = Lake(root)
    with open_reviews(where) as store:
        for action, name in (("uphold", "script"), ("clear", "formula"), ("note", "override")):
            row = find_game(where, TEXTS[name])
            store.decide([draft(action, row, store.decisions())], reviewer=REVIEWER, reason=REASON)
    return root


@pytest.fixture(scope="module")
def client(lake):
    app = create_app(AppSettings(str(lake)), person=lambda: Person(REVIEWER, True))
    with TestClient(app, base_url="http://localhost", follow_redirects=False) as found:
        yield found


def get(client, path, **parameters):
    """A page as an answer, its headers looked at."""
    found = client.get(f"/{path.removeprefix('./')}", params=parameters or None)
    assert found.status_code == 200, f"{path} {parameters}: {found.status_code}, {found.text[-400:]}"
    policy = found.headers["content-security-policy"]
    assert "default-src 'none'" in policy, path
    assert "unsafe" not in policy, path
    assert found.headers["x-content-type-options"] == "nosniff", path
    return found


def page_of(client, path, **parameters):
    """A page, parsed; fails when it holds anything that our templates do not write."""
    found = get(client, path, **parameters)
    assert found.headers["content-type"] == "text/html; charset=utf-8", path
    page = Page(found.text)
    assert problems(page) == [], f"{path} {parameters}"
    return page


def game_links(page):
    """The parameters of every link to a game."""
    return [parse_qs(urlsplit(link).query, keep_blank_values=True) for link, _ in page.links if link.startswith("game?")]


def every_row(lake):
    """The rows of the mart, by the texts of the day that they hold."""
    columns = "game_id, player_id, platform, app_version, challenge, source_line, verdict"
    return ask(lake, f"select {columns} from flagged_games order by all")


# --- HTML ----------------------------------------------------------------------------------------------------------------


def test_d8_every_page_that_a_link_leads_to_holds_only_our_markup(client):
    """D8: from the front page through every link, filters and sorted views among them: LINKS pages of each kind."""
    waiting, seen, kinds = [""], set(), Counter()
    while waiting and len(seen) < 8 * LINKS:
        link = waiting.pop(0)
        if link in seen:
            continue
        seen.add(link)
        name = urlsplit(link).path
        answer = client.get("/" + link.removeprefix("./"))
        assert answer.status_code == 200, f"{link}: {answer.status_code} {answer.text[-300:]}"
        kinds[name] += 1
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        page = Page(answer.text)
        assert problems(page) == [], link
        for target, _ in page.links:
            # One of many pages of a kind is enough beyond some, but every kind is reached.
            if target and not target.startswith("#") and kinds[urlsplit(target).path.removeprefix("./")] < LINKS:
                waiting.append(target.removeprefix("./").partition("#")[0])
    assert {"flags", "game", "player", "boards", "quarantine", "reviews"} <= set(kinds), kinds
    assert kinds["game"] >= LINKS // 2, kinds
    assert kinds["player"] >= LINKS // 4, kinds


def test_d8_texts_are_shown_as_texts(client):
    """D8: what is written on a page is what was sent, with signs that cannot be seen as escapes."""
    shown = ""
    for offset in range(1, 20):
        page = page_of(client, "flags", page=offset)
        shown += page.text
        if not any(text.strip() == "Next" or text.startswith("Next") for _, text in page.links):
            break
    for name, text in TEXTS.items():
        if name not in ("empty", "long", "spaces"):
            assert " ".join(visible(text).split()) in shown, f"{name}: {visible(text)} is on no page of flags"


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_d8_a_game_link_leads_to_that_very_game(client, lake, name):
    """D8: the address of a game with a hostile id shows that game, whatever stands in its id."""
    wanted = ("flagged", name, True)
    number = next(at for at, line in enumerate(lines(), 1) if (line.verdict, line.name, "game_id" in line.fields) == wanted)
    player = lines()[number - 1].upload["player_id"]
    page = page_of(client, "game", id=TEXTS[name], day=DAY.isoformat(), file=FILE, line=number)
    assert visible(player) in page.text
    forms = [form for form in page.forms if form.action == "decide"]
    assert forms, "a flagged game can be decided on"
    for form in forms:
        assert (form.fields["id"], form.fields["file"], form.fields["line"]) == (TEXTS[name], FILE, str(number)), name


@pytest.mark.parametrize("name", sorted(set(TEXTS) - {"empty"}))
def test_d8_a_player_link_leads_to_that_very_player(client, lake, name):
    """D8: ids compare by their bytes: composed and decomposed stay two players, with their own games each."""
    page = page_of(client, "player", id=TEXTS[name])
    taken = [line.upload for line in lines() if line.verdict != "quarantined"]
    games = {upload["game_id"] for upload in taken if upload["player_id"] == TEXTS[name]}
    others = {upload["game_id"] for upload in taken} - games
    linked = {found["id"][0] for found in game_links(page)}
    assert linked >= games, name
    assert not linked & others, name


@pytest.mark.parametrize("name", sorted(set(TEXTS) - {"empty"}))
@pytest.mark.parametrize("parameter", ["player", "platform", "app_version", "game_id"])
def test_d8_filters_find_exactly_their_rows(client, lake, name, parameter):
    """D8: a text as a filter finds the rows that hold it, and no other: no pattern, no query, no folding of case or accents."""
    text = TEXTS[name]
    column = "player_id" if parameter == "player" else parameter
    wanted = ask(lake, f"select source_line from flagged_games where {column} = ? and verdict = 'flagged'", text)
    page = page_of(client, "flags", **{parameter: text, "size": 100})
    found = {int(link["line"][0]) for link in game_links(page)}
    assert found == {line for (line,) in wanted}, f"{parameter}={text!a}"


PATHS = ("", "night", "flags", "flags.csv", "game", "game.json", "player", "boards", "quarantine", "reviews", "chart.svg", "bulk")


@pytest.mark.parametrize("path", PATHS)
def test_d8_any_text_in_any_parameter_is_answered(client, path):
    """D8: a text as any parameter of any page is a page or a sentence (400, 404), never an error of ours and never markup."""
    names = (
        "id", "day", "file", "line", "game", "reason", "suspicion", "platform", "app_version", "nation", "player", "state",
        "kind", "sort", "page", "scope", "month", "challenge", "code", "name", "theme", "from", "to", "game_id",
    )  # fmt: skip
    texts = (*TEXTS.values(), "9" * 400, "-1", "2026-02-30")
    # Pages look at parameters by the same few functions: each text goes to every third page.
    for number, text in list(enumerate(texts))[PATHS.index(path) % 3 :: 3]:
        # Every text in two parameters, and some in all of them at once.
        wishes = [{names[(number * step) % len(names)]: text} for step in (1, 5)]
        wishes += [dict.fromkeys(names, text)] if number % 5 == 0 and len(text) < 100 else []
        for wish in wishes:
            found = client.get(f"/{path}", params=wish)
            assert found.status_code in (200, 400, 404), f"{path} {wish!a}: {found.status_code}"
            assert "default-src 'none'" in found.headers["content-security-policy"]
            if found.headers["content-type"].startswith("text/html"):
                assert problems(Page(found.text)) == [], f"{path} {wish!a}"


@pytest.mark.parametrize("raw", ["%ED%A0%80", "%FF%FE", "%00", "%", "%zz", "a%0d%0aSet-Cookie:x=1"])
def test_d8_bytes_that_are_no_text_are_answered(client, raw):
    """D8: a lone surrogate or broken UTF-8 in an address is answered with a page."""
    paths = ("player?id=", "game?id=", "flags?player=", "boards?game=", "quarantine?code=", "flags.csv?platform=", "nowhere/")
    for path in paths:
        found = client.get(f"/{path}{raw}")
        assert found.status_code in (200, 400, 404), f"{path}{raw}: {found.status_code}"
        assert "set-cookie" not in found.headers or "x=1" not in found.headers["set-cookie"]
        if found.headers["content-type"].startswith("text/html"):
            assert problems(Page(found.text), path.count("/")) == [], f"{path}{raw}"


# --- Forms ---------------------------------------------------------------------------------------------------------------


def test_d8_decisions_of_hostile_people_are_texts_too(client):
    """D8: reviewers and their reasons are no more trusted than players."""
    page = page_of(client, "reviews")
    assert visible(REVIEWER) in page.text
    assert "{{7*7}}" in page.text


# --- Exports -------------------------------------------------------------------------------------------------------------


def test_d8_csv_opens_harmlessly(client, lake):
    """D8: in a spreadsheet no cell is a formula, and every cell is in its column; what was sent can be told from it."""
    answer = get(client, "flags.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    text = answer.content.decode("utf-8-sig")
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    flagged = [row for row in every_row(lake) if row[6] == "flagged"]
    assert len(rows) == len(flagged) > 150
    for row in rows:
        assert len(row) == len(header)
        for column, cell in zip(header, row, strict=True):
            number = cell.removeprefix("-").isdecimal() and column in ("score", "best_combo", "attempt")
            assert number or not cell.startswith(tuple(STARTS)), f"{column}: {cell!a} is a formula in a spreadsheet"
            assert not any(unicodedata.category(char) == "Cc" and char != "\n" for char in cell), f"{column}: {cell!a}"
    # Nothing was lost on the way: each id stands in its row, told apart from every other one.
    at, wanted = header.index("player_id"), Counter(row[1] for row in flagged)
    assert sorted(Counter(row[at] for row in rows).values()) == sorted(wanted.values())


def test_d8_json_is_exact(lake):
    """D8: for machines every text is what was sent."""
    done = cli("flags", "--lake", lake, "--json", "--limit", 1000)
    assert done.returncode in (0, 1), done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    wanted = Counter((row[0], row[1], row[2], row[3]) for row in every_row(lake) if row[6] == "flagged")
    assert Counter((row["game_id"], row["player_id"], row["platform"], row["app_version"]) for row in rows) == wanted


def test_d8_the_game_as_a_file_holds_only_our_markup(lake, tmp_path):
    """D8: `replay game --html` of games that are texts all over."""
    for name in ("script", "image", "end-script", "override", "template"):
        number = next(at for at, line in enumerate(lines(), 1) if line.name == name and line.fields == ("moves", "final_board"))
        game_id = lines()[number - 1].upload["game_id"]
        target = tmp_path / f"{name}.html"
        done = cli("game", game_id, "--lake", lake, "--html", target)
        assert done.returncode in (0, 1), done.stderr
        page = Page(target.read_text("utf-8"))
        texts = TEXTS[name]
        assert not any(texts in value for tag, attributes in page.elements for value in attributes.values() if tag == "script")
        assert Counter(tag for tag, _ in page.elements if tag in ("img", "svg", "iframe", "object"))["img"] == 0
        assert "alert" not in " ".join(data for tag, data in page.texts if tag == "script" and "<" in data), name


def test_composed_and_decomposed_are_two_players_in_the_standings(lake):
    """D8: opaque ids compare by bytes, in the warehouse too."""
    both = ("\u00e9", "e\u0301")
    found = ask(lake, "select player_id, count(*) from totals where player_id in (?, ?) group by all", *both)
    assert sorted(found) == [("e\u0301", 1), ("\u00e9", 1)]
