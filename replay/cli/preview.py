"""``replay preview``: what would a change of the rules move?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import common
from replay.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from replay.lake import Lake
    from replay.night import NightSettings
    from replay.preview import Preview, Question


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("preview")(preview)


def preview(
    rules: Annotated[Path, typer.Option("--rules", help="The rules file to try, under any name.", show_default=False)],
    first: Annotated[str, typer.Option("--from", help="First day, on which games landed, YYYY-MM-DD.", show_default=False)],
    last: Annotated[str, typer.Option("--to", help="Last day.", show_default=False)],
    lake: common.LakeOption,
    as_version: Annotated[
        str | None,
        typer.Option("--as", help="Version whose games are counted by the file as if they named it.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(help="Rows of each list at most.", min=0)] = 20,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page here.", show_default=False)] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base-rules", envvar="REPLAY_RULES", help="Folder of the rules files in use (built-in ones).", show_default=False
        ),
    ] = None,
    challenges: common.ChallengesOption = None,
    players: common.PlayersOption = None,
    threads: Annotated[int | None, typer.Option(help="Threads (every core).", show_default=False)] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Say what would move if games were judged under another rules file.  Nothing is written to the lake.

    Without --as: the file takes the place of the one of its version ("we found our rules file wrong"). Games that name this
    version are verified again as the nights would: a claim that no longer comes out is flagged, one that does now is verified.

    With --as VERSION: the games that name VERSION are counted by the file, whatever its own version ("what would 1.3.0 do to last
    month"). Nobody claimed anything under it, so the score that it gives stands in for the claim; flags stay as they are.

    Exit code 0 when nothing would move, 1 when something would, 2 when files, days or options cannot be used.
    """
    from replay.lake import open_lake
    from replay.preview import Question, read_new_rules, refuse_place

    days = (common.parse_day(first, "--from"), common.parse_day(last, "--to"))
    settings = common.load_settings(rules=base, challenges=challenges, players=players, threads=threads).night()
    with open_lake(lake) as where:
        refuse_place(where)
        _refuse_page(html, where)
        question = Question(read_new_rules(rules), *days, as_version)
        found = _with_progress(where, settings, question, limit)
        if html is not None:
            _write(html, found, where.name)
    if as_json:
        common.print_json(found.as_json())
    else:
        _show(found)
        if html is not None:
            common.console().print(f"Wrote {html}", soft_wrap=True)
    raise typer.Exit(1 if found.would_move else 0)


def _refuse_page(html: Path | None, lake: Lake) -> None:
    """Raises UsageError for a page that would be written into the lake, or nowhere: better told before hours of work."""
    if html is None:
        return
    if html.resolve().is_relative_to(lake.root.resolve()):
        raise UsageError(f"{html}: lies in the lake, to which a preview writes nothing, name another place")
    if not html.parent.is_dir() or html.is_dir():
        raise UsageError(f"{html}: cannot be written, name a file in a folder that exists")


def _write(html: Path, found: Preview, lake: str) -> None:
    from replay.preview_page import render_html

    try:
        html.write_text(render_html(found, lake), "utf-8")
    except OSError as error:
        raise UsageError(f"{html}: cannot be written ({error.strerror})") from error


def _with_progress(lake: Lake, settings: NightSettings, question: Question, limit: int) -> Preview:
    from replay.preview import preview as ask

    with common.progress() as bar:
        task = bar.add_task("verify", total=None)

        def report(step: str, done: int, total: int) -> None:
            if step == "verify":
                bar.update(task, description=step, completed=done, total=total)
            else:
                bar.update(task, description=step)

        return ask(lake, settings, question, limit=limit, report=report)


def _show(found: Preview) -> None:
    from replay.harmless import visible
    from replay.preview_page import summary

    out = common.console()
    for sentence in summary(found):
        out.print(sentence, soft_wrap=True)
    for note in found.notes:
        out.print(f"Note: {visible(note, 500)}", soft_wrap=True)
    if found.verdicts:
        table = common.table("Games by verdict", ("published", "left"), ("new", "left"), ("games", "right"))
        for row in found.verdicts:
            table.add_row(*(_shown(row[f"verdict_{side}"]) for side in ("before", "after")), f"{row['games']:,}")
        out.print(table)
    _show_games(out, found)
    _show_moves(out, found)


def _show_games(out: Console, found: Preview) -> None:
    if not found.games:
        return
    table = common.table(
        f"Games, {len(found.games):,} of {found.counts['games']:,}, the largest change of the replayed score first",
        ("game", "left"), ("player", "left"), ("challenge", "left"), ("claimed", "right"), ("published", "right"),
        ("new", "right"), ("published verdict", "left"), ("new verdict", "left"),
    )  # fmt: skip
    for row in found.games:
        scores = (_number(row[name]) for name in ("claimed", "score_before", "score_after"))
        challenge = f"{row['game'] or '-'} {row['challenge'] or ''}"
        verdicts = (_verdict(row, side) for side in ("before", "after"))
        table.add_row(_text(row["game_id"]), _text(row["player_id"]), _text(challenge), *scores, *verdicts)
    out.print(table)


def _verdict(row: dict[str, Any], side: str) -> str:
    codes = ", ".join(row[f"reasons_{side}"])
    return _shown(row[f"verdict_{side}"]) + (f": {codes}" if codes else "")


def _shown(verdict: str | None) -> str:
    """A verdict as people name it, none of a game that is not there."""
    return "held back" if verdict == "withheld" else verdict or "-"


def _show_moves(out: Console, found: Preview) -> None:
    moves = found.moves
    if moves.totals:
        table = common.table(
            f"Totals and positions of all time, {len(moves.totals):,} of {moves.totals_of:,}",
            ("player", "left"), ("game", "left"), ("total", "right"), ("new", "right"), ("position", "right"), ("new", "right"),
        )  # fmt: skip
        for row in moves.totals:
            numbers = (_number(row[name]) for name in ("total_before", "total_after", "position_before", "position_after"))
            table.add_row(_text(row["player_id"]), row["game"], *numbers)
        out.print(table)
    if moves.days:
        table = common.table(
            f"Bests, positions and tiers of days, {len(moves.days):,} of {moves.days_of:,}",
            ("player", "left"), ("challenge", "left"), ("best", "right"), ("new", "right"), ("position", "right"),
            ("new", "right"), ("tier", "left"), ("new", "left"),
        )  # fmt: skip
        for row in moves.days:
            numbers = (_number(row[name]) for name in ("score_before", "score_after", "position_before", "position_after"))
            tiers = (row[name] or "-" for name in ("tier_before", "tier_after"))
            table.add_row(_text(row["player_id"]), f"{row['game']} {row['challenge']}", *numbers, *tiers)
        out.print(table)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _text(value: str | None) -> str:
    from replay.harmless import visible

    return "-" if value is None else visible(value)
