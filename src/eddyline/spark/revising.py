"""UPDATE and DELETE on a stream: which of its tuples are revised, and by what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.catalog.extent import Extent
from eddyline.log.segment import TICK
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.trouble import told_plainly

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eddyline.spark.engine import Engine

#: the ticks of revised tuples, if their values tell them
TickOf = Callable[[pa.Table], pa.Array | None]


def revise(
    engine: Engine,
    extent: Extent,
    schema: Schema,
    where: TypedExpr | None,
    values: Sequence[TypedExpr] | None,
    tick_of: TickOf,
) -> int:
    """Send a revision of every standing tuple within retention that satisfies the condition; gives their number.

    Without `values` the tuples are deleted.
    """
    journal = engine.journal
    while True:
        extent = engine.extent(extent.name)  # as its connection points have it
        before, folded = journal.number, journal.base.number
        try:
            table = _revisions(engine, extent, schema, where, values, tick_of)
        except Exception:
            if folded == journal.base.number:
                raise
            continue  # segments were merged meanwhile, and files went that Spark was about to read
        if table is None:
            return 0
        with engine.writing:  # only now: those who push need not wait for Spark
            if before < journal.base.number:
                continue  # what has come since is not known entry by entry any more
            between = journal.between(before, journal.number)
            if any(s.minus for entry in between for s in entry.segments.get(extent.name, ())):
                continue  # somebody else has revised tuples since they were read
            return engine.ingest.revise(extent, table)


def _revisions(
    engine: Engine,
    extent: Extent,
    schema: Schema,
    where: TypedExpr | None,
    values: Sequence[TypedExpr] | None,
    tick_of: TickOf,
) -> pa.Table | None:
    frame = _standing(engine, extent)
    horizon = extent.horizon(engine.journal.state(extent.name).top)
    if horizon is not None:  # what lies before it now will do so when the revisions are written
        frame = frame.where(f"{TICK} >= {horizon}")
    names = names_of(schema, [f"c{i}" for i in range(len(schema))])
    if where is not None:
        frame = frame.where(spark_sql(where, names))
    own = extent.schema.names
    if values is None:
        found = frame.selectExpr("_index", "_tick", *(f"c{i}" for i in range(len(own))))
    else:
        texts = [spark_sql(value, names) for value in values]
        different = " OR ".join(f"NOT (({text}) <=> c{i})" for i, text in enumerate(texts))
        found = frame.where(different).selectExpr("_index", "_tick", *(f"{t} AS n{i}" for i, t in enumerate(texts)))
    with told_plainly("Spark cannot find what is to be revised"):
        rows = found.orderBy("_index").toArrow()
    if not rows.num_rows:
        return None
    new = rows.select(rows.column_names[2:]).rename_columns(list(own))
    ticks = None if values is None else tick_of(new)
    return pa.table(
        {
            "_index": rows.column("_index"),
            "_was": rows.column("_tick"),
            "_tick": rows.column("_tick") if ticks is None else ticks,
            "_new": pa.repeat(pa.scalar(values is not None), rows.num_rows),
            **{name: new.column(name) for name in own},
        }
    )


def _standing(engine: Engine, extent: Extent) -> DataFrame:
    """The tuples of a stream as they stand now: `_index`, `_tick` and the values, then tick and index again."""
    plan = StreamReceive(extent.name, extent.schema, implicit=True)
    return cast("DataFrame", tuples(plan, engine.batch(engine.logs())))
