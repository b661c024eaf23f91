"""The command line: help, exit codes, JSON, errors of one sentence, settings, and texts that must not act on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import typer

from replay.cli import app, main
from replay.lake import Lake
from tests.replay.night_support import (
    EVIL,
    ONE,
    REASONS,
    ROOT,
    THREE,
    TWO,
    lake_of_all_kinds,
    land,
    line,
    night,
    upload,
    verdict_rows,
    warehouse,
    write_challenges,
    write_players,
)  # fmt: skip

COMMANDS = [
    "calibrate", "check-bundle", "dashboard", "demo", "doctor", "flags", "game", "nightly", "preview", "rebuild", "release",
    "review", "simulate", "standings", "verify",
]  # fmt: skip


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return lake_of_all_kinds(tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command in this process: (exit code, stdout, stderr)."""

    def go(*words, env=()):
        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("REPLAY_")]:
                patch.delenv(name)
            for name, value in dict(env).items():
                patch.setenv(name, str(value))
            patch.setattr(sys, "argv", ["replay", *map(str, words)])
            with pytest.raises(SystemExit) as done:
                main()
        out = capsys.readouterr()
        return done.value.code or 0, out.out, out.err

    return go


def objects(text: str) -> list:
    return [json.loads(row) for row in text.splitlines()]


def one_sentence(err: str) -> str:
    """The error's text, which is one line that begins with the program's name."""
    assert re.fullmatch(r"replay: [^\n]+\n", err), err
    assert "Traceback" not in err
    return err


# --- Help ----------------------------------------------------------------------------------------------------------------


