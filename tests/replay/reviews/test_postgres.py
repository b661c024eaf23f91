"""What only a server can do otherwise: be away, know other users, and be written to by programs that are not ours."""

from __future__ import annotations

import sys
import threading

import psycopg2
import pytest

from replay.errors import DecidedMeanwhile, InputError, UsageError
from replay.reviews.store import open_reviews
from tests.cluster.services import free_ports
from tests.replay.reviews.support import WHO, Place, a_draft, one_sentence


@pytest.fixture
def place(lake, database):
    return Place(lake, database)


def password_of(url: str) -> str:
    return url.split(":")[2].split("@")[0]


def execute(place, statement, *values):
    raw = place.raw()
    try:
        with raw.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else None
    finally:
        raw.close()


def test_the_url_of_the_setting_is_enough(place, monkeypatch):
    """Without a driver's name, as people write it; nothing appears in the lake."""
    monkeypatch.setenv("REPLAY_REVIEWS", place.url)
    with open_reviews(place.lake) as store:
        store.decide([a_draft()], **WHO)
        assert store.decisions()[0].reviewer == "ana"
        assert "secret" not in store.name and store.name.endswith(place.url.rpartition("@")[2])
    assert list(place.lake.root.iterdir()) == []
    assert execute(place, "select id, reviewer from review_decisions") == [(1, "ana")]


def test_times_are_utc_whatever_the_session_thinks(place):
    with place.open() as store:
        (made,) = store.decide([a_draft()], **WHO)
        name = place.url.rpartition("/")[2]
        execute(place, f"alter database {name} set timezone to 'Pacific/Auckland'")
        assert store.decision(1).at == made.at
        assert store.decision(1).as_json()["at"] == made.as_json()["at"]


@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE review_decisions", "TRUNCATE review_aliases", "TRUNCATE review_decisions, review_aliases CASCADE",
        "INSERT INTO review_decisions SELECT * FROM review_decisions ON CONFLICT (id) DO UPDATE SET action = 'clear'",
    ],
)  # fmt: skip
def test_nothing_empties_or_overwrites_the_tables(place, statement):
    with place.open() as store:
        made = store.decide([a_draft("uphold")], **WHO)
        store.rename([("a", "b")])
        with pytest.raises(psycopg2.Error, match="kept for ever"):
            execute(place, statement)
        assert store.decisions() == made


def test_the_unique_constraint_decides_where_a_writer_does_not_wait_for_its_turn(place):
    """A program of somebody else's writes without our lock: the one of ours that meets it is told who was first."""
    with place.open() as store:
        store.decide([a_draft("note")], **WHO)
        raw = place.raw()
        raw.autocommit = False
        cursor = raw.cursor()
        cursor.execute(
            "insert into review_decisions (id, subject, previous, action, reason, reviewer, at, facts, game, game_id, challenge, day)"
            " select 2, subject, 1, 'uphold', 'outside', 'other program', at, facts, game, game_id, challenge, day"
            " from review_decisions"
        )
        told = []

        def decide():
            try:
                told.append(store.decide([a_draft("clear", seen=1)], reviewer="ben", reason="fine"))
            except DecidedMeanwhile as error:
                told.append(str(error))

        thread = threading.Thread(target=decide)
        thread.start()
        thread.join(1)
        assert thread.is_alive() and told == [], "nothing is decided before the other one has ended"
        raw.commit()
        raw.close()
        thread.join(30)
        assert len(told) == 1 and "other program upheld it" in told[0], told
        assert [one.reviewer for one in store.decisions()] == ["ana", "other program"]


def test_a_number_taken_by_such_a_writer_is_no_conflict(place):
    """It decided about another game: ours takes the next number."""
    with place.open() as store:
        store.decide([a_draft("note")], **WHO)
        raw = place.raw()
        raw.autocommit = False
        raw.cursor().execute(
            "insert into review_decisions (id, subject, previous, action, reason, reviewer, at, facts, game, game_id, challenge, day)"
            " select 2, repeat('f', 64), 0, 'note', 'outside', 'other program', at, facts, game, game_id, challenge, day"
            " from review_decisions"
        )
        made = []
        thread = threading.Thread(target=lambda: made.extend(store.decide([a_draft("clear", seen=1)], **WHO)))
        thread.start()
        thread.join(1)
        assert thread.is_alive() and made == []
        raw.commit()
        raw.close()
        thread.join(30)
        assert [(one.id, one.previous) for one in made] == [(3, 1)]


