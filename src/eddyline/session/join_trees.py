"""EXPLAIN of joins over three inputs or more: the tree by which a join runs, or which the planner would choose."""

from __future__ import annotations

from collections.abc import Mapping

from eddyline.binder.explain import ALGEBRA, ANALYZE, Show
from eddyline.planner.cost import Costs
from eddyline.planner.explain import ASSUMED_COSTS, NOT_RUN, AtWork, Question, explained, explained_at_work


def with_join_trees(
    text: str, step: Show, rates: Mapping[str, float], work: AtWork | str = NOT_RUN, costs: Costs | None = None
) -> str:
    """What an engine says of a plan, and what the planner says of its joins; `rates` are those of streams, if known.

    `work`: the join as it runs, or why it does not run by a tree. `costs`: this machine's, if they were measured.
    """
    if step.what == ALGEBRA or (step.what == ANALYZE and isinstance(work, str)):
        return text
    question = Question(step.plan, step.cpu_limit, step.memory_limit, step.tick_micros, rates, costs or ASSUMED_COSTS)
    trees = explained(question, work) if isinstance(work, str) else explained_at_work(work, question)
    return f"{text}\n{trees}" if trees else text
