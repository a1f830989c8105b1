"""Rows at some places, column by column, for tables in which every other row is a tag without values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

Array = Any
#: by the bits of a value, something as wide
_WIDTHS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class Picking:
    """Values at the same places of several columns. Numbers are copied as they are, into memory that Arrow has at hand:
    it would ask for each value whether it is there, and fresh memory takes longer to get than to fill."""

    def __init__(self, places: Array) -> None:
        self._places = places
        self._there: pa.Buffer | None = None  # which values of the column before are there …
        self._found: pa.Buffer | None = None  # … and which of those that were picked; None: all

    def of(self, column: pa.Array) -> pa.Array:
        if pa.types.is_dictionary(column.type):
            return pa.DictionaryArray.from_arrays(self.of(column.indices), column.dictionary)
        width = _WIDTHS.get(column.type.bit_width) if pa.types.is_primitive(column.type) else None
        if width is None or not len(self._places):
            return column.take(pa.array(self._places))
        there, values = column.buffers()
        given = np.frombuffer(values, width)[column.offset : column.offset + len(column)]
        picked = pa.allocate_buffer(len(self._places) * given.itemsize)
        np.take(given, self._places, out=np.frombuffer(picked, width), mode="clip")
        validity = self._validity(there, column.offset) if column.null_count else None
        return pa.Array.from_buffers(column.type, len(self._places), [validity, picked])

    def _validity(self, there: pa.Buffer, offset: int) -> pa.Buffer | None:
        """Columns mostly lack the same values, those of tags; it is looked up once for all that do."""
        if offset or self._there is None or not self._there.equals(there):
            bits = np.unpackbits(np.frombuffer(there, np.uint8), bitorder="little")[offset:][self._places]
            self._found = None if bits.all() else pa.py_buffer(np.packbits(bits, bitorder="little"))
            self._there = None if offset else there
        return self._found
