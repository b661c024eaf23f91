"""``python -m tests.mutation``: plant each defect of the list alone, and see which of the guards notices (README.md here)."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from tests.mutation.defects import Defect, load_defects, plant
from tests.mutation.report import failures_of, summary, table
from tests.mutation.stages import LAKE, STAGES, Tests, copy_tree, run_nights, run_python

ROOT = Path(__file__).parents[2]


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Deliberate defects, and who notices each.")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these defects, by name or area")
    parser.add_argument("--jobs", type=int, default=1, help="defects at a time")
    parser.add_argument("--stages", default=",".join(STAGES), help="of engines, planted, tests, with commas")
    parser.add_argument("--json", type=Path, help="results so far, written after each defect; those of other defects in it stay")
    parser.add_argument("--missing", action="store_true", help="only defects that have no result in the --json file")
    parser.add_argument("--table", action="store_true", help="run nothing, print the table of the --json file")
    found = parser.parse_args(words)
    found.stages = [stage for stage in found.stages.split(",") if stage]
    unknown = [stage for stage in found.stages if stage not in STAGES]
    if unknown:
        parser.error(f"--stages: {unknown[0]!r} is none of {', '.join(STAGES)}")
    names = {word for defect in load_defects() for word in (defect.name, defect.area)}
    for name in found.only or ():
        if name not in names:
            parser.error(f"--only: {name!r} is no name or area of a defect in defects.toml")
    return found


class Run:
    """One mutation run in a temporary folder: a copy of the tree without defects, in which the days are landed, and one for each
    defect, deleted when its stages are done."""

    def __init__(self, work: Path, stages: Sequence[str], out: Path | None) -> None:
        self.work, self.stages, self.out = work, stages, out
        self.results: dict[str, dict[str, Any]] = read_results(out)
        self._lock = Lock()
        self.base = copy_tree(ROOT, work / "base")
        self.landed = self.base / LAKE
        self.tests = Tests(self.base)

    def prepare(self) -> None:
        """Land the days and see that the tree without a defect passes its nights; this compiles what is not compiled yet."""
        if set(self.stages) == {"tests"}:
            return
        code, output = run_python(self.base, 600, "-m", "tests.mutation.nights", "land", str(self.landed))
        if code:
            raise SystemExit(f"the days cannot be simulated: {output.strip()[-400:]}")
        for stage in self.stages:
            if stage == "tests":
                continue
            found = run_nights(self.base, stage, self.landed)
            if found.by or "wrong" in found.note:
                raise SystemExit(f"without any defect the nights of stage {stage} give {found.by or found.note}: {found.note}")

    def one(self, defect: Defect) -> None:
        """Plant one defect and run the stages; the results are written at once."""
        tree = copy_tree(self.base, self.work / defect.name)
        try:
            plant(defect, tree)
            result: dict[str, Any] = {"area": defect.area, "file": defect.file, "both_engines": defect.is_in_both_engines}
            for stage in self.stages:
                if stage == "tests":
                    result[stage] = self.tests.run(tree, (defect.tests, defect.more_tests)).as_json()
                else:
                    result[stage] = run_nights(tree, stage, self.landed).as_json()
        finally:
            shutil.rmtree(tree, ignore_errors=True)
        with self._lock:
            self.results[defect.name] = self.results.get(defect.name, {}) | result
            sys.stderr.write(f"{defect.name}: {summary(self.results[defect.name])}\n")
            if self.out:
                self.out.write_text(json.dumps(self.results, indent=1) + "\n", "utf-8")


def read_results(path: Path | None) -> dict[str, dict[str, Any]]:
    """The results of an earlier run, none when there was none."""
    if path is None or not path.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return found


def main() -> int:
    """Exit code 0 when every defect was noticed, 1 when one survived."""
    chosen = options()
    wanted = [d for d in load_defects() if not chosen.only or d.name in chosen.only or d.area in chosen.only]
    if chosen.table:
        results = read_results(chosen.json)
    else:
        if chosen.missing:
            known = read_results(chosen.json)
            wanted = [d for d in wanted if not set(chosen.stages) <= set(known.get(d.name, ()))]
        with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as work:
            run = Run(Path(work), chosen.stages, chosen.json)
            run.prepare()
            with ThreadPoolExecutor(chosen.jobs) as pool:
                list(pool.map(run.one, wanted))
            results = run.results
    names = [d.name for d in load_defects() if d.name in results]
    sys.stdout.write(table({name: results[name] for name in names}))
    return 1 if failures_of(results) else 0


if __name__ == "__main__":
    sys.exit(main())
