"""Holding a simulated lake's verdicts against its truth: what each uploaded line was, and what the night said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from replay.database import connect
from replay.errors import InputError
from replay.lake import Lake

SQL = Path(__file__).parent / "sql" / "queries" / "compare_truth.sql"
HONEST_KINDS = ("honest", "unfinished", "copy")


@dataclass
class Comparison:
    """``games`` maps a game and a kind to (uploads, judged right), with game "" for rows that nobody uploaded; ``examples`` are
    lines on what went wrong, a few at most; ``example`` is by game a forgery that is worth a look.  Flags that are ``held`` back
    were found: they are judged right where a flag is."""

    games: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    example: dict[str, str] = field(default_factory=dict)
    held: int = 0

    @property
    def kinds(self) -> dict[str, tuple[int, int]]:
        """By kind, all games together."""
        out: dict[str, tuple[int, int]] = {}
        for (_, kind), (total, right) in self.games.items():
            before = out.get(kind, (0, 0))
            out[kind] = (before[0] + total, before[1] + right)
        return out

    @property
    def wrong(self) -> int:
        """Uploads that were not judged as the truth says."""
        return sum(total - right for total, right in self.kinds.values())

    @property
    def honest(self) -> int:
        """Uploads of people who did nothing wrong."""
        return sum(total for kind, (total, _) in self.kinds.items() if kind in HONEST_KINDS)

    @property
    def forged(self) -> int:
        """All the others."""
        return sum(total for kind, (total, _) in self.kinds.items() if kind not in HONEST_KINDS)


def compare_with_truth(lake: Lake, examples: int = 5) -> Comparison:
    """Compare every published row with ``<lake>/truth``: verdict, reasons, suspicions and whether it counts must all be equal.

    An upload without a row, or a row without an upload, is wrong too.  Raises InputError for a lake without truth.
    """
    lake.refresh("truth", "verdicts", "quarantine")
    truth = sorted(str(path) for path in (lake.root / "truth").glob("day=*/truth.ndjson"))
    if not truth:
        raise InputError(f"{lake.name}: no truth/ folder, only a simulated lake has one")
    days = lake.published_days()
    if not days:
        raise InputError(f"{lake.name}: no day was published here, run `replay nightly` first")
    with connect() as con:
        con.execute(
            SQL.read_text("utf-8"),
            {
                "truth": truth,
                "verdicts": [str(lake.verdict_file(day)) for day in days],
                "quarantine": [str(lake.quarantine_file(day)) for day in days],
            },
        )
        rows = con.fetchall()
    compared = Comparison()
    for game, kind, game_id, where, expected, found, right, held in rows:
        compared.held += held
        total, good = compared.games.get((game, kind), (0, 0))
        compared.games[game, kind] = (total + 1, good + bool(right))
        if not right and len(compared.examples) < examples:
            compared.examples.append(f"{where} game {game_id} ({kind}): expected {expected}, found {found}")
        if kind == "score_mismatch":
            compared.example.setdefault(game, game_id)
    return compared
