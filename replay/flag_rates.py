"""How likely so many flags are in a group of games, given what is known of its past: exact, in whole numbers, everywhere alike.

The share of a group's games that is flagged differs from day to day: cheats come and go, a weekend brings other players.  So a
day's share is taken for one draw from a Beta distribution, and k flags of n games are held against the beta-binomial tail

    P(K >= k) = sum over j < a of C(s, j) C(m + n - s, m - j) / C(m + n, m),  s = k + a - 1, m = a + b - 1

with whole numbers a and b of what the past amounts to: ``Usual(flags=a, games=a + b)``.  (The day's share is the a-th smallest of
m even numbers; k or more games fall below it exactly when at most a - 1 of the m lie among the first s of all m + n.)

However many games lie in the past, they weigh no more than OWN_WEIGHT of a group's own or WIDER_WEIGHT of others': this is what
lets honest days differ, and one app from another.  500 is a share of 2 percent that is off by a third of itself from day to day,
one of 0.1 percent that is off by one and a half times; a share that is steadier than that is only held back more seldom.  Because
of it a significant share is always one several times the usual, whatever the number of games: in a night of 20 groups nothing
below 2.4 percent is held back where 0.1 percent is usual, and nothing below 6.5 where 2 percent is (``Limits.times`` says so once
more for pasts that are short).

One honest group in 1,000 nights at most, by Bonferroni's rule: the chance is held against ``alpha_per_million`` divided by the
number of groups of the day that are large enough to be tested.

What can be told, and what cannot, by ``python -m benchmarks withheld``: see there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

MILLION = 1_000_000
# Games that a group's own past, and that of other versions and platforms, weigh at most.
OWN_WEIGHT, WIDER_WEIGHT = 500, 100
# Fewer games than this are no past of anything.
LEAST_PAST = 40


@dataclass(frozen=True)
class Limits:
    """When flags are held back.

    ``alpha_per_million``: the chance in a million that an honest group is held back in a night, all its groups together (0 holds
    nothing back).  ``least``: fewer flags are never held back in a group that was not held back when it was seen last; a group
    of fewer games cannot be told from one with a few cheats in it.  ``times``: the share must be so many times the usual.
    ``days``: published days before the day that are its past.
    """

    alpha_per_million: int = 1000
    least: int = 20
    times: int = 3
    days: int = 28


@dataclass(frozen=True)
class Usual:
    """What is usual, as flags among games: of those that a past of any length amounts to, and the two that are added to any.

    0 < ``flags`` < ``games``.  ``of`` says whose past it is: ``own``, ``platform`` (the game's other apps there), ``game`` (all
    its other apps), or ``prior``; ``past_flags`` of ``past_games`` are what was counted there.
    """

    flags: int
    games: int
    of: str = "own"
    past_flags: int = 0
    past_games: int = 0


# Of a lake without a past nothing is known: a quarter of the games of an app may be forged, give or take 7 percent.
PRIOR = Usual(10, 40, "prior")
# No past says less of flags than this one, so what is not far above it is far above none.
LOWEST = Usual(1, OWN_WEIGHT + 2)


def weighed(flags: int, games: int, weight: int, of: str = "own") -> Usual:
    """``flags`` among ``games``, of which there may be none, as what is usual: at most ``weight`` games, flags rounded up."""
    taken = min(games, weight)
    scaled = -(-flags * taken // games) if games else 0
    return Usual(scaled + 1, taken + 2, of, flags, games)


def usual_of(pasts: list[tuple[str, int, int]], limits: Limits = Limits()) -> Usual:
    """The first of the pasts (whose, flags, games), nearest first, that can tell; PRIOR when none can.

    A past can tell that has LEAST_PAST games, and not so many flags that nothing could be ``times`` as much: the past of a new
    version while few had it yet and it was broken already, for instance.
    """
    for of, flags, games in pasts:
        if games >= LEAST_PAST and flags * limits.times < games:
            return weighed(flags, games, OWN_WEIGHT if of == "own" else WIDER_WEIGHT, of)
    return PRIOR


def tail(flags: int, games: int, usual: Usual) -> tuple[int, int]:
    """The chance of so many flags or more among so many games, as (numerator, denominator), not reduced."""
    a, m, n = usual.flags, usual.games - 1, games
    if flags <= 0:
        return 1, 1
    s, total = flags + a - 1, comb(m + n, m)
    first = max(0, s - n)
    if first >= a:
        return 0, total
    term = comb(s, first) * comb(m + n - s, m - first)
    found = term
    for j in range(first, a - 1):
        # The next term is a whole number too.
        term = term * (s - j) * (m - j) // ((j + 1) * (n - s + j + 1))
        found += term
    return found, total


def is_far_above(flags: int, games: int, usual: Usual, tests: int, limits: Limits = Limits()) -> bool:
    """Whether so many flags among so many games are no honest day's, of ``tests`` groups that are tested that day."""
    if flags * usual.games < limits.times * usual.flags * games:
        return False
    numerator, denominator = tail(flags, games, usual)
    return numerator * max(1, tests) * MILLION < limits.alpha_per_million * denominator


def chance_words(flags: int, games: int, usual: Usual) -> str:
    """The chance of it, for people: ``< 1 in 10^N``."""
    numerator, denominator = tail(flags, games, usual)
    if not numerator:
        return "none"
    quotient = (denominator - 1) // numerator
    power = max(0, quotient.bit_length() - 1) * 30103 // 100_000
    while 10 ** (power + 1) <= quotient:
        power += 1
    while power and 10**power > quotient:
        power -= 1
    return f"< 1 in 10^{power}"
