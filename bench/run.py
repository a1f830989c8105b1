"""Measure, compare, report; ends with 1 if the two sides gave different answers.

make bench                                # a million rows
.venv/bin/python -m bench.run --rows 100000 --only tumbling --no-latency --no-scale
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.data import KINDS, STREAMS, Data, generate
from bench.eddyline_side import Eddyline
from bench.latency import EDDYLINE, EMPTY_FILES, WAYS, latencies
from bench.plain_side import CHECKPOINTS, SPARKS_CHECKPOINTS, Plain
from bench.report import plot, show, write_json
from bench.runs import Run, median, same
from eddyline.spark.start import start_session, stop_session

RESULTS = Path(__file__).parent / "results"
Step = Callable[[str], None]
Side = Eddyline | Plain


class Bench:
    def __init__(self, options: argparse.Namespace, work: Path, step: Step) -> None:
        self._options, self._work, self._step = options, work, step
        self.cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.spark = start_session("local[*]", "bench", {"spark.sql.streaming.numRecentProgressUpdates": "10000"})
        self._sides: list[Side] = [Eddyline(self.spark, work), Plain(self.spark, work, options.tuned)]
        self._data: dict[Any, Data] = {}

    def data(self, kind: str, rows: int, batch_rows: int) -> Data:
        key = (STREAMS[kind], rows, batch_rows)
        if key not in self._data:
            folder = self._work / "data" / f"{len(self._data)}"
            self._data[key] = generate(folder, STREAMS[kind], rows, batch_rows, self.cores)
        return self._data[key]

    def runs(self, kind: str, data: Data, repeat: int) -> tuple[dict[str, list[Run]], bool]:
        """A run of each side to warm up and compare the answers, then so many that count, in alternating order."""
        found: dict[str, list[Run]] = {side.name: [] for side in self._sides}
        answers = []
        for side in self._sides:
            self._step(f"{kind}: {side.name} warms up")
            side.prepare(kind, data)
            answers.append(side.run(kind, data, check=True).answers)
        for turn in range(repeat):
            for side in self._sides[:: 1 if turn % 2 == 0 else -1]:
                self._step(f"{kind}: {side.name}, run {turn + 1}")
                found[side.name].append(side.run(kind, data, check=False))
        assert answers[0] is not None and answers[1] is not None
        return found, same(answers[0], answers[1])

    def throughput(self) -> dict[str, Any]:
        results = {}
        for kind in self._options.kinds:
            data = self.data(kind, self._options.rows, self._options.batch_rows)
            found, agree = self.runs(kind, data, self._options.repeat)
            ours, theirs = found["eddyline"], found["plain"]
            ratio = {what: median(theirs, what) / (median(ours, what) or 1) for what in ("busy", "wall", "cpu")}
            runs = {name: [run.to_json() for run in some] for name, some in found.items()}
            results[kind] = {"ratio": ratio, "same": agree, "runs": runs}
        return results

    def latency(self) -> dict[str, Any]:
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        empty = self.spark.newSession()
        if not self._options.tuned:
            empty.conf.set(CHECKPOINTS, SPARKS_CHECKPOINTS)
        for turn in range(2):
            for way in list(WAYS)[:: 1 if turn == 0 else -1]:
                self._step(f"latency: {way}")
                root = self._work / "latency" / f"{turn}-{len(way)}"
                session = empty if way == EMPTY_FILES else self.spark
                times[way] += latencies(session, way, root, self._options.pushes // 2, warm=10)

        def ratio(what: Callable[[list[float]], float], way: str) -> float:
            return what(times[EDDYLINE]) / what(times[way])

        others = [way for way in WAYS if way != EDDYLINE]
        ratios = {way: {"median": ratio(statistics.median, way), "p90": ratio(_p90, way)} for way in others}
        return {"ratio": ratios, "seconds": times}

    def scale(self) -> dict[str, Any]:
        rows = self._options.rows
        sizes = [rows // 10, rows, *([rows * 10] if self._options.long else [])]
        costs: dict[str, dict[str, list[float]]] = {}
        agree = True
        for kind in self._options.kinds:
            costs[kind] = {side.name: [] for side in self._sides}
            for size in sizes:
                # few tuples are one batch: more runs make up for it
                found, equal = self.runs(kind, self.data(kind, size, rows // 10), 3 if size == sizes[0] else 1)
                agree = agree and equal
                for name, some in found.items():
                    costs[kind][name].append(median(some, "busy") / size * 1e6)
        return {"sizes": sizes, "batch_rows": rows // 10, "microseconds": True, "same": agree, "costs": costs}


def _p90(values: list[float]) -> float:
    return statistics.quantiles(values, n=10)[-1]


def steps_of(options: argparse.Namespace) -> int:
    runs = 2 + 2 * int(options.repeat)
    scaled = (2 + 6) + (2 + 2) * (2 if options.long else 1)
    latency = 0 if options.no_latency else 2 * len(WAYS)
    return len(options.kinds) * (runs + (0 if options.no_scale else scaled)) + latency


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Eddyline beside hand-written Structured Streaming")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--batch-rows", type=int, help="of a micro-batch; a quarter of the rows if not given")
    parser.add_argument("--repeat", type=int, default=3, help="runs that count, of which the median is taken")
    parser.add_argument("--pushes", type=int, default=40, help="single rows pushed to measure latency")
    parser.add_argument("--long", action="store_true", help="cost per tuple up to ten times the rows")
    parser.add_argument("--only", help="beginnings of the queries' names, with commas")
    parser.add_argument("--no-latency", action="store_true")
    parser.add_argument("--no-scale", action="store_true")
    parser.add_argument("--tuned", action="store_true", help="Spark writes its logs as ours does on the other side too")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    options.batch_rows = options.batch_rows or max(1, options.rows // 4)
    wanted = tuple(options.only.split(",")) if options.only else ("",)
    options.kinds = [kind for kind in KINDS if kind.startswith(wanted)]
    if not options.kinds:
        parser.error(f"--only knows {', '.join(KINDS)}")
    return options


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    console = Console()
    work = Path(tempfile.mkdtemp(prefix="eddyline-bench-"))
    load = os.getloadavg()
    try:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("starting Spark", total=steps_of(options))
            begun = False

            def step(text: str) -> None:
                nonlocal begun
                progress.update(task, description=text, advance=1 if begun else 0)
                if not progress.console.is_terminal:
                    print(f"{progress.tasks[0].completed:.0f}/{progress.tasks[0].total:.0f} {text}", file=sys.stderr)
                begun = True

            bench = Bench(options, work, step)
            setting = {
                "rows": options.rows,
                "batch_rows": options.batch_rows,
                "repeat": options.repeat,
                "cores": bench.cores,
                "machine": platform.platform(),
                "python": platform.python_version(),
                "spark": bench.spark.version,
                "load_before": load,
            }
            results: dict[str, Any] = {"setting": setting, "throughput": bench.throughput()}
            results["latency"] = {} if options.no_latency else bench.latency()
            results["scale"] = {} if options.no_scale else bench.scale()
            setting["load_after"] = os.getloadavg()
    finally:
        stop_session()
        shutil.rmtree(work, ignore_errors=True)
    show(results, console)
    stem = options.out / f"{datetime.now():%Y-%m-%d}"
    write_json(results, stem.with_suffix(".json"))
    drawn = plot(results, stem.with_suffix(".png"))
    console.print(f"{stem}.json" + (f" and {stem}.png" if drawn else " (no plot: matplotlib is not installed)"))
    if max(load[0], setting["load_after"][0] - bench.cores) > bench.cores / 2:
        console.print("[yellow]the machine had other work; repeat this when it is idle[/]")
    agree = all(found["same"] for found in results["throughput"].values()) and results["scale"].get("same", True)
    if not agree:
        console.print("[bold red]the two sides gave different answers[/]")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
