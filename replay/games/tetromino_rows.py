"""A game of Tetromino Arcade as rows that can be drawn: each input, and each lock with what was scored and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.board import parse_cells
from engine.outcome import Fault
from engine.tetromino import kernel as k
from engine.tetromino import pieces as p
from engine.tetromino.notation import INPUT_NAMES
from engine.tetromino.rules import PIECE_NAMES, Piece, TetrominoRules
from engine.tetromino.single import Game, Lock, Step, trace
from replay.games.drawing import CellLook, Column, Look, Panel, TraceRow, grid_text
from replay.games.kind import EMPTY, first_used_row, rows_with_fault
from replay.words import visible

TICKS_A_SECOND = 60
# Locks that one waiting time may draw; of more, only the last one follows.
WAIT_ROWS = 40
EMPTIED, PLACED_EMPTIED = "x", "q"
HOLD = "c"
LINE_NAMES = ("", "single", "double", "triple", "four lines")
_STYLES = {"I": "cyan", "J": "blue", "L": "bright_red", "O": "yellow", "S": "green", "T": "magenta", "Z": "red"}
# Signs on these colours have a contrast of 4.5 or more; the letter says which piece it is, the colour only helps.
_CSS = """:root {
  --piece-i: #0b7285; --piece-j: #3b5bdb; --piece-l: #b65200; --piece-o: #7a6200; --piece-s: #2b7a34; --piece-t: #9c36b5; --piece-z: #c92a2a; --piece-sign: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --piece-i: #5cd3e6; --piece-j: #93a9ff; --piece-l: #ffb066; --piece-o: #f2d03b; --piece-s: #7fd68a; --piece-t: #dba6f5; --piece-z: #ff9a92; --piece-sign: #12151c;
  }
}
.board i.cell { color: var(--piece-sign); }
.board i.live { outline: 3px solid var(--text); outline-offset: -2px; }
.viewer .board { max-width: 300px; }
.hand { min-height: 56px; }
.list td.what { white-space: normal; min-width: 12em; }
@media (min-width: 800px) { .viewer-and-list { grid-template-columns: minmax(320px, 4fr) minmax(0, 8fr); } }
"""  # noqa: E501


# The piece that stands for all of them in the legend.
SAMPLE = "T"


def _cell_looks() -> dict[str, CellLook]:
    out = {EMPTY: CellLook(" \u00b7", " .", "dim", "empty", "")}
    for piece in PIECE_NAMES:
        named = piece == SAMPLE
        css = f"cell piece-{piece.lower()}"
        out[piece] = CellLook(piece * 2, piece * 2, _STYLES[piece], css, piece, "settled" if named else "")
        live = "in play or just locked" if named else ""
        out[piece.lower()] = CellLook(f"\u2593{piece}", f"@{piece}", f"bold {_STYLES[piece]}", f"{css} live", piece, live)
    out[EMPTIED] = CellLook("\u2591" * 2, "--", "yellow", "emptied", "×", "emptied")
    out[PLACED_EMPTIED] = CellLook("\u2592" * 2, "%%", "bold yellow", "emptied live", "⊗", "locked and emptied")
    return out


LOOK = Look(
    cells=_cell_looks(),
    columns=(
        Column("Piece", "name"), Column("What", "name what"), Column("Lines"), Column("Level", "beside"),
        Column("Combo", "beside"), Column("Gain"), Column("Score"),
    ),
    css=_CSS + "".join(f"i.piece-{name} {{ background: var(--piece-{name}); }}\n" for name in PIECE_NAMES.lower()),
)  # fmt: skip


def drawing(piece: Piece) -> list[str]:
    """A piece in its spawn orientation, top row first, without the empty rows and columns of its box."""
    rows = [row for row in piece.spawn if "#" in row]
    columns = [at for at in range(len(rows[0])) if any(row[at] == "#" for row in rows)]
    return ["".join(piece.name if row[at] == "#" else EMPTY for at in columns) for row in rows]


def start_row(game: Game) -> TraceRow:
    """The board with the first piece in play."""
    grid = _grid(game.board, game.piece, game.piece_cells, game.rules)
    said = ("Start of the game", f"in play: {game.piece or 'none'}")
    return TraceRow(
        number=0, place="0", token="", title=said[0], details=said[1:], caption="The game before its first move.",
        grid=grid_text(grid), panels=_panels(game.hold, False, game.upcoming()), values=_values(0, 0, game),
        cells=_list_cells("", "", 0, 0, game), score=game.score, best_combo=game.best_combo, piece=game.piece,
    )  # fmt: skip


def rows(game: Game, first: int, last: int | None, token_at: Callable[[bytes, int], str | None]) -> Iterator[TraceRow]:
    """The rows of the tokens ``first`` (at which the game stands) to ``last``, and the faulty one's."""
    return rows_with_fault(
        _Drawer(game).rows(), game, first, last, lambda fault: _fault_row(game, fault, token_at(game.log, fault.move) or "")
    )