def test_every_command_and_option_has_help_and_stands_in_the_readme(run):
    group = typer.main.get_command(app)
    assert sorted(group.commands) == COMMANDS
    readme = (ROOT / "README.md").read_text("utf-8")
    for name, command in group.commands.items():
        assert command.help.strip(), name
        assert f"replay {name}" in readme, f"README.md does not name `replay {name}`"
        code, out, _ = run(name, "--help")
        assert code == 0
        for param in command.params:
            assert (getattr(param, "help", "") or "").strip(), f"replay {name}: {param.name} has no help"
            if param.name != "help" and any(opt.startswith("--") for opt in param.opts):
                assert param.opts[0] in out
        assert run(name, "-h")[:2] == (0, out)
    assert run("--help")[0] == run("-h")[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        [], ["nonsense"], ["verify"], ["game"], ["nightly"], ["nightly", "--day", "2026-10-31"], ["standings"], ["rebuild"],
        ["flags", "--lake"], ["standings", "--nope"], ["flags", "--lake", ".", "--limit", "0"],
        ["flags", "--lake", ".", "--limit", "x"], ["simulate", "--lake", "x", "--day", "2026-10-31", "--games", "0"],
        ["verify", "a", "--threads", "many"], ["standings", "--lake", ".", "extra"],
        ["standings", "--lake", ".", "--limit", str(2**63)], ["flags", "--lake", ".", "--offset", str(2**63)],
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_use_is_exit_2_on_stderr(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "Error: " in err or "Usage: " in err
    assert "Traceback" not in err


# --- Exit codes and sentences --------------------------------------------------------------------------------------------


def test_bad_input_is_one_sentence_and_exit_2(run, kinds, tmp_path):
    lake, env = kinds
    empty = tmp_path / "empty"
    (empty / "logs").mkdir(parents=True)
    bad = tmp_path / "bad.csv"
    bad.write_text("nonsense\n")
    rules = tmp_path / "rules"
    rules.mkdir()
    logs = lake / "logs" / f"day={THREE}" / "a.ndjson"
    cases = {
        ("nightly", "--day", "31.10.2026"): "--day '31.10.2026' is no day, write it as YYYY-MM-DD",
        ("nightly", "--day", "2026-W44-6"): "is no day",
        ("nightly", "--day", "20261031"): "is no day",
        ("nightly", "--day", THREE, "--lake", tmp_path / "typo"): "typo: no such lake",
        ("nightly", "--day", THREE, "--challenges", bad): "bad.csv: the first line is 'nonsense'",
        ("nightly", "--day", THREE, "--players", tmp_path / "none.csv"): "none.csv: the table cannot be read",
        ("nightly", "--day", THREE, "--rules", rules): "no rules file",
        ("nightly", "--day", THREE, "--threads", "0"): "REPLAY_THREADS is 0: input should be greater than or equal to 1",
        ("rebuild", "--lake", tmp_path / "typo"): "typo: no such lake",
        ("rebuild", "--lake", empty): "no day was published here",
        ("standings", "--lake", empty): "no standings are published here",
        ("standings", "--day", "2026-13-01"): "is no day",
        ("standings", "--day", THREE, "--digest"): "give one of --day, --player, --digest",
        ("standings", "--day", THREE, "--nation", "FR"): "give one of",
        ("standings", "--nation", "xx"): "--nation 'xx' is no nation",
        ("standings", "--month", "2026-13"): "--month '2026-13' is no month",
        ("standings", "--game", "chess"): "--game 'chess' is no game",
        ("standings", "--player", "nobody\x1b[2J"): r"player 'nobody\x1b[2J' has no game that counts",
        ("flags", "--lake", empty): "no day was published here",
        ("flags", "--day", "2026-01-01"): "2026-01-01 was not published here",
        ("flags", "--reason", "ugly"): "--reason 'ugly' is no reason, it must be one of score_mismatch",
        ("verify", tmp_path / "none.ndjson"): "none.ndjson: no such file",
        ("verify", tmp_path): "is no file but a folder or a pipe",
        ("verify", logs, logs): "is given twice",
        ("verify", logs, "--threads", "-1"): "REPLAY_THREADS is -1",
        ("simulate", "--day", "2031-01-01", "--lake", tmp_path / "sim"): "no blocks challenge for 2031-01-01",
        ("simulate", "--day", "9999-12-31", "--days", "9", "--lake", tmp_path / "sim"): "beyond the year 9999",
        ("simulate", "--day", THREE, "--forged", "0.7", "--lake", tmp_path / "sim"): "forged_share is 0.7",
        ("simulate", "--day", THREE, "--games", "9"): "files have landed here already",
        ("demo", "--lake", lake): "is there already, give another folder with --lake or --fresh",
        ("demo", "--lake", lake, "--fresh"): "was not made by a demo",
        ("demo", "--lake", tmp_path / "new", "--day", "soon"): "is no day",
        ("simulate", "--day", TWO, "--lake", tmp_path / "sim", "--tetromino", "nan"): "tetromino was given the share nan",
        ("simulate", "--day", TWO, "--lake", tmp_path / "sim", "--tetcolor", "inf"): "tetcolor was given the share inf",
        ("calibrate", "--from", "soon"): "--from 'soon' is no day", ("calibrate", "--from", THREE, "--to", ""): "--to '' is no day",
        ("calibrate", bad): "no game of blocks 1.2.0 was found there",
        ("review", "--lake", tmp_path / "typo"): "typo: no such lake",
        ("release", "--list", "--lake", tmp_path / "typo"): "typo: no such lake",
        ("nightly", "--day", THREE, "--lake", ""): "the lake's name is empty",
        ("standings", "--lake", ""): "the lake's name is empty", ("review", "--lake", ""): "the lake's name is empty",
    }  # fmt: skip
    for words, expected in cases.items():
        code, out, err = run(*words, env=env)
        assert (code, out) == (2, ""), words
        assert expected in one_sentence(err), words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "empty", "rules"]
    assert (lake / "logs").is_dir()


def test_a_day_that_received_nothing_is_exit_1_unless_allowed(run, kinds, tmp_path):
    _, env = kinds
    lake = tmp_path / "lake"
    land(lake, TWO, "a.part", [])
    words = ("nightly", "--day", TWO, "--lake", lake)
    code, out, err = run(*words, env=env)
    assert (code, out) == (1, "")
    assert "no log file was received for 2026-10-30 (1 files of no known kind were left alone); use" in one_sentence(err)
    code, out, _ = run(*words, "--allow-empty", "--json", env=env)
    assert (code, objects(out)[0]["records"]) == (0, 0)
    land(lake, ONE, "a.ndjson", [b"{", b"["])
    code, out, err = run("nightly", "--day", ONE, "--lake", lake, env=env)
    assert code == 1
    assert "quarantined" in out
    assert "none of 2 records could be read, look at the quarantine" in one_sentence(err)
    with Lake(lake).lock():
        code, _, err = run(*words, "--allow-empty", env=env)
    assert code == 1
    assert "another night is writing to this lake" in one_sentence(err)


def test_the_night_and_what_it_prints(run, kinds):
    lake, env = kinds
    code, out, err = run("nightly", "--day", THREE, "--json", env=env)
    assert (code, err) == (0, "")
    published = json.loads((lake / "runs" / f"day={THREE}" / "run.json").read_text())
    assert objects(out) == [{**published, "restated_days": [], "problems": []}]
    code, out, err = run("nightly", "--day", THREE, "--shard-games", "3", "--threads", "1", env=env)
    assert (code, err) == (0, "")
    for words in ("Night of 2026-10-31", "records received", "Flags by reason", "Quarantined by reason", "Suspicions"):
        assert words in out
    assert r"left\x1b]0;x" in out
    assert [row for row in out.splitlines() if "replay " in row] == [
        f"  replay flags --day {THREE} --lake {lake}", f"  replay standings --lake {lake}"
    ]  # fmt: skip


def test_rebuild(run, kinds):
    lake, env = kinds
    code, out, _ = run("rebuild", "--json", env=env)
    assert code == 0
    assert objects(out)[0]["warehouse"] == warehouse(lake).name
    assert objects(out)[0]["rows"]["publication"] == 1
    code, out, _ = run("rebuild", env=env)
    assert code == 0
    assert f"Rebuilt {warehouse(lake).name}\n" in out


def test_standings_in_every_way(run, kinds):
    lake, env = kinds
    boards = {
        (): "blocks, world, all time", ("--nation", "FR"): "blocks, FR, all time",
        ("--month", "2026-10"): "blocks, world, 2026-10", ("--nation", "FR", "--month", "2026-10"): "blocks, FR, 2026-10",
    }  # fmt: skip
    for words, title in boards.items():
        code, out, err = run("standings", *words, env=env)
        assert (code, err) == (0, "")
        assert out.startswith(title + "\n")
        assert "As of 2026-10-31; provisional until 2026-11-04; rules 1.2.0" in out, "D10: as-of and status stand under a board"
        code, out, _ = run("standings", *words, "--json", env=env)
        rows = objects(out)
        assert [row["ordinal"] for row in rows] == list(range(1, len(rows) + 1))
        assert set(rows[0]) == {"ordinal", "position", "player_id", "player_nation", "total", "challenges", "reached_at"}
    assert run("standings", "--nation", "DE", env=env)[:2] == (0, "blocks, DE, all time: nobody yet\n")
    assert run("standings", "--game", "tetcolor", "--json", env=env)[:2] == (0, "")
    first = objects(run("standings", "--json", "--limit", "2", env=env)[1])
    second = objects(run("standings", "--json", "--limit", "2", "--offset", "2", env=env)[1])
    assert [row["ordinal"] for row in first + second] == [1, 2, 3, 4]
    code, out, _ = run("standings", "--day", THREE, env=env)
    assert (code, out.count("Diamond")) == (0, 1)
    assert "provisional until 2026-11-04" in out
    day = objects(run("standings", "--day", THREE, "--json", env=env)[1])
    assert day[0]["position"] == 1
    assert {row["tier"] for row in day} >= {"Diamond", "Bronze"}
    assert run("standings", "--day", "2020-01-01", env=env)[:2] == (0, "blocks, challenge of 2020-01-01: nobody yet\n")
    assert "weekly digest" in run("standings", "--digest", env=env)[1]
    code, out, _ = run("standings", "--player", day[0]["player_id"], env=env)
    assert code == 0
    assert ": leaderboards\n" in out
    assert ": challenges\n" in out
    assert objects(run("standings", "--player", "p-fine", "--json", env=env)[1])[0]["days"][0]["status"] == "provisional"
    assert lake


def test_flags_lists_reasons(run, kinds):
    _, env = kinds
    code, out, err = run("flags", "--json", "--limit", "100", env=env)
    assert (code, err) == (0, "")
    rows = objects(out)
    assert {reason["code"] for row in rows for reason in row["reasons"]} == {
        *REASONS, "duplicate_attempt", "conflicting_upload", "truncated_log"
    }  # fmt: skip
    assert all(row["day"] == str(THREE) for row in rows)
    code, out, _ = run("flags", "--limit", "100", env=env)
    assert code == 0
    for code_ in REASONS:
        assert code_ in out
    assert "score_mismatch: 7 claimed, " in out
    assert " found, from move " in out
    assert out.rstrip().endswith(f"replay game GAME --lake {env['REPLAY_LAKE']}")
    found = objects(run("flags", "--reason", "attempt_limit", "--json", env=env)[1])
    assert [row["game_id"] for row in found] == ["attempt_limit"]
    assert run("flags", "--player", "nobody", env=env)[:2] == (0, "Flagged games: none\n")
    assert run("flags", "--day", THREE, "--player", "p-lost", "--json", env=env)[1].count("\n") == 1


def test_verify_in_the_inputs_order(run, kinds, tmp_path):
    lake, env = kinds
    files = sorted((lake / "logs" / f"day={THREE}").glob("*.[np]*"), reverse=True)
    code, out, err = run("verify", *files, "--json", env=env)
    assert (code, err) == (1, "")
    rows = objects(out)
    assert [Path(row["source"]["file"]) for row in rows] == sorted((Path(row["source"]["file"]) for row in rows), reverse=True)
    for path in files:
        lines = [row["source"]["line"] for row in rows if row["source"]["file"] == str(path)]
        assert lines == list(range(1, len(lines) + 1))
    published = {(r["source_file"], r["source_line"]): (r["game_id"], r["verdict"], r["reasons"]) for r in verdict_rows(lake)}
    for row in rows:
        assert list(row)[:9] == [
            "game_id", "verdict", "reasons", "suspicions", "claimed", "replayed", "fault", "rules", "challenge"
        ]  # fmt: skip
        key = (Path(row["source"]["file"]).name, row["source"]["line"])
        if row["verdict"] != "quarantined":
            assert (row["game_id"], row["verdict"], json.dumps(row["reasons"])) == published[key]
    code, out, _ = run("verify", *files, env=env)
    assert code == 1
    assert out.splitlines()[-1] == "25 records: 2 copy, 15 flagged, 3 quarantined, 5 verified"
    assert len(out.splitlines()) == 26
    fine = tmp_path / "fine.ndjson"
    fine.write_bytes(line(upload("g", "p", seed=5, tokens=400)))
    assert run("verify", fine, env=env)[:2] == (0, "verified    g\n1 record: 1 verified\n")
    fine.write_bytes(line(upload("g", "p")) + b"\n{")
    assert run("verify", fine, "--json", env=env)[0] == 2
    fine.write_bytes(b"")
    assert run("verify", fine, env=env)[:2] == (0, "no records\n")
    assert run("verify", fine, "--json", env=env)[:2] == (0, "")


def test_simulate_and_demo(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("simulate", "--lake", tmp_path / "sim", "--day", ONE, "--days", "2", "--games", "40", "--json")
    assert (code, objects(out)[0]["records"], len(list((tmp_path / "sim" / "logs").iterdir()))) == (0, 100, 2)
    assert sum(objects(out)[0]["kinds"].values()) == 100
    games = {game: sum(kinds.values()) for game, kinds in objects(out)[0]["games"].items()}
    assert games == {"blocks": 80, "tetromino": 12, "tetcolor": 8}
    alone = ("--day", ONE, "--games", "40", "--tetromino", "0", "--tetcolor", "0", "--json")
    assert set(objects(run("simulate", "--lake", tmp_path / "alone", *alone)[1])[0]["games"]) == {"blocks"}
    shares = ("--forged", "0.3", "--tetromino", "0.5", "--tetcolor", "0.5")
    words = ("demo", "--lake", tmp_path / "demo", "--days", "1", "--games", "60", *shares)
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    boards = (f"{game}, world, all time" for game in ("blocks", "tetromino", "tetcolor"))
    for part in ("Nights", "Flags by reason", *boards, "Against the truth", "none of", "Where to look next:"):
        assert part in out
    for row in out.splitlines():
        if row.startswith("  replay "):
            assert run(*shlex.split(row)[1:], *(["--limit", "1"] if "game" not in row else []))[0] in (0, 1), row
    Path("game.html").unlink()
    assert run(*words)[0] == 2
    # Who mistypes a new demo keeps the old one.
    for wrong in (("--day", "soon"), ("--day", "2031-01-01"), ("--forged", "3"), ("--tetromino", "nan")):
        assert run(*words, "--fresh", *wrong)[0] == 2
        assert (tmp_path / "demo" / "warehouse" / "CURRENT").is_file(), wrong
    assert run(*words, "--fresh")[0] == 0


def test_demo_that_finds_a_mistake_is_exit_1(run, tmp_path, monkeypatch):
    from replay import truth

    whole = truth.compare_with_truth

    def one_missed(lake):
        compared = whole(lake)
        compared.games["tetromino", "score_mismatch"] = (2, 1)
        compared.examples.append("2026-10-31 a:1 game g (score_mismatch): expected flagged, found verified")
        return compared

    monkeypatch.setattr(truth, "compare_with_truth", one_missed)
    code, out, _ = run("demo", "--lake", tmp_path / "demo", "--days", "1", "--games", "30")
    assert code == 1
    assert "WRONG: 1 uploads were not judged as the truth says" in out


def test_doctor(run, kinds):
    lake, env = kinds
    code, out, _ = run("doctor", "--json", env=env)
    assert (code, all(finding["fine"] for finding in objects(out)[0])) == (0, True)
    assert run("doctor", env=env)[0] == 0
    land(lake, THREE, "late.ndjson", [upload("late", "p")])
    code, out, _ = run("doctor", env=env)
    assert code == 1
    assert "WRONG" in out
    (lake / "logs" / f"day={THREE}" / "late.ndjson").unlink()
    assert run("doctor", "--lake", lake.parent / "none")[0] == 1
    assert run("doctor")[0] == 0


# --- Settings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("THREADS", "0", "input should be greater than or equal to 1"),
        ("THREADS", "two", "input should be a valid integer"),
        ("SHARD_GAMES", "-5", "input should be greater than or equal to 1"),
        ("AI_IN_PERCENTILE", "perhaps", "input should be a valid boolean"),
        ("MEMORY_LIMIT", "lots", "string should match pattern"),
        ("PACE_MIN_TOKENS", "1.5", "input should be a valid integer"),
        ("COPIED_MIN_CHOICES", "", "input should be a valid integer"),
        ("RULES", "/nowhere", "/nowhere: no rules file"),
        ("CHALLENGES", "/nowhere.csv", "/nowhere.csv: the challenge table cannot be read"),
        ("PLAYERS", "/nowhere.csv", "/nowhere.csv: the table cannot be read"),
        ("TIERS", "/nowhere.csv", "/nowhere.csv"),
    ],
)
def test_bad_settings_are_named(run, kinds, name, value, words):
    _, env = kinds
    code, out, err = run("nightly", "--day", THREE, env={**env, f"REPLAY_{name}": value})
    assert (code, out) == (2, "")
    assert words in one_sentence(err)
    if "nowhere" not in value:
        assert f"setting REPLAY_{name} is {value!r}: " in err


