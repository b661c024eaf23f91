"""Verdict rows for the tests of the standings: made by hand, written as Parquet, built into a warehouse."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from replay import standings as s
from replay.reviews.model import Decision, facts_of, subject_of
from replay.reviews.releases import Group, Release

SEEDS = Path(s.__file__).parent.parent / "seeds"
TIERS = [("Diamond", 99), ("Platinum", 95), ("Gold", 80), ("Silver", 50), ("Bronze", 0)]
DAY = "2026-10-14"  # a Wednesday
AS_OF = date(2026, 10, 20)
LANDED = date(2026, 10, 19)

SCHEMA = pa.schema(
    [pa.field(name, pa.string()) for name in ("game_id", "game", "mode", "rules", "challenge", "player_id", "player_kind")]
    + [pa.field("nation", pa.string()), pa.field("attempt", pa.int64())]
    + [pa.field("finished_at", pa.timestamp("us")), pa.field("score", pa.int64())]
    + [pa.field("verdict", pa.string()), pa.field("counted", pa.bool_()), pa.field("reason_codes", pa.list_(pa.string()))]
    + [pa.field("reasons", pa.string()), pa.field("suspicions", pa.list_(pa.string())), pa.field("final_board", pa.string())]
    + [pa.field(name, pa.uint64()) for name in ("attempt_key", "log_hash_low", "log_hash_high")]
    + [pa.field("best_combo", pa.int64()), pa.field("uploaded_at", pa.timestamp("us"))]
    + [pa.field("source_file", pa.string()), pa.field("source_line", pa.int64())]
    + [pa.field("platform", pa.string()), pa.field("app_version", pa.string()), pa.field("copy_of", pa.string())]
)


def game(player: str, score: int, challenge: str = DAY, attempt: int = 1, **other: Any) -> dict[str, Any]:
    """One verdict row that counts, unless ``other`` says otherwise; finished at noon plus one hour an attempt."""
    row = {
        "game_id": f"{other.get('game', 'blocks')}/{challenge}/{player}/{attempt}",
        "game": "blocks",
        "mode": "daily",
        "rules": "1.2.0",
        "challenge": challenge,
        "player_id": player,
        "player_kind": "human",
        "nation": "IT",
        "attempt": attempt,
        "finished_at": datetime.combine(date.fromisoformat(challenge), time(12)) + timedelta(hours=attempt),
        "score": score,
        "verdict": "verified",
        "counted": True,
        "reason_codes": [],
        "reasons": "[]",
        "suspicions": [],
        "final_board": "",
        "attempt_key": 1,
        "log_hash_low": attempt,
        "log_hash_high": 7,
        "best_combo": 3,
        "uploaded_at": datetime.combine(date.fromisoformat(challenge), time(18)),
        "source_file": "a.ndjson",
        "source_line": 1,
        "platform": "android",
        "app_version": "3.2.0",
        "copy_of": None,
    }
    assert other.keys() <= row.keys()
    return row | other


REASON = {"code": "score_mismatch", "claimed": 9, "found": 5, "move": None}


def decide(number: int, action: str, row: Mapping[str, Any], facts: Sequence[str] | None = None, **other: Any) -> Decision:
    """A decision about a verdict row; its facts are those of the row unless given."""
    found = facts_of(json.loads(row["reasons"]), row["suspicions"]) if facts is None else tuple(facts)
    return Decision(
        id=number, subject=subject_of(row), action=action, reason="looked at it", reviewer="ann",
        at=datetime(2026, 10, 20, tzinfo=UTC), facts=found, game=row["game"], game_id=row["game_id"], challenge=row["challenge"],
        day=LANDED, **other,
    )  # fmt: skip


def flagged(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same game, flagged."""
    reasons = json.dumps([REASON])
    return {**row, "verdict": "flagged", "counted": False, "reason_codes": ["score_mismatch"], "reasons": reasons}


def withheld(row: Mapping[str, Any], counted: bool = False) -> dict[str, Any]:
    """The same game, flagged in a night that held its group's flags back; ``counted`` if it counted before."""
    return {**flagged(row), "verdict": "withheld", "counted": counted}


def copied(row: Mapping[str, Any], game_id: str) -> dict[str, Any]:
    """The same game again, under another id."""
    return {**row, "game_id": game_id, "verdict": "copy", "counted": False, "copy_of": row["game_id"]}


