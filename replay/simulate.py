"""Days of uploads, simulated: real games by bots of many strengths, retries, late uploads and forgeries, with the truth beside.

``<lake>/logs/day=YYYY-MM-DD/*.ndjson[.gz|.zst]`` is what the clients sent, ``<lake>/truth/day=YYYY-MM-DD/truth.ndjson`` what
each line is and what a right verification says about it.  Nothing under ``logs`` gives the truth away.

Everything is drawn from ``random.Random`` streams named after ``rng_seed`` and the day (the bots' luck from SplitMix64), so
with one Python the same seed writes the same bytes.  A day's games do not depend on which other days are simulated, only
where its late uploads land does: a challenge closes 12 hours after its UTC day; what comes later lands in the day that was
open then, or with its own day when that one is not simulated.
"""

from __future__ import annotations

import gzip
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache
from json import dumps
from pathlib import Path
from typing import Any

from replay.challenges import Challenge, ChallengeTable
from replay.errors import UsageError
from replay.forgeries import Forger
from replay.players import (
    DAY,
    EXTRA,
    HOUR,
    MINUTE,
    REGIONS,
    SECOND,
    SKILL_SHARES,
    SPACED,
    ChallengeDay,
    Player,
    Upload,
    make_players,
)
from replay.plays import CHUNK, PLAYS, Scene, Table, play_of
from replay.rulebook import Rulebook

# The game that a day's number of lines is counted in; the others come beside it.
GAME = "blocks"
FORMATS = ("ndjson", "ndjson.gz", "ndjson.zst")
ATTEMPTS = (1, 2, 3)
# Shares of a day's uploads.
RETRIES, LATE, SKEWED, ELSEWHEN = 0.01, 0.01, 0.02, 0.06
SKILL_NAMES = tuple(SKILL_SHARES)


@dataclass
class SkillFigures:
    """Honest games of one skill (malformed lines and forgeries left out): how many, their moves and points together."""

    games: int = 0
    moves: int = 0
    score: int = 0


@dataclass
class SimulationSummary:
    """What was written.  ``records`` counts lines, ``kinds`` lines by truth kind, ``games`` the same game by game, ``moves`` the
    tokens of all lines; ``skills`` is by game and skill, ``files`` and ``truth_files`` are in writing order."""

    days: list[date]
    records: int = 0
    moves: int = 0
    players: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    games: dict[str, Counter[str]] = field(default_factory=dict)
    variants: Counter[str] = field(default_factory=Counter)
    skills: dict[tuple[str, str], SkillFigures] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    truth_files: list[Path] = field(default_factory=list)


@dataclass
class _Game:
    """A game still to be played: its upload, and the order to the bots."""

    upload: Upload
    order: Any


@dataclass
class _Plan:
    """One game's day before it is played: sessions are one player's games of one kind, in the order in which they are played."""

    game: str
    lines: int
    day: ChallengeDay
    sessions: list[list[_Game]]
    tables: dict[tuple[str, str, str], Table]
    results: list[tuple[list[_Game], Future[list[Any]]]] = field(default_factory=list)


