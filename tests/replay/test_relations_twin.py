"""Relations between uploads against the slow twin: random small worlds, resolved at once, at any places, over several days."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay.record import format_time
from replay.relations import (
    KEY_COLUMNS,
    UPLOAD_COLUMNS,
    Relation,
    related_elsewhere,
    resolve,
)
from replay.verify import VERDICT_SCHEMA
from tests.reference.relations import Owed, Upload, relate

EPOCH = datetime(1970, 1, 1)
DAYS = [date(2026, 10, 31), date(2026, 11, 1), date(2026, 11, 2)]
SCHEMA = pa.schema([*(VERDICT_SCHEMA.field(name) for name in UPLOAD_COLUMNS), ("day", pa.date32())])
Place = tuple[date, str, int]
# The logs of the worlds, and those with a clock of which A and B are the inputs: their times of thought are the same, moved a
# little, moved a little further, and somebody else's.
LOGS = ("A", "B", "C", *(f"{inputs}{times}" for inputs in "AB" for times in range(4)))
TIMES = ([20] * 25, [22] * 23 + [40] * 2, [24] * 25, [50] * 25)
WORLD = re.compile("w[0-9]{4}:")


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        opened.execute("set TimeZone = 'UTC'")
        yield opened


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


# --- The slow twin, on random small worlds ----------------------------------------------------------------------------


def key(*values: Any) -> int:
    """An even key of 64 bits."""
    return int.from_bytes(hashlib.sha256(repr(values).encode()).digest()[:8], "little") & ~1


def row_of(upload: Upload, bits: int = 0x1E) -> dict[str, Any]:
    """The upload as a verdict row; by default its keys have few ``bits``: those of different things often meet, which must not
    decide anything."""
    found = asdict(upload)
    came_out = found.pop("comes_out")
    day, file, line = found.pop("place")
    for name in ("started_at", "finished_at", "uploaded_at"):
        found[name] = EPOCH + timedelta(microseconds=found[name])
    whose = (upload.game, upload.challenge, upload.player_id, upload.attempt)
    return found | {
        "day": day, "source_file": file, "source_line": line, "upload_key": key(upload.game_id) & bits,
        "attempt_key": (key(*whose) if upload.dated else key(*whose, upload.log)) & bits | upload.dated,
        "log_key": key(upload.game, upload.challenge, upload.inputs or upload.log) & bits | 2 if upload.long else 0,
        # Logs that agree in one half of the hash only are different logs.
        "log_hash_low": LOGS.index(upload.log) % 2, "log_hash_high": LOGS.index(upload.log) // 2,
        "inputs_hash": None if upload.inputs is None else LOGS.index(upload.inputs), "thinks": upload.thinks, "choices": None,
        # What was not replayed has no reason of these either.
        "replayed_score": upload.score if came_out or upload.score else None,
        "reason_codes": ["attempt_limit"] * upload.attempt if came_out or not upload.score else ["board_mismatch"],
    }  # fmt: skip


def table_of(uploads: Sequence[Upload], bits: int = 0x1E) -> pa.Table:
    rows = [row_of(upload, bits) for upload in uploads]
    return pa.Table.from_pylist([{name: row[name] for name in SCHEMA.names} for row in rows], SCHEMA)


def order_of(uploads: Sequence[Upload]) -> list[Upload]:
    """Earliest first; how the product orders contents of one moment and id is its own affair, so worlds of that kind are left out
    of the comparison with the twin."""
    names = [f.name for f in fields(Upload) if f.name not in ("place", "uploaded_at", "game_id", "finished_at", "comes_out")]
    return sorted(
        uploads,
        key=lambda u: (u.uploaded_at, u.game_id.encode(), u.finished_at, [repr(getattr(u, name)) for name in names], u.place),
    )


def has_ambiguous_order(uploads: Sequence[Upload]) -> bool:
    """Whether two different games share the moment and the id."""
    return any(
        (a.uploaded_at, a.game_id, a.finished_at) == (b.uploaded_at, b.game_id, b.finished_at) and not a.is_same_text(b)
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
                "game_id": rng.choice("xyz"), "player_id": rng.choice("pq"), "log": rng.choice("AB"),
                "uploaded_at": rng.randrange(6),
                "score": rng.randrange(2), "mode": rng.choice(("daily", "training")), "attempt": rng.choice((1, 2)), "level": rng.choice((None, 1)),
                "lines": rng.choice((None, 0)), "final_board": rng.choice("--#"), "comes_out": rng.random() < 0.7,
            }  # fmt: skip
            if old.inputs is not None:
                # Another log of that game has times of its own.
                old, changes["log"] = replace(old, log=old.inputs, inputs=None, thinks=()), old.inputs
            some = rng.sample(sorted(changes), rng.randrange(3))
            upload = replace(old, place=place, **{name: changes[name] for name in some})
        else:
            upload = Upload(
                place, rng.choice("xyz"), rng.choice("pqr"), rng.choice((1, 1, 2)), rng.choice("ABC"), rng.randrange(6),
                challenge=rng.choice(("d", "d", "e")), rules=rng.choice(("1", "1", "1", "2")), score=rng.choice((0, 0, 1)),
                final_board=rng.choice("--#"), game=rng.choice(("blocks", "tetcolor")),
                player_kind=rng.choice(("human", "human", "human", "ai")), comes_out=rng.random() < 0.6,
            )  # fmt: skip
        if upload.game == "tetcolor" and upload.log in "AB":
            times = rng.randrange(4)
            upload = replace(upload, inputs=upload.log, log=f"{upload.log}{times}", thinks=tuple(TIMES[times]))
        uploads.append(replace(upload, dated=upload.mode == "daily" and upload.rules == "1", long=upload.log != "C"))
    if not ties:
        # A moment for each upload, except for those that are the same game under the same id.
        uploads = [
            replace(u, uploaded_at=u.uploaded_at * 100 + (0 if rng.random() < 0.3 else number))
            for number, u in enumerate(uploads)
        ]
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
    evidence: dict[str, Any] = {}
    if owed.copied:
        first, players, moved = owed.copied
        evidence["copied_log"] = {"first_game": first, "players": players}
        if moved is not None:
            evidence["copied_log"] |= {"times": moved[0], "times_alike": moved[1]}
    return Relation(owed.copy_of, tuple(reasons), ("copied_log",) if owed.copied else (), evidence)


def test_random_worlds_are_resolved_as_the_slow_twin_resolves_them(con: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(77)
    worlds = [uploads for uploads in (world(rng) for _ in range(2400)) if not has_ambiguous_order(uploads)]
    found = resolve_apart(con, [[row_of(upload) for upload in uploads] for uploads in worlds])
    met: Counter[str] = Counter()
    for uploads, relations_ in zip(worlds, found, strict=True):
        owed = relate(uploads, order_of(uploads))
        assert relations_ == {u.place: as_relation(u, owed[u.place]) for u in uploads if owed[u.place]}, uploads
        for each in owed.values():
            met.update(name for name, value in asdict(each).items() if value is not None)
            met["moved"] += each.copied is not None and each.copied[2] is not None
    assert len(worlds) > 1200
    assert min(met[name] for name in ("copy_of", "duplicate_of", "conflict", "copied")) > 300
    assert met["moved"] > 50


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
            tuple(sorted(repr((replace(u, place=(), comes_out=False), found[at].get(u.place))) for u in variants[at]))
            for at in range(4 * number, 4 * number + 4)
        }
        assert len(outcomes) == 1, uploads


# --- Uploads of other days --------------------------------------------------------------------------------------------


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
