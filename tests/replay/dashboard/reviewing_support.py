"""A small lake with games to decide on, and forms filled in as a person would who looks at the page."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from httpx import Response

from replay.lake import Lake
from replay.reviews.model import Decision
from replay.reviews.store import open_reviews
from tests.replay.dashboard.support import text_of
from tests.replay.night_support import EVIL, THREE, land, night, upload, write_challenges

MANY = 6


def lake_to_decide(root: Path) -> Path:
    """One published day: two honest games, one with a score beyond its log (it would lead), one played too fast, one beyond the
    attempts, one in another mode, MANY with a wrong best combo, and hostile texts."""
    lake, challenges = root / "lake", write_challenges(root / "challenges.csv")
    first, second = upload("first", "p-first", seed=5, tokens=400), upload("second", "p-second", seed=6, tokens=400)
    wrong = upload("wrong", "p-wrong", seed=3)
    fast = upload("fast", "p-fast", seed=8, tokens=25)
    games = [
        first, second, replace(wrong, score=wrong.score + 100_000), replace(fast, finished_at=fast.started_at + 1_000_000),
        upload("late", "p-late", seed=7, attempt=4), upload("mode", "p-mode", seed=9, mode="training", score=7),
        upload(EVIL, EVIL + "p", seed=4, platform=EVIL, app_version=EVIL, score=7),
        *(upload(f"combo-{n}", f"p-combo-{n}", seed=20 + n, best_combo=77) for n in range(MANY)),
    ]  # fmt: skip
    land(lake, THREE, "a.ndjson", games)
    night(lake, challenges=challenges)
    return lake


def again(lake: Path) -> None:
    """Run the day's night again."""
    night(lake, challenges=lake.parent / "challenges.csv")


class _Forms(HTMLParser):
    """The forms of a page, each with its method, its action and the values that a browser would send as it stands."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, dict[str, str]]] = []
        self._area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((given.get("method", "get"), given.get("action", ""), {}))
        elif tag == "textarea" and self.found:
            self._area = given["name"]
            self.found[-1][2][self._area] = ""
        elif tag == "input" and self.found and "name" in given:
            if given.get("type") != "radio" or "checked" in given:
                self.found[-1][2][given["name"]] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            # A browser drops the line feed that follows the tag.
            fields = self.found[-1][2]
            fields[self._area] = (fields[self._area] + data).removeprefix("\n")


def forms(answer: Response, action: str) -> list[dict[str, str]]:
    """The fields of every form of a page that is posted to ``action``, as they stand."""
    parser = _Forms()
    parser.feed(answer.text)
    return [fields for method, target, fields in parser.found if (method, target) == ("post", action)]


def send(browser: TestClient, page: Response, form: str, /, **written: object) -> Response:
    """Fill in the first form of a page that is sent to ``form``, and send it."""
    found = forms(page, form)
    assert found, f"no form {form!r} on {page.url}: {text_of(page)}"
    return browser.post(f"/{form}", data=found[0] | {name: str(value) for name, value in written.items()})


def follow(browser: TestClient, answer: Response) -> Response:
    """The page that a form leads to."""
    assert answer.status_code == 303, text_of(answer)
    page = browser.get("/" + answer.headers["location"])
    assert page.status_code == 200, text_of(page)
    return page


def open_game(browser: TestClient, game_id: str, **place: object) -> Response:
    page = browser.get("/game", params={"id": game_id, **place})
    assert page.status_code == 200, f"{game_id!a}: {text_of(page)}"
    return page


def decide(browser: TestClient, game_id: str, action: str, reason: str = "we looked", **written: object) -> Response:
    """Open a game, decide in its form, and see the page that follows."""
    return follow(browser, send(browser, open_game(browser, game_id), "decide", action=action, reason=reason, **written))


def decisions(lake: Path, game_id: str | None = None) -> list[Decision]:
    with open_reviews(Lake(lake)) as store:
        return store.decisions(game_id=game_id)


def summary(found: list[Decision]) -> list[tuple[Any, ...]]:
    return [(d.id, d.action, d.reviewer, d.reason, d.game_id, d.undoes) for d in found]
