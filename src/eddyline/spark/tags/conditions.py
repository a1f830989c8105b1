"""Conditions of ad hoc tags, asked of tuples as they come in."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.schema import Schema
from eddyline.columnar.types import arrow_schema
from eddyline.errors import NotSupported
from eddyline.kernels.conditions import satisfied, why_not_asked
from eddyline.kernels.fits import why_not_expression
from eddyline.log.active_tag import Condition
from eddyline.spark.expression import names_of, spark_sql


def check(where: TypedExpr, schema: Schema) -> None:
    """Raise if a condition cannot be asked before tuples are in the log: once it is there, nobody can take it out."""
    reason = why_not_expression(where)
    if reason is None:
        problem = why_not_asked(arrow_schema(schema).empty_table(), _text(where, schema))
        reason = None if problem is None else f"the kernel cannot compute it ({problem})"
    if reason is not None:
        raise NotSupported(
            f"the condition of a tag is asked as tuples come in, where {reason}",
            hint="compare values of one type, such as a > 5 and b = 'x', or attach it CONTINUOUSLY",
        )


def condition(where: TypedExpr, schema: Schema) -> Condition:
    """Which tuples satisfy a condition."""
    return partial(_asked, _text(where, schema))


def _text(where: TypedExpr, schema: Schema) -> str:
    return spark_sql(where, names_of(schema, [f"c{place}" for place in range(len(schema))]))


def _asked(text: str, values: pa.Table) -> Any:
    return satisfied(values, text)
