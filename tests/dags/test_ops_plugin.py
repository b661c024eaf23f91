"""The ops pages inside Airflow's API server: who is let in, what they may do there, and that Airflow never suffers from them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.dags.ops_lake import DAY, ops_lake
from tests.dags.support import DAG_ID, ENVIRONMENT, ROOT

pytestmark = pytest.mark.usefixtures("database")

HEAVY = ("duckdb", "polars", "pyarrow", "numba", "numpy", "sqlalchemy.orm", "altair", "vl_convert", "narwhals", "replay.reviews.tables")
HTML = {"accept": "text/html"}
# What each page is asked for here; a page that is not named here fails the test that goes through all of them.
QUERIES = {
    "/": "", "": "", "/night": f"day={DAY}", "/flags": "", "/flags.csv": "", "/game": "id=game-forged", "/game.json": "id=game-forged", "/player": "id=anna-7",
    "/boards": "game=blocks", "/quarantine": f"day={DAY}", "/reviews": "", "/bulk": "action=uphold&kind=flagged", "/restate": "",
    "/chart.svg": "name=flags", "/static/{name}": "", "/decide": "", "/undo": "", "/release": "", "/withhold": "",
}  # fmt: skip
TOKEN = "a" * 43


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return ops_lake(tmp_path_factory.mktemp("ops"))


def api_server(environment: dict[str, str]):
    """Airflow's API server with the plugin, made anew under an environment: the app, and what runs when it is not needed any more."""
    from airflow import plugins_manager
    from airflow.api_fastapi.app import create_app, purge_cached_app

    def forget() -> None:
        purge_cached_app()
        for found in (plugins_manager._get_plugins, plugins_manager.get_fastapi_plugins, plugins_manager._get_ui_plugins):
            found.cache_clear()

    forget()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("REPLAY_")]:
            patch.delenv(name)
        for name, value in (environment | {"AIRFLOW__API_AUTH__JWT_SECRET": "s" * 64}).items():
            patch.setenv(name, value)
        yield create_app(apps="core")
    forget()


@pytest.fixture(scope="module")
def server(database, lake):
    yield from api_server(lake.environment)


@pytest.fixture(scope="module")
def bare_server(database):
    yield from api_server({})


