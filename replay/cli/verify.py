"""``replay verify``: files of games, a verdict a line."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from replay.cli import common
from replay.errors import InputError, UsageError
from replay.words import visible


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    files: Annotated[
        list[str], typer.Argument(help="NDJSON (.gz, .zst, plain) or Parquet files, or their URLs; - is standard input.")
    ],
    challenges: common.ChallengesOption = None,
    rules: common.RulesOption = None,
    threads: Annotated[int | None, typer.Option(help="Threads (every core).", show_default=False)] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Verify games from files, a line a game in the input's order, without a lake.

    Exit code 0 when all is fine, 1 when a game was flagged, 2 when a record or a file could not be read.
    """
    from replay.adhoc import verify_files

    settings = common.load_settings(challenges=challenges, rules=rules, threads=threads).night()
    verifier = settings.verifier()
    counts: Counter[str] = Counter()
    out = common.console()
    with tempfile.TemporaryDirectory(prefix="replay-stdin-") as folder:
        stdin = Path(folder) / "stdin.ndjson"
        if files.count("-") > 1:
            raise UsageError("verify: standard input (-) is given twice, it can be read once")
        if "-" in files:
            _keep_stdin(stdin)
        paths = [
            stdin if file == "-" else _fetched(file, Path(folder) / str(number)) if "://" in file else Path(file)
            for number, file in enumerate(files)
        ]
        shown = {str(path): file for path, file in zip(paths, files, strict=True)}
        for found in verify_files(paths, verifier, settings.threads):
            found["source"]["file"] = shown[found["source"]["file"]]
            counts[found["verdict"]] += 1
            if as_json:
                common.print_json(found)
            else:
                _show(out, found)
    if not as_json:
        total = sum(counts.values())
        parts = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(counts.items()))
        out.print(f"{total:,} record{'' if total == 1 else 's'}: {parts}" if total else "no records")
    if counts["flagged"]:
        raise typer.Exit(1)
    if counts["quarantined"]:
        raise typer.Exit(2)


def _fetched(url: str, folder: Path) -> Path:
    """The object at ``url`` as a file of its name.  Raises InputError and a store's other errors."""
    from replay.store import Store

    parent, _, name = url.rpartition("/")
    store = Store(parent, common.load_settings().storage_options)
    entry = store.head(name)
    if entry is None:
        raise InputError(f"{url}: there is no such object, check the URL")
    folder.mkdir()
    store.get(entry, folder / name)
    return folder / name


def _keep_stdin(path: Path) -> None:
    with path.open("wb") as handle:
        while piece := sys.stdin.buffer.read(1 << 20):
            handle.write(piece)


def _show(out: Any, found: dict[str, Any]) -> None:
    from rich.text import Text

    from replay.present import short_reason

    style = {"verified": "green", "flagged": "bold red", "copy": "yellow", "quarantined": "magenta"}[found["verdict"]]
    line = Text()
    line.append(f"{found['verdict']:<12}", style=style)
    line.append(visible(found["game_id"] or f"line {found['source']['line']}"))
    details = [short_reason(reason) for reason in found["reasons"]]
    if found.get("copy_of") is not None:
        details.insert(0, f"of {found['copy_of']}")
    details += [f"({sign})" for sign in found["suspicions"]]
    if details:
        line.append("  " + visible("; ".join(details), 400))
    out.print(line, soft_wrap=True)