def simulate(
    lake: Path,
    days: Sequence[date],
    games_per_day: int,
    *,
    challenges: ChallengeTable,
    rulebook: Rulebook,
    rng_seed: int,
    forged_share: float = 0.02,
    others: Mapping[str, float] | None = None,
    progress: Callable[[int], None] | None = None,
    formats: Sequence[str] = FORMATS,
    threads: int = 2,
) -> SimulationSummary:
    """Write ``games_per_day`` uploaded lines for the block puzzle's challenge of each day, with their truth.

    ``others`` names games whose lines come beside them, with their share of ``games_per_day`` (0 to 1); the block puzzle's lines
    are the same with and without them.  A game that has no challenge on a day is not played on it.  The lines of each game
    include retries (1 %) and the ``forged_share`` (0 to 0.5) of forgeries and malformed lines, every kind in turn: a share of
    0.02 holds each kind of the block puzzle from about 800 lines a day on, each variant from about 15,000.  ``formats`` (of
    FORMATS) are used in turn over a day's files.  ``progress`` is told how many more lines are ready.

    Raises UsageError when the call makes no sense, a day has no challenge of the block puzzle that bots can play, or a day's
    folder in the lake holds files already: what has landed is never changed.
    """
    wanted, others = sorted(set(days)), dict(others or {})
    _check_call(lake, wanted, games_per_day, forged_share, formats, others)
    report = progress or (lambda count: None)
    players = make_players(rng_seed, games_per_day + 8)
    summary = SimulationSummary(wanted)
    pending: dict[date, list[Upload]] = {day: [] for day in wanted}
    met: set[str] = set()

    def plans_of(day: date, pool: ThreadPoolExecutor) -> list[_Plan]:
        counts = {GAME: games_per_day} | {game: round(share * games_per_day) for game, share in others.items()}
        planners = [
            _Planner(Scene(_challenge_day(found, rulebook), challenges, rulebook), _rng(rng_seed, day, game, "plan"))
            for game in counts
            if (found := _challenge(challenges, game, day)) and counts[game]
        ]
        return [_start(planner.plan_day(counts[planner.game], players), pool) for planner in planners]

    with ThreadPoolExecutor(threads) as pool:
        # The next day is played while this one is written: playing needs no interpreter.
        plans = _ahead(plans_of(day, pool) for day in wanted)
        for day, todays in zip(wanted, plans, strict=True):
            for plan in todays:
                uploads = _finish(plan, rng_seed, day, report)
                forger = Forger(_rng(rng_seed, day, plan.game, "forgers"), plan.day, uploads, challenges, rulebook)
                forger.forge(round(forged_share * plan.lines))
                retries = _retry(forger, plan.lines - len(uploads))
                report(len(retries))
                for upload in uploads + retries:
                    pending[_landing(upload, day, plan.day, wanted)].append(upload)
                    met.add(upload.player.player_id)
            _write_day(lake, day, pending.pop(day), formats, summary)
    summary.players = len(met)
    return summary


def check_shares(forged_share: float, others: Mapping[str, float]) -> None:
    """Raises UsageError for shares of forgeries or of other games that cannot be."""
    if not 0 <= forged_share <= 0.5:
        raise UsageError(f"simulate: forged_share is {forged_share}, it must lie from 0 to 0.5")
    for game, share in others.items():
        play_of(game)
        if game == GAME or not 0 <= share <= 1:
            raise UsageError(f"simulate: {game} was given the share {share}, it must be another game than {GAME} and from 0 to 1")


def check_challenges(challenges: ChallengeTable, days: Sequence[date]) -> None:
    """Raises UsageError for a day without a challenge of the block puzzle."""
    for day in days:
        _challenge(challenges, GAME, day)


def _check_call(
    lake: Path, days: list[date], games_per_day: int, forged_share: float, formats: Sequence[str], others: Mapping[str, float]
) -> None:  # fmt: skip
    if not days or games_per_day < 1:
        raise UsageError(f"simulate: {len(days)} days of {games_per_day} games were asked for, ask for at least one of one")
    check_shares(forged_share, others)
    if not formats or set(formats) - set(FORMATS):
        raise UsageError(f"simulate: formats are {', '.join(formats) or 'none'}, they must be of {', '.join(FORMATS)}")
    for day in days:
        folder = lake / "logs" / f"day={day}"
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(f"{folder}: files have landed here already and are never changed, name another lake or another day")


def _ahead(plans: Iterator[list[_Plan]]) -> Iterator[list[_Plan]]:
    """The same plans, each handed out after the next one was begun."""
    held = next(plans)
    for plan in plans:
        yield held
        held = plan
    yield held


def _rng(rng_seed: int, day: date, game: str, purpose: str) -> random.Random:
    """One stream of luck; no game's streams depend on another game's."""
    return random.Random(f"{rng_seed}/{day}/{purpose}" if game == GAME else f"{rng_seed}/{day}/{game}/{purpose}")


# Who plays what.


