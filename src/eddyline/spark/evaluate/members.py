"""The members of a query class beside the data, as tables."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from eddyline.algebra.sharing import QUERY
from eddyline.spark.evaluate.frames import Frame, Frames, few

#: in tables of members: the last index that had come before one was created
SINCE = "_since"


@dataclass(frozen=True)
class Members:
    """Tables by the name of their form: `_query`, `_since`, and the constants as _p0, …, _a0, …

    From which window on a member is answered is for its reader to know: windows before that cost little.
    """

    tables: dict[str, pa.Table]
    above: int  # how many constants of HAVING each has
    since: int  # the largest `_since`

    def frame(self, form: str, frames: Frames) -> Frame:
        return few(frames.table(self.tables[form]))

    def everyone(self, frames: Frames) -> Frame:
        """All members, of whatever form: number, and the constants of HAVING."""
        columns = [QUERY, *(f"_a{i}" for i in range(self.above))]
        return few(frames.table(pa.concat_tables([table.select(columns) for table in self.tables.values()])))
