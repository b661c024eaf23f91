"""Uploads drawn by Hypothesis: logs from each game's notation and beside it, claims at the edges or as the log earns them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from replay.errors import MalformedRecord
from replay.record import parse_record
from tests.fuzz.claims import reclaimed
from tests.fuzz.mutate import DAYS, DELAYS, NUMBERS, TEXTS, TIMES, sound, tokens_of
from tests.replay.night_support import as_object

SPACES = st.sampled_from(["", "", "", "", " ", "\t", "\n", "\v", "\f", "\r"])
TICKS = st.one_of(st.integers(0, 60), st.sampled_from(DELAYS)).map(str) | st.just("")
TOKENS: dict[str, st.SearchStrategy[str]] = {
    "blocks": st.builds("{}{}{}".format, st.integers(0, 4), st.sampled_from("abcdefghi"), st.integers(0, 9)) | st.just("*"),
    "tetromino": st.builds("{}{}".format, TICKS, st.sampled_from("lrxzdhcq")),
    "tetcolor": st.builds("{}{}".format, TICKS, st.sampled_from("lrxzdhc")),
}
NUMBER = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -1, 2**31, 2**53 + 1])
WRONG = st.one_of(
    st.none(), st.booleans(), st.floats(), st.text(max_size=20), st.lists(st.integers(), max_size=2), st.integers(2**63, 2**70)
)  # fmt: skip
# Around the limits of texts.
LONG = st.sampled_from(["x" * 1024, "x" * 1025, "\u00e9" * 512, "\u00e9" * 513, "1" * 16_384, "1" * 16_385, "\u00e9" * 8193])


@st.composite
def uploads(draw: st.DrawFn) -> dict[str, Any]:
    """A record of a recorded day with a drawn log and drawn claims."""
    record = draw(st.sampled_from([record for day in DAYS[:3] for record in sound(day)]))
    found = as_object(record)
    tokens = tokens_of(record)
    cut = draw(st.integers(0, len(tokens)))
    more = draw(st.lists(st.builds("{}{}".format, SPACES, TOKENS[record.game]), max_size=30))
    found["moves"] = "".join(tokens[:cut] + more) + draw(SPACES)
    if draw(st.integers(0, 20)) == 0:
        found["moves"] = draw(st.text(max_size=60))
    if draw(st.booleans()):
        found = _honest(found)
    for name in draw(st.sets(st.sampled_from(["score", "best_combo", "attempt", "level", "lines"]), max_size=2)):
        found[name] = draw(NUMBER)
    for name in draw(st.sets(st.sampled_from(sorted(found)), max_size=1)):
        if draw(st.integers(0, 3)) == 0:
            found[name] = draw(WRONG | LONG | st.sampled_from(TIMES))
    return found


def _honest(found: dict[str, Any]) -> dict[str, Any]:
    try:
        return as_object(reclaimed(parse_record(json.dumps(found).encode())))
    except MalformedRecord:
        return found


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """An upload as a line, sometimes with something put into its bytes."""
    text = json.dumps(draw(uploads()), ensure_ascii=draw(st.booleans()))
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(NUMBERS + TEXTS)) + text[at:]
    return text.encode("utf-8", "surrogatepass").replace(b"\n", b" ")


files = st.lists(lines() | st.binary(max_size=40), max_size=4).map(b"\n".join).map(lambda data: {"0.ndjson": data})
