"""Games counted by rules that they do not name, for a preview: what each log gives, and a day's verdict rows with those scores.

The compiled engine alone counts here: nobody is accused of anything, so no game is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.batch import BatchResult
from engine.outcome import DEAL_EXHAUSTED, END, FAULT_NAMES
from replay.columns import Ints, RecordBatch
from replay.database import connect, quoted, rows_of
from replay.errors import NightError, first_line
from replay.games.kind import Rules
from replay.lake import Lake
from replay.night import NightSettings
from replay.reviews.copies import standing_subjects
from replay.reviews.model import Decision, subject_of
from replay.rulebook import Rulebook
from replay.shards import Shard, worked_batches
from replay.standings_queries import read_sql
from replay.verify import Verifier, arrow_text

if TYPE_CHECKING:
    import duckdb

_RESCORED = pa.schema(
    [
        ("source_file", pa.string()), ("source_line", pa.int64()), ("score", pa.int64()), ("moves", pa.int64()),
        ("ended", pa.bool_()), ("playable", pa.bool_()), ("fault", pa.string()),
    ]
)  # fmt: skip
_FAULTS = pa.array([*FAULT_NAMES.values(), None], pa.string())


@dataclass(frozen=True)
class Counted:
    """A batch of games as the other rules count them: ``rows`` (the columns of _RESCORED but the file, lines from 1 in the
    batch), and how many lines and records the batch had."""

    rows: pa.RecordBatch
    scanned: int
    received: int


class Rescorer(Verifier):
    """Counts the games of one version by other rules; games that name another version are left out."""

    def count(self, batch: RecordBatch) -> Counted:
        """What the rules give for each game that is taken.

        ``ended`` when its log is legal to its end; else ``fault`` names what stopped it, or it is not ``playable``: its mode, its
        board or a piece of its challenge is none of these rules', for which no player answers.
        """
        result = BatchResult.empty(len(batch))
        text = {name: arrow_text(batch.texts[name]).dictionary_encode() for name in ("game", "mode", "rules", "challenge")}
        codes, combinations = self._combine(batch, text)
        self._replay(batch, result, codes, combinations)
        taken = np.flatnonzero(np.array([c.rules is not None for c in combinations], np.bool_)[codes])
        dealt = np.array([c.deal is not None for c in combinations], np.bool_)[codes][taken]
        status = result.status[taken]
        playable = dealt & (status != DEAL_EXHAUSTED)
        columns = {
            "source_line": batch.lines[taken], "score": result.score[taken], "moves": result.moves[taken],
            "ended": playable & (status == END), "playable": playable,
        }  # fmt: skip
        rows = {name: pa.array(values) for name, values in columns.items()}
        rows["fault"] = _FAULTS.take(pa.array(_fault_numbers(status, playable)))
        return Counted(pa.RecordBatch.from_pydict(rows), batch.scanned, batch.received)


def _fault_numbers(status: Ints, playable: np.ndarray) -> Ints:
    numbers = np.full(len(status), len(FAULT_NAMES), np.int64)
    for number, code in enumerate(FAULT_NAMES):
        numbers[playable & (status == code)] = number
    return numbers


def rescorer(settings: NightSettings, game: str, version: str, rules: Rules) -> Rescorer:
    """What counts the games of ``game`` that name ``version`` by ``rules``.  Raises ReferenceDataError."""
    verifier = settings.verifier()
    return Rescorer(Rulebook({(game, version): rules}, {}), verifier.challenges, verifier.settings, verifier.anonymised)


def rescore_day(
    before: Lake, after: Lake, day: date, shards: Sequence[Shard], counting: Rescorer, settings: NightSettings,
    decided: Collection[str], advance: Callable[[int], None],
) -> dict[str, str]:  # fmt: skip
    """Write a day's verdict and quarantine files to ``after``: those of ``before`` with the scores that the rules give.

    Returns, by the old ones, the new keys of the uploads of the games ``decided`` about: a claim is part of a key.  ``advance``
    is told the records that are done.  Raises NightError when DuckDB cannot put the scores in (its memory is too small).
    """
    import duckdb

    counted = after.root / "rescored.parquet"
    _count_games(counted, shards, counting, settings.threads, advance)
    try:
        with connect(memory_limit=settings.memory_limit, threads=settings.threads, spill=after.root / "spill") as con:
            verdicts, aside = before.verdict_file(day), before.quarantine_file(day)
            _view(con, "published", verdicts, ", file_row_number = true")
            _view(con, "published_aside", aside)
            _view(con, "rescored", counted)
            rows = rows_of(con.execute(read_sql("queries/preview_decided"), {"game_ids": sorted(decided)})) if decided else []
            _write(con, "preview_rescored", after.verdict_file(day))
            _write(con, "preview_set_aside", after.quarantine_file(day))
    except duckdb.Error as error:
        raise NightError(f"{day}: scores cannot be put in ({first_line(error)}), look at REPLAY_MEMORY_LIMIT, TMPDIR") from error
    counted.unlink()
    return {subject_of(row): subject_of(row | {"score": row["new_score"]}) for row in rows}


def on_standing(lake: Lake, days: Collection[date], decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions, those on copies as if they had been taken on the upload that stands: only that one is counted again."""
    files = [str(lake.verdict_file(day)) for day in sorted(days)]
    ids = sorted({decision.game_id for decision in decisions})
    if not ids or not files:
        return list(decisions)
    with connect() as con:
        rows = rows_of(con.execute(read_sql("queries/preview_copies"), {"files": files, "game_ids": ids}))
    game_ids = {subject_of(row): row["game_id"] for row in rows}
    standing = {copy: (subject, game_ids[subject]) for copy, subject in standing_subjects(rows).items()}
    found = [(one, *standing.get(one.subject, (one.subject, one.game_id))) for one in decisions]
    return [replace(one, subject=subject, game_id=game_id) for one, subject, game_id in found]


def _count_games(
    path: Path, shards: Sequence[Shard], counting: Rescorer, threads: int | None, advance: Callable[[int], None]
) -> None:
    lines: dict[str, int] = {}
    done = 0
    with pq.ParquetWriter(path, _RESCORED, compression="zstd") as writer:
        for shard in shards:
            for counted in worked_batches(shard, counting.count, threads):
                before = lines.get(shard.name, 0)
                rows: dict[str, Any] = {name: counted.rows.column(name) for name in counted.rows.schema.names}
                rows["source_line"] = pa.array(rows["source_line"].to_numpy() + before)
                rows["source_file"] = pa.array([shard.name]).take(pa.array(np.zeros(counted.rows.num_rows, np.int64)))
                writer.write_table(pa.Table.from_pydict(rows).select(_RESCORED.names).cast(_RESCORED))
                lines[shard.name] = before + counted.scanned
                done += counted.received
                advance(done)


def _view(con: duckdb.DuckDBPyConnection, name: str, path: Path, more: str = "") -> None:
    con.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM read_parquet({quoted(path)}, hive_partitioning = false{more})")


def _write(con: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    # In place of a link, whose target must not be written.
    path.unlink(missing_ok=True)
    con.execute(f"COPY ({read_sql(f'queries/{query}')}) TO {quoted(path)} (FORMAT parquet, COMPRESSION zstd)")


__all__ = ["Counted", "Rescorer", "rescore_day", "rescorer"]
