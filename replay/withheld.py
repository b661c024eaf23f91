"""Flags that are held back: when far more of one app version's games are flagged than ever before, the app is taken for broken.

A group is (game, platform, app version, rules).  When its share of flags on a day is far above its past (``replay.flag_rates``: a
test with a stated rate of error), the rows of these flags become ``withheld``: one incident, and nobody is accused.  All that was
found stays in the row; only ``verdict`` and ``counted`` are others.

- Such a row counts only when the same game counted in the verdict file of that day as it was published before, or in that of a
  day with a copy of it: a day that is verified again under a broken rules file takes nobody's score away, whichever of a phone's
  retries came in by then, and one that comes in for the first time gives none.  A night that runs again finds what it published
  itself, and gives the same.  A lake made anew from its logs alone has nothing published before: no such row counts there.
- A group's past are the days before that are published, as machines found them, never a later day and never the clock.  Days on
  which it was held back are left out (when all of them were, what was usual before them still is), so a broken app stays
  held back, day after day, until its games come out again; the incident says since when.  What people release (``replay
  release``), a day at a time, changes no verdict file and is no past.
- When an earlier day comes in late, the days after it are decided again when they run again, and not before.

Some things cannot be told.  Fewer flags than the smallest number stand as flags, whatever caused them, and so do those of an app
in which few games are wrong.  Many cheats in one app look like a broken one: nothing of theirs counts meanwhile, and the report
names the incident first, every night.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from replay.database import quoted, rows_of
from replay.flag_rates import LOWEST, PRIOR, Limits, Usual, chance_words, is_far_above, usual_of
from replay.reviews.incidents import digest_of, upload_digest

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from replay.lake import Lake, Publication

SQL = Path(__file__).parent / "sql"
# Rows that are looked at in Python together.
_BATCH = 50_000
GROUP = ("game", "platform", "app_version", "rules")
# Of a flagged row: what tells uploads apart, and what an incident tells.
_COLUMNS = (
    *GROUP, "game_id", "mode", "challenge", "player_id", "attempt", "score", "best_combo", "level", "lines", "final_board",
    "verdict", "reason_codes", "reasons", "evidence", "log_hash_low", "log_hash_high", "attempt_key",
)  # fmt: skip
# Reasons that a broken app, rules file or challenge table can cause, each with how; a row is held back when all of its are here.
HOLDABLE: Mapping[str, str] = MappingProxyType({
    "score_mismatch": "it adds up otherwise, or the rules file has another value",
    "combo_mismatch": "it counts combos otherwise",
    "board_mismatch": "it clears, drops or writes boards otherwise",
    "level_mismatch": "it counts levels otherwise",
    "lines_mismatch": "it counts lines otherwise",
    "illegal_move": "it allows a move that the rules do not, deals otherwise, or writes moves otherwise",
    "impossible_score": "a value that is too large breaks the bounds too",
    "unknown_rules": "it names rules that were not installed here yet",
    "unknown_challenge": "it names challenges otherwise, or the challenge table lacks the day",
    "truncated_log": "it sends the log before its last move is in it",
})  # fmt: skip
# Reasons about who uploaded what, when and how often: no arithmetic of an app.  They are no part of the share, and stand.
STANDING: Mapping[str, str] = MappingProxyType({
    "attempt_limit": "a fourth attempt was played",
    "duplicate_attempt": "another log of the attempt came before: two uploads say so",
    "outside_challenge_day": "it was played or sent at another time",
    "conflicting_upload": "another game came under this id: two uploads say so",
})  # fmt: skip


@dataclass(frozen=True)
class Days:
    """What a day's flags are held against: ``past`` are the verdict files of the published days before, the newest last, and
    ``runs`` their run.json; ``before`` are the day's own file as it was published before, if it was, and those of the days with
    uploads that are related to its own."""

    past: tuple[tuple[date, Path], ...] = ()
    before: tuple[Path, ...] = ()
    runs: Mapping[date, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class _Suspected:
    """A group with flags that may have to be held back."""

    group: tuple[str, ...]
    games: int
    flags: int
    tests: int


def days_of(publication: Publication, lake: Lake, day: date, limits: Limits, related: Iterable[date] = ()) -> Days:
    """The days that a day's flags are held against; those that are staged already as they will be.

    ``related`` are the days with uploads that are related to the day's own.
    """
    earlier = [other for other in publication.verdict_days() if other < day][-limits.days :]
    before = [lake.verdict_file(other) for other in sorted({day, *related})]
    return Days(
        tuple((other, publication.newest(lake.verdict_file(other))) for other in earlier),
        tuple(path for path in before if path.exists()), {other: publication.newest(lake.run_file(other)) for other in earlier},
    )  # fmt: skip


@dataclass(frozen=True)
class Held:
    """What is held back of a day: the ``incidents``, by group; the ``rows`` by their places among the day's (from 0, rising), and
    whether each ``counts`` as it did before."""

    incidents: tuple[dict[str, Any], ...] = ()
    rows: Sequence[int] = ()
    counts: Sequence[bool] = ()

    def mark(self, table: pa.Table, first: int = 0) -> pa.Table:
        """Rows as they were found, the one at ``first`` being the first of them, with what is held back of them marked."""
        start, end = bisect_left(self.rows, first), bisect_left(self.rows, first + len(table))
        if start == end:
            return table
        verdicts, counted = table.column("verdict").to_pylist(), table.column("counted").to_pylist()
        for row, counts in zip(self.rows[start:end], self.counts[start:end], strict=True):
            verdicts[row - first], counted[row - first] = "withheld", counts
        return _with(table, verdicts, counted)


def hold_back(
    con: duckdb.DuckDBPyConnection, day: date, batches: Iterable[pa.RecordBatch], days: Days, limits: Limits
) -> Held:
    """What must be held back of a day, from its verdict rows as they were found, in the order of its file.

    An incident is {game, platform, app_version, rules, games, flags, held, counted_before, reasons, past_games, past_flags,
    past_of, chance, since, rules_that_agree, digest}: ``flags`` are those that could be held back, as are ``past_flags`` of
    ``past_games``; ``counted_before`` of the ``held`` ones count as they did; a release is of what has this ``digest``.
    """
    if not limits.alpha_per_million:
        return Held()
    games, flags = _games_and_flags(batches)
    con.register("today_games", games)
    con.register("today_flags", flags)
    _view_past(con, days.past)
    try:
        found = _incidents(con, day, days, limits)
        if not found:
            return Held()
        rows = _detail(con, found, days.before)
        return Held(tuple(found), [row for row, _ in rows], [counts for _, counts in rows])
    finally:
        con.execute("drop view past")
        con.execute("drop view past_days")
        con.unregister("today_games")
        con.unregister("today_flags")


def _games_and_flags(batches: Iterable[pa.RecordBatch]) -> tuple[pa.Table, pa.Table]:
    """(games by group, in several rows for some; flagged rows with their place, ``row``).  Copies are no games."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from replay.verify import VERDICT_SCHEMA

    wanted = pa.schema([VERDICT_SCHEMA.field(name) for name in _COLUMNS])
    groups = pa.schema([*(VERDICT_SCHEMA.field(name) for name in GROUP), ("games", pa.int64())])
    games, flags, row = [groups.empty_table()], [wanted.empty_table().append_column("row", pa.array([], pa.int64()))], 0
    for batch in batches:
        verdicts = batch.column("verdict").cast(pa.string())
        all_games = pa.Table.from_batches([batch.select(GROUP)]).filter(pc.not_equal(verdicts, "copy"))
        counted = all_games.group_by(list(GROUP)).aggregate([([], "count_all")])
        games.append(counted.rename_columns([*GROUP, "games"]).cast(groups))
        here = pc.indices_nonzero(pc.equal(verdicts, "flagged"))
        if len(here):
            places = pa.array(here.to_numpy().astype("int64") + row)
            flags.append(pa.Table.from_batches([batch.select(_COLUMNS).take(here)]).cast(wanted).append_column("row", places))
        row += batch.num_rows
    return pa.concat_tables(games), pa.concat_tables(flags)


