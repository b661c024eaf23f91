"""The tables of a review database, in SQLite and PostgreSQL alike, and connections to either.

Imported when there is a database to open: SQLAlchemy is slow to start.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Date,
    DateTime,
    Dialect,
    Engine,
    Index,
    MetaData,
    Row,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    inspect,
)
from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeDecorator

from replay.reviews.model import ACTIONS, Decision
from replay.reviews.releases import RELEASE_ACTIONS

SQL = Path(__file__).parents[1] / "sql" / "reviews"
# For each table, with its name and what ``_KEPT`` says of it in the places in braces.
_APPEND_ONLY = {"sqlite": "append_only_sqlite.sql", "postgresql": "append_only_postgresql.sql"}
# How long a call waits for another that is deciding, and for a database that does not answer.
WAIT_SECONDS = 30
CONNECT_SECONDS = 10
# PostgreSQL's lock of a transaction that decides ("review" in ASCII): decisions become visible in the order of their ids.
_LOCK = int.from_bytes(b"review", "big")


class UploadedText(TypeDecorator[str]):
    """A text of an upload: it may hold NUL, which PostgreSQL takes nowhere and SQLite's own tools end a text at."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else value.replace("\\", "\\\\").replace("\0", "\\0")

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or "\\" not in value:
            return value
        return "\\".join(part.replace("\\0", "\0") for part in value.split("\\\\"))


