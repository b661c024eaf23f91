"""Verification of many games at once.

The compiled engine clears the games about which nothing is wrong.  Every other game is judged by ``replay.verdict.judge``, the
interpreted engine: it alone names reasons, so nobody is flagged on the word of the compiled engine only, and when the two
engines differ about a game the night stops (EngineDisagreement) instead of accusing somebody.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine import ENGINE_VERSION
from engine.batch import NONE, BatchResult, TextColumn, hash_logs
from engine.compiled import jit
from engine.outcome import BOARD_EQUAL, END
from replay import scan_kernel
from replay.challenges import ChallengeTable
from replay.columns import Ints, Quarantined, RecordBatch
from replay.draw import Draw, Drawn, compiled_of
from replay.errors import MalformedRecord
from replay.games import NAMES, kind_of
from replay.games.kind import Rules
from replay.record import OPTIONAL_FIELDS, OPTIONAL_NAMES, Record
from replay.rulebook import Rulebook
from replay.scan_kernel import eight_bytes
from replay.suspicion_batch import LogFacts, count_choices, read_logs
from replay.suspicion_kernel import F_PLAYED, F_TICKS
from replay.suspicions import clock_signs, pace_signs
from replay.two_engines import disagreement
from replay.verdict import ATTEMPTS, PROCESSING_VERSION, JudgeSettings, Verdict, challenge_span, judge, uncounted

_jit = jit(scan_kernel)

_TEXT, _TIME, _COUNT = pa.string(), pa.timestamp("us"), pa.int64()
VERDICT_SCHEMA = pa.schema(
    [
        *((name, _TEXT) for name in ("game_id", "game", "mode", "rules", "challenge", "player_id", "player_kind", "nation")),
        ("attempt", _COUNT), ("platform", _TEXT), ("app_version", _TEXT),
        ("started_at", _TIME), ("finished_at", _TIME), ("uploaded_at", _TIME),
        ("score", _COUNT), ("best_combo", _COUNT), ("level", _COUNT), ("lines", _COUNT), ("final_board", _TEXT),
        ("verdict", _TEXT), ("counted", pa.bool_()), ("reason_codes", pa.list_(_TEXT)), ("reasons", _TEXT),
        ("suspicions", pa.list_(_TEXT)), ("evidence", _TEXT),
        ("replayed_score", _COUNT), ("replayed_best_combo", _COUNT), ("replayed_level", _COUNT), ("replayed_lines", _COUNT),
        ("replayed_board", _TEXT),
        ("moves", _COUNT), ("moves_received", _COUNT), ("finished", pa.bool_()),
        ("fault_kind", _TEXT), ("fault_move", _COUNT), ("fault_text", _TEXT), ("copy_of", _TEXT),
        ("log_hash_low", pa.uint64()), ("log_hash_high", pa.uint64()), ("upload_key", pa.uint64()), ("attempt_key", pa.uint64()),
        ("log_key", pa.uint64()), ("inputs_hash", pa.uint64()), ("choices", _COUNT),
        ("ticks", _COUNT), ("ticks_played", _COUNT),
        ("thinks", pa.list_(pa.uint8())), ("source_file", _TEXT), ("source_line", _COUNT),
        ("engine_version", _TEXT), ("processing_version", pa.int32()),
    ]
)  # fmt: skip
# Texts with few values a day; they travel as dictionaries.
_LOW_CARDINALITY = ("game", "mode", "rules", "challenge", "player_kind", "nation", "platform", "app_version")


@_jit
def _gather(data, starts, ends, offsets, out):  # type: ignore[no-untyped-def]
    """Copy the texts behind one another."""
    for row in range(len(starts)):
        at, pos, end = np.uint64(offsets[row]), np.uint64(max(starts[row], 0)), np.uint64(max(ends[row], 0))
        while pos < end:
            out[at] = data[pos]
            at += np.uint64(1)
            pos += np.uint64(1)


@_jit
def _mix_text(data, starts, ends, keys):  # type: ignore[no-untyped-def]
    """Fold a text column into 64-bit keys, one a row, eight bytes at a time; a text's length is part of it."""
    for row in range(len(starts)):
        pos, end = max(starts[row], 0), max(ends[row], 0)
        key = keys[row] ^ np.uint64(end - pos)
        while pos < end:
            if pos + 8 <= end:
                block = eight_bytes(data, pos)
            else:
                block = np.uint64(0)
                for index in range(pos, end):
                    block = (block << np.uint64(8)) | np.uint64(data[index])
            key = (key ^ block) * np.uint64(0x9FB21C651E98DF25)
            key ^= key >> np.uint64(32)
            pos += 8
        keys[row] = key


