"""A batch of tuples, as codes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from eddyline.kernels.grouped.boxes import Boxes
from eddyline.kernels.grouped.codes import Bools, Coder, Codes
from eddyline.kernels.grouped.loops import Ints


class Batch:
    """Tuples whose columns become codes when they are asked for, once for all alternatives."""

    def __init__(self, tuples: pa.Table, coders: Mapping[str, Coder]) -> None:
        self.size: int = tuples.num_rows
        self._tuples, self._coders = tuples, coders
        self._codes: dict[str, Codes] = {}
        self._valid: dict[str, Bools | None] = {}

    def codes(self, attribute: str) -> Ints:
        return self._coded(attribute).values

    def stacked(self, attributes: tuple[str, ...]) -> Ints:
        """An attribute a row."""
        if not attributes:
            return np.zeros((0, self.size), np.int64)
        if len(attributes) == 1:
            return self.codes(attributes[0]).reshape(1, -1)
        return np.stack([self.codes(name) for name in attributes])

    def rows(self, boxes: Boxes) -> Ints:
        """The tuples that have what all boxes ask for."""
        asked: Bools | None = None
        for name in boxes.present:
            valid = self._valid_of(name)
            asked = _both(asked, valid)
        for name in boxes.missing:
            valid = self._valid_of(name)
            asked = _both(asked, np.zeros(self.size, np.bool_) if valid is None else ~valid)
        for name, box in boxes.common.items():
            codes = self.codes(name)
            asked = _both(asked, (codes >= box.low) & (codes <= box.high))
        return np.arange(self.size) if asked is None else np.flatnonzero(asked)

    def _coded(self, attribute: str) -> Codes:
        if attribute not in self._codes:
            self._codes[attribute] = self._coders[attribute].codes(self._tuples.column(attribute))
        return self._codes[attribute]

    def _valid_of(self, attribute: str) -> Bools | None:
        """Where the attribute is not NULL; None: everywhere. It may be of a type that has no codes."""
        if attribute not in self._valid:
            column = self._tuples.column(attribute)
            if self._coders[attribute].compares:
                valid = self._coded(attribute).valid
            else:
                valid = column.is_valid().to_numpy() if _may_be_null(column) else None
            self._valid[attribute] = valid
        return self._valid[attribute]


def _may_be_null(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count) or pa.types.is_dictionary(column.type)


def _both(one: Bools | None, other: Bools | None) -> Bools | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
