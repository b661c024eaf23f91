"""The repository itself: its layout, what must not stand in it, and the rules of the house that a linter does not know."""

from __future__ import annotations

import ast
import csv
import os
import re
import subprocess
import tomllib
from collections import Counter
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import pytest

from engine.blocks.rules import load_rules
from engine.random import SplitMix64
from replay.challenges import challenge_date, load_challenges
from replay.record import GAMES
from replay.rulebook import load_rulebook
from replay.standings import load_player_states, load_rank_tiers

ROOT = Path(__file__).parents[1]
FUNCTION_LINES, MODULE_LINES = 60, 500
# A longer one is named here with its reason.
LONG_FUNCTIONS: dict[str, str] = {"engine/blocks/kernel.py:replay_8x8": "the fast case's loop; a call in it is paid every move"}
LONG_MODULES: dict[str, str] = {}
# Beside the pages, which say how old things are and draw the tokens of their forms, these look at the clock, for the reason given.
CLOCKS = {
    "replay/failures.py": "when a night failed, for show", "replay/reviews/store.py": "when somebody decided",
    "replay/moves.py": "when a decision that is only tried out would be taken",
}  # fmt: skip


@cache
def tracked() -> tuple[str, ...]:
    """The files under version control; skips where this is no checkout."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no git checkout")
    return tuple(name for name in done.stdout.split("\0") if name and (ROOT / name).is_file())


def texts() -> list[tuple[str, str]]:
    found = []
    for name in tracked():
        data = (ROOT / name).read_bytes()
        if b"\0" in data[:8000] or name.endswith((".gz", ".zst", ".parquet")):
            continue
        # Among the recorded uploads are some that are no UTF-8 on purpose.
        found.append((name, data.decode("utf-8", "surrogateescape" if name.startswith("fixtures/") else "strict")))
    return found


def modules() -> list[Path]:
    return sorted(path for top in ("engine", "replay", "benchmarks", "dags") for path in (ROOT / top).rglob("*.py"))


# --- Layout --------------------------------------------------------------------------------------------------------------


def test_top_level_layout():
    allowed = {
        "engine", "replay", "dags", "seeds", "fixtures", "tests", "benchmarks", ".ci", ".gitignore", "Makefile", "README.md",
        "CHANGELOG.md", "LICENSE", "pyproject.toml", "constraints.txt", "docs", "deploy",
    }  # fmt: skip
    tops = {name.split("/")[0] for name in tracked()}
    assert tops <= allowed
    assert {"engine", "replay", "seeds", "tests", ".ci", "Makefile", "pyproject.toml", "constraints.txt"} <= tops


def test_changelog_readme_and_ci():
    assert (ROOT / "CHANGELOG.md").read_text("utf-8").strip()
    assert (ROOT / "README.md").read_text("utf-8").strip()
    ci = ROOT / ".ci" / "run"
    assert os.access(ci, os.X_OK)
    assert ci.read_text().startswith("#!")
    # A new machine has neither: CI must not rest on what an earlier run left.
    assert "set -euo pipefail" in ci.read_text()


def test_no_generated_or_locked_files():
    bad = re.compile(
        r"(^|/)(uv\.lock|poetry\.lock|Pipfile\.lock|pdm\.lock|package-lock\.json|yarn\.lock|\.env|pip\.conf|\.pypirc)$"
        r"|\.(lock|pyc|nbi|nbc|duckdb|sqlite|db|part|orig|rej|swp|egg-info)$|(^|/)(__pycache__|\.venv|node_modules|demo-lake)/"
        r"|(^|/)\.DS_Store$|\.egg-info/"
    )
    assert [name for name in tracked() if bad.search(name)] == []


def test_no_registry_hosts_and_no_machine_paths():
    """No index or mirror is named: pip's own setting decides; no path of anybody's machine stands in a file."""
    words = {
        # Not even this pattern names a host in one piece.
        "a package registry": r"py" r"pi\.org|python" r"hosted|ana" r"conda\.(org|com)|conda-" r"forge|--(extra-)?index-url|"
        r"index-url\s*=|npm" r"js|arti" r"factory|dev" r"pi\b|files\.py" r"thon",
        "a machine's path": r"(?<![\w.<>])/(home|root|Users|work|opt|mnt|srv|var)/\w|(?<![\w'\"/])/tmp/\w|[A-Z]:\\\\Users",
    }  # fmt: skip
    found = [
        f"{name}: {match[0]!r} is {what}"
        for name, text in texts()
        for what, pattern in words.items()
        # This file's own patterns are no paths.
        if name != "tests/test_repository.py"
        for match in re.finditer(pattern, text)
    ]
    assert found == []


def test_no_conflict_marks_and_no_trailing_spaces():
    for name, text in texts():
        assert not re.search(r"^(<{7}|>{7}) ", text, re.M), name
        assert text == "" or text.endswith("\n"), f"{name}: does not end its last line"
        if name.endswith((".py", ".sql", ".toml", ".md")):
            assert not re.search(r"[ \t]+$", text, re.M), f"{name}: spaces at the end of a line"


# --- Dependencies --------------------------------------------------------------------------------------------------------


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")


def test_constraints_pin_every_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [text for text in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if text and not text.startswith("#")]
    pins = {}
    for text in lines:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][\w.]*", text), f"constraints.txt: {text!r} is no exact version"
        assert _name(text) not in pins, f"constraints.txt: {text} stands there twice"
        pins[_name(text)] = text.split("==")[1]
    wanted = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    for requirement in wanted:
        assert _name(requirement) in pins, f"constraints.txt lacks {requirement}"
        minimum = re.search(r">=([\d.]+)", requirement)
        if minimum:
            parts = lambda version: [int(part) for part in re.findall(r"\d+", version)]  # noqa: E731
            assert parts(pins[_name(requirement)]) >= parts(minimum[1]), requirement


def test_packages_that_are_imported_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = ("s3", "sources", "dashboard", "postgres")
    required = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    declared = {_name(requirement).replace("-", "_") for requirement in required}
    # Packages that a declared one stands for.
    declared |= {"engine", "replay", "pydantic", "llvmlite", "starlette", "vl_convert"}
    import sys

    for path in sorted([*(ROOT / "engine").rglob("*.py"), *(ROOT / "replay").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import)
                else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            )  # fmt: skip
            for name in names:
                top = name.split(".")[0]
                assert top in sys.stdlib_module_names or top in declared, f"{path.name} imports {name}"


def test_package_data_holds_what_is_not_python():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    for top, patterns in data.items():
        held = {path for pattern in patterns for path in (ROOT / top).glob(pattern)}
        others = [p for p in (ROOT / top).rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc", ".nbi", ".nbc")]
        assert [path.name for path in others if path not in held] == []


# --- Code ----------------------------------------------------------------------------------------------------------------


def test_functions_and_modules_are_short():
    long = []
    for path in modules():
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text("utf-8")
        if len(text.splitlines()) >= MODULE_LINES and name not in LONG_MODULES:
            long.append(f"{name}: {len(text.splitlines())} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = node.end_lineno - node.lineno + 1
                if size >= FUNCTION_LINES and f"{name}:{node.name}" not in LONG_FUNCTIONS:
                    long.append(f"{name}:{node.name}: {size} lines")
    assert long == []


def test_public_functions_and_classes_say_what_they_are():
    silent = []
    for path in modules():
        tree = ast.parse(path.read_text("utf-8"))
        name = path.relative_to(ROOT).as_posix()
        if not ast.get_docstring(tree) and path.name != "__init__.py":
            silent.append(name)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                if not ast.get_docstring(node):
                    silent.append(f"{name}:{node.name}")
    assert silent == []


def test_every_sql_file_begins_with_its_grain():
    files = sorted((ROOT / "replay" / "sql").rglob("*.sql"))
    assert len(files) > 30
    for path in files:
        first = path.read_text("utf-8").splitlines()[0]
        check = path.parent.name == "checks"
        expected = r"-- (Grain|Check|Rows|Returns|Finds)\b.*\w" if check else r"-- Grain: \S.*\w"
        assert re.match(expected, first), f"{path.relative_to(ROOT)}: {first!r}"


def test_every_sql_file_is_used():
    """By its name, or by its folder: checks run all; nothing lies there that nobody runs."""
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "replay").rglob("*.py"))
    for path in sorted((ROOT / "replay" / "sql").rglob("*.sql")):
        if path.parent.name != "checks":
            assert re.search(rf"[\"'/]{path.stem}(\.sql)?[\"']", source), f"{path.name} is never read"


def test_no_sql_of_more_than_a_line_in_python():
    """A statement of more than a line stands in a file; what is put together from file names is the exception."""
    start = re.compile(r"^\s*(select|with|insert|create table|update|delete)\s[^\n]*\n[^\n]*\S", re.I)
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not start.match(node.value), f"{path.name}:{node.lineno}"


def test_nothing_is_swallowed():
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, f"{path.name}:{node.lineno} catches everything"
                assert not all(isinstance(step, ast.Pass) for step in node.body), f"{path.name}:{node.lineno} swallows"


def test_what_decides_reads_no_clock_and_no_chance():
    """The same inputs give the same outputs: no wall clock, no random source, no hash order in verification and publication."""
    banned = re.compile(r"\b(datetime\.now|datetime\.utcnow|date\.today|time\.time|time\.time_ns|uuid\d?|secrets)\b")
    for path in modules():
        name = path.relative_to(ROOT).as_posix()
        if path.parts[-2] in ("benchmarks", "dags") or name.startswith("replay/dashboard/") or name in CLOCKS:
            continue
        for number, text in enumerate(path.read_text("utf-8").splitlines(), start=1):
            assert not banned.search(text.split("#")[0]), f"{path.name}:{number}: {text.strip()}"
    clock = re.compile(r"\b(now|today|random|uuid|get_current_timestamp)\s*\(|\bcurrent_(date|time)", re.I)
    for path in (ROOT / "replay" / "sql").rglob("*.sql"):
        assert not clock.search(path.read_text("utf-8")), path.name


# --- Reference data ------------------------------------------------------------------------------------------------------


def _table(name: str) -> list[dict[str, str]]:
    data = (ROOT / "seeds" / name).read_bytes()
    assert b"\r" not in data, name
    assert not data.startswith(b"\xef\xbb\xbf"), name
    return list(csv.DictReader(data.decode("ascii").splitlines()))


def test_challenges_are_well_formed():
    rows = _table("challenges.csv")
    table = load_challenges(None, load_rulebook())
    assert len(table.rows) == len(rows)
    seeds = Counter(row["rng_seed"] for row in rows if row["rng_seed"])
    assert max(seeds.values()) == 1, "two challenges never have the same deal"
    assert all(int(seed) < 2**64 for seed in seeds)
    assert any(int(seed) > 2**63 for seed in seeds), "the unsigned half is used"
    rulebook = load_rulebook()
    for challenge in table.rows.values():
        rules = rulebook.find(challenge.game, challenge.rules)
        assert rules is not None, challenge
        assert rules.has_mode(challenge.mode), challenge
    days = {
        game: sorted(challenge.date for challenge in table.rows.values() if challenge.date and challenge.game == game)
        for game in ("blocks", "tetromino")
    }
    first = days["blocks"][0]
    assert [first + timedelta(days=i) for i in range(len(days["blocks"]))] == days["blocks"], "no day is missing"
    assert days["tetromino"] == days["blocks"]
    assert {date(2026, 10, 30), date(2026, 10, 31), date(2026, 11, 1)} <= set(days["blocks"])
    assert all(c.mode == "daily" for c in table.rows.values() if c.date and c.game == "blocks")


def test_daily_seeds_are_made_of_the_day_and_tetromino_modes_rotate_by_weekday():
    """A day's seed: the first word of SplitMix64 from the day as a number (20261031), for Tetromino Arcade 100,000,000 further."""
    week = ("marathon/1", "sprint", "ultra", "beginner", "marathon/10", "ultra", "sprint")
    for row in _table("challenges.csv"):
        day = challenge_date(row["challenge"])
        if day and row["game"] in ("blocks", "tetromino"):
            number = GAMES.index(row["game"]) * 100_000_000 + int(f"{day:%Y%m%d}")
            assert int(row["rng_seed"]) == SplitMix64(number).next(), row
        if day and row["game"] == "tetromino":
            assert row["mode"] == week[day.weekday()], row


