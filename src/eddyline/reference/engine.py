"""From a logical plan to a running pipeline of generators.

One function per operator (`_BUILDERS` says which); a pipeline is pulled one batch at a time by `StandingQuery.step`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from eddyline.algebra import relational, revision, stream, tag, window
from eddyline.algebra.node import Operator
from eddyline.algebra.remote import Remote
from eddyline.errors import InvalidAlgebra
from eddyline.reference import convert, product, tag_aggregation, tag_history, tag_join, withholding
from eddyline.reference import relational as per_window
from eddyline.reference import stream as tuples
from eddyline.reference import tag as tags
from eddyline.reference import window as windows
from eddyline.reference.bag import tagged_key
from eddyline.reference.detach import Detach
from eddyline.reference.element import Change, Clock, Stamped, Values
from eddyline.reference.feed import Feed


@dataclass(frozen=True)
class Context:
    """What the leaves of a plan read from, and the tick at which the query starts (None while nothing has come).

    `flushes` tells whether a batch, given by its number, shows what is withheld: by the query itself, or by one that it
    reads.
    """

    feed: Feed
    start: int | None
    table: Callable[[str], Sequence[Values]]
    flushes: Callable[[int, str | None], bool] = lambda number, query: False
    #: the rows that a table gives for a key which is asked for
    answers: Callable[[str, Any], Sequence[Values]] = lambda table, key: ()


Elements = Iterator[Any]


def build(node: Operator, context: Context) -> Elements:
    """The output of an operator, as a generator of elements, with a Clock at the end of every batch."""
    if isinstance(node, revision.StreamRevise) and type(node.input) in _SHARES:
        return _shown_of_windows(node, context)
    builder = _BUILDERS.get(type(node))
    if builder is None:
        raise InvalidAlgebra(f"the reference engine has no {type(node).__name__}")
    return builder(node, context, *(build(operator, context) for operator in node.inputs))


def _scan(node: window.Scan, context: Context) -> Elements:
    clocks = (batch for batch in context.feed.of("") if isinstance(batch, Clock))
    return windows.scan(node, clocks, context.start, lambda: context.table(node.table))


def _one_row(node: window.OneRow, context: Context) -> Elements:
    clocks = (batch for batch in context.feed.of("") if isinstance(batch, Clock))
    return windows.scan(window.Scan("", node.schema), clocks, context.start, lambda: [()])


def _lookup(node: stream.StreamLookup, context: Context, elements: Elements, table: Elements) -> Elements:
    scan = node.table
    if isinstance(scan, Remote):
        return tuples.remote_lookup(node, elements, partial(context.answers, scan.table))
    if not isinstance(scan, window.Scan):
        raise InvalidAlgebra("a stream can be joined with stored tables only")
    return tuples.lookup(node, elements, lambda: context.table(scan.table))


def _to_stream(node: Operator, elements: Elements, **options: Any) -> Elements:
    in_order = isinstance(node.inputs[0], relational.WindowSort)
    return convert.to_stream(elements, _SHARES[type(node)], in_order, **options)


def _shown_windows(node: revision.WindowRevise, context: Context, elements: Elements) -> Elements:
    shown = withholding.windows(node.revise, elements, lambda number: context.flushes(number, None))
    if not isinstance(node.input, relational.WindowSort):
        return shown
    return per_window.sort(replace(node.input, limit=None, offset=0), shown)  # what is shown is in its own order


def _shown_of_windows(node: revision.StreamRevise, context: Context) -> Elements:
    """What a window contributes to a stream is compared with what it has contributed, row by row."""
    (below,) = node.input.inputs
    rows, flushed = withholding.Withholding(node.revise), lambda number: context.flushes(number, node.of)
    return _to_stream(node.input, build(below, context), withholding=rows, flushed=flushed)


_SHARES: dict[type[Operator], convert.Share] = {
    stream.RStream: convert.all_rows,
    stream.IStream: convert.inserted,
    stream.DStream: convert.deleted,
}


_BUILDERS: dict[type[Operator], Callable[..., Elements]] = {
    stream.StreamAcquire: lambda n, c: tuples.receive(n, c.feed),
    stream.StreamReceive: lambda n, c: tuples.receive(n, c.feed),
    stream.StreamSelect: lambda n, c, e: tuples.select(n, e),
    stream.StreamProject: lambda n, c, e: tuples.project(n, e),
    stream.StreamAlias: lambda n, c, e: e,
    stream.StreamLookup: _lookup,
    stream.RStream: lambda n, c, e: _to_stream(n, e),
    stream.IStream: lambda n, c, e: _to_stream(n, e),
    stream.DStream: lambda n, c, e: _to_stream(n, e),
    revision.StreamRevise: lambda n, c, e: withholding.tuples(n.revise, e, lambda number: c.flushes(number, n.of)),
    revision.WindowRevise: _shown_windows,
    window.Scan: _scan,
    window.OneRow: _one_row,
    Remote: lambda n, c: iter(()),
    window.TimeWindow: lambda n, c, e: windows.time_window(n, e, c.start),
    window.RowWindow: lambda n, c, e: windows.row_window(n, e),
    window.RangeWindow: lambda n, c, e: windows.range_window(n, e, c.start),
    window.LatestRowsWindow: lambda n, c, e: windows.latest_rows_window(n, e, c.start),
    window.LoopWindow: lambda n, c, e: windows.loop_window(n, e, c.start),
    window.HopWindow: lambda n, c, e: windows.hop_window(n, e, c.start),
    relational.WindowSelect: lambda n, c, e: per_window.select(n, e),
    relational.WindowProject: lambda n, c, e: per_window.project(n, e),
    relational.WindowAlias: lambda n, c, e: e,
    relational.WindowAggregation: lambda n, c, e: per_window.aggregate(n, e),
    relational.WindowCrossProduct: lambda n, c, left, right: product.cross_product(n, left, right),
    relational.WindowJoin: lambda n, c, left, right: product.join(n, left, right),
    relational.WindowDistinct: lambda n, c, e: per_window.distinct(n, e),
    relational.WindowSort: lambda n, c, e: per_window.sort(n, e),
    relational.Instants: lambda n, c, e: convert.every_tick(e),
    relational.RelationChanges: lambda n, c, e: convert.relation_changes(e),
    # a continuous one stands in the feed, and its stream has its tags, like all others that read the stream
    tag.Tagger: lambda n, c, e: e if n.continuous else tags.tagger(n, e),
    tag.TagSelection: lambda n, c, e: tags.tag_selection(n, e),
    tag.TagHistory: lambda n, c, e: tag_history.tag_history(n, e, c.feed.taggers.of),
    tag.TaggedObjectSelection: lambda n, c, e: tags.tagged_object_selection(n, e),
    tag.TagJoin: lambda n, c, left, right: tag_join.tag_join(n, left, right),
    tag.TagAggregation: lambda n, c, e: tag_aggregation.tag_aggregation(n, e),
    tag.WindowTagAggregation: lambda n, c, e: tag_aggregation.window_tag_aggregation(n, e),
}


class StandingQuery:
    """A plan at work. Each step takes the next batch of the feed and gives what it changes in the answer."""

    def __init__(self, plan: Operator, context: Context) -> None:
        self.plan, self.context = plan, context
        self._elements = build(plan, context)

    def step(self) -> list[Any]:
        changes: list[Any] = []
        for element in self._elements:
            if isinstance(element, Clock):
                break
            if not isinstance(element, Detach):  # what it did has been told as changes
                changes.append(element)
        return _as_one_step(changes)


def _as_one_step(changes: list[Any]) -> list[Any]:
    """A batch is one step: of a tuple that it revises twice, the version in between is not told.

    Where tags are between the tuples, their places count, and everything is told as it came.
    """
    if not all(isinstance(change, Change) for change in changes):
        return changes
    net: dict[int, Change] = {}
    for change in changes:
        earlier = net.pop(change.index, change)
        net[change.index] = Change(change.index, earlier.old, change.new)
    return [change for change in net.values() if not _alike(change.old, change.new)]


def _alike(old: Stamped | None, new: Stamped | None) -> bool:
    if old is None or new is None:
        return old is new
    return old.tick == new.tick and tagged_key(old.row) == tagged_key(new.row)
