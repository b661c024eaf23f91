"""`replay preview`: what a rules change would move, held against real nights under the changed file and against replays by hand."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from replay.challenges import load_challenges
from replay.errors import InputError, NightError, NightRunning, NothingVerified, ReferenceDataError, UsageError
from replay.games import kind_of
from replay.lake import Lake, open_lake
from replay.lookup import read_uploaded
from replay.moves import compare
from replay.night import NightSettings, rebuild_standings, restate_standings, run_night
from replay.preview import Question, judged, preview, read_new_rules
from replay.reviews.model import subject_of
from replay.reviews.store import open_reviews
from replay.rulebook import BUILT_IN
from replay.verdict import log_bytes
from tests.replay.night_support import (
    DAYS,
    EVIL,
    ONE,
    ROOT,
    THREE,
    TWO,
    cli,
    decide,
    dump,
    lake_of_all_kinds,
    land,
    night,
    simulated,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
    write_players,
)
from tests.replay.store_support import download_tree, upload_tree

CHALLENGES = load_challenges()
RULES = (BUILT_IN / "blocks" / "1.2.0.toml").read_text("utf-8")
COLUMNS = (
    "verdict", "counted", "reason_codes", "reasons", "suspicions", "evidence", "replayed_score", "replayed_best_combo", "copy_of",
    "fault_kind", "fault_move", "player_id", "attempt_key", "log_key",
)  # fmt: skip


def write_rules(path: Path, *changes: tuple[str, str]) -> Path:
    """Version 1.2.0 of the block puzzle with some texts changed; each must be there."""
    text = RULES
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    return path


THREE_LINES = ("[80, 240, 480, 800,", "[80, 240, 500, 850,")
VERSION = ('version = "1.2.0"', 'version = "1.3.0"')
OTHER_DEAL = ('1   = "#"\nI2h = "##"', 'I2h = "##"\n1   = "#"')


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """No setting from outside, and a folder of our own for temporary files, which must be empty in the end."""
    for name in [name for name in os.environ if name.startswith("REPLAY_")]:
        monkeypatch.delenv(name)
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    yield
    assert list(place.iterdir()) == [], "temporary files are left"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Three published days, a third of their games forged, with late uploads of the day before and decisions about some games."""
    lake = simulated(tmp_path_factory.mktemp("made") / "lake", 250)
    for day in DAYS:
        night(lake, day)
    flagged = [row for row in verdict_rows(lake, TWO) if row["reason_codes"] == ["score_mismatch"] and row["attempt_key"] % 2]
    counted = [row for row in verdict_rows(lake, TWO) if row["counted"] and row["suspicions"]]
    board = [row for row in verdict_rows(lake, TWO) if row["reason_codes"] == ["board_mismatch"] and row["attempt_key"] % 2]
    for action, row in (("clear", flagged[0]), ("clear", board[0]), ("uphold", flagged[1]), ("uphold", counted[0])):
        decide(lake, action, row["game_id"], day=TWO, file=row["source_file"], line=row["source_line"])
    return lake


@pytest.fixture
def lake(made, tmp_path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "lake"))


def ask(lake: Path, rules: Path, first=ONE, last=THREE, as_version=None, limit=20, report=None, **settings):
    question = Question(read_new_rules(rules), first, last, as_version)
    return preview(Lake(lake), NightSettings(**{"threads": 2, **settings}), question, limit=limit, report=report)


