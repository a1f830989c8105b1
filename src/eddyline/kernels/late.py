"""A function that is called once with all rows of a segment, not by the kernel with some thousand at a time.

What it gives goes into the segment as it is, so the kernel need not carry it. Where few values repeat they may stay
numbers of a dictionary, which are written in half the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.user_function import UserFunction
from eddyline.kernels.functions import load
from eddyline.log.storage import Storage

_ARGUMENT = r"(?:\"?\w+\"?|'[^']*')"
_CALL = re.compile(rf"(\w+)\(({_ARGUMENT}(?:, {_ARGUMENT})*)\) AS (\w+)")
#: a function that works on the texts of a dictionary
_TAKES_NUMBERS = "tags_side_by_side"
_EACH = re.compile(_ARGUMENT)


@dataclass(frozen=True)
class LateCall:
    """What the statement gives instead is a struct of the arguments that are no constants."""

    function: UserFunction
    arguments: tuple[str | None, ...]  # texts that are constants; None where the struct has the next field
    column: int = 0  # in which the result goes out

    @property
    def takes_numbers(self) -> bool:
        """Whether it has use for what it is given as numbers of a dictionary."""
        return self.function.name == _TAKES_NUMBERS

    @staticmethod
    def of(item: str, functions: Mapping[str, UserFunction]) -> tuple[LateCall, str] | None:
        """What a column of a SELECT calls, and the column instead; None if it is no call of one of these functions."""
        found = _CALL.fullmatch(item)
        function = functions.get(found[1].lower()) if found is not None else None
        if found is None or function is None:
            return None
        given = _EACH.findall(found[2])
        fields = [text for text in given if not text.startswith("'")]
        if not fields:
            return None
        texts = tuple(text[1:-1] if text.startswith("'") else None for text in given)
        packed = ", ".join(f"a{place} := {text}" for place, text in enumerate(fields))
        return LateCall(function, texts), f"struct_pack({packed}) AS {found[3]}"

    def before(self, schema: pa.Schema, given: pa.Schema) -> pa.Schema:
        """What a statement gives instead of rows with this schema."""
        return schema.set(self.column, schema.field(self.column).with_type(given.field(self.column).type))

    def completed(self, rows: pa.Table, storage: Storage) -> pa.Table:
        """Rows with what the call gives; where it is nothing that was given, there was nothing to call."""
        given = rows.column(self.column).combine_chunks()
        fields = iter(given.flatten())
        arguments = [
            next(fields) if text is None else pa.repeat(pa.scalar(text, pa.string()), len(given))
            for text in self.arguments
        ]
        made = load(storage, self.function)(*arguments, numbered=True)
        made = _where(pc.is_valid(given), made) if given.null_count else made
        return rows.set_column(self.column, rows.schema.field(self.column).with_type(made.type), made)


def _where(there: pa.Array, made: pa.Array) -> pa.Array:
    """What was made, or nothing; the texts of a dictionary need not be looked at for it."""
    if isinstance(made, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(pc.if_else(there, made.indices, None), made.dictionary)
    return pc.if_else(there, made, None)


def by_name(functions: Iterable[UserFunction]) -> dict[str, UserFunction]:
    """Functions by how statements call them."""
    return {function.internal_name.lower(): function for function in functions}