def client_of(server, role: str | None = None, **kw):
    """A client of the server, logged in under a role, or not logged in at all."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    client = TestClient(server, follow_redirects=False, **kw)
    if role:
        client.cookies.set("_token", get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=f"{role}-jo", role=role)))
    return client


def mounted(server):
    """The app at /ops."""
    (found,) = [route.app for route in server.routes if getattr(route, "path", None) == "/ops"]
    return found


def requests(server) -> list[tuple[str, str]]:
    """Every (method, path with an example's parameters) that the mounted app has a route for, HEAD for each GET as well."""
    found = []
    for route in mounted(server).routes:
        assert route.path in QUERIES, f"{route.path} is new: say in QUERIES what it is asked for"
        path = "/ops" + route.path.replace("{name}", "base.css")
        query = f"?{QUERIES[route.path]}" if QUERIES[route.path] else ""
        for method in sorted({*route.methods, *(["HEAD"] if "GET" in route.methods else [])}):
            found.append((method, path + query))
    assert len(found) == len(set(found))
    return found


def test_every_route_is_closed_without_a_login(server):
    client, wrong = client_of(server), client_of(server)
    wrong.cookies.set("_token", "e30.e30.e30")
    asked = requests(server)
    assert {method for method, _ in asked} >= {"GET", "HEAD", "POST"}
    assert len({urlsplit(path).path for _, path in asked}) >= 12, asked
    # And what has no route: nobody learns what there is.
    asked += [(method, "/ops/nothing/here") for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS")] + [("PUT", "/ops/decide")]
    for method, path in asked:
        for who, name in ((client, "nobody"), (wrong, "a forged token")):
            answer = who.request(method, path)
            assert answer.status_code == 401, f"{name}: {method} {path}: expected 401, got {answer.status_code}"
            assert "anna-7" not in answer.text
    for headers in ({"authorization": "Bearer e30.e30.e30"}, {"authorization": "Basic YTph"}, {"authorization": "Bearer"}):
        assert client.get("/ops/flags", headers=headers).status_code == 401, headers


def test_a_viewer_reads_every_page_and_decides_nothing(server):
    client = client_of(server, "viewer")
    client.cookies.set("replay_form", TOKEN)
    for method, path in requests(server):
        answer = client.request(method, path, data={"form_token": TOKEN} if method == "POST" else None)
        expected = 403 if method == "POST" or path.startswith("/ops/bulk") else 200
        assert answer.status_code == expected, f"{method} {path}: expected {expected}, got {answer.status_code}: {answer.text[-300:]}"
        if method == "POST":
            assert "not decide" in answer.text, answer.text


@pytest.mark.parametrize("role", ["user", "op", "admin"])
def test_others_decide_under_their_own_name(server, lake, role):
    from replay.lake import Lake
    from replay.reviews.store import open_reviews

    client = client_of(server, role)
    page = client.get(f"/ops/game?id={lake.flagged}", headers=HTML).text
    fields = form_fields(page, "decide")
    fields |= {"action": "note", "reason": f"seen by {role}", "reviewer": "somebody else"}
    answer = client.post("/ops/decide", data=fields)
    assert answer.status_code in (200, 303), answer.text
    with open_reviews(Lake(lake.folder)) as store:
        (newest,) = store.decisions(newest_first=True, limit=1)
    assert (newest.reviewer, newest.reason, newest.action) == (f"{role}-jo", f"seen by {role}", "note")


def test_deciding_undoing_and_restating_answer(server, lake):
    client = client_of(server, "user")
    page = client.get(f"/ops/game?id={lake.flagged}").text
    decided = client.post("/ops/decide", data=form_fields(page, "decide") | {"action": "uphold", "reason": "cannot be placed"})
    assert decided.status_code in (200, 303), decided.text
    restated = client.post("/ops/restate", data=form_fields(client.get("/ops/reviews").text, "restate"))
    assert restated.status_code in (200, 303), restated.text
    undo = form_fields(client.get(f"/ops/game?id={lake.flagged}").text, "undo") | {"reason": "a mistake"}
    undone = client.post("/ops/undo", data=undo)
    assert undone.status_code in (200, 303), undone.text


def test_a_form_of_another_site_is_refused_although_the_login_is_good(server, lake):
    client = client_of(server, "admin")
    fields = form_fields(client.get(f"/ops/game?id={lake.flagged}").text, "decide") | {"action": "note", "reason": "x"}
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://elsewhere.example"}):
        assert client.post("/ops/decide", data=fields, headers=headers).status_code == 403, headers
    assert client.post("/ops/decide", data=fields | {"form_token": TOKEN}).status_code == 403


def form_fields(page: str, target: str) -> dict[str, str]:
    """The hidden fields of the first form of a page that posts to ``target``."""
    form = re.search(rf'<form[^>]*action="{target}[^"]*".*?</form>', page, re.S)
    assert form, f"no form posts to {target}: {page[-2000:]}"
    hidden = re.findall(r'<input[^>]*type="hidden"[^>]*>', form[0])
    return {re.search(r'name="([^"]*)"', one)[1]: re.search(r'value="([^"]*)"', one)[1] for one in hidden}


# --- In Airflow's frame --------------------------------------------------------------------------------------------------


def test_it_stands_in_the_navigation_and_may_be_framed_by_airflow_only(server):
    client = client_of(server, "viewer")
    (plugin,) = [one for one in client.get("/api/v2/plugins").json()["plugins"] if one["name"] == "replay_ops"]
    (view,) = plugin["external_views"]
    assert (view["href"], view["destination"], view["nav_top_level"]) == ("/ops/", "nav", True)
    assert client.get("/api/v2/plugins/importErrors").json()["import_errors"] == []
    policy = client.get("/ops/").headers["content-security-policy"]
    assert "frame-ancestors 'self'" in policy
    assert "unsafe" not in policy


def test_links_forms_and_cookies_stay_below_ops(server, lake):
    """The frame allows scripts, forms, downloads: no popups, no top navigation, no alert."""
    client = client_of(server, "admin")
    for method, path in requests(server):
        answer = client.request(method, path) if method == "GET" else None
        if answer is None or "text/html" not in answer.headers["content-type"]:
            continue
        for target in re.findall(r'(?:href|src|action|formaction)="([^"]*)"', answer.text):
            assert not re.match(r"/|(?!data:)[a-z]+:", target), f"{path}: {target}"
        assert not re.search(r'target="?_(blank|top|parent)|\b(alert|confirm|prompt|window\.open)\(', answer.text), path
        for cookie in answer.headers.get_list("set-cookie"):
            assert "Path=/ops/" in cookie, f"{path}: {cookie}"
            assert "HttpOnly" in cookie, f"{path}: {cookie}"


def test_somebody_without_a_login_is_led_to_airflows_and_back(server):
    client = client_of(server)
    answer = client.get("/ops/game?id=a%26b&day=2026-10-31", headers=HTML)
    assert answer.status_code == 401
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
    (link,) = re.findall(r'href="([^"]*)"', answer.text)
    assert parse_qs(urlsplit(link).query) == {"next": ["/ops/game?id=a%26b&day=2026-10-31"]}
    way = client.get(link)
    assert way.status_code == 307
    assert way.headers["location"].startswith("/auth/login?next=%2Fops%2Fgame")
    # After a form of an expired login the front page is the only address to come back to.
    (link,) = re.findall(r'href="([^"]*)"', client.post("/ops/decide", headers=HTML).text)
    assert parse_qs(urlsplit(link).query) == {"next": ["/ops/"]}
    assert client.get("/ops/flags").json() == {"detail": "This page needs a login of Airflow's."}


def test_a_way_back_cannot_break_out_of_the_link(server):
    answer = client_of(server).get("/ops/x%22%3E%3Cscript%3E?\"><script>", headers=HTML)
    assert answer.status_code == 401
    assert "<script" not in answer.text


def test_below_a_path_of_its_own_airflow_leads_to_the_right_addresses(lake):
    """[api] base_url with a path: the entry, the way to log in and back, and the cookie lie below it."""
    code = f"""
import json
from airflow import plugins_manager
from airflow.api_fastapi.app import init_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from fastapi import FastAPI
from fastapi.testclient import TestClient
init_auth_manager()
((app,), _), (views, _) = plugins_manager.get_fastapi_plugins(), plugins_manager._get_ui_plugins()
server = FastAPI(root_path="/airflow")
server.mount(app["url_prefix"], app["app"])
client = TestClient(server)
nobody = client.get("/airflow/ops/flags?game=blocks", headers={{"accept": "text/html"}})
token = init_auth_manager().generate_jwt(SimpleAuthManagerUser(username="a", role="admin"))
page = client.get("/airflow/ops/game?id={lake.flagged}", headers={{"authorization": "Bearer " + token}})
print(json.dumps([[view["href"] for view in views], nobody.text, page.headers["set-cookie"]]))
"""
    hrefs, text, cookie = in_a_new_process(code, **lake.environment, AIRFLOW__API__BASE_URL="http://testserver/airflow")
    assert hrefs == ["/airflow/ops/"]
    (link,) = re.findall(r'href="([^"]*)"', text)
    assert urlsplit(link).path == "/airflow/api/v2/auth/login"
    assert parse_qs(urlsplit(link).query) == {"next": ["/airflow/ops/flags?game=blocks"]}
    assert "Path=/airflow/ops/;" in cookie


def test_nobody_in_particular_may_not_read(server):
    """A login without a role has no rights; it is told which one it lacks."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    client = client_of(server)
    client.cookies.set("_token", get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="new", role=None)))
    answer = client.get("/ops/flags", headers=HTML)
    assert answer.status_code == 403
    assert "new may not read this page: it needs the right to read the view" in answer.text


def test_the_auth_manager_is_asked_for_two_rights_by_name(server, lake, monkeypatch):
    """As with FAB, where each right is given by itself: to read the view, to edit it, to edit the DAG."""
    from airflow.api_fastapi.app import get_auth_manager

    asked: list[tuple[str, str, str]] = []
    given: set[tuple[str, str, str]] = set()

    def view(*, method: str, resource_name: str, user: object) -> bool:
        asked.append((method, "view", resource_name))
        return asked[-1] in given

    def dag(*, method: str, details, user: object, access_entity: object = None) -> bool:
        asked.append((method, "dag", details.id))
        return asked[-1] in given

    manager = get_auth_manager()
    monkeypatch.setattr(manager, "is_authorized_custom_view", view)
    monkeypatch.setattr(manager, "is_authorized_dag", dag)
    client = client_of(server, "viewer")
    client.cookies.set("replay_form", TOKEN)
    read, edit, edit_dag = ("GET", "view", "Replay ops"), ("PUT", "view", "Replay ops"), ("PUT", "dag", DAG_ID)

    def may() -> tuple[int, bool]:
        page = client.get("/ops/flags")
        post = client.post("/ops/decide", data={"form_token": TOKEN})
        return page.status_code, post.status_code != 403

    assert may() == (403, False)
    given |= {edit, edit_dag}
    assert may() == (403, False), "whoever may not read may not decide"
    given.add(read)
    assert may() == (200, True)
    given.remove(edit)
    assert may() == (200, False)
    given.add(edit)
    given.remove(edit_dag)
    assert may() == (200, False)
    assert set(asked) == {read, edit, edit_dag}


def test_without_the_gate_nothing_opens(server):
    """The app asks by itself as well: were it mounted without the gate, nobody would get in."""
    from fastapi.testclient import TestClient

    from replay.dashboard.app import AppSettings, create_app

    app = create_app(AppSettings(lake=os.environ["REPLAY_LAKE"]), person=sys.modules["ops_pages"].person_at_the_gate)
    client = TestClient(app, follow_redirects=False)
    for method, path in requests(server):
        answer = client.request(method, path.removeprefix("/ops") or "/")
        # A form's own check may come first.
        assert answer.status_code in ((401, 403) if method == "POST" else (401,)), f"{method} {path}: {answer.status_code}"


def test_fab_is_told_the_names_of_the_rights(server, monkeypatch):
    """FAB refuses to give anybody a right whose name its database does not hold."""
    from airflow.api_fastapi.app import get_auth_manager

    made: list[tuple[str, str]] = []

    class Security:
        def create_permission(self, action: str, resource: str) -> None:
            made.append((action, resource))

    plugin = sys.modules["ops_pages"]
    plugin._make_known.cache_clear()
    monkeypatch.setattr(get_auth_manager(), "security_manager", Security(), raising=False)
    client = client_of(server, "viewer")
    assert (client_of(server).get("/ops/").status_code, made) == (401, [])
    for _ in range(2):
        assert client.get("/ops/reviews").status_code == 200
    assert made == [("can_read", "Replay ops"), ("can_edit", "Replay ops")]
    plugin._make_known.cache_clear()


# --- What Airflow must not suffer ----------------------------------------------------------------------------------------


def in_a_new_process(code: str, **environment: str) -> dict:
    """What ``code`` prints as JSON, with the plugin's folder set and nothing imported yet."""
    whole = {name: value for name, value in os.environ.items() if not name.startswith("REPLAY_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=whole | ENVIRONMENT | {"PYTHONPATH": str(ROOT)} | environment, cwd=ROOT,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_the_plugin_and_making_its_app_imports_nothing_heavy(lake):
    """A library that starts threads before Airflow forks its workers hangs them."""
    code = f"""
import json, sys, threading
from airflow import plugins_manager
before = set(sys.modules)
plugins_manager.ensure_plugins_loaded()
assert plugins_manager.get_import_errors() == {{}}
loaded = set(sys.modules)
threads = threading.active_count()
(app,) = [one["app"] for one in plugins_manager.get_fastapi_plugins()[0]]
made = set(sys.modules)
heavy = lambda names: sorted(name for name in names if name in {HEAVY!r})
print(json.dumps([heavy(loaded - before), heavy(made - loaded), "replay.dashboard.app" in loaded, len(app.routes),
                  threading.active_count() - threads]))
"""
    at_import, at_making, eager, routes, threads = in_a_new_process(code, **lake.environment)
    assert (at_import, at_making, eager, threads) == ([], [], False, 0)
    assert routes > 10


def test_without_a_lake_the_entry_says_what_to_set(bare_server):
    client = client_of(bare_server, "viewer")
    assert [one["external_views"][0]["href"] for one in client.get("/api/v2/plugins").json()["plugins"] if one["external_views"]]
    for path in ("/ops/", "/ops/flags?day=2026-10-31"):
        answer = client.get(path, headers=HTML)
        assert answer.status_code == 503
        assert "set REPLAY_LAKE in its environment" in answer.text
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
        assert client_of(bare_server).get(path).status_code == 401
    assert client.get("/api/v2/version").status_code == 200


def test_without_the_extra_the_entry_says_what_to_install():
    missing = ["altair", "vl_convert", "python_multipart", "replay"]
    code = f"""
import json, sys
from airflow import plugins_manager
from airflow.api_fastapi.app import init_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from fastapi.testclient import TestClient
token = init_auth_manager().generate_jwt(SimpleAuthManagerUser(username="v", role="viewer"))
found = []
for name in {missing!r}:
    plugins_manager._get_plugins.cache_clear()
    plugins_manager.get_fastapi_plugins.cache_clear()
    kept = {{one: sys.modules.pop(one) for one in list(sys.modules) if one.split(".")[0] == name}}
    sys.modules[name] = None
    (app,) = [one["app"] for one in plugins_manager.get_fastapi_plugins()[0]]
    client = TestClient(app)
    nobody = client.get("/").status_code
    answer = client.get("/", headers={{"accept": "text/html", "authorization": "Bearer " + token}})
    found.append([plugins_manager.get_import_errors(), nobody, answer.status_code, answer.text])
    del sys.modules[name]
    sys.modules.update(kept)
print(json.dumps(found))
"""
    found = in_a_new_process(code, REPLAY_LAKE="anywhere")
    for name, (errors, nobody, status, text) in zip(missing, found, strict=True):
        assert (errors, nobody, status) == ({}, 401, 503), name
        assert f"has no {name}: install nightly-replay there with its extra [dashboard]" in text, name


def test_a_lake_that_is_not_there_is_a_page_too(database, tmp_path):
    for server in api_server({"REPLAY_LAKE": str(tmp_path / "gone")}):
        client = client_of(server, "viewer")
        answer = client.get("/ops/", headers=HTML)
        assert answer.status_code == 404
        assert "no such lake" in answer.text
        assert client.get("/api/v2/version").status_code == 200


def test_the_dag_folder_does_not_take_the_plugin_for_a_dag():
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(str(ROOT / "dags"))
    assert bag.import_errors == {}
    assert [file for file in bag.file_last_changed if "plugins" in file] == []
    assert set(bag.dags) == {DAG_ID}