def _fault_row(game: Game, fault: Fault, token: str) -> TraceRow:
    """The state that a token met which cannot be played."""
    number, written, why = fault.move + 1, visible(token), visible(fault.text, 160)
    return TraceRow(
        number=number, place=str(number), token=written, title=f"Move {number:,}   {written}",
        details=(f"cannot be played: {why}", f"score before it {game.score:,}, level {game.level}, lines {game.lines}"),
        caption=f"Move {number:,} ({written}) cannot be played: {why}. The score before it is {game.score:,}.",
        grid=grid_text(_grid(game.board, game.piece, game.piece_cells, game.rules)),
        panels=_panels(game.hold, bool(game.st[p.ST_HELD]), game.upcoming()), values=_values(0, 0, game),
        cells=_list_cells("", "", 0, 0, game), score=game.score, best_combo=game.best_combo, fault=why,
    )  # fmt: skip


class _Drawer:
    """Plays a game and draws it; counts the rows of each token."""

    def __init__(self, game: Game) -> None:
        self.game, self.rules = game, game.rules
        self.rescues = game.st[p.ST_RESCUES]
        self.number = self.place = 0

    def rows(self) -> Iterator[TraceRow]:
        """All rows from where the game stands; of a wait that locks very many pieces the first ones and the last."""
        skipped = 0
        for step in trace(self.game):
            row = self._row(step)
            if skipped:
                row = replace(row, details=(*row.details, f"{skipped:,} more pieces locked before this one"))
            yield row
            many = step.lock and not self.by_input and self.place >= WAIT_ROWS
            skipped = _skip_locks(self.game) if many else 0

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
        letter = step.token[-1]
        name = INPUT_NAMES[letter] + ("" if step.effect else ", without effect")
        # After a hold the piece in play is another one.
        whose = "" if not step.piece else f", {step.piece} comes into play" if letter == HOLD else f" of {step.piece}"
        gain = f"+{step.gain:,}   " if step.gain else ""
        title = f"Move {step.move + 1:,}   {step.token}   {step.piece or ''}".rstrip()
        details = (name, f"{gain}score {step.score:,}", _state(step))
        earned = f" It brings {_points(step.gain)}, the score is {step.score:,}." if step.gain else ""
        caption = f"Move {step.move + 1:,} ({step.token}): {name}{whose}.{earned}"
        # An input has its token's own place on a page, the locks around it stand beside it.
        return self._draw(step, "", title, details, caption, name)

    def _lock_row(self, step: Step, lock: Lock) -> TraceRow:
        number = step.move + 1
        if self.by_input:
            when, title = f"Move {number:,} ({step.token})", f"Move {number:,}   {step.token}   {lock.piece} locks"
        elif step.token[-1:].isdigit():
            when = f"In the time after the last move ({step.token})"
            title = f"After the last move   {step.token}   {lock.piece} locks by itself"
        else:
            when = f"Before move {number:,} ({step.token})"
            title = f"Before move {number:,}   {step.token}   {lock.piece} locks by itself"
        why = [*award_words(lock, self.rules)]
        details = [*why, f"+{step.gain:,}   score {step.score:,}", _state(step)]
        how = f", {why[0]}" if why else " without a line"
        told = [f"{when}: {lock.piece} locks{how}.", *(f"{_capital(text)}." for text in why[1:])]
        if self.game.st[p.ST_RESCUES] != self.rescues:
            self.rescues = self.game.st[p.ST_RESCUES]
            details.append(f"the rows above row {self.rules.rescued_above} are emptied")
            told.append(f"The rows above row {self.rules.rescued_above} are emptied and play goes on.")
        if step.finished:
            details.append("the game is over")
        over = " The game is over." if step.finished else ""
        told.append(f"It brings {_points(step.gain)}, the score is {step.score:,}.{over}")
        what = f"locks: {'; '.join(why)}" if why else "locks"
        return self._draw(step, "lock", title, tuple(details), " ".join(told), what)

    def _draw(self, step: Step, place: str, title: str, details: tuple[str, ...], caption: str, what: str) -> TraceRow:
        grid = _grid(_settled(step), step.piece, step.cells, self.rules)
        lines = step.lock.lines if step.lock else 0
        for y in step.lock.full_rows if step.lock else ():
            row = grid[len(grid) - 1 - y]
            row[:] = [PLACED_EMPTIED if cell.islower() else EMPTIED for cell in row]
        return TraceRow(
            number=step.move + 1, place=place, token=step.token, title=title, details=details, caption=caption,
            grid=grid_text(grid), panels=_panels(step.hold, step.held, step.next), values=_values(step.gain, lines, step),
            cells=_list_cells(step.piece or "", what, lines, step.gain, step), score=step.score, best_combo=step.best_combo,
            piece=step.piece,
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


def award_words(lock: Lock, rules: TetrominoRules) -> list[str]:
    """What a lock was paid for, part by part; [] when it was paid nothing.

    The first part is the line clear or spin: ``T-spin double, back-to-back, level 4: 1200 x 4 x 1.5 = 7,200``.
    """
    lines = LINE_NAMES[lock.lines] or ("without a line" if lock.spin else "")
    name = " ".join(part for part in (_SPINS[lock.spin], lines) if part)
    if not name:
        return []
    paid = lock.base * lock.level
    times = f"{lock.base} x {lock.level}"
    if lock.back_to_back:
        factor, parts = rules.back_to_back
        name += ", back-to-back"
        paid = paid * factor // parts
        times += f" x {_factor(factor, parts)}"
    words = [f"{name}, level {lock.level}: {times} = {paid:,}"]
    if lock.lines and lock.combo > 0:
        bonus = rules.combo * lock.combo * lock.level
        words.append(f"combo {lock.combo}: {rules.combo} x {lock.combo} x {lock.level} = {bonus:,}")
    if lock.perfect:
        bonus = rules.perfect_points[lock.lines - 1]
        words.append(f"perfect clear: {bonus} x {lock.level} = {bonus * lock.level:,}")
    return words


_SPINS = {"": "", "mini": "mini T-spin", "full": "T-spin"}


def _factor(times: int, parts: int) -> str:
    """A fraction as people write it: ``1.5``, or ``4/3`` where it has no short decimal."""
    tenths, rest = divmod(times * 10, parts)
    if rest:
        return f"{times}/{parts}"
    return f"{tenths // 10}.{tenths % 10}" if tenths % 10 else str(tenths // 10)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count:,} points"


def _combo(combo: int) -> str:
    return str(combo) if combo >= 0 else "none"


def _seconds(tick: int) -> str:
    return f"{tick // TICKS_A_SECOND:,}.{tick % TICKS_A_SECOND * 10 // TICKS_A_SECOND} s"


def _state(at: Step | Game) -> str:
    chain = "on" if at.back_to_back else "off"
    return f"level {at.level}, lines {at.lines}, combo {_combo(at.combo)}, back-to-back {chain}, {_seconds(at.tick)}"


def _values(gain: int, lines: int, at: Step | Game) -> tuple[tuple[str, str], ...]:
    return (
        ("Score", f"{at.score:,}"), ("Gain", f"+{gain:,}"), ("Cleared", str(lines)), ("Level", str(at.level)),
        ("Lines", f"{at.lines:,}"), ("Combo", _combo(at.combo)), ("Best combo", str(at.best_combo)),
        ("Back-to-back", "on" if at.back_to_back else "off"), ("Clock", _seconds(at.tick)),
    )  # fmt: skip


def _list_cells(piece: str, what: str, lines: int, gain: int, at: Step | Game) -> tuple[tuple[str, str], ...]:
    return (
        (piece, ""), (what, ""), (str(lines or ""), ""), (str(at.level), ""), (_combo(at.combo), ""), (f"+{gain:,}", ""),
        (f"{at.score:,}", ""),
    )  # fmt: skip


def _panels(hold: str | None, held: bool, upcoming: tuple[str, ...]) -> tuple[Panel, ...]:
    label = f"{hold or 'none'}{' (used)' if held else ''}"
    following = tuple((piece, piece) for piece in upcoming) or (("none", None),)
    return (
        Panel("hold", "Hold", "hold: ", ((label, hold),), drawn=False),
        Panel("next", "Next", "next: ", following, drawn=False),
    )


def _grid(board: str, piece: str | None, cells: tuple[tuple[int, int], ...], rules: TetrominoRules) -> list[list[str]]:
    """The visible rows and those above that are used, top row first; ``cells`` are drawn as those of a piece in play."""
    grid = parse_cells(board, rules.width, rules.height, PIECE_NAMES)
    for x, y in cells:
        grid[rules.height - 1 - y][x] = (piece or "").lower() or EMPTY
    return grid[first_used_row(grid, rules.visible) :]
