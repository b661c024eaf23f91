"""Tetcolor's rules files: loaded, checked, and laid out as the flat tables that the kernel takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.ruleset import RulesError, Section, read_rules_file
from engine.tetcolor import layout as at

GAME = "tetcolor"
COLOURS = "abcde"
VARIANTS = ("classic", "arcade")
STYLES = ("normal", "relax", "crazy")
HANDICAP = "handicap"
NEVER = 1 << 40
MIN_SIDE = 4
BOMB_KINDS = ("normal", "horizontal", "vertical", "lightning", "mega")
# The order in which a draw below 100 is cut up, which is that of the numbers 1 to 7 of a special.
SPECIAL_KINDS = (*BOMB_KINDS, "activator", "stone")
ROW_AWARDS = 4


@dataclass(frozen=True)
class Shape:
    """A piece as it enters: its letter, its cells as (row, column) of the bounding box in reading order, whether it is turned
    (its blocks are cycled otherwise)."""

    name: str
    cells: tuple[tuple[int, int], ...]
    rotates: bool

    def turns(self) -> list[tuple[tuple[int, int], ...]]:
        """Where the cells lie after 0, 1, 2... turns clockwise; cycling moves each block one down, the lowest to the top."""
        out = [self.cells]
        for _ in range(3 if self.rotates else len(self.cells) - 1):
            if self.rotates:
                height = max(r for r, _ in out[-1])
                out.append(tuple((c, height - r) for r, c in out[-1]))
            else:
                out.append((*out[-1][1:], out[-1][0]))
        return out


@dataclass(frozen=True)
class Family:
    """One of the four games: board, what is matched, what pays, which pieces."""

    name: str
    width: int
    height: int
    runs: bool
    rows: bool
    by_rows: bool
    shift: bool
    pool: tuple[Shape, ...]
    expanded: tuple[Shape, ...]
    styles: tuple[str, ...]


@dataclass(frozen=True)
class TetcolorRules:
    """One version of the rules (``engine/tetcolor/<version>.toml``); every number in it is an integer."""

    version: str
    families: tuple[Family, ...]
    landing: int
    generation: int
    longest_ticks: int
    level_pieces: int
    expanded_from: int
    first_row: int
    row_step: int
    least_row: int
    relax: tuple[int, ...]
    run: int
    row_awards: tuple[int, ...]
    bomb_award: int
    doublings: int
    draw: tuple[int, ...]
    draw_ice: int
    capacities: tuple[int, int, int, int]
    handicap_rows: int
    filled: int

    def has_mode(self, mode: str) -> bool:
        """Whether a record may name this mode: any, for one that does not exist is a fault of the game (``no_such_mode``)."""
        return True

    @property
    def mode_names(self) -> tuple[str, ...]:
        """The modes that exist, as a sentence lists them."""
        return tuple(self.params)

    def family(self, mode: str) -> Family | None:
        """The family of a mode that exists, else None."""
        return next((f for f in self.families if mode in self.params and mode.startswith(f.name + "/")), None)

    @cached_property
    def params(self) -> dict[str, list[int]]:
        """The kernel's P_* numbers by mode: ``family/variant/style`` and the same with ``/handicap``."""
        out = {}
        for family in self.families:
            for variant in VARIANTS:
                for style in _style_names(family.styles, self.relax):
                    for handicap in ("", f"/{HANDICAP}"):
                        out[f"{family.name}/{variant}/{style}{handicap}"] = self._numbers(family, variant, style, bool(handicap))
        return out

    def _numbers(self, family: Family, variant: str, style: str, handicap: bool) -> list[int]:
        relax = self.relax[int(style.removeprefix("relax")) - 1] if style.startswith("relax") else 0
        large_from = 1 if style == "crazy" else NEVER if relax else self.expanded_from
        small = len(family.pool)
        return [
            family.width, family.height, family.runs, family.rows, family.by_rows, family.shift,
            variant == "arcade", handicap, relax, self.pool_starts[family.name], small, small + len(family.expanded), large_from,
            self.landing, self.generation, self.longest_ticks, self.level_pieces, self.first_row, self.row_step, self.least_row,
            self.run, self.bomb_award, self.doublings, len(COLOURS), self.handicap_rows, self.filled,
            *(sum(self.draw[: n + 1]) for n in range(len(self.draw))), self.draw_ice, *self.capacities, *self.row_awards,
        ]  # fmt: skip

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of all pools, each once."""
        return tuple(dict.fromkeys(shape for family in self.families for shape in (*family.pool, *family.expanded)))

    @cached_property
    def turn_of(self) -> dict[Shape, int]:
        """The index in ``tables`` of a shape as it enters."""
        out, index = {}, 0
        for shape in self.shapes:
            out[shape] = index
            index += len(shape.turns()) * at.TURN_SIZE
        return out

    @cached_property
    def shape_of(self) -> dict[int, Shape]:
        """The shape by the index of any of its turns."""
        return {
            first + n * at.TURN_SIZE: shape for shape, first in self.turn_of.items() for n in range(len(shape.turns()))
        }  # fmt: skip

    @cached_property
    def pool_starts(self) -> dict[str, int]:
        """Where in ``tables`` the pool of a family begins, its expansion following."""
        out, index = {}, len(self.shape_of) * at.TURN_SIZE
        for family in self.families:
            out[family.name] = index
            index += len(family.pool) + len(family.expanded)
        return out

    @cached_property
    def tables(self) -> list[int]:
        """The kernel's ``tables``: every turn of every shape, then the pools as indexes of turns."""
        out: list[int] = []
        for shape in self.shapes:
            turns = shape.turns()
            first = len(out)
            for number, cells in enumerate(turns):
                clockwise, counter = ((number + n) % len(turns) * at.TURN_SIZE + first for n in (1, -1))
                offsets = [r * at.STRIDE + c for r, c in cells]
                masks = [sum(1 << r for r, c in cells if c == column) for column in range(at.MAX_CELLS)]
                row = [len(cells), max(c for _, c in cells) + 1, clockwise, counter]
                row += offsets + offsets[-1:] * (at.MAX_CELLS - len(offsets)) + masks
                out += row + [0] * (at.TURN_SIZE - len(row))
        for family in self.families:
            out += [self.turn_of[shape] for shape in (*family.pool, *family.expanded)]
        return out


