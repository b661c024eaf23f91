"""Standings after decisions: the field cases D4, D5 and D9 with reviews, `replay standings --restate`, and what would move."""

from __future__ import annotations

import json
import random
import shutil
from datetime import date
from pathlib import Path

import pytest

from replay.database import connect
from replay.errors import InputError, NightRunning
from replay.lake import Lake
from replay.moves import Moves, compare, what_would_move
from replay.night import NightSettings, rebuild_standings, restate_standings
from replay.reviews.games import draft, find_game
from replay.reviews.model import subject_of
from replay.reviews.store import open_reviews
from replay.standings import query_as_of, query_publication
from tests.replay.night_support import (
    ask,
    by_game,
    cli,
    decide,
    dump,
    everything,
    land,
    night,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
    write_players,
)

# Two Sundays and the day before the second, so that the digest tells of a week.
FIRST, SECOND, THIRD = DAYS = (date(2026, 10, 18), date(2026, 10, 24), date(2026, 10, 25))
# No id of a game, and nothing else here, holds these.
LEAD, CAROL = "lead-of-them-all", "carol-of-the-third-row"
NATIONS = {"p1": "IT", "p2": "IT", CAROL: "DE", "p4": None, LEAD: "IT"}
RIGHT_COMBO = upload("x", "x", seed=1, tokens=50).best_combo


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def settings(tables) -> NightSettings:
    """The players table may be written anew by a test, which leaves it empty."""
    challenges = write_challenges(tables / "challenges.csv")
    return NightSettings(challenges=challenges, players=write_players(tables / "players.csv"), threads=2)


@pytest.fixture(scope="module")
def made(tmp_path_factory, settings) -> Path:
    """Three published days: every game looks unusual (nobody played to the end), some are flagged though their score is right."""
    lake = tmp_path_factory.mktemp("made") / "lake"
    for day in DAYS:
        games = []
        for at, (player, nation) in enumerate(NATIONS.items()):
            for attempt in (1, 2):
                tokens = 60 if player == LEAD else 14 + 6 * at + 3 * attempt
                name = f"{'top' if player == LEAD else at}-{day}-{attempt}"
                games.append(upload(name, player, day, attempt, seed=attempt, tokens=tokens, nation=nation))
        # The score is right, what else is claimed is not: only a person lets it count.
        games.append(upload(f"combo-{day}", "p1", day, 3, seed=1, tokens=50, best_combo=RIGHT_COMBO + 1, nation="IT"))
        games.append(upload(f"fourth-{day}", "p2", day, 4, seed=1, tokens=40, nation="IT"))
        games.append(upload(f"second-log-{day}", CAROL, day, 1, seed=2, tokens=45, nation="DE", uploaded_at=games[4].uploaded_at + 9))
        land(lake, day, "a.ndjson", games)
        run(lake, settings, day)
    rows = by_game(lake, FIRST)
    assert rows[f"top-{FIRST}-1"]["suspicions"] == ["unfinished"]
    assert rows[f"combo-{FIRST}"]["reason_codes"] == ["combo_mismatch"]
    assert rows[f"fourth-{FIRST}"]["reason_codes"] == ["attempt_limit"]
    assert rows[f"second-log-{FIRST}"]["reason_codes"] == ["duplicate_attempt"]
    return lake


@pytest.fixture
def lake(made, tmp_path, settings):
    shutil.copytree(made, tmp_path / "lake")
    yield tmp_path / "lake"
    write_players(settings.players)


def run(lake: Path, settings: NightSettings, *days: date) -> None:
    for day in days:
        night(lake, day, challenges=settings.challenges, players=settings.players)


def restate(lake: Path, settings: NightSettings):
    return restate_standings(Lake(lake), settings)


def positions(lake: Path, player: str) -> dict[str, list]:
    """Where a player stands: every mart that names players, without the list of what speaks against games."""
    marts = ("daily_best", "daily_ranking", "totals", "totals_month", "leaderboard", "weekly_digest", "eligible_games", "players")
    return {mart: ask(lake, f"select * from {mart} where player_id = ? order by all", player) for mart in marts}


