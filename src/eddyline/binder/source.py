"""The inputs of FROM: names and sub-queries, with their windows and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from eddyline.algebra.loop import Loop
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import WindowAlias
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamReceive
from eddyline.algebra.tag import TagHistory
from eddyline.algebra.tagging import NOBODY
from eddyline.algebra.window import LoopWindow, Scan
from eddyline.binder.detach import tagged_stream
from eddyline.binder.environment import Environment
from eddyline.binder.expression import position_of
from eddyline.binder.lookup import not_scannable
from eddyline.binder.loop import bind_loop, loop_expression
from eddyline.binder.plan import Plan, plan_of_query, with_its_tags
from eddyline.binder.scope import Relation
from eddyline.binder.window import CQL, scan_interval, window_on_stream
from eddyline.catalog.extent import SENSED, STORED, Extent
from eddyline.errors import DuplicateName, InvalidLoop, InvalidWindow, NotSupported, Position, UnknownExtent, nearest
from eddyline.language import syntax


@dataclass
class Input:
    """One item of FROM, bound as far as it can be before the expressions that read it."""

    relation: Relation
    operator: Operator  # without its window
    clause: syntax.Source
    is_table: bool = False
    static: bool = False  # a table that is not scanned
    streams: tuple[str, ...] = ()
    loop: tuple[Loop, exp.Expr, exp.Expr, str] | None = None
    cql: bool = False  # a CQL relation (or a table): windows only where it changes
    recent: bool = False  # the tag paper's [n unit]
    extent: Extent | None = None  # of a table
    position: Position | None = field(default=None, repr=False)

    @property
    def window(self) -> syntax.WindowClause | None:
        return self.clause.args.get("window")

    @property
    def is_bare_stream(self) -> bool:
        return isinstance(self.operator, StreamOp) and self.window is None and self.loop is None

    def build(self, tick_micros: int) -> Operator:
        """The operator with tick and index if they were named, and with its window."""
        operator = self.operator
        if self.extent is not None and self.extent.lookup is not None and not self.extent.is_scannable:
            raise not_scannable(self.relation.alias, self.extent.lookup.key, self.position)
        if self.relation.uses_implicit:
            operator = _showing_implicit(operator)
        if not isinstance(operator, StreamOp):
            return operator
        if self.loop is not None:
            loop, left, right, variable = self.loop
            return LoopWindow(operator, loop, loop_expression(left, variable), loop_expression(right, variable))
        if self.window is not None:
            return window_on_stream(self.window, operator, tick_micros)
        return operator


def _showing_implicit(operator: Operator) -> Operator:
    if isinstance(operator, StreamReceive | StreamAcquire):
        return replace(operator, implicit=True)
    return operator.with_inputs(*(_showing_implicit(o) for o in operator.inputs))


def bind_inputs(sources: Sequence[syntax.Source], loops: Sequence[syntax.Loop], env: Environment) -> list[Input]:
    inputs: list[Input] = []
    for source in sources:
        bound = _bind_input(source, env, len(inputs))
        if any(other.relation.alias.lower() == bound.relation.alias.lower() for other in inputs):
            hint = "give each its own alias, e.g. FROM s AS a, s AS b"
            raise DuplicateName(f"{bound.relation.alias} stands twice in FROM", bound.position, hint)
        inputs.append(bound)
    for loop in loops:
        _apply_loop(loop, inputs)
    if loops:
        _check_all_looped(inputs, loops[0])
    return inputs


def _bind_input(source: syntax.Source, env: Environment, number: int) -> Input:
    if isinstance(source.this, syntax.TagsOf):
        return _tags_of(source, env)
    if isinstance(source.this, syntax.Query):
        return _subquery(source, env.bind_plan(source.this, env), number)
    name: syntax.Name = source.this
    text = name.text_form
    definition = env.definitions.get(text.lower())
    if definition is not None:
        plan = with_its_tags(definition, position_of(name), text) if env.tagged else definition
        return _subquery(source, plan, number, name)
    extent = env.catalog.extent(text)
    if extent is not None:
        return _extent(source, extent, env)
    query = env.catalog.query(text)
    if query is not None:
        plan = plan_of_query(query, position_of(name), text)
        return _subquery(source, with_its_tags(plan, position_of(name), text) if env.tagged else plan, number, name)
    if env.catalog.is_one_of_many(text):
        # it can go while this one stands, and with it the constants that this one would need after a restart
        raise NotSupported(
            f"{text} is one of the queries that db.queries made, and these cannot be read by others",
            position_of(name),
            "write its SELECT in parentheses instead, with its constants, or make it with CREATE QUERY",
        )
    guess = nearest(text, env.known_names())
    hint = f"did you mean {guess}?" if guess else "create it first with CREATE STREAM, CREATE TABLE or CREATE QUERY"
    raise UnknownExtent(f"there is no stream, table or query {text}", position_of(name), hint)


def _alias_of(source: syntax.Source, default: str) -> str:
    alias = source.args.get("alias")
    return alias.name if alias is not None else default


def _extent(source: syntax.Source, extent: Extent, env: Environment) -> Input:
    parts: tuple[str, ...] = source.this.parts
    alias = _alias_of(source, extent.name.rsplit(".", 1)[-1])
    declared = extent.schema.renamed(alias)
    known_as = () if source.args.get("alias") else parts
    relation = Relation(alias, known_as, declared)
    position = position_of(source.this)
    clause = source.args.get("window")
    if extent.kind == STORED:
        interval = scan_interval(clause, alias, env.tick_micros)
        scan = Scan(extent.name, declared, interval)
        return Input(relation, scan, source, True, interval is None, cql=True, extent=extent, position=position)
    stream: StreamOp
    if extent.kind == SENSED:
        stream = StreamAcquire(extent.name, declared, extent.interval, extent.sites, tick_tags=env.tagged)
    else:
        stream = StreamReceive(extent.name, declared, tick_tags=env.tagged)
    relation.has_implicit = clause is None
    bound = Input(relation, stream, source, streams=(extent.name,), position=position)
    return _noting_window(bound)


def _tags_of(source: syntax.Source, env: Environment) -> Input:
    """The tick-tags of a stream, as tuples."""
    extent = tagged_stream(source.this.this, env.catalog)
    alias = _alias_of(source, extent.name.rsplit(".", 1)[-1])
    inner = source.copy()
    inner.set("this", source.this.this)
    inner.set("window", None)
    received = _extent(inner, extent, env.with_tags(True)).operator
    assert isinstance(received, StreamReceive | StreamAcquire)
    tags = TagHistory(alias, replace(received, taggers_upto=NOBODY))  # what queries make, it finds itself
    known_as = () if source.args.get("alias") else source.this.this.parts
    position = position_of(source)
    return _noting_window(
        Input(Relation(alias, known_as, tags.schema), tags, source, streams=(extent.name,), position=position)
    )


def _noting_window(bound: Input) -> Input:
    bound.cql = isinstance(bound.window, CQL)
    bound.recent = isinstance(bound.window, syntax.RecentWindow)
    return bound


def _subquery(source: syntax.Source, plan: Plan, number: int, name: syntax.Name | None = None) -> Input:
    alias = _alias_of(source, name.parts[-1] if name is not None else f"sub{number + 1}")
    operator = plan.operator
    clause = source.args.get("window")
    position = position_of(source)
    if isinstance(operator, StreamOp):
        aliased: Operator = StreamAlias(alias, operator)
    else:
        if clause is not None:
            hint = "wrap the sub-query in RSTREAM(…) or ISTREAM(…) to make it a stream of tuples"
            raise InvalidWindow("this sub-query gives windows already", position_of(clause), hint)
        assert isinstance(operator, WindowOp)
        aliased = WindowAlias(alias, operator)
    relation = Relation(alias, (), aliased.schema)
    bound = Input(relation, aliased, source, streams=plan.streams, position=position)
    if clause is not None:
        return _noting_window(bound)
    bound.cql, bound.recent = plan.relation, plan.recent
    return bound


def _apply_loop(node: syntax.Loop, inputs: list[Input]) -> None:
    loop = bind_loop(node)
    for window in node.args["windows"]:
        name: syntax.Name = window.this
        position = position_of(name)
        target = next((i for i in inputs if i.relation.answers_to(name.parts)), None)
        if target is None:
            guess = nearest(name.text_form, [i.relation.alias for i in inputs])
            hint = f"did you mean {guess}?" if guess else None
            raise InvalidLoop(f"WindowIs names {name.text_form}, which is not in FROM", position, hint)
        if target.is_table:
            raise InvalidWindow(
                f"{target.relation.alias} is a table, and a table has no window", position, "leave its WindowIs out"
            )
        if target.window is not None or target.loop is not None or isinstance(target.operator, WindowOp):
            raise InvalidLoop(f"{target.relation.alias} has a window already", position)
        target.loop = (loop, window.args["left"], window.args["right"], node.args["variable"])
        target.relation.has_implicit = False


def _check_all_looped(inputs: list[Input], loop: syntax.Loop) -> None:
    bare = next((i for i in inputs if i.is_bare_stream), None)
    if bare is not None:
        alias = bare.relation.alias
        raise InvalidLoop(
            f"{alias} is a stream, but no WindowIs gives it a window",
            position_of(loop),
            f"write WindowIs({alias}, …, …); in one of the loops",
        )
