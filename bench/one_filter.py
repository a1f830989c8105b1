"""Query classes of different shapes over one stream: one grouped filter for all of them, or one for each.

The executor and the kernels run in this process, without Spark; processor time of a batch, both ways in turns.

python -m bench.one_filter --classes 20 --members 500
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from tests.laws.without_spark import kernels_alone

from bench.quotes import STREAM, WHERE, batch, ranges
from eddyline import testing

WINDOW = "[FROM NOW-9 TO NOW SLIDE 10 SEC]"
#: what a class gives; {} is a number that makes each another shape
KINDS = {
    "selections": f"SELECT t, sym, price + {{}} AS p FROM s WHERE {WHERE}",
    "rows of windows": f"SELECT sym, price + {{}} AS p FROM s {WINDOW} WHERE {WHERE}",
    "aggregates": f"SELECT sym, max(price) + {{}} AS p, count(*) AS n FROM s {WINDOW} WHERE {WHERE} GROUP BY sym",
}


def template(number: int, kind: str) -> str:
    names = list(KINDS) if kind == "mixed" else [kind]
    return KINDS[names[number % len(names)]].format(number)


@contextmanager
def filters(shared: bool) -> Iterator[None]:
    if shared:
        yield
        return
    with patch("eddyline.kernels.together.may_share", lambda match: False):
        yield


def measured(options: argparse.Namespace, kind: str, answers: float) -> dict[bool, list[float]]:
    """By whether filters are shared, the processor time of each batch; the first ones build the indexes."""
    spent: dict[bool, list[float]] = {True: [], False: []}
    mean = answers / (options.classes * options.members)  # all members together give so many answers to a tuple
    with kernels_alone(), testing.database() as one, testing.database() as other:
        databases = {True: one, False: other}
        for db in databases.values():
            db.sql(STREAM)
            for number in range(options.classes):
                db.queries(template(number, kind), ranges(number, options.members, mean, even=False))
        for number in range(options.batches + 1):
            rows = batch(number, options.rows)
            for shared, db in databases.items():
                db.stream("s").push(rows)
                with filters(shared):
                    began = time.process_time()
                    db.flush()
                    spent[shared].append(time.process_time() - began)
    return {shared: times[1:] for shared, times in spent.items()}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.one_filter", description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--members", type=int, default=500)
    parser.add_argument("--rows", type=int, default=250_000, help="of a batch")
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--answers", default="0.05,1,5", help="to a tuple, of all classes together")
    parser.add_argument("--only", default=",".join([*KINDS, "mixed"]))
    options = parser.parse_args(arguments)
    setting = f"{options.classes} classes of {options.members} members, batches of {options.rows:,}"
    print(f"{setting}; load {os.getloadavg()}")
    for kind in options.only.split(","):
        for answers in map(float, options.answers.split(",")):
            spent = measured(options, kind, answers)
            shared, alone = (statistics.median(spent[way]) for way in (True, False))
            told = f"{kind}, {answers:g} answers a tuple"
            times = f"{alone * 1e3:8.0f} ms alone {shared * 1e3:8.0f} ms shared {alone / shared:6.2f}×"
            print(f"{told:45} {times}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
