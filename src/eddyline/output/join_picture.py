"""A picture of join trees: a box for each input and each join, with its amounts, and bars for its share of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import ImageDraw

from eddyline.algebra.join_drawing import DrawnJoin, DrawnNode
from eddyline.output.canvas import PALE, SMOOTH, Canvas, font_for

_MARGIN, _GAP = 40 * SMOOTH, 22 * SMOOTH
_BETWEEN = 70 * SMOOTH  # the room for the lines from a node to its children
_INSIDE, _LINE = 14 * SMOOTH, 22 * SMOOTH
_LARGE, _SMALL = 20 * SMOOTH, 15 * SMOOTH
_WIDEST = 250 * SMOOTH  # longer texts are broken
_BAR = 9 * SMOOTH
_INK, _WARNING = "#1f2937", "#c8402f"
_BOXES = {"input": "#eef2f7", "state": "#fdf3dc", "join": "#e6f4ec"}
_CPU, _MEMORY, _EMPTY = "#c8702f", "#2f5d9e", "#dfe3e8"


@dataclass(frozen=True)
class Box:
    """A node with its lines of text, where it stands, and the boxes of its children."""

    node: DrawnNode
    lines: tuple[str, ...]
    left: float
    top: float
    width: float
    height: float
    children: tuple[Box, ...]

    @property
    def middle(self) -> float:
        return self.left + self.width / 2

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def walk(self) -> Iterator[Box]:
        yield self
        for child in self.children:
            yield from child.walk()


def draw(joins: Sequence[DrawnJoin], path: Path) -> None:
    """Write a picture with all of the joins, of which there is at least one, one below the other."""
    placed = []
    y = float(_MARGIN)
    for join in joins:
        notes = [line for note in join.notes for line in _broken(note, _SMALL, 4 * _WIDEST)]
        top = y + _LINE * 1.6 + len(notes) * _LINE + _GAP
        root = layout(join.root, _MARGIN, top)
        placed.append((join, notes, y, root))
        y = max(box.bottom for box in root.walk()) + 2 * _MARGIN
    widths = [max(box.left + box.width for box in root.walk()) for *_, root in placed]
    widths += [_MARGIN + _length(line, size) for join, notes, *_ in placed for line, size in _heading(join, notes)]
    width, height = max(*widths, 700 * SMOOTH) + _MARGIN, y + _LINE
    canvas = Canvas(width, height)
    for join, notes, at, root in placed:
        for number, (line, size) in enumerate(_heading(join, notes)):
            colour = _INK if number == 0 else PALE if join.fits or number > 1 else _WARNING
            place = (_MARGIN, at + (number and _LINE * 0.6) + number * _LINE)
            canvas.pen.text(place, line, font=font_for(line, size), fill=colour)
        _draw_tree(canvas.pen, root)
    _draw_legend(canvas.pen, height - _MARGIN)
    canvas.save(path)


def layout(node: DrawnNode, left: float, top: float) -> Box:
    """A node over its children, which stand side by side; none over another."""
    lines = tuple(_lines(node))
    width = max(_length(line, _LARGE if at == 0 else _SMALL) for at, line in enumerate(lines)) + 2 * _INSIDE
    height = len(lines) * _LINE + 2 * _INSIDE + (2 * _BAR + _INSIDE if node.cpu else 0)
    children: list[Box] = []
    x = left
    for child in node.children:
        box = layout(child, x, top + height + _BETWEEN)
        children.append(box)
        x = max(one.left + one.width for one in box.walk()) + _GAP
    if not children:
        return Box(node, lines, left, top, width, height, ())
    middle = (children[0].middle + children[-1].middle) / 2
    return Box(node, lines, max(left, middle - width / 2), top, width, height, tuple(children))


def _lines(node: DrawnNode) -> Iterator[str]:
    yield from _broken(node.name, _LARGE, _WIDEST)
    yield f"{node.rate} tuples/s"
    if node.state:
        yield f"{node.state} stored, {node.memory}"
    if node.cpu:
        yield f"{node.cpu} cpu"
    if node.probes:
        yield from _broken(f"probes {', '.join(node.probes)}", _SMALL, _WIDEST)


def _heading(join: DrawnJoin, notes: Sequence[str]) -> Iterator[tuple[str, int]]:
    yield join.title, _LARGE
    yield from ((note, _SMALL) for note in notes)


def _draw_tree(pen: ImageDraw.ImageDraw, root: Box) -> None:
    for box in root.walk():
        for child in box.children:
            turn = child.top - _BETWEEN / 2
            way = [(box.middle, box.bottom), (box.middle, turn), (child.middle, turn), (child.middle, child.top)]
            pen.line(way, fill=PALE, width=2 * SMOOTH)
    for box in root.walk():
        _draw_box(pen, box, "join" if box is root else "state" if box.children else "input")


def _draw_box(pen: ImageDraw.ImageDraw, box: Box, kind: str) -> None:
    corners = (box.left, box.top, box.left + box.width, box.bottom)
    pen.rounded_rectangle(corners, 8 * SMOOTH, fill=_BOXES[kind], outline=PALE, width=SMOOTH)
    for at, line in enumerate(box.lines):
        size, colour = (_LARGE, _INK) if at == 0 else (_SMALL, PALE)
        pen.text((box.left + _INSIDE, box.top + _INSIDE + at * _LINE), line, font=font_for(line, size), fill=colour)
    if box.node.cpu:
        for at, (share, colour) in enumerate(zip(box.node.shares, (_CPU, _MEMORY), strict=True)):
            _draw_bar(pen, box, box.bottom - _INSIDE - (2 - at) * _BAR, share, colour)


def _draw_bar(pen: ImageDraw.ImageDraw, box: Box, top: float, share: float, colour: str) -> None:
    left, right = box.left + _INSIDE, box.left + box.width - _INSIDE
    bottom = top + _BAR - 2 * SMOOTH
    pen.rectangle((left, top, right, bottom), fill=_EMPTY)
    if share > 0:
        pen.rectangle((left, top, left + (right - left) * min(1.0, share), bottom), fill=colour)


def _draw_legend(pen: ImageDraw.ImageDraw, middle: float) -> None:
    x = float(_MARGIN)
    square = 14 * SMOOTH
    meanings = {
        _BOXES["input"]: "input",
        _BOXES["state"]: "stored result",
        _BOXES["join"]: "the join",
        _CPU: "share of processor time",
        _MEMORY: "share of memory",
    }
    for colour, meaning in meanings.items():
        pen.rectangle((x, middle - square / 2, x + square, middle + square / 2), fill=colour, outline=PALE)
        pen.text((x + square + _INSIDE / 2, middle), meaning, font=font_for(meaning, _SMALL), fill=PALE, anchor="lm")
        x += square + _INSIDE / 2 + _length(meaning, _SMALL) + _GAP


def _broken(text: str, size: int, widest: float) -> Iterator[str]:
    """A text in lines that are not too wide, cut between words."""
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and _length(longer, size) > widest:
            yield line
            longer = word
        line = longer
    yield line


def _length(text: str, size: int) -> float:
    return font_for(text, size).getlength(text)
