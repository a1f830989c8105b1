"""Windows of rows over TAGS OF: they count indexes, which those of continuous taggers' tags are not made for."""

from __future__ import annotations

from collections.abc import Iterator

from eddyline.algebra.node import Operator
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.algebra.tag import TagHistory
from eddyline.algebra.window import RowWindow
from eddyline.catalog.catalog import BoundQuery, Catalog
from eddyline.errors import NotSupported, Position

_HINT = "use a window of time, or [ROWS n]"


def check_history(query: BoundQuery, catalog: Catalog, position: Position | None) -> None:
    """Raise if a new query counts the rows of TAGS OF a stream that queries tag."""
    standing = (tagger for taggers in catalog.taggers.values() for _, tagger in taggers)
    tagged = {leaf.name for tagger in (*standing, *catalog.ended_taggers) for leaf in _leaves(tagger)}
    for stream in tagged & _counted(query.plan):
        raise NotSupported(f"windows of rows over TAGS OF {stream}, which queries tag", position, _HINT)


def check_tagger(stream: str, catalog: Catalog, position: Position | None) -> None:
    """Raise if a query that stands counts the rows of TAGS OF a stream that is going to be tagged."""
    for name, query in catalog.queries.items():
        if stream in _counted(query.plan):
            reason = f"the query {catalog.names[name]} has windows of rows over TAGS OF {stream}"
            raise NotSupported(f"{reason}, and a query that tags it would give them no meaning", position, _HINT)


def _counted(plan: Operator) -> set[str]:
    """The streams over whose tags there are windows of rows."""
    histories = (
        history
        for window in plan.walk()
        if isinstance(window, RowWindow)
        for history in window.walk()
        if isinstance(history, TagHistory)
    )
    return {leaf.name for history in histories for leaf in _leaves(history)}


def _leaves(plan: Operator) -> Iterator[StreamReceive | StreamAcquire]:
    return (operator for operator in plan.walk() if isinstance(operator, StreamReceive | StreamAcquire))
