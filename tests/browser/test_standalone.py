"""``replay dashboard`` as people use it, in a real browser: what they find, decide and see, by mouse, by keyboard, on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from replay.lake import Lake
from replay.night import NightSettings, restate_standings
from replay.reviews.games import draft, find_game
from replay.reviews.store import open_reviews
from tests.browser.lakes import flagged, hostile_lake, lake_of_games
from tests.browser.watch import NARROW, WIDE, Watch
from tests.hostile_day import TEXTS
from tests.replay.dashboard.serving import Dashboard, command
from tests.replay.night_support import THREE, ask
from tests.stage import on_stage

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
LOOKS = (Path(__file__).parent / "looks.js").read_text("utf-8")
SCHEMES = ("light", "dark")
# Of ``pages``: those that say that there is no such thing.
GONE = ("missing", "nobody")


@pytest.fixture(scope="module")
def lake(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three nights of all games, and one decision of each kind."""
    found = lake_of_games(tmp_path_factory.mktemp("games"))
    where = Lake(found)
    with open_reviews(where) as store:
        for action, reason in (("uphold", "impossible_score"), ("clear", "board_mismatch"), ("note", "attempt_limit")):
            row = find_game(where, flagged(found, "list_contains(reason_codes, ?)", reason)["game_id"])
            store.decide([draft(action, row, store.decisions())], reviewer="Anna", reason="a first look")
    restate_standings(where, NightSettings())
    return found


@pytest.fixture(scope="module")
def served(lake: Path) -> Iterator[Dashboard]:
    with command(lake) as found:
        yield found


@pytest.fixture
def watch(served: Dashboard) -> Iterator[Watch]:
    """What must not happen; looked at when the test is over."""
    found = Watch(served.url)
    yield found
    assert found.wrong == []


@pytest.fixture
def page(browser: Any, watch: Watch) -> Iterator[Any]:
    context = on_stage(browser.new_context)(viewport=WIDE)
    yield on_stage(lambda: watch.page(context.new_page()))()
    on_stage(context.close)()


def pages(lake: Path) -> dict[str, str]:
    """Every page, with something on it: its address by its name."""
    found = {"nights": "", "night": f"night?day={THREE}", "flags": "flags", "unusual": "flags?kind=suspected", "boards": "boards"}
    for game in ("blocks", "tetromino", "tetcolor"):
        row = flagged(lake, "game = ? and verdict = 'flagged' and replayed_score is not null", game)
        found[f"game-{game}"] = address(row)
        found[f"player-{game}"] = "player?" + urlencode({"id": row["player_id"]})
        found[f"boards-{game}"] = f"boards?game={game}"
        found[f"day-{game}"] = "boards?" + urlencode({"game": game, "challenge": row["challenge"]})
    found["copy"] = "game?" + urlencode({"id": copied(lake)})
    found["unusual-game"] = address(flagged(lake, "verdict = 'verified'"))
    found |= {"quarantine": "quarantine", "reviews": "reviews", "nobody": "player?id=nobody", "nothing": "flags?player=nobody"}
    return found | {"bulk": "bulk?reason=combo_mismatch&action=clear", "missing": "game?id=none"}


def address(row: dict[str, Any]) -> str:
    place = {"id": row["game_id"], "day": row["day"], "file": row["source_file"], "line": row["source_line"]}
    return "game?" + urlencode(place)


def copied(lake: Path) -> str:
    from tests.replay.night_support import verdict_rows

    return str(next(row["game_id"] for row in verdict_rows(lake, THREE) if row["verdict"] == "copy"))


def main_text(page: Any) -> str:
    return " ".join(page.locator("main").inner_text().split())


def standing(page: Any, served: Dashboard, game: str, player: str, total: int) -> str:
    """What the Player page says; it must show the total."""
    page.goto(served.url + "player?" + urlencode({"id": player}))
    text = main_text(page)
    assert f"{total:,}" in text, f"player {player}: the page does not show {total:,}: {text[:600]}"
    return text


def total_of(lake: Path, game: str, player: str) -> tuple[int, int | None]:
    """(total, world position) of a player in the published standings; (0, None) when they are on no board."""
    world = "scope = 'world' and period = 'all_time'"
    found = ask(lake, f"select total, position from leaderboard where game = ? and player_id = ? and {world}", game, player)
    return found[0] if found else (0, None)


