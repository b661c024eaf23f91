"""A disputed game as one file: equal bytes everywhere, the same verdict elsewhere, and no byte of it can be changed unnoticed."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from dataclasses import replace

import pytest

from replay.bundle import MANIFEST, canonical, check_bundle, make_bundle
from replay.bundle import _zip as zip_of
from replay.challenges import Challenge
from replay.errors import InputError
from replay.record import count_tokens
from replay.rulebook import BUILT_IN, load_rulebook
from replay.trace import Dispute
from replay.verdict import Reason, judge
from tests.replay.games import RULEBOOK, TABLE, play, record
from tests.replay.night_support import THREE, cli, land, night, upload, write_challenges, write_players

RULES = (BUILT_IN / "blocks" / "1.2.0.toml").read_bytes()
SOURCE = {"day": "2026-10-31", "file": "europe-ios.ndjson", "line": 7}


def dispute_of(uploaded, **changes) -> Dispute:
    uploaded = replace(uploaded, **changes)
    verdict = judge(uploaded, RULEBOOK, TABLE)
    return Dispute(uploaded, verdict, RULEBOOK.find(uploaded.game, uploaded.rules), TABLE.find(uploaded.game, uploaded.challenge))


def honest():
    return record(*play(3, 20))


def written(tmp_path, dispute, rules=RULES, source=SOURCE):
    data, sha256 = make_bundle(dispute, rules if dispute.rules else None, source)
    path = tmp_path / "game.zip"
    path.write_bytes(data)
    return path, data, sha256


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def differences(path) -> tuple[str, ...]:
    """What a check says: its differences, or the one sentence with which it refuses the file."""
    try:
        return check_bundle(path, RULEBOOK).differences
    except InputError as error:
        return (str(error),)


def sealed(members: dict[str, bytes]) -> bytes:
    """A bundle with a manifest that fits: what somebody makes who forges all of it."""
    import hashlib

    held = {name: data for name, data in sorted(members.items()) if name != MANIFEST}
    manifest = canonical({name: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for name, d in held.items()})
    return zip_of({MANIFEST: manifest, **held})


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "verified"),
        ({"score": 1}, "flagged"),
        ({"best_combo": 5, "final_board": "8/8/8/8/8/8/8/8"}, "flagged"),
        ({"moves": "1a1 ?"}, "flagged"),
        ({"moves": ""}, "flagged"),
        ({"rules": "9.9.9"}, "flagged"),
        ({"rules": "../../1.2.0"}, "flagged"),
        ({"challenge": "nowhere"}, "flagged"),
        ({"player_id": "\u202e<script>", "game_id": '=HYPERLINK("x")'}, "verified"),
    ],
)
def test_a_bundle_gives_the_same_verdict_and_hash_elsewhere(tmp_path, changes, verdict):
    dispute = dispute_of(honest(), **changes)
    path, data, sha256 = written(tmp_path, dispute)
    assert dispute.verdict.verdict == verdict
    assert make_bundle(dispute, RULES if dispute.rules else None, SOURCE) == (data, sha256)
    # A machine that has no rules of its own derives it as well.
    for rulebook in (RULEBOOK, load_rulebook(lazy=True), replace(RULEBOOK, rules={}, hashes={})):
        found = check_bundle(path, rulebook, sha256)
        assert (found.differences, found.verdict, found.sha256) == ((), verdict, sha256), found


def test_a_bundle_holds_what_it_says(tmp_path):
    _, data, _ = written(tmp_path, dispute_of(honest(), score=7))
    members = members_of(data)
    assert set(members) == {MANIFEST, "record.json", "challenge.json", "rules.toml", "verdict.json", "trace.ndjson", "words.txt",
                            "versions.json", "source.json"}  # fmt: skip
    assert members["rules.toml"] == RULES
    assert json.loads(members["record.json"])["score"] == 7
    assert json.loads(members["verdict.json"])["reasons"][0]["code"] == "score_mismatch"
    assert json.loads(members["source.json"]) == SOURCE
    lines = members["trace.ndjson"].splitlines()
    # The start and every move.
    moves = count_tokens("blocks", honest().moves)
    assert len(lines) == 1 + moves
    assert json.loads(lines[-1])["move"] == moves
    assert b"7" in members["words.txt"]


def test_every_byte_that_is_altered_is_noticed(tmp_path):
    path, data, _ = written(tmp_path, dispute_of(honest(), score=7))
    rng = random.Random(1)
    # Every byte of the ZIP file's own structure, and some of every member.
    structure = set(range(len(data))) - {at for at in range(len(data)) if 200 < at < len(data) - 1200}
    for at in [*structure, *rng.sample(range(len(data)), 600)]:
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :])
        assert differences(path), f"byte {at} of {len(data)} was altered and nothing was noticed"
    for shorter in (data[:-1], data[: len(data) // 2], b"", data + b"\0", b"\0" + data):
        path.write_bytes(shorter)
        (problem, *_) = differences(path)
        assert "\n" not in problem


def test_who_forges_all_of_a_bundle_has_another_hash_or_another_verdict(tmp_path):
    path, data, sha256 = written(tmp_path, dispute_of(honest(), score=7))
    members = members_of(data)
    verdict = json.loads(members["verdict.json"])
    forged = {
        "the verdict": {"verdict.json": canonical({**verdict, "verdict": "verified", "reasons": []})},
        "a reason": {"verdict.json": canonical({**verdict, "reasons": [{**verdict["reasons"][0], "found": 8}]})},
        "the claim": {"record.json": canonical({**json.loads(members["record.json"]), "score": 9})},
        "the log": {"record.json": canonical({**json.loads(members["record.json"]), "moves": "1a1"})},
        "the rules": {"rules.toml": RULES.replace(b"cell = 4", b"cell = 5")},
        "the challenge": {"challenge.json": canonical({**json.loads(members["challenge.json"]), "rng_seed": 1})},
        "the trace": {"trace.ndjson": members["trace.ndjson"].replace(b'"score":', b'"score":1', 1)},
    }
    for what, changed in forged.items():
        path.write_bytes(sealed(members | changed))
        found = check_bundle(path, RULEBOOK)
        assert found.differences, what
        assert found.sha256 != sha256
    # Words and source follow from nothing: only the hash that was told shows the change.
    path.write_bytes(sealed(members | {"words.txt": b"You cheated.\n"}))
    assert check_bundle(path, RULEBOOK).differences == ()
    (problem,) = check_bundle(path, RULEBOOK, sha256).differences
    assert "was told" in problem


def test_reasons_of_other_uploads_are_told_apart(tmp_path):
    dispute = dispute_of(honest())
    reason = Reason("duplicate_attempt", 1, "another log of this attempt was uploaded before, as game g1", None)
    flagged = replace(dispute, verdict=replace(dispute.verdict, verdict="flagged", reasons=(reason,)))
    path, _, sha256 = written(tmp_path, flagged)
    found = check_bundle(path, RULEBOOK, sha256)
    assert found.differences == ()
    assert any("duplicate_attempt rests on other uploads" in note for note in found.notes)
    copied = replace(dispute, verdict=replace(dispute.verdict, verdict="copy", copy_of="g0"))
    path, _, sha256 = written(tmp_path, copied)
    assert check_bundle(path, RULEBOOK, sha256).differences == ()


def test_other_rules_on_this_machine_are_named_and_not_used(tmp_path):
    path, _, sha256 = written(tmp_path, dispute_of(honest(), score=7))
    other = replace(RULEBOOK, hashes={**RULEBOOK.hashes, ("blocks", "1.2.0"): "f" * 64})
    found = check_bundle(path, other, sha256)
    assert found.differences == ()
    assert any("another one; the bundle's own was used" in note for note in found.notes)


@pytest.mark.parametrize("changes", [
    {"record.json": b"[]\n"}, {"record.json": b"{}\n"}, {"record.json": b"\xff"}, {"challenge.json": b"{}\n"}, {"versions.json": b"3"},
    {"challenge.json": canonical({"game": "blocks", "challenge": "x", "mode": "daily", "rules": "1.2.0", "rng_seed": "1", "start_board": "", "pieces": ""})},
    {"rules.toml": b"game = 1"}, {"verdict.json": b"null"}, {"verdict.json": canonical({"reasons": 3})}, {"trace.ndjson": b""},
    {MANIFEST: b"[" * 200_000}, {"extra.txt": b"hello"},
])  # fmt: skip
def test_a_bundle_of_nonsense_is_one_sentence(tmp_path, changes):
    path, data, _ = written(tmp_path, dispute_of(honest(), score=7))
    members = members_of(data)
    path.write_bytes(zip_of(members | changes) if MANIFEST in changes else sealed(members | changes))
    found = differences(path)
    # One member too many is no damage when the manifest lists it.
    assert bool(found) != ("extra.txt" in changes), found
    assert not any("\n" in sentence for sentence in found)


def test_a_start_board_and_listed_pieces_travel_along(tmp_path):
    row = Challenge("blocks", "2026-10-31", "daily", "1.2.0", 0, "#####1##/######1#/#######1/###1####/####1###/##1#####/2######/#####3", "I3h O O O O O")
    rules = RULEBOOK.find("blocks", "1.2.0")
    table = replace(TABLE, rows={("blocks", "2026-10-31"): row})
    uploaded = replace(honest(), moves="1f82a7", score=588, best_combo=3, final_board="2###1##/2####1#/2#####1/2#1####/2##1###/3#####/8/8")
    verdict = judge(uploaded, RULEBOOK, table)
    assert verdict.verdict == "verified", verdict
    path, _, sha256 = written(tmp_path, Dispute(uploaded, verdict, rules, row))
    assert check_bundle(path, RULEBOOK, sha256).differences == ()


def test_the_command_says_what_differs(tmp_path):
    path, data, sha256 = written(tmp_path, dispute_of(honest(), score=7))
    fine = cli("check-bundle", path, "--sha256", sha256)
    assert fine.returncode == 0, fine.stderr
    assert "the same verdict comes out" in fine.stdout.decode()
    path.write_bytes(data.replace(b'"score":7', b'"score":8'))
    changed = cli("check-bundle", path)
    assert changed.returncode == 1
    assert "DIFFERS  'record.json' was changed" in changed.stdout.decode()
    machine = cli("check-bundle", path, "--json")
    assert json.loads(machine.stdout)["same"] is False
    for words, said in (
        ([tmp_path / "none.zip"], "cannot be read"),
        ([__file__], "cannot be read as a ZIP file"),
        ([path, "--sha256", "12"], "is no SHA-256"),
    ):
        refused = cli("check-bundle", *words)
        assert refused.returncode == 2
        assert said in refused.stderr.decode()
        assert refused.stderr.count(b"\n") == 1


def test_a_support_person_hands_over_a_published_game(tmp_path):
    lake = tmp_path / "lake"
    table = write_challenges(tmp_path / "challenges.csv")
    land(lake, THREE, "a.ndjson", [upload("g1", "p1"), upload("g2", "p2", seed=2, score=7)])
    night(lake, challenges=table)
    out = tmp_path / "g2.zip"
    made = cli("game", "g2", "--lake", lake, "--challenges", table, "--bundle", out)
    assert made.returncode == 1, made.stderr
    said = made.stdout.decode()
    told = re.search("SHA-256 ([0-9a-f]{64})", said)[1]
    assert f"replay check-bundle g2.zip --sha256 {told}" in said
    assert json.loads(members_of(out.read_bytes())["source.json"]) == {"day": "2026-10-31", "file": "a.ndjson", "line": 2}
    # Another machine: no lake, no challenge table of its own.
    checked = cli("check-bundle", out, "--sha256", told)
    assert checked.returncode == 0, checked.stdout
    again = cli("game", "g2", "--lake", lake, "--challenges", table, "--bundle", tmp_path / "again.zip", "--json")
    assert json.loads(again.stdout)["verdict"] == "flagged"
    assert (tmp_path / "again.zip").read_bytes() == out.read_bytes()
    refused = cli("game", "g2", "--lake", lake, "--challenges", table, "--bundle", tmp_path / "no" / "folder.zip")
    assert refused.returncode == 2
    assert "cannot be written" in refused.stderr.decode()


def test_an_anonymised_players_old_id_is_in_no_bundle(tmp_path):
    lake = tmp_path / "lake"
    table = write_challenges(tmp_path / "challenges.csv")
    land(lake, THREE, "a.ndjson", [upload("g1", "old-id-of-somebody")])
    night(lake, challenges=table)
    players = write_players(tmp_path / "players.csv", ("old-id-of-somebody", "anonymised", "anon-1"))
    out = tmp_path / "g1.zip"
    made = cli("game", "g1", "--lake", lake, "--challenges", table, "--players", players, "--bundle", out)
    assert made.returncode == 0, made.stderr
    assert b"old-id-of-somebody" not in out.read_bytes()
    assert b'"player_id":"anon-1"' in out.read_bytes()
    assert cli("check-bundle", out).returncode == 0


# --- What cannot be derived, and what is only almost the same ------------------------------------------------------------


def test_what_rests_on_others_is_named_and_the_rest_derived(tmp_path):
    path, data, _ = written(tmp_path, dispute_of(honest(), score=7))
    members = members_of(data)
    verdict = json.loads(members["verdict.json"])

    def checked(**changed):
        path.write_bytes(sealed(members | {"verdict.json": canonical({**verdict, **changed})}))
        return check_bundle(path, RULEBOOK)

    copied = checked(suspicions=["copied_log"])
    assert (copied.differences, len(copied.notes)) == ((), 1)
    assert "'copied_log'" in copied.notes[0]
    copy = checked(verdict="copy", copy_of="g0")
    assert copy.differences == ()
    assert any("copy rests on another upload" in note and "'g0'" in note for note in copy.notes)
    assert checked(suspicions=["unfinished"]).differences == ("unfinished: False is derived here, True stands in the bundle",)
    for almost in (
        {"reasons": [*verdict["reasons"], 3]}, {"claimed": {**verdict["claimed"], "score": 7.0}}, {"reasons": None},
        {"replayed": {**verdict["replayed"], "finished": 1}}, {"verdict": "withheld", "reasons": [{"code": ["score_mismatch"]}]},
    ):  # fmt: skip
        assert checked(**almost).differences, almost


def test_a_file_without_an_end_is_no_bundle(monkeypatch):
    from pathlib import Path

    monkeypatch.setattr("replay.bundle.MOST_BYTES", 1000)
    with pytest.raises(InputError, match="is larger than 1,000 bytes"):
        check_bundle(Path("/dev/zero"), RULEBOOK)


def test_no_bundle_is_written_that_does_not_prove_its_verdict(tmp_path):
    """Today's challenge has other pieces: words and numbers stay those of the night, and a bundle is refused."""
    lake, out = tmp_path / "lake", tmp_path / "out.zip"
    table = write_challenges(tmp_path / "challenges.csv")
    land(lake, THREE, "a.ndjson", [upload("g1", "p1"), upload("g2", "p2", seed=2, score=7)])
    night(lake, challenges=table)
    other = write_challenges(tmp_path / "other.csv")
    other.write_text(other.read_text().replace("1234567", "7654321"))
    for game_id, code in (("g1", 0), ("g2", 1)):
        before = cli("game", game_id, "--lake", lake, "--challenges", table, "--json")
        after = cli("game", game_id, "--lake", lake, "--challenges", other, "--json", "--html", tmp_path / "page.html")
        assert (before.returncode, after.returncode) == (code, code)
        assert json.loads(after.stdout) == json.loads(before.stdout)
        assert "Today&#39;s rules and challenges give" in (tmp_path / "page.html").read_text("utf-8")
        said = cli("game", game_id, "--lake", lake, "--challenges", other).stdout.decode()
        replayed = json.loads(before.stdout)["replayed"]
        assert f"{replayed['score']:,}" in said
        assert "0 moves give the score 0" not in said
        refused = cli("game", game_id, "--lake", lake, "--challenges", other, "--bundle", out, "--html", tmp_path / "none.html")
        assert refused.returncode == 2
        assert f"a bundle of game '{game_id}' would not prove" in refused.stderr.decode()
        assert not out.exists()
        assert not (tmp_path / "none.html").exists()


