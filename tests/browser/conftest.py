"""Pages in a real browser, chromium by Playwright; without either the tests are skipped, unless REPLAY_REQUIRE_BROWSER=1."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.stage import on_stage

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


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


@dataclass
class Watch:
    """What must not happen on any page: ``wrong`` has a sentence for each dialog, error in the console and request elsewhere."""

    url: str
    wrong: list[str] = field(default_factory=list)

    def page(self, page: Any) -> Any:
        """Look at a page from now on."""
        page.on("dialog", self._dialog)
        page.on("console", lambda message: self._console(page, message))
        page.on("pageerror", lambda error: self.wrong.append(f"{page.url}: {error}"))
        page.on("request", lambda request: self._request(page, request))
        page.on("popup", lambda popup: self.wrong.append(f"{page.url}: opened {popup.url}"))
        return page

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, page: Any, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"{page.url}: {message.text}")

    def _request(self, page: Any, request: Any) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.wrong.append(f"{page.url}: asked for {request.url}")
