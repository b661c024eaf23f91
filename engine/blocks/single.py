"""One game, interpreted: the kernel's own functions on plain lists, importing neither numba nor numpy."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

from engine.blocks import kernel as k
from engine.blocks import notation
from engine.blocks.rules import HAND_SIZE, BlocksRules
from engine.outcome import FAULT_NAMES, Fault, Outcome


@dataclass(frozen=True)
class Deal:
    """What every attempt of a challenge starts from: pieces (listed, or endless from ``rng_seed``) and board rows."""

    rng_seed: int
    pieces: tuple[int, ...] | None
    start: tuple[int, ...]


def make_deal(rules: BlocksRules, mode: str, rng_seed: int, pieces_text: str, start_board_text: str) -> Deal:
    """The deal of a challenge: names of pieces joined by spaces (``""``: seeded), a board's text (``""``: empty).

    Every mode deals alike.  Raises ValueError with a sentence for an unknown piece, an unreadable board or a full line on it.
    """
    pieces = tuple(notation.piece_indexes(pieces_text, rules)) if pieces_text else None
    return Deal(rng_seed, pieces, tuple(notation.start_rows(start_board_text, rules)))


@dataclass(frozen=True, slots=True)
class Step:
    """The state after one token, for people: ``hand`` holds names (None where a listed deal ran out), ``gain`` points.

    ``turn`` counts from 1 and is the turn that the token was played in; ``streak`` is the one after it.
    """

    move: int
    token: str
    piece: str | None
    cells: tuple[tuple[int, int], ...]
    board: str
    placed: str
    hand: tuple[str | None, ...]
    lines: int
    full_rows: tuple[int, ...]
    full_columns: tuple[int, ...]
    turn: int
    streak: int
    multiplier: int
    gain: int
    score: int
    best_combo: int


class Game:
    """One game in progress under ``rules``: ``step()`` applies the log's next token, the rest can be looked at any time.

    ``mode`` is a name that the rules have; KeyError otherwise.
    """

    def __init__(self, rules: BlocksRules, deal: Deal, log: bytes, mode: str) -> None:
        self.rules, self.log = rules, log
        self.continues = rules.continues[mode]
        self.pos = 0
        self.status = k.APPLIED
        self.rows, self.hand, self.st = [0] * rules.height, [0] * HAND_SIZE, [0] * k.N_STATE
        self._from = deal
        self.deal = self._dealt()
        k.begin(deal.start, 0, rules.params, self.deal, 0, len(self.deal), self.rows, self.hand, self.st)

    def _dealt(self) -> list[int]:
        """The pieces as far as this log can go."""
        if self._from.pieces is not None:
            return list(self._from.pieces)
        pieces = [0] * self._needed()
        k.fill_deal(self._from.rng_seed, len(self.rules.shapes), pieces, 0, len(pieces))
        return pieces

    def _needed(self) -> int:
        """How far a seeded deal is needed: three pieces to start with and one a token at most; a token has three bytes."""
        return self.st[k.ST_NEXT] + len(self.log) // 3 + 4

    def fork(self, log: bytes) -> Game:
        """An independent copy of the game as it stands, which goes on with another log."""
        other = copy(self)
        other.log, other.pos, other.status = log, 0, k.APPLIED
        other.rows, other.hand, other.st = list(self.rows), list(self.hand), list(self.st)
        if other._needed() > len(self.deal):
            other.deal = other._dealt()
        return other

    def step(self) -> int:
        """Apply the next token and return its status (engine.outcome); past the end or a fault it stays there."""
        if self.status == k.APPLIED:
            rows, heights, widths, cells = self.rules.shape_tables
            self.status, self.pos = k.step(
                self.log, self.pos, len(self.log), self.rules.params, rows, heights, widths, cells, self.rules.base,
                self.deal, len(self.deal), self.continues, self.rows, self.hand, self.st,
            )  # fmt: skip
        return self.status

    def run(self) -> Outcome:
        """Apply the rest of the log."""
        while self.step() == k.APPLIED:
            pass
        return self.outcome()

    @property
    def over(self) -> bool:
        """Whether no piece in hand fits anywhere."""
        rows, heights, widths, _ = self.rules.shape_tables
        return bool(k.is_over(self.rows, self.hand, self.rules.params, rows, heights, widths))

    @property
    def score(self) -> int:
        """The points so far."""
        return self.st[k.ST_SCORE]

    @property
    def best_combo(self) -> int:
        """The most lines of one placement so far."""
        return self.st[k.ST_BEST]

    @property
    def moves(self) -> int:
        """The tokens applied so far."""
        return self.st[k.ST_MOVES]

    @property
    def finished(self) -> bool:
        """Whether the rules have ended the game."""
        return self.over

    @property
    def board(self) -> str:
        """The board's canonical text."""
        return notation.board_text(self.rows, self.rules.width)

    @property
    def hand_names(self) -> tuple[str | None, ...]:
        """The pieces in hand, slot 1 first."""
        return tuple(None if piece == k.NO_PIECE else self.rules.shapes[piece].name for piece in self.hand)

    def outcome(self) -> Outcome:
        """The state as it is now, with the fault if the replay met one."""
        fault = None
        if self.status < 0:
            move = self.st[k.ST_MOVES]
            fault = Fault(FAULT_NAMES[self.status], move, self.fault_text())
        return Outcome(self.st[k.ST_SCORE], self.st[k.ST_BEST], self.board, self.st[k.ST_MOVES], self.over, fault)

    def completes(self, score: int, best_combo: int, board: str) -> bool:
        """Whether one more legal placement would give exactly these claims (``truncated_log``)."""
        claimed = [0] * self.rules.height
        text = board.encode("utf-8", "surrogatepass")
        if k.parse_board(text, 0, len(text), self.rules.width, self.rules.height, claimed) != k.BOARD_EQUAL:
            return False
        rows, heights, widths, cells = self.rules.shape_tables
        return bool(
            k.completes(
                score, best_combo, claimed, self.rules.params, rows, heights, widths, cells, self.rules.base, self.rows,
                self.hand, self.st, [0] * self.rules.height, [0] * HAND_SIZE, [0] * k.N_STATE,
            )
        )  # fmt: skip

    def board_equals(self, board: str) -> int:
        """BOARD_EQUAL, BOARD_DIFFERS or BOARD_UNREADABLE for a claimed board."""
        text = board.encode("utf-8", "surrogatepass")
        scratch = [0] * self.rules.height
        return int(k.compare_board(text, 0, len(text), self.rules.width, self.rules.height, self.rows, scratch))

    def fault_text(self) -> str:
        """One sentence on the token that could not be applied."""
        if self.status == k.BAD_TOKEN:
            shown = self.log[self.pos : self.pos + 12].decode("ascii", "backslashreplace")
            return f"{shown!r} is no token of the notation"
        # ``pos`` already stands behind the token that failed: read it again from its text.
        written = self.last_token
        kind, slot, column, row, _ = k.next_token(written.encode(), 0, len(written))
        name = None
        if kind == k.T_PLACE and 1 <= slot <= 3:
            name = self.hand_names[slot - 1]
        where = notation.place_name(column, row)
        return {
            k.NO_SUCH_SLOT: f"{written!r} names slot {slot}, a hand has slots 1 to 3",
            k.OUTSIDE_BOARD: f"{written!r} puts {name} at {where}, outside the {self.rules.width} x {self.rules.height} board",
            k.OVERLAP: f"{written!r} puts {name} at {where}, onto a cell that is already filled",
            k.CONTINUE_NOT_ALLOWED: self._continue_text(),
            k.AFTER_END: f"{written!r} comes after the game was over: no piece in hand fitted anywhere",
            k.DEAL_EXHAUSTED: f"{written!r} needs more pieces than the challenge lists",
        }[self.status]

    def _continue_text(self) -> str:
        if self.continues == 0:
            return "'*' continues the game, and this mode has no continue"
        if self.st[k.ST_CONTINUES] >= self.continues:
            return f"'*' continues the game, and its {self.continues} continue(s) were used already"
        return "'*' continues the game, which was not over"

    @property
    def last_token(self) -> str:
        """The text of the token that ``step`` read last."""
        # Tokens hold no white space, so what precedes ``pos`` back to the token's first byte is at most four bytes.
        text = self.log[max(0, self.pos - 4) : self.pos].decode("ascii", "backslashreplace")
        if text.endswith("*"):
            return "*"
        return text[-4:] if len(text) == 4 and text[-3].isalpha() and text[-4].isdigit() else text[-3:]