def _challenge(challenges: ChallengeTable, game: str, day: date) -> Challenge | None:
    challenge = challenges.find(game, day.isoformat())
    if challenge is None and game == GAME:
        raise UsageError(f"simulate: the challenge table has no {GAME} challenge for {day}, add a row or name another day")
    return challenge


def _challenge_day(challenge: Challenge, rulebook: Rulebook) -> ChallengeDay:
    day, rules = challenge.date, rulebook.find(challenge.game, challenge.rules)
    assert day is not None
    if rules is None:
        raise UsageError(f"simulate: challenge {day} names rules {challenge.rules}, and no rules file describes them")
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * SECOND
    closes = midnight + DAY + 12 * HOUR
    return ChallengeDay(challenge, rules, challenge.deal(rules), midnight - 14 * HOUR, closes, closes + 3 * DAY)


class _Planner:
    """Draws the sessions of one game's day."""

    def __init__(self, scene: Scene, rng: random.Random) -> None:
        self.scene, self.rng = scene, rng
        self.game = scene.day.challenge.game
        self.play = play_of(self.game)

    def plan_day(self, lines: int, players: list[Player]) -> _Plan:
        """Who plays what: the challenge mostly, and some of what is played beside it."""
        challenge = self.scene.day.challenge
        self.plan = _Plan(self.game, lines, self.scene.day, [], {})
        self.session_table(challenge, challenge.mode, challenge.rules)
        left = lines - round(RETRIES * lines)
        for share, found, mode, version in self.play.side_games(self.scene):
            self.session_table(found, mode, version)
            for player in self.rng.sample(players, round(share * lines)):
                self.session(player, found, mode, version, 1)
                left -= 1
        for player in self.rng.sample(players, len(players)):
            if left == 0:
                break
            games = min(left, self.rng.choices(ATTEMPTS, self.play.attempts)[0])
            self.session(player, challenge, challenge.mode, challenge.rules, games)
            left -= games
        return self.plan

    def session_table(self, challenge: Challenge, mode: str, version: str) -> None:
        """Set up the table for a challenge, once."""
        key = (challenge.challenge, version, mode)
        if key not in self.plan.tables:
            table = self.scene.table(challenge, mode, version)
            assert table is not None, key
            self.plan.tables[key] = table

    def session(self, player: Player, challenge: Challenge, mode: str, version: str, games: int) -> None:
        """One player's games in a row, attempts 1 to ``games``."""
        rules = self.scene.rulebook.find(self.game, version)
        daily = self.scene.day.challenge
        own = challenge == daily and mode == challenge.mode and version == challenge.rules
        session: list[_Game] = []
        for attempt in range(1, games + 1):
            habit = self.play.habit(self.rng, player, rules, mode, attempt)
            upload = Upload(
                game_id=f"g{self.rng.getrandbits(64):016x}", game=self.game, mode=mode, rules=version,
                challenge=challenge.challenge, player=player, attempt=attempt, own=own, region=player.region,
                spaced=player.app_version == SPACED,
            )  # fmt: skip
            session.append(_Game(upload, self.play.order(self.rng.getrandbits(64), player, habit)))
        self.plan.sessions.append(session)


def _start(plan: _Plan, pool: ThreadPoolExecutor) -> _Plan:
    """Hand a day's games to the pool, in chunks of one deal each."""
    groups: dict[tuple[str, str, str], list[_Game]] = {key: [] for key in plan.tables}
    for session in plan.sessions:
        for game in session:
            groups[game.upload.challenge, game.upload.rules, game.upload.mode].append(game)
    for key, games in groups.items():
        for first in range(0, len(games), CHUNK):
            chunk = games[first : first + CHUNK]
            plan.results.append((chunk, pool.submit(plan.tables[key].play, [game.order for game in chunk])))
    return plan


# When.


def _finish(plan: _Plan, rng_seed: int, day: date, report: Callable[[int], None]) -> list[Upload]:
    """The honest uploads of a day: what was played, and when."""
    play = play_of(plan.game)
    for chunk, future in plan.results:
        for game, played in zip(chunk, future.result(), strict=True):
            u = game.upload
            play.take(u, played)
            u.final_board = play.board_text(u)
            if not u.over:
                u.kind, u.suspicions = "unfinished", ["unfinished"]
        report(len(chunk))
    rng = _rng(rng_seed, day, plan.game, "clock")
    for session in plan.sessions:
        _clock(rng, [game.upload for game in session], plan.day)
    return [game.upload for session in plan.sessions for game in session]


