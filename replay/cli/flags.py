"""``replay flags``: what speaks against uploaded games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from replay.cli import common
from replay.cli.boards import LimitOption, OffsetOption

if TYPE_CHECKING:
    from replay.flags import FlagPage


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("flags")(flags)


def _option(name: str, text: str) -> Any:
    return typer.Option(name, help=text, show_default=False)


def flags(
    lake: common.LakeOption,
    day: Annotated[str | None, _option("--day", "Day that was landed, YYYY-MM-DD.")] = None,
    first: Annotated[str | None, _option("--from", "First day that was landed.")] = None,
    last: Annotated[str | None, _option("--to", "Last day that was landed.")] = None,
    game: Annotated[str | None, _option("--game", "Only this game: blocks, tetromino or tetcolor.")] = None,
    reason: Annotated[str | None, _option("--reason", "Only this reason.")] = None,
    suspicion: Annotated[str | None, _option("--suspicion", "Only games with this suspicion.")] = None,
    platform: Annotated[str | None, _option("--platform", "Only this platform.")] = None,
    app_version: Annotated[str | None, _option("--app-version", "Only this version of the app.")] = None,
    nation: Annotated[str | None, _option("--nation", "Only this nation, by its two letters; none: without one.")] = None,
    player: Annotated[str | None, _option("--player", "Only this player.")] = None,
    state: Annotated[str | None, _option("--state", "Only in this state: open, upheld, cleared or returned.")] = None,
    suspected: Annotated[bool, typer.Option("--suspected", help="Games that verified but look unusual instead.")] = False,
    held: Annotated[bool, typer.Option("--held", help="Games held back instead: their app version looks broken.")] = False,
    limit: LimitOption = 20,
    offset: OffsetOption = 0,
    as_json: common.JsonOption = False,
) -> None:
    """List flagged games, newest day first, with what was claimed and found and what people decided.

    With --suspected those that come out as uploaded but look unusual: a hint, and no proof of anything.  With --held those of an
    app version that looks broken, whose flags a night held back: nobody is accused of them.
    """
    from replay.errors import UsageError
    from replay.flags import flags_of, parse_filter
    from replay.lake import open_lake

    if suspected and held:
        raise UsageError("--suspected and --held are two lists, ask for one of them")
    kind = "suspected" if suspected else "withheld" if held else "flagged"
    wanted = parse_filter(
        {
            "day": day, "from": first, "to": last, "game": game, "reason": reason, "suspicion": suspicion, "platform": platform,
            "app_version": app_version, "nation": nation, "player": player, "state": state,
            "kind": kind,
        },
        "--",
    )  # fmt: skip
    with open_lake(lake) as where:
        found = flags_of(where, wanted, limit=limit, offset=offset)
    if as_json:
        common.print_lines(_as_json(row) for row in found.rows)
        return
    _show(found, _TITLES[kind], lake, offset)
    others = next((facet.uploads for facet in found.facets["kind"] if facet.wish["kind"] == "withheld"), 0)
    if others and kind == "flagged":
        games = "1 game is" if others == 1 else f"{others:,} games are"
        common.console().print(
            f"Besides, {games} held back, as the app version looks broken: the same with --held, and replay release --list",
            soft_wrap=True,
        )


_TITLES = {
    "flagged": "Flagged games", "suspected": "Games that look unusual", "withheld": "Held back: the app version looks broken",
}  # fmt: skip


def _as_json(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its review as plain values; texts stay exactly as they were uploaded."""
    review = row["review"]
    decision = review.decision
    times = {name: f"{row[name].isoformat()}Z" for name in ("started_at", "finished_at", "uploaded_at")}
    return row | times | {
        "review": {
            "state": review.state,
            "new_facts": list(review.new_facts),
            "decision": None if decision is None else {
                "id": decision.id, "action": decision.action, "reviewer": decision.reviewer, "reason": decision.reason,
                "at": decision.at.isoformat(),
            },
        }
    }  # fmt: skip


def _show(found: FlagPage, title: str, lake: str, offset: int) -> None:
    from replay.present import short_reason
    from replay.words import visible

    # Most nights nobody has decided anything yet; then the reasons have the room.
    reviewed = any(row["review"].state != "open" for row in found.rows)
    columns = ["day", "game", "player", *(["review"] if reviewed else []), "why"]
    out = common.table(title, *((heading, "left") for heading in columns))
    for row in found.rows:
        signs = ", ".join(row["suspicions"])
        why = "; ".join(short_reason(reason) for reason in row["reasons"])
        why = f"{why} (and looks unusual: {signs})" if why and signs else why or signs
        cells = [str(row["day"]), visible(row["game_id"]), visible(row["player_id"])]
        out.add_row(*cells, *([row["review"].state] if reviewed else []), visible(why, 200))
    common.console().print(out if found.rows else f"{title}: none")
    if not found.rows:
        return
    if found.total > len(found.rows):
        common.console().print(f"{offset + 1:,} to {offset + len(found.rows):,} of {found.total:,}", soft_wrap=True)
    common.console().print(f"Look at one: replay game GAME --lake {lake}", soft_wrap=True)
