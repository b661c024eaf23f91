"""Cutting a day into shards and verifying one: the unit of work that a machine takes."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from replay import ndjson, parquet
from replay.columns import Quarantined, RecordBatch, empty_batch
from replay.draw import Keeper
from replay.errors import DamagedInput
from replay.verify import VERDICT_SCHEMA, VerifiedBatch, Verifier

SHARD_GAMES = 250_000
_SAMPLE_BYTES = 1 << 20
Progress = Callable[[int], None]
T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """A stretch of one log file: bytes ``start`` to ``end`` of a plain NDJSON file, row groups of a Parquet file, or all of a
    compressed file (``end`` None), which cannot be entered in the middle.  ``name`` is what rows say of their source."""

    number: int
    file: str
    name: str
    start: int = 0
    end: int | None = None
    row_groups: tuple[int, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def plan_shards(
    files: Iterable[Path], shard_games: int = SHARD_GAMES, name: Callable[[Path], str] = lambda path: path.name
) -> list[Shard]:
    """Cut files into shards of about ``shard_games`` games, in the order of files and lines.  Raises InputError."""
    shards: list[Shard] = []
    for path in files:
        whole = Shard(0, str(path), name(path))
        if path.suffix == ".parquet":
            try:
                pieces = [replace(whole, row_groups=groups) for groups in _row_group_runs(path, shard_games)]
            except DamagedInput:
                # Verifying it says what is the matter, as with any other damaged file.
                pieces = [whole]
        elif path.suffix in (".gz", ".zst"):
            pieces = [whole]
        else:
            pieces = [replace(whole, start=start, end=end) for start, end in _byte_ranges(path, shard_games)]
        shards += [replace(piece, number=len(shards) + i) for i, piece in enumerate(pieces)]
    return shards


def _byte_ranges(path: Path, shard_games: int) -> list[tuple[int, int]]:
    size = path.stat().st_size
    with path.open("rb") as handle:
        sample = handle.read(_SAMPLE_BYTES)
        lines = max(1, sample.count(b"\n"))
        step = max(1, len(sample) * shard_games // lines)
        ranges, start = [], 0
        while start < size:
            end = start + step
            if end < size:
                # A shard ends with the line that holds its last byte.
                handle.seek(end - 1)
                while (piece := handle.read(1 << 16)) and (newline := piece.find(b"\n")) < 0:
                    continue
                end = handle.tell() - len(piece) + newline + 1 if piece else size
            ranges.append((start, min(end, size)))
            start = end
    return ranges


def _row_group_runs(path: Path, shard_games: int) -> list[tuple[int, ...]]:
    metadata = parquet.open_parquet(path).metadata
    runs: list[tuple[int, ...]] = []
    run: list[int] = []
    rows = 0
    for group in range(metadata.num_row_groups):
        run.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= shard_games:
            runs.append(tuple(run))
            run, rows = [], 0
    return runs + ([tuple(run)] if run else [])


@dataclass(frozen=True)
class ShardResult:
    """What a verified shard left in the staging folder: ``rows`` in an Arrow stream, ``quarantined`` and ``keys`` beside it.

    ``scanned`` are the lines that the shard took up, so that the next shard of the file knows its first line's number;
    ``verified`` of its rows are verified, as far as games say by themselves.
    """

    number: int
    name: str
    rows: int
    quarantined: int
    received: int
    scanned: int
    verified: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def verify_shard(
    shard: Shard, verifier: Verifier, staging: Path, threads: int | None = None, progress: Progress | None = None
) -> ShardResult:
    """Verify one shard and write ``shard-NNNNN.*`` to ``staging``; line numbers in it count from the shard's first line.

    Written aside and renamed, so a shard is there whole or not at all; running it again replaces it.  ``progress`` is told
    the records as they are done.
    """
    staging.mkdir(parents=True, exist_ok=True)
    stem = staging / f"shard-{shard.number:05d}"
    rows = received = scanned = verified = 0
    keeper = Keeper(verifier.draw) if verifier.draw else None
    quarantined: list[Quarantined] = []
    keys: list[np.ndarray] = []
    writing = stem.with_suffix(".arrow.writing")
    with pa.OSFile(str(writing), "wb") as sink, _Writer(sink) as writer:
        for done in verified_batches(shard, verifier, threads):
            shifted = _shift(done, scanned)
            quarantined += shifted.quarantined
            writer.write(shifted.rows)
            keys.append(np.stack([shifted.rows.column(k).to_numpy() for k in ("upload_key", "attempt_key", "log_key")]))
            rows += shifted.rows.num_rows
            received += done.received
            scanned += done.scanned
            verified += done.verified
            if keeper and done.drawn:
                keeper.take(done.drawn)
            if progress:
                progress(done.received)
    np.save(stem.with_suffix(".keys.npy"), np.concatenate(keys, axis=1) if keys else np.zeros((3, 0), np.uint64))
    stem.with_suffix(".quarantine.json").write_text(json.dumps([asdict(q) for q in quarantined]), "utf-8")
    if keeper:
        stem.with_suffix(".drawn.json").write_text(json.dumps(keeper.as_json()), "utf-8")
    os.replace(writing, stem.with_suffix(".arrow"))
    result = ShardResult(shard.number, shard.name, rows, len(quarantined), received, scanned, verified)
    stem.with_suffix(".json").write_text(json.dumps(result.as_json()), "utf-8")
    return result


class _Writer:
    """An Arrow stream that is opened by its first batch, whose dictionaries decide its schema."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._writer: Any = None

    def __enter__(self) -> _Writer:
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._writer = pa.ipc.new_stream(self._sink, batch.schema)
        self._writer.write_batch(batch)

    def __exit__(self, *_: object) -> None:
        if self._writer is None:
            self._writer = pa.ipc.new_stream(self._sink, VERDICT_SCHEMA)
        self._writer.close()


