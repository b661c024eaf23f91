"""Tetcolor: both engines equal the slow twin, game by game and to the last field, on honest and mutated games of every selection.

REPLAY_TWIN_GAMES sets how many games are compared (600 unless told; 20,000 and more in the long run of the checks).  Games come
in numbered chunks, each with its own seed, so that a difference names the chunk and can be looked at alone: ``check_chunk(17)``.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.outcome import BOARD_UNREADABLE
from engine.tetcolor.single import make_deal
from tests.engine.random_tetcolor import make_games
from tests.engine.support import check_chunks
from tests.engine.tetcolor_support import Case, batch_rows, interpreted, replay_batch, rules
from tests.engine.tetcolor_twin_check import CHUNK, as_engines_say, check_chunk
from tests.reference import tetcolor as twin
from tests.reference.tetcolor_settle import SIZES, read_board, write_board

GAMES = int(os.environ.get("REPLAY_TWIN_GAMES", "600"))
# Below this a pool of processes costs more than it saves.
POOL_FROM = 5_000
DRAWS = Path(__file__).parent / "golden" / "tetcolor" / "draws.txt"
GROUPS = ["99llllhh", "99rrrrhh", "99hh", "99llhh", "99rrhh"]
# A run in which one of these never happened would prove little.
MUST_HAPPEN = {
    "multiplier 1", "multiplier 2", "multiplier 4", "rows 1", "runs and rows in one pass", "pass that only thawed",
    "pass of stones alone", "stone stayed", "stone destroyed", "ice removed by a bomb", "thawed and destroyed in one pass",
    "two Activators together", "generation that reached nothing", "fell onto an anchor", "went off N", "went off H", "went off V",
    "went off L", "went off M", "went off A", "locked by h", "locked by time", "locked as sealed", "h forgotten over a gap",
    "input while bombs go off", "turn moved by -1", "turn moved by 1", "expanded pool, crazy", "dropped for capacity N",
    "dropped for capacity A", "no fault", "fault bad_token", "fault no_such_mode", "fault after_end", "fault deal_exhausted",
}  # fmt: skip
# These are rarer.
MUST_HAPPEN_IN_LONG_RUNS = {
    "multiplier 16", "multiplier 32", "rows 0", "rows 2", "rows 3", "rows 4", "expanded pool, normal", "level 6",
    "dropped for capacity S", "dropped for capacity *", *(f"mode {mode}" for mode in twin.MODES),
}  # fmt: skip


def test_engine_equals_the_slow_twin() -> None:
    faults: list[str] = []
    events: Counter[str] = Counter()
    for found, happened in check_chunks(check_chunk, range(-(-GAMES // CHUNK)), GAMES >= POOL_FROM):
        faults += found
        events.update(happened)
    assert not faults, f"{len(faults)} differences, the first:\n" + "\n\n".join(faults[:3])
    assert events["moves"] > 15 * GAMES
    needed = MUST_HAPPEN | (MUST_HAPPEN_IN_LONG_RUNS if GAMES >= POOL_FROM else set())
    assert sorted(event for event in needed if not events[event]) == []


def test_both_know_the_same_modes() -> None:
    assert sorted(rules().mode_names) == sorted(twin.MODES)
    # Families x variants x styles x handicap: three families with ten styles, columns without crazy.
    assert len(twin.MODES) == (3 * 10 + 9) * 2 * 2


class TickByTick(twin.Game):
    """The twin without skipping any tick."""

    def idle_ticks(self) -> int:
        return 0


def test_skipped_ticks_are_idle() -> None:
    """The twin skips ticks; one that looks at every tick says the same."""
    compared = 0
    for played in make_games(random.Random("every tick"), 90):
        case = played.case
        # A game that is left alone for hours would take minutes here.
        if not re.search(rb"[0-9]{5}", case.log):
            game = TickByTick(case.mode, case.seed, case.pieces, case.start)
            assert twin.play(game, case.log) == played.expected, case
            compared += 1
    assert compared > 60


# Draws.


@dataclass(frozen=True)
class Drawn:
    """One case of golden/tetcolor/draws.txt, which says what its lines hold."""

    name: str
    mode: str
    seed: int
    start: str
    board: str
    pieces: tuple[str, ...]
    dropped: Counter[str]


def read_draws() -> list[Drawn]:
    cases: list[dict[str, str]] = []
    for line in DRAWS.read_text("utf-8").splitlines():
        if line.startswith("["):
            cases.append({"name": line.strip("[]")})
        elif line and not line.startswith("#"):
            key, value = line.split(": ", 1)
            assert key not in cases[-1], f"{cases[-1]['name']}: {key} stands twice"
            cases[-1][key] = value
    drawn = []
    for case in cases:
        words = case["dropped"].split()
        dropped = Counter({kind: int(count) for kind, count in zip(words[::2], words[1::2], strict=False)})
        pieces = tuple(case["pieces"].split())
        drawn.append(Drawn(case["name"], case["mode"], int(case["seed"]), case.get("start", ""), case["board"], pieces, dropped))
    return drawn


CASES = read_draws()


def logs_of(case: Drawn) -> list[str]:
    """The log of each group of inputs, all before it included, with the time that follows."""
    groups = [GROUPS[index % len(GROUPS)] for index in range(len(case.pieces) - 2)]
    return ["".join(groups[: index + 1]) + " 200" for index in range(len(groups))]


CAPACITY_OF = {"A": "activators", "S": "stones", "*": "ices", **dict.fromkeys("NHVLM", "bombs")}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_golden_draws(case: Drawn) -> None:
    """Twin, interpreted and compiled engine deal the same handicap and the same first pieces."""
    game = twin.Game(case.mode, case.seed, "", case.start)
    assert write_board(game.board, case.mode.split("/")[0]) == case.board
    assert (game.piece.text, game.next.text) == case.pieces[:2]
    opened = Case(b"", case.mode, case.seed, "", case.start)
    single = opened.game()
    assert (single.board, single.piece, single.next_piece) == (case.board, *case.pieces[:2])
    compiled = batch_rows([opened], replay_batch([opened]))[0]
    assert compiled.board == case.board
    for log, piece in zip(logs_of(case), case.pieces[2:], strict=True):
        game = twin.Game(case.mode, case.seed, "", case.start)
        result = twin.play(game, log.encode())
        assert game.next.text == piece, f"{case.name}, slow twin after {log!r}: expected {piece}, got {game.next.text}"
        played = Case(log.encode(), case.mode, case.seed, "", case.start, result.board.encode())
        single = played.game()
        single.run()
        assert single.next_piece == piece, f"{case.name}, engine after {log!r}: expected {piece}, got {single.next_piece}"
        expected = as_engines_say(played, result)
        assert batch_rows([played], replay_batch([played]))[0] == expected
    dropped = Counter()
    for event, count in game.events.items():
        if event.startswith("dropped for capacity "):
            dropped[CAPACITY_OF[event[-1]]] += count
    assert +dropped == case.dropped


def test_golden_draws_meet_every_capacity_and_both_handicaps() -> None:
    assert set().union(*(case.dropped for case in CASES)) == {"bombs", "activators", "stones", "ices"}
    assert {case.mode.split("/")[0] for case in CASES if case.mode.endswith("/handicap") and not case.start} == set(SIZES)


def test_seeds_at_the_edges_deal_differently() -> None:
    """B1: 2^53 and 2^53 + 1, 2^32 and 0 must not deal alike, and the generator is the published one."""
    words = twin.Words(1234567)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert [words.next() for _ in range(5)] == published
    edges = [0, 1, 2**32, 2**53, 2**53 + 1, 2**63, 2**64 - 1]
    deals = {case.seed: case.pieces for case in CASES if case.name.startswith("edge ")}
    assert sorted(deals) == edges
    assert len(set(deals.values())) == len(edges)
    boards = {seed: Case(b"", "duo/arcade/normal/handicap", seed).game().board for seed in edges}
    assert len(set(boards.values())) == len(edges)
    for seed, board in boards.items():
        assert board == write_board(twin.Game("duo/arcade/normal/handicap", seed).board, "duo")


# Readings of the rules that random games seldom meet alone.

# name: (case, score, board, moves, fault), each worked out by hand, with the nearest wrong reading told.
READINGS = {
    # A fault at once would be the wrong reading: the next piece would only have entered 30 ticks after the lock.
    "the list runs out when the next piece should enter": (
        Case(b"hh 29l", "columns/arcade/normal", 0, "C:aNaa"), 6, "-", 3, None,
    ),
    "the list has run out": (Case(b"hh 30l", "columns/arcade/normal", 0, "C:aNaa"), 6, "-", 2, ("deal_exhausted", 2)),
    # Left out, the bomb would keep its ice; gone off, it would take itself and its point.
    "an Activator takes the ice off a bomb": (
        Case(b"hh", "columns/arcade/normal", 0, "C:aAaa C:abc", "bN*5"), 6, "bN5", 2, None,
    ),
    # Not counted among the stones, it would fall to the bottom.
    "a stone of a listed piece stays where it settled": (
        Case(b"hh", "columns/arcade/normal", 0, "C:aSbb C:abc", "2b3"), 6, "2aS3/6/6/6", 2, None,
    ),
    # Zeroed within the tick, the piece would stand for 24 more ticks.
    "over a gap and back within a tick": (
        Case(b"h 23lr 1", "columns/classic/normal", 0, "C:abc C:abc", "2d3"), 0, "2a3/2b3/2c3/2d3", 3, None,
    ),
    # A tick in the air, and the count begins anew.
    "over a gap for a tick and back": (
        Case(b"h 23l1r 1", "columns/classic/normal", 0, "C:abc C:abc", "2d3"), 0, "2d3", 3, None,
    ),
    # Kept over the gap, the memory would lock the piece at the second h.
    "h is forgotten over a gap": (Case(b"hlrh", "columns/classic/normal", 0, "C:abc C:abc", "2d3"), 0, "2d3", 4, None),
    "h is given anew": (Case(b"hlrhh", "columns/classic/normal", 0, "C:abc C:abc", "2d3"), 0, "2a3/2b3/2c3/2d3", 5, None),
}  # fmt: skip


@pytest.mark.parametrize("name", READINGS)
def test_readings(name: str) -> None:
    case, score, board, moves, fault = READINGS[name]
    result = twin.replay(case.mode, case.log, case.seed, case.pieces, case.start)
    found = {
        "slow twin": as_engines_say(case, result),
        "interpreted": interpreted(case),
        "compiled": batch_rows([case], replay_batch([case]))[0],
    }
    for who, got in found.items():
        said = (got.score, got.board, got.moves, got.fault)
        assert said == (score, board, moves, fault), (
            f"{name}: {who}\nstate: {case}\nexpected: {(score, board, moves, fault)}\ngot: {said}"
        )


# Anything at all.

SEEDS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 2**32, 2**53 + 1, 2**63, 2**64 - 1]))
LETTERS = st.sampled_from(list(b"lrxzdhhhlrxzdh0123456789 \n"))
LOGS = st.one_of(st.binary(max_size=40), st.lists(LETTERS, max_size=80).map(bytes))
BLOCKS = st.text("abcdeNHVLMAS*", max_size=8)


@settings(max_examples=150, deadline=None)
@given(LOGS, SEEDS, st.sampled_from([*twin.MODES, "columns/arcade/crazy", ""]))
def test_no_log_makes_a_replay_raise(log: bytes, seed: int, mode: str) -> None:
    case = Case(log, mode, seed)
    expected = as_engines_say(case, twin.replay(mode, log, seed))
    assert interpreted(case) == expected


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SIZES)), st.text("IJLOSTZFNPUVWXYC:", max_size=2), st.sampled_from([":", ":", ":", ""]), BLOCKS)
def test_both_read_the_same_pieces(family: str, name: str, colon: str, blocks: str) -> None:
    """A listed piece is read or refused by both; no text makes the reader raise anything but ValueError."""
    text = name + colon + blocks
    try:
        expected = twin.listed_piece(text, family).text
    except ValueError:
        expected = None
    try:
        # The first one enters, so that the second one is the preview.
        found = Case(b"", f"{family}/arcade/normal", 0, f"{text} {text}").game().next_piece
    except ValueError:
        found = None
    # No text at all is no list: pieces are drawn then.
    assert found == expected or not text, text


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(SIZES)),
    st.one_of(st.binary(max_size=60), st.text("abcdeNHVLMAS*/-0123456789", max_size=60).map(str.encode)),
)
def test_no_claimed_board_makes_its_reader_raise(family: str, text: bytes) -> None:
    claim = text.decode("latin-1")
    game = Case(b"", f"{family}/classic/normal").game()
    assert (game.board_equals(claim) != BOARD_UNREADABLE) == (read_board(claim, family) is not None)


def random_rows(rng: random.Random, family: str) -> str:
    """A few rows of blocks, nothing kept apart."""
    width, height = SIZES[family]
    share = rng.choice([0.2, 0.5, 0.9, 1])
    rows = range(height - rng.randrange(1, 5), height)
    return write_board({(r, c): rng.choice("abcde") for r in rows for c in range(width) if rng.random() < share}, family)


def test_both_refuse_the_same_start_boards() -> None:
    """A match, or a full row where rows are cleared, cannot stand on a start board."""
    rng = random.Random("start boards")
    answers = Counter()
    for _ in range(400):
        family = rng.choice(sorted(SIZES))
        text = random_rows(rng, family)
        try:
            make_deal(rules(), f"{family}/arcade/normal", 0, "", text)
            taken = True
        except ValueError:
            taken = False
        assert taken == twin.can_start(text, family), f"{family}: {text}"
        answers[family, taken] += 1
    assert len(answers) == 2 * len(SIZES), answers


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["l", "r", "x", "z", "d", "h", "hh", "5d", "40x", "700l"]), max_size=40), SEEDS, st.data())
def test_a_prefix_is_the_game_as_it_stood(tokens: list[str], seed: int, data: st.DataObject) -> None:
    """The first n tokens give what stepping through the whole log shows after n tokens, and know nothing of the rest."""
    letters = "".join(tokens).replace("hh", "h h").split()
    cut = data.draw(st.integers(0, len(letters)))
    log, start = "".join(letters[:cut]).encode(), Case(b"", "duo/arcade/crazy", seed)
    prefix = twin.replay(start.mode, log, seed)
    game = Case("".join(letters).encode(), start.mode, seed).game()
    for _ in range(prefix.moves):
        game.step()
    assert (prefix.score, prefix.best_combo, prefix.board, prefix.moves) == (game.score, game.best_combo, game.board, game.moves)
    broken = interpreted(Case(log + b" 99?", start.mode, seed))
    if prefix.fault is None:
        assert broken.fault == ("bad_token", prefix.moves)
        assert (broken.score, broken.board, broken.finished) == (prefix.score, prefix.board, prefix.finished)
