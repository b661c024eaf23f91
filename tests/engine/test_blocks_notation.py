"""Reading logs: every decision of the grammar, every fault, boards from 4 x 4 to 11 x 11."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.blocks import kernel as k
from engine.blocks import notation
from engine.blocks.batch_kernel import BATCH
from engine.board import BoardError, format_cells, parse_cells
from tests.engine.support import Case, batch_rows, check_everywhere, opened, replay_batch, rules, sized_rules
from tests.reference import blocks as twin

VALUES = twin.VALUES["1.2.0"]

# Log, and the tokens that it holds; "?" stands for text that is no token, after which nothing is read.
READINGS = [
    # The empty log and white space are legal and hold nothing.
    (b"", ""),
    (b" \t\n\v\f\r", ""),
    (b"1a1", "1a1"),
    # White space between tokens, of six kinds, in any amount, or none.
    (b"1a1 2b2\t3c3\n1d4\v2e5\f3f6\r1g7", "1a1 2b2 3c3 1d4 2e5 3f6 1g7"),
    (b"  1a1 \r\n\r\n 2b2  ", "1a1 2b2"),
    (b"1a12b23c3", "1a1 2b2 3c3"),
    (b"**1a1*", "* * 1a1 *"),
    # White space within a token.
    (b"1 a1", "?"),
    (b"1a 1", "?"),
    (b"1a1 2 b2", "1a1 ?"),
    (b"1\na1", "?"),
    # Row 1 0 is ten, never row 1 and then a slot 0.
    (b"1a10", "1a10"),
    (b"1a1 0b2", "1a1 0b2"),
    (b"1a10b2", "1a10 ?"),
    (b"1a102b2", "1a10 2b2"),
    (b"1a10*", "1a10 *"),
    (b"1a100b2", "1a10 0b2"),
    # Row 1 1 is eleven, unless a column letter follows: then the second 1 is the next token's slot.
    (b"1a11", "1a11"),
    (b"1a11b2", "1a1 1b2"),
    (b"1a11 b2", "1a11 ?"),
    (b"1a112b2", "1a11 2b2"),
    (b"1a111b2", "1a11 1b2"),
    (b"1a1111b2", "1a11 ?"),
    (b"1a11*", "1a11 *"),
    (b"1a11 ", "1a11"),
    (b"1a110b2", "1a11 0b2"),
    (b"1a119", "1a11 ?"),
    (b"1a11k1", "1a1 1k1"),
    (b"1a11l1", "1a11 ?"),
    (b"1a11A1", "1a11 ?"),
    (b"1a11`1", "1a11 ?"),
    (b"1a11a", "1a1 ?"),
    (b"1a11a11a1", "1a1 1a1 1a1"),
    (b"1a11a111a1", "1a1 1a11 1a1"),
    # Other rows are one digit: what follows is the next token's.
    (b"1a12b2", "1a1 2b2"),
    (b"1a21b2", "1a2 1b2"),
    (b"1a22b2", "1a2 2b2"),
    (b"1a91b2", "1a9 1b2"),
    (b"1a20", "1a2 ?"),
    (b"1a12", "1a1 ?"),
    # Rows 0 and 01 are no rows.
    (b"1a0", "?"),
    (b"1a01", "?"),
    (b"1a00", "?"),
    # Any digit may stand in the slot's place; whether there is such a slot is not for the reader.
    (b"0a1", "0a1"),
    (b"4a1", "4a1"),
    (b"9k11", "9k11"),
    (b"10a1", "?"),
    # Columns a to k, whatever the board.
    (b"1k1", "1k1"),
    (b"1l1", "?"),
    (b"1A1", "?"),
    (b"1`1", "?"),
    (b"1*1", "?"),
    (b"a1", "?"),
    (b"1", "?"),
    (b"1a", "?"),
    (b"11", "?"),
    (b"111", "?"),
    (b"aaa", "?"),
    (b"1a1 2", "1a1 ?"),
    (b"1a1 2b", "1a1 ?"),
    # What no notation lists.
    (b"-1a1", "?"),
    (b"+1a1", "?"),
    (b"1a-1", "?"),
    (b"1a1,2b2", "1a1 ?"),
    (b"1a1;", "1a1 ?"),
    (b"1a1.0", "1a1 ?"),
    (b"#", "?"),
    (b"/", "?"),
    (b":a1", "?"),
    (b"1a:", "?"),
    (b"1a/", "?"),
    (b"\x001a1", "?"),
    (b"1a1\x00", "1a1 ?"),
    (b"1a1\x1c2b2", "1a1 ?"),
    (b"1a1\x1f2b2", "1a1 ?"),
    (b"1a1\x082b2", "1a1 ?"),
    (b"1a1\x7f", "1a1 ?"),
    # Beyond ASCII nothing is white space, a digit or a letter: a byte-order mark, no-break spaces, full-width and Arabic digits.
    ("\ufeff1a1".encode(), "?"),
    ("1a1\u00a02b2".encode(), "1a1 ?"),
    ("1a1\u20032b2".encode(), "1a1 ?"),
    ("1a1\u0085".encode(), "1a1 ?"),
    ("\uff11a1".encode(), "?"),
    ("1\uff411".encode(), "?"),
    ("1a\u0661".encode(), "?"),
    ("1\u00e11".encode(), "?"),
    (b"1a1\x85", "1a1 ?"),
    (b"1a1\xa0", "1a1 ?"),
    (b"\xff\xfe", "?"),
    (b"\xb1a1", "?"),
]


def spelt(token: twin.Token | None) -> str:
    if token is None:
        return "?"
    return "*" if token.slot is None else twin.write_token(token.slot, token.column, token.row)


def read_by_kernel(log: bytes, next_token: object, data: object) -> str:
    found, pos = [], 0
    while True:
        kind, slot, column, row, pos = next_token(data, pos, len(log))
        if kind == k.T_END:
            return " ".join(found)
        if kind == k.T_BAD:
            return " ".join([*found, "?"])
        found.append("*" if kind == k.T_CONTINUE else twin.write_token(slot, column, row))


@pytest.mark.parametrize(("log", "tokens"), READINGS)
def test_readings(log: bytes, tokens: str) -> None:
    assert " ".join(spelt(token) for token in twin.read_tokens(log)) == tokens
    assert read_by_kernel(log, k.next_token, log) == tokens
    assert read_by_kernel(log, BATCH["next_token"], np.frombuffer(log, np.uint8).copy()) == tokens
    assert read_by_kernel(log, k.next_token, list(log)) == tokens


@pytest.mark.parametrize(("log", "tokens"), READINGS)
def test_reading_does_not_look_beyond_a_log(log: bytes, tokens: str) -> None:
    """Logs lie side by side in one buffer: what the neighbour begins with belongs to the neighbour."""
    for neighbour in (b"0", b"1", b"1a1", b"a1", b"*", b" "):
        data = np.frombuffer(b"1a1" + log + neighbour, np.uint8).copy()
        found, pos, end = [], 3, 3 + len(log)
        for _ in range(len(log) + 1):
            kind, slot, column, row, pos = BATCH["next_token"](data, pos, end)
            if kind in (k.T_END, k.T_BAD):
                found += ["?"] * (kind == k.T_BAD)
                break
            found.append("*" if kind == k.T_CONTINUE else twin.write_token(slot, column, row))
        assert " ".join(found) == tokens
        assert pos <= end


@pytest.mark.parametrize(("log", "tokens"), READINGS)
def test_the_index_of_a_fault_is_the_tokens(log: bytes, tokens: str) -> None:
    """Played with a deal of single cells on a large empty board: the first fault is at the first token that is not legal."""
    expected = twin.replay(VALUES, "daily", log, 0, ["1"] * 30)
    check_everywhere(rules("1.2.0"), VALUES, Case(log, pieces=("1",) * 30), expected, repr(log))
    if expected.fault:
        kind, index = expected.fault
        assert expected.moves == index
        assert (kind == "bad_token") == (tokens.split()[index] == "?")


def test_every_three_and_four_byte_text_is_read_alike() -> None:
    """All short texts over the characters that matter, and the lines between good and bad ones."""
    alphabet = b"01239ak`l*: /"
    texts = [bytes([a, b, c]) for a in alphabet for b in alphabet for c in alphabet]
    texts += [b"1a1" + bytes([a, b, c]) for a in alphabet for b in alphabet for c in alphabet]
    for text in texts:
        expected = " ".join(spelt(token) for token in twin.read_tokens(text))
        assert read_by_kernel(text, k.next_token, text) == expected, text


def test_every_legal_token_is_read_back() -> None:
    for slot in range(3):
        for column in range(11):
            for row in range(11):
                text = notation.token(slot, column, row)
                assert text == twin.write_token(slot + 1, column, row)
                for log in (text, text + text, f"{text} {text}", f"{text}*{text}"):
                    read = [token for token in twin.read_tokens(log.encode()) if token != twin.Token(None)]
                    assert read == [twin.Token(slot + 1, column, row)] * len(read)
                    assert read_by_kernel(log.encode(), k.next_token, log.encode()).split().count(text) == len(read)


# Every kind of fault: mode, start, pieces, log, the fault, and words of its text.
FAULTS = [
    ("daily", "-", "1 1 1 1 1", b"1a1 x", ("bad_token", 1), "'x' is no token"),
    ("daily", "-", "1 1 1 1 1", b"1a1 \xff", ("bad_token", 1), "is no token"),
    ("daily", "-", "1 1 1 1 1", b"1a1 0a2", ("no_such_slot", 1), "'0a2' names slot 0"),
    ("daily", "-", "1 1 1 1 1", b"1a1 4a2", ("no_such_slot", 1), "'4a2' names slot 4"),
    ("daily", "-", "1 1 1 1 1", b"9a1", ("no_such_slot", 0), "slot 9"),
    ("daily", "-", "1 1 1 1 1", b"1a9", ("outside_board", 0), "'1a9' puts 1 at a9, outside the 8 x 8"),
    ("daily", "-", "1 1 1 1 1", b"1i1", ("outside_board", 0), "i1"),
    ("daily", "-", "1 1 1 1 1", b"1k11", ("outside_board", 0), "'1k11' puts 1 at k11"),
    ("daily", "-", "1 1 1 1 1", b"1a10", ("outside_board", 0), "'1a10' puts 1 at a10"),
    ("daily", "-", "I5h I5v 1 1 1", b"1e1", ("outside_board", 0), "I5h"),
    ("daily", "-", "I5h I5v 1 1 1", b"2a5", ("outside_board", 0), "I5v"),
    ("daily", "-", "1 1 1 1 1", b"1a1 1a1", ("overlap", 1), "'1a1' puts 1 at a1, onto a cell"),
    ("daily", "#7", "I5v 1 1 1", b"1a4", ("overlap", 0), "I5v"),
    ("daily", "-", "1 1 1 1 1", b"*", ("continue_not_allowed", 0), "this mode has no continue"),
    ("training", "-", "1 1 1 1 1", b"1a1*", ("continue_not_allowed", 1), "not over"),
    ("training", "-", "1", b"1a1**", ("continue_not_allowed", 2), "used already"),
    ("daily", "/".join(["#1#1#1#1", "1#1#1#1#"] * 4), "O O O O", b"2c3", ("after_end", 0), "'2c3' comes after the game was over"),
    ("daily", "-", "1 1", b"3a1", ("deal_exhausted", 0), "more pieces than the challenge lists"),
    ("daily", "-", "1 1", b"1a1 1b1", ("deal_exhausted", 1), "'1b1'"),
]


@pytest.mark.parametrize(("mode", "start", "pieces", "log", "fault", "words"), FAULTS)
def test_faults(mode: str, start: str, pieces: str, log: bytes, fault: tuple[str, int], words: str) -> None:
    case = Case(log, mode, 0, tuple(pieces.split()), start)
    expected = twin.replay(VALUES, mode, log, 0, pieces.split(), start)
    assert expected.fault == fault
    check_everywhere(rules("1.2.0"), VALUES, case, expected)
    game = opened(rules("1.2.0"), case)
    game.run()
    assert words in game.fault_text()
    # A replay that has stopped stays where it is.
    assert game.step() == game.status
    assert game.outcome().moves == fault[1]


# A 4 x 4 board on which nothing but single cells fit.
CHEQUERED = "#1#1/1#1#/#1#1/1#1#"


@pytest.mark.parametrize(
    ("mode", "pieces", "log", "fault"),
    [
        # Over: a token that can be read is after the end, whatever else is wrong with it ...
        ("daily", "O O O", b"1a1", ("after_end", 0)),
        ("daily", "O O O", b"7a1", ("after_end", 0)),
        ("daily", "O O O", b"1k11", ("after_end", 0)),
        # ... one that cannot be read is a bad token, and a continue is never after the end.
        ("daily", "O O O", b"1a0", ("bad_token", 0)),
        ("daily", "O O O", b"1a", ("bad_token", 0)),
        ("daily", "O O O", b"*", ("continue_not_allowed", 0)),
        ("training", "O O O", b"*", None),
        ("training", "O O O", b"**", ("continue_not_allowed", 1)),
        # Over with an empty slot: the deal's doing.
        ("daily", "O O", b"1a1", ("deal_exhausted", 0)),
        ("daily", "O O", b"3a1", ("deal_exhausted", 0)),
        ("daily", "O O", b"9k11", ("deal_exhausted", 0)),
        ("daily", "O O", b"9k", ("bad_token", 0)),
        # Not over: no slot, then an empty slot, then outside, then overlap.
        ("daily", "1 O", b"4k11", ("no_such_slot", 0)),
        ("daily", "1 O", b"3k11", ("deal_exhausted", 0)),
        ("daily", "1 O", b"2d1", ("outside_board", 0)),
        ("daily", "1 O", b"2a4", ("outside_board", 0)),
        ("daily", "1 O", b"2a1", ("overlap", 0)),
        ("daily", "1 O", b"1b1", None),
    ],
)
def test_order_of_faults(tmp_path: Path, mode: str, pieces: str, log: bytes, fault: tuple[str, int] | None) -> None:
    values = twin.on_board(VALUES, 4, 4)
    expected = twin.replay(values, mode, log, 0, pieces.split(), CHEQUERED)
    assert expected.fault == fault
    small = sized_rules(tmp_path, "1.2.0", 4, 4)
    check_everywhere(small, values, Case(log, mode, 0, tuple(pieces.split()), CHEQUERED), expected)


@pytest.mark.parametrize(
    ("log", "board", "fault"),
    [
        (b"1a111a10", "#10/#10", None),
        (b"1a11 1a10", "#10/#10", None),
        (b"1a11b2", "#10/1#9/11/11/11/11/11/11/11/11/11", None),
        (b"1k11", "10#", None),
        (b"1k11 1k11", "10#", ("overlap", 1)),
        (b"1k1 1k10 1k9", "10#/11/11/11/11/11/11/11/10#/10#/11", None),
        (b"1l1", "-", ("bad_token", 0)),
        (b"1a12", "#10/11/11/11/11/11/11/11/11/11/11", ("bad_token", 1)),
    ],
)
def test_a_board_of_11_by_11(tmp_path: Path, log: bytes, board: str, fault: tuple[str, int] | None) -> None:
    values = twin.on_board(VALUES, 11, 11)
    pieces = ("1",) * 10
    expected = twin.replay(values, "daily", log, 0, list(pieces))
    assert (expected.board, expected.fault) == (board, fault)
    check_everywhere(sized_rules(tmp_path, "1.2.0", 11, 11), values, Case(log, pieces=pieces), expected)


def test_full_lines_of_11_by_11(tmp_path: Path) -> None:
    """Eleven cells of row 11 and, with the last of them, of column k: two lines, 240."""
    values = twin.on_board(VALUES, 11, 11)
    start = "/".join(["10#"] * 10 + ["##########1"])
    expected = twin.Result(244, 2, "-", 1, False, None)
    large = sized_rules(tmp_path, "1.2.0", 11, 11)
    check_everywhere(large, values, Case(b"1k11", pieces=("1",) * 4, start=start), expected)


@pytest.mark.parametrize("size", [4, 5, 7, 9, 10, 11])
def test_the_edge_of_every_board(tmp_path: Path, size: int) -> None:
    """The last column and row are on the board, the next ones are not; the reader knows nothing of either."""
    sized, values = sized_rules(tmp_path, "1.2.0", size, size), twin.on_board(VALUES, size, size)
    pieces = ("1", "1", "O", "1")
    logs = [twin.write_token(1, size - 1, size - 1), twin.write_token(3, size - 2, size - 2)]
    logs += [twin.write_token(3, size - 1, size - 2), twin.write_token(3, size - 2, size - 1)]
    logs += [twin.write_token(1, x, y) for x, y in ((size, 0), (0, size)) if x < 11 and y < 11]
    cases = [Case(log.encode(), pieces=pieces) for log in logs]
    rows = batch_rows(sized, replay_batch(sized, cases))
    assert [row.fault and row.fault[0] for row in rows] == [None, None] + ["outside_board"] * (len(rows) - 2)
    for case, row in zip(cases, rows, strict=True):
        assert twin.replay(values, "daily", case.log, 0, list(pieces)) == row


# Start boards and their text.


@pytest.mark.parametrize("text", ["-", "", "#7", "8/#7", "0#07"])
def test_start_boards(text: str) -> None:
    expected = twin.read_board(text or "-", 8, 8)
    rows = notation.start_rows(text, rules("1.2.0"))
    assert {(x, y) for y in range(8) for x in range(8) if rows[y] >> x & 1} == expected


@pytest.mark.parametrize(
    "text", ["########", "#7/########/8", "/".join(["#7"] * 8), "#8", "#", "x7", "#7\n", "8/" * 8 + "8", "#7\0"]
)
def test_start_boards_that_are_refused(text: str) -> None:
    """A full line on a start board was completed by no placement; the rest cannot be read."""
    with pytest.raises(BoardError) as caught:
        notation.start_rows(text, rules("1.2.0"))
    assert repr(text) in str(caught.value)


def test_unknown_listed_pieces_are_refused() -> None:
    assert notation.piece_indexes("1 Va  1", rules("1.2.0")) == [0, 30, 0]
    for names in ("i3h", "1 I9h", "I3H"):
        with pytest.raises(ValueError, match=names.split()[-1]):
            notation.piece_indexes(names, rules("1.2.0"))


LONG = ["0" * 40 + "8", "#" + "0" * 40 + "7", "#7/" + "0" * 5000 + "8", "#7/" + "9" * 5000]
SHORT = ["0#0007", "8/8/-", "#\x007", "#\u0667", "", "#7/", "#77", "#-7", "--"]


@pytest.mark.parametrize("text", LONG + SHORT)
def test_both_readers_of_board_text_agree(text: str) -> None:
    """The reader of start boards and the kernel's reader of claimed boards are two; they must read the same language."""
    expected = twin.read_board(text, 8, 8)
    try:
        cells = parse_cells(text, 8, 8, "#")
    except BoardError:
        assert expected is None
    else:
        assert {(x, y) for y in range(8) for x in range(8) if cells[y][x] == "#"} == expected
    data = text.encode()
    assert (k.parse_board(data, 0, len(data), 8, 8, [0] * 8) == k.BOARD_EQUAL) == (expected is not None)


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        (["...", "...", "..."], "-"),
        (["...", "#.#", "..."], "#1#/3"),
        (["###", "...", "..#"], "###/3/2#"),
        ([".#."], "1#1"),
    ],
)
def test_canonical_text(drawn: list[str], text: str) -> None:
    assert format_cells(drawn) == text
    cells = {(x, y) for y, row in enumerate(drawn) for x, char in enumerate(row) if char == "#"}
    assert twin.write_board(cells, 3, len(drawn)) == text
    assert twin.read_board(text, 3, len(drawn)) == cells