def hold_together(lake: Path, settings: NightSettings, tmp_path: Path) -> None:
    """No board has a gap at its top, and the standings are those of a rebuild and of a lake that was built from nothing."""
    boards = "select game, scope, nation, period, month, min(position), min(ordinal), max(ordinal) - count(*) from leaderboard"
    assert {row[5:] for row in ask(lake, f"{boards} group by all")} == {(1, 1, 0)}
    assert {row[0] for row in ask(lake, "select min(position) from daily_ranking group by game, challenge")} == {1}
    assert {row[0] for row in ask(lake, "select min(position) from weekly_digest group by game")} == {1}
    others = "select count(*) from (select others + 1 - count(*) as gap from daily_ranking group by game, challenge, others)"
    assert ask(lake, f"{others} where gap <> 0") == [(0,)]
    found = everything(lake)
    rebuild_standings(Lake(lake), settings)
    assert everything(lake) == found
    other = tmp_path / "from-nothing"
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(lake / "logs", other / "logs")
    if (lake / "reviews.sqlite").exists():
        shutil.copy(lake / "reviews.sqlite", other)
    run(other, settings, *reversed(DAYS))
    assert dump(warehouse(other)) == found[1]


# --- D4, D5 --------------------------------------------------------------------------------------------------------------


def test_d4_one_rule_for_every_path(lake, settings, tmp_path):
    """D4: a removed leader, an upheld best, an upload of the removed one, their return, and a decision undone."""
    start, whole = positions(lake, "p2"), everything(lake)
    assert all(positions(lake, LEAD).values())
    # A removed player leads; an upheld game is somebody's best.
    write_players(settings.players, (LEAD, "removed", ""))
    best = ask(lake, "select game_id, score from daily_best where player_id = 'p4' and challenge = ?", str(THIRD))[0]
    upheld = decide(lake, "uphold", best[0])
    moves = restate(lake, settings).moves
    assert moves.players >= 5
    assert not any(positions(lake, LEAD).values())
    (found,) = ask(lake, "select game_id, score from daily_best where player_id = 'p4' and challenge = ?", str(THIRD))
    assert found[0] != best[0]
    assert found[1] < best[1], "the next best attempt"
    changed = positions(lake, "p4")
    for mart in ("daily_ranking", "totals", "totals_month", "leaderboard", "weekly_digest"):
        assert changed[mart], mart
    total = sum(score for (score,) in ask(lake, "select score from daily_best where player_id = 'p4'"))
    for mart in ("totals", "totals_month", "leaderboard", "weekly_digest"):
        assert {row[0] for row in ask(lake, f"select total from {mart} where player_id = 'p4'")} == {total}, mart
    assert ask(lake, "select others from daily_ranking where challenge = ? limit 1", str(THIRD)) == [(3,)]
    hold_together(lake, settings, tmp_path)
    # Uploading again does not put the removed player back.
    land(lake, THIRD, "b.ndjson", [upload("again", LEAD, THIRD, 3, seed=3, tokens=70, nation="IT")])
    run(lake, settings, THIRD)
    assert not any(positions(lake, LEAD).values())
    # Back in play and the decision undone: everything is as it was, with the new game on top.
    write_players(settings.players)
    decide(lake, "undo", best[0], undoes=upheld.id)
    assert restate(lake, settings).moves.players
    hold_together(lake, settings, tmp_path)
    (lake / "logs" / f"day={THIRD}" / "b.ndjson").unlink()
    run(lake, settings, THIRD)
    assert positions(lake, "p2") == start
    flags = ("main.publication",)
    assert {n: r for n, r in everything(lake)[1].items() if n not in flags} == {n: r for n, r in whole[1].items() if n not in flags}


def test_d5_a_cleared_player_gets_everything_back(lake, settings, tmp_path):
    """D5: position, percentile, tier and total are what they were had the game never been flagged, on every table of the file."""
    other = tmp_path / "never-flagged"
    for day in DAYS:
        shutil.copytree(lake / "logs" / f"day={day}", other / "logs" / f"day={day}")
        path = other / "logs" / f"day={day}" / "a.ndjson"
        lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
        for found in lines:
            if found["game_id"].startswith("combo"):
                found["best_combo"] = RIGHT_COMBO
        path.write_text("".join(json.dumps(found) + "\n" for found in lines), "utf-8")
    run(other, settings, *DAYS)
    assert by_game(other, FIRST)[f"combo-{FIRST}"]["counted"]
    assert dump(warehouse(lake)) != dump(warehouse(other))
    for day in DAYS:
        decide(lake, "clear", f"combo-{day}")
    assert restate(lake, settings).moves.players
    named = ("main.flagged_games", "main.publication")
    found, wanted = dump(warehouse(lake)), dump(warehouse(other))
    for name in wanted.keys() - set(named):
        assert found[name] == wanted[name], name
    assert query_publication(warehouse(lake))["games_cleared"] == 3
    hold_together(lake, settings, tmp_path)


