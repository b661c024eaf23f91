"""A lake on an object store: ``s3://bucket/prefix`` or any other URL that fsspec writes to.

The objects have the names of a local lake's files.  What a call needs is fetched into a working folder on this machine, on which
all other code works; what it made is uploaded.  Objects of its own:

- ``publish/<number>.json``: the journal of a publication.  Its creation, which succeeds only where no such object is, is the
  moment of publication, so of two writers that start from the same state one is told.  Then the staged objects
  (``publish/staged/…``) are copied to their names, CURRENT last, and ``publish/<number>.done`` is put.  A reader that finds a
  journal without it reads the staged objects instead; one that finds another journal after listing than before lists again.
- ``lock/<generation>.json``: the lease (``replay.lease``).
- ``hashes/day=….json``: the SHA-256 of the day's log objects, by name and ETag.
- ``staging/day=…/``: what the calls of ``replay.tasks`` leave for each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from types import TracebackType

from replay.cache import Cache, default_folder
from replay.errors import ChangedInput, InputError, NightError, NightRunning, ReplayError
from replay.journal import Journal, journal_key, newest_number, parse_journal
from replay.lake import LOG_SUFFIXES, Lake, Landed
from replay.lease import Lease
from replay.settings import load_settings
from replay.shards import Shard
from replay.store import Entry, Store, in_parallel

_DAY = r"day=[0-9]{4}-[0-9]{2}-[0-9]{2}"
# What belongs to a kind; whatever else people put beside it is none of ours.
_KEYS = {
    "verdicts": re.compile(rf"verdicts/({_DAY})/part-0\.parquet"),
    "quarantine": re.compile(rf"quarantine/({_DAY})/part-0\.parquet"),
    "runs": re.compile(rf"runs/({_DAY})/run\.json"),
    "reports": re.compile(rf"reports/({_DAY})/(report\.(json|md)|failure\.json)"),
    "truth": re.compile(rf"truth/({_DAY})/truth\.ndjson"),
    "warehouse": re.compile(r"warehouse/([^/]+\.duckdb|CURRENT)"),
}
_CURRENT = "warehouse/CURRENT"
# How often a reader looks again when a publication came in between, or a writer when work is written under its eyes.
_LOOKS = 8


@dataclass
class _State:
    """What this lake knows of its store: ``published`` as it was when ``refresh`` looked, ``here`` what of it is on this machine,
    ``journal`` the state that a writer starts from."""

    published: dict[str, dict[str, Entry]] = field(default_factory=dict)
    here: dict[str, Entry] = field(default_factory=dict)
    logs: dict[Path, Entry] = field(default_factory=dict)
    fetched_logs: dict[Path, Entry] = field(default_factory=dict)
    journal: Journal = field(default_factory=Journal)
    lease: Lease | None = None
    commits: int = 0


def open_remote(url: str) -> RemoteLake:
    """The lake at ``url`` with the settings of the environment.  Raises InputError, NightError and UsageError."""
    settings = load_settings()
    store = Store(url, settings.storage_options)
    cache = Cache(settings.cache or default_folder(), settings.cache_bytes)
    return RemoteLake(cache.open_folder(), store, cache, settings.lease_seconds)


@dataclass(frozen=True, eq=False)
class RemoteLake(Lake):
    """A lake on a store; ``root`` is its working folder on this machine, which is gone when the lake is closed."""

    store: Store
    cache: Cache
    lease_seconds: float
    _state: _State = field(default_factory=_State, repr=False)

    @property
    def name(self) -> str:
        """The lake's URL."""
        return self.store.url

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the lake.  Paths of the working folder in an error become the URLs that people know."""
        self.cache.close_folder(self.root)
        if isinstance(error, ReplayError):
            error.args = tuple(a.replace(str(self.root), self.name) if isinstance(a, str) else a for a in error.args)
        elif isinstance(error, OSError) and error.filename is not None:
            error.filename = str(error.filename).replace(str(self.root), self.name)

    def exists(self) -> bool:
        """Whether there is anything below the URL.  Raises InputError for a bucket that is not there."""
        return self.store.exists()

    def _key(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    # --- Landed logs ------------------------------------------------------------------------------------------------------

    def log_files(self, day: date) -> tuple[list[Path], list[Path]]:
        """As of a local lake, from the store's listing; ``fetch_logs`` brings the files themselves."""
        folder = self.day("logs", day)
        start = self._key(folder)
        entries = {}
        for key, entry in self.store.list(start).items():
            name, _, rest = key.removeprefix(f"{start}/").partition("/")
            if name and not name.startswith("."):
                # An object further down makes a folder, as it would be on a disk.
                entries[name] = None if rest else entry
        read = [name for name in sorted(entries) if name.endswith(LOG_SUFFIXES) and entries[name] is not None]
        for name in read:
            found = entries[name]
            if found is not None:
                self._state.logs[folder / name] = found
        return [folder / name for name in read], [folder / name for name in sorted(entries) if name not in read]

    def landed(self, day: date) -> dict[str, Landed]:
        """The day's log objects by name, with size and ETag."""
        found = ((path.name, self._state.logs[path]) for path in self.log_files(day)[0])
        return {name: Landed(entry.size, entry.etag) for name, entry in found}

    def fetch_logs(self, files: Iterable[Path], versions: Mapping[str, str] | None = None) -> None:
        """Fetch log objects as they were listed, or of these versions.  Raises InputError for one that is another by now."""
        calls = []
        for path in files:
            if path not in self._state.logs:
                self.log_files(self.day_of(path))
            entry = self._state.logs.get(path)
            if entry is None or (versions is not None and versions[path.name] != entry.etag):
                raise self._not_as_pulled(path, entry)
            calls.append(partial(self.cache.fetch, self.store, entry, path))
            self._state.fetched_logs[path] = entry
        try:
            in_parallel(calls)
        except ChangedInput as error:
            raise InputError(f"{error} from pull") from error

    def refuse_changed_logs(self, day: date) -> None:
        """Raises InputError when a fetched log object of the day is another one by now."""
        now, folder = self.landed(day), self.day("logs", day)
        for path, entry in self._state.fetched_logs.items():
            if path.parent == folder and now.get(path.name) != Landed(entry.size, entry.etag):
                raise InputError(
                    f"{self.store.name(self._key(path))}: was written again while the night read it, run the night again when it"
                    " has landed"
                )

    def note_hashes(self, day: date, hashes: Mapping[str, str]) -> None:
        """Leave the SHA-256 of fetched log objects beside their ETags, so that no later night reads them only to hash them."""
        folder = self.day("logs", day)
        held = {name: [self._state.fetched_logs[folder / name].etag, sha256] for name, sha256 in hashes.items()}
        self.store.write(_hashes_key(day), json.dumps(held).encode())

    def known_hashes(self, day: date) -> dict[str, str]:
        """The SHA-256 of the day's log objects, by name, as far as they are the ones that were hashed."""
        text = self.store.read(_hashes_key(day))
        if text is None:
            return {}
        try:
            held = {str(name): (str(etag), str(sha256)) for name, (etag, sha256) in json.loads(text).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(f"{self.store.name(_hashes_key(day))}: cannot be read, delete this object") from error
        return {name: held[name][1] for name, now in self.landed(day).items() if held.get(name, ("",))[0] == now.version}

    def fetch_shard(self, shard: Shard, version: str) -> Shard:
        """The shard's bytes on this machine: of a plain NDJSON object its own stretch only, of others all.

        Raises InputError when the object is not the one of ``version`` any more.
        """
        path = self.root / shard.file
        key = self._key(path)
        entry = self.store.head(key)
        if entry is None or entry.etag != version:
            raise self._not_as_pulled(path, entry)
        plain = path.suffix not in (".parquet", ".gz", ".zst") and shard.end is not None
        try:
            if plain and shard.end is not None and not self.cache.has(self.store, entry):
                path = self.root / "ranges" / f"{shard.number:05d}-{path.name}"
                path.parent.mkdir(exist_ok=True)
                self.store.get_range(entry, shard.start, shard.end, path)
            else:
                self.cache.fetch(self.store, entry, path)
        except ChangedInput as error:
            raise InputError(f"{error} from pull") from error
        return replace(shard, file=str(path))

    def _not_as_pulled(self, path: Path, now: Entry | None) -> InputError:
        what = "is gone" if now is None else "was written again"
        return InputError(f"{self.store.name(self._key(path))}: {what} since it was pulled, start again from pull")

    # --- What is published ------------------------------------------------------------------------------------------------

    def refresh(self, *kinds: str, days: Collection[date] | None = None) -> None:
        """Fetch what is published of ``kinds`` and not here yet; what is gone from the lake goes here too.

        Raises NightError when publications came one after the other all the while, and a store's errors.
        """
        wanted_days = None if days is None else {f"day={day.isoformat()}" for day in days}
        for _ in range(_LOOKS):
            # Which days are published is of the same moment as whatever is read of them.
            found = self._look({"verdicts", "warehouse", *kinds} - {"standings", "warehouses"})
            if found is None:
                continue
            self._state.published |= found
            self._forget_stale(found)
            try:
                self._bring(self._wanted(found, kinds, wanted_days))
                if "standings" in kinds and _CURRENT in found["warehouse"]:
                    current = f"warehouse/{(self.root / _CURRENT).read_text('utf-8').strip()}"
                    self._bring({key: found["warehouse"][key] for key in [current] if key in found["warehouse"]})
            except ChangedInput:
                # A publication came after the listing: look again.
                continue
            return
        raise NightError(f"{self.name}: is being published to without a pause, run this again")

    def _look(self, kinds: Collection[str]) -> dict[str, dict[str, Entry]] | None:
        """The published objects by kind and name, all of one moment; None when a publication came in between."""
        journal = self._newest_journal()
        found = {
            kind: {key: entry for key, entry in self.store.list(kind).items() if _KEYS[kind].fullmatch(key)}
            for kind in sorted(kinds)
        }
        if self._newest_number() != journal.number:
            return None
        if self._state.lease is not None and journal.number != self._state.journal.number:
            # What was read before is of another state than what is read now.
            raise self._overtaken()
        self._state.journal = journal
        for target, staged in () if journal.done else journal.moves:
            kind = target.partition("/")[0]
            if kind in found and _KEYS[kind].fullmatch(target):
                found[kind][target] = staged
        return found

    def _wanted(
        self, found: dict[str, dict[str, Entry]], kinds: Collection[str], days: Collection[str] | None
    ) -> dict[str, Entry]:
        wanted = {key: found["warehouse"][key] for key in (_CURRENT,) if key in found["warehouse"]}
        for kind in kinds:
            if kind == "warehouses":
                wanted |= found["warehouse"]
            elif kind != "standings":
                wanted |= {key: e for key, e in found[kind].items() if days is None or key.split("/")[1] in days}
        return wanted

    def _bring(self, wanted: dict[str, Entry]) -> None:
        """Have objects in the working folder under their names."""
        missing = {key: entry for key, entry in wanted.items() if self._state.here.get(key) != entry}
        in_parallel(partial(self.cache.fetch, self.store, entry, self.root / key) for key, entry in missing.items())
        self._state.here |= missing

    def _forget_stale(self, found: dict[str, dict[str, Entry]]) -> None:
        """Nothing of an earlier moment stays in the working folder beside what is fetched now."""
        for key in list(self._state.here):
            kind = key.partition("/")[0]
            if kind in found and found[kind].get(key) != self._state.here[key]:
                (self.root / key).unlink(missing_ok=True)
                del self._state.here[key]

    def published_days(self) -> list[date]:
        """Days that had verdicts when ``refresh`` looked last (it looks now if it never did), oldest first."""
        if "verdicts" not in self._state.published:
            self.refresh("verdicts", days=())
        days = []
        for key in self._state.published["verdicts"]:
            try:
                days.append(self.day_of(Path(key)))
            except ValueError:
                # 2026-02-31: no day, so no night's.
                continue
        return sorted(days)

    def is_published(self, path: Path) -> bool:
        """Whether there was such an object when ``refresh`` looked last."""
        key = self._key(path)
        return key in self._state.published.get(key.partition("/")[0], {})

    def older_warehouses(self) -> list[Path]:
        """The warehouse files besides the current one, in the order of the journal, the newest last."""
        current = self.current_warehouse().name
        order = {name: number for number, name in enumerate(self._state.journal.warehouses)}
        names = [key.partition("/")[2] for key in self._state.published.get("warehouse", {}) if key != _CURRENT]
        names = sorted((name for name in names if name != current), key=lambda name: (order.get(name, -1), name))
        return [self.warehouse / name for name in names]

    def remove(self, path: Path) -> None:
        """Remove a published object that nobody needs.  Raises NightRunning when another writer has the lake by now."""
        if self._state.lease is not None:
            self._state.lease.prove()
        key = self._key(path)
        self.store.delete([key])
        self._state.published.get(key.partition("/")[0], {}).pop(key, None)
        self._state.here.pop(key, None)
        path.unlink(missing_ok=True)

    def put_texts(self, texts: Mapping[Path, str]) -> None:
        """Write files, and put each as an object."""
        super().put_texts(texts)
        in_parallel(partial(self.store.write, self._key(path), text.encode("utf-8")) for path, text in texts.items())

    def put_tree(self, *kinds: str) -> None:
        """Put what a simulation wrote below ``root``."""
        paths = [path for kind in kinds for path in sorted((self.root / kind).rglob("*")) if path.is_file()]
        in_parallel(partial(self.store.put, path, self._key(path)) for path in paths)

    # --- Work in progress ---------------------------------------------------------------------------------------------------

    def work_lock(self) -> AbstractContextManager[None]:
        """Nothing: a night that runs in one call keeps its shards on its own machine."""
        return nullcontext()

    def fetch_work(self, folder: Path, *names: str) -> None:
        """Fetch what other calls shared of a staging folder, or its files of these names; what they removed goes here too."""

        def is_wanted(name: str) -> bool:
            return "/" not in name and (not names or any(fnmatchcase(name, pattern) for pattern in names))

        start = self._key(folder)
        for _ in range(_LOOKS):
            listed = {key.removeprefix(f"{start}/"): entry for key, entry in self.store.list(start).items()}
            found = {name: entry for name, entry in listed.items() if is_wanted(name)}
            if found:
                folder.mkdir(parents=True, exist_ok=True)
            for path in list(folder.iterdir()) if folder.is_dir() else ():
                if path.is_file() and is_wanted(path.name) and path.name not in found:
                    path.unlink()
            try:
                in_parallel(partial(self._fetch_aside, entry, folder / name) for name, entry in found.items())
            except ChangedInput:
                # The same call runs elsewhere as well and has just written it.
                continue
            return
        raise NightError(f"{self.store.name(start)}: is written to without a pause, run this again")

    def _fetch_aside(self, entry: Entry, path: Path) -> None:
        aside = path.with_name(f".{path.name}.fetching")
        self.store.get(entry, aside)
        aside.replace(path)

    def share_work(self, paths: Sequence[Path]) -> None:
        """Put files of a staging folder, the last one last."""
        in_parallel(partial(self.store.put, path, self._key(path)) for path in paths[:-1])
        for path in paths[-1:]:
            self.store.put(path, self._key(path))

    def work_left(self) -> bool:
        """Whether there is work in the staging folders, or a publication whose copies are not done."""
        return bool(self.store.list("staging")) or not self._newest_journal().done

    def forget_work(self, paths: Iterable[Path]) -> None:
        """Remove files or folders of the staging folder, here and on the store."""
        paths = list(paths)
        super().forget_work(paths)
        for path in paths:
            key = self._key(path)
            self.store.delete(list(self.store.list(key)) or [key])

    # --- Writing ------------------------------------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lease.  Raises NightRunning when another writer holds it, and InputError when there is no such lake."""
        if not self.exists():
            raise InputError(f"{self.name}: no such lake, name the URL that holds logs/day=.../")
        lease = Lease(self.store, self.lease_seconds)
        lease.acquire()
        self._state.lease, self._state.commits = lease, 0
        try:
            yield
        finally:
            self._state.lease = None
            lease.release()

    def recover(self) -> bool:
        """Finish the publication whose journal is the newest, if a kill left it; the lease must be held."""
        journal = self._state.journal = self._newest_journal()
        if journal.done:
            return False
        self._copy(journal)
        self._clean(journal)
        return True

    def commit(self, folder: Path, moves: Sequence[tuple[str, str]]) -> None:
        """Upload, put the journal, copy.  Raises NightRunning, and nothing is published, when another writer came in between."""
        lease = self._state.lease
        assert lease is not None, "a lake is published to while it is held"
        self._state.commits += 1
        staged = f"publish/staged/{lease.generation:012d}-{self._state.commits}"
        # A target that was staged twice has the last one's content.
        sources = dict(sorted(((target, name) for name, target in moves), key=lambda pair: pair[0] == _CURRENT))
        in_parallel(partial(self.store.put, folder / name, f"{staged}/{name}") for name in sources.values())
        there = self.store.list(staged)
        entries = {target: there.get(f"{staged}/{name}") for target, name in sources.items()}
        for target, name in sources.items():
            found = entries[target]
            if found is None or found.size != (folder / name).stat().st_size:
                raise NightError(f"{self.store.name(staged)}/{name}: was not stored whole, run the night again")
        complete = tuple((target, entry) for target, entry in entries.items() if entry is not None)
        new = tuple(target.partition("/")[2] for target in sources if target.endswith(".duckdb"))
        kept = tuple(name for name in self._state.journal.warehouses if name not in new)
        journal = Journal(self._state.journal.number + 1, False, staged, complete, (*kept, *new)[-50:])
        lease.prove()
        if not self.store.create(journal_key(journal.number), journal.as_bytes()) or self._newest_number() != journal.number:
            self.store.delete(self.store.list(staged))
            raise self._overtaken()
        self._copy(journal)
        self._keep(folder, sources, entries)
        self._clean(journal)

    def _overtaken(self) -> NightRunning:
        return NightRunning(f"{self.name}: another night published to this lake meanwhile, run this one again")

    def _copy(self, journal: Journal) -> None:
        """Bring what a journal names to its places: in any order, but the pointer last."""
        moves = [(target, entry) for target, entry in journal.moves if target != _CURRENT]
        in_parallel(partial(self.store.copy, entry.key, target) for target, entry in moves)
        for target, entry in journal.moves:
            if target == _CURRENT:
                self.store.copy(entry.key, target)
        self.store.write(f"publish/{journal.number:012d}.done", b"")
        self._state.journal = replace(journal, done=True)

    def _clean(self, journal: Journal) -> None:
        """Remove what nobody needs once a journal is done: its staged objects, those of earlier holders, older journals.

        A later holder's staged objects are left alone, should this one have been taken for dead.
        """
        lease = self._state.lease
        mine = lease.generation if lease else 0
        old = []
        for key in self.store.list("publish"):
            number = int(re.sub(r"\D.*", "", key.removeprefix("publish/").removeprefix("staged/")) or 0)
            if key.startswith("publish/staged/"):
                # Earlier holders have lost their chance to publish only when this one has published itself.
                if key.startswith(f"{journal.staged}/") or (self._state.commits and number < mine):
                    old.append(key)
            elif number < journal.number:
                old.append(key)
        self.store.delete(old)

    def _keep(self, folder: Path, sources: dict[str, str], staged: Mapping[str, Entry | None]) -> None:
        """What was published is on this machine already: under its name in the working folder, and in the cache."""
        for target, name in sources.items():
            entry, path = self.store.head(target), self.root / target
            path.parent.mkdir(parents=True, exist_ok=True)
            (folder / name).replace(path)
            if entry is None:
                raise NightError(f"{self.store.name(target)}: is gone right after it was published, run the night again")
            was = staged[target]
            if was is not None and entry.etag == was.etag:
                self.cache.adopt(self.store, entry, path)
            self._state.published.setdefault(target.partition("/")[0], {})[target] = entry
            self._state.here[target] = entry

    # --- Journals -------------------------------------------------------------------------------------------------------------

    def _newest_number(self) -> int:
        return newest_number(self.store.list("publish"))

    def _newest_journal(self) -> Journal:
        for _ in range(_LOOKS):
            keys = self.store.list("publish")
            number = newest_number(keys)
            if number == 0:
                return Journal()
            text = self.store.read(journal_key(number))
            # None: a later publication has removed it since.
            if text is not None:
                done = f"publish/{number:012d}.done" in keys
                return parse_journal(text, number, done, self.store.name(journal_key(number)))
        raise NightError(f"{self.name}: is being published to without a pause, run this again")


def _hashes_key(day: date) -> str:
    return f"hashes/day={day.isoformat()}.json"
