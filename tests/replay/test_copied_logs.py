"""Somebody else's log (field cases C1 and C4): what is found, what is no evidence, and how choices are counted."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.batch import TextColumn
from engine.outcome import APPLIED
from replay import suspicion_kernel as k
from replay.games import NAMES, kind_of
from replay.publish import read_verdicts
from replay.record import Record
from replay.relations import EARLIEST, KEY_COLUMNS, UPLOAD_COLUMNS, related_elsewhere, resolve
from replay.suspicion_batch import read_logs
from replay.suspicions import timing_of
from replay.verdict import JudgeSettings
from replay.verify import VERDICT_SCHEMA, Verifier
from tests.replay import games as blocks
from tests.replay.build import batch_of, rows_of
from tests.replay.suspicion_support import (
    FORCED,
    FORCED_LOG,
    RULEBOOK,
    TABLE,
    by,
    honest,
    moved,
    moved_log,
    show,
    signs,
    timed,
    verify,
)

CLOCKED = [game for game in NAMES if not kind_of(game).judges_pace]
COPIED: list[list[str]] = [[], ["copied_log"]]


# --- C1 ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", NAMES)
@pytest.mark.parametrize("spaced", [False, True], ids=["identical", "spaced"])
def test_c1_a_b_the_later_upload_of_a_log_is_pointed_at(tmp_path: Path, game: str, spaced: bool) -> None:
    """C1 (a, b): the later one only, wherever it lies; the evidence names the first game and how many share the log."""
    first = honest(game)
    log = kind_spaced(first) if spaced else first.moves
    thief = by(replace(first, moves=log), "theirs", "p-2", 60)
    for records in ([first, thief], [thief, first]):
        found = {each["game_id"]: each for each in verify(tmp_path, records)}
        assert [each["verdict"] for each in found.values()] == ["verified"] * 2
        assert signs([found["g-1"], found["theirs"]]) == COPIED, show(found["theirs"])
        evidence = found["theirs"]["evidence"]["copied_log"]
        assert (evidence["first_game"], evidence["players"], "times" in evidence) == ("g-1", 2, False)
        assert evidence["choices"] >= 30


def kind_spaced(found: Record) -> str:
    """The log with white space between its tokens."""
    if found.game == "blocks":
        return "\n".join(found.moves.split())
    return " \t".join(re.findall("[0-9]*[a-z]|[0-9]+", found.moves))


@pytest.mark.parametrize("game", CLOCKED)
@pytest.mark.parametrize("seed", range(3))
def test_c1_c_moved_times_are_seen_through(tmp_path: Path, game: str, seed: int) -> None:
    """C1 (c): each time moved by up to two ticks; the evidence says how many pauses are still alike."""
    first = honest(game)
    thief = by(moved(first, 2, random.Random(seed)), "theirs", "p-2", 60)
    assert thief.moves != first.moves
    for records in ([first, thief], [thief, first]):
        found = {each["game_id"]: each for each in verify(tmp_path, records)}
        assert [each["verdict"] for each in found.values()] == ["verified"] * 2
        assert signs([found["g-1"], found["theirs"]]) == COPIED, show(found["theirs"])
        evidence = found["theirs"]["evidence"]["copied_log"]
        assert evidence["first_game"] == "g-1"
        assert evidence["times"] == evidence["times_alike"] >= 24
    # The first player's own second attempt with that log is nobody else's.
    found = verify(tmp_path, [first, thief, by(replace(first, attempt=2), "again", "p-17", 120)])
    assert signs(found) == [[], ["copied_log"], []]


def test_c1_c_more_moved_copies_than_are_compared_with_one_another(tmp_path: Path) -> None:
    """However many there are, each is held against the first log, which is the one that was copied."""
    first, rng = honest("tetromino"), random.Random(6)
    copies = [by(replace(first, moves=moved_log(first, rng)), f"c-{n}", f"c-{n}", n + 1) for n in range(EARLIEST + 20)]
    found = verify(tmp_path, [*copies, first])
    assert len({each.moves for each in copies}) == len(copies)
    assert signs(found) == [["copied_log"]] * len(copies) + [[]]
    assert {each["evidence"]["copied_log"]["first_game"] for each in found[:-1]} == {"g-1"}
    assert {each["evidence"]["copied_log"]["players"] for each in found[:-1]} == {len(copies) + 1}


@pytest.mark.parametrize("game", CLOCKED)
def test_the_same_inputs_at_another_rhythm_are_no_copy(tmp_path: Path, game: str) -> None:
    """Strong players move alike; how long each of them thinks is their own."""
    first = honest(game)
    other = by(moved(first, 30, random.Random(4)), "theirs", "p-2", 60)
    own, theirs = (re.sub("[0-9]", "", each.moves) for each in (first, other))
    assert own == theirs
    assert signs(verify(tmp_path, [first, other])) == [[], []]


@pytest.mark.parametrize("game", NAMES)
@pytest.mark.parametrize("ids", [("-1", "-1"), ("", ""), ("same", "same"), ("-1", ""), ("0", "null")])
def test_c1_d_odd_ids_are_ids(tmp_path: Path, game: str, ids: tuple[str, str]) -> None:
    """C1 (d): no id stands for a missing one, neither a game's nor a player's."""
    one, two = ids
    first = replace(honest(game), game_id=one, player_id="-1")
    found = verify(tmp_path, [first, by(honest(game), two, "", 60)])
    assert signs(found) == COPIED
    assert found[1]["evidence"]["copied_log"]["first_game"] == one
    conflict = ["conflicting_upload"] if one == two else []
    assert [[reason["code"] for reason in each["reasons"]] for each in found] == [conflict, conflict]


def test_ai_players_may_be_one_program(tmp_path: Path) -> None:
    """Two of them play alike; a person who has an AI player's log does not."""
    first = replace(honest("blocks"), player_kind="ai")
    records = [first, by(first, "second", "p-2", 1), by(honest("blocks"), "person", "p-3", 2)]
    assert signs(verify(tmp_path, records)) == [[], [], ["copied_log"]]