def _clock(rng: random.Random, session: list[Upload], day: ChallengeDay) -> None:
    """Give a session its times: mostly in the morning, at noon or in the evening of the player's own day, at a human pace."""
    player = session[0].player
    if rng.random() < ELSEWHEN:
        now = rng.randrange(day.opens, day.closes)
    else:
        peak = rng.choices((7.5, 12.5, 20.0), (3, 3, 5))[0]
        local = int(rng.gauss(peak, 2.0) * HOUR) % DAY
        now = max(day.opens, day.closes - 36 * HOUR + local - player.offset_ms)
    for upload in session:
        upload.started = now
        upload.finished = now + PLAYS[upload.game].duration(rng, upload)
        now = upload.finished + SECOND + min(4 * HOUR, int(rng.lognormvariate(1.8, 1.2) * MINUTE))
    # A session that would begin a game after the challenge closed was played earlier.
    over = session[-1].started - (day.closes - MINUTE)
    for upload in session:
        if over > 0:
            upload.started, upload.finished = upload.started - over, upload.finished - over
        upload.uploaded = _uploaded(rng, upload, day)


def _uploaded(rng: random.Random, upload: Upload, day: ChallengeDay) -> int:
    """Mostly seconds after the game, sometimes days later, sometimes before it by the server's clock."""
    kind = rng.random()
    if kind < LATE:
        return max(upload.finished, rng.randrange(day.closes, day.deadline))
    if kind < LATE + SKEWED:
        return upload.finished - rng.randrange(1, 5 * MINUTE)
    return upload.finished + min(HOUR, int(rng.lognormvariate(1.0, 1.0) * SECOND))


def _retry(forger: Forger, count: int) -> list[Upload]:
    """The same content uploaded again, later: under its own game_id, a new one, or with white space in the log."""
    rng = forger.rng
    out: list[Upload] = []
    while len(out) < count:
        first = forger.take(lambda f, u: True)
        if first is None:
            raise UsageError(f"simulate: too few honest games for {count} retries, ask for more games a day or fewer forgeries")
        how = rng.choice(("same_id", "new_id", "spaced"))
        next_night = rng.random() < 0.15
        after = forger.day.closes + rng.randrange(2 * DAY) if next_night else first.uploaded + rng.randrange(SECOND, HOUR)
        out.append(
            Upload(
                game_id=first.game_id if how == "same_id" else f"g{rng.getrandbits(64):016x}", game=first.game,
                mode=first.mode, rules=first.rules, challenge=first.challenge, player=first.player, attempt=first.attempt,
                started=first.started, finished=first.finished, uploaded=after, moves=first.moves, tokens=first.tokens,
                score=first.score, best_combo=first.best_combo, board=first.board, over=first.over,
                level=first.level, lines=first.lines, unclaimed=first.unclaimed, final_board=first.final_board,
                spaced=first.spaced or how == "spaced", own=first.own,
                # Another collector may have taken the retry.
                region=rng.choice((first.region, *REGIONS)), kind="copy", variant=how, verdict="copy",
            )
        )  # fmt: skip
    return out


# Writing.


