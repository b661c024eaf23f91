"""Where a night's time went: seconds by step, and of every verified shard.  For show only: nothing that is published by a night
depends on it, and it never enters verdicts, run.json or the warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replay.shards import Shard


@dataclass(frozen=True)
class ShardTime:
    """The time of one shard: ``number`` within its day, ``file`` that it is cut from, ``records`` taken up, ``seconds``."""

    number: int
    file: str
    records: int
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Timings:
    """What was measured: ``steps`` in seconds by name, ``shards`` in any order.

    ``verify`` is the sum over the shards: work, not the time that passed, as shards may run beside each other.
    """

    steps: dict[str, float] = field(default_factory=dict)
    shards: list[ShardTime] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure a step; one that fails is not noted."""
        began = monotonic()
        yield
        self.steps[name] = monotonic() - began

    def shard(self, shard: Shard, records: int, began: float) -> None:
        """Note a shard that began at ``began`` (of ``monotonic``) and ended now."""
        self.shards.append(ShardTime(shard.number, shard.name, records, monotonic() - began))

    def as_json(self) -> dict[str, Any] | None:
        """For the report: ``steps`` (seconds, in the night's order) and ``slowest_shard`` (file, number, records, seconds,
        games_per_second; None for a day without shards).  None when nothing was measured."""
        if not self.steps and not self.shards:
            return None
        steps = dict(self.steps)
        if self.shards:
            steps["verify"] = sum(shard.seconds for shard in self.shards)
        order = ("land", "pull", "plan", "verify", "publish", "standings", "late")
        found = max(self.shards, key=lambda shard: (shard.seconds, -shard.number), default=None)
        slowest = found and {
            **found.as_json(),
            "seconds": round(found.seconds, 3),
            "games_per_second": round(found.records / found.seconds) if found.seconds else None,
        }
        shown = {name: round(steps[name], 3) for name in order if name in steps}
        return {"steps": shown, "slowest_shard": slowest}
