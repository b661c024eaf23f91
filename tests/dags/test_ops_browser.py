"""The ops pages in Airflow's own pages, in a real browser: from the navigation to a decision and back, in the frame's sandbox.

Needs Debian's chromium and the extra [browser].  Without them the tests are skipped, or fail where REPLAY_REQUIRE_BROWSER is 1.
REPLAY_SCREENSHOTS names a folder for pictures of what was seen.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.dags.ops_lake import WRONG_MOVE, clear_by_mistake, ops_lake
from tests.dags.ops_server import api_server
from tests.stage import on_stage

pytestmark = pytest.mark.usefixtures("database")

SLOW = 30_000


@pytest.fixture(scope="module")
def lake(browser, tmp_path_factory):
    found = ops_lake(tmp_path_factory.mktemp("ops"))
    clear_by_mistake(found)
    return found


@pytest.fixture(scope="module")
def server(browser, database, lake, tmp_path_factory):
    with api_server(tmp_path_factory.mktemp("server"), lake.environment) as found:
        yield found


class Visit:
    """A person with a browser of their own, logged in to Airflow; what the browser complains about is kept."""

    def __init__(self, browser, server, user: str) -> None:
        self.page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
        self.page.set_default_timeout(SLOW)
        self.complaints: list[str] = []
        self.server, self.user = server, user
        self.page.goto(server.url)
        self.page.fill("input[name=username]", user)
        self.page.fill("input[name=password]", server.passwords[user])
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("link", name="Replay ops").wait_for()
        self.page.on("console", self._heard)

    def _heard(self, message) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    @property
    def frame(self):
        """What stands in Airflow's frame."""
        return self.page.frame_locator("iframe[title='Replay ops']")

    def heading(self, text: str | re.Pattern[str]) -> None:
        """Wait for a page of ours by its heading."""
        self.frame.get_by_role("heading", level=1, name=text).wait_for()

    def go(self, name: str) -> None:
        """Follow our own navigation."""
        self.frame.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()

    def open_game(self, game_id: str) -> None:
        self.go("Flags")
        self.frame.get_by_role("link", name=game_id).first.click()
        self.heading(re.compile(game_id))

    def total(self, player: str) -> str:
        """A player's total of all time as their page shows it."""
        self.frame.get_by_role("textbox", name="Id of a game or a player").fill(player)
        self.frame.get_by_role("search").get_by_role("button", name="Player").click()
        self.heading(re.compile(player))
        row = self.frame.get_by_role("row").filter(has=self.frame.get_by_role("link", name="World, all time"))
        return row.get_by_role("cell").nth(4).inner_text()

    def restate(self) -> None:
        self.frame.get_by_role("button", name=re.compile("^Restate")).first.click()
        self.frame.get_by_text("The standings were restated").wait_for()

    def picture(self, name: str) -> None:
        """Keep what is seen, when somebody wants to see it."""
        folder = os.environ.get("REPLAY_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"airflow-{self.user}-{name}.png")


@on_stage
def test_from_airflows_navigation_to_a_decision_and_back(browser, server, lake):
    """C8 within Airflow: a forged game that somebody cleared by mistake is found, looked at, upheld; totals follow; undone."""
    ada = Visit(browser, server, "ada")
    ada.page.get_by_role("link", name="Replay ops").click()
    ada.heading(re.compile("night", re.I))
    assert "/plugin/ops" in ada.page.url
    ada.picture("1-nights")
    assert ada.total(lake.player) == f"{lake.claimed_score:,}"
    ada.picture("2-player-before")
    ada.open_game(lake.flagged)
    # The address of Airflow's page leads back to the game; it follows the frame a little later.
    ada.page.wait_for_function("location.href.includes('game?id=')")

    title, slider = ada.frame.locator("#title"), ada.frame.locator("#slider")
    ada.frame.locator("#to-first").click()
    assert title.inner_text().startswith("Start of")
    slider.focus()
    for move in range(1, WRONG_MOVE + 1):
        ada.page.keyboard.press("ArrowRight")
        assert title.inner_text() == f"Move {move} of {WRONG_MOVE}"
    assert "cannot be played" in ada.frame.locator("#say").inner_text()
    ada.picture("3-game")

    form = ada.frame.locator("form[action='decide']")
    assert "ada" in form.inner_text(), "the decision is the login's"
    form.get_by_role("radio", name=re.compile("^Uphold")).check()
    form.get_by_role("textbox", name="Reason").fill("move 12 leaves the board")
    form.get_by_role("button", name="Record the decision").click()
    ada.frame.get_by_role("button", name=re.compile("^Restate")).first.wait_for()
    ada.picture("4-upheld")
    ada.restate()
    ada.picture("5-restated")
    assert ada.total(lake.player) == f"{lake.honest_score:,}"

    ada.open_game(lake.flagged)
    ada.frame.locator("summary", has_text="Undo").first.click()
    undo = ada.frame.locator("form[action='undo']").first
    undo.get_by_role("textbox").fill("wrong game")
    undo.get_by_role("button", name=re.compile("^Undo")).click()
    ada.restate()
    assert ada.total(lake.player) == f"{lake.claimed_score:,}"
    ada.picture("6-undone")
    assert ada.complaints == []


@on_stage
def test_a_viewer_sees_no_form_and_cannot_send_one(browser, server, lake):
    vera = Visit(browser, server, "vera")
    vera.page.get_by_role("link", name="Replay ops").click()
    vera.open_game(lake.flagged)
    vera.frame.locator("#title").scroll_into_view_if_needed()
    vera.picture("game")
    vera.page.set_viewport_size({"width": 390, "height": 844})
    vera.picture("game-390")
    for action in ("decide", "undo", "restate", "bulk"):
        assert vera.frame.locator(f"form[action='{action}']").count() == 0, action
    cookies = {one["name"]: one["value"] for one in vera.page.context.cookies(f"{server.url}/ops/")}
    fields = {"id": lake.flagged, "action": "uphold", "reason": "x", "seen": "0", "form_token": cookies.get("replay_form", "")}
    answer = vera.page.request.post(f"{server.url}/ops/decide", form=fields)
    assert answer.status == 403
    assert "not decide" in answer.text()


@on_stage
def test_an_expired_login_is_answered_with_a_way_back(browser, server, lake):
    """A link that was kept: its frame says what to do; after the login the same page is there."""
    page = browser.new_context().new_page()
    page.set_default_timeout(SLOW)
    page.goto(f"{server.url}/ops/game?id={lake.flagged}")
    page.get_by_role("link", name="Log in to Airflow").click()
    page.fill("input[name=username]", "vera")
    page.fill("input[name=password]", server.passwords["vera"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", level=1, name=re.compile(lake.flagged)).wait_for()
    assert page.url == f"{server.url}/ops/game?id={lake.flagged}"
