"""Each window as a relation: selection, projection, aggregation, distinct, order (SNEEql section 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cmp_to_key
from typing import Any

from eddyline.algebra.expression import Aggregate, Expr, Literal, columns_of
from eddyline.algebra.node import WINDOW, WTIME
from eddyline.algebra.relational import WindowAggregation, WindowDistinct, WindowProject, WindowSelect, WindowSort
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT
from eddyline.reference.aggregate import compile_aggregate
from eddyline.reference.bag import same_rows
from eddyline.reference.element import Mark, Row, Values, Window, WindowChange, WindowElement
from eddyline.reference.expression import compile_expression, compile_predicate
from eddyline.reference.marks import group_marks, project_marks, tag_count, tag_score
from eddyline.reference.value import less, row_key


def each_window(
    elements: Iterator[WindowElement], function: Callable[[Window], tuple[Row, ...]]
) -> Iterator[WindowElement]:
    """Apply a function to every window alone; a revision that makes no difference any more ends here."""
    for element in elements:
        if not isinstance(element, WindowChange):
            yield element
            continue
        old = None if element.old is None else element.old._replace(rows=function(element.old))
        new = None if element.new is None else element.new._replace(rows=function(element.new))
        unchanged = old is not None and new is not None and old.tick == new.tick and same_rows(old.rows, new.rows)
        if not unchanged:
            yield replace(element, old=old, new=new)


def within(schema: Schema) -> Schema:
    """What an expression over a window's tuple can read: the tuple, and the window's own time behind it."""
    return schema + Schema((Field(WTIME, BIGINT, WINDOW),))


def reads(expr: Expr, schema: Schema) -> frozenset[int]:
    """The fields of the input that an expression uses: where its tags come from."""
    return frozenset(schema.position(c.name, c.relation) for c in columns_of(expr) if c.relation != WINDOW)


def select(node: WindowSelect, elements: Iterator[WindowElement]) -> Iterator[WindowElement]:
    satisfies = compile_predicate(node.predicate, within(node.input.schema))
    return each_window(
        elements, lambda window: tuple(row for row in window.rows if satisfies((*row.values, window.tick)))
    )


def project(node: WindowProject, elements: Iterator[WindowElement]) -> Iterator[WindowElement]:
    schema = within(node.input.schema)
    compute = [compile_expression(column.expr, schema) for column in node.columns]
    used = [reads(column.expr, node.input.schema) for column in node.columns]

    def projected(window: Window) -> tuple[Row, ...]:
        return tuple(
            Row(
                tuple(function((*row.values, window.tick)) for function in compute),
                project_marks(row.marks, used) if row.marks else (),
            )
            for row in window.rows
        )

    return each_window(elements, projected)


def aggregate(node: WindowAggregation, elements: Iterator[WindowElement]) -> Iterator[WindowElement]:
    """One tuple per group; without keys one group, also in an empty window. Its tags are those of its tuples."""
    schema = within(node.input.schema)
    keys = [compile_expression(key.expr, schema) for key in node.keys]
    used = [reads(column.expr, node.input.schema) for column in (*node.keys, *node.aggregates)]
    compute = [aggregate_function(column.expr, schema) for column in node.aggregates]

    def grouped(window: Window) -> tuple[Row, ...]:
        groups: dict[Hashable, tuple[Values, list[Row]]] = {}
        if not keys:
            groups[()] = ((), [])
        for row in window.rows:
            seen = row._replace(values=(*row.values, window.tick))
            key = tuple(function(seen.values) for function in keys)
            groups.setdefault(row_key(key), (key, []))[1].append(seen)
        return tuple(
            Row(key + tuple(function(rows) for function in compute), _group_marks(rows, used))
            for key, rows in groups.values()
        )

    return each_window(elements, grouped)


def _group_marks(rows: Sequence[Row], used: Sequence[frozenset[int]]) -> tuple[Mark, ...]:
    return group_marks([row.marks for row in rows], used) if any(row.marks for row in rows) else ()


def aggregate_function(expr: Expr, schema: Schema) -> Callable[[Sequence[Row]], Any]:
    assert isinstance(expr, Aggregate)
    if expr.function == "tag_count":
        sign = expr.arguments[0].value if expr.arguments and isinstance(expr.arguments[0], Literal) else None
        field = min(reads(expr, schema), default=None)
        return lambda rows: tag_count(rows, sign, field)
    if expr.function == "tag_score":
        field = min(reads(expr, schema), default=None)
        return lambda rows: tag_score(rows, field)
    over_values = compile_aggregate(expr, schema)
    return lambda rows: over_values([row.values for row in rows])


def distinct(node: WindowDistinct, elements: Iterator[WindowElement]) -> Iterator[WindowElement]:
    """One of each tuple, with the tags of all its copies."""

    def once(window: Window) -> tuple[Row, ...]:
        copies: dict[Hashable, list[Row]] = {}
        for row in window.rows:
            copies.setdefault(row_key(row.values), []).append(row)
        return tuple(Row(rows[0].values, _all_marks(rows)) for rows in copies.values())

    return each_window(elements, once)


def _all_marks(rows: Sequence[Row]) -> tuple[Mark, ...]:
    return tuple(dict.fromkeys(mark for row in rows for mark in row.marks))


def sort(node: WindowSort, elements: Iterator[WindowElement]) -> Iterator[WindowElement]:
    schema = within(node.input.schema)
    compute = [compile_expression(key.expr, schema) for key in node.keys]

    def compare(left: Values, right: Values) -> int:
        for key, function in zip(node.keys, compute, strict=True):
            a, b = function(left), function(right)
            if a is None or b is None:
                if a is b:
                    continue
                return -1 if (a is None) == key.nulls_first else 1
            if less(a, b) or less(b, a):
                return -1 if less(a, b) != key.descending else 1
        # the rest of the tuple decides ties, so that LIMIT takes the same tuples whatever the order of arrival
        return _compare_all(left, right)

    def sorted_rows(window: Window) -> tuple[Row, ...]:
        def by_keys(left: Row, right: Row) -> int:
            return compare((*left.values, window.tick), (*right.values, window.tick))

        rows = sorted(window.rows, key=cmp_to_key(by_keys))
        return tuple(rows[node.offset : None if node.limit is None else node.offset + node.limit])

    return each_window(elements, sorted_rows)


def _compare_all(left: Values, right: Values) -> int:
    for a, b in zip(left, right, strict=True):
        if a is None or b is None:
            if a is not b:
                return -1 if a is None else 1
            continue
        if less(a, b) or less(b, a):
            return -1 if less(a, b) else 1
    return 0
