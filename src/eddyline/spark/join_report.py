"""What EXPLAIN is told of a join: the tree by which it runs and what was measured, or why it runs by none.

Of joins that run it also tells what they take together, and what they have in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from eddyline.errors import EddylineError
from eddyline.log.results import StageResult
from eddyline.planner.cost import Limits, Resources
from eddyline.planner.drawing import CUT_SHORT, excess_text, limit_text, number, small, used_text
from eddyline.planner.explain import UNITS, AtWork, Measured, bytes_limit_text, bytes_text
from eddyline.spark.join_at_work import Allowed, JoinAtWork
from eddyline.spark.join_inputs import join_of
from eddyline.spark.joins_together import Beside, Taken
from eddyline.spark.stages import cut
from eddyline.spark.standing import Standing

if TYPE_CHECKING:
    from eddyline.spark.engine import Engine
    from eddyline.spark.explain import Question

_NOT_YET = "a plan, by which it would run if it stood and this were so"
#: so many other joins are named; the rest is counted
_NAMED = 8


def join_at_work(engine: Engine, question: Question) -> AtWork | str:
    """The join of a query that stands; or what is to be said of the plan of another."""
    standing = next((query for query in engine.executor.queries() if query.name == question.name), None)
    if standing is not None and standing.join is not None:
        with engine.executor.changing:
            return _at_work(engine, standing, standing.join)
    reasons = [join_of(stage) for stage in cut(question.name, question.plan, question.columns)]
    reason = next((reason for reason in reasons if isinstance(reason, str)), None)
    return _NOT_YET if reason is None else f"a plan only, it runs without states: {reason}"


def shared_with(engine: Engine, query: Standing) -> dict[int, list[str]]:
    """By set of inputs that its join stores, the other queries that read the same state."""
    if query.join is None:
        return {}
    stored, users = query.join.tree.states(), engine.executor.shared.users
    readers = {mask: users.get(log.name, ()) for mask, log in query.join.shared if mask in stored}
    others = {mask: [name for name in names if name != query.name] for mask, names in readers.items()}
    return {mask: names for mask, names in others.items() if names}


def shares_text(engine: Engine, query: Standing) -> str | None:
    """The same in words."""
    if query.join is None:
        return None
    names = query.join.of.names
    parts = []
    for mask, others in shared_with(engine, query).items():
        inputs = " ⋈ ".join(name for at, name in enumerate(names) if mask >> at & 1)
        more = [f"{len(others) - _NAMED:,} more"] if len(others) > _NAMED else []
        parts.append(f"{inputs} with {', '.join([*others[:_NAMED], *more])}")
    return f"its join states: {'; '.join(parts)}" if parts else None


def _at_work(engine: Engine, query: Standing, join: JoinAtWork) -> AtWork:
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
    beside = _beside(engine, query)
    made = AtWork(join.described(), join.model(), join.tree, join.how, measured, join.probes, join.reordered)
    made = replace(made, own=join.own, said=tuple(_said(engine, query, join)))
    if not join.of.runs_by(join.tree):
        made = replace(made, unordered="because windows of time are joined from tuples where nothing is stored")
    if beside is None:
        return made
    limits = engine.join_limits().limits
    return replace(
        made, free=beside.free, left=beside.left, limits=limits, others=beside.others, taken_by_others=beside.taken
    )


def _beside(engine: Engine, query: Standing) -> Beside | None:
    try:
        return engine.executor.beside(query.name)
    except (EddylineError, ArithmeticError):  # nobody knows enough of them
        return None


def _said(engine: Engine, query: Standing, join: JoinAtWork) -> Iterator[str]:
    allowed, taken = engine.join_limits(), engine.executor.joins.taken
    yield _limits_text(allowed, join.own)
    if taken is not None and query.name in taken.parts:
        yield from taken_text(taken, query.name)
    text = shares_text(engine, query)
    if text is not None:
        yield f"shares {text}"
    if join.observed.unsampled:
        yield f"how selective its conditions are could not be sampled: {join.observed.unsampled}"


def _limits_text(allowed: Allowed, own: Limits) -> str:
    whose = ["the machine's" if given is None else "given" for given in (allowed.cpu, allowed.memory)]
    limits = allowed.limits
    text = f"within cpu_limit = {small(limits.cpu)} ({whose[0]}) and memory_limit = "
    text += f"'{bytes_text(limits.memory)}' ({whose[1]}), for all joins together"
    if not math.isinf(own.cpu):
        text += f"; its own cpu_limit is {small(own.cpu)}"
    if not math.isinf(own.memory):
        text += f"; its own memory_limit is '{bytes_text(own.memory)}'"
    return text


def taken_text(taken: Taken, name: str) -> Iterator[str]:
    """What all joins take together, what the others take, and what is missing."""
    count = len(taken.parts)
    together = "it takes" if count == 1 else f"all {count} joins take"
    yield f"{together} {used_text(taken.used, taken.limits, UNITS)}"
    others = [(one, used) for one, used in taken.parts.items() if one != name]
    for one, used in others[:_NAMED]:
        yield f"  {one} takes {number(used.cpu)} cpu, {bytes_text(used.memory)} memory of that"
    if len(others) > _NAMED:
        rest = sum((used for _, used in others[_NAMED:]), Resources(0.0, 0.0))
        yield f"  {len(others) - _NAMED:,} more take {number(rest.cpu)} cpu, {bytes_text(rest.memory)} memory"
    for one, (needed, own) in taken.exceeded.items():
        yield f"no join tree fits into the limits of {one} itself: {excess_text(needed, own, UNITS)}"
    yield from _missing_text(taken)
    if taken.is_cut:
        yield CUT_SHORT


def _missing_text(taken: Taken) -> Iterator[str]:
    missing = taken.missing
    if missing is None or taken.limits.allow(taken.used):
        return
    yield f"no join trees fit together: {excess_text(taken.used, taken.limits, UNITS)}"
    if missing.cpu_limit is not None:
        yield f"they fit with SET cpu_limit = {limit_text(missing.cpu_limit)}"
    if missing.memory_limit is not None:
        yield f"they fit with SET memory_limit = {bytes_limit_text(missing.memory_limit)}"
    if missing.without:
        which = missing.without[0] if len(missing.without) == 1 else f"any one of {', '.join(missing.without)}"
        yield f"they fit without {which}"
