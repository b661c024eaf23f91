"""What the slow twins say of an upload's claims: which reasons the replay owes, and the claims that come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from replay.challenges import Challenge
from replay.night import NightSettings
from replay.record import Record
from replay.verify import Verifier
from tests.reference import blocks, tetcolor, tetcolor_settle, tetromino

# The reasons that rest on the replay alone.
REPLAYED = frozenset(
    ["score_mismatch", "combo_mismatch", "board_mismatch", "level_mismatch", "lines_mismatch", "illegal_move"]
)  # fmt: skip
# A twin takes a millisecond a token at worst; longer logs are left to the two engines.
MOST_TOKENS = 4000


@cache
def verifier() -> Verifier:
    """The built-in rules, challenges and settings."""
    return NightSettings().verifier()


def by_twin(record: Record) -> tuple[Any, Any, Any] | None:
    """(the twin's result, the cells of its board, the cells of the claimed board or None where that cannot be read); None where
    no twin knows the rules, the mode or the challenge, or the log is too long for one."""
    challenge = verifier().challenges.find(record.game, record.challenge)
    if challenge is None or sum(char.isascii() and (char.isalpha() or char == "*") for char in record.moves) > MOST_TOKENS:
        return None
    log, claim = record.moves.encode("utf-8"), record.final_board.encode("utf-8").decode("latin-1")
    return _TWINS[record.game](record, challenge, log, claim)


def _blocks(record: Record, challenge: Challenge, log: bytes, claim: str) -> tuple[Any, Any, Any] | None:
    values = blocks.VALUES.get(record.rules)
    if values is None or record.mode not in values.continues:
        return None
    pieces, start = challenge.pieces.split() or None, challenge.start_board or "-"
    found = blocks.replay(values, record.mode, log, challenge.rng_seed, pieces, start)
    width, height = values.width, values.height
    return found, blocks.read_board(found.board, width, height), blocks.read_board(claim, width, height)


def _tetromino(record: Record, challenge: Challenge, log: bytes, claim: str) -> tuple[Any, Any, Any] | None:
    if record.rules != "1.0.0" or record.mode not in tetromino.MODES:
        return None
    found = tetromino.replay(record.mode, log, challenge.rng_seed, challenge.pieces or None, challenge.start_board or "-")
    return found, tetromino.read_board(found.board), tetromino.read_board(claim)


def _tetcolor(record: Record, challenge: Challenge, log: bytes, claim: str) -> tuple[Any, Any, Any] | None:
    if record.rules != "1.0.0" or record.mode not in tetcolor.MODES:
        return None
    family = record.mode.split("/")[0]
    found = tetcolor.replay(record.mode, log, challenge.rng_seed, challenge.pieces, challenge.start_board)
    return found, tetcolor_settle.read_board(found.board, family), tetcolor_settle.read_board(claim, family)


_TWINS = {"blocks": _blocks, "tetromino": _tetromino, "tetcolor": _tetcolor}


def owed_reasons(record: Record) -> set[str] | None:
    """The reasons of REPLAYED that the twin's replay gives, ``deal_exhausted`` alone where the challenge has too few pieces; None
    where no twin can tell."""
    answer = by_twin(record)
    if answer is None:
        return None
    found, board, claimed = answer
    if found.fault is not None:
        return {"deal_exhausted" if found.fault[0] == "deal_exhausted" else "illegal_move"}
    wrong = {
        "score_mismatch": record.score != found.score, "combo_mismatch": record.best_combo != found.best_combo,
        "board_mismatch": claimed is None or claimed != board,
    }  # fmt: skip
    if record.game == "tetromino":
        wrong["level_mismatch"] = record.level not in (None, found.level)
        wrong["lines_mismatch"] = record.lines not in (None, found.lines)
    return {code for code, differs in wrong.items() if differs}


def reclaimed(record: Record, cut: Callable[[Record, int], str] | None = None) -> Record:
    """The upload with the claims that its log earns, as an honest phone would make them; as it is where no twin can tell.

    ``cut`` gives a log's first so many tokens: with it an illegal log is cut before its fault, and becomes an honest one.
    """
    answer = by_twin(record)
    if answer is None:
        return record
    found = answer[0]
    if found.fault is not None and cut is not None:
        return reclaimed(replace(record, moves=cut(record, found.fault[1])))
    # What was not claimed need not be.
    more = {name: getattr(found, name) for name in ("level", "lines") if getattr(record, name) is not None}
    return replace(record, score=found.score, best_combo=found.best_combo, final_board=found.board, **more)
