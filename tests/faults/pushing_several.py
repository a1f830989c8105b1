"""Pushes to several streams at once: `python -m faults.pushing_several FOLDER PLACE …` dies at each place once.

What Spark would do is done in the process itself, and lives are forked.
"""

from __future__ import annotations

import os
import sys
from typing import Any
from unittest.mock import patch

import eddyline
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Journal
from faults.dying import die
from faults.in_doubt import opened
from laws.without_spark import kernels_alone

#: when the rows of the first stream are in their file, those of all streams, and when the entry says so
FIRST, ALL, SAID = "first", "all", "said"
PUSHES = 8
STREAMS = "abc"


def rows_of_push(number: int) -> dict[str, list[tuple[int, int]]]:
    """The same ticks for all streams, in each of which something is new."""
    return {name: [(number % 2, 10 * number + at) for at in range(3)] for name in STREAMS}


def take_up(db: eddyline.Database) -> None:
    """Go on where whoever had the database before was killed."""
    for name in STREAMS:
        if name not in db.streams:
            db.sql(f"CREATE STREAM {name} (k INTEGER, t INTEGER) TIMESTAMP BY t")
    if "q" not in db.queries:
        inputs = ", ".join(f"{name} [RANGE 15 SEC]" for name in STREAMS)
        db.sql(f"CREATE QUERY q AS ISTREAM(SELECT a.t AS x, c.t AS y FROM {inputs} WHERE a.k = b.k AND b.k = c.k)")
    db.flush()
    for number in range(db.status().rows["a"] // 3, PUSHES):
        db.push(rows_of_push(number))
        db.flush()


def finish(db: eddyline.Database) -> list[tuple[Any, ...]]:
    """All that was ever said, with its numbers."""
    take_up(db)
    db.advance(10 * PUSHES, closed=True)
    db.flush()
    return [(answer.op, answer.tick, answer.index, answer.row) for answer in db.query("q").fetch()]


def lives(folder: str, places: list[str]) -> None:
    """One life after the other, each with two pushes that nothing happens to; tells how it has ended."""
    for place in places:
        child = os.fork()
        if not child:
            with kernels_alone(), opened(folder) as db:
                _die_in_third_push(db, place)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _die_in_third_push(db: eddyline.Database, place: str) -> None:
    write, append, entries = Ingest._write, Journal.append, 0

    def written(self: Ingest, *given: Any, **named: Any) -> Any:
        segments = write(self, *given, **named)
        if place == FIRST and entries == 2:
            die()
        return segments

    def appended(self: Journal, segments: Any, *given: Any, **named: Any) -> Any:
        nonlocal entries
        entries += bool(segments)
        if place == ALL and entries == 3:
            die()
        entry = append(self, segments, *given, **named)
        if place == SAID and entries == 3:
            die()
        return entry

    with patch.object(Ingest, "_write", written), patch.object(Journal, "append", appended):
        take_up(db)


if __name__ == "__main__":
    lives(sys.argv[1], sys.argv[2:])
