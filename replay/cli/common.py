"""What commands share: options, the console, JSON output, settings."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from replay.settings import Settings

LakeOption = Annotated[Path, typer.Option("--lake", envvar="REPLAY_LAKE", help="Folder of the lake.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
ChallengesOption = Annotated[
    Path | None, typer.Option("--challenges", help="Challenge table in place of seeds/challenges.csv.", show_default=False)
]
RulesOption = Annotated[
    Path | None, typer.Option("--rules", help="Folder of rules files in place of the built-in ones.", show_default=False)
]
PlayersOption = Annotated[
    Path | None,
    typer.Option("--players", help="Removed and anonymised players, in place of seeds/players.csv.", show_default=False),
]
DayOption = Annotated[str, typer.Option("--day", help="Day, YYYY-MM-DD (UTC).", show_default=False)]
GameOption = Annotated[str, typer.Option("--game", help="blocks, tetromino or tetcolor.")]


def parse_day(text: str) -> date:
    """A day as written on the command line.  Raises UsageError."""
    try:
        if len(text) != 10:
            raise ValueError
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--day {text!r} is no day, write it as YYYY-MM-DD") from error


def load_settings(**options: Any) -> Settings:
    """Settings from the environment, with the options that were given on top.  Raises UsageError."""
    from pydantic import ValidationError

    from replay.settings import Settings

    try:
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            f"setting REPLAY_{str(first['loc'][0]).upper()} is {first['input']!r}: {first['msg'].lower()}"
        ) from error


def console(stderr: bool = False) -> Console:
    """A rich console; plain and unwrapped where it is no terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # A pipe has no width: wide enough that no id is folded.
    return Console(width=None if stream.isatty() else 160, stderr=stderr, highlight=False, markup=False, emoji=False)


def print_json(value: Any) -> None:
    """One JSON value on a line.  ASCII only: no text from a player can act on the terminal."""
    sys.stdout.write(json.dumps(value, ensure_ascii=True, default=str) + "\n")


def print_lines(values: Iterable[Any]) -> None:
    """One JSON value a line."""
    for value in values:
        print_json(value)


def table(title: str, *columns: tuple[str, str]) -> Table:
    """A plain table; each column is (heading, "left" or "right")."""
    from rich import box
    from rich.table import Table

    out = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
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
