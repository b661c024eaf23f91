"""The statements equal the slow twin, row by row, on seeded populations."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from replay.reviews.model import Decision
from replay.reviews.releases import Release
from tests.reference import standings as twin
from tests.replay.standings_support import (
    LANDED,
    TIERS,
    build,
    copied,
    decide,
    flagged,
    game,
    in_order,
    marts,
    release,
    stored,
    withheld,
)  # fmt: skip

# Month ends, a year's end, a leap day, and weeks with their Sundays.
FIRST_DAYS = [date(2026, 10, 22), date(2026, 12, 20), date(2028, 2, 20)]
GAMES = ["blocks", "tetcolor", "tetromino"]
NATIONS = ["DE", "IT", "NA", None]
NAMES = ["a", "B", "\u00e9", "e\u0301", "=1+1", "x,y", 'q"q', "line\nfeed", "\u202eflip", "Z", "zz", "0", "\U0001f600"]


def population(seed: int) -> dict[str, Any]:
    """Rows, player states and settings: many ties, AI players, nation changes, equal finishes, uncounted rows."""
    rng = random.Random(seed)
    players = NAMES + [f"p{number}" for number in range(rng.randrange(1, 25))]
    kinds = {player: rng.choice(["human", "human", "human", "ai"]) for player in players}
    scores = rng.choice([[0, 4], [400, 404, 800, 1200], list(range(0, 4000, 4)), [2**53 - 1, 2**53, 2**53 + 1, 2**40]])
    days = [rng.choice(FIRST_DAYS) + timedelta(days=number) for number in range(rng.randrange(1, 20))]
    rows = []
    for name in rng.sample(GAMES, rng.randrange(1, 4)):
        for day in days:
            for player in rng.sample(players, rng.randrange(len(players) + 1)):
                for attempt in rng.sample([1, 2, 3], rng.choice([1, 1, 1, 2, 3])):
                    rows.append(random_game(rng, name, day, player, attempt, kinds[player], rng.choice(scores)))
    own = random.Random(seed + 3000)
    rows += [copied(row, f"{row['game_id']}~{number}") for row in rows for number in range(own.choice([0, 0, 1, 2]))]
    rng.shuffle(rows)
    absent = rng.sample(players, min(len(players), rng.randrange(6)))
    removed, renamed = absent[:2], absent[2:]
    return {
        "rows": rows,
        "removed": removed,
        "anonymised": {player: f"new-{rng.randrange(10**9)}" for player in renamed},
        "as_of": rng.choice([None, days[-1], days[-1] + timedelta(days=rng.randrange(9))]),
        "ai": rng.random() < 0.5,
    }


def random_game(rng: random.Random, name: str, day: date, player: str, attempt: int, kind: str, score: int) -> dict[str, Any]:
    other_kind = {"human": "ai", "ai": "human"}[kind] if rng.random() < 0.05 else kind
    row = game(
        player,
        score,
        day.isoformat(),
        attempt,
        game=name,
        player_kind=other_kind,
        nation=rng.choice(NATIONS),
        rules=rng.choice(["1.1.0", "1.2.0"]),
        # Few different times: equal finishes must be told apart by attempt and id.
        finished_at=datetime(day.year, day.month, day.day, rng.choice([0, 12, 23]), 59, 59, rng.choice([0, 999_999])),
        game_id=f"{rng.randrange(16):x}-{name}-{day}-{player}-{attempt}",
    )
    own = random.Random(str(row["game_id"]))
    if rng.random() < 0.15:
        # In another mode than the challenge's own, or an attempt too many.
        other = own.choice([{}, {}, {"attempt_key": 2}, {"attempt": 4}])
        return rng.choice([flagged(row | other), {**row, "counted": False}])
    if own.random() < 0.1:
        return {**row, "suspicions": ["superhuman_pace"]}
    if own.random() < 0.15:
        # An app version that looks broken; some of its games counted before the night that held them back.
        row["app_version"] = own.choice(["3.3.0", "3.4.0"])
        return withheld(row | own.choice([{}, {"suspicions": ["unfinished"]}]), own.choice([True, False]))
    return row


def reviews_of(seed: int, rows: list[dict[str, Any]]) -> tuple[dict[int, str], list[Decision]]:
    """What people decided in the end by the place of a row, and the decisions that led there, notes and undone ones among them.

    Some were taken on an upload that is a copy of the row by now.
    """
    rng = random.Random(seed + 1000)
    against = [
        place
        for place, row in enumerate(rows)
        if row["verdict"] in ("flagged", "withheld") or (row["suspicions"] and row["verdict"] == "verified")
    ]
    uploads: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        uploads.setdefault(row["copy_of"] or row["game_id"], []).append(row)
    states: dict[int, str] = {}
    decisions: list[Decision] = []

    def say(action: str, row: dict[str, Any], **other: Any) -> Decision:
        decisions.append(decide(len(decisions) + 1, action, row, **other))
        return decisions[-1]

    for place in rng.sample(against, len(against) * 2 // 3):
        same = uploads[rows[place]["game_id"]]
        for _ in range(rng.choice([0, 0, 1, 2])):
            upload = rng.choice(same)
            first = say(rng.choice(["uphold", "clear"]), upload)
            if rng.random() < 0.8 or place not in states:
                say("undo", upload, undoes=first.id)
            else:
                states[place] = {"uphold": "upheld", "clear": "cleared"}[first.action]
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            action = rng.choice(["uphold", "clear", "clear"])
            say(action, rng.choice(same))
            states[place] = {"uphold": "upheld", "clear": "cleared"}[action]
        say("note", rng.choice(same))
    rng.shuffle(decisions)
    return states, decisions


def releases_of(seed: int, rows: list[dict[str, Any]]) -> tuple[dict[str, Any], list[Release]]:
    """The groups that people released in the end, as the twin takes them, and the releases that led there."""
    rng = random.Random(seed + 2000)
    names = ("game", "platform", "app_version", "rules")
    groups = sorted({tuple(row[name] for name in names) for row in rows if row["verdict"] == "withheld"})
    released, releases = set(), []
    for group in groups:
        row = dict(zip(names, group, strict=True))
        for is_last in (False, True)[rng.randrange(2) :]:
            releases.append(release(len(releases) + 1, row))
            released |= {group}
            if not is_last or rng.random() < 0.3:
                releases.append(release(len(releases) + 1, row, undoes=len(releases)))
                released -= {group}
    rng.shuffle(releases)
    return {"released": released, "released_through": len(releases)}, releases


def twin_of(wanted: dict[str, Any], **reviews: Any) -> dict[str, list[tuple[object, ...]]]:
    return twin.standings(
        wanted["rows"],
        removed=wanted["removed"],
        anonymised=wanted["anonymised"],
        tiers=TIERS,
        as_of=wanted["as_of"],
        ai_in_percentile=wanted["ai"],
        landed=LANDED,
        **reviews,
    )


@pytest.mark.parametrize("reviewed", [False, True])
@pytest.mark.parametrize("seed", range(16))
def test_every_mart_equals_the_twin(tmp_path, seed, reviewed):
    wanted = population(seed)
    states, decisions = reviews_of(seed, wanted["rows"]) if reviewed else ({}, [])
    released, releases = releases_of(seed, wanted["rows"]) if reviewed else ({}, [])
    options = {name: value for name, value in wanted.items() if name != "rows"}
    path = build(tmp_path, wanted["rows"], **options, files=3, decisions=decisions, releases=releases)
    expected = twin_of(wanted, reviews=states, through=len(decisions), **released)
    found = marts(path)
    assert found.keys() == expected.keys()
    for mart, rows in found.items():
        assert rows == in_order(expected[mart]), mart


@pytest.mark.parametrize("seed", [100, 101])
def test_same_rows_same_file_whatever_the_order_and_the_threads(tmp_path, seed):
    """Two builds are equal in content and in stored order."""
    wanted = population(seed)
    rows = wanted.pop("rows")
    _, wanted["decisions"] = reviews_of(seed, rows)
    _, wanted["releases"] = releases_of(seed, rows)
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    first = build(tmp_path, rows, name="first", files=1, threads=1, **wanted)
    second = build(tmp_path, shuffled, name="second", files=5, threads=4, **wanted)
    assert stored(first) == stored(second)


def test_the_populations_hold_what_they_are_for():
    """Over all seeds: shared positions, AI players ranked and left out, both statuses, digests with and without a week before."""
    seen: set[str] = set()
    for seed in range(16):
        wanted = population(seed)
        expected = twin_of(wanted)
        states, _ = reviews_of(seed, wanted["rows"])
        reviewed = twin_of(wanted, reviews=states)
        released, _ = releases_of(seed, wanted["rows"])
        after = twin_of(wanted, reviews=states, **released)
        seen |= {f"withheld{' and counted' if row['counted'] else ''}" for row in wanted["rows"] if row["verdict"] == "withheld"}
        seen |= {"a release takes from a board" for row in set(reviewed["leaderboard"]) - set(after["leaderboard"])}
        seen |= {"a release adds a flag" for row in set(map(str, after["flagged_games"])) - set(map(str, reviewed["flagged_games"]))}
        seen |= {"cleared and released" for place, state in states.items() if state == "cleared" and
                 twin.is_released(wanted["rows"][place], released["released"])}  # fmt: skip
        seen |= {f"{state} {wanted['rows'][place]['verdict']}" for place, state in states.items()}
        seen |= {f"attempt {row[3]} counts" for row in reviewed["eligible_games"]}
        seen |= {"leads by a review" for row in set(reviewed["leaderboard"]) - set(expected["leaderboard"]) if row[6] == 1}
        seen |= {f"{wanted['ai']} {row[4]}" for row in expected["daily_ranking"]}
        seen |= {str(row[-1]) for row in expected["challenge_status"] + expected["daily_ranking"]}
        seen |= {"new in the week" if row[-2] is None else "there before" for row in expected["weekly_digest"]}
        seen |= {"shared position" for row in expected["leaderboard"] if row[5] != row[6]}
        seen |= {"beyond 2^53" for row in expected["totals"] if int(str(row[2])) > 2**54}
    assert seen >= {"True ai", "True human", "False human", "final", "provisional", "new in the week", "there before"}
    assert seen >= {"shared position", "beyond 2^53", "Diamond", "Platinum", "Gold", "Silver", "Bronze"}
    assert seen >= {"upheld flagged", "upheld verified", "cleared flagged", "cleared verified", "attempt 4 counts"}
    assert "leads by a review" in seen
    assert seen >= {"withheld", "withheld and counted", "upheld withheld", "cleared withheld", "cleared and released"}
    assert seen >= {"a release takes from a board", "a release adds a flag"}
    assert "False ai" not in seen
