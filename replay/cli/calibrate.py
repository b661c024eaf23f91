"""``replay calibrate``: which points do the players' phones count with?"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli import common
from replay.errors import InputError, UsageError

if TYPE_CHECKING:
    from replay.calibrate import Calibration, Value
    from replay.lake import Lake


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibrate")(calibrate)


def calibrate(
    files: Annotated[
        list[Path] | None, typer.Argument(help="NDJSON (.gz, .zst, plain) or Parquet files; none: the logs of the lake's days.")
    ] = None,
    lake: common.NoLakeOption = None,
    first: Annotated[str | None, typer.Option("--from", help="First day of the lake, YYYY-MM-DD.", show_default=False)] = None,
    last: Annotated[str | None, typer.Option("--to", help="Last day of the lake.", show_default=False)] = None,
    game: common.GameOption = "blocks",
    version: Annotated[str | None, typer.Option(help="Rules version that games name (the newest).", show_default=False)] = None,
    most: Annotated[int, typer.Option("--games", help="Games to use at most.", min=1)] = 200_000,
    challenges: common.ChallengesOption = None,
    rules: common.RulesOption = None,
    threads: Annotated[int | None, typer.Option(help="Threads (every core).", show_default=False)] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Fit the points of a rules file to the scores that players' phones claimed, exactly, whatever a minority forged.

    Exit code 0 when no fitted value differs from the file, 1 when one does, 2 when files or rules cannot be read.
    """
    from replay.calibrate import KEYS, fit_files
    from replay.challenges import load_challenges
    from replay.lake import open_lake

    if game not in KEYS:
        raise UsageError(f"--game {game!r} is no game, it must be one of {', '.join(KEYS)}")
    settings = common.load_settings(challenges=challenges, rules=rules, threads=threads).night()
    rulebook = settings.rulebook()
    table = load_challenges(settings.challenges_file, rulebook)
    known = rulebook.versions(game)
    if not known:
        raise UsageError(f"--game {game}: --rules holds no rules file of it, there is nothing to compare with")
    wanted = version or known[-1]
    if files:
        found = fit_files(files, game, wanted, rulebook, table, threads=settings.threads, most=most)
    elif lake is not None and first is not None:
        begin = common.parse_day(first, "--from")
        with open_lake(lake) as where:
            logs = _landed(where, begin, begin if last is None else common.parse_day(last, "--to"))
            found = fit_files(logs, game, wanted, rulebook, table, threads=settings.threads, most=most)
    else:
        raise UsageError("calibrate: give files with games, or the days of a lake with --lake, --from and --to")
    if not found.games:
        raise InputError(f"no game of {game} {wanted} was found there; look at the files with `replay verify`, or at --version")
    if as_json:
        common.print_json(found.as_json())
    else:
        _show(found)
    if any(value.differs for value in found.values):
        raise typer.Exit(1)


def _landed(lake: Lake, begin: date, end: date) -> list[Path]:
    days = (end - begin).days + 1
    files = [path for day in common.days_from(begin, max(0, days)) for path in lake.log_files(day)[0]]
    if not files:
        raise UsageError(f"{lake.name}: no log file lies there from {begin} to {end}, check --from and --to")
    lake.fetch_logs(files)
    return files


def _show(found: Calibration) -> None:
    from replay.words import visible

    out = common.console()
    title = f"{found.game} {found.version}: {found.explained:,} of {found.used:,} usable games come out with the fitted values"
    columns = (("value", "left"), ("in the file", "right"), ("fitted", "right"), ("games for it", "right"), ("against", "right"),
               ("runner-up", "left"), ("", "left"))  # fmt: skip
    table = common.table(title, *columns)
    for value in found.values:
        runner_up = f"{value.runner_up:,} ({value.runner_up_games:,})" if value.runner_up is not None else "-"
        fitted = "cannot tell" if value.fitted is None else f"{value.fitted:,}"
        table.add_row(
            value.key, f"{value.in_file:,}", fitted, f"{value.supporting:,}", f"{value.contradicting:,}", runner_up, _said(value)
        )
    out.print(table)
    for sentence in _left_out(found):
        out.print(sentence, soft_wrap=True)
    against = list(dict.fromkeys(game_id for value in found.values for game_id in value.contradicting_games))
    if against:
        shown = ", ".join(visible(game_id) for game_id in against[:5])
        out.print(f"Games against: {shown}{' and others' if len(against) > 5 else ''}", soft_wrap=True)


def _left_out(found: Calibration) -> list[str]:
    """What was not used, and why."""
    unused = found.games - found.used - found.copies
    said = []
    if unused:
        said.append(f"Left out: {unused:,} of {found.games:,} games, whose log is not legal or gives another board or combo.")
    if found.copies:
        said.append(f"Left out: {found.copies:,} of {found.games:,} games, which are the same upload again.")
    if found.unreadable:
        said.append(f"Left out: {found.unreadable:,} records that cannot be read; `replay verify` says why.")
    if found.ended_early:
        said.append(f"There are more games than {found.used:,}, which is as many as --games allows.")
    return said


def _said(value: Value) -> str:
    if value.fitted is None:
        return value.why
    return "differs from the file" if value.differs else "agrees"
