"""The night: pull, plan, verify, publish, standings.  Each step is one call, so that a scheduler can run them as tasks."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from replay.challenges import SEEDS, load_challenges
from replay.draw import Draw, seed_of
from replay.eligibility import effect_digest
from replay.errors import DayWouldBeEmptied, InputError, NothingReceived, NothingVerified
from replay.failures import forget_failure
from replay.flag_rates import Limits
from replay.lake import Lake, Publication, recover
from replay.reviews.incidents import releases_in_force
from replay.reviews.store import reviews_of
from replay.rulebook import Rulebook, load_rulebook
from replay.shards import SHARD_GAMES, Shard, ShardResult, plan_shards, verify_shard
from replay.sources import Brought, Left, Source
from replay.standings import StandingsSettings, build_warehouse, holds_any_player, load_player_states
from replay.timings import Timings
from replay.verdict import JudgeSettings
from replay.verify import Verifier

if TYPE_CHECKING:
    from replay.moves import Moves

Report = Callable[[str, int, int], None]
# Verified games that are replayed by both engines: about one percent of what a night of a million games takes.
SAMPLE_PER_MILLION, SAMPLE_LEAST = 400, 20


@dataclass(frozen=True)
class NightSettings:
    """What a night is run with; ``None`` paths are the built-in rules and seeds/.

    ``threads`` None uses every core; ``memory_limit`` is DuckDB's, for standings; ``source`` None leaves it to others to put logs
    into the lake.  ``withhold`` says when flags are held back (``replay.withheld``); ``plant`` and ``sample_...`` are how a night
    proves itself (``replay.planted``, ``replay.draw``).
    """

    rules: Path | None = None
    challenges: Path | None = None
    players: Path | None = None
    tiers: Path | None = None
    shard_games: int = SHARD_GAMES
    threads: int | None = None
    memory_limit: str = "512MB"
    ai_in_percentile: bool = True
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    withhold: Limits = field(default_factory=Limits)
    source: Source | None = None
    plant: bool = True
    sample_per_million: int = SAMPLE_PER_MILLION
    sample_least: int = SAMPLE_LEAST

    @property
    def players_file(self) -> Path:
        return self.players or SEEDS / "players.csv"

    @property
    def challenges_file(self) -> Path:
        return self.challenges or SEEDS / "challenges.csv"

    @property
    def tiers_file(self) -> Path:
        return self.tiers or SEEDS / "rank_tiers.csv"

    def rulebook(self) -> Rulebook:
        return load_rulebook(self.rules)

    def verifier(self, day: date | None = None) -> Verifier:
        """The verifier under these settings; of a ``day``'s night, which draws some games.  Raises ReferenceDataError."""
        rulebook = self.rulebook()
        challenges = load_challenges(self.challenges_file, rulebook)
        return Verifier(rulebook, challenges, self.judge, self.anonymised(), self.draw(day) if day else None)

    def draw(self, day: date) -> Draw:
        """What a day's night draws."""
        return Draw(seed_of(day), self.sample_per_million, self.sample_least, self.plant)

    def anonymised(self) -> dict[str, str]:
        """New player ids by the old ones.  Raises ReferenceDataError."""
        states = load_player_states(self.players_file)
        return {old: state.new_id for old, state in states.items() if state.new_id is not None}


@dataclass(frozen=True)
class Pulled:
    """The log files of a day: those to read, with size and SHA-256, and those left alone, in the lake or at the source; of the
    latter ``left_waiting`` says why, and ``place`` where that is."""

    files: tuple[Path, ...]
    inputs: tuple[dict[str, Any], ...]
    left_alone: tuple[str, ...]
    left_waiting: tuple[Left, ...] = ()
    place: str = ""


def bring(lake: Lake, day: date, settings: NightSettings, timings: Timings | None = None) -> Brought:
    """Bring the day's logs from where they land, if the settings name such a place.  Raises what ``land`` raises."""
    if settings.source is None:
        return Brought()
    from replay.landing import land

    with (timings or Timings()).step("land"):
        return land(settings.source, day, lake)


