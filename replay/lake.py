"""The lake's folders, and how things are published in them: written aside, then renamed by a journal that survives a kill.

What a lake on an object store does otherwise (``replay.remote``) are methods of ``Lake``: for a local folder most have nothing to
do, and everything else reads and writes files below ``root`` in both.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from replay.errors import InputError, NightRunning, UsageError

if TYPE_CHECKING:
    from replay.shards import Shard

LOG_SUFFIXES = (".ndjson", ".ndjson.gz", ".ndjson.zst", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


@dataclass(frozen=True)
class Landed:
    """A landed file as it is now: ``size`` in bytes and ``version``, which changes when the file is written again."""

    size: int
    version: str


def open_lake(text: str | Path) -> Lake:
    """The lake that ``text`` names: a folder, or a URL of an object store (``s3://bucket/prefix``).

    Use it in ``with``: a lake on a store then removes its working folder, and errors name the URL.  Raises InputError and
    UsageError.
    """
    scheme, separator, rest = str(text).partition("://")
    if not str(text):
        # A variable that is not set; the working folder, which Path makes of it, is nobody's lake.
        raise UsageError("the lake's name is empty, give a folder or a URL with --lake or REPLAY_LAKE")
    if not separator:
        return Lake(Path(text))
    if scheme == "file":
        return Lake(Path(rest))
    from replay.remote import open_remote

    return open_remote(str(text))


@dataclass(frozen=True)
class Lake:
    """A local folder with the lake's layout (design, "The lake and the warehouse")."""

    root: Path

    def __post_init__(self) -> None:
        # DuckDB takes these signs for a pattern, wherever in a path they stand, and would read other folders too.
        if any(sign in str(self.root) for sign in "*?["):
            raise InputError(f"{self.root}: the path of a lake must not hold any of * ? [, rename the folder")

    @property
    def name(self) -> str:
        """How people name this lake: the folder, or the URL."""
        return str(self.root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing is held open for a local lake."""

    def exists(self) -> bool:
        """Whether there is such a lake: one that was mistyped must not come into being."""
        return self.root.is_dir()

    def day(self, kind: str, day: date) -> Path:
        """The folder of one day: ``kind`` is logs, verdicts, quarantine or runs."""
        return self.root / kind / f"day={day.isoformat()}"

    def verdict_file(self, day: date) -> Path:
        return self.day("verdicts", day) / "part-0.parquet"

    def quarantine_file(self, day: date) -> Path:
        return self.day("quarantine", day) / "part-0.parquet"

    def run_file(self, day: date) -> Path:
        return self.day("runs", day) / "run.json"

    @property
    def warehouse(self) -> Path:
        return self.root / "warehouse"

    @property
    def staging(self) -> Path:
        """Work in progress; whatever lies here is ours to delete."""
        return self.root / "staging"

    def log_files(self, day: date) -> tuple[list[Path], list[Path]]:
        """(files to read, what is left alone because it is unfinished, of no known kind or a folder), each by name."""
        folder = self.day("logs", day)
        if not folder.is_dir():
            return [], []
        # A folder within the day is named as well: games may lie in it.
        entries = sorted((p for p in folder.iterdir() if not p.name.startswith(".")), key=lambda p: p.name)
        read = [p for p in entries if p.name.endswith(LOG_SUFFIXES) and p.is_file()]
        return read, [p for p in entries if p not in read]

    def landed(self, day: date) -> dict[str, Landed]:
        """The day's log files (the first ones of ``log_files``) by name, as they are now."""
        found = {}
        for path in self.log_files(day)[0]:
            stat = path.stat()
            found[path.name] = Landed(stat.st_size, f"{stat.st_size}-{stat.st_mtime_ns}")
        return found

    def fetch_logs(self, files: Iterable[Path], versions: Mapping[str, str] | None = None) -> None:
        """Have these log files below ``root``, as they were when they were listed, or of these ``versions`` (by name).

        Raises InputError.  For a local lake they are there; who reads them says when they are not."""

    def refuse_changed_logs(self, day: date) -> None:
        """Raises InputError when a file of the day that ``fetch_logs`` brought is another one by now."""

    def note_hashes(self, day: date, hashes: Mapping[str, str]) -> None:
        """Remember the SHA-256 of log files that were fetched, by name; a local lake reads them again, at little cost."""

    def known_hashes(self, day: date) -> dict[str, str]:
        """The SHA-256 of the day's log files that are as they were when it was noted, by name."""
        return {}

    def fetch_shard(self, shard: Shard, version: str) -> Shard:
        """The shard with its part of its log file on this machine, as of the file's ``version``.  Raises InputError."""
        return shard

    @staticmethod
    def day_of(path: Path) -> date:
        """The day in whose folder a file lies."""
        return date.fromisoformat(path.parent.name.removeprefix("day="))

    def published_days(self) -> list[date]:
        """Days that have verdicts, oldest first."""
        days = []
        for folder in (self.root / "verdicts").glob("day=*"):
            day = _day_of(folder)
            if day is not None and (folder / "part-0.parquet").exists():
                days.append(day)
        return sorted(days)

    def current_warehouse(self) -> Path:
        """The warehouse file that CURRENT names.  Raises InputError when no night has published one."""
        pointer = self.warehouse / "CURRENT"
        try:
            name = pointer.read_text("utf-8").strip()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise InputError(f"{self.root}: no standings are published here, run `replay nightly` or `replay rebuild`") from error
        except OSError as error:
            raise InputError(f"{pointer}: cannot be read ({error.strerror}), look at its rights") from error
        return self.warehouse / name

    def older_warehouses(self) -> list[Path]:
        """The warehouse files besides the current one, in the order in which they were published, the newest last."""
        current = self.current_warehouse()
        others = [path for path in self.warehouse.glob("*.duckdb") if path != current]
        return sorted(others, key=lambda path: (path.stat().st_mtime_ns, path.name))

    def is_published(self, path: Path) -> bool:
        """Whether there is such a file in the lake (for a lake on a store: when ``refresh`` looked last)."""
        return path.exists()

    def remove(self, path: Path) -> None:
        """Remove a published file that nobody needs."""
        path.unlink()

    def refresh(self, *kinds: str, days: Collection[date] | None = None) -> None:
        """Have what is published now below ``root``, all of one moment; a local lake is always as it is now.

        ``kinds`` are verdicts, quarantine, runs, reports and truth (of all days, or ``days``), standings (the current warehouse)
        and warehouses (all).
        """

    def put_texts(self, texts: Mapping[Path, str]) -> None:
        """Write files below ``root``, each whole or not at all, under a name of this process's own first."""
        for path, text in texts.items():
            aside = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.writing")
            aside.write_text(text, "utf-8")
            os.replace(aside, path)

    def put_tree(self, *kinds: str) -> None:
        """Have what was written below these folders of ``root`` in the lake."""

    # --- Work in progress, which several machines share when the lake is on a store --------------------------------------

    def work_lock(self) -> AbstractContextManager[None]:
        """Hold the staging folder of a day while it is cleared.

        A night that runs in one call keeps its shards in the same local folder while it holds the lake.
        """
        return self.lock()

    def fetch_work(self, folder: Path, *names: str) -> None:
        """Have what other calls left in a staging folder, or beside a day's logs, there: all, or the files of these names.

        The names may be patterns.
        """

    def share_work(self, paths: Sequence[Path]) -> None:
        """Let other calls see files of a staging folder or of a day's logs, each whole, the last one last."""

    def work_left(self) -> bool:
        """Whether a night is running or was cut off."""
        return self.staging.is_dir() and any(self.staging.iterdir())

    def forget_work(self, paths: Iterable[Path]) -> None:
        """Remove files of a staging folder, or whole staging folders, for every machine."""
        for path in paths:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    # --- Writing ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lake for one writer.  A second one is told at once (NightRunning); a killed one leaves nothing to clean up.

        Raises InputError when there is no such folder: one that was mistyped must not come into being.
        """
        if not self.exists():
            raise InputError(f"{self.root}: no such lake, name the folder that holds logs/day=.../")
        with (self.root / ".lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise NightRunning(
                    f"{self.root}: another night is writing to this lake, run this one again when it is done"
                ) from error
            yield

    def commit(self, folder: Path, moves: Sequence[tuple[str, str]]) -> None:
        """Publish files of ``folder`` together: (its name there, where it belongs below ``root``), in this order."""
        for name, _ in moves:
            _sync(folder / name)
        journal = folder / "journal.writing"
        journal.write_text(json.dumps(moves), "utf-8")
        _sync(journal)
        journal.replace(folder / "journal.json")
        recover(self)

    def recover(self) -> bool:
        """Finish a publication that a kill left behind; the lake must be held.  Returns whether there was one."""
        folder = self.staging / "publish"
        journal = folder / "journal.json"
        if not journal.exists():
            return False
        for name, target in json.loads(journal.read_text("utf-8")):
            # A file that is gone was renamed before the kill.
            if (folder / name).exists():
                place = self.root / target
                place.parent.mkdir(parents=True, exist_ok=True)
                os.replace(folder / name, place)
        shutil.rmtree(folder)
        return True


class Publication:
    """Files that become visible together, or after a kill are made visible by whoever holds the lake next.

    Each file is written under the staging folder; ``commit`` first renames a journal of all of them into place, which is the
    moment of publication, and then the files.  ``recover`` finishes a journal that a kill left behind.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._folder = lake.staging / "publish"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._moves: list[tuple[str, str]] = []
        self._staged: dict[Path, Path] = {}

    def stage(self, target: Path) -> Path:
        """Where to write the file that is to appear as ``target``."""
        staged = self._folder / f"{len(self._moves):04d}-{target.name}"
        self._moves.append((staged.name, target.relative_to(self._lake.root).as_posix()))
        self._staged[target] = staged
        return staged

    def newest(self, target: Path) -> Path:
        """Where to read ``target`` as it will be: the staged file, else the published one."""
        return self._staged.get(target, target)

    def verdict_days(self) -> list[date]:
        """Days that have verdicts once this is committed, oldest first."""
        staged = {Lake.day_of(target) for target in self._staged if target.parent.parent.name == "verdicts"}
        return sorted({*self._lake.published_days(), *staged})

    def drop(self) -> None:
        """Publish nothing of what was staged."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def commit(self) -> None:
        """Make everything that was staged visible."""
        self._lake.commit(self._folder, self._moves)


def _day_of(folder: Path) -> date | None:
    """The day that a folder is named after; None for another folder, a copy that somebody put aside for instance."""
    name = folder.name.removeprefix("day=")
    try:
        day = date.fromisoformat(name)
    except ValueError:
        return None
    return day if day.isoformat() == name else None


def recover(lake: Lake) -> bool:
    """``lake.recover()``."""
    return lake.recover()


def _sync(path: Path) -> None:
    with path.open("rb") as handle:
        os.fsync(handle.fileno())
