"""The same join by one query of Eddyline, by Structured Streaming's chained joins, and by Flink SQL's interval joins.

The tuples lie in Parquet files, one of each stream for each batch (Flink, which comes without Parquet, has them as
CSV). Each side has a process of its own, which first runs the same join over few tuples, to be warm, and is then given
all files; the clock runs from when the query stands to its last answer. Eddyline pushes the files' tuples, those of all
streams for a batch in one step, which is part of its time. Answers are compared by number and by a sum over all of
them. Spark and Flink pair tuples by |t - t'| ≤ window, so all windows are equal here.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from bench.cpu import cpu_seconds
from bench.joins.running import checksum, digest
from bench.joins.workload import Edge, Workload, batches
from bench.many.flink_side import venv
from bench.many.side import Unavailable

EDDYLINE, SPARK, FLINK = "eddyline", "spark", "flink"
SIDES = (EDDYLINE, SPARK, FLINK)


def line(number: int, rate: int, window: int = 10) -> Workload:
    """A line of equal streams; a tuple has one and a half partners in each neighbour's window, in both directions.

    Of more than eight streams it has one: else there would be a hundred million answers.
    """
    keys = max(1, round(rate * window / (1.5 if number <= 8 else 1.0)))
    return Workload(
        f"line of {number}",
        (rate,) * number,
        (window,) * number,
        tuple(Edge(a, a + 1, keys) for a in range(number - 1)),
    )


def write(workload: Workload, folder: Path, ticks: int, span: int) -> None:
    """The files, with a column `ts` that is the tick as a timestamp."""
    for number, tables in enumerate(batches(workload, ticks, span)):
        for name, table in zip(workload.names, tables, strict=True):
            moment = pa.array(table["t"].to_numpy().astype("datetime64[s]").astype("datetime64[us]"))
            table = table.append_column("ts", moment.cast(pa.timestamp("us", "UTC")))
            (folder / name).mkdir(parents=True, exist_ok=True)
            pq.write_table(table, folder / name / f"{number:04d}.parquet")


def eddyline_side(workload: Workload, files: Path, work: Path) -> dict[str, Any]:
    import eddyline

    db = eddyline.connect(str(work / "db"), heartbeat=None)
    try:
        for statement in workload.streams():
            db.sql(statement)
        db.sql(f"CREATE QUERY q AS {workload.query()}")
        began, busy = time.monotonic(), cpu_seconds()
        last = 0
        for number in range(len(list((files / workload.names[0]).iterdir()))):
            rows = {name: pq.read_table(files / name / f"{number:04d}.parquet") for name in workload.names}
            db.push({name: table.drop_columns(["ts"]) for name, table in rows.items()})
            last = max(table["t"][-1].as_py() for table in rows.values())
            db.flush()
        db.advance(last, closed=True)  # no more of the last tick is to come
        db.flush()
        seconds, cpu = time.monotonic() - began, cpu_seconds() - busy
        rows_, total = digest(db, "q")
        return {"seconds": seconds, "cpu": cpu, "rows": rows_, "sum": total}
    finally:
        db.close()


def spark_side(workload: Workload, files: Path, work: Path) -> dict[str, Any]:
    """Chained stream-stream joins with watermarks; every pair of streams is within the window of each other."""
    from pyspark.sql import functions as F

    from eddyline.spark.start import start_session

    spark = start_session()
    streams = []
    for at, name in enumerate(workload.names):
        keys = "".join(f"{column} INT, " for column in workload.columns(at))
        read = spark.readStream.schema(f"{keys}v INT, t INT, ts TIMESTAMP").option("maxFilesPerTrigger", 1)
        frame = read.parquet(str(files / name)).withWatermark("ts", "0 seconds")
        named = {column: f"{name}_{column}" for column in frame.columns}
        streams.append(frame.withColumnsRenamed(named))
    joined = streams[0]
    for at in range(1, len(streams)):
        other = workload.names[at]
        texts = [
            f"{workload.names[e.one]}_{e.column} = {workload.names[e.other]}_{e.column}"
            for e in workload.edges
            if max(e.one, e.other) == at
        ]
        width, first = workload.windows[0], workload.names[0]
        low, high = f"{first}_ts - INTERVAL {width} SECONDS", f"{first}_ts + INTERVAL {width} SECONDS"
        texts.append(f"{other}_ts BETWEEN {low} AND {high}")
        texts += [f"abs({other}_t - {before}_t) <= {width}" for before in workload.names[1:at]]
        # a stream of joined tuples may have one time that Spark goes by: that of the first stream
        joined = joined.join(streams[at], F.expr(" AND ".join(texts))).drop(f"{other}_ts")
    shown = joined.selectExpr(*(f"{name}_v AS v{at}" for at, name in enumerate(workload.names)))
    began, busy = time.monotonic(), cpu_seconds()
    query = (
        shown.writeStream.format("parquet")
        .option("path", str(work / "out"))
        .option("checkpointLocation", str(work / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seconds, cpu = time.monotonic() - began, cpu_seconds() - busy
    return {"seconds": seconds, "cpu": cpu, **_digest(ds.dataset(work / "out", format="parquet").to_table(), workload)}


class _FlinkJob:
    """Flink in a process of its own, which runs one script after the other: the job that `bench.many` has for it."""

    def __init__(self) -> None:
        from eddyline.spark.java import find_java

        java = find_java().command.resolve().parent.parent
        environment = {**os.environ, "JAVA_HOME": str(java), "JVM_ARGS": "-Xmx4g"}
        environment.pop("PYTHONPATH", None)
        job = [str(venv()), str(Path(__file__).parents[1] / "many" / "flink_job.py")]
        self._child = subprocess.Popen(job, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def run(self, script: Path) -> float:
        """Seconds from when the job stands to its end."""
        assert self._child.stdin and self._child.stdout
        self._child.stdin.write(json.dumps({"script": str(script)}) + "\n")
        self._child.stdin.flush()
        said = self._child.stdout.readline()
        answer = json.loads(said) if said else {"error": "its process ended"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return float(answer["process"])


_job: list[_FlinkJob] = []


def flink_side(workload: Workload, files: Path, work: Path) -> dict[str, Any]:
    """Interval joins, one after the other."""
    tables = []
    for at, name in enumerate(workload.names):
        (work / name).mkdir(parents=True)
        rows = ds.dataset(sorted((files / name).iterdir()), format="parquet").to_table().drop_columns(["ts"])
        pv.write_csv(rows, work / name / "all.csv", pv.WriteOptions(include_header=False, quoting_style="none"))
        keys = "".join(f"{column} INT, " for column in workload.columns(at))
        watermark = "ts AS TO_TIMESTAMP_LTZ(t, 0), WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND"
        where = f"'connector' = 'filesystem', 'path' = '{(work / name).as_uri()}', 'format' = 'csv'"
        tables.append(f"CREATE TABLE {name} ({keys}v INT, t BIGINT, {watermark}) WITH ({where})")
    columns = ", ".join(f"v{at} INT" for at in range(len(workload.names)))
    sink = f"'connector' = 'filesystem', 'path' = '{(work / 'out').as_uri()}', 'format' = 'csv'"
    tables.append(f"CREATE TABLE answers ({columns}) WITH ({sink})")
    conditions = [*workload.conditions]
    for at, name in enumerate(workload.names):
        for before in workload.names[:at]:
            width = f"INTERVAL '{workload.windows[0]}' SECOND"
            conditions.append(f"{name}.ts BETWEEN {before}.ts - {width} AND {before}.ts + {width}")
    shown = ", ".join(f"{name}.v" for name in workload.names)
    insert = f"INSERT INTO answers SELECT {shown} FROM {', '.join(workload.names)} WHERE {' AND '.join(conditions)}"
    script = work / "script.json"
    script.write_text(json.dumps({"tables": tables, "inserts": [insert]}))
    if not _job:
        _job.append(_FlinkJob())
    busy = cpu_seconds()
    seconds = _job[0].run(script)
    cpu = cpu_seconds() - busy
    parts = [path for path in (work / "out").glob("part-*") if path.stat().st_size]
    names = [f"v{at}" for at in range(len(workload.names))]
    read = [pv.read_csv(path, read_options=pv.ReadOptions(column_names=names)) for path in parts]
    none = pa.table({name: pa.array([], pa.int64()) for name in names})
    return {"seconds": seconds, "cpu": cpu, **_digest(pa.concat_tables(read) if read else none, workload)}


def _digest(table: pa.Table, workload: Workload) -> dict[str, int]:
    columns = [table[f"v{at}"].to_numpy() for at in range(len(workload.names))]
    return {"rows": table.num_rows, "sum": int(checksum(columns, np.ones(table.num_rows, np.int64)))}


_WAYS: dict[str, Callable[[Workload, Path, Path], dict[str, Any]]] = {
    EDDYLINE: eddyline_side,
    SPARK: spark_side,
    FLINK: flink_side,
}


#: ticks of a batch
SPAN = 5
#: to get warm, a side is given one tuple in so many, in so many batches
_WARM, _WARM_BATCHES = 10, 3


def versus(
    inputs: Sequence[int],
    rate: int,
    number: int,
    sides: Sequence[str],
    budget: float,
    folder: Path,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Each side over so many batches of five ticks, in a process of its own, which is ended after `budget` seconds."""
    found = []
    for each in inputs:
        workload = line(each, rate)
        files = folder / f"files-{each}"
        write(workload, files / "all", SPAN * number, SPAN)
        write(line(each, max(1, rate // _WARM)), files / "few", SPAN * _WARM_BATCHES, SPAN)
        told: dict[str, Any] = {}
        for side in sides:
            say(f"a join of {each} streams by {side}")
            told[side] = _apart(side, each, rate, files, folder / f"{side}-{each}", budget)
        right = {(one["rows"], one["sum"]) for one in told.values() if "rows" in one}
        tuples = sum(workload.rates) * SPAN * number
        found.append(
            {
                "workload": workload.name,
                "streams": each,
                "tuples": tuples,
                "sides": told,
                "equal": len(right) == 1 or (not right and not told),
            }
        )
    return found


def _apart(side: str, number: int, rate: int, files: Path, work: Path, budget: float) -> dict[str, Any]:
    work.mkdir(parents=True)
    command = [sys.executable, "-m", "bench.joins.versus", side, str(number), str(rate), str(files), str(work)]
    with (work / "log").open("w") as log:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
    out = None
    with contextlib.suppress(subprocess.TimeoutExpired):
        out = child.communicate(timeout=budget)[0]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, 9)  # what it has started goes with it
    if out is None:
        child.communicate()
        return {"failed": f"more than {budget:.0f} s"}
    lines = [line_ for line_ in out.splitlines() if line_.startswith("{")]
    if not lines:
        said = [text for text in (work / "log").read_text(errors="replace").splitlines() if text.strip()]
        return {"failed": (said or ["it ended without a word"])[-1][:200]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def main(side: str, number: str, rate: str, files: str, work: str) -> None:
    try:
        for tuples, name in ((max(1, int(rate) // _WARM), "few"), (int(rate), "all")):
            found = _WAYS[side](line(int(number), tuples), Path(files) / name, Path(work) / name)
    except Unavailable as reason:
        found = {"failed": str(reason)}
    print(json.dumps(found), flush=True)
    os._exit(0)  # without waiting for the processes of an engine


if __name__ == "__main__":
    main(*sys.argv[1:])
