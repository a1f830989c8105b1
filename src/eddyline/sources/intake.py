"""From the raw fields of a row to an arrival: what kind of row it is, its values and its tick."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from eddyline.algebra.tag_json import why_not_taken
from eddyline.algebra.types import DATE, TIMESTAMP, is_integer
from eddyline.catalog.extent import SENSED, Extent
from eddyline.errors import InvalidDefinition, nearest
from eddyline.sources.arrival import DELETE, INSERT, REPLACE, TAG, Arrival
from eddyline.sources.conversion import RowConversion
from eddyline.sources.reasons import BadValue, shown, why_not_json
from eddyline.sources.tag_fields import as_json

_EPOCH = datetime(1970, 1, 1)
_INDEX_DIGITS = 18  # no stream is longer
_OPS = (INSERT, DELETE, REPLACE, TAG)


class BadRow(ValueError):
    """A row that must be set aside; the message is the reason."""


class Intake:
    """Checks and converts the rows of one pass over an extent's input; raises `BadRow` for those that do not fit."""

    def __init__(self, extent: Extent, conversion: RowConversion, tick_micros: int) -> None:
        self._extent = extent.name
        self._conversion = conversion
        self._column = extent.timestamp
        self._time = time_position(extent)
        self._key = tuple(zip(extent.key, extent.key_positions, strict=True))
        self._to_tick = to_tick(extent, tick_micros)
        # SNEEql's Figure 2: without a time of its own, a row of n sites belongs to acquisition number row // n.
        acquired = extent.kind == SENSED and self._time is None
        self._sites = max(1, len(extent.sites)) if acquired else None
        self._interval = extent.interval or 1
        self._takes_all = extent.retain is None  # else a tuple may come too late, and its text is wanted
        self._insertions = 0
        self.file = ""  # the one being read
        self.said: Callable[[], str] = str  # the text of the row being read

    def insertion(self, line: int, raw: Sequence[Any]) -> Arrival:
        """A tuple; the raw fields stand in the order of the schema."""
        # Counted before it is checked: a damaged reading still took its site's turn in the acquisition.
        self._insertions += 1
        try:
            values = self._conversion.values(raw)
        except BadValue as problem:
            raise BadRow(str(problem)) from None
        turn = self._insertions - 1
        self._check_key(values)
        tick = self._own_tick(values) if self._sites is None else turn // self._sites * self._interval
        if self._takes_all:
            return Arrival(self._extent, line, INSERT, values, tick)
        return Arrival(self._extent, line, INSERT, values, tick, file=self.file, text=self.said())

    def row(self, line: int, op: Any, ref: Any, tag: Any, raw: Sequence[Any]) -> Arrival:
        """A row of any kind. `op`, `ref` and `tag` are the reserved columns, None or empty where absent."""
        kind = self._kind(op)
        if kind != TAG and tag is not None and tag != "":
            if kind == INSERT:
                self.lost()
            raise BadRow("_tag: this row is no tick-tag; write _op '#' beside it, or leave it away")
        if kind == INSERT:
            return self.insertion(line, raw)
        if kind == TAG:
            return Arrival(
                self._extent,
                line,
                TAG,
                None,
                self._tick_if_given(raw),
                tag=_parsed_tag(tag),
                file=self.file,
                text=self.said(),
            )
        index = _reference(kind, ref, bool(self._key))
        if kind == DELETE:
            tick, key = self._tick_if_given(raw), self._only_key(raw) if index is None else None
            return Arrival(self._extent, line, DELETE, key, tick, index, file=self.file, text=self.said())
        try:
            values = self._conversion.values(raw)
        except BadValue as problem:
            raise BadRow(str(problem)) from None
        self._check_key(values)
        return Arrival(
            self._extent, line, REPLACE, values, self._own_tick(values), index, file=self.file, text=self.said()
        )

    def lost(self) -> None:
        """A row that could not even be read as fields also took its turn."""
        self._insertions += 1

    def _kind(self, op: Any) -> str:
        kind = op.strip() if isinstance(op, str) else op
        if kind is None or kind == "":
            return INSERT
        if kind not in _OPS:
            raise BadRow(f"_op: {shown(op)} is not one of + - = #")
        return str(kind)

    def _own_tick(self, values: tuple[Any, ...]) -> int | None:
        if self._time is None:
            return None
        time = values[self._time]
        if time is None:
            raise BadRow(f"{self._column}: no value, but it is the TIMESTAMP BY column")
        return self._to_tick(time)

    def _check_key(self, values: Sequence[Any]) -> None:
        for name, position in self._key:
            if values[position] is None:
                raise BadRow(f"{name}: no value, but it is a KEY column")

    def _only_key(self, raw: Sequence[Any]) -> tuple[Any, ...]:
        """The values of the key, which are all that a deletion without an index needs."""
        values: list[Any] = [None] * len(raw)
        try:
            for _, position in self._key:
                values[position] = self._conversion.value(position, raw[position])
        except BadValue as problem:
            raise BadRow(str(problem)) from None
        self._check_key(values)
        return tuple(values)

    def _tick_if_given(self, raw: Sequence[Any]) -> int | None:
        """Deletions and tags need no values, but may say when they come."""
        if self._time is None:
            return None
        try:
            time = self._conversion.value(self._time, raw[self._time])
        except BadValue as problem:
            raise BadRow(str(problem)) from None
        return None if time is None else self._to_tick(time)


