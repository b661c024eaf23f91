"""The settle machine on drawn boards (golden/tetcolor/settle.txt), on random ones, and that it always ends."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from engine.tetcolor import kernel as k
from engine.tetcolor import layout as at
from engine.tetcolor import notation
from engine.tetcolor.batch_kernel import BATCH
from engine.tetcolor.single import Deal, Game
from tests.engine.tetcolor_support import random_cells, rules

GOLDEN = Path(__file__).parent / "golden" / "tetcolor" / "settle.txt"
Rows = list[list[int]]
SHOWN = {at.STRIKE: "strike", at.DETONATE: "generation"}


@dataclass
class Drawn:
    """One case of the file."""

    name: str
    values: dict[str, str] = field(default_factory=dict)
    columns: list[tuple[str, Rows]] = field(default_factory=list)

    @property
    def points(self) -> list[int]:
        return [] if self.values["points"] == "-" else [int(word) for word in self.values["points"].split()]

    def wrong_points(self) -> list[int]:
        return [int(word) for word in self.values.get("not", "").split()]


def read_drawn(text: str) -> list[Drawn]:
    cases: list[Drawn] = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            cases.append(Drawn(line.strip("[]")))
        elif ": " in line:
            key, value = line.split(": ", 1)
            assert key in ("family", "points", "passes", "pauses", "not") and key not in cases[-1].values, line
            cases[-1].values[key] = value.strip()
        elif not cases[-1].columns:
            cases[-1].columns = [(name.strip(), []) for name in line.split("|")]
        else:
            parts = line.split("|")
            assert len(parts) == len(cases[-1].columns), line
            for (_, rows), part in zip(cases[-1].columns, parts, strict=True):
                rows.append([0 if cell == "." else notation.cell_value(cell) for cell in part.split()])
                assert len(rows[-1]) == len(rows[0]), line
    return cases


DRAWN = read_drawn(GOLDEN.read_text("utf-8"))


@dataclass
class Machine:
    """A board of any size under a family's rules, before its settle; ``compiled`` runs the compiled states."""

    rows: Rows
    family: str = "duo"
    compiled: bool = False
    changed: list[tuple[int, int]] | None = None

    def __post_init__(self) -> None:
        height, width = len(self.rows), len(self.rows[0])
        self.p = list(rules().params[f"{self.family}/arcade/normal"])
        self.p[at.P_WIDTH], self.p[at.P_HEIGHT], self.p[at.P_HANDICAP] = width, height, 0
        start = [cell for row in self.rows for cell in row]
        self.board, self.cols, self.st = [0] * at.N_BOARD, [0] * at.N_COLS, [0] * at.N_STATE
        self.work = [0] * at.N_WORK
        # A listed deal without pieces: nothing enters.
        k.begin(self.p, rules().tables, [], 0, 0, 0, start, 0, [0, 0], self.board, self.cols, self.st)
        self.st[at.PHASE], self.st[at.STATE], self.st[at.EVERYWHERE] = at.SETTLING, at.MARK, int(self.changed is None)
        for index, (row, column) in enumerate(self.changed or []):
            self.work[at.CHANGED + index] = (row + at.TOP) * at.STRIDE + column + at.LEFT
            self.st[at.N_CHANGED] = index + 1
        if self.compiled:
            self.p, self.board, self.cols, self.st, self.work = (
                np.array(part, np.int64) for part in (self.p, self.board, self.cols, self.st, self.work)
            )

    def step(self) -> int:
        """One state; returns which it was."""
        state = int(self.st[at.STATE])
        (BATCH["settle_step"] if self.compiled else k.settle_step)(self.p, self.board, self.cols, self.st, self.work)
        return state

    def cells(self) -> Rows:
        cells = notation.cells_of(self.board, len(self.rows[0]), len(self.rows))
        return [[int(cell) & ~at.STRUCK_MARK for cell in row] for row in cells]

    def run(self) -> list[tuple[int, int, Rows]]:
        """(state, points, board after it) of every state to the end."""
        out = []
        while self.st[at.STATE] != at.DONE:
            state = self.step()
            out.append((state, int(self.st[at.GAIN]), self.cells()))
            assert len(out) < 10_000
        return out


