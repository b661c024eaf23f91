"""One game, interpreted: the kernel's own functions on plain lists, importing neither numba nor numpy."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace

from engine.outcome import FAULT_NAMES, Fault, Outcome
from engine.tetromino import kernel as k
from engine.tetromino import notation, text
from engine.tetromino import pieces as p
from engine.tetromino.rules import PIECE_NAMES, TetrominoRules

NEXT_SHOWN = 5
SPIN_NAMES = {k.SPIN_NONE: "", k.SPIN_MINI: "mini", k.SPIN_FULL: "full"}


@dataclass(frozen=True)
class Deal:
    """What every attempt of a challenge starts from: pieces (listed, or endless from ``rng_seed``) and a kernel's board."""

    rng_seed: int
    pieces: tuple[int, ...] | None
    start: tuple[int, ...]


def make_deal(rules: TetrominoRules, mode: str, rng_seed: int, pieces_text: str, start_board_text: str) -> Deal:
    """The deal of a challenge: names of pieces joined by spaces (``""``: seeded), a board's text (``""``: empty).

    Every mode deals alike.  Raises ValueError with a sentence for an unknown piece, an unreadable board or a full row on it.
    """
    pieces = tuple(notation.piece_indexes(pieces_text)) if pieces_text else None
    start = notation.start_board(start_board_text, rules)
    start[k.RNG] = rng_seed
    return Deal(rng_seed, pieces, tuple(start))


@dataclass(frozen=True, slots=True)
class Lock:
    """What one lock was and was worth: ``award`` = ``base`` x ``level`` (x back-to-back) + combo and perfect clear.

    ``spin`` is "", "mini" or "full"; ``full_rows`` the completed rows from 0 at the bottom; ``combo`` the count after the lock,
    -1 where it cleared nothing; ``dropped`` the drop points that the piece earned before.
    """

    piece: str
    spin: str
    lines: int
    full_rows: tuple[int, ...]
    level: int
    back_to_back: bool
    combo: int
    perfect: bool
    base: int
    award: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Step:
    """The state after one input or one lock, for people.

    ``move`` and ``token`` are those of the input, of a lock that time brought those of the token that was being waited for (the
    trailing time's text at the end of a log).  ``tick`` is the game's clock, ``effect`` whether an input changed anything and
    ``gain`` the points that this step brought.  ``cells`` are (column, row) from 0 at the bottom left: after an input the piece
    in play (of a hard drop, where it landed), of a lock the cells that settled.  ``placed`` is the board with these cells before
    its lines are emptied, ``board`` the settled cells afterwards.  ``lock`` is set where the step is a lock.
    """

    move: int
    token: str
    tick: int
    effect: bool
    piece: str | None
    cells: tuple[tuple[int, int], ...]
    board: str
    placed: str
    hold: str | None
    held: bool
    next: tuple[str, ...]
    gain: int
    score: int
    level: int
    lines: int
    combo: int
    best_combo: int
    back_to_back: bool
    finished: bool
    lock: Lock | None


