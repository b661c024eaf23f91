"""Tetromino Arcade's rules files: loaded, checked, and laid out as the flat tables that the kernel takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.ruleset import RulesError, Section, read_rules_file
from engine.tetromino import pieces as k
from engine.tetromino.text import LETTERS

GAME = "tetromino"
PIECE_NAMES = bytes(LETTERS).decode()
SPIN_PIECE = "T"
NO_KICKS = "none"
# Orientations in clockwise order, as kick tables name them.
TURNS = "0R2L"
MIN_WIDTH, MIN_HEIGHT = 4, 24
LARGEST_KICK = 2
_MOST_POINTS, _MOST_TICKS = 10**6, 10**9
_MODE = re.compile(r"(?P<name>[^/]+)/(?P<level>[1-9][0-9]*)")

Kick = tuple[int, int]


@dataclass(frozen=True)
class Mode:
    """How one mode starts and ends: ``levels`` (first and last that it may begin with), lines and ticks that end it (0: none)."""

    levels: tuple[int, int]
    gravity: str
    end_lines: int
    end_ticks: int
    rescue: bool


@dataclass(frozen=True)
class Piece:
    """A piece: its box in the spawn orientation, top row first, the box's left column from 0, and its kick table's name."""

    name: str
    spawn: tuple[str, ...]
    column: int
    kicks: str

    @cached_property
    def turns(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """By orientation the cells of the box as (row from its bottom, column), bottom row first."""
        box, out = self.spawn, []
        for _ in TURNS:
            rows = list(reversed(box))
            out.append(tuple((r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell == "#"))
            if self.kicks != NO_KICKS:
                box = tuple("".join(column) for column in zip(*reversed(box), strict=True))
        return tuple(out)


@dataclass(frozen=True)
class TetrominoRules:
    """One version of the rules (``engine/tetromino/<version>.toml``); every number in it is an integer."""

    version: str
    width: int
    height: int
    visible: int
    spawn_row: int
    rescued_above: int
    soft_drop: int
    hard_drop: int
    line_points: tuple[int, ...]
    spin_points: tuple[int, ...]
    mini_points: tuple[int, ...]
    perfect_points: tuple[int, ...]
    combo: int
    back_to_back: tuple[int, int]
    lock_delay: int
    lock_resets: int
    longest_ticks: int
    lines_a_level: int
    gravity: dict[str, tuple[int, ...]]
    modes: dict[str, Mode]
    pieces: tuple[Piece, ...]
    kick_tables: dict[str, dict[str, tuple[Kick, ...]]]

    @property
    def mode_names(self) -> tuple[str, ...]:
        """The modes of a record under these rules, as a sentence lists them."""
        out = []
        for name, mode in self.modes.items():
            first, last = mode.levels
            out.append(name if first == last else f"{name}/{first} to {name}/{last}")
        return tuple(out)

    def has_mode(self, mode: str) -> bool:
        """Whether a record may name this mode."""
        return self._mode(mode) is not None

    def _mode(self, text: str) -> tuple[Mode, int] | None:
        """A mode and the level that it begins with, None for what is none."""
        mode = self.modes.get(text)
        if mode is not None:
            return (mode, mode.levels[0]) if mode.levels[0] == mode.levels[1] else None
        match = _MODE.fullmatch(text)
        mode = self.modes.get(match["name"]) if match else None
        if match is None or mode is None or len(match["level"]) > 9:
            return None
        first, last = mode.levels
        return (mode, int(match["level"])) if first != last and first <= int(match["level"]) <= last else None

    def params(self, mode: str) -> list[int]:
        """The kernel's P_* numbers for a mode that these rules have; KeyError otherwise."""
        found = self._mode(mode)
        if found is None:
            raise KeyError(mode)
        how, level = found
        table = self.gravity[how.gravity]
        full_row = (1 << 16) - 1
        field = ((1 << self.width) - 1) << k.WALL
        out = [0] * k.P_GRAVITY + list(table)
        for at, value in (
            (k.P_HEIGHT, self.height), (k.P_VISIBLE, self.visible), (k.P_RESCUED_ABOVE, self.rescued_above),
            (k.P_SPAWN_ROW, self.spawn_row - 1), (k.P_EMPTY_ROW, full_row ^ field),
            (k.P_LOCK_DELAY, self.lock_delay), (k.P_RESETS, self.lock_resets), (k.P_LONGEST, self.longest_ticks),
            (k.P_LINES_A_LEVEL, self.lines_a_level), (k.P_SPIN_PIECE, PIECE_NAMES.index(SPIN_PIECE)),
            (k.P_SOFT, self.soft_drop), (k.P_HARD, self.hard_drop), (k.P_COMBO, self.combo),
            (k.P_CHAIN_TIMES, self.back_to_back[0]), (k.P_CHAIN_PARTS, self.back_to_back[1]),
            (k.P_START, level), (k.P_END_LINES, how.end_lines), (k.P_END_TICKS, how.end_ticks),
            (k.P_RESCUE, int(how.rescue)), (k.P_LEVELS, len(table)),
        ):  # fmt: skip
            out[at] = value
        for first, values in (
            (k.P_PLAIN, (0, *self.line_points)), (k.P_FULL, self.spin_points), (k.P_MINI, self.mini_points),
            (k.P_PERFECT, (0, *self.perfect_points)), (k.P_COLUMN, tuple(piece.column for piece in self.pieces)),
        ):  # fmt: skip
            out[first : first + len(values)] = values
        return out

    @cached_property
    def kicks(self) -> list[int]:
        """The kernel's ``kicks``: tests by shape and direction, then lowest row and row above by shape."""
        out = [0] * k.N_KICKS
        for number, piece in enumerate(self.pieces):
            for turn, cells in enumerate(piece.turns):
                shape = number * 4 + turn
                out[k.K_LOWEST + shape] = min(row for row, _ in cells)
                out[k.K_ABOVE + shape] = max(row for row, _ in cells) + 1
                if piece.kicks == NO_KICKS:
                    continue
                for direction, way in enumerate((1, 3)):
                    tests = self.kick_tables[piece.kicks][TURNS[turn] + TURNS[(turn + way) % 4]]
                    first = shape * k.K_SHAPE + direction * k.K_DIRECTION
                    out[first : first + k.K_DIRECTION] = [number for test in tests for number in test]
        return out

    @cached_property
    def masks(self) -> list[int]:
        """The kernel's ``masks``: shapes as four 16-bit rows, the colours of each of their rows, a T's front corners by turn."""
        out = [0] * k.N_MASKS
        for number, piece in enumerate(self.pieces):
            for turn, cells in enumerate(piece.turns):
                shape = number * 4 + turn
                for row, column in cells:
                    out[shape] |= 1 << (16 * row + column)
                    out[k.M_COLOUR + shape * 4 + row] |= (number + 1) << (4 * column)
        # A T points up as it spawns; corners as (row, column) of its box.
        for turn, corners in enumerate((((2, 0), (2, 2)), ((2, 2), (0, 2)), ((0, 2), (0, 0)), ((0, 0), (2, 0)))):
            out[k.M_FRONT + turn] = sum(1 << (16 * row + column) for row, column in corners)
        return out


