"""Fitting points to claimed scores: exact, robust to forged claims, and silent where the games cannot tell."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.blocks.rules import load_rules
from replay.calibrate import Equations, Prober, Value, calibrate, fit_files, keys_of, read_equations, solve
from replay.challenges import load_challenges
from replay.errors import NightError, UsageError
from replay.rulebook import BUILT_IN, load_rulebook
from replay.simulate import simulate
from tests.replay.games import RULEBOOK
from tests.replay.night_support import cli, land, simulated, upload, write_challenges

DAY = date(2026, 10, 31)
# What other phones might count with; document 004 gives only the values for one line, two lines and the largest.
OTHER = {"lines = [80, 240, 480, 800, 1100, 1400]": "lines = [80, 240, 500, 850, 1100, 1400]"}


def other_rules(folder: Path, changes: dict[str, str] = OTHER) -> Path:
    """A folder of rules in which the block puzzle's newest version has other points."""
    for game in ("blocks", "tetromino", "tetcolor"):
        (folder / game).mkdir(parents=True)
        for path in (BUILT_IN / game).glob("*.toml"):
            text = path.read_text("utf-8")
            if path.name == "1.2.0.toml":
                for old, new in changes.items():
                    assert old in text
                    text = text.replace(old, new)
            (folder / game / path.name).write_text(text, "utf-8")
    return folder


def fitted(found) -> dict[str, int | None]:
    return {value.key: value.fitted for value in found.values}


def read_lines(path: Path) -> list[bytes]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if path.suffix == ".zst":
        data = pa.CompressedInputStream(pa.py_buffer(data), "zstd").read()
    return data.splitlines()


def logs(lake: Path) -> list[Path]:
    return sorted((lake / "logs").rglob("*.*"))


@pytest.mark.parametrize(
    ("game", "version", "surely"),
    [
        ("blocks", "1.2.0", {"points.cell": 4, "points.lines[0]": 80, "points.lines[1]": 240, "points.lines[2]": 480}),
        ("tetromino", "1.0.0", {"points.soft_drop": 1, "points.hard_drop": 2, "points.lines[3]": 800, "points.t_spin[2]": 1200,
                                "points.mini_t_spin[0]": 100, "points.combo": 50}),
        ("tetcolor", "1.0.0", {"awards.bomb": 1, "awards.rows[0]": 1, "awards.rows[1]": 4}),
    ],
)  # fmt: skip
def test_the_values_of_the_file_come_out_of_claims_a_third_of_which_are_forged(tmp_path, game, version, surely):
    lake = simulated(tmp_path, 1500, days=[DAY], others={} if game == "blocks" else {game: 0.4})
    found = fit_files(logs(lake), game, version, RULEBOOK, load_challenges(rulebook=RULEBOOK), threads=2)
    values = fitted(found)
    assert {key: values[key] for key in surely} == surely
    for value in found.values:
        assert value.fitted in (None, value.in_file), value
        assert (value.fitted is None) == (value.why != "")
        assert value.fitted is None or value.supporting >= 3
    # Forged scores of legal logs are among the games that were used, and contradict.
    assert 0 < found.explained < found.used <= found.games


def test_phones_that_count_otherwise_are_found_out_to_the_point(tmp_path):
    rules = other_rules(tmp_path / "rules")
    book = load_rulebook(rules)
    simulate(tmp_path / "lake", [DAY], 3000, challenges=load_challenges(rulebook=book), rulebook=book, rng_seed=4, forged_share=0.2)
    found = fit_files(logs(tmp_path / "lake"), "blocks", "1.2.0", RULEBOOK, load_challenges(rulebook=RULEBOOK), threads=2)
    values = {value.key: value for value in found.values}
    assert values["points.lines[2]"].fitted == 500
    assert values["points.lines[2]"].in_file == 480
    assert values["points.lines[2]"].differs
    assert values["points.lines[3]"].fitted in (850, None)
    assert not values["points.cell"].differs
    assert values["points.lines[5]"].fitted is None
    assert values["points.lines[5]"].why


