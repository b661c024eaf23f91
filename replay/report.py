"""The report of a night: what came, what was flagged and how that compares with the nights before, as JSON and Markdown.

A report is made from what is published, so it can be made again at any time; it decides nothing.
"""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.database import connect, rows_of
from replay.lake import Lake
from replay.night import read_run
from replay.words import visible

if TYPE_CHECKING:
    import duckdb

SQL = Path(__file__).parent / "sql" / "queries"
# How many nights before the rates are compared with.
USUAL_NIGHTS = 14


def make_report(lake: Lake, day: date) -> dict[str, Any]:
    """The report of a published day.

    ``counts`` are run.json's; ``rates`` flagged games per thousand by reason and by client (platform and app version), each with
    the same over the USUAL_NIGHTS published before (None where there is nothing to compare with); ``late`` the games of earlier
    challenges by days of delay; ``standings_changed`` what the current warehouse moved against the one before, by challenge.
    Raises InputError when the day was not published.
    """

    run = read_run(lake, day)
    earlier = [other for other in lake.published_days() if other < day][-USUAL_NIGHTS:]
    with connect() as con:
        files = {"today": [str(lake.verdict_file(day))], "before": [str(lake.verdict_file(other)) for other in earlier]}
        # An empty list of files is no list to DuckDB: a first night is compared with itself and the comparison is dropped.
        parameters = {"today": files["today"], "before": files["before"] or files["today"]}
        rates = {
            name: _rates(con, statement, parameters, bool(earlier))
            for name, statement in (("reasons", "report_reasons.sql"), ("clients", "report_clients.sql"))
        }
        late = con.execute((SQL / "report_late.sql").read_text("utf-8"), {"day": day, "today": files["today"]}).fetchall()
    return {
        "day": day.isoformat(),
        "counts": {"records": run["records"], **run["verdicts"], "quarantined": run["quarantined"]},
        "quarantine": run["quarantine_codes"],
        "suspicions": run["suspicions"],
        "nights_compared": len(earlier),
        "rates": rates,
        "late": [{"challenge": challenge, "days": days, "games": games} for challenge, days, games in late],
        "standings_changed": _standings_changed(lake),
    }


def _rates(con: duckdb.DuckDBPyConnection, statement: str, parameters: dict[str, Any], compare: bool) -> list[dict[str, Any]]:
    """Flagged games per thousand as whole numbers of games and flags: a rate for show is left to the reader."""
    found = con.execute((SQL / statement).read_text("utf-8"), parameters)
    rows = rows_of(found)
    if not compare:
        for row in rows:
            row["usual_flagged"] = row["usual_games"] = None
    return rows


def _standings_changed(lake: Lake) -> list[dict[str, Any]]:
    """What moved against the newest warehouse file besides the current one, if one is kept."""
    from replay.standings import query_changes

    current = lake.current_warehouse()
    others = sorted(
        (path for path in lake.warehouse.glob("*.duckdb") if path != current), key=lambda p: (p.stat().st_mtime_ns, p.name)
    )
    return query_changes(current, others[-1]) if others else []


def write_report(lake: Lake, day: date) -> dict[str, Any]:
    """Make the report and put it to ``<lake>/reports/day=…/report.json`` and ``report.md``; returns it."""
    report = make_report(lake, day)
    folder = lake.day("reports", day)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("report.json", json.dumps(report, indent=2, default=str) + "\n"), ("report.md", as_markdown(report))):
        aside = folder / f".{name}.writing"
        aside.write_text(text, "utf-8")
        os.replace(aside, folder / name)
    return report


def as_markdown(report: dict[str, Any]) -> str:
    """The report for people; text from players' clients is shown harmlessly."""
    counts = report["counts"]
    lines = [f"# Night of {report['day']}", "", "| | games |", "| --- | ---: |"]
    for name in ("records", "verified", "counted", "flagged", "copy", "quarantined"):
        lines.append(f"| {name} | {counts[name]:,} |")
    lines += ["", f"Compared with the {report['nights_compared']} nights before.", ""]
    for title, key in (("Flags by reason", "reasons"), ("Flags by client", "clients")):
        lines += [
            f"## {title}",
            "",
            "| | flagged | of games | per 1,000 | usual per 1,000 |",
            "| --- | ---: | ---: | ---: | ---: |",
        ]
        for row in report["rates"][key]:
            usual = "-" if row["usual_games"] is None else _per_thousand(row["usual_flagged"], row["usual_games"])
            lines.append(
                f"| {_cell(row['name'])} | {row['flagged']:,} | {row['games']:,} |"
                f" {_per_thousand(row['flagged'], row['games'])} | {usual} |"
            )
        lines.append("")
    if report["late"]:
        lines += ["## Late games", "", "| challenge | days late | games |", "| --- | ---: | ---: |"]
        lines += [f"| {_cell(row['challenge'])} | {row['days']} | {row['games']:,} |" for row in report["late"]]
        lines.append("")
    if report["standings_changed"]:
        lines += ["## Standings changed", "", "| challenge | new players | gone | raised | lowered | positions moved |"]
        lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
        for row in report["standings_changed"]:
            numbers = ("players_new", "players_gone", "bests_raised", "bests_lowered", "positions_moved")
            lines.append(f"| {_cell(row['challenge'])} | " + " | ".join(f"{row[name]:,}" for name in numbers) + " |")
        lines.append("")
    return "\n".join(lines)


def _per_thousand(flagged: int, games: int) -> str:
    return f"{1000 * flagged / games:.1f}" if games else "-"


def _cell(text: str) -> str:
    return visible(text).replace("|", "\\|").replace("<", "&lt;")
