"""Reading CSV: one row at a time, with the line on which it stands, and going on after what cannot be read."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

from eddyline.catalog.extent import Extent
from eddyline.errors import InvalidDefinition, SourceUnusable
from eddyline.sources.arrival import DELETE, TAG, Arrival, Reject
from eddyline.sources.columns import ColumnPlan, columns_by_name, columns_by_position
from eddyline.sources.conversion import RowConversion, TextRowConversion
from eddyline.sources.files import NOT_TEXT, ByteMeter, is_damaged, legible, open_text
from eddyline.sources.intake import BadRow, Intake
from eddyline.sources.options import character, check_options, encoding, flag

OPTIONS = frozenset(
    {"path", "header", "sep", "delimiter", "quote", "escape", "encoding", "charset", "nullvalue", "comment"}
)

Row = Sequence[str]


class CsvReader:
    """How the files of one extent are to be read; holds no state of a pass."""

    def __init__(self, extent: Extent) -> None:
        check_options(extent, OPTIONS)
        self._extent = extent
        self._header = flag(extent, "header", default=True)
        self._encoding = encoding(extent)
        self._comment = character(extent, ("comment",), None)
        self._dialect = _dialect(extent)
        self.conversion: RowConversion = TextRowConversion(
            extent.schema, frozenset({"", extent.option("nullvalue") or ""})
        )

    def check(self, file: Path) -> list[str]:
        """Whether the header fits; the warnings there are."""
        with open_text(self._extent.name, file, self._encoding, ByteMeter()) as text:
            rows = CsvRows(text, self._dialect, self._comment)
            if self._header and self._plan(rows, file) is None:
                return [f"{self._extent.name}: {file} is empty, it has not even a header"]
            if next(iter(rows), None) is None:
                return [f"{self._extent.name}: {file} has {'a header but ' if self._header else ''}no rows"]
        return []

    def rows(self, file: Path, intake: Intake, meter: ByteMeter) -> Iterator[Arrival | Reject]:
        with open_text(self._extent.name, file, self._encoding, meter) as text:
            rows = CsvRows(text, self._dialect, self._comment)
            plan = self._plan(rows, file) if self._header else columns_by_position(self._extent)
            if plan is None:
                return
            intake.said = lambda: rows.text
            arrival = _tuples_only(plan, intake) if plan.only_tuples else _any_kind(plan, intake)
            for row in rows:
                try:
                    if isinstance(row, Unreadable):
                        intake.lost()
                        raise BadRow(row.reason)
                    yield arrival(rows.line, row)
                except BadRow as problem:
                    yield Reject(self._extent.name, str(file), rows.line, rows.text, str(problem))

    def _plan(self, rows: CsvRows, file: Path) -> ColumnPlan | None:
        """Reads the header; None if there is none because the file is empty."""
        header = next(iter(rows), None)
        if header is None:
            return None
        if isinstance(header, Unreadable):
            raise SourceUnusable(
                f"{self._extent.name}: the header of {file} cannot be read: {header.reason}",
                hint="is it CSV at all? OPTIONS (encoding '…') says which encoding its text has",
            )
        hint = "if the file has no header, say so: OPTIONS (header 'false')"
        return columns_by_name(self._extent, header, str(file), hint)


def _dialect(extent: Extent) -> dict[str, Any]:
    separator = character(extent, ("sep", "delimiter"), ",")
    quote = character(extent, ("quote",), '"')
    escape = character(extent, ("escape",), None)
    if separator is None:
        raise InvalidDefinition(f"{extent.name}: option sep cannot be empty")
    if separator == quote:
        raise InvalidDefinition(f"{extent.name}: fields cannot be separated and quoted by the same character")
    return {
        "delimiter": separator,
        "quotechar": quote,
        "quoting": csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL,
        # A quote that escapes itself is CSV's own doubling.
        "escapechar": None if escape == quote else escape,
        "strict": True,
    }


class Unreadable:
    """A line that is no row of CSV text."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class CsvRows:
    """The rows of a text; `line` and `text` say where the last one stands and how it is written.

    A row may span lines inside quotes. When a row cannot be read, only its first line is given up and reading goes on
    with the next: a quote that is never closed must not swallow the rest of the file.
    """

    def __init__(self, text: TextIO, dialect: dict[str, Any], comment: str | None) -> None:
        self._file = text
        self._dialect = dialect
        self._comment = comment
        self._taken: list[str] = []  # the lines of the row that is being read
        self._again: deque[str] = deque()  # lines that were taken for the rest of a row and are not
        self._count = 0  # lines taken so far
        self._damaged = False
        self._rows = self._read()

    def __iter__(self) -> Iterator[Row | Unreadable]:
        return self._rows

    @property
    def line(self) -> int:
        return self._count - len(self._taken) + 1

    @property
    def text(self) -> str:
        return legible("".join(self._taken).rstrip("\r\n"))

    def _lines(self) -> Iterator[str]:
        comment = self._comment
        while True:
            if self._again:
                line = self._again.popleft()
            else:
                line = next(self._file, "")
                if not line:
                    return
            self._count += 1
            if comment is not None and not self._taken and line.startswith(comment):
                continue
            if not line.isascii() and is_damaged(line):
                self._damaged = True
            self._taken.append(line)
            yield line

    def _read(self) -> Iterator[Row | Unreadable]:
        lines = self._lines()
        reader = csv.reader(lines, **self._dialect)
        taken = self._taken
        while True:
            try:
                for row in reader:
                    if self._damaged:
                        yield Unreadable(NOT_TEXT)
                        self._damaged = False
                    elif len(row) > 1 or (row and row[0].strip()):  # else a blank line
                        yield row
                    taken.clear()
                return
            except csv.Error as problem:
                self._give_up_all_but_first()
                yield Unreadable(_reason(problem))
                taken.clear()
                self._damaged = False
                reader = csv.reader(self._lines(), **self._dialect)

    def _give_up_all_but_first(self) -> None:
        rest = self._taken[1:]
        self._count -= len(rest)
        self._again.extendleft(reversed(rest))
        del self._taken[1:]