def test_the_command_tells_people_and_machines(tmp_path):
    rules = other_rules(tmp_path / "rules")
    book = load_rulebook(rules)
    simulate(tmp_path / "lake", [DAY], 3000, challenges=load_challenges(rulebook=book), rulebook=book, rng_seed=4, forged_share=0.1)
    told = cli("calibrate", "--lake", tmp_path / "lake", "--from", "2026-10-31", "--threads", "2")
    assert told.returncode == 1, told.stderr
    assert "differs from the file" in told.stdout.decode()
    assert "cannot tell" in told.stdout.decode()
    machine = cli("calibrate", *logs(tmp_path / "lake"), "--rules", rules, "--json", "--threads", "2")
    # Held against the rules that the phones used, nothing differs.
    assert machine.returncode == 0, machine.stderr
    answer = json.loads(machine.stdout)
    assert {v["key"]: v["fitted"] for v in answer["values"]}["points.lines[2]"] == 500
    for words, said in (
        (["calibrate"], "give files"),
        (["calibrate", "--lake", tmp_path / "lake", "--from", "2026-12-31"], "no log file lies there"),
        (["calibrate", "--lake", tmp_path / "lake", "--from", "2026-10-31", "--game", "chess"], "'chess' is no game"),
        (["calibrate", "--lake", tmp_path / "lake", "--from", "2026-10-31", "--version", "9.9.9"], "known are 1.1.0, 1.2.0"),
    ):
        refused = cli(*words)
        assert refused.returncode == 2, refused
        assert said in refused.stderr.decode(), refused
        assert refused.stderr.count(b"\n") == 1


def test_a_score_that_is_no_sum_of_the_values_stops_the_fit(tmp_path, monkeypatch):
    lake = simulated(tmp_path, 200, days=[DAY])
    rules = load_rules(BUILT_IN / "blocks" / "1.2.0.toml")
    prober = Prober("blocks", rules, load_challenges(rulebook=RULEBOOK))
    # A probe that counts with a value of its own is what an engine would be whose points change how a game goes on.
    prober._only[1] = prober._only[2]
    with pytest.raises(NightError, match="not the sum"):
        read_equations(logs(lake), prober, 1, 1000)


# --- Solving, by itself ---------------------------------------------------------------------------------------------------


def honest_equations(values: list[int], rows: int, rng: random.Random, sparse: float = 0.5) -> Equations:
    counts = np.array([[rng.randrange(1, 9) if rng.random() < sparse else 0 for _ in values] for _ in range(rows)], np.int64)
    return Equations(counts.reshape(rows, len(values)), counts.reshape(rows, len(values)) @ np.array(values, np.int64), [f"g{i}" for i in range(rows)])


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=6), st.integers(0, 2**32), st.integers(0, 35))
def test_a_minority_of_forged_claims_changes_no_value(values, seed, forged):
    rng = random.Random(seed)
    equations = honest_equations(values, 150, rng)
    wrong = rng.sample(range(150), 150 * forged // 100)
    for row in wrong:
        equations.claims[row] = rng.choice([equations.claims[row] * 2 + 1, equations.claims[row] + rng.randrange(1, 9999), 0, 10**12])
    found, why = solve(equations, [f"v{i}" for i in range(len(values))])
    assert found == values, (found, values, why)
    assert why == [""] * len(values)


def test_values_that_always_come_together_are_not_told_apart():
    counts = np.array([[2, 2, 1], [4, 4, 3], [6, 6, 1], [2, 2, 5], [8, 8, 2]], np.int64)
    equations = Equations(counts, counts @ np.array([10, 20, 7]), list("abcde"))
    found, why = solve(equations, ["one", "two", "three"])
    assert found[:2] == [None, None]
    assert "two" in why[0]
    assert "one" in why[1]
    # 30 for both is all that could be said, and the third value is not told without it.
    assert found[2] is None


def test_too_few_games_and_none_at_all_say_so():
    counts = np.array([[1, 0, 0], [2, 0, 0], [3, 0, 0], [1, 1, 0]], np.int64)
    found, why = solve(Equations(counts, counts @ np.array([5, 9, 1]), list("abcd")), ["a", "b", "c"])
    assert found == [5, None, None]
    assert why == ["", "only 1 game depends on it, 3 are needed", "no game earned it"]
    nothing = Equations(np.zeros((0, 2), np.int64), np.zeros(0, np.int64))
    assert solve(nothing, ["a", "b"]) == ([None, None], ["no game earned it"] * 2)


def of(*rows: tuple[list[int], int]) -> Equations:
    return Equations(np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.int64), [f"g{i}" for i in range(len(rows))])


def games_of_two_values(rng: random.Random, number: int, *lines: int) -> list[tuple[list[int], int]]:
    """Games that earn cells at 4 and lines, the phones counting these in ``lines`` ways by turns."""
    out = []
    for i in range(number):
        cells, cleared = rng.randrange(50, 400), rng.randrange(1, 30)
        out.append(([cells, cleared], 4 * cells + lines[i % len(lines)] * cleared))
    return out


