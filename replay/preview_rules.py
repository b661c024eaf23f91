"""A rules file that is not among the others yet: read, checked, and laid out with them as nights would find it."""

from __future__ import annotations

import hashlib
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from engine.ruleset import VERSION_PATTERN, RulesError
from replay.errors import ReferenceDataError, first_line
from replay.games import NAMES, kind_of
from replay.games.kind import Rules
from replay.rulebook import Rulebook


@dataclass(frozen=True)
class NewRules:
    """A rules file that was read and checked; ``path`` is where, ``data`` its bytes."""

    path: Path
    game: str
    version: str
    data: bytes
    rules: Rules

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def read_new_rules(path: Path) -> NewRules:
    """Read and check a rules file, which may bear any name.  Raises ReferenceDataError."""
    try:
        data = path.read_bytes()
        table = tomllib.loads(data.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        # Besides what is no TOML: numbers of thousands of digits, and tables nested without end.
        raise ReferenceDataError(f"{path}: cannot be read as a rules file ({first_line(error)})") from error
    game, version = table.get("game"), table.get("version")
    if game not in NAMES:
        raise ReferenceDataError(f"{path}: game is {game!r}, it must be one of {', '.join(NAMES)}")
    if not isinstance(version, str) or not VERSION_PATTERN.fullmatch(version):
        raise ReferenceDataError(f"{path}: version is {version!r}, it must be three numbers like 1.2.0")
    with tempfile.TemporaryDirectory(prefix="replay-rules-") as folder:
        # A rules file that nights read is named after its version; this one is not among them yet.
        named = Path(folder) / f"{version}.toml"
        named.write_bytes(data)
        try:
            rules = kind_of(game).load_rules(named)
        except RulesError as error:
            raise ReferenceDataError(str(error).replace(str(named), str(path))) from error
    return NewRules(path, game, version, data, rules)


def rules_folder(folder: Path, base: Rulebook, new: NewRules) -> Path:
    """All rules files as they would lie there with the new one among them."""
    for game, version in base.paths:
        _write_rules(folder, game, version, base.text(game, version) or b"")
    _write_rules(folder, new.game, new.version, new.data)
    return folder


def _write_rules(folder: Path, game: str, version: str, data: bytes) -> None:
    path = folder / game / f"{version}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


__all__ = ["NewRules", "read_new_rules", "rules_folder"]
