"""What EXPLAIN says of multi-way joins: the join tree that the planner would choose, the others, and what is not known.

It is a plan and nothing more: the engines do not run joins by it yet, and it says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from eddyline.algebra.node import Operator
from eddyline.planner.choice import choose
from eddyline.planner.correlation import trade_of
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.drawing import Units, limit_text, number, told
from eddyline.planner.machine import memory_for_joins, processors
from eddyline.planner.multi_join import MultiJoin, multi_joins
from eddyline.planner.plan import Plan
from eddyline.planner.shapes import shape_of
from eddyline.planner.statistics import Statistics

#: a join of two inputs has one tree only
LEAST_INPUTS = 3
#: seconds of processor time for a tuple; orders of magnitude of compiled code, not yet measured on the machine
ASSUMED_COSTS = Costs(insert=1e-6, purge=5e-7, join=1e-6, compare=2e-9)


@dataclass(frozen=True)
class Question:
    """The plan of a query after the rules, its limits (None: what the machine has), and what is known of streams."""

    plan: Operator
    cpu_limit: float | None = None
    memory_limit: float | None = None
    tick_micros: int = 1_000_000
    rates: Mapping[str, float] = field(default_factory=dict)  # by their logs, tuples in a second


def explained(question: Question) -> str:
    """A text for every join of three inputs or more; empty if there is none."""
    statistics = Statistics(question.tick_micros / 1_000_000, question.rates)
    joins = [join for join in multi_joins(question.plan, statistics) if len(join.graph.inputs) >= LEAST_INPUTS]
    return "\n".join(line for join in joins for line in _explained(join, question))


def bytes_text(amount: float) -> str:
    """
    >>> bytes_text(12), bytes_text(1536), bytes_text(3.2e9), bytes_text(5e18)
    ('12 B', '1.5 KiB', '2.98 GiB', '4,547,474 TiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{number(amount)} {unit}"
        amount /= 1024
    return f"{number(amount)} TiB"


def bytes_limit_text(amount: float) -> str:
    """As it is to be written behind memory_limit, and not less than the amount.

    >>> bytes_limit_text(17_901_234), bytes_limit_text(100)
    ("'17.1 MB'", "'100 B'")
    """
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000:
            return f"'{limit_text(amount)} {unit}'"
        amount /= 1024
    return f"'{limit_text(amount)} TB'"


UNITS = Units(memory=bytes_text, memory_limit=bytes_limit_text)


def _explained(join: MultiJoin, question: Question) -> Iterator[str]:
    limits = Limits(
        processors() if question.cpu_limit is None else question.cpu_limit,
        memory_for_joins() if question.memory_limit is None else question.memory_limit,
    )
    model = Model(join.graph, ASSUMED_COSTS)
    choice = choose(model, limits)
    names = ", ".join(one.name for one in join.graph.inputs)
    yield f"join tree for {names} ({shape_of(join.graph)}); a plan only, joins do not run by it yet:"
    whose = ["the machine's" if given is None else "given" for given in (question.cpu_limit, question.memory_limit)]
    cpu, memory = number(limits.cpu), bytes_text(limits.memory)
    yield f"  within cpu_limit = {cpu} ({whose[0]}) and memory_limit = '{memory}' ({whose[1]}), for this join alone"
    lines = [*told(model, choice, limits, UNITS), *(() if choice.plan is None else _trades(model, choice.plan))]
    yield from (f"  {line}" for line in lines)
    yield from (f"  assumed: {one}" for one in (*join.assumed, _costs(ASSUMED_COSTS)))


def _trades(model: Model, plan: Plan) -> Iterator[str]:
    """What each state that is stored takes and saves."""
    for state in plan.tree.states():
        trade = trade_of(model, plan.tree, state)
        saved = f"saves {number(trade.saved)} cpu" if trade.saved >= 0 else f"costs {number(-trade.saved)} cpu"
        yield f"storing {model.graph.names(state)} takes {bytes_text(trade.memory)} and {saved}"


def _costs(costs: Costs) -> str:
    parts = ((costs.insert, "to insert a tuple"), (costs.purge, "to purge one"), (costs.join, "for a joined one"))
    micros = ", ".join(f"{cost * 1e6:g} µs {what}" for cost, what in parts)
    return f"{micros}, {costs.compare * 1e9:g} ns to compare a pair"


__all__ = ["Question", "bytes_text", "explained"]
