"""Reading NDJSON: the compiled scan and the careful way are one reader, whatever the chunks, the compression and the damage are.

Cases E3, E4, E7, E9 and all bad input of the record format.
"""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from replay import ndjson
from replay import scan_kernel as sk
from replay.errors import InputError
from replay.lookup import read_record
from replay.record import MAX_RECORD_BYTES, parse_record
from replay.shards import plan_shards
from tests.replay.build import CAREFUL, Read, line, read_bytes, read_file, record, refusal
from tests.replay.test_record import BAD, GOOD

BOM = b"\xef\xbb\xbf"
BEFORE, AFTER = line(game_id="before"), line(game_id="after")


def lines(count: int, first: int = 1) -> list[bytes]:
    return [line(game_id=f"g-{number}") for number in range(first, first + count)]


def ids(read: Read) -> dict[int, str]:
    return {number: found.game_id for number, found in read.records.items()}


# --- One bad or odd line among good ones ------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", ["", CAREFUL], ids=["plain neighbours", "careful neighbours"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_set_aside_and_its_neighbours_stay(name: str, tail: str) -> None:
    """E3: the true line number, the authority's own code and reason, nothing lost."""
    text, code, part = BAD[name]
    read = read_bytes(b"\n".join([line(tail, game_id="before"), text, line(tail, game_id="after")]))
    assert ids(read) == {1: "before", 3: "after"}
    assert (read.received, read.scanned) == (3, 3)
    problem = refusal(text)
    assert (read.quarantined[2].code, read.quarantined[2].reason) == (code, str(problem))
    assert part in read.quarantined[2].reason


@pytest.mark.parametrize("name", GOOD)
def test_an_odd_line_is_taken_among_plain_ones(name: str) -> None:
    text, _ = GOOD[name]
    read = read_bytes(b"\n".join([BEFORE, text, AFTER]))
    assert read.records == {1: record(game_id="before"), 2: parse_record(text), 3: record(game_id="after")}
    assert (read.quarantined, read.received) == ({}, 3)


@pytest.mark.parametrize(("name", "cut"), [("first", 0), ("middle", 1), ("last", 2)])
def test_half_a_line_at_any_place(name: str, cut: int) -> None:
    whole = lines(3)
    whole[cut] = whole[cut][:60]
    read = read_bytes(b"\n".join(whole))
    assert read.codes() == {cut + 1: "json"}
    assert len(read.records) == 2
    assert read.received == 3


def test_two_lines_that_ran_together_are_one_bad_line() -> None:
    first, second, third = lines(3)
    read = read_bytes(first[:70] + second + b"\n" + third)
    assert read.codes() == {1: "json"}
    assert ids(read) == {2: "g-3"}


def test_the_id_of_a_bad_line_is_kept_when_it_can_be_read_and_shown() -> None:
    texts = [
        line(game_id="g-1", score="x"),
        line(game_id="a\u202eb", score="x"),
        line(game_id=7),
        b"{",
        line(game_id="", score="x"),
    ]
    read = read_bytes(b"\n".join(texts))
    assert [read.quarantined[number].game_id for number in range(1, 6)] == ["g-1", None, None, None, ""]


def test_a_file_of_bad_lines_only() -> None:
    """E7: all bad is another state than empty."""
    texts = [text for text, _, _ in BAD.values() if len(text) < 2000]
    read = read_bytes(b"\n".join(texts))
    assert (read.records, read.received) == ({}, len(texts))
    assert [read.quarantined[i + 1].reason for i in range(len(texts))] == [str(refusal(text)) for text in texts]


# --- Files: ends of lines, marks, encodings ---------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "scanned"), [
    (b"", 0), (b"\n", 1), (b"\r\n", 1), (b" \t\r\n\n  ", 3), (BOM, 0), (BOM + b"\r\n", 1), (b"\n" * 1000, 1000),
])  # fmt: skip
def test_nothing_is_no_record_and_no_error(data: bytes, scanned: int) -> None:
    read = read_bytes(data)
    assert (read.received, read.scanned, read.records, read.quarantined) == (0, scanned, {}, {})