def load_rules(path: Path) -> TetrominoRules:
    """Read and check one rules file.  Raises RulesError naming the file and the key."""
    top = read_rules_file(path, GAME)
    board, points, time, deal = (top.section(name) for name in ("board", "points", "time", "deal"))
    generator = deal.take("generator", str)
    if generator != "splitmix64":
        raise RulesError(f"{path}: deal.generator is {generator!r}, only 'splitmix64' is known")
    gravity = _gravity(top.section("gravity"))
    width, height = board.integer("width", MIN_WIDTH, k.MAX_WIDTH), board.integer("height", MIN_HEIGHT, k.MAX_HEIGHT)
    spawn_row = board.integer("spawn_row", 1, height)
    tables = _kick_tables(top.section("kicks"))
    rules = TetrominoRules(
        version=top.take("version", str),
        width=width,
        height=height,
        visible=board.integer("visible", 1, height),
        spawn_row=spawn_row,
        rescued_above=board.integer("rescued_above", 0, spawn_row - 1),
        soft_drop=points.integer("soft_drop", 0, _MOST_POINTS),
        hard_drop=points.integer("hard_drop", 0, _MOST_POINTS),
        line_points=_values(points, "lines", 4),
        spin_points=_values(points, "t_spin", 4),
        mini_points=_values(points, "mini_t_spin", 3),
        perfect_points=_values(points, "perfect_clear", 4),
        combo=points.integer("combo", 0, _MOST_POINTS),
        back_to_back=_fraction(points),
        lock_delay=time.integer("lock_delay", 1, 10**4),
        lock_resets=time.integer("lock_resets", 0, 10**4),
        longest_ticks=time.integer("longest_ticks", 1, _MOST_TICKS),
        lines_a_level=time.integer("lines_a_level", 1, 10**4),
        gravity=gravity,
        modes=_modes(top.section("modes"), gravity),
        pieces=_pieces(top.section("pieces"), width, height, spawn_row, tables),
        kick_tables=tables,
    )
    for section in (board, points, time, deal, top):
        section.done()
    return rules


def _values(points: Section, key: str, count: int) -> tuple[int, ...]:
    values = points.integers(key, 0, _MOST_POINTS)
    if len(values) != count:
        raise RulesError(f"{points.source}: points.{key} has {len(values)} values, it must have {count}")
    return tuple(values)


