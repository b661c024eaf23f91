"""Worked examples and field cases (A8, A10, B10) of the block puzzle, each beside the wrong reading that is nearest to it.

The games stand in golden/*.txt.  A wrong reading is the slow twin with one rule changed: if it yields what a golden game says,
that game does not tell the readings apart and is no test of the rule.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.blocks import kernel
from engine.blocks.single import trace
from engine.outcome import BOARD_DIFFERS, BOARD_EQUAL, BOARD_UNREADABLE
from tests.engine.golden_games import Golden, all_golden
from tests.engine.support import Case, check_everywhere, compiled, interpreted, opened, replay_batch, rules
from tests.reference import blocks as twin

GOLDEN = {game.id: game for game in all_golden()}


@pytest.mark.parametrize("game", GOLDEN.values(), ids=list(GOLDEN))
def test_golden_games(game: Golden) -> None:
    check_everywhere(rules(game.version), twin.VALUES[game.version], game.case, game.expected, game.id)


def test_golden_games_in_one_batch() -> None:
    """The same games side by side, the claimed board being the right one."""
    for version in ("1.2.0", "1.1.0"):
        games = [game for game in GOLDEN.values() if game.version == version]
        out = replay_batch(rules(version), [game.case for game in games])
        assert [(game.id, int(score)) for game, score in zip(games, out.score, strict=True)] == [
            (game.id, game.expected.score) for game in games
        ]
        assert set(out.board.tolist()) == {BOARD_EQUAL}


# Wrong readings of the rules.


class EveryClearLengthens(twin.Game):
    """Every clear lengthens the streak, not only the first of a turn."""

    def clear(self) -> None:
        self.cleared_in_turn = False
        super().clear()


class TurnsFromTheLastClear(twin.Game):
    """A clear begins a new turn of three."""

    def place(self, slot: int, column: int, row: int) -> None:
        before = self.score
        size = len(self.values.shapes[self.hand[slot]])
        super().place(slot, column, row)
        if self.score - before > 4 * size and self.placed_in_turn:
            self.end_turn()


class PaidBeforeItGrows(twin.Game):
    """A clear is paid with the streak of the turns before its own."""

    def clear(self) -> None:
        paid = max(self.streak, 1)
        before, self.score = self.score, 0
        super().clear()
        self.score = before + self.score // max(min(self.streak, self.values.cap), 1) * paid


class CellsMultiplied(twin.Game):
    """The multiplier applies to the points of the cells as well."""

    def place(self, slot: int, column: int, row: int) -> None:
        size = len(self.values.shapes[self.hand[slot]])
        super().place(slot, column, row)
        self.score += self.values.cell_points * size * (max(min(self.streak, self.values.cap), 1) - 1)


class LinesOneByOne(twin.Game):
    """Each line is paid as one line."""

    def clear(self) -> None:
        lines, before = len(self.lines_full()), self.score
        super().clear()
        if lines:
            self.score = before + lines * self.values.line_points[0] * min(self.streak, self.values.cap)


class RowsThenColumns(twin.Game):
    """Rows are emptied first, so a column that crosses one is no longer full."""

    def lines_full(self) -> list[set[tuple[int, int]]]:
        lines = super().lines_full()
        rows = [line for line in lines if len({y for _, y in line}) == 1]
        return rows or lines


class CrossingCountsTwice(twin.Game):
    """The cell on a row and a column is paid once for each."""

    def clear(self) -> None:
        lines = self.lines_full()
        crossings = sum(len(a & b) for at, a in enumerate(lines) for b in lines[:at])
        super().clear()
        self.score += self.values.cell_points * crossings


class BestComboOfATurn(twin.Game):
    """The combo adds up the lines of a turn."""

    lines_in_turn = 0

    def clear(self) -> None:
        if self.placed_in_turn == 0:
            self.lines_in_turn = 0
        self.lines_in_turn += len(self.lines_full())
        super().clear()
        self.best_combo = max(self.best_combo, self.lines_in_turn)


class OverBeforeTheClear(twin.Game):
    """Whether the hand fits is judged while the full lines still stand."""

    def apply(self, token: twin.Token) -> None:
        name = self.hand.get(token.slot)
        standing = self.cells | (self.covered(name, token.column, token.row) if name else set())
        super().apply(token)
        if token.slot is not None:
            after, self.cells = self.cells, standing
            self.over = not self.can_go_on()
            self.cells = after


class OverBeforeTheRefill(twin.Game):
    """Whether the hand fits is judged on the two pieces that are left."""

    def apply(self, token: twin.Token) -> None:
        super().apply(token)
        if token.slot is not None:
            drawn, self.hand[token.slot] = self.hand[token.slot], None
            self.over = not self.can_go_on()
            self.hand[token.slot] = drawn


class OverWithThePieceJustPlayed(twin.Game):
    """Whether the hand fits is judged as if the slot still held the piece that was placed."""

    def apply(self, token: twin.Token) -> None:
        played = self.hand.get(token.slot)
        super().apply(token)
        if token.slot is not None:
            drawn, self.hand[token.slot] = self.hand[token.slot], played
            self.over = not self.can_go_on()
            self.hand[token.slot] = drawn


class ContinueEndsTheTurn(twin.Game):
    """A continue closes the turn that was going on."""

    def apply(self, token: twin.Token) -> None:
        super().apply(token)
        if token.slot is None and self.placed_in_turn:
            self.end_turn()


class ContinueIsAPlacement(twin.Game):
    """A continue counts as one of the turn's three placements."""

    def apply(self, token: twin.Token) -> None:
        super().apply(token)
        if token.slot is None:
            self.placed_in_turn += 1
            if self.placed_in_turn == self.values.turn_length:
                self.end_turn()


