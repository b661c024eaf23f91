"""Every field case of this project's list is held by a test that names it (in its name or its docstring), and the table of
tests/README.md says by which."""

import re

import pytest

from tests.field_cases import CASES, OPEN, TABLE, TESTS, holders, named_cases, names_of, table

# Of a case that is open in part, what is there is required too.
REQUIRED = [case for case in CASES if case not in OPEN or OPEN[case][1]]


def test_the_list_is_whole():
    assert len(CASES) == 39
    assert set(OPEN) <= set(CASES)


def test_the_table_is_as_the_tests_are():
    assert TABLE.read_text("utf-8") == table(), "tests/README.md is stale, run `python -m tests.field_cases`"


def test_the_table_names_tests_that_exist():
    """Read back from the page itself: every file is there, and every test stands in it."""
    rows = [line.split(" | ") for line in TABLE.read_text("utf-8").splitlines() if re.match(r"\| [A-E]\d", line)]
    assert [row[0].removeprefix("| ") for row in rows] == list(CASES)
    for case, _, held in rows:
        for part in held.removesuffix(" |").split("<br>"):
            path, *tests = re.findall(r"`([^`]+)`", part) or [""]
            assert path or "open" in held, case
            text = (TESTS / path).read_text("utf-8") if path else ""
            assert [name for name in tests if f"def {name}(" not in text] == [], f"{case}: not in {path}"


@pytest.mark.parametrize("case", REQUIRED)
def test_case_is_held_by_a_test(case):
    assert names_of(case), f"no test names field case {case}"


@pytest.mark.parametrize("case", sorted(OPEN))
def test_what_is_open_is_open(case):
    """Whoever writes the test that was missing takes the case out of OPEN: from then on it is required."""
    assert holders(case) == [], f"{case} is held now, take it out of OPEN in tests/field_cases.py"


def test_no_test_names_a_case_that_is_not_listed():
    """A slip of the pen would look like a case that is held."""
    assert sorted(set(named_cases()) - set(CASES)) == []


# The cases of the schedule are held under Airflow too.
@pytest.mark.parametrize("case", ["E1", "E2", "E7", "E9", "E10"])
def test_case_is_held_under_airflow(case):
    assert [name for name in names_of(case) if name.startswith("dags/")], f"no test in tests/dags names {case}"


# What people see and decide is held by tests of the pages themselves.
@pytest.mark.parametrize("case", ["C4", "C8", "D4", "D8", "D9", "E8"])
def test_case_is_held_on_the_pages(case):
    pages = ("replay/dashboard/", "browser/")
    found = [name for name in names_of(case) if name.startswith(pages)]
    assert found, f"no test in {' or '.join(f'tests/{folder}' for folder in pages)} names {case}"
