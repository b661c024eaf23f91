"""The stages of a mutation run: copies of the tree, and who notices the defect that stands in one."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

STAGES = ("engines", "planted", "tests")
COPIED = (
    "engine", "replay", "dags", "seeds", "fixtures", "tests", "benchmarks", "pyproject.toml", "constraints.txt", "Makefile",
    "README.md", "CHANGELOG.md",
)  # fmt: skip
LAKE = "mutation-lake"
NIGHT_SECONDS, TEST_SECONDS = 240, 600
# What a stage of nights is there to notice; any other error is a check of the night's own.
WATCHED = {"engines": "EngineDisagreement", "planted": "PlantedMissed"}
# By a person, or by a machine that is out of memory: that is nobody's noticing.
KILLED = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    """What a stage found: ``by`` names who noticed (an error of the night, a test), None for nobody; ``note`` says more."""

    by: str | None
    seconds: float
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"by": self.by, "seconds": round(self.seconds, 1), "note": self.note}


def copy_tree(tree: Path, to: Path) -> Path:
    """Copy what the stages need, compiled kernels included: numba finds them again by the time stamps, which are kept."""
    to.mkdir(parents=True)
    for name in COPIED:
        source = tree / name
        if source.is_dir():
            shutil.copytree(source, to / name, symlinks=True)
        elif source.exists():
            shutil.copy2(source, to / name)
    return to


def run_python(tree: Path, seconds: int, *words: str) -> tuple[int | None, str]:
    """(exit code, output) of a Python in the tree; no exit code when it was not done in time and was ended with its children."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("REPLAY_")}
    # The tree's own packages come before an installed one's.
    env |= {"PYTHONPATH": str(tree), "NUMBA_NUM_THREADS": "1"}
    env.pop("NUMBA_CACHE_DIR", None)
    with subprocess.Popen(
        [sys.executable, *words], cwd=tree, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output
    return process.returncode, output


def run_nights(tree: Path, stage: str, landed: Path) -> Found:
    """Run the nights of the landed days in a tree with a defect."""
    began = monotonic()
    if stage == "planted" and not (tree / "replay" / "planted.py").exists():
        return Found(None, 0.0, "skipped: there is no replay/planted.py")
    lake = tree / f"{LAKE}-{stage}"
    shutil.copytree(landed, lake)
    what = "plant" if stage == "planted" else "run"
    code, output = run_python(tree, NIGHT_SECONDS, "-m", "tests.mutation.nights", what, str(lake))
    seconds = monotonic() - began
    if code is None:
        return Found("the night does not end", seconds)
    if code in KILLED:
        return Found(None, seconds, "killed from outside, run it again")
    if code:
        # Not even imported, or the process died.
        return Found(f"the night ends with exit code {code}", seconds, output.strip().rpartition("\n")[2][:300])
    found = json.loads(output.strip().rpartition("\n")[2])
    if found["error"]:
        return Found(found["error"], seconds, found["sentence"][:300])
    wrong = f"{found['wrong']} wrong verdicts were published, one is {found['example']}" if found["wrong"] else ""
    return Found(None, seconds, wrong[:300])


class Tests:
    """Runs test files in trees with a defect; a test that fails in the tree without any defect (``base``) notices nothing."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self._fails_anyway: dict[str, bool] = {}

    def run(self, tree: Path, groups: Sequence[Sequence[str]]) -> Found:
        """Run the groups of files one after the other up to the first test that fails because of the defect."""
        began = monotonic()
        notes: list[str] = []
        for files in groups:
            known = [file for file in files if (tree / file).exists()]
            by = self._first_failure(tree, known, notes) if known else None
            if by:
                return Found(by, monotonic() - began, "; ".join(notes))
        return Found(None, monotonic() - began, "; ".join(notes))

    def _first_failure(self, tree: Path, files: Sequence[str], notes: list[str]) -> str | None:
        passed_over: list[str] = []
        while True:
            words = [word for test in passed_over for word in ("--deselect", test)]
            code, output = run_python(
                tree, TEST_SECONDS, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--basetemp={tree / 'basetemp'}",
                *words, *files,
            )  # fmt: skip
            if code in (0, 5):
                return None
            if code is None:
                return f"{files[0]} and others do not end"
            if code in KILLED:
                notes.append("killed from outside, run it again")
                return None
            found = _FAILED.search(output)
            if found is None:
                return f"pytest ends with exit code {code}: {output.strip().rpartition(chr(10))[2][:200]}"
            test = found[1]
            if not self._fails_without(test):
                return test
            if test in passed_over:
                # A file that cannot be collected is failed by every run: the others have their turn.
                files = [file for file in files if not test.startswith(file)]
                if not files:
                    return None
            passed_over.append(test)
            notes.append(f"{test} fails without the defect too")

    def _fails_without(self, test: str) -> bool:
        if test not in self._fails_anyway:
            code, _ = run_python(
                self.base, TEST_SECONDS, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
                f"--basetemp={self.base / 'basetemp'}-{os.getpid()}-{len(self._fails_anyway)}", test,
            )  # fmt: skip
            # 4: there is no such test, the name was cut; it is taken at its word.
            self._fails_anyway[test] = code not in (0, 4)
        return self._fails_anyway[test]
