"""Which games of a day are looked at twice: replayed by both engines, or copied by the forgeries that a night plants.

They are drawn by a hash of the day, the log and the game's id, lowest first: the order of files and lines, shards, threads and
machines play no part.  The id is in it so that one log that was uploaded many times is no reason to replay it many times.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.batch import NONE, BatchResult
from engine.outcome import FAULT_NAMES
from engine.words import MIX1, MIX2
from replay.columns import Ints, RecordBatch, Truths
from replay.record import MAX_TEXT_BYTES, OPTIONAL_FIELDS, Record

Words = npt.NDArray[np.uint64]
# Games of each kind of game that are kept for forgers: some will not do for one kind of forgery or another.
KEPT = 24
# A log shorter than this has no middle worth the name; a longer one than that would make a night wait for its own proof.
LEAST_TOKENS, MOST_BYTES = 12, 16_384
# Of all texts together: a forged copy is written anew, with blanks and escapes that its original did without, and a byte can take
# six.  One that outgrows the record limit by that would say nothing but fail the night.
MOST_TEXT = 65_536
# Of an id: where its shape has no other one a forger's is longer, and must not be longer than a text may be.
MOST_ID = MAX_TEXT_BYTES // 2
_MILLION = 1_000_000


def seed_of(day: date) -> int:
    """The seed of a day's choices, an unsigned 64-bit word."""
    return int.from_bytes(hashlib.sha256(day.isoformat().encode("ascii")).digest()[:8], "little")


def ranks_of(seed: int, log_low: Words, log_high: Words, upload_key: Words) -> Words:
    """The place of each game in a day's draw, lowest first: SplitMix64's output over seed, log hash and hash of the id."""
    rank = np.full(len(log_low), seed, np.uint64)
    for words in (log_low, log_high, upload_key):
        rank ^= words
        rank = (rank ^ (rank >> np.uint64(30))) * np.uint64(MIX1)
        rank = (rank ^ (rank >> np.uint64(27))) * np.uint64(MIX2)
        rank ^= rank >> np.uint64(31)
    return rank


@dataclass(frozen=True)
class Kept:
    """A verified game that was drawn, with what the compiled engine said of it (``compiled_of``)."""

    rank: int
    record: Record
    compiled: dict[str, Any]
    upload_key: int
    attempt_key: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, held: dict[str, Any]) -> Kept:
        return cls(**{**held, "record": Record(**held["record"])})

    @property
    def text(self) -> str:
        """The record as a text, to tell apart what has one rank."""
        return json.dumps(asdict(self.record))


def compiled_of(result: BatchResult, row: int, game: str) -> dict[str, Any]:
    """What the compiled engine says of one game, as ``replay.two_engines.interpreted`` says it."""
    numbers = {name: int(getattr(result, name)[row]) for name in OPTIONAL_FIELDS.get(game, ())}
    low, high = (int(result.log_hash[row, word]) for word in range(2))
    return {
        "score": int(result.score[row]), "best_combo": int(result.best_combo[row]), "moves": int(result.moves[row]),
        "finished": bool(result.finished[row]), "board": int(result.board[row]),
        **{name: None if value == NONE else value for name, value in numbers.items()},
        "fault": FAULT_NAMES.get(int(result.status[row])), "log_hash": f"{high:016x}{low:016x}",
    }  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """The rows of a batch that may be among a day's lowest: ``sample`` for both engines, ``fit`` for forgers by game.

    The batch is held until somebody has looked at them.
    """

    batch: RecordBatch
    result: BatchResult
    ranks: Words
    upload_keys: Words
    attempt_keys: Words
    sample: Ints
    fit: dict[str, Ints]

    def kept(self, row: int, game: str | None = None) -> Kept:
        """One of the rows with its record."""
        record = self.batch.record(row)
        return Kept(
            int(self.ranks[row]), record, compiled_of(self.result, row, record.game), int(self.upload_keys[row]),
            int(self.attempt_keys[row]),
        )  # fmt: skip


