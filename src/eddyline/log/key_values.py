"""Keys as numbers: hashes that find them, and numbers that are the same if and only if the keys are.

NaN equals NaN and -0.0 equals 0.0, as where Spark groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.log.key_loops import hashes_of_texts

Array = Any
#: an odd step and two multipliers that spread every bit over all others (splitmix64)
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def key_hashes(keys: pa.Table) -> Array:
    """64 bits of each row."""
    found = np.zeros(keys.num_rows, np.uint64)
    for column in keys.columns:
        found = _mixed(found ^ _words(_plain(column)))
    return found


def key_numbers(keys: pa.Table) -> Array:
    """Numbers from 0, the same for the same keys. NULLs are a key too."""
    found = np.zeros(keys.num_rows, np.int64)
    for column in keys.columns:
        codes = _numbered(_plain(column))
        found = _numbered(pa.array(found * (codes.max(initial=0) + 1) + codes))
    return found


def _numbered(values: pa.Array) -> Array:
    """Numbers from 0 for single values, in order of appearance behind NULL; none exceeds the number of rows."""
    return pc.fill_null(values.dictionary_encode().indices, -1).to_numpy().astype(np.int64) + 1


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """One array in which the same values have the same bits."""
    whole = column.combine_chunks()
    if not pa.types.is_floating(whole.type):
        return whole
    values = pc.fill_null(whole, 0.0).to_numpy() + 0.0  # makes 0.0 of -0.0
    values[np.isnan(values)] = np.nan
    return pa.array(values)


def _words(column: pa.Array) -> Array:
    """64 bits of each value."""
    if pa.types.is_decimal(column.type) or pa.types.is_string(column.type):
        return _words_of_texts(column.cast(pa.large_string()))
    if pa.types.is_floating(column.type):
        return column.to_numpy().astype(np.float64).view(np.uint64)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif not pa.types.is_integer(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return pc.fill_null(column, 0).to_numpy().astype(np.int64).view(np.uint64)


def _words_of_texts(texts: pa.LargeStringArray) -> Array:
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.empty(0, np.uint64)
    places = np.frombuffer(offsets, np.int64, len(texts) + 1, texts.offset * 8)
    # what is compiled takes only arrays that it might write to
    return hashes_of_texts(places.copy(), np.frombuffer(data or b"", np.uint8).copy())


def _mixed(words: Array) -> Array:
    words = words + _STEP
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))
