"""UPDATE and DELETE on a stream: Spark finds the tuples, its tasks write down how they are revised, the driver commits.

Nobody waits for it: whether the tuples still are what was read is looked at when the revisions are there, and if they
are not, it is done again. Who is overtaken time and again has the others wait.
"""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from eddyline.algebra.expression import Column, Literal, TypedExpr
from eddyline.algebra.marks import MARKS, PLACES_ROLE
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.tag import Withdrawal
from eddyline.algebra.types import STRING
from eddyline.catalog.extent import Extent
from eddyline.log.detached import Detached, detach_text
from eddyline.log.segment import INDEX, PLACES, TICK
from eddyline.log.segment import MARKS as COLUMN_OF_MARKS
from eddyline.log.statements import Made, Statement, made_by_task
from eddyline.spark.evaluate.batch import Log, columns_of
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.tags.conditions import check
from eddyline.spark.trouble import told_plainly

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eddyline.spark.engine import Engine

#: after so many attempts those who push wait
_PATIENCE = 3
#: as many rows of the log are worth a task of their own
_WORTH_A_TASK = 500_000
_MADE = "made BINARY"
_ARROW_MADE = pa.schema({"made": pa.binary()})


@dataclass(frozen=True)
class TakingBack:
    """Tags that a DETACH takes back, and the statement as it stands in the log."""

    what: Detached
    text: str


@dataclass(frozen=True)
class Revision:
    """What a statement says: of which tuples of a stream, and by which values; without any they are deleted."""

    extent: Extent
    schema: Schema  # of the extent, with tick and index behind its columns
    where: TypedExpr | None
    values: Sequence[TypedExpr] | None
    tick_micros: int
    taking_back: TakingBack | None = None  # a DETACH: tuples are what they were, with fewer tags

    @property
    def changes_keys(self) -> bool:
        if self.values is None:
            return False
        columns = [value.name if isinstance(value, Column) else None for value in self.values]
        return any(columns[at] != self.extent.schema.names[at] for at in self.extent.key_positions)


def take_back(engine: Engine, extent: Extent, withdrawal: Withdrawal, schema: Schema) -> tuple[int, bool]:
    """Take tags back from all tuples that have come and that will; gives how many tuples are revised, and whether there
    was any tag that could be meant.

    The condition reads `schema`: the columns, tick and index. It is also asked of what comes, before Spark has it.
    """
    where = withdrawal.condition
    if where is not None:
        check(where, schema)
    what = Detached.of(withdrawal, extent.name, extent.schema)
    text = detach_text(what, None if where is None else (where, schema))
    return _until_done(engine, Revision(extent, schema, where, None, 1, TakingBack(what, text)))


def revise(engine: Engine, revision: Revision) -> int:
    """Revise every standing tuple within retention that satisfies the condition; gives their number."""
    return _until_done(engine, revision)[0]


def _until_done(engine: Engine, revision: Revision) -> tuple[int, bool]:
    for attempt in itertools.count():
        with engine.writing if attempt >= _PATIENCE else nullcontext():
            revised = _attempt(engine, revision)
        if revised is not None:
            return revised
    raise AssertionError("there is always another attempt")