def test_a_few_forged_games_that_earned_nothing_else_do_not_outvote_all_the_others():
    """Six games of 5,010 say 5 a cell, and are the most of those that show it by itself."""
    short = [([cells, 0], (4 if cells < 12 else 5) * cells) for cells in range(8, 18)]
    games = games_of_two_values(random.Random(1), 5000, 80)
    assert solve(of(*short, *games), ["cell", "line"]) == ([4, 80], ["", ""])
    # Also where the other value is plain from games of its own.
    assert solve(of(*short, *games, *(([0, lines], 80 * lines) for lines in range(1, 20))), ["cell", "line"])[0] == [4, 80]
    # More of the short ones than of the others: only all together show that most are against them.
    games = games_of_two_values(random.Random(1), 175, 80)
    short = [([cells, 0], (4 if cells % 3 else 5) * cells) for cells in range(8, 30)]
    many = [([cells, 0], 5 * cells) for cells in range(8, 158)]
    assert solve(of(*short, *many, *games), ["cell", "line"])[0] == [4, 80]


def test_phones_that_differ_in_one_value_do_not_take_the_others_with_them():
    short = [([cells, 0], 4 * cells) for cells in range(5, 55)]
    for ways in ((80, 100), (80, 100, 120)):
        found, why = solve(of(*short, *games_of_two_values(random.Random(2), 3000, *ways)), ["cell", "line"])
        assert found == [4, None]
        assert why == ["", "no value is agreed on by most of the 3000 games that depend on it"]
    assert solve(of(*short, *games_of_two_values(random.Random(2), 3000, 80, 100, 80)), ["cell", "line"])[0] == [4, 80]


def test_the_games_that_tell_two_values_apart_decide_by_majority_and_in_any_order():
    """A hundred games earned both in the same measure: they only say that the two make 30 together."""
    alike = [([k, k], 30 * k) for k in range(1, 101)]
    for seed in range(5):
        rows = [*alike, *(([k, 2 * k], 50 * k) for k in range(1, 7)), *(([k, 2 * k], 55 * k) for k in range(1, 5))]
        random.Random(seed).shuffle(rows)
        assert solve(of(*rows), ["one", "two"]) == ([10, 20], ["", ""])
    found, why = solve(of(*alike, ([1, 2], 44)), ["one", "two"])
    assert found == [None, None]
    assert "fewer than 3 of the games that agree tell these values apart" in why
    found, _ = solve(of(*alike, *(([k, 2 * k], (50 + 5 * (k % 2)) * k) for k in range(1, 7))), ["one", "two"])
    assert found == [None, None], "three for it and three against it"


def test_claims_of_which_nothing_comes_out_end_the_search():
    """As of phones that reckon in a way of their own: many groups of values could be tried, and none has an answer."""
    rng = random.Random(3)
    counts = np.array([[rng.randrange(1, 9) if rng.random() < 0.4 else 0 for _ in range(8)] for _ in range(80)], np.int64)
    claims = np.array([rng.randrange(10**6) for _ in range(80)], np.int64)
    found, why = solve(Equations(counts, claims, ["g"] * 80), [f"v{i}" for i in range(8)])
    assert found == [None] * 8
    assert all(why)


def test_an_upload_that_is_sent_again_is_one_game(tmp_path):
    """One forged game in many copies, under new ids, is no majority; and three copies of one game are not three games."""
    table = load_challenges(write_challenges(tmp_path / "challenges.csv"), RULEBOOK)
    honest = [upload(f"h{n}", f"p{n}", seed=n, tokens=4 + n) for n in range(5)]
    wrong = replace(upload("f0", "p-f", seed=9, tokens=4), score=1)
    forged = [replace(wrong, game_id=f"f{n}", uploaded_at=wrong.uploaded_at + n) for n in range(20)]
    path = land(tmp_path / "lake", DAY, "a.ndjson", [*honest, *forged, b"broken"])
    found = fit_files([path], "blocks", "1.2.0", RULEBOOK, table)
    assert (found.games, found.used, found.copies, found.unreadable, found.ended_early) == (25, 6, 19, 1, False)
    assert {value.key: (value.fitted, value.contradicting) for value in found.values}["points.cell"] == (4, 1)
    path = land(tmp_path / "lake", DAY, "b.ndjson", [replace(honest[0], game_id=f"c{n}") for n in range(5)])
    alone = fit_files([path], "blocks", "1.2.0", RULEBOOK, table)
    assert (alone.used, alone.copies) == (1, 4)
    assert all(value.fitted is None for value in alone.values)