def _style_names(styles: tuple[str, ...], relax: tuple[int, ...]) -> list[str]:
    names: list[str] = []
    for style in styles:
        names += [f"relax{n}" for n in range(1, len(relax) + 1)] if style == "relax" else [style]
    return names


def load_rules(path: Path) -> TetcolorRules:
    """Read and check one rules file.  Raises RulesError naming the file and the key."""
    top = read_rules_file(path, GAME)
    names = ("clock", "levels", "match", "awards", "draw", "capacities", "handicap")
    clock, levels, match, awards, draw, capacities, handicap = sections = [top.section(name) for name in names]
    generator = draw.take("generator", str)
    if generator != "splitmix64":
        raise RulesError(f"{path}: draw.generator is {generator!r}, only 'splitmix64' is known")
    pools = top.section("pools")
    relax = tuple(levels.integers("relax", 1, 10_000))
    rules = TetcolorRules(
        version=top.take("version", str),
        families=_families(top.section("families"), pools),
        landing=clock.integer("landing", 1, 10_000),
        generation=clock.integer("generation", 1, 10_000),
        # Sums of the clock and a token's nine digits stay far within 64 bits.
        longest_ticks=clock.integer("longest_ticks", 1, 10**9),
        level_pieces=levels.integer("pieces", 1, 10**6),
        expanded_from=levels.integer("expanded_from", 1, 10**6),
        first_row=levels.integer("first", 1, 10_000),
        row_step=levels.integer("step", 0, 10_000),
        least_row=levels.integer("least", 1, 10_000),
        relax=relax,
        run=match.integer("run", 3, MIN_SIDE),
        row_awards=_row_awards(awards),
        bomb_award=awards.integer("bomb", 0, 1000),
        doublings=awards.integer("doublings", 0, 36),
        draw=tuple(draw.integer(kind, 0, 100) for kind in SPECIAL_KINDS),
        draw_ice=draw.integer("ice", 0, 100),
        capacities=_capacities(capacities),
        handicap_rows=handicap.integer("rows", 0, MIN_SIDE * 2),
        filled=handicap.integer("filled", 0, 100),
    )
    for section in (*sections, pools, top):
        section.done()
    if sum(rules.draw) > 100:
        raise RulesError(f"{path}: draw.stone is {rules.draw[-1]}, with the specials before it more than 100")
    lowest = min(family.height for family in rules.families)
    if rules.handicap_rows > lowest:
        raise RulesError(f"{path}: handicap.rows is {rules.handicap_rows}, a board has only {lowest} rows")
    return rules


def _row_awards(awards: Section) -> tuple[int, ...]:
    values = awards.integers("rows", 0, 10**6)
    if len(values) != ROW_AWARDS:
        raise RulesError(f"{awards.source}: awards.rows has {len(values)} values, it must have {ROW_AWARDS}")
    return tuple(values)


def _capacities(section: Section) -> tuple[int, int, int, int]:
    bombs, activators, stones, ices = (section.integer(kind, 0, 1000) for kind in ("bombs", "activators", "stones", "ices"))
    return bombs, activators, stones, ices


