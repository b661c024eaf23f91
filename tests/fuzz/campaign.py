"""A fuzz run: rounds drawn from one seed until the time is up; what fails is made small and kept for the tests."""

from __future__ import annotations

import base64
import hashlib
import json
import multiprocessing
import os
import random
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from tests.fuzz import check, mutate
from tests.fuzz.check import Fault

FOUND = Path(__file__).parent / "found"
# A process that has run its first rounds may never take more than this besides: files of a round have a few MiB at most.
MOST_MEMORY = 512 << 20
WARM_ROUNDS = 10
NIGHT_EVERY, DRAWN_EVERY, DRAWN_EXAMPLES = 20, 10, 15
SMALLER_CHECKS = 300
Files = dict[str, bytes]


@dataclass
class Campaign:
    """``tell`` gets a line for people; ``folder`` is where failing inputs are written."""

    seed: int
    folder: Path = FOUND
    tell: Callable[[str], None] = print
    rounds: int = 0
    files: int = 0
    nights: int = 0
    drawn: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    kept: list[Path] = field(default_factory=list)
    _warm: int = 0

    def run(self, seconds: float | None = None, rounds: int | None = None, first: int = 0) -> None:
        """Rounds from ``first`` on, until either limit is reached."""
        began = monotonic()
        while (rounds is None or self.rounds < rounds) and (seconds is None or monotonic() - began < seconds):
            self.round(first + self.rounds)
            self.rounds += 1

    def round(self, number: int) -> None:
        """One round: files broken by bytes; now and then a whole night over them, or uploads drawn by Hypothesis."""
        rng = random.Random(f"{self.seed} {number}")
        files = mutate.broken_files(rng)
        self.note_current(number, files)
        self.judge(files, lambda found: check.check_files(found, self.seen), number)
        self.files += len(files)
        if number % NIGHT_EVERY == NIGHT_EVERY - 1:
            shard_games = rng.choice([1, 3, 1000])
            self.judge(files, lambda found: check.check_night(found, shard_games), number)
            self.nights += 1
        if number % DRAWN_EVERY == DRAWN_EVERY - 1:
            self.draw(number)

    def judge(self, files: Files, checked: Callable[[Files], list[Fault]], number: int) -> None:
        faults = [*checked(files), *self.memory(number)]
        if not faults:
            return
        kind = faults[0].kind
        small = files if kind == "memory" else smaller(files, lambda tried: any(fault.kind == kind for fault in checked(tried)))
        again = [fault for fault in checked(small) if fault.kind == kind]
        self.keep(small, (again or faults)[0], number)

    def memory(self, number: int) -> list[Fault]:
        """The most that this process has held, against what it held when it was warm."""
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if self.rounds < WARM_ROUNDS:
            self._warm = most
        if most - self._warm <= MOST_MEMORY:
            return []
        told = Fault("memory", f"round {number} took {(most - self._warm) >> 20} MiB, at most {MOST_MEMORY >> 20} are stated")
        self._warm = most
        return [told]

    def draw(self, number: int) -> None:
        """Uploads drawn by Hypothesis, which shrinks what fails itself."""
        from hypothesis import HealthCheck, given, seed, settings

        from tests.fuzz.strategies import files

        last: dict[str, Any] = {}

        @seed(self.seed * 1_000_003 + number)
        @settings(max_examples=DRAWN_EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(files)
        def holds(drawn: Files) -> None:
            self.drawn += 1
            faults = check.check_files(drawn, self.seen)
            if faults:
                last.update(files=drawn, fault=faults[0])
            assert not faults, faults[0]

        try:
            holds()
        except AssertionError:
            self.keep(last["files"], last["fault"], number)

    def note_current(self, number: int, files: Files) -> None:
        """Leave the input beside: should it end the process, it is there."""
        current = os.environ.get("FUZZ_CURRENT")
        if current:
            Path(current).write_text(as_text(files, Fault("crash", "the process was ended"), self.seed, number), "ascii")

    def keep(self, files: Files, fault: Fault, number: int) -> None:
        text = as_text(files, fault, self.seed, number)
        name = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{fault.kind}-{name}.json"
        path.write_text(text, "ascii")
        self.kept.append(path)
        self.tell(f"round {number}: {fault.kind}: {fault.text:.500}\n  kept as {path.name}")


def as_text(files: Files, fault: Fault, seed: int, number: int) -> str:
    """A failing input as it is kept: JSON in ASCII, the bytes of each file in base64."""
    held = {name: base64.b64encode(data).decode() for name, data in files.items()}
    found = {"fault": fault.kind, "text": ascii(fault.text)[1:-1][:1000], "seed": seed, "round": number, "files": held}
    return json.dumps(found, indent=1) + "\n"


def kept_files(path: Path) -> Files:
    """The files of a kept input."""
    return {name: base64.b64decode(text) for name, text in json.loads(path.read_text("ascii"))["files"].items()}


def smaller(files: Files, fails: Callable[[Files], bool]) -> Files:
    """The files with as much left out as leaves the failure: whole files, then halves, quarters and so on of their bytes."""
    left = SMALLER_CHECKS
    best = files
    for tried in _fewer_files(files):
        left -= 1
        if fails(tried):
            best = tried
            break
    for name in list(best):
        size = max(1, len(best[name]) // 2)
        while left > 0:
            at = 0
            while at < len(best[name]) and left > 0:
                data = best[name]
                tried = best | {name: data[:at] + data[at + size :]}
                left -= 1
                if fails(tried):
                    best = tried
                else:
                    at += size
            if size == 1:
                break
            size = max(1, size // 2)
    return best


def _fewer_files(files: Files) -> Iterator[Files]:
    if len(files) > 1:
        yield from ({name: data} for name, data in files.items())


def _work(seed: int, seconds: float | None, rounds: int | None, first: int, folder: str, out: Any) -> None:
    campaign = Campaign(seed, Path(folder), tell=lambda text: print(text, flush=True))  # noqa: T201
    campaign.run(seconds, rounds, first)
    counts = {"rounds": campaign.rounds, "files": campaign.files, "nights": campaign.nights, "drawn files": campaign.drawn}
    out.send((counts | campaign.seen, [str(path) for path in campaign.kept]))


def run_apart(seed: int, folder: Path, seconds: float | None = None, rounds: int | None = None) -> tuple[Counter[str], list[str]]:
    """Run a campaign in a process of its own; one that an input ends is a finding, and the campaign goes on behind it.

    Returns what was done, and what was found.
    """
    done: Counter[str] = Counter()
    found, first = [], 0
    context = multiprocessing.get_context("spawn")
    folder.mkdir(parents=True, exist_ok=True)
    current = folder / "current.json"
    os.environ["FUZZ_CURRENT"] = str(current)
    began = monotonic()
    while True:
        reader, writer = context.Pipe(duplex=False)
        left = None if seconds is None else seconds - (monotonic() - began)
        more = None if rounds is None else rounds - first
        process = context.Process(target=_work, args=(seed, left, more, first, str(folder), writer))
        process.start()
        writer.close()
        try:
            counts, kept = reader.recv()
        except EOFError:
            counts, kept = None, []
        process.join()
        if counts is not None:
            done.update(counts)
            found += kept
            break
        ended = json.loads(current.read_text("ascii"))
        path = folder / f"crash-process-{ended['round']}.json"
        current.replace(path)
        found.append(str(path))
        done["rounds"] += ended["round"] + 1 - first
        first = ended["round"] + 1
        told = f"round {ended['round']}: ended the process ({process.exitcode}), kept as {path.name}"
        print(told, file=sys.stderr)  # noqa: T201
    current.unlink(missing_ok=True)
    return done, found
