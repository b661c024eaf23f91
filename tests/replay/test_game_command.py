"""`replay game`: one disputed game from a file, from standard input or from a lake, and how little it has to load for it."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from replay.cli import main
from tests.replay.night_support import (
    EVIL,
    REASONS,
    ROOT,
    THREE,
    TWO,
    decide,
    lake_of_all_kinds,
    land,
    line,
    night,
    upload,
    verdict_rows,
    write_challenges,
    write_players,
)

KEYS = ["game_id", "verdict", "reasons", "suspicions", "claimed", "replayed", "fault", "rules", "challenge"]
OUTCOME = ["score", "best_combo", "board", "moves", "finished"]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return lake_of_all_kinds(tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def env(kinds):
    return kinds[1]


@pytest.fixture
def challenges_only(env):
    return {"REPLAY_CHALLENGES": env["REPLAY_CHALLENGES"]}


@pytest.fixture
def game(monkeypatch, capsys):
    """Run `replay game` in this process: (exit code, stdout, stderr)."""

    def go(*words, env=(), stdin=b""):
        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("REPLAY_")]:
                patch.delenv(name)
            for name, value in dict(env).items():
                patch.setenv(name, str(value))
            patch.setattr(sys, "argv", ["replay", "game", *map(str, words)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            with pytest.raises(SystemExit) as done:
                main()
        out = capsys.readouterr()
        assert "Traceback" not in out.err
        return done.value.code or 0, out.out, out.err

    return go


def one_object(text: str) -> dict:
    assert text.count("\n") == 1
    return json.loads(text)


# --- The JSON object -----------------------------------------------------------------------------------------------------


def test_a_verified_games_object(game, env):
    code, out, err = game("fine", "--json", env=env)
    found = one_object(out)
    assert (code, err) == (0, "")
    assert list(found) == KEYS
    assert list(found["claimed"]) == list(found["replayed"]) == OUTCOME
    assert (found["verdict"], found["reasons"], found["suspicions"], found["fault"]) == ("verified", [], [], None)
    assert found["replayed"] == {**found["claimed"], "finished": True}
    assert (found["rules"], found["challenge"]) == ("1.2.0", str(THREE))


@pytest.mark.parametrize("reason", [*REASONS, "duplicate_attempt", "conflicting_upload", "truncated_log"])
def test_every_reason_in_object_and_words(game, kinds, env, reason):
    code, out, err = game(reason, "--json", env=env)
    found = one_object(out)
    assert (code, err) == (1, "")
    assert list(found)[:9] == KEYS
    assert set(found) - set(KEYS) <= {"evidence"}
    assert found["verdict"] == "flagged"
    assert reason in [entry["code"] for entry in found["reasons"]]
    assert all(list(entry) == ["code", "claimed", "found", "move"] for entry in found["reasons"])
    if reason == "illegal_move":
        assert list(found["fault"]) == ["kind", "move", "text"]
        assert (found["fault"]["kind"], found["fault"]["move"]) == ("no_such_slot", 1)
    else:
        assert found["fault"] is None
    assert (found["replayed"] is None) == reason.startswith("unknown_")
    published = next(row for row in verdict_rows(kinds[0]) if row["game_id"] == reason)
    assert found["reasons"] == json.loads(published["reasons"])
    assert found["suspicions"] == published["suspicions"]
    code, out, err = game(reason, "--from", 1, "--to", 2, env=env)
    assert (code, err) == (1, "")
    assert out.startswith(f"Game {reason}: flagged\n")
    held = "is held back and does not count unless a review clears it" if reason != "unknown_rules" else "could not be confirmed"
    assert f"The game {held}, for the" in " ".join(out.split())
    assert f"Landed on {THREE} in " in out


def test_a_copy_names_the_first(game, env):
    code, out, _ = game("copy", "--json", env=env)
    found = one_object(out)
    assert (code, found["verdict"], found["copy_of"], list(found)) == (0, "copy", "fine", [*KEYS, "copy_of"])
    code, out, _ = game("copy", env=env)
    assert code == 0
    assert "This is the same game uploaded again: fine came first and stands for both." in " ".join(out.split())


def test_an_id_that_stands_twice_is_told(game, env):
    code, out, _ = game("conflicting_upload", env=env)
    assert code == 1
    assert f"The same id again: flagged, landed on {THREE} in b.ndjson.gz, line 4." in out
    code, out, _ = game("conflicting_upload", "--day", THREE, "--file", "b.ndjson.gz", "--line", "4", env=env)
    assert code == 1
    assert f"Landed on {THREE} in b.ndjson.gz, line 4." in out
    assert f"The same id again: flagged, landed on {THREE} in b.ndjson.gz, line 3." in out
    for words in (("--line", "99"), ("--file", "none"), ("--day", "2026-01-01"), ("--line", str(2**80))):
        code, out, err = game("conflicting_upload", *words, env=env)
        assert (code, out) == (2, "")
        assert "no upload of it lies there, name another --day, --file or --line" in err
    code, _, err = game("-", "--line", "1", env=env)
    assert code == 2
    assert "--day, --file and --line pick an upload of a lake" in err


@pytest.mark.parametrize("name", ["parquet", "named", "first", "open"])
def test_games_of_every_format(game, env, name):
    """From Parquet, zstd, gzip and plain text: the game of that id, replayed."""
    code, out, _ = game(name, "--json", env=env)
    found = one_object(out)
    assert (code, found["game_id"]) == (1 if name == "named" else 0, name)


def test_ids_that_are_not_there(game, env, kinds):
    for name, words in {
        "half": r"'half' was quarantined on 2026-10-31 (c.ndjson.zst, line 1): field game is missing",
        "mode": r"'mode' was quarantined on 2026-10-31 (c.ndjson.zst, line 5): game 'mode': mode",
        "nobody": "no published day has a game 'nobody', check the id and that its night has run",
        "x" * 5000: "no published day has a game",
        "": "no published day has a game ''",
    }.items():
        code, out, err = game(name, env=env)
        assert (code, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1
    code, _, err = game("fine")
    assert code == 2
    assert "'fine' is no file; to look a game id up name the lake with --lake" in err
    code, _, err = game("fine", "--lake", kinds[0].parent / "none")
    assert code == 2
    assert "no published day has a game 'fine'" in err


def test_a_game_that_begins_with_a_hyphen(game, tmp_path):
    challenges = write_challenges(tmp_path / "challenges.csv")
    land(tmp_path / "lake", THREE, "a.ndjson", [upload("-2", "p")])
    night(tmp_path / "lake", challenges=challenges)
    code, out, _ = game("--json", "--lake", tmp_path / "lake", "--challenges", challenges, "--", "-2")
    assert (code, one_object(out)["game_id"]) == (0, "-2")


# --- Files and standard input --------------------------------------------------------------------------------------------


def test_one_record_in_a_file(game, challenges_only, tmp_path):
    honest = upload("g", "p", seed=5, tokens=400)
    text = line(honest)
    pretty = json.dumps(json.loads(text), indent=2).encode()
    for name, data in {
        "a.ndjson": text, "b.ndjson": text + b"\n\n", "c.json": pretty, "d.json": b"\xef\xbb\xbf" + pretty + b"\n",
        "e.ndjson.gz": gzip.compress(text), "f": text + b"\r\n",
    }.items():  # fmt: skip
        path = tmp_path / name
        path.write_bytes(data)
        code, out, err = game(path, "--json", env=challenges_only)
        assert (code, err, one_object(out)["verdict"]) == (0, "", "verified")
        assert game("-", "--json", env=challenges_only, stdin=data)[:2] == (code, out) or name.endswith("gz")
    zst = land(tmp_path, THREE, "a.ndjson.zst", [honest])
    assert game(zst, "--json", env=challenges_only)[:2] == (code, out)


def test_a_file_of_several_games_needs_a_pick(game, kinds, challenges_only, tmp_path):
    lake, _ = kinds
    for name, pick, expected in (("a.ndjson", "open", 0), ("b.ndjson.gz", "copy", 0), ("c.ndjson.zst", "strange", 1)):
        path = lake / "logs" / f"day={THREE}" / name
        code, out, _ = game(path, "--pick", pick, "--json", env=challenges_only)
        assert (code, one_object(out)["game_id"]) == (expected, pick)
        code, _, err = game(path, env=challenges_only)
        assert code == 2
        assert re.search(r"holds \d+ lines, name one game with --pick \(for example ['\"]", err)
        code, _, err = game(path, "--pick", "nobody", env=challenges_only)
        assert code == 2
        assert "holds no game 'nobody' that can be read" in err
    code, out, _ = game(lake / "logs" / f"day={THREE}" / "c.ndjson.zst", "--pick", EVIL, "--json", env=challenges_only)
    assert (code, one_object(out)["game_id"]) == (0, EVIL)


def test_files_that_hold_no_game(game, challenges_only, tmp_path):
    cases = {
        "empty": (b"", "holds no game"), "blank": (b" \n\t\n", "holds no game"),
        "text": (b"hello", "is no record of a game: not JSON"), "list": (b"[1]", "the line holds a JSON array"),
        "half": (line(upload("g", "p"))[:99], "is no record of a game"),
        "latin": (b'{"a":"\xe9"}', "is not UTF-8"), "less": (b'{"game_id": "g"}', "field game is missing"),
        "x.gz": (b"nonsense", "cannot be read"), "y.gz": (gzip.compress(b"{}")[:-9] + b"000000000", "cannot be read"),
        "z.zst": (b"nonsense", "cannot be read"),
        "lines": (b"{}\n{}\n", "holds 2 lines, none of them a record of a game"),
        "mode": (line(upload("g", "p", mode="zen")), "mode 'zen' is none of rules 1.2.0"),
        "p.parquet": (b"PAR1", "give a file with the record as JSON, or verify the Parquet file with `replay verify`"),
    }  # fmt: skip
    for name, (data, words) in cases.items():
        path = tmp_path / name
        path.write_bytes(data)
        code, out, err = game(path, env=challenges_only)
        assert (code, out) == (2, ""), name
        assert words in err, name
        assert re.fullmatch(r"replay: [^\n]+\n", err), name
    assert game("-", env=challenges_only)[0] == 2


def test_a_challenge_that_cannot_be_dealt_is_exit_2_and_accuses_nobody(game, tmp_path):
    table = tmp_path / "challenges.csv"
    table.write_text("game,challenge,mode,rules,rng_seed,start_board,pieces\nblocks,2026-10-31,daily,1.2.0,1,,O O O\n")
    path = tmp_path / "g.json"
    path.write_bytes(line(upload("g", "p", moves="1a1 2c1 3e1 1a3", score=1)))
    code, out, _ = game(path, "--json", "--challenges", table)
    found = one_object(out)
    assert (code, found["verdict"], [reason["code"] for reason in found["reasons"]]) == (2, "quarantined", ["challenge"])
    code, out, _ = game(path, "--challenges", table)
    assert code == 2
    assert "nothing is held against the player" in out


# --- Moves, pages --------------------------------------------------------------------------------------------------------


def test_a_range_of_moves(game, env):
    out = game("fine", "--from", "3", "--to", "5", env=env)[1]
    assert re.findall(r"Move ([\d,]+) ", out) == ["3", "4", "5"]
    total = one_object(game("fine", "--json", env=env)[1])["replayed"]["moves"]
    assert f"Moves 3 to 5 of {total}; see others with --from and --to." in out
    assert re.findall(r"Move ([\d,]+) ", game("fine", "--from", total, env=env)[1]) == [str(total)]
    assert f"No move of that range was played: the log has {total}." in game("fine", "--from", "9999", env=env)[1]
    for words in (("--from", "0"), ("--from", "5", "--to", "4"), ("--to", "-1"), ("--from", "x")):
        code, out, err = game("fine", *words, env=env)
        assert (code, out) == (2, ""), words
        assert err
    assert "moves 0 to the end are no range" in game("fine", "--from", "0", env=env)[2]


def test_the_wrong_move_is_marked(game, env):
    out = game("illegal_move", env=env)[1]
    assert ">>> wrong from here on: this move cannot be played" in out
    assert "9z9" in out or "names slot 9" in out


def test_the_page(game, env, tmp_path):
    page = tmp_path / "game.html"
    code, out, _ = game("score_mismatch", "--html", page, env=env)
    assert (code, out.endswith(f"Wrote {page}\n")) == (1, True)
    text = page.read_text("utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert "score_mismatch" in text or "does not count" in text
    assert not re.search(r"(src|href)\s*=\s*[\"']?https?:", text), "one self-contained file"
    for name in ("unknown_rules", "fine", "illegal_move", "strange"):
        assert game(name, "--html", page, "--json", env=env)[0] in (0, 1)
        assert page.read_text("utf-8") != text
    code, out, err = game("fine", "--html", tmp_path / "none" / "game.html", env=env)
    assert (code, out) == (2, "")
    assert "game.html: cannot be written (No such file or directory)" in err


# --- What the night knew -------------------------------------------------------------------------------------------------


def test_an_anonymised_player_is_shown_under_the_new_id(game, tmp_path):
    """D9: neither the terminal nor a page that is written later holds the old id, from the lake or from the landed file."""
    challenges, players = write_challenges(tmp_path / "c.csv"), write_players(tmp_path / "p.csv")
    lake = tmp_path / "lake"
    path = land(lake, THREE, "a.ndjson", [upload("g", "old-name")])
    night(lake, challenges=challenges, players=players)
    write_players(players, ("old-name", "anonymised", "new-name"))
    env = {"REPLAY_CHALLENGES": challenges, "REPLAY_PLAYERS": players, "REPLAY_LAKE": lake}
    for which in ("g", path):
        code, out, _ = game(which, "--html", tmp_path / "game.html", env=env)
        text = (tmp_path / "game.html").read_text("utf-8")
        assert code == 0
        assert "old-name" not in out + text
        assert "new-name" in text
    night(lake, TWO, allow_empty=True, challenges=challenges, players=players)
    assert verdict_rows(lake)[0]["player_id"] == "new-name"
    assert "old-name" not in game("g", "--json", env=env)[1]


def test_the_lake_answers_with_what_was_published(game, tmp_path):
    """Another limit or a mended rules file does not change what the night decided; that it would decide otherwise is told."""
    from replay.verdict import JudgeSettings

    challenges = write_challenges(tmp_path / "c.csv")
    lake = tmp_path / "lake"
    fast = upload("fast", "p1", tokens=20)
    fast = replace(fast, finished_at=fast.started_at + 20 * 150_000)
    land(lake, THREE, "a.ndjson", [fast, upload("wrong", "p2", seed=2, score=1)])
    night(lake, challenges=challenges, judge=JudgeSettings(pace_min_tokens=21))
    env = {"REPLAY_CHALLENGES": challenges, "REPLAY_LAKE": lake}
    assert one_object(game("fast", "--json", env=env)[1])["suspicions"] == ["unfinished"]
    assert "Today's" not in game("fast", env=env)[1]
    other = write_challenges(tmp_path / "other.csv", THREE, 1)
    other.write_text(other.read_text().replace("1234567", "7654321"))
    code, out, _ = game("fast", env={**env, "REPLAY_CHALLENGES": other})
    assert code == 0
    assert out.startswith("Game fast: verified\n")
    assert re.search(r"Today's rules and challenges give (illegal_move|score_mismatch).*: run the night of 2026-10-31 again", out)


def test_a_landed_file_that_changed_is_told(game, tmp_path):
    challenges = write_challenges(tmp_path / "c.csv")
    land(tmp_path / "lake", THREE, "a.ndjson", [upload("g1", "p1"), upload("g2", "p2", seed=2)])
    night(tmp_path / "lake", challenges=challenges)
    land(tmp_path / "lake", THREE, "a.ndjson", [upload("g2", "p2", seed=2)])
    code, out, err = game("g1", "--lake", tmp_path / "lake", "--challenges", challenges)
    assert (code, out) == (2, "")
    assert "line 1 is not the record that was verified any more (game_id is 'g2', it was 'g1')" in err


# --- Cold ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["--json"], ["--html", "game.html"]], ids=str)
def test_one_game_loads_no_heavy_library(tmp_path, words):
    """Design: a disputed game opens at once; nothing that compiles, queries or holds tables is imported for it.

    Typer brings pydantic along for its own use; ours, with the settings, stays away.
    """
    challenges, path = write_challenges(tmp_path / "c.csv"), tmp_path / "g.json"
    path.write_bytes(line(upload("g", "p", score=1)))
    code = (
        "import sys\nfrom replay.cli import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    code = done.code\n"
        "heavy = {'numba', 'numpy', 'duckdb', 'pyarrow', 'pydantic_settings', 'replay.settings', 'llvmlite'} & set(sys.modules)\n"
        "assert not heavy, heavy\nsys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "game", str(path), "--challenges", str(challenges), *words], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout


def test_cold_start_is_quick(tmp_path):
    """A generous bound; the benchmark has the figure."""
    path = tmp_path / "g.json"
    path.write_bytes(line(upload("g", "p")))
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-m", "replay", "game", str(path), "--json"], cwd=ROOT, capture_output=True, check=False)
        times.append(time.perf_counter() - begin)
    assert min(times) < 3.0


def test_paths_are_taken_before_ids(game, kinds, tmp_path, monkeypatch):
    """A file of that name wins over a game id, as the help says; the id is then named with its lake from elsewhere."""
    monkeypatch.chdir(tmp_path)
    Path("fine").write_bytes(line(upload("other", "p")))
    assert one_object(game("fine", "--json", env=kinds[1])[1])["game_id"] == "other"
    Path("fine").unlink()
    Path("fine").mkdir()
    assert one_object(game("fine", "--json", env=kinds[1])[1])["game_id"] == "fine"


def test_what_a_review_decided_is_told(game, tmp_path):
    """A flagged game that somebody cleared counts, an upheld one does not: neither is told to wait for a review."""
    lake, challenges = tmp_path / "lake", write_challenges(tmp_path / "c.csv")
    quick = upload("quick", "p3", seed=3)
    land(lake, THREE, "a.ndjson", [
        upload("g1", "p1", score=1), upload("g2", "p2", seed=2, score=1),
        replace(quick, finished_at=quick.started_at + 1000), upload("g4", "p4", seed=4, score=1),
    ])  # fmt: skip
    night(lake, challenges=challenges)
    env = {"REPLAY_CHALLENGES": challenges, "REPLAY_LAKE": lake}
    before = {name: game(name, "--json", env=env)[1] for name in ("g1", "g2", "quick", "g4")}
    assert "does not count unless a review clears it" in game("g1", env=env)[1]
    for action, name in (("clear", "g1"), ("uphold", "g2"), ("uphold", "quick"), ("note", "g4")):
        decide(lake, action, name)
    told = {name: game(name, "--to", 1, env=env)[1] for name in before}
    assert "The game was looked at and cleared: it counts as it was uploaded" in told["g1"]
    assert "The game was looked at and does not count, for the reason that follows." in told["g2"]
    assert "It was looked at by a person and does not count in the standings." in told["quick"]
    assert "It counts" not in told["quick"]
    assert "unless a review clears it" not in told["g1"] + told["g2"]
    assert "unless a review clears it" in told["g4"]
    assert "La partita è stata esaminata e approvata" in game("g1", "--lang", "it", "--to", 1, env=env)[1]
    # What the machine found stays what it was.
    assert {name: game(name, "--json", env=env)[1] for name in before} == before
    decide(lake, "undo", "g1", undoes=1)
    assert "unless a review clears it" in game("g1", env=env)[1]
