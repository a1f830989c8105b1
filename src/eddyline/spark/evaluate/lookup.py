"""A stream that meets tables: each tuple beside the rows of a table as it stands when the tuple arrives."""

from __future__ import annotations

from eddyline.algebra.sharing import StreamMatch
from eddyline.algebra.stream import StreamLookup
from eddyline.algebra.window import Scan
from eddyline.errors import InvalidAlgebra
from eddyline.log.answers import PLACE
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.evaluate.batch import Batch, columns_of
from eddyline.spark.evaluate.desired import Desired
from eddyline.spark.evaluate.frames import Frame, grouped, joined
from eddyline.spark.evaluate.matching import matched
from eddyline.spark.evaluate.product import predicate_sql
from eddyline.spark.evaluate.tuples import NET, changes, log_of
from eddyline.spark.evaluate.windows import T
from eddyline.spark.expression import names_of
from eddyline.spark.spans import NOTHING, Spans


def desired_lookup(plan: StreamLookup | StreamMatch, batch: Batch) -> Desired | None:
    """The rows of the tuples that the batch brings; a revised tuple meets the table as it stands now.

    With a match above, each of them once for every member of the query class that wants it.
    """
    node = plan.input if isinstance(plan, StreamMatch) else plan
    assert isinstance(node, StreamLookup)
    tables = _one_after_the_other(node)
    source = tables[0].input
    log = log_of(source, batch)
    if not log.fresh:
        return None
    columns = columns_of(len(source.schema))
    frame = changes(source, batch)
    revised = any(segment.minus for segment in log.fresh)
    if revised:
        frame = grouped(frame, [INDEX, TICK, *columns], [NET]).where(f"{DIFF} <> 0")
    made = frame.where(f"{DIFF} > 0").selectExpr(INDEX, TICK, *columns)
    for each in tables:
        made = _beside(each, made, batch)
    if isinstance(plan, StreamMatch):
        assert batch.members is not None
        names = names_of(node.schema, columns_of(len(node.schema)))
        made = matched(plan, made, [INDEX, TICK], names, batch.members, batch.frames)
    width = len(plan.schema)
    rows = made.selectExpr(f"{INDEX} AS {PLACE}", f"{TICK} AS {T}", *columns_of(width))
    if not revised:
        return Desired(rows, (PLACE,), width, NOTHING, PLACE)
    again = Spans.of(segment.index for segment in log.fresh if segment.minus)
    concerned = frame.selectExpr(f"{INDEX} AS {PLACE}").distinct()
    return Desired(rows, (PLACE,), width, again, PLACE, among=concerned)


def _one_after_the_other(node: StreamLookup) -> list[StreamLookup]:
    """The look-ups of several tables in the order in which a tuple meets them."""
    found = [node]
    while isinstance(below := found[-1].input, StreamLookup):
        found.append(below)
    return found[::-1]


def _beside(node: StreamLookup, tuples: Frame, batch: Batch) -> Frame:
    """The tuples beside the rows of a table as it stands."""
    if not isinstance(node.table, Scan):
        raise InvalidAlgebra("a stream can be joined with stored tables only")
    first, second = len(node.input.schema), len(node.table.schema)
    table = batch.tables(node.table.table, batch.frames).selectExpr(*(f"c{i} AS c{i + first}" for i in range(second)))
    if node.predicate is None:
        return tuples.crossJoin(table)
    return joined(tuples, table, predicate_sql(node.predicate, node.schema, []))
