"""Airflow plugin: the ops pages (``replay.dashboard``) in Airflow's API server at ``/ops/``, with a place in its navigation.

Airflow mounts a plugin's app as it is, open to everybody.  So a gate stands in front of this one: each request, whatever it asks
for, needs a login of Airflow's, and Airflow's auth manager says what that person may do:

- reading: ``GET`` on the custom view ``Replay ops``;
- deciding, undoing, restating: ``PUT`` on that view, and ``PUT`` on the DAG ``nightly_verification``, whose results a decision
  changes.  Both, because some auth managers (SimpleAuthManager) let everybody who reads a custom view do anything with it.

With SimpleAuthManager a ``viewer`` reads, a ``user``, ``op`` or ``admin`` decides.  With FAB, reading is ``can_read`` on
``Replay ops``, deciding is ``can_edit`` on ``Replay ops`` and on ``DAG:nightly_verification`` (or ``DAGs``); FAB knows the first
two names once somebody has opened a page.  A decision bears the name of the login.

Airflow imports this in each of its processes, and before it forks some of them: the app is made when the API server asks for it,
and neither imports what starts threads nor opens anything until somebody looks at a page.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache, cached_property
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from airflow.plugins_manager import AirflowPlugin
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse

if TYPE_CHECKING:
    from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

    from replay.dashboard.access import Person

NAME = "Replay ops"
"""The entry in the navigation, and the name of the resource that Airflow's auth manager is asked about."""
PREFIX = "ops"
DAG_ID = "nightly_verification"
# What the extra [dashboard] brings that Airflow does not need itself.
EXTRA = ("altair", "vl_convert", "python_multipart")
_log = logging.getLogger("replay.dashboard")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; form-action 'none'; frame-ancestors 'self'; base-uri 'none'",
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
}  # fmt: skip
# A sentence in a page of its own, for where the pages themselves cannot be shown; no style, so that it needs nothing else.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title}</title></head>
<body><main><h1>{title}</h1><p>{sentence}</p>{link}</main></body></html>
"""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]


class OpsPages(AirflowPlugin):
    """What Airflow reads of the plugin; both properties are asked for by the API server only."""

    name = "replay_ops"

    @cached_property
    def fastapi_apps(self) -> list[dict[str, Any]]:
        """The pages, to be mounted at ``/ops``."""
        return [{"app": guarded(pages()), "url_prefix": f"/{PREFIX}", "name": NAME}]

    @cached_property
    def external_views(self) -> list[dict[str, Any]]:
        """The entry in the navigation: the pages in a frame.  Their relative links need the slash at the end."""
        return [
            {"name": NAME, "href": f"{_root()}{PREFIX}/", "destination": "nav", "url_route": PREFIX, "nav_top_level": True}
        ]


def pages() -> FastAPI:
    """The ops pages over the lake that ``REPLAY_LAKE`` names, or an app whose only page says what is missing."""
    lake = os.environ.get("REPLAY_LAKE", "").strip()
    missing = [name for name in ("replay", *EXTRA) if find_spec(name) is None]
    if missing:
        return _only_page(
            f"The API server's Python has no {', '.join(missing)}: install nightly-replay there with its extra [dashboard], "
            "then restart the API server."
        )
    if not lake:
        return _only_page(
            "The API server does not know where the lake is: set REPLAY_LAKE in its environment to the lake's folder or URL "
            "(the one that the tasks use), then restart it."
        )
    try:
        from replay.dashboard.app import AppSettings, create_app

        return create_app(AppSettings(lake=lake), person=person_at_the_gate)
    except ImportError as error:
        # A half-installed package must not keep the API server from starting.
        _log.exception("the ops pages cannot be imported")
        return _only_page(f"The ops pages cannot be imported ({error}): install nightly-replay with its extra [dashboard] again.")


def guarded(app: FastAPI) -> FastAPI:
    """The app with the gate in front of everything that it has, or will have: routes, files, wrong addresses."""
    app.add_middleware(Gate)
    return app


class Gate:
    """ASGI middleware: who is asking, before anything answers; 401 without a login, 403 without the right to read."""

    def __init__(self, app: Asgi) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            raise RuntimeError(f"{NAME} answers http, not {scope['type']}")
        request = Request(scope, receive)
        try:
            user = await _logged_in(request)
            # An auth manager may ask its database.
            request.state.ops_rights = await run_in_threadpool(_rights, user)
        except HTTPException as refused:
            return await _refusal(request, refused.status_code, str(refused.detail))(scope, receive, send)
        return await self.app(scope, receive, send)


def person_at_the_gate(request: Request) -> Person:
    """Whom the gate let in: the app's own dependency.  401 where no gate stood, so that nothing is open by mistake."""
    from replay.dashboard.access import Person

    rights = getattr(request.state, "ops_rights", None)
    if rights is None:
        raise HTTPException(401, "log in to Airflow first")
    name, may_decide = rights
    return Person(name=name, may_decide=may_decide)


