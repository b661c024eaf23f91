"""What would move if games were judged under another rules file: verified again by the night's own steps, beside the lake.

Two questions, told apart by ``Question.as_version``:

- None: the file takes its place among the rules files, instead of the one of its version if there is one.  Games that name the
  version are verified again, claims and all, as the nights of these days would: what they publish is what is found here.
- A version: the games that name it are counted by the file, whatever version that is.  Nobody claimed anything under it, so the
  score that it gives stands in for the claim; relations between uploads and flags stay as they are published.

All is done in a temporary folder that holds links to what is published, and new files where something changes.  The lake is
only read.  Standings of both sides are built with the decisions, releases and players table of now, so that nothing but the rules
is between them.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import ENGINE_VERSION
from replay.database import connect, quoted, rows_of
from replay.errors import InputError, NightError, NightRunning, ReferenceDataError, ReplayError, UsageError, first_line
from replay.lake import Lake, Publication
from replay.moves import Moves, compare
from replay.night import NightSettings, Pulled, Report, read_run, standings_settings, verify_day
from replay.preview_rules import NewRules, read_new_rules, rules_folder
from replay.reviews.incidents import releases_in_force
from replay.reviews.store import reviews_of
from replay.rulebook import Rulebook
from replay.standings import build_warehouse
from replay.standings_queries import read_sql
from replay.verdict import PROCESSING_VERSION

if TYPE_CHECKING:
    import duckdb

    from replay.reviews.model import Decision
    from replay.reviews.releases import Release

# The verdicts of games that could be read.
_ROWS = ("verified", "flagged", "withheld", "copy")


@dataclass(frozen=True)
class Question:
    """Which games are to be judged how: those that landed from ``first`` to ``last``, both included, under ``rules``.

    ``as_version`` are the games that are counted by the file although they name another version (see above).
    """

    rules: NewRules
    first: date
    last: date
    as_version: str | None = None


@dataclass(frozen=True)
class Preview:
    """The answer.  ``named`` games name the version in question; ``counts`` are how many games change, by what changes;
    ``verdicts`` how many change from one verdict to another; ``games`` the largest changes first, at most as many as were asked
    for; ``moves`` what that moves in the standings; ``notes`` a sentence for each thing that one should know besides."""

    question: Question
    replaces: bool
    named: int
    records: int
    counts: dict[str, int]
    verdicts: tuple[dict[str, Any], ...]
    games: tuple[dict[str, Any], ...]
    moves: Moves
    notes: tuple[str, ...] = ()

    @property
    def would_move(self) -> bool:
        """Whether anything differs at all."""
        return any(self.counts.values()) or any(self.moves.counts.values())

    def as_json(self) -> dict[str, Any]:
        """All of it for machines."""
        question = self.question
        return {
            "rules": {
                "file": str(question.rules.path), "game": question.rules.game, "version": question.rules.version,
                "sha256": question.rules.sha256, "replaces": self.replaces, "as": question.as_version,
            },
            "from": question.first.isoformat(), "to": question.last.isoformat(), "records": self.records, "named": self.named,
            "would_move": self.would_move, "counts": self.counts, "verdicts": list(self.verdicts),
            "games": [game | {"day": game["day"].isoformat()} for game in self.games], "moves": self.moves.as_json(),
            "notes": list(self.notes),
        }  # fmt: skip


@dataclass
class Sides:
    """Both sides while they are there: lakes of links and new files, the decisions of each and the releases, and their
    warehouses."""

    folder: Path
    runs: dict[date, dict[str, Any]]
    decisions: list[Decision]
    notes: list[str] = field(default_factory=list)
    changed_days: set[date] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    releases: Sequence[Release] = ()

    @property
    def before(self) -> Lake:
        """As published, under the player ids of now."""
        return Lake(self.folder / "before")

    @property
    def after(self) -> Lake:
        return Lake(self.folder / "after")

    def warehouse(self, lake: Lake) -> Path:
        return self.folder / f"{lake.root.name}.duckdb"

    def decisions_after(self) -> list[Decision]:
        """The decisions under the keys that the games have on the later side."""
        return _under_new_keys(self.decisions, self.renamed)


# --- The answer ----------------------------------------------------------------------------------------------------------------


def preview(
    lake: Lake, settings: NightSettings, question: Question, *, limit: int = 20, report: Report | None = None
) -> Preview:
    """What would move; at most ``limit`` games, totals and days are listed.  Nothing is written to the lake, no lock is taken.

    Raises InputError for a day that was never published and for logs that are gone or others by now, UsageError when there is
    nothing to ask, ReferenceDataError for tables that do not go together with the rules file, NightRunning when a night
    publishes meanwhile, and the NightErrors that the nights themselves would end with.
    """
    base = settings.rulebook()
    with judged(lake, settings, question, report) as sides:
        named = _named(sides, question)
        if report:
            report("compare", 0, 0)
        counts, verdicts, games = _changed_games(sides, settings, limit)
        moves = compare(
            sides.warehouse(sides.before), sides.warehouse(sides.after), anonymised=settings.anonymised(), limit=limit,
            memory_limit=settings.memory_limit, threads=settings.threads,
        )  # fmt: skip
        wanted = _days(question)
        return Preview(
            question=question, replaces=(question.rules.game, question.rules.version) in base.paths,
            named=named.get(question.as_version or question.rules.version, 0),
            records=sum(sides.runs[day]["records"] for day in wanted), counts=counts, verdicts=verdicts, games=games, moves=moves,
            notes=(*sides.notes, *_conditions({day: sides.runs[day] for day in wanted}, settings, base, question.rules)),
        )  # fmt: skip


@contextmanager
def judged(lake: Lake, settings: NightSettings, question: Question, report: Report | None = None) -> Iterator[Sides]:
    """Both sides with their warehouses, in a temporary folder that is gone afterwards.  Raises what ``preview`` raises."""
    refuse_place(lake)
    with tempfile.TemporaryDirectory(prefix="replay-preview-") as name:
        lake.refresh("verdicts", "runs", "quarantine")
        state = _state(lake)
        runs = _runs(lake, question)
        known = reviews_of(lake)
        sides = Sides(Path(name), runs, known.decisions, releases=known.releases)
        try:
            _judge(lake, sides, settings, question, report)
        except ReplayError as error:
            # The links are gone when somebody reads this: the files that they stand for are meant.
            told = str(error)
            for side in (sides.before, sides.after):
                told = told.replace(str(side.root), lake.name)
            error.args = (told,)
            raise
        if _state(lake) != state:
            raise _published_meanwhile(lake)
        yield sides


def _judge(lake: Lake, sides: Sides, settings: NightSettings, question: Question, report: Report | None) -> None:
    _link_published(lake, sides, settings)
    _refuse_nothing(sides, settings, question)
    if question.as_version is None:
        _verify_again(lake, sides, settings, question, report)
    else:
        _count_again(lake, sides, settings, question, question.as_version, report)
    if report:
        report("standings", 0, 0)
    for side, decisions in ((sides.before, sides.decisions), (sides.after, sides.decisions_after())):
        _build(sides, side, settings, decisions)


def refuse_place(lake: Lake) -> None:
    """Raises InputError when there is no such lake, and UsageError when temporary files would lie in it."""
    if not lake.exists():
        raise InputError(f"{lake.name}: no such lake, name the folder that holds logs/day=.../")
    place = Path(tempfile.gettempdir())
    if place.resolve().is_relative_to(lake.root.resolve()):
        raise UsageError(f"{place}: temporary files would lie in the lake, which must stay as it is, set TMPDIR elsewhere")


def _days(question: Question) -> list[date]:
    return [question.first + timedelta(days=back) for back in range((question.last - question.first).days + 1)]


def _runs(lake: Lake, question: Question) -> dict[date, dict[str, Any]]:
    """The run.json of every published day.  Raises InputError when one of the days in question has none."""
    if question.last < question.first:
        raise UsageError(f"the last day {question.last} is before the first one {question.first}, give --from and --to in order")
    days = lake.published_days()
    missing = next((day for day in _days(question) if day not in set(days)), None)
    if missing is not None:
        have = f"{days[0]} to {days[-1]}" if days else "none"
        raise InputError(f"{lake.name}: {missing} was never published (published: {have}), leave it out with --from and --to")
    return {day: read_run(lake, day) for day in days}


def _state(lake: Lake) -> tuple[Any, ...]:
    """What a publication changes of the files that are linked to."""
    files = []
    for day in lake.published_days():
        try:
            found = lake.verdict_file(day).stat()
        except FileNotFoundError:
            continue
        files.append((day, found.st_mtime_ns, found.st_size, found.st_ino))
    return tuple(files)


def _published_meanwhile(lake: Lake) -> NightRunning:
    return NightRunning(f"{lake.name}: a night published to this lake meanwhile, ask again when it is done")


def _link_published(lake: Lake, sides: Sides, settings: NightSettings) -> None:
    """Lay out both sides as they are published.

    A night would first give anonymised players their new ids everywhere, so the earlier side has them too.
    """
    import pyarrow.parquet as pq

    from replay.publish import QUARANTINE_SCHEMA

    digest = hashlib.sha256(settings.players_file.read_bytes()).hexdigest()
    anonymised = settings.anonymised()
    renamed: dict[str, str] = {}
    empty = sides.folder / "nothing.parquet"
    pq.write_table(QUARANTINE_SCHEMA.empty_table(), empty)
    for day, run in sides.runs.items():
        for side in (sides.before, sides.after):
            for path in (lake.verdict_file(day), lake.run_file(day), lake.quarantine_file(day)):
                link = side.root / path.relative_to(lake.root)
                link.parent.mkdir(parents=True, exist_ok=True)
                if not path.exists() and path != lake.quarantine_file(day):
                    raise _published_meanwhile(lake)
                # A link is replaced by what is written in its place; nothing is ever written through it.
                link.symlink_to(path.absolute() if path.exists() else empty)
        if run["players"] != digest and anonymised:
            renamed |= _rename_players(sides, day, anonymised)
    sides.decisions = _under_new_keys(sides.decisions, renamed)


def _rename_players(sides: Sides, day: date, anonymised: dict[str, str]) -> dict[str, str]:
    """Give a day's rows the new ids; returns the new keys of the games that somebody decided about by the old ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from replay.anonymise import with_new_ids
    from replay.publish import read_verdicts, write_table
    from replay.reviews.model import subject_of

    rows = read_verdicts(sides.before.verdict_file(day))
    old = rows.filter(pc.is_in(rows.column("player_id"), value_set=pa.array(list(anonymised), pa.string())))
    if not len(old):
        return {}
    for side in (sides.before, sides.after):
        side.verdict_file(day).unlink()
    write_table(sides.before.verdict_file(day), with_new_ids(rows, anonymised))
    sides.after.verdict_file(day).symlink_to(sides.before.verdict_file(day))
    decided = {decision.game_id for decision in sides.decisions}
    games = [row for row in old.to_pylist() if row["game_id"] in decided] if decided else []
    return {subject_of(row): subject_of(row | {"player_id": anonymised[row["player_id"]]}) for row in games}


