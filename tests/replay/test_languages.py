"""What players are told, in English, Italian and German: complete catalogues, whole sentences, and the English of always."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from string import Formatter
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay import found_words, relations
from replay import verdict as v
from replay import words as w
from replay.bundle import trace_bytes
from replay.cli import app
from replay.cli import game as game_command
from replay.dispute import claims
from replay.errors import ReferenceDataError, UsageError
from replay.games.row_words import why_not
from replay.harmless import visible
from replay.i18n import CODES, ENGLISH, PLURAL_FORMS, Language, catalogue_path, language, read_catalogue
from replay.published import Published
from replay.verdict import Reason, Verdict
from tests.replay import games as blocks
from tests.replay import language_cases as cases

babel = pytest.importorskip("babel", reason="Babel is not installed; it comes with the extra dev")
from babel.messages import pofile  # noqa: E402
from babel.messages.catalog import Catalog, Message  # noqa: E402

from tests import messages  # noqa: E402

GOLDEN = Path(__file__).parent / "golden" / "english.txt"
OTHERS = [code for code in CODES if code != "en"]
SOURCE = messages.extract()
IDS = {message.id[0] if message.pluralizable else message.id: message for message in SOURCE if message.id}
# The same word in both languages, or a name that has none of its own.
SAME = {
    "it": {
        "App", "Back-to-back", "Combo", "arena", "no", "Home", "hard drop", "soft drop", "combo {combo}: {product} = {points}",
        "perfect clear: {product} = {points}",
    },
    "de": {"App", "Challenge", "Combo", "Hand", "Level", "Mult."},
}  # fmt: skip


def forms(message: Message) -> tuple[str, ...]:
    return tuple(message.string) if message.pluralizable else (message.string,)


def names(text: str) -> list[str]:
    """The placeholders of a message, sorted; one twice would stand there twice."""
    found = []
    for _, name, spec, conversion in Formatter().parse(text):
        if name is not None:
            assert re.fullmatch(r"[a-z_0-9]+", name), text
            assert (spec, conversion) == ("", None), text
            found.append(name)
    return sorted(found)


# --- Catalogues ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", OTHERS)
def test_catalogues_have_exactly_the_messages_of_the_source(code):
    """A missing, stale, fuzzy or half translated entry, in words that say what to do."""
    found = messages.read(code)
    there = {message.id[0] if message.pluralizable else message.id: message for message in found if message.id}
    assert sorted(IDS.keys() - there.keys()) == [], "missing: run `make messages` and translate them"
    assert sorted(there.keys() - IDS.keys()) == [], "stale: run `make messages`"
    assert list(found.obsolete) == []
    for key, message in there.items():
        assert message.pluralizable == IDS[key].pluralizable, key
        assert message.id == IDS[key].id, key
        assert not message.fuzzy, f"{key}: marked as fuzzy"
        assert all(forms(message)), f"{key}: not translated"
        assert len(forms(message)) == (2 if message.pluralizable else 1), key


@pytest.mark.parametrize("code", OTHERS)
def test_translations_have_the_placeholders_and_the_shape_of_their_message(code):
    for message in messages.read(code):
        if not message.id:
            continue
        english = message.id if message.pluralizable else (message.id,)
        for said, text in zip(forms(message), english, strict=True):
            assert names(said) == names(text), (text, said)
            # What is put beside or after other text must not run into it, and a sentence ends like one.
            assert (said[:1].isspace(), said[-1:].isspace()) == (text[:1].isspace(), text[-1:].isspace()), (text, said)
            assert said.endswith(".") == text.endswith("."), (text, said)
            assert not set(said) & set("<>&\n\t\\"), said
            assert visible(said, 1000) == said
            assert said != text or text in SAME[code] or not re.search("[a-z]{2}", re.sub(r"\{\w+\}", "", text)), text
            # Nobody is accused of anything: the log cannot know why numbers differ.
            assert not re.search(r"(?i)imbrogli|barar|\btruff|fals[oi]\b|betr[uü]g|schummel|gemogelt|fälsch", said), said
    assert SAME[code] <= IDS.keys()


def test_english_messages_accuse_nobody():
    for key in IDS:
        assert not re.search(r"(?i)cheat|fraud|forge|fake|lie\b|lied", key), key


@pytest.mark.parametrize("code", OTHERS)
def test_a_catalogue_is_as_make_messages_writes_it(code):
    """``make messages`` changes nothing where nothing is to be changed, so that a translator's diff shows translations."""
    assert catalogue_path(code).read_text("utf-8") == messages.text(code, messages.updated(code, SOURCE))


