"""Expressions that cost much: computed once for a row, and compared as SQL does."""

from __future__ import annotations

import math
import time
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.algebra.types import DOUBLE
from eddyline.algebra.user_function import UserFunction
from eddyline.columnar.vectorised import vectorised
from eddyline.kernels import functions
from eddyline.kernels.costly import Called, Comparison, Costly, CostlyColumns
from eddyline.kernels.eddy.clock import OwnTime
from eddyline.kernels.places import index, picked
from eddyline.kernels.task import kernel
from eddyline.log.storage import Storage

_doubles = st.lists(st.none() | st.sampled_from([-1.5, -0.0, 0.0, 2.0, math.nan, math.inf]), max_size=8)
_ints = st.lists(st.none() | st.integers(-2, 2), max_size=8)
_texts = st.lists(st.none() | st.sampled_from(["", "a", "b"]), max_size=8)
_kinds = st.one_of(
    st.tuples(_doubles, st.just(pa.float64()), st.sampled_from([-1.5, 0.0, 2.0, math.inf])),
    st.tuples(_ints, st.sampled_from([pa.int32(), pa.int64()]), st.integers(-2, 2)),
    st.tuples(_texts, st.just(pa.string()), st.sampled_from(["", "a"])),
    st.tuples(st.lists(st.none() | st.booleans(), max_size=8), st.just(pa.bool_()), st.booleans()),
)
_AS_IN_PYTHON = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _rank(value: Any) -> Any:
    """NaN is above all numbers."""
    return (True, 0.0) if value != value else (False, value)


@given(_kinds, st.sampled_from(sorted(_AS_IN_PYTHON)))
def test_a_comparison_holds_where_there_is_a_value_of_which_it_is_true(
    kind: tuple[list[Any], pa.DataType, Any], operator: str
) -> None:
    values, type_, constant = kind
    expected = [v is not None and _AS_IN_PYTHON[operator](_rank(v), _rank(constant)) for v in values]
    given_values = pa.array([None, *values], type_)[1:]  # a slice, as functions may give it
    assert Comparison(operator, constant).holds(given_values).tolist() == expected


@given(st.sets(st.integers(0, 20)), st.sampled_from([7, 10, 21]))
def test_rows_are_picked_whether_or_not_they_are_neighbours(chosen: set[int], of_a_chunk: int) -> None:
    rows = np.array(sorted(chosen), np.int64)
    column = pa.chunked_array([pa.array(range(low, min(21, low + of_a_chunk))) for low in range(0, 21, of_a_chunk)])
    assert picked(column, rows).to_pylist() == rows.tolist()
    assert np.arange(21)[index(rows)].tolist() == rows.tolist()


@settings(deadline=None)  # the kernel is started by the first
@given(st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=1, max_size=12))
def test_a_value_is_computed_once_for_a_row(asked: list[set[int]]) -> None:
    calls: list[float] = []

    def half(values: pa.Array) -> Any:
        calls.extend(values.to_pylist())
        return values.to_numpy() / 2

    function = UserFunction("half", "ab" * 32, (DOUBLE,), DOUBLE)
    called = Called(function, ("x",))
    conditions = {"value": Costly("half(x)", called), "few": Costly("half(x) < 4", called, Comparison("<", 4.0))}
    columns = CostlyColumns(pa.table({"x": np.arange(31.0)}), conditions, kernel(), Storage("/nowhere"))
    with patch.dict(functions._loaded, {function: vectorised(function, half)}):
        for number, rows in enumerate(asked):
            places = np.array(sorted(rows), np.int64)
            if number % 2:
                assert columns.of("value", places).to_pylist() == (places / 2).tolist()
            else:
                assert columns.holds("few", places).tolist() == (places / 2 < 4).tolist()
    everybody = set().union(*asked)
    assert sorted(calls) == sorted(everybody)
    known = columns.as_far_as_known("value", np.arange(31), pa.float64()).to_pylist()
    assert known == [row / 2 if row in everybody else None for row in range(31)]


def test_waiting_counts_but_not_for_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = OwnTime()
    began = clock()
    time.sleep(0.05)
    assert clock() - began > 0.04
    clock = OwnTime()
    monkeypatch.setattr("os.pread", lambda *_: b"5 3000000000 7\n")
    monkeypatch.setattr("time.perf_counter", lambda: 10.0)
    at = clock()
    assert at == (10.0 if clock._file is None else 7.0)  # the system may not tell
    monkeypatch.setattr("os.pread", lambda *_: b"5 4000000000 7\n")
    assert clock() == at  # it does not run backwards
