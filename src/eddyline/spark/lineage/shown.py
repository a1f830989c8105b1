"""When results were shown last, of a stage that withholds corrections: what came since is what a correction adds up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.kernels.dialect import Untranslatable
from eddyline.kernels.sheet import Sheet
from eddyline.kernels.task import Work, answered
from eddyline.log.answers import HEADER, NUMBER
from eddyline.log.segment import BATCH, DIFF, INDEX, TICK
from eddyline.spark.evaluate.frames import grouped, joined
from eddyline.spark.stages import LINEAR, WINDOWS, Stage

Array = Any
_AT, _ROW, _LAST, _NET = "_at", "_row", "_last", "_n"
#: so many places are looked for one by one; of more, all between the first and the last are read
_MOST_PLACES = 1_000


def places_of(stage: Stage, rows: pa.Table) -> pc.Expression:
    """Which rows of its log are of the same tuples or windows as some rows."""
    column = INDEX if stage.kind == LINEAR else TICK
    values = pc.unique(rows.column(column))
    if len(values) <= _MOST_PLACES:
        return pc.field(column).isin(values)
    ends = pc.min_max(values)
    return (pc.field(column) >= ends["min"]) & (pc.field(column) <= ends["max"])


def shown_last(stage: Stage, rows: pa.Table, earlier: pa.Table | None, batch: int, root: str) -> Array:
    """For each row that a batch has said, the batch in which its result was shown before, as `earlier` rows tell.

    A result is known by its tuple, or by its window and keys. What was not shown before was not withheld either: it is
    as of the batch before this one.
    """
    last = np.full(rows.num_rows, batch - 1, np.int64)
    if earlier is None or not rows.num_rows:
        return last
    sheet = Sheet()
    said: Any = sheet.table(_told(stage, rows, np.arange(rows.num_rows)))
    before: Any = sheet.table(_told(stage, earlier, np.zeros(earlier.num_rows, np.int64)))
    values = [f"v{i}" for i in range(len(stage.columns))]
    assert stage.revise is not None
    keys = [f"v{key}" for key in stage.revise.keys or ()]
    net = [f"CAST(sum({DIFF}) AS BIGINT) AS {_NET}"]
    try:
        # a window is said anew as a whole, also rows of it that are as they were
        gone = grouped(said, [_AT, *values], net).where(f"{_NET} < 0").select(_AT, *keys).distinct()
        come = grouped(before, [BATCH, _AT, *values], net).where(f"{_NET} > 0")
        when = grouped(come, [_AT, *keys], [f"max({BATCH}) AS {_LAST}"])
        theirs = when.selectExpr(f"{_AT} AS _there", *(f"{key} AS k{key}" for key in keys), _LAST)
        mine = gone.selectExpr(f"{_AT} AS _gone", *(f"{key} AS g{key}" for key in keys))
        known = joined(mine, theirs, " AND ".join(["_gone = _there", *(f"g{key} <=> k{key}" for key in keys)]))
        agree = " AND ".join([f"{_AT} = _gone", *(f"{key} <=> g{key}" for key in keys)])
        found_rows: Any = joined(said, known, agree).selectExpr(_ROW, _LAST)
        work = Work(stage.name, batch, root, found_rows.statement())
        found = answered(replace(work, tables=sheet.tables, found=sheet.found))
    except Untranslatable:
        found = None
    if found is not None:
        last[found.column(_ROW).to_numpy()] = found.column(_LAST).to_numpy()
    return last


def _told(stage: Stage, rows: pa.Table, numbers: Array) -> pa.Table:
    """Batch, place, weight and values of rows; those that only say that a window is there are left out."""
    place = {LINEAR: INDEX, WINDOWS: NUMBER}.get(stage.kind, TICK)
    head = [rows.column(BATCH), rows.column(place), rows.column(DIFF), pa.array(numbers, pa.int64())]
    values = [rows.column(name) for name in stage.columns]
    names = [BATCH, _AT, DIFF, _ROW, *(f"v{i}" for i in range(len(values)))]
    table = pa.table([*head, *values], names)
    return table if HEADER not in rows.column_names else table.filter(pc.invert(rows.column(HEADER)))
