"""Tetcolor's rules file: every value as decided, every mode, and a broken file is refused with the name of what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.ruleset import RulesError
from engine.tetcolor import layout as at
from engine.tetcolor.rules import TetcolorRules, load_rules
from tests.engine.support import replaced
from tests.engine.tetcolor_support import RULES_FOLDER, rules

TEXT = (RULES_FOLDER / "1.0.0.toml").read_text("utf-8")


def write(folder: Path, text: str) -> TetcolorRules:
    path = folder / "1.0.0.toml"
    path.write_text(text, "utf-8")
    return load_rules(path)


def refused(folder: Path, text: str, *named: str) -> None:
    """Loading must fail with one sentence that begins with the file and holds all of ``named``."""
    with pytest.raises(RulesError) as caught:
        write(folder, text)
    message = str(caught.value)
    assert message.startswith(str(folder / "1.0.0.toml")), message
    for word in named:
        assert word in message, message


def section_span(text: str, section: str) -> tuple[int, int]:
    """Where a section's lines begin and end; the head of the file is section ``""``."""
    start = 0 if not section else text.index(f"[{section}]\n") + len(section) + 3
    following = re.search(r"^\[", text[start:], re.MULTILINE)
    return start, start + following.start() if following else len(text)


def edited(section: str, key: str, line: str) -> str:
    """The file with the line of one key replaced."""
    start, end = section_span(TEXT, section)
    return TEXT[:start] + replaced(TEXT[start:end], rf"^{re.escape(key)} *=.*$", line) + TEXT[end:]


def dotted(section: str, key: str) -> str:
    return f"{section}.{key}" if section else key


def keys() -> list[tuple[str, str]]:
    """Every (section, key) of the file, in its order."""
    found = []
    for part in re.split(r"^(?=\[)", TEXT, flags=re.MULTILINE):
        head = re.match(r"\[(.*)\]", part)
        found += [(head[1] if head else "", key) for key in re.findall(r"^(\w+) *=", part, re.MULTILINE)]
    return found


KEYS = keys()
SHAPES = [(section, key) for section, key in KEYS if section.startswith("pools.")]


def test_what_the_file_says() -> None:
    loaded = rules()
    assert [family.name for family in loaded.families] == ["duo", "tetcolor", "columns", "retris"]
    assert [(family.width, family.height) for family in loaded.families] == [(10, 20), (8, 16), (6, 13), (10, 20)]
    assert (loaded.landing, loaded.generation, loaded.longest_ticks) == (24, 30, 24 * 3600 * 60)
    assert (loaded.level_pieces, loaded.expanded_from, loaded.run, loaded.bomb_award) == (21, 6, 3, 1)
    assert loaded.row_awards == (1, 4, 12, 24)
    assert loaded.relax == (60, 48, 36, 28, 20, 14, 9, 5)
    assert loaded.capacities == (5, 3, 10, 10)
    assert (loaded.draw, loaded.draw_ice) == ((2, 2, 2, 2, 1, 2, 3), 4)
    assert (loaded.handicap_rows, loaded.filled) == (6, 70)


def drawn(cells: tuple[tuple[int, int], ...]) -> str:
    """A shape as rows of # and ., from its cells."""
    width, height = max(c for _, c in cells) + 1, max(r for r, _ in cells) + 1
    return "/".join("".join("#" if (r, c) in cells else "." for c in range(width)) for r in range(height))


POOLS = {
    "duo": "IJLOSTZ" + "FILNPTUVWXYZ", "tetcolor": "IL" + "IJLOSTZ", "columns": "C", "retris": "IJLOSTZ" + "FILNPTUVWXYZ",
}  # fmt: skip


