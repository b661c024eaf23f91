"""``replay game``: one disputed game, in words and move by move."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import common
from replay.errors import InputError, MalformedRecord, UsageError

if TYPE_CHECKING:
    from replay.challenges import ChallengeTable
    from replay.i18n import Language
    from replay.lake import Lake
    from replay.record import Record
    from replay.rulebook import Rulebook
    from replay.trace import Dispute
    from replay.verdict import Verdict


@dataclass(frozen=True)
class _Found:
    """A game, its verdict, lines to print below it, where it landed, and a sentence where today's rules judge it otherwise."""

    record: Record
    verdict: Verdict
    note: list[str] = field(default_factory=list)
    source: dict[str, Any] | None = None
    today: str | None = None


# Typer reads them from the signature; here they have the room to be read.
_WHICH = "Which upload under the id: "
_Day = Annotated[str | None, typer.Option("--day", help=_WHICH + "the day that it landed.", show_default=False)]
_File = Annotated[str | None, typer.Option("--file", help=_WHICH + "its log file.", show_default=False)]
_Line = Annotated[int | None, typer.Option("--line", help=_WHICH + "its line.", show_default=False)]


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
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Write a file that proves the verdict elsewhere here.", show_default=False)
    ] = None,
    day: _Day = None,
    file: _File = None,
    line: _Line = None,
    first: Annotated[int | None, typer.Option("--from", help="First move to show, from 1.", show_default=False)] = None,
    last: Annotated[int | None, typer.Option("--to", help="Last move to show.", show_default=False)] = None,
    challenges: common.ChallengesOption = None,
    rules: common.RulesOption = None,
    players: common.PlayersOption = None,
    lang: Annotated[str, typer.Option("--lang", envvar="REPLAY_LANG", help="Language of the words: en, it or de.")] = "en",
    as_json: common.JsonOption = False,
) -> None:
    """Replay one game and say what came out, in words for the player and move by move.

    Of several uploads under one id the one that stands is shown, unless --day, --file and --line name another.

    Exit code 0 when the game stands, 1 when it is flagged or held back, 2 when it cannot be read.
    """
    from replay.challenges import load_challenges
    from replay.i18n import language
    from replay.published import new_id
    from replay.rulebook import load_rulebook
    from replay.trace import Dispute

    spoken = language(lang)
    rulebook = load_rulebook(rules, lazy=True)
    table = load_challenges(challenges, rulebook, lazy=True)
    _refuse_lost_outputs(which, html, bundle)
    place = {"day": None if day is None else common.parse_day(day), "source_file": file, "source_line": line}
    found = _find(which, lake, pick, place, rulebook, table, spoken)
    _refuse_unproven(bundle, found)
    verdict, note = found.verdict, found.note
    record = replace(found.record, player_id=new_id(found.record.player_id, players))
    known = rulebook.find(record.game, record.rules)
    dispute = Dispute(record, verdict, known, table.find(record.game, record.challenge), spoken)
    if html is not None:
        note.append(_write_page(html, dispute, first, last, found.today))
    told = verdict.as_json()
    if bundle is not None:
        sha256 = _write_bundle(bundle, dispute, rulebook, found)
        told["bundle"] = {"file": str(bundle), "sha256": sha256}
    if as_json:
        common.print_json(told)
    else:
        _print(dispute, first, last, note)
    raise typer.Exit({"flagged": 1, "withheld": 1, "quarantined": 2}.get(verdict.verdict, 0))


def _print(dispute: Dispute, first: int | None, last: int | None, note: list[str]) -> None:
    """Show the game in the terminal, and the lines of ``note`` below it."""
    from replay.dispute import render_terminal

    out = common.console()
    render_terminal(dispute, out, first, last)
    for line in note:
        out.print(line, soft_wrap=True)


def _refuse_lost_outputs(which: str, html: Path | None, bundle: Path | None) -> None:
    """Raise UsageError where one file would be written over the other, or over the record."""
    outputs = {"--html": html, "--bundle": bundle}
    places = {name: os.path.realpath(path) for name, path in outputs.items() if path is not None}
    if len(set(places.values())) < len(places):
        raise UsageError(f"{html}: --html and --bundle name the same file, give each its own")
    for name, place in places.items():
        if os.path.isfile(which) and place == os.path.realpath(which):
            raise UsageError(f"{which}: {name} would be written over the record itself, name another file")


def _refuse_unproven(bundle: Path | None, found: _Found) -> None:
    """Raise UsageError for a verdict that would not come out of its bundle."""
    if bundle is not None and found.today is not None:
        raise UsageError(
            f"{bundle}: not written, a bundle of game {found.record.game_id!a} would not prove its published verdict, which"
            " today's rules and challenges do not give: name those of its night with --rules and --challenges, or run that night"
            " again"
        )


def _write_page(path: Path, dispute: Dispute, first: int | None, last: int | None, today: str | None) -> str:
    """Write the page; a line that says so."""
    from replay.game_page import render_html

    _write(path, render_html(dispute, first, last, today).encode("utf-8"))
    return dispute.language.gettext("Wrote {file}", file=str(path))


