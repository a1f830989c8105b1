"""The same four queries as one would write them by hand for Structured Streaming."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bench.data import FILTER, JOIN, SLIDING, TUMBLING, Data
from bench.runs import Run, timed, worked

SCHEMAS = {
    "readings": "at TIMESTAMP, id BIGINT, site INT, temp DOUBLE, load DOUBLE",
    "orders": "at TIMESTAMP, item INT, amount DOUBLE",
    "payments": "at TIMESTAMP, item INT, amount DOUBLE",
}
Stream = Callable[[str], Any]


def filter_project(stream: Stream) -> Any:
    return stream("readings").where("temp > 800 AND load < 90").selectExpr("id", "site", "temp * 1.8 + 32 AS hot")


def _grouped(frame: Any, *window: str) -> Any:
    from pyspark.sql import functions as F

    grouped = frame.withWatermark("at", "0 seconds").groupBy(F.window("at", *window), "site")
    made = grouped.agg(F.count("*").alias("n"), F.sum("temp").alias("total"), F.max("load").alias("highest"))
    return made.selectExpr("window.end AS upto", "site", "n", "total", "highest")


def tumbling(stream: Stream) -> Any:
    return _grouped(stream("readings"), "1 minute")


def sliding(stream: Stream) -> Any:
    return _grouped(stream("readings"), "10 minutes", "1 minute")


def window_join(stream: Stream) -> Any:
    from pyspark.sql import functions as F

    sides = []
    for name, amount in (("orders", "ordered"), ("payments", "paid")):
        frame = stream(name).withWatermark("at", "0 seconds")
        sides.append(frame.select(F.window("at", "1 minute").alias("window"), "item", F.col("amount").alias(amount)))
    joined = sides[0].join(sides[1], ["window", "item"])
    return joined.selectExpr("window.end AS upto", "item", "ordered", "paid")


CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
SPARKS_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"

PLANS = {FILTER: filter_project, TUMBLING: tumbling, SLIDING: sliding, JOIN: window_join}


class Plain:
    """Runs the queries in a session of its own with the settings that Eddyline's has."""

    name = "plain"

    def __init__(self, spark: Any, work: Path, tuned: bool) -> None:
        """`tuned`: its offset and commit logs are written as ours are, not as Spark does it by itself."""
        self._spark = spark.newSession()
        # Spark's own default: windows of the last batch come out in one more batch, without data
        self._spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")
        if not tuned:
            self._spark.conf.set(CHECKPOINTS, SPARKS_CHECKPOINTS)
        self._work = work / "plain"

    def prepare(self, kind: str, data: Data) -> None:
        """Nothing: the files are there."""

    def run(self, kind: str, data: Data, check: bool) -> Run:
        shutil.rmtree(self._work, ignore_errors=True)

        def stream(name: str) -> Any:
            reader = self._spark.readStream.schema(SCHEMAS[name])
            return reader.option("maxFilesPerTrigger", data.files_per_batch(name)).parquet(str(data.folder / name))

        writer = PLANS[kind](stream).writeStream.format("parquet").outputMode("append").trigger(availableNow=True)
        writer = writer.option("path", str(self._work / "out")).option(
            "checkpointLocation", str(self._work / "checkpoint")
        )

        def until_done() -> Any:
            query = writer.start()
            query.awaitTermination()
            return query

        query, wall, cpu = timed(until_done)
        return Run(wall, cpu, worked(query), self._answers(data) if check else None)

    def _answers(self, data: Data) -> pd.DataFrame:
        table = ds.dataset(str(self._work / "out"), format="parquet", exclude_invalid_files=True).to_table()
        if "upto" in table.column_names:
            upto = table.column("upto").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
            table = table.set_column(0, "upto", pc.divide(upto, 1_000_000))
            # the join also shows what it has of the last window, which is not over
            table = table.filter(pc.less_equal(table.column("upto"), data.last))
        return table.to_pandas()
