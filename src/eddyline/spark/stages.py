"""Cutting a plan into stages: each reads logs and writes one, so that a derived stream is a log like any other.

A stage is one of these kinds of work:
- a *linear* stage selects and projects the tuples of one log, tuple by tuple;
- a *look-up* stage puts each tuple beside the rows of a table;
- a *window* stage makes windows of logs and tables and ends in windows, a stream or the changes of a relation;
- a *slices* stage keeps what an aggregation has counted and added up so far, slice by slice, for the stage it stands
  beside: with that, a correction need not look at tuples again;
- a *state* stage keeps what a node of a join tree gives, for the nodes above it (`join_inputs.py`);
- a *waiting* stage keeps the tuples of a look-up whose key is not known yet, for that one (`evaluate/asked.py`).
Beside a stage that numbers its tuples for each member of a query class, there is another now and then that writes down
how far each has come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eddyline.algebra.first_tags import FirstTags
from eddyline.algebra.marks import KIND
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import RelationChanges
from eddyline.algebra.remote import Remote, is_remote
from eddyline.algebra.revision import ReviseIf, StreamRevise, WindowRevise
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.sharing import NUMBER, LastNumbers, StreamMatch
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
from eddyline.algebra.tag import Tagger
from eddyline.algebra.tag_groups import RunningGroups
from eddyline.algebra.tag_matches import TagMatches
from eddyline.algebra.window import LatestRowsWindow, RangeWindow, RowWindow, Scan
from eddyline.errors import NotSupported
from eddyline.log import adding

if TYPE_CHECKING:
    from eddyline.spark.join_inputs import JoinNode

LINEAR, LOOKUP, WINDOWS, STREAM, RELATION, NUMBERS = "linear", "lookup", "windows", "stream", "relation", "numbers"
SLICES, STATE, WAITING = adding.SLICES, "state", "waiting"
#: behind the name of a stage, the log of the tuples that wait for a table to answer
_WHO_WAITS = "/waiting"
#: in that log, the column behind those of the tuple: the key that it asks for
ASKED = "asked"
#: behind the name of a stage, the stage that writes its numbers down
_ITS_NUMBERS = "#numbers"
_FROM_LOG = (StreamReceive, StreamAcquire)
_PER_TUPLE = (StreamSelect, StreamProject, StreamAlias, StreamMatch)
_TO_STREAM = (RStream, IStream, DStream, RunningGroups, TagMatches, FirstTags)


@dataclass(frozen=True)
class Stage:
    """One step of a query. `name` is also that of the log it writes; the last stage has the query's own name."""

    name: str
    kind: str
    plan: Operator
    columns: tuple[str, ...]  # of the log it writes
    written: Schema | None = None  # of that log, if it is not what the plan gives
    revise: ReviseIf | None = None  # which corrections of its log are shown; without it, all are
    of: str | None = None  # the query whose setting that is, if it is read by another
    joined: JoinNode | None = None  # how its join runs, or of which node of a join tree it is the state

    @property
    def states(self) -> tuple[str, ...]:
        """The states of a join tree that it reads."""
        return () if self.joined is None else self.joined.states

    @property
    def asked(self) -> str | None:
        """The table that is asked by key."""
        node = self.plan
        return node.table.table if isinstance(node, StreamLookup) and isinstance(node.table, Remote) else None

    @property
    def streams(self) -> tuple[str, ...]:
        """The logs it reads."""
        found = [op.name for op in self.plan.walk() if isinstance(op, _FROM_LOG)]
        return tuple(dict.fromkeys(found))

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(op.table for op in self.plan.walk() if isinstance(op, Scan)))

    @property
    def tells_tags(self) -> bool:
        """Whether tick-tags are rows for it, as tuples are."""
        return any(KIND in op.declared.names for op in self.plan.walk() if isinstance(op, _FROM_LOG))

    @property
    def schema(self) -> Schema:
        return self.plan.schema if self.written is None else self.written

    @property
    def counts_for_each(self) -> bool:
        """Whether its tuples are numbered for each member of a query class; in a linear one they keep their numbers."""
        return self.kind in (STREAM, LOOKUP) and NUMBER in self.schema.names

    @property
    def member(self) -> int:
        """Where among its columns the number of the member is."""
        return self.schema.names.index(NUMBER)

    @property
    def its_numbers(self) -> Stage:
        """The stage that writes down how far each member has come."""
        assert isinstance(self.plan, StreamOp)
        return Stage(f"{self.name}{_ITS_NUMBERS}", NUMBERS, LastNumbers(self.plan), (self.columns[self.member],))


def numbered_by(name: str) -> str:
    """The name of the stage whose numbers a stage writes down; of any other its own."""
    return name.removesuffix(_ITS_NUMBERS)


def cut(name: str, plan: Operator, columns: tuple[str, ...]) -> list[Stage]:
    """The stages of a query, each after those whose logs it reads; the last one is the query's own."""
    if plan.tagged or any(isinstance(op, Tagger) or type(op).__module__.endswith(".tag") for op in plan.walk()):
        raise NotSupported("queries with tags run on the reference engine only, so far", hint="use --engine reference")
    stages: list[Stage] = []
    stages.append(_Cutter(name, stages).stage(name, plan, columns))
    return [each for stage in stages for each in _with_waiting(stage)]


