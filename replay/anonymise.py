"""Anonymised players in what is published already: their old ids give way to the new ones.

A game that lands after its player was anonymised bears the new id.  The rows published before must bear it too: otherwise the
player's own retry would meet its first upload as that of a stranger, and a day that is restated would be written with the old id.
Decisions about their games are found by a key that the player's id goes into: they are told the new keys.
"""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from replay.lake import Lake, Publication
from replay.night import NightSettings, read_run
from replay.parquet import text_column
from replay.publish import read_verdicts, run_text, sha256_of, write_table
from replay.reviews.model import subject_of
from replay.reviews.store import open_reviews, reviews_of
from replay.verify import VERDICT_SCHEMA, attempt_keys


def replace_old_ids(lake: Lake, settings: NightSettings) -> list[date]:
    """Publish the days whose verdicts hold an id that the players table replaces with the new one; the lake must be held.

    Returns those days.  run.json names the players table that a day's rows agree with, so a day is looked at once for each
    table.  Decisions about the players' games keep standing: the reviews learn the new subjects before anything is published, so
    a call that is killed in between finds and says the same again.  Raises ReferenceDataError, and InputError for verdicts and
    decisions that cannot be read.
    """
    digest = hashlib.sha256(settings.players_file.read_bytes()).hexdigest()
    anonymised = settings.anonymised()
    # A day whose run.json is gone is named where the warehouse is made.
    runs = {day: read_run(lake, day) for day in lake.published_days() if lake.run_file(day).exists()}
    stale = [day for day, run in runs.items() if run["players"] != digest]
    if not stale:
        return []
    publication, changed = Publication(lake), []
    renamed: dict[str, str] = {}
    decided: set[str] | None = None
    for day in stale:
        verdicts = lake.verdict_file(day)
        if _holds_any(verdicts, anonymised):
            if decided is None:
                decided = {decision.game_id for decision in reviews_of(lake).decisions}
            rows = read_verdicts(verdicts)
            renamed |= _renamed_subjects(rows, anonymised, decided)
            staged = publication.stage(verdicts)
            write_table(staged, with_new_ids(rows, anonymised))
            runs[day]["verdict_file"] = sha256_of(staged)
            changed.append(day)
        publication.stage(lake.run_file(day)).write_text(run_text(runs[day] | {"players": digest}), "utf-8")
    _rename(lake, renamed)
    publication.commit()
    return changed


def _renamed_subjects(rows: pa.Table, anonymised: dict[str, str], decided: set[str]) -> dict[str, str]:
    """New subjects by the old ones, of those of the rows that a decision may be about and whose player gets a new id."""
    if not decided:
        return {}
    hit = pc.and_(
        pc.is_in(rows.column("player_id"), value_set=pa.array(list(anonymised), pa.string())),
        pc.is_in(rows.column("game_id"), value_set=pa.array(sorted(decided), pa.string())),
    )
    found = rows.filter(hit).to_pylist()
    return {subject_of(row): subject_of(row | {"player_id": anonymised[row["player_id"]]}) for row in found}


def _rename(lake: Lake, subjects: dict[str, str]) -> None:
    if not subjects:
        return
    with open_reviews(lake) as store:
        store.rename(subjects.items())


def _holds_any(verdicts: Path, anonymised: dict[str, str]) -> bool:
    if not anonymised:
        return False
    found = read_verdicts(verdicts, ["player_id"]).column("player_id")
    return bool(pc.any(pc.is_in(found, value_set=pa.array(list(anonymised), pa.string()))).as_py())


def with_new_ids(rows: pa.Table, anonymised: dict[str, str]) -> pa.Table:
    """Verdict rows with the new ids, and the keys that follow from them."""
    old = rows.column("player_id").to_pylist()
    new = [anonymised.get(player_id, player_id) for player_id in old]
    rows = rows.set_column(rows.schema.get_field_index("player_id"), "player_id", pa.array(new, pa.string()))
    hit = pa.array([row for row, (before, after) in enumerate(zip(old, new, strict=True)) if before != after], pa.int64())
    some = rows.take(hit).combine_chunks()
    column = {name: some.column(name).combine_chunks() for name in ("game", "challenge", "player_id")}
    before = some.column("attempt_key").to_numpy()
    keys = rows.column("attempt_key").to_numpy().copy()
    keys[hit.to_numpy()] = attempt_keys(
        some.column("attempt").to_numpy(), [text_column(column[name]) for name in column], before % 2 == 1,
        some.column("log_hash_low").to_numpy(),
    )  # fmt: skip
    return rows.set_column(rows.schema.get_field_index("attempt_key"), "attempt_key", pa.array(keys)).cast(VERDICT_SCHEMA)


__all__ = ["replace_old_ids", "with_new_ids"]
