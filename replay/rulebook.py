"""All rules files by game and version, and the modes they know."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import engine
from engine.ruleset import RulesError
from replay.errors import ReferenceDataError
from replay.games import NAMES, kind_of
from replay.games.kind import Rules

BUILT_IN = Path(engine.__file__).parent


class _Files(Mapping[tuple[str, str], Rules]):
    """Rules by (game, version), each read when it is first asked for."""

    def __init__(self, paths: dict[tuple[str, str], Path]) -> None:
        self._paths = paths
        self._read: dict[tuple[str, str], Rules] = {}

    def __getitem__(self, key: tuple[str, str]) -> Rules:
        if key not in self._read:
            try:
                self._read[key] = kind_of(key[0]).load_rules(self._paths[key])
            except RulesError as error:
                raise ReferenceDataError(str(error)) from error
        return self._read[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._paths)

    def __contains__(self, key: object) -> bool:
        return key in self._paths

    def __len__(self) -> int:
        return len(self._paths)


@dataclass(frozen=True)
class Rulebook:
    """Rules by (game, version), in the order of versions; ``hashes`` are SHA-256 of the files as read, ``paths`` the files."""

    rules: Mapping[tuple[str, str], Rules]
    hashes: dict[tuple[str, str], str]
    paths: Mapping[tuple[str, str], Path] = field(default_factory=dict)

    def find(self, game: str, version: str) -> Rules | None:
        """The rules of one version, or None when no file describes it (reason ``unknown_rules``)."""
        return self.rules.get((game, version))

    def text(self, game: str, version: str) -> bytes | None:
        """The rules file of one version as it was when it was read, or None when no file describes it.

        Raises ReferenceDataError for a file that is another one by now.
        """
        path = self.paths.get((game, version))
        if path is None:
            return None
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != self.hashes[game, version]:
            raise ReferenceDataError(f"{path}: the rules file was changed since it was read, start again")
        return data

    def versions(self, game: str) -> list[str]:
        """The versions known of a game, oldest first."""
        return [version for named, version in self.rules if named == game]


def load_rulebook(folder: Path | None = None, lazy: bool = False) -> Rulebook:
    """Read ``<folder>/<game>/<version>.toml`` (default: the built-in rules); files may lie in ``<folder>`` itself as well.

    A ``lazy`` rulebook reads a file when its rules are first asked for, so that a look at one game does not wait for the engines
    of the others.  Raises ReferenceDataError when the folder holds no rules file or one of those that are read cannot be used.
    """
    root = folder or BUILT_IN
    paths: dict[tuple[str, str], Path] = {}
    for game in NAMES:
        files = [*(root / game).glob("*.toml")]
        if folder is not None:
            files += [path for path in root.glob("*.toml") if _game_of(path) == game]
        for path in sorted(files, key=lambda p: (_version_key(p.stem), str(p))):
            # A rules file is named after its version, or it is refused when it is read.
            if (game, path.stem) in paths:
                raise ReferenceDataError(f"{path}: rules {path.stem} of {game} are described twice, remove one file")
            paths[game, path.stem] = path
    if not paths:
        raise ReferenceDataError(f"{root}: no rules file (<game>/<version>.toml) found here")
    rules = _Files(paths)
    if not lazy:
        list(rules.values())
    return Rulebook(rules, {key: _hash(path) for key, path in paths.items()}, paths)


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ReferenceDataError(f"{path}: cannot be read as a rules file ({error.strerror})") from error


def _game_of(path: Path) -> str:
    """The game that a rules file lying outside a game's folder names; a file that cannot be read belongs to blocks, whose
    loader then says what is wrong with it."""
    import tomllib

    try:
        return str(tomllib.loads(path.read_text("utf-8")).get("game", "blocks"))
    except (OSError, ValueError, RecursionError):
        return "blocks"


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else -1 for part in version.split("."))
