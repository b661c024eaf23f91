"""What the run asks Airflow's API: the states of runs and tasks."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

DAG = "nightly_verification"


@dataclass(frozen=True)
class Night:
    """A run of the DAG."""

    run_id: str
    day: str
    state: str
    began: datetime | None
    ended: datetime | None

    @property
    def seconds(self) -> float:
        return (self.ended - self.began).total_seconds() if self.began and self.ended else 0.0


@dataclass(frozen=True)
class Attempt:
    """An attempt at a mapped task; ``pid`` is the process that Airflow was told of."""

    run_id: str
    task: str
    map_index: int
    number: int
    state: str | None
    pid: int | None
    began: datetime | None

    @property
    def log(self) -> Path:
        """Its log, below the log folder of the worker that ran it."""
        index = "" if self.map_index < 0 else f"/map_index={self.map_index}"
        return Path(f"dag_id={DAG}/run_id={self.run_id}/task_id={self.task}{index}/attempt={self.number}.log")


class AirflowApi:
    """A client of one API server, for the user that simple_auth_manager makes."""

    def __init__(self, url: str, passwords: Path) -> None:
        self._url = url
        self._passwords = passwords
        self._token: str | None = None

    def health(self) -> dict[str, str | None]:
        """States of the parts by name; empty while the server does not answer."""
        try:
            found = _answer(urllib.request.Request(f"{self._url}/api/v2/monitor/health"), more_times=0)
        except (OSError, ValueError):
            return {}
        return {name: part.get("status") for name, part in found.items()}

    def knows_the_dag(self) -> bool:
        try:
            self._get(f"/api/v2/dags/{DAG}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return False
            raise
        return True

    def nights(self) -> list[Night]:
        """All runs, by day."""
        rows = self._pages(f"/api/v2/dags/{DAG}/dagRuns", "dag_runs")
        found = [
            Night(row["dag_run_id"], row["partition_key"] or "", row["state"], _time(row["start_date"]), _time(row["end_date"]))
            for row in rows
        ]
        return sorted(found, key=lambda night: (night.day, night.run_id))

    def tasks(self, run_id: str = "~", **wanted: str) -> list[Attempt]:
        """The newest attempts of a run's tasks, or of all runs; ``wanted`` are filters of the API such as state or task_id."""
        path = f"/api/v2/dags/{DAG}/dagRuns/{run_id}/taskInstances"
        return [_attempt(row) for row in self._pages(path, "task_instances", **wanted)]

    def attempts(self, attempt: Attempt) -> list[Attempt]:
        """All attempts at the same task, by number."""
        path = f"/api/v2/dags/{DAG}/dagRuns/{attempt.run_id}/taskInstances/{attempt.task}/{attempt.map_index}/tries"
        return sorted((_attempt(row) for row in self._get(path)["task_instances"]), key=lambda found: found.number)

    def _pages(self, path: str, key: str, **query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            page = self._get(path, limit="100", offset=str(len(found)), **query)
            found += page[key]
            if not page[key] or len(found) >= page["total_entries"]:
                return found

    def _get(self, path: str, **query: str) -> Any:
        headers = {"Authorization": f"Bearer {self._login()}"}
        text = f"{self._url}{path}" + (f"?{urlencode(query)}" if query else "")
        return _answer(urllib.request.Request(text, headers=headers))

    def _login(self) -> str:
        if self._token is None:
            user, password = next(iter(json.loads(self._passwords.read_text("utf-8")).items()))
            body = json.dumps({"username": user, "password": password}).encode()
            request = urllib.request.Request(f"{self._url}/auth/token", body, {"Content-Type": "application/json"})
            self._token = str(_answer(request)["access_token"])
        return self._token


def _answer(request: urllib.request.Request, more_times: int = 2) -> Any:
    """Asked again where nothing came: a server that has more to do than it has cores may be slow."""
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError:
        raise
    except OSError:
        if not more_times:
            raise
    time.sleep(1)
    return _answer(request, more_times - 1)


def _attempt(row: dict[str, Any]) -> Attempt:
    return Attempt(
        row["dag_run_id"], row["task_id"], row["map_index"], row["try_number"], row["state"], row["pid"], _time(row["start_date"])
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
