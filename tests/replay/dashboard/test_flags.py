"""Flags: filters, order, pages, counts, the two tabs, and the table to take away (C4, C8, D8)."""

from __future__ import annotations

import csv
import io
from urllib.parse import parse_qs, urlsplit

import duckdb
import pytest

from replay.errors import InputError, UsageError
from replay.flags import SORTS, FlagFilter, filter_words, flags_of, parse_filter, query_flags, stream_flags
from replay.lake import Lake
from replay.reviews.store import open_reviews
from tests.replay.dashboard.lists_support import HONEST, all_rows, lists_lake
from tests.replay.dashboard.support import READER, client, elements, text_of
from tests.replay.night_support import THREE, TWO, ask

STATES = {
    "flag-high": "upheld", "flag-low": "cleared", "flag-combo": "returned", "odd-copied": "cleared", "flag-fourth": "open",
    "flag-unknown": "open",
}  # fmt: skip


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    return lists_lake(tmp_path_factory.mktemp("flags"))


@pytest.fixture(scope="module")
def rows(lists):
    return all_rows(lists.root)


@pytest.fixture
def browser(lists):
    return client(lists.root)


def ask_flags(lists, wanted=FlagFilter(), **page):
    with open_reviews(Lake(lists.root)) as store:
        return query_flags(Lake(lists.root).current_warehouse(), store.decisions(), wanted, **page)


def ids(found):
    return [row["game_id"] for row in found]


def games_on(answer):
    """The ids of the games that a page links to, in order."""
    links = [parse_qs(urlsplit(a["href"]).query)["id"][0] for a in elements(answer, "a") if a.get("href", "").startswith("game?")]
    return list(dict.fromkeys(links))


# --- The query -----------------------------------------------------------------------------------------------------------


def test_every_upload_that_something_speaks_against_is_listed_once(lists, rows):
    expected = {row[0] for row in ask(lists.root, "select game_id from flagged_games")}
    assert sorted(ids(rows)) == sorted(expected)
    assert {"flag-high", "flag-combo", "flag-low", "flag-fourth", "flag-unknown", "odd-copied"} <= expected
    assert "fine" not in expected


def test_c8_rows_bear_the_state_of_their_review(rows):
    """C8: a clearing stands while nothing new speaks against the game, and says what is new when something does."""
    found = {row["game_id"]: row["review"] for row in rows}
    assert {game: found[game].state for game in STATES} == STATES
    assert found["flag-combo"].new_facts
    assert found["flag-low"].decision.reason == "our own bug"
    assert found["flag-fourth"].decision is None


WISHES = [
    ({"day": str(TWO)}, lambda row: row["day"] == TWO), ({"from": str(THREE)}, lambda row: row["day"] >= THREE),
    ({"to": str(TWO)}, lambda row: row["day"] <= TWO), ({"game": "blocks"}, lambda row: True),
    ({"game": "tetromino"}, lambda row: False), ({"reason": "attempt_limit"}, lambda row: "attempt_limit" in codes(row)),
    ({"suspicion": "copied_log"}, lambda row: "copied_log" in row["suspicions"]),
    ({"platform": "ios"}, lambda row: row["platform"] == "ios"), ({"app_version": "3.2.0"}, lambda row: row["app_version"] == "3.2.0"),
    ({"nation": "DE"}, lambda row: row["nation"] == "DE"), ({"nation": "none"}, lambda row: row["nation"] is None),
    ({"player": "p-cheat"}, lambda row: row["player_id"] == "p-cheat"), ({"player": "P-CHEAT"}, lambda row: False),
    ({"state": "open"}, lambda row: row["review"].state == "open"), ({"state": "returned"}, lambda row: row["game_id"] == "flag-combo"),
    ({"state": "cleared", "kind": "flagged"}, lambda row: row["game_id"] == "flag-low"),
    ({"kind": "flagged"}, lambda row: row["verdict"] == "flagged"), ({"kind": "suspected"}, lambda row: row["verdict"] == "verified"),
    ({"game_id": "flag-low"}, lambda row: row["game_id"] == "flag-low"),
    ({"platform": "ios", "player": "p-cheat", "day": str(THREE)}, lambda row: row["game_id"] == "flag-low"),
]  # fmt: skip


def codes(row):
    return [reason["code"] for reason in row["reasons"]]


