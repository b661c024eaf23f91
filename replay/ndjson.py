"""Reading NDJSON (.ndjson, .ndjson.gz, .ndjson.zst): chunks of whole lines, the compiled scan, the careful way for the rest."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.batch import TextColumn
from replay import scan_kernel as sk
from replay.columns import NUMBER_FIELDS, TEXT_FIELDS, Ints, Quarantined, RecordAppender, RecordBatch, empty_batch, nation_table
from replay.errors import InputError, MalformedRecord
from replay.record import MAX_RECORD_BYTES, OPTIONAL_NAMES, check_object, id_to_show, parse_json

CHUNK_BYTES = 16 << 20
_BOM = b"\xef\xbb\xbf"
_READ = 1 << 20
_SIP = 2048
# A line takes half a kilobyte of columns however short it is: a block of many more lines than records have is scanned in pieces.
_MANY_LINES = 1 << 17


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a file: ``data[:size]`` and PADDING bytes behind them.

    ``oversize`` is set instead for a line beyond the record limit, whose bytes are not kept; ``error`` instead when the stream
    broke off behind the chunk before.
    """

    data: bytearray
    size: int
    oversize: int = 0
    error: str | None = None


class _Stream:
    """Bytes of a file, decompressed by its name; damage ends the stream and is kept in ``error`` for the quarantine.

    ``damaged`` says that its bytes are not the ones that were written (a wrong checksum, not just an early end): then nothing in
    the file can be held against anybody.
    """

    def __init__(self, path: Path, start: int, end: int | None, read_bytes: int) -> None:
        self._read_bytes = read_bytes if path.suffix not in (".gz", ".zst") else _READ
        self.error: str | None = None
        self.damaged = False
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}), check the path and its rights") from error
        self._left = None if end is None else end - start
        self._file.seek(start)
        self._source = self._pieces(path.suffix)

    def _raw(self) -> bytes:
        size = self._read_bytes if self._left is None else min(self._read_bytes, self._left)
        piece = self._file.read(size)
        if self._left is not None:
            self._left -= len(piece)
        return piece

    def _pieces(self, suffix: str) -> Iterator[bytes]:
        if suffix == ".gz":
            yield from self._gzip()
        elif suffix == ".zst":
            yield from self._zstd()
        else:
            while piece := self._raw():
                yield piece

    def _gzip(self) -> Iterator[bytes]:
        # zlib itself, member by member: it checks each checksum and hands over the good bytes before the damage.
        decoder, piece = zlib.decompressobj(31), b""
        started = False
        while piece := piece or self._raw():
            if decoder.eof:
                # Zeros behind a member are padding, which gzip itself passes over.
                piece = piece.lstrip(b"\0")
                if not piece:
                    continue
                decoder = zlib.decompressobj(31)
                started = False
            try:
                out = decoder.decompress(piece, _READ * 4)
            except zlib.error as error:
                self.error, self.damaged = f"the gzip stream is damaged ({error})", True
                return
            started = True
            yield out
            piece = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
        if started and not decoder.eof:
            self.error = "the gzip stream ends too early"

    def _zstd(self) -> Iterator[bytes]:
        import zstandard

        context = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        decoder, open_frame = context.decompressobj(), False
        waiting: list[bytes] = []
        size = 0
        while piece := self._raw():
            # In sips: one call hands out all that its input holds, and four bytes of zstd can hold 128 KiB.
            for first in range(0, len(piece), _SIP):
                sip = piece[first : first + _SIP]
                while sip:
                    if decoder.eof:
                        decoder = context.decompressobj()
                    try:
                        waiting.append(decoder.decompress(sip))
                    except zstandard.ZstdError as error:
                        self.error, self.damaged = f"the zstd stream is damaged ({error})", True
                        yield b"".join(waiting)
                        return
                    size += len(waiting[-1])
                    open_frame = not decoder.eof
                    sip = decoder.unused_data if decoder.eof else b""
                if size >= _READ * 4:
                    yield b"".join(waiting)
                    waiting, size = [], 0
        yield b"".join(waiting)
        if open_frame:
            self.error = "the zstd stream ends too early"

    def __iter__(self) -> Iterator[bytes]:
        with self._file:
            yield from self._source


