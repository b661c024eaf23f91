"""The app by itself: open on this machine under its own names only, behind a token elsewhere."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from httpx import Response

from replay.dashboard import standalone
from replay.dashboard.access import Person, decider, reader
from replay.dashboard.forms import FIELD
from replay.dashboard.standalone import COOKIE, LOGIN_SECONDS, Tokens, check_tokens, is_loopback, local_link, standalone_app
from replay.errors import UsageError
from tests.replay.dashboard.support import client, elements, post, text_of, token
from tests.replay.night_support import ROOT, THREE, cli, land, night, upload

SECRET, READ = "a-secret-of-32-characters-1234567", "another-secret-to-read-only-99999"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("access") / "lake"
    land(place, THREE, "a.ndjson", [upload("fine", "p-1"), upload("forged", "p-2", score=7)])
    night(place)
    return place


def opened(lake: Path, base_url: str = "http://127.0.0.1:8321") -> TestClient:
    return TestClient(standalone_app(str(lake), "127.0.0.1", 8321, Tokens()), base_url=base_url, follow_redirects=False)


def behind_token(lake: Path, base_url: str = "http://ops.example") -> TestClient:
    app = standalone_app(str(lake), "0.0.0.0", 8321, Tokens(SECRET, READ))
    return TestClient(app, base_url=base_url, follow_redirects=False)


def log_in(browser: TestClient, secret: str, then: str = "./") -> Response:
    return browser.post("/login", data={FIELD: token(browser, "/login"), "token": secret, "then": then})


# --- Open, on this machine ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["127.0.0.1:8321", "localhost:8321", "[::1]:8321", "LOCALHOST:8321"])
def test_open_under_the_names_of_this_machine(lake: Path, name: str):
    answer = opened(lake).get("/", headers={"host": name})
    assert answer.status_code == 200
    assert "You may decide" in text_of(answer)
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "name", ["evil.example", "evil.example:8321", "127.0.0.1", "127.0.0.1:80", "localhost:8321.evil.example", "192.168.1.7:8321", ""]
)
def test_closed_under_any_other_name(lake: Path, name: str):
    """DNS rebinding: a name that somebody made to lead here is somebody else's page."""
    for path in ("/", "/flags.csv", "/static/base.css"):
        answer = opened(lake).get(path, headers={"host": name})
        assert answer.status_code == 403
        assert "forged" not in answer.text
    assert "open them as http://localhost:8321/" in text_of(opened(lake).get("/", headers={"host": name}))


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-host"])
def test_a_proxy_in_front_needs_a_token(lake: Path, header: str):
    answer = opened(lake).get("/", headers={header: "203.0.113.7"})
    assert answer.status_code == 403
    assert "set REPLAY_DASHBOARD_TOKEN" in text_of(answer)


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True), ("127.0.0.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
        ("192.168.0.2", False), ("ops.example", False), ("localhost.example", False), ("", False),
    ],
)  # fmt: skip
def test_only_loopback_addresses_do_without_a_token(host: str, alone: bool):
    assert is_loopback(host) is alone
    if alone:
        check_tokens(host, Tokens())
    else:
        with pytest.raises(UsageError, match="set REPLAY_DASHBOARD_TOKEN"):
            check_tokens(host, Tokens())
    check_tokens(host, Tokens(SECRET))
    check_tokens(host, Tokens(read=READ))


def test_a_token_that_could_be_guessed_is_refused_and_never_shown():
    for tokens in (Tokens("x" * 15), Tokens(SECRET, "y" * 15), Tokens(""), Tokens(SECRET, SECRET)):
        with pytest.raises(UsageError, match="REPLAY_DASHBOARD") as told:
            check_tokens("127.0.0.1", tokens)
        assert not re.search(r"xxxx|yyyy|secret-of", str(told.value))
    assert SECRET not in repr(Tokens(SECRET, READ))


# --- Behind a token ----------------------------------------------------------------------------------------------------------


def test_nothing_but_the_login_is_seen_without_the_token(lake: Path):
    browser = behind_token(lake)
    for path in ("/", "/flags", "/night?day=2026-10-31", "/static/base.css", "/chart.svg?name=flags", "/quarantine"):
        answer = browser.get(path)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert str(lake) not in answer.text
        assert "Quarantine" not in answer.text
    assert browser.get("/login").status_code == 200
    assert browser.get("/login.css").headers["content-type"].startswith("text/css")
    (style,) = [link["href"] for link in elements(browser.get("/"), "link") if link["rel"] == "stylesheet"]
    assert style == "login.css"


