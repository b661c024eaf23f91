"""Tetcolor's pieces in play: entry, turns, falling, the landing window, hard drops, pauses, levels."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from engine.tetcolor import layout as at
from engine.tetcolor import notation
from engine.tetcolor.single import Game, trace
from tests.engine.tetcolor_support import Case, both

RELAX = "duo/classic/relax1"  # a row takes 60 ticks


def played(log: str, mode: str = RELAX, pieces: str = "O:abcd O:abcd O:abcd", start: str = "") -> Game:
    """The game after a log, which both engines have replayed alike."""
    case = Case(log.encode(), mode, 1, pieces, start)
    both(case)
    game = case.game()
    game.run()
    return game


def place(game: Game) -> tuple[int, int]:
    """Row and column of the piece in play (its bounding box)."""
    return game.st[at.ROW], game.st[at.COLUMN]


def shown(game: Game) -> dict[tuple[int, int], str]:
    return {where: notation.cell_text(cell) for where, cell in game.piece_cells.items()}


# Entry, shifts, turns.


@pytest.mark.parametrize(
    ("mode", "piece", "column"),
    [(RELAX, "I:abcd", 3), (RELAX, "J:abcd", 3), (RELAX, "O:abcd", 4), (RELAX, "I:abcda", 2), ("tetcolor/classic/relax1", "I:abc", 2),
     ("tetcolor/classic/relax1", "L:abc", 3), ("columns/classic/relax1", "C:abc", 2)],
)  # fmt: skip
def test_a_piece_enters_centred(mode: str, piece: str, column: int) -> None:
    """Left of the centre when uneven, with its top row in the board's top row."""
    assert place(played("", mode, piece)) == (0, column)


def test_shifts_end_at_the_walls() -> None:
    assert place(played("l" * 9)) == (0, 0)
    assert place(played("r" * 9)) == (0, 8)
    assert played("l" * 9).moves == 9


def test_a_turn_takes_colours_and_specials_along() -> None:
    """Clockwise and back; the top left corner of the bounding box stays."""
    pieces = "J:aNbcM*d"
    assert shown(played("", pieces=pieces)) == {(0, 3): "aN", (1, 3): "b", (1, 4): "cM*", (1, 5): "d"}
    assert shown(played("x", pieces=pieces)) == {(0, 4): "aN", (0, 3): "b", (1, 3): "cM*", (2, 3): "d"}
    assert shown(played("z", pieces=pieces)) == {(2, 3): "aN", (2, 4): "b", (1, 4): "cM*", (0, 4): "d"}
    assert shown(played("xxxx", pieces=pieces)) == shown(played("", pieces=pieces)) == shown(played("xz", pieces=pieces))
    assert shown(played("xx", pieces=pieces)) == shown(played("zz", pieces=pieces))


def test_a_turn_of_a_square_moves_its_colours_only() -> None:
    assert shown(played("x")) == {(0, 5): "a", (1, 5): "b", (0, 4): "c", (1, 4): "d"}


def test_cycling_a_stack() -> None:
    """x: each block one down, the lowest to the top; z the other way."""
    mode = "columns/classic/relax1"
    assert list(shown(played("x", mode, "C:abc")).items()) == [((1, 2), "a"), ((2, 2), "b"), ((0, 2), "c")]
    assert list(shown(played("z", mode, "C:abc")).items()) == [((2, 2), "a"), ((0, 2), "b"), ((1, 2), "c")]
    assert shown(played("xxx", mode, "C:abc")) == shown(played("", mode, "C:abc"))


def test_a_blocked_turn_tries_one_column_left_first() -> None:
    """At the right wall a J that stands upright has no room to lie down: one column left it has."""
    assert place(played("x" + "r" * 9, pieces="J:abcd")) == (0, 8)
    assert place(played("x" + "r" * 9 + "x", pieces="J:abcd")) == (0, 7)
    # In the middle it turns in place.
    assert place(played("xx", pieces="J:abcd")) == (0, 3)