def read_chunks(path: Path, start: int = 0, end: int | None = None, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Chunks of whole lines of a file, or of its bytes ``start`` to ``end``, which must begin a line.

    Memory stays bounded whatever the lines: one that outgrows the record limit is counted and dropped as it comes.
    Raises InputError when the file cannot be opened.
    """
    stream = _Stream(path, start, end, chunk_bytes)
    yield from split_lines(iter(stream), bom=start == 0)
    if stream.error:
        yield Chunk(bytearray(sk.PADDING), 0, error=stream.error)


def split_lines(pieces: Iterator[bytes], bom: bool = True) -> Iterator[Chunk]:
    """Cut a stream of bytes into chunks of whole lines; a byte-order mark before the first one is dropped."""
    kept = b""
    dropping = 0
    for piece in pieces:
        if dropping:
            newline = piece.find(b"\n")
            dropping += len(piece) if newline < 0 else newline
            if newline < 0:
                continue
            yield Chunk(bytearray(sk.PADDING), 0, oversize=dropping)
            dropping = 0
            piece = piece[newline + 1 :]
        if bom and len(kept) + len(piece) < 3:
            kept += piece
            continue
        # One copy: the kept beginning of a line, the new piece, the padding.
        block = bytearray(len(kept) + len(piece) + sk.PADDING)
        block[: len(kept)] = kept
        block[len(kept) : len(kept) + len(piece)] = piece
        size = len(kept) + len(piece)
        if bom and block.startswith(_BOM):
            del block[:3]
            size -= 3
        bom = False
        cut = block.rfind(b"\n", 0, size) + 1
        kept = bytes(block[cut:size])
        if cut:
            yield from _cut_many_lines(block, cut)
        if len(kept) > MAX_RECORD_BYTES:
            dropping, kept = len(kept), b""
    if dropping:
        yield Chunk(bytearray(sk.PADDING), 0, oversize=dropping)
    if kept:
        yield Chunk(bytearray(kept + bytes(sk.PADDING)), len(kept))


def _cut_many_lines(block: bytearray, size: int) -> Iterator[Chunk]:
    """The whole lines ``block[:size]`` as one chunk, or as pieces when there are very many: none has more lines than bytes."""
    if block.count(b"\n", 0, size) <= _MANY_LINES:
        yield Chunk(block, size)
        return
    start = 0
    while start < size:
        end = block.rfind(b"\n", start, start + _MANY_LINES) + 1 or block.find(b"\n", start, size) + 1
        yield Chunk(block[start:end] + bytes(sk.PADDING), end - start)
        start = end


def scan_chunk(chunk: Chunk) -> RecordBatch:
    """The records of a chunk; line numbers count from 1 within it.  Never raises for what the bytes hold."""
    if chunk.oversize:
        reason = f"the record has {chunk.oversize} bytes, at most {MAX_RECORD_BYTES} are taken"
        return empty_batch([Quarantined(1, "too_large", reason)], 1)
    if chunk.error:
        # What was lost cannot be counted, but that something was must not disappear: it stands for one record.
        return empty_batch([Quarantined(1, "stream", f"{chunk.error}: what came from this line on is lost")], 1)
    data = _read_only(np.frombuffer(chunk.data, np.uint8))
    count = int(sk.count_lines(data, chunk.size))
    line_start, line_end, status = (np.empty(count, np.int64) for _ in range(3))
    starts, ends, numbers = (np.empty((sk.N_FIELDS, count), np.int64) for _ in range(3))
    sk.scan_lines(data, chunk.size, nation_table(), line_start, line_end, status, starts, ends, numbers)
    received = int(np.count_nonzero(status != sk.SCAN_BLANK))
    quarantined: list[Quarantined] = []
    appender = RecordAppender(len(data))
    for row in np.flatnonzero(status == sk.SCAN_CAREFUL):
        line = bytes(chunk.data[line_start[row] : line_end[row]])
        problem = _read_carefully(line, int(row), appender, starts, ends, numbers)
        if problem:
            status[row] = sk.SCAN_BLANK
            quarantined.append(problem)
    keep = np.flatnonzero(status != sk.SCAN_BLANK)
    if len(appender.data):
        data = _read_only(np.concatenate([data, appender.data]))
    if len(keep) != count:
        starts, ends, numbers = (np.take(table, keep, axis=1) for table in (starts, ends, numbers))
    return RecordBatch(
        {name: TextColumn(data, starts[sk.COLUMN[name]], ends[sk.COLUMN[name]]) for name in TEXT_FIELDS},
        {name: numbers[sk.COLUMN[name]] for name in (*NUMBER_FIELDS, *OPTIONAL_NAMES)},
        {name: starts[sk.COLUMN[name]] >= 0 for name in OPTIONAL_NAMES}, keep + 1, quarantined, count, received,
    )  # fmt: skip


def find_damage(path: Path) -> str | None:
    """Why a compressed file's bytes are not the ones that were written, or None; an early end alone is no damage."""
    stream = _Stream(path, 0, None, CHUNK_BYTES)
    for _ in stream:
        pass
    return stream.error if stream.damaged else None


def give_up(chunk: Chunk, damage: str) -> RecordBatch:
    """All records of a chunk of a damaged file, quarantined."""
    batch = scan_chunk(chunk)
    lines = sorted([*(int(line) for line in batch.lines), *(q.line for q in batch.quarantined)])
    reason = f"{damage}: no record of this file can be trusted, land it again"
    return empty_batch([Quarantined(line, "stream", reason) for line in lines], batch.scanned)


def _read_only(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    # Arrow's buffers are read-only arrays; one kind of array for all means one compilation for all.
    data.flags.writeable = False
    return data


def _read_carefully(
    line: bytes, row: int, appender: RecordAppender, starts: Ints, ends: Ints, numbers: Ints
) -> Quarantined | None:
    """Take one line the careful way into column ``row``, or say why not."""
    game_id: str | None = None
    try:
        found = parse_json(line)
        game_id = id_to_show(found.get("game_id"))
        appender.place(check_object(found), row, starts, ends, numbers)
    except MalformedRecord as problem:
        return Quarantined(row + 1, problem.code, str(problem), game_id)
    return None


__all__ = ["CHUNK_BYTES", "Chunk", "find_damage", "give_up", "read_chunks", "scan_chunk", "split_lines"]
