"""The rules file of Tetromino Arcade: what is built in, and what a wrong one is told."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from engine.ruleset import RulesError
from engine.tetromino.rules import TetrominoRules, load_rules
from engine.tetromino.single import make_deal, replay
from tests.engine.support import replaced
from tests.engine.tetromino_support import RULES_FOLDER, rules

TEXT = (RULES_FOLDER / "1.0.0.toml").read_text("utf-8")
MODES = ("beginner", "marathon", "sprint", "ultra", "zen", "battle")
PIECES = "IJLOSTZ"
TURNS = ("0R", "R0", "R2", "2R", "2L", "L2", "L0", "0L")

# Values that are refused, by (section, key): "" is the top of the file.
NO_COUNT = ["-1", "1.0", '"1"', "true", "[1]"]
NO_POINTS = [*NO_COUNT, "1000001"]
NO_TEST = ["1", "[]", "[[0, 0]]", "[[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]]", "[[0, 0], [1, 0], [2, 0], [0, -3], [0, 1]]",
           "[[0, 0], [1, 0], [2], [0, 1], [0, 2]]", "[[0, 0], [1, 0], [2, 0.0], [0, 1], [0, 2]]",
           "[[0, 0], [1, 0], [2, 0, 0], [0, 1], [0, 2]]", "[[0, 0], [1, 0], [true, 0], [0, 1], [0, 2]]",
           "[0, 0, 1, 0, 2]"]  # fmt: skip
WRONG: dict[tuple[str, str], list[str]] = {
    ("", "game"): ['"blocks"', "8", "true"],
    ("", "version"): ['"1.0"', '"1.0.0-beta"', '"01.0.0"', '"1.0.1"', "1.0", "true", '""'],
    ("board", "width"): ["3", "11", "0", '"10"', "10.0", "true"],
    ("board", "height"): ["23", "41", "0", '"40"', "40.0"],
    ("board", "visible"): ["0", "41", '"20"', "20.0"],
    ("board", "spawn_row"): ["0", "41", '"21"', "21.0"],
    ("board", "rescued_above"): ["-1", "21", '"10"', "10.0"],
    ("points", "soft_drop"): NO_POINTS,
    ("points", "hard_drop"): NO_POINTS,
    ("points", "lines"): ["100", "[]", "[100, 300, 500]", "[100, 300, 500, 800, 1000]", "[100, 300, 500, 800.0]",
                          "[100, 300, 500, -2]", "[100, 300, 500, true]", "[100, 300, 500, 1000002]"],
    ("points", "t_spin"): ["400", "[]", "[400, 800, 1200]", "[400, 800, 1200, 1600, 0]", "[400, 800, 1200, -2]"],
    ("points", "mini_t_spin"): ["100", "[]", "[100, 200]", "[100, 200, 400, 0]", "[100, 200, -2]"],
    ("points", "perfect_clear"): ["800", "[]", "[800, 1200, 1800]", "[800, 1200, 1800, 2000, 0]", "[800, 1200, 1800, -1]"],
    ("points", "combo"): NO_POINTS,
    ("points", "back_to_back"): ["1.5", "[3]", "[3, 2, 1]", "[3, 0]", "[3, -2]", "[4, 3]", "[3, 2.0]", "[]"],
    ("time", "lock_delay"): ["0", "-30", "10001", "30.0", '"30"', "true"],
    ("time", "lock_resets"): [*NO_COUNT, "10001"],
    ("time", "longest_ticks"): ["0", "-1", "1000000001", "1.0", '"1"'],
    ("time", "lines_a_level"): ["0", "-1", "10001", "10.0"],
    ("gravity", "normal"): ["1092", "[]", "[0]", "[1092, 0]", "[1092.0]", "[true]", "[2621441]"],
    ("gravity", "beginner"): ["546", "[]", "[-1]"],
    ("deal", "generator"): ['"mt19937"', "64", "true", '""'],
    **{(f"modes.{mode}", "levels"): ["1", "[]", "[0]", "[2, 1]", "[1, 2, 3]", "[1.0]", "[1001]"] for mode in MODES},
    **{(f"modes.{mode}", "gravity"): ['"slow"', "1", '""'] for mode in MODES},
    **{(f"modes.{mode}", "end_lines"): [*NO_COUNT, "1000001"] for mode in MODES},
    **{(f"modes.{mode}", "end_ticks"): [*NO_COUNT, "1000000001"] for mode in MODES},
    **{(f"modes.{mode}", "rescue"): ["0", "1", '"true"', "[]"] for mode in MODES},
    **{(f"pieces.{piece}", "spawn"): ['""', '"####"', '"##/##"', '"###/##./..."', '"#../#../#.."', '".x./###/..."', '"####/"',
                                      '"##../##.."', "1"] for piece in PIECES},
    **{(f"pieces.{piece}", "column"): ["0", "11", "10", '"4"', "4.0", "true"] for piece in PIECES},
    **{(f"pieces.{piece}", "kicks"): ['"SRS"', '""', "1"] for piece in PIECES},
    **{(f"kicks.{table}", turn): NO_TEST for table in ("JLSTZ", "I") for turn in TURNS},
}  # fmt: skip


def span(content: str, section: str) -> tuple[int, int]:
    """Where the keys of a section begin and end."""
    start = content.index(f"\n[{section}]\n") + len(section) + 4 if section else 0
    end = re.compile(r"^\[", re.MULTILINE).search(content, start)
    return start, end.start() if end else len(content)


def edited(section: str, key: str, value: str | None, content: str = TEXT) -> str:
    """The file with another value of a key (which may take several lines), or without the key."""
    start, end = span(content, section)
    body = content[start:end]
    changed, hits = re.subn(
        rf"^{key} *= *(\[\n(?:.*\n)*?\]|.*)", f"{key} = {value}" if value is not None else "", body, flags=re.MULTILINE
    )
    assert hits == 1, f"{section}.{key} hits {hits} times"
    return content[:start] + changed + content[end:]


def loaded(folder: Path, content: str) -> TetrominoRules:
    path = folder / "1.0.0.toml"
    path.write_text(content, "utf-8")
    return load_rules(path)


def refused(folder: Path, content: str, *named: str) -> None:
    """Loading must fail with one sentence that names the file and all of ``named``."""
    with pytest.raises(RulesError) as caught:
        loaded(folder, content)
    sentence = str(caught.value)
    assert sentence.startswith(str(folder / "1.0.0.toml")), sentence
    assert "\n" not in sentence
    for name in named:
        assert name in sentence, f"{name} is not in: {sentence}"


def dotted(section: str, key: str) -> str:
    return f"{section}.{key}" if section else key


# What is built in.


def test_stated_values() -> None:
    """Document 000's tables."""
    built_in = rules()
    assert (built_in.soft_drop, built_in.hard_drop, built_in.combo, built_in.back_to_back) == (1, 2, 50, (3, 2))
    assert built_in.line_points == (100, 300, 500, 800)
    assert built_in.spin_points == (400, 800, 1200, 1600)
    assert built_in.mini_points == (100, 200, 400)
    assert built_in.perfect_points == (800, 1200, 1800, 2000)
    assert built_in.modes["sprint"].end_lines == 40
    assert built_in.modes["ultra"].end_ticks == 2 * 60 * 60
    assert [name for name, mode in built_in.modes.items() if mode.rescue] == ["zen"]


