"""Structured Streaming, as one would write it by hand: (a) a streaming query for each standing query, (b) one streaming
query that joins the stream with the broadcast table of the constants.

All read the same files and write Parquet, with checkpoints. Starting a query begins its work at once and nothing can
be held back, so the two times are told apart by Spark's own reports: `process` is the time in which at least one
micro-batch was going on, and `register` is the rest of the time from the first start to the last end.
"""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from bench.cpu import cpu_seconds
from bench.many.memory import megabytes
from bench.many.queries import Kind, literals, predicate
from bench.many.side import Case, Measured, union
from bench.plain_side import CHECKPOINTS, SPARKS_CHECKPOINTS
from bench.runs import worked

SCHEMA = "t BIGINT, sym STRING, price DOUBLE, volume INT"
#: without the time in it Spark would filter before it looks at the time
_AFTER_WATERMARK = "CASE WHEN at >= TIMESTAMP '1970-01-01 00:00:00' THEN {} END"
#: ticks T−59 … T are the seconds from T−59 to T+1, without the latter
_END = "CAST(unix_timestamp(window.end) - 1 AS BIGINT) AS t"


class _Spark(ABC):
    def __init__(self, work: Path, tuned: bool) -> None:
        self._work, self._tuned = work / "run", tuned

    def start(self) -> None:
        from eddyline.spark.start import start_session

        # as the plain side of `make bench`
        conf = {"spark.sql.streaming.numRecentProgressUpdates": "1000"}
        self._spark = start_session("local[*]", "bench-many", conf).newSession()
        self._spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")
        if not self._tuned:
            self._spark.conf.set(CHECKPOINTS, SPARKS_CHECKPOINTS)

    def run(self, case: Case) -> Measured:
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True)
        self._spark.catalog.clearCache()  # else it would take the constants of the last run, which had the same path
        case.constants  # noqa: B018  drawn before the clock starts
        before, began, spent = megabytes(), time.monotonic(), cpu_seconds()
        queries = self._begin(case)
        grown = megabytes() - before
        for query in queries:
            query.awaitTermination()
        wall = time.monotonic() - began
        process = union([span for query in queries for span in _spans(query)])
        return Measured(wall - process, max(0.0, grown), process, cpu_seconds() - spent)

    @abstractmethod
    def _begin(self, case: Case) -> list[Any]:
        """Start the streaming queries of a case."""

    def _stream(self, case: Case) -> Any:
        reader = self._spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", case.ticks.files_per_batch)
        return reader.parquet(case.ticks.folder)

    def _write(self, frame: Any, name: str) -> Any:
        writer = frame.writeStream.format("parquet").outputMode("append").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self._work / "checkpoints" / name))
        return writer.option("path", str(self._work / "out" / name)).start()


class Each(_Spark):
    """(a)"""

    def _begin(self, case: Case) -> list[Any]:
        queries = []
        for row in case.constants.to_pylist():
            where = predicate(case.kind).format(**_literals(row))
            if case.kind.windows:
                frame = _watermarked(self._stream(case)).where(_AFTER_WATERMARK.format(where))
                frame = _aggregated(frame, row["length"], row["slide"], ["sym"])
            else:
                frame = self._stream(case).where(where)
            queries.append(self._write(frame, row["name"]))
        return queries

    def answers(self, case: Case) -> pa.Table:
        parts = []
        for number, name in enumerate(case.constants["name"].to_pylist()):
            part = _read(self._work / "out" / name)
            parts.append(part.append_column("query", pa.array([number] * len(part), pa.int64())))
        return pa.concat_tables(parts)