def drawing(rows: Rows) -> str:
    return "\n".join(" ".join(f"{notation.cell_text(cell):3}" for cell in row) for row in rows)


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("case", DRAWN, ids=lambda case: case.name)
def test_drawn(case: Drawn, compiled: bool) -> None:
    before = case.columns[0][1]
    machine = Machine(before, case.values["family"], compiled)
    states = machine.run()
    told = f"[{case.name}]\n{drawing(before)}\n" + "\n".join(
        f"{state} {points}\n{drawing(board)}" for state, points, board in states
    )
    points = [points for state, points, _ in states if state in SHOWN]
    assert points == case.points, told
    assert int(machine.st[at.SCORE]) == sum(points), told
    assert int(machine.st[at.PASSES]) == int(case.values["passes"]), told
    assert int(machine.st[at.GENERATIONS]) == int(case.values.get("pauses", "0")), told
    shown = [(SHOWN[state], board) for state, _, board in states if state in SHOWN]
    for name, board in case.columns[1:]:
        if name in SHOWN.values():
            while shown and shown[0] != (name, board):
                shown.pop(0)
            assert shown, f"no {name} leaves\n{drawing(board)}\n{told}"
        elif name == "after":
            assert machine.cells() == board, told
        else:
            assert name == "not", name
            assert machine.cells() != board, told
    assert sum(points) not in case.wrong_points(), told


def test_every_case_has_its_name_once_and_all_families_come_up() -> None:
    names = [case.name for case in DRAWN]
    assert len(set(names)) == len(names)
    assert {case.values["family"] for case in DRAWN} == {"duo", "tetcolor", "columns", "retris"}
    specials = {cell >> at.SPECIAL_SHIFT & 7 for case in DRAWN for _, rows in case.columns for row in rows for cell in row}
    assert specials == set(range(8))


def random_machine(rng: random.Random, family: str, compiled: bool = False) -> Machine:
    """A board with every special on it, most often full, and sometimes of one colour or of stones and ice alone."""
    width, height = rng.choice([(4, 4), (5, 9), (10, 20), (6, 13), (12, 24)])
    rows = random_cells(
        rng, width, height, rng.choice([1, 1, 0.9, 0.6]), rng.choice([0, 0.1, 0.5, 1]), rng.choice([1, 2, 3, 5])
    )  # fmt: skip
    if rng.random() < 0.2:
        only = rng.choice([at.STONE, at.ACTIVATOR, at.MEGA]) << at.SPECIAL_SHIFT
        rows = [[cell and cell & (at.COLOUR | at.ICE) | only for cell in row] for row in rows]
    return Machine(rows, family, compiled)


@pytest.mark.parametrize("family", ["duo", "tetcolor", "columns", "retris"])
def test_no_board_settles_for_ever(family: str) -> None:
    """Ends within what engine.tetcolor.settle derives: at most b + i + 1 passes and s generations of b blocks, i of them under
    ice, s of them bombs or Activators; a pass is MARK, STRIKE, COLLAPSE, and one MARK more finds nothing."""
    rng = random.Random(f"ends {family}")
    longest = 0
    for _ in range(400):
        machine = random_machine(rng, family, rng.random() < 0.9)
        cells = [cell for row in machine.rows for cell in row if cell]
        ice = sum(cell & at.ICE != 0 for cell in cells)
        bombs = sum(0 < (cell >> at.SPECIAL_SHIFT & 7) < at.STONE for cell in cells)
        most = 3 * (len(cells) + ice + 1) + bombs + 1
        steps = 0
        while machine.st[at.STATE] != at.DONE:
            machine.step()
            steps += 1
            assert steps <= most, f"{family}: {steps} states of at most {most}\n{drawing(machine.rows)}"
        assert machine.st[at.GENERATIONS] <= bombs
        assert machine.st[at.PASSES] <= len(cells)
        longest = max(longest, steps)
    # The boards are no trivial ones.
    assert longest > 15


