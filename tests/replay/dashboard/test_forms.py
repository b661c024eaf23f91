"""Forms that another site cannot send."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi import APIRouter, Depends, FastAPI
from fastapi.testclient import TestClient

from replay.dashboard.app import AppSettings, create_app
from replay.dashboard.forms import COOKIE, FIELD, own_form
from tests.replay.dashboard.support import ANNA, elements, text_of, token
from tests.replay.night_support import THREE, land, upload


def _app(lake: Path) -> FastAPI:
    router = APIRouter()

    @router.post("/do", dependencies=[Depends(own_form)])
    def do() -> str:
        return "done"

    return create_app(AppSettings(str(lake)), lambda: ANNA, [router])


@pytest.fixture
def browser(tmp_path: Path) -> TestClient:
    land(tmp_path / "lake", THREE, "a.ndjson", [upload("g", "p")])
    return TestClient(_app(tmp_path / "lake"), follow_redirects=False)


def test_our_own_form_is_taken(browser: TestClient):
    assert browser.post("/do", data={FIELD: token(browser)}).json() == "done"
    again = browser.post("/do", data={FIELD: token(browser)})
    assert again.status_code == 200, "going back and sending it again is no crime"


def test_the_cookie_is_random_and_kept_from_scripts_and_other_sites(browser: TestClient):
    cookie = browser.get("/").headers["set-cookie"]
    assert re.fullmatch(rf"{COOKIE}=[A-Za-z0-9_-]{{43}}; HttpOnly; Path=/; SameSite=strict", cookie), cookie
    assert "set-cookie" not in browser.get("/").headers, "a second page keeps the first one's forms good"
    assert browser.cookies[COOKIE] != TestClient(browser.app).get("/").cookies[COOKIE]
    safe = TestClient(browser.app, base_url="https://testserver").get("/").headers["set-cookie"]
    assert "; Secure" in safe


@pytest.mark.parametrize("value", ["", "short", "x" * 43 + "\u00e9", "a b", '"; Path=/evil', "\u202e" * 43, "x" * 44])
def test_a_cookie_that_is_none_of_ours_is_replaced_and_never_echoed(browser: TestClient, value: str):
    answer = browser.get("/", headers={"cookie": f"{COOKIE}={value}".encode()})
    assert re.match(rf"{COOKIE}=[A-Za-z0-9_-]{{43}};", answer.headers["set-cookie"])
    sent = browser.post("/do", data={FIELD: value}, headers={"cookie": f"{COOKIE}={value}".encode()})
    assert sent.status_code == 403


def _refused(answer: object) -> str:
    assert answer.status_code == 403  # type: ignore[attr-defined]
    return text_of(answer)  # type: ignore[arg-type]


def test_a_form_without_its_cookie_or_with_another_field_is_refused(browser: TestClient):
    good = token(browser)
    assert "not made for this browser" in _refused(browser.post("/do", data={}))
    assert "not made for this browser" in _refused(browser.post("/do", data={FIELD: good[:-1] + "x"}))
    assert "not made for this browser" in _refused(browser.post("/do", data={FIELD: "\u00e9"}))
    assert "not made for this browser" in _refused(browser.post("/do", files={FIELD: ("a", b"x")}))
    assert "not made for this browser" in _refused(browser.post(f"/do?{FIELD}={good}"))
    assert "not made for this browser" in _refused(browser.post("/do", json={FIELD: good}))
    alone = TestClient(browser.app)
    assert "without its cookie" in _refused(alone.post("/do", data={FIELD: good}))
    assert "Open the page again" not in _refused(alone.post("/do", data={FIELD: good}))
    assert "open the page again and send its form once more" in _refused(alone.post("/do", data={FIELD: good}))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "same-origin"}, 200), ({"sec-fetch-site": "none"}, 200), ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403), ({"sec-fetch-site": ""}, 403),
        # The browser's own word wins: a server in front may have changed the name.
        ({"sec-fetch-site": "same-origin", "origin": "https://other.example"}, 200),
        ({"sec-fetch-site": "cross-site", "origin": "http://testserver"}, 403),
        ({"origin": "http://testserver"}, 200), ({"origin": "https://testserver"}, 200), ({"origin": "http://TESTSERVER"}, 200),
        ({"origin": "http://testserver:81"}, 403), ({"origin": "http://evil.example"}, 403), ({"origin": "null"}, 403),
        ({"origin": "http://testserver.evil.example"}, 403), ({"origin": ""}, 403), ({}, 200),
    ],
)  # fmt: skip
def test_the_browsers_word_for_where_a_form_comes_from(browser: TestClient, headers: dict[str, str], status: int):
    answer = browser.post("/do", data={FIELD: token(browser)}, headers=headers)
    assert answer.status_code == status, headers
    if status == 403:
        assert "sent by another site" in text_of(answer)


def test_forms_work_under_a_mount(tmp_path: Path):
    """As in Airflow: the app lies below /ops/, in a frame of the same origin."""
    land(tmp_path / "lake", THREE, "a.ndjson", [upload("g", "p")])
    outer = FastAPI()
    outer.mount("/ops", _app(tmp_path / "lake"))
    browser = TestClient(outer)
    page = browser.get("/ops/", headers={"sec-fetch-dest": "iframe"})
    assert f"{COOKIE}=" in page.headers["set-cookie"]
    assert "Path=/ops/;" in page.headers["set-cookie"]
    sent = browser.post("/ops/do", data={FIELD: browser.cookies[COOKIE]}, headers={"sec-fetch-site": "same-origin"})
    assert sent.json() == "done"
    # Outside of the app the cookie is not even sent.
    assert COOKIE not in browser.build_request("GET", "/other").headers.get("cookie", "")


def test_every_form_of_a_page_that_posts_bears_the_token(browser: TestClient):
    for path in ("/", "/quarantine", "/flags", "/reviews"):
        page = browser.get(path)
        posting = [form for form in elements(page, "form") if form.get("method", "get") == "post"]
        fields = [field for field in elements(page, "input") if field.get("name") == FIELD]
        assert len(fields) == len(posting), path
        assert {field["value"] for field in fields} <= {browser.cookies[COOKIE]}
