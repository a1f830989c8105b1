"""(d) Eddyline: the queries are registered in one call. The stream is the folder of the files, which stay where they
are (`copy 'false'`), as they do on the other sides; or, as a side of its own, they are pushed one after the other.

Reading the files counts, as it does on the other sides, and so does writing the stream's log where they are pushed.
Starting Spark's streaming query counts as registering, as it does there.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.cpu import cpu_seconds
from bench.many.answers import AGGREGATED, SELECTED
from bench.many.memory import megabytes
from bench.many.queries import Kind
from bench.many.side import Case, Measured, Unavailable

STREAM = "CREATE STREAM ticks (t BIGINT, sym STRING, price DOUBLE, volume INTEGER) TIMESTAMP BY t"
FILES = " USING parquet OPTIONS (path '{}', copy 'false')"
#: the column of an answer that names its query, and the one with the tick of its window
QUERY, TICK = "_query", "_tick"
#: what Eddyline takes into a micro-batch by itself
BATCH_ROWS = 1_000_000


class Eddyline:
    def __init__(self, work: Path, tuned: bool) -> None:
        self._root = work / "db"
        self._db: Any = None
        self._many: list[Any] = []

    def start(self) -> None:
        """Spark comes up with the first database, which is that of the warm-up."""

    def run(self, case: Case) -> Measured:
        import eddyline

        if self._db is not None:
            self._db.close()
        shutil.rmtree(self._root, ignore_errors=True)
        self._db = eddyline.connect(str(self._root), batch_rows=max(BATCH_ROWS, case.ticks.batch_rows))
        if not callable(self._db.queries):
            raise Unavailable("this Eddyline has no db.queries(template, constants) yet")
        self._create(case)
        registrations = list(_registrations(case))
        before, began = megabytes(), time.monotonic()
        self._many = [self._db.queries(template, constants) for template, constants in registrations]
        self._db.flush()  # until the streaming query stands
        registered = time.monotonic()
        grown = megabytes() - before
        spent, processing = cpu_seconds(), time.monotonic()
        self._take(case)
        process = time.monotonic() - processing
        return Measured(registered - began, max(0.0, grown), process, cpu_seconds() - spent)

    def _create(self, case: Case) -> None:
        self._db.sql(STREAM + FILES.format(case.ticks.folder))

    def _take(self, case: Case) -> None:
        self._db.run()

    def answers(self, case: Case) -> pa.Table:
        return pa.concat_tables([_named(case.kind, many.to_arrow()) for many in self._many])


class Pushed(Eddyline):
    """The same, but the files are read by the program and pushed."""

    def _create(self, case: Case) -> None:
        self._db.sql(STREAM)

    def _take(self, case: Case) -> None:
        ticks = self._db.stream("ticks")
        for path in case.ticks.files:
            ticks.push(pq.read_table(path))
        self._db.flush()


def _registrations(case: Case) -> list[tuple[str, pa.Table]]:
    """A template and the constants for each length and slide of a window."""
    where = "sym = :sym AND price > :floor" if case.kind.by_symbol else "price >= :low AND price < :high"
    if not case.kind.windows:
        return [(f"SELECT t, sym, price, volume FROM ticks WHERE {where}", case.constants)]
    found = []
    for length, slide in case.kind.windows:
        columns = case.constants
        members = columns.filter(pc.and_(pc.equal(columns["length"], length), pc.equal(columns["slide"], slide)))
        window = f"[FROM NOW-{length - 1} TO NOW SLIDE {slide} SEC]"
        template = f"SELECT sym, avg(price) AS mean, count(*) AS n FROM ticks {window} WHERE {where} GROUP BY sym"
        if len(members):
            found.append((template, members.drop_columns(["length", "slide"])))
    return found


def _named(kind: Kind, table: pa.Table) -> pa.Table:
    columns = (TICK, "sym", "mean", "n") if kind.windows else SELECTED
    wanted = AGGREGATED if kind.windows else SELECTED
    return table.select([QUERY, *columns]).rename_columns(["query", *wanted])
