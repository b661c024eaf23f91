"""The trend charts: drawn here, light and dark, wide and for a phone, with the same in words and as a table."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from replay.dashboard import charts
from replay.dashboard.charts import ALL, KINDS, LOOKS, Series, draw, kind_of, look_of, series_of, shown, version_of
from replay.errors import UsageError
from tests.replay.dashboard.support import client, elements, published, text_of
from tests.replay.dashboard.test_app import _themes, contrast
from tests.replay.night_support import DAYS, ROOT, check_run

FIRST = date(2026, 10, 2)


@dataclass(frozen=True)
class OneNight:
    day: date
    run: dict[str, Any] | None
    games: int | None
    seconds: float | None


def a_night(i: int, flagged: dict[str, int], games: int = 1000, quarantined: int = 2, seconds: float | None = 1.5) -> OneNight:
    run = {"records": games + quarantined, "quarantined": quarantined, "reasons": flagged}
    return OneNight(FIRST + timedelta(days=i), run | {"verdicts": {"flagged": sum(flagged.values())}}, games, seconds)


def some_nights(count: int = 30) -> list[OneNight]:
    return [a_night(i, {"score_mismatch": 10 + i % 4, "illegal_move": i % 3, "attempt_limit": 4}) for i in range(count)]


SERIES = series_of(some_nights())


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("charts"))


# --- The numbers -------------------------------------------------------------------------------------------------------------


def test_series_are_rates_of_judged_games_oldest_first():
    nights = [a_night(1, {"b": 6, "a": 1}, games=500), a_night(0, {"a": 2}, games=1000), OneNight(FIRST, None, None, None)]
    found = series_of(nights)
    assert found.days == (FIRST, FIRST + timedelta(days=1))
    assert found.reasons == ((ALL, (2.0, 14.0)), ("b", (0.0, 12.0)), ("a", (2.0, 2.0)))
    assert (found.records, found.quarantined, found.seconds) == ((1002, 502), (2, 2), (1.5, 1.5))


def test_a_night_without_games_has_a_rate_of_nothing():
    assert series_of([a_night(0, {}, games=0)]).reasons == ((ALL, (0.0,)),)
    empty = series_of([])
    assert (empty.days, empty.records) == ((), ())


def test_the_words_and_the_table_say_what_the_chart_shows(lake: Path):
    page = client(lake).get("/")
    text = text_of(page)
    for day in DAYS:
        run = check_run(lake, day)
        games = run["verdicts"]["verified"] + run["verdicts"]["flagged"]
        for code, flagged in run["reasons"].items():
            assert code in text
            assert f"{1000 * flagged / games:,.1f}" in text, (day, code)
    images = elements(page, "img")
    assert [image["alt"].partition(":")[0] for image in images] == [charts._TITLES[kind] for kind in KINDS]
    last = check_run(lake, DAYS[-1])
    assert f"Records: {last['records']:,} on the last" in images[1]["alt"]
    assert "3.8 on the last measured, 3.8 to 3.8 in all." in images[2]["alt"]


def test_nights_that_were_not_measured_are_said_to_be_so():
    series = series_of([a_night(i, {}, seconds=None) for i in range(3)])
    assert shown("seconds", series, 0).words == "3 nights, 2026-10-02 to 2026-10-04. None of them was measured."
    assert ET.fromstring(draw("seconds", series, LOOKS["light", "wide"]))


# --- The pictures ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("look", LOOKS.values(), ids=lambda look: f"{look.theme}-{'small' if look.small else 'wide'}")
def test_every_chart_is_drawn_in_every_look(kind: str, look: charts.Look):
    data = draw(kind, SERIES, look)
    svg = ET.fromstring(data)
    assert svg.tag.endswith("svg")
    width = float(svg.attrib["width"])
    assert width <= (360 if look.small else 1240)
    texts = " ".join(element.text or "" for element in svg.iter() if element.tag.endswith("text"))
    assert re.search("31 Oct", texts), texts
    # A picture holds no script and asks nobody for anything.
    assert not re.search(rb"<script|<style|<image|<foreignObject|href=|url\((?!#)|@import|on[a-z]+=\"", data)
    assert look.colours[0].encode() in data or look.colours[1].encode() in data or look.colours[2].encode() in data


def test_each_reason_has_a_panel_with_its_name_and_numbers():
    svg = ET.fromstring(draw("flags", SERIES, LOOKS["light", "wide"]))
    texts = [element.text or "" for element in svg.iter() if element.tag.endswith(("text", "tspan"))]
    for name, rates in SERIES.reasons:
        assert name in texts
        assert f"last {rates[-1]:,.1f}, mean {sum(rates) / 30:,.1f}, most {max(rates):,.1f}" in texts, name


@pytest.mark.parametrize("look", LOOKS.values(), ids=lambda look: f"{look.theme}-{'small' if look.small else 'wide'}")
def test_what_is_drawn_holds_against_the_grammars_schema(look: charts.Look):
    for chart in (charts._flags, charts._records, charts._seconds):
        spec = charts._framed(chart(SERIES, look), look)
        assert spec.to_dict(validate=True) == spec.to_dict(validate=False)


def test_a_picture_is_drawn_once_and_again_only_when_something_changes(monkeypatch: pytest.MonkeyPatch):
    drawn: list[str] = []
    monkeypatch.setattr(charts, "_drawn", type(charts._drawn)())
    monkeypatch.setattr(charts, "_KEPT", 2)
    framed = charts._framed
    monkeypatch.setattr(charts, "_framed", lambda chart, look: drawn.append(look.theme) or framed(chart, look))
    series = series_of(some_nights(3))
    first = draw("seconds", series, LOOKS["light", "wide"])
    threads = [threading.Thread(target=draw, args=("seconds", series, LOOKS["light", "wide"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drawn == ["light"]
    assert draw("seconds", series, LOOKS["dark", "wide"]) != first
    assert draw("seconds", series_of(some_nights(4)), LOOKS["light", "wide"]) != first
    assert len(charts._drawn) == 2


def test_colours_are_seen_on_the_card_of_their_theme():
    for theme in ("light", "dark"):
        card = _themes()[theme]["card"]
        look = LOOKS[theme, "wide"]
        assert {name: contrast(name, card) for name in (look.text, look.soft) if contrast(name, card) < 4.5} == {}
        assert {name: contrast(name, card) for name in look.colours if contrast(name, card) < 3} == {}
        assert (look.text, look.soft) == (_themes()[theme]["text"], _themes()[theme]["soft"])


# --- The route ---------------------------------------------------------------------------------------------------------------


def test_the_page_names_four_pictures_a_chart_and_each_is_kept_for_ever(lake: Path):
    anna = client(lake)
    page = anna.get("/")
    sources, images = elements(page, "source"), elements(page, "img")
    assert (len(sources), len(images)) == (9, 3)
    addresses = [source["srcset"] for source in sources] + [image["src"] for image in images]
    assert len(set(addresses)) == 12
    for address in addresses:
        answer = anna.get(f"/{address}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml"), address
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        again = anna.get(f"/{address}", headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    stale = anna.get("/chart.svg?name=flags&v=0123456789abcdef")
    assert stale.headers["cache-control"] == "private, no-cache"


def test_a_chart_of_what_is_not_there_is_a_sentence(lake: Path):
    for wrong in ("", "name=nope", "name=flags&theme=blue", "name=flags&size=9", "name=flags&skip=x"):
        assert client(lake).get(f"/chart.svg?{wrong}").status_code == 400, wrong
    with pytest.raises(UsageError, match="it must be one of flags, records, seconds"):
        kind_of("x")
    with pytest.raises(UsageError, match="light or dark, and wide or small"):
        look_of("light", "x")


def test_a_chart_of_no_night_is_an_empty_picture_and_no_crash(tmp_path: Path):
    (tmp_path / "lake").mkdir()
    for kind in KINDS:
        answer = client(tmp_path / "lake").get(f"/chart.svg?name={kind}")
        assert answer.status_code == 404, kind
        assert "no night is published" in text_of(answer)


def test_the_address_is_another_one_when_the_chart_is(lake: Path):
    other = Series(SERIES.days, SERIES.reasons, SERIES.records[:-1] + (7,), SERIES.quarantined, SERIES.seconds)
    assert version_of("records", other) != version_of("records", SERIES)
    assert len({version_of(kind, SERIES) for kind in KINDS}) == 3


def test_nothing_is_imported_to_draw_before_there_is_something_to_draw():
    code = "import sys, replay.dashboard.charts; print({'altair', 'vl_convert', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False, timeout=60)
    assert done.stdout == "set()\n", done.stdout + done.stderr
