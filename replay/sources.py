"""Where logs come from: a folder, or any URL that fsspec reads, with a place for the day in it."""

from __future__ import annotations

import errno
import html
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from time import sleep
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from replay.errors import InputError, UnreachableSource, UsageError, first_line
from replay.lake import LOG_SUFFIXES
from replay.words import visible

# What uploaders, browsers and copying tools put behind the name of a file that is not all there yet.
PARTIAL_SUFFIXES = (
    ".part", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".filepart", ".incomplete", ".inprogress", ".uploading",
    ".upload", ".writing", "._COPYING_",
)  # fmt: skip
HTTP = ("http", "https")
# Stores whose first part of a path is a bucket: in it folders come and go with their objects.
BUCKETS = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "tos")
# Marks of a version in what fsspec tells of a file, best first; the rest are times.
_TAGS = ("ETag", "etag", "generation", "Content-MD5", "md5Hash", "Digest")
_TIMES = ("Last-Modified", "LastModified", "last_modified", "updated", "mtime", "modified", "modify", "created")
# Errors of the libraries below fsspec that are no OSError.
_LIBRARY_ERRORS = (
    ("aiohttp", "ClientError"), ("botocore.exceptions", "BotoCoreError"), ("botocore.exceptions", "ClientError"),
    ("google.auth.exceptions", "GoogleAuthError"), ("azure.core.exceptions", "AzureError"),
)  # fmt: skip
_SECRET = re.compile(r"secret|passw|token|key|login|user|auth|credential|sas|signature|connection_string", re.I)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Source:
    """Where the phones' uploads land.

    ``url`` is a folder or URL with ``{day}`` in it (``{day:%Y/%m/%d}`` writes the day otherwise); its last part may be a pattern
    of names (``*.ndjson.gz``).  ``options`` are fsspec's storage options; what is secret in them is never shown.  ``settle``
    is the time between two looks in seconds, ``patience`` for how many seconds a growing file is waited for, ``retries`` how
    often a file that could not be read is tried again.
    """

    url: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    settle: float = 5.0
    patience: float = 600.0
    retries: int = 3

    def place(self, day: date) -> str:
        """The URL of one day.  Raises UsageError for a URL that names no day or cannot be read as one."""
        try:
            found, other = (self.url.format(day=when) for when in (day, date(1, 2, 3)))
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            raise UsageError(
                f"the source {self.shown()} cannot be filled in: write the day as {{day}}, no other braces"
            ) from error
        if found == other:
            raise UsageError(f"the source {self.shown()} names no day: put {{day}} where the day stands in it")
        return found

    def shown(self, text: str | None = None) -> str:
        """``text`` (the URL itself by default) as it may be shown: without a password, without what the options keep secret."""
        text = self.url if text is None else text
        text = re.sub(r"(?<=://)[^/@\s]+@", "", text)
        for secret in _secrets(self.options):
            text = text.replace(secret, "***")
        return visible(text, 500)


def _secrets(options: Any, inside: bool = False) -> Iterator[str]:
    """The texts in the options whose names say that they are secret; short ones would turn every message into stars."""
    if isinstance(options, Mapping):
        for name, value in options.items():
            yield from _secrets(value, inside or bool(_SECRET.search(str(name))))
    elif isinstance(options, list | tuple):
        for value in options:
            yield from _secrets(value, inside)
    elif inside and isinstance(options, str) and len(options) > 3:
        yield options


@dataclass(frozen=True)
class Left:
    """A file of the source that was not brought, and why."""

    file: str
    why: str


@dataclass(frozen=True)
class Brought:
    """What ``land`` did: ``files`` that it brought, how many it ``kept`` because they were there already, what it ``left``;
    ``place`` is the day's URL as it may be shown."""

    files: tuple[str, ...] = ()
    kept: int = 0
    left: tuple[Left, ...] = ()
    place: str = ""