def pull(lake: Lake, day: date, brought: Brought | None = None) -> Pulled:
    """Find the day's files and take their hashes.  Raises InputError for a lake without logs."""
    brought = brought or Brought()
    if not lake.exists():
        raise InputError(f"{lake.name}: no such lake, name the folder that holds logs/day=.../")
    files, left_alone = lake.log_files(day)
    lake.fetch_logs(files)
    inputs = []
    for path in files:
        try:
            # The name goes into every row of the file's games, as text.
            path.name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"{str(path)!a}: the name of this log file is not UTF-8, rename it") from error
        with path.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        inputs.append({"file": path.name, "bytes": path.stat().st_size, "sha256": digest})
    names = {path.name for path in left_alone} | {entry.file for entry in brought.left}
    lake.note_hashes(day, {str(entry["file"]): str(entry["sha256"]) for entry in inputs})
    return Pulled(tuple(files), tuple(inputs), tuple(sorted(names)), brought.left, brought.place)


def staging_of(lake: Lake, day: date) -> Path:
    """Where a night keeps its shards until they are published."""
    return lake.staging / f"day={day.isoformat()}"


def verify_day(
    lake: Lake,
    day: date,
    shards: list[Shard],
    settings: NightSettings,
    report: Report | None = None,
    timings: Timings | None = None,
) -> list[ShardResult]:
    """Verify all shards of a day one after the other, each on all threads; ``timings`` is told what each took."""
    verifier = settings.verifier(day)
    staging = staging_of(lake, day)
    shutil.rmtree(staging, ignore_errors=True)
    results = []
    done = 0

    def advance(records: int) -> None:
        nonlocal done
        done += records
        if report:
            report("verify", done, 0)

    for shard in shards:
        began = monotonic()
        results.append(verify_shard(shard, verifier, staging, settings.threads, advance))
        if timings is not None:
            timings.shard(shard, results[-1].received, began)
    return results


def run_night(
    lake: Lake,
    day: date,
    settings: NightSettings,
    allow_empty: bool = False,
    report: Report | None = None,
    timings: Timings | None = None,
    brought: Brought | None = None,
) -> dict[str, Any]:
    """Run one night from start to end and return what run.json says; ``timings``, if given, what its steps took.

    Logs are brought from the source first, unless ``brought`` says what came of that already.  Raises what ``land`` raises,
    NothingReceived for a day without records and NothingVerified for one that lost all its verified games (unless allowed),
    NightRunning while another night holds the lake, InputError (decisions that cannot be read among them), ReferenceDataError
    and the other NightErrors; then nothing of this night is visible.
    """
    from replay.anonymise import replace_old_ids
    from replay.publish import stage_day

    timings = timings or Timings()
    if brought is None:
        # Others may write to the lake meanwhile: this can take as long as a file takes to grow.
        brought = bring(lake, day, settings, timings)
    with lake.lock():
        recover(lake)
        lake.refresh("verdicts", "runs")
        # Standings cannot be made without them: better told now than after all is verified.
        reviews_of(lake)
        with timings.step("pull"):
            pulled = pull(lake, day, brought)
        refuse_without_files(lake, day, pulled, allow_empty)
        with timings.step("plan"):
            shards = plan_shards(pulled.files, settings.shard_games)
        if report:
            report("plan", len(shards), sum(entry["bytes"] for entry in pulled.inputs))
        results = verify_day(lake, day, shards, settings, report, timings)
        refuse_to_publish(lake, day, pulled, results, allow_empty)
        if report:
            report("publish", 0, 0)
        # What is published already bears today's ids before new games are related to it.
        renamed = replace_old_ids(lake, settings)
        # Verdicts and standings become visible in one step, and only when every check has passed.
        publication = Publication(lake)
        with timings.step("publish"):
            run = stage_day(publication, lake, day, pulled, results, settings)
        # Not behind the publication: a night that is killed between the two would find the day done when it runs again, and leave
        # its shards for ever.
        shutil.rmtree(staging_of(lake, day), ignore_errors=True)
        if report:
            report("standings", 0, 0)
        with timings.step("standings"):
            publish_standings(publication, lake, settings, bool(renamed))
        forget_failure(lake, day)
        return run