def test_make_messages_takes_new_messages_in_and_lets_stale_ones_go():
    source = messages.empty("en")
    source.add("score")
    source.add("a new one")
    source.add(("{count} point", "{count} points"))
    made = read_text(messages.text("it", messages.updated("it", source)))
    assert made == {"score": ("punteggio",), "{count} point": ("{count} punto", "{count} punti")}


def read_text(text: str, folder: Path | None = None) -> dict[str, tuple[str, ...]]:
    class Text:
        def read_text(self, encoding: str) -> str:
            return text

        def __str__(self) -> str:
            return "some.po"

    return read_catalogue(Text())  # type: ignore[arg-type]


@pytest.mark.parametrize("code", OTHERS)
def test_our_reader_reads_what_babel_reads(code):
    assert read_catalogue(catalogue_path(code)) == {
        message.id[0] if message.pluralizable else message.id: forms(message) for message in messages.read(code) if message.id
    }
    assert f'"Plural-Forms: {PLURAL_FORMS}\\n"' in catalogue_path(code).read_text("utf-8")


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(min_size=1).filter(str.strip), st.tuples(st.text(min_size=1), st.booleans(), st.booleans()), max_size=6))
def test_our_reader_reads_any_catalogue(entries):
    """Quotes, backslashes, line feeds, long lines, plural forms, fuzzy entries: as Babel writes them."""
    text = {key.replace("\r", "").replace("\x85", ""): value for key, value in entries.items()}
    whole = {key: (string.replace("\r", "").replace("\x85", ""), plural, fuzzy) for key, (string, plural, fuzzy) in text.items() if key}
    odd = re.compile("[\x0b\x0c\x1c-\x1e\u2028\u2029\ud800-\udfff]")
    if any(odd.search(part) for key, (string, _, _) in whole.items() for part in (key, string)):
        # str.splitlines cuts there, and so does Babel.
        return
    catalogue = Catalog(locale="de")
    for key, (string, plural, fuzzy) in whole.items():
        catalogue.add((key, key + "s") if plural else key, (string, string + "n") if plural else string, flags={"fuzzy"} if fuzzy else ())
    raw = io.BytesIO()
    pofile.write_po(raw, catalogue)
    assert read_text(raw.getvalue().decode("utf-8")) == {
        key: (string, string + "n") if plural else (string,) for key, (string, plural, fuzzy) in whole.items() if string and not fuzzy
    }


@pytest.mark.parametrize("text", ['msgid "a', 'msgstr[2] "x"', '"no keyword"', "hello", 'msgctxt "c"\nmsgid "a"\nmsgstr "b"'])
def test_a_damaged_catalogue_is_named_with_its_line(text):
    with pytest.raises(ReferenceDataError, match=r"some.po: line 1 is none of a catalogue \(.*\), mend it"):
        read_text(text)


def test_a_catalogue_that_is_gone_is_named(tmp_path):
    with pytest.raises(ReferenceDataError, match=r"replay.po: cannot be read as a catalogue of messages \(.*\), install replay again"):
        read_catalogue(tmp_path / "replay.po")


@pytest.mark.parametrize("code", ["fr", "", "EN", "../it"])
def test_a_language_that_is_not_there_is_a_usage_error(code):
    with pytest.raises(UsageError, match=r"is not there, give one of en, it, de"):
        language(code)


def test_catalogues_are_packaged():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    assert '"**/*.po"' in project
    for code in OTHERS:
        assert catalogue_path(code).is_file()


# --- Numbers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
def test_numbers_are_written_as_the_language_does(code):
    spoken = language(code)
    marked = {"en": "-1,234,567", "it": "-1.234.567", "de": "-1.234.567"}[code]
    assert spoken.number(-1_234_567) == marked
    assert spoken.decimal("1,234.5") == ("1,234.5" if code == "en" else "1.234,5")
    assert spoken.plain("42000") == ("42000" if code == "en" else "42.000")
    assert spoken.plain("1,003") == ("1,003" if code == "en" else "1.003")
    assert spoken.gettext("Moves {first} to {last} of {total}", first=1, last=2000, total=9000).count("2000") == 0
    assert spoken.ngettext("{count} point", "{count} points", 1).startswith("1 ")
    one, none = (spoken.ngettext("{count} point", "{count} points", count)[2:] for count in (1, 0))
    assert one != none
    assert spoken.ngettext("{count} point", "{count} points", 1000)[:5] == ("1,000" if code == "en" else "1.000")
    assert spoken.either(["a", "b", "c"]) == {"en": "a or b or c", "it": "a o b o c", "de": "a oder b oder c"}[code]
    # A text of the record is never read for placeholders.
    assert "{score}" in spoken.gettext("It counts for the challenge {challenge}.", challenge="{score}")


