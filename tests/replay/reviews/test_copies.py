"""Decisions follow a game whose retry under another id takes its place, and come back to the upload when the retry is gone."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import duckdb
import pyarrow as pa
import pytest

from replay.cli import main
from replay.eligibility import attach_decisions
from replay.errors import DecidedMeanwhile
from replay.flags import FlagFilter, flags_of, stream_flags
from replay.lake import Lake
from replay.night import NightSettings
from replay.preview import Question, judged, read_new_rules
from replay.reviews.copies import gather, is_copy_of, standing_subjects
from replay.reviews.games import draft, find_game, same_game, undo_draft
from replay.reviews.model import subject_of
from replay.reviews.store import open_reviews
from replay.rulebook import BUILT_IN
from replay.standings import FLAG_STEPS, attach_references, attach_verdicts, open_new, run_steps
from tests.replay.night_support import THREE, TWO, ask, by_game, decide, land, night, upload, write_challenges
from tests.replay.reviews.support import decided, verdict_row
from tests.replay.standings_support import LANDED, SCHEMA, SEEDS, flagged, write_players, write_verdicts
from tests.replay.standings_support import game as a_game

FOUR = THREE + timedelta(days=1)


@pytest.fixture
def a_lake(tmp_path):
    """A folder for a lake, and a night of a day of it."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    lake = tmp_path / "lake"
    return lake, lambda day=THREE: night(lake, day, challenges=challenges)


def wrong(game_id: str = "g1", player: str = "p1"):
    """A game that claims five points too many."""
    game = upload(game_id, player, TWO)
    return replace(game, score=game.score + 5)


def retry(game, game_id: str, earlier: int = 1):
    return replace(game, game_id=game_id, uploaded_at=game.uploaded_at - earlier)


def total(lake, player: str = "p1") -> int:
    rows = ask(lake, "select total from totals where player_id = ?", player)
    return rows[0][0] if rows else 0


def verdicts(lake, *days) -> dict[str, str]:
    return {game_id: row["verdict"] for day in days for game_id, row in by_game(lake, day).items()}


@pytest.mark.parametrize("day", [TWO, THREE])
def test_a_clearing_holds_for_the_retry_that_takes_its_place(a_lake, day):
    """On the same day, and on another one."""
    lake, run = a_lake
    game = wrong()
    land(lake, TWO, "a.ndjson", [game, upload("h", "p2", TWO, seed=3)])
    run(TWO)
    decide(lake, "clear", "g1")
    run(TWO)
    assert total(lake) == game.score
    late = land(lake, day, "b.ndjson", [retry(game, "g1-first"), upload("i", "p3", TWO, seed=4)])
    run(day)
    assert verdicts(lake, *{TWO, day}) == {"g1": "copy", "g1-first": "flagged", "h": "verified", "i": "verified"}
    assert total(lake) == game.score
    assert ask(lake, "select game_id from eligible_games where player_id = 'p1'") == [("g1-first",)]
    # The file is withdrawn, and the upload has its own decision again.
    land(lake, day, late.name, [upload("i", "p3", TWO, seed=4)])
    run(day)
    assert verdicts(lake, *{TWO, day}) == {"g1": "flagged", "h": "verified", "i": "verified"}
    assert ask(lake, "select game_id from eligible_games where player_id = 'p1'") == [("g1",)]
    with open_reviews(Lake(lake)) as store:
        assert [(one.action, one.game_id) for one in store.decisions()] == [("clear", "g1")]


@pytest.mark.parametrize("day", [TWO, THREE])
def test_nobody_escapes_an_uphold_by_sending_the_game_again(a_lake, day):
    lake, run = a_lake
    first = upload("first", "p2", TWO, seed=2, tokens=120)
    game = replace(first, game_id="u1", player_id="p1", uploaded_at=first.uploaded_at + 10)
    land(lake, TWO, "a.ndjson", [first, game])
    run(TWO)
    assert by_game(lake, TWO)["u1"]["suspicions"] == ["copied_log"]
    assert total(lake) == game.score
    decide(lake, "uphold", "u1")
    run(TWO)
    assert total(lake) == 0
    # Sent so early that nothing speaks against it any more, too.
    land(lake, day, "b.ndjson", [retry(game, "u1-again")])
    land(lake, day, "c.ndjson", [retry(game, "u1-once-more", 20), upload("i", "p3", TWO, seed=4)])
    run(day)
    found = verdicts(lake, *{TWO, day})
    assert (found["u1"], found["u1-again"], found["u1-once-more"]) == ("copy", "copy", "verified")
    assert total(lake) == 0


