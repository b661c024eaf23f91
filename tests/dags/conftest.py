"""What the tests of the DAG share: Airflow's database, and a lake that a run's environment names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.replay.night_support import ONE, TWO, simulated


@pytest.fixture(scope="session")
def database():
    """Airflow's own database in a home of its own, which goes when all tests are done."""
    from airflow.utils.db import initdb

    from tests.dags.support import HOME

    initdb()
    yield
    HOME.cleanup()


@pytest.fixture
def environment(monkeypatch, tmp_path) -> Path:
    """The folder of a lake that the environment names, empty yet; small shards on one thread."""
    for name in [name for name in os.environ if name.startswith("REPLAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REPLAY_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "50")
    monkeypatch.setenv("REPLAY_THREADS", "1")
    return tmp_path / "lake"


@pytest.fixture
def lake(environment) -> Path:
    """That lake with two simulated days landed."""
    return simulated(environment, 150, days=(ONE, TWO))
