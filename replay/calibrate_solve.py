"""Solving the equations of a calibration: exact, in integers, by majorities, silent where the games do not decide.

Values that few games determine among themselves are solved first and then taken for known.  A few forged games can be the most
of those few, so what they told is looked at again with all games that depend on it: a value stays only when most of them agree.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, log

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

# Fewer games than this say nothing: two forged claims may agree by chance or by design.
LEAST_SUPPORT = 3
LARGEST_VALUE = 10**6
# A sample of equations without a forged one is found with this chance of failure when at least HONEST of the games are honest.
HONEST, MISSED = 0.6, 1e-9
# Bounds of the work: samples of one group, groups in a row without an answer, values that are solved together once more.
MOST_TRIALS, MOST_CONTESTED, MOST_TOGETHER = 2_000, 40, 6
# Answers with this share of the games behind them (in percent) are looked at where none has most of them.
NOTABLE_PERCENT = 10
_NO_MAJORITY = "no value is agreed on by most"


@dataclass
class Equations:
    """``counts`` (games x values) times the values is ``claims``, exactly, for an honest game; ``game_ids`` name the rows."""

    counts: Ints
    claims: Ints
    game_ids: list[str] = field(default_factory=list)

    def only(self, rows: Sequence[int]) -> Equations:
        """These rows of them."""
        chosen = np.array(rows, np.int64)
        return Equations(self.counts[chosen], self.claims[chosen], [self.game_ids[row] for row in rows])


class _Fit:
    """The values as far as they are known, and why they are not."""

    def __init__(self, equations: Equations) -> None:
        # One order for the same games, however their files lie: samples are drawn by row.
        order = np.lexsort((equations.claims, *equations.counts.T))
        self.counts, self.claims = equations.counts[order], equations.claims[order]
        self.width = self.counts.shape[1]
        self.found: list[int | None] = [None] * self.width
        self.why = ["" if self.counts[:, column].any() else "no game earned it" for column in range(self.width)]
        # How many more games agreed with a value than did not, when it was told.
        self.lead = [0] * self.width

    def known(self) -> list[int]:
        return [column for column, value in enumerate(self.found) if value is not None]

    def _unknown_beside(self, columns: Sequence[int]) -> list[int]:
        return [column for column, value in enumerate(self.found) if value is None and column not in columns]

    def part(self, columns: Sequence[int]) -> tuple[Ints, Ints, Truths]:
        """(counts of ``columns``, what is left for them of the claims, rows) of the games that depend on one of them and on no
        unknown value beside them."""
        rows = ~(self.counts[:, self._unknown_beside(columns)] != 0).any(axis=1) & (self.counts[:, columns] != 0).any(axis=1)
        given = [column for column in self.known() if column not in columns]
        left = self.claims[rows] - self.counts[np.ix_(rows, given)] @ np.array([self.found[c] for c in given], np.int64)
        return self.counts[np.ix_(rows, columns)], left, rows

    def take(self, columns: Sequence[int], again: bool = False) -> bool:
        """Solve these values together, or some of them ``again``; whether that gave an answer.  If not, all stays as it is."""
        counts, left, _ = self.part(columns)
        answer, problem = consensus(counts, left)
        for index, column in enumerate(columns):
            if answer is not None:
                depends = counts[:, index] != 0
                agree = int((counts[depends] @ np.array(answer, np.int64) == left[depends]).sum())
                self.found[column], self.why[column], self.lead[column] = answer[index], "", 2 * agree - int(depends.sum())
            elif not again:
                self.why[column] = problem
        return answer is not None

    def with_doubtful(self, columns: list[int]) -> list[int]:
        """``columns`` and the known values that would be outvoted if the games that depend on both were against them."""
        depending = (self.counts[self.part(columns)[2]] != 0).sum(axis=0)
        doubtful = sorted((c for c in self.known() if depending[c] >= self.lead[c]), key=lambda c: self.lead[c] - depending[c])
        return sorted([*columns, *doubtful[: max(0, MOST_TOGETHER - len(columns))]])

    def votes(self, column: int) -> tuple[int, int]:
        """(games that depend on a value and on no unknown one and come out, those that do not)."""
        counts, left, _ = self.part([column])
        fits = int((counts[:, 0] * (self.found[column] or 0) == left).sum())
        return fits, len(left) - fits

    def look_again(self) -> None:
        """Hold each value against all games that can be reckoned by now, of which most must agree with it."""
        for _ in range(2 * self.width):
            outvoted = [(agree - against, c) for c in self.known() for agree, against in [self.votes(c)] if agree <= against]
            if not outvoted:
                break
            self._solve_again(min(outvoted)[1])
        for column in self.known():
            if self._is_contested(column):
                self.found[column] = None
        while dropped := [c for c in self.known() if self.votes(c)[0] < max(LEAST_SUPPORT, self.votes(c)[1] + 1)]:
            self.found[dropped[0]] = None

    def _solve_again(self, column: int) -> None:
        counts, left, _ = self.part([column])
        answer, self.why[column] = consensus(counts, left)
        self.found[column] = answer[0] if answer else None

    def _is_contested(self, column: int) -> bool:
        """Whether games that were not understood outnumber those that told a value, and do not agree with it either.

        They may be of two kinds (two apps that count one value each in their own way) and still have the others in common.
        """
        open_ones = [c for c in self._unknown_beside([column]) if self.why[c].startswith(_NO_MAJORITY)]
        columns = [column, *open_ones[: MOST_TOGETHER - 1]]
        counts, left, _ = self.part(columns)
        counts, left = counts[counts[:, 0] != 0], left[counts[:, 0] != 0]
        if not open_ones or len(left) <= 2 * self.votes(column)[0]:
            return False
        explained = np.zeros(len(left), np.bool_)
        for answer, agreeing in _answers(counts, left).items():
            if answer[0] == self.found[column] and agreeing * 100 >= len(left) * NOTABLE_PERCENT:
                explained |= counts @ np.array(answer, np.int64) == left
        if int(explained.sum()) * 2 > len(left):
            return False
        self.why[column] = _no_majority(len(left))
        return True


def solve(equations: Equations, names: Sequence[str]) -> tuple[list[int | None], list[str]]:
    """(value of each column or None, why it cannot be told or "").

    The fewest values that games determine among themselves are solved first; each later step takes those for known, or solves
    them once more where most games cannot be understood with them.
    """
    fit = _Fit(equations)
    contested: set[frozenset[int]] = set()
    while len(contested) < MOST_CONTESTED and (group := _next_group(fit.counts, fit.found, contested)) is not None:
        columns = sorted(group)
        if fit.take(columns) or ((more := fit.with_doubtful(columns)) != columns and fit.take(more, again=True)):
            # With more values known, more games speak for those that were left open.
            contested.clear()
        else:
            contested.add(group)
    fit.look_again()
    for column, value in enumerate(fit.found):
        if value is None and not fit.why[column]:
            fit.why[column] = _together(fit.counts, fit.found, column, names)
    return fit.found, fit.why


def _next_group(counts: Ints, found: Sequence[int | None], contested: set[frozenset[int]]) -> frozenset[int] | None:
    """The smallest set of unknown values that the games which earned no other unknown one could determine; None for none."""
    unknown = [column for column, value in enumerate(found) if value is None]
    patterns = {tuple(row) for row in np.unique(counts[:, unknown] != 0, axis=0).tolist()}
    groups = {frozenset(c for c, earned in zip(unknown, row, strict=True) if earned) for row in patterns}
    # What two games earned together is a group as well: (a, b) and (b, c) may determine all three.
    for group in sorted(groups, key=lambda g: (len(g), sorted(g))):
        groups |= {group | other for other in list(groups) if len(group & other) and len(groups) < 4096}
    for group in sorted(groups - {frozenset()} - contested, key=lambda g: (len(g), sorted(g))):
        others = [column for column in unknown if column not in group]
        rows = ~(counts[:, others] != 0).any(axis=1)
        inside = counts[np.ix_(rows, sorted(group))]
        inside = inside[(inside != 0).any(axis=1)]
        if len(inside) >= max(len(group), LEAST_SUPPORT) and len(_independent(inside.tolist())) == len(group):
            return group
    return None


def consensus(counts: Ints, claims: Ints) -> tuple[list[int] | None, str]:
    """The integers that a majority of equations agree on exactly, or None and why there are none.

    A majority of all, of those that depend on any one value, and of those that tell them from any other answer: games in which
    two values were earned in the same measure say nothing about the one or the other, however many they are.
    """
    size = counts.shape[1]
    if len(counts) < max(LEAST_SUPPORT, size):
        return None, _too_few(len(counts), max(LEAST_SUPPORT, size))
    answers = _answers(counts, claims)
    # Of equally many games the smallest values; no tie is ever a majority.
    best = min(answers, key=lambda answer: (-answers[answer], answer), default=None)
    if best is None or answers[best] * 2 <= len(counts) or answers[best] < LEAST_SUPPORT:
        return None, _no_majority(len(counts))
    agrees = counts @ np.array(best, np.int64) == claims
    if (least := int((counts[agrees] != 0).sum(axis=0).min())) < LEAST_SUPPORT:
        return None, _too_few(least, LEAST_SUPPORT)
    if not _decided_often(counts[agrees]):
        return None, f"fewer than {LEAST_SUPPORT} of the games that agree tell these values apart"
    for differences in (*np.eye(size, dtype=np.int64), *(np.array(best) - np.array(other) for other in answers if other != best)):
        telling = counts @ differences != 0
        if int((telling & agrees).sum()) * 2 <= int(telling.sum()):
            return None, _no_majority(int(telling.sum()))
    return list(best), ""


def _answers(counts: Ints, claims: Ints) -> dict[tuple[int, ...], int]:
    """What samples of the equations give, with the number of equations that agree."""
    size = counts.shape[1]
    rng = random.Random(len(counts) * 1_000_003 + int(claims.astype(object).sum() % 1_000_003))
    answers: dict[tuple[int, ...], int] = {}
    for _ in range(min(MOST_TRIALS, ceil(log(MISSED) / log(1 - HONEST**size)) + 10)):
        rows = _independent_sample(counts, rng)
        answer = _solve_exactly([counts[row].tolist() for row in rows], [int(claims[row]) for row in rows])
        if answer is None or tuple(answer) in answers:
            continue
        answers[tuple(answer)] = agreeing = int((counts @ np.array(answer, np.int64) == claims).sum())
        if agreeing == len(counts):
            break
    return answers


def _decided_often(counts: Ints) -> bool:
    """Whether LEAST_SUPPORT times over, each time with other games, there are enough of them to determine all values."""
    primitive = counts // np.gcd.reduce(counts, axis=1)[:, None]
    directions, number = np.unique(primitive, axis=0, return_counts=True)
    # The commonest ones first, so that the rare ones are left for the later times.
    rows = [directions[d].tolist() for d in np.argsort(-number, kind="stable") for _ in range(min(number[d], LEAST_SUPPORT))]
    for _ in range(LEAST_SUPPORT):
        chosen = set(_independent(rows))
        if len(chosen) < counts.shape[1]:
            return False
        rows = [row for index, row in enumerate(rows) if index not in chosen]
    return True


def _independent_sample(counts: Ints, rng: random.Random) -> list[int]:
    """Rows in random order that are independent of one another, as many as there are columns (or as there are at all)."""
    size, chosen = counts.shape[1], list[int]()
    basis: list[list[Fraction]] = []
    for row in rng.sample(range(len(counts)), len(counts)) if len(counts) < 512 else _draws(len(counts), rng):
        if _extend(basis, counts[row].tolist()):
            chosen.append(row)
            if len(chosen) == size:
                break
    return chosen


def _draws(size: int, rng: random.Random) -> Iterator[int]:
    for _ in range(4096):
        yield rng.randrange(size)
    # All, beginning anywhere: the same rare row would be in every sample otherwise.
    start = rng.randrange(size)
    yield from ((start + step) % size for step in range(size))


def _independent(rows: Sequence[Sequence[int]]) -> list[int]:
    """Indices of rows, first come first, none of which follows from those before it."""
    basis: list[list[Fraction]] = []
    chosen = []
    for index, row in enumerate(rows):
        if _extend(basis, row):
            chosen.append(index)
            if len(basis) == len(row):
                break
    return chosen


def _extend(basis: list[list[Fraction]], row: Sequence[int]) -> bool:
    """Add a row to an echelon basis; False when it follows from it already."""
    left = [Fraction(value) for value in row]
    for held in basis:
        pivot = next(at for at, value in enumerate(held) if value)
        if left[pivot]:
            factor = left[pivot] / held[pivot]
            left = [value - factor * other for value, other in zip(left, held, strict=True)]
    if not any(left):
        return False
    basis.append(left)
    return True


def _solve_exactly(rows: list[list[int]], claims: list[int]) -> list[int] | None:
    """The integers from 0 to LARGEST_VALUE that solve a square system; None when there are none."""
    size = len(rows)
    table = [[Fraction(value) for value in row] + [Fraction(claim)] for row, claim in zip(rows, claims, strict=True)]
    if size == 0 or len(table[0]) != size + 1:
        return None
    for column in range(size):
        pivot = next((row for row in range(column, size) if table[row][column]), None)
        if pivot is None:
            return None
        table[column], table[pivot] = table[pivot], table[column]
        table[column] = [value / table[column][column] for value in table[column]]
        for row in range(size):
            if row != column and table[row][column]:
                factor = table[row][column]
                table[row] = [value - factor * other for value, other in zip(table[row], table[column], strict=True)]
    answer = [line[-1] for line in table]
    if any(value.denominator != 1 or not 0 <= value <= LARGEST_VALUE for value in answer):
        return None
    return [int(value) for value in answer]


def _together(counts: Ints, found: Sequence[int | None], column: int, names: Sequence[str]) -> str:
    """Why the games do not tell a value from others: those that it was always earned together with."""
    depends = counts[counts[:, column] != 0]
    others = [c for c in range(counts.shape[1]) if c != column and found[c] is None and (depends[:, c] != 0).any()]
    if not others or len(depends) < LEAST_SUPPORT:
        return _too_few(len(depends), LEAST_SUPPORT)
    return f"the games do not tell it from {', '.join(names[c] for c in others)}"


def _too_few(games: int, needed: int) -> str:
    return f"only {games} game{'' if games == 1 else 's'} depend{'s' if games == 1 else ''} on it, {needed} are needed"


def _no_majority(games: int) -> str:
    return f"{_NO_MAJORITY} of the {games} games that depend on it"


__all__ = ["LARGEST_VALUE", "LEAST_SUPPORT", "Equations", "Ints", "consensus", "solve"]
