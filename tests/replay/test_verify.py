"""Batch verification: what it says of each game is what the interpreted judge says of it alone, to the last field."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict, replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine import ENGINE_VERSION
from engine.batch import BatchResult, TextColumn
from engine.blocks.batch import BatchReplayer
from engine.blocks.kernel import MAX_SIDE
from replay import ndjson, shards
from replay.errors import EngineDisagreement
from replay.present import quarantine_json, verdict_json
from replay.record import FIELDS, TIME, Record
from replay.verdict import PROCESSING_VERSION, JudgeSettings, challenge_span, judge
from replay.verify import VERDICT_SCHEMA, Verifier
from tests.replay.build import CAREFUL, batch_of, line, rows_of
from tests.replay.games import BEST, BOARD, FINISHED, FINISHED_TOKENS, GAME, NOON, RULEBOOK, SCORE, TABLE, TOKENS, play, record

VERIFIER = Verifier(RULEBOOK, TABLE)
EPOCH = datetime(1970, 1, 1)


# --- Helpers ----------------------------------------------------------------------------------------------------------


def verify(*records: Record, tail: bytes = b"", verifier: Verifier = VERIFIER) -> list[dict[str, Any]]:
    """The rows of one batch; ``tail`` stands before each line's last brace."""
    return rows_of(verifier.verify(batch_of(list(records), tail), "a.ndjson"))


def verify_one(found: Record, verifier: Verifier = VERIFIER) -> dict[str, Any]:
    (row,) = verify(found, verifier=verifier)
    return row