def test_times_stay_utc_and_iso():
    for code in CODES:
        said = " ".join(replace(cases.disputes()["blocks late"], language=language(code)).words())
        assert "1970-01-01 00:00:00 UTC" in said
        assert "2026-11-04 12:00:00 UTC" in said


# --- English ---------------------------------------------------------------------------------------------------------------


def test_english_is_said_as_before_byte_for_byte():
    """``python -m tests.replay.language_cases > tests/replay/golden/english.txt`` when English is to say something else."""
    lines = "".join(f"=== {title}\n{said}\n" for title, said in cases.everything()).split("\n")
    expected = GOLDEN.read_text("utf-8").split("\n")
    for number, (line, before) in enumerate(zip(lines, expected, strict=False), 1):
        assert line == before, f"line {number}"
    assert len(lines) == len(expected)


def test_english_reads_no_catalogue_and_imports_nothing(tmp_path):
    """A dispute opens at once: no Babel, no gettext, no catalogue."""
    code = (
        "import sys\nfrom replay import i18n\ni18n.read_catalogue = None\nfrom tests.replay import games\n"
        "assert games.dispute(games.record(games.TOKENS, games.GAME)).words()\n"
        "assert i18n.language('en') is i18n.ENGLISH\n"
        "print(sorted({'babel', 'gettext', 'locale'} & (set(sys.modules) - before)))"
    )
    code = "import sys; import argparse, locale; before = set(sys.modules)\n" + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


# --- Whole sentences -----------------------------------------------------------------------------------------------------


class Asked(Language):
    """English that notes which messages it was asked for."""

    def __init__(self, code: str = "en") -> None:
        super().__init__(code)
        self.asked: set[str] = set()

    def gettext(self, message: str, /, **values: object) -> str:
        self.asked.add(message)
        return super().gettext(message, **values)

    def ngettext(self, one: str, many: str, count: int, /, **values: object) -> str:
        self.asked.add(one)
        return super().ngettext(one, many, count, **values)


def test_the_cases_reach_every_message():
    """So that whatever holds for the cases holds for all that can be said."""
    # Asked as a language that does not know the English texts: it has more messages than English itself.
    asked = Asked("it")
    for name, dispute in cases.disputes().items():
        shown = replace(dispute, language=asked)
        shown.words()
        for row in [shown.start(), *shown.rows()]:
            assert row is None or cases.row_texts(row), name
        cases.page_text(shown)
        cases.terminal(shown)
    for _ in cases.everything(asked):
        pass
    said_elsewhere = {
        # By the command itself, in test_the_command_speaks_the_language and test_where_a_game_of_a_lake_landed.
        "Wrote {file}", "Wrote {file}, SHA-256 {sha256}", "Check it anywhere: {command}", "Landed on {day} in {file}, line {line}.",
        "The same id again: {verdict}, landed on {day} in {file}, line {line}.", *found_words.TODAY,
        # For a range, in test_ranges_are_told.
        "No move of that range was played: the log has {total}.", "Moves {first} to {last} of {total}",
        "Moves {first} to {last} of {total}; see others with --from and --to.",
        "There are no moves to show: the range holds none of the {total} moves.",
        # Of texts that nobody writes today, in test_texts_of_other_versions_are_left_out.
        "What was uploaded as the result is not possible with this many moves.", "the rules do not allow it here",
        "This attempt was uploaded as more than one game. The one that was uploaded first stands.",
        "The game id does not name one game. Only the first upload of one player can stand, and none when they come from "
        "different players.",
    }  # fmt: skip
    left = sorted(IDS.keys() - asked.asked - said_elsewhere)
    assert left == []
    assert sorted(asked.asked - IDS.keys() - {""}) == []


