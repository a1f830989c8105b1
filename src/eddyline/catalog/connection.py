"""Connection points: how far back a stream or a query is kept, so that what comes late can still correct it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConnectionPoint:
    """A declared connection point."""

    name: str  # as declared; looked up without regard to case
    on: str  # the name of a stream or a query, as declared
    is_stream: bool
    retain: int | None  # in ticks; None: for ever

    @property
    def retains(self) -> str:
        """How far back, in words."""
        if self.retain is None:
            return "for ever"
        return f"{self.retain:,} tick{'' if self.retain == 1 else 's'}"
