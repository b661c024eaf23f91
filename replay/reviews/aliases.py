"""Subjects that go by another name: a player was anonymised, and every upload of theirs has another key from then on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Aliases:
    """Which names are one subject's, and which of them is today's: the newest one given.

    Renames are taken in the order in which they were made; one that leads back makes the old name today's again.
    """

    def __init__(self, renames: Iterable[tuple[str, str]] = ()) -> None:
        self._names: dict[str, list[str]] = {}
        for old, new in renames:
            self.rename(old, new)

    def rename(self, old: str, new: str) -> bool:
        """Give ``old`` the name ``new``; whether that changed anything."""
        first, second = self.names(old), self.names(new)
        if old in second and second[-1] == new:
            return False
        together = list(dict.fromkeys([*first, *second]))
        together.remove(new)
        together.append(new)
        for name in together:
            self._names[name] = together
        return True

    def names(self, subject: str) -> Sequence[str]:
        """All names of a subject, today's last."""
        return self._names.get(subject) or [subject]

    def today(self, subject: str) -> str:
        """The name that a subject goes by today."""
        return self.names(subject)[-1]
