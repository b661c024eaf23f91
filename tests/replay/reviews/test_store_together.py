"""Several people at once, kills in the middle, and readers meanwhile, in SQLite and PostgreSQL alike (C8, E8)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from replay.errors import DecidedMeanwhile, ReplayError
from replay.reviews.words import time_words
from tests.replay.reviews.support import WHO, a_draft, one_sentence

ROOT = Path(__file__).parents[3]


# --- Two at once ---------------------------------------------------------------------------------------------------------


def test_the_second_is_told_who_decided_what_and_when(place):
    with place.open() as store:
        (first,) = store.decide([a_draft("uphold")], reviewer="ana", reason="two devices")
        with pytest.raises(DecidedMeanwhile) as error:
            store.decide([a_draft("clear")], reviewer="ben", reason="fine")
        text = one_sentence(error)
        for part in ("'g'", "ana upheld it", time_words(first.at), "decision 1", "two devices"):
            assert part in text
        assert error.value.exit_code == 1
        store.decide([a_draft("note", seen=1)], reviewer="cem", reason="asked the player")
        with pytest.raises(DecidedMeanwhile, match="cem left a note"):
            store.decide([a_draft("clear", seen=1)], reviewer="ben", reason="fine")
        assert store.decide([a_draft("clear", seen=2)], reviewer="ben", reason="fine")[0].previous == 2


def race(place, items):
    """Every item by a thread of its own, all at the same moment: (what was decided, what was said) by reviewer."""

    def decide(name, item):
        return lambda store: store.decide([item], reviewer=name, reason=f"by {name}")

    names = [f"r{n}" for n in range(len(items))]
    answers = dict(zip(names, place.at_once(*map(decide, names, items)), strict=True))
    told = {name: str(answer) for name, answer in answers.items() if isinstance(answer, DecidedMeanwhile)}
    made = {name: answer for name, answer in answers.items() if isinstance(answer, list)}
    assert len(made) + len(told) == len(items), answers
    return made, told


def test_of_two_threads_at_once_exactly_one_wins(place):
    for turn in range(4):
        made, told = race(place, [a_draft("clear", f"g{turn}"), a_draft("uphold", f"g{turn}")])
        assert (len(made), len(told)) == (1, 1), turn
        ((winner, (decision,)),) = made.items()
        (said,) = told.values()
        assert winner in said and time_words(decision.at) in said
    with place.open() as store:
        assert [one.id for one in store.decisions()] == [1, 2, 3, 4]


def test_threads_that_decide_about_different_games_all_win(place):
    made, told = race(place, [a_draft(game_id=f"g{n}") for n in range(8)])
    assert len(made) == 8 and told == {}
    with place.open() as store:
        assert [one.id for one in store.decisions()] == list(range(1, 9))


_DECIDER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from replay.errors import DecidedMeanwhile, ReplayError
    from tests.replay.reviews.support import Place, a_draft
    from replay.lake import Lake

    lake, url, name, count = Path(sys.argv[1]), sys.argv[2] or None, sys.argv[3], int(sys.argv[4])
    items = [a_draft("uphold", f"g{n}") for n in range(count)]
    with Place(Lake(lake), url).open() as store:
        store.decisions()
        (lake / f"{name}.ready").touch()
        while not (lake / "go").exists():
            time.sleep(0.001)
        try:
            print(len(store.decide(items, reviewer=name, reason="why")))
        except DecidedMeanwhile as error:
            print(error)
    """
)


def start_decider(place, name, count=1, program=_DECIDER):
    words = [sys.executable, "-c", program, str(place.lake.root), place.url or "", name, str(count)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path, process, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.01)


def test_of_two_processes_at_once_exactly_one_wins(place):
    """They decide about the same 40 games, all or none."""
    deciders = {name: start_decider(place, name, 40) for name in ("ana", "ben")}
    for name, process in deciders.items():
        wait_for(place.lake.root / f"{name}.ready", process)
    (place.lake.root / "go").touch()
    said = {name: process.communicate(timeout=60) for name, process in deciders.items()}
    assert {process.returncode for process in deciders.values()} == {0}, said
    winners = [name for name, (out, _) in said.items() if out.strip() == "40"]
    assert len(winners) == 1, said
    loser = "ben" if winners == ["ana"] else "ana"
    assert f"{winners[0]} upheld it" in said[loser][0]
    with place.open() as store:
        assert [(one.id, one.reviewer) for one in store.decisions()] == [(n, winners[0]) for n in range(1, 41)]


