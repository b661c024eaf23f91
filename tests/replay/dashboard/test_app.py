"""The app as a whole: nobody sees a page without a login, every answer bears its headers, and no error shows more than a sentence."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from replay import errors
from replay.dashboard import app as app_module
from replay.dashboard import assets, views
from replay.dashboard.app import PAGES, AppSettings, create_app, status_of
from replay.dashboard.headers import LARGEST_BODY
from replay.errors import ReplayError, UsageError
from replay.lake import Lake
from tests.replay.dashboard.support import ANNA, READER, client, elements, post, published, text_of
from tests.replay.night_support import ROOT, THREE, land, upload

HEADERS = {
    "content-security-policy", "x-content-type-options", "referrer-policy", "permissions-policy", "cache-control",
    "cross-origin-opener-policy", "cross-origin-resource-policy", "x-frame-options",
}  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("app"))


@dataclass(frozen=True)
class Call:
    method: str
    path: str


def calls(app: FastAPI) -> list[Call]:
    """Every method of every route, with something in the place of a path's parameters."""
    found = []
    for route in app.routes:
        assert isinstance(route, APIRoute), f"{route!r}: a mount answers without asking who is there"
        path = re.sub(r"\{[^}]*\}", "base.css", route.path)
        found += [Call(method, path) for method in sorted(route.methods | ({"HEAD"} if "GET" in route.methods else set()))]
    return found


# --- Who may see what ------------------------------------------------------------------------------------------------------


def test_every_route_refuses_somebody_unknown(lake: Path):
    nobody = client(lake, None)
    found = calls(nobody.app)  # type: ignore[arg-type]
    assert len(found) > 20, found
    assert {call.method for call in found} == {"GET", "HEAD", "POST"}
    answers = {call: nobody.request(call.method, call.path).status_code for call in found}
    assert {call: status for call, status in answers.items() if status != 401} == {}


def test_every_route_that_changes_something_refuses_a_reader(lake: Path):
    reader = client(lake, READER)
    posts = [call for call in calls(reader.app) if call.method == "POST"]  # type: ignore[arg-type]
    assert len(posts) >= 4, posts
    before = _files(lake)
    answers = {call.path: post(reader, call.path).status_code for call in posts}
    assert {path: status for path, status in answers.items() if status != 403} == {}
    assert _files(lake) == before


def test_every_route_that_changes_something_refuses_another_site(lake: Path):
    anna = client(lake)
    posts = [call for call in calls(anna.app) if call.method == "POST"]  # type: ignore[arg-type]
    for call in posts:
        assert post(anna, call.path, headers={"sec-fetch-site": "cross-site"}).status_code == 403, call
        assert client(lake).post(call.path, data={"reason": "x"}).status_code == 403, call


def _files(lake: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}


def test_every_page_module_is_there():
    assert {name for name in PAGES if not (Path(app_module.__file__).parent / f"{name}.py").exists()} == set()


def test_a_missing_page_module_is_an_error_and_no_gap(lake: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app_module, "PAGES", (*PAGES, "no_such_page"))
    with pytest.raises(ModuleNotFoundError, match="no_such_page"):
        client(lake)


# --- Headers -----------------------------------------------------------------------------------------------------------------


def _broken() -> APIRouter:
    router = APIRouter()

    @router.get("/broken")
    def broken() -> None:
        raise RuntimeError("a secret of ours")

    @router.get("/raised/{name}")
    def raised(name: str) -> None:
        kind = getattr(errors, name)
        raise kind("code", "a sentence of ours") if name == "MalformedRecord" else kind("a sentence of ours")

    @router.post("/echo")
    async def echo(request: Request) -> int:
        return len(await request.body())

    return router


@pytest.fixture
def breaking(lake: Path) -> TestClient:
    return TestClient(create_app(AppSettings(str(lake)), lambda: ANNA, [_broken()]), follow_redirects=False)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200), ("/night?day=2026-10-31", 200), ("/quarantine", 200), ("/static/base.css", 200), ("/chart.svg?name=seconds", 200),
        ("/nope", 404), ("/night?day=x", 400), ("/broken", 500), ("/raised/NightRunning", 409),
    ],
)  # fmt: skip
def test_every_answer_bears_its_headers(breaking: TestClient, path: str, status: int):
    answer = breaking.get(path)
    assert answer.status_code == status
    assert set(answer.headers) >= HEADERS, HEADERS - set(answer.headers)
    policy = answer.headers["content-security-policy"]
    assert policy == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'self'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.headers["content-type"].startswith("text/html"):
        assert answer.headers["cache-control"] == "no-store"


