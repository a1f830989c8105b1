"""The grouped filter finds what SQL's three-valued logic says, member by member and tuple by tuple."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.kernels.grouped import alternative, index
from eddyline.kernels.grouped.codes import supports
from eddyline.kernels.grouped.filter import GroupedFilter, Matches
from eddyline.kernels.grouped.form import Bound, Form, Range, equal

Pair = tuple[int, int]  # member, row

LEAST, GREATEST = -(2**63), 2**63 - 1
NAN, INFINITY = math.nan, math.inf
FAR = datetime(2261, 12, 31, 23, 59, 59, 999999)

#: few values of each type, so that constants and tuples meet; the ends of the type among them
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int8(): [-128, -1, 0, 1, 127],
    pa.int32(): [-(2**31), -7, 0, 7, 2**31 - 1],
    pa.int64(): [LEAST, LEAST + 1, -1, 0, 1, 2, GREATEST - 1, GREATEST],
    pa.uint16(): [0, 1, 2**16 - 1],
    pa.uint64(): [0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1],
    pa.float32(): [-INFINITY, -1.5, -0.0, 0.0, 1e-45, 0.5, 1.0, INFINITY, NAN, -NAN],
    pa.float64(): [-INFINITY, -1.7e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.7e308, INFINITY, NAN, -NAN],
    pa.bool_(): [False, True],
    pa.string(): ["", "\0", "a", "a\0", "ab", "abcdefgh", "abcdefgh\0", "abcdefghi", "b", "ä", "€", "\uffff", "😀"],
    pa.large_string(): ["", "abcdefghx", "abcdefghy", "z"],
    pa.date32(): [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(9999, 12, 31)],
    pa.timestamp("us"): [datetime(1969, 12, 31), datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 0, 1), FAR],
    pa.timestamp("us", tz="Asia/Tokyo"): [datetime(1969, 12, 31, tzinfo=UTC), FAR.replace(tzinfo=UTC)],
    pa.duration("us"): [timedelta(0), timedelta(microseconds=-1), timedelta(days=1)],
    pa.decimal128(18, 2): [Decimal(text) for text in ("-9999999999999999.99", "-0.01", "0", "0.01", "12.34")],
    pa.decimal128(38, 3): [Decimal(text) for text in ("-1e30", "-18446744073.709", "-0.001", "0", "0.001", "1e30")],
}
ALL_TYPES = [pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.float64()), *VALUES]


# -- what is right ----------------------------------------------------------------------------------------------------


def order(value: Any) -> Any:
    """What Python compares as SQL compares the value."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value.encode() if isinstance(value, str) else value


def is_true(range_: Range, row: dict[str, Any], member: dict[str, Any]) -> bool:
    """Whether it is true; it makes no difference here whether it is false or unknown, as nothing negates it."""
    value = row[range_.attribute]
    if range_.is_null or value is None:
        return range_.is_null and value is None
    for bound, sign in ((range_.low, 1), (range_.high, -1)):
        if bound is None:
            continue
        constant = bound.value if bound.parameter is None else member[bound.parameter]
        if constant is None:
            return False
        a, b = (order(value), order(constant)) if sign > 0 else (order(constant), order(value))
        if a < b or (a == b and not bound.inclusive):
            return False
    return True


def expected(form: Form, members: pa.Table, ids: list[int], tuples: pa.Table) -> list[Pair]:
    pairs = {
        (id_, place)
        for id_, member in zip(ids, members.to_pylist() or [{} for _ in ids], strict=True)
        for place, row in enumerate(tuples.to_pylist())
        if any(all(is_true(range_, row, member) for range_ in alternative) for alternative in form.alternatives)
    }
    return sorted(pairs)


def pairs_of(matches: Matches) -> list[Pair]:
    assert matches.rows.dtype == matches.members.dtype == np.int64
    return list(zip(matches.members.tolist(), matches.rows.tolist(), strict=True))


