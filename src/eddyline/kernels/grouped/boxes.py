"""The members of one alternative as boxes of codes: in each attribute, a low and a high side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eddyline.kernels.grouped.codes import Bools, Coder, Codes
from eddyline.kernels.grouped.form import Bound, Form, Range
from eddyline.kernels.grouped.loops import GREATEST, LEAST, Ints


@dataclass(frozen=True)
class Box:
    """Sides that all boxes have in common."""

    low: int
    high: int


@dataclass(frozen=True)
class Boxes:
    """One for each member that can be true at all. Sides are inclusive, and no low side is above its high side."""

    members: Ints
    lows: Mapping[str, Ints]  # by attribute, of the attributes in which boxes differ
    highs: Mapping[str, Ints]
    common: Mapping[str, Box]
    present: frozenset[str]  # attributes that may not be NULL
    missing: frozenset[str]  # attributes that must be NULL

    @property
    def equal(self) -> tuple[str, ...]:
        """Attributes in which every box is a point."""
        return tuple(name for name, low in self.lows.items() if np.array_equal(low, self.highs[name]))


class Bounds:
    """The codes of all bounds, each made once."""

    def __init__(self, members: pa.Table, count: int, types: Mapping[str, pa.DataType | None], form: Form) -> None:
        """The count is that of the members; the types are those of the attributes, as far as they are known."""
        self._members, self._count, self._types = members, count, types
        self.coders = {
            name: Coder(name, [self._column(name, bound) for bound in form.bounds(name)]) for name in form.attributes
        }
        self._known: dict[tuple[str, str], Codes] = {}

    def of(self, attribute: str, bound: Bound) -> Codes:
        if bound.parameter is None:
            one = self.coders[attribute].codes(self._column(attribute, bound))
            valid = None if one.valid is None else np.broadcast_to(one.valid, self._count)
            return Codes(np.broadcast_to(one.values, self._count), valid)
        key = attribute, bound.parameter
        if key not in self._known:
            self._known[key] = self.coders[attribute].codes(self._column(attribute, bound))
        return self._known[key]

    def _column(self, attribute: str, bound: Bound) -> pa.ChunkedArray:
        """A value for each member, or the one value of all."""
        if bound.parameter is not None:
            return self._members.column(bound.parameter)
        value, type_ = bound.value, self._types[attribute]
        if isinstance(value, pa.Scalar):
            value, type_ = value.as_py(), value.type
        return pa.chunked_array([pa.array([value], type_)])


def types_of(form: Form, members: pa.Table, schema: pa.Schema | None) -> dict[str, pa.DataType | None]:
    """The type of each attribute: as the tuples have it, if that is known, or else as a parameter has it."""
    types: dict[str, pa.DataType | None] = {}
    for name in form.attributes:
        given = [members.column(bound.parameter).type for bound in form.bounds(name) if bound.parameter is not None]
        type_ = schema.field(name).type if schema is not None else next(iter(given), None)
        types[name] = type_.value_type if type_ is not None and pa.types.is_dictionary(type_) else type_
    return types


def boxes_of(alternative: tuple[Range, ...], bounds: Bounds, ranks: Ints) -> Boxes:
    possible = np.ones(ranks.size, np.bool_)
    lows: dict[str, Ints] = {}
    highs: dict[str, Ints] = {}
    for range_ in alternative:
        name = range_.attribute
        if range_.low is not None:
            low = _inclusive(bounds.of(name, range_.low), range_.low, GREATEST, 1, possible)
            lows[name] = np.maximum(lows[name], low) if name in lows else low
        if range_.high is not None:
            high = _inclusive(bounds.of(name, range_.high), range_.high, LEAST, -1, possible)
            highs[name] = np.minimum(highs[name], high) if name in highs else high
    compared = tuple(dict.fromkeys((*lows, *highs)))
    for name in compared:
        lows.setdefault(name, np.full(ranks.size, LEAST))
        highs.setdefault(name, np.full(ranks.size, GREATEST))
        possible &= lows[name] <= highs[name]
    missing = frozenset(range_.attribute for range_ in alternative if range_.is_null)
    present = frozenset(range_.attribute for range_ in alternative if not range_.is_null)
    chosen = np.flatnonzero(possible)
    lows = {name: lows[name][chosen] for name in compared}
    highs = {name: highs[name][chosen] for name in compared}
    common = dict(_common(lows, highs)) if chosen.size else {}
    return Boxes(
        ranks[chosen],
        {name: low for name, low in lows.items() if name not in common},
        {name: high for name, high in highs.items() if name not in common},
        common,
        present,
        missing,
    )


def _inclusive(codes: Codes, bound: Bound, last: int, step: int, possible: Bools) -> Ints:
    """The codes of a bound as an inclusive one; where there is no such code, nothing is possible."""
    if codes.valid is not None:
        possible &= codes.valid
    if bound.inclusive:
        return codes.values
    possible &= codes.values != last
    return np.where(codes.values == last, last, codes.values + step)


def _common(lows: Mapping[str, Ints], highs: Mapping[str, Ints]) -> Iterator[tuple[str, Box]]:
    """What is the same for all boxes is asked of a tuple once, not once for each box."""
    for name, low in lows.items():
        if np.all(low == low[0]) and np.all(highs[name] == highs[name][0]):
            yield name, Box(int(low[0]), int(highs[name][0]))
