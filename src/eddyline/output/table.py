"""Answers for people: one table for each run of answers of one query, printed while the query is still running.

Lines are held back for a moment, so that columns can be as wide as what stands in them; nothing is left out. What
does not fit the width of the terminal is written as `column=value`, folded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import singledispatchmethod
from itertools import zip_longest

from rich.cells import cell_len

from eddyline.algebra.answer import (
    Answer,
    RelationAnswer,
    StixAnswer,
    TagAnswer,
    TagView,
    TextAnswer,
    TupleAnswer,
    Values,
    WindowAnswer,
)
from eddyline.algebra.lineage import ROW, Cause
from eddyline.output.legible_value import is_number, printable, tag_view_text, tick_tag_text, value_text
from eddyline.output.painting import Painter
from eddyline.output.table_layout import Cell, Line, Widths, header, laid_out

#: lines are held back until there are this many, or for this long
HELD_LINES = 200
HELD_SECONDS = 0.2

#: longer names of queries stand on a line of their own
_GUTTER = 16

_ROW_STYLE = {"+": "plain", "-": "delete", "=": "replace"}
_OP_STYLE = {"+": "insert", "-": "delete", "=": "replace", "#": "tag"}
_WAS, _BY = Cell("was", "old"), Cell("by", "old")


class Tables:
    """Writes answers as tables; `write` gets whole lines, with their line feed."""

    def __init__(self, write: Callable[[str], object], painter: Painter, watched: bool = True) -> None:
        """`watched`: somebody looks on, so lines are not held back for long; a file gets the same bytes every time."""
        self._watched = watched
        self._write = write
        self._paint = painter
        self._columns: dict[str, tuple[str, ...]] = {}
        self._widths: dict[str, Widths] = {}
        self._gutter = 0
        self._held: list[Line] = []
        self._held_since = 0.0
        self._query: str | None = None  # of the lines held, or of the table printed last
        self._number: str | None = None  # what its rows are counted by: "index", "window" or nothing
        self._printed: object = None  # the header that the lines on the screen stand under

    def begin(self, query: str, columns: tuple[str, ...]) -> None:
        """The names that the columns of a query have in the output; a name may be used again for another query."""
        if query in self._columns:
            self.flush()
            self._widths = {key: widths for key, widths in self._widths.items() if not key.startswith(f"{query}/")}
        self._columns[query] = columns
        if len(query) <= _GUTTER:
            self._gutter = max(self._gutter, cell_len(query))

    def show(self, answer: Answer, causes: Sequence[Cause] | None = None) -> None:
        """`causes`: the revisions that an answer comes from, if somebody has asked for them and it comes from some."""
        self._lines(answer)
        if causes is not None:
            told = ", ".join(map(_cause, causes)) or "nobody knows what"
            self._held.append(Line((Cell(""), Cell(""), _BY), note=Cell(told, "old"), counted=False))
        if len(self._held) >= HELD_LINES:
            self.flush()
        else:
            self.pause()

    def pause(self) -> None:
        """It may be a while until the next answer: nothing is held back longer than it has to."""
        if self._watched and self._held and time.monotonic() - self._held_since > HELD_SECONDS:
            self.flush()

    def close(self) -> None:
        self.flush()

    def flush(self) -> None:
        """Prints the lines held back, under a header if the query or the width of its columns has changed."""
        if not self._held or self._query is None:
            return
        columns = self._columns.get(self._query, ())
        known = self._widths.setdefault(f"{self._query}/{self._number}", Widths(self._number, columns))
        known.widen(self._held)
        indent = " " * (self._gutter + 2) if self._gutter else ""
        room = None if self._paint.width is None else self._paint.width - len(indent)
        # A table that was too wide once stays folded: going back and forth would be harder to read.
        known.fold = known.fold or (room is not None and known.total > room)
        current = (self._query, self._number, known.snapshot())
        if self._printed != current:
            self._print_header(known, indent)
            self._printed = current
        for line in self._held:
            for part in laid_out(line, known, room):
                text = "".join(self._paint(cell.text, cell.style) for cell in part)
                self._write(f"{indent}{text}".rstrip() + "\n")
        self._held.clear()

    def _print_header(self, widths: Widths, indent: str) -> None:
        name = printable(self._query or "")
        if self._printed is not None:
            self._write("\n")
        if cell_len(name) > self._gutter:
            self._write(self._paint(name, "query") + "\n")
            name = ""
        gutter = self._paint(name, "query") + " " * (len(indent) - cell_len(name))
        self._write(gutter + "".join(self._paint(cell.text, "header") for cell in header(widths)).rstrip() + "\n")

    def _hold(self, query: str, number: str | None, lines: list[Line], counted: bool = True) -> None:
        """`counted` is false for lines that go with rows of any kind: tags and stixes."""
        if query != self._query:
            self.flush()
            self._query, self._number = query, number
        elif counted and number != self._number:
            if any(line.counted for line in self._held):
                self.flush()
            self._number = number
        if not self._held:
            self._held_since = time.monotonic()
        self._held += lines

    @singledispatchmethod
    def _lines(self, answer: Answer) -> None:
        raise TypeError(f"{type(answer).__name__} is not an answer")

    @_lines.register
    def _tuple(self, answer: TupleAnswer) -> None:
        note = _tags_note(answer.tags, answer.stix)
        lines = [_row_line(answer.tick, answer.index, answer.op, answer.row, note)]
        if answer.old is not None:
            lines.append(_old_line(answer.old, first=True))
        self._hold(answer.query, "index", lines)

    @_lines.register
    def _relation(self, answer: RelationAnswer) -> None:
        lines = [_row_line(answer.tick, None, answer.op, answer.row, _tags_note(answer.tags, None))]
        self._hold(answer.query, None, lines)

    @_lines.register
    def _window(self, answer: WindowAnswer) -> None:
        notes = [
            _tags_note(tags, stix) for tags, stix in zip_longest(answer.tags or (), answer.stix or (), fillvalue=None)
        ]
        shown = answer.rows if answer.op != "-" else answer.old_rows or ()
        lines = [
            _row_line(answer.tick, answer.window, answer.op, row, note)
            for row, note in zip_longest(shown, notes, fillvalue=None)
            if row is not None
        ] or [_empty_window(answer)]
        for line in lines[1:]:
            line.lead = (Cell(""), Cell(""), Cell(""))
        if answer.op == "=" and answer.old_rows is not None:
            lines += [_old_line(row, first=position == 0) for position, row in enumerate(answer.old_rows)]
            if not answer.old_rows:
                lines.append(Line((Cell(""), Cell(""), _WAS), note=Cell("no rows", "old")))
        if answer.old_tick is not None:
            lines.append(Line((Cell(""), Cell(""), _WAS), note=Cell(f"at tick {answer.old_tick}", "old")))
        self._hold(answer.query, "window", lines)

    @_lines.register
    def _tag(self, answer: TagAnswer) -> None:
        self._hold_note(answer.query, answer.tick, tick_tag_text(answer.tag))

    @_lines.register
    def _stix(self, answer: StixAnswer) -> None:
        self._hold_note(answer.query, answer.tick, f"stix {printable(answer.stix)}")

    def _hold_note(self, query: str, tick: int, text: str) -> None:
        line = Line((_number(tick), Cell(""), Cell("#", "tag")), note=Cell(text, "tag"), counted=False)
        self._hold(query, None, [line], counted=False)

    @_lines.register
    def _text(self, answer: TextAnswer) -> None:
        self.flush()
        if self._printed is not None:
            self._write("\n")
        self._write(self._paint(printable(answer.query), "query") + "\n")
        for line in answer.text.splitlines():
            self._write(f"  {printable(line)}".rstrip() + "\n")
        self._query, self._printed = None, answer


def _row_line(tick: int, number: int | None, op: str, row: Values, note: Cell | None) -> Line:
    style = _ROW_STYLE.get(op, "plain")
    lead = (_number(tick), Cell("") if number is None else _number(number), Cell(op, _OP_STYLE.get(op, "plain")))
    return Line(lead, _cells(row, style), note)


def _cause(cause: Cause) -> str:
    sure = "" if cause.precision == ROW else f", by its {cause.precision}"
    return f"{printable(cause.stream)} {cause.index} ({cause.op}{sure})"


def _old_line(row: Values, first: bool) -> Line:
    return Line((Cell(""), Cell(""), _WAS if first else Cell("")), _cells(row, "old"))


def _empty_window(answer: WindowAnswer) -> Line:
    lead = (_number(answer.tick), _number(answer.window), Cell(answer.op, _OP_STYLE.get(answer.op, "plain")))
    return Line(lead, note=Cell("no rows", "old"))


def _cells(row: Values, style: str) -> tuple[Cell, ...]:
    return tuple(
        Cell(value_text(value), "null" if value is None and style == "plain" else style, is_number(value))
        for value in row
    )


def _number(value: int) -> Cell:
    return Cell(str(value), right=True)


def _tags_note(tags: tuple[TagView, ...] | None, stix: str | None) -> Cell | None:
    parts = [tag_view_text(tag) for tag in tags or ()]
    if stix is not None:
        parts.append(f"stix {printable(stix)}")
    return Cell(f"# {' · '.join(parts)}", "tag") if parts else None
