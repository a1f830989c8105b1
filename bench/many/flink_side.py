"""(c) PyFlink: one statement set with an INSERT for each query, in streaming mode, on a cluster inside its process.

What comes with PyFlink reads and writes CSV but not Parquet, so the stream is written as CSV beforehand. Selections
read a file for each core. Windows read one file: the readers take files as they like, and rows behind the
watermark would be dropped. It takes no checkpoints, which is to its advantage.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from bench.many.answers import AGGREGATED, SELECTED
from bench.many.queries import literals, predicate
from bench.many.side import Case, Measured, Unavailable
from bench.many.ticks import Ticks

VERSION = "2.3.0"
#: the Pythons that PyFlink has wheels for
_PYTHONS = ("3.12", "3.11", "3.10", "3.9")
_TICKS = """CREATE TABLE ticks (t BIGINT, sym STRING, price DOUBLE, volume INT, ts AS TO_TIMESTAMP_LTZ(t, 0),
 WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv')"""
_PLAIN_TICKS = """CREATE TABLE ticks (t BIGINT, sym STRING, price DOUBLE, volume INT)
 WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv')"""
_SINK = "CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
_SELECT = "INSERT INTO {name} SELECT t, sym, price, volume FROM ticks WHERE {where}"
_AGGREGATE = """INSERT INTO {name} SELECT window_end, sym, AVG(price), COUNT(*)
 FROM HOP(TABLE ticks, DESCRIPTOR(ts), INTERVAL '{slide}' SECOND(3), INTERVAL '{length}' SECOND(3), INTERVAL '1' SECOND)
 WHERE {where} GROUP BY window_start, window_end, sym"""
_SELECTED = "t BIGINT, sym STRING, price DOUBLE, volume INT"
_AGGREGATED = "until TIMESTAMP(3), sym STRING, mean DOUBLE, n BIGINT"


class Flink:
    def __init__(self, work: Path, tuned: bool) -> None:
        self._work = work

    def start(self) -> None:
        from eddyline.spark.java import find_java

        python = venv()
        megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 // 2**20
        environment = {
            **os.environ,
            "JAVA_HOME": str(find_java().command.resolve().parent.parent),
            "JVM_ARGS": f"-Xmx{max(1024, min(4096, megabytes))}m",  # what Spark's driver gets
            "FLINK_LOG_DIR": str(self._work),
        }
        environment.pop("PYTHONPATH", None)
        job = [str(python), str(Path(__file__).with_name("flink_job.py"))]
        # its messages go where this process's go
        self._child = subprocess.Popen(job, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self._ask({})

    def run(self, case: Case) -> Measured:
        shutil.rmtree(self._work / "run", ignore_errors=True)
        (self._work / "run").mkdir(parents=True)
        source = self._csv(case.ticks, whole=bool(case.kind.windows))
        tables = [(_TICKS if case.kind.windows else _PLAIN_TICKS).format(source.as_uri())]
        inserts = []
        columns = _AGGREGATED if case.kind.windows else _SELECTED
        for row in case.constants.to_pylist():
            path = (self._work / "run" / row["name"]).as_uri()
            tables.append(_SINK.format(name=row["name"], columns=columns, path=path))
            made = literals(row) | {"name": row["name"]}
            # a number with a point is a decimal
            made = {key: f"CAST({made[key]} AS DOUBLE)" if type(made[key]) is float else made[key] for key in made}
            insert = _AGGREGATE if case.kind.windows else _SELECT
            inserts.append(insert.format(**made, where=predicate(case.kind).format(**made)))
        script = self._work / "run" / "script.json"
        script.write_text(json.dumps({"tables": tables, "inserts": inserts}))
        found = self._ask({"script": str(script)})
        return Measured(found["register"], max(0.0, found["register_mb"]), found["process"])

    def answers(self, case: Case) -> pa.Table:
        parts = []
        for number, name in enumerate(case.constants["name"].to_pylist()):
            for path in sorted((self._work / "run" / name).glob("part-*")):
                if path.stat().st_size:
                    part = _read(path, bool(case.kind.windows))
                    parts.append(part.append_column("query", pa.array(np.full(len(part), number))))
        if parts:
            return pa.concat_tables(parts)
        names = AGGREGATED if case.kind.windows else SELECTED
        return pa.table(
            {each: pa.array([], pa.string() if each == "sym" else pa.int64()) for each in (*names, "query")}
        )

    def _csv(self, ticks: Ticks, whole: bool) -> Path:
        folder = self._work / f"csv-{ticks.rows}-{'whole' if whole else 'parts'}"
        if not folder.exists():
            folder.mkdir()
            table = ticks.table()
            pieces = 1 if whole else ticks.files_per_batch
            options = pv.WriteOptions(include_header=False, quoting_style="none")
            for first, end in pairwise(np.linspace(0, len(table), pieces + 1).astype(int).tolist()):
                pv.write_csv(table.slice(first, end - first), folder / f"{first:012d}.csv", options)
        return folder

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._child.stdin and self._child.stdout
        self._child.stdin.write(json.dumps(question) + "\n")
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        if not line:
            raise Unavailable("PyFlink's process ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


def _read(path: Path, windows: bool) -> pa.Table:
    names = AGGREGATED if windows else SELECTED
    types = {"sym": pa.string(), "t": pa.timestamp("ms") if windows else pa.int64(), "price": pa.float64()}
    types |= {"mean": pa.float64(), "n": pa.int64(), "volume": pa.int64()}
    table = pv.read_csv(
        path,
        read_options=pv.ReadOptions(column_names=list(names)),
        convert_options=pv.ConvertOptions(column_types={name: types[name] for name in names}),
    )
    if windows:
        table = table.set_column(0, "t", pc.subtract(pc.divide(table["t"].cast(pa.int64()), 1000), 1))
    return table


def venv() -> Path:
    """The Python of a venv with PyFlink in it, made once in a cache folder."""
    cache = Path(os.environ.get("EDDYLINE_BENCH_CACHE", "~/.cache/eddyline-bench")).expanduser()
    folder = cache / f"flink-{VERSION}"
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    base = sys.executable if f"{sys.version_info[0]}.{sys.version_info[1]}" in _PYTHONS else None
    base = base or next((found for each in _PYTHONS if (found := shutil.which(f"python{each}"))), None)
    if base is None:
        raise Unavailable(f"PyFlink {VERSION} needs Python {_PYTHONS[-1]} to {_PYTHONS[0]}")
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        f"apache-flink=={VERSION}",
    ]
    for command in ([base, "-m", "venv", str(folder)], install):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise Unavailable(f"PyFlink {VERSION} cannot be installed: {last}")
    (folder / "ready").touch()
    return python
