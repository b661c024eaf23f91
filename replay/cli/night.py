"""``replay nightly`` and ``replay rebuild``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import common

if TYPE_CHECKING:
    from datetime import date

    from replay.lake import Lake
    from replay.late import Nights
    from replay.timings import Timings


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("nightly")(nightly)
    app.command("rebuild")(rebuild)


def nightly(
    day: common.DayOption,
    lake: common.LakeOption,
    challenges: common.ChallengesOption = None,
    rules: common.RulesOption = None,
    players: common.PlayersOption = None,
    shard_games: Annotated[int | None, typer.Option(help="Games a shard, about (250,000).", show_default=False)] = None,
    threads: Annotated[int | None, typer.Option(help="Threads (every core).", show_default=False)] = None,
    look_back: Annotated[
        int | None, typer.Option(help="Days before whose changed logs are verified again (3).", show_default=False)
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", help="Where uploads land, with {day} in it: a folder or any fsspec URL.", show_default=False),
    ] = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Publish a day that received nothing, or lost all its verified games.")
    ] = False,
    as_json: common.JsonOption = False,
) -> None:
    """Verify one day of uploads and publish verdicts and standings.

    Published days shortly before it are verified again when their files changed: late uploads, files sent again.

    Exit code 0 when the night was published (flagged games are part of a good night), 1 when the day received nothing, no
    record of it could be read, none of its games was verified, the night could not prove itself (a planted forgery was missed,
    the two engines differ), a check failed, or an earlier day changed and could not be verified again, 2 when rules, challenges
    or files cannot be read.
    """
    from replay.failures import noting_failure
    from replay.lake import open_lake
    from replay.report import write_report
    from replay.timings import Timings

    timings, when = Timings(), common.parse_day(day)
    settings = common.load_settings(
        challenges=challenges, rules=rules, players=players, shard_games=shard_games, threads=threads, look_back=look_back,
        source=source,
    )  # fmt: skip
    with open_lake(lake) as where:
        with noting_failure(where, when):
            nights = run_with_progress(where, when, settings.night(), settings.look_back, allow_empty, timings)
            report = write_report(where, when, settings.far_above(), timings)
        problems = _problems(where, when, nights)
    restated = list(map(str, nights.restated))
    if as_json:
        common.print_json({**nights.run, "restated_days": restated, "problems": list(nights.problems)})
    else:
        if restated:
            common.console().print(f"Verified again, their files had changed: {', '.join(restated)}")
        show_run(nights.run, lake, report["incidents"])
    _tell(problems)


def _problems(lake: Lake, day: date, nights: Nights) -> list[str]:
    """What makes a published night no good one, noted as its failure."""
    from replay.errors import NightError, NothingReceived
    from replay.failures import note_failure

    run, problems = nights.run, list(nights.problems)
    unread = bool(run["records"]) and run["quarantined"] == run["records"]
    if unread:
        # Published, so that the quarantine can be looked at, but no good night.
        problems.append(f"{day}: none of {run['records']:,} records could be read, look at the quarantine")
    if problems:
        note_failure(lake, day, (NothingReceived if unread else NightError)("; ".join(problems)), "report")
    return problems


def _tell(problems: list[str]) -> None:
    """What makes this no good night, if anything; then exit code 1."""
    for problem in problems:
        typer.echo(f"replay: {problem}", err=True)
    if problems:
        raise typer.Exit(1)


def run_with_progress(
    lake: Any, day: Any, settings: Any, look_back: int, allow_empty: bool = False, timings: Timings | None = None
) -> Nights:
    """One night with its look back, with a progress bar on the terminal."""
    from replay.late import run_nights

    with common.progress() as bar:
        task = bar.add_task(f"{day} pull", total=None)

        def report(step: str, done: int, total: int) -> None:
            if step == "verify":
                bar.update(task, description=f"{day} verify", completed=done)
            else:
                bar.update(task, description=f"{day} {step}")

        nights = run_nights(lake, day, settings, look_back, allow_empty, report, timings)
        records = nights.run["records"]
        bar.update(task, description=f"{day} published", total=records, completed=records)
    return nights


def proof_words(run: dict[str, Any]) -> str:
    """How the night proved itself, in one line."""
    both = f"{run['sampled']:,} verified games replayed by both engines"
    if run["planted"] is None:
        return f"No forgeries were planted (switched off); {both}."
    planted, caught = (sum(found[key] for found in run["planted"].values()) for key in ("planted", "caught"))
    return f"{planted:,} forgeries planted, {caught:,} caught, their originals verified; {both}."


def show_run(run: dict[str, Any], lake: str, incidents: Sequence[dict[str, Any]]) -> None:
    """The night's counts and flags as tables; what is held back comes first.  ``incidents`` are the report's."""
    from replay.incident_words import headline, held_now, released_words, told

    out = common.console()
    held, released = held_now(incidents), released_words(incidents)
    if held:
        out.print(headline(held), style="bold red", soft_wrap=True, markup=False)
        for line in told(held):
            out.print(f"  - {line}", soft_wrap=True, markup=False)
    if released:
        out.print(released, soft_wrap=True, markup=False)
    verdicts = run["verdicts"]
    still = sum(incident["held"] for incident in held)
    flags = [("released", verdicts["withheld"] - still), ("held back", still)]
    counts = common.table(f"Night of {run['day']}", ("", "left"), ("games", "right"))
    for name, value in (
        ("records received", run["records"]), ("verified", verdicts["verified"]), ("  of them counted", verdicts["counted"]),
        ("flagged", verdicts["flagged"]), *((name, games) for name, games in flags if games),
        ("copies", verdicts["copy"]), ("quarantined", run["quarantined"]),
    ):  # fmt: skip
        counts.add_row(name, f"{value:,}")
    out.print(counts)
    out.print(proof_words(run))
    for title, key in (
        ("Flags by reason", "reasons"),
        ("Suspicions", "suspicions"),
        ("Quarantined by reason", "quarantine_codes"),
    ):
        if run[key]:
            rows = common.table(title, ("", "left"), ("games", "right"))
            for code, number in sorted(run[key].items(), key=lambda item: (-item[1], item[0])):
                rows.add_row(code, f"{number:,}")
            out.print(rows)
    waiting = {entry["file"] for entry in run["left_waiting"]}
    alone = [name for name in run["left_alone"] if name not in waiting]
    if alone:
        out.print(f"Left alone, of no known kind or still being written: {', '.join(map(ascii, alone))}")
    if waiting:
        rows = common.table("Left at the source", ("file", "left"), ("why", "left"))
        for entry in run["left_waiting"]:
            rows.add_row(ascii(entry["file"])[1:-1], entry["why"])
        out.print(rows)
    out.print("Where to look next:")
    look = [f"replay flags --held --day {run['day']} --lake {lake}"] if held else []
    for line in (*look, f"replay flags --day {run['day']} --lake {lake}", f"replay standings --lake {lake}"):
        out.print(f"  {line}", soft_wrap=True)


def rebuild(lake: common.LakeOption, players: common.PlayersOption = None, as_json: common.JsonOption = False) -> None:
    """Make the warehouse again from the published verdicts, equal in content."""
    from replay.lake import open_lake
    from replay.night import rebuild_standings

    with open_lake(lake) as where:
        rows = rebuild_standings(where, common.load_settings(players=players).night())
        name = where.current_warehouse().name
    if as_json:
        common.print_json({"warehouse": name, "rows": rows})
        return
    out = common.table(f"Rebuilt {name}", ("table", "left"), ("rows", "right"))
    for mart, number in rows.items():
        out.add_row(mart, f"{number:,}")
    common.console().print(out)