def arrow_text(column: TextColumn) -> pa.Array:
    """A text column as an Arrow string array of its own; start -1 is a null."""
    sizes = column.ends - column.starts
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    out = np.empty(offsets[-1], np.uint8)
    _gather(column.data, column.starts, column.ends, offsets, out)
    null = column.starts < 0
    valid = None
    if null.any():
        valid = pa.py_buffer(np.packbits(~null, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(column), [valid, pa.py_buffer(offsets), pa.py_buffer(out)])


@dataclass
class VerifiedBatch:
    """Verdict rows (VERDICT_SCHEMA, texts as dictionaries) in the input's order, and what was set aside.

    ``verified`` counts the rows that say so; ``drawn`` are those of them that the night may look at twice, if it draws any.
    """

    rows: pa.RecordBatch
    quarantined: list[Quarantined]
    scanned: int
    received: int
    verified: int
    drawn: Drawn | None = None


@dataclass(frozen=True)
class _Combination:
    """What games of the same (game, mode, rules, challenge) share; ``deal`` is None when they cannot be replayed."""

    game: str
    mode: str
    rules: Rules | None
    deal: Any
    standing: bool
    opens: int = 0
    closes: int = 0
    last_upload: int = 0


@dataclass
class Verifier:
    """Verifies batches of records under the given reference data.  One may be shared by threads.

    ``anonymised`` maps old player ids to new ones (seeds/players.csv); no row holds an old one.  With a ``draw`` batches say
    which of their games belong to it.
    """

    rulebook: Rulebook
    challenges: ChallengeTable
    settings: JudgeSettings = field(default_factory=JudgeSettings)
    anonymised: dict[str, str] = field(default_factory=dict)
    draw: Draw | None = None

    def verify(self, batch: RecordBatch, source: str) -> VerifiedBatch:
        """Judge every record of ``batch``; ``source`` is the file's name as verdicts and quarantine show it.

        Raises EngineDisagreement when the compiled and the interpreted engine differ about a game.
        """
        self._anonymise(batch)
        result = BatchResult.empty(len(batch))
        text = {name: arrow_text(batch.texts[name]) for name in batch.texts if name not in ("moves",)}
        for name in _LOW_CARDINALITY:
            text[name] = text[name].dictionary_encode()
        codes, combinations = self._combine(batch, text)
        fine, standing, facts = self._replay(batch, result, codes, combinations)
        quarantined = list(batch.quarantined)
        judged: dict[int, Verdict] = {}
        for row in np.flatnonzero(~fine):
            record = batch.record(int(row))
            try:
                verdict = judge(record, self.rulebook, self.challenges, self.settings)
            except MalformedRecord as problem:
                quarantined.append(Quarantined(int(batch.lines[row]), problem.code, str(problem), record.game_id))
                continue
            if verdict.verdict == "quarantined":
                reason = verdict.reasons[0]
                words = f"{reason.found} (at {reason.claimed})" if reason.claimed else str(reason.found)
                quarantined.append(Quarantined(int(batch.lines[row]), reason.code, words, record.game_id))
                continue
            _compare_engines(record, verdict, int(row), result)
            judged[int(row)] = verdict
        rows = self._rows(batch, result, text, standing, facts, judged, source)
        drawn = self.draw.of(batch, result, rows, fine, standing) if self.draw else None
        if len(judged) != np.count_nonzero(~fine):
            keep = fine.copy()
            keep[list(judged)] = True
            rows = rows.filter(pa.array(keep))
        quarantined.sort(key=lambda q: q.line)
        return VerifiedBatch(rows, quarantined, batch.scanned, batch.received, int(np.count_nonzero(fine)), drawn)

    def replay_scores(self, batch: RecordBatch) -> tuple[Ints, np.ndarray, np.ndarray]:
        """(score of each game as replayed, whether its log is legal and the claimed board and best combo come out, log's hash).

        What cannot be replayed under this verifier's rules and challenges has False.  Nothing is judged.
        """
        result = BatchResult.empty(len(batch))
        text = {name: arrow_text(batch.texts[name]).dictionary_encode() for name in ("game", "mode", "rules", "challenge")}
        codes, combinations = self._combine(batch, text)
        self._replay(batch, result, codes, combinations)
        replayed = np.array([c.deal is not None for c in combinations], np.bool_)[codes]
        legal = replayed & (result.status == END) & (result.board == BOARD_EQUAL)
        return result.score, legal & (result.best_combo == batch.numbers["best_combo"]), result.log_hash

    def _anonymise(self, batch: RecordBatch) -> None:
        if not self.anonymised or not len(batch):
            return
        column = batch.texts["player_id"]
        known = pa.array(list(self.anonymised), pa.string())
        hit = np.flatnonzero(pc.is_in(arrow_text(column), value_set=known).to_numpy(zero_copy_only=False))
        if not len(hit):
            return
        extra = bytearray()
        starts, ends = column.starts.copy(), column.ends.copy()
        for row in hit:
            starts[row] = len(column.data) + len(extra)
            extra += self.anonymised[str(batch.text("player_id", int(row)))].encode()
            ends[row] = len(column.data) + len(extra)
        data = np.concatenate([column.data, np.frombuffer(bytes(extra), np.uint8)])
        data.flags.writeable = False
        batch.texts["player_id"] = TextColumn(data, starts, ends)

    def _combine(self, batch: RecordBatch, text: dict[str, pa.Array]) -> tuple[Ints, list[_Combination]]:
        """The combination of each row, by number."""
        code = np.zeros(len(batch), np.int64)
        for name in ("game", "mode", "rules", "challenge"):
            indices = text[name].indices.to_numpy(zero_copy_only=False).astype(np.int64)
            _, code = np.unique(code * (len(text[name].dictionary) + 1) + indices, return_inverse=True)
        _, first = np.unique(code, return_index=True)
        return code, [self._combination(batch.record(int(row))) for row in first]

    def _combination(self, record: Record) -> _Combination:
        game, mode = record.game, record.mode
        rules = self.rulebook.find(game, record.rules)
        challenge = self.challenges.find(game, record.challenge)
        nothing = _Combination(game, mode, rules, None, False)
        if rules is None or challenge is None or not rules.has_mode(mode):
            return nothing
        try:
            deal = challenge.deal(rules, mode)
        except ValueError:
            return nothing
        day = challenge.date
        if day is None or uncounted(record, challenge):
            return _Combination(game, mode, rules, deal, False)
        return _Combination(game, mode, rules, deal, True, *challenge_span(day))

    def _replay(
        self, batch: RecordBatch, result: BatchResult, codes: Ints, combinations: list[_Combination]
    ) -> tuple[np.ndarray, np.ndarray, LogFacts]:
        """(games that the compiled engine finds nothing wrong with, games in their challenge's own mode and rules, what the
        logs say beside it)."""
        numbers = batch.numbers
        replayable = np.array([c.deal is not None for c in combinations], np.bool_)[codes]
        standing = np.array([c.standing for c in combinations], np.bool_)[codes]
        clocked = np.array([c.game in NAMES and not kind_of(c.game).judges_pace for c in combinations], np.bool_)[codes]
        moves = batch.texts["moves"]
        facts = read_logs(moves, clocked)
        for members in _by_rules(combinations):
            _replay_rules(batch, result, codes, combinations, members, facts.choices, self.settings.copied_min_choices)
        hash_logs(moves, np.flatnonzero(~replayable), result.log_hash)
        fine = replayable & (result.status == END) & (result.board == BOARD_EQUAL)
        fine &= (result.score == numbers["score"]) & (result.best_combo == numbers["best_combo"])
        for name, given in batch.given.items():
            fine &= ~given | (getattr(result, name) == numbers[name])
        opens, closes, last_upload = (
            np.array([getattr(c, name) for c in combinations], np.int64)[codes] for name in ("opens", "closes", "last_upload")
        )
        in_time = (numbers["started_at"] >= opens) & (numbers["started_at"] < closes) & (numbers["uploaded_at"] <= last_upload)
        attempt = (numbers["attempt"] >= min(ATTEMPTS)) & (numbers["attempt"] <= max(ATTEMPTS))
        return fine & (~standing | (in_time & attempt)), standing, facts

    def _rows(
        self, batch: RecordBatch, result: BatchResult, text: dict[str, pa.Array], standing: np.ndarray, facts: LogFacts,
        judged: dict[int, Verdict], source: str,
    ) -> pa.RecordBatch:  # fmt: skip
        size, numbers = len(batch), batch.numbers
        columns: dict[str, Any] = dict(text)
        for name in ("started_at", "finished_at", "uploaded_at"):
            columns[name] = pa.array(numbers[name].view("datetime64[us]"))
        for name in ("attempt", "score", "best_combo"):
            columns[name] = pa.array(numbers[name])
        for name, given in batch.given.items():
            columns[name] = pa.array(numbers[name], mask=~given)
        flagged = np.zeros(size, np.bool_)
        flagged[list(judged)] = [v.verdict == "flagged" for v in judged.values()]
        columns["verdict"] = pa.DictionaryArray.from_arrays(pa.array(flagged.astype(np.int32)), pa.array(["verified", "flagged"]))
        columns["counted"] = pa.array(standing & ~flagged)
        columns["moves_received"] = pa.array(_received(result, judged))
        signs, evidence = self._suspicions(batch, result, facts, judged)
        columns["suspicions"] = _lists(size, signs)
        columns["reason_codes"] = _lists(size, {row: tuple(r.code for r in v.reasons) for row, v in judged.items()})
        columns["reasons"] = _sparse(size, {row: json.dumps([r.as_json() for r in v.reasons]) for row, v in judged.items()}, "[]")
        columns["evidence"] = _sparse(size, {row: json.dumps(e, sort_keys=True) for row, e in evidence.items() if e}, None)
        columns |= _replayed(size, result, judged)
        columns["copy_of"] = pa.nulls(size, pa.string())
        columns["log_hash_low"], columns["log_hash_high"] = (pa.array(result.log_hash[:, i]) for i in range(2))
        columns |= _keys(batch, result, standing, facts, self.settings.copied_min_choices)
        columns["source_file"] = _constant(size, source)
        columns["source_line"] = pa.array(batch.lines)
        columns["engine_version"] = _constant(size, ENGINE_VERSION)
        columns["processing_version"] = pa.array(np.full(size, PROCESSING_VERSION, np.int32))
        return pa.RecordBatch.from_pydict({name: columns[name] for name in VERDICT_SCHEMA.names})

    def _suspicions(
        self, batch: RecordBatch, result: BatchResult, facts: LogFacts, judged: dict[int, Verdict]
    ) -> tuple[dict[int, tuple[str, ...]], dict[int, dict[str, Any]]]:
        """(the softer signs that a game shows by itself, their numbers), by row; of the judged ones, what the judge said.

        Whole columns find the few rows that show something, and what the judge asks of one game names it.
        """
        numbers, limit = batch.numbers, self.settings
        micros = numbers["finished_at"] - numbers["started_at"]
        fast = (result.received >= limit.pace_min_tokens) & (micros < limit.pace_min_ms_per_token * 1000 * result.received)
        shown = np.where(facts.clocked, facts.stands_out(limit), fast) & _people(batch)
        signs: dict[int, tuple[str, ...]] = {int(row): ("unfinished",) for row in np.flatnonzero(result.finished == 0)}
        evidence: dict[int, dict[str, Any]] = {}
        for row in map(int, np.flatnonzero(shown)):
            if facts.clocked[row]:
                found, evidence[row] = clock_signs(facts.facts[row], limit)
            else:
                found, evidence[row] = pace_signs(int(result.received[row]), int(micros[row]), limit)
            signs[row] = found + signs.get(row, ())
        for row, verdict in judged.items():
            signs[row], evidence[row] = verdict.suspicions, verdict.evidence or {}
        return signs, evidence


def _by_rules(combinations: list[_Combination]) -> Iterator[list[int]]:
    """The combinations that can be replayed, by number, those of one game's rules together."""
    groups: dict[tuple[str, str], list[int]] = {}
    for number, combination in enumerate(combinations):
        if combination.rules is not None and combination.deal is not None:
            groups.setdefault((combination.game, combination.rules.version), []).append(number)
    yield from groups.values()


def _replay_rules(
    batch: RecordBatch, result: BatchResult, codes: Ints, combinations: list[_Combination], members: list[int],
    choices: Ints, enough: int,
) -> None:  # fmt: skip
    """Replay all games of one game's rules version; ``members`` are their combinations, each with its own deal and mode.

    Where only a replay can tell, the games' ``choices`` are written too, counted up to ``enough``.
    """
    moves = batch.texts["moves"]
    deal_of = np.zeros(len(combinations), np.int64)
    deal_of[members] = np.arange(len(members))
    select = np.flatnonzero(np.isin(codes, members)) if len(members) < len(combinations) else np.arange(len(codes))
    longest = np.zeros(len(combinations), np.int64)
    np.maximum.at(longest, codes[select], (moves.ends - moves.starts)[select])
    played = [combinations[number] for number in members]
    compiled: Any = import_module(f"engine.{played[0].game}.batch").BatchReplayer
    replayer = compiled(
        played[0].rules, [c.deal for c in played], [c.mode for c in played], [int(longest[number]) for number in members]
    )
    replayer.replay(moves, deal_of[codes], batch.texts["final_board"], select, result)
    if played[0].game == "blocks":
        deals, modes, tables = [c.deal for c in played], [c.mode for c in played], replayer.fast_arguments()
        rules: Any = played[0].rules
        count_choices(rules, deals, modes, tables, moves, deal_of[codes], select, enough, choices)
    for name in OPTIONAL_NAMES:
        # What records of the game cannot claim is no result of theirs, whatever the engine counts.
        if name not in OPTIONAL_FIELDS.get(played[0].game, ()):
            getattr(result, name)[select] = NONE


def _compare_engines(record: Record, verdict: Verdict, row: int, result: BatchResult) -> None:
    """Hold the interpreted engine's replay against the compiled one's, for a game that is about to be flagged."""
    if verdict.replayed is None:
        return
    compiled = compiled_of(result, row, record.game)
    # Of the log's hash no flag is made.
    del compiled["log_hash"]
    found = {name: verdict.replayed[name] for name in compiled if name not in ("board", "fault")}
    found["fault"] = verdict.fault.kind if verdict.fault else None
    if verdict.fault:
        # Nothing after a fault is held against a board.
        del compiled["board"]
    else:
        # Whether the claim cannot be read or is another one: both are a board that does not come out.
        compiled["board"] = "as claimed" if compiled["board"] == BOARD_EQUAL else "another"
        found["board"] = "another" if any(r.code == "board_mismatch" for r in verdict.reasons) else "as claimed"
    if compiled != found or verdict.verdict != "flagged":
        raise disagreement(record, compiled | {"verdict": "flagged"}, found | {"verdict": verdict.verdict}, "nobody is flagged")


def _received(result: BatchResult, judged: dict[int, Verdict]) -> Ints:
    received = result.received.copy()
    for row, verdict in judged.items():
        received[row] = verdict.claimed["moves"]
    return received


def _replayed(size: int, result: BatchResult, judged: dict[int, Verdict]) -> dict[str, pa.Array]:
    """What the replay gave: null where nothing could be replayed; the board only where it is not the claimed one."""
    absent = np.zeros(size, np.bool_)
    absent[[row for row, v in judged.items() if v.replayed is None]] = True
    boards = {row: v.replayed["board"] for row, v in judged.items() if v.replayed is not None}
    faults = {row: v.fault for row, v in judged.items() if v.fault is not None}
    fault_move = np.zeros(size, np.int64)
    for row, fault in faults.items():
        fault_move[row] = fault.move
    no_fault = np.ones(size, np.bool_)
    no_fault[list(faults)] = False
    return {
        "replayed_score": pa.array(result.score, mask=absent),
        "replayed_best_combo": pa.array(result.best_combo, mask=absent),
        # What a game does not have is NONE there, and so is what was not replayed.
        **{f"replayed_{name}": _or_null(getattr(result, name), NONE) for name in OPTIONAL_NAMES},
        "replayed_board": _sparse(size, boards, None),
        "moves": pa.array(result.moves),
        "finished": pa.array(result.finished.astype(np.bool_), mask=absent),
        "fault_kind": _sparse(size, {row: fault.kind for row, fault in faults.items()}, None),
        "fault_move": pa.array(fault_move, mask=no_fault),
        "fault_text": _sparse(size, {row: fault.text for row, fault in faults.items()}, None),
    }


def attempt_keys(attempt: Ints, whose: list[TextColumn], standing: np.ndarray, log_low: np.ndarray) -> np.ndarray:
    """Keys of attempts (uint64), from the attempts' numbers and ``whose``: game, challenge, player_id.

    Odd for a game in its challenge's own mode and rules; other games have no attempts, their key is even and takes the log in,
    so that it finds the same content again.
    """
    keys = attempt.astype(np.uint64)
    for text in whose:
        _mix_text(text.data, text.starts, text.ends, keys)
    odd = np.uint64(1)
    return np.where(standing, keys | odd, (keys ^ log_low) & ~odd)


def _keys(
    batch: RecordBatch, result: BatchResult, standing: np.ndarray, facts: LogFacts, enough: int
) -> dict[str, pa.Array]:
    """64-bit keys by which related uploads are found, and what of their logs is then compared.

    A log key is 0 for a log of fewer choices than ``enough``, which is no sign of anything.  In a game with a clock the key and
    ``inputs_hash`` are those of the inputs without the times between them, of which ``thinks`` are some.
    """
    texts, clocked = batch.texts, facts.clocked
    upload = np.zeros(len(batch), np.uint64)
    _mix_text(texts["game_id"].data, texts["game_id"].starts, texts["game_id"].ends, upload)
    whose = [texts[name] for name in ("game", "challenge", "player_id")]
    attempt = attempt_keys(batch.numbers["attempt"], whose, standing, result.log_hash[:, 0])
    log = np.where(clocked, facts.inputs_hash[:, 0], result.log_hash[:, 0])
    for name in ("game", "challenge"):
        _mix_text(texts[name].data, texts[name].starts, texts[name].ends, log)
    long = facts.choices >= enough
    # No log's own hash may read as "none".
    log = np.where(long, np.maximum(log, np.uint64(1)), np.uint64(0))
    counts, thinks = facts.thinks_of(long & clocked)
    return {
        "upload_key": pa.array(upload), "attempt_key": pa.array(attempt), "log_key": pa.array(log),
        # Without a clock the log's own hash is that of its inputs.
        "inputs_hash": pa.array(facts.inputs_hash[:, 1], mask=~clocked), "choices": pa.array(facts.choices),
        "ticks": pa.array(facts.facts[:, F_TICKS], mask=~clocked),
        "ticks_played": pa.array(facts.facts[:, F_PLAYED], mask=~clocked),
        "thinks": pa.ListArray.from_arrays(pa.array(counts), pa.array(thinks)),
    }  # fmt: skip


def _people(batch: RecordBatch) -> np.ndarray:
    """Which games people played, and no AI player: ``human`` and ``ai`` are all that a record may say."""
    kind = batch.texts["player_kind"]
    people: np.ndarray = kind.ends - kind.starts == len("human")
    return people


def _or_null(values: Ints, none: int) -> pa.Array:
    return pa.array(values, mask=values == none)


def _constant(size: int, value: str) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(size, np.int32)), pa.array([value]))


def _sparse(size: int, values: dict[int, str], other: str | None) -> pa.Array:
    """A text array that holds ``other`` everywhere but in a few rows."""
    table: list[str | None] = [other]
    indices = np.zeros(size, np.int32)
    for row, value in values.items():
        indices[row] = len(table)
        table.append(value)
    return pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(table, pa.string())).dictionary_decode()


def _lists(size: int, values: dict[int, tuple[str, ...]]) -> pa.Array:
    """A list-of-text array that is empty in most rows."""
    counts = np.zeros(size + 1, np.int32)
    for row, items in values.items():
        counts[row + 1] = len(items)
    flat = [item for row in sorted(values) for item in values[row]]
    return pa.ListArray.from_arrays(pa.array(np.cumsum(counts, dtype=np.int32)), pa.array(flat, pa.string()))
