"""Where decisions are kept: ``<lake>/reviews.sqlite``, or the database that the setting ``reviews`` names.

Decisions are appended and never changed; the database refuses anything else.  All writers of a database take turns, so ids grow
in the order in which decisions become visible, and a unique constraint on (subject, decision before) holds where somebody did
not wait for their turn.  SQLAlchemy is imported when there is a database to open.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from replay.errors import InputError, UsageError, first_line
from replay.lake import Lake
from replay.reviews.aliases import Aliases
from replay.reviews.drafts import LONGEST_REASON, LONGEST_REVIEWER, Draft, checked_words, merged, refuse_outdated, refuse_to_undo
from replay.reviews.model import ACTIONS, Decision
from replay.reviews.releases import Group, Release, append_release, append_undo, read_releases

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import URL

FILE = "reviews.sqlite"
# SQL takes a limited number of values in one statement.
_MANY = 500
_TRIES = 5
_T = TypeVar("_T")


class Reviews(NamedTuple):
    """All that people decided and released, each oldest first, read at one moment."""

    decisions: list[Decision]
    releases: list[Release]


def open_reviews(lake: Lake, url: str | None = None) -> ReviewStore:
    """The decisions about a lake's games; use it in ``with``.

    ``url`` (SQLAlchemy's) or the setting ``reviews`` names a database; without either it is a file in a local lake.  A lake on an
    object store without the setting has no decisions, and none can be taken.  Raises UsageError for a URL that names no database
    of SQLite or PostgreSQL.
    """
    if url is None:
        from replay.settings import load_settings

        url = load_settings().reviews
    if url is not None:
        return ReviewStore(lake, _parse(url))
    if "://" in lake.name:
        return ReviewStore(lake, None)
    from sqlalchemy.engine import URL

    return ReviewStore(lake, URL.create("sqlite", database=str(lake.root / FILE)))


def may_have_reviews(lake: Lake) -> bool:
    """Whether people may have decided anything about a lake's games: said without opening a database, which takes its time."""
    named = any(name.upper() == "REPLAY_REVIEWS" and value for name, value in os.environ.items())
    return named or ("://" not in lake.name and (lake.root / FILE).exists())


def reviews_of(lake: Lake) -> Reviews:
    """All that people decided and released about a lake's games.

    Raises InputError when that cannot be read: standings without it would count what nobody wants to count.
    """
    with open_reviews(lake) as store:
        return store.everything()


def _parse(text: str) -> URL:
    """The URL in ``text``, whose value is never repeated: it may hold a password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    wanted = "write it like postgresql://user:password@host/database or sqlite:////folder/reviews.sqlite"
    try:
        text.encode("utf-8")
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        raise UsageError(f"setting REPLAY_REVIEWS is no URL of a database, {wanted}") from None
    if backend == "sqlite" and url.database not in (None, "", ":memory:") and not url.query:
        return url
    if backend == "postgresql" and url.database:
        # Without a driver's name SQLAlchemy takes another one than the package's extra brings.
        return url.set(drivername="postgresql+psycopg2") if url.drivername == "postgresql" else url
    raise UsageError(f"setting REPLAY_REVIEWS names no file of SQLite and no database of PostgreSQL, {wanted}")


class ReviewStore:
    """The decisions and releases in one database.  Each call is one transaction, and nothing is held between calls."""

    def __init__(self, lake: Lake, url: URL | None) -> None:
        self._lake = lake
        self._url = url
        self._engines: dict[bool, Engine] = {}

    @property
    def name(self) -> str:
        """How people name the database: its file, or its place without user and password."""
        if self._url is None:
            return self._lake.name
        if self._url.get_backend_name() == "sqlite":
            return str(self._url.database)
        port = f":{self._url.port}" if self._url.port else ""
        return f"postgresql://{self._url.host or ''}{port}/{self._url.database}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close what is open."""
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()

    # --- Reading ----------------------------------------------------------------------------------------------------------

    def decisions(
        self, subjects: Collection[str] | None = None, game_id: str | None = None, limit: int | None = None,
        newest_first: bool = False, *, offset: int = 0,
    ) -> list[Decision]:  # fmt: skip
        """Decisions by id: all, those on some subjects, or on games of one id.

        A decision bears the name that its subject was asked for under, else today's.  All of them are what standings are made
        from, so then a file is looked at whole for damage first.  Raises InputError.
        """
        from sqlalchemy import select

        from replay.reviews.tables import DECISIONS

        if subjects is not None and not subjects:
            return []
        with self._reading() as con:
            if con is None:
                return []
            if subjects is None and game_id is None and limit is None:
                self._refuse_damage(con)
            aliases = self._aliases(con, subjects)
            query = select(DECISIONS)
            if game_id is not None:
                query = query.where(DECISIONS.c.game_id == game_id)
            query = query.order_by(DECISIONS.c.id.desc() if newest_first else DECISIONS.c.id)
            if subjects is None:
                rows = con.execute(query.limit(limit).offset(offset or None)).all()
                return [self._decision(row, aliases) for row in rows]
            return self._of_subjects(con, query, subjects, aliases, newest_first)[offset:][:limit]

    def everything(self) -> Reviews:
        """All decisions and all releases, as they stand at one moment.  Raises InputError."""
        from sqlalchemy import select

        from replay.reviews.tables import DECISIONS

        with self._reading() as con:
            if con is None:
                return Reviews([], [])
            self._refuse_damage(con)
            aliases = self._aliases(con, None)
            rows = con.execute(select(DECISIONS).order_by(DECISIONS.c.id))
            return Reviews([self._decision(row, aliases) for row in rows], read_releases(con))

    def _refuse_damage(self, con: Connection) -> None:
        from replay.reviews.tables import damage_of

        damage = damage_of(con)
        if damage is not None:
            raise InputError(f"{self.name}: the decisions are damaged ({damage}), restore the file from a copy")

    def _of_subjects(
        self, con: Connection, query: Any, subjects: Collection[str], aliases: Aliases, newest_first: bool
    ) -> list[Decision]:
        from replay.reviews.tables import DECISIONS

        # Whoever asks under a name gets the decisions under it; under today's, when asked under several.
        asked = {aliases.today(subject): subject for subject in subjects}
        asked |= {today: today for today in asked if today in subjects}
        names = sorted({name for subject in subjects for name in aliases.names(subject)})
        found = []
        for part in _parts(names):
            for row in con.execute(query.where(DECISIONS.c.subject.in_(part))):
                found.append(self._decision(row, aliases, asked))
        return sorted(found, key=lambda decision: decision.id, reverse=newest_first)

    def last_id(self) -> int:
        """The id of the newest decision, 0 when there is none.  Raises InputError."""
        with self._reading() as con:
            return 0 if con is None else self._last_id(con)

    def count(self) -> int:
        """How many decisions there are.  Raises InputError."""
        from sqlalchemy import func, select

        from replay.reviews.tables import DECISIONS

        with self._reading() as con:
            return 0 if con is None else con.execute(select(func.count()).select_from(DECISIONS)).scalar_one()

    def decision(self, number: int) -> Decision:
        """One decision by its id.  Raises UsageError when there is none, and InputError."""
        from sqlalchemy import select

        from replay.reviews.tables import DECISIONS

        with self._reading() as con:
            row = None
            # Beyond 64 bits no database looks a number up.
            if con is not None and 0 < number < 2**63:
                row = con.execute(select(DECISIONS).where(DECISIONS.c.id == number)).one_or_none()
            if con is None or row is None:
                raise UsageError(f"{self.name}: there is no decision {number}, list them with `replay review`")
            return self._decision(row, self._aliases(con, [row.subject]))

    # --- Deciding ---------------------------------------------------------------------------------------------------------

    def decide(
        self, items: Sequence[Draft], *, reviewer: str, reason: str, at: datetime | None = None
    ) -> list[Decision]:
        """Record decisions, all or none; one a subject, in the order of ``items``.

        ``at`` is now unless given.  Raises DecidedMeanwhile when somebody decided about one of the games after what ``seen``
        says, UsageError for words that are missing or too long and for what cannot be undone, and InputError.
        """
        reviewer, reason, when = _checked(reviewer, reason, at)
        if not items:
            return []
        for draft in items:
            if draft.action not in ACTIONS or (draft.action == "undo") != (draft.undoes is not None):
                raise UsageError(f"action {draft.action!a} with undoes {draft.undoes!r} is no decision, take one of {ACTIONS}")
        return self._again(lambda con: self._append(con, items, reviewer, reason, when))

    def _append(self, con: Connection, items: Sequence[Draft], reviewer: str, reason: str, when: datetime) -> list[Decision]:
        from sqlalchemy import insert, select

        from replay.reviews.tables import DECISIONS, row_of

        aliases = self._aliases(con, [subject for draft in items for subject in (draft.subject, *draft.others)])
        drafts = merged(items, aliases)
        others = {subject: {aliases.today(other) for other in draft.others} for subject, draft in drafts.items()}
        before: dict[str, list[Decision]] = {subject: [] for subject in {*drafts}.union(*others.values())}
        for decision in self._of_subjects(con, select(DECISIONS), before, aliases, False):
            before[decision.subject].append(decision)
        made: list[Decision] = []
        number = self._last_id(con)
        # Ids are given once, so the first of them names what was decided together.
        batch = str(number + 1) if len(drafts) > 1 else None
        for subject, draft in drafts.items():
            refuse_outdated(draft, [decision for one in {subject, *others[subject]} for decision in before[one]])
            refuse_to_undo(draft, before[subject])
            number += 1
            row = draft.row
            made.append(Decision(
                id=number, subject=subject, action=draft.action, reason=reason, reviewer=reviewer, at=when, facts=draft.facts,
                game=str(row["game"]), game_id=str(row["game_id"]), challenge=str(row["challenge"]), day=row["day"],
                previous=before[subject][-1].id if before[subject] else 0, undoes=draft.undoes, batch=batch,
            ))  # fmt: skip
        con.execute(insert(DECISIONS), [row_of(decision) for decision in made])
        return made

    def rename(self, pairs: Iterable[tuple[str, str]]) -> int:
        """Have decisions on an old subject found under the new one from now on; how many pairs said something new.

        Nothing is recorded where nobody has decided anything yet.  Raises InputError.
        """
        from sqlalchemy import func, insert, select

        from replay.reviews.tables import ALIASES

        wanted = list(pairs)
        with self._reading() as con:
            if con is None or not wanted:
                return 0

        def append(con: Connection) -> int:
            aliases = self._aliases(con, None)
            new = [pair for pair in wanted if aliases.rename(*pair)]
            number, when = con.execute(select(func.coalesce(func.max(ALIASES.c.id), 0))).scalar_one(), _now()
            rows = [
                {"id": number + place, "old_subject": old, "new_subject": name, "at": when}
                for place, (old, name) in enumerate(new, 1)
            ]
            if rows:
                con.execute(insert(ALIASES), rows)
            return len(rows)

        return self._again(append)

    # --- Releases of withheld flags ---------------------------------------------------------------------------------------

    def releases(self) -> list[Release]:
        """All releases and undos by id.  Raises InputError."""
        with self._reading() as con:
            return [] if con is None else read_releases(con)

    def release(
        self, group: Group, *, reviewer: str, reason: str, at: datetime | None = None, about: str | None = None
    ) -> Release:
        """Record that the withheld flags of a group stand as flags, as long as what is held back of it has the digest ``about``
        (None: whatever it is).

        ``at`` is now unless given.  Raises UsageError when the same is released already and for words that are missing or too
        long, and InputError.
        """
        reviewer, reason, when = _checked(reviewer, reason, at)
        return self._again(lambda con: append_release(con, group, reviewer, reason, when, about))

    def undo_release(self, number: int, *, reviewer: str, reason: str, at: datetime | None = None) -> Release:
        """Take a release, or an undo of one, back.  Raises UsageError for none and for one that was undone, and InputError."""
        reviewer, reason, when = _checked(reviewer, reason, at)
        return self._again(lambda con: append_undo(con, number, reviewer, reason, when))

    # --- The database -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Connection | None]:
        """A transaction that reads; None where no database or none of its tables is there yet."""
        if self._url is None or (self._is_file() and not Path(str(self._url.database)).exists()):
            yield None
            return
        from replay.reviews.tables import has_tables

        with self._in_one_sentence("read"), self._engine(writing=False).connect() as con, con.begin():
            yield con if has_tables(con) else None

    def _again(self, write: Callable[[Connection], _T]) -> _T:
        """Carry out ``write`` in one transaction while nobody else writes; again when somebody wrote who did not wait."""
        from sqlalchemy.exc import IntegrityError

        from replay.reviews.tables import make_tables

        self._refuse_without_place()
        for left in reversed(range(_TRIES)):
            try:
                with self._in_one_sentence("written"), self._engine(writing=True).begin() as con:
                    make_tables(con)
                    return write(con)
            except IntegrityError as error:
                if not left:
                    raise InputError(f"{self.name}: the decision is refused ({first_line(error)}), try again") from error
        raise AssertionError("not to be reached")

    def _refuse_without_place(self) -> None:
        if self._url is None:
            raise UsageError(
                f"{self._lake.name}: a lake on an object store keeps no decisions itself, set REPLAY_REVIEWS to the URL of a"
                " database (postgresql://user:password@host/database)"
            )
        if self._is_file() and not Path(str(self._url.database)).parent.is_dir():
            raise InputError(f"{self.name}: there is no such folder, check the name of the lake")

    def _is_file(self) -> bool:
        return self._url is not None and self._url.get_backend_name() == "sqlite"

    def _engine(self, *, writing: bool) -> Engine:
        from replay.reviews.tables import open_engine

        if self._url is None:
            raise AssertionError("not to be reached")
        if writing not in self._engines:
            self._engines[writing] = open_engine(self._url, writing=writing)
        return self._engines[writing]

    @contextmanager
    def _in_one_sentence(self, done: str) -> Iterator[None]:
        """What a database says, as an InputError; never with its password."""
        from sqlalchemy.exc import IntegrityError, SQLAlchemyError

        try:
            yield
        except IntegrityError:
            raise
        except ImportError as error:
            raise UsageError(
                f"{self.name}: the driver for this database is not here ({first_line(error)}), install nightly-replay[postgres]"
            ) from error
        except (SQLAlchemyError, ValueError) as error:
            cause = getattr(error, "orig", None) or error
            said = first_line(cause).strip().rstrip(".")
            password = self._url.password if self._url is not None else None
            if password:
                said = said.replace(str(password), "***")
            if not self._is_file():
                advice = "check that the database runs, and what REPLAY_REVIEWS says"
            elif isinstance(cause, sqlite3.OperationalError):
                advice = "check the file and its rights, and whether somebody holds it"
            else:
                advice = "restore the file from a copy"
            raise InputError(f"{self.name}: the decisions cannot be {done} ({said}), {advice}") from error

    def _aliases(self, con: Connection, subjects: Collection[str] | None) -> Aliases:
        """The names that subjects had and have: of all, or of these, each with all of its names."""
        from sqlalchemy import or_, select

        from replay.reviews.tables import ALIASES

        query = select(ALIASES.c.id, ALIASES.c.old_subject, ALIASES.c.new_subject).order_by(ALIASES.c.id)
        if subjects is None:
            return Aliases((old, new) for _, old, new in con.execute(query))
        known: set[str] = set()
        found: dict[int, tuple[str, str]] = {}
        todo = set(subjects)
        while todo:
            known |= todo
            for part in _parts(sorted(todo)):
                one = or_(ALIASES.c.old_subject.in_(part), ALIASES.c.new_subject.in_(part))
                found |= {number: (old, new) for number, old, new in con.execute(query.where(one))}
            todo = {name for pair in found.values() for name in pair} - known
        return Aliases(found[number] for number in sorted(found))

    @staticmethod
    def _last_id(con: Connection) -> int:
        from sqlalchemy import func, select

        from replay.reviews.tables import DECISIONS

        return int(con.execute(select(func.coalesce(func.max(DECISIONS.c.id), 0))).scalar_one())

    @staticmethod
    def _decision(row: Any, aliases: Aliases, asked: Mapping[str, str] | None = None) -> Decision:
        from replay.reviews.tables import decision_of

        today = aliases.today(row.subject)
        return decision_of(row, (asked or {}).get(today, today))


def _now() -> datetime:
    """When somebody decides: the one thing about a decision that the clock says."""
    return datetime.now(UTC)


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _MANY):
        yield values[start : start + _MANY]


def _checked(reviewer: str, reason: str, at: datetime | None) -> tuple[str, str, datetime]:
    """Who decides, why, and when (now unless it is given) in UTC.  Raises UsageError for words that cannot be kept."""
    reviewer = checked_words("reviewer", reviewer, LONGEST_REVIEWER)
    return reviewer, checked_words("reason", reason, LONGEST_REASON), (at or _now()).astimezone(UTC)