# A language in which no letter is one of ours: what is left in our letters was never translated.
def strange(text: str) -> str:
    return "".join(
        part if at % 2 else "".join(chr(0x410 + ord(char) % 32) if char.isascii() and char.isalpha() else char for char in part)
        for at, part in enumerate(re.split(r"(\{\w+\})", text))
    )


class Strange(Language):
    def __init__(self) -> None:
        super().__init__("it", {
            key: tuple(map(strange, message.id if message.pluralizable else (message.id,))) for key, message in IDS.items()
        })  # fmt: skip


PIECES = {shape.name for shape in blocks.RULEBOOK.find("blocks", "1.2.0").shapes}
# Tokens, cells, ids and names of the cases; "s" and "x" of numbers and the codes of verdicts and reasons are nobody's words.
OURS = re.compile(
    r"UTC|android|blocks|tetromino|tetcolor|daily|training|marathon|zen|sprint|level|short|strange|over|bombs|cascade|full|ice|"
    r"stones|rows|jam|clears|sprint|columns|duo|retris|arcade|classic|normal|crazy|FR|SHA|"
    r"[IJLOSTZ]+|[a-eNHVLMAS]+|[lrxzdhc]+|zZ|T?[a-z]?[0-9]+"
)


def left_over(text: str) -> list[str]:
    """The words in our letters, but for those of the record."""
    found = re.findall(r"[A-Za-z]\w+", text)
    return [word for word in found if word not in PIECES and not OURS.fullmatch(word)]


def test_whatever_is_said_is_translated():
    """In a made-up language no word of English is left, in words, rows, on the terminal and on the page."""
    for title, said in cases.everything(Strange()):
        told = said
        if title.endswith(", page"):
            # What is read or heard of a page; the names of columns, then the record's own fields are no words.
            told = re.sub(r'<span class="axis".*?</span>', "", told)
            told = re.sub(r"<[^>]*>", "", re.sub(r'(aria-label|title)="([^"]*)"', r">\2<", told))
            told = re.sub(r"(g-1|p-17|3\.2\.0|9\.9\.9|2030-01-01)", "", told)
        assert left_over(told) == [], (title, said[:400])


@pytest.mark.parametrize("code", OTHERS)
def test_no_english_is_left_in_the_real_languages(code):
    english = re.compile(r"\b(the|move|moves|score|game|upload(ed)?|replay(ed)?|and|with|from|cannot|board|piece|it|lines|of|is)\b")
    for title, said in cases.everything(language(code)):
        if not title.endswith("page"):
            assert english.findall(said) == [], (title, said)


def test_the_page_names_its_language():
    for code in CODES:
        page = cases.render_html(replace(cases.disputes()["blocks score"], language=language(code)))
        assert f'<html lang="{code}">' in page
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
        assert data["words"]["lang"] == code
        assert "{number}" in data["words"]["move"]
        assert "{number}" in data["words"]["move_value"]
        heading = re.search(r'<h2 id="title">(.*?)</h2>', page)[1]
        assert heading == data["words"]["move"].replace("{number}", str(data["rows"][data["opened"]]["n"]))


def test_ranges_are_told():
    shown = cases.disputes()["blocks score"]
    for code, some, page, none in [
        ("en", "Moves 2 to 3 of 60; see others", "Moves 2 to 3 of 60", "holds none of the 60 moves"),
        ("it", "Mosse da 2 a 3 di 60; le altre", "Mosse da 2 a 3 di 60", "nessuna delle 60 mosse"),
        ("de", "Züge 2 bis 3 von 60; andere", "Züge 2 bis 3 von 60", "keinen der 60 Züge"),
    ]:
        spoken = replace(shown, language=language(code))
        assert some in cases.terminal(spoken, 2, 3)
        assert f"<h2>{page}</h2>" in cases.render_html(spoken, 2, 3)
        assert none in cases.render_html(spoken, 100, 101)
        assert "60." in cases.terminal(spoken, 100, 101)


# --- Texts that verdicts hold --------------------------------------------------------------------------------------------


