"""Notation of Tetromino Arcade: every rule of the tokens, time in a log (field case B5), boards, faults as text, the trace."""

from __future__ import annotations

import random
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import outcome, words
from engine.board import BoardError
from engine.outcome import BOARD_DIFFERS, BOARD_EQUAL, BOARD_UNREADABLE
from engine.tetromino import notation, text
from engine.tetromino.batch_kernel import BATCH
from engine.tetromino.single import Game, Step, trace
from tests.engine.random_tetromino import make_games
from tests.engine.tetromino_support import Case, compiled, interpreted, opened, rules
from tests.reference import tetromino as twin

RULES = rules()
SPACE = " \t\n\v\f\r"


def found(log: bytes, mode: str = "marathon/1", **more: object) -> tuple[str | None, int, int]:
    """(fault, its index, tokens applied) of a log in both engines, which must agree."""
    case = Case(log, mode, **more)  # type: ignore[arg-type]
    result = interpreted(RULES, case)
    assert compiled(RULES, case) == result, f"state: {case}"
    return (result.fault[0] if result.fault else None), (result.fault[1] if result.fault else -1), result.moves


def read(log: bytes, next_token: object = text.next_token) -> list[tuple[int, int, str]]:
    """(kind, ticks, letter) of everything that is read, up to the end or the first fault."""
    out, pos = [], 0
    data = np.frombuffer(log + b"7h", np.uint8)[: len(log) + 2].copy()
    while True:
        source = log if next_token is text.next_token else data
        kind, ticks, letter, pos = next_token(source, pos, len(log))  # type: ignore[operator]
        out.append((int(kind), int(ticks), chr(letter) if letter else ""))
        if kind != text.T_INPUT:
            return out


INPUT, TIME, BAD, END = text.T_INPUT, text.T_TIME, text.T_BAD, text.T_END
READ = [
    (b"", [(END, 0, "")]),
    (b" \t\n\v\f\r", [(END, 0, "")]),
    (b"l", [(INPUT, 0, "l"), (END, 0, "")]),
    (b"lrxzdhc", [*((INPUT, 0, letter) for letter in "lrxzdhc"), (END, 0, "")]),
    (b"12l3x9h", [(INPUT, 12, "l"), (INPUT, 3, "x"), (INPUT, 9, "h"), (END, 0, "")]),
    (b" 12l\n3x ", [(INPUT, 12, "l"), (INPUT, 3, "x"), (END, 0, "")]),
    (b"0l00l", [(INPUT, 0, "l"), (INPUT, 0, "l"), (END, 0, "")]),
    (b"00012l", [(INPUT, 12, "l"), (END, 0, "")]),
    (b"999999999l", [(INPUT, 999_999_999, "l"), (END, 0, "")]),
    (b"000000001l", [(INPUT, 1, "l"), (END, 0, "")]),
    (b"0000000001l", [(BAD, 0, "")]),
    (b"1000000000l", [(BAD, 0, "")]),
    (b"99999999999999999999l", [(BAD, 0, "")]),
    (b"0000000000", [(BAD, 0, "")]),
    (b"12", [(TIME, 12, "")]),
    (b"h12", [(INPUT, 0, "h"), (TIME, 12, "")]),
    (b"12 \n ", [(TIME, 12, "")]),
    (b"0", [(TIME, 0, "")]),
    (b"12 13", [(BAD, 0, "")]),
    (b"12 h", [(BAD, 0, "")]),
    (b"1 2h", [(BAD, 0, "")]),
    (b"12 -", [(BAD, 0, "")]),
    (b"-3r", [(BAD, 0, "")]),
    (b"l-3r", [(INPUT, 0, "l"), (BAD, 0, "")]),
    (b"+3r", [(BAD, 0, "")]),
    (b"1.5l", [(BAD, 0, "")]),
    (b"1e3l", [(BAD, 0, "")]),
    (b"L", [(BAD, 0, "")]),
    (b"3a", [(BAD, 0, "")]),
    (b"l,r", [(INPUT, 0, "l"), (BAD, 0, "")]),
    (b"\x00", [(BAD, 0, "")]),
    (b"12\x00", [(BAD, 0, "")]),
    (b"l\xc2\xa0r", [(INPUT, 0, "l"), (BAD, 0, "")]),
    ("１l".encode(), [(BAD, 0, "")]),
]