@pytest.mark.parametrize(("texts", "fits"), WISHES, ids=[" ".join(f"{k}={v}" for k, v in texts.items()) for texts, _ in WISHES])
def test_a_filter_finds_what_fits_and_nothing_else(lists, rows, texts, fits):
    wanted = parse_filter(texts)
    found = ask_flags(lists, wanted, limit=None)
    expected = ids(row for row in rows if fits(row))
    assert (ids(found.rows), found.total) == (expected, len(expected)), texts
    assert ids(stream_flags(Lake(lists.root).current_warehouse(), decisions(lists), wanted)) == expected
    assert parse_filter(filter_words(wanted)) == wanted


def decisions(lists):
    with open_reviews(Lake(lists.root)) as store:
        return store.decisions()


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("descending", [True, False])
def test_pages_of_any_order_join_without_gap_or_overlap(lists, rows, sort, descending):
    whole = ask_flags(lists, sort=sort, descending=descending, limit=None).rows
    pages = [ask_flags(lists, sort=sort, descending=descending, limit=2, offset=at) for at in range(0, len(rows) + 2, 2)]
    assert ids(row for page in pages for row in page.rows) == ids(whole)
    assert {page.total for page in pages} == {len(rows)}
    values = [row[SORTS[sort]] for row in whole]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=descending)
    assert values == known + [None] * (len(values) - len(known)), "what was not replayed has no difference and comes last"


def test_differences_are_claimed_less_replayed(rows):
    found = {row["game_id"]: row for row in rows}
    assert found["flag-high"]["difference"] == 1000
    assert found["flag-low"]["difference"] == -50
    assert found["flag-low"]["replayed_score"] == HONEST
    assert found["flag-unknown"]["difference"] is None


@pytest.mark.parametrize("texts", [{}, {"kind": "flagged"}, {"kind": "suspected"}, {"state": "open"}, {"platform": "ios", "kind": "flagged"}])
def test_a_count_is_what_its_link_leaves(lists, texts):
    found = ask_flags(lists, parse_filter(texts))
    seen = 0
    for links in found.facets.values():
        for facet in links:
            wish = {**texts, **facet.wish}
            if wish.get("kind") == "suspected" and facet.wish.keys() == {"kind"}:
                wish.pop("reason", None)
            assert ask_flags(lists, parse_filter(wish)).total == facet.uploads > 0, facet
            seen += 1
    assert seen > 4


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"reason": "ugly"}, "reason 'ugly' is no reason"), ({"state": "x"}, "is no state of a review"),
        ({"nation": "fr"}, "nation 'fr' is no nation"), ({"day": "2026-W01"}, "day '2026-W01' is no day"),
        ({"from": str(THREE), "to": str(TWO)}, "is after"), ({"day": str(TWO), "to": str(TWO)}, "give one day"),
        ({"kind": "suspected", "reason": "attempt_limit"}, "has no reason"), ({"game": "chess"}, "game 'chess' is no game"),
    ],
)  # fmt: skip
def test_a_wish_that_cannot_be_is_one_sentence(browser, texts, words):
    with pytest.raises(UsageError, match=words):
        parse_filter(texts)
    answer = browser.get("/flags", params=texts)
    assert answer.status_code == 400
    # A sentence on a page begins with a capital letter.
    assert words[1:] in text_of(answer)


def test_standings_of_an_earlier_version_say_what_to_run(tmp_path):
    lake = Lake(tmp_path)
    lake.warehouse.mkdir()
    with duckdb.connect(str(lake.warehouse / "old.duckdb")) as con:
        con.execute("create table publication (as_of date)")
    (lake.warehouse / "CURRENT").write_text("old.duckdb\n")
    lake.verdict_file(TWO).parent.mkdir(parents=True)
    lake.verdict_file(TWO).touch()
    with pytest.raises(InputError, match="run `replay rebuild`"):
        flags_of(lake, FlagFilter())


# --- The page ------------------------------------------------------------------------------------------------------------


def test_c4_proof_and_hint_are_never_mixed(browser, rows):
    """C4: what does not reproduce and what looks unusual are two lists; a hint never stands among the reasons."""
    proof, hint = browser.get("/flags"), browser.get("/flags?kind=suspected")
    assert sorted(games_on(proof)) == sorted(ids(row for row in rows if row["verdict"] == "flagged"))
    assert sorted(games_on(hint)) == sorted(ids(row for row in rows if row["verdict"] == "verified"))
    assert "? copied log" in text_of(hint)
    assert "_mismatch" not in text_of(hint)
    assert "no proof of anything" in text_of(hint)
    for answer, current in ((proof, "Does not reproduce"), (hint, "Looks unusual")):
        tabs = [a for a in elements(answer, "a") if a.get("aria-current") == "page" and a["href"].startswith("flags?")]
        assert len(tabs) == 1, current
        assert f"kind={'flagged' if current[0] == 'D' else 'suspected'}" in tabs[0]["href"]