def test_texts_that_are_read_are_those_that_are_written():
    """Each text that a night or an engine writes in English is recognised, so that no detail is lost in another language."""
    spoken, seen = language("de"), set()
    for name, dispute in cases.disputes().items():
        fault = dispute.verdict.fault
        if fault is not None and fault.kind != "no_such_mode":
            assert why_not(fault, spoken) != spoken.gettext("the rules do not allow it here"), (name, fault.text)
            assert found_words.detail(fault.text, ENGLISH) == "it " + fault.text.split("' ", 1)[1], (name, fault.text)
            seen.add(fault.kind)
        for reason in dispute.verdict.reasons:
            if reason.code == "impossible_score":
                for bound in reason.found.split("; "):
                    limit = bound.split(" ", 1)[1]
                    assert found_words.limit(limit, ENGLISH) == limit, name
                    assert "(" not in limit or "(" in (found_words.limit(limit, spoken) or ""), (name, limit)
    assert {"bad_token", "no_such_slot", "outside_board", "overlap", "continue_not_allowed", "after_end", "hold_twice"} <= seen
    known = cases.REASONS
    for name in ("attempts", "start", "upload", "rules"):
        assert known[name].found in {
            bound
            for dispute in cases.disputes().values()
            for reason in dispute.verdict.reasons
            for bound in str(reason.found).split("; ")
        } | {found_words.START.format(opens=cases.OPENS, closes=cases.CLOSES)}, name


def test_the_texts_of_related_uploads_are_read():
    row = {
        "is_duplicate": True, "attempt_game_id": "g-0", "attempt": 1, "is_conflicting": True, "players": 1, "contents": 2,
        "first_uploaded_at": datetime(2026, 10, 30, 10), "game_id": "g-1", "is_copied_log": False,
        "log_game_id": None, "log_players": 0, "is_copy": False, "copy_of": None,
    }  # fmt: skip
    written = {reason["code"]: reason["found"] for players in (1, 2) for reason in _reasons({**row, "players": players})}
    assert written["duplicate_attempt"] == cases.REASONS["duplicate"].found
    assert _reasons(row)[1]["found"] == cases.REASONS["conflict"].found
    assert _reasons({**row, "players": 2, "contents": 3})[1]["found"] == cases.REASONS["conflict of players"].found


def _reasons(row):
    made = relations._relation({**dict.fromkeys(("copy_file", "copy_line", "copy_day"), None), **row})
    return [reason if isinstance(reason, dict) else reason.as_json() for reason in made.reasons]


@pytest.mark.parametrize("code", OTHERS)
def test_texts_of_other_versions_are_left_out(code):
    """A text that nobody recognises costs its detail, never the sentence, and never brings English in."""
    base = replace(cases.disputes()["blocks"].verdict, verdict="flagged")
    spoken = language(code)
    for reason, message in [
        (Reason("impossible_score", 9, "score under a limit of old", None), "What was uploaded as the result is not possible with this many moves."),
        (Reason("duplicate_attempt", 1, "game g-0 of old", None), "This attempt was uploaded as more than one game. The one that was uploaded first stands."),
        (Reason("conflicting_upload", "g", "of old", None), "The game id does not name one game. Only the first upload of one player can stand, and none when they come from different players."),
    ]:  # fmt: skip
        said = w.words(replace(base, reasons=(reason,)), language=spoken)
        assert said[-1] == spoken.gettext(message)
        assert "old" in " ".join(w.words(replace(base, reasons=(reason,))))
    limit = Reason("impossible_score", 9, "score at most 7020 (for a reason of old)", None)
    assert "old" not in " ".join(w.words(replace(base, reasons=(limit,)), language=spoken))
    assert "7.020." in " ".join(w.words(replace(base, reasons=(limit,)), language=spoken))
    assert why_not(v.Fault("overlap", 0, "'1a1' of old"), spoken) == spoken.gettext("the rules do not allow it here")


# --- Any verdict ---------------------------------------------------------------------------------------------------------

HOSTILE = st.text(st.sampled_from("ab7{}%\\\"'<&\x00\x1b\n\r\u202e\u2066\u200b\u05d0é\U0001f600 "), max_size=120)


@st.composite
def any_reason(draw) -> Reason:
    reason = draw(st.sampled_from(list(cases.REASONS.values())))
    token = draw(st.one_of(st.just(reason.token), HOSTILE))
    if isinstance(reason.claimed, int):
        return replace(reason, claimed=draw(st.integers(-(2**63), 2**63)), token=token)
    return replace(reason, token=token) if reason.code in ("board_mismatch", "outside_challenge_day") else replace(
        reason, claimed=draw(HOSTILE), token=token
    )  # fmt: skip