def test_a_claim_at_the_end_of_64_bits_is_no_honest_one(tmp_path):
    """Twice its score is the honest one's again in 64 bits; twice, for half a point counts in Tetromino Arcade."""
    lake = simulated(tmp_path, 60, days=[DAY], others={"tetromino": 1.0}, forged_share=0)
    lines = [json.loads(line) for path in logs(lake) for line in read_lines(path)]
    games = [line for line in lines if line["game"] == "tetromino"]
    for game in games[:3]:
        game["score"] -= 2**63
    path = land(tmp_path / "other", DAY, "a.ndjson", [json.dumps(game).encode() for game in games])
    found = fit_files([path], "tetromino", "1.0.0", RULEBOOK, load_challenges(rulebook=RULEBOOK))
    hard = next(value for value in found.values if value.key == "points.hard_drop")
    assert (hard.fitted, hard.contradicting) == (2, 3)


def test_what_is_left_out_is_told_as_what_it_is(tmp_path):
    lake = simulated(tmp_path / "lake", 400, days=[DAY])
    words = ("calibrate", *logs(lake), "--threads", "2")
    few = json.loads(cli(*words, "--games", "40", "--json").stdout)
    assert (few["used"], few["ended_early"]) == (40, True)
    # Of what was read until then, not of all that was never looked at.
    assert few["games"] < 80
    told = cli(*words, "--games", "40").stdout.decode()
    assert "There are more games than 40" in told
    assert "the same upload again" in cli(*words).stdout.decode()
    assert "cannot be read" in cli(*words).stdout.decode()
    shutil.copytree(BUILT_IN / "blocks", tmp_path / "rules" / "blocks", ignore=lambda _, names: [n for n in names if n != "1.2.0.toml"])
    challenges = write_challenges(tmp_path / "challenges.csv")
    refused = cli(*words, "--rules", tmp_path / "rules", "--challenges", challenges, "--game", "tetromino")
    assert refused.returncode == 2
    assert refused.stderr.decode() == "replay: --game tetromino: --rules holds no rules file of it, there is nothing to compare with\n"
    assert b"--from '2026-13-31' is no day" in cli("calibrate", "--lake", lake, "--from", "2026-13-31").stderr
    none = cli("calibrate", land(tmp_path / "other", DAY, "a.ndjson", [upload("g", "p", rules="1.1.0")]))
    assert (none.returncode, none.stderr.split(b";")[0]) == (2, b"replay: no game of blocks 1.2.0 was found there")


def test_claims_without_a_majority_are_contested():
    counts = np.full((10, 1), 2, np.int64)
    claims = np.array([20] * 5 + [40] * 5, np.int64)
    found, why = solve(Equations(counts, claims, list("abcdefghij")), ["a"])
    assert found == [None]
    assert "most of the 10 games" in why[0]


def test_the_runner_up_and_the_games_against_are_named():
    counts = np.full((10, 1), 2, np.int64)
    claims = np.array([20] * 6 + [40] * 3 + [7], np.int64)
    rules = load_rules(BUILT_IN / "blocks" / "1.2.0.toml")
    prober = Prober("blocks", rules, load_challenges(rulebook=RULEBOOK))
    prober.keys = [("points.cell", "cell_points", None)]
    (value,) = calibrate(prober, Equations(counts, claims, list("abcdefghij")), 12).values
    assert value == Value("points.cell", 4, 10, "", 6, 4, tuple("ghij"), 20, 3)


def test_every_value_of_the_points_is_fitted():
    """A value that is added to the rules and left out here would be called constant."""
    for game, version, count in (("blocks", "1.2.0", 7), ("tetromino", "1.0.0", 18), ("tetcolor", "1.0.0", 5)):
        rules = RULEBOOK.find(game, version)
        assert len(keys_of(game, rules)) == count
    with pytest.raises(UsageError, match="'chess' is no game"):
        fit_files([], "chess", "1", RULEBOOK, load_challenges(rulebook=RULEBOOK))


def test_the_same_games_give_the_same_answer_in_any_number_of_threads(tmp_path):
    lake = simulated(tmp_path, 1200, days=[DAY])
    challenges = load_challenges(rulebook=RULEBOOK)
    one, two = (fit_files(logs(lake), "blocks", "1.2.0", RULEBOOK, challenges, threads=n) for n in (1, 3))
    assert one == two
    few = fit_files(logs(lake), "blocks", "1.2.0", RULEBOOK, challenges, threads=2, most=40)
    assert few.used == 40
    assert few == fit_files(logs(lake), "blocks", "1.2.0", RULEBOOK, challenges, threads=1, most=40)
