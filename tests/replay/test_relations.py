"""Copies, conflicts, second logs and copied logs: the same answer in every order of files and days (B7, C1, E2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import duckdb
import pytest

from replay import publish
from replay.record import Record, format_time
from replay.relations import (
    RELATIONAL_REASONS,
    RELATIONAL_SUSPICIONS,
    Relation,
    apply_relation,
    resolve,
)
from replay.verdict import REASON_CODES
from replay.verify import Verifier
from tests.replay.build import batch_of, rows_of
from tests.replay.games import BEST, GAME, RULEBOOK, SCORE, TABLE, TOKENS, play, record
from tests.replay.test_relations_twin import DAYS, SCHEMA, Place, resolve_apart

VERIFIER = Verifier(RULEBOOK, TABLE)
SECOND = 1_000_000


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        opened.execute("set TimeZone = 'UTC'")
        yield opened


# --- Real games, in every order of files and days ---------------------------------------------------------------------

HONEST = record(TOKENS, GAME)
OTHER_TOKENS, OTHER = play(2, 60)
ANOTHER = record(OTHER_TOKENS, OTHER)
SHORT_TOKENS, SHORT_GAME = play(1, 29)
SHORT = record(SHORT_TOKENS, SHORT_GAME)


def game(base: Record, seconds: int, **changes: Any) -> Record:
    """A game uploaded some seconds after its end."""
    return replace(base, uploaded_at=base.finished_at + seconds * SECOND, **changes)


def settle(
    con: duckdb.DuckDBPyConnection, records: Sequence[Record], layouts: Sequence[Sequence[Place]]
) -> list[list[dict[str, Any]]]:
    """For each layout the final verdict row of each record, had they landed at those places: verified alone, then related."""
    rows = rows_of(VERIFIER.verify(batch_of(list(records)), "x"))
    assert len(rows) == len(records)
    worlds = [
        [
            row | {"day": day, "source_file": file, "source_line": line}
            for row, (day, file, line) in zip(rows, layout, strict=True)
        ]
        for layout in layouts
    ]
    relations = resolve_apart(con, worlds)
    for layout, related in zip(layouts, relations, strict=True):
        assert set(related) <= set(layout)
    return [
        [row | apply_relation(row, related.get(place)) for row, place in zip(world, layout, strict=True)]
        for world, layout, related in zip(worlds, layouts, relations, strict=True)
    ]


def places_of(count: int) -> list[list[Place]]:
    """One file; a file each; days, files and lines mixed."""
    return [
        [(DAYS[0], "a", i + 1) for i in range(count)],
        [(DAYS[0], "abcdefgh"[i], 7) for i in range(count)],
        [(DAYS[i % 3], "ab"[i % 2], 10 - i) for i in range(count)],
    ]


def said(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row says in the end."""
    return row["verdict"], row["counted"], tuple(row["reason_codes"]), row["copy_of"], tuple(row["suspicions"])


def in_every_order(con: duckdb.DuckDBPyConnection, records: Sequence[Record]) -> list[dict[str, Any]]:
    """The rows of some games, after checking that no order of files, lines and days changes any of them.

    Uploads that are equal in everything may change their parts: the first of them stands, whichever it is.
    """
    settled = settle(con, records, [order for layout in places_of(len(records)) for order in permutations(layout)])
    outcomes = {
        tuple(sorted(repr((found, said(row), row["reasons"], row["evidence"])) for found, row in zip(records, rows, strict=True)))
        for rows in settled
    }
    assert len(outcomes) == 1
    return settled[0]


def verdicts(rows: list[dict[str, Any]]) -> list[str]:
    return [row["verdict"] for row in rows]