def check_row(row: dict[str, Any], found: Record, verifier: Verifier, source: tuple[str, int]) -> None:
    """Hold a verdict row, and the object that is printed for it, against the interpreted judge's verdict."""
    verdict = judge(found, verifier.rulebook, verifier.challenges, verifier.settings)
    assert verdict.verdict in ("verified", "flagged")
    for name, given in asdict(found).items():
        expected = EPOCH + timedelta(microseconds=given) if FIELDS.get(name) == TIME else given
        if name != "moves":
            assert row[name] == expected, name
    replayed = verdict.replayed or dict.fromkeys(("score", "best_combo", "board", "finished")) | {"moves": 0}
    expected = {
        "verdict": verdict.verdict, "counted": verdict.counted, "reason_codes": [reason.code for reason in verdict.reasons],
        "reasons": json.dumps([reason.as_json() for reason in verdict.reasons]), "suspicions": list(verdict.suspicions),
        "evidence": None if verdict.evidence is None else json.dumps(verdict.evidence, sort_keys=True),
        "replayed_score": replayed["score"], "replayed_best_combo": replayed["best_combo"],
        "replayed_level": replayed.get("level"), "replayed_lines": replayed.get("lines"), "moves": replayed["moves"],
        "moves_received": verdict.claimed["moves"], "finished": replayed["finished"],
        "fault_kind": verdict.fault.kind if verdict.fault else None, "fault_move": verdict.fault.move if verdict.fault else None,
        "fault_text": verdict.fault.text if verdict.fault else None, "copy_of": None, "source_file": source[0],
        "source_line": source[1], "engine_version": ENGINE_VERSION, "processing_version": PROCESSING_VERSION,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    if verdict.verdict == "verified":
        assert row["replayed_board"] is None
    elif verdict.replayed:
        assert row["replayed_board"] == verdict.replayed["board"]
    printed = verdict_json(row, verifier.rulebook)
    assert printed.pop("source") == {"file": source[0], "line": source[1]}
    assert json.dumps(printed) == json.dumps(verdict.as_json())


def check(records: list[Record], tail: bytes = b"", *, verifier: Verifier = VERIFIER) -> list[dict[str, Any]]:
    """The rows of one batch, each held against the judge."""
    rows = verify(*records, tail=tail, verifier=verifier)
    for number, (row, found) in enumerate(zip(rows, records, strict=True), start=1):
        check_row(row, found, verifier, ("a.ndjson", number))
    return rows


# --- Claims that cannot be true, and claims that can ------------------------------------------------------------------

C2 = {
    "the score doubled": {"score": 2 * SCORE},
    "a point too few": {"score": SCORE - 1},
    "beyond 7,020 a placement": {"score": 7020 * len(TOKENS) + 1},
    "exactly 7,020 a placement": {"score": 7020 * len(TOKENS)},
    "a kept score and no log": {"moves": "", "score": 50_000, "best_combo": 0, "final_board": "-"},
    "all claims and no log": {"moves": ""},
    "a negative score": {"score": -1},
    "2^31": {"score": 2**31},
    "2^63 - 1": {"score": 2**63 - 1, "best_combo": 2**63 - 1},
    "-2^63": {"score": -(2**63), "best_combo": -(2**63)},
    "a combo of 9": {"best_combo": 9},
    "a negative combo": {"best_combo": -1},
    "a combo one too few": {"best_combo": BEST - 1},
    "a lower score and combo": {"score": 0, "best_combo": 0},
}


@pytest.mark.parametrize("what", C2)
def test_c2_edited_claims_are_flagged_side_by_side(what: str) -> None:
    """C2: nothing wraps, a lower claim is a mismatch too."""
    found = record(TOKENS, GAME, **C2[what])
    row = verify_one(found)
    check_row(row, found, VERIFIER, ("a.ndjson", 1))
    assert (row["verdict"], row["counted"]) == ("flagged", False)
    impossible = {
        "beyond 7,020 a placement", "a kept score and no log", "all claims and no log", "a negative score", "2^31", "2^63 - 1",
        "-2^63",
        "a combo of 9", "a negative combo",
    }  # fmt: skip
    assert ("impossible_score" in row["reason_codes"]) == (what in impossible)
    changed = {"score": "score_mismatch", "best_combo": "combo_mismatch"}
    for name, code in changed.items():
        if name in C2[what] and what != "a kept score and no log":
            reason = next(r for r in json.loads(row["reasons"]) if r["code"] == code)
            assert (reason["claimed"], reason["found"]) == (C2[what][name], {"score": SCORE, "best_combo": BEST}[name])


def cell_flipped(board: str) -> str:
    """The board with one empty cell of its last row filled, or the other way round."""
    rows = [re.sub("[0-9]", lambda m: "." * int(m.group()), row) for row in board.split("/")]
    last = rows[-1]
    return "/".join([*rows[:-1], last[:-1] + ("#" if last[-1] == "." else ".")]).replace(".", "1")


def loosened(board: str) -> str:
    """The same cells in another way of writing: the empty rows of the top, leading zeros, a zero behind a cell."""
    tops = 8 - len(board.split("/"))
    return "8/" * tops + re.sub("[0-9]+", r"0\g<0>", board).replace("#", "#0", 1)


@pytest.mark.parametrize("tokens", [TOKENS, FINISHED_TOKENS], ids=["unfinished", "finished"])
def test_b10_each_claim_is_enough_on_its_own(tokens: list[str]) -> None:
    """B10: one cell, one line of the combo, one point; another way of writing the board passes."""
    game = GAME if tokens is TOKENS else FINISHED
    board = game.board
    honest = record(tokens, game)
    cases = {
        "": honest, "board_mismatch": replace(honest, final_board=cell_flipped(board)),
        "combo_mismatch": replace(honest, best_combo=honest.best_combo + 1),
        "score_mismatch": replace(honest, score=honest.score + 1),
    }  # fmt: skip
    loose = replace(honest, final_board=loosened(board))
    rows = verify(
        *cases.values(), loose, replace(honest, final_board="8/8/8/8/8/8/8/8/" + board), replace(honest, final_board="?")
    )
    for row, code, found in zip(rows, cases, cases.values(), strict=False):
        check_row(row, found, VERIFIER, ("a.ndjson", row["source_line"]))
        assert row["reason_codes"] == ([code] if code else [])
    assert loose.final_board != board
    assert [row["reason_codes"] for row in rows[4:]] == [[], ["board_mismatch"], ["board_mismatch"]]
    assert verdict_json(rows[4], RULEBOOK)["replayed"]["board"] == board
    assert verdict_json(rows[4], RULEBOOK)["claimed"]["board"] == loose.final_board


def test_b6_another_version_that_would_agree_is_evidence_and_no_excuse() -> None:
    """B6: labelled 1.1.0 but played under 1.2.0; strictly replayed under what it names."""
    tokens, game = play(1, 60)
    labelled = record(tokens, game, rules="1.1.0")
    row = verify_one(labelled)
    check_row(row, labelled, VERIFIER, ("a.ndjson", 1))
    assert (row["verdict"], row["reason_codes"]) == ("flagged", ["score_mismatch"])
    assert json.loads(row["evidence"])["rules_that_agree"] == ["1.2.0"]
    assert row["replayed_score"] != SCORE
    old_tokens, old = play(1, 60, "2026-09-15", "1.1.0")
    rows = verify(record(old_tokens, old, challenge="2026-09-15"), record(tokens, game))
    # The old game was verified under its own rules, though it was played outside this day.
    assert [row["reason_codes"] for row in rows] == [["outside_challenge_day"], []]
    assert [row["evidence"] for row in rows] == [None, None]


def test_rules_and_challenges_that_nobody_knows() -> None:
    """They are flagged without a replay, and their logs are still told apart."""
    logs = ["1a1", "1a2", "1a1 ", "", "\u00e9"]
    records = [record([], GAME, moves=log, rules="9.9.9") for log in logs]
    records += [record([], GAME, moves=log, challenge="2031-01-01") for log in logs]
    records += [record([], GAME, moves=log, game="tetcolor") for log in logs]
    rows = check(records)
    assert [row["reason_codes"] for row in rows] == [["unknown_rules"]] * 5 + [["unknown_challenge"]] * 5 + [
        ["unknown_rules", "unknown_challenge"]
    ] * 5
    assert [row["replayed_score"] for row in rows] == [None] * 15
    hashes = [(row["log_hash_low"], row["log_hash_high"]) for row in rows]
    assert hashes[0] == hashes[2]
    assert len(set(hashes)) == 4
    assert hashes[:5] == hashes[5:10] == hashes[10:]


def test_games_of_many_kinds_lie_mixed_in_one_batch() -> None:
    """Rules, modes, challenges and continues each apply to their own games only."""
    kinds = [
        ("2026-10-31", "1.2.0", "daily"), ("2026-09-15", "1.1.0", "daily"), ("training-7", "1.2.0", "training"),
        ("2026-10-31", "1.1.0", "daily"),
        ("2026-10-31", "1.2.0", "training"), ("2026-10-31", "1.2.0", "arena"),
    ]  # fmt: skip
    records = []
    for number in range(48):
        challenge, rules, mode = kinds[number * 7 % 6]
        tokens, game = play(number % 5, 5 + number, challenge, rules, mode)
        log = " ".join(tokens)
        if number % 4 == 0:
            log = log.replace(" ", " * ", 1)
        records.append(
            record([], game, moves=log, challenge=challenge, rules=rules, mode=mode, score=game.outcome().score + number % 3)
        )
    rows = check(records)
    assert len({row["verdict"] for row in rows}) == 2
    assert sum(row["counted"] for row in rows) in range(1, 48)


def test_the_span_of_a_challenge_is_kept_to_the_microsecond() -> None:
    """B9: opens, closes, last upload; a clock that runs ahead."""
    opens, closes, last = challenge_span(date(2026, 10, 31))
    honest = record(TOKENS, GAME)
    cases = []
    for started, uploaded in (
        (opens, None),
        (opens - 1, None),
        (closes - 1, None),
        (closes, None),
        (NOON, last),
        (NOON, last + 1),
        (opens - 5 * 86_400_000_000, None),
    ):
        finished = started + 300_000_000
        cases.append(
            replace(honest, started_at=started, finished_at=finished, uploaded_at=finished if uploaded is None else uploaded)
        )
    rows = check(cases)
    assert ["outside_challenge_day" in row["reason_codes"] for row in rows] == [False, True, False, True, False, True, True]


def test_pace_and_attempts_at_their_limits() -> None:
    limits = JudgeSettings(pace_min_tokens=len(TOKENS), pace_min_ms_per_token=100)
    verifier = Verifier(RULEBOOK, TABLE, limits)
    honest = record(TOKENS, GAME)
    span = 100_000 * len(TOKENS)
    cases = [replace(honest, finished_at=honest.started_at + span - short, uploaded_at=NOON + span) for short in (0, 1, span)]
    cases += [replace(honest, attempt=number) for number in (-(2**63), -1, 0, 1, 2, 3, 4, 2**63 - 1)]
    rows = check(cases, verifier=verifier)
    assert ["superhuman_pace" in row["suspicions"] for row in rows[:3]] == [False, True, True]
    assert [row["reason_codes"] == ["attempt_limit"] for row in rows[3:]] == [True, True, True, False, False, False, True, True]


# --- What is set aside ------------------------------------------------------------------------------------------------


def test_what_no_player_answers_for_is_set_aside_in_its_place() -> None:
    """An unknown mode; a challenge that cannot be played or runs out: no verdict, and the neighbours stay."""
    honest = record(TOKENS, GAME)
    tokens = ["1a1", "2c1", "3e1", "1a3", "2c3", "3e3", "1a5"]
    records = [
        honest, replace(honest, game_id="g-mode", mode="ultra"), replace(honest, challenge="strange", game_id="g-strange"),
        replace(honest, game_id="g-short", challenge="short", moves=" ".join(tokens)), honest, replace(honest, mode=""), honest,
    ]  # fmt: skip
    batch = batch_of(records)
    done = VERIFIER.verify(batch, "a.ndjson")
    rows = rows_of(done)
    assert [row["source_line"] for row in rows] == [1, 5, 7]
    assert {row["verdict"] for row in rows} == {"verified"}
    assert [(q.line, q.code, q.game_id) for q in done.quarantined] == [
        (2, "wrong_value", "g-mode"), (3, "challenge", "g-strange"), (4, "challenge", "g-short"), (6, "wrong_value", "g-1"),
    ]  # fmt: skip
    assert "mode 'ultra' is none of rules 1.2.0" in done.quarantined[0].reason
    (long,) = VERIFIER.verify(batch_of([replace(honest, mode="\u00e9" * 10**6)]), "a.ndjson").quarantined
    assert long.reason.isascii()
    assert len(long.reason) < 300, "as short as every other reason"
    assert "Nix" in done.quarantined[1].reason
    assert "lists only 5 pieces" in done.quarantined[2].reason
    assert done.received == 7 == len(rows) + len(done.quarantined)


def test_bad_lines_of_the_reader_and_of_the_judge_come_in_the_order_of_lines() -> None:
    data = b"\n".join([line(mode="x"), b"{", line(mode="y"), b"[]", line(mode="z"), b""])
    done = VERIFIER.verify(ndjson.scan_chunk(ndjson.Chunk(bytearray(data) + bytes(16), len(data))), "a")
    assert [q.line for q in done.quarantined] == [1, 2, 3, 4, 5]
    assert (done.rows.num_rows, done.received, done.scanned) == (0, 5, 5)


def test_the_object_printed_for_a_line_that_was_set_aside() -> None:
    row = {"game_id": None, "code": "json", "reason": "not JSON", "source_file": "a", "source_line": 3}
    printed = quarantine_json(row)
    assert list(printed) == [*judge(record(TOKENS, GAME), RULEBOOK, TABLE).as_json(), "source"]
    assert printed["reasons"] == [{"code": "json", "claimed": None, "found": "not JSON", "move": None}]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"{\n"])