def _under_new_keys(decisions: Sequence[Decision], renamed: dict[str, str]) -> list[Decision]:
    return [replace(decision, subject=renamed.get(decision.subject, decision.subject)) for decision in decisions]


def _named(sides: Sides, question: Question) -> dict[str, int]:
    """How many games of the days name each version of the game's rules."""
    import duckdb

    files = [str(sides.before.verdict_file(day)) for day in _days(question)]
    try:
        with connect() as con:
            query = con.execute(read_sql("queries/preview_named"), {"files": files, "game": question.rules.game})
            return {row["rules"]: row["games"] for row in rows_of(query)}
    except duckdb.Error as error:
        raise InputError(f"the verdicts of {question.first} to {question.last} cannot be read ({first_line(error)})") from error


def _refuse_nothing(sides: Sides, settings: NightSettings, question: Question) -> None:
    """Raises UsageError where no game could be touched although the person asked as if there were some."""
    named, new = _named(sides, question), question.rules
    days = f"that landed from {question.first} to {question.last}"
    known = ", ".join(ascii(version[:20])[1:-1] for version in list(named)[:20]) or "no version at all"
    if question.as_version is not None and question.as_version not in named:
        raise UsageError(f"--as {question.as_version!r}: no game of {new.game} {days} names these rules, they name {known}")
    if question.as_version is None and new.version not in named and (new.game, new.version) not in settings.rulebook().paths:
        raise UsageError(
            f"{new.path}: rules {new.version} of {new.game} are new and no game {days} names them, say whose games they are to"
            f" count with --as VERSION (they name {known})"
        )


