"""The paper's four settings (its section 4.2) on joins that run: by the mjoin, by the bjtree, and as it is planned.

All ways stand side by side as queries over the same streams and are given the same batches. Of each batch it is noted
how many joined tuples each has told, what its tasks took of the processor, and what its windows and states hold. Limits
are put between what the ends need by the planner's estimates, so that one of them, both or none qualifies. Nobody is
stopped at a limit: who took more than there is would have fallen behind or failed, and the report says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import eddyline
from bench.joins.graphs import BOTH, BOTH_TIGHT, CPU_TIGHT, MEMORY_TIGHT
from bench.joins.workload import Edge, Workload, batches, keep_apart
from eddyline.log.segment import DIFF, TICK
from eddyline.planner.bjtree import find_bjtree
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.front import front_of
from eddyline.planner.graph import EQUI, THETA, Input, JoinGraph, Predicate
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.plan import Plan, planned
from eddyline.planner.tree import JTree
from eddyline.planner.written import written
from eddyline.spark.join_at_work import JoinAtWork

MJOIN, BJTREE = "mjoin", "bjtree"
TRIANGLE = ((1, 2), (2, 3), (1, 3))
#: how much more than the larger of two needs is roomy
_ROOM = 2.0
#: bytes of a tuple beside its columns of four bytes, as the planner reckons
_HEAD = 16.0


def hot_stream(number: int, size: int) -> Workload:
    """A hot stream s0 with so many tuples in its window of a second, a triangle s1, s2, s3, and further streams on s1.

    No index helps in the triangle, so each pair of its tuples must be compared: every batch does that anew unless it is
    stored. Each pair of its streams has ten partners, and one in five hundred of these closes it. So the mjoin
    compares much for nothing, a binary tree stores much that is not needed, and a node over all three stores little.
    With three streams s0 is beside a pair.
    """
    window = 50
    # the price of a batch grows with the number of nodes, and what is to be compared has to, too
    slow = max(1, size // (3 if number == 3 else 10 if number <= 12 else 8) // window)
    held = slow * window
    partners = 10
    core = TRIANGLE if number > 3 else TRIANGLE[:1]
    edges = [
        Edge(0, 1, held if number > 3 else 5 * held),
        *(Edge(a, b, max(1, held // partners), compared=True) for a, b in core),
    ]
    few = max(1, slow // 20)
    edges += (Edge(1, at, few * window, in_turn=True) for at in range(4, number))
    rates = (size, slow, slow, slow, *[few] * number)[:number]
    return Workload(f"hot stream of {number}", rates, (1, *[window] * (number - 1)), tuple(edges))


def graph_of(workload: Workload) -> JoinGraph:
    """What is true of it."""
    inputs = tuple(
        Input.windowed(name, rate, window + 1, _HEAD + 4.0 * (len(workload.columns(at)) + 1))
        for at, (name, rate, window) in enumerate(zip(workload.names, workload.rates, workload.windows, strict=True))
    )
    return JoinGraph(inputs, tuple(_predicate(edge) for edge in workload.edges))


def _predicate(edge: Edge) -> Predicate:
    return Predicate(frozenset({edge.one, edge.other}), edge.selectivity, THETA if edge.compared else EQUI)


@dataclass(frozen=True)
class Setting:
    """Limits, and which plans keep them by the estimates."""

    name: str
    limits: Limits


def settings_of(model: Model) -> tuple[Plan, Plan, list[Setting]]:
    """The mjoin, the bjtree, and as many of the four settings as there are for a join."""
    mjoin, bjtree = find_mjoin(model), find_bjtree(model)
    cpu, memory = (_ROOM * max(mjoin.cpu, bjtree.cpu), _ROOM * max(mjoin.memory, bjtree.memory))
    found = [Setting(BOTH, Limits(cpu, memory))]
    if bjtree.cpu < mjoin.cpu:
        found.append(Setting(CPU_TIGHT, Limits(math.sqrt(mjoin.cpu * bjtree.cpu), memory)))
    found.append(Setting(MEMORY_TIGHT, Limits(cpu, math.sqrt(mjoin.memory * bjtree.memory))))
    between = [p for p in _plans(model, bjtree) if p.cpu < mjoin.cpu and p.memory < bjtree.memory]
    if between:
        # the one that is farthest from both ends
        best = max(between, key=lambda p: min(mjoin.cpu / p.cpu, bjtree.memory / p.memory))
        limits = Limits(math.sqrt(mjoin.cpu * best.cpu), math.sqrt(bjtree.memory * best.memory))
        if not limits.allow(mjoin.used) and not limits.allow(bjtree.used):
            found.append(Setting(BOTH_TIGHT, limits))
    return mjoin, bjtree, found


def _plans(model: Model, bjtree: Plan) -> list[Plan]:
    """Those that no other beats; of many inputs, those that are found on the ways from both ends."""
    return [*front_of(model, Limits()), *(planned(model, tree) for tree in _without_two(bjtree.tree))]


def _without_two(tree: JTree) -> list[JTree]:
    """A tree without any one and any two of its states."""
    one = [tree.without(state) for state in tree.states()]
    return list(dict.fromkeys((*one, *(each.without(state) for each in one for state in each.states()))))


@dataclass
class Way:
    """One query: for what is pushed together, what it told, its processor time, in how many micro-batches, and what it
    held; and the tree that it ended with. Spark may begin with what comes first before the rest is there."""

    told: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    tree: str = ""
    changes: int = 0

    def begin(self) -> None:
        """What comes now is told apart from what was before."""
        self.told.append(0)
        self.cpu.append(0.0)
        self.batches.append(0)


def run(workload: Workload, costs: Costs, folder: Path, number: int) -> dict[str, Any]:
    """All ways over a batch that fills the windows and so many of a tick each; and whether all have told the same."""
    model = Model(graph_of(workload), costs)
    mjoin, bjtree, settings = settings_of(model)
    db = eddyline.connect(str(folder), heartbeat=None)
    keep_apart(db)
    try:
        for statement in workload.streams():
            db.sql(statement)
        how = {name: f"join_tree = '{written(p.tree, workload.names)}'" for name, p in _ends(mjoin, bjtree).items()}
        how |= {s.name: f"cpu_limit = {s.limits.cpu:.9f}, memory_limit = {int(s.limits.memory)}" for s in settings}
        queries = {name: f"q{at}" for at, name in enumerate(how)}
        for more, (name, query) in enumerate(queries.items()):
            db.sql(f"CREATE QUERY {query} WITH ({how[name]}) AS {workload.query(more)}")
        ways = {name: Way() for name in how}
        joins = {query.name: query.join for query in db._core.engine.executor.queries() if query.join is not None}
        for name, query in queries.items():
            watch(joins[query], ways[name])
        filling = max(workload.windows)
        for tables in batches(workload, filling + number, 1, filling):
            for way in ways.values():
                way.begin()
            db.push(dict(zip(workload.names, tables, strict=True)))
            db.flush()
            for name, query in queries.items():
                ways[name].memory.append(_held(db, workload, query, joins[query], model))
        for name, query in queries.items():
            ways[name].tree, ways[name].changes = written(joins[query].tree, workload.names), joins[query].changes
        digests = {name: digest(db, query) for name, query in queries.items()}
    finally:
        db.close()
    return {
        "workload": workload.name,
        "tuples": sum(workload.rates) * (max(workload.windows) + number),
        "ways": {name: vars(way) for name, way in ways.items()},
        "limits": {s.name: vars(s.limits) for s in settings},
        "estimates": {name: vars(plan.used) for name, plan in _ends(mjoin, bjtree).items()},
        "answers": digests[MJOIN][0],
        "equal": len(set(digests.values())) == 1,
    }


def _ends(mjoin: Plan, bjtree: Plan) -> dict[str, Plan]:
    return {MJOIN: mjoin, BJTREE: bjtree}


def watch(join: JoinAtWork, way: Way) -> None:
    """Note what the join gives and takes, beside what it notes itself."""
    see = join.see

    def noted(view: Any, root: str, nodes: Mapping[str, tuple[int, float]]) -> None:
        way.told[-1] += nodes[join.stage.name][0]
        way.cpu[-1] += math.fsum(cpu for _, cpu in nodes.values())
        way.batches[-1] += 1
        see(view, root, nodes)

    join.see = noted  # type: ignore[method-assign]


def _held(db: Any, workload: Workload, query: str, join: JoinAtWork, model: Model) -> float:
    """Bytes of the tuples that live in its windows and states, as wide as the planner takes them to be."""
    engine = db._core.engine
    results = engine.executor.results
    closed = results.position(query).closed
    total = 0.0
    for at, name in enumerate(workload.names):
        first = closed - workload.windows[at]
        total += _living(engine, engine.logs()[name].segments, first) * model.graph.inputs[at].width
    for state in join.tree.states():
        stage = results.stages.get(join.log_of(state))
        total += 0.0 if stage is None else _living(engine, stage.segments, closed) * model.graph.width(state)
    return total


def _living(engine: Any, segments: Sequence[Any], first: int) -> int:
    """How many of the rows have a tick from some tick on."""
    found = 0
    for segment in segments:
        if segment.tick[0] >= first:
            found += segment.rows - 2 * segment.minus
        elif segment.tick[1] >= first:
            rows = engine.storage.read_table(segment.path, [TICK, DIFF])
            found += int(rows[DIFF].to_numpy()[rows[TICK].to_numpy() >= first].sum())
    return found


def digest(db: Any, query: str) -> tuple[int, int]:
    """How many tuples a query has told, and a sum over them that does not depend on their order."""
    engine = db._core.engine
    rows, total = 0, 0
    for segment in engine.executor.results.stages[query].segments:
        table = engine.storage.read_table(segment.path)
        weights = table["_diff"].to_numpy().astype(np.int64)
        names = sorted((name for name in table.column_names if name[0] == "v"), key=lambda name: int(name[1:]))
        rows += int(weights.sum())
        total += int(checksum([table[name].to_numpy() for name in names], weights))
    return rows, total % 2**64


def checksum(columns: Sequence[Any], weights: Any) -> np.uint64:
    """Of rows, each as often as its weight says: the same in any order.

    >>> import numpy as np
    >>> one, two = np.array([1, 2]), np.array([5, 6])
    >>> bool(checksum([one, two], np.array([1, 1])) == checksum([one[::-1], two[::-1]], np.array([1, 1])))
    True
    >>> bool(checksum([one, two], np.array([1, 1])) == checksum([two, one], np.array([1, 1])))
    False
    """
    mixed = np.zeros(len(weights), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            mixed = (mixed ^ column.astype(np.int64).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        return np.uint64((mixed * weights.astype(np.int64).astype(np.uint64)).sum())


def running(
    inputs: Sequence[int], size: int, number: int, costs: Costs, folder: Path, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    found = []
    for each in inputs:
        say(f"joins of {each} streams by all ways")
        found.append(run(hot_stream(each, size), costs, folder / str(each), number))
    return found