@pytest.mark.parametrize(("log", "expected"), READ)
def test_tokens(log: bytes, expected: list[tuple[int, int, str]]) -> None:
    assert read(log) == expected
    assert read(log, BATCH["next_token"]) == expected


def test_every_byte_alone_and_behind_a_number() -> None:
    for value in range(256):
        byte = bytes([value])
        if chr(value) in "lrxzdhc":
            one, two = INPUT, INPUT
        elif chr(value) in SPACE:
            one, two = END, TIME
        else:
            one = two = TIME if byte.isdigit() else BAD
        assert read(byte)[0][0] == one, byte
        assert read(b"5" + byte)[0][0] == two, byte
        assert read(byte, BATCH["next_token"]) == read(byte)


def test_codes_of_the_kernels_are_those_of_the_outcome() -> None:
    shared = [name for name in vars(outcome) if name.isupper() and isinstance(getattr(outcome, name), int)]
    assert {name: getattr(words, name) for name in shared} == {name: getattr(outcome, name) for name in shared}
    assert set(notation.INPUT_NAMES) == set("lrxzdhc")


# B5: time.


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (b"12l-3r5h", ("bad_token", 1, 1)),
        (b"0l0l0h", (None, -1, 3)),
        (b"00012l9h", (None, -1, 2)),
        (b"99999999999999999999l", ("bad_token", 0, 0)),
        (b"12", (None, -1, 0)),
        (b"", (None, -1, 0)),
        # A log that ends in the air, and one that ends in the middle of a wait.
        (b"5l7r", (None, -1, 2)),
        (b"5l7r100", (None, -1, 2)),
        (b"12 13", ("bad_token", 0, 0)),
    ],
)
def test_b5_time_in_a_log(log: bytes, expected: tuple[str | None, int, int]) -> None:
    assert found(log) == expected


def test_b5_ultra_ends_when_tick_7200_begins() -> None:
    assert found(b"7199h", "ultra") == (None, -1, 1)
    assert found(b"7200h", "ultra") == ("after_end", 0, 0)
    assert found(b"7201h", "ultra") == ("after_end", 0, 0)
    assert found(b"7199hh1h", "ultra") == ("after_end", 2, 2)
    # Later empty ticks mean nothing, however many.
    assert found(b"7199h999999999", "ultra") == (None, -1, 1)
    assert interpreted(RULES, Case(b"7200", "ultra")).finished
    assert not interpreted(RULES, Case(b"7199", "ultra")).finished


def test_b5_ticks_beyond_2_to_the_31() -> None:
    """The clock's sum passes 32 bits in three tokens; where the rules end a game first, it is over, and the rest is after_end."""
    assert found(b"999999999l" * 3) == ("after_end", 0, 0)
    assert found(b"h999999999l999999999l999999999l") == ("after_end", 1, 1)
    assert found(b"999999999l" * 3, "zen") == ("bad_token", 0, 0)
    assert found(b"999999999", "zen") == ("bad_token", 0, 0)


def test_b5_the_games_clock_ends_after_24_hours() -> None:
    """Only a game that is still going on meets that end, with the state before the token."""
    before = interpreted(RULES, Case(b"h2000h", "zen"))
    assert found(b"h2000h5182000h", "zen") == (None, -1, 3)
    assert found(b"h2000h5182001h", "zen") == ("bad_token", 2, 2)
    at_fault = interpreted(RULES, Case(b"h2000h5182001h", "zen"))
    assert at_fault == twin.Result(before.score, before.best_combo, before.board, 2, False, ("bad_token", 2), 1, 0)
    assert found(b"5184000h", "zen") == (None, -1, 1)
    assert found(b"5184000h1h", "zen") == ("bad_token", 1, 1)
    assert found(b"5184000hh0h", "zen") == (None, -1, 3)
    # A listed deal that has run out goes on as well, but never comes to an end of its own.
    assert found(b"h5184001", pieces="T") == ("bad_token", 1, 1)
    assert found(b"h5184000", pieces="T") == (None, -1, 1)
    assert found(b"h5184000h", pieces="T") == ("deal_exhausted", 1, 1)