@dataclass(frozen=True)
class Look:
    """What the store says of a file: its place, its size (None if it does not say) and what changes when it is written again.

    ``trouble`` is why nothing can be said: the file is listed and cannot be found, or the store does not answer about it.
    """

    path: str
    size: int | None
    version: str
    trouble: str = ""


class Folder:
    """The folder of one day of a source."""

    def __init__(self, source: Source, day: date) -> None:
        self._source = source
        url = source.place(day)
        self.shown = source.shown(url)
        protocol = url.partition("://")[0] if "://" in url else "file"
        if "::" in url:
            raise UsageError(f"the source {self.shown} is a chain of file systems, which may hold old listings: name one")
        self._http = protocol in HTTP
        folder, _, last = url.rpartition("/")
        # A last part that is the name of a log is a file of the day, and the folder is what holds it.
        self._single = last.endswith(LOG_SUFFIXES) and not any(sign in last for sign in "*?[")
        named = self._single or any(sign in last for sign in ("*[" if self._http else "*?["))
        self._pattern = last if named else "*"
        folder = folder if named else url.rstrip("/")
        if self._http and "?" in folder:
            raise UsageError(f"the source {self.shown} has a query (?): name a folder with an index page")
        if any(sign in folder for sign in "*["):
            raise UsageError(f"the source {self.shown} has a pattern before its last part: a pattern is for names only")
        self._fs, path = self._open(protocol, folder)
        self._path = path.rstrip("/") or "/"
        self._protocol = protocol

    def _open(self, protocol: str, folder: str) -> tuple[Any, str]:
        options: dict[str, Any] = dict(self._source.options)
        try:
            import fsspec

            if self._http:
                options = _patient_http(options)
            # Listings that are remembered would show a file as it was.
            fs, path = fsspec.url_to_fs(folder, skip_instance_cache=True, use_listings_cache=False, **options)
        except ImportError as error:
            extra = "s3" if protocol in ("s3", "s3a") else "sources"
            raise UsageError(
                f"the source {self.shown} needs a package that is not installed ({first_line(error)}):"
                f" pip install 'nightly-replay[{extra}]', or fsspec's package for {protocol}"
            ) from error
        except (ValueError, TypeError) as error:
            raise UsageError(f"the source {self.shown} cannot be opened ({self.why(error)}): check its options") from error
        except access_errors() as error:
            raise UnreachableSource(f"the source {self.shown} cannot be opened ({self.why(error)}), try again later") from error
        return fs, path

    def why(self, error: BaseException) -> str:
        """What a library says of an error, in one line, with nothing secret in it."""
        # fsspec tells every failure of a HEAD request as a missing file; the cause knows better.
        cause = error.__cause__ if isinstance(error, FileNotFoundError) and error.__cause__ else error
        told = cause.strerror if isinstance(cause, OSError) and cause.errno in errno.errorcode else None
        return self._source.shown(str(told or cause).partition("\n")[0].strip() or type(cause).__name__)

    def looks(self) -> tuple[dict[str, Look], dict[str, str]]:
        """(a look at each file that could be brought, why the others are not), by name.

        A folder that does not exist is one without files.  Raises InputError when the source cannot be reached or the place that
        should hold the folder is missing, and for two files of one name.
        """
        found: dict[str, tuple[str, Mapping[str, Any]]] = {}
        refused: dict[str, str] = {}
        for entry in self._patiently(self._list):
            path = html.unescape(entry["name"]).partition("#")[0] if self._http else str(entry["name"])
            name = self._name(path)
            hidden = name.startswith(".") and "/" not in name
            if not name or hidden or not fnmatchcase(name, self._pattern):
                continue
            problem = _refusal(name, entry)
            if problem:
                refused[_harmless(name.rstrip("/"))] = problem
                continue
            if name in found:
                raise InputError(
                    f"the source {self.shown} has two files for one name in the lake, {self._source.shown(found[name][0])}"
                    f" and {self._source.shown(path)}: rename one"
                )
            found[name] = (path, entry)
        # Most stores tell all in the listing; a web server is asked about each file.
        with ThreadPoolExecutor(8) as pool:
            looks = pool.map(lambda listed: self._listed(*listed), found.values())
            return dict(zip(found, looks, strict=True)), refused

    def _list(self) -> list[dict[str, Any]]:
        try:
            if self._single:
                found = [self._fs.info(f"{self._path}/{self._pattern}")]
            else:
                found = self._fs.ls(self._path + "/" if self._http else self._path, detail=True)
        except FileNotFoundError as error:
            _refuse_unreached(error, self.why(error))
            self._refuse_missing_place()
            return []
        if len(found) == 1 and found[0]["name"] == self._path and found[0]["type"] == "file":
            raise InputError(f"the source {self.shown} is a file of no known kind: name the folder that holds a day's files")
        return sorted(found, key=lambda entry: str(entry["name"]))

    def _refuse_missing_place(self) -> None:
        """No folder of the day is no file; no bucket, or no folder of all days, is a wrong name or a disk that is not mounted."""
        if self._protocol in BUCKETS:
            place = self._path.split("/")[0]
        elif self._protocol in ("file", "local"):
            fixed = self._source.url.removeprefix(f"{self._protocol}://").partition("{")[0]
            place = os.path.dirname(fixed) or "."
        else:
            return
        try:
            self._fs.info(place)
        except PermissionError:
            # It is there; listing it is another right than reading from it.
            return
        except FileNotFoundError as error:
            raise UnreachableSource(
                f"the source {self.shown}: {visible(place)} is not there, name or mount the right one"
            ) from error

    def _name(self, path: str) -> str:
        """The name of a file in the folder; empty for what is none of it (the folder's own mark, a link that leads elsewhere)."""
        if not self._http:
            return path[len(self._path) :].lstrip("/") if path != self._path and path.startswith(self._path) else ""
        folder, found = urlsplit(self._path), urlsplit(path)
        base = folder.path.rstrip("/") + "/"
        if found.netloc.rpartition("@")[2] != folder.netloc.rpartition("@")[2] or not found.path.startswith(base):
            return ""
        raw = found.path[len(base) :].removeprefix("./")
        # Bytes that are no UTF-8 stay visible as such, to be refused below.
        return unquote(raw, errors="surrogateescape")

    def look(self, path: str) -> Look:
        """What the store says of one file now.  Raises FileNotFoundError and the errors of ``access_errors``."""
        try:
            return _as_look(path, self._fs.info(path))
        except FileNotFoundError as error:
            _refuse_unreached(error, self.why(error))
            raise

    def _listed(self, path: str, entry: Mapping[str, Any]) -> Look:
        """A look from the listing, or by asking where the listing does not tell."""
        if entry.get("size") is not None and not entry.get("islink") and entry.get("type") != "link":
            return _as_look(path, entry)
        try:
            return self.look(path)
        except FileNotFoundError:
            return Look(path, None, "", "was listed and is gone")
        except access_errors() as error:
            return Look(path, None, "", f"cannot be read ({self.why(error)})")

    def fetch(self, look: Look, target: Path) -> None:
        """Write the file's bytes to ``target``.  Raises FileNotFoundError and the errors of ``access_errors``."""
        self._fs.get_file(look.path, str(target), callback=_bounded(look.size))

    def _patiently(self, act: Callable[[], Result]) -> Result:
        """What ``act`` returns, tried again after errors that may pass.  Raises InputError when they do not."""
        for tried in range(self._source.retries + 1):
            try:
                return act()
            except PermissionError as error:
                raise UnreachableSource(
                    f"the source {self.shown} may not be read ({self.why(error)}): look at its rights"
                ) from error
            except access_errors() as error:
                failed = error
            if tried < self._source.retries:
                sleep(min(2.0**tried, self._source.settle))
        raise UnreachableSource(
            f"the source {self.shown} cannot be read, tried {times(self._source.retries + 1)} ({self.why(failed)}):"
            " look at its URL and options, or try again later"
        ) from failed


