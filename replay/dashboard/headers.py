"""What holds for every answer of the app, errors too: its headers, the size of what is sent to it, HEAD, unexpected errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import HTTPException, Request
from starlette.datastructures import Headers, MutableHeaders

from replay.dashboard import views

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGEST_BODY = 64 * 1024
_log = logging.getLogger("replay.dashboard")


def headers_of(frame_ancestors: str) -> dict[str, str]:
    """The headers that every answer bears.

    ``default-src 'none'`` and no inline script or style: a text of a player that got into a page unescaped could still do
    nothing.
    """
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none';"
        f" frame-ancestors {frame_ancestors}"
    )
    found = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }
    old = {"'none'": "DENY", "'self'": "SAMEORIGIN"}.get(frame_ancestors)
    return found | ({"x-frame-options": old} if old else {})


class Guard:
    """The outermost layer of the app.

    It sets the headers, answers HEAD as GET without the body, refuses bodies beyond LARGEST_BODY bytes (413) and turns an error
    that nobody expected into a page (500), with the traceback in the log only.
    """

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], frame_ancestors: str) -> None:
        self._app = app
        self._headers = headers_of(frame_ancestors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = scope["method"] == "HEAD"
        if head:
            scope = {**scope, "method": "GET"}
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._finish(MutableHeaders(scope=message))
            elif head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            length = Headers(scope=scope).get("content-length", "0")
            if not length.isdecimal() or int(length) > LARGEST_BODY:
                await views.error_page(Request(scope), 413, _too_large())(scope, receive, answer)
                return
            await self._app(scope, _bounded(receive), answer)
        except Exception:
            # Nobody expected it: the page says no more than that, and what was already sent cannot be taken back.
            _log.exception("%s %s failed", scope["method"], scope["path"].encode("ascii", "backslashreplace").decode("ascii"))
            if started:
                raise
            sentence = "something went wrong here; the log of this server says what"
            await views.error_page(Request(scope), 500, sentence)(scope, receive, answer)

    def _finish(self, headers: MutableHeaders) -> None:
        for name, value in self._headers.items():
            headers[name] = value
        # Pages say what is now, and hold what people may see only while they are logged in.
        headers.setdefault("cache-control", "no-store")


def _too_large() -> str:
    return f"the request is larger than {LARGEST_BODY:,} bytes; send less at once"


def _bounded(receive: Receive) -> Receive:
    """``receive`` for a body without a length in front: it ends at the limit too."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > LARGEST_BODY:
                raise HTTPException(413, _too_large())
        return message

    return bounded