def decide(page: Any, action: str, reason: str, reviewer: str = "Anna") -> None:
    form = page.locator("form.decide")
    form.locator(f"input[name=action][value={action}]").check()
    form.locator("textarea[name=reason]").fill(reason)
    form.locator("input[name=reviewer]").fill(reviewer)
    form.locator("button[type=submit]").click()
    assert "Recorded as decision" in main_text(page)


def restate(page: Any) -> str:
    page.locator(".age form[action$=restate] button").click()
    text = main_text(page)
    assert "restated" in text.lower()
    return text


def undo(page: Any, number: int) -> None:
    page.locator(f"li#d{number} summary").click()
    form = page.locator(f"li#d{number} form[action=undo]")
    form.locator("textarea[name=reason]").fill("that was a mistake")
    form.locator("input[name=reviewer]").fill("Bert")
    form.locator("button[type=submit]").click()
    assert "Recorded as decision" in main_text(page)


# --- What a reviewer does ------------------------------------------------------------------------------------------------


@on_stage
def test_c8_from_the_front_page_to_the_wrong_move_decided_restated_and_undone(page, served, lake):
    """C8, D4, D5: a flagged game is found from the front page and stepped through; clearing, upholding and undoing move the
    player's total and position with every restatement, and in the end all is back."""
    row = flagged(
        lake, "game = 'blocks' and reason_codes = ['score_mismatch'] and attempt_key % 2 = 1 and score > 1000 and day = ?"
        " and not exists (from daily_best b where b.game = flagged_games.game and b.challenge = flagged_games.challenge"
        " and b.player_id = flagged_games.player_id and b.score >= flagged_games.score)", THREE,
    )  # fmt: skip
    game, player = row["game"], row["player_id"]
    before = total_of(lake, game, player)
    page.goto(served.url)
    page.get_by_role("link", name=re.compile("Look at its .* flagged game")).click()
    page.locator("select[name=reason]").select_option("score_mismatch")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name=row["game_id"], exact=True).click()
    assert row["game_id"] in main_text(page)
    here = page.url
    _step_to_the_wrong_move(page)
    decide(page, "clear", "The client of that day added a bonus twice, fixed in 3.1.6")
    restate(page)
    raised = total_of(lake, game, player)
    assert raised[0] > before[0], f"{player}: {before} did not rise by clearing {row['game_id']}: {raised}"
    standing(page, served, game, player, raised[0])
    page.goto(here)
    decide(page, "uphold", "It was not the client after all", "Bert")
    told = restate(page)
    assert player in told, "the restatement names who moved"
    assert total_of(lake, game, player) == before
    page.goto(here)
    with open_reviews(Lake(lake)) as store:
        clear, uphold = store.decisions(game_id=row["game_id"])
    undo(page, uphold.id)
    restate(page)
    assert total_of(lake, game, player) == raised, "with the upholding undone the clearing stands again"
    page.goto(here)
    undo(page, clear.id)
    restate(page)
    assert total_of(lake, game, player) == before
    with open_reviews(Lake(lake)) as store:
        assert [d.action for d in store.decisions(game_id=row["game_id"])] == ["clear", "uphold", "undo", "undo"], "all is kept"


def _step_to_the_wrong_move(page: Any) -> None:
    """By keys and by the slider: the same move, marked as the one from which the two cannot agree."""
    wrong = page.locator("#say .wrong-text")
    page.locator("h1").click()
    page.keyboard.press("Home")
    assert page.locator("#title").inner_text().startswith("Start")
    assert wrong.count() == 0
    steps = 0
    while wrong.count() == 0:
        page.keyboard.press("ArrowRight")
        steps += 1
        assert steps <= 2000, "the keys never came to the wrong move"
    title = page.locator("#title").inner_text()
    page.keyboard.press("ArrowLeft")
    assert wrong.count() == 0
    assert page.locator("#title").inner_text() != title
    page.locator("#slider").fill(str(steps))
    assert page.locator("#title").inner_text() == title
    assert wrong.count() == 1
    page.keyboard.press("End")
    page.locator("#to-wrong").click()
    assert page.locator("#title").inner_text() == title


