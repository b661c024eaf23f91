"""What a simulation needs of each game: who plays which mode, for how long, with which bots, and how an upload writes it."""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, ClassVar, Protocol

from engine.tetcolor.notation import board_text
from replay import bots, tetcolor_bots, tetromino_bots
from replay.challenges import Challenge, ChallengeTable
from replay.errors import UsageError
from replay.players import AI, PADDED, SECOND, SPACED, ChallengeDay, Player, Upload
from replay.rulebook import Rulebook

CHUNK = 500
_NUMBER = re.compile(r"[0-9]+")


class Table(Protocol):
    """Where games of one deal are played."""

    def play(self, orders: Sequence[Any]) -> list[Any]:
        """Play the games."""


@dataclass(frozen=True)
class Scene:
    """A day of one game, and the reference data that say what else is played on it."""

    day: ChallengeDay
    challenges: ChallengeTable
    rulebook: Rulebook

    def table(self, challenge: Challenge, mode: str, version: str) -> Table | None:
        """The table for a challenge in a mode under one version of the rules; None where that version or mode is unknown."""
        rules: Any = self.rulebook.find(challenge.game, version)
        if rules is None or not rules.has_mode(mode):
            return None
        return PLAYS[challenge.game].table(rules, challenge, mode)


class GamePlay(ABC):
    """One game as it is simulated."""

    game: ClassVar[str]
    # Shares of the daily players by the number of attempts at the challenge.
    attempts: ClassVar[Sequence[int]] = (66, 21, 13)

    @abstractmethod
    def table(self, rules: Any, challenge: Challenge, mode: str) -> Table:
        """Where a challenge is played.  Raises UsageError where bots cannot play it."""

    @abstractmethod
    def side_games(self, scene: Scene) -> Iterator[tuple[float, Challenge, str, str]]:
        """(share of the day's uploads, challenge, mode, rules) of what is played beside the daily challenge."""

    @abstractmethod
    def habit(self, rng: random.Random, player: Player, rules: Any, mode: str, attempt: int) -> Any:
        """How long a player means to play, and with which freedoms."""

    @abstractmethod
    def order(self, seed: int, player: Player, habit: Any) -> Any:
        """The order to the bots for one game."""

    @abstractmethod
    def take(self, upload: Upload, played: Any) -> None:
        """Put a game that was played into its upload."""

    @abstractmethod
    def board_text(self, upload: Upload) -> str:
        """The board of an upload as its client writes it."""

    @abstractmethod
    def duration(self, rng: random.Random, upload: Upload) -> int:
        """Milliseconds from the start to the end of a game."""

    @abstractmethod
    def spaced(self, moves: str) -> str:
        """The log with a space between its tokens."""


class BlocksPlay(GamePlay):
    """The block puzzle."""

    game = "blocks"
    TRAINING, ARENA, PRACTICE, OLD_RULES, CONTINUED = 0.06, 0.03, 0.004, 0.004, 0.4

    def table(self, rules: Any, challenge: Challenge, mode: str) -> bots.Table:
        """Every mode is played alike but for the continues."""
        return bots.Table(rules, challenge.deal(rules), challenge.challenge)

    def side_games(self, scene: Scene) -> Iterator[tuple[float, Challenge, str, str]]:
        """Training and arena, the daily challenge for practice, and clients with old rules, as far as there are such."""
        daily, rules = scene.day.challenge, scene.day.rules
        for mode, share in (("training", self.TRAINING), ("arena", self.ARENA)):
            for found in scene.challenges.rows.values():
                fits = found.game == self.game and found.date is None and found.mode == mode and not found.pieces
                if fits and scene.rulebook.find(self.game, found.rules):
                    yield share, found, mode, found.rules
                    break
        if "training" in rules.continues and daily.mode != "training":
            yield self.PRACTICE, daily, "training", daily.rules
        for version in scene.rulebook.versions(self.game):
            other: Any = scene.rulebook.find(self.game, version)
            if version != daily.rules and other and other.shapes == rules.shapes and daily.mode in other.continues:
                yield self.OLD_RULES, daily, daily.mode, version
                break

    def habit(self, rng: random.Random, player: Player, rules: Any, mode: str, attempt: int) -> tuple[int, int]:
        """Continues that will be used, and placements before walking away."""
        continues = rules.continues[mode] if rng.random() < self.CONTINUED else 0
        return continues, bots.quit_after(rng, player.skill)

    def order(self, seed: int, player: Player, habit: Any) -> bots.Order:
        """The order to the bots."""
        return bots.Order(seed, player.skill, *habit)

    def take(self, upload: Upload, played: bots.Played) -> None:
        """The claims are the bots' bookkeeping."""
        upload.moves, upload.tokens, upload.score, upload.best_combo, upload.board, upload.over = played

    def board_text(self, upload: Upload) -> str:
        """Canonical, or with the empty rows at the top."""
        return bots.board_text(upload.board, upload.player.app_version == PADDED)

    def duration(self, rng: random.Random, upload: Upload) -> int:
        """A human pace by skill."""
        pace = bots.SKILLS[upload.player.skill].pace_ms * rng.lognormvariate(0.0, 0.35)
        return SECOND + int(max(400.0, pace) * upload.tokens)

    def spaced(self, moves: str) -> str:
        """Tokens are three signs, or a star."""
        return " ".join(re.findall(r"\*|...", moves))


