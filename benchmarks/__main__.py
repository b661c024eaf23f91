"""``make bench``: every figure in one table."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import (
    bench_dashboard,
    bench_game,
    bench_kernel,
    bench_night,
    bench_standings,
    bench_tetcolor,
    bench_tetromino,
    bench_trust,
    bench_withheld,
)
from benchmarks.data import simulated_day

CORES = os.cpu_count() or 1


def main() -> None:
    """Run what was asked for (all, without arguments) and print the table."""
    parser = argparse.ArgumentParser(description="Figures of speed and memory.")
    parser.add_argument("what", nargs="*", default=["kernel", "night", "game", "standings", "dashboard"])
    parser.add_argument("--games", type=int, default=1_000_000, help="games of the night")
    parser.add_argument("--players", type=int, default=500_000, help="players of the standings, 30 days each")
    parser.add_argument("--nights", type=int, default=10_000, help="honest nights of which flags might be held back")
    parser.add_argument("--month", type=int, default=1_000_000, help="uploads of the dashboard's month")
    parser.add_argument("--trust", type=int, default=1_010_000, help="honest uploads; a tenth as many are forged in another run")
    parser.add_argument("--folder", type=Path, default=Path("bench-data"), help="where simulated games are kept")
    options = parser.parse_args()
    table = Table("what", "figure", "against", "ratio", "peak memory", title=f"{os.cpu_count()} cores")
    if set(options.what) - {"standings", "dashboard", "trust", "withheld"}:
        ndjson, parquet = simulated_day(options.folder, options.games)
    if "kernel" in options.what:
        _kernel(table, ndjson)
        _tetromino(table)
        _tetcolor(table)
    if "night" in options.what:
        for kind, path in (("ndjson", ndjson), ("parquet", parquet)):
            _night(table, kind, bench_night.run(path, kind))
    if "game" in options.what:
        found = bench_game.run(ndjson, options.folder)
        table.add_row(
            "cold replay game", f"{found['seconds']:.3f} s", f"bare Python {found['bare']:.3f} s",
            f"{found['seconds'] / found['bare']:.1f}", "",
        )  # fmt: skip
    if "standings" in options.what:
        _standings(table, bench_standings.run(options.players))
    if "dashboard" in options.what:
        _dashboard(table, bench_dashboard.run(options.folder, options.month))
    if "withheld" in options.what:
        _withheld(table, bench_withheld.run(options.nights))
    if "trust" in options.what:
        forged = bench_trust.FORGED
        _trust(bench_trust.run(options.folder, options.trust, 0.0, 40), "Honest uploads alone")
        _trust(bench_trust.run(options.folder, round(options.trust / 10 / forged), forged, 41), "Forged ones among honest ones")
    if table.row_count:
        Console().print(table)


def _rates(table: Table, found: dict[str, float], what: str, unit: str, digits: int) -> None:
    """The rates that every kernel's benchmark finds, beside its bare sum over the logs' bytes; ratios with ``digits`` places."""
    against = f"byte sum {found['sum']:.0f} M {unit}/s"
    for name, how in (
        ("replay", what), ("batch", "  with hash, counts, board compared"), ("all", f"  the same on {CORES} cores"),
        ("interpreted", "  the same source interpreted"),
    ):  # fmt: skip
        table.add_row(how, f"{found[name]:.2f} M {unit}/s", against, f"{found[name] / found['sum']:.{digits}f}", "")


def _kernel(table: Table, ndjson: Path) -> None:
    found = bench_kernel.run(ndjson, CORES)
    _rates(table, found, "blocks kernel, one core: parse, legality, score", "moves", 3)
    table.add_row("  moves a game", f"{found['moves_a_game']:.1f}", "", "", "")


def _tetromino(table: Table) -> None:
    found = bench_tetromino.run(CORES)
    _rates(table, found, "tetromino kernel, one core: parse, time, kicks, score", "inputs", 4)
    table.add_row("  inputs a game, bytes an input", f"{found['inputs_a_game']:.0f}, {found['bytes']:.2f}", "", "", "")
    table.add_row("  24 hours of idling, 200,000 hard drops", f"{found['day']:.4f} s, {found['longest']:.4f} s", "", "", "")


def _tetcolor(table: Table) -> None:
    found = bench_tetcolor.run(CORES)
    _rates(table, found, "tetcolor kernel, one core: parse, time, matches, falls", "pieces", 3)
    for mode in bench_tetcolor.MODES:
        table.add_row(f"  {mode} alone", f"{found[mode]:.2f} M pieces/s", "", "", "")
    table.add_row("  pieces a game", f"{found['pieces_a_game']:.1f}", f"{found['tokens']:.1f} inputs a piece", "", "")


def _night(table: Table, kind: str, found: dict[str, Any]) -> None:
    steps = ", ".join(f"{name} {seconds:.2f}" for name, seconds in found["steps"].items())
    table.add_row(
        f"night of {found['records']:,} games, {kind}", f"{found['seconds']:.2f} s ({steps})",
        f"bare DuckDB aggregate {found['bare']:.2f} s", f"{found['ratio']:.2f}", f"{found['peak'] / 2**20:.0f} MiB",
    )  # fmt: skip


def _standings(table: Table, found: dict[str, Any]) -> None:
    table.add_row(
        f"standings over {found['daily_bests']:,} daily bests", f"{found['seconds']:.2f} s",
        f"bare sum and rank {found['bare_seconds']:.2f} s", f"{found['ratio']:.2f}", f"{found['peak_bytes'] / 2**20:.0f} MiB",
    )  # fmt: skip


def _dashboard(table: Table, found: dict[str, Any]) -> None:
    """Milliseconds as median / 95th percentile / maximum, in quiet and while nights publish; against DuckDB's bare count of the
    flagged games in the same verdict files, in quiet and then; the ratio is of medians."""
    bares = found["bare"], found["busy_bare"]
    for page in found["pages"]:
        quiet, busy = bench_dashboard.shown(page.quiet), bench_dashboard.shown(page.busy)
        ratios = [f"{median(took) / bare:.1f}" for took, bare in zip((page.quiet, page.busy), bares, strict=True)]
        against = f"{1000 * bares[0]:.0f}, {1000 * bares[1]:.0f} ms"
        what = f"page {page.name}, as nights publish"
        table.add_row(what, f"{quiet}, {busy} ms", f"bare count {against}", ", ".join(ratios), "")
    table.add_row(
        f"{found['requests']:,} requests, {found['nights']} nights published", f"{len(found['errors'])} errors", "", "",
        f"{found['peak'] / 2**20:.0f} MiB",
    )  # fmt: skip
    for error in found["errors"][:5]:
        print(error)


def _trust(found: bench_trust.Found, title: str) -> None:
    """By game and kind what was uploaded and how many of it were judged as the truth says; how the nights found it below."""
    table = Table("game", "what it was", "uploads", "judged right", title=title)
    for (game, kind), (total, right) in sorted(found.compared.games.items()):
        table.add_row(game, kind, f"{total:,}", f"{right:,}")
    out = Console()
    out.print(table)
    counts = {**found.verdicts, "quarantined": found.quarantined}
    out.print(f"{found.records:,} records: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
    compared = found.compared
    out.print(f"{compared.honest:,} honest, {compared.forged:,} forged or broken, {compared.wrong} judged wrong")
    out.print(f"{found.planted:,} forgeries planted by the nights and caught; {found.sampled:,} games replayed by both engines")


def _withheld(table: Table, found: dict[str, Any]) -> None:
    """Honest nights that hold something back (ratio: in 1,000); then the broken share that is held back 19 times of 20."""
    for evenness, honest in found["honest"].items():
        table.add_row(
            f"honest nights of {len(bench_withheld.APPS)} apps, days as even as {evenness:,} games",
            f"{honest['held_nights']:,} of {honest['nights']:,} hold flags back",
            f"{honest['held']:,} of {honest['groups']:,} groups, {honest['held_new']:,} of them new",
            f"{1000 * honest['held_nights'] / honest['nights']:.2f}", "",
        )  # fmt: skip
        table.add_row("  first nights of a lake", f"{found['first'][evenness]:,} of {honest['nights']:,}", "", "", "")
    for row in found["power"]:
        own, new, first = ("never" if row[of] is None else f"{100 * row[of]:g} %" for of in ("own", "new", "first"))
        what = f"broken share that is held back, {row['games']:,} games"
        table.add_row(what, f"{own} on top of a usual 0.5 %", f"new version {new}, first night {first}", "", "")


main()
