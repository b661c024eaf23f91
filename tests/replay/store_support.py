"""An S3 server on loopback for tests, lakes in it, and their content as a local folder for comparing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replay.store import Store

BUCKET = "games"


class Server:
    """A running S3 server: ``options`` are the storage options for it."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"
        self.options: dict[str, Any] = {"endpoint_url": self.endpoint, "key": "testing", "secret": "testing"}

    def env(self, cache: Path, **more: object) -> dict[str, str]:
        """What a process needs in its environment to use it."""
        wanted = {"STORAGE_OPTIONS": json.dumps(self.options), "CACHE": cache, **more}
        return {f"REPLAY_{name}": str(value) for name, value in wanted.items()}

    def store(self, url: str) -> Store:
        return Store(url, self.options)


@contextmanager
def s3_server(folder: Path) -> Iterator[Server]:
    """Start one on a free port; it is gone at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (folder / "moto.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log,
            env={**os.environ, "MOTO_ALLOW_NONEXISTENT_REGION": "true"},
        )  # fmt: skip
        try:
            server = Server(port)
            for _ in range(200):
                if process.poll() is not None:
                    raise RuntimeError((folder / "moto.log").read_text())
                try:
                    urllib.request.urlopen(server.endpoint + "/moto-api/data.json", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            server.store("s3://x")._fs.mkdir(BUCKET)
            yield server
        finally:
            process.kill()
            process.wait()


def upload_tree(store: Store, folder: Path) -> None:
    """Put a local lake's files as objects."""
    for path in sorted(folder.rglob("*")):
        key = path.relative_to(folder).as_posix()
        if path.is_file() and not key.startswith((".", "staging")):
            store.put(path, key)


def download_tree(store: Store, folder: Path) -> Path:
    """All objects as files, as a local lake would have them."""
    for entry in store.list().values():
        path = folder / entry.key
        path.parent.mkdir(parents=True, exist_ok=True)
        store.get(entry, path)
    return folder


def copy_tree(store: Store, other: Store) -> None:
    """A copy of a lake within the server."""
    for key in store.list():
        store._fs.cp_file(f"{store._base}/{key}", f"{other._base}/{key}")
