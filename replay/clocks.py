"""The wall clock against a game's own: ``clock_ratio``, for games whose logs hold ticks, from all games of a day together.

A verdict row has ``ticks`` and ``ticks_played`` (up to the last input), so the ratio of every game is its wall time,
``finished_at`` less ``started_at``, by ``ticks`` / 60 seconds.  What is usual for a client is the median of its (game, platform,
app_version) on that day, 1 where there are fewer than LEAST_USUAL games: a record names no device more closely.

What a log cannot say: whether a long wall time is a pause, in which the game's clock stood, or slow motion from end to end; it
has ticks only.  But a pause is one gap of one game and slow motion a slope, so a slow game alone is no sign: only several
different games of one player at one ratio are.  A weak phone that plays all games at 4/3 of the time is below the limit, and an
app that is slow throughout is usual.  A fast game took less wall time than its inputs need, by the ratio that is usual but never
by more than the game's own time.  No time at all is a fault of the device's clock and says nothing about the player; a time that
runs backwards never comes so far (``replay.record``).  Neither sign takes a score away.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.batch import Ints
from replay.verdict import SUSPICION_CODES

if TYPE_CHECKING:
    from replay.verdict import JudgeSettings

TICKS_A_SECOND = 60
# Games of a client from which on its median says what is usual there.
LEAST_USUAL = 20
# Slow games of one player are at one ratio when the largest is at most so many percent of the smallest.
ONE_RATIO = 110
_CLIENT = ("game", "platform", "app_version")
_COLUMNS = (
    *_CLIENT, "player_id", "started_at", "finished_at", "ticks", "ticks_played", "log_hash_low", "source_file", "source_line",
)  # fmt: skip
Place = tuple[str, int]
_NOTHING = pa.table({})


def find_odd_clocks(batches: Iterable[pa.RecordBatch], limit: JudgeSettings) -> dict[Place, dict[str, Any]]:
    """By (file, line), the numbers of the games whose clock is odd; ``batches`` are all verdict rows of a day.

    ``way`` is ``fast`` or ``slow``; ``percent`` is the wall time in percent of the game's own, ``usual`` the client's percentage,
    and ``games`` how many games of the player have that ratio.
    """
    parts = [part for part in (_timed(batch, limit) for batch in batches) if len(part)]
    if not parts:
        return {}
    timed = pa.concat_tables(parts)
    wall, ticks, played = (timed.column(name).to_numpy() for name in ("wall", "ticks", "ticks_played"))
    percent = _percent(wall, ticks)
    usual = _usual(timed, percent)
    fast = _percent(wall, played) * 100 < limit.clock_fast_percent * np.minimum(usual, 100)
    fast &= played >= limit.clock_min_seconds * TICKS_A_SECOND
    slow = np.flatnonzero(percent * 100 > limit.clock_slow_percent * np.maximum(usual, 100))
    odd = dict.fromkeys(map(int, np.flatnonzero(fast)), ("fast", 1)) | {
        row: ("slow", games) for row, games in _sloped(timed.take(pa.array(slow)), percent[slow], slow, limit).items()
    }
    rows = sorted(odd)
    places = timed.select(("source_file", "source_line")).take(pa.array(rows, pa.int64())).to_pylist()
    return {
        (place["source_file"], place["source_line"]): {
            "way": odd[row][0], "percent": int(percent[row]), "usual": int(usual[row]), "games": odd[row][1],
            "seconds": int(wall[row]) // 1_000_000, "game_seconds": int(ticks[row]) // TICKS_A_SECOND,
        }
        for row, place in zip(rows, places, strict=True)
    }  # fmt: skip


def mark_clock(row: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The suspicions and evidence of a verdict row with the odd clock among them."""
    evidence = json.loads(row["evidence"]) if row["evidence"] else {}
    signs = sorted({*row["suspicions"], "clock_ratio"}, key=SUSPICION_CODES.index)
    return {"suspicions": signs, "evidence": json.dumps(evidence | {"clock_ratio": dict(numbers)}, sort_keys=True)}


def _timed(batch: pa.RecordBatch, limit: JudgeSettings) -> pa.Table:
    """The verified games that are long enough and took some time at all, with their wall time in microseconds.

    The ticks of a log that does not come out are no record of a game.
    """
    if batch.column("ticks").null_count == len(batch):
        return _NOTHING
    ticks = batch.column("ticks").fill_null(0).to_numpy()
    started, finished = (batch.column(name).cast(pa.int64()).to_numpy() for name in ("started_at", "finished_at"))
    wall = finished - started
    verified = pc.equal(batch.column("verdict"), "verified").to_numpy(zero_copy_only=False)
    rows = pa.array(np.flatnonzero(verified & (ticks >= limit.clock_min_seconds * TICKS_A_SECOND) & (wall > 0)))
    picked = pa.Table.from_batches([batch.select(_COLUMNS).take(rows)])
    texts = (*_CLIENT, "player_id", "source_file")
    types = [pa.field(f.name, pa.string() if f.name in texts else f.type) for f in picked.schema]
    return picked.cast(pa.schema(types)).append_column("wall", pa.array(wall[rows.to_numpy()]))


def _percent(wall: Ints, ticks: Ints) -> Ints:
    """Wall time in percent of the time of some ticks, rounded down."""
    found: Ints = wall * (TICKS_A_SECOND * 100) // (np.maximum(ticks, 1) * 1_000_000)
    return found


def _usual(timed: pa.Table, percent: Ints) -> Ints:
    """Each row's client's median percentage (the lower of two)."""
    code = np.zeros(len(timed), np.int64)
    for name in _CLIENT:
        indices = timed.column(name).combine_chunks().dictionary_encode()
        code = np.unique(code * (len(indices.dictionary) + 1) + indices.indices.to_numpy(), return_inverse=True)[1]
    order = np.lexsort((percent, code))
    firsts = np.flatnonzero(np.diff(code[order], prepend=-1))
    counts = np.diff(firsts, append=len(order))
    medians = np.where(counts < LEAST_USUAL, 100, percent[order][firsts + (counts - 1) // 2])
    found: Ints = medians[code]
    return found


def _sloped(slow: pa.Table, percent: Ints, rows: Ints, limit: JudgeSettings) -> dict[int, int]:
    """Of the slow games, by row, those of players whose slow games are at one ratio, and how many different ones they are."""
    by_player: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    whose = zip(slow.column("player_id").to_pylist(), slow.column("platform").to_pylist(), strict=True)
    logs = slow.column("log_hash_low").to_pylist()
    for who, row, ratio, log in zip(whose, rows.tolist(), percent.tolist(), logs, strict=True):
        by_player.setdefault(who, []).append((row, ratio, log))
    out: dict[int, int] = {}
    for games in by_player.values():
        # The same game uploaded again has the same ratio, and is no second game.
        different = len({log for _, _, log in games})
        ratios = [ratio for _, ratio, _ in games]
        if different >= limit.clock_slow_games and 100 * max(ratios) <= ONE_RATIO * min(ratios):
            out |= {row: different for row, _, _ in games}
    return out
