"""Whether two lakes have published the same: files byte for byte, the warehouse table by table, reports apart from timings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replay.lake import Lake
from tests.replay.night_support import dump, published_files


def differences(ours: Path, theirs: Path) -> list[str]:
    """One sentence for each thing in which the lake ``ours`` differs from ``theirs``; none when they are equal."""
    if not Lake(theirs).published_days():
        return [f"{theirs}: no day was published there, so there is nothing to compare with"]
    if not Lake(ours).published_days():
        return [f"{ours}: no day was published there"]
    return [
        *_of_files(published_files(ours), published_files(theirs)),
        *_of_files(_reports(ours), _reports(theirs)),
        *_of_warehouses(Lake(ours).current_warehouse(), Lake(theirs).current_warehouse()),
    ]


def _of_files(ours: Mapping[str, bytes], theirs: Mapping[str, bytes]) -> list[str]:
    found = [f"{name}: is missing" for name in sorted(theirs.keys() - ours.keys())]
    found += [f"{name}: is there, and should not be" for name in sorted(ours.keys() - theirs.keys())]
    for name in sorted(ours.keys() & theirs.keys()):
        a, b = ours[name], theirs[name]
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            found.append(f"{name}: {len(a)} bytes against {len(b)}, the first difference is at byte {at}")
    return found


def _reports(lake: Path) -> dict[str, bytes]:
    """The reports without what depends on the clock, by path."""
    found = {}
    for path in sorted((lake / "reports").rglob("*")):
        if path.name == "report.json":
            report = json.loads(path.read_bytes())
            report.pop("timings", None)
            found[path.relative_to(lake).as_posix()] = json.dumps(report, indent=1).encode()
        elif path.is_file():
            found[path.relative_to(lake).as_posix()] = _without_timings(path.read_text("utf-8")).encode()
    return found


def _without_timings(text: str) -> str:
    """Markdown without its section Time."""
    sections = text.split("\n## ")
    return "\n## ".join(section for section in sections if not section.startswith("Time\n")).rstrip("\n")


def _of_warehouses(ours: Path, theirs: Path) -> list[str]:
    found = [] if ours.name == theirs.name else [f"CURRENT names {ours.name} against {theirs.name}"]
    a, b = dump(ours), dump(theirs)
    for name in sorted(a.keys() | b.keys()):
        if name not in a or name not in b:
            found.append(f"table {name}: is {'missing' if name not in a else 'there, and should not be'}")
        else:
            found += _of_tables(name, a[name], b[name])
    return found


def _of_tables(name: str, ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> list[str]:
    # repr: a nan equals nothing, not even itself.
    more, less = Counter(map(repr, ours)), Counter(map(repr, theirs))
    if more == less:
        return []
    odd = [*sorted((more - less).elements())[:1], *sorted((less - more).elements())[:1]]
    return [f"table {name}: {len(ours)} rows against {len(theirs)}, for instance {' against '.join(odd)}"]