# --- Verifying again -----------------------------------------------------------------------------------------------------------


def _landed_again(lake: Lake, day: date, run: dict[str, Any], notes: list[str]) -> Pulled:
    """The files that the day's night read, unchanged.  What landed since is left out, with a sentence in ``notes``: it is not the
    rules that would bring its games in.  Raises InputError for files that are gone, or others by now."""
    found = {path.name: path for path in lake.log_files(day)[0]}
    read = {str(entry["file"]): entry for entry in run["inputs"]}
    gone = [name for name in read if name not in found]
    if gone:
        more = f" and {len(gone) - 1} other files" if len(gone) > 1 else ""
        raise InputError(
            f"{lake.day('logs', day) / gone[0]}{more}: gone since the night of {day} read it, land it again or leave the day out"
        )
    late = [name for name in found if name not in read]
    if late:
        names = ", ".join(map(ascii, late[:3])) + (f" and {len(late) - 3} more" if len(late) > 3 else "")
        notes.append(f"Landed since the night of {day}, left out: {names}; run `replay nightly --day {day}` first to have them.")
    files = [path for name, path in found.items() if name in read]
    lake.fetch_logs(files)
    for path in files:
        with path.open("rb") as handle:
            if hashlib.file_digest(handle, "sha256").hexdigest() != read[path.name]["sha256"]:
                raise InputError(f"{path}: is not the file that the night of {day} read, run `replay nightly --day {day}` first")
    return Pulled(tuple(files), tuple(read[path.name] for path in files), ())