@contextmanager
def bare() -> Iterator[None]:
    """Small filters take the ways of large ones: wide boxes stand in the tree only, tuples are ordered by leaf."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_LISTED_BYTES", 0)
        patch.setattr(index, "_LISTED_BYTES_AT_LEAST", 0)
        patch.setattr(alternative, "_CACHED", 0)
        yield


def check(form: Form, members: pa.Table, tuples: pa.Table, ids: list[int], right: list[Pair]) -> None:
    """Whatever boxes are found by, at once and in pieces."""
    filter_ = GroupedFilter(form, members, pa.array(ids, pa.int64()), tuples.schema)
    assert pairs_of(filter_.matches(tuples)) == right
    pieces = [pairs_of(piece) for piece in filter_.matches_in_pieces(tuples, 3)]
    assert all(len(piece) <= 3 or len({row for _, row in piece}) == 1 for piece in pieces)
    assert all(piece == sorted(piece) for piece in pieces)
    assert sorted(pair for piece in pieces for pair in piece) == right
    for each in filter_._alternatives:
        for way in each.ways():
            each.rebuild(way)
            assert pairs_of(filter_.matches(tuples)) == right, str(way)


def found(form: Form, members: pa.Table, tuples: pa.Table, ids: list[int] | None = None) -> list[Pair]:
    """What is right, once the filter is seen to find just that."""
    known = list(range(members.num_rows)) if ids is None else ids
    right = expected(form, members, known, tuples)
    check(form, members, tuples, known, right)
    with bare():
        check(form, members, tuples, known, right)
    return right


# -- at random --------------------------------------------------------------------------------------------------------


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


# -- corners ----------------------------------------------------------------------------------------------------------

XS = pa.table({"x": pa.array([None, LEAST, -1, 0, 1, GREATEST], pa.int64())})


def one(**constants: int | None) -> pa.Table:
    """A member and its constants."""
    return pa.table({name: pa.array([value], pa.int64()) for name, value in constants.items()})


def rows_of(range_: Range, **constants: int | None) -> list[int]:
    """The places in XS that a single member and, which takes another way, the first of two members match."""
    alone = [row for _, row in found(Form(((range_,),)), one(**constants), XS, ids=[0])]
    both = pa.concat_tables([one(**constants), one(**dict.fromkeys(constants, 12345))])
    beside = [row for member, row in found(Form(((range_,),)), both, XS, ids=[0, 1]) if member == 0]
    assert alone == beside
    return alone


def test_the_ends_of_the_integers() -> None:
    low, high = Bound("c"), Bound("c", inclusive=False)
    assert rows_of(Range("x", high), c=GREATEST) == []
    assert rows_of(Range("x", None, high), c=LEAST) == []
    assert rows_of(Range("x", low), c=GREATEST) == [5]
    assert rows_of(Range("x", None, low), c=LEAST) == [1]
    assert rows_of(Range("x", high), c=LEAST) == [2, 3, 4, 5]
    assert rows_of(Range("x", None, high), c=GREATEST) == [1, 2, 3, 4]
    assert rows_of(Range("x", Bound("c"), Bound("d")), c=LEAST, d=GREATEST) == [1, 2, 3, 4, 5]


def test_null_is_in_no_range() -> None:
    assert rows_of(Range("x")) == [1, 2, 3, 4, 5]
    assert rows_of(Range("x", is_null=True)) == [0]
    assert rows_of(Range("x", Bound("c")), c=None) == []
    assert rows_of(Range("x", Bound("c"), Bound("d")), c=-1, d=None) == []
    assert rows_of(Range("x", Bound(None, None))) == []
    assert rows_of(Range("x", Bound(None, 0), Bound("c")), c=1) == [3, 4]


def test_ranges_that_exclude_each_other() -> None:
    assert rows_of(Range("x", Bound("c"), Bound("d")), c=1, d=-1) == []
    assert rows_of(Range("x", Bound("c", inclusive=False), Bound("c")), c=1) == []
    never = (Range("x", is_null=True), Range("x", Bound("c")))
    assert found(Form((never,)), one(c=0), XS) == []


def test_ranges_on_one_attribute_are_intersected() -> None:
    three = (Range("x", Bound("c")), Range("x", None, Bound("d")), Range("x", Bound(None, 0, inclusive=False)))
    assert found(Form((three,)), one(c=-1, d=GREATEST), XS) == [(0, 4), (0, 5)]
    outside = (equal("x", "c"), Range("x", Bound("d")))
    assert found(Form((outside,)), pa.table({"c": [0, 1], "d": [1, 1]}), XS) == [(1, 4)]


def test_always_true_and_never_true() -> None:
    members, tuples = pa.table({"c": [1, 2, 3]}), pa.table({"x": [7, None]})
    assert len(found(Form(((),)), members, tuples)) == 6
    assert len(found(Form(((), (equal("x", "c"),))), members, tuples)) == 6
    assert found(Form(()), members, tuples) == []
    many = GroupedFilter(Form(((),)), pa.table({"c": range(500)}), pa.array(range(500)))
    assert len(many.matches(pa.table({"x": range(3000)}))) == 1_500_000


@pytest.mark.parametrize("form", [Form(((),)), Form(((equal("x", "c"),),)), Form(((Range("x", is_null=True),),))])
def test_nothing_in_nothing_out(form: Form) -> None:
    constants, tuples = pa.table({"c": pa.array([1, 2], pa.int64())}), XS
    assert found(form, constants.slice(0, 0), tuples) == []
    assert found(form, constants, tuples.slice(0, 0)) == []
    no_chunks = pa.table({"x": pa.chunked_array([], pa.int64())})
    assert found(form, constants, no_chunks) == []


def test_a_pair_comes_once() -> None:
    either = Form(((equal("x", "c"),), (Range("x", Bound("c")),)))
    assert found(either, pa.table({"c": [0, 0, 1]}), XS, ids=[5, 5, 4]) == [(4, 4), (4, 5), (5, 3), (5, 4), (5, 5)]


def test_members_come_in_the_order_of_their_ids() -> None:
    members = pa.table({"c": [0, -1, 1]})
    assert found(Form(((equal("x", "c"),),)), members, XS, ids=[30, GREATEST, LEAST]) == [
        (LEAST, 4),
        (30, 3),
        (GREATEST, 2),
    ]


def test_strings_in_other_clothes() -> None:
    """Dictionaries with NULL, with values that come twice, one for each chunk, and of which only a slice is left."""
    members = pa.table({"c": ["b", "", "ä", "zz"]})
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), pa.array(["b", "b", None, "ä"]))
    other = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2, 2]), pa.array(["", "c", "b"])).slice(1, 2)
    columns = [
        pa.chunked_array([twice, other]),
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([None, "b"]))]),
        pa.chunked_array([pa.array(["b", "ä"], pa.large_string())]),
        pa.chunked_array([pa.array([None, None], pa.string())]),
        pa.chunked_array([pa.array([None, None]).cast(pa.dictionary(pa.int32(), pa.string()))]),
    ]
    for chunks in columns:
        found(Form(((equal("s", "c"),),)), members, pa.table({"s": chunks}))
        found(Form(((Range("s", Bound("c", inclusive=False)),),)), members, pa.table({"s": chunks}))
        found(Form(((Range("s", None, Bound("c")),),)), members, pa.table({"s": chunks}))
        found(Form(((Range("s", is_null=True),),)), members, pa.table({"s": chunks}))
    assert found(Form(((equal("s", "c"),),)), members, pa.table({"s": columns[0]})) == [
        (0, 0),
        (0, 1),
        (0, 6),
        (1, 5),
        (2, 3),
    ]


def test_many_strings() -> None:
    random = np.random.default_rng(3)
    texts = [f"{random.integers(50):03d}-common-{random.integers(200)}" for _ in range(2000)]
    members = pa.table({"c": texts[:300]})
    tuples = pa.table({"s": texts[200:500]})
    assert found(Form(((equal("s", "c"),),)), members, tuples)
    assert found(Form(((Range("s", None, Bound("c", inclusive=False)),),)), members, tuples)


def test_several_equal_attributes() -> None:
    random = np.random.default_rng(4)
    members = pa.table(
        {"a": random.integers(0, 4, 300), "b": random.choice(["x", "y", "z"], 300), "c": random.random(300)}
    )
    tuples = pa.table({"i": random.integers(0, 5, 80), "s": random.choice(["x", "y", "w"], 80), "p": random.random(80)})
    assert found(Form(((equal("i", "a"), equal("s", "b")),)), members, tuples)
    assert found(Form(((equal("i", "a"), equal("s", "b"), Range("p", Bound("c"))),)), members, tuples)


def test_null_of_any_type_can_be_asked_for() -> None:
    tuples = pa.table({"x": pa.array([[1], None], pa.list_(pa.int64())), "y": pa.array([None, None])})
    assert found(Form(((Range("x"),),)), one(c=1), tuples) == [(0, 0)]
    assert found(Form(((Range("x", is_null=True), Range("y", is_null=True)),)), one(c=1), tuples) == [(0, 1)]
    assert found(Form(((equal("y", "c"),),)), one(c=1), tuples) == []


def test_types_that_do_not_go_together_are_refused() -> None:
    form = Form(((equal("x", "c"),),))
    with pytest.raises(TypeError, match="x cannot be compared with list"):
        GroupedFilter(form, pa.table({"c": [[1]]}), pa.array([0]))
    with pytest.raises(TypeError, match="x is double, but it is compared with int64"):
        GroupedFilter(form, one(c=1), pa.array([0])).matches(pa.table({"x": [1.0]}))
    with pytest.raises(TypeError, match="x is uint64"):
        GroupedFilter(form, one(c=1), pa.array([0])).matches(pa.table({"x": pa.array([1], pa.uint64())}))
    with pytest.raises(ValueError, match="1 members have 2 ids"):
        GroupedFilter(form, one(c=1), pa.array([0, 1]))


def test_forms_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        Bound("c", 1)
    with pytest.raises(ValueError, match="has no bounds"):
        Range("x", Bound("c"), is_null=True)


def test_which_types_are_served() -> None:
    assert all(map(supports, ALL_TYPES))
    others = [pa.float16(), pa.decimal256(40, 2), pa.list_(pa.int8()), pa.null(), pa.binary(), pa.time64("us")]
    assert not any(map(supports, others))


# -- pieces, statistics, advice ---------------------------------------------------------------------------------------


def test_pieces_are_bounded_and_lose_nothing() -> None:
    random = np.random.default_rng(5)
    members = pa.table({"c": random.random(1000)})
    tuples = pa.table({"x": np.where(np.arange(4000) % 1000 < 500, 0.001, 1.0)})  # nearly nothing, then everything
    filter_ = GroupedFilter(Form(((Range("x", Bound("c")),),)), members, pa.array(range(1000)))
    pieces = list(filter_.matches_in_pieces(tuples, 50_000))
    assert all(0 < len(piece) <= 50_000 for piece in pieces)
    assert len(pieces) < 400
    assert filter_.statistics.tuples == 4000
    whole = filter_.matches(tuples)
    rows, ids = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("rows", "members"))
    ordered = np.lexsort((rows, ids))
    assert np.array_equal(rows[ordered], whole.rows)
    assert np.array_equal(ids[ordered], whole.members)
    assert sum(map(len, filter_.matches_in_pieces(tuples.slice(600, 5), 10))) == 5000  # a tuple alone has more


def test_statistics_count_what_was_done() -> None:
    members = pa.table({"a": [0, 10, 20], "b": [5, 15, 25], "c": [0, 0, 7]})
    form = Form(((Range("x", Bound("a"), Bound("b")), Range("y", Bound("c"))),))
    filter_ = GroupedFilter(form, members, pa.array([1, 2, 3]))
    filter_.matches(pa.table({"x": [3, 13, 23, 33], "y": [1, 1, 1, 1]}))
    seen = filter_.statistics
    assert [str(access) for access in filter_.access] == ["x"]
    assert (seen.tuples, seen.candidates, seen.pairs) == (4, 3, 2)
    assert seen.seconds > 0


def test_advice_comes_from_the_data() -> None:
    """By the constants, x tells members apart better than y; but the tuples are where many ranges of x meet."""
    count = 1000
    at = np.arange(count)
    low = np.where(at % 10 == 0, -10, 10 * at)
    members = pa.table({"a": low, "b": low + 30, "c": at, "d": at + 30})
    form = Form(((Range("x", Bound("a"), Bound("b")), Range("y", Bound("c"), Bound("d"))),))
    filter_ = GroupedFilter(form, members, pa.array(at))
    assert [str(access) for access in filter_.access] == ["x"]
    tuples = pa.table({"x": np.full(500, 5), "y": np.arange(500) % 5})
    before = filter_.matches(tuples)
    first = filter_.statistics.candidates
    assert first == 500 * 100
    advice = filter_.advice()
    assert [str(access) for access in advice.access] == ["y"]
    assert advice.now == pytest.approx(first / 500, rel=0.2)
    assert advice.then < advice.now / 10
    filter_.follow(advice)
    assert [str(access) for access in filter_.access] == ["y"]
    after = filter_.matches(tuples)
    assert filter_.statistics.candidates - first < first / 10
    assert np.array_equal(before.rows, after.rows)
    assert np.array_equal(before.members, after.members)


def test_a_grid_serves_two_ranges() -> None:
    """Neither range tells much, both together do."""
    random = np.random.default_rng(6)
    a, b = random.random(20_000), random.random(20_000)
    members = pa.table({"a": a, "b": a + 0.02, "c": b, "d": b + 0.02})
    form = Form(((Range("x", Bound("a"), Bound("b")), Range("y", Bound("c"), Bound("d", inclusive=False))),))
    filter_ = GroupedFilter(form, members, pa.array(range(20_000)))
    assert str(filter_.access[0]) in ("x × y", "y × x")
    x, y = random.random(50), random.random(50)
    matches = filter_.matches(pa.table({"x": x, "y": y}))
    right = [(a <= x[i]) & (x[i] <= a + 0.02) & (b <= y[i]) & (y[i] < b + 0.02) for i in range(50)]
    assert pairs_of(matches) == sorted((int(m), i) for i in range(50) for m in np.flatnonzero(right[i]))
    assert 0 < len(matches) < filter_.statistics.candidates < 10 * len(matches)


def test_a_filter_travels() -> None:
    filter_ = GroupedFilter(Form(((equal("x", "c"),),)), one(c=1), pa.array([9]))
    assert pairs_of(pickle.loads(pickle.dumps(filter_)).matches(XS)) == [(9, 4)]


# -- compiled code ----------------------------------------------------------------------------------------------------


def _cache_folder(temporary: Path, **environment: str) -> str:
    program = "import eddyline.kernels.grouped.compiled, numba; print(numba.config.CACHE_DIR)"
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    variables = {**kept, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    # with the package itself everything would be compiled
    stub = f"import sys, types; p = types.ModuleType('p'); p.__path__ = [{str(_package())!r}]"
    program = f"{stub}; sys.modules['eddyline.kernels.grouped'] = p; {program}"
    return subprocess.run(
        [sys.executable, "-c", program], env=variables, check=True, capture_output=True, text=True
    ).stdout.strip()


def _package() -> Path:
    import eddyline.kernels.grouped

    return Path(eddyline.kernels.grouped.__file__).parent


def test_compiled_code_is_kept_where_only_its_user_writes(tmp_path: Path) -> None:
    assert _cache_folder(tmp_path, NUMBA_CACHE_DIR="/elsewhere") == "/elsewhere"
    folder = tmp_path / f"eddyline-numba-{os.getuid()}"
    assert _cache_folder(tmp_path) == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)  # somebody else may have put something into it
    assert _cache_folder(tmp_path) != str(folder)
