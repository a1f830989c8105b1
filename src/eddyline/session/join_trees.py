"""EXPLAIN of joins over three inputs or more: the join tree that the planner would choose."""

from __future__ import annotations

from collections.abc import Mapping

from eddyline.binder.explain import PLAN, Show
from eddyline.planner.explain import Question, explained


def with_join_trees(text: str, step: Show, rates: Mapping[str, float]) -> str:
    """What an engine says of a plan, and what the planner says of its joins; `rates` are those of streams, if known."""
    if step.what != PLAN:
        return text
    trees = explained(Question(step.plan, step.cpu_limit, step.memory_limit, step.tick_micros, rates))
    return f"{text}\n{trees}" if trees else text
