"""Which members of a query class want which rows."""

from __future__ import annotations

from collections.abc import Sequence

from eddyline.algebra.expression import Column
from eddyline.algebra.sharing import MEMBER, QUERY, Match
from eddyline.log.segment import INDEX
from eddyline.spark.evaluate.frames import Frame, Frames, joined
from eddyline.spark.evaluate.members import SINCE, Members
from eddyline.spark.expression import Names, spark_sql


def matched(node: Match, frame: Frame, kept: Sequence[str], names: Names, members: Members, frames: Frames) -> Frame:
    """Each row once for every member that wants it: `kept`, c0, …, then the number and the constants of HAVING.

    Rows with an index that came before a member was created are none of its business, if `_index` is among `kept`.
    """
    width = len(node.input.schema)
    columns = [*kept, *(f"c{i}" for i in range(width))]
    extra = [QUERY, *(f"_a{i}" for i in range(len(node.constants)))]
    numbered = [f"{name} AS c{i}" for i, name in enumerate(extra, width)]

    def name(column: Column) -> str:
        return f"_{column.name}" if column.relation == MEMBER else names(column)

    made: Frame | None = None
    for form in node.forms:
        condition = "true" if form.predicate is None else spark_sql(form.predicate, name)
        if INDEX in kept and members.since:
            condition = f"({condition}) AND {INDEX} > {SINCE}"
        part = joined(frame, members.frame(form.name, frames), condition).selectExpr(*columns, *numbered)
        made = part if made is None else made.unionAll(part)
    assert made is not None
    return made
