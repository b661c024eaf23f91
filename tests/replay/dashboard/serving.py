"""Dashboards in processes of their own, for the tests that look at them from outside: over HTTP, in a browser, at their files."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.replay.night_support import ROOT

# A server without a login, on a free port of this machine, whose number it prints.
_SERVER = textwrap.dedent(
    """
    import socket, sys
    import uvicorn
    from replay.dashboard.access import Person
    from replay.dashboard.app import AppSettings, create_app
    door = socket.create_server(("127.0.0.1", 0))
    print(door.getsockname()[1], flush=True)
    app = create_app(AppSettings(sys.argv[1]), person=lambda: Person(sys.argv[2], True))
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[door])
    """
)


@dataclass
class Dashboard:
    """A running dashboard: where it answers, and the process."""

    url: str
    process: subprocess.Popen[str]

    def open_files(self, below: Path) -> list[str]:
        """The files below a folder that the process has open now."""
        found = []
        for entry in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                target = os.readlink(entry)
            except FileNotFoundError:
                continue
            if target.startswith(str(below)):
                found.append(target)
        return sorted(found)


@contextmanager
def dashboard(lake: Path, person: str = "ops", **environment: str) -> Iterator[Dashboard]:
    """A dashboard over a lake until the end of the block; it answers when the block begins."""
    whole = {name: value for name, value in os.environ.items() if not name.startswith("REPLAY_")}
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(lake), person], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        env={**whole, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port.isdecimal(), "the dashboard did not start"
        found = Dashboard(f"http://127.0.0.1:{port}/", process)
        _wait(found)
        yield found
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def _wait(found: Dashboard, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            httpx.get(found.url + "reviews", timeout=seconds)
            return
        except httpx.TransportError:
            assert found.process.poll() is None, "the dashboard ended"
            assert time.monotonic() < end, "the dashboard does not answer"
            time.sleep(0.1)


@contextmanager
def command(lake: Path, **environment: str) -> Iterator[Dashboard]:
    """``replay dashboard`` itself, on a port of this machine that is free now, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    whole = {name: value for name, value in os.environ.items() if not name.startswith("REPLAY_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "replay", "dashboard", "--lake", str(lake), "--port", str(port)], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, env={**whole, **environment},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert f":{port}/" in process.stdout.readline(), "the command did not say where it serves"
        found = Dashboard(f"http://127.0.0.1:{port}/", process)
        _wait(found)
        yield found
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()
