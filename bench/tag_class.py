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

from tests.laws.without_spark import kernels_alone

from bench import quotes
from eddyline import testing

SELECTION = f"SELECT t, sym, price FROM s WHERE {quotes.WHERE}"
#: seconds of the stream that go by between two tags
APART = 5
#: by kind, which templates there are, each for so large a share of the members
KINDS = {
    "without tags": ((SELECTION, 1.0),),
    "with tags": ((f"{SELECTION} WITH TAGS", 1.0),),
    "half and half": ((SELECTION, 0.5), (f"{SELECTION} WITH TAGS", 0.5)),
}


def measured(kind: str, members: int, options: argparse.Namespace) -> float:
    """Microseconds of the processor for a tuple, in the middle of all batches; the first ones build indexes."""
    spent: list[float] = []
    with kernels_alone(), testing.database() as db:
        db.sql(quotes.STREAM)
        for number, (template, share) in enumerate(KINDS[kind]):
            count = max(1, int(members * share))
            db.queries(template, quotes.ranges(number, count, options.answers / members, even=True))
        for number in range(options.batches + 2):
            batch = quotes.batch(number, options.rows)
            each = options.rows * APART // quotes.SECONDS
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