def refuse_without_files(lake: Lake, day: date, pulled: Pulled, allow_empty: bool) -> None:
    """Raises NothingReceived for a day without log files, unless that is allowed."""
    if not pulled.files and not allow_empty:
        left = f" ({len(pulled.left_alone)} files of no known kind were left alone)" if pulled.left_alone else ""
        if pulled.left_waiting:
            first, others = pulled.left_waiting[0], len(pulled.left_waiting) - 1
            left = f" ({first.file} at {pulled.place} {first.why}" + (f", {others} others like that)" if others else ")")
        elif pulled.place:
            left += f", nor lies one at {pulled.place}"
        raise NothingReceived(
            f"{lake.day('logs', day)}: no log file was received for {day}{left}; use --allow-empty if that is right"
        )


def refuse_to_publish(lake: Lake, day: date, pulled: Pulled, results: list[ShardResult], allow_empty: bool) -> None:
    """What must hold of a verified day before anything of it is published.

    Raises InputError for files that changed while they were read, NothingReceived for a day without games and NothingVerified
    for one that was published with verified games and has none any more (unless allowed), and DayWouldBeEmptied.
    """
    _refuse_growing_files(lake, day, pulled)
    if not sum(result.received for result in results) and not allow_empty:
        raise NothingReceived(
            f"{lake.day('logs', day)}: {len(pulled.files)} log files were received for {day}, but no game is in them;"
            " use --allow-empty if that is right"
        )
    games = sum(result.rows for result in results)
    if not games:
        # Nobody is accused of anything: the quarantine is published, so that somebody can look at it.
        _refuse_to_empty(lake, day, pulled)
    elif not any(result.verified for result in results) and not allow_empty:
        _refuse_all_flagged(lake, day, games)


def _refuse_growing_files(lake: Lake, day: date, pulled: Pulled) -> None:
    """What run.json says of a file must be true of what was read: one that was still being written is not taken half."""
    now = lake.landed(day)
    for path, entry in zip(pulled.files, pulled.inputs, strict=True):
        if path.name not in now or now[path.name].size != entry["bytes"]:
            raise InputError(f"{path}: was still being written while the night read it, run the night again when it has landed")
    lake.refuse_changed_logs(day)


def _refuse_all_flagged(lake: Lake, day: date, games: int) -> None:
    """Boards that were good never give way to empty ones; a day that was never published may hold flagged games only."""
    before = read_run(lake, day)["verdicts"]["verified"] if lake.run_file(day).exists() else 0
    if before:
        raise NothingVerified(
            f"{lake.day('logs', day)}: {day} was published with {before} verified games, now all {games} games are flagged;"
            " nothing is published, look at the rules, the challenge and the client first, and use --allow-empty if that is right"
        )


def _refuse_to_empty(lake: Lake, day: date, pulled: Pulled) -> None:
    """A day that was published with games is never replaced by one without: rather yesterday's boards than empty ones."""
    if not lake.run_file(day).exists():
        return
    verdicts = read_run(lake, day)["verdicts"]
    # A night of an earlier version held nothing back.
    before = verdicts["verified"] + verdicts["flagged"] + verdicts.get("withheld", 0) + verdicts["copy"]
    if before:
        raise DayWouldBeEmptied(
            f"{lake.day('logs', day)}: {day} was published with {before} games, now none of its {len(pulled.files)} files"
            f" holds one that can be read; land them again, or delete"
            f" {lake.day('verdicts', day)} and {lake.day('runs', day)} if the day is to go"
        )


