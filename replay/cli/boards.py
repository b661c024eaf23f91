"""``replay standings``: what the last night published."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import common
from replay.errors import UsageError

if TYPE_CHECKING:
    from replay.lake import Lake
    from replay.moves import Moves

# The database counts rows in 64 bits.
MOST_ROWS = 1_000_000_000
LimitOption = Annotated[int, typer.Option("--limit", help="Rows to show.", min=1, max=MOST_ROWS)]
OffsetOption = Annotated[int, typer.Option("--offset", help="Rows to skip.", min=0, max=MOST_ROWS)]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("standings")(standings)


def standings(
    lake: common.LakeOption,
    day: Annotated[str | None, typer.Option("--day", help="Ranking of one day's challenge.", show_default=False)] = None,
    nation: Annotated[
        str | None, typer.Option("--nation", help="A nation's leaderboard, by its two letters.", show_default=False)
    ] = None,
    month: Annotated[str | None, typer.Option("--month", help="A month's leaderboard, YYYY-MM.", show_default=False)] = None,
    player: Annotated[str | None, typer.Option("--player", help="One player's standing.", show_default=False)] = None,
    digest: Annotated[bool, typer.Option("--digest", help="The weekly digest.")] = False,
    restate: Annotated[
        bool, typer.Option("--restate", help="Take the decisions of now into the standings and show what moved.")
    ] = False,
    players: common.PlayersOption = None,
    game: common.GameOption = "blocks",
    limit: LimitOption = 10,
    offset: OffsetOption = 0,
    as_json: common.JsonOption = False,
) -> None:
    """Show the published standings: a leaderboard, one day's ranking, one player, or the weekly digest.

    With --restate: take what people decided about games (`replay review`) into the standings at once, as the next night would,
    and show what moved.  Exit code 0 also when there was nothing to restate, 1 when a check failed or a night is running.
    """
    from replay.lake import open_lake

    if sum((day is not None, player is not None, digest, restate, nation is not None or month is not None)) > 1:
        raise UsageError("give one of --day, --player, --digest, --restate, or --nation and --month together")
    _check_names(game, nation, month)
    with open_lake(lake) as where:
        if restate:
            _restate(where, players, limit, as_json)
            return
        where.refresh("standings")
        path = where.current_warehouse()
        _show(path, day, nation, month, player, digest, game, limit, offset, as_json)


def _restate(lake: Lake, players: Path | None, limit: int, as_json: bool) -> None:
    from replay.night import restate_standings

    restated = restate_standings(lake, common.load_settings(players=players).night())
    if as_json:
        common.print_json(restated.as_json())
        return
    if restated.moves is None:
        common.console().print(f"Nothing to restate: the standings ({restated.warehouse}) hold every decision.", soft_wrap=True)
        return
    show_moves(restated.moves, limit)
    common.console().print(f"The standings are now {restated.warehouse}.", soft_wrap=True)


def show_moves(moves: Moves, limit: int = 10) -> None:
    """What moved in the standings: counts, then the largest changes."""
    out = common.console()
    counts = common.table("What moved", ("", "left"), ("count", "right"))
    for name, number in (
        ("players", moves.players), ("bests of a day", moves.bests), ("totals", moves.totals_moved),
        ("world positions of all time", moves.positions), ("rank tiers of a day", moves.tiers),
    ):  # fmt: skip
        counts.add_row(name, f"{number:,}")
    out.print(counts)
    for title, rows, kinds in (
        ("Totals and world positions of all time", moves.totals, ("total", "position")),
        ("Bests of a day", moves.days, ("score", "position", "tier")),
    ):
        if not rows:
            continue
        named = [name for name in ("game", "challenge", "player_id") if name in rows[0]]
        columns = ((name.replace("_id", ""), "left") for name in named)
        changes = ((kind, "left" if kind == "tier" else "right") for kind in kinds)
        found = common.table(title, *columns, *changes)
        for row in rows[:limit]:
            found.add_row(*(cell(row[name]) for name in named), *(_change(row, kind) for kind in kinds))
        out.print(found)


def _change(row: dict[str, Any], kind: str) -> str:
    before, after = cell(row[f"{kind}_before"]), cell(row[f"{kind}_after"])
    return before if before == after else f"{before} -> {after}"


def _show(
    path: Path, day: str | None, nation: str | None, month: str | None, player: str | None, digest: bool, game: str, limit: int,
    offset: int, as_json: bool,
) -> None:  # fmt: skip
    from replay import standings as queries

    columns: tuple[str, ...]
    if player is not None:
        found = queries.query_player(path, player)
        if found is None:
            raise UsageError(f"player {player!r} has no game that counts")
        _show_player(found, as_json)
        return
    if day is not None:
        title = f"{game}, challenge of {common.parse_day(day)}"
        rows = queries.query_day(path, game=game, challenge=day, limit=limit, offset=offset)
        columns = ("position", "player_id", "nation", "score", "attempt", "percentile", "tier")
    elif digest:
        title = f"{game}, weekly digest"
        rows = queries.query_digest(path, game=game, limit=limit, offset=offset)
        columns = ("sunday", "position", "player_id", "total", "previous_position", "change")
    else:
        title = f"{game}, {nation or 'world'}, {month or 'all time'}"
        rows = queries.query_leaderboard(path, game=game, nation=nation, month=month, limit=limit, offset=offset)
        columns = ("position", "player_id", "player_nation", "total", "challenges", "reached_at")
    if as_json:
        common.print_lines(rows)
        return
    show_rows(title, rows, columns)
    for status in _status(path, game, day, month) if rows and not digest else ():
        common.console().print(status, soft_wrap=True)


def _status(path: Path, game: str, day: str | None, month: str | None) -> list[str]:
    """What stands under a ranking: how far it goes, whether it can still change, the rules that were played."""
    from replay import standings as queries

    as_of = queries.query_as_of(path)
    if day is not None:
        found = [row for row in queries.query_challenges(path, game=game, limit=100_000) if row["challenge"] == day]
    else:
        found = [row for row in queries.query_periods(path, game=game) if row["month"] == month]
    lines = []
    for row in found:
        until = "" if row["status"] == "final" else f" until {row['final_from']}"
        versions: Any = row["rules_versions"]
        lines.append(f"As of {as_of}; {row['status']}{until}; rules {', '.join(versions)}")
    return lines


def _check_names(game: str, nation: str | None, month: str | None) -> None:
    """A board that cannot be is a mistake in the call, not an empty board."""
    from replay.record import GAMES, nations

    if game not in GAMES:
        raise UsageError(f"--game {game!r} is no game, it must be one of {', '.join(GAMES)}")
    if nation is not None and nation not in nations():
        raise UsageError(f"--nation {nation!r} is no nation, write the two capital letters of ISO 3166-1")
    if month is not None and not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", month):
        raise UsageError(f"--month {month!r} is no month, write it as YYYY-MM")


_HEADINGS = {"player_nation": "nation", "player_id": "player", "challenges": "played", "previous_position": "last week"}
_NUMERIC = ("position", "score", "attempt", "percentile", "total", "challenges", "previous_position", "change", "games")


def show_rows(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Rows as a table; text from players is shown harmlessly."""
    headings = (_HEADINGS.get(name, name.replace("_", " ")) for name in columns)
    out = common.table(title, *((h, "right" if name in _NUMERIC else "left") for h, name in zip(headings, columns, strict=True)))
    for row in rows:
        out.add_row(*(cell(row[name]) for name in columns))
    common.console().print(out if rows else f"{title}: nobody yet")


def cell(value: Any) -> str:
    """A value as a table shows it."""
    from replay.words import visible

    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:.2f}"
    return visible(str(value))


def _show_player(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        common.print_json(found)
        return
    name = f"{cell(found['player_id'])} ({found['player_kind']}, {found['nation'] or 'no nation'})"
    boards = ("game", "scope", "nation", "month", "position", "people", "total", "challenges")
    show_rows(f"{name}: leaderboards", found["boards"], boards)
    days = ("game", "challenge", "position", "score", "attempt", "percentile", "tier", "status")
    show_rows(f"{name}: challenges", found["days"], days)
