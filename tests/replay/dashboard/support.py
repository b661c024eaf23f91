"""A client of the ops pages over a small published lake, as some person or as nobody, and what its answers say."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from fastapi import HTTPException
from fastapi.testclient import TestClient
from httpx import Response

from replay.dashboard.access import Person
from replay.dashboard.app import AppSettings, create_app
from replay.dashboard.forms import COOKIE, FIELD
from tests.replay.night_support import DAYS, night, simulated

ANNA = Person("Anna", may_decide=True)
BERT = Person("Bert", may_decide=True)
READER = Person("Rita", may_decide=False)
NAMELESS = Person("", may_decide=True)


def published(root: Path, lines: int = 120) -> Path:
    """A lake with three published nights of simulated games, a third of them forged, with their reports."""
    from replay.lake import Lake
    from replay.report import write_report
    from replay.timings import Timings

    lake = simulated(root / "lake", lines)
    for day in DAYS:
        night(lake, day)
        timings = Timings()
        timings.steps |= {"pull": 0.25, "publish": 1.5, "standings": 2.0}
        write_report(Lake(lake), day, timings=timings)
    return lake


def client(lake: Path | str, person: Person | None = ANNA, **kw: Any) -> TestClient:
    """A browser without scripts before the pages of ``lake``; ``person`` None has not logged in.  ``settings`` of the app and
    ``raise_server_exceptions`` of the client may be given."""

    def who() -> Person:
        if person is None:
            raise HTTPException(401, "log in first")
        return person

    settings = AppSettings(str(lake), **kw.pop("settings", {}))
    return TestClient(create_app(settings, who), follow_redirects=False, **kw)


def token(browser: TestClient, page: str = "/") -> str:
    """The form token of this browser, which opens a page first when it has none."""
    if COOKIE not in browser.cookies:
        assert browser.get(page).status_code == 200, page
    return str(browser.cookies[COOKIE])


def post(browser: TestClient, path: str, headers: dict[str, str] | None = None, **fields: object) -> Response:
    """Send one of our own forms."""
    sent = {FIELD: token(browser), **{name: str(value) for name, value in fields.items()}}
    return browser.post(path, data=sent, headers=headers or {})


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def text_of(answer: Response | str) -> str:
    """What a person reads on a page, with single spaces."""
    parser = _Text()
    parser.feed(answer if isinstance(answer, str) else answer.text)
    return " ".join(" ".join(parser.parts).split())


class _Elements(HTMLParser):
    def __init__(self, tag: str) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []
        self._tag = tag

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == self._tag:
            self.found.append({name: value or "" for name, value in attrs})


def elements(answer: Response | str, tag: str) -> list[dict[str, str]]:
    """The attributes of every element ``tag`` of a page, in order."""
    parser = _Elements(tag)
    parser.feed(answer if isinstance(answer, str) else answer.text)
    return parser.found
