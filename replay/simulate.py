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
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache
from json import dumps
from pathlib import Path

from replay.bots import (
    CHUNK,
    DAY,
    EXTRA,
    HOUR,
    MINUTE,
    PADDED,
    REGIONS,
    SECOND,
    SKILLS,
    SPACED,
    ChallengeDay,
    Order,
    Played,
    Player,
    Table,
    Upload,
    board_text,
    make_players,
    quit_after,
)
from replay.challenges import Challenge, ChallengeTable
from replay.errors import UsageError
from replay.forgeries import Forger
from replay.rulebook import Rulebook

GAME = "blocks"
FORMATS = ("ndjson", "ndjson.gz", "ndjson.zst")
# Shares of a day's uploads.
TRAINING, ARENA, PRACTICE, OLD_RULES, RETRIES = 0.06, 0.03, 0.004, 0.004, 0.01
# Shares of the daily players by the number of attempts.
ATTEMPTS, ATTEMPT_SHARES = (1, 2, 3), (66, 21, 13)
LATE, SKEWED, ELSEWHEN, CONTINUED = 0.01, 0.02, 0.06, 0.4


@dataclass
class SkillFigures:
    """Honest games of one skill (malformed lines and forgeries left out): how many, their moves and points together."""

    games: int = 0
    moves: int = 0
    score: int = 0


@dataclass
class SimulationSummary:
    """What was written.  ``records`` counts lines, ``kinds`` lines by truth kind, ``moves`` the tokens of all lines; ``files``
    and ``truth_files`` are in writing order."""

    days: list[date]
    records: int = 0
    moves: int = 0
    players: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    variants: Counter[str] = field(default_factory=Counter)
    skills: dict[str, SkillFigures] = field(default_factory=lambda: {skill.name: SkillFigures() for skill in SKILLS})
    files: list[Path] = field(default_factory=list)
    truth_files: list[Path] = field(default_factory=list)


@dataclass
class _Game:
    """A game still to be played: its upload, and the order to the bots."""

    upload: Upload
    order: Order


@dataclass
class _Plan:
    """A day before it is played: sessions are one player's games of one kind, in the order in which they are played."""

    day: ChallengeDay
    sessions: list[list[_Game]]
    tables: dict[tuple[str, str], Table]
    results: list[tuple[list[_Game], Future[list[Played]]]] = field(default_factory=list)


def simulate(
    lake: Path,
    days: Sequence[date],
    games_per_day: int,
    *,
    challenges: ChallengeTable,
    rulebook: Rulebook,
    rng_seed: int,
    forged_share: float = 0.02,
    progress: Callable[[int], None] | None = None,
    formats: Sequence[str] = FORMATS,
    threads: int = 2,
) -> SimulationSummary:
    """Write ``games_per_day`` uploaded lines for the challenge of each day, with their truth.

    The lines include retries (1 %) and the ``forged_share`` (0 to 0.5) of forgeries and malformed lines, every kind in turn: a
    share of 0.02 holds each kind from about 800 lines a day on, each variant from about 15,000.  ``formats`` (of FORMATS) are
    used in turn over a day's files.  ``progress`` is told how many more lines are ready, ``games_per_day`` times days in all.

    Raises UsageError when the call makes no sense, a day has no challenge that bots can play, or a day's folder in the lake
    holds files already: what has landed is never changed.
    """
    wanted = sorted(set(days))
    _check_call(lake, wanted, games_per_day, forged_share, formats)
    report = progress or (lambda count: None)
    players = make_players(rng_seed, games_per_day + 8)
    summary = SimulationSummary(wanted)
    pending: dict[date, list[Upload]] = {day: [] for day in wanted}
    met: set[str] = set()
    with ThreadPoolExecutor(threads) as pool:
        # The next day is played while this one is written: playing needs no interpreter.
        plans = _ahead(_start(_plan(day, games_per_day, players, challenges, rulebook, rng_seed), pool) for day in wanted)
        for day, plan in zip(wanted, plans, strict=True):
            uploads = _finish(plan, rng_seed, report)
            rng = random.Random(f"{rng_seed}/{day}/forgers")
            forger = Forger(rng, plan.day, uploads, challenges, rulebook)
            forger.forge(round(forged_share * games_per_day))
            retries = _retry(forger, games_per_day - len(uploads))
            report(len(retries))
            for upload in uploads + retries:
                pending[_landing(upload, day, plan.day, wanted)].append(upload)
                met.add(upload.player.player_id)
            _write_day(lake, day, pending.pop(day), formats, summary)
    summary.players = len(met)
    return summary


