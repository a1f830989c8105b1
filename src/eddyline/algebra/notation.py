"""The algebra as the papers write it (`EXPLAIN ALGEBRA`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from eddyline.algebra import (
    first_tags,
    relational,
    remote,
    revision,
    sharing,
    stream,
    tag,
    tag_groups,
    tag_matches,
    window,
)
from eddyline.algebra.expression import Column, Named
from eddyline.algebra.naming import sql_text
from eddyline.algebra.node import Operator, WindowOp

_INDENT = "  "


def notation(plan: Operator) -> str:
    """The whole expression, one operator a line.

    A stream expression stands in `evaluateStream (…)`, one of windows in `evaluateWindow (…)` (SNEEql section 5).
    """
    evaluate = "evaluateWindow" if isinstance(plan, WindowOp) else "evaluateStream"
    return f"{evaluate} (\n{_INDENT}{_text(plan, 1)})"


def _text(node: Operator, depth: int) -> str:
    if isinstance(node, stream.StreamAlias | relational.WindowAlias):
        return _text(node.input, depth)  # a name is no operator of the papers
    margin = "\n" + _INDENT * (depth + 1)
    return operator_text(node) + "".join(f" ({margin}{_text(operator, depth + 1)})" for operator in node.inputs)


def operator_text(node: Operator) -> str:
    """One operator with its arguments, without its inputs."""
    return " ".join((type(node).__name__, *_ARGUMENTS[type(node)](node))).strip()


def predicate_text(expr: Any) -> str:
    """A predicate without the blanks around comparisons, as the papers print it.

    String constants keep theirs.
    """
    parts = re.split(r"('(?:[^'\\]|\\.)*')", sql_text(expr))
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\s*(<=>|<>|<=|>=|!=|=|<|>)\s*", r"\1", parts[i])
        parts[i] = re.sub(r"\b(AND|OR|NOT)\b", lambda match: match[0].lower(), parts[i])
    return "".join(parts)


def _predicate(expr: Any) -> str:
    return f'(Predicate "{predicate_text(expr)}")'


def _tick(ticks: int) -> str:
    return f"(Tick {ticks})" if ticks >= 0 else f"(Tick ({ticks}))"


def _index(rows: int) -> str:
    return f"(Index {rows})" if rows >= 0 else f"(Index ({rows}))"


def _columns(columns: tuple[Named, ...]) -> str:
    return "[" + ", ".join(_column(column) for column in columns) + "]"


def _column(column: Named) -> str:
    text = sql_text(column.expr)
    if isinstance(column.expr, Column) and column.name in (column.expr.name, text):
        return f'Attr "{text}"'
    return f'Attr "{text}"' if column.name == text.lower() else f'Attr "{text} as {column.name}"'


def _listed(columns: tuple[Named, ...]) -> str:
    return "[" + ", ".join(_column(column).removeprefix("Attr ") for column in columns) + "]"


def _sort(node: relational.WindowSort) -> tuple[str, ...]:
    keys = ", ".join(f'"{sql_text(key.expr)}{" desc" if key.descending else ""}"' for key in node.keys)
    limit = () if node.limit is None else (f"(Limit {node.limit})",)
    offset = () if not node.offset else (f"(Offset {node.offset})",)
    return (f"[{keys}]", *limit, *offset)


def _optional(value: int | None, name: str) -> str:
    return f"({name} {value})" if value is not None else f"({name} Unbounded)"


def _tagger(node: tag.Tagger) -> tuple[str, ...]:
    spec = node.tag
    where = () if spec.attributes is None else (f"[{', '.join(spec.attributes)}]{'.value' if spec.by_value else ''}",)
    lifespan = "Instant" if spec.lifespan is None else str(spec.lifespan)
    fields = f'(Tag "{spec.content}" {spec.sign or "neutral"} {lifespan} {spec.mode})'
    condition = () if node.condition is None else (_predicate(node.condition),)
    return (fields, *where, *condition, "continuously" if node.continuous else "once")


def _tag_predicate(predicate: tag.TagPredicate) -> tuple[str, ...]:
    values = ".value" if predicate.by_value else ""
    objects = () if not predicate.attributes else (f"[{', '.join(predicate.attributes)}]{values}",)
    objects = ("[whole tuples]", *objects) if predicate.whole else objects
    return (*objects, *(() if predicate.where is None else (_predicate(predicate.where),)))


def _function(function: tag.TagFunction) -> str:
    return f"({function.name} {function.threshold:g})" if function.threshold else function.name


_ARGUMENTS: dict[type[Operator], Callable[[Any], tuple[str, ...]]] = {
    stream.StreamAcquire: lambda n: (
        f'"{n.name}"',
        *(() if n.interval is None else (_tick(n.interval), "[" + ",".join(map(str, n.sites)) + "]")),
    ),
    stream.StreamReceive: lambda n: (f'"{n.name}"',),
    stream.StreamSelect: lambda n: (_predicate(n.predicate),),
    stream.StreamProject: lambda n: (_columns(n.columns),),
    stream.StreamLookup: lambda n: () if n.predicate is None else (_predicate(n.predicate),),
    stream.RStream: lambda n: (),
    stream.IStream: lambda n: (),
    stream.DStream: lambda n: (),
    window.OneRow: lambda n: (),
    window.Scan: lambda n: (*(() if n.interval is None else (_tick(n.interval),)), f'"{n.table}"'),
    remote.Remote: lambda n: (f'"{n.table}"', f'"{n.key}"'),
    window.TimeWindow: lambda n: (
        f"(TimeScope {_tick(n.scope.start)} {_tick(n.scope.end)})",
        _tick(n.slide),
    ),
    window.RowWindow: lambda n: (
        f"(RowScope {_index(n.scope.start)} {_index(n.scope.end)})",
        _index(n.slide),
    ),
    window.RangeWindow: lambda n: (
        _optional(n.range, "Range"),
        *(() if n.slide is None else (_tick(n.slide),)),
    ),
    window.LatestRowsWindow: lambda n: (
        f"(Rows {n.rows})",
        *(() if not n.partition else ("[" + ", ".join(c.label for c in n.partition) + "]",)),
    ),
    window.LoopWindow: lambda n: (
        f"(t = {sql_text(n.loop.initial)}; {'' if n.loop.condition is None else predicate_text(n.loop.condition)}; "
        f"t = {sql_text(n.loop.change)})",
        f"({sql_text(n.left)}) ({sql_text(n.right)})",
    ),
    window.HopWindow: lambda n: (
        f"(Range {n.range})",
        f"(Slide {n.slide})",
        *(() if n.start is None else (f"(Start {n.start})",)),
    ),
    relational.WindowSelect: lambda n: (_predicate(n.predicate),),
    relational.WindowProject: lambda n: (_columns(n.columns),),
    relational.WindowAggregation: lambda n: (*((_listed(n.keys),) if n.keys else ()), _listed(n.aggregates)),
    relational.WindowCrossProduct: lambda n: (),
    relational.WindowJoin: lambda n: (
        *(() if n.kind == "INNER" else (n.kind.lower(),)),
        _predicate(n.predicate),
    ),
    relational.WindowDistinct: lambda n: (),
    relational.WindowSort: _sort,
    relational.Instants: lambda n: (),
    relational.RelationChanges: lambda n: (),
    revision.StreamRevise: lambda n: (f'(Predicate "{n.revise.text}")',),
    revision.WindowRevise: lambda n: (f'(Predicate "{n.revise.text}")',),
    sharing.StreamMatch: lambda n: (f"(Forms {len(n.forms)})",),
    sharing.WindowMatch: lambda n: (f"(Forms {len(n.forms)})",),
    sharing.MemberWindow: lambda n: (
        f"(TimeScope {_tick(n.scope.start)} {_tick(n.scope.end)})",
        _tick(n.slide),
        f"(Unit {n.unit})",
    ),
    sharing.LastNumbers: lambda n: (),
    tag.Tagger: _tagger,
    tag.TagSelection: lambda n: _tag_predicate(n.predicate),
    tag.TagHistory: lambda n: (),
    tag.TaggedObjectSelection: lambda n: (*_tag_predicate(n.predicate), *(("with tags",) if n.with_tags else ())),
    tag.TagJoin: lambda n: (_function(n.function), _tick(n.left_range), _tick(n.right_range)),
    tag.TagAggregation: lambda n: (_function(n.function), _listed(n.aggregates)),
    tag_groups.WindowTagGroups: lambda n: (),
    tag_matches.TagMatches: lambda n: (_tick(n.left_range), _tick(n.right_range)),
    first_tags.FirstTags: lambda n: (),
    tag_groups.Everything: lambda n: (),
    tag_groups.RunningGroups: lambda n: (),
    tag.WindowTagAggregation: lambda n: (_function(n.function), _listed(n.aggregates)),
}
