"""Planted forgeries: all are caught, what misses one is noticed, and nothing of them is left behind."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.outcome import BOARD_EQUAL, END
from engine.words import MASK64
from replay import forgeries, ndjson, planted, relations, tasks, verify
from replay.draw import KEPT, LEAST_TOKENS, MOST_BYTES, Draw, Keeper, Kept, ranks_of, seed_of
from replay.errors import PlantedMissed
from replay.games import NAMES
from replay.lake import Lake
from replay.lookup import read_uploaded
from replay.night import NightSettings
from replay.planted_kinds import Ids, Planted, kinds_of, without_a_cell
from replay.record import MAX_RECORD_BYTES, Record, parse_record, parse_time
from replay.relations import Relation
from replay.report import write_report
from replay.settings import load_settings
from replay.shards import plan_shards, verify_shard
from replay.suspicions import NO_SIGNS
from replay.verdict import REASON_CODES, judge
from tests.reference.draw import slow_rank
from tests.replay.games import RULEBOOK
from tests.replay.night_support import (
    THREE,
    check_run,
    dump,
    land,
    line,
    night,
    published_files,
    simulated,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
)

OTHERS = {"tetromino": 0.5, "tetcolor": 0.5}


@pytest.fixture(scope="module")
def landed(tmp_path_factory) -> Path:
    """A day of the three games, a third of it forged."""
    return simulated(tmp_path_factory.mktemp("planted") / "lake", 160, days=[THREE], others=OTHERS)


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> Path:
    """A day of the three games without a forgery: whatever a broken verification lets pass, it lets pass of what is planted."""
    return simulated(tmp_path_factory.mktemp("honest") / "lake", 160, days=[THREE], others=OTHERS, forged_share=0.0)


def copied(lake: Path, to: Path) -> Path:
    shutil.copytree(lake / "logs", to / "logs")
    return to


# --- A good night --------------------------------------------------------------------------------------------------------


def test_every_kind_of_every_game_is_planted_and_caught(landed, tmp_path):
    run = night(copied(landed, tmp_path / "lake"))
    for game in NAMES:
        found = run["planted"][game]
        assert found["planted"] == found["caught"] == len(kinds_of(game)) - len(found["not_planted"]), game
        assert set(found["not_planted"]) <= {"level_mismatch"}, found
    assert run["sampled"] == 20
    check_run(tmp_path / "lake", THREE)


def test_what_is_planted_covers_every_reason_of_every_game():
    """A reason that nobody plants would be one that nobody proves."""
    for game in NAMES:
        reasons = {kind.partition("/")[0] for kind in kinds_of(game)}
        claims = {"level_mismatch", "lines_mismatch"} if game == "tetromino" else set()
        assert reasons >= set(REASON_CODES) - {"level_mismatch", "lines_mismatch"} | claims, game
        assert reasons >= {"copy", "copied_log", "malformed"}
        assert "superhuman_pace" in reasons
        assert ("machine_timing" in reasons) == (game != "blocks")
    assert set(forgeries.REASONS) == set(REASON_CODES)


def test_a_night_with_planting_equals_one_without_but_for_one_entry(landed, tmp_path):
    """No planted row reaches verdicts, quarantine, counts or boards: all bytes are those of a night that plants none."""
    lakes = {plant: copied(landed, tmp_path / str(plant) / "lake") for plant in (True, False)}
    runs = {plant: night(lake, plant=plant) for plant, lake in lakes.items()}
    assert runs[False]["planted"] is None
    files = {plant: published_files(lake) for plant, lake in lakes.items()}
    name = f"runs/day={THREE}/run.json"
    held = {plant: json.loads(found.pop(name)) for plant, found in files.items()}
    assert files[True] == files[False]
    assert held[True].pop("planted") != held[False].pop("planted")
    assert held[True] == held[False]
    assert dump(warehouse(lakes[True])) == dump(warehouse(lakes[False]))
    assert not (lakes[True] / "staging" / f"day={THREE}").exists()
    for path in sorted((lakes[True] / "logs").rglob("*.*")):
        assert path.read_bytes() == (lakes[False] / path.relative_to(lakes[True])).read_bytes()


def test_the_task_chain_plants_the_same(landed, tmp_path, monkeypatch):
    one, other = copied(landed, tmp_path / "one"), copied(landed, tmp_path / "other")
    night(one, shard_games=10**6)
    monkeypatch.setenv("REPLAY_SHARD_GAMES", "30")
    monkeypatch.setenv("REPLAY_THREADS", "1")
    tasks.pull(str(other), str(THREE))
    for spec in reversed(tasks.plan(str(other), str(THREE))):
        tasks.verify(str(other), str(THREE), spec)
    tasks.publish(str(other), str(THREE))
    assert published_files(one) == published_files(other)
    assert json.loads((one / "runs" / f"day={THREE}" / "run.json").read_text())["planted"]["tetcolor"]["caught"] == 18


def test_report_and_command_line_say_what_was_planted(landed, tmp_path):
    from replay.cli.night import proof_words

    lake = copied(landed, tmp_path / "lake")
    run = night(lake)
    text = write_report(Lake(lake), THREE) and (lake / "reports" / f"day={THREE}" / "report.md").read_text("utf-8")
    assert "20 verified games, and every flagged one, were replayed by both engines: no engine_disagreement." in text
    assert "| tetcolor | 18 | 18 | - |" in text
    total = sum(found["planted"] for found in run["planted"].values())
    assert proof_words(run).startswith(f"{total} forgeries planted, {total} caught, their originals verified; 20 verified games")
    night(lake, plant=False)
    write_report(Lake(lake), THREE)
    assert "planting was switched off" in (lake / "reports" / f"day={THREE}" / "report.md").read_text("utf-8")
    old = json.loads((lake / "runs" / f"day={THREE}" / "run.json").read_text("ascii"))
    del old["planted"], old["sampled"]
    (lake / "runs" / f"day={THREE}" / "run.json").write_text(json.dumps(old), "ascii")
    write_report(Lake(lake), THREE)
    assert "An earlier version of this program" in (lake / "reports" / f"day={THREE}" / "report.md").read_text("utf-8")


def test_a_small_night_says_what_it_could_not_plant(tmp_path):
    challenges = write_challenges(tmp_path / "challenges.csv")
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g1", "p1", tokens=20), upload("g2", "p2", seed=2, mode="training", tokens=400)])
    run = night(lake, challenges=challenges)
    why = "no finished game of a person in its challenge's own mode and rules was verified"
    assert run["planted"] == {game: {"planted": 0, "caught": 0, "not_planted": {"all": why}} for game in NAMES}
    assert run["sampled"] == 2
    # One finished game: all but what needs a second player's.
    land(lake, THREE, "b.ndjson", [upload("g3", "p3", seed=5, tokens=400)])
    found = night(lake, challenges=challenges)["planted"]["blocks"]
    assert found["not_planted"] == {"duplicate_attempt": "no two players finished different games of one challenge"}
    assert found["planted"] == found["caught"] == len(kinds_of("blocks")) - 1


def test_a_record_as_large_as_is_taken_fails_no_night(tmp_path):
    """A copy that is written a little longer than its original would be malformed: of such a game none is made."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    lake, plain = tmp_path / "lake", upload("g1", "p1", seed=5, tokens=400)
    text = line(plain).replace(b": ", b":").replace(b", ", b",")
    padded = text.replace(b'"moves":"', b'"moves":"' + b" " * (MAX_RECORD_BYTES - len(text)))
    land(lake, THREE, "a.ndjson", [padded])
    found = night(lake, challenges=challenges)
    assert (found["verdicts"]["verified"], found["planted"]["blocks"]["planted"]) == (1, 0)
    # In Parquet only the texts are counted, and in a line each of these spaces takes six bytes.
    land(lake, THREE, "b.parquet", [replace(plain, game_id="g2", player_id="p2", moves=plain.moves + "\v" * 200_000)])
    land(lake, THREE, "c.ndjson", [replace(plain, game_id="g3", player_id="p3", uploaded_at=plain.uploaded_at + 1)])
    found = night(lake, challenges=challenges)
    assert found["verdicts"]["verified"] == 3
    assert found["planted"]["blocks"]["planted"] == found["planted"]["blocks"]["caught"] == len(kinds_of("blocks")) - 1


