"""A night proves itself: what it published would be worth nothing if forgeries passed, so each night some are planted.

Copies of the night's own honest games are forged (``replay.planted_kinds``), written to a file in the day's staging folder,
and go the way of every other game: the same reader, ``verify_shard`` with the same settings, ``resolve`` and the writing of
verdicts.  Nothing in the file tells them from others; what must come of each is held here, in memory.  All must be caught with
the right reasons, and their originals must be verified beside them, or the night fails (PlantedMissed).  Their rows end here.

The night's sample for both engines (``replay.two_engines``) is replayed here as well.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replay.clocks import find_odd_clocks
from replay.draw import Keeper, Kept
from replay.errors import EngineDisagreement, PlantedMissed
from replay.games import NAMES
from replay.planted_kinds import Forge, Ids, Planted, as_line, has_time_left
from replay.record import Record
from replay.relations import resolve
from replay.shards import plan_shards, verify_shard
from replay.two_engines import as_object, refuse_disagreement

if TYPE_CHECKING:
    import duckdb

    from replay.night import NightSettings
    from replay.publish import _Part
    from replay.verify import Verifier


@dataclass
class Proof:
    """What a night did to prove itself, as run.json has it: verified games that were replayed by both engines, and by game how
    many forgeries were ``planted`` and ``caught``, and the kinds that were ``not_planted``, each with the reason; None when
    planting is switched off."""

    sampled: int = 0
    planted: dict[str, dict[str, Any]] | None = None

    def as_json(self) -> dict[str, Any]:
        return {"sampled": self.sampled, "planted": self.planted}


@dataclass
class _Plan:
    """Lines to plant with what must come of them, their originals, and what could not be planted, by game."""

    planted: list[Planted] = field(default_factory=list)
    originals: dict[str, Record] = field(default_factory=dict)
    not_planted: dict[str, dict[str, str]] = field(default_factory=dict)


def prove(
    con: duckdb.DuckDBPyConnection, folder: Path, day: date, parts: Sequence[_Part], keys: np.ndarray, settings: NightSettings
) -> Proof:
    """Plant this day's forgeries and replay its sample; ``parts`` are its verified shards, ``keys`` their ``keys_of``.

    ``folder`` is this call's own, below the day's staging folder, and is gone afterwards.  Raises PlantedMissed and
    EngineDisagreement; then nothing of the day may be published.
    """
    verifier = settings.verifier()
    keeper = Keeper(settings.draw(day))
    for part in parts:
        keeper.merge(json.loads(part.stem.with_suffix(".drawn.json").read_text("utf-8")))
    for kept in keeper.sample:
        refuse_disagreement(kept.record, kept.compiled, verifier.rulebook, verifier.challenges)
    if not settings.plant:
        return Proof(len(keeper.sample))
    plan = plan_forgeries(day, {game: alone(held, keys) for game, held in keeper.fit.items()}, verifier)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        _catch(con, folder, day, plan, verifier, settings)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    counts = {game: sum(planted.game == game for planted in plan.planted) for game in NAMES}
    return Proof(
        len(keeper.sample),
        {
            game: {"planted": counts[game], "caught": counts[game], "not_planted": plan.not_planted[game]} for game in NAMES
        },
    )  # fmt: skip


def alone(held: list[Kept], keys: np.ndarray) -> list[Kept]:
    """The games whose id and attempt no other upload of the day has: beside them a planted one is the only other.

    Uploads of other days play no part, so that a day has the same forgeries whatever days were run before it.
    """
    upload, attempt = _times(keys[0], [kept.upload_key for kept in held]), _times(keys[1], [kept.attempt_key for kept in held])
    return [kept for kept in held if upload[kept.upload_key] == 1 and attempt[kept.attempt_key] == 1]


def _times(keys: np.ndarray, wanted: list[int]) -> dict[int, int]:
    """How often each of the wanted keys stands among all, in one pass."""
    some = np.unique(np.array(wanted, np.uint64))
    if not len(some):
        return {}
    at = np.minimum(np.searchsorted(some, keys), len(some) - 1)
    counts = np.bincount(at[some[at] == keys], minlength=len(some))
    return {int(key): int(count) for key, count in zip(some, counts, strict=True)}


def plan_forgeries(day: date, held: dict[str, list[Kept]], verifier: Verifier) -> _Plan:
    """What is planted this day, from the games that were kept for it."""
    plan = _Plan()
    candidates = {
        game: [kept for kept in held.get(game, []) if has_time_left(kept.record, verifier.challenges)] for game in NAMES
    }
    taken = {text for found in candidates.values() for kept in found for text in (kept.record.game_id, kept.record.player_id)}
    ids = Ids(day, taken)
    for game, found in candidates.items():
        records = {kept.record.game_id: kept for kept in found}
        forge = Forge(
            game, [kept.record for kept in found], verifier.rulebook, verifier.challenges, verifier.settings, ids
        )  # fmt: skip
        made, plan.not_planted[game] = forge.forge()
        plan.planted += made
        for origin in dict.fromkeys(origin for planted in made for origin in planted.origins):
            kept = records[origin]
            # What is planted is made of what its original claims: that had better be true in both engines.
            refuse_disagreement(kept.record, kept.compiled, verifier.rulebook, verifier.challenges)
            plan.originals[origin] = kept.record
    return plan


def _catch(
    con: duckdb.DuckDBPyConnection, folder: Path, day: date, plan: _Plan, verifier: Verifier, settings: NightSettings
) -> None:
    """Verify the planted lines and their originals, and hold what comes of them against what must.  Raises PlantedMissed."""
    lines: list[tuple[bytes, Planted | Record]] = [(planted.line, planted) for planted in plan.planted]
    lines += [(as_line(as_object(record)), record) for record in plan.originals.values()]
    # In no order that would tell the ones from the others.
    lines.sort(key=lambda line: hashlib.sha256(line[0]).digest())
    if not lines:
        return
    found = _verified(con, folder, day, [line for line, _ in lines], verifier, settings)
    missed = []
    for number, (_, what) in enumerate(lines, start=1):
        expected, came = _expected(what), _came(found[number], what) if number in found else "nothing"
        if expected != came:
            missed.append(_sentence(what, expected, came))
    if missed:
        more = f"; so are {len(missed) - 1} others" if len(missed) > 1 else ""
        raise PlantedMissed(
            f"{day}: {missed[0]}{more}: nothing is published, what verifies games here is wrong, do not act on its flags"
        )


def _verified(
    con: duckdb.DuckDBPyConnection, folder: Path, day: date, lines: list[bytes], verifier: Verifier, settings: NightSettings
) -> dict[int, dict[str, Any]]:
    """What a night makes of a file of these lines, by line: verdict rows, and quarantined ones (which have a ``code``)."""
    from replay import publish

    folder.mkdir(parents=True)
    path = folder / "games.ndjson"
    path.write_bytes(b"\n".join(lines) + b"\n")
    try:
        results = [verify_shard(shard, verifier, folder, settings.threads) for shard in plan_shards([path])]
    except EngineDisagreement as error:
        raise EngineDisagreement(f"{day}: of a forgery that was planted to prove the night, {error}", error.game) from error
    parts = publish.parts_of(folder, results)
    uploads = publish.uploads_of(parts, publish.repeated_rows(publish.keys_of(parts), None), day)
    relations = resolve(con, uploads) if len(uploads) else {}
    clocks = find_odd_clocks((batch for part in parts for batch in part.batches()), settings.judge)
    publish.write_verdicts(folder / "verdicts.parquet", parts, relations, day, clocks)
    columns = ["game_id", "verdict", "reason_codes", "suspicions", "copy_of", "source_line"]
    rows = publish.read_verdicts(folder / "verdicts.parquet", columns).to_pylist()
    return {row["source_line"]: row for row in [*rows, *(row for part in parts for row in part.quarantined())]}


def _expected(what: Planted | Record) -> str:
    if isinstance(what, Record):
        return _words("verified", ())
    return _words(what.verdict, [what.code] if what.code else what.reasons, what.suspicion)


def _came(row: dict[str, Any], what: Planted | Record) -> str:
    """What came of a line, as ``_expected`` says it: of its suspicions only the one that is asked for."""
    if "code" in row:
        return _words("quarantined", [row["code"]])
    asked = None if isinstance(what, Record) else what.suspicion
    return _words(row["verdict"], row["reason_codes"], asked if asked in row["suspicions"] else None)


def _words(verdict: str, reasons: Sequence[str], suspicion: str | None = None) -> str:
    with_reasons = f"{verdict} ({', '.join(reasons)})" if reasons else verdict
    return f"{with_reasons} with {suspicion}" if suspicion else with_reasons


def _sentence(what: Planted | Record, expected: str, came: str) -> str:
    if isinstance(what, Record):
        return f"{what.game} game {what.game_id!r}, of which forgeries were made, should be {expected} beside them, but is {came}"
    of = " and ".join(map(repr, what.origins))
    return f"a planted {what.game} forgery ({what.kind}, made of game {of}) should be {expected}, but is {came}"


__all__ = ["Proof", "alone", "plan_forgeries", "prove"]
