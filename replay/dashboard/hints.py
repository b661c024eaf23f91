"""The figure behind each suspicion of a game, what is usual beside it, and how the game's clock compares with the device's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from replay.errors import InputError

if TYPE_CHECKING:
    from replay.lake import Lake
    from replay.verdict import JudgeSettings

TICKS_A_SECOND = 60


def noted_under(lake: Lake, day: date, otherwise: JudgeSettings) -> JudgeSettings:
    """The limits of the night that noted a day's suspicions, which need not be those of today; ``otherwise`` those of a day whose
    run.json is gone."""
    from replay.night import read_run

    try:
        limits = read_run(lake, day).get("limits", {})
    except InputError:
        return otherwise
    return replace(otherwise, **{each.name: limits[each.name] for each in fields(otherwise) if each.name in limits})


def number_of(code: str, row: Mapping[str, Any], judge: JudgeSettings) -> dict[str, Any]:
    """``name``, ``figure``, what is ``usual``, and the ``game`` that a suspicion names; an old verdict row has no numbers."""
    numbers = (json.loads(row["evidence"]) if row["evidence"] else {}).get(code) or {}
    moves = row["moves_received"]
    if code == "superhuman_pace":
        return _pace(row, numbers, judge)
    if code == "machine_timing":
        figure = f"{numbers['equal']:,} of {numbers['gaps']:,} times are {numbers['ticks']} ticks" if numbers else ""
        usual = f"noted from {judge.even_percent} % on, in logs of {judge.even_min_gaps} times or more"
        return {"name": "Rhythm", "figure": figure, "usual": usual, "game": None}
    if code == "clock_ratio":
        return _clock(numbers, judge)
    if code == "copied_log":
        usual = f"noted in logs of {judge.copied_min_choices} choices or more"
        players = f"{numbers['players']:,} players with this log" if "players" in numbers else "another player has this log"
        figure = f"{moves:,} moves, {players}"
        if "times" in numbers:
            figure += f", {numbers['times_alike']:,} of {numbers['times']:,} pauses alike"
        return {"name": "Same log", "figure": figure, "usual": usual, "game": numbers.get("first_game")}
    finished = "not over" if row["finished"] is False else "over"
    return {"name": code.replace("_", " ").capitalize(), "figure": f"{moves:,} moves, {finished}", "usual": "", "game": None}


def _pace(row: Mapping[str, Any], numbers: Mapping[str, Any], judge: JudgeSettings) -> dict[str, Any]:
    if "ticks" in numbers:
        pace = f"{numbers['ticks'] / numbers['choices']:,.1f} ticks a choice"
        usual = f"noted below {judge.pace_min_ticks_per_choice} ticks, in logs of {judge.pace_min_choices} choices or more"
        return {"name": "Pace", "figure": pace, "usual": usual, "game": None}
    moves = row["moves_received"]
    each = (row["finished_at"] - row["started_at"]).total_seconds() * 1000 / moves if moves else 0
    usual = f"noted below {judge.pace_min_ms_per_token} ms, in logs of {judge.pace_min_tokens} moves or more"
    return {"name": "Pace", "figure": f"{each:,.1f} ms a move", "usual": usual, "game": None}


def _clock(numbers: Mapping[str, Any], judge: JudgeSettings) -> dict[str, Any]:
    limits = f"noted below {judge.clock_fast_percent} %, and above {judge.clock_slow_percent} % in {judge.clock_slow_games} games"
    if not numbers:
        return {"name": "Clock", "figure": "", "usual": limits, "game": None}
    figure = f"{numbers['seconds']:,} s for {numbers['game_seconds']:,} s of game, {numbers['percent']:,} %"
    return {"name": "Clock", "figure": figure, "usual": f"usual for this app {numbers['usual']} %; {limits}", "game": None}


def clock_words(row: Mapping[str, Any]) -> str | None:
    """How the wall clock compares with the game's own; None for a game without one and for an old row, which does not say."""
    ticks = row.get("ticks")
    if not ticks:
        return None
    wall, game = (row["finished_at"] - row["started_at"]).total_seconds(), ticks / TICKS_A_SECOND
    if wall <= 0:
        return f"no time at all went by for {game:,.1f} s of game: a fault of the device's clock"
    return f"{wall:,.1f} s for {game:,.1f} s of game, {100 * wall / game:,.0f} %"


__all__ = ["clock_words", "noted_under", "number_of"]