@pytest.mark.parametrize("sign", ["\u00e9", "-", "x"])
def test_ids_as_long_as_may_be_fail_no_night(tmp_path, sign):
    """Ids of a shape that has no other one get longer ones, which would be malformed: of such a game none is made."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    name = sign * (1024 // len(sign.encode()))
    lake, plain = tmp_path / "lake", upload("g1", "p1", seed=5, tokens=400)
    land(lake, THREE, "a.ndjson", [replace(plain, game_id=name, player_id=name)])
    found = night(lake, challenges=challenges)
    assert (found["verdicts"]["verified"], found["planted"]["blocks"]["planted"]) == (1, 0)
    land(lake, THREE, "b.ndjson", [replace(plain, game_id="g2", player_id=sign * 100, uploaded_at=plain.uploaded_at + 1)])
    found = night(lake, challenges=challenges)
    assert found["verdicts"]["verified"] == 2
    assert found["planted"]["blocks"]["planted"] == found["planted"]["blocks"]["caught"] == len(kinds_of("blocks")) - 1


@pytest.mark.parametrize(
    ("day", "first", "last", "not_planted"),
    [
        ("0001-01-01", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "outside_challenge_day"),
        ("9999-12-31", "9999-12-31T10:00:00Z", "9999-12-31T23:59:59.999999Z", "all"),
    ],
)
def test_challenges_at_the_ends_of_the_calendar_fail_no_night(tmp_path, day, first, last, not_planted):
    """What was forged of their games would lie beyond every time that can be written."""
    challenges = tmp_path / "challenges.csv"
    challenges.write_text(f"game,challenge,mode,rules,rng_seed,start_board,pieces\nblocks,{day},daily,1.2.0,1234567,,\n", "utf-8")
    played = {"started_at": parse_time(first), "finished_at": parse_time(last), "uploaded_at": parse_time(last)}
    land(tmp_path / "lake", THREE, "a.ndjson", [replace(upload("g1", "p1", seed=5, tokens=400), challenge=day, **played)])
    run = night(tmp_path / "lake", challenges=challenges)
    assert run["verdicts"]["counted"] == 1
    assert not_planted in run["planted"]["blocks"]["not_planted"]


def test_settings_switch_planting_and_the_sample(monkeypatch):
    monkeypatch.setenv("REPLAY_PLANT", "false")
    monkeypatch.setenv("REPLAY_SAMPLE_PER_MILLION", "7")
    monkeypatch.setenv("REPLAY_SAMPLE_LEAST", "3")
    assert load_settings().night().draw(THREE) == Draw(seed_of(THREE), 7, 3, False)


# --- A verification that is broken ---------------------------------------------------------------------------------------


def _claims_believed(monkeypatch, name: str) -> None:
    """A claimed number is not compared with the replayed one."""
    real = verify.Verifier._replay

    def replay(self: Any, batch: Any, result: Any, *rest: Any) -> Any:
        real(self, batch, result, *rest)
        claimed = batch.numbers
        batch.numbers = claimed | {name: getattr(result, name).copy()}
        found = real(self, batch, result, *rest)
        batch.numbers = claimed
        return found

    monkeypatch.setattr(verify.Verifier, "_replay", replay)


def _boards_believed(monkeypatch) -> None:
    """A claimed board is not compared with the replayed one."""
    real = verify.Verifier._replay

    def replay(self: Any, batch: Any, result: Any, *rest: Any) -> Any:
        fine, *others = real(self, batch, result, *rest)
        alike = (result.score == batch.numbers["score"]) & (result.best_combo == batch.numbers["best_combo"])
        return fine | (alike & (result.status == END) & (result.board != BOARD_EQUAL)), *others

    monkeypatch.setattr(verify.Verifier, "_replay", replay)


def _text_for_a_number(monkeypatch) -> None:
    real = ndjson.check_object
    monkeypatch.setattr(ndjson, "check_object", lambda found: real({**found, "score": int(found["score"])}))


def _challenges_always_open(monkeypatch) -> None:
    for_ever = (-(2**62), 2**62, 2**62)
    monkeypatch.setattr(verify, "challenge_span", lambda day: for_ever)


def _relations_without(monkeypatch, drop: str) -> None:
    real = relations.resolve

    def resolve(*words: Any) -> dict[Any, Relation]:
        changes: dict[str, Any] = {"copy_of": None} if drop == "copy" else {"suspicions": ()} if drop == "copied_log" else {}
        return {
            identity: replace(found, reasons=tuple(r for r in found.reasons if r["code"] != drop), **changes)
            for identity, found in real(*words).items()
        }

    monkeypatch.setattr(planted, "resolve", resolve)


BROKEN = {
    # What is broken, then the kind whose forgery tells.
    "score": (lambda m: _claims_believed(m, "score"), "score_mismatch|impossible_score/"),
    "combo": (lambda m: _claims_believed(m, "best_combo"), "combo_mismatch"),
    "level": (lambda m: _claims_believed(m, "level"), "level_mismatch"),
    "lines": (lambda m: _claims_believed(m, "lines"), "lines_mismatch"),
    "board": (_boards_believed, "board_mismatch|truncated_log"),
    "attempts": (lambda m: m.setattr(verify, "ATTEMPTS", (1, 2, 3, 4)), "attempt_limit"),
    "opening hours": (_challenges_always_open, "outside_challenge_day"),
    "second logs": (lambda m: _relations_without(m, "duplicate_attempt"), "duplicate_attempt"),
    "conflicts": (lambda m: _relations_without(m, "conflicting_upload"), "conflicting_upload"),
    "copies": (lambda m: _relations_without(m, "copy"), "copy"),
    "copied logs": (lambda m: _relations_without(m, "copied_log"), "copied_log"),
    "pace": (lambda m: m.setattr(verify, "pace_signs", lambda *words: NO_SIGNS), "superhuman_pace"),
    "hands": (lambda m: m.setattr(verify, "clock_signs", lambda *words: NO_SIGNS), "superhuman_pace|machine_timing"),
    "types": (_text_for_a_number, "malformed"),
    "bounds": (lambda m: m.setattr("replay.verdict._impossible", lambda *words: []), "impossible_score/"),
    "missing moves": (lambda m: m.setattr("replay.games.blocks.BlocksKind.missing_moves", lambda *words: []), "truncated_log"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_verification_misses_a_forgery_and_publishes_nothing(honest, tmp_path, monkeypatch, what):
    lake = copied(honest, tmp_path / "lake")
    breaks, kind = BROKEN[what]
    breaks(monkeypatch)
    with pytest.raises(PlantedMissed, match=rf"a planted \w+ forgery \(({kind})") as caught:
        # Without the sample, which sees some of these too.
        night(lake, sample_least=0, sample_per_million=0)
    assert "nothing is published" in str(caught.value)
    assert not published_files(lake)
    assert not list((lake / "staging").rglob("proof*")), "what was planted is gone from the staging folder"
    monkeypatch.undo()
    assert night(lake)["planted"]["blocks"]["not_planted"] == {}


def test_an_original_that_is_held_against_its_player_fails_the_night(honest, tmp_path, monkeypatch):
    """C8: what must not happen is an honest record called forged."""
    real = relations.resolve
    spied: list[planted._Plan] = []
    plan = planted.plan_forgeries
    monkeypatch.setattr(planted, "plan_forgeries", lambda *words: spied.append(plan(*words)) or spied[-1])

    def resolve(con: Any, uploads: Any) -> dict[Any, Relation]:
        found = real(con, uploads)
        ids = uploads.column("game_id").to_pylist()
        origin = next(name for name in ids if name in spied[0].originals)
        at = ids.index(origin)
        identity = (THREE, uploads.column("source_file")[at].as_py(), uploads.column("source_line")[at].as_py())
        reason = {"code": "duplicate_attempt", "claimed": 1, "found": "a mistake", "move": None}
        return found | {identity: Relation(None, (reason,), (), {})}

    monkeypatch.setattr(planted, "resolve", resolve)
    lake = copied(honest, tmp_path / "lake")
    with pytest.raises(PlantedMissed, match=r"game 'g.*', of which forgeries were made, should be verified beside them"):
        night(lake)
    assert not published_files(lake)


# --- What is planted -----------------------------------------------------------------------------------------------------


def plan_of(lake: Path, monkeypatch, **settings: Any) -> planted._Plan:
    plans: list[planted._Plan] = []
    real = planted.plan_forgeries
    monkeypatch.setattr(planted, "plan_forgeries", lambda *words: plans.append(real(*words)) or plans[-1])
    night(lake, **settings)
    monkeypatch.setattr(planted, "plan_forgeries", real)
    return plans[0]


def drawn_slowly(lake: Path) -> dict[str, list[str]]:
    """The twin of the draw: ids of all games of a published day that would do, by game, in the order of the draw."""
    rows = [row | {"day": THREE} for row in verdict_rows(lake)]
    seed = seed_of(THREE)
    found: dict[str, list[tuple[int, str]]] = {game: [] for game in NAMES}
    for row in rows:
        uploaded = read_uploaded(Lake(lake), row)
        alone = all(sum(other[key] == row[key] for other in rows) == 1 for key in ("upload_key", "attempt_key"))
        usable = row["verdict"] == "verified" and row["counted"] and row["finished"] and row["player_kind"] == "human"
        usable &= row["moves"] >= LEAST_TOKENS and len(uploaded.moves) <= MOST_BYTES
        if usable and alone:
            rank = slow_rank(seed, row["log_hash_low"], row["log_hash_high"], row["upload_key"])
            found[row["game"]].append((rank, row["game_id"]))
    return {game: [game_id for _, game_id in sorted(entries)] for game, entries in found.items()}


def test_originals_are_the_lowest_of_the_draw_whatever_the_shards(landed, tmp_path, monkeypatch):
    plans = []
    held: list[dict[str, list[Kept]]] = []
    real = planted.alone
    for shard_games, threads in ((10**6, 1), (25, 2), (7, 3)):
        lake = copied(landed, tmp_path / f"{shard_games}")
        seen: list[list[Kept]] = []
        monkeypatch.setattr(planted, "alone", lambda kept, keys, seen=seen: seen.append(real(kept, keys)) or seen[-1])
        plans.append(plan_of(lake, monkeypatch, shard_games=shard_games, threads=threads))
        held.append({kept[0].record.game: kept for kept in seen if kept})
    lines = [[planted.line for planted in plan.planted] for plan in plans]
    assert lines[0] == lines[1] == lines[2]
    assert held[0] == held[1] == held[2]
    twin = drawn_slowly(tmp_path / "1000000")
    for game in NAMES:
        ids = [kept.record.game_id for kept in held[0][game]]
        # Some of the lowest may share their attempt with another upload: they are kept until the whole day is known.
        assert ids == twin[game][: len(ids)], game
        assert len(ids) > KEPT // 2


def test_planted_games_look_like_others_and_are_forged_as_they_say(landed, tmp_path, monkeypatch):
    lake = copied(landed, tmp_path / "lake")
    plan = plan_of(lake, monkeypatch)
    known = {row[name] for row in verdict_rows(lake) for name in ("game_id", "player_id")}
    assert len({planted.game_id for planted in plan.planted}) > len(plan.planted) - len(NAMES), "but for the conflicts"
    verifier = NightSettings().verifier()
    alone = {"duplicate_attempt", "conflicting_upload", "copy", "copied_log", "superhuman_pace", "machine_timing"}
    for planted_game in plan.planted:
        kind = planted_game.kind
        assert (planted_game.game_id in known) == (kind == "conflicting_upload"), kind
        assert len(planted_game.game_id) == 17
        if kind == "malformed":
            continue
        found = parse_record(planted_game.line)
        origin = plan.originals[planted_game.origins[0]]
        assert found.uploaded_at > origin.uploaded_at
        assert found.player_id in {origin.player_id, *(plan.originals[o].player_id for o in planted_game.origins)} or (
            found.player_id not in known and len(found.player_id) == len(origin.player_id)
        )
        by_itself = judge(found, verifier.rulebook, verifier.challenges, verifier.settings)
        expected = () if kind in alone else planted_game.reasons
        assert tuple(reason.code for reason in by_itself.reasons) == expected, kind


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.dates(date(2000, 1, 1), date(2100, 1, 1)))
def test_ids_have_the_shape_of_their_original_and_are_new(text, day):
    """D8: ids are opaque texts, of any signs and any length."""
    ids = Ids(day, [text])
    found = [ids.like(text) for _ in range(5)]
    assert len({text, *found}) == 6
    assert found == [Ids(day, [text]).like(text), *found[1:]]
    if sum(sign.isascii() and sign.isalnum() for sign in text) > 8:
        for made in found:
            assert len(made) == len(text)
            for one, other in zip(text, made, strict=True):
                alike = one.isascii() and one.isalnum() and other.isalnum() and one.islower() == other.islower()
                assert one == other or alike or {one, other} <= set("0123456789abcdef")


def test_ids_differ_from_day_to_day():
    one, other = (Ids(day, []).like("g00ff00ff00ff00ff") for day in (date(2026, 1, 1), date(2026, 1, 2)))
    assert one != other
    assert one[0] == other[0] == "g"


# --- The draw ------------------------------------------------------------------------------------------------------------


def kept(rank: int, game: str = "blocks", score: int = 1) -> Kept:
    return Kept(rank, Record(**{**_RECORD, "game": game, "score": score}), {}, rank, rank)


_RECORD: dict[str, Any] = {
    "game_id": "g", "game": "blocks", "mode": "daily", "rules": "1.2.0", "challenge": "2026-10-31", "player_id": "p",
    "player_kind": "human", "nation": None, "attempt": 1, "platform": "a", "app_version": "1", "started_at": 0, "finished_at": 0,
    "uploaded_at": 0, "moves": "", "score": 1, "best_combo": 0, "final_board": "-",
}  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 60), st.integers(0, 1)), max_size=80),
    st.integers(0, 200_000), st.integers(0, 30), st.randoms(use_true_random=False), st.integers(1, 7),
)  # fmt: skip
def test_what_is_kept_depends_neither_on_order_nor_on_shards(entries, per_million, least, rng, shards):
    draw = Draw(1, per_million, least)
    games = [kept(rank, score=score) for rank, score in entries]
    lowest = {}
    for one in games:
        lowest[one.rank] = min(one, lowest.get(one.rank, one), key=lambda found: found.text)
    every = [lowest[rank] for rank in sorted(lowest)]
    expected = [one for at, one in enumerate(every) if at < least or one.rank < per_million * 2**64 // 1_000_000]
    rng.shuffle(games)
    merged = Keeper(draw)
    for number in rng.sample(range(shards), shards):
        shard = Keeper(draw)
        for one in games[number::shards]:
            shard._add([one])
            shard._add_fit("blocks", iter([one]))
        merged.merge(json.loads(json.dumps(shard.as_json())))
    assert merged.sample == expected
    assert merged.fit.get("blocks", []) == every[:KEPT]


@given(st.integers(0, MASK64), st.lists(st.tuples(*[st.integers(0, MASK64)] * 3), min_size=1, max_size=5))
def test_ranks_equal_their_slow_twin(seed, rows):
    low, high, ids = (np.array(column, np.uint64) for column in zip(*rows, strict=True))
    assert ranks_of(seed, low, high, ids).tolist() == [slow_rank(seed, *row) for row in rows]


def test_a_batch_gives_the_lowest_of_its_games(landed, tmp_path):
    """The draw of a shard against all of its rows, with and without a share of them."""
    path = max((landed / "logs" / f"day={THREE}").glob("*.ndjson"), key=lambda found: found.stat().st_size)
    for per_million, least in ((0, 5), (200_000, 5), (1_000_000, 0), (0, 0)):
        settings = NightSettings(sample_per_million=per_million, sample_least=least)
        folder = tmp_path / f"{per_million}-{least}"
        (shard,) = plan_shards([path])
        result = verify_shard(shard, settings.verifier(THREE), folder, 1)
        held = json.loads((folder / "shard-00000.drawn.json").read_text("utf-8"))
        ranks = [one["rank"] for one in held["sample"]]
        assert ranks == sorted(ranks)
        below = [rank for rank in ranks if rank < per_million * 2**64 // 1_000_000]
        assert len(ranks) == max(len(below), min(least, result.verified))
        if per_million == 1_000_000:
            assert len(ranks) == result.verified > 20


# --- Boards --------------------------------------------------------------------------------------------------------------


def test_a_board_without_a_cell(honest):
    """Of every game's boards: one cell less, and canonical."""
    from replay.games import kind_of

    rng = random.Random(1)
    seen = set()
    for path in sorted((honest / "logs" / f"day={THREE}").glob("*.ndjson")):
        for text in rng.sample(path.read_bytes().splitlines(), 20):
            found = parse_record(text)
            kind, rules = kind_of(found.game), RULEBOOK.find(found.game, found.rules)
            board = without_a_cell(kind, rules, found.mode, found.final_board)
            if board is None:
                assert kind.canonical_board(found.final_board, rules, found.mode) == "-"
                continue
            seen.add(found.game)
            assert kind.canonical_board(board, rules, found.mode) == board
            differing = kind.differing_cells(board, found.final_board, rules, found.mode)
            assert differing is not None
            assert len(differing) == 1
            assert differing[0].claimed == "."
    assert seen == set(NAMES)


def test_expected_words_name_what_is_missing():
    forged = Planted("blocks", "copied_log", "g", b"", ("o",), "verified", (), "copied_log")
    row = {"verdict": "verified", "reason_codes": [], "suspicions": ["unfinished"]}
    assert planted._expected(forged) == "verified with copied_log"
    assert planted._came(row, forged) == "verified"
    assert planted._came(row | {"suspicions": ["copied_log", "unfinished"]}, forged) == planted._expected(forged)
