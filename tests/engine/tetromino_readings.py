"""Wrong readings of the rules of Tetromino Arcade: the slow twin with one rule changed, and the golden games that it must miss."""

from __future__ import annotations

from itertools import chain

from tests.reference import tetromino as twin

# Wrong readings of the rules: actions and spins.


class GravityIsAnAction(twin.Game):
    def fall_by_gravity(self) -> None:
        before = self.piece.y
        super().fall_by_gravity()
        if self.piece.y < before:
            self.piece.last_action = "gravity"


class ZeroCellHardDropIsAnAction(twin.Game):
    def hard_drop(self) -> None:
        self.piece.last_action = "hard drop"
        super().hard_drop()


class DropsAreNoActions(twin.Game):
    """Soft and hard drops leave the last action as it was."""

    def soft_drop(self) -> None:
        before = self.piece.last_action
        super().soft_drop()
        self.piece.last_action = before

    def hard_drop(self) -> None:
        before = self.piece.last_action
        while self.fall():
            self.score += 2
        self.piece.last_action = before
        self.lock()


class BlockedShiftIsAnAction(twin.Game):
    def shift(self, dx: int) -> None:
        self.piece.last_action = "shift"
        super().shift(dx)


class BlockedSoftDropIsAnAction(twin.Game):
    def soft_drop(self) -> None:
        self.piece.last_action = "soft drop"
        super().soft_drop()


class BlockedRotationIsAnAction(twin.Game):
    def rotate(self, turned: dict[str, str]) -> None:
        super().rotate(turned)
        self.piece.last_action = "rotation"


class LastActionOfThePieceBefore(twin.Game):
    """A new piece begins with the last action of the one before it."""

    def spawn(self, name: str | None) -> None:
        before = self.piece.last_action if self.piece else None
        super().spawn(name)
        if self.piece:
            self.piece.last_action = before


class CornersAreEnough(twin.Game):
    """Three corners make a spin, whatever the last action was."""

    def spin(self) -> str | None:
        self.piece.last_action = "rotation"
        return super().spin()


class CornersWhereItTurned(twin.Game):
    """Corners are looked at where the rotation ended, not where the piece locks."""

    def rotate(self, turned: dict[str, str]) -> None:
        super().rotate(turned)
        self.piece.turned_as = super().spin()

    def spin(self) -> str | None:
        return getattr(self.piece, "turned_as", None) if self.piece.last_action == "rotation" else None


class WallsAreFree(twin.Game):
    def blocked_corner(self, x: int, y: int) -> bool:
        return 0 <= x < twin.WIDTH and super().blocked_corner(x, y)


class FloorIsFree(twin.Game):
    def blocked_corner(self, x: int, y: int) -> bool:
        return y >= 0 and super().blocked_corner(x, y)


class AboveTheTopIsBlocked(twin.Game):
    def blocked_corner(self, x: int, y: int) -> bool:
        return y >= twin.HEIGHT or super().blocked_corner(x, y)


class AnyPieceSpins(twin.Game):
    def spin(self) -> str | None:
        name = self.piece.name
        self.piece.name = "T" if name not in "IO" else name
        found = super().spin()
        self.piece.name = name
        return found


class MinisAreFull(twin.Game):
    def spin(self) -> str | None:
        return super().spin() and "full"


class FifthTestIsFull(twin.Game):
    """A turn by the last test of the kicks makes a full spin."""

    def rotate(self, turned: dict[str, str]) -> None:
        x, y, turn = self.piece.x, self.piece.y, self.piece.turn
        super().rotate(turned)
        if self.piece.turn != turn:
            moved = (self.piece.x - x, self.piece.y - y)
            self.piece.fifth = moved == twin.KICKS[self.piece.name][turn + self.piece.turn][4]

    def spin(self) -> str | None:
        found = super().spin()
        return "full" if found and getattr(self.piece, "fifth", False) else found


