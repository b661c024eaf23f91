"""Stores on loopback for the tests of sources: a web server with an index page that can misbehave, and moto's S3."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from replay.lake import Lake
from replay.landing import land
from replay.sources import Brought, Source

DAY = date(2026, 10, 31)


@dataclass
class Site:
    """What a web server holds: ``files`` by path; ``act`` is called with each (method, path) and may answer in its place."""

    files: dict[str, bytes] = field(default_factory=dict)
    index: str | None = None
    etags: dict[str, str] = field(default_factory=dict)
    act: Callable[[BaseHTTPRequestHandler, str], bool] = lambda handler, path: False
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    url: str = ""


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer()

        def do_HEAD(self) -> None:
            self.answer()

        def answer(self) -> None:
            site.asked[(self.command, self.path)] += 1
            if site.act(self, self.path):
                return
            if self.path.endswith("/"):
                names = sorted(name[len(self.path) :] for name in site.files if name.startswith(self.path))
                if not names and site.index is None:
                    self.send_error(404)
                    return
                page = site.index or "".join(f'<a href="{name}">{name}</a>\n' for name in names)
                self.reply(page.encode(), "text/html")
            elif self.path in site.files:
                self.reply(site.files[self.path], "application/octet-stream", site.etags.get(self.path))
            else:
                self.send_error(404)

        def reply(self, body: bytes, kind: str, etag: str | None = None, size: int | None = None) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body) if size is None else size))
            if etag:
                self.send_header("ETag", etag)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *words: Any) -> None:
            """Silent: the tests' output is theirs."""

    return Handler


@contextmanager
def served(**files: bytes) -> Iterator[Site]:
    """A web server on a free port of 127.0.0.1 with these files of DAY; stopped at the end."""
    site = Site({f"/games/{DAY}/{name}": data for name, data in files.items()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}/games/{{day}}/"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def quick(url: str, **changes: Any) -> Source:
    """A source whose looks are not far apart."""
    return Source(url, **{"settle": 0.01, "patience": 0.2, "retries": 2, **changes})


def bring(url: str, lake: Path, **changes: Any) -> Brought:
    """Land DAY from ``url``."""
    lake.mkdir(exist_ok=True)
    return land(quick(url, **changes), DAY, Lake(lake))


def landed(lake: Path) -> dict[str, bytes]:
    """What a night would find: names and bytes."""
    files, left = Lake(lake).log_files(DAY)
    assert left == []
    return {path.name: path.read_bytes() for path in files}


def whys(brought: Brought) -> dict[str, str]:
    return {left.file: left.why for left in brought.left}