def test_what_a_person_cleared_counts_beside_the_rest(lake, settings):
    """A second log of an attempt and a fourth attempt count when somebody says so; the best score wins."""
    for game in ("second-log", "fourth"):
        decide(lake, "clear", f"{game}-{FIRST}")
    restate(lake, settings)
    rows = {row["game_id"]: row for row in verdict_rows(lake, FIRST)}
    for game, player in (("second-log", CAROL), ("fourth", "p2")):
        claimed = rows[f"{game}-{FIRST}"]["score"]
        counting = ask(lake, "select score from eligible_games where player_id = ? and challenge = ?", player, str(FIRST))
        assert (claimed,) in counting
        assert len(counting) == 3, "beside the first two"
        best = ask(lake, "select max(score) from daily_best where player_id = ? and challenge = ?", player, str(FIRST))
        assert best == [max(counting)]
    flagged = dict(ask(lake, "select game_id, counted from flagged_games where day = ?", FIRST))
    assert flagged[f"second-log-{FIRST}"]
    assert flagged[f"fourth-{FIRST}"]
    assert not flagged[f"combo-{FIRST}"]
    assert {day for (day,) in ask(lake, "select day from flagged_games")} == set(DAYS)


def test_subjects_of_the_mart_are_those_of_the_model(made):
    wanted = {(day, row["source_line"]): subject_of(row) for day in DAYS for row in verdict_rows(made, day)}
    found = {(day, line): subject for day, line, subject in ask(made, "select day, source_line, subject from flagged_games")}
    assert found == {key: wanted[key] for key in found}
    assert len(found) > 30


# --- Restating -----------------------------------------------------------------------------------------------------------


def test_the_name_follows_what_stands_and_only_that(lake, settings):
    first = warehouse(lake).name
    assert restate(lake, settings).moves is None
    game = f"top-{THIRD}-1"
    decide(lake, "note", game)
    assert restate(lake, settings).moves is None, "a note moves nothing"
    upheld = decide(lake, "uphold", game)
    decide(lake, "undo", game, undoes=upheld.id)
    assert restate(lake, settings).moves is None
    assert warehouse(lake).name == first
    decide(lake, "uphold", game)
    restated = restate(lake, settings)
    assert restated.warehouse == warehouse(lake).name != first
    assert restated.moves.bests >= 1
    assert query_publication(warehouse(lake)) | {"as_of": None} == query_publication(warehouse(lake)) | {
        "as_of": None, "reviews_through": 4, "games_upheld": 1, "games_cleared": 0,
    }  # fmt: skip
    assert restate(lake, settings).moves is None
    # A night takes decisions up by itself.
    decide(lake, "clear", f"combo-{FIRST}")
    run(lake, settings, FIRST)
    assert query_publication(warehouse(lake))["reviews_through"] == 5
    assert restate(lake, settings).moves is None


def test_decisions_that_cannot_be_read_stop_everything(lake, settings):
    """Never standings without decisions, and never half a night."""
    decide(lake, "uphold", f"top-{THIRD}-1")
    before = everything(lake)
    (lake / "reviews.sqlite").write_bytes(b"SQLite format 3\x00 and then nothing of it")
    land(lake, THIRD, "b.ndjson", [upload("late", "p9", THIRD)])
    for call in (
        lambda: run(lake, settings, THIRD),
        lambda: restate(lake, settings),
        lambda: rebuild_standings(Lake(lake), settings),
        lambda: what_would_move(Lake(lake), settings, []),
    ):
        with pytest.raises(InputError, match=r"reviews\.sqlite: the decisions"):
            call()
        assert everything(lake) == before