def test_c1_a_short_log_that_forty_players_share_is_no_evidence(tmp_path: Path) -> None:
    """C1, the honest control: six placements of one challenge."""
    tokens, game = blocks.play(1, 6)
    records = [by(blocks.record(tokens, game), f"g-{n}", f"p-{n}", n) for n in range(40)]
    found = verify(tmp_path, records)
    assert [each["verdict"] for each in found] == ["verified"] * 40
    assert signs(found) == [[]] * 40


def test_c1_forced_placements_are_no_choices(tmp_path: Path) -> None:
    """C1, the honest control: six forced placements, forty players; even where one choice were evidence enough, it is none."""
    rules: Any = RULEBOOK.find("blocks", "1.2.0")
    game = blocks.Game(rules, FORCED.deal(rules), FORCED_LOG.encode(), "daily")
    game.run()
    record = blocks.record(FORCED_LOG.split(), game, challenge="forced")
    assert twin_choices(record) == 0
    found = verify(tmp_path, [by(record, f"g-{n}", f"p-{n}", n) for n in range(40)], copied_min_choices=1)
    assert [(each["verdict"], each["replayed"]["moves"]) for each in found] == [("verified", 6)] * 40
    assert signs(found) == [[]] * 40
    # With a choice in it the same setting does point at the second player.
    free = blocks.record(*blocks.play(1, 6))
    assert signs(verify(tmp_path, [free, by(free, "b", "p-2", 1)], copied_min_choices=1)) == COPIED


@pytest.mark.parametrize("game", NAMES)
def test_c1_games_that_agree_at_first_are_two_games(tmp_path: Path, game: str) -> None:
    """C1, the honest control: two long games that agree for the first twelve tokens."""
    first = honest(game)
    other = spliced(game, 12)
    tokens = [re.findall("[1-3][a-k][0-9]+|[0-9]*[a-z]", each.moves) for each in (first, other)]
    assert tokens[0][:12] == tokens[1][:12]
    assert tokens[0] != tokens[1]
    found = verify(tmp_path, [first, by(other, "other", "p-2", 60)])
    assert [each["verdict"] for each in found] == ["verified"] * 2
    assert signs(found) == [[], []]


def spliced(game: str, tokens: int) -> Record:
    """So many tokens of the honest game, and then another one's: what the engine makes of it is claimed."""
    first = honest(game)
    if game == "blocks":
        rules = RULEBOOK.find("blocks", "1.2.0")
        kept = first.moves.split()[:tokens]
        play = blocks.Game(rules, TABLE.find("blocks", first.challenge).deal(rules), b" " * 400, "daily")
        for token in kept:
            play = blocks.after_token(play, token)
        rng = random.Random(9)
        while len(kept) < 50 and (legal := blocks.placements(play)):
            token = min(rng.sample(legal, min(9, len(legal))), key=lambda t: blocks.untidiness(blocks.after_token(play, t).rows))
            kept.append(token)
            play = blocks.after_token(play, token)
        return blocks.record(kept, play)
    head = re.findall("[0-9]*[a-z]", first.moves)[:tokens]
    rng = random.Random(10)
    tail = [f"{rng.randrange(1, 30)}{rng.choice('llrrxzdh')}" for _ in range(120)]
    for length in range(len(tail), 0, -1):
        found = timed(game, "".join([*head, *tail[:length]]))
        if verified(found):
            return found
    raise AssertionError("no such game")


