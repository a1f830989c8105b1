"""Rows that satisfy a condition."""

from __future__ import annotations

from eddyline.algebra.expression import TypedExpr, columns_of, conjunction, conjuncts
from eddyline.algebra.notation import predicate_text
from eddyline.algebra.user_function import is_expensive
from eddyline.kernels import sheet
from eddyline.kernels.costly import Costly
from eddyline.kernels.dialect import kernel_sql
from eddyline.spark.evaluate.frames import Frame, as_frame
from eddyline.spark.expression import Names, spark_sql


def selected(frame: Frame, predicate: TypedExpr, names: Names) -> Frame:
    """What costs little is asked first; in which order the rest is asked, the kernel's eddy finds out by itself."""
    parts = conjuncts(predicate)
    cheap = conjunction(tuple(part for part in parts if not is_expensive(part)))
    costly = [part for part in parts if is_expensive(part)]
    if cheap is not None:
        frame = frame.where(spark_sql(cheap, names))
    if len(costly) > 1 and isinstance(frame, sheet.Frame):
        conditions = {predicate_text(part): costly_of(part, names) for part in costly}
        return as_frame(frame.selected(" AND ".join(conditions), conditions))
    for part in costly:
        frame = frame.where(spark_sql(part, names))
    return frame


def costly_of(expr: TypedExpr, names: Names) -> Costly:
    """An expression that costs much, for the kernel."""
    columns = sorted({names(column).strip("`") for column in columns_of(expr)})
    return Costly(predicate_text(expr), kernel_sql(spark_sql(expr, names))[0], tuple(columns))
