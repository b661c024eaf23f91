"""Two engines: what is flagged, and a sample of what is verified, is replayed by both; a difference stops the night."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.batch import BatchResult
from engine.blocks import kernel as blocks
from engine.blocks.batch import BatchReplayer
from engine.outcome import BOARD_DIFFERS, BOARD_EQUAL
from engine.tetcolor.batch import BatchReplayer as TetcolorReplayer
from replay import shards, tasks
from replay.adhoc import verify_files
from replay.draw import Keeper, Kept, compiled_of, seed_of
from replay.errors import EngineDisagreement
from replay.failures import read_failures
from replay.games import NAMES
from replay.lake import Lake
from replay.night import NightSettings
from replay.record import Record, parse_record
from replay.shards import plan_shards, verify_shard
from replay.two_engines import as_object, interpreted, refuse_disagreement
from replay.verify import Verifier
from tests.reference.draw import slow_rank
from tests.replay.build import as_line, batch_of
from tests.replay.games import GAME, RULEBOOK, SCORE, TABLE, TOKENS, record
from tests.replay.night_support import (
    THREE,
    cli,
    land,
    night,
    published_files,
    simulated,
    upload,
    verdict_rows,
    write_challenges,
)

VERIFIER = Verifier(RULEBOOK, TABLE)


@pytest.fixture(scope="module")
def landed(tmp_path_factory) -> Path:
    """A day of the three games, a third of it forged."""
    others = {"tetromino": 0.5, "tetcolor": 0.5}
    return simulated(tmp_path_factory.mktemp("engines") / "lake", 120, days=[THREE], others=others)


def copied(lake: Path, to: Path) -> Path:
    shutil.copytree(lake / "logs", to / "logs")
    return to


@pytest.fixture(scope="module")
def drawn(landed, tmp_path_factory) -> tuple[Keeper, Verifier, int]:
    """All verified games of the day, with what the compiled engine says of them, and how many there are."""
    settings, folder = NightSettings(sample_per_million=1_000_000), tmp_path_factory.mktemp("drawn")
    verifier, keeper, verified = settings.verifier(THREE), Keeper(settings.draw(THREE)), 0
    for shard in plan_shards(sorted((landed / "logs" / f"day={THREE}").iterdir()), 40):
        verified += verify_shard(shard, verifier, folder, 1).verified
        keeper.merge(json.loads((folder / f"shard-{shard.number:05d}.drawn.json").read_text("utf-8")))
    return keeper, verifier, verified


def tampered(monkeypatch: pytest.MonkeyPatch, replayer: Any = BatchReplayer, **changes: int) -> None:
    """Make the compiled engine say something else about every game of one kind."""
    real = replayer.replay

    def replay(self: Any, *args: Any) -> None:
        real(self, *args)
        result = next(arg for arg in args if isinstance(arg, BatchResult))
        select = args[3]
        for name, added in changes.items():
            getattr(result, name)[select] += added

    monkeypatch.setattr(replayer, "replay", replay)


def honest() -> tuple[Record, dict[str, Any]]:
    found = record(TOKENS, GAME, game_id="g-odd")
    return found, interpreted(found, RULEBOOK, TABLE)


# --- The sample ----------------------------------------------------------------------------------------------------------


def test_both_engines_agree_about_every_verified_game(drawn):
    """All games of a day, not a sample of them: every field of what the two engines say is equal."""
    keeper, verifier, verified = drawn
    # A retry under its own id is the same game.
    assert verified * 0.95 < len(keeper.sample) <= verified
    assert {kept.record.game for kept in keeper.sample} == set(NAMES)
    for kept in keeper.sample:
        assert kept.compiled == interpreted(kept.record, verifier.rulebook, verifier.challenges), kept.record.game_id
        assert kept.compiled["board"] == BOARD_EQUAL
        refuse_disagreement(kept.record, kept.compiled, verifier.rulebook, verifier.challenges)


@pytest.mark.parametrize("game", NAMES)
@pytest.mark.parametrize(
    "name", ["score", "best_combo", "moves", "finished", "board", "level", "lines", "fault", "log_hash"]
)
def test_a_difference_in_any_field_is_one(drawn, game, name):
    keeper, verifier, _ = drawn
    kept = next(kept for kept in keeper.sample if kept.record.game == game)
    if name not in kept.compiled:
        assert game != "tetromino"
        assert name in ("level", "lines")
        return
    other = {"finished": not kept.compiled["finished"], "fault": "overlap", "log_hash": "0" * 32}
    wrong = kept.compiled | {name: other[name] if name in other else kept.compiled[name] + 1}
    with pytest.raises(EngineDisagreement, match=rf"game '{kept.record.game_id}': .* nothing is published until they agree") as met:
        refuse_disagreement(kept.record, wrong, verifier.rulebook, verifier.challenges)
    assert str(met.value).count(f"'{name}'") == 2, "it names what differs, in both"
    assert met.value.game is not None
    assert met.value.game["record"] == as_object(kept.record)
    assert (met.value.game["compiled"], met.value.game["interpreted"]) == (wrong, kept.compiled)


def test_how_many_are_sampled(landed, tmp_path):
    lake = copied(landed, tmp_path / "lake")
    run = night(lake, sample_least=0, sample_per_million=0, plant=False)
    assert run["sampled"] == 0
    ids = {row["game_id"] for row in verdict_rows(lake) if row["verdict"] == "verified"}
    counts = {least: night(lake, sample_least=least, sample_per_million=0, plant=False)["sampled"] for least in (1, 20, 10**6)}
    assert (counts[1], counts[20]) == (1, 20)
    # Copies are verified by themselves.
    assert len(ids) <= counts[10**6] < len(ids) * 1.1
    shares = [night(lake, sample_least=0, sample_per_million=n, plant=False)["sampled"] for n in (100_000, 500_000, 1_000_000)]
    assert shares == sorted(shares)
    assert shares[2] == counts[10**6]
    assert 0.35 * shares[2] < shares[1] < 0.65 * shares[2]
    assert night(lake, sample_least=7, sample_per_million=500_000, plant=False)["sampled"] == shares[1]


def test_the_sample_is_the_lowest_of_the_draw_whatever_the_shards(landed, tmp_path, monkeypatch):
    """Held against a slow twin: all verified games of the published day in the order of the draw."""
    samples = []
    for shard_games, threads in ((10**6, 1), (30, 2), (9, 3)):
        seen: list[str] = []
        monkeypatch.setattr(
            "replay.planted.refuse_disagreement", lambda found, *words, seen=seen: seen.append(found.game_id) or None
        )
        lake = copied(landed, tmp_path / f"{shard_games}")
        night(lake, shard_games=shard_games, threads=threads, sample_least=30, sample_per_million=0, plant=False)
        samples.append(seen)
    assert samples[0] == samples[1] == samples[2]
    # A copy, and a second log or upload, is verified as far as it goes by itself.
    rows = [
        row for row in verdict_rows(lake)
        if row["verdict"] != "flagged" or set(row["reason_codes"]) <= {"duplicate_attempt", "conflicting_upload"}
    ]  # fmt: skip
    ranked = {slow_rank(seed_of(THREE), row["log_hash_low"], row["log_hash_high"], row["upload_key"]): row for row in rows}
    assert samples[0] == [ranked[rank]["game_id"] for rank in sorted(ranked)][:30]


# --- An engine that is broken --------------------------------------------------------------------------------------------


def test_a_rule_that_differs_in_the_interpreted_engine_fails_the_night(tmp_path, monkeypatch):
    """Nobody is flagged and nothing is published; the game is named and attached, until the day's next good night."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    monkeypatch.setenv("REPLAY_CHALLENGES", str(challenges))
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload(f"g{i}", f"p{i}", seed=i, tokens=30) for i in range(5)])
    broken = _broken_rule(monkeypatch)
    with pytest.raises(EngineDisagreement, match=r"game 'g\d': the compiled engine gives \{.*'score'") as met:
        _steps(lake)
    assert broken.called
    assert not published_files(lake)
    held = json.loads((lake / "reports" / f"day={THREE}" / "disagreement.json").read_text("utf-8"))
    assert held["code"] == "engine_disagreement"
    assert held["record"]["game_id"] in str(met.value)
    assert parse_record(json.dumps(held["record"]).encode()).moves == held["record"]["moves"]
    assert held["compiled"]["score"] != held["interpreted"]["score"]
    failure = read_failures(Lake(lake))[THREE]
    assert (failure.error, failure.code, failure.step) == ("EngineDisagreement", "engine_disagreement", "publish")
    assert f"the game is in {lake}/reports/day={THREE}/disagreement.json" in failure.sentence == str(met.value)
    assert json.loads((lake / "reports" / f"day={THREE}" / "failure.json").read_text("utf-8"))["code"] == "engine_disagreement"
    monkeypatch.undo()
    monkeypatch.setenv("REPLAY_CHALLENGES", str(challenges))
    _steps(lake)
    assert read_failures(Lake(lake)) == {}
    assert not (lake / "reports" / f"day={THREE}" / "disagreement.json").exists()


