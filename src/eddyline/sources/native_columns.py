"""From columns that already have a type, as Parquet and Arrow have them, to columns of the declared types.

The result is the same as `native_value`'s wherever it is sure. Types that only now and then fit the declared one, such
as floats for a DECIMAL, are left in doubt as a whole.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.types import DATE, DOUBLE, FLOAT, INTEGER_BITS, INTERVAL, STRING, TIMESTAMP, DataType
from eddyline.columnar.types import arrow_type
from eddyline.sources.converted import (
    DAYS,
    MOMENTS,
    Converted,
    all_in_doubt,
    narrowed_floats,
    narrowed_integers,
    within,
)
from eddyline.sources.text_columns import from_text

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_UTC = pa.timestamp("us", "UTC")


def from_native(column: pa.Array, type_: DataType, whole_floats: bool = False) -> Converted:
    """The values of a column; with `whole_floats` an integer may also come as a float, as in pandas."""
    given, wanted = column.type, arrow_type(type_)
    if pa.types.is_dictionary(given):
        return from_native(pc.cast(column, given.value_type), type_, whole_floats)
    if pa.types.is_null(given) or column.null_count == len(column):
        return Converted(pa.nulls(len(column), wanted))
    if given == wanted and type_ not in (DATE, TIMESTAMP, STRING):
        return Converted(column)
    if type_ in INTEGER_BITS:
        return _integers(column, wanted, whole_floats)
    if type_ in (FLOAT, DOUBLE):
        return _floats(column, wanted)
    if type_ == STRING:
        return _strings(column)
    if type_ in (DATE, TIMESTAMP):
        if _is_text(given):
            return from_text(pc.cast(column, pa.string()), type_)
        return _days(column) if type_ == DATE else _moments(column)
    if type_ == INTERVAL and pa.types.is_duration(given) and given.unit in _MICROS:
        return _in_micros(column, _MICROS[given.unit], wanted, 1 << 62)
    if type_.name == "DECIMAL" and pa.types.is_decimal(given) and _has_room(given, wanted):
        return Converted(pc.cast(column, wanted))
    if type_.element is not None and pa.types.is_list(given):
        return _lists(column, type_.element, wanted)
    return all_in_doubt(column, wanted)


def _integers(column: pa.Array, wanted: pa.DataType, whole_floats: bool) -> Converted:
    given = column.type
    if pa.types.is_uint64(given):
        small = Converted(column).doubting(pc.greater(column, pa.scalar((1 << 63) - 1, pa.uint64())))
        return narrowed_integers(small.then(lambda values: pc.cast(values, pa.int64())), wanted)
    if pa.types.is_integer(given):
        return narrowed_integers(Converted(pc.cast(column, pa.int64())), wanted)
    if whole_floats and (pa.types.is_float32(given) or pa.types.is_float64(given)):
        doubles = pc.cast(column, pa.float64())
        # Beyond 2^53 a float no longer says which integer it was.
        exact = pc.and_(pc.equal(pc.floor(doubles), doubles), pc.less_equal(pc.abs(doubles), float(1 << 53)))
        whole = Converted(doubles).doubting(pc.invert(exact))
        return narrowed_integers(whole.then(lambda values: pc.cast(values, pa.int64())), wanted)
    return all_in_doubt(column, wanted)


def _floats(column: pa.Array, wanted: pa.DataType) -> Converted:
    given = column.type
    if pa.types.is_float32(given) or pa.types.is_float64(given):
        return narrowed_floats(Converted(pc.cast(column, pa.float64())), wanted)
    if pa.types.is_integer(given):
        return narrowed_floats(Converted(pc.cast(column, pa.float64(), safe=False)), wanted)
    return all_in_doubt(column, wanted)


def _strings(column: pa.Array) -> Converted:
    given = column.type
    if pa.types.is_integer(given):
        return Converted(pc.cast(column, pa.string()))
    if _is_text(given) or pa.types.is_binary(given) or pa.types.is_large_binary(given):
        try:
            text = pc.cast(column, pa.string())
            text.validate(full=True)  # a Parquet file may call text what is no UTF-8
            return Converted(text)
        except pa.ArrowInvalid:
            pass
    return all_in_doubt(column, pa.string())


def _is_text(given: pa.DataType) -> bool:
    return bool(pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_string_view(given))


def _days(column: pa.Array) -> Converted:
    if pa.types.is_date(column.type):
        return within(Converted(pc.cast(column, pa.date32())), *DAYS)
    return all_in_doubt(column, pa.date32())


def _moments(column: pa.Array) -> Converted:
    given = column.type
    if pa.types.is_date(given):
        days = within(Converted(pc.cast(column, pa.date32())), *DAYS)
        return days.then(lambda values: pc.cast(pc.cast(values, pa.timestamp("us")), _UTC))
    if not pa.types.is_timestamp(given):
        return all_in_doubt(column, _UTC)
    if given.unit == "ns":
        # As in `parquet_file`: neither Python's datetime nor Spark's TIMESTAMP has nanoseconds.
        return within(Converted(pc.cast(column, pa.timestamp("us", given.tz), safe=False).view(_UTC)), *MOMENTS)
    # A moment with a zone is held in UTC already, one without a zone is taken to be in UTC.
    factor = _MICROS[given.unit]
    bounded = within(Converted(column), -(-MOMENTS[0] // factor), MOMENTS[1] // factor)
    return bounded.then(lambda values: pc.cast(values, pa.timestamp("us", given.tz)).view(_UTC))


def _in_micros(column: pa.Array, factor: int, wanted: pa.DataType, limit: int) -> Converted:
    return within(Converted(column), -limit // factor, limit // factor).then(lambda values: pc.cast(values, wanted))


def _has_room(given: pa.DataType, wanted: pa.DataType) -> bool:
    whole_digits = given.precision - given.scale
    return bool(given.scale <= wanted.scale and whole_digits <= wanted.precision - wanted.scale)


def _lists(column: pa.Array, element: DataType, wanted: pa.DataType) -> Converted:
    """Lists whose elements are all sure; one that is not leaves all in doubt, for it is not known whose it is."""
    flat = column.flatten()
    elements = from_native(flat, element)
    if elements.doubt is not None and elements.doubt.any():
        return all_in_doubt(column, wanted)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    absent = pc.is_null(column) if column.null_count else None
    return Converted(pa.ListArray.from_arrays(pa.array(offsets), elements.values, type=wanted, mask=absent))
