"""How the compiled kernels are timed, alike for every game."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

ROUNDS = 7


def microseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median duration of a call in millionths of a second, so that rates come out in millions; one call before the
    ``rounds`` is not counted."""
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times) * 1e6
