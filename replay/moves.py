"""What moves in the standings from one warehouse to another, and what decisions would move that nobody has taken yet."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.database import connect, quoted, rows_of
from replay.errors import InputError, NightRunning, ReplayError, first_line
from replay.lake import Lake
from replay.night import NightSettings, standings_settings
from replay.reviews.incidents import releases_in_force
from replay.reviews.model import Decision
from replay.reviews.store import reviews_of
from replay.standings import build_warehouse
from replay.standings_queries import read_sql

if TYPE_CHECKING:
    from replay.reviews.drafts import Draft
    from replay.reviews.releases import Release

# How often a preview begins again because a night published in between.
_TRIES = 3


@dataclass(frozen=True)
class Moves:
    """What differs between two warehouses.

    Counts: ``players`` for whom anything differs, ``bests`` of days, ``totals_moved``, ``positions`` on the world's boards of all
    time, ``tiers`` of days.  The largest changes first, at most as many as were asked for: ``totals`` (game, player_id,
    total_before, total_after, position_before, position_after) of ``totals_of`` rows, ``days`` (game, challenge, player_id,
    score_before, score_after, position_before, position_after, tier_before, tier_after) of ``days_of``.  None: not there.
    """

    players: int = 0
    bests: int = 0
    totals_moved: int = 0
    positions: int = 0
    tiers: int = 0
    totals_of: int = 0
    days_of: int = 0
    totals: tuple[dict[str, Any], ...] = ()
    days: tuple[dict[str, Any], ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The counts by name; ``shown_of`` and ``days_of`` are how many rows there are to show of totals and days."""
        return {
            "players": self.players, "bests": self.bests, "totals": self.totals_moved, "positions": self.positions,
            "tiers": self.tiers, "shown_of": self.totals_of, "days_of": self.days_of,
        }  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """All of it for machines."""
        return asdict(self)


def compare(
    before: Path, after: Path, *, anonymised: Mapping[str, str], limit: int = 100, memory_limit: str | None = None,
    threads: int | None = None,
) -> Moves:  # fmt: skip
    """What differs from the warehouse ``before`` to ``after``; at most ``limit`` rows of totals and of days.

    ``anonymised`` are new player ids by the old ones: an older warehouse may hold ids that nothing written or shown from now on
    may hold.  Raises InputError for a warehouse that cannot be read.
    """
    import duckdb

    with tempfile.TemporaryDirectory() as spill, connect(
        memory_limit=memory_limit, threads=threads, spill=Path(spill)
    ) as con:
        for path, name in ((before, "earlier"), (after, "later")):
            try:
                if not path.is_file():
                    raise InputError(f"{path}: there is no such warehouse to compare, run `replay rebuild`")
                con.execute(f"ATTACH {quoted(path)} AS {name} (READ_ONLY)")
            except duckdb.Error as error:
                raise InputError(f"{path}: the warehouse cannot be opened ({first_line(error)}), run `replay rebuild`") from error
        con.execute("CREATE TEMP TABLE renamed (old_id VARCHAR NOT NULL, new_id VARCHAR NOT NULL)")
        con.execute(
            "INSERT INTO renamed SELECT unnest($old::VARCHAR[]), unnest($new::VARCHAR[])",
            {"old": list(anonymised), "new": list(anonymised.values())},
        )
        try:
            for name in ("moved_people", "moved_totals", "moved_days"):
                con.execute(read_sql(f"queries/{name}"))
            (counts,) = rows_of(con.execute(read_sql("queries/moves_counts")))
            totals = rows_of(con.execute(read_sql("queries/moves_totals"), {"limit": limit}))
            days = rows_of(con.execute(read_sql("queries/moves_days"), {"limit": limit}))
        except duckdb.Error as error:
            raise InputError(f"{before} and {after}: cannot be compared ({first_line(error)}), run `replay rebuild`") from error
    return Moves(**counts, totals=tuple(totals), days=tuple(days))


def what_would_move(
    lake: Lake, settings: NightSettings, hypothetical: Sequence[Draft], *, releases: Sequence[Release] = (), limit: int = 100
) -> Moves:
    """What a restating would move, were the decisions of ``hypothetical`` and the ``releases`` (with ids of their own) taken now:
    ``replay.night.restate_standings`` moves the same when they are, with all that waits besides.

    The standings are built outside the lake and nothing is written to it; no lock is taken.  Raises InputError, NightRunning when
    nights publish all the while, and what building standings raises.
    """
    for _ in range(_TRIES):
        lake.refresh("verdicts", "runs", "standings")
        state = _state(lake)
        try:
            found = _would_move(lake, settings, hypothetical, releases, limit)
        except ReplayError:
            # Files of two nights together make no standings.
            if _state(lake) == state:
                raise
            continue
        if _state(lake) == state:
            return found
    raise NightRunning(f"{lake.name}: nights publish to this lake without a pause, look again when they are done")


def _would_move(
    lake: Lake, settings: NightSettings, hypothetical: Sequence[Draft], releases: Sequence[Release], limit: int
) -> Moves:
    current = lake.current_warehouse()
    days = lake.published_days()
    known = reviews_of(lake)
    decisions = [*known.decisions, *_decisions(hypothetical, max((decision.id for decision in known.decisions), default=0))]
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "preview.duckdb"
        build_warehouse(
            built, [str(lake.verdict_file(day)) for day in days], days=days, decisions=decisions,
            releases=[*releases_in_force(lake, known.releases), *releases],
            players_csv=settings.players_file, tiers_csv=settings.tiers_file,
            settings=standings_settings(settings, days), memory_limit=settings.memory_limit, threads=settings.threads,
        )  # fmt: skip
        return compare(
            current, built, anonymised=settings.anonymised(), limit=limit, memory_limit=settings.memory_limit,
            threads=settings.threads,
        )  # fmt: skip


def _decisions(drafts: Sequence[Draft], last_id: int) -> list[Decision]:
    """The drafts as decisions that follow the last one."""
    now = datetime.now(UTC)
    return [
        Decision(
            id=last_id + number, subject=draft.subject, action=draft.action, reason="", reviewer="", at=now, facts=draft.facts,
            game=str(draft.row["game"]), game_id=str(draft.row["game_id"]), challenge=str(draft.row["challenge"]),
            day=draft.row["day"], previous=draft.seen, undoes=draft.undoes,
        )
        for number, draft in enumerate(drafts, 1)
    ]  # fmt: skip


def _state(lake: Lake) -> tuple[Any, ...]:
    """What a publication changes of a lake: the pointer, and which verdict files there are (for a lake on a store, here)."""
    files = []
    for day in lake.published_days():
        try:
            stat = lake.verdict_file(day).stat()
        except FileNotFoundError:
            continue
        files.append((day, stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return (lake.current_warehouse().name, tuple(files))
