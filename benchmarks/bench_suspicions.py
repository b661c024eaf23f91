"""How far honest games of one deal agree, and how fast and how even honest hands are: what the limits of suspicions rest on.

``python -m benchmarks.bench_suspicions [--players 100000] [--experts 40000]`` prints, for each game, how many pairs of players
agree for n choices, how likely the next choice is the same then, how many pairs of a day that leaves, and by skill how many ticks
a choice takes and how often the most frequent time between inputs comes.  ``replay.suspicions`` holds the figures of one run.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from rich.console import Console
from rich.table import Table

from replay import suspicion_kernel as k
from replay.players import SKILL_SHARES, make_players
from replay.plays import PLAYS, GamePlay
from replay.relations import ALIKE_PERCENT, DELAY_TICKS, LEAST_TIMES
from replay.suspicions import timing_of

DAY = date(2026, 10, 31)
# A run of the same steering input is a choice; what is dropped before it belongs to it.
_CHOICE = re.compile("[dh]*(?:l+|r+|x+|z+|c+)")
_DIGITS = re.compile("[0-9]+")
_BLOCKS = re.compile(r"\*|...")
SKILLS = list(SKILL_SHARES)
EXPERT = SKILLS.index("expert")
# Chances that the next choice is the same too, beyond what was seen: the mean of what was seen, and the most of it.
NEXT_SAME = (0.5, 0.6)
PEOPLE = 1_000_000
CHUNK = 2_000


def choices_of(game: str, moves: str) -> list[str]:
    """A log cut after each choice."""
    if game == "blocks":
        return _BLOCKS.findall(moves)
    return _CHOICE.findall(_DIGITS.sub("", moves))


def table_of(game: str, mode: str | None = None) -> tuple[GamePlay, Any, Any, str]:
    """(what simulates the game, its bots' table of the day's deal, the rules, the mode)."""
    from replay.challenges import load_challenges
    from replay.rulebook import load_rulebook

    rulebook = load_rulebook()
    challenge = load_challenges(None, rulebook).find(game, DAY.isoformat())
    assert challenge is not None
    rules: Any = rulebook.find(game, challenge.rules)
    mode = mode or challenge.mode
    return PLAYS[game], PLAYS[game].table(rules, challenge, mode), rules, mode


def simulated(game: str, players: int, weights: Sequence[int], rng_seed: int = 7) -> list[tuple[int, str]]:
    """(skill, log) of the first attempts of ``players`` people, of skills by weight."""
    play, table, rules, mode = table_of(game)
    rng = random.Random(f"{rng_seed} {game} {weights}")
    player = make_players(1, 1)[0]
    out: list[tuple[int, str]] = []
    while len(out) < players:
        skills = rng.choices(range(len(weights)), weights, k=min(CHUNK, players - len(out)))
        orders = []
        for skill in skills:
            who = player._replace(skill=skill)
            orders.append(play.order(rng.getrandbits(64), who, play.habit(rng, who, rules, mode, 1)))
        out += [(skill, played.moves) for skill, played in zip(skills, table.play(orders), strict=True)]
    return out


def agreement(game: str, logs: Sequence[str]) -> list[int]:
    """The pairs of logs that agree for n choices, by n from 0."""
    cut = [choices_of(game, log) for log in logs]
    groups, pairs = [list(range(len(logs)))], []
    while groups:
        pairs.append(sum(len(group) * (len(group) - 1) // 2 for group in groups))
        depth, split = len(pairs) - 1, []
        for group in groups:
            by_next: dict[str, list[int]] = {}
            for index in group:
                if depth < len(cut[index]):
                    by_next.setdefault(cut[index][depth], []).append(index)
            split += [found for found in by_next.values() if len(found) > 1]
        groups = split
    return pairs


def same_inputs(game: str, logs: Sequence[str]) -> list[list[int]]:
    """The groups of logs that agree from end to end, times left out."""
    groups: dict[str, list[int]] = {}
    for index, log in enumerate(logs):
        groups.setdefault(log if game == "blocks" else _DIGITS.sub("", log), []).append(index)
    return [group for group in groups.values() if len(group) > 1]


def alike(one: Sequence[int], other: Sequence[int]) -> int:
    """How many times of thought are the same but for DELAY_TICKS."""
    return sum(abs(a - b) <= DELAY_TICKS for a, b in zip(one, other, strict=True))


def thinks_of(log: str) -> list[int]:
    """A log's times of thought."""
    facts, thinks = [0] * k.N_FACTS, [0] * k.THINKS
    k.read_timing(log.encode("ascii"), 0, len(log), facts, [0] * k.GAPS, thinks, bytearray(len(log)))
    return thinks[: facts[k.F_THINKS]]


