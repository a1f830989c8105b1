"""Rows that are picked are those that Arrow takes, whatever is missing and wherever columns begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eddyline.log.picking import Picking

COLUMNS: list[tuple[list[Any], pa.DataType]] = [
    ([None, 1, None, 2, None, 3], pa.int64()),
    ([None, 0.5, None, 1.5, None, 2.5], pa.float64()),
    ([1, None, 3, None, 5, None], pa.int32()),
    ([None, None, None, 1, 2, 3], pa.int8()),
    ([1, 2, 3, 4, 5, 6], pa.timestamp("us", "UTC")),
    ([None, True, None, False, None, True], pa.bool_()),
    ([None, "a", None, "b", None, None], pa.string()),
    ([None, "a", "a", "b", None, None], pa.dictionary(pa.int32(), pa.string())),
]


@pytest.mark.parametrize("places", [[1, 3, 5], [0, 1, 2], [], [4, 4, 1]])
@pytest.mark.parametrize("offset", [0, 1])
def test_what_is_picked(places: list[int], offset: int) -> None:
    picking = Picking(np.array(places, np.int64))
    for values, type_ in COLUMNS:
        column = pa.array([*([None] * offset), *values], type_).slice(offset)
        picked = picking.of(column)
        picked.validate(full=True)
        assert picked.type == type_
        assert picked.to_pylist() == column.take(pa.array(places, pa.int64())).to_pylist()
