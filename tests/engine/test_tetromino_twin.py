"""Tetromino Arcade: both engines equal the slow twin, game by game and to the last field, on honest and on mutated games.

REPLAY_TWIN_GAMES sets how many games are compared (1,000 unless told; 20,000 and more in the long run of the checks).  Games come
in numbered chunks, each with its own seed, so that a difference names the chunk and can be looked at alone:
``check_chunk(17)``.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.outcome import BOARD_UNREADABLE
from engine.tetromino.rules import load_rules
from tests.engine.random_tetromino import make_games
from tests.engine.support import check_chunks
from tests.engine.tetromino_support import RULES_FOLDER, Case, by_twin, interpreted, opened, rules
from tests.engine.tetromino_twin_check import CHUNK, check_chunk
from tests.reference import tetromino as twin

GAMES = int(os.environ.get("REPLAY_TWIN_GAMES", "1000"))
# Below this a pool of processes costs more than it saves.
POOL_FROM = 5_000
# A run in which one of these never happened would prove little.
MUST_HAPPEN = {
    "plain 0", "plain 1", "plain 2", "plain 3", "plain 4", "full 0", "full 2", "full 3", "mini 0", "mini 1", "back-to-back",
    "perfect clear", "rescue", "locked above the field", "lock timer reset", "no reset left", "locked by time", "no fault",
    "fault bad_token", "fault hold_twice", "fault after_end", "fault deal_exhausted",
}  # fmt: skip
# These are rarer.
MUST_HAPPEN_IN_LONG_RUNS = {"full 1", "mini 2", "40 lines"}


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


class TickByTick(twin.Game):
    """The twin without skipping any tick."""

    def idle_ticks(self) -> int:
        return 0


def test_skipped_ticks_are_idle() -> None:
    """The twin skips ticks; one that looks at every tick says the same."""
    compared = 0
    for played in make_games(random.Random("every tick"), 150):
        # A game that is left alone for a day would take minutes here.
        if not re.search(rb"[0-9]{5}", played.case.log):
            assert by_twin(played.case, TickByTick) == played.expected, played.case
            compared += 1
    assert compared > 75


class RoundGravity(twin.Game):
    """Gravity whose rows fall due exactly at the end of a tick, which no value of the built-in table does."""

    VALUES = (16_384, 32_768, 65_536, 131_072, 8_192)

    def gravity(self) -> int:
        return self.VALUES[(min(self.level, 20) - 1) % 5]


def test_rows_that_fall_due_exactly(tmp_path: Path) -> None:
    text = (RULES_FOLDER / "1.0.0.toml").read_text("utf-8")
    table = ", ".join(str(value) for value in RoundGravity.VALUES * 4)
    changed, hits = re.subn(r"^(normal|beginner) = \[[^]]*\]", rf"\1 = [{table}]", text, flags=re.MULTILINE)
    assert hits == 2
    path = tmp_path / "1.0.0.toml"
    path.write_text(changed, "utf-8")
    loaded = load_rules(path)
    for played in make_games(random.Random("round gravity"), 150):
        assert interpreted(loaded, played.case) == by_twin(played.case, RoundGravity), played.case


LETTERS = st.sampled_from(list(b"lrxzdhclrxzdh0123456789 \n"))
LOGS = st.one_of(st.binary(max_size=40), st.lists(LETTERS, max_size=80).map(bytes))
SEEDS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 2**32, 2**53 + 1, 2**63, 2**64 - 1]))


@settings(max_examples=150, deadline=None)
@given(LOGS, SEEDS, st.sampled_from(twin.MODES), st.sampled_from([None, "T", "IOTZ"]))
def test_no_log_makes_a_replay_raise(log: bytes, seed: int, mode: str, pieces: str | None) -> None:
    case = Case(log, mode, seed, pieces)
    assert interpreted(rules(), case) == by_twin(case)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text("IJLOSTZ/-0123456789", max_size=60).map(str.encode)))
def test_no_claimed_board_makes_its_reader_raise(text: bytes) -> None:
    readable = opened(rules(), Case(b"")).board_equals(text.decode("latin-1")) != BOARD_UNREADABLE
    assert readable == (twin.read_board(text.decode("latin-1")) is not None)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["l", "r", "x", "z", "d", "h", "5d", "40x", "700l"]), max_size=40), SEEDS, st.data())
def test_a_prefix_is_the_game_as_it_stood(tokens: list[str], seed: int, data: st.DataObject) -> None:
    """The first n tokens give what stepping through the whole log shows after n tokens, and know nothing of the rest."""
    cut = data.draw(st.integers(0, len(tokens)))
    game = opened(rules(), Case("".join(tokens).encode(), "zen", seed))
    for _ in range(cut):
        game.step()
    prefix = interpreted(rules(), Case("".join(tokens[:cut]).encode(), "zen", seed))
    assert (prefix.score, prefix.best_combo, prefix.board, prefix.moves) == (game.score, game.best_combo, game.board, cut)
    broken = interpreted(rules(), Case(("".join(tokens[:cut]) + " 99?").encode(), "zen", seed))
    assert broken.fault == ("bad_token", cut)
    assert (broken.score, broken.board, broken.finished) == (prefix.score, prefix.board, prefix.finished)
