"""Conditions of ad hoc tags, as far as the kernel can ask them of tuples that come in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.schema import Schema
from eddyline.algebra.user_function import UserCall
from eddyline.columnar.types import arrow_schema
from eddyline.errors import NotSupported
from eddyline.kernels.conditions import satisfied, why_not_asked
from eddyline.kernels.fits import why_not_expression
from eddyline.spark.expression import names_of, spark_sql


def check(where: TypedExpr, schema: Schema) -> None:
    """Raise if a condition cannot be asked before tuples are in the log: once it is there, nobody can take it out."""
    own = next((call.definition.name for call in where.walk() if isinstance(call, UserCall)), None)
    if own is not None:
        message = f"the condition of a tag is asked as tuples come in, which {own} could keep out: it may fail"
        raise NotSupported(message, hint="attach the tag CONTINUOUSLY, or ask without functions of your own")


def in_kernel(where: TypedExpr, schema: Schema) -> Callable[[pa.Table], Any] | None:
    """Which tuples satisfy a condition, as the kernel says, or None where it cannot; None if it never can."""
    if why_not_expression(where) is not None:
        return None
    text = spark_sql(where, names_of(schema, [f"c{place}" for place in range(len(schema))]))
    if why_not_asked(arrow_schema(schema).empty_table(), text) is not None:
        return None
    return partial(satisfied, condition=text)
