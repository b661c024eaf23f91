"""Fitting the integer values of a rules file to claimed scores: which points do the players' phones count with?

The points change nothing in how a game goes on, so a score is a sum of the file's values, each times how often a log earned it.
Those counts come from replaying every log with all values zero but one.  A system of equations is left, one a game, most of them
true and some forged.  It is solved exactly, in integers: a value is taken only when a majority of the games that depend on it
agree with it to the last point, and it is told when no choice of values follows from the games.

Values that decide how a game goes on (board, streak, levels, times) are not fitted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from replay.calibrate_solve import Equations, Ints, solve
from replay.challenges import ChallengeTable
from replay.columns import RecordBatch
from replay.errors import NightError, UsageError
from replay.rulebook import Rulebook
from replay.shards import plan_shards, worked_batches
from replay.verify import Verifier

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
    claimed, ``explained`` of those come out with the fitted values.

    ``copies`` of the games are the same upload again, which says nothing new; ``unreadable`` records beside them are no games.
    ``ended_early``: there are more games than were asked for.
    """

    game: str
    version: str
    games: int
    used: int
    explained: int
    values: tuple[Value, ...]
    copies: int = 0
    unreadable: int = 0
    ended_early: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game, "rules": self.version, "games": self.games, "used": self.used, "explained": self.explained,
            "copies": self.copies, "unreadable": self.unreadable, "ended_early": self.ended_early,
            "values": [value.as_json() for value in self.values],
        }  # fmt: skip


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


@dataclass(frozen=True)
class Read:
    """What a batch holds of one game and rules version: the equations of its usable games, the ``contents`` that tell copies
    among them and their ``places`` among all such ``games`` (from 1); ``unreadable`` records are of no game."""

    equations: Equations
    contents: list[bytes]
    places: Ints
    games: int
    unreadable: int


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

    def read(self, batch: RecordBatch) -> Read:
        """The equations of the batch's usable games, copies among them.

        Raises NightError when the engine's score is not the sum that this module takes it for.
        """
        mine = [row for row in range(len(batch)) if batch.text("game", row) == self.game]
        mine = [row for row in mine if batch.text("rules", row) == self.rules.version]
        as_is, usable, log_hash = self._as_is.replay_scores(batch)
        rows = np.array([row for row in mine if usable[row]], np.int64)
        base = self._without.replay_scores(batch)[0][rows]
        counts = np.stack([probe.replay_scores(batch)[0][rows] - base for probe in self._only], axis=1)
        values = np.array([value_of(self.rules, name, index) for _, name, index in self.keys], np.int64)
        if not np.array_equal(counts @ values, self.unit * (as_is[rows] - base)):
            raise NightError(
                f"{self.game} {self.rules.version}: a replayed score is not the sum of the rules' values, report this as a bug"
            )
        # A claim at the end of 64 bits must not come round to an honest one.
        most = 2**62 // self.unit
        claims = self.unit * (np.clip(batch.numbers["score"][rows], -most, most) - base)
        ids = [str(batch.text("game_id", int(row))) for row in rows]
        contents = [_content(batch, int(row), log_hash[row]) for row in rows]
        return Read(Equations(counts, claims, ids), contents, np.searchsorted(mine, rows) + 1, len(mine), len(batch.quarantined))


def _content(batch: RecordBatch, row: int, log_hash: npt.NDArray[np.uint64]) -> bytes:
    """What makes two uploads one game, as the nights tell copies (resolve_uploads.sql); all are of one game and version."""
    texts = [batch.text(name, row) for name in ("mode", "challenge", "player_id", "final_board")]
    numbers = [int(batch.numbers[name][row]) for name in ("attempt", "score", "best_combo")]
    given = [int(batch.numbers[name][row]) if there[row] else None for name, there in batch.given.items()]
    return blake2b(repr((texts, numbers, given, log_hash.tolist())).encode(), digest_size=16).digest()


def read_equations(files: Iterable[Path], prober: Prober, threads: int | None, most: int) -> tuple[Equations, Calibration]:
    """(equations of the first ``most`` usable games of the files, what was read and left out; nothing is fitted yet).

    Raises InputError and NightError.
    """
    parts: list[Equations] = []
    seen: set[bytes] = set()
    games = copies = unreadable = 0
    ended_early = False
    for found in (found for shard in plan_shards(files, name=str) for found in worked_batches(shard, prober.read, threads)):
        new = {content: row for row, content in reversed(list(enumerate(found.contents))) if content not in seen}
        keep = sorted(new.values())
        seen |= new.keys()
        ended_early = len(seen) > most
        if ended_early:
            keep = keep[: len(keep) - (len(seen) - most)]
        last = (keep[-1] + 1 if keep else 0) if ended_early else len(found.contents)
        parts.append(found.equations.only(keep))
        copies += last - len(keep)
        games += found.games if not ended_early else int(found.places[last - 1]) if last else 0
        unreadable += found.unreadable
        if ended_early:
            break
    read = Calibration(prober.game, prober.rules.version, games, 0, 0, (), copies, unreadable, ended_early)
    if not parts:
        return Equations(np.zeros((0, len(prober.keys)), np.int64), np.zeros(0, np.int64)), read
    counts, claims = (np.concatenate([getattr(part, name) for part in parts]) for name in ("counts", "claims"))
    return Equations(counts, claims, [game_id for part in parts for game_id in part.game_ids]), read


# --- What they say ------------------------------------------------------------------------------------------------------------


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
    equations, read = read_equations(files, prober, threads, most)
    found = calibrate(prober, equations, read.games)
    return replace(found, copies=read.copies, unreadable=read.unreadable, ended_early=read.ended_early)
