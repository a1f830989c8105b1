"""Where a piece of syntax stands in the text."""

from __future__ import annotations

from sqlglot import exp

from eddyline.errors import Position


def position_of(node: exp.Expr) -> Position | None:
    """The stretch of text from the first to the last token below `node` that knows its place.

    sqlglot notes places on names, numbers and strings only; what has none of these (NULL, TRUE) is shown at the place
    of the expression around it.
    """
    current: exp.Expr | None = node
    while current is not None:
        found = _span(current)
        if found is not None:
            return found
        current = current.parent
    return None


def _span(node: exp.Expr) -> Position | None:
    spans = [part.meta for part in node.walk() if "start" in part.meta and "end" in part.meta]
    if not spans:
        return None
    return Position(min(meta["start"] for meta in spans), max(meta["end"] for meta in spans) + 1)
