"""A bucket as a source, on moto's S3 server on loopback: ETags, large files, buckets and rights."""

from __future__ import annotations

import pytest

from replay import landing
from replay.errors import UnreachableSource
from tests.replay.source_support import DAY, bring, landed, whys

pytest.importorskip("s3fs")


@pytest.fixture
def options(server):
    return server.options | {"secret": "hunter2hunter2"}


@pytest.fixture
def bucket(options):
    import s3fs

    store = s3fs.S3FileSystem(**options, use_listings_cache=False, skip_instance_cache=True)
    store.mkdir("uploads")
    yield store
    store.rm("uploads", recursive=True)


@pytest.fixture
def lake(tmp_path):
    return tmp_path / "lake"


URL = "s3://uploads/games/{day}/"
PREFIX = f"uploads/games/{DAY}"


def test_objects_of_the_day_are_brought(bucket, options, lake):
    large = bytes(range(256)) * 80_000
    bucket.pipe(f"{PREFIX}/a.ndjson", b"one\n")
    bucket.pipe(f"{PREFIX}/b.ndjson.gz", large)
    bucket.pipe(f"{PREFIX}/hour=01/c.ndjson", b"x")
    bucket.pipe("uploads/games/2026-10-30/d.ndjson", b"x")
    # What a console makes for an empty folder.
    bucket.call_s3("put_object", Bucket="uploads", Key=f"games/{DAY}/", Body=b"")
    brought = bring(URL, lake, options=options)
    assert landed(lake) == {"a.ndjson": b"one\n", "b.ndjson.gz": large}
    assert whys(brought) == {"hour=01": "is a folder"}
    assert bring(URL, lake, options=options).kept == 2


def test_an_object_that_is_written_again_with_equal_size_is_brought_again(bucket, options, lake):
    bucket.pipe(f"{PREFIX}/a.ndjson", b"one\n")
    bring(URL, lake, options=options)
    bucket.pipe(f"{PREFIX}/a.ndjson", b"two\n")
    assert bring(URL, lake, options=options).files == ("a.ndjson",)
    assert landed(lake) == {"a.ndjson": b"two\n"}


def test_an_object_that_is_written_again_while_it_is_read(bucket, options, lake, monkeypatch):
    bucket.pipe(f"{PREFIX}/a.ndjson", b"one\n")
    real = landing.Folder.fetch
    seen = []

    def fetch(self, look, target):
        real(self, look, target)
        if not seen:
            seen.append(target.read_bytes())
            bucket.pipe(f"{PREFIX}/a.ndjson", b"two\n")

    monkeypatch.setattr(landing.Folder, "fetch", fetch)
    brought = bring(URL, lake, options=options, patience=30)
    assert (seen, brought.left) == ([b"one\n"], ())
    assert landed(lake) == {"a.ndjson": b"two\n"}


def test_an_object_that_vanishes_between_listing_and_reading(bucket, options, lake, monkeypatch):
    bucket.pipe(f"{PREFIX}/a.ndjson", b"one\n")
    bucket.pipe(f"{PREFIX}/b.ndjson", b"two\n")
    real = landing.Folder.fetch

    def fetch(self, look, target):
        if look.path.endswith("a.ndjson") and bucket.exists(look.path):
            bucket.rm(look.path)
        real(self, look, target)

    monkeypatch.setattr(landing.Folder, "fetch", fetch)
    brought = bring(URL, lake, options=options)
    assert landed(lake) == {"b.ndjson": b"two\n"}
    assert "gone, tried 3 times" in whys(brought)["a.ndjson"]


def test_a_prefix_without_objects_is_no_file(bucket, options, lake):
    assert bring(URL, lake, options=options).files == ()


def test_patterns_in_a_bucket(bucket, options, lake):
    for name in (f"{DAY}-a.ndjson", f"{DAY}-b.ndjson", "2026-10-30-a.ndjson"):
        bucket.pipe(f"uploads/flat/{name}", b"x")
    assert bring("s3://uploads/flat/{day}-*.ndjson", lake, options=options).files == (f"{DAY}-a.ndjson", f"{DAY}-b.ndjson")
    assert bring("s3://uploads/flat/{day}-a.ndjson", lake, options=options).kept == 1


def test_a_missing_bucket_is_an_error(bucket, options, lake):
    with pytest.raises(UnreachableSource, match="mistyped is not there"):
        bring("s3://mistyped/games/{day}/", lake, options=options)


def test_a_store_that_cannot_be_reached_is_an_error_without_secrets(options, lake):
    with pytest.raises(UnreachableSource, match="cannot be read, tried once") as error:
        bring(URL, lake, retries=0, options=options | {"endpoint_url": "http://127.0.0.1:9"})
    assert "hunter2" not in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_with_a_path_in_it_is_refused(bucket, options, lake):
    bucket.pipe(f"{PREFIX}/a\\..\\b.ndjson", b"x")
    bucket.pipe(f"{PREFIX}/é%2F.ndjson", b"fine")
    brought = bring(URL, lake, options=options)
    assert landed(lake) == {"é%2F.ndjson": b"fine"}
    assert list(whys(brought).values()) == ["has a name that holds a path: only plain names are brought"]
