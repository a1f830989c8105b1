"""Measure, compare, report; ends with 1 if a side gave a wrong answer.

make bench-many                                   # 40 minutes or so
make bench-many BENCH="--rows 20000 --sizes 1,10 --only range,sliding --sides each,join"
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import shutil
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.many.aims import EXPECTED, TIME, aims
from bench.many.answers import Digests, expected
from bench.many.flink_side import VERSION
from bench.many.queries import ASKED, KINDS, Kind
from bench.many.report import TITLES, plot, show
from bench.many.side import Case, Measured, Unavailable
from bench.many.ticks import Ticks, generate
from bench.many.worker import Failed, OutOfTime, Worker
from bench.report import write_json

RESULTS = Path(__file__).parent.parent / "results"
SIZES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
SIDES = ("each", "join", "flink", "eddyline")
#: queries of the run that warms a side up
WARM = 10
#: and seconds for it at least
PATIENCE = 120.0
#: a run is not tried if it is expected to take so many times as long as it may
SURELY = 1.5
Step = Callable[[str, int], None]


class Hopeless(Exception):
    """It would take too long."""


class Bench:
    def __init__(self, options: argparse.Namespace, work: Path, step: Step) -> None:
        self._options, self._work, self._step = options, work, step
        self.cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._ticks = {
            cuts: self._data(f"ticks-{cuts}", options.rows, cuts) for cuts in {kind.cuts for kind in options.kinds}
        }
        self._warm = self._data("warm", max(1_000, options.rows // 10))
        self._table = next(iter(self._ticks.values())).table()  # the same however it is cut
        self._expected: dict[tuple[str, int], Digests] = {}
        self._unavailable: dict[str, str] = {}

    def _data(self, name: str, rows: int, cuts: int = 1) -> Ticks:
        batch_rows = min(rows, -(-self._options.batch_rows // cuts))
        return generate(self._work / name, rows, batch_rows, self._options.symbols, self.cores)

    def kind(self, kind: Kind) -> dict[str, Any]:
        sizes = [size for size in self._options.sizes if size <= kind.largest]
        cases = [Case(kind.name, size, self._ticks[kind.cuts]) for size in sizes]
        answers = {}
        for case in cases:
            self._step(f"{kind.name}: what {case.size:,} queries must answer", 1)
            self._expected[kind.name, case.size] = expected(kind, case.constants, self._table)
            answers[str(case.size)] = int(self._expected[kind.name, case.size].rows.sum())
        return {
            "sizes": sizes,
            "batch_rows": self._ticks[kind.cuts].batch_rows,
            "answers": answers,
            "sides": {side: self._side(side, cases) for side in self._options.sides},
        }

    def _side(self, side: str, cases: list[Case]) -> dict[str, Any]:
        """All sizes, up to the first that takes too long; a process for all of them, warmed up as all sides are."""
        kind = cases[0].kind_name if cases else ""
        told: dict[str, Any] = {"runs": {}, "reach": 0}
        if side in self._unavailable or not cases:
            return self._without(side, told, self._unavailable.get(side, "no size to run"), len(cases) + 1)
        self._step(f"{kind}: {side} warms up", 1)
        root = self._work / side
        shutil.rmtree(root, ignore_errors=True)
        try:
            worker = Worker(side, root, self._options.tuned)
        except Unavailable as error:
            self._unavailable[side] = str(error)
            return self._without(side, told, str(error), len(cases))
        try:
            worker.run(Case(kind, WARM, self._warm), max(self._options.budget, PATIENCE))
        except (Failed, OutOfTime) as error:
            worker.end()
            return self._without(side, told, str(error) or "too slow to warm up", len(cases))
        try:
            for case in cases:
                self._step(f"{kind}: {side}, {case.size:,} queries", 1)
                self._check_expected(case, told["runs"])
                told["runs"][str(case.size)] = self._measure(worker, case)
                told["reach"] = case.size
        except (OutOfTime, Hopeless, Failed) as error:
            reason = {OutOfTime: TIME, Hopeless: EXPECTED}.get(type(error), str(error))
            told["stopped"] = {"size": case.size, "reason": reason}
            self._step("", len(cases) - len(told["runs"]) - 1)
        finally:
            worker.end()
        return told

    def _check_expected(self, case: Case, runs: dict[str, Any]) -> None:
        """A run is not tried that would take much longer than it may if the time goes on growing as it did."""
        if self._options.try_all or len(runs) < 2:
            return
        (few, before), (some, last) = [(int(size), run["register"] + run["process"]) for size, run in runs.items()][-2:]
        # the time grows by this power of the number of queries
        power = math.log(last / before) / math.log(some / few)
        if last * (case.size / some) ** power > SURELY * self._options.budget:
            raise Hopeless

    def _without(self, side: str, told: dict[str, Any], reason: str, steps: int) -> dict[str, Any]:
        """A side that cannot even warm up says nothing about what is out of reach."""
        told["unavailable"] = reason
        self._step(f"{TITLES[side]}: {reason}", steps)
        return told

    def _measure(self, worker: Worker, case: Case) -> dict[str, Any]:
        """Several runs while they are short, of which the median counts."""
        runs: list[Measured] = []
        wrong = 0
        spent = 0.0
        while len(runs) < self._options.repeat and (not runs or spent < self._options.budget / 10):
            measured, found = worker.run(case, self._options.budget, looks=not runs)
            if found is not None:
                wrong = found.different(self._expected[case.kind_name, case.size])
            spent += measured.register + measured.process
            runs.append(measured)
        middle = {
            what: statistics.median(getattr(run, what) for run in runs) for what in ("register", "process", "cpu")
        }
        return {
            **middle,
            "register_mb": runs[0].register_mb,  # later ones find memory that was asked for already
            "rate": case.ticks.rows / middle["process"],
            "same": not wrong,
            "wrong": wrong,
            "runs": [run.__dict__ for run in runs],
        }


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.many", description="Many standing queries, on several engines")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--batch-rows", type=int, help="of a micro-batch; all rows if not given")
    parser.add_argument("--symbols", type=int, default=10)
    parser.add_argument("--sizes", help="numbers of queries, with commas; all powers of ten up to a million")
    parser.add_argument("--only", help=f"beginnings of the kinds' names, with commas, of {', '.join(KINDS)}")
    parser.add_argument("--sides", help=f"of {', '.join(TITLES)}, with commas; all but binned and pushed")
    parser.add_argument("--budget", type=float, default=300, help="seconds for one run of one size")
    parser.add_argument("--repeat", type=int, default=9, help="runs of each size, while they are short")
    parser.add_argument("--try-all", action="store_true", help="also sizes that surely take longer than the budget")
    parser.add_argument("--tuned", action="store_true", help="Spark writes its logs as ours does on its sides too")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    options.batch_rows = options.batch_rows or options.rows
    try:
        sizes = sorted({int(float(each)) for each in options.sizes.split(",")}) if options.sizes else list(SIZES)
    except ValueError:
        parser.error("--sizes takes numbers, as 1,10,1e6")
    options.sizes = sizes
    wanted = tuple(options.only.split(",")) if options.only else ASKED
    options.kinds = [kind for kind in KINDS.values() if kind.name.startswith(wanted)]
    if not options.kinds:
        parser.error(f"--only knows {', '.join(KINDS)}")
    options.sides = options.sides.split(",") if options.sides else list(SIDES)
    if unknown := set(options.sides) - set(TITLES):
        parser.error(f"--sides knows {', '.join(TITLES)}, not {', '.join(unknown)}")
    if options.sizes[0] < 1 or options.rows < 1_000:
        parser.error("at least one query and 1000 rows")
    return options


def steps_of(options: argparse.Namespace) -> int:
    sizes = sum(sum(size <= kind.largest for size in options.sizes) for kind in options.kinds)
    return sizes + len(options.sides) * (sizes + len(options.kinds))


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    console = Console()
    work = Path(tempfile.mkdtemp(prefix="many-"))
    load = os.getloadavg()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that workers and files are cleared away
    try:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("writing the stream", total=steps_of(options))

            def step(text: str, steps: int) -> None:
                progress.update(task, advance=steps, description=text or None)
                if text and not progress.console.is_terminal:
                    print(f"{progress.tasks[0].completed:.0f}/{progress.tasks[0].total:.0f} {text}", file=sys.stderr)

            bench = Bench(options, work, step)
            setting = {
                "rows": options.rows,
                "batch_rows": options.batch_rows,
                "symbols": options.symbols,
                "sides": options.sides,
                "budget": options.budget,
                "tuned": options.tuned,
                "cores": bench.cores,
                "machine": platform.platform(),
                "python": platform.python_version(),
                "spark": version("pyspark"),
                "flink": VERSION,
                "load_before": load,
            }
            results: dict[str, Any] = {"setting": setting, "kinds": {}}
            for kind in options.kinds:
                results["kinds"][kind.name] = bench.kind(kind)
            setting["load_after"] = os.getloadavg()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    results["aims"] = [aim.__dict__ for aim in aims(results)]
    show(results, console)
    stem = options.out / f"many-{datetime.now():%Y-%m-%d}"
    write_json(results, stem.with_suffix(".json"))
    drawn = plot(results, stem.with_suffix(".png"))
    console.print(f"{stem}.json" + (f" and {stem}.png" if drawn else " (no plot: matplotlib is not installed)"))
    if load[0] > bench.cores / 2:
        console.print("[yellow]the machine had other work; repeat this when it is idle[/]")
    sides = [told for found in results["kinds"].values() for told in found["sides"].values()]
    agree = all(run["same"] for told in sides for run in told["runs"].values())
    if not agree:
        console.print("[bold red]a side gave wrong answers[/]")
    return 0 if agree else 1