@pytest.mark.parametrize("family", ["duo", "tetcolor", "columns", "retris"])
def test_runs_are_looked_for_where_they_can_be(family: str) -> None:
    """Looking only at changed blocks finds what looking everywhere does: every state, its points and its board are the same."""
    rng = random.Random(f"local {family}")
    compared = passes = 0
    for _ in range(300):
        settled = random_machine(rng, family)
        settled.run()
        if settled.st[at.EVERYWHERE]:
            continue
        rows = settled.cells()
        empty = [(r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if not cell]
        places = rng.sample(empty, min(len(empty), rng.randrange(1, 6)))
        for r, c in places:
            near = [row[column] & at.COLOUR for row in rows[max(0, r - 1) : r + 2] for column in range(max(0, c - 1), c + 1)]
            rows[r][c] = (
                rng.choice([colour for colour in near if colour] or [1])
                | (rng.choice([0, 0, 1, 5, 6, 7]) << at.SPECIAL_SHIFT)
                | rng.choice([0, 0, at.ICE])
            )
        local, everywhere = Machine(rows, family, changed=places), Machine(rows, family)
        assert local.run() == everywhere.run(), drawing(rows)
        compared += 1
        passes += local.st[at.PASSES]
    assert compared > 100
    assert passes > (0 if family == "retris" else 20)


@pytest.mark.parametrize("family", ["duo", "tetcolor", "columns"])
def test_columns_without_anchors_fall_alike(family: str) -> None:
    """The quick way for a column without anchors does what the general one does, which a stone that is counted but not there brings."""
    rng = random.Random(f"columns {family}")
    passes = 0
    for _ in range(150):
        rows = random_cells(rng, 8, 12, rng.choice([1, 0.8, 0.5]), 0, rng.choice([2, 3, 5]))
        quick, general = Machine(rows, family), Machine(rows, family)
        general.st[at.STONES] += 1
        assert quick.run() == general.run(), drawing(rows)
        # Blocks that moved are looked at in both; in which order plays no part.
        assert quick.cols == general.cols
        passes += quick.st[at.PASSES]
    assert passes > 150


def test_both_engines_take_the_same_states() -> None:
    rng = random.Random("states")
    for _ in range(150):
        machine = random_machine(rng, rng.choice(["duo", "tetcolor", "columns", "retris"]))
        assert Machine(machine.rows, machine.family, True).run() == machine.run(), drawing(machine.rows)


def test_blocks_are_neither_made_nor_lost() -> None:
    """What a settle leaves and what its states report as destroyed is what there was; ice only melts."""
    rng = random.Random("count")
    for _ in range(200):
        machine = random_machine(rng, rng.choice(["duo", "tetcolor", "columns", "retris"]))
        before = sorted(cell & ~at.ICE for row in machine.rows for cell in row if cell)
        gone: list[int] = []
        while machine.st[at.STATE] != at.DONE:
            if machine.step() in SHOWN:
                for index in range(machine.st[at.N_STRUCK]):
                    if machine.work[at.STRUCK_END + index] == at.DESTROYED_END:
                        gone.append(machine.work[at.STRUCK_CELL + index])
        left = [cell & ~at.ICE for row in machine.cells() for cell in row if cell]
        assert sorted(left + gone) == before
        assert not any(cell & at.ICE for cell in gone)
        kinds = {
            at.BOMBS: range(at.NORMAL, at.MEGA + 1), at.ACTIVATORS: [at.ACTIVATOR], at.STONES: [at.STONE],
        }  # fmt: skip
        for counter, specials in kinds.items():
            assert machine.st[counter] == sum(cell >> at.SPECIAL_SHIFT & 7 in specials for cell in left)
        assert machine.st[at.ICES] == sum(cell & at.ICE != 0 for row in machine.cells() for cell in row)


def test_the_multiplier_ends_where_the_rules_say() -> None:
    """After 36 doublings, in both engines: a score must stay within 64 bits, and the same."""
    for compiled in (False, True):
        machine = Machine([[1, 1, 1]], "tetcolor", compiled)
        machine.st[at.PASSES] = 100
        machine.run()
        assert machine.st[at.SCORE] == 6 << 36


def test_a_game_is_a_machine_of_its_own() -> None:
    """A fork in the middle of nothing shares nothing with the game that it comes from."""
    game = Game(rules(), Deal(5, None, None), b"hh" * 30, "duo/arcade/normal")
    for _ in range(21):
        game.step()
    before = (game.board, game.score, game.moves)
    other = game.fork(b"lhhrhhlhh")
    other.run()
    assert other.moves == before[2] + 9
    assert (game.board, game.score, game.moves) == before
