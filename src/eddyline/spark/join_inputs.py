"""A multi-way join of a stage as its tree runs it: inputs, conditions, and which of the inputs can be stored joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from eddyline.algebra.expression import Call, Expr, TypedExpr, columns_of, conjunction
from eddyline.algebra.marks import is_marks
from eddyline.algebra.node import WINDOW, Operator, WindowOp
from eddyline.algebra.relational import WindowAlias, WindowCrossProduct, WindowProject, WindowSelect
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.sharing import MemberWindow, WindowMatch
from eddyline.algebra.types import BIGINT
from eddyline.algebra.window import HopWindow, RangeWindow, Scan, TimeWindow
from eddyline.planner.graph import mask_of, members
from eddyline.planner.multi_join import conditions_of, input_names, inputs_of, join_nodes
from eddyline.planner.tree import JTree
from eddyline.spark.stages import RELATION, STATE, STREAM, WINDOWS, Stage, is_relation

#: with two inputs there is nothing to store in between
LEAST_INPUTS = 3
#: in the log of a state, the first tick at which a joined tuple lives; its last one is the tick of the row
BORN = "born"
_ABOVE_WINDOWS = (WindowSelect, WindowProject, WindowAlias)


@dataclass(frozen=True)
class Condition:
    """A part of the join's condition, and the inputs that it reads, as a bit mask."""

    expr: TypedExpr
    inputs: int

    @property
    def by_key(self) -> bool:
        """Whether one side must equal the other, so that an index finds who satisfies it."""
        if not isinstance(self.expr, Call) or self.expr.function not in ("=", "<=>"):
            return False
        left, right = ({column.relation for column in columns_of(side)} for side in self.expr.arguments)
        return bool(left and right) and not left & right


@dataclass(frozen=True)
class JoinInputs:
    """What a join tree is a tree of. Columns are numbered through all inputs, as the join itself has them."""

    node: Operator  # of the stage's plan, whose answer the join is
    inputs: tuple[Operator, ...]
    conditions: tuple[Condition, ...]
    storable: int  # the inputs whose tuples live as long as their ticks say: they can be part of a state
    is_relation: bool  # whether it is a relation of CQL, or windows at regular ticks

    @cached_property
    def names(self) -> list[str]:
        return input_names(self.inputs)

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(field for one in self.inputs for field in one.schema.fields))

    def columns(self, at: int) -> range:
        """The numbers of an input's columns."""
        first = sum(len(one.schema) for one in self.inputs[:at])
        return range(first, first + len(self.inputs[at].schema))

    def columns_of(self, mask: int) -> list[str]:
        return [f"c{i}" for at in members(mask) for i in self.columns(at)]

    def runs_by(self, tree: JTree) -> bool:
        """Whether it is joined as a tree says. Without states, windows of time pair their tuples by the ticks of the
        windows, which an index finds.
        """
        return self.is_relation or bool(tree.states())

    def storing(self, tree: JTree) -> JTree:
        """The tree without states that cannot be stored."""
        for state in tree.states():
            if state & ~self.storable:
                tree = tree.without(state)
        return tree


@dataclass(frozen=True)
class SharedLog:
    """A state that several joins may read: its log, and where in it each column of a set of this join's inputs is."""

    name: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class JoinNode:
    """A node of a tree at work: what its children give, joined. `stage` is the name of the stage with the join.

    The states of some sets of inputs are `shared` with other joins, and made for all of them.
    """

    of: JoinInputs
    stage: str
    tree: JTree
    shared: tuple[tuple[int, SharedLog], ...] = ()

    @property
    def states(self) -> tuple[str, ...]:
        """The logs of its children that are stored."""
        return tuple(self.name(child) for child in self.tree.children if not child.is_leaf)

    def name(self, node: JTree) -> str:
        """Under what name the state of a node is stored."""
        found = self.shared_log(node.mask)
        return state_name(self.stage, node.mask) if found is None else found.name

    def shared_log(self, mask: int) -> SharedLog | None:
        return next((log for one, log in self.shared if one == mask), None)

    def stored_columns(self, mask: int, columns: Sequence[str]) -> list[tuple[str, str]]:
        """Of a state with these columns: each with the name that the join has for it."""
        own, found = self.of.columns_of(mask), self.shared_log(mask)
        places = range(len(own)) if found is None else found.places
        return [(columns[place], name) for place, name in zip(places, own, strict=True)]

    @property
    def own_states(self) -> list[JTree]:
        """The nodes below that are stored for this join alone, parents first."""
        found = []
        for child in self.tree.children:
            if not child.is_leaf and self.shared_log(child.mask) is None:
                found += [child, *self.below(child).own_states]
        return found

    def below(self, child: JTree) -> JoinNode:
        return replace(self, tree=child)

    def without(self, child: JTree) -> JoinNode:
        """The same with the children of a child in place of what that one stores."""
        return replace(self, tree=self.tree.without(child.mask))


def state_name(stage: str, mask: int) -> str:
    """
    >>> state_name("q", 0b101)
    'q/state/1-3'
    """
    return f"{stage}/state/{'-'.join(str(at + 1) for at in members(mask))}"


def is_state_of(name: str, stage: str) -> bool:
    return name.startswith(f"{stage}/state/")


