"""The same join by one query of Eddyline, by Structured Streaming's chained joins, and by Flink SQL's interval joins.

The tuples lie in Parquet files, one of each stream for each batch (Flink, which comes without Parquet, has them as
CSV). Each side has a process of its own for what it starts and is given all files; the clock runs from when the query
stands to its last answer. Eddyline pushes the files' tuples, which is part of its time. Answers are compared by number
and by a sum over all of them. Spark and Flink pair tuples by |t - t'| ≤ window, so all windows are equal here.
"""

from __future__ import annotations

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
    """A line of equal streams; a tuple has one and a half partners in each neighbour's window, in both directions."""
    keys = max(1, round(rate * window / 1.5))
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
        for number in range(len(list((files / workload.names[0]).iterdir()))):
            for name in workload.names:
                db.stream(name).push(pq.read_table(files / name / f"{number:04d}.parquet").drop_columns(["ts"]))
            db.flush()
        seconds, cpu = time.monotonic() - began, cpu_seconds() - busy
        rows, total = digest(db, "q")
        return {"seconds": seconds, "cpu": cpu, "rows": rows, "sum": total}
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
    found = _digest(ds.dataset(work / "out", format="parquet").to_table(), workload)
    spark.stop()
    return {"seconds": seconds, "cpu": cpu, **found}


def flink_side(workload: Workload, files: Path, work: Path) -> dict[str, Any]:
    """Interval joins, one after the other, by the job that `bench.many` has for Flink."""
    from eddyline.spark.java import find_java

    python = venv()
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
    environment = {**os.environ, "JAVA_HOME": str(find_java().command.resolve().parent.parent), "JVM_ARGS": "-Xmx4g"}
    environment.pop("PYTHONPATH", None)
    job = [str(python), str(Path(__file__).parents[1] / "many" / "flink_job.py")]
    asked = json.dumps({"script": str(script)}) + "\n"
    earlier = os.times()
    done = subprocess.run(job, input=asked, capture_output=True, text=True, env=environment)
    later = os.times()
    answer = json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {"error": "its process ended"}
    if "error" in answer:
        raise RuntimeError(answer["error"])
    parts = [path for path in (work / "out").glob("part-*") if path.stat().st_size]
    names = [f"v{at}" for at in range(len(workload.names))]
    read = [pv.read_csv(path, read_options=pv.ReadOptions(column_names=names)) for path in parts]
    cpu = later.children_user + later.children_system - earlier.children_user - earlier.children_system
    found = _digest(
        pa.concat_tables(read) if read else pa.table({name: pa.array([], pa.int64()) for name in names}), workload
    )
    return {"seconds": answer["process"], "cpu": cpu, **found}


def _digest(table: pa.Table, workload: Workload) -> dict[str, int]:
    columns = [table[f"v{at}"].to_numpy() for at in range(len(workload.names))]
    return {"rows": table.num_rows, "sum": int(checksum(columns, np.ones(table.num_rows, np.int64)))}


_WAYS: dict[str, Callable[[Workload, Path, Path], dict[str, Any]]] = {
    EDDYLINE: eddyline_side,
    SPARK: spark_side,
    FLINK: flink_side,
}


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
        write(workload, files, 5 * number, 5)
        told: dict[str, Any] = {}
        for side in sides:
            say(f"a join of {each} streams by {side}")
            told[side] = _apart(side, each, rate, files, folder / f"{side}-{each}", budget)
        right = {(one["rows"], one["sum"]) for one in told.values() if "rows" in one}
        tuples = sum(workload.rates) * 5 * number
        found.append({"workload": workload.name, "tuples": tuples, "sides": told, "equal": len(right) <= 1})
    return found


def _apart(side: str, number: int, rate: int, files: Path, work: Path, budget: float) -> dict[str, Any]:
    work.mkdir(parents=True)
    command = [sys.executable, "-m", "bench.joins.versus", side, str(number), str(rate), str(files), str(work)]
    with (work / "log").open("w") as log:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
    try:
        out, _ = child.communicate(timeout=budget)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
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
        found = _WAYS[side](line(int(number), int(rate)), Path(files), Path(work))
    except Unavailable as reason:
        found = {"failed": str(reason)}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
