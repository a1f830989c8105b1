"""Sets of whole numbers (ticks, indexes, iterations) as few stretches: what has changed and what must be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

#: stand for minus and plus infinity; far enough from the ends of BIGINT that widths can be added
LOW, HIGH = -(2**62), 2**62


@dataclass(frozen=True)
class Spans:
    """Disjoint stretches in ascending order, both ends inclusive."""

    parts: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> Spans:
        """The union of stretches in any order; empty ones are left out.

        >>> Spans.of([(5, 6), (1, 2), (3, 4), (9, 8)]).parts
        ((1, 6),)
        """
        merged: list[tuple[int, int]] = []
        for low, high in sorted((max(low, LOW), min(high, HIGH)) for low, high in pairs if low <= high):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        return cls(tuple(merged))

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.parts)

    def __or__(self, other: Spans) -> Spans:
        return Spans.of((*self.parts, *other.parts))

    def __sub__(self, other: Spans) -> Spans:
        """What is left outside of others.

        >>> (Spans.of([(1, 9), (20, 20)]) - Spans.of([(3, 4), (9, 30)])).parts
        ((1, 2), (5, 8))
        """
        if not other:
            return self
        edges = [LOW - 1, *(edge for part in other for edge in part), HIGH + 1]
        gaps = [(a + 1, b - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
        return Spans.of((max(a, low), min(b, high)) for a, b in self.parts for low, high in gaps)

    def __and__(self, other: Spans) -> Spans:
        return self - (self - other)

    def within(self, low: int, high: int) -> Spans:
        return Spans.of((max(a, low), min(b, high)) for a, b in self.parts)

    def mapped(self, change: Callable[[int, int], tuple[int, int]]) -> Spans:
        return Spans.of(change(low, high) for low, high in self.parts)

    def grown(self, before: int = 0, after: int = 0) -> Spans:
        """Each stretch longer at its ends (or shorter, if negative)."""
        return self.mapped(lambda low, high: (max(LOW, low - before), min(HIGH, high + after)))

    def coarser(self, most: int = 64) -> Spans:
        """The same or more in at most so many stretches: the smallest gaps are filled. Conditions stay short."""
        if len(self.parts) <= most:
            return self
        gaps = sorted(range(1, len(self.parts)), key=lambda i: self.parts[i][0] - self.parts[i - 1][1])
        cuts = [0, *sorted(gaps[len(gaps) - (most - 1) :]), len(self.parts)]
        return Spans(tuple((self.parts[a][0], self.parts[b - 1][1]) for a, b in pairwise(cuts)))

    @property
    def low(self) -> int:
        return self.parts[0][0]

    @property
    def high(self) -> int:
        return self.parts[-1][1]

    def meets(self, low: int, high: int) -> bool:
        return any(a <= high and low <= b for a, b in self.parts)

    def condition(self, column: str) -> str:
        """The SQL condition that a value of the column is in the set.

        >>> Spans.of([(1, 1), (5, HIGH)]).condition("x")
        '(x = 1 OR x >= 5)'
        """
        return f"({' OR '.join(_condition(column, low, high) for low, high in self.parts) or 'false'})"


def _condition(column: str, low: int, high: int) -> str:
    if low == high:
        return f"{column} = {low}"
    if low <= LOW:
        return "true" if high >= HIGH else f"{column} <= {high}"
    return f"{column} >= {low}" if high >= HIGH else f"{column} BETWEEN {low} AND {high}"


EVERYTHING = Spans(((LOW, HIGH),))
NOTHING = Spans()