def test_the_first_two_at_once_make_the_tables_once(place):
    answers = place.at_once(
        lambda store: store.decide([a_draft(game_id="a")], reviewer="ana", reason="why"),
        lambda store: store.decide([a_draft(game_id="b")], reviewer="ben", reason="why"),
    )
    with place.open() as store:
        assert {one.reviewer for one in store.decisions()} == {"ana", "ben"}, answers


def test_who_may_only_read_reads_and_is_told_in_one_sentence(place, postgresql):
    """A dashboard without the right to decide, and one without any."""
    with place.open() as store:
        made = store.decide([a_draft()], **WHO)
    name = place.url.rpartition("/")[2]
    execute(place, f"create role reader_{name} login password 'reading-word'")
    url = f"postgresql://reader_{name}:reading-word@127.0.0.1:{postgresql.port}/{name}"
    with open_reviews(place.lake, url) as store:
        with pytest.raises(InputError, match="permission denied") as error:
            store.decisions()
        one_sentence(error)
        execute(place, f"grant select on review_decisions, review_aliases to reader_{name}")
        assert store.decisions() == made
        with pytest.raises(InputError, match="permission denied") as error:
            store.decide([a_draft("note", seen=1)], **WHO)
        assert "reading-word" not in one_sentence(error)
        execute(place, f"grant insert on review_decisions to reader_{name}")
        assert store.decide([a_draft("note", seen=1)], **WHO)[0].id == 2, "no more rights are needed to decide"


def test_a_server_that_is_away_is_one_sentence(place):
    (port,) = free_ports(1)
    url = f"postgresql://replay:secret-word@127.0.0.1:{port}/reviews"
    with open_reviews(place.lake, url) as store:
        for call in (store.decisions, store.last_id, lambda: store.decide([a_draft()], **WHO), lambda: store.rename([("a", "b")])):
            with pytest.raises(InputError, match=f"postgresql://127.0.0.1:{port}/reviews: the decisions cannot be") as error:
                call()
            assert "secret-word" not in one_sentence(error) and "check that the database runs" in str(error.value)


@pytest.mark.parametrize("part", ["password", "database", "user"])
def test_a_url_that_lets_nobody_in_does_not_give_its_password_away(place, part):
    secret = password_of(place.url)
    url = place.url.replace(secret, "secret-word") if part == "password" else place.url
    url = f"{url}-none" if part == "database" else url.replace("//replay:", "//nobody:") if part == "user" else url
    with open_reviews(place.lake, url) as store, pytest.raises(InputError) as error:
        store.decisions()
    text = one_sentence(error)
    assert secret not in text and "secret-word" not in text
    assert secret not in repr(error.value.__cause__)


def test_a_password_that_the_server_repeats_is_left_out(place):
    """Were it the name of the user too, say, it would stand in the server's own words."""
    url = place.url.replace(f"replay:{password_of(place.url)}", "same-word:same-word")
    with open_reviews(place.lake, url) as store, pytest.raises(InputError, match=r"\*\*\*") as error:
        store.decisions()
    assert "same-word" not in one_sentence(error)


def test_a_server_that_stops_answering_is_not_waited_for_without_end(place, monkeypatch):
    """Somebody holds the lock of those who decide: readers go on, a decision is refused in the end."""
    monkeypatch.setattr("replay.reviews.tables.WAIT_SECONDS", 1)
    with place.open() as store:
        store.decide([a_draft()], **WHO)
        raw = place.raw()
        raw.autocommit = False
        raw.cursor().execute("select pg_advisory_xact_lock(%s)", [int.from_bytes(b"review", "big")])
        try:
            assert store.last_id() == 1
            with pytest.raises(InputError, match="lock timeout") as error:
                store.decide([a_draft("note", seen=1)], **WHO)
            one_sentence(error)
        finally:
            raw.close()
        assert store.decide([a_draft("note", seen=1)], **WHO)[0].id == 2


def test_without_the_driver_it_says_what_to_install(place, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "psycopg2", None)
        with place.open() as store, pytest.raises(UsageError, match=r"install nightly-replay\[postgres\]") as error:
            store.decisions()
    one_sentence(error)
