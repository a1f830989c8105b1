"""Conditions of ad hoc tags, asked of tuples as they come in: by the kernel, or as the reference engine asks them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eddyline.algebra.expression import TypedExpr, columns_of
from eddyline.algebra.schema import Schema
from eddyline.log.active_tag import Condition
from eddyline.log.answers import python_rows
from eddyline.reference.expression import compile_predicate
from eddyline.spark.tags.conditions import in_kernel


def condition(where: TypedExpr, schema: Schema) -> Condition:
    """Which tuples satisfy a condition. What the kernel does not compute, or means otherwise, is computed tuple by
    tuple: Spark is too far away from where tuples come in."""
    kernel, each = in_kernel(where, schema), _of_each(where, schema)

    def asked(values: pa.Table) -> Any:
        found = None if kernel is None else kernel(values)
        return each(values) if found is None else found

    return asked


def _of_each(where: TypedExpr, schema: Schema) -> Condition:
    read = sorted({schema.position(column.name, column.relation) for column in columns_of(where)})
    holds = compile_predicate(where, Schema(tuple(schema.fields[place] for place in read)))

    def asked(values: pa.Table) -> Any:
        rows = python_rows([values.column_names[place] for place in read], values)
        return np.fromiter(map(holds, rows), np.bool_, values.num_rows)

    return asked
