"""What EXPLAIN says of multi-way joins: the tree that the planner chooses, the others, and what is not known.

Of a join that runs, it shows the tree by which it does, and what was measured of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from eddyline.algebra.join_drawing import DrawnJoin
from eddyline.algebra.node import Operator
from eddyline.planner.budget import FOR_ONE, Budget
from eddyline.planner.choice import Choice, choose
from eddyline.planner.correlation import trade_of
from eddyline.planner.cost import Costs, Limits, Model, Resources
from eddyline.planner.drawing import (
    UNNOTICED,
    Shared,
    Units,
    drawn,
    excess_text,
    limit_text,
    names_of,
    nodes_of,
    number,
    small,
    told,
    used_text,
)
from eddyline.planner.graph import members
from eddyline.planner.machine import memory_for_joins, processors
from eddyline.planner.multi_join import MultiJoin, multi_joins
from eddyline.planner.plan import Plan, planned
from eddyline.planner.shapes import shape_of
from eddyline.planner.statistics import Statistics
from eddyline.planner.tree import JTree

#: what is said of plans of which nobody says more
NOT_RUN = "a plan, the reference engine joins as it is written"
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
    costs: Costs = ASSUMED_COSTS  # those of this machine, if they have been measured


@dataclass(frozen=True)
class Measured:
    """What a node was seen to do: tuples that came out of it in a second, those it stores, their bytes, its cpu."""

    rate: float | None
    size: int
    stored: int
    cpu: float | None


@dataclass(frozen=True)
class AtWork:
    """A join that runs: as it was seen, with its costs on this machine, by which tree, and why by that one."""

    join: MultiJoin
    model: Model
    tree: JTree
    how: str
    measured: Mapping[int, Measured] = field(default_factory=dict)  # by the inputs of a state; 0: the join itself
    probes: Sequence[str] = ()  # the orders in which parts have probed each other in the last batch
    reordered: int = 0  # in how many batches they were others than before
    unordered: str = "until more was seen"  # why there are no such orders, if there are none
    free: frozenset[int] = frozenset()  # sets of its inputs that other joins keep
    left: Limits | None = None  # what these leave for it; None: nobody knows
    own: Limits = field(default_factory=Limits)  # those of the query, for all that its tree needs
    limits: Limits = field(default_factory=Limits)  # for all of them together, of which that is left
    others: int = 0  # how many they are
    taken_by_others: Resources = field(default_factory=lambda: Resources(0.0, 0.0))
    said: Sequence[str] = ()  # of the limits and of the other joins


def explained(question: Question, said: str = NOT_RUN) -> str:
    """A text for every join of three inputs or more; empty if there is none. `said`: whether something runs by it."""
    found = []
    for join in _joins_of(question):
        found += [f"{_heading(join)}; {said}:", *_limits(question)]
        found += _planned(join, _model_of(join, question), _limits_of(question))
    return "\n".join(found)


def drawings(question: Question) -> list[DrawnJoin]:
    """The tree that the planner chooses for every join of three inputs or more; if none fits, the nearest."""
    limits = _limits_of(question)
    found = []
    for join in _joins_of(question):
        model = _model_of(join, question)
        choice = choose(model, limits)
        plan, fits = _told_plan(choice), choice.missing is None
        told_of = f"{plan.tree.kind}, by {choice.by}: {used_text(plan.used, limits, UNITS)}"
        if not fits:
            none = "no join tree fits" if choice.certain else "no join tree was found that fits"
            told_of = f"{none}; this one is nearest ({plan.tree.kind}): {excess_text(plan.used, limits, UNITS)}"
        notes = (told_of, *(f"assumed: {one}" for one in join.assumed))
        found.append(DrawnJoin(_heading(join), notes, nodes_of(model, plan, UNITS), fits))
    return found


def _model_of(join: MultiJoin, question: Question) -> Model:
    return Model(join.graph, question.costs, budget=Budget.of_steps(FOR_ONE))


def _joins_of(question: Question) -> list[MultiJoin]:
    statistics = Statistics(question.tick_micros / 1_000_000, question.rates)
    return [join for join in multi_joins(question.plan, statistics) if len(join.graph.inputs) >= LEAST_INPUTS]


def explained_at_work(at: AtWork, question: Question) -> str:
    """The tree by which a join runs, what was measured of it, and what the planner would choose now."""
    model = at.model.within(Budget.of_steps(FOR_ONE))
    plan = planned(model, at.tree)
    said = [f"  {line}" for line in at.said] or _limits(question)
    lines = [f"{_heading(at.join)}; it runs by this tree, {at.how}:", *said]
    lines += [f"  {line}" for line in drawn(model, plan, UNITS)]
    lines += [f"  {line}" for line in (*_measured(at), *_probed(at))]
    beside = ", beside the other joins" if at.others else ""
    lines.append(f"  by what was seen, the planner finds{beside}:")
    model, limits = _beside(at, model, at.left or _limits_of(question))
    free = at.free & model.free
    return "\n".join([*lines, *_planned(at.join, model, limits, _shared(at, limits), free)])


def _shared(at: AtWork, limits: Limits) -> Shared | None:
    """Of each resource what all may take and the others do; its own limit holds for it alone, if that is less."""
    if not at.others or at.left is None:
        return None
    cpu, memory = limits.cpu >= at.left.cpu, limits.memory >= at.left.memory
    whole = Limits(at.limits.cpu if cpu else limits.cpu, at.limits.memory if memory else limits.memory)
    taken = at.taken_by_others
    return Shared(whole, Resources(taken.cpu if cpu else 0.0, taken.memory if memory else 0.0))


def _beside(at: AtWork, model: Model, limits: Limits) -> tuple[Model, Limits]:
    """What is planned with: what others keep costs nothing, as long as the query's own limits allow to read it."""
    sharing = model.sharing(at.free)
    if at.own == Limits():
        return sharing, limits
    plan = _told_plan(choose(sharing, limits))
    return (sharing, limits) if at.own.allow(model.of(plan.tree)) else (model, at.own.within(limits))


