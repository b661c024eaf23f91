"""A slow twin of replay/sql: every mart from verdict rows in plain Python, written from the definitions alone.

Nothing is shared with the statements: positions are counted player against player, sums are added up game by game.  A mart is
a list of tuples in the column order of the view of that name; the order of the list means nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import sha256

Row = Mapping[str, object]


@dataclass(frozen=True)
class Game:
    """A game that counts."""

    game: str
    challenge: str
    player_id: str
    attempt: int
    score: int
    finished_at: datetime
    game_id: str
    rules: str
    player_kind: str
    nation: str | None

    @property
    def day(self) -> date:
        return date.fromisoformat(self.challenge)

    @property
    def month(self) -> str:
        return self.challenge[:7]


@dataclass(frozen=True)
class Total:
    """What one player has over some daily bests."""

    total: int
    challenges: int
    reached_at: datetime


def standings(
    rows: Sequence[Row],
    *,
    removed: Iterable[str] = (),
    anonymised: Mapping[str, str] | None = None,
    tiers: Sequence[tuple[str, int]],
    as_of: date | None,
    ai_in_percentile: bool = True,
    landed: date | None = None,
    reviews: Mapping[int, str] | None = None,
    through: int = 0,
    released: Set[tuple[object, ...]] = frozenset(),
    released_through: int = 0,
) -> dict[str, list[tuple[object, ...]]]:
    """Every mart, by name.

    ``reviews`` says by a row's place in ``rows`` what people decided about it in the end, ``upheld`` or ``cleared``, with all that
    speaks against the row now in view; ``through`` is the newest decision's id.  ``released`` are the groups (game, platform, app
    version, rules) whose withheld rows stand as flags, ``released_through`` the newest release's id.
    """
    states = reviews or {}
    found = [row | {"verdict": "flagged", "counted": False} if is_released(row, released) else row for row in map(dict, rows)]
    as_found, rows = rows, found
    gone = set(removed)
    games = eligible_games(rows, gone, anonymised or {}, states)
    players = resolve_players(games)
    bests = daily_bests(games)
    return {
        "eligible_games": [
            (g.game, g.challenge, g.player_id, g.attempt, g.score, g.finished_at, g.game_id, g.rules, g.player_kind, g.nation)
            for g in games
        ],
        "players": [(player, *what) for player, what in players.items()],
        "daily_best": [(b.game, b.challenge, b.player_id, b.score, b.attempt, b.finished_at, b.game_id) for b in bests],
        "daily_ranking": daily_ranking(bests, players, tiers, ai_in_percentile),
        "totals": [
            (game, player, t.total, t.challenges, t.reached_at)
            for game in games_of(bests)
            for player, t in add_up(b for b in bests if b.game == game).items()
        ],
        "totals_month": [
            (game, month, player, t.total, t.challenges, t.reached_at)
            for game in games_of(bests)
            for month in months_of(bests)
            for player, t in add_up(b for b in bests if (b.game, b.month) == (game, month)).items()
        ],
        "leaderboard": leaderboards(bests, players),
        "weekly_digest": weekly_digest(bests, players, as_of),
        "challenge_status": challenge_status(games, bests, players, as_of),
        "flagged_games": flagged_games(rows, gone, anonymised or {}, states, landed),
        "flagged_copies": flagged_copies(rows),
        "publication": [
            (*publication(as_found, games, as_of, ai_in_percentile, states, through), released_through,
             sum(is_released(row, released) for row in as_found)),
        ],
    }  # fmt: skip


def is_released(row: Row, released: Set[tuple[object, ...]]) -> bool:
    """Whether people say that a withheld row is a flagged one after all."""
    return row["verdict"] == "withheld" and tuple(row[name] for name in ("game", "platform", "app_version", "rules")) in released


def eligible_games(
    rows: Sequence[Row], removed: set[str], anonymised: Mapping[str, str], reviews: Mapping[int, str]
) -> list[Game]:
    """Counted rows of players in play, under the ids that stand now."""
    games = []
    for place, row in enumerate(rows):
        if is_counted(row, reviews.get(place)) and is_in_play(row, removed, anonymised):
            fields = {name: row[name] for name in Game.__dataclass_fields__}
            games.append(Game(**{**fields, "player_id": id_of_now(row, anonymised)}))  # type: ignore[arg-type]
    return games


def is_counted(row: Row, state: str | None) -> bool:
    """A person's word goes before the night's, but no copy, no other mode and no unbelievable score ever counts by it."""
    if state == "upheld":
        return False
    if row["verdict"] == "withheld" and row["counted"]:
        # It counted before it was held back, and clearing it takes nothing away.
        return True
    if state == "cleared" and row["verdict"] in ("flagged", "withheld"):
        return int(str(row["attempt_key"])) % 2 == 1 and 0 <= int(str(row["score"])) <= 10**12
    return bool(row["counted"])


def id_of_now(row: Row, anonymised: Mapping[str, str]) -> str:
    player = str(row["player_id"])
    while player in anonymised:
        player = anonymised[player]
    return player


def is_in_play(row: Row, removed: set[str], anonymised: Mapping[str, str]) -> bool:
    return id_of_now(row, anonymised) not in removed and row["player_id"] not in removed


def resolve_players(games: Sequence[Game]) -> dict[str, tuple[str | None, str]]:
    """(nation, kind) of each player's game with the newest challenge, then latest finish, then smaller id."""
    found: dict[str, Game] = {}
    for game in games:
        found.setdefault(game.player_id, game)
        other = found[game.player_id]
        ours, theirs = (game.day, game.finished_at), (other.day, other.finished_at)
        if ours > theirs or (ours == theirs and by_bytes(game.game_id) < by_bytes(other.game_id)):
            found[game.player_id] = game
    return {player: (game.nation, game.player_kind) for player, game in found.items()}


