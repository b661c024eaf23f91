"""The browser of all tests: chromium by Playwright; without either the tests are skipped, unless REPLAY_REQUIRE_BROWSER=1.

There is one for all: a second Playwright does not start beside the first.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stage import on_stage

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def _missing() -> str:
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed: pip install playwright"
    return "" if os.path.exists(CHROMIUM) else "there is no chromium: apt-get install chromium"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A running chromium, to be used in Playwright's thread only (``on_stage``)."""
    missing = _missing()
    if missing and os.environ.get("REPLAY_REQUIRE_BROWSER") == "1":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    playwright = on_stage(sync_playwright().start)()
    running = on_stage(playwright.chromium.launch)(executable_path=CHROMIUM, args=list(ARGUMENTS))
    yield running
    on_stage(running.close)()
    on_stage(playwright.stop)()