def test_a_blocked_turn_tries_one_column_right_then() -> None:
    """##/#. at the left wall, a block under its right end: in place it would hit the block, left is the wall, right is free."""
    case = {"mode": "tetcolor/classic/relax1", "pieces": "L:abc", "start": "/".join(["1e6"] + ["8"] * 10)}
    assert sorted(shown(played("xllldddd", **case))) == [(4, 0), (4, 1), (5, 0)]
    assert sorted(shown(played("xlllddddx", **case))) == [(4, 1), (4, 2), (5, 2)]


@pytest.mark.parametrize(("row", "column"), [("8", 2), ("4a3", 1), ("1a6", 2)])
def test_an_upright_bar_lies_down_where_it_can(row: str, column: int) -> None:
    """I of three upright in column 2, its top in row 4: in place if columns 2-4 are free there, else one column left."""
    case = {"mode": "tetcolor/classic/relax1", "pieces": "I:abc", "start": "/".join([row] + ["8"] * 11)}
    game = played("xddddx", **case)
    assert place(game) == (4, column)
    assert len({r for r, _ in shown(game)}) == 1


@pytest.mark.parametrize(
    ("log", "row"), [("xddddx", "3a4"), ("xddddz", "3a4"), ("xlllddddx", "1a6"), ("x" + "r" * 9 + "ddddx", "5a2")]
)
def test_a_turn_that_fits_nowhere_has_no_effect(log: str, row: str) -> None:
    """Two columns off is not tried; the input is legal all the same."""
    case = {"mode": "tetcolor/classic/relax1", "pieces": "I:abc", "start": "/".join([row] + ["8"] * 11)}
    game, before = played(log, **case), played(log[:-1], **case)
    assert (place(game), shown(game)) == (place(before), shown(before))
    assert game.moves == len(log)


# Falling.


def test_a_row_takes_its_ticks() -> None:
    """A trailing number N lets N ticks pass: the state is the one that an input then would meet."""
    assert place(played("59"))[0] == 0
    assert place(played("60"))[0] == 1
    assert place(played("119"))[0] == 1
    assert place(played("120"))[0] == 2
    assert place(played("1079"))[0] == 17
    assert place(played("1080"))[0] == 18
    # Level 1 of normal: 48 ticks.
    assert place(played("47", "duo/classic/normal"))[0] == 0
    assert place(played("48", "duo/classic/normal"))[0] == 1


def test_every_descent_zeroes_the_counter() -> None:
    """A soft drop in the last tick puts the next row off by 60; a shift does not."""
    assert place(played("59d59"))[0] == 1
    assert place(played("59d60"))[0] == 2
    assert place(played("59l1"))[0] == 1
    # In one token or in sixty: the same.
    assert place(played("1l" * 59))[0] == 0
    assert place(played("1l" * 60))[0] == 1


def test_a_soft_drop_goes_as_far_as_it_can_and_earns_nothing() -> None:
    game = played("d" * 30)
    assert (place(game)[0], game.score, game.moves) == (18, 0, 30)


# The landing window.  The O lands in row 18 by h, at tick 0.


def locks_at(log: str, last: int = 400, **others: str) -> int:
    """The first tick whose end locks a first piece, found by letting ever more time pass after a log (whose tokens take none)."""
    before = played(log, **others).pieces_settled
    for ticks in range(1, last):
        if played(f"{log}{ticks}", **others).pieces_settled > before:
            return ticks - 1
    raise AssertionError("the piece never locks")


def test_the_window_is_24_ticks() -> None:
    assert locks_at("h") == 23
    assert played("h23").pieces_settled == 0
    assert played("h24").pieces_settled == 1
    # By gravity: the tick that brings it down is the first of the 24.
    assert played(f"{18 * 60 + 22}").pieces_settled == 0
    assert played(f"{18 * 60 + 23}").pieces_settled == 1


@pytest.mark.parametrize("adjusting", ["l", "r", "x", "z", "lrlrxz"])
def test_adjusting_does_not_extend_the_window(adjusting: str) -> None:
    """Wrong: a successful move begins it again."""
    whole = "".join(f"5{letter}" for letter in adjusting)[: 2 * 4]
    spent = 5 * whole.count("5")
    assert played(f"h{whole}{23 - spent}").pieces_settled == 0
    assert played(f"h{whole}{24 - spent}").pieces_settled == 1
    assert locks_at(f"h{adjusting}") == 23