def standings_settings(settings: NightSettings, days: list[date]) -> StandingsSettings:
    """What standings over these published days (oldest first) are built with."""
    return StandingsSettings(ai_in_percentile=settings.ai_in_percentile, as_of=days[-1] if days else None)


def stage_standings(
    publication: Publication, lake: Lake, settings: NightSettings, rebuild: bool = False
) -> dict[str, int] | None:
    """Stage the warehouse that the verdicts of ``publication`` and the decisions and releases of now give, and CURRENT with its
    name; returns rows by table.

    A warehouse that was built from the very same inputs is kept (then None is returned) unless ``rebuild`` asks for a new one.
    Readers hold the file they have until they look at CURRENT again.  Raises CheckFailed, and InputError when the decisions
    cannot be read.
    """
    days = publication.verdict_days()
    decisions, all_releases = reviews_of(lake)
    releases = releases_in_force(lake, all_releases, publication)
    name = _warehouse_name(publication, lake, days, settings, effect_digest(decisions, releases))
    target = lake.warehouse / name
    rows: dict[str, int] | None = None
    if rebuild or not lake.is_published(target):
        # A staged file bears another name than the day's folder would tell.
        files = {str(publication.newest(lake.verdict_file(day))): day for day in days}
        rows = build_warehouse(
            publication.stage(target), list(files), days=list(files.values()), decisions=decisions,
            releases=releases, players_csv=settings.players_file, tiers_csv=settings.tiers_file,
            settings=standings_settings(settings, days), memory_limit=settings.memory_limit, threads=settings.threads,
        )  # fmt: skip
    publication.stage(lake.warehouse / "CURRENT").write_text(name + "\n", "utf-8")
    return rows


def publish_standings(
    publication: Publication, lake: Lake, settings: NightSettings, renamed: bool, rebuild: bool = False
) -> dict[str, int] | None:
    """``stage_standings``, publish all that is staged, and forget the warehouses that nobody needs.

    ``renamed`` says that published players have just got new ids.
    """
    previous = _current(lake)
    rows = stage_standings(publication, lake, settings, rebuild)
    publication.commit()
    forget_old_warehouses(lake, previous, settings.anonymised(), renamed)
    return rows


def _current(lake: Lake) -> Path | None:
    return lake.current_warehouse() if (lake.warehouse / "CURRENT").exists() else None


def _warehouse_name(
    publication: Publication, lake: Lake, days: list[date], settings: NightSettings, reviews: bytes
) -> str:
    """The newest day and a hash of all that goes into the warehouse: the runs, which name their verdict files' content, the
    reference tables, the statements, settings, and which decisions and releases stand (``reviews``)."""
    digest = hashlib.sha256()
    for day in days:
        try:
            run = publication.newest(lake.run_file(day)).read_bytes()
            digest.update(run)
            if b'"verdict_file"' not in run:
                # A night of an earlier version of this program did not say what its rows were.
                digest.update(publication.newest(lake.verdict_file(day)).read_bytes())
        except FileNotFoundError as error:
            raise InputError(
                f"{lake.run_file(day)}: is missing beside the verdicts of {day}, run `replay nightly --day {day}` first"
            ) from error
    sql = Path(__file__).parent / "sql"
    # What only reads a warehouse makes no other one.
    for path in (settings.players_file, settings.tiers_file, *sorted(sql.glob("*.sql")), *sorted(sql.glob("checks/*.sql"))):
        digest.update(path.read_bytes())
    digest.update(repr(settings.ai_in_percentile).encode())
    digest.update(reviews)
    return f"{days[-1] if days else 'empty'}-{digest.hexdigest()[:16]}.duckdb"


