"""A disputed game as one file that anybody can check on another machine: the upload, what it was held against, and what came out.

A bundle is a ZIP file of these members, stored and not compressed, so that the same game gives the same bytes everywhere:

- ``record.json``: the record as uploaded (an anonymised player under the new id), ``source.json``: where it landed;
- ``challenge.json`` and ``rules.toml``: the row of the challenge table and the rules file that the game names;
- ``verdict.json``: the verdict as published, ``trace.ndjson``: the state after every move, ``words.txt``: what players are told;
- ``versions.json``: of engine, processing and of this form;
- ``manifest.json``: size and SHA-256 of every other member.

Its name is the SHA-256 of ``manifest.json``.  Who changes a byte of the file is found out; who makes all of it anew has another
SHA-256, which is why that is told with the accusation and not only in the file.

Neither numba nor numpy is needed: everything is derived by the interpreted engine.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from engine import ENGINE_VERSION
from engine.ruleset import RulesError
from replay.challenges import Challenge, ChallengeTable
from replay.errors import InputError, MalformedRecord
from replay.games import NAMES as GAME_NAMES
from replay.games import kind_of
from replay.published import record_object
from replay.record import Record, check_object
from replay.relations import RELATIONAL_REASONS
from replay.rulebook import Rulebook
from replay.trace import Dispute
from replay.verdict import PROCESSING_VERSION, UNKNOWN_REASONS, Verdict, judge
from replay.withheld import HOLDABLE

FORM = 1
MANIFEST = "manifest.json"
# What a game whose rules or challenge nobody knows has none of.
OPTIONAL_MEMBERS = ("challenge.json", "rules.toml", "source.json")
MEMBERS = ("challenge.json", "record.json", "rules.toml", "source.json", "trace.ndjson", "verdict.json", "versions.json",
           "words.txt")  # fmt: skip
# A record has at most 1 MiB; the trace of its longest log stays far below this.
MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Checked:
    """What a check found: ``differences`` one sentence each (none: the bundle is whole and the same verdict was derived),
    ``notes`` what a reader should know besides, the bundle's ``sha256`` and the published ``verdict``."""

    sha256: str
    game_id: str
    verdict: str
    differences: tuple[str, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "differences": list(self.differences), "notes": list(self.notes), "same": not self.differences}


