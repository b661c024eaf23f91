"""The compiled and the interpreted engine held against each other, in every field of a result.

Every game that is about to be flagged is replayed by both (``replay.verify``), and so is a sample of the verified ones.
A difference stops the night: no player is accused, and no score is counted, because of our own bug.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engine.words import hash_log
from replay.errors import EngineDisagreement
from replay.games import kind_of
from replay.record import FIELDS, OPTIONAL_FIELDS, TIME, Record, format_time
from replay.verdict import log_bytes

if TYPE_CHECKING:
    from replay.challenges import ChallengeTable
    from replay.rulebook import Rulebook


def as_object(record: Record) -> dict[str, Any]:
    """A record as the JSON object of its line; an optional field that claims nothing is left out."""
    return {
        name: format_time(value) if FIELDS.get(name) == TIME else value
        for name, value in asdict(record).items()
        if name in FIELDS or value is not None
    }


def interpreted(record: Record, rulebook: Rulebook, challenges: ChallengeTable) -> dict[str, Any]:
    """What the interpreted engine says of a game that can be replayed, as ``replay.draw.compiled_of`` says it."""
    rules, challenge = rulebook.find(record.game, record.rules), challenges.find(record.game, record.challenge)
    assert rules is not None, record.rules
    assert challenge is not None, record.challenge
    log = log_bytes(record.moves)
    game = kind_of(record.game).new_game(rules, challenge.deal(rules, record.mode), log, record.mode)
    outcome = game.run()
    low, high = hash_log(log, 0, len(log), False)
    return {
        "score": outcome.score, "best_combo": outcome.best_combo, "moves": outcome.moves, "finished": bool(outcome.finished),
        "board": game.board_equals(record.final_board),
        **{name: getattr(outcome, name) for name in OPTIONAL_FIELDS.get(record.game, ())},
        "fault": outcome.fault.kind if outcome.fault else None, "log_hash": f"{high:016x}{low:016x}",
    }  # fmt: skip


def refuse_disagreement(record: Record, compiled: dict[str, Any], rulebook: Rulebook, challenges: ChallengeTable) -> None:
    """Replay a verified game by the interpreted engine too.  Raises EngineDisagreement with the game when they differ."""
    found = interpreted(record, rulebook, challenges)
    if found != compiled:
        raise disagreement(record, compiled, found, "nothing is published")


def disagreement(record: Record, compiled: dict[str, Any], found: dict[str, Any], held: str) -> EngineDisagreement:
    """The error for a game about which the engines differ, with its record and both results; ``held`` is what does not happen
    until they agree."""
    # A game may agree in most: what differs is what somebody looks for.
    differing = [name for name in found if compiled.get(name) != found[name]]
    return EngineDisagreement(
        f"game {record.game_id!r}: the compiled engine gives {_only(compiled, differing)}, the interpreted one"
        f" {_only(found, differing)}; {held} until they agree, run `replay game {record.game_id!r}` and compare",
        {"code": EngineDisagreement.code, "record": as_object(record), "compiled": compiled, "interpreted": found},
    )


def _only(result: dict[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: result[name] for name in names if name in result}
