"""Which kind of row each is, told for whole columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.sources.converted import Mask


class Kinds:
    """The operations of rows. Nearly always each is one character, and its byte is looked at: to number texts takes as
    long as all else that happens to a row without tags."""

    def __init__(self, op: pa.Array) -> None:
        """`op`: texts; none counts as an empty one."""
        self._codes: npt.NDArray[Any]
        found = _bytes(op)
        if found is not None:
            self._codes = found
            self._code_of = {chr(code): code for code in np.flatnonzero(np.bincount(found)).tolist()}
            return
        given = op.dictionary_encode()
        names = given.dictionary.to_pylist()
        self._code_of = {name: code for code, name in enumerate(names)}
        if given.null_count:
            self._code_of.setdefault("", len(names))
        self._codes = pc.fill_null(given.indices, self._code_of.get("", 0)).to_numpy(zero_copy_only=False)

    def __contains__(self, name: str) -> bool:
        return name in self._code_of

    def which(self, *names: str) -> Mask:
        """The rows of these kinds."""
        found: Mask = np.zeros(len(self._codes), np.bool_)
        for name in names:
            if name in self._code_of:
                found = found | (self._codes == self._code_of[name])
        return found


def _bytes(op: pa.Array) -> npt.NDArray[np.uint8] | None:
    """The bytes of texts of one each; None if some are others."""
    if op.type != pa.string() or op.null_count or not len(op):
        return None
    _, offsets, data = op.buffers()
    ends = np.frombuffer(offsets, np.int32)[op.offset : op.offset + len(op) + 1]
    if data is None or int(ends[-1]) - int(ends[0]) != len(op) or not (ends[1:] - ends[:-1] == 1).all():
        return None
    return np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
