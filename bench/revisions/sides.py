"""Who corrects: Eddyline in one of its ways, or Spark that computes the query again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import eddyline
from bench.cpu import steady_seconds
from bench.revisions.workload import PAIRS, STREAM, Workload, plain_query, query
from bench.runs import timed

UPSTREAM, DOWNSTREAM, AUTO = "upstream", "downstream", "auto"
WAYS = (UPSTREAM, DOWNSTREAM, AUTO)
#: rows of a push of the history
_PUSH = 250_000


class Side:
    """One query in a database of its own."""

    def __init__(self, folder: Path, kind: str, size: int, way: str) -> None:
        self.way = way
        self._kind, self._size = kind, size
        self._database = eddyline.connect(str(folder))
        self._database.sql(STREAM)
        self._query = self._database.sql(f"CREATE QUERY q WITH (revisions = '{way}') AS {query(kind, size)}")
        self._stream = self._database.stream("s")
        self.wall: list[float] = []  # of each batch
        self.cpu: list[float] = []

    def remember(self, workload: Workload) -> float:
        """Take the history; gives the processor time of that."""
        spent = 0.0
        for first in range(0, workload.t.size, _PUSH):
            spent += self._taken(workload.table(first, _PUSH))[1]
        return spent

    def correct(self, batch: pa.Table) -> None:
        wall, cpu = self._taken(batch)
        self.wall.append(wall)
        self.cpu.append(cpu)

    def _taken(self, rows: pa.Table) -> tuple[float, float]:
        def answered() -> None:
            self._stream.push(rows)
            self._database.flush()

        _, wall, cpu = timed(answered, steady_seconds)
        return wall, cpu

    def answers(self) -> pd.DataFrame:
        found = self._query.current()
        if self._kind == PAIRS:  # a window ends at each multiple of its size
            found = found.append_column("_window", pc.divide(found.column("_tick"), self._size))
        return found.select(["_window", "k", "a", "b"]).rename_columns(["window", "k", "a", "b"]).to_pandas()

    def close(self) -> None:
        self._database.close()


class PlainSpark:
    """What one does without an engine for corrections: keep the corrected table and run the query over it again."""

    def __init__(self, spark: Any, folder: Path, kind: str, size: int) -> None:
        self._spark = spark
        self._folder = folder
        self._kind, self._size = kind, size
        self._text = plain_query(kind, size)

    def recompute(self, workload: Workload) -> tuple[float, float]:
        """Wall and processor time of one answer over all tuples that stand; the corrected files are given for free."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / "s.parquet"
        pq.write_table(workload.table(0, workload.t.size), path)

        def answered() -> None:
            self._spark.read.parquet(str(path)).createOrReplaceTempView("s")
            self._spark.sql(self._text).write.mode("overwrite").parquet(str(self._folder / "answers"))

        _, wall, cpu = timed(answered, steady_seconds)
        return wall, cpu

    def answers(self, workload: Workload) -> pd.DataFrame:
        """The last ones, of windows that are over: it answers the others too."""
        found = pq.read_table(self._folder / "answers").rename_columns(["window", "k", "a", "b"]).to_pandas()
        return found[found["window"] <= workload.over(self._kind, self._size)]