def _check_call(lake: Path, days: list[date], games_per_day: int, forged_share: float, formats: Sequence[str]) -> None:
    if not days or games_per_day < 1:
        raise UsageError(f"simulate: {len(days)} days of {games_per_day} games were asked for, ask for at least one of one")
    if not 0 <= forged_share <= 0.5:
        raise UsageError(f"simulate: forged_share is {forged_share}, it must lie from 0 to 0.5")
    if not formats or set(formats) - set(FORMATS):
        raise UsageError(f"simulate: formats are {', '.join(formats) or 'none'}, they must be of {', '.join(FORMATS)}")
    for day in days:
        folder = lake / "logs" / f"day={day}"
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(f"{folder}: files have landed here already and are never changed, name another lake or another day")


def _ahead(plans: Iterator[_Plan]) -> Iterator[_Plan]:
    """The same plans, each handed out after the next one was begun."""
    held = next(plans)
    for plan in plans:
        yield held
        held = plan
    yield held


# Who plays what.


def _challenge_day(day: date, challenges: ChallengeTable, rulebook: Rulebook) -> ChallengeDay:
    challenge = challenges.find(GAME, day.isoformat())
    if challenge is None:
        raise UsageError(f"simulate: the challenge table has no {GAME} challenge for {day}, add a row or name another day")
    rules = rulebook.find(GAME, challenge.rules)
    if rules is None:
        raise UsageError(f"simulate: challenge {day} names rules {challenge.rules}, and no rules file describes them")
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * SECOND
    closes = midnight + DAY + 12 * HOUR
    return ChallengeDay(challenge, rules, challenge.deal(rules), midnight - 14 * HOUR, closes, closes + 3 * DAY)


class _Planner:
    """Draws the sessions of one day."""

    def __init__(self, day: ChallengeDay, challenges: ChallengeTable, rulebook: Rulebook, rng: random.Random) -> None:
        self.day, self.challenges, self.rulebook, self.rng = day, challenges, rulebook, rng
        self.plan = _Plan(day, [], {})

    def table(self, challenge: Challenge, version: str) -> Table | None:
        """The table for a challenge under one version of the rules, set up once; None where that version is unknown."""
        key = (challenge.challenge, version)
        rules = self.rulebook.find(GAME, version)
        if rules is None:
            return None
        if key not in self.plan.tables:
            self.plan.tables[key] = Table(rules, challenge.deal(rules), challenge.challenge)
        return self.plan.tables[key]

    def session(self, player: Player, challenge: Challenge, mode: str, version: str, games: int) -> None:
        """One player's games in a row, attempts 1 to ``games``."""
        rules = self.rulebook.find(GAME, version)
        assert rules is not None
        own = challenge == self.day.challenge and mode == challenge.mode and version == challenge.rules
        session: list[_Game] = []
        for attempt in range(1, games + 1):
            continues = rules.continues[mode] if self.rng.random() < CONTINUED else 0
            stop_at = quit_after(self.rng, player.skill)
            upload = Upload(
                game_id=f"g{self.rng.getrandbits(64):016x}", mode=mode, rules=version, challenge=challenge.challenge,
                player=player, attempt=attempt, own=own, region=player.region, spaced=player.app_version == SPACED,
            )  # fmt: skip
            session.append(_Game(upload, Order(self.rng.getrandbits(64), player.skill, continues, stop_at)))
        self.plan.sessions.append(session)


def _plan(day: date, lines: int, players: list[Player], challenges: ChallengeTable, rulebook: Rulebook, rng_seed: int) -> _Plan:
    """Who plays what on a day: the challenge mostly, some training and arena, some with old rules or in another mode."""
    rng = random.Random(f"{rng_seed}/{day}/plan")
    planner = _Planner(_challenge_day(day, challenges, rulebook), challenges, rulebook, rng)
    challenge = planner.day.challenge
    planner.table(challenge, challenge.rules)
    left = lines - round(RETRIES * lines)
    for share, found, mode, version in _side_games(planner):
        for player in rng.sample(players, round(share * lines)):
            planner.session(player, found, mode, version, 1)
            left -= 1
    for player in rng.sample(players, len(players)):
        if left == 0:
            break
        games = min(left, rng.choices(ATTEMPTS, ATTEMPT_SHARES)[0])
        planner.session(player, challenge, challenge.mode, challenge.rules, games)
        left -= games
    return planner.plan