def test_a_batch_without_a_record(data: bytes) -> None:
    done = VERIFIER.verify(ndjson.scan_chunk(ndjson.Chunk(bytearray(data) + bytes(16), len(data))), "a")
    assert rows_of(done) == []
    assert done.received == len(done.quarantined)


# --- Two engines ------------------------------------------------------------------------------------------------------


def tampered(monkeypatch: pytest.MonkeyPatch, row: int, **changes: int) -> None:
    """Make the compiled engine say something else about one row."""
    real = BatchReplayer.replay

    def replay(self: BatchReplayer, *args: Any) -> None:
        real(self, *args)
        result = next(arg for arg in args if isinstance(arg, BatchResult))
        for name, added in changes.items():
            getattr(result, name)[row] += added

    monkeypatch.setattr(BatchReplayer, "replay", replay)


# What the compiled engine may get wrong about an honest game, and about one with a wrong score.
@pytest.mark.parametrize("changes", [
    {"score": 1}, {"score": -(2**40)}, {"best_combo": 1}, {"status": -4, "moves": -1}, {"status": -6}, {"board": 1}, {"board": 2},
], ids=str)  # fmt: skip
def test_an_honest_game_that_the_compiled_engine_denies_stops_the_night(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, int]
) -> None:
    """No player is accused because of our own bug."""
    honest = record(TOKENS, GAME)
    tampered(monkeypatch, 1, **changes)
    with pytest.raises(
        EngineDisagreement, match=r"game 'g-odd': the compiled engine gives .* nobody is flagged until they agree"
    ):
        verify(honest, replace(honest, game_id="g-odd"), honest)