def release(number: int, row: Mapping[str, Any], undoes: int | None = None) -> Release:
    """A release of a verdict row's group, or the undo of one."""
    group = Group(LANDED, row["game"], row["platform"], row["app_version"], row["rules"])
    action = "release" if undoes is None else "undo"
    return Release(number, action, group, "looked at it", "ann", datetime(2026, 10, 20, tzinfo=UTC), undoes)


def write_verdicts(path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema = SCHEMA) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), path)
    return str(path)


def write_players(path: Path, removed: Iterable[str] = (), anonymised: Mapping[str, str] | None = None) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("player_id", "state", "new_id"))
        writer.writerows((player, "removed", "") for player in removed)
        writer.writerows((player, "anonymised", new_id) for player, new_id in (anonymised or {}).items())
    return path


def build(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    *,
    name: str = "standings",
    removed: Iterable[str] = (),
    anonymised: Mapping[str, str] | None = None,
    as_of: date | None = AS_OF,
    ai: bool = True,
    files: int = 1,
    threads: int | None = 1,
    decisions: Sequence[Decision] = (),
    releases: Sequence[Release] = (),
) -> Path:
    """Write ``rows`` dealt out over ``files`` files and build a warehouse of them; its path."""
    verdicts = [write_verdicts(folder / name / f"part-{n}.parquet", rows[n::files]) for n in range(files)]
    players = write_players(folder / name / "players.csv", removed, anonymised)
    path = folder / f"{name}.duckdb"
    settings = s.StandingsSettings(ai_in_percentile=ai, as_of=as_of)
    s.build_warehouse(
        path, verdicts, players_csv=players, tiers_csv=SEEDS / "rank_tiers.csv", settings=settings, threads=threads,
        decisions=decisions, releases=releases, days=[LANDED] * files,
    )  # fmt: skip
    return path


@contextmanager
def open_built(
    folder: Path, rows: Sequence[Mapping[str, Any]], *, ai: bool = True, decisions: Sequence[Decision] = (),
    releases: Sequence[Release] = (), **states: Any,
) -> Iterator[Any]:  # fmt: skip
    """A warehouse with all marts, still open for writing and not yet checked."""
    con = s.open_new(folder / "open.duckdb", threads=1)
    try:
        s.set_settings(con, s.StandingsSettings(ai_in_percentile=ai, as_of=AS_OF))
        s.attach_references(con, write_players(folder / "players.csv", **states), SEEDS / "rank_tiers.csv")
        s.attach_verdicts(con, [write_verdicts(folder / "part.parquet", rows)], [LANDED])
        s.attach_decisions(con, decisions, releases)
        s.build_marts(con)
        yield con
    finally:
        con.close()


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    with s.open_warehouse(path) as con:
        return con.execute(query).fetchall()


def marts(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every mart's rows, in an order that is the same for the same rows."""
    return {mart: in_order(select(path, f"FROM {mart}")) for mart in s.MARTS}


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def stored(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every table of the file, its rows in the order in which they are stored."""
    names = select(path, "SELECT schema_name || '.' || table_name FROM duckdb_tables() ORDER BY 1")
    return {name: select(path, f"FROM {name}") for (name,) in names}


def ranking(path: Path, challenge: str = DAY) -> list[tuple[Any, ...]]:
    """(player, position, percentile with two decimals, tier) of a day, in display order."""
    rows = s.query_day(path, game="blocks", challenge=challenge, limit=1000)
    return [(row["player_id"], row["position"], round(row["percentile"], 2), row["tier"]) for row in rows]


def board(path: Path, **which: str) -> list[tuple[Any, ...]]:
    """(player, position, total) of a leaderboard, in display order."""
    rows = s.query_leaderboard(path, game="blocks", limit=1000, **which)
    return [(row["player_id"], row["position"], row["total"]) for row in rows]


def digest(path: Path) -> list[tuple[Any, ...]]:
    """(Sunday, player, position, total, position and total the Sunday before, change), best first."""
    rows = select(
        path,
        "SELECT sunday, player_id, position, total, previous_position, previous_total, change FROM weekly_digest ORDER BY 3, 2",
    )
    return [(str(row[0]), *row[1:]) for row in rows]