def verified(found: Record) -> bool:
    (row,) = rows_of(Verifier(RULEBOOK, TABLE).verify(batch_of([found]), "a"))
    return row["verdict"] == "verified"


@pytest.mark.parametrize("game", NAMES)
def test_c4_a_spliced_log_that_is_legal_verifies(tmp_path: Path, game: str) -> None:
    """C4: the first half one's own earlier attempt or somebody else's, the rest a solver's; it comes out, and that is said."""
    half = 30 if game == "blocks" else 60
    found = verify(tmp_path, [honest(game), by(spliced(game, half), "mixed", "p-17", 60, attempt=2)])
    assert [(each["verdict"], each["reasons"]) for each in found] == [("verified", [])] * 2
    assert signs(found) == [[], []]
    assert signs(verify(tmp_path, [honest(game), by(spliced(game, half), "mixed", "p-2", 60)])) == [[], []]


# --- Old verdict files ---------------------------------------------------------------------------------------------------


def test_rows_of_the_versions_before_are_still_related(tmp_path: Path) -> None:
    """Their files have no hash of inputs, choices or pauses: the log's own hash stands for it, in the block puzzle the same."""
    verifier = Verifier(RULEBOOK, TABLE)
    records = [honest("blocks"), honest("tetromino")]
    before = verifier.verify(batch_of(records), "old.ndjson").rows
    names = [name for name in before.schema.names if name not in ("inputs_hash", "choices", "ticks", "ticks_played", "thinks")]
    path = tmp_path / "old.parquet"
    pq.write_table(pa.Table.from_batches([before]).select(names).cast(pa.schema([VERDICT_SCHEMA.field(n) for n in names])), path)
    assert read_verdicts(path).column("thinks").to_pylist() == [None, None]
    now = verifier.verify(batch_of([by(each, "new", "p-2", 60) for each in records]), "new.ndjson").rows
    with duckdb.connect() as con:
        con.execute("set TimeZone = 'UTC'")
        schema = pa.schema([*(VERDICT_SCHEMA.field(name) for name in UPLOAD_COLUMNS), ("day", pa.date32())])
        mine = pa.Table.from_batches([now]).select(UPLOAD_COLUMNS)
        mine = mine.append_column("day", pa.array([date(2026, 11, 1)] * 2, pa.date32())).cast(schema)
        old = related_elsewhere(con, mine.select(KEY_COLUMNS), [(date(2026, 10, 31), path)])
        found = resolve(con, pa.concat_tables([mine, old.select(schema.names).cast(schema)]))
    copied = [place for place, relation in found.items() if relation.suspicions]
    assert (date(2026, 11, 1), "new.ndjson", 1) in copied


# --- Choices -------------------------------------------------------------------------------------------------------------


def twin_choices(record: Record) -> int:
    """The choices of a log of the block puzzle, the slow way: every placement of every piece of the hand, one after another."""
    rules: Any = RULEBOOK.find("blocks", record.rules)
    log = record.moves.encode()
    game = blocks.Game(rules, TABLE.find("blocks", record.challenge).deal(rules), log, record.mode)
    found = 0
    while True:
        options = {(game.hand[int(written[0]) - 1], written[1:]) for written in blocks.placements(game)}
        continues = game.st[blocks.k.ST_CONTINUES]
        if game.step() != APPLIED:
            return found
        found += len(options) > 1 and game.st[blocks.k.ST_CONTINUES] == continues


def random_blocks() -> list[Record]:
    """Games on full and empty boards, listed and seeded deals, with faults and white space."""
    rng = random.Random(5)
    records = []
    for seed in range(24):
        challenge, mode = rng.choice([("2026-10-31", "daily"), ("training-7", "training"), ("gap", "daily")])
        tokens, game = blocks.play(seed, rng.randrange(2, 90), challenge, "1.2.0", mode)
        if rng.random() < 0.3:
            tokens[rng.randrange(len(tokens))] = rng.choice(["1a1", "9z9", "3h8", "*", "2"])
        sep = rng.choice(["", " ", "  "])
        records.append(blocks.record(tokens, game, challenge=challenge, game_id=f"g-{seed}", moves=sep.join(tokens)))
    return records


