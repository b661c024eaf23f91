"""How likely so many flags are: exact, against a slow twin in fractions, and what must hold whatever the numbers are."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from math import comb, factorial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.flag_rates import (
    LEAST_PAST,
    LOWEST,
    OWN_WEIGHT,
    PRIOR,
    WIDER_WEIGHT,
    Limits,
    Usual,
    chance_words,
    is_far_above,
    tail,
    usual_of,
    weighed,
)  # fmt: skip

USUALS = st.integers(2, 60).flatmap(lambda games: st.builds(Usual, st.integers(1, games - 1), st.just(games)))
DAYS = st.integers(0, 80).flatmap(lambda games: st.tuples(st.integers(0, games), st.just(games)))
PASTS = st.integers(0, 5000).flatmap(lambda games: st.tuples(st.integers(0, games), st.just(games)))


def slow_tail(flags: int, games: int, usual: Usual) -> Fraction:
    """The beta-binomial tail by its definition: every count from ``flags`` on, by beta functions of whole numbers."""

    def beta(a: int, b: int) -> Fraction:
        return Fraction(factorial(a - 1) * factorial(b - 1), factorial(a + b - 1))

    a, b = usual.flags, usual.games - usual.flags
    terms = (comb(games, k) * beta(a + k, b + games - k) / beta(a, b) for k in range(max(flags, 0), games + 1))
    return sum(terms, Fraction(0))


def exact(flags: int, games: int, usual: Usual) -> Fraction:
    return Fraction(*tail(flags, games, usual))


@given(DAYS, USUALS)
@settings(max_examples=300)
def test_the_tail_is_the_slow_twins(day, usual):
    assert exact(*day, usual) == slow_tail(*day, usual)


@pytest.mark.parametrize("usual", [PRIOR, LOWEST, weighed(3, 20_000, OWN_WEIGHT), weighed(400, 1000, WIDER_WEIGHT)])
@pytest.mark.parametrize("day", [(0, 0), (1, 1), (0, 100), (1, 100), (20, 20), (20, 21), (50, 200), (200, 200), (201, 200)])
def test_the_tail_is_the_slow_twins_at_the_edges(day, usual):
    assert exact(*day, usual) == slow_tail(*day, usual)


@given(DAYS, USUALS)
def test_more_flags_are_less_likely(day, usual):
    """And none at all, or more, is certain."""
    flags, games = day
    assert exact(0, games, usual) == 1
    assert exact(games + 1, games, usual) == 0
    if flags:
        assert exact(flags, games, usual) < exact(flags - 1, games, usual)


@given(DAYS, USUALS)
def test_more_flags_in_the_past_make_them_more_likely_and_more_games_less(day, usual):
    flags, games = day
    more = Usual(usual.flags + 1, usual.games + 1)
    longer = Usual(usual.flags, usual.games + 1)
    assert exact(flags, games, longer) <= exact(flags, games, usual) <= exact(flags, games, more)
    assert exact(flags, games, usual) <= exact(flags, games + 1, usual)


@given(PASTS, st.sampled_from([OWN_WEIGHT, WIDER_WEIGHT]))
def test_a_past_weighs_no_more_than_it_may(past, weight):
    """Its share is that of the past, never rounded down, and two games more."""
    flags, games = past
    found = weighed(flags, games, weight)
    assert found.games == min(games, weight) + 2
    assert 0 < found.flags < found.games
    if games:
        scaled = Fraction(flags * min(games, weight), games)
        assert scaled <= found.flags - 1 < scaled + 1
    assert (found.past_flags, found.past_games) == past


@given(DAYS, PASTS, st.integers(1, 50))
@settings(max_examples=300)
def test_what_is_far_above_a_past_is_far_above_the_lowest(day, past, tests):
    """So a night that finds nothing far above the lowest need not look at any past."""
    for usual in (weighed(*past, OWN_WEIGHT), weighed(*past, WIDER_WEIGHT), PRIOR):
        assert not is_far_above(*day, usual, tests) or is_far_above(*day, LOWEST, tests)


@given(DAYS, USUALS, st.integers(1, 1000))
def test_more_tests_ask_for_more(day, usual, tests):
    """Bonferroni: of more groups each is held against a smaller chance; and all of it against the limit as it stands."""
    limits = Limits(alpha_per_million=50_000)
    flags, games = day
    assert not is_far_above(flags, games, usual, tests + 1, limits) or is_far_above(flags, games, usual, tests, limits)
    many_times = games and flags * usual.games >= 3 * usual.flags * games
    by_chance = slow_tail(flags, games, usual) * tests < Fraction(50_000, 1_000_000)
    assert is_far_above(flags, games, usual, tests, limits) == bool((many_times or not (games or flags)) and by_chance)


def test_nothing_is_far_above_at_an_alpha_of_nothing():
    assert not is_far_above(1000, 1000, LOWEST, 1, Limits(alpha_per_million=0))
    assert is_far_above(1000, 1000, LOWEST, 1, Limits(alpha_per_million=1))


@pytest.mark.parametrize(
    ("pasts", "of", "flags", "games"),
    [
        ([], "prior", 10, 40),
        ([("own", 0, 39), ("platform", 0, 39), ("game", 0, 39)], "prior", 10, 40),
        ([("own", 0, 40), ("platform", 9, 900)], "own", 1, 42),
        ([("own", 0, 39), ("platform", 9, 900), ("game", 30, 9000)], "platform", 2, 102),
        ([("own", 0, 0), ("platform", 0, 0), ("game", 9000, 90_000)], "game", 11, 102),
        ([("own", 20, 20_000)], "own", 2, 502),
        # A new version that was broken while few had it: what it was is no past to go by.
        ([("own", 45, 45), ("platform", 1, 1000)], "platform", 2, 102),
        # A third flagged: nothing could be three times that.
        ([("own", 20, 60)], "prior", 10, 40),
        ([("own", 19, 60)], "own", 20, 62),
    ],
)
def test_the_nearest_past_that_can_tell_is_taken(pasts, of, flags, games):
    found = usual_of(pasts)
    assert (found.of, found.flags, found.games) == (of, flags, games)
    assert LEAST_PAST == 40


@pytest.mark.parametrize(
    ("flags", "games", "usual", "words"),
    [
        (400, 410, PRIOR, "< 1 in 10^29"), (0, 10, PRIOR, "< 1 in 10^0"), (1, 1, Usual(1, 10), "< 1 in 10^0"),
        (1, 1, Usual(1, 11), "< 1 in 10^1"), (1, 1, Usual(1, 1000), "< 1 in 10^2"), (1, 1, Usual(1, 1001), "< 1 in 10^3"),
        (2, 1, PRIOR, "none"),
    ],
)  # fmt: skip
def test_the_chance_in_words_is_never_said_too_small(flags, games, usual, words):
    assert chance_words(flags, games, usual) == words
    if words != "none":
        assert exact(flags, games, usual) < Fraction(1, 10 ** int(words.partition("^")[2])) or words == "< 1 in 10^0"
        assert exact(flags, games, usual) >= Fraction(1, 10 ** (1 + int(words.partition("^")[2])))


def test_a_million_games_are_no_work():
    """Whole numbers of some thousand digits at most, whatever the day brings."""
    for usual in (PRIOR, weighed(166, 500, OWN_WEIGHT), LOWEST):
        numerator, denominator = tail(990_000, 1_000_000, usual)
        assert denominator.bit_length() < 12_000
        assert 0 < numerator * 10**40 < denominator


def test_what_can_be_told_and_what_not():
    """The figures that the module and the README state, for a night of 20 groups."""

    def least_held(games: int, usual: Usual) -> int:
        return bisect_left(range(games + 1), True, key=lambda flags: is_far_above(flags, games, usual, 20))

    one_in_thousand, two_percent = weighed(20, 20_000, OWN_WEIGHT), weighed(400, 20_000, OWN_WEIGHT)
    found = {
        games: [least_held(games, usual) for usual in (one_in_thousand, two_percent, weighed(20, 20_000, WIDER_WEIGHT), PRIOR)]
        for games in (20, 100, 410, 1000, 100_000)
    }
    assert found == {
        20: [4, 6, 7, 16], 100: [7, 12, 17, 75], 410: [16, 31, 54, 308], 1000: [30, 66, 123, 750],
        100_000: [2474, 6574, 11_708, 75_000],
    }  # fmt: skip