def test_settings_come_from_the_environment_and_an_option_wins(run, kinds, tmp_path):
    _, env = kinds
    lake = tmp_path / "lake"
    fast = upload("fast", "p1", tokens=40)
    ai = upload("ai", "p2", player_kind="ai", seed=2, tokens=45)
    land(lake, THREE, "a.ndjson", [fast, ai])
    words = ("nightly", "--day", THREE, "--lake", lake, "--json")
    assert objects(run(*words, env=env)[1])[0]["suspicions"] == {"unfinished": 2}
    quick = {**env, "REPLAY_PACE_MIN_MS_PER_TOKEN": "100000", "REPLAY_PACE_MIN_TOKENS": "41"}
    assert objects(run(*words, env=quick)[1])[0]["suspicions"] == {"unfinished": 2}
    # An AI player has no hands.
    quick["REPLAY_PACE_MIN_TOKENS"] = "40"
    assert objects(run(*words, env=quick)[1])[0]["suspicions"] == {"superhuman_pace": 1, "unfinished": 2}
    assert run("standings", "--lake", lake, "--day", THREE, "--json")[1].count("\n") == 2
    run(*words, env={**env, "REPLAY_AI_IN_PERCENTILE": "no"})
    assert [row["player_id"] for row in objects(run("standings", "--lake", lake, "--day", THREE, "--json")[1])] == ["p1"]
    removed = write_players(tmp_path / "players.csv", ("p1", "removed", ""))
    run(*words, env={**env, "REPLAY_PLAYERS": removed})
    assert run("standings", "--lake", lake, "--json")[1] == ""
    run(*words, "--players", write_players(tmp_path / "none.csv"), env={**env, "REPLAY_PLAYERS": removed})
    assert run("standings", "--lake", lake, "--json")[1] != ""
    other = write_challenges(tmp_path / "other.csv", TWO, 1)
    # A published day that loses all its verified games is published so only when somebody says so.
    flagged = objects(run(*words, "--challenges", other, "--allow-empty", env=env)[1])[0]["reasons"]
    assert flagged == {"unknown_challenge": 2}
    logs = lake / "logs" / f"day={THREE}" / "a.ndjson"
    assert run("verify", logs, env={"REPLAY_CHALLENGES": other})[0] == 1
    assert run("verify", logs, "--challenges", env["REPLAY_CHALLENGES"], env={"REPLAY_CHALLENGES": other})[0] == 0
    assert run("game", logs, "--pick", "ai", "--json", env={"REPLAY_CHALLENGES": other})[0] == 1
    assert run("game", logs, "--pick", "ai", "--json", env=env)[0] == 0


