"""A game of Tetromino Arcade as rows that can be drawn: each input, and each lock with what was scored and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.board import parse_cells
from engine.outcome import Fault
from engine.tetromino import kernel as k
from engine.tetromino import pieces as p
from engine.tetromino.rules import PIECE_NAMES, Piece, TetrominoRules
from engine.tetromino.single import Game, Lock, Step, trace
from replay.games import row_words as say
from replay.games.drawing import CellLook, Column, Look, Panel, TraceRow, grid_text
from replay.games.kind import EMPTY, first_used_row, rows_with_fault
from replay.harmless import visible
from replay.i18n import ENGLISH, N_, Language

# Locks that one waiting time may draw; of more, only the last one follows.
WAIT_ROWS = 40
EMPTIED, PLACED_EMPTIED = "x", "q"
HOLD = "c"
INPUT_NAMES = {
    "l": N_("shift left"), "r": N_("shift right"), "x": N_("turn clockwise"), "z": N_("turn counter-clockwise"),
    "d": N_("soft drop"), "h": N_("hard drop"), HOLD: N_("hold"),
}  # fmt: skip
# What a lock was paid for, by the spin's kind and the number of lines.
CLEAR_NAMES = {
    ("", 1): N_("single"), ("", 2): N_("double"), ("", 3): N_("triple"), ("", 4): N_("four lines"),
    ("full", 0): N_("T-spin without a line"), ("full", 1): N_("T-spin single"), ("full", 2): N_("T-spin double"),
    ("full", 3): N_("T-spin triple"), ("mini", 0): N_("mini T-spin without a line"), ("mini", 1): N_("mini T-spin single"),
    ("mini", 2): N_("mini T-spin double"), ("mini", 3): N_("mini T-spin triple"),
}  # fmt: skip
_STYLES = {"I": "cyan", "J": "blue", "L": "bright_red", "O": "yellow", "S": "green", "T": "magenta", "Z": "red"}
# The piece that stands for all of them in the legend.
SAMPLE = "T"


def _cell_looks() -> dict[str, CellLook]:
    out = {EMPTY: CellLook(" \u00b7", " .", "dim", "void", "")}
    for piece in PIECE_NAMES:
        named = piece == SAMPLE
        css = f"cell piece-{piece.lower()}"
        out[piece] = CellLook(piece * 2, piece * 2, _STYLES[piece], css, piece, N_("settled") if named else "")
        live = N_("in play or just locked") if named else ""
        out[piece.lower()] = CellLook(f"\u2593{piece}", f"@{piece}", f"bold {_STYLES[piece]}", f"{css} live", piece, live)
    out[EMPTIED] = CellLook("\u2591" * 2, "--", "yellow", "emptied", "×", N_("emptied"))
    out[PLACED_EMPTIED] = CellLook("\u2592" * 2, "%%", "bold yellow", "emptied live", "⊗", N_("locked and emptied"))
    return out


LOOK = Look(
    cells=_cell_looks(),
    columns=(
        Column(N_("Piece"), "name"), Column(N_("What"), "name what"), Column(N_("Lines")), Column(N_("Level"), "beside"),
        Column(N_("Combo"), "beside"), Column(N_("Gain")), Column(N_("Score")),
    ),
)  # fmt: skip


def drawing(piece: Piece) -> list[str]:
    """A piece in its spawn orientation, top row first, without the empty rows and columns of its box."""
    rows = [row for row in piece.spawn if "#" in row]
    columns = [at for at in range(len(rows[0])) if any(row[at] == "#" for row in rows)]
    return ["".join(piece.name if row[at] == "#" else EMPTY for at in columns) for row in rows]


def start_row(game: Game, language: Language) -> TraceRow:
    """The board with the first piece in play."""
    grid = _grid(game.board, game.piece, game.piece_cells, game.rules)
    title, caption = say.start_words(language)
    details = (language.gettext("in play: {piece}", piece=game.piece or say.none(language)),)
    return TraceRow(
        number=0, place="0", token="", title=title, details=details, caption=caption, grid=grid_text(grid),
        panels=_panels(game.hold, False, game.upcoming(), language), values=_values(0, 0, game, language),
        cells=_list_cells("", "", 0, 0, game, language), score=game.score, best_combo=game.best_combo, piece=game.piece,
    )  # fmt: skip


def rows(
    game: Game, first: int, last: int | None, token_at: Callable[[bytes, int], str | None], language: Language
) -> Iterator[TraceRow]:
    """The rows of the tokens ``first`` (at which the game stands) to ``last``, and the faulty one's."""
    return rows_with_fault(
        _Drawer(game, language).rows(), game, first, last,
        lambda fault: _fault_row(game, fault, token_at(game.log, fault.move) or "", language),
    )  # fmt: skip


