"""A query class of selections that show tags: what a tuple costs with one member, with a hundred and with ten thousand.

The executor and the kernels run in this process, without Spark; processor time of a batch. Whatever the number of
members, they give so many answers to a tuple together. Beside it the same members without tags over the same stream,
and half of them with and half without in one class.

python -m bench.tag_class --rows 200000
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import numpy as np
import pyarrow as pa
from tests.laws.without_spark import kernels_alone

from eddyline import testing

STREAM = "CREATE STREAM s (sym STRING, price DOUBLE, volume INTEGER, t BIGINT) TIMESTAMP BY t"
SELECTION = "SELECT t, sym, price FROM s WHERE price >= :low AND price < :high"
#: seconds of the stream in a batch, and how many of them go by between two tags
SECONDS, APART = 50, 5
#: by kind, which templates there are, each for so large a share of the members
KINDS = {
    "without tags": ((SELECTION, 1.0),),
    "with tags": ((f"{SELECTION} WITH TAGS", 1.0),),
    "half and half": ((SELECTION, 0.5), (f"{SELECTION} WITH TAGS", 0.5)),
}


def constants(members: int, of_all: int, number: int, answers: float) -> pa.Table:
    """Ranges of which all members together give so many answers to a tuple."""
    random = np.random.default_rng(number)
    width = np.full(members, min(1.0, answers / of_all))
    low = random.random(members) * (1 - width)
    return pa.table({"name": [f"q{number}_{each}" for each in range(members)], "low": low, "high": low + width})


def rows_of(number: int, rows: int) -> pa.Table:
    random = np.random.default_rng(number)
    names = pa.array([f"S{each:03d}" for each in range(10)])
    return pa.table(
        {
            "sym": names.take(pa.array(random.integers(0, 10, rows))),
            "price": random.random(rows),
            "volume": random.integers(1, 1000, rows).astype(np.int32),
            "t": number * SECONDS + np.arange(rows) * SECONDS // rows,
        }
    )


def measured(kind: str, members: int, options: argparse.Namespace) -> float:
    """Microseconds of the processor for a tuple, in the middle of all batches; the first ones build indexes."""
    spent: list[float] = []
    with kernels_alone(), testing.database() as db:
        db.sql(STREAM)
        for number, (template, share) in enumerate(KINDS[kind]):
            count = max(1, int(members * share))
            db.queries(template, constants(count, members, number, options.answers))
        for number in range(options.batches + 2):
            batch = rows_of(number, options.rows)
            each = options.rows * APART // SECONDS
            for part, first in enumerate(range(0, options.rows, each)):
                on = ("s", "s.price", "s.sym")[part % 3]
                db.sql(f"ATTACH TAG 'Part{part}' TO {on} WITH TAG_LIFESPAN = {2 * APART} SEC")
                db.stream("s").push(batch.slice(first, each))
            began = time.process_time()
            db.flush()
            spent.append((time.process_time() - began) / options.rows * 1e6)
    return statistics.median(spent[2:])


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000, help="of a batch")
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--answers", type=float, default=1.0, help="of all members together to a tuple, about")
    parser.add_argument("--members", type=int, nargs="+", default=[1, 100, 10_000])
    options = parser.parse_args(arguments)
    print(f"| members | {' | '.join(f'{kind}, µs a tuple' for kind in KINDS)} |")
    print(f"|---|{'---|' * len(KINDS)}")
    for members in options.members:
        print(f"| {members:,} | {' | '.join(f'{measured(kind, members, options):.2f}' for kind in KINDS)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
