"""The verdict in words: every code has them, and they say what support people need."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from engine.outcome import FAULT_NAMES, Fault
from replay import verdict as v
from replay import words as w
from replay.dispute import words
from replay.verdict import REASON_CODES, SUSPICION_CODES, VERDICTS, Reason
from tests.replay.games import FINISHED, FINISHED_TOKENS, GAME, NOON, SCORE, TOKENS, dispute, play, record, verdict_of

SAMPLES = {
    "score_mismatch": Reason("score_mismatch", 5000, 1234, 16, "2c5"),
    "combo_mismatch": Reason("combo_mismatch", 4, 3, 40, "1a1"),
    "board_mismatch": Reason("board_mismatch", "#7", "-", 40, "1a1"),
    "level_mismatch": Reason("level_mismatch", 4, 3, 40, "5h"),
    "lines_mismatch": Reason("lines_mismatch", 12, 11, 40, "5h"),
    "illegal_move": Reason("illegal_move", "9z9", "bad_token: '9z9' is no token of the notation", 3),
    "impossible_score": Reason("impossible_score", 9**9, "score at most 7020 (1 placements x 7020)", None),
    "unknown_rules": Reason("unknown_rules", "9.9.9", "known of blocks: 1.2.0", None),
    "unknown_challenge": Reason("unknown_challenge", "2030-01-01", "not in the challenge table of blocks", None),
    "attempt_limit": Reason("attempt_limit", 4, "attempts are 1, 2 and 3", None),
    "duplicate_attempt": Reason("duplicate_attempt", 1, "game g-0, uploaded 2026-10-31T10:00:00.000Z", None),
    "outside_challenge_day": Reason(
        "outside_challenge_day", "2026-11-09T00:00:00.000Z",
        "started_at from 2026-10-30T10:00:00.000Z to before 2026-11-01T12:00:00.000Z", None,
    ),
    "conflicting_upload": Reason("conflicting_upload", "g-1", "uploaded first 2026-10-31T10:00:00.000Z", None),
    "truncated_log": Reason("truncated_log", 41, 40, 40),
    "challenge": Reason("challenge", "1a1", "the challenge lists only 5 pieces", 3, "1a1"),
}  # fmt: skip


def plain(sentences: list[str]) -> bool:
    """Whether sentences are sentences: a capital or a number first, a full stop last, no code or key of ours within."""
    jargon = {"_", "mismatch", "suspicion", "None", "{", "}"}
    return all(s[0].isupper() or s[0].isdigit() for s in sentences) and all(
        s.endswith(".") and not any(word in s for word in jargon) for s in sentences
    )


def test_every_code_has_words():
    assert set(w.REASON_WORDS) == {*REASON_CODES, v.CHALLENGE_CODE} == set(SAMPLES)
    assert set(w.SUSPICION_WORDS) == set(SUSPICION_CODES)
    assert set(w.VERDICT_WORDS) == {*VERDICTS, "withheld"}
    assert set(w.FAULT_WORDS) == set(FAULT_NAMES.values())
    assert set(w.UNCOUNTED_WORDS) == {"mode", "rules", "undated"}


@pytest.mark.parametrize("code", list(SAMPLES))
def test_words_of_every_reason(code):
    base = verdict_of(record(TOKENS, GAME))
    said = words(replace(base, verdict="flagged", reasons=(SAMPLES[code],), suspicions=()))
    silent = words(replace(base, verdict="flagged", reasons=(), suspicions=()))
    assert len(said) >= 2
    assert plain(said)
    assert set(said) - set(silent)
    if SAMPLES[code].move is not None:
        assert f"ove {SAMPLES[code].move + 1}" in " ".join(said) or code == "truncated_log"


@pytest.mark.parametrize("code", SUSPICION_CODES)
def test_words_of_every_suspicion(code):
    base = verdict_of(record(FINISHED_TOKENS, FINISHED))
    with_it, without = words(replace(base, suspicions=(code,))), words(base)
    assert with_it[: len(without)] == without
    assert len(with_it) == len(without) + 1
    assert plain(with_it)
    assert "alone stops no game" in with_it[-1] or code == "unfinished"


@pytest.mark.parametrize("kind", sorted(FAULT_NAMES.values()))
def test_words_of_every_fault(kind):
    told = w.fault_words(Fault(kind, 13, ""), "1a1")
    assert told.startswith("Move 14 (1a1) ")
    assert plain([told])


@pytest.mark.parametrize("verdict", VERDICTS)
def test_words_of_every_verdict(verdict):
    found = replace(verdict_of(record(TOKENS, GAME)), verdict=verdict, copy_of="g-0" if verdict == "copy" else None)
    assert plain(words(found))


def test_a_code_without_words_is_an_error():
    with pytest.raises(KeyError):
        words(replace(verdict_of(record(TOKENS, GAME)), suspicions=("new_sign",)))


def test_words_of_a_verified_game():
    said = words(verdict_of(record(FINISHED_TOKENS, FINISHED)))
    assert said[0].startswith(f"The game comes out as it was uploaded: {len(FINISHED_TOKENS)} moves give the score ")
    assert said[1:] == ["It counts for the challenge 2026-10-31."]


def test_words_of_a_training_game():
    said = words(verdict_of(record(TOKENS, GAME, mode="training")))
    assert "does not count in the standings in any case, because it is a training game" in said[1]
    assert not any("It counts" in sentence for sentence in said)


def test_words_say_claim_replay_and_move():
    said = " ".join(dispute(record(TOKENS, GAME, score=SCORE + 5000)).words())
    assert f"uploaded is {SCORE + 5000:,}; replaying the moves gives {SCORE:,}." in said
    assert f"From move {len(TOKENS)} ({TOKENS[-1]}) on the two cannot agree." in said
    empty = " ".join(dispute(record([], GAME, score=50, best_combo=0, final_board="-")).words())
    assert "No moves were uploaded that could have led there." in empty


def test_words_name_the_cells_that_differ():
    claimed = "########/" * 7 + "########"
    said = dispute(record(TOKENS, GAME, final_board=claimed)).words()
    cells = re.compile(r"Cells filled in the upload, empty in the replay: ([a-h][1-8](, |\b)){6} and \d+ more\.")
    assert any(cells.fullmatch(sentence) for sentence in said)
    unreadable = " ".join(dispute(record(TOKENS, GAME, final_board="?" * 5000)).words())
    assert "cannot be read as a board" in unreadable
    assert len(unreadable) < 1000


def test_words_of_an_illegal_move():
    said = " ".join(dispute(record([*TOKENS[:20], "1h11"], GAME)).words())
    assert "Move 21 (1h11) cannot be played: it puts" in said
    assert "outside the 8 x 8 board" in said
    assert "what was uploaded as the result was not compared" in said
    assert "Move 1 (zZ) cannot be read: it is not how a move is written." in dispute(record(["zZ", "1a1"], GAME)).words()


def test_words_of_a_truncated_log_name_the_missing_move():
    """B4: where the log ended and what would be missing."""
    tokens, whole = play(1, 41)
    said = " ".join(dispute(record(tokens[:40], whole)).words())
    assert "The log ends after 40 moves" in said
    assert f"The missing move can be {tokens[40]}" in said


def test_words_of_evidence_about_rules():
    """B6: the other version is mentioned, the stated one still judges."""
    found = replace(verdict_of(record(TOKENS, GAME, score=1)), evidence={"rules_that_agree": ["1.1.0", "2.0.0"], "kept_by": "x"})
    said = words(found)
    assert any(s.startswith("Under rules 1.1.0 or 2.0.0 the same moves give exactly") and "it names, 1.2.0." in s for s in said)
    assert "Noted beside it, kept by: x." in said


def test_words_of_relational_reasons_and_copies():
    base = record(FINISHED_TOKENS, FINISHED)
    said = dispute(base, verdict="flagged", reasons=(SAMPLES["duplicate_attempt"],)).words()
    assert "Its moves themselves come out as uploaded" in said[1]
    assert "game g-0" in said[2]
    copied = dispute(base, verdict="copy", copy_of="g-0").words()
    assert "g-0 came first and stands for both" in copied[0]
    assert len(copied) == 1


def test_words_of_a_copied_log_name_the_other_game():
    """C1: the hint names the earlier game and how many players share the log, and accuses nobody."""
    evidence = {"copied_log": {"first_game": "g-9", "players": 40}}
    said = dispute(record(FINISHED_TOKENS, FINISHED), suspicions=("copied_log",), evidence=evidence).words()
    assert said[-1] == (
        "Another player uploaded the same long list of moves earlier, as game g-9; 40 players have uploaded it by now. "
        "That alone stops no game from counting."
    )
    assert not any("Noted beside it" in sentence for sentence in said)


def test_words_of_a_quarantined_game_blame_nobody():
    tokens = ["1a1", "1c1", "1e1", "2g1", "1a3"]
    said = dispute(record(tokens, GAME, challenge="short")).words()
    assert said[0].endswith("nothing is held against the player.")
    assert said[1] == "Move 5 (1a3) cannot be played because the challenge cannot be played as it is listed: " \
        "the challenge lists only 5 pieces."  # fmt: skip


def test_words_of_times():
    late = record(FINISHED_TOKENS, FINISHED, started_at=0, uploaded_at=NOON + 30 * v.DAY)
    said = " ".join(dispute(late).words())
    assert "started at 1970-01-01 00:00:00 UTC; this challenge can be started from 2026-10-30 10:00:00 UTC to before" in said
    assert "uploaded at 2026-11-30 12:00:00 UTC; an upload for this challenge counts until 2026-11-04 12:00:00 UTC at the latest" in said


def test_pace_is_told_with_its_numbers():
    assert "60 moves in 3.0 seconds are faster" in " ".join(dispute(record(TOKENS, GAME, finished_at=NOON + 3_000_000)).words())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain =cmd|'/C calc'!A0", "plain =cmd|'/C calc'!A0"),
        ("a\x1b[31mb\x00\x7f\x9b", "a\\x1b[31mb\\x00\\x7f\\x9b"),
        ("user\u202egnp", "user\\u202egnp"),
        ("a\u2028b\u2066c\u200bd\u00a0e", "a\\u2028b\\u2066c\\u200bd\\xa0e"),
        ("שלום", "\u2068שלום\u2069"),
        ("\ud800", "\\ud800"),
        ("x" * 100, "x" * 80 + "..."),
    ],
)
def test_uploaded_text_is_made_harmless(text, shown):
    """D8: marks that steer a terminal or turn a line are shown, not obeyed."""
    assert w.visible(text) == shown
