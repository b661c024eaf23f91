"""Every field case of this project's list is held by a test that names it (in its name or its docstring)."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# The cases that concern the engines, records, verdicts, standings, the batch, and the pages with what people decide there.
CASES = (
    "A1", "A2", "A4", "A5", "A6", "A7", "A8", "A10", "A11", "B1", "B2", "B4", "B5", "B6", "B7", "B9", "B10", "C2", "C4", "C8",
    "D1", "D2", "D3", "D4", "D5", "D8", "D9", "D10", "E1", "E2", "E3", "E4", "E7", "E8", "E9", "E10",
)  # fmt: skip


@cache
def named_cases():
    """Case by case, the tests that name it."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            text = f"{node.name.replace('_', ' ').upper()} {ast.get_docstring(node) or ''}"
            for case in set(re.findall(r"\b([A-E][0-9]{1,2})\b", text)):
                found.setdefault(case, []).append(f"{path.relative_to(TESTS).as_posix()}::{node.name}")
    return found


@pytest.mark.parametrize("case", CASES)
def test_case_is_held_by_a_test(case):
    assert named_cases().get(case), f"no test names field case {case}"


# The cases of the schedule are held under Airflow too.
@pytest.mark.parametrize("case", ["E1", "E2", "E7", "E9", "E10"])
def test_case_is_held_under_airflow(case):
    assert [name for name in named_cases().get(case, ()) if name.startswith("dags/")], f"no test in tests/dags names {case}"


# What people see and decide is held by tests of the pages themselves.
@pytest.mark.parametrize("case", ["C4", "C8", "D4", "D8", "D9", "E8"])
def test_case_is_held_on_the_pages(case):
    pages = ("replay/dashboard/", "browser/")
    found = [name for name in named_cases().get(case, ()) if name.startswith(pages)]
    assert found, f"no test in {' or '.join(f'tests/{folder}' for folder in pages)} names {case}"