class BackCornersMakeItFull(twin.Game):
    def spin(self) -> str | None:
        turn = self.piece.turn
        found = super().spin()
        if found is None:
            return None
        back = twin.FRONT[twin.CLOCKWISE[twin.CLOCKWISE[turn]]]
        return "full" if all(self.blocked_corner(self.piece.x + x, self.piece.y + y) for x, y in back) else "mini"


# Combo, back-to-back, perfect clear, level.


class LevelOfTheClear(twin.Game):
    """The level that a clear brings multiplies its own award."""

    def clear_lines(self, rows: set[int]) -> int:
        cleared = super().clear_lines(rows)
        self.lines += cleared
        self.counted = cleared
        return cleared

    def lock(self) -> None:
        self.counted = 0
        super().lock()
        self.lines -= self.counted


class LinelessSpinKeepsTheCombo(twin.Game):
    def combo_bonus(self, lines: int) -> int:
        return 0 if lines == 0 and self.spun else super().combo_bonus(lines)

    def base(self, lines: int, spin: str | None) -> int:
        self.spun = spin is not None
        return super().base(lines, spin)


class LinelessSpinEndsBackToBack(twin.Game):
    def base(self, lines: int, spin: str | None) -> int:
        value = super().base(lines, spin)
        if lines == 0 and spin:
            self.back_to_back = False
        return value


class LinelessSpinStartsBackToBack(twin.Game):
    def base(self, lines: int, spin: str | None) -> int:
        value = super().base(lines, spin)
        self.back_to_back |= spin is not None
        return value


class LinelessSpinIsPaidMore(twin.Game):
    """A spin without a line gets the 1.5 of an active back-to-back."""

    def base(self, lines: int, spin: str | None) -> int:
        value = super().base(lines, spin)
        return value * 3 // 2 if lines == 0 and self.back_to_back else value


class NoLineEndsBackToBack(twin.Game):
    def base(self, lines: int, spin: str | None) -> int:
        value = super().base(lines, spin)
        self.back_to_back &= lines > 0
        return value


class FirstDifficultClearIsPaidMore(twin.Game):
    def base(self, lines: int, spin: str | None) -> int:
        self.back_to_back |= lines == 4 or (lines > 0 and spin is not None)
        return super().base(lines, spin)


class PlainClearKeepsBackToBack(twin.Game):
    kept = (1, 2, 3)

    def base(self, lines: int, spin: str | None) -> int:
        before = self.back_to_back
        value = super().base(lines, spin)
        if lines in self.kept and spin is None:
            self.back_to_back = before
        return value


class TripleKeepsBackToBack(PlainClearKeepsBackToBack):
    kept = (3,)


class DoubleKeepsBackToBack(PlainClearKeepsBackToBack):
    kept = (2,)


class SingleKeepsBackToBack(PlainClearKeepsBackToBack):
    kept = (1,)


class MinisAreNotDifficult(twin.Game):
    def base(self, lines: int, spin: str | None) -> int:
        if spin == "mini" and lines:
            self.back_to_back = False
            return twin.MINI_SPIN[lines] * self.level
        return super().base(lines, spin)


class BackToBackMultipliesAll(twin.Game):
    """The 1.5 is taken of combo and perfect clear as well."""

    def base(self, lines: int, spin: str | None) -> int:
        self.half_more = self.back_to_back and lines > 0 and (lines == 4 or spin is not None)
        return super().base(lines, spin)

    def combo_bonus(self, lines: int) -> int:
        value = super().combo_bonus(lines)
        return value * 3 // 2 if self.half_more else value

    def perfect_bonus(self, lines: int) -> int:
        value = super().perfect_bonus(lines)
        return value * 3 // 2 if self.half_more else value


class PerfectClearMultiplied(BackToBackMultipliesAll):
    def combo_bonus(self, lines: int) -> int:
        return twin.Game.combo_bonus(self, lines)


class PerfectClearInsteadOfTheClear(twin.Game):
    def perfect_bonus(self, lines: int) -> int:
        value = super().perfect_bonus(lines)
        return value - twin.PLAIN[lines] * self.level if value else 0


