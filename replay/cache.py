"""What was fetched from an object store, kept on this machine: each object once, by its URL and version, shared by all processes.

``<folder>/objects`` holds the objects, ``<folder>/work`` one working folder for each lake that a process has open, into which
objects are linked: what is removed here meanwhile stays whole for whoever uses it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from pathlib import Path
from typing import IO

from replay.errors import UsageError
from replay.store import Entry, Store


def default_folder() -> Path:
    """The user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nightly-replay"


class Cache:
    """The cache in ``folder``, trimmed to about ``limit`` bytes when a lake is closed.

    Raises UsageError when the folder cannot be written.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._objects = folder.absolute() / "objects"
        self._work = folder.absolute() / "work"
        self._limit = limit
        self._held: dict[Path, IO[bytes]] = {}
        try:
            for part in (self._objects, self._work):
                part.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UsageError(
                f"{folder}: cannot be written ({error.strerror}), name another folder for what is fetched with REPLAY_CACHE"
            ) from error

    def fetch(self, store: Store, entry: Entry, path: Path) -> None:
        """Make ``path`` the object of ``entry``, fetched unless it is here already.  Raises ChangedInput and a store's errors."""
        kept = self._kept(store, entry)
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{os.urandom(6).hex()}.fetching")
        if not _link(kept, aside):
            store.get(entry, aside)
            os.chmod(aside, 0o444)
            _link(aside, kept)
        os.replace(aside, path)

    def has(self, store: Store, entry: Entry) -> bool:
        """Whether the object is here."""
        return self._kept(store, entry).exists()

    def adopt(self, store: Store, entry: Entry, path: Path) -> None:
        """Keep the file ``path`` as the object of ``entry``, which was made from it."""
        os.chmod(path, 0o444)
        _link(path, self._kept(store, entry))

    def open_folder(self) -> Path:
        """A new working folder.  Those of processes that were killed are removed first."""
        for lock in sorted(self._work.glob("*.lock")):
            self._sweep(lock)
        while True:
            folder = self._work / os.urandom(8).hex()
            lock = folder.with_suffix(".lock")
            handle = lock.open("xb")
            fcntl.flock(handle, fcntl.LOCK_EX)
            # Another process may have taken it for a dead one's before it was locked.
            if lock.exists() and os.fstat(handle.fileno()).st_ino == lock.stat().st_ino:
                folder.mkdir(mode=0o700)
                self._held[folder] = handle
                return folder
            handle.close()

    def close_folder(self, folder: Path) -> None:
        """Remove a working folder, and the objects that were not used for the longest time beyond the limit."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".lock").unlink(missing_ok=True)
        handle = self._held.pop(folder, None)
        if handle is not None:
            handle.close()
        self._trim()

    def _sweep(self, lock: Path) -> None:
        try:
            handle = lock.open("rb")
        except FileNotFoundError:
            return
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)

    def _trim(self) -> None:
        found = []
        for path in self._objects.iterdir():
            try:
                stat = path.stat()
            except FileNotFoundError:
                # Another process trims as well.
                continue
            found.append((stat.st_mtime_ns, stat.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._limit:
                break
            path.unlink(missing_ok=True)
            total -= size

    def _kept(self, store: Store, entry: Entry) -> Path:
        what = "\0".join((store.url, entry.key, entry.etag, str(entry.size)))
        return self._objects / hashlib.sha256(what.encode()).hexdigest()


def _link(source: Path, target: Path) -> bool:
    """Another name for a file; whether it has it now.  A use is noted by its time, by which the cache is trimmed."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except FileExistsError:
        return True
    os.utime(target)
    return True
