"""Which tests hold which field case: found by the names and docstrings of the tests, written down in tests/README.md.

``python -m tests.field_cases`` writes the table anew; a test fails while it is stale.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
TABLE = TESTS / "README.md"
# Every case of the project's list, with its subject in a few words.
CASES = {
    "A1": "a spin that is followed by a fall", "A2": "inputs without effect do not spoil a spin",
    "A4": "back-to-back inside a combo, and across a lineless spin", "A5": "the level that the scored clear reaches",
    "A6": "drop points", "A7": "hold", "A8": "game over is judged after the clear and the refill",
    "A10": "streak forgiveness and the continue", "A11": "top-out, colour matches and bombs",
    "B1": "the generator and its seeds", "B2": "the second replay equals the first", "B4": "the final move is missing",
    "B5": "time that runs backwards", "B6": "version skew, and the version that lies",
    "B7": "the same id, the same game, or neither", "B9": "clock skew and the future", "B10": "each claim is checked on its own",
    "C1": "somebody else's replay", "C2": "an edited score, an empty log", "C4": "spliced but legal",
    "C5": "slow motion, fast forward, slow phones", "C6": "machine-like timing", "C8": "evidence, dismissal, appeal",
    "D1": "ties", "D2": "percentile edges", "D3": "AI players", "D4": "one eligibility rule for every path",
    "D5": "totals do not drift", "D8": "names and exports", "D9": "anonymised and deleted players", "D10": "final or provisional",
    "E1": "retry, run again, kill", "E2": "late data and the order of days", "E3": "dirty lines and two parsers",
    "E4": "byte-order mark, line ends, encodings", "E7": "an empty day, a wholly bad day",
    "E8": "locks between pages and batch", "E9": "size: a giant shard, a bomb, a data pipe", "E10": "schedule and clock changes",
}  # fmt: skip
# What no test holds yet, in words, and what the test that will hold it matches, in its file's name, its name or its docstring;
# nothing stands for a case that no test names at all.  An entry whose test has come fails the tests until it is taken out here.
OPEN: dict[str, tuple[str, str]] = {}


@cache
def named_cases() -> dict[str, list[tuple[str, str]]]:
    """Case by case, the tests that name it, each with the words in which it does: its name and its docstring."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            text = f"{node.name.replace('_', ' ').upper()} {ast.get_docstring(node) or ''}"
            for case in sorted(set(re.findall(r"\b([A-E][0-9]{1,2})\b", text))):
                found.setdefault(case, []).append((f"{path.relative_to(TESTS).as_posix()}::{node.name}", text))
    return found


def names_of(case: str) -> list[str]:
    """The tests that name a case, as pytest writes them below tests/."""
    return [name for name, _ in named_cases().get(case, ())]


def holders(case: str) -> list[str]:
    """The tests that hold what is noted as open of a case; of another case, all that name it."""
    pattern = OPEN[case][1] if case in OPEN else ""
    return [name for name, text in named_cases().get(case, ()) if re.search(pattern, f"{name} {text}", re.IGNORECASE)]


def table() -> str:
    """The text of tests/README.md."""
    lines = [
        "# Which test holds which field case",
        "",
        "Faults that others met and reported in public are cases here, each a test at least. A test holds a case when its name",
        "or its docstring names it. This page is written by `python -m tests.field_cases`, and a test fails while it is stale.",
        "",
    ]
    if OPEN:
        lines += ["Open, held by no test yet:", "", *(f"- {case}: {OPEN[case][0]}" for case in CASES if case in OPEN), ""]
    lines += ["| case | subject | tests |", "| --- | --- | --- |"]
    for case, subject in CASES.items():
        files: dict[str, list[str]] = {}
        for name in names_of(case):
            path, _, test = name.partition("::")
            files.setdefault(path, []).append(test)
        held = "<br>".join(f"`{path}`: " + ", ".join(f"`{test}`" for test in tests) for path, tests in files.items())
        lines.append(f"| {case} | {subject} | {held or 'open'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table(), "utf-8")
