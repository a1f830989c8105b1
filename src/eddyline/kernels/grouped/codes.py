"""Values as int64 codes: of two values of a type, the greater one in SQL has the greater code.

What fits into 64 bits has a code of its own. Texts and long decimals are known by their place among the constants that
they are ever compared with: equal to one, or between two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.kernels.grouped.loops import LEAST, Bytes, Ints, heads, order_floats, rank_bytes

Bools = npt.NDArray[np.bool_]
#: a decimal of so many digits fits into 64 bits
_SHORT_DECIMAL = 18


@dataclass(frozen=True)
class Codes:
    """The codes of a column; what stands at a NULL means nothing."""

    values: Ints
    valid: Bools | None  # None: there is no NULL


def supports(type_: pa.DataType) -> bool:
    """Whether attributes of this type can be compared in a grouped filter. (IS NULL takes any type.)

    >>> supports(pa.dictionary(pa.int32(), pa.string())), supports(pa.list_(pa.int64()))
    (True, False)
    """
    return _plain(type_) is not None


def _plain(type_: pa.DataType) -> pa.DataType | None:
    """The type that stands for all types whose values have the same codes, None for a type without codes."""
    is_ = pa.types
    if is_.is_dictionary(type_):
        return _plain(type_.value_type)
    if is_.is_uint64(type_) or is_.is_date32(type_) or is_.is_boolean(type_) or is_.is_decimal128(type_):
        return type_
    if is_.is_integer(type_):
        return pa.int64()
    if is_.is_float32(type_) or is_.is_float64(type_):
        return pa.float64()
    if is_.is_timestamp(type_):
        return pa.timestamp(type_.unit)
    if is_.is_duration(type_):
        return type_
    if is_.is_string(type_) or is_.is_large_string(type_):
        return pa.large_string()
    return None


class Coder:
    """Makes codes of the values of one attribute and of all constants it is compared with."""

    def __init__(self, attribute: str, constants: Sequence[pa.ChunkedArray]) -> None:
        """All constants that there are must be given; those without a type of their own (NULL) have no code."""
        typed = [column for column in constants if not pa.types.is_null(column.type)]
        plain = [_plain(column.type) for column in typed]
        if None in plain or len(set(plain)) > 1:
            types = " and ".join(sorted({str(column.type) for column in typed}))
            raise TypeError(f"{attribute} cannot be compared with {types} in a grouped filter")
        self._attribute = attribute
        self._type = plain[0] if plain else pa.null()
        self._offsets, self._data = np.zeros(1, np.int64), np.zeros(0, np.uint8)
        self._heads = np.zeros(0, np.int64)
        if typed and _is_ranked(self._type):
            texts = pa.chunked_array([_texts(chunk) for column in typed for chunk in column.chunks], pa.large_binary())
            distinct = pc.unique(texts).drop_null()
            self._offsets, self._data = _text_buffers(distinct.take(pc.array_sort_indices(distinct)))
            self._heads = heads(self._offsets, self._data)

    @property
    def compares(self) -> bool:
        """Whether there is anything that values are compared with."""
        return not pa.types.is_null(self._type)

    def codes(self, column: pa.ChunkedArray) -> Codes:
        if pa.types.is_null(column.type):
            return Codes(np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_))
        if _plain(column.type) != self._type:
            raise TypeError(f"{self._attribute} is {column.type}, but it is compared with {self._type}")
        parts = [self._coded(chunk) for chunk in column.chunks]
        if len(parts) == 1:
            return parts[0]
        values = [part.values for part in parts]
        valid = [np.ones(part.values.size, np.bool_) if part.valid is None else part.valid for part in parts]
        return Codes(
            np.concatenate([*values, np.zeros(0, np.int64)]),
            None if all(part.valid is None for part in parts) else np.concatenate(valid),
        )

    def _coded(self, chunk: pa.Array) -> Codes:
        if pa.types.is_dictionary(chunk.type):
            if len(chunk.dictionary) > len(chunk):  # a slice of a longer column: most of its values are not here
                return self._coded(chunk.dictionary_decode())
            return self._looked_up(chunk)
        if _is_ranked(self._type):
            if len(chunk) > 1:  # values that come again are compared once
                return self._looked_up(_texts(chunk).dictionary_encode())
            return Codes(self._ranks(_texts(chunk)), valid_of(chunk))
        return Codes(_codes_by_bits(chunk), valid_of(chunk))

    def _looked_up(self, chunk: pa.DictionaryArray) -> Codes:
        if pa.types.is_large_binary(chunk.dictionary.type):
            distinct = Codes(self._ranks(chunk.dictionary), None)
        else:
            distinct = self._coded(chunk.dictionary)
        valid = valid_of(chunk)
        if not distinct.values.size:
            return Codes(np.zeros(len(chunk), np.int64), valid)
        places = _buffer(chunk.indices.fill_null(0), chunk.indices.type.to_pandas_dtype())
        if distinct.valid is not None:  # a dictionary may hold NULL as well
            valid = distinct.valid[places] if valid is None else valid & distinct.valid[places]
        return Codes(distinct.values[places], valid)

    def _ranks(self, texts: pa.Array) -> Ints:
        return rank_bytes(*_text_buffers(texts), self._offsets, self._data, self._heads)


def _is_ranked(type_: pa.DataType) -> bool:
    if pa.types.is_decimal128(type_):
        return bool(type_.precision > _SHORT_DECIMAL)
    return bool(pa.types.is_large_string(type_))


def _codes_by_bits(chunk: pa.Array) -> Ints:
    type_ = chunk.type
    if pa.types.is_boolean(type_):
        return _buffer(chunk.cast(pa.uint8()), np.uint8).astype(np.int64)
    if pa.types.is_floating(type_):
        values = _buffer(chunk, type_.to_pandas_dtype()).astype(np.float64).view(np.int64)
        order_floats(values)
        return values
    if pa.types.is_uint64(type_):
        return _buffer(chunk, np.int64) ^ np.int64(LEAST)
    if pa.types.is_decimal128(type_):
        # the lower half has its sign too; a view of a single one might be of memory that is not to be changed
        return _wide(chunk).view(np.int64)[:, 0].copy()
    if pa.types.is_date32(type_):
        return _buffer(chunk, np.int32).astype(np.int64)
    if pa.types.is_integer(type_):
        return _buffer(chunk, type_.to_pandas_dtype()).astype(np.int64)
    return _buffer(chunk, np.int64).astype(np.int64)


def _texts(chunk: pa.Array) -> pa.Array:
    """Values as bytes of the same order: UTF-8 as it is; decimals with the highest byte first and the sign turned."""
    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    if not pa.types.is_decimal128(chunk.type):
        return chunk.cast(pa.large_binary())
    wide = _wide(chunk)[:, ::-1].copy()
    wide[:, 0] ^= 0x80
    offsets = pa.py_buffer(np.arange(0, wide.size + 1, 16))
    valid = valid_of(chunk)
    bits = None if valid is None else pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(pa.large_binary(), len(chunk), [bits, offsets, pa.py_buffer(wide.tobytes())])


def _wide(chunk: pa.Array) -> Bytes:
    """Decimals as rows of sixteen bytes, the lowest first."""
    buffer = chunk.buffers()[1]
    if not len(chunk) or buffer is None:
        return np.zeros((len(chunk), 16), np.uint8)
    return np.frombuffer(buffer, np.uint8)[chunk.offset * 16 : (chunk.offset + len(chunk)) * 16].reshape(-1, 16)


def _text_buffers(texts: pa.Array) -> tuple[Ints, Bytes]:
    _, offsets, data = texts.buffers()
    if not len(texts) or offsets is None:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    # compiled for arrays that can be written to, so Arrow's own are copied; they are of distinct values, so few
    return places.copy(), np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8).copy()


def valid_of(chunk: pa.Array) -> Bools | None:
    if not chunk.null_count:
        return None
    return cast(Bools, chunk.is_valid().to_numpy(zero_copy_only=False))


def _buffer(chunk: pa.Array, type_: Any) -> npt.NDArray[Any]:
    """The numbers of an array as they lie there, whatever stands at the NULLs."""
    buffer = chunk.buffers()[1]
    if not len(chunk) or buffer is None:
        return np.zeros(len(chunk), type_)
    return np.frombuffer(buffer, type_)[chunk.offset : chunk.offset + len(chunk)]