class TetrominoPlay(GamePlay):
    """Tetromino Arcade."""

    game = "tetromino"
    # Games of the daily challenge in other modes, and of challenges that are not daily.
    OTHER_MODES: ClassVar[dict[str, float]] = {"zen": 0.02, "battle": 0.02, "marathon/3": 0.01, "sprint": 0.01, "beginner": 0.01}
    TRAINING = 0.06
    # How many of those who know a deal open with what empties the board again.
    BOOK = 0.4
    # A level that is reached, and lines, are not claimed by some clients: these leave the fields out, those send null.
    UNCLAIMED: ClassVar[dict[str, str]] = {PADDED: "absent", SPACED: "null"}

    def table(self, rules: Any, challenge: Challenge, mode: str) -> tetromino_bots.Table:
        """All modes have the same deal."""
        return tetromino_bots.Table(rules, challenge.deal(rules, mode), mode)

    def side_games(self, scene: Scene) -> Iterator[tuple[float, Challenge, str, str]]:
        """The training challenges, and the daily challenge in modes other than its own."""
        daily, rules = scene.day.challenge, scene.day.rules
        training = [c for c in scene.challenges.rows.values() if c.game == self.game and c.date is None]
        known = [c for c in training if scene.rulebook.find(self.game, c.rules)]
        for found in known:
            yield self.TRAINING / len(known), found, found.mode, found.rules
        for mode, share in self.OTHER_MODES.items():
            if rules.has_mode(mode) and mode != daily.mode:
                yield share, daily, mode, daily.rules

    def habit(self, rng: random.Random, player: Player, rules: Any, mode: str, attempt: int) -> tuple[int, bool, bool]:
        """Pieces before the player has had enough, what is done with the rest, and whether the deal's opening is played."""
        stop_at, give_up = tetromino_bots.stop_after(rng, mode)
        # Only who has met the deal before knows what it holds.
        skilled = tetromino_bots.SKILLS[player.skill].keep > 0
        return stop_at, give_up, skilled and (attempt > 1 or player.skill == AI) and rng.random() < self.BOOK

    def order(self, seed: int, player: Player, habit: Any) -> tetromino_bots.Order:
        """The order to the bots."""
        return tetromino_bots.Order(seed, player.skill, *habit)

    def take(self, upload: Upload, played: tetromino_bots.Played) -> None:
        """The claims are the engine's state at the end of the bot's play."""
        upload.moves, upload.tokens, upload.score, upload.best_combo = played[:4]
        upload.level, upload.lines, upload.board, upload.over = played[4:8]
        upload.unclaimed = self.UNCLAIMED.get(upload.player.app_version, "")
        if upload.unclaimed:
            upload.level = upload.lines = None

    def board_text(self, upload: Upload) -> str:
        """Canonical, or with the empty rows at the top."""
        text: str = upload.board
        if upload.player.app_version != PADDED:
            return text
        rows = [] if text == "-" else text.split("/")
        return "/".join(["10"] * (40 - len(rows)) + rows)

    def duration(self, rng: random.Random, upload: Upload) -> int:
        """The game's own clock, a little longer on a busy phone, and a moment before and after."""
        return SECOND + int(ticks_of(upload.moves) * SECOND / 60 * rng.uniform(1.0, 1.02))

    def spaced(self, moves: str) -> str:
        """A token is a number and a letter; at the end there may be a number alone."""
        return " ".join(re.findall(r"[0-9]*[a-z]|[0-9]+", moves))


