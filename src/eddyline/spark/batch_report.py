"""What is told of a micro-batch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BatchReport:
    """What one micro-batch did."""

    batch: int
    rows: int
    seconds: float
    reached: int | None
    plus: int
    minus: int
    stages: int
