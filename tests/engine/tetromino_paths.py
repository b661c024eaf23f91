"""From placements to inputs: a search over shifts, rotations, soft-drop cells and falling for the way to a given place."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from heapq import heappop, heappush

from tests.reference import tetromino as twin

# Falling by waiting is dear, so that a way with few waits is found first.
COSTS = {"l": 1, "r": 1, "x": 1, "z": 1, "d": 1, "wait": 8}


@dataclass(frozen=True)
class Placement:
    """Where a piece came to rest: its cells, cells gone by soft drop and by the hard drop at the end, "full" for a T-spin."""

    piece: str
    cells: frozenset[twin.Cell]
    soft: int
    hard: int
    spin: str | None


class Unreachable(Exception):
    """No way leads to the place."""


def landing(game: twin.Game, piece: twin.Piece) -> int:
    """How many cells the piece can go down."""
    cells = 0
    while game.free(piece.cells(0, -cells - 1)):
        cells += 1
    return cells


def moved(game: twin.Game, piece: twin.Piece, move: str) -> twin.Piece:
    """The piece after one move on this board; lock timer and time are left out of account."""
    after = copy(piece)
    scene = copy(game)
    scene.piece = after
    if move == "wait":
        scene.fall()
    else:
        scene.apply(move)
    return after


def arrived(game: twin.Game, piece: twin.Piece, soft: int, goal: Placement) -> bool:
    """Whether a hard drop from here (of no cell where none is listed) ends at the goal."""
    if soft != goal.soft or landing(game, piece) != goal.hard:
        return False
    if frozenset(piece.cells(0, -goal.hard)) != goal.cells:
        return False
    scene, there = copy(game), copy(piece)
    if goal.hard:
        there.y, there.last_action = there.y - goal.hard, "hard drop"
    scene.piece = there
    return scene.spin() == goal.spin


def find_way(game: twin.Game, goal: Placement) -> list[str]:
    """The moves (letters, and "wait" for a row of falling) that bring the piece in play to its goal, the hard drop left out."""
    queue: list[tuple[int, int, int, twin.Piece, tuple]] = [(0, 0, 0, game.piece, ())]
    seen = set()
    number = 0
    while queue:
        cost, _, soft, piece, way = heappop(queue)
        state = (piece.x, piece.y, piece.turn, piece.last_action == "rotation", soft)
        if state in seen:
            continue
        seen.add(state)
        if arrived(game, piece, soft, goal):
            return unrolled(way)
        for move, price in COSTS.items():
            after = moved(game, piece, move)
            if (after.x, after.y, after.turn) == state[:3]:
                continue
            number += 1
            spent = soft + (move == "d")
            if spent <= goal.soft:
                heappush(queue, (cost + price, number, spent, after, (way, move)))
    raise Unreachable(f"no way to {goal} on {twin.write_board(game.board)}")


def unrolled(way: tuple) -> list[str]:
    moves: list[str] = []
    while way:
        way, move = way
        moves.append(move)
    return moves[::-1]


def write_inputs(game: twin.Game, moves: list[str]) -> str:
    """The moves as a log, applied to ``game`` on the way: a wait lasts until the piece has gone down a row."""
    log, ticks = "", 0
    for move in moves:
        if move == "wait":
            height = game.piece.y
            while game.piece.y == height:
                game.pass_time(1)
                ticks += 1
        else:
            log += f"{ticks or ''}{move}"
            ticks = 0
            game.apply(move)
    # Every way ends with a hard drop, so that no time is left over.
    assert ticks == 0
    return log


def inputs_of(game: twin.Game, placements: list[Placement]) -> Iterator[str]:
    """The log, placement by placement; ``game`` is played along."""
    for goal in placements:
        assert game.piece.name == goal.piece, f"{game.piece.name} is in play, the listing has {goal.piece}"
        yield write_inputs(game, [*find_way(game, goal), "h"])