class ContinueZeroesTheStreak(twin.Game):
    """A continue begins a new streak."""

    def apply(self, token: twin.Token) -> None:
        super().apply(token)
        if token.slot is None:
            self.streak, self.cleared_in_turn = 0, False


class ContinueDealsANewHand(twin.Game):
    """A continue replaces the pieces in hand."""

    def apply(self, token: twin.Token) -> None:
        super().apply(token)
        if token.slot is None:
            self.hand = {slot: next(self.deal, None) for slot in self.hand}
            self.over = not self.can_go_on()


class ContinueAtAnyTime(twin.Game):
    """A continue does not wait for the end of the game."""

    def complaint(self, token: twin.Token | None) -> str | None:
        if token is not None and token.slot is None:
            return None if self.continues_left else "continue_not_allowed"
        return super().complaint(token)


class ContinueIsAfterTheEnd(twin.Game):
    """A continue that is not allowed once the game is over is called ``after_end``."""

    def complaint(self, token: twin.Token | None) -> str | None:
        kind = super().complaint(token)
        return "after_end" if kind == "continue_not_allowed" and self.over else kind


class FaultBeforeTheEnd(twin.Game):
    """After the end a token is still told what else is wrong with it."""

    def complaint(self, token: twin.Token | None) -> str | None:
        over, self.over = self.over, False
        kind = super().complaint(token)
        self.over = over
        return kind if over and token is not None and token.slot is not None else super().complaint(token)


class ExhaustedDealIsOver(twin.Game):
    """A list of pieces that has run out ends the game, although there are pieces in hand."""

    def apply(self, token: twin.Token) -> None:
        super().apply(token)
        self.over = self.over or None in self.hand.values()


MISREADINGS = [
    (EveryClearLengthens, ["A10-iv", "two-one-by-one"]),
    (TurnsFromTheLastClear, ["rules-page", "A10-iv"]),
    (PaidBeforeItGrows, ["rules-page", "A10-i", "bound-7020"]),
    (CellsMultiplied, ["rules-page", "bound-7020", "cap-stays"]),
    (LinesOneByOne, ["rules-page", "two-at-once", "row-and-column", "five-lines", "bound-7020"]),
    (RowsThenColumns, ["row-and-column", "cross-in-the-middle", "six-lines-bar", "whole-piece-first"]),
    (CrossingCountsTwice, ["row-and-column", "cross-in-the-middle", "six-lines-angle", "bound-7020"]),
    (BestComboOfATurn, ["two-one-by-one", "A10-iv"]),
    (OverBeforeTheClear, ["A8-first-token", "A8"]),
    (OverBeforeTheRefill, ["A8-refill-saves", "A8-refill-saves-on"]),
    (OverWithThePieceJustPlayed, ["A8-mirror", "A8-mirror-later"]),
    (ContinueEndsTheTurn, ["A10-v"]),
    (ContinueIsAPlacement, ["A10-v"]),
    (ContinueZeroesTheStreak, ["A10-v"]),
    (ContinueDealsANewHand, ["A10-v", "A10-vii"]),
    (ContinueAtAnyTime, ["continue-too-early"]),
    (ContinueIsAfterTheEnd, ["A10-vi-daily", "A10-vii", "over-at-start-daily"]),
    (FaultBeforeTheEnd, ["A8-mirror-later", "A8-mirror-no-slot", "A8-mirror-outside", "over-at-start-token"]),
    (ExhaustedDealIsOver, ["deal-runs-out", "deal-empty-slot", "deal-of-four"]),
]


