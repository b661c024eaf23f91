"""What is said to players, in the languages of the published rules.

A message's id is its English sentence with named placeholders (gettext's convention), so English needs no catalogue.  The
catalogues of the others are the .po files under ``locale``, read as they are when a sentence in that language is asked for: there
is nothing to compile, and what an editor sees is what a player reads.  Babel only extracts and compares (``make messages``).

Messages are whole sentences.  What a placeholder takes is a number, a text of the record made harmless, or a name that stands
in every sentence in the same form (``move 17 (2c5)``), never half a sentence.  Times stay UTC and ISO in every language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from replay.errors import ReferenceDataError, UsageError

LOCALE = Path(__file__).parent / "locale"
DOMAIN = "replay"
# (thousands, decimals) of each language.
_SIGNS = {"en": (",", "."), "it": (".", ","), "de": (".", ",")}
CODES = tuple(_SIGNS)
# Of all three: one form for 1, another for every other number.
PLURAL_FORMS = "nplurals=2; plural=(n != 1);"
Messages = Mapping[str, tuple[str, ...]]


class Language:
    """One language: its sentences, and how it writes numbers.

    ``messages`` has the forms of each message id, one or (singular, plural); an id that is not there is said in English.
    """

    def __init__(self, code: str, messages: Messages | None = None) -> None:
        self.code = code
        self.group, self.point = _SIGNS[code]
        self._messages: Messages = {} if messages is None else messages

    def __repr__(self) -> str:
        return f"Language({self.code!r})"

    @property
    def is_english(self) -> bool:
        """Whether this is the language that records, verdicts and engines are written in."""
        return self.code == "en"

    def gettext(self, message: str, /, **values: object) -> str:
        """The message with its placeholders filled; whole numbers as the language writes them."""
        return self._fill(self._messages.get(message, (message,))[0], values)

    def ngettext(self, one: str, many: str, count: int, /, **values: object) -> str:
        """The same for something of which there are ``count``, which is also the placeholder {count}."""
        forms = self._messages.get(one, (one, many))
        return self._fill(forms[0 if count == 1 else -1], {"count": count, **values})

    def _fill(self, text: str, values: Mapping[str, object]) -> str:
        return text.format_map({name: self.number(value) if type(value) is int else value for name, value in values.items()})

    def number(self, value: int) -> str:
        """A whole number with its thousands marked."""
        return f"{value:,}".replace(",", self.group)

    def plain(self, value: int | str) -> str:
        """A number that English has always shown without marks (its text may hold some); the others write it as any other."""
        return str(value) if self.is_english else self.number(int(str(value).replace(",", "")))

    def decimal(self, text: str) -> str:
        """A decimal number that was written as English does: ``1,234.5``."""
        return text if self.is_english else text.translate({ord(","): self.group, ord("."): self.point})

    def either(self, names: Iterable[str]) -> str:
        """Alternatives as a sentence lists them."""
        said, *more = names
        for name in more:
            said = self.gettext("{some} or {other}", some=said, other=name)
        return said


def N_(message: str) -> str:
    """Marks a message that is said elsewhere, for the catalogues."""
    return message


ENGLISH = Language("en")


@cache
def language(code: str) -> Language:
    """The language of a code.  Raises UsageError for one that is not there, ReferenceDataError for a damaged catalogue."""
    if code not in CODES:
        raise UsageError(f"language {code!r} is not there, give one of {', '.join(CODES)}")
    return ENGLISH if code == ENGLISH.code else Language(code, read_catalogue(catalogue_path(code)))


def catalogue_path(code: str) -> Path:
    """Where the catalogue of a language stands."""
    return LOCALE / code / "LC_MESSAGES" / f"{DOMAIN}.po"


# --- Catalogues ----------------------------------------------------------------------------------------------------------

_LINE = re.compile(r'(?:(msgid|msgid_plural|msgstr|msgstr\[[01]\])\s+)?"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def read_catalogue(path: Path) -> dict[str, tuple[str, ...]]:
    """A .po file's messages: translated ones that are not marked as fuzzy.  Raises ReferenceDataError."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReferenceDataError(f"{path}: cannot be read as a catalogue of messages ({error}), install replay again") from error
    out: dict[str, tuple[str, ...]] = {}
    for entry in _entries(text, path):
        message = entry.pop("msgid", "")
        forms = tuple(entry[name] for name in ("msgstr", "msgstr[0]", "msgstr[1]") if name in entry)
        if message and all(forms):
            out[message] = forms
    return out


def _entries(text: str, path: Path) -> Iterator[dict[str, str]]:
    """The entries of a .po file by keyword, but for fuzzy and obsolete ones."""
    entry: dict[str, str] = {}
    keyword, fuzzy = "", False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        line = line.strip()
        if not line:
            if entry and not fuzzy:
                yield entry
            entry, keyword, fuzzy = {}, "", False
        elif line.startswith("#"):
            fuzzy = fuzzy or (line.startswith("#,") and "fuzzy" in line)
        else:
            match = _LINE.fullmatch(line)
            if match is None or not (match[1] or keyword):
                raise ReferenceDataError(f"{path}: line {number} is none of a catalogue ({line[:60]!r}), mend it")
            keyword = match[1] or keyword
            part = _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[0]), match[2])
            entry[keyword] = part if match[1] else entry[keyword] + part


__all__ = ["CODES", "ENGLISH", "N_", "PLURAL_FORMS", "Language", "catalogue_path", "language", "read_catalogue"]