def time_position(extent: Extent) -> int | None:
    if extent.timestamp is None:
        return None
    names = [name.lower() for name in extent.schema.names]
    if extent.timestamp.lower() in names:
        return names.index(extent.timestamp.lower())
    guess = nearest(extent.timestamp, extent.schema.names)
    raise InvalidDefinition(
        f"{extent.name} has no column {extent.timestamp} to take its time from",
        hint=f"did you mean {guess}?" if guess else None,
    )


def to_tick(extent: Extent, tick_micros: int) -> Callable[[Any], int]:
    position = time_position(extent)
    if position is None:
        return int  # never called
    type_ = extent.schema.fields[position].type
    one_tick = timedelta(microseconds=tick_micros)

    def from_timestamp(moment: datetime) -> int:
        return (moment - _EPOCH) // one_tick

    def from_date(day: date) -> int:
        return (datetime(day.year, day.month, day.day) - _EPOCH) // one_tick

    if is_integer(type_):
        return int
    if type_ == TIMESTAMP:
        return from_timestamp
    if type_ == DATE:
        return from_date
    raise InvalidDefinition(
        f"{extent.name} cannot take its time from {extent.timestamp}, which is of type {type_}",
        hint="TIMESTAMP BY needs an integer (ticks), a TIMESTAMP or a DATE column",
    )


def _reference(kind: str, ref: Any, has_key: bool) -> int | None:
    """The index of the tuple; None if it is known by its key."""
    if ref is None or ref == "":
        if has_key:
            return None
        raise BadRow(f"_ref: missing; {_SENTENCE[kind]} needs the index of its tuple, or a stream with a KEY")
    text = str(ref).strip()
    whole = text.isascii() and text.isdigit() and len(text) <= _INDEX_DIGITS
    if isinstance(ref, bool | float) or not whole or int(text) == 0:
        raise BadRow(f"_ref: {shown(ref)} is not a positive whole number")
    return int(text)


_SENTENCE = {DELETE: "a deletion (-)", REPLACE: "a replacement (=)"}


def _parsed_tag(tag: Any) -> dict[str, Any]:
    if tag is None or tag == "":
        raise BadRow("_tag: missing; a tick-tag (#) needs a JSON object")
    if isinstance(tag, str):
        try:
            tag = json.loads(tag)
        except (ValueError, RecursionError) as problem:
            raise BadRow(f"_tag: {why_not_json(problem)}") from None
    else:
        try:
            tag = as_json(tag)
        except BadValue as problem:
            raise BadRow(f"_tag: {problem}") from None
    if not isinstance(tag, dict):
        raise BadRow(f"_tag: {shown(tag)} is not a JSON object")
    if (wrong := why_not_taken(tag)) is not None:
        raise BadRow(f"_tag: {wrong}")
    return tag