def test_a_row_shows_claimed_beside_replayed_and_the_review(browser):
    text = text_of(browser.get("/flags?game_id=flag-low"))
    assert f"{HONEST - 50:,} {HONEST:,} -50" in text
    assert "score_mismatch: " in text
    assert "cleared Ada, " in text
    returned = text_of(browser.get("/flags?game_id=flag-combo"))
    assert "! returned Ada, " in returned
    assert "new: best combo claimed 5" in returned


def test_a_link_can_be_sent(browser, lists):
    """The filter is in the address: every link of the page keeps it, and leads on to deciding and to the table."""
    answer = browser.get("/flags?player=p-cheat&sort=difference&order=asc&size=1")
    assert games_on(answer) == ["flag-low"]
    hrefs = [a["href"] for a in elements(answer, "a") if "href" in a]
    (bulk,) = [href for href in hrefs if href.startswith("bulk?")]
    assert parse_qs(urlsplit(bulk).query) == {"player": ["p-cheat"], "kind": ["flagged"]}
    (table,) = [href for href in hrefs if href.startswith("flags.csv?")]
    assert parse_qs(urlsplit(table).query)["sort"] == ["difference"]
    following = [a["href"] for a in elements(answer, "a") if a.get("rel") == "next"]
    assert games_on(browser.get("/" + following[0])) == ["flag-combo"]
    for href in hrefs:
        assert not href.startswith("/"), f"{href}: the app may be mounted anywhere"
    assert "Decide on" not in text_of(client(lists.root, READER).get("/flags"))


def test_empty_lists_say_what_to_do(browser):
    assert "No game fits this filter" in text_of(browser.get("/flags?platform=amiga"))
    assert "lies beyond the last of 6 games" in text_of(browser.get("/flags?page=9"))


@pytest.mark.parametrize("query", ["sort=x", "order=up", "page=0", "page=-1", "page=x", "size=201", "day=31.10.2026", "page=" + "9" * 300])
def test_a_wrong_parameter_is_a_page_with_a_sentence(browser, query):
    for path in ("/flags", "/flags.csv"):
        answer = browser.get(f"{path}?{query}")
        assert answer.status_code == 400, f"{path}?{query}"
        assert "parameter" in text_of(answer).lower() or "is no day" in text_of(answer)


# --- The table to take away ----------------------------------------------------------------------------------------------


def table(answer):
    assert answer.status_code == 200
    assert answer.content.startswith(b"\xef\xbb\xbf")
    text = answer.content.decode("utf-8-sig")
    assert text.count("\r\n") == text.count("\n"), "RFC 4180: lines end with CRLF"
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_d8_the_table_holds_every_row_of_the_filter(browser, rows):
    """D8: all rows whatever the page, each in its columns, numbers as numbers."""
    answer = browser.get("/flags.csv?size=1")
    assert answer.headers["content-disposition"] == f'attachment; filename="flags-{THREE}.csv"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    found = table(answer)
    assert [row["game_id"] for row in found] == ids(row for row in rows if row["verdict"] == "flagged")
    low = next(row for row in found if row["game_id"] == "flag-low")
    assert (low["score"], low["replayed_score"], low["difference"]) == (str(HONEST - 50), str(HONEST), "-50")
    assert (low["review"], low["reviewer"], low["decision"], low["reasons"]) == ("cleared", "Ada", "our own bug", "score_mismatch")
    for line in answer.text.lstrip("\ufeff").split("\r\n")[:-1]:
        assert line.startswith('"')
        assert line.endswith('"')


def test_the_table_is_of_the_filter_and_named_after_its_days(browser):
    answer = browser.get(f"/flags.csv?day={TWO}&player=p-cheat&sort=score&order=asc")
    scores = [int(row["score"]) for row in table(answer)]
    assert {row["game_id"] for row in table(answer)} == {"flag-combo", "flag-high"}
    assert scores == sorted(scores)
    assert f'"flags-{TWO}.csv"' in answer.headers["content-disposition"]
    unusual = browser.get(f"/flags.csv?kind=suspected&from={TWO}")
    assert f'"unusual-{TWO}-{THREE}.csv"' in unusual.headers["content-disposition"]
    assert "odd-copied" in [row["game_id"] for row in table(unusual)]
    assert table(browser.get("/flags.csv?platform=amiga")) == []
