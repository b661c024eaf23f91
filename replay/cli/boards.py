"""``replay standings`` and ``replay flags``: what the last night published."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from replay.cli import common
from replay.errors import UsageError

LimitOption = Annotated[int, typer.Option("--limit", help="Rows to show.", min=1)]
OffsetOption = Annotated[int, typer.Option("--offset", help="Rows to skip.", min=0)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("standings")(standings)
    app.command("flags")(flags)


def standings(
    lake: common.LakeOption,
    day: Annotated[str | None, typer.Option("--day", help="Ranking of one day's challenge.", show_default=False)] = None,
    nation: Annotated[
        str | None, typer.Option("--nation", help="A nation's leaderboard, by its two letters.", show_default=False)
    ] = None,
    month: Annotated[str | None, typer.Option("--month", help="A month's leaderboard, YYYY-MM.", show_default=False)] = None,
    player: Annotated[str | None, typer.Option("--player", help="One player's standing.", show_default=False)] = None,
    digest: Annotated[bool, typer.Option("--digest", help="The weekly digest.")] = False,
    game: common.GameOption = "blocks",
    limit: LimitOption = 10,
    offset: OffsetOption = 0,
    as_json: common.JsonOption = False,
) -> None:
    """Show the published standings: a leaderboard, one day's ranking, one player, or the weekly digest."""
    from replay.lake import open_lake

    if sum((day is not None, player is not None, digest, nation is not None or month is not None)) > 1:
        raise UsageError("give one of --day, --player, --digest, or --nation and --month together")
    _check_names(game, nation, month)
    with open_lake(lake) as where:
        where.refresh("standings")
        path = where.current_warehouse()
        _show(path, day, nation, month, player, digest, game, limit, offset, as_json)


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

    as_of = queries.query_publication(path)["as_of"]
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


def flags(
    lake: common.LakeOption,
    day: Annotated[str | None, typer.Option("--day", help="Day that was landed, YYYY-MM-DD.", show_default=False)] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Only this reason.", show_default=False)] = None,
    player: Annotated[str | None, typer.Option("--player", help="Only this player.", show_default=False)] = None,
    limit: LimitOption = 20,
    offset: OffsetOption = 0,
    as_json: common.JsonOption = False,
) -> None:
    """List flagged games, newest day first, with what was claimed and what was found."""
    from replay.flags import query_flags
    from replay.lake import open_lake
    from replay.verdict import REASON_CODES

    if reason is not None and reason not in REASON_CODES:
        raise UsageError(f"--reason {reason!r} is no reason, it must be one of {', '.join(REASON_CODES)}")
    wanted = common.parse_day(day) if day else None
    with open_lake(lake) as where:
        rows = query_flags(where, wanted, reason=reason, player_id=player, limit=limit, offset=offset)
    if as_json:
        common.print_lines(rows)
        return
    from replay.present import short_reason
    from replay.words import visible

    out = common.table("Flagged games", ("day", "left"), ("game", "left"), ("player", "left"), ("why", "left"))
    for row in rows:
        why = "; ".join(short_reason(r) for r in row["reasons"])
        out.add_row(str(row["day"]), visible(row["game_id"]), visible(row["player_id"]), visible(why, 200))
    common.console().print(out if rows else "Flagged games: none")
    if rows:
        common.console().print(f"Look at one: replay game GAME --lake {lake}", soft_wrap=True)
