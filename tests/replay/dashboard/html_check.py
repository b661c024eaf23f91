"""What a page may hold when the texts in it are anybody's: the HTML is read as a browser does, what is not ours is named."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlsplit

# Everything that the pages are made of.  Script, style, frames and objects need a place in this list of their own accord.
_TAGS = (
    "html head meta title link body header nav main footer section article aside h1 h2 h3 h4 p a ul ol li dl dt dd"
    " table caption thead tbody tr th td colgroup col form fieldset legend label input select option optgroup"
    " datalist textarea button details summary blockquote mark strong em b i code pre small span div br hr img"
    " figure figcaption output script noscript time abbr kbd samp var bdi picture source svg g rect line text path"
    " circle title desc use defs"
)
TAGS = frozenset(_TAGS.split())
_ATTRIBUTES = (
    "lang charset name content rel href src alt width height class id for type value action method enctype"
    " placeholder autocomplete required readonly disabled checked selected min max step list maxlength minlength"
    " pattern size rows cols colspan rowspan scope title role tabindex open hidden datetime defer media srcset"
    " target download accept-charset inputmode autocapitalize autofocus novalidate formaction formmethod"
    " formnovalidate multiple loading decoding spellcheck dir reversed start cite viewbox preserveaspectratio x y x1"
    " y1 x2 y2 cx cy r rx ry d fill stroke transform points text-anchor form"
)
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
LINKS = ("href", "src", "action", "formaction", "srcset")
_VOID = "area base br col embed hr img input link meta source track wbr"
VOID = frozenset(_VOID.split())
# Left-to-right isolation that ``visible`` puts around foreign letters.
ISOLATES = "\u2068\u2069"


@dataclass
class Form:
    """A form: where it goes, and its fields' names and values (of a select, the chosen option's)."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """A parsed page: ``elements`` (tag, attributes), ``texts`` (tag around it, text), ``links``, ``forms``, ``strange``."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.links: list[tuple[str, str]] = []
        self.forms: list[Form] = []
        self.strange: list[str] = []
        self._open: list[str] = []
        self._link: list[str] | None = None
        self._select = ""
        self.feed(html)
        self.close()
        self.strange += [f"<{tag}> is never closed" for tag in self._open if tag not in ("p", "li", "option", "html", "body")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.elements.append((tag, values))
        if len(values) != len(attrs):
            self.strange.append(f"<{tag}> names an attribute twice: {attrs}")
        if tag not in VOID:
            self._open.append(tag)
        if tag == "a":
            self._link = []
            self.links.append((values.get("href", ""), ""))
        if tag == "form":
            self.forms.append(Form(values.get("action", ""), values.get("method", "get").lower()))
        if self.forms and values.get("name") and tag in ("input", "button", "textarea"):
            if values.get("type") not in ("checkbox", "radio") or "checked" in values:
                self.forms[-1].fields.setdefault(values["name"], values.get("value", ""))
        if tag == "select":
            self._select = values.get("name", "")
        if tag == "option" and self._select and self.forms:
            if "selected" in values or self._select not in self.forms[-1].fields:
                self.forms[-1].fields[self._select] = values.get("value", "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID or tag not in self._open:
            self.strange.append(f"</{tag}> closes nothing")
            return
        while self._open.pop() != tag:
            pass
        if tag == "a" and self._link is not None:
            self.links[-1] = (self.links[-1][0], "".join(self._link))
            self._link = None

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))
        if self._link is not None:
            self._link.append(data)

    def handle_comment(self, data: str) -> None:
        self.strange.append(f"a comment: {data!r}")

    def handle_decl(self, decl: str) -> None:
        if decl.lower() != "doctype html":
            self.strange.append(f"a declaration: {decl!r}")

    def handle_pi(self, data: str) -> None:
        self.strange.append(f"an instruction: {data!r}")

    @property
    def text(self) -> str:
        """What is to be read on the page."""
        return " ".join(" ".join(data.split()) for tag, data in self.texts if tag not in ("script", "title") and data.strip())


def problems(page: Page, depth: int = 0) -> list[str]:
    """Everything on a page that our templates do not write, one sentence each; ``depth`` folders below the front page."""
    found = list(page.strange)
    for tag, attributes in page.elements:
        if tag not in TAGS:
            found.append(f"<{tag}> stands in the page: {attributes}")
        for name, value in attributes.items():
            if name not in ATTRIBUTES and not name.startswith(("aria-", "data-")):
                found.append(f"<{tag}> has an attribute {name!r}: {value!r}")
            if name in LINKS and (why := _why_no_link(value, depth)):
                found.append(f"<{tag}> {name}={value!r} {why}")
        if tag == "script" and not attributes.get("src", "").startswith("static/"):
            if attributes.get("type") != "application/json":
                found.append(f"a script that is not ours: {attributes}")
    found += [f"<{tag}> shows {data!r}" for tag, data in page.texts if tag != "script" and _unseen(data)]
    return found


def _why_no_link(value: str, depth: int) -> str:
    """Why a link must not be there; links lead within the app and hold nothing but ASCII."""
    parts = urlsplit(value)
    if value == "data:,":
        # The icon that there is none of: a browser would ask for /favicon.ico otherwise.
        return ""
    if parts.scheme or parts.netloc or value.startswith(("/", "\\")):
        return "leads out of the app"
    steps = parts.path.split("/")
    if steps.count("..") > depth or ".." in steps[depth:]:
        return "climbs out of the app"
    if not value.isascii() or any(char <= " " or char in "\"'<>\\`\x7f" for char in value):
        return "is not encoded"
    return ""


def _unseen(text: str) -> bool:
    """Whether a text that people read holds signs that cannot be seen, or turn what stands around them."""
    return any(
        unicodedata.category(char)[0] in "CZ" and char not in (" ", "\n", *ISOLATES) for char in text
    )