def test_the_command(lake, settings):
    env = {"REPLAY_CHALLENGES": str(settings.challenges), "REPLAY_PLAYERS": str(settings.players)}
    done = cli("standings", "--restate", "--lake", lake, env=env)
    assert (done.returncode, done.stdout.startswith(b"Nothing to restate: the standings (2026-10-25-")) == (0, True)
    decide(lake, "uphold", f"top-{THIRD}-1")
    done = cli("standings", "--restate", "--json", "--lake", lake, env=env)
    found = json.loads(done.stdout)
    assert found["restated"]
    assert found["warehouse"] == warehouse(lake).name
    row = found["moves"]["days"][0]
    assert (row["player_id"], row["challenge"]) == (LEAD, str(THIRD))
    assert row["score_before"] > row["score_after"]
    assert found["moves"]["totals"][0]["total_after"] - found["moves"]["totals"][0]["total_before"] == (
        row["score_after"] - row["score_before"]
    )
    decide(lake, "uphold", f"top-{THIRD}-2")
    text = cli("standings", "--restate", "--lake", lake, env=env).stdout.decode()
    assert "What moved" in text
    assert " -> " in text
    assert json.loads(cli("standings", "--restate", "--json", "--lake", lake, env=env).stdout)["moves"] is None
    done = cli("standings", "--restate", "--day", THIRD, "--lake", lake, env=env)
    assert (done.returncode, b"--restate" in done.stderr) == (2, True)
    with Lake(lake).lock():
        done = cli("standings", "--restate", "--lake", lake, env=env)
    assert (done.returncode, b"another night is writing" in done.stderr) == (1, True)


def test_a_warehouse_of_an_earlier_version(lake):
    path = warehouse(lake)
    with connect(path) as con:
        con.execute("alter table publication drop column releases_through")
    with pytest.raises(InputError, match="earlier version of this program, run `replay rebuild`"):
        query_publication(path)
    assert query_as_of(path) == THIRD


# --- What would move -----------------------------------------------------------------------------------------------------


def as_drafts(lake: Path, rng: random.Random) -> list:
    """Decisions that somebody might take now: on any games, undoing some that stand."""
    rows = [row | {"day": day} for day in DAYS for row in verdict_rows(lake, day)]
    drafts = []
    with open_reviews(Lake(lake)) as store:
        for row in rng.sample(rows, rng.randrange(1, 6)):
            known = store.decisions([subject_of(row)])
            undone = {decision.undoes for decision in known}
            standing = [d for d in known if d.action in ("uphold", "clear") and d.id not in undone]
            if standing and rng.random() < 0.5:
                drafts.append(draft("undo", row, known, standing[-1].id))
            else:
                drafts.append(draft(rng.choice(["uphold", "clear", "clear", "note"]), row, known))
    return drafts


@pytest.mark.parametrize("seed", [1, 2])
def test_what_would_move_is_what_then_moves(lake, settings, seed):
    rng = random.Random(seed)
    moved = 0
    for _ in range(5):
        drafts = as_drafts(lake, rng)
        before = everything(lake)
        would = what_would_move(Lake(lake), settings, drafts)
        assert everything(lake) == before
        with open_reviews(Lake(lake)) as store:
            store.decide(drafts, reviewer="bob", reason="at random")
        restated = restate(lake, settings)
        assert (restated.moves or Moves()) == would, [(d.action, d.row["game_id"]) for d in drafts]
        moved += would.players > 0
    assert moved, "some of these sets move something"


def test_moves_count_every_change_and_show_the_largest(lake, settings, tmp_path):
    before = warehouse(lake)
    shutil.copy(before, tmp_path / "before.duckdb")
    decide(lake, "uphold", f"top-{THIRD}-1")
    decide(lake, "uphold", f"top-{THIRD}-2")
    restate(lake, settings)
    moves = compare(tmp_path / "before.duckdb", warehouse(lake), anonymised={})
    first = moves.days[0]
    assert (first["player_id"], first["score_after"], first["position_after"], first["tier_after"]) == (LEAD, None, None, None)
    others = [row for row in moves.days if row["player_id"] != LEAD]
    assert {row["position_before"] - row["position_after"] for row in others} == {1}
    assert moves.players == 5
    assert moves.bests == 1
    assert moves.totals_moved == 1
    assert moves.days_of == len(moves.days) == 5
    short = compare(tmp_path / "before.duckdb", warehouse(lake), anonymised={}, limit=2)
    assert (len(short.days), short.counts) == (2, moves.counts)
    back = compare(warehouse(lake), tmp_path / "before.duckdb", anonymised={})
    assert back.counts == moves.counts
    assert compare(before, before, anonymised={}) == Moves()
    with pytest.raises(InputError, match="no such warehouse"):
        compare(tmp_path / "none.duckdb", before, anonymised={})


