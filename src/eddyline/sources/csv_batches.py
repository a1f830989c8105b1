"""Reading CSV as columns: pyarrow parses the lines of a plain shape, and the row-wise reader all others.

A line has a plain shape if its quotes open and close fields as they should, and on that same line: then every line is
a row, whatever stands before it. Where a line is not plain the row-wise reader begins a row, which may take further
lines; those it took are left out of what pyarrow gets.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from eddyline.catalog.extent import Extent
from eddyline.sources.arrival import Arrival
from eddyline.sources.batch_intake import BatchIntake, Columns, Positions, Stretch, sure_rows
from eddyline.sources.chunk import Chunk
from eddyline.sources.columns import ColumnPlan, columns_by_position
from eddyline.sources.converted import Converted, Mask, mask
from eddyline.sources.csv_file import CsvReader, CsvRows, Row, Unreadable, _any_kind, _tuples_only
from eddyline.sources.files import ByteMeter, open_text
from eddyline.sources.intake import BadRow
from eddyline.sources.line_blocks import CODECS, BlockTooShort, LineBlock, LineBlocks
from eddyline.sources.row_chunks import rows_as_chunks
from eddyline.sources.text_columns import from_text, no_references, references_from_text, without_nulls


class CsvBatchReader(CsvReader):
    """How the files of one extent are to be read as columns; holds no state of a pass."""

    def __init__(self, extent: Extent) -> None:
        super().__init__(extent)
        self._nulls = frozenset({"", extent.option("nullvalue") or ""})
        self._is_plain = (
            self._encoding in CODECS
            and self._dialect["escapechar"] is None
            and _is_byte(self._dialect["delimiter"])
            and (self._dialect["quotechar"] is None or _is_printable(self._dialect["quotechar"]))
            and (self._comment is None or _is_byte(self._comment))
        )

    def chunks(self, file: Path, intake: BatchIntake, meter: ByteMeter, chunk_rows: int) -> Iterator[Chunk]:
        if not self._is_plain:
            yield from rows_as_chunks(self.rows(file, intake, meter), intake, meter, chunk_rows)
            return
        with open_text(self._extent.name, file, self._encoding, meter) as text:
            blocks = LineBlocks(cast(Any, text.buffer), self._encoding)
            plan = self._header_plan(blocks, file) if self._header else columns_by_position(self._extent)
            if plan is None:
                return
            table = _CsvStretches(self._extent, plan, self._dialect, self._comment, self._nulls)
            while (block := blocks.next()) is not None:
                stretch = Stretch(intake, str(file))
                sure, lines = table.take(block, stretch)
                blocks.done(lines)
                yield stretch.chunk(sure, meter.count)

    def _header_plan(self, blocks: LineBlocks, file: Path) -> ColumnPlan | None:
        while (block := blocks.next()) is not None:
            rows = _LineRows(block.texts_from(0), self._dialect, self._comment)
            try:
                plan = self._plan(rows, file)
            except BlockTooShort:
                continue
            blocks.done(rows.count)
            return plan
        return None


class _LineRows(CsvRows):
    """The rows of some lines of a file."""

    def __init__(self, lines: Iterator[str], dialect: dict[str, Any], comment: str | None) -> None:
        super().__init__(cast(TextIO, lines), dialect, comment)

    @property
    def count(self) -> int:
        """How many lines are done with."""
        return self._count


class _CsvStretches:
    """Takes blocks of lines apart into rows that are sure and rows for a `Stretch`."""

    def __init__(
        self, extent: Extent, plan: ColumnPlan, dialect: dict[str, Any], comment: str | None, nulls: frozenset[str]
    ) -> None:
        self._extent = extent
        self._plan = plan
        self._dialect = dialect
        self._comment = comment
        self._nulls = nulls
        self._names = [str(position) for position in range(plan.width)]

    def take(self, block: LineBlock, stretch: Stretch) -> tuple[list[Chunk], int]:
        """The rows that are sure, the others being given to the stretch, and how many lines these are."""
        arrival = (_tuples_only if self._plan.only_tuples else _any_kind)(self._plan, stretch.intake)
        row_wise = _RowWise(block, stretch, arrival, self._dialect, self._comment)
        plain = block.content_ends() > block.starts
        done = row_wise.take_odd(self._odd_lines(block), plain)
        plain[done:] = False
        lines = np.flatnonzero(plain)
        if not len(lines):
            return [], done
        texts, misfits = self._parsed(block.only(lines))
        row_wise.take_each(lines[misfits])
        fitting = np.delete(lines, misfits) if len(misfits) else lines
        if not len(fitting):
            return [], done
        if len(texts[0]) != len(fitting):  # not one row a line after all
            row_wise.take_each(fitting)
            return [], done
        columns = self._columns(texts, fitting, block)
        sure, doubtful = sure_rows(columns, stretch.intake, stretch.file)
        row_wise.take_each(fitting[doubtful])
        return [sure], done

    def _odd_lines(self, block: LineBlock) -> Mask:
        """The lines that have no plain shape."""
        odd: Mask = block.ends - block.starts > csv.field_size_limit()
        quote = self._dialect["quotechar"]
        if quote is not None and quote.encode() in block.data:
            _mark_odd_quotes(block, ord(quote), ord(self._dialect["delimiter"]), odd)
        if self._comment is not None:
            odd |= block.bytes[block.starts] == ord(self._comment)
        damaged = block.damaged()
        if damaged is not None:
            odd |= damaged
        return odd

    def _parsed(self, data: bytes) -> tuple[list[pa.Array], Positions]:
        """The fields as columns of text, and which lines have too few or too many fields."""
        misfits: list[int] = []

        def skip(row: Any) -> str:
            misfits.append(row.number - 1)
            return "skip"

        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            # One block and no threads: a row's number is not known otherwise.
            arrow_csv.ReadOptions(column_names=self._names, use_threads=False, block_size=len(data) + 1),
            arrow_csv.ParseOptions(
                delimiter=self._dialect["delimiter"],
                quote_char=self._dialect["quotechar"] or False,
                invalid_row_handler=skip,
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self._names, pa.string()), strings_can_be_null=False, check_utf8=False
            ),
        )
        return [column.combine_chunks() for column in table.columns], np.array(misfits, np.int64)

    def _columns(self, texts: list[pa.Array], lines: Positions, block: LineBlock) -> Columns:
        plan = self._plan
        values = [
            from_text(without_nulls(texts[at], self._nulls), field.type)
            for at, field in zip(plan.order, self._extent.schema.fields, strict=True)
        ]
        if plan.width == 1:
            # A line that is blank is no row. Characters that are surely none of a blank line are enough to tell.
            values[0] = _doubting_blanks(values[0], texts[0])
        return Columns(
            lines + block.first,
            values,
            None if plan.op is None else texts[plan.op],
            self._references(texts, len(lines)),
            lambda positions: block.contents(lines[positions]),
            says=None if plan.tag is None else mask(pc.not_equal(texts[plan.tag], "")),
        )

    def _references(self, texts: list[pa.Array], count: int) -> Converted | None:
        has_key = bool(self._extent.key)
        if self._plan.ref is None:
            return no_references(count) if has_key else None
        return references_from_text(texts[self._plan.ref], has_key)


def _doubting_blanks(column: Converted, texts: pa.Array) -> Converted:
    return column.doubting(pc.invert(pc.match_substring_regex(texts, "^[!-~]")))


class _Cut(Exception):
    """The row that begins on this line goes on behind the end of the block."""

    def __init__(self, line: int) -> None:
        self.line = line


class _RowWise:
    """Takes the rows of a block for which the row-wise reader is needed."""

    def __init__(
        self,
        block: LineBlock,
        stretch: Stretch,
        arrival: Callable[[int, Row], Arrival],
        dialect: dict[str, Any],
        comment: str | None,
    ) -> None:
        self._block = block
        self._stretch = stretch
        self._arrival = arrival
        self._dialect = dialect
        self._comment = comment

    def take_odd(self, odd: Mask, plain: Mask) -> int:
        """Rows that begin on odd lines. Their lines are no longer plain; returns where the block must be cut."""
        next_line = 0
        line: int
        for line in np.flatnonzero(odd).tolist():
            if line >= next_line:
                try:
                    next_line = self._take_from(line, odd)
                except _Cut as cut:
                    plain[line : cut.line] = False
                    return cut.line
                plain[line:next_line] = False
        return len(self._block)

    def _take_from(self, first: int, odd: Mask) -> int:
        """Rows from an odd line on, until one ends before a line that is not odd; returns that line."""
        rows = _LineRows(self._block.texts_from(first), self._dialect, self._comment)
        next_line = first
        try:
            for row in rows:
                line = first + rows.line - 1
                if line > next_line and not odd[line]:  # what stood before it was blank
                    return line
                self._take(line, row, rows)
                next_line = first + rows.count
                if next_line == len(odd) or not odd[next_line]:
                    return next_line
        except BlockTooShort:
            raise _Cut(next_line) from None
        return len(odd)

    def take_each(self, lines: Positions) -> None:
        """Rows of one line each."""
        numbers = lines.tolist()
        rows = _LineRows((self._block.text(line) for line in numbers), self._dialect, self._comment)
        for row in rows:
            self._take(numbers[rows.line - 1], row, rows)

    def _take(self, line: int, row: Row | Unreadable, rows: CsvRows) -> None:
        number = self._block.first + line
        intake = self._stretch.intake
        intake.said = lambda: rows.text

        def arrival() -> Arrival:
            if isinstance(row, Unreadable):
                intake.lost()
                raise BadRow(row.reason)
            return self._arrival(number, row)

        self._stretch.take(number, arrival, lambda: rows.text)


def _mark_odd_quotes(block: LineBlock, quote: int, separator: int, odd: Mask) -> None:
    """Marks the lines where quotes are not pairs that enclose a field, a doubled quote being the seam of two pairs."""
    quotes = np.flatnonzero(block.bytes == quote)
    lines = block.lines_at(quotes)
    firsts = np.searchsorted(lines, lines)  # of each quote, the first on its line
    opens = (np.arange(len(quotes)) - firsts) % 2 == 0
    # With a line end before the first byte and behind the last one, every quote has neighbours.
    border = np.array([10], np.uint8)
    around = np.concatenate([border, block.bytes, border])
    neighbour = np.where(opens, around[quotes], around[quotes + 2])
    at_a_border = (neighbour == separator) | (neighbour == 10) | (neighbour == 13)
    # A quote beside this one is the other half of a seam, except where the first on the line has none before it.
    seam = (neighbour == quote) & ~(opens & (np.arange(len(quotes)) == firsts))
    odd[lines[~(at_a_border | seam)]] = True
    odd[np.flatnonzero(np.bincount(lines, minlength=len(block)) % 2)] = True


def _is_byte(character: str) -> bool:
    return character.isascii()


def _is_printable(character: str) -> bool:
    return character.isascii() and character.isprintable() and character != " "