def _progress(
    days: Collection[date], runs: dict[date, dict[str, Any]], report: Report | None
) -> Iterator[tuple[date, Callable[[int], None]]]:
    """Each day with what is told the records done of it; ``report`` hears of all days together."""
    total, before = sum(runs[day]["records"] for day in days), 0
    for day in days:

        def advance(done: int, start: int = before) -> None:
            if report:
                report("verify", start + done, total)

        yield day, advance
        before += runs[day]["records"]


def _as_report(advance: Callable[[int], None]) -> Report:
    return lambda _, done, __: advance(done)


def _verify_again(lake: Lake, sides: Sides, settings: NightSettings, question: Question, report: Report | None) -> None:
    """Run the steps of each day's night with the file among the rules, the other days being as they are published."""
    from replay.publish import stage_day
    from replay.shards import plan_shards

    rules = rules_folder(sides.folder / "rules", settings.rulebook(), question.rules)
    changed = replace(settings, rules=rules, source=None)
    try:
        # Before hours of work: a challenge of the table that the file cannot play would end every night.
        changed.verifier()
    except ReferenceDataError as error:
        raise ReferenceDataError(f"{question.rules.path}: no night could run with this file among the rules ({error})") from error
    for day, advance in _progress(_days(question), sides.runs, report):
        pulled = _landed_again(lake, day, sides.runs[day], sides.notes)
        shards = plan_shards(pulled.files, settings.shard_games)
        results = verify_day(sides.after, day, shards, changed, _as_report(advance))
        verdicts = sides.runs[day]["verdicts"]
        if not sum(result.rows for result in results):
            if sum(verdicts.get(name, 0) for name in _ROWS):
                sides.notes.append(f"No game of {day} could be read any more: a night would refuse to publish that.")
        elif verdicts["verified"] and not any(result.verified for result in results):
            sides.notes.append(f"No game of {day} would be verified any more: a night would refuse to publish that.")
        publication = Publication(sides.after)
        stage_day(publication, sides.after, day, pulled, results, changed)
        publication.commit()
        shutil.rmtree(sides.after.staging, ignore_errors=True)
    sides.changed_days |= {day for day in sides.runs if not sides.after.verdict_file(day).is_symlink()}


