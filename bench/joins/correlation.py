"""Whether estimates put plans in the order in which they really cost: all trees of a join over the same tuples.

For each of some random joins, the mjoin, the bjtree and random trees stand side by side as queries with a `join_tree`,
and are given the same batches. What a plan takes of the processor is what the tasks have measured for its stages, and
its memory what its states and windows take on disk; estimates are those of the planner after the last batch, by what
was seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import eddyline
from bench.joins.workload import Workload, batches, keep_apart, random_workload
from eddyline.planner.plan import planned
from eddyline.planner.tree import JTree, mjoin_of, node
from eddyline.planner.written import written
from eddyline.spark.join_at_work import JoinAtWork
from eddyline.spark.observing import Faded


@dataclass(frozen=True)
class Compared:
    """One plan: seconds of the processor in a second of the streams, and bytes, as estimated and as measured."""

    join: str
    tree: str
    cpu: float
    measured_cpu: float
    memory: float
    measured_memory: float


def random_trees(rng: Random, workload: Workload, wanted: int) -> list[JTree]:
    """The mjoin and other trees without cross products, each once, as far as there are so many."""
    found = {mjoin_of((1 << len(workload.names)) - 1): None}
    for _ in range(50 * wanted):
        if len(found) < wanted:
            found.setdefault(_random_tree(rng, workload))
    return list(found)


def _random_tree(rng: Random, workload: Workload) -> JTree:
    parts = [JTree(1 << at) for at in range(len(workload.names))]
    while len(parts) > 1:
        some = [rng.choice(parts)]
        for _ in range(rng.choice((1, 1, 2, 3))):
            mask = sum(part.mask for part in some)
            beside = [part for part in parts if part not in some and _meet(workload, mask, part.mask)]
            some += [rng.choice(beside)] if beside else []
        parts = [node(some), *(part for part in parts if part not in some)]
    return parts[0]


def _meet(workload: Workload, one: int, other: int) -> bool:
    """Whether a condition joins two sets of streams."""
    ends = [(1 << edge.one, 1 << edge.other) for edge in workload.edges]
    return any((a & one and b & other) or (b & one and a & other) for a, b in ends)


def compared(
    workload: Workload, folder: Path, trees: int, ticks: int, span: int, warm: int, rng: Random
) -> list[Compared]:
    """Run one join by several trees; the first `warm` batches are not counted."""
    db = eddyline.connect(str(folder), heartbeat=None)
    keep_apart(db)
    try:
        for statement in workload.streams():
            db.sql(statement)
        names = list(workload.names)
        for number, tree in enumerate(random_trees(rng, workload, trees)):
            db.sql(f"CREATE QUERY q{number} WITH (join_tree = '{written(tree, names)}') AS {workload.query()}")
        for number, tables in enumerate(batches(workload, ticks, span)):
            db.push(dict(zip(names, tables, strict=True)))
            db.flush()
            if number + 1 == warm:
                for join in _joins(db).values():
                    join.observed.nodes.clear()
        return [_compared(db, workload, query, join) for query, join in _joins(db).items()]
    finally:
        db.close()


def _joins(db: Any) -> dict[str, JoinAtWork]:
    return {query.name: query.join for query in db._core.engine.executor.queries() if query.join is not None}


def _compared(db: Any, workload: Workload, query: str, join: JoinAtWork) -> Compared:
    model = join.model()
    plan = planned(model, join.tree)
    cpu = math.fsum(_mean(one.cpu) for one in join.observed.nodes.values())
    return Compared(
        workload.name,
        written(join.tree, workload.names),
        plan.cpu,
        cpu,
        plan.memory,
        _stored(db, workload, query, join),
    )


def _mean(faded: Faded) -> float:
    return faded.rate or 0.0


def _stored(db: Any, workload: Workload, query: str, join: JoinAtWork) -> float:
    """Bytes of the segments that hold what lives: of the states, and of the windows."""
    engine = db._core.engine
    results = engine.executor.results
    closed = results.position(query).closed
    total = 0.0
    for state in join.tree.states():
        for segment in results.stages[join.log_of(state)].segments:
            total += segment.size * _share(segment.tick, closed, math.inf)
    for name, window in zip(workload.names, workload.windows, strict=True):
        for segment in engine.logs()[name].segments:
            total += segment.size * _share(segment.tick, closed - window, math.inf)
    return total


def _share(ticks: tuple[int, int], low: float, high: float) -> float:
    first, last = ticks
    return max(0.0, min(last, high) - max(first, low) + 1) / (last - first + 1)


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's.

    >>> rank_correlation([1, 2, 3], [10, 20, 15]), rank_correlation([1, 1, 2], [3, 3, 4])
    (0.5, 1.0)
    """
    if len(set(one)) < 2 or len(set(other)) < 2:
        return math.nan
    return round(float(np.corrcoef(_ranks(one), _ranks(other))[0, 1]), 9)


def _ranks(values: Sequence[float]) -> np.ndarray:
    found = np.asarray(values, float)
    return np.array([((found < each).sum() + (found <= each).sum() - 1) / 2 for each in found])


def summary(plans: Sequence[Compared]) -> dict[str, Any]:
    """The rank correlations over all plans, and the median of those of each join."""
    joins = list(dict.fromkeys(plan.join for plan in plans))
    found: dict[str, Any] = {}
    for what in ("cpu", "memory"):
        each = {join: _correlated([plan for plan in plans if plan.join == join], what) for join in joins}
        median = float(np.nanmedian(list(each.values())))
        found[what] = {"all plans": _correlated(plans, what), "median of joins": median, "by join": each}
    return found


def _correlated(plans: Sequence[Compared], what: str) -> float:
    estimated = [getattr(plan, what) for plan in plans]
    return rank_correlation(estimated, [getattr(plan, f"measured_{what}") for plan in plans])


def correlation(
    shapes: Sequence[str],
    inputs: Sequence[int],
    rates: Sequence[int],
    trees: int,
    batches_: int,
    folder: Path,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Joins of each shape, over so many inputs, with so many tuples in a second of all of them together."""
    plans: list[Compared] = []
    rng = Random("correlation")
    for rate in rates:
        for shape in shapes:
            for number in inputs:
                workload = random_workload(rng, number, shape, rate)
                say(f"plans of a {shape} join of {number} inputs with {rate:,} tuples/s")
                plans += compared(workload, folder / workload.name, trees, batches_, 1, batches_ // 2, rng)
    return {"plans": [asdict(plan) for plan in plans], **summary(plans)}
