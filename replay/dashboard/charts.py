"""Trend charts of the nights, drawn here as SVG: light and dark, wide and for a phone, each with its words beside it.

No two lines share a panel, so that nothing has to be told apart by its colour; every panel names itself and its numbers, and the
table of the nights holds them all.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from replay.dashboard import views
from replay.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

ALL = "all flagged games"
_KEPT = 64
# Part of every chart's address: a chart that is drawn differently is another one.
_DRAWN = 4


class OneNight(Protocol):
    """What a chart needs of a night (``replay.dashboard.nights.Night``)."""

    @property
    def day(self) -> date: ...
    @property
    def run(self) -> Mapping[str, Any] | None: ...
    @property
    def games(self) -> int | None: ...
    @property
    def seconds(self) -> float | None: ...


@dataclass(frozen=True)
class Series:
    """The nights of a chart, oldest first: flagged games per 1,000, all of them and by reason, the most frequent one first;
    records, quarantined records, and seconds (None where they were not measured)."""

    days: tuple[date, ...]
    reasons: tuple[tuple[str, tuple[float, ...]], ...]
    records: tuple[int, ...]
    quarantined: tuple[int, ...]
    seconds: tuple[float | None, ...]


@dataclass(frozen=True)
class Look:
    """How a chart is drawn: colours on the card of base.css, and whether it must do with the width of a phone."""

    theme: str
    small: bool
    text: str
    soft: str
    line: str
    colours: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """A chart on a page: its title, the words that say the same, a line to stand below it, and what its addresses are made of."""

    kind: str
    title: str
    words: str
    below: str
    version: str
    skip: int

    def address(self, theme: str, size: str) -> str:
        return "chart.svg" + views.query(name=self.kind, theme=theme, size=size, skip=self.skip or None, v=self.version)


KINDS = ("flags", "records", "seconds")
_TITLES = {
    "flags": "Flagged games per 1,000, by reason",
    "records": "Records received, and of them quarantined",
    "seconds": "Seconds of work a night",
}
_BELOW = {
    "flags": "Each panel has a scale of its own; the dashes are the mean.",
    "records": "The numbers are in the table of the nights.",
    "seconds": "All steps and shards together; the numbers are in the table of the nights.",
}
_LIGHT = Look(
    "light", False, "#1b2130", "#525c70", "#c9cfdb", ("#0063a6", "#c44900", "#00795a")
)
_DARK = Look(
    "dark", False, "#e8ebf2", "#a9b2c4", "#3d4658", ("#6cb8f0", "#ff9a5c", "#4fd1a5")
)
LOOKS = {
    (look.theme, size): Look(**{**look.__dict__, "small": size == "small"})
    for look in (_LIGHT, _DARK)
    for size in ("wide", "small")
}


def kind_of(name: str) -> str:
    """The chart that an address names.  Raises UsageError."""
    if name not in KINDS:
        raise UsageError(f"parameter name {views.shown(name)} is no chart, it must be one of {', '.join(KINDS)}")
    return name


def look_of(theme: str, size: str) -> Look:
    """The look that an address names.  Raises UsageError."""
    if (theme, size) not in LOOKS:
        given = f"theme {views.shown(theme)} and size {views.shown(size)}"
        raise UsageError(f"parameters {given} are no look, write light or dark, and wide or small")
    return LOOKS[theme, size]


def series_of(nights: Sequence[OneNight]) -> Series:
    """The published ones of the nights, in any order, as a chart shows them."""
    found = sorted((night for night in nights if night.run is not None), key=lambda night: night.day)
    runs = [night.run for night in found if night.run is not None]
    sums: Counter[str] = Counter()
    for run in runs:
        sums.update(run["reasons"])
    named = sorted(sums, key=lambda code: (-sums[code], code))

    def rates(flagged: Sequence[int]) -> tuple[float, ...]:
        return tuple(round(1000 * part / (night.games or 1), 3) for night, part in zip(found, flagged, strict=True))

    reasons = [(ALL, rates([run["verdicts"]["flagged"] for run in runs]))]
    reasons += [(code, rates([run["reasons"].get(code, 0) for run in runs])) for code in named]
    return Series(
        tuple(night.day for night in found), tuple(reasons), tuple(run["records"] for run in runs),
        tuple(run["quarantined"] for run in runs), tuple(night.seconds for night in found),
    )  # fmt: skip


def version_of(kind: str, series: Series) -> str:
    """A hash of what the chart shows: its address is another one when it shows something else."""
    return hashlib.sha256(repr((_DRAWN, kind, series)).encode("utf-8")).hexdigest()[:16]


def shown(kind: str, series: Series, skip: int) -> Shown:
    """A chart with its title and the words that say the same to whoever does not see it."""
    span = f"{len(series.days)} nights, {series.days[0]} to {series.days[-1]}."
    below = f"{span} {_BELOW[kind]}"
    return Shown(kind, _TITLES[kind], f"{span} {_words(kind, series)}", below, version_of(kind, series), skip)


def _words(kind: str, series: Series) -> str:
    if kind == "flags":
        last = [f"{code} {rates[-1]:,.1f} (mean {sum(rates) / len(rates):,.1f})" for code, rates in series.reasons]
        return f"On the last: {', '.join(last)}."
    if kind == "records":
        return (
            f"Records: {series.records[-1]:,} on the last, {min(series.records):,} to {max(series.records):,} in all;"
            f" quarantined: {series.quarantined[-1]:,} on the last, {max(series.quarantined):,} at most."
        )
    measured = [seconds for seconds in series.seconds if seconds is not None]
    if not measured:
        return "None of them was measured."
    return f"{measured[-1]:,.1f} on the last measured, {min(measured):,.1f} to {max(measured):,.1f} in all."


# --- Drawing ---------------------------------------------------------------------------------------------------------------

_drawn: OrderedDict[tuple[str, Series, Look], bytes] = OrderedDict()
_lock = threading.Lock()


def draw(kind: str, series: Series, look: Look) -> bytes:
    """The chart as SVG; kept, as it is a function of its arguments."""
    key = (kind, series, look)
    with _lock:
        if key not in _drawn:
            import vl_convert

            chart = {"flags": _flags, "records": _records, "seconds": _seconds}[kind](series, look)
            # Not held against its schema each time, which takes longer than to draw it: a test does that.
            spec = _framed(chart, look).to_dict(validate=False)
            _drawn[key] = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode("utf-8")
            while len(_drawn) > _KEPT:
                _drawn.popitem(last=False)
        return _drawn[key]


def _framed(chart: Any, look: Look) -> Any:
    size = 12 if look.small else 13
    return (
        chart.configure(background="transparent", font="sans-serif", padding=4)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=look.soft, titleColor=look.soft, gridColor=look.line, domainColor=look.line, tickColor=look.line,
            labelFontSize=size, titleFontSize=size, titleFontWeight="normal", gridOpacity=0.7,
        )
        .configure_title(color=look.soft, fontSize=size, fontWeight="normal", anchor="start", offset=6)
    )  # fmt: skip


def _days(series: Series, look: Look, ticks: int) -> Any:
    import altair as alt

    # Whole days: a night that is missing leaves its place empty.  Ticks stand under days that are there, the last one too.
    step = max((len(series.days) - 1) // ticks, 1)
    at = [alt.DateTime(year=day.year, month=day.month, date=day.day, utc=True) for day in series.days[::-step]]
    axis = alt.Axis(format="%d %b", values=at, grid=False, labelAngle=0, title=None, labelOverlap=True, labelFlush=True)
    return alt.X("day:T", axis=axis, scale=alt.Scale(type="utc"), timeUnit=alt.TimeUnitParams(unit="yearmonthdate", utc=True))


def _flags(series: Series, look: Look) -> Any:
    """One small panel a reason, each on a scale of its own: a rare reason that jumps is seen beside a frequent one."""
    import altair as alt

    titles = {name: _told(name, rates) for name, rates in series.reasons}
    rows = [
        {"panel": titles[name], "day": day.isoformat(), "rate": rate, "mean": sum(rates) / len(rates), "kind": name == ALL}
        for name, rates in series.reasons
        for day, rate in zip(series.days, rates, strict=True)
    ]
    columns, size = (1, (290, 44)) if look.small else (3, (330, 64))
    y = alt.Y("rate:Q", axis=alt.Axis(title=None, tickCount=2, format=",~r", minExtent=34), scale=alt.Scale(zero=True))
    colour = alt.Color("kind:N", scale=alt.Scale(domain=[False, True], range=list(look.colours[:2])), legend=None)
    base = alt.Chart(width=size[0], height=size[1]).encode(x=_days(series, look, 3))
    layers = (
        base.mark_area(opacity=0.18).encode(y=y, color=colour),
        base.mark_line(color=look.soft, strokeDash=[4, 3], strokeWidth=1).encode(y="mean:Q"),
        base.mark_line(strokeWidth=2).encode(y=y, color=colour),
    )
    header = alt.Header(
        title=None, labelExpr="split(datum.label, '|')", labelAnchor="start", labelAlign="left", labelColor=look.text,
        labelFontSize=12, labelPadding=4,
    )  # fmt: skip
    panels = alt.Facet("panel:N", sort=list(titles.values()), header=header)
    # Each panel has its own days below it: in a long column nobody looks for them at its end.
    charts = alt.layer(*layers, data=alt.Data(values=rows)).facet(panels, columns=columns, spacing={"row": 14, "column": 34})
    return charts.resolve_scale(y="independent").resolve_axis(x="independent")


def _told(name: str, rates: tuple[float, ...]) -> str:
    return f"{name}|last {rates[-1]:,.1f}, mean {sum(rates) / len(rates):,.1f}, most {max(rates):,.1f}"


def _bars(series: Series, values: Sequence[float | None], look: Look, colour: str, title: str, size: tuple[int, int]) -> Any:
    import altair as alt

    rows = [
        {"day": day.isoformat(), "value": value} for day, value in zip(series.days, values, strict=True) if value is not None
    ]
    width = max(3, int(0.7 * size[0] / max((series.days[-1] - series.days[0]).days + 1, 1)))
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(color=colour, size=min(width, 40))
        .encode(x=_days(series, look, 4), y=alt.Y("value:Q", axis=alt.Axis(title=None, tickCount=4, format=",~r")))
        .properties(width=size[0], height=size[1], title=title)
    )


def _records(series: Series, look: Look) -> Any:
    import altair as alt

    width = 270 if look.small else 480
    records = _bars(series, series.records, look, look.colours[0], "records received", (width, 110))
    quarantined = _bars(series, series.quarantined, look, look.colours[1], "of them quarantined", (width, 60))
    return alt.vconcat(records, quarantined, spacing=12).resolve_scale(x="shared")


def _seconds(series: Series, look: Look) -> Any:
    size = (270 if look.small else 480, 223)
    return _bars(series, series.seconds, look, look.colours[2], "seconds, all steps and shards", size)