def test_choices_of_the_block_puzzle_are_those_of_the_slow_twin() -> None:
    records = random_blocks()
    rows = rows_of(Verifier(RULEBOOK, TABLE, JudgeSettings(copied_min_choices=500)).verify(batch_of(records), "a"))
    expected = [twin_choices(record) for record in records]
    assert [row["choices"] for row in rows] == expected
    assert any(0 < row["choices"] < row["moves"] for row in rows), "some placement was the only one"
    few = rows_of(Verifier(RULEBOOK, TABLE, JudgeSettings(copied_min_choices=7)).verify(batch_of(records), "a"))
    assert [row["choices"] for row in few] == [min(7, count) for count in expected]
    assert [row["log_key"] != 0 for row in few] == [count >= 7 for count in expected]


def twin_timing(log: str) -> tuple[list[int], list[int]]:
    """(facts, times of thought) of a log with a clock, from lists of its inputs."""
    log = re.sub("[^0-9a-z]", "", log)
    inputs = [(min(int(ticks or 0), 10**9), letter) for ticks, letter in re.findall("([0-9]*)([a-z])", log)]
    rest = re.search("[0-9]*$", log)
    played = sum(ticks for ticks, _ in inputs)
    letters = "h" + "".join(letter for _, letter in inputs)
    gaps = [t for n, (t, letter) in enumerate(inputs) if n and t and letter != inputs[n - 1][1]]
    counts = Counter(t for t in gaps if t < 64)
    even = max(counts.values(), default=0)
    even_ticks = min((t for t, count in counts.items() if count == even), default=0)
    thinks = [min(t, 255) for n, (t, _) in enumerate(inputs)
              if letters[n] == "h" != letters[n + 1]][:32]
    choices = sum(letter in "lrxzc" and letter != letters[n] for n, (_, letter) in enumerate(inputs))
    total = played + min(int(rest[0] or 0) if rest else 0, 10**9)
    return [played, total, len(inputs), choices, len(gaps), even, even_ticks, len(thinks)], thinks


LOGS = st.one_of(
    st.text(alphabet="lrxzdhc0123 ", max_size=300), st.text(alphabet="lrxzdhcqA-\n\x00é0123456789", max_size=60),
    st.lists(st.tuples(st.integers(0, 300), st.sampled_from("lrxzdhc")), max_size=120).map(
        lambda tokens: "".join(f"{ticks}{letter}" for ticks, letter in tokens)
    ),
)  # fmt: skip


@given(st.lists(LOGS, max_size=12))
def test_timing_is_read_alike_compiled_interpreted_and_by_the_slow_twin(logs: list[str]) -> None:
    texts = [log.encode() for log in logs]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64) if texts else np.zeros(0, np.int64)
    starts = ends - np.array([len(text) for text in texts], np.int64)
    column = TextColumn(np.frombuffer(b"".join(texts) or b"\0", np.uint8), starts, ends)
    found = read_logs(column, np.ones(len(texts), np.bool_))
    for row, text in enumerate(texts):
        facts, thinks = twin_timing(text.decode("utf-8", "ignore").encode("ascii", "ignore").decode())
        assert found.facts[row].tolist() == timing_of(text) == facts, text
        assert found.thinks[row, : len(thinks)].tolist() == thinks, text
    letters = [re.sub(b"[^a-z]", b"", text) for text in texts]
    keys = [tuple(key) for key in found.inputs_hash.tolist()]
    assert len(set(keys)) == len(set(letters))
    assert found.choices.tolist() == [timing_of(text)[k.F_CHOICES] for text in texts]


def test_the_columns_say_what_a_log_holds() -> None:
    """A game with a clock has its ticks; pauses are kept of long logs only, which alone are compared."""
    records = [honest("blocks"), honest("tetromino"), timed("tetromino", "12l3h20"), honest("tetcolor")]
    rows = rows_of(Verifier(RULEBOOK, TABLE).verify(batch_of(records), "a"))
    facts, thinks = twin_timing(records[1].moves)
    assert [row["ticks"] for row in rows] == [None, facts[1], 35, twin_timing(records[3].moves)[0][1]]
    assert [row["ticks_played"] for row in rows] == [None, facts[0], 15, twin_timing(records[3].moves)[0][0]]
    assert [row["thinks"] for row in rows] == [[], thinks, [], twin_timing(records[3].moves)[1]]
    assert [row["log_key"] == 0 for row in rows] == [False, False, True, False]
