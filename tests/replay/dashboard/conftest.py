"""The lake to decide on, for the tests that make none of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.replay.dashboard.reviewing_support import lake_to_decide


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    """``lake_to_decide``, which nobody changes."""
    return lake_to_decide(tmp_path_factory.mktemp("decide"))


@pytest.fixture
def lake(built: Path, tmp_path: Path, monkeypatch) -> Path:
    """A copy of it for one test."""
    shutil.copytree(built.parent, tmp_path / "own")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(tmp_path / "own" / "challenges.csv"))
    monkeypatch.delenv("REPLAY_REVIEWS", raising=False)
    return tmp_path / "own" / "lake"
