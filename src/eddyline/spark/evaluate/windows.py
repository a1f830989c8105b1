"""A list of windows as DataFrames."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.spark.evaluate.batch import columns_of
from eddyline.spark.evaluate.frames import Frame

#: the tick of a window
T = "_t"
#: the member of a query class that has a window, where each has its own list of them
WHOSE = "_whose"


@dataclass(frozen=True)
class Windows:
    """Rows and the list of windows they are in; an empty window is in the list only.

    `keys` name a window and put the list in order. A table that was always there has neither keys nor ticks.
    """

    rows: Frame  # keys, _t, c0, c1, …
    listed: Frame | None  # keys, _t; None: always there
    keys: tuple[str, ...]
    width: int
    #: (first, step): in a product on one grid, the windows of both sides stand at the same ticks
    grid: tuple[int, int] | None = None

    @property
    def always(self) -> bool:
        return self.listed is None

    @property
    def head(self) -> list[str]:
        """The columns that say which window a row is in."""
        if self.always:
            return []
        return list(self.keys) if T in self.keys else [*self.keys, T]

    @property
    def columns(self) -> list[str]:
        return columns_of(self.width)

    def with_rows(self, rows: Frame, width: int | None = None) -> Windows:
        return Windows(rows, self.listed, self.keys, self.width if width is None else width, self.grid)