@on_stage
def test_an_unusual_game_that_is_upheld_takes_its_score_away(page, served, lake):
    """C4, D4: a hint proves nothing and the game counts; only a person takes it out of the standings."""
    row = flagged(lake, "verdict = 'verified' and counted and exists (from daily_best b where b.game_id = flagged_games.game_id)")
    before = total_of(lake, row["game"], row["player_id"])
    page.goto(served.url + address(row))
    assert "proves" in main_text(page), "the page says that a hint is no proof"
    decide(page, "uphold", "the same log was sold in a forum")
    restate(page)
    assert total_of(lake, row["game"], row["player_id"])[0] < before[0]
    page.goto(served.url + address(row))
    with open_reviews(Lake(lake)) as store:
        undo(page, store.last_id())
    restate(page)
    assert total_of(lake, row["game"], row["player_id"]) == before


@on_stage
def test_many_games_are_decided_on_after_a_preview_of_what_would_move(page, served, lake):
    """A filter, what would move, one button; nothing is recorded by looking, and all of it can be undone at once."""
    with open_reviews(Lake(lake)) as store:
        last = store.last_id()
    page.goto(served.url + "flags?reason=combo_mismatch&game=blocks")
    page.get_by_role("link", name=re.compile("^Decide on")).click()
    page.locator("input[name=action][value=clear]").check()
    page.get_by_role("button", name="Show what would happen").click()
    text = main_text(page)
    assert "would move" in text, text[:800]
    count = int(re.search(r"Would be decided on ([\d,]+)", text)[1])
    with open_reviews(Lake(lake)) as store:
        assert store.last_id() == last, "a preview records nothing"
    form = page.locator("form.decide")
    form.locator("textarea[name=reason]").fill("combos were counted wrongly by one client")
    form.locator("input[name=reviewer]").fill("Anna")
    form.locator("button[type=submit]").click()
    assert "Recorded as decision" in main_text(page)
    with open_reviews(Lake(lake)) as store:
        made = [decision for decision in store.decisions() if decision.id > last]
    assert [decision.action for decision in made] == ["clear"] * count
    assert count > 1
    page.locator("main summary", has_text="Undo").first.click()
    undoing = page.locator("form[action=undo]").first
    undoing.locator("textarea[name=reason]").fill("too early")
    undoing.locator("input[name=reviewer]").fill("Anna")
    undoing.locator("button[type=submit]").click()
    with open_reviews(Lake(lake)) as store:
        assert [d.action for d in store.decisions() if d.id > last] == ["clear"] * count + ["undo"] * count


@on_stage
def test_the_second_of_two_people_is_told(browser, served, watch, lake):
    """C8: two people look at the same game; who is later sees what the other decided, and their own words are not lost."""
    row = flagged(lake, "game = 'tetromino' and verdict = 'flagged'")
    one, two = (watch.page(browser.new_context(viewport=WIDE).new_page()) for _ in range(2))
    one.goto(served.url + address(row))
    two.goto(served.url + address(row))
    decide(one, "uphold", "the log contradicts itself", "Anna")
    form = two.locator("form.decide")
    form.locator("input[name=action][value=clear]").check()
    form.locator("textarea[name=reason]").fill("I think it is our bug")
    form.locator("input[name=reviewer]").fill("Bert")
    form.locator("button[type=submit]").click()
    text = main_text(two)
    assert "Anna" in text
    assert "the log contradicts itself" in text
    assert two.locator("textarea[name=reason]").first.input_value() == "I think it is our bug"
    watch.wrong = [wrong for wrong in watch.wrong if "409" not in wrong]
    for looked in (one, two):
        looked.context.close()


# --- Without a script, a mouse or room ------------------------------------------------------------------------------------


@on_stage
def test_without_javascript_everything_but_the_player_works(browser, served, lake):
    """The pages are the server's: filters, decisions and exports need no script; the board stands at the wrong move."""
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)
    page = context.new_page()
    for name, path in pages(lake).items():
        answer = page.goto(served.url + path)
        assert answer.status == (404 if name in GONE else 200), name
        assert len(main_text(page)) > 40, name
    row = flagged(lake, "game = 'tetcolor' and verdict = 'flagged' and reason_codes = ['score_mismatch']")
    page.goto(served.url + address(row))
    assert page.locator("#board").is_visible()
    decide(page, "note", "looked at without scripts")
    page.goto(served.url + "flags")
    page.locator("select[name=game]").select_option("tetcolor")
    page.get_by_role("button", name="Filter").click()
    assert "game=tetcolor" in page.url
    context.close()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "390"])