def waiting_for(name: str) -> str:
    """The name of the log of those who wait in a stage; of that log itself the same."""
    return name if name.endswith(_WHO_WAITS) else f"{name}{_WHO_WAITS}"


def waited_by(name: str) -> str:
    """The name of the stage in which tuples wait; of any other its own."""
    return name.removesuffix(_WHO_WAITS)


def _with_waiting(stage: Stage) -> list[Stage]:
    """A stage, behind that of the tuples which wait in it."""
    node = stage.plan
    if not isinstance(node, StreamLookup) or not isinstance(node.table, Remote):
        return [stage]
    names = [*(f"c{place}" for place in range(len(node.input.schema))), ASKED]
    types = [*(field.type for field in node.input.schema.fields), node.table.key_column.type]
    written = Schema(tuple(Field(name, type_) for name, type_ in zip(names, types, strict=True)))
    return [Stage(waiting_for(stage.name), WAITING, node, tuple(names), written), stage]


class _Cutter:
    def __init__(self, query: str, stages: list[Stage]) -> None:
        self._query = query
        self._stages = stages

    def stage(self, name: str, plan: Operator, columns: tuple[str, ...]) -> Stage:
        """A stage whose log is what a plan gives, as far as that is shown."""
        revise, of = None, None
        if isinstance(plan, StreamRevise | WindowRevise):
            revise, of, plan = plan.revise, plan.of if isinstance(plan, StreamRevise) else None, plan.input
        root = self.rest_of(plan)
        return Stage(name, _kind(root), root, columns, revise=revise, of=of)

    def rest_of(self, plan: Operator) -> Operator:
        """The plan of the last stage, everything that must be a stage of its own cut off below it."""
        if isinstance(plan, RelationChanges | RStream | IStream | DStream | RunningGroups):
            return plan.with_inputs(self._windows(plan.inputs[0]))
        if isinstance(plan, TagMatches):
            return plan.with_inputs(self._tuples(plan.left), self._tuples(plan.right))
        if isinstance(plan, FirstTags):
            # the tags that have passed stay, however short a time their stream is retained
            return plan.with_inputs(self._tuples(plan.tuples), self._stage(plan.tags))
        if isinstance(plan, StreamLookup):
            # several tables are looked up at once: a tuple meets all of them as they stand
            # … but those that are asked by key take their time
            several = isinstance(plan.input, StreamLookup) and not is_remote(plan) and not is_remote(plan.input)
            return plan.with_inputs((self.rest_of if several else self._tuples)(plan.input), plan.table)
        if _is_matched_lookup(plan):
            return plan.with_inputs(self.rest_of(plan.inputs[0]))
        if isinstance(plan, StreamOp):
            return self._tuples(plan)
        return self._windows(plan)

    def _windows(self, plan: Operator) -> Operator:
        inputs = []
        for operator in plan.inputs:
            if not isinstance(operator, StreamOp):
                inputs.append(self._windows(operator))
            elif isinstance(plan, RowWindow) and any(isinstance(op, StreamSelect) for op in _chain(operator)):
                # which tuples stand must be known from the log alone, or a window could not be placed
                inputs.append(self._stage(operator))
            else:
                inputs.append(self._tuples(operator))
        return plan.with_inputs(*inputs)

    def _tuples(self, plan: StreamOp) -> Operator:
        """A chain of selections and projections over a log; what else is below becomes a stage."""
        if isinstance(plan, _FROM_LOG):
            return plan
        if isinstance(plan, _PER_TUPLE) and not _is_matched_lookup(plan):
            return plan.with_inputs(self._tuples(plan.input))
        return self._stage(plan)

    def _stage(self, plan: StreamOp) -> StreamReceive:
        columns = tuple(f"c{i}" for i in range(len(plan.schema)))
        rest = self.stage("", plan, columns)  # what it reads has its names before it
        name = f"{self._query}/{len(self._stages) + 1}"
        self._stages.append(replace(rest, name=name))
        fields = tuple(Field(f.name, f.type, f.relation) for f in plan.schema.fields)
        return StreamReceive(name, Schema(fields))


def _chain(plan: Operator) -> list[Operator]:
    found = [plan]
    while isinstance(found[-1], _PER_TUPLE):
        found.append(found[-1].input)
    return found


def _kind(plan: Operator) -> str:
    if isinstance(plan, WindowOp):
        return WINDOWS
    if isinstance(plan, RelationChanges):
        return RELATION
    if isinstance(plan, StreamLookup) or _is_matched_lookup(plan):
        return LOOKUP
    return STREAM if isinstance(plan, _TO_STREAM) else LINEAR


def _is_matched_lookup(plan: Operator) -> bool:
    """Whether it says what members of a query class want of a look-up: only that gets an index."""
    return isinstance(plan, StreamMatch) and isinstance(plan.input, StreamLookup)


def is_relation(plan: Operator) -> bool:
    """Whether all streams below are CQL relations, so that the whole can be computed as rows with lifetimes."""
    leaves = [op for op in plan.walk() if isinstance(op, WindowOp) and any(isinstance(i, StreamOp) for i in op.inputs)]
    return bool(leaves) and all(isinstance(op, RangeWindow | LatestRowsWindow) for op in leaves)
