"""What the pages share: the lake of a request, templates, times and numbers as people read them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from replay.dashboard import forms
from replay.errors import InputError, ReplayError, UsageError
from replay.lake import Lake, open_lake
from replay.words import visible

TEMPLATES = (Path(__file__).parent / "templates", Path(__file__).parents[1] / "templates")
# The pages of the navigation, by the page that is shown: its name there.
NAVIGATION = (
    ("nights", "./", "Nights"), ("flags", "flags", "Flags"), ("boards", "boards", "Leaderboards"),
    ("quarantine", "quarantine", "Quarantine"), ("reviews", "reviews", "Decisions"),
)  # fmt: skip
_BELONGS_TO = {
    "night": "nights", "game": "flags", "game_page": "flags", "game_aside": "flags", "bulk": "flags", "decided": "flags",
    "restated": "reviews",
}  # fmt: skip
# So many waiting decisions are looked at; beyond it a page says "more than".
WAITING_SHOWN = 500


# --- The lake ------------------------------------------------------------------------------------------------------------


@contextmanager
def lake_of(request: Request, *kinds: str) -> Iterator[Lake]:
    """The lake of the app, as it is published now, with ``kinds`` (``Lake.refresh``) at hand; nothing is held after it.

    Raises InputError for a lake that is not there.
    """
    with open_lake(request.app.state.settings.lake) as lake:
        lake.refresh(*dict.fromkeys((*kinds, "standings")))
        if not lake.exists():
            raise InputError(f"{lake.name}: no such lake, name the folder that holds logs/day=.../")
        request.state.lake = lake
        # From here on: what is published meanwhile is another request's.
        request.state.warehouse = lake.current_warehouse() if (lake.warehouse / "CURRENT").exists() else None
        try:
            yield lake
            if request.method == "POST":
                # It may have published standings itself.
                request.state.warehouse = None
            request.state.frame = frame(request, lake)
        finally:
            # Of a lake on an object store nothing is left here now.
            request.state.lake = request.state.warehouse = None


def warehouse(request: Request, lake: Lake) -> Path:
    """The warehouse of a request, the same for all that it reads, whatever is published meanwhile.

    Raises InputError when no night has published one.
    """
    found = getattr(request.state, "warehouse", None)
    if found is None:
        found = request.state.warehouse = lake.current_warehouse()
    assert isinstance(found, Path)
    return found


@dataclass(frozen=True)
class Frame:
    """How old the data of a page is: the newest day in the standings (None: none are published), how many days ago that was, how
    many games were decided since (``waiting``, at most WAITING_SHOWN) and groups released, and one sentence when that cannot be
    told."""

    as_of: date | None = None
    days_ago: int | None = None
    waiting: int = 0
    released: int = 0
    problem: str | None = None
    most_shown: int = WAITING_SHOWN


def frame(request: Request, lake: Lake) -> Frame:
    """How old the data of this request is; a few milliseconds.  Never fails: every page has it."""
    if not (lake.warehouse / "CURRENT").exists():
        # A lake without standings is no fault; a page that needs them says so itself.
        return Frame()
    as_of = days_ago = None
    try:
        published = publication(warehouse(request, lake))
        as_of = published["as_of"]
        days_ago = None if as_of is None else (datetime.now(UTC).date() - as_of).days
        waiting = waiting_decisions(lake, published["reviews_through"] or 0)
        return Frame(as_of, days_ago, waiting, waiting_releases(lake, published["releases_through"] or 0))
    except ReplayError as error:
        return Frame(as_of, days_ago, problem=str(error))


_publications: OrderedDict[tuple[str, int], dict[str, Any]] = OrderedDict()


def publication(path: Path) -> dict[str, Any]:
    """The row of ``publication`` of a warehouse; its file never changes, so the row is kept.  Raises InputError."""
    from replay.standings import query_publication

    try:
        key = (str(path), path.stat().st_mtime_ns)
    except OSError as error:
        raise InputError(f"{path}: these standings were just replaced, load the page again") from error
    found = _publications.get(key)
    if found is None:
        # Kept in a variable as well: another request may push it out meanwhile.
        found = _publications[key] = dict(query_publication(path))
        while len(_publications) > 8:
            _publications.popitem(last=False)
    return found


def waiting_decisions(lake: Lake, through: int) -> int:
    """The number of games whose standing decision is another one than the standings of the decisions up to ``through`` know."""
    from replay.reviews.model import standing_decision
    from replay.reviews.store import open_reviews

    with open_reviews(lake) as store:
        if store.last_id() <= through:
            return 0
        new = [d for d in store.decisions(newest_first=True, limit=WAITING_SHOWN + 1) if d.id > through and d.action != "note"]
        subjects = {decision.subject for decision in new}
        by_subject: dict[str, list[Any]] = {subject: [] for subject in subjects}
        for decision in store.decisions(subjects):
            by_subject.setdefault(decision.subject, []).append(decision)
    changed = 0
    for found in by_subject.values():
        before, now = standing_decision([d for d in found if d.id <= through]), standing_decision(found)
        changed += (before.id if before else 0) != (now.id if now else 0)
    return changed


def waiting_releases(lake: Lake, through: int) -> int:
    """The number of groups that stand otherwise than the standings of the releases up to ``through`` know."""
    from replay.reviews.incidents import releases_in_force
    from replay.reviews.releases import waiting_groups
    from replay.reviews.store import open_reviews

    with open_reviews(lake) as store:
        return waiting_groups(releases_in_force(lake, store.releases()), through)


# --- Texts ---------------------------------------------------------------------------------------------------------------


def utc(value: datetime | int | str | None) -> str:
    """A time (a datetime, of UTC when it names no zone, microseconds since 1970, or ISO 8601) as "2026-10-31 14:05:07 UTC"."""
    if value is None:
        return "-"
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, int):
        try:
            value = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
        except OverflowError:
            return f"{value:,} µs since 1970"
    if value.tzinfo is not None:
        value = value.astimezone(UTC)
    return f"{value:%Y-%m-%d %H:%M:%S} UTC"


def number(value: float | None, digits: int = 0) -> str:
    """1,234, or with ``digits`` behind the point; "-" for None."""
    return "-" if value is None else f"{value:,.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share of one as "12.3 %"; "-" for None."""
    return "-" if share is None else f"{100 * share:,.{digits}f} %"


