"""All that has arrived, in batches. Every operator that reads an extent reads it here, at its own pace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from eddyline.algebra.tagging import Taggers
from eddyline.reference.coverage import Attach
from eddyline.reference.detach import Detach
from eddyline.reference.element import Change, Clock, TagElement

Arrived = Change | TagElement | Attach | Detach


@dataclass(frozen=True)
class Batch:
    """What came between two ends of a batch, by extent, and the clock at its end.

    `flushed`: whose withheld corrections it shows, if somebody has asked for that.
    """

    elements: Mapping[str, tuple[Arrived, ...]]
    clock: Clock
    flushed: str | None = None


@dataclass
class Feed:
    """The batches so far, and the continuous taggers on the streams.

    A query created later reads them from the first on: nothing is forgotten.
    """

    batches: list[Batch] = field(default_factory=list)
    taggers: Taggers = field(default_factory=Taggers)

    def of(self, extent: str) -> Iterator[Arrived | Clock]:
        """The elements of an extent, batch by batch. Whoever reads asks for a batch only when it is there."""
        for position in count():
            batch = self.batches[position]
            yield from batch.elements.get(extent, ())
            yield batch.clock
