"""The app by itself: open to this machine's user on a loopback address, else behind a token."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter, Depends, FastAPI, Form, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from replay.dashboard import forms, views
from replay.dashboard.access import Person
from replay.dashboard.app import AppSettings, create_app
from replay.dashboard.assets import assets
from replay.errors import UsageError

COOKIE = "replay_login"
SHORTEST_TOKEN = 16
LOGIN_SECONDS = 12 * 3600
# A proxy in front says for whom it asks: whoever comes through one is not known to be at this machine.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_SIGNED = re.compile(r"(decide|read)\.([0-9]{1,12})\.([0-9a-f]{64})")
_LOCAL_LINK = re.compile(r"[a-z]*")


@dataclass(frozen=True, repr=False)
class Tokens:
    """The secrets that let in: ``decide`` to read and decide, ``read`` to read only.  Neither: open."""

    decide: str | None = None
    read: str | None = None

    @property
    def some(self) -> bool:
        return bool(self.decide or self.read)

    def role_of(self, given: str) -> str | None:
        """What a secret lets do, in the same time for every wrong one."""
        found = None
        for role, secret in (("read", self.read), ("decide", self.decide)):
            if secret and hmac.compare_digest(_digest(given), _digest(secret)):
                found = role
        return found

    def sign(self, role: str, until: int) -> str:
        """What a cookie holds instead of the secret: role, end (seconds since 1970) and an HMAC of both under the secret."""
        secret = self.decide if role == "decide" else self.read
        assert secret
        mac = hmac.new(secret.encode("utf-8"), f"replay dashboard {role} {until}".encode(), hashlib.sha256).hexdigest()
        return f"{role}.{until}.{mac}"

    def signed_role(self, cookie: str, now: float) -> str | None:
        """The role of a cookie that ``sign`` made, as long as the secret is the same and its time has not run out."""
        found = _SIGNED.fullmatch(cookie)
        if found is None or int(found[2]) < now or not (self.decide if found[1] == "decide" else self.read):
            return None
        return found[1] if hmac.compare_digest(self.sign(found[1], int(found[2])), cookie) else None


def _digest(text: str) -> bytes:
    # Of one length, whatever was given.
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that is bound to ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_tokens(host: str, tokens: Tokens) -> None:
    """Raises UsageError for an address that others reach without a token, and for a token that could be guessed."""
    for name, secret in (("REPLAY_DASHBOARD_TOKEN", tokens.decide), ("REPLAY_DASHBOARD_READ_TOKEN", tokens.read)):
        if secret is not None and len(secret) < SHORTEST_TOKEN:
            raise UsageError(f"setting {name} has {len(secret)} characters: a token needs at least {SHORTEST_TOKEN}")
    if tokens.decide is not None and tokens.decide == tokens.read:
        raise UsageError("settings REPLAY_DASHBOARD_TOKEN and REPLAY_DASHBOARD_READ_TOKEN are the same: nobody could only read")
    if not is_loopback(host) and not tokens.some:
        raise UsageError(
            f"--host {host} can be reached from other machines: set REPLAY_DASHBOARD_TOKEN to a secret of at least"
            f" {SHORTEST_TOKEN} characters, or leave --host out"
        )


def standalone_app(lake: str, host: str, port: int, tokens: Tokens) -> FastAPI:
    """The app for one address.  Raises UsageError (``check_tokens``)."""
    check_tokens(host, tokens)
    if not tokens.some:
        return create_app(AppSettings(lake, frame_ancestors="'none'"), _this_machine(host, port))
    settings = AppSettings(lake, frame_ancestors="'none'", login="login?then={then}", public_style="login.css", log_out=True)
    return create_app(settings, _with_token(tokens), [_login_pages(tokens)])


# --- Who is looking ----------------------------------------------------------------------------------------------------------


def host_names(host: str, port: int) -> frozenset[str]:
    """The values of the Host header under which an open server answers; another name that was made to lead here (DNS rebinding)
    is somebody else's page."""
    names = {"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host}
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


def _this_machine(host: str, port: int) -> Callable[[Request], Person]:
    names = host_names(host, port)

    def person(request: Request) -> Person:
        named = request.headers.get("host", "").lower()
        if named not in names:
            raise HTTPException(
                403, f"these pages are not served under the name {views.shown(named)}, open them as http://localhost:{port}/"
            )
        if any(name in request.headers for name in _FORWARDED):
            raise HTTPException(403, "this request came through a proxy: set REPLAY_DASHBOARD_TOKEN to let others in")
        # This machine's user; their name is asked when they decide.
        return Person("", may_decide=True)

    return person


def _with_token(tokens: Tokens) -> Callable[[Request], Person]:
    def person(request: Request) -> Person:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            role = tokens.role_of(given.strip())
        else:
            role = tokens.signed_role(request.cookies.get(COOKIE, ""), time.time())
        if role is None:
            raise HTTPException(401, "these pages need a token", {"WWW-Authenticate": 'Bearer realm="replay"'})
        return Person("", may_decide=role == "decide")

    return person


# --- Logging in and out ------------------------------------------------------------------------------------------------------


def _login_pages(tokens: Tokens) -> APIRouter:
    router = APIRouter()

    @router.get("/login.css")
    def style() -> Response:
        """The look of the pages that are seen without a login."""
        return Response(assets()["base.css"].data, media_type="text/css", headers={"cache-control": "no-cache"})

    @router.get("/login")
    def form(request: Request, then: str = "") -> Response:
        """Ask for the token."""
        if tokens.signed_role(request.cookies.get(COOKIE, ""), time.time()):
            # A link in a mail brings no login with it (SameSite): there was one all along.
            return RedirectResponse(local_link(then), 303)
        return views.render(request, "login.html.j2", title="Log in", then=local_link(then), problem=None)

    @router.post("/login", dependencies=[Depends(forms.own_form)])
    def login(request: Request, token: str = Form(""), then: str = Form("")) -> Response:
        """Take the token and lead on to the page that was wanted."""
        role = tokens.role_of(token.strip())
        if role is None:
            problem = "This is not the token. Whoever set REPLAY_DASHBOARD_TOKEN knows it."
            return views.render(request, "login.html.j2", 403, title="Log in", then=local_link(then), problem=problem)
        until = int(time.time()) + LOGIN_SECONDS
        answer = RedirectResponse(local_link(then), 303)
        answer.set_cookie(
            COOKIE, tokens.sign(role, until), max_age=LOGIN_SECONDS, path=forms.cookie_path(request), httponly=True,
            secure=request.url.scheme == "https", samesite="strict",
        )  # fmt: skip
        return answer

    @router.post("/logout", dependencies=[Depends(forms.own_form)])
    def logout(request: Request) -> Response:
        """Forget the login in this browser."""
        answer = RedirectResponse("login", 303)
        answer.delete_cookie(COOKIE, path=forms.cookie_path(request), httponly=True, samesite="strict")
        return answer

    return router


def local_link(text: str) -> str:
    """A link to one of our pages, whatever was given: nobody is led to another site after a login."""
    found = urlsplit(text)
    if found.scheme or found.netloc or not _LOCAL_LINK.fullmatch(found.path) or found.path in ("login", "logout"):
        return "./"
    return (found.path or "./") + views.query(**dict(parse_qsl(found.query)))