def test_whatever_lands_first(a_lake):
    """The retry of a day that a night reaches later stands from then on; what was decided about it before holds for all."""
    lake, run = a_lake
    game = wrong()
    land(lake, THREE, "a.ndjson", [retry(game, "late", -5)])
    run(THREE)
    decide(lake, "clear", "late")
    land(lake, TWO, "a.ndjson", [game])
    run(TWO)
    assert verdicts(lake, TWO, THREE) == {"g1": "flagged", "late": "copy"}
    assert total(lake) == game.score
    decide(lake, "uphold", "g1")
    run(TWO)
    assert total(lake) == 0


def test_the_newest_decision_of_three_uploads_stands(a_lake):
    lake, run = a_lake
    game = wrong()
    for number, (day, action) in enumerate([(FOUR, "clear"), (THREE, "uphold"), (TWO, "clear")]):
        land(lake, day, "a.ndjson", [retry(game, f"g{number}", number)])
        run(day)
        decide(lake, action, f"g{number}")
        run(day)
        assert total(lake) == (game.score if action == "clear" else 0), number
    assert verdicts(lake, TWO, THREE, FOUR) == {"g0": "copy", "g1": "copy", "g2": "flagged"}
    with open_reviews(Lake(lake)) as store:
        decisions = store.decisions()
        # Undone, the one on the copy before it stands again.
        store.decide([_undo(decisions[2])], reviewer="ann", reason="no")
    run(TWO)
    assert total(lake) == 0
    with open_reviews(Lake(lake)) as store:
        store.decide([_undo(decisions[1])], reviewer="ann", reason="no")
    run(TWO)
    assert total(lake) == game.score


def _undo(decision):
    return undo_draft(decision, [decision])


def test_a_clearing_does_not_hold_where_more_speaks_against_the_game_that_stands(a_lake):
    lake, run = a_lake
    game = wrong()
    land(lake, TWO, "a.ndjson", [game])
    run(TWO)
    decide(lake, "clear", "g1")
    hours = 40 * 3_600_000_000
    land(lake, THREE, "b.ndjson", [replace(retry(game, "early"), started_at=game.started_at - hours)])
    run(THREE)
    row = by_game(lake, THREE)["early"]
    assert (row["verdict"], sorted(row["reason_codes"])) == ("flagged", ["outside_challenge_day", "score_mismatch"])
    assert total(lake) == 0


def test_games_that_are_no_copies_keep_to_themselves(a_lake):
    """The same player, challenge and log: other claims and another attempt are other games."""
    lake, run = a_lake
    game = wrong()
    land(lake, TWO, "a.ndjson", [game])
    run(TWO)
    decide(lake, "clear", "g1")
    more, next_one = replace(retry(game, "more"), score=game.score + 1), replace(retry(game, "next"), attempt=2)
    land(lake, THREE, "b.ndjson", [more, next_one, replace(game, game_id="other", player_id="p2")])
    run(THREE)
    assert set(verdicts(lake, TWO, THREE).values()) == {"flagged"}
    assert ask(lake, "select game_id from eligible_games") == [("g1",)]


def test_two_games_under_the_id_that_a_copy_names():
    """Only the one that is the same game takes the decision over."""
    stands = verdict_row("x", replayed_score=640, reason_codes=["score_mismatch"])
    other = stands | {"score": 901}
    board = stands | {"final_board": "##"}
    copy = stands | {"game_id": "c", "verdict": "copy", "copy_of": "x"}
    rows = [other, board, stands, copy, copy | {"source_line": 2}]
    assert standing_subjects(rows) == {subject_of(copy): subject_of(stands)}
    on_copy, on_other = (decided(n, "clear", subject=subject_of(row)) for n, row in ((2, copy), (1, other)))
    assert gather([on_copy, on_other], standing_subjects(rows)) == {
        subject_of(copy): [on_copy], subject_of(stands): [on_copy], subject_of(other): [on_other],
    }  # fmt: skip
    # However its board is written, a game that comes out is one; a copy of an id that is not there is nobody's.
    fine = {"replayed_score": 900, "reason_codes": []}
    assert is_copy_of(copy | fine | {"level": 3}, board | fine) and not is_copy_of(copy | fine, board)
    assert standing_subjects([copy, other]) == {}


