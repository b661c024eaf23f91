"""One game, interpreted: the kernel's own functions on plain lists, importing neither numba nor numpy."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace

from engine.outcome import AFTER_END, APPLIED, BAD_TOKEN, DEAL_EXHAUSTED, FAULT_NAMES, NO_SUCH_MODE, Fault, Outcome
from engine.tetcolor import kernel as k
from engine.tetcolor import layout as at
from engine.tetcolor import notation
from engine.tetcolor.rules import TetcolorRules

TICKS_AN_HOUR = 60 * 60 * 60
SHOWN_MODE = 60


@dataclass(frozen=True)
class Deal:
    """What every attempt of a challenge starts from: pieces (listed, or endless from ``rng_seed``), cells of a start board.

    ``pieces`` are numbers as ``notation.read_piece`` makes them; ``start`` are cells in reading order, None where the challenge
    has no start board (then a mode with handicap draws one).
    """

    rng_seed: int
    pieces: tuple[int, ...] | None
    start: tuple[int, ...] | None


def make_deal(rules: TetcolorRules, mode: str, rng_seed: int, pieces_text: str, start_board_text: str) -> Deal:
    """The deal of a challenge: pieces joined by spaces (``""``: seeded), a board's text (``""``: none; ``-`` is an empty one).

    It belongs to a mode: boards and pools are the family's.  A mode that does not exist deals nothing, its games have the fault
    ``no_such_mode``.  Raises ValueError with a sentence for an unknown piece, an unreadable board or one that holds a match.
    """
    family = rules.family(mode)
    if family is None:
        return Deal(rng_seed, None, None)
    pieces = tuple(notation.read_piece(text, family, rules) for text in pieces_text.split()) if pieces_text else None
    start = notation.start_cells(start_board_text, family, rules) if start_board_text else None
    return Deal(rng_seed, pieces, start)


class Game:
    """One game in progress under ``rules``: ``step()`` applies the log's next token, the rest can be looked at any time."""

    def __init__(self, rules: TetcolorRules, deal: Deal, log: bytes, mode: str) -> None:
        self.rules, self.deal, self.log, self.mode = rules, deal, log, mode
        self.pos = self._before = 0
        self.rng, self.board_cells, self.cols = [0, 0], [0] * at.N_BOARD, [0] * at.N_COLS
        self.st, self.work, self._saved = [0] * at.N_STATE, [0] * at.N_WORK, [0] * at.N_SAVED
        self._pieces = list(deal.pieces or ())
        self.params = rules.params.get(mode, [0] * at.N_PARAMS)
        self.status = APPLIED if mode in rules.params else NO_SUCH_MODE
        if self.status == APPLIED:
            last = at.NONE if deal.pieces is None else len(self._pieces)
            start_first = at.NONE if deal.start is None else 0
            k.begin(
                self.params, rules.tables, self._pieces, 0, last, deal.rng_seed, deal.start or (), start_first, self.rng,
                self.board_cells, self.cols, self.st,
            )  # fmt: skip

    def fork(self, log: bytes) -> Game:
        """An independent copy of the game as it stands, which goes on with another log."""
        other = copy(self)
        other.log, other.pos, other._before = log, 0, 0
        other.rng, other.board_cells, other.cols = list(self.rng), list(self.board_cells), list(self.cols)
        other.st, other.work, other._saved = list(self.st), list(self.work), list(self._saved)
        other.st[at.PAST_LIMIT] = 0
        other.status = APPLIED if self.mode in self.rules.params else NO_SUCH_MODE
        return other

    def step(self) -> int:
        """Apply the next token and return its status (engine.outcome); past the end or a fault it stays there."""
        if self.status == APPLIED:
            self._before = self.pos
            self.status, self.pos = k.step(
                self.log, self.pos, len(self.log), self.params, self.rules.tables, self._pieces, self.rng, self.board_cells,
                self.cols, self.st, self.work, self._saved,
            )  # fmt: skip
        return self.status

    def run(self) -> Outcome:
        """Apply the rest of the log."""
        while self.step() == APPLIED:
            pass
        return self.outcome()

    @property
    def exists(self) -> bool:
        """Whether the game's mode exists."""
        return self.mode in self.rules.params

    @property
    def width(self) -> int:
        """Columns of the board, 0 where the mode does not exist."""
        return self.params[at.P_WIDTH]

    @property
    def height(self) -> int:
        """Rows of the board, 0 where the mode does not exist."""
        return self.params[at.P_HEIGHT]

    @property
    def cells(self) -> list[list[int]]:
        """The settled cells (``engine.tetcolor.layout``), top row first."""
        return [
            [cell & ~at.STRUCK_MARK for cell in row] for row in notation.cells_of(self.board_cells, self.width, self.height)
        ]  # fmt: skip

    @property
    def board(self) -> str:
        """The board's canonical text, without the piece in play."""
        return notation.board_text(self.cells)

    def board_equals(self, board: str) -> int:
        """BOARD_EQUAL, BOARD_DIFFERS or BOARD_UNREADABLE for a claimed board."""
        text = board.encode("utf-8", "surrogatepass")
        return int(k.compare_board(text, 0, len(text), self.width, self.height, self.board_cells))

    @property
    def score(self) -> int:
        """The points so far."""
        return self.st[at.SCORE]

    @property
    def best_combo(self) -> int:
        """The most successful passes of one settle so far."""
        return self.st[at.BEST]

    @property
    def moves(self) -> int:
        """The tokens applied so far."""
        return self.st[at.MOVES]

    @property
    def finished(self) -> bool:
        """Whether the rules have ended the game."""
        return self.exists and self.st[at.PHASE] == at.OVER

    @property
    def level(self) -> int | None:
        """The level, None where the mode does not exist."""
        return self.st[at.LEVEL] if self.exists else None

    @property
    def pieces_settled(self) -> int:
        """How many pieces have locked."""
        return self.st[at.PIECES]

    @property
    def clock(self) -> int:
        """The tick that comes next."""
        return self.st[at.CLOCK]

    @property
    def piece(self) -> str | None:
        """The piece in play as a challenge would list it, None when there is none."""
        return self._piece_text(at.TURN, at.CELLS) if self.st[at.PHASE] == at.FALLING else None

    @property
    def next_piece(self) -> str | None:
        """The piece of the preview, None when a list has run out."""
        return self._piece_text(at.NEXT_TURN, at.NEXT_CELLS)

    def _piece_text(self, turn: int, cells: int) -> str | None:
        if not self.exists or self.st[turn] == at.NONE:
            return None
        shape = self.rules.shape_of[self.st[turn]]
        return notation.piece_text(shape, self.st[cells : cells + len(shape.cells)])

    @property
    def piece_cells(self) -> dict[tuple[int, int], int]:
        """The cells of the piece in play by (row, column), empty when there is none."""
        if not self.exists or self.st[at.PHASE] != at.FALLING:
            return {}
        turn, out = self.st[at.TURN], {}
        for index in range(self.rules.tables[turn + at.T_CELLS]):
            offset = self.rules.tables[turn + at.T_OFFSET + index]
            place = self.st[at.ROW] + offset // at.STRIDE, self.st[at.COLUMN] + offset % at.STRIDE
            out[place] = self.st[at.CELLS + index]
        return out

    @property
    def last_token(self) -> str:
        """The text of the token that ``step`` read last."""
        return self.log[self._before : self.pos].decode("ascii", "backslashreplace").strip()

    def outcome(self) -> Outcome:
        """The state as it is now, with the fault if the replay met one."""
        fault = Fault(FAULT_NAMES[self.status], self.moves, self.fault_text()) if self.status < 0 else None
        return Outcome(self.score, self.best_combo, self.board, self.moves, self.finished, fault, self.level)

    def fault_text(self) -> str:
        """One sentence on why the replay stopped."""
        if self.status == NO_SUCH_MODE:
            # Any text may stand there, of any length.
            mode = self.mode if len(self.mode) <= SHOWN_MODE else f"{self.mode[:SHOWN_MODE]}..."
            return f"mode {mode!r} does not exist, see family/variant/style[/handicap] in the rules, for example " + (
                f"{self.rules.mode_names[0]!r}"
            )
        if self.status == BAD_TOKEN:
            written = notation.token_at(self.log[self.pos :], 0) or ""
            if self.st[at.PAST_LIMIT]:
                hours = self.rules.longest_ticks / TICKS_AN_HOUR
                return f"{written!r} passes the end of the game's clock, {hours:g} hours"
            return f"{written!r} is no token of the notation"
        return {
            AFTER_END: f"{self.last_token!r} comes after the game was over: a piece had no room to enter",
            DEAL_EXHAUSTED: f"{self.last_token!r} needs more pieces than the challenge lists",
        }[self.status]


