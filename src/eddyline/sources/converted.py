"""A column after vectorised conversion: what is sure, and which rows must be looked at one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]

#: the first and last moment and day that a TIMESTAMP and a DATE can hold (years 1 to 9999), as Arrow counts them
MOMENTS = (-62_135_596_800_000_000, 253_402_300_799_999_999)
DAYS = (-719_162, 2_932_896)


@dataclass(frozen=True)
class Converted:
    """Values of the declared type. Where `doubt` is true the value is null and the row-wise converter decides.

    Doubt is not fault: the vectorised conversion knows the usual spellings only.
    """

    values: pa.Array
    doubt: Mask | None = None  # None: no row is in doubt

    def doubting(self, more: Any) -> Converted:
        """With the rows of a boolean array in doubt too."""
        further = mask(more)
        if not further.any():
            return self
        doubt = further if self.doubt is None else self.doubt | further
        return Converted(pc.if_else(pa.array(further), pa.scalar(None, self.values.type), self.values), doubt)

    def then(self, step: Callable[[pa.Array], pa.Array]) -> Converted:
        """With the sure values converted further, by something that cannot fail."""
        return Converted(step(self.values), self.doubt)


def mask(condition: Any) -> Mask:
    """A boolean array, in which null means no, as numpy has it."""
    if isinstance(condition, np.ndarray):
        return condition
    if condition.null_count:
        condition = pc.fill_null(condition, False)
    return condition.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def all_in_doubt(column: pa.Array, type_: pa.DataType) -> Converted:
    """Nothing but the NULLs is sure."""
    return Converted(pa.nulls(len(column), type_), mask(pc.is_valid(column)))


def within(converted: Converted, lowest: int, highest: int) -> Converted:
    """With doubt about the values outside of the bounds; temporal values are compared as the integers they are."""
    values = converted.values
    if not pa.types.is_integer(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    extremes = pc.min_max(values)
    if extremes["min"].as_py() is None or (extremes["min"].as_py() >= lowest and extremes["max"].as_py() <= highest):
        return converted
    return converted.doubting(pc.or_(pc.less(values, lowest), pc.greater(values, highest)))


def narrowed_integers(converted: Converted, type_: pa.DataType) -> Converted:
    """Integers of any width in the width of the declared type."""
    half = 1 << (type_.bit_width - 1)
    return within(converted, -half, half - 1).then(lambda values: pc.cast(values, type_))


def narrowed_floats(doubles: Converted, type_: pa.DataType) -> Converted:
    """Doubles as FLOAT. A finite number that becomes infinite does not fit."""
    if type_ == pa.float64():
        return doubles
    narrow = pc.cast(doubles.values, type_)
    grown = pc.and_(pc.is_inf(narrow), pc.is_finite(doubles.values))
    return Converted(narrow, doubles.doubt).doubting(grown)
