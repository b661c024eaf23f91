"""The block puzzle's rules files: loaded, checked, and laid out as the flat tables that the kernel takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.blocks.kernel import MAX_SIDE
from engine.ruleset import RulesError, Section, read_rules_file

GAME = "blocks"
HAND_SIZE = 3
MIN_SIDE = 4


@dataclass(frozen=True)
class Shape:
    """A fixed piece: its name and, top row first, its rows as masks (bit c is column c of the bounding box)."""

    name: str
    rows: tuple[int, ...]
    width: int

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def cells(self) -> int:
        return sum(row.bit_count() for row in self.rows)

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The cells as (row, column) within the bounding box, in reading order."""
        return [(r, c) for r, row in enumerate(self.rows) for c in range(self.width) if row >> c & 1]


@dataclass(frozen=True)
class BlocksRules:
    """One version of the rules (``engine/blocks/<version>.toml``); every number in it is an integer."""

    version: str
    width: int
    height: int
    cell_points: int
    line_points: tuple[int, ...]
    turn_length: int
    forgiven: int
    cap: int
    continues: dict[str, int]
    shapes: tuple[Shape, ...]

    @cached_property
    def params(self) -> list[int]:
        """The kernel's P_* numbers."""
        return [
            self.width, self.height, self.cell_points, self.turn_length, self.forgiven, self.cap, len(self.shapes),
        ]  # fmt: skip

    @cached_property
    def base(self) -> list[int]:
        """Points by the number of lines, index 0 being no line."""
        return [0, *self.line_points]

    @cached_property
    def shape_tables(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """(row masks by shape * MAX_SIDE + row, heights, widths, cells)."""
        rows = [0] * (len(self.shapes) * MAX_SIDE)
        for index, shape in enumerate(self.shapes):
            rows[index * MAX_SIDE : index * MAX_SIDE + shape.height] = shape.rows
        return rows, [s.height for s in self.shapes], [s.width for s in self.shapes], [s.cells for s in self.shapes]

    @cached_property
    def fast_tables(self) -> tuple[list[int], list[int], list[int]] | None:
        """Bit boards of the 8 x 8 case, or None on another board or with shapes that it cannot hold.

        (masks by shape * 64 + row * 8 + column, 0 where the shape would stick out; anchors by shape, the places where it does
        not; shift counts by shape * MAX_SIDE, one a cell, the last repeated.)
        """
        if (self.width, self.height) != (8, 8) or len(self.shapes) > 255 or any(s.cells > MAX_SIDE for s in self.shapes):
            return None
        masks, anchors, offsets = [0] * (len(self.shapes) * 64), [0] * len(self.shapes), []
        for index, shape in enumerate(self.shapes):
            shifts = [8 * r + c for r, c in shape.offsets]
            offsets += shifts + [shifts[-1]] * (MAX_SIDE - len(shifts))
            for row in range(8 - shape.height + 1):
                for column in range(8 - shape.width + 1):
                    anchor = 8 * row + column
                    anchors[index] |= 1 << anchor
                    masks[index * 64 + anchor] = sum(1 << (anchor + shift) for shift in shifts)
        return masks, anchors, offsets

    @cached_property
    def shape_index(self) -> dict[str, int]:
        """The place in the catalogue by name."""
        return {shape.name: index for index, shape in enumerate(self.shapes)}

    @property
    def mode_names(self) -> tuple[str, ...]:
        """The modes of a record under these rules, as a sentence lists them."""
        return tuple(self.continues)

    def has_mode(self, mode: str) -> bool:
        """Whether a record may name this mode."""
        return mode in self.continues

    @property
    def max_lines(self) -> int:
        """The most lines that one placement can complete: as many as the table has points for."""
        return len(self.line_points)

    @property
    def max_placement(self) -> int:
        """The most that one placement can be worth: 7,020 in version 1.2.0 (documents 003/004)."""
        return max(s.cells for s in self.shapes) * self.cell_points + max(self.line_points) * self.cap


def load_rules(path: Path) -> BlocksRules:
    """Read and check one rules file.  Raises RulesError naming the file and the key."""
    top = read_rules_file(path, GAME)
    board, points, streak, deal = (top.section(name) for name in ("board", "points", "streak", "deal"))
    generator = deal.take("generator", str)
    if generator != "splitmix64":
        raise RulesError(f"{path}: deal.generator is {generator!r}, only 'splitmix64' is known")
    width, height = board.integer("width", MIN_SIDE, MAX_SIDE), board.integer("height", MIN_SIDE, MAX_SIDE)
    rules = BlocksRules(
        version=top.take("version", str),
        width=width,
        height=height,
        cell_points=points.integer("cell", 0, 10**6),
        line_points=tuple(points.integers("lines", 0, 10**6)),
        turn_length=streak.integer("turn_length", 1, 1000),
        forgiven=streak.integer("forgiven", 0, 1000),
        cap=streak.integer("cap", 1, 1000),
        continues=_modes(top.section("modes")),
        shapes=_shapes(top.section("shapes"), width, height),
    )
    for section in (board, points, streak, deal, top):
        section.done()
    most = max(_most_lines(shape) for shape in rules.shapes)
    if len(rules.line_points) < most:
        raise RulesError(f"{path}: points.lines has {len(rules.line_points)} values, a placement can complete {most} lines")
    return rules


def _most_lines(shape: Shape) -> int:
    """How many lines a shape touches, the most that it can complete."""
    columns = 0
    for row in shape.rows:
        columns |= row
    return sum(row != 0 for row in shape.rows) + columns.bit_count()


def _modes(section: Section) -> dict[str, int]:
    continues: dict[str, int] = {}
    for mode in section.names():
        table = section.section(mode)
        continues[mode] = table.integer("continues", 0, 1000)
        table.done()
    if not continues:
        raise RulesError(f"{section.source}: modes must name at least one mode")
    return continues


def _shapes(section: Section, width: int, height: int) -> tuple[Shape, ...]:
    shapes: list[Shape] = []
    for name in section.names():
        drawing = section.take(name, str)
        lines = drawing.split("/")
        if any(set(line) - {"#", "."} or len(line) != len(lines[0]) for line in lines) or "#" not in drawing:
            raise RulesError(f"{section.source}: shapes.{name} is {drawing!r}, it must be rows of # and . of one length")
        if not name.isalnum():
            raise RulesError(f"{section.source}: shapes.{name}: a name is letters and digits only")
        columns = list(zip(*lines, strict=True))
        if "#" not in lines[0] or "#" not in lines[-1] or "#" not in columns[0] or "#" not in columns[-1]:
            raise RulesError(f"{section.source}: shapes.{name} is {drawing!r}, an empty row or column at its edge is not allowed")
        if len(lines) > height or len(lines[0]) > width:
            raise RulesError(f"{section.source}: shapes.{name} is {drawing!r}, larger than the {width} x {height} board")
        rows = tuple(sum(1 << c for c, cell in enumerate(line) if cell == "#") for line in lines)
        shapes.append(Shape(name, rows, len(lines[0])))
    if not 1 <= len(shapes) <= 10_000:
        raise RulesError(f"{section.source}: shapes must hold from 1 to 10000 shapes, not {len(shapes)}")
    return tuple(shapes)
