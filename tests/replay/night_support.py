"""Lakes for the tests of the night: uploads written by hand, days that land, and what a night published, in comparable form."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from replay.challenges import load_challenges
from replay.lake import Lake
from replay.night import NightSettings, run_night
from replay.record import Record, format_time
from replay.reviews.games import draft, find_game
from replay.reviews.incidents import digest_of, upload_digest
from replay.reviews.model import Decision, subject_of
from replay.reviews.store import open_reviews
from replay.simulate import simulate
from replay.verdict import DAY
from replay.withheld import GROUP, HOLDABLE
from tests.replay.games import RULEBOOK, play, record

ROOT = Path(__file__).parents[2]
ONE, TWO, THREE = date(2026, 10, 29), date(2026, 10, 30), date(2026, 10, 31)
DAYS = (ONE, TWO, THREE)
PUBLISHED = ("verdicts", "quarantine", "runs")
TIMES = ("started_at", "finished_at", "uploaded_at")
FORMATS = ("ndjson", "ndjson.gz", "ndjson.zst", "parquet")


# --- uploads -------------------------------------------------------------------------------------------------------------


@cache
def _played(seed: int, tokens: int) -> Record:
    return record(*play(seed, tokens))


def upload(
    game_id: str, player: str, day: date = THREE, attempt: int = 1, seed: int = 1, tokens: int = 20, **changes: Any
) -> Record:
    """An honest game of a day's challenge, uploaded at noon of that day; every challenge here has the same deal."""
    shift = (day - THREE).days * DAY
    honest = _played(seed, tokens)
    honest = replace(
        honest, game_id=game_id, player_id=player, challenge=day.isoformat(), attempt=attempt,
        **{name: getattr(honest, name) + shift + attempt * 600_000_000 for name in TIMES},
    )  # fmt: skip
    return replace(honest, **changes)


def as_object(found: Record) -> dict[str, Any]:
    return {name: format_time(value) if name in TIMES else value for name, value in asdict(found).items()}


def line(found: Record) -> bytes:
    return json.dumps(as_object(found), ensure_ascii=False).encode("utf-8")


def land(lake: Path, day: date, name: str, uploads: Iterable[Record | bytes]) -> Path:
    """Write one landed file in the format that its name says."""
    path = lake / "logs" / f"day={day}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist([as_object(u) for u in uploads if isinstance(u, Record)]), path)
        return path
    data = b"".join((u if isinstance(u, bytes) else line(u)) + b"\n" for u in uploads)
    if name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    elif name.endswith(".zst"):
        data = bytes(pa.Codec("zstd").compress(data, asbytes=True))
    path.write_bytes(data)
    return path


def write_challenges(path: Path, first: date = date(2026, 9, 25), days: int = 60) -> Path:
    """A challenge table in which all days have the deal that the tests' games were played with, and a training challenge."""
    rows = [f"blocks,{first + timedelta(days=i)},daily,1.2.0,1234567,," for i in range(days)]
    rows.append("blocks,training-7,training,1.2.0,1234567,,")
    path.write_text("game,challenge,mode,rules,rng_seed,start_board,pieces\n" + "\n".join(rows) + "\n", "utf-8")
    return path


def write_players(path: Path, *rows: tuple[str, str, str]) -> Path:
    path.write_text("player_id,state,new_id\n" + "".join(",".join(row) + "\n" for row in rows), "utf-8")
    return path


def simulated(lake: Path, lines: int, days: Sequence[date] = DAYS, **kw: Any) -> Path:
    """Land simulated days, a third of them forged, late uploads among them."""
    settings = {"challenges": load_challenges(rulebook=RULEBOOK), "rulebook": RULEBOOK, "rng_seed": 20, "forged_share": 0.3} | kw
    simulate(lake, list(days), lines, **settings)
    return lake


# --- nights --------------------------------------------------------------------------------------------------------------


def night(lake: Path, day: date = THREE, allow_empty: bool = False, **settings: Any) -> dict[str, Any]:
    return run_night(Lake(lake), day, NightSettings(**{"threads": 2, **settings}), allow_empty)


