"""Joins over streams that are made by a rule: their statements, their tuples, and graphs of what is known of them.

Streams are called s0, s1, …; each has a column for each condition that it is in, a number `v`, and its tick `t`. A
condition is an equality of keys that are drawn evenly from so many values: one pair in so many fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from eddyline.planner.shapes import PAIRS


@dataclass(frozen=True)
class Edge:
    """A condition between two streams; one pair of tuples in `keys` satisfies it.

    With a `spread`, the keys of the first one are drawn from so many times as many values, most of which the other does
    not have: one pair in keys · spread satisfies it. With `compared` both keys must add up to a multiple of their
    number, which no index finds: all pairs are compared. `in_turn`: the other has all keys one after the other, so that
    each tuple of the first one has one partner in a window of as many tuples.
    """

    one: int
    other: int
    keys: int
    spread: int = 1
    compared: bool = False
    in_turn: bool = False

    @property
    def selectivity(self) -> float:
        return 1 / (self.keys * self.spread)

    def values(self, at: int) -> int:
        """From how many values the keys of a stream are drawn."""
        return self.keys * (self.spread if at == self.one else 1)

    @property
    def column(self) -> str:
        return f"k{self.one}_{self.other}"


@dataclass(frozen=True)
class Change:
    """From a tick on, streams have these rates and these conditions instead."""

    tick: int
    rates: tuple[int, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Workload:
    """Streams with so many tuples in a tick of a second, windows of so many seconds, and conditions."""

    name: str
    rates: tuple[int, ...]
    windows: tuple[int, ...]
    edges: tuple[Edge, ...]
    seed: int = 1
    change: Change | None = None
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(f"s{at}" for at in range(len(self.rates))))

    def columns(self, at: int) -> list[str]:
        """The keys of a stream."""
        return [edge.column for edge in self.edges if at in (edge.one, edge.other)]

    def streams(self) -> Iterator[str]:
        for at, name in enumerate(self.names):
            keys = "".join(f"{column} INTEGER, " for column in self.columns(at))
            yield f"CREATE STREAM {name} ({keys}v INTEGER, t INTEGER) TIMESTAMP BY t"

    @property
    def conditions(self) -> list[str]:
        sides = ((e, f"{self.names[e.one]}.{e.column}", f"{self.names[e.other]}.{e.column}") for e in self.edges)
        return [f"({a} + {b}) % {e.keys} = 0" if e.compared else f"{a} = {b}" for e, a, b in sides]

    def query(self, more: int = 0) -> str:
        """All joined tuples, each once, when the last of its parts has come.

        With so many `more` columns: queries of one shape would be answered together, without states.
        """
        columns = [f"{name}.v AS v{at}" for at, name in enumerate(self.names)]
        shown = ", ".join([*columns, *(f"{self.names[0]}.v AS again{at}" for at in range(more))])
        sources = ", ".join(f"{n} [RANGE {w} SEC]" for n, w in zip(self.names, self.windows, strict=True))
        return f"ISTREAM(SELECT {shown} FROM {sources} WHERE {' AND '.join(self.conditions)})"

    def tuples(self, at: int, first: int, end: int) -> pa.Table:
        """The tuples of a stream with the ticks from `first` to before `end`; each tick is drawn by itself."""
        ticks = range(first, end)
        parts = [self._tick(at, tick) for tick in ticks]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in (*self.columns(at), "v", "t")}
        return pa.table({name: pa.array(values.astype(np.int32)) for name, values in columns.items()})

    def _tick(self, at: int, tick: int) -> dict[str, np.ndarray]:
        now = self._change(tick)
        rate = self.rates[at] if now is None else now.rates[at]
        dice = np.random.default_rng((self.seed, at, tick))
        edges = [edge for edge in (self.edges if now is None else now.edges) if at in (edge.one, edge.other)]
        found = {
            edge.column: (np.arange(rate) + tick * rate) % edge.keys
            if edge.in_turn and at == edge.other
            else dice.integers(0, edge.values(at), rate)
            for edge in edges
        }
        most = max(self.rates[at], 0 if self.change is None else self.change.rates[at])
        return {**found, "v": np.arange(rate) + tick * most, "t": np.full(rate, tick)}

    def _change(self, tick: int) -> Change | None:
        return self.change if self.change is not None and tick >= self.change.tick else None


def random_workload(rng: Random, number: int, shape: str, tuples: int) -> Workload:
    """About so many tuples in a second of all streams; windows of 2 to 8 s; 0.5 to 3 partners with each neighbour."""
    shares = [rng.uniform(1, 6) for _ in range(number)]
    rates = tuple(max(1, round(tuples * share / sum(shares))) for share in shares)
    windows = tuple(rng.randrange(2, 9) for _ in range(number))
    sizes = [rate * window for rate, window in zip(rates, windows, strict=True)]
    edges = []
    for one, other in PAIRS[shape](number):
        partners = rng.uniform(0.5, 3.0)
        keys = (sizes[one] * sizes[other]) ** 0.5 / partners
        if shape == "clique":  # all pairs together are to be as selective as those of a line
            keys **= 2 / number
        edges.append(Edge(one, other, max(1, round(keys))))
    return Workload(f"{shape}-{number}-{tuples}", rates, windows, tuple(edges), rng.randrange(1 << 30))


def batches(workload: Workload, ticks: int, span: int, filling: int = 0) -> Iterator[Sequence[pa.Table]]:
    """The tuples of all streams, batch by batch of so many ticks; before them one of `filling` ticks, if any.

    That one has of each stream only what is still in its window at the end.
    """
    edges = [1, *range(1 + filling, ticks + 1, span), ticks + 1]
    for first, end in pairwise(dict.fromkeys(edges)):
        fills = filling and end == 1 + filling
        firsts = [max(first, end - window - 1) if fills else first for window in workload.windows]
        yield [workload.tuples(at, since, end) for at, since in enumerate(firsts)]


def keep_apart(db: Any) -> None:
    """Each join of a database keeps its own states and has limits for itself, so that each pays for what it needs."""
    executor = db._core.engine.executor
    executor.shared.enabled, executor.joins.apart = False, True
