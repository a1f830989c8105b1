"""The members of a query class beside the data, as tables."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from eddyline.algebra.sharing import QUERY
from eddyline.spark.evaluate.frames import Frame, Frames, few

#: in tables of members: the first tick at which one is answered, and the last index that had come before it was created
BEGIN, SINCE = "_begin", "_since"


@dataclass(frozen=True)
class Members:
    """Tables by the name of their form: `_query`, `_begin`, `_since`, and the constants as _p0, …, _a0, …"""

    tables: dict[str, pa.Table]
    above: int  # how many constants of HAVING each has
    latest: int  # the largest `_begin`
    since: int  # the largest `_since`

    def frame(self, form: str, frames: Frames) -> Frame:
        return few(frames.table(self.tables[form]))

    def everyone(self, frames: Frames) -> Frame:
        """All members, of whatever form: number, beginning, and the constants of HAVING."""
        columns = [QUERY, BEGIN, *(f"_a{i}" for i in range(self.above))]
        return few(frames.table(pa.concat_tables([table.select(columns) for table in self.tables.values()])))