def times(count: int) -> str:
    """A number of times in words, where it is one."""
    return "once" if count == 1 else f"{count} times"


def access_errors() -> tuple[type[BaseException], ...]:
    """What file systems raise when a store does not answer as it should; some libraries have errors that are no OSError."""
    found: list[type[BaseException]] = [OSError, EOFError]
    for module, name in _LIBRARY_ERRORS:
        # A library that nobody has loaded has raised nothing.
        if module in sys.modules and hasattr(sys.modules[module], name):
            found.append(getattr(sys.modules[module], name))
    return tuple(found)


def is_partial(name: str) -> bool:
    """Whether the name says of a log file that it is not all there yet."""
    whole = next((name[: -len(suffix)] for suffix in PARTIAL_SUFFIXES if name.endswith(suffix)), "")
    return whole.endswith(LOG_SUFFIXES)


def _refusal(name: str, entry: Mapping[str, Any]) -> str | None:
    """Why no file of that name is brought into the lake; None if it may be.  Names come from whoever uploads."""
    bare = name.rstrip("/")
    if entry.get("type") == "directory":
        return "is a folder"
    if "/" in name or "\\" in name or bare in (".", ".."):
        return "has a name that holds a path: only plain names are brought"
    if not name.isprintable():
        return "has a name that is not UTF-8 or holds control characters: rename it"
    if len(name.encode("utf-8")) > 200:
        return "has a name of more than 200 bytes: rename it"
    if not (name.endswith(LOG_SUFFIXES) or is_partial(name)):
        return "is of no known kind"
    if entry.get("type") == "other" and not entry.get("islink"):
        return "is no regular file"
    return None


