"""Tetcolor's notation: tokens and their time (field case B5), boards of cells with several letters, listed pieces."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from engine.board import BoardError
from engine.outcome import BOARD_DIFFERS, BOARD_EQUAL, BOARD_UNREADABLE
from engine.tetcolor import layout as at
from engine.tetcolor import notation
from engine.tetcolor.single import make_deal, replay
from tests.engine.tetcolor_support import Case, both, random_cells, rules

MODE = "duo/classic/relax1"
DAY = 5_184_000


# Tokens.

TOKENS = [
    (b"", 0, None),
    (b" \t\n\v\f\r", 0, None),
    (b"lrxzdh", 6, None),
    (b"0l0l0h", 3, None),
    (b"00012l9h", 2, None),
    (b"12", 0, None),
    (b"12 \n", 0, None),
    (b"l 12", 1, None),
    (b"l 3r\n4x\t5", 3, None),
    (b"000000001l", 1, None),
    (b"0", 0, None),
    (b"12l-3r5h", 1, "bad_token"),
    (b"12 13", 0, "bad_token"),
    (b"12 l", 0, "bad_token"),
    (b"l12 r", 1, "bad_token"),
    (b"1 2l", 0, "bad_token"),
    (b"99999999999999999999l", 0, "bad_token"),
    (b"1234567890l", 0, "bad_token"),
    (b"0000000001l", 0, "bad_token"),
    (b"l1234567890", 1, "bad_token"),
    (b"L", 0, "bad_token"),
    (b"lc", 1, "bad_token"),
    (b"l*", 1, "bad_token"),
    (b"l\x00", 1, "bad_token"),
    (b"l\xd9\xa3r", 1, "bad_token"),
    (b"l1.5r", 1, "bad_token"),
    (b"+1l", 0, "bad_token"),
    (b"l 5\x00", 1, "bad_token"),
]


@pytest.mark.parametrize(("log", "moves", "fault"), TOKENS)
def test_b5_tokens(log: bytes, moves: int, fault: str | None) -> None:
    result = both(Case(log, MODE))
    assert (result.moves, result.fault) == (moves, fault and (fault, moves))


def test_b5_a_bad_tokens_time_does_not_pass() -> None:
    """Nothing of it can be trusted: the piece is where it was."""
    game = Case(b"5l90 l", MODE).game()
    game.run()
    assert (game.clock, game.moves) == (5, 1)
    assert game.fault_text() == "'90' is no token of the notation"


def test_b5_time_beyond_31_and_63_bits() -> None:
    """A sum of many long waits neither wraps nor loops tick by tick."""
    for log in (b"999999999l" * 50, b"999999999" + b"l", b"l" + b"999999999r" * 3):
        result = both(Case(log, "duo/classic/normal", 5))
        assert result.fault is not None and result.fault[0] == "after_end"
        assert result.finished


def test_the_clock_of_a_game_ends_after_a_day() -> None:
    """Only a game whose list of pieces ran out is still going on then: time beyond is a bad token, with the state before it."""
    base = Case(b"", "columns/classic/normal", pieces="C:aaa")
    calm = both(replace(base, log=b"hh%d" % DAY))
    assert (calm.fault, calm.score, calm.moves, calm.finished) == (None, 6, 2, False)
    assert both(replace(base, log=b"hh%dh" % DAY)).fault == ("deal_exhausted", 2)
    for log in (b"hh%d", b"hh%dh", b"hh\n%dx \n"):
        case = replace(base, log=log % (DAY + 1))
        result = both(case)
        assert (result.fault, result.score, result.moves) == (("bad_token", 2), 6, 2)
        game = case.game()
        game.run()
        assert game.clock == 0
        assert game.fault_text().endswith("passes the end of the game's clock, 24 hours")
    # Within one token the piece would land and match: that must not have happened.
    result = both(replace(base, log=b"%d" % (DAY + 1)))
    assert (result.fault, result.score, result.board) == (("bad_token", 0), 0, "-")
    # In steps up to the day's last tick, and one more.
    assert both(replace(base, log=b"%dl%dl" % (DAY - 1, 1))).fault == ("deal_exhausted", 0)
    assert both(replace(base, log=b"%d" % DAY)).score == 6
    # The rules end another game long before.
    idle = both(Case(b"999999999l", "columns/classic/normal", 4))
    assert (idle.fault, idle.finished) == (("after_end", 0), True)
    assert both(Case(b"999999999", "columns/classic/normal", 4)).fault is None


def test_after_the_end() -> None:
    """Any input that can be read is after_end, with the state that the end left; one that cannot be read is bad_token."""
    base = Case(b"", "columns/classic/normal", pieces="C:aba " * 9)
    ended = both(replace(base, log=b"hh" * 4))
    assert (ended.finished, ended.moves, ended.fault) == (True, 8, None)
    for log, fault in ((b"l", "after_end"), (b"500x", "after_end"), (b"999999999h", "after_end"), (b"q", "bad_token")):
        assert both(replace(base, log=b"hh" * 4 + log)) == replace(ended, fault=(fault, 8), received=9)
    assert both(replace(base, log=b"hh" * 4 + b"999999999")) == ended


def test_a_list_of_pieces_that_runs_out() -> None:
    """Time passes without effect, the game is not over, and an input is the challenge's fault."""
    base = Case(b"", "columns/classic/normal", pieces="C:aba C:bcb")
    assert both(replace(base, log=b"hhhh100")).fault is None
    result = both(replace(base, log=b"hhhh100h"))
    assert (result.fault, result.moves, result.finished) == (("deal_exhausted", 4), 4, False)
    empty = both(Case(b"h", "columns/classic/normal", pieces=" "))
    assert (empty.fault, empty.finished) == (("deal_exhausted", 0), False)