def canonical(value: Any) -> bytes:
    """JSON in the one form that hashes are taken of: sorted keys, ASCII, no spaces, a line feed at the end."""
    return (json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")) + "\n").encode("ascii")


# --- Making one ----------------------------------------------------------------------------------------------------------


def make_bundle(dispute: Dispute, rules_file: bytes | None, source: Mapping[str, Any] | None) -> tuple[bytes, str]:
    """(the file's bytes, its SHA-256) of a game under dispute.

    ``rules_file`` are the bytes of the rules file that the game names, None when nobody knows it; ``source`` says where the
    record landed (day, file, line), None for a game that did not come from a lake.
    """
    challenge = dispute.challenge
    members: dict[str, bytes | None] = {
        "record.json": canonical(record_object(dispute.record)),
        "challenge.json": None if challenge is None else canonical(asdict(challenge)),
        "rules.toml": rules_file,
        "verdict.json": canonical(dispute.verdict.as_json()),
        "trace.ndjson": trace_bytes(dispute),
        "words.txt": "".join(f"{sentence}\n" for sentence in dispute.words()).encode("utf-8", "backslashreplace"),
        "source.json": None if source is None else canonical(dict(source)),
        "versions.json": canonical({"bundle": FORM, "engine": ENGINE_VERSION, "processing": PROCESSING_VERSION}),
    }
    held = {name: data for name, data in sorted(members.items()) if data is not None}
    manifest = canonical({name: {"bytes": len(data), "sha256": _sha256(data)} for name, data in held.items()})
    return _zip({MANIFEST: manifest, **held}), _sha256(manifest)


def trace_bytes(dispute: Dispute) -> bytes:
    """The state after every move, a JSON line each: what the engine says, in no language."""
    start = dispute.start()
    # One row at a time: all rows of the longest log take a gigabyte.
    return b"".join(
        canonical(
            {
                "move": row.number, "token": row.token, "piece": row.piece, "board": list(row.grid), "score": row.score,
                "best_combo": row.best_combo, "fault": row.fault, "wrong": row.wrong,
            }
        )
        for row in chain([] if start is None else [start], dispute.rows())
    )  # fmt: skip


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _zip(members: Mapping[str, bytes]) -> bytes:
    """The one ZIP file of these members: fixed times and attributes, nothing compressed (compressors differ)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            archive.writestr(info, data)
    return out.getvalue()


# --- Checking one --------------------------------------------------------------------------------------------------------


def check_bundle(path: Path, rulebook: Rulebook, expected: str | None = None) -> Checked:
    """Hold a bundle against itself and derive its verdict anew, with the rules and the challenge that it holds.

    ``rulebook`` are this machine's rules, which are only compared; ``expected`` is the SHA-256 that was told with it.  Raises
    InputError for a file that cannot be read as a bundle.
    """
    try:
        with path.open("rb") as handle:
            # What has no size (a device, a pipe) has no end either.
            data = handle.read(MOST_BYTES + 1) if path.stat().st_size <= MOST_BYTES else None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if data is None or len(data) > MOST_BYTES:
        raise InputError(f"{path}: is larger than {MOST_BYTES:,} bytes, no bundle is")
    members, differences = _open(path, data)
    sha256 = _sha256(members[MANIFEST])
    if expected is not None and expected.lower() != sha256:
        differences.append(f"the SHA-256 is {sha256}, not the {expected.lower()} that was told")
    record, verdict = _record(path, members), _json(path, members, "verdict.json")
    notes = _notes(path, members, record, verdict, rulebook)
    differences += _derive(path, members, record, verdict)
    return Checked(sha256, record.game_id, str(verdict.get("verdict")), tuple(differences), tuple(notes))


def _open(path: Path, data: bytes) -> tuple[dict[str, bytes], list[str]]:
    """(members by name, what of the file is not as it was made)."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if len(set(names)) != len(names) or sum(info.file_size for info in archive.infolist()) > MOST_BYTES:
                raise InputError(f"{path}: is no bundle, its list of members makes no sense")
            # Read past a wrong checksum: which member was changed is what people want to know.
            members = {name: _member(archive, data, name) for name in names}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: cannot be read as a ZIP file ({error}), it was damaged or is none") from error
    missing = [name for name in (MANIFEST, *MEMBERS) if name not in members and name not in OPTIONAL_MEMBERS]
    if missing:
        raise InputError(f"{path}: is no bundle, {', '.join(missing)} is missing in it")
    differences = []
    manifest = _json(path, members, MANIFEST)
    for name in sorted({*manifest, *members} - {MANIFEST}):
        held, listed = members.get(name), manifest.get(name)
        if held is None or listed is None:
            differences.append(f"{name!a} is {'missing' if held is None else 'not listed in the manifest'}")
        elif listed != {"bytes": len(held), "sha256": _sha256(held)}:
            differences.append(f"{name!a} was changed: its SHA-256 is {_sha256(held)}, the manifest says {listed!a}")
    if not differences and data != _zip(members):
        differences.append("the file was changed outside its members: it is not the one that these members make")
    return members, differences


def _member(archive: zipfile.ZipFile, data: bytes, name: str) -> bytes:
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name!a} is compressed, members of a bundle are not")
    start = info.header_offset
    if data[start : start + 4] != b"PK\x03\x04":
        raise ValueError(f"{name!a} does not begin where the list of members says")
    name_and_extra = sum(int.from_bytes(data[start + at : start + at + 2], "little") for at in (26, 28))
    begin = start + 30 + name_and_extra
    if begin + info.file_size > len(data):
        raise ValueError(f"{name!a} is cut off")
    return data[begin : begin + info.file_size]


def _json(path: Path, members: Mapping[str, bytes], name: str) -> dict[str, Any]:
    try:
        found = json.loads(members[name])
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {name} in it is no JSON, the bundle was damaged") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: {name} in it is no JSON object, the bundle was damaged")
    return found


def _record(path: Path, members: Mapping[str, bytes]) -> Record:
    try:
        return check_object(_json(path, members, "record.json"))
    except MalformedRecord as error:
        raise InputError(f"{path}: record.json in it is no record of a game ({error})") from error


def _derive(path: Path, members: Mapping[str, bytes], record: Record, published: dict[str, Any]) -> list[str]:
    """What comes out otherwise when the game is replayed here with the bundle's own rules and challenge."""
    rulebook = _own_rulebook(path, members, record)
    table = _own_challenges(path, members)
    try:
        verdict = judge(record, rulebook, table)
    except MalformedRecord as error:
        return [f"the record cannot be judged here: {error}"]
    differences = [
        f"{name}: {ours!a} is derived here, {theirs!a} stands in the bundle"
        for name, ours, theirs in _compared(verdict, published)
        # As text: 7 and 7.0, or true and 1, are equal in Python and not in a bundle.
        if canonical(ours) != canonical(theirs)
    ]
    dispute = Dispute(record, verdict, rulebook.find(record.game, record.rules), table.find(record.game, record.challenge))
    trace = trace_bytes(dispute)
    if trace != members["trace.ndjson"]:
        ours, theirs = trace.splitlines(), members["trace.ndjson"].splitlines()
        parted = (i for i, (one, other) in enumerate(zip(ours, theirs, strict=False), 1) if one != other)
        at = next(parted, min(len(ours), len(theirs)) + 1)
        differences.append(f"trace: line {at:,} differs, of {len(ours):,} lines derived here and {len(theirs):,} in the bundle")
    return differences


