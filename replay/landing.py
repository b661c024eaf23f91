"""Logs come into the lake: the new and changed files of a source, each whole or not at all.

What has arrived whole is told by looking twice, not by a clock, as no clock here is the store's: a file is taken when two looks
``settle`` seconds apart saw the same size and version (ETag, else time of modification), when as many bytes came as are listed,
and when a third look sees the same again.  The wait is paid once a listing, not once a file, and only when something is new.  A
writer that pauses for longer than that is caught by the nights that follow: what grows after it was taken is another version,
which is brought again.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from replay.errors import InputError, NightRunning
from replay.lake import Lake
from replay.sources import Brought, Folder, Left, Look, Source, access_errors, is_partial, times

log = logging.getLogger(__name__)

# Files that are under way at once.
AT_ONCE = 8
_CHANGED = "was written again while it was read"


def land(source: Source, day: date, into: Lake) -> Brought:
    """Bring the day's new and changed files of the source into the lake; what lies there stays, whatever the source still has.

    A file is written aside and renamed when it is whole, so none is ever seen half.  One that is still being written, gone or
    broken after all tries is named in ``left``; the rest of the day is brought.  Raises InputError for a source that cannot be
    reached, for one with two files of one name, and for a lake that cannot be written; UsageError for a source that is written
    wrongly; NightRunning while another process brings files into this lake.
    """
    folder = Folder(source, day)
    with _held(into):
        return _Landing(source, folder, _Shelf(into, day)).run()


def tell_left(brought: Brought, day: date) -> None:
    """Name what was left in the log, each with its reason."""
    for entry in brought.left:
        log.warning("%s: %s was left at %s: it %s", day, entry.file, brought.place, entry.why)


@contextmanager
def _held(lake: Lake) -> Iterator[None]:
    """One process at a time brings files: what another one left half in the folder for it is then nobody's, and may go."""
    if not lake.root.is_dir():
        raise InputError(f"{lake.root}: no such lake, name the folder that holds logs/day=.../")
    with (lake.root / ".landing.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NightRunning(f"{lake.root}: another run is bringing logs into this lake, run this one again later") from error
        yield


# --- The lake's side -----------------------------------------------------------------------------------------------------


class _Shelf:
    """The folder of the day in the lake, with what is remembered of the versions that lie there.

    The memory lies beside the files it speaks of, under a name that the lake does not read: whoever deletes the folder, or copies
    the lake, takes it along.  It is written after the files, so what a kill cost it is only brought again.
    """

    def __init__(self, lake: Lake, day: date) -> None:
        self._lake = lake
        self._folder = lake.day("logs", day)
        self._aside = self._folder / ".landing"
        self._memory = self._folder / ".landed.json"
        self._known = self._remembered()
        self._sizes = {name: found.size for name, found in lake.landed(day).items()}
        self._written_at = monotonic()

    def _remembered(self) -> dict[str, Any]:
        self._lake.fetch_work(self._folder, self._memory.name)
        try:
            found = json.loads(self._memory.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            # Without it everything is brought again, which changes no byte.
            return {}
        return found if isinstance(found, dict) else {}

    def has(self, name: str, look: Look) -> bool:
        """Whether this very version lies in the lake."""
        remembered = self._known.get(name) == {"size": look.size, "version": look.version}
        return remembered and self._sizes.get(name) == look.size

    def aside(self) -> Path:
        """The folder to write files to before they are put.  Raises InputError when there can be none."""
        try:
            self._aside.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self._aside}: logs cannot be written here ({error.strerror}), look at its rights") from error
        return self._aside

    def put(self, written: Path, name: str, look: Look) -> None:
        """Make a file that was written aside visible under its name, in one step."""
        with written.open("rb") as handle:
            os.fsync(handle.fileno())
        path = self._folder / name
        written.replace(path)
        self._lake.share_work([path])
        self._known[name] = {"size": look.size, "version": look.version}
        self._sizes[name] = path.stat().st_size
        # A day may have thousands of files: a kill costs what came within a second.
        if monotonic() - self._written_at > 1:
            self.remember()

    def remember(self) -> None:
        """Write the memory aside and rename it."""
        aside = self.aside() / "landed.json"
        aside.write_text(json.dumps(self._known, indent=0, sort_keys=True), "utf-8")
        aside.replace(self._memory)
        self._lake.share_work([self._memory])
        self._written_at = monotonic()

    def clear(self) -> None:
        """Delete what this or an earlier, killed run left half."""
        shutil.rmtree(self._aside, ignore_errors=True)


class _Landing:
    """One call of ``land``: looks at the folder again and again until nothing is left that waiting or trying again may mend."""

    def __init__(self, source: Source, folder: Folder, shelf: _Shelf) -> None:
        self._source, self._folder, self._shelf = source, folder, shelf
        self._landed: set[str] = set()
        # Files that were seen whole by name and are neither brought nor given up.
        self._pending: set[str] = set()
        self._partial: set[str] = set()
        self._failures: Counter[str] = Counter()
        self._why: dict[str, str] = {}
        self._late = False

    def run(self) -> Brought:
        self._shelf.clear()
        before: dict[str, Look] = {}
        now, refused = self._folder.looks()
        # Counted from here, so that however slow a store is, each file is looked at twice.
        began = monotonic()
        try:
            while True:
                new = {name: look for name, look in sorted(now.items()) if not self._shelf.has(name, look)}
                if not self._round(new, before):
                    break
                before = new
                sleep(self._source.settle)
                now, refused = self._folder.looks()
                self._late = monotonic() - began >= self._source.patience
        finally:
            if self._landed:
                self._shelf.remember()
            self._shelf.clear()
        left = {**self._why, **refused}
        kept = set(now) - set(new) - self._landed
        entries = tuple(Left(name, left[name]) for name in sorted(left))
        return Brought(tuple(sorted(self._landed)), len(kept), entries, self._folder.shown)

    def _round(self, new: dict[str, Look], before: dict[str, Look]) -> bool:
        """Take what is stable; returns whether another look may bring more."""
        again = self._look_at_partial(new, before)
        for name in sorted(self._pending - set(new)):
            again |= self._failed(name, "was listed and is gone")
        ready = []
        for name, look in new.items():
            if is_partial(name) or self._failures[name] > self._source.retries:
                continue
            self._pending.add(name)
            if look.trouble:
                again |= self._failed(name, look.trouble)
            elif look.size is None:
                self._give_up(name, "is of a size that the store does not tell, so nothing says whether it arrives whole")
            elif before.get(name) == look:
                ready.append((name, look))
            else:
                again |= self._waits(name)
        return self._take(ready) or again

    def _look_at_partial(self, new: dict[str, Look], before: dict[str, Look]) -> bool:
        """Files that are not complete by their names: one that does not grow is a broken upload, for which no night waits."""
        again = False
        present = {name for name in new if is_partial(name)}
        for name in present:
            if before.get(name) == new[name]:
                self._why[name] = "is incomplete by its name and does not grow"
            else:
                again |= self._waits(name)
        for name in self._partial - present:
            # Renamed, it will be seen under its other name; a listing may show neither for a moment.
            del self._why[name]
            again |= not self._late
        self._partial = present
        return again

    def _take(self, ready: list[tuple[str, Look]]) -> bool:
        """Bring stable files, several at once; returns whether another look may bring more."""
        again = False
        asides = [self._shelf.aside() / str(number) for number in range(len(ready))]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            fetched = pool.map(self._fetch, [look for _, look in ready], asides)
            for (name, look), aside, why in zip(ready, asides, fetched, strict=True):
                if why is None:
                    why = self._put(aside, name, look)
                if why == _CHANGED:
                    again |= self._waits(name)
                elif why:
                    again |= self._failed(name, why)
        return again

    def _fetch(self, look: Look, aside: Path) -> str | None:
        """Write a file aside; returns why that is not what was listed, None if it is.  Raises InputError for a full disk."""
        try:
            self._folder.fetch(look, aside)
            got = aside.stat().st_size
            after = self._folder.look(look.path)
        except FileNotFoundError as error:
            return f"was listed and cannot be found ({self._folder.why(error)})"
        except access_errors() as error:
            _refuse_full_disk(error, aside)
            return f"cannot be read ({self._folder.why(error)})"
        if after != look:
            return _CHANGED
        return None if got == look.size else f"came with {got} bytes where {look.size} are listed"

    def _put(self, aside: Path, name: str, look: Look) -> str | None:
        try:
            self._shelf.put(aside, name, look)
        except OSError as error:
            _refuse_full_disk(error, aside)
            return f"cannot be put into the lake ({self._folder.why(error)})"
        self._landed.add(name)
        self._pending.discard(name)
        self._why.pop(name, None)
        return None

    def _waits(self, name: str) -> bool:
        self._why[name] = f"was still being written after {self._source.patience:g} seconds"
        return not self._late

    def _failed(self, name: str, why: str) -> bool:
        self._failures[name] += 1
        self._why[name] = why
        if self._failures[name] <= self._source.retries:
            return True
        self._give_up(name, f"{why}, tried {times(self._failures[name])}")
        return False

    def _give_up(self, name: str, why: str) -> None:
        self._failures[name] = self._source.retries + 1
        self._pending.discard(name)
        self._why[name] = why


def _refuse_full_disk(error: BaseException, aside: Path) -> None:
    """What is wrong with the lake's own disk is no fault of one file.  Raises InputError."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        raise InputError(f"{aside.parent}: logs cannot be written here ({os.strerror(error.errno)}), make room") from error