def test_refusals_bear_their_headers_too(lake: Path):
    for answer in (client(lake, None).get("/"), client(lake, READER).post("/decide"), client(lake).put("/")):
        assert answer.status_code in (401, 403, 405)
        assert set(answer.headers) >= HEADERS


def test_who_may_frame_the_pages_is_set_where_the_app_is_made(lake: Path):
    answer = client(lake, settings={"frame_ancestors": "'none'"}).get("/")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    other = client(lake, settings={"frame_ancestors": "https://airflow.example:8080"}).get("/")
    assert "frame-ancestors https://airflow.example:8080" in other.headers["content-security-policy"]
    assert "x-frame-options" not in other.headers
    for wrong in ("*", "'self'; script-src *", "https://a\r\nx: y", ""):
        with pytest.raises(UsageError, match="frame_ancestors"):
            AppSettings("lake", frame_ancestors=wrong)


@pytest.mark.parametrize("path", ["/", "/night?day=2026-10-31", "/static/base.css", "/nope", "/chart.svg?name=flags"])
def test_head_is_get_without_its_body(lake: Path, path: str):
    anna = client(lake)
    whole, head = anna.get(path), anna.head(path)
    assert head.status_code == whole.status_code
    assert head.content == b""
    assert head.headers["content-length"] == str(len(whole.content))