# A step under the middle: columns 4 and 5 filled three high, the rest empty.  The O lands on it in row 15.
STEP = "/".join(["4ab4", "4cd4", "4ab4"])


def test_a_gap_opens_a_fresh_window() -> None:
    """20 ticks on the step, then over its edge: it falls again, and has 24 ticks where it lands."""
    on_the_step = played("h20", start=STEP)
    assert (place(on_the_step), on_the_step.st[at.STANDING]) == ((15, 4), 20)
    # Two shifts right: columns 6 and 7.  The counter goes on while it stands: 20 of 60.
    beside = played("h20rr39", start=STEP)
    assert (place(beside)[0], beside.st[at.STANDING]) == (15, 0)
    assert place(played("h20rr40", start=STEP))[0] == 16
    lands = 20 + 40 + 60 + 60
    assert played(f"h20rr{lands - 20 + 22}", start=STEP).pieces_settled == 0
    assert played(f"h20rr{lands - 20 + 23}", start=STEP).pieces_settled == 1


def test_a_counter_beyond_the_row_time_falls_at_once() -> None:
    """Preset 8 takes 5 ticks a row: after 10 ticks on the step it falls in the tick of the shift, and then every 5."""
    base = {"mode": "duo/classic/relax8", "start": STEP}
    assert place(played("h10rr", **base))[0] == 15
    assert place(played("h10rr1", **base))[0] == 16
    assert place(played("h10rr5", **base))[0] == 16
    assert place(played("h10rr6", **base))[0] == 17


def test_back_on_the_step_within_a_tick_is_no_gap() -> None:
    """Over the edge and back within one tick: no tick in the air, the window goes on."""
    assert locks_at("h20rrll", start=STEP) == 3
    assert locks_at("h20rr1ll", start=STEP) == 23


def test_a_gap_of_one_row_that_one_tick_crosses() -> None:
    """It falls again, so the landing is a fresh one, also where no tick ends in the air.  Wrong: only such a tick zeroes the count."""
    low = "4ab4"
    game = played("h20rr1", mode="duo/classic/relax8", start=low)
    assert (place(game)[0], game.st[at.STANDING]) == (18, 1)
    # By soft drop and by hard drop as well.
    for drop in "dh":
        game = played(f"h20rr{drop}1", mode="duo/classic/relax1", start=low)
        assert (place(game)[0], game.st[at.STANDING]) == (18, 1)


# Sealed pieces.

# A well one column wide, in a game without runs: an upright I in it can neither be shifted nor turned.
WELL = {"mode": "retris/classic/relax1", "pieces": "I:abcd O:abcd", "start": "/".join(["abc1abcabc"] * 5)}


def test_a_sealed_piece_locks_at_once() -> None:
    """In the tick in which it reaches its support, without a window."""
    assert place(played("xh", **WELL)) == (16, 3)
    assert locks_at("xh", **WELL) == 0
    # By gravity too: rows 1 to 16, a minute each.
    assert played(f"x{16 * 60 - 1}", **WELL).pieces_settled == 0
    assert played(f"x{16 * 60}", **WELL).pieces_settled == 1
    # Its top row sticks out of a well of three rows: that is no way out for a shift, but for a turn.
    shallow = WELL | {"start": "/".join(["abc1abcabc"] * 3)}
    assert place(played("xh", **shallow)) == (16, 3)
    assert locks_at("xh", **shallow) == 23
    assert played("xhx", **shallow).st[at.COLUMN] in (2, 3, 4)


def test_a_sealed_piece_that_is_still_in_the_air_goes_on_falling() -> None:
    """Within the well, but not on its bottom: no lock before it stands."""
    deep = WELL | {"start": "/".join(["abc1abcabc"] * 9)}
    game = played("x" + "d" * 14 + "59", **deep)
    assert (place(game), game.pieces_settled) == ((14, 3), 0)
    assert locks_at("x" + "d" * 14, **deep) == 119


def test_a_sealed_piece_may_still_be_confirmed_within_its_tick() -> None:
    game = played("xhh", **WELL)
    assert (game.pieces_settled, game.clock) == (1, 0)