def everything_in(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder of a lake with the time of its last change and its bytes."""
    found = [folder, *sorted(folder.rglob("*"))]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in found}


def played_again(lake: Path, day, row: dict, rules) -> tuple[int, str | None]:
    """(score, fault) of an upload by these rules, from the landed log, interpreted."""
    record = read_uploaded(Lake(lake), row | {"day": day})
    deal = CHALLENGES.find(record.game, record.challenge).deal(rules, record.mode)
    outcome = kind_of(record.game).play_through(rules, deal, log_bytes(record.moves), record.mode).outcome
    return outcome.score, outcome.fault and outcome.fault.kind


# --- (a) the file in place of its version -----------------------------------------------------------------------------------


def rules_folder(path: Path, new: Path) -> Path:
    for game in ("blocks", "tetromino", "tetcolor"):
        shutil.copytree(BUILT_IN / game, path / game, ignore=lambda _, names: [n for n in names if not n.endswith(".toml")])
    shutil.copy(new, path / "blocks" / "1.2.0.toml")
    return path


def test_what_the_file_would_do_is_what_nights_under_it_publish(lake, tmp_path):
    """Verdict rows of all days and all marts, for days in the middle, with decisions, and with a player anonymised since."""
    new = write_rules(tmp_path / "new.toml", THREE_LINES)
    old_id = next(row["player_id"] for row in verdict_rows(lake, TWO) if row["reason_codes"] == ["score_mismatch"])
    players = write_players(tmp_path / "players.csv", (old_id, "anonymised", "a-new-id"))
    changed = NightSettings(rules=rules_folder(tmp_path / "rules", new), players=players, threads=2)
    real = Path(shutil.copytree(lake, tmp_path / "real"))
    for day in (ONE, TWO):
        run_night(Lake(real), day, changed)
    settings = NightSettings(players=players, threads=2)
    before = everything_in(lake)
    with judged(Lake(lake), settings, Question(read_new_rules(new), ONE, TWO)) as sides:
        for day in DAYS:
            found, expected = verdict_rows(sides.after.root, day), verdict_rows(real, day)
            assert [row for row in found if row not in expected] == [], day
            assert found == expected, day
        assert dump(sides.warehouse(sides.after)) == dump(warehouse(real))
        assert sides.changed_days >= {ONE, TWO}
    assert everything_in(lake) == before
    found = preview(Lake(lake), settings, Question(read_new_rules(new), ONE, TWO), limit=10**6)
    # Standings with the decisions and players of now, under the rules as they are.
    rebuild_standings(Lake(lake), settings)
    expected = compare(warehouse(lake), warehouse(real), anonymised=settings.anonymised(), limit=10**6)
    assert found.moves == expected
    assert min(found.moves.counts.values()) > 0
    assert found.counts["verdicts"] > 0
    assert old_id not in json.dumps(found.as_json())


def test_games_are_told_with_what_was_claimed_published_and_found(lake, tmp_path):
    """Every game that differs between the days as published and as a real night publishes them, and no other; the largest first."""
    new = write_rules(tmp_path / "new.toml", THREE_LINES)
    real = Path(shutil.copytree(lake, tmp_path / "real"))
    run_night(Lake(real), TWO, NightSettings(rules=rules_folder(tmp_path / "rules", new), threads=2))
    found = ask(lake, new, TWO, TWO, limit=10**6)
    expected = {}
    for day in DAYS:
        after = {(row["source_file"], row["source_line"]): row for row in verdict_rows(real, day)}
        for row in verdict_rows(lake, day):
            other = after[row["source_file"], row["source_line"]]
            if row["verdict"] != "copy" and any(row[n] != other[n] for n in ("verdict", "reasons", "replayed_score")):
                assert other["score"] == row["score"]
                expected[row["game_id"], row["source_line"]] = (
                    row["score"], row["replayed_score"], other["replayed_score"], row["verdict"], other["verdict"],
                    other["reason_codes"],
                )  # fmt: skip
    names = ("claimed", "score_before", "score_after", "verdict_before", "verdict_after", "reasons_after")
    told = sorted(tuple(game[name] for name in names) for game in found.games)
    assert told == sorted(expected.values())
    assert found.counts["games"] == len(found.games) == len(expected) > 0
    changes = [abs((game["score_after"] or 0) - (game["score_before"] or 0)) for game in found.games]
    assert changes == sorted(changes, reverse=True)
    few = ask(lake, new, TWO, TWO, limit=2)
    assert few.games == found.games[:2]
    assert few.counts == found.counts
    assert len(few.moves.totals) == 2
    assert few.moves.totals == found.moves.totals[:2]


def test_a_claim_that_only_the_new_file_gives_becomes_verified(tmp_path):
    """The phones counted with other points than our file: their games are flagged, and stand under the mended file."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    new = write_rules(tmp_path / "mended.toml", ("cell = 4 ", "cell = 5 "))
    honest = upload("theirs", "p-theirs", seed=3, tokens=12)
    rules = read_new_rules(new).rules
    deal = load_challenges(challenges).find("blocks", str(THREE)).deal(rules)
    score = kind_of("blocks").play_through(rules, deal, log_bytes(honest.moves), "daily").outcome.score
    assert score > honest.score
    land(tmp_path / "lake", THREE, "a.ndjson", [replace(honest, score=score), upload("ours", "p-ours")])
    night(tmp_path / "lake", challenges=challenges)
    found = ask(tmp_path / "lake", new, THREE, THREE, challenges=challenges)
    moved = {game["game_id"]: (game["verdict_before"], game["verdict_after"]) for game in found.games}
    assert moved == {"theirs": ("flagged", "verified"), "ours": ("verified", "flagged")}
    assert (found.counts["counted_from_now"], found.counts["counted_no_longer"]) == (1, 1)
    totals = {row["player_id"]: (row["total_before"], row["total_after"]) for row in found.moves.totals}
    assert totals["p-theirs"] == (None, score)
    assert totals["p-ours"][1] is None


def test_the_same_file_moves_nothing_although_decisions_wait(lake):
    found = ask(lake, BUILT_IN / "blocks" / "1.2.0.toml")
    assert not found.would_move, found.as_json()
    assert found.notes == ()
    assert found.games == ()
    assert found.replaces
    # The standings that are published do not know of the decisions yet, and that is not the rules' doing.
    assert restate_standings(Lake(lake), NightSettings(threads=2)).moves.players > 0


def test_a_version_that_games_name_before_its_file_is_there(tmp_path):
    challenges = write_challenges(tmp_path / "challenges.csv")
    land(tmp_path / "lake", THREE, "a.ndjson", [upload("early", "p-early", rules="1.3.0"), upload("other", "p-other")])
    night(tmp_path / "lake", challenges=challenges)
    new = write_rules(tmp_path / "new.toml", VERSION)
    found = ask(tmp_path / "lake", new, THREE, THREE, challenges=challenges)
    (game,) = found.games
    assert (game["game_id"], game["reasons_before"], game["verdict_after"]) == ("early", ["unknown_rules"], "verified")
    assert not found.replaces
    assert found.named == 1


# --- (b) games counted by a version that they do not name -------------------------------------------------------------------


def test_games_of_another_version_get_the_score_that_the_file_gives(lake, tmp_path):
    """Every score held against an interpreted replay; nothing is flagged for a claim that nobody made under the file."""
    new = write_rules(tmp_path / "next.toml", VERSION, THREE_LINES, ("forgiven = 1 ", "forgiven = 0 "))
    rules = read_new_rules(new).rules
    with judged(Lake(lake), NightSettings(threads=2), Question(read_new_rules(new), ONE, TWO, "1.2.0")) as sides:
        rescored = 0
        for day in DAYS:
            before, after = verdict_rows(lake, day), verdict_rows(sides.after.root, day)
            assert len(before) == len(after)
            for row, other in zip(before, after, strict=True):
                taken = day != THREE and row["game"] == "blocks" and row["rules"] == "1.2.0" and row["verdict"] != "copy"
                expected = dict(row)
                # Nobody can replay what stands in no challenge table.
                if taken and row["replayed_score"] is not None:
                    score, fault = played_again(lake, day, row, rules)
                    if fault is None:
                        # A score that did not come out counts only where a person let it, whatever the rules.
                        expected |= {"replayed_score": score} | ({"score": score} if row["score"] == row["replayed_score"] else {})
                        rescored += score != row["replayed_score"]
                assert other == expected, (day, row["game_id"])
        assert rescored > 50
        boards = dump(sides.warehouse(sides.after))
    found = ask(lake, new, ONE, TWO, "1.2.0", limit=10**6)
    assert found.counts["verdicts"] == 0
    assert found.counts["scores"] == rescored == len(found.games)
    assert {game["day"] for game in found.games} == {ONE, TWO}
    best = {(row["challenge"], row["player_id"]): row["score_after"] for row in found.moves.days}
    assert best
    daily = {(row[1], row[2]): row for row in boards["main.daily_best"]}
    for key, score in best.items():
        assert score in daily[key], key


def test_a_decision_follows_the_game_whose_score_another_one_stands_in_for(lake, tmp_path):
    """A claim is part of the key of a decision: dismissed flags still count, upheld ones do not."""
    new = write_rules(tmp_path / "next.toml", VERSION, ("cell = 4 ", "cell = 6 "))
    with judged(Lake(lake), NightSettings(threads=2), Question(read_new_rules(new), TWO, TWO, "1.2.0")) as sides:
        subjects = {subject_of(row): row for row in verdict_rows(sides.after.root, TWO)}
        with open_reviews(Lake(lake)) as store:
            decisions = {decision.subject: decision for decision in store.decisions()}
        followed = {decision.subject for decision in sides.decisions_after()}
        assert len(followed) == 4
        assert followed <= set(subjects)
        assert len(followed - set(decisions)) == 2, "those whose score came out"
        before, after = (dump(sides.warehouse(side)) for side in (sides.before, sides.after))
        assert after["main.publication"] == before["main.publication"]
        for decision in sides.decisions_after():
            # One count of bests of two warehouses: the games that count are the same ones, also those that a person let count.
            games = [[row for row in found["main.eligible_games"] if decision.game_id in row] for found in (before, after)]
            assert [len(found) for found in games] == [decision.action == "clear"] * 2, decision


def test_a_game_that_the_file_does_not_allow_is_flagged_or_set_aside(lake, tmp_path):
    """Another deal makes logs illegal; a mode that is gone, or a piece, is nothing that a player did."""
    new = write_rules(tmp_path / "next.toml", VERSION, OTHER_DEAL)
    rules = read_new_rules(new).rules
    found = ask(lake, new, TWO, TWO, "1.2.0", limit=10**6)
    verdicts = {game["game_id"]: (game["verdict_before"], game["verdict_after"]) for game in found.games}
    flagged = {game_id for game_id, pair in verdicts.items() if pair == ("verified", "flagged")}
    stood = [row for row in verdict_rows(lake, TWO) if row["verdict"] == "verified" and row["rules"] == "1.2.0"]
    expected = {row["game_id"] for row in stood if row["game"] == "blocks" and played_again(lake, TWO, row, rules)[1]}
    assert flagged == expected != set()
    assert {tuple(game["reasons_after"]) for game in found.games if game["game_id"] in flagged} == {("illegal_move",)}
    modes = RULES[RULES.index("[modes.training]") : RULES.index("[modes.arena]")]
    less = write_rules(tmp_path / "less.toml", VERSION, (modes, ""))
    training = {r["game_id"] for r in verdict_rows(lake, TWO) if r["mode"] == "training" and r["verdict"] == "verified"}
    found = ask(lake, less, TWO, TWO, "1.2.0", limit=10**6)
    assert {game["game_id"] for game in found.games} == training != set()
    assert {(game["verdict_after"], *game["reasons_after"]) for game in found.games} == {("quarantined", "challenge")}
    assert not any(found.moves.counts.values()), "no board has games of another mode than its challenge's"


# --- Nothing is written -----------------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.mark.parametrize("error", [None, Stop, KeyboardInterrupt, InputError])
@pytest.mark.parametrize("as_version", [None, "1.2.0"])
def test_nothing_is_written_whatever_comes_in_between(lake, tmp_path, error, as_version):
    """Every byte and time of the lake is the same; that the temporary files are gone is looked at after every test here."""
    new = write_rules(tmp_path / "new.toml", THREE_LINES)
    seen, before = [], everything_in(lake)

    def report(step, done, total):
        seen.append(step)
        if error and step == "standings":
            raise error("stopped")

    if error:
        with pytest.raises(error, match="stopped"):
            ask(lake, new, ONE, TWO, as_version, report=report)
    else:
        assert ask(lake, new, ONE, TWO, as_version, report=report).would_move
        assert seen[-2:] == ["standings", "compare"]
    assert "verify" in seen
    assert everything_in(lake) == before


def test_ctrl_c_leaves_nothing(lake, tmp_path):
    new, place = write_rules(tmp_path / "new.toml", THREE_LINES), Path(tempfile.gettempdir())
    before = everything_in(lake)
    words = ["preview", "--rules", new, "--lake", lake, "--from", ONE, "--to", THREE]
    running = subprocess.Popen(
        [sys.executable, "-m", "replay", *map(str, words)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    until = time.monotonic() + 60
    while not list(place.glob("replay-preview-*/after/staging/*")) and running.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    assert running.poll() is None, running.communicate()
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode not in (0, 2), told
    assert b"Traceback" not in told, told.decode()
    assert list(place.iterdir()) == []
    assert everything_in(lake) == before


def test_a_lake_on_a_store_gives_the_same_answer_and_stays_as_it_is(lake, tmp_path, monkeypatch, server):
    new = write_rules(tmp_path / "new.toml", THREE_LINES)
    # Decisions of a lake on a store lie in a database.
    database = f"sqlite:///{shutil.copy(lake / 'reviews.sqlite', tmp_path / 'decisions.sqlite')}"
    for name, value in server.env(tmp_path / "cache", THREADS=2, REVIEWS=database).items():
        monkeypatch.setenv(name, value)
    url = "s3://games/preview"
    upload_tree(server.store(url), lake)
    before = server.store(url).list()
    for as_version in (None, "1.2.0"):
        question = Question(read_new_rules(new), TWO, TWO, as_version)
        with open_lake(url) as there:
            found = preview(there, NightSettings(threads=2), question)
        expected = ask(lake, new, TWO, TWO, as_version)
        assert found.as_json() == expected.as_json()
        assert found.would_move
    assert server.store(url).list() == before
    held = download_tree(server.store(url), tmp_path / "held")
    assert {p.relative_to(held).as_posix() for p in held.rglob("*") if p.is_file()} == set(before)


# --- What cannot be asked ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read as a rules file"),
        (b"\xff\xfe", "cannot be read as a rules file"),
        (b"points = [", "cannot be read as a rules file"),
        (b"points = " + b"[" * 5000, "cannot be read as a rules file"),
        (b"points = " + b"7" * 5000, "cannot be read as a rules file"),
        (b'game = "chess"\nversion = "1.2.0"', "game is 'chess', it must be one of blocks, tetromino, tetcolor"),
        (b'game = "blocks"\nversion = "next"', "version is 'next', it must be three numbers like 1.2.0"),
        (RULES.replace('"blocks"', '"tetromino"').encode(), "new.toml: "),
        (RULES.replace("cell = 4 ", "cells = 4 ").encode(), "new.toml: points.cell is missing"),
    ],
)
def test_a_file_that_is_no_rules_file_is_named(tmp_path, text, said):
    path = tmp_path / "new.toml"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(ReferenceDataError) as refused:
        read_new_rules(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_days_and_versions_that_nobody_can_judge_are_refused(lake, tmp_path):
    same, new = BUILT_IN / "blocks" / "1.2.0.toml", write_rules(tmp_path / "next.toml", VERSION)
    later = THREE + timedelta(days=1)
    for error, said, words in (
        (InputError, f"{later} was never published (published: {ONE} to {THREE})", (same, THREE, later)),
        (UsageError, f"the last day {ONE} is before the first one {TWO}", (same, TWO, ONE)),
        (UsageError, "rules 1.3.0 of blocks are new and no game that landed", (new,)),
        (UsageError, "--as '7.7.7': no game of blocks that landed", (new, ONE, TWO, "7.7.7")),
    ):
        with pytest.raises(error) as refused:
            ask(lake, *words)
        assert said in str(refused.value)
    with pytest.raises(InputError, match="no such lake"):
        ask(tmp_path / "nowhere", same)
    before = {name: held for name, (_, held) in everything_in(lake).items()}
    words = ("preview", "--lake", lake, "--from", ONE, "--to", ONE, "--rules", same)
    refused = cli(*words, env={"TMPDIR": str(lake / "logs")})
    assert refused.returncode == 2, refused
    assert b"temporary files would lie in the lake" in refused.stderr
    # Python itself tries whether the folder can be written to: its time is another one.
    assert {name: held for name, (_, held) in everything_in(lake).items()} == before


def test_logs_that_are_not_those_of_the_night_are_told(lake):
    """Gone or changed ones end the preview; what landed since is left out with a note, for it is not the rules that bring it in."""
    same = BUILT_IN / "blocks" / "1.2.0.toml"
    folder = lake / "logs" / f"day={TWO}"
    path = sorted(folder.iterdir())[0]
    land(lake, TWO, "zz-late.ndjson", [upload("late", "p-late", TWO)])
    found = ask(lake, same, TWO, TWO)
    assert not found.would_move, found.as_json()
    (note,) = found.notes
    assert note.startswith(f"Landed since the night of {TWO}, left out: 'zz-late.ndjson'")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b" ")
    with pytest.raises(InputError, match=f"{path.name}: is not the file that the night of {TWO} read"):
        ask(lake, same, TWO, TWO)
    path.unlink()
    with pytest.raises(InputError, match=f"{path.name}.*: gone since the night of {TWO} read it"):
        ask(lake, same, TWO, TWO)
    assert not ask(lake, same, THREE, THREE).would_move, "other days are none of its business"


@pytest.mark.parametrize("first", [ONE, TWO])
def test_a_damaged_file_of_the_lake_is_named_where_it_lies(lake, first):
    """Whether its day is asked about or only related to those that are; the links to it are gone by then."""
    path = lake / "verdicts" / f"day={ONE}" / "part-0.parquet"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises((InputError, NightError)) as refused:
        ask(lake, BUILT_IN / "blocks" / "1.2.0.toml", first, TWO)
    assert str(path) in str(refused.value)
    assert "replay-preview-" not in str(refused.value)


def test_a_night_that_publishes_meanwhile_is_told(lake):
    def report(step, done, total):
        if step == "standings":
            night(lake, ONE)

    with pytest.raises(NightRunning, match="a night published to this lake meanwhile"):
        ask(lake, BUILT_IN / "blocks" / "1.2.0.toml", TWO, TWO, report=report)


def test_what_else_has_changed_since_is_said(lake, tmp_path):
    challenges = tmp_path / "challenges.csv"
    challenges.write_text((ROOT / "seeds" / "challenges.csv").read_text("utf-8") + "\n", "utf-8")
    found = ask(lake, BUILT_IN / "blocks" / "1.2.0.toml", challenges=challenges)
    assert [note.partition(":")[0] for note in found.notes] == ["Published under another challenge table than today's"]
    assert not found.would_move


def test_a_file_under_which_no_night_could_run_or_publish_is_told(tmp_path):
    """A mode that the challenge table needs; and a day of which nothing could be read any more."""
    challenges = write_challenges(tmp_path / "challenges.csv")
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g", "p", mode="arena")])
    night(lake, challenges=challenges)
    none = write_rules(tmp_path / "none.toml", ("[modes.training]", "[modes.drill]"))
    with pytest.raises(ReferenceDataError, match=r"none\.toml: no night could run with this file .*mode 'training' is not one"):
        ask(lake, none, THREE, THREE, challenges=challenges)
    found = ask(lake, write_rules(tmp_path / "less.toml", ("[modes.arena]", "[modes.drill]")), THREE, THREE, challenges=challenges)
    (game,) = found.games
    assert (game["verdict_before"], game["verdict_after"], game["reasons_after"]) == ("verified", "quarantined", ["wrong_value"])
    assert found.notes == (f"No game of {THREE} could be read any more: a night would refuse to publish that.",)


def test_a_day_that_no_night_would_publish_is_told(tmp_path):
    """Boards that were good never give way to empty ones: the figures are not what would come of it."""
    challenges, lake = write_challenges(tmp_path / "challenges.csv"), tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g", "p"), upload("flagged", "q", score=7)])
    night(lake, challenges=challenges)
    cell = write_rules(tmp_path / "new.toml", ("cell = 4 ", "cell = 5 "))
    found = ask(lake, cell, THREE, THREE, challenges=challenges)
    assert found.notes == (f"No game of {THREE} would be verified any more: a night would refuse to publish that.",)
    with pytest.raises(NothingVerified):
        run_night(Lake(lake), THREE, NightSettings(rules=rules_folder(tmp_path / "rules", cell), challenges=challenges, threads=2))
    # A day that has no verified games as it is loses none.
    lake = tmp_path / "other"
    land(lake, THREE, "a.ndjson", [upload("flagged", "q", score=7)])
    night(lake, challenges=challenges)
    assert ask(lake, cell, THREE, THREE, challenges=challenges).notes == ()


# --- The command -------------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_the_command_tells_people_machines_and_writes_a_page(made, tmp_path):
    new, page = write_rules(tmp_path / "new.toml", THREE_LINES), tmp_path / "page.html"
    words = ("preview", "--lake", made, "--from", TWO, "--to", TWO, "--threads", 2)
    told = cli(*words, "--rules", new, "--html", page, "--limit", 3)
    assert told.returncode == 1, told.stderr
    assert "in place of rules 1.2.0 of blocks" in told.stdout.decode()
    assert "Games, 3 of" in told.stdout.decode()
    machine = cli(*words, "--rules", new, "--json", "--limit", 3)
    answer = json.loads(machine.stdout)
    assert machine.returncode == 1
    assert machine.stderr == b""
    assert answer["rules"]["replaces"] and answer["would_move"] and len(answer["games"]) == 3
    for game in answer["games"]:
        assert game["game_id"].encode() in told.stdout
        assert game["game_id"] in page.read_text("utf-8")
    nothing = cli(*words, "--rules", BUILT_IN / "blocks" / "1.2.0.toml", "--as", "1.2.0")
    assert (nothing.returncode, nothing.stderr) == (0, b"")
    assert "Nothing would move." in nothing.stdout.decode()
    for more, said in (
        (("--rules", tmp_path / "none.toml"), "none.toml: cannot be read as a rules file"),
        (("--rules", new, "--html", made / "page.html"), "lies in the lake"),
        (("--rules", new, "--html", tmp_path / "no" / "page.html"), "name a file in a folder that exists"),
        (("--rules", new, "--html", tmp_path / "." / "new.toml"), "new.toml: is the rules file itself"),
    ):
        refused = cli(*words, *more)
        assert refused.returncode == 2, refused
        assert said in refused.stderr.decode(), refused
        assert refused.stderr.count(b"\n") == 1


def test_the_page_is_one_file_and_harmless(tmp_path):
    """Texts that players wrote stand in it as text, whatever they hold; it loads nothing and runs nothing."""
    _, env = lake_of_all_kinds(tmp_path)
    new, page = write_rules(tmp_path / "new.toml", ("cell = 4 ", "cell = 5 ")), tmp_path / "page.html"
    told = cli("preview", "--rules", new, "--from", THREE, "--to", THREE, "--html", page, "--limit", 100, env=env)
    assert told.returncode == 1, told.stderr
    text = page.read_text("utf-8")
    assert EVIL not in text
    assert b"\x1b" not in told.stdout
    found = Elements(text).tags
    assert not {tag for tag, _ in found} & {"script", "iframe", "object", "img", "form", "a"}
    assert not [name for _, attributes in found for name in attributes if name.startswith("on") or name in ("style", "src")]
    assert {attributes["href"] for _, attributes in found if "href" in attributes} == {"data:,"}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "prefers-color-scheme: dark" in text


def test_the_answer_is_the_same_whatever_the_threads_and_shards(lake, tmp_path):
    """To the last byte: files that can be cut are cut into many shards, in which lines count from one."""
    new = write_rules(tmp_path / "next.toml", VERSION, THREE_LINES)
    for as_version, rules in (("1.2.0", new), (None, write_rules(tmp_path / "new.toml", THREE_LINES))):
        answers = {
            json.dumps(ask(lake, rules, ONE, TWO, as_version, threads=threads, shard_games=games).as_json())
            for threads, games in ((1, 250_000), (3, 7))
        }
        assert len(answers) == 1
