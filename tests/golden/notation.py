"""The notation of answers in a script: one `Line` for each answer, read from text or made from an engine's answer.

Values are kept as their JSON text, so that 1, 1.0 and true differ although Python finds them equal.
Rows of a window and tags of a row are bags: they are kept sorted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from eddyline.algebra.answer import (
    Answer,
    RelationAnswer,
    StixAnswer,
    TagAnswer,
    TagView,
    TupleAnswer,
    WindowAnswer,
)
from eddyline.algebra.tag import TickTag

TUPLE, WINDOW, RELATION, TAG, STIX = "tuple", "window", "relation", "tag", "stix"


class BadNotation(ValueError):
    """A line that is not in the notation; the message says what was expected."""


@dataclass(frozen=True, order=True)
class Row:
    """The columns of a row in order, each value as JSON text; the printed tags (None: not WITH TAGS) and stix."""

    columns: tuple[tuple[str, str], ...]
    tags: tuple[str, ...] | None = None
    stix: str | None = None

    def __str__(self) -> str:
        text = ", ".join(f"{name}={value}" for name, value in self.columns)
        if self.tags is not None:
            text += "  tags: " + " ".join(self.tags) if self.tags else "  tags:"
        return text if self.stix is None else f"{text}  stix: {self.stix}"

    @property
    def bare(self) -> Row:
        return Row(self.columns)


def _order(row: Row) -> tuple[Any, ...]:
    return row.columns, row.tags or (), row.stix or ""


def bag(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=_order))


@dataclass(frozen=True)
class Line:
    """One answer. `number` is a tuple's index or a window's number; `rows` has one row except for windows."""

    kind: str
    tick: int
    number: int | None = None
    op: str = ""
    rows: tuple[Row, ...] = ()
    old: tuple[Row, ...] | None = None
    old_tick: int | None = None
    text: str = ""  # of a stix
    tag: tuple[tuple[str, str], ...] = ()  # the fields of a tick-tag, content and sign first

    def __str__(self) -> str:
        if self.kind == STIX:
            return f"{self.tick:<6} stix    {self.text}"
        if self.kind == TAG:
            (_, content), (_, sign), *rest = self.tag
            fields = ", ".join(f"{key}={value}" for key, value in rest)
            return f"{self.tick:<6} #       {content} {_sign(json.loads(sign))} {fields}".rstrip()
        mark = {TUPLE: "#", WINDOW: "w", RELATION: ""}[self.kind]
        name = mark if self.number is None else f"{mark}{self.number}"
        body = self._side(self.rows) if self.old is None else f"{self._side(self.old)} -> {self._side(self.rows)}"
        moved = "" if self.old_tick is None else f"  moved from {self.old_tick}"
        return f"{self.tick:<6} {name:<5} {self.op} {body}{moved}"

    def _side(self, rows: tuple[Row, ...]) -> str:
        if self.kind != WINDOW:
            return " ".join(map(str, rows))
        return " ".join(f"({row})" for row in rows) or "()"


def _sign(sign: str | None) -> str:
    return f"({sign or ''})"


# -- reading ----------------------------------------------------------------------------------------------------------

_NUMBERED = re.compile(r"([#w])(\d+)\s+([-+=])(?:\s+|$)")
_RELATION = re.compile(r"([-+])\s+")
_TAG_START = re.compile(r'#\s+(?=")')
_STIX = r"\([\d:,\-]+\)\d+(?:\|\([\d:,\-]+\)\d+)*"
_NAME = re.compile(r"[^=]*?(?=\s*=)")
_END = re.compile(r"$|->|\)|tags:|stix:|moved from")
_DECODER = json.JSONDecoder()


class _Cursor:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        self.skip()
        found = re.compile(pattern).match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def sees(self, pattern: str | re.Pattern[str]) -> bool:
        self.skip()
        return re.compile(pattern).match(self.text, self.at) is not None

    def need(self, pattern: str | re.Pattern[str], what: str) -> re.Match[str]:
        found = self.take(pattern)
        if found is None:
            raise BadNotation(f"expected {what} at {self.text[self.at :]!r}")
        return found

    def value(self) -> str:
        self.skip()
        try:
            value, self.at = _DECODER.raw_decode(self.text, self.at)
        except ValueError:
            raise BadNotation(f"expected a JSON value at {self.text[self.at :]!r}") from None
        return canonical(value)


def read_line(text: str) -> Line:
    cursor = _Cursor(text)
    tick = int(cursor.need(r"-?\d+(?=\s)", "a tick")[0])
    if cursor.take(r"stix\s"):
        line = Line(STIX, tick, text=cursor.need(_STIX, "a stix")[0])
    elif cursor.take(_TAG_START):
        line = Line(TAG, tick, tag=_read_tag(cursor))
    elif found := cursor.take(_NUMBERED):
        line = _read_numbered(cursor, tick, found)
    elif found := cursor.take(_RELATION):
        line = Line(RELATION, tick, op=found[1], rows=(_read_row(cursor),))
    else:
        raise BadNotation(f"expected #n, wn, +, -, # or stix at {cursor.text[cursor.at :]!r}")
    cursor.need(r"$", "the end of the line")
    return line


def _read_numbered(cursor: _Cursor, tick: int, found: re.Match[str]) -> Line:
    kind, number, op = (TUPLE if found[1] == "#" else WINDOW), int(found[2]), found[3]
    side = _read_rows if kind == WINDOW else lambda c: (_read_row(c),)
    rows, old = side(cursor), None
    if op == "=":
        cursor.need("->", "-> and the new version")
        old, rows = tuple(row.bare for row in rows), side(cursor)
    moved = cursor.take(r"moved from (-?\d+)")
    return Line(kind, tick, number, op, rows, old, int(moved[1]) if moved else None)


def _read_rows(cursor: _Cursor) -> tuple[Row, ...]:
    if cursor.take(r"\(\s*\)"):
        return ()
    rows = []
    while cursor.take(r"\("):
        rows.append(_read_row(cursor))
        cursor.need(r"\)", ") after the row")
    if not rows:
        raise BadNotation(f"expected (a row) or () at {cursor.text[cursor.at :]!r}")
    return bag(rows)


def _read_row(cursor: _Cursor) -> Row:
    columns = _read_pairs(cursor)
    if not columns:
        raise BadNotation(f"expected column=value at {cursor.text[cursor.at :]!r}")
    tags: tuple[str, ...] | None = None
    if cursor.take("tags:"):
        found = []
        while cursor.sees('"'):
            content, sign = cursor.value(), cursor.need(r"\(([-+]?)\)", "(+), (-) or ()")[1]
            attributes = cursor.take(r"\[([^\]]*)\]")
            names = tuple(name.strip() for name in attributes[1].split(",")) if attributes else ()
            found.append(_tag_text(content, sign, names))
        tags = tuple(sorted(found))
    stix = cursor.need(_STIX, "a stix")[0] if cursor.take("stix:") else None
    return Row(columns, tags, stix)


def _read_pairs(cursor: _Cursor) -> tuple[tuple[str, str], ...]:
    pairs = []
    while not cursor.sees(_END):
        name = cursor.need(_NAME, "column=value")[0].strip()
        cursor.need("=", "=")
        pairs.append((name, cursor.value()))
        if not cursor.take(","):
            break
    return tuple(pairs)


def _tag_text(content: str, sign: str | None, attributes: Sequence[str]) -> str:
    names = f"[{', '.join(attributes)}]" if attributes else ""
    return f"{content}{_sign(sign)}{names}"


def _read_tag(cursor: _Cursor) -> tuple[tuple[str, str], ...]:
    content = cursor.value()
    sign = cursor.need(r"\(([-+]?)\)", "(+), (-) or ()")[1]
    return (("content", content), ("sign", canonical(sign or None)), *_read_pairs(cursor))


# -- from an engine ---------------------------------------------------------------------------------------------------


def canonical(value: Any) -> str:
    """A value as JSON text."""
    if isinstance(value, Decimal):
        value = float(value)
    return json.dumps(value, ensure_ascii=False, default=str)  # dates, timestamps and intervals as Python prints them


def line_of(answer: Answer, columns: Sequence[str], tag_fields: Sequence[str] = ()) -> Line:
    """An engine's answer as a line; of a tick-tag only the named fields are kept, beside content and sign."""
    if isinstance(answer, TupleAnswer):
        row = _row(columns, answer.row, answer.tags, answer.stix)
        old = None if answer.old is None else (_row(columns, answer.old),)
        return Line(TUPLE, answer.tick, answer.index, answer.op, (row,), old)
    if isinstance(answer, WindowAnswer):
        return _window_line(answer, columns)
    if isinstance(answer, RelationAnswer):
        return Line(RELATION, answer.tick, op=answer.op, rows=(_row(columns, answer.row, answer.tags),))
    if isinstance(answer, TagAnswer):
        known = _fields_of(answer.tag)
        return Line(TAG, answer.tick, tag=tuple((key, known[key]) for key in ("content", "sign", *tag_fields)))
    if isinstance(answer, StixAnswer):
        return Line(STIX, answer.tick, text=answer.stix)
    raise TypeError(f"no line for {answer}")


