"""The grouped filter at the ends of its types, without anything to find, and with what it refuses."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from eddyline.kernels.grouped.codes import supports
from eddyline.kernels.grouped.filter import GroupedFilter
from eddyline.kernels.grouped.form import Bound, Form, Range, equal
from kernels.grouped_right import ALL_TYPES, GREATEST, LEAST, XS, found, one


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


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("span", [40, 10**6, 2**62])
def test_many_members_are_found_from_steps(kind: type, span: int) -> None:
    """Where the codes of constants lie close together, far apart, or at both ends of what there is."""
    rng = np.random.default_rng(span)
    low = rng.integers(-span, span, 500).astype(kind)
    high = low + rng.integers(0, max(2, span // 50), 500).astype(kind)
    ends = np.array([-span, span, 0, low.min(), low.min() - 1, high.max(), high.max() + 1]).astype(kind)
    extremes = np.array([LEAST, GREATEST] if kind is np.int64 else [-np.inf, np.inf, np.nan, -0.0], kind)
    values = np.concatenate([rng.integers(-span, span, 500).astype(kind), low[:50], high[:50], ends, extremes])
    filter_ = GroupedFilter(Form(((Range("x", Bound("a"), Bound("b")),),)), pa.table({"a": low, "b": high}), IDS)
    assert filter_._alternatives[0]._index.steps is not None
    matches = filter_.matches(pa.table({"x": values}))
    members, rows = ((low[:, None] <= values) & (values <= high[:, None])).nonzero()
    assert (matches.members.tolist(), matches.rows.tolist()) == (members.tolist(), rows.tolist())


IDS = pa.array(np.arange(500))


def test_a_single_decimal_in_memory_that_is_not_to_be_changed() -> None:
    """As the kernel hands it on: a view of one number is of that very memory."""
    type_ = pa.decimal128(10, 2)
    memory = pa.py_buffer(pa.array([Decimal("1.50")], type_).buffers()[1].to_pybytes()[:16])
    tuples = pa.table({"x": pa.Array.from_buffers(type_, 1, [None, memory])})
    members = pa.table({"a": pa.array([Decimal("1.00"), Decimal("2.00")], type_)})
    filter_ = GroupedFilter(Form(((Range("x", Bound("a")),),)), members, pa.array([1, 2]))
    assert filter_.matches(tuples).members.tolist() == [1]
