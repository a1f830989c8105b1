"""The orders in which the parts of a join probe each other in a batch: the eddy at the join.

An order costs nothing to change, as nothing is stored by it. So each batch goes by the best one for what was seen until
then, while trees change only when that pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from eddyline.planner.cost import Model

#: the sets of inputs that the parts of a node join, and which of them begins
Asked = tuple[tuple[int, ...], int]


class Orders(Protocol):
    """Whoever knows in which orders the parts of a node probe each other; sets of inputs are those of its join."""

    def order(self, masks: tuple[int, ...], first: int) -> Sequence[int]:
        """In which order the tuples of one part probe the other parts."""

    def beginning(self, masks: tuple[int, ...]) -> int:
        """Which part is best to begin with where all are joined as they stand."""

    def is_anew(self, masks: tuple[int, ...]) -> bool:
        """Whether it is better to join all that stands than to have each part probe all others."""


@dataclass
class Probing:
    """What is known of a join in a batch, and by which orders it has run."""

    model: Model
    used: dict[Asked, tuple[int, ...]] = field(default_factory=dict)

    def order(self, masks: tuple[int, ...], first: int) -> tuple[int, ...]:
        found = self.used[masks, first] = self.model.node(masks).orders[first].probes
        return found

    def beginning(self, masks: tuple[int, ...]) -> int:
        orders = self.model.node(masks).orders
        return min(range(len(masks)), key=lambda at: orders[at].cost)

    def is_anew(self, masks: tuple[int, ...]) -> bool:
        return self.model.node(masks).anew

    def differs(self, before: Probing) -> bool:
        """Whether it goes by another order than one before it has."""
        return any(self.model.node(masks).orders[first].probes != way for (masks, first), way in before.used.items())

    def told(self) -> list[str]:
        """Each order that was used, with the names of the inputs.

        >>> from eddyline.planner.cost import Costs
        >>> from eddyline.planner.graph import Input, JoinGraph
        >>> graph = JoinGraph((Input("a", 1, 10), Input("b", 1, 10), Input("c", 1, 5)))
        >>> probing = Probing(Model(graph, Costs(1, 1, 1)))
        >>> probing.order((0b1, 0b110), 0), probing.order((0b1, 0b10, 0b100), 0)
        ((1,), (2, 1))
        >>> probing.told()
        ['a → (b c)', 'a → c → b']
        """
        used = list(self.used.items())  # the batch at hand adds to them while somebody asks
        return [" → ".join(self._name(masks[at]) for at in (first, *way)) for (masks, first), way in used]

    def _name(self, mask: int) -> str:
        names = self.model.graph.names(mask)
        return f"({names})" if mask & (mask - 1) else names
