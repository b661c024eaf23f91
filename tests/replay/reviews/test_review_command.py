"""`replay review`: listing, showing, deciding about one game and about many, and what it says of each (C8, D8)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from replay.cli import main
from replay.lake import Lake
from replay.reviews.store import open_reviews
from tests.replay.night_support import EVIL, THREE, cli, lake_of_all_kinds, land, night, upload, warehouse
from tests.replay.reviews.support import WHO, a_draft
from tests.replay.store_support import upload_tree

ALL = ("--where-day", "2026-10-31")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return lake_of_all_kinds(tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def env(kinds, tmp_path):
    """A lake of one's own with a game of every kind, and nobody's decision yet."""
    lake = Path(shutil.copytree(kinds[0], tmp_path / "lake"))
    return kinds[1] | {"REPLAY_LAKE": str(lake), "REPLAY_REVIEWER": "ana"}


@pytest.fixture
def review(monkeypatch, capsys, env):
    """Run `replay review` in this process: (exit code, stdout, stderr)."""

    def go(*words, **more):
        with monkeypatch.context() as patch:
            for name, value in (env | more).items():
                patch.setenv(name, str(value))
            patch.setattr(sys, "argv", ["replay", "review", *map(str, words)])
            with pytest.raises(SystemExit) as done:
                main()
        out = capsys.readouterr()
        assert "Traceback" not in out.err
        return done.value.code or 0, out.out, out.err

    return go


@pytest.fixture
def decisions(env):
    def look():
        with open_reviews(Lake(Path(env["REPLAY_LAKE"]))) as store:
            return store.decisions()

    return look


def good(found) -> str:
    code, out, err = found
    assert (code, err) == (0, ""), (code, out, err)
    return out


def refused(found, code=2) -> str:
    assert found[0] == code and found[1] == "", found
    assert found[2].startswith("replay: ") and found[2].count("\n") == 1 and not found[2].rstrip().endswith("."), found[2]
    return found[2]


# --- Looking -------------------------------------------------------------------------------------------------------------


def test_an_empty_list_says_what_to_do_and_makes_nothing(review, env):
    assert "none yet; find a game with `replay flags`" in good(review())
    assert good(review("--json")) == ""
    assert not (Path(env["REPLAY_LAKE"]) / "reviews.sqlite").exists()


def test_a_game_that_nobody_decided_about(review):
    out = good(review("score_mismatch"))
    assert "Landed on 2026-10-31 in a.ndjson, line 3: flagged." in out
    assert "Review: open: nobody has decided about it." in out
    assert "So it does not count in the standings." in out
    assert "  score claimed 7, replayed 304\n" in out
    assert "Decisions" not in out
    assert "Nothing speaks against it." in good(review("fine")) and "So it counts" in good(review("fine"))


def test_every_reason_and_suspicion_is_said_in_words(review, kinds):
    """C8: what speaks against a game is said, not only its code."""
    with open_reviews(Lake(kinds[0])) as store:
        assert store.decisions() == []
    for game_id, words in {
        "combo_mismatch": "best combo claimed 5, replayed ", "board_mismatch": "final board claimed #7, replayed ",
        "illegal_move": "illegal move 2 (9b9): ", "impossible_score": "-1 claimed, which is not possible",
        "unknown_rules": "rules 9.9.9 are not known", "unknown_challenge": "challenge 2031-01-01 is not known",
        "attempt_limit": "uploaded as attempt 4, beyond", "duplicate_attempt": "attempt 1 was uploaded before with another log",
        "outside_challenge_day": "started or uploaded outside the challenge's hours", "truncated_log": "the log lacks its last move",
        "open": "suspicion: ",
    }.items():  # fmt: skip
        assert f"  {words}" in good(review(game_id)), game_id


def test_a_game_for_machines(review):
    found = json.loads(good(review("score_mismatch", "--json")))
    assert (found["state"], found["verdict"], found["counts"], found["why_not_counted"]) == ("open", "flagged", False, None)
    assert found["facts"] == [{"claimed": 7, "found": 304, "reason": "score_mismatch"}] and found["new_facts"] == []
    assert found["source"] == {"file": "a.ndjson", "line": 3} and found["day"] == "2026-10-31"
    assert (found["seen"], found["standing"], found["decisions"]) == (0, None, [])


def test_the_list_is_newest_first_and_goes_on(review):
    for game_id in ("attempt_limit", "board_mismatch", "combo_mismatch"):
        good(review(game_id, "--note", "--reason", f"about {game_id}"))
    out = good(review("--limit", 2))
    assert out.index("combo_mismatch") < out.index("board_mismatch") and "attempt_limit" not in out
    assert "1 to 2 of 3" in out
    assert "3 to 3 of 3" in good(review("--limit", 2, "--offset", 2))
    assert "there are 3, none beyond 9" in good(review("--offset", 9))
    lines = [json.loads(line) for line in good(review("--json", "--limit", 2)).splitlines()]
    assert [(line["id"], line["game_id"], line["reviewer"]) for line in lines] == [(3, "combo_mismatch", "ana"), (2, "board_mismatch", "ana")]


# --- Deciding about one game ---------------------------------------------------------------------------------------------


def test_uphold_clear_and_undo(review, decisions, env):
    out = good(review("score_mismatch", "--uphold", "--reason", "edited save"))
    assert "Found before it: no decision on this game" in out
    assert "ana upheld it: edited save" in out and "It does not count, as before." in out
    assert f"at once with `replay standings --restate --lake {env['REPLAY_LAKE']}`." in out
    out = good(review("score_mismatch", "--clear", "--reason", "a broken client", "--reviewer", "ben"))
    assert "Found before it: 1  " in out and "ana upheld it: edited save" in out
    assert "Review: cleared by ben at " in out and "It will count, with the score that was claimed (7)." in out
    shown = good(review("score_mismatch"))
    assert "So it counts in the standings." in shown and "ana upheld it: edited save" in shown
    out = good(review("--undo", 2, "--reason", "wrong game"))
    assert "ana undid decision 2: wrong game" in out and "Review: upheld by ana" in out and "It will not count any more." in out
    assert "ben cleared it, undone since: a broken client" in good(review("score_mismatch"))
    assert [(one.id, one.action, one.undoes, one.previous) for one in decisions()] == [
        (1, "uphold", None, 0), (2, "clear", None, 1), (3, "undo", 2, 2),
    ]  # fmt: skip
    assert re.search(r"\d{4}-\S+ \S+  ben  +cleared it \(undone\)", good(review()))


def test_a_decision_for_machines(review):
    found = json.loads(good(review("score_mismatch", "--clear", "--reason", "fine", "--json")))
    assert (found["id"], found["action"], found["state"]) == (1, "clear", "cleared")
    assert (found["counted"], found["counts"], found["why_not_counted"]) == (False, True, None)
    found = json.loads(good(review("--undo", 1, "--reason", "not fine", "--json")))
    assert (found["undoes"], found["state"], found["counts"]) == (1, "open", False)


def test_clearing_what_cannot_count_says_why(review):
    for game_id, why in {
        "unknown_challenge": "it was not played in its challenge's own mode and rules, or its challenge is none of a day",
        "impossible_score": "no score below 0 or above 1,000,000,000,000 is ever counted",
    }.items():
        assert f"Clearing it would not make it count: {why}." in good(review(game_id))
        out = good(review(game_id, "--clear", "--reason", "fine"))
        assert f"Clearing it does not make it count: {why}." in out and "It does not count, as before." in out


def test_a_note_decides_nothing(review):
    out = good(review("fine", "--note", "--reason", "the player wrote to us"))
    assert "A note moves nothing in the standings." in out and "--restate" not in out
    assert "open: nobody has decided" in out


def test_who_saw_an_older_state_is_told(review, decisions):
    good(review("score_mismatch", "--uphold", "--reason", "edited save", "--seen", 0))
    said = refused(review("score_mismatch", "--clear", "--reason", "fine", "--reviewer", "ben", "--seen", 0), 1)
    assert "ana upheld it at " in said and "edited save" in said
    said = refused(review("--undo", 1, "--reason", "fine", "--reviewer", "ben", "--seen", 0), 1)
    assert "ana upheld it" in said
    assert len(decisions()) == 1
    good(review("score_mismatch", "--clear", "--reason", "fine", "--seen", 1))


def test_the_login_name_decides_unless_somebody_is_named(env, monkeypatch):
    del env["REPLAY_REVIEWER"]
    done = cli("review", "score_mismatch", "--note", "--reason", "x", "--json", env=env | {"LOGNAME": "dora"})
    assert (done.returncode, json.loads(done.stdout)["reviewer"]) == (0, "dora")


def test_nobody_is_known_here(review, env, monkeypatch):
    def nobody():
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr("getpass.getuser", nobody)
    del env["REPLAY_REVIEWER"]
    monkeypatch.delenv("REPLAY_REVIEWER", raising=False)
    assert "name yourself with --reviewer" in refused(review("fine", "--note", "--reason", "x"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fine", "--uphold", "--reason", "x"], "nothing speaks against it"), (["fine", "--clear", "--reason", "x"], "nothing speaks"),
        (["copy", "--clear", "--reason", "x"], "is a copy of game 'fine'"),
        (["half", "--clear", "--reason", "x"], "was quarantined on 2026-10-31"), (["none"], "no published day has a game 'none'"),
        (["conflicting_upload", "--clear", "--reason", "x"], "names 2 different uploads (2026-10-31 b.ndjson.gz line 3, flagged; "),
        (["conflicting_upload"], "pick one with --day, --file and --line"),
        (["conflicting_upload", "--line", "99"], "no upload of it lies there"),
        (["score_mismatch", "--clear"], "say why with --reason"), (["score_mismatch", "--clear", "--reason", " "], "reason is empty"),
        (["score_mismatch", "--clear", "--reason", "x" * 2001], "at most 2,000"),
        (["score_mismatch", "--clear", "--reason", "x", "--reviewer", ""], "reviewer is empty"),
        (["score_mismatch", "--clear", "--uphold", "--reason", "x"], "two decisions"),
        (["score_mismatch", "--reason", "x"], "--reason without a decision"), (["score_mismatch", "--seen", "1"], "--seen without"),
        (["score_mismatch", "--clear", "--reason", "x", "--yes"], "--yes is for decisions about many"),
        (["score_mismatch", "--clear", "--reason", "x", "--where-day", "2026-10-31"], "--where-day is for decisions about many"),
        (["--where-app-version", "1"], "--where-app-version is for decisions"), (["--day", "2026-10-31"], "--day picks one upload"),
        (["score_mismatch", "--day", "31.10."], "is no day"), (["--clear", "--reason", "x"], "--clear: name a game, or say with"),
        (["--undo", "7", "--reason", "x"], "there is no decision 7"), (["--undo", "-1", "--reason", "x"], "there is no decision -1"),
        (["--undo", str(2**80), "--reason", "x"], "there is no decision"), (["--undo", "1"], "say why with --reason"),
        (["--undo", "1", "--reason", "x", "--line", "1"], "--line picks one upload"), (["--batch"], "--batch goes with --undo"),
        (["--clear", "--reason", "x", "--where-day", "yesterday"], "--where-day 'yesterday' is no day"),
        (["--clear", "--reason", "x", "--where-reason", "hunch"], "--where-reason 'hunch' is no reason"),
        (["--clear", "--reason", "x", "--where-state", "shut"], "--where-state 'shut' is no state"),
        (["--clear", "--reason", "x", "--where-nation", "zz"], "--where-nation 'zz' is no nation"),
        (["--clear", "--reason", "", "--where-day", "2026-10-31"], "reason is empty"),
        (["--clear", "--reason", "x", "--where-reason", "", "--yes", "--seen", "0"], "--where-reason is empty"),
        (["--clear", "--reason", "x", "--where-day", "2026-10-31", "--where-app-version", ""], "--where-app-version is empty"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_sentence_and_decides_nothing(review, decisions, words, said):
    assert said in refused(review(*words)), words
    assert decisions() == []


def test_an_undo_names_its_own_game(review):
    good(review("score_mismatch", "--uphold", "--reason", "x"))
    assert "decision 1 is about game 'score_mismatch', not 'fine'" in refused(review("fine", "--undo", 1, "--reason", "x"))
    good(review("score_mismatch", "--undo", 1, "--reason", "x"))
    assert "undone already, by ana" in refused(review("--undo", 1, "--reason", "x"))


def test_one_of_several_uploads_under_an_id(review, decisions):
    """Deciding about the one leaves the other open."""
    good(review("conflicting_upload", "--line", 3, "--file", "b.ndjson.gz", "--uphold", "--reason", "not theirs"))
    assert "Review: upheld" in good(review("conflicting_upload", "--line", 3))
    assert "Review: open" in good(review("conflicting_upload", "--line", 4, "--day", THREE))
    assert len({one.subject for one in decisions()}) == 1


def test_two_claims_for_one_log_are_two_games(review, env, tmp_path):
    """Who upholds the flag on a wrong claim must not take the right one out of the standings."""
    lake = tmp_path / "claims"
    (lake / "logs").mkdir(parents=True)
    right = upload("pair", "p-pair", seed=21)
    land(lake, THREE, "a.ndjson", [right, upload("pair", "p-pair", seed=21, score=right.score + 5, uploaded_at=right.uploaded_at + 9)])
    night(lake, challenges=Path(env["REPLAY_CHALLENGES"]))
    env["REPLAY_LAKE"] = str(lake)
    assert "names 2 different uploads" in refused(review("pair"))
    good(review("pair", "--line", 2, "--uphold", "--reason", "claimed twice"))
    out = good(review("pair", "--line", 1))
    assert "Review: open" in out and "So it counts in the standings." in out


def test_hostile_texts_are_shown_harmlessly(review):
    """D8: an id may hold an escape sequence; it is looked up exactly and shown as text."""
    out = good(review("strange"))
    out += good(review("strange", "--uphold", "--reason", "=cmd|' /C calc'!A0 <b>\u202e", "--reviewer", "a\u202eb"))
    out += good(review("strange")) + good(review())
    for char in out:
        assert char in "\n " or unicodedata.category(char)[0] not in "CZ", repr(char)
    assert "\\u202e" in out
    found = json.loads(good(review("strange", "--json")))
    assert found["player_id"] == EVIL + "q" and found["decisions"][0]["reviewer"] == "a\u202eb"


def test_decisions_stay_when_their_game_is_gone(review, env):
    with open_reviews(Lake(Path(env["REPLAY_LAKE"]))) as store:
        store.decide([a_draft("uphold", "gone")], **WHO)
    out = good(review("gone"))
    assert "no published day has a game" in out and "ana upheld it: two devices" in out
    assert json.loads(good(review("gone", "--json")))["decisions"][0]["id"] == 1
    assert "ana undid decision 1: gone" in good(review("--undo", 1, "--reason", "gone"))


def test_a_damaged_file_is_one_sentence(review, env):
    path = Path(env["REPLAY_LAKE"]) / "reviews.sqlite"
    path.write_bytes(b"no database\n" * 1000)
    for words in ([], ["score_mismatch"], ["score_mismatch", "--clear", "--reason", "x"], ["--undo", 1, "--reason", "x"]):
        assert f"{path}: the decisions cannot be" in refused(review(*words))


def test_a_setting_with_a_password_is_not_repeated(review):
    said = refused(review(REPLAY_REVIEWS="mysql://u:secret-word@h/d"))
    assert "REPLAY_REVIEWS" in said and "secret-word" not in said
    said = refused(review(REPLAY_REVIEWS="postgresql://u:secret-word@127.0.0.1:1/d"))
    assert "127.0.0.1:1/d" in said and "secret-word" not in said


def test_a_lake_on_a_store_keeps_decisions_in_a_database(review, kinds, server, tmp_path):
    """The same with REPLAY_REVIEWS; without it there are none, and nothing is put into the store."""
    store = server.store("s3://games/reviewed")
    upload_tree(store, kinds[0])
    before = sorted(store.list())
    where = server.env(tmp_path / "cache") | {"REPLAY_LAKE": store.url}
    assert "none yet" in good(review(**where))
    assert "Review: open" in good(review("score_mismatch", **where))
    said = refused(review("score_mismatch", "--clear", "--reason", "fine", **where))
    assert said.startswith(f"replay: {store.url}: ") and "set REPLAY_REVIEWS" in said
    where["REPLAY_REVIEWS"] = f"sqlite:///{tmp_path}/reviews.sqlite"
    out = good(review("score_mismatch", "--clear", "--reason", "fine", **where))
    assert f"`replay standings --restate --lake {store.url}`" in out
    assert "14 games to clear (14 open); 1 game left alone" in good(review("--clear", "--reason", "x", *ALL, **where))
    assert "Review: cleared by ana" in good(review("score_mismatch", **where))
    assert sorted(store.list()) == before


# --- Deciding about many games -------------------------------------------------------------------------------------------

def test_a_preview_decides_nothing(review, env, decisions):
    before = warehouse(Path(env["REPLAY_LAKE"])).read_bytes()
    out = good(review("--clear", "--reason", "broken client", *ALL))
    assert "15 games to clear (15 open)." in out
    assert "Of them 3 games will not count even so: it was not played in its challenge's own mode" in out
    assert "What would move in the standings: players " in out and "p-lost" in out
    assert "Nothing is decided yet: give the same call with --yes --seen 0" in out
    assert decisions() == [] and warehouse(Path(env["REPLAY_LAKE"])).read_bytes() == before


def test_a_preview_for_machines_counts_what_the_decision_moves(review, decisions):
    found = json.loads(good(review("--clear", "--reason", "x", "--json", "--where-player", "p-score_mismatch")))
    assert (found["games"], found["game_ids"], found["states"]) == (1, ["score_mismatch"], {"open": 1})
    assert (found["seen"], found["decisions"], found["decided_so_already"], found["waiting"]) == (0, [], 0, 0)
    (total,) = [row for row in found["moves"]["totals"] if row["player_id"] == "p-score_mismatch"]
    assert (total["total_before"], total["total_after"]) == (None, 7)


def test_many_are_decided_together_and_taken_back_together(review, decisions):
    out = good(review("--clear", "--reason", "broken client", *ALL, "--yes", "--seen", 0))
    assert "Recorded: decisions 1 to 15, by ana: broken client" in out and "--restate" in out
    made = decisions()
    assert len(made) == 15 and len({one.batch for one in made}) == 1 and {one.action for one in made} == {"clear"}
    assert "No game fits; 15 games left alone, decided so already." in good(review("--clear", "--reason", "x", *ALL, "--yes"))
    good(review("score_mismatch", "--uphold", "--reason", "this one not"))
    out = good(review("--undo", 3, "--batch", "--reason", "wrong filter"))
    assert "what was decided about 14 games together; left alone: 1 game that somebody decided about since" in out
    assert [one.undoes for one in decisions() if one.action == "undo"] == [
        one.id for one in made if one.game_id != "score_mismatch"
    ]  # fmt: skip
    assert "nothing decided with it is the newest" in refused(review("--undo", 3, "--batch", "--reason", "x"))


def test_a_filter_takes_what_it_names(review, decisions):
    good(review("--uphold", "--reason", "x", "--where-reason", "attempt_limit", "--yes"))
    assert [one.game_id for one in decisions()] == ["attempt_limit"]
    good(review("--clear", "--reason", "x", "--where-state", "upheld", "--yes"))
    assert [(one.game_id, one.action, one.previous) for one in decisions()][1:] == [("attempt_limit", "clear", 1)]
    assert "No game fits." in good(review("--clear", "--reason", "x", "--where-game", "tetcolor", "--yes"))
    assert len(decisions()) == 2


def test_games_that_only_look_unusual_are_meant_when_they_are_named(review, decisions):
    """C4: a hint is no proof, so no decision about flagged games takes them along."""
    good(review("--uphold", "--reason", "x", *ALL, "--yes"))
    assert "open" not in {one.game_id for one in decisions()}
    out = good(review("--uphold", "--reason", "seen it", "--where-suspicion", "copied_log", "--yes"))
    assert "Recorded: decision 16, by ana" in out and decisions()[-1].game_id == "open"


def test_of_many_none_is_decided_when_somebody_was_faster_about_one(review, decisions):
    good(review("--clear", "--reason", "x", *ALL))
    good(review("board_mismatch", "--uphold", "--reason", "edited", "--reviewer", "ben"))
    said = refused(review("--clear", "--reason", "x", *ALL, "--yes", "--seen", 0), 1)
    assert "'board_mismatch'" in said and "ben upheld it" in said
    assert len(decisions()) == 1
    good(review("--clear", "--reason", "x", *ALL, "--yes", "--seen", 1))
    assert len(decisions()) == 16


def test_a_note_on_many_moves_nothing(review, decisions):
    out = good(review("--note", "--reason", "ticket 7", *ALL, "--yes"))
    assert "15 games to leave a note on" in out and "A note moves nothing" in out and "What would move" not in out
    assert {one.action for one in decisions()} == {"note"}


def test_the_command_starts_without_a_database(env):
    """Nothing heavy is loaded for its help."""
    code = "import sys; from replay.cli import app; print(sorted({'sqlalchemy', 'duckdb', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3], env=os.environ)
    assert done.stdout == "[]\n"
