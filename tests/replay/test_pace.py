"""Timing (field cases C5, C6 and C8's hints): what hands can do, how even they are, and clocks that disagree."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest

from replay import suspicion_kernel as k
from replay.clocks import LEAST_USUAL, find_odd_clocks, mark_clock
from replay.dashboard.hints import clock_words, number_of
from replay.games import NAMES, kind_of
from replay.record import Record
from replay.relations import Relation, apply_relation
from replay.reviews.model import Decision, facts_of, review_of
from replay.suspicions import EVIDENT, clock_signs, timing_of
from replay.verdict import SUSPICION_CODES, JudgeSettings, judge
from replay.verify import Verifier
from replay.words import words
from tests.replay import games as blocks
from tests.replay.build import as_object, batch_of, rows_of
from tests.replay.suspicion_support import RULEBOOK, SECOND, TABLE, by, honest, show, signs, timed, verify
from tests.replay.tetromino_games import open_game

LIMIT = JudgeSettings()
EPOCH = datetime(2026, 10, 31, 12)


def codes(log: str, **settings: int) -> tuple[str, ...]:
    return clock_signs(timing_of(log.encode()), JudgeSettings(**settings))[0]


# --- C6: machine-like timing ---------------------------------------------------------------------------------------------


def irregular(rng: random.Random, inputs: int, slowest: int = 30) -> str:
    """Hands: pauses of every length, rotations, shifts and drops."""
    return "".join(f"{rng.randrange(1, slowest)}{rng.choice('llrrxzdh')}" for _ in range(inputs))


def auto_repeat(rng: random.Random) -> str:
    """Runs of one letter, two ticks apart, between irregular inputs."""
    runs = []
    for _ in range(60):
        runs.append(f"{rng.randrange(9, 40)}{rng.choice('xz')}{rng.randrange(3, 20)}l" + "2l" * rng.randrange(1, 7))
    return "".join(runs)


def bursts(rng: random.Random) -> str:
    """A stutter: twelve inputs in one tick after a gap of forty."""
    return "".join("40" + "".join(rng.choice("lrxzd") for _ in range(12)) + f"{rng.randrange(5, 50)}h" for _ in range(30))


def turbo(rng: random.Random) -> str:
    """A controller whose rotate button repeats by itself, every two ticks, while it is held."""
    out = []
    for _ in range(60):
        out.append(f"{rng.randrange(8, 40)}x" + "2x" * rng.randrange(2, 9) + f"{rng.randrange(3, 25)}{rng.choice('lr')}")
        out.append(f"{rng.randrange(3, 25)}h")
    return "".join(out)


def fastest(rng: random.Random) -> str:
    """The fastest honest player: twice as fast as strong simulated ones, who take 12 ticks a choice or more."""
    out = []
    for _ in range(120):
        out.append(f"{rng.randrange(4, 12)}{rng.choice('xz')}{rng.randrange(2, 6)}{rng.choice('lr')}")
        out.append(f"{rng.randrange(1, 5)}h")
    return "".join(out)


MACHINE = "".join(f"2{letter}" for letter in "lxrzdxlzrh" * 40)


def test_c6_a_four_hundred_inputs_two_ticks_apart() -> None:
    facts = timing_of(MACHINE.encode())
    assert facts[k.F_INPUTS] == 400
    found, evidence = clock_signs(facts, LIMIT)
    assert found == ("superhuman_pace", "machine_timing")
    assert evidence["machine_timing"] == {"gaps": 399, "equal": 399, "ticks": 2}
    assert evidence["superhuman_pace"]["ticks"] == 800


@pytest.mark.parametrize("hands", [irregular, auto_repeat, bursts, turbo, fastest], ids=lambda hands: hands.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_c6_b_to_e_are_hands(hands: Any, seed: int) -> None:
    """C6 (b) auto-repeat, (c) bursts in one tick, (d) the fastest honest player, (e) a turbo button; and ordinary hands."""
    rng = random.Random(seed)
    log = hands(rng, 400) if hands is irregular else hands(rng)
    assert timing_of(log.encode())[k.F_INPUTS] >= 300
    assert codes(log) == ()


@pytest.mark.parametrize("noise", [6, 12])
def test_a_few_uneven_inputs_do_not_hide_a_machine_but_many_do(noise: int) -> None:
    """The share decides: nine in ten gaps alike are a hint."""
    rng = random.Random(1)
    log = "".join(f"{rng.randrange(10, 30) if n % 100 < noise else 5}{letter}" for n, letter in enumerate("lxrzdxlzrh" * 40))
    assert ("machine_timing" in codes(log)) == (noise == 6)


def test_short_logs_show_no_rhythm_and_no_pace() -> None:
    limits = {"even_min_gaps": 60, "pace_min_choices": 30}
    assert codes("2l2x" * 15, **limits) == ("superhuman_pace",)
    assert codes("2l2x" * 14 + "2l", **limits) == ()
    assert codes("9l9x" * 30 + "9l", **limits) == ("machine_timing",)
    assert codes("9l9x" * 30, **limits) == ()


def test_pauses_of_a_second_and_more_are_no_rhythm() -> None:
    assert codes("64l64x" * 60) == ()
    assert codes("63l63x" * 60) == ("machine_timing",)


def test_only_a_of_c6_reaches_the_list(tmp_path: Path) -> None:
    """C6 through the whole path: legal games of Tetromino Arcade, verified; (a) is pointed at and counts like the others."""
    rng = random.Random(3)
    logs = [MACHINE[: 2 * 200], auto_repeat(rng), bursts(rng), fastest(rng), turbo(rng)]
    logs = [until_over(log) for log in logs]
    records = [replace(timed("tetromino", log), game_id=f"g-{n}", player_id=f"p-{n}") for n, log in enumerate(logs)]
    # The wall clock agrees with the game's own.
    records = [replace(each, finished_at=each.started_at + timing_of(each.moves.encode())[k.F_TICKS] * SECOND // 60 + SECOND)
               for each in records]  # fmt: skip
    found = verify(tmp_path, records)
    assert [each["verdict"] for each in found] == ["verified"] * 5
    assert [bool(each) for each in signs(found)] == [True, False, False, False, False]
    assert set(signs(found)[0]) == {"machine_timing", "superhuman_pace"}, show(found[0])
    assert found[0]["evidence"]["machine_timing"]["ticks"] == 2


def until_over(log: str) -> str:
    """As much of a log as is legal."""
    game = open_game(log)
    game.run()
    return "".join(re.findall("[0-9]*[a-z]", log)[: game.moves])


# --- Pace ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("micros", "fast"), [(60 * 200_000, False), (60 * 200_000 - 1, True), (0, True), (10**9, False)])
@pytest.mark.parametrize("kind", ["human", "ai"])
def test_pace_of_the_block_puzzle_is_judged_of_people(micros: int, fast: bool, kind: str) -> None:
    """An AI player has no hands; the wall clock is the only one of this game."""
    record = replace(honest("blocks"), player_kind=kind, finished_at=blocks.NOON + micros)
    found = judge(record, RULEBOOK, TABLE)
    assert ("superhuman_pace" in found.suspicions) == (fast and kind == "human")
    assert found.verdict == "verified"
    if "superhuman_pace" in found.suspicions:
        numbers = {"moves": 60, "milliseconds": micros // 1000, "least_ms_a_move": 200}
        assert found.evidence == {"superhuman_pace": numbers}


@pytest.mark.parametrize("game", ["tetromino", "tetcolor"])
def test_pace_with_a_clock_is_that_of_the_log(game: str) -> None:
    """Whatever the wall clock says: a phone that reports no time at all has a clock that is wrong, and no hands that are."""
    record = replace(honest(game), finished_at=honest(game).started_at)
    assert not set(judge(record, RULEBOOK, TABLE).suspicions) & {"superhuman_pace", "machine_timing", "clock_ratio"}
    facts = timing_of(record.moves.encode())
    slower = facts[k.F_PLAYED] // facts[k.F_CHOICES]
    for least, fast in ((slower, False), (slower + 1, True)):
        found = judge(record, RULEBOOK, TABLE, JudgeSettings(pace_min_ticks_per_choice=least))
        assert ("superhuman_pace" in found.suspicions) == fast
    assert "superhuman_pace" not in judge(
        replace(record, player_kind="ai"), RULEBOOK, TABLE, JudgeSettings(pace_min_ticks_per_choice=10**6)
    ).suspicions


def random_records(rng: random.Random, count: int) -> list[Record]:
    """Legal, illegal, fast, even, instant and AI games of three games."""
    records = []
    for number in range(count):
        game = rng.choice(NAMES)
        found = honest(game)
        if game == "blocks":
            found = blocks.record(*_played(rng.randrange(6), rng.randrange(4, 40)))
        elif rng.random() < 0.8:
            slowest = rng.choice((2, 3, 4, 12))
            found = timed(game, irregular(rng, rng.randrange(1, 150), slowest) + rng.choice(("", "90", "?")))
        changes: dict[str, Any] = {"player_kind": rng.choice(("human", "human", "ai"))}
        if rng.random() < 0.2:
            changes["score"] = found.score + 1
        took = rng.choice((0, 1, 1000, 3 * SECOND, 60 * SECOND))
        records.append(replace(found, game_id=f"g-{number}", finished_at=found.started_at + took, **changes))
    return records


_PLAYED: dict[tuple[int, int], Any] = {}


def _played(seed: int, tokens: int) -> Any:
    return _PLAYED.setdefault((seed, tokens), blocks.play(seed, tokens))


@pytest.mark.parametrize("seed", range(4))
def test_batches_and_the_interpreted_judge_agree(seed: int) -> None:
    """On random records under random limits, to the last number."""
    rng = random.Random(seed)
    limits = JudgeSettings(
        pace_min_tokens=rng.randrange(1, 20), pace_min_ms_per_token=rng.choice((10, 200, 5000)),
        pace_min_choices=rng.randrange(1, 40), pace_min_ticks_per_choice=rng.choice((1, 3, 6)),
        even_min_gaps=rng.randrange(1, 60), even_percent=rng.choice((30, 60, 90)),
    )  # fmt: skip
    records = random_records(rng, 150)
    rows = rows_of(Verifier(RULEBOOK, TABLE, limits).verify(batch_of(records), "a"))
    assert len(rows) == len(records)
    met: set[str] = set()
    for row, record in zip(rows, records, strict=True):
        expected = judge(record, RULEBOOK, TABLE, limits)
        evidence = json.loads(row["evidence"]) if row["evidence"] else None
        got = (row["verdict"], row["suspicions"], evidence)
        assert got == (expected.verdict, list(expected.suspicions), expected.evidence), as_object(record)
        assert set(EVIDENT) & set(row["suspicions"]) <= set(evidence or {})
        met |= {f"{row['verdict']} {sign}" for sign in row["suspicions"]}
    assert met >= {"verified superhuman_pace", "verified machine_timing", "verified unfinished", "flagged superhuman_pace"}


# --- C5: clocks ----------------------------------------------------------------------------------------------------------


def row(player: str, wall: float, ticks: int | None = 7200, **changes: Any) -> dict[str, Any]:
    """A verdict row of an ultra game as far as clocks go; ``wall`` are seconds."""
    return {
        "game": "tetromino", "platform": "android", "app_version": "3.2.0", "player_id": player, "verdict": "verified",
        "started_at": EPOCH, "finished_at": EPOCH + timedelta(seconds=wall), "ticks": ticks, "ticks_played": ticks,
        "log_hash_low": crc32(repr((player, wall)).encode()), "source_file": "a.ndjson", **changes,
    }  # fmt: skip


SCHEMA = pa.schema([
    *((name, pa.string()) for name in ("game", "platform", "app_version", "player_id", "verdict")),
    ("started_at", pa.timestamp("us")), ("finished_at", pa.timestamp("us")), ("ticks", pa.int64()),
    ("ticks_played", pa.int64()), ("log_hash_low", pa.uint64()), ("source_file", pa.string()), ("source_line", pa.int64()),
])  # fmt: skip


def odd(rows: Sequence[dict[str, Any]], **settings: int) -> dict[int, dict[str, Any]]:
    """The odd clocks among rows, by place in the list; the rows come in two batches."""
    numbered = [{**each, "source_line": number} for number, each in enumerate(rows)]
    half = len(numbered) // 2
    batches = [pa.RecordBatch.from_pylist(part, SCHEMA) for part in (numbered[:half], numbered[half:])]
    return {line: numbers for (_, line), numbers in find_odd_clocks(batches, JudgeSettings(**settings)).items()}


def test_c5_one_game_of_each_kind() -> None:
    """C5: 360, 160, 130, 118, 60 and 0 seconds for two minutes of game, and a pause of nine minutes: only 60 is pointed at.

    One slow game cannot be told from a pause, for the log has ticks only; no time at all is the clock's fault.
    """
    walls = (360, 160, 130, 118, 60, 0, 660)
    found = odd([row(f"p-{number}", wall) for number, wall in enumerate(walls)])
    numbers = {"way": "fast", "percent": 50, "usual": 100, "games": 1, "seconds": 60, "game_seconds": 120}
    assert found == {4: numbers}


def test_c5_slow_motion_is_a_slope_and_a_pause_is_one_gap() -> None:
    """C5: three different games of one player at one ratio are slow; one game with a pause among usual ones is not, nor three
    pauses of any length, nor one game that was uploaded three times."""
    slow = [row("slow", wall, log_hash_low=wall) for wall in (360, 362, 365)]
    found = odd([*slow, row("slow", 122)])
    assert {line: numbers["way"] for line, numbers in found.items()} == dict.fromkeys(range(3), "slow")
    assert {numbers["games"] for numbers in found.values()} == {3}
    assert odd([row("pause", 122, log_hash_low=1), row("pause", 660), row("pause", 121, log_hash_low=2)]) == {}
    assert odd([row("pauses", wall) for wall in (660, 400, 900, 200)]) == {}
    assert odd([row("again", 360, log_hash_low=7)] * 3) == {}
    assert odd(slow, clock_slow_games=4) == {}


def test_c5_a_slow_phone_in_all_its_games_is_no_sign() -> None:
    """C5: 45 frames a second, the same ratio in all its games."""
    assert odd([row("weak", wall, log_hash_low=wall) for wall in (160, 161, 162, 160.5)]) == {}


@pytest.mark.parametrize(("usual", "wall", "way"), [(2.0, 240, None), (2.0, 118, None), (2.0, 80, "fast"), (0.5, 60, None),
                                                    (0.5, 50, "fast"), (0.5, 122, None)])  # fmt: skip
def test_c5_the_client_s_usual_ratio_is_what_counts(usual: float, wall: float, way: str | None) -> None:
    """C5: what an app does to all its players says nothing about one; being better than usual is not held against anybody."""
    others = [row(f"o-{n}", 120 * usual + n / 100) for n in range(LEAST_USUAL)]
    found = odd([*others, *(row("mine", wall + n / 50, log_hash_low=n) for n in range(3))])
    assert {numbers["way"] for numbers in found.values()} == ({way} if way else set())
    assert all(line >= LEAST_USUAL for line in found)
    # Another client's usual ratio is another matter.
    away = [{**each, "app_version": "9"} for each in others]
    alone = odd([*away, *(row("mine", wall + n / 50, log_hash_low=n) for n in range(3))])
    mine = {numbers["way"] for line, numbers in alone.items() if line >= LEAST_USUAL}
    assert mine == ({"fast"} if wall < 108 else {"slow"} if wall > 180 else set())


def test_c5_short_games_flagged_ones_and_those_without_a_clock_are_left_out() -> None:
    rows = [row("a", 10, 1799), row("b", 10, None), row("c", 10, verdict="flagged"), row("d", 10, 1800, ticks_played=900)]
    assert odd(rows) == {}
    assert set(odd([*rows, row("e", 10, 1800)])) == {4}


def test_c5_fast_forward_through_the_whole_path(tmp_path: Path) -> None:
    """C5: it is verified, counts, and shows its numbers; every game has its ratio; time that runs backwards is set aside."""
    base = honest("tetromino")
    ticks = timing_of(base.moves.encode())[k.F_TICKS]
    walls = [ticks * SECOND // 60 * percent // 100 for percent in (102, 50, 0)]
    records = [replace(by(base, f"g-{n}", "p-17", 9, attempt=n + 1), finished_at=base.started_at + wall)
               for n, wall in enumerate(walls)]  # fmt: skip
    backwards = replace(base, game_id="back", finished_at=base.started_at - 1)
    found = verify(tmp_path, [*records, backwards], clock_min_seconds=1)
    assert [each["verdict"] for each in found] == ["verified"] * 3 + ["quarantined"]
    assert signs(found) == [[], ["clock_ratio"], [], []]
    assert found[1]["evidence"]["clock_ratio"]["percent"] in (49, 50), "rounded down"
    rows = rows_of(Verifier(RULEBOOK, TABLE).verify(batch_of(records), "a"))
    assert [each["ticks"] for each in rows] == [ticks] * 3
    assert [clock_words(each) for each in rows][2].startswith("no time at all went by")
    assert clock_words(rows[1]).endswith(", 50 %")


def test_c5_a_hint_on_clocks_stays_when_relations_are_restated() -> None:
    """It is the day's own: another day's uploads neither bring nor take it."""
    (plain,) = rows_of(Verifier(RULEBOOK, TABLE).verify(batch_of([honest("tetromino")]), "a"))
    numbers = {"way": "fast", "percent": 50, "usual": 100, "games": 1, "seconds": 60, "game_seconds": 120}
    marked = plain | mark_clock(plain, numbers)
    assert marked["suspicions"] == ["clock_ratio", "unfinished"]
    copied = Relation(None, (), ("copied_log",), {"copied_log": {"first_game": "g-0", "players": 2}})
    for relation in (copied, None):
        marked |= apply_relation(marked, relation)
        assert marked["suspicions"] == ["copied_log"] * (relation is not None) + ["clock_ratio", "unfinished"]
        assert json.loads(marked["evidence"])["clock_ratio"] == numbers
        assert (marked["verdict"], marked["counted"]) == ("verified", plain["counted"])
    assert "copied_log" not in json.loads(marked["evidence"])


# --- C8: hints are reviewed like the rest ---------------------------------------------------------------------------------


def test_c8_a_dismissed_hint_stays_dismissed_until_another_one_comes() -> None:
    """C8: new limits and new numbers of the same hint are nothing new; another kind of hint is."""
    first, second = facts_of([], ["superhuman_pace"]), facts_of([], ["superhuman_pace", "machine_timing"])
    cleared = Decision(
        1, "s", "clear", "a world champion", "r", EPOCH, first, "tetromino", "g", "2026-10-31", EPOCH.date()
    )  # fmt: skip
    assert review_of([cleared], facts_of([], ["superhuman_pace"])).state == "cleared"
    again = review_of([cleared], second)
    assert (again.state, [json.loads(fact)["suspicion"] for fact in again.new_facts]) == ("returned", ["machine_timing"])
    assert again.lifts_reasons, "a hint alone takes no score away"


NUMBERS: dict[str, list[dict[str, Any]]] = {
    "copied_log": [
        {"first_game": "g-0", "players": 2, "choices": 44}, {"first_game": "g-0", "players": 2},
        {"first_game": "g-0", "players": 3, "choices": 31, "times": 30, "times_alike": 28}, {},
    ],
    "superhuman_pace": [
        {"choices": 200, "ticks": 600, "least_ticks_a_choice": 4},
        {"moves": 60, "milliseconds": 3000, "least_ms_a_move": 200}, {},
    ],
    "machine_timing": [{"gaps": 399, "equal": 380, "ticks": 2}, {}],
    "clock_ratio": [
        {"way": "fast", "percent": 50, "usual": 100, "games": 1, "seconds": 60, "game_seconds": 120},
        {"way": "slow", "percent": 300, "usual": 100, "games": 3, "seconds": 360, "game_seconds": 120}, {},
    ],
    "unfinished": [{}],
}  # fmt: skip


@pytest.mark.parametrize(("code", "numbers"), [(code, numbers) for code, some in NUMBERS.items() for numbers in some])
def test_every_hint_shows_its_numbers_in_one_sentence_or_two(code: str, numbers: dict[str, Any]) -> None:
    """Words and figures name each number of the evidence; of an old verdict, which has none, they say what can be said."""
    record = honest("tetromino")
    evidence = {code: numbers} if numbers else None
    verdict = replace(judge(record, RULEBOOK, TABLE), suspicions=(code,), evidence=evidence)
    (said,) = words(verdict, None, record)[-1:]
    plain = words(replace(verdict, suspicions=(), evidence=None), None, record)
    assert len(words(verdict, None, record)) == len(plain) + 1
    assert code == "unfinished" or "That alone stops no game from counting." in said
    published = rows_of(Verifier(RULEBOOK, TABLE).verify(batch_of([record]), "a"))[0]
    published |= {"suspicions": [code], "evidence": json.dumps(evidence) if evidence else None}
    figure = number_of(code, published, LIMIT)
    assert figure["name"]
    shown = said + figure["figure"]
    derived = {"ticks", "percent", "usual", "milliseconds", "moves", "first_game", "way", "games"}
    for name, value in numbers.items():
        if name not in derived and not name.startswith("least"):
            assert str(value) in shown, (name, shown)


def test_every_suspicion_has_numbers_here() -> None:
    assert set(NUMBERS) == set(SUSPICION_CODES)
    assert [name for name in NAMES if kind_of(name).judges_pace] == ["blocks"]
