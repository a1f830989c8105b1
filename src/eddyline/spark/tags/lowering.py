"""Plans with tags become plans without: marks are one more column, and each operator says what becomes of them.

Positions in marks are those of the plan as it was; the columns of marks in between do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, cast

from eddyline.algebra.arrival import by_arrival
from eddyline.algebra.expression import Aggregate, Call, Column, Expr, Literal, Named, TypedExpr, columns_of
from eddyline.algebra.first_tags import FirstTags
from eddyline.algebra.marks import INDEX_ROLE, KIND, MADE_ROLE, MARKS, MARKS_ROLE, PLACES_ROLE, TICK_ROLE
from eddyline.algebra.node import WINDOW, Operator, StreamOp, WindowOp, expressions_of
from eddyline.algebra.relational import (
    RelationChanges,
    WindowAggregation,
    WindowAlias,
    WindowCrossProduct,
    WindowDistinct,
    WindowJoin,
    WindowProject,
    WindowSort,
)
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.stream import (
    DStream,
    IStream,
    RStream,
    StreamAcquire,
    StreamAlias,
    StreamLookup,
    StreamProject,
    StreamReceive,
    StreamSelect,
)
from eddyline.algebra.tag import (
    GROUP_LABEL,
    TagAggregation,
    TaggedObjectSelection,
    Tagger,
    TagHistory,
    TagJoin,
    TagPredicate,
    TagSelection,
    WindowTagAggregation,
)
from eddyline.algebra.tag_groups import OWN_INDEX, OWN_TICK, Everything, RunningGroups, WindowTagGroups
from eddyline.algebra.tag_matches import TagMatches
from eddyline.algebra.tagging import NOBODY
from eddyline.algebra.types import BIGINT, BOOLEAN, STRING
from eddyline.errors import NotSupported
from eddyline.log.said import history_name
from eddyline.spark.tags import comparing
from eddyline.spark.tags import functions as of
from eddyline.spark.tags.places import renamed, with_order

#: makes a search among marks of what a query asks of tags; without a schema, among the texts of tags themselves
Searching = Callable[[TagPredicate, Schema | None], Callable[[Any], bool]]
#: the kind of a row that is a tick-tag
_TAG = "#"
_LEAVES = (StreamReceive, StreamAcquire)
_OF_ONE_STREAM = (*_LEAVES, Tagger, StreamAlias, StreamProject, StreamSelect, TaggedObjectSelection)
_TO_STREAM = (RStream, IStream, DStream, RelationChanges)


def has_tags(plan: Operator) -> bool:
    """Whether there are tags anywhere in a plan."""
    return any(op.tagged or type(op).__module__.endswith(".tag") for op in plan.walk())


def reads_tags(plan: Operator) -> bool:
    """Whether what is answered depends on tags."""
    return any(map(reads_tags_itself, plan.walk()))


def reads_tags_itself(operator: Operator) -> bool:
    """Whether what an operator gives depends on the tags that come to it."""
    if type(operator).__module__.endswith(".tag") and not isinstance(operator, Tagger):
        return True
    return any(_counts_tags(part) for expr in expressions_of(operator) for part in expr.walk())


def joins_in(plan: Operator) -> bool:
    """Whether rows come from more than one tuple."""
    return any(isinstance(op, WindowCrossProduct | WindowJoin) for op in plan.walk())


def lowered(plan: Operator, searching: Searching, with_tags: bool) -> Operator:
    """The plan with marks as columns; with `with_tags`, those of its output are its last column."""
    made = _Lowering(searching, plan).of(plan, apart=False)
    if not with_tags:
        return _settled(plan, replace(made, marks=None))
    return _settled(plan, made if made.marks is not None else replace(made, marks=Literal(None, STRING)))


def lowered_tags(plan: Operator, searching: Searching) -> Operator:
    """The plan of a query that shows tick-tags themselves: a stream in which tags are rows as tuples are.

    Behind the columns of a tuple stand the tags that are told in front of it, and which of both a row is. SELECT TAGS
    has rows of tags alone.
    """
    making = _Lowering(searching, plan)
    if isinstance(plan, TagJoin):
        return making.matches(plan)
    if not isinstance(plan, TagSelection):
        stream, told, kind = making.elements(plan)
        return _shown(plan, stream, told, kind)
    search = None if plan.predicate == TagPredicate() else searching(plan.predicate, None)
    passing = _last_choosing(plan.input)
    if passing is not None:
        return making.first_tags(plan.schema, passing, search)
    nothing = [Named(Literal(None, field.type), field.name) for field in plan.schema.fields]
    return _told(making.elements(plan.input), search, nothing, [Named(Literal(_TAG, STRING), KIND)])


def _told(
    elements: tuple[Operator, TypedExpr, TypedExpr],
    search: Callable[[Any], bool] | None,
    before: list[Named],
    behind: list[Named],
) -> StreamSelect:
    """The tags that a stream with its tags as rows tells, each as a row; columns stand before and behind it."""
    stream, told, _ = elements
    told = told if search is None else of.selected(told, search)
    # they are looked at twice, so they are written down once
    shown = StreamProject((*before, Named(told, MARKS), *behind), cast(StreamOp, stream))
    return StreamSelect(Call("not", (Call("is null", (Column(MARKS, STRING),), BOOLEAN),), BOOLEAN), shown)


def _not_of_one_stream() -> NotSupported:
    return NotSupported(
        "SELECT TAGS of what comes from windows or tables runs on the reference engine only, so far",
        hint="select the tags of a stream, or use --engine reference",
    )


def _last_choosing(plan: Operator) -> Operator | None:
    """The last operator that lets only some tuples pass, behind which tags wait for their first; None without one."""
    while isinstance(plan, StreamAlias | StreamProject):
        plan = plan.input
    return plan if isinstance(plan, StreamSelect | TaggedObjectSelection) else None


def _shown(plan: Operator, stream: Operator, told: TypedExpr, kind: TypedExpr) -> StreamProject:
    columns = [Named(_column(field), field.name) for field in plan.schema.fields]
    return StreamProject((*columns, Named(told, MARKS), Named(kind, KIND)), cast(StreamOp, stream))


@dataclass(frozen=True)
class _Lowered:
    plan: Operator
    marks: TypedExpr | None  # how marks are found in its columns; None if it has none


class _Lowering:
    def __init__(self, searching: Searching, plan: Operator) -> None:
        self._searching = searching
        #: the names of all columns that anybody looks at
        self._read = {column.name for op in plan.walk() for expr in expressions_of(op) for column in columns_of(expr)}
        self._read.update(plan.schema.names)
        self._numbers = count(1)
        self._logged: set[str] = set()  # columns of marks as logs have them
        self._whole = False  # whether marks tell all that the tags which queries make apply to

    def of(self, node: Operator, apart: bool = True) -> _Lowered:
        """With `apart`, marks tell which tags they are of, because somebody above tells tags apart; else what they say.

        Tags that say the same are one text then, whatever comes of it is computed once, and nobody reads their places.
        """
        if isinstance(node, _LEAVES):
            return self._leaf(node, apart)
        if isinstance(node, TagHistory):
            return _Lowered(_history(node, self._read), None)
        apart = apart or self._tells_apart(node)
        below = [self.of(operator, apart) for operator in node.inputs]
        if isinstance(node, Tagger):  # its tags are among those of the stream
            return below[0]
        if isinstance(node, WindowAggregation):
            return self._aggregation(node, below[0])
        if isinstance(node, WindowTagAggregation):
            return self._tag_aggregation(node, below[0])
        if isinstance(node, TagAggregation):
            return self._running(node, below[0])
        if all(each.marks is None for each in below):
            return _Lowered(node.with_inputs(*(each.plan for each in below)), None)
        if isinstance(node, TaggedObjectSelection):
            return self._tagged_objects(node, below[0])
        if isinstance(node, StreamProject | WindowProject):
            return self._projection(node, below[0])
        if isinstance(node, StreamAlias | WindowAlias):
            return _alias(node, below[0])
        if isinstance(node, WindowDistinct):
            return self._distinct(node, below[0])
        if isinstance(node, StreamLookup | WindowCrossProduct | WindowJoin):
            left, right = node.inputs
            joined = of.joined if apart else of.side_by_side
            marks = joined(below[0].marks, len(left.schema), below[1].marks, len(right.schema))
            return _Lowered(node.with_inputs(below[0].plan, below[1].plan), marks)
        if isinstance(node, _TO_STREAM):
            return self._to_stream(node, below[0])
        return _Lowered(node.with_inputs(below[0].plan), below[0].marks)

    def _tells_apart(self, node: Operator) -> bool:
        """Whether an operator asks which tags there are, or when they came. In a join, the same tag may come from both
        sides if a stream does."""
        if isinstance(node, TaggedObjectSelection):
            return bool(getattr(self._searching(node.predicate, node.input.schema), "reads_time", True))
        if isinstance(node, StreamLookup | WindowCrossProduct | WindowJoin):
            one, other = ({op.name for op in side.walk() if isinstance(op, _LEAVES)} for side in node.inputs)
            return not one.isdisjoint(other)
        grouping = WindowAggregation | WindowDistinct | WindowTagAggregation | TagAggregation
        return isinstance(node, grouping)

    def matches(self, node: TagJoin) -> TagMatches:
        """The plan of a tag join: the marks of both sides are their last columns."""
        sides = []
        for side in (node.left, node.right):
            below = self.of(side)
            marks = Literal(None, STRING) if below.marks is None else below.marks
            sides.append(cast(StreamOp, _settled(side, replace(below, marks=marks))))
        left, right = sides
        compared, counted = comparing.comparing(node.function)
        return TagMatches(
            (comparing.tags_of(node.left.schema.names), comparing.tags_of(node.right.schema.names)),
            compared,
            counted,
            comparing.number_of_match(),
            node.left_range,
            node.right_range,
            left,
            right,
        )

    def elements(self, node: Operator) -> tuple[Operator, TypedExpr, TypedExpr]:
        """A stream with its tags as rows: the plan, the tags that are told with a row, and what kind of row it is."""
        if isinstance(node, _LEAVES):
            relation = node.declared.fields[0].relation
            marks = self._name()
            shown = (Field(KIND, STRING, relation), Field(f"{marks}{MADE_ROLE}", STRING, relation))
            behind = _apart(marks, relation) + Schema(shown)
            leaf = replace(node, declared=node.declared + behind, tick_tags=False)
            *own, is_what, made = map(_column, behind.fields)
            is_tag = Call("=", (is_what, Literal(_TAG, STRING)), BOOLEAN)
            return leaf, Call("case", (is_tag, of.told_apart(*own), made), STRING), is_what
        if isinstance(node, Tagger):
            return self.elements(node.input)
        if isinstance(node, StreamAlias):
            plan, told, kind = self.elements(node.input)
            return node.with_inputs(plan), renamed(told, node.relation), renamed(kind, node.relation)
        if isinstance(node, StreamProject):
            return self.elements(node.input)  # it has other columns, and the tags that pass are the same
        raise _not_of_one_stream()

    def first_tags(self, shown: Schema, passing: Operator, search: Callable[[Any], bool] | None) -> FirstTags:
        """The plan of tags that are told with the first of some tuples."""
        self._whole = True
        if not all(isinstance(operator, _OF_ONE_STREAM) for operator in passing.walk()):
            raise _not_of_one_stream()
        below = self.of(passing)
        tuples = StreamProject((Named(below.marks or Literal(None, STRING), self._name()),), cast(StreamOp, below.plan))
        # what queries make is told with its tuple, of which there is one
        given = replace(_leaf_of(passing), taggers_upto=NOBODY)
        told = _told(self.elements(given), search, [], [])
        text = Column(MARKS, STRING)
        tags = StreamProject((Named(comparing.key_of_tag(text), "$key"), Named(text, MARKS)), told)
        return FirstTags(comparing.carried(search), shown, tuples, tags)

    def _name(self) -> str:
        return f"{MARKS}{next(self._numbers)}"

    def _leaf(self, node: StreamReceive | StreamAcquire, apart: bool) -> _Lowered:
        if not node.tick_tags:
            return _Lowered(node, None)
        behind = _apart(self._name(), node.declared.fields[0].relation)
        if not apart:
            behind = Schema(behind.fields[:1])
        plan = replace(node, declared=node.declared + behind, tick_tags=False, whole_tags=self._whole)
        columns = list(map(_column, behind.fields))
        self._logged.update([] if apart else [columns[0].name])
        return _Lowered(plan, of.told_apart(*columns) if apart else columns[0])

    def _tagged_objects(self, node: TaggedObjectSelection, below: _Lowered) -> _Lowered:
        assert below.marks is not None
        search = self._searching(node.predicate, node.input.schema)
        as_in_log = isinstance(below.marks, Column) and below.marks.name in self._logged
        found = (of.searched if as_in_log else of.found)(below.marks, search)
        plan = StreamSelect(found, cast(StreamOp, below.plan))
        return _Lowered(plan, below.marks if node.with_tags else None)

    def _projection(self, node: StreamProject | WindowProject, below: _Lowered) -> _Lowered:
        assert below.marks is not None
        reads = [_reads(column.expr, node.input.schema) for column in node.columns]
        marks = Named(of.projected(below.marks, reads), self._name())
        plan = replace(node, columns=(*node.columns, marks), input=below.plan)  # type: ignore[arg-type]
        return _Lowered(plan, Column(marks.name, STRING))

    def _aggregation(self, node: WindowAggregation, below: _Lowered) -> _Lowered:
        """Groups collect the different marks of their tuples, of which a projection makes those of the group."""
        if below.marks is None:
            return _Lowered(node.with_inputs(below.plan), None)
        all_of = self._name()
        reads = [_reads(column.expr, node.input.schema) for column in (*node.keys, *node.aggregates)]
        keys = tuple(Named(key.expr, f"$key{i}") for i, key in enumerate(node.keys))
        plain = {f"$aggregate{i}": column for i, column in enumerate(node.aggregates) if not _counts_tags(column.expr)}
        collected = Named(_collected(below.marks), all_of)
        groups = WindowAggregation(
            keys,
            (*(Named(column.expr, name) for name, column in plain.items()), collected),
            cast(WindowOp, below.plan),
            node.members,
        )
        found = Column(all_of, STRING)
        shown = [
            *(Named(Column(key.name, key.expr.type), was.name) for key, was in zip(keys, node.keys, strict=True)),
            *(
                Named(_count(column.expr, found, node.input.schema), column.name)
                if _counts_tags(column.expr)
                else Named(Column(f"$aggregate{i}", column.expr.type), column.name)
                for i, column in enumerate(node.aggregates)
            ),
        ]
        marks = Named(of.grouped(found, reads), self._name())
        return _Lowered(WindowProject((*shown, marks), groups), Column(marks.name, STRING))

    def _tag_aggregation(self, node: WindowTagAggregation, below: _Lowered) -> _Lowered:
        if by_arrival(node.input):
            plan, order = with_order(below.plan)
            return self._tag_groups(node, _Lowered(plan, below.marks), order)
        return self._tag_groups(node, *_by_values(node.input.schema, below))

    def _running(self, node: TagAggregation, below: _Lowered) -> _Lowered:
        """The same over all tuples in the order in which they came; a group has the tick of its latest tuple."""
        tick, index = Column(OWN_TICK, BIGINT), Column(OWN_INDEX, BIGINT)
        everything = _Lowered(Everything(cast(StreamOp, below.plan)), below.marks)
        order: tuple[TypedExpr, ...] = (index,)
        if not by_arrival(node.input):
            everything, by_values = _by_values(node.input.schema, everything)
            order = (tick, *by_values)
        latest, number = Named(Aggregate("max", (tick,), BIGINT), "$latest"), Column("$key0", BIGINT)
        made = self._tag_groups(node, everything, order, (latest,), (Named(number, "$number"),))
        place = Named(comparing.place_of_group(Column(GROUP_LABEL, STRING)), "$place")
        ours = [Named(Column(name, BIGINT), name) for name in (latest.name, "$number")]
        names = {column.name for column in ours}
        rest = [Named(_column(field), field.name) for field in made.plan.schema.fields if field.name not in names]
        return _Lowered(RunningGroups(WindowProject((place, *ours, *rest), cast(WindowOp, made.plan))), made.marks)

    def _tag_groups(
        self,
        node: WindowTagAggregation | TagAggregation,
        below: _Lowered,
        order: tuple[TypedExpr, ...],
        more: tuple[Named, ...] = (),
        of_groups: tuple[Named, ...] = (),
    ) -> _Lowered:
        """Tuples get the number and the label of their tag group, by which they are aggregated as by any columns.

        `more` aggregates stand behind those that are asked for, and behind them what is told `of_groups`.
        """
        group, label, matching, all_of = "$group", "$label", self._name(), self._name()
        groups = WindowTagGroups(
            below.marks or Literal(None, STRING),
            order,
            *comparing.tag_groups(node.function, node.untagged),
            (group, label, matching),
            cast(WindowOp, below.plan),
        )
        keys = (Named(Column(group, BIGINT), "$key0"), Named(Column(label, STRING), "$key1"))
        counting = any(_counts_tags(column.expr) for column in node.aggregates)
        tags = Column(self._name(), STRING)  # of the tuples, whether they match or not
        plain = tuple(
            Named(column.expr, f"$aggregate{i}")
            for i, column in enumerate(node.aggregates)
            if not _counts_tags(column.expr)
        )
        collected = [Named(_collected(Column(matching, STRING)), all_of)]
        if counting:
            collected.append(Named(_collected(groups.marks), tags.name))
        aggregated = WindowAggregation(keys, (*plain, *more, *collected), groups)
        reads = [frozenset[int](), *(_reads(column.expr, node.input.schema) for column in node.aggregates)]
        marks = Named(of.of_tag_group(Column(all_of, STRING), reads), self._name())
        shown = [
            Named(Column("$key1", STRING), GROUP_LABEL),
            *(
                Named(_count(column.expr, tags, node.input.schema), column.name)
                if _counts_tags(column.expr)
                else Named(Column(f"$aggregate{i}", column.expr.type), column.name)
                for i, column in enumerate(node.aggregates)
            ),
            *(Named(Column(column.name, column.expr.type), column.name) for column in more),
            *of_groups,
        ]
        return _Lowered(WindowProject((*shown, marks), aggregated), Column(marks.name, STRING))

    def _distinct(self, node: WindowDistinct, below: _Lowered) -> _Lowered:
        assert below.marks is not None
        fields = node.schema.fields
        keys = tuple(Named(_column(field), f"$key{i}") for i, field in enumerate(fields))
        all_of = self._name()
        collected = Named(_collected(below.marks), all_of)
        groups = WindowAggregation(keys, (collected,), cast(WindowOp, below.plan))
        shown = [Named(Column(key.name, f.type), f.name) for key, f in zip(keys, fields, strict=True)]
        marks = Named(of.of_copies(Column(all_of, STRING)), self._name())
        plan: WindowOp = WindowProject((*shown, marks), groups)
        relations = {field.relation for field in fields}
        if relations == {None}:
            return _Lowered(plan, Column(marks.name, STRING))
        if len(relations) > 1:
            raise NotSupported("DISTINCT over all columns of a join WITH TAGS", hint="name the columns that you want")
        (relation,) = relations
        assert relation is not None
        return _Lowered(WindowAlias(relation, plan), Column(marks.name, STRING, relation))

    def _to_stream(self, node: Operator, below: _Lowered) -> _Lowered:
        (original,) = node.inputs
        plan = _settled(original, below)
        field = plan.schema.fields[-1]
        return _Lowered(node.with_inputs(plan), _column(field))


def _by_values(schema: Schema, below: _Lowered) -> tuple[_Lowered, tuple[TypedExpr, ...]]:
    """Tuples that did not come one by one, with their tags in order, and what puts them in order."""
    marks = below.marks or Literal(None, STRING)
    return replace(below, marks=of.in_order(marks)), (*map(_column, schema.fields), of.sayings(marks))


def _history(node: TagHistory, read: Collection[str]) -> StreamOp:
    """The log that is written beside that of the stream. Lists that nobody reads are left away: no kernel has any."""
    leaf = StreamReceive(history_name(_leaf_of(node).name), node.schema)
    columns = [f for f in node.schema.fields if f.name in read or f.type.element is None]
    if len(columns) == len(node.schema):
        return leaf
    return StreamAlias(node.relation, StreamProject(tuple(Named(_column(f), f.name) for f in columns), leaf))


def _settled(original: Operator, made: _Lowered) -> Operator:
    """The plan with the fields that it had, and behind them its marks, if it has any."""
    fields, now = original.schema.fields, made.plan.schema.fields
    has = made.marks is not None
    if len(now) == len(fields) + has and (not has or made.marks == _column(now[-1])):
        return made.plan
    if isinstance(made.plan, RStream | IStream | DStream | RelationChanges | WindowSort):
        below = _settled(original.inputs[0], _Lowered(made.plan.inputs[0], made.marks))
        return made.plan.with_inputs(below)
    columns = [Named(_column(field), field.name) for field in fields]
    if made.marks is not None:
        columns.append(Named(made.marks, f"{MARKS}0"))
    project = StreamProject if isinstance(original, StreamOp) else WindowProject
    return project(tuple(columns), cast(Any, made.plan))


def _alias(node: StreamAlias | WindowAlias, below: _Lowered) -> _Lowered:
    assert below.marks is not None
    return _Lowered(node.with_inputs(below.plan), renamed(below.marks, node.relation))


def _apart(name: str, relation: str | None) -> Schema:
    """The columns of a log from which marks are made that tell tags apart: what tags say, and whence that is told."""
    types = {MARKS_ROLE: STRING, PLACES_ROLE: STRING, TICK_ROLE: BIGINT, INDEX_ROLE: BIGINT}
    return Schema(tuple(Field(f"{name}{role}", type_, relation) for role, type_ in types.items()))


def _leaf_of(plan: Operator) -> StreamReceive | StreamAcquire:
    *_, leaf = plan.walk()
    assert isinstance(leaf, _LEAVES)
    return leaf


def _collected(marks: TypedExpr) -> Aggregate:
    """The different texts of a group, in any order, with commas between."""
    return Aggregate("listagg", (marks, Literal(",", STRING)), STRING, distinct=True)


def _counts_tags(expr: Expr) -> bool:
    return isinstance(expr, Aggregate) and expr.function in ("tag_count", "tag_score")


def _count(expr: TypedExpr, marks: TypedExpr, schema: Schema) -> TypedExpr:
    assert isinstance(expr, Aggregate)
    if expr.function == "tag_score":
        return of.scored(marks, min(_reads(expr, schema), default=None))
    first = expr.arguments[0] if expr.arguments else None
    sign = first.value if isinstance(first, Literal) else None
    return of.counted(marks, sign, min(_reads(expr, schema), default=None))


def _reads(expr: Expr, schema: Schema) -> frozenset[int]:
    return frozenset(schema.position(c.name, c.relation) for c in columns_of(expr) if c.relation != WINDOW)


def _column(field: Field) -> Column:
    return Column(field.name, field.type, field.relation)
