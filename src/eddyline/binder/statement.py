"""Statements: what each one asks the session to do, with all names and types resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sqlglot import exp

from eddyline.algebra.tag import USER, Tagger
from eddyline.algebra.types import DataType
from eddyline.algebra.user_function import UserFunction
from eddyline.binder.attach import bind_attach, bind_continuous
from eddyline.binder.connection import Connect, Disconnect, ShowPoints, bind_point, bound_drop, check_free, shown
from eddyline.binder.data import Insert as Insert
from eddyline.binder.data import Revise as Revise
from eddyline.binder.data import bind_data
from eddyline.binder.detach import DetachOnce, ShowTags, bind_detach, bind_show_tags
from eddyline.binder.duration import micros_of
from eddyline.binder.environment import Environment
from eddyline.binder.explain import Show, bind_explain
from eddyline.binder.expression import TYPE, position_of
from eddyline.binder.extent import bind_extent
from eddyline.binder.function import Load, bind_function, declared, mark_calls
from eddyline.binder.history import from_history
from eddyline.binder.limit import cpu_limit, memory_limit
from eddyline.binder.query import bind_plan, bind_query
from eddyline.binder.revisions import ShowRevisions, bind_show_revisions
from eddyline.binder.setting import with_settings
from eddyline.binder.tag_function import bind_tag_function
from eddyline.binder.tag_rows import check_history, check_tagger
from eddyline.binder.window import tick_of
from eddyline.binder.words import DefineWords, DropWords, bind_drop_words, bind_words
from eddyline.catalog.catalog import BoundQuery, Catalog
from eddyline.catalog.connection import ConnectionPoint
from eddyline.catalog.extent import Extent
from eddyline.errors import (
    DuplicateName,
    InvalidDefinition,
    NotSupported,
    Position,
    SyntaxProblem,
    UnknownFunction,
    UnknownName,
    nearest,
)
from eddyline.language import syntax

#: the column of a table of constants that says how the queries of a template are called
NAMES = "name"


@dataclass(frozen=True)
class Define:
    """An extent exists from here on."""

    extent: Extent


@dataclass(frozen=True)
class Register:
    """A standing query begins."""

    name: str
    query: BoundQuery
    tagger: tuple[str, Tagger] | None = None  # of a continuous tagging query: the stream and what tags it


@dataclass(frozen=True)
class Withdraw:
    """A standing query ends."""

    name: str


@dataclass(frozen=True)
class WithdrawLike:
    """All standing queries end whose names are LIKE a pattern; `names` are those that were created one by one."""

    pattern: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class ShowQueries:
    """The standing queries whose names are LIKE a pattern are listed."""

    name: str  # of the list, queries1, queries2, …
    pattern: str
    known: tuple[tuple[str, str], ...]  # names and kinds of those that were created one by one
    columns: ClassVar[tuple[str, str]] = ("name", "kind")


@dataclass(frozen=True)
class DefineFunction:
    """A user's function exists from here on."""

    function: UserFunction


@dataclass(frozen=True)
class DropFunction:
    """A user's function, which no query uses, is no longer there."""

    function: UserFunction


@dataclass(frozen=True)
class ShowFunctions:
    """The user's functions whose names are LIKE a pattern are listed."""

    name: str  # of the list, functions1, functions2, …
    known: tuple[tuple[str, str, str], ...]  # name, types of the arguments, type of the result
    columns: ClassVar[tuple[str, str, str]] = ("name", "arguments", "returns")


@dataclass(frozen=True)
class FlushRevisions:
    """What is withheld of a query's answer is shown; without a name, that of all queries."""

    query: str | None


@dataclass(frozen=True)
class AttachOnce:
    """An ad hoc tag takes its place in the stream."""

    extent: Extent
    tagger: Tagger


#: statements that change what calls and words mean
Vocabulary = DefineFunction | DropFunction | DefineWords | DropWords
_Definition = Define | Register | Withdraw | WithdrawLike | Vocabulary | Connect | Disconnect
#: statements that change nothing
Asking = Show | ShowQueries | ShowFunctions | ShowRevisions | ShowPoints | ShowTags
Step = _Definition | Insert | Revise | FlushRevisions | AttachOnce | DetachOnce | Asking


