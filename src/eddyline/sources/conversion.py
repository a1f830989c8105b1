"""From the raw fields of a row to its values: text (`text_value`), or what JSON and Arrow hold (`native_value`).

A converter takes one value that is not NULL and gives the converted one, or raises `BadValue`. Converters are made
once for each column, so that a row costs no look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from eddyline.algebra.schema import Schema
from eddyline.algebra.types import DataType
from eddyline.sources.reasons import BadValue
from eddyline.sources.text_value import Converter, text_converter


class RowConversion:
    """Converts the raw fields of a row, given in the order of the schema."""

    def __init__(self, schema: Schema, converter: Callable[[DataType], Converter]) -> None:
        self._names = schema.names
        self._converters = tuple(converter(field.type) for field in schema.fields)

    def is_null(self, raw: Any) -> bool:
        return raw is None

    def values(self, raw: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return self._convert(raw)
        except BadValue:
            # Looking for the culprit only now keeps the names out of the loop that every good row goes through.
            for position, value in enumerate(raw):
                self.value(position, value)
            raise

    def value(self, position: int, raw: Any) -> Any:
        """One field alone, its name in front of the reason if it is bad."""
        if self.is_null(raw):
            return None
        try:
            return self._converters[position](raw)
        except BadValue as problem:
            raise BadValue(f"{self._names[position]}: {problem}") from None

    def _convert(self, raw: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(
            [None if value is None else convert(value) for convert, value in zip(self._converters, raw, strict=True)]
        )


class TextRowConversion(RowConversion):
    """The same for fields that are text, some of which mean NULL."""

    def __init__(self, schema: Schema, nulls: frozenset[str]) -> None:
        super().__init__(schema, text_converter)
        self._nulls = nulls

    def is_null(self, raw: Any) -> bool:
        return raw in self._nulls

    def _convert(self, raw: Sequence[Any]) -> tuple[Any, ...]:
        nulls = self._nulls
        return tuple(
            [None if text in nulls else convert(text) for convert, text in zip(self._converters, raw, strict=True)]
        )