@pytest.mark.parametrize("tail", ["", CAREFUL], ids=["plain", "careful"])
@pytest.mark.parametrize("last", ["", "\n", "\r\n", "\n\n", "\r\n \r\n"])
@pytest.mark.parametrize("mark", [b"", BOM], ids=["no mark", "mark"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_marks_and_line_ends(end: bytes, mark: bytes, last: str, tail: str) -> None:
    """E4: the first and the last record are there."""
    data = mark + end.join(line(tail, game_id=f"g-{number}") for number in (1, 2, 3)) + last.encode()
    read = read_bytes(data)
    assert ids(read) == {1: "g-1", 2: "g-2", 3: "g-3"}
    assert (read.quarantined, read.received) == ({}, 3)


def test_blank_lines_count_as_lines_and_not_as_records() -> None:
    read = read_bytes(b"\n\n" + BEFORE + b"\n \t\r\n\n" + b"{\n" + AFTER)
    assert ids(read) == {3: "before", 7: "after"}
    assert read.codes() == {6: "json"}
    assert (read.received, read.scanned) == (3, 7)


def test_a_mark_that_is_not_at_the_start_is_no_part_of_a_record() -> None:
    read = read_bytes(BOM + BEFORE + b"\n" + BOM + AFTER)
    assert ids(read) == {1: "before"}
    assert "BOM" in read.quarantined[2].reason
    assert read_bytes(BOM + BOM + BEFORE).codes() == {1: "json"}


def test_a_mark_where_a_piece_of_the_stream_begins_is_no_mark_of_the_file() -> None:
    for first in (BEFORE + b"\n", b"\n\n\n", BOM + BEFORE + b"\n"):
        read = read_bytes(first, BOM + AFTER + b"\n", BOM)
        assert list(read.codes().values()) == ["json", "json"]
        assert len(read.records) == (1 if BEFORE in first else 0)


@pytest.mark.parametrize("part", [BOM[:1], BOM[:2]])
def test_a_part_of_a_mark_is_a_bad_line(part: bytes) -> None:
    assert read_bytes(part).codes() == {1: "encoding"}
    assert read_bytes(part + BEFORE).codes() == {1: "encoding"}


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_file_in_another_encoding_is_never_an_empty_success(codec: str) -> None:
    data = "\n".join(text.decode() for text in lines(3)).encode(codec)
    read = read_bytes(data)
    assert read.records == {}
    assert read.received == len(read.quarantined) >= 3
    assert set(read.codes().values()) <= {"encoding", "json"}


def test_bare_carriage_returns_make_one_bad_line() -> None:
    read = read_bytes(b"\r".join(lines(4)))
    assert (read.records, read.received) == ({}, 1)
    assert "Extra data" in read.quarantined[1].reason


# --- Chunks -----------------------------------------------------------------------------------------------------------


def mixed_file() -> bytes:
    """Good, odd, bad and blank lines with every kind of line end."""
    odd = [text for name, (text, _) in GOOD.items() if len(text) < 600][::23]
    bad = [text for name, (text, _, _) in BAD.items() if len(text) < 600][::41]
    texts = [*lines(4), b"", *odd, b" \r", *bad, *lines(3, 5)]
    random.Random(5).shuffle(texts)
    return BOM + b"\n".join(texts)


def test_any_chunk_size_gives_the_same_records_and_lines(tmp_path: Path) -> None:
    data = mixed_file()
    path = tmp_path / "mixed.ndjson"
    path.write_bytes(data)
    whole = read_file(path)
    assert len(whole.records) > 10
    assert len(whole.quarantined) > 5
    sizes = [1, 2, 3, 5, 7, 64, 397, 1000, len(data) // 2, len(data) - 1, len(data), len(data) + 1]
    for size in sizes:
        assert read_file(path, size) == whole, size


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_pieces_of_a_stream_give_the_same_lines(data: st.DataObject) -> None:
    alphabet = [b"\n", b"\r\n", b"{}", BEFORE, AFTER[:50], b" ", b"\xef", b"\xbb", b"\xbf", BOM, b"\xff", line(CAREFUL)]
    text = b"".join(data.draw(st.lists(st.sampled_from(alphabet), max_size=12)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    chunks = list(ndjson.split_lines(iter(pieces)))
    joined = b"".join(bytes(chunk.data[: chunk.size]) for chunk in chunks)
    assert joined == text.removeprefix(BOM)
    for chunk in chunks:
        assert len(chunk.data) >= chunk.size + sk.PADDING
    for chunk in chunks[:-1]:
        assert chunk.data[chunk.size - 1] == 10
    assert read_bytes(*pieces) == read_bytes(text)


@pytest.mark.parametrize("shard_games", [1, 2, 3, 5, 1000])
def test_shards_of_any_size_begin_and_end_with_lines(tmp_path: Path, shard_games: int) -> None:
    path = tmp_path / "mixed.ndjson"
    path.write_bytes(mixed_file() + b"\n" + b"x" * 200_000 + b"\n" + AFTER)
    whole = read_file(path)
    shards = plan_shards([path], shard_games)
    assert [s.start for s in shards] == [0, *(s.end for s in shards[:-1])]
    assert shards[-1].end == path.stat().st_size
    assert shard_games > 5 or len(shards) > 1
    received = scanned = 0
    records: dict[int, object] = {}
    for shard in shards:
        for chunk in ndjson.read_chunks(path, shard.start, shard.end):
            batch = ndjson.scan_chunk(chunk)
            records |= {scanned + int(number): batch.record(row) for row, number in enumerate(batch.lines)}
            received, scanned = received + batch.received, scanned + batch.scanned
    assert (records, received, scanned) == (whole.records, whole.received, whole.scanned)


# --- Size -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_bytes", [1 << 16, 1 << 20, 3 << 20, 16 << 20, 64 << 20])
@pytest.mark.parametrize("extra", [0, 1])
def test_the_limit_of_a_record_is_exact_wherever_chunks_end(tmp_path: Path, extra: int, chunk_bytes: int) -> None:
    size = MAX_RECORD_BYTES + extra
    big = line(game_id="big", note="x" * (size - len(line(game_id="big", note=""))))
    assert len(big) == size
    path = tmp_path / "big.ndjson"
    path.write_bytes(b"\n".join([BEFORE, big, AFTER, big]))
    read = read_file(path, chunk_bytes)
    taken = {1: "before", 3: "after"} if extra else {1: "before", 2: "big", 3: "after", 4: "big"}
    assert ids(read) == taken
    assert read.codes() == ({2: "too_large", 4: "too_large"} if extra else {})
    for found in read.quarantined.values():
        assert found.reason == f"the record has {size} bytes, at most {MAX_RECORD_BYTES} are taken"


@pytest.mark.parametrize("chunk_bytes", [100_000, 1 << 20, 16 << 20, 64 << 20])
@pytest.mark.parametrize("filling", [b"x", b" ", b"[", b"\xff"], ids=["text", "space", "brackets", "no UTF-8"])
def test_a_line_of_20_mb_is_one_bad_line(tmp_path: Path, filling: bytes, chunk_bytes: int) -> None:
    """E9: one absurd line has a limit and is set aside with it; the lines behind it keep their numbers."""
    path = tmp_path / "huge.ndjson"
    path.write_bytes(b"\n".join([BEFORE, filling * 20_000_000, AFTER, b"{", filling * 2_000_000]))
    read = read_file(path, chunk_bytes)
    assert ids(read) == {1: "before", 3: "after"}
    assert read.codes() == {2: "too_large", 4: "json", 5: "too_large"}
    assert read.quarantined[2].reason == f"the record has 20000000 bytes, at most {MAX_RECORD_BYTES} are taken"
    assert (read.received, read.scanned) == (5, 5)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_reading_takes_bounded_memory(tmp_path: Path, suffix: str) -> None:
    """E9: 300 MB in one line, which compression makes tiny, are never held at once."""
    script = f"""
import resource, zlib, zstandard
from pathlib import Path
from replay import ndjson
path = Path({str(tmp_path / ("huge.ndjson" + suffix))!r})
raw = zlib.compressobj(1, zlib.DEFLATED, 31) if path.suffix == ".gz" else zstandard.ZstdCompressor().compressobj()
put, end = (lambda data: data, lambda: b"") if path.suffix == ".ndjson" else (raw.compress, raw.flush)
with path.open("wb") as out:
    out.write(put({BEFORE!r} + b"\\n"))
    for _ in range(300):
        out.write(put(b"x" * 1_000_000))
    out.write(put(b"\\n" + {AFTER!r}))
    out.write(end())
ndjson.scan_chunk(ndjson.Chunk(bytearray({BEFORE!r} + bytes(16)), {len(BEFORE)}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = [ndjson.scan_chunk(chunk) for chunk in ndjson.read_chunks(path)]
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, sum(b.received for b in found))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    grown, received = map(int, done.stdout.split())
    assert received == 3
    assert grown < 180


# --- Compression ------------------------------------------------------------------------------------------------------


def zstd(data: bytes, **options: object) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(data)


def zstd_checked(data: bytes) -> bytes:
    return zstd(data, write_checksum=True)


PACK = {".gz": lambda data: gzip.compress(data, mtime=0), ".zst": zstd_checked}
SUFFIXES = list(PACK)


def packed(folder: Path, suffix: str, *members: bytes) -> Path:
    path = folder / f"games.ndjson{suffix}"
    path.write_bytes(b"".join(members))
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_compressed_file_is_read_like_a_plain_one(tmp_path: Path, suffix: str) -> None:
    data = mixed_file()
    assert read_file(packed(tmp_path, suffix, PACK[suffix](data))) == read_bytes(data)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("size", [1, 100, 333, 5000])
def test_members_and_frames_join_in_the_middle_of_lines(tmp_path: Path, suffix: str, size: int) -> None:
    data = b"\n".join(lines(40))
    members = [PACK[suffix](data[at : at + size]) for at in range(0, len(data), size)]
    members.insert(len(members) // 2, PACK[suffix](b""))
    read = read_file(packed(tmp_path, suffix, *members, PACK[suffix](b"")))
    assert ids(read) == {number: f"g-{number}" for number in range(1, 41)}
    assert read.quarantined == {}


def test_frames_of_every_kind_of_zstd(tmp_path: Path) -> None:
    data = b"\n".join(lines(40))
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    frames = [
        zstd(data[:5000], level=19), zstd(data[5000:9000], write_checksum=True), b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc",
        stream.compress(data[9000:12000]) + stream.flush(), zstd(data[12000:], write_content_size=False),
    ]  # fmt: skip
    assert len(read_file(packed(tmp_path, ".zst", *frames)).records) == 40


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_and_a_compressed_nothing_hold_no_records(tmp_path: Path, suffix: str) -> None:
    for members in ((), (PACK[suffix](b""),), (PACK[suffix](b"\n\n"),)):
        read = read_file(packed(tmp_path, suffix, *members))
        assert (read.received, read.records, read.quarantined) == (0, {}, {})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_ends_too_early_keeps_its_good_lines_and_counts_the_loss(tmp_path: Path, suffix: str) -> None:
    """Cut at any byte: some first lines stay, half a line is a bad one, and the loss stands for one record, never nothing."""
    # Incompressible names, so that the stream has many blocks to be cut in.
    rng = random.Random(1)
    whole = [line(game_id=f"g-{number}", platform=f"{rng.getrandbits(256):064x}") for number in range(1, 300)]
    data = PACK[suffix](b"\n".join(whole))
    path = tmp_path / f"cut.ndjson{suffix}"
    kept = set()
    for size in [*range(1, 60), *range(60, len(data) - 20, 997), *range(len(data) - 20, len(data))]:
        path.write_bytes(data[:size])
        read = read_file(path)
        count = len(read.records)
        assert ids(read) == {number: f"g-{number}" for number in range(1, count + 1)}, size
        codes = list(read.codes().values())
        assert codes in (["stream"], ["json", "stream"]), (size, codes)
        lost = read.quarantined[max(read.quarantined)]
        assert lost.reason.endswith("stream ends too early: what came from this line on is lost")
        assert max(read.quarantined) == read.scanned
        assert ndjson.find_damage(path) is None
        kept.add(count)
    assert min(kept) == 0
    # Nothing is missing but (a part of) the checksum: every line was read.
    assert max(kept) == 299
    assert len(kept) > (10 if suffix == ".gz" else 2)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_wrong_checksum_gives_up_the_whole_file(tmp_path: Path, suffix: str) -> None:
    """No byte of it can be trusted, so no game is taken, and none is flagged either."""
    data = bytearray(PACK[suffix](b"\n".join([*lines(20), b"{", b""])))
    data[-6 if suffix == ".gz" else -1] ^= 1
    path = packed(tmp_path, suffix, bytes(data))
    read = read_file(path)
    assert read.records == {}
    assert set(read.codes().values()) == {"stream"}
    assert read.received >= 1
    for found in read.quarantined.values():
        assert "no record of this file can be trusted, land it again" in found.reason
        assert f"the {'gzip' if suffix == '.gz' else 'zstd'} stream is damaged" in found.reason


def test_a_wrong_length_gives_up_the_whole_file(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b"\n".join(lines(20))))
    data[-1] ^= 1
    read = read_file(packed(tmp_path, ".gz", bytes(data)))
    assert read.records == {}
    assert "incorrect length check" in read.quarantined[1].reason


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damage_anywhere_is_never_a_game(tmp_path: Path, suffix: str) -> None:
    """One flipped bit at any place: the file is given up, or it ends early; a record that was not written never comes out."""
    whole = lines(60)
    data = PACK[suffix](b"\n".join(whole))
    written = {parse_record(text) for text in whole}
    path = tmp_path / f"bad.ndjson{suffix}"
    rng = random.Random(2)
    for _ in range(150):
        flipped = bytearray(data)
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        read = read_file(path)
        if ndjson.find_damage(path):
            assert (read.records, set(read.codes().values())) == ({}, {"stream"})
        else:
            # A flag of the header that means nothing to the content, or a length that was never reached.
            assert set(read.records.values()) <= written


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("tail", [b"garbage", BEFORE, b"\x1f\x8b"], ids=["garbage", "a line", "half a header"])
def test_bytes_behind_the_stream_are_damage_or_an_early_end(tmp_path: Path, suffix: str, tail: bytes) -> None:
    read = read_file(packed(tmp_path, suffix, PACK[suffix](b"\n".join(lines(3)) + b"\n"), tail))
    assert "stream" in read.codes().values()
    assert read.received >= 1
    assert len(read.records) in (0, 3)


def test_zero_bytes_behind_a_gzip_stream_are_padding(tmp_path: Path) -> None:
    """What tapes and block devices add; gzip itself passes over it."""
    data = gzip.compress(b"\n".join(lines(3)))
    for zeros in (1, 511, 3 << 20):
        read = read_file(packed(tmp_path, ".gz", data, bytes(zeros)))
        assert (len(read.records), read.quarantined) == (3, {})
    first = gzip.compress(b"\n".join(lines(3)) + b"\n")
    assert ids(read_file(packed(tmp_path, ".gz", first, bytes(9), gzip.compress(AFTER), bytes(9))))[4] == "after"
    # Zeros in the middle of a line are no padding, and zeros before the stream no stream.
    assert read_file(packed(tmp_path, ".gz", bytes(4), data)).codes() == {1: "stream"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_plain_file_with_the_name_of_a_compressed_one(tmp_path: Path, suffix: str) -> None:
    read = read_file(packed(tmp_path, suffix, b"\n".join(lines(3))))
    assert (read.records, read.codes()) == ({}, {1: "stream"})


def test_a_damaged_second_member_gives_up_the_first_too(tmp_path: Path) -> None:
    bad = bytearray(gzip.compress(b"\n".join(lines(5))))
    bad[-5] ^= 1
    read = read_file(packed(tmp_path, ".gz", gzip.compress(b"\n".join(lines(5)) + b"\n"), bytes(bad)))
    assert read.records == {}
    assert read.received >= 5


def test_raw_deflate_and_zlib_are_not_gzip(tmp_path: Path) -> None:
    read = read_file(packed(tmp_path, ".gz", zlib.compress(b"\n".join(lines(3)))))
    assert (read.records, read.codes()) == ({}, {1: "stream"})


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.ndjson: cannot be read"):
        list(ndjson.read_chunks(tmp_path / "gone.ndjson"))


# --- The same line found again ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", *SUFFIXES])
def test_a_game_is_found_again_by_its_line(tmp_path: Path, suffix: str) -> None:
    data = mixed_file()
    path = packed(tmp_path, suffix, PACK[suffix](data) if suffix else data)
    whole = read_file(path)
    for number, expected in whole.records.items():
        assert read_record(path, number) == expected
    for number in whole.quarantined:
        with pytest.raises(InputError, match="is not the record that was verified any more"):
            read_record(path, number)
    with pytest.raises(InputError, match="has no line 999 any more"):
        read_record(path, 999)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_game_is_found_again_in_a_file_that_ended_too_early(tmp_path: Path, suffix: str) -> None:
    rng = random.Random(1)
    whole = [line(game_id=f"g-{number}", platform=f"{rng.getrandbits(256):064x}") for number in range(1, 2000)]
    data = PACK[suffix](b"\n".join(whole))
    path = packed(tmp_path, suffix, data[: len(data) * 2 // 3])
    read = read_file(path)
    assert len(read.records) > 500
    for number in (1, 2, len(read.records) // 2, len(read.records)):
        assert read_record(path, number) == read.records[number]
    with pytest.raises(InputError):
        read_record(path, len(read.records) + 2)
