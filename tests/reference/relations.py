"""What uploads owe to one another, the slow way: lists and loops, one rule after the other, no keys and no SQL.

Written from the rules alone.  An upload comes before another one when it was uploaded earlier, then when its game_id is smaller
(by bytes), then by whatever else it says: never by the file or day that it lies in, unless two uploads say the very same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Upload:
    """One upload: ``place`` is (day, file, line); ``log`` is the text of the moves without white space.

    ``dated`` is a game in its challenge's own mode and rules, which alone has attempts; ``long`` a log that is long enough to
    be a sign of anything.  In a game with a clock ``inputs`` are the inputs alone, and ``thinks`` some of the ticks between them.
    ``comes_out``: the replay gives the claims.
    """

    place: tuple[Any, ...]
    game_id: str
    player_id: str
    attempt: int
    log: str
    uploaded_at: int
    game: str = "blocks"
    mode: str = "daily"
    rules: str = "1.2.0"
    challenge: str = "2026-10-31"
    score: int = 0
    best_combo: int = 0
    final_board: str = "-"
    finished_at: int = 0
    started_at: int = 0
    player_kind: str = "human"
    nation: str | None = None
    platform: str = ""
    app_version: str = ""
    dated: bool = True
    long: bool = True
    level: int | None = None
    lines: int | None = None
    inputs: str | None = None
    thinks: tuple[int, ...] = ()
    comes_out: bool = False

    def is_same_text(self, other: Upload) -> bool:
        """The same player, challenge, attempt, log and claims, under the same mode and rules."""
        spelled = ("level", "lines", "final_board")
        return self._agrees(other) and all(getattr(self, name) == getattr(other, name) for name in spelled)

    def is_same_game(self, other: Upload) -> bool:
        """The same; where the replay gives the claims of both, however the board is written and whatever else is claimed."""
        return self.is_same_text(other) or (self.comes_out and other.comes_out and self._agrees(other))

    def _agrees(self, other: Upload) -> bool:
        names = ("game", "mode", "rules", "challenge", "player_id", "attempt", "log", "score", "best_combo")
        return all(getattr(self, name) == getattr(other, name) for name in names)


@dataclass
class Owed:
    """``copy_of`` is the game that an upload is a copy of; ``duplicate_of`` the game that has its attempt already.

    ``conflict`` is (different games under the id, their players, when the first was uploaded), ``copied`` (the game that had the
    log first, players who share it, and where the times were moved: how many were compared, how many are alike).
    """

    copy_of: str | None = None
    duplicate_of: str | None = None
    conflict: tuple[int, int, int] | None = None
    copied: tuple[str, int, tuple[int, int] | None] | None = None

    def __bool__(self) -> bool:
        return self != Owed()


@dataclass
class _State:
    upload: Upload
    owed: Owed = field(default_factory=Owed)


def relate(uploads: list[Upload], order: list[Upload]) -> dict[tuple[Any, ...], Owed]:
    """What each upload owes, by place; ``order`` are the same uploads, earliest first."""
    assert sorted(map(repr, uploads)) == sorted(map(repr, order))
    # Rules that were mended in between may give what they did not give before: what came out once, in the same words, came out.
    order = [replace(mine, comes_out=any(u.comes_out and u.is_same_text(mine) for u in order)) for mine in order]
    states = [_State(upload) for upload in order]
    for state in states:
        _conflict(state, [other.upload for other in states if other.upload.game_id == state.upload.game_id])
    for state in states:
        same = [other for other in states if other.upload.is_same_game(state.upload)]
        clean = [other for other in same if other.owed.conflict is None]
        # One game stands for all its uploads; where every upload of it is disputed, each of them is.
        if clean and clean[0] is not state:
            state.owed.copy_of = clean[0].upload.game_id
    for state in states:
        if state.owed.copy_of is not None:
            state.owed.conflict = None
            continue
        _attempt(state, order)
        _log(state, order)
    return {state.upload.place: state.owed for state in states}


def _conflict(state: _State, under_id: list[Upload]) -> None:
    """One game_id with different games: the first stands if they are one player's, none if they are several players'."""
    games: list[Upload] = []
    for upload in under_id:
        if not any(upload.is_same_game(game) for game in games):
            games.append(upload)
    if len(games) == 1:
        return
    players = len({upload.player_id for upload in under_id})
    if players > 1 or not state.upload.is_same_game(under_id[0]):
        state.owed.conflict = (len(games), players, min(upload.uploaded_at for upload in under_id))


def _attempt(state: _State, order: list[Upload]) -> None:
    """Different logs under one attempt: the first uploaded stands."""
    mine = state.upload
    if not mine.dated:
        return
    for upload in order:
        whose = (upload.game, upload.challenge, upload.player_id, upload.attempt)
        if upload.dated and whose == (mine.game, mine.challenge, mine.player_id, mine.attempt):
            if upload.log != mine.log:
                state.owed.duplicate_of = upload.game_id
            return


def alike(one: Upload, other: Upload) -> int:
    """How many times of thought of two logs differ by two ticks or less."""
    return sum(abs(a - b) <= 2 for a, b in zip(one.thinks, other.thinks, strict=True))


def is_same_log(one: Upload, other: Upload) -> bool:
    """The same text, or the same inputs with nine in ten of at least 24 times of thought the same but for two ticks."""
    if (one.game, one.challenge) != (other.game, other.challenge):
        return False
    if one.log == other.log:
        return True
    if one.inputs is None or one.inputs != other.inputs or len(one.thinks) < 24:
        return False
    return 10 * alike(one, other) >= 9 * len(one.thinks)


def _first(mine: Upload, order: list[Upload]) -> Upload:
    """The earliest upload of a log."""
    return next(u for u in order if u.long and is_same_log(mine, u))


def _log(state: _State, order: list[Upload]) -> None:
    """The same long log of one challenge from somebody else before; two AI players may be one program."""
    mine = state.upload
    if not mine.long:
        return
    first = _first(mine, order)
    if first.player_id == mine.player_id or (mine.player_kind, first.player_kind) == ("ai", "ai"):
        return
    # Who shares it: all whose log goes back to that first one, and those who have that very one.
    text = (first.game, first.challenge, first.log)
    long = [(u, _first(u, order)) for u in order if u.long]
    sharing = {u.player_id for u, root in long if text in ((root.game, root.challenge, root.log), (u.game, u.challenge, u.log))}
    moved = None if first.log == mine.log else (len(mine.thinks), alike(mine, first))
    state.owed.copied = (first.game_id, len(sharing), moved)