def test_leading_zeros_count_as_digits_and_add_nothing() -> None:
    plain = interpreted(RULES, Case(b"12l3x9h7", "zen"))
    for log in (b"012l3x9h7", b"000000012l0003x09h07", b" 12l 3x\n9h 7 "):
        assert interpreted(RULES, Case(log, "zen")) == plain
    assert found(b"0000000012l3x9h7") == ("bad_token", 0, 0)


def test_a_bad_tokens_time_does_not_pass_but_a_faulty_ones_does() -> None:
    # I falls from row 21 to 1 in 1201 ticks and locks 30 later.
    assert interpreted(RULES, Case(b"1231q", pieces="IO")).board == "-"
    assert interpreted(RULES, Case(b"1231", pieces="IO")).board == "3IIII3"
    held = interpreted(RULES, Case(b"c9c", pieces="TIO"))
    assert (held.fault, held.board) == (("hold_twice", 1), "-")
    # The piece locks in that time, so the second hold is none before a lock.
    assert found(b"c1231c", pieces="TIO") == (None, -1, 2)
    assert found(b"c1229c", pieces="TIO") == ("hold_twice", 1, 1)


def test_several_faults_in_one_token() -> None:
    """After the end every input is after_end, a second hold too; what cannot be read is bad_token even then."""
    top = "/".join(["3JJJJ3"] * 22)
    assert found(b"c", start=top) == ("after_end", 0, 0)
    assert found(b"q", start=top) == ("bad_token", 0, 0)
    assert found(b"99", start=top) == (None, -1, 0)
    assert found(b"9 9", start=top) == ("bad_token", 0, 0)
    assert found(b"chc", pieces="TI") == ("deal_exhausted", 2, 2)
    assert found(b"chcc", pieces="TIO") == ("hold_twice", 3, 3)
    assert found(b"hl", pieces="T") == ("deal_exhausted", 1, 1)