def replay(rules: BlocksRules, deal: Deal, log: str, mode: str) -> Outcome:
    """Replay one log under ``rules`` in ``mode`` (a key of ``rules.continues``; KeyError otherwise)."""
    return Game(rules, deal, log.encode("utf-8", "surrogatepass"), mode).run()


def trace(game: Game) -> Iterator[Step]:
    """Play ``game`` token by token, yielding the state after each; the caller reads ``game.outcome()`` afterwards.

    Drawing helpers: ``cells`` are the placed cells as (row, column), ``placed`` the board before its lines are emptied.
    """
    turn_length = game.rules.turn_length
    placements = 0
    while True:
        before_rows, before_hand = list(game.rows), list(game.hand)
        if game.step() != k.APPLIED:
            return
        written = game.last_token
        st = game.st
        piece: str | None = None
        cells: tuple[tuple[int, int], ...] = ()
        turn = placements // turn_length + 1
        if written != notation.CONTINUE:
            _, slot, column, row, _ = k.next_token(written.encode(), 0, len(written))
            shape = game.rules.shapes[before_hand[slot - 1]]
            piece = shape.name
            cells = tuple((row + r, column + c) for r, c in shape.offsets)
            for r, c in cells:
                before_rows[r] |= 1 << c
            placements += 1
        yield Step(
            move=st[k.ST_MOVES] - 1, token=written, piece=piece, cells=cells, board=game.board,
            placed=notation.board_text(before_rows, game.rules.width), hand=game.hand_names, lines=st[k.ST_LINES],
            full_rows=tuple(r for r in range(game.rules.height) if st[k.ST_FULL_ROWS] >> r & 1),
            full_columns=tuple(c for c in range(game.rules.width) if st[k.ST_FULL_COLS] >> c & 1),
            turn=turn, streak=st[k.ST_STREAK], multiplier=st[k.ST_MULTIPLIER], gain=st[k.ST_GAIN],
            score=st[k.ST_SCORE], best_combo=st[k.ST_BEST],
        )  # fmt: skip
