"""In which order a part of a join probes the others."""

from __future__ import annotations

from collections.abc import Sequence

from eddyline.planner.probing import Orders
from eddyline.spark.join_inputs import JoinInputs


def beginning(parts: tuple[int, ...], probing: Orders | None) -> int:
    """With which part to begin where all of them are joined as they stand."""
    return 0 if probing is None else probing.beginning(parts)


def probes(join: JoinInputs, parts: tuple[int, ...], first: int, probing: Orders | None) -> Sequence[int]:
    """The parts behind the first, as the planner wants it in this batch.

    While nothing was seen, each comes as soon as most is known of what must be equal to it, and the kernel may have it
    its own way.
    """
    if probing is not None:
        return probing.order(parts, first)
    reached, left = parts[first], [at for at in range(len(parts)) if at != first]
    order = []
    while left:
        best = max(left, key=lambda at: _known(join, reached, parts[at]))
        left.remove(best)
        order.append(best)
        reached |= parts[best]
    return order


def _known(join: JoinInputs, reached: int, part: int) -> tuple[int, int]:
    """How many equalities, and how many conditions, join a part with what is there."""
    found = [c for c in join.conditions if c.inputs & reached and c.inputs & part and not c.inputs & ~(reached | part)]
    return sum(c.by_key for c in found), len(found)