def daily_bests(games: Sequence[Game]) -> list[Game]:
    """The best game of each player and challenge; of equal scores the earliest."""
    found: dict[tuple[str, str, str], Game] = {}
    for game in games:
        key = (game.game, game.challenge, game.player_id)
        other = found.get(key)
        if other is None or game.score > other.score or (game.score == other.score and before(game, other)):
            found[key] = game
    return list(found.values())


def before(game: Game, other: Game) -> bool:
    ours = (game.finished_at, game.attempt, by_bytes(game.game_id))
    return ours < (other.finished_at, other.attempt, by_bytes(other.game_id))


def by_bytes(text: str) -> bytes:
    return text.encode("utf-8")


def games_of(bests: Iterable[Game]) -> list[str]:
    return sorted({best.game for best in bests})


def months_of(bests: Iterable[Game]) -> list[str]:
    return sorted({best.month for best in bests})


def daily_ranking(
    bests: Sequence[Game],
    players: Mapping[str, tuple[str | None, str]],
    tiers: Sequence[tuple[str, int]],
    ai_in_percentile: bool,
) -> list[tuple[object, ...]]:
    ranking: list[tuple[object, ...]] = []
    ranked = [best for best in bests if ai_in_percentile or players[best.player_id][1] == "human"]
    grids: dict[tuple[str, str], list[Game]] = defaultdict(list)
    for best in ranked:
        grids[best.game, best.challenge].append(best)
    for grid in grids.values():
        others = len(grid) - 1
        for best in grid:
            beaten = sum(other.score < best.score for other in grid)
            position = 1 + sum(other.score > best.score for other in grid)
            reached = [(threshold, tier) for tier, threshold in tiers if 100 * beaten >= threshold * others]
            ranking.append(
                (best.game, best.challenge, best.player_id, *players[best.player_id], best.score, best.attempt, best.game_id)
                + (position, beaten, others, 100 * beaten / others if others else 100.0, max(reached)[1])
            )
    return ranking


def add_up(bests: Iterable[Game]) -> dict[str, Total]:
    """By player."""
    found: dict[str, list[Game]] = defaultdict(list)
    for best in bests:
        found[best.player_id].append(best)
    return {
        player: Total(sum(b.score for b in of_player), len(of_player), max(b.finished_at for b in of_player))
        for player, of_player in found.items()
    }


