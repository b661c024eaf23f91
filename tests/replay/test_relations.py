"""Copies, conflicts, second logs and copied logs: the same answer in every order of files and days (B7, C1, E2)."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from datetime import date, datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay import publish
from replay.record import Record, format_time
from replay.relations import (
    KEY_COLUMNS,
    RELATIONAL_REASONS,
    RELATIONAL_SUSPICIONS,
    UPLOAD_COLUMNS,
    Relation,
    apply_relation,
    related_elsewhere,
    resolve,
)
from replay.verdict import REASON_CODES
from replay.verify import VERDICT_SCHEMA, Verifier
from tests.reference.relations import Owed, Upload, relate
from tests.replay.games import BEST, GAME, RULEBOOK, SCORE, TABLE, TOKENS, play, record
from tests.replay.test_verify import batch_of, rows_of

EPOCH = datetime(1970, 1, 1)
DAYS = [date(2026, 10, 31), date(2026, 11, 1), date(2026, 11, 2)]
VERIFIER = Verifier(RULEBOOK, TABLE)
SECOND = 1_000_000
SCHEMA = pa.schema([*(VERDICT_SCHEMA.field(name) for name in UPLOAD_COLUMNS), ("day", pa.date32())])
Place = tuple[date, str, int]
WORLD = re.compile("w[0-9]{4}:")


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        opened.execute("set TimeZone = 'UTC'")
        yield opened


# --- Real games, in every order of files and days -------------------------------------------------------------------------------------

HONEST = record(TOKENS, GAME)
OTHER_TOKENS, OTHER = play(2, 60)
ANOTHER = record(OTHER_TOKENS, OTHER)
SHORT_TOKENS, SHORT_GAME = play(1, 29)
SHORT = record(SHORT_TOKENS, SHORT_GAME)


def game(base: Record, seconds: int, **changes: Any) -> Record:
    """A game uploaded some seconds after its end."""
    return replace(base, uploaded_at=base.finished_at + seconds * SECOND, **changes)


def apart(row: dict[str, Any], number: int) -> dict[str, Any]:
    """A row in a world of its own, so that many worlds can be resolved at once."""
    return row | {name: f"w{number:04}:{row[name]}" for name in ("game_id", "player_id", "challenge", "source_file")}


def resolve_apart(con: duckdb.DuckDBPyConnection, worlds: Sequence[Sequence[dict[str, Any]]]) -> list[dict[Place, Relation]]:
    """The relations of each world of rows, from one run of the product."""
    rows = [apart(row, number) for number, found in enumerate(worlds) for row in found]
    found = resolve(con, pa.Table.from_pylist([{name: row[name] for name in SCHEMA.names} for row in rows], SCHEMA))
    out: list[dict[Place, Relation]] = [{} for _ in worlds]
    for (day, file, line), relation in found.items():
        whole = json.loads(WORLD.sub("", json.dumps(asdict(relation))))
        whole["reasons"], whole["suspicions"] = tuple(whole["reasons"]), tuple(whole["suspicions"])
        out[int(file[1:5])][day, file[6:], line] = Relation(**whole)
    return out


def settle(
    con: duckdb.DuckDBPyConnection, records: Sequence[Record], layouts: Sequence[Sequence[Place]]
) -> list[list[dict[str, Any]]]:
    """For each layout the final verdict row of each record, had they landed at those places: verified alone, then related."""
    rows = rows_of(VERIFIER.verify(batch_of(list(records)), "x"))
    assert len(rows) == len(records)
    worlds = [
        [row | {"day": day, "source_file": file, "source_line": line} for row, (day, file, line) in zip(rows, layout, strict=True)]
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
    rows = in_every_order(con, [game(HONEST, 9, game_id="a-later"), game(HONEST, 1, game_id="z-first"), game(HONEST, 5, game_id="m")])
    assert copies(rows) == ["z-first", None, "z-first"]
    assert [row["counted"] for row in rows] == [False, True, False]


def test_b7c_one_id_with_two_logs_of_one_player(con: duckdb.DuckDBPyConnection) -> None:
    """The first uploaded stands; the second is in conflict and a second log of the attempt."""
    rows = in_every_order(con, [game(ANOTHER, 2), game(HONEST, 1)])
    assert codes(rows) == [["duplicate_attempt", "conflicting_upload"], []]
    assert verdicts(rows) == ["flagged", "verified"]
    first, second = json.loads(rows[0]["reasons"])
    assert first == {"code": "duplicate_attempt", "claimed": 1, "found": "another log of this attempt was uploaded before, as game g-1", "move": None}
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


@pytest.mark.parametrize("changes", [{"nation": "DE"}, {"nation": None}, {"platform": "z"}, {"app_version": "4"}, {"player_kind": "ai"},
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
    for changes in ({"mode": "training"}, {"rules": "9.9.9"}, {"challenge": "gone"}, {"challenge": "training-7", "mode": "training"}):
        rows = in_every_order(con, [game(HONEST, 1, game_id="a", **changes), game(HONEST, 2, game_id="b", **changes)])
        assert copies(rows) == [None, "a"]


def test_the_same_log_in_another_mode_is_another_game(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(con, [game(HONEST, 1, game_id="a"), game(HONEST, 2, game_id="b", mode="training"), game(HONEST, 3, game_id="c", attempt=2)])
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


@pytest.mark.parametrize("log", [HONEST.moves, HONEST.moves.replace(" ", ""), " \n" + HONEST.moves], ids=["same", "tight", "loose"])
def test_c1_the_later_of_two_players_with_one_log_is_pointed_at(con: duckdb.DuckDBPyConnection, log: str) -> None:
    """C1 (a, b): a suspicion, which does not stop the game from counting; the evidence names the earlier game."""
    rows = in_every_order(con, [game(HONEST, 9, game_id="a", player_id="thief", moves=log), game(HONEST, 1, game_id="b")])
    assert [row["suspicions"] for row in rows] == [["copied_log", "unfinished"], ["unfinished"]]
    assert [row["counted"] for row in rows] == [True, True]
    assert json.loads(rows[0]["evidence"]) == {"copied_log": {"first_game": "b", "players": 2}}
    assert rows[1]["evidence"] is None


def test_c1_players_who_share_a_log_are_counted(con: duckdb.DuckDBPyConnection) -> None:
    records = [game(HONEST, i, game_id=f"g-{i}", player_id=f"p-{i % 3}", attempt=1 + i // 3) for i in range(4)]
    rows = in_every_order(con, records)
    assert [row["evidence"] is not None for row in rows] == [False, True, True, False]
    assert json.loads(rows[2]["evidence"]) == {"copied_log": {"first_game": "g-0", "players": 3}}


def test_c1_short_logs_are_no_sign_of_anything(con: duckdb.DuckDBPyConnection) -> None:
    """The control of C1: a forced opening that many share."""
    rows = in_every_order(con, [game(SHORT, i, game_id=f"g-{i}", player_id=f"p-{i}") for i in range(4)])
    assert all(row["suspicions"] == ["unfinished"] for row in rows)
    longer = record(*play(1, 30))
    rows = in_every_order(con, [game(longer, i, game_id=f"g-{i}", player_id=f"p-{i}") for i in range(2)])
    assert rows[1]["suspicions"] == ["copied_log", "unfinished"]
    assert longer.moves.startswith(SHORT.moves)


def test_c1_the_same_log_of_another_challenge_is_nothing(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(con, [game(HONEST, 1, game_id="a"), game(HONEST, 2, game_id="b", player_id="q", challenge="training-7", mode="training")])
    assert all(row["suspicions"] == ["unfinished"] for row in rows)


def test_a_copy_of_a_copied_log_is_only_a_copy(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(con, [game(HONEST, 1, game_id="a"), game(HONEST, 2, game_id="b", player_id="q"), game(HONEST, 3, game_id="c", player_id="q")])
    assert [row["suspicions"] for row in rows] == [["unfinished"], ["copied_log", "unfinished"], ["unfinished"]]
    assert verdicts(rows) == ["verified", "verified", "copy"]


def test_nothing_related_is_nothing(con: duckdb.DuckDBPyConnection) -> None:
    rows = in_every_order(con, [game(HONEST, 1, game_id="a", player_id="p"), game(ANOTHER, 2, game_id="b", player_id="q")])
    assert codes(rows) == [[], []]
    assert resolve(con, SCHEMA.empty_table()) == {}


# --- The slow twin, on random small worlds ---------------------------------------------------------------------------------------------


def key(*values: Any) -> int:
    """An even key of 64 bits."""
    return int.from_bytes(hashlib.sha256(repr(values).encode()).digest()[:8], "little") & ~1


def row_of(upload: Upload, bits: int = 0x1E) -> dict[str, Any]:
    """The upload as a verdict row; by default its keys have few ``bits``: those of different things often meet, which must not
    decide anything."""
    found = asdict(upload)
    day, file, line = found.pop("place")
    digest = hashlib.sha256(upload.log.encode()).digest()
    for name in ("started_at", "finished_at", "uploaded_at"):
        found[name] = EPOCH + timedelta(microseconds=found[name])
    whose = (upload.game, upload.challenge, upload.player_id, upload.attempt)
    return found | {
        "day": day, "source_file": file, "source_line": line, "upload_key": key(upload.game_id) & bits,
        "attempt_key": (key(*whose) if upload.dated else key(*whose, upload.log)) & bits | upload.dated,
        "log_key": key(upload.game, upload.challenge, upload.log) & bits | 2 if upload.long else 0,
        # Logs that agree in one half of the hash only are different logs.
        "log_hash_low": digest[0] % 2, "log_hash_high": int.from_bytes(digest[1:8], "little"),
    }  # fmt: skip


def table_of(uploads: Sequence[Upload], bits: int = 0x1E) -> pa.Table:
    rows = [row_of(upload, bits) for upload in uploads]
    return pa.Table.from_pylist([{name: row[name] for name in SCHEMA.names} for row in rows], SCHEMA)


def order_of(uploads: Sequence[Upload]) -> list[Upload]:
    """Earliest first; how the product orders contents of one moment and id is its own affair, so worlds of that kind are left out
    of the comparison with the twin."""
    names = [f.name for f in fields(Upload) if f.name not in ("place", "uploaded_at", "game_id", "finished_at")]
    return sorted(
        uploads, key=lambda u: (u.uploaded_at, u.game_id.encode(), u.finished_at, [repr(getattr(u, name)) for name in names], u.place)
    )


def has_ambiguous_order(uploads: Sequence[Upload]) -> bool:
    """Whether two different games share the moment and the id."""
    return any(
        (a.uploaded_at, a.game_id, a.finished_at) == (b.uploaded_at, b.game_id, b.finished_at) and not a.is_same_game(b)
        for a in uploads for b in uploads
    )  # fmt: skip


def world(rng: random.Random, ties: bool = False) -> list[Upload]:
    """A few uploads of few players, ids, logs and moments, often the same one again."""
    uploads: list[Upload] = []
    for number in range(rng.randrange(2, 10)):
        place = (rng.choice(DAYS), rng.choice("ab"), number + 1)
        if uploads and rng.random() < 0.45:
            old = rng.choice(uploads)
            changes: dict[str, Any] = {
                "game_id": rng.choice("xyz"), "player_id": rng.choice("pq"), "log": rng.choice("AB"), "uploaded_at": rng.randrange(6),
                "score": rng.randrange(2), "mode": rng.choice(("daily", "training")), "attempt": rng.choice((1, 2)),
            }  # fmt: skip
            some = rng.sample(sorted(changes), rng.randrange(3))
            upload = replace(old, place=place, **{name: changes[name] for name in some})
        else:
            upload = Upload(
                place, rng.choice("xyz"), rng.choice("pqr"), rng.choice((1, 1, 2)), rng.choice("ABC"), rng.randrange(6),
                challenge=rng.choice(("d", "d", "e")), rules=rng.choice(("1", "1", "1", "2")), score=rng.choice((0, 0, 1)),
                final_board=rng.choice("--#"), game=rng.choice(("blocks",) * 5 + ("tetcolor",)),
            )  # fmt: skip
        uploads.append(replace(upload, dated=upload.mode == "daily" and upload.rules == "1", long=upload.log != "C"))
    if not ties:
        # A moment for each upload, except for those that are the same game under the same id.
        uploads = [replace(u, uploaded_at=u.uploaded_at * 100 + (0 if rng.random() < 0.3 else number)) for number, u in enumerate(uploads)]
    return uploads


def as_relation(upload: Upload, owed: Owed) -> Relation:
    """What the product says where the twin owes this."""
    reasons = []
    if owed.duplicate_of is not None:
        found = f"another log of this attempt was uploaded before, as game {owed.duplicate_of}"
        reasons.append({"code": "duplicate_attempt", "claimed": upload.attempt, "found": found, "move": None})
    if owed.conflict is not None:
        contents, players, first = owed.conflict
        whose = "of one player" if players == 1 else f"of {players} players"
        found = f"{contents} different games {whose} were uploaded under this id, the first at {format_time(first)}"
        reasons.append({"code": "conflicting_upload", "claimed": upload.game_id, "found": found, "move": None})
    evidence = {"copied_log": {"first_game": owed.copied[0], "players": owed.copied[1]}} if owed.copied else {}
    return Relation(owed.copy_of, tuple(reasons), ("copied_log",) if owed.copied else (), evidence)


def test_random_worlds_are_resolved_as_the_slow_twin_resolves_them(con: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(77)
    worlds = [uploads for uploads in (world(rng) for _ in range(2000)) if not has_ambiguous_order(uploads)]
    found = resolve_apart(con, [[row_of(upload) for upload in uploads] for uploads in worlds])
    met: Counter[str] = Counter()
    for uploads, relations_ in zip(worlds, found, strict=True):
        owed = relate(uploads, order_of(uploads))
        assert relations_ == {u.place: as_relation(u, owed[u.place]) for u in uploads if owed[u.place]}, uploads
        for each in owed.values():
            met.update(name for name, value in asdict(each).items() if value is not None)
    assert len(worlds) > 1200
    assert min(met[name] for name in ("copy_of", "duplicate_of", "conflict", "copied")) > 300


def test_random_worlds_do_not_depend_on_where_uploads_lie(con: duckdb.DuckDBPyConnection) -> None:
    """The same uploads at other places, ties of every kind among them."""
    rng = random.Random(78)
    worlds = [world(rng, ties=True) for _ in range(600)]
    variants: list[list[Upload]] = []
    for uploads in worlds:
        for _ in range(4):
            places = [upload.place for upload in uploads]
            rng.shuffle(places)
            variants.append([replace(upload, place=place) for upload, place in zip(uploads, places, strict=True)])
            rng.shuffle(variants[-1])
    found = resolve_apart(con, [[row_of(upload) for upload in uploads] for uploads in variants])
    for number, uploads in enumerate(worlds):
        outcomes = {
            tuple(sorted(repr((replace(u, place=()), found[at].get(u.place))) for u in variants[at]))
            for at in range(4 * number, 4 * number + 4)
        }
        assert len(outcomes) == 1, uploads


# --- Uploads of other days ---------------------------------------------------------------------------------------------------------------


def write_day(folder: Path, day: date, uploads: Sequence[Upload], bits: int = 0x1E) -> tuple[date, Path]:
    """A verdict file of a day with what relations read of it."""
    path = folder / f"it's day={day}" / "part-0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    table = table_of([upload for upload in uploads if upload.place[0] == day], bits).drop(["day"])
    pq.write_table(table.append_column("verdict", pa.array(["verified"] * len(table), pa.string())), path)
    return day, path


@pytest.mark.parametrize("bits", [-1, 0xFFE], ids=["whole keys", "keys that meet"])
def test_what_other_days_hold_is_found_through_one_another(con: duckdb.DuckDBPyConnection, tmp_path: Path, bits: int) -> None:
    """A night sees its own uploads and those that are related to them, directly or not: the verdicts are those of the whole."""
    rng = random.Random(79)
    uploads = [
        replace(upload, **{name: f"{number}:{getattr(upload, name)}" for name in ("game_id", "player_id", "challenge")},
                place=(upload.place[0], upload.place[1], 100 * number + upload.place[2]))
        for number in range(150) for upload in world(rng, ties=True)
    ]  # fmt: skip
    bits &= 2**64 - 1
    files = [write_day(tmp_path, day, uploads, bits) for day in DAYS[1:]]
    mine = table_of([upload for upload in uploads if upload.place[0] == DAYS[0]], bits)
    found = related_elsewhere(con, mine.select(KEY_COLUMNS), files)
    assert found is not None
    assert set(found.column_names) == set(SCHEMA.names)
    near = list(zip(*(found.column(c).to_pylist() for c in ("day", "source_file", "source_line")), strict=True))
    assert near == sorted(near)
    assert 200 < len(near) <= len(uploads) - len(mine)
    whole = resolve(con, table_of(uploads, bits))
    seen = set(near) | {upload.place for upload in uploads if upload.place[0] == DAYS[0]}
    part = pa.concat_tables([mine, found.select(SCHEMA.names).cast(SCHEMA)])
    assert resolve(con, part) == {place: relation for place, relation in whole.items() if place in seen}
    # What was not found is what it was before this day came.
    before = resolve(con, table_of([upload for upload in uploads if upload.place[0] != DAYS[0]], bits))
    assert {p: r for p, r in before.items() if p not in seen} == {p: r for p, r in whole.items() if p not in seen}
    assert bits != 2**64 - 1 or len(near) < len(uploads) - len(mine)


def test_the_other_days_are_named_by_their_files(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    uploads = [Upload((DAYS[1], "a", 1), "x", "p", 1, "A", 1), Upload((DAYS[2], "a", 1), "x", "p", 1, "A", 2)]
    files = [write_day(tmp_path, day, uploads) for day in DAYS[1:]]
    found = related_elsewhere(con, table_of(uploads[:1]).select(KEY_COLUMNS), files)
    assert found is not None
    assert found.column("day").to_pylist() == DAYS[1:]
    assert related_elsewhere(con, table_of([]).select(KEY_COLUMNS), []) is None
    none = related_elsewhere(con, table_of([]).select(KEY_COLUMNS), files)
    assert none is not None
    assert len(none) == 0


# --- Applying and taking back ----------------------------------------------------------------------------------------------------------

DECIDED = ("verdict", "counted", "reason_codes", "reasons", "suspicions", "evidence", "copy_of")


def alone() -> list[dict[str, Any]]:
    """Verdict rows as they are before anything is related: verified, flagged, with evidence, uncounted, under unknown rules."""
    changes: list[dict[str, Any]] = [
        {}, {"score": SCORE + 1}, {"mode": "training"}, {"rules": "9.9.9"}, {"rules": "1.1.0"}, {"attempt": 9}, {"moves": HONEST.moves + " 1z1"},
        {"finished_at": HONEST.started_at, "uploaded_at": HONEST.started_at}, {"moves": " ".join(TOKENS[:-1])},
    ]  # fmt: skip
    return rows_of(VERIFIER.verify(batch_of([replace(HONEST, **change) for change in changes]), "x"))


def relations() -> list[Relation | None]:
    duplicate = {"code": "duplicate_attempt", "claimed": 1, "found": "x", "move": None}
    conflict = {"code": "conflicting_upload", "claimed": "g", "found": "y", "move": None}
    copied = {"copied_log": {"first_game": "g", "players": 2}}
    return [
        None, Relation("g-0", (), (), {}), Relation(None, (duplicate,), (), {}), Relation(None, (conflict,), (), {}),
        Relation(None, (duplicate, conflict), ("copied_log",), copied), Relation(None, (), ("copied_log",), copied), Relation("", (), (), {}),
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
    for found, expected in ((duplicate, ["duplicate_attempt"]), (conflict, ["conflicting_upload"]), (both, ["duplicate_attempt", "conflicting_upload"])):
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
