"""The lake's folders, and how things are published in them: written aside, then renamed by a journal that survives a kill."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from replay.errors import InputError, NightRunning

LOG_SUFFIXES = (".ndjson", ".ndjson.gz", ".ndjson.zst", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


@dataclass(frozen=True)
class Lake:
    """A local folder with the lake's layout (design, "The lake and the warehouse")."""

    root: Path

    def __post_init__(self) -> None:
        # DuckDB takes these signs for a pattern, wherever in a path they stand, and would read other folders too.
        if any(sign in str(self.root) for sign in "*?["):
            raise InputError(f"{self.root}: the path of a lake must not hold any of * ? [, rename the folder")

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
        except OSError as error:
            raise InputError(f"{self.root}: no standings are published here, run `replay nightly` or `replay rebuild`") from error
        return self.warehouse / name

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lake for one writer.  A second one is told at once (NightRunning); a killed one leaves nothing to clean up.

        Raises InputError when there is no such folder: one that was mistyped must not come into being.
        """
        if not self.root.is_dir():
            raise InputError(f"{self.root}: no such lake, name the folder that holds logs/day=.../")
        with (self.root / ".lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise NightRunning(
                    f"{self.root}: another night is writing to this lake, run this one again when it is done"
                ) from error
            yield


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

    def commit(self) -> None:
        """Make everything that was staged visible."""
        for name, _ in self._moves:
            _sync(self._folder / name)
        journal = self._folder / "journal.writing"
        journal.write_text(json.dumps(self._moves), "utf-8")
        _sync(journal)
        journal.replace(self._folder / "journal.json")
        recover(self._lake)


def _day_of(folder: Path) -> date | None:
    """The day that a folder is named after; None for another folder, a copy that somebody put aside for instance."""
    name = folder.name.removeprefix("day=")
    try:
        day = date.fromisoformat(name)
    except ValueError:
        return None
    return day if day.isoformat() == name else None


def recover(lake: Lake) -> bool:
    """Finish a publication whose journal is in place; the lake must be held.  Returns whether there was one."""
    folder = lake.staging / "publish"
    journal = folder / "journal.json"
    if not journal.exists():
        return False
    for name, target in json.loads(journal.read_text("utf-8")):
        # A file that is gone was renamed before the kill.
        if (folder / name).exists():
            place = lake.root / target
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / name, place)
    shutil.rmtree(folder)
    return True


def _sync(path: Path) -> None:
    with path.open("rb") as handle:
        os.fsync(handle.fileno())