def test_a_square_is_never_sealed() -> None:
    """A turn that leaves its cells where they are counts as possible; a stack in a well can always be cycled."""
    well = {"mode": "retris/classic/relax1", "start": "/".join(["abca2bcda"] * 4)}
    assert place(played("h", **well)) == (18, 4)
    assert locks_at("h", **well) == 23
    narrow = "/".join(["ab1abc", "cd1cde", "ab1eab", "cd1bcd"])
    columns = {"mode": "columns/classic/relax1", "pieces": "C:eea C:abc", "start": narrow}
    assert place(played("h", **columns)) == (10, 2)
    assert locks_at("h", **columns) == 23


# Hard drops.


def test_the_second_hard_drop_confirms() -> None:
    assert played("h").pieces_settled == 0
    assert played("hh").pieces_settled == 1
    assert played("h22h").pieces_settled == 1
    assert played("hlrxh").pieces_settled == 1


def test_the_first_hard_drop_of_a_piece_that_stands_does_not_lock() -> None:
    """Brought down by soft drops: the first h remembers, the second locks."""
    down = "d" * 18
    assert played(down + "h").pieces_settled == 0
    assert played(down + "hh").pieces_settled == 1


def test_in_the_air_the_memory_is_lost() -> None:
    """Within inputs of one tick, too: over the edge and back on the step is a new landing."""
    assert played("hh", start=STEP).pieces_settled == 1
    assert played("hrrh", start=STEP).pieces_settled == 0
    assert played("hrrhh", start=STEP).pieces_settled == 1
    assert played("hrrllh", start=STEP).pieces_settled == 0
    assert played("hrrllhh", start=STEP).pieces_settled == 1
    # Onto another part of the step: supported all the time.
    assert played("hrh", start=STEP).pieces_settled == 1


def test_the_rest_of_the_tick_meets_the_next_piece() -> None:
    game = played("hhl")
    assert (game.pieces_settled, place(game)) == (1, (0, 3))
    # Its fall too: the tick of the lock is its first.
    assert place(played("hh60"))[0] == 1
    # Locked at a tick's end, its first tick is the next one.
    assert place(played("h24"))[0] == 0
    assert place(played(f"h{24 + 59}"))[0] == 0
    assert place(played(f"h{24 + 60}"))[0] == 1


# Pauses.

BOMB = {"mode": "columns/arcade/relax1", "pieces": "C:aaNa C:bcb C:cdc"}


def test_half_a_second_a_generation() -> None:
    """A lock in tick 0 with one generation: the next piece enters at the beginning of tick 30; inputs until then do nothing."""
    assert played("hh", **BOMB).piece is None
    assert played("hh29", **BOMB).piece is None
    assert played("hh30", **BOMB).piece == "C:bcb"
    early = played("hh29l", **BOMB)
    assert (early.moves, early.piece, early.score) == (3, None, 6)
    assert place(played("hh29l1", **BOMB)) == (0, 2)
    assert place(played("hh30l", **BOMB)) == (0, 1)
    # Locked at the end of tick 23: tick 53.
    assert played("h24", **BOMB).piece is None
    assert played("h52", **BOMB).piece is None
    assert place(played("h53r", **BOMB)) == (0, 3)


def test_two_generations_are_a_second() -> None:
    others = {"mode": "columns/arcade/relax1", "pieces": "C:aaAa C:bcb", "start": "5bN"}
    assert played("hh59", **others).piece is None
    game = played("hh60", **others)
    assert (game.piece, game.score, game.board) == ("C:bcb", 7, "-")


def test_no_bomb_no_pause() -> None:
    others = {"mode": "columns/arcade/relax1", "pieces": "C:aaSa C:bcb"}
    game = played("hhl", **others)
    assert (place(game), game.score) == ((0, 1), 3)


def test_game_over_at_an_entry_after_a_pause() -> None:
    """Finished when the piece would enter, not before."""
    start = "/".join(["2b3", "2c3", "2b3"] * 3 + ["1d4"])
    others = {"mode": "columns/arcade/relax1", "pieces": "C:bcb C:bcb", "start": start}
    game = played("hh", **others)
    assert game.finished and game.board.count("/") == 12


