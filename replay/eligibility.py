"""Which games count after what people decided and released: the few with a decision are judged here, row by row, before any
statement runs.

The statements then take the machine's word for every game but those, and those that were withheld and released
(``sql/eligible_rows.sql``).  DuckDB comes with the connection; nothing here imports it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from replay.database import make_temp_table, rows_of
from replay.reviews.copies import gather, standing_subjects
from replay.reviews.model import Decision, counts, facts_of, review_of, standing_decision, subject_of
from replay.reviews.releases import Release, standing_releases
from replay.standings_queries import read_sql

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Judgement:
    """What people decided about one verdict row: ``state`` (``reviews.model.STATES``), and whether standings use the game."""

    filename: str
    file_row_number: int
    state: str
    counts: bool


def effective(decisions: Iterable[Decision]) -> dict[str, Decision]:
    """The decision that stands, by subject; subjects without one are not in it."""
    return _effective(gather(decisions, {}))


def _effective(by_subject: Mapping[str, Sequence[Decision]]) -> dict[str, Decision]:
    standing = ((subject, standing_decision(found)) for subject, found in by_subject.items())
    return {subject: decision for subject, decision in standing if decision is not None}


def effect_digest(decisions: Iterable[Decision], releases: Iterable[Release] = ()) -> bytes:
    """A hash of which decision stands on which subject, and of which groups are released; empty when there is neither.

    Decisions and releases with the same hash give the same standings: notes, and what was undone again, change nothing.
    """
    standing = sorted((subject, decision.id) for subject, decision in effective(decisions).items())
    released = [group.as_json() for group in sorted(standing_releases(releases))]
    found = hashlib.sha256(json.dumps(standing).encode("utf-8")).digest() if standing else b""
    return found + (hashlib.sha256(json.dumps(released).encode("utf-8")).digest() if released else b"")


def judge(rows: Iterable[Mapping[str, Any]], decisions: Iterable[Decision]) -> list[Judgement]:
    """Judge verdict rows (with ``filename`` and ``file_row_number``) by the decisions; those nobody decided about are left out.

    The rows are as releases leave them; a decision on a copy among them is one on the upload that stands.  Of several flagged or
    withheld rows with one subject, the same game that came twice, a clearing lets one count: the first that was finished and
    uploaded.
    """
    rows = list(rows)
    known = gather(decisions, standing_subjects(rows))
    judged: list[Judgement] = []
    cleared: dict[str, list[tuple[Mapping[str, Any], Judgement]]] = {}
    for row in rows:
        subject = subject_of(row)
        # A copy counts nowhere, whatever is decided about the upload that it repeats.
        if subject not in known or row["verdict"] == "copy":
            continue
        review = review_of(known[subject], facts_of(json.loads(row["reasons"] or "[]"), row["suspicions"] or ()))
        if review.state == "open":
            continue
        found = Judgement(row["filename"], row["file_row_number"], review.state, counts(row, review))
        if row["verdict"] in ("flagged", "withheld") and found.counts:
            cleared.setdefault(subject, []).append((row, found))
        else:
            judged.append(found)
    for same in cleared.values():
        first, *others = (found for _, found in sorted(same, key=lambda pair: _first(pair[0])))
        judged += [first, *(Judgement(o.filename, o.file_row_number, o.state, False) for o in others)]
    return judged


def _first(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        row["finished_at"], row["uploaded_at"], row["source_file"], row["source_line"], row["filename"], row["file_row_number"],
    )  # fmt: skip


def attach_releases(con: duckdb.DuckDBPyConnection, releases: Sequence[Release]) -> None:
    """Make the temporary tables ``released`` (the groups) and ``released_rows`` (the withheld verdict rows of theirs)."""
    groups = sorted(standing_releases(releases))
    con.execute("SET VARIABLE releases_through = $id::BIGINT", {"id": max((release.id for release in releases), default=0)})
    columns = {"day": "DATE", "game": "VARCHAR", "platform": "VARCHAR", "app_version": "VARCHAR", "rules": "VARCHAR"}
    make_temp_table(con, "released", columns, [astuple(group) for group in groups])
    con.execute(read_sql("released_rows"))


def attach_decisions(
    con: duckdb.DuckDBPyConnection, decisions: Sequence[Decision], releases: Sequence[Release] = ()
) -> None:
    """Make the temporary tables ``decided`` (what stands, by subject; what stands on a copy also by that of the upload that it
    copies) and ``judged_rows`` (the verdict rows that it is about), and those of ``attach_releases``."""
    attach_releases(con, releases)
    standing = effective(decisions)
    con.execute("SET VARIABLE reviews_through = $id::BIGINT", {"id": max((d.id for d in decisions), default=0)})
    game_ids = sorted({decision.game_id for decision in standing.values()})
    make_temp_table(con, "decided_ids", {"game_id": "VARCHAR"}, [(game_id,) for game_id in game_ids])
    con.execute(read_sql("candidate_rows"))
    candidates = rows_of(con.execute("FROM candidate_rows")) if standing else []
    standing = _effective(gather(decisions, standing_subjects(candidates)))
    ids = {subject_of(row): row["game_id"] for row in candidates}
    make_temp_table(
        con, "decided", {"subject": "VARCHAR", "action": "VARCHAR", "game_id": "VARCHAR"},
        [(subject, decision.action, ids.get(subject, decision.game_id)) for subject, decision in standing.items()],
    )  # fmt: skip
    found = judge(candidates, decisions)
    make_temp_table(
        con, "judgements", {"filename": "VARCHAR", "file_row_number": "BIGINT", "state": "VARCHAR", "counts": "BOOLEAN"},
        [astuple(judgement) for judgement in found],
    )  # fmt: skip
    con.execute(read_sql("judged_rows"))
