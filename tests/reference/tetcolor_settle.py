"""The field of Tetcolor, slowly: blocks as text, boards as text, and the settle pass by pass, written from the rules alone.

Part of the slow twin (tests.reference.tetcolor).  A place is ``(row, column)``, from the top and from the left; a block is written
as on a board: ``b``, ``cM``, ``aS*``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

Place = tuple[int, int]
Board = dict[Place, str]

COLOURS, BOMBS = "abcde", "NHVLM"
SIZES = {"duo": (10, 20), "tetcolor": (8, 16), "columns": (6, 13), "retris": (10, 20)}
MATCHES_RUNS, CLEARS_ROWS = {"duo", "tetcolor", "columns"}, {"duo", "retris"}
ROW_AWARDS = {1: 1, 2: 4, 3: 12, 4: 24}

# Blocks as text.


def colour(block: str) -> str:
    return block[0]


def special(block: str) -> str:
    return block.rstrip("*")[1:]


def iced(block: str) -> bool:
    return block.endswith("*")


def is_bomb(block: str) -> bool:
    return special(block) != "" and special(block) in BOMBS


def read_board(text: str, family: str) -> Board | None:
    """The blocks that a board text means, None when it cannot be read."""
    width, height = SIZES[family]
    rows = [] if text == "-" else text.split("/")
    if len(rows) > height:
        return None
    board = {}
    for r, row in enumerate(rows, start=height - len(rows)):
        c = 0
        for part in re.findall(r"[0-9]+|[a-e][NHVLMAS]?\*?|.", row, re.S):
            if part.isascii() and part.isdigit():
                c += int(part.lstrip("0")[:4] or "0")
            elif part[0] in COLOURS:
                board[r, c] = part
                c += 1
            else:
                return None
        if c != width:
            return None
    return board


def write_board(board: Board, family: str) -> str:
    """The canonical text."""
    if not board:
        return "-"
    width, height = SIZES[family]
    rows = []
    for r in range(min(r for r, _ in board), height):
        row = "".join(board.get((r, c), ".") for c in range(width))
        rows.append(re.sub(r"\.+", lambda gap: str(len(gap[0])), row))
    return "/".join(rows)


# Matches, bombs and the collapse.


def triples(board: Board, place: Place) -> Iterator[list[Place]]:
    """The four runs of three that begin at a place, those of one colour; longer runs are several of them."""
    r, c = place
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        line = [(r + n * down, c + n * right) for n in range(3)]
        if all(at in board for at in line) and len({colour(board[at]) for at in line}) == 1:
            yield line


def run_places(board: Board) -> set[Place]:
    return {at for place in board for line in triples(board, place) for at in line}


def full_rows(board: Board, width: int) -> set[int]:
    filled = Counter(r for r, _ in board)
    return {r for r, count in filled.items() if count == width}


def reached(board: Board, place: Place, bomb: str) -> set[Place]:
    """The occupied places that one bomb reaches from where it was."""
    r, c = place
    kind = special(bomb)
    found = set()
    for at, block in board.items():
        near = abs(at[0] - r) <= 1 and abs(at[1] - c) <= 1
        hits = {"N": near, "H": at[0] == r, "V": at[1] == c, "L": colour(block) == colour(bomb)}
        if any(hits.values()) if kind == "M" else hits[kind]:
            found.add(at)
    return found


@dataclass
class Settle:
    """One settle, pass by pass, on ``board``, which it changes."""

    board: Board
    family: str
    points: int = 0
    passes: int = 0
    generations: int = 0
    multiplier: int = 1
    # What happened, so that a run of many games can show that it met everything.
    events: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        while self.one_pass():
            pass

    def one_pass(self) -> bool:
        """A pass; True when another one follows."""
        runs = run_places(self.board) if self.family in MATCHES_RUNS else set()
        rows = full_rows(self.board, SIZES[self.family][0]) if self.family in CLEARS_ROWS else set()
        struck = runs | {at for at in self.board if at[0] in rows}
        if not struck:
            return False
        self.events["runs and rows in one pass"] += bool(runs) and bool(rows)
        destroyed, thawed = self.strike(struck, stones_stay=True)
        self.score_ordinary(destroyed, rows)
        all_destroyed, all_thawed = dict(destroyed), set(thawed)
        going_off = triggers(destroyed)
        while going_off:
            self.generations += 1
            destroyed, thawed = self.strike(self.hit_by(going_off), stones_stay=False)
            self.points += len(destroyed)
            self.note_generation(going_off, destroyed, thawed, all_thawed)
            all_destroyed |= destroyed
            all_thawed |= thawed
            going_off = triggers(destroyed)
        # A block that was thawed and then destroyed anchors nothing: it is not there any more.
        self.collapse(set(all_destroyed), all_thawed & set(self.board))
        if all_destroyed:
            self.multiplier *= 2
            self.passes += 1
        self.events["pass that only thawed"] += bool(all_thawed and not all_destroyed)
        self.events["pass of stones alone"] += not all_thawed and not all_destroyed
        return bool(all_destroyed or all_thawed)

    def strike(self, struck: set[Place], stones_stay: bool) -> tuple[Board, set[Place]]:
        """Strike each of these blocks once: (what was destroyed, where ice was removed)."""
        destroyed, thawed = {}, set()
        for at in sorted(struck):
            block = self.board[at]
            if iced(block):
                self.board[at] = block.rstrip("*")
                thawed.add(at)
            elif special(block) == "S" and stones_stay:
                self.events["stone stayed"] += 1
            else:
                destroyed[at] = self.board.pop(at)
        return destroyed, thawed

    def score_ordinary(self, destroyed: Board, rows: set[int]) -> None:
        count = len(destroyed)
        if self.family == "retris":
            lines = min(4, len({r for r, _ in destroyed} & rows))
            self.points += ROW_AWARDS.get(lines, 0)
            self.events[f"rows {lines}"] += 1
        else:
            self.points += count * (count + 1) // 2 * self.multiplier
            self.events[f"multiplier {self.multiplier}"] += count > 0

    def hit_by(self, going_off: Board) -> set[Place]:
        """All that these bombs reach on the board as it is now; an Activator among them reaches every bomb."""
        hit = set()
        for at, block in going_off.items():
            if special(block) == "A":
                hit |= {place for place, other in self.board.items() if is_bomb(other)}
            else:
                hit |= reached(self.board, at, block)
        return hit

    def note_generation(self, going_off: Board, destroyed: Board, thawed: set[Place], thawed_before: set[Place]) -> None:
        kinds = Counter(special(block) for block in going_off.values())
        for kind in kinds:
            self.events[f"went off {kind}"] += 1
        self.events["two Activators together"] += kinds["A"] > 1
        self.events["generation that reached nothing"] += not destroyed and not thawed
        self.events["stone destroyed"] += any(special(block) == "S" for block in destroyed.values())
        self.events["ice removed by a bomb"] += bool(thawed)
        self.events["thawed and destroyed in one pass"] += any(at in thawed_before for at in destroyed)

    def collapse(self, destroyed: set[Place], thawed: set[Place]) -> None:
        """Let the columns fall, segment by segment; stones and what was thawed in this pass stand still."""
        width, height = SIZES[self.family]
        anchors = thawed | {at for at, block in self.board.items() if special(block) == "S"}
        fallen = {at: self.board[at] for at in anchors}
        for c in range(width):
            # From the bottom up; ``floor`` is the row of the next anchor below, or the one below the board.
            floor = free = height
            for r in range(height - 1, -1, -1):
                if (r, c) in anchors:
                    floor = free = r
                elif (r, c) in self.board:
                    free -= 1
                    gone_below = sum((below, c) in destroyed for below in range(r + 1, floor))
                    to = r + gone_below if self.family == "retris" else free
                    self.events["fell onto an anchor"] += floor < height and to == floor - 1 and to != r
                    fallen[to, c] = self.board[r, c]
        assert len(fallen) == len(self.board), "two blocks fell to one place"
        self.board.clear()
        self.board.update(fallen)


def triggers(destroyed: Board) -> Board:
    """The bombs and Activators among what was destroyed."""
    return {at: block for at, block in destroyed.items() if is_bomb(block) or special(block) == "A"}
