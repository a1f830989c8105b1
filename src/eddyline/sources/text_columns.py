"""From columns of text to columns of the declared types, with the same result as `text_value` wherever it is sure.

Arrow's casts are tried on the whole column first. Only if one fails is each text looked at: those of a plain spelling
are cast, and the others are left in doubt, to be decided row by row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.types import BOOLEAN, DATE, DOUBLE, FLOAT, INTEGER_BITS, STRING, TIMESTAMP, DataType
from eddyline.columnar.types import arrow_type
from eddyline.sources.converted import (
    DAYS,
    MOMENTS,
    Converted,
    Mask,
    all_in_doubt,
    mask,
    narrowed_floats,
    narrowed_integers,
    within,
)

_INTEGER = r"^-?[0-9]{1,18}$"
_REFERENCE = r"^[0-9]{1,18}$"
_DOUBLE = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
_DATE = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_LOCAL = r"([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?)"
_MOMENT = f"{_DATE[:-1]}{_LOCAL}?$"
_ZONED_MOMENT = f"{_DATE[:-1]}{_LOCAL}(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])$"

#: how many values of a column are cast on trial
_TRIED_FIRST = 8

_ZONED = pa.timestamp("us", "UTC")
_UNZONED = pa.timestamp("us")


def without_nulls(texts: pa.Array, nulls: frozenset[str]) -> pa.Array:
    """With null in place of the texts that mean NULL."""
    absent = pc.equal(texts, "") if len(nulls) == 1 else pc.is_in(texts, value_set=pa.array(sorted(nulls)))
    if not pc.any(absent).as_py():
        return texts
    return pc.if_else(absent, pa.scalar(None, pa.string()), texts)


def from_text(texts: pa.Array, type_: DataType) -> Converted:
    """The values of a column of text; null is NULL."""
    if type_ == STRING:
        return Converted(texts)
    if texts.null_count == len(texts):
        return Converted(pa.nulls(len(texts), arrow_type(type_)))
    if type_ in INTEGER_BITS:
        # Arrow also reads 0x1F.
        numbers = _cast(texts, pa.int64(), _INTEGER, as_a_whole=not _has_x(texts))
        return narrowed_integers(numbers, arrow_type(type_))
    if type_ in (FLOAT, DOUBLE):
        # Arrow also reads nan(text), and 1e999 as infinite.
        doubles = _cast(texts, pa.float64(), _DOUBLE)
        if not pc.all(pc.is_finite(doubles.values)).as_py():
            doubles = doubles.doubting(pc.invert(pc.is_finite(doubles.values)))
        return narrowed_floats(doubles, arrow_type(type_))
    if type_ == TIMESTAMP:
        return _moments(texts)
    if type_ == DATE:
        return within(_cast(texts, pa.date32(), _DATE), *DAYS)  # Arrow also has a year 0
    if type_ == BOOLEAN:
        return _booleans(texts)
    if type_.name == "DECIMAL":
        return _decimals(texts, type_)
    return all_in_doubt(texts, arrow_type(type_))


def references_from_text(texts: pa.Array, may_be_missing: bool) -> Converted:
    """The indexes in a `_ref` column; what is none is in doubt, and what is missing unless it may be."""
    sure = pc.match_substring_regex(texts, _REFERENCE)
    numbers = pc.cast(pc.if_else(sure, texts, pa.scalar(None, pa.string())), pa.int64())
    return references(numbers, mask(pc.equal(pc.fill_null(texts, ""), "")) if may_be_missing else None)


def references(numbers: pa.Array, missing: Mask | None = None) -> Converted:
    """The indexes among some numbers; `missing` says which are rightly none."""
    sure = mask(pc.and_(pc.greater(numbers, 0), pc.less(numbers, 10**18)))
    return Converted(numbers, ~sure if missing is None else ~(sure | missing))


def no_references(count: int) -> Converted:
    """The indexes where a file has no `_ref` and its stream a key."""
    return Converted(pa.nulls(count, pa.int64()))


def _cast(texts: pa.Array, target: pa.DataType, plain: str, as_a_whole: bool = True) -> Converted:
    if as_a_whole:
        whole = _cast_whole(texts, target)
        if whole is not None:
            return Converted(whole)
    return _cast_plain(pc.ascii_trim(texts, " \t"), target, plain)


def _cast_whole(texts: pa.Array, target: pa.DataType) -> pa.Array | None:
    """The column cast, or None. A few values go first: Arrow makes an error for every value that fails."""
    try:
        pc.cast(texts[:_TRIED_FIRST], target)
        return pc.cast(texts, target)
    except pa.ArrowInvalid:
        return None


def _cast_plain(texts: pa.Array, target: pa.DataType, plain: str) -> Converted:
    sure = pc.match_substring_regex(texts, plain)
    cast = _piecewise(pc.if_else(sure, texts, pa.scalar(None, pa.string())), target)
    unsure = mask(pc.invert(sure))
    return Converted(cast.values, unsure if cast.doubt is None else unsure | cast.doubt)


def _piecewise(texts: pa.Array, target: pa.DataType) -> Converted:
    """Cast in ever smaller pieces, because Arrow does not say which value of a column it could not cast."""
    try:
        return Converted(pc.cast(texts, target))
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return all_in_doubt(texts, target)
    half = len(texts) // 2
    pieces = [_piecewise(texts[:half], target), _piecewise(texts[half:], target)]
    doubts = [np.zeros(len(p.values), np.bool_) if p.doubt is None else p.doubt for p in pieces]
    return Converted(pa.concat_arrays([piece.values for piece in pieces]), np.concatenate(doubts))


def _has_x(texts: pa.Array) -> bool:
    data = texts.buffers()[2]
    if data is None:
        return False
    characters = np.frombuffer(data, np.uint8)
    return bool(((characters | 0x20) == ord("x")).any())


def _moments(texts: pa.Array) -> Converted:
    for type_ in (_UNZONED, _ZONED):
        whole = _cast_whole(texts, type_)
        if whole is not None:
            return within(Converted(whole.view(_ZONED)), *MOMENTS)
    trimmed = pc.ascii_trim(texts, " \t")
    here = _cast_plain(trimmed, _UNZONED, _MOMENT)
    elsewhere = _cast_plain(trimmed, _ZONED, _ZONED_MOMENT)
    assert here.doubt is not None and elsewhere.doubt is not None
    both = pc.coalesce(here.values.view(_ZONED), elsewhere.values)
    return within(Converted(both, here.doubt & elsewhere.doubt), *MOMENTS)


def _booleans(texts: pa.Array) -> Converted:
    lower = pc.ascii_lower(texts)
    true = pc.equal(lower, "true")
    return Converted(true).doubting(pc.and_not(pc.invert(true), pc.equal(lower, "false")))


def _decimals(texts: pa.Array, type_: DataType) -> Converted:
    precision, scale = type_.parameters or (10, 0)
    if precision == scale:
        return all_in_doubt(texts, arrow_type(type_))
    fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    return _cast(texts, arrow_type(type_), rf"^-?[0-9]{{1,{precision - scale}}}{fraction}$", as_a_whole=False)