def per_thousand(part: int | None, whole: int | None) -> str:
    """``part`` of ``whole`` per thousand, "4.5"; "-" where there is nothing to divide by."""
    return "-" if part is None or not whole else f"{1000 * part / whole:,.1f}"


def shown(value: object) -> str:
    """A value of a request as a sentence shows it: in quotes, harmless to the eye, cut."""
    return f"'{visible(str(value))}'"


def sentence(text: str) -> str:
    """A text as a sentence of a page: a capital letter in front, unless a name stands there, and a full stop behind."""
    text = text.strip()
    # "lake/logs: no such file" and "lake: no such lake": another letter would be another folder.
    first = text.partition(" ")[0]
    if first.isalpha():
        text = text[:1].upper() + text[1:]
    return text + ("" if text.endswith((".", "!", "?")) else ".")


def query(**parameters: object) -> str:
    """``?name=value&…`` for a relative link, without what is None or empty; "" when nothing is left.  For ``href`` as it is: the
    template escapes it."""
    left = [(name, str(value)) for name, value in parameters.items() if value is not None and value != ""]
    # A lone surrogate, which no file of ours can hold, must not stop a page.
    return "?" + urlencode(left, errors="replace") if left else ""


def day_parameter(text: str | None, name: str = "day") -> date | None:
    """A day of the address; None when it was left out or empty.  Raises UsageError."""
    if not text:
        return None
    try:
        found = date.fromisoformat(text)
        if found.isoformat() != text:
            raise ValueError
    except ValueError:
        raise UsageError(f"parameter {name} {shown(text)} is no day, write it as YYYY-MM-DD") from None
    return found


def number_parameter(text: str | None, name: str, default: int, least: int = 0, most: int = 10**9) -> int:
    """A whole number of the address.  Raises UsageError."""
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        raise UsageError(f"parameter {name} {shown(text)} is no whole number from {least:,} to {most:,}")
    return int(text)


# --- Pages ---------------------------------------------------------------------------------------------------------------


@cache
def environment() -> Environment:
    """The templates.  Everything is escaped; ``visible`` makes players' texts harmless to the eye as well."""
    from replay.dashboard.assets import address

    env = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    env.filters |= {"visible": visible, "utc": utc, "number": number, "percent": percent}
    env.globals |= {"asset": address, "navigation": NAVIGATION, "per_thousand": per_thousand, "query": query}
    return env


def render(request: Request, template: str, status: int = 200, /, **context: Any) -> HTMLResponse:
    """A page: ``template`` with ``context``, the person who looks, the age of its data, the token of its forms, and the
    page's own name for the navigation."""
    name = template.partition(".")[0]
    open_now = getattr(request.state, "lake", None)
    if "frame" not in context:
        context["frame"] = frame(request, open_now) if open_now is not None else getattr(request.state, "frame", None)
    settings = request.app.state.settings
    shared: Mapping[str, Any] = {
        "person": getattr(request.state, "person", None), "page": _BELONGS_TO.get(name, name), "up": "",
        "form_token": forms.form_token(request), "public_style": settings.public_style, "lake_name": settings.lake,
        "log_out": settings.log_out, "title": "",
    }  # fmt: skip
    answer = HTMLResponse(environment().get_template(template).render({**shared, **context}), status)
    forms.remember(request, answer)
    return answer


def error_page(request: Request, status: int, told: str) -> HTMLResponse:
    """A page that says in one sentence what is wrong."""
    return render(
        request, "error.html.j2", status, title=_TITLES.get(status, "This did not work"), code=status,
        sentence=sentence(told), frame=None, up=_way_up(request), login=_login(request) if status == 401 else None,
    )  # fmt: skip


def _login(request: Request) -> str | None:
    """Where to log in, and to come back here afterwards."""
    link: str | None = request.app.state.settings.login
    here = request.scope["path"].rpartition("/")[2] + (f"?{request.url.query}" if request.url.query else "")
    return link and link.replace("{then}", quote(here, safe=""))


_TITLES = {
    400: "This request cannot be answered", 401: "Log in first", 403: "Not allowed", 404: "Not found", 405: "Not here",
    409: "Not now", 413: "Too large", 500: "An error of ours",
}  # fmt: skip


def _way_up(request: Request) -> str:
    """From an unknown path below the app back to its front page, as a relative link's beginning."""
    inside = str(request.scope["path"]).removeprefix(str(request.scope.get("root_path", "")))
    return "../" * max(inside.count("/") - 1, 0)
