"""Tags that are told with the first tuple that carries them. Which ones have been told is what the stage has said."""

from __future__ import annotations

from eddyline.algebra.expression import Column
from eddyline.algebra.first_tags import CARRIED, FirstTags
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.evaluate.batch import Batch, columns_of
from eddyline.spark.evaluate.desired import Desired
from eddyline.spark.evaluate.difference import Said
from eddyline.spark.evaluate.frames import Frame, grouped
from eddyline.spark.evaluate.tuples import changes, log_of, tuples
from eddyline.spark.evaluate.windows import T
from eddyline.spark.expression import spark_sql
from eddyline.spark.literal import spark_type
from eddyline.spark.spans import EVERYTHING

#: tells tags apart
_KEY = "_k0"


def desired_first_tags(node: FirstTags, batch: Batch) -> Desired | None:
    """The tags on tuples that the batch brings, with the first of these; every version of a tuple counts."""
    if not log_of(node.tuples, batch).fresh:
        return None
    marks = f"c{len(node.tuples.schema) - 1}"
    passing = changes(node.tuples, batch).where(f"{DIFF} > 0 AND {marks} IS NOT NULL")
    alike = grouped(passing.selectExpr(INDEX, f"{marks} AS {CARRIED}"), [CARRIED], [f"min({INDEX}) AS {INDEX}"])
    lines = alike.selectExpr(INDEX, f"explode(split({spark_sql(node.listed, _as_named)}, chr(10))) AS _line")
    carried = lines.selectExpr(
        INDEX,
        f"CAST({_field(1)} AS BIGINT) AS {_KEY}",
        f"CAST({_field(2)} AS BIGINT) AS {T}",
        f"nullif({_field(3)}, '') AS _own",
    )
    firsts = [f"min({INDEX}) AS {INDEX}", f"min({T}) AS {T}", "min(_own) AS _own"]
    known = tuples(node.tags, batch).selectExpr(f"c0 AS {_KEY}", "c1 AS _said")
    told = grouped(carried, [_KEY], firsts).join(known, _KEY, "left").where("_own IS NOT NULL OR _said IS NOT NULL")
    width = len(node.schema)
    types = [spark_type(field.type) for field in node.shown.fields]
    nothing = [f"CAST(NULL AS {type_}) AS c{place}" for place, type_ in enumerate(types)]
    rows = told.selectExpr(INDEX, _KEY, T, *nothing, f"coalesce(_own, _said) AS c{width - 2}", f"'#' AS c{width - 1}")
    return Desired(rows, (_KEY,), width, EVERYTHING, _KEY)


def first_tags_difference(desired: Desired, said: Said) -> Frame:
    """`_index`, `_tick`, `_diff`, the key, c0, …: what was not told before; what was is not called back."""
    rows = desired.rows
    if said.rows is not None:
        rows = rows.join(said.rows.select(_KEY).distinct(), _KEY, "left_anti")
    return rows.selectExpr(INDEX, f"{T} AS {TICK}", f"1 AS {DIFF}", _KEY, *columns_of(desired.width))


def _field(number: int) -> str:
    return f"split_part(_line, chr(9), {number})"


def _as_named(column: Column) -> str:
    return column.name