def test_tokens_as_text() -> None:
    assert [notation.token(ticks, "h") for ticks in (0, 1, 40)] == ["h", "1h", "40h"]
    log = b" 12l\n3r x*99h"
    assert [notation.token_at(log, index) for index in range(5)] == ["12l", "3r", "x", "*99h", None]
    assert notation.token_at(b"l 12", 1) == "12"
    assert notation.token_at(b"", 0) is None
    assert notation.count_tokens("12l 3r\nxQ7") == 4
    assert notation.count_tokens("\u00e9\u0663*5") == 0
    assert both(Case(b"12l 3r\nxQ7", MODE)).received == 4


# Boards.


def test_cells_as_text() -> None:
    texts = [notation.cell_text(c | s << at.SPECIAL_SHIFT | i) for i in (0, at.ICE) for s in range(8) for c in range(1, 6)]
    assert texts[:5] == ["a", "b", "c", "d", "e"]
    assert texts[5:10] == ["aN", "bN", "cN", "dN", "eN"]
    assert len(set(texts)) == 80
    assert [notation.cell_text(notation.cell_value(text)) for text in texts] == texts
    assert notation.cell_text(0) == "."
    for text in ("", "f", "N", "aX", "aNN", "a*N", "a**", "*", "A", "a "):
        with pytest.raises(BoardError):
            notation.cell_value(text)


def test_boards_round_trip() -> None:
    rng = random.Random("boards")
    for _ in range(200):
        width, height = rng.choice([(10, 20), (8, 16), (6, 13)])
        cells = random_cells(rng, width, height, rng.choice([0, 0.1, 0.6, 1]), rng.choice([0, 0.5, 1]))
        text = notation.board_text(cells)
        assert notation.read_board(text, width, height) == cells
        assert not text.startswith(("6/", "8/", "10/")) and "0" not in text.replace("10", "")


