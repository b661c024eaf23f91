"""The report of a night: what came, what was flagged and how that compares with the nights before, as JSON and Markdown.

A report is made from what is published and what people released of it, so it can be made again at any time; it decides nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.database import connect, rows_of
from replay.errors import InputError
from replay.incident_words import headline, held_now, released_words, told
from replay.lake import Lake
from replay.night import read_run
from replay.reviews.incidents import incidents_of
from replay.reviews.store import open_reviews
from replay.timings import Timings
from replay.words import visible

if TYPE_CHECKING:
    import duckdb

SQL = Path(__file__).parent / "sql" / "queries"
# How many nights before the rates are compared with.
USUAL_NIGHTS = 14


@dataclass(frozen=True)
class FarAbove:
    """When a flag rate stands out: ``least`` flagged games or more, and a rate above ``times`` the usual."""

    times: int = 2
    least: int = 20


def make_report(lake: Lake, day: date, far_above: FarAbove = FarAbove(), timings: Timings | None = None) -> dict[str, Any]:
    """The report of a published day.

    ``counts`` are run.json's; ``rates`` flagged games per thousand by reason and by client (platform and app version), each with
    the same over the USUAL_NIGHTS published before (None where there is nothing to compare with); ``late`` the games of earlier
    challenges by days of delay; ``standings_changed`` what the current warehouse moved against the one before, by challenge.
    ``stands_out`` are the reasons and clients whose rate is far above the usual (None when no night was published before), under
    ``stands_out_rule``; ``timings`` what the night took (``Timings.as_json``; None when it was not measured): the one key that
    differs between two runs of the same night.
    ``incidents`` are the app versions whose flags the night held back (``replay.withheld``), which are in no flag rate of the
    day, each with the ``release`` that makes flags of them, if one does, and the one that ``lapsed``, as it was about others.
    ``left_waiting`` are the files that stayed at the source, with the reason.  ``planted`` and ``sampled`` are how the night
    proved itself (``replay.planted``): one in which that failed was not published, and has ``failure.json`` and no report.
    Raises InputError when the day was not published, and for releases that cannot be read.
    """

    earlier = [other for other in lake.published_days() if other < day][-USUAL_NIGHTS:]
    lake.refresh("runs", "verdicts", "warehouses", days=[*earlier, day])
    run = read_run(lake, day)
    # A night of an earlier version of this program held nothing back.
    incidents = _incidents(lake, run) if run.get("incidents") else []
    with connect() as con:
        files = {"today": [str(lake.verdict_file(day))], "before": [str(lake.verdict_file(other)) for other in earlier]}
        # An empty list of files is no list to DuckDB: a first night is compared with itself and the comparison is dropped.
        parameters = {"today": files["today"], "before": files["before"] or files["today"]}
        rates = {
            name: _rates(con, statement, parameters, bool(earlier))
            for name, statement in (("reasons", "report_reasons.sql"), ("clients", "report_clients.sql"))
        }
        found = con.execute(
            (SQL / "report_stands_out.sql").read_text("utf-8"),
            {**parameters, "times": far_above.times, "least": far_above.least},
        )
        stands_out = rows_of(found) if earlier else None
        late = con.execute((SQL / "report_late.sql").read_text("utf-8"), {"day": day, "today": files["today"]}).fetchall()
    return {
        "day": day.isoformat(),
        "incidents": incidents,
        "counts": {"records": run["records"], "withheld": 0, **run["verdicts"], "quarantined": run["quarantined"]},
        "quarantine": run["quarantine_codes"],
        "suspicions": run["suspicions"],
        "nights_compared": len(earlier),
        "stands_out_rule": {"times": far_above.times, "least": far_above.least},
        "stands_out": stands_out,
        "rates": rates,
        "late": [{"challenge": challenge, "days": days, "games": games} for challenge, days, games in late],
        # A night of an earlier version of this program says nothing of it.
        "left_waiting": run.get("left_waiting", []),
        "sampled": run.get("sampled"),
        "planted": run.get("planted"),
        "standings_changed": _standings_changed(lake),
        "timings": timings.as_json() if timings else None,
    }


def _incidents(lake: Lake, run: dict[str, Any]) -> list[dict[str, Any]]:
    with open_reviews(lake) as store:
        return [incident.as_json() for incident in incidents_of(run, store.releases())]


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
    others = lake.older_warehouses()
    return query_changes(current, others[-1]) if others else []


def write_report(lake: Lake, day: date, far_above: FarAbove = FarAbove(), timings: Timings | None = None) -> dict[str, Any]:
    """Make the report and put it to ``<lake>/reports/day=…/report.json`` and ``report.md``; returns it.

    All but ``timings`` is the same however often it is written.
    """
    report = make_report(lake, day, far_above, timings)
    folder = lake.day("reports", day)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=2, default=str) + "\n"
    lake.put_texts({folder / "report.json": text, folder / "report.md": as_markdown(report)})
    return report


def read_report(lake: Lake, day: date) -> dict[str, Any]:
    """The report.json of a day.  Raises InputError when there is none or it cannot be read."""
    lake.refresh("reports", days=[day])
    path = lake.day("reports", day) / "report.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not there or cannot be read, run the night's report again") from error
    return found


def as_markdown(report: dict[str, Any]) -> str:
    """The report for people; text from players' clients is shown harmlessly."""
    counts = report["counts"]
    lines = [f"# Night of {report['day']}", "", *_held_back(report), "| | games |", "| --- | ---: |"]
    released = counts["withheld"] - sum(incident["held"] for incident in held_now(report["incidents"]))
    for name in ("records", "verified", "counted", "flagged", "withheld", "copy", "quarantined"):
        if name == "withheld":
            lines += [f"| released | {released:,} |"] if released else []
            lines.append(f"| held back | {counts[name] - released:,} |")
        else:
            lines.append(f"| {name} | {counts[name]:,} |")
    lines += ["", *_stands_out(report), "", *_proof(report), ""]
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
    if report["left_waiting"]:
        lines += ["## Left at the source", "", "| file | why |", "| --- | --- |"]
        lines += [f"| {_cell(row['file'])} | {_cell(row['why'])} |" for row in report["left_waiting"]]
        lines.append("")
    if report["standings_changed"]:
        lines += ["## Standings changed", "", "| challenge | new players | gone | raised | lowered | positions moved |"]
        lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
        for row in report["standings_changed"]:
            numbers = ("players_new", "players_gone", "bests_raised", "bests_lowered", "positions_moved")
            lines.append(f"| {_cell(row['challenge'])} | " + " | ".join(f"{row[name]:,}" for name in numbers) + " |")
        lines.append("")
    return "\n".join(lines + _took(report["timings"]))


