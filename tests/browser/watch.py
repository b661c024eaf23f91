"""What is watched on pages in a browser, and the sizes of its windows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


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