BOARDS = [
    ("aN*4b/cM4eS", BOARD_EQUAL),
    ("6/aN*4b/cM4eS", BOARD_EQUAL),
    ("6/" * 11 + "aN*4b/cM4eS", BOARD_EQUAL),
    ("06/0aN*04b0/cM0004eS", BOARD_EQUAL),
    ("aN4b/cM4eS", BOARD_DIFFERS),
    ("a*4b/cM4eS", BOARD_DIFFERS),
    ("bN*4b/cM4eS", BOARD_DIFFERS),
    ("aH*4b/cM4eS", BOARD_DIFFERS),
    ("aN*4b/cM4eS*", BOARD_DIFFERS),
    ("aN*4b/cM4e", BOARD_DIFFERS),
    ("aN*5/cM4eS", BOARD_DIFFERS),
    ("aN*3b1/cM4eS", BOARD_DIFFERS),
    ("aN*4b/cM4eS/6", BOARD_DIFFERS),
    ("b5/aN*4b/cM4eS", BOARD_DIFFERS),
    ("cM4eS", BOARD_DIFFERS),
    ("-", BOARD_DIFFERS),
    ("6", BOARD_DIFFERS),
    ("6/" * 12 + "aN*4b/cM4eS", BOARD_UNREADABLE),
    ("", BOARD_UNREADABLE),
    ("--", BOARD_UNREADABLE),
    ("-/6", BOARD_UNREADABLE),
    ("aN*4b/cM4eS/", BOARD_UNREADABLE),
    ("/aN*4b/cM4eS", BOARD_UNREADABLE),
    ("aN*4b//cM4eS", BOARD_UNREADABLE),
    ("aN*5b/cM4eS", BOARD_UNREADABLE),
    ("aN*3b/cM4eS", BOARD_UNREADABLE),
    ("a*N4b/cM4eS", BOARD_UNREADABLE),
    ("aN**4b/cM4eS", BOARD_UNREADABLE),
    ("aNH4b/cM4eS", BOARD_UNREADABLE),
    ("fN*4b/cM4eS", BOARD_UNREADABLE),
    ("AN*4b/cM4eS", BOARD_UNREADABLE),
    ("*4b1/cM4eS", BOARD_UNREADABLE),
    ("N4b/cM4eS", BOARD_UNREADABLE),
    ("aN*4b/cM4eS\n", BOARD_UNREADABLE),
    (" aN*4b/cM4eS", BOARD_UNREADABLE),
    ("aN*4b/cM4eS\0", BOARD_UNREADABLE),
    ("aN*4294967300b/cM4eS", BOARD_UNREADABLE),
    ("aN*18446744073709551620b/cM4eS", BOARD_UNREADABLE),
    ("aN*" + "9" * 5000 + "b/cM4eS", BOARD_UNREADABLE),
    ("aN*\u06644b/cM4eS", BOARD_UNREADABLE),
    ("aaaaaaa/cM4eS", BOARD_UNREADABLE),
    ("cM4eS/7", BOARD_UNREADABLE),
]


@pytest.mark.parametrize(("claim", "expected"), BOARDS)
def test_b10_claimed_boards(claim: str, expected: int) -> None:
    """A claim is compared by the cells that it means: every letter of a cell counts, and how it is spelt does not."""
    case = Case(b"", "columns/arcade/relax1", start="aN*4b/cM4eS", claim=claim.encode())
    assert both(case).compared == expected
    if expected == BOARD_UNREADABLE:
        with pytest.raises(BoardError, match="board"):
            notation.read_board(claim, 6, 13)
    else:
        same = notation.read_board(claim, 6, 13) == notation.read_board("aN*4b/cM4eS", 6, 13)
        assert expected == (BOARD_EQUAL if same else BOARD_DIFFERS)


@pytest.mark.parametrize("mode", ["duo/arcade/normal", "tetcolor/arcade/normal", "columns/arcade/normal", "retris/arcade/normal"])
def test_claims_of_every_family(mode: str) -> None:
    """The engines read claims alike, on every board: right ones, ones with a byte changed, garbage."""
    rng = random.Random(mode)
    family = rules().family(mode)
    assert family is not None
    letters = "abcdeNHVLMAS*0123456789/-f "
    for _ in range(60):
        cells = random_cells(rng, family.width, family.height, 0.5, 0.5)
        cells[0] = [0] * family.width
        text = list(notation.board_text(cells))
        for _ in range(rng.randrange(3)):
            text[rng.randrange(len(text))] = rng.choice(letters)
        claim = "".join(text)
        compared = both(Case(b"", mode, claim=claim.encode())).compared
        try:
            expected = BOARD_DIFFERS if any(map(any, notation.read_board(claim, family.width, family.height))) else BOARD_EQUAL
        except BoardError:
            expected = BOARD_UNREADABLE
        assert compared == expected, claim


# Start boards and listed pieces of a challenge.

