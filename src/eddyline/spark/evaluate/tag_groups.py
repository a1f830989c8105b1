"""The tag groups of windows. Runs of tuples with the same marks go to a function, window by window; parts come back."""

from __future__ import annotations

from eddyline.algebra.expression import Column
from eddyline.algebra.tag_groups import LABEL, RUNS, Everything, WindowTagGroups
from eddyline.kernels.tag_groups import NOTHING
from eddyline.log.segment import INDEX, TICK
from eddyline.spark.evaluate.batch import Batch, columns_of
from eddyline.spark.evaluate.frames import grouped
from eddyline.spark.evaluate.relational import names_in
from eddyline.spark.evaluate.tuples import log_of, tuples
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.expression import spark_sql

#: the place of a tuple in its window, its marks, and the number of its run
_PLACE, _MARKS, _RUN = "_place", "_marks", "_run"


def tag_groups(node: WindowTagGroups, windows: Windows) -> Windows:
    """Each tuple of a window that is in a group, with the group's number, its label, and the marks that match."""
    names = names_in(node.input.schema)
    head, width = windows.head, windows.width
    order = ", ".join(spark_sql(expr, names) for expr in node.order)
    each_window = f"OVER (PARTITION BY {', '.join(head)} ORDER BY"
    placed = windows.rows.selectExpr(
        *head,
        *windows.columns,
        f"{spark_sql(node.marks, names)} AS {_MARKS}",
        f"CAST(row_number() {each_window} {order}) AS BIGINT) AS {_PLACE}",
    )
    begins = f"CASE WHEN {_PLACE} > 1 AND lag({_MARKS}) {each_window} {_PLACE}) <=> {_MARKS} THEN 0 ELSE 1 END"
    begun = placed.selectExpr("*", f"{begins} AS _begins")
    run = f"CAST(sum(_begins) {each_window} {_PLACE} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT)"
    numbered = begun.selectExpr("*", f"{run} AS {_RUN}")
    sized = grouped(numbered, [*head, _RUN], [f"max({_MARKS}) AS {_MARKS}", "count(*) AS _size"])
    line = f"concat(CAST({_RUN} AS STRING), ' ', CAST(_size AS STRING), ' ', coalesce({_MARKS}, '{NOTHING}'))"
    texts = grouped(sized.selectExpr(*head, f"{line} AS _line"), head, [f"listagg(_line, chr(10)) AS {RUNS}"])
    parts = texts.selectExpr(*head, f"explode(split({spark_sql(node.divided, _as_named)}, chr(10))) AS _part")
    read = parts.selectExpr(
        *head,
        f"CAST({_field(1)} AS BIGINT) AS {_RUN}",
        f"CAST({_field(2)} AS BIGINT) AS _first",
        f"CAST({_field(3)} AS BIGINT) AS _last",
        f"CAST({_field(4)} AS BIGINT) AS c{width}",
        f"{_field(5)} AS {LABEL}",
        f"nullif({_field(6)}, '') AS c{width + 2}",
    )
    told = read.selectExpr("*", f"{spark_sql(node.labelled, _as_named)} AS c{width + 1}")
    joined = numbered.join(told, [*head, _RUN]).where(f"{_PLACE} BETWEEN _first AND _last")
    return windows.with_rows(joined.select(*head, *(f"c{i}" for i in range(width + 3))), width + 3)


def everything(node: Everything, batch: Batch) -> Windows:
    """All tuples that stand, as one window; who came before the query was created is none of its business."""
    rows = tuples(node.input, batch)
    if since := batch.since.get(log_of(node.input, batch).name):
        rows = rows.where(f"{INDEX} > {since}")
    width = len(node.input.schema)
    listed = batch.frames.range(0, 1).selectExpr(f"id AS {T}")
    places = [f"{TICK} AS c{width}", f"{INDEX} AS c{width + 1}"]
    return Windows(rows.selectExpr(f"0L AS {T}", *columns_of(width), *places), listed, (T,), width + 2)


def _field(number: int) -> str:
    return f"split_part(_part, chr(9), {number})"


def _as_named(column: Column) -> str:
    return column.name
