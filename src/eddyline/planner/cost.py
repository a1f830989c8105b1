"""What a join tree needs of the processor and of memory (the multi-join paper, section 2).

The processor: every node inserts what each child gives and purges it again, at rate(c)·(C_i + C_d), and joins it with
the states of the other children, one after the other, at C_j for each joined tuple. Memory: the state of every input,
and of every node but the root. Both are sums over nodes, and what a node adds depends only on the sets of inputs that
its children join.

Where tuples are taken in batches there is more, which the paper does not have: each batch opens what is stored, hashes
it, and reads and plans a statement with a join for each probe. It is the same however few tuples come.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, replace

from eddyline.errors import InvalidDefinition
from eddyline.planner.budget import Budget
from eddyline.planner.graph import JoinGraph, members
from eddyline.planner.order import Order, Prices, best_orders, steps_of_orders
from eddyline.planner.parts import Parts
from eddyline.planner.tree import JTree

#: limits are compared with this much patience, relative to them: sums of many parts are rounded
ROUNDING = 1e-9
#: of a limit, where nothing is left
LITTLE = 1e-9
#: steps of a budget that it takes to walk through a tree
_STEPS_FOR_TREE = 4.0


@dataclass(frozen=True)
class Costs:
    """Seconds of processor time: to insert a tuple (C_i), to purge one (C_d), and to produce a joined one (C_j).

    `compare` is that of looking at one pair where no index helps. The paper, whose joins are all by index, has none.
    Nor has it `answer`: to tell a tuple that the whole join gives.

    Where tuples are taken in batches of so many seconds (`batch`; 0: each by itself), each batch has its price: in a
    second, `node` for a node whatever comes, `step` for each of its joins, and `scan` for each tuple of a state that is
    probed.
    """

    insert: float
    purge: float
    join: float
    compare: float = 0.0
    node: float = 0.0
    step: float = 0.0
    scan: float = 0.0
    batch: float = 0.0
    answer: float = 0.0

    def __post_init__(self) -> None:
        costs = astuple(self)
        if not all(cost >= 0 and math.isfinite(cost) for cost in costs):
            raise InvalidDefinition(f"costs are not below 0: {self}")

    @property
    def upkeep(self) -> float:
        """Of a tuple that is stored, from beginning to end."""
        return self.insert + self.purge


@dataclass(frozen=True)
class Resources:
    """Seconds of processor time in a second, and units of memory."""

    cpu: float
    memory: float

    def __add__(self, other: Resources) -> Resources:
        return Resources(self.cpu + other.cpu, self.memory + other.memory)

    def __sub__(self, other: Resources) -> Resources:
        return Resources(self.cpu - other.cpu, self.memory - other.memory)

    def with_memory(self, memory: float) -> Resources:
        return Resources(self.cpu, memory)


@dataclass(frozen=True)
class Limits:
    """What there is of both; infinite if nobody has said."""

    cpu: float = math.inf
    memory: float = math.inf

    def __post_init__(self) -> None:
        if not (self.cpu > 0 and self.memory > 0):
            raise InvalidDefinition("limits are above 0")

    def allow(self, used: Resources, patience: float = ROUNDING) -> bool:
        return used.cpu <= self.cpu * (1 + patience) and used.memory <= self.memory * (1 + patience)

    def holds(self, memory: float) -> bool:
        return self.allow(Resources(0.0, memory))

    def within(self, others: Limits) -> Limits:
        """Both at once."""
        return Limits(min(self.cpu, others.cpu), min(self.memory, others.memory))

    def left(self, taken: Resources) -> Limits:
        """What is left of them; next to nothing if nothing is."""
        cpu, memory = self.cpu - taken.cpu, self.memory - taken.memory
        return Limits(max(cpu, self.cpu * 1e-6, LITTLE), max(memory, self.memory * 1e-6, LITTLE))

    def strain(self, used: Resources) -> float:
        """The larger of both shares that are used; above 1 something does not fit."""
        return max(used.cpu / self.cpu, used.memory / self.memory)


@dataclass(frozen=True)
class NodeCost:
    """What a node costs of the processor, and in which order each child probes the states of the others.

    `own` is the part of it that is no child's: what batches cost whatever comes, and of a root its answers. `anew`: of
    a root, that in each batch it joins all that stands, once, which is better for few tuples and many children than to
    have each child probe all others; what that costs is its own.
    """

    cpu: float
    orders: tuple[Order, ...]
    own: float = 0.0
    anew: bool = False


@dataclass
class Model:
    """The costs of everything over one graph. What was computed is kept.

    What is `free`, inputs and joined sets of them, others keep as well: it is neither made nor kept for this join. Of
    the inputs only those that are `storable` can be part of a state. All that is weighed is counted by the `budget`.
    """

    graph: JoinGraph
    costs: Costs
    free: frozenset[int] = frozenset()
    storable: int = -1
    budget: Budget = field(default_factory=Budget, repr=False, compare=False)
    _nodes: dict[tuple[int, ...], NodeCost] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        # who keeps a joined set keeps its inputs, too
        self.free |= {1 << at for mask in self.free for at in members(mask)}

    def node(self, masks: tuple[int, ...]) -> NodeCost:
        """A node over children that join these sets."""
        found = self._nodes.get(masks)
        if found is None:
            parts = Parts(self.graph, masks)
            orders = best_orders(parts, Prices(self.costs.join, self.costs.compare))
            probing = math.fsum(c * order.cost for c, order in zip(parts.churns, orders, strict=True) if c)
            own, anew, is_root = self._fixed(parts, anew=False), False, sum(masks) == self.graph.all
            if self.costs.batch and is_root:
                whole = min(order.cost for order in orders) / self.costs.batch
                whole = max(whole, self.graph.rate(self.graph.all) * self.costs.join)
                once = self._fixed(parts, anew=True)
                if once + whole < own + probing:
                    own, probing, anew = once + whole, 0.0, True
            if is_root:
                own += self.graph.rate(self.graph.all) * self.costs.answer
            cpu = math.fsum((own, *map(self._upkeep, masks), probing))
            found = self._nodes[masks] = NodeCost(cpu, orders, own, anew)
            self.budget.spend(steps_of_orders(len(masks)))
        self.budget.spend()
        spared = math.fsum(self._upkeep(mask) for mask in masks if mask in self.free) if self.free else 0.0
        return replace(found, cpu=found.cpu - spared) if spared else found

    def sharing(self, free: frozenset[int]) -> Model:
        """The same join where others keep these sets, too; what was computed is kept for both."""
        made = replace(self, free=self.free | free)
        made._nodes = self._nodes
        return made

    def within(self, budget: Budget) -> Model:
        """The same join, looked at with another budget; what was computed is kept for both."""
        made = replace(self, budget=budget)
        made._nodes = self._nodes
        return made

    def is_storable(self, mask: int) -> bool:
        return not mask & ~self.storable

    def storing(self, tree: JTree) -> JTree:
        """The tree without states that cannot be stored."""
        for state in () if self.storable == -1 else tree.states():
            if not self.is_storable(state):
                tree = tree.without(state)
        return tree

    def _fixed(self, parts: Parts, anew: bool) -> float:
        """What batches cost whatever comes: each child that changes probes all others, or all are joined once."""
        probing = [churn > 0 for churn in parts.churns]
        joins = (1 if anew else sum(probing)) * (len(parts) - 1)
        times = [1 if anew else sum(probing) - own for own in probing]
        scanned = math.fsum(size * often for size, often in zip(parts.sizes, times, strict=True))
        return self.costs.node + self.costs.step * joins + self.costs.scan * scanned

    def upkeep(self, mask: int) -> float:
        """What it costs to keep the state of a set up to date."""
        return 0.0 if mask in self.free else self._upkeep(mask)

    def _upkeep(self, mask: int) -> float:
        return self.graph.rate(mask) * self.costs.upkeep

    def state(self, mask: int) -> float:
        """The memory that it takes to keep the tuples of a set, of one input or joined."""
        return 0.0 if mask in self.free else self.graph.state(mask)

    def kept(self, tree: JTree) -> Iterator[JTree]:
        """The inputs and states of a tree, without what is below those that others keep."""
        for child in tree.children:
            yield child
            if child.mask not in self.free:
                yield from self.kept(child)

    def of(self, tree: JTree) -> Resources:
        """What a whole tree needs."""
        self.budget.spend(_STEPS_FOR_TREE)
        made = (tree, *(one for one in self.kept(tree) if one.children and one.mask not in self.free))
        return Resources(math.fsum(self.node(each.parts).cpu for each in made), self.memory(tree))

    @property
    def least(self) -> Resources:
        """What every tree needs: to keep the states of the inputs, and to produce the joined tuples of all."""
        graph = self.graph
        inputs = math.fsum(self.upkeep(1 << at) for at in range(len(graph.inputs)))
        answers = graph.rate(graph.all) * (self.costs.join + self.costs.answer)
        memory = math.fsum(self.state(1 << at) for at in range(len(graph.inputs)))
        return Resources(self.costs.node + inputs + answers, memory)

    def memory(self, tree: JTree) -> float:
        return math.fsum(self.state(one.mask) for one in self.kept(tree))