def _write_bundle(path: Path, dispute: Dispute, rulebook: Rulebook, found: _Found) -> str:
    """Write the bundle, note that and how it is checked, and give its SHA-256."""
    from replay.bundle import make_bundle

    record, gettext = dispute.record, dispute.language.gettext
    data, sha256 = make_bundle(dispute, rulebook.text(record.game, record.rules), found.source)
    _write(path, data)
    check = f"replay check-bundle {shlex.quote(path.name)} --sha256 {sha256}"
    found.note.append(gettext("Wrote {file}, SHA-256 {sha256}", file=str(path), sha256=sha256))
    found.note.append(gettext("Check it anywhere: {command}", command=check))
    return sha256


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error


def _find(
    which: str, lake: str | None, pick: str | None, place: Mapping[str, object], rulebook: Rulebook, table: ChallengeTable,
    spoken: Language,
) -> _Found:  # fmt: skip
    if any(value is not None for value in place.values()) and (which == "-" or os.path.isfile(which)):
        raise UsageError(f"{which}: --day, --file and --line pick an upload of a lake; give --pick for a game of a file")
    if which == "-":
        return _judge(_one_line(sys.stdin.buffer.read(), "standard input", pick), rulebook, table)
    path = Path(which)
    # os.path says no, and does not raise, when an id is too long for the name of a file.
    if os.path.isfile(which):
        if path.suffix == ".parquet":
            raise UsageError(f"{path}: give a file with the record as JSON, or verify the Parquet file with `replay verify`")
        return _judge(_one_line(_read(path), str(path), pick), rulebook, table)
    if lake is None:
        raise UsageError(f"{which!r} is no file; to look a game id up name the lake with --lake")
    return _from_lake(which, lake, place, rulebook, table, spoken)


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
        if not games:
            raise InputError(f"{source}: holds {len(lines)} lines, none of them a record of a game; `replay verify` says why")
        shown = ", ".join(ascii(game_id) for game_id in list(games)[:5])
        raise UsageError(f"{source}: holds {len(lines)} lines, name one game with --pick (for example {shown})")
    if pick not in games:
        raise InputError(f"{source}: holds no game {pick!r} that can be read")
    return parse_record(games[pick])


def _judge(record: Record, rulebook: Rulebook, table: ChallengeTable) -> _Found:
    from replay.verdict import judge

    try:
        return _Found(record, judge(record, rulebook, table))
    except MalformedRecord as error:
        raise InputError(str(error)) from error


def _from_lake(
    game_id: str, lake: str, place: Mapping[str, object], rulebook: Rulebook, table: ChallengeTable, spoken: Language
) -> _Found:
    """A published game: replayed again here, with the reasons and suspicions that its night published."""
    from replay.dispute import VERDICT_NAMES
    from replay.found_words import TODAY, said
    from replay.lake import open_lake
    from replay.lookup import find_rows
    from replay.published import look_again

    with open_lake(lake) as where:
        rows, review = _after_people(where, _wanted_first(find_rows(where, game_id), place))
        found = look_again(where, rows[0], rulebook, table)
    note = [spoken.gettext("Landed on {day} in {file}, line {line}.", **_landed(rows[0]))]
    today = found.today if found.today is None or spoken.is_english else said(found.today, TODAY, spoken)
    if today:
        note.append(today)
    note += [
        spoken.gettext(
            "The same id again: {verdict}, landed on {day} in {file}, line {line}.",
            verdict=spoken.gettext(VERDICT_NAMES[other["verdict"]]), **_landed(other),
        )
        for other in rows[1:]
    ]  # fmt: skip
    source = {"day": str(rows[0]["day"]), "file": rows[0]["source_file"], "line": rows[0]["source_line"]}
    return _Found(found.record, replace(found.verdict, review=review), note, source, today)


def _wanted_first(rows: list[dict[str, Any]], place: Mapping[str, object]) -> list[dict[str, Any]]:
    """The uploads under an id, the first that fits the day, file and line of ``place`` (None: any) in front."""
    found = next((row for row in rows if all(value in (None, row[name]) for name, value in place.items())), None)
    if found is None:
        raise UsageError(f"game {rows[0]['game_id']!a}: no upload of it lies there, name another --day, --file or --line")
    return [found, *(row for row in rows if row is not found)]


def _after_people(where: Lake, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """Verdict rows as people released them, withheld ones of a released group flagged, and what they decided of the first.

    That is ``cleared`` when the game counts for it, ``upheld`` when it does not, else "".
    """
    from replay.reviews.store import may_have_reviews, open_reviews

    if not may_have_reviews(where):
        # Most games need no look at the reviews' database.
        return rows, ""
    from replay.reviews.games import facts_of_row, same_game
    from replay.reviews.incidents import releases_in_force
    from replay.reviews.model import counts, review_of
    from replay.reviews.releases import as_released, standing_releases

    with open_reviews(where) as store:
        known = store.releases() if any(row["verdict"] == "withheld" for row in rows) else []
        released = standing_releases(releases_in_force(where, known))
        rows = [as_released(row, released) for row in rows]
        first = rows[0]
        decisions = [] if first["verdict"] == "copy" else store.decisions(same_game(where, first).subjects)
    review = review_of(decisions, facts_of_row(first))
    if review.state in ("cleared", "returned") and json.loads(first["reasons"]) and counts(first, review):
        return rows, "cleared"
    return rows, "upheld" if review.state == "upheld" else ""


def _landed(row: dict[str, Any]) -> dict[str, object]:
    from replay.harmless import visible

    return {"day": str(row["day"]), "file": visible(row["source_file"]), "line": row["source_line"]}