@pytest.mark.parametrize("changes", [
    {"score": 1}, {"best_combo": 1}, {"moves": -1}, {"finished": 1}, {"status": -4},
], ids=str)  # fmt: skip
def test_a_wrong_game_about_which_the_engines_differ_stops_the_night(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, int]
) -> None:
    honest = record(TOKENS, GAME)
    tampered(monkeypatch, 2, **changes)
    with pytest.raises(EngineDisagreement, match="game 'g-odd'"):
        verify(honest, honest, replace(honest, game_id="g-odd", score=SCORE + 7), honest)


def test_a_fault_that_the_compiled_engine_misses_stops_the_night(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = record([*TOKENS, "1z9"], GAME, game_id="g-odd", score=SCORE + 1)
    tampered(monkeypatch, 0, status=1)
    with pytest.raises(EngineDisagreement, match="game 'g-odd'"):
        verify(bad)


# --- Players under another id -----------------------------------------------------------------------------------------


def test_an_anonymised_id_stands_nowhere() -> None:
    """D9: neither in rows nor in what is set aside; two players are never merged."""
    honest = record(TOKENS, GAME)
    players = ["old-id-1", "p-17", "old-id-2", "old-id-1", "old-id-11", "OLD-ID-1", "new-1"]
    records = [replace(honest, player_id=name, game_id=f"g-{i}") for i, name in enumerate(players)]
    records.append(replace(honest, player_id="old-id-2", mode="x"))
    records.append(replace(honest, player_id="old-id-2", score=1, rules="7.7.7"))
    verifier = Verifier(RULEBOOK, TABLE, anonymised={"old-id-1": "anonymous-1", "old-id-2": "\u00e9"})
    for tail in (b"", CAREFUL.encode()):
        done = verifier.verify(batch_of(records, tail), "a.ndjson")
        rows = rows_of(done)
        assert [row["player_id"] for row in rows] == [
            "anonymous-1",
            "p-17",
            "\u00e9",
            "anonymous-1",
            "old-id-11",
            "OLD-ID-1",
            "new-1",
            "\u00e9",
        ]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, done.rows.schema) as writer:
            writer.write_batch(done.rows)
        for written in (sink.getvalue().to_pybytes(), repr(rows).encode(), repr(done.quarantined).encode()):
            assert not re.search(rb"(?<!OLD)old-id-[12](?!1)", written)
        attempts = [row["attempt_key"] for row in rows]
        assert attempts[0] == attempts[3]
        assert len(set(attempts[:7])) == 6
        assert rows[0]["verdict"] == rows[2]["verdict"] == "verified"


