"""The states of join trees that are kept for all queries of the common batch that need them.

Which these are follows from the trees alone: it is found out anew before each batch. A joined set that several trees
store is made once, by the tree of the query that has stood longest, with the columns that any of them wants. A state
whose columns are enough for all is used as it is; else another one is begun in its place.

A state that nobody wants is given up by the next batch, whose record says so: each record either adds to a state or
ends it. So whatever is killed, a state that has a beginning is as old as the last batch. Queries with lanes of their
own are behind that, and keep states for themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from eddyline.algebra.expression import Column, TypedExpr
from eddyline.log.results import StageResult
from eddyline.planner.graph import mask_of, members
from eddyline.planner.probing import Probing
from eddyline.planner.tree import JTree, leaf, node
from eddyline.spark.evaluate.batch import Clock
from eddyline.spark.join_at_work import JoinAtWork
from eddyline.spark.join_identity import SHARED, JoinedSet, SharedInputs, text_of
from eddyline.spark.join_inputs import Condition, JoinInputs, JoinNode, SharedLog, joined_plan, state_stage
from eddyline.spark.stages import Stage
from eddyline.spark.standing import Standing

#: lives are counted from a tick that is before all of them, and a multiple of nothing in particular
_FIRST = -(2**60)
#: a state that was given up is forgotten so many batches later: until then a snapshot may be made of its end
_REMEMBERED = 16

Columns = dict[str, TypedExpr]  # by text


@dataclass
class _Wanted:
    """A joined set that is to be stored, as the first query has it that wants it."""

    join: JoinAtWork
    tree: JTree
    found: JoinedSet
    columns: list[Columns]  # of each of its inputs, in the order of the set
    users: list[str] = field(default_factory=list)

    def want(self, columns: Sequence[Columns]) -> None:
        for mine, theirs in zip(self.columns, columns, strict=True):
            mine.update(theirs)


@dataclass(frozen=True)
class _Log:
    """The log that a joined set is stored in, and the columns of each input there, in their order."""

    name: str
    columns: tuple[tuple[str, ...], ...]

    def place(self, at: int, text: str) -> int:
        return sum(map(len, self.columns[:at])) + self.columns[at].index(text)


@dataclass(frozen=True)
class Turned:
    """The orders of probes of a join, asked for by the numbers that a shared state has for the same inputs."""

    probing: Probing
    inputs: tuple[int, ...]

    def _masks(self, masks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(mask_of(self.inputs[at] for at in members(mask)) for mask in masks)

    def order(self, masks: tuple[int, ...], first: int) -> Sequence[int]:
        return self.probing.order(self._masks(masks), first)

    def beginning(self, masks: tuple[int, ...]) -> int:
        return self.probing.beginning(self._masks(masks))

    def is_anew(self, masks: tuple[int, ...]) -> bool:
        return self.probing.is_anew(self._masks(masks))


class SharedStates:
    """All of them, as the queries of the last batch wanted them."""

    def __init__(self) -> None:
        self.enabled = True  # False: each query keeps its own, to measure what they cost
        self.standing = Standing(SHARED, (), _FIRST, False, Clock())
        self.users: dict[str, tuple[str, ...]] = {}  # by state, the queries that read it, or a state made of it
        self._probing: dict[str, tuple[JoinAtWork, tuple[int, ...]]] = {}
        self._columns: dict[str, tuple[_Log, list[Columns]]] = {}  # by what is joined, as it is stored now
        self._stages: dict[tuple[str, JTree, object], Stage] = {}

    @property
    def stages(self) -> Sequence[Stage]:
        return self.standing.stages

    def arrange(self, queries: Sequence[Standing], known: Mapping[str, StageResult]) -> None:
        """Find out what is wanted, and tell each query where its states are."""
        joins = [(query, query.join) for query in queries if query.join is not None]
        wanted: dict[str, _Wanted] = {}
        for query, join in joins:
            for tree in _outermost(join.identity, join.tree) if self.enabled else ():
                _want(wanted, join, tree, query.name, _own_columns(join.identity, tree.mask))
        logs: dict[str, tuple[_Log, list[Columns]]] = {}
        # larger ones first: what they are made of must have all of their columns
        for size in range(max((len(one.found.inputs) for one in wanted.values()), default=0), 1, -1):
            for key, one in [(key, one) for key, one in wanted.items() if len(one.found.inputs) == size]:
                logs[key] = self._log(key, one, known)
                for child in one.tree.children:
                    if not child.is_leaf:
                        columns = _columns_below(one, logs[key][1], child)
                        for user in one.users:
                            _want(wanted, one.join, child, user, columns)
        self._columns = logs
        self._stages = {
            place: stage for place, stage in self._stages.items() if place[0] in {x.name for x, _ in logs.values()}
        }
        self.standing.stages = [self._stage(one, logs) for one in sorted(wanted.values(), key=_size)]
        self.users = {logs[key][0].name: tuple(dict.fromkeys(one.users)) for key, one in wanted.items()}
        self._probing = {logs[key][0].name: (one.join, one.found.inputs) for key, one in wanted.items()}
        for query, join in joins:
            masks = [one.mask for one in _stored(join.tree)]
            keyed = {mask: join.identity.key(mask) for mask in masks}
            query.share(tuple((m, _shared(join.identity, m, logs[k][0])) for m, k in keyed.items() if k in logs))

    def probing(self, state: str) -> Turned | None:
        """In which orders the parts of a state probe each other."""
        join, inputs = self._probing[state]
        return None if join.probing is None else Turned(join.probing, inputs)

    @staticmethod
    def kept(known: Iterable[str]) -> list[str]:
        """Those that there are, or were a while ago."""
        return [name for name in known if is_shared(name)]

    def outdated(self, known: Mapping[str, StageResult], batch: int) -> list[str]:
        """Those that were given up so long ago that no snapshot can still be made of what they were."""
        standing = {stage.name for stage in self.stages}
        return [
            name
            for name, had in known.items()
            if is_shared(name) and name not in standing and had.start is None and had.since < batch - _REMEMBERED
        ]

    # -- how they are made --------------------------------------------------------------------------------------------

    def _log(self, key: str, one: _Wanted, known: Mapping[str, StageResult]) -> tuple[_Log, list[Columns]]:
        """The log that there is, if it has all columns; else a new one."""
        there = self._columns.get(key)
        if there is not None:
            log, columns = there
            whole = log.name in known and known[log.name].start is not None
            if whole and all(mine.keys() <= has.keys() for mine, has in zip(one.columns, columns, strict=True)):
                return there
        texts = tuple(tuple(sorted(columns)) for columns in one.columns)
        digest = hashlib.sha256(repr(texts).encode()).hexdigest()[:8]
        return _Log(f"{SHARED}/{key}-{digest}", texts), one.columns

    def _stage(self, one: _Wanted, logs: Mapping[str, tuple[_Log, list[Columns]]]) -> Stage:
        identity = one.join.identity
        log, columns = logs[one.found.key]
        below = {}
        for child in _stored(one.tree):
            key = identity.key(child.mask)
            if key is not None and key in logs:
                mask = _positions(one.found, child.mask)
                below[mask] = _below(one, log, child, logs[key][0])
        tree = _turned(one.tree, one.found)
        own = SharedLog(log.name, tuple(range(sum(map(len, log.columns)))))
        shared = ((tree.mask, own), *below.items())
        place = (log.name, tree, shared)
        if place not in self._stages:
            node_ = JoinNode(_inputs(one, log, columns), SHARED, tree, shared)
            self._stages[place] = state_stage(node_)
        return self._stages[place]


def is_shared(name: str) -> bool:
    return name.startswith(f"{SHARED}/")


def _size(one: _Wanted) -> int:
    return len(one.found.inputs)


def _stored(tree: JTree) -> list[JTree]:
    return [one for one in tree.nodes() if one is not tree]


def _outermost(identity: SharedInputs, tree: JTree) -> Iterator[JTree]:
    """The states that others could have, too, without those inside of them."""
    for child in tree.children:
        if not child.is_leaf:
            if identity.key(child.mask) is not None:
                yield child
            else:
                yield from _outermost(identity, child)


def _want(wanted: dict[str, _Wanted], join: JoinAtWork, tree: JTree, user: str, columns: Sequence[Columns]) -> None:
    found = join.identity.joined(tree.mask)
    assert found is not None
    one = wanted.setdefault(found.key, _Wanted(join, tree, found, [{} for _ in found.inputs]))
    one.want(columns)
    one.users.append(user)


def _own_columns(identity: SharedInputs, mask: int) -> list[Columns]:
    """What a join shows of each input of a set."""
    found = identity.joined(mask)
    assert found is not None
    return [{text_of(expr): expr for expr in identity.traced(at).columns} for at in found.inputs]


def _columns_below(one: _Wanted, columns: Sequence[Columns], child: JTree) -> list[Columns]:
    """The columns that a state has of the inputs of a part of it, in the order of that part."""
    part = one.join.identity.joined(child.mask)
    assert part is not None
    return [columns[one.found.inputs.index(at)] for at in part.inputs]


def _positions(found: JoinedSet, mask: int) -> int:
    """Inputs of a join, as the joined set numbers them."""
    return mask_of(found.inputs.index(at) for at in members(mask))


def _turned(tree: JTree, found: JoinedSet) -> JTree:
    if tree.is_leaf:
        return leaf(found.inputs.index(tree.mask.bit_length() - 1))
    return node(_turned(child, found) for child in tree.children)


def _shared(identity: SharedInputs, mask: int, log: _Log) -> SharedLog:
    """Where the columns of a join's inputs are in the log of a joined set, in the order of the join."""
    found = identity.joined(mask)
    assert found is not None
    places = [
        log.place(found.inputs.index(at), text_of(expr)) for at in members(mask) for expr in identity.traced(at).columns
    ]
    return SharedLog(log.name, tuple(places))