def choices_table(game: str, name: str, logs: Sequence[str]) -> Table:
    """Pairs that agree for n choices, and what is left of a day of PEOPLE players."""
    pairs = agreement(game, logs)
    scale = PEOPLE * (PEOPLE - 1) / 2 / pairs[0]
    title = f"{game}, {name}: {len(logs):,} players, longest agreement {len(pairs) - 1} choices"
    table = Table("choices", "pairs", "next the same", f"pairs of {PEOPLE:,} players a year", title=title)
    for depth in (0, 1, 2, 4, 6, 8, 10, 12, 15, 20, 30, 50, 100, 200):
        if depth < len(pairs):
            on = f"{pairs[depth + 1] / pairs[depth]:.3f}" if depth + 1 < len(pairs) else ""
            table.add_row(str(depth), f"{pairs[depth]:,}", on, f"{365 * scale * pairs[depth]:,.0f}")
    # From the last depth that enough pairs reach.
    last = max(depth for depth, count in enumerate(pairs) if count >= 10)
    for same in NEXT_SAME:
        beyond = 365 * scale * pairs[last] * same ** (30 - last)
        if last < 30:
            table.add_row("30", "", f"taken as {same}", f"{beyond:,.1f}")
    lengths = sorted(len(choices_of(game, log)) for log in logs)
    ends = sum(30 <= length < 40 for length in lengths) / len(lengths) / 10
    table.add_row("end at a choice, 30 to 39", "", f"{ends:.4f}", "")
    groups = same_inputs(game, logs)
    table.add_row("whole logs", f"{sum(len(g) * (len(g) - 1) // 2 for g in groups):,}", "", "")
    if game != "blocks":
        thinks = {index: thinks_of(logs[index]) for group in groups for index in group}
        both = [(thinks[a], thinks[b]) for group in groups for at, a in enumerate(group) for b in group[:at]]
        long = [(a, b) for a, b in both if len(a) >= LEAST_TIMES]
        close = sum(100 * alike(a, b) >= ALIKE_PERCENT * len(a) for a, b in long)
        share = sum(alike(a, b) for a, b in long) / max(1, sum(len(a) for a, _ in long))
        table.add_row("  of them with their pauses alike", f"{close:,} of {len(long):,}", f"{share:.3f} a pause", "")
    return table


def hands_table(game: str, players: int) -> Table:
    """Ticks a choice and the share of the most frequent time between inputs, by skill."""
    table = Table("skill", "fastest", "fastest 1 %", "median", "most even", "median", title=f"{game}: {players:,} games a skill")
    for skill, name in enumerate(SKILLS):
        logs = simulated(game, players, [int(skill == other) for other in range(len(SKILLS))])
        facts = [timing_of(log.encode("ascii")) for _, log in logs]
        paces = sorted(f[k.F_PLAYED] / f[k.F_CHOICES] for f in facts if f[k.F_CHOICES] >= 30)
        even = sorted(f[k.F_EVEN] / f[k.F_GAPS] for f in facts if f[k.F_GAPS] >= 60)
        table.add_row(
            name, f"{paces[0]:.2f} ticks", f"{paces[len(paces) // 100]:.2f}", f"{paces[len(paces) // 2]:.2f}", f"{even[-1]:.2f}",
            f"{even[len(even) // 2]:.2f}",
        )  # fmt: skip
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="What the limits of suspicions rest on.")
    parser.add_argument("--players", type=int, default=100_000, help="players of a deal of the block puzzle")
    parser.add_argument("--experts", type=int, default=40_000, help="players of a deal of the block puzzle who are all experts")
    parser.add_argument("--clocked", type=int, default=10_000, help="players of a deal of the other games")
    parser.add_argument("--hands", type=int, default=2_000, help="games of a skill for paces and rhythms")
    options = parser.parse_args()
    experts = [int(skill == EXPERT) for skill in range(len(SKILLS))]
    populations = (("all skills", list(SKILL_SHARES.values()), options.players), ("experts", experts, options.experts))
    for game in PLAYS:
        for name, weights, players in populations:
            wanted = players if game == "blocks" else min(players, options.clocked)
            logs = [log for _, log in simulated(game, wanted, weights)]
            Console().print(choices_table(game, name, logs))
        if game != "blocks":
            Console().print(hands_table(game, options.hands))


if __name__ == "__main__":
    main()
