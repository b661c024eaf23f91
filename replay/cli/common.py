"""What commands share: options, the console, JSON output, settings."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from replay.errors import InputError, UsageError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.progress import Progress
    from rich.table import Table

    from replay.lake import Lake
    from replay.settings import Settings

_LAKE = typer.Option(
    "--lake", envvar="REPLAY_LAKE", help="Folder of the lake, or its URL on an object store (s3://bucket/lake).",
    show_default=False,
)  # fmt: skip
LakeOption = Annotated[str, _LAKE]
NoLakeOption = Annotated[str | None, _LAKE]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
ChallengesOption = Annotated[
    Path | None,
    typer.Option(
        "--challenges", envvar="REPLAY_CHALLENGES", help="Challenge table in place of seeds/challenges.csv.", show_default=False
    ),
]
RulesOption = Annotated[
    Path | None,
    typer.Option(
        "--rules", envvar="REPLAY_RULES", help="Folder of rules files in place of the built-in ones.", show_default=False
    ),
]
PlayersOption = Annotated[
    Path | None,
    typer.Option(
        "--players", envvar="REPLAY_PLAYERS", help="Removed and anonymised players, in place of seeds/players.csv.",
        show_default=False,
    ),
]  # fmt: skip
DayOption = Annotated[str, typer.Option("--day", help="Day, YYYY-MM-DD (UTC).", show_default=False)]
GameOption = Annotated[str, typer.Option("--game", help="blocks, tetromino or tetcolor.")]


def refuse_no_lake(lake: Lake) -> None:
    """Raises InputError where no lake is: of a mistyped name nothing is held back and nothing was decided, which is no answer."""
    if not lake.exists():
        raise InputError(f"{lake.name}: no such lake, name the folder that holds logs/day=.../")


def parse_day(text: str, option: str = "--day") -> date:
    """A day as written on the command line with ``option``.  Raises UsageError."""
    try:
        day = date.fromisoformat(text)
        # Weeks and days without hyphens are ISO 8601 too.
        if day.isoformat() != text:
            raise ValueError
        return day
    except ValueError as error:
        raise UsageError(f"{option} {text!r} is no day, write it as YYYY-MM-DD") from error


def days_from(first: date, count: int) -> list[date]:
    """``count`` days in a row.  Raises UsageError when they run beyond the calendar."""
    try:
        return [first + timedelta(days=i) for i in range(count)]
    except OverflowError as error:
        raise UsageError(f"--days {count}: {count} days from {first} on run beyond the year 9999, ask for fewer") from error


def load_settings(**options: Any) -> Settings:
    """``replay.settings.load_settings``, imported when a command needs settings: pydantic-settings is slow to start."""
    from replay import settings

    return settings.load_settings(**options)


def console(stderr: bool = False) -> Console:
    """A rich console; plain and unwrapped where it is no terminal."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            stop_writing()

    stream = sys.stderr if stderr else sys.stdout
    # A pipe has no width: wide enough that no id is folded.
    return Quiet(width=None if stream.isatty() else 160, stderr=stderr, highlight=False, markup=False, emoji=False)


def print_json(value: Any) -> None:
    """One JSON value on a line.  ASCII only: no text from a player can act on the terminal."""
    try:
        sys.stdout.write(json.dumps(value, ensure_ascii=True, default=str) + "\n")
    except BrokenPipeError:
        stop_writing()


def stop_writing() -> NoReturn:
    """End in peace: whoever read our output through a pipe has seen enough."""
    # Python would complain again while it flushes stdout at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(0)


def print_lines(values: Iterable[Any]) -> None:
    """One JSON value a line."""
    for value in values:
        print_json(value)


def table(title: str, *columns: tuple[str, str]) -> Table:
    """A plain table under its title; each column is (heading, "left" or "right")."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    class Titled(Table):
        # rich folds a title to the table's own width.
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield Text(title, "bold", overflow="fold")
            yield from super().__rich_console__(console, options)

    # Collapsed padding: a challenge's ranking fits 80 columns with its player ids whole.
    out = Titled(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading, justify in columns:
        out.add_column(heading, justify="right" if justify == "right" else "left", overflow="fold")
    return out


def progress() -> Progress:
    """A progress bar on stderr that leaves nothing behind where stderr is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    out = console(stderr=True)
    return Progress(
        TextColumn("{task.description:<22}"), BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(), console=out,
        disable=not out.is_terminal,
    )  # fmt: skip
