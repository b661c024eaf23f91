"""Airflow with CeleryExecutor as on many machines: database, broker, the three Airflow services, and workers.

The settings here are those of the README's "Many machines"; what only makes a test quicker says so.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from replay.store import Store
from tests.cluster.airflow_api import AirflowApi, Attempt
from tests.cluster.services import ClusterError, Service, Services, free_ports, listens, wait_until
from tests.postgresql import Postgresql

ROOT = Path(__file__).parents[2]
# Beside the tasks of one worker's two slots the scheduler may have as many running as there are slots in all.
WORKER_SLOTS = 2


@dataclass
class Deployment:
    """One cluster below ``folder`` with its lake on an S3 server, cut into shards of ``shard_games``."""

    folder: Path
    shard_games: int
    services: Services = field(init=False)
    database: Service | None = None

    def __post_init__(self) -> None:
        self.services = Services(self.folder / "service-logs")
        database_port, self.broker_port, self.api_port, self.s3_port = free_ports(4)
        options = {"endpoint_url": f"http://127.0.0.1:{self.s3_port}", "key": "testing", "secret": "testing"}
        self.store = Store("s3://games/lake", options)
        # All that a task needs to know, on whichever machine it runs; workers add a folder for what they fetch.
        self.replay = {
            "REPLAY_LAKE": self.store.url, "REPLAY_STORAGE_OPTIONS": json.dumps(options), "REPLAY_THREADS": "1",
            "REPLAY_SHARD_GAMES": str(self.shard_games),
        }  # fmt: skip
        self.url = f"http://127.0.0.1:{self.api_port}"
        self.secret = {name: secrets.token_hex(32) for name in ("database", "broker", "jwt", "api")}
        self.server = Postgresql(self.folder / "postgresql", database_port, "airflow", self.secret["database"])
        self.api = AirflowApi(self.url, self.folder / "passwords.json")

    def start(self) -> None:
        """Everything but the workers; returns when the database is there and the Airflow services were started."""
        self._start_database()
        self._start_broker()
        self._start_store()
        env = self.server_env()
        done = subprocess.run([*AIRFLOW, "db", "migrate"], env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClusterError(f"airflow db migrate failed: {(done.stderr or done.stdout).strip()[-2000:]}")
        self.services.start("api-server", [*AIRFLOW, "api-server", "--host", "127.0.0.1", "--port", str(self.api_port)], env)
        self.services.start("scheduler", [*AIRFLOW, "scheduler"], env)
        self.services.start("dag-processor", [*AIRFLOW, "dag-processor"], env)

    def start_worker(self, name: str) -> Worker:
        """A worker with a home and a log folder of its own."""
        home = self.folder / name
        home.mkdir()
        (port,) = free_ports(1)
        env = self._airflow_env(home) | {
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_HOST": "127.0.0.1",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(port),
            "REPLAY_CACHE": str(home / "cache"),
        }
        command = [*AIRFLOW, "celery", "worker", "--concurrency", str(WORKER_SLOTS), "--celery-hostname", f"{name}@%h"]
        return Worker(self.services.start(name, command, env), home)

    def wait_until_ready(self, workers: list[Worker]) -> None:
        """Raises ClusterError when a part ends, or is not ready in time."""
        wanted = ("metadatabase", "scheduler", "dag_processor")

        def ready() -> bool:
            self.services.check()
            health = self.api.health()
            return all(health.get(name) == "healthy" for name in wanted) and all(worker.ready() for worker in workers)

        wait_until(ready, "API server, scheduler, DAG processor and workers are ready", 180, every=0.5)
        wait_until(self.api.knows_the_dag, "the DAG is known", 120, every=0.5)

    def airflow(self, *words: str) -> str:
        """Run a command of `airflow` as an administrator would.  Raises ClusterError."""
        done = subprocess.run([*AIRFLOW, *words], env=self.server_env(), capture_output=True, text=True, check=False, timeout=120)
        if done.returncode:
            raise ClusterError(f"airflow {' '.join(words)} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
        return done.stdout

    def stop(self) -> None:
        self.services.stop(last=[self.database] if self.database else [])

    def server_env(self) -> dict[str, str]:
        """The environment of API server, scheduler and DAG processor: the only ones that know of the metadata database."""
        return self._airflow_env(self.folder / "airflow") | {
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://{self.server.place('airflow')}",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.folder / "passwords.json"),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            # Signs what a task shows to the API server: workers only hand it on.
            "AIRFLOW__API_AUTH__JWT_SECRET": self.secret["jwt"],
            # Of the month only what the backfill makes: no run of the day before today, for which nothing landed.
            "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
            # A task whose worker says nothing for so long is lost, and tried again (300 unless set).
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
            # One that a worker had taken from the broker but not begun when it died is queued anew (600 and 120 unless set).
            "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT": "90",
            "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT_CHECK_INTERVAL": "10",
            # Seven short tasks follow each other every night here: for the test's speed.
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
        }

    def _airflow_env(self, home: Path) -> dict[str, str]:
        """What every Airflow process here is told, the workers too."""
        # Settings of the machine's own Airflow or of a replay by hand have no place in this cluster, and every task would compile
        # replay's modules anew.
        unwanted = ("AIRFLOW", "REPLAY_", "CELERY", "AWS_", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        return kept | self.replay | {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
            "AIRFLOW__CORE__PARALLELISM": str(2 * WORKER_SLOTS),
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__SECRET_KEY": self.secret["api"],
            "AIRFLOW__CELERY__BROKER_URL": f"redis://:{self.secret['broker']}@127.0.0.1:{self.broker_port}/0",
            "AIRFLOW__CELERY__RESULT_BACKEND": f"db+postgresql+psycopg2://{self.server.place('airflow')}",
            # Longer than the longest task may take (late: 4 hours), as a message is handed out again after so long.
            "AIRFLOW__CELERY_BROKER_TRANSPORT_OPTIONS__VISIBILITY_TIMEOUT": "18000",
        }  # fmt: skip

    def _start_database(self) -> None:
        self.server.prepare()
        self.database = self.services.start("postgresql", self.server.command, self.server.env, user=self.server.account)
        wait_until(self._create_database, "PostgreSQL answers", 60)

    def _create_database(self) -> bool:
        self.services.check()
        return self.server.create_database("airflow")

    def _start_broker(self) -> None:
        config = f"bind 127.0.0.1\nport {self.broker_port}\nsave ''\nrequirepass {self.secret['broker']}\ndir {self.folder}\n"
        self.services.start("redis", ["redis-server", "-"], dict(os.environ), stdin=config.encode())
        wait_until(lambda: listens(self.broker_port), "Redis answers", 30)

    def _start_store(self) -> None:
        command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(self.s3_port)]
        self.services.start("s3", command, dict(os.environ))
        wait_until(lambda: listens(self.s3_port), "the S3 server answers", 60)
        bucket = f"http://127.0.0.1:{self.s3_port}/{self.store.url.split('/')[2]}"
        urllib.request.urlopen(urllib.request.Request(bucket, method="PUT"), timeout=30).close()


@dataclass(frozen=True)
class Worker:
    """A Celery worker and the folder that stands for its machine's disk."""

    service: Service
    home: Path

    def ready(self) -> bool:
        return b" ready." in self.service.log.read_bytes()

    def ran(self, attempt: Attempt) -> bool:
        """Whether that attempt was made here."""
        return (self.home / "logs" / attempt.log).exists()

    def shards_begun(self, day: date) -> list[Path]:
        """The folders in which verify writes shards of a day here; it removes them when it ends."""
        return list(self.home.glob(f"cache/work/*/staging/day={day}/verifying-*"))

    def attempts(self) -> int:
        """How many attempts at tasks were made here."""
        return sum(1 for _ in (self.home / "logs").rglob("attempt=*.log"))


AIRFLOW = ["airflow"]
