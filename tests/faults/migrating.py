"""Joins that change their trees and share states: `python -m faults.migrating FOLDER PLACE …` dies at each place once.

What Spark would do is done in the process itself, and lives are forked, so that it takes a second to live and die.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from typing import Any

import eddyline
from faults.dying import dying
from faults.in_doubt import opened
from laws.test_join_trees import restless_trees
from laws.without_spark import kernels_alone

PUSHES = 36
_RANGE, _SLIDE = "[RANGE 6 SEC]", "[FROM NOW-5 TO NOW SLIDE 2 SEC]"
QUERIES = {
    "first": f"ISTREAM(SELECT x1.v AS p, x3.v AS q FROM a {_RANGE} x1, b {_RANGE} x2, c {_RANGE} x3 "
    "WHERE x1.k = x2.k AND x2.k = x3.k)",
    "second": f"DSTREAM(SELECT x3.v AS p, x2.t AS q FROM c {_RANGE} x1, b {_RANGE} x2, a {_RANGE} x3, a {_RANGE} x4 "
    "WHERE x3.k = x2.k AND x2.k = x1.k AND x4.v = x1.v)",
    "windows": f"SELECT x1.v AS p, COUNT(*) AS n FROM a {_SLIDE} x1, b {_SLIDE} x2, c {_SLIDE} x3 "
    "WHERE x1.k = x2.k AND x2.v = x3.v GROUP BY x1.v",
}


def rows_of_push(number: int) -> tuple[str, list[dict[str, Any]]]:
    """The stream, a new tuple, and in every fourth push of a stream one that is replaced or goes."""
    stream, at = "abc"[number % 3], number // 3
    rows: list[dict[str, Any]] = [{"_op": "+", "_ref": None, "k": at % 2, "v": at % 3, "t": at}]
    if at % 4 == 3:
        revised = {"k": 1, "v": 2, "t": at - 2} if at % 8 == 3 else {"k": None, "v": None, "t": None}
        rows.append({"_op": "=" if at % 8 == 3 else "-", "_ref": at - 1, **revised})
    return stream, rows


def take_up(db: eddyline.Database) -> None:
    """Go on where whoever had the database before was killed."""
    for name in "abc":
        if name not in db.streams:
            db.sql(f"CREATE STREAM {name} (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t")
    for name, text in QUERIES.items():
        if name not in db.queries:
            db.sql(f"CREATE QUERY {name} AS {text}")
    db.flush()  # the batch that it was killed in
    for number in range(sum(db.status().rows.values()), PUSHES):
        stream, rows = rows_of_push(number)
        assert db.stream(stream).push(rows).rejected == 0
        if number % 2:
            db.flush()


def finish(db: eddyline.Database) -> dict[str, Any]:
    """All that was ever said, in its order: what is given twice and taken back again is seen, too.

    Whoever was killed has its batch again, and the others end behind the same pushes, so all of it is determined.
    """
    take_up(db)
    db.advance(PUSHES + 20)
    db.flush()
    return {name: [_said(answer) for answer in db.query(name).fetch()] for name in QUERIES}


def _said(answer: Any) -> tuple[Any, ...]:
    """A change with its number; the rows of a window are in no order."""
    if hasattr(answer, "rows"):
        rows = (Counter(some or ()) for some in (answer.rows, answer.old_rows))
        return answer.op, answer.tick, answer.window, *rows
    return answer.op, answer.tick, answer.index, answer.row, answer.old


def lives(folder: str, places: list[str]) -> None:
    """One life after the other; tells how each has ended."""
    for number, place in enumerate(places):
        child = os.fork()
        if not child:
            with kernels_alone(), restless_trees(random.Random(number)), dying(place, 1), opened(folder) as db:
                take_up(db)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    lives(sys.argv[1], sys.argv[2:])
