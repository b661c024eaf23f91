"""Forms that only our own pages can send: a random cookie, the same value as a hidden field, and the browser's word for where a
request comes from.

A page of another site can make a browser send a request with our cookies, but it can neither read nor set them, nor claim to be
us.
"""

from __future__ import annotations

import hmac
import re
import secrets
from urllib.parse import urlsplit

from fastapi import HTTPException, Request
from fastapi.responses import Response

COOKIE = "replay_form"
FIELD = "form_token"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_AGAIN = "open the page again and send its form once more"


def form_token(request: Request) -> str:
    """The value of the hidden field ``form_token`` of every form.  The page that shows it sets the cookie (``views.render``)."""
    known = getattr(request.state, "form_token", None)
    if isinstance(known, str):
        return known
    sent = request.cookies.get(COOKIE, "")
    token = sent if _TOKEN.fullmatch(sent) else secrets.token_urlsafe(32)
    request.state.form_token = token
    return token


def cookie_path(request: Request) -> str:
    """The path below which our cookies are sent: the app's own, wherever it is mounted."""
    return str(request.scope.get("root_path", "")).rstrip("/") + "/"


def remember(request: Request, answer: Response) -> None:
    """Set the cookie that belongs to the forms of a page, unless the browser has it."""
    token = getattr(request.state, "form_token", None)
    if token is not None and request.cookies.get(COOKIE) != token:
        answer.set_cookie(
            COOKIE, token, path=cookie_path(request), secure=request.url.scheme == "https", httponly=True, samesite="strict"
        )


async def own_form(request: Request) -> None:
    """A dependency of every route that changes something: 403 for a form that none of our pages made for this browser."""
    _refuse_other_sites(request)
    form = await request.form()
    given, cookie = form.get(FIELD), request.cookies.get(COOKIE, "")
    if not _TOKEN.fullmatch(cookie):
        raise HTTPException(403, f"this form came without its cookie, so it may be from another site: {_AGAIN}")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode("utf-8", "replace"), cookie.encode("ascii")):
        raise HTTPException(403, f"this form was not made for this browser, so it may be from another site: {_AGAIN}")


def _refuse_other_sites(request: Request) -> None:
    """A browser says where a request comes from: in Sec-Fetch-Site, or, where a connection is not encrypted, in Origin."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        # "none": the person did it themselves, by going back to a page for instance.
        fine = site in ("same-origin", "none")
    elif origin is not None:
        # The scheme is left out: behind a server that ends the encryption ours is another one.
        fine = urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower() != ""
    else:
        return
    if not fine:
        raise HTTPException(403, f"this form was sent by another site: {_AGAIN}")
