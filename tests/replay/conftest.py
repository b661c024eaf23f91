"""What the tests of replay share."""

from __future__ import annotations

import pytest

from tests.replay.store_support import s3_server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """An S3 server on loopback."""
    pytest.importorskip("moto")
    with s3_server(tmp_path_factory.mktemp("moto")) as running:
        yield running
