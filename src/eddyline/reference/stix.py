"""The streaming tag index: which of the following objects each of the following tags applies to (section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.stix import stix_text

__all__ = ["StixElement", "stix_text"]


@dataclass(frozen=True, slots=True)
class StixElement:
    """A stix on its way through the output of a tag join, in front of its tags and their tuples."""

    tick: int
    text: str
