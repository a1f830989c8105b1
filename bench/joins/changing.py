"""A change in the midst of a stream: how soon a join has found the plan that would have been chosen in hindsight.

A hot stream beside a triangle of streams; its rate, or how many of its tuples find partners, changes from one batch to
the next. Three ways stand side by side over the same batches: by the plan that is best before the
change, by the one that is best behind it, if somebody had known all of it, and as it is chosen while it runs. Of each
batch it is noted what the tasks of each took of the processor, the making of new states included.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import eddyline
from bench.joins.running import TRIANGLE, Way, digest, graph_of, watch
from bench.joins.workload import Change, Edge, Workload, batches, keep_apart
from eddyline.planner.choice import choose
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.plan import Plan
from eddyline.planner.written import written

BEFORE, HINDSIGHT, CHOSEN = "best before", "in hindsight", "chosen"
#: the cpu of a way, by the cpu in hindsight, is good if it is no more than that
CLOSE = 1.15
#: single batches differ by what else a machine does: the median of so many counts
_TOGETHER, _NEXT = 5, 3
_WINDOW = 20


def triangle(name: str, size: int, hot: int, spread: int = 1) -> Workload:
    """s1, s2 and s3 with so many tuples in a window and 10 partners in each other's, which no index finds; and s0.

    One tuple of s0 in `spread` finds a partner in s1.
    """
    slow = max(1, size // _WINDOW)
    edges = (Edge(one, other, max(1, size // 10), compared=True) for one, other in TRIANGLE)
    return Workload(name, (hot, slow, slow, slow), (1, *[_WINDOW] * 3), (Edge(0, 1, size, spread), *edges))


def changes(size: int) -> list[tuple[Workload, Workload]]:
    """Each before and behind what happens to it: to store the triangle begins to pay, or does not any more."""
    hot, cold, rare = size, max(1, size // 100), 100
    listed = [
        ("a rate rises", (cold,), (hot,)),
        ("a rate falls", (hot,), (cold,)),
        ("more find partners", (hot, rare), (hot,)),
        ("fewer find partners", (hot,), (hot, rare)),
    ]
    return [(triangle(name, size, *one), triangle(name, size, *other)) for name, one, other in listed]


def changed(before: Workload, behind: Workload, tick: int) -> Workload:
    """The one up to a tick, and then the other."""
    return replace(before, change=Change(tick, behind.rates, behind.edges))


def best(workload: Workload, costs: Costs) -> Plan:
    """The best plan for what is true of a workload."""
    found = choose(Model(graph_of(workload), costs), Limits()).plan
    assert found is not None
    return found


def run(before: Workload, behind: Workload, costs: Costs, folder: Path, first: int, then: int) -> dict[str, Any]:
    """So many batches of a tick before the change, behind one that fills the windows, and so many after it."""
    workload = changed(before, behind, _WINDOW + first + 1)
    plans = {BEFORE: best(before, costs), HINDSIGHT: best(behind, costs)}
    db = eddyline.connect(str(folder), heartbeat=None)
    keep_apart(db)
    try:
        for statement in workload.streams():
            db.sql(statement)
        how = {name: f" WITH (join_tree = '{written(plan.tree, workload.names)}')" for name, plan in plans.items()}
        queries = {name: f"q{at}" for at, name in enumerate((*how, CHOSEN))}
        for more, (name, query) in enumerate(queries.items()):
            db.sql(f"CREATE QUERY {query}{how.get(name, '')} AS {workload.query(more)}")
        joins = {query.name: query.join for query in db._core.engine.executor.queries() if query.join is not None}
        ways, trees = {name: Way() for name in queries}, []
        for name, query in queries.items():
            watch(joins[query], ways[name])
        for tables in batches(workload, _WINDOW + first + then, 1, _WINDOW):
            for way in ways.values():
                way.begin()
            db.push(dict(zip(workload.names, tables, strict=True)))
            db.flush()
            trees.append(written(joins[queries[CHOSEN]].tree, workload.names))
        digests = {digest(db, query) for query in queries.values()}
    finally:
        db.close()
    cpu = {name: way.cpu[-first - then :] for name, way in ways.items()}
    # its orders have to follow the change as well: what counts is what it takes once they have
    seconds = recovered(cpu[CHOSEN][first:], [statistics.median(cpu[HINDSIGHT][-10:])] * then)
    after = ways[CHOSEN].batches[-then:]
    return {
        "workload": workload.name,
        "change": first,
        "cpu": cpu,
        "plans": {name: written(plan.tree, workload.names) for name, plan in plans.items()},
        "trees": trees[-first - then :],
        "seconds": seconds,
        "recovered": None if seconds is None else sum(after[:seconds]),
        "at last": statistics.median(ratios(cpu[CHOSEN], cpu[HINDSIGHT])[-10:]),
        "else": statistics.median(ratios(cpu[BEFORE], cpu[HINDSIGHT])[-10:]),
        "equal": len(digests) == 1,
    }


def ratios(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a / max(b, 1e-9) for a, b in zip(one, other, strict=True)]


def recovered(cpu: Sequence[float], hindsight: Sequence[float]) -> int | None:
    """After how many seconds a way is close to the other for good; None: it never is.

    >>> recovered([3, 3, 1, 1, 1, 1, 1, 1, 1], [1] * 9), recovered([1] * 9, [1] * 9), recovered([2] * 9, [1] * 9)
    (2, 0, None)
    >>> recovered([1, 3, 3, 1, 1, 1, 1, 1, 1], [1] * 9)
    3
    """
    each = ratios(cpu, hindsight)
    medians = [statistics.median(each[at : at + _TOGETHER]) for at in range(len(each) - _TOGETHER + 1)]
    behind = max((at + 1 for at, median in enumerate(medians) if median > CLOSE), default=0)
    if behind == len(medians):
        return None
    # the first of the batches whose median is close may still be far, or be close by chance
    near = (at for at in range(behind, len(each)) if each[at] <= CLOSE)
    return next(at for at in near if statistics.median(each[at : at + _NEXT]) <= CLOSE)


def changing(
    size: int, first: int, then: int, costs: Costs, folder: Path, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    found = []
    for number, (before, behind) in enumerate(changes(size)):
        say(f"a change while it runs: {before.name}")
        found.append(run(before, behind, costs, folder / str(number), first, then))
    return found
