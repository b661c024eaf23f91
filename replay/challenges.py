"""The challenge table (rules/common): what every attempt of a challenge starts from."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from replay.errors import ReferenceDataError
from replay.games import kind_of
from replay.games.kind import Rules
from replay.record import GAMES
from replay.rulebook import Rulebook

COLUMNS = ["game", "challenge", "mode", "rules", "rng_seed", "start_board", "pieces"]
SEEDS = Path(__file__).parent.parent / "seeds"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def challenge_date(name: str) -> date | None:
    """The date that a challenge is named after, or None: only those are daily challenges."""
    if not _DATE.fullmatch(name):
        return None
    try:
        return date.fromisoformat(name)
    except ValueError:
        return None


@dataclass(frozen=True)
class Challenge:
    """One row of the table.  ``rng_seed`` is an unsigned 64-bit integer; ``pieces`` names joined by spaces or ``""``."""

    game: str
    challenge: str
    mode: str
    rules: str
    rng_seed: int
    start_board: str
    pieces: str

    @property
    def date(self) -> date | None:
        """The day of a daily challenge, None for one that is named otherwise."""
        return challenge_date(self.challenge)

    def deal(self, rules: Rules, mode: str | None = None) -> Any:
        """What a game in ``mode`` (default: the challenge's own) starts from, under one version of the rules.

        Neither need be the challenge's own.  Raises ValueError when that version does not know a piece or the board does not fit.
        """
        return kind_of(self.game).deal(rules, mode or self.mode, self.rng_seed, self.pieces, self.start_board)


@dataclass(frozen=True)
class ChallengeTable:
    """Challenges by (game, name), in the table's order; ``checks`` are what is still to be looked at before one is used."""

    rows: dict[tuple[str, str], Challenge]
    checks: dict[tuple[str, str], Callable[[], None]] = field(default_factory=dict, compare=False)

    def find(self, game: str, challenge: str) -> Challenge | None:
        """The challenge of that name, or None (reason ``unknown_challenge``).

        Raises ReferenceDataError for one of a table that was read lazily when it does not fit its rules.
        """
        check = self.checks.get((game, challenge))
        if check is not None:
            check()
        return self.rows.get((game, challenge))


def load_challenges(path: Path | None = None, rulebook: Rulebook | None = None, lazy: bool = False) -> ChallengeTable:
    """Read the table from ``path`` (default: seeds/challenges.csv).

    Numbers are read from text as integers and never pass through a double.  With a rulebook, a listed piece or a start board
    that the challenge's own rules do not know is refused here rather than held against a player; of a ``lazy`` table only the
    challenges that are found are looked at so closely.  Raises ReferenceDataError.
    """
    path = path or SEEDS / "challenges.csv"
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ReferenceDataError(f"{path}: the challenge table cannot be read ({error})") from error
    reader = csv.reader(text.splitlines())
    header = next(reader, [])
    if header != COLUMNS:
        raise ReferenceDataError(f"{path}: the first line is {','.join(header)!r}, it must be {','.join(COLUMNS)!r}")
    rows: dict[tuple[str, str], Challenge] = {}
    checks: dict[tuple[str, str], Callable[[], None]] = {}
    for cells in reader:
        if not cells:
            continue
        where = f"{path}: line {reader.line_num}"
        row = _read_row(where, cells)
        if (row.game, row.challenge) in rows:
            raise ReferenceDataError(f"{where}: challenge {row.challenge!r} of {row.game} stands in the table twice")
        rows[row.game, row.challenge] = row
        if rulebook is not None and lazy:
            checks[row.game, row.challenge] = partial(_check_rules, where, row, rulebook)
        elif rulebook is not None:
            _check_rules(where, row, rulebook)
    return ChallengeTable(rows, checks)


def _check_rules(where: str, row: Challenge, rulebook: Rulebook) -> None:
    """Refuse a challenge whose mode, pieces or board its own rules do not have; rules that nobody knows are the game's affair."""
    known = rulebook.find(row.game, row.rules)
    if known is None:
        return
    kind = kind_of(row.game)
    if not kind.plays(known, row.mode):
        raise ReferenceDataError(f"{where}: mode {row.mode!r} is not one of rules {row.rules}: {kind.mode_words(known)}")
    try:
        row.deal(known)
    except ValueError as error:
        raise ReferenceDataError(f"{where}: {error}") from error


def _read_row(where: str, cells: list[str]) -> Challenge:
    if len(cells) != len(COLUMNS):
        raise ReferenceDataError(f"{where}: {len(cells)} columns, there must be {len(COLUMNS)}")
    game, challenge, mode, rules, seed, start_board, pieces = cells
    if game not in GAMES:
        raise ReferenceDataError(f"{where}: game {game!r} is none of {', '.join(GAMES)}")
    # A challenge that lists its pieces needs no seed.
    if seed == "" and pieces:
        seed = "0"
    if not re.fullmatch(r"[0-9]{1,20}", seed) or int(seed) >= 2**64:
        raise ReferenceDataError(f"{where}: rng_seed {seed!r} is not an unsigned 64-bit integer")
    return Challenge(game, challenge, mode, rules, int(seed), start_board, pieces)