def _compared(verdict: Verdict, published: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(name, derived, published) of everything that follows from the bundle alone."""
    ours = verdict.as_json()
    by_others = [reason for reason in _reasons(published) if reason.get("code") in RELATIONAL_REASONS]
    held = published.get("reasons")
    # Whatever else stands there is compared as it is.
    own = [reason for reason in held if reason not in by_others] if isinstance(held, list) else held
    word = ours["verdict"]
    if published.get("copy_of") is not None:
        word = "copy"
    elif by_others and word == "verified":
        word = "flagged"
    if word == "flagged" and _is_withheld(published):
        # Held back for what other games of the app version did that day; by itself it is flagged.
        word = "withheld"
    pairs = [
        ("verdict", word, published.get("verdict")), ("reasons", _plain(ours["reasons"]), _plain(own)),
        ("unfinished", "unfinished" in _suspicions(ours), "unfinished" in _suspicions(published)),
    ]  # fmt: skip
    names = ("game_id", "claimed", "replayed", "fault", "rules", "challenge")
    return [*pairs, *((name, ours[name], published.get(name)) for name in names)]


def _is_withheld(published: Mapping[str, Any]) -> bool:
    """Whether the verdict says that its flag was held back, for reasons for which one is."""
    return published.get("verdict") == "withheld" and all(str(reason.get("code")) in HOLDABLE for reason in _reasons(published))


def _reasons(published: Mapping[str, Any]) -> list[dict[str, Any]]:
    reasons = published.get("reasons")
    return [reason for reason in reasons if isinstance(reason, dict)] if isinstance(reasons, list) else []


def _suspicions(published: Mapping[str, Any]) -> list[Any]:
    found = published.get("suspicions")
    return found if isinstance(found, list) else []


def _plain(reasons: Any) -> Any:
    """Reasons without what the machine knows besides the game."""
    if not isinstance(reasons, list):
        return reasons
    return [
        {**reason, "found": None} if isinstance(reason, dict) and reason.get("code") in UNKNOWN_REASONS else reason
        for reason in reasons
    ]


def _own_rulebook(path: Path, members: Mapping[str, bytes], record: Record) -> Rulebook:
    text = members.get("rules.toml")
    if text is None or record.game not in GAME_NAMES:
        return Rulebook({}, {})
    with tempfile.TemporaryDirectory(prefix="replay-bundle-") as folder:
        # A rules file is named after its version; a name that no file can have belongs to no rules file.
        place = Path(folder) / "rules.toml"
        if "/" not in record.rules and "\0" not in record.rules and 0 < len(record.rules.encode()) < 100:
            place = Path(folder) / f"{record.rules}.toml"
        place.write_bytes(text)
        try:
            rules = kind_of(record.game).load_rules(place)
        except RulesError as error:
            raise InputError(f"{path}: {str(error).replace(f'{folder}/', '')}") from error
    return Rulebook({(record.game, record.rules): rules}, {(record.game, record.rules): _sha256(text)})


def _own_challenges(path: Path, members: Mapping[str, bytes]) -> ChallengeTable:
    if "challenge.json" not in members:
        return ChallengeTable({})
    held = _json(path, members, "challenge.json")
    texts = ("game", "challenge", "mode", "rules", "start_board", "pieces")
    seed = held.get("rng_seed")
    if set(held) != {*texts, "rng_seed"} or not all(isinstance(held[name], str) for name in texts) or type(seed) is not int:
        raise InputError(f"{path}: challenge.json in it is no row of a challenge table")
    row = Challenge(**held)
    return ChallengeTable({(row.game, row.challenge): row})


def _notes(
    path: Path, members: Mapping[str, bytes], record: Record, published: Mapping[str, Any], rulebook: Rulebook
) -> list[str]:
    notes = []
    versions = _json(path, members, "versions.json")
    here = {"bundle": FORM, "engine": ENGINE_VERSION, "processing": PROCESSING_VERSION}
    for name, value in here.items():
        theirs = versions.get(name)
        if theirs != value:
            notes.append(f"The bundle was made by {name} version {theirs!a}, here is {value!a}.")
    known = rulebook.hashes.get((record.game, record.rules))
    text = members.get("rules.toml")
    if text is not None and known is None:
        notes.append(f"This machine has no rules {record.rules!a} of {record.game!a}; the bundle's own were used.")
    elif text is not None and known != _sha256(text):
        notes.append(f"The rules file {record.rules!a} on this machine is another one; the bundle's own was used.")
    if _is_withheld(published):
        notes.append(
            "The flag was held back on that day, because unusually many games of the app version did not come out; that rests on"
            " other games. By itself this one is flagged."
        )
    if published.get("copy_of") is not None:
        notes.append(f"That it is a copy rests on another upload and cannot be derived from this one: {published['copy_of']!a}")
    # Whether the signs of a pace hold depends on the settings of that night as well.
    signs = ", ".join(ascii(sign) for sign in _suspicions(published) if sign != "unfinished")
    if signs:
        notes.append(f"These suspicions rest on other uploads or on that night's settings and are not derived here: {signs}")
    return notes + [
        f"{reason['code']} rests on other uploads and cannot be derived from this one: {reason.get('found')!a}"
        for reason in _reasons(published)
        if reason.get("code") in RELATIONAL_REASONS
    ]


__all__ = ["Checked", "canonical", "check_bundle", "make_bundle", "trace_bytes"]
