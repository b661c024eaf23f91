"""Which rows count once people decided: of the same game that came twice, one."""

from __future__ import annotations

from datetime import datetime
from itertools import permutations

import pytest

from replay.eligibility import judge
from replay.reviews.games import facts_of_row
from replay.reviews.model import subject_of
from tests.replay.reviews.support import decided, verdict_row


def came(line: int, minute: int, **changes):
    """The same game, finished at that minute and landed on that line."""
    at = datetime(2026, 10, 31, 12, minute)
    return verdict_row(
        finished_at=at, uploaded_at=at, source_line=line, filename="day.parquet", file_row_number=line - 1, **changes
    )


@pytest.mark.parametrize("verdict", ["flagged", "withheld"])
def test_of_one_game_that_came_three_times_a_clearing_lets_the_first_count(verdict):
    """Two uploads of one content and another time are no copies of each other, so each is flagged; one attempt is one game."""
    rows = [came(1, 30, verdict=verdict), came(2, 10, verdict=verdict), came(3, 20, verdict=verdict)]
    assert len({subject_of(row) for row in rows}) == 1
    decision = decided(1, "clear", facts_of_row(rows[0]))
    for order in permutations(rows):
        found = {judged.file_row_number: (judged.state, judged.counts) for judged in judge(order, [decision])}
        assert found == {0: ("cleared", False), 1: ("cleared", True), 2: ("cleared", False)}, [r["source_line"] for r in order]


def test_what_nobody_decided_about_and_copies_are_left_out():
    row = came(1, 30)
    assert judge([row], []) == []
    assert judge([came(2, 31, game_id="another"), came(3, 32, verdict="copy")], [decided(1, "clear", facts_of_row(row))]) == []
