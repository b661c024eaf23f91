"""The hostile day: uploads whose texts try to be something else, and what a right verification says of each line.

``python -m tests.hostile_day`` writes fixtures/hostile-day/ (games.ndjson, expected.json); a test holds the two together.  What
is expected is said here beside each upload, before anything verifies it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from engine.blocks.single import Game
from replay.challenges import load_challenges
from replay.record import Record, format_time
from tests.replay.games import RULEBOOK, after_token, placements, record, untidiness

FOLDER = Path(__file__).parent.parent / "fixtures" / "hostile-day"
CHALLENGE = "2026-10-31"
TIMES = ("started_at", "finished_at", "uploaded_at")

# Name by name: what a player's device may send in place of an id, a version, a log.
TEXTS: dict[str, str] = {
    "formula": '=HYPERLINK("http://x","y")',
    "plus": "+1",
    "minus": "-2",
    "at": "@a",
    "tab": "\t=1+1",
    "return": "\r=1+1",
    "dde": "=cmd|' /C calc'!A0",
    "wide-equals": "\uff1d1+1",
    "comma-quote": 'a,"b;c',
    "line-feed": "a\n=1+1",
    "script": "<script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "handler": "' onmouseover='alert(1)",
    "end-script": "</script><svg onload=alert(1)>",
    "comment": "<!--",
    "entities": "&lt;b&gt;&#x3c;i>&amp;",
    "template": "{{7*7}}{% raw %}${7*7}",
    "override": "\u202eevil\u2066",
    "zero-width": "a\u200bb\ufeff",
    "separators": "a\u2028b\x85c\u00a0",
    "nul": "a\x00b",
    "ansi": "\x1b[31mred\x1b[2J\x1b]0;owned\x07",
    "composed": "\u00e9",
    "decomposed": "e\u0301",
    "right-to-left": "\u05e2\u05d1",
    "beyond": "\U0001f600\U0010ffff\ufffe",
    # As long as a text may be: longer ones are malformed.
    "long": "<b>" + "x" * 1_017 + "</b>",
    "javascript": "javascript:alert(1)",
    "data-url": "data:text/html,<script>alert(1)</script>",
    "slashes": "//evil.example/x",
    "traversal": "../../etc/passwd",
    "percent": "%00%2e%2e%2f%3Cscript%3E",
    "query": "a&day=2020-01-01&b=c#d?e=f+g h;i",
    "sql": "'; DROP TABLE totals; --",
    "pattern": "%_*?[a]",
    "backslash": "\\u003cb\\x3e\\",
    "spaces": " a  b ",
    "empty": "",
}
# Python reads it, and fails where it is written: in the middle of somebody's output file.
SURROGATE = "a\ud800"


@dataclass(frozen=True)
class Line:
    """One upload: ``fields`` hold the text called ``name``; ``reasons`` and ``suspicions`` are in the verdict's order."""

    upload: dict[str, Any]
    name: str
    fields: tuple[str, ...]
    verdict: str
    reasons: tuple[str, ...] = ()
    suspicions: tuple[str, ...] = ()
    code: str | None = None


@cache
def _played(seed: int, limit: int) -> Record:
    """An honest game of the challenge: at most ``limit`` moves, the tidiest of some random ones each time."""
    import random

    rng = random.Random(f"hostile/{seed}")
    rules = RULEBOOK.find("blocks", "1.2.0")
    challenge = load_challenges(rulebook=RULEBOOK).find("blocks", CHALLENGE)
    assert rules is not None
    assert challenge is not None
    game, tokens = Game(rules, challenge.deal(rules), b" " * 4 * limit, "daily"), []
    while len(tokens) < limit and (legal := placements(game)):
        tried = [(after_token(game, written), written) for written in rng.sample(legal, min(8, len(legal)))]
        game, written = min(tried, key=lambda pair: (untidiness(pair[0].rows), pair[1]))
        tokens.append(written)
    return record(tokens, game)


