"""How a line of a table is laid out: in columns, or folded where the columns do not fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.cells import cell_len

_GAP = "  "
_NARROWEST = 20  # the terminal may be narrower; then it folds the lines itself


@dataclass(frozen=True)
class Cell:
    text: str
    style: str = "plain"
    right: bool = False  # numbers stand to the right


@dataclass
class Line:
    """One line: tick, number and op; then the columns of the query; then a note of any length."""

    lead: tuple[Cell, Cell, Cell]
    cells: tuple[Cell, ...] = ()
    note: Cell | None = None
    counted: bool = True  # whether it is a row of the query


@dataclass
class Widths:
    """The columns of one query's table, which only ever grow."""

    number: str | None
    columns: tuple[str, ...]
    fold: bool = False
    lead: list[int] = field(init=False)
    cells: list[int] = field(init=False)
    right: list[bool | None] = field(init=False)  # None until a value has shown which
    note: int = 0

    def __post_init__(self) -> None:
        self.lead = [len("tick"), len(self.number or ""), len("was")]
        self.cells = [cell_len(column) for column in self.columns]
        self.right = [None] * len(self.columns)

    def widen(self, lines: Iterable[Line]) -> None:
        for line in lines:
            for position, cell in enumerate(line.lead):
                self.lead[position] = max(self.lead[position], cell_len(cell.text))
            for position, cell in enumerate(line.cells):
                self.cells[position] = max(self.cells[position], cell_len(cell.text))
                if self.right[position] is None and cell.style != "null":
                    self.right[position] = cell.right

    @property
    def indent(self) -> int:
        """Where the columns of the query begin."""
        return sum(width + len(_GAP) for width in self.lead if width)

    @property
    def total(self) -> int:
        return self.indent + sum(self.cells) + len(_GAP) * (len(self.cells) - 1)

    def snapshot(self) -> tuple[object, ...]:
        """Equal as long as lines stand under the same header."""
        return (self.fold, *self.lead, *(() if self.fold else self.cells))


def header(widths: Widths) -> list[Cell]:
    names = [
        _fitted(Cell(name, right=True), width)
        for name, width in zip(("tick", widths.number or "", ""), widths.lead, strict=True)
    ]
    if not widths.fold:
        names += [
            _fitted(Cell(name, right=bool(right)), width)
            for name, right, width in zip(widths.columns, widths.right, widths.cells, strict=True)
        ]
    return _joined(names)


def laid_out(line: Line, widths: Widths, room: int | None) -> list[list[Cell]]:
    """The line in columns or folded, as the table is; a note that does not fit goes below. No `room`: no limit."""
    lines = [_lead(line, widths)]
    flow = _Flow(lines, widths.indent, None if room is None else max(_NARROWEST, room - widths.indent))
    if widths.fold:
        for name, cell in zip(widths.columns, line.cells, strict=False):
            flow.add(Cell(f"{name}=", "old"), cell)
    elif line.cells:
        flow.add(*_joined([_in_column(cell, widths, position) for position, cell in enumerate(line.cells)]))
    if line.note is not None:
        flow.add(line.note)
    return lines


def _in_column(cell: Cell, widths: Widths, position: int) -> Cell:
    # NULL is no number, but stands where the numbers of its column stand.
    right = cell.right or bool(widths.right[position])
    return _fitted(Cell(cell.text, cell.style, right), widths.cells[position])


class _Flow:
    """Puts things one after the other into a space, going to a new line where the next does not fit."""

    def __init__(self, lines: list[list[Cell]], indent: int, width: int | None) -> None:
        self._lines = lines
        self._indent = Cell(" " * indent)
        self._width = width
        self._used = 0

    def add(self, *cells: Cell) -> None:
        """Cells that stay together if there is room for them in one line."""
        length = sum(cell_len(cell.text) for cell in cells)
        if self._used and self._width is not None and self._used + len(_GAP) + length > self._width:
            self._break()
        elif self._used:
            self._put(Cell(_GAP))
        for cell in cells:
            self._add_whole(cell)

    def _add_whole(self, cell: Cell) -> None:
        text = cell.text
        while self._width is not None and cell_len(text) > self._width - self._used:
            head = _cut(text, self._width - self._used)
            if head:
                self._put(Cell(head, cell.style))
                text = text[len(head) :]
            self._break()
        self._put(Cell(text, cell.style))

    def _put(self, cell: Cell) -> None:
        self._lines[-1].append(cell)
        self._used += cell_len(cell.text)

    def _break(self) -> None:
        self._lines.append([self._indent])
        self._used = 0


def _cut(text: str, width: int) -> str:
    """As much of the text as fits, up to the end of a word if that does not waste half the line."""
    head = text[:width]
    while cell_len(head) > width:
        head = head[:-1]
    word_end = head.rfind(" ") + 1
    return head[:word_end] if word_end > width // 2 else head


def _lead(line: Line, widths: Widths) -> list[Cell]:
    fitted = [_fitted(cell, width) for cell, width in zip(line.lead, widths.lead, strict=True)]
    return [*_joined(fitted), Cell(_GAP)]


def _fitted(cell: Cell, width: int) -> Cell:
    padding = " " * (width - cell_len(cell.text))
    return Cell(padding + cell.text if cell.right else cell.text + padding, cell.style, cell.right)


def _joined(cells: list[Cell]) -> list[Cell]:
    """With a gap between; a column without width (there is no number) leaves none."""
    joined: list[Cell] = []
    for cell in cells:
        if cell.text:
            joined += [Cell(_GAP), cell] if joined else [cell]
    return joined
