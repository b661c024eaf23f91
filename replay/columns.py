"""Columns of uploaded games as the batch engine takes them, and the rows that could not be taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.batch import TextColumn
from replay.record import FIELDS, INTEGER, OPTIONAL_NAMES, TEXT, TIME, Record, nations
from replay.scan_kernel import COLUMN

Ints = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
TEXT_FIELDS = tuple(name for name, kind in FIELDS.items() if kind == TEXT)
NUMBER_FIELDS = tuple(name for name, kind in FIELDS.items() if kind in (INTEGER, TIME))


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One record that was not taken: 1-based line (row in Parquet), a code of MalformedRecord, the reason in words."""

    line: int
    code: str
    reason: str
    game_id: str | None = None


@dataclass
class RecordBatch:
    """Records in the input's order: ``texts`` and ``numbers`` by field, ``lines`` their 1-based line or row numbers.

    A null nation has start and end -1.  ``given`` says of the optional fields, which are ``numbers`` too (0 where they are not
    given), which rows claim them.  ``quarantined`` are the lines of the same stretch of input that were not taken, and
    ``scanned`` how many lines (blank ones included) the stretch had, so that the next one knows where it begins; ``received``
    counts the records in it, taken or not.
    """

    texts: dict[str, TextColumn]
    numbers: dict[str, Ints]
    given: dict[str, Truths]
    lines: Ints
    quarantined: list[Quarantined]
    scanned: int
    received: int

    def __len__(self) -> int:
        return len(self.lines)

    def text(self, field: str, row: int) -> str | None:
        """One text value, None for a null."""
        column = self.texts[field]
        if column.starts[row] < 0:
            return None
        return column.data[column.starts[row] : column.ends[row]].tobytes().decode("utf-8")

    def record(self, row: int) -> Record:
        """One row as a Record, for the few that are judged one by one."""
        values: dict[str, object] = {field: self.text(field, row) for field in TEXT_FIELDS}
        values |= {field: int(self.numbers[field][row]) for field in NUMBER_FIELDS}
        values |= {field: int(self.numbers[field][row]) for field in OPTIONAL_NAMES if self.given[field][row]}
        return Record(**values)  # type: ignore[arg-type]


def empty_batch(quarantined: list[Quarantined], scanned: int) -> RecordBatch:
    """A stretch of ``scanned`` lines of which nothing was taken."""
    none, nothing = np.zeros(0, np.int64), np.frombuffer(b"", np.uint8)
    texts = {name: TextColumn(nothing, none, none) for name in TEXT_FIELDS}
    numbers = dict.fromkeys((*NUMBER_FIELDS, *OPTIONAL_NAMES), none)
    given = dict.fromkeys(OPTIONAL_NAMES, np.zeros(0, np.bool_))
    return RecordBatch(texts, numbers, given, none, quarantined, scanned, len(quarantined))


def nation_table() -> npt.NDArray[np.bool_]:
    """26 x 26 truth table of the two-letter codes of seeds/nations.csv."""
    table = np.zeros((26, 26), np.bool_)
    for code in nations():
        table[ord(code[0]) - 65, ord(code[1]) - 65] = True
    return table


class RecordAppender:
    """Records that were read one by one, laid out behind a chunk's own bytes so that both kinds share columns."""

    def __init__(self, offset: int) -> None:
        self._offset, self._bytes = offset, bytearray()

    def place(self, record: Record, row: int, starts: Ints, ends: Ints, numbers: Ints) -> None:
        """Write one record's values to column ``row`` of the (field, row) arrays."""
        for field in TEXT_FIELDS:
            value = getattr(record, field)
            index = COLUMN[field]
            if value is None:
                starts[index, row] = ends[index, row] = -1
                continue
            starts[index, row] = self._offset + len(self._bytes)
            self._bytes += value.encode("utf-8")
            ends[index, row] = self._offset + len(self._bytes)
        for field in NUMBER_FIELDS:
            numbers[COLUMN[field], row] = getattr(record, field)
        for field in OPTIONAL_NAMES:
            value = getattr(record, field)
            starts[COLUMN[field], row] = -1 if value is None else 0
            numbers[COLUMN[field], row] = value or 0

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The bytes that were placed."""
        return np.frombuffer(bytes(self._bytes), np.uint8)
