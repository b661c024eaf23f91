"""An object store behind an fsspec URL: the few calls that a lake needs, typed, with errors of one sentence.

Keys are relative to the URL, with slashes and without a leading one.  Nothing is remembered between calls: fsspec's own listing
caches are off, since a listing that is a minute old is the classic fault of a program that shares a store with others.
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from replay.errors import ChangedInput, InputError, NightError, ReplayError, UsageError, first_line

# Bytes that one request of a range asks for, so that no shard is held in memory as a whole.
_PIECE = 16 << 20
# Requests under way at once when many objects are read, written or copied.
_AT_ONCE = 8
_INSTALL = {"s3": "s3", "s3a": "s3"}


@dataclass(frozen=True)
class Entry:
    """One object: ``key``, ``size`` in bytes, ``etag`` (the store's word for its content; changes with it)."""

    key: str
    size: int
    etag: str


class Store:
    """The objects below ``url``, for example ``s3://bucket/lake``; ``options`` go to fsspec's file system of that protocol.

    Every method raises InputError (no such bucket, no rights, no object), NightError (the store does not answer, after several
    attempts) or UsageError (the protocol's package is not installed), each naming the URL and what to do.
    """

    def __init__(self, url: str, options: dict[str, Any] | None = None) -> None:
        self.url = url.rstrip("/")
        self._fs = _file_system(self.url, options or {})
        self._base: str = self._fs._strip_protocol(self.url).rstrip("/")

    def name(self, key: str) -> str:
        """The URL of an object."""
        return f"{self.url}/{key}"

    def exists(self) -> bool:
        """Whether anything is below the URL.  Raises InputError for a bucket that is not there."""
        try:
            self._fs.info(self._base)
        except FileNotFoundError as error:
            if _code(error) == "NoSuchBucket":
                raise self._explained(error, "") from error
            return False
        except Exception as error:
            raise self._explained(error, "") from error
        return True

    def list(self, prefix: str = "") -> dict[str, Entry]:
        """All objects below ``prefix/`` by key, in the order of their keys; objects that stand for a folder are left out.

        Raises InputError for a bucket that is not there.
        """
        path = f"{self._base}/{prefix}".rstrip("/")
        try:
            found = self._fs.find(path, detail=True)
        except Exception as error:
            raise self._explained(error, prefix) from error
        start = len(self._base) + 1
        entries = [
            Entry(name[start:], int(info["size"]), _etag(info))
            for name, info in found.items()
            if info["type"] == "file" and not name.endswith("/")
        ]
        return {entry.key: entry for entry in sorted(entries, key=lambda e: e.key)}

    def head(self, key: str) -> Entry | None:
        """The object as it is now; None when it is not there."""
        info = self._info(key)
        return None if info is None else Entry(key, int(info["size"]), _etag(info))

    def modified(self, key: str) -> datetime | None:
        """When the object was last written, by the store's clock; None when it is not there."""
        info = self._info(key)
        if info is None:
            return None
        found = _written_at(info)
        if found is None:
            raise UsageError(
                f"{self.name(key)}: this kind of store does not say when an object was written, use another for a lake"
            )
        return found

    def _info(self, key: str) -> dict[str, Any] | None:
        try:
            info: dict[str, Any] = self._fs.info(f"{self._base}/{key}")
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._explained(error, key) from error
        return info if info["type"] == "file" else None

    def read(self, key: str) -> bytes | None:
        """A small object's bytes; None when it is not there."""
        try:
            # s3fs would ask for the size first, to read large objects in pieces.
            how = {"max_concurrency": 1} if self.url.startswith("s3") else {}
            data: bytes = self._fs.cat_file(f"{self._base}/{key}", **how)
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._explained(error, key) from error
        return data

    def get(self, entry: Entry, path: Path) -> None:
        """Write the object to the file ``path``.  Raises ChangedInput when it is not the one of ``entry`` any more."""
        try:
            self._fs.get_file(f"{self._base}/{entry.key}", str(path))
        except FileNotFoundError as error:
            raise ChangedInput(self._changed(entry)) from error
        except Exception as error:
            raise self._explained(error, entry.key) from error
        if path.stat().st_size != entry.size:
            raise ChangedInput(self._changed(entry))
        if not _is_md5_of(entry.etag, path):
            self.check(entry)

    def get_range(self, entry: Entry, start: int, end: int, path: Path) -> None:
        """Write bytes ``start`` to ``end`` of the object to their own place in the file ``path``; before them is a hole.

        Raises ChangedInput when the object is not the one of ``entry`` any more.
        """
        with path.open("wb") as handle:
            for first in range(start, end, _PIECE):
                wanted = min(_PIECE, end - first)
                try:
                    data = self._fs.cat_file(f"{self._base}/{entry.key}", start=first, end=first + wanted)
                except FileNotFoundError as error:
                    raise ChangedInput(self._changed(entry)) from error
                except Exception as error:
                    raise self._explained(error, entry.key) from error
                if len(data) != wanted:
                    raise ChangedInput(self._changed(entry))
                handle.seek(first)
                handle.write(data)
        self.check(entry)

    def check(self, entry: Entry) -> None:
        """Raises ChangedInput unless the object is still the one of ``entry``: what was read before this call is then whole."""
        if self.head(entry.key) != entry:
            raise ChangedInput(self._changed(entry))

    def put(self, path: Path, key: str) -> None:
        """Make the file ``path`` the object ``key``, in one step for a reader."""
        try:
            self._fs.put_file(str(path), f"{self._base}/{key}")
        except Exception as error:
            raise self._explained(error, key) from error

    def write(self, key: str, data: bytes) -> None:
        """Make ``data`` the object ``key``."""
        try:
            self._fs.pipe_file(f"{self._base}/{key}", data)
        except Exception as error:
            raise self._explained(error, key) from error

    def create(self, key: str, data: bytes) -> bool:
        """Make ``data`` the object ``key`` if there is none; whether this call made it.

        ``data`` must be unlike that of any other caller: an attempt whose answer got lost is told from somebody else's by it.
        """
        try:
            self._fs.pipe_file(f"{self._base}/{key}", data, mode="create")
        except FileExistsError:
            return self.read(key) == data
        except Exception as error:
            if _code(error) in ("ConditionalRequestConflict", "PreconditionFailed"):
                return self.read(key) == data
            raise self._explained(error, key) from error
        return True

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the store, without its bytes coming here."""
        try:
            self._fs.cp_file(f"{self._base}/{source}", f"{self._base}/{target}")
        except Exception as error:
            raise self._explained(error, source) from error

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; one that is gone already is fine."""

        def remove(key: str) -> None:
            try:
                self._fs.rm_file(f"{self._base}/{key}")
            except FileNotFoundError:
                return
            except Exception as error:
                raise self._explained(error, key) from error

        in_parallel(partial(remove, key) for key in keys)

    def _changed(self, entry: Entry) -> str:
        return f"{self.name(entry.key)}: was changed or removed while it was read, start again"

    def _explained(self, error: Exception, key: str) -> Exception:
        """Our error for what fsspec or the library below it raised; what is no answer of a store stays as it is."""
        if isinstance(error, ReplayError | TypeError | AttributeError | NameError | AssertionError):
            return error
        where, why = self.name(key).rstrip("/"), first_line(error) or type(error).__name__
        if _code(error) == "NoSuchBucket":
            return InputError(f"{self.url}: there is no such bucket ({why}), check the URL")
        if isinstance(error, FileNotFoundError):
            return InputError(f"{where}: there is no such object ({why}), check the URL")
        if isinstance(error, PermissionError) or "Credentials" in type(error).__name__:
            return InputError(
                f"{where}: the store refuses access ({why}), check the key and secret in REPLAY_STORAGE_OPTIONS or AWS_* and"
                " what they may do"
            )
        if isinstance(error, OSError) and error.errno in (errno.EINVAL, errno.ENAMETOOLONG):
            return InputError(f"{where}: the store does not take this request ({why}), check the URL and REPLAY_STORAGE_OPTIONS")
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return InputError(f"{where}: there is no room on this machine for what is fetched ({why}), name another REPLAY_CACHE")
        return NightError(
            f"{where}: the store cannot be reached or failed ({why}), check endpoint_url in REPLAY_STORAGE_OPTIONS and run again"
        )


def in_parallel(calls: Iterable[Any]) -> None:
    """Run calls without arguments, several at once; raises what the first one that failed raised, after all have ended."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for done in [pool.submit(call) for call in calls]:
            done.result()


def _file_system(url: str, options: dict[str, Any]) -> Any:
    """A file system that remembers no listings; one for all stores of a process with these options."""
    protocol = url.partition("://")[0]
    extra = _INSTALL.get(protocol)
    try:
        import fsspec

        kind = fsspec.get_filesystem_class(protocol)
        if extra == "s3":
            # A server that does not answer is told within seconds; s3fs itself tries again beyond that.
            config = {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 3, "mode": "standard"}}
            options = options | {"config_kwargs": config | options.get("config_kwargs", {})}
        made = kind(**options, use_listings_cache=False)
        if extra == "s3":
            # Not over the network: options that nobody knows are told now.
            made.connect()
        return made
    except ImportError as error:
        how = f"pip install nightly-replay[{extra}]" if extra else f"install fsspec's package for {protocol}://"
        raise UsageError(f"{url}: a package for this kind of URL is missing ({first_line(error)}), {how}") from error
    except Exception as error:
        # Each kind of file system has its own words for options that it does not take.
        raise UsageError(
            f"{url}: cannot be opened ({first_line(error)}), check the URL and the setting REPLAY_STORAGE_OPTIONS"
        ) from error


def _is_md5_of(etag: str, path: Path) -> bool:
    """Whether the ETag is the file's MD5, as it is of an object that was put in one piece: then it is surely this file's."""
    if re.fullmatch(r"[0-9a-f]{32}", etag) is None:
        return False
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.md5(usedforsecurity=False)).hexdigest() == etag


def _etag(info: dict[str, Any]) -> str:
    """What changes when the object's content does, in whatever words the store has for it."""
    for name in ("ETag", "etag", "md5Hash", "content_md5", "generation", "VersionId"):
        if info.get(name):
            return str(info[name]).strip('"')
    when = _written_at(info)
    return f"{info['size']}-{when.isoformat() if when else ''}"


def _written_at(info: dict[str, Any]) -> datetime | None:
    for name in ("LastModified", "last_modified", "updated", "mtime", "modified", "created"):
        value = info.get(name)
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, int | float):
            value = datetime.fromtimestamp(value, UTC)
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
    return None


def _code(error: Exception) -> str:
    """The store's own code for an error, where it gave one."""
    for found in (error, error.__cause__):
        response = getattr(found, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
    return ""
