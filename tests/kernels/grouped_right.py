"""What a grouped filter must find, written out member by member and tuple by tuple, and values to try it on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eddyline.kernels.grouped import alternative, index
from eddyline.kernels.grouped.filter import GroupedFilter, Matches, Shares
from eddyline.kernels.grouped.form import Form, Range

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
XS = pa.table({"x": pa.array([None, LEAST, -1, 0, 1, GREATEST], pa.int64())})


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
    """Small filters take the ways of large ones: wide boxes stand in the tree only, tuples are ordered by leaf, and
    leaves are looked for from steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_LISTED_BYTES", 0)
        patch.setattr(index, "_LISTED_BYTES_AT_LEAST", 0)
        patch.setattr(index, "_FEW_CUTS", 0)
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
            shares = filter_.shares(tuples)
            assert shares is None or (pairs_of_shares(shares) == right and len(shares) == len(right)), str(way)


def pairs_of_shares(shares: Shares) -> list[Pair]:
    spans = zip(shares.members.tolist(), shares.starts.tolist(), shares.ends.tolist(), strict=True)
    return [(member, row) for member, low, high in spans for row in sorted(shares.rows[low:high].tolist())]


def found(form: Form, members: pa.Table, tuples: pa.Table, ids: list[int] | None = None) -> list[Pair]:
    """What is right, once the filter is seen to find just that."""
    known = list(range(members.num_rows)) if ids is None else ids
    right = expected(form, members, known, tuples)
    check(form, members, tuples, known, right)
    with bare():
        check(form, members, tuples, known, right)
    return right


def one(**constants: int | None) -> pa.Table:
    """A member and its constants."""
    return pa.table({name: pa.array([value], pa.int64()) for name, value in constants.items()})