# --- What a player's text can do -----------------------------------------------------------------------------------------


def harmless(text: str) -> bool:
    """No control character but a line feed, no mark that turns the direction of what follows, nothing invisible."""
    isolates = "\u2068\u2069"
    return all(char in "\n" + isolates or char == " " or unicodedata.category(char)[0] not in "CZ" for char in text)


def test_texts_of_players_and_names_of_files_do_not_act(run, kinds, tmp_path):
    """D8, on the terminal: ids, modes, versions, boards, logs and file names that hold escapes and direction marks."""
    lake, env = kinds
    logs = sorted((lake / "logs" / f"day={THREE}").iterdir())
    names = [path for path in logs if path.suffix != ".txt"]
    for words in (
        ("nightly", "--day", THREE), ("flags", "--limit", "99"), ("standings", "--limit", "99"), ("standings", "--day", THREE),
        ("standings", "--player", EVIL + "p"), ("verify", *names), ("game", "strange"), ("game", "evil"), ("game", "named"),
        ("game", "mode"), ("game", EVIL), ("game", EVIL + "?"), ("standings", "--player", EVIL + "?"), ("doctor",),
        ("flags", "--limit", "99", "--json"), ("verify", *names, "--json"), ("game", "strange", "--json"),
        ("standings", "--player", EVIL + "p", "--json"), ("nightly", "--day", THREE, "--json"),
        ("verify", str(names[-1]) + "\x1b[2J"), ("game", names[2]), ("game", names[2], "--pick", EVIL),
        ("game", names[2], "--pick", EVIL + "?"), ("game", "strange", "--html", tmp_path / "page.html"),
        ("nightly", "--day", THREE, "--challenges", tmp_path / "none\u202e\x1b.csv"), ("demo", "--lake", logs[0]),
    ):  # fmt: skip
        code, out, err = run(*words, env=env)
        assert code in (0, 1, 2)
        assert harmless(out), (words, ascii(out))
        assert harmless(err), (words, ascii(err))
        assert out or err
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page)