def _below(one: _Wanted, log: _Log, child: JTree, part: _Log) -> SharedLog:
    """The same for a state that is made of another: its inputs show all columns of its log."""
    found = one.join.identity.joined(child.mask)
    assert found is not None
    places = []
    for at in sorted(members(child.mask), key=one.found.inputs.index):
        inside = found.inputs.index(at)
        places += [part.place(inside, text) for text in log.columns[one.found.inputs.index(at)]]
    return SharedLog(part.name, tuple(places))


def _inputs(one: _Wanted, log: _Log, columns: Sequence[Columns]) -> JoinInputs:
    """The inputs of a joined set with all columns that its log has, under names of their own."""
    identity, order = one.join.identity, one.found.inputs
    inputs = tuple(
        identity.traced(at).showing(f"s{place}", [columns[place][text] for text in log.columns[place]])
        for place, at in enumerate(order)
    )

    def renamed(at: int, expr: TypedExpr) -> TypedExpr:
        place = order.index(at)
        return Column(f"v{log.columns[place].index(text_of(expr))}", expr.type, f"s{place}")

    conditions = tuple(
        Condition(identity.rewritten(c.expr, renamed), _positions(one.found, c.inputs))
        for c in identity.conditions(mask_of(order))
    )
    plan = joined_plan(inputs, [c.expr for c in conditions])
    return JoinInputs(plan, inputs, conditions, (1 << len(order)) - 1, one.join.of.is_relation)
