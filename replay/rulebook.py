"""All rules files by game and version, and the modes they know."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import engine
from engine.blocks.rules import BlocksRules, load_rules
from engine.ruleset import RulesError
from replay.errors import ReferenceDataError

BUILT_IN = Path(engine.__file__).parent
LOADERS = {"blocks": load_rules}


@dataclass(frozen=True)
class Rulebook:
    """Rules by (game, version), in the order of versions; ``hashes`` are SHA-256 of the files as read."""

    rules: dict[tuple[str, str], BlocksRules]
    hashes: dict[tuple[str, str], str]

    def find(self, game: str, version: str) -> BlocksRules | None:
        """The rules of one version, or None when no file describes it (reason ``unknown_rules``)."""
        return self.rules.get((game, version))

    def versions(self, game: str) -> list[str]:
        """The versions known of a game, oldest first."""
        return [version for named, version in self.rules if named == game]


def load_rulebook(folder: Path | None = None) -> Rulebook:
    """Read ``<folder>/<game>/<version>.toml`` (default: the built-in rules); files may lie in ``<folder>`` itself as well.

    Raises ReferenceDataError when the folder holds no rules file or one of them cannot be used.
    """
    root = folder or BUILT_IN
    rules: dict[tuple[str, str], BlocksRules] = {}
    hashes: dict[tuple[str, str], str] = {}
    for game, load in LOADERS.items():
        files = [*(root / game).glob("*.toml")]
        if folder is not None:
            files += [path for path in root.glob("*.toml") if _game_of(path) == game]
        for path in sorted(files, key=lambda p: (_version_key(p.stem), str(p))):
            try:
                loaded = load(path)
            except RulesError as error:
                raise ReferenceDataError(str(error)) from error
            if (game, loaded.version) in rules:
                raise ReferenceDataError(f"{path}: rules {loaded.version} of {game} are described twice, remove one file")
            rules[game, loaded.version] = loaded
            hashes[game, loaded.version] = hashlib.sha256(path.read_bytes()).hexdigest()
    if not rules:
        raise ReferenceDataError(f"{root}: no rules file (<game>/<version>.toml) found here")
    return Rulebook(rules, hashes)


def _game_of(path: Path) -> str:
    """The game that a rules file lying outside a game's folder names; a file that cannot be read belongs to blocks, whose
    loader then says what is wrong with it."""
    import tomllib

    try:
        return str(tomllib.loads(path.read_text("utf-8")).get("game", "blocks"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return "blocks"


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else -1 for part in version.split("."))