class Game:
    """One game in progress under ``rules``: ``step()`` applies the log's next token, the rest can be looked at any time.

    ``mode`` is one that the rules have; KeyError otherwise.
    """

    def __init__(self, rules: TetrominoRules, deal: Deal, log: bytes, mode: str) -> None:
        self.rules, self.log, self.mode = rules, log, mode
        self.params = rules.params(mode)
        self.pos = self.read_from = 0
        self.status = k.APPLIED
        self.deal = list(deal.pieces or ())
        # Below zero: the deal is seeded.
        self.last = -1 if deal.pieces is None else len(self.deal)
        self.cells, self.st = [0] * k.N_BOARD, [0] * k.N_STATE
        k.begin(deal.start, 0, self.params, rules.kicks, rules.masks, self.deal, self.last, self.cells, self.st)

    def fork(self, log: bytes) -> Game:
        """An independent copy of the game as it stands, which goes on with another log."""
        other = copy(self)
        other.log, other.pos, other.read_from, other.status = log, 0, 0, k.APPLIED
        other.cells, other.st = list(self.cells), list(self.st)
        # A copy that is made in the middle of a wait starts its own time.
        other.st[k.ST_WAIT] = -1
        return other

    def step(self) -> int:
        """Apply the next token and return its status (engine.outcome); past the end or a fault it stays there."""
        return self._go(0)

    def _go(self, stop: int) -> int:
        """``step``; with ``stop`` the status is WAITED after each lock that time brings and before the input itself."""
        if self.status in (k.APPLIED, k.WAITED):
            self.read_from = self.pos
            rules = self.rules
            self.status, self.pos = k.step(
                self.log, self.pos, len(self.log), stop, self.params, rules.kicks, rules.masks, self.deal, self.last,
                self.cells, self.st, [0] * k.N_BOARD, [0] * k.N_STATE,
            )  # fmt: skip
        return self.status

    def run(self) -> Outcome:
        """Apply the rest of the log."""
        while self.step() == k.APPLIED:
            pass
        return self.outcome()

    def outcome(self) -> Outcome:
        """The state as it is now, with the fault if the replay met one."""
        fault = Fault(FAULT_NAMES[self.status], self.moves, self.fault_text()) if self.status < 0 else None
        return Outcome(
            self.score, self.best_combo, self.board, self.moves, self.finished, fault, self.level, self.lines,
        )  # fmt: skip

    @property
    def score(self) -> int:
        """The points so far."""
        return self.st[k.ST_SCORE]

    @property
    def best_combo(self) -> int:
        """The largest combo count so far."""
        return self.st[k.ST_BEST]

    @property
    def moves(self) -> int:
        """The tokens applied so far."""
        return self.st[k.ST_MOVES]

    @property
    def finished(self) -> bool:
        """Whether the rules have ended the game."""
        return bool(self.st[k.ST_FINISHED])

    @property
    def level(self) -> int:
        """The level that the next lock is paid at."""
        return self.st[k.ST_LEVEL]

    @property
    def lines(self) -> int:
        """All lines cleared so far."""
        return self.st[k.ST_LINES]

    @property
    def tick(self) -> int:
        """The game's clock."""
        return self.st[k.ST_TICK]

    @property
    def combo(self) -> int:
        """The combo count, -1 while there is none."""
        return self.st[k.ST_COMBO]

    @property
    def back_to_back(self) -> bool:
        """Whether the next difficult clear would be multiplied."""
        return bool(self.st[k.ST_CHAIN])

    @property
    def board(self) -> str:
        """The settled cells' canonical text, without the piece in play."""
        return notation.board_text(self.cells, self.rules)

    @property
    def piece(self) -> str | None:
        """The piece in play, None after the end and where a listed deal has run out."""
        return self._name(self.st[k.ST_PIECE])

    @property
    def hold(self) -> str | None:
        """The held piece."""
        return self._name(self.st[k.ST_HOLD])

    @property
    def piece_cells(self) -> tuple[tuple[int, int], ...]:
        """The cells of the piece in play as (column, row) from 0 at the bottom left; none where there is no piece."""
        st = self.st
        return () if st[k.ST_PIECE] == k.NO_PIECE else self._cells_at(st[k.ST_SHAPE], st[k.ST_X], st[k.ST_Y])

    def _name(self, piece: int) -> str | None:
        return None if piece == k.NO_PIECE else PIECE_NAMES[piece]

    def _cells_at(self, shape: int, x: int, y: int) -> tuple[tuple[int, int], ...]:
        return tuple((x + column, y + row) for row, column in self.rules.pieces[shape // 4].turns[shape % 4])

    def upcoming(self, count: int = NEXT_SHOWN) -> tuple[str, ...]:
        """The next pieces of the deal; fewer where a listed deal runs out."""
        cells, st, out = list(self.cells), list(self.st), []
        for _ in range(count):
            piece = k.next_piece(self.deal, self.last, cells, st)
            if piece == k.NO_PIECE:
                break
            out.append(PIECE_NAMES[piece])
        return tuple(out)

    def board_equals(self, board: str) -> int:
        """BOARD_EQUAL, BOARD_DIFFERS or BOARD_UNREADABLE for a claimed board."""
        written = board.encode("utf-8", "surrogatepass")
        return int(text.compare_board(written, 0, len(written), self.rules.width, self.rules.height, self.cells))

    @property
    def last_token(self) -> str:
        """The text of the token, or of the trailing time, that ``step`` read last."""
        after = self.pos
        if after == self.read_from:
            after = text.next_token(self.log, self.read_from, len(self.log))[3]
        return self.log[self.read_from : after].strip().decode("ascii", "backslashreplace")

    def fault_text(self) -> str:
        """One sentence on the token that could not be applied."""
        if self.status == k.BAD_TOKEN:
            kind, ticks, _letter, _after = text.next_token(self.log, self.read_from, len(self.log))
            if kind == text.T_BAD:
                shown = self.log[self.pos : self.pos + 12].decode("ascii", "backslashreplace")
                return f"{shown!r} is no token of the notation"
            most = self.params[k.P_LONGEST]
            return (
                f"{self.last_token!r} passes the end of the game's clock: tick {self.tick + ticks} of at most {most}, "
                "and the game was still going on"
            )
        written = self.last_token
        return {
            k.HOLD_TWICE: f"{written!r} holds a second piece before one has locked",
            k.AFTER_END: f"{written!r} comes after the game was over",
            k.DEAL_EXHAUSTED: f"{written!r} needs more pieces than the challenge lists",
        }[self.status]


def replay(rules: TetrominoRules, deal: Deal, log: str, mode: str) -> Outcome:
    """Replay one log under ``rules`` in ``mode`` (KeyError where the rules have no such mode)."""
    return Game(rules, deal, log.encode("utf-8", "surrogatepass"), mode).run()


def trace(game: Game) -> Iterator[Step]:
    """Play ``game`` to the end of its log, yielding the state after each input and after each lock; read its outcome afterwards.

    A hard drop is two steps, the drop and the lock.
    """
    while True:
        # With the waits taken apart this is the state right before the input, or before the one lock that time brought.
        before = copy(game)
        before.cells, before.st = list(game.cells), list(game.st)
        status = game._go(1)
        locked = game.st[k.ST_LOCKS] != before.st[k.ST_LOCKS]
        if status == k.APPLIED:
            yield _input_step(game, before, locked)
        if locked:
            yield _lock_step(game, before, status == k.APPLIED)
        if status not in (k.APPLIED, k.WAITED):
            return


def _shown(game: Game, move: int, gain: int, token: str) -> Step:
    """The game as it stands."""
    cells = game.piece_cells
    return Step(
        move=move, token=token, tick=game.tick, effect=True, piece=game.piece, cells=cells, board=game.board,
        placed=_with_cells(game, game.piece, cells), hold=game.hold, held=bool(game.st[k.ST_HELD]), next=game.upcoming(),
        gain=gain, score=game.score, level=game.level, lines=game.lines, combo=game.combo, best_combo=game.best_combo,
        back_to_back=game.back_to_back, finished=game.finished, lock=None,
    )  # fmt: skip


def _input_step(game: Game, before: Game, locked: bool) -> Step:
    """The step of an input; of a hard drop the piece at its landing place, before it locks."""
    old, new = before.st, game.st
    if not locked:
        step = _shown(game, game.moves - 1, game.score - before.score, game.last_token)
        changed = any(old[at] != new[at] for at in (k.ST_SHAPE, k.ST_X, k.ST_Y, k.ST_HELD))
        return step if changed else replace(step, effect=False)
    landed = copy(before)
    landed.st = list(old)
    landed.st[k.ST_Y], landed.st[k.ST_SCORE] = new[k.L_Y], new[k.ST_SCORE] - new[k.L_AWARD]
    return _shown(landed, game.moves - 1, landed.score - before.score, game.last_token)


def _lock_step(game: Game, before: Game, by_input: bool) -> Step:
    st = game.st
    cells, y = game._cells_at(st[k.L_SHAPE], st[k.L_X], st[k.L_Y]), st[k.L_Y]
    piece = PIECE_NAMES[st[k.L_PIECE]]
    lock = Lock(
        piece=piece, spin=SPIN_NAMES[st[k.L_SPIN]], lines=st[k.L_LINES],
        full_rows=tuple(y + row for row in range(4) if st[p.L_FULL] >> row & 1), level=st[k.L_LEVEL],
        back_to_back=bool(st[k.L_CHAIN]), combo=st[k.L_COMBO], perfect=bool(st[k.L_PERFECT]), base=st[k.L_BASE],
        award=st[k.L_AWARD], dropped=st[k.L_DROPPED],
    )  # fmt: skip
    step = _shown(game, game.moves - by_input, lock.award, game.last_token)
    return replace(step, piece=piece, cells=cells, placed=_with_cells(before, piece, cells), lock=lock)


def _with_cells(game: Game, piece: str | None, cells: tuple[tuple[int, int], ...]) -> str:
    """The settled cells and these as a board's text."""
    board = list(game.cells)
    for x, y in cells:
        board[p.ROWS + p.PAD + y] |= (PIECE_NAMES.index(piece or "") + 1) << 4 * (x + p.WALL)
    return notation.board_text(board, game.rules)
