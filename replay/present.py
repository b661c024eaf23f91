"""Verdict rows as people and machines see them: the design's JSON object, from a row of a verdict file or of the quarantine."""

from __future__ import annotations

import json
from typing import Any

from engine.board import BoardError
from replay.games import kind_of
from replay.record import OPTIONAL_FIELDS
from replay.rulebook import Rulebook
from replay.verdict import NUMBER_CLAIMS


def verdict_json(row: dict[str, Any], rulebook: Rulebook) -> dict[str, Any]:
    """The object that ``replay verify --json`` prints for a verdict row, with its source behind the design's keys."""
    replayed = None
    more = OPTIONAL_FIELDS.get(row["game"], ())
    if row["replayed_score"] is not None:
        replayed = {
            "score": row["replayed_score"], "best_combo": row["replayed_best_combo"], "board": _replayed_board(row, rulebook),
            "moves": row["moves"], "finished": row["finished"], **{name: row[f"replayed_{name}"] for name in more},
        }  # fmt: skip
    fault = None
    if row["fault_kind"] is not None:
        fault = {"kind": row["fault_kind"], "move": row["fault_move"], "text": row["fault_text"]}
    out: dict[str, Any] = {
        "game_id": row["game_id"],
        "verdict": row["verdict"],
        "reasons": json.loads(row["reasons"]),
        "suspicions": list(row["suspicions"]),
        "claimed": {
            "score": row["score"], "best_combo": row["best_combo"], "board": row["final_board"], "moves": row["moves_received"],
            "finished": None, **{name: row[name] for name in more},
        },
        "replayed": replayed,
        "fault": fault,
        "rules": row["rules"],
        "challenge": row["challenge"],
    }  # fmt: skip
    if row["evidence"]:
        out["evidence"] = json.loads(row["evidence"])
    if row["copy_of"] is not None:
        out["copy_of"] = row["copy_of"]
    out["source"] = {"file": row["source_file"], "line": row["source_line"]}
    return out


def _replayed_board(row: dict[str, Any], rulebook: Rulebook) -> str:
    """The replayed board's canonical text; a row leaves it out where it has the cells that were claimed."""
    if row["replayed_board"] is not None:
        return str(row["replayed_board"])
    rules = rulebook.find(row["game"], row["rules"])
    if rules is None:
        return str(row["final_board"])
    try:
        return kind_of(row["game"]).canonical_board(row["final_board"], rules, row["mode"])
    except BoardError:
        # Not to be met: a claim that cannot be read never equals a replay.
        return str(row["final_board"])


def quarantine_json(row: dict[str, Any]) -> dict[str, Any]:
    """The same object for a record that was not taken."""
    return {
        "game_id": row["game_id"],
        "verdict": "quarantined",
        "reasons": [{"code": row["code"], "claimed": None, "found": row["reason"], "move": None}],
        "suspicions": [],
        "claimed": None,
        "replayed": None,
        "fault": None,
        "rules": None,
        "challenge": None,
        "source": {"file": row["source_file"], "line": row["source_line"]},
    }


def short_reason(reason: dict[str, Any]) -> str:
    """A reason in a few words for a table: ``score_mismatch: 1,200 claimed, 980 found, from move 12``."""
    claimed, found = (f"{v:,}" if isinstance(v, int) else str(v) for v in (reason["claimed"], reason["found"]))
    code = reason["code"]
    if code in NUMBER_CLAIMS.values():
        text = f"{code}: {claimed} claimed, {found} found"
    elif code == "board_mismatch":
        # Two boards fill a table; `replay game` draws them.
        text = code
    elif code == "truncated_log":
        return f"{code}: {found} moves, one more gives what was claimed"
    elif code in ("illegal_move", "conflicting_upload") or reason["claimed"] is None:
        text = f"{code}: {found}"
    else:
        text = f"{code}: {claimed} claimed, {found}"
    return text if reason["move"] is None else f"{text}, from move {reason['move'] + 1}"