def test_logging_in_leads_back_to_the_page_that_was_wanted(lake: Path):
    browser = behind_token(lake)
    refused = browser.get("/night?day=2026-10-31")
    (link,) = [link["href"] for link in elements(refused, "a") if link["href"].startswith("login")]
    form = browser.get(f"/{link}")
    (then,) = [field["value"] for field in elements(form, "input") if field.get("name") == "then"]
    answer = log_in(browser, SECRET, then)
    assert (answer.status_code, answer.headers["location"]) == (303, "night?day=2026-10-31")
    assert browser.get("/night?day=2026-10-31").status_code == 200
    assert browser.get(f"/{link}").headers["location"] == "night?day=2026-10-31", "already in"


def test_the_cookie_is_no_token_and_is_kept_from_scripts_and_other_sites(lake: Path):
    answer = log_in(behind_token(lake), SECRET)
    (cookie,) = [value for value in answer.headers.get_list("set-cookie") if value.startswith(COOKIE)]
    assert SECRET not in cookie
    assert re.search(r"; HttpOnly; Max-Age=43200; Path=/; SameSite=strict$", cookie), cookie
    safe = log_in(behind_token(lake, "https://ops.example"), SECRET)
    assert any(value.startswith(COOKIE) and "; Secure" in value for value in safe.headers.get_list("set-cookie"))


def test_the_read_token_only_reads(lake: Path):
    browser = behind_token(lake)
    assert log_in(browser, READ).status_code == 303
    page = browser.get("/")
    assert page.status_code == 200
    assert "You may read, but not decide" in text_of(page)
    assert post(browser, "/restate").status_code == 403
    assert post(browser, "/decide", id="forged", action="uphold", reason="x", reviewer="y", seen=0).status_code == 403


@pytest.mark.parametrize("secret", ["", "wrong", SECRET[:-1], SECRET + "x", SECRET.upper(), "\u202e", READ[:-1]])
def test_a_wrong_token_is_told_and_lets_nobody_in(lake: Path, secret: str):
    browser = behind_token(lake)
    answer = log_in(browser, secret)
    assert answer.status_code == 403
    assert "This is not the token." in text_of(answer)
    assert COOKIE not in browser.cookies
    assert browser.get("/").status_code == 401
    assert browser.get("/", headers={"authorization": f"Bearer {secret}".encode("utf-8", "replace")}).status_code == 401


def test_a_script_logs_in_with_a_header(lake: Path):
    browser = behind_token(lake)
    assert browser.get("/", headers={"authorization": f"Bearer {SECRET}"}).status_code == 200
    assert "but not decide" in text_of(browser.get("/", headers={"authorization": f"bearer {READ}"}))
    for wrong in (SECRET, f"Basic {SECRET}", "Bearer", f"Bearer {SECRET} x"):
        assert browser.get("/", headers={"authorization": wrong}).status_code == 401, wrong


def test_a_login_ends_with_its_time_its_secret_or_the_button(lake: Path, monkeypatch: pytest.MonkeyPatch):
    browser = behind_token(lake)
    log_in(browser, SECRET)
    kept = browser.cookies[COOKIE]
    now = time.time()
    monkeypatch.setattr(standalone.time, "time", lambda: now + LOGIN_SECONDS + 5)
    assert browser.get("/").status_code == 401
    monkeypatch.setattr(standalone.time, "time", lambda: now)
    assert browser.get("/").status_code == 200
    other = TestClient(standalone_app(str(lake), "0.0.0.0", 8321, Tokens(SECRET + "2")), cookies={COOKIE: kept})
    assert other.get("/").status_code == 401
    assert post(browser, "/logout").headers["location"] == "login"
    assert COOKIE not in browser.cookies
    assert browser.get("/").status_code == 401


def test_a_forged_cookie_lets_nobody_in():
    tokens, now = Tokens(SECRET, READ), 1_000.0
    good = tokens.sign("read", 2_000)
    assert tokens.signed_role(good, now) == "read"
    role, until, mac = good.split(".")
    for wrong in (f"decide.{until}.{mac}", f"{role}.9999999999.{mac}", f"{role}.{until}.{'0' * 64}", "", "read..", good + "0"):
        assert tokens.signed_role(wrong, now) is None, wrong
    assert tokens.signed_role(good, 2_001.0) is None
    assert Tokens(SECRET).signed_role(good, now) is None, "there is no token to read any more"


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("flags?day=2026-10-31&game=a%26b", "flags?day=2026-10-31&game=a%26b"), ("", "./"), ("?skip=30", "./?skip=30"),
        ("//evil.example/x", "./"), ("https://evil.example", "./"), ("/\\evil.example", "./"), ("javascript:alert(1)", "./"),
        ("flags/../x", "./"), ("login?then=login", "./"), ("logout", "./"), ("\\\\evil", "./"), ("flags\r\nSet-Cookie: a=b", "./"),
    ],
)  # fmt: skip
def test_a_login_leads_to_no_other_site(text: str, link: str):
    assert local_link(text) == link