@on_stage
def test_every_page_fits_can_be_read_and_asks_for_nothing_else(browser, served, watch, lake, size, scheme):
    """No page is wider than its window, no text is below AA's contrast, nothing is written to the console."""
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = watch.page(context.new_page())
    for name, path in pages(lake).items():
        answer = page.goto(served.url + path)
        assert answer.status == (404 if name in GONE else 200), name
        wide = page.evaluate("document.scrollingElement.scrollWidth")
        assert wide <= size["width"], f"{name} is {wide} pixels wide"
        assert page.evaluate(LOOKS) == [], f"{name}, {scheme}: texts with too little contrast"
    # The pages that are not there are errors on purpose.
    watch.wrong = [wrong for wrong in watch.wrong if "404" not in wrong]
    context.close()


@on_stage
def test_by_keyboard_alone(page, served, lake):
    """The first key leads past the navigation, every stop can be seen, and a decision needs no mouse."""
    row = flagged(lake, "game = 'blocks' and verdict = 'flagged' and list_contains(reason_codes, 'illegal_move')")
    page.goto(served.url + address(row))
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.get_attribute("href") == "#main"
    box = skip.bounding_box()
    assert box["y"] >= 0 and box["height"] > 10, "the skip link can be seen when it has the focus"
    page.keyboard.press("Enter")
    stops = []
    for _ in range(80):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => { const at = document.activeElement, style = getComputedStyle(at);
            return [at.tagName, at.id || at.name || at.textContent.trim().slice(0, 20), at.closest("main") !== null,
            style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none"]; }"""
        )
        if found[0] == "BODY":
            break
        stops.append(found)
        assert found[3], f"the focus on {found[:2]} cannot be seen"
    assert stops[0][2], "the skip link leads into the page"
    names = [stop[1] for stop in stops]
    assert {"reason", "slider"} & set(names) or {"decide-reason", "slider"} <= set(names), names
    page.goto(served.url + address(row))
    page.locator("form.decide input[name=action]").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("by keys alone")
    page.keyboard.press("Tab")
    page.keyboard.type("Kay")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    with open_reviews(Lake(lake)) as store:
        found = store.decisions(game_id=row["game_id"])[-1]
    assert (found.reason, found.reviewer) == ("by keys alone", "Kay")


# --- Texts that try to be something else ----------------------------------------------------------------------------------


@on_stage
def test_d8_hostile_texts_do_nothing_in_a_browser(browser, tmp_path_factory):
    """D8: on every page that holds them nothing runs, opens or is asked for elsewhere, and no page is wider than its window."""
    lake = hostile_lake(tmp_path_factory.mktemp("hostile"), '=1+1"><img src=x onerror=alert(2)>.ndjson')
    where = Lake(lake)
    with open_reviews(where) as store:
        for name in ("script", "image", "override"):
            row = find_game(where, TEXTS[name])
            store.decide([draft("uphold", row, store.decisions())], reviewer=TEXTS["image"], reason=TEXTS["end-script"])
    names = ("game_id", "day", "source_file", "source_line")
    found = ask(lake, f"select {', '.join(names)} from flagged_games where reason_codes = ['illegal_move'] order by all")
    logs = [dict(zip(names, row, strict=True)) for row in found]
    with command(lake) as served:
        watch = Watch(served.url)
        for scheme, size in (("light", WIDE), ("dark", NARROW)):
            context = browser.new_context(viewport=size, color_scheme=scheme)
            page = watch.page(context.new_page())
            paths = ["", f"night?day={THREE}", "flags?size=200", "quarantine", "reviews", "boards", "boards?game=blocks"]
            wishes = (("player", "id"), ("game", "id"), ("flags", "player"))
            for number, text in enumerate(filter(None, TEXTS.values())):
                # All of them once; again, narrow and dark, one page of each text.
                some = wishes if size == WIDE else wishes[number % 3 :][:1]
                paths += [f"{name}?{urlencode({wish: text})}" for name, wish in some]
            paths += [address(row) for row in logs]
            for path in paths:
                answer = page.goto(served.url + path)
                assert answer.status == 200, f"{path}: {answer.status}"
                wide = page.evaluate("document.scrollingElement.scrollWidth")
                assert wide <= size["width"], f"{path} is {wide} pixels wide"
            context.close()
        assert watch.wrong == []