# --- Looking and deciding ------------------------------------------------------------------------------------------------


@pytest.fixture
def command(a_lake, monkeypatch, capsys):
    """Run a command on the lake in this process: exit code and output."""
    lake, _ = a_lake

    def go(*words):
        monkeypatch.setattr(sys, "argv", ["replay", *map(str, words), "--lake", str(lake)])
        with pytest.raises(SystemExit) as done:
            main()
        out = capsys.readouterr()
        return done.value.code or 0, out.out + out.err

    return go


@pytest.fixture
def cleared(a_lake):
    """``g1`` was cleared, and ``first`` has taken its place since."""
    lake, run = a_lake
    land(lake, TWO, "a.ndjson", [wrong(), upload("h", "p2", TWO, seed=3)])
    run(TWO)
    decide(lake, "clear", "g1")
    land(lake, TWO, "b.ndjson", [retry(wrong(), "first")])
    run(TWO)
    return lake, run


def test_either_id_shows_what_was_decided_and_on_which_upload(cleared, command):
    code, said = command("review", "first")
    assert code == 0 and "Review: cleared by ann" in said and "So it counts in the standings." in said
    assert "ann cleared it, on upload g1: looked at it" in said
    code, other = command("review", "g1")
    assert code == 0 and other == "Game g1 is a copy of the following one, which stands in its place.\n" + said
    told = json.loads(command("review", "g1", "--json")[1])
    assert (told["asked"], told["game_id"], told["state"], told["counts"], told["seen"]) == ("g1", "first", "cleared", True, 1)
    assert [one["game_id"] for one in told["decisions"]] == ["g1"]
    code, said = command("game", "first")
    assert "cleared" in said


def test_a_new_decision_sees_the_one_on_the_copy(cleared, command):
    lake, run = cleared
    assert command("review", "g1", "--uphold", "--reason", "x")[0] == 2
    code, said = command("review", "first", "--uphold", "--reason", "x", "--reviewer", "bob", "--seen", 0)
    assert code == 1 and "ann cleared it" in said
    code, said = command("review", "first", "--uphold", "--reason", "x", "--reviewer", "bob")
    assert code == 0 and "Found before it: 1 " in said and "It will not count any more." in said
    run(TWO)
    assert total(lake) == 0
    # Undone, the one on the copy stands again; undone too, by either id, nobody has decided.
    code, said = command("review", "first", "--undo", 2, "--reason", "x")
    assert code == 0 and "Review: cleared by ann" in said and "It will count" in said
    code, said = command("review", "first", "--undo", 1, "--reason", "y")
    assert code == 0 and "Review: open" in said and "It will not count any more." in said
    assert command("review", "first", "--undo", 1, "--reason", "y")[0] == 2
    run(TWO)
    assert total(lake) == 0
    with open_reviews(Lake(lake)) as store:
        assert [(one.action, one.game_id, one.undoes) for one in store.decisions()][2:] == [("undo", "first", 2), ("undo", "g1", 1)]
    # What was undone on the copy stays so where it stands by itself again.
    land(lake, TWO, "b.ndjson", [])
    run(TWO)
    assert by_game(lake, TWO)["g1"]["verdict"] == "flagged" and total(lake) == 0


def test_an_undo_on_the_copy_that_came_between_is_noticed(cleared):
    lake, _ = cleared
    same = same_game(Lake(lake), find_game(Lake(lake), "first"))
    with open_reviews(Lake(lake)) as store:
        before = store.decisions(same.subjects)
        late = draft("uphold", same.row, before, copies=same.copies)
        store.decide([_undo(before[0])], reviewer="cem", reason="no")
        with pytest.raises(DecidedMeanwhile, match="cem took a decision back"):
            store.decide([late], reviewer="bob", reason="x")
        with pytest.raises(DecidedMeanwhile, match="cem took a decision back"):
            store.decide([draft("undo", same.row, before, 1, same.copies)], reviewer="bob", reason="x")