def _side_games(planner: _Planner) -> Iterator[tuple[float, Challenge, str, str]]:
    """(share, challenge, mode, rules) of what is played beside the daily challenge, as far as the reference data has it."""
    daily = planner.day.challenge
    for mode, share in (("training", TRAINING), ("arena", ARENA)):
        for found in planner.challenges.rows.values():
            fits = found.game == GAME and found.date is None and found.mode == mode and not found.pieces
            if fits and planner.table(found, found.rules):
                yield share, found, mode, found.rules
                break
    if "training" in planner.day.rules.continues and daily.mode != "training":
        yield PRACTICE, daily, "training", daily.rules
    for version in planner.rulebook.versions(GAME):
        other = planner.rulebook.find(GAME, version)
        if version != daily.rules and other and other.shapes == planner.day.rules.shapes and daily.mode in other.continues:
            planner.table(daily, version)
            yield OLD_RULES, daily, daily.mode, version
            break


def _start(plan: _Plan, pool: ThreadPoolExecutor) -> _Plan:
    """Hand a day's games to the pool, in chunks of one deal each."""
    groups: dict[tuple[str, str], list[_Game]] = {key: [] for key in plan.tables}
    for session in plan.sessions:
        for game in session:
            groups[game.upload.challenge, game.upload.rules].append(game)
    for key, games in groups.items():
        for first in range(0, len(games), CHUNK):
            chunk = games[first : first + CHUNK]
            plan.results.append((chunk, pool.submit(plan.tables[key].play, [game.order for game in chunk])))
    return plan


# When.


def _finish(plan: _Plan, rng_seed: int, report: Callable[[int], None]) -> list[Upload]:
    """The honest uploads of a day: what was played, and when."""
    for chunk, future in plan.results:
        for game, played in zip(chunk, future.result(), strict=True):
            u = game.upload
            u.moves, u.tokens, u.score, u.best_combo, u.board, u.over = played
            u.final_board = board_text(u.board, u.player.app_version == PADDED)
            if not u.over:
                u.kind, u.suspicions = "unfinished", ["unfinished"]
        report(len(chunk))
    rng = random.Random(f"{rng_seed}/{plan.day.challenge.challenge}/clock")
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
        pace = SKILLS[player.skill].pace_ms * rng.lognormvariate(0.0, 0.35)
        upload.started = now
        upload.finished = now + SECOND + int(max(400.0, pace) * upload.tokens)
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
                game_id=first.game_id if how == "same_id" else f"g{rng.getrandbits(64):016x}", mode=first.mode,
                rules=first.rules, challenge=first.challenge, player=first.player, attempt=first.attempt,
                started=first.started, finished=first.finished, uploaded=after, moves=first.moves, tokens=first.tokens,
                score=first.score, best_combo=first.best_combo, board=first.board, over=first.over,
                final_board=first.final_board, spaced=first.spaced or how == "spaced", own=first.own,
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
        summary.variants[f"{upload.kind}/{upload.variant}" if upload.variant else upload.kind] += 1
        if upload.kind in ("honest", "unfinished"):
            figures = summary.skills[SKILLS[upload.player.skill].name]
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


def _spaced(moves: str) -> str:
    """The log with a space between its tokens."""
    return " ".join(re.findall(r"\*|...", moves))


def _line(u: Upload) -> str:
    """One JSON line, fields in the order of the record format."""
    p = u.player
    moves = _spaced(u.moves) if u.spaced else u.moves
    line = (
        f'{{"game_id":"{u.game_id}","game":"{GAME}","mode":{_text(u.mode)},"rules":{_text(u.rules)},'
        f'"challenge":{_text(u.challenge)},"player_id":"{p.player_id}","player_kind":"{p.kind}","nation":{_text(p.nation)},'
        f'"attempt":{u.attempt},"platform":"{p.platform}","app_version":"{p.app_version}","started_at":"{_time(u.started)}",'
        f'"finished_at":"{_time(u.finished)}","uploaded_at":"{_time(u.uploaded)}","moves":"{moves}","score":{u.score},'
        f'"best_combo":{u.best_combo},"final_board":"{u.final_board}"'
    )
    line += ',"locale":"en"}' if p.app_version == EXTRA else "}"
    return u.raw(line) if u.raw else line


def _truth(u: Upload, day: date, file: str, line: int) -> str:
    counted = "true" if u.verdict == "verified" and u.own else "false"
    return (
        f'{{"game_id":"{u.game_id}","day":"{day}","challenge":{_text(u.challenge)},"kind":"{u.kind}","variant":"{u.variant}",'
        f'"expected_verdict":"{u.verdict}","expected_reasons":{dumps(u.reasons)},"expected_suspicions":{dumps(u.suspicions)},'
        f'"expected_counted":{counted},"file":"{file}","line":{line}}}\n'
    )