def _view_past(con: duckdb.DuckDBPyConnection, past: Sequence[tuple[date, Path]]) -> None:
    """Make the views ``past`` (rows with the ``filename`` that they lie in) and ``past_days`` (the day of each file)."""
    columns = ", ".join((*GROUP, "verdict", "reason_codes"))
    if not past:
        con.execute(f"create or replace temp view past as select {columns}, '' as filename from today_flags where false")
        con.execute("create or replace temp view past_days as select '' as filename, null::date as day where false")
        return
    paths = ", ".join(quoted(path) for _, path in past)
    con.execute(
        f"create or replace temp view past as select {columns}, filename from read_parquet([{paths}], filename = true,"
        " hive_partitioning = false, union_by_name = true)"
    )
    # The day comes from the file that a row lies in, not from anything inside it.
    places = ", ".join(f"({quoted(path)}, date '{day}')" for day, path in past)
    con.execute(f"create or replace temp view past_days as select * from (values {places}) as places(filename, day)")


def _incidents(con: duckdb.DuckDBPyConnection, day: date, days: Days, limits: Limits) -> list[dict[str, Any]]:
    """The day's groups whose flags are held back, without what their rows say."""
    rows = rows_of(con.execute(_sql("withheld_groups"), {"holdable": list(HOLDABLE), "least": limits.least}))
    suspected = [_Suspected(tuple(row[name] for name in GROUP), row["games"], row["flags"], row["tests"]) for row in rows]
    # What is not far above next to nothing is not far above any past: most nights need not look at theirs.
    suspected = [s for s in suspected if is_far_above(s.flags, s.games, LOWEST, s.tests, limits)]
    if not suspected:
        return []
    pasts = _pasts(con, suspected)
    found = []
    for one in suspected:
        past = pasts[one.group]
        seen = past["days"]
        held_last = bool(seen) and seen[0]["held"]
        own, platform, game = ((of, past[f"{of}_flags"], past[f"{of}_games"]) for of in ("own", "platform", "game"))
        # When all that is looked at of its own past was held back, what was usual before that still is.
        known = _known(one.group, days.runs[seen[0]["day"]]) if held_last else []
        usual = usual_of([own, *known, platform, game], limits)
        # Of a broken app that few have left every flag is held back, of others not so few.
        if (held_last or one.flags >= limits.least) and is_far_above(one.flags, one.games, usual, one.tests, limits):
            found.append(_incident(one, usual, _since(day, one.group, seen, days.runs)))
    return found