def test_flags_say_what_was_decided_on_copies(cleared):
    lake, _ = cleared
    page = flags_of(Lake(lake), FlagFilter())
    assert [(row["game_id"], row["counted"], row["review"].state) for row in page.rows] == [("first", True, "cleared")]
    assert {facet.wish["state"]: facet.uploads for facet in page.facets["state"]} == {"cleared": 1}
    assert flags_of(Lake(lake), FlagFilter(state="open")).total == 0
    with open_reviews(Lake(lake)) as store:
        rows = list(stream_flags(Lake(lake).current_warehouse(), store.decisions(), FlagFilter()))
    assert [row["review"].state for row in rows] == ["cleared"]


def test_the_standings_tell_copies_alike(tmp_path):
    """Rows of one id that differ in one thing each, all against all: the statement and the function find the same pairs."""
    stands = a_game("p", 900, game_id="x", final_board="#")
    changes = [
        {}, {"score": 901}, {"best_combo": 4}, {"final_board": "##"}, {"rules": "1.1.0"}, {"mode": "other"}, {"attempt": 2},
        {"log_hash_low": 5}, {"log_hash_high": 5}, {"player_id": "q"}, {"challenge": "2026-10-15"}, {"game": "tetcolor"},
        {"level": 3}, {"lines": 3}, {"level": 3, "lines": 4}, {"replayed_score": 900}, {"replayed_score": 900, "level": 4},
        {"replayed_score": 900, "final_board": "%", "suspicions": ["unfinished"]}, {"game_id": "y"},
    ]  # fmt: skip
    empty = {"level": None, "lines": None, "replayed_score": None}
    firsts = [empty | flagged(stands) | change for change in changes]
    firsts += [empty | stands | {"suspicions": ["unfinished"]} | change for change in changes]
    rows = firsts + [row | {"verdict": "copy", "copy_of": "x", "game_id": f"c{n}"} for n, row in enumerate(firsts)]
    schema = SCHEMA
    for name in empty:
        schema = schema.append(pa.field(name, pa.int64()))
    con = open_new(tmp_path / "open.duckdb", threads=1)
    with closing(con):
        attach_verdicts(con, [write_verdicts(tmp_path / "part.parquet", rows, schema)], [LANDED])
        attach_references(con, write_players(tmp_path / "players.csv"), SEEDS / "rank_tiers.csv")
        attach_decisions(con, [])
        run_steps(con, FLAG_STEPS)
        found = con.execute("FROM flagged_copies").fetchall()
    expected = {
        (subject_of(copy), subject_of(row)) for copy in rows for row in rows if is_copy_of(copy, row)
    }  # fmt: skip
    assert found == sorted(expected)
    assert len(found) > 40


def test_a_preview_of_other_scores_keeps_to_what_was_decided_on_a_copy(a_lake, tmp_path):
    """Only the game that stands is counted by the file; the copy keeps the score that tells it as one."""
    lake, run = a_lake
    first = upload("first", "p2", TWO, seed=2, tokens=120)
    game = replace(first, game_id="u1", player_id="p1", uploaded_at=first.uploaded_at + 10)
    land(lake, TWO, "a.ndjson", [first, game])
    run(TWO)
    decide(lake, "uphold", "u1")
    land(lake, TWO, "b.ndjson", [retry(game, "u1-again")])
    run(TWO)
    text = (BUILT_IN / "blocks" / "1.2.0.toml").read_text("utf-8")
    new = tmp_path / "next.toml"
    new.write_text(text.replace('version = "1.2.0"', 'version = "1.3.0"').replace("cell = 4 ", "cell = 6 "), "utf-8")
    settings = NightSettings(threads=2, challenges=tmp_path / "challenges.csv")
    with judged(Lake(lake), settings, Question(read_new_rules(new), TWO, TWO, "1.2.0")) as sides:
        assert sides.renamed
        for side in (sides.before, sides.after):
            found = duckdb.connect(str(sides.warehouse(side)), read_only=True)
            with closing(found):
                assert found.execute("select player_id from eligible_games").fetchall() == [("p2",)]
