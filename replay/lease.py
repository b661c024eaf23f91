"""Who may write to a lake on an object store: a lease that runs out, with a number that tells an old holder from a new one.

``lock/<generation>.json`` is created only where there is none, so one writer gets each generation; the highest one holds.  The
holder writes its object again and again (the heartbeat).  The lease is free when its holder said so, or when the heartbeat is
older than the lease's seconds by the store's own clock: the machines' clocks play no part.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time

from replay.errors import NightError, NightRunning, ReplayError
from replay.store import Store

_BEATS = 6


class Lease:
    """The one writer's hold on a lake; ``seconds`` is how long a heartbeat counts.  Take it with ``acquire``."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(6).hex()}"
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._beat_at = 0.0
        self.generation = 0

    def acquire(self) -> None:
        """Take the lease.  Raises NightRunning at once when another writer holds it."""
        newest = self._newest()
        if newest and not self._is_free(newest):
            raise self._held(newest)
        self.generation = newest + 1
        started = time.monotonic()
        if not self._store.create(_key(self.generation), self._text(released=False)):
            raise self._held(self.generation)
        self._beat_at = started
        self._store.delete(key for key in self._store.list("lock") if key < _key(self.generation))
        self._thread = threading.Thread(target=self._beat, name="replay-lease", daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Let the next writer in; raises nothing: a lease that cannot be given back runs out by itself."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        try:
            if self._newest() == self.generation and self._is_mine():
                self._store.write(_key(self.generation), self._text(released=True))
        except ReplayError:
            return

    def prove(self) -> None:
        """Raises NightRunning unless this is still the holder, with a heartbeat that counts."""
        age = time.monotonic() - self._beat_at
        newest = self._newest()
        if newest != self.generation:
            raise NightRunning(
                f"{self._store.url}: another night took this lake over (lease {newest} after {self.generation}), nothing of this"
                " one is published; run it again"
            )
        if not self._is_mine():
            raise NightRunning(
                f"{self._store.url}: another night wrote its name over lease {newest} (does this store honour If-None-Match?),"
                " nothing of this one is published; run it again"
            )
        if age > self._seconds:
            raise NightRunning(
                f"{self._store.url}: the lease ran out {age - self._seconds:.0f} s ago (the machine or the store stood still),"
                " nothing of this night is published; run it again"
            )

    def _beat(self) -> None:
        while not self._stop.wait(self._seconds / _BEATS):
            started = time.monotonic()
            try:
                if self._newest() != self.generation or not self._is_mine():
                    # Whoever took it over would take a heartbeat for nothing; ``prove`` tells the night.
                    return
                self._store.write(_key(self.generation), self._text(released=False))
            except ReplayError:
                # The store may answer the next one; if not, the lease runs out and ``prove`` says so.
                continue
            self._beat_at = started

    def _is_mine(self) -> bool:
        held = self._store.read(_key(self.generation))
        return held is not None and self._holder.encode() in held

    def _newest(self) -> int:
        numbers = [key.removeprefix("lock/").removesuffix(".json") for key in self._store.list("lock")]
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    def _is_free(self, generation: int) -> bool:
        held = self._store.read(_key(generation))
        if held is None:
            return True
        try:
            if json.loads(held)["released"]:
                return True
        except (ValueError, KeyError, TypeError) as error:
            raise NightError(f"{self._store.name(_key(generation))}: is no lease, delete this object and run again") from error
        # What the store calls now: the time of an object that is written now.
        probe = f"lock/probe-{self._holder}"
        self._store.write(probe, b"")
        now, beat = self._store.modified(probe), self._store.modified(_key(generation))
        self._store.delete([probe])
        return beat is None or (now is not None and (now - beat).total_seconds() > self._seconds)

    def _held(self, generation: int) -> NightRunning:
        held = self._store.read(_key(generation)) or b"{}"
        try:
            holder = str(json.loads(held).get("holder", "somebody")).rpartition(":")[0]
        except ValueError:
            holder = "somebody"
        return NightRunning(
            f"{self._store.url}: another night is writing to this lake ({holder}), run this one again when it is done; if it was"
            f" killed its lease runs out after {self._seconds:g} s"
        )

    def _text(self, released: bool) -> bytes:
        return json.dumps({"holder": self._holder, "released": released}).encode()


def _key(generation: int) -> str:
    return f"lock/{generation:012d}.json"
