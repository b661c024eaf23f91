"""Looking an installation and a lake over: what is here, and does it fit together."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from typing import Any

from replay.errors import InputError, ReplayError
from replay.lake import Lake, open_lake

Finding = tuple[str, bool, str]


def examine(lake: Path | str | None) -> list[Finding]:
    """(check, whether it is fine, what was found) for the installation and, if given, a lake."""
    if lake is None:
        return _installation()
    with open_lake(lake) as where:
        return _installation() + _lake(where)


def _installation() -> list[Finding]:
    import duckdb
    import numba
    import numpy as np
    import pyarrow as pa

    from engine import ENGINE_VERSION
    from replay.challenges import load_challenges
    from replay.rulebook import load_rulebook
    from replay.verdict import PROCESSING_VERSION

    versions = f"numba {numba.__version__}, NumPy {np.__version__}, DuckDB {duckdb.__version__}, Arrow {pa.__version__}"
    findings: list[Finding] = [
        ("libraries", True, versions),
        ("engine", True, f"engine {ENGINE_VERSION}, processing version {PROCESSING_VERSION}"),
    ]
    try:
        rulebook = load_rulebook()
        table = load_challenges(None, rulebook)
    except ReplayError as error:
        return [*findings, ("rules and challenges", False, str(error))]
    rules = ", ".join(f"{game} {version}" for game, version in rulebook.rules)
    findings.append(("rules and challenges", True, f"{rules}; {len(table.rows):,} challenges"))
    findings.append(_engines_agree())
    return findings


# A small game of each: log, mode, seed.
_SAMPLES = {
    "blocks": ("1a12e33a6", "daily", 1234567), "tetromino": ("x5dllh20ch3zdrh40", "marathon/3", 1234567),
    "tetcolor": ("rrhh20xhh3zlhhllhh90", "duo/arcade/crazy/handicap", 7),
}  # fmt: skip


def _engines_agree() -> Finding:
    """Replay a small game of each kind with both of its engines, under its newest rules."""
    from replay.games import NAMES
    from replay.rulebook import load_rulebook

    rulebook = load_rulebook()
    same, words = True, []
    for game in NAMES:
        versions = rulebook.versions(game)
        if not versions:
            return ("two engines", False, f"the built-in rules lack {game}")
        agree, found = _compare(game, rulebook.find(game, versions[-1]), *_SAMPLES[game])
        same = same and agree
        words.append(f"{game}: {found}")
    return ("two engines", same, "; ".join(words))


def _compare(game: str, rules: Any, log: str, mode: str, rng_seed: int) -> tuple[bool, str]:
    """(whether the two engines agree about one game, what they gave)."""
    import numpy as np

    from engine.batch import BatchResult, TextColumn

    single, batch = import_module(f"engine.{game}.single"), import_module(f"engine.{game}.batch")
    deal = single.make_deal(rules, mode, rng_seed, "", "")
    one = single.replay(rules, deal, log, mode)
    data = np.frombuffer(log.encode() + b"-", np.uint8)
    data.flags.writeable = False
    column = TextColumn(data, np.array([0]), np.array([len(log)]))
    board = TextColumn(data, np.array([len(log)]), np.array([len(log) + 1]))
    many, zero = BatchResult.empty(1), np.zeros(1, np.int64)
    batch.BatchReplayer(rules, [deal], [mode], len(log)).replay(column, zero, board, zero, many)
    same = (int(many.score[0]), int(many.moves[0])) == (one.score, one.moves) and one.fault is None
    return same, f"{one.moves} moves, {one.score} and {int(many.score[0])} points"


def _lake(lake: Lake) -> list[Finding]:
    findings: list[Finding] = []
    lake.refresh("runs", "standings")
    days = lake.published_days()
    span = f"{days[0]} to {days[-1]}" if days else "none"
    findings.append(("published days", bool(days), f"{len(days)}: {span}"))
    try:
        changed = [str(day) for day in days if not _inputs_unchanged(lake, day)]
        words = f"changed since their night: {', '.join(changed)}" if changed else "as their nights read them"
        findings.append(("landed logs", not changed, words))
    except InputError as error:
        findings.append(("landed logs", False, str(error)))
    try:
        path = lake.current_warehouse()
        findings.append(
            ("standings", path.is_file(), path.name if path.is_file() else f"{path.name} is missing, run `replay rebuild`")
        )
    except InputError as error:
        findings.append(("standings", False, str(error)))
    left = "a night is running or was cut off; the next one clears up" if lake.work_left() else "empty"
    findings.append(("staging", True, left))
    return findings


def _inputs_unchanged(lake: Lake, day: object) -> bool:
    from datetime import date

    from replay.night import read_run

    assert isinstance(day, date)
    now = lake.known_hashes(day)
    files = [path for path in lake.log_files(day)[0] if path.name not in now]
    lake.fetch_logs(files)
    for path in files:
        with path.open("rb") as handle:
            now[path.name] = hashlib.file_digest(handle, "sha256").hexdigest()
    return now == {entry["file"]: entry["sha256"] for entry in read_run(lake, day)["inputs"]}