def replay(rules: TetcolorRules, deal: Deal, log: str, mode: str) -> Outcome:
    """Replay one log under ``rules`` in ``mode``; a mode that does not exist is the fault ``no_such_mode``."""
    return Game(rules, deal, log.encode("utf-8", "surrogatepass"), mode).run()


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, for people.

    ``kind``: ``input`` (the token has been applied), ``enter`` (a piece came into play), ``lock``, ``strike`` (a pass's ordinary
    set), ``generation`` (bombs and Activators of the one before went off), ``collapse`` (the end of a pass), ``over``.
    ``move`` is the token's index from 0, of the token that was read when it happened; ``token`` its text, of a trailing time too;
    ``tick`` the tick it happened in.  ``before`` and ``after`` are the settled cells, top row first, ``piece`` the cells of the
    piece in play (of a ``lock``: of the locked one) by (row, column).  ``destroyed``, ``thawed`` and ``kept`` (stones) are the
    struck places (row, column), ``blasts`` (row, column, cell) what this strike sets off; ``generation`` counts within the
    settle.  ``multiplier`` is what ``points`` were paid with, where awards are by rows always 1; ``passes`` are the successful
    passes of this settle so far.
    ``effect``: whether an ``input`` did anything.
    """

    kind: str
    move: int
    token: str
    tick: int
    before: tuple[tuple[int, ...], ...]
    after: tuple[tuple[int, ...], ...]
    piece: dict[tuple[int, int], int]
    next_piece: str | None
    destroyed: tuple[tuple[int, int], ...]
    thawed: tuple[tuple[int, int], ...]
    kept: tuple[tuple[int, int], ...]
    blasts: tuple[tuple[int, int, int], ...]
    full_rows: tuple[int, ...]
    generation: int
    passes: int
    points: int
    multiplier: int
    score: int
    best_combo: int
    level: int
    effect: bool = True


# What an input may change of the piece in play.
_MOVED = (at.PHASE, at.TURN, at.ROW, at.COLUMN, at.MEMORY)
STATE_EVENTS = {at.STRIKE: "strike", at.DETONATE: "generation", at.COLLAPSE: "collapse"}


def trace(game: Game) -> Iterator[Event]:
    """Play ``game`` to its end or fault, yielding every input, entry, lock, strike, generation and collapse.

    The caller reads ``game.outcome()`` afterwards.  It does what ``Game.step`` does, one thing after the other.
    """
    while game.status == APPLIED:
        move, game._before = game.moves, game.pos
        code, after = k.open_token(
            game.log, game.pos, len(game.log), game.params, game.rng, game.board_cells, game.cols, game.st, game._saved
        )
        token = game.log[game.pos : after].decode("ascii", "backslashreplace").strip()
        if code != APPLIED:
            game.status, game.pos = code, after
            return
        # A token that passes the clock of a game that still goes on then is bad: nothing happens in its time.
        if not game.st[at.PAST_LIMIT] or _ends_in_time(game):
            yield from _go_on(game, move, token)
        before, piece = game.cells, game.piece_cells
        phase, state = game.st[at.PHASE], [game.st[index] for index in _MOVED]
        code = k.close_token(
            game.params, game.rules.tables, game.rng, game.board_cells, game.cols, game.st, game.work, game._saved
        )
        if code == APPLIED:
            effect = state != [game.st[index] for index in _MOVED]
            yield replace(_event(game, "input", move, token, before, game.piece_cells or piece), effect=effect)
            if phase == at.FALLING and game.st[at.PHASE] == at.SETTLING:
                yield _event(game, "lock", move, token, before, piece)
        yield from _go_on(game, move, token)
        game.status = code
        if code != BAD_TOKEN:
            game.pos = after


def _ends_in_time(game: Game) -> bool:
    """Whether the game ends before the token's time has passed; a copy is asked, since whoever draws events looks at the game."""
    tried = game.fork(game.log)
    while k.go_on(
        tried.params, tried.rules.tables, tried._pieces, tried.rng, tried.board_cells, tried.cols, tried.st, tried.work
    ):  # fmt: skip
        pass
    return tried.finished


