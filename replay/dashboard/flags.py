"""Flags: what speaks against uploaded games, to filter, sort, page through, decide on and take away as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from replay.dashboard import views
from replay.dashboard.export import csv_response
from replay.errors import UsageError
from replay.flags import KINDS, SORTS, FlagFilter, FlagPage, filter_words, parse_filter, query_flags, stream_flags
from replay.present import short_reason
from replay.record import GAMES
from replay.reviews.model import STATES, Decision
from replay.reviews.words import fact_words
from replay.verdict import REASON_CODES, SUSPICION_CODES

if TYPE_CHECKING:
    from replay.lake import Lake

router = APIRouter()
PAGE_ROWS, MOST_ROWS = 50, 200
# Proof and hint are never mixed: what does not come out as uploaded, and what does but looks unusual; nor is either with what is
# held back, as its app version looks broken.
KIND_WORDS = {"flagged": "Does not reproduce", "withheld": "Held back", "suspected": "Looks unusual"}
# The functions that templates/list_parts.html.j2 says things with.
WORDS = {"short_reason": short_reason, "fact_words": fact_words}
SORT_WORDS = {
    "day": "Day", "player": "Player", "app_version": "App version", "score": "Claimed", "difference": "Difference",
}  # fmt: skip


@dataclass(frozen=True)
class Wish:
    """What an address asks for: the filter, the order, and how many rows of which page (from 1)."""

    wanted: FlagFilter
    sort: str
    descending: bool
    page: int
    size: int

    def words(self) -> dict[str, str]:
        """The filter and the order as parameters of an address, without what goes without saying."""
        order = {} if (self.sort, self.descending) == ("day", True) else {"sort": self.sort, "order": _ORDER[self.descending]}
        size = {} if self.size == PAGE_ROWS else {"size": str(self.size)}
        return {**filter_words(self.wanted), **order, **size}


_ORDER = {True: "desc", False: "asc"}


def read_wish(request: Request) -> Wish:
    """The wish of an address; without a kind it is for games that do not reproduce.  Raises UsageError."""
    given = dict(request.query_params)
    wanted = parse_filter({"kind": "flagged", **{name: value for name, value in given.items() if value}})
    sort, order = given.get("sort") or "day", given.get("order") or "desc"
    if sort not in SORTS:
        raise UsageError(f"parameter sort {views.shown(sort)} is no way to sort, it must be one of {', '.join(SORTS)}")
    if order not in _ORDER.values():
        raise UsageError(f"parameter order {views.shown(order)} is no order, it must be desc or asc")
    page = views.number_parameter(given.get("page"), "page", 1, 1)
    return Wish(wanted, sort, order == "desc", page, views.number_parameter(given.get("size"), "size", PAGE_ROWS, 1, MOST_ROWS))


@router.get("/flags")
def flags(request: Request) -> HTMLResponse:
    """The list, with what it can be narrowed to."""
    wish = read_wish(request)
    with views.lake_of(request) as lake:
        found = query_flags(
            views.warehouse(request, lake), decisions_of(lake), wish.wanted, sort=wish.sort, descending=wish.descending,
            limit=wish.size, offset=(wish.page - 1) * wish.size,
        )  # fmt: skip
    words = wish.words()
    return views.render(
        request, "flags.html.j2", title="Flags", wish=wish, found=found, words=words,
        filter_words=filter_words(wish.wanted), tabs=_tabs(words, found), facets=_facets(words, found), sorts=_sorts(words, wish),
        pager=pages("flags", words, wish.page, wish.size, found.total), in_force=_in_force(words),
        choices={"game": GAMES, "reason": REASON_CODES, "suspicion": SUSPICION_CODES, "state": STATES}, **WORDS,
    )  # fmt: skip


def decisions_of(lake: Lake) -> list[Decision]:
    """Every decision on the lake, oldest first."""
    from replay.reviews.store import open_reviews

    with open_reviews(lake) as store:
        return store.decisions()


# --- Links ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Link:
    """A link with its words and, where it narrows a list, how many rows it would leave; ``current`` when it is in force."""

    href: str
    words: str
    count: int | None = None
    current: bool = False


def _to(words: Mapping[str, str], **changes: str | None) -> str:
    """A link to the list with some wishes changed (None: dropped)."""
    return "flags" + views.query(**{**words, **changes})


def _tabs(words: dict[str, str], found: FlagPage) -> list[Link]:
    counts = {facet.wish["kind"]: facet.uploads for facet in found.facets["kind"]}
    return [
        Link(
            _to(words, kind=kind, **({"reason": None} if kind == "suspected" else {})), KIND_WORDS[kind], counts.get(kind, 0),
            words["kind"] == kind,
        )
        for kind in KINDS
        # Hardly ever is anything held back.
        if kind != "withheld" or counts.get(kind) or words["kind"] == kind
    ]  # fmt: skip


def _facets(words: dict[str, str], found: FlagPage) -> list[tuple[str, list[Link]]]:
    """What the list can be narrowed to; a link that is in force takes its wish back."""
    out = []
    for facet, heading in (("reason", "Reason"), ("suspicion", "Looks unusual"), ("state", "Review"), ("client", "Client")):
        links = []
        for value in found.facets[facet]:
            if "" in value.wish.values():
                # An empty text in an address wishes nothing.
                continue
            current = all(words.get(name) == text for name, text in value.wish.items())
            name = " ".join(value.wish.values())
            change: dict[str, str | None] = {key: None if current else text for key, text in value.wish.items()}
            links.append(Link(_to(words, **change), name, value.uploads, current))
        if links:
            out.append((heading, links))
    return out


def _sorts(words: dict[str, str], wish: Wish) -> dict[str, Link]:
    """The headings that sort; the one in force turns the order round."""
    links = {}
    for name, heading in SORT_WORDS.items():
        current = name == wish.sort
        # Texts begin at their beginning, days and numbers with the newest and largest.
        down = not wish.descending if current else name not in ("player", "app_version")
        links[name] = Link(_to(words, sort=name, order=_ORDER[down]), heading, current=current)
    return links


def _in_force(words: dict[str, str]) -> list[Link]:
    """The wishes that narrow the list, each as the link that drops it."""
    names = {"from": "from", "to": "to", "app_version": "app version", "game_id": "game id"}
    shown = [name for name in words if name not in ("kind", "sort", "order", "size")]
    return [Link(_to(words, **{name: None}), f"{names.get(name, name)}: {words[name]}") for name in shown]


@dataclass(frozen=True)
class Pages:
    """Where a page of a list stands: rows ``first`` to ``last`` (from 1) of ``total``, and the links beside it (None: none)."""

    first: int
    last: int
    total: int
    start: str | None
    previous: str | None
    next: str | None


def pages(path: str, words: Mapping[str, object], page: int, size: int, total: int, name: str = "page", at: str = "") -> Pages:
    """The pager of page number ``page`` (from 1); ``name`` is its parameter, ``at`` the part of the page that links lead to."""

    def to(number: int) -> str:
        return path + views.query(**{**words, name: None if number == 1 else number}) + at

    newest = -(-total // size)
    previous = to(min(page - 1, max(newest, 1))) if page > 1 else None
    first = (page - 1) * size + 1
    following = to(page + 1) if page * size < total else None
    return Pages(first, min(page * size, total), total, to(1) if page > 2 else None, previous, following)


# --- The table to take away ----------------------------------------------------------------------------------------------

COLUMNS = (
    "day", "game_id", "player_id", "player_kind", "nation", "game", "mode", "rules", "challenge", "attempt", "platform",
    "app_version", "started_at", "finished_at", "uploaded_at", "score", "replayed_score", "difference", "best_combo",
    "replayed_best_combo", "moves", "verdict", "reasons", "in_words", "suspicions", "review", "reviewer", "decided_at",
    "decision", "source_file", "source_line",
)  # fmt: skip


@router.get("/flags.csv")
def flags_csv(request: Request) -> Response:
    """All rows of a filter as comma-separated values, sent while they are read."""
    wish = read_wish(request)
    with views.lake_of(request) as lake:
        as_of = views.publication(views.warehouse(request, lake))["as_of"]
    kind = {"flagged": "flags", "withheld": "held-back", "suspected": "unusual"}[wish.wanted.kind or "flagged"]
    days = (wish.wanted.day_from or as_of, wish.wanted.day_to or as_of)
    span = dict.fromkeys(day.isoformat() for day in days if day is not None)
    return csv_response("-".join([kind, *span]) + ".csv", COLUMNS, _csv_rows(request, wish))


def _csv_rows(request: Request, wish: Wish) -> Iterator[list[object]]:
    # The lake is opened here once more: on a store its files are there as long as somebody reads them, and no longer.
    with views.lake_of(request) as lake:
        warehouse, decisions = lake.current_warehouse(), decisions_of(lake)
        for row in stream_flags(warehouse, decisions, wish.wanted, sort=wish.sort, descending=wish.descending):
            yield [_csv_value(row, column) for column in COLUMNS]


def _csv_value(row: Mapping[str, Any], column: str) -> object:
    decision = row["review"].decision
    if column == "reasons":
        return [reason["code"] for reason in row["reasons"]]
    if column == "in_words":
        return "; ".join(short_reason(reason) for reason in row["reasons"])
    if column == "review":
        return row["review"].state
    if column in ("reviewer", "decided_at", "decision"):
        field = {"reviewer": "reviewer", "decided_at": "at", "decision": "reason"}[column]
        value = None if decision is None else getattr(decision, field)
        # Without its zone, as all times of the table: spreadsheets know none.
        return value.replace(tzinfo=None) if column == "decided_at" and value is not None else value
    return row[column]