def test_gravity_is_the_formula_rounded_to_the_nearest_integer() -> None:
    def exact(level: int) -> Fraction:
        return Fraction(65536, 60) / (Fraction(8, 10) - (level - 1) * Fraction(7, 1000)) ** (level - 1)

    normal, beginner = rules().gravity["normal"], rules().gravity["beginner"]
    assert len(normal) == len(beginner) == 20
    for level, value in enumerate(normal, start=1):
        assert abs(value - exact(level)) < Fraction(1, 2), f"level {level}"
    assert beginner == (*(value // 2 for value in normal[:5]), *normal[5:])
    assert [mode for mode, how in rules().modes.items() if how.gravity == "beginner"] == ["beginner"]


def test_modes_of_a_record() -> None:
    built_in = rules()
    right = ["beginner", "sprint", "ultra", "zen", "battle", *(f"marathon/{level}" for level in range(1, 21))]
    assert all(built_in.has_mode(mode) for mode in right)
    wrong = ["marathon", "marathon/0", "marathon/21", "marathon/01", "marathon/+1", "marathon/1 ", "marathon/1\n", "marathon/1/1",
             "marathon/", "marathon/٣", "zen/1", "Zen", "", "/", "marathon/" + "9" * 5000, "daily"]  # fmt: skip
    assert not [mode for mode in wrong if built_in.has_mode(mode)]
    assert built_in.mode_names == ("beginner", "marathon/1 to marathon/20", "sprint", "ultra", "zen", "battle")
    with pytest.raises(KeyError):
        built_in.params("marathon")
    assert replay(built_in, make_deal(built_in, "marathon/13", 0, "", ""), "", "marathon/13").level == 13


def test_spawn_places() -> None:
    """Lowest cells in row 21; I and O in the middle, the others in columns 4 to 6."""
    right = {
        "I": {(3, 20), (4, 20), (5, 20), (6, 20)}, "O": {(4, 20), (5, 20), (4, 21), (5, 21)},
        "J": {(3, 20), (4, 20), (5, 20), (3, 21)}, "L": {(3, 20), (4, 20), (5, 20), (5, 21)},
        "S": {(3, 20), (4, 20), (4, 21), (5, 21)}, "Z": {(4, 20), (5, 20), (3, 21), (4, 21)},
        "T": {(3, 20), (4, 20), (5, 20), (4, 21)},
    }  # fmt: skip
    for piece in rules().pieces:
        cells = piece.turns[0]
        lowest = min(row for row, _ in cells)
        assert {(piece.column + column, rules().spawn_row - 1 + row - lowest) for row, column in cells} == right[piece.name]


# Broken files.


def test_every_key_of_the_file_is_among_those_tested() -> None:
    found = []
    for part in re.split(r"^(?=\[)", TEXT, flags=re.MULTILINE):
        head = re.match(r"\[(.*)\]", part)
        found += [(head[1] if head else "", key) for key in re.findall(r"^(\w+) *=", part, re.MULTILINE)]
    assert sorted(found) == sorted(WRONG)


@pytest.mark.parametrize(("section", "key"), WRONG)
def test_a_missing_or_misspelt_key_is_named(tmp_path: Path, section: str, key: str) -> None:
    """A misspelt key beside the right one is refused too instead of being passed over."""
    if section == "gravity":
        # A table's name is free: it is missing where a mode asks for it.
        refused(tmp_path, edited(section, key, None), "modes.", ".gravity", key)
    else:
        refused(tmp_path, edited(section, key, None), dotted(section, key), "missing")
    start, _ = span(TEXT, section)
    refused(tmp_path, f"{TEXT[:start]}{key}s = 1\n{TEXT[start:]}", dotted(section, f"{key}s"))


@pytest.mark.parametrize(("section", "key", "value"), [(*at, value) for at, values in WRONG.items() for value in values])
def test_a_wrong_value_is_named(tmp_path: Path, section: str, key: str, value: str) -> None:
    refused(tmp_path, edited(section, key, value), dotted(section, key))


@pytest.mark.parametrize("section", ["board", "points", "time", "gravity", "deal", "modes", "pieces", "kicks"])
def test_a_missing_section_is_named(tmp_path: Path, section: str) -> None:
    kept = [part for part in re.split(r"^(?=\[)", TEXT, flags=re.MULTILINE) if not re.match(rf"\[{section}[.\]]", part)]
    refused(tmp_path, "".join(kept), section, "missing")
    refused(tmp_path, f"{section} = 3\n" + "".join(kept), section)


def test_an_unknown_section_is_named(tmp_path: Path) -> None:
    refused(tmp_path, TEXT + "[bonus]\ntime = 5\n", "bonus")


def test_pieces_are_the_seven_in_the_order_of_the_deal(tmp_path: Path) -> None:
    start, end = span(TEXT, "pieces.Z")
    refused(tmp_path, TEXT[: start - len("[pieces.Z]\n")] + TEXT[end:], "pieces", "I J L O S T Z")
    refused(tmp_path, replaced(TEXT, r"^\[pieces\.Z\]$", "[pieces.Y]"), "pieces", "I J L O S T Y")
    swapped = replaced(replaced(TEXT, r"^\[pieces\.Z\]$", "[pieces.s]"), r"^\[pieces\.S\]$", "[pieces.Z]").replace(
        "[pieces.s]", "[pieces.S]"
    )
    refused(tmp_path, swapped, "pieces", "I J L O Z T S")


def test_a_mode_without_a_name_that_a_record_can_give(tmp_path: Path) -> None:
    refused(tmp_path, replaced(TEXT, r"^\[modes\.zen\]$", '[modes."zen/2"]'), "modes.zen/2")
    head, rest = TEXT.split("[modes.beginner]")
    refused(tmp_path, head + "[modes]\n[pieces.I]" + rest.split("[pieces.I]")[1], "modes")
    head, rest = TEXT.split("[gravity]")
    refused(tmp_path, head + "[gravity]\n[deal]" + rest.split("[deal]")[1], "gravity")


def test_back_to_back_must_come_out_whole(tmp_path: Path) -> None:
    refused(tmp_path, edited("points", "mini_t_spin", "[100, 201, 400]"), "points.back_to_back", "201", "points.mini_t_spin")
    # A mini without a line is never multiplied.
    assert loaded(tmp_path, edited("points", "mini_t_spin", "[101, 200, 400]")).mini_points == (101, 200, 400)


@pytest.mark.parametrize("content", [b"", b"game = ", b"\xff\xfe", b'game = "tetromino"\ngame = "tetromino"\n', b"{}"])
def test_what_is_no_rules_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "1.0.0.toml"
    path.write_bytes(content)
    with pytest.raises(RulesError, match=re.escape(str(path))):
        load_rules(path)


# Other values do what they say.


def outcome_under(
    folder: Path, content: str, log: str, pieces: str, board: str = "", mode: str = "marathon/1"
) -> tuple[int, str]:
    changed = loaded(folder, content)
    found = replay(changed, make_deal(changed, mode, 0, pieces, board), log, mode)
    return found.score, found.board


def test_values_reach_the_kernel(tmp_path: Path) -> None:
    """Each of these would pass unseen if the kernel had the number in its code instead."""
    assert outcome_under(tmp_path, edited("points", "hard_drop", "7"), "h", "I O") == (140, "3IIII3")
    assert outcome_under(tmp_path, edited("points", "soft_drop", "5"), "dd", "I O") == (10, "-")
    two_rows = "JJJ4JJJ/JJJ4JJJ"
    assert outcome_under(tmp_path, edited("points", "combo", "3"), "hh", "I I O", two_rows)[0] == 80 + 100 + 100 + 3 + 800
    assert outcome_under(tmp_path, edited("time", "lock_delay", "5"), "dddddddddddddddddddd5", "I O") == (20, "3IIII3")
    assert outcome_under(tmp_path, edited("time", "lock_delay", "6"), "dddddddddddddddddddd5", "I O") == (20, "-")
    assert outcome_under(tmp_path, edited("board", "spawn_row", "11"), "h", "I O") == (20, "3IIII3")
    assert outcome_under(tmp_path, edited("pieces.I", "column", "1"), "h", "I O") == (40, "IIII6")
    assert outcome_under(tmp_path, edited("gravity", "normal", "[65536]"), "3h", "I O") == (34, "3IIII3")
    assert outcome_under(tmp_path, edited("points", "perfect_clear", "[7, 1, 1, 1]"), "h", "I O", "JJJ4JJJ") == (147, "-")
    assert outcome_under(tmp_path, edited("modes.battle", "end_lines", "1"), "hh", "I O", "JJJ4JJJ", "battle")[0] == 940
    assert outcome_under(tmp_path, edited("modes.battle", "end_ticks", "9"), "9h", "I O", "", "battle") == (0, "-")
    assert (
        outcome_under(tmp_path, edited("time", "lines_a_level", "1"), "hh", "I I O", two_rows)[0] == 2080
    )  # 80 + 100 + 2 x (100 + 50 + 800)


@pytest.mark.parametrize(("width", "height"), [(4, 24), (7, 30), (10, 24)])
def test_boards_of_other_sizes(tmp_path: Path, width: int, height: int) -> None:
    """Walls, full rows, claims and the top belong to the board's own size."""
    content = edited("board", "height", str(height), edited("board", "width", str(width)))
    for piece in PIECES:
        content = edited(f"pieces.{piece}", "column", "1", content)
    changed = loaded(tmp_path, content)
    # Two more columns than the board has: the piece stays at the wall, an O beside it makes the row full.
    inputs = "r" * (width + 2) + "h"
    found = replay(changed, make_deal(changed, "zen", 0, "I O", ""), inputs, "zen")
    assert found.board == ("-" if width == 4 else f"{width - 4}IIII")
    assert (found.lines, found.score) == ((1, 40 + 100 + 800) if width == 4 else (0, 40))
    assert replay(changed, make_deal(changed, "battle", 0, "", ""), "h" * 60, "battle").finished
    with pytest.raises(ValueError, match="full row"):
        make_deal(changed, "zen", 0, "", "J" * width)
    with pytest.raises(ValueError, match="wide"):
        make_deal(changed, "zen", 0, "", "J" * (width + 1))
    with pytest.raises(ValueError, match="rows"):
        make_deal(changed, "zen", 0, "", "/".join(["1" + "J" * (width - 1)] * (height + 1)))


def test_deals_that_cannot_be_made() -> None:
    for names in ("I X", "i", "I IJ", "I,J", "IJ"):
        with pytest.raises(ValueError, match="piece"):
            make_deal(rules(), "zen", 0, names, "")
    for board in ("", "-", "10", "0J9", "/".join(["J9"] * 40)):
        assert len(make_deal(rules(), "zen", 0, "", board).start) == 101
    for board in ("JJJJJJJJJJ", "J9/", "J8", "A9", "#9", "j9", "/".join(["J9"] * 41), "J9J", "-J9"):
        with pytest.raises(ValueError, match="board"):
            make_deal(rules(), "zen", 0, "", board)
    assert make_deal(rules(), "zen", 0, " ", "").pieces == ()
    assert make_deal(rules(), "zen", 7, "T I", "").pieces == (5, 0)