def leaderboards(bests: Sequence[Game], players: Mapping[str, tuple[str | None, str]]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    people = [best for best in bests if players[best.player_id][1] == "human"]
    nations = sorted({nation for nation, _ in players.values() if nation is not None})
    for game in games_of(people):
        for month in [None, *months_of(people)]:
            for nation in [None, *nations]:
                on_board = [
                    best
                    for best in people
                    if best.game == game
                    and month in (None, best.month)
                    and (nation is None or players[best.player_id][0] == nation)
                ]
                head = (game, "world" if nation is None else "nation", nation, "all_time" if month is None else "month", month)
                rows.extend((*head, *row) for row in one_board(add_up(on_board), players))
    return rows


def one_board(
    totals: Mapping[str, Total], players: Mapping[str, tuple[str | None, str]]
) -> list[tuple[int, int, str, str | None, int, int, datetime]]:
    order = sorted(totals, key=lambda player: (-totals[player].total, totals[player].reached_at, by_bytes(player)))
    return [
        (ordinal, position(totals[player].total, totals), player, players[player][0])
        + (totals[player].total, totals[player].challenges, totals[player].reached_at)
        for ordinal, player in enumerate(order, start=1)
    ]


def position(total: int, totals: Mapping[str, Total]) -> int:
    return 1 + sum(other.total > total for other in totals.values())


def weekly_digest(
    bests: Sequence[Game], players: Mapping[str, tuple[str | None, str]], as_of: date | None
) -> list[tuple[object, ...]]:
    if as_of is None:
        return []
    sunday = as_of
    while sunday.isoweekday() != 7:
        sunday -= timedelta(days=1)
    rows: list[tuple[object, ...]] = []
    for game in games_of(bests):
        people = [best for best in bests if best.game == game and players[best.player_id][1] == "human"]
        now = add_up(best for best in people if best.day <= sunday)
        last = add_up(best for best in people if best.day <= sunday - timedelta(days=7))
        for player, total in now.items():
            then = last.get(player)
            rows.append(
                (game, sunday, player, position(total.total, now), total.total, total.challenges)
                + ((position(then.total, last), then.total, total.total - then.total) if then else (None, None, total.total))
            )
    return rows


def challenge_status(
    games: Sequence[Game], bests: Sequence[Game], players: Mapping[str, tuple[str | None, str]], as_of: date | None
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for key in sorted({(game.game, game.challenge) for game in games}):
        played = [game for game in games if (game.game, game.challenge) == key]
        names = [best.player_id for best in bests if (best.game, best.challenge) == key]
        people = [name for name in names if players[name][1] == "human"]
        final_from = date.fromisoformat(key[1]) + timedelta(days=4)
        status = "final" if as_of is not None and as_of >= final_from else "provisional"
        versions = sorted({game.rules for game in played})
        rows.append((*key, len(names), len(people), len(played), versions, as_of, final_from, status))
    return rows


def flagged_games(
    rows: Sequence[Row], removed: set[str], anonymised: Mapping[str, str], reviews: Mapping[int, str], landed: date | None
) -> list[tuple[object, ...]]:
    """What is flagged or withheld, or verified with suspicions; None for what these rows do not have."""
    found: list[tuple[object, ...]] = []
    for place, row in enumerate(rows):
        signs = row["suspicions"]
        assert isinstance(signs, list)
        if row["verdict"] not in ("flagged", "withheld") and not (row["verdict"] == "verified" and signs):
            continue
        counted = is_counted(row, reviews.get(place)) and is_in_play(row, removed, anonymised)
        names = ("game_id", "game", "mode", "rules", "challenge")
        found.append(
            (landed, row["source_file"], row["source_line"], subject(row), *(row[name] for name in names))
            + (id_of_now(row, anonymised), row["player_kind"], row["nation"], row["attempt"], row["platform"])
            + (row["app_version"], None)
            + (row["finished_at"], row["uploaded_at"], row["score"], row["best_combo"], None, None, None, row["verdict"])
            + (row["reason_codes"], row["reasons"], signs, None, row["attempt_key"], counted)
        )
    return found


def flagged_copies(rows: Sequence[Row]) -> list[tuple[object, ...]]:
    """The copies of what is flagged or withheld, or verified with suspicions: their subject, and that of the one that stands."""
    return sorted(
        {
            (subject(row), subject(other))
            for row in rows
            for other in rows
            if row["verdict"] == "copy" and other["game_id"] == row["copy_of"] and other["verdict"] != "copy"
            if other["verdict"] != "verified" or other["suspicions"]
            if all(row[name] == other[name] for name in ("game", "challenge", "player_id", "attempt", "rules", "score"))
        }
    )


def subject(row: Row) -> str:
    """The key of an upload: SHA-256 over its numbers and its texts, each text with its length in bytes before it."""
    numbers = [row["attempt"], row["log_hash_high"], row["log_hash_low"], row["score"], row["best_combo"]]
    parts = " ".join([*(str(number) for number in numbers), "-", "-"]).encode()
    for name in ("game", "challenge", "game_id", "player_id", "mode", "rules", "final_board"):
        text = by_bytes(str(row[name]))
        parts += b" " + str(len(text)).encode() + b":" + text
    return sha256(parts).hexdigest()


def publication(
    rows: Sequence[Row],
    games: Sequence[Game],
    as_of: date | None,
    ai_in_percentile: bool,
    reviews: Mapping[int, str],
    through: int,
) -> tuple[object, ...]:
    verdicts: dict[str, int] = defaultdict(int)
    for row in rows:
        verdicts[str(row["verdict"])] += 1
    counted = sum(bool(row["counted"]) for row in rows)
    versions = sorted({game.rules for game in games})
    states = list(reviews.values())
    reviewed = (through, states.count("upheld"), states.count("cleared"))
    return (as_of, len(rows), dict(sorted(verdicts.items())), counted, len(games), versions, ai_in_percentile, *reviewed)