def codes(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [row["reason_codes"] for row in rows]


def copies(rows: list[dict[str, Any]]) -> list[str | None]:
    return [row["copy_of"] for row in rows]


def test_b7a_the_same_line_again(con: duckdb.DuckDBPyConnection) -> None:
    """B7 (a): twice in a file and again next day is one game, counted once; the copies name it."""
    rows = in_every_order(con, [HONEST, HONEST, HONEST])
    assert sorted(verdicts(rows)) == ["copy", "copy", "verified"]
    assert sum(row["counted"] for row in rows) == 1
    assert sorted(map(str, copies(rows))) == ["None", "g-1", "g-1"]
    orders = list(permutations([(DAYS[0], "b", 1), (DAYS[0], "b", 2), (DAYS[1], "a", 1)]))
    for order, settled in zip(orders, settle(con, [HONEST] * 3, orders), strict=True):
        assert dict(zip(order, settled, strict=True))[DAYS[0], "b", 1]["verdict"] == "verified"


def test_b7b_the_same_game_under_a_new_id_later(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(
        con, [game(HONEST, 9, game_id="a-later"), game(HONEST, 1, game_id="z-first"), game(HONEST, 5, game_id="m")]
    )
    assert copies(rows) == ["z-first", None, "z-first"]
    assert [row["counted"] for row in rows] == [False, True, False]


def test_b7c_one_id_with_two_logs_of_one_player(con: duckdb.DuckDBPyConnection) -> None:
    """The first uploaded stands; the second is in conflict and a second log of the attempt."""
    rows = in_every_order(con, [game(ANOTHER, 2), game(HONEST, 1)])
    assert codes(rows) == [["duplicate_attempt", "conflicting_upload"], []]
    assert verdicts(rows) == ["flagged", "verified"]
    first, second = json.loads(rows[0]["reasons"])
    assert first == {
        "code": "duplicate_attempt",
        "claimed": 1,
        "found": "another log of this attempt was uploaded before, as game g-1",
        "move": None,
    }
    when = format_time(HONEST.finished_at + SECOND)
    assert second == {
        "code": "conflicting_upload", "claimed": "g-1", "move": None,
        "found": f"2 different games of one player were uploaded under this id, the first at {when}",
    }  # fmt: skip


def test_b7d_one_attempt_with_two_logs(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(con, [game(ANOTHER, 2, game_id="a"), game(HONEST, 1, game_id="b")])
    assert codes(rows) == [["duplicate_attempt"], []]
    assert "as game b" in json.loads(rows[0]["reasons"])[0]["found"]
    assert [row["counted"] for row in rows] == [False, True]


def test_b7e_one_id_of_two_players(con: duckdb.DuckDBPyConnection) -> None:
    """Neither stands: nobody can say whose it is."""
    rows = in_every_order(con, [game(HONEST, 1, player_id="p"), game(ANOTHER, 2, player_id="q")])
    assert codes(rows) == [["conflicting_upload"], ["conflicting_upload"]]
    assert "2 different games of 2 players" in rows[0]["reasons"]
    same_log = in_every_order(con, [game(SHORT, 1, player_id="p"), game(SHORT, 2, player_id="q")])
    assert codes(same_log) == [["conflicting_upload"], ["conflicting_upload"]]


def spelled(board: str, zeros: int) -> str:
    """The same cells with zeros before each of its numbers."""
    return re.sub("([0-9]+)", "0" * zeros + r"\1", board)


def test_a_board_written_otherwise_makes_no_other_game(con: duckdb.DuckDBPyConnection) -> None:
    """Both claims come out, so one of them would count twice, or be held against its player as another game of its id."""
    boards = [spelled(HONEST.final_board, zeros) for zeros in range(3)]
    rows = in_every_order(con, [game(HONEST, i, game_id=f"g-{i}", final_board=board) for i, board in enumerate(boards)])
    assert copies(rows) == [None, "g-0", "g-0"]
    assert [row["counted"] for row in rows] == [True, False, False]
    rows = in_every_order(con, [game(HONEST, i, final_board=board) for i, board in enumerate(boards)])
    assert verdicts(rows) == ["verified", "copy", "copy"]
    # The same moment: nothing depends on where they lie either.
    rows = in_every_order(con, [game(HONEST, 1, game_id="g", final_board=board) for board in boards])
    assert sorted(verdicts(rows)) == ["copy", "copy", "verified"]
    # What comes too late is the same game too; claims that do not come out are compared to the letter.
    late = game(HONEST, 10**6, game_id="late", final_board=boards[1])
    assert verdicts(in_every_order(con, [game(HONEST, 1), late])) == ["verified", "copy"]
    wrong = [game(HONEST, i, game_id=f"w-{i}", score=SCORE + 1, final_board=board) for i, board in enumerate(boards)]
    again = game(HONEST, 9, game_id="w-9", score=SCORE + 1)
    assert verdicts(in_every_order(con, [game(HONEST, 0), *wrong[:2], again])) == ["verified", "flagged", "flagged", "copy"]


def test_white_space_in_the_log_makes_no_other_game(con: duckdb.DuckDBPyConnection) -> None:
    loose = [HONEST.moves, HONEST.moves.replace(" ", ""), HONEST.moves.replace(" ", "\t\r\n "), "\v\f " + HONEST.moves + " "]
    rows = in_every_order(con, [game(HONEST, i, game_id=f"g-{i}", moves=log) for i, log in enumerate(loose)])
    assert copies(rows) == [None, "g-0", "g-0", "g-0"]


def test_of_uploads_at_one_moment_the_smaller_id_stands(con: duckdb.DuckDBPyConnection) -> None:
    """Ids compare by bytes: capitals before small letters, letters before what is beyond ASCII."""
    ids = ["g-10", "g-9", "G-9", "\u00e9", ""]
    rows = in_every_order(con, [game(HONEST, 1, game_id=name) for name in ids])
    assert copies(rows) == ["", "", "", "", None]
    rows = in_every_order(con, [game(ANOTHER, 1, game_id="g-9"), game(HONEST, 1, game_id="g-10")])
    assert codes(rows) == [["duplicate_attempt"], []]
    rows = in_every_order(con, [game(ANOTHER, 1, game_id="z"), game(HONEST, 1, game_id="\u00e9")])
    assert codes(rows) == [[], ["duplicate_attempt"]]


def test_conflicts_at_one_moment_have_one_answer(con: duckdb.DuckDBPyConnection) -> None:
    """The same id, the same clock, different games: which one stands depends on what they hold, not on where they lie."""
    rows = in_every_order(con, [HONEST, ANOTHER])
    assert sorted(verdicts(rows)) == ["flagged", "verified"]
    rows = in_every_order(con, [HONEST, replace(HONEST, score=SCORE + 1), replace(HONEST, best_combo=BEST + 1)])
    assert sum("conflicting_upload" in row["reason_codes"] for row in rows) == 2


@pytest.mark.parametrize("changes", [{"nation": "DE"}, {"nation": None}, {"platform": "z"}, {"app_version": "4"},
    {"player_kind": "ai"},
    {"started_at": HONEST.started_at + 1}, {"started_at": HONEST.started_at - 86_400_000_000}], ids=str)  # fmt: skip
def test_copies_that_differ_beside_the_claims_have_one_answer(con: duckdb.DuckDBPyConnection, changes: dict[str, Any]) -> None:
    """The one that stands decides the nation, or whether the game began in time: files must not."""
    rows = in_every_order(con, [HONEST, replace(HONEST, **changes)])
    assert sorted(verdicts(rows))[0] == "copy"


def test_attempts_of_other_modes_rules_and_challenges_are_none(con: duckdb.DuckDBPyConnection) -> None:
    for changes in ({"mode": "training"}, {"mode": "arena"}, {"rules": "1.1.0"}, {"challenge": "training-7", "mode": "training"}):
        rows = in_every_order(con, [game(HONEST, 1, game_id="a", **changes), game(ANOTHER, 2, game_id="b", **changes)])
        assert not any("duplicate_attempt" in row["reason_codes"] for row in rows)
        assert not any(row["counted"] for row in rows)
    rows = in_every_order(con, [game(HONEST, 1, game_id="a", mode="training"), game(ANOTHER, 2, game_id="b")])
    assert [row["counted"] for row in rows] == [False, True]
    assert codes(rows)[1] == []


def test_copies_of_practice_games_are_copies_too(con: duckdb.DuckDBPyConnection) -> None:
    for changes in (
        {"mode": "training"},
        {"rules": "9.9.9"},
        {"challenge": "gone"},
        {"challenge": "training-7", "mode": "training"},
    ):
        rows = in_every_order(con, [game(HONEST, 1, game_id="a", **changes), game(HONEST, 2, game_id="b", **changes)])
        assert copies(rows) == [None, "a"]


def test_the_same_log_in_another_mode_is_another_game(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(
        con,
        [game(HONEST, 1, game_id="a"), game(HONEST, 2, game_id="b", mode="training"), game(HONEST, 3, game_id="c", attempt=2)],
    )
    assert copies(rows) == [None] * 3
    assert codes(rows) == [[], [], []]
    assert [row["counted"] for row in rows] == [True, False, True]


def test_three_attempts_in_any_order_of_upload(con: duckdb.DuckDBPyConnection) -> None:
    logs = [record(*play(seed, 20)) for seed in (1, 2, 3)]
    rows = in_every_order(con, [game(log, 9 - i, attempt=i + 1, game_id=f"g-{i}") for i, log in enumerate(logs)])
    assert all(row["counted"] for row in rows)


def test_one_log_with_two_claims_is_no_second_log(con: duckdb.DuckDBPyConnection) -> None:
    """The edited claim falls by itself; the honest one stands, whichever came first."""
    for first, second in ((1, 2), (2, 1)):
        rows = in_every_order(con, [game(HONEST, first, game_id="a"), game(HONEST, second, game_id="b", score=SCORE + 100)])
        assert codes(rows) == [[], ["score_mismatch"]]
        assert copies(rows) == [None, None]


def test_a_copy_of_a_flagged_game_counts_nowhere(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(con, [game(HONEST, 1, game_id="a", score=1), game(HONEST, 2, game_id="b", score=1)])
    assert verdicts(rows) == ["flagged", "copy"]
    assert copies(rows) == [None, "a"]


def test_a_copy_of_a_second_log_is_a_copy(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(con, [game(HONEST, 1, game_id="a"), game(ANOTHER, 2, game_id="b"), game(ANOTHER, 3, game_id="c")])
    assert [said(row)[0] for row in rows] == ["verified", "flagged", "copy"]
    assert copies(rows) == [None, None, "b"]


def test_a_copy_of_a_conflict(con: duckdb.DuckDBPyConnection) -> None:
    """A retry under its own id is a game that nobody disputes: it stands, and the disputed upload is its copy."""
    mine, theirs = game(HONEST, 1, player_id="p"), game(ANOTHER, 2, player_id="q")
    again = game(HONEST, 3, player_id="p", game_id="retry")
    rows = in_every_order(con, [mine, theirs, again])
    assert verdicts(rows) == ["copy", "flagged", "verified"]
    assert copies(rows) == ["retry", None, None]
    # The same disputed line again stays disputed, and none of them is a copy of the other.
    rows = in_every_order(con, [mine, theirs, mine])
    assert codes(rows) == [["conflicting_upload"]] * 3


def test_a_conflict_of_three_games_and_of_three_players(con: duckdb.DuckDBPyConnection) -> None:
    third = record(*play(3, 20))
    rows = in_every_order(con, [game(HONEST, 1), game(ANOTHER, 2, attempt=2), game(third, 3, attempt=3)])
    assert codes(rows) == [[], ["conflicting_upload"], ["conflicting_upload"]]
    assert "3 different games of one player" in rows[2]["reasons"]
    rows = in_every_order(con, [game(HONEST, 1, player_id="p"), game(ANOTHER, 2, player_id="q"), game(third, 3, player_id="r")])
    assert codes(rows) == [["conflicting_upload"]] * 3
    assert "3 different games of 3 players" in rows[0]["reasons"]


@pytest.mark.parametrize("ids", [("-1", "-1x"), ("", " "), ("null", "None"), ("g", "g\x00")])
def test_odd_ids_are_compared_like_others(con: duckdb.DuckDBPyConnection, ids: tuple[str, str]) -> None:
    """C1 (d): no id stands for a missing one."""
    one, two = ids
    rows = in_every_order(con, [game(HONEST, 1, game_id=one, player_id=one), game(HONEST, 2, game_id=two, player_id=two)])
    assert [row["suspicions"] for row in rows] == [["unfinished"], ["copied_log", "unfinished"]]
    rows = in_every_order(con, [game(HONEST, 1, game_id=one, player_id=two), game(HONEST, 2, game_id=one, player_id=one)])
    assert codes(rows) == [["conflicting_upload"]] * 2


@pytest.mark.parametrize(
    "log", [HONEST.moves, HONEST.moves.replace(" ", ""), " \n" + HONEST.moves], ids=["same", "tight", "loose"]
)
def test_c1_the_later_of_two_players_with_one_log_is_pointed_at(con: duckdb.DuckDBPyConnection, log: str) -> None:
    """C1 (a, b): a suspicion, which does not stop the game from counting; the evidence names the earlier game."""
    rows = in_every_order(con, [game(HONEST, 9, game_id="a", player_id="thief", moves=log), game(HONEST, 1, game_id="b")])
    assert [row["suspicions"] for row in rows] == [["copied_log", "unfinished"], ["unfinished"]]
    assert [row["counted"] for row in rows] == [True, True]
    assert json.loads(rows[0]["evidence"]) == {"copied_log": {"first_game": "b", "players": 2, "choices": 30}}
    assert rows[1]["evidence"] is None


def test_c1_players_who_share_a_log_are_counted(con: duckdb.DuckDBPyConnection) -> None:
    records = [game(HONEST, i, game_id=f"g-{i}", player_id=f"p-{i % 3}", attempt=1 + i // 3) for i in range(4)]
    rows = in_every_order(con, records)
    assert [row["evidence"] is not None for row in rows] == [False, True, True, False]
    assert json.loads(rows[2]["evidence"]) == {"copied_log": {"first_game": "g-0", "players": 3, "choices": 30}}


def test_c1_short_logs_are_no_sign_of_anything(con: duckdb.DuckDBPyConnection) -> None:
    """The control of C1: a forced opening that many share."""
    rows = in_every_order(con, [game(SHORT, i, game_id=f"g-{i}", player_id=f"p-{i}") for i in range(4)])
    assert all(row["suspicions"] == ["unfinished"] for row in rows)
    longer = record(*play(1, 30))
    rows = in_every_order(con, [game(longer, i, game_id=f"g-{i}", player_id=f"p-{i}") for i in range(2)])
    assert rows[1]["suspicions"] == ["copied_log", "unfinished"]
    assert longer.moves.startswith(SHORT.moves)


def test_c1_the_same_log_of_another_challenge_is_nothing(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(
        con, [game(HONEST, 1, game_id="a"), game(HONEST, 2, game_id="b", player_id="q", challenge="training-7", mode="training")]
    )
    assert all(row["suspicions"] == ["unfinished"] for row in rows)


def test_a_copy_of_a_copied_log_is_only_a_copy(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(
        con,
        [game(HONEST, 1, game_id="a"), game(HONEST, 2, game_id="b", player_id="q"), game(HONEST, 3, game_id="c", player_id="q")],
    )
    assert [row["suspicions"] for row in rows] == [["unfinished"], ["copied_log", "unfinished"], ["unfinished"]]
    assert verdicts(rows) == ["verified", "verified", "copy"]


def test_nothing_related_is_nothing(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(con, [game(HONEST, 1, game_id="a", player_id="p"), game(ANOTHER, 2, game_id="b", player_id="q")])
    assert codes(rows) == [[], []]
    assert resolve(con, SCHEMA.empty_table()) == {}


# --- Applying and taking back -----------------------------------------------------------------------------------------

DECIDED = ("verdict", "counted", "reason_codes", "reasons", "suspicions", "evidence", "copy_of")


def alone() -> list[dict[str, Any]]:
    """Verdict rows as they are before anything is related: verified, flagged, with evidence, uncounted, under unknown rules."""
    changes: list[dict[str, Any]] = [
        {}, {"score": SCORE + 1}, {"mode": "training"}, {"rules": "9.9.9"}, {"rules": "1.1.0"}, {"attempt": 9},
        {"moves": HONEST.moves + " 1z1"},
        {"finished_at": HONEST.started_at, "uploaded_at": HONEST.started_at}, {"moves": " ".join(TOKENS[:-1])},
    ]  # fmt: skip
    return rows_of(VERIFIER.verify(batch_of([replace(HONEST, **change) for change in changes]), "x"))


def relations() -> list[Relation | None]:
    duplicate = {"code": "duplicate_attempt", "claimed": 1, "found": "x", "move": None}
    conflict = {"code": "conflicting_upload", "claimed": "g", "found": "y", "move": None}
    copied = {"copied_log": {"first_game": "g", "players": 2}}
    return [
        None, Relation("g-0", (), (), {}), Relation(None, (duplicate,), (), {}), Relation(None, (conflict,), (), {}),
        Relation(None, (duplicate, conflict), ("copied_log",), copied),
        Relation(None, (), ("copied_log",), copied), Relation("", (), (), {}),
    ]  # fmt: skip


def test_relations_are_taken_off_again_without_a_trace() -> None:
    """E2: restated however often and in whatever order, a row is what its last relation makes of it."""
    for row in alone():
        own = {name: row[name] for name in DECIDED}
        assert apply_relation(row, None) == own
        for first in relations():
            once = row | apply_relation(row, first)
            assert apply_relation(once, first) == {name: once[name] for name in DECIDED}
            assert apply_relation(once, None) == own
            for second in relations():
                assert apply_relation(once, second) == apply_relation(row, second)


def test_what_relations_make_of_a_row() -> None:
    row = alone()[0]
    none, copy, duplicate, conflict, both, copied, empty = (apply_relation(row, relation) for relation in relations())
    assert none["verdict"] == "verified"
    assert none["counted"]
    assert (copy["verdict"], copy["copy_of"], copy["counted"], copy["reason_codes"]) == ("copy", "g-0", False, [])
    assert (empty["verdict"], empty["copy_of"]) == ("copy", "")
    for found, expected in (
        (duplicate, ["duplicate_attempt"]),
        (conflict, ["conflicting_upload"]),
        (both, ["duplicate_attempt", "conflicting_upload"]),
    ):
        assert (found["verdict"], found["counted"], found["reason_codes"]) == ("flagged", False, expected)
    assert (copied["verdict"], copied["counted"], copied["suspicions"]) == ("verified", True, ["copied_log", "unfinished"])


def test_reasons_stay_in_their_one_order() -> None:
    for row in alone():
        for relation in relations():
            found = apply_relation(row, relation)["reason_codes"]
            assert found == sorted(found, key=REASON_CODES.index)
    assert set(RELATIONAL_REASONS) < set(REASON_CODES)
    assert RELATIONAL_SUSPICIONS == ("copied_log",)


def test_what_relations_decide_is_what_publishing_writes() -> None:
    assert tuple(publish._DECIDED) == DECIDED