@dataclass(frozen=True)
class Draw:
    """A day's draw: of the verified games ``per_million`` (about) are replayed by both engines, but ``least`` at least, as far as
    there are so many; with ``plants`` some finished ones are kept for forgers."""

    seed: int
    per_million: int
    least: int
    plants: bool = True

    @property
    def below(self) -> int:
        """Games of a lower rank than this are replayed by both engines, however many they are."""
        return self.per_million * 2**64 // _MILLION

    def of(self, batch: RecordBatch, result: BatchResult, rows: pa.RecordBatch, fine: Truths, standing: Truths) -> Drawn:
        """What a verified batch has for the draw.  ``rows`` are its verdict rows, all of them; ``fine`` the games in which the
        compiled engine finds nothing wrong, ``standing`` those in their challenge's own mode and rules."""
        upload, attempt = (rows.column(name).to_numpy() for name in ("upload_key", "attempt_key"))
        ranks = ranks_of(self.seed, result.log_hash[:, 0], result.log_hash[:, 1], upload)
        sample = _lowest(ranks, fine, self.least)
        if self.below > 0:
            # In this form a share of all games is no overflow.
            sample = np.union1d(sample, np.flatnonzero(fine & (ranks <= np.uint64(self.below - 1))))
        fit: dict[str, Ints] = {}
        if self.plants:
            moves, kinds = batch.texts["moves"], batch.texts["player_kind"]
            usable = fine & standing & (result.finished != 0) & (result.received >= LEAST_TOKENS)
            # Of an AI player's hands nothing is said: a forger that plays too quickly is a person.
            usable &= (moves.ends - moves.starts <= MOST_BYTES) & (kinds.ends - kinds.starts == len("human"))
            usable &= sum(text.ends - text.starts for text in batch.texts.values()) <= MOST_TEXT
            for ids in (batch.texts["game_id"], batch.texts["player_id"]):
                usable &= ids.ends - ids.starts <= MOST_ID
            games = rows.column("game")
            numbers = games.indices.to_numpy()
            for number, game in enumerate(games.dictionary.to_pylist()):
                fit[game] = _lowest(ranks, usable & (numbers == number), KEPT)
        return Drawn(batch, result, ranks, upload, attempt, sample, fit)


def _lowest(ranks: Words, among: Truths, count: int) -> Ints:
    """The rows with the ``count`` lowest ranks ``among`` some, and those of the same rank as the last of them."""
    rows = np.flatnonzero(among)
    if count <= 0:
        return rows[:0]
    if len(rows) <= count:
        return rows
    bar = np.partition(ranks[rows], count - 1)[count - 1]
    found: Ints = rows[ranks[rows] <= bar]
    return found


@dataclass
class Keeper:
    """Keeps the lowest of what was drawn, whatever the order in which it comes."""

    draw: Draw
    sample: list[Kept] = field(default_factory=list)
    fit: dict[str, list[Kept]] = field(default_factory=dict)

    def take(self, drawn: Drawn) -> None:
        """Take up a batch's; records are made only of those that are kept."""
        least = self.draw.least
        bar = self.sample[least - 1].rank if 0 < least <= len(self.sample) else 2**64 if least else -1
        rows = [int(row) for row in drawn.sample if int(drawn.ranks[row]) <= max(bar, self.draw.below - 1)]
        self._add(drawn.kept(row) for row in rows)
        for game, of_game in drawn.fit.items():
            held = self.fit.get(game, [])
            bar = held[-1].rank if len(held) >= KEPT else 2**64
            self._add_fit(game, (drawn.kept(int(row)) for row in of_game if int(drawn.ranks[row]) <= bar))

    def merge(self, held: dict[str, Any]) -> None:
        """Take up what another keeper wrote (``as_json``)."""
        self._add(map(Kept.from_json, held["sample"]))
        for game, entries in held["fit"].items():
            self._add_fit(game, map(Kept.from_json, entries))

    def as_json(self) -> dict[str, Any]:
        """For the files that a shard leaves."""
        return {
            "sample": [kept.as_json() for kept in self.sample],
            "fit": {game: [kept.as_json() for kept in held] for game, held in sorted(self.fit.items())},
        }

    def _add(self, entries: Iterable[Kept]) -> None:
        every = _in_order([*self.sample, *entries])
        self.sample = [kept for at, kept in enumerate(every) if at < self.draw.least or kept.rank < self.draw.below]

    def _add_fit(self, game: str, entries: Iterator[Kept]) -> None:
        self.fit[game] = _in_order([*self.fit.get(game, []), *entries])[:KEPT]


def _in_order(entries: list[Kept]) -> list[Kept]:
    """By rank, one of each: a rank that stands twice is the same log under the same id, uploaded twice; the lesser text stays."""
    found: dict[int, Kept] = {}
    for kept in entries:
        held = found.get(kept.rank)
        if held is None or kept.text < held.text:
            found[kept.rank] = kept
    return [found[rank] for rank in sorted(found)]
