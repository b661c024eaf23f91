"""The command line, ``replay``.

Command modules import nothing heavy at their top: numba, DuckDB, Arrow and pydantic are imported by the commands that need
them, so that one disputed game opens at once.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import typer

from replay.cli import boards, bundle, calibrate, common, dashboard, demo, flags, game, night, preview, release, review, verify
from replay.errors import ReplayError, UsageError
from replay.words import visible

app = typer.Typer(
    name="replay",
    help="Nightly replay verification: whose score stands, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (demo, night, verify, game, flags, review, release, boards, dashboard, preview, calibrate, bundle):
    module.register(app)


def main() -> None:
    """Run the command line.  An error that the product raises on purpose is one sentence on stderr and its exit code."""
    code: str | int | None
    _open_streams()
    try:
        app()
        code = 0
    except SystemExit as done:
        code = done.code
    except ReplayError as error:
        code = _say(str(error), error.exit_code)
    except OSError as error:
        # The machine's answer: no rights, no space, a folder where a file should be.
        code = _say(f"{error.filename or 'the system'}: {error.strerror or error}", UsageError.exit_code)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        common.stop_writing()
    sys.exit(code)


def _open_streams() -> None:
    """Whoever closed our output (``>&-``) wants to hear nothing; Python leaves no stream to write to then."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it stays open as long as we run.
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal or pipe that is not UTF-8 gets escapes for what it cannot hold, as stderr does of itself.
        sys.stdout.reconfigure(errors="backslashreplace")


def _say(sentence: str, code: int) -> int:
    # Names of files and texts of players may stand in it.
    sys.stderr.write(f"replay: {visible(sentence, 2000)}\n")
    return code


__all__ = ["app", "main"]