def _fault_row(game: Game, fault: Fault, token: str, language: Language) -> TraceRow:
    """The state that a token met which cannot be played."""
    number, written, why = fault.move + 1, visible(token), say.why_not(fault, language)
    caption, cannot = say.fault_words(number, written, why, game.score, language)
    before = language.gettext(
        "score before it {score}, level {level}, lines {lines}", score=game.score, level=language.plain(game.level),
        lines=language.plain(game.lines),
    )  # fmt: skip
    return TraceRow(
        number=number, place=str(number), token=written, title=say.title(number, written, language), details=(cannot, before),
        caption=caption, grid=grid_text(_grid(game.board, game.piece, game.piece_cells, game.rules)),
        panels=_panels(game.hold, bool(game.st[p.ST_HELD]), game.upcoming(), language), values=_values(0, 0, game, language),
        cells=_list_cells("", "", 0, 0, game, language), score=game.score, best_combo=game.best_combo,
        fault=visible(fault.text, 160), why=why,
    )  # fmt: skip


class _Drawer:
    """Plays a game and draws it; counts the rows of each token."""

    def __init__(self, game: Game, language: Language) -> None:
        self.game, self.rules, self.language = game, game.rules, language
        self.rescues = game.st[p.ST_RESCUES]
        self.number = self.place = 0

    def rows(self) -> Iterator[TraceRow]:
        """All rows from where the game stands; of a wait that locks very many pieces the first ones and the last."""
        skipped = 0
        for step in trace(self.game):
            row = self._row(step)
            if skipped:
                more = self.language.ngettext(
                    "{count} more pieces locked before this one", "{count} more pieces locked before this one", skipped
                )
                row = replace(row, details=(*row.details, more))
            yield row
            many = step.lock and not self.by_input and self.place >= WAIT_ROWS
            skipped = _skip_locks(self.game) if many else 0
            if skipped:
                # What the locks between emptied is none of the last one's doing.
                self.rescues = self.game.st[p.ST_RESCUES]

    def _row(self, step: Step) -> TraceRow:
        number = step.move + 1
        waiting = number != self.number
        self.place = 1 if waiting else self.place + 1
        if waiting:
            self.by_input = False
        self.number = number
        row = self._lock_row(step, step.lock) if step.lock else self._input_row(step)
        return replace(row, place=str(number) if row.place == "" else f"{number}-{self.place}")

    def _input_row(self, step: Step) -> TraceRow:
        self.by_input = True
        language, gettext, letter = self.language, self.language.gettext, step.token[-1]
        title, when = say.when(step.move + 1, step.token, True, language)
        name = gettext(INPUT_NAMES[letter])
        if not step.effect:
            name = gettext("{action}, without effect", action=name)
        if not step.piece:
            caption = gettext("{when}: {action}.", when=when, action=name)
        elif letter == HOLD:
            # After a hold the piece in play is another one.
            caption = gettext("{when}: {action}, {piece} comes into play.", when=when, action=name, piece=step.piece)
        else:
            caption = gettext("{when}: {action} of {piece}.", when=when, action=name, piece=step.piece)
        if step.gain:
            caption += f" {say.brings(step.gain, step.score, language)}"
        points = say.gain(step.gain, step.score, language) if step.gain else gettext("score {score}", score=step.score)
        details = [name, points, _state(step, language)]
        if letter == HOLD:
            # The piece that comes may have no room.  After a hard drop that is told of its lock.
            caption = " ".join([caption, *self._rescue_words(details), *self._over_words(step, details)])
        # An input has its token's own place on a page, the locks around it stand beside it.
        return self._draw(step, "", f"{title}   {step.piece or ''}".rstrip(), tuple(details), caption, name)

    def _lock_row(self, step: Step, lock: Lock) -> TraceRow:
        language, gettext = self.language, self.language.gettext
        title, when = say.when(step.move + 1, step.token, self.by_input, language)
        named = gettext("{piece} locks", piece=lock.piece)
        if not self.by_input:
            named = gettext("{piece} locks by itself", piece=lock.piece)
        why = award_words(lock, self.rules, language)
        details = [*why, say.gain(step.gain, step.score, language), _state(step, language)]
        if why:
            told = [gettext("{when}: {piece} locks, {award}.", when=when, piece=lock.piece, award=why[0])]
        else:
            told = [gettext("{when}: {piece} locks without a line.", when=when, piece=lock.piece)]
        told += [f"{_capital(text)}." for text in why[1:]]
        told += self._rescue_words(details)
        told += [say.brings(step.gain, step.score, language), *self._over_words(step, details)]
        what = gettext("locks: {awards}", awards="; ".join(why)) if why else gettext("locks")
        return self._draw(step, "lock", f"{title}   {named}", tuple(details), " ".join(told), what)

    def _rescue_words(self, details: list[str]) -> list[str]:
        """Zen: that the top of the board was emptied since the row before, in a sentence, and in ``details``."""
        gettext, above, before = self.language.gettext, self.rules.rescued_above, self.rescues
        self.rescues = self.game.st[p.ST_RESCUES]
        if self.rescues == before:
            return []
        details.append(gettext("the rows above row {row} are emptied", row=above))
        return [gettext("The rows above row {row} are emptied and play goes on.", row=above)]

    def _over_words(self, step: Step, details: list[str]) -> list[str]:
        """That the step ended the game, in a sentence, and in ``details``."""
        if not step.finished:
            return []
        details.append(self.language.gettext("the game is over"))
        return [self.language.gettext("The game is over.")]

    def _draw(self, step: Step, place: str, title: str, details: tuple[str, ...], caption: str, what: str) -> TraceRow:
        grid = _grid(_settled(step), step.piece, step.cells, self.rules)
        lines = step.lock.lines if step.lock else 0
        for y in step.lock.full_rows if step.lock else ():
            row = grid[len(grid) - 1 - y]
            row[:] = [PLACED_EMPTIED if cell.islower() else EMPTIED for cell in row]
        return TraceRow(
            number=step.move + 1, place=place, token=step.token, title=title, details=details, caption=caption,
            grid=grid_text(grid), panels=_panels(step.hold, step.held, step.next, self.language),
            values=_values(step.gain, lines, step, self.language),
            cells=_list_cells(step.piece or "", what, lines, step.gain, step, self.language), score=step.score,
            best_combo=step.best_combo, piece=step.piece,
        )  # fmt: skip


