"""Conditions of ad hoc tags, asked of tuples as they come in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from eddyline.algebra.expression import TypedExpr, columns_of
from eddyline.algebra.schema import Schema
from eddyline.algebra.user_function import UserCall
from eddyline.columnar.types import arrow_schema
from eddyline.errors import NotSupported
from eddyline.kernels.conditions import satisfied, why_not_asked
from eddyline.kernels.fits import why_not_expression
from eddyline.log.active_tag import Condition
from eddyline.log.answers import python_rows
from eddyline.reference.expression import compile_predicate
from eddyline.spark.expression import names_of, spark_sql


def check(where: TypedExpr, schema: Schema) -> None:
    """Raise if a condition cannot be asked before tuples are in the log: once it is there, nobody can take it out."""
    own = next((call.definition.name for call in where.walk() if isinstance(call, UserCall)), None)
    if own is not None:
        message = f"the condition of a tag is asked as tuples come in, which {own} could keep out: it may fail"
        raise NotSupported(message, hint="attach the tag CONTINUOUSLY, or ask without functions of your own")


def condition(where: TypedExpr, schema: Schema) -> Condition:
    """Which tuples satisfy a condition. What the kernel does not compute, or means otherwise, is computed tuple by
    tuple, as the reference engine does: Spark is too far away from where tuples come in."""
    text = _in_kernel(where, schema)
    each = _of_each(where, schema)

    def asked(values: pa.Table) -> Any:
        found = None if text is None else satisfied(values, text)
        return each(values) if found is None else found

    return asked


def _in_kernel(where: TypedExpr, schema: Schema) -> str | None:
    if why_not_expression(where) is not None:
        return None
    text = spark_sql(where, names_of(schema, [f"c{place}" for place in range(len(schema))]))
    return text if why_not_asked(arrow_schema(schema).empty_table(), text) is None else None


def _of_each(where: TypedExpr, schema: Schema) -> Callable[[pa.Table], Any]:
    read = sorted({schema.position(column.name, column.relation) for column in columns_of(where)})
    holds = compile_predicate(where, Schema(tuple(schema.fields[place] for place in read)))

    def asked(values: pa.Table) -> Any:
        rows = python_rows([values.column_names[place] for place in read], values)
        return np.fromiter(map(holds, rows), np.bool_, values.num_rows)

    return asked
