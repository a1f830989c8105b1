"""In which order a tuple that arrives at a node probes the states of the other children.

The step from the joined tuples P to the state d costs what it finds for each part of P that is new: size(P ∪ d), and
what an index has found, but the predicates that it knows nothing of drop; if there is no index, comparing each with all
of d. It depends on the sets alone, so for few states dynamic programming over subsets finds the best order, cross
products among them. For many, two candidates are weighed:

- ranks (Ibaraki and Kameda; Krishnamurthy, Boral and Zaniolo): along a spanning tree of the most selective predicates.
  If the graph is a tree, no order without cross products is better; O(n log n) for each child that begins.
- greedy: the cheapest step next, O(n²).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import merge

from eddyline.planner.graph import members
from eddyline.planner.parts import Parts

#: up to so many children are ordered exactly: in a millisecond, which batches have that join so many
EXACT_CHILDREN = 8

#: to divide by where a cost, or a part, is below all numbers
_NEXT_TO_NOTHING = 1e-300

#: what it costs to come to a set of parts if one of them is the last
LastStep = Callable[[int, int], float]


@dataclass(frozen=True)
class Order:
    """Which parts are probed one after the other, and what that costs for each new part of the state that begins."""

    probes: tuple[int, ...]
    cost: float


@dataclass(frozen=True)
class Prices:
    """What a step costs: for each joined tuple, and for each pair that is compared without an index."""

    join: float
    compare: float


@dataclass(frozen=True)
class Module:
    """A run of parts that stay together: by what it multiplies tuples (T of the literature), and its cost C."""

    factor: float
    cost: float
    parts: tuple[int, ...]

    @property
    def rank(self) -> float:
        return (self.factor - 1.0) / max(self.cost, _NEXT_TO_NOTHING)

    def before(self, other: Module) -> Module:
        return Module(self.factor * other.factor, self.cost + self.factor * other.cost, self.parts + other.parts)


def best_orders(parts: Parts, prices: Prices) -> tuple[Order, ...]:
    """For each part that begins the best order; of many parts the better one of two good ones."""
    if len(parts) <= EXACT_CHILDREN:
        return exact_orders(parts, prices)
    found = []
    for start in range(len(parts)):
        candidates = (ranked_order(parts, start), greedy_order(parts, start, prices))
        orders = (Order(probes, cost_of(parts, start, probes, prices)) for probes in candidates)
        found.append(min(orders, key=lambda order: order.cost))
    return tuple(found)


def steps_of_orders(parts: int) -> float:
    """What that takes, in steps of a budget (`budget.py`)."""
    return parts * 2.0**parts if parts <= EXACT_CHILDREN else parts**3


def step(parts: Parts, joined: int, size: float, part: int, prices: Prices) -> tuple[float, float]:
    """How many tuples are joined after one more part, and what that costs."""
    after = size * parts.factor(joined, part)
    return after, _step_cost(parts, joined, size, part, after, prices)


def _step_cost(parts: Parts, joined: int, size: float, part: int, after: float, prices: Prices) -> float:
    if parts.is_indexed(joined, part):
        return after / max(parts.left_to_ask(joined, part), _NEXT_TO_NOTHING) * prices.join
    return after * prices.join + size * parts.sizes[part] * prices.compare


def cost_of(parts: Parts, start: int, probes: Sequence[int], prices: Prices) -> float:
    total, joined, size = 0.0, 1 << start, parts.sizes[start]
    for part in probes:
        size, cost = step(parts, joined, size, part, prices)
        total += cost
        joined |= 1 << part
    return total


def exact_orders(parts: Parts, prices: Prices) -> tuple[Order, ...]:
    """For each part that begins the best of all orders, from the best ways to all smaller sets."""
    number = len(parts)
    sizes = [1.0] * (1 << number)
    for some in range(1, 1 << number):
        lowest = some & -some
        rest = some ^ lowest
        sizes[some] = sizes[rest] * parts.factor(rest, lowest.bit_length() - 1)

    def last_step(some: int, part: int) -> float:
        rest = some ^ 1 << part
        return _step_cost(parts, rest, sizes[rest], part, sizes[some], prices)

    return tuple(_exact_order(number, start, last_step) for start in range(number))


def _exact_order(number: int, start: int, last_step: LastStep) -> Order:
    best = [(0.0, -1)] * (1 << number)  # the cost, and which part is last
    first = 1 << start
    for some in range(1 << number):
        if not some & first or some == first:
            continue
        found = (float("inf"), -1)
        for part in members(some ^ first):
            cost = best[some ^ 1 << part][0] + last_step(some, part)
            if cost < found[0] or found[1] < 0:
                found = (cost, part)
        best[some] = found
    probes, left = [], (1 << number) - 1
    while left != first:
        last = best[left][1]
        probes.append(last)
        left ^= 1 << last
    return Order(tuple(reversed(probes)), best[-1][0])


def greedy_order(parts: Parts, start: int, prices: Prices) -> tuple[int, ...]:
    """The cheapest step next."""
    joined, size = 1 << start, parts.sizes[start]
    left, found = set(range(len(parts))) - {start}, []
    while left:
        steps = {part: step(parts, joined, size, part, prices) for part in sorted(left)}
        part = min(steps, key=lambda one: steps[one][1])
        size = steps[part][0]
        left.remove(part)
        found.append(part)
        joined |= 1 << part
    return tuple(found)


def ranked_order(parts: Parts, start: int) -> tuple[int, ...]:
    """In the order of ranks, each part after the one through which it hangs on the beginning."""
    above = spanning_tree(parts, start)
    below: dict[int, list[int]] = {}
    for part, parent in above.items():
        below.setdefault(parent, []).append(part)

    def chain(part: int) -> list[Module]:
        factor = parts.sizes[part] * parts.selectivity(part, above[part])
        first = Module(factor, factor, (part,))
        rest = _merged([chain(child) for child in below.get(part, ())])
        while rest and rest[0].rank < first.rank:
            first = first.before(rest.pop(0))  # it must come first and would rather not: they move as one
        return [first, *rest]

    modules = _merged([chain(child) for child in below.get(start, ())])
    return tuple(part for module in modules for part in module.parts)


def _merged(chains: list[list[Module]]) -> list[Module]:
    return list(merge(*chains, key=lambda module: module.rank))


def spanning_tree(parts: Parts, start: int) -> dict[int, int]:
    """For each part the one through which it hangs on the beginning, along the most selective predicates."""
    nearest = {part: (parts.selectivity(start, part), start) for part in range(len(parts)) if part != start}
    above: dict[int, int] = {}
    while nearest:
        part = min(nearest, key=lambda one: nearest[one][0])
        above[part] = nearest.pop(part)[1]
        for other, (selectivity, _) in nearest.items():
            closer = parts.selectivity(part, other)
            if closer < selectivity:
                nearest[other] = (closer, part)
    return above
