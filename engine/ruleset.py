"""Loading and checking rules files: TOML in, one sentence with the key's name out when something is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

VERSION_PATTERN = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")


class RulesError(ValueError):
    """A rules file that cannot be used; the message names the file and the key."""


class Section:
    """A table of a rules file that checks what is taken from it and refuses keys that nobody asked for.

    A misspelt key would otherwise fall back to nothing in silence and change somebody's score.
    """

    def __init__(self, source: str, name: str, table: Any) -> None:
        if not isinstance(table, dict):
            raise RulesError(f"{source}: [{name}] must be a table")
        self.source, self.name, self._table, self._taken = source, name, table, set[str]()

    def _where(self, key: str) -> str:
        return f"{self.source}: {self.name + '.' if self.name else ''}{key}"

    def take(self, key: str, kind: type) -> Any:
        """The value of ``key``, which must be there and of ``kind`` (a bool is no int)."""
        self._taken.add(key)
        if key not in self._table:
            raise RulesError(f"{self._where(key)} is missing")
        value = self._table[key]
        if type(value) is not kind:
            raise RulesError(f"{self._where(key)} is {value!r}, it must be of type {kind.__name__}")
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both allowed."""
        value: int = self.take(key, int)
        if not low <= value <= high:
            raise RulesError(f"{self._where(key)} is {value}, it must lie from {low} to {high}")
        return value

    def integers(self, key: str, low: int, high: int) -> list[int]:
        """A non-empty list of integers, each from ``low`` to ``high``."""
        values = self.take(key, list)
        if not values or any(type(v) is not int or not low <= v <= high for v in values):
            raise RulesError(f"{self._where(key)} is {values!r}, it must be a list of integers from {low} to {high}")
        return list(values)

    def section(self, key: str) -> Section:
        """The sub-table ``key``."""
        return Section(self.source, f"{self.name}.{key}" if self.name else key, self.take(key, dict))

    def names(self) -> list[str]:
        """All keys of this table in the file's order."""
        return list(self._table)

    def done(self) -> None:
        """Raise RulesError when the table holds a key that nothing took."""
        unknown = [key for key in self._table if key not in self._taken]
        if unknown:
            raise RulesError(f"{self._where(unknown[0])} is not a key of a rules file")


def read_rules_file(path: Path, game: str) -> Section:
    """Open one rules file and check its ``game`` and ``version`` keys against the name it goes by.  Raises RulesError."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        # Besides what is no TOML: numbers of thousands of digits, and tables nested without end.
        raise RulesError(f"{path}: cannot be read as a rules file ({error})") from error
    top = Section(str(path), "", table)
    named = top.take("game", str)
    if named != game:
        raise RulesError(f"{path}: game is {named!r}, expected {game!r}")
    version = top.take("version", str)
    if not VERSION_PATTERN.fullmatch(version):
        raise RulesError(f"{path}: version is {version!r}, it must be three numbers like 1.2.0")
    if path.stem != version:
        raise RulesError(f"{path}: version is {version!r}, but the file is named {path.name!r}")
    return top
