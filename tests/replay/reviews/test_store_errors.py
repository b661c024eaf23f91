"""Databases that are damaged, held or not there, and settings that name none: one sentence each, and no secret in it."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest

from replay.errors import InputError, UsageError
from replay.lake import Lake
from replay.reviews.store import open_reviews
from replay.settings import load_settings
from tests.replay.reviews.support import WHO, a_draft, one_sentence

# --- A file that is damaged, a place where nothing can be kept ---------------------------------------------------------------


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "text":
        path.write_bytes(b"no database at all\n" * 400)
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "header":
        path.write_bytes(b"\0" * 100 + data[100:])
    else:
        for page in range(1, len(data) // 4096):
            data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
        path.write_bytes(data)


@pytest.mark.parametrize("how", ["text", "cut", "header", "pages"])
def test_a_damaged_file_is_one_sentence(lake, how):
    """Standings are made from all decisions or from none: a damaged file never counts as one without."""
    with open_reviews(lake) as store:
        store.decide([a_draft(game_id=f"g{n}") for n in range(200)], **WHO)
        path = lake.root / "reviews.sqlite"
        damage(path, how)
        before = path.read_bytes()
        with pytest.raises(InputError, match="decisions") as error:
            store.decisions()
        assert one_sentence(error).startswith(str(path)) and "restore the file" in str(error.value)
        with pytest.raises(InputError) as error:
            store.decide([a_draft(game_id="new")], **WHO)
        one_sentence(error)
        assert path.read_bytes() == before


def test_a_value_that_cannot_be_read_is_damage_too(lake):
    with open_reviews(lake) as store:
        store.decide([a_draft()], **WHO)
        text = (lake.root / "reviews.sqlite").read_bytes()
        assert text.count(b"2026-10-31") >= 2
        (lake.root / "reviews.sqlite").write_bytes(text.replace(b"2026-10-31", b"2026-99-31"))
        with pytest.raises(InputError, match="restore the file") as error:
            store.decisions()
        one_sentence(error)


def test_an_empty_file_is_one_without_decisions(lake):
    """What a kill before the first decision leaves."""
    (lake.root / "reviews.sqlite").touch()
    with open_reviews(lake) as store:
        assert store.decisions() == []
        assert store.decide([a_draft()], **WHO)[0].id == 1


def test_a_file_that_somebody_holds_is_one_sentence(lake, monkeypatch):
    monkeypatch.setattr("replay.reviews.tables.WAIT_SECONDS", 0.2)
    with open_reviews(lake) as store:
        store.decide([a_draft()], **WHO)
        held = sqlite3.connect(lake.root / "reviews.sqlite", isolation_level=None)
        try:
            held.execute("BEGIN IMMEDIATE")
            assert store.last_id() == 1, "who only looks does not wait"
            with pytest.raises(InputError, match=r"locked.*whether somebody holds it") as error:
                store.decide([a_draft(game_id="other")], **WHO)
            one_sentence(error)
        finally:
            held.close()
        assert store.decide([a_draft(game_id="other")], **WHO)[0].id == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights_is_one_sentence(lake):
    lake.root.chmod(0o555)
    with open_reviews(lake) as store, pytest.raises(InputError, match="its rights") as error:
        store.decide([a_draft()], **WHO)
    one_sentence(error)


def test_a_lake_that_is_not_there_does_not_come_into_being(tmp_path):
    with open_reviews(Lake(tmp_path / "mistyped")) as store:
        assert store.decisions() == []
        with pytest.raises(InputError, match=r"mistyped.*no such folder"):
            store.decide([a_draft()], **WHO)
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Remote(Lake):
    """A lake on an object store, as far as decisions go."""

    @property
    def name(self) -> str:
        return "s3://games/lake"


def test_a_lake_on_a_store_needs_a_database(tmp_path, monkeypatch):
    lake = Remote(tmp_path)
    with open_reviews(lake) as store:
        assert (store.decisions(), store.last_id(), store.rename([("a", "b")])) == ([], 0, 0)
        with pytest.raises(UsageError, match=r"s3://games/lake.*REPLAY_REVIEWS") as error:
            store.decide([a_draft()], **WHO)
        one_sentence(error)
    monkeypatch.setenv("REPLAY_REVIEWS", f"sqlite:///{tmp_path}/decisions%3F%23%25.sqlite")
    with open_reviews(lake) as store:
        store.decide([a_draft()], **WHO)
        assert store.last_id() == 1
    assert [path.name for path in tmp_path.iterdir()] == ["decisions?#%.sqlite"]


@pytest.mark.parametrize(
    "url",
    ["secret-word", "://secret-word", "mysql://u:secret-word@h/d", "postgresql://u:secret-word@h", "sqlite://", "sqlite:///:memory:",
     "postgresql://u:secret-word@h:port/d", "nodialect+x://u:secret-word@h/d", "sqlite:///secret-word?mode=ro", ""],
)  # fmt: skip
def test_a_setting_that_names_no_database_is_refused_without_being_repeated(lake, url, monkeypatch):
    monkeypatch.setenv("REPLAY_REVIEWS", url)
    with pytest.raises(UsageError, match="REPLAY_REVIEWS") as error:
        open_reviews(lake)
    assert "secret-word" not in one_sentence(error)
    assert error.value.__cause__ is None


def test_a_setting_that_is_no_text_is_refused_without_being_repeated(lake, monkeypatch):
    monkeypatch.setenv("REPLAY_REVIEWS", "postgresql://u:secret-word@h/\udcff")
    with pytest.raises(UsageError, match="REPLAY_REVIEWS") as error:
        open_reviews(lake)
    assert "secret-word" not in one_sentence(error)
    with pytest.raises(UsageError, match="REPLAY_REVIEWS") as error:
        load_settings(reviews=["secret-word"])
    assert "secret-word" not in one_sentence(error)


def test_the_setting_does_not_show_its_value(monkeypatch):
    monkeypatch.setenv("REPLAY_REVIEWS", "postgresql://u:secret-word@h/d")
    settings = load_settings()
    assert settings.reviews == "postgresql://u:secret-word@h/d"
    assert "secret-word" not in repr(settings) and "secret-word" not in str(settings)