def test_d9_no_old_id_comes_out_of_an_older_warehouse(lake, settings, tmp_path):
    shutil.copy(warehouse(lake), tmp_path / "before.duckdb")
    write_players(settings.players, (LEAD, "anonymised", "n-1"))
    decide(lake, "uphold", f"top-{THIRD}-1")
    restate(lake, settings)
    moves = compare(tmp_path / "before.duckdb", warehouse(lake), anonymised=settings.anonymised())
    assert LEAD not in {row["player_id"] for row in moves.days + moves.totals}
    assert moves.days[0]["player_id"] == "n-1"
    assert moves.days[0]["score_after"] is not None, "still one and the same player"


def test_a_preview_waits_for_no_lock_and_gives_up_on_a_lake_that_never_rests(lake, settings, monkeypatch):
    drafts = [draft("uphold", find_game(Lake(lake), f"top-{THIRD}-1"), [])]
    with Lake(lake).lock():
        quiet = what_would_move(Lake(lake), settings, drafts)
    assert quiet.bests == 1
    from replay import moves

    whole, calls = moves._would_move, []

    def published_meanwhile(*args):
        calls.append(args)
        found = whole(*args)
        if len(calls) < limit:
            path = Lake(lake).verdict_file(FIRST)
            shutil.copy(path, path.with_suffix(".new"))
            path.with_suffix(".new").replace(path)
        return found

    monkeypatch.setattr(moves, "_would_move", published_meanwhile)
    limit = 2
    assert what_would_move(Lake(lake), settings, drafts) == quiet
    assert len(calls) == 2
    limit = 100
    with pytest.raises(NightRunning, match="without a pause"):
        what_would_move(Lake(lake), settings, drafts)


# --- D9 ------------------------------------------------------------------------------------------------------------------


def bytes_with(lake: Path, *texts: str) -> list[str]:
    """The files besides the logs in which one of the texts stands, DuckDB's read as tables too: they are compressed."""
    found = []
    for path in sorted(lake.rglob("*")):
        if not path.is_file() or path.is_relative_to(lake / "logs"):
            continue
        content = path.read_bytes()
        if path.suffix == ".duckdb":
            content += repr(dump(path)).encode()
        elif path.suffix == ".parquet":
            content += repr(verdict_rows(lake, Lake.day_of(path), path.parent.parent.name)).encode()
        if any(text.encode() in content for text in texts):
            found.append(path.relative_to(lake).as_posix())
    return found


@pytest.mark.parametrize("killed", [False, True])
def test_d9_decisions_stand_when_players_become_anonymous(lake, settings, monkeypatch, killed):
    """D9: two players go on one day, with decisions on their games; then the month is verified again."""
    secrets = (CAROL, LEAD)
    decide(lake, "uphold", f"top-{THIRD}-1")
    decide(lake, "clear", f"second-log-{FIRST}")
    restate(lake, settings)
    assert bytes_with(lake, LEAD)
    before = {table: rows for table, rows in dump(warehouse(lake)).items() if table != "main.flagged_games"}
    write_players(settings.players, (CAROL, "anonymised", "n-3"), (LEAD, "anonymised", "n-9"))
    if killed:
        # Between the reviews, which know the new keys already, and the rows, which do not.
        with monkeypatch.context() as patch:
            patch.setattr(Lake, "commit", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                run(lake, settings, SECOND)
    run(lake, settings, *DAYS)
    names = {CAROL: "n-3", LEAD: "n-9"}
    after = {table: rows for table, rows in dump(warehouse(lake)).items() if table != "main.flagged_games"}
    for table, rows in before.items():
        if table.startswith("main."):
            renamed = [tuple(names.get(v, v) if isinstance(v, str) else v for v in row) for row in rows]
            assert sorted(renamed, key=repr) == sorted(after[table], key=repr), table
    assert query_publication(warehouse(lake))["games_upheld"] == query_publication(warehouse(lake))["games_cleared"] == 1
    assert bytes_with(lake, *secrets) == []
    assert {row["player_id"] for day in DAYS for row in verdict_rows(lake, day)} == {"p1", "p2", "p4", "n-3", "n-9"}
    with open_reviews(Lake(lake)) as store:
        subjects = {decision.subject for decision in store.decisions()}
    rows = [row for day in DAYS for row in verdict_rows(lake, day)]
    assert subjects <= {subject_of(row) for row in rows}
    state = everything(lake)
    run(lake, settings, *reversed(DAYS))
    assert everything(lake) == state, "a backfill ends where it began"
