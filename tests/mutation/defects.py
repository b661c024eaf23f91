"""The list of deliberate defects (defects.toml), and how one is planted into a copy of the tree."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("defects.toml")
# By area the tests that follow a defect's own: all that could reasonably notice it.
AREAS: dict[str, tuple[str, ...]] = {
    "blocks": (
        "tests/engine/test_blocks_worked.py", "tests/engine/test_blocks_notation.py", "tests/engine/test_blocks_rules.py",
        "tests/engine/test_blocks_fast.py", "tests/engine/test_blocks_batch.py", "tests/engine/test_blocks_twin.py",
        "tests/test_fixtures.py",
    ),
    "tetromino": (
        "tests/engine/test_tetromino_worked.py", "tests/engine/test_tetromino_real.py", "tests/engine/test_tetromino_batch.py",
        "tests/engine/test_tetromino_twin.py", "tests/test_fixtures.py",
    ),
    "tetcolor": (
        "tests/engine/test_tetcolor_settle.py", "tests/engine/test_tetcolor_moves.py", "tests/engine/test_tetcolor_draws.py",
        "tests/engine/test_tetcolor_batch.py", "tests/engine/test_tetcolor_twin.py", "tests/test_fixtures.py",
    ),
    "reading": (
        "tests/replay/test_record.py", "tests/replay/test_scan_kernel.py", "tests/replay/test_ndjson.py",
        "tests/replay/test_parquet.py", "tests/replay/test_verify_day.py", "tests/replay/test_night.py",
    ),
    "verdict": (
        "tests/replay/test_judge.py", "tests/replay/test_verify.py", "tests/replay/test_verify_tetromino.py",
        "tests/replay/test_truth.py", "tests/test_fixtures.py",
    ),
    "relations": (
        "tests/replay/test_relations.py", "tests/replay/test_relations_twin.py", "tests/replay/test_month.py",
        "tests/replay/test_night.py", "tests/replay/test_late.py",
    ),
    "publishing": (
        "tests/replay/test_late.py", "tests/replay/test_restate.py", "tests/replay/test_night.py", "tests/replay/test_month.py",
        "tests/replay/reviews/test_dismissals.py", "tests/replay/test_verify_day.py",
    ),
    "marts": (
        "tests/replay/test_standings.py", "tests/replay/test_standings_games.py", "tests/replay/test_standings_twin.py",
        "tests/replay/test_standings_checks.py", "tests/replay/test_night.py",
    ),
    "digest": ("tests/replay/test_standings.py", "tests/replay/test_standings_twin.py", "tests/replay/test_standings_checks.py"),
    "reviews": (
        "tests/replay/reviews/test_model.py", "tests/replay/test_restate.py", "tests/replay/test_standings_leavers.py",
        "tests/replay/reviews/test_dismissals.py", "tests/replay/test_standings_twin.py",
    ),
}  # fmt: skip
# Both engines run this source, so a defect in it makes them wrong alike; replay_8x8, the compiled engine's fast case, is its own.
SHARED = ("engine/words.py", "kernel.py", "pieces.py", "settle.py", "text.py")
FAST_CASE = "-fast-"


@dataclass(frozen=True)
class Defect:
    """One defect: ``old``, which stands once in ``file``, becomes ``new``; ``harm`` is what would go wrong for whom."""

    name: str
    area: str
    file: str
    old: str
    new: str
    harm: str
    tests: tuple[str, ...]

    @property
    def is_in_both_engines(self) -> bool:
        """Whether both engines have the defect, so that holding them against each other cannot show it."""
        return self.file.startswith("engine/") and self.file.endswith(SHARED) and FAST_CASE not in self.name

    @property
    def more_tests(self) -> tuple[str, ...]:
        """The tests of the area that are not among the defect's own."""
        return tuple(test for test in AREAS[self.area] if test not in self.tests)


def load_defects(path: Path = LIST) -> list[Defect]:
    """The defects in the list's order."""
    found = tomllib.loads(path.read_text("utf-8"))["defect"]
    return [Defect(**{**entry, "tests": tuple(entry["tests"])}) for entry in found]


def plant(defect: Defect, tree: Path) -> None:
    """Put the defect into a tree.  Raises ValueError where its text does not stand exactly once."""
    path = tree / defect.file
    text = path.read_text("utf-8")
    if text.count(defect.old) != 1:
        raise ValueError(f"{defect.name}: its text stands {text.count(defect.old)} times in {defect.file}, it must stand once")
    path.write_text(text.replace(defect.old, defect.new), "utf-8")