@pytest.mark.parametrize("name", POOLS)
def test_pools_in_their_order(name: str) -> None:
    """Cells in reading order, pools as expanded; a shape that two families share is one."""
    family = next(family for family in rules().families if family.name == name)
    assert "".join(shape.name for shape in (*family.pool, *family.expanded)) == POOLS[name]
    for shape in (*family.pool, *family.expanded):
        assert list(shape.cells) == sorted(shape.cells)
    sizes = {"duo": (4, 5), "tetcolor": (3, 4), "columns": (3, 0), "retris": (4, 5)}[name]
    assert {len(shape.cells) for shape in family.pool} == {sizes[0]}
    assert {len(shape.cells) for shape in family.expanded} == ({sizes[1]} if sizes[1] else set())


def test_turns_of_a_shape() -> None:
    """Clockwise in its bounding box; the order of the cells is that of the upright piece, so colours go with them."""
    shape = rules().families[0].pool[1]
    assert (shape.name, drawn(shape.cells)) == ("J", "#../###")
    assert [drawn(turn) for turn in shape.turns()] == ["#../###", "##/#./#.", "###/..#", ".#/.#/##"]
    assert [turn[0] for turn in shape.turns()] == [(0, 0), (0, 1), (1, 2), (2, 0)]
    stack = rules().families[2].pool[0]
    assert stack.turns() == [((0, 0), (1, 0), (2, 0)), ((1, 0), (2, 0), (0, 0)), ((2, 0), (0, 0), (1, 0))]
    for shape in rules().shapes:
        assert len({frozenset(turn) for turn in shape.turns()}) in ((1, 2, 4) if shape.rotates else (1,))
        tables = rules().tables
        for number, cells in enumerate(shape.turns()):
            turn = rules().turn_of[shape] + number * at.TURN_SIZE
            assert tables[tables[turn + at.T_CLOCKWISE] + at.T_COUNTER] == turn
            assert tables[turn + at.T_WIDTH] == max(c for _, c in cells) + 1
            assert rules().shape_of[turn] is shape


def test_modes() -> None:
    """Three families of two variants and ten styles, columns of nine, each with and without handicap."""
    names = rules().mode_names
    assert len(names) == len(set(names)) == 3 * 2 * 10 * 2 + 2 * 9 * 2
    assert {name.count("/") for name in names} == {2, 3}
    assert not any(name.startswith("columns/") and "crazy" in name for name in names)
    assert {len(numbers) for numbers in rules().params.values()} == {at.N_PARAMS}
    family = rules().family("retris/arcade/relax3/handicap")
    assert family is not None and family.name == "retris"
    assert rules().family("retris/arcade/relax9") is None
    assert rules().family("retris") is None


@pytest.mark.parametrize(
    ("mode", "relax", "large_from"),
    [("duo/classic/normal", 0, 6), ("duo/classic/crazy", 0, 1), ("duo/arcade/relax1", 60, None), ("duo/arcade/relax8", 5, None)],
)
def test_styles(mode: str, relax: int, large_from: int | None) -> None:
    """The expanded pool comes at level 6 in normal, at once in crazy, and never in relax."""
    numbers = rules().params[mode]
    assert numbers[at.P_RELAX] == relax
    assert (numbers[at.P_SMALL], numbers[at.P_LARGE]) == (7, 19)
    assert numbers[at.P_LARGE_FROM] == large_from or (large_from is None and numbers[at.P_LARGE_FROM] > 10**9)


def test_arcade_is_classic_with_specials() -> None:
    for mode, numbers in rules().params.items():
        if "/classic/" in mode:
            arcade = list(rules().params[mode.replace("/classic/", "/arcade/")])
            assert (numbers[at.P_ARCADE], arcade[at.P_ARCADE]) == (0, 1)
            arcade[at.P_ARCADE] = 0
            assert numbers == arcade


def test_every_key_is_tested_below() -> None:
    assert [(section, key) for section, key, _ in WRONG_VALUES] == [pair for pair in KEYS if pair not in SHAPES]


