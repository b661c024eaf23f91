"""The doctor: what it calls fine, what it calls wrong, and that every wrong is told."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from engine import ENGINE_VERSION
from replay import doctor
from replay.doctor import examine
from replay.errors import ReferenceDataError
from replay.lake import Lake
from tests.replay.night_support import THREE, TWO, land, night, upload, warehouse, write_challenges


def findings(lake: Path | None) -> dict[str, tuple[bool, str]]:
    return {name: (fine, found) for name, fine, found in examine(lake)}


@pytest.fixture
def lake(tmp_path) -> Path:
    challenges = write_challenges(tmp_path / "challenges.csv")
    for day in (TWO, THREE):
        land(tmp_path / "lake", day, "a.ndjson", [upload(f"g{day}", "p1", day)])
        night(tmp_path / "lake", day, challenges=challenges)
    return tmp_path / "lake"


def test_a_good_installation():
    found = findings(None)
    assert all(fine for fine, _ in found.values())
    assert list(found) == ["libraries", "engine", "rules and challenges", "two engines"]
    assert ENGINE_VERSION in found["engine"][1]
    assert found["rules and challenges"][1].startswith("blocks 1.1.0, blocks 1.2.0, tetromino 1.0.0, tetcolor 1.0.0; ")
    played = [("blocks", 3), ("tetromino", 11), ("tetcolor", 15)]
    for (game, moves), words in zip(played, found["two engines"][1].split("; "), strict=True):
        assert re.fullmatch(rf"{game}: {moves} moves, ([1-9]\d*) and \1 points", words)


def test_a_good_lake(lake):
    found = findings(lake)
    assert all(fine for fine, _ in found.values())
    assert found["published days"][1] == "2: 2026-10-30 to 2026-10-31"
    assert found["standings"][1] == warehouse(lake).name
    assert found["staging"][1] == "empty"


def test_what_is_wrong_with_a_lake(lake):
    land(lake, TWO, "a.ndjson", [upload("other", "p1", TWO)])
    assert findings(lake)["landed logs"] == (False, "changed since their night: 2026-10-30")
    land(lake, THREE, "late.ndjson", [upload("late", "p2")])
    assert findings(lake)["landed logs"] == (False, "changed since their night: 2026-10-30, 2026-10-31")
    name = warehouse(lake).name
    warehouse(lake).unlink()
    assert findings(lake)["standings"] == (False, f"{name} is missing, run `replay rebuild`")
    (lake / "warehouse" / "CURRENT").unlink()
    assert findings(lake)["standings"][0] is False
    (lake / "staging" / "day=2026-10-30").mkdir(parents=True)
    assert "cut off" in findings(lake)["staging"][1]
    Lake(lake).run_file(TWO).unlink()
    assert findings(lake)["landed logs"][0] is False


def test_nothing_published(tmp_path):
    found = findings(tmp_path)
    assert found["published days"] == (False, "0: none")
    assert found["standings"][0] is False


def test_bad_reference_data_is_told(monkeypatch):
    def refuse(*_):
        raise ReferenceDataError("rules/x.toml: no key points")

    monkeypatch.setattr("replay.rulebook.load_rulebook", refuse)
    assert findings(None)["rules and challenges"] == (False, "rules/x.toml: no key points")


@pytest.mark.parametrize("game", ["blocks", "tetromino", "tetcolor"])
def test_engines_that_disagree_are_told(monkeypatch, game):
    single = import_module(f"engine.{game}.single")
    honest = single.replay

    def wrong(*args):
        from dataclasses import replace

        return replace(honest(*args), score=41)

    monkeypatch.setattr(single, "replay", wrong)
    name, fine, found = doctor._engines_agree()
    assert (name, fine) == ("two engines", False)
    assert re.search(rf"{game}: \d+ moves, 41 and (?!41)\d+ points", found)
