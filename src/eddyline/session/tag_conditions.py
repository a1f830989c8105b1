"""Conditions of ad hoc tags, asked of tuples as they come in: by the kernel, or as the reference engine asks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eddyline.algebra.expression import TypedExpr, columns_of
from eddyline.algebra.schema import Schema
from eddyline.log.active_tag import Condition
from eddyline.log.answers import python_rows
from eddyline.reference.expression import compile_predicate
from eddyline.spark.tags.conditions import in_kernel

Numbers = npt.NDArray[np.int64]


def condition(where: TypedExpr, schema: Schema) -> Condition:
    """Which tuples satisfy a condition. What the kernel does not compute, or means otherwise, is computed tuple by
    tuple, each different one once: Spark is too far away from where tuples come in, and takes longer."""
    kernel, each = in_kernel(where, schema), _of_each(where, schema)

    def asked(values: pa.Table) -> Any:
        found = None if kernel is None else kernel(values)
        return each(values) if found is None else found

    return asked


def _of_each(where: TypedExpr, schema: Schema) -> Condition:
    read = sorted({schema.position(column.name, column.relation) for column in columns_of(where)})
    holds = compile_predicate(where, Schema(tuple(schema.fields[place] for place in read)))

    def asked(values: pa.Table) -> Any:
        first, which = _different([values.column(place) for place in read], values.num_rows)
        rows = python_rows([values.column_names[place] for place in read], values.take(first))
        return np.fromiter(map(holds, rows), np.bool_, len(first))[which]

    return asked


def _different(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[Numbers, Numbers]:
    """Where values that differ from each other stand first, and which of them each row has."""
    first, which = np.zeros(min(rows, 1), np.int64), np.zeros(rows, np.int64)
    for column in columns:
        codes = _codes(column.combine_chunks())
        if codes is None:
            return np.arange(rows), np.arange(rows)
        _, first, which = np.unique(which * (int(codes.max(initial=0)) + 1) + codes, True, True)
    return first, which


def _codes(values: pa.Array) -> Numbers | None:
    """A number for each different value; None for lists, which Arrow does not compare."""
    if pa.types.is_nested(values.type):
        return None
    if pa.types.is_floating(values.type):  # 0.0 and -0.0 are equal, but not the same
        values = values.view(pa.int64() if values.type == pa.float64() else pa.int32())
    codes: Numbers = values.dictionary_encode("encode").indices.to_numpy().astype(np.int64)
    return codes
