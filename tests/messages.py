"""The catalogues of messages, brought up to date with the source: ``python -m tests.messages`` (``make messages``).

New messages come in untranslated, those that nobody says any more go, and what is translated stays as it is.  Nothing is guessed:
an entry whose sentence changed is a new one.  ``test_languages`` finds what is left to do.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from babel.messages import pofile
from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir

from replay.i18n import CODES, ENGLISH, PLURAL_FORMS, catalogue_path

PACKAGE = Path(__file__).parents[1] / "replay"
# The ops pages stay English; the page of one game and its parts do not.
METHODS = [("dashboard/**.*", "ignore"), ("templates/game.html.j2", "jinja2"), ("templates/parts/**.j2", "jinja2"), ("**.py", "python")]
KEYWORDS = {**DEFAULT_KEYWORDS, "N_": None}
NAMES = {"it": "Italian", "de": "German"}
HEADER = """\
# {name}: what players are told.  This file is the source: edit it here; `make messages` adds and takes out entries.
msgid ""
msgstr ""
"Language: {code}\\n"
"Plural-Forms: {plural}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""


def empty(code: str) -> Catalog:
    """A catalogue without messages, with the two forms that all our languages have."""
    made = Catalog(locale=code, domain="replay")
    made.mime_headers = [("Plural-Forms", PLURAL_FORMS)]
    return made


def extract() -> Catalog:
    """Every message of the source, in its order, each once."""
    found = empty("en")
    for name, _line, message, _comments, _context in extract_from_dir(PACKAGE, METHODS, keywords=KEYWORDS):
        assert message, f"replay/{name}: a message is empty"
        found.add(message, context=None)
    return found


def read(code: str) -> Catalog:
    """A catalogue as Babel reads it."""
    with catalogue_path(code).open("rb") as file:
        return pofile.read_po(file, locale=code)


def updated(code: str, source: Catalog) -> Catalog:
    """The source's messages with the translations that there are."""
    now, made = read(code), empty(code)
    for message in source:
        if message.id:
            known = now.get(message.id[0] if message.pluralizable else message.id)
            kept = known.string if known is not None and known.pluralizable == message.pluralizable and not known.fuzzy else None
            made.add(message.id, kept)
    return made


def text(code: str, catalogue: Catalog) -> str:
    """A catalogue as it is written: what would change with every run does not stand in it."""
    raw = io.BytesIO()
    pofile.write_po(raw, catalogue, width=0, no_location=True, ignore_obsolete=True, omit_header=True)
    body = re.sub(r"^#, python-format\n", "", raw.getvalue().decode("utf-8"), flags=re.MULTILINE)
    return f"{HEADER.format(name=NAMES[code], code=code, plural=PLURAL_FORMS)}\n{body.strip()}\n"


def main() -> int:
    """Write the catalogues anew; 1 when messages are without a translation."""
    source, left = extract(), 0
    for code in CODES:
        if code == ENGLISH.code:
            continue
        catalogue = updated(code, source)
        catalogue_path(code).write_text(text(code, catalogue), "utf-8")
        missing = sum(not (all(message.string) if message.pluralizable else message.string) for message in catalogue if message.id)
        sys.stdout.write(f"{catalogue_path(code)}: {len(catalogue)} messages, {missing} to translate\n")
        left += missing
    return 1 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