@st.composite
def any_verdict(draw) -> Verdict:
    base = cases.disputes()["blocks score"].verdict
    numbers = {**base.claimed, "moves": draw(st.integers(0, 200_000)), "score": draw(st.integers(-(2**63), 2**63))}
    evidence = draw(st.sampled_from([None, *cases.EVIDENCE]))
    if evidence and "rules_that_agree" in evidence:
        evidence = {"rules_that_agree": draw(st.lists(HOSTILE, min_size=1, max_size=3))}
    return replace(
        base, verdict=draw(st.sampled_from(list(w.VERDICT_WORDS))), reasons=tuple(draw(st.lists(any_reason(), max_size=4))),
        suspicions=tuple(draw(st.sets(st.sampled_from(v.SUSPICION_CODES)))), evidence=evidence, claimed=numbers,
        replayed=draw(st.sampled_from([None, numbers])), uncounted=tuple(draw(st.sets(st.sampled_from(list(w.UNCOUNTED_WORDS))))),
        game=draw(st.sampled_from(["blocks", "tetcolor", "tetromino", "chess"])), mode=draw(HOSTILE), rules=draw(HOSTILE),
        challenge=draw(HOSTILE), copy_of=draw(st.one_of(st.none(), HOSTILE)),
    )  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(any_verdict(), st.booleans())
def test_any_verdict_is_told_in_every_language(verdict, with_record):
    """As many sentences as in English, no placeholder left over, nothing that steers a terminal, and no English word."""
    record = cases.disputes()["blocks score"].record if with_record else None
    english = w.words(verdict, record=record)
    for code in CODES:
        said = w.words(verdict, record=record, language=language(code))
        assert len(said) == len(english), (code, said, english)
        for sentence, before in zip(said, english, strict=True):
            assert sentence.endswith(".")
            kept = set(sentence) - set("\u2068\u2069")
            assert visible("".join(sorted(kept)), 500).replace("\u2068", "").replace("\u2069", "") == "".join(sorted(kept))
            assert code == "en" or sentence != before
            assert code == "en" or not re.search(r"\b(the|uploaded|that|moves|was not|cannot)\b", sentence), sentence
            assert not re.search(r"\{(?!\}|\w*[{}])[a-z_]{3,}\}", sentence), sentence


# --- The command ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def forged(tmp_path):
    from replay.bundle import record_object

    path = tmp_path / "game.json"
    path.write_text(json.dumps(record_object(blocks.record(blocks.TOKENS, blocks.GAME, score=blocks.SCORE + 5000, challenge="2026-10-31"))))
    return path


def run(*args: object, **environment: str):
    from typer.testing import CliRunner

    return CliRunner(env={name: value for name, value in os.environ.items() if name != "REPLAY_LANG"}).invoke(
        app, [str(arg) for arg in args], env={"COLUMNS": "100", "REPLAY_LANG": None, **environment}
    )


@pytest.fixture
def challenges(tmp_path):
    path = tmp_path / "challenges.csv"
    path.write_text("game,challenge,mode,rules,rng_seed,start_board,pieces\nblocks,2026-10-31,daily,1.2.0,1234567,,\n")
    return path


def test_the_command_speaks_the_language(forged, challenges, tmp_path):
    said = {}
    for code in CODES:
        page, bundle = tmp_path / f"{code}.html", tmp_path / f"{code}.zip"
        done = run("game", forged, "--challenges", challenges, "--lang", code, "--html", page, "--bundle", bundle, "--to", 2)
        assert done.exit_code == 1, done.output
        said[code] = done.output
        assert f'<html lang="{code}">' in page.read_text("utf-8")
        with ZipFile(bundle) as archive:
            words = archive.read("words.txt").decode("utf-8")
            rest = {name: archive.read(name) for name in archive.namelist() if name not in ("words.txt", "manifest.json")}
        expected = replace(blocks.dispute(blocks.record(blocks.TOKENS, blocks.GAME, score=blocks.SCORE + 5000)), language=language(code))
        assert words.splitlines() == expected.words()
        # All that machines read is the same in every language.
        assert rest == said.setdefault("members", rest)
        assert run("check-bundle", bundle).exit_code == 0
    assert "Game g-1: flagged" in said["en"]
    assert "Partita g-1: segnalata" in said["it"]
    assert "Il punteggio inviato è 13.992; rigiocando le mosse si ottiene 8.992." in said["it"]
    assert "Si può controllare ovunque: replay check-bundle it.zip" in said["it"]
    assert "Scritto " in said["it"]
    assert "Partie g-1: markiert" in said["de"]
    assert "de.html geschrieben" in said["de"]