# --- Killed in the middle ------------------------------------------------------------------------------------------------

# Kills itself when a statement of this kind was carried out, or when it is about to commit.
_KILLED = _DECIDER.replace(
    "lake, url,",
    textwrap.dedent(
        """
        import os, signal
        from sqlalchemy import Engine, event
        from replay.reviews import tables

        moment, wrote = os.environ["KILL_AT"], []

        def carried_out(con, cursor, text, *_):
            if "INSERT" in text:
                wrote.append(text)
            if moment in text:
                os.kill(os.getpid(), signal.SIGKILL)

        def about_to_commit(con):
            if moment == "commit" and wrote:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(Engine, "after_cursor_execute", carried_out)
        event.listen(Engine, "commit", about_to_commit)

        whole = tables._connect_sqlite
        def small(path, writing):
            con = whole(path, writing)
            # Pages go to the file while the transaction runs, as those of a large one do.
            con.execute("PRAGMA cache_size = 2")
            con.execute("PRAGMA cache_spill = 1")
            return con
        tables._connect_sqlite = small
        """
    )
    + "lake, url,",
)


# Tables are made once, before the first decision.
MOMENTS = [("CREATE TABLE", 0), ("CREATE TRIGGER", 0), ("INSERT INTO", 0), ("INSERT INTO", 1), ("commit", 0), ("commit", 1)]


@pytest.mark.parametrize(("moment", "earlier"), MOMENTS)
def test_a_kill_in_the_middle_leaves_none(place, moment, earlier, monkeypatch):
    """The next one reads what was there before, and decides as if nothing had been."""
    if earlier:
        with place.open() as store:
            store.decide([a_draft(game_id="before")], **WHO)
    monkeypatch.setenv("KILL_AT", moment)
    process = start_decider(place, "ana", 400, _KILLED)
    wait_for(place.lake.root / "ana.ready", process)
    (place.lake.root / "go").touch()
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, (out, err)
    if place.kind == "sqlite" and not moment.startswith("CREATE"):
        assert (place.lake.root / "reviews.sqlite-journal").stat().st_size > 0, "there is something to take back"
    with place.open() as store:
        assert [one.game_id for one in store.decisions()] == ["before"] * earlier
        assert len(store.decide([a_draft("uphold", f"g{n}") for n in range(400)], **WHO)) == 400
        assert store.last_id() == 400 + earlier


@pytest.mark.parametrize("turn", range(3))
def test_a_kill_at_any_moment_leaves_all_or_none(place, turn):
    process = start_decider(place, "ana", 400)
    wait_for(place.lake.root / "ana.ready", process)
    (place.lake.root / "go").touch()
    time.sleep(0.02 + 0.06 * turn)
    process.kill()
    process.communicate(timeout=60)
    with place.open() as store:
        found = store.decisions()
        assert len(found) in (0, 400)
        store.decide([a_draft("clear", "g3", seen=store.last_id())], **WHO)
        assert store.last_id() == len(found) + 1


# --- Readers while somebody decides --------------------------------------------------------------------------------------


def test_readers_see_every_batch_whole_while_others_write(place):
    """E8: nobody who looks gets an error, or half of what was decided together."""
    size, batches, done, problems = 60, 12, threading.Event(), []

    def look():
        seen = 0
        with place.open() as store:
            while not done.is_set():
                try:
                    found = store.decisions()
                    counts = Counter(one.batch for one in found)
                    assert set(counts.values()) <= {size}, counts
                    assert [one.id for one in found] == list(range(1, len(found) + 1))
                    assert len(found) >= seen, "what was seen once stays"
                    seen = len(found)
                    assert store.last_id() >= seen
                except (ReplayError, AssertionError) as error:
                    problems.append(error)
                    return

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    with place.open() as store:
        for batch in range(batches):
            store.decide([a_draft(game_id=f"{batch}-{n}") for n in range(size)], **WHO)
    done.set()
    for reader in readers:
        reader.join(60)
    assert problems == []
    with place.open() as store:
        assert store.count() == size * batches


def test_nothing_is_held_between_calls(place):
    """A store that stays open keeps nobody out, and a page may keep one for a whole request."""
    with place.open() as one, place.open() as other:
        one.decide([a_draft()], **WHO)
        other.decide([a_draft("uphold", seen=1)], **WHO)
        assert one.last_id() == other.last_id() == 2
    if place.url is None:
        held = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
        assert not [path for path in held if "reviews.sqlite" in path]
        assert sorted(path.name for path in place.lake.root.iterdir()) == ["reviews.sqlite"]