def open_published(lake: Lake, *kinds: str) -> None:
    """Have what is published at hand, of a lake that is held, before standings are made from it.

    Raises InputError for a lake without a published day, whose boards would be empty, and for decisions that cannot be read.
    """
    recover(lake)
    lake.refresh("verdicts", "runs", *kinds)
    if not lake.published_days():
        raise InputError(f"{lake.name}: no day was published here, run `replay nightly` first")
    reviews_of(lake)


def rebuild_standings(lake: Lake, settings: NightSettings) -> dict[str, int]:
    """Build the warehouse again from the published verdicts and the decisions of now, and publish it; rows by table.

    Raises CheckFailed, NightRunning, and InputError for a lake without a published day and for decisions that cannot be read.
    """
    from replay.anonymise import replace_old_ids

    with lake.lock():
        open_published(lake)
        renamed = replace_old_ids(lake, settings)
        return publish_standings(Publication(lake), lake, settings, bool(renamed), rebuild=True) or {}


@dataclass(frozen=True)
class Restated:
    """What came of restating: the name of the current ``warehouse``, and what moved (None: there was nothing to restate)."""

    warehouse: str
    moves: Moves | None

    def as_json(self) -> dict[str, Any]:
        """All of it for machines."""
        return {
            "warehouse": self.warehouse, "restated": self.moves is not None,
            "moves": None if self.moves is None else self.moves.as_json(),
        }  # fmt: skip


def restate_standings(lake: Lake, settings: NightSettings) -> Restated:
    """Take the decisions of now into the standings, if anything that these are made from has changed, and say what moved.

    Raises what ``rebuild_standings`` raises.
    """
    from replay.anonymise import replace_old_ids
    from replay.moves import Moves, compare

    with lake.lock():
        open_published(lake, "standings")
        previous = _current(lake)
        renamed = replace_old_ids(lake, settings)
        publication = Publication(lake)
        stage_standings(publication, lake, settings)
        name = publication.newest(lake.warehouse / "CURRENT").read_text("utf-8").strip()
        if previous is not None and previous.name == name and lake.is_published(previous):
            publication.drop()
            return Restated(name, None)
        publication.commit()
        current = lake.current_warehouse()
        lake.refresh("standings")
        moves = Moves()
        if previous is not None and previous.is_file():
            moves = compare(
                previous, current, anonymised=settings.anonymised(), memory_limit=settings.memory_limit, threads=settings.threads
            )
        forget_old_warehouses(lake, previous, settings.anonymised(), bool(renamed))
        return Restated(name, moves)


def forget_old_warehouses(
    lake: Lake, previous: Path | None = None, replaced: Mapping[str, str] | None = None, renamed: bool = False
) -> None:
    """Keep the newest two besides the current one, and ``previous``, which was current until now: somebody may still be reading
    them.

    Of anonymised players nothing may be left: when ids in what is published have just been ``renamed`` all others go, as does any
    that holds one of the ``replaced`` ids.
    """
    older = lake.older_warehouses()
    for path in older:
        kept = path in older[-2:] or path == previous
        if renamed or not kept or (replaced and _may_hold(path, replaced)):
            lake.remove(path)


def _may_hold(path: Path, player_ids: Mapping[str, str]) -> bool:
    if not path.is_file():
        # On an object store: what was there when players were renamed went then.
        return False
    try:
        return holds_any_player(path, player_ids)
    except InputError:
        # What cannot be read is of use to nobody, and must not spoil a night that is published.
        return True


def read_run(lake: Lake, day: date) -> dict[str, Any]:
    """The run.json of a day.  Raises InputError when that day was not published or the file is damaged."""
    try:
        found: dict[str, Any] = json.loads(lake.run_file(day).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{lake.run_file(day)}: {day} was not published, run `replay nightly --day {day}`") from error
    except OSError as error:
        raise InputError(f"{lake.run_file(day)}: cannot be read ({error.strerror}), look at its rights") from error
    except ValueError as error:
        raise InputError(f"{lake.run_file(day)}: is damaged, delete it and run `replay nightly --day {day}` again") from error
    return found
