"""The games that benchmarks run on: simulated once into a folder that git ignores, and kept."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import numpy as np

from engine.batch import TextColumn

DAY = date(2026, 10, 31)
FORGED = 0.002


def simulated_day(folder: Path, games: int) -> tuple[Path, Path]:
    """(NDJSON file, Parquet file) of one simulated day; two forgeries in a thousand, as on a bad day."""
    from replay.challenges import load_challenges
    from replay.rulebook import load_rulebook
    from replay.simulate import simulate

    home = folder / f"{games}-games"
    ndjson, parquet = home / "day.ndjson", home / "day.parquet"
    if parquet.exists():
        return ndjson, parquet
    shutil.rmtree(home, ignore_errors=True)
    rulebook = load_rulebook()
    simulate(
        home / "lake", [DAY], games, challenges=load_challenges(None, rulebook), rulebook=rulebook, rng_seed=1,
        forged_share=FORGED, formats=("ndjson",),
    )  # fmt: skip
    with ndjson.open("wb") as out:
        for path in sorted((home / "lake" / "logs" / f"day={DAY}").iterdir()):
            with path.open("rb") as piece:
                shutil.copyfileobj(piece, out)
    shutil.rmtree(home / "lake")
    write_parquet(ndjson, parquet)
    return ndjson, parquet


def text_column(texts: list[str]) -> TextColumn:
    """ASCII texts one after the other, as a reader of files lays them out."""
    sizes = np.array([len(text) for text in texts], np.int64)
    ends = np.cumsum(sizes)
    return TextColumn(np.frombuffer("".join(texts).encode(), np.uint8).copy(), ends - sizes, ends)


def write_parquet(ndjson: Path, parquet: Path) -> None:
    """The records of an NDJSON file that can be taken, as Parquet with the same columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from replay.columns import NUMBER_FIELDS, TEXT_FIELDS
    from replay.ndjson import read_chunks, scan_chunk
    from replay.record import FIELDS, TIME
    from replay.verify import arrow_text

    writer = None
    aside = parquet.with_suffix(".writing")
    for chunk in read_chunks(ndjson):
        batch = scan_chunk(chunk)
        columns: dict[str, pa.Array] = {name: arrow_text(batch.texts[name]) for name in TEXT_FIELDS}
        for name in NUMBER_FIELDS:
            values = batch.numbers[name]
            columns[name] = pa.array(values.view("datetime64[us]")) if FIELDS[name] == TIME else pa.array(values)
        table = pa.table({name: columns[name] for name in FIELDS})
        writer = writer or pq.ParquetWriter(aside, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()
        aside.replace(parquet)
