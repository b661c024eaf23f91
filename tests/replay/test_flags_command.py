"""``replay flags``: the same filters and rows as the page, exact as JSON, and what it always did."""

from __future__ import annotations

import json

import pytest

from replay.lake import Lake
from replay.reviews.store import open_reviews
from tests.replay.dashboard.lists_support import all_rows, lists_lake
from tests.replay.night_support import THREE, TWO, cli


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    return lists_lake(tmp_path_factory.mktemp("command"))


@pytest.fixture(scope="module")
def rows(lists):
    return all_rows(lists.root)


def run(lists, *words):
    """Exit code, stdout and stderr."""
    done = cli("flags", *words, "--lake", lists.root)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


WISHES = [
    ((), lambda row: True), (("--day", TWO), lambda row: row["day"] == TWO), (("--from", THREE), lambda row: row["day"] == THREE),
    (("--to", TWO, "--player", "p-cheat"), lambda row: row["day"] == TWO and row["player_id"] == "p-cheat"),
    (("--platform", "ios", "--app-version", "3.1.5"), lambda row: row["platform"] == "ios"),
    (("--nation", "none"), lambda row: row["nation"] is None), (("--state", "returned"), lambda row: row["game_id"] == "flag-combo"),
    (("--reason", "attempt_limit", "--game", "blocks"), lambda row: row["game_id"] == "flag-fourth"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "fits"), WISHES, ids=[" ".join(map(str, words)) for words, _ in WISHES])
def test_options_filter_as_the_page_does(lists, rows, words, fits):
    code, out, err = run(lists, *words, "--json")
    expected = [row["game_id"] for row in rows if row["verdict"] == "flagged" and fits(row)]
    assert (code, err) == (0, "")
    assert [json.loads(line)["game_id"] for line in out.splitlines()] == expected


def test_suspected_lists_what_only_looks_unusual(lists, rows):
    code, out, _ = run(lists, "--suspected", "--suspicion", "copied_log", "--json")
    (found,) = map(json.loads, out.splitlines())
    assert (code, found["game_id"], found["reasons"]) == (0, "odd-copied", [])
    assert "Games that look unusual" in run(lists, "--suspected")[1]


def test_json_says_how_the_review_stands(lists):
    found = json.loads(run(lists, "--state", "upheld", "--json")[1])
    decision = found["review"]["decision"]
    assert found["review"]["state"] == "upheld"
    assert (decision["action"], decision["reviewer"], decision["reason"]) == ("uphold", "Ada", "the score was edited")
    assert found["uploaded_at"].endswith("Z")
    with open_reviews(Lake(lists.root)) as store:
        assert store.decision(decision["id"]).subject == found["subject"]


def test_the_table_names_the_state_once_somebody_decided(lists):
    code, out, _ = run(lists)
    assert code == 0
    assert " review " in out.splitlines()[2]
    assert " upheld " in out
    assert out.rstrip().endswith(f"replay game GAME --lake {lists.root}")
    assert "1 to 2 of 6" in run(lists, "--limit", 2)[1]
    assert run(lists, "--platform", "amiga") == (0, "Flagged games: none\n", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--state", "x"), "--state 'x' is no state of a review"), (("--nation", "fr"), "--nation 'fr' is no nation"),
        (("--day", TWO, "--from", TWO), "--day and --from or --to: give one day"), (("--from", "x"), "--from 'x' is no day"),
        (("--suspected", "--reason", "attempt_limit"), "has no reason"), (("--game", "chess"), "--game 'chess' is no game"),
        (("--suspicion", "odd"), "--suspicion 'odd' is no suspicion"), (("--day", "2026-01-01"), "2026-01-01 was not published here"),
        # A shell's variable that is not set would list the games of everybody.
        (("--day", ""), "--day is empty, give it a value or leave it out"), (("--app-version", ""), "--app-version is empty"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_one_sentence(lists, words, sentence):
    code, out, err = run(lists, *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