def _reason(problem: csv.Error) -> str:
    text = str(problem)
    if "unexpected end of data" in text or "field limit" in text:
        return f"a quote is opened and not closed (within {csv.field_size_limit()} characters)"
    if "expected after" in text:
        return "there is text between a closing quote and the next separator"
    return f"not CSV: {text}"


def _picker(order: tuple[int, ...]) -> Callable[[Row], Row]:
    """Puts the declared columns of a row into the order of the schema."""
    if order == tuple(range(len(order))):
        return itemgetter(slice(len(order)))
    if len(order) == 1:
        return itemgetter(slice(order[0], order[0] + 1))
    return itemgetter(*order)


def _tuples_only(plan: ColumnPlan, intake: Intake) -> Callable[[int, Row], Arrival]:
    width, pick, insertion = plan.width, _picker(plan.order), intake.insertion

    def arrival(line: int, row: Row) -> Arrival:
        if len(row) != width:
            intake.lost()
            raise _wrong_width(len(row), width)
        return insertion(line, pick(row))

    return arrival


def _any_kind(plan: ColumnPlan, intake: Intake) -> Callable[[int, Row], Arrival]:
    width, pick = plan.width, _picker(plan.order)
    op, ref, tag = plan.op, plan.ref, plan.tag
    declared_until = max(plan.order, default=-1) + 1

    def arrival(line: int, row: Row) -> Arrival:
        if len(row) != width:
            row = full_width(row)
        return intake.row(
            line,
            None if op is None else row[op],
            None if ref is None else row[ref],
            None if tag is None else row[tag],
            pick(row),
        )

    def full_width(row: Row) -> Row:
        """Reserved columns at the end may be left away, and so may the values where the row needs none."""
        kind = row[op].strip() if op is not None and op < len(row) else ""
        if len(row) > width or (len(row) < declared_until and kind not in (DELETE, TAG)):
            intake.lost()
            raise _wrong_width(len(row), width if len(row) > width else declared_until, tagged=tag is not None)
        return [*row, *[""] * (width - len(row))]

    return arrival


def _wrong_width(have: int, want: int, tagged: bool = False) -> BadRow:
    if have < want:
        return BadRow(f"too few fields: {have} instead of {want}")
    help_ = " (the JSON of _tag must stand in quotes, with its own quotes doubled)" if tagged else ""
    return BadRow(f"too many fields: {have} instead of {want}{help_}")
