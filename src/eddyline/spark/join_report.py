"""What EXPLAIN is told of a join: the tree by which it runs and what was measured, or why it runs by none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eddyline.log.results import StageResult
from eddyline.planner.explain import AtWork, Measured
from eddyline.spark.join_at_work import JoinAtWork
from eddyline.spark.join_inputs import join_of
from eddyline.spark.stages import cut

if TYPE_CHECKING:
    from eddyline.spark.engine import Engine
    from eddyline.spark.explain import Question

_NOT_YET = "a plan, by which it would run if it stood and this were so"


def join_at_work(engine: Engine, question: Question) -> AtWork | str:
    """The join of a query that stands; or what is to be said of the plan of another."""
    standing = next((query for query in engine.executor.queries() if query.name == question.name), None)
    if standing is not None and standing.join is not None:
        return _at_work(engine, standing.join)
    reasons = [join_of(stage) for stage in cut(question.name, question.plan, question.columns)]
    reason = next((reason for reason in reasons if isinstance(reason, str)), None)
    return _NOT_YET if reason is None else f"a plan only, it runs without states: {reason}"


def _at_work(engine: Engine, join: JoinAtWork) -> AtWork:
    results = engine.executor.results
    closed = results.position(join.stage.name).closed
    measured = {}
    for state in (0, *join.tree.states()):
        name = join.log_of(state) if state else join.stage.name
        had = results.stages.get(name, StageResult())
        alive = [s for s in had.segments if closed is None or s.tick[1] >= closed] if state else []
        node = join.observed.nodes.get(name)
        measured[state] = Measured(
            None if node is None else node.given.rate,
            sum(s.rows - 2 * s.minus for s in alive),
            sum(s.size for s in alive),
            None if node is None else node.cpu.rate,
        )
    model = join.model()
    return AtWork(join.described(), model.costs, join.tree, join.how, measured, join.probes, join.reordered)