STARTS = [
    ("duo/classic/normal", "", None),
    ("duo/classic/normal", "-", None),
    ("duo/classic/normal", "aabaabaab1", None),
    ("duo/classic/normal", "aabaabaabb", "full row"),
    ("duo/classic/normal", "aaabaabaa1", "line"),
    ("duo/classic/normal", "a9/a9/a9", "line"),
    ("duo/classic/normal", "a9/1a8/2a7", "line"),
    ("duo/classic/normal", "2a7/1a8/a9", "line"),
    ("duo/classic/normal", "a*9/aS9/aM9", "line"),
    ("tetcolor/classic/normal", "aabaabaa", None),
    ("tetcolor/classic/normal", "aabaabaab1", "not 8 cells wide"),
    ("retris/classic/normal", "aaaaaaaaa1", None),
    ("retris/classic/normal", "aaaaaaaaaa", "full row"),
    ("columns/classic/normal", "abaaba", None),
    ("columns/classic/normal", "abaaf1", "'f'"),
    ("columns/classic/normal", "6/" * 13 + "6", "14 rows"),
    ("columns/classic/normal", "board", "'o'"),
]


@pytest.mark.parametrize(("mode", "text", "named"), STARTS)
def test_start_boards(mode: str, text: str, named: str | None) -> None:
    if named is None:
        deal = make_deal(rules(), mode, 0, "", text)
        assert (deal.start is None) == (text == "")
    else:
        with pytest.raises(ValueError, match=named):
            make_deal(rules(), mode, 0, "", text)


PIECES = [
    ("duo/classic/normal", "T:abcd", None),
    ("duo/classic/normal", "I:aNbcM*d*", None),
    ("duo/classic/normal", "I:abcde", None),
    ("duo/classic/normal", "I:abc", "no shape I of 3 cells"),
    ("duo/classic/normal", "J:abcde", "no shape J of 5 cells"),
    ("tetcolor/classic/normal", "I:abc I:abcd", None),
    ("tetcolor/classic/normal", "I:abcde", "no shape I of 5 cells"),
    ("columns/classic/normal", "C:abc", None),
    ("columns/classic/normal", "C:abcd", "no shape C of 4 cells"),
    ("columns/classic/normal", "T:abcd", "no shape T"),
    ("duo/classic/normal", "T", "cannot be read"),
    ("duo/classic/normal", "T:", "cannot be read"),
    ("duo/classic/normal", "T:abcf", "cannot be read"),
    ("duo/classic/normal", "T:ab.d", "cannot be read"),
    ("duo/classic/normal", "T:a*Nbcd", "cannot be read"),
    ("duo/classic/normal", ":abcd", "no shape  of 4"),
    ("duo/classic/normal", "TT:abcd", "no shape TT"),
    ("duo/classic/normal", "T:abcd,O:abcd", "cannot be read"),
]


@pytest.mark.parametrize(("mode", "text", "named"), PIECES)
def test_listed_pieces(mode: str, text: str, named: str | None) -> None:
    """The letter and the number of cells name the shape; it must be one of the family's."""
    if named is None:
        game = Case(b"", mode, pieces=text).game()
        assert game.piece == text.split()[0]
        assert game.next_piece == (text.split()[1] if " " in text else None)
    else:
        with pytest.raises(ValueError, match=named):
            make_deal(rules(), mode, 0, text, "")


def test_a_piece_of_every_kind_of_cell_arrives_on_the_board() -> None:
    """80 kinds of cell, listed in pieces and read back from the board."""
    texts = [notation.cell_text(c | s << at.SPECIAL_SHIFT | i) for i in (0, at.ICE) for s in range(8) for c in range(1, 6)]
    for text in texts:
        result = both(Case(b"hh", "columns/arcade/relax1", pieces=f"C:{text}bc"))
        assert result.board == f"2{text}3/2b3/2c3"


def test_replay_takes_text_that_is_no_ascii() -> None:
    """A log comes as text, with whatever an upload holds; a lone surrogate is a bad token like any other."""
    deal = make_deal(rules(), MODE, 3, "", "")
    for log in ("l\u00e9", "l\ud800", "l\U0001f600"):
        fault = replay(rules(), deal, log, MODE).fault
        assert fault is not None and (fault.kind, fault.move) == ("bad_token", 1)