@pytest.mark.parametrize(("section", "key"), [pair for pair in KEYS if pair not in SHAPES])
def test_a_missing_or_misspelt_key_is_named(tmp_path: Path, section: str, key: str) -> None:
    refused(tmp_path, edited(section, key, ""), dotted(section, key), "missing")
    line = re.search(rf"^{key} *=.*$", TEXT[slice(*section_span(TEXT, section))], re.MULTILINE)
    assert line
    misspelt = line[0].replace(key, key + "s", 1)
    refused(tmp_path, edited(section, key, f"{line[0]}\n{misspelt}"), dotted(section, key + "s"))


SECTIONS = ["clock", "levels", "match", "awards", "draw", "capacities", "handicap", "families", "pools"]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_missing_section_is_named(tmp_path: Path, section: str) -> None:
    parts = re.split(r"^(?=\[)", TEXT, flags=re.MULTILINE)
    kept = [part for part in parts if not re.match(rf"\[{section}[.\]]", part)]
    assert len(kept) < len(parts)
    refused(tmp_path, "".join(kept), section, "missing")
    refused(tmp_path, f"{section} = 3\n" + "".join(kept), section)


def test_an_unknown_section_is_named(tmp_path: Path) -> None:
    refused(tmp_path, TEXT + "[bonus]\ntime = 5\n", "bonus")


BAD_FLAGS, BAD_NAMES = ['"true"', "1"], ['"none"', "3", "true"]


def family_values(name: str, pool: str, expanded: str) -> list[tuple[str, str, list[str]]]:
    section = f"families.{name}"
    return [
        (section, "width", ["3", "13", '"10"', "10.0", "true"]),
        (section, "height", ["3", "25", '"10"', "true"]),
        (section, "runs", BAD_FLAGS),
        (section, "rows", BAD_FLAGS),
        (section, "award", BAD_NAMES),
        (section, "fall", BAD_NAMES),
        (section, "turn", BAD_NAMES),
        (section, "pool", ['"none"', '""', "3"]),
        (section, "expanded", ['"none"', "3"]),
        (section, "styles", ["[]", '["slow"]', '["normal", "normal"]', '"normal"', "[1]"]),
    ]


WRONG_VALUES: list[tuple[str, str, list[str]]] = [
    ("", "game", ['"blocks"', "8", "true"]),
    ("", "version", ['"1.0"', '"1.0.1"', "1.0", '""']),
    ("clock", "landing", ["0", "-1", "10001", "24.0", "true"]),
    ("clock", "generation", ["0", "-1", "10001", "30.0", '"30"']),
    ("clock", "longest_ticks", ["0", "1000000001", "1.5"]),
    ("levels", "pieces", ["0", "1000001", "21.0", "true"]),
    ("levels", "expanded_from", ["0", "1000001", '"6"']),
    ("levels", "first", ["0", "10001", "48.0"]),
    ("levels", "step", ["-1", "10001", "true"]),
    ("levels", "least", ["0", "10001", "2.0"]),
    ("levels", "relax", ["[]", "[60, 0]", "[60, 48.0]", "60", "[true]"]),
    ("match", "run", ["2", "5", "3.0", "true"]),
    ("awards", "rows", ["[]", "[1, 4, 12]", "[1, 4, 12, 24, 36]", "[1, 4, 12, -1]", "24"]),
    ("awards", "bomb", ["-1", "1001", "1.0", "true"]),
    ("awards", "doublings", ["-1", "37", "36.0"]),
    ("draw", "generator", ['"mt19937"', "64", '""']),
    *[("draw", kind, ["-1", "101", "2.0", '"2"']) for kind in ("normal", "horizontal", "vertical", "lightning", "mega")],
    ("draw", "activator", ["-1", "101", "true"]),
    ("draw", "stone", ["-1", "101", "90", "3.0"]),
    ("draw", "ice", ["-1", "101", "4.0"]),
    *[("capacities", kind, ["-1", "1001", "5.0", "true"]) for kind in ("bombs", "activators", "stones", "ices")],
    ("handicap", "rows", ["-1", "9", "6.0"]),
    ("handicap", "filled", ["-1", "101", "true"]),
    *family_values("duo", "tetrominoes", "pentominoes"),
    *family_values("tetcolor", "trominoes", "tetrominoes"),
    *family_values("columns", "stacks", ""),
    *family_values("retris", "tetrominoes", "pentominoes"),
]