@pytest.mark.parametrize("name", ["blocks outside", "tetromino hold", "tetcolor clock", "tetcolor"])
def test_a_bundles_trace_is_of_no_language(name):
    """Whoever checks a bundle derives the same bytes, whatever language its words were asked for in."""
    shown = cases.disputes()[name]
    assert len({trace_bytes(replace(shown, language=language(code))) for code in CODES}) == 1


def test_where_a_game_of_a_lake_landed(monkeypatch):
    """The lines below a published game: where it landed, what else has its id, and what today's rules give."""
    row = {"day": "2026-10-31", "source_file": "a\x1b.ndjson", "source_line": 1200, "verdict": "flagged"}
    other = {**row, "source_line": 7, "verdict": "copy"}
    today = "Today's rules and challenges give {}: run the night of 2026-10-31 again if they were mended."
    found = cases.disputes()["blocks score"]
    monkeypatch.setattr("replay.lake.open_lake", lambda name: nullcontext())
    monkeypatch.setattr("replay.lookup.find_rows", lambda lake, game_id: [row, other])
    monkeypatch.setattr("replay.reviews.store.may_have_reviews", lambda lake: False)

    def notes(code: str, codes: str | None) -> list[str]:
        seen = Published(row, found.record, found.verdict, today.format(codes) if codes else None)
        monkeypatch.setattr("replay.published.look_again", lambda *of: seen)
        return game_command._from_lake("g-1", "lake", {}, blocks.RULEBOOK, blocks.TABLE, language(code)).note

    assert notes("en", "no reason against it") == [
        "Landed on 2026-10-31 in a\\x1b.ndjson, line 1,200.", today.format("no reason against it"),
        "The same id again: copy, landed on 2026-10-31 in a\\x1b.ndjson, line 7.",
    ]  # fmt: skip
    assert notes("en", None)[1].startswith("The same id")
    assert notes("it", "no reason against it") == [
        "Arrivata il 2026-10-31 in a\\x1b.ndjson, riga 1.200.",
        "Con le regole e le sfide di oggi non c'è nulla in contrario: se sono state corrette, rifare la notte del 2026-10-31.",
        "Ancora lo stesso identificativo: copia, arrivata il 2026-10-31 in a\\x1b.ndjson, riga 7.",
    ]
    assert "ergibt sich score_mismatch, board_mismatch: Wurden sie" in notes("de", "score_mismatch, board_mismatch")[1]


def test_the_environment_names_the_language(forged, challenges):
    asked = ("game", forged, "--challenges", challenges, "--to", 1)
    assert run(*asked).output == run(*asked, "--lang", "en").output
    assert run(*asked, REPLAY_LANG="de").output == run(*asked, "--lang", "de").output
    assert run(*asked, "--lang", "it", REPLAY_LANG="de").output == run(*asked, "--lang", "it").output


def test_json_is_of_no_language(forged, challenges):
    outputs = {run("game", forged, "--challenges", challenges, "--json", "--lang", code).output for code in CODES}
    assert len(outputs) == 1


@pytest.mark.parametrize("how", [("--lang", "fr"), ()])
def test_an_unknown_language_is_one_sentence(forged, challenges, how):
    from replay.cli import main  # noqa: F401  (the errors of the command are printed by it)

    done = run("game", forged, "--challenges", challenges, *how, REPLAY_LANG="fr")
    assert done.exit_code != 0
    assert "language 'fr' is not there, give one of en, it, de" in str(done.exception) + done.output


@pytest.mark.parametrize("code", CODES)
def test_tables_fit_the_terminal_in_every_language(code):
    """80 columns, and no label so long that it pushes the numbers out of their columns."""
    for name in ("blocks score", "tetromino score", "tetcolor impossible"):
        lines = cases.terminal(replace(cases.disputes()[name], language=language(code))).split("\n")
        assert max(map(len, lines)) <= 80, name
        # The columns are 14, 20 and 20 wide.
        table = claims(replace(cases.disputes()[name], language=language(code)))
        assert len(table) >= 4
        for label, claim, found, _ in table:
            assert len(label) <= 14, label
            assert max(len(claim), len(found)) <= 19, (claim, found)