def test_the_keys_are_those_of_the_new_id() -> None:
    honest = record(TOKENS, GAME)
    verifier = Verifier(RULEBOOK, TABLE, anonymised={"p-17": "anonymous"})
    keys = ("upload_key", "attempt_key", "log_key", "log_hash_low", "log_hash_high")
    before, after = verify_one(honest, verifier), verify_one(replace(honest, player_id="anonymous"))
    assert {k: before[k] for k in keys} == {k: after[k] for k in keys}


def test_anonymised_players_in_a_process_of_their_own() -> None:
    """Nothing else has to be imported first."""
    script = f"""
from replay.verify import Verifier
from replay.rulebook import load_rulebook
from replay.challenges import load_challenges
from replay import ndjson
rulebook = load_rulebook()
data = {line()!r}
batch = ndjson.scan_chunk(ndjson.Chunk(bytearray(data) + bytes(16), len(data)))
done = Verifier(rulebook, load_challenges(rulebook=rulebook), anonymised={{"p-1": "x"}}).verify(batch, "a")
print(done.rows.column("player_id").to_pylist())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "['x']\n", done.stderr


# --- Columns ----------------------------------------------------------------------------------------------------------


def test_odd_texts_come_out_as_they_went_in() -> None:
    """D8"""
    odd = ["", '"', "\x00", "a\nb", "=cmd", "\u202e", "\U0001f600", "e\u0301", "\u00e9", "x" * 1024]
    honest = record(TOKENS, GAME)
    records = [replace(honest, game_id=text, player_id=text, platform=text, app_version=text) for text in odd]
    check(records)


def test_nations_null_and_given_lie_mixed() -> None:
    honest = record(TOKENS, GAME)
    nations = [None, "FR", None, "NA", "FR", *[None] * 9, "ZW"]
    assert [row["nation"] for row in verify(*(replace(honest, nation=code) for code in nations))] == nations
    assert [row["nation"] for row in verify(replace(honest, nation=None))] == [None]


def test_keys_group_what_may_be_related() -> None:
    """The same id; the same attempt of a player; the same long log of a challenge.  Short logs and undated games have less."""
    honest = record(TOKENS, GAME)
    changes: list[dict[str, Any]] = [
        {}, {"game_id": "g-2"}, {"player_id": "p-18"}, {"attempt": 2}, {"moves": " " + honest.moves}, {"mode": "training"},
        {"moves": " ".join(TOKENS[:29])}, {"moves": " ".join(TOKENS[:30])}, {"challenge": "training-7", "mode": "training"},
    ]  # fmt: skip
    rows = verify(*(replace(honest, **change) for change in changes))
    upload, attempt, log = ([row[name] for row in rows] for name in ("upload_key", "attempt_key", "log_key"))
    assert upload[1] != upload[0]
    assert {*upload[:1], *upload[2:]} == {upload[0]}
    assert attempt[0] == attempt[1] == attempt[4] == attempt[6] == attempt[7]
    assert len({attempt[i] for i in (0, 2, 3, 5, 8)}) == 5
    assert log[0] == log[1] == log[2] == log[3] == log[4] == log[5]
    assert log[6] == 0
    assert len({log[0], log[6], log[7], log[8]}) == 4


def test_a_row_has_every_column_and_no_null_where_none_may_be() -> None:
    honest = record(TOKENS, GAME)
    done = VERIFIER.verify(
        batch_of([honest, replace(honest, score=1), replace(honest, rules="?"), replace(honest, moves="?")]), "a"
    )
    assert done.rows.schema.names == VERDICT_SCHEMA.names
    may_be_null = {
        "nation", "evidence", "replayed_score", "replayed_best_combo", "replayed_board", "finished", "fault_kind", "fault_move",
        "fault_text",
        "copy_of", "level", "lines", "replayed_level", "replayed_lines", "ticks", "ticks_played", "inputs_hash",
    }  # fmt: skip
    for name, column in zip(done.rows.schema.names, pa.Table.from_batches([done.rows]).cast(VERDICT_SCHEMA).columns, strict=True):
        assert name in may_be_null or column.null_count == 0, name


def test_a_batch_result_has_room_for_every_board() -> None:
    assert BatchResult.empty(3, MAX_SIDE).rows.shape == (3, MAX_SIDE)
    assert len(TextColumn(np.zeros(0, np.uint8), np.zeros(4, np.int64), np.zeros(4, np.int64))) == 4


def test_threads_keep_the_order_of_uneven_work() -> None:
    items = list(range(50))

    def work(item: int) -> int:
        return sum(range((50 - item) * 2000)) * 0 + item

    for threads in (1, 2, 7):
        assert list(shards._in_order(items, work, threads)) == items
    assert GAME.board == BOARD
