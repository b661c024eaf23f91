"""C8 in whole nights: flagged, dismissed, computed again by another detector, brought back by new evidence; D5, D9, E8 beside it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from replay import verdict
from replay.errors import InputError
from replay.lake import Lake
from replay.night import rebuild_standings
from replay.reviews.games import draft, facts_of_row, find_game
from replay.reviews.model import review_of, subject_of
from replay.reviews.store import open_reviews
from replay.reviews.words import fact_lines, state_words
from tests.replay.night_support import (
    ONE,
    TWO,
    ask,
    by_game,
    dump,
    everything,
    land,
    night,
    published_files,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
    write_players,
)
from tests.replay.reviews.support import one_sentence

MONDAY = ONE
# The boards as players see them: positions, percentiles, tiers, totals.
BOARDS = {
    "daily_ranking": "position, player_id, score, attempt, game_id, beaten, others, percentile, tier", "totals": "player_id, total",
    "totals_month": "player_id, total", "leaderboard": "scope, nation, period, month, position, ordinal, player_id, total",
}  # fmt: skip


@pytest.fixture
def settings(tmp_path):
    return {"challenges": write_challenges(tmp_path / "challenges.csv")}


@pytest.fixture
def monday(tmp_path, settings):
    """A lake whose Monday has an honest leader, another player, and one whose best game claims a wrong combo."""
    return land_monday(tmp_path / "lake", settings, best_combo=99)


def land_monday(lake: Path, settings, **claims) -> Path:
    fine = [upload("leader", "p-leader", MONDAY, seed=6, tokens=33), upload("other", "p-other", MONDAY, seed=2, tokens=8)]
    land(lake, MONDAY, "a.ndjson", [*fine, upload("accused", "p-accused", MONDAY, seed=5, tokens=30, **claims)])
    night(lake, MONDAY, **settings)
    return lake


@contextmanager
def detector(monkeypatch, change):
    """Another version of what judges a game: ``change`` gets the reasons that today's gives."""
    with monkeypatch.context() as patch:
        for name in ("_mismatches", "_impossible"):
            today = getattr(verdict, name)
            patch.setattr(verdict, name, lambda *words, today=today: [change(reason) for reason in today(*words)])
        yield


def decide(lake, action, game_id="accused", reviewer="ana", undoes=None):
    where = Lake(lake)
    with open_reviews(where) as store:
        row = find_game(where, game_id)
        (made,) = store.decide([draft(action, row, store.decisions([subject_of(row)]), undoes)], reviewer=reviewer, reason=f"I {action}")
    return made


def look(lake, game_id="accused"):
    """(the review as it stands, what speaks against the game)."""
    where = Lake(lake)
    with open_reviews(where) as store:
        row = find_game(where, game_id)
        return review_of(store.decisions([subject_of(row)]), facts_of_row(row)), facts_of_row(row)


def boards(lake):
    return {name: ask(lake, f"select {columns} from {name} order by all") for name, columns in BOARDS.items()}


def ranked(lake):
    return {player: (position, score) for player, position, score in ask(lake, "select player_id, position, score from daily_ranking")}


def at_another_move_and_in_other_words(reason):
    return replace(reason, move=7) if reason.code == "combo_mismatch" else replace(reason, found="best_combo at most 6 (better words)")


def with_another_finding(reason):
    return replace(reason, found=reason.found + 1) if reason.code == "combo_mismatch" else reason