def _count_again(
    lake: Lake, sides: Sides, settings: NightSettings, question: Question, version: str, report: Report | None
) -> None:
    """Count each day's games of ``version`` by the file; what else is published stays."""
    from replay.preview_scores import on_standing, rescore_day, rescorer
    from replay.shards import plan_shards

    counting = rescorer(settings, question.rules.game, version, question.rules.rules)
    sides.decisions = on_standing(sides.before, sides.runs, sides.decisions)
    decided = {decision.game_id for decision in sides.decisions}
    for day, advance in _progress(_days(question), sides.runs, report):
        shards = plan_shards(_landed_again(lake, day, sides.runs[day], sides.notes).files, settings.shard_games)
        sides.renamed |= rescore_day(sides.before, sides.after, day, shards, counting, settings, decided, advance)
        sides.changed_days.add(day)


def _conditions(runs: dict[date, dict[str, Any]], settings: NightSettings, base: Rulebook, new: NewRules) -> list[str]:
    """What else than the rules file differs from what the days were published under, as sentences."""
    table = hashlib.sha256(settings.challenges_file.read_bytes()).hexdigest()
    rules = {f"{game}/{version}": digest for (game, version), digest in base.hashes.items()}
    now = {
        "another engine": ("engine_version", ENGINE_VERSION),
        "another processing version": ("processing_version", PROCESSING_VERSION),
        "other limits of the suspicions": ("limits", asdict(settings.judge)), "another challenge table": ("challenges", table),
        "other limits of what is held back": ("withhold", asdict(settings.withhold)),
        "other rules files": ("rules", _without(rules, new)),
    }  # fmt: skip
    notes = []
    for what, (key, value) in now.items():
        days = [day for day, run in runs.items() if (_without(run[key], new) if key == "rules" else run.get(key)) != value]
        if days:
            more = f" and {len(days) - 1} other days" if len(days) > 1 else ""
            notes.append(f"Published under {what} than today's: {days[0]}{more}; what that changes is in these figures too.")
    return notes


def _without(hashes: dict[str, str], new: NewRules) -> dict[str, str]:
    return {name: digest for name, digest in hashes.items() if name != f"{new.game}/{new.version}"}


# --- Comparing ---------------------------------------------------------------------------------------------------------------


def _build(sides: Sides, side: Lake, settings: NightSettings, decisions: Sequence[Decision]) -> None:
    days = sorted(sides.runs)
    build_warehouse(
        sides.warehouse(side), [str(side.verdict_file(day)) for day in days], days=days, decisions=decisions,
        releases=releases_in_force(side, sides.releases), players_csv=settings.players_file, tiers_csv=settings.tiers_file,
        settings=standings_settings(settings, days), memory_limit=settings.memory_limit, threads=settings.threads,
    )  # fmt: skip


def _changed_games(
    sides: Sides, settings: NightSettings, limit: int
) -> tuple[dict[str, int], tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
    """(how many games change in what, how many by verdicts, the largest changes)."""
    import duckdb

    try:
        with connect(
            sides.folder / "changed.duckdb", memory_limit=settings.memory_limit, threads=settings.threads,
            spill=sides.folder / "spill",
        ) as con:  # fmt: skip
            con.execute(read_sql("queries/preview_changed_table"))
            for day in sorted(sides.changed_days):
                for side in (sides.before, sides.after):
                    _side_view(con, side, day)
                con.execute(read_sql("queries/preview_changed"), {"day": day})
            (counts,) = rows_of(con.execute(read_sql("queries/preview_counts")))
            verdicts = rows_of(con.execute(read_sql("queries/preview_verdicts")))
            games = rows_of(con.execute(read_sql("queries/preview_games"), {"limit": limit}))
    except duckdb.Error as error:
        raise NightError(f"the games cannot be compared ({first_line(error)}), look at REPLAY_MEMORY_LIMIT and TMPDIR") from error
    return counts, tuple(verdicts), tuple(games)


def _side_view(con: duckdb.DuckDBPyConnection, side: Lake, day: date) -> None:
    query = read_sql("queries/preview_side").format(
        verdicts=quoted(side.verdict_file(day)), quarantine=quoted(side.quarantine_file(day))
    )
    con.execute(f"CREATE OR REPLACE TEMP VIEW {side.root.name}_side AS {query}")


__all__ = ["NewRules", "Preview", "Question", "Sides", "judged", "preview", "read_new_rules", "refuse_place"]
