"""Users' functions for the laws: each counts as costly, so that the eddy is asked."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def is_even(value: pa.Array) -> pa.Array:
    """NULL for NULL."""
    return pc.equal(pc.bit_wise_and(value, 1), 0)


def twice(value: pa.Array) -> pa.Array:
    """Never NULL: 7.5 for NULL."""
    return pc.fill_null(pc.multiply(pc.cast(value, pa.float64()), 2.0), 7.5)


def halved(value: pa.Array) -> pa.Array:
    """NaN for 0, NULL for NULL."""
    given = pc.cast(value, pa.float64())
    return pc.if_else(pc.equal(given, 0.0), float("nan"), pc.divide(given, 2.0))


def letter(value: pa.Array, other: pa.Array) -> pa.Array:
    return pc.if_else(pc.greater(value, other), "x", "y")