def _harmless(name: str) -> str:
    return visible(name.encode("utf-8", "backslashreplace").decode("utf-8"))


def _as_look(path: str, info: Mapping[str, Any]) -> Look:
    if info.get("type") in ("directory", "other"):
        # Reading from a pipe that a link leads to would never end.
        raise OSError(errno.EINVAL, "is no regular file", path)
    tag = next((str(info[name]) for name in _TAGS if info.get(name)), None)
    when = next((info[name] for name in _TIMES if info.get(name)), "")
    # A listing and a question about one file may write the same time differently.
    version = tag.strip('"') if tag else repr(when.timestamp() if isinstance(when, datetime) else when)
    size = info.get("size")
    return Look(path, None if size is None else int(size), version)


def _refuse_unreached(error: FileNotFoundError, why: str) -> None:
    """fsspec calls every failure of a HEAD request a missing file.  Raises ConnectionError for the others."""
    cause = error.__cause__
    if cause is not None and not isinstance(cause, FileNotFoundError) and getattr(cause, "status", 0) not in (0, 404, 410):
        raise ConnectionError(why) from error
    if cause is not None and isinstance(cause, ConnectionError | TimeoutError):
        raise ConnectionError(why) from error


def _patient_http(options: dict[str, Any]) -> dict[str, Any]:
    """Options under which a server sends the bytes of a file as they are, however long that takes as long as some come."""
    import aiohttp

    client = {"timeout": aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60), **options.get("client_kwargs", {})}
    return {**options, "client_kwargs": client, "headers": {"Accept-Encoding": "identity", **options.get("headers", {})}}


def _bounded(size: int | None) -> Any:
    """A callback of fsspec that ends a download which brings more than was listed: a disk is not filled by a lie."""
    from fsspec.callbacks import Callback

    class Bounded(Callback):  # type: ignore[misc]
        def relative_update(self, inc: int = 1) -> None:
            super().relative_update(inc)
            if size is not None and self.value > size:
                raise OSError(f"more than the {size} bytes that are listed came")

    return Bounded()
