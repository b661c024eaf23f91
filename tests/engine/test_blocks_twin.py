"""The engine equals the slow twin, game by game and to the last field, on honest and on mutated random games.

REPLAY_TWIN_GAMES sets how many games are compared (2,000 unless told; 100,000 in the long run of the checks).  Games come in
numbered chunks, each with its own seed, so that a difference names the chunk and can be looked at alone:
``check_chunk(17)``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.blocks import kernel
from engine.blocks.single import trace
from tests.engine.random_games import SETTINGS
from tests.engine.support import VERSIONS, Case, by_twin, check_chunks, interpreted, opened, rules
from tests.engine.twin_check import CHUNK, check_chunk
from tests.reference import blocks as twin

GAMES = int(os.environ.get("REPLAY_TWIN_GAMES", "2000"))
# Below this a pool of processes costs more than it saves.
POOL_FROM = 10_000


def chunks_checked() -> Iterator[tuple[list[str], int, int]]:
    # At least one chunk of every setting.
    chunks = range(max(-(-GAMES // CHUNK), len(SETTINGS)))
    return check_chunks(check_chunk, chunks, GAMES >= POOL_FROM)


def test_engine_equals_the_slow_twin() -> None:
    faults: list[str] = []
    fast = moves = 0
    for found, fast_here, moves_here in chunks_checked():
        faults += found
        fast += fast_here
        moves += moves_here
    assert not faults, f"{len(faults)} differences, the first:\n" + "\n\n".join(faults[:3])
    # A run in which hardly any game got anywhere, or none took the fast case, would prove little.
    assert moves > 8 * GAMES
    assert fast > GAMES // 20


LETTERS = st.sampled_from(list(b"123abcdefghijk0123456789* \n"))
LOGS = st.one_of(st.binary(max_size=40), st.lists(LETTERS, max_size=60).map(bytes))
TOKENS = st.builds(twin.write_token, st.integers(1, 3), st.integers(0, 7), st.integers(0, 7))
GAMES_BY_TOKENS = st.lists(TOKENS, max_size=40)
SEEDS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 2**32, 2**53 + 1, 2**63, 2**64 - 1]))


@settings(max_examples=150, deadline=None)
@given(LOGS, SEEDS, st.sampled_from(["daily", "training", "arena"]), st.sampled_from(VERSIONS))
def test_no_log_makes_a_replay_raise(log: bytes, seed: int, mode: str, version: str) -> None:
    case = Case(log, mode, seed)
    assert interpreted(rules(version), case) == by_twin(twin.VALUES[version], case)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60), st.integers(4, 11), st.integers(4, 11))
def test_no_claimed_board_makes_its_reader_raise(text: bytes, width: int, height: int) -> None:
    rows = [0] * height
    readable = kernel.parse_board(text, 0, len(text), width, height, rows) == kernel.BOARD_EQUAL
    cells = twin.read_board(text.decode("latin-1"), width, height)
    assert readable == (cells is not None)
    if cells is not None:
        assert rows == [sum(1 << x for x in range(width) if (x, y) in cells) for y in range(height)]


def only_legal(version: str, seed: int, tokens: list[str]) -> list[str]:
    """The tokens that are legal where they stand: a legal game from any list of tokens."""
    kept: list[str] = []
    game = twin.Game(twin.VALUES[version], "daily", seed)
    for text in tokens:
        (token,) = twin.read_tokens(text.encode())
        if game.complaint(token) is None:
            game.apply(token)
            kept.append(text)
    return kept


@settings(max_examples=100, deadline=None)
@given(GAMES_BY_TOKENS, SEEDS, st.sampled_from(VERSIONS))
def test_a_legal_game_adds_up(tokens: list[str], seed: int, version: str) -> None:
    """Points only grow and are at least 4 a cell; cells placed less cells emptied are the cells on the board."""
    loaded = rules(version)
    legal = only_legal(version, seed, tokens)
    game = opened(loaded, Case(" ".join(legal).encode(), seed=seed))
    placed = emptied = score = 0
    for step in trace(game):
        placed += len(step.cells)
        rows, columns = len(step.full_rows), len(step.full_columns)
        emptied += 8 * (rows + columns) - rows * columns
        assert step.lines == rows + columns
        assert step.gain == 4 * len(step.cells) + loaded.base[step.lines] * step.multiplier
        assert step.gain <= loaded.max_placement
        assert (step.multiplier > 0) == (step.lines > 0)
        assert step.score == score + step.gain
        score = step.score
        assert score >= 4 * placed
        assert len(twin.read_board(step.board, 8, 8)) == placed - emptied
        assert step.board == "-" or len(twin.read_board(step.placed, 8, 8)) >= len(step.cells)
    assert game.outcome().moves == len(legal)
    assert game.outcome().score == score


@settings(max_examples=60, deadline=None)
@given(GAMES_BY_TOKENS, SEEDS, st.data())
def test_a_prefix_is_the_game_as_it_stood(tokens: list[str], seed: int, data: st.DataObject) -> None:
    """Replaying the first n tokens gives what the whole replay showed after n tokens, and knows nothing of the rest."""
    legal = only_legal("1.2.0", seed, tokens)
    cut = data.draw(st.integers(0, len(legal)))
    steps = list(trace(opened(rules("1.2.0"), Case("".join(legal).encode(), seed=seed))))
    prefix = interpreted(rules("1.2.0"), Case("".join(legal[:cut]).encode(), seed=seed))
    if cut:
        assert (prefix.score, prefix.best_combo, prefix.board) == (
            steps[cut - 1].score, steps[cut - 1].best_combo, steps[cut - 1].board,
        )  # fmt: skip
    assert prefix.moves == cut
    # A bad token after it changes nothing but the fault.
    broken = interpreted(rules("1.2.0"), Case("".join(legal[:cut]).encode() + b"?", seed=seed))
    assert broken.fault == ("bad_token", cut)
    assert (broken.score, broken.board, broken.finished) == (prefix.score, prefix.board, prefix.finished)


@pytest.mark.parametrize("version", VERSIONS)
def test_white_space_means_nothing(version: str) -> None:
    values = twin.VALUES[version]
    legal = only_legal(version, 7, [twin.write_token(1, x, y) for y in range(8) for x in range(8)])
    assert len(legal) > 5
    expected = by_twin(values, Case("".join(legal).encode(), seed=7))
    for space in (" ", "\t", "\n", "\v", "\f", "\r", "  \r\n "):
        assert interpreted(rules(version), Case((space + space.join(legal) + space).encode(), seed=7)) == expected