def test_a_million_inputs_interpreted_in_bounded_time() -> None:
    """Faults come at once whatever follows; legal inputs cost the same each."""
    million = 10**6
    start = time.process_time()
    for log, mode in ((b"h" * million, "marathon/1"), (b"c" * million, "zen"), (b"30h" * million, "marathon/20"), (b"9" * million, "zen"),
                      (b"1 " * million, "zen"), (b" " * million, "zen"), (b"999999999h" * million, "zen")):  # fmt: skip
        opened(RULES, Case(log, mode)).run()
    # A tenth of a million inputs that all count.
    assert opened(RULES, Case(b"lr" * (million // 20), "zen")).run().moves == million // 10
    assert time.process_time() - start < 60


# Text.


def test_token_at_and_count_tokens() -> None:
    log = b" 12l3x\n9h 7 "
    assert [notation.token_at(log, at) for at in range(5)] == ["12l", "3x", "9h", None, None]
    assert notation.token_at(b"12l-3r5h", 1) == "-3r5h"
    assert notation.token_at(b"12l-3r5h", 2) is None
    assert notation.token_at(b"\xff\x00", 0) == "\\xff\x00"
    assert notation.token("l", 12) == "12l"
    assert notation.token("h") == "h"
    counts = {"": 0, "12": 0, " 12l3x\n9h 7 ": 3, "12l-3r5h": 3, "lrxzdhc": 7, "qQ": 2, "é１": 0}
    for text_of_log, count in counts.items():
        assert notation.count_tokens(text_of_log) == count
        data = np.frombuffer(text_of_log.encode() + b"!", np.uint8).copy()
        assert BATCH["count_letters"](data, 0, len(text_of_log.encode()))[0] == count


def test_last_token_and_fault_texts() -> None:
    def told(log: bytes, mode: str = "marathon/1", pieces: str | None = None, start: str = "-") -> str:
        fault = opened(RULES, Case(log, mode, 0, pieces, start)).run().fault
        assert fault is not None
        return fault.text

    assert told(b"12l-3r5h") == "'-3r5h' is no token of the notation"
    assert told(b"c 5c") == "'5c' holds a second piece before one has locked"
    assert told(b"7200h", "ultra") == "'7200h' comes after the game was over"
    assert told(b"h3l", pieces="T") == "'3l' needs more pieces than the challenge lists"
    assert re.fullmatch("'5184000h' passes .* tick 5184001 of at most 5184000, .*", told(b"1l 5184000h", "zen"))
    game = opened(RULES, Case(b" 12l 3x\n9 "))
    seen = []
    while game.step() == outcome.APPLIED:
        seen.append(game.last_token)
    assert [*seen, game.last_token] == ["12l", "3x", "9"]


BOARDS = [
    ("-", "-", BOARD_EQUAL), ("", "-", BOARD_UNREADABLE), ("10", "-", BOARD_EQUAL), ("010/10", "-", BOARD_EQUAL),
    ("J9", "J9", BOARD_EQUAL), ("10/J9", "J9", BOARD_EQUAL), ("J09", "J9", BOARD_EQUAL), ("0J45", "J9", BOARD_UNREADABLE),
    ("J4", "J9", BOARD_UNREADABLE), ("J0000000000000000000009", "J9", BOARD_EQUAL), ("L9", "J9", BOARD_DIFFERS),
    ("1J8", "J9", BOARD_DIFFERS), ("J9/10", "J9", BOARD_DIFFERS), ("-", "J9", BOARD_DIFFERS), ("J9", "-", BOARD_DIFFERS),
    ("j9", "J9", BOARD_UNREADABLE), ("#9", "J9", BOARD_UNREADABLE), ("J9/", "J9", BOARD_UNREADABLE),
    ("/J9", "J9", BOARD_UNREADABLE), ("J10", "J9", BOARD_UNREADABLE), ("J99999999999999999999", "J9", BOARD_UNREADABLE),
    ("JJJJJJJJJJJ", "J9", BOARD_UNREADABLE), ("JJJJJJJJJJ", "J9", BOARD_DIFFERS), ("-J9", "J9", BOARD_UNREADABLE),
    ("--", "-", BOARD_UNREADABLE), ("/".join(["10"] * 39 + ["J9"]), "J9", BOARD_EQUAL),
    ("/".join(["10"] * 40 + ["J9"]), "J9", BOARD_UNREADABLE), ("/".join(["J9"] * 40), "/".join(["J9"] * 40), BOARD_EQUAL),
    ("IJLOSTZ3", "IJLOSTZ3", BOARD_EQUAL), ("IJLOSTZ3", "IJLOSZT3", BOARD_DIFFERS), ("J 9", "J9", BOARD_UNREADABLE),
    ("\udcff", "-", BOARD_UNREADABLE), ("J８", "J9", BOARD_UNREADABLE),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "board", "expected"), BOARDS)
def test_claimed_boards(claim: str, board: str, expected: int) -> None:
    game = opened(RULES, Case(b"", "zen", start=board))
    assert game.board == board
    assert game.board_equals(claim) == expected
    data = np.frombuffer(claim.encode("utf-8", "surrogatepass") + b"9/", np.uint8).copy()
    cells = np.array(game.cells, np.uint64)
    assert BATCH["compare_board"](data, 0, len(data) - 2, 10, 40, cells) == expected


CELLS = st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 39)), st.sampled_from("IJLOSTZ"), max_size=60)


@settings(max_examples=60, deadline=None)
@given(CELLS)
def test_boards_go_and_come_back(cells: dict[tuple[int, int], str]) -> None:
    written = twin.write_board(cells)
    assert notation.board_text(notation.board_words(written, RULES), RULES) == written
    with pytest.raises(BoardError):
        notation.board_words(written + "/11", RULES)


