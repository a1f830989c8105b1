"""Measure, compare, report; ends with 1 if a side gave a wrong answer, and with --strict if an aim is missed."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import eddyline
from bench.report import write_json
from bench.tags.aims import aims
from bench.tags.apart import beside, peak, untagged_sides
from bench.tags.experiments import ALTERNATIVES, EXPERIMENTS, JOIN, Cell, cells
from bench.tags.plot import plot
from bench.tags.report import show
from bench.tags.sides import Running
from bench.tags.workload import Stream
from eddyline.errors import NotSupported

RESULTS = Path(__file__).parents[1] / "results"
SHARES = (0, 20, 40, 60, 80, 100)
#: rows of the batches whose answers are compared row by row, and how many there are
CHECKED = 5_000, 3
#: batches before all that count
_WARMING = 8
#: seconds that looking at the memory of all sides takes, at one share
_FOR_PEAK = 160
SETTING = ("shares", "only", "rows", "settle", "batches", "minutes", "peaks")
Step = Callable[[str], None]


def measured(cell: Cell, folder: Path, options: argparse.Namespace, until: float = float("inf")) -> dict[str, Any]:
    """All sides of a cell: small batches to compare the answers, then those that count, to one side after the other.

    When it is that late (`time.monotonic`) no more are begun, if at least two have been counted.
    """
    found: dict[str, Any] = {"experiment": cell.experiment, "share": cell.share, "grain": cell.grain, "sides": {}}
    stream = Stream(cell.tags, cell.grain, cell.per_tick)
    rows = round(options.rows * cell.part)
    with ExitStack() as opened:
        running: list[Running] = []
        for side in cell.sides:
            try:
                running.append(opened.enter_context(closing(Running(side, folder / side.name.replace(" ", "-")))))
            except NotSupported as refused:
                found["sides"][side.name] = {"unavailable": str(refused)}
        if not running:
            return {**found, "rows": 0.0, "tags": 0.0, "taken": 0}
        for batch in stream.batches(CHECKED[1], min(CHECKED[0], rows)):
            for each in running:
                each.take(batch)
        wrong = {each.side.name: each.wrong() for each in running}
        for each in running:
            each.forget_times()
        inputs, tags = [], []
        for number, batch in enumerate(stream.batches(options.settle + options.batches, rows)):
            if number >= options.settle + 2 and time.monotonic() > until:
                break
            # whoever is first meets cold caches: all take their turn
            for each in running[number % len(running) :] + running[: number % len(running)]:
                each.take(batch)
            inputs.append(batch.size)
            tags.append(batch.tags)
        sizes: dict[str, float] = {"batches": len(inputs) - options.settle}
        sizes |= {"rows": float(np.median(inputs)), "tags": float(np.median(tags)), "taken": running[0].taken}
        found |= sizes
        for each in running:
            missing = each.missing()
            found["sides"][each.side.name] = {
                **each.found(options.settle),
                "answers": each.answers_a_batch(options.settle),
                "wrong": wrong[each.side.name],
                "missing": missing,
                "same": not wrong[each.side.name] and not missing,
            }
    shutil.rmtree(folder, ignore_errors=True)
    return found


def western(share: int) -> float:
    """So far west are so many percent of the reports."""
    if share in (0, 100):
        return -1.0 if share == 0 else 1_000.0
    batch = next(iter(Stream(0).batches(1, 20_000)))
    return round(float(np.percentile(batch.column("x").astype(float), share)), 4)


def everything(options: argparse.Namespace, work: Path, step: Step) -> dict[str, Any]:
    results: dict[str, Any] = {"cells": [], "peaks": [], "untagged": []}
    looks = len(options.peaks) if ALTERNATIVES in options.only else 0
    ends = time.monotonic() + 60 * options.minutes - _FOR_PEAK * looks
    asked = [cell for name in options.only for share in options.shares for cell in cells(name, share, western(share))]
    with eddyline.connect() as warm:  # starts Spark, which all others share
        results["spark"] = warm.spark.version
        step("warming up")  # or the first cell would be measured while Java and its workers are young
        for cell in cells(JOIN, 50, western(50)):
            measured(cell, work / "warm", argparse.Namespace(**{**vars(options), "settle": 0, "batches": _WARMING}))
        for number, cell in enumerate(asked):
            step(f"{cell.experiment}, {cell.share} % tagged, by {cell.grain}")
            left = ends - time.monotonic()
            until = time.monotonic() + left / (len(asked) - number)
            results["cells"].append(measured(cell, work / f"cell{number}", options, until))
    for cell in asked:
        if cell.experiment == ALTERNATIVES and cell.share in options.peaks:
            for side in cell.sides:
                step(f"memory of {side.name}, {cell.share} % tagged, by {cell.grain}")
                folder = work / f"peak-{cell.grain}-{cell.share}-{side.name}"
                memory: dict[str, Any]
                try:
                    memory = peak(cell, side, folder, options.rows, max(2, options.batches // 2))
                except RuntimeError as problem:
                    memory = {"problem": str(problem)}
                about = {"grain": cell.grain, "share": cell.share, "side": side.name}
                results["peaks"].append({**about, **memory})
                shutil.rmtree(folder, ignore_errors=True)
    if options.before:
        step("plain queries beside the code before tags")
        counts = options.rows, options.settle, 2 * options.batches
        for each in beside(options.before, work / "beside", *counts):
            results["untagged"].append(each)
            step(f"{each['side']} beside the code before tags")
    return results


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.tags", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shares", type=_numbers, default=list(SHARES), help="percent that are tagged")
    parser.add_argument("--only", type=lambda text: text.split(","), help=f"of {', '.join(EXPERIMENTS)}")
    parser.add_argument("--rows", type=int, default=100_000, help="reports of a batch; of a tag join a tenth of them")
    parser.add_argument("--settle", type=int, default=2, help="batches that are not counted")
    parser.add_argument("--batches", type=int, default=15, help="that are counted, if there is time")
    parser.add_argument("--minutes", type=float, default=24, help="in which it should be done, without --before")
    parser.add_argument(
        "--peaks", type=_numbers, help="percent at which memory is looked at, in processes of their own"
    )
    parser.add_argument("--before", type=Path, help="a checkout of the code before there were tags, to measure beside")
    parser.add_argument("--strict", action="store_true", help="end with 1 if an aim is missed")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    options.only = list(EXPERIMENTS) if options.only is None else options.only
    options.peaks = [share for share in (100,) if share in options.shares] if options.peaks is None else options.peaks
    if unknown := set(options.only) - set(EXPERIMENTS):
        parser.error(f"--only knows {', '.join(EXPERIMENTS)}, not {', '.join(unknown)}")
    if options.rows < 100 or options.batches < 1 or not all(0 <= share <= 100 for share in options.shares):
        parser.error("at least 100 rows, a batch that counts, and shares from 0 to 100")
    if options.before and not (options.before / "src" / "eddyline").is_dir():
        parser.error(f"{options.before} is no checkout of this repository")
    return options


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def steps_of(options: argparse.Namespace) -> int:
    cells_of = {name: 2 if name == ALTERNATIVES else 1 for name in options.only}
    memory = 8 * len(set(options.peaks) & set(options.shares)) if ALTERNATIVES in options.only else 0
    steps = len(options.shares) * sum(cells_of.values()) + memory
    return 1 + steps + ((1 + len(untagged_sides())) if options.before else 0)


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    console = Console()
    work = Path(tempfile.mkdtemp(prefix="eddyline-tags-"))
    load = os.getloadavg()
    try:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("starting Spark", total=steps_of(options))

            def step(text: str) -> None:
                progress.update(task, description=text, advance=1)
                if not progress.console.is_terminal:
                    print(f"{progress.tasks[0].completed:.0f}/{progress.tasks[0].total:.0f} {text}", file=sys.stderr)

            results = everything(options, work, step)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    results["setting"] = {
        **{
            name: getattr(options, name) for name in ("shares", "only", "rows", "settle", "batches", "minutes", "peaks")
        },
        "before": str(options.before or ""),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "machine": platform.platform(),
        "python": platform.python_version(),
        "spark": results.pop("spark"),
        "load_before": load,
        "load_after": os.getloadavg(),
    }
    results["aims"] = [aim.__dict__ for aim in aims(results)]
    show(results, console)
    stem = options.out / f"tags-{datetime.now():%Y-%m-%d}"
    write_json(results, stem.with_suffix(".json"))
    drawn = plot(results, stem.with_suffix(".png"))
    console.print(f"{stem}.json" + (f" and {stem}.png" if drawn else " (no plot: matplotlib is not installed)"))
    if max(load[0], results["setting"]["load_after"][0] - results["setting"]["cores"]) > 1:
        console.print("[yellow]the machine had other work; repeat this when it is idle[/]")
    if not all(side["same"] for side in sides_of(results) if "unavailable" not in side):
        console.print("[bold red]a side gave wrong answers[/]")
        return 1
    return 1 if options.strict and any(aim["reached"] is False for aim in results["aims"]) else 0


def sides_of(results: dict[str, Any]) -> Iterable[dict[str, Any]]:
    return [side for found in results["cells"] for side in found["sides"].values()]