def _upload(number: int, **changes: Any) -> Record:
    honest = _played(number % 7, 12 + number % 5)
    shift = number * 60_000_000
    times = {name: getattr(honest, name) + shift for name in TIMES}
    own = {"game_id": f"h{number:03d}", "player_id": f"ph{number:03d}"}
    return replace(honest, **{**times, **own, **changes})


def _object(found: Record) -> dict[str, Any]:
    every = {name: format_time(value) if name in TIMES else value for name, value in asdict(found).items()}
    return {name: value for name, value in every.items() if name not in ("level", "lines")}


def _lines_of(name: str, text: str, first: int) -> list[Line]:
    """One text in every field that holds one."""
    honest = _upload(first, player_id=text)
    score = _upload(first + 1, game_id=text, platform=text, app_version=text)
    combo = _upload(first + 2, player_id=text, attempt=2)
    # No claim that so few moves could not reach: the log alone is what is wrong.
    log = _upload(first + 4, moves=text, final_board=text, score=0, best_combo=0)
    return [
        Line(_object(honest), name, ("player_id",), "verified", suspicions=("unfinished",)),
        Line(
            _object(replace(score, score=score.score + 1)), name, ("game_id", "platform", "app_version"), "flagged",
            ("score_mismatch",),
        ),
        Line(_object(replace(combo, best_combo=combo.best_combo + 1)), name, ("player_id",), "flagged", ("combo_mismatch",)),
        Line(
            _object(_upload(first + 3, player_id=text, challenge=text)), name, ("player_id", "challenge"), "flagged",
            ("unknown_challenge",),
        ),
        Line(_object(log), name, ("moves", "final_board"), "flagged", ("illegal_move" if text else "board_mismatch",)),
        Line(_object(_upload(first + 5, rules=text)), name, ("rules",), "flagged", ("unknown_rules",)),
        Line(
            _object(_upload(first + 6, game_id=text, player_id=text, nation=text)), name, ("game_id", "player_id", "nation"),
            "quarantined", code="wrong_value",
        ),
    ]  # fmt: skip


def lines() -> list[Line]:
    """Every upload of the day, in the order of the file."""
    found: list[Line] = []
    for name, text in TEXTS.items():
        found += _lines_of(name, text, len(found))
    for field in ("player_id", "game_id", "platform", "moves", "nation"):
        whole = _object(_upload(len(found), **{field: SURROGATE}))
        found.append(Line(whole, "surrogate", (field,), "quarantined", code="encoding"))
    # A game that was played to its end, by each of two players whose names look the same.
    for name, seed in (("composed", 101), ("decomposed", 102)):
        whole = replace(_played(seed, 400), game_id=f"whole-{name}", player_id=TEXTS[name], attempt=3)
        found.append(Line(_object(whole), name, ("player_id",), "verified"))
    return found


def games_text() -> str:
    """games.ndjson: ASCII, every other sign as an escape, so that people can read the file unharmed."""
    return "".join(json.dumps(line.upload) + "\n" for line in lines())


def expected_text() -> str:
    """expected.json: the texts by name, and for each line what a right verification says of it."""
    rows = [
        {
            "line": number, "text": line.name, "fields": list(line.fields), "verdict": line.verdict,
            "reasons": list(line.reasons), "suspicions": list(line.suspicions), "code": line.code,
        }
        for number, line in enumerate(lines(), start=1)
    ]  # fmt: skip
    body = ",\n".join("  " + json.dumps(row) for row in rows)
    texts = json.dumps({**TEXTS, "surrogate": SURROGATE}, indent=1)
    return f'{{"texts": {texts},\n"lines": [\n{body}\n]}}\n'


def main() -> None:
    """Write the two files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "games.ndjson").write_text(games_text(), "ascii")
    (FOLDER / "expected.json").write_text(expected_text(), "ascii")


if __name__ == "__main__":
    main()
