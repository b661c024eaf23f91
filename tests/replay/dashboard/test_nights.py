"""The nights: whether the last one was fine, in words; every night in the table; all of one on its own page."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from replay.dashboard import nights
from replay.dashboard.nights import NIGHT_HOURS, Night, due_day, headline, known_days, landed_days, read_json
from replay.errors import InputError
from replay.lake import Lake
from replay.report import read_report
from tests.replay.dashboard.support import client, elements, published, text_of
from tests.replay.night_support import (
    DAYS,
    EVIL,
    ONE,
    THREE,
    TWO,
    check_run,
    lake_of_all_kinds,
    land,
    night,
    upload,
    write_challenges,
)
from tests.replay.store_support import BUCKET, Server, upload_tree

TODAY = date(2026, 11, 1)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("nights"))


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is nine in the morning after the newest of the tests' days."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2026, 11, 1, 9, 0, tzinfo=tz)

    monkeypatch.setattr(nights, "datetime", Clock)


def first_words(page: Response) -> str:
    found = re.search(r'<p class="verdict">(.*?)</p>', page.text, re.S)
    assert found is not None
    return text_of(found[1])


def table_rows(page: Response) -> dict[str, list[str]]:
    """The cells of the table of the nights, by the day in front."""
    found = {}
    for row in re.findall(r"<tr.*?</tr>", page.text, re.S):
        cells = [text_of(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)]
        if re.match(r"20\d\d-", cells[0]) and len(cells) > 1:
            found.setdefault(cells[0], cells[1:])
    return found


def fail(lake: Path, day: date, sentence: str = "check assert_totals_are_sums returned 3 rows, look at it") -> None:
    from replay.errors import CheckFailed
    from replay.failures import note_failure

    note_failure(Lake(lake), day, CheckFailed(sentence))


# --- Was last night fine? ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("today")
def test_a_good_night_is_said_first(lake: Path):
    run = check_run(lake, THREE)
    games = run["verdicts"]["verified"] + run["verdicts"]["flagged"]
    words = first_words(client(lake).get("/"))
    rate = 1000 * run["verdicts"]["flagged"] / games
    assert words == (
        f"✓ fine The night of 2026-10-31 is published: {run['records']} records, {run['verdicts']['flagged']} flagged"
        f" ({rate:.1f} per 1,000). Nothing stands out."
    )


@pytest.mark.usefixtures("today")
def test_what_stands_out_is_said_first(tmp_path: Path):
    """In a night that holds nothing back: with the usual limits these flags of one app version would be."""
    from replay.flag_rates import Limits
    from replay.report import write_report

    other = tmp_path / "lake"
    challenges = write_challenges(tmp_path / "challenges.csv")
    for day, forged in ((ONE, 1), (TWO, 1), (THREE, 30)):
        honest = [upload(f"{day}-{n}", f"p-{n}", day, seed=2) for n in range(40)]
        land(other, day, "a.ndjson", [*honest, *(upload(f"{day}-f{n}", f"f-{n}", day, score=7) for n in range(forged))])
        night(other, day, challenges=challenges, withhold=Limits(alpha_per_million=0))
        write_report(Lake(other), day)
    words = first_words(client(other).get("/"))
    assert words.startswith("! look The night of 2026-10-31 is published: 70 records, 30 flagged (428.6 per 1,000). Far above the usual:")
    assert words.endswith(" score_mismatch, android 3.2.0.")
    assert "stands out" in " ".join(table_rows(client(other).get("/"))["2026-10-31"])
    page = text_of(client(other).get("/night?day=2026-10-31"))
    assert "score_mismatch : 30 of 70 games flagged, 428.6 per 1,000; usual is 24.4" in page


@pytest.mark.usefixtures("today")
def test_a_failed_night_is_said_first_with_its_sentence(tmp_path: Path):
    lake = published(tmp_path, lines=60)
    fail(lake, THREE)
    page = client(lake).get("/")
    words = first_words(page)
    assert words == (
        "✕ not fine The night of 2026-10-31 failed: Check assert_totals_are_sums returned 3 rows, look at it. What was published of"
        " that day before stays."
    )
    assert "The night of 2026-10-30 is published" in text_of(page), "and what stands is said below"
    assert re.search(r'<tr class="bad">\s*<th scope="row" class="day"><a href="night\?day=2026-10-31">', page.text)
    assert table_rows(page)["2026-10-31"][0] == "✕ failed"
    fail(lake, ONE, "disk full")
    assert "Older nights that were not good: 2026-10-29." in text_of(client(lake).get("/"))
    of_its_own = text_of(client(lake).get("/night?day=2026-10-29"))
    assert "Kind of error CheckFailed" in of_its_own
    assert "replay nightly --day 2026-10-29" in of_its_own


@pytest.mark.usefixtures("today")
def test_a_night_that_never_was_published_and_failed(tmp_path: Path):
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g", "p")])
    fail(lake, THREE, "<script>alert(1)</script> \u202e is no rules file")
    page = client(lake).get("/")
    assert first_words(page).startswith("✕ not fine The night of 2026-10-31 failed: <script>")
    assert "<script>" not in page.text
    assert "\u202e" not in page.text
    assert client(lake).get("/night?day=2026-10-31").status_code == 200


@pytest.mark.usefixtures("today")
def test_logs_without_a_night_are_said_first(tmp_path: Path):
    lake = published(tmp_path, lines=60)
    land(lake, TODAY, "a.ndjson", [upload("g", "p", TODAY)])
    page = client(lake).get("/")
    assert first_words(page) == "! look Logs of 2026-11-01 have landed, but no night has taken them up."
    assert "replay nightly --day 2026-11-01" in table_rows(page)["2026-11-01"][1]
    assert "The night of 2026-10-31 is published" in text_of(page)
    assert "or wait for its scheduled run" in text_of(client(lake).get("/night?day=2026-11-01"))


@pytest.mark.usefixtures("today")
def test_a_night_in_which_nothing_could_be_read_is_not_fine(tmp_path: Path):
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [b"{no json", b"[]"])
    night(lake)
    page = client(lake).get("/")
    assert first_words(page) == "✕ not fine The night of 2026-10-31 is published, but none of its 2 records could be read."
    assert table_rows(page)["2026-10-31"][0] == "✕ nothing read"


@pytest.mark.usefixtures("today")
def test_a_night_that_flags_more_than_half_is_looked_at_even_when_that_is_usual(tmp_path: Path):
    from replay.report import write_report

    for day in DAYS:
        land(tmp_path / "lake", day, "a.ndjson", [upload(f"g-{n}-{day}", f"p-{n}", day, score=7) for n in range(3)])
        night(tmp_path / "lake", day)
        write_report(Lake(tmp_path / "lake"), day)
    words = first_words(client(tmp_path / "lake").get("/"))
    assert words.startswith("! look ")
    assert words.endswith("3 flagged (1,000.0 per 1,000). That is more than half of its games.")


def test_a_lake_without_a_night_says_what_to_do(tmp_path: Path):
    (tmp_path / "lake").mkdir()
    page = client(tmp_path / "lake").get("/")
    assert first_words(page) == "! look No night has run here yet."
    assert "replay nightly --day YYYY-MM-DD" in text_of(page)
    assert elements(page, "table") == elements(page, "img") == []


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (datetime(2026, 11, 1, 9, tzinfo=UTC), date(2026, 10, 31)), (datetime(2026, 11, 1, 0, 30, tzinfo=UTC), date(2026, 10, 30)),
        (datetime(2026, 11, 1, NIGHT_HOURS, tzinfo=UTC), date(2026, 10, 31)),
    ],
)  # fmt: skip
def test_a_night_is_due_some_hours_after_its_day(now: datetime, due: date):
    assert due_day(now) == due


def test_a_night_that_did_not_run_is_no_good_one():
    run = {"records": 3, "quarantined": 0, "suspicions": {}, "verdicts": {"verified": 3, "flagged": 0, "copy": 0}}
    newest = Night(THREE, "published", run)
    assert headline(newest, THREE).kind == "good"
    behind = headline(newest, THREE + timedelta(days=1))
    assert (behind.kind, behind.words) == (
        "warn", "The night of 2026-10-31 is published: 3 records, 0 flagged. It is the newest: that of 2026-11-01 has not run."
    )  # fmt: skip
    assert "none of the 9 nights since then has run" in headline(newest, THREE + timedelta(days=9)).words
    assert headline(newest, ONE).kind == "good"


# --- The table ---------------------------------------------------------------------------------------------------------------


def test_the_table_shows_what_run_and_report_say(lake: Path):
    rows = table_rows(client(lake).get("/"))
    assert list(rows)[:3] == [str(day) for day in DAYS[::-1]]
    for day in DAYS:
        run, report = check_run(lake, day), read_report(Lake(lake), day)
        verdicts = run["verdicts"]
        late = sum(row["games"] for row in report["late"])
        rate = 1000 * verdicts["flagged"] / (verdicts["verified"] + verdicts["flagged"])
        assert rows[str(day)][1:] == [
            f"{run['records']:,}", f"{verdicts['verified']:,}", f"{verdicts['flagged']:,}", f"{rate:.1f}",
            f"{sum(run['suspicions'].values()):,}", f"{verdicts['copy']:,}", f"{run['quarantined']:,}", f"{late:,}", "3.8",
        ], day  # fmt: skip


def test_days_without_a_night_between_published_ones_are_shown(tmp_path: Path):
    lake = tmp_path / "lake"
    for day in (date(2026, 10, 1), date(2026, 10, 3), date(2026, 10, 9)):
        land(lake, day, "a.ndjson", [upload(f"g-{day}", "p", day)])
        night(lake, day)
    page = client(lake).get("/")
    assert [*table_rows(page)] == ["2026-10-09", "2026-10-04 to 2026-10-08", "2026-10-03", "2026-10-02", "2026-10-01"]
    assert "5 days without logs or a night" in text_of(page)
    assert "6 days between published ones have no night." in text_of(page)
    assert client(lake).get("/night?day=2026-10-02").status_code == 404


def test_older_nights_are_behind_a_pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lake = published(tmp_path, lines=60)
    monkeypatch.setattr(nights, "NIGHTS_SHOWN", 2)
    first = client(lake).get("/")
    assert [*table_rows(first)][:2] == ["2026-10-31", "2026-10-30"]
    (older,) = [link["href"] for link in elements(first, "a") if link.get("rel") == "next"]
    second = client(lake).get(str(first.url.join(older)))
    assert [*table_rows(second)] == ["2026-10-29"]
    (newer,) = [link["href"] for link in elements(second, "a") if link.get("rel") == "prev"]
    assert newer == "./"
    assert "There are no nights this far back." in text_of(client(lake).get("/?skip=50"))


def test_an_old_warehouse_of_nights_is_read_without_their_later_keys(lake: Path, tmp_path: Path):
    """run.json of an earlier version of this program says nothing of files left at the source, and may have no report."""
    import shutil

    other = tmp_path / "lake"
    shutil.copytree(lake, other)
    run = json.loads(Lake(other).run_file(THREE).read_text())
    run.pop("left_waiting")
    Lake(other).run_file(THREE).write_text(json.dumps(run))
    shutil.rmtree(other / "reports")
    assert table_rows(client(other).get("/"))["2026-10-31"][-2:] == ["-", "-"]
    assert "This night has no report." in text_of(client(other).get("/night?day=2026-10-31"))


def test_a_damaged_file_is_a_sentence_and_no_crash(lake: Path, tmp_path: Path):
    import shutil

    other = tmp_path / "lake"
    shutil.copytree(lake, other)
    Lake(other).run_file(TWO).write_text("{half")
    answer = client(other).get("/")
    assert answer.status_code == 404
    assert "run.json: cannot be read" in text_of(answer)


# --- One night ---------------------------------------------------------------------------------------------------------------


def test_the_page_of_a_night_says_all_of_its_report(lake: Path):
    run, report = check_run(lake, THREE), read_report(Lake(lake), THREE)
    page = client(lake).get("/night?day=2026-10-31")
    text = text_of(page)
    for entry in run["inputs"]:
        assert f"{entry['file']} {entry['records']:,} {entry['bytes']:,} {entry['sha256']}" in text, entry
    for row in report["rates"]["reasons"]:
        assert f"{row['name']} {row['flagged']:,} {row['games']:,}" in text, row
    for row in report["rates"]["clients"]:
        assert f"{row['name']} {row['flagged']:,} {row['games']:,}" in text, row
    for row in report["standings_changed"]:
        assert row["challenge"] in text
    for code, records in run["quarantine_codes"].items():
        assert f"{code} {records:,}" in text
    for name, digest in run["rules"].items():
        assert f"Rules {name} {digest}" in text
    assert "standings 2.0" in text
    links = {link["href"] for link in elements(page, "a")}
    assert {"night?day=2026-10-30", "./"} <= links
    assert not any(link.startswith("night?day=2026-11") for link in links)


def test_texts_of_players_and_files_are_harmless(tmp_path: Path):
    from replay.report import write_report

    lake, _ = lake_of_all_kinds(tmp_path)
    write_report(Lake(lake), THREE)
    page = client(lake).get("/night?day=2026-10-31")
    assert page.status_code == 200
    assert EVIL not in page.text
    assert not re.search(r"<script|[\x1b\u202e\x00\x07]", page.text)
    assert "&lt;script&gt;" in page.text, "the client's version is there, escaped"
    assert r"d\u202e\x1b[2J.parquet" in text_of(page)


def test_a_night_that_is_not_known_and_a_day_that_is_none(lake: Path):
    unknown = client(lake).get("/night?day=2026-01-01")
    assert unknown.status_code == 404
    assert "Nothing is known of a night of 2026-01-01: no logs have landed, and none was published." in text_of(unknown)
    for wrong in ("", "2026-10-32", "20261031", "today", "2026-W44-6", "99999-01-01"):
        assert client(lake).get("/night", params={"day": wrong}).status_code == 400, wrong


# --- Reading -----------------------------------------------------------------------------------------------------------------


def test_files_are_read_again_only_when_they_are_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "run.json"
    assert read_json(path) is None
    path.write_text('{"records": 1}')
    first = read_json(path)
    assert first == {"records": 1}
    assert read_json(path) is first
    path.write_text('{"records": 22}')
    assert read_json(path) == {"records": 22}
    path.unlink()
    assert read_json(path) is None
    monkeypatch.setattr(nights, "_FILES_KEPT", 3)
    for number in range(6):
        other = tmp_path / f"{number}.json"
        other.write_text("{}")
        read_json(other)
    assert len(nights._files) == 3
    path.write_text("nonsense")
    with pytest.raises(InputError, match="run the night of that day again"):
        read_json(path)


def test_landed_days_are_days_with_log_files(tmp_path: Path):
    lake = Lake(tmp_path)
    land(tmp_path, THREE, "a.ndjson", [])
    for other in ("day=2026-10-30/b.txt", "day=2026-02-31/a.ndjson", "day=20261029/a.ndjson", "copy/a.ndjson"):
        (tmp_path / "logs" / other).parent.mkdir(parents=True)
        (tmp_path / "logs" / other).write_text("")
    assert landed_days(lake, (), TODAY) == {THREE}
    assert landed_days(lake, {THREE}, TODAY) == set()
    assert [found.state for found in known_days(lake, TODAY)] == ["landed"]


def test_nights_of_a_lake_on_an_object_store(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch):
    """The same pages over a store; logs that no night took up are looked for on the days before today."""
    for name, value in server.env(tmp_path / "cache").items():
        monkeypatch.setenv(name, value)
    local = published(tmp_path, lines=60)
    fail(local, TWO)
    store = server.store(f"s3://{BUCKET}/nights-page")
    upload_tree(store, local)
    there, here = client(store.url), client(local)
    assert table_rows(there.get("/")) == table_rows(here.get("/"))
    assert first_words(there.get("/night?day=2026-10-30")) == first_words(here.get("/night?day=2026-10-30"))
    assert text_of(there.get("/quarantine")).replace(store.url, str(local)) == text_of(here.get("/quarantine"))
    assert there.get("/chart.svg?name=records").content == here.get("/chart.svg?name=records").content
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    store.write(f"logs/day={yesterday}/a.ndjson", b"{}\n")
    assert first_words(there.get("/")) == f"! look Logs of {yesterday} have landed, but no night has taken them up."


def test_links_lead_to_what_they_count(lake: Path):
    """From the front page to the flagged and quarantined records of a night, from a night's page to those of one reason or sign."""
    anna = client(lake)
    for day in DAYS:
        run = check_run(lake, day)
        flags = text_of(anna.get(f"/flags?day={day}"))
        assert f"flags?day={day}" in {link["href"] for link in elements(anna.get("/"), "a")}
        assert f"Does not reproduce ({run['verdicts']['flagged']:,})" in flags, day
        links = {link["href"] for link in elements(anna.get(f"/night?day={day}"), "a")}
        for code, flagged in run["reasons"].items():
            assert f"flags?day={day}&reason={code}" in links
            found = text_of(anna.get(f"/flags?day={day}&reason={code}"))
            assert f"Does not reproduce ({flagged:,})" in found, (day, code)
        for code, records in run["quarantine_codes"].items():
            assert f"quarantine?day={day}&code={code}" in links
            word = "record" if records == 1 else "records"
            assert f"{records:,} {word} Newest day first" in text_of(anna.get(f"/quarantine?day={day}&code={code}")), (day, code)