def _landing(upload: Upload, own: date, day: ChallengeDay, days: list[date]) -> date:
    """The day in whose folder an upload lands (the module's first lines say which)."""
    late = max(0, (upload.uploaded - day.closes) // DAY + 1)
    lands = date.fromordinal(own.toordinal() + late)
    return lands if lands in days else own


def _write_day(lake: Path, day: date, uploads: list[Upload], formats: Sequence[str], summary: SimulationSummary) -> None:
    """Write a day's files, one for each collector and platform, lines in the order of arrival, and the truth."""
    files: dict[str, list[Upload]] = {}
    for upload in sorted(uploads, key=lambda u: (u.uploaded, u.game_id)):
        files.setdefault(f"{upload.region}-{upload.player.platform}", []).append(upload)
    truth: list[str] = []
    for number, (stem, lines) in enumerate(sorted(files.items())):
        suffix = formats[number % len(formats)]
        path = lake / "logs" / f"day={day}" / f"{stem}.{suffix}"
        # A byte that is no UTF-8 stands in a malformed line as a lone surrogate until here.
        text = "".join([_line(upload) + "\n" for upload in lines]).encode("utf-8", "surrogateescape")
        _publish(path, _compress(text, suffix))
        summary.files.append(path)
        truth += [_truth(upload, day, path.name, number) for number, upload in enumerate(lines, start=1)]
        _count(summary, lines)
    path = lake / "truth" / f"day={day}" / "truth.ndjson"
    _publish(path, "".join(truth).encode("ascii"))
    summary.truth_files.append(path)


def _count(summary: SimulationSummary, lines: list[Upload]) -> None:
    for upload in lines:
        summary.records += 1
        summary.moves += upload.tokens
        summary.kinds[upload.kind] += 1
        summary.games.setdefault(upload.game, Counter())[upload.kind] += 1
        summary.variants[f"{upload.kind}/{upload.variant}" if upload.variant else upload.kind] += 1
        if upload.kind in ("honest", "unfinished"):
            figures = summary.skills.setdefault((upload.game, SKILL_NAMES[upload.player.skill]), SkillFigures())
            figures.games += 1
            figures.moves += upload.tokens
            figures.score += upload.score


def _compress(data: bytes, suffix: str) -> bytes:
    """The same bytes for the same data: a gzip header holds no time here."""
    if suffix.endswith(".gz"):
        return gzip.compress(data, compresslevel=4, mtime=0)
    if suffix.endswith(".zst"):
        import pyarrow as pa

        return bytes(pa.Codec("zstd", compression_level=3).compress(data, asbytes=True))
    return data


def _publish(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)


_text = cache(dumps)


@cache
def _date_text(day: int) -> str:
    return date.fromordinal(719_163 + day).isoformat()


def _time(ms: int) -> str:
    day, ms = divmod(ms, DAY)
    minutes, ms = divmod(ms, MINUTE)
    return f"{_date_text(day)}T{minutes // 60:02}:{minutes % 60:02}:{ms // 1000:02}.{ms % 1000:03}Z"


def _line(u: Upload) -> str:
    """One JSON line, fields in the order of the record format."""
    p = u.player
    moves = PLAYS[u.game].spaced(u.moves) if u.spaced else u.moves
    line = (
        f'{{"game_id":"{u.game_id}","game":"{u.game}","mode":{_text(u.mode)},"rules":{_text(u.rules)},'
        f'"challenge":{_text(u.challenge)},"player_id":"{p.player_id}","player_kind":"{p.kind}","nation":{_text(p.nation)},'
        f'"attempt":{u.attempt},"platform":"{p.platform}","app_version":"{p.app_version}","started_at":"{_time(u.started)}",'
        f'"finished_at":"{_time(u.finished)}","uploaded_at":"{_time(u.uploaded)}","moves":"{moves}","score":{u.score},'
        f'"best_combo":{u.best_combo},"final_board":"{u.final_board}"'
    )
    if u.level is not None:
        line += f',"level":{u.level},"lines":{u.lines}'
    elif u.unclaimed == "null":
        line += ',"level":null,"lines":null'
    line += ',"locale":"en"}' if p.app_version == EXTRA else "}"
    return u.raw(line) if u.raw else line


def _truth(u: Upload, day: date, file: str, line: int) -> str:
    counted = "true" if u.verdict == "verified" and u.own else "false"
    return (
        f'{{"game_id":"{u.game_id}","game":"{u.game}","day":"{day}","challenge":{_text(u.challenge)},"kind":"{u.kind}","variant":"{u.variant}",'
        f'"expected_verdict":"{u.verdict}","expected_reasons":{dumps(u.reasons)},"expected_suspicions":{dumps(u.suspicions)},'
        f'"expected_counted":{counted},"file":"{file}","line":{line}}}\n'
    )