@pytest.mark.parametrize(("misreading", "name"), [(misreading, name) for misreading, names in MISREADINGS for name in names])
def test_a_wrong_reading_yields_something_else(misreading: type[twin.Game], name: str) -> None:
    game = GOLDEN[name]
    pieces = None if game.case.pieces is None else list(game.case.pieces)
    wrong = misreading(twin.VALUES[game.version], game.case.mode, game.case.seed, pieces, game.case.start)
    got = twin.play(wrong, game.case.log)
    assert got != game.expected, f"{name} does not tell the rules from: {misreading.__doc__}"


@pytest.mark.parametrize(
    ("change", "name", "score"),
    [
        # No turn is forgiven: 80 + 240 + 80.
        ({"forgiven": 0}, "rules-page", 76 + 400),
        # The streak never falls: 80 x1, 240 x2, 80 x3.
        ({"forgiven": 10**6}, "rules-page", 76 + 800),
        ({"forgiven": 0}, "A10-ii", 28 + 160),
        ({"forgiven": 10**6}, "A10-iii", 40 + 240),
        # The multiplier grows on: 80 x (1 + ... + 7).
        ({"cap": 10**6}, "cap-stays", 7 * 32 + 80 * 28),
        ({"cap": 4}, "bound-7020", 128 + 800 + 20 + 1400 * 4),
        ({"turn_length": 1}, "rules-page", None),
        ({"cell_points": 1}, "cells", 10),
    ],
)
def test_wrong_values_yield_something_else(change: dict[str, int], name: str, score: int | None) -> None:
    game = GOLDEN[name]
    values = replace(twin.VALUES[game.version], **change)
    got = twin.replay(values, game.case.mode, game.case.log, 0, list(game.case.pieces), game.case.start)
    assert got.score != game.expected.score
    assert score is None or got.score == score


def test_each_version_keeps_its_own_points() -> None:
    """A log is replayed under the version that it names: the same logs, other line points."""
    for name in ("rules-page", "six-lines-bar", "bound-7020"):
        case = GOLDEN[name].case
        assert interpreted(rules("1.2.0"), case).score > interpreted(rules("1.1.0"), case).score
        assert compiled(rules("1.1.0"), case) == interpreted(rules("1.1.0"), case)


@pytest.mark.parametrize("name", twin.CATALOGUE)
def test_every_piece_pays_four_points_a_cell(name: str) -> None:
    cells = twin.CATALOGUE[name]
    board = twin.write_board({(x + 2, y + 3) for x, y in cells}, 8, 8)
    expected = twin.Result(4 * len(cells), 0, board, 1, False, None)
    check_everywhere(rules("1.2.0"), twin.VALUES["1.2.0"], Case(b"2c4", pieces=("1", name, "1", "1")), expected, name)


def test_the_streak_of_the_rules_page() -> None:
    """1, 1, 2, 2, 0, 1 after turns 1 to 6; the multipliers paid are 1, 2, 1."""
    game = opened(rules("1.2.0"), GOLDEN["rules-page"].case)
    steps = list(trace(game))
    assert [steps[last].streak for last in range(2, 15, 3)] + [steps[15].streak] == [1, 1, 2, 2, 0, 1]
    assert [(step.turn, step.lines, step.multiplier) for step in steps if step.lines] == [(1, 1, 1), (3, 2, 2), (6, 1, 1)]
    assert sum(step.gain - 4 * len(step.cells) for step in steps) == 640


def test_the_placement_of_7020() -> None:
    game = opened(rules("1.2.0"), GOLDEN["bound-7020"].case)
    steps = list(trace(game))
    assert [step.gain for step in steps if step.lines] == [28 - 20 + 80, 8 + 160, 8 + 240, 8 + 320, 7020]
    assert steps[-1].gain == rules("1.2.0").max_placement
    assert max(step.gain for step in steps) == 7020
    assert (steps[-1].lines, steps[-1].multiplier, len(steps[-1].cells)) == (6, 5, 5)
    assert (steps[-1].full_rows, steps[-1].full_columns) == ((7,), (0, 1, 2, 3, 4))


def test_a_trace_shows_the_move_before_and_after_its_clear() -> None:
    steps = list(trace(opened(rules("1.2.0"), GOLDEN["A8"].case)))
    assert [step.token for step in steps] == ["1f8", "2a7"]
    assert [step.piece for step in steps] == ["I3h", "O"]
    assert steps[0].cells == ((7, 5), (7, 6), (7, 7))
    assert steps[0].placed.endswith("/2######/########")
    assert steps[0].board.endswith("/2######/8")
    assert steps[0].hand == ("O", "O", "O")
    assert (steps[1].full_rows, steps[1].full_columns) == ((6,), (0, 1))
    assert [step.score for step in steps] == [92, 588]


