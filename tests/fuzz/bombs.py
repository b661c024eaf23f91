"""Small files that hold much, verified one after the other in a process of its own, which prints the most memory that it took."""

from __future__ import annotations

import gzip
import io
import json
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from replay.adhoc import verify_files
from tests.fuzz.claims import verifier
from tests.fuzz.mutate import corpus

MIB = 1 << 20


def _gzip(part: bytes, times: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as writer:
        for _ in range(times):
            writer.write(part)
    return out.getvalue()


def _zstd(part: bytes, times: int) -> bytes:
    import zstandard

    writer = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(writer.compress(part) for _ in range(times)) + writer.flush()


def _parquet(log: str, rows: int) -> bytes:
    """A table whose one log stands in each row, in the file only once."""
    record = json.loads(corpus("tetromino-day")[0]) | {"moves": log}
    record.pop("level", None)
    record.pop("lines", None)
    first = pa.array([0] * rows)
    columns = {
        name: pa.array([value]).dictionary_encode().take(first) if isinstance(value, str) else pa.array([value] * rows)
        for name, value in record.items()
    }
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, row_group_size=rows, store_schema=False)
    return out.getvalue()


def bombs() -> Iterator[tuple[str, bytes, int]]:
    """(name, bytes, records that must be accounted for)."""
    yield "line.ndjson.gz", _gzip(b"a" * MIB, 96), 1
    yield "line.ndjson.zst", _zstd(b"[" * MIB, 96), 1
    yield "blank.ndjson.gz", _gzip(b"\n" * MIB, 6), 0
    yield "quotes.ndjson.zst", _zstd(b'{"moves":"' + b"h" * (MIB // 2) + b'"}\n', 20), 20
    yield "nest.ndjson.gz", _gzip(b"[" * (MIB - 2) + b"\n", 10), 10
    yield "log.parquet", _parquet("h" * 400_000, 10), 10
    yield "logs.parquet", _parquet("h" * 1_000_000, 1000), 1000


def main() -> None:
    """Prints JSON: the MiB held when warm and at most besides, and by file its size, records wanted and found, reasons."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="bombs-") as folder:
        path = Path(folder) / "warm.ndjson"
        path.write_bytes(b"\n".join(corpus("blocks-day") + corpus("tetromino-day")))
        assert list(verify_files([path], verifier(), threads=2))
        made = []
        for name, data, wanted in bombs():
            (Path(folder) / name).write_bytes(data)
            made.append((name, len(data), wanted))
            del data
        warm = _most()
        for name, size, wanted in made:
            before = _most()
            rows = Counter(row["reasons"][0]["code"] for row in verify_files([Path(folder) / name], verifier(), threads=2))
            counts = {"bytes": size, "wanted": wanted, "found": rows.total(), "codes": dict(rows)}
            found[name] = counts | {"more": _most() - before}
    json.dump({"warm": warm, "more": _most() - warm, "files": found}, sys.stdout)


def _most() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
