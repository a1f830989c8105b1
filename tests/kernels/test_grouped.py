"""The grouped filter finds what SQL's three-valued logic says: any forms over any types, and many members."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.kernels.grouped.filter import GroupedFilter
from eddyline.kernels.grouped.form import Bound, Form, Range, equal
from kernels.grouped_right import ALL_TYPES, VALUES, bare, check, expected, found, pairs_of_shares


def values_of(type_: pa.DataType) -> st.SearchStrategy[Any]:
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    return st.sampled_from([*VALUES[plain], None])


def column(draw: st.DrawFn, type_: pa.DataType, size: int) -> pa.ChunkedArray:
    """In one or several chunks, of which the last is a slice of something longer."""
    values = draw(st.lists(values_of(type_), min_size=size, max_size=size))
    cut = draw(st.integers(0, size))
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    arrays = [pa.array(values[:cut], plain), pa.array([None, *values[cut:], *values[:1]], plain)]
    if plain != type_:
        arrays = [array.dictionary_encode().cast(type_) for array in arrays]
    return pa.chunked_array([arrays[0], arrays[1].slice(1, size - cut)], type_)


@st.composite
def bound(draw: st.DrawFn, type_: pa.DataType, parameters: list[str]) -> Bound | None:
    inclusive = draw(st.booleans())
    match draw(st.sampled_from(["parameter", "parameter", "parameter", "constant", "none"])):
        case "parameter":
            return Bound(draw(st.sampled_from(parameters)), inclusive=inclusive)
        case "constant":
            value = draw(values_of(type_))
            return Bound(
                None, pa.scalar(value, type_.value_type) if pa.types.is_dictionary(type_) else value, inclusive
            )
        case _:
            return None


@st.composite
def condition(draw: st.DrawFn, types: dict[str, pa.DataType]) -> Range:
    attribute = draw(st.sampled_from(sorted(types)))
    parameters = [f"{attribute}1", f"{attribute}2"]
    match draw(st.sampled_from(["equal", "equal", "range", "range", "range", "null"])):
        case "equal":
            return equal(attribute, draw(st.sampled_from(parameters)))
        case "range":
            type_ = types[attribute]
            return Range(attribute, draw(bound(type_, parameters)), draw(bound(type_, parameters)))
        case _:
            return Range(attribute, is_null=True)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Form, pa.Table, list[int], pa.Table]:
    types = {name: draw(st.sampled_from(ALL_TYPES)) for name in ("x", "y", "z")}
    ranges = st.lists(condition(types), max_size=3).map(tuple)
    form = Form(tuple(draw(st.lists(ranges, min_size=1, max_size=2))))
    count, rows = draw(st.integers(0, 12)), draw(st.integers(0, 9))
    members = pa.table({f"{name}{i}": column(draw, type_, count) for name, type_ in types.items() for i in (1, 2)})
    ids = draw(st.lists(st.integers(-3, 20), min_size=count, max_size=count))
    return form, members, ids, pa.table({name: column(draw, type_, rows) for name, type_ in types.items()})


@given(cases(), st.booleans())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_form_is_as_sql_says(case: tuple[Form, pa.Table, list[int], pa.Table], as_if_large: bool) -> None:
    form, members, ids, tuples = case
    readable = Form(tuple(tuple(map(_with_plain_constants, ranges)) for ranges in form.alternatives))
    right = expected(readable, members, ids, tuples)
    with bare() if as_if_large else nullcontext():
        check(form, members, tuples, ids, right)


def _with_plain_constants(range_: Range) -> Range:
    low, high = (
        Bound(None, each.value.as_py(), each.inclusive) if each and isinstance(each.value, pa.Scalar) else each
        for each in (range_.low, range_.high)
    )
    return Range(range_.attribute, low, high, range_.is_null)


@pytest.mark.parametrize("type_", ALL_TYPES, ids=str)
@pytest.mark.parametrize("inclusive", [True, False])
def test_every_value_against_every_pair_of_bounds(type_: pa.DataType, inclusive: bool) -> None:
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    values = [*VALUES[plain], None]
    tuples = pa.table({"x": pa.array(values, plain).cast(type_) if plain == type_ else dictionary(values, type_)})
    lows, highs = zip(*((a, b) for a in values for b in values), strict=True)
    members = pa.table({"a": pa.array(lows, plain), "b": pa.array(highs, plain)})
    a, b = Bound("a", inclusive=inclusive), Bound("b", inclusive=inclusive)
    for range_ in (Range("x", a, b), Range("x", a), Range("x", None, b), Range("x", a, a)):
        found(Form(((range_,),)), members, tuples)


def dictionary(values: list[Any], type_: pa.DataType) -> pa.Array:
    return pa.array(values, type_.value_type).dictionary_encode().cast(type_)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shape", ["narrow", "wide", "one-sided", "grouped", "two"])
def test_many_members(shape: str, seed: int) -> None:
    """Enough of them for a tree of several levels, in all of which there are boxes."""
    random = np.random.default_rng(seed)
    count, rows = 500, 30
    low = random.integers(0, 1000, count)
    high = low + random.integers(0, {"narrow": 3, "wide": 1000}.get(shape, 200), count)
    members = pa.table({"s": random.integers(0, 9, count), "a": low, "b": high, "c": high - 150, "d": high})
    tuples = pa.table({name: random.integers(0, 1100 if name != "s" else 11, rows) for name in ("s", "x", "y")})
    range_ = Range("x", Bound("a"), Bound("b", inclusive=False))
    ranges = {
        "one-sided": (Range("x", Bound("a", inclusive=False)),),
        "grouped": (equal("s", "s"), range_),
        "two": (range_, Range("y", Bound("c"), Bound("d"))),
    }.get(shape, (range_,))
    assert found(Form((ranges,)), members, tuples)
    backwards = Form((ranges, (Range("y", None, Bound("a")),)))
    assert found(backwards, members, tuples, ids=list(range(count, 0, -1)))


def test_members_of_one_range_share_rows_without_pairs() -> None:
    """By value and range; not if more than one attribute has ranges, nor if a member has several."""
    tuples = pa.table({"s": pa.array([1, 1, 2, None]), "x": pa.array([5, 7, 5, 6])})
    members = pa.table({"s1": pa.array([1, 1, 2]), "a": pa.array([0, 6, 0]), "b": pa.array([5, 9, 4])})
    range_ = Range("x", Bound("a"), Bound("b"))
    ids = pa.array([7, 3, 5])
    shares = GroupedFilter(Form(((equal("s", "s1"), range_),)), members, ids).shares(tuples)
    assert shares is not None
    assert pairs_of_shares(shares) == [(3, 1), (7, 0)]
    assert GroupedFilter(Form(((Range("s", Bound("a")), range_),)), members, ids).shares(tuples) is None
    assert GroupedFilter(Form(((range_,),)), members, pa.array([7, 7, 5])).shares(tuples) is None
    assert GroupedFilter(Form(((range_,), (equal("s", "s1"),))), members, ids).shares(tuples) is None
