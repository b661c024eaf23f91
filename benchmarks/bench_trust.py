"""What the night is for, in great numbers: a million honest games, of which none may be flagged, and a hundred thousand forged
ones of every kind among honest ones, each of which must be judged as the truth says.

Not a measure of speed.  The games are the bots' (``replay.simulate``), played and uploaded as honest phones would; the truth of
each line is kept aside.  The nights run as they always do, with their planted forgeries and samples.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from benchmarks.month import nights
from replay.truth import Comparison, compare_with_truth
from replay.verdict import VERDICTS

FIRST = date(2026, 10, 5)
DAYS = 10
# All three games are played alike: half of the lines are the block puzzle's, which is the main one.
OTHERS = {"tetromino": 0.5, "tetcolor": 0.5}
# A quarter is forged: each forgery has honest games around it, and no app looks broken on a lake's first night.
FORGED = 0.25


@dataclass
class Found:
    """What came of a run: records, rows by verdict, flags by reason, what the nights proved of themselves, and every line held
    against the truth."""

    records: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    suspicions: Counter[str] = field(default_factory=Counter)
    quarantined: int = 0
    # Forgeries that the nights planted and caught; verified games that both engines replayed.
    planted: int = 0
    sampled: int = 0
    compared: Comparison = field(default_factory=Comparison)

    def add(self, run: dict[str, Any]) -> None:
        """Add a night's run.json."""
        self.records += run["records"]
        self.verdicts.update({name: count for name, count in run["verdicts"].items() if name in VERDICTS})
        self.reasons.update(run["reasons"])
        self.suspicions.update(run["suspicions"])
        self.quarantined += run["quarantined"]
        self.planted += sum(found["caught"] for found in run["planted"].values())
        self.sampled += run["sampled"]


def run(folder: Path, lines: int, forged_share: float, seed: int) -> Found:
    """About ``lines`` uploads over DAYS days, all nights run and all verdicts compared; the lake is deleted afterwards.

    Raises AssertionError with examples when a line was not judged as the truth says, so that no wrong figure is ever printed.
    """
    lake = folder / f"trust-{seed}" / "lake"
    shutil.rmtree(lake.parent, ignore_errors=True)
    _land(lake, lines, forged_share, seed)
    found = Found()
    for night in nights(lake, FIRST, DAYS):
        found.add(night)
    from replay.lake import Lake

    found.compared = compare_with_truth(Lake(lake))
    assert not found.compared.wrong, "\n".join(found.compared.examples)
    shutil.rmtree(lake.parent)
    return found


def _land(lake: Path, lines: int, forged_share: float, seed: int) -> None:
    from replay.challenges import load_challenges
    from replay.rulebook import load_rulebook
    from replay.simulate import simulate

    rulebook = load_rulebook()
    simulate(
        lake, [FIRST + timedelta(days=number) for number in range(DAYS)], round(lines / DAYS / (1 + sum(OTHERS.values()))),
        challenges=load_challenges(None, rulebook), rulebook=rulebook, rng_seed=seed, forged_share=forged_share, others=OTHERS,
    )  # fmt: skip
