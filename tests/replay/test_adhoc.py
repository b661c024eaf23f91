"""``replay verify``: files without a lake, a verdict a line in the order of the input."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay import cli
from replay.adhoc import verify_files
from replay.errors import InputError
from replay.present import short_reason
from replay.record import Record
from replay.verdict import judge
from replay.verify import Verifier
from tests.replay.build import CAREFUL, as_line, as_object, line
from tests.replay.games import GAME, RULEBOOK, SCORE, TABLE, TOKENS, play, record
from tests.replay.test_record import BAD

VERIFIER = Verifier(RULEBOOK, TABLE)
HONEST = record(TOKENS, GAME)


def games(count: int, **changes: Any) -> list[Record]:
    """Honest games of as many players."""
    return [replace(HONEST, game_id=f"g-{i}", player_id=f"p-{i}", **changes) for i in range(1, count + 1)]


def write(path: Path, lines: list[Record | bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join((text if isinstance(text, bytes) else as_line(text)) + b"\n" for text in lines)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def verify(*paths: Path, verifier: Verifier = VERIFIER, threads: int = 1) -> list[dict[str, Any]]:
    return list(verify_files(paths, verifier, threads))


def place(found: dict[str, Any]) -> tuple[str, int]:
    return Path(found["source"]["file"]).name, found["source"]["line"]


# --- Order ------------------------------------------------------------------------------------------------------------


def test_each_line_has_its_object_in_its_place(tmp_path: Path) -> None:
    first, second, third = games(3)
    path = write(
        tmp_path / "a.ndjson", [b"{", first, b"", replace(second, score=1), b"[]", third, replace(third, mode="x"), b"nothing"]
    )
    found = verify(path)
    assert [(f["verdict"], *place(f)) for f in found] == [
        ("quarantined", "a.ndjson", 1), ("verified", "a.ndjson", 2), ("flagged", "a.ndjson", 4), ("quarantined", "a.ndjson", 5),
        ("verified", "a.ndjson", 6), ("quarantined", "a.ndjson", 7), ("quarantined", "a.ndjson", 8),
    ]  # fmt: skip
    assert [f["game_id"] for f in found] == [None, "g-1", "g-2", None, "g-3", "g-3", None]
    assert [f["reasons"][0]["code"] for f in found if f["reasons"]] == ["json", "score_mismatch", "json", "wrong_value", "json"]


def test_the_object_is_the_one_of_a_single_game(tmp_path: Path) -> None:
    records = [
        HONEST, replace(HONEST, game_id="a", attempt=2, score=SCORE + 10),
        replace(HONEST, game_id="b", attempt=3, moves=HONEST.moves + " zz"),
        replace(HONEST, game_id="c", player_id="x", rules="9.9.9"), replace(HONEST, game_id="d", player_id="y", rules="1.1.0"),
    ]  # fmt: skip
    found = verify(write(tmp_path / "a.ndjson", records))
    for number, (printed, game) in enumerate(zip(found, records, strict=True), start=1):
        alone = judge(game, RULEBOOK, TABLE).as_json()
        if game.player_id == "y":
            alone["suspicions"] = ["copied_log", *alone["suspicions"]]
            alone["evidence"] |= {"copied_log": {"first_game": "a", "players": 2, "choices": 30}}
        assert printed == alone | {"source": {"file": str(tmp_path / "a.ndjson"), "line": number}}
        assert list(printed)[:9] == list(alone)[:9]


def test_files_keep_the_order_in_which_they_were_given(tmp_path: Path) -> None:
    """Also where folders hold files of one name, and where the last is empty."""
    one, two, three, four = games(4)
    paths = [
        write(tmp_path / "z" / "a.ndjson", [one, b"{"]), write(tmp_path / "a" / "a.ndjson", [b"{", two, b"{"]),
        write(tmp_path / "m" / "a.ndjson.gz", [three]), write(tmp_path / "empty.ndjson", []), tmp_path / "b" / "a.parquet",
    ]  # fmt: skip
    paths[-1].parent.mkdir()
    pq.write_table(pa.Table.from_pylist([as_object(four) | {"score": 1}, as_object(four) | {"game": "x"}]), paths[-1])
    for order in (paths, paths[::-1], paths[2:] + paths[:2]):
        found = verify(*order, threads=2)
        expected = [
            (str(path), number)
            for path in order
            for number in range(1, {"z": 3, "a": 4, "m": 2, "b": 3}.get(path.parent.name, 1))
        ]
        assert [(f["source"]["file"], f["source"]["line"]) for f in found] == expected
        assert [f["verdict"] for f in found if f["game_id"] == "g-1"] == ["verified"]
    (row,) = [f for f in verify(*paths) if f["game_id"] == "g-4" and f["verdict"] == "quarantined"]
    assert row["reasons"][0]["found"].startswith("field game is 'x'")


def test_long_files_in_many_batches_keep_their_order(tmp_path: Path) -> None:
    lines: list[Record | bytes] = []
    for number, game in enumerate(games(9000)):
        lines.append(b"{" if number % 1000 == 7 else game)
    found = verify(write(tmp_path / "a.ndjson", lines), threads=2)
    assert [f["source"]["line"] for f in found] == list(range(1, 9001))
    assert [f["source"]["line"] for f in found if f["verdict"] == "quarantined"] == list(range(8, 9001, 1000))


def test_every_bad_line_is_named_with_file_line_and_reason(tmp_path: Path) -> None:
    """E3, E4 through all of it: as many objects as records, each bad line in its place."""
    bad = {name: cells for name, cells in BAD.items() if len(cells[0]) < 3000}
    lines: list[Record | bytes] = []
    for text, _, _ in bad.values():
        lines += [line(CAREFUL if len(lines) % 4 else "", challenge="training-7", mode="training"), text]
    found = verify(write(tmp_path / "a.ndjson", lines))
    assert len(found) == len(lines)
    assert [f["source"]["line"] for f in found] == list(range(1, len(lines) + 1))
    for printed, (name, (_, code, part)) in zip(found[1::2], bad.items(), strict=True):
        assert (printed["verdict"], printed["reasons"][0]["code"]) == ("quarantined", code), name
        assert part in printed["reasons"][0]["found"], name
    assert {printed["verdict"] for printed in found[::2]} <= {"flagged", "copy"}


# --- Relations among the given files ----------------------------------------------------------------------------------


def test_copies_and_conflicts_are_found_across_files(tmp_path: Path) -> None:
    """B7, in any order of the files."""
    other = record(*play(2, 60))
    one = write(tmp_path / "one.ndjson", [HONEST, HONEST])
    two = write(tmp_path / "two.ndjson", [replace(HONEST, game_id="g-2", uploaded_at=HONEST.uploaded_at + 1)])
    three = write(tmp_path / "three.ndjson", [replace(other, game_id="g-3", uploaded_at=HONEST.uploaded_at + 2)])
    for order in ([one, two, three], [three, two, one], [two, three, one]):
        found = {place(f): f for f in verify(*order)}
        assert {at: f["verdict"] for at, f in found.items()} == {
            ("one.ndjson", 1): "verified", ("one.ndjson", 2): "copy", ("two.ndjson", 1): "copy", ("three.ndjson", 1): "flagged",
        }  # fmt: skip
        assert found["two.ndjson", 1]["copy_of"] == found["one.ndjson", 2]["copy_of"] == "g-1"
        assert "copy_of" not in found["one.ndjson", 1]
        assert [reason["code"] for reason in found["three.ndjson", 1]["reasons"]] == ["duplicate_attempt"]


# --- Files that cannot be read ----------------------------------------------------------------------------------------


def test_files_that_cannot_be_verified_are_named(tmp_path: Path) -> None:
    good = write(tmp_path / "a.ndjson", [HONEST])
    with pytest.raises(InputError, match=r"gone\.ndjson: no such file"):
        verify(good, tmp_path / "gone.ndjson")
    with pytest.raises(InputError, match="is no file but a folder or a pipe"):
        verify(tmp_path)
    for again in (good, tmp_path / "x" / ".." / "a.ndjson", tmp_path / "link.ndjson"):
        (tmp_path / "x").mkdir(exist_ok=True)
        if again.name == "link.ndjson":
            again.symlink_to(good)
        with pytest.raises(InputError, match="is given twice"):
            verify(good, again)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.ndjson"))
    write(odd, [HONEST])
    with pytest.raises(InputError, match=r"'.*caf\\udce9\.ndjson': the name of this file is not UTF-8"):
        verify(odd)
    (tmp_path / "b.parquet").write_bytes(b"none")
    (lost,) = verify(tmp_path / "b.parquet")
    assert lost["verdict"] == "quarantined"
    assert "b.parquet: cannot be read as Parquet" in lost["reasons"][0]["found"]


def test_a_name_with_an_unknown_ending_is_read_as_lines(tmp_path: Path) -> None:
    for name in ("games.json", "games", "games.NDJSON", "it's \u00e9 [1]*.txt"):
        assert [f["verdict"] for f in verify(write(tmp_path / name, [HONEST]))] == ["verified"]


def test_nothing_at_all(tmp_path: Path) -> None:
    assert verify() == []
    assert verify(write(tmp_path / "a.ndjson", []), write(tmp_path / "b.ndjson.gz", [])) == []


def test_an_anonymised_player_is_shown_nowhere(tmp_path: Path) -> None:
    """D9"""
    verifier = Verifier(RULEBOOK, TABLE, anonymised={"p-1": "anonymous"})
    one, two = games(2)
    copied = replace(two, moves=" " + two.moves, uploaded_at=two.uploaded_at + 9)
    found = verify(write(tmp_path / "a.ndjson", [one, copied, replace(one, game_id="p", mode="x")]), verifier=verifier)
    assert "p-1" not in json.dumps(found)


# --- The command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "challenges.csv"
    path.write_text("game,challenge,mode,rules,rng_seed,start_board,pieces\nblocks,2026-10-31,daily,1.2.0,1234567,,\n")
    return path


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object, stdin: bytes = b""
) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of ``replay verify`` with these words."""
    monkeypatch.setattr(sys, "argv", ["replay", "verify", *map(str, words)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    code = stopped.value.code
    return int(code or 0), *capsys.readouterr()


def test_exit_codes(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """0 all fine, 1 something was flagged, 2 something could not be read; a flag is the louder of the two."""
    fine, copied = write(tmp_path / "fine", games(2)), write(tmp_path / "copied", [HONEST, HONEST])
    flagged, bad = write(tmp_path / "flagged", [replace(HONEST, score=1)]), write(tmp_path / "bad", [b"{"])
    other = write(tmp_path / "other", [replace(HONEST, game_id="other", player_id="other")])
    empty = write(tmp_path / "empty", [])
    for words, code in (
        ([fine], 0), ([copied], 0), ([empty], 0), ([flagged], 1), ([bad], 2), ([other, bad], 2), ([flagged, bad], 1),
        ([bad, flagged], 1),
        ([tmp_path / "gone"], 2), ([fine, fine], 2), ([fine, "--threads", 0], 2), ([fine, "--challenges", tmp_path / "gone"], 2),
    ):  # fmt: skip
        options = [] if "--challenges" in words else ["--challenges", table]
        found, out, err = run(monkeypatch, capsys, *words, *options)
        assert found == code, (words, out, err)
        assert ("Traceback" in out + err) is False
        if code == 2 and words[0] != bad and words[-1] != bad:
            assert err.startswith(("replay: ", "Usage"))
            assert out == ""


def test_standard_input_and_json(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, three = games(3)
    data = b"\xef\xbb\xbf" + b"\r\n".join([as_line(one), b"{", as_line(replace(two, score=1)), b""])
    path = write(tmp_path / "more.ndjson", [three])
    code, out, err = run(monkeypatch, capsys, path, "-", "--json", "--challenges", table, stdin=data)
    printed = [json.loads(text) for text in out.splitlines()]
    assert (code, err) == (1, "")
    assert [(p["source"]["file"], p["source"]["line"], p["verdict"]) for p in printed] == [
        (str(path), 1, "verified"), ("-", 1, "verified"), ("-", 2, "quarantined"), ("-", 3, "flagged"),
    ]  # fmt: skip
    assert run(monkeypatch, capsys, path, "-", "--json", "--challenges", table, stdin=data)[1] == out
    code, out, err = run(monkeypatch, capsys, "-", "-", "--challenges", table, stdin=data)
    assert (code, out) == (2, "")
    assert "given twice" in err
    assert run(monkeypatch, capsys, "-", "--json", "--challenges", table)[:2] == (0, "")


def test_lines_for_people(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, three = games(3)
    nasty = "\x1b[2J\u202eevil\n"
    path = write(
        tmp_path / "a.ndjson",
        [one, one, replace(two, score=SCORE + 1), b"{", replace(three, game_id=nasty, uploaded_at=three.uploaded_at + 9)],
    )
    code, out, _ = run(monkeypatch, capsys, path, "--challenges", table)
    lines = out.splitlines()
    assert code == 1
    assert len(lines) == 6
    assert lines[0].split() == ["verified", "g-1", "(unfinished)"]
    assert lines[1].startswith(f"{'copy':<12}g-1  of g-1")
    assert lines[2].startswith(f"{'flagged':<12}g-2  score_mismatch: {SCORE + 1:,} claimed, {SCORE:,}")
    assert lines[3].startswith(f"{'quarantined':<12}line 4  json: not JSON")
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert lines[5] == "5 records: 1 copy, 1 flagged, 1 quarantined, 2 verified"


def test_json_is_ascii_whatever_players_are_called(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """D8: exact, and no text of a player acts on the terminal."""
    names = ["\x1b[2J", "\u202e", '=HYPERLINK("x")', "\x00", "a\nb", "\U0001f600"]
    records = [replace(HONEST, game_id=name, player_id=name) for name in names]
    _, out, _ = run(monkeypatch, capsys, write(tmp_path / "a", records), "--json", "--challenges", table)
    assert out.isascii()
    assert "\x1b" not in out
    assert [json.loads(text)["game_id"] for text in out.splitlines()] == names


@pytest.mark.parametrize(("code", "claimed", "found", "move", "text"), [
    ("score_mismatch", 1200, 980, 11, "score_mismatch: 1,200 claimed, 980 found, from move 12"),
    ("json", None, "not JSON", None, "json: not JSON"),
    ("attempt_limit", 4, "attempts are 1 to 3", None, "attempt_limit: 4 claimed, attempts are 1 to 3"),
    ("illegal_move", "1z9", "bad_token: no such token", 0, "illegal_move: bad_token: no such token, from move 1"),
])  # fmt: skip
def test_reasons_in_a_few_words(code: str, claimed: Any, found: Any, move: int | None, text: str) -> None:
    assert short_reason({"code": code, "claimed": claimed, "found": found, "move": move}) == text