def _held_back(report: dict[str, Any]) -> list[str]:
    """What comes first, where there is any."""
    held, released = held_now(report["incidents"]), released_words(report["incidents"])
    lines = [f"**{headline(held)}**", "", *(f"- {_text(line)}" for line in told(held)), ""] if held else []
    return lines + ([released, ""] if released else [])


def _stands_out(report: dict[str, Any]) -> list[str]:
    rule, rows = report["stands_out_rule"], report["stands_out"]
    if rows is None:
        return ["No night was published before this one: there is no usual rate to compare with."]
    nights = report["nights_compared"]
    usual = f"the {nights} nights before" if nights > 1 else "the night before"
    told = f"{rule['least']:,} or more flagged games, at more than {rule['times']} times the rate of {usual}"
    if not rows:
        return [f"Nothing stands out ({told})."]
    lines = ["## What stands out", "", f"{told[:1].upper()}{told[1:]}:", ""]
    for row in rows:
        against = " of all clients, as this one is new" if row["usual_of"] == "all clients" else ""
        lines.append(
            f"- {row['kind']} **{_cell(row['name'])}**: {row['flagged']:,} of {row['games']:,} games flagged,"
            f" {_per_thousand(row['flagged'], row['games'])} per 1,000; usual is"
            f" {_per_thousand(row['usual_flagged'], row['usual_games'])}{against}"
        )
    return lines


def _proof(report: dict[str, Any]) -> list[str]:
    """How the night proved itself; a difference between the engines (``engine_disagreement``) would have stopped it."""
    if report["sampled"] is None:
        return ["## Proof", "", "An earlier version of this program published this night: it planted no forgeries."]
    lines = ["## Proof", "", f"{report['sampled']:,} verified games, and every flagged one, were replayed by both engines: no"]
    lines[-1] += " engine_disagreement."
    planted = report["planted"]
    if planted is None:
        return [*lines, "", "No forgeries were planted: planting was switched off."]
    lines += ["", "| game | forgeries planted | caught | not planted |", "| --- | ---: | ---: | --- |"]
    for game, found in planted.items():
        missing = "; ".join(f"{kind}: {why}" for kind, why in found["not_planted"].items()) or "-"
        lines.append(f"| {game} | {found['planted']:,} | {found['caught']:,} | {_cell(missing)} |")
    return lines


def _took(timings: dict[str, Any] | None) -> list[str]:
    if timings is None:
        return []
    lines = ["## Time", "", "| step | seconds |", "| --- | ---: |"]
    lines += [f"| {name} | {seconds:,.1f} |" for name, seconds in timings["steps"].items()]
    lines += ["", "Verify is the work of all shards together; they may have run beside each other.", ""]
    slowest = timings["slowest_shard"]
    if slowest:
        rate = "" if slowest["games_per_second"] is None else f", {slowest['games_per_second']:,} games/s"
        lines += [
            f"The slowest shard was number {slowest['number']}, of {_cell(slowest['file'])}: {slowest['records']:,} records in"
            f" {slowest['seconds']:,.1f} s{rate}.",
            "",
        ]
    return lines


def _per_thousand(flagged: int, games: int) -> str:
    return f"{1000 * flagged / games:.1f}" if games else "-"


def _cell(text: str) -> str:
    return _text(visible(text))


def _text(shown: str) -> str:
    return shown.replace("|", "\\|").replace("<", "&lt;")
