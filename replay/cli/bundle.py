"""``replay check-bundle``: a disputed game that somebody handed over, checked on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from replay.cli import common
from replay.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check-bundle")(check_bundle)


def check_bundle(
    bundle: Annotated[Path, typer.Argument(help="A file that `replay game ID --bundle` wrote.")],
    sha256: Annotated[
        str | None, typer.Option("--sha256", help="The SHA-256 that was told with it.", show_default=False)
    ] = None,
    rules: common.RulesOption = None,
    as_json: common.JsonOption = False,
) -> None:
    """Derive a bundle's verdict anew from what it holds, and say what differs.

    Exit code 0 when the bundle is whole and the same verdict comes out, 1 when anything differs, 2 when it cannot be read.
    """
    from replay.bundle import check_bundle as check
    from replay.rulebook import load_rulebook
    from replay.words import visible

    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise UsageError(f"--sha256 {sha256!r} is no SHA-256, it has 64 digits from 0 to f")
    found = check(bundle, load_rulebook(rules, lazy=True), sha256)
    if as_json:
        common.print_json(found.as_json())
    else:
        out = common.console()
        out.print(f"Game {visible(found.game_id)}: {visible(found.verdict)}", soft_wrap=True)
        out.print(f"SHA-256 {found.sha256}", soft_wrap=True)
        for sentence in found.notes:
            out.print(visible(sentence, 2000), soft_wrap=True)
        for sentence in found.differences:
            out.print(f"DIFFERS  {visible(sentence, 2000)}", soft_wrap=True)
        if found.differences:
            out.print("This bundle does not prove the verdict that stands in it.")
        else:
            told = "" if sha256 else " Hold the SHA-256 against the one that was told with it: --sha256."
            out.print(f"Whole, and the same verdict comes out of it here.{told}", soft_wrap=True)
    if found.differences:
        raise typer.Exit(1)
