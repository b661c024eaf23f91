"""Databases for the tests of decisions: a file of SQLite in a lake, and a database of a PostgreSQL server on loopback."""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from replay.lake import Lake
from tests.cluster.services import free_ports
from tests.postgresql import Postgresql, find_program
from tests.replay.reviews.support import Place

_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    """Settings of the machine have no place here."""
    for name in [name for name in os.environ if name.startswith("REPLAY_") and name != "REPLAY_REQUIRE_SERVICES"]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def postgresql():
    """A running server.  Where PostgreSQL is not installed its tests are skipped, unless REPLAY_REQUIRE_SERVICES=1."""
    if find_program("initdb") is None:
        missing = "PostgreSQL is not installed here: apt-get install postgresql"
        if os.environ.get("REPLAY_REQUIRE_SERVICES") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    # pytest's own folders are closed to the account that the server runs under.
    folder = Path(tempfile.mkdtemp(prefix="reviews-postgresql-"))
    folder.chmod(0o755)
    server = Postgresql(folder / "server", free_ports(1)[0], "replay", f"secret-{secrets.token_hex(8)}")
    try:
        server.prepare()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                server.command, env=server.env, user=server.account, group=server.account,
                extra_groups=None if server.account is None else [], stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            end = time.monotonic() + 60
            while not server.create_database("first"):
                assert process.poll() is None and time.monotonic() < end, (folder / "log").read_text("utf-8", "replace")
                time.sleep(0.1)
            yield server
        finally:
            # At once and without a last write: nobody needs its files any more.
            process.send_signal(signal.SIGQUIT)
            process.wait(60)
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def database(postgresql):
    """The URL of an empty database of that server, which is gone after the test."""
    name = f"reviews_{next(_NUMBERS)}"
    assert postgresql.create_database(name)
    yield f"postgresql://{postgresql.place(name)}"
    postgresql.drop_database(name)


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "lake"
    folder.mkdir()
    return Lake(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, lake):
    """Where decisions are kept: each test runs on either database."""
    return Place(lake, None if request.param == "sqlite" else request.getfixturevalue("database"))