def _told_plan(choice: Choice) -> Plan:
    """The plan that was found, or the nearest."""
    plan = choice.plan if choice.missing is None else choice.missing.nearest
    assert plan is not None
    return plan


def _measured(at: AtWork) -> Iterator[str]:
    for mask, one in sorted(at.measured.items(), key=lambda item: (item[0].bit_count(), item[0])):
        rate = "" if one.rate is None else f"{number(one.rate)} tuples/s, "
        cpu = "" if one.cpu is None else f", {number(one.cpu)} cpu"
        if mask:
            stored = f"{one.size:,} stored in {bytes_text(one.stored)}"
            yield f"measured: {at.join.graph.names(mask)}: {rate}{stored}{cpu}"
        else:
            yield f"measured: the join itself: {rate.rstrip(', ')}{cpu if rate else cpu.lstrip(', ')}"


def _probed(at: AtWork) -> Iterator[str]:
    if at.probes:
        times = "never changed" if not at.reordered else f"changed in {at.reordered} batches so far"
        yield f"probed in the last batch, in orders that were {times}: {', '.join(at.probes)}"
    else:
        yield f"probed as the kernel likes, {at.unordered}"


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


def _heading(join: MultiJoin) -> str:
    return f"join tree for {', '.join(one.name for one in join.graph.inputs)} ({shape_of(join.graph)})"


def _limits_of(question: Question) -> Limits:
    return Limits(
        processors() if question.cpu_limit is None else question.cpu_limit,
        memory_for_joins() if question.memory_limit is None else question.memory_limit,
    )


def _limits(question: Question) -> Iterator[str]:
    limits = _limits_of(question)
    whose = ["the machine's" if given is None else "given" for given in (question.cpu_limit, question.memory_limit)]
    cpu, memory = small(limits.cpu), bytes_text(limits.memory)
    yield f"  within cpu_limit = {cpu} ({whose[0]}) and memory_limit = '{memory}' ({whose[1]}), for this join alone"


def _planned(
    join: MultiJoin, model: Model, limits: Limits, shared: Shared | None = None, free: frozenset[int] = frozenset()
) -> Iterator[str]:
    choice = choose(model, limits)
    lines = [
        *told(model, choice, limits, UNITS, shared),
        *_kept_by_others(model, choice, free),
        *(() if choice.plan is None else _trades(model, choice.plan)),
    ]
    yield from (f"  {line}" for line in lines)
    yield from (f"  assumed: {one}" for one in join.assumed)
    yield f"  {'assumed' if model.costs == ASSUMED_COSTS else 'measured'}: {_costs(model.costs)}"


def _kept_by_others(model: Model, choice: Choice, free: frozenset[int]) -> Iterator[str]:
    """What the plan reads for nothing; what the join itself reads twice is not meant."""
    free |= {1 << at for mask in free for at in members(mask)}
    kept = [one.mask for one in model.kept(_told_plan(choice).tree) if one.mask in free]
    if kept:
        names = [model.graph.names(mask).replace(" ", " ⋈ ") for mask in kept]
        yield f"not counted there is what other joins keep as well: {', '.join(names)}"


def _trades(model: Model, plan: Plan) -> Iterator[str]:
    """What each state that is stored takes and saves."""
    for state in plan.tree.states():
        trade = trade_of(model, plan.tree, state)
        if abs(trade.saved) < UNNOTICED:
            continue
        saved = f"saves {number(trade.saved)} cpu" if trade.saved >= 0 else f"costs {number(-trade.saved)} cpu"
        yield f"storing {names_of(model, state)} takes {bytes_text(trade.memory)} and {saved}"


def _costs(costs: Costs) -> str:
    parts = ((costs.insert, "to insert a tuple"), (costs.purge, "to purge one"), (costs.join, "for a joined one"))
    micros = ", ".join(f"{cost * 1e6:.3g} µs {what}" for cost, what in parts)
    node = ""
    if costs.batch:
        fixed = (costs.node * costs.batch * 1e3, costs.step * costs.batch * 1e3, costs.scan * costs.batch * 1e6)
        said = "{:.3g} ms for a node, {:.3g} ms for each of its joins, {:.3g} µs for a tuple that is probed"
        every = f"in each batch of {number(costs.batch)} s, {said.format(*fixed)}"
        node = f", {costs.answer * 1e6:.3g} µs to answer one; {every}"
    return f"{micros}, {costs.compare * 1e9:.3g} ns to compare a pair{node}"


__all__ = ["AtWork", "Measured", "Question", "bytes_text", "drawings", "explained", "explained_at_work"]