def test_a_dismissal_survives_another_detector_and_ends_with_new_evidence(monday, settings, monkeypatch):
    """C8, from Monday to Thursday."""
    first = verdict_rows(monday, MONDAY)
    assert by_game(monday, MONDAY)["accused"]["verdict"] == "flagged"
    assert "p-accused" not in ranked(monday)
    cleared = decide(monday, "clear")

    # Tuesday: the day is computed again by a detector that sees the same faults elsewhere and says them in other words.
    with detector(monkeypatch, at_another_move_and_in_other_words):
        night(monday, MONDAY, **settings)
    again = by_game(monday, MONDAY)["accused"]
    assert again["verdict"] == "flagged" and "better words" in again["reasons"] and '"move": 7' in again["reasons"]
    review, _ = look(monday)
    assert (review.state, review.decision) == ("cleared", cleared)
    counted = ranked(monday)
    assert counted["p-accused"] == (2, again["score"]), "it counts"

    # Wednesday: new evidence against the same game.
    with detector(monkeypatch, with_another_finding):
        night(monday, MONDAY, **settings)
    review, facts = look(monday)
    assert (review.state, review.decision) == ("returned", cleared)
    found = by_game(monday, MONDAY)["accused"]["replayed_best_combo"] + 1
    assert f"best combo claimed 99, replayed {found} (new)" in state_words(review)
    assert fact_lines(facts, review.decision) == [
        f"best combo claimed 99, replayed {found} (new)", "99 claimed, which is not possible with this many moves",
        f"best combo claimed 99, replayed {found - 1} (no longer)",
    ]  # fmt: skip
    assert "p-accused" not in ranked(monday)

    # Thursday: somebody looks at it again; every decision and every record is kept.
    with detector(monkeypatch, with_another_finding):
        assert decide(monday, "clear", reviewer="ben").previous == cleared.id
        night(monday, MONDAY, **settings)
        assert look(monday)[0].state == "cleared"
    assert ranked(monday) == counted
    with open_reviews(Lake(monday)) as store:
        assert [(one.id, one.action, one.reviewer) for one in store.decisions()] == [(1, "clear", "ana"), (2, "clear", "ben")]
        assert store.decision(1) == cleared
    assert {row["game_id"] for row in verdict_rows(monday, MONDAY)} == {row["game_id"] for row in first}


def test_a_wrongly_flagged_player_gets_everything_back_exactly(monday, tmp_path, settings):
    """C8, D5: position, percentile, rank and total are those of a night that never flagged the game; and away again on undo."""
    honest = boards(land_monday(tmp_path / "honest", settings))
    flagged, content = boards(monday), dump(warehouse(monday))
    assert flagged != honest
    made = decide(monday, "clear")
    night(monday, MONDAY, **settings)
    assert boards(monday) == honest
    rebuilt = dump(warehouse(monday))
    rebuild_standings(Lake(monday), settings_of(settings))
    assert dump(warehouse(monday)) == rebuilt, "made again it is the same"
    decide(monday, "undo", undoes=made.id)
    night(monday, MONDAY, **settings)
    assert boards(monday) == flagged
    assert {name: rows for name, rows in dump(warehouse(monday)).items() if "publication" not in name} == {
        name: rows for name, rows in content.items() if "publication" not in name
    }


def settings_of(settings):
    from replay.night import NightSettings

    return NightSettings(threads=2, **settings)


def test_a_verdict_file_stays_what_the_machine_found(monday, settings):
    """A decision changes no file that a night wrote, now or in the nights that follow."""
    before = published_files(monday)
    decide(monday, "uphold", "accused")
    assert published_files(monday) == before
    night(monday, MONDAY, **settings)
    assert {name: data for name, data in published_files(monday).items() if "verdicts" in name} == {
        name: data for name, data in before.items() if "verdicts" in name
    }


def test_the_same_file_under_another_name_finds_its_decision_again(monday, settings):
    """Logs are sent again, or moved: the upload is the same, wherever it lies by then."""
    decide(monday, "clear")
    folder = monday / "logs" / f"day={MONDAY}"
    lines = (folder / "a.ndjson").read_bytes().splitlines(keepends=True)
    (folder / "a.ndjson").unlink()
    (folder / "z.ndjson").write_bytes(b"".join(reversed(lines)))
    night(monday, MONDAY, **settings)
    row = by_game(monday, MONDAY)["accused"]
    assert (row["source_file"], row["source_line"]) == ("z.ndjson", 1)
    assert look(monday)[0].state == "cleared" and "p-accused" in ranked(monday)


