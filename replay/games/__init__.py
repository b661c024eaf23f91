"""The games that a night can replay: one object a game says everything that differs between them.

An engine is imported when its game is first asked for, so that a dispute of one game opens without the others; nothing here
imports numba or numpy.  The compiled replayer of a game is ``engine.<game>.batch.BatchReplayer``, which only ``replay.verify``
and ``replay.doctor`` import.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from replay.games.kind import GameKind
from replay.record import GAMES

# In the order of the record's own list; a game of that list without an entry has no rules file yet (``unknown_rules``).
_MODULES = {
    "blocks": "replay.games.blocks", "tetromino": "replay.games.tetromino", "tetcolor": "replay.games.tetcolor",
}  # fmt: skip
NAMES = tuple(game for game in GAMES if game in _MODULES)


@cache
def kind_of(game: str) -> GameKind[Any, Any]:
    """Everything that is particular to one game.  Raises KeyError for a game that has no engine."""
    kind: GameKind[Any, Any] = import_module(_MODULES[game]).KIND
    return kind


__all__ = ["NAMES", "GameKind", "kind_of"]
