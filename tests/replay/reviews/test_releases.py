"""Releases of withheld flags are kept for ever and found again, in SQLite and PostgreSQL alike (B6)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest

from replay.errors import UsageError
from replay.reviews.incidents import digest_of, upload_digest
from replay.reviews.model import OPEN, Review, counts
from replay.reviews.releases import (
    Group,
    Release,
    as_released,
    effective_verdict,
    group_of,
    group_words,
    in_force,
    lapsed_by_group,
    standing_by_group,
    standing_releases,
    waiting_groups,
)
from replay.reviews.store import ReviewStore
from tests.replay.reviews.support import DAY, ODD_TEXTS, WHO, a_draft, decided, one_sentence, verdict_row

GROUP = Group(DAY, "blocks", "android", "3.2.0", "1.1.0")
AT = datetime(2026, 11, 1, 9, tzinfo=UTC)
A, B = "a" * 64, "b" * 64


def tables_of(place) -> set[str]:
    query = "select tablename from pg_tables" if place.url else "select name from sqlite_master where type = 'table'"
    raw = place.raw()
    try:
        cursor = raw.cursor()
        cursor.execute(query)
        return {name for (name,) in cursor.fetchall() if name.startswith("review_")}
    finally:
        raw.close()


def made_before_releases(place) -> None:
    """A database as it was made when there were decisions only."""
    made_by(place, "before_releases")


def made_by(place, name: str) -> None:
    """A database as a script in golden/ made it."""
    script = (Path(__file__).parent / "golden" / f"{name}_{place.kind}.sql").read_text("utf-8")
    raw = place.raw()
    try:
        raw.executescript(script) if place.url is None else raw.cursor().execute(script)
    finally:
        raw.close()


# --- In the database -------------------------------------------------------------------------------------------------------


def test_a_release_comes_back_as_it_was_given(place):
    at = datetime(2026, 11, 1, 9, 30, 0, 123456, timezone(timedelta(hours=5)))
    with place.open() as store:
        assert store.releases() == []
        made = store.release(GROUP, reviewer=" ana ", reason=" cheats, all\r\nof them ", at=at)
        assert store.releases() == [made]
        assert store.decisions() == [], "a release is no decision about a game"
    assert (made.id, made.action, made.undoes, made.group) == (1, "release", None, GROUP)
    assert (made.reviewer, made.reason) == ("ana", "cheats, all\nof them")
    assert made.at == at and made.at.tzinfo is UTC
    assert json.loads(json.dumps(made.as_json())) == {
        "id": 1, "action": "release", "undoes": None, "reviewer": "ana", "reason": "cheats, all\nof them",
        "at": "2026-11-01T04:30:00.123456Z", "day": "2026-10-31", "game": "blocks", "platform": "android",
        "app_version": "3.2.0", "rules": "1.1.0", "about": None,
    }  # fmt: skip


def test_a_group_is_found_again_whatever_its_texts_are(place):
    """App version, platform and rules are uploaded: whatever stands in them is a text."""
    groups = [Group(DAY, "blocks", text, text, text) for text in ODD_TEXTS]
    with place.open() as store:
        made = [store.release(group, **WHO) for group in groups]
        assert [one.id for one in made] == list(range(1, len(groups) + 1))
        assert store.releases() == made
        assert standing_releases(store.releases()) == set(groups)


def test_an_undo_withholds_again_and_can_be_undone(place):
    with place.open() as store:
        first = store.release(GROUP, **WHO)
        undo = store.undo_release(1, reviewer="ben", reason="it is the app after all")
        assert (undo.id, undo.action, undo.undoes, undo.group) == (2, "undo", 1, GROUP)
        assert standing_releases(store.releases()) == frozenset()
        again = store.release(GROUP, **WHO)
        assert standing_by_group(store.releases()) == {GROUP: again}
        store.undo_release(2, **WHO)
        store.undo_release(3, **WHO)
        assert standing_by_group(store.releases()) == {GROUP: first}, "the first stands again"


def test_numbers_are_a_sequence_of_their_own(place):
    with place.open() as store:
        store.decide([a_draft(game_id=f"g{n}") for n in range(5)], **WHO)
        assert store.release(GROUP, **WHO).id == 1
        assert (store.last_id(), store.count()) == (5, 5)
        assert store.decide([a_draft("note", seen=0, game_id="h")], **WHO)[0].id == 6


def test_who_releases_twice_is_told_who_did(place):
    with place.open() as store:
        store.release(GROUP, reviewer="ana", reason="looked at it", at=AT)
        with pytest.raises(UsageError, match=r"released already, by ana at 2026-11-01 09:00:00 UTC \(release 1: looked at it\)") as told:
            store.release(GROUP, reviewer="ben", reason="me too")
        assert "blocks, android 3.2.0, rules 1.1.0" in one_sentence(told)
        for other in (replace(GROUP, day=date(2026, 11, 1)), *(replace(GROUP, **{name: "x"}) for name in (
            "game", "platform", "app_version", "rules"))):  # fmt: skip
            store.release(other, **WHO)
        assert len(standing_releases(store.releases())) == 6


def test_what_cannot_be_undone(place):
    with place.open() as store:
        for number in (0, -1, 1, 2**63, 2**70):
            with pytest.raises(UsageError, match=f"there is no release {number}"):
                store.undo_release(number, **WHO)
        assert store.releases() == []
        store.release(GROUP, **WHO)
        store.undo_release(1, reviewer="ben", reason="no", at=AT)
        with pytest.raises(UsageError, match=r"release 1: was undone already, by ben at 2026-11-01 09:00:00 UTC; undo release 2") as told:
            store.undo_release(1, **WHO)
        one_sentence(told)
        assert len(store.releases()) == 2


@pytest.mark.parametrize(("changes", "said"), [({"reason": " "}, "reason is empty"), ({"reviewer": "a\nb"}, r"U\+000A")])
def test_words_are_held_to_what_decisions_are(place, changes, said):
    with place.open() as store:
        with pytest.raises(UsageError, match=said):
            store.release(GROUP, **(WHO | changes))
        store.release(GROUP, **WHO)
        with pytest.raises(UsageError, match=said):
            store.undo_release(1, **(WHO | changes))
        assert len(store.releases()) == 1


_COLUMNS = "action, undoes, day, game, platform, app_version, rules, reason, reviewer, at"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE review_releases SET action = 'undo', undoes = 1", "UPDATE review_releases SET app_version = 'x' WHERE id = 1",
        "DELETE FROM review_releases", "DELETE FROM review_releases WHERE id = 1",
        "INSERT INTO review_releases SELECT * FROM review_releases WHERE id = 1",
        f"INSERT INTO review_releases (id, {_COLUMNS}) SELECT 9, 'forget', {_COLUMNS.partition(', ')[2]} FROM review_releases"
        " WHERE id = 1",
        f"INSERT INTO review_releases (id, {_COLUMNS}) SELECT 9, 'undo', {_COLUMNS.partition(', ')[2]} FROM review_releases"
        " WHERE id = 1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("old", [False, True])
def test_the_database_itself_refuses_to_lose_a_release(place, statement, old):
    if old:
        made_before_releases(place)
    with place.open() as store:
        made = [store.release(GROUP, **WHO), store.undo_release(1, **WHO)]
        place.refuses(statement, "kept for ever|constraint")
        assert store.releases() == made


def test_a_row_that_would_replace_another_is_refused(place):
    statement = "INSERT OR REPLACE INTO review_releases SELECT * FROM review_releases"
    if place.url is not None:
        statement = "TRUNCATE review_releases"
    with place.open() as store:
        made = store.release(GROUP, **WHO)
        place.refuses(statement, "kept for ever")
        assert store.releases() == [made]


def test_a_database_made_before_gets_the_table_when_it_is_first_needed(place):
    made_before_releases(place)
    with place.open() as store:
        assert store.releases() == []
        (decision,) = store.decide([a_draft()], **WHO)
        with pytest.raises(UsageError, match="there is no release 1"):
            store.undo_release(1, **WHO)
        assert tables_of(place) == {"review_decisions", "review_aliases"}, "to look and to decide needs no new table"
        made = store.release(GROUP, **WHO)
        assert tables_of(place) == {"review_decisions", "review_aliases", "review_releases"}
        assert (store.releases(), store.decisions()) == ([made], [decision])


def test_of_two_at_once_one_releases_and_the_other_is_told(place):
    answers = place.at_once(
        lambda store: store.release(GROUP, reviewer="ana", reason="x"), lambda store: store.release(GROUP, reviewer="ben", reason="x")
    )
    with place.open() as store:
        (made,) = store.releases()
    (told,) = (answer for answer in answers if isinstance(answer, UsageError))
    assert made in answers and f"released already, by {made.reviewer} at" in str(told), answers


# --- What a release is about -------------------------------------------------------------------------------------------------


def columns_of(place) -> list[str]:
    raw = place.raw()
    try:
        cursor = raw.cursor()
        cursor.execute("select * from review_releases where 1 = 0")
        return [column[0] for column in cursor.description]
    finally:
        raw.close()


def test_a_release_keeps_what_it_is_about(place):
    with place.open() as store:
        made = [store.release(GROUP, **WHO, about=A), store.undo_release(1, **WHO), store.release(GROUP, **WHO)]
        assert [one.about for one in made] == [A, None, None]
        assert store.releases() == made
    assert [one.as_json()["about"] for one in made] == [A, None, None]


def test_of_other_flags_the_group_can_be_released_again_and_of_the_same_it_cannot(place):
    with place.open() as store:
        first = store.release(GROUP, **WHO, about=A)
        with pytest.raises(UsageError, match=r"released already, by ana at .* \(release 1: two devices\)"):
            store.release(GROUP, reviewer="ben", reason="me too", about=A)
        second = store.release(GROUP, reviewer="ben", reason="these too", about=B)
        known = store.releases()
        assert known == [first, second]
        assert standing_by_group(in_force(known, {GROUP: A})) == {GROUP: first}
        assert standing_by_group(in_force(known, {GROUP: B})) == {GROUP: second}
        assert lapsed_by_group(known, {GROUP: B}) == {GROUP: first}
        for held in ({}, {GROUP: None}, {GROUP: "c" * 64}):
            assert standing_by_group(in_force(known, held)) == {}
            assert lapsed_by_group(known, held) == {GROUP: second}, "the newest is told"
        undo = store.undo_release(2, **WHO)
        assert standing_by_group(in_force(store.releases(), {GROUP: B})) == {}
        assert lapsed_by_group(store.releases(), {GROUP: "c" * 64}) == {GROUP: first}, "one that was undone has not lapsed"
        store.undo_release(undo.id, **WHO)
        assert standing_by_group(in_force(store.releases(), {GROUP: B})) == {GROUP: second}
        store.undo_release(1, **WHO)
        assert lapsed_by_group(store.releases(), {GROUP: B}) == {}


def test_a_release_that_does_not_say_covers_whatever_is_held_back(place):
    with place.open() as store:
        made = store.release(GROUP, **WHO)
        for held in ({}, {GROUP: None}, {GROUP: A}):
            assert standing_by_group(in_force([made], held)) == {GROUP: made}
            assert lapsed_by_group([made], held) == {}
        with pytest.raises(UsageError, match="released already"):
            store.release(GROUP, **WHO, about=A)


def test_a_database_made_before_gets_the_column_when_a_release_first_needs_it(place):
    made_by(place, "before_about")
    with place.open() as store:
        before = store.releases()
        assert [(one.id, one.action, one.undoes, one.reviewer, one.about) for one in before] == [
            (1, "release", None, "ana", None), (2, "undo", 1, "ben", None), (3, "release", None, "ana", None),
        ]  # fmt: skip
        assert before[0].at == AT
        assert {one.group for one in before} == {replace(GROUP, rules="1.2.0")}
        undo = store.undo_release(3, **WHO)
        store.decide([a_draft()], **WHO)
        assert "about" not in columns_of(place), "to look, to decide and to undo needs no new column"
        made = store.release(before[0].group, **WHO, about=A)
        assert columns_of(place)[-1] == "about"
        assert store.releases() == [*before, undo, made]
        assert [one.about for one in store.releases()] == [None, None, None, None, A]
        other = store.release(GROUP, **WHO, about=B)
        assert store.releases()[-1] == other and columns_of(place).count("about") == 1
        place.refuses("UPDATE review_releases SET about = 'x' WHERE id = 5", "kept for ever")
        place.refuses("DELETE FROM review_releases WHERE id = 1", "kept for ever")


def test_of_two_at_once_that_need_the_column_both_are_kept(place):
    made_by(place, "before_about")
    answers = place.at_once(*(partial(ReviewStore.release, group=group, **WHO, about=A) for group in (GROUP, replace(GROUP, rules="x"))))
    with place.open() as store:
        assert sorted(answers, key=lambda one: one.id) == store.releases()[3:], answers


def test_the_table_is_the_same_whenever_it_was_made(place):
    with place.open() as store:
        store.release(GROUP, **WHO, about=A)
        assert store.releases()[0].about == A
    new = set(columns_of(place))
    assert new == {"id", *_COLUMNS.split(", "), "about"}


def held_row(**changes):
    return verdict_row(**{"verdict": "withheld"} | changes)


def test_the_digest_of_what_is_held_back_is_of_the_uploads_and_their_flags_alone():
    rows = [held_row(game_id=f"g{n}", log_hash_low=n) for n in range(5)]
    expected = digest_of(map(upload_digest, rows))
    assert len(expected) == 64 and expected == expected.lower()
    assert digest_of(map(upload_digest, reversed(rows))) == expected
    same = {
        "source_file": "b.ndjson", "source_line": 99, "counted": True, "suspicions": ["copied_log"], "player_id": "new-id",
        "attempt_key": 2, "verdict": "flagged",
    }  # fmt: skip
    assert digest_of(upload_digest(row | same) for row in rows) == expected
    reason = json.loads(rows[0]["reasons"])[0]
    earlier = json.dumps([reason | {"move": 1}])
    assert digest_of(upload_digest(row | {"reasons": earlier}) for row in rows) == expected, "how early is no finding"
    others = [
        rows[:-1], [*rows, held_row(game_id="g9")], [*rows, rows[0]], [rows[0] | {"game_id": "x"}, *rows[1:]],
        [rows[0] | {"score": 901}, *rows[1:]], [rows[0] | {"log_hash_high": 1}, *rows[1:]],
        [rows[0] | {"reasons": json.dumps([reason | {"found": 641}])}, *rows[1:]],
        [rows[0] | {"reasons": json.dumps([reason, {"code": "truncated_log", "claimed": None, "found": "", "move": 1}])}, *rows[1:]],
        [],
    ]  # fmt: skip
    digests = {digest_of(map(upload_digest, found)) for found in others}
    assert len(digests) == len(others) and expected not in digests


# --- What follows from them -------------------------------------------------------------------------------------------------


def withheld(**changes):
    fields = {"verdict": "withheld", "platform": "android", "app_version": "3.2.0", "rules": "1.1.0"}
    return verdict_row(**(fields | changes))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (withheld(), "flagged"), (withheld(counted=True), "flagged"), (withheld(day=date(2026, 11, 1)), "withheld"),
        (withheld(game="tetcolor"), "withheld"), (withheld(platform="ios"), "withheld"),
        (withheld(app_version="3.2"), "withheld"), (withheld(rules="1.2.0"), "withheld"),
        (withheld(verdict="flagged"), "flagged"), (withheld(verdict="verified"), "verified"),
        (withheld(verdict="copy"), "copy"),
    ],
)  # fmt: skip
def test_a_release_is_about_the_withheld_games_of_its_group_alone(row, expected):
    released = standing_releases([Release(1, "release", GROUP, "x", "ana", AT)])
    assert effective_verdict(row, released) == expected
    assert effective_verdict(row, frozenset()) == row["verdict"]
    assert as_released(row, released) == row | ({"verdict": "flagged", "counted": False} if row["verdict"] != expected else {})
    assert group_of(withheld()) == GROUP


FACTS = ('{"claimed": 900, "found": 640, "reason": "score_mismatch"}',)
CLEARED = Review("cleared", decided(1, "clear", FACTS))
RETURNED = Review("returned", decided(1, "clear"), FACTS)


@pytest.mark.parametrize(
    ("counted", "released", "review", "expected"),
    [
        (True, False, OPEN, True), (False, False, OPEN, False), (True, True, OPEN, False), (False, True, OPEN, False),
        (True, False, Review("upheld", decided(1, "uphold")), False), (True, False, CLEARED, True), (False, False, CLEARED, True),
        (True, True, CLEARED, True), (False, True, CLEARED, True),
        # A reason that is held back is held against nobody: it does not end a clearing either.
        (False, False, RETURNED, True), (True, False, RETURNED, True), (False, True, RETURNED, False), (True, True, RETURNED, False),
    ],
)  # fmt: skip
def test_which_withheld_games_count(counted, released, review, expected):
    row = as_released(withheld(counted=counted), {GROUP} if released else ())
    assert counts(row, review) is expected


@pytest.mark.parametrize("changes", [{"score": -1}, {"score": 10**12 + 1}, {"attempt_key": 2}])
def test_a_clearing_lets_no_withheld_game_count_that_never_could(changes):
    assert counts(withheld(**changes), CLEARED) is False


def test_groups_that_standings_do_not_know_yet():
    other = replace(GROUP, rules="2")
    log = [
        Release(1, "release", GROUP, "x", "ana", AT), Release(2, "release", other, "x", "ana", AT),
        Release(3, "undo", GROUP, "x", "ana", AT, undoes=1), Release(4, "undo", GROUP, "x", "ana", AT, undoes=3),
    ]  # fmt: skip
    assert [waiting_groups(log, through) for through in range(6)] == [2, 1, 0, 1, 0, 0]
    assert waiting_groups([], 0) == 0


def test_a_group_in_words_is_harmless():
    assert group_words(GROUP) == "blocks, android 3.2.0, rules 1.1.0"
    words = group_words(Group(DAY, "blocks", "\x1b[2J", "\u202e<b>\n", "x"))
    assert not set("\x1b\u202e\n") & set(words), ascii(words)
