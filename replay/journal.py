"""The journal of a publication on an object store: which staged object belongs where, and what was published before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from replay.errors import InputError
from replay.store import Entry


@dataclass(frozen=True)
class Journal:
    """The newest publication, ``number`` 0 for none; ``done`` when all is copied to its place.

    ``staged`` is the folder of the staged objects, ``moves`` are (target, staged object); ``warehouses`` the names of all
    warehouse files that were published, the newest last.
    """

    number: int = 0
    done: bool = True
    staged: str = ""
    moves: tuple[tuple[str, Entry], ...] = ()
    warehouses: tuple[str, ...] = ()

    def as_bytes(self) -> bytes:
        """What is stored of it; number and done stand in the names of objects."""
        moves = [[target, entry.key, entry.size, entry.etag] for target, entry in self.moves]
        return json.dumps({"staged": self.staged, "moves": moves, "warehouses": self.warehouses}).encode()


def parse_journal(text: bytes, number: int, done: bool, where: str) -> Journal:
    """The journal that ``text`` holds.  Raises InputError, which names it as ``where``."""
    try:
        held: dict[str, Any] = json.loads(text)
        moves = tuple((str(target), Entry(key, size, etag)) for target, key, size, etag in held["moves"])
        return Journal(number, done, held["staged"], moves, tuple(held["warehouses"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{where}: is no journal of a publication, restore this object") from error


def journal_key(number: int) -> str:
    """The object of a journal."""
    return f"publish/{number:012d}.json"


def newest_number(keys: Iterable[str]) -> int:
    """The number of the newest journal among the keys of ``publish/``; 0 when there is none."""
    found = (re.fullmatch(r"publish/([0-9]{12})\.json", key) for key in keys)
    return max((int(match[1]) for match in found if match), default=0)