class TetcolorPlay(GamePlay):
    """Tetcolor Duo, Tetcolor, Columns and Retris."""

    game = "tetcolor"
    # Selections that are played beside the daily one, and their share; other days have other ones, until all had their turn.
    OTHER_MODES, OTHER_SHARE, TRAINING = 12, 0.015, 0.04

    def table(self, rules: Any, challenge: Challenge, mode: str) -> tetcolor_bots.Table:
        """A deal belongs to a mode."""
        return tetcolor_bots.Table(rules, challenge.deal(rules, mode), mode)

    def side_games(self, scene: Scene) -> Iterator[tuple[float, Challenge, str, str]]:
        """The training challenges, and the daily challenge in other selections: as many each day, one after the other."""
        daily, rules = scene.day.challenge, scene.day.rules
        for found in scene.challenges.rows.values():
            if found.game == self.game and found.date is None and scene.rulebook.find(self.game, found.rules):
                yield self.TRAINING, found, found.mode, found.rules
        names, day = list(rules.mode_names), daily.date
        assert day is not None
        # A step that has no factor in common with their number meets them all.
        step = next(step for step in range(len(names) // self.OTHER_MODES, len(names) + 2) if gcd(step, len(names)) == 1)
        for number in range(self.OTHER_MODES):
            mode = names[(day.toordinal() * self.OTHER_MODES + number) * step % len(names)]
            if mode != daily.mode:
                yield self.OTHER_SHARE, daily, mode, daily.rules

    def habit(self, rng: random.Random, player: Player, rules: Any, mode: str, attempt: int) -> tuple[int, bool]:
        """Pieces before the player has had enough, and what is done with the rest."""
        return tetcolor_bots.stop_after(rng)

    def order(self, seed: int, player: Player, habit: Any) -> tetcolor_bots.Order:
        """The order to the bots."""
        return tetcolor_bots.Order(seed, player.skill, *habit)

    def take(self, upload: Upload, played: tetcolor_bots.Played) -> None:
        """The claims are the engine's state at the end of the bot's play; nothing claims a level."""
        upload.moves, upload.tokens, upload.score, upload.best_combo = played[:4]
        upload.board, upload.over = played.board, played.finished

    def board_text(self, upload: Upload) -> str:
        """Canonical, or with the empty rows at the top."""
        text = board_text(upload.board)
        if upload.player.app_version != PADDED:
            return text
        rows = [] if text == "-" else text.split("/")
        return "/".join([str(len(upload.board[0]))] * (len(upload.board) - len(rows)) + rows)

    def duration(self, rng: random.Random, upload: Upload) -> int:
        """The game's own clock, a little longer on a busy phone, and a moment before and after."""
        return SECOND + int(ticks_of(upload.moves) * SECOND / 60 * rng.uniform(1.0, 1.02))

    def spaced(self, moves: str) -> str:
        """A token is a number and a letter; at the end there may be a number alone."""
        return " ".join(re.findall(r"[0-9]*[a-z]|[0-9]+", moves))


def ticks_of(moves: str) -> int:
    """The time that a log covers, in ticks: all its numbers."""
    return sum(map(int, _NUMBER.findall(moves)))


PLAYS: dict[str, GamePlay] = {play.game: play for play in (BlocksPlay(), TetrominoPlay(), TetcolorPlay())}


def play_of(game: str) -> GamePlay:
    """What the simulation knows of a game.  Raises UsageError for one without bots."""
    if game not in PLAYS:
        raise UsageError(f"simulate: game {game!r} has no bots, it must be one of {', '.join(PLAYS)}")
    return PLAYS[game]
