"""A PostgreSQL server of a test's own, from Debian's packages: where its programs lie, its folder, its command, its databases."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.services import ClusterError


def find_program(program: str) -> str | None:
    """Where a program of PostgreSQL lies: Debian keeps the servers' out of PATH.  None when it is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    return next((str(folder / program) for folder in folders if (folder / program).exists()), None) or shutil.which(program)


@dataclass(frozen=True)
class Postgresql:
    """A server below ``home`` (made by ``prepare``) on a port of 127.0.0.1, with ``user`` as its superuser."""

    home: Path
    port: int
    user: str
    password: str

    @property
    def account(self) -> str | None:
        """The account that it runs under: it refuses to run as root.  None: the one that we have."""
        return "postgres" if os.geteuid() == 0 else None

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    @property
    def command(self) -> list[str]:
        """What starts it in the foreground; SIGINT stops it no matter who is connected, and gives shared memory back."""
        # No Unix socket: its path may be too long.  fsync: what is lost with this machine is not missed.
        options = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": "", "fsync": "off"}
        words = [f"--{name}={value}" for name, value in options.items()]
        return [self._program("postgres"), "-D", str(self.home / "data"), *words]

    def prepare(self) -> None:
        """Make its folder.  Raises ClusterError."""
        self.home.mkdir()
        secret = self.home / "password"
        secret.write_text(self.password, "utf-8")
        if self.account:
            for path in (self.home, secret):
                shutil.chown(path, self.account, self.account)
        words = [self._program("initdb"), "-D", str(self.home / "data"), "-U", self.user, "-A", "scram-sha-256"]
        done = subprocess.run(
            [*words, "--pwfile", str(secret), "-N"], env=self.env, cwd=self.home, user=self.account, group=self.account,
            extra_groups=None if self.account is None else [], capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise ClusterError(f"initdb failed: {done.stderr.strip()}")

    def connect(self, database: str) -> Any:
        """A connection of psycopg2 that commits each statement."""
        import psycopg2  # type: ignore[import-untyped]

        connection = psycopg2.connect(
            host="127.0.0.1", port=self.port, user=self.user, password=self.password, dbname=database
        )  # fmt: skip
        connection.autocommit = True
        return connection

    def create_database(self, name: str) -> bool:
        """Make a database; False while the server does not answer yet."""
        import psycopg2

        try:
            connection = self.connect("postgres")
        except psycopg2.OperationalError:
            return False
        try:
            connection.cursor().execute(f"create database {name}")
        finally:
            connection.close()
        return True

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        connection = self.connect("postgres")
        try:
            connection.cursor().execute(f"drop database {name} with (force)")
        finally:
            connection.close()

    def place(self, database: str) -> str:
        """What stands behind ``postgresql://`` in the URL of a database."""
        return f"{self.user}:{self.password}@127.0.0.1:{self.port}/{database}"

    @staticmethod
    def _program(name: str) -> str:
        found = find_program(name)
        if found is None:
            raise ClusterError(f"{name} is not installed here: apt-get install postgresql")
        return found
