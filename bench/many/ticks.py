"""The stream of all sides: prices of some symbols in the order of time, as Parquet files.

`t` is the tick, in whole seconds; however many rows there are, they last for the same 200 seconds, so that a window
query has the same number of windows. Prices are drawn evenly from 2²⁰ values that are whole 64ths, so that sums are
exact in whatever order they are added up, and so that a millionth of them is still some.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FIRST, SECONDS = 1_000, 200
#: the last tick of the stream; nothing says that no more rows of it will come, so windows that end in it stay open
LAST = FIRST + SECONDS - 1
PRICES, GRID = 2**20, 64
HIGHEST = PRICES / GRID
VOLUMES = 1_000


@dataclass(frozen=True)
class Ticks:
    folder: str
    rows: int
    symbols: int
    files_per_batch: int
    batch_rows: int

    @property
    def files(self) -> list[Path]:
        return sorted(Path(self.folder).glob("*.parquet"))

    def table(self) -> pa.Table:
        return pa.concat_tables([pq.read_table(path) for path in self.files])


def symbol(number: int) -> str:
    return f"S{number:03d}"


def generate(folder: Path, rows: int, batch_rows: int, symbols: int, cores: int) -> Ticks:
    """A micro-batch has a file for each core, as in `make bench`."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(7)
    names = pa.array([symbol(number) for number in range(symbols)])
    table = pa.table(
        {
            "t": FIRST + np.arange(rows) * SECONDS // rows,
            "sym": names.take(pa.array(rng.integers(0, symbols, rows))),
            "price": rng.integers(0, PRICES, rows) / GRID,
            "volume": rng.integers(1, VOLUMES + 1, rows).astype(np.int32),
        }
    )
    size = -(-batch_rows // cores)
    for number, first in enumerate(range(0, rows, size)):
        path = folder / f"{first:012d}.parquet"
        pq.write_table(table.slice(first, size), path)
        os.utime(path, (1_767_225_600 + number,) * 2)  # Spark takes files in the order of their times
    return Ticks(str(folder), rows, symbols, cores, size * cores)
