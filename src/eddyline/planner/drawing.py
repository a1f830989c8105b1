"""Join trees and choices as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eddyline.algebra.join_drawing import DrawnNode
from eddyline.planner.choice import Choice
from eddyline.planner.cost import ROUNDING, Limits, Model, Resources
from eddyline.planner.graph import members
from eddyline.planner.order import Order
from eddyline.planner.plan import Plan
from eddyline.planner.shortfall import Shortfall
from eddyline.planner.tree import JTree

Amount = Callable[[float], str]

#: what is so many times a limit is told as that, and what is nearer by how much is missing
_TIMES = 2.0
#: of a joined set, so many inputs are named
_NAMED = 8
#: beyond a million times it does not matter how many
_MANY_TIMES = 1e6
#: tuples, bytes, processors: less is about nothing; and numbers that are told with an exponent
UNNOTICED, _TOO_LONG = 1e-9, 1e15
#: what is said of a plan if not all was looked at that would have been
CUT_SHORT = "the search for join trees was cut short: there may be better ones"
#: what the root probes where no child of it probes the others
_ANEW = "all that stands, once in a batch"


def number(value: float) -> str:
    """With three digits that count, or all before the point unless that are too many to read; what is less than anybody
    could notice is about nothing.

    >>> number(1234567.8), number(12.345), number(0.00012345), number(0), number(1.2e-94), number(1e20)
    ('1,234,568', '12.3', '0.000123', '0', '≈0', '1e+20')
    """
    if math.isinf(value):
        return "∞"
    if 0 < abs(value) < UNNOTICED:
        return "≈0"
    if abs(value) >= _TOO_LONG:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rounded_up(value: float) -> float:
    """To three digits that count: a limit that is to be enough must not be told too low.

    >>> rounded_up(0.96612), rounded_up(1234.5), rounded_up(0.5), rounded_up(62.5 * (1 + 2e-9))
    (0.967, 1240.0, 0.5, 62.6)
    """
    if value <= 0 or math.isinf(value):
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    # what is less than that above a number fits into it; it is 100 to 1,000 units
    return float(f"{math.ceil(value / unit - 100 * ROUNDING) * unit:.6g}")


def limit_text(value: float) -> str:
    """
    >>> limit_text(123456)
    '124000'
    """
    return f"{rounded_up(value):.15g}"


@dataclass(frozen=True)
class Units:
    """How the two resources are written, and limits that are to be enough."""

    cpu: Amount = number
    memory: Amount = number
    memory_limit: Amount = limit_text


def short(model: Model, tree: JTree) -> str:
    """A tree on one line.

    >>> from eddyline.planner.cost import Costs
    >>> from eddyline.planner.graph import Input, JoinGraph
    >>> from eddyline.planner.tree import tree_of
    >>> graph = JoinGraph(tuple(Input(name, 1, 1) for name in "ABCD"))
    >>> short(Model(graph, Costs(1, 1, 1)), tree_of((0, (1, 2), 3)))
    'A ⋈ (B ⋈ C) ⋈ D'
    """

    def text(one: JTree) -> str:
        return model.graph.names(one.mask) if one.is_leaf else f"({short(model, one)})"

    return " ⋈ ".join(text(child) for child in tree.children)


def nodes_of(model: Model, plan: Plan, units: Units | None = None) -> DrawnNode:
    """The tree with the rate of each input and node, what its state holds and takes, and the processor time.

    The processor time of a node is that of keeping its state and of joining what arrives in it with its neighbours, in
    the order of its probes, and what is its own alone. So they add up to what the plan needs. To read what others keep
    takes nothing but to probe it, and how they make it is no part of the plan.
    """
    units = units or Units()
    graph = model.graph

    def made(tree: JTree, cpu: float | None, probes: tuple[str, ...]) -> DrawnNode:
        is_read = cpu is not None and tree.mask in model.free
        cost = None if tree.is_leaf or is_read else model.node(tree.parts)
        own = 0.0 if cost is None else cost.own
        children = () if cost is None else tuple(children_of(tree, cost.orders, cost.anew))
        name, rate = names_of(model, tree.mask), number(graph.rate(tree.mask))
        if is_read and not tree.is_leaf:
            name = f"⋈ {name}"
        if cpu is None:
            told, share = (units.cpu(own), _share(own, plan.cpu)) if own else ("", 0.0)
            probes = (_ANEW,) if cost is not None and cost.anew else ()
            return DrawnNode(name, rate, cpu=told, probes=probes, shares=(share, 0.0), children=children)
        cpu += own
        memory = model.state(tree.mask)
        amounts = (number(graph.size(tree.mask)), units.memory(memory), units.cpu(cpu))
        return DrawnNode(name, rate, *amounts, probes, (_share(cpu, plan.cpu), _share(memory, plan.memory)), children)

    def children_of(tree: JTree, orders: tuple[Order, ...], anew: bool) -> Iterator[DrawnNode]:
        for child, order in zip(tree.children, orders, strict=True):
            churn = 0.0 if anew else graph.churn(child.mask)
            cpu = model.upkeep(child.mask) + (churn * order.cost if churn else 0.0)
            yield made(child, cpu, tuple(_state(model, tree.children[at]) for at in order.probes) if churn else ())

    return made(plan.tree, None, ())


def names_of(model: Model, mask: int) -> str:
    """The inputs of a set; of many the first ones, the last one, and how many they are."""
    names = [model.graph.inputs[at].name for at in members(mask)]
    if len(names) <= _NAMED:
        return " ".join(names)
    return f"{' '.join(names[: _NAMED // 2])} … {names[-1]} ({len(names)})"


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def drawn(model: Model, plan: Plan, units: Units | None = None) -> list[str]:
    """The tree as text, a line for each input and each node."""
    rows = [("", "tuples/s", "state", "memory", "cpu", "probes"), *_rows(nodes_of(model, plan, units), "", "")]
    widths = [max(len(row[at]) for row in rows) for at in range(5)]
    lines = []
    for row in rows:
        amounts = (row[at].rjust(widths[at]) for at in range(1, 5))
        lines.append("  ".join((row[0].ljust(widths[0]), *amounts, row[5])).rstrip())
    return lines


Row = tuple[str, str, str, str, str, str]


def _rows(node: DrawnNode, lead: str, below: str) -> Iterator[Row]:
    name = f"⋈ {node.name}" if node.children else node.name
    yield lead + name, node.rate, node.state, node.memory, node.cpu, " → ".join(node.probes)
    for child in node.children:
        is_last = child is node.children[-1]
        ends = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _rows(child, below + ends[0], below + ends[1])


def _state(model: Model, tree: JTree) -> str:
    names = names_of(model, tree.mask)
    return names if tree.is_leaf else f"({names})"


@dataclass(frozen=True)
class Shared:
    """Limits that hold for several joins together, and what the others take of them."""

    limits: Limits
    taken: Resources


def told(
    model: Model, choice: Choice, limits: Limits, units: Units | None = None, shared: Shared | None = None
) -> list[str]:
    """The plan with its drawing, the others and why they lost; or what is missing.

    With `shared`, `limits` are what is left of these. What fits is told against what is left; what does not, with what
    the others take, against the limits that somebody can change.
    """
    units = units or Units()
    shared = shared or Shared(limits, Resources(0.0, 0.0))
    lines = []
    if choice.plan is not None:
        lines.append(f"{choice.plan.tree.kind}, by {choice.by}: {used_text(choice.plan.used, limits, units)}")
        lines += [f"  {line}" for line in drawn(model, choice.plan, units)]
    if choice.missing is not None:
        lines += _missing(model, choice, choice.missing, units, shared)
    if choice.is_cut:
        lines.append(CUT_SHORT)
    for other in choice.others:
        why = _why(other.plan, choice.plan, limits, units, shared)
        lines.append(f"not {short(model, other.plan.tree)} ({other.plan.tree.kind}, by {other.by}): {why}")
    return lines


def used_text(used: Resources, limits: Limits, units: Units) -> str:
    return f"{_of(used.cpu, limits.cpu, units.cpu)} cpu, {_of(used.memory, limits.memory, units.memory)} memory"


def _of(used: float, limit: float, unit: Amount) -> str:
    return unit(used) if math.isinf(limit) else f"{unit(used)} of {small(limit, unit)}"


def small(limit: float, unit: Amount = number) -> str:
    """A limit, which is told also if it is about nothing."""
    return unit(limit) if limit >= UNNOTICED else f"{limit:.3g}"


def _why(plan: Plan, chosen: Plan | None, limits: Limits, units: Units, shared: Shared) -> str:
    if not limits.allow(plan.used):
        return _excess_beside(plan.used, units, shared)
    used = used_text(plan.used, limits, units)
    if chosen is None or plan.cpu >= chosen.cpu:
        return f"it fits, but needs more of the processor: {used}"
    return f"it fits, but was not looked at before: {used}"


def excess_text(used: Resources, limits: Limits, units: Units) -> str:
    parts = []
    for name, taken, limit, unit in (
        ("cpu", used.cpu, limits.cpu, units.cpu),
        ("memory", used.memory, limits.memory, units.memory),
    ):
        share = taken / limit
        if share > _MANY_TIMES:
            parts.append(f"{unit(taken)} {name} is more than a million times the limit")
        elif share >= _TIMES:
            parts.append(f"{unit(taken)} {name} is {share:,.{1 if share < 10 else 0}f} times the limit")
        elif share > 1:
            parts.append(f"{unit(taken)} {name} is {unit(taken - limit)} ({100 * (share - 1):.2g} %) above the limit")
    return ", ".join(parts)


def _excess_beside(used: Resources, units: Units, shared: Shared) -> str:
    """What a plan exceeds together with the others, if there are any."""
    excess = excess_text(used + shared.taken, shared.limits, units)
    if shared.taken == Resources(0.0, 0.0):
        return excess
    return f"{units.cpu(used.cpu)} cpu, {units.memory(used.memory)} memory; with the others {excess}"


def _missing(model: Model, choice: Choice, missing: Shortfall, units: Units, shared: Shared) -> Iterator[str]:
    nearest, taken = missing.nearest, shared.taken
    beside = taken != Resources(0.0, 0.0)
    fits = "beside the others a join tree fits" if beside else "a join tree fits"
    # of what others take nothing, its own limit is meant, which SET does not change
    set_cpu, set_memory = ("SET " if amount else "" for amount in (taken.cpu, taken.memory))
    none = "no join tree fits" if choice.certain else "no join tree was found that fits"
    others = f" beside the others, which take {units.cpu(taken.cpu)} cpu, {units.memory(taken.memory)} memory"
    yield none + (others if beside else "")
    yield f"nearest: {nearest.tree.kind}, {_excess_beside(nearest.used, units, shared)}"
    yield from (f"  {line}" for line in drawn(model, nearest, units))
    least = model.least
    yield f"every join tree needs at least {units.cpu(least.cpu)} cpu and {units.memory(least.memory)} memory"
    if missing.cpu_limit is not None:
        yield f"{fits} with {set_cpu}cpu_limit = {limit_text(missing.cpu_limit + taken.cpu)}"
    if missing.memory_limit is not None:
        yield f"{fits} with {set_memory}memory_limit = {units.memory_limit(missing.memory_limit + taken.memory)}"
    if missing.is_both:
        cpu, memory = limit_text(nearest.cpu + taken.cpu), units.memory_limit(nearest.memory + taken.memory)
        yield f"{fits} with {set_cpu}cpu_limit = {cpu} and {set_memory}memory_limit = {memory} together"
        fastest = f"{units.cpu(missing.fastest.cpu)} cpu, with {units.memory(missing.fastest.memory)} memory"
        yield f"the least cpu that a join tree was found for is {fastest}"
    if missing.windows is not None:
        yield f"{fits} with windows of {missing.windows:.0%} of their length"
    if missing.rates is not None:
        yield f"{fits} with {missing.rates:.0%} of the tuples"
    if missing.is_both and missing.windows is None and missing.rates is None:
        yield "no single change would do: both limits are too low"
