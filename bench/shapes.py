"""Many queries of different shapes over one stream, a small push at a time.

    make bench-shapes    or    python -m bench.shapes [--queries 80] [--pushes 8] [--rows 40]

Queries that differ in more than constants share nothing but the job that answers them: what is measured is what each of
them costs beside its data. Seconds are those from a push until all queries have answered it; those in tasks are the
time of all works, added up over the cores.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

import eddyline
from eddyline.kernels.task import Reference, Work
from eddyline.spark import batch_work, kernel_job

STREAM = """
CREATE STREAM s (time INTEGER, g STRING, h STRING, a INTEGER, b INTEGER, c INTEGER, d INTEGER) TIMESTAMP BY time
"""
FRAMES = (
    "SELECT time, {value} FROM s WHERE {asked}",
    "SELECT {key}, COUNT(*), SUM({value}) FROM s [FROM NOW-59 TO NOW SLIDE 20 SEC] WHERE {asked} GROUP BY {key}",
    "SELECT {key}, MAX({value}) FROM s [FROM NOW-29 TO NOW SLIDE 10 SEC] WHERE {asked} GROUP BY {key} "
    "HAVING COUNT(*) > 1",
    "ISTREAM(SELECT {key}, COUNT(*) FROM s [RANGE 30 SEC] WHERE {asked} GROUP BY {key})",
    "SELECT l.{key}, r.{value} FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC] l, s [FROM NOW-9 TO NOW SLIDE 10 SEC] r "
    "WHERE l.{key} = r.{key} AND l.{asked}",
    "RSTREAM(SELECT AVG({value}) FROM s [FROM NOW-19 TO NOW SLIDE 10 ROWS] WHERE {asked})",
    "SELECT {key}, {value} FROM s [RANGE 15 SEC] WHERE {asked}",
    "SELECT DISTINCT {key} FROM s [FROM NOW-19 TO NOW SLIDE 20 SEC] WHERE {asked}",
)
VALUES, KEYS = "abcd", "gh"


@dataclass
class Measured:
    pushes: list[float] = field(default_factory=list)  # seconds each
    works: list[int] = field(default_factory=list)  # of each push
    in_tasks: list[float] = field(default_factory=list)  # seconds, of all works of a push


def queries(number: int) -> list[str]:
    """As many as are wanted; those of one frame differ in columns, then in what WHERE asks."""
    made = []
    for place in range(number):
        turn = place // len(FRAMES)
        value, key, asked = VALUES[turn % 4], KEYS[turn // 4 % 2], VALUES[turn // 8 % 4]
        made.append(FRAMES[place % len(FRAMES)].format(value=value, key=key, asked=f"{asked} > {turn}"))
    return made


def rows(push: int, number: int) -> list[tuple[Any, ...]]:
    first = push * number
    return [(first + i, f"g{i % 3}", f"h{i % 5}", *(i * step % 50 for step in (7, 11, 13, 17))) for i in range(number)]


def measured(options: argparse.Namespace) -> Measured:
    found = Measured()

    def counted(spark: Any, works: Sequence[Work]) -> list[Reference]:
        references = kernel_job.run(spark, works)
        found.works[-1] += len(works)
        found.in_tasks[-1] += sum(reference.seconds for reference in references)
        return references

    with patch.object(batch_work, "run", counted), eddyline.connect() as db:
        db.sql(STREAM)
        for place, query in enumerate(queries(options.queries)):
            db.sql(f"CREATE QUERY q{place} AS {query}")
        for push in range(options.pushes):
            found.works.append(0)
            found.in_tasks.append(0.0)
            began = time.monotonic()
            db.stream("s").push(rows(push, options.rows))
            db.flush()
            found.pushes.append(time.monotonic() - began)
    return found


def show(found: Measured, console: Console) -> None:
    table = Table("push", title="Queries of different shapes", title_justify="left")
    for column in ("seconds", "works", "seconds in tasks", "ms a work"):
        table.add_column(column, justify="right")
    for place, (seconds, works, inside) in enumerate(zip(found.pushes, found.works, found.in_tasks, strict=True)):
        each = 1000 * inside / works if works else 0.0
        table.add_row(f"{place + 1}", f"{seconds:.2f}", f"{works}", f"{inside:.2f}", f"{each:.1f}")
    console.print(table)
    later = found.pushes[1:] or found.pushes
    console.print(f"median of all but the first, which also loads what is kept: {statistics.median(later):.2f} s")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench.shapes", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=80)
    parser.add_argument("--pushes", type=int, default=8)
    parser.add_argument("--rows", type=int, default=40, help="of a push")
    show(measured(parser.parse_args()), Console())
    return 0


if __name__ == "__main__":
    sys.exit(main())
