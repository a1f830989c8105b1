"""What a side is given and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from bench.many.queries import KINDS, Kind, constants
from bench.many.ticks import Ticks


class Unavailable(Exception):
    """This side cannot be run here; the message says why, in a line."""


@dataclass(frozen=True)
class Case:
    """So many queries of a kind on a stream."""

    kind_name: str
    size: int
    ticks: Ticks

    @property
    def kind(self) -> Kind:
        return KINDS[self.kind_name]

    @cached_property
    def constants(self) -> pa.Table:
        return constants(self.kind, self.size, self.ticks.symbols)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(saved: dict[str, Any]) -> Case:
        return Case(saved["kind_name"], saved["size"], Ticks(**saved["ticks"]))


@dataclass(frozen=True)
class Measured:
    """`register`: until the queries stand. `process`: all tuples, until the last answer is where it belongs.

    `cpu`: processor time of all its processes meanwhile, where it was counted; of Spark's own sides that of registering
    too, because nothing can be held back there.
    """

    register: float
    register_mb: float  # by how much the processes of this side grew meanwhile
    process: float
    cpu: float = 0.0


class Side(Protocol):
    def __init__(self, work: Path, tuned: bool) -> None: ...

    def start(self) -> None:
        """Everything that is done once, however many queries come. May raise Unavailable."""

    def run(self, case: Case) -> Measured: ...

    def answers(self, case: Case) -> pa.Table:
        """Of the last run, as `answers.digests` takes them."""


def union(intervals: Sequence[tuple[float, float]]) -> float:
    """The seconds in which at least one of some intervals goes on.

    >>> union([(5, 6), (0, 2), (1, 3)])
    4.0
    """
    total, until = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
