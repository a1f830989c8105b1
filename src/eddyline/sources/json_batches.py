"""Reading JSON lines as columns: pyarrow parses what fits the declared types, and the row-wise reader all other lines.

If one line does not fit, pyarrow parses none of a block and does not always say which line it was. Blocks are therefore
halved until the lines that do not fit stand alone with a few others, and those few are read row by row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json

from eddyline.algebra.types import BOOLEAN, DATE, DOUBLE, FLOAT, INTEGER_BITS, STRING, TIMESTAMP, DataType
from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_type
from eddyline.sources.arrival import Arrival
from eddyline.sources.batch_intake import BatchIntake, Columns, Positions, Stretch, sure_rows
from eddyline.sources.chunk import Chunk
from eddyline.sources.columns import OP, REF, TAG
from eddyline.sources.converted import Converted, mask, narrowed_floats, narrowed_integers
from eddyline.sources.files import NOT_TEXT, ByteMeter, is_damaged, legible, open_text
from eddyline.sources.intake import BadRow
from eddyline.sources.json_file import JsonReader
from eddyline.sources.line_blocks import CODECS, LineBlock, LineBlocks
from eddyline.sources.row_chunks import rows_as_chunks
from eddyline.sources.text_columns import from_text, references

#: so few lines are read row by row rather than halved further
_FEW = 128

#: after so many failures the rest of a block is read row by row: a failure costs as much as a hundred rows
_MOST_FAILURES = 40

#: the bits of -0.0 as an integer
_NEGATIVE_ZERO = -(1 << 63)

#: what pyarrow reads a column as. It is not what the column becomes: bounds and dates are checked value by value
_READ_AS: dict[DataType, pa.DataType] = {
    **dict.fromkeys(INTEGER_BITS, pa.int64()),
    FLOAT: pa.float64(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BOOLEAN: pa.bool_(),
    DATE: pa.string(),
    TIMESTAMP: pa.string(),
}


class JsonBatchReader(JsonReader):
    """How the files of one extent are to be read as columns; holds no state of a pass."""

    def __init__(self, extent: Extent) -> None:
        super().__init__(extent)
        self._is_plain = (
            not self._whole_file
            and self._encoding in CODECS
            and all(field.type in _READ_AS for field in extent.schema.fields)
        )

    def chunks(self, file: Path, intake: BatchIntake, meter: ByteMeter, chunk_rows: int) -> Iterator[Chunk]:
        if not self._is_plain:
            yield from rows_as_chunks(self.rows(file, intake, meter), intake, meter, chunk_rows)
            return
        with open_text(self._extent.name, file, self._encoding, meter) as text:
            blocks = LineBlocks(cast(Any, text.buffer), self._encoding)
            schema: pa.Schema | None = None
            while (block := blocks.next()) is not None:
                schema = schema or self._spelled_schema(block)
                stretch = Stretch(intake, str(file))
                sure = self._take(block, stretch, schema)
                blocks.done(len(block))
                yield stretch.chunk(sure, meter.count)

    def _spelled_schema(self, block: LineBlock) -> pa.Schema:
        """The columns that pyarrow is to look for, in the case in which the first row has their names."""
        _, _, decoded = next(self._lines(block.texts()), (0, "", None))
        spelled = {name.lower(): name for name in decoded} if isinstance(decoded, dict) else {}
        fields = [(spelled.get(f.name.lower(), f.name), _READ_AS[f.type]) for f in self._extent.schema.fields]
        if self._extent.is_stream:
            fields += [(OP, pa.string()), (REF, pa.int64())]
        return pa.schema(fields)

    def _take(self, block: LineBlock, stretch: Stretch, schema: pa.Schema) -> list[Chunk]:
        ends = block.content_ends()
        plain = (block.bytes[block.starts] == ord("{")) & (block.bytes[ends - 1] == ord("}"))
        damaged = block.damaged()
        if damaged is not None:
            plain &= ~damaged
        if TAG.encode() in block.data:
            plain[block.lines_at(_occurrences(block.data, TAG.encode()))] = False
        self._take_each(np.flatnonzero(~plain & (ends > block.starts)), block, stretch)
        parse = _Parse(block, schema)
        sure = []
        for lines, table in parse.tables(np.flatnonzero(plain)):
            rows, doubtful = sure_rows(self._converted(table, lines, block), stretch.intake, stretch.file)
            self._take_each(lines[doubtful], block, stretch)
            sure.append(rows)
        for lines in parse.others:
            self._take_each(lines, block, stretch)
        return sure

    def _converted(self, table: pa.Table, lines: Positions, block: LineBlock) -> Columns:
        arrays = [column.combine_chunks() for column in table.columns]
        fields = self._extent.schema.fields
        has_kinds = len(arrays) > len(fields) and arrays[-2].null_count < len(lines)
        return Columns(
            lines + block.first,
            [_column(array, field.type) for array, field in zip(arrays, fields, strict=False)],
            arrays[-2] if has_kinds else None,
            references(arrays[-1], mask(pc.is_null(arrays[-1])) if self._extent.key else None) if has_kinds else None,
            lambda positions: block.contents(lines[positions]),
        )

    def _take_each(self, lines: Positions, block: LineBlock, stretch: Stretch) -> None:
        for line in lines.tolist():
            number = block.first + line
            for _, source, decoded in self._lines(iter((block.text(line),))):
                self._take_one(number, source, decoded, stretch)

    def _take_one(self, number: int, source: str, decoded: Any, stretch: Stretch) -> None:
        intake = stretch.intake
        intake.said = lambda: legible(source)

        def arrival() -> Arrival:
            return self._arrival(number, BadRow(NOT_TEXT) if is_damaged(source) else decoded, intake)

        stretch.take(number, arrival, intake.said)


class _Parse:
    """Parses the lines of a block, around those that pyarrow does not take, which are left in `others`."""

    def __init__(self, block: LineBlock, schema: pa.Schema) -> None:
        self._block = block
        self._options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
        self._failures = 0
        self.others: list[Positions] = []

    def tables(self, lines: Positions) -> Iterator[tuple[Positions, pa.Table]]:
        """Lines with what they say."""
        if not len(lines):
            return
        if self._failures > _MOST_FAILURES:
            self.others.append(lines)
            return
        table, culprit = self._read(lines)
        # Two objects on one line are read as two rows, and must not be.
        if table is not None and table.num_rows == len(lines):
            yield lines, table
            return
        self._failures += 1
        if culprit is not None and culprit < len(lines):
            yield from self.tables(lines[:culprit])
            self.others.append(lines[culprit : culprit + 1])
            yield from self.tables(lines[culprit + 1 :])
        elif len(lines) <= _FEW:
            self.others.append(lines)
        else:
            for half in np.array_split(lines, 2):
                yield from self.tables(half)

    def _read(self, lines: Positions) -> tuple[pa.Table | None, int | None]:
        """What the lines say; or None, and the line that is to blame if pyarrow knows."""
        data = self._block.only(lines)
        options = arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1)
        try:
            return arrow_json.read_json(pa.BufferReader(data), options, self._options), None
        except pa.ArrowInvalid as problem:
            row = re.search(r"in row (\d+)$", str(problem))
            return None, int(row[1]) if row else None


def _column(column: pa.Array, type_: DataType) -> Converted:
    if type_ in INTEGER_BITS:
        return narrowed_integers(Converted(column), arrow_type(type_))
    if type_ in (FLOAT, DOUBLE):
        # pyarrow also reads Inf, and -0, which is an integer and has no sign, as -0.0.
        unusual = pc.or_(pc.invert(pc.is_finite(column)), pc.equal(column.view(pa.int64()), _NEGATIVE_ZERO))
        return narrowed_floats(Converted(column).doubting(unusual), arrow_type(type_))
    return from_text(column, type_) if type_ in (DATE, TIMESTAMP) else Converted(column)


def _occurrences(data: bytes, wanted: bytes) -> Positions:
    positions: list[int] = []
    at = data.find(wanted)
    while at >= 0:
        positions.append(at)
        at = data.find(wanted, at + 1)
    return np.array(positions, np.int64)
