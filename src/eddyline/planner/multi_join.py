"""The multi-way joins of a plan of the algebra, as join graphs.

Inner joins, cross products and the selections over them are one join over all of their inputs, however the query has
written them. Everything below is an input: a window over a stream, a table, a sub-query, an outer join, which is
computed as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eddyline.algebra.expression import Call, Expr, TypedExpr, columns_of, conjunction, conjuncts
from eddyline.algebra.node import Operator, WindowOp
from eddyline.algebra.relational import WindowCrossProduct, WindowJoin, WindowSelect
from eddyline.algebra.schema import Schema
from eddyline.algebra.types import BOOLEAN, DOUBLE, FLOAT, INTEGER_BITS, STRING, DataType
from eddyline.planner.conditions import condition, keys, predicates
from eddyline.planner.estimates import Estimate, Estimator
from eddyline.planner.graph import Input, JoinGraph
from eddyline.planner.statistics import Statistics

#: no window is taken for quite empty: its part of a state that is new in a second must be a number
LEAST_SIZE = 1e-6
#: bytes that a value takes, by its type; a text or an array is assumed to be this long
_BYTES = {BOOLEAN: 1, FLOAT: 4, DOUBLE: 8, STRING: 32}
_OTHER_BYTES = {"DECIMAL": 16, "ARRAY": 64}


@dataclass(frozen=True)
class MultiJoin:
    """A join over several inputs: the graph, the operator of each input, and the condition over all of them.

    `assumed` says in words what of the graph is not known.
    """

    graph: JoinGraph
    operators: tuple[Operator, ...]
    condition: TypedExpr | None
    assumed: tuple[str, ...]


def multi_joins(plan: Operator, statistics: Statistics) -> list[MultiJoin]:
    """All joins of a plan that a join tree could compute, outer ones first."""
    return [multi_join(node, statistics) for node in join_nodes(plan)]


def join_nodes(plan: Operator) -> list[Operator]:
    """Where in a plan they are: the operator whose answer each of them is."""
    if not _is_join(plan):
        return [node for operator in plan.inputs for node in join_nodes(operator)]
    return [plan, *(node for operator in inputs_of(plan) for node in join_nodes(operator))]


def inputs_of(join: Operator) -> tuple[Operator, ...]:
    """The inputs of a join, from left to right."""
    return tuple(part for part in _parts(join) if isinstance(part, Operator))


def conditions_of(join: Operator) -> tuple[TypedExpr, ...]:
    """The parts of its condition."""
    return tuple(part for part in _parts(join) if not isinstance(part, Operator))


def _is_join(operator: Operator) -> bool:
    """Whether it is an inner join, or a selection over one."""
    if isinstance(operator, WindowSelect):
        return _is_join(operator.input)
    return isinstance(operator, WindowCrossProduct) or (isinstance(operator, WindowJoin) and operator.kind == "INNER")


def _parts(operator: Operator) -> Iterator[Operator | TypedExpr]:
    """The inputs of a join from left to right, and the parts of its condition."""
    if not _is_join(operator):
        yield operator
        return
    for below in operator.inputs:
        yield from _parts(below)
    if isinstance(operator, WindowSelect | WindowJoin):
        yield from conjuncts(operator.predicate)


def is_by_keys(join: Operator) -> bool:
    """Whether equal keys lead from any input of a join to any other, so that no two of them meet tuple by tuple."""
    inputs = inputs_of(join)
    reached = [{at} for at in range(len(inputs))]
    for expr in conditions_of(join):
        if isinstance(expr, Call) and expr.function == "=":
            read = [{at for at, one in enumerate(inputs) if _reads(side, one.schema)} for side in expr.arguments]
            if all(len(side) == 1 for side in read):
                together = set.union(*(reached[at] for side in read for at in side))
                for at in together:
                    reached[at] = together
    return len(reached[0]) == len(inputs)


def _reads(expr: Expr, schema: Schema) -> bool:
    return any(schema.has(column.name, column.relation) for column in columns_of(expr))


def multi_join(plan: Operator, statistics: Statistics) -> MultiJoin:
    operators, expressions = inputs_of(plan), conditions_of(plan)
    schemas = [operator.schema for operator in operators]

    def reads(expr: Expr) -> frozenset[int]:
        columns = columns_of(expr)
        return frozenset(
            at for at, schema in enumerate(schemas) if any(schema.has(c.name, c.relation) for c in columns)
        )

    estimator = Estimator(statistics)
    estimates = [estimator.of(operator) for operator in operators]
    across = []
    for expr in expressions:
        inputs = reads(expr)
        if len(inputs) > 1:
            across.append(condition(expr, reads, statistics))
        elif inputs:
            (at,) = inputs
            estimates[at] = estimator.filtered(estimates[at], expr)
    of_keys, others, assumed_of_keys = keys(across, statistics)
    found, assumed = predicates(others, statistics)
    inputs_ = map(_input, input_names(operators), estimates, schemas)
    graph = JoinGraph(tuple(inputs_), tuple(found), tuple(of_keys))
    return MultiJoin(graph, operators, conjunction(expressions), (*estimator.assumed, *assumed_of_keys, *assumed))


def _input(name: str, estimate: Estimate, schema: Schema) -> Input:
    size = max(estimate.size, LEAST_SIZE)
    return Input(name, estimate.rate, size, width_of(schema), estimate.counted, estimate.shortest)


def input_names(operators: tuple[Operator, ...]) -> list[str]:
    """What the FROM clause calls each input."""
    names: list[str] = []
    for at, operator in enumerate(operators):
        assert isinstance(operator, WindowOp)
        relations = {field.relation for field in operator.schema.fields}
        name = relations.pop() if len(relations) == 1 else None
        names.append(name if name is not None and name not in names else f"input {at + 1}")
    return names


def width_of(schema: Schema) -> float:
    """About how many bytes a tuple takes in memory, with its tick and index."""
    return 16.0 + sum(_bytes_of(field.type) for field in schema.fields)


def _bytes_of(type_: DataType) -> float:
    if type_ in INTEGER_BITS:
        return INTEGER_BITS[type_] / 8
    return _BYTES.get(type_, _OTHER_BYTES.get(type_.name, 8))