def cli(*words: object, env: dict[str, str] | None = None, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own; output as bytes."""
    whole = {name: value for name, value in os.environ.items() if not name.startswith("REPLAY_")} | (env or {})
    return subprocess.run(
        [sys.executable, "-m", "replay", *map(str, words)], input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True, cwd=ROOT, env=whole, check=False, timeout=120,
    )  # fmt: skip


def decide(lake: Path, action: str, game_id: str, undoes: int | None = None, **place: Any) -> Decision:
    """Take a decision about a game, as somebody who has seen all that was decided about it."""
    row = find_game(Lake(lake), game_id, **place)
    with open_reviews(Lake(lake)) as store:
        known = store.decisions([subject_of(row)])
        return store.decide([draft(action, row, known, undoes)], reviewer="ann", reason="looked at it")[0]


# --- what was published --------------------------------------------------------------------------------------------------


def published_files(lake: Path, days: Iterable[date] | None = None) -> dict[str, bytes]:
    """Every verdict, quarantine and run file by its path, as bytes."""
    folders = [lake / kind for kind in PUBLISHED]
    if days is not None:
        folders = [folder / f"day={day}" for folder in folders for day in days]
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(lake).as_posix(): path.read_bytes() for path in files}


def warehouse(lake: Path) -> Path:
    return Lake(lake).current_warehouse()


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The whole content of a warehouse: every table and view of every schema, rows in order of all their columns."""
    with duckdb.connect(str(path), read_only=True) as con:
        names = con.execute(
            "select table_schema || '.' || table_name from information_schema.tables where table_catalog = current_database()"
            " and table_schema <> 'information_schema' order by all"
        ).fetchall()
        assert len(names) > 15
        return {name: con.execute(f"select * from {name} order by all").fetchall() for (name,) in names}


def everything(lake: Path) -> tuple[dict[str, bytes], dict[str, list[tuple[Any, ...]]]]:
    """What a lake has published, for comparing: files by their bytes, the warehouse by its content."""
    return published_files(lake), dump(warehouse(lake))


def verdict_rows(lake: Path, day: date = THREE, kind: str = "verdicts") -> list[dict[str, Any]]:
    # One handle: by its path Arrow opens a file twice, and a night may have replaced it in between.
    with (lake / kind / f"day={day}" / "part-0.parquet").open("rb") as handle:
        return pq.ParquetFile(handle).read().to_pylist()


def by_game(lake: Path, day: date = THREE) -> dict[str, dict[str, Any]]:
    rows = verdict_rows(lake, day)
    found = {row["game_id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def ask(lake: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """A query on the current warehouse."""
    with duckdb.connect(str(warehouse(lake)), read_only=True) as con:
        return con.execute(sql, list(values)).fetchall()


def check_run(lake: Path, day: date) -> dict[str, Any]:
    """run.json of a day, after holding every count in it against the files beside it."""
    run = json.loads((lake / "runs" / f"day={day}" / "run.json").read_text("ascii"))
    rows, aside = verdict_rows(lake, day), verdict_rows(lake, day, "quarantine")
    assert run["records"] == len(rows) + len(aside) == sum(entry["records"] for entry in run["inputs"])
    verdicts = dict(run["verdicts"])
    for verdict in ("verified", "flagged", "withheld", "copy"):
        assert verdicts[verdict] == sum(row["verdict"] == verdict for row in rows), verdict
    assert verdicts["counted"] == sum(row["counted"] for row in rows)
    verified = [row for row in rows if row["verdict"] == "verified"]
    assert verdicts["moves_received"] == verdicts["moves_replayed"] == sum(row["moves"] for row in verified)
    for key, column, left_out in (("reasons", "reason_codes", ("copy", "withheld")), ("suspicions", "suspicions", ("copy",))):
        codes = [code for row in rows if row["verdict"] not in left_out for code in row[column]]
        assert run[key] == {code: codes.count(code) for code in sorted(set(codes))}, key
    check_incidents(run, rows)
    assert run["quarantined"] == len(aside)
    codes = [row["code"] for row in aside]
    assert run["quarantine_codes"] == {code: codes.count(code) for code in sorted(set(codes))}
    places = [(row["source_file"], row["source_line"]) for row in rows]
    both = places + [(row["source_file"], row["source_line"]) for row in aside]
    assert places == sorted(places)
    assert len(set(both)) == len(both), "one record in, exactly one row out"
    return run


def check_incidents(run: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    """Hold the incidents of a run.json against the rows: every flag of theirs that can be held back is, and none beside them."""
    groups = [tuple(incident[name] for name in GROUP) for incident in run["incidents"]]
    assert groups == sorted(set(groups))
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {group: [] for group in groups}
    games: dict[tuple[str, ...], int] = dict.fromkeys(groups, 0)
    for row in rows:
        group = tuple(row[name] for name in GROUP)
        held = row["verdict"] == "withheld"
        assert group in found or not held, f"{row['game_id']}: held back without an incident"
        if group in found:
            games[group] += row["verdict"] != "copy"
            assert held == (row["verdict"] in ("flagged", "withheld") and set(row["reason_codes"]) <= set(HOLDABLE)), row["game_id"]
            found[group] += [row] if held else []
    for group, incident in zip(groups, run["incidents"], strict=True):
        held_rows = found[group]
        assert (incident["games"], incident["flags"], incident["held"]) == (games[group], len(held_rows), len(held_rows)), group
        assert incident["counted_before"] == sum(row["counted"] for row in held_rows), group
        codes = [code for row in held_rows for code in row["reason_codes"]]
        assert incident["reasons"] == {code: codes.count(code) for code in sorted(set(codes))}, group
        assert incident["digest"] == digest_of(map(upload_digest, held_rows)), group
        versions = [v for row in held_rows for v in json.loads(row["evidence"] or "{}").get("rules_that_agree", [])]
        assert incident["rules_that_agree"] == {version: versions.count(version) for version in sorted(set(versions))}, group


# --- A lake with a game of every kind ------------------------------------------------------------------------------------

EVIL = "\x1b]0;owned\x07\x1b[2J\u202eevil\r\n\x00<script>alert(1)</script>=cmd|' /C calc'!A0"
REASONS = {
    "score_mismatch": {"score": 7}, "combo_mismatch": {"best_combo": 5}, "board_mismatch": {"final_board": "#7"},
    "illegal_move": {"moves": "1a1 9b9"}, "impossible_score": {"score": -1}, "unknown_rules": {"rules": "9.9.9"},
    "unknown_challenge": {"challenge": "2031-01-01"}, "attempt_limit": {"attempt": 4},
    "outside_challenge_day": {"started_at": upload("x", "x", ONE).started_at - 9 * DAY},
}  # fmt: skip


def lake_of_all_kinds(root: Path) -> tuple[Path, dict[str, str]]:
    """A published lake with verified, flagged (every reason, the game's id is its name), copied and quarantined games, and the
    environment that names it and its challenges.  Hostile texts stand wherever a player's text can stand."""
    lake, challenges = root / "lake", write_challenges(root / "challenges.csv")
    fine = upload("fine", "p-fine", seed=5, tokens=400)
    flagged = [upload(code, f"p-{code}", seed=3, **changes) for code, changes in REASONS.items()]
    lost, whole = upload("truncated_log", "p-lost", seed=4, tokens=24), upload("x", "x", seed=4, tokens=25)
    flagged.append(replace(lost, score=whole.score, best_combo=whole.best_combo, final_board=whole.final_board))
    land(lake, THREE, "a.ndjson", [fine, upload("open", "p-open", seed=6, tokens=33), *flagged])
    pair = [upload("first", "p-two", seed=6, tokens=33), upload("duplicate_attempt", "p-two", seed=7)]
    pair[1] = replace(pair[1], uploaded_at=pair[1].uploaded_at + 1)
    conflict = [upload("conflicting_upload", f"p-c{n}", seed=8 + n, uploaded_at=fine.uploaded_at + n) for n in (1, 2)]
    land(lake, THREE, "b.ndjson.gz", [*pair, *conflict, replace(fine, game_id="copy", uploaded_at=fine.uploaded_at + 2)])
    evil = upload(EVIL, EVIL + "p", platform=EVIL, app_version=EVIL)
    strange = upload("strange", EVIL + "q", moves=EVIL, final_board=EVIL, attempt=2)
    named = [upload("named", EVIL + "r", rules=EVIL), upload("mode", "p-mode", mode=EVIL)]
    land(lake, THREE, "c.ndjson.zst", [b'{"game_id": "half", "score": 1}', evil, strange, *named, line(evil)[:-5]])
    land(lake, THREE, "d\u202e\x1b[2J.parquet", [upload("parquet", "p-parquet", seed=9), replace(evil, game_id="evil")])
    land(lake, THREE, "left\x1b]0;x\x07.txt", [])
    night(lake, challenges=challenges)
    return lake, {"REPLAY_LAKE": str(lake), "REPLAY_CHALLENGES": str(challenges)}
