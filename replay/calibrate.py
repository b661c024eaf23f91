"""Fitting the integer values of a rules file to claimed scores: which points do the players' phones count with?

The points change nothing in how a game goes on, so a score is a sum of the file's values, each times how often a log earned it.
Those counts come from replaying every log with all values zero but one.  A system of equations is left, one a game, most of them
true and some forged.  It is solved exactly, in integers: a value is taken only when a majority of the games that depend on it
agree with it to the last point, and it is told when no choice of values follows from the games.

Values that decide how a game goes on (board, streak, levels, times) are not fitted.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, log
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from replay.challenges import ChallengeTable
from replay.columns import RecordBatch
from replay.errors import NightError, UsageError
from replay.rulebook import Rulebook
from replay.shards import plan_shards, worked_batches
from replay.verify import Verifier

Ints = npt.NDArray[np.int64]

# By game: the key in the rules file, and the field of the loaded rules.
KEYS: dict[str, dict[str, str]] = {
    "blocks": {"points.cell": "cell_points", "points.lines": "line_points"},
    "tetromino": {
        "points.soft_drop": "soft_drop", "points.hard_drop": "hard_drop", "points.lines": "line_points",
        "points.t_spin": "spin_points", "points.mini_t_spin": "mini_points", "points.perfect_clear": "perfect_points",
        "points.combo": "combo",
    },
    "tetcolor": {"awards.rows": "row_awards", "awards.bomb": "bomb_award"},
}  # fmt: skip
# Fewer games than this say nothing: two forged claims may agree by chance or by design.
LEAST_SUPPORT = 3
LARGEST_VALUE = 10**6
# A sample of equations without a forged one is found with this chance of failure when at least HONEST of the games are honest.
HONEST, MISSED = 0.6, 1e-9
MOST_TRIALS = 50_000
_SHOWN = 20


@dataclass(frozen=True)
class Value:
    """One value of the rules file and what the games say of it.

    ``fitted`` is None when they cannot tell, and ``why`` says why.  ``supporting`` games depend on it and come out to the last
    point with all fitted values; ``contradicting`` ones depend on it and do not (``contradicting_games``: the first few ids);
    ``runner_up`` is the other value with most games behind it, and ``runner_up_games`` how many.
    """

    key: str
    in_file: int
    fitted: int | None
    why: str
    supporting: int
    contradicting: int
    contradicting_games: tuple[str, ...] = ()
    runner_up: int | None = None
    runner_up_games: int = 0

    @property
    def differs(self) -> bool:
        """Whether the games say another value than the file."""
        return self.fitted is not None and self.fitted != self.in_file

    def as_json(self) -> dict[str, Any]:
        return {
            "key": self.key, "in_file": self.in_file, "fitted": self.fitted, "why": self.why, "supporting": self.supporting,
            "contradicting": self.contradicting, "contradicting_games": list(self.contradicting_games),
            "runner_up": self.runner_up, "runner_up_games": self.runner_up_games,
        }  # fmt: skip


@dataclass(frozen=True)
class Calibration:
    """What the games of one game and rules version say: ``games`` were read, ``used`` have a legal log and the board that was
    claimed, ``explained`` of those come out with the fitted values."""

    game: str
    version: str
    games: int
    used: int
    explained: int
    values: tuple[Value, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game, "rules": self.version, "games": self.games, "used": self.used, "explained": self.explained,
            "values": [value.as_json() for value in self.values],
        }  # fmt: skip


@dataclass
class Equations:
    """``counts`` (games x values) times the values is ``claims``, exactly, for an honest game; ``game_ids`` name the rows."""

    counts: Ints
    claims: Ints
    game_ids: list[str] = field(default_factory=list)


# --- Equations from logs ------------------------------------------------------------------------------------------------


def keys_of(game: str, rules: Any) -> list[tuple[str, str, int | None]]:
    """(key as people write it, field of the rules, index in it or None) of every value that can be fitted, in file order."""
    out: list[tuple[str, str, int | None]] = []
    for key, name in KEYS[game].items():
        value = getattr(rules, name)
        if isinstance(value, tuple):
            out += [(f"{key}[{index}]", name, index) for index in range(len(value))]
        else:
            out.append((key, name, None))
    return out


def value_of(rules: Any, name: str, index: int | None) -> int:
    """One value of loaded rules."""
    value = getattr(rules, name)
    return int(value if index is None else value[index])


def _with_only(rules: Any, game: str, wanted: tuple[str, int | None] | None, unit: int) -> Any:
    """The rules with every value zero but one, which is ``unit``."""
    changes: dict[str, Any] = {}
    for name in KEYS[game].values():
        value = getattr(rules, name)
        changes[name] = (0,) * len(value) if isinstance(value, tuple) else 0
    if wanted is not None:
        name, index = wanted
        value = changes[name]
        changes[name] = unit if index is None else tuple(unit if i == index else v for i, v in enumerate(value))
    return replace(rules, **changes)


class Prober:
    """Turns batches of records into equations for the values of one game and rules version."""

    def __init__(self, game: str, rules: Any, challenges: ChallengeTable) -> None:
        self.game, self.rules, self.keys = game, rules, keys_of(game, rules)
        # A value that the rules multiply by a fraction counts in that fraction's parts.
        self.unit = int(rules.back_to_back[1]) if game == "tetromino" else 1

        def verifier(changed: Any) -> Verifier:
            return Verifier(Rulebook({(game, rules.version): changed}, {}), challenges)

        self._as_is = verifier(rules)
        self._without = verifier(_with_only(rules, game, None, 0))
        self._only = [verifier(_with_only(rules, game, (name, index), self.unit)) for _, name, index in self.keys]

    def read(self, batch: RecordBatch) -> tuple[Equations, int]:
        """(equations of the batch's usable games, how many games of this game and version were in it).

        Raises NightError when the engine's score is not the sum that this module takes it for.
        """
        mine = [row for row in range(len(batch)) if batch.text("game", row) == self.game]
        mine = [row for row in mine if batch.text("rules", row) == self.rules.version]
        as_is, usable = self._as_is.replay_scores(batch)
        rows = np.array([row for row in mine if usable[row]], np.int64)
        base = self._without.replay_scores(batch)[0][rows]
        counts = np.stack([probe.replay_scores(batch)[0][rows] - base for probe in self._only], axis=1)
        values = np.array([value_of(self.rules, name, index) for _, name, index in self.keys], np.int64)
        if not np.array_equal(counts @ values, self.unit * (as_is[rows] - base)):
            raise NightError(
                f"{self.game} {self.rules.version}: a replayed score is not the sum of the rules' values, report this as a bug"
            )
        claims = self.unit * (batch.numbers["score"][rows] - base)
        ids = [str(batch.text("game_id", int(row))) for row in rows]
        return Equations(counts, claims, ids), len(mine)


def read_equations(files: Iterable[Path], prober: Prober, threads: int | None, most: int) -> tuple[Equations, int]:
    """(equations of the first ``most`` usable games of the files, games read).  Raises InputError and NightError."""
    parts: list[Equations] = []
    games = used = 0
    for shard in plan_shards(files, name=str):
        for found, read in worked_batches(shard, prober.read, threads):
            parts.append(found)
            games, used = games + read, used + len(found.game_ids)
            if used >= most:
                break
        if used >= most:
            break
    if not parts:
        return Equations(np.zeros((0, len(prober.keys)), np.int64), np.zeros(0, np.int64)), games
    counts = np.concatenate([part.counts for part in parts])[:most]
    claims = np.concatenate([part.claims for part in parts])[:most]
    return Equations(counts, claims, [game_id for part in parts for game_id in part.game_ids][:most]), games


# --- Solving ------------------------------------------------------------------------------------------------------------


def calibrate(prober: Prober, equations: Equations, games: int) -> Calibration:
    """What the equations say of every value."""
    keys = prober.keys
    found, why = solve(equations, [key for key, _, _ in keys])
    known = np.array([value is not None for value in found], np.bool_)
    values = np.array([value or 0 for value in found], np.int64)
    decided = ~(equations.counts[:, ~known] != 0).any(axis=1)
    fits = decided & (equations.counts @ values == equations.claims)
    out = []
    for column, (key, name, index) in enumerate(keys):
        depends = decided & (equations.counts[:, column] != 0)
        against = np.flatnonzero(depends & ~fits)
        runner_up, votes = _runner_up(equations, depends, values, column) if known[column] else (None, 0)
        out.append(
            Value(
                key, value_of(prober.rules, name, index), found[column], why[column], int((depends & fits).sum()), len(against),
                tuple(equations.game_ids[row] for row in against[:_SHOWN]), runner_up, votes,
            )
        )  # fmt: skip
    return Calibration(prober.game, prober.rules.version, games, len(equations.game_ids), int(fits.sum()), tuple(out))


def solve(equations: Equations, names: Sequence[str]) -> tuple[list[int | None], list[str]]:
    """(value of each column or None, why it cannot be told or "").

    The fewest values that games determine among themselves are solved first; each later step takes those for known.
    """
    counts, claims = equations.counts, equations.claims
    width = counts.shape[1]
    found: list[int | None] = [None] * width
    why = ["" if counts[:, column].any() else "no game earned it" for column in range(width)]
    contested: set[frozenset[int]] = set()
    while True:
        group = _next_group(counts, found, contested)
        if group is None:
            break
        known = [column for column in range(width) if found[column] is not None]
        others = [column for column in range(width) if found[column] is None and column not in group]
        rows = ~(counts[:, others] != 0).any(axis=1) & (counts[:, sorted(group)] != 0).any(axis=1)
        left = claims[rows] - counts[np.ix_(rows, known)] @ np.array([found[c] for c in known], np.int64)
        columns = sorted(group)
        answer, problem = _consensus(counts[np.ix_(rows, columns)], left)
        if answer is None:
            contested.add(group)
            for column in columns:
                why[column] = problem
            continue
        for column, value in zip(columns, answer, strict=True):
            found[column], why[column] = value, ""
        # With more values known, more games speak for those that were left open.
        contested.clear()
    for column in range(width):
        if found[column] is None and not why[column]:
            why[column] = _together(counts, found, column, names)
    return found, why


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
        if len(inside) >= len(group) and len(_independent(inside.tolist())) == len(group):
            return group
    return None


def _consensus(counts: Ints, claims: Ints) -> tuple[list[int] | None, str]:
    """The integers that a majority of equations agree on exactly, or None and why there are none."""
    size = counts.shape[1]
    if len(counts) < max(LEAST_SUPPORT, size):
        return None, _too_few(len(counts), max(LEAST_SUPPORT, size))
    rng = random.Random(len(counts) * 1_000_003 + int(np.abs(claims).sum() % 1_000_003))
    trials = min(MOST_TRIALS, ceil(log(MISSED) / log(1 - HONEST**size)) + 10)
    best: list[int] | None = None
    support = 0
    for _ in range(trials):
        rows = _independent_sample(counts, rng)
        answer = _solve_exactly([counts[row].tolist() for row in rows], [int(claims[row]) for row in rows])
        if answer is None or answer == best:
            continue
        agreeing = int((counts @ np.array(answer, np.int64) == claims).sum())
        if agreeing > support:
            best, support = answer, agreeing
        if support * 10 >= len(counts) * 9:
            break
    if best is None or support * 2 <= len(counts) or support < LEAST_SUPPORT:
        return None, f"no value is agreed on by most of the {len(counts)} games that depend on it"
    agreeing_rows = counts[counts @ np.array(best, np.int64) == claims]
    if (least := int((agreeing_rows != 0).sum(axis=0).min())) < LEAST_SUPPORT:
        return None, _too_few(least, LEAST_SUPPORT)
    if len(_independent(agreeing_rows.tolist())) < size:
        return None, "the games that agree do not tell these values apart"
    return best, ""


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


def _draws(size: int, rng: random.Random) -> Iterable[int]:
    for _ in range(4096):
        yield rng.randrange(size)
    yield from range(size)


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
    if not others:
        return _too_few(len(depends), LEAST_SUPPORT)
    return f"the games do not tell it from {', '.join(names[c] for c in others)}"


def _too_few(games: int, needed: int) -> str:
    return f"only {games} game{'' if games == 1 else 's'} depend{'s' if games == 1 else ''} on it, {needed} are needed"


def _runner_up(equations: Equations, depends: npt.NDArray[np.bool_], values: Ints, column: int) -> tuple[int | None, int]:
    """The other value that most games would need, all else as fitted."""
    counts, claims = equations.counts[depends], equations.claims[depends]
    own = counts[:, column]
    left = claims - counts @ values + own * values[column]
    whole = (left % own == 0) & (left >= 0)
    votes = Counter((left[whole] // own[whole]).tolist())
    votes.pop(int(values[column]), None)
    if not votes:
        return None, 0
    # Of equally many votes the smallest value: the same games always give the same answer.
    value, number = min(votes.items(), key=lambda item: (-item[1], item[0]))
    return int(value), number


def fit_files(
    files: Sequence[Path], game: str, version: str, rulebook: Rulebook, challenges: ChallengeTable, *, threads: int | None = None,
    most: int = 200_000,
) -> Calibration:  # fmt: skip
    """Fit the values of one game's rules version to the claims in files of records.

    At most ``most`` usable games are taken, in the order of files and lines.  Raises UsageError for a game or version that
    nobody knows, InputError for files that cannot be read.
    """
    if game not in KEYS:
        raise UsageError(f"--game {game!r} is no game, it must be one of {', '.join(KEYS)}")
    rules = rulebook.find(game, version)
    if rules is None:
        known = ", ".join(rulebook.versions(game)) or "none"
        raise UsageError(f"--version {version!r}: there are no such rules of {game}, known are {known}")
    prober = Prober(game, rules, challenges)
    equations, games = read_equations(files, prober, threads, most)
    return calibrate(prober, equations, games)