def test_top_out_is_an_overlap_at_entry() -> None:
    """The piece that has no room is not on the board."""
    mode = "columns/classic/relax1"
    game = played("hhhhhhhh", mode, "C:aba " * 6)
    assert (game.finished, game.moves, game.piece) == (True, 8, None)
    assert game.board.count("/") == 11
    full = played("", mode, "C:aba", "2b3/" + "/".join(["6"] * 12))
    assert (full.finished, full.moves) == (True, 0)


# Levels and scores over several settles.


def test_levels_every_21_settled_pieces() -> None:
    """Level 2 takes 45 ticks a row; in relax nothing changes."""
    base = Case(b"hh" * 21, "columns/classic/normal", 0, "C:aaa " * 60)
    assert both(base).level == 2
    assert both(replace(base, log=b"hh" * 20)).level == 1
    game = replace(base, log=b"hh" * 21 + b"44").game()
    game.run()
    assert place(game)[0] == 0
    game = replace(base, log=b"hh" * 21 + b"45").game()
    game.run()
    assert place(game)[0] == 1
    # The piece that is in play while the level rises is of the new level: it enters after the lock.
    assert both(replace(base, mode="columns/classic/relax1")).level == 1
    fast = replace(base, log=b"hh" * 420, pieces="C:aaa " * 430)
    game = fast.game()
    game.run()
    assert (game.level, game.st[at.ROW_TIME]) == (21, 2)


def test_a11_the_multiplier_is_1_again_at_the_next_settle() -> None:
    """26 for three, then four blocks, then 6 for three: not 6 x 4."""
    mode = "tetcolor/classic/relax1"
    start = "bb1b4"
    case = Case(b"xhhxlllhh", mode, 0, "I:aaa I:ddd I:ccc", start=start)
    game = case.game()
    events = [event for event in trace(game) if event.kind == "strike"]
    assert [event.points for event in events] == [6, 6]
    assert both(case).best_combo == 1


def test_best_combo_counts_successful_passes() -> None:
    """A stack of b on a's: the a go, b comes down to two others: two passes, 6 + 2 x 6."""
    mode = "columns/classic/relax1"
    case = Case(b"hhhh", mode, 0, "C:baa C:eee", start="bba1dc")
    result = both(replace(case, log=b"hh"))
    assert (result.score, result.best_combo, result.board) == (6 + 12, 2, "4dc")
    assert both(case).best_combo == 2


def test_retris_counts_passes_and_pays_rows() -> None:
    """Retris: best_combo is 1 for a row, the score 1, whatever the multiplier would say."""
    start = "abc1abcabc"
    result = both(Case(b"xhh", "retris/classic/relax1", 0, "I:abcd O:abcd", start=start))
    assert (result.score, result.best_combo) == (1, 1)
    assert result.board == "3a6/3b6/3c6"


@pytest.mark.parametrize(
    "mode", ["duo/arcade/relax8", "tetcolor/arcade/crazy/handicap", "columns/arcade/normal", "retris/classic/relax5"]
)
def test_time_in_one_go_is_time_tick_by_tick(mode: str) -> None:
    """Skipping to the next thing that happens leaves the game as one tick after the other does: every scalar and every cell."""
    rng = random.Random(mode)
    for seed in range(12):
        game = Case(b"", mode, seed).game()
        slow = game.fork(b"")
        for _ in range(25):
            ticks = rng.choice([1, 2, 5, 23, 24, 60, 61, 200])
            letter = rng.choice("lrxzdhh")
            game = game.fork(notation.token(ticks, letter).encode())
            game.step()
            for _ in range(ticks):
                slow = slow.fork(b"1")
                slow.step()
            slow = slow.fork(letter.encode())
            slow.step()
            assert game.status == slow.status
            skipped = (at.TICKS, at.LETTER, at.CLOCK)
            # The clock of a game that is over stands where it ended; the time of a token after that is not told.
            assert game.finished == slow.finished
            assert [value for index, value in enumerate(game.st) if index not in skipped] == [
                value for index, value in enumerate(slow.st) if index not in skipped
            ]
            assert (game.board_cells, game.cols, game.rng[0]) == (slow.board_cells, slow.cols, slow.rng[0])
            if not game.finished:
                assert game.clock == slow.clock