class PerfectClearOfTheVisibleRows(twin.Game):
    def perfect_bonus(self, lines: int) -> int:
        board = self.board
        self.board = {cell: name for cell, name in board.items() if cell[1] < twin.VISIBLE}
        value = super().perfect_bonus(lines)
        self.board = board
        return value


class ComboCountsFromOne(twin.Game):
    def combo_bonus(self, lines: int) -> int:
        value = super().combo_bonus(lines)
        return value + 50 * self.level if lines else 0


class ComboWithoutLevel(twin.Game):
    def combo_bonus(self, lines: int) -> int:
        return super().combo_bonus(lines) // self.level


class ComboSurvivesAPiece(twin.Game):
    def combo_bonus(self, lines: int) -> int:
        return super().combo_bonus(lines) if lines else 0


class HoldEndsTheCombo(twin.Game):
    def hold(self) -> None:
        self.combo = -1
        super().hold()


class BestComboIsTheLast(twin.Game):
    def combo_bonus(self, lines: int) -> int:
        self.best_combo = 0 if lines else self.best_combo
        return super().combo_bonus(lines)


class DropsTimesLevel(twin.Game):
    def soft_drop(self) -> None:
        before = self.score
        super().soft_drop()
        self.score = before + (self.score - before) * self.level

    def hard_drop(self) -> None:
        while self.fall():
            self.score += 2 * self.level
            self.piece.last_action = "hard drop"
        self.lock()


class LevelAddsToTheStart(twin.Game):
    @property
    def level(self) -> int:
        return self.start_level + self.lines // 10


# Hold, time, ends.


class HoldLosesTheDrops(twin.Game):
    def apply(self, letter: str) -> None:
        before = self.score
        super().apply(letter)
        self.dropped = getattr(self, "dropped", 0) + self.score - before if letter == "d" else 0

    def hold(self) -> None:
        self.score -= getattr(self, "dropped", 0)
        super().hold()


class HoldKeepsTheTurn(twin.Game):
    turns: dict[str, str]

    def hold(self) -> None:
        self.turns = getattr(self, "turns", {})
        self.turns[self.piece.name] = self.piece.turn
        super().hold()
        if self.piece:
            self.piece.turn = self.turns.get(self.piece.name, "0")


class HoldAnyTime(twin.Game):
    def complaint(self, letter: str) -> str | None:
        kind = super().complaint(letter)
        return None if kind == "hold_twice" else kind


class HoldOnce(twin.Game):
    """A hold is used up for good."""

    def lock(self) -> None:
        before = self.hold_used
        super().lock()
        self.hold_used = before


class HoldKeepsTheFraction(twin.Game):
    def hold(self) -> None:
        before = self.fraction
        super().hold()
        self.fraction = before


class GravityIsPaid(twin.Game):
    def fall_by_gravity(self) -> None:
        before = self.piece.y
        super().fall_by_gravity()
        self.score += before - self.piece.y


class LocksATickLater(twin.Game):
    def run_lock_timer(self) -> None:
        if self.standing() and self.count == twin.LOCK_DELAY - 1 and not getattr(self.piece, "waited", False):
            self.piece.waited = True
            return
        super().run_lock_timer()

    def idle_ticks(self) -> int:
        return 0


class ResetsBySixteen(twin.Game):
    lock_resets = 16


class ResetsByFourteen(twin.Game):
    lock_resets = 14


class EveryShiftUsesAReset(twin.Game):
    """A shift uses up a reset while the count does not run, too."""

    def moved_by_player(self) -> None:
        self.resets -= self.count == 0 < self.resets
        super().moved_by_player()


class BlockedShiftResets(twin.Game):
    def shift(self, dx: int) -> None:
        if not self.free(self.piece.cells(dx, 0)):
            self.moved_by_player()
        super().shift(dx)


class TurnOfOResets(twin.Game):
    def rotate(self, turned: dict[str, str]) -> None:
        if self.piece.name == "O":
            self.moved_by_player()
        super().rotate(turned)