def test_login_wants_its_own_form(lake: Path):
    assert behind_token(lake).post("/login", data={"token": SECRET}).status_code == 403


# --- The rights themselves ---------------------------------------------------------------------------------------------------


def test_a_request_without_a_person_is_nobodys():
    from fastapi import HTTPException, Request

    request = Request({"type": "http", "headers": [], "state": {}})
    with pytest.raises(HTTPException) as refused:
        reader(request)
    assert refused.value.status_code == 401
    request.state.person = Person("Rita", may_decide=False)
    assert reader(request).name == "Rita"
    with pytest.raises(HTTPException) as refused:
        decider(request)
    assert refused.value.status_code == 403
    request.state.person = Person("Anna", may_decide=True)
    assert decider(request).name == "Anna"


# --- The command -------------------------------------------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _start(lake: Path, port: int, **env: str) -> subprocess.Popen[str]:
    whole = {name: value for name, value in os.environ.items() if not name.startswith("REPLAY_")} | env
    server = subprocess.Popen(
        [sys.executable, "-m", "replay", "dashboard", "--lake", str(lake), "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=whole,
    )  # fmt: skip
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line == f"Ops pages of {lake}: http://127.0.0.1:{port}/  (Ctrl-C ends them)\n", line
    return server


def test_the_command_serves_until_ctrl_c_and_ends_quietly(lake: Path):
    port = _free_port()
    server = _start(lake, port)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            assert answer.status == 200
            assert b"The night of 2026-10-31 is published" in answer.read()
        second = cli("dashboard", "--lake", lake, "--port", port)
        assert second.returncode == 2
        assert second.stderr.decode().startswith(f"replay: --host 127.0.0.1 --port {port}: cannot listen there (")
    finally:
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=30)
    assert (server.returncode, out, err) == (0, "", "")


def test_the_command_takes_its_tokens_from_settings_and_never_shows_them(lake: Path):
    port = _free_port()
    server = _start(lake, port, REPLAY_DASHBOARD_TOKEN=SECRET)
    try:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30)
        assert refused.value.code == 401
        known = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"authorization": f"Bearer {SECRET}"})
        with urllib.request.urlopen(known, timeout=30) as answer:
            assert answer.status == 200
    finally:
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=30)
    assert (server.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "env", "told"),
    [
        (("--host", "0.0.0.0"), {}, "--host 0.0.0.0 can be reached from other machines: set REPLAY_DASHBOARD_TOKEN to a secret of"),
        (("--host", "no.such.host.invalid"), {"REPLAY_DASHBOARD_TOKEN": SECRET}, "--host 'no.such.host.invalid' is no address"),
        ((), {"REPLAY_DASHBOARD_TOKEN": "short"}, "setting REPLAY_DASHBOARD_TOKEN has 5 characters: a token needs at least 16"),
        (("--lake", "no-such-lake"), {}, "no-such-lake: no such lake, name the folder that holds logs/day=.../"),
    ],
)
def test_the_command_refuses_in_one_sentence(lake: Path, words: tuple[str, ...], env: dict[str, str], told: str):
    done = cli("dashboard", *(() if "--lake" in words else ("--lake", lake)), *words, env=env)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().startswith(f"replay: {told}"), done.stderr
    assert done.stderr.count(b"\n") == 1


def test_without_its_packages_the_command_says_how_to_get_them(lake: Path):
    code = (
        "import sys, importlib.util as u; found = u.find_spec;"
        "u.find_spec = lambda name, *a: None if name in ('fastapi', 'uvicorn') else found(name, *a);"
        f"sys.argv = ['replay', 'dashboard', '--lake', {str(lake)!r}]; from replay.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr == (
        "replay: the ops pages need packages that are not here (fastapi, uvicorn): pip install 'nightly-replay[dashboard]'\n"
    )


def test_pages_of_the_test_client_and_of_the_command_are_the_same_app(lake: Path):
    def visible_text(page: Response) -> str:
        return text_of(page).replace("You may decide, as Anna", "You may decide")

    assert visible_text(opened(lake).get("/quarantine")) == visible_text(client(lake).get("/quarantine"))