def test_rules_that_come_later_change_nothing_for_unknown_ones(tmp_path):
    """A game of unknown rules gives the same verdict when other rules have been installed since its night."""
    import shutil

    lake, out = tmp_path / "lake", tmp_path / "out.zip"
    table = write_challenges(tmp_path / "challenges.csv")
    land(lake, THREE, "a.ndjson", [upload("g1", "p1"), upload("g2", "p2", seed=2, rules="9.9.9")])
    night(lake, challenges=table)
    more = tmp_path / "rules"
    shutil.copytree(BUILT_IN / "blocks", more / "blocks", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (more / "blocks" / "1.3.0.toml").write_bytes(RULES.replace(b"1.2.0", b"1.3.0"))
    made = cli("game", "g2", "--lake", lake, "--challenges", table, "--rules", more, "--bundle", out)
    assert made.returncode == 1, made.stderr
    assert "Today's rules" not in made.stdout.decode()
    assert cli("check-bundle", out).returncode == 0


def test_outputs_are_not_written_over_each_other(tmp_path):
    from replay.published import record_object

    game = tmp_path / "game.json"
    game.write_text(json.dumps(record_object(replace(honest(), challenge="2026-10-31"))))
    table, before, out = write_challenges(tmp_path / "challenges.csv"), game.read_bytes(), tmp_path / "my game.zip"
    for words in (["--bundle", game], ["--html", game], ["--html", out, "--bundle", out]):
        refused = cli("game", game, "--challenges", table, *words)
        assert refused.returncode == 2, words
        assert "name another file" in refused.stderr.decode() or "give each its own" in refused.stderr.decode()
    assert game.read_bytes() == before
    assert not out.exists()
    made = cli("game", game, "--challenges", table, "--bundle", out)
    assert "replay check-bundle 'my game.zip' --sha256" in made.stdout.decode()
    told = json.loads(cli("game", game, "--challenges", table, "--bundle", out, "--json").stdout)["bundle"]
    assert told == {"file": str(out), "sha256": check_bundle(out, RULEBOOK).sha256}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_is_not_utf_8_gets_escapes(tmp_path, encoding):
    from replay.published import record_object

    game, out = tmp_path / "game.json", tmp_path / "out.zip"
    game.write_text(json.dumps(record_object(replace(honest(), game_id="g-\U0001f600", challenge="2026-10-31"))))
    table = write_challenges(tmp_path / "challenges.csv")
    env = {"PYTHONIOENCODING": encoding}
    for words in (("game", game, "--challenges", table, "--lang", "de", "--bundle", out), ("check-bundle", out)):
        done = cli(*words, env=env)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"g-\\U0001f600" in done.stdout
