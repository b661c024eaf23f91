"""Decisions are kept for ever and found again, in SQLite and PostgreSQL alike (C8, D8, D9)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from replay.errors import DecidedMeanwhile, UsageError
from replay.reviews.drafts import LONGEST_REASON, LONGEST_REVIEWER, Draft
from replay.reviews.games import draft, undo_draft
from replay.reviews.model import review_of, subject_of
from tests.replay.reviews.support import DAY, ODD_TEXTS, WHO, a_draft, one_sentence, verdict_row

# --- Reading and writing -------------------------------------------------------------------------------------------------


def test_looking_makes_nothing(place):
    with place.open() as store:
        assert (store.decisions(), store.decisions(["x"]), store.decisions([]), store.last_id(), store.count()) == ([], [], [], 0, 0)
        with pytest.raises(UsageError, match="there is no decision 1"):
            store.decision(1)
        assert store.decide([], **WHO) == []
        assert store.rename([("a", "b")]) == 0
    assert list(place.lake.root.iterdir()) == []
    if place.url is not None:
        with place.raw().cursor() as cursor:
            cursor.execute("select count(*) from information_schema.tables where table_name like 'review%'")
            assert cursor.fetchone() == (0,)


def test_a_decision_comes_back_as_it_was_taken(place):
    row = verdict_row(suspicions=["unfinished"])
    at = datetime(2026, 11, 1, 9, 30, 0, 123456, timezone(timedelta(hours=5)))
    with place.open() as store:
        (made,) = store.decide([draft("clear", row, [])], reviewer=" ana ", reason=" two\r\ndevices ", at=at)
        assert store.decisions() == [made] == store.decisions([made.subject]) == store.decisions(game_id="g")
        assert (store.decision(1), store.last_id(), store.count()) == (made, 1, 1)
    assert made.subject == subject_of(row)
    assert (made.id, made.action, made.reviewer, made.reason) == (1, "clear", "ana", "two\ndevices")
    assert (made.previous, made.undoes, made.batch, made.day) == (0, None, None, DAY)
    assert made.at == at and made.at.tzinfo is UTC
    assert [json.loads(fact) for fact in made.facts] == [
        {"reason": "score_mismatch", "claimed": 900, "found": 640}, {"suspicion": "unfinished"},
    ]  # fmt: skip
    assert made.as_json()["at"] == "2026-11-01T04:30:00.123456Z"
    assert json.loads(json.dumps(made.as_json()))["facts"][1] == {"suspicion": "unfinished"}


def test_a_time_is_now_unless_it_is_given(place):
    before = datetime.now(UTC)
    with place.open() as store:
        (made,) = store.decide([a_draft()], **WHO)
        assert before <= store.decision(1).at <= datetime.now(UTC)
        assert store.decision(1).at == made.at


def test_texts_of_players_come_back_exactly(place):
    """D8: whatever stands in an id, a NUL or a quote, is a text like any other."""
    rows = [verdict_row(text, challenge=text, game=text or "g", player_id=text, reasons=[
        {"code": "unknown_rules", "claimed": text, "found": "x", "move": None}]) for text in ODD_TEXTS]  # fmt: skip
    with place.open() as store:
        made = store.decide([draft("uphold", row, []) for row in rows], **WHO)
        assert store.decisions() == made
        for row, one in zip(rows, made, strict=True):
            assert (one.game_id, one.challenge, one.game) == (row["game_id"], row["challenge"], row["game"]), repr(row["game_id"])
            assert json.loads(one.facts[0])["claimed"] == row["game_id"]
            assert store.decisions(game_id=row["game_id"]) == [one], repr(row["game_id"])


def test_pages_of_decisions(place):
    with place.open() as store:
        made = store.decide([a_draft(game_id=f"g{n}") for n in range(7)], **WHO)
        assert store.decisions(limit=3, newest_first=True) == made[:3:-1]
        assert store.decisions(limit=3, offset=5, newest_first=True) == made[1::-1]
        assert store.decisions(limit=2) == made[:2]
        assert store.decisions(offset=5) == made[5:]
        assert store.decisions(limit=0) == []
        some = [one.subject for one in made[2:5]]
        assert store.decisions(some, newest_first=True, limit=2) == [made[4], made[3]]
        assert store.decisions(some, game_id="g3") == [made[3]]
        assert store.decisions([*some, "unknown"] * 400) == made[2:5], "more names than one statement takes"


def test_many_decisions_at_once_share_a_batch_and_follow_each_other(place):
    items = [a_draft(game_id=f"g{n}") for n in range(1200)]
    with place.open() as store:
        store.decide([a_draft("note", "g7")], **WHO)
        with pytest.raises(DecidedMeanwhile, match="'g7'"):
            store.decide(items, **WHO)
        assert store.last_id() == 1, "all or none"
        items[7] = replace(items[7], seen=1)
        made = store.decide(items, **WHO)
        assert [one.id for one in made] == list(range(2, 1202))
        assert [one.game_id for one in made] == [f"g{n}" for n in range(1200)]
        assert {one.batch for one in made} == {"2"}, "named after the first of them"
        assert [one.previous for one in made] == [1 if n == 7 else 0 for n in range(1200)]
        assert len(store.decisions([one.subject for one in made])) == 1201


def test_the_same_upload_in_two_files_is_one_decision(place):
    """A batch may meet it twice; what is known against either speaks against both."""
    twice = [a_draft(source_file="a.ndjson"), a_draft(source_file="b.ndjson", suspicions=["unfinished"])]
    with place.open() as store:
        made = store.decide(twice, **WHO)
        assert len(made) == 1 and len(made[0].facts) == 2 and made[0].batch is None
        with pytest.raises(UsageError, match="two different decisions"):
            store.decide([a_draft("clear", seen=1), a_draft("uphold", seen=1)], **WHO)
        assert store.last_id() == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reason": ""}, "reason is empty"), ({"reason": " \n\t "}, "reason is empty"), ({"reviewer": "  "}, "reviewer is empty"),
        ({"reason": "x" * (LONGEST_REASON + 1)}, "reason has 2,001 characters"),
        ({"reviewer": "x" * (LONGEST_REVIEWER + 1)}, "reviewer has 201 characters"),
        ({"reason": "a\0b"}, r"U\+0000"), ({"reason": "a\x1b[2Jb"}, r"U\+001B"), ({"reason": "a\udcffb"}, r"U\+DCFF"),
        ({"reviewer": "a\nb"}, r"U\+000A"), ({"reviewer": "\ud800"}, r"U\+D800"),
    ],
)  # fmt: skip
def test_words_that_are_refused(place, changes, said):
    with place.open() as store, pytest.raises(UsageError, match=said) as error:
        store.decide([a_draft()], **(WHO | changes))
    one_sentence(error).encode("utf-8")


def test_words_of_the_full_length_are_kept(place):
    words = {"reason": "é\n\t" + "🎲" * (LONGEST_REASON - 4) + ".", "reviewer": "Zoë O'Brien " + "x" * (LONGEST_REVIEWER - 12)}
    with place.open() as store:
        (made,) = store.decide([a_draft()], **words)
        found = store.decision(1)
    assert (found.reason, found.reviewer) == (words["reason"], words["reviewer"]) == (made.reason, made.reviewer)


@pytest.mark.parametrize("item", [Draft("delete", verdict_row(), (), 0), a_draft("undo"), a_draft("clear", undoes=1)])
def test_what_is_no_decision_is_refused(place, item):
    with place.open() as store, pytest.raises(UsageError):
        store.decide([item], **WHO)


# --- Undoing -------------------------------------------------------------------------------------------------------------


def test_undo_and_undo_of_undo(place):
    row = verdict_row()
    with place.open() as store:

        def state():
            return review_of(store.decisions([subject_of(row)]), a_draft().facts).state

        found = [state()]
        for action, undoes in (("clear", None), ("uphold", None), ("undo", 2), ("undo", 3), ("undo", 4), ("undo", 1)):
            store.decide([draft(action, row, store.decisions(), undoes)], **WHO)
            found.append(state())
        assert found == ["open", "cleared", "upheld", "cleared", "upheld", "cleared", "open"]
        assert [one.action for one in store.decisions()] == ["clear", "uphold", "undo", "undo", "undo", "undo"], "all are kept"


def test_what_cannot_be_undone(place):
    with place.open() as store:
        store.decide([a_draft(game_id="g"), a_draft(game_id="other")], **WHO)
        store.decide([a_draft("undo", "g", seen=1, undoes=1)], reviewer="ben", reason="mistake")
        with pytest.raises(UsageError, match=r"decision 1 was undone already, by ben at .*; undo decision 3") as error:
            store.decide([a_draft("undo", "g", seen=3, undoes=1)], **WHO)
        one_sentence(error)
        for wrong in (2, 99, -1, 2**70):
            with pytest.raises(UsageError, match=f"decision {wrong} is none on this upload"):
                store.decide([a_draft("undo", "g", seen=3, undoes=wrong)], **WHO)
        assert store.last_id() == 3


def test_a_game_that_is_gone_can_be_undone(place):
    with place.open() as store:
        (made,) = store.decide([a_draft()], **WHO)
        (undone,) = store.decide([undo_draft(made, [made])], **WHO)
        assert (undone.undoes, undone.subject, undone.game_id, undone.day) == (1, made.subject, "g", DAY)
        with pytest.raises(UsageError, match="undone already"):
            undo_draft(made, [made, undone])


# --- Kept for ever -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE review_decisions SET action = 'clear'", "UPDATE review_decisions SET reason = 'x' WHERE id = 1",
        "DELETE FROM review_decisions", "DELETE FROM review_decisions WHERE id = 1",
        "UPDATE review_aliases SET new_subject = 'x'", "DELETE FROM review_aliases",
        "INSERT INTO review_decisions SELECT * FROM review_decisions WHERE id = 1",
        "INSERT INTO review_decisions (id, subject, previous, action, reason, reviewer, at, facts, game, game_id, challenge, day)"
        " SELECT 9, subject, previous, 'clear', reason, reviewer, at, facts, game, game_id, challenge, day FROM review_decisions"
        " WHERE id = 2",
        "INSERT INTO review_decisions (id, subject, previous, action, reason, reviewer, at, facts, game, game_id, challenge, day)"
        " SELECT 9, subject, 0, 'forget', reason, reviewer, at, facts, game, game_id, challenge, day FROM review_decisions"
        " WHERE id = 2",
    ],
)  # fmt: skip
def test_the_database_itself_refuses_to_lose_a_decision(place, statement):
    with place.open() as store:
        made = store.decide([a_draft()], **WHO) + store.decide([a_draft("uphold", seen=1)], **WHO)
        store.rename([("a", "b")])
        place.refuses(statement, "kept for ever|constraint")
        assert store.decisions() == made
        assert store.decisions(["b"]) == []


# --- Anonymised players --------------------------------------------------------------------------------------------------


def test_decisions_follow_a_player_to_the_new_id(place):
    """D9: under the new subject from then on, twice over, and back again; who still looks at the old page finds them too."""
    rows = [verdict_row(player_id=name) for name in ("p", "q", "r")]
    p, q, r = map(subject_of, rows)
    with place.open() as store:
        (first,) = store.decide([draft("clear", rows[0], [])], **WHO)
        store.decide([a_draft(game_id="other")], **WHO)
        assert store.rename([(p, q)]) == 1
        assert store.rename([(p, q)]) == 0, "a night that runs again has nothing new to say"
        assert store.decisions([q]) == [replace(first, subject=q)]
        assert store.decisions([p]) == [first], "under the name that it was asked for"
        assert store.decisions()[0] == replace(first, subject=q) == store.decision(1)
        assert store.decisions([p, q]) == [replace(first, subject=q)]
        assert store.rename([(q, r)]) == 1
        second = store.decide([draft("uphold", rows[2], store.decisions([r]))], **WHO)
        assert (second[0].subject, second[0].previous) == (r, 1)
        assert [one.subject for one in store.decisions(game_id="g")] == [r, r]
        with pytest.raises(DecidedMeanwhile, match="ana upheld it"):
            store.decide([draft("clear", rows[0], [first])], **WHO)
        late = store.decide([draft("clear", rows[0], store.decisions([p]))], **WHO)
        assert late[0].subject == r and late[0].previous == second[0].id
        assert store.rename([(r, p)]) == 1
        assert [one.subject for one in store.decisions([p])] == [p] * 3
        assert {one.subject for one in store.decisions()} == {p, subject_of(verdict_row("other"))}


def test_two_anonymised_players_stay_two(place):
    """D9: they are never merged into one."""
    rows = [verdict_row("x", player_id="p"), verdict_row("y", player_id="q")]
    new = [verdict_row("x", player_id="anonymous-1"), verdict_row("y", player_id="anonymous-2")]
    with place.open() as store:
        made = store.decide([draft("clear", rows[0], []), draft("uphold", rows[1], [])], **WHO)
        assert store.rename(zip(map(subject_of, rows), map(subject_of, new), strict=True)) == 2
        for row, decision in zip(new, made, strict=True):
            assert store.decisions([subject_of(row)]) == [replace(decision, subject=subject_of(row))]


def test_an_old_id_stands_nowhere_in_the_database(place):
    """D9: a player's id is in no column, so nothing of it is left when they are anonymised."""
    secret = "Wilhelmina-Example-1977"
    with place.open() as store:
        store.decide([draft("clear", verdict_row(player_id=secret), [])], **WHO)
        store.rename([(subject_of(verdict_row(player_id=secret)), subject_of(verdict_row(player_id="new")))])
        raw = place.raw()
        try:
            cursor = raw.cursor()
            for table in ("review_decisions", "review_aliases"):
                cursor.execute(f"select * from {table}")
                rows = cursor.fetchall()
                assert rows and secret not in repr(rows)
        finally:
            raw.close()
    if place.url is None:
        assert secret.encode() not in (place.lake.root / "reviews.sqlite").read_bytes()