def _go_on(game: Game, move: int, token: str) -> Iterator[Event]:
    """Everything that is under way until the token's time has passed and nothing is unsettled."""
    st = game.st
    while True:
        before, phase, state = game.cells, st[at.PHASE], st[at.STATE]
        if not k.go_on(game.params, game.rules.tables, game._pieces, game.rng, game.board_cells, game.cols, st, game.work):
            return
        now = st[at.PHASE]
        if phase == at.FALLING and now == at.SETTLING:
            # Gravity may have moved it before it locked: its cells are those that are new.
            new = {(r, c): cell for r, row in enumerate(game.cells) for c, cell in enumerate(row) if cell != before[r][c]}
            yield _event(game, "lock", move, token, before, new)
        elif phase == at.SETTLING and state in STATE_EVENTS:
            yield _event(game, STATE_EVENTS[state], move, token, before, {})
        if phase in (at.SETTLING, at.WAITING) and now in (at.FALLING, at.OVER):
            yield _event(game, "enter" if now == at.FALLING else "over", move, token, game.cells, game.piece_cells)


def _event(game: Game, kind: str, move: int, token: str, before: list[list[int]], piece: dict[tuple[int, int], int]) -> Event:
    st, work = game.st, game.work
    struck: dict[int, list[tuple[int, int]]] = {at.DESTROYED_END: [], at.THAWED_END: [], at.KEPT_END: []}
    blasts: list[tuple[int, int, int]] = []
    if kind in ("strike", "generation"):
        for index in range(st[at.N_STRUCK]):
            struck[work[at.STRUCK_END + index]].append(_place(work[at.STRUCK + index]))
        blasts = [(*_place(work[at.BLAST + n]), work[at.BLAST_CELL + n]) for n in range(st[at.N_BLASTS])]
    settling = kind in ("strike", "generation", "collapse")
    tick = st[at.LOCK_TICK] + st[at.GENERATIONS] * game.params[at.P_GENERATION] if settling else st[at.CLOCK]
    return Event(
        kind=kind, move=move, token=token, tick=st[at.LOCK_TICK] if kind == "lock" else tick,
        before=tuple(map(tuple, before)), after=tuple(map(tuple, before if kind == "input" else game.cells)), piece=piece,
        next_piece=game.next_piece,
        destroyed=tuple(sorted(struck[at.DESTROYED_END])), thawed=tuple(sorted(struck[at.THAWED_END])),
        kept=tuple(sorted(struck[at.KEPT_END])), blasts=tuple(blasts),
        full_rows=tuple(r for r in range(game.height) if kind == "strike" and st[at.FULL] >> r & 1),
        generation=st[at.GENERATIONS] if settling else 0, passes=st[at.PASSES] if settling else 0,
        points=st[at.GAIN] if settling else 0, multiplier=st[at.MULTIPLIER] if kind == "strike" else 1, score=st[at.SCORE],
        best_combo=st[at.BEST], level=st[at.LEVEL],
    )  # fmt: skip


def _place(place: int) -> tuple[int, int]:
    return place // at.STRIDE - at.TOP, place % at.STRIDE - at.LEFT