@dataclass
class StatementBinder:
    """Binds the statements of a script in their order; the catalog grows with them."""

    catalog: Catalog = field(default_factory=Catalog)
    without_rules: frozenset[str] = frozenset()
    load: Load = declared
    _bare_queries: int = 0
    _explained: int = 0
    _shown: int = 0

    def bind(self, tree: exp.Expr) -> list[Step]:
        mark_calls(tree, self.catalog.functions)
        return _HANDLERS[_kind_of(tree)](self, tree)

    @property
    def _env(self) -> Environment:
        return Environment(self.catalog, bind_plan)

    # -- definitions --------------------------------------------------------------------------------------------------

    def _extent(self, node: syntax.Extent) -> list[Step]:
        extent = bind_extent(node, self.catalog, self.load)
        if extent is None:
            return []
        self.catalog.add_extent(extent)
        return [Define(extent)]

    def _create_function(self, node: syntax.CreateFunction) -> list[Step]:
        function = bind_function(node, self.catalog, self.load)
        if function is None:
            return []
        self.catalog.functions[function.name.lower()] = function
        return [DefineFunction(function)]

    def _create_tag_function(self, node: syntax.CreateTagFunction) -> list[Step]:
        function = bind_tag_function(node, self.catalog, self.load)
        if function is None:
            return []
        self.catalog.tag_functions[function.name.lower()] = function
        return [DefineFunction(function)]

    def _create_words(self, node: syntax.CreateWords) -> list[Step]:
        step = bind_words(node, self.catalog)
        return [] if step is None else [step]

    def _drop_words(self, node: syntax.DropWords) -> list[Step]:
        step = bind_drop_words(node, self.catalog)
        return [] if step is None else [step]

    def _create_query(self, node: syntax.CreateQuery) -> list[Step]:
        name = node.this.text_form
        if self.catalog.is_taken(name):
            raise DuplicateName(f"{name} exists already", position_of(node.this))
        if isinstance(node.args["query"], syntax.AttachTag):
            if node.args.get("history"):
                raise InvalidDefinition(
                    "a query that tags a stream tags the rows that come while it stands, and none of the past",
                    position_of(node),
                    "leave FROM HISTORY out",
                )
            return self._tag_continuously(node.args["query"], name, node.args.get("settings") or ())
        query = bind_query(node.args["query"], self._env)
        query = with_settings(query, node.args.get("settings") or ())
        if node.args.get("history"):
            since = node.args.get("since")
            query = from_history(query, None if since is None else tick_of(since, self.catalog.tick_micros))
        return self._register(name, query, position_of(node))

    def template(self, tree: exp.Expr, types: Mapping[str, DataType]) -> BoundQuery:
        """A query with parameters, of which the types are given by name; it is not entered into the catalog."""
        if not isinstance(tree, syntax.Query):
            raise SyntaxProblem("a template is a query: SELECT …", position_of(tree), "leave CREATE QUERY away")
        for placeholder in tree.find_all(exp.Placeholder):
            alike = [name for name in types if name.lower() == placeholder.name.lower()]
            if placeholder.name not in types and len(alike) == 1:
                placeholder.set("this", alike[0])
            if placeholder.name not in types:
                raise _unknown_parameter(placeholder, types)
            placeholder.meta[TYPE] = types[placeholder.name]
        mark_calls(tree, self.catalog.functions)
        return bind_query(tree, self._env)

    def _bare_query(self, node: syntax.Query) -> list[Step]:
        query = bind_query(node, self._env)
        return self._register(self._next_name(), query, position_of(node))

    def _next_name(self) -> str:
        while True:
            self._bare_queries += 1
            name = f"q{self._bare_queries}"
            if self.catalog.query(name) is None and self.catalog.extent(name) is None:
                return name

    def _register(self, name: str, query: BoundQuery, position: Position | None) -> list[Step]:
        check_history(query, self.catalog, position)
        self.catalog.add_query(name, query)
        return [Register(name, query)]

    def _drop(self, node: syntax.Drop) -> list[Step]:
        name, kind = node.this.text_form, node.args["kind"]
        if kind == "FUNCTION":
            return self._drop_function(node, self.catalog.functions)
        if kind == "TAG FUNCTION":
            return self._drop_function(node, self.catalog.tag_functions)
        if kind == "CONNECTION POINT":
            found = bound_drop(node, self.catalog)
            return [] if found is None else [self._disconnected(found)]
        if kind != "QUERY":
            raise NotSupported(f"a {kind.lower()} stays: there is no DROP {kind.upper()}", position_of(node))
        if self.catalog.query(name) is None and self.catalog.is_one_of_many(name):
            return [Withdraw(name)]
        if self.catalog.query(name) is None:
            if node.args.get("exists"):
                return []
            guess = nearest(name, (self.catalog.names[key] for key in self.catalog.queries))
            hint = f"did you mean {guess}?" if guess else None
            raise UnknownName(f"there is no query {name}", position_of(node.this), hint)
        if not node.args.get("cascade"):
            check_free([name], self.catalog, position_of(node.this))
        gone: list[Step] = [self._disconnected(point) for point in self.catalog.points_on(name)]
        self.catalog.drop_query(name)
        return [*gone, Withdraw(self.catalog.names[name.lower()])]

    def _create_point(self, node: syntax.CreatePoint) -> list[Step]:
        point = bind_point(node, self.catalog)
        if point is None:
            return []
        self.catalog.points[point.name.lower()] = point
        return [Connect(point)]

    def _disconnected(self, point: ConnectionPoint) -> Disconnect:
        del self.catalog.points[point.name.lower()]
        return Disconnect(point)

    def _show_points(self, node: syntax.ShowPoints) -> list[Step]:
        self._shown += 1
        points = self.catalog.points_like(node.this.name if node.this else "%")
        return [shown(f"points{self._shown}", points, self.catalog)]

    def _drop_function(self, node: syntax.Drop, functions: dict[str, UserFunction]) -> list[Step]:
        name = node.this.text_form
        function = functions.get(name.lower())
        if function is None:
            if node.args.get("exists"):
                return []
            guess = nearest(name, (known.name for known in functions.values()))
            hint = f"did you mean {guess}?" if guess else None
            raise UnknownFunction(
                f"there is no {node.args['kind'].lower()} {name} of yours", position_of(node.this), hint
            )
        user = self.catalog.user_of(function)
        if user is not None:
            hint = "drop the queries that call it first"
            raise InvalidDefinition(f"{function.name} is in use: {user} calls it", position_of(node.this), hint)
        del functions[name.lower()]
        return [DropFunction(function)]

    def _drop_queries(self, node: syntax.DropQueries) -> list[Step]:
        names = tuple(self.catalog.queries_like(node.this.name))
        check_free(names, self.catalog, position_of(node.this))
        for name in names:
            self.catalog.drop_query(name)
        return [WithdrawLike(node.this.name, names)]

    def _show_queries(self, node: syntax.ShowQueries) -> list[Step]:
        self._shown += 1
        pattern = node.this.name if node.this else "%"
        known = [(name, self.catalog.queries[name.lower()].kind) for name in self.catalog.queries_like(pattern)]
        return [ShowQueries(f"queries{self._shown}", pattern, tuple(known))]

    def _flush_revisions(self, node: syntax.FlushRevisions) -> list[Step]:
        if node.this is None:
            return [FlushRevisions(None)]
        name = node.this.text_form
        query = self.catalog.query(name) or self.catalog.one_of_many(name)
        if query is None and self.catalog.extent(name) is not None:
            hint = "name a query with revise_if; FLUSH REVISIONS alone is for all of them"
            raise InvalidDefinition(f"{name} is no query: nothing is withheld of it", position_of(node.this), hint)
        if query is None:
            guess = nearest(name, (self.catalog.names[key] for key in self.catalog.queries))
            raise UnknownName(
                f"there is no query {name}", position_of(node.this), f"did you mean {guess}?" if guess else None
            )
        return [FlushRevisions(self.catalog.names.get(name.lower(), name))]

    def _show_functions(self, node: syntax.ShowFunctions) -> list[Step]:
        self._shown += 1
        known = tuple(
            (function.name, ", ".join(map(str, function.arguments)), str(function.returns))
            for function in self.catalog.functions_like(node.this.name if node.this else "%")
        )
        return [ShowFunctions(f"functions{self._shown}", known)]

    def _show_revisions(self, node: syntax.ShowRevisions) -> list[Step]:
        self._shown += 1
        return [bind_show_revisions(node, self.catalog, f"revisions{self._shown}")]

    def _set_tick(self, node: syntax.SetTick) -> list[Step]:
        if self.catalog.extents or self.catalog.queries:
            raise InvalidDefinition(
                "SET TICK comes before everything that counts ticks", position_of(node), "make it the first statement"
            )
        micros = micros_of(node.this.name, position_of(node.this), InvalidDefinition)
        if micros <= 0:
            raise InvalidDefinition("a tick cannot be 0 long", position_of(node.this))
        self.catalog.tick_micros = micros
        return []

    def _set_limit(self, node: syntax.SetLimit) -> list[Step]:
        value = node.args.get("value")
        if node.args["this"] == "cpu_limit":
            self.catalog.cpu_limit = None if value is None else cpu_limit(value)
        else:
            self.catalog.memory_limit = None if value is None else memory_limit(value)
        return []

    def _explain(self, node: syntax.Explain) -> list[Step]:
        if not isinstance(node.this, syntax.Name):
            self._explained += 1
        return [bind_explain(node, self._env, f"explain{self._explained}", self.without_rules)]

    # -- data ---------------------------------------------------------------------------------------------------------

    def _data(self, node: syntax.InsertRows | syntax.UpdateRows | syntax.DeleteRows) -> list[Step]:
        return [bind_data(node, self.catalog)]

    def _attach(self, node: syntax.AttachTag) -> list[Step]:
        if not node.args.get("continuously"):
            extent, tagger = bind_attach(node, self._env, USER)
            return [AttachOnce(extent, tagger)]
        return self._tag_continuously(node, self._next_name())

    def _detach(self, node: syntax.DetachTag) -> list[Step]:
        return [bind_detach(node, self.catalog)]

    def _show_tags(self, node: syntax.ShowTags) -> list[Step]:
        self._shown += 1
        return [bind_show_tags(node, self.catalog, f"tags{self._shown}")]

    def _tag_continuously(self, node: syntax.AttachTag, name: str, settings: Sequence[Any] = ()) -> list[Step]:
        if not node.args.get("continuously"):
            raise InvalidDefinition(
                "an ad hoc tag is no query",
                position_of(node),
                "write ATTACH TAG … CONTINUOUSLY, or leave CREATE QUERY out",
            )
        extent, tagger, query = bind_continuous(node, self._env, name)
        query = with_settings(query, settings)
        check_tagger(extent.name, self.catalog, position_of(node))
        self.catalog.add_query(name, query)
        self.catalog.add_tagger(extent.name, name, tagger)
        return [Register(name, query, (extent.name, tagger))]


