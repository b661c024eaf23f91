"""The challenge table (rules/common): what every attempt of a challenge starts from."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from engine.blocks.notation import piece_indexes, start_rows
from engine.blocks.single import Deal
from replay.errors import ReferenceDataError
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

    def deal(self, rules: object) -> Deal:
        """The challenge's pieces and board under one version of the rules, which may not be the challenge's own.

        Raises ValueError when that version does not know a piece or the board does not fit it.
        """
        from engine.blocks.rules import BlocksRules

        assert isinstance(rules, BlocksRules)
        pieces = tuple(piece_indexes(self.pieces, rules)) if self.pieces else None
        return Deal(self.rng_seed, pieces, tuple(start_rows(self.start_board, rules)))


@dataclass(frozen=True)
class ChallengeTable:
    """Challenges by (game, name), in the table's order."""

    rows: dict[tuple[str, str], Challenge]

    def find(self, game: str, challenge: str) -> Challenge | None:
        """The challenge of that name, or None (reason ``unknown_challenge``)."""
        return self.rows.get((game, challenge))


def load_challenges(path: Path | None = None, rulebook: Rulebook | None = None) -> ChallengeTable:
    """Read the table from ``path`` (default: seeds/challenges.csv).

    Numbers are read from text as integers and never pass through a double.  With a rulebook, a listed piece or a start board
    that the challenge's own rules do not know is refused here rather than held against a player.  Raises ReferenceDataError.
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
    for cells in reader:
        if not cells:
            continue
        where = f"{path}: line {reader.line_num}"
        row = _read_row(where, cells)
        if (row.game, row.challenge) in rows:
            raise ReferenceDataError(f"{where}: challenge {row.challenge!r} of {row.game} stands in the table twice")
        known = rulebook.find(row.game, row.rules) if rulebook else None
        if known:
            try:
                row.deal(known)
            except ValueError as error:
                raise ReferenceDataError(f"{where}: {error}") from error
            if row.mode not in known.continues:
                raise ReferenceDataError(
                    f"{where}: mode {row.mode!r} is not one of rules {row.rules}: {', '.join(known.continues)}"
                )
        rows[row.game, row.challenge] = row
    return ChallengeTable(rows)


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