@pytest.mark.parametrize(
    ("section", "key", "value"), [(section, key, value) for section, key, values in WRONG_VALUES for value in values]
)
def test_a_wrong_value_is_named(tmp_path: Path, section: str, key: str, value: str) -> None:
    refused(tmp_path, edited(section, key, f"{key} = {value}"), dotted(section, key))


@pytest.mark.parametrize(
    "drawing",
    ['""', '"."', '"#/##"', '"##/#"', '"#x"', '"#//#"', '"/#"', '"#/"', '".#/.#"', '"#./#."', '"##/.."', '"../##"',
     '"######"', '"#/#/#/#/#/#"', '"###/###"', "1", "true", '["#"]'],
)  # fmt: skip
def test_a_wrong_shape_is_named(tmp_path: Path, drawing: str) -> None:
    refused(tmp_path, edited("pools.tetrominoes", "O", f"O = {drawing}"), "pools.tetrominoes.O")


@pytest.mark.parametrize("name", ['"O O"', '""', "o", "O1", '"É"'])
def test_a_wrong_shape_name_is_named(tmp_path: Path, name: str) -> None:
    refused(tmp_path, edited("pools.tetrominoes", "O", f'{name} = "##/##"'), "pools.tetrominoes.")


CONTRADICTIONS = [
    ("families.columns", "turn", 'turn = "rotate"', None),
    ("families.duo", "turn", 'turn = "cycle"', "only a stack"),
    ("families.duo", "expanded", 'expanded = "tetrominoes"', "twice"),
    ("families.duo", "award", 'award = "rows"', "families.duo.award"),
    ("families.retris", "rows", "rows = false", "families.retris.runs"),
    ("families.tetcolor", "width", "width = 4", None),
    ("families.columns", "height", "height = 5", "handicap.rows"),
    ("families.duo", "width", "width = 4", "larger than the 4 x 20"),
]


@pytest.mark.parametrize(("section", "key", "line", "named"), CONTRADICTIONS)
def test_values_that_contradict_each_other(tmp_path: Path, section: str, key: str, line: str, named: str | None) -> None:
    text = edited(section, key, line)
    if named is None:
        assert write(tmp_path, text).version == "1.0.0"
    else:
        refused(tmp_path, text, named)


def test_a_pool_that_no_family_has_is_named(tmp_path: Path) -> None:
    refused(tmp_path, TEXT + '\n[pools.more]\nA = "#"\n', "pools.more")
    refused(tmp_path, TEXT.replace('[pools.stacks]\nC = "#/#/#"', "[pools.stacks]"), "pools.stacks")


@pytest.mark.parametrize("content", [b"", b"game = ", b"\xff\xfe", b'game = "tetcolor"\ngame = "tetcolor"\n'])
def test_what_is_no_rules_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "1.0.0.toml"
    path.write_bytes(content)
    with pytest.raises(RulesError, match=re.escape(str(path))):
        load_rules(path)


def test_a_file_under_another_versions_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "1.1.0.toml"
    path.write_text(TEXT, "utf-8")
    with pytest.raises(RulesError, match=re.escape("version is '1.0.0'")):
        load_rules(path)


def test_other_values_reach_the_kernel(tmp_path: Path) -> None:
    """What is written there is what counts: an operator changes a value, not code."""
    text = edited("levels", "relax", "relax = [7]")
    loaded = write(tmp_path, text)
    assert "duo/classic/relax1" in loaded.mode_names and "duo/classic/relax2" not in loaded.mode_names
    assert loaded.params["duo/classic/relax1"][at.P_RELAX] == 7
    loaded = write(tmp_path, edited("awards", "rows", "rows = [2, 3, 5, 7]"))
    assert loaded.params["retris/classic/normal"][at.P_AWARD : at.P_AWARD + 4] == [2, 3, 5, 7]