# The trace.


def traced(log: bytes, **more: object) -> tuple[Game, list[Step]]:
    game = opened(RULES, Case(log, **more))  # type: ignore[arg-type]
    return game, list(trace(game))


def test_a_trace_tells_what_each_lock_was_worth() -> None:
    """A1 (a): the spin that falls, and the HUD's numbers after it."""
    slot = "JJ1J2JJJJ/JJ5JJJ/JJ4JJJJ/JJ1JJJJJJJ"
    game, steps = traced(b"dddddddddddddrzddddzlz200h", pieces="TIO", start=slot)
    locks = [step for step in steps if step.lock]
    assert [step.lock.spin for step in locks if step.lock] == ["mini", ""]
    first = locks[0].lock
    assert first is not None
    assert (first.piece, first.lines, first.level, first.back_to_back, first.combo) == ("T", 1, 1, False, 0)
    assert (first.base, first.award, first.dropped, first.perfect, first.full_rows) == (200, 200, 17, False, (0,))
    assert (locks[0].score, locks[0].lines, locks[0].back_to_back, locks[0].token) == (217, 1, True, "200h")
    assert sum(step.gain for step in steps) == game.score == steps[-1].score


def test_a_trace_stops_after_each_lock_of_a_long_wait() -> None:
    game, steps = traced(b"1231h2600", pieces="IOTLJ")
    shown = [(step.move, step.token, step.piece, step.lock is not None, step.gain) for step in steps]
    # The first piece locks while the token's time passes, then the drop and its lock, then two pieces in the trailing time.
    assert shown == [
        (0, "1231h", "I", True, 0), (0, "1231h", "O", False, 38), (0, "1231h", "O", True, 0),
        (1, "2600", "T", True, 0), (1, "2600", "L", True, 0),
    ]  # fmt: skip
    assert game.run().board == steps[-1].board
    assert steps[0].cells == ((3, 0), (4, 0), (5, 0), (6, 0))
    assert steps[1].next == ("T", "L", "J")


def test_a_trace_shows_hold_next_and_inputs_without_effect() -> None:
    _, steps = traced(b"lllllcx", pieces="TOI")
    assert [step.effect for step in steps] == [True, True, True, False, False, True, False]
    assert (steps[5].piece, steps[5].hold, steps[5].held, steps[5].next) == ("O", "T", True, ("I",))
    assert len(steps[0].cells) == 4
    seeded = opened(RULES, Case(b"", seed=0))
    assert (seeded.piece or "") + "".join(seeded.upcoming(13)) == "JTSOILZILTOZSJ"
    # Looking ahead draws nothing.
    assert seeded.upcoming(13) == seeded.upcoming(13)


def test_a_trace_ends_where_the_replay_ends() -> None:
    """Over random games: the same outcome, every score gained in some step, every board the one before plus what the step did."""
    for played in make_games(random.Random("trace"), 60):
        whole = opened(RULES, played.case).run()
        game = opened(RULES, played.case)
        score = 0
        for step in trace(game):
            score += step.gain
            assert score == step.score, f"state: {played.case}"
            assert step.lock is not None or step.gain >= 0
        assert game.outcome() == whole, f"state: {played.case}"
        assert score == whole.score


def test_a_fork_is_independent() -> None:
    """One game goes on with two logs; neither sees the other, and the first is as it was."""
    game = opened(RULES, Case(b"3xllh5c", "zen", 9))
    game.run()
    before = (list(game.cells), list(game.st))
    one, two = game.fork(b"2h"), game.fork(b"2rrh")
    assert one.run().fault is None
    assert two.run().fault is None
    assert (game.cells, game.st) == before
    assert one.board != two.board
    for log, fork in ((b"3xllh5c2h", one), (b"3xllh5c2rrh", two)):
        assert fork.outcome() == opened(RULES, Case(log, "zen", 9)).run()
