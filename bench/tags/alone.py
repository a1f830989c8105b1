"""The sides of an experiment in this process, without Spark: processor time of taking a batch in and of answering it.

What Spark adds is the same for all sides, so ratios here are further from 1 than those of `make bench-tags`, and a run
takes seconds.

python -m bench.tags.alone alternatives --share 100 --grain tuple --rows 20000
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

from tests.laws.without_spark import kernels_alone

from bench.tags.experiments import EXPERIMENTS, Cell, Side, cells
from bench.tags.run import western
from bench.tags.sides import Running, in_one_step
from bench.tags.workload import GRAINS, Batch, Stream


class Alone(Running):
    """A side that tells taking in and answering apart."""

    def __init__(self, side: Side, folder: Path) -> None:
        super().__init__(side, folder)
        self.taking: list[float] = []
        self.answering: list[float] = []

    def take(self, batch: Batch) -> None:
        rows, tags = in_one_step(self.side.feed(batch))
        began = time.process_time()
        self.database.push(rows, tags)
        between = time.process_time()
        self.database.flush()
        self.answering.append(time.process_time() - between)
        self.taking.append(between - began)
        self._taken.append(batch)


def measured(cell: Cell, sides: Iterable[Side], options: argparse.Namespace, folder: Path) -> list[Alone]:
    stream, rows = Stream(cell.tags, cell.grain, cell.per_tick), round(options.rows * cell.part)
    with kernels_alone(), ExitStack() as opened:
        running = [opened.enter_context(closing(Alone(side, folder / side.name.replace(" ", "-")))) for side in sides]
        for number, batch in enumerate(stream.batches(options.settle + options.batches, rows)):
            for each in running[number % len(running) :] + running[: number % len(running)]:
                each.take(batch)
        for each in running:
            if missing := each.missing():
                print(f"{each.side.name}: {missing} rows too many or too few")
    return running


def show(running: list[Alone], settle: int) -> None:
    """Of the quickest batch of each side: what others do on the machine only ever adds to it."""
    print("| side | taking in, ms | answering, ms | together, ms | ÷ first | bytes a report |")
    print("|---|---|---|---|---|---|")
    lowest = 0.0
    for each in running:
        taking, answering = (min(times[settle:]) * 1e3 for times in (each.taking, each.answering))
        together = min(one + other for one, other in list(zip(each.taking, each.answering, strict=True))[settle:]) * 1e3
        lowest = lowest or together
        about = f"{taking:.1f} | {answering:.1f} | {together:.1f} | {together / lowest:.2f}×"
        print(f"| {each.side.name} | {about} | {each.size() / each.taken:.1f} |")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--share", type=int, default=100, help="percent that are tagged")
    parser.add_argument("--grain", choices=GRAINS, default=GRAINS[0])
    parser.add_argument(
        "--sides",
        type=lambda text: text.split(","),
        help="some of them, the first to compare with",
    )
    parser.add_argument("--rows", type=int, default=20_000, help="of a batch")
    parser.add_argument("--settle", type=int, default=3, help="batches that are not counted")
    parser.add_argument("--batches", type=int, default=9, help="that are counted")
    options = parser.parse_args(arguments)
    for cell in cells(options.experiment, options.share, western(options.share)):
        if cell.grain == options.grain:
            sides = list(cell.sides)
            if options.sides:
                sides = [side for name in options.sides for side in cell.sides if side.name == name]
            with tempfile.TemporaryDirectory() as folder:
                show(measured(cell, sides, options, Path(folder)), options.settle)


if __name__ == "__main__":
    main(sys.argv[1:])
