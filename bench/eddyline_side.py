"""The four queries on Eddyline's engine. The data is in the stream logs beforehand; a run is what is done with it."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pyarrow.parquet as pq

from bench.data import FILTER, JOIN, SLIDING, START, TUMBLING, Data
from bench.runs import Run, timed, worked
from eddyline.binder.function import Declaration
from eddyline.binder.statement import Define, Register
from eddyline.columnar.types import arrow_schema
from eddyline.database.definitions import Definitions
from eddyline.database.present import present
from eddyline.rules import optimize
from eddyline.sources.pushed import chunk_of
from eddyline.spark.engine import Engine
from eddyline.spark.moment import Moment

STREAMS = {
    "readings": (
        "CREATE STREAM readings (at TIMESTAMP, id BIGINT, site INTEGER, temp DOUBLE, load DOUBLE) TIMESTAMP BY at"
    ),
    "orders": "CREATE STREAM orders (at TIMESTAMP, item INTEGER, amount DOUBLE) TIMESTAMP BY at",
    "payments": "CREATE STREAM payments (at TIMESTAMP, item INTEGER, amount DOUBLE) TIMESTAMP BY at",
}
_MINUTE = f"RANGE BY '1 minute' START AT '{START:%Y-%m-%d %H:%M:%S}'"
#: Spark's first sliding window ends a minute after the first tuple
_EARLIER = f"{START - timedelta(minutes=9):%Y-%m-%d %H:%M:%S}"
_GROUPED = "SELECT site, COUNT(*) AS n, SUM(temp) AS total, MAX(load) AS highest FROM readings [{}] GROUP BY site"
QUERIES = {
    FILTER: "SELECT id, site, temp * 1.8 + 32 AS hot FROM readings WHERE temp > 800 AND load < 90",
    TUMBLING: _GROUPED.format(_MINUTE),
    SLIDING: _GROUPED.format(f"RANGE BY '10 minutes' SLIDE BY '1 minute' START AT '{_EARLIER}'"),
    JOIN: (
        "SELECT o.item, o.amount AS ordered, p.amount AS paid "
        f"FROM orders o [{_MINUTE}], payments p [{_MINUTE}] "
        "WHERE o.item = p.item"
    ),
}


def no_functions(declaration: Declaration) -> NoReturn:
    raise AssertionError("the benchmark has no functions of its own")


class Eddyline:
    """A database for each run, its stream logs linked from one that was filled before."""

    name = "eddyline"

    def __init__(self, spark: Any, work: Path) -> None:
        self._spark = spark
        self._work = work / "eddyline"
        self._filled: dict[tuple[str, Path], Path] = {}

    def prepare(self, kind: str, data: Data) -> None:
        """Push the files into the streams, each as one push, batch by batch."""
        key = ("+".join(data.files), data.folder)
        if key in self._filled:
            return
        root = self._work / f"filled-{len(self._filled)}"
        engine, _ = self._engine(root, kind, data)
        for batch in range(data.batches):
            for stream, batches in data.files.items():
                for path in batches[batch]:
                    extent = self._bound(kind, data)[0][stream]
                    engine.append([chunk_of(extent, pq.read_table(path), 1_000_000)])
        self._filled[key] = root

    def run(self, kind: str, data: Data, check: bool) -> Run:
        root = self._work / "run"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self._filled["+".join(data.files), data.folder], root, copy_function=os.link)
        engine, query = self._engine(root, kind, data)
        plan = optimize(query.plan, frozenset()).plan
        # the query was there before the data
        engine.executor.add(engine.prepare("q", plan, query, Moment(None, None, 0, {})))

        def until_answered() -> Any:
            engine.start()
            (streaming,) = self._spark.streams.active
            engine.flush()
            return streaming

        streaming, wall, cpu = timed(until_answered)
        batches = worked(streaming)
        engine.stop()
        return Run(wall, cpu, batches, self._answers(engine, query) if check else None)

    def _engine(self, root: Path, kind: str, data: Data) -> tuple[Engine, Any]:
        engine = Engine(str(root), batch_rows=data.batch_rows)
        extents, query = self._bound(kind, data)
        for extent in extents.values():
            engine.define(extent, root)
        return engine, query

    def _bound(self, kind: str, data: Data) -> tuple[dict[str, Any], Any]:
        definitions = Definitions(frozenset(), no_functions)
        extents = {}
        for stream in data.files:
            (step,) = definitions.replay(STREAMS[stream])
            assert isinstance(step, Define)
            extents[stream] = step.extent
        (step,) = definitions.replay(QUERIES[kind])
        assert isinstance(step, Register)
        return extents, step.query

    def _answers(self, engine: Engine, query: Any) -> pd.DataFrame:
        segments = engine.results.load().stages["q"].segments
        shape = engine.shape("q", query)
        table = present(engine.storage, segments, shape, arrow_schema(query.plan.schema))
        if shape.kind == "windows":
            table = table.rename_columns(["upto" if name == "_tick" else name for name in table.column_names])
            return table.select(["upto", *shape.columns]).to_pandas()
        return table.select(list(shape.columns)).to_pandas()