class CountIsLostInTheAir(twin.Game):
    def run_lock_timer(self) -> None:
        if not self.standing():
            self.count = 0
        super().run_lock_timer()

    def idle_ticks(self) -> int:
        return 0


class CountGoesOnInTheAir(twin.Game):
    def run_lock_timer(self) -> None:
        if not self.standing() and 0 < self.count < twin.LOCK_DELAY - 1:
            self.count += 1
        super().run_lock_timer()

    def idle_ticks(self) -> int:
        return 0


class LowerRowRenewsNothing(twin.Game):
    def went(self) -> None:
        count, resets = self.count, self.resets
        super().went()
        self.count, self.resets = count, resets


class GravityRenewsNothing(twin.Game):
    def fall_by_gravity(self) -> None:
        count, resets = self.count, self.resets
        super().fall_by_gravity()
        self.count, self.resets = count, resets


class NoFractionOnTheGround(twin.Game):
    def fall_by_gravity(self) -> None:
        super().fall_by_gravity()
        if self.standing():
            self.fraction = 0

    def idle_ticks(self) -> int:
        return 0


class FractionStaysOnTheGround(twin.Game):
    """What is over a whole row stays when the piece cannot fall."""

    def fall_by_gravity(self) -> None:
        self.fraction += self.gravity()
        while self.fraction >= twin.ROW:
            self.fall()
            self.fraction -= twin.ROW


class LandingKeepsTheFraction(twin.Game):
    """A fall that ends on the ground keeps the part of a row that is over, and drops only whole rows."""

    def fall_by_gravity(self) -> None:
        self.fraction += self.gravity()
        fell = False
        while self.fraction >= twin.ROW:
            if self.fall():
                fell = True
                self.fraction -= twin.ROW
            else:
                self.fraction = self.fraction % twin.ROW if fell else 0


class SoftDropTakesTheFraction(twin.Game):
    def soft_drop(self) -> None:
        super().soft_drop()
        self.fraction = 0


class LineAboveDoesNotSave(twin.Game):
    """A lock wholly above the visible rows ends the game though it cleared a line."""

    def clear_lines(self, rows: set[int]) -> int:
        cleared = super().clear_lines(rows)
        if cleared and min(rows) >= twin.VISIBLE:
            self.topped_out()
        return cleared


class SpawnJudgedBeforeTheClear(twin.Game):
    """The next piece is held against the board as it was before the lines went."""

    def clear_lines(self, rows: set[int]) -> int:
        name = next(self.deal, None)
        self.deal = chain([name], self.deal)
        self.finished |= name is not None and not self.free(twin.Piece(name).cells())
        return super().clear_lines(rows)


class PartlyAboveEnds(twin.Game):
    def lock(self) -> None:
        above = any(y >= twin.VISIBLE for _, y in self.piece.cells())
        super().lock()
        self.finished |= above and self.mode != "zen"


class LockAboveIsNotPaid(twin.Game):
    def topped_out(self) -> None:
        self.score -= self.awards[-1]
        super().topped_out()


class LockAboveGoesOn(twin.Game):
    def topped_out(self) -> None:
        pass


class RescueEmptiesAll(twin.Game):
    def rescue(self) -> None:
        self.board = {}


class RescueFromRowTwenty(twin.Game):
    def rescue(self) -> None:
        self.board = {(x, y): cell for (x, y), cell in self.board.items() if y < twin.VISIBLE}


class ZenTopsOut(twin.Game):
    def topped_out(self) -> None:
        self.finished = True


class SprintEndsAtExactlyForty(twin.Game):
    def lock(self) -> None:
        super().lock()
        self.finished &= self.lines == twin.SPRINT_LINES


class SprintGoesOn(twin.Game):
    def lock(self) -> None:
        mode, self.mode = self.mode, "battle"
        super().lock()
        self.mode = mode


class UltraTakesTick7200(twin.Game):
    def tick(self) -> None:
        super().tick()
        self.finished &= self.clock > twin.ULTRA_TICKS

    def idle_ticks(self) -> int:
        return 0


