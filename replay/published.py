"""A published game looked at again: what its night found, what today's rules say, and the record as it was uploaded.

An anonymised player's old id stands in the landed file only; nothing here gives it away.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.outcome import Fault
from replay.challenges import SEEDS, ChallengeTable
from replay.errors import InputError, MalformedRecord
from replay.games import NAMES, kind_of
from replay.lake import Lake
from replay.lookup import read_uploaded
from replay.present import verdict_json
from replay.record import FIELDS, OPTIONAL_FIELDS, TIME, Record, format_time
from replay.relations import RELATIONAL_REASONS
from replay.rulebook import Rulebook
from replay.standings import load_player_states
from replay.verdict import UNKNOWN_REASONS, Reason, Verdict, judge, log_bytes
from replay.words import visible

# Characters of a text within the record that a page shows, and bytes of a log on either side of the wrong token.
RECORD_TEXT = 400
LOG_AROUND = 1500


@dataclass(frozen=True)
class Published:
    """A game as it is published, and replayed again now.

    ``verdict`` has the verdict, reasons and suspicions that its night published, and what the replay gives: today's, or where
    today's rules and challenges give other reasons, which ``today`` says in a sentence, that of its night.
    """

    row: dict[str, Any]
    record: Record
    verdict: Verdict
    today: str | None


def look_again(lake: Lake, row: dict[str, Any], rulebook: Rulebook, table: ChallengeTable) -> Published:
    """Read a verdict row's upload again and replay it.

    Raises InputError when its file is gone or another record stands there, or when today's rules do not know its mode.
    """
    record = replace(read_uploaded(lake, row), player_id=row["player_id"])
    try:
        found = judge(record, rulebook, table)
    except MalformedRecord as error:
        raise InputError(str(error)) from error
    reasons = reasons_of(row)
    own = tuple(reason for reason in reasons if reason.code not in RELATIONAL_REASONS)
    today = None
    if _without_known(found.reasons) != _without_known(own):
        codes = ", ".join(reason.code for reason in found.reasons) or "no reason against it"
        today = f"Today's rules and challenges give {codes}: run the night of {row['day']} again if they were mended."
        # Reasons of that night beside numbers of today would contradict each other.
        then = as_published(row, rulebook)
        found = replace(found, replayed=then.replayed, fault=then.fault)
    verdict = replace(
        found, verdict=row["verdict"], reasons=reasons, suspicions=tuple(row["suspicions"]), evidence=evidence_of(row),
        copy_of=row["copy_of"],
    )  # fmt: skip
    return Published(row, record, verdict, today)


def _without_known(reasons: tuple[Reason, ...]) -> list[Reason]:
    """Reasons without what else was known then: a rules file that is installed later makes a game's own no better known."""
    return [replace(reason, found=None) if reason.code in UNKNOWN_REASONS else reason for reason in reasons]


def as_published(row: Mapping[str, Any], rulebook: Rulebook) -> Verdict:
    """The verdict as far as its row alone tells: for a game whose landed file is gone."""
    shown = verdict_json(dict(row), rulebook)
    fault = shown["fault"]
    return Verdict(
        game_id=row["game_id"], verdict=row["verdict"], reasons=reasons_of(row), suspicions=tuple(row["suspicions"]),
        evidence=evidence_of(row), claimed=shown["claimed"], replayed=shown["replayed"],
        fault=None if fault is None else Fault(fault["kind"], fault["move"], fault["text"]), rules=row["rules"],
        challenge=row["challenge"], copy_of=row["copy_of"], mode=row["mode"], game=row["game"],
    )  # fmt: skip


def reasons_of(row: Mapping[str, Any]) -> tuple[Reason, ...]:
    """The reasons that a night published."""
    return tuple(Reason(**reason) for reason in json.loads(row["reasons"]))


def evidence_of(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a night noted beside them."""
    found: dict[str, Any] | None = json.loads(row["evidence"]) if row["evidence"] else None
    return found


def new_id(player_id: str, players: Path | None) -> str:
    """The id that stands for an anonymised player's, who may be shown under no other."""
    state = load_player_states(players or SEEDS / "players.csv").get(player_id)
    return state.new_id or player_id if state else player_id


# --- As uploaded ---------------------------------------------------------------------------------------------------------


def record_object(record: Record) -> dict[str, Any]:
    """The record as a JSON object that can be replayed again: every field that is read, times as RFC 3339."""
    out: dict[str, Any] = {}
    for name, kind in FIELDS.items():
        value = getattr(record, name)
        out[name] = format_time(value) if kind == TIME else value
    for name in OPTIONAL_FIELDS.get(record.game, ()):
        if getattr(record, name) is not None:
            out[name] = getattr(record, name)
    return out


def record_text(record: Record) -> str:
    """The record as indented JSON for people: long texts cut, and whatever cannot be seen or turns a line around as escapes."""
    fields = {
        name: f"{value[:RECORD_TEXT]}... ({len(value):,} characters)" if isinstance(value, str) and len(value) > RECORD_TEXT
        else value
        for name, value in record_object(record).items()
    }  # fmt: skip
    text = json.dumps(fields, ensure_ascii=False, indent=2)
    return "".join(char if char in " \n" or not _hides(char) else json.dumps(char)[1:-1] for char in text)


def _hides(char: str) -> bool:
    return unicodedata.category(char)[0] in "CZ" or unicodedata.bidirectional(char) in ("R", "AL", "AN")


@dataclass(frozen=True)
class LogPart:
    """A part of a log as harmless text: ``token`` is the wrong one ("" for none), between ``before`` and ``after``.

    ``left_before`` and ``left_after`` are the bytes that are not shown.
    """

    before: str
    token: str
    after: str
    left_before: int
    left_after: int


def log_part(record: Record, wrong: int | None) -> LogPart:
    """The log around its wrong token (from 0), or its beginning when none is known."""
    log = log_bytes(record.moves)
    place = None
    if wrong is not None and record.game in NAMES:
        place = kind_of(record.game).token_place(log, wrong)
    start, end = place or (0, 0)
    first, last = max(0, start - LOG_AROUND), min(len(log), end + LOG_AROUND)
    return LogPart(_text(log[first:start]), _text(log[start:end]), _text(log[end:last]), first, len(log) - last)


def _text(part: bytes) -> str:
    shown = part.decode("utf-8", "backslashreplace")
    return visible(shown, len(shown))