def _known(group: tuple[str, ...], run: Path) -> list[tuple[str, int, int]]:
    """The past (whose, flags, games) that a group was held against on the day of a run; none where nothing was known of any."""
    return [
        (incident["past_of"], incident["past_flags"], incident["past_games"])
        for incident in _incidents_of(run)
        if tuple(incident[name] for name in GROUP) == group and incident["past_of"] != PRIOR.of
    ]


def _pasts(con: duckdb.DuckDBPyConnection, suspected: Sequence[_Suspected]) -> dict[tuple[str, ...], dict[str, Any]]:
    import pyarrow as pa

    table = pa.table({name: pa.array([one.group[i] for one in suspected], pa.string()) for i, name in enumerate(GROUP)})
    con.register("suspected", table)
    rows = rows_of(con.execute(_sql("withheld_past"), {"holdable": list(HOLDABLE)}))
    con.unregister("suspected")
    return {tuple(row[name] for name in GROUP): row for row in rows}


def _incident(one: _Suspected, usual: Usual, since: date) -> dict[str, Any]:
    return {
        **dict(zip(GROUP, one.group, strict=True)), "games": one.games, "flags": one.flags, "held": one.flags,
        "counted_before": 0, "reasons": {}, "past_games": usual.past_games, "past_flags": usual.past_flags, "past_of": usual.of,
        "chance": chance_words(one.flags, one.games, usual), "since": since.isoformat(), "rules_that_agree": {},
    }  # fmt: skip


