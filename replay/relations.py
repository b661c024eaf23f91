"""What a game's verdict owes to other uploads: copies, conflicts, second logs of an attempt, somebody else's log.

Each upload is judged by itself first (``replay.verify``); the related ones, found by 64-bit keys over all days, are then
resolved together by sql/resolve_uploads.sql, which compares the values themselves.  A night that brings an upload related to
one of another day restates that day's verdict too, so the order in which days are run plays no part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.database import quoted, rows_of
from replay.record import format_time
from replay.verdict import NUMBER_CLAIMS, REASON_CODES

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SQL = Path(__file__).parent / "sql"
RELATIONAL_REASONS = ("duplicate_attempt", "conflicting_upload")
RELATIONAL_SUSPICIONS = ("copied_log",)
# What resolve_uploads.sql reads of an upload.
UPLOAD_COLUMNS = (
    "game_id", "game", "mode", "rules", "challenge", "player_id", "player_kind", "nation", "attempt", "platform", "app_version",
    "started_at", "finished_at", "uploaded_at", "score", "best_combo", "level", "lines", "final_board", "log_hash_low",
    "log_hash_high", "upload_key", "attempt_key", "log_key", "inputs_hash", "choices", "thinks", "replayed_score",
    "reason_codes", "source_file", "source_line",
)  # fmt: skip
# What an upload whose replay does not give all its claims is flagged for, whatever else is.
UNCONFIRMED = (*NUMBER_CLAIMS.values(), "board_mismatch", "illegal_move")
KEY_COLUMNS = ("upload_key", "attempt_key", "log_key")
# Two logs with a clock and the same inputs are one log with its times moved when, of LEAST_TIMES or more times of thought, so
# many percent are the same but for DELAY_TICKS; ``replay.suspicions`` says how seldom that is chance.
DELAY_TICKS, LEAST_TIMES, ALIKE_PERCENT = 2, 24, 90
# Logs of the same inputs that any other one of them is held against, the earliest ones.
EARLIEST = 64
_EPOCH = datetime(1970, 1, 1)
Identity = tuple[date, str, int]


@dataclass(frozen=True)
class Relation:
    """What other uploads say about one: at most one of copy and reasons applies to its verdict."""

    copy_of: str | None
    reasons: tuple[dict[str, Any], ...]
    suspicions: tuple[str, ...]
    evidence: dict[str, Any]


def resolve(con: duckdb.DuckDBPyConnection, uploads: pa.Table) -> dict[Identity, Relation]:
    """Relations by (day, file, line) among ``uploads`` (UPLOAD_COLUMNS and ``day``, date32); those without any are not in it."""
    con.register("uploads_in", uploads)
    # Boards are only compared: one longer than any honest one is its hash here, as the sorts keep every text many times.
    board = "case when strlen(final_board) > 1024 then concat(strlen(final_board), ' ', sha256(final_board)) else final_board end"
    con.execute(
        f"create or replace temp view uploads as select * replace ({board} as final_board),"
        " attempt_key % 2 = 1 as has_attempt, log_key <> 0 as is_long,"
        f" replayed_score is not null and not coalesce(list_has_any(reason_codes, {list(UNCONFIRMED)}), true) as comes_out"
        " from uploads_in"
    )
    limits = {
        "delay_ticks": DELAY_TICKS, "least_times": LEAST_TIMES, "alike_percent": ALIKE_PERCENT, "earliest": EARLIEST,
    }  # fmt: skip
    found = con.execute((SQL / "resolve_uploads.sql").read_text("utf-8"), limits)
    rows = rows_of(found)
    con.execute("drop view uploads")
    con.unregister("uploads_in")
    return {(row["day"], row["source_file"], row["source_line"]): _relation(row) for row in rows}


def _relation(row: dict[str, Any]) -> Relation:
    reasons: list[dict[str, Any]] = []
    if row["is_duplicate"]:
        found = f"another log of this attempt was uploaded before, as game {row['attempt_game_id']}"
        reasons.append({"code": "duplicate_attempt", "claimed": row["attempt"], "found": found, "move": None})
    if row["is_conflicting"]:
        first = format_time((row["first_uploaded_at"] - _EPOCH) // timedelta(microseconds=1))
        whose = "of one player" if row["players"] == 1 else f"of {row['players']} players"
        found = f"{row['contents']} different games {whose} were uploaded under this id, the first at {first}"
        reasons.append({"code": "conflicting_upload", "claimed": row["game_id"], "found": found, "move": None})
    evidence = {}
    if row["is_copied_log"]:
        numbers = {"first_game": row["log_game_id"], "players": row["log_players"]}
        if row["choices"] is not None:
            numbers["choices"] = row["choices"]
        if not row["is_same_text"]:
            numbers |= {"times": row["times"], "times_alike": row["times_alike"]}
        evidence["copied_log"] = numbers
    return Relation(
        row["standing_game_id"] if row["is_copy"] else None, tuple(reasons),
        ("copied_log",) if row["is_copied_log"] else (), evidence,
    )  # fmt: skip


def related_elsewhere(con: duckdb.DuckDBPyConnection, keys: pa.Table, files: Sequence[tuple[date, Path]]) -> pa.Table | None:
    """The uploads of other days that are related to ``keys`` (KEY_COLUMNS), directly or through one another.

    ``files`` are the verdict files of the other days.  The table has UPLOAD_COLUMNS and ``day``; None when there are no files.
    """
    if not files:
        return None
    con.register("new_keys", keys)
    # The day comes from the file that a row lies in, not from anything inside it.
    days = ", ".join(f"({quoted(path)}, date '{day}')" for day, path in files)
    paths = ", ".join(quoted(path) for _, path in files)
    columns = ", ".join(UPLOAD_COLUMNS)
    # A file of an earlier processing version lacks the columns that came later: they are null there.
    from replay.verify import VERDICT_SCHEMA

    con.register("no_uploads", VERDICT_SCHEMA.empty_table().select(UPLOAD_COLUMNS))
    con.execute(
        f"create or replace temp view elsewhere as select {columns}, days.day from (select * from no_uploads union all by name"
        f" select * from read_parquet([{paths}], filename = true, hive_partitioning = false, union_by_name = true)) as v"
        f" join (values {days}) as days(filename, day) on days.filename = v.filename"
    )
    con.execute("create or replace temp table wanted as select * from new_keys")
    con.execute("create or replace temp table found as select * from elsewhere limit 0")
    query = (SQL / "related_uploads.sql").read_text("utf-8")
    known = -1
    # Each round follows the keys of what the round before brought; a day's uploads are rarely more than one step away.
    while True:
        con.execute(f"create or replace temp table found as {query}")
        # fetchall and not fetchone: DuckDB 2.0 keeps a connection busy until a result is read to its end.
        total = int(con.execute("select count(*) from found").fetchall()[0][0])
        if total == known:
            break
        known = total
        con.execute(f"create or replace temp table wanted as select {', '.join(KEY_COLUMNS)} from new_keys"
                    f" union all select {', '.join(KEY_COLUMNS)} from found")  # fmt: skip
        if not total:
            break
    table: pa.Table = con.sql("select * from found order by day, source_file, source_line").to_arrow_table()
    con.unregister("new_keys")
    return table


def apply_relation(row: dict[str, Any], relation: Relation | None) -> dict[str, Any]:
    """The columns of a verdict row that relations decide, from the row as it stands and its relation now (None: none).

    What the upload says by itself is kept: relational codes are taken off first, so the result is the same however often
    and in whatever order days are restated.
    """
    reasons = [reason for reason in json.loads(row["reasons"]) if reason["code"] not in RELATIONAL_REASONS]
    suspicions = [sign for sign in row["suspicions"] if sign not in RELATIONAL_SUSPICIONS]
    evidence = json.loads(row["evidence"]) if row["evidence"] else {}
    evidence.pop("copied_log", None)
    if relation:
        reasons += relation.reasons
        suspicions = [*relation.suspicions, *suspicions]
        evidence |= relation.evidence
    reasons.sort(key=lambda reason: REASON_CODES.index(reason["code"]))
    copy_of = relation.copy_of if relation else None
    verdict = "copy" if copy_of is not None else "flagged" if reasons else "verified"
    return {
        "verdict": verdict,
        "counted": verdict == "verified" and row["attempt_key"] % 2 == 1,
        "reason_codes": [reason["code"] for reason in reasons],
        "reasons": json.dumps(reasons),
        "suspicions": suspicions,
        "evidence": json.dumps(evidence, sort_keys=True) if evidence else None,
        "copy_of": copy_of,
    }


def identities(table: pa.Table) -> Iterable[Identity]:
    """(day, file, line) of each row."""
    return zip(
        table.column("day").to_pylist(), table.column("source_file").to_pylist(), table.column("source_line").to_pylist(),
        strict=True,
    )  # fmt: skip
