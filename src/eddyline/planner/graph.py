"""Join graphs: the inputs of a multi-way join, and the predicates between them.

Sets of inputs are bit masks, because planners look at thousands of them. All that a planner needs to know of a set V
depends on the set alone, not on the tree that joins it:

- size(V) = Π |S_X| · Π σ, the tuples that the joined windows hold at a time,
- rate(V) = size(V) · Σ λ_X / |S_X|, how many joined tuples arrive in a second. For two inputs it is the paper's
  σ_AB (λ_A |S_B| + λ_B |S_A|).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from eddyline.errors import InvalidDefinition

#: how a predicate can be looked up: by a key, in an order, or only by comparing with everything
EQUI, BAND, THETA = "equi", "band", "theta"
#: of a joined set; fewer tuples are none, more are too many in any case, and numbers go on to be divided by
_LEAST_SIZE, _MOST_SIZE = 1e-100, 1e150


@dataclass(frozen=True)
class Input:
    """One input. `size` is how many tuples its window holds; `width` what one of them takes, in units of memory.

    A table that does not change has a rate of 0. A window that is `counted` holds as many rows however fast they come.
    `shortest` is the part of it that stays however short it is made: nobody can write less than a tick, or a row.
    """

    name: str
    rate: float  # tuples in a second
    size: float
    width: float = 1.0
    counted: bool = False
    shortest: float = 0.0

    def __post_init__(self) -> None:
        if not (self.rate >= 0 and math.isfinite(self.rate)):
            raise InvalidDefinition(f"the rate of {self.name} is {self.rate}; it is a number from 0 on")
        if not (self.size > 0 and math.isfinite(self.size) and self.width > 0 and math.isfinite(self.width)):
            raise InvalidDefinition(f"{self.name} has {self.size} tuples of width {self.width}; both are above 0")

    @classmethod
    def windowed(cls, name: str, rate: float, window: float, width: float = 1.0) -> Input:
        """A stream with a window of so many seconds: |S| = λ · W."""
        return cls(name, rate, rate * window, width)

    def scaled(self, rates: float, windows: float) -> Input:
        """With other rates and windows; a window in time holds fewer tuples if fewer come."""
        if not self.rate:
            return self
        window = self.shortest + (1.0 - self.shortest) * windows
        size = self.size * window * (1.0 if self.counted else rates)
        return replace(self, rate=self.rate * rates, size=size)

    @property
    def churn(self) -> float:
        """Which part of its state is new in a second."""
        return self.rate / self.size


def _check(selectivity: float) -> None:
    if not 0 < selectivity <= 1:
        raise InvalidDefinition(f"a selectivity of {selectivity} is not above 0 and at most 1")


@dataclass(frozen=True)
class Predicate:
    """A condition on some inputs, mostly two: the part `selectivity` of all combinations of tuples satisfies it."""

    inputs: frozenset[int]
    selectivity: float
    kind: str = EQUI
    text: str = ""
    mask: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mask", mask_of(self.inputs))
        _check(self.selectivity)
        if len(self.inputs) < 2 or min(self.inputs) < 0:
            raise InvalidDefinition("a predicate of a join reads two inputs or more")
        if self.kind not in (EQUI, BAND, THETA):
            raise InvalidDefinition(f"{self.kind} is not a kind of predicate")

    @property
    def looked_up(self) -> bool:
        """Whether an index finds the tuples that satisfy it."""
        return self.kind != THETA


@dataclass(frozen=True)
class Key:
    """Three inputs or more that must have the same key, however the query says so: A.k = B.k AND B.k = C.k.

    Each of them is joined with any other, and of n inputs of a key n - 1 must fit: the part σⁿ⁻¹ of all combinations
    does, not one σ for each pair.

    Of some `pairs` more fit than of others: where they were measured, the inputs are merged along them, those that fit
    most often first, and each merge counts its own σ once it has members on both sides.
    """

    inputs: frozenset[int]
    selectivity: float
    text: str = ""
    pairs: tuple[tuple[int, int, float], ...] = ()
    mask: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mask", mask_of(self.inputs))
        _check(self.selectivity)
        if len(self.inputs) < 3 or min(self.inputs) < 0:
            raise InvalidDefinition("a key of two inputs is a predicate")
        for _, _, selectivity in self.pairs:
            _check(selectivity)
        if self.pairs and len(self.merges) != len(self.inputs) - 1:
            raise InvalidDefinition("the pairs of a key connect all of its inputs")

    @cached_property
    def merges(self) -> tuple[tuple[int, int, float], ...]:
        """The sets of inputs that are merged, two at a time, and the selectivity of each merge.

        >>> Key(frozenset({0, 1, 2}), 0.01, pairs=((0, 1, 0.001), (1, 2, 0.1))).merges
        ((2, 4, 0.1), (1, 6, 0.001))
        """
        group = {at: 1 << at for at in self.inputs}
        found = []
        for one, other, selectivity in sorted(self.pairs, key=lambda pair: -pair[2]):
            left, right = group[one], group[other]
            if left != right:
                found.append((left, right, selectivity))
                group |= dict.fromkeys(members(left | right), left | right)
        return tuple(found)


def joined_part(key: Key, one: int, other: int) -> float:
    """The part of the combinations of two sets of tuples, each of which fits the key, that fits it as well."""
    found = 1.0
    for left, right, selectivity in key.merges:
        if (one | other) & left and (one | other) & right:
            already = bool(one & left and one & right) + bool(other & left and other & right)
            found *= selectivity ** (1 - already)
    return found


@dataclass(frozen=True)
class JoinGraph:
    """Inputs, numbered from 0, and what they must fulfil. Nothing in it changes; what it has computed is kept."""

    inputs: tuple[Input, ...]
    predicates: tuple[Predicate, ...] = ()
    keys: tuple[Key, ...] = ()
    _sizes: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    _rests: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.inputs) < 2:
            raise InvalidDefinition("a join has two inputs or more")
        for one in self.edges:
            if max(one.inputs) >= len(self.inputs):
                raise InvalidDefinition(f"there is no input {max(one.inputs)} for {one.text or one}")

    @property
    def edges(self) -> tuple[Predicate | Key, ...]:
        """All that joins inputs with each other."""
        return (*self.predicates, *self.keys)

    @property
    def all(self) -> int:
        """The mask of all inputs."""
        return (1 << len(self.inputs)) - 1

    @cached_property
    def _reading(self) -> tuple[tuple[Predicate, ...], ...]:
        """The predicates by the inputs that they read."""
        return tuple(tuple(p for p in self.predicates if at in p.inputs) for at in range(len(self.inputs)))

    def size(self, mask: int) -> float:
        """How many joined tuples of a set stand in the windows at a time."""
        found = self._sizes.get(mask)
        if found is None:
            lowest = mask & -mask
            at = lowest.bit_length() - 1
            rest = mask ^ lowest
            found = self.inputs[at].size * (self.size(rest) * self._within(at, mask) if rest else 1.0)
            found = self._sizes[mask] = min(max(found, _LEAST_SIZE), _MOST_SIZE)
        return found

    def _within(self, at: int, mask: int) -> float:
        """By how much an input of a set is joined less with the rest of it than every tuple with every tuple."""
        factor = 1.0
        for predicate in self._reading[at]:
            if not predicate.mask & ~mask:
                factor *= predicate.selectivity
        rest = mask & ~(1 << at)
        for key in self.keys:
            if key.mask >> at & 1 and key.mask & rest:
                factor *= joined_part(key, 1 << at, rest) if key.pairs else key.selectivity
        return factor

    def churn(self, mask: int) -> float:
        """Which part of the joined tuples of a set is new in a second."""
        found = self._rests.get(mask)
        if found is None:
            found = self._rests[mask] = math.fsum(self.inputs[at].churn for at in members(mask))
        return found

    def rate(self, mask: int) -> float:
        """How many joined tuples of a set arrive in a second."""
        churn = self.churn(mask)
        return churn * self.size(mask) if churn else 0.0

    def width(self, mask: int) -> float:
        """What a joined tuple takes: as much as its parts."""
        return math.fsum(self.inputs[at].width for at in members(mask))

    def state(self, mask: int) -> float:
        """What it takes to keep the joined tuples of a set, in units of memory."""
        return self.size(mask) * self.width(mask)

    def names(self, mask: int) -> str:
        """
        >>> JoinGraph((Input("A", 1, 1), Input("B", 1, 1), Input("C", 1, 1))).names(0b101)
        'A C'
        """
        return " ".join(self.inputs[at].name for at in members(mask))

    def neighbours(self, mask: int) -> int:
        """The inputs outside of a set that share a predicate or a key with it."""
        found = 0
        for at in members(mask):
            for predicate in self._reading[at]:
                found |= predicate.mask
            for key in self.keys:
                found |= key.mask if key.mask >> at & 1 else 0
        return found & ~mask

    def components(self) -> list[int]:
        """The sets of inputs that no predicate connects with each other."""
        found, left = [], self.all
        while left:
            reached = left & -left
            while more := self.neighbours(reached):
                reached |= more
            found.append(reached)
            left &= ~reached
        return found

    def scaled(self, rates: float = 1.0, windows: float = 1.0) -> JoinGraph:
        """The same join with other rates and windows; what does not change, a table, stays as it is."""
        return JoinGraph(tuple(one.scaled(rates, windows) for one in self.inputs), self.predicates, self.keys)


def mask_of(inputs: Iterable[int]) -> int:
    """
    >>> mask_of([0, 2])
    5
    """
    return sum(1 << at for at in set(inputs))


def members(mask: int) -> Iterator[int]:
    """
    >>> list(members(0b1101))
    [0, 2, 3]
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
