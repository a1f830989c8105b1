"""What exists only inside windows: the window's own time, wtime(*)."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.expression import Call, Column, Literal, TypedExpr
from eddyline.algebra.node import WINDOW, WTIME
from eddyline.algebra.types import BIGINT, TIMESTAMP
from eddyline.binder.scope import FromScope
from eddyline.errors import InvalidWindow, Position


@dataclass
class WindowScope(FromScope):
    """The columns of windowed inputs. Tick and index of a tuple are gone there (SNEEql Figure 6).

    `clock_micros` is the length of a tick if the inputs are stamped by a TIMESTAMP, so that wtime(*) is one too;
    None if they are stamped by ticks.
    """

    clock_micros: int | None = None
    counted: bool = True  # whether there are windows to speak of; a CQL relation has a state at every tick instead

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        if parts != (WINDOW, WTIME):
            return super().resolve(parts, position)
        if not self.counted:
            raise InvalidWindow(
                "wtime(*) is the time of a window, but a CQL relation has none: it stands at every tick",
                position,
                "use a window that slides, e.g. [FROM NOW-10 TO NOW SLIDE 1 MIN] or [RANGE BY '10 seconds']",
            )
        tick = Column(WTIME, BIGINT, WINDOW)
        if self.clock_micros is None:
            return tick
        return Call("tick_to_timestamp", (tick, Literal(self.clock_micros, BIGINT)), TIMESTAMP)
