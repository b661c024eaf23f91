"""The table of a mutation run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.mutation.stages import STAGES, WATCHED

# Where a guard that is somebody else's stopped the night: the checks of standings and counts, or a plain crash.
OTHER = "night"
COLUMNS = ("engines", "planted", OTHER, "tests")


def noticed(result: Mapping[str, Any]) -> dict[str, str]:
    """Who noticed a defect, by column of the table: the error or the test's name."""
    found: dict[str, str] = {}
    for stage in STAGES:
        by = result.get(stage, {}).get("by")
        if by is None:
            continue
        if stage == "tests":
            found[stage] = by
            continue
        column = next((name for name, error in WATCHED.items() if error == by), OTHER)
        found.setdefault(column, by)
    return found


def failures_of(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The defects that nobody noticed."""
    return [name for name, result in results.items() if not noticed(result)]


def summary(result: Mapping[str, Any]) -> str:
    """One line on a defect."""
    found = noticed(result)
    return ", ".join(f"{column}: {by}" for column, by in found.items()) if found else "SURVIVED"


def _cell(result: Mapping[str, Any], found: Mapping[str, str], column: str) -> str:
    if column in found:
        by = found[column]
        return by.rpartition("/")[2].removeprefix("test_") if column == "tests" else by if column == OTHER else "yes"
    if column == "engines" and result.get("both_engines"):
        return "alike"
    stage = result.get("engines" if column == OTHER else column)
    if stage is None:
        return "not run"
    return "skipped" if stage["note"].startswith("skipped") else "-"


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """All defects with who noticed each, then the counts and the survivors."""
    header = ("defect", "file", *COLUMNS, "seconds")
    rows = []
    for name, result in results.items():
        found = noticed(result)
        seconds = sum(result[stage]["seconds"] for stage in STAGES if stage in result)
        rows.append((name, result["file"], *(_cell(result, found, column) for column in COLUMNS), f"{seconds:.0f}"))
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [header, *rows]]
    survivors = failures_of(results)
    counts = {column: sum(column in noticed(result) for result in results.values()) for column in COLUMNS}
    told = ", ".join(f"{column} {count}" for column, count in counts.items())
    lines += ["", f"{len(results)} defects, {len(results) - len(survivors)} noticed ({told})"]
    lines += [f"survived: {name}: {results[name].get('engines', {}).get('note') or 'no wrong verdict seen'}" for name in survivors]
    lines += [
        f"published wrong verdicts without a word from the night: {name}: {results[name]['engines']['note']}"
        for name, result in results.items()
        if "wrong verdicts" in result.get("engines", {}).get("note", "") and not set(noticed(result)) - {"tests"}
    ]
    return "\n".join(lines) + "\n"
