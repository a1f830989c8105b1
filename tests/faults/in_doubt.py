"""Corrections that slices cannot answer: `python -m faults.in_doubt FOLDER PLACE …` dies over them, at each place once.

What Spark would do is done in the process itself, and lives are forked, so that it takes a second to live and die.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import eddyline
from eddyline.log.upkeep import Pace
from faults.dying import dying
from faults.scenario import folded
from laws.without_spark import kernels_alone

PUSHES = 15
_WINDOW = "[FROM NOW-9 TO NOW SLIDE 5 SEC]"
QUERIES = {
    "most": f"SELECT k, MAX(v) AS most, SUM(v) AS total FROM a {_WINDOW} GROUP BY k",
    **{f"least{n}": f"SELECT MIN(v) AS least, MAX(v) AS most FROM a {_WINDOW} WHERE v > {n}" for n in range(2)},
}


def rows_of_push(number: int) -> list[dict[str, Any]]:
    """A new tuple, and in every third push the largest of some ticks goes or becomes small."""
    largest = 100.25 + number if number % 3 == 1 else number % 7 + 0.5
    rows: list[dict[str, Any]] = [{"_op": "+", "_ref": None, "k": number % 2, "v": largest, "t": number}]
    if number % 3 == 2 and number > 7:
        revised = number - 7  # the index is larger by one than the number of the push
        small = {"k": 1, "v": 0.75, "t": revised} if number % 2 else {"k": None, "v": None, "t": None}
        rows.append({"_op": "=" if number % 2 else "-", "_ref": revised + 1, **small})
    return rows


def opened(folder: str) -> eddyline.Database:
    """As busy as it can be: what was made anew is merged all the time."""
    busy = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)
    return eddyline.connect(folder, heartbeat=None, clock=lambda: 0, pace=busy)


def take_up(db: eddyline.Database, revisions: str = "downstream") -> None:
    """Go on where whoever had the database before was killed. A batch takes three pushes, and a revision with them."""
    if "a" not in db.streams:
        db.sql("CREATE STREAM a (k INTEGER, v DOUBLE, t INTEGER) TIMESTAMP BY t")
    for name, text in QUERIES.items():
        if name not in db.queries:
            db.sql(f"CREATE QUERY {name} WITH (revisions = '{revisions}') AS {text}")
    db.flush()  # the batch that it was killed in
    for number in range(sum(db.status().rows.values()), PUSHES):
        assert db.stream("a").push(rows_of_push(number)).rejected == 0
        if number % 3 == 2:
            db.flush()


def finish(db: eddyline.Database, revisions: str = "downstream") -> dict[str, Any]:
    """What stands in the end."""
    take_up(db, revisions)
    db.advance(PUSHES + 20)
    db.flush()
    return {name: folded(db.query(name).fetch()) for name in QUERIES}


def lives(folder: str, places: list[str]) -> None:
    """One life after the other; tells how each has ended."""
    for place in places:
        child = os.fork()
        if not child:
            with kernels_alone(), dying(place, 1), opened(folder) as db:
                take_up(db)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    lives(sys.argv[1], sys.argv[2:])
