"""Conditions that the kernel does not compute are computed once for each different value, as if for each row."""

from __future__ import annotations

import pyarrow as pa
import pytest

from eddyline.session.tag_conditions import _different

COLUMNS = {
    "x": pa.chunked_array([[1, 1, None], [1, 2, None]], pa.int32()),
    "f": pa.chunked_array([[0.0, -0.0, float("nan")], [0.0, None, float("nan")]], pa.float64()),
    "b": pa.chunked_array([["a", "a", None], ["b", "a", None]], pa.string()),
    "l": pa.chunked_array([[[1], [1], None], [[], [1], None]], pa.list_(pa.int32())),
}


@pytest.mark.parametrize(
    ("names", "number"),
    [(["x"], 3), (["f"], 4), (["b"], 3), (["x", "b"], 4), (["x", "f", "b"], 5), (["l"], 6), ([], 1)],
)
def test_rows_have_the_values_of_the_first_that_is_like_them(names: list[str], number: int) -> None:
    table = pa.table({**COLUMNS, "row": range(6)})
    first, which = _different([table.column(name) for name in names], 6)
    assert len(first) == number
    for name in names:
        assert [repr(value) for value in table[name].take(first[which]).to_pylist()] == [
            repr(value) for value in table[name].to_pylist()
        ]


def test_no_rows_have_no_values() -> None:
    first, which = _different([pa.chunked_array([], pa.string())], 0)
    assert len(first) == len(which) == 0