def _attempt(engine: Engine, revision: Revision) -> tuple[int, bool] | None:
    """How many tuples were revised, and if anything was; None if they have changed meanwhile: nothing has happened."""
    journal = engine.journal
    with engine.writing:
        extent = engine.extent(revision.extent.name)  # as its connection points have it
        before, folded = journal.number, journal.base.number
        state = journal.state(extent.name)
        horizon, rows = extent.horizon(state.top), sum(segment.rows for segment in state.segments)
        tasks = rows // _WORTH_A_TASK + 1
        lowest = min((segment.index[0] for segment in state.segments), default=1)
        base = engine.ingest.reserve(extent.name, 2 * (state.last_index - lowest + 1)) - 2 * lowest
        logs = engine.logs()
        writes = engine.unnamed.begin(before + 1)
    taking = revision.taking_back
    statement = Statement(
        extent,
        engine.storage.root,
        before + 1,
        horizon,
        base,
        revision.tick_micros,
        None if taking is None else taking.what,
    )
    made: Sequence[Made] = ()
    try:
        try:
            if taking is None or any(segment.marked for segment in state.segments):
                made = _made(engine, logs, revision, statement, tasks)
        except Exception:
            if folded == journal.base.number:
                raise
            return None  # segments were merged meanwhile, and files went that Spark was about to read
        with engine.writing:  # only now: those who push need not wait for Spark
            if before < journal.base.number:
                return None  # what has come since is not known entry by entry any more
            between = journal.between(before, journal.number)
            came = [segment for entry in between for segment in entry.segments.get(extent.name, ())]
            if taking is not None and any(segment.marked for segment in came):
                return None  # tuples have come since that may carry the tag
            if any(segment.minus for segment in came):
                return None  # somebody else has revised tuples since they were read
            if engine.extent(extent.name).horizon(journal.state(extent.name).top) != horizon:
                return None  # tuples that were read may be out of reach
            if taking is not None:
                return engine.ingest.take_back(extent, made, taking.what, taking.text)
            revised = engine.ingest.take_revisions(extent, made, revision.changes_keys)
            return revised, bool(revised)
    finally:
        # whether it has happened, the journal alone knows: who is interrupted behind the entry has revised them
        named = {segment.path for segment in journal.state(extent.name).segments}
        unnamed = [part.segment.path for part in made if part.segment is not None and part.segment.path not in named]
        happened = bool(made) and not unnamed
        engine.unnamed.end(writes, journal.number if happened else 0)
        for path in (*unnamed, *(part.aside for part in made if part.aside is not None)):
            engine.storage.delete(path)


def _made(engine: Engine, logs: dict[str, Log], revision: Revision, statement: Statement, tasks: int) -> Sequence[Made]:
    frame = _found(engine, logs, revision, statement.horizon)
    spread = frame.coalesce(1) if tasks == 1 else frame.repartitionByRange(tasks, INDEX)

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for made in made_by_task(batches, statement):
            yield pa.RecordBatch.from_pylist([{"made": pickle.dumps(made)}], schema=_ARROW_MADE)

    with told_plainly("Spark cannot find what is to be revised"):
        rows = spread.sortWithinPartitions(INDEX).mapInArrow(write, _MADE).collect()
    return [pickle.loads(row.made) for row in rows]


def _found(engine: Engine, logs: dict[str, Log], revision: Revision, horizon: int | None) -> DataFrame:
    """The tuples that are revised: `_index`, `_tick` and the values, then the new values if there are any.

    Where tuples carry tags, their marks and where the tags stand are the last columns.
    """
    extent = revision.extent
    width = len(extent.schema)
    columns, marks = columns_of(width + 2), []
    declared = extent.schema
    if any(segment.marked for segment in logs[extent.name].segments):
        names = (MARKS, f"{MARKS}{PLACES_ROLE}")
        declared += Schema(tuple(Field(name, STRING, declared.fields[0].relation) for name in names))
        columns = [*columns_of(width), *columns_of(width + 4)[-2:]]
        marks = [f"c{width} AS {COLUMN_OF_MARKS}", f"c{width + 1} AS {PLACES}"]
    plan = StreamReceive(extent.name, declared, implicit=True)
    frame = cast("DataFrame", tuples(plan, engine.batch(logs)))
    if horizon is not None:
        frame = frame.where(f"{TICK} >= {horizon}")
    known = names_of(revision.schema, columns)
    if revision.where is not None:
        frame = frame.where(spark_sql(revision.where, known))
    own = [INDEX, TICK, *columns_of(width)]
    if revision.taking_back is not None:  # those with tags of the tagger; tasks look at what these say
        tagger = Literal(json.dumps(revision.taking_back.what.tagger, ensure_ascii=False), STRING)
        carrying = f"instr(c{width}, {spark_sql(tagger, known)}) > 0"
        return frame.where(f"c{width} IS NOT NULL AND {carrying}").selectExpr(*own, *marks)
    if revision.values is None:
        return frame.selectExpr(*own, *marks)
    texts = [spark_sql(value, known) for value in revision.values]
    different = " OR ".join(f"NOT (({text}) <=> c{i})" for i, text in enumerate(texts))
    return frame.where(different).selectExpr(*own, *(f"{text} AS n{i}" for i, text in enumerate(texts)), *marks)
