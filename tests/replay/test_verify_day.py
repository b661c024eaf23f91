"""A simulated day, verified in batches: row by row what the interpreted judge says, whatever the chunks and threads."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from replay import ndjson, parquet
from replay.challenges import load_challenges
from replay.errors import MalformedRecord
from replay.record import parse_record
from replay.shards import Shard, plan_shards, verified_batches
from replay.simulate import simulate
from replay.verdict import REASON_CODES, SUSPICION_CODES, judge
from replay.verify import Verifier
from tests.replay.build import as_object, rows_of, table
from tests.replay.games import RULEBOOK
from tests.replay.test_verify import check_row

SEEDED = load_challenges(rulebook=RULEBOOK)


# --- A simulated day --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of a day of 2,000 uploads of the block puzzle and 600 of Tetromino Arcade, every kind of forgery among them."""
    lake = tmp_path_factory.mktemp("lake")
    done = simulate(
        lake, [date(2026, 10, 31)], 2000, challenges=SEEDED, rulebook=RULEBOOK, rng_seed=7, forged_share=0.3, threads=1,
        others={"tetromino": 0.3},
    )  # fmt: skip
    assert len(done.variants) > 70
    assert all(len(kinds) > 15 for kinds in done.games.values())
    return done.files


def verified_file(path: Path, verifier: Verifier, threads: int = 1) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(verdict rows, quarantined lines) of a file, with line numbers of the file."""
    rows: list[dict[str, Any]] = []
    aside: list[dict[str, Any]] = []
    scanned = 0
    for done in verified_batches(Shard(0, str(path), path.name), verifier, threads):
        rows += [row | {"source_line": row["source_line"] + scanned} for row in rows_of(done)]
        aside += [asdict(found) | {"line": found.line + scanned} for found in done.quarantined]
        assert done.received == done.rows.num_rows + len(done.quarantined)
        scanned += done.scanned
    return rows, aside


@pytest.fixture(scope="module")
def seeded() -> Verifier:
    return Verifier(RULEBOOK, SEEDED)


@pytest.fixture(scope="module")
def verified(day: list[Path], seeded: Verifier) -> dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    return {path.name: verified_file(path, seeded) for path in day}


def written_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    data = b"".join(bytes(chunk.data[: chunk.size]) for chunk in ndjson.read_chunks(path))
    yield from enumerate(data.split(b"\n")[:-1], start=1)


def refusal_of(text: bytes) -> MalformedRecord | None:
    """Why a line is set aside, by the reader or by the judge."""
    try:
        judge(parse_record(text), RULEBOOK, SEEDED)
    except MalformedRecord as problem:
        return problem
    return None


def test_every_row_of_a_day_is_the_judges_verdict(day: list[Path], seeded: Verifier, verified: dict[str, Any]) -> None:
    """Row by row in the order of the input, reasons and their words included; what is no record is set aside."""
    seen: set[str] = set()
    for path in day:
        rows, aside = verified[path.name]
        waiting, waiting_aside = iter(rows), iter(aside)
        for number, text in written_lines(path):
            problem = refusal_of(text)
            if problem:
                shown = next(waiting_aside)
                assert (shown["line"], shown["code"], shown["reason"]) == (number, problem.code, str(problem))
                continue
            row = next(waiting)
            check_row(row, parse_record(text), seeded, (path.name, number))
            seen |= {row["verdict"], *row["reason_codes"], *row["suspicions"]}
        assert next(waiting, None) is None
        assert next(waiting_aside, None) is None
    # What needs other games comes later, and no simulated player keeps the time of a machine.
    others = {"duplicate_attempt", "conflicting_upload", "copied_log", "clock_ratio", "machine_timing"}
    alone = {*REASON_CODES, *SUSPICION_CODES} - others
    assert seen == {"verified", "flagged", *alone}


@pytest.mark.parametrize(("chunk_bytes", "threads"), [(1 << 12, 1), (1 << 14, 2), (100_003, 1), (16 << 20, 2)])
def test_chunks_and_threads_change_nothing(
    day: list[Path], seeded: Verifier, verified: dict[str, Any], monkeypatch: pytest.MonkeyPatch, chunk_bytes: int, threads: int
) -> None:
    monkeypatch.setattr(ndjson, "read_chunks", partial(ndjson.read_chunks, chunk_bytes=chunk_bytes))
    for path in day[:3]:
        assert verified_file(path, seeded, threads) == verified[path.name]


def test_batches_of_parquet_change_nothing(
    day: list[Path], seeded: Verifier, verified: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 97)
    plain = day[0]
    rows, _ = verified[plain.name]
    texts = dict(written_lines(plain))
    records = [as_object(parse_record(texts[row["source_line"]])) for row in rows]
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(table(*records), path, row_group_size=150)
    found, aside = verified_file(path, seeded, 2)
    assert aside == []
    place = ("source_file", "source_line")
    assert [{k: v for k, v in row.items() if k not in place} for row in found] == [
        {k: v for k, v in row.items() if k not in place} for row in rows
    ]
    assert [row["source_line"] for row in found] == list(range(1, len(rows) + 1))


def test_shards_of_any_size_change_nothing(day: list[Path], seeded: Verifier, verified: dict[str, Any]) -> None:
    (plain, *_) = [path for path in day if path.suffix == ".ndjson"]
    for games in (1, 40, 10_000):
        rows: list[dict[str, Any]] = []
        scanned = 0
        for shard in plan_shards([plain], games)[:400]:
            for done in verified_batches(shard, seeded, 1):
                rows += [row | {"source_line": row["source_line"] + scanned} for row in rows_of(done)]
                scanned += done.scanned
        assert rows == verified[plain.name][0][: len(rows)]
        assert games == 1 or len(rows) == len(verified[plain.name][0])


def test_games_in_another_order_have_the_same_verdicts(day: list[Path], seeded: Verifier, verified: dict[str, Any]) -> None:
    """B2: nothing of one game leaks into another."""
    path = day[0]
    texts = [text for _, text in written_lines(path)]
    random.Random(4).shuffle(texts)
    data = b"\n".join(texts) + b"\n"
    done = seeded.verify(ndjson.scan_chunk(ndjson.Chunk(bytearray(data) + bytes(16), len(data))), path.name)

    def plain(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(json.dumps({k: v for k, v in row.items() if k != "source_line"}, default=str) for row in rows)

    assert plain(rows_of(done)) == plain(verified[path.name][0])


def test_log_hashes_are_equal_exactly_for_equal_logs(day: list[Path], verified: dict[str, Any]) -> None:
    """Whatever the white space is; logs under unknown rules, which nobody replays, are told apart too."""
    by_log: dict[str, set[tuple[int, int]]] = {}
    by_hash: dict[tuple[int, int], set[str]] = {}
    for path in day:
        texts = dict(written_lines(path))
        for row in verified[path.name][0]:
            log = re.sub(r"[ \t\n\v\f\r]", "", parse_record(texts[row["source_line"]]).moves)
            key = (row["log_hash_low"], row["log_hash_high"])
            by_log.setdefault(log, set()).add(key)
            by_hash.setdefault(key, set()).add(log)
    assert {len(keys) for keys in by_log.values()} == {1}
    assert {len(logs) for logs in by_hash.values()} == {1}
    assert len(by_log) > 1500


def test_moves_replayed_are_the_moves_received_for_verified_games(verified: dict[str, Any]) -> None:
    for rows, _ in verified.values():
        assert all(row["moves"] == row["moves_received"] for row in rows if row["verdict"] == "verified")


def test_a_damaged_file_flags_nobody(tmp_path: Path, day: list[Path], seeded: Verifier) -> None:
    """A wrong checksum: no game of the file is verified, flagged or counted."""
    packed = next(path for path in day if path.suffix == ".gz")
    data = bytearray(packed.read_bytes())
    data[-6] ^= 0x40
    path = tmp_path / packed.name
    path.write_bytes(data)
    rows, aside = verified_file(path, seeded)
    assert rows == []
    assert {found["code"] for found in aside} == {"stream"}


def test_a_cut_file_keeps_the_verdicts_of_its_whole_lines(
    tmp_path: Path, day: list[Path], seeded: Verifier, verified: dict[str, Any]
) -> None:
    packed = next(path for path in day if path.suffix == ".gz")
    path = tmp_path / packed.name
    path.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    rows, aside = verified_file(path, seeded)
    assert len(rows) > 20
    assert rows == verified[packed.name][0][: len(rows)]
    assert aside[-1]["code"] == "stream"
