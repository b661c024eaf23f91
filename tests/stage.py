"""The thread in which Playwright runs.

Playwright keeps the event loop of its thread running all the time, and starts in no thread that has one running already, as what
another test leaves behind may be.  In a thread of its own it is in nobody's way, as nobody is in its.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_STAGE = ThreadPoolExecutor(1, "playwright")


def on_stage(call: Callable[P, T]) -> Callable[P, T]:
    """The function, a test for instance, in Playwright's thread; raises what it raises."""

    @wraps(call)
    def run(*args: P.args, **kw: P.kwargs) -> T:
        return _STAGE.submit(call, *args, **kw).result()

    return run
