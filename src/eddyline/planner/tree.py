"""Join trees: every node joins two inputs or more, each of them a stream or what another node gives.

The tree with one node is the paper's mjoin, that with binary nodes only its bjtree, and all are jtrees. What a node
below another gives is stored: it is a *state*. What the root gives is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from eddyline.errors import InvalidDefinition
from eddyline.planner.graph import members


@dataclass(frozen=True)
class JTree:
    """A leaf (no children) or a node. Children stand in the order of their first inputs: equal trees are equal."""

    mask: int
    children: tuple[JTree, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.mask, self.children)))

    def __hash__(self) -> int:
        return self._hash  # trees are keys of large tables, and each hash would walk the whole tree

    @property
    def is_leaf(self) -> bool:
        return not self.children

    @property
    def parts(self) -> tuple[int, ...]:
        """The sets of inputs that its children join."""
        return tuple(child.mask for child in self.children)

    def nodes(self) -> Iterator[JTree]:
        """All that are not leaves, parents first."""
        if self.children:
            yield self
            for child in self.children:
                yield from child.nodes()

    def states(self) -> list[int]:
        """The intermediate results that it stores, as sets of inputs."""
        return [node.mask for node in self.nodes() if node is not self]

    def without(self, state: int) -> JTree:
        """The tree in which a state is not stored: its node is part of the one above."""
        if self.mask == state or self.mask & state != state:
            return self
        children: list[JTree] = []
        for child in self.children:
            children += child.children if child.mask == state and child.children else [child.without(state)]
        return node(children)

    def replaced(self, mask: int, by: JTree) -> JTree:
        """The tree with another way to join a set."""
        if self.mask == mask:
            return by
        if self.is_leaf or self.mask & mask != mask:
            return self
        return node(child.replaced(mask, by) for child in self.children)

    @property
    def kind(self) -> str:
        """What the paper calls it."""
        arities = {len(each.children) for each in self.nodes()}
        if len(self.children) == len(list(members(self.mask))):
            return "mjoin"
        return "bjtree" if arities == {2} else "jtree"


def leaf(at: int) -> JTree:
    return JTree(1 << at)


def node(children: Iterable[JTree]) -> JTree:
    """The join of these."""
    ordered = tuple(sorted(children, key=lambda child: child.mask & -child.mask))
    mask = 0
    for child in ordered:
        if mask & child.mask:
            raise InvalidDefinition("an input stands in a join tree once")
        mask |= child.mask
    if len(ordered) < 2:
        raise InvalidDefinition("a node joins two inputs or more")
    return JTree(mask, ordered)


def mjoin_of(mask: int) -> JTree:
    """The tree with one node over a set of inputs.

    >>> mjoin_of(0b111).kind, len(mjoin_of(0b111).states())
    ('mjoin', 0)
    """
    found = [leaf(at) for at in members(mask)]
    return node(found) if len(found) > 1 else found[0]


def tree_of(shape: object) -> JTree:
    """A tree written as nested tuples of the inputs' numbers.

    >>> tree = tree_of(((0, 1), 2, 3))
    >>> tree.kind, tree.states(), tree.without(0b11).kind
    ('jtree', [3], 'mjoin')
    """
    if isinstance(shape, int):
        return leaf(shape)
    assert isinstance(shape, tuple)
    return node(map(tree_of, shape))


def with_state(tree: JTree, mask: int) -> JTree:
    """The tree that stores one state more; what stands across it is stored no longer.

    >>> with_state(tree_of(((0, 1), 2, 3)), 0b110) == tree_of((0, (1, 2), 3))
    True
    """
    for state in tree.states():
        if state & mask and state & ~mask and mask & ~state:
            tree = tree.without(state)
    holding = min((one for one in tree.nodes() if one.mask & mask == mask), key=lambda one: one.mask.bit_count())
    if holding.mask == mask:
        return tree
    inside = [child for child in holding.children if child.mask & mask]
    outside = [child for child in holding.children if not child.mask & mask]
    return tree.replaced(holding.mask, node([*outside, node(inside)]))


def tree_with(mask: int, states: Iterable[int]) -> JTree:
    """The tree over a set of inputs that stores these states, each of them inside or outside of any other.

    >>> tree_with(0b1111, [0b11, 0b111]) == tree_of((((0, 1), 2), 3))
    True
    """
    tree = mjoin_of(mask)
    for state in sorted(set(states), key=int.bit_count, reverse=True):
        tree = with_state(tree, state)
    return tree