def _since(day: date, group: tuple[str, ...], seen: Sequence[Mapping[str, Any]], runs: Mapping[date, Path]) -> date:
    """The first of the days in a row on which the group was held back; a day without a game of it breaks no row."""
    first = day
    for other in seen:
        if not other["held"]:
            return first
        first = other["day"]
    if first == day:
        return day
    # On all days that were looked at: the run of the first one knows of those before.
    for incident in _incidents_of(runs[first]):
        if tuple(incident[name] for name in GROUP) == group:
            return min(first, date.fromisoformat(incident["since"]))
    return first


def _incidents_of(run: Path) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(run.read_text("utf-8")).get("incidents", [])
    except (OSError, ValueError):
        # Standings cannot be made without it either, and say so; here the rows of the days that are looked at tell enough.
        return []
    return found


def _detail(
    con: duckdb.DuckDBPyConnection, incidents: list[dict[str, Any]], before: Sequence[Path]
) -> list[tuple[int, bool]]:
    """The rows that are held back, in order, and whether they count as before; the incidents are told of them."""
    import pyarrow as pa

    table = pa.table({name: pa.array([incident[name] for incident in incidents], pa.string()) for name in GROUP})
    con.register("incidents", table)
    # A file of an earlier processing version lacks columns that came later: they are null there.
    rows = "".join(f" union all by name select * from read_parquet({quoted(path)}, hive_partitioning = false)" for path in before)
    con.execute(
        f"create or replace temp view published_before as (select *, null::boolean as counted from today_flags limit 0){rows}"
    )
    con.execute(_sql("withheld_rows"), {"holdable": list(HOLDABLE)})
    by_group = {tuple(incident[name] for name in GROUP): incident for incident in incidents}
    for row in rows_of(con.execute(_sql("withheld_counts"))):
        by_group[tuple(row[name] for name in GROUP)]["counted_before"] = row["counted"]
    for kind, values in (("reasons", "reason_codes"), ("rules_that_agree", "agreeing")):
        for row in rows_of(con.execute(_sql("withheld_codes").format(column=values))):
            by_group[tuple(row[name] for name in GROUP)][kind][row["code"]] = row["games"]
    for group, digest in _digests(con).items():
        by_group[group]["digest"] = digest
    held: list[tuple[int, bool]] = con.execute("select row, counts from held order by row").fetchall()
    con.execute("drop view published_before")
    con.execute("drop table held")
    con.unregister("incidents")
    return held


def _digests(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, ...], str]:
    """What tells whether the very same is held back of a group, by group."""
    found: dict[tuple[str, ...], list[bytes]] = {}
    cursor = con.execute(_sql("withheld_uploads"))
    names = [column[0] for column in cursor.description]
    # A day may be held back as a whole: not all of its boards at once.
    while rows := cursor.fetchmany(_BATCH):
        for values in rows:
            row = dict(zip(names, values, strict=True))
            found.setdefault(tuple(row[name] for name in GROUP), []).append(upload_digest(row))
    return {group: digest_of(uploads) for group, uploads in found.items()}


def as_found(table: pa.Table) -> pa.Table:
    """Verdict rows with nothing held back."""
    if "withheld" not in table.column("verdict").unique().to_pylist():
        return table
    verdicts, counted = table.column("verdict").to_pylist(), table.column("counted").to_pylist()
    for row, verdict in enumerate(verdicts):
        if verdict == "withheld":
            verdicts[row], counted[row] = "flagged", False
    return _with(table, verdicts, counted)


def _with(table: pa.Table, verdicts: list[str], counted: list[bool]) -> pa.Table:
    import pyarrow as pa

    for name, values in (("verdict", verdicts), ("counted", counted)):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
    return table


def _sql(name: str) -> str:
    return (SQL / f"{name}.sql").read_text("utf-8")


__all__ = ["GROUP", "HOLDABLE", "STANDING", "Days", "Held", "Limits", "as_found", "days_of", "hold_back"]
