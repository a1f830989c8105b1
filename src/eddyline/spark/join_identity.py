"""Which joined sets of inputs are the same, whatever the queries call their inputs and in which order they name them.

An input is traced back to its stream: which tuples of it are in which window, and what each column is made of. Two
inputs of different queries that agree in this have the same tuples with the same lives, although each may show other
columns. What they are joined to is told by the same texts.

Of inputs that depend on more than their stream nothing can be shared: a table is seen as it stood when the query began,
hopping windows without a START begin with the query, and a stream inside of a query is its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, islice, permutations, product
from math import factorial, prod

from eddyline.algebra.expression import Call, Column, Expr, Named, TypedExpr, conjunction, conjuncts, rewritten
from eddyline.algebra.node import WINDOW, Operator, StreamOp, WindowOp
from eddyline.algebra.relational import WindowAlias, WindowProject, WindowSelect
from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamProject, StreamReceive, StreamSelect
from eddyline.algebra.window import HopWindow, RangeWindow, TimeWindow
from eddyline.planner.graph import mask_of, members
from eddyline.spark.expression import Names, spark_sql
from eddyline.spark.join_inputs import Condition, JoinInputs
from eddyline.spark.literal import back_quoted

#: under which all shared states are kept, as if it were a query
SHARED = "$states"
_BASE = "$"
#: inputs that cannot be told apart are tried in so many orders; beyond, as the query has them
_MOST_ORDERS = 120


@dataclass(frozen=True)
class Traced:
    """An input as its stream has it: the tuples that satisfy the conditions, in a window, and what its columns are."""

    stream: StreamReceive | StreamAcquire
    window: RangeWindow | TimeWindow | HopWindow | None
    conditions: tuple[TypedExpr, ...]
    columns: tuple[TypedExpr, ...]

    @property
    def text(self) -> str:
        """Equal for inputs that have the same tuples with the same lives."""
        window = self.window
        fields = () if window is None else tuple(item for item in vars(window).items() if item[0] != "input")
        asked = sorted({text_of(one) for one in self.conditions})
        return f"{type(window).__name__}{fields} {self.stream} {asked}"

    def showing(self, relation: str, columns: Sequence[TypedExpr]) -> WindowOp:
        """The input with these columns, under another name."""
        plan: StreamOp = self.stream
        condition = conjunction(tuple(sorted(dict.fromkeys(self.conditions), key=text_of)))
        if condition is not None:
            plan = StreamSelect(condition, plan)
        named = tuple(Named(expr, f"v{at}") for at, expr in enumerate(columns))
        assert self.window is not None
        return self.window.with_inputs(StreamAlias(relation, StreamProject(named, plan)))


@dataclass(frozen=True)
class JoinedSet:
    """What is joined: its inputs in an order of their own, and the texts of what is asked of them.

    `inputs` are those of one join in that order.
    """

    inputs: tuple[int, ...]
    texts: tuple[str, ...]
    asked: tuple[str, ...]

    @property
    def key(self) -> str:
        """Equal for joined sets that are the same."""
        return hashlib.sha256("\n".join((*self.texts, "", *self.asked)).encode()).hexdigest()[:16]


def text_of(expr: Expr) -> str:
    """An expression over the columns of streams, as text."""
    return _ordered(expr, lambda column: f"{column.relation}.{back_quoted(column.name)}")


def _ordered(expr: Expr, names: Names) -> str:
    """Which side of an equality is written first does not matter."""
    if isinstance(expr, Call) and expr.function == "=":
        return " = ".join(sorted(spark_sql(side, names) for side in expr.arguments))
    return spark_sql(expr, names)


@lru_cache(maxsize=1_000)
def traced(operator: Operator) -> Traced | None:
    """An input traced back to its stream; None if it depends on more than that."""
    if isinstance(operator, StreamReceive | StreamAcquire):
        if operator.tick_tags or operator.tags_wanted is not None or "/" in operator.name:
            return None
        stream = replace(operator, declared=operator.declared.renamed(_BASE))
        columns = tuple(Column(f.name, f.type, f.relation) for f in stream.schema.fields)
        return Traced(stream, None, (), columns)
    if not isinstance(operator, _SIMPLE):
        return None
    (input_,) = operator.inputs
    below = traced(input_)
    if below is None:
        return None
    if isinstance(operator, StreamAlias | WindowAlias):
        return below
    if isinstance(operator, RangeWindow | TimeWindow | HopWindow):
        if isinstance(operator, HopWindow) and operator.start is None:
            return None
        return replace(below, window=operator) if below.window is None else None
    schema = operator.input.schema
    if isinstance(operator, StreamSelect | WindowSelect):
        asked = _over(conjuncts(operator.predicate), schema, below.columns)
        return None if asked is None else replace(below, conditions=(*below.conditions, *asked))
    made = _over([column.expr for column in operator.columns], schema, below.columns)
    return None if made is None else replace(below, columns=tuple(made))


_SIMPLE = (
    StreamAlias,
    StreamSelect,
    StreamProject,
    WindowAlias,
    WindowSelect,
    WindowProject,
    RangeWindow,
    TimeWindow,
    HopWindow,
)


def _over(exprs: Sequence[TypedExpr], schema: Schema, columns: Sequence[TypedExpr]) -> list[TypedExpr] | None:
    """Expressions in terms of what their columns are made of; None if any of them asks for the window itself."""
    if any(isinstance(part, Column) and part.relation == WINDOW for expr in exprs for part in expr.walk()):
        return None

    def made_of(part: Expr) -> TypedExpr | None:
        return columns[schema.position(part.name, part.relation)] if isinstance(part, Column) else None

    return [rewritten(expr, made_of) for expr in exprs]


class SharedInputs:
    """The inputs of a join as others could have them, too."""

    def __init__(self, join: JoinInputs) -> None:
        self._join = join
        found = ((at, self._trace(at)) for at in range(len(join.inputs)))
        self._traced = {at: one for at, one in found if one is not None}
        self._texts = {at: one.text for at, one in self._traced.items()}
        self._known: dict[int, JoinedSet | None] = {}
        self._texts_asked: dict[tuple[int, tuple[int, ...]], str] = {}
        self.shareable = mask_of(self._traced)

    @property
    def texts(self) -> Iterable[str]:
        """What its inputs are, each once."""
        return dict.fromkeys(self._texts.values())

    def traced(self, at: int) -> Traced:
        """An input that is shareable."""
        return self._traced[at]

    def _trace(self, at: int) -> Traced | None:
        """With what the join asks of this input alone."""
        found = traced(self._join.inputs[at])
        if found is None or found.window is None or not self._join.storable >> at & 1:
            return None
        own = [c.expr for c in self._join.conditions if c.inputs == 1 << at]
        asked = _over(own, self._join.inputs[at].schema, found.columns)
        return None if asked is None else replace(found, conditions=(*found.conditions, *asked))

    def key(self, mask: int) -> str | None:
        """What tells a set of inputs, joined; None if nobody else could have it."""
        found = self.joined(mask)
        return None if found is None else found.key

    def like(self, found: JoinedSet) -> list[int]:
        """The sets of these inputs that are the same as one of another join."""
        places = [[at for at, own in self._texts.items() if own == text] for text in found.texts]
        some = (mask_of(order) for order in islice(product(*places), _MOST_ORDERS) if len(set(order)) == len(order))
        return [mask for mask in dict.fromkeys(some) if self.key(mask) == found.key]

    def joined(self, mask: int) -> JoinedSet | None:
        if mask not in self._known:
            self._known[mask] = None if mask & ~self.shareable else self._joined(mask)
        return self._known[mask]

    def _joined(self, mask: int) -> JoinedSet:
        texts = {at: self._texts[at] for at in members(mask)}
        conditions = [(number, c) for number, c in enumerate(self._join.conditions) if _is_asked_of(c, mask)]
        best: tuple[list[str], list[int]] | None = None
        for order in _orders(texts):
            asked = sorted(self._asked(number, condition, order) for number, condition in conditions)
            if best is None or asked < best[0]:
                best = asked, order
        assert best is not None
        return JoinedSet(tuple(best[1]), tuple(texts[at] for at in best[1]), tuple(dict.fromkeys(best[0])))

    def conditions(self, mask: int) -> list[Condition]:
        """What is asked of several inputs of a set."""
        return [condition for condition in self._join.conditions if _is_asked_of(condition, mask)]

    def _asked(self, number: int, condition: Condition, order: Sequence[int]) -> str:
        """What a condition asks, with the inputs by their places in an order; few places, and many orders."""
        places = {at: order.index(at) for at in members(condition.inputs)}
        known = (number, tuple(places.values()))
        if known not in self._texts_asked:
            asked = self.rewritten(condition.expr, lambda at, expr: _renamed(expr, f"{places[at]}"))
            self._texts_asked[known] = text_of(asked)
        return self._texts_asked[known]

    def rewritten(self, expr: TypedExpr, change: Callable[[int, TypedExpr], TypedExpr]) -> TypedExpr:
        """An expression of the join with each column replaced, given its input and what it is made of."""

        def changed(part: Expr) -> TypedExpr | None:
            if not isinstance(part, Column):
                return None
            at = next(n for n, one in enumerate(self._join.inputs) if one.schema.has(part.name, part.relation))
            place = self._join.inputs[at].schema.position(part.name, part.relation)
            return change(at, self._traced[at].columns[place])

        return rewritten(expr, changed)


def _is_asked_of(condition: Condition, mask: int) -> bool:
    """Of several inputs of a set."""
    return condition.inputs.bit_count() > 1 and not condition.inputs & ~mask


def _renamed(expr: TypedExpr, relation: str) -> TypedExpr:
    return rewritten(expr, lambda part: replace(part, relation=relation) if isinstance(part, Column) else None)


def _orders(texts: dict[int, str]) -> Iterable[list[int]]:
    """The inputs by their texts; those with the same in any order, unless there are too many."""
    groups = [list(some) for _, some in groupby(sorted(texts, key=lambda at: (texts[at], at)), key=texts.__getitem__)]
    if prod(factorial(len(group)) for group in groups) > _MOST_ORDERS:
        return [[at for group in groups for at in group]]
    return ([at for group in some for at in group] for some in product(*(permutations(group) for group in groups)))
