"""Suspicions: signs that a person should look at a game.  None of them stops a game from counting, and each shows its numbers.

This module judges what one game says by itself: ``superhuman_pace`` and ``machine_timing``. ``copied_log`` needs other uploads
(``replay.relations``), ``clock_ratio`` the other games of the day (``replay.clocks``). The limits are ``JudgeSettings``; where
they come from, and how often an honest game meets them, is this. Figures are of simulated people
(``benchmarks.bench_suspicions``, the challenges of 2026-10-31), for there is no corpus of honest people's times: an operator
who has one runs it on that.

**A log that is somebody else's.** All players of a day have one deal, so equal logs are no wonder as long as chance explains
them. Model: two players agree for n choices, then the next choice is the same with a chance q; whole logs are equal when both
end there too. A choice of the block puzzle is a placement when two different ones or more were possible (a forced one is none),
a choice in a game with a clock a run of one steering input: which way, how far.

- Block puzzle, 100,000 players of all skills: of 5.0 x 10^9 pairs 98,100 agree for 4 choices, 975 for 8, 65 for 12, 8 for 15,
  one for 22, the longest; q rises to 0.42-0.60 from 6 choices on. 40,000 experts: 10,047 of 8.0 x 10^8 for 8, 475 for 12, 5
  for 20, longest 23. On a year of days with 1,000,000 players of a deal that leaves 9 (q = 0.5) to 165 (q = 0.6) pairs that
  agree for 30 choices; at most 0.8 % of games end at any one choice there, so **at 30 choices fewer than 4 honest pairs a
  year** have one whole log, and about one in 7 years at the mean q (if all were experts: 4 to 42 a year). Hence
  ``copied_min_choices`` = 30.
- With a clock strong players move alike, q is 0.9 and more: of 10,000 Tetromino players 407 of 5.0 x 10^7 pairs agree for 100
  choices, and 17 (of 10,000 experts 1,513) in all inputs of the whole game, so inputs prove nothing. Their pauses for thought
  do: the time before the first input after a hard drop is the same but for two ticks in 0.26 of those pairs' pauses. Nine in
  ten of 24 pauses or more are so by chance with 2.5 x 10^-11: **0.002 honest pairs a year** (1,000,000 experts: 0.1). Fewer
  pauses are compared in no way but that the logs are the same text. People who think alike to the tick would meet it sooner:
  with 0.4 in place of 0.26 it were 11 pairs a year.
- Few options, as in a puzzle with one good line, break the model: how many players share the log tells, and stands beside it.
  Two AI players may be one program that plays one deal in one way, so of them neither is a copy.
- A log that is another's in part only (C4) is not looked for: in a game with a clock honest pairs agree for 100 choices by
  the hundred among 10,000 players, and in the block puzzle any part that is long enough needs a key for each length. A key
  that is pressed without effect, or a pause that is moved by more, hides a copy: this finds the careless.

**Pace.** Block puzzle: the wall clock is the only one, 0 s included. The simulated expert's median is 1.9 s a move, log-normal
with sigma 0.35 between games: below 0.2 s are 10^-5 games on a day of 1,000,000, and 0.5 if all experts were twice as fast.
With a clock the log's own ticks count. The fastest of 2,000 games of a skill took 12.4 ticks a choice (median of experts 14.0;
AI players, who have no hands and are left out, 7.0), in Tetcolor 16.0. Below 4 ticks, 15 choices a second for 30 choices or
more, falls **at most one honest game on a day of 1,000,000** while experts' paces differ from one another by a sigma of 0.28 or
less.

**Machine timing.** Of the times between inputs those count that lie between two different letters in different ticks, up to a
second: the same letter again is a key held down or one that repeats by itself, one tick is two keys or a stutter. Hands that
find their most frequent time with a chance p show it in nine of ten of 60 times or more with 5 x 10^-11 (p = 0.5) or 10^-6 (p =
0.62): **at most one honest game on a day of 1,000,000** up to p = 0.62. The most even simulated person had 0.35, an AI player
0.47.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from replay import suspicion_kernel as k

if TYPE_CHECKING:
    from replay.verdict import JudgeSettings

# What an evidence's name is for whoever shows a verdict: these are told with the suspicion of the same name.
EVIDENT = ("copied_log", "superhuman_pace", "machine_timing", "clock_ratio")
Signs = tuple[tuple[str, ...], dict[str, Any]]
NO_SIGNS: Signs = ((), {})


def timing_of(log: bytes) -> list[int]:
    """The facts (``replay.suspicion_kernel``) of one log with a clock, interpreted."""
    facts = [0] * k.N_FACTS
    k.read_timing(log, 0, len(log), facts, [0] * k.GAPS, [0] * k.THINKS, bytearray(len(log)))
    return facts


def pace_signs(moves: int, micros: int, settings: JudgeSettings) -> Signs:
    """A game without a clock of its own: ``moves`` placements in ``micros`` of the wall clock."""
    if moves < settings.pace_min_tokens or micros >= settings.pace_min_ms_per_token * 1000 * moves:
        return NO_SIGNS
    numbers = {"least_ms_a_move": settings.pace_min_ms_per_token, "milliseconds": micros // 1000, "moves": moves}
    return ("superhuman_pace",), {"superhuman_pace": numbers}


def clock_signs(facts: Sequence[int], settings: JudgeSettings) -> Signs:
    """A game with a clock: ``facts`` are its log's, and the wall clock plays no part."""
    played, choices, gaps, even = (int(facts[at]) for at in (k.F_PLAYED, k.F_CHOICES, k.F_GAPS, k.F_EVEN))
    codes: list[str] = []
    evidence: dict[str, Any] = {}
    if choices >= settings.pace_min_choices and played < settings.pace_min_ticks_per_choice * choices:
        codes.append("superhuman_pace")
        least = settings.pace_min_ticks_per_choice
        evidence["superhuman_pace"] = {"choices": choices, "least_ticks_a_choice": least, "ticks": played}
    if gaps >= settings.even_min_gaps and 100 * even >= settings.even_percent * gaps:
        codes.append("machine_timing")
        evidence["machine_timing"] = {"equal": even, "gaps": gaps, "ticks": int(facts[k.F_EVEN_TICKS])}
    return tuple(codes), evidence


def hand_signs(judges_pace: bool, human: bool, moves: int, micros: int, log: bytes, settings: JudgeSettings) -> Signs:
    """What a game's timing says.  ``judges_pace``: the game has no clock of its own.  An AI player has no hands to judge."""
    if not human:
        return NO_SIGNS
    return pace_signs(moves, micros, settings) if judges_pace else clock_signs(timing_of(log), settings)
