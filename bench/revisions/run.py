"""The grid of window sizes, shares of corrections and queries; then corrections beside plain Spark."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import date
from itertools import permutations
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

import eddyline
from bench.report import write_json
from bench.revisions.aims import ANSWERS, aims, certain
from bench.revisions.report import line, plot, show
from bench.revisions.sides import AUTO, UPSTREAM, WAYS, PlainSpark, Side
from bench.revisions.workload import JOIN, KINDS, OVERLAP, SLIDING, Workload, same

RESULTS = Path(__file__).parents[1] / "results"
#: so many times as many batches are measured where nothing is corrected, and at most where it is not clear yet whether
#: an aim is reached
_LONGER = 4


def cell(folder: Path, kind: str, size: int, share: float, options: argparse.Namespace) -> dict[str, Any]:
    """All ways on one kind of query, one size of window and one share of corrections."""
    ways = (UPSTREAM,) if kind == JOIN else WAYS
    workload = Workload.of_length(max(options.history, 2 * size))
    found: dict[str, Any] = {"kind": kind, "size": size, "share": share, "rows": options.rows, "ways": {}}
    with ExitStack() as opened:
        sides = [opened.enter_context(closing(Side(folder / way, kind, size, way))) for way in ways]
        loading = {side.way: side.remember(workload) for side in sides}
        # three in a hundred of a batch that corrects nothing are a few milliseconds: more of them have to be measured
        least = options.batches if share else _LONGER * options.batches
        # whoever is first meets cold caches, and whoever is next pays for what one has left behind: all orders in turn
        orders = list(permutations(sides))
        for number in range(options.settle + _LONGER * options.batches):
            batch = workload.batch(number, options.rows, share)
            for side in orders[number % len(orders)]:
                side.correct(batch)
            counted = number + 1 - options.settle
            if counted >= least and counted % len(orders) == 0 and _clear(found, sides, options.settle):
                break
        right = workload.right(kind, size)
        for side in sides:
            told = {"same": same(side.answers(), right), "history_cpu": loading[side.way]}
            found["ways"][side.way] = _measured(side, options.settle) | told
    return found


def _clear(found: dict[str, Any], sides: Sequence[Side], settle: int) -> bool:
    """Whether more batches would not change what is said of the aim."""
    ways = {side.way: _measured(side, settle) for side in sides}
    return AUTO not in ways or certain(found | {"ways": ways})


def _measured(side: Side, settle: int) -> dict[str, Any]:
    return {
        "wall": statistics.median(side.wall[settle:]),
        "cpu": _typical(side.cpu[settle:]),
        "batches": side.cpu[settle:],
        "all_cpu": list(side.cpu),
    }


def _typical(seconds: Sequence[float]) -> float:
    """The mean without the largest and the smallest: the clock of a processor goes by hundredths of a second."""
    return statistics.mean(sorted(seconds)[1:-1] if len(seconds) > 2 else seconds)


def beside_plain(spark: Any, folder: Path, kind: str, options: argparse.Namespace) -> dict[str, Any]:
    """One correction, and a thousand that come together, beside Spark that answers anew for each of them."""
    size = options.plain // 2 // OVERLAP * OVERLAP
    found: dict[str, Any] = {"kind": kind, "history": options.plain, "size": size}
    ways = (UPSTREAM,) if kind == JOIN else WAYS
    workload = Workload.of_length(options.plain)
    plain = PlainSpark(spark, folder / "plain", kind, size)
    plain.recompute(workload)  # it compiles
    with ExitStack() as opened:
        sides = [opened.enter_context(closing(Side(folder / way, kind, size, way))) for way in ways]
        for side in sides:
            side.remember(workload)
        for together in (1, 1_000):
            again = []
            for side in sides:
                side.wall.clear()
                side.cpu.clear()
            for number in range(options.batches):
                batch = workload.batch(number + together, together, 1.0)
                for side in sides:
                    side.correct(batch)
                again.append(plain.recompute(workload))
            each = {side.way: (statistics.median(side.wall), statistics.median(side.cpu)) for side in sides}
            plainly = tuple(statistics.median(times) for times in zip(*again, strict=True))
            found[str(together)] = {
                # Spark answers after every correction, so for all that come together it takes so many times as long
                "plain": {"wall": plainly[0] * together, "cpu": plainly[1] * together},
                **{way: {"wall": wall, "cpu": cpu} for way, (wall, cpu) in each.items()},
            }
        right = workload.right(kind, size)
        found["same"] = all(same(side.answers(), right) for side in sides)
        found["plain_same"] = same(plain.answers(workload), right)
    return found


def measured(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    results: dict[str, Any] = {"setting": vars(options) | {"out": str(options.out)}, "cells": [], "plain": []}
    asked = [(k, size, share) for k in options.only for size in options.windows for share in options.shares]
    with tempfile.TemporaryDirectory(prefix="eddyline-bench-") as work, Progress(console=console) as progress:
        task = progress.add_task("corrections", total=len(asked) + len(options.only) * bool(options.plain))
        with eddyline.connect() as warm:  # starts Spark, which all others share
            for number, (kind, size, share) in enumerate(asked):
                progress.update(task, description=f"{kind}, windows of {size:,}, {share:.0%} corrections")
                results["cells"].append(cell(Path(work) / f"cell{number}", kind, size, share, options))
                console.print(line(results["cells"][-1]))
                progress.advance(task)
            for kind in options.only if options.plain else ():
                progress.update(task, description=f"{kind}, beside plain Spark")
                results["plain"].append(beside_plain(warm.spark, Path(work) / f"plain-{kind}", kind, options))
                progress.advance(task)
    return results


def _kinds(text: str) -> list[str]:
    kinds = text.split(",")
    if unknown := set(kinds) - set(KINDS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: there are {', '.join(KINDS)}")
    return kinds


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="bench.revisions", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--windows", type=_numbers(int), default=[10, 1_000, 100_000, 1_000_000], help="tuples in one")
    parser.add_argument("--shares", type=_numbers(float), default=[0.0, 0.01, 0.5], help="of rows that correct others")
    parser.add_argument("--only", type=_kinds, default=list(KINDS), help=f"of {','.join(KINDS)}")
    parser.add_argument("--history", type=int, default=400_000, help="tuples that have come before, at least")
    parser.add_argument("--rows", type=int, default=20_000, help="of a batch")
    parser.add_argument("--settle", type=int, default=10, help="batches that are not counted: auto gets to know costs")
    parser.add_argument("--batches", type=int, default=12, help="that are counted; more where it is not clear yet")
    parser.add_argument("--plain", type=int, default=1_000_000, help="tuples that plain Spark computes again; 0: none")
    parser.add_argument("--strict", action="store_true", help="end with 1 if an aim is missed")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if SLIDING in options.only and any(size % OVERLAP for size in options.windows):
        parser.error(f"--windows of {SLIDING} must be multiples of {OVERLAP}")
    console = Console()
    results = measured(options, console)
    show(results, console)
    name = f"revisions-{date.today()}"
    write_json(results, options.out / f"{name}.json")
    plot(results, options.out / f"{name}.png")
    console.print(f"written: {options.out / name}.json and .png")
    return outcome(results, options.strict)


def outcome(results: dict[str, Any], strict: bool) -> int:
    """What the program ends with: 1 if answers were wrong and, if it is `strict`, if an aim was missed."""
    found = aims(results)
    wrong = any(aim.reached is False for aim in found if aim.text == ANSWERS)
    missed = any(aim.reached is False for aim in found)
    return 1 if wrong or (strict and missed) else 0


def _numbers(kind: Any) -> Any:
    return lambda text: [kind(part) for part in text.split(",")]