def test_what_somebody_else_sends_afterwards_does_not_bring_it_back(tmp_path, settings):
    """A relation to other uploads is one fact, however many there are by then."""
    lake = tmp_path / "lake"
    first = upload("first", "p", MONDAY, seed=6, tokens=33)
    second = upload("second", "p", MONDAY, seed=7, uploaded_at=first.uploaded_at + 10)
    land(lake, MONDAY, "a.ndjson", [first, second])
    night(lake, MONDAY, **settings)
    decide(lake, "clear", "second")
    third = upload("third", "p", MONDAY, seed=8, uploaded_at=first.uploaded_at - 10)
    land(lake, TWO, "late.ndjson", [third, upload("x", "q", TWO)])
    night(lake, TWO, **settings)
    row = by_game(lake, MONDAY)["second"]
    assert "third" in row["reasons"], "the reason says another thing now"
    assert look(lake, "second")[0].state == "cleared"


def test_decisions_follow_an_anonymised_player_through_the_nights(monday, tmp_path, settings):
    """D9: after the players' table was changed the game is still cleared, and counts under the new id alone."""
    decide(monday, "clear")
    night(monday, MONDAY, **settings)
    before = ranked(monday)
    players = write_players(tmp_path / "players.csv", ("p-accused", "anonymised", "gone-1"))
    land(monday, TWO, "a.ndjson", [upload("later", "q", TWO)])
    night(monday, TWO, **settings, players=players)
    assert look(monday)[0].state == "cleared"
    assert ask(monday, "select position, score from daily_ranking where player_id = 'gone-1'") == [before["p-accused"]]
    night(monday, MONDAY, **settings, players=players)
    assert look(monday)[0].state == "cleared", "computed again, under the new id from the start"
    assert b"p-accused" not in (monday / "reviews.sqlite").read_bytes()


@pytest.mark.parametrize("broken", ["damaged", "unreachable"])
def test_a_night_without_its_decisions_publishes_nothing(monday, settings, monkeypatch, broken):
    """Rather yesterday's standings than some without what people decided; the sentence says where."""
    decide(monday, "clear")
    night(monday, MONDAY, **settings)
    land(monday, TWO, "a.ndjson", [upload("later", "p-later", TWO)])
    before = everything(monday)
    path = monday / "reviews.sqlite"
    whole = path.read_bytes()
    if broken == "damaged":
        path.write_bytes(whole[:1000] + b"\xff" * 9000)
    else:
        monkeypatch.setenv("REPLAY_REVIEWS", "postgresql://u:secret-word@127.0.0.1:1/d")
    for publish in (lambda: night(monday, TWO, **settings), lambda: rebuild_standings(Lake(monday), settings_of(settings))):
        with pytest.raises(InputError, match="the decisions") as error:
            publish()
        assert "secret-word" not in one_sentence(error)
    assert everything(monday) == before
    path.write_bytes(whole)
    monkeypatch.delenv("REPLAY_REVIEWS", raising=False)
    night(monday, TWO, **settings)
    assert {"p-accused", "p-later"} <= set(ranked(monday))


def test_decisions_are_taken_while_a_night_runs(monday, settings):
    """E8: who decides meanwhile waits for no night, and no night fails because somebody decides; the next one takes it up."""
    for day in (MONDAY, TWO):
        land(monday, day, "more.ndjson", [upload(f"{day}-{n}", f"q{n}", day, seed=n % 9) for n in range(60)])
    problems, done = [], threading.Event()

    def run():
        try:
            night(monday, MONDAY, **settings)
            night(monday, TWO, **settings)
        except InputError as error:
            problems.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run)
    thread.start()
    turns = 0
    while not done.is_set() or turns == 0:
        decide(monday, "note")
        decide(monday, "clear" if turns % 2 else "uphold")
        turns += 1
    thread.join()
    assert problems == [] and turns > 0
    decide(monday, "clear")
    night(monday, TWO, **settings)
    assert "p-accused" in ranked(monday)
    with open_reviews(Lake(monday)) as store:
        assert store.last_id() == 2 * turns + 1 == ask(monday, "select reviews_through from publication")[0][0]
