"""The members of one alternative as boxes of codes: in each attribute, a low and a high side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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


class Constants:
    """What the attributes of a form are compared with, by member."""

    def __init__(self, members: pa.Table, count: int, types: Mapping[str, pa.DataType | None], form: Form) -> None:
        """The count is that of the members; the types are those of the attributes, as far as they are known."""
        self._members, self.count, self._types, self.form = members, count, types, form

    def of(self, attribute: str) -> list[pa.ChunkedArray]:
        """All that there are of an attribute."""
        return [self.column(attribute, bound) for bound in self.form.bounds(attribute)]

    def column(self, attribute: str, bound: Bound) -> pa.ChunkedArray:
        """A value for each member, or the one value of all."""
        if bound.parameter is not None:
            return self._members.column(bound.parameter)
        value, type_ = bound.value, self._types[attribute]
        if isinstance(value, pa.Scalar):
            value, type_ = value.as_py(), value.type
        return pa.chunked_array([pa.array([value], type_)])


def coders_of(several: Sequence[Constants]) -> dict[str, Coder]:
    """One coder for each attribute: values are compared with the constants of all."""
    names = dict.fromkeys(name for constants in several for name in constants.form.attributes)
    return {name: Coder(name, [column for each in several for column in each.of(name)]) for name in names}


class Bounds:
    """The codes of all bounds, each made once."""

    def __init__(self, constants: Constants, coders: Mapping[str, Coder]) -> None:
        self._constants, self._count, self._coders = constants, constants.count, coders
        self._known: dict[tuple[str, str], Codes] = {}

    def of(self, attribute: str, bound: Bound) -> Codes:
        column, coder = self._constants.column(attribute, bound), self._coders[attribute]
        if bound.parameter is None:
            one = coder.codes(column)
            valid = None if one.valid is None else np.broadcast_to(one.valid, self._count)
            return Codes(np.broadcast_to(one.values, self._count), valid)
        key = attribute, bound.parameter
        if key not in self._known:
            self._known[key] = coder.codes(column)
        return self._known[key]


def types_of(form: Form, members: pa.Table, schema: pa.Schema | None) -> dict[str, pa.DataType | None]:
    """The type of each attribute: as the tuples have it, if that is known, or else as a parameter has it."""
    types: dict[str, pa.DataType | None] = {}
    for name in form.attributes:
        given = [members.column(bound.parameter).type for bound in form.bounds(name) if bound.parameter is not None]
        type_ = schema.field(name).type if schema is not None else next(iter(given), None)
        types[name] = type_.value_type if type_ is not None and pa.types.is_dictionary(type_) else type_
    return types


def boxes_of(alternative: tuple[Range, ...], bounds: Bounds, ranks: Ints) -> Boxes:
    """Nothing is said to be common yet."""
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
    return Boxes(ranks[chosen], lows, highs, {}, present, missing)


def merged(several: Sequence[Boxes]) -> list[Boxes]:
    """Boxes that ask for the same attributes in the same way, whoever's they are, are found at once."""
    alike: dict[object, list[Boxes]] = {}
    for boxes in several:
        if boxes.members.size:
            kind = frozenset(boxes.lows), frozenset(boxes.equal), boxes.present, boxes.missing
            alike.setdefault(kind, []).append(boxes)
    return [_with_common(_concatenated(some) if len(some) > 1 else some[0]) for some in alike.values()]


def _concatenated(some: Sequence[Boxes]) -> Boxes:
    def of_all(sides: Sequence[Mapping[str, Ints]]) -> dict[str, Ints]:
        return {name: np.concatenate([each[name] for each in sides]) for name in sides[0]}

    members = np.concatenate([boxes.members for boxes in some])
    lows, highs = (of_all([getattr(boxes, sides) for boxes in some]) for sides in ("lows", "highs"))
    return replace(some[0], members=members, lows=lows, highs=highs)


def _with_common(boxes: Boxes) -> Boxes:
    common = dict(_common(boxes.lows, boxes.highs))
    return replace(
        boxes,
        lows={name: low for name, low in boxes.lows.items() if name not in common},
        highs={name: high for name, high in boxes.highs.items() if name not in common},
        common=common,
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