class UtcTime(TypeDecorator[datetime]):
    """A time in UTC; SQLite keeps no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC).replace(tzinfo=None) if dialect.name == "sqlite" else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = MetaData()


def _entries(name: str, actions: Sequence[str], *own: SchemaItem) -> Table:
    """A table of what people did, one row an entry that may undo an earlier one; ``own`` is what only this one has."""
    names = ", ".join(f"'{action}'" for action in actions)
    return Table(
        name, METADATA,
        Column("id", BigInteger, primary_key=True, autoincrement=False),
        Column("action", String(16), nullable=False),
        Column("undoes", BigInteger),
        Column("reason", Text, nullable=False),
        Column("reviewer", Text, nullable=False),
        Column("at", UtcTime, nullable=False),
        *own,
        CheckConstraint(f"action IN ({names})", name=f"{name}_action"),
        CheckConstraint("(action = 'undo') = (undoes IS NOT NULL)", name=f"{name}_undoes"),
    )  # fmt: skip


# Grain: one row a decision.  Of two that follow the same one on a subject, the second is refused.
DECISIONS = _entries(
    "review_decisions", ACTIONS,
    Column("subject", String(64), nullable=False),
    Column("previous", BigInteger, nullable=False),
    Column("facts", Text, nullable=False),
    Column("game", UploadedText, nullable=False),
    Column("game_id", UploadedText, nullable=False),
    Column("challenge", UploadedText, nullable=False),
    Column("day", Date, nullable=False),
    Column("batch", String(32)),
    UniqueConstraint("subject", "previous", name="review_decisions_one_after_another"),
    CheckConstraint("previous >= 0 AND previous < id", name="review_decisions_in_order"),
)  # fmt: skip

_COLUMNS = [column.name for column in DECISIONS.columns]

# Grain: one row a subject's new name, in the order of time; a player's new id gives their uploads new subjects.
ALIASES = Table(
    "review_aliases", METADATA,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("old_subject", String(64), nullable=False),
    Column("new_subject", String(64), nullable=False),
    Column("at", UtcTime, nullable=False),
    Index("review_aliases_old", "old_subject"),
    Index("review_aliases_new", "new_subject"),
)  # fmt: skip

# Grain: one row a release of a group's withheld flags, or the undo of one.  A database that was made before there were any has
# no such table until somebody releases something.
RELEASES = _entries(
    "review_releases", RELEASE_ACTIONS,
    Column("day", Date, nullable=False),
    Column("game", UploadedText, nullable=False),
    Column("platform", UploadedText, nullable=False),
    Column("app_version", UploadedText, nullable=False),
    Column("rules", UploadedText, nullable=False),
    # What was held back when it was released.  A table that was made before releases kept that lacks the column until somebody
    # releases something.
    Column("about", String(64)),
    CheckConstraint("undoes < id", name="review_releases_in_order"),
)  # fmt: skip

ABOUT = RELEASES.c.about

# What people call the rows of a table, and when a row would take the place of one that stands (for REPLACE in SQLite).
_KEPT: dict[Table, tuple[str, str]] = {
    DECISIONS: ("decisions", "id = NEW.id OR (subject = NEW.subject AND previous = NEW.previous)"),
    ALIASES: ("new names of subjects", "id = NEW.id"),
    RELEASES: ("releases", "id = NEW.id"),
}


def open_engine(url: URL, *, writing: bool) -> Engine:
    """Connections to the database; a file of SQLite comes into being for writing only.  A transaction sees one moment."""
    if url.get_backend_name() == "sqlite":
        path = str(url.database)
        engine = create_engine("sqlite://", creator=lambda: _connect_sqlite(path, writing), poolclass=NullPool)
        # Who decides holds the file from the start: nothing that is looked at changes before the decision is written.
        begin = "BEGIN IMMEDIATE" if writing else "BEGIN"
        event.listen(engine, "begin", lambda con: con.exec_driver_sql(begin))
        return engine
    arguments = {"connect_timeout": CONNECT_SECONDS, "application_name": "replay"}
    engine = create_engine(url, poolclass=NullPool, connect_args=arguments, hide_parameters=True)
    if writing:
        event.listen(engine, "begin", _hold_postgresql)
        return engine
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _connect_sqlite(path: str, writing: bool) -> sqlite3.Connection:
    # A reader opens the file for writing too: what a killed decision left behind half done is taken back by whoever comes next.
    mode = "rwc" if writing else "rw"
    con = sqlite3.connect(f"file:{quote(path)}?mode={mode}", uri=True, timeout=WAIT_SECONDS, isolation_level=None)
    if not writing:
        con.execute("PRAGMA query_only = ON")
    # A decision that was confirmed is on the disk, whatever happens to the machine.
    con.execute("PRAGMA synchronous = EXTRA")
    return con


def _hold_postgresql(con: Connection) -> None:
    con.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
    con.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def has_tables(con: Connection) -> bool:
    """Whether anybody has decided anything in this database."""
    return inspect(con).has_table(DECISIONS.name)


def make_tables(con: Connection) -> None:
    """Make the tables and the triggers that keep their rows, within the transaction, unless they are there."""
    if has_tables(con):
        return
    for table in _KEPT:
        _make(con, table)


def has_releases(con: Connection) -> bool:
    """Whether the database has the table of releases."""
    return inspect(con).has_table(RELEASES.name)


def make_releases(con: Connection) -> None:
    """Make the table of releases and its triggers, within the transaction, unless it is there."""
    if has_releases(con):
        return
    _make(con, RELEASES)


def has_about(con: Connection) -> bool:
    """Whether the table of releases, which is there, says what each was about."""
    return any(column["name"] == ABOUT.name for column in inspect(con).get_columns(RELEASES.name))


def make_about(con: Connection) -> None:
    """Give the table of releases its column ``about``, within the transaction, unless it has it; it is null in all rows then."""
    if not has_about(con):
        con.exec_driver_sql(f"ALTER TABLE {RELEASES.name} ADD COLUMN {ABOUT.name} {ABOUT.type.compile(con.dialect)}")


def _make(con: Connection, table: Table) -> None:
    """Make a table and the triggers that keep its rows."""
    table.create(con, checkfirst=False)
    text = (SQL / _APPEND_ONLY[con.dialect.name]).read_text("utf-8")
    rows, taken = _KEPT[table]
    for name, value in (("table_name", table.name), ("rows_name", rows), ("taken", taken)):
        text = text.replace(f"{{{name}}}", value)
    for statement in _statements(text) if con.dialect.name == "sqlite" else [text]:
        con.exec_driver_sql(statement)


def _statements(text: str) -> list[str]:
    """The statements of a script, one by one: SQLite takes no two at once within a transaction."""
    found, part = [], ""
    for line in text.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            found.append(part)
            part = ""
    return found


def damage_of(con: Connection) -> str | None:
    """What SQLite finds wrong with its file, None if it is whole; PostgreSQL looks after its own."""
    if con.dialect.name != "sqlite":
        return None
    found = str(con.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
    # A headline may stand above it.
    return None if found == "ok" else found.splitlines()[-1]


def row_of(decision: Decision) -> dict[str, Any]:
    """A decision as a row of ``DECISIONS``."""
    return {name: getattr(decision, name) for name in _COLUMNS} | {"facts": json.dumps(list(decision.facts))}


def decision_of(row: Row[Any], subject: str) -> Decision:
    """A row of ``DECISIONS`` as a decision on ``subject``, which may have another name by now."""
    found = dict(zip(_COLUMNS, row, strict=True))
    found["subject"] = subject
    found["facts"] = tuple(json.loads(found["facts"]))
    return Decision(**found)