class UltraEndsBefore7199(twin.Game):
    def tick(self) -> None:
        super().tick()
        self.finished |= self.mode == "ultra" and self.clock >= twin.ULTRA_TICKS - 1

    def idle_ticks(self) -> int:
        return min(super().idle_ticks(), max(0, twin.ULTRA_TICKS - 2 - self.clock))


class BeginnerLandsGently(twin.Game):
    """The ground is as patient as the fall: a beginner's resets do not run out."""

    @property
    def lock_resets(self) -> int:
        return 30 if self.mode == "beginner" else twin.LOCK_RESETS


class BeginnerIsAsFast(twin.Game):
    def gravity(self) -> int:
        return twin.gravity(self.level, False)


class BeginnerRoundsUp(twin.Game):
    def gravity(self) -> int:
        fast = twin.gravity(self.level, False)
        return -(-fast // 2) if self.mode == "beginner" and self.level <= 5 else fast


class BeginnerHalvesEveryLevel(twin.Game):
    def gravity(self) -> int:
        fast = twin.gravity(self.level, False)
        return fast // 2 if self.mode == "beginner" else fast


class GravityOfTheStart(twin.Game):
    def gravity(self) -> int:
        return twin.gravity(self.start_level, self.mode == "beginner")


READINGS = {
    GravityIsAnAction: ["A1-a-gravity", "A1-d-hard-no-cell", "A1-a-back-to-back"],
    ZeroCellHardDropIsAnAction: ["A1-d-hard-no-cell", "A2-plain", "spin-full-3"],
    DropsAreNoActions: ["A1-b-soft", "A1-c-hard-one-cell", "A1-b-no-back-to-back"],
    BlockedShiftIsAnAction: ["A2-blocked-shift"],
    BlockedSoftDropIsAnAction: ["A2-blocked-soft"],
    BlockedRotationIsAnAction: ["blocked-rotation"],
    LastActionOfThePieceBefore: ["new-piece-has-no-action"],
    CornersAreEnough: ["shift-last", "A1-c-hard-one-cell", "blocked-rotation"],
    CornersWhereItTurned: ["A1-corners-lost"],
    WallsAreFree: ["wall-is-a-corner"],
    FloorIsFree: ["floor-is-a-corner", "spin-mini-0", "spin-mini-1"],
    AboveTheTopIsBlocked: ["above-the-top-is-no-corner"],
    AnyPieceSpins: ["J-is-no-spin"],
    MinisAreFull: ["spin-mini-0", "spin-mini-1", "spin-mini-2", "A1-a-gravity"],
    FifthTestIsFull: ["spin-mini-2-fifth-kick"],
    BackCornersMakeItFull: ["spin-mini-1", "spin-full-1", "A1-a-gravity"],
    LevelOfTheClear: ["A5", "A5-back-to-back-survives", "marathon-15-at-150"],
    LinelessSpinKeepsTheCombo: ["A4-spin-without-a-line", "lineless-spin-ends-the-combo"],
    LinelessSpinEndsBackToBack: ["A4-spin-without-a-line"],
    LinelessSpinStartsBackToBack: ["lineless-spin-starts-nothing"],
    LinelessSpinIsPaidMore: ["A4-spin-without-a-line"],
    NoLineEndsBackToBack: ["no-line-keeps", "four-back-to-back-level-2"],
    FirstDifficultClearIsPaidMore: ["four-level-5", "spin-double-level-4", "chain-level-3"],
    TripleKeepsBackToBack: ["triple-breaks"],
    DoubleKeepsBackToBack: ["double-breaks"],
    SingleKeepsBackToBack: ["single-breaks"],
    MinisAreNotDifficult: ["mini-starts", "A4-combo-and-back-to-back", "A1-a-back-to-back"],
    BackToBackMultipliesAll: ["A4-perfect-clear", "A4-combo-and-back-to-back", "chain-level-3", "four-keeps"],
    PerfectClearMultiplied: ["A4-perfect-clear"],
    PerfectClearInsteadOfTheClear: ["perfect-1", "perfect-2", "perfect-3", "perfect-four", "A5"],
    PerfectClearOfTheVisibleRows: ["perfect-not-hidden-cell"],
    ComboCountsFromOne: ["three-singles-level-2", "plain-1", "A4-combo-and-back-to-back"],
    ComboWithoutLevel: ["three-singles-level-2", "chain-level-3", "A4-perfect-clear"],
    ComboSurvivesAPiece: ["combo-ended-by-a-piece", "best-combo-stays", "four-back-to-back-level-2"],
    HoldEndsTheCombo: ["combo-across-a-hold"],
    BestComboIsTheLast: ["best-combo-stays"],
    DropsTimesLevel: ["soft-7-level-20", "hard-7-level-20", "double-level-3"],
    LevelAddsToTheStart: ["marathon-15-at-148", "marathon-15-at-150", "A5-marathon-15-at-149"],
    HoldLosesTheDrops: ["A6-soft-then-hold", "A6-soft-hold-and-back"],
    HoldKeepsTheTurn: ["A7"],
    HoldAnyTime: ["A7-hold-twice", "A7-hold-twice-later", "A7-hold-twice-before-its-lock"],
    HoldOnce: ["A7", "A7-hold-after-lock"],
    HoldKeepsTheFraction: ["hold-and-fraction-60"],
    GravityIsPaid: ["A6-three-rows", "A6-all-rows", "A1-a-gravity"],
    LocksATickLater: ["lock-at-30", "lock-by-gravity-1230", "resets-15-locked"],
    ResetsBySixteen: ["resets-16-none-left"],
    ResetsByFourteen: ["resets-15-in-time"],
    EveryShiftUsesAReset: ["resets-unused-before-the-count"],
    BlockedShiftResets: ["blocked-shift-resets-nothing"],
    TurnOfOResets: ["O-does-not-turn"],
    CountIsLostInTheAir: ["count-rests-55"],
    CountGoesOnInTheAir: ["count-rests-54"],
    LowerRowRenewsNothing: ["lower-row-renews", "lower-row-renews-gravity"],
    GravityRenewsNothing: ["lower-row-renews-gravity"],
    NoFractionOnTheGround: ["fraction-on-the-ground-61"],
    FractionStaysOnTheGround: ["fraction-dropped-121"],
    LandingKeepsTheFraction: ["fraction-dropped-at-the-landing"],
    SoftDropTakesTheFraction: ["soft-drop-and-fraction-61"],
    LineAboveDoesNotSave: ["locked-above-with-a-line", "zen-locked-above-with-a-line"],
    SpawnJudgedBeforeTheClear: ["locked-above-with-a-line", "locked-above-with-a-line-goes-on"],
    PartlyAboveEnds: ["A11-partly-above"],
    LockAboveIsNotPaid: ["spin-above-the-field", "spin-above-the-field-zen"],
    LockAboveGoesOn: ["A11-locked-above", "A11-locked-above-later", "zen-locked-above"],
    RescueEmptiesAll: ["zen-spawn", "zen-locked-above", "zen-hold"],
    RescueFromRowTwenty: ["zen-spawn", "zen-locked-above"],
    ZenTopsOut: ["zen-locked-above"],
    SprintEndsAtExactlyForty: ["sprint-41", "sprint-41-later", "sprint-41-time"],
    SprintGoesOn: ["sprint-40", "sprint-40-later", "sprint-41"],
    UltraTakesTick7200: ["ultra-7200", "ultra-time-7200", "ultra-7199-and-1"],
    UltraEndsBefore7199: ["ultra-7199", "ultra-time-7199"],
    BeginnerLandsGently: ["beginner-resets-16-none-left"],
    BeginnerIsAsFast: ["beginner-level-1-120", "beginner-level-2-762", "beginner-level-5-42"],
    BeginnerRoundsUp: ["beginner-level-2-762"],
    BeginnerHalvesEveryLevel: ["beginner-level-6-16"],
    GravityOfTheStart: ["gravity-after-level-up-48", "beginner-level-5-43"],
}
