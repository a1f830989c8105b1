"""Join trees as they are shown to people: every amount is a text already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class DrawnNode:
    """An input of a join, or what some of them give joined.

    Of the join itself, which is not stored, `state` and `memory` are empty, and mostly `cpu` and `probes`.
    """

    name: str
    rate: str  # tuples in a second
    state: str = ""  # tuples at a time
    memory: str = ""  # what they take
    cpu: str = ""  # to keep them, and to join what arrives with its neighbours
    probes: tuple[str, ...] = ()  # the neighbours, in the order in which they are probed
    shares: tuple[float, float] = (0.0, 0.0)  # of the processor time and the memory of the whole tree
    children: tuple[DrawnNode, ...] = ()

    def walk(self) -> Iterator[DrawnNode]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class DrawnJoin:
    """One join: a heading, what is to be said of its tree, and the tree."""

    title: str
    notes: tuple[str, ...]
    root: DrawnNode
    fits: bool = True  # into its limits