def _fraction(points: Section) -> tuple[int, int]:
    """Back-to-back's multiplier; every base that it can meet must come out whole, since scores are integers."""
    values = points.integers("back_to_back", 1, 1000)
    if len(values) != 2:
        raise RulesError(f"{points.source}: points.back_to_back is {values!r}, it must be two integers: times and parts")
    times, parts = values
    for key, first in (("lines", 3), ("t_spin", 1), ("mini_t_spin", 1)):
        for base in points.integers(key, 0, _MOST_POINTS)[first:]:
            if base * times % parts:
                raise RulesError(
                    f"{points.source}: points.back_to_back is {values!r}, with which {base} of points.{key} is no whole number"
                )
    return times, parts


def _gravity(section: Section) -> dict[str, tuple[int, ...]]:
    tables = {name: tuple(section.integers(name, 1, k.MAX_HEIGHT << 16)) for name in section.names()}
    if not tables:
        raise RulesError(f"{section.source}: gravity must hold at least one table")
    return tables


def _modes(section: Section, gravity: dict[str, tuple[int, ...]]) -> dict[str, Mode]:
    modes: dict[str, Mode] = {}
    for name in section.names():
        table = section.section(name)
        where = f"{section.source}: modes.{name}"
        levels = table.integers("levels", 1, 1000)
        if len(levels) > 2 or levels != sorted(levels):
            raise RulesError(f"{where}.levels is {levels!r}, it must be one level, or the first and the last")
        speed = table.take("gravity", str)
        if speed not in gravity:
            raise RulesError(f"{where}.gravity is {speed!r}, it must be one of {', '.join(gravity)}")
        modes[name] = Mode(
            levels=(levels[0], levels[-1]),
            gravity=speed,
            end_lines=table.integer("end_lines", 0, 10**6),
            end_ticks=table.integer("end_ticks", 0, _MOST_TICKS),
            rescue=table.take("rescue", bool),
        )
        table.done()
        if not name or "/" in name:
            raise RulesError(f"{where}: a name of a mode is not empty and holds no '/'")
    if not modes:
        raise RulesError(f"{section.source}: modes must name at least one mode")
    return modes


def _kick_tables(section: Section) -> dict[str, dict[str, tuple[Kick, ...]]]:
    tables: dict[str, dict[str, tuple[Kick, ...]]] = {}
    for name in section.names():
        table = section.section(name)
        if name == NO_KICKS:
            raise RulesError(f"{section.source}: kicks.{name}: {NO_KICKS!r} stands for a piece that does not turn")
        tables[name] = {
            turn + TURNS[(at + way) % 4]: _tests(table, turn + TURNS[(at + way) % 4])
            for at, turn in enumerate(TURNS)
            for way in (1, 3)
        }
        table.done()
    return tables


def _tests(table: Section, key: str) -> tuple[Kick, ...]:
    tests = table.take(key, list)
    fine = len(tests) == k.TESTS and all(
        type(test) is list and len(test) == 2 and all(type(n) is int and abs(n) <= LARGEST_KICK for n in test) for test in tests
    )
    if not fine:
        raise RulesError(
            f"{table.source}: {table.name}.{key} is {tests!r}, it must be {k.TESTS} pairs of integers "
            f"from {-LARGEST_KICK} to {LARGEST_KICK}"
        )
    return tuple((dx, dy) for dx, dy in tests)


def _pieces(
    section: Section, width: int, height: int, spawn_row: int, tables: dict[str, dict[str, tuple[Kick, ...]]]
) -> tuple[Piece, ...]:
    if section.names() != list(PIECE_NAMES):
        found = " ".join(section.names())
        raise RulesError(f"{section.source}: pieces are {found!r}, they must be {' '.join(PIECE_NAMES)} in this order")
    pieces: list[Piece] = []
    for name in section.names():
        table = section.section(name)
        where = f"{section.source}: pieces.{name}"
        drawing = table.take("spawn", str)
        rows = tuple(drawing.split("/"))
        square = len(rows) in (3, 4) and all(len(row) == len(rows) and not set(row) - {"#", "."} for row in rows)
        if not square or drawing.count("#") != 4:
            raise RulesError(f"{where}.spawn is {drawing!r}, it must be a square of 3 or 4 rows of # and . with four cells")
        if name == SPIN_PIECE and rows != (".#.", "###", "..."):
            raise RulesError(f"{where}.spawn is {drawing!r}, it must be '.#./###/...': its corners decide what is a spin")
        kicks = table.take("kicks", str)
        if kicks != NO_KICKS and kicks not in tables:
            raise RulesError(f"{where}.kicks is {kicks!r}, it must be {NO_KICKS!r} or one of {', '.join(tables)}")
        piece = Piece(name, rows, table.integer("column", 1, width) - 1, kicks)
        table.done()
        cells = piece.turns[0]
        tall = max(row for row, _ in cells) - min(row for row, _ in cells)
        if piece.column + max(column for _, column in cells) >= width or spawn_row + tall > height:
            raise RulesError(f"{where}.column is {piece.column + 1}: the new piece would not lie on the {width} x {height} board")
        pieces.append(piece)
    return tuple(pieces)
