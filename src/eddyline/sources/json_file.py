"""Reading JSON: one object a line, or (option multiLine) a file that is one array of objects or one object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from eddyline.catalog.extent import Extent
from eddyline.errors import SourceUnusable, nearest
from eddyline.sources.arrival import Arrival, Reject
from eddyline.sources.columns import OP, REF, RESERVED, TAG
from eddyline.sources.conversion import RowConversion
from eddyline.sources.files import NOT_TEXT, ByteMeter, is_damaged, legible, open_text
from eddyline.sources.intake import BadRow, Intake
from eddyline.sources.native_value import native_converter
from eddyline.sources.options import check_options, encoding, flag
from eddyline.sources.reasons import shown, why_not_json

OPTIONS = frozenset({"path", "multiline", "encoding", "charset"})

_BLANK = " \t\r\n"
#: how much of a broken element of an array a reject shows
_SHOWN_OF_REST = 1000


class JsonReader:
    """How the files of one extent are to be read; holds no state of a pass."""

    def __init__(self, extent: Extent) -> None:
        check_options(extent, OPTIONS)
        self._extent = extent
        self._whole_file = flag(extent, "multiline", default=False)
        self._encoding = encoding(extent)
        self._columns = extent.schema.names
        reserved = RESERVED if extent.is_stream else ()
        self._by_lower = {name.lower(): name for name in (*self._columns, *reserved)}
        self._known = frozenset(self._by_lower.values())
        # A DECIMAL must keep the digits that a float would lose.
        exact = any(field.type.name == "DECIMAL" for field in extent.schema.fields)
        self._decoder = json.JSONDecoder(parse_float=Decimal if exact else None)
        self.conversion = RowConversion(extent.schema, native_converter)

    def check(self, file: Path) -> list[str]:
        with open_text(self._extent.name, file, self._encoding, ByteMeter()) as text:
            first = next((line for line in text if line.strip(_BLANK)), "")
        if first.lstrip(_BLANK).startswith("[") and not self._whole_file:
            raise SourceUnusable(
                f"{self._extent.name}: {file} is a JSON array, not one object a line",
                hint="read it with OPTIONS (multiLine 'true')",
            )
        return []

    def rows(self, file: Path, intake: Intake, meter: ByteMeter) -> Iterator[Arrival | Reject]:
        with open_text(self._extent.name, file, self._encoding, meter) as text:
            pieces = self._elements(text.read()) if self._whole_file else self._lines(text)
            source = ""
            intake.said = lambda: legible(source)
            for line, source, decoded in pieces:
                try:
                    yield self._arrival(line, BadRow(NOT_TEXT) if is_damaged(source) else decoded, intake)
                except BadRow as problem:
                    yield Reject(self._extent.name, str(file), line, legible(source), str(problem))

    def _lines(self, text: Iterator[str]) -> Iterator[tuple[int, str, Any]]:
        """Line number, text and value of every line; a value that cannot be had is the `BadRow` that says why."""
        for number, line in enumerate(text, 1):
            source = line.strip(_BLANK)
            if not source:
                continue
            try:
                value, end = self._decoder.raw_decode(source)
                if end < len(source):
                    value = BadRow(f"not JSON: there is more after the object, at column {end + 1}")
            except (ValueError, RecursionError) as problem:
                value = BadRow(why_not_json(problem))
            yield number, source, value

    def _elements(self, text: str) -> Iterator[tuple[int, str, Any]]:
        """The same for the elements of an array. After a broken one it is not known where the next begins."""
        line, position = 1, 0
        in_array = text.lstrip(_BLANK).startswith("[")
        separators = _BLANK + "["
        while True:
            start = position
            while start < len(text) and text[start] in separators:
                start += 1
            line += text.count("\n", position, start)
            if start == len(text):
                if in_array:
                    yield line, "", BadRow("the array is not closed: is the file whole?")
                return
            if text[start] == "]":
                return
            try:
                value, position = self._decoder.raw_decode(text, start)
            except (ValueError, RecursionError) as problem:
                reason = BadRow(f"{why_not_json(problem)} of the file; the rest is not read")
                yield line, text[start : start + _SHOWN_OF_REST], reason
                return
            yield line, text[start:position], value
            line += text.count("\n", start, position)
            separators = _BLANK + ","

    def _arrival(self, line: int, decoded: Any, intake: Intake) -> Arrival:
        if isinstance(decoded, BadRow):
            intake.lost()
            raise decoded
        if not isinstance(decoded, dict):
            intake.lost()
            raise BadRow(f"{shown(decoded)} is not a JSON object")
        if not self._known.issuperset(decoded):
            decoded = self._known_fields(decoded, intake)
        raw = [decoded.get(name) for name in self._columns]
        return intake.row(line, decoded.get(OP), decoded.get(REF), decoded.get(TAG), raw)

    def _known_fields(self, decoded: dict[str, Any], intake: Intake) -> dict[str, Any]:
        """The object with its fields named as declared."""
        renamed: dict[str, Any] = {}
        for name, value in decoded.items():
            declared = self._by_lower.get(name.lower())
            if declared is None:
                intake.lost()
                guess = nearest(name, self._known)
                suggestion = f"; did you mean {guess}?" if guess else ""
                raise BadRow(f"{shown(name)} is not a column of {self._extent.name}{suggestion}")
            renamed[declared] = value
        return renamed