def _settled(step: Step) -> str:
    """The board below the cells that the step draws: of a lock the board before its lines went, with the piece on it."""
    return step.placed if step.lock else step.board


def _skip_locks(game: Game) -> int:
    """Of a game in the middle of a wait: let all pieces lock that the wait still locks but the last one; how many they were."""
    rules, st = game.rules, game.st
    tried = game.fork(b"")

    def next_lock(of: Game, ticks: int) -> int:
        return int(k.advance(ticks, 1, of.params, rules.kicks, rules.masks, of.deal, of.last, of.cells, of.st))

    locks, left = 0, st[p.ST_WAIT]
    while left > 0:
        left = next_lock(tried, left)
        locks += left >= 0
    for _ in range(locks - 1):
        st[p.ST_WAIT] = next_lock(game, st[p.ST_WAIT])
    return max(0, locks - 1)


def award_words(lock: Lock, rules: TetrominoRules, language: Language = ENGLISH) -> list[str]:
    """What a lock was paid for, part by part; [] when it was paid nothing.

    The first part is the line clear or spin: ``T-spin double, back-to-back, level 4: 1200 x 4 x 1.5 = 7,200``.
    """
    gettext, plain = language.gettext, language.plain
    name = CLEAR_NAMES.get((lock.spin, lock.lines))
    if name is None:
        return []
    paid = lock.base * lock.level
    shown = {"clear": gettext(name), "level": plain(lock.level)}
    times = f"{plain(lock.base)} x {plain(lock.level)}"
    if lock.back_to_back:
        factor, parts = rules.back_to_back
        times += f" x {language.decimal(_factor(factor, parts))}"
        paid = paid * factor // parts
        words = [gettext("{clear}, back-to-back, level {level}: {product} = {points}", **shown, product=times, points=paid)]
    else:
        words = [gettext("{clear}, level {level}: {product} = {points}", **shown, product=times, points=paid)]
    if lock.lines and lock.combo > 0:
        times = f"{plain(rules.combo)} x {plain(lock.combo)} x {plain(lock.level)}"
        bonus = rules.combo * lock.combo * lock.level
        words.append(gettext("combo {combo}: {product} = {points}", combo=plain(lock.combo), product=times, points=bonus))
    if lock.perfect:
        bonus = rules.perfect_points[lock.lines - 1]
        times = f"{plain(bonus)} x {plain(lock.level)}"
        words.append(gettext("perfect clear: {product} = {points}", product=times, points=bonus * lock.level))
    return words