def _shift(done: VerifiedBatch, lines: int) -> VerifiedBatch:
    if not lines:
        return done
    at = done.rows.schema.get_field_index("source_line")
    moved = pa.array(done.rows.column(at).to_numpy() + lines)
    rows = done.rows.set_column(at, "source_line", moved)
    quarantined = [replace(q, line=q.line + lines) for q in done.quarantined]
    return replace(done, rows=rows, quarantined=quarantined)


def verified_batches(shard: Shard, verifier: Verifier, threads: int | None = None) -> Iterator[VerifiedBatch]:
    """Verified batches of a shard in its order, worked on by ``threads`` threads; lines count from 1 in each."""
    yield from worked_batches(shard, lambda batch: verifier.verify(batch, shard.name), threads)


def worked_batches(shard: Shard, work: Callable[[RecordBatch], T], threads: int | None = None) -> Iterator[T]:
    """What ``work`` makes of each batch of records of a shard, in its order, by ``threads`` threads.

    A damaged compressed file is given up as a whole: with a wrong checksum any byte of it may not be what the player's phone
    wrote, so none of its games can be held against anybody or counted.
    """
    path = Path(shard.file)
    if path.suffix == ".parquet":
        groups = None if shard.row_groups is None else list(shard.row_groups)
        yield from _in_order(_parquet_work(path, groups), lambda scan: work(scan()), threads)
        return
    chunks = ndjson.read_chunks(path, shard.start, shard.end)
    if path.suffix in (".gz", ".zst"):
        damage = ndjson.find_damage(path)
        if damage:
            yield from (work(ndjson.give_up(chunk, damage)) for chunk in chunks)
            return
    yield from _in_order(chunks, lambda c: work(ndjson.scan_chunk(c)), threads)


def _parquet_work(path: Path, groups: list[int] | None) -> Iterator[Callable[[], RecordBatch]]:
    """What gives the record batches of a Parquet file, one call each.

    Its pages are checked one by one, so what came before some damage is sound; for what is lost one record is set aside.
    """
    try:
        for batch in parquet.read_batches(path, groups):
            yield partial(parquet.scan_batch, batch)
    except DamagedInput as error:
        # By its name only: the folder is another one on every machine, and the same inputs give the same rows.
        why = str(error).replace(str(path), path.name)
        lost = Quarantined(1, "stream", f"{why}; what came from this row on is lost")
        yield partial(empty_batch, [lost], 1)


def _in_order(items: Iterable[Any], work: Callable[[Any], T], threads: int | None) -> Iterator[T]:
    """``map`` with threads that keeps the order and never holds more than a few items."""
    count = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


__all__ = ["Shard", "ShardResult", "plan_shards", "verified_batches", "verify_shard", "worked_batches"]