def state_mask(name: str) -> int:
    """
    >>> state_mask("q/state/1-3")
    5
    """
    return mask_of(int(at) - 1 for at in name.rpartition("/")[2].split("-"))


def join_of(stage: Stage) -> JoinInputs | str | None:
    """The join of a stage that a tree can run; or why its join cannot be; None if it has none that large."""
    nodes = [node for node in join_nodes(stage.plan) if len(inputs_of(node)) >= LEAST_INPUTS]
    if not nodes:
        return None
    if any(isinstance(op, WindowMatch | MemberWindow) for op in stage.plan.walk()):
        return "the queries of a class are answered together, without states"
    return inputs_or_reason(stage, nodes[0])


def inputs_or_reason(stage: Stage, node: Operator) -> JoinInputs | str:
    """A join of a stage whose tuples live as long as their windows say; or why it is not known how long that is."""
    if any(is_marks(name) for operator in stage.plan.walk() for name in operator.schema.names):
        return "tags are carried along"
    if stage.kind not in (RELATION, STREAM, WINDOWS):
        return "it is no join of windows"
    inputs = inputs_of(node)
    leaves = [window_of(one) for one in inputs]
    whole = stage.kind == RELATION or (stage.kind == STREAM and is_relation(stage.plan))
    if not whole and not all(_is_timed(leaf) for leaf in leaves):
        return "its windows do not all stand at regular ticks"
    schemas = [one.schema for one in inputs]
    fields = [(field.name, field.relation) for schema in schemas for field in schema.fields]
    found = []
    for expr in conditions_of(node):
        columns = columns_of(expr)
        if any(column.relation == WINDOW for column in columns):
            return "its condition asks for the time of the window"
        if any(fields.count((column.name, column.relation)) != 1 for column in columns):
            return "its condition does not tell the inputs apart"
        found.append(Condition(expr, _read_by(expr, schemas)))
    storable = sum(1 << at for at, leaf in enumerate(leaves) if _is_stored(leaf, whole))
    return JoinInputs(node, inputs, tuple(found), storable, whole)


def _read_by(expr: Expr, schemas: list[Schema]) -> int:
    columns = columns_of(expr)
    return sum(1 << at for at, schema in enumerate(schemas) if any(schema.has(c.name, c.relation) for c in columns))


def window_of(operator: Operator) -> Operator:
    """The window below selections and projections, or what else there is."""
    while isinstance(operator, _ABOVE_WINDOWS):
        exprs: list[Expr] = [operator.predicate] if isinstance(operator, WindowSelect) else []
        if isinstance(operator, WindowProject):
            exprs = [column.expr for column in operator.columns]
        if any(column.relation == WINDOW for expr in exprs for column in columns_of(expr)):
            return operator
        operator = operator.input
    return operator


def _is_timed(leaf: Operator) -> bool:
    return isinstance(leaf, TimeWindow | HopWindow) or (isinstance(leaf, Scan) and leaf.interval is None)


def _is_stored(leaf: Operator, whole: bool) -> bool:
    if isinstance(leaf, Scan):
        return leaf.interval is None
    return (
        isinstance(leaf, RangeWindow) and leaf.range is not None if whole else isinstance(leaf, TimeWindow | HopWindow)
    )


def with_tree(
    stages: list[Stage], at: Stage, join: JoinInputs, tree: JTree, shared: tuple[tuple[int, SharedLog], ...] = ()
) -> list[Stage]:
    """The stages of a query of which one runs its join by a tree: what that stores is written by stages before it.

    What is `shared` is written for all who read it.
    """
    root = JoinNode(join, at.name, join.storing(tree), shared)
    found = [state_stage(root.below(node)) for node in root.own_states]
    place = next(number for number, stage in enumerate(stages) if stage.name == at.name)
    return [*stages[:place], *reversed(found), replace(stages[place], joined=root), *stages[place + 1 :]]


def first_join(stages: Sequence[Stage]) -> tuple[Stage, JoinInputs] | None:
    """The join of a query that a tree can run, with its stage."""
    for stage in stages:
        join = join_of(stage)
        if isinstance(join, JoinInputs):
            return stage, join
    return None


def joined_plan(inputs: Sequence[Operator], conditions: Sequence[TypedExpr]) -> WindowOp:
    """The join of some inputs, as any plan has it."""
    plan, *others = (cast(WindowOp, one) for one in inputs)
    for other in others:
        plan = WindowCrossProduct(plan, other)
    condition = conjunction(tuple(conditions))
    return plan if condition is None else WindowSelect(condition, plan)


def state_stage(node: JoinNode) -> Stage:
    """The stage that writes a state: its plan is the join of its inputs, which says what it reads and how far back."""
    mask = node.tree.mask
    asked = [one.expr for one in node.of.conditions if one.inputs and not one.inputs & ~mask]
    plan = joined_plan([node.of.inputs[at] for at in members(mask)], asked)
    fields = (Field(BORN, BIGINT), *(Field(f"c{i}", f.type) for i, f in enumerate(plan.schema.fields)))
    return Stage(node.name(node.tree), STATE, plan, tuple(f.name for f in fields), Schema(fields), joined=node)
