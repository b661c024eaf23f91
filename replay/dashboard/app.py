"""The app: its pages, who may see them, how errors look, and the headers of every answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from replay.dashboard import views
from replay.dashboard.access import Person
from replay.dashboard.headers import Guard
from replay.errors import DecidedMeanwhile, InputError, NightRunning, ReplayError, UsageError

# Each has a ``router``; all of its routes ask who is looking before they answer.
PAGES = ("nights", "held", "flags", "game", "player", "boards", "quarantine", "reviewing", "assets")
_FRAME_ANCESTORS = re.compile(r"'none'|'self'|(https?://[A-Za-z0-9.:*\[\]-]+)( https?://[A-Za-z0-9.:*\[\]-]+)*")


@dataclass(frozen=True)
class AppSettings:
    """What the app is run with.

    ``lake`` is a folder or URL; ``frame_ancestors`` who may show the pages in a frame, in the words of a Content-Security-Policy
    (``'none'``, ``'self'`` or origins).  ``login`` is where somebody who is not known is sent to, a link as seen from the app's
    front page in which ``{then}`` becomes the page that was wanted (None: the page says only that they must log in);
    ``log_out`` shows a button that POSTs to ``logout``; ``public_style`` is a style sheet that answers without a login, for the
    pages that are seen then.
    """

    lake: str
    frame_ancestors: str = "'self'"
    login: str | None = None
    public_style: str | None = None
    log_out: bool = False

    def __post_init__(self) -> None:
        # It goes into a header.
        if not _FRAME_ANCESTORS.fullmatch(self.frame_ancestors):
            raise UsageError(f"frame_ancestors {self.frame_ancestors!r} is none of 'none', 'self' or origins like https://host")


def create_app(settings: AppSettings, person: Callable[..., Person], public: Sequence[APIRouter] = ()) -> FastAPI:
    """The pages over one lake.

    ``person`` is a FastAPI dependency that returns who is looking or raises an HTTPException (401, 403): every page asks it.
    ``public`` are routers that answer without it (a form to log in).
    """
    # A path with a slash at its end would make every relative link of a page wrong.
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.settings = settings

    def identify(request: Request, found: Person = Depends(person)) -> None:
        request.state.person = found

    for name in PAGES:
        app.include_router(import_module(f"replay.dashboard.{name}").router, dependencies=[Depends(identify)])
    for router in public:
        app.include_router(router)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _wrong_parameter)
    app.add_exception_handler(ReplayError, _replay_error)
    app.add_middleware(Guard, frame_ancestors=settings.frame_ancestors)
    return app


def status_of(error: ReplayError) -> int:
    """The HTTP status of one of our errors: 404 for what is not there, 400 for a wrong call, 409 for a moment that is wrong."""
    if isinstance(error, NightRunning | DecidedMeanwhile):
        return 409
    if isinstance(error, InputError):
        return 404
    return 400 if isinstance(error, UsageError) else 500


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = str(error.detail)
    if sentence == HTTPStatus(error.status_code).phrase:
        # The framework's own two words say nothing of what to do.
        sentence = {404: "there is no such page", 405: "this page does not take that kind of request"}.get(
            error.status_code, sentence
        )
    answer = views.error_page(request, error.status_code, sentence)
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


def _wrong_parameter(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = str(first["loc"][-1]) if first["loc"] else "request"
    given = first.get("input")
    value = "" if isinstance(given, dict) or given is None else f" {views.shown(given)}"
    problem = str(first["msg"])
    return views.error_page(request, 400, f"parameter {views.shown(name)}{value}: {problem[:1].lower()}{problem[1:]}")


def _replay_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ReplayError)
    return views.error_page(request, status_of(error), str(error))
