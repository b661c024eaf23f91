"""The generator and its seeds (field case B1): the published outputs, and seeds at the edges of 32, 53 and 63 bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.blocks import kernel
from engine.blocks.batch_kernel import BATCH
from engine.blocks.single import Game
from engine.random import SplitMix64
from replay.challenges import load_challenges
from tests.engine.support import rules

# The first five outputs for the seed 1234567, as published with the generator.
PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]

# B1: seed, first output, first six pieces of the blocks deal.
EDGES = [
    (0, 16294208416658607535, "Va Sv 1 Vd I3h L3c"),
    (2**32, 14135772400868000056, "Ju I5h Lr Sv Td I2h"),
    (2**53, 14898857794701533647, "Jd I4h Tu Tr L3c Tu"),
    (2**53 + 1, 386430782533759031, "1 Ld L3b Tl Vb I5h"),
    (2**63, 5196802822362493915, "L3a Ju O L3d I2h L3b"),
    (2**64 - 1, 16490336266968443936, "Vb Vb I5h Sh Ld Jd"),
]
SEEDS = [seed for seed, _, _ in EDGES]


def dealt_interpreted(seed: int, pieces: int) -> list[int]:
    deal = [0] * pieces
    kernel.fill_deal(seed, 35, deal, 0, pieces)
    return deal


def dealt_compiled(seed: int, pieces: int) -> list[int]:
    deal = np.zeros(pieces, np.int64)
    BATCH["fill_deal"](np.uint64(seed), np.uint64(35), deal, 0, pieces)
    return deal.tolist()


def names(deal: list[int]) -> str:
    return " ".join(rules("1.2.0").shapes[piece].name for piece in deal)


def test_published_outputs() -> None:
    stream = SplitMix64(1234567)
    assert [stream.next() for _ in range(5)] == PUBLISHED


@pytest.mark.parametrize(("seed", "first", "pieces"), EDGES)
def test_b1_first_output_and_deal(seed: int, first: int, pieces: str) -> None:
    assert SplitMix64(seed).next() == first
    stream = SplitMix64(seed)
    assert names([stream.below(35) for _ in range(6)]) == pieces
    assert names(dealt_interpreted(seed, 6)) == pieces
    assert names(dealt_compiled(seed, 6)) == pieces


@pytest.mark.parametrize("seed", [*SEEDS, 1, 2**31, 2**32 - 1, 2**53 - 1, 2**63 - 1, 0x9E3779B97F4A7C15])
def test_long_deals_agree(seed: int) -> None:
    """A rounding of the state (a double on the path) would show after a few words only."""
    stream = SplitMix64(seed)
    deal = [stream.below(35) for _ in range(5000)]
    assert dealt_interpreted(seed, 5000) == deal
    assert dealt_compiled(seed, 5000) == deal


def test_a_deal_is_written_where_it_is_asked_for() -> None:
    """Pieces are counted from the start of the deal, not from the start of the array."""
    deal = [-7] * 10
    kernel.fill_deal(2**53, 35, deal, 3, 9)
    assert deal == [-7] * 3 + dealt_interpreted(2**53, 6) + [-7]


def test_b1_neighbours_that_a_double_or_a_32_bit_word_cannot_tell_apart() -> None:
    assert float(2**53) == float(2**53 + 1)
    assert dealt_compiled(2**53, 6) != dealt_compiled(2**53 + 1, 6)
    assert dealt_compiled(2**32, 6) != dealt_compiled(0, 6)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_beyond_64_bits_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match=str(seed)):
        SplitMix64(seed)


def test_below_covers_its_range_and_stays_inside() -> None:
    stream = SplitMix64(42)
    assert {stream.below(5) for _ in range(500)} == set(range(5))
    assert {SplitMix64(seed).below(1) for seed in range(100)} == {0}
    # The largest bound allowed scales the upper half of the word to itself.
    assert SplitMix64(0).below(2**32 - 1) == ((EDGES[0][1] >> 32) * (2**32 - 1)) >> 32


def test_b1_seeds_pass_through_the_challenge_table_exactly(tmp_path: Path) -> None:
    table = tmp_path / "challenges.csv"
    lines = ["game,challenge,mode,rules,rng_seed,start_board,pieces"]
    lines += [f"blocks,edge-{number},training,1.2.0,{seed},," for number, seed in enumerate(SEEDS)]
    table.write_text("\n".join(lines) + "\n", "utf-8")
    challenges = load_challenges(table)
    for number, (seed, _, pieces) in enumerate(EDGES):
        challenge = challenges.find("blocks", f"edge-{number}")
        assert challenge is not None
        assert challenge.rng_seed == seed
        hand = Game(rules("1.2.0"), challenge.deal(rules("1.2.0")), b"", challenge.mode).hand_names
        assert " ".join(str(name) for name in hand) == " ".join(pieces.split()[:3])
