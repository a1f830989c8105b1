"""A join graph as one node sees it: the sets of inputs that its children join, each as if it were one input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from eddyline.planner.graph import JoinGraph, Key, joined_part, members


@dataclass(frozen=True)
class Several:
    """A predicate on three parts or more: it can be asked once all are there."""

    parts: int
    selectivity: float
    looked_up: bool


class Parts:
    """The parts by number; sets of parts are bit masks, too."""

    def __init__(self, graph: JoinGraph, masks: Sequence[int]) -> None:
        self.masks = tuple(masks)
        self.sizes = [graph.size(mask) for mask in masks]
        self.churns = [graph.churn(mask) for mask in masks]
        self.adjacent = [0] * len(masks)  # the parts with which each shares a predicate
        self.indexed = [0] * len(masks)  # of these, those that an index can find
        self._pairs: list[dict[int, float]] = [{} for _ in masks]
        self._left: list[dict[int, float]] = [{} for _ in masks]  # of these, what no index can find
        self._several: list[Several] = []
        self._keys: list[tuple[int, float]] = []  # the parts that a key touches
        self._uneven: list[Key] = []  # keys of which pairs differ
        part_of = {at: number for number, mask in enumerate(masks) for at in members(mask)}
        for predicate in graph.predicates:
            touched = {part_of[at] for at in predicate.inputs if at in part_of}
            if len(touched) == 2 and all(at in part_of for at in predicate.inputs):
                one, other = touched
                self._pair(one, other, predicate.selectivity, predicate.looked_up)
            elif len(touched) > 2 and all(at in part_of for at in predicate.inputs):
                self._several.append(
                    Several(sum(1 << part for part in touched), predicate.selectivity, predicate.looked_up)
                )

        for key in graph.keys:
            holding = sum({1 << part_of[at] for at in key.inputs if at in part_of})
            if holding & (holding - 1):
                if key.pairs:
                    self._uneven.append(key)
                else:
                    self._keys.append((holding, key.selectivity))
                for part in members(holding):
                    self.indexed[part] |= holding ^ 1 << part

    def _pair(self, one: int, other: int, selectivity: float, looked_up: bool) -> None:
        for left, right in ((one, other), (other, one)):
            self._pairs[left][right] = self._pairs[left].get(right, 1.0) * selectivity
            self.adjacent[left] |= 1 << right
            if looked_up:
                self.indexed[left] |= 1 << right
            else:
                self._left[left][right] = self._left[left].get(right, 1.0) * selectivity

    def __len__(self) -> int:
        return len(self.masks)

    def selectivity(self, one: int, other: int) -> float:
        """Between two parts; 1 if no predicate joins them."""
        found = self._pairs[one].get(other, 1.0)
        for holding, selectivity in self._keys:
            if holding >> one & holding >> other & 1:
                found *= selectivity
        for key in self._uneven:
            found *= joined_part(key, self.masks[one], self.masks[other])
        return found

    def factor(self, joined: int, part: int) -> float:
        """By how much a part multiplies the tuples that are joined of some others."""
        found = self.sizes[part]
        pairs = self._pairs[part]
        for other in members(joined & self.adjacent[part]):
            found *= pairs[other]
        for predicate in self._completed(joined, part):
            found *= predicate.selectivity
        for holding, selectivity in self._keys:
            if holding >> part & 1 and holding & joined:
                found *= selectivity
        if self._uneven:
            inputs = sum(self.masks[other] for other in members(joined))
            for key in self._uneven:
                found *= joined_part(key, inputs, self.masks[part])
        return found

    def is_indexed(self, joined: int, part: int) -> bool:
        """Whether an index finds what in a part goes with tuples that are joined of some others."""
        return bool(joined & self.indexed[part]) or any(p.looked_up for p in self._completed(joined, part))

    def left_to_ask(self, joined: int, part: int) -> float:
        """The part of what an index finds that is left when what it cannot find has been asked as well."""
        left = self._left[part]
        found = prod(left[other] for other in members(joined & self.adjacent[part]) if other in left)
        return found * prod(p.selectivity for p in self._completed(joined, part) if not p.looked_up)

    def _completed(self, joined: int, part: int) -> list[Several]:
        if not self._several:
            return []
        both = joined | 1 << part
        return [p for p in self._several if p.parts >> part & 1 and not p.parts & ~both]
