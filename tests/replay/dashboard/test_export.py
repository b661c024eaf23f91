"""D8: comma-separated values that a spreadsheet opens without running anything."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from datetime import date, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from replay.dashboard.export import LONGEST_TEXT, cell, line, safe_text

FORMULAS = (
    '=HYPERLINK("http://x","y")', "+1", "-2", "@a", "\tx", "\rx", "\n=1", " =1", "\u00a0=1", "\u200b=1", "\ufeff=1", "\x00=1",
    "\uff1d1", "\uff0b1", "\uff0d1", "\uff20a", "\u22121", "\ufe661", "\u207a1", "'=1",
)  # fmt: skip
SIGNS = "=+-@"


def opened(text: str, separator: str) -> list[str]:
    """The cells that a spreadsheet sees, with quotes only where a cell begins with one."""
    return [found for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) for found in row]


def begins_formula(text: str) -> bool:
    """Whether a careless spreadsheet would compute a cell: it cuts blanks and marks off and folds wide signs."""
    rest = re.sub(r"^[\s\u200b-\u200f\u2060\ufeff\x00-\x1f\x7f-\xa0\xad]+", "", text)
    return unicodedata.normalize("NFKC", rest[:1]).replace("\u2212", "-") in tuple(SIGNS)


@pytest.mark.parametrize("text", FORMULAS, ids=ascii)
def test_d8_a_formula_is_a_text(text):
    found = safe_text(text)
    assert found.startswith("'"), found
    assert not begins_formula(found)


@pytest.mark.parametrize("text", ["", "a", "a=b", "3-2", "a, -2", "é", "e\u0301", "a\nb", "a'b", "C:\\games", "1", "\U0001f600"], ids=ascii)
def test_d8_other_texts_stay_as_they_are(text):
    assert safe_text(text) == text


@given(st.text(alphabet=st.one_of(st.sampled_from("=+-@'\t\r\n;, ax\\u\x1b\u202e\uff1d\"1"), st.characters(codec="utf-8"))))
@example("a;=1")
@example("a\n=1")
@example("x\t@1")
def test_d8_no_text_begins_a_cell_with_a_formula(text):
    """In a country whose spreadsheets part cells at a semicolon or a tab, too, where our quotes do not stand at the cell's edge."""
    whole = line(["id", text, "end"])
    assert opened(whole, ",") == ["id", safe_text(text), "end"]
    for separator in ";\t":
        for found in opened(whole, separator):
            assert not begins_formula(found.strip('",')) or found.startswith('id"'), (separator, found)
    assert not any(unicodedata.category(char)[0] == "C" and char != "\n" for char in safe_text(text))


@given(st.lists(st.text(alphabet="=+'\t\n;\\xut1b\x1b\x0b \u202e"), min_size=2, max_size=2, unique=True))
@example(["\x1b", "\\x1b"])
@example(["\\\x1b", "\\\\x1b"])
@example(["=1", "'=1"])
@example(["\t", "\\t"])
def test_d8_two_texts_never_become_one(texts):
    assert safe_text(texts[0]) != safe_text(texts[1])


def test_numbers_stay_numbers_and_all_is_quoted():
    values = (-5, 2**63 - 1, None, True, date(2026, 10, 31), datetime(2026, 10, 31, 14, 5, 7), ["a", "b"], 'say "x"')
    assert line(values) == '"-5","9223372036854775807","","yes","2026-10-31","2026-10-31 14:05:07","a, b","say ""x"""\r\n'


def test_a_text_longer_than_a_cell_says_so():
    assert cell("x" * (LONGEST_TEXT + 5)) == '"' + "x" * LONGEST_TEXT + '... (30,005 characters)"'