def test_on_a_real_terminal(kinds):
    """The same on a terminal of 80 columns: colours are ours, no escape of a player gets through, no line is too long."""
    lake, env = kinds
    for words in (["standings"], ["standings", "--day", THREE], ["flags", "--limit", "99"], ["game", "strange"]):
        terminal, ours = pty.openpty()
        done = subprocess.Popen(
            [sys.executable, "-m", "replay", *map(str, words)], stdout=ours, stderr=ours, stdin=subprocess.DEVNULL, cwd=ROOT,
            env={**os.environ, **env, "COLUMNS": "80", "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(ours)
        data = b""
        while True:
            try:
                piece = os.read(terminal, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            data += piece
        done.wait(timeout=60)
        os.close(terminal)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", data.decode("utf-8")).replace("\r\n", "\n")
        assert harmless(plain), ascii(plain)
        # A command to copy is never folded, however long the lake's own path is.
        lines = [line for line in plain.split("\n") if str(lake) not in line]
        assert max(map(len, lines)) <= 80 + 2 * plain.count("\u2068")
        assert len(plain) > 200


# --- Pipes and processes -------------------------------------------------------------------------------------------------


def test_a_reader_that_goes_away_is_no_error(kinds):
    lake, env = kinds
    logs = " ".join(shlex.quote(str(path)) for path in sorted((lake / "logs" / f"day={THREE}").glob("[abc].*")))
    for words in ("flags --json --limit 99", "standings", f"verify --json {logs}", f"verify {logs}"):
        script = f"{{ {shlex.quote(sys.executable)} -m replay {words}; echo $? >&3; }} | true"
        with subprocess.Popen(
            ["bash", "-c", f"exec 3>&2; {script}"], stderr=subprocess.PIPE, cwd=ROOT, env={**os.environ, **env}
        ) as done:
            _, err = done.communicate(timeout=60)
        assert err == b"0\n", words


def test_closed_streams_are_no_error(kinds):
    _, env = kinds
    for words, code in (("standings", 0), ("standings --json", 0), ("flags", 0), ("--help", 0), ("standings --game chess", 2)):
        script = f"{shlex.quote(sys.executable)} -m replay {words}"
        said = subprocess.run(["bash", "-c", f"{script} >&-"], stderr=subprocess.PIPE, cwd=ROOT, env={**os.environ, **env}, check=False)
        assert said.returncode == code, words
        assert said.stderr.count(b"\n") == (1 if code else 0), words
        mute = subprocess.run(["bash", "-c", f"{script} >&- 2>&-"], cwd=ROOT, env={**os.environ, **env}, check=False)
        assert mute.returncode == code, words


def test_the_machines_own_errors_are_sentences(run, kinds, tmp_path):
    """A folder where a file should be, a file where a folder should be: exit 2 and the system's words."""
    _, env = kinds
    lake = tmp_path / "lake"
    land(lake, THREE, "a.ndjson", [upload("g", "p")])
    (lake / "verdicts").write_text("in the way")
    code, _, err = run("nightly", "--day", THREE, "--lake", lake, env=env)
    assert code == 2
    assert "verdicts" in one_sentence(err)
    (lake / "verdicts").unlink()
    night(lake, challenges=Path(env["REPLAY_CHALLENGES"]))
    (lake / "warehouse" / "CURRENT").write_text("../../etc\n")
    code, _, err = run("standings", "--lake", lake)
    assert code == 2
    assert "no such warehouse" in one_sentence(err)
    # What is there and cannot be read is not called missing: nobody is sent to make it again.
    for path, words in (
        (lake / "warehouse" / "CURRENT", ("standings",)), (lake / "runs" / f"day={THREE}" / "run.json", ("release", "--list")),
    ):  # fmt: skip
        path.unlink()
        path.mkdir()
        code, _, err = run(*words, "--lake", lake)
        assert (code, f"{path.name}: cannot be read (Is a directory)" in one_sentence(err)) == (2, True), err


def test_python_m_replay():
    done = subprocess.run([sys.executable, "-m", "replay", "-h"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in COMMANDS)