async def _logged_in(request: Request) -> BaseUser:
    """Airflow's user of a request, by bearer token or cookie.  Raises HTTPException 401."""
    from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
    try:
        user = await get_user(request, None, await bearer_scheme(request))
    except HTTPException as error:
        # Airflow answers 403 for a token that it cannot read: nobody is logged in with it either.
        raise HTTPException(401, "This page needs a login of Airflow's.") from error
    if user is None:
        raise HTTPException(401, "This login's user is not known to Airflow any more.")
    return user


def _rights(user: BaseUser) -> tuple[str, bool]:
    """A user's name, and whether Airflow's auth manager lets them decide.  Raises HTTPException 403 when they may not read."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
    from airflow.models.dag import DagModel

    manager, name = get_auth_manager(), user.get_name() or user.get_id()
    _make_known(manager)
    if not manager.is_authorized_custom_view(method="GET", resource_name=NAME, user=user):
        raise HTTPException(403, f"{name} may not read this page: it needs the right to read the view {NAME!r} (FAB: can_read).")
    dag = DagDetails(id=DAG_ID, team_name=DagModel.get_team_name(DAG_ID))
    may_decide = manager.is_authorized_custom_view(method="PUT", resource_name=NAME, user=user)
    return name, bool(may_decide and manager.is_authorized_dag(method="PUT", details=dag, user=user))


@cache
def _make_known(manager: Any) -> None:
    """Put the names of our rights into FAB's database, once a process: FAB gives nobody, not even by its command line, a right
    whose name it does not know.  Other auth managers need none of it."""
    security = getattr(manager, "security_manager", None)
    if security is not None:
        for action in ("can_read", "can_edit"):
            security.create_permission(action, NAME)


def _root() -> str:
    """The path below which Airflow's API server is reached, from its setting ``[api] base_url``; ends in a slash."""
    from airflow.api_fastapi.app import API_ROOT_PATH

    return str(API_ROOT_PATH)


def _refusal(request: Request, status: int, sentence: str) -> Response:
    """The answer to somebody who may not see a page; to one without a login with a link to Airflow's, which leads back here."""
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"detail": sentence}, status, HEADERS)
    link = ""
    if status == 401:
        # Not a redirect: inside the frame nobody would know why Airflow's form stands there.
        back = f"{_root()}{PREFIX}/"
        if request.method == "GET":
            back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        target = f"{_root()}api/v2/auth/login?{urlencode({'next': back})}"
        link = f'<p><a href="{escape(target)}">Log in to Airflow</a></p>'
    title = "Log in first" if status == 401 else "Not for you"
    return _sentence(title, sentence, status, link)


def _sentence(title: str, sentence: str, status: int, link: str = "") -> Response:
    """A page that holds one sentence; ``link`` is HTML."""
    return HTMLResponse(_PAGE.format(title=escape(title), sentence=escape(sentence), link=link), status, HEADERS)


def _only_page(sentence: str) -> FastAPI:
    """An app that answers every address with a sentence: 503, as the pages are not there."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.api_route("/{anything:path}", methods=["GET", "HEAD", "POST"])
    def page(anything: str) -> Response:
        return _sentence(NAME, sentence, 503)

    return app