def _families(section: Section, pools: Section) -> tuple[Family, ...]:
    drawn: dict[tuple[str, bool], tuple[Shape, ...]] = {}

    def pool(name: str, rotates: bool, key: str) -> tuple[Shape, ...]:
        if name not in pools.names():
            raise RulesError(f"{section.source}: families.{key} is {name!r}, [pools] has {', '.join(pools.names())}")
        if (name, rotates) not in drawn:
            drawn[name, rotates] = _pool(pools.section(name), rotates)
        return drawn[name, rotates]

    out = []
    for name in section.names():
        table = section.section(name)
        rotates = _one_of(table, "turn", ("rotate", "cycle")) == "rotate"
        expanded = table.take("expanded", str)
        family = Family(
            name=name,
            width=table.integer("width", MIN_SIDE, at.MAX_WIDTH),
            height=table.integer("height", MIN_SIDE, at.MAX_HEIGHT),
            runs=table.take("runs", bool),
            rows=table.take("rows", bool),
            by_rows=_one_of(table, "award", ("blocks", "rows")) == "rows",
            shift=_one_of(table, "fall", ("pack", "shift")) == "shift",
            pool=pool(table.take("pool", str), rotates, f"{name}.pool"),
            expanded=pool(expanded, rotates, f"{name}.expanded") if expanded else (),
            styles=_styles(table),
        )
        table.done()
        _check_family(section.source, family)
        out.append(family)
    if not out:
        raise RulesError(f"{section.source}: families must name at least one family")
    for name in pools.names():
        if not any(key == name for key, _ in drawn):
            raise RulesError(f"{section.source}: pools.{name} is used by no family")
    return tuple(out)


def _check_family(source: str, family: Family) -> None:
    where = f"{source}: families.{family.name}"
    if not family.name.isalnum():
        raise RulesError(f"{where}: a name is letters and digits only")
    if not family.runs and not family.rows:
        raise RulesError(f"{where}.runs and rows are both false, then nothing would ever be removed")
    if family.by_rows and family.runs:
        raise RulesError(f"{where}.award is 'rows', but runs are removed too")
    named = set()
    for shape in (*family.pool, *family.expanded):
        if (shape.name, len(shape.cells)) in named:
            raise RulesError(f"{where}.expanded: shape {shape.name} with {len(shape.cells)} cells is in the pool twice")
        named.add((shape.name, len(shape.cells)))
        side = max(max(cell) for cell in shape.cells) + 1
        if side > min(family.width, family.height):
            raise RulesError(f"{where}: shape {shape.name} is larger than the {family.width} x {family.height} board")


def _one_of(table: Section, key: str, values: tuple[str, ...]) -> str:
    value: str = table.take(key, str)
    if value not in values:
        raise RulesError(f"{table.source}: {table.name}.{key} is {value!r}, it must be {' or '.join(values)}")
    return value


def _styles(table: Section) -> tuple[str, ...]:
    styles = table.take("styles", list)
    if not styles or any(style not in STYLES for style in styles) or len(set(styles)) != len(styles):
        raise RulesError(f"{table.source}: {table.name}.styles is {styles!r}, it must name some of {STYLES}, each once")
    return tuple(styles)


def _pool(section: Section, rotates: bool) -> tuple[Shape, ...]:
    shapes = []
    for name in section.names():
        drawing = section.take(name, str)
        where = f"{section.source}: {section.name}.{name}"
        if len(name) != 1 or not "A" <= name <= "Z":
            raise RulesError(f"{where}: a shape's name is one capital letter")
        lines = drawing.split("/")
        if any(set(line) - {"#", "."} or len(line) != len(lines[0]) for line in lines) or "#" not in drawing:
            raise RulesError(f"{where} is {drawing!r}, it must be rows of # and . of one length")
        columns = list(zip(*lines, strict=True))
        if any("#" not in edge for edge in (lines[0], lines[-1], columns[0], columns[-1])):
            raise RulesError(f"{where} is {drawing!r}, an empty row or column at its edge is not allowed")
        cells = tuple((r, c) for r, line in enumerate(lines) for c, cell in enumerate(line) if cell == "#")
        if len(cells) > at.MAX_CELLS or max(len(lines), len(lines[0])) > at.MAX_CELLS:
            raise RulesError(f"{where} is {drawing!r}, at most {at.MAX_CELLS} cells, rows and columns are allowed")
        if not rotates and len(lines[0]) != 1:
            raise RulesError(f"{where} is {drawing!r}, only a stack can be cycled")
        shapes.append(Shape(name, cells, rotates))
    if not shapes:
        raise RulesError(f"{section.source}: {section.name} must hold at least one shape")
    return tuple(shapes)
