"""The quarantine: every record that could not be taken, filtered and counted, with what was wrong in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.dashboard import quarantine
from replay.dashboard.quarantine import MEANINGS, read_quarantine
from replay.errors import InputError
from replay.lake import Lake
from tests.replay.dashboard.support import client, elements, text_of
from tests.replay.night_support import EVIL, ONE, THREE, TWO, lake_of_all_kinds, land, line, night, upload, verdict_rows

BROKEN = {
    "json": b"{no json", "missing_field": b'{"game_id": "half", "score": 1}', "encoding": b'{"game_id": "\xff"}',
    "duplicate_key": b'{"game_id": "twice", "game_id": "twice"}',
}  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("quarantine") / "lake"
    wrong = line(upload("wrong", "p")).replace(b'"score": ', b'"score": 1.5, "score_": ')
    land(place, ONE, "a.ndjson", [upload("g-1", "p", ONE), *BROKEN.values()])
    land(place, TWO, "a.ndjson", [upload("g-2", "p", TWO)])
    land(place, THREE, "b.ndjson", [BROKEN["json"], upload("g-3", "p"), wrong, BROKEN["json"]])
    land(place, THREE, "a.ndjson.gz", [upload("g-4", "q"), BROKEN["missing_field"]])
    for day in (ONE, TWO, THREE):
        night(place, day)
    return place


def shown_rows(page: object) -> list[list[str]]:
    table = page.text.partition('aria-labelledby="rows"')[2]  # type: ignore[attr-defined]
    rows = re.findall(r"<tr.*?</tr>", table, re.S)
    return [[text_of(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)] for row in rows[1:]]


def test_every_quarantined_record_is_shown_once_in_order(lake: Path):
    expected = []
    for day in (THREE, ONE):
        for row in verdict_rows(lake, day, "quarantine"):
            game_id = row["game_id"] if row["game_id"] is not None else "not readable"
            expected.append([str(day), row["code"], row["reason"], row["source_file"], str(row["source_line"]), game_id])
    page = client(lake).get("/quarantine")
    assert shown_rows(page) == expected
    assert len(expected) == 8
    assert "8 records" in text_of(page)


def test_filters_narrow_and_count_under_each_other(lake: Path):
    anna = client(lake)
    by_code = anna.get("/quarantine?code=json")
    assert [(row[0], row[4]) for row in shown_rows(by_code)] == [("2026-10-31", "1"), ("2026-10-31", "4"), ("2026-10-29", "2")]
    both = anna.get("/quarantine?code=json&day=2026-10-29")
    assert [row[1] for row in shown_rows(both)] == ["json"]
    # The other choices of one filter are counted under the other one.
    assert [text_of(o) for o in re.findall(r"<option.*?</option>", both.text)] == [
        "any day", "2026-10-31 (2)", "2026-10-29 (1)", "anything", "duplicate_key (1)", "encoding (1)", "json (1)", "missing_field (1)"
    ]  # fmt: skip
    assert [o["value"] for o in elements(both, "option") if "selected" in o] == ["2026-10-29", "json"]


def test_records_lead_to_their_game_and_night(lake: Path):
    page = client(lake).get("/quarantine?day=2026-10-31")
    links = [link["href"] for link in elements(page, "a")]
    assert "night?day=2026-10-31" in links
    assert "game?id=half&day=2026-10-31&file=a.ndjson.gz&line=2" in links


def test_pages_of_rows(lake: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quarantine, "ROWS_SHOWN", 3)
    monkeypatch.setattr(read_quarantine, "__defaults__", (3,))
    anna, seen, link = client(lake), [], "quarantine?"
    for _ in range(3):
        page = anna.get(f"/{link}")
        seen += [(row[0], row[3], row[4]) for row in shown_rows(page)]
        link = next((a["href"] for a in elements(page, "a") if a.get("rel") == "next"), "")
    assert link == ""
    assert len(seen) == len(set(seen)) == 8
    assert "There are only 8 records." in text_of(anna.get("/quarantine?skip=90"))


def test_empty_states_say_what_to_do(lake: Path, tmp_path: Path):
    anna = client(lake)
    for address in ("day=2026-10-30", "code=no_such_code", "day=1999-01-01", "day=2026-10-30&code=%3Cscript%3E"):
        page = anna.get(f"/quarantine?{address}")
        assert page.status_code == 200, address
        assert "Nothing was quarantined" in text_of(page), address
        assert "Look at the whole quarantine" in text_of(page)
        assert "<script>" not in page.text
    land(tmp_path / "lake", THREE, "a.ndjson", [upload("g", "p")])
    assert "No night is published yet." in text_of(client(tmp_path / "lake").get("/quarantine"))
    night(tmp_path / "lake")
    assert "every record of every night could be read" in text_of(client(tmp_path / "lake").get("/quarantine"))


def test_every_code_of_a_malformed_record_has_words():
    """The codes are written where they are raised; a new one needs a meaning here."""
    package = Path(quarantine.__file__).parents[1]
    text = "\n".join(path.read_text("utf-8") for path in sorted(package.rglob("*.py")))
    codes = set(re.findall(r'(?:MalformedRecord|Quarantined)\((?:\d+, |row \+ 1, )?"([a-z_]+)"', text)) | {"challenge"}
    assert {"json", "encoding", "stream", "too_large", "wrong_value"} <= codes
    assert codes - set(MEANINGS) == set()


def test_texts_of_players_are_harmless(tmp_path: Path):
    lake, _ = lake_of_all_kinds(tmp_path)
    page = client(lake).get("/quarantine")
    assert page.status_code == 200
    assert len(shown_rows(page)) > 1
    assert EVIL not in page.text
    assert not re.search(r"<script|[\x1b\u202e\x00\x07]", page.text)


def test_a_damaged_file_is_a_sentence(tmp_path: Path):
    land(tmp_path / "lake", THREE, "a.ndjson", [upload("g", "p"), BROKEN["json"]])
    night(tmp_path / "lake")
    Lake(tmp_path / "lake").quarantine_file(THREE).write_bytes(b"PAR1 no more")
    answer = client(tmp_path / "lake").get("/quarantine")
    assert answer.status_code == 404
    assert "cannot be read" in text_of(answer)
    with pytest.raises(InputError):
        read_quarantine(Lake(tmp_path / "lake"), None, None, 0)