def test_bodies_are_bounded_with_and_without_a_length(breaking: TestClient):
    assert breaking.post("/echo", content=b"x" * LARGEST_BODY).json() == LARGEST_BODY
    assert breaking.post("/echo", content=b"x" * (LARGEST_BODY + 1)).status_code == 413

    def pieces(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield b"x" * 1024

    assert breaking.post("/echo", content=pieces(64)).json() == LARGEST_BODY
    answer = breaking.post("/echo", content=pieces(65))
    assert answer.status_code == 413
    assert "65,536 bytes" in text_of(answer)
    assert breaking.post("/echo", content=b"x", headers={"content-length": "-1"}).status_code == 413


# --- Errors ------------------------------------------------------------------------------------------------------------------

STATUS = {
    "InputError": 404, "DamagedInput": 404, "ChangedInput": 404, "UnreachableSource": 404, "UsageError": 400,
    "ReferenceDataError": 400, "NightRunning": 409, "DecidedMeanwhile": 409,
}  # fmt: skip


def _kinds(base: type[ReplayError]) -> list[type[ReplayError]]:
    return [base, *(kind for sub in base.__subclasses__() for kind in _kinds(sub))]


def test_each_of_our_errors_is_a_page_with_its_sentence(breaking: TestClient):
    names = sorted({kind.__name__ for kind in _kinds(ReplayError) if kind.__module__ == "replay.errors"})
    assert {"DecidedMeanwhile", "CheckFailed"} <= set(names)
    for name in names:
        answer = breaking.get(f"/raised/{name}")
        assert answer.status_code == STATUS.get(name, 500), name
        assert "A sentence of ours." in text_of(answer), name
    assert status_of(UsageError("x")) == 400


def test_an_unexpected_error_shows_nothing_of_itself_and_is_logged(breaking: TestClient, caplog: pytest.LogCaptureFixture):
    answer = breaking.get("/broken")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert "the log of this server says what" in text_of(answer)
    (record,) = [record for record in caplog.records if record.name == "replay.dashboard"]
    assert record.exc_info is not None
    assert "a secret of ours" in str(record.exc_info[1])


@pytest.mark.parametrize("path", ["/nope", "/a/b/c", "/static/nope.css", "/flags/", "//evil.example/", "/%00", "/../etc/passwd"])
def test_an_unknown_page_links_home_wherever_it_is(lake: Path, path: str):
    browser = client(lake)
    answer = browser.get(f"http://testserver{path}")
    assert answer.status_code == 404
    home = [link["href"] for link in elements(answer, "a") if "front page" in text_of(answer) and link["href"].endswith("/")]
    assert home
    assert {str(answer.url.join(link).path) for link in home} == {"/"}
    (style,) = [link["href"] for link in elements(answer, "link") if link["rel"] == "stylesheet"]
    assert answer.url.join(style).path == "/static/base.css"


def test_a_wrong_parameter_is_a_sentence_that_names_it(lake: Path):
    anna = client(lake)
    assert "Parameter day '2026-13-01' is no day, write it as YYYY-MM-DD." in text_of(anna.get("/night?day=2026-13-01"))
    assert "Parameter skip '-1' is no whole number" in text_of(anna.get("/?skip=-1"))
    hostile = anna.get("/night", params={"day": "<script>alert(1)</script>\u202e"})
    assert hostile.status_code == 400
    assert "<script>" not in hostile.text
    assert "\u202e" not in hostile.text


def test_a_lake_that_is_gone_is_a_sentence(tmp_path: Path):
    answer = client(tmp_path / "gone").get("/")
    assert answer.status_code == 404
    assert "no such lake" in text_of(answer)


# --- Mounted, and what a page says of its age --------------------------------------------------------------------------------


def test_the_same_app_works_under_a_mount(lake: Path):
    outer = FastAPI()
    outer.mount("/ops", create_app(AppSettings(str(lake)), lambda: ANNA))
    browser = TestClient(outer)
    front = browser.get("/ops/")
    assert front.status_code == 200
    places = [link["href"] for link in (*elements(front, "a"), *elements(front, "link"))]
    places += [form["action"] for form in elements(front, "form")]
    assert [place for place in places if place.startswith("/") or "//" in place] == []
    (style,) = [link["href"] for link in elements(front, "link") if link["rel"] == "stylesheet"]
    assert browser.get(str(front.url.join(style))).status_code == 200
    assert "Path=/ops/;" in front.headers["set-cookie"]
    assert browser.get("/ops/nope").status_code == 404


def test_a_page_says_how_old_its_data_is_and_what_waits(lake: Path):
    from replay.reviews.games import draft, find_game
    from replay.reviews.store import open_reviews
    from tests.replay.night_support import verdict_rows

    row = next(row for row in verdict_rows(lake) if row["verdict"] == "flagged")
    assert "Standings as of 2026-10-31 (UTC" in text_of(client(lake).get("/quarantine"))
    assert "wait" not in text_of(client(lake).get("/quarantine"))
    with open_reviews(Lake(lake)) as store:
        found = find_game(Lake(lake), row["game_id"], day=THREE, file=row["source_file"], line=row["source_line"])
        store.decide([draft("note", found, [])], reviewer="Anna", reason="looked at it")
        assert "wait" not in text_of(client(lake).get("/quarantine")), "a note moves nothing"
        store.decide([draft("uphold", found, store.decisions())], reviewer="Anna", reason="forged")
    page = client(lake).get("/quarantine")
    assert "1 decision waits for the next night" in text_of(page)
    assert "Restate now" in text_of(page)
    assert "Restate now" not in text_of(client(lake, READER).get("/quarantine"))
    restated = post(client(lake), "/restate")
    assert restated.status_code == 200
    assert "wait" not in text_of(restated), "the page that took them in says so"
    with open_reviews(Lake(lake)) as store:
        newest = store.decisions()[-1]
        store.decide([draft("undo", found, store.decisions(), undoes=newest.id)], reviewer="Anna", reason="a slip")
        assert "1 decision waits for the next night" in text_of(client(lake).get("/quarantine"))
        store.decide([draft("uphold", found, store.decisions())], reviewer="Anna", reason="forged after all")
        newest = store.decisions()[-1]
        store.decide([draft("undo", found, store.decisions(), undoes=newest.id)], reviewer="Anna", reason="no")
    post(client(lake), "/restate")
    with open_reviews(Lake(lake)) as store:
        store.decide([draft("uphold", found, store.decisions())], reviewer="Anna", reason="forged")
        newest = store.decisions()[-1]
        store.decide([draft("undo", found, store.decisions(), undoes=newest.id)], reviewer="Anna", reason="a slip")
    assert "wait" not in text_of(client(lake).get("/quarantine")), "undone at once: standings stay as they are"


def test_pages_hold_no_file_open(lake: Path):
    anna = client(lake)
    for path in ("/", "/night?day=2026-10-31", "/quarantine", "/chart.svg?name=flags"):
        assert anna.get(path).status_code == 200
    held = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd") if _is_link(number)]
    assert [name for name in held if name.startswith(str(lake))] == []


def _is_link(number: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{number}")


def test_landing_and_publishing_nothing_still_gives_pages(tmp_path: Path):
    land(tmp_path / "lake", THREE, "a.ndjson", [upload("g", "p")])
    anna = client(tmp_path / "lake")
    front = anna.get("/")
    assert front.status_code == 200
    assert "No standings are published yet." in text_of(front)
    assert anna.get("/quarantine").status_code == 200


# --- Looks -------------------------------------------------------------------------------------------------------------------


def test_every_page_has_one_heading_landmarks_and_a_skip_link(lake: Path):
    for path in ("/", "/night?day=2026-10-31", "/quarantine", "/nope"):
        page = client(lake).get(path)
        assert len(elements(page, "h1")) == 1, path
        assert len(elements(page, "main")) == len(elements(page, "header")) == len(elements(page, "footer")) == 1
        assert elements(page, "a")[0]["href"] == f"#{elements(page, 'main')[0]['id']}"
        assert elements(page, "html")[0]["lang"] == "en"
        for table in (element for element in elements(page, "th")):
            assert table.get("scope") in ("col", "row"), path
        assert not re.search(r"\sstyle=|<style|\son[a-z]+=|<script", page.text), path


def _themes() -> dict[str, dict[str, str]]:
    text = (assets.STATIC / "base.css").read_text("utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", text, re.S)
    found = {name: dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for name, block in (("light", light), ("dark", dark))}
    assert set(found["light"]) == set(found["dark"])
    return found


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    """WCAG 2's contrast ratio of two colours, 1 to 21."""
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


TEXTS = [(text, ground) for text in ("text", "soft", "accent") for ground in ("page", "card", "sunk")]
TEXTS += [("text", f"{name}-ground") for name in ("wrong", "right", "warn", "quiet")] + [("soft", "quiet-ground")]
TEXTS += [(name, f"{name}-ground") for name in ("wrong", "right", "warn")] + [("accent", "wrong-ground"), ("accent", "warn-ground")]
TEXTS += [("wrong", "card"), ("right", "card"), ("warn", "card"), ("on-accent", "accent"), ("on-wrong", "wrong")]
TEXTS += [("on-top", "top"), ("on-top-soft", "top")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_is_aa_in_both_themes(theme: str):
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    colours = _themes()[theme]
    short = {(a, b): round(contrast(colours[a], colours[b]), 2) for a, b in TEXTS if contrast(colours[a], colours[b]) < 4.5}
    assert short == {}, "text below 4.5"
    # The edge of a field, and what shows where the keyboard is.
    edges = [("edge", "card"), ("edge", "page"), ("accent", "page"), ("accent", "card"), ("on-top", "top")]
    assert {pair: 0 for pair in edges if contrast(colours[pair[0]], colours[pair[1]]) < 3} == {}


def test_importing_the_app_imports_nothing_heavy():
    code = (
        "import sys; from replay.dashboard.app import AppSettings, create_app; create_app(AppSettings('x'), lambda: None);"
        "print(sorted({n.partition('.')[0] for n in sys.modules}"
        " & {'duckdb', 'sqlalchemy', 'altair', 'vl_convert', 'polars', 'pyarrow', 'numba', 'numpy', 'airflow'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False, timeout=60)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_words_for_times_and_numbers():
    assert views.utc(0) == "1970-01-01 00:00:00 UTC"
    assert views.utc("2026-10-31T14:05:07+02:00") == "2026-10-31 12:05:07 UTC"
    assert views.utc(None) == views.number(None) == views.percent(None) == "-"
    assert views.utc(10**18) == "1,000,000,000,000,000,000 µs since 1970"
    assert (views.number(1234), views.number(1234.56, 1), views.percent(0.123)) == ("1,234", "1,234.6", "12.3 %")
    assert (views.per_thousand(3, 1000), views.per_thousand(3, 0)) == ("3.0", "-")
    assert views.query(a="x y&<", b=None, c="", d=0) == "?a=x+y%26%3C&d=0"
    assert views.query(a="\ud800") == "?a=%3F"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing was found", "Nothing was found."), ("game 'x' is no game!", "Game 'x' is no game!"),
        # The names of folders and URLs: with a capital letter they would be others.
        ("lake/logs/day=2026-11-02: no log file", "lake/logs/day=2026-11-02: no log file."), ("lake: no such lake", "lake: no such lake."),
        ("s3://games/lake: refused", "s3://games/lake: refused."), ("--day 'x' is no day", "--day 'x' is no day."),
    ],
)  # fmt: skip
def test_a_sentence_begins_with_a_capital_letter_unless_a_name_stands_there(text, said):
    assert views.sentence(text) == said
