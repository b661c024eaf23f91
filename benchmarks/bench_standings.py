"""Standings over made-up daily bests, against bare sum and rank queries over the same table in the same process.

Timed as standings: every statement from the daily bests on (ranking, totals, months, leaderboards of the world and of 100
nations, digest, status), written to the warehouse file, and a full read of the daily ranking, which is a view.  Timed as
bare: the same positions of days, totals and months as three queries that write nothing.  The checks are timed apart.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from replay import standings
from replay.database import connect

if TYPE_CHECKING:
    import duckdb

SQL = Path(__file__).parent / "sql"
SEEDS = Path(__file__).parent.parent / "seeds"
BARE = ("bare_day_ranks", "bare_totals", "bare_month_totals")
# The checks that ask only for what a table of daily bests alone can answer.
NEEDS_GAMES = (
    "assert_counted_rows",
    "assert_eligible_games",
    "assert_daily_best_",
    "assert_challenge_status",
    "assert_flagged_games",
    "assert_publication",
)


def make_daily_bests(path: Path, players: int, days: int, memory_limit: str) -> None:
    """Write a DuckDB file with the tables that the standings are made from: players x days daily bests."""
    con = standings.open_new(path, memory_limit=memory_limit)
    con.execute("CREATE SCHEMA keyed")
    con.execute((SQL / "standings_challenges.sql").read_text("utf-8"), {"players": players, "days": days})
    con.execute((SQL / "standings_players.sql").read_text("utf-8"), {"players": players})
    con.execute((SQL / "standings_daily_best.sql").read_text("utf-8"))
    con.close()


def _seconds(con: duckdb.DuckDBPyConnection, statements: Iterable[str]) -> float:
    start = time.perf_counter()
    for statement in statements:
        con.execute(statement).fetchall()
    return time.perf_counter() - start


def _forget(con: duckdb.DuckDBPyConnection) -> None:
    """Drop what a round made, so that the next one starts from the same file."""
    made = "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
    for (view,) in con.execute(made).fetchall():
        con.execute(f"DROP VIEW {view}")
    made = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'keyed'"
    for (table,) in con.execute(made).fetchall():
        if table not in ("players", "challenges", "daily_best", "periods"):
            con.execute(f"DROP TABLE keyed.{table}")
    con.execute("CHECKPOINT")


def _measure(path: Path, rounds: int, memory_limit: str) -> dict[str, float]:

    con = connect(path, memory_limit=memory_limit, spill=Path(str(path) + ".tmp"))
    standings.set_settings(con, standings.StandingsSettings(as_of=date(2026, 10, 30)))
    standings.attach_references(con, SEEDS / "players.csv", SEEDS / "rank_tiers.csv")
    standings.run_steps(con, ["periods"])
    con.execute("CREATE TABLE publication AS SELECT DATE '2026-10-30' AS as_of, true AS ai_in_percentile")
    bare_queries = [(SQL / f"{name}.sql").read_text("utf-8") for name in BARE]
    steps = [standings.read_sql(step) for step in standings.STANDING_STEPS]
    read_ranking = "SELECT sum(position), sum(percentile), max(tier) FROM daily_ranking"
    checks = [name for name in standings.check_names() if not name.startswith(NEEDS_GAMES)]
    _seconds(con, bare_queries)  # the file comes from the disk once
    bare, marts, read = [], [], []
    for number in range(rounds):
        if number:
            _forget(con)
        bare.append(_seconds(con, bare_queries))
        marts.append(_seconds(con, [*steps, "CHECKPOINT"]))
        read.append(_seconds(con, [read_ranking]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    start = time.perf_counter()
    standings.run_checks(con, checks)
    checks_seconds = time.perf_counter() - start
    con.close()
    # The two halves of a round are next to each other in time: their ratio suffers least from whatever else runs here.
    seconds = [sum(pair) for pair in zip(marts, read, strict=True)]
    return {
        "seconds": median(seconds),
        "marts_seconds": median(marts),
        "read_seconds": median(read),
        "bare_seconds": median(bare),
        "ratio": median(mine / theirs for mine, theirs in zip(seconds, bare, strict=True)),
        "checks_seconds": checks_seconds,
        "peak_bytes": peak,
    }


def run(players: int = 500_000, days: int = 30, rounds: int = 3, memory_limit: str = "1GB") -> dict[str, float]:
    """Time standings over ``players`` x ``days`` daily bests (``days`` <= 31); medians of ``rounds`` rounds.

    ``seconds`` = ``marts_seconds`` + ``read_seconds`` (of the whole ranking), ``bare_seconds``, ``ratio`` of the two, and
    ``peak_bytes``, the peak resident memory up to the checks; ``checks_seconds`` apart.
    """
    # Another process makes the table, so that its memory does not count here.
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.duckdb"
        maker = spawn.Process(target=make_daily_bests, args=(path, players, days, memory_limit))
        maker.start()
        maker.join()
        if maker.exitcode != 0:
            raise SystemExit(f"{path}: the daily bests could not be made (exit code {maker.exitcode})")
        figures = _measure(path, rounds, memory_limit)
    return {"daily_bests": players * days, **figures}


def main() -> None:
    """Print one row of figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=500_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory-limit", default="1GB")
    options = parser.parse_args()
    figures = run(options.players, options.days, options.rounds, options.memory_limit)
    print(
        "standings | {daily_bests:,} daily bests | bare {bare_seconds:.2f} s | marts {marts_seconds:.2f} s + read of the ranking "
        "{read_seconds:.2f} s | ratio {ratio:.2f} | checks {checks_seconds:.2f} s | peak {peak:.0f} MiB".format(
            **figures, peak=figures["peak_bytes"] / 2**20
        )
    )


if __name__ == "__main__":
    main()