def test_a_trace_of_a_continue() -> None:
    """A10 (v): the continue gains nothing, keeps hand and streak, and the placements after it are still of turn 2."""
    steps = list(trace(opened(rules("1.2.0"), GOLDEN["A10-v"].case)))
    assert [step.turn for step in steps if step.piece] == [1, 1, 1, 2, 2, 2]
    before, token = steps[3], steps[4]
    assert (token.token, token.piece, token.cells, token.gain, token.board) == ("*", None, (), 0, "-")
    assert (token.hand, token.streak, token.score) == (before.hand, before.streak, before.score)


# B10: a claimed board is compared by the cells it means, and one cell is enough.
BOARDS = [
    ("#7/8", BOARD_EQUAL),
    ("8/#7/8", BOARD_EQUAL),
    ("8/8/8/8/8/8/#7/8", BOARD_EQUAL),
    ("0#7/08", BOARD_EQUAL),
    ("#07/00000000000000000000008", BOARD_EQUAL),
    ("0#0007/8", BOARD_EQUAL),
    ("#8/8", BOARD_UNREADABLE),
    ("#7", BOARD_DIFFERS),
    ("#7/8/8", BOARD_DIFFERS),
    ("1#6/8", BOARD_DIFFERS),
    ("##6/8", BOARD_DIFFERS),
    ("#7/7#", BOARD_DIFFERS),
    ("-", BOARD_DIFFERS),
    ("8", BOARD_DIFFERS),
    ("########/8", BOARD_DIFFERS),
    ("8/8/8/8/8/8/8/#7/8", BOARD_UNREADABLE),
    ("", BOARD_UNREADABLE),
    ("--", BOARD_UNREADABLE),
    ("-/8", BOARD_UNREADABLE),
    ("#7/", BOARD_UNREADABLE),
    ("/#7/8", BOARD_UNREADABLE),
    ("#7//8", BOARD_UNREADABLE),
    ("#7/9", BOARD_UNREADABLE),
    ("#6/8", BOARD_UNREADABLE),
    ("#7/18446744073709551624", BOARD_UNREADABLE),
    ("#7/4294967304", BOARD_UNREADABLE),
    ("#7/" + "9" * 5000, BOARD_UNREADABLE),
    ("#7/8\n", BOARD_UNREADABLE),
    (" #7/8", BOARD_UNREADABLE),
    ("#7/8\0", BOARD_UNREADABLE),
    ("#\x007/8", BOARD_UNREADABLE),
    ("J7/8", BOARD_UNREADABLE),
    ("#-7/8", BOARD_UNREADABLE),
    ("#\u0667/8", BOARD_UNREADABLE),
    ("\uff037/8", BOARD_UNREADABLE),
    ("#7\\8", BOARD_UNREADABLE),
    ("#########", BOARD_UNREADABLE),
]


@pytest.mark.parametrize(("claim", "expected"), BOARDS)
def test_b10_claimed_boards(claim: str, expected: int) -> None:
    """The board replayed is ``#7/8``: one cell at a7."""
    case = Case(b"1a7", pieces=("1", "1", "1", "1"), claim=claim.encode())
    game = opened(rules("1.2.0"), case)
    assert game.run().board == "#7/8"
    assert game.board_equals(claim) == expected
    assert int(replay_batch(rules("1.2.0"), [case]).board[0]) == expected
    cells = twin.read_board(claim, 8, 8)
    assert expected == (BOARD_UNREADABLE if cells is None else BOARD_EQUAL if cells == {(0, 6)} else BOARD_DIFFERS)


def test_b10_one_cell_or_the_combo_alone_differs() -> None:
    """Score, combo and board are three figures: a claim that is wrong in one of them agrees in the others."""
    game = GOLDEN["A8"]
    for x, y in ((0, 0), (7, 7)):
        cells = twin.read_board(game.expected.board, 8, 8) ^ {(x, y)}
        out = replay_batch(rules("1.2.0"), [replace(game.case, claim=twin.write_board(cells, 8, 8).encode())])
        assert (int(out.score[0]), int(out.best_combo[0]), int(out.board[0])) == (588, 3, BOARD_DIFFERS)


def test_a_missing_last_token_would_complete_the_claim() -> None:
    """``completes`` finds the one placement that is missing, and nothing when any part of the claim is off by one."""
    game = GOLDEN["A8"]
    cut = opened(rules("1.2.0"), replace(game.case, log=b"1f8"))
    cut.run()
    board = game.expected.board
    assert cut.completes(588, 3, board)
    assert not cut.completes(589, 3, board)
    assert not cut.completes(588, 2, board)
    assert not cut.completes(588, 3, "-")
    assert not cut.completes(588, 3, "no board")
    # Nothing is changed by looking.
    assert cut.st[kernel.ST_SCORE] == 92
    assert cut.hand_names == ("O", "O", "O")