def _factor(times: int, parts: int) -> str:
    """A fraction as people write it: ``1.5``, or ``4/3`` where it has no short decimal."""
    tenths, rest = divmod(times * 10, parts)
    if rest:
        return f"{times}/{parts}"
    return f"{tenths // 10}.{tenths % 10}" if tenths % 10 else str(tenths // 10)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _combo(combo: int, language: Language) -> str:
    return language.plain(combo) if combo >= 0 else say.none(language)


def _chain(at: Step | Game, language: Language) -> str:
    return language.gettext("on") if at.back_to_back else language.gettext("off")


def _state(at: Step | Game, language: Language) -> str:
    return language.gettext(
        "level {level}, lines {lines}, combo {combo}, back-to-back {chain}, {time}", level=language.plain(at.level),
        lines=language.plain(at.lines), combo=_combo(at.combo, language), chain=_chain(at, language),
        time=say.seconds(at.tick, language),
    )  # fmt: skip


def _values(gain: int, lines: int, at: Step | Game, language: Language) -> tuple[tuple[str, str], ...]:
    gettext, number, plain = language.gettext, language.number, language.plain
    return (
        (gettext("Score"), number(at.score)), (gettext("Gain"), f"+{number(gain)}"), (gettext("Cleared"), str(lines)),
        (gettext("Level"), plain(at.level)), (gettext("Lines"), number(at.lines)), (gettext("Combo"), _combo(at.combo, language)),
        (gettext("Best combo"), plain(at.best_combo)), (gettext("Back-to-back"), _chain(at, language)),
        (gettext("Clock"), say.seconds(at.tick, language)),
    )  # fmt: skip


def _list_cells(
    piece: str, what: str, lines: int, gain: int, at: Step | Game, language: Language
) -> tuple[tuple[str, str], ...]:
    return (
        (piece, ""), (what, ""), (str(lines or ""), ""), (language.plain(at.level), ""), (_combo(at.combo, language), ""),
        (f"+{language.number(gain)}", ""), (language.number(at.score), ""),
    )  # fmt: skip


def _panels(hold: str | None, held: bool, upcoming: tuple[str, ...], language: Language) -> tuple[Panel, ...]:
    gettext, none = language.gettext, say.none(language)
    label = gettext("{piece} (used)", piece=hold or none) if held else hold or none
    following = tuple((piece, piece) for piece in upcoming) or ((none, None),)
    return (
        Panel("hold", gettext("Hold"), gettext("hold: "), ((label, hold),), drawn=False),
        Panel("next", gettext("Next"), gettext("next: "), following, drawn=False),
    )


def _grid(board: str, piece: str | None, cells: tuple[tuple[int, int], ...], rules: TetrominoRules) -> list[list[str]]:
    """The visible rows and those above that are used, top row first; ``cells`` are drawn as those of a piece in play."""
    grid = parse_cells(board, rules.width, rules.height, PIECE_NAMES)
    for x, y in cells:
        grid[rules.height - 1 - y][x] = (piece or "").lower() or EMPTY
    return grid[first_used_row(grid, rules.visible) :]