class Join(_Spark):
    """(b)"""

    def _begin(self, case: Case) -> list[Any]:
        from pyspark.sql import functions as F

        pq.write_table(case.constants.rename_columns(_joined_names(case)), self._work / "constants.parquet")
        constants = self._spark.read.parquet(str(self._work / "constants.parquet")).cache()
        stream = self._stream(case)
        frame = self._joined(case.kind, _watermarked(stream) if case.kind.windows else stream, constants)
        if not case.kind.windows:
            frame = frame.select("query", "t", "sym", "price", "volume")
        elif len(case.kind.windows) == 1:
            frame = _aggregated(frame, *case.kind.windows[0], ["query", "sym"])
        else:
            frame = _aggregated_by_hand(frame, F)
        return [self._write(frame, "all")]

    def _joined(self, kind: Kind, stream: Any, constants: Any) -> Any:
        from pyspark.sql import functions as F

        condition = predicate(kind).format(sym="wanted", floor="floor", low="low", high="high")
        return stream.join(F.broadcast(constants), F.expr(condition))

    def answers(self, case: Case) -> pa.Table:
        return _read(self._work / "out" / "all")


class Binned(Join):
    """(b) as somebody would write it who knows that Spark compares every tuple with every range: ranges are put into
    bins of the prices, as many as there are queries, and the join is one of equal bins. Only with `--sides binned`."""

    def _joined(self, kind: Kind, stream: Any, constants: Any) -> Any:
        from pyspark.sql import functions as F

        if kind.by_symbol:
            return super()._joined(kind, stream, constants)
        width = constants.selectExpr("avg(high - low)").first()[0]
        bins = f"explode(sequence(CAST(floor(low / {width}D) AS INT), CAST(floor(high / {width}D) AS INT))) AS bin"
        binned = constants.selectExpr("*", bins).cache()
        stream = stream.withColumn("its_bin", F.expr(f"CAST(floor(price / {width}D) AS INT)"))
        return stream.join(F.broadcast(binned), F.expr("its_bin = bin AND price >= low AND price < high"))


def _watermarked(stream: Any) -> Any:
    """The time of the whole stream, not only of what a query takes of it: that would never close its last windows."""
    from pyspark.sql import functions as F

    return stream.withColumn("at", F.timestamp_seconds("t")).withWatermark("at", "0 seconds")


def _aggregated(frame: Any, length: int, slide: int, keys: Sequence[str]) -> Any:
    from pyspark.sql import functions as F

    window = F.window("at", f"{length} seconds", f"{slide} seconds", "1 second")
    made = frame.groupBy(window, *keys).agg(F.avg("price").alias("mean"), F.count("*").alias("n"))
    return made.selectExpr(_END, *keys, "mean", "n")


def _aggregated_by_hand(frame: Any, F: Any) -> Any:
    """`window` takes constants only. This puts a tuple into the windows that its query asks for, and marks the column
    with their ends as one that the watermark is compared with, as `window` does it with its own."""
    ends = "explode(sequence(CAST(ceil(t / slide) * slide AS BIGINT), t + length - 1, CAST(slide AS BIGINT))) AS tick"
    some = frame.selectExpr("query", "sym", "price", ends)
    end = F.timestamp_seconds(F.col("tick") + 1).alias("until", metadata={"spark.watermarkDelayMs": 0})
    grouped = some.select("query", "sym", "price", "tick", end).groupBy("until", "tick", "query", "sym")
    return grouped.agg(F.avg("price").alias("mean"), F.count("*").alias("n")).selectExpr(
        "tick AS t", "query", "sym", "mean", "n"
    )


def _joined_names(case: Case) -> list[str]:
    return [{"name": "query", "sym": "wanted"}.get(name, name) for name in case.constants.column_names]


def _literals(row: dict[str, Any]) -> dict[str, object]:
    """A number with a point is a decimal in Spark's SQL, unless it says that it is a double."""
    made = literals(row)
    return {key: f"{value}D" if isinstance(value, float) else value for key, value in made.items()}


def _spans(query: Any) -> list[tuple[float, float]]:
    """When its micro-batches began and ended, in seconds."""
    found = []
    for report in worked(query):
        begin = datetime.fromisoformat(str(report["timestamp"]).replace("Z", "+00:00")).timestamp()
        found.append((begin, begin + report["durationMs"]["triggerExecution"] / 1000))
    return found


def _read(folder: Path) -> pa.Table:
    table = ds.dataset(str(folder), format="parquet", exclude_invalid_files=True).to_table()
    return table.set_column(table.column_names.index("t"), "t", pc.cast(table["t"], pa.int64()))
