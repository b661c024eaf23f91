"""The rules files of the block puzzle: the two that are built in, and what a wrong one is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine import outcome, words
from engine.blocks.rules import load_rules
from engine.ruleset import RulesError
from tests.engine.support import VERSIONS, replaced, rules, rules_text, sized_rules, write_rules
from tests.reference import blocks as twin

TEXT = rules_text()

# Keys of the file as (section, key), "" being the top.
KEYS = [
    ("", "game"),
    ("", "version"),
    ("board", "width"),
    ("board", "height"),
    ("points", "cell"),
    ("points", "lines"),
    ("streak", "turn_length"),
    ("streak", "forgiven"),
    ("streak", "cap"),
    ("deal", "generator"),
    ("modes.daily", "continues"),
    ("modes.training", "continues"),
    ("modes.arena", "continues"),
]
SECTIONS = ["board", "points", "streak", "deal", "modes", "shapes"]


def section_span(text: str, section: str) -> tuple[int, int]:
    """Where the keys of a section begin and end in the text."""
    start = text.index(f"[{section}]\n") + len(section) + 3 if section else 0
    end = text.find("\n[", start)
    return start, end if end >= 0 else len(text)


def edit_key(text: str, section: str, key: str, line: str) -> str:
    """The file with the whole line of one key replaced."""
    start, end = section_span(text, section)
    return text[:start] + replaced(text[start:end], rf"^{key} *=.*$", line) + text[end:]


def dotted(section: str, key: str) -> str:
    return f"{section}.{key}" if section else key


def refused(folder: Path, text: str, key: str, *words: str) -> None:
    """The file is refused in one sentence that names the file, the key and the words."""
    path = folder / "1.2.0.toml"
    with pytest.raises(RulesError) as caught:
        write_rules(folder, text)
    message = str(caught.value)
    assert message.startswith(f"{path}: "), message
    assert re.search(rf"(^|[ \[]){re.escape(key)}\b", message[len(str(path)) :]), f"{key} is not named: {message}"
    assert "\n" not in message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize("version", VERSIONS)
def test_built_in_rules_hold_the_values_of_the_rules_page(version: str) -> None:
    loaded, expected = rules(version), twin.VALUES[version]
    assert loaded.version == version
    assert (loaded.width, loaded.height) == (8, 8)
    assert loaded.line_points == expected.line_points
    assert loaded.cell_points == 4
    assert (loaded.turn_length, loaded.forgiven, loaded.cap) == (3, 1, 5)
    assert loaded.continues == {"daily": 0, "training": 1, "arena": 0}


@pytest.mark.parametrize("version", VERSIONS)
def test_catalogue_of_35_in_the_order_of_the_deal(version: str) -> None:
    found = [(shape.name, {(x, y) for y, x in shape.offsets}) for shape in rules(version).shapes]
    assert found == [(name, set(cells)) for name, cells in twin.CATALOGUE.items()]
    assert len(found) == 35


def test_stated_points_and_the_bound_of_7020() -> None:
    loaded = rules("1.2.0")
    assert loaded.base[:3] == [0, 80, 240]
    assert max(loaded.base) == 1400
    assert max(shape.cells for shape in loaded.shapes) == 5
    assert loaded.max_placement == 7020
    # Wrong reading: the multiplier on the cells too.
    assert loaded.max_placement != (20 + 1400) * 5
    assert rules("1.1.0").max_placement == 20 + 1300 * 5


def test_codes_of_the_kernel_are_those_of_the_outcome() -> None:
    shared = [name for name in vars(outcome) if name.isupper() and isinstance(getattr(outcome, name), int)]
    assert len(shared) == 14
    assert {name: getattr(words, name) for name in shared} == {name: getattr(outcome, name) for name in shared}
    assert set(outcome.FAULT_NAMES) == {code for name in shared if (code := getattr(outcome, name)) < 0}


@pytest.mark.parametrize(("section", "key"), KEYS)
def test_a_missing_key_is_named(tmp_path: Path, section: str, key: str) -> None:
    refused(tmp_path, edit_key(TEXT, section, key, ""), dotted(section, key), "missing")


@pytest.mark.parametrize(("section", "key"), KEYS)
def test_a_misspelt_key_is_named(tmp_path: Path, section: str, key: str) -> None:
    """The right key is then missing; beside the right one, the wrong one is refused too instead of being passed over."""
    line = re.search(rf"^{key} *=.*$", TEXT[slice(*section_span(TEXT, section))], re.MULTILINE)[0]
    misspelt = line.replace(key, key + "s", 1)
    refused(tmp_path, edit_key(TEXT, section, key, misspelt), dotted(section, key), "missing")
    refused(tmp_path, edit_key(TEXT, section, key, f"{line}\n{misspelt}"), dotted(section, key + "s"))


@pytest.mark.parametrize("section", SECTIONS)
def test_a_missing_section_is_named(tmp_path: Path, section: str) -> None:
    text = TEXT
    heads = [head for head in re.findall(r"^\[(.*)\]$", TEXT, re.MULTILINE) if head.split(".")[0] == section]
    for head in heads:
        start, end = section_span(text, head)
        text = text[: start - len(head) - 3] + text[end:]
    refused(tmp_path, text, section, "missing")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_that_is_no_table_is_named(tmp_path: Path, section: str) -> None:
    text = f"{section} = 3\n"
    for part in re.split(r"^(?=\[)", TEXT, flags=re.MULTILINE):
        if not re.match(rf"\[{section}[.\]]", part):
            text += part
    refused(tmp_path, text, section)


def test_an_unknown_section_is_named(tmp_path: Path) -> None:
    refused(tmp_path, TEXT + "[bonus]\ntime = 5\n", "bonus")


WRONG_VALUES = [
    ("", "game", ['"tetromino"', "8", "true", '["blocks"]']),
    ("", "version", ['"1.2"', '"1.2.0-beta"', '"01.2.0"', '"1.2.1"', "1.2", "true", '""']),
    ("board", "width", ["3", "12", "0", "-8", '"8"', "8.0", "true", "[8]"]),
    ("board", "height", ["3", "12", "0", "-8", '"8"', "8.0", "true", "[8]"]),
    ("points", "cell", ["-1", "1000001", '"4"', "4.0", "true"]),
    (
        "points",
        "lines",
        ["80", "[]", "[80, 240, 480, 800, 1100]", "[80, 240, 480, 800, 1100, -1]", "[80, 240, 480, 800, 1100, 1400.0]",
         "[80, 240, 480, 800, 1100, true]", '[80, 240, 480, 800, 1100, "1400"]', "[80, 240, 480, 800, 1100, 1000001]"],
    ),
    ("streak", "turn_length", ["0", "-3", "1001", "3.0", '"3"', "true"]),
    ("streak", "forgiven", ["-1", "1001", "1.0", '"1"', "true"]),
    ("streak", "cap", ["0", "-5", "1001", "5.0", '"5"', "true"]),
    ("deal", "generator", ['"mt19937"', "64", "true", '""']),
    ("modes.daily", "continues", ["-1", "1001", "0.0", '"0"', "false"]),
    ("modes.training", "continues", ["-1", "1001", "1.0", '"1"', "true"]),
    ("modes.arena", "continues", ["-1", "1001", "0.0", '"0"', "false"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("section", "key", "value"), [(section, key, value) for section, key, values in WRONG_VALUES for value in values]
)
def test_a_wrong_value_is_named(tmp_path: Path, section: str, key: str, value: str) -> None:
    refused(tmp_path, edit_key(TEXT, section, key, f"{key} = {value}"), dotted(section, key))


def test_every_key_of_the_file_is_among_those_tested() -> None:
    found = []
    for part in re.split(r"^(?=\[)", TEXT, flags=re.MULTILINE):
        head = re.match(r"\[(.*)\]", part)
        section = head[1] if head else ""
        if section != "shapes":
            found += [(section, key) for key in re.findall(r"^(\w+) *=", part, re.MULTILINE)]
    assert found == KEYS
    assert [(section, key) for section, key, _ in WRONG_VALUES] == KEYS


@pytest.mark.parametrize(
    "drawing",
    ['""', '"."', '"#/##"', '"##/#"', '"#x"', '"# #"', '"#//#"', '"/#"', '"#/"', '".#/.#"', '"#./#."', '"##/.."', '"../##"',
     '"#########"', '"#/#/#/#/#/#/#/#/#"', "1", "true", '["#"]'],
)  # fmt: skip
def test_a_wrong_shape_is_named(tmp_path: Path, drawing: str) -> None:
    refused(tmp_path, edit_key(TEXT, "shapes", "O", f"O = {drawing}"), "shapes.O")


def test_a_wrong_shape_name_is_named(tmp_path: Path) -> None:
    """Listed pieces are names joined by spaces, so a name holds no space."""
    refused(tmp_path, edit_key(TEXT, "shapes", "O", '"O O" = "##/##"'), "shapes.O O")
    refused(tmp_path, edit_key(TEXT, "shapes", "O", '"" = "##/##"'), "shapes")


def test_no_shapes_and_no_modes_are_named(tmp_path: Path) -> None:
    start, _ = section_span(TEXT, "shapes")
    refused(tmp_path, TEXT[:start], "shapes")
    without = re.sub(r"^\[modes\.\w+\]\ncontinues.*\n", "", TEXT, flags=re.MULTILINE)
    refused(tmp_path, replaced(without, r"^\[shapes\]$", "[modes]\n[shapes]"), "modes")


def test_a_table_too_short_for_the_catalogue_is_named(tmp_path: Path) -> None:
    """Otherwise a placement that completes six lines would read beyond the table."""
    refused(tmp_path, edit_key(TEXT, "points", "lines", "lines = [80, 240, 480, 800, 1100]"), "points.lines", "5", "6")


@pytest.mark.parametrize("content", [b"", b"game = ", b"\xff\xfe", b'game = "blocks"\ngame = "blocks"\n', b"{}"])
def test_what_is_no_rules_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "1.2.0.toml"
    path.write_bytes(content)
    with pytest.raises(RulesError, match=re.escape(str(path))):
        load_rules(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RulesError, match=re.escape("9.9.9.toml")):
        load_rules(tmp_path / "9.9.9.toml")


def test_a_file_under_another_versions_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "1.3.0.toml"
    path.write_text(TEXT, "utf-8")
    with pytest.raises(RulesError) as caught:
        load_rules(path)
    assert str(caught.value).startswith(f"{path}: version is '1.2.0'")


@pytest.mark.parametrize(("width", "height"), [(4, 4), (4, 11), (11, 4), (5, 7), (9, 9), (11, 11)])
def test_boards_from_4x4_to_11x11(tmp_path: Path, width: int, height: int) -> None:
    loaded = sized_rules(tmp_path, "1.2.0", width, height)
    expected = twin.on_board(twin.VALUES["1.2.0"], width, height)
    assert (loaded.width, loaded.height) == (width, height)
    assert [shape.name for shape in loaded.shapes] == list(expected.shapes)


def test_a_shape_larger_than_the_board_is_refused(tmp_path: Path) -> None:
    text = edit_key(TEXT, "board", "width", "width = 4")
    refused(tmp_path, text, "shapes.I5h", "4 x 8")
