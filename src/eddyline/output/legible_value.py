"""Values and tags as a person reads them."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from eddyline.algebra.answer import TagView
from eddyline.algebra.tag import COMBINE, Applicability, TickTag
from eddyline.output.json_value import float_text, interval_text, json_text, timestamp_text

NULL = "NULL"


def value_text(value: Any) -> str:
    """One value in one line, with nothing in it that a terminal would obey.

    >>> value_text("two" + chr(10) + "lines")
    'two\\\\nlines'
    """
    if value is None:
        return NULL
    if isinstance(value, str):
        return printable(value) or "''"
    if isinstance(value, float):
        return float_text(value) or repr(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return timestamp_text(value)
    if isinstance(value, timedelta):
        return interval_text(value)
    if isinstance(value, bool | tuple | list | dict):
        return printable(json_text(value))
    return str(value)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def tick_tag_text(tag: TickTag) -> str:
    """A tick-tag on its own: what, on what, for how long, by whom."""
    lifespan = "instant" if tag.lifespan is None else f"{tag.lifespan} tick{'s' if tag.lifespan != 1 else ''}"
    mode = "combines" if tag.mode == COMBINE else "overwrites"
    label, tagger = printable(_signed(tag.content, tag.sign)), printable(tag.tagger)
    return f"{label} on {printable(_objects(tag.applies_to))}, {lifespan}, {mode}, {tag.type}, by {tagger}"


def tag_view_text(tag: TagView) -> str:
    """A tag beside the row that carries it."""
    label = _signed(tag.content, tag.sign)
    return printable(f"{label} on {', '.join(tag.attributes)}" if tag.attributes else label)


def _signed(content: str, sign: str | None) -> str:
    return content if sign is None else f"{content} ({sign})"


def _objects(objects: Applicability) -> str:
    names = list(objects.attributes or ())
    if objects.attribute_pattern is not None:
        names.append(f"/{objects.attribute_pattern}/")
    text = objects.stream
    if names:
        text += "." + (names[0] if len(names) == 1 else f"({', '.join(names)})")
    if objects.by_value:
        text += ".value"
    if objects.values is not None:
        text += f" matching /{objects.values}/"
    if objects.tuples is not None:
        text += f", tuple{'s' if len(objects.tuples) != 1 else ''} {', '.join(map(str, objects.tuples))}"
    return text
