"""Airflow's API server alone, as a process, over a lake: for a browser.  No scheduler, no DAG processor, SQLite."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.dags.support import ENVIRONMENT, ROOT

USERS = {"ada": "admin", "vera": "viewer"}


@dataclass(frozen=True)
class ApiServer:
    """Where it listens, and the passwords by user."""

    url: str
    passwords: dict[str, str]


@contextmanager
def api_server(folder: Path, environment: dict[str, str]) -> Iterator[ApiServer]:
    """Start it with the plugin, over Airflow's database of the tests; stop it with all that it started."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url, passwords = f"http://127.0.0.1:{port}", {name: secrets.token_hex(8) for name in USERS}
    (folder / "passwords.json").write_text(json.dumps(passwords), "utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REPLAY_", "AIRFLOW"))}
    env = kept | ENVIRONMENT | environment | {
        "PYTHONPATH": str(ROOT), "AIRFLOW__API__HOST": "127.0.0.1", "AIRFLOW__API__PORT": str(port), "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__WORKERS": "1", "AIRFLOW__API__SECRET_KEY": secrets.token_hex(16),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in USERS.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(folder / "passwords.json"),
    }  # fmt: skip
    command = [sys.executable, "-m", "airflow", "api-server", "--apps", "core"]
    log = folder / "api-server.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, env=env, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        _wait(server, url, log)
        yield ApiServer(url, passwords)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(20)


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{url}/api/v2/version", timeout=5).close()
            return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"the API server does not answer at {url}:\n{log.read_text('utf-8', 'replace')[-3000:]}")