_HANDLERS: dict[type[exp.Expr], Callable[[StatementBinder, Any], list[Step]]] = {
    syntax.Extent: StatementBinder._extent,
    syntax.CreateQuery: StatementBinder._create_query,
    syntax.Query: StatementBinder._bare_query,
    syntax.CreateFunction: StatementBinder._create_function,
    syntax.CreateTagFunction: StatementBinder._create_tag_function,
    syntax.CreateWords: StatementBinder._create_words,
    syntax.DropWords: StatementBinder._drop_words,
    syntax.Drop: StatementBinder._drop,
    syntax.DropQueries: StatementBinder._drop_queries,
    syntax.ShowQueries: StatementBinder._show_queries,
    syntax.ShowFunctions: StatementBinder._show_functions,
    syntax.ShowRevisions: StatementBinder._show_revisions,
    syntax.FlushRevisions: StatementBinder._flush_revisions,
    syntax.CreatePoint: StatementBinder._create_point,
    syntax.ShowPoints: StatementBinder._show_points,
    syntax.SetTick: StatementBinder._set_tick,
    syntax.SetLimit: StatementBinder._set_limit,
    syntax.Explain: StatementBinder._explain,
    syntax.InsertRows: StatementBinder._data,
    syntax.UpdateRows: StatementBinder._data,
    syntax.DeleteRows: StatementBinder._data,
    syntax.AttachTag: StatementBinder._attach,
    syntax.DetachTag: StatementBinder._detach,
    syntax.ShowTags: StatementBinder._show_tags,
}


def _kind_of(tree: exp.Expr) -> type[exp.Expr]:
    return syntax.Query if isinstance(tree, syntax.Query) else type(tree)


def _unknown_parameter(placeholder: exp.Placeholder, types: Mapping[str, DataType]) -> UnknownName:
    name = placeholder.name
    if name.lower() == NAMES:
        hint = f"give the values for :{name} in a column with another name"
        return UnknownName(f"the column {NAMES} says how the queries are called", position_of(placeholder), hint)
    guess = nearest(name, types)
    hint = f"did you mean {guess}?" if guess else f"the constants have {', '.join(types)}"
    return UnknownName(f"the constants have no column {name}", position_of(placeholder), hint)