def _window_line(answer: WindowAnswer, columns: Sequence[str]) -> Line:
    shown = answer.old_rows if answer.op == "-" and answer.old_rows is not None else answer.rows
    tags = answer.tags if answer.tags is not None and answer.op != "-" else [None] * len(shown)
    stix = answer.stix if answer.stix is not None and answer.op != "-" else [None] * len(shown)
    rows = bag(_row(columns, *parts) for parts in zip(shown, tags, stix, strict=True))
    old = None
    if answer.op == "=":
        old = bag(_row(columns, row) for row in answer.old_rows or ())
    return Line(WINDOW, answer.tick, answer.window, answer.op, rows, old, answer.old_tick)


def _row(
    columns: Sequence[str], values: Sequence[Any], tags: Sequence[TagView] | None = None, stix: str | None = None
) -> Row:
    named = tuple((name, canonical(value)) for name, value in zip(columns, values, strict=True))
    shown = None if tags is None else tuple(sorted(_tag_text(canonical(t.content), t.sign, t.attributes) for t in tags))
    return Row(named, shown, stix)


def _fields_of(tag: TickTag) -> Mapping[str, str]:
    applies = tag.applies_to
    return {
        "content": canonical(tag.content),
        "sign": canonical(tag.sign),
        "type": canonical(tag.type),
        "lifespan": canonical(tag.lifespan),
        "mode": canonical(tag.mode),
        "tagger": canonical(tag.tagger),
        "timestamp": canonical(tag.timestamp),
        "stream": canonical(applies.stream),
        "tuples": canonical(applies.tuples),
        "attributes": canonical(applies.attributes),
        "by_value": canonical(applies.by_value),
        "values": canonical(applies.values),
    }
