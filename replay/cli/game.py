"""``replay game``: one disputed game, in words and move by move."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import common
from replay.errors import InputError, MalformedRecord, UsageError

if TYPE_CHECKING:
    from replay.challenges import ChallengeTable
    from replay.record import Record
    from replay.rulebook import Rulebook
    from replay.verdict import Verdict


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("game")(game)


def game(
    which: Annotated[
        str, typer.Argument(metavar="GAME_ID|FILE|-", help="A game of the lake, a file with its record, or - for standard input.")
    ],
    lake: common.NoLakeOption = None,
    pick: Annotated[
        str | None, typer.Option("--pick", help="Game id, for a file that holds several games.", show_default=False)
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page here.", show_default=False)] = None,
    first: Annotated[int | None, typer.Option("--from", help="First move to show, from 1.", show_default=False)] = None,
    last: Annotated[int | None, typer.Option("--to", help="Last move to show.", show_default=False)] = None,
    challenges: common.ChallengesOption = None,
    rules: common.RulesOption = None,
    players: common.PlayersOption = None,
    as_json: common.JsonOption = False,
) -> None:
    """Replay one game and say what came out, in words for the player and move by move.

    Exit code 0 when the game stands, 1 when it is flagged, 2 when it cannot be read.
    """
    from replay.challenges import load_challenges
    from replay.rulebook import load_rulebook
    from replay.trace import Dispute

    rulebook = load_rulebook(rules, lazy=True)
    table = load_challenges(challenges, rulebook, lazy=True)
    record, verdict, note = _find(which, lake, pick, rulebook, table)
    record = replace(record, player_id=_new_id(record.player_id, players))
    dispute = Dispute(record, verdict, rulebook.find(record.game, record.rules), table.find(record.game, record.challenge))
    if html is not None:
        from replay.dispute import render_html

        try:
            html.write_text(render_html(dispute, first, last), "utf-8")
        except OSError as error:
            raise UsageError(f"{html}: cannot be written ({error.strerror})") from error
    if as_json:
        common.print_json(verdict.as_json())
    else:
        from replay.dispute import render_terminal

        out = common.console()
        render_terminal(dispute, out, first, last)
        for line in note:
            out.print(line, soft_wrap=True)
        if html is not None:
            out.print(f"Wrote {html}", soft_wrap=True)
    raise typer.Exit({"flagged": 1, "quarantined": 2}.get(verdict.verdict, 0))


def _new_id(player_id: str, players: Path | None) -> str:
    """The id that stands for an anonymised player's, who may be shown under no other."""
    from replay.challenges import SEEDS
    from replay.standings import load_player_states

    state = load_player_states(players or SEEDS / "players.csv").get(player_id)
    return state.new_id or player_id if state else player_id


def _find(
    which: str, lake: str | None, pick: str | None, rulebook: Rulebook, table: ChallengeTable
) -> tuple[Record, Verdict, list[str]]:
    """The record, its verdict, and lines to print below it."""
    if which == "-":
        return *_judge(_one_line(sys.stdin.buffer.read(), "standard input", pick), rulebook, table), []
    path = Path(which)
    # os.path says no, and does not raise, when an id is too long for the name of a file.
    if os.path.isfile(which):
        if path.suffix == ".parquet":
            raise UsageError(f"{path}: give a file with the record as JSON, or verify the Parquet file with `replay verify`")
        return *_judge(_one_line(_read(path), str(path), pick), rulebook, table), []
    if lake is None:
        raise UsageError(f"{which!r} is no file; to look a game id up name the lake with --lake")
    return _from_lake(which, lake, rulebook, table)


def _read(path: Path) -> bytes:
    from replay.lookup import damage, open_log

    try:
        with open_log(path) as handle:
            return handle.read()
    except damage(path) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _one_line(data: bytes, source: str, pick: str | None) -> Record:
    """The only game of a file, or the one picked.  A single record may also stand on several lines."""
    from replay.record import check_object, parse_json, parse_record

    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = [line for line in data.split(b"\n") if line.strip()]
    if not lines:
        raise InputError(f"{source}: holds no game")
    try:
        if pick is None and (len(lines) == 1 or not lines[0].rstrip().endswith(b"}")):
            return check_object(parse_json(data.strip()))
    except MalformedRecord as error:
        raise InputError(f"{source}: is no record of a game: {error}") from error
    games: dict[str, bytes] = {}
    for line in lines:
        try:
            games.setdefault(parse_record(line).game_id, line)
        except MalformedRecord:
            # A line that is no record cannot be the one that is looked for; `replay verify` lists it with its reason.
            continue
    if pick is None:
        shown = ", ".join(ascii(game_id) for game_id in list(games)[:5])
        raise UsageError(f"{source}: holds {len(lines)} lines, name one game with --pick (for example {shown})")
    if pick not in games:
        raise InputError(f"{source}: holds no game {pick!r} that can be read")
    return parse_record(games[pick])


def _judge(record: Record, rulebook: Rulebook, table: ChallengeTable) -> tuple[Record, Verdict]:
    from replay.verdict import judge

    try:
        return record, judge(record, rulebook, table)
    except MalformedRecord as error:
        raise InputError(str(error)) from error


def _from_lake(game_id: str, lake: str, rulebook: Rulebook, table: ChallengeTable) -> tuple[Record, Verdict, list[str]]:
    """A published game: replayed again here, with the reasons and suspicions that its night published."""
    from replay.lake import open_lake
    from replay.lookup import find_rows, read_uploaded
    from replay.relations import RELATIONAL_REASONS
    from replay.verdict import Reason
    from replay.words import visible

    with open_lake(lake) as where:
        rows = find_rows(where, game_id)
        row = rows[0]
        uploaded = read_uploaded(where, row)
    # An anonymised player's old id stands in the landed file only.
    record, verdict = _judge(replace(uploaded, player_id=row["player_id"]), rulebook, table)
    import json

    reasons = tuple(Reason(**reason) for reason in json.loads(row["reasons"]))
    evidence: dict[str, Any] | None = json.loads(row["evidence"]) if row["evidence"] else None
    note = [f"Landed on {row['day']} in {visible(row['source_file'])}, line {row['source_line']:,}."]
    if verdict.reasons != tuple(reason for reason in reasons if reason.code not in RELATIONAL_REASONS):
        today = ", ".join(reason.code for reason in verdict.reasons) or "no reason against it"
        note.append(f"Today's rules and challenges give {today}: run the night of {row['day']} again if they were mended.")
    verdict = replace(
        verdict, verdict=row["verdict"], reasons=reasons, suspicions=tuple(row["suspicions"]), evidence=evidence,
        copy_of=row["copy_of"],
    )  # fmt: skip
    for other in rows[1:]:
        note.append(
            f"The same id again: {other['verdict']}, landed on {other['day']} in {visible(other['source_file'])},"
            f" line {other['source_line']:,}."
        )
    return record, verdict, note