class _Broken:
    called = False


def _broken_rule(monkeypatch) -> _Broken:
    """One point more for every placement, in the interpreted engine only: the compiled one was made from the right source."""
    from engine.blocks.single import Game

    broken, real = _Broken(), Game.step

    def step(self: Any) -> int:
        broken.called = True
        status = int(real(self))
        self.st[blocks.ST_SCORE] += status == blocks.APPLIED
        return status

    monkeypatch.setattr(Game, "step", step)
    return broken


def _steps(lake: Path) -> None:
    tasks.pull(str(lake), str(THREE))
    for spec in tasks.plan(str(lake), str(THREE)):
        tasks.verify(str(lake), str(THREE), spec)
    tasks.publish(str(lake), str(THREE))


@pytest.mark.parametrize("changes", [{"score": 4}, {"best_combo": 1}], ids=str)
def test_a_compiled_engine_that_makes_forgeries_come_out_is_found_by_the_sample(tmp_path, monkeypatch, changes):
    """The claim equals what the compiled engine says, so nobody would ever judge the game."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    lake = tmp_path / "lake"
    games = [upload(f"g{i}", f"p{i}", seed=i, tokens=30) for i in range(5)]
    forged = [replace(game, **{name: getattr(game, name) + added for name, added in changes.items()}) for game in games]
    land(lake, THREE, "a.ndjson", forged)
    tampered(monkeypatch, **changes)
    with pytest.raises(EngineDisagreement, match=rf"game 'g\d': the compiled engine gives .*{next(iter(changes))}"):
        night(lake, challenges=challenges)
    assert not published_files(lake)
    # Without the sample nothing would have been noticed.
    run = night(lake, challenges=challenges, sample_least=0, sample_per_million=0, plant=False)
    assert run["verdicts"]["verified"] == 5


def test_a_disagreement_about_a_planted_game_says_that_it_was_planted(landed, tmp_path, monkeypatch):
    lake = copied(landed, tmp_path / "lake")
    real = shards.verify_shard

    def verify(shard: Any, verifier: Any, staging: Path, *rest: Any) -> Any:
        if staging.name == "proof":
            tampered(monkeypatch, TetcolorReplayer, moves=1)
        return real(shard, verifier, staging, *rest)

    monkeypatch.setattr("replay.planted.verify_shard", verify)
    with pytest.raises(EngineDisagreement, match="2026-10-31: of a forgery that was planted to prove the night, game 'g"):
        night(lake)
    assert not published_files(lake)


# --- Games that are flagged ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [
    {"score": 1}, {"best_combo": 1}, {"moves": 1}, {"finished": 1}, {"board": BOARD_DIFFERS}, {"status": -4},
], ids=str)  # fmt: skip
def test_a_flagged_game_about_which_they_differ_is_not_flagged(monkeypatch, changes):
    found, _ = honest()
    tampered(monkeypatch, **changes)
    with pytest.raises(EngineDisagreement, match=r"game 'g-odd': .* nobody is flagged until they agree") as met:
        VERIFIER.verify(batch_of([replace(found, score=SCORE + 7)]), "a.ndjson")
    assert met.value.game is not None
    assert met.value.game["record"]["game_id"] == "g-odd"
    assert met.value.game["compiled"]["verdict"] == "flagged"


def test_verify_of_files_does_the_same(tmp_path, monkeypatch):
    """`replay verify` accuses nobody because of our own bug either."""
    found, _ = honest()
    path = tmp_path / "a.ndjson"
    path.write_bytes(as_line(replace(found, score=SCORE + 7)) + b"\n")
    (printed,) = verify_files([path], VERIFIER, 1)
    assert printed["verdict"] == "flagged"
    tampered(monkeypatch, finished=1)
    with pytest.raises(EngineDisagreement, match="game 'g-odd'"):
        list(verify_files([path], VERIFIER, 1))


def test_verify_of_files_draws_nothing(tmp_path):
    found, _ = honest()
    (tmp_path / "a.ndjson").write_bytes(as_line(found) + b"\n")
    (shard,) = plan_shards([tmp_path / "a.ndjson"])
    verify_shard(shard, VERIFIER, tmp_path / "out", 1)
    assert not list((tmp_path / "out").glob("*.drawn.json"))


def test_the_interpreted_result_is_the_compiled_one_for_a_game(monkeypatch):
    found, said = honest()
    batch, seen = batch_of([found]), []
    real = BatchReplayer.replay
    monkeypatch.setattr(BatchReplayer, "replay", lambda self, *args: (real(self, *args), seen.append(args[-1]))[0])
    VERIFIER.verify(batch, "a.ndjson")
    assert compiled_of(seen[0], 0, "blocks") == said
    assert list(said) == ["score", "best_combo", "moves", "finished", "board", "fault", "log_hash"]
    kept = Kept(1, found, said, 2, 3)
    assert Kept.from_json(json.loads(json.dumps(kept.as_json()))) == kept


def test_the_command_line_says_where_the_game_is(tmp_path):
    """A night that fails for another reason leaves no game behind."""
    lake = tmp_path / "lake"
    good = land(lake, THREE, "b.ndjson", [upload("g2", "p2", seed=2)])
    land(lake, THREE, "a.ndjson", [upload("g1", "p1", score=1)])
    challenges = write_challenges(tmp_path / "challenges.csv")
    night(lake, challenges=challenges)
    good.unlink()
    done = cli("nightly", "--day", THREE, "--lake", lake, "--challenges", challenges)
    assert done.returncode == 1
    assert b"was published with 1 verified games, now all 1 games are flagged" in done.stderr
    assert read_failures(Lake(lake))[THREE].code == "nothing_verified"
    assert not (lake / "reports" / f"day={THREE}" / "disagreement.json").exists()
