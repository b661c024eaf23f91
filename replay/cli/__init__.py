"""The command line, ``replay``.

Command modules import nothing heavy at their top: numba, DuckDB, Arrow and pydantic are imported by the commands that need
them, so that one disputed game opens at once.
"""

from __future__ import annotations

import sys

import typer

from replay.cli import boards, demo, game, night, verify
from replay.errors import ReplayError

app = typer.Typer(
    name="replay",
    help="Nightly replay verification: whose score stands, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (demo, night, verify, game, boards):
    module.register(app)


def main() -> None:
    """Run the command line.  An error that the product raises on purpose is one sentence on stderr and its exit code."""
    try:
        app()
    except ReplayError as error:
        sys.stderr.write(f"replay: {error}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of a pipe has seen enough; Python would complain again while it closes stdout.
        sys.stderr.close()
        sys.exit(0)


__all__ = ["app", "main"]