def test_nations_are_the_249_codes():
    rows = [row["nation"] for row in _table("nations.csv")]
    assert (len(rows), len(set(rows)), rows) == (249, 249, sorted(rows))
    assert all(re.fullmatch("[A-Z]{2}", code) for code in rows)
    assert {"NA", "FR", "GB", "XK"} & set(rows) == {"NA", "FR", "GB"}, "NA is Namibia; XK is nobody's official code"


def test_tiers_and_players():
    tiers = load_rank_tiers(ROOT / "seeds" / "rank_tiers.csv")
    assert tiers == [("Bronze", 0), ("Silver", 50), ("Gold", 80), ("Platinum", 95), ("Diamond", 99)]
    assert load_player_states(ROOT / "seeds" / "players.csv") == {}


def test_the_old_rules_differ_only_in_what_their_header_says():
    """Rules 1.1.0 are made up, with another table of line points; everything else is as in 1.2.0."""
    folder = ROOT / "engine" / "blocks"
    old, new = ((folder / f"{version}.toml").read_text("utf-8") for version in ("1.1.0", "1.2.0"))
    header = " ".join(text.lstrip("# ") for text in old.splitlines() if text.startswith("#"))
    assert "another table of line points" in header
    a, b = tomllib.loads(old), tomllib.loads(new)
    assert (a.pop("version"), b.pop("version")) == ("1.1.0", "1.2.0")
    assert a["points"].pop("lines") == [60, 180, 400, 700, 1000, 1300]
    assert b["points"].pop("lines") == [80, 240, 480, 800, 1100, 1400]
    assert a == b
    assert list(a["shapes"]) == list(b["shapes"]), "the order of the catalogue is the deal"
    assert [load_rules(folder / f"{version}.toml").version for version in ("1.1.0", "1.2.0")] == ["1.1.0", "1.2.0"]
